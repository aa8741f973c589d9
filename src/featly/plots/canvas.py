"""Shared parts of all pictures: colours, print, sizes, names, and the way to matplotlib.

matplotlib is an extra, imported when it is used. No function here changes its settings. Text, axes
and ticks are drawn in `INK`, faint lines in `FAINT`, so that a dark page can replace both colours.
Print on a coloured ground is `ON_LIGHT` or `ON_DARK`, and stays as it is.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from featly.basics.errors import ParameterError
from featly.basics.params import FLAG, Whole
from featly.basics.typing import FloatArray

__all__ = [
    "FAINT",
    "HATCHES",
    "INK",
    "LINES",
    "MARKERS",
    "ON_DARK",
    "ON_LIGHT",
    "PALETTE",
    "SMALL",
    "check_bool",
    "check_whole_number",
    "colour",
    "dress",
    "import_matplotlib",
    "inches",
    "label_rows",
    "legend",
    "make_readable",
    "marker",
    "new_axes",
    "note",
    "note_height",
    "print_size",
    "row_height",
    "shorten_names",
    "shown_names",
    "spread",
    "text_width",
    "wrap_text",
]


INK = "#1b1d1f"
FAINT = "#b8bcc2"
ON_LIGHT, ON_DARK = "#101214", "#ffffff"
# Okabe and Ito (2008): grey for their black, which is the ink; no yellow, too pale for lines
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b7280")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h", "p", "d", "8", "H")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
# lines only: a pattern of dots takes a megabyte of SVG
HATCHES = ("", "////", "----", "\\\\\\\\", "xxxx", "||||", "++++", "//")

POINTS = 72.0  # in an inch; lengths are inches, sizes of print points
LARGEST, SMALL, SMALLEST = 8.0, 7.0, 4.5
LONGEST_NAME = 30
ROW_HEIGHTS = ((60, 0.2), (200, 0.155), (10**9, 0.12))  # number of rows up to which, height
MISSING_GLYPH = "□"
HINTED = 1.06  # how much wider letters may be on a screen than in the font


def import_matplotlib(function: str) -> Any:
    """Import matplotlib; raise ParameterError with the extra to install if it is missing."""
    try:
        import matplotlib
    except ImportError:
        raise ParameterError(f"{function} needs matplotlib: pip install 'featly[report]'") from None
    return matplotlib


def colour(position: int) -> str:
    """Return the colour of a class, a method or a level."""
    return PALETTE[position % len(PALETTE)]


def marker(position: int) -> str:
    """Return the marker of a class, a method or a level; with the colour there are 105 pairs."""
    return MARKERS[position % len(MARKERS)]


# ---- axes ----------------------------------------------------------------------------------------
def new_axes(
    width: float,
    height: float,
    *,
    left: float = 0.55,
    right: float = 0.15,
    top: float = 0.3,
    bottom: float = 0.5,
) -> Any:
    """Return axes of a size in inches in a new figure, with margins for their labels."""
    import matplotlib.pyplot as plt

    wide, high = left + width + right, bottom + height + top
    figure = plt.figure(figsize=(wide, high))
    return figure.add_axes((left / wide, bottom / high, width / wide, height / high))


def inches(ax: Any) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_window_extent()
    return float(box.width / ax.figure.dpi), float(box.height / ax.figure.dpi)


def dress(ax: Any, *, x: str = "", y: str = "", grid: str | None = None) -> None:
    """Style axes: two spines, small print, faint lines behind."""
    ax.set_facecolor("none")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set(color=INK, linewidth=0.7)
    ax.tick_params(which="both", color=INK, labelcolor=INK, labelsize=SMALL, width=0.7, length=3)
    ax.tick_params(which="minor", length=1.5)
    ax.set_xlabel(x, color=INK, fontsize=LARGEST, parse_math=False)
    ax.set_ylabel(y, color=INK, fontsize=LARGEST, parse_math=False)
    if grid is not None:
        ax.grid(axis=grid, color=FAINT, linewidth=0.5, zorder=0)
        ax.set_axisbelow(True)


def note(ax: Any, text: str) -> None:
    """Write small print above the axes, wrapped to their width."""
    ax.annotate(
        wrap_text(text, inches(ax)[0]),
        (0.0, 1.0),
        (0, 5),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=SMALL,
        color=INK,
        parse_math=False,
        annotation_clip=False,
    )


def note_height(text: str, width: float) -> float:
    """Return the inches that a note above axes of this width takes."""
    lines = wrap_text(text, width).count("\n") + 1 if text else 0
    return 0.12 + 1.3 * SMALL / POINTS * lines + (0.05 if lines else 0.0)


def wrap_text(text: str, width: float, size: float = SMALL) -> str:
    """Wrap a text in lines of at most so many inches, broken between words."""
    lines: list[str] = []
    for part in text.split("\n"):
        line = ""
        for word in part.split(" "):
            longer = f"{line} {word}" if line else word
            if line and text_width([longer], size) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return "\n".join(lines)


def legend(ax: Any, handles: list[Any], **placement: Any) -> Any:
    """Draw a legend without a frame, in small print."""
    drawn_legend = ax.legend(
        handles=handles,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderaxespad=0.0,
        borderpad=0.0,
        **placement,
    )
    for text in drawn_legend.get_texts():
        text.set_parse_math(False)
    return drawn_legend


# ---- rows ----------------------------------------------------------------------------------------
def row_height(n_rows: int) -> float:
    """Return the height in inches of a row in a new figure with so many rows."""
    return next(height for most, height in ROW_HEIGHTS if n_rows <= most)


def print_size(line_height: float) -> float:
    """Return the size of print in points for a line height in inches."""
    return float(np.clip(0.62 * line_height * POINTS, SMALLEST, LARGEST))


def label_rows(ax: Any, names: Sequence[str], height: float) -> None:
    """Name rows 0, 1, ... from the top; only some of them if the rows are too low for print."""
    size = print_size(height)
    step = max(1, int(np.ceil(1.15 * size / POINTS / height)))
    rows = range(0, len(names), step)
    ax.set_yticks(rows, [names[row] for row in rows], fontsize=size)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a dollar in a name is a dollar
    ax.tick_params(axis="y", length=0, pad=3)
    ax.set_ylim(len(names) - 0.4, -0.6)


def spread(positions: npt.ArrayLike, distance: float, low: float, high: float) -> FloatArray:
    """Move positions as little as possible so that neighbours are `distance` apart.

    They stay between `low` and `high`; if they do not fit, they are spaced evenly around the
    middle.
    """
    desired = np.asarray(positions, dtype=np.float64)
    order = np.argsort(desired, kind="stable")
    steps = distance * np.arange(len(desired))
    slack = high - low - (steps[-1] if len(steps) else 0.0)
    moved = np.empty(len(desired))
    if slack < 0:
        moved[order] = (low + high - (steps[-1] if len(steps) else 0.0)) / 2 + steps
        return moved
    # positions less the distances before them have to increase: isotonic regression
    level = isotonic_regression(desired[order] - steps) if len(desired) else desired
    moved[order] = np.clip(level, low, low + slack) + steps
    return moved


# ---- names ---------------------------------------------------------------------------------------
def shorten_names(texts: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Shorten long texts in the middle; texts that differ still do.

    Texts that twice as many letters would not tell apart are numbered.
    """
    for length in range(longest, 2 * longest + 1, 2):
        short_texts = [_cut_middle(text, length) for text in texts]
        if len(set(short_texts)) == len(set(texts)):
            return short_texts
    short_texts = [_cut_middle(text, longest) for text in texts]
    alike: dict[str, list[str]] = {}
    for text, short in dict.fromkeys(zip(texts, short_texts, strict=True)):
        alike.setdefault(short, []).append(text)
    used = set(short_texts)
    numbered: dict[str, str] = {}
    for short, members in alike.items():
        number = 1
        for text in members if len(members) > 1 else ():
            while f"{short} #{number}" in used:
                number += 1
            numbered[text] = f"{short} #{number}"
            used.add(numbered[text])
    return [numbered.get(text, short) for text, short in zip(texts, short_texts, strict=True)]


