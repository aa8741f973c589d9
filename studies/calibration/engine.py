"""The engine of nested cross-validation by itself, on the tables of the reports.

It is asked what the page says by it: whether the columns predict, how well with what interval,
whether another pipeline is better, how far halves agree. It needs :func:`featly.study.nested`.
"""

from functools import partial
from typing import Any

import numpy as np
import polars as pl

import featly
from featly.study import half_stability, nested, predictability
from studies.calibration.figures import LEARNER, STABLE_SIZES, Row
from studies.calibration.laws import Law
from studies.calibration.pipelines import AllOfHalf, HalfOfColumns
from studies.calibration.truth import Model, true_rates

__all__ = [
    "measure_engine",
    "measure_pairs",
    "measure_quick_engine",
    "measure_quick_pairs",
]

FULL, QUICK = 5, 1  # repeats


def _measure_engine(law: Law, number: int, repeats: int) -> Row:
    """Return what the engine says of a quick method, and the truth."""
    X, y = law.table(number)
    is_mixed = isinstance(X, pl.DataFrame)
    method: Any = featly.UnivariateTest(n_jobs=1) if is_mixed else featly.FTest(n_jobs=1)
    methods = {"main": method, "none": "none"}
    result = nested(methods, (X, y), repeats=repeats, learner=LEARNER, n_jobs=1)
    estimate = result.estimate(method="main")
    order = method.fit(X, y).order_
    models = {
        "main": Model(tuple(order[: estimate.size].tolist()), LEARNER),
        "all": Model(tuple(range(X.shape[1])), LEARNER),
    }
    true = true_rates(law, number, X, y, models)
    comparison = result.compare("main", "none")
    test = predictability({"main": method}, (X, y), learner=LEARNER, n_jobs=1)
    sizes = [size for size in STABLE_SIZES if size < X.shape[1]]
    halves = half_stability({"main": method}, (X, y), sizes=sizes, n_jobs=1)
    return {
        "size": estimate.size,
        "told": estimate.value,
        "lower": _or_none(estimate.lower),
        "upper": _or_none(estimate.upper),
        "uncorrected": estimate.uncorrected,
        "true": true["main"],
        "true_all": true["all"],
        "predicts": test.answer,
        "p": test.p_value,
        "p_all": comparison.p_value,
        "difference": comparison.difference,
        "halves": {str(size): [_or_none(v) for v in halves.at("main", size)] for size in sizes},
        "best": order[: max(STABLE_SIZES)].tolist(),
        "columns": X.shape[1],
    }


def _measure_pairs(law: Law, number: int, repeats: int) -> Row:
    """Return intervals and p-values of pipelines that are equal by construction."""
    X, y = law.table(number)
    methods = {"a": HalfOfColumns(0), "b": HalfOfColumns(1), "all of b": AllOfHalf(1)}
    sizes = [1 << k for k in range(10) if 1 << k <= X.shape[1] // 2]
    result = nested(methods, (X, y), repeats=repeats, sizes=sizes, learner=LEARNER, n_jobs=1)
    estimates = {name: result.estimate(method=name) for name in methods}
    models = {
        name: Model(tuple(method.fit(X, y).order_[: estimates[name].size].tolist()), LEARNER)
        for name, method in methods.items()
    }
    true = true_rates(law, number, X, y, models)
    pairs = [("a", "b"), ("a", "all of b"), ("b", "all of b")]
    return {
        "chosen": {
            name: [each.value, _or_none(each.lower), _or_none(each.upper), true[name]]
            for name, each in estimates.items()
        },
        "p": {f"{a} - {b}": result.compare(a, b).p_value for a, b in pairs},
    }


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


measure_engine = partial(_measure_engine, repeats=FULL)
measure_quick_engine = partial(_measure_engine, repeats=QUICK)
measure_pairs = partial(_measure_pairs, repeats=FULL)
measure_quick_pairs = partial(_measure_pairs, repeats=QUICK)
