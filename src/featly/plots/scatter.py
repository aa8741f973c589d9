"""Two columns against each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.privacy import QUARTILE_ROWS, bound_present, hide_cells, private_percentiles
from featly.basics.typing import FloatArray, IntArray
from featly.plots.canvas import (
    FAINT,
    INK,
    SMALL,
    check_bool,
    colour,
    dress,
    import_matplotlib,
    inches,
    legend,
    marker,
    new_axes,
    note,
    note_height,
    shown_names,
    text_width,
)
from featly.plots.columns import Column, jitter, open_with_classes

__all__ = ["plot_scatter"]

SIDE = 3.4
LEVEL, CELL = 0.5, 0.75  # inches for a level if one column has levels, and if both have
MARGIN = 0.075  # share of an axis for rows with a missing value
MOST_POINTS = 4000
LANES = 4  # classes up to which each has a lane of its own in a level
CLOUDS = 6  # classes up to which each has its ellipse
GOLDEN, OTHER = 0.6180339887498949, 0.41421356237309515  # strides of the offsets on both axes
HALF = 1.1774  # standard deviations around the middle half of a Gaussian cloud


def plot_scatter(
    X: Any,
    y: Any,
    features: Sequence[str | int],
    *,
    schema: Any = None,
    individuals: bool = True,
    ax: Any = None,
) -> Any:
    """Draw two columns against each other, classes by colour and marker.

    Rows of a level are moved apart a little, the same way in every drawing. A row with a missing
    value is in the margin of that axis.

    Parameters
    ----------
    X : data frame, array or sparse matrix
    y : sequence
        The class of every row.
    features : two columns
        Names or positions: first the horizontal, then the vertical axis.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
    individuals : bool, default=True
        False draws no single row. For two columns of numbers, each class becomes a cross, from
        quartile to quartile with the median in the middle, and up to 6 classes have an ellipse
        around their middle half. For a column of levels, there is a cross for each class and level;
        for two, a marker as large as the number of rows, which for up to 4 classes is written
        beside it. Crosses of fewer than 20 rows are left out; rare levels and classes are pooled,
        and counts are left out wherever one below five could be worked out: see
        :mod:`featly.basics.privacy`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from featly.datasets import make_cohort
    >>> from featly.plots import plot_scatter
    >>> cohort = make_cohort(n_patients=60, n_genes=40)
    >>> ax = plot_scatter(cohort.X, cohort.y, ["age", "crp"])  # doctest: +SKIP
    >>> ax.get_xlabel(), ax.get_ylabel()  # doctest: +SKIP
    ('age', 'crp')
    """
    import_matplotlib("plot_scatter")
    individuals = check_bool("individuals", individuals)
    if isinstance(features, str) or not hasattr(features, "__len__") or len(features) != 2:
        raise ParameterError(f"features={features!r}: give two columns, such as ['age', 'crp']")
    pair, codes, classes = open_with_classes(
        X, list(features), y, schema, "plot_scatter", individuals=individuals
    )
    names = shown_names([column.name for column in pair])
    as_counts = not individuals and all(column.levels is not None for column in pair)
    groups = [] if individuals or as_counts else _groups(pair, codes, len(classes))
    note_text = _note_text(pair, codes, individuals, groups)
    labels = [f"{name} ({int((codes == k).sum()):,})" for k, name in enumerate(classes)]
    if ax is None:
        ax = _make_axes(pair, labels, note_text)
    if individuals:
        _draw_points(ax, pair, codes, len(classes))
    elif as_counts:
        _draw_counts(ax, pair, codes, len(classes))
    else:
        _draw_crosses(ax, pair, groups, len(classes))
    dress(ax, x=names[0], y=names[1])
    for axis, column in zip("xy", pair, strict=True):
        _set_axis(ax, axis, column, individuals)
    if individuals:
        _draw_margins(ax, pair)
    _draw_legend(ax, labels)
    if note_text:
        note(ax, note_text)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _note_text(pair: list[Column], codes: IntArray, individuals: bool, groups: list[Any]) -> str:
    parts = [] if individuals else ["no single rows: figures rounded, small counts hidden"]
    n_neither = int((~pair[0].present & ~pair[1].present).sum())
    if individuals and n_neither:
        rows = "row has" if n_neither == 1 else "rows have"
        parts.append(f"{n_neither:,} {rows} neither value: bottom left")
    if individuals and len(codes) > MOST_POINTS:
        n_drawn = sum(map(len, _rows_to_draw(codes, int(codes.max()) + 1)))
        parts.append(f"{n_drawn:,} of {len(codes):,} rows are drawn")
    if any(n_known < QUARTILE_ROWS for *_, n_known in groups):
        parts.append(f"left out: groups of fewer than {QUARTILE_ROWS} rows")
    return "; ".join(parts)


def _groups(pair: list[Column], codes: IntArray, n_classes: int) -> list[Any]:
    """Return class, level of each column (None for numbers), rows of every group, and a number.

    That is how many rows there are at least, for all that a reader may know from what is shown of
    each of the columns.
    """
    complete = pair[0].present & pair[1].present
    levels = [range(len(column.levels)) if column.levels is not None else [None] for column in pair]
    groups = []
    for k in range(n_classes):
        in_class = codes == k
        n_rows = int(in_class.sum())
        for a in levels[0]:
            for b in levels[1]:
                rows, n_known = complete & in_class, n_rows
                for column, level in zip(pair, (a, b), strict=True):
                    n_present = int((in_class & column.present).sum())
                    if level is None:
                        n_known -= n_rows - bound_present(n_rows, n_present)
                    else:
                        rows &= column.values == level
                        n_known -= n_rows - _known_count(column, k, level)
                groups.append((k, a, b, np.flatnonzero(rows), n_known))
    return groups


def _known_count(column: Column, k: int, level: int) -> int:
    """Return the rows of a class with a level if they may be shown, or else 0."""
    assert column.published is not None
    is_hidden = column.published.hidden[k, level + 1]
    return 0 if is_hidden else int(column.published.counts[k, level + 1])


# ---- drawing -------------------------------------------------------------------------------------
def _make_axes(pair: list[Column], labels: list[str], note_text: str) -> Any:
    level = LEVEL if any(column.levels is None for column in pair) else CELL
    sides = [
        SIDE if column.levels is None else max(level * len(column.levels), 1.4) for column in pair
    ]
    ticks = pair[1].levels
    left = 0.65 if ticks is None else text_width(ticks) + 0.4
    is_turned = _needs_turning(pair[0], sides[0])
    bottom = 0.5 if not is_turned else text_width(pair[0].levels or []) + 0.4
    height = max(sides[1], 0.165 * len(labels))
    right = text_width(labels) + 0.4
    top = note_height(note_text, sides[0])
    return new_axes(sides[0], height, left=left + 0.1, right=right, top=top, bottom=bottom)


def _needs_turning(column: Column, width: float) -> bool:
    """Return whether the names of levels are too long to fit beside each other."""
    levels = column.levels
    return levels is not None and text_width(levels) > 0.9 * width / max(len(levels), 1)


def _positions(column: Column, rows: Any) -> FloatArray:
    """Return positions of rows along one axis; missing values lie in the margin below."""
    values: FloatArray = column.values[rows].copy()
    is_missing = np.isnan(values)
    if column.levels is None:
        low, high = _range(column)
        values[is_missing] = low - (high - low) * MARGIN
    else:
        values[is_missing] = -1.0
    return values


def _range(column: Column) -> tuple[float, float]:
    present = column.values[column.present]
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _draw_points(ax: Any, pair: list[Column], codes: IntArray, n_classes: int) -> None:
    size = float(np.clip(90.0 / np.sqrt(len(codes)), 2.5, 5.0))
    for k, rows in enumerate(_rows_to_draw(codes, n_classes)):
        x, y = _positions(pair[0], rows), _positions(pair[1], rows)
        lane = k, n_classes
        across = (0, 1) if pair[0].levels is not None else lane  # one of two axes has lanes
        x, y = x + _offsets(pair[0], x, y, GOLDEN, lane), y + _offsets(pair[1], y, x, OTHER, across)
        look = {"color": colour(k), "markersize": size, "alpha": 0.65, "markeredgewidth": 0.0}
        ax.plot(x, y, marker(k), zorder=3, clip_on=False, **look)


def _rows_to_draw(codes: IntArray, n_classes: int) -> list[IntArray]:
    """Return the rows of every class, or a share of each if there are very many."""
    rows_of_class = [np.flatnonzero(codes == k) for k in range(n_classes)]
    if len(codes) <= MOST_POINTS:
        return rows_of_class
    counts = [max(1, len(rows) * MOST_POINTS // len(codes)) for rows in rows_of_class]
    return [
        rows[np.linspace(0, len(rows) - 1, count).astype(int)]
        for rows, count in zip(rows_of_class, counts, strict=True)
    ]


def _offsets(
    column: Column,
    positions: FloatArray,
    other_positions: FloatArray,
    stride: float,
    lane: tuple[int, int],
) -> FloatArray:
    """Return offsets of rows of a level: by rank in the other column, in lanes of classes."""
    moved = np.zeros(len(positions))
    if column.levels is None:
        return moved
    k, n_lanes = lane if lane[1] <= LANES else (0, 1)
    for level in np.unique(positions):
        at_level = positions == level
        moved[at_level] = 0.64 / n_lanes * jitter(other_positions[at_level], stride)
    return moved + 0.7 * ((k + 0.5) / n_lanes - 0.5)


def _draw_crosses(ax: Any, pair: list[Column], groups: list[Any], n_classes: int) -> None:
    from scipy.stats import rankdata

    for k, a, b, rows, n_known in groups:
        if n_known < QUARTILE_ROWS:
            continue
        dodge = 0.0 if n_classes == 1 else 0.6 * (k / (n_classes - 1) - 0.5)
        cuts: list[list[float]] = []
        for column, level in zip(pair, (a, b), strict=True):
            marks = [level + dodge] * 3 if level is not None else private_percentiles(
                column.values[rows], [25, 50, 75], n_known
            )  # fmt: skip
            cuts.append([mark for mark in marks if mark is not None])
        if min(map(len, cuts)) < 3:  # five values around a quartile are too far apart
            continue
        (x0, x, x1), (y0, y, y1) = cuts
        look = {"color": colour(k), "linewidth": 1.4, "zorder": 3}
        ax.plot([x0, x1], [y, y], **look)
        ax.plot([x, x], [y0, y1], **look)
        ax.plot([x], [y], marker(k), color=colour(k), markersize=6, zorder=4)
        if a is None and b is None and n_classes <= CLOUDS:
            ranks = [rankdata(column.values[rows]) for column in pair]
            varied = all(np.ptp(rank) > 0 for rank in ranks)
            rho = 2 * np.sin(np.pi / 6 * np.corrcoef(*ranks)[0, 1]) if varied else 0.0
            spread = np.array([x1 - x0, y1 - y0]) / 1.349
            cloud = _ellipse(spread, round(float(np.clip(rho, -0.95, 0.95)), 1))
            vertices = cloud * HALF + [x, y]
            ax.fill(*vertices.T, alpha=0.16, zorder=2, linewidth=0, color=colour(k))
            ax.plot(*vertices.T, color=colour(k), linewidth=0.8, zorder=2)


def _ellipse(spread: FloatArray, rho: float) -> FloatArray:
    """Return the unit ellipse of a Gaussian cloud with these deviations and correlation."""
    turn = np.linspace(0.0, 2.0 * np.pi, 73)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    tilt = np.array([[1.0, 0.0], [rho, np.sqrt(1.0 - rho**2)]])
    return np.asarray(circle @ tilt.T * spread)


def _draw_counts(ax: Any, pair: list[Column], codes: IntArray, n_classes: int) -> None:
    """Draw numbers of rows, with a line for each class within every cell."""
    share = 0.4 if n_classes < 4 else 0.66  # of a cell that its classes take
    shape = len(pair[0].levels or []), len(pair[1].levels or [])
    complete = pair[0].present & pair[1].present
    cells = [column.values[complete].astype(int) for column in pair]
    table = np.zeros((n_classes, *shape), np.int64)
    np.add.at(table, (codes[complete], *cells), 1)
    n_incomplete = np.bincount(codes[~complete], minlength=n_classes)
    hidden = hide_cells(np.column_stack([n_incomplete, table.reshape(n_classes, -1)]))
    table[hidden[:, 1:].reshape(table.shape)] = 0
    largest = max(int(table.max(initial=0)), 1)
    for k, a, b in np.argwhere(table > 0).tolist():
        shift = 0.0 if n_classes == 1 else share * (k / (n_classes - 1) - 0.5)
        size = 9.0 * np.sqrt(table[k, a, b] / largest)
        position = a - 0.22, b - shift
        ax.plot(*position, marker(k), color=colour(k), markersize=max(size, 2.0))
        if n_classes <= 4:
            text = f"{table[k, a, b]:,}"
            ax.text(a - 0.02, b - shift, text, fontsize=SMALL, color=INK, va="center", ha="left")


def _set_axis(ax: Any, axis_name: str, column: Column, individuals: bool) -> None:
    """Set limits and ticks of an axis; levels have their names."""
    set_limits = ax.set_xlim if axis_name == "x" else ax.set_ylim
    has_missing = individuals and bool((~column.present).any())
    if column.levels is None:
        low, high = _range(column)
        if not individuals:  # the range of the lines, which gives away no extreme
            lines = [
                line.get_xdata() if axis_name == "x" else line.get_ydata() for line in ax.lines
            ]
            drawn_values = np.concatenate(lines).astype(float) if lines else np.array([0.0, 1.0])
            low, high = float(drawn_values.min()), float(drawn_values.max())
        margin = 0.05 * (high - low) or 0.5
        below = (high - low) * (MARGIN + 0.04) if has_missing else margin
        set_limits(low - below, high + margin)
        if has_missing:
            _set_ticks_with_missing(ax, axis_name, low, high)
        return
    names = ["missing", *column.levels] if has_missing else column.levels
    ticks = list(range(-int(has_missing), len(column.levels)))
    if axis_name == "x":
        rotation = {"rotation": 90, "va": "top"} if _needs_turning(column, inches(ax)[0]) else {}
        ax.set_xticks(ticks, names, fontsize=SMALL, **rotation)
    else:
        ax.set_yticks(ticks, names, fontsize=SMALL)
    for text in ax.get_xticklabels() if axis_name == "x" else ax.get_yticklabels():
        text.set(parse_math=False, color=INK)
    set_limits(-1.5 if has_missing else -0.5, len(column.levels) - 0.5)


def _set_ticks_with_missing(ax: Any, axis_name: str, low: float, high: float) -> None:
    """Set ticks of the values, and one in the margin for missing values."""
    from matplotlib.ticker import MaxNLocator

    at = low - (high - low) * MARGIN
    length = inches(ax)[0 if axis_name == "x" else 1]
    word_length = 0.4 if axis_name == "x" else 0.14  # inches for the word "missing"
    ticks = np.asarray(MaxNLocator(6).tick_values(low, high), np.float64)
    is_near = (ticks - at) / (high - low) * length < word_length
    ticks = ticks[~is_near & (ticks <= high + 0.05 * (high - low))]
    set_ticks = ax.set_xticks if axis_name == "x" else ax.set_yticks
    set_ticks([at, *ticks], ["missing", *(f"{tick:g}" for tick in ticks)])


def _draw_margins(ax: Any, pair: list[Column]) -> None:
    """Draw lines between the rows with a missing value and the others."""
    line = {"color": FAINT, "linewidth": 0.8, "linestyle": (0, (3, 2)), "zorder": 1}
    for draw, column in zip((ax.axvline, ax.axhline), pair, strict=True):
        if not column.present.all():
            low, high = _range(column)
            draw(-0.5 if column.levels is not None else low - (high - low) * MARGIN / 2, **line)


def _draw_legend(ax: Any, labels: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour(k), marker=marker(k), linestyle="none", markersize=5,
               label=label)
        for k, label in enumerate(labels)
    ]  # fmt: skip
    width = inches(ax)[0]
    placement = {"loc": "upper left", "bbox_to_anchor": (1.0 + 0.12 / width, 1.0)}
    legend(ax, handles, **placement, handletextpad=0.2, labelspacing=0.35)
