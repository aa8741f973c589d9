"""How an elimination went: which columns left when, and how much they weighed then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.plots.canvas import (
    FAINT,
    INK,
    POINTS,
    Floats,
    colour,
    dress,
    need_matplotlib,
    new_axes,
    note,
    shown_names,
    text_width,
    within,
)
from featly.plots.curves import LABEL_GAP, end_labels, whole_number_axis
from featly.plots.ranking import checked_names

__all__ = ["has_path", "plot_path"]

WIDTH, HEIGHT = 4.6, 3.0
MOST_LABELS = 60  # that a figure has room for


def plot_path(
    ranker: Any, *, n_features: int = 10, names: Sequence[str] | None = None, ax: Any = None
) -> Any:
    """Draw when each column was dropped, and what it was worth at that moment.

    For an elimination, from all columns on the left to the last one on the right: a point is a
    column, at the number of columns left when its round began, as high as its criterion in that
    round. The last to go are the best, and are named. The line joins the largest criterion that
    was dropped in each round: where it rises steeply, the columns that are left begin to matter.

    For :class:`featly.AROM`, a point stands at the last iteration that a column took part in, as
    high as the logarithm of its weight there; under each iteration is told how many columns were
    left after it.

    Parameters
    ----------
    ranker : SVMRFE, MKLRFE, MulticlassSVMRFE or AROM
        Fitted.
    n_features : int, default=10
        How many of the best columns to name, up to 60.
    names : sequence of str or None, default=None
        What to call the columns, in the order of the table; None takes the table's own names.
    ax : matplotlib Axes or None, default=None

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
    need_matplotlib("plot_path")
    steps = _steps(ranker)
    count = min(within("n_features", n_features), len(steps.x))
    if count > MOST_LABELS:
        raise ParameterError(f"n_features={n_features}: up to {MOST_LABELS} names have room")
    best = steps.order[:count]
    called = checked_names(ranker, names, len(steps.x))
    labels = shown_names([called[f] for f in best.tolist()])
    if ax is None:
        tall = max(HEIGHT, count * LABEL_GAP / POINTS)
        right = text_width(labels) + 0.4
        ax = new_axes(WIDTH, tall, left=0.7, right=right, top=0.35, bottom=0.65)
    heights, floor = _heights(ax, steps.y, log=steps.log)
    rest = steps.order[count:]
    ax.plot(steps.x[rest], heights[rest], ".", color=FAINT, markersize=3, zorder=2)
    look = {"color": colour(0), "linewidth": 0.9, "zorder": 3}
    ax.plot(*_largest(steps.x, heights, falling=steps.log), **look)
    ax.plot(steps.x[best], heights[best], "D", color=colour(1), markersize=4.2, zorder=4)
    dress(ax, x=steps.x_label, y=steps.y_label, grid="y")
    _steps_axis(ax, steps)
    ends = list(zip(steps.x[best].tolist(), heights[best].tolist(), strict=True))
    end_labels(ax, ends, labels, [FAINT] * count)
    note(ax, _words(steps, count, floor))
    return ax


@dataclass(frozen=True)
class _Steps:
    """Where every column stands."""

    x: Floats
    y: Floats
    order: Any
    x_label: str
    y_label: str
    log: bool
    path: Any  # of AROM: columns left after each iteration
    interrupted: bool


def has_path(ranker: Any) -> bool:
    """Whether a fitted method leaves what :func:`plot_path` draws."""
    return _eliminates(ranker) or _iterates(ranker)


# ---- what is drawn -------------------------------------------------------------------------------
def _eliminates(ranker: Any) -> bool:
    return all(hasattr(ranker, name) for name in ("round_", "criterion_", "order_"))


def _iterates(ranker: Any) -> bool:
    return all(hasattr(ranker, name) for name in ("path_", "log_weight_", "iterations_"))


def _steps(ranker: Any) -> _Steps:
    if hasattr(ranker, "fit"):
        check_is_fitted(ranker)
    stopped = bool(getattr(ranker, "interrupted_", False))
    if _eliminates(ranker):
        rounds = np.asarray(ranker.round_)
        sizes = np.bincount(rounds)
        left = sizes[::-1].cumsum()[::-1].astype(np.float64)
        y = np.asarray(ranker.criterion_, np.float64)
        words = "columns left", "criterion when dropped"
        return _Steps(left[rounds], y, ranker.order_, *words, True, None, stopped)
    if _iterates(ranker):
        y = np.asarray(ranker.log_weight_, np.float64)
        x = np.asarray(ranker.iterations_, np.float64)
        words = "iteration, and columns left after it", "ln |weight| in the last iteration"
        return _Steps(x, y, ranker.order_, *words, False, np.asarray(ranker.path_), stopped)
    kind = type(ranker).__name__
    if hasattr(ranker, "positions_"):
        raise ParameterError(
            f"{kind} was fitted to pairs of classes, each of which has its own path: fit two "
            "classes, or MulticlassSVMRFE"
        )
    raise ParameterError(
        f"{kind} has no path, it ranks in one go: fit SVMRFE, MKLRFE, MulticlassSVMRFE or AROM"
    )


def _words(steps: _Steps, count: int, floor: bool) -> str:
    told = f"named: the best {count}" if count > 1 else "named: the best"
    told += "; bottom: a criterion of 0 or less" if floor and steps.log else ""
    told += "; bottom: a weight of 0" if floor and not steps.log else ""
    return f"{told}; Ctrl-C ended it early" if steps.interrupted else told


def _largest(x: Floats, y: Floats, *, falling: bool) -> tuple[Floats, Floats]:
    """The highest point of every place, from first to last."""
    places = np.unique(x)
    tops = np.array([y[x == place].max() for place in places])
    return (places[::-1], tops[::-1]) if falling else (places, tops)


# ---- drawing -------------------------------------------------------------------------------------
def _heights(ax: Any, y: Floats, *, log: bool) -> tuple[Floats, bool]:
    """Where points stand; those that the axis cannot show lie at its bottom."""
    shown = np.isfinite(y) & ((y > 0) if log else True)
    if not shown.any():
        ax.set_ylim(0.0, 1.0)
        return np.zeros(len(y)), True
    low, high = y[shown].min(), y[shown].max()
    if log and high > 30 * low:
        ax.set_yscale("log")
        _plain(ax)
        low, high = low / 2.5, high * 2.0
    else:
        room = 0.06 * (high - low) or abs(high) * 0.1 or 1.0
        low, high = low - room, high + room
    ax.set_ylim(low, high)
    return np.where(shown, y, low), bool((~shown).any())


def _plain(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.yaxis.set_major_locator(LogLocator(numticks=8))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _steps_axis(ax: Any, steps: _Steps) -> None:
    if steps.path is None:
        ax.set_xscale("log")
        low, high = steps.x.min() / 1.15, steps.x.max() * 1.15
        ax.set_xlim(high, low)  # from many to few
        whole_number_axis(ax.xaxis, low, high)
        return
    last = int(max(steps.x.max(), len(steps.path)))
    ax.set_xlim(min(steps.x.min(), 1) - 0.4, last + 0.4)
    step = max(1, int(np.ceil(last / 8)))
    ticks = [tick for tick in range(1, last + 1) if (last - tick) % step == 0]
    left = [f"{t}\n{steps.path[t - 1]:,}" if t <= len(steps.path) else f"{t}" for t in ticks]
    ax.set_xticks(ticks, left, color=INK)
