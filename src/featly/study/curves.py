r"""Means over splits with honest intervals, and stabilities, for every size.

.. math::

    \bar v \pm t_{J-1} \sqrt{\left(\frac1J + \frac{n_\text{test}}{n_\text{train}}\right) s^2}

Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, *Machine Learning* 52,
239-281: splits share training rows, so their results are not independent.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.errors import DataError, ParameterError
from featly.measures.classification import (
    METRICS,
    detection,
    no_information,
    point632,
    point632plus,
)
from featly.measures.deciding import stability_performance
from featly.measures.sizes import choose_size
from featly.measures.stability import kuncheva_index, nogueira_curve, nogueira_stability
from featly.study.dataset import family_of
from featly.study.store import ALL_ROWS

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = ["chosen_rows", "curve_frame", "family_frame", "null_frame"]

KEYS = ["dataset", "method", "learner", "size"]


def curve_frame(results: "Results", metric: str, level: float) -> "pl.DataFrame":
    """See :meth:`Results.curves`."""
    import polars as pl

    rows = results.rows.with_columns(results.values(metric).cast(pl.Float64).alias("value"))
    rows = rows.filter(pl.col("null_draw") == 0)
    whole, real = rows.filter(pl.col("split") == ALL_ROWS), rows.filter(pl.col("split") != ALL_ROWS)
    own = _subset_methods(results)
    means = _means(real, results, level, own)
    if results.about["splitter"] == "LeaveOneOut" and metric in METRICS:
        means = _pooled(means, real, metric, level, own)
    if results.about["estimator"] in (".632", ".632+") and metric in METRICS:
        means = _corrected(means, whole, results, metric, own)
    stable = _stabilities(results, level, own)
    found = means.join(stable, on=["dataset", "method", "size"], how="left", maintain_order="left")
    return found.with_columns(pl.lit(results.biased).alias("biased"))


def _subset_methods(results: "Results") -> "pl.DataFrame":
    """Methods that say themselves how many columns to take, with the mean of their numbers."""
    import polars as pl

    return (
        results.rankings.filter(
            pl.col("subset") & (pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS)
        )
        .group_by("dataset", "method", maintain_order=True)
        .agg(pl.col("order").list.len().mean().round().cast(pl.Int64).alias("own_size"))
    )


def _one_size(rows: "pl.DataFrame", own: "pl.DataFrame") -> "pl.DataFrame":
    """Rows of methods that choose their own number under the mean of it."""
    import polars as pl

    if own.is_empty():
        return rows
    joined = rows.join(own, on=["dataset", "method"], how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("own_size", "size").alias("size")).drop("own_size")


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
        _one_size(real, own)
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
    order = {
        part: pl.Enum(list(results.about[plural]))
        for part, plural in (
            ("dataset", "datasets"),
            ("method", "methods"),
            ("learner", "learners"),
        )
    }
    return (
        means.with_columns(pl.col(part).cast(kind) for part, kind in order.items())
        .sort("dataset", "method", "learner", "size")
        .with_columns(pl.col(part).cast(pl.String) for part in order)
        .select(*KEYS, "mean", "sd", "lower", "upper", "n")
    )


def _stacked(
    rows: "pl.DataFrame", own: "pl.DataFrame"
) -> dict[tuple[Any, ...], npt.NDArray[np.int64]]:
    """Confusion matrices summed over splits."""
    import polars as pl

    found: dict[tuple[Any, ...], npt.NDArray[np.int64]] = {}
    usable = _one_size(rows.filter(pl.col("confusion").is_not_null()), own)
    for key, part in usable.group_by(KEYS):
        stack = np.array(part["confusion"].to_list(), np.int64).sum(axis=0)
        side = round(len(stack) ** 0.5)
        found[key] = stack.reshape(side, side)
    return found


def _pooled(
    means: "pl.DataFrame", real: "pl.DataFrame", metric: str, level: float, own: "pl.DataFrame"
) -> "pl.DataFrame":
    """Leave-one-out: a rate of one row says nothing, so the rows are counted together."""
    import polars as pl

    sums = _stacked(real, own)
    found: list[tuple[float | None, ...]] = []
    for key in means.select(KEYS).rows():
        confusion = sums.get(key)
        if confusion is None:
            found.append((None, None, None))
            continue
        value = float(METRICS[metric].function(confusion))
        half = stats.norm.ppf(0.5 + level / 2) * _rate_error(confusion, metric)
        found.append((value, value - half, value + half))
    columns = list(zip(*found, strict=True)) or [(), (), ()]
    return means.with_columns(
        pl.Series(name, list(values), dtype=pl.Float64).fill_nan(None)
        for name, values in zip(("mean", "lower", "upper"), columns, strict=True)
    )


def _rate_error(confusion: npt.NDArray[np.int64], metric: str) -> float:
    """The standard error of a rate of counted rows."""
    rows = confusion.sum(axis=1)
    if metric in ("accuracy", "error"):
        rate = float(np.trace(confusion)) / max(rows.sum(), 1)
        return float(np.sqrt(rate * (1 - rate) / max(rows.sum(), 1)))
    rates = np.asarray(detection(confusion))
    used = rows > 0
    variances = rates[used] * (1 - rates[used]) / rows[used]
    if metric == "bcr":
        return float(np.sqrt(variances.sum()) / max(used.sum(), 1))
    if metric in ("sensitivity", "specificity") and len(rows) == 2:
        which = 1 if metric == "sensitivity" else 0
        return float(np.sqrt(rates[which] * (1 - rates[which]) / rows[which])) if rows[which] else 0
    return float("nan")


def _corrected(
    means: "pl.DataFrame",
    whole: "pl.DataFrame",
    results: "Results",
    metric: str,
    own: "pl.DataFrame",
) -> "pl.DataFrame":
    """Bootstrap: rows left out are too hard, rows trained on too easy; Efron's mixture of both."""
    import polars as pl

    greater = METRICS[metric].greater_is_better
    apparent = _stacked(whole, own)
    shift: list[float | None] = []
    for *key, mean in means.select(*KEYS, "mean").rows():
        confusion = apparent.get(tuple(key))
        if confusion is None or mean is None:
            shift.append(None)
            continue
        seen = float(METRICS[metric].function(confusion))
        blind = float(METRICS[metric].function(no_information(confusion)))
        seen, left_out, blind = ((1 - v) if greater else v for v in (seen, mean, blind))
        if results.about["estimator"] == ".632":
            error = float(point632(seen, left_out))
        else:
            error = float(point632plus(seen, left_out, blind))
        shift.append(((1 - error) if greater else error) - mean)
    moved = pl.Series("shift", shift, dtype=pl.Float64)
    return means.with_columns(pl.col("mean", "lower", "upper") + moved)