def _cut_middle(text: str, longest: int) -> str:
    tail = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def shown_names(texts: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return names as they are drawn: in letters of the font, cut to length, still different."""
    return shorten_names(make_readable([str(text) for text in texts]), longest)


def make_readable(texts: Sequence[str]) -> list[str]:
    """Replace letters that the font lacks; texts that differ still do.

    A missing letter becomes a box, or its code if two texts would be the same. White space of any
    kind becomes a blank.
    """
    readable_texts = [_fit_font(text) for text in texts]
    if len(set(readable_texts)) == len(set(texts)):
        return readable_texts
    numbered = [_fit_font(text, numbered=True) for text in texts]
    counts: dict[str, set[str]] = {}
    for text, shown in zip(texts, readable_texts, strict=True):
        counts.setdefault(shown, set()).add(text)
    return [
        longer if len(counts[shown]) > 1 else shown
        for shown, longer in zip(readable_texts, numbered, strict=True)
    ]


def _fit_font(text: str, *, numbered: bool = False) -> str:
    """Replace every letter that cannot be drawn; drop or number letters without a width."""
    letters = []
    for letter in text:
        kind = unicodedata.category(letter)
        if letter.isspace() or kind in ("Zs", "Zl", "Zp"):
            letters.append(f"<U+{ord(letter):04X}>" if numbered and letter != " " else " ")
        elif kind in ("Cc", "Cf", "Cs", "Co", "Cn") or not _has_glyph(ord(letter), _fonts()):
            if numbered:
                letters.append(f"<U+{ord(letter):04X}>")
            elif kind != "Cf" and not 0xFE00 <= ord(letter) <= 0xFE0F:  # these have no width
                letters.append(MISSING_GLYPH)
        else:
            letters.append(letter)
    return "".join(letters)


def _fonts() -> tuple[str, ...]:
    """Return the files of the fonts that text is drawn in."""
    from matplotlib.font_manager import FontProperties, findfont

    return tuple(findfont(FontProperties(family=[name])) for name in FontProperties().get_family())


@lru_cache(maxsize=100_000)
def _has_glyph(code: int, fonts: tuple[str, ...]) -> bool:
    from matplotlib.font_manager import get_font

    return any(get_font(font).get_char_index(code) for font in fonts)


def text_width(texts: Sequence[str], size: float = SMALL) -> float:
    """Return the inches of the widest of some texts; letters are not equally wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    paths, font = TextToPath(), FontProperties(size=size)
    lines = {line for text in texts for line in text.split("\n") if line}
    widths = [paths.get_text_width_height_descent(line, font, False)[0] for line in lines]
    return HINTED * float(max(widths, default=0.0)) / POINTS


# ---- parameters ----------------------------------------------------------------------------------
def check_whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number from `least`, or raise ParameterError."""
    Whole(at_least=least).check(name, value)
    return int(value)


def check_bool(name: str, value: Any) -> bool:
    """Return a bool, or raise ParameterError."""
    FLAG.check(name, value)
    return bool(value)
