"""Redundancy of columns: a heat map in the order of a clustering."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Number, check_value
from featly.basics.typing import FloatArray
from featly.plots.canvas import (
    FAINT,
    INK,
    LARGEST,
    POINTS,
    SMALL,
    import_matplotlib,
    inches,
    new_axes,
    note,
    print_size,
    row_height,
    shown_names,
    spread,
    text_width,
)

__all__ = ["plot_redundancy"]

OPTIMAL_UP_TO = 300  # columns up to which the leaves are ordered optimally, in p^2 log p steps
ALL_NAMED = 100  # columns up to which every one is named
SIDE = 6.0  # of a map of more columns than that; inches, as all lengths here
STRIP = 0.55  # the dendrogram
TOLERANCE = 1e-6


def plot_redundancy(
    associations: npt.ArrayLike,
    names: Sequence[str],
    *,
    threshold: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw the associations of all pairs of columns, with similar columns side by side.

    Columns are ordered by average linkage on 1 - association, whose tree is on the right. A dark
    square on the diagonal is a group of columns that could replace one another: a method that picks
    one of them need not pick the others. With a threshold, groups whose mean association reaches it
    are outlined. Beyond 100 columns, groups are named after their first member instead of every
    column.

    Parameters
    ----------
    associations : array of shape (n_columns, n_columns)
        Symmetric, from 0 to 1: absolute correlations, symmetric uncertainties. NaN counts as 0.
    names : sequence of str
        Names of the columns.
    threshold : float or None, default=None
        Mean association from which columns are a group; above 0, up to 1. None outlines no group.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        The tree and the scale are to the right of the map.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from featly.plots import plot_redundancy
    >>> X = np.random.default_rng(0).normal(size=(50, 4))
    >>> X[:, 3] = X[:, 0] + 0.1 * X[:, 1]
    >>> associations = np.abs(np.corrcoef(X.T))
    >>> ax = plot_redundancy(associations, ["a", "b", "c", "d"], threshold=0.8)  # doctest: +SKIP
    >>> sorted(label.get_text() for label in ax.get_yticklabels()[:2])  # doctest: +SKIP
    ['a', 'd']
    """
    import_matplotlib("plot_redundancy")
    matrix = _check_associations(associations)
    column_names = _check_names(names, len(matrix))
    check_value("threshold", threshold, Number(above=0, at_most=1), optional=True)
    tree, order = _cluster(matrix)
    groups = [] if threshold is None else _groups(tree, order, threshold)
    drawn_names = shown_names(column_names)
    rows = [drawn_names[j] for j in order]
    all_named = len(rows) <= ALL_NAMED
    if ax is None:
        ax = _make_axes(rows, groups, all_named)
    image = ax.imshow(
        matrix[np.ix_(order, order)], cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto",
        interpolation="nearest" if len(rows) <= 200 else "antialiased",
    )  # fmt: skip
    ax.set_facecolor("none")
    ax.spines[:].set_visible(False)
    ax.set_xticks([])
    if all_named:
        _name_all(ax, rows)
    else:
        _name_groups(ax, rows, groups)
    for low, high in groups:
        box = [low - 0.5, high + 0.5, high + 0.5, low - 0.5, low - 0.5]
        line = {"color": "#d55e00", "linewidth": 1.3, "zorder": 4, "clip_on": False}
        ax.plot(box, [low - 0.5, low - 0.5, high + 0.5, high + 0.5, low - 0.5], **line)
    ax.set_xlim(-0.5, len(rows) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    _draw_tree_and_scale(ax, image, tree, threshold)
    note(ax, _note_text(len(rows), groups, threshold))
    return ax


# ---- content -------------------------------------------------------------------------------------
def _check_associations(associations: npt.ArrayLike) -> FloatArray:
    try:
        matrix = np.array(associations, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("associations: give a square matrix of numbers from 0 to 1") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise DataError(f"associations have shape {matrix.shape}: give a square matrix")
    matrix = np.nan_to_num(matrix, nan=0.0, posinf=np.inf, neginf=-np.inf)
    if matrix.min() < -TOLERANCE or matrix.max() > 1 + TOLERANCE:
        cell = np.argwhere((matrix < -TOLERANCE) | (matrix > 1 + TOLERANCE))[0]
        raise DataError(
            f"association {matrix[tuple(cell)]:g} of columns {cell[0]} and {cell[1]} is outside "
            "0 to 1: give absolute values"
        )
    if np.abs(matrix - matrix.T).max() > TOLERANCE:
        cell = np.unravel_index(np.abs(matrix - matrix.T).argmax(), matrix.shape)
        raise DataError(
            f"associations are not symmetric: columns {cell[0]} and {cell[1]} have "
            f"{matrix[cell]:g} and {matrix.T[cell]:g}"
        )
    return np.clip((matrix + matrix.T) / 2, 0.0, 1.0)


def _check_names(names: Any, count: int) -> list[str]:
    if isinstance(names, str) or len(names) != count:
        raise ParameterError(f"names: give {count} of them, one for each column of associations")
    return [str(name) for name in names]


def _cluster(matrix: FloatArray) -> tuple[Any, list[int]]:
    """Return the tree of average linkage, and its leaves from left to right."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(matrix) == 1:
        return None, [0]
    distance = 1.0 - matrix
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    tree = linkage(condensed, "average", optimal_ordering=len(matrix) <= OPTIMAL_UP_TO)
    return tree, leaves_list(tree).tolist()


def _groups(tree: Any, order: list[int], threshold: float) -> list[tuple[int, int]]:
    """Return first and last row of every group of two or more."""
    from scipy.cluster.hierarchy import fcluster

    if tree is None:
        return []
    member = fcluster(tree, 1.0 - threshold + 1e-12, "distance")[order]
    starts = np.flatnonzero(np.r_[True, np.diff(member) != 0])
    ends = np.r_[starts[1:], len(member)] - 1
    return [(a, b) for a, b in zip(starts.tolist(), ends.tolist(), strict=True) if b > a]


def _note_text(count: int, groups: list[tuple[int, int]], threshold: float | None) -> str:
    text = f"{count:,} columns"
    if threshold is None:
        return text
    noun = "group" if len(groups) == 1 else "groups"
    inside = sum(high - low + 1 for low, high in groups)
    return f"{text}; {len(groups):,} {noun} at {threshold:g} or more, {inside:,} columns in them"


# ---- drawing -------------------------------------------------------------------------------------
def _make_axes(rows: list[str], groups: list[tuple[int, int]], all_named: bool) -> Any:
    side = max(len(rows) * row_height(len(rows)), 1.6) if all_named else SIDE
    texts = rows if all_named else [_group_name(rows, group) for group in groups] or rows
    size = print_size(side / len(rows)) if all_named else SMALL
    left = text_width(texts, size) + (0.12 if all_named else 0.4)
    return new_axes(side, side, left=max(left, 0.2), right=STRIP + 0.75, top=0.35, bottom=0.15)


def _name_all(ax: Any, rows: list[str]) -> None:
    height = inches(ax)[1] / len(rows)
    size = print_size(height)
    step = max(1, int(np.ceil(1.15 * size / POINTS / height)))
    at = range(0, len(rows), step)
    ax.set_yticks(at, [rows[row] for row in at], fontsize=size)
    for text in ax.get_yticklabels():
        text.set(parse_math=False, color=INK)
    ax.tick_params(axis="y", length=0, pad=3)


def _group_name(rows: list[str], group: tuple[int, int]) -> str:
    return f"{rows[group[0]]} +{group[1] - group[0]}"


def _name_groups(ax: Any, rows: list[str], groups: list[tuple[int, int]]) -> None:
    """Name the largest groups, as many as fit; without groups, some columns."""
    ax.set_yticks([])
    width, height = inches(ax)
    line_height = 1.3 * SMALL / POINTS / height
    most = max(1, int(1.0 / line_height))
    if groups:
        largest = sorted(sorted(groups, key=lambda g: g[0] - g[1])[:most])
        labels = [_group_name(rows, group) for group in largest]
        middles = [(low + high) / 2 for low, high in largest]
    else:
        step = int(np.ceil(len(rows) / most))
        middles = [float(row) for row in range(0, len(rows), step)]
        labels = [rows[int(row)] for row in middles]
    desired = [1.0 - (middle + 0.5) / len(rows) for middle in middles]
    at = spread(desired, line_height, 0.0, 1.0)
    for middle, level, label in zip(middles, at, labels, strict=True):
        ax.annotate(
            label, (-0.5, middle), (-0.22 / width, level), xycoords="data",
            textcoords="axes fraction", ha="right", va="center", fontsize=SMALL, color=INK,
            parse_math=False, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": FAINT, "linewidth": 0.6, "shrinkA": 1,
                        "shrinkB": 0, "relpos": (1, 0.5)},
        )  # fmt: skip


def _draw_tree_and_scale(ax: Any, image: Any, tree: Any, threshold: float | None) -> None:
    """Draw the tree, and the scale of the colours."""
    width, height = inches(ax)
    strip = ax.inset_axes((1.0 + 0.05 / width, 0.0, STRIP / width, 1.0))
    strip.set_axis_off()
    strip.set_facecolor("none")
    if tree is not None:
        for heights, positions in _branches(tree):
            strip.plot(heights, positions, color=INK, linewidth=0.6 if len(tree) < 150 else 0.3)
        strip.set_xlim(0.0, max(1.0, float(tree[:, 2].max())) * 1.02)
        if threshold is not None:
            strip.axvline(1.0 - threshold, color="#d55e00", linewidth=0.9, linestyle=":")
    strip.set_ylim(ax.get_ylim())
    bar_height = min(1.0, 1.6 / height)
    bounds = (1.0 + (STRIP + 0.15) / width, 1.0 - bar_height, 0.1 / width, bar_height)
    bar = ax.figure.colorbar(image, cax=ax.inset_axes(bounds))
    bar.set_ticks([0.0, 0.5, 1.0], labels=["0", "0.5", "1"], fontsize=SMALL)
    bar.set_label("association", fontsize=LARGEST, color=INK)
    bar.ax.tick_params(color=INK, labelcolor=INK, length=2, width=0.6)
    bar.ax.set_facecolor("none")
    bar.outline.set_visible(False)


def _branches(tree: Any) -> list[tuple[list[float], list[float]]]:
    """Return the lines of the tree: heights, and positions along the rows."""
    from scipy.cluster.hierarchy import leaves_list

    count = len(tree) + 1
    position, height = np.zeros(2 * count - 1), np.zeros(2 * count - 1)
    position[leaves_list(tree)] = np.arange(count)
    lines = []
    for node, (first, second, distance, _) in enumerate(tree, count):
        a, b = int(first), int(second)
        position[node], height[node] = (position[a] + position[b]) / 2, distance
        lines.append(([height[a], distance, distance, height[b]],
                      [position[a], position[a], position[b], position[b]]))  # fmt: skip
    return lines
