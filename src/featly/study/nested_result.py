"""Result of a nested cross-validation: estimates with intervals, curves and comparisons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.measures.nested_auc import area_interval, mean_area
from featly.measures.nested_rates import (
    RateInterval,
    class_rates,
    correct_rates,
    count_units,
    rate_interval,
)
from featly.measures.paired_hits import HitComparison, compare_hits
from featly.measures.wilcoxon import holm, holm_levels
from featly.study.dataset import Dataset
from featly.study.nested_choice import choose_candidate, row_scores
from featly.study.nested_estimate import SMALL, Candidate, NestedEstimate

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Nested"]

NESTED_METRICS = ("bcr", "accuracy", "error", "sensitivity", "specificity", "auc")
MOST_MISSING = 0.05  # share of predictions that failed, above which there is no interval
WIDE = 10  # with few rows and so many times more columns, figures are a little too low


class _Figure(NamedTuple):
    """A rate with its interval, and what it is made from."""

    interval: RateInterval
    uncorrected: float
    rates: FloatArray
    missing: float


@dataclass(frozen=True, eq=False, repr=False)
class Nested:
    """Predictions of a nested cross-validation, and what they say.

    Class codes are positions in ``dataset.classes``, -1 where a fit failed or a row was not
    predicted. Values say of two classes how far a row is on the side of the second one, NaN where
    the learner does not.

    Attributes
    ----------
    dataset : Dataset
    candidates : list of Candidate
        Every method with every learner and size.
    rule : str or int
        Of the size.
    folds, inner, repeats : int
    planned_repeats : int
        More than `repeats` if Ctrl-C ended the run.
    fold_of : int array of shape (repeats, n_rows)
    outer_codes, outer_values : arrays of shape (repeats, n_candidates, n_rows)
        By the models of all other folds.
    inner_codes, inner_values : arrays of shape (repeats, inner, n_candidates, n_rows)
        Predictions of the same rows by the models of inner folds.
    pooled_codes, pooled_values : arrays of shape (repeats, folds, n_candidates, n_rows)
        Inner predictions of the rows outside of each fold, by which its size is chosen.
    own_sizes : dict of str to int
        Mean number of columns of methods that choose it themselves.
    errors, notes : tuples of str
        What failed, and what was warned of.
    n_paths : int
    seconds : float
    random_state : int
    """

    dataset: Dataset
    candidates: list[Candidate]
    rule: str | int
    folds: int
    inner: int
    repeats: int
    planned_repeats: int
    fold_of: IntArray
    outer_codes: AnyArray
    outer_values: AnyArray
    inner_codes: AnyArray
    inner_values: AnyArray
    pooled_codes: AnyArray
    pooled_values: AnyArray
    own_sizes: dict[str, int]
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    n_paths: int
    seconds: float
    random_state: int
    _choices: dict[Any, IntArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = (
            (len({c.method for c in self.candidates}), "method"),
            (len({c.learner for c in self.candidates}), "learner"),
        )
        words = [f"{n} {word}{'s' * (n > 1)}" for n, word in counts]
        words.append(f"{self.repeats} repeat{'s' * (self.repeats > 1)} of {self.folds} folds")
        return f"Nested({', '.join(words)}, {self.inner} inner folds)"

    @property
    def y(self) -> IntArray:
        """The class of every row, as a code."""
        return self.dataset.codes

    @property
    def was_stopped(self) -> bool:
        """Return whether Ctrl-C ended the run early."""
        return self.repeats < self.planned_repeats

    def describe(self) -> str:
        """Return in words what was done.

        Returns
        -------
        str
        """
        times = "once (quick mode)" if self.repeats == 1 else f"{self.repeats} times"
        text = (
            f"{self.folds} folds, drawn {times}; in each training part {self.inner} inner folds "
            f"choose among {len(self.candidates)} combinations of method, learner and size "
            f"(rule {self.rule!r}). {self.n_paths:,} rankings, seed {self.random_state}."
        )
        if self.was_stopped:
            text += f" Stopped: {self.planned_repeats} repeats were planned."
        if self.dataset.row_groups is not None:
            text += " Rows of one group stay together."
        return text

    # ---- estimates --------------------------------------------------------------------------
    def estimate(
        self,
        metric: str = "bcr",
        *,
        method: str | Sequence[str] | None = None,
        learner: str | None = None,
        rule: str | int | None = None,
        level: float = 0.95,
    ) -> NestedEstimate:
        """Estimate how well the recipe predicts new rows.

        Parameters
        ----------
        metric : str, default="bcr"
            "bcr", "accuracy", "error", "sensitivity", "specificity" or, for two classes and a
            learner with decision values, "auc", by which the size is then chosen, too.
        method : str, sequence of str or None, default=None
            The method, or those to choose from in each training part; None is all.
        learner : str or None, default=None
            The learner; None is all.
        rule : str or int or None, default=None
            Another rule for the size than that of the run.
        level : float, default=0.95
            Of the interval.

        Returns
        -------
        NestedEstimate
        """
        mask, by = self._mask(method, learner), self._choice_metric(metric)
        rule = self.rule if rule is None else rule
        choices = self._choose_in_folds(mask, by, rule)
        final = self.candidates[self._choose_final(mask, by, rule)]
        figure = (
            self._area(choices, level) if metric == "auc" else self._rate(metric, choices, level)
        )
        value, lower, upper = figure.interval
        uncorrected, notes = figure.uncorrected, self._notes()
        if metric == "error":
            value, lower, upper = 1 - value, round(1 - upper, 2), round(1 - lower, 2)
            uncorrected = 1 - uncorrected
        if figure.missing > MOST_MISSING:
            share = f"{100 * figure.missing:.0f}%"
            notes.append(f"{share} of the predictions failed: {self._first_error()}")
            lower = upper = math.nan
        folds = [(r, a) for r in range(self.repeats) for a in range(self.folds)]
        return NestedEstimate(
            metric=metric,
            value=value,
            lower=lower,
            upper=upper,
            level=level,
            method=final.method,
            learner=final.learner,
            size=final.size or self.own_sizes.get(final.method, 0),
            uncorrected=uncorrected,
            class_rates=figure.rates,
            chosen=[
                (r, a, None if choices[r, a] < 0 else self.candidates[choices[r, a]])
                for r, a in folds
            ],
            chance=self._chance(metric),
            greater_is_better=metric != "error",
            n_rows=self.dataset.n_rows,
            notes=tuple(notes),
        )

    def hits(
        self,
        metric: str = "bcr",
        *,
        method: str | Sequence[str] | None = None,
        learner: str | None = None,
        rule: str | int | None = None,
    ) -> FloatArray:
        """Return whether each row was predicted right, at what its training part chose.

        Parameters
        ----------
        metric : str, default="bcr"
            The metric by which sizes are chosen; for "specificity" a hit is a row that is rightly
            taken for the second class or for another one.
        method, learner, rule
            As in :meth:`estimate`.

        Returns
        -------
        float array of shape (repeats, n_rows)
            1, 0, or NaN where the fit failed.
        """
        mask, by = self._mask(method, learner), self._choice_metric(metric)
        choices = self._choose_in_folds(mask, by, self.rule if rule is None else rule)
        return self._at_choice(self._hits(self.outer_codes, metric)[:, None], choices)[:, 0]

    def curve(self, metric: str = "bcr") -> "pl.DataFrame":
        """Return the rate of the outer predictions at every size, as a table.

        No size is chosen here, and nothing is corrected: models have seen a fold less than all
        rows.

        Parameters
        ----------
        metric : str, default="bcr"
            As in :meth:`estimate`.

        Returns
        -------
        polars.DataFrame
            method, learner, size, mean; null where all fits failed.
        """
        import polars as pl

        means = []
        for k in range(len(self.candidates)):
            if metric == "auc":
                means.append(mean_area(self.outer_values[:, k], self.y))
            else:
                y, weights = self._strata(metric)
                rates = class_rates(self._hits(self.outer_codes[:, k], metric), y, len(weights))
                mean = float(weights[weights != 0] @ rates[weights != 0])
                means.append(1 - mean if metric == "error" else mean)
        return pl.DataFrame(
            {
                "method": [c.method for c in self.candidates],
                "learner": [c.learner for c in self.candidates],
                "size": [c.size or self.own_sizes.get(c.method, 0) for c in self.candidates],
                "mean": pl.Series(means, dtype=pl.Float64).fill_nan(None),
            }
        )

    # ---- comparisons ------------------------------------------------------------------------
    def compare(
        self,
        first: str,
        second: str,
        *,
        metric: str = "bcr",
        learner: str | None = None,
        rule: str | int | None = None,
        level: float = 0.95,
    ) -> HitComparison:
        """Compare two methods on the same folds, each with its own choice within training parts.

        Parameters
        ----------
        first, second : str
            Names of methods, such as "none" for all columns.
        metric : str, default="bcr"
            "bcr", "accuracy", "error", "sensitivity" or "specificity".
        learner, rule
            As in :meth:`estimate`.
        level : float, default=0.95
            Of the interval.

        Returns
        -------
        HitComparison
            A positive difference says that the first predicts better.
        """
        if metric == "auc":
            raise ParameterError("metric='auc': methods are compared by rows predicted right")
        options: dict[str, Any] = {"learner": learner, "rule": rule}
        a = self.hits(metric, method=first, **options)
        b = self.hits(metric, method=second, **options)
        y, weights = self._strata(metric)
        return compare_hits(a, b, y, weights=weights, groups=self.dataset.row_groups, level=level)

    def comparisons(
        self, first: str, *, others: Sequence[str] | None = None, **options: Any
    ) -> "pl.DataFrame":
        """Compare a method with every other one; all of it allows for how many there are.

        p-values are adjusted by Holm. Intervals have the level at which Holm's procedure decides on
        their comparison, so that one lies beside 0 where its adjusted p is at most 1 - `level`, and
        only there.

        Parameters
        ----------
        first : str
            Name of the method.
        others : sequence of str or None, default=None
            Names of those to compare it with; None is all.
        **options
            As in :meth:`compare`.

        Returns
        -------
        polars.DataFrame
            first, second, difference, lower, upper, p_value, p_holm and the answer in words. Null
            p-values where both predict the same.
        """
        import polars as pl

        if others is None:
            others = [m for m in dict.fromkeys(c.method for c in self.candidates) if m != first]
        alpha = 1 - options.pop("level", 0.95)
        results = [self.compare(first, other, **options) for other in others]
        p_values = [r.p_value for r in results if r.p_value is not None]
        adjusted = iter(holm(p_values).tolist() if p_values else [])
        levels = iter(holm_levels(p_values, alpha))
        rows = []
        for other, result in zip(others, results, strict=True):
            p_holm = None if result.is_same else next(adjusted)
            if p_holm is not None:
                result = self.compare(first, other, **options, level=next(levels))
            rows.append(
                {
                    "first": first,
                    "second": other,
                    "difference": result.difference,
                    "lower": result.lower,
                    "upper": result.upper,
                    "p_value": result.p_value,
                    "p_holm": p_holm,
                    "answer": self._answer(result, p_holm, alpha),
                }
            )
        floats = ("difference", "lower", "upper", "p_value", "p_holm")
        schema = {"first": pl.String, "second": pl.String, **dict.fromkeys(floats, pl.Float64)}
        return pl.DataFrame(rows, schema={**schema, "answer": pl.String})

    def _answer(self, result: HitComparison, p_holm: float | None, alpha: float) -> str:
        if p_holm is None:
            return "the same predictions"
        if p_holm > alpha:
            return f"cannot be told apart with {self.dataset.n_rows} rows"
        return "better" if result.difference > 0 else "worse"

    # ---- parts ------------------------------------------------------------------------------
    def _rate(self, metric: str, choices: IntArray, level: float) -> _Figure:
        """Return the share of rows predicted right, at what training parts chose."""
        y, weights = self._strata(metric)
        outer = self._at_choice(self._hits(self.outer_codes, metric)[:, None], choices)[:, 0]
        inner = self._at_choice(self._hits(self.inner_codes, metric), choices)
        before = class_rates(outer, y, len(weights))
        if np.isnan(before[weights != 0]).any():
            raise DataError(f"no row of a class could be predicted: {self._first_error()}")
        before = np.where(np.isnan(before), 0.0, before)
        after = class_rates(inner, y, len(weights))
        rates = correct_rates(before, after, self.folds, self.inner)
        counts = count_units(y, len(weights), self.dataset.row_groups)
        interval = rate_interval(rates, counts, weights=weights, repeats=self.repeats, level=level)
        return _Figure(interval, float(weights @ before), rates, float(np.isnan(outer).mean()))

    def _area(self, choices: IntArray, level: float) -> _Figure:
        """Return the area under the ROC curve, at what training parts chose."""
        outer = self._at_choice(self.outer_values[:, None], choices)[:, 0]
        inner = self._at_choice(self.inner_values, choices)
        counts = count_units(self.y, 2, self.dataset.row_groups)
        interval = area_interval(
            outer,
            inner,
            self.y,
            folds=self.folds,
            n_inner=self.inner,
            counts=(int(counts[0]), int(counts[1])),
            level=level,
        )
        missing = float(np.isnan(outer).mean())
        return _Figure(interval, mean_area(outer, self.y), np.empty(0), missing)

    def _mask(self, method: str | Sequence[str] | None, learner: str | None) -> BoolArray:
        """Return which candidates are of the methods and the learner."""
        methods = [method] if isinstance(method, str) else method
        for name, known in (
            *((m, {c.method for c in self.candidates}) for m in methods or ()),
            *((name, {c.learner for c in self.candidates}) for name in [learner] if name),
        ):
            if name not in known:
                raise ParameterError(f"there is no {name!r}: there are {', '.join(sorted(known))}")
        return np.array(
            [
                (methods is None or c.method in methods) and learner in (None, c.learner)
                for c in self.candidates
            ]
        )

    def _choice_metric(self, metric: str) -> str:
        """Return the metric by which sizes are chosen."""
        if metric not in NESTED_METRICS:
            raise ParameterError(f"metric={metric!r}: give one of {', '.join(NESTED_METRICS)}")
        if metric == "auc":
            if len(self.dataset.classes) != 2:
                raise ParameterError("metric='auc' is for two classes: give 'bcr'")
            if np.isnan(self.outer_values).all():
                raise ParameterError("metric='auc': the learner has no decision values; give 'bcr'")
            return "auc"
        return "accuracy" if metric in ("accuracy", "error") else "bcr"

    def _strata(self, metric: str) -> tuple[IntArray, FloatArray]:
        """Return the stratum of every row, and the share of each stratum in the metric."""
        n_classes = len(self.dataset.classes)
        if metric == "specificity":
            return (self.y != 1).astype(np.int64), np.array([0.0, 1.0])
        if metric == "sensitivity":
            return self.y, np.eye(n_classes)[1]
        if metric in ("accuracy", "error"):
            return self.y, np.bincount(self.y, minlength=n_classes) / len(self.y)
        return self.y, np.full(n_classes, 1 / n_classes)

    def _hits(self, codes: IntArray, metric: str) -> FloatArray:
        """Return 1 for a row that is predicted right, 0 for others, NaN for failed fits."""
        right = (codes == 1) == (self.y == 1) if metric == "specificity" else codes == self.y
        return np.where(codes < 0, np.nan, right)

    def _choose_in_folds(self, mask: BoolArray, by: str, rule: str | int) -> IntArray:
        """Return the candidate that each training part chooses; -1 where nothing was fitted."""
        key = mask.tobytes(), by, rule
        if key not in self._choices:
            choices = np.full((self.repeats, self.folds), -1)
            for repeat, fold in np.ndindex(choices.shape):
                rows = self.fold_of[repeat] != fold
                scores = row_scores(
                    self.pooled_codes[repeat, fold][:, rows],
                    self.pooled_values[repeat, fold][:, rows],
                    self.y[rows],
                    by,
                )
                if not np.isnan(scores[mask]).all():
                    choices[repeat, fold] = self._choose(scores, rows, mask, by, rule)
            self._choices[key] = choices
        return self._choices[key]

    def _choose_final(self, mask: BoolArray, by: str, rule: str | int) -> int:
        """Return the candidate of the final model, by scores averaged over repeats."""
        scores = np.array(
            [
                row_scores(codes, values, self.y, by)
                for codes, values in zip(self.outer_codes, self.outer_values, strict=True)
            ]
        )
        known = ~np.isnan(scores)
        count = known.sum(axis=0)
        total = np.where(known, scores, 0.0).sum(axis=0)
        mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        if np.isnan(mean[mask]).all():
            raise DataError(f"no fit has a prediction: {self._first_error()}")
        return self._choose(mean, np.ones(len(self.y), bool), mask, by, rule)

    def _choose(
        self, scores: FloatArray, rows: BoolArray, mask: BoolArray, by: str, rule: str | int
    ) -> int:
        return choose_candidate(
            scores, self.dataset, rows, self.candidates, mask=mask, by=by, rule=rule
        )

    def _at_choice(self, scores: AnyArray, choices: IntArray) -> FloatArray:
        """Return scores of rows at what their training part chose.

        `scores` are of shape (repeats, models, n_candidates, n_rows), the result of
        (repeats, models, n_rows).
        """
        chosen = np.full((*scores.shape[:2], scores.shape[3]), np.nan)
        for repeat, fold in np.ndindex(choices.shape):
            candidate = choices[repeat, fold]
            if candidate >= 0:
                rows = self.fold_of[repeat] == fold
                chosen[repeat][:, rows] = scores[repeat, :, candidate][:, rows]
        return chosen

    def _chance(self, metric: str) -> float | None:
        largest = np.bincount(self.y).max() / len(self.y)
        rate = 1 / len(self.dataset.classes)
        chances = {"bcr": rate, "accuracy": largest, "error": 1 - largest, "auc": 0.5}
        return None if metric not in chances else float(chances[metric])

    def _notes(self) -> list[str]:
        notes = []
        n, p = self.dataset.n_rows, self.dataset.n_features
        if n < SMALL and p > WIDE * n:
            notes.append(f"{n} rows and {p:,} columns: such figures are about .02 too low")
        if self.errors:
            notes.append(f"{len(self.errors):,} fits failed; the first: {self.errors[0]}")
        return notes

    def _first_error(self) -> str:
        return self.errors[0] if self.errors else "no reason is known"
