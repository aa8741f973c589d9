"""A column against the classes as a small drawing, a kilobyte or two of SVG.

matplotlib's drawings take ten times as much: a page with 500 of them would not open at once.
Colours are those of the page's style sheet (``c0``, ``c1``, ...), so that they suit light and dark.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.privacy import SMALL_CELL, count_told, percentile_told
from featly.plots.table_columns import Column
from featly.reports.columns import level_counts, number

__all__ = ["miniature"]

WIDTH = 320  # units of the drawing, about pixels
LEFT = 84  # room for the names of the classes
ROW = 22  # height of a class
FOOT = 18  # height of the axis
LONGEST_LABEL = 13
N_COLOURS = 8
LETTER = 5.6  # width of one in small print
MARKED = (5, 25, 50, 75, 95)  # percentiles


def miniature(
    column: Column,
    classes: Sequence[str],
    y: npt.NDArray[np.int64],
    *,
    points: bool,
    individuals: bool,
) -> str:
    """The drawing as SVG text.

    Parameters
    ----------
    column : Column
    classes : sequence of str
    y : int array
        The class of every row.
    points : bool
        Whether every row is a point beside the box of its class.
    individuals : bool
        False leaves out what rests on few rows: see :mod:`featly.basics.privacy`.

    Returns
    -------
    str
    """
    if column.numbers is not None:
        body, height = _boxes(column.numbers, classes, y, points=points, individuals=individuals)
        what = "A box for every class"
    else:
        body, height = _bars(column, classes, y, individuals=individuals)
        what = "The shares of the levels in every class"
    return (
        f'<svg class="mini" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{what}">'
        f"{body}</svg>"
    )


# ---- numbers -------------------------------------------------------------------------------------
def _boxes(
    numbers: npt.NDArray[np.float64],
    classes: Sequence[str],
    y: npt.NDArray[np.int64],
    *,
    points: bool,
    individuals: bool,
) -> tuple[str, int]:
    height = ROW * len(classes) + FOOT
    groups = [numbers[(y == k) & ~np.isnan(numbers)] for k in range(len(classes))]
    points = points and individuals
    low, high = _range(groups, points=points, individuals=individuals)
    parts = [_axis(low, high, height)]
    for k, (label, values) in enumerate(zip(classes, groups, strict=True)):
        middle = ROW * k + ROW // 2
        parts.append(_name(label, middle))
        if points and len(values):
            parts.append(_points(values, low, high, middle, k))
        parts.append(_box(values, low, high, middle, k, individuals=individuals))
    return "".join(parts), height


def _range(groups: list[npt.NDArray[np.float64]], *, points: bool, individuals: bool) -> Any:
    """From where to where the axis goes: the points, or else the ends of what boxes show.

    Without individuals no extreme may be read from it; with boxes alone one would squeeze them.
    """
    if points and any(map(len, groups)):
        there = np.concatenate(groups)
        shown = [there.min(), there.max()]
    else:
        shown = [
            np.percentile(group, mark)
            for group in groups
            for mark in MARKED
            if len(group) and (individuals or percentile_told(mark, len(group)))
        ]
    low, high = (float(np.min(shown)), float(np.max(shown))) if shown else (0.0, 1.0)
    room = max(0.5, abs(low) / 100)  # of a constant, however large
    return (low, high) if low < high else (low - room, high + room)


def _x(values: Any, low: float, high: float) -> npt.NDArray[np.int64]:
    span = WIDTH - LEFT - 12
    # by halves: the difference of two large numbers may be none
    share = (np.asarray(values) / 2 - low / 2) / (high / 2 - low / 2)
    return np.rint(LEFT + 4 + span * share).astype(np.int64)


def _axis(low: float, high: float, height: int) -> str:
    ends = _x([low, high], low, high)
    y = height - FOOT + 2
    line = f'<path class="axis" d="M{ends[0]} {y}H{ends[1]}"/>'
    ticks = "".join(
        f'<text class="t" x="{x}" y="{y + 12}" text-anchor="{anchor}">{escape(number(v))}</text>'
        for x, v, anchor in zip(ends, (low, high), ("start", "end"), strict=True)
    )
    return line + ticks


def _name(label: str, middle: int) -> str:
    short = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
    whole = f"<title>{escape(label)}</title>" if short != label else ""
    return (
        f'<text class="t" x="{LEFT - 6}" y="{middle + 4}" text-anchor="end">{whole}'
        f"{escape(short)}</text>"
    )


def _points(values: npt.NDArray[np.float64], low: float, high: float, middle: int, k: int) -> str:
    """Points around the middle of their row; those that fall on one another are drawn once."""
    x = _x(values, low, high)
    # spread by the place in the table, so that the same table gives the same drawing
    y = middle - 7 + (np.arange(len(values)) * 7919) % 15
    places = np.unique(np.column_stack([x, y]), axis=0)
    path = "".join(f"M{a} {b}h0" for a, b in places.tolist())
    return f'<path class="p c{k % N_COLOURS}" d="{path}"/>'


def _box(
    values: npt.NDArray[np.float64],
    low: float,
    high: float,
    middle: int,
    k: int,
    *,
    individuals: bool,
) -> str:
    told = [individuals or percentile_told(mark, len(values)) for mark in MARKED]
    if not len(values) or not told[2]:
        few = "no value" if not len(values) else "few rows"
        return f'<text class="t" x="{LEFT + 6}" y="{middle + 4}">{few}</text>'
    marks = np.percentile(values, MARKED)
    a, b, m, c, d = _x(np.clip(marks, low, high), low, high)
    median = f'<path class="m" d="M{m} {middle - 7}v14"/>'
    if not told[1]:
        return median
    words = f"median {number(marks[2])}, middle half {number(marks[1])} to {number(marks[3])}"
    whiskers = f'<path d="M{a} {middle}H{b}M{c} {middle}H{d}"/>' if told[0] else ""
    return (
        f'<g class="b c{k % N_COLOURS}"><title>{escape(words)}</title>{whiskers}'
        f'<rect x="{b}" y="{middle - 6}" width="{max(c - b, 1)}" height="12"/></g>{median}'
    )


# ---- levels --------------------------------------------------------------------------------------
def _bars(
    column: Column, classes: Sequence[str], y: npt.NDArray[np.int64], *, individuals: bool
) -> tuple[str, int]:
    """A bar for each class, divided by levels; the shades go with the levels."""
    levels, counts = level_counts(column, len(classes), y)
    parts = []
    for k, label in enumerate(classes):
        parts.append(_name(label, ROW * k + ROW // 2))
        parts.append(
            _bar(
                levels,
                counts[k, 1:],
                ROW * k + 3,
                ordered=column.kind == "ordinal",
                individuals=individuals,
            )
        )
    return "".join(parts), ROW * len(classes) + 2


def _bar(
    levels: list[str],
    counts: npt.NDArray[np.int64],
    top: int,
    *,
    ordered: bool,
    individuals: bool,
) -> str:
    n, span = int(counts.sum()), WIDTH - LEFT - 8
    if not n or (not individuals and n < SMALL_CELL):
        few = "no value" if not n else "few rows"
        return f'<text class="t" x="{LEFT + 6}" y="{top + 12}">{few}</text>'
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
        told = count_told(count, individuals=individuals)
        share = f"about {shares[j]:.0%}" if not individuals else f"{shares[j]:.0%}"
        title = escape(f"{level}: {told} rows, {share}")
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
