r"""The columns with which a classifier does best, by cross-validation inside the training rows.

.. math::

    S^* = \arg\max_S J(S), \qquad
    J(S) = \frac1n \sum_{i=1}^n [\hat y_{-i}(x_{iS}) = y_i],

where :math:`\hat y_{-i}(x_{iS})` is the prediction for row i by the classifier on the columns S,
trained on the other folds. The maximum is approached by a search.

Kohavi, R. and John, G. H. (1997), Wrappers for feature subset selection, *Artificial Intelligence*
97, 273-324.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from featly.base import Problem, Selection, SubsetSelector, stop_with
from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.basics.kinds import CATEGORICAL
from featly.basics.params import Number, OneOf, Rule, Whole, check_parameters
from featly.basics.progress import progress_bar
from featly.basics.typing import FloatArray, IntArray
from featly.core.ranking.subset_search import (
    SubsetSearchResult,
    best_first,
    floating,
    greedy_backward,
    greedy_forward,
)
from featly.filters.univariate_test import column_tests
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.learners.names import LEARNERS, make_learner
from featly.problem.parameters import Seeded, Verbose
from featly.table.schema import Columns
from featly.wrappers.inner_folds import (
    SCORINGS,
    BayesTrials,
    FittedTrials,
    Trials,
    deal,
    is_encoded,
    is_mixed_learner,
)

__all__ = ["Wrapper"]


SEARCHES = ("forward", "backward", "floating", "best-first")


class Learner(Rule):
    """A classifier, or the name of one."""

    words: Sequence[str] = ("a classifier", f"the name of a learner ({', '.join(LEARNERS)})")
    names: Sequence[str] = tuple(LEARNERS)

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a classifier, or the name of one."""
        if isinstance(value, str):
            return value in LEARNERS
        has_methods = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return has_methods and not isinstance(value, type)


