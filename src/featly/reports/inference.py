"""Inference of a report: an estimate without optimism, a test by shuffles, agreement of halves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, Words
from featly.measures.shuffle_test import MOST_SHUFFLES
from featly.study import (
    Dataset,
    HalfStability,
    Holdout,
    Nested,
    NestedEstimate,
    Predictability,
    Study,
    half_stability,
    nested,
    predictability,
)
from featly.study.dataset import take_rows
from featly.study.nested import check_classes

__all__ = ["Inference", "infer", "judged_rows"]

FOLDS, QUICK_REPEATS, THOROUGH_REPEATS = 10, 1, 5
QUICK_SECONDS, THOROUGH_SECONDS = 45.0, 120.0  # for all shuffles, if none ends early
QUICK_CUTS, THOROUGH_CUTS = 10, 20  # into halves
LEVEL = 0.05  # of comparisons


@dataclass(frozen=True, eq=False)
class Inference:
    """Claims about rows that the methods have not seen, and why some could not be made.

    Attributes
    ----------
    metric : str
    thorough : bool
        Whether the folds were drawn five times instead of once.
    nested : Nested or None
    test : Predictability or None
    halves : HalfStability or None
    refusal : str
        Why there is neither an estimate nor a test; empty if there are.
    halves_refusal : str
        Why there are no halves; empty if there are.
    """

    metric: str
    thorough: bool
    nested: Nested | None
    test: Predictability | None
    halves: HalfStability | None
    refusal: str = ""
    halves_refusal: str = ""

    def estimate(self, method: str) -> NestedEstimate | None:
        """Return the estimate of a method; None if it has none."""
        if self.nested is None or method not in {c.method for c in self.nested.candidates}:
            return None
        try:
            return self.nested.estimate(self.metric, method=method)
        except DataError:  # all fits of the method failed
            return None

    def comparisons(self, main: str) -> list[dict[str, Any]]:
        """Compare a method with the others that have an estimate, on the same folds."""
        if self.nested is None:
            return []
        methods = dict.fromkeys(c.method for c in self.nested.candidates)
        others = [m for m in methods if m != main and self.estimate(m) is not None]
        table = self.nested.comparisons(
            main, others=others, metric=compared_metric(self.metric), level=1 - LEVEL
        )
        return table.to_dicts()

    def halves_at(self, method: str, size: int) -> tuple[float, float] | None:
        """Return the agreement of halves at a size, and that of shuffled labels."""
        if self.halves is None:
            return None
        value, null = self.halves.at(method, size)
        return None if np.isnan(value) or np.isnan(null) else (value, null)


def compared_metric(metric: str) -> str:
    """Return the metric by which methods are compared: rows that are predicted right."""
    return {"auc": "bcr", "error": "accuracy"}.get(metric, metric)


def judged_rows(data: Dataset, column: str | None) -> Dataset:
    """Return the rows of an official training part, or all rows where there is none."""
    if data.official is None:
        return data
    rows = Holdout(column=column or "split").split_at(0, None, data.y, official=data.official).train
    groups = data.row_groups
    if groups is not None:
        groups = np.unique(groups[rows], return_inverse=True)[1]
    return replace(
        data,
        X=take_rows(data.X, rows),
        y=data.y[rows],
        codes=data.codes[rows],
        row_groups=groups,
        official=None,
        roles=None,
    )


def infer(
    data: Dataset,
    study: Study,
    main: str,
    compared: Sequence[str],
    *,
    metric: str,
    rule: str | int,
    thorough: bool = False,
    null: int | None = None,
    directory: str | Path | None = None,
    n_jobs: int | None = None,
    verbose: Any = False,
) -> Inference:
    """Estimate, test and compare with the methods and learners of a study.

    Parameters
    ----------
    data : Dataset
        The rows to infer from.
    study : Study
    main : str
        The method that is tested, and whose halves are compared.
    compared : sequence of str
        The methods with an estimate.
    metric : str
    rule : str or int
        The rule for the number of columns.
    thorough : bool, default=False
        Whether folds are drawn five times instead of once, and shuffles may take longer.
    null : int or None, default=None
        Shuffles of the labels, however long they take. None draws 99, 19 or none, by the time that
        they take.
    directory : path or None, default=None
        Folder for the fits, so that a report that was stopped can go on.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).

    Returns
    -------
    Inference
    """
    shared: dict[str, Any] = {
        "sizes": study.sizes,
        "fill": study.fill,
        "resample": study.resample,
        "directory": directory,
        "random_state": study.random_state,
        "n_jobs": n_jobs,
        "verbose": verbose,
    }
    # the learners of the study are trained with classes of equal weight already, where they should
    learners: dict[str, Any] = {"learner": study.learners, "balanced": False}
    only_main = {main: study.methods[main]}
    try:
        cuts = THOROUGH_CUTS if thorough else QUICK_CUTS
        halves, halves_refusal = half_stability(only_main, data, splits=cuts, **shared), ""
    except DataError as problem:
        halves, halves_refusal = None, problem.say(Words())
    try:
        check_classes(data)
    except DataError as problem:
        return Inference(metric, thorough, None, None, halves, problem.say(Words()), halves_refusal)
    n_units = data.n_rows if data.row_groups is None else len(np.unique(data.row_groups))
    result = nested(
        {name: study.methods[name] for name in compared},
        data,
        folds=min(FOLDS, n_units),
        repeats=THOROUGH_REPEATS if thorough else QUICK_REPEATS,
        rule=rule,
        **learners,
        **shared,
    )
    limit = THOROUGH_SECONDS if thorough else QUICK_SECONDS
    test = predictability(
        only_main,
        data,
        most=MOST_SHUFFLES if null is None else null,
        time_limit=limit if null is None else None,
        estimate=result.estimate("bcr", method=main),
        **learners,
        **shared,
    )
    return Inference(metric, thorough, result, test, halves, "", halves_refusal)