def _stabilities(results: "Results", level: float, own: "pl.DataFrame") -> "pl.DataFrame":
    """Kuncheva's index, Nogueira's interval and categorical columns of every method and size."""
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
    found: list[tuple[Any, ...]] = []
    for (dataset, method), part in fits.group_by("dataset", "method", maintain_order=True):
        if (dataset, method) not in wanted:
            continue
        about = results.about["datasets"][dataset]
        labels = np.zeros(about["columns"], bool)
        labels[about["kinds"].get("categorical", [])] = True
        if (dataset, method) in chosen:
            sets = [order.to_numpy() for order in part["order"]]
            found.append((dataset, method, chosen[dataset, method], *_of_sets(sets, labels, level)))
        else:
            some = np.array(wanted[dataset, method])
            flat = part["order"].list.head(int(some[-1])).explode(empty_as_null=False).to_numpy()
            orders = flat.reshape(part.height, -1)
            columns = _of_rankings(orders, some, labels, level)
            found += [
                (dataset, method, size, *values)
                for size, *values in zip(some.tolist(), *columns, strict=True)
            ]
    names = ["kuncheva", "nogueira", "nogueira_lower", "nogueira_upper", "categorical"]
    return pl.DataFrame(
        found,
        orient="row",
        schema={
            "dataset": pl.String,
            "method": pl.String,
            "size": pl.Int64,
            **dict.fromkeys(names, pl.Float64),
        },
    ).with_columns(pl.col(names).fill_nan(None))


def _of_rankings(
    orders: npt.NDArray[Any], sizes: npt.NDArray[Any], labels: npt.NDArray[Any], level: float
) -> list[list[float]]:
    categorical = np.zeros(len(sizes))
    if labels.any():
        categorical = labels[orders].cumsum(axis=1)[:, sizes - 1].mean(axis=0)
    if len(orders) < 2:
        nothing = [np.nan] * len(sizes)
        return [nothing, nothing, nothing, nothing, categorical.tolist()]
    stable = nogueira_curve(orders, sizes, len(labels), level)
    value, lower, upper = (np.asarray(part).tolist() for part in stable[:3])
    return [value, value, lower, upper, categorical.tolist()]


