"""A metric, or the stability, against the number of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Number, check_value
from featly.basics.typing import FloatArray
from featly.measures.classification import METRICS
from featly.measures.scores import SCORE_METRICS
from featly.plots.canvas import (
    INK,
    LINES,
    POINTS,
    SMALL,
    colour,
    dress,
    import_matplotlib,
    inches,
    marker,
    new_axes,
    note,
    note_height,
    shown_names,
    spread,
    text_width,
)
from featly.study.results import GREATER, Results
from featly.study.split_values import own_sizes

__all__ = ["draw_end_labels", "plot_curves", "set_whole_number_ticks"]

WIDTH, HEIGHT = 4.6, 3.1
MOST_METHODS = 20
LABEL_GAP = 9.5  # points from one label to the next
NEAR = 0.8  # share of the width beyond which the line to a label crosses no other curve
BANDS = ((3, 0.16), (6, 0.09), (MOST_METHODS, 0.05))  # number of methods up to which, opacity
TITLES = {"bcr": "balanced classification rate", "stability": "stability (Nogueira's index)"}


def plot_curves(
    results: Results,
    *,
    metric: str = "bcr",
    dataset: str | None = None,
    learner: str | None = None,
    methods: Sequence[str] | None = None,
    rule: str | int | None = "within-interval",
    chance: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw a metric, or the stability, against the number of columns.

    Each method is a line with the band of its 95% interval over the splits, and a ring at the size
    that a rule chooses. No selection is a horizontal line. A method that chooses its own number is
    a point with the ends of its interval. Chance is a dotted line. Splits share rows, so the bands
    are too narrow for new rows: :func:`featly.study.nested` has intervals for these.

    Bands that overlap do not mean that two methods are equal, and bands that do not are no test of
    the difference, because the methods share the splits. :meth:`featly.study.Results.compare` tests
    differences.

    Parameters
    ----------
    results : Results
    metric : str, default="bcr"
        Any that :meth:`featly.study.Results.curves` takes, or "stability" for Nogueira's index.
    dataset, learner : str
        May be left out if there is one only.
    methods : sequence of str or None, default=None
        Which to draw, up to 20; None draws all.
    rule : str, int or None, default="within-interval"
        The rule for the size that is marked, see :data:`featly.measures.sizes.SIZE_RULES`; None
        marks none. For the stability, the rule is applied to the balanced rate.
    chance : float or None, default=None
        Where to draw the line of chance. None is 1 / number of classes for "bcr", 0 for
        "stability", and no line for others.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes

    See Also
    --------
    featly.study.Results.curves : The numbers.

    Examples
    --------
    >>> from featly import Study
    >>> from featly.datasets import make_cohort
    >>> from featly.plots import plot_curves
    >>> cohort = make_cohort(n_patients=60, n_genes=40)
    >>> study = Study(["mim", "mrmr"], (cohort.X, cohort.y), 5, fill=True)  # doctest: +SKIP
    >>> ax = plot_curves(study.run())  # doctest: +SKIP
    >>> ax.get_xlabel()  # doctest: +SKIP
    'columns'
    """
    import_matplotlib("plot_curves")
    if not isinstance(results, Results):
        raise ParameterError(
            f"plot_curves draws the Results of a study, not a {type(results).__name__}"
        )
    dataset = results._require_name("datasets", dataset)
    learner = results._require_name("learners", learner)
    names = _check_methods(results, methods)
    curves, absent = _curves(results, metric, dataset, learner, names, rule)
    facts = results.about["datasets"][dataset]
    level = _chance_level(chance, metric, len(facts["classes"]))
    drawn_names = dict(zip(names, shown_names(names, 22), strict=True))
    labels = [_label(curve, drawn_names[curve.name], facts["columns"]) for curve in curves]
    note_text = _note_text(results, rule, absent)
    if ax is None:
        right = text_width(labels) + 0.35
        height = max(HEIGHT, len(labels) * LABEL_GAP / POINTS)
        top = note_height(note_text, WIDTH)
        ax = new_axes(WIDTH, height, left=0.6, right=right, top=top, bottom=0.5)
    strength = next(alpha for most, alpha in BANDS if len(curves) <= most)
    for curve in curves:
        _draw_curve(ax, curve, strength)
    _set_sizes_axis(ax, curves)
    if level is not None:
        ax.axhline(level, color=INK, linewidth=0.8, linestyle=":", zorder=1)
    dress(ax, x="columns", y=TITLES.get(metric, metric), grid="y")
    _set_limits(ax, curves, level, metric)
    ends, tints = [curve.end for curve in curves], [_curve_colour(curve) for curve in curves]
    if level is not None:
        ends.append((ax.get_xlim()[1], level))
        labels.append("chance")
        tints.append(INK)
    draw_end_labels(ax, ends, labels, tints)
    note(ax, note_text)
    return ax