class Wrapper(Verbose, Seeded, SubsetSelector):
    r"""Search for the columns with which a classifier does best.

    The score of a set of columns is the cross-validated score of the classifier on these columns.
    Rows are dealt to folds once, and every set is tried on the same folds. Folds are stratified;
    see :class:`HybridForward` for rare classes. (Weka's WrapperSubsetEval deals new folds for every
    set, up to five times, until the scores of a set differ little. The same folds for all sets make
    sets comparable and the result reproducible.)

    Cross-validated scores of few rows take few values, so many sets tie. Of equal sets the one with
    columns that are better by themselves is taken: columns are first put in the order of their own
    tests (Welch's t or analysis of variance for numbers, Fisher's exact test for categories).

    Searches:

    - "forward" adds the best column until none improves the score;
    - "backward" starts from all columns and removes the one whose removal costs least, until every
      removal lowers the score;
    - "floating" adds a column, and then removes columns as long as that gives a better set than any
      known of its size; it ends after `max_stale` additions in a row without a better set;
    - "best-first" expands the best set known that has not been expanded; it ends after `max_stale`
      expansions in a row without a better set.

    Parameters
    ----------
    estimator : str or classifier, default="mixed-naive-bayes"
        One of ``featly.learners.LEARNERS`` by name, all of which take categories and missing
        values. Or any classifier with the interface of scikit-learn, which gets the numbers of the
        table as they are; if it does not take categories or missing values, use
        ``make_pipeline(Encoder(), classifier)``. Where its ``random_state`` is None, it gets
        `random_state`.
    search : {"forward", "backward", "floating", "best-first"}, default="forward"
        The search, see above.
    n_features_to_select : int or None, default=None
        Number of columns at which the search ends, whatever the scores; None ends at the best
        score. A group of columns counts as one. Not for best-first, which ends by `max_stale`.
    n_folds : int, default=5
        Number of folds, at least 2.
    scoring : {"accuracy", "bcr"}, default="accuracy"
        Accuracy, or the balanced classification rate: the mean of the class recalls.
    tolerance : float, default=1e-5
        A score must exceed another by more than this to be better.
    max_stale : int, default=5
        For "floating" and "best-first": steps in a row without improvement until they end.
    random_state : int, default=0
        Seed of the random numbers.
        Used for the folds.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`: the search starts from those columns and never removes them. `column_groups`: the
        columns of a group enter and leave together.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Learners other than naive Bayes run in processes, where training takes long enough for them
        to help.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts tried sets; the total is the number of sets known to be tried.

    Attributes
    ----------
    order_ : int array
        The chosen columns in the order of their choice, columns to keep first. After a backward
        search in falling order of the loss of their removal, when it was last tried.
    score_ : float
        Cross-validated score of the chosen columns; NaN if no row could be tested. It is biased
        upwards, being the largest of many: evaluate the selection on other rows.
    path_ : list of (tuple of int, float)
        Columns and score of every set that the search moved to, from the start; for best-first of
        every set that it expanded.
    n_fits_ : int
        Number of tried sets times number of folds.
    fold_ : int array of shape (n_rows,)
        The fold in which each row is tested, -1 for none.
    interrupted_ : bool
        Whether Ctrl-C ended the search; the best columns by then are chosen.
    support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`.

    See Also
    --------
    HybridForward : Tries only the next columns of two ranked lists, and ranks all columns.
    featly.study.Study : Evaluates selections on rows that were not used for them.

    Notes
    -----
    A step of a forward search with p remaining columns costs p trainings on each fold. Naive Bayes
    of mixed columns is far cheaper: log-likelihoods add up over columns, so a trial is one pass
    over the rows. An encoded table takes 8 n p bytes a fold.

    References
    ----------
    Kohavi, R. and John, G. H. (1997), Wrappers for feature subset selection, *Artificial
    Intelligence* 97, 273-324. Pudil, P., Novovičová, J. and Kittler, J. (1994), Floating search
    methods in feature selection, *Pattern Recognition Letters* 15, 1119-1125.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from featly import Wrapper
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> frame = pl.DataFrame({
    ...     "marker": rng.normal(size=60) + 1.5 * y,
    ...     "age": rng.normal(60, 10, size=60),
    ...     "stage": np.where(rng.random(60) < 0.8, y, 1 - y).astype(str),
    ...     "sex": rng.choice(["f", "m"], 60),
    ... })
    >>> wrapper = Wrapper().fit(frame, y)
    >>> wrapper.get_feature_names_out().tolist(), round(wrapper.score_, 3)
    (['marker', 'stage'], 0.867)
    >>> [(columns, round(score, 3)) for columns, score in wrapper.path_]
    [((0,), 0.833), ((0, 2), 0.867)]
    """

    estimator: Annotated[Any, Learner()] = "mixed-naive-bayes"
    search: Annotated[str, OneOf(*SEARCHES)] = "forward"
    n_features_to_select: Annotated[int | None, Whole(at_least=1)] = None
    n_folds: Annotated[int, Whole(at_least=2)] = 5
    scoring: Annotated[str, OneOf(*SCORINGS)] = "accuracy"
    tolerance: Annotated[float, Number(at_least=0)] = 1e-5
    max_stale: Annotated[int, Whole(at_least=1)] = 5

    _uses = ("keep", "column_groups")

    # ---- kinds and missing values that the estimator takes ----------------------------------
    @property
    def _kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        numbers = ("continuous", "ordinal")
        return (*numbers, "categorical") if self._has_mixed_learner() else numbers

    @property
    def _missing(self) -> bool:  # type: ignore[override]
        return self._has_mixed_learner() or get_tags(self.estimator).input_tags.allow_nan

    def _has_mixed_learner(self) -> bool:
        estimator = self.estimator
        return isinstance(estimator, str) or is_encoded(estimator) or is_mixed_learner(estimator)

    def _is_scale_dependent(self) -> bool:
        return not self._has_mixed_learner()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the folds are drawn, so the order of the rows matters
        return tags

    # ---- fitting ----------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        if self.n_features_to_select is not None and self.search == "best-first":
            raise ParameterError(
                f"n_features_to_select={self.n_features_to_select!r}: a best-first search ends "
                "by itself; give None, or another search"
            )
        self._learner()

    def _learner(self) -> Any:
        """Return a copy of the estimator, or raise ParameterError."""
        if isinstance(self.estimator, str):
            return make_learner(self.estimator)
        learner = clone(self.estimator)
        first_step = learner.steps[0][1] if is_encoded(learner) else learner
        if getattr(first_step, "schema", None) is not None:
            raise ParameterError(
                f"estimator={self.estimator!r} has a schema of its own: give it to Wrapper instead"
            )
        seed_names = [
            name
            for name, value in learner.get_params().items()
            if value is None and name.rpartition("__")[2] == "random_state"
        ]
        return learner.set_params(**dict.fromkeys(seed_names, int(self.random_state)))

    def _check_schema(self, columns: Columns, target: str) -> None:
        kinds = columns.kinds == CATEGORICAL
        if kinds.any() and not self._has_mixed_learner():
            name = type(self.estimator).__name__
            raise DataError(
                f"column {columns.names[int(kinds.argmax())]!r} is categorical, {name} takes "
                f"numbers: give make_pipeline(Encoder(), {name}(...)), or a learner by name"
            )
        super()._check_schema(columns, target)

    def _select(self, problem: Problem) -> Selection:
        if not self._missing:
            name = type(self.estimator).__name__
            problem.moments(complete_for=name, instead=f"make_pipeline(Encoder(), {name}(...))")
        tests = column_tests(
            problem, ordinal="welch", random_state=self.random_state, n_jobs=self.n_jobs
        )
        if tests.interrupted:
            raise KeyboardInterrupt
        ranked = tests.order()
        units = _units(problem.columns, ranked)
        is_kept = np.isin(np.concatenate(units), problem.preference.keep)
        is_kept = np.logical_or.reduceat(is_kept, np.cumsum([0, *map(len, units[:-1])]))
        start = np.flatnonzero(is_kept).tolist()
        self._check_count(len(units), len(start))
        fold = deal(problem.classes.codes, self.n_folds, self.random_state)
        with progress_bar(self.verbose, "Wrapper", unit="sets") as progress:
            trials = self._trials(problem, fold, ranked)
            search_result = _Search(trials, units, progress).run(self, start)

        def list_columns(subset: tuple[int, ...]) -> list[int]:
            return [column for unit in subset for column in units[unit].tolist()]

        chosen = np.array(list_columns(search_result.subset), np.int64)
        evidence = tests.score > 0
        if trials.is_possible and search_result.merit > trials.chance:
            # the chosen columns tell something together
            evidence[chosen] |= [_varies(problem, column) for column in chosen.tolist()]
        selection = Selection(
            chosen,
            evidence=evidence,
            attributes={
                "score": search_result.merit if trials.is_possible else np.nan,
                "path": [
                    (tuple(list_columns(step.subset)), step.merit)
                    for step in search_result.path
                    if step.subset
                ],
                "n_fits": trials.n_tried * trials.n_folds,
                "fold": fold,
                "interrupted": search_result.interrupted,
            },
        )
        if search_result.interrupted:
            raise stop_with(selection)
        return selection

    def _trials(self, problem: Problem, fold: IntArray, ranked: IntArray) -> Trials:
        learner = self._learner()
        if type(learner) is MixedNaiveBayes and learner.priors is None:
            check_parameters(learner)
            return BayesTrials(learner, problem, fold, self.scoring, self.n_jobs)
        return FittedTrials(learner, problem, fold, self.scoring, self.n_jobs, ranked)

    def _check_count(self, n_units: int, n_kept: int) -> None:
        wanted = self.n_features_to_select
        if wanted is not None and wanted > n_units:
            raise ParameterError(
                f"n_features_to_select={wanted!r}, but the table has {n_units} columns or groups "
                "of columns"
            )
        if wanted is not None and wanted < n_kept:
            raise ParameterError(
                f"n_features_to_select={wanted!r} is fewer than the {n_kept} columns that the "
                "schema keeps: select more, or keep fewer"
            )


