"""A heat map of features by pairs of classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.typing import FloatArray, IntArray
from featly.plots.canvas import (
    INK,
    LARGEST,
    ON_DARK,
    ON_LIGHT,
    check_whole_number,
    import_matplotlib,
    make_readable,
    print_size,
    shorten_names,
    shown_names,
)

__all__ = ["plot_pairs"]


BEST_POSITIONS = 10  # these are written into their cells if they fit
LONGEST_CLASS = 18
ROW_HEIGHT = 0.21  # of a new figure; inches, as all lengths here
COLUMN_WIDTHS = ((15, 0.34), (40, 0.24), (10**9, 0.155))  # up to so many problems
WIDEST = 40.0  # width of all columns together
LETTER = 0.0085  # width of a letter for each point of its size
NUMBER_WIDTH = 0.185  # width of "10" in small print


def plot_pairs(
    ranker: Any,
    *,
    n_features: int = 30,
    ax: Any = None,
    cmap: Any = "Blues_r",
    names: Sequence[str] | None = None,
) -> Any:
    """Draw the ranks of the best features in the list of every pair of classes.

    There is a row for each feature, best first, and a column for each problem of two classes; the
    darker, the nearer to the top of that problem's list. Colours go by the logarithm of the rank,
    so that the first ranks stand out. A feature that tells one class from the others shows as a few
    dark cells in a pale row; one that helps everywhere as a row of medium shade. Lines separate the
    problems of one class from those of the next.

    Parameters
    ----------
    ranker : Ranker
        Fitted, with lists: :class:`featly.PairwiseRanker`, or a ranker with ``multiclass="ovo"``
        or "ova".
    n_features : int, default=30
        How many features to show; all if there are fewer.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        Its size fits the numbers of rows and columns.
    cmap : str or matplotlib Colormap, default="Blues_r"
        From the colour of position 1 to that of the last one.
    names : sequence of str or None, default=None
        Names of the features, in the order of the table's columns; None takes the table's own
        names. Long ones are shortened in the middle.

    Returns
    -------
    ax : matplotlib Axes
        ``ax.figure.savefig("pairs.png", bbox_inches="tight")`` saves the picture.

    See Also
    --------
    featly.PairwiseRanker : A list for every pair of classes, and one list of them all.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import FTest, PairwiseRanker
    >>> from featly.plots import plot_pairs
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["cat", "dog", "fox"], 20)
    >>> X = rng.normal(size=(60, 12))
    >>> X[:, 5] += 3 * (y == "fox")
    >>> ranker = PairwiseRanker(FTest()).fit(X, y)
    >>> ax = plot_pairs(ranker, n_features=5)  # doctest: +SKIP
    >>> [label.get_text() for label in ax.get_xticklabels()]  # doctest: +SKIP
    ['cat vs dog', 'cat vs fox', 'dog vs fox']
    """
    colors = import_matplotlib("plot_pairs").colors
    positions, problems, order = _lists(ranker)
    order = order[: check_whole_number("n_features", n_features)]
    features = _names_of(ranker, names, len(positions))
    rows = shown_names([features[f] for f in order.tolist()])
    firsts = _first_classes(ranker, problems)
    columns = _shorten_problems(problems, firsts)
    shown_positions = positions[order]
    is_new = ax is None
    if is_new:
        ax = _new_axes(rows, columns)
    image = ax.imshow(
        np.ma.masked_invalid(shown_positions),
        cmap=cmap,
        norm=colors.LogNorm(vmin=1, vmax=max(2, len(positions))),
        aspect="auto",
        interpolation="nearest",
    )
    _draw_colour_bar(ax, image, len(positions))
    height, width = (
        (ROW_HEIGHT, _column_width(len(columns)))
        if is_new
        else _cell_size(ax, shown_positions.shape)
    )
    ax.set_facecolor("0.85")  # of cells without a position
    _label_axes(ax, rows, columns, height, width)
    _draw_separators(ax, shown_positions.shape, firsts)
    if min(width, height) >= NUMBER_WIDTH:
        _write_positions(ax, image, shown_positions, height)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _lists(ranker: Any) -> tuple[FloatArray, list[str], IntArray]:
    """Return positions in every list, the names of the problems, and the order of the features."""
    if hasattr(ranker, "fit"):
        check_is_fitted(ranker)
    if not all(hasattr(ranker, name) for name in ("positions_", "problems_", "order_")):
        kind = type(ranker).__name__
        if getattr(ranker, "multiclass", None) is not None:
            raise ParameterError(
                f"{kind} was fitted to two classes, so it has no lists of pairs to draw: "
                f"PairwiseRanker({kind}()) keeps a list of these, too"
            )
        own = f"{kind}(multiclass='ovo') or " if hasattr(ranker, "multiclass") else ""
        raise ParameterError(
            f"{kind} has no lists of pairs of classes to draw: fit {own}PairwiseRanker({kind}())"
        )
    positions = np.asarray(ranker.positions_, dtype=np.float64)
    return positions, list(ranker.problems_), np.asarray(ranker.order_)


def _names_of(ranker: Any, names: Sequence[str] | None, n_features: int) -> Sequence[str]:
    if names is None:
        return list(ranker._names())
    if isinstance(names, str) or len(names) != n_features:
        raise ParameterError(f"names: give {n_features} of them, one for each column of the table")
    return list(names)


def _first_classes(ranker: Any, problems: list[str]) -> list[str]:
    """Return the class that comes first in every problem."""
    keys = list(getattr(ranker, "rankings_", ()))
    if len(keys) != len(problems):
        return [problem.partition(" vs ")[0] for problem in problems]
    firsts = [key[0] if isinstance(key, tuple) else key for key in keys]
    return [
        repr(first) if problem.startswith(f"{first!r} vs ") else str(first)
        for first, problem in zip(firsts, problems, strict=True)
    ]


def _shorten_problems(problems: list[str], firsts: list[str]) -> list[str]:
    """Shorten long classes in the problems in the middle."""
    pairs = zip(problems, firsts, strict=True)
    seconds = [problem.removeprefix(first).removeprefix(" vs ") for problem, first in pairs]
    short = shorten_names(make_readable([*firsts, *seconds]), LONGEST_CLASS)
    half = len(problems)
    return [f"{a} vs {b}" for a, b in zip(short[:half], short[half:], strict=True)]


# ---- drawing -------------------------------------------------------------------------------------
def _new_axes(rows: list[str], columns: list[str]) -> Any:
    """Return axes of a new figure that is large enough for every cell and every name."""
    import matplotlib.pyplot as plt

    cell = _column_width(len(columns))
    beside = max(map(len, rows)) * LETTER * print_size(ROW_HEIGHT) + 1.1  # and the colour bar
    below = max(map(len, columns)) * LETTER * print_size(cell) + 0.3
    size = max(len(columns) * cell, 1.2) + beside, max(len(rows) * ROW_HEIGHT, 1.4) + below
    return plt.subplots(figsize=size, layout="constrained")[1]


def _column_width(n_problems: int) -> float:
    width = next(width for most, width in COLUMN_WIDTHS if n_problems <= most)
    return min(width, WIDEST / n_problems)


def _cell_size(ax: Any, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return height and width of a cell in inches."""
    box = ax.get_window_extent()
    dpi = ax.figure.get_dpi()
    return box.height / dpi / shape[0], box.width / dpi / shape[1]