@dataclass(frozen=True)
class _Curve:
    """Line, point or level of one method."""

    name: str
    kind: str  # "line", "point" for its own number, "level" for no selection
    method_index: int  # among the methods of the study: colour and marker
    sizes: FloatArray
    mean: FloatArray
    lower: FloatArray
    upper: FloatArray
    chosen: int | None

    @property
    def end(self) -> tuple[float, float]:
        return float(self.sizes[-1]), float(self.mean[-1])


# ---- content -------------------------------------------------------------------------------------
def _check_methods(results: Results, methods: Any) -> list[str]:
    study_methods = list(results.about["methods"])
    if isinstance(methods, str):
        methods = [methods]
    names = study_methods if methods is None else list(dict.fromkeys(methods))
    for name in names:
        if name not in study_methods:
            raise ParameterError(f"{name!r} is none of the methods: {', '.join(study_methods)}")
    if not 0 < len(names) <= MOST_METHODS:
        raise ParameterError(f"{len(names)} methods: give 1 to {MOST_METHODS} in methods=[...]")
    return names


def _chance_level(chance: Any, metric: str, n_classes: int) -> float | None:
    check_value("chance", chance, Number(), optional=True)
    if chance is None:
        return {"bcr": 1.0 / n_classes, "auc": 0.5, "stability": 0.0}.get(metric)
    return float(chance)


def _curves(
    results: Results, metric: str, dataset: str, learner: str, names: list[str], rule: Any
) -> tuple[list[_Curve], list[str]]:
    """Return curves of the methods that have one, and the names of those that have none."""
    stable = metric == "stability"
    if not stable and metric not in GREATER:
        raise ParameterError(
            f"there is no metric {metric!r}: there are stability, {', '.join(GREATER)}"
        )
    curve_metric = "bcr" if stable else metric
    frame = results.curves(curve_metric)
    value = (
        ["nogueira", "nogueira_lower", "nogueira_upper"] if stable else ["mean", "lower", "upper"]
    )
    with_own_size = {
        m for d, m in own_sizes(results).select("dataset", "method").rows() if d == dataset
    }
    rows_of: dict[str, list[tuple[Any, ...]]] = {}
    for d, method, lrn, *row in frame.select("dataset", "method", "learner", "size", *value).rows():
        if d == dataset and lrn == learner and row[1] is not None:
            rows_of.setdefault(method, []).append(tuple(row))
    study_methods = list(results.about["methods"])
    curves, absent = [], []
    for name in names:
        takes_all = results.about["methods"][name] == "none"
        if name not in rows_of:
            if not (takes_all and stable):  # taking all columns is neither stable nor unstable
                absent.append(name)
            continue
        sizes, mean, lower, upper = (
            np.array(part, dtype=np.float64) for part in zip(*rows_of[name], strict=True)
        )
        kind = "level" if takes_all else "point" if name in with_own_size else "line"
        chosen = None
        if kind == "line" and rule is not None:
            selection = {"dataset": dataset, "method": name, "learner": learner}
            chosen = results.choose_size(rule, metric=curve_metric, **selection)
            if chosen not in sizes:
                tried_sizes = ", ".join(f"{size:g}" for size in sizes)
                raise ParameterError(
                    f"size {chosen} of {name!r} was not evaluated: {tried_sizes} were"
                )
        method_index = study_methods.index(name)
        curves.append(_Curve(name, kind, method_index, sizes, mean, lower, upper, chosen))
    if not curves:
        failed = results.failures["failure"].to_list()[:1]
        raise DataError(f"no method has a {metric} to draw{f': {failed[0]}' if failed else ''}")
    return curves, absent


def _label(curve: _Curve, name: str, n_columns: int) -> str:
    if curve.kind == "level":
        return f"{name} (all {n_columns:,})"
    if curve.kind == "point":
        return f"{name} (≈{curve.sizes[0]:,.0f})"
    return name if curve.chosen is None else f"{name} ({curve.chosen:,})"


def _note_text(results: Results, rule: Any, absent: list[str]) -> str:
    text = "bands: 95% over splits"
    if isinstance(rule, int | np.integer):
        text += "; ring: the size that was asked for"
    elif rule is not None:
        text += f"; ring and (number): chosen by {rule}"
    if absent:
        text += f"\nwithout a result: {', '.join(shown_names(absent, 20)[:4])}"
        text += f" and {len(absent) - 4} more" if len(absent) > 4 else ""
    return f"BIASED: columns were selected on all rows\n{text}" if results.biased else text


