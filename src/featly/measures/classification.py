r"""Metrics of classification, from confusion matrices.

.. math::

    \mathrm{BCR} = \frac{1}{L} \sum_{c=1}^{L} \frac{n_{cc}}{\sum_d n_{cd}},

where :math:`n_{cd}` rows of class c were predicted as class d: Helleputte, T. and Dupont, P.
(2009), Partially supervised feature selection with regularized linear models, *ICML*, 409-416.

Every metric is a function of the confusion matrix. Matrices of folds add up, so a metric of each
fold and the metric of all folds pooled come from the same numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from featly.basics.errors import DataError, ParameterError

__all__ = [
    "KDD_COSTS",
    "METRICS",
    "Metric",
    "accuracy",
    "bcr",
    "confusion_matrix",
    "cost_score",
    "detection",
    "error",
    "f1",
    "false_positive_rate",
    "no_information",
    "npv",
    "point632",
    "point632plus",
    "ppv",
    "sensitivity",
    "specificity",
]

KDD_COSTS = np.array(
    [
        [0, 1, 2, 2, 2],
        [1, 0, 2, 2, 2],
        [2, 1, 0, 2, 2],
        [3, 2, 2, 0, 2],
        [4, 2, 2, 2, 0],
    ]
)
"""Costs of KDD Cup 99: rows real, columns predicted; normal, probe, DoS, U2R, R2L."""
KDD_COSTS.flags.writeable = False


def confusion_matrix(y_true: ArrayLike, y_pred: ArrayLike, n_classes: int) -> np.ndarray:
    """Count the rows of each class that were predicted as each class.

    Parameters
    ----------
    y_true, y_pred : int arrays of shape (n_rows,)
        Codes of the classes, from 0 to `n_classes` - 1. There may be no rows.
    n_classes : int
        The number of classes L, including those without a row here.

    Returns
    -------
    int64 array of shape (L, L)
        Rows are the true classes, columns the predicted ones.

    Examples
    --------
    >>> from featly.measures.classification import confusion_matrix
    >>> confusion_matrix([0, 0, 0, 1, 1], [0, 0, 1, 1, 1], 2)
    array([[2, 1],
           [0, 2]])
    """
    if not isinstance(n_classes, int | np.integer) or n_classes < 1:
        raise ParameterError(f"n_classes={n_classes}: give the number of classes, at least 1")
    true = _codes(y_true, n_classes, "y_true")
    predicted = _codes(y_pred, n_classes, "y_pred")
    if true.shape != predicted.shape:
        raise DataError(
            f"y_true has {true.size} rows and y_pred {predicted.size}: give one prediction a row"
        )
    counts = np.bincount(true * n_classes + predicted, minlength=n_classes * n_classes)
    return counts.reshape(n_classes, n_classes).astype(np.int64, copy=False)


def accuracy(confusion: ArrayLike) -> float | np.ndarray:
    r"""Fraction of the rows predicted right, :math:`\sum_c n_{cc} / n`.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    float or array of shape (...)
        nan where a matrix has no rows.

    Examples
    --------
    >>> from featly.measures.classification import accuracy
    >>> accuracy([[2, 1], [0, 2]])
    0.8
    """
    counts = _stack(confusion)
    return _plain(_ratio(np.trace(counts, axis1=-2, axis2=-1), counts.sum(axis=(-2, -1))))


def error(confusion: ArrayLike) -> float | np.ndarray:
    r"""Fraction of the rows predicted wrong, :math:`1 - \sum_c n_{cc} / n`.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    float or array of shape (...)
        nan where a matrix has no rows.

    Examples
    --------
    >>> from featly.measures.classification import error
    >>> error([[2, 1], [0, 2]])
    0.2
    """
    counts = _stack(confusion)
    total = counts.sum(axis=(-2, -1))
    return _plain(_ratio(total - np.trace(counts, axis1=-2, axis2=-1), total))


def detection(confusion: ArrayLike) -> np.ndarray:
    r"""Recall of each class: the fraction predicted as this class, :math:`n_{cc} / \sum_d n_{cd}`.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    array of shape (..., L)
        nan for a class without rows.

    Examples
    --------
    >>> from featly.measures.classification import detection
    >>> detection([[3, 1], [0, 2]])
    array([0.75, 1.  ])
    """
    counts = _stack(confusion)
    return _ratio(np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1))


def false_positive_rate(confusion: ArrayLike) -> np.ndarray:
    r"""Fraction of the rows of other classes that is predicted as each class.

    .. math::

        \mathrm{FPR}_c = \frac{\sum_{b \ne c} n_{bc}}{\sum_{b \ne c} \sum_d n_{bd}}

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    array of shape (..., L)
        nan for a class if all rows are of this class.

    Examples
    --------
    >>> from featly.measures.classification import false_positive_rate
    >>> false_positive_rate([[3, 1], [0, 2]])
    array([0.  , 0.25])
    """
    counts = _stack(confusion)
    hits = np.diagonal(counts, axis1=-2, axis2=-1)
    others = counts.sum(axis=(-2, -1))[..., None] - counts.sum(axis=-1)
    return _ratio(counts.sum(axis=-2) - hits, others)


def bcr(confusion: ArrayLike) -> float | np.ndarray:
    r"""Balanced classification rate: the mean over the classes of the fraction found.

    For two classes it is :math:`\frac12 (TP / P + TN / N)`, the mean of sensitivity and
    specificity. Always predicting the same class gives 1 / L, however rare the others are.
    Classes without a row are left out of the mean.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    float or array of shape (...)
        nan where a matrix has no rows.

    Examples
    --------
    >>> from featly.measures.classification import accuracy, bcr
    >>> always_the_first = [[90, 0], [10, 0]]
    >>> accuracy(always_the_first), bcr(always_the_first)
    (0.9, 0.5)
    """
    recall = detection(confusion)
    present = ~np.isnan(recall)
    return _plain(_ratio(np.where(present, recall, 0.0).sum(axis=-1), present.sum(axis=-1)))


def sensitivity(confusion: ArrayLike, positive: int = 1) -> float | np.ndarray:
    """Fraction of the positive rows that is predicted positive, TP / P.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    positive : int, default=1
        The code of the positive class. With more than two classes, all others are negative.

    Returns
    -------
    float or array of shape (...)
        nan where there are no positive rows.

    Examples
    --------
    >>> from featly.measures.classification import sensitivity
    >>> sensitivity([[3, 1], [0, 2]]), sensitivity([[3, 1], [0, 2]], positive=0)
    (1.0, 0.75)
    """
    recall = detection(confusion)
    return _plain(recall[..., _class(positive, recall.shape[-1])])


def specificity(confusion: ArrayLike, positive: int = 1) -> float | np.ndarray:
    """Fraction of the negative rows that is predicted negative, TN / N.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    positive : int, default=1
        The code of the positive class. With more than two classes, all others are negative, and
        a negative row predicted as another negative class counts as right.

    Returns
    -------
    float or array of shape (...)
        nan where there are no negative rows.

    Examples
    --------
    >>> from featly.measures.classification import specificity
    >>> specificity([[3, 1], [0, 2]]), specificity([[3, 1], [0, 2]], positive=0)
    (0.75, 1.0)
    """
    counts = _stack(confusion)
    code = _class(positive, counts.shape[-1])
    total, row, column = counts.sum(axis=(-2, -1)), counts.sum(axis=-1), counts.sum(axis=-2)
    negatives = total - row[..., code]
    return _plain(_ratio(negatives - column[..., code] + counts[..., code, code], negatives))


def ppv(confusion: ArrayLike, positive: int = 1) -> float | np.ndarray:
    """Positive predictive value, TP / (TP + FP): the share of positive predictions that are right.

    It depends on how frequent the positive class is among the rows.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    positive : int, default=1
        The code of the positive class. With more than two classes, all others are negative.

    Returns
    -------
    float or array of shape (...)
        nan where no row is predicted positive.

    References
    ----------
    Altman, D. G. and Bland, J. M. (1994), Diagnostic tests 2: predictive values, *BMJ* 309, 102.

    Examples
    --------
    >>> from featly.measures.classification import ppv
    >>> ppv([[3, 1], [0, 2]]), ppv([[3, 1], [0, 2]], positive=0)
    (0.6666666666666666, 1.0)
    """
    counts = _stack(confusion)
    code = _class(positive, counts.shape[-1])
    return _plain(_ratio(counts[..., code, code], counts[..., code].sum(axis=-1)))


def npv(confusion: ArrayLike, positive: int = 1) -> float | np.ndarray:
    """Negative predictive value, TN / (TN + FN): the share of negative predictions that are right.

    It depends on how frequent the positive class is among the rows.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    positive : int, default=1
        The code of the positive class. With more than two classes, all others are negative, and
        a negative row predicted as another negative class counts as right.

    Returns
    -------
    float or array of shape (...)
        nan where no row is predicted negative.

    References
    ----------
    Altman, D. G. and Bland, J. M. (1994), Diagnostic tests 2: predictive values, *BMJ* 309, 102.

    Examples
    --------
    >>> from featly.measures.classification import npv
    >>> npv([[3, 1], [1, 2]])
    0.75
    """
    counts = _stack(confusion)
    code = _class(positive, counts.shape[-1])
    predicted = counts.sum(axis=(-2, -1)) - counts[..., code].sum(axis=-1)
    missed = counts[..., code, :].sum(axis=-1) - counts[..., code, code]
    return _plain(_ratio(predicted - missed, predicted))


def f1(confusion: ArrayLike, positive: int = 1) -> float | np.ndarray:
    """Harmonic mean of sensitivity and positive predictive value, 2 TP / (2 TP + FP + FN).

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    positive : int, default=1
        The code of the positive class. With more than two classes, all others are negative.

    Returns
    -------
    float or array of shape (...)
        nan where no row is positive or predicted positive.

    References
    ----------
    Van Rijsbergen, C. J. (1979), *Information Retrieval*, 2nd edition, Butterworths.

    Examples
    --------
    >>> from featly.measures.classification import f1
    >>> f1([[3, 1], [0, 2]])
    0.8
    """
    counts = _stack(confusion)
    code = _class(positive, counts.shape[-1])
    both = counts[..., code, :].sum(axis=-1) + counts[..., code].sum(axis=-1)
    return _plain(_ratio(2 * counts[..., code, code], both))


def cost_score(confusion: ArrayLike, costs: ArrayLike) -> float | np.ndarray:
    r"""Mean cost of a row, :math:`\sum_{cd} n_{cd} C_{cd} / n`; lower is better.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.
    costs : array of shape (L, L)
        The cost of predicting the class of the column for a row of the class of the row.
        :data:`KDD_COSTS` are those of KDD Cup 99.

    Returns
    -------
    float or array of shape (...)
        nan where a matrix has no rows.

    References
    ----------
    Elkan, C. (2000), Results of the KDD'99 classifier learning, *ACM SIGKDD Explorations* 1,
    63-64.

    Examples
    --------
    >>> from featly.measures.classification import cost_score
    >>> costs = [[0, 1], [5, 0]]
    >>> cost_score([[6, 2], [1, 1]], costs)
    0.7
    """
    counts = _stack(confusion)
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape != counts.shape[-2:]:
        raise ParameterError(
            f"costs has shape {prices.shape} and the confusion matrix {counts.shape[-2:]}: "
            "give one cost for each pair of a real and a predicted class"
        )
    return _plain(_ratio((counts * prices).sum(axis=(-2, -1)), counts.sum(axis=(-2, -1))))


def no_information(confusion: ArrayLike) -> np.ndarray:
    r"""Confusion matrix expected if the predictions were independent of the true classes.

    .. math::

        m_{cd} = \frac{1}{n} \sum_{b} n_{cb} \sum_{b} n_{bd}

    The true classes and the predicted ones keep their frequencies. Any metric of this matrix is
    its no-information value; its error is the rate :math:`\gamma` of :func:`point632plus`.

    Parameters
    ----------
    confusion : array of shape (..., L, L)
        A confusion matrix, or a stack of them.

    Returns
    -------
    float array of shape (..., L, L)
        Zeros where a matrix has no rows.

    Examples
    --------
    >>> from featly.measures.classification import error, no_information
    >>> no_information([[6, 2], [0, 2]])
    array([[4.8, 3.2],
           [1.2, 0.8]])
    >>> round(error(no_information([[6, 2], [0, 2]])), 3)
    0.44
    """
    counts = _stack(confusion)
    products = counts.sum(axis=-1)[..., :, None] * counts.sum(axis=-2)[..., None, :]
    total = counts.sum(axis=(-2, -1))[..., None, None]
    expected: np.ndarray = products / np.where(total > 0, total, 1)  # 0 / 1 without rows
    return expected


def point632(apparent: ArrayLike, out_of_bag: ArrayLike) -> float | np.ndarray:
    r"""Error by the .632 bootstrap, :math:`0.368\,\overline{err} + 0.632\,\widehat{Err}^{(1)}`.

    A bootstrap sample holds about 63.2% of the rows, so the error on the rows left out is too
    high and the error on the rows trained on is too low. It is too low itself where the learner
    fits its rows perfectly; use :func:`point632plus` there.

    Parameters
    ----------
    apparent : float or array
        Error of the learner trained on all rows, on the same rows.
    out_of_bag : float or array
        Error of the learners trained on bootstrap samples, on the rows outside their sample.

    Returns
    -------
    float or array
        The estimated error.

    See Also
    --------
    point632plus : With the reference.

    Examples
    --------
    >>> from featly.measures.classification import point632
    >>> round(point632(0.1, 0.2), 4)
    0.1632
    """
    seen, unseen = np.asarray(apparent, dtype=float), np.asarray(out_of_bag, dtype=float)
    return _plain(0.368 * seen + 0.632 * unseen)


def point632plus(
    apparent: ArrayLike, out_of_bag: ArrayLike, no_information: ArrayLike
) -> float | np.ndarray:
    r"""Error by the .632+ bootstrap, which gives rows left out more weight under overfitting.

    .. math::

        \widehat{Err}^{(.632+)} = \widehat{Err}^{(.632)} + (e - \overline{err})
        \frac{0.368 \cdot 0.632\, R}{1 - 0.368\, R}, \qquad
        R = \frac{e - \overline{err}}{\gamma - \overline{err}}, \qquad
        e = \min(\widehat{Err}^{(1)}, \gamma)

    R is the relative overfitting rate, from 0 to 1. It is 0 unless both
    :math:`\widehat{Err}^{(1)}` and :math:`\gamma` exceed the apparent error.

    Parameters
    ----------
    apparent, out_of_bag : float or array
        As for :func:`point632`.
    no_information : float or array
        The error :math:`\gamma` if predictions were independent of the true classes: the error of
        :func:`no_information` of the confusion matrix behind the apparent error.

    Returns
    -------
    float or array
        The estimated error.

    Notes
    -----
    The three must be errors. Of a metric that is better when greater, give 1 minus it.

    References
    ----------
    Efron, B. and Tibshirani, R. (1997), Improvements on cross-validation: the .632+ bootstrap
    method, *J. Am. Statist. Assoc.* 92, 548-560.

    Examples
    --------
    One nearest neighbour where there is nothing to learn: it predicts its own rows without error.

    >>> from featly.measures.classification import point632, point632plus
    >>> point632(0.0, 0.5), point632plus(0.0, 0.5, 0.5)
    (0.316, 0.5)
    """
    seen, unseen, chance = np.broadcast_arrays(
        *(np.asarray(value, dtype=float) for value in (apparent, out_of_bag, no_information))
    )
    capped = np.minimum(unseen, chance)
    overfitting = np.divide(
        capped - seen,
        chance - seen,
        out=np.zeros(seen.shape),
        where=(unseen > seen) & (chance > seen),
    )
    weight = 0.368 * 0.632 * overfitting / (1 - 0.368 * overfitting)
    return _plain(point632(seen, unseen) + (capped - seen) * weight)


@dataclass(frozen=True)
class Metric:
    """A metric with its name and its direction.

    Attributes
    ----------
    name : str
        The key in :data:`METRICS`.
    function : callable
        Takes a confusion matrix or a stack of them, returns a float or an array.
    greater_is_better : bool
        False for errors.
    description : str
        One line.

    Examples
    --------
    >>> from featly.measures.classification import METRICS
    >>> METRICS["bcr"].function([[3, 1], [0, 2]])
    0.875
    >>> [name for name, metric in METRICS.items() if not metric.greater_is_better]
    ['error']
    """

    name: str
    function: Callable[[ArrayLike], float | np.ndarray]
    greater_is_better: bool
    description: str


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("bcr", bcr, True, "balanced classification rate: mean fraction found of a class"),
        Metric("accuracy", accuracy, True, "fraction of the rows predicted right"),
        Metric("error", error, False, "fraction of the rows predicted wrong"),
        Metric("sensitivity", sensitivity, True, "fraction found of the class with code 1"),
        Metric("specificity", specificity, True, "fraction of the other rows not taken for code 1"),
        Metric("ppv", ppv, True, "fraction of the rows predicted as code 1 that are"),
        Metric("npv", npv, True, "fraction of the rows predicted as others that are"),
        Metric("f1", f1, True, "harmonic mean of sensitivity and ppv"),
    )
}
"""The metrics that need nothing but a confusion matrix, by name."""


def _codes(y: ArrayLike, n_classes: int, name: str) -> np.ndarray:
    """Return codes as wide integers: products of the narrow ones would overflow."""
    codes = np.asarray(y)
    if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iub"):
        raise DataError(f"{name} is not a vector of whole numbers: encode the classes from 0")
    codes = codes.astype(np.intp)
    if codes.size and (codes.min() < 0 or codes.max() >= n_classes):
        wrong = codes.min() if codes.min() < 0 else codes.max()
        raise DataError(
            f"{name} has code {wrong} with n_classes={n_classes}: "
            f"encode the classes from 0 to {n_classes - 1}"
        )
    return codes


def _stack(confusion: ArrayLike) -> np.ndarray:
    counts = np.asarray(confusion)
    if counts.ndim < 2 or counts.shape[-1] != counts.shape[-2] or counts.shape[-1] == 0:
        raise DataError(
            f"confusion has shape {counts.shape}: "
            "give a square matrix, rows true and columns predicted, or a stack of them"
        )
    return counts


def _class(positive: int, n_classes: int) -> int:
    if not 0 <= positive < n_classes:
        raise ParameterError(f"positive={positive}: give a class from 0 to {n_classes - 1}")
    return positive


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide; nan where the denominator is 0."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    ratio = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=ratio, where=np.asarray(denominator) > 0)
    return ratio


def _plain(values: np.ndarray) -> float | np.ndarray:
    return float(values) if np.ndim(values) == 0 else values
