"""Columns that several methods have in common, as an UpSet diagram.

Lex, A., Gehlenborg, N., Strobelt, H., Vuillemot, R. and Pfister, H. (2014), UpSet: visualization
of intersecting sets, *IEEE Transactions on Visualization and Computer Graphics* 20, 1983-1992.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from featly.basics.errors import ParameterError
from featly.plots.canvas import (
    FAINT,
    INK,
    SMALL,
    check_whole_number,
    colour,
    import_matplotlib,
    inches,
    new_axes,
    note,
    print_size,
    shown_names,
    text_width,
)

__all__ = ["plot_overlap"]

FEWEST_SETS, MOST_SETS = 2, 12
FEWEST_COLUMNS = 5  # the width is made for so many at least, so that a single bar is not too wide
COLUMN, ROW = 0.27, 0.22  # of an intersection, of a set; inches, as all lengths here
BARS, SIZES = 1.25, 0.8  # heights of the bars above, lengths of those beside


def plot_overlap(
    selections: Mapping[str, Iterable[Any]], *, n_intersections: int = 20, ax: Any = None
) -> Any:
    """Draw which columns several methods chose in common.

    Each column of dots is a group of columns that exactly the methods with a filled dot chose, as
    many as the bar above it shows; the largest group first. Bars on the left show how many columns
    each method chose. Columns that all methods chose do not depend on the method; those that a
    single one chose may.

    Parameters
    ----------
    selections : mapping of method to columns
        2 to 12 methods, with the names or positions of the columns that each chose.
    n_intersections : int, default=20
        How many groups to show; a note counts those that are left out.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        The parts of the diagram are axes within it.

    Returns
    -------
    ax : matplotlib Axes
        ``ax.child_axes`` are the bars above, the dots, and the bars beside them.

    Examples
    --------
    >>> from featly.plots import plot_overlap
    >>> chosen = {"mRMR": ["age", "crp", "bmi"], "JMI": ["age", "crp"], "CFS": ["age"]}
    >>> ax = plot_overlap(chosen)  # doctest: +SKIP
    >>> [bar.get_height() for bar in ax.child_axes[0].patches]  # doctest: +SKIP
    [1, 1, 1]
    """
    import_matplotlib("plot_overlap")
    sets = _read_sets(selections)
    groups = _groups(sets)
    shown_groups = groups[: check_whole_number("n_intersections", n_intersections)]
    names = shown_names(list(sets), 26)
    note_text = _note_text(groups, len(shown_groups))
    wide = COLUMN * max(len(shown_groups), FEWEST_COLUMNS)
    tall = ROW * len(sets)
    beside = text_width(names, print_size(ROW)) + 0.15
    if ax is None:
        left = SIZES + 0.25
        ax = new_axes(left + beside + wide, BARS + 0.1 + tall, left=0.25, right=0.15, top=0.35,
                      bottom=0.4)  # fmt: skip
    width, height = inches(ax)
    beside = min(beside, 0.5 * width)
    sizes_wide = min(SIZES, 0.2 * width)
    start = sizes_wide + beside + 0.1
    low = tall / (tall + BARS + 0.1)
    ax.set_axis_off()
    ax.set_facecolor("none")
    above = ax.inset_axes((start / width, low + 0.03, 1.0 - start / width, 0.97 - low))
    dots = ax.inset_axes((start / width, 0.0, 1.0 - start / width, low))
    sizes = ax.inset_axes((0.0, 0.0, sizes_wide / width, low))
    _draw_groups(above, shown_groups)
    _draw_dots(dots, shown_groups, names, low * height / len(sets))
    _draw_sizes(sizes, [len(columns) for columns in sets.values()])
    note(ax, note_text)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _read_sets(selections: Any) -> dict[str, set[Any]]:
    if not isinstance(selections, Mapping):
        raise ParameterError(
            f"selections is a {type(selections).__name__}: give a mapping of method to columns"
        )
    if not FEWEST_SETS <= len(selections) <= MOST_SETS:
        raise ParameterError(
            f"{len(selections)} selections: give {FEWEST_SETS} to {MOST_SETS} of them"
        )
    sets = {}
    for name, columns in selections.items():
        if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
            raise ParameterError(f"selection of {name!r} is {columns!r}: give a list of columns")
        if isinstance(columns, np.ndarray) and columns.dtype == np.bool_:
            columns = np.flatnonzero(columns)  # a mask, as get_support() returns
        sets[str(name)] = {c.item() if isinstance(c, np.generic) else c for c in columns}
    if len(sets) < len(selections):
        raise ParameterError("two selections have the same name: rename one")
    return sets


def _groups(sets: Mapping[str, set[Any]]) -> list[tuple[tuple[bool, ...], int]]:
    """Return the groups as members and number of columns, the largest first."""
    all_columns = sorted(set().union(*sets.values()), key=str)
    counts = Counter(
        tuple(column in columns for columns in sets.values()) for column in all_columns
    )
    return sorted(counts.items(), key=lambda item: (-item[1], -sum(item[0]), item[0]))


def _note_text(groups: list[Any], n_shown: int) -> str:
    total = sum(count for _, count in groups)
    if not total:
        return "no column was chosen"
    text = f"{total:,} columns in all" if total > 1 else "1 column in all"
    hidden_groups = groups[n_shown:]
    if hidden_groups:
        n_hidden = sum(count for _, count in hidden_groups)
        text += f"; {len(hidden_groups):,} smaller groups, {n_hidden:,} columns, are left out"
    return text


# ---- drawing -------------------------------------------------------------------------------------
def _strip_axes(ax: Any) -> None:
    ax.set_facecolor("none")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=INK, color=INK, labelsize=SMALL)


def _draw_groups(ax: Any, shown_groups: list[tuple[tuple[bool, ...], int]]) -> None:
    _strip_axes(ax)
    counts = [count for _, count in shown_groups]
    ax.bar(
        range(len(shown_groups)),
        counts,
        width=0.62,
        color=[_group_colour(members) for members, _ in shown_groups],
        zorder=2,
    )
    ax.set_xlim(-0.6, max(len(shown_groups), FEWEST_COLUMNS) - 0.4)
    ax.set_ylim(0, 1.18 * max([1, *counts]))
    ax.set_xticks([])
    ax.set_yticks([])
    for position, count in enumerate(counts):
        ax.annotate(
            f"{count:,}", (position, count), (0, 2), textcoords="offset points", ha="center",
            va="bottom", fontsize=SMALL, color=INK,
        )  # fmt: skip
    ax.axhline(0, color=INK, linewidth=0.7, zorder=3)


def _group_colour(members: tuple[bool, ...]) -> str:
    """Return the colour of a group; what all methods chose stands out."""
    return colour(1) if all(members) else colour(0)


def _draw_dots(
    ax: Any, shown_groups: list[tuple[tuple[bool, ...], int]], names: list[str], height: float
) -> None:
    _strip_axes(ax)
    n_sets, n_groups = len(names), max(len(shown_groups), FEWEST_COLUMNS)
    for row in range(0, n_sets, 2):
        ax.axhspan(row - 0.5, row + 0.5, color=FAINT, alpha=0.22, linewidth=0, zorder=0)
    size = min(6.5, 0.5 * height * 72)
    for position, (members, _) in enumerate(shown_groups):
        inside = [row for row, is_member in enumerate(members) if is_member]
        outside = [row for row, is_member in enumerate(members) if not is_member]
        ax.plot(
            [position] * len(outside), outside, "o", color=FAINT, markersize=size * 0.55, zorder=2
        )
        ends = [inside[0], inside[-1]]
        ax.plot([position, position], ends, color=_group_colour(members), linewidth=1.6, zorder=3)
        ax.plot(
            [position] * len(inside),
            inside,
            "o",
            color=_group_colour(members),
            markersize=size,
            zorder=4,
        )
    ax.set_xlim(-0.6, n_groups - 0.4)
    ax.set_ylim(n_sets - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks(range(n_sets), names, fontsize=print_size(height))
    for text in ax.get_yticklabels():
        text.set(parse_math=False, color=INK)


def _draw_sizes(ax: Any, sizes: list[int]) -> None:
    _strip_axes(ax)
    ax.barh(range(len(sizes)), sizes, height=0.6, color=colour(6), zorder=2)
    ax.set_xlim(1.6 * max([1, *sizes]), 0)  # to the left, with room for the numbers
    ax.set_ylim(len(sizes) - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    for row, size in enumerate(sizes):
        ax.annotate(
            f"{size:,}", (size, row), (-2, 0), textcoords="offset points", ha="right",
            va="center", fontsize=SMALL, color=INK,
        )  # fmt: skip
    ax.set_xlabel("columns chosen", fontsize=SMALL, color=INK)