class _Search:
    """A search over units: single columns, or groups that are added and removed together."""

    def __init__(
        self,
        trials: Trials,
        units: list[IntArray],
        progress: Callable[[int, int], Any] | None,
    ) -> None:
        self.trials, self.units, self.progress = trials, units, progress

    def run(self, wrapper: Wrapper, start: list[int]) -> SubsetSearchResult:
        """Run the search given by the parameters of the wrapper."""
        p, count = len(self.units), wrapper.n_features_to_select
        threshold = float(wrapper.tolerance)
        if wrapper.search == "forward":
            return greedy_forward(
                p, self.evaluate, start=start, n_select=count, threshold=threshold
            )
        if wrapper.search == "backward":
            merit = self.trials.score(np.concatenate(self.units))
            return greedy_backward(
                p,
                self.evaluate_without,
                merit=merit,
                keep=start,
                n_select=count,
                threshold=threshold,
            )
        if wrapper.search == "floating":
            return floating(
                p, self.evaluate, self.evaluate_without, start=start, n_select=count,
                max_stale=wrapper.max_stale, threshold=threshold,
            )  # fmt: skip
        return best_first(
            p, self.evaluate, start=start, max_stale=wrapper.max_stale, threshold=threshold
        )

    def evaluate(self, subset: tuple[int, ...], candidates: IntArray) -> FloatArray:
        """Return scores with each candidate added."""
        more = [self.units[unit] for unit in candidates.tolist()]
        return self.trials.with_each(self._columns(subset), more, self._tick())

    def evaluate_without(self, subset: tuple[int, ...], candidates: IntArray) -> FloatArray:
        """Return scores with each candidate removed."""
        less = [self.units[unit] for unit in candidates.tolist()]
        return self.trials.without_each(self._columns(subset), less, self._tick())

    def _columns(self, subset: tuple[int, ...]) -> IntArray:
        # sorted, so that the sums of a set do not depend on the order of its choice
        none = np.empty(0, np.int64)
        return np.concatenate([none, *(self.units[unit] for unit in sorted(subset))])

    def _tick(self) -> Callable[[int, int], Any]:
        report, before = self.progress, self.trials.n_tried
        if report is None:
            return lambda done, total: None
        return lambda done, total: report(before + done, before + total)


def _units(columns: Columns, ranked: IntArray) -> list[IntArray]:
    """Return groups of columns and single columns, in the order of their best column."""
    group: dict[int, str] = {}
    for name, members in columns.groups.items():
        for column in members.tolist():
            if column in group:
                raise SchemaError(
                    f"column {columns.names[column]!r} is in the groups {group[column]!r} and "
                    f"{name!r}: Wrapper needs groups that do not overlap"
                )
            group[column] = name
    units: dict[str | int, list[int]] = {}
    for column in ranked.tolist():
        units.setdefault(group.get(column, column), []).append(column)
    return [np.array(unit, np.int64) for unit in units.values()]


def _varies(problem: Problem, column: int) -> bool:
    """Return whether a column has more than one value, a missing one included."""
    atoms = problem.source.load(np.array([column]))
    first = atoms[:, :1]
    return bool(((atoms != first) & ~(np.isnan(atoms) & np.isnan(first))).any())
