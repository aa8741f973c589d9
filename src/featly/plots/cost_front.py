"""Costs of selections against their quality, and the selections that no other beats."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import FloatArray, IntArray
from featly.measures.multi_criteria import pareto_front
from featly.plots.canvas import (
    FAINT,
    INK,
    POINTS,
    colour,
    dress,
    import_matplotlib,
    inches,
    legend,
    marker,
    new_axes,
    shown_names,
    text_width,
)
from featly.plots.curves import LABEL_GAP, draw_end_labels
from featly.plots.frequencies import column_names
from featly.study.results import GREATER, Results
from featly.study.split_values import own_sizes
from featly.table.schema import Schema

__all__ = ["plot_cost_front"]

WIDTH, HEIGHT = 4.4, 3.2
MOST_LABELS = 25
ABREAST = 4  # entries in a line of the legend
WIDE_SPREAD = 50.0  # ratio of costs above which the axis is logarithmic


def plot_cost_front(
    results: Results,
    costs: Mapping[str | int, float] | npt.ArrayLike,
    *,
    metric: str = "error",
    dataset: str | None = None,
    learner: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw the cost of selections against a metric, and join those that no other beats.

    A point is a method at a size: the means over splits of the total cost of its columns and of the
    metric. Filled points are on the front: no other point is as cheap and as good, and better in
    one of the two. The front was chosen by looking at all points, so its ends are optimistic; a
    point near it may be as good.

    Parameters
    ----------
    results : Results
    costs : mapping of column to number, or array of shape (n_columns,)
        Cost of a column, at least 0. As in :class:`featly.Schema`, columns that a mapping does not
        name cost 0.
    metric : str, default="error"
    dataset, learner : str
        May be left out if there is one only.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    featly.measures.multi_criteria.pareto_front : Which points are on the front.

    Examples
    --------
    >>> from featly import Study
    >>> from featly.datasets import make_cohort
    >>> from featly.plots import plot_cost_front
    >>> cohort = make_cohort(n_patients=60, n_genes=40)
    >>> results = Study(["mim", "mrmr"], (cohort.X, cohort.y), 5).run()  # doctest: +SKIP
    >>> costs = {f"G{gene:04d}": 20.0 for gene in range(1, 41)}
    >>> ax = plot_cost_front(results, costs)  # doctest: +SKIP
    >>> ax.get_xlabel()  # doctest: +SKIP
    'mean cost of the selected columns'
    """
    import_matplotlib("plot_cost_front")
    if not isinstance(results, Results):
        raise ParameterError(
            f"plot_cost_front draws the Results of a study, not a {type(results).__name__}"
        )
    if metric not in GREATER:
        raise ParameterError(f"there is no metric {metric!r}: there are {', '.join(GREATER)}")
    dataset, learner = (
        results._require_name("datasets", dataset),
        results._require_name("learners", learner),
    )
    price = _costs(costs, results, dataset)
    methods, sizes, points = _points(results, price, metric, dataset, learner)
    front = np.flatnonzero(pareto_front(points, [False, GREATER[metric]]))
    front = front[np.argsort(points[front, 0], kind="stable")]
    study_methods = list(results.about["methods"])
    drawn_names = dict(zip(study_methods, shown_names(study_methods, 22), strict=True))
    labelled = _thin_front(front)
    labels = [f"{drawn_names[methods[k]]}, {sizes[k]:,}" for k in labelled]
    if ax is None:
        height = max(HEIGHT, len(labels) * LABEL_GAP / POINTS)
        right, top = text_width(labels) + 0.4, 0.2 + 0.14 * np.ceil(len(set(methods)) / ABREAST)
        ax = new_axes(WIDTH, height, left=0.6, right=right, top=top, bottom=0.5)
    _draw_points(ax, methods, study_methods, points, front)
    biased = " (BIASED: columns were selected on all rows)" if results.biased else ""
    dress(ax, x=f"mean cost of the selected columns{biased}", y=metric, grid="y")
    _set_limits(ax, points)
    draw_end_labels(ax, [tuple(points[k]) for k in labelled], labels, [FAINT] * len(labels))
    _draw_legend(ax, methods, study_methods, drawn_names)
    return ax


