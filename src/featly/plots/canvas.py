"""What all pictures share: colours, print, sizes, names, and how matplotlib is reached.

matplotlib is an extra and imported at use. No function here changes its settings. Everything that
is text, axis or tick is drawn in `INK` and every faint line in `FAINT`, so that whoever shows a
picture on a dark page can give both another colour. Print on a coloured ground is `ON_LIGHT` or
`ON_DARK`, and stays as it is.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from featly.basics.errors import ParameterError

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
    "colour",
    "dress",
    "inches",
    "label_rows",
    "legend",
    "marker",
    "need_matplotlib",
    "new_axes",
    "note",
    "note_room",
    "print_size",
    "readable",
    "row_height",
    "shortened",
    "shown_names",
    "spread",
    "text_width",
    "within",
    "wrapped",
    "yes_or_no",
]

Floats = npt.NDArray[np.float64]

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
ROW_HEIGHTS = ((60, 0.2), (200, 0.155), (10**9, 0.12))  # of up to so many rows
MISSING_GLYPH = "□"
HINTED = 1.06  # how much wider letters may be on a screen than in the font


def need_matplotlib(function: str) -> Any:
    """The library, or the error that names the extra."""
    try:
        import matplotlib
    except ImportError:
        raise ParameterError(f"{function} needs matplotlib: pip install 'featly[report]'") from None
    return matplotlib


def colour(position: int) -> str:
    """The colour of a class, a method or a level."""
    return PALETTE[position % len(PALETTE)]


def marker(position: int) -> str:
    """Its marker: with the colour, 105 different ones."""
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
    """Axes of so many inches in a new figure, with margins in which their labels have room."""
    import matplotlib.pyplot as plt

    wide, high = left + width + right, bottom + height + top
    figure = plt.figure(figsize=(wide, high))
    return figure.add_axes((left / wide, bottom / high, width / wide, height / high))


def inches(ax: Any) -> tuple[float, float]:
    """Width and height of axes, with the layout as it is by now."""
    box = ax.get_window_extent()
    return float(box.width / ax.figure.dpi), float(box.height / ax.figure.dpi)


def dress(ax: Any, *, x: str = "", y: str = "", grid: str | None = None) -> None:
    """Axes in the ink of the house: two spines, small print, faint lines behind."""
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
    """Small print above the axes, in as many lines as their width asks for."""
    ax.annotate(
        wrapped(text, inches(ax)[0]),
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


def note_room(text: str, width: float) -> float:
    """Inches that a note above axes of this width takes."""
    lines = wrapped(text, width).count("\n") + 1 if text else 0
    return 0.12 + 1.3 * SMALL / POINTS * lines + (0.05 if lines else 0.0)


def wrapped(text: str, width: float, size: float = SMALL) -> str:
    """A text in lines of at most so many inches, broken between words."""
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


def legend(ax: Any, handles: list[Any], **where: Any) -> Any:
    """A legend without a frame, in small print."""
    found = ax.legend(
        handles=handles,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderaxespad=0.0,
        borderpad=0.0,
        **where,
    )
    for text in found.get_texts():
        text.set_parse_math(False)
    return found


# ---- rows ----------------------------------------------------------------------------------------
def row_height(n_rows: int) -> float:
    """Inches of a row in a new figure with so many."""
    return next(height for most, height in ROW_HEIGHTS if n_rows <= most)


def print_size(room: float) -> float:
    """Points of print whose lines have so many inches each."""
    return float(np.clip(0.62 * room * POINTS, SMALLEST, LARGEST))


def label_rows(ax: Any, names: Sequence[str], height: float) -> None:
    """Names at rows 0, 1, ... from the top; where rows are too low for print, only some of them."""
    size = print_size(height)
    step = max(1, int(np.ceil(1.15 * size / POINTS / height)))
    rows = range(0, len(names), step)
    ax.set_yticks(rows, [names[row] for row in rows], fontsize=size)
    for text in ax.get_yticklabels():
        text.set_parse_math(False)  # a dollar in a name is a dollar
    ax.tick_params(axis="y", length=0, pad=3)
    ax.set_ylim(len(names) - 0.4, -0.6)


def spread(places: npt.ArrayLike, gap: float, low: float, high: float) -> Floats:
    """Places moved as little as can be so that neighbours are `gap` apart and all lie within.

    Where that many do not fit between `low` and `high`, they stand evenly around the middle.
    """
    wanted = np.asarray(places, dtype=np.float64)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    room = high - low - (steps[-1] if len(steps) else 0.0)
    moved = np.empty(len(wanted))
    if room < 0:
        moved[order] = (low + high - (steps[-1] if len(steps) else 0.0)) / 2 + steps
        return moved
    # monotone in what is left of the places when the gaps are taken out
    level = isotonic_regression(wanted[order] - steps) if len(wanted) else wanted
    moved[order] = np.clip(level, low, low + room) + steps
    return moved


# ---- names ---------------------------------------------------------------------------------------
def shortened(texts: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Texts with the middle of long ones left out; those that differ still do.

    Where that takes more than twice as many letters, those that would be the same are numbered.
    """
    for length in range(longest, 2 * longest + 1, 2):
        found = [_without_middle(text, length) for text in texts]
        if len(set(found)) == len(set(texts)):
            return found
    found = [_without_middle(text, longest) for text in texts]
    alike: dict[str, list[str]] = {}
    for text, short in dict.fromkeys(zip(texts, found, strict=True)):
        alike.setdefault(short, []).append(text)
    taken = set(found)
    numbered: dict[str, str] = {}
    for short, members in alike.items():
        number = 1
        for text in members if len(members) > 1 else ():
            while f"{short} #{number}" in taken:
                number += 1
            numbered[text] = f"{short} #{number}"
            taken.add(numbered[text])
    return [numbered.get(text, short) for text, short in zip(texts, found, strict=True)]


