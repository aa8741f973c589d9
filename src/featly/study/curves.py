r"""Means over splits with honest intervals, and stabilities, for every size.

.. math::

    \bar v \pm t_{J-1} \sqrt{\left(\frac1J + \frac{n_\text{test}}{n_\text{train}}\right) s^2}

Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, *Machine Learning* 52,
239-281: splits share training rows, so their results are not independent.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import AnyArray
from featly.measures.classification import (
    METRICS,
    Metric,
    no_information,
    point632,
    point632plus,
)
from featly.measures.corrected_t import FRACTION
from featly.measures.multi_criteria import stability_performance
from featly.measures.scores import SCORE_METRICS, ScoreMetric
from featly.measures.stability import kuncheva_index, nogueira_curve, nogueira_stability
from featly.study.dataset import family_of
from featly.study.split_values import (
    KEYS,
    add_pooled_intervals,
    at_own_size,
    is_pooled,
    own_sizes,
    split_values,
    stacks,
)
from featly.study.store import ALL_ROWS

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

# shown side by side for two classes: how well rows are ordered, and how well they are divided
PARTNERS = {"bcr": "auc", "auc": "bcr"}
UNBOUNDED = ("log_loss",)  # metrics that may be above 1
NO_WIDTH = 1e-12  # an interval as narrow has none
RATES: dict[str, Metric | ScoreMetric] = {**METRICS, **SCORE_METRICS}

__all__ = [
    "PARTNERS",
    "RATES",
    "curve_frame",
    "family_frame",
    "limit_intervals",
    "null_frame",
    "rows_at_chosen_size",
    "summary_frame",
]


def curve_frame(results: "Results", metric: str, level: float) -> "pl.DataFrame":
    """See :meth:`Results.curves`."""
    import polars as pl

    FRACTION.check("level", level)
    own = own_sizes(results)
    means = _means(split_values(results, metric, draws=False), results, level, own)
    if is_pooled(results) and metric in METRICS:
        means = add_pooled_intervals(means, results, metric, level, own)
    if results.about["estimator"] in (".632", ".632+") and metric in METRICS:
        means = _correct_bootstrap(means, results, metric, own)
    stable = _stabilities(results, level, own)
    lines = means.join(stable, on=["dataset", "method", "size"], how="left", maintain_order="left")
    return lines.with_columns(pl.lit(results.biased).alias("biased"))


def _means(
    real: "pl.DataFrame", results: "Results", level: float, own: "pl.DataFrame"
) -> "pl.DataFrame":
    import polars as pl

    parts = results.rankings.filter(
        (pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS) & (pl.col("n_train") > 0)
    )
    shares = parts.group_by("dataset").agg(
        (pl.col("n_test").mean() / pl.col("n_train").mean()).alias("share")
    )
    means = (
        at_own_size(real, own)
        .group_by(KEYS)
        .agg(
            pl.col("value").mean().alias("mean"),
            pl.col("value").std().alias("sd"),
            pl.col("value").count().cast(pl.Int64).alias("n"),
        )
        .join(shares, on="dataset", how="left")
    )
    n = means["n"].to_numpy()
    quantile = np.where(n > 1, stats.t.ppf(0.5 + level / 2, np.maximum(n - 1, 1)), np.nan)
    half = (
        pl.Series("half", quantile)
        * (((1 / means["n"]) + means["share"]) * means["sd"].fill_null(np.nan) ** 2).sqrt()
    )
    means = means.with_columns(
        (means["mean"] - half).alias("lower"), (means["mean"] + half).alias("upper")
    ).with_columns(pl.col("lower", "upper").fill_nan(None))
    return sort_by_plan(means, results, KEYS).select(*KEYS, "mean", "sd", "lower", "upper", "n")


def sort_by_plan(frame: "pl.DataFrame", results: "Results", keys: list[str]) -> "pl.DataFrame":
    """Sort rows by `keys`: datasets, methods and learners as in the plan."""
    import polars as pl

    plan = {key: pl.Enum(list(results.about[f"{key}s"])) for key in keys if key != "size"}
    return frame.sort(*(pl.col(key).cast(plan.get(key, pl.Int64)) for key in keys))


def _correct_bootstrap(
    means: "pl.DataFrame", results: "Results", metric: str, own: "pl.DataFrame"
) -> "pl.DataFrame":
    """Correct means of the bootstrap by the apparent rates: Efron's .632 or .632+."""
    import polars as pl

    greater = METRICS[metric].greater_is_better
    on_all_rows = results.rows.filter((pl.col("null_draw") == 0) & (pl.col("split") == ALL_ROWS))
    apparent = {key: stack.sum(axis=0) for key, stack in stacks(on_all_rows, KEYS, own)}
    shift: list[float | None] = []
    for *key, mean in means.select(*KEYS, "mean").rows():
        confusion = apparent.get(tuple(key))
        if confusion is None or mean is None:
            shift.append(None)
            continue
        resubstitution = float(METRICS[metric].function(confusion))
        uninformed = float(METRICS[metric].function(no_information(confusion)))
        resubstitution, left_out, uninformed = (
            (1 - v) if greater else v for v in (resubstitution, mean, uninformed)
        )
        if results.about["estimator"] == ".632":
            error = float(point632(resubstitution, left_out))
        else:
            error = float(point632plus(resubstitution, left_out, uninformed))
        shift.append(((1 - error) if greater else error) - mean)
    shifts = pl.Series("shift", shift, dtype=pl.Float64)
    return means.with_columns(pl.col("mean", "lower", "upper") + shifts)