def _of_sets(
    orders: list[npt.NDArray[Any]], labels: npt.NDArray[Any], level: float
) -> tuple[float, ...]:
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
    draws = curve_frame(results, metric, 0.95)
    return (
        draws.with_columns(pl.col("dataset").replace_strict(family).alias("family"))
        .group_by("family", "method", "learner", "size", maintain_order=True)
        .agg(
            pl.col("mean").mean(),
            pl.col("mean").std().alias("sd"),
            pl.col("mean").count().cast(pl.Int64).alias("n_draws"),
            pl.col("biased").first(),
        )
    )


# ---- at a chosen size ----------------------------------------------------------------------------
def chosen_rows(
    results: "Results", curves: "pl.DataFrame", metric: str, rule: str | int
) -> "pl.DataFrame":
    """The rows of the curves at the size that a rule chooses for each, with costs and failures."""
    import polars as pl

    picks = []
    for (dataset, method, learner), part in curves.group_by(KEYS[:3], maintain_order=True):
        known = part.filter(pl.col("mean").is_not_null())
        if known.is_empty():
            continue
        size = _chosen_size(results, known, metric, rule, str(dataset), str(method), str(learner))
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
    costs = (
        results.rankings.filter((pl.col("null_draw") == 0) & (pl.col("split") != ALL_ROWS))
        .group_by("dataset", "method")
        .agg(
            pl.col("select_seconds").mean().alias("seconds"),
            pl.col("failure").is_not_null().sum().cast(pl.Int64).alias("n_failed"),
        )
    )
    found = pl.concat(picks).join(
        costs, on=["dataset", "method"], how="left", maintain_order="left"
    )
    both = found["kuncheva"].fill_null(np.nan).to_numpy(), found["mean"].to_numpy()
    mean = np.full(found.height, np.nan)
    if metric in METRICS:
        mean = np.asarray(stability_performance(*both))
    return found.with_columns(pl.Series("geometric_mean", mean, dtype=pl.Float64).fill_nan(None))


def _chosen_size(
    results: "Results",
    known: "pl.DataFrame",
    metric: str,
    rule: str | int,
    dataset: str,
    method: str,
    learner: str,
) -> int:
    if known.height == 1:
        return int(known["size"][0])
    if isinstance(rule, int):
        return rule
    n_features = results.about["datasets"][dataset]["columns"]
    curve = results.curve(metric, dataset=dataset, method=method, learner=learner)
    return choose_size(curve, rule, n_features=n_features)


# ---- shuffled labels -----------------------------------------------------------------------------
def null_frame(results: "Results", metric: str) -> "pl.DataFrame":
    """See :meth:`Results.null_test`."""
    import polars as pl

    from featly.study.results import GREATER

    if not results.about["null"]:
        raise ParameterError("the study was run without shuffled labels: say null=100")
    sign = 1.0 if GREATER[metric] else -1.0
    rows = results.rows.with_columns(
        (sign * results.values(metric).cast(pl.Float64)).alias("value")
    ).filter(pl.col("split") != ALL_ROWS)
    rows = _one_size(rows, _subset_methods(results))
    best = (
        rows.group_by("dataset", "method", "learner", "null_draw", "size")
        .agg(pl.col("value").mean())
        .group_by("dataset", "method", "learner", "null_draw", maintain_order=False)
        .agg(pl.col("value").max())
    )
    found = []
    for (dataset, method, learner), part in best.sort("dataset", "method", "learner").group_by(
        KEYS[:3], maintain_order=True
    ):
        values = dict(part.select("null_draw", "value").rows())
        observed = values.pop(0, None)
        shuffled = np.array([v for v in values.values() if v is not None])
        if observed is None or not len(shuffled):
            continue
        as_good = int((shuffled >= observed - 1e-12).sum())
        found.append(
            (
                dataset,
                method,
                learner,
                sign * observed,
                sign * float(shuffled.mean()),
                sign * float(shuffled.max()),
                len(shuffled),
                (1 + as_good) / (1 + len(shuffled)),
            )
        )
    return pl.DataFrame(
        found,
        orient="row",
        schema={
            **dict.fromkeys(KEYS[:3], pl.String),
            **dict.fromkeys(("observed", "null_mean", "null_best"), pl.Float64),
            "n_null": pl.Int64,
            "p_value": pl.Float64,
        },
    )