def _without_middle(text: str, longest: int) -> str:
    tail = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def shown_names(texts: Sequence[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Names as they are drawn: every letter in the font, long ones shortened, still different."""
    return shortened(readable([str(text) for text in texts]), longest)


def readable(texts: Sequence[str]) -> list[str]:
    """Texts in letters that the font has; those that differ still do.

    What it lacks becomes a box, or its number where two texts would be the same. White space of
    any kind becomes a blank.
    """
    plain = [_in_font(text) for text in texts]
    if len(set(plain)) == len(set(texts)):
        return plain
    told = [_in_font(text, numbered=True) for text in texts]
    counts: dict[str, set[str]] = {}
    for text, found in zip(texts, plain, strict=True):
        counts.setdefault(found, set()).add(text)
    return [
        longer if len(counts[found]) > 1 else found
        for found, longer in zip(plain, told, strict=True)
    ]


def _in_font(text: str, *, numbered: bool = False) -> str:
    """Every letter that cannot be drawn replaced; marks that draw nothing left out or numbered."""
    found = []
    for letter in text:
        kind = unicodedata.category(letter)
        if letter.isspace() or kind in ("Zs", "Zl", "Zp"):
            found.append(f"<U+{ord(letter):04X}>" if numbered and letter != " " else " ")
        elif kind in ("Cc", "Cf", "Cs", "Co", "Cn") or not _has_glyph(ord(letter), _fonts()):
            if numbered:
                found.append(f"<U+{ord(letter):04X}>")
            elif kind != "Cf" and not 0xFE00 <= ord(letter) <= 0xFE0F:  # these have no width
                found.append(MISSING_GLYPH)
        else:
            found.append(letter)
    return "".join(found)


def _fonts() -> tuple[str, ...]:
    """The files of the fonts that text is drawn in."""
    from matplotlib.font_manager import FontProperties, findfont

    return tuple(findfont(FontProperties(family=[name])) for name in FontProperties().get_family())


@lru_cache(maxsize=100_000)
def _has_glyph(code: int, fonts: tuple[str, ...]) -> bool:
    from matplotlib.font_manager import get_font

    return any(get_font(font).get_char_index(code) for font in fonts)


def text_width(texts: Sequence[str], size: float = SMALL) -> float:
    """Inches of the widest of some texts; letters are not equally wide."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    paths, font = TextToPath(), FontProperties(size=size)
    lines = {line for text in texts for line in text.split("\n") if line}
    widths = [paths.get_text_width_height_descent(line, font, False)[0] for line in lines]
    return HINTED * float(max(widths, default=0.0)) / POINTS


# ---- parameters ----------------------------------------------------------------------------------
def within(name: str, value: Any, least: int = 1) -> int:
    """A whole number from `least`, or ParameterError."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ParameterError(f"{name}={value!r}: give a whole number from {least}")
    return int(value)


def yes_or_no(name: str, value: Any) -> bool:
    """A bool, or ParameterError."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}={value!r}: give True or False")
    return bool(value)
