"""Predictions of test rows by a learner that is trained on the first 1, 2, 4, ... columns.

This is the one place where a path is fitted and predicted: studies and whatever else judges a
pipeline read classes, decision values and probabilities from here.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.table.frames import is_frame, take_columns

__all__ = ["DECISION", "PROBABILITY", "Predictions", "predict_sizes", "scores_of"]

DECISION, PROBABILITY = "decision", "probability"  # kinds of scores


@dataclass(frozen=True)
class Predictions:
    """Predictions of all test rows with the first `size` columns, or the error.

    Attributes
    ----------
    size : int
    codes : int array of shape (n_rows,), or None if the learner failed
        The predicted classes, as positions among all classes of the dataset.
    scores : float array of shape (n_rows,) or (n_rows, n_classes), or None
        For two classes one number a row, larger for the second class: the decision value, or the
        log-odds of the probability, so that 0 is the default threshold of both. For more classes a
        number a class: probabilities or decision values. None if the learner gives neither.
    kind : {"decision", "probability"} or None
        The source of the scores.
    seconds : float
    error : str or None
    """

    size: int
    codes: IntArray | None
    scores: FloatArray | None = None
    kind: str | None = None
    seconds: float = 0.0
    error: str | None = None


def predict_sizes(
    learner: Any,
    X: Any,
    y: AnyArray,
    X_test: Any,
    sizes: Sequence[int],
    classes: AnyArray,
) -> list[Predictions]:
    """Train a learner on the first k columns for every k in `sizes`, and predict other rows.

    An error of the learner becomes a result: with `predict_path` at all sizes, else at that size.

    Parameters
    ----------
    learner : classifier
        It is copied, not changed.
    X, y
        The training rows, columns in the order in which they join.
    X_test
        Rows to predict, with the same columns.
    sizes : ascending counts of columns
    classes : array of shape (n_classes,)
        All classes of the dataset, sorted. The training rows may lack some.

    Returns
    -------
    list of Predictions
        One for each size.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import make_learner
    >>> from featly.study.predict import predict_sizes
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
    >>> X[:, 0] += 3 * y
    >>> learner, classes = make_learner("linear-svm"), np.array([0, 1])
    >>> path = predict_sizes(learner, X[::2], y[::2], X[1::2], [1, 4], classes)
    >>> [(p.size, p.kind, float(np.mean(p.codes == y[1::2]))) for p in path]
    [(1, 'decision', 0.95), (4, 'decision', 0.95)]
    """
    if _has_path_values(learner) or hasattr(learner, "predict_path"):
        return _follow_path(clone(learner), X, y, X_test, sizes, classes)
    return [_fit_size(clone(learner), X, y, X_test, size, classes) for size in sizes]


def _follow_path(
    learner: Any, X: Any, y: AnyArray, X_test: Any, sizes: Sequence[int], classes: AnyArray
) -> list[Predictions]:
    """Predict at all sizes at once."""
    began = time.perf_counter()
    scores: list[FloatArray | None] = [None] * len(sizes)
    kind = None
    try:
        if _has_path_values(learner):
            path = learner.predict_path_values(X, y, X_test, sizes)
            labels, kind = path.labels, PROBABILITY if path.is_probability else DECISION
            scores = [scores_of(values, kind, path.classes, classes) for values in path.values]
        else:
            labels = learner.predict_path(X, y, X_test, sizes)
        codes = [_encode(row, classes) for row in labels]
    except Exception as problem:  # of any kind: the rest of the study goes on
        message, seconds = error_text(problem), (time.perf_counter() - began) / len(sizes)
        return [Predictions(size, None, seconds=seconds, error=message) for size in sizes]
    seconds = (time.perf_counter() - began) / len(sizes)
    return [
        Predictions(size, predicted, values, kind, seconds)
        for size, predicted, values in zip(sizes, codes, scores, strict=True)
    ]


def _has_path_values(learner: Any) -> bool:
    """Return whether `predict_path_values` is there, and not older than `predict_path`.

    A subclass that changes `predict_path` alone is taken at its word.
    """
    if not hasattr(learner, "predict_path_values"):
        return False
    for kind in type(learner).__mro__:
        if "predict_path_values" in vars(kind):
            return True
        if "predict_path" in vars(kind):
            return False
    return True


def _fit_size(
    learner: Any, X: Any, y: AnyArray, X_test: Any, size: int, classes: AnyArray
) -> Predictions:
    began = time.perf_counter()
    try:
        first = np.arange(size)
        trained, rows = learner.fit(columns_of(X, first), y), columns_of(X_test, first)
        codes = _encode(trained.predict(rows), classes)
        scores, kind = _read_scores(trained, rows, classes)
    except Exception as problem:
        seconds = time.perf_counter() - began
        return Predictions(size, None, seconds=seconds, error=error_text(problem))
    return Predictions(size, codes, scores, kind, time.perf_counter() - began)


def _read_scores(
    trained: Any, rows: Any, classes: AnyArray
) -> tuple[FloatArray | None, str | None]:
    """Return the probabilities of rows if the classifier has them, else its decision values."""
    known = getattr(trained, "classes_", classes)
    if hasattr(trained, "predict_proba"):
        return scores_of(trained.predict_proba(rows), PROBABILITY, known, classes), PROBABILITY
    if hasattr(trained, "decision_function"):
        return scores_of(trained.decision_function(rows), DECISION, known, classes), DECISION
    return None, None


def scores_of(values: Any, kind: str, known: AnyArray, classes: AnyArray) -> FloatArray:
    """Return decision values or probabilities as scores of all classes of a dataset.

    Parameters
    ----------
    values : array of shape (n_rows,) or (n_rows, n_known)
        As ``decision_function`` or ``predict_proba`` returns them.
    kind : {"decision", "probability"}
    known : array
        The classes of the training rows, sorted.
    classes : array
        All classes of the dataset, sorted.

    Returns
    -------
    float array of shape (n_rows,) or (n_rows, n_classes)
        See :class:`Predictions`.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim == 1:
        table = np.column_stack([-table, table]) if len(known) == 2 else table[:, None]
    if table.shape[1] != len(known):
        raise DataError(
            f"the learner gives {table.shape[1]} numbers a row for {len(known)} classes: its "
            "decision_function or predict_proba is not that of a scikit-learn classifier"
        )
    if len(known) != len(classes):
        # a class without a training row is never predicted
        full = np.full((len(table), len(classes)), 0.0 if kind == PROBABILITY else -np.inf)
        full[:, np.searchsorted(classes, known)] = table
        table = full
    if len(classes) != 2:
        return table
    if kind == DECISION:
        return table[:, 1]
    with np.errstate(divide="ignore"):
        return np.log(table[:, 1]) - np.log(table[:, 0])


def _encode(labels: Any, classes: AnyArray) -> IntArray:
    """Return labels as positions among the classes."""
    labels = np.asarray(labels)
    codes: IntArray = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    odd = classes[codes] != labels
    if odd.any():
        raise DataError(
            f"the learner predicts {labels[odd][0]!r}, which is none of the classes of the table"
        )
    return codes


def columns_of(X: Any, columns: AnyArray) -> Any:
    """Return columns of a table in a given order."""
    return take_columns(X, columns.tolist()) if is_frame(X) else X[:, columns]


def error_text(problem: Exception) -> str:
    """Return an exception as one line."""
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__
