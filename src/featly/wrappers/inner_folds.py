r"""Columns tried by a learner on folds inside the training rows.

.. math::

    J(S) = \frac1n \sum_{i=1}^n [\hat y_{-i}(x_{iS}) = y_i], \qquad
    J(S) = \frac1L \sum_{c=1}^L \frac1{n_c} \sum_{i: y_i = c} [\hat y_{-i}(x_{iS}) = y_i],

accuracy or balanced classification rate, where :math:`\hat y_{-i}` is the learner trained on the
columns S in the folds without row i. Predictions of all folds are pooled. Rows are dealt to folds
once, so every set of columns is tried on the same folds.

Kohavi, R. and John, G. H. (1997), Wrappers for feature subset selection, *Artificial Intelligence*
97, 273-324.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from featly.basics.errors import DataError
from featly.basics.kinds import CATEGORICAL, ORDINAL
from featly.basics.typing import BoolArray, ByteArray, FloatArray, IntArray
from featly.core.models.naive_bayes import count_right, join_codes, join_numbers
from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.core.sources import Source
from featly.learners.encoding import Encoder
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.problem.ingest_rows import MixedColumns
from featly.problem.problem import Problem

__all__ = [
    "SCORINGS",
    "BayesTrials",
    "FittedTrials",
    "Trials",
    "deal",
    "is_encoded",
    "is_mixed_learner",
    "log_priors",
]

Tick = Callable[[int, int], object]

SCORINGS = ("accuracy", "bcr")
MOST_LOGARITHMS = 1 << 18  # held by one task at a time
CACHE_BYTES = 1 << 28  # of logarithms that are cached between steps
TIMED_TRIALS = 8  # after these the time of the others is estimated ...
MOST_SECONDS = 10.0  # ... and processes are started if it is longer than this
CHUNK_SECONDS = 2.0  # of work that a process gets at once


def deal(y: IntArray, n_folds: int, random_state: int) -> IntArray:
    """Deal the rows to folds, from 0; -1 for the only row of its class.

    Rows are dealt class by class in a random order; each class continues at the fold where the last
    one ended. Classes come in the order of their first row, so their names do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.wrappers.inner_folds import deal
    >>> deal(np.array([0, 0, 0, 0, 1, 1, 1, 2]), 2, random_state=0).tolist()
    [0, 1, 0, 1, 0, 0, 1, -1]
    """
    order = np.random.default_rng(np.random.SeedSequence(int(random_state))).permutation(len(y))
    sizes = np.bincount(y)
    used = max(2, min(int(n_folds), int(sizes.max())))
    fold = np.full(len(y), -1)
    dealt = 0
    for label in dict.fromkeys(y[order].tolist()):
        if sizes[label] > 1:
            members = order[y[order] == label]
            fold[members] = np.arange(dealt, dealt + len(members)) % used
            dealt += len(members)
    return fold


def log_priors(y: IntArray, n_classes: int, fold: IntArray) -> FloatArray:
    """Return the logarithms of the class shares in the other folds, for every row; 0 for fold -1.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.wrappers.inner_folds import log_priors
    >>> np.exp(log_priors(np.array([0, 0, 0, 1, 1]), 2, np.array([0, 1, 1, 0, 1]))).round(2)
    array([[0.67, 0.33],
           [0.5 , 0.5 ],
           [0.5 , 0.5 ],
           [0.67, 0.33],
           [0.5 , 0.5 ]])
    """
    priors = np.zeros((len(y), n_classes))
    for f in range(int(fold.max()) + 1):
        other_counts = np.bincount(y[fold != f], minlength=n_classes)
        priors[fold == f] = np.log(other_counts / other_counts.sum())
    return priors


class Trials(ABC):
    """Scores of sets of columns.

    Parameters
    ----------
    problem : Problem
    fold : int array of shape (n_rows,)
        From :func:`deal`.
    scoring : {"accuracy", "bcr"}

    Attributes
    ----------
    n_folds : int
    n_tried : int
        Number of sets that were scored; a set may be scored more than once.
    """

    n_tried: int
    n_folds: int
    fold: IntArray
    problem: Problem
    y: IntArray
    n_classes: int

    def __init__(self, problem: Problem, fold: IntArray, scoring: str) -> None:
        self.problem, self.fold = problem, fold
        self.n_folds, self.n_tried = int(fold.max()) + 1, 0
        self.y, self.n_classes = problem.classes.groups()
        self._tested = np.bincount(self.y[fold >= 0], minlength=self.n_classes)
        self._balanced = scoring == "bcr"

    def _count_trials(self, count: int) -> None:
        self.n_tried += count

    @property
    def is_possible(self) -> bool:
        """Return whether any row can be tested; if none, every score is 0."""
        return bool(self._tested.any())

    @property
    def chance(self) -> float:
        """Score of the best class to predict for every row."""
        return float(self._rates(np.diag(self._tested).astype(np.float64)).max())

    @abstractmethod
    def score(self, columns: IntArray) -> float:
        """Return the score of one set of columns."""

    @abstractmethod
    def with_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of columns added."""

    @abstractmethod
    def without_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of them removed."""

    def _rates(self, right: FloatArray) -> FloatArray:
        """Return scores from ``right[..., class]``, the numbers of rows predicted right."""
        if not self.is_possible:
            return np.zeros(right.shape[:-1])
        if not self._balanced:
            accuracy: FloatArray = right.sum(axis=-1) / self._tested.sum()
            return accuracy
        is_tested = self._tested > 0
        recalls: FloatArray = right[..., is_tested] / self._tested[is_tested]
        return np.asarray(recalls.mean(axis=-1))


# ---- naive Bayes ----------------------------------------------------------------------------
class BayesTrials(Trials):
    """Trials of :class:`~featly.learners.MixedNaiveBayes`, which need no training.

    Log-likelihoods of a set are the sums over its columns, so a trial costs one pass over the rows.
    """

    def __init__(
        self,
        learner: MixedNaiveBayes,
        problem: Problem,
        fold: IntArray,
        scoring: str,
        n_jobs: int | None,
    ) -> None:
        super().__init__(problem, fold, scoring)
        self._smoothing = float(learner.smoothing)
        self._var_smoothing = float(learner.var_smoothing)
        self._priors = log_priors(self.y, self.n_classes, fold)
        self._n_jobs = n_jobs
        p = problem.source.n_features
        n_cached = p if p * self._priors.nbytes <= CACHE_BYTES else 0
        self._cache = np.empty((n_cached, *self._priors.shape))
        self._is_cached = np.zeros(p, bool)

    def score(self, columns: IntArray) -> float:
        """Return the score of one set of columns."""
        self._count_trials(1)
        return float(self._scores(self._priors, self._sum(columns)[None])[0])

    def with_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of columns added."""
        base = self._priors + self._sum(columns)

        def score_block(block: tuple[int, int]) -> FloatArray:
            return self._scores(base, np.array([self._sum(u) for u in units[slice(*block)]]))

        return self._map_blocks(score_block, len(units), tick)

    def without_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of them removed."""
        fixed = self._priors + self._sum(np.setdiff1d(columns, np.concatenate(units)))
        blocks = self._blocks(len(units))
        # add the units before and after each: subtracting one from the total would lose digits
        sums = run_blocks(
            lambda block: self._sum(np.concatenate(units[slice(*block)])), blocks, self._n_jobs
        )

        def score_block(block: tuple[int, int]) -> FloatArray:
            base = fixed.copy()
            for other, total in zip(blocks, sums, strict=True):
                if other != block:
                    base += total
            own = [self._sum(unit) for unit in units[slice(*block)]]
            left = np.zeros((len(own), *base.shape))
            for k in range(1, len(own)):
                left[k] = left[k - 1] + own[k - 1]
            after = np.zeros_like(base)
            for k in range(len(own) - 1, -1, -1):
                left[k] += after
                after += own[k]
            return self._scores(base, left)

        return self._map_blocks(score_block, len(units), tick)

    def _blocks(self, n_units: int) -> list[tuple[int, int]]:
        return split(n_units, max(1, MOST_LOGARITHMS // self._priors.size))

    def _map_blocks(
        self, score_block: Callable[[tuple[int, int]], FloatArray], n_units: int, tick: Tick
    ) -> FloatArray:
        blocks, scores = self._blocks(n_units), []
        for lo, hi in split(len(blocks), 4 * n_threads(self._n_jobs)):  # Ctrl-C works in between
            scores += run_blocks(score_block, blocks[lo:hi], self._n_jobs)
            tick(blocks[hi - 1][1], n_units)
        self._count_trials(n_units)
        return np.concatenate(scores)

    def _scores(self, total: FloatArray, more: FloatArray) -> FloatArray:
        right = np.empty((len(more), total.shape[1]))
        count_right(total, more, self.y, self.fold, right)
        return self._rates(right)

    def _sum(self, columns: IntArray) -> FloatArray:
        if len(columns) == 1:
            return self._logs(int(columns[0]))
        total = np.zeros_like(self._priors)
        for column in columns.tolist():
            total += self._logs(column)
        return total

    def _logs(self, column: int) -> FloatArray:
        """Return the log-likelihoods of one column for every row and class, by the other folds."""
        if self._is_cached[column]:
            return np.asarray(self._cache[column])
        logs = np.zeros_like(self._priors)
        fold_data = (self.y, self.fold, self.n_folds)
        cells = _cells(self.problem.source, np.array([column]))[0]
        if self.problem.columns.kinds[column] == CATEGORICAL:
            codes = np.where(np.isnan(cells), 0, cells).astype(np.int64)
            join_codes(codes, int(codes.max()), *fold_data, self._smoothing, logs)
        else:
            join_numbers(cells, *fold_data, self._var_smoothing, logs)
        if len(self._cache):
            self._cache[column] = logs
            self._is_cached[column] = True
        return logs


def _cells(source: Source, features: IntArray) -> FloatArray:
    """Return columns as numbers, feature-major: codes for categories, NaN where missing."""
    categorical = source.kinds[features] == CATEGORICAL
    if not categorical.any():
        return source.load(features)
    cells = np.empty((len(features), source.n_rows))
    cells[~categorical] = source.load(features[~categorical])
    codes = source.level_codes(features[categorical]).astype(np.float64)
    cells[categorical] = np.where(codes == 0, np.nan, codes)
    return cells


# ---- any other learner ----------------------------------------------------------------------
class FittedTrials(Trials):
    """Trials of a classifier that is trained anew for every set of columns and every fold.

    The table is read once. A classifier of featly gets the kinds of the columns as a schema. For a
    pipeline that begins with an :class:`~featly.learners.Encoder`, every column is encoded once for
    each fold. Other classifiers get the numbers as they are. The columns of a set come in the order
    of `ranked`, so neither the order of the table nor that of the search matters.
    """

    def __init__(
        self,
        learner: Any,
        problem: Problem,
        fold: IntArray,
        scoring: str,
        n_jobs: int | None,
        ranked: IntArray,
    ) -> None:
        super().__init__(problem, fold, scoring)
        self._workers = n_threads(n_jobs)
        self._known: dict[frozenset[int], float] = {}
        self._rank = np.argsort(ranked)
        source = problem.source
        cells = np.ascontiguousarray(_cells(source, np.arange(source.n_features)).T)
        self._tables = [cells] * self.n_folds
        self._starts = [np.arange(source.n_features + 1)] * self.n_folds
        self._learner, self._is_mixed = learner, is_mixed_learner(learner)
        if is_encoded(learner):
            template = clone(learner.steps[0][1]).set_params(schema=_schema(problem.columns.kinds))
            encoders = [clone(template).fit(cells[fold != f]) for f in range(self.n_folds)]
            self._tables = [encoder.transform(cells) for encoder in encoders]
            self._starts = [encoder.starts_ for encoder in encoders]
            later_steps = learner.steps[1:]
            self._learner = later_steps[0][1] if len(later_steps) == 1 else Pipeline(later_steps)

    def score(self, columns: IntArray) -> float:
        """Return the score of one set of columns."""
        return float(self._scores([columns], lambda done, total: None)[0])

    def with_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of columns added."""
        return self._scores([np.concatenate([columns, unit]) for unit in units], tick)

    def without_each(self, columns: IntArray, units: Sequence[IntArray], tick: Tick) -> FloatArray:
        """Return scores of some columns with each of several units of them removed."""
        return self._scores([np.setdiff1d(columns, unit) for unit in units], tick)

    def _scores(self, sets: Sequence[IntArray], tick: Tick) -> FloatArray:
        keys = [frozenset(columns.tolist()) for columns in sets]
        new = [columns for columns, key in zip(sets, keys, strict=True) if key not in self._known]
        for done, (columns, score) in enumerate(self._score_sets(new), 1):
            self._known[frozenset(columns.tolist())] = score
            self._count_trials(1)
            tick(done, len(new))
        return np.array([self._known[key] for key in keys])

    def _score_sets(self, sets: Sequence[IntArray]) -> Iterator[tuple[IntArray, float]]:
        """Yield each set and its score; use several processes if one would take long."""
        began = time.perf_counter()
        for done, columns in enumerate(sets):
            if done == TIMED_TRIALS and self._workers > 1:
                seconds_each = (time.perf_counter() - began) / done
                if seconds_each * (len(sets) - done) > MOST_SECONDS:
                    yield from self._score_by_processes(
                        sets[done:], max(1, int(CHUNK_SECONDS / seconds_each))
                    )
                    return
            yield columns, self._cross_validate(columns)

    def _score_by_processes(
        self, sets: Sequence[IntArray], size: int
    ) -> Iterator[tuple[IntArray, float]]:
        import joblib

        known, self._known = self._known, {}  # not copied to the processes
        chunks = [sets[lo:hi] for lo, hi in split(len(sets), size)]
        work = joblib.Parallel(n_jobs=self._workers, return_as="generator")
        chunk_scores = work(joblib.delayed(_cross_validate)(self, chunk) for chunk in chunks)
        self._known = known
        for chunk, scores in zip(chunks, chunk_scores, strict=True):
            yield from zip(chunk, scores, strict=True)

    def _cross_validate(self, columns: IntArray) -> float:
        columns = columns[np.argsort(self._rank[columns])]
        wins = np.zeros((self.problem.source.n_rows, self.n_classes), bool)
        for f in range(self.n_folds):
            wins[self.fold == f] = self._predict_winners(f, columns)
        own = wins[np.arange(len(wins)), self.y] / np.maximum(wins.sum(axis=1), 1)
        right = np.bincount(self.y, own, self.n_classes).astype(np.float64)
        return float(self._rates(right))

    def _predict_winners(self, f: int, columns: IntArray) -> BoolArray:
        """Return a mask of the winning classes at every row of a fold."""
        y, classes, train = self.y, self.problem.classes.labels, self.fold != f
        starts = self._starts[f]
        atoms = np.concatenate([np.arange(starts[c], starts[c + 1]) for c in columns.tolist()])
        table = self._tables[f][:, atoms]
        X, X_test = table[train], table[~train]
        if not self._is_mixed and np.ptp(X, axis=0).max() == 0:
            counts = np.bincount(y[train], minlength=len(classes))
            return np.tile(counts == counts.max(), (len(X_test), 1))
        learner = clone(self._learner)
        if self._is_mixed:
            learner.set_params(schema=_schema(self.problem.columns.kinds[columns]))
        try:
            learner.fit(X, classes[y[train]])
            if hasattr(learner, "winners"):
                return np.asarray(learner.winners(X_test), bool)
            labels = np.asarray(learner.predict(X_test))
        except Exception as problem:
            reason = " ".join(str(problem).split())
            names = [str(self.problem.columns.names[column]) for column in columns[:3].tolist()]
            raise DataError(
                f"{type(learner).__name__} fails on {len(X)} rows of {', '.join(names)}"
                f"{', ...' * (len(columns) > 3)}: {reason}"
            ) from problem
        return np.asarray(labels[:, None] == classes)


def _cross_validate(trials: FittedTrials, sets: Sequence[IntArray]) -> list[float]:
    return [trials._cross_validate(columns) for columns in sets]


def is_encoded(learner: Any) -> bool:
    """Return whether a learner is a pipeline that begins with featly's encoder of mixed columns."""
    return isinstance(learner, Pipeline) and isinstance(learner.steps[0][1], Encoder)


def is_mixed_learner(learner: Any) -> bool:
    """Return whether a learner reads mixed columns by itself and takes a schema."""
    return isinstance(learner, MixedColumns) and hasattr(learner, "schema")


def _schema(kinds: ByteArray) -> dict[str, list[int]] | None:
    """Return a schema of the columns of an array, by position; None if all are continuous."""
    positions = {
        name: np.flatnonzero(kinds == kind).tolist()
        for name, kind in (("categorical", CATEGORICAL), ("ordinal", ORDINAL))
    }
    return positions if any(positions.values()) else None
