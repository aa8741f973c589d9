"""Checks of leaks: nothing that a study learns from training rows changes with the test rows.

Each check evaluates a method on one split of a table, then on tables that differ from the first
in test rows alone. The ranking, the training data of the learners and their predictions for the
probes, which are test rows that stay unchanged, must be the same.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.typing import AnyArray, IntArray
from featly.testing.tables import example, in_library, sparse_example

__all__ = ["LEAK_CHECKS"]

N_PROBES = 6
TEST_SHARE = 0.3
EXTREME = {"f": 1e12, "i": 10**9}
SIZES = (1, 3)


# ---- the checks -----------------------------------------------------------------------------
def check_test_rows_have_no_say(estimator: Any) -> None:
    """Changed test rows change neither the ranking nor the predictions of other rows."""
    table = example(estimator)
    frame = in_library(table, "polars")
    trial = _Trial(estimator, frame, table.y)
    for change, other in _change_test_rows(frame, missing=estimator._missing):
        trial.repeat(change, other, table.y)


def check_sparse_test_rows_have_no_say(estimator: Any) -> None:
    """Changed test rows of a sparse table change nothing, where the method takes one."""
    if not estimator._sparse:
        return
    X, y = sparse_example()
    trial = _Trial(estimator, X, y)
    dense, changed = X.toarray(), _changed_rows(len(y))
    for change, rows in (
        ("permuting test rows", dense[np.roll(changed, 3)]),
        ("extreme values in test rows", np.full((len(changed), X.shape[1]), EXTREME["f"])),
        ("empty test rows", np.zeros((len(changed), X.shape[1]))),
    ):
        other = dense.copy()
        other[changed] = rows
        trial.repeat(change, scipy.sparse.csr_array(other), y)


def check_filling_has_no_test_rows(estimator: Any) -> None:
    """Missing values are filled from the training rows, whatever the test rows hold."""
    table = example(estimator)
    n_rows = len(table.y)
    missing_rows = np.concatenate(
        [_training_rows(n_rows)[::5], _test_rows(n_rows)[: N_PROBES // 2]]
    )
    frame = _with_missing(in_library(table, "polars"), missing_rows)
    trial = _Trial(estimator, frame, table.y, fill=True)
    for change, other in _change_test_rows(frame, missing=True):
        trial.repeat(change, other, table.y)


def check_tuning_has_no_test_rows(estimator: Any) -> None:
    """A learner tuned inside the training rows is tuned alike, whatever the test rows hold."""
    table = example(estimator)
    frame = in_library(table, "polars")
    trial = _Trial(estimator, frame, table.y, tuned=True)
    for change, other in _change_test_rows(frame, missing=estimator._missing):
        trial.repeat(change, other, table.y)


def check_test_labels_have_no_say(estimator: Any) -> None:
    """Test labels may be permuted, all the same or of a new class: nothing else changes."""
    table = example(estimator)
    frame, tested = in_library(table, "polars"), _test_rows(len(table.y))
    trials = [_Trial(estimator, frame, table.y, tuned=tuned) for tuned in (False, True)]
    for change, labels in (
        ("permuting the test labels", table.y[np.roll(tested, 1)]),
        ("one class in the test rows", np.full(len(tested), table.y[0])),
        ("a new class in the test rows", np.full(len(tested), "another")),
    ):
        y = np.concatenate([table.y[: tested[0]], labels])
        for trial in trials:
            trial.repeat(change, frame, y)


LEAK_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_test_rows_have_no_say,
    check_sparse_test_rows_have_no_say,
    check_filling_has_no_test_rows,
    check_tuning_has_no_test_rows,
    check_test_labels_have_no_say,
)


# ---- before and after -----------------------------------------------------------------------
class _Trial:
    """One split of a table, evaluated with the table as it is and with changed ones."""

    def __init__(
        self, estimator: Any, X: Any, y: Any, *, fill: bool = False, tuned: bool = False
    ) -> None:
        self.estimator, self.fill, self.tuned = estimator, fill, tuned
        self.first = self._evaluate(X, y)

    def repeat(self, change: str, X: Any, y: Any) -> None:
        """Raise AssertionError if a table with the same training rows gives another outcome."""
        order, events = self._evaluate(X, y)
        before, expected = self.first
        assert order.tobytes() == before.tobytes(), (
            f"{change} changes the ranking: {order[:8].tolist()} instead of {before[:8].tolist()}"
        )
        assert [event for event, _ in events] == [event for event, _ in expected]
        for (event, value), (_, known) in zip(events, expected, strict=True):
            assert value == known, f"{change} changes what {event}"

    def _evaluate(self, X: Any, y: Any) -> tuple[AnyArray, list[tuple[str, Any]]]:
        """Return the ranking of a table, read afresh, and the events in the learner's diary."""
        from featly.study.dataset import Dataset
        from featly.study.evaluate import Protocol, evaluate
        from featly.study.splits import Split

        diary = _Diary()
        learners = {"watched": _WatchedLearner(self._learner(), diary)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the test rows are odd on purpose
            dataset = Dataset.of(X, y)
        split = Split(0, _training_rows(len(y)), _test_rows(len(y)))
        protocol = Protocol(learners, sizes=SIZES, fill=self.fill)
        fit = evaluate(dataset, "method", self.estimator, split, protocol)
        for problem in (fit.error, *(outcome.error for outcome in fit.outcomes)):
            assert problem is None, f"the method fails in a study: {problem}"
        assert fit.order is not None
        return fit.order, diary.events

    def _learner(self) -> Any:
        from sklearn.model_selection import GridSearchCV

        from featly.learners import make_learner

        learner = make_learner("linear-svm")
        return GridSearchCV(learner, {"C": [0.01, 1.0]}, cv=2) if self.tuned else learner


@dataclass
class _Diary:
    """Record of a learner's calls; scikit-learn's ``clone`` must not copy it."""

    events: list[tuple[str, Any]] = field(default_factory=list)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def note(self, event: str, value: Any) -> None:
        """Add an event."""
        self.events.append((event, value))


def _has_path(watched: "_WatchedLearner") -> bool:
    return hasattr(watched.learner, "predict_path_values")


class _WatchedLearner(ClassifierMixin, BaseEstimator):
    """A learner that records its training data and its predictions of the probes."""

    def __init__(self, learner: Any = None, diary: Any = None) -> None:
        self.learner = learner
        self.diary = diary

    def fit(self, X: Any, y: Any) -> Self:
        self.diary.note("the learner is trained on", (_plain(X), y.tolist()))
        self.learner_ = clone(self.learner).fit(X, y)
        self.classes_ = self.learner_.classes_
        if hasattr(self.learner_, "best_score_"):
            tuned = (self.learner_.best_params_, self.learner_.best_score_)
            self.diary.note("the tuning finds", tuned)
        return self

    def predict(self, X: Any) -> Any:
        predictions = self.learner_.predict(X)
        self.diary.note("the learner reads in untouched rows", _plain(X[:N_PROBES]))
        self.diary.note("is predicted for untouched rows", predictions[:N_PROBES].tolist())
        return predictions

    @available_if(_has_path)  # type: ignore[untyped-decorator]
    def predict_path_values(self, X: Any, y: Any, X_test: Any, sizes: Any) -> Any:
        path = clone(self.learner).predict_path_values(X, y, X_test, sizes)
        self.diary.note("is predicted for untouched rows", path.labels[:, :N_PROBES].tolist())
        single = self.fit(X, y).predict(X_test)
        assert (path.labels[-1] == single).all(), "a path and a fit predict differently"
        return path


def _plain(X: Any) -> list[list[Any]]:
    """Return the values of a table as lists, in any form: 1 is 1.0, and a missing value is None."""
    if scipy.sparse.issparse(X):
        X = X.toarray()
    rows = X.tolist() if isinstance(X, np.ndarray) else [list(row) for row in X.iter_rows()]
    return [[_plain_value(value) for value in row] for row in rows]


def _plain_value(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, str) else float(value)


# ---- rows and their changes -----------------------------------------------------------------
def _training_rows(n_rows: int) -> IntArray:
    return np.arange(n_rows - round(n_rows * TEST_SHARE))


def _test_rows(n_rows: int) -> IntArray:
    """Return the test rows: first the probes, then those that are changed."""
    return np.arange(len(_training_rows(n_rows)), n_rows)


def _changed_rows(n_rows: int) -> IntArray:
    return _test_rows(n_rows)[N_PROBES:]


def _change_test_rows(frame: Any, *, missing: bool) -> Iterator[tuple[str, Any]]:
    """Yield the table with its test rows but the probes changed, once for each kind of change."""
    import polars as pl

    changed = _changed_rows(frame.height)
    unchanged, rows = frame[: changed[0]], frame[changed]
    rng = np.random.default_rng(0)
    permuted = [column[rng.permutation(len(column))] for column in rows.get_columns()]
    ways = {
        "permuting the values of test rows": pl.DataFrame(permuted),
        "extreme values in test rows": _with_extremes(rows),
        "new levels in test rows": _with_new_levels(rows),
    }
    if missing:
        ways["missing values in test rows"] = _with_missing(rows, np.arange(rows.height))
    for change, other in ways.items():
        yield change, pl.concat([unchanged, other])


def _with_extremes(rows: Any) -> Any:
    """Replace numbers by extreme ones, on both sides."""
    import polars as pl

    sign = np.where(np.arange(rows.height) % 3, 1, -1)
    return rows.with_columns(
        pl.Series(name, sign * EXTREME["i" if dtype.is_integer() else "f"], dtype=dtype)
        for name, dtype in rows.schema.items()
        if dtype.is_numeric()
    )


def _with_new_levels(rows: Any) -> Any:
    import polars as pl

    levels = [f"never seen {k % 2}" for k in range(rows.height)]
    return rows.with_columns(
        pl.Series(name, levels, dtype=dtype)
        for name, dtype in rows.schema.items()
        if not dtype.is_numeric()
    )


def _with_missing(frame: Any, rows: IntArray) -> Any:
    """Remove the values of the given rows in every second column, of half of them in the others."""
    import polars as pl

    is_missing = np.zeros((2, frame.height), bool)
    is_missing[0, rows], is_missing[1, rows[::2]] = True, True
    return frame.with_columns(
        pl.when(pl.Series(is_missing[position % 2])).then(None).otherwise(pl.col(name)).alias(name)
        for position, name in enumerate(frame.columns)
    )