def _stabilities(results: "Results", level: float, own: "pl.DataFrame") -> "pl.DataFrame":
    """Return Kuncheva's index, Nogueira's interval and categorical columns by method and size."""
    import polars as pl

    fits = results.rankings.filter(
        (pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS) & pl.col("order").is_not_null()
    )
    sizes = (
        results.rows.filter((pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS))
        .group_by("dataset", "method")
        .agg(pl.col("size").unique().sort())
    )
    wanted = {(d, m): s for d, m, s in sizes.rows()}
    chosen = {(d, m): size for d, m, size in own.rows()}
    rows: list[tuple[Any, ...]] = []
    for (dataset, method), part in fits.group_by("dataset", "method", maintain_order=True):
        if (dataset, method) not in wanted:
            continue
        about = results.about["datasets"][dataset]
        labels = np.zeros(about["columns"], bool)
        labels[about["kinds"].get("categorical", [])] = True
        if (dataset, method) in chosen:
            sets = [order.to_numpy() for order in part["order"]]
            rows.append(
                (dataset, method, chosen[dataset, method], *_set_stability(sets, labels, level))
            )
        else:
            evaluated_sizes = np.array(wanted[dataset, method])
            flat = (
                part["order"]
                .list.head(int(evaluated_sizes[-1]))
                .explode(empty_as_null=False)
                .to_numpy()
            )
            orders = flat.reshape(part.height, -1)
            columns = _ranking_stability(orders, evaluated_sizes, labels, level)
            rows += [
                (dataset, method, size, *values)
                for size, *values in zip(evaluated_sizes.tolist(), *columns, strict=True)
            ]
    names = ["kuncheva", "nogueira", "nogueira_lower", "nogueira_upper", "categorical"]
    return pl.DataFrame(
        rows,
        orient="row",
        schema={
            "dataset": pl.String,
            "method": pl.String,
            "size": pl.Int64,
            **dict.fromkeys(names, pl.Float64),
        },
    ).with_columns(pl.col(names).fill_nan(None))


def _ranking_stability(
    orders: AnyArray, sizes: AnyArray, labels: AnyArray, level: float
) -> list[list[float]]:
    categorical = np.zeros(len(sizes))
    if labels.any():
        categorical = labels[orders].cumsum(axis=1)[:, sizes - 1].mean(axis=0)
    if len(orders) < 2:
        undefined = [np.nan] * len(sizes)
        return [undefined, undefined, undefined, undefined, categorical.tolist()]
    stable = nogueira_curve(orders, sizes, len(labels), level)
    value, lower, upper = (np.asarray(part).tolist() for part in stable[:3])
    return [value, value, lower, upper, categorical.tolist()]


