"""Two columns against each other."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.privacy import QUARTILE_ROWS, SMALL_CELL
from featly.plots.canvas import (
    FAINT,
    INK,
    SMALL,
    Floats,
    colour,
    dress,
    inches,
    legend,
    marker,
    need_matplotlib,
    new_axes,
    note,
    note_room,
    shown_names,
    text_width,
    yes_or_no,
)
from featly.plots.columns import (
    Column,
    Integers,
    jitter,
    open_columns,
    quantiles,
    read_classes,
)

__all__ = ["plot_scatter"]

SIDE = 3.4
LEVEL, CELL = 0.5, 0.75  # room for a level, and where both columns have some; inches, as all
MARGIN = 0.075  # of an axis, where rows without a value stand
MOST_POINTS = 4000
LANES = 4  # classes up to which each has a lane of its own beside a level
CLOUDS = 6  # classes up to which each has its ellipse
GOLDEN, OTHER = 0.6180339887498949, 0.41421356237309515
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

    Rows of a level are moved apart a little, the same way in every drawing. A row without a value
    stands in the margin of that axis.

    Parameters
    ----------
    X : data frame, array or sparse matrix
    y : sequence
        The class of every row.
    features : two columns
        Names or positions: what goes right, and what goes up.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.
    individuals : bool, default=True
        False draws no row. Of two columns of numbers, each class becomes a cross, from quartile to
        quartile with the median in the middle, and up to 6 classes have an ellipse around their
        middle half. Of a column of levels, a cross a class and level; of two, a marker as large as
        the number of rows, which up to 4 classes is written beside it, rounded to 5. Groups of
        fewer than 20 rows are left out, and said to be; counts under 5 are told as "<5".
    ax : matplotlib Axes or None, default=None

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
    need_matplotlib("plot_scatter")
    individuals = yes_or_no("individuals", individuals)
    if isinstance(features, str) or not hasattr(features, "__len__") or len(features) != 2:
        raise ParameterError(f"features={features!r}: give two columns, such as ['age', 'crp']")
    pair = open_columns(X, list(features), schema, "plot_scatter")
    codes, classes = read_classes(y, len(pair[0].values), "plot_scatter")
    names = shown_names([column.name for column in pair])
    counted = not individuals and all(column.levels is not None for column in pair)
    groups = [] if individuals or counted else _groups(pair, codes, len(classes))
    told = _words(pair, codes, individuals, groups)
    labels = [_class_label(name, int((codes == k).sum()), individuals)
              for k, name in enumerate(classes)]  # fmt: skip
    if ax is None:
        ax = _new(pair, labels, told)
    if individuals:
        _points(ax, pair, codes, len(classes))
    elif counted:
        _counts(ax, pair, codes, len(classes))
    else:
        _crosses(ax, pair, groups, len(classes))
    dress(ax, x=names[0], y=names[1])
    for axis, column in zip("xy", pair, strict=True):
        _axis(ax, axis, column, individuals)
    if individuals:
        _margins(ax, pair)
    _legend(ax, labels)
    if told:
        note(ax, told)
    return ax


# ---- what is drawn -------------------------------------------------------------------------------
def _words(pair: list[Column], codes: Integers, individuals: bool, groups: list[Any]) -> str:
    told = [] if individuals else ["no single rows: figures rounded, counts to 5"]
    both = int((~pair[0].present & ~pair[1].present).sum())
    either = int((~pair[0].present | ~pair[1].present).sum())
    if individuals and both:
        rows = "row has" if both == 1 else "rows have"
        told.append(f"{both:,} {rows} neither value: bottom left")
    if individuals and len(codes) > MOST_POINTS:
        drawn = sum(map(len, _drawn_rows(codes, int(codes.max()) + 1)))
        told.append(f"{drawn:,} of {len(codes):,} rows are drawn")
    if not individuals and either:
        told.append(f"{_rounded(either)} rows lack a value")
    few = sum(1 for *_, rows in groups if 0 < len(rows) < QUARTILE_ROWS)
    if few:
        told.append(f"left out: {few} group{'s' * (few > 1)} of fewer than {QUARTILE_ROWS} rows")
    return "; ".join(told)


def _rounded(number: int) -> str:
    return (
        f"<{SMALL_CELL}"
        if 0 < number < SMALL_CELL
        else f"{SMALL_CELL * round(number / SMALL_CELL):,}"
    )


def _class_label(name: str, number: int, individuals: bool) -> str:
    return f"{name} ({number:,})" if individuals else f"{name} ({_rounded(number)})"


def _groups(pair: list[Column], codes: Integers, n_classes: int) -> list[Any]:
    """Class, level of each column of levels (or None), and the rows."""
    whole = pair[0].present & pair[1].present
    levels = [range(len(column.levels)) if column.levels is not None else [None] for column in pair]
    found = []
    for k in range(n_classes):
        for a in levels[0]:
            for b in levels[1]:
                rows = whole & (codes == k)
                rows &= True if a is None else pair[0].values == a
                rows &= True if b is None else pair[1].values == b
                found.append((k, a, b, np.flatnonzero(rows)))
    return found


# ---- drawing -------------------------------------------------------------------------------------
def _new(pair: list[Column], labels: list[str], told: str) -> Any:
    level = LEVEL if any(column.levels is None for column in pair) else CELL
    sides = [
        SIDE if column.levels is None else max(level * len(column.levels), 1.4) for column in pair
    ]
    ticks = pair[1].levels
    left = 0.65 if ticks is None else text_width(ticks) + 0.4
    turned = _turned(pair[0], sides[0])
    bottom = 0.5 if not turned else text_width(pair[0].levels or []) + 0.4
    tall = max(sides[1], 0.165 * len(labels))
    right = text_width(labels) + 0.4
    top = note_room(told, sides[0])
    return new_axes(sides[0], tall, left=left + 0.1, right=right, top=top, bottom=bottom)


def _turned(column: Column, width: float) -> bool:
    """Whether names of levels need more room than there is beside each other."""
    levels = column.levels
    return levels is not None and text_width(levels) > 0.9 * width / max(len(levels), 1)


def _places(column: Column, rows: Any) -> Floats:
    """Where rows stand along one axis; gaps in the margin below all values."""
    values = column.values[rows].copy()
    gaps = np.isnan(values)
    if column.levels is None:
        low, high = _range(column)
        values[gaps] = low - (high - low) * MARGIN
    else:
        values[gaps] = -1.0
    return values


def _range(column: Column) -> tuple[float, float]:
    there = column.values[column.present]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _points(ax: Any, pair: list[Column], codes: Integers, n_classes: int) -> None:
    size = float(np.clip(90.0 / np.sqrt(len(codes)), 2.5, 5.0))
    for k, rows in enumerate(_drawn_rows(codes, n_classes)):
        x, y = _places(pair[0], rows), _places(pair[1], rows)
        lane = k, n_classes
        across = (0, 1) if pair[0].levels is not None else lane  # one of two axes has lanes
        x, y = x + _apart(pair[0], x, y, GOLDEN, lane), y + _apart(pair[1], y, x, OTHER, across)
        look = {"color": colour(k), "markersize": size, "alpha": 0.65, "markeredgewidth": 0.0}
        ax.plot(x, y, marker(k), zorder=3, clip_on=False, **look)


def _drawn_rows(codes: Integers, n_classes: int) -> list[Integers]:
    """The rows of every class or, of very many, some of each in its share."""
    found = [np.flatnonzero(codes == k) for k in range(n_classes)]
    if len(codes) <= MOST_POINTS:
        return found
    counts = [max(1, len(rows) * MOST_POINTS // len(codes)) for rows in found]
    return [
        rows[np.linspace(0, len(rows) - 1, count).astype(int)]
        for rows, count in zip(found, counts, strict=True)
    ]


def _apart(
    column: Column, own: Floats, other: Floats, stride: float, lane: tuple[int, int]
) -> Floats:
    """How far rows of a level are moved: by rank in the other column, few classes in lanes."""
    moved = np.zeros(len(own))
    if column.levels is None:
        return moved
    k, n_lanes = lane if lane[1] <= LANES else (0, 1)
    for level in np.unique(own):
        here = own == level
        moved[here] = 0.64 / n_lanes * jitter(other[here], stride)
    return moved + 0.7 * ((k + 0.5) / n_lanes - 0.5)


def _crosses(ax: Any, pair: list[Column], groups: list[Any], n_classes: int) -> None:
    from scipy.stats import rankdata

    for k, a, b, rows in groups:
        if len(rows) < QUARTILE_ROWS:
            continue
        dodge = 0.0 if n_classes == 1 else 0.6 * (k / (n_classes - 1) - 0.5)
        cuts = []
        for column, level in zip(pair, (a, b), strict=True):
            if level is None:
                cuts.append(quantiles(column.values[rows], [0.25, 0.5, 0.75], rounded=True))
            else:
                cuts.append(np.full(3, level + dodge))
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


def _ellipse(spread: Floats, rho: float) -> Floats:
    """The unit ellipse of a Gaussian cloud with these deviations and this correlation."""
    turn = np.linspace(0.0, 2.0 * np.pi, 73)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    tilt = np.array([[1.0, 0.0], [rho, np.sqrt(1.0 - rho**2)]])
    return np.asarray(circle @ tilt.T * spread)


def _counts(ax: Any, pair: list[Column], codes: Integers, n_classes: int) -> None:
    """Numbers of rows, a line a class within every cell."""
    share = 0.4 if n_classes < 4 else 0.66  # of a cell that its classes take
    shape = len(pair[0].levels or []), len(pair[1].levels or [])
    table = np.zeros((n_classes, *shape), np.int64)
    whole = pair[0].present & pair[1].present
    places = [column.values[whole].astype(int) for column in pair]
    np.add.at(table, (codes[whole], *places), 1)
    largest = SMALL_CELL * max(round(int(table.max()) / SMALL_CELL), 1)
    for k, a, b in np.argwhere(table > 0).tolist():
        shift = 0.0 if n_classes == 1 else share * (k / (n_classes - 1) - 0.5)
        number = int(table[k, a, b])
        told = _rounded(number)
        size = 9.0 * np.sqrt(
            (2.5 if number < SMALL_CELL else SMALL_CELL * round(number / SMALL_CELL)) / largest
        )
        where = a - 0.22, b - shift
        ax.plot(*where, marker(k), color=colour(k), markersize=max(size, 2.0))
        if n_classes <= 4:
            ax.text(a - 0.02, b - shift, told, fontsize=SMALL, color=INK, va="center", ha="left")


def _axis(ax: Any, which: str, column: Column, individuals: bool) -> None:
    """Limits and ticks; levels have their names."""
    set_limits = ax.set_xlim if which == "x" else ax.set_ylim
    gaps = individuals and bool((~column.present).any())
    if column.levels is None:
        low, high = _range(column)
        if not individuals:  # the range of what is drawn, which tells no extreme
            lines = [line.get_xdata() if which == "x" else line.get_ydata() for line in ax.lines]
            drawn = np.concatenate(lines).astype(float) if lines else np.array([0.0, 1.0])
            low, high = float(drawn.min()), float(drawn.max())
        room = 0.05 * (high - low) or 0.5
        below = (high - low) * (MARGIN + 0.04) if gaps else room
        set_limits(low - below, high + room)
        if gaps:
            _tick_of_gaps(ax, which, low, high)
        return
    names = ["missing", *column.levels] if gaps else column.levels
    ticks = list(range(-int(gaps), len(column.levels)))
    if which == "x":
        turned = {"rotation": 90, "va": "top"} if _turned(column, inches(ax)[0]) else {}
        ax.set_xticks(ticks, names, fontsize=SMALL, **turned)
    else:
        ax.set_yticks(ticks, names, fontsize=SMALL)
    for text in ax.get_xticklabels() if which == "x" else ax.get_yticklabels():
        text.set(parse_math=False, color=INK)
    set_limits(-1.5 if gaps else -0.5, len(column.levels) - 0.5)


def _tick_of_gaps(ax: Any, which: str, low: float, high: float) -> None:
    """Ticks of the values, and one in the margin for rows without any."""
    from matplotlib.ticker import MaxNLocator

    at = low - (high - low) * MARGIN
    length = inches(ax)[0 if which == "x" else 1]
    room = 0.4 if which == "x" else 0.14  # inches that the word needs
    ticks = MaxNLocator(6).tick_values(low, high)
    near = (ticks - at) / (high - low) * length < room
    ticks = ticks[~near & (ticks <= high + 0.05 * (high - low))]
    set_ticks = ax.set_xticks if which == "x" else ax.set_yticks
    set_ticks([at, *ticks], ["missing", *(f"{tick:g}" for tick in ticks)])


def _margins(ax: Any, pair: list[Column]) -> None:
    """Lines that part rows without a value from the rest."""
    line = {"color": FAINT, "linewidth": 0.8, "linestyle": (0, (3, 2)), "zorder": 1}
    for draw, column in zip((ax.axvline, ax.axhline), pair, strict=True):
        if not column.present.all():
            low, high = _range(column)
            draw(-0.5 if column.levels is not None else low - (high - low) * MARGIN / 2, **line)


def _legend(ax: Any, labels: list[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour(k), marker=marker(k), linestyle="none", markersize=5,
               label=label)
        for k, label in enumerate(labels)
    ]  # fmt: skip
    width = inches(ax)[0]
    where = {"loc": "upper left", "bbox_to_anchor": (1.0 + 0.12 / width, 1.0)}
    legend(ax, handles, **where, handletextpad=0.2, labelspacing=0.35)