# ---- drawing -------------------------------------------------------------------------------------
def _curve_colour(curve: _Curve) -> str:
    return INK if curve.kind == "level" else colour(curve.method_index)


def _draw_curve(ax: Any, curve: _Curve, alpha: float) -> None:
    tint, shape = _curve_colour(curve), marker(curve.method_index)
    lower = np.where(np.isfinite(curve.lower), curve.lower, curve.mean)
    upper = np.where(np.isfinite(curve.upper), curve.upper, curve.mean)
    if curve.kind == "line":
        ax.fill_between(curve.sizes, lower, upper, color=tint, alpha=alpha, linewidth=0)
        style = LINES[curve.method_index // 7 % len(LINES)]
        look = {"color": tint, "linewidth": 1.3, "linestyle": style, "zorder": 3}
        ax.plot(curve.sizes, curve.mean, marker=shape, markersize=3.6, **look)
        if curve.chosen is not None:
            at = curve.mean[curve.sizes == curve.chosen]
            ring = {"markerfacecolor": "none", "markeredgecolor": INK, "zorder": 4}
            ax.plot([curve.chosen], at, "o", markersize=9.5, markeredgewidth=1.1, **ring)
        return
    if curve.kind == "level":
        ax.axhline(curve.mean[0], color=tint, linewidth=0.9, linestyle=(0, (7, 2)), zorder=2)
        shape = "|"
    bar = np.array([curve.mean - lower, upper - curve.mean])
    look = {"color": tint, "linewidth": 1.1, "capsize": 2.5, "zorder": 3}
    ax.errorbar(curve.sizes, curve.mean, yerr=bar, marker=shape, markersize=6, **look)


def set_whole_number_ticks(axis: Any, low: float, high: float) -> None:
    """Set ticks of a logarithmic axis at 1, 2, 5, 10, ... in plain figures."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    steps = np.outer(10.0 ** np.arange(-1, 9), [1, 2, 5]).ravel()
    ticks = [tick for tick in steps if low <= tick <= high and tick >= 1]
    if len(ticks) > 8:
        ticks = [t for t in ticks if str(int(t))[0] == "1"]
    axis.set_major_locator(FixedLocator(ticks or [max(1.0, round(low))]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.set_minor_locator(NullLocator())


def _set_sizes_axis(ax: Any, curves: list[_Curve]) -> None:
    sizes = np.concatenate([curve.sizes for curve in curves])
    low, high = max(sizes.min(), 0.7) / 1.15, max(sizes.max(), 1.0) * 1.15
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    set_whole_number_ticks(ax.xaxis, low, high)


def _set_limits(ax: Any, curves: list[_Curve], level: float | None, metric: str) -> None:
    """Set limits for all means and bands: rates within 0 to 1, the stability up to 1."""
    ends = np.concatenate([np.r_[c.lower, c.upper] for c in curves])
    means = np.concatenate([c.mean for c in curves])
    values = np.r_[means, ends[np.isfinite(ends)], [] if level is None else [level]]
    low, high = float(values.min()), float(values.max())
    is_rate = metric in METRICS or (metric in SCORE_METRICS and metric != "log_loss")
    if is_rate or metric == "stability":
        high = min(high, max(1.0, means.max()))
    if is_rate:
        low = max(low, min(0.0, means.min()))
    margin = 0.04 * (high - low) or 0.05
    ax.set_ylim(low - margin, high + margin)


def draw_end_labels(
    ax: Any, ends: Sequence[tuple[float, float]], labels: Sequence[str], tints: Sequence[str]
) -> list[Any]:
    """Write labels to the right of the axes, one a line, joined to the points they name."""
    width, height = inches(ax)
    positions = [ax.transAxes.inverted().transform(ax.transData.transform(end)) for end in ends]
    at = spread([position[1] for position in positions], LABEL_GAP / POINTS / height, 0.0, 1.0)
    annotations: list[Any] = []
    for end, level, label, tint in zip(ends, at, labels, tints, strict=True):
        is_far = positions[len(annotations)][0] < NEAR
        line = {"arrowstyle": "-", "color": tint, "linewidth": 0.5 if is_far else 0.8}
        line |= {"linestyle": (0, (1, 2)) if is_far else "-", "shrinkA": 0, "shrinkB": 3}
        annotations.append(
            ax.annotate(
                label,
                end,
                (1.0 + 0.16 / width, level),
                textcoords="axes fraction",
                ha="left",
                va="center",
                fontsize=SMALL,
                color=INK,
                arrowprops=line | {"relpos": (0, 0.5)},
                annotation_clip=False,
                parse_math=False,
            )
        )
    return annotations
