"""Estimates, tests and comparisons of ``featly evaluate`` for rows that no choice has seen."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError, Words
from featly.reports.inference import FOLDS, QUICK_REPEATS, THOROUGH_REPEATS, judged_rows
from featly.reports.inference import compared_metric as metric_of_comparisons
from featly.study import Nested, NestedEstimate, Predictability, Study, nested, predictability
from featly.study.nested import check_classes
from featly.study.nested_result import NESTED_METRICS

__all__ = ["NewRows", "estimate_new_rows"]


@dataclass(frozen=True, eq=False)
class NewRows:
    """Claims about new rows: estimates of every method and learner, tests, comparisons.

    Attributes
    ----------
    metric : str
    result : Nested or None
    refusal : str
        Why there is no figure; empty if there are some.
    tests : dict of (method, learner) to Predictability
    """

    metric: str
    result: Nested | None = None
    refusal: str = ""
    tests: dict[tuple[str, str], Predictability] = field(default_factory=dict)

    def estimates(self) -> Iterator[tuple[str, str, NestedEstimate]]:
        """Yield method, learner and estimate; those that failed on all folds are left out."""
        if self.result is None:
            return
        for method, learner in dict.fromkeys((c.method, c.learner) for c in self.result.candidates):
            try:
                estimate = self.result.estimate(self.metric, method=method, learner=learner)
            except DataError:
                continue
            yield method, learner, estimate

    def records(self) -> list[dict[str, Any]]:
        """Return a row for every method and learner."""
        return [
            {
                "method": method,
                "learner": learner,
                "size": estimate.size,
                self.metric: estimate.value,
                "lower": estimate.lower if estimate.has_interval else None,
                "upper": estimate.upper if estimate.has_interval else None,
            }
            for method, learner, estimate in self.estimates()
        ]

    def comparisons(self) -> list[dict[str, Any]]:
        """Compare the first method with the others, for each learner."""
        if self.result is None:
            return []
        rows = []
        for learner in dict.fromkeys(c.learner for c in self.result.candidates):
            methods = [m for m, other, _ in self.estimates() if other == learner]
            if len(methods) > 1:
                table = self.result.comparisons(
                    methods[0],
                    others=methods[1:],
                    metric=metric_of_comparisons(self.metric),
                    learner=learner,
                )
                rows += [{"learner": learner, **row} for row in table.to_dicts()]
        return rows

    def lines(self) -> list[str]:
        """Return sentences on differences, on chance, and on how all of it was made."""
        if self.result is None:
            return [f"no figure for new rows: {self.refusal}"]
        learners = {c.learner for c in self.result.candidates}
        lines = []
        for row in self.comparisons():
            prefix = f"{row['learner']}: " if len(learners) > 1 else ""
            pair = f"{prefix}{row['first']} - {row['second']}"
            if row["p_holm"] is None:
                lines.append(f"{pair}: {row['answer']}")
                continue
            lines.append(
                f"{pair}: {row['difference']:+.3f} ({row['lower']:+.3f} to {row['upper']:+.3f}), "
                f"p = {row['p_holm']:.2g}: {row['answer']}"
            )
        for (method, learner), test in self.tests.items():
            begin = f"{learner}: {method}" if len(learners) > 1 else method
            lines.append(f"{begin}: {test}")
        notes = dict.fromkeys(note for *_, estimate in self.estimates() for note in estimate.notes)
        lines += [f"note: {note}" for note in list(notes)[:3]]
        lines.append(f"new rows: {self.result.describe()}")
        return lines

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        if self.result is None:
            return {"refusal": self.refusal}
        return {
            "estimates": self.records(),
            "comparisons": self.comparisons(),
            "tests": [
                {
                    "method": method,
                    "learner": learner,
                    "answer": test.answer,
                    "p_value": test.p_value,
                    "drawn": 0 if test.test is None else test.test.drawn,
                }
                for (method, learner), test in self.tests.items()
            ],
            "protocol": self.result.describe(),
        }


def estimate_new_rows(
    study: Study,
    *,
    rule: str | int,
    thorough: bool,
    null: int,
    column: str | None,
    n_jobs: int | None,
    verbose: bool,
) -> NewRows:
    """Run the nested cross-validation, and the shuffles that were asked for, of a study."""
    metric = study.metric
    if study.selection == "outside":
        return NewRows(metric, refusal="columns were selected on all rows, test rows included")
    if metric not in NESTED_METRICS:
        return NewRows(metric, refusal=f"{metric} has no interval; {', '.join(NESTED_METRICS)} do")
    data = judged_rows(next(iter(study.datasets.values())), column)
    shared: dict[str, Any] = {
        "sizes": study.sizes,
        "learner": study.learners,
        "balanced": False,  # the learners of the study have classes of equal weight already
        "fill": study.fill,
        "resample": study.resample,
        "random_state": study.random_state,
        "n_jobs": n_jobs,
        "verbose": verbose,
    }
    try:
        check_classes(data)
    except DataError as problem:
        return NewRows(metric, refusal=problem.say(Words()))
    n_units = data.n_rows if data.row_groups is None else len(np.unique(data.row_groups))
    result = nested(
        study.methods,
        data,
        folds=min(FOLDS, n_units),
        repeats=THOROUGH_REPEATS if thorough else QUICK_REPEATS,
        rule=rule,
        **shared,
    )
    figures = NewRows(metric, result)
    try:
        estimates = list(figures.estimates())
    except ParameterError as problem:  # such as an area of three classes
        return NewRows(metric, refusal=problem.say(Words()))
    if null:
        for method, learner, _ in estimates:
            options = shared | {"learner": {learner: study.learners[learner]}}
            test = predictability({method: study.methods[method]}, data, most=null, **options)
            figures.tests[method, learner] = test
    return figures