# ---- content -------------------------------------------------------------------------------------
def _costs(costs: Any, results: Results, dataset: str) -> FloatArray:
    names = column_names(results, dataset)
    if isinstance(costs, Mapping):
        resolved = Schema(costs=costs).resolve(names, np.zeros(len(names))).costs
        return np.zeros(len(names)) if resolved is None else np.asarray(resolved, np.float64)
    try:
        price = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"costs={costs!r}: give a mapping of column to number, or an array"
        ) from None
    if price.shape != (len(names),) or not (price >= 0).all() or np.isinf(price).any():
        raise ParameterError(
            f"costs: give {len(names)} finite numbers of at least 0, one a column of {dataset!r}"
        )
    return price


def _points(
    results: Results, price: FloatArray, metric: str, dataset: str, learner: str
) -> tuple[list[str], list[int], FloatArray]:
    """Return method, size, and mean cost with the mean metric of all that was evaluated."""
    with_own_size = {
        m for d, m in own_sizes(results).select("dataset", "method").rows() if d == dataset
    }
    curves = results.curves(metric)
    methods, sizes, points = [], [], []
    cumulative_costs: dict[str, list[FloatArray]] = {}
    for d, method, lrn, size, mean in curves.select(
        "dataset", "method", "learner", "size", "mean"
    ).rows():
        if d != dataset or lrn != learner or mean is None:
            continue
        if method not in cumulative_costs:
            cumulative_costs[method] = [
                np.cumsum(price[order]) for order in results.orders(dataset, method)
            ]
        sums = cumulative_costs[method]
        if sums:
            last = [
                len(split_costs) if method in with_own_size else min(size, len(split_costs))
                for split_costs in sums
            ]
            cost = float(
                np.mean(
                    [split_costs[k - 1] for split_costs, k in zip(sums, last, strict=True) if k]
                )
            )
        else:  # without a selection all columns are paid for
            cost = float(price.sum())
        methods.append(method)
        sizes.append(int(size))
        points.append((cost, mean))
    if not points:
        failed = results.failures["failure"].to_list()[:1]
        raise DataError(f"no method has a {metric} to draw{f': {failed[0]}' if failed else ''}")
    return methods, sizes, np.array(points, dtype=np.float64)


def _thin_front(front: IntArray) -> list[int]:
    """Return as many points of the front as can have a label, its ends among them."""
    at = np.arange(len(front))
    if len(front) > MOST_LABELS:
        at = np.linspace(0, len(front) - 1, MOST_LABELS).round().astype(int)
    return [int(point) for point in front[at]]


# ---- drawing -------------------------------------------------------------------------------------
def _draw_points(
    ax: Any, methods: list[str], study_methods: list[str], points: FloatArray, front: Any
) -> None:
    on = np.zeros(len(points), bool)
    on[front] = True
    for method in dict.fromkeys(methods):
        of_method = np.array([name == method for name in methods])
        method_index = study_methods.index(method)
        look = {"color": colour(method_index), "linestyle": "none", "marker": marker(method_index)}
        others = points[of_method & ~on].T
        ax.plot(*others, markerfacecolor="none", markersize=4.5, alpha=0.75, zorder=2, **look)
        ax.plot(*points[of_method & on].T, markersize=6.0, zorder=4, **look)
    steps = points[front]
    ax.step(steps[:, 0], steps[:, 1], where="post", color=INK, linewidth=0.9, zorder=3)


def _set_limits(ax: Any, points: FloatArray) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    cost, value = points.T
    if cost.min() > 0 and cost.max() > WIDE_SPREAD * cost.min():
        ax.set_xscale("log")
        ax.set_xlim(cost.min() / 1.3, cost.max() * 1.3)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        margin = 0.05 * (cost.max() - cost.min()) or 0.5
        ax.set_xlim(cost.min() - margin, cost.max() + margin)
    margin = 0.06 * (value.max() - value.min()) or 0.02
    ax.set_ylim(value.min() - margin, value.max() + margin)


def _draw_legend(
    ax: Any, methods: list[str], study_methods: list[str], drawn_names: dict[str, str]
) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for method in dict.fromkeys(methods):
        method_index = study_methods.index(method)
        handles.append(
            Line2D([], [], markersize=4.5, linestyle="none", color=colour(method_index),
                   marker=marker(method_index), label=drawn_names[method])
        )  # fmt: skip
    above = 1.0 + 0.06 / inches(ax)[1]
    placement = {
        "loc": "lower left",
        "bbox_to_anchor": (0.0, above),
        "ncols": min(ABREAST, len(handles)),
    }
    legend(ax, handles, **placement, handletextpad=0.1, columnspacing=1.0, labelspacing=0.25)