def _set_stability(orders: list[AnyArray], labels: AnyArray, level: float) -> tuple[float, ...]:
    categorical = float(np.mean([labels[order].sum() for order in orders]))
    if len(orders) < 2:
        return np.nan, np.nan, np.nan, np.nan, categorical
    stable = nogueira_stability(orders, len(labels), level)
    index = kuncheva_index(orders, len(labels))
    return index, float(stable.value), float(stable.lower), float(stable.upper), categorical


def family_frame(results: "Results", metric: str) -> "pl.DataFrame":
    """See :meth:`Results.families`."""
    import polars as pl

    family = {name: family_of(name) for name in results.about["datasets"]}
    own = own_sizes(results).select("dataset", "method", pl.lit(True).alias("own"))
    draws = results.curves(metric).join(
        own, on=["dataset", "method"], how="left", maintain_order="left"
    )
    # sizes that a method chooses itself differ from draw to draw, so they are no key
    size_key = pl.when(pl.col("own").is_null()).then("size").alias("own_key")
    return (
        draws.with_columns(pl.col("dataset").replace_strict(family).alias("family"), size_key)
        .group_by("family", "method", "learner", "own_key", maintain_order=True)
        .agg(
            pl.col("size").mean().round().cast(pl.Int64),
            pl.col("mean").mean(),
            pl.col("mean").std().alias("sd"),
            pl.col("mean").count().cast(pl.Int64).alias("n_draws"),
            pl.col("biased").first(),
        )
        .drop("own_key")
    )


# ---- at a chosen size ----------------------------------------------------------------------------
def summary_frame(results: "Results", metric: str, rule: str | int, level: float) -> "pl.DataFrame":
    """See :meth:`Results.summary`."""
    import polars as pl

    chosen = rows_at_chosen_size(results, results.curves(metric, level=level), metric, rule)
    fits = results.rankings.filter((pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS))
    costs = fits.group_by("dataset", "method", maintain_order=True).agg(
        pl.col("select_seconds").mean().alias("seconds"),
        pl.col("failure").is_not_null().sum().cast(pl.Int64).alias("n_failed"),
    )
    # a method that failed everywhere has a row, too
    costs_by_learner = costs.join(
        pl.DataFrame({"learner": list(results.about["learners"])}), how="cross"
    )
    keys = KEYS[:3]
    summary = costs_by_learner.join(chosen.drop("biased"), on=keys, how="left")
    failed = (
        at_own_size(split_values(results, metric, draws=False), own_sizes(results))
        .filter(pl.col("failure").is_not_null())
        .group_by(KEYS)
        .agg(pl.len().cast(pl.Int64).alias("n_untrained"))
    )
    partner = _partner_means(results, metric)
    if partner is not None:
        summary = summary.join(partner, on=KEYS, how="left")
    summary = summary.join(failed, on=KEYS, how="left").with_columns(
        pl.col("n_failed") + pl.col("n_untrained").fill_null(0),
        pl.lit(results.biased).alias("biased"),
        _geometric_mean(summary, metric),
    )
    return sort_by_plan(limit_intervals(summary, metric), results, keys).select(
        "dataset", "method", "size", pl.col("mean").alias(metric), "lower", "upper",
        *([] if partner is None else [PARTNERS[metric]]), "kuncheva",
        "geometric_mean", "learner", "seconds", "n_failed", "biased",
    )  # fmt: skip


def limit_intervals(frame: "pl.DataFrame", metric: str) -> "pl.DataFrame":
    """Return a frame whose intervals end at 0 and 1, and are null where they have no width.

    Where every split has the same value, Student's interval has no width, which says nothing about
    other rows.
    """
    import polars as pl

    has_width = pl.col("upper") - pl.col("lower") > NO_WIDTH
    most = None if metric in UNBOUNDED else 1.0
    return frame.with_columns(
        pl.when(has_width).then(pl.col(end).clip(0.0, most)).alias(end)
        for end in ("lower", "upper")
    )


