"""A column against the classes as a small drawing, a kilobyte or two of SVG.

matplotlib's drawings take ten times as much, and a page with 500 of them would open slowly.
Colours are those of the page's style sheet (``c0``, ``c1``, ...), for light and dark pages.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from featly.basics.privacy import SMALL_CELL, is_percentile_safe, mask_count
from featly.basics.typing import FloatArray, IntArray
from featly.plots.table_columns import Column
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
    points = points and individuals
    low, high = _range(groups, points=points, individuals=individuals)
    parts = [_draw_axis(low, high, height)]
    for k, (label, values) in enumerate(zip(classes, groups, strict=True)):
        middle = ROW * k + ROW // 2
        parts.append(_draw_name(label, middle))
        if points and len(values):
            parts.append(_draw_points(values, low, high, middle, k))
        parts.append(_draw_box(values, low, high, middle, k, individuals=individuals))
    return "".join(parts), height


def _range(groups: list[FloatArray], *, points: bool, individuals: bool) -> Any:
    """Return the ends of the axis: of the points, or else of the boxes.

    Without individuals, extremes must not be shown; with boxes alone, they would squeeze the boxes.
    """
    if points and any(map(len, groups)):
        values = np.concatenate(groups)
        limits = [values.min(), values.max()]
    else:
        limits = [
            np.percentile(group, mark)
            for group in groups
            for mark in MARKED
            if len(group) and (individuals or is_percentile_safe(mark, len(group)))
        ]
    low, high = (float(np.min(limits)), float(np.max(limits))) if limits else (0.0, 1.0)
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


def _draw_box(
    values: FloatArray,
    low: float,
    high: float,
    middle: int,
    k: int,
    *,
    individuals: bool,
) -> str:
    is_safe = [individuals or is_percentile_safe(mark, len(values)) for mark in MARKED]
    if not len(values) or not is_safe[2]:
        remark = "no value" if not len(values) else "few rows"
        return f'<text class="t" x="{LEFT + 6}" y="{middle + 4}">{remark}</text>'
    marks = np.percentile(values, MARKED)
    a, b, m, c, d = _x(np.clip(marks, low, high), low, high)
    median = f'<path class="m" d="M{m} {middle - 7}v14"/>'
    if not is_safe[1]:
        return median
    tooltip = f"median {number(marks[2])}, middle half {number(marks[1])} to {number(marks[3])}"
    whiskers = f'<path d="M{a} {middle}H{b}M{c} {middle}H{d}"/>' if is_safe[0] else ""
    return (
        f'<g class="b c{k % N_COLOURS}"><title>{escape(tooltip)}</title>{whiskers}'
        f'<rect x="{b}" y="{middle - 6}" width="{max(c - b, 1)}" height="12"/></g>{median}'
    )


# ---- levels --------------------------------------------------------------------------------------
def _draw_bars(
    column: Column, classes: Sequence[str], y: IntArray, *, individuals: bool
) -> tuple[str, int]:
    """Draw a bar for each class, divided by levels; the shades go with the levels."""
    levels, counts = level_counts(column, len(classes), y)
    parts = []
    for k, label in enumerate(classes):
        parts.append(_draw_name(label, ROW * k + ROW // 2))
        parts.append(
            _draw_bar(
                levels,
                counts[k, 1:],
                ROW * k + 3,
                ordered=column.kind == "ordinal",
                individuals=individuals,
            )
        )
    return "".join(parts), ROW * len(classes) + 2


def _draw_bar(
    levels: list[str],
    counts: IntArray,
    top: int,
    *,
    ordered: bool,
    individuals: bool,
) -> str:
    n, span = int(counts.sum()), WIDTH - LEFT - 8
    if not n or (not individuals and n < SMALL_CELL):
        remark = "no value" if not n else "few rows"
        return f'<text class="t" x="{LEFT + 6}" y="{top + 12}">{remark}</text>'
    shares = counts / n
    if not individuals:
        shares = np.round(shares, 1)
        shares = shares / shares.sum() if shares.sum() else np.full(len(counts), 1 / len(counts))
    ends = np.rint(LEFT + 4 + span * np.concatenate([[0], np.cumsum(shares)])).astype(int)
    parts = []
    for j, (level, count) in enumerate(zip(levels, counts.tolist(), strict=True)):
        width = int(ends[j + 1] - ends[j])
        if not width:
            continue
        count_text = mask_count(count, individuals=individuals)
        share = f"about {shares[j]:.0%}" if not individuals else f"{shares[j]:.0%}"
        title = escape(f"{level}: {count_text} rows, {share}")
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
    return "".join(parts)
