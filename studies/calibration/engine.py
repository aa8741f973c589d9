"""The engine behind the page and ``featly evaluate``, one sentence at a time.

Every function asks one thing of a table that the page says by the same call: how well a recipe
predicts and with what interval, whether it predicts at all, whether another one is better, how far
halves agree. One thing alone is quick, so many tables can be asked.
"""

from functools import partial
from typing import Any

import numpy as np
import polars as pl

import featly
from featly.study import Dataset, Nested, half_stability, nested, predictability
from studies.calibration.figures import ALPHA, LEARNER, STABLE_SIZES, Row, interval_figures
from studies.calibration.laws import Law
from studies.calibration.pipelines import AllOfHalf, HalfOfColumns
from studies.calibration.truth import Model, Truth, true_figures, true_rates

__all__ = [
    "half_figures",
    "interval_row_figures",
    "measure_halves",
    "measure_interval",
    "measure_null",
    "measure_pairs",
    "measure_predicts",
    "measure_quick_interval",
    "measure_quick_pairs",
    "measure_quick_versus_all",
    "measure_versus_all",
    "null_figures",
    "pair_figures",
    "predicts_figures",
    "versus_all_figures",
]

FULL, QUICK = 5, 1  # repeats
FEWEST = 19  # shuffles that can say yes
METRICS = ("bcr", "auc", "accuracy", "sensitivity")  # all but the first are of two classes
QUICK_CUTS = 10  # into halves, as on the page


def _method(X: Any) -> Any:
    is_mixed = isinstance(X, pl.DataFrame)
    return featly.UnivariateTest(n_jobs=1) if is_mixed else featly.FTest(n_jobs=1)


def _table(law: Law, number: int) -> tuple[Any, np.ndarray, Dataset]:
    X, y = law.table(number)
    return X, y, Dataset.of(X, y, row_groups=law.row_groups(number))


# ---- how well does it predict? -------------------------------------------------------------------
def _measure_interval(law: Law, number: int, repeats: int) -> Row:
    """Return figures with their intervals, and the truth of each."""
    X, y, data = _table(law, number)
    method = _method(X)
    result = nested(method, data, repeats=repeats, learner=LEARNER, n_jobs=1)
    order = method.fit(X, y).order_
    metrics = METRICS if len(law.counts) == 2 else METRICS[:1]
    estimates = {metric: result.estimate(metric) for metric in metrics}
    models = {
        str(each.size): Model(tuple(order[: each.size].tolist()), LEARNER)
        for each in estimates.values()
    }
    truths = true_figures(law, number, X, y, models, with_areas="auc" in metrics)
    return {
        metric: [
            each.value, _or_none(each.lower), _or_none(each.upper),
            _true(metric, truths[str(each.size)], y), each.uncorrected, each.size,
        ]
        for metric, each in estimates.items()
    }  # fmt: skip


def _true(metric: str, truth: Truth, y: np.ndarray) -> float | None:
    """Return the figure of a metric on new rows."""
    if metric == "auc":
        return truth.area
    if metric == "sensitivity":
        return float(truth.class_rates[1])
    if metric == "accuracy":
        return float(np.bincount(y) / len(y) @ truth.class_rates)
    return float(truth.class_rates.mean())


def interval_row_figures(row: Row) -> dict[str, bool | float | None]:
    """Return how far the figures were off, and whether their intervals hold the truth."""
    figures: dict[str, bool | float | None] = {"size": float(row["bcr"][5])}
    for metric in METRICS:
        if metric in row:
            value, lower, upper, true, uncorrected, _ = row[metric]
            suffix = "" if metric == "bcr" else f", {metric}"
            figures |= interval_figures(suffix, value, lower, upper, true)
            figures[f"uncorrected less true{suffix}"] = uncorrected - true
    return figures


# ---- does it predict? ----------------------------------------------------------------------------
def measure_predicts(law: Law, number: int) -> Row:
    """Return the answer by shuffled labels."""
    X, _, data = _table(law, number)
    test = predictability({"main": _method(X)}, data, learner=LEARNER, n_jobs=1)
    return {"answer": test.answer, "p": test.p_value}


def predicts_figures(row: Row) -> dict[str, bool | float | None]:
    """Return what the answer is."""
    return {
        "says it predicts": row["answer"] == "yes",
        "was not tested": row["answer"] == "not tested",
    }


def measure_null(law: Law, number: int) -> Row:
    """Return the p-value of ``featly evaluate --null 19``."""
    X, _, data = _table(law, number)
    test = predictability({"main": _method(X)}, data, most=FEWEST, learner=LEARNER, n_jobs=1)
    return {"p": test.p_value}


def null_figures(row: Row) -> dict[str, bool | float | None]:
    """Return whether the p-value calls it more than chance."""
    return {"says more than chance": row["p"] <= ALPHA}


