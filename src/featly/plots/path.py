"""The course of an elimination: when each column left, and how much it weighed then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.typing import FloatArray
from featly.plots.canvas import (
    FAINT,
    INK,
    POINTS,
    check_whole_number,
    colour,
    dress,
    import_matplotlib,
    new_axes,
    note,
    shown_names,
    text_width,
)
from featly.plots.curves import LABEL_GAP, draw_end_labels, set_whole_number_ticks
from featly.plots.ranking import check_names

__all__ = ["has_path", "plot_path"]

WIDTH, HEIGHT = 4.6, 3.0
MOST_LABELS = 60  # that fit into a figure


def plot_path(
    ranker: Any, *, n_features: int = 10, names: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw when each column was dropped, and its criterion at that moment.

    For an elimination, from all columns on the left to the last one on the right: a point is a
    column, at the number of columns left when its round began, as high as its criterion in that
    round. The columns dropped last are the best, and are named. The line joins the largest
    criterion that was dropped in each round: where it rises steeply, the columns that are left
    begin to matter.

    For :class:`featly.AROM`, a point is at the last iteration that a column took part in, as high
    as the logarithm of its weight there; under each iteration is the number of columns left after
    it.

    Parameters
    ----------
    ranker : SVMRFE, MKLRFE, MulticlassSVMRFE or AROM
        Fitted.
    n_features : int, default=10
        How many of the best columns to name, up to 60.
    names : sequence of str or None, default=None
        Names of the columns, in the order of the table; None takes the table's own names.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from featly import SVMRFE
    >>> from featly.plots import plot_path
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 30)), np.repeat([0, 1], 20)
    >>> X[:, 3] += 2 * y
    >>> ax = plot_path(SVMRFE().fit(X, y), n_features=3)  # doctest: +SKIP
    >>> ax.get_xlabel()  # doctest: +SKIP
    'columns left'
    """
    import_matplotlib("plot_path")
    steps = _read_steps(ranker)
    count = min(check_whole_number("n_features", n_features), len(steps.x))
    if count > MOST_LABELS:
        raise ParameterError(f"n_features={n_features}: give at most {MOST_LABELS}")
    best = steps.order[:count]
    column_names = check_names(ranker, names, len(steps.x))
    labels = shown_names([column_names[f] for f in best.tolist()])
    if ax is None:
        height = max(HEIGHT, count * LABEL_GAP / POINTS)
        right = text_width(labels) + 0.4
        ax = new_axes(WIDTH, height, left=0.7, right=right, top=0.35, bottom=0.65)
    heights, floor = _heights(ax, steps.y, log=steps.log)
    unnamed = steps.order[count:]
    ax.plot(steps.x[unnamed], heights[unnamed], ".", color=FAINT, markersize=3, zorder=2)
    look = {"color": colour(0), "linewidth": 0.9, "zorder": 3}
    ax.plot(*_highest_points(steps.x, heights, descending=steps.log), **look)
    ax.plot(steps.x[best], heights[best], "D", color=colour(1), markersize=4.2, zorder=4)
    dress(ax, x=steps.x_label, y=steps.y_label, grid="y")
    _set_steps_axis(ax, steps)
    ends = list(zip(steps.x[best].tolist(), heights[best].tolist(), strict=True))
    draw_end_labels(ax, ends, labels, [FAINT] * count)
    note(ax, _note_text(steps, count, floor))
    return ax


@dataclass(frozen=True)
class _Steps:
    """Coordinates of every column."""

    x: FloatArray
    y: FloatArray
    order: Any
    x_label: str
    y_label: str
    log: bool
    path: Any  # of AROM: columns left after each iteration
    interrupted: bool


def has_path(ranker: Any) -> bool:
    """Return whether a fitted method has a path for :func:`plot_path`."""
    return _is_elimination(ranker) or _is_iterative(ranker)


# ---- content -------------------------------------------------------------------------------------
def _is_elimination(ranker: Any) -> bool:
    return all(hasattr(ranker, name) for name in ("round_", "criterion_", "order_"))


