r"""Ranked lists of numbers and of categories, merged by the rate of a classifier.

.. math::

    F \leftarrow F \cup \{ \arg\max_{f \in \{a, b\}} \mathrm{BCR}(F \cup \{f\}) \}

where a is the next continuous column by the p-value of Welch's t-test, b the next categorical one
by that of Fisher's exact test, and BCR the mean of the class recalls over inner folds.

Doquire, G. and Verleysen, M. (2011), An hybrid approach to feature selection for mixed categorical
and continuous data, *KDIR*, 394-401; with p-values in place of mutual information as in Paul, J.,
D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature selection,
*Neurocomputing* 169, 187-195.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from featly.base import Problem, Ranker, Ranking, stop_with
from featly.basics.kinds import CATEGORICAL
from featly.basics.params import OneOf, Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.models.heom import join_neighbours, merge_neighbours
from featly.core.models.naive_bayes import join_codes, join_numbers, merge_likelihoods
from featly.filters.univariate_test import column_tests
from featly.learners.heom import HEOMNeighbors
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.problem.parameters import Seeded, Verbose
from featly.wrappers.inner_folds import deal, log_priors

__all__ = ["HybridForward"]


LEARNERS = ("nb", "5nn")
MOST_COLUMNS = 256  # of each list in one call of a compiled search, which Ctrl-C cannot end ...
MOST_OPERATIONS = 30_000_000  # ... and about how many operations it may take


class HybridForward(Verbose, Seeded, Ranker):
    r"""Merge a ranking of numbers and one of categories by the rate of a classifier.

    Continuous and ordinal columns are ranked by Welch's t-test, categorical ones by Fisher's exact
    test, with more than two classes by Welch's analysis of variance and the test of Freeman and
    Halton. Then the next column of each list is tried together with those chosen so far, and the
    one with the better balanced classification rate is chosen, on a tie the continuous one. When a
    list is exhausted, the rest of the other follows in its order, without being tried.

    The rate is the mean of the class recalls over inner folds: every row is classified once, by a
    learner trained on the other folds only, including its ranges, levels, densities and priors.
    Missing values are treated as in :class:`~featly.learners.MixedNaiveBayes` and
    :class:`~featly.learners.HEOMNeighbors`. If t classes tie for a row and its own is one of them,
    it counts as 1/t right, so names of classes do not matter.

    Folds are stratified: their sizes differ by at most one row, in each class and in total. A class
    with fewer rows than folds is absent from some of them. A class with a single row is used in
    training only and not in the rate. There are fewer folds than `n_folds` if no class has so many
    rows.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    learner : {"nb", "5nn"}, default="nb"
        Naive Bayes, or five nearest neighbours by the HEOM.
    n_folds : int, default=5
        Inner folds, at least 2.
    random_state : int, default=0
        Seed of the random numbers.
        Used for the folds, and for random tables where a contingency table is too large for
        Fisher's sum.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` is used: those columns are merged first, and the others beside them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        They run the tests.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts chosen columns.

    Attributes
    ----------
    scores_ : float array of shape (n_features,)
        n_features for the first column, 1 for the last: the method gives no more than positions.
    bcr_ : float array of shape (n_features,)
        The balanced classification rate when the column was chosen, NaN if it was not tried.
    p_value_ : float array of shape (n_features,)
        The p-value of the column's own test.
    fold_ : int array of shape (n_rows,)
        The fold in which each row is tested, -1 for none.
    interrupted_ : bool
        Whether Ctrl-C ended the search: columns not chosen by then follow by their p-values.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    UnivariateTest : The tests alone, with p-values of all kinds in one list.

    Notes
    -----
    Logarithms of likelihoods and squared distances add up over columns, so a trial costs n
    operations for naive Bayes and n² for neighbours, however many columns are chosen already.
    Neighbours keep 8 n² bytes.

    References
    ----------
    Doquire, G. and Verleysen, M. (2011), An hybrid approach to feature selection for mixed
    categorical and continuous data, *KDIR*, 394-401. Paul, J., D'Ambrosio, R. and Dupont, P.
    (2015), Kernel methods for heterogeneous feature selection, *Neurocomputing* 169, 187-195.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from featly import HybridForward
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> frame = pl.DataFrame({
    ...     "marker": rng.normal(size=60) + 1.5 * y,
    ...     "age": rng.normal(60, 10, size=60),
    ...     "stage": np.where(rng.random(60) < 0.8, y, 1 - y).astype(str),
    ...     "sex": rng.choice(["f", "m"], 60),
    ... })
    >>> forward = HybridForward(n_features_to_select=2).fit(frame, y)
    >>> forward.table().select("feature", "kind", pl.col("bcr", "p_value").round(3))
    shape: (4, 4)
    ┌─────────┬─────────────┬───────┬─────────┐
    │ feature ┆ kind        ┆ bcr   ┆ p_value │
    │ ---     ┆ ---         ┆ ---   ┆ ---     │
    │ str     ┆ str         ┆ f64   ┆ f64     │
    ╞═════════╪═════════════╪═══════╪═════════╡
    │ marker  ┆ continuous  ┆ 0.833 ┆ 0.0     │
    │ stage   ┆ categorical ┆ 0.867 ┆ 0.018   │
    │ age     ┆ continuous  ┆ 0.867 ┆ 0.837   │
    │ sex     ┆ categorical ┆ NaN   ┆ 0.279   │
    └─────────┴─────────────┴───────┴─────────┘
    """

    learner: Annotated[str, OneOf(*LEARNERS)] = "nb"
    n_folds: Annotated[int, Whole(at_least=2)] = 5

    _kinds = ("continuous", "ordinal", "categorical")
    _missing = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the folds are drawn, so the order of the rows matters
        return tags

    def _rank(self, problem: Problem) -> Ranking:
        tests = column_tests(
            problem,
            continuous="welch",
            ordinal="welch",
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        ranked = tests.order()
        fold = deal(problem.classes.codes, self.n_folds, self.random_state)
        with progress_bar(self.verbose, "Hybrid forward", unit="columns") as progress:
            search = _Search(problem, self.learner, fold, progress)
            stopped = tests.interrupted
            if not stopped:
                is_kept = np.isin(ranked, problem.preference.keep)
                try:
                    search.merge(ranked[is_kept], last=False)
                    search.merge(ranked[~is_kept], last=True)
                except KeyboardInterrupt:
                    stopped = True
        p = problem.source.n_features
        # columns to keep come first, even if the search did not reach them
        unmerged = problem.preference.put_keep_first(ranked[~np.isin(ranked, search.order)])
        order = np.array([*search.order, *unmerged], np.int64)
        scores = np.empty(p)
        scores[order] = np.arange(p, 0, -1)
        ranking = Ranking(
            order=order,
            scores=scores,
            evidence=(tests.score > 0) | _find_rises(search.bcr, order),
            extra={"bcr": search.bcr, "p_value": tests.p_value},
            attributes={"fold": fold, "interrupted": stopped},
        )
        if stopped:
            raise stop_with(ranking)
        return ranking


def _find_rises(bcr: FloatArray, order: IntArray) -> BoolArray:
    """Return a mask of the columns that were tried and raised the rate of those before."""
    rates = bcr[order]
    rises = np.zeros(len(order), np.bool_)
    rises[order[1:]] = rates[1:] > rates[:-1]  # False beside one that was not tried, which is NaN
    return rises


# ---- the search -----------------------------------------------------------------------------
class _Search:
    """The columns chosen so far, and a learner on them."""

    def __init__(
        self,
        problem: Problem,
        learner: str,
        fold: IntArray,
        progress: Callable[[int, int], Any] | None,
    ) -> None:
        self.problem, self.progress = problem, progress
        self.order: list[int] = []
        self.bcr = np.full(problem.source.n_features, np.nan)
        self._fold, self._learner = fold, learner
        self._trial: _BayesTrial | _NeighbourTrial | None = None

    def merge(self, ranked: IntArray, *, last: bool) -> None:
        """Choose all of some columns; unless they are the `last` ones, add them to the trial."""
        categorical = self.problem.columns.kinds[ranked] == CATEGORICAL
        numbers, codes = ranked[~categorical], ranked[categorical]
        if (self._fold >= 0).any() and self._needs_trial():
            numbers, codes = self._try_columns(numbers, codes)
        remaining = np.concatenate([numbers, codes])
        if not last and self._trial is not None:
            for feature in remaining.tolist():
                self._trial.join(*self._column(feature))
        self._choose(remaining)

    def _needs_trial(self) -> bool:
        """Return whether columns of both kinds are to be tried; if so, make the trial."""
        kinds = self.problem.columns.kinds == CATEGORICAL
        if self._trial is None and kinds.any() and not kinds.all():
            make = _BayesTrial if self._learner == "nb" else _NeighbourTrial
            self._trial = make(*self.problem.classes.groups(), self._fold)
        return self._trial is not None

    def _try_columns(self, numbers: IntArray, codes: IntArray) -> tuple[IntArray, IntArray]:
        """Choose until one of the lists is exhausted; return the rest of both."""
        assert self._trial is not None
        size = max(1, min(MOST_COLUMNS, MOST_OPERATIONS // self._trial.cost))
        while len(numbers) and len(codes):
            first, second = numbers[:size], codes[:size]
            from_codes, rates = self._trial.merge(self._numbers(first), self._codes(second))
            chosen = np.empty(len(from_codes), np.int64)
            chosen[~from_codes], chosen[from_codes] = (
                first[: (~from_codes).sum()],
                second[: from_codes.sum()],
            )
            numbers, codes = numbers[(~from_codes).sum() :], codes[from_codes.sum() :]
            self.bcr[chosen] = rates
            self._choose(chosen)
        return numbers, codes

    def _choose(self, features: IntArray) -> None:
        self.order += features.tolist()
        if self.progress is not None:
            self.progress(len(self.order), self.problem.source.n_features)

    def _numbers(self, features: IntArray) -> FloatArray:
        return self.problem.source.load(features)

    def _codes(self, features: IntArray) -> IntArray:
        return self.problem.source.level_codes(features).astype(np.int64)

    def _column(self, feature: int) -> tuple[AnyArray, bool]:
        numeric = bool(self.problem.columns.kinds[feature] != CATEGORICAL)
        read = self._numbers if numeric else self._codes
        return read(np.array([feature]))[0], numeric


class _BayesTrial:
    """Log-likelihoods of every row and class by naive Bayes, learnt from the other folds."""

    def __init__(self, y: IntArray, n_classes: int, fold: IntArray) -> None:
        self._y, self._fold, self._n_folds = y, fold, int(fold.max()) + 1
        self._tested = np.bincount(y[fold >= 0], minlength=n_classes)
        learner = MixedNaiveBayes()
        self._smoothing = float(learner.smoothing)
        self._var_smoothing = float(learner.var_smoothing)
        self._total = log_priors(y, n_classes, fold)
        self.cost = 4 * len(y) * (self._n_folds + n_classes)

    def merge(self, numbers: FloatArray, codes: IntArray) -> tuple[AnyArray, FloatArray]:
        """Merge two lists; return whether each choice is from `codes`, and its rate."""
        most = len(numbers) + len(codes)
        from_codes, rates = np.empty(most, np.bool_), np.empty(most)
        steps = merge_likelihoods(
            numbers, codes, codes.max(axis=1), self._y, self._fold, self._n_folds, self._tested,
            self._smoothing, self._var_smoothing, self._total, from_codes, rates,
        )  # fmt: skip
        return from_codes[:steps], rates[:steps]

    def join(self, column: AnyArray, numeric: bool) -> None:
        """Add a column without trying it."""
        fold_data = (self._y, self._fold, self._n_folds)
        if numeric:
            join_numbers(column, *fold_data, self._var_smoothing, self._total)
        else:
            join_codes(column, int(column.max()), *fold_data, self._smoothing, self._total)


class _NeighbourTrial:
    """Squared distances of all rows, sorted by fold, and the nearest rows of other folds."""

    def __init__(self, y: IntArray, n_classes: int, fold: IntArray) -> None:
        n_folds = int(fold.max()) + 1
        group = np.where(fold < 0, n_folds, fold)
        self._rows = np.argsort(group, kind="stable")
        self._y = y[self._rows]
        self._starts = np.searchsorted(group[self._rows], np.arange(n_folds + 1))
        self._tested = np.bincount(y[fold >= 0], minlength=n_classes)
        self._k = HEOMNeighbors().n_neighbors
        self._squared = np.zeros((len(y), len(y)))
        # start with any k rows of other folds
        self._near = np.zeros((len(y), self._k), np.int64)
        for low, high in zip(self._starts[:-1], self._starts[1:], strict=True):
            other_rows = np.concatenate([np.arange(low), np.arange(high, len(y))])[: self._k]
            self._near[low:high, : len(other_rows)] = other_rows
        self.cost = 4 * len(y) ** 2

    def merge(self, numbers: FloatArray, codes: IntArray) -> tuple[AnyArray, FloatArray]:
        """Merge two lists; return whether each choice is from `codes`, and its rate."""
        most = len(numbers) + len(codes)
        from_codes, rates = np.empty(most, np.bool_), np.empty(most)
        steps = merge_neighbours(
            np.take(numbers, self._rows, axis=1), self._cells(codes), self._y, self._starts,
            self._tested, self._k, self._squared, self._near, from_codes, rates,
        )  # fmt: skip
        return from_codes[:steps], rates[:steps]

    def join(self, column: AnyArray, numeric: bool) -> None:
        """Add a column without trying it."""
        cells = column[self._rows] if numeric else self._cells(column)
        join_neighbours(cells, numeric, self._starts, self._squared)

    def _cells(self, codes: IntArray) -> FloatArray:
        return np.take(np.where(codes == 0, np.nan, codes), self._rows, axis=-1)