def _label_axes(ax: Any, rows: list[str], columns: list[str], height: float, width: float) -> None:
    ax.set_yticks(range(len(rows)), rows, fontsize=print_size(height))
    rotation = {"rotation": 90, "ha": "center", "va": "top"}
    ax.set_xticks(range(len(columns)), columns, fontsize=print_size(width), **rotation)
    for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
        text.set(parse_math=False, color=INK)  # a dollar in a name is a dollar
    ax.tick_params(length=0, pad=3)
    ax.spines[:].set_visible(False)


def _draw_separators(ax: Any, shape: tuple[int, ...], firsts: list[Any]) -> None:
    """Draw white lines around cells, grey ones where the first class changes."""
    n_rows, n_columns = shape
    thin = {"color": "white", "linewidth": 0.5}
    ax.hlines(np.arange(1, n_rows) - 0.5, -0.5, n_columns - 0.5, **thin)
    ax.vlines(np.arange(1, n_columns) - 0.5, -0.5, n_rows - 0.5, **thin)
    changes = [k for k in range(1, n_columns) if firsts[k] != firsts[k - 1]]
    if len(changes) < n_columns - 1:  # with one problem for each class, every line would be grey
        ax.vlines(np.array(changes) - 0.5, -0.5, n_rows - 0.5, color="0.35", linewidth=0.9)


def _write_positions(ax: Any, image: Any, shown_positions: FloatArray, height: float) -> None:
    """Write the best positions into their cells, light on dark and dark on light."""
    size = min(print_size(height), 6.5)
    for row, column in np.argwhere(shown_positions <= BEST_POSITIONS):
        red, green, blue, _ = image.cmap(image.norm(shown_positions[row, column]))
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        ax.text(
            column,
            row,
            f"{shown_positions[row, column]:g}",
            ha="center",
            va="center",
            fontsize=size,
            color=ON_LIGHT if light else ON_DARK,
        )


def _draw_colour_bar(ax: Any, image: Any, n_features: int) -> None:
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.015, shrink=0.6, anchor=(0, 1))
    ticks = [t for t in 10 ** np.arange(10) if t < 0.7 * n_features] + [max(2, n_features)]
    bar.set_ticks(ticks, labels=[f"{tick:,}" for tick in ticks], fontsize=LARGEST - 1)
    bar.set_label("position", fontsize=LARGEST, color=INK)
    bar.ax.tick_params(color=INK, labelcolor=INK)
    bar.ax.minorticks_off()
    bar.ax.invert_yaxis()  # the best position on top, as in the lists
    bar.outline.set_visible(False)
