"""Predictions of a learner that was trained on the first 1, 2, 4, ... columns of a list."""

from typing import NamedTuple

import numpy as np

from featly.basics.typing import AnyArray, FloatArray

__all__ = ["PathPredictions"]


class PathPredictions(NamedTuple):
    """Predictions of other rows at every number of columns, as `predict_path_values` returns them.

    Attributes
    ----------
    labels : array of shape (n_sizes, n_test_rows)
        The predicted classes.
    values : float array of shape (n_sizes, n_test_rows) or (n_sizes, n_test_rows, n_classes)
        Decision values, as ``decision_function`` returns them; or probabilities, as
        ``predict_proba`` does, also of two classes one column a class.
    is_probability : bool
        Whether the values are probabilities.
    classes : array of shape (n_classes,)
        The classes of the training rows, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import LinearSVM
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> path = LinearSVM().predict_path_values(X, y, np.array([[2.0], [3.0]]), [1])
    >>> path.labels.tolist(), path.values.round(2).tolist(), path.is_probability
    ([[0, 1]], [[-0.33, 0.33]], False)
    """

    labels: AnyArray
    values: FloatArray
    is_probability: bool
    classes: AnyArray


def from_decisions(values: list[FloatArray], classes: AnyArray) -> PathPredictions:
    """Return the predictions that decision values of every size say."""
    stacked = np.array(values)
    codes = (stacked > 0).astype(np.int64) if len(classes) == 2 else stacked.argmax(axis=-1)
    return PathPredictions(classes[codes], stacked, is_probability=False, classes=classes)