# ---- is it better? -------------------------------------------------------------------------------
def _measure_versus_all(law: Law, number: int, repeats: int) -> Row:
    """Return the comparison of a selection with all columns, and the truth of both."""
    X, y, data = _table(law, number)
    method = _method(X)
    result = nested({"main": method, "none": "none"}, data, repeats=repeats, learner=LEARNER,
                    n_jobs=1)  # fmt: skip
    size = result.estimate(method="main").size
    models = {
        "main": Model(tuple(method.fit(X, y).order_[:size].tolist()), LEARNER),
        "all": Model(tuple(range(X.shape[1])), LEARNER),
    }
    true = true_rates(law, number, X, y, models)
    (row,) = result.comparisons("main", others=["none"]).to_dicts()
    return {
        "p": row["p_value"], "difference": row["difference"], "lower": _or_none(row["lower"]),
        "upper": _or_none(row["upper"]), "true": true["main"], "true_all": true["all"],
    }  # fmt: skip


def versus_all_figures(row: Row) -> dict[str, bool | float | None]:
    """Return whether the two are told apart, and whether that is right."""
    is_told_apart = row["p"] is not None and row["p"] <= ALPHA
    is_better = is_told_apart and row["difference"] > 0
    true = row["true"] - row["true_all"]
    known = row["lower"] is not None
    return {
        "says better than all columns": is_better,
        "says worse than all columns": is_told_apart and not is_better,
        "says better, and it is not": true <= 0 if is_better else None,
        "interval of the difference covers": row["lower"] <= true <= row["upper"]
        if known
        else None,
    }


def _measure_pairs(law: Law, number: int, repeats: int) -> Row:
    """Return intervals and p-values of pipelines that are equal by construction."""
    X, y = law.table(number)
    methods = {"a": HalfOfColumns(0), "b": HalfOfColumns(1), "all of b": AllOfHalf(1)}
    sizes = [1 << k for k in range(10) if 1 << k <= X.shape[1] // 2]
    result = nested(methods, (X, y), repeats=repeats, sizes=sizes, learner=LEARNER, n_jobs=1)
    estimates = {name: result.estimate(method=name) for name in ("a", "all of b")}
    models = {
        name: Model(tuple(methods[name].fit(X, y).order_[: each.size].tolist()), LEARNER)
        for name, each in estimates.items()
    }
    true = true_rates(law, number, X, y, models)
    return {
        "chosen": {
            name: [each.value, _or_none(each.lower), _or_none(each.upper), true[name]]
            for name, each in estimates.items()
        },
        "p": _p_values(result),
    }


def _p_values(result: Nested) -> dict[str, list[float | None]]:
    """Return the p-value of each pair alone, and adjusted for the number of pairs."""
    pairs = [("a", "b"), ("a", "all of b"), ("b", "all of b")]
    alone = [result.compare(*pair).p_value for pair in pairs]
    by_p = sorted(range(len(pairs)), key=lambda k: 1.0 if alone[k] is None else alone[k])
    adjusted, largest = [1.0] * len(pairs), 0.0
    for place, k in enumerate(by_p):  # Holm
        p = alone[k]
        largest = max(largest, min(1.0, (len(pairs) - place) * (1.0 if p is None else p)))
        adjusted[k] = largest
    return {f"{a} - {b}": [alone[k], adjusted[k]] for k, (a, b) in enumerate(pairs)}


def pair_figures(row: Row) -> dict[str, bool | float | None]:
    """Return coverage and errors of the tests; equal predictions are not told apart."""
    p = {pair: 1.0 if alone is None else alone for pair, (alone, _) in row["p"].items()}
    return {
        **interval_figures(", size chosen", *row["chosen"]["a"]),
        **interval_figures(", all columns", *row["chosen"]["all of b"]),
        "equals differ, sizes chosen": p["a - b"] <= ALPHA,
        "a selection differs from all columns": p["a - all of b"] <= ALPHA,
        "some pair of three differs": min(adjusted for _, adjusted in row["p"].values()) <= ALPHA,
    }


# ---- would other rows have given the same columns? -----------------------------------------------
def measure_halves(law: Law, number: int) -> Row:
    """Return the agreement of halves, that of shuffled labels, and the best columns."""
    X, y, data = _table(law, number)
    method = _method(X)
    sizes = [size for size in STABLE_SIZES if size < X.shape[1]]
    halves = half_stability({"main": method}, data, sizes=sizes, splits=QUICK_CUTS, n_jobs=1)
    return {
        "halves": {str(size): [_or_none(v) for v in halves.at("main", size)] for size in sizes},
        "best": method.fit(X, y).order_[: max(STABLE_SIZES)].tolist(),
        "columns": X.shape[1],
    }


def half_figures(row: Row) -> dict[str, bool | float | None]:
    """Return what is said of stability."""
    halves = row["halves"].items()
    return {
        **{f"stability of {size} told": value for size, (value, _) in halves},
        **{f"stability of {size} on shuffled labels": null for size, (_, null) in halves},
    }


def _or_none(value: float) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


measure_interval = partial(_measure_interval, repeats=FULL)
measure_quick_interval = partial(_measure_interval, repeats=QUICK)
measure_versus_all = partial(_measure_versus_all, repeats=FULL)
measure_quick_versus_all = partial(_measure_versus_all, repeats=QUICK)
measure_pairs = partial(_measure_pairs, repeats=FULL)
measure_quick_pairs = partial(_measure_pairs, repeats=QUICK)