def _partner_means(results: "Results", metric: str) -> "pl.DataFrame | None":
    """Return the means of the metric that is shown beside another one, of two-class datasets."""
    import polars as pl

    partner = PARTNERS.get(metric)
    two = [name for name, data in results.about["datasets"].items() if len(data["classes"]) == 2]
    if partner is None or results.predictions is None or not two:
        return None
    try:
        values = split_values(results, partner, draws=False)
    except ParameterError:  # no learner gives decision values
        return None
    means = (
        at_own_size(values.filter(pl.col("dataset").is_in(two)), own_sizes(results))
        .group_by(KEYS)
        .agg(pl.col("value").mean().alias(partner))
    )
    return None if means[partner].is_null().all() else means


def _geometric_mean(summary: "pl.DataFrame", metric: str) -> "pl.Series":
    """Return the geometric mean of a rate and the stability."""
    import polars as pl

    mean = np.full(summary.height, np.nan)
    if metric in RATES and RATES[metric].greater_is_better:
        stable = summary["kuncheva"].fill_null(np.nan).to_numpy()
        rate = summary["mean"].fill_null(np.nan).to_numpy()
        # the index of sets of different sizes may lie below -1
        mean = np.asarray(stability_performance(np.maximum(stable, -1.0), rate))
    return pl.Series("geometric_mean", mean, dtype=pl.Float64).fill_nan(None)


def rows_at_chosen_size(
    results: "Results", curves: "pl.DataFrame", metric: str, rule: str | int
) -> "pl.DataFrame":
    """Return the rows of the curves at the size that a rule chooses for each."""
    import polars as pl

    picks = []
    own = set(own_sizes(results).select("dataset", "method").rows())
    for (dataset, method, learner), part in curves.group_by(KEYS[:3], maintain_order=True):
        known = part.filter(pl.col("mean").is_not_null())
        if known.is_empty():
            continue
        if (dataset, method) in own:
            size = int(known["size"][0])
        elif isinstance(rule, int | np.integer):
            size = int(rule)
        else:
            row_key: dict[str, Any] = {"dataset": dataset, "method": method, "learner": learner}
            size = results.choose_size(rule, metric=metric, **row_key)
        at = known.filter(pl.col("size") == size)
        if at.is_empty():
            raise ParameterError(
                f"size {size} of {method!r} on {dataset!r} was not evaluated: there are "
                f"{known['size'].to_list()}"
            )
        picks.append(at)
    if not picks:
        first = results.failures["failure"].to_list()[:1]
        raise DataError(f"no fit of the study succeeded{f': {first[0]}' if first else ''}")
    return pl.concat(picks)


# ---- shuffled labels -----------------------------------------------------------------------------
def null_frame(results: "Results", metric: str) -> "pl.DataFrame":
    """See :meth:`Results.null_test`."""
    import polars as pl

    from featly.study.results import GREATER

    if not results.about["null"]:
        raise ParameterError("the study was run without shuffled labels: run it with null=100")
    rows = at_own_size(split_values(results, metric), own_sizes(results))
    sign = 1.0 if GREATER[metric] else -1.0
    best = (
        rows.group_by("dataset", "method", "learner", "null_draw", "size")
        .agg(pl.col("value").mean() * sign)
        .group_by("dataset", "method", "learner", "null_draw")
        .agg(pl.col("value").max())
    )
    lines = []
    for (dataset, method, learner), part in sort_by_plan(best, results, KEYS[:3]).group_by(
        KEYS[:3], maintain_order=True
    ):
        values = dict(part.select("null_draw", "value").rows())
        observed = values.pop(0, None)
        shuffled = np.array([v for v in values.values() if v is not None])
        if observed is None or not len(shuffled):
            continue
        as_good = int((shuffled >= observed - 1e-12).sum())
        lines.append(
            (
                dataset,
                method,
                learner,
                sign * observed,
                sign * float(shuffled.mean()),
                sign * float(shuffled.max()),
                len(shuffled),
                (1 + as_good) / (1 + len(shuffled)),
                results.biased,
            )
        )
    return pl.DataFrame(
        lines,
        orient="row",
        schema={
            **dict.fromkeys(KEYS[:3], pl.String),
            **dict.fromkeys(("observed", "null_mean", "null_best"), pl.Float64),
            "n_null": pl.Int64,
            "p_value": pl.Float64,
            "biased": pl.Boolean,
        },
    )
