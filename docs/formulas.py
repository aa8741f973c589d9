"""Formulas as drawings: every browser shows the same, and no script or font is loaded for them."""

import re
from functools import cache
from html import escape

import ziamath
from docutils.nodes import SkipNode

SIZE = 17
EM = 15  # of the text; all lengths are in em, so that formulas grow with it
TALLEST = 20  # em; no formula of ours is that tall

# what LaTeX knows and the converter does not, in words that it knows
SPELLINGS = {
    r"\lVert": r"\|",
    r"\rVert": r"\|",
    r"\Vert": r"\|",
    r"\lvert": "|",
    r"\rvert": "|",
}

ziamath.config.svg2 = False  # no shared symbols: their names would meet on a page
ziamath.config.precision = 2


def setup(app):
    """Register the renderer of formulas with Sphinx."""
    app.add_html_math_renderer("drawn", (render_inline, None), (render_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def render_inline(translator, node):
    """Render a formula within a line."""
    translator.body.append(draw_formula(node.astext(), False))
    raise SkipNode


def render_display(translator, node):
    """Render a formula on its own."""
    translator.body.append(f'<div class="formula">{draw_formula(node.astext(), True)}</div>\n')
    raise SkipNode


@cache
def draw_formula(text, is_display):
    """Draw one formula as SVG; screen readers read its LaTeX."""
    formula = _lay_out(_replace_spellings(text), is_display)
    width, height = (side / EM for side in formula.getsize())
    depth = formula.getyofst() / EM
    style = f"width:{width:.3f}em;height:{height:.3f}em;vertical-align:{depth:.3f}em"
    label = escape(" ".join(text.split()), quote=True)
    head = f'<svg class="formula" role="img" aria-label="{label}" style="{style}" '
    svg = re.sub(r' (?:width|height)="[^"]*"', "", formula.svg(), count=2)
    return svg.replace("<svg ", head, 1)


def _lay_out(text, is_display):
    formula = ziamath.Latex(text, size=SIZE, inline=not is_display, color="currentColor")
    if formula.getsize()[1] > TALLEST * SIZE:  # brackets around some sums grow without end
        text = text.replace(r"\left", r"\Bigl").replace(r"\right", r"\Bigr")
        formula = ziamath.Latex(text, size=SIZE, inline=not is_display, color="currentColor")
    if formula.getsize()[1] > TALLEST * SIZE:
        raise ValueError(f"formula {text!r} comes out {formula.getsize()[1] / SIZE:.0f} em tall")
    return formula


def _replace_spellings(text):
    for old, new in SPELLINGS.items():
        text = re.sub(re.escape(old) + r"(?![a-zA-Z])", lambda _, new=new: new, text)
    if r"\\" in text and r"\begin" not in text:  # lines of one formula, as Sphinx has them
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    # a bracket after \begin{...} belongs to the formula, it is no option
    return re.sub(r"(\\begin\{\w+\})\s*\[", r"\1 {[}", text).strip()
