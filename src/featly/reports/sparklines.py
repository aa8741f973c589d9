"""A column against the classes as a small drawing, a kilobyte or two of SVG.

matplotlib's drawings take ten times as much, and a page with 500 of them would open slowly.
Colours are those of the page's style sheet (``c0``, ``c1``, ...), for light and dark pages.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from featly.basics.privacy import bound_present, private_percentiles
from featly.basics.typing import FloatArray, IntArray
from featly.plots.table_columns import Column, publish_levels
from featly.reports.columns import level_counts, number

__all__ = ["miniature"]

WIDTH = 320  # units of the drawing, about pixels
LEFT = 84  # width of the names of the classes
ROW = 22  # height of a class
FOOT = 18  # height of the axis
LONGEST_LABEL = 13
N_COLOURS = 8
LETTER = 5.6  # width of a letter in small print
MARKED = (5, 25, 50, 75, 95)  # percentiles
Marks = list[float | None]  # one each; None is not shown


def miniature(
    column: Column,
    classes: Sequence[str],
    y: IntArray,
    *,
    points: bool,
    individuals: bool,
) -> str:
    """Draw a column against the classes as SVG text.

    Parameters
    ----------
    column : Column
    classes : sequence of str
    y : int array
        The class of every row.
    points : bool
        Whether every row is a point beside the box of its class.
    individuals : bool
        False leaves out figures that rest on few rows: see :mod:`featly.basics.privacy`.

    Returns
    -------
    str
    """
    if column.numbers is not None:
        body, height = _draw_boxes(
            column.numbers, classes, y, points=points, individuals=individuals
        )
        label = "A box for every class"
    else:
        body, height = _draw_bars(column, classes, y, individuals=individuals)
        label = "The shares of the levels in every class"
    return (
        f'<svg class="mini" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">'
        f"{body}</svg>"
    )


# ---- numbers -------------------------------------------------------------------------------------
def _draw_boxes(
    numbers: FloatArray,
    classes: Sequence[str],
    y: IntArray,
    *,
    points: bool,
    individuals: bool,
) -> tuple[str, int]:
    height = ROW * len(classes) + FOOT
    groups = [numbers[(y == k) & ~np.isnan(numbers)] for k in range(len(classes))]
    sizes = np.bincount(y, minlength=len(classes)).tolist()
    points = points and individuals
    marks = [
        _marks(values, None if individuals else bound_present(n_rows, len(values)))
        for values, n_rows in zip(groups, sizes, strict=True)
    ]
    low, high = _range(groups if points else [], marks)
    parts = [_draw_axis(low, high, height)]
    for k, (label, values) in enumerate(zip(classes, groups, strict=True)):
        middle = ROW * k + ROW // 2
        parts.append(_draw_name(label, middle))
        if points and len(values):
            parts.append(_draw_points(values, low, high, middle, k))
        remark = "few rows" if len(values) else "no value"
        parts.append(_draw_box(marks[k], remark, low, high, middle, k))
    return "".join(parts), height


def _marks(values: FloatArray, n_known: int | None) -> Marks:
    """Return the percentiles to draw; those that may be shown if `n_known` is given."""
    if n_known is not None:
        return private_percentiles(values, MARKED, n_known)
    return list(np.percentile(values, MARKED).tolist()) if len(values) else [None] * len(MARKED)


def _range(groups: list[FloatArray], marks: list[Marks]) -> tuple[float, float]:
    """Return the ends of the axis: of the points, or else of the boxes.

    Without individuals, extremes must not be shown; with boxes alone, they would squeeze the boxes.
    """
    if any(map(len, groups)):
        limits = np.concatenate(groups)
    else:
        limits = np.array([mark for row in marks for mark in row if mark is not None])
    low, high = (float(limits.min()), float(limits.max())) if len(limits) else (0.0, 1.0)
    margin = max(0.5, abs(low) / 100)  # of a constant, however large
    return (low, high) if low < high else (low - margin, high + margin)


def _x(values: Any, low: float, high: float) -> IntArray:
    span = WIDTH - LEFT - 12
    # halves, because the difference of two large numbers may overflow
    share = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
    return np.rint(LEFT + 4 + span * share).astype(np.int64)


def _draw_axis(low: float, high: float, height: int) -> str:
    ends = _x([low, high], low, high)
    y = height - FOOT + 2
    line = f'<path class="axis" d="M{ends[0]} {y}H{ends[1]}"/>'
    ticks = "".join(
        f'<text class="t" x="{x}" y="{y + 12}" text-anchor="{anchor}">{escape(number(v))}</text>'
        for x, v, anchor in zip(ends, (low, high), ("start", "end"), strict=True)
    )
    return line + ticks


def _draw_name(label: str, middle: int) -> str:
    short = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
    tooltip = f"<title>{escape(label)}</title>" if short != label else ""
    return (
        f'<text class="t" x="{LEFT - 6}" y="{middle + 4}" text-anchor="end">{tooltip}'
        f"{escape(short)}</text>"
    )


def _draw_points(values: FloatArray, low: float, high: float, middle: int, k: int) -> str:
    """Draw points around the middle of their row; those at one spot are drawn once."""
    x = _x(values, low, high)
    # spread by the row number, so that the same table gives the same drawing
    y = middle - 7 + (np.arange(len(values)) * 7919) % 15
    positions = np.unique(np.column_stack([x, y]), axis=0)
    path = "".join(f"M{a} {b}h0" for a, b in positions.tolist())
    return f'<path class="p c{k % N_COLOURS}" d="{path}"/>'


def _draw_box(marks: Marks, remark: str, low: float, high: float, middle: int, k: int) -> str:
    outer, left, centre, right, end = marks
    if centre is None:
        return f'<text class="t" x="{LEFT + 6}" y="{middle + 4}">{remark}</text>'
    x = _x(np.clip([centre if mark is None else mark for mark in marks], low, high), low, high)
    a, b, m, c, d = x.tolist()
    median = f'<path class="m" d="M{m} {middle - 7}v14"/>'
    if left is None or right is None:
        return median
    tooltip = f"median {number(centre)}, middle half {number(left)} to {number(right)}"
    whiskers = "" if outer is None else f"M{a} {middle}H{b}"
    whiskers += "" if end is None else f"M{c} {middle}H{d}"
    lines = f'<path d="{whiskers}"/>' if whiskers else ""
    return (
        f'<g class="b c{k % N_COLOURS}"><title>{escape(tooltip)}</title>{lines}'
        f'<rect x="{b}" y="{middle - 6}" width="{max(c - b, 1)}" height="12"/></g>{median}'
    )


# ---- levels --------------------------------------------------------------------------------------
def _draw_bars(
    column: Column, classes: Sequence[str], y: IntArray, *, individuals: bool
) -> tuple[str, int]:
    """Draw a bar for each class, divided by levels; the shades go with the levels."""
    if individuals:
        levels, table = level_counts(column, len(classes), y)
        counts, totals = table[:, 1:], table[:, 1:].sum(axis=1)
        hidden = np.zeros(counts.shape, bool)
    else:
        published = publish_levels(column, len(classes), y)
        levels, counts, hidden = published.levels, published.counts[:, 1:], published.hidden[:, 1:]
        totals = published.totals  # the rest of the bar is what is not shown
    parts = []
    for k, label in enumerate(classes):
        parts.append(_draw_name(label, ROW * k + ROW // 2))
        shown = np.where(hidden[k], 0, counts[k])
        if not shown.any():
            remark = "few rows" if totals[k] else "no value"
            parts.append(f'<text class="t" x="{LEFT + 6}" y="{ROW * k + 15}">{remark}</text>')
            continue
        parts.append(
            _draw_bar(levels, shown, int(totals[k]), ROW * k + 3, ordered=column.kind == "ordinal")
        )
    return "".join(parts), ROW * len(classes) + 2


def _draw_bar(levels: list[str], counts: IntArray, total: int, top: int, *, ordered: bool) -> str:
    """Draw the shown counts, and in the end as one what is left of all rows."""
    span = WIDTH - LEFT - 8
    shares = np.concatenate([counts, [total - counts.sum()]]) / total
    ends = np.rint(LEFT + 4 + span * np.concatenate([[0], np.cumsum(shares)])).astype(int)
    parts = []
    for j, (level, count) in enumerate(zip(levels, counts.tolist(), strict=True)):
        width = int(ends[j + 1] - ends[j])
        if not width:
            continue
        title = escape(f"{level}: {count:,} rows, {shares[j]:.0%}")
        text = ""
        if len(level) * LETTER + 6 < width:
            text = f'<text class="l" x="{ends[j] + 4}" y="{top + 12}">{escape(level)}</text>'
        shade = f'class="s{j % N_COLOURS}"'
        if ordered:  # from pale to strong
            shade = f'class="o" fill-opacity="{0.1 + 0.4 * j / max(len(levels) - 1, 1):.2f}"'
        parts.append(
            f'<g><title>{title}</title><rect {shade} x="{ends[j]}" y="{top}" '
            f'width="{width}" height="16"/>{text}</g>'
        )
    if ends[-1] > ends[-2]:
        parts.append(
            f'<g><title>not shown one by one</title><rect class="rest" x="{ends[-2]}" y="{top}" '
            f'width="{ends[-1] - ends[-2]}" height="16"/></g>'
        )
    return "".join(parts)