def _is_iterative(ranker: Any) -> bool:
    return all(hasattr(ranker, name) for name in ("path_", "log_weight_", "iterations_"))


def _read_steps(ranker: Any) -> _Steps:
    if hasattr(ranker, "fit"):
        check_is_fitted(ranker)
    stopped = bool(getattr(ranker, "interrupted_", False))
    if _is_elimination(ranker):
        rounds = np.asarray(ranker.round_)
        sizes = np.bincount(rounds)
        n_left = sizes[::-1].cumsum()[::-1].astype(np.float64)
        y = np.asarray(ranker.criterion_, np.float64)
        axis_labels = "columns left", "criterion when dropped"
        return _Steps(n_left[rounds], y, ranker.order_, *axis_labels, True, None, stopped)
    if _is_iterative(ranker):
        y = np.asarray(ranker.log_weight_, np.float64)
        x = np.asarray(ranker.iterations_, np.float64)
        axis_labels = "iteration, and columns left after it", "ln |weight| in the last iteration"
        return _Steps(x, y, ranker.order_, *axis_labels, False, np.asarray(ranker.path_), stopped)
    kind = type(ranker).__name__
    if hasattr(ranker, "positions_"):
        raise ParameterError(
            f"{kind} was fitted to pairs of classes, each of which has its own path: fit two "
            "classes, or MulticlassSVMRFE"
        )
    raise ParameterError(
        f"{kind} has no path, because it ranks in one step: fit SVMRFE, MKLRFE, MulticlassSVMRFE "
        "or AROM"
    )


def _note_text(steps: _Steps, count: int, floor: bool) -> str:
    text = f"named: the best {count}" if count > 1 else "named: the best"
    text += "; bottom: a criterion of 0 or less" if floor and steps.log else ""
    text += "; bottom: a weight of 0" if floor and not steps.log else ""
    return f"{text}; Ctrl-C ended it early" if steps.interrupted else text


def _highest_points(
    x: FloatArray, y: FloatArray, *, descending: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the highest point at every position, from first to last."""
    positions = np.unique(x)
    tops = np.array([y[x == position].max() for position in positions])
    return (positions[::-1], tops[::-1]) if descending else (positions, tops)


# ---- drawing -------------------------------------------------------------------------------------
def _heights(ax: Any, y: FloatArray, *, log: bool) -> tuple[FloatArray, bool]:
    """Return heights of the points; those that the axis cannot show lie at its bottom."""
    is_shown = np.isfinite(y) & ((y > 0) if log else True)
    if not is_shown.any():
        ax.set_ylim(0.0, 1.0)
        return np.zeros(len(y)), True
    low, high = y[is_shown].min(), y[is_shown].max()
    if log and high > 30 * low:
        ax.set_yscale("log")
        _use_plain_ticks(ax)
        low, high = low / 2.5, high * 2.0
    else:
        margin = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
        low, high = low - margin, high + margin
    ax.set_ylim(low, high)
    return np.where(is_shown, y, low), bool((~is_shown).any())


def _use_plain_ticks(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _set_steps_axis(ax: Any, steps: _Steps) -> None:
    if steps.path is None:
        ax.set_xscale("log")
        low, high = steps.x.min() / 1.15, steps.x.max() * 1.15
        ax.set_xlim(high, low)  # from many to few
        set_whole_number_ticks(ax.xaxis, low, high)
        return
    last = int(max(steps.x.max(), len(steps.path)))
    ax.set_xlim(min(steps.x.min(), 1) - 0.4, last + 0.4)
    step = max(1, int(np.ceil(last / 8)))
    ticks = [tick for tick in range(1, last + 1) if (last - tick) % step == 0]
    tick_labels = [f"{t}\n{steps.path[t - 1]:,}" if t <= len(steps.path) else f"{t}" for t in ticks]
    ax.set_xticks(ticks, tick_labels, color=INK)
