r"""Metrics of decision values and probabilities, where a confusion matrix does not say enough.

.. math::

    \mathrm{AUC} = P(s^+ > s^-) + \tfrac12 P(s^+ = s^-)

for the scores of a row of the second class and one of the first: Hanley, J. A. and McNeil, B. J.
(1982), The meaning and use of the area under a receiver operating characteristic (ROC) curve,
*Radiology* 143, 29-36.

Rows count equally: no function here takes weights. Where a metric is not defined, because the rows
are of one class or a score is missing, it is nan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import norm, rankdata

from featly.basics.errors import DataError
from featly.basics.params import Whole
from featly.basics.typing import FloatArray, IntArray

__all__ = [
    "SCORE_METRICS",
    "CalibrationCurve",
    "ScoreMetric",
    "average_precision",
    "brier_score",
    "calibration_curve",
    "calibration_line",
    "confusion_at",
    "log_loss",
    "roc_auc",
]

SMALLEST = float(np.finfo(np.float64).eps)  # a smaller probability costs no more in the log loss


def roc_auc(y_true: ArrayLike, scores: ArrayLike, n_classes: int = 2) -> float | FloatArray:
    r"""Area under the ROC curve: how often a row of the second class has the larger score.

    Equal scores count half. With more classes it is the mean over all pairs of classes a, b of
    :math:`\frac12 (A(a|b) + A(b|a))`, where :math:`A(a|b)` is the area of the scores of class a
    among the rows of both. Classes without a row are left out of the mean.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        Codes of the classes, from 0 to `n_classes` - 1.
    scores : array of shape (..., n_rows), or (..., n_rows, n_classes) for more than two classes
        Decision values or probabilities, or a stack of them.
    n_classes : int, default=2
        The number of classes.

    Returns
    -------
    float or array of shape (...)
        nan where one class only has rows, or a score is nan.

    References
    ----------
    Hanley, J. A. and McNeil, B. J. (1982), The meaning and use of the area under a receiver
    operating characteristic (ROC) curve, *Radiology* 143, 29-36. For more classes: Hand, D. J. and
    Till, R. J. (2001), A simple generalisation of the area under the ROC curve for multiple class
    classification problems, *Machine Learning* 45, 171-186.

    Examples
    --------
    >>> from featly.measures.scores import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    >>> roc_auc([0, 1, 2], [[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]], n_classes=3)
    1.0
    """
    codes, values = _check(y_true, scores, n_classes)
    if n_classes == 2:
        return _plain(_area(codes == 1, values))
    areas = [np.full(values.shape[:-2], np.nan)]  # if no two classes have a row
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            rows = (codes == first) | (codes == second)
            part = values[..., rows, :]
            areas.append(_area(codes[rows] == first, part[..., first]))
            areas.append(_area(codes[rows] == second, part[..., second]))
    return _plain(_mean_of_known(areas, values))


def average_precision(
    y_true: ArrayLike, scores: ArrayLike, n_classes: int = 2
) -> float | FloatArray:
    r"""Area under the precision-recall curve, :math:`\sum_k (R_k - R_{k-1}) P_k`.

    :math:`P_k` and :math:`R_k` are precision and recall if the rows with the k largest different
    scores are predicted as the second class. Without skill it is the share of that class. With more
    classes it is the mean over the classes, each against the rest; classes without a row are left
    out of it.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        Codes of the classes, from 0 to `n_classes` - 1.
    scores : array of shape (..., n_rows), or (..., n_rows, n_classes) for more than two classes
        Decision values or probabilities, or a stack of them.
    n_classes : int, default=2
        The number of classes.

    Returns
    -------
    float or array of shape (...)
        nan where one class only has rows, or a score is nan.

    References
    ----------
    Davis, J. and Goadrich, M. (2006), The relationship between precision-recall and ROC curves,
    *ICML*, 233-240.

    Examples
    --------
    >>> from featly.measures.scores import average_precision
    >>> round(average_precision([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    codes, values = _check(y_true, scores, n_classes)
    if n_classes == 2:
        return _plain(_mean_precision(codes == 1, values))
    parts = [_mean_precision(codes == c, values[..., c]) for c in range(n_classes)]
    return _plain(_mean_of_known(parts, values))


def brier_score(
    y_true: ArrayLike, probabilities: ArrayLike, n_classes: int = 2
) -> float | FloatArray:
    r"""Mean squared error of probabilities, :math:`\frac1n \sum_i (p_i - y_i)^2`; lower is better.

    With more classes the squares are summed over the classes, so that the largest value is 2.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        Codes of the classes, from 0 to `n_classes` - 1.
    probabilities : array of shape (..., n_rows), or (..., n_rows, n_classes)
        Of the second class; for more than two classes of every class.
    n_classes : int, default=2
        The number of classes.

    Returns
    -------
    float or array of shape (...)
        nan without rows.

    References
    ----------
    Brier, G. W. (1950), Verification of forecasts expressed in terms of probability, *Monthly
    Weather Review* 78, 1-3.

    Examples
    --------
    >>> from featly.measures.scores import brier_score
    >>> round(brier_score([0, 1, 1], [0.1, 0.8, 0.5]), 3)
    0.1
    """
    codes, values = _check(y_true, probabilities, n_classes)
    _check_probabilities(values)
    if not len(codes):
        return _plain(np.full(values.shape[: -1 if n_classes == 2 else -2], np.nan))
    if n_classes == 2:
        return _plain(((values - codes) ** 2).mean(axis=-1))
    return _plain(((values - np.eye(n_classes)[codes]) ** 2).sum(axis=-1).mean(axis=-1))


def log_loss(y_true: ArrayLike, probabilities: ArrayLike, n_classes: int = 2) -> float | FloatArray:
    r"""Mean of :math:`-\log p` of the true class; lower is better.

    A probability below 2.2e-16 counts as that, so that one wrong certainty does not make the mean
    infinite.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        Codes of the classes, from 0 to `n_classes` - 1.
    probabilities : array of shape (..., n_rows), or (..., n_rows, n_classes)
        Of the second class; for more than two classes of every class.
    n_classes : int, default=2
        The number of classes.

    Returns
    -------
    float or array of shape (...)
        nan without rows.

    References
    ----------
    Good, I. J. (1952), Rational decisions, *J. R. Statist. Soc. B* 14, 107-114.

    Examples
    --------
    >>> from featly.measures.scores import log_loss
    >>> round(log_loss([0, 1, 1], [0.1, 0.8, 0.5]), 3)
    0.341
    """
    codes, values = _check(y_true, probabilities, n_classes)
    _check_probabilities(values)
    if not len(codes):
        return _plain(np.full(values.shape[: -1 if n_classes == 2 else -2], np.nan))
    if n_classes == 2:
        of_true_class = np.where(codes == 1, values, 1 - values)
    else:
        of_true_class = np.take_along_axis(
            values, np.broadcast_to(codes[:, None], (*values.shape[:-1], 1)), axis=-1
        )[..., 0]
    return _plain(-np.log(np.clip(of_true_class, SMALLEST, 1.0)).mean(axis=-1))


class CalibrationCurve(NamedTuple):
    """Probabilities that were told, beside what happened.

    Attributes
    ----------
    predicted : float array
        Mean probability of the rows of a bin.
    observed : float array
        Share of the second class among them.
    lower, upper : float arrays
        Wilson's interval of that share.
    n : int array
        Rows.
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: IntArray


def calibration_curve(
    y_true: ArrayLike, probabilities: ArrayLike, *, bins: int = 10, level: float = 0.95
) -> CalibrationCurve:
    """Compare probabilities with the shares that were observed, in bins of about as many rows.

    Rows with equal probabilities stay in one bin, so there may be fewer bins.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        0 or 1.
    probabilities : array of shape (n_rows,)
        Of class 1.
    bins : int, default=10
        How many bins, at most.
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    CalibrationCurve

    References
    ----------
    Van Calster, B., McLernon, D. J., van Smeden, M., Wynants, L. and Steyerberg, E. W. (2019),
    Calibration: the Achilles heel of predictive analytics, *BMC Medicine* 17, 230.

    Examples
    --------
    >>> from featly.measures.scores import calibration_curve
    >>> curve = calibration_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.8, 0.9, 0.9], bins=2)
    >>> curve.predicted.round(3).tolist(), curve.observed.round(3).tolist()
    ([0.167, 0.867], [0.333, 0.667])
    """
    codes, values = _check(y_true, probabilities, 2)
    _check_probabilities(values)
    if values.ndim != 1:
        raise DataError(f"probabilities has shape {values.shape}: give one number a row")
    Whole(at_least=1).check("bins", bins)
    # the bin of a row is that of the middle of all rows with its probability
    middle = (rankdata(values) - 0.5) / max(len(values), 1)
    _, where = np.unique(np.floor(middle * bins), return_inverse=True)
    n = np.bincount(where)
    hits, total = np.bincount(where, codes), np.bincount(where, values)
    if not len(n):
        empty = np.empty(0)
        return CalibrationCurve(empty, empty, empty, empty, n)
    observed = hits / n
    z = float(norm.ppf(0.5 + level / 2))
    center = (observed + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * np.sqrt(observed * (1 - observed) / n + (z / (2 * n)) ** 2) / (1 + z**2 / n)
    return CalibrationCurve(total / n, observed, center - half, center + half, n)


def calibration_line(y_true: ArrayLike, log_odds: ArrayLike) -> tuple[float, float]:
    r"""Slope and intercept of the logistic regression of the outcome on the predicted log-odds.

    .. math::

        \operatorname{logit} P(y = 1) = a + b\, \operatorname{logit}(p)

    Probabilities that are right have slope 1 and intercept 0. A slope below 1 says that they are
    too extreme, as those of an overfitted model are; an intercept above 0 that they are too low.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        0 or 1.
    log_odds : array of shape (n_rows,)
        Of class 1, log(p / (1 - p)). Those beyond 36, where p is 0 or 1 to all digits, count as 36.

    Returns
    -------
    slope, intercept : float
        nan where they are not defined: one class only, equal predictions, or classes that the
        predictions tell apart without an error.

    References
    ----------
    Cox, D. R. (1958), Two further applications of a model for binary regression, *Biometrika* 45,
    562-565.

    Examples
    --------
    >>> from featly.measures.scores import calibration_line
    >>> log_odds = [-2.0, -2.0, -2.0, -2.0, 2.0, 2.0, 2.0, 2.0]
    >>> slope, intercept = calibration_line([0, 0, 0, 1, 0, 1, 1, 1], log_odds)
    >>> round(slope, 3), round(abs(intercept), 3)
    (0.549, 0.0)
    """
    codes, values = _check(y_true, log_odds, 2)
    if values.ndim != 1:
        raise DataError(f"log_odds has shape {values.shape}: give one number a row")
    undefined = float("nan"), float("nan")
    values = np.clip(values, -36.0, 36.0)
    positive = codes == 1
    if np.isnan(values).any() or positive.all() or not positive.any():
        return undefined
    of_positive, of_negative = values[positive], values[~positive]
    if of_positive.min() >= of_negative.max() or of_positive.max() <= of_negative.min():
        return undefined  # no finite maximum of the likelihood, or all equal
    scale = float(np.abs(values).max())
    A = np.column_stack([values / scale, np.ones(len(values))])
    x = np.zeros(2)

    def deviance(x: FloatArray) -> float:
        z = A @ x
        return float(np.sum(np.logaddexp(0.0, z) - codes * z))

    current = deviance(x)
    for _ in range(100):
        p = expit(A @ x)
        step = np.linalg.solve((A.T * (p * (1 - p))) @ A + 1e-12 * np.eye(2), A.T @ (p - codes))
        while deviance(x - step) > current and np.abs(step).max() > 1e-14:
            step = step / 2
        x = x - step
        current = deviance(x)
        if np.abs(step).max() <= 1e-10 * (1 + np.abs(x).max()):
            break
    return float(x[0] / scale), float(x[1])


def confusion_at(y_true: ArrayLike, scores: ArrayLike, thresholds: ArrayLike) -> IntArray:
    """Confusion matrices if rows with a score above a threshold are predicted as class 1.

    Parameters
    ----------
    y_true : int array of shape (n_rows,)
        0 or 1.
    scores : array of shape (n_rows,)
        Decision values or probabilities of class 1.
    thresholds : float or array of shape (n_thresholds,)

    Returns
    -------
    int64 array of shape (2, 2), or (n_thresholds, 2, 2)
        As :mod:`featly.measures.classification` takes them.

    Examples
    --------
    >>> from featly.measures.classification import sensitivity
    >>> from featly.measures.scores import confusion_at
    >>> sensitivity(confusion_at([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [0.3, 0.5])).tolist()
    [1.0, 0.5]
    """
    codes, values = _check(y_true, scores, 2)
    if values.ndim != 1:
        raise DataError(f"scores has shape {values.shape}: give one number a row")
    if np.isnan(values).any():
        raise DataError(f"scores has no number in row {int(np.flatnonzero(np.isnan(values))[0])}")
    limits = np.asarray(thresholds, dtype=np.float64)
    matrices = np.zeros((*limits.shape, 2, 2), np.int64)
    for c in (0, 1):
        ordered = np.sort(values[codes == c])
        not_above = np.searchsorted(ordered, limits, side="right")
        matrices[..., c, 0], matrices[..., c, 1] = not_above, len(ordered) - not_above
    return matrices


# ---- the metrics by name -------------------------------------------------------------------------
@dataclass(frozen=True)
class ScoreMetric:
    """A metric of decision values or probabilities, with its name and its direction.

    Attributes
    ----------
    name : str
        The key in :data:`SCORE_METRICS`.
    function : callable
        Takes codes of classes, scores or a stack of them, and the number of classes.
    greater_is_better : bool
        False for losses.
    needs_probabilities : bool
        Whether decision values are not enough.
    is_pairwise : bool
        Whether rows are compared with each other, so that one row alone has no value.
    description : str
        One line.

    Examples
    --------
    >>> from featly.measures.scores import SCORE_METRICS
    >>> [name for name, metric in SCORE_METRICS.items() if metric.needs_probabilities]
    ['brier', 'log_loss']
    """

    name: str
    function: Callable[[ArrayLike, ArrayLike, int], float | FloatArray]
    greater_is_better: bool
    needs_probabilities: bool
    is_pairwise: bool
    description: str


SCORE_METRICS: dict[str, ScoreMetric] = {
    metric.name: metric
    for metric in (
        ScoreMetric("auc", roc_auc, True, False, True, "area under the ROC curve"),
        ScoreMetric(
            "pr_auc", average_precision, True, False, True, "area under the precision-recall curve"
        ),
        ScoreMetric(
            "brier", brier_score, False, True, False, "mean squared error of probabilities"
        ),
        ScoreMetric("log_loss", log_loss, False, True, False, "mean -log p of the true class"),
    )
}
"""The metrics that need decision values or probabilities, by name."""


# ---- parts ---------------------------------------------------------------------------------------
def _check(y_true: ArrayLike, scores: ArrayLike, n_classes: int) -> tuple[IntArray, FloatArray]:
    Whole(at_least=2).check("n_classes", n_classes)
    codes = np.asarray(y_true)
    if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iub"):
        raise DataError("y_true is not a vector of whole numbers: encode the classes from 0")
    codes = codes.astype(np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= n_classes):
        wrong = codes.min() if codes.min() < 0 else codes.max()
        raise DataError(
            f"y_true has code {wrong} with n_classes={n_classes}: "
            f"encode the classes from 0 to {n_classes - 1}"
        )
    values = np.asarray(scores, dtype=np.float64)
    shape = (len(codes),) if n_classes == 2 else (len(codes), n_classes)
    if values.shape[-len(shape) :] != shape or values.ndim < len(shape):
        raise DataError(f"scores has shape {values.shape}: its last axes must be {shape}")
    return codes, values


def _check_probabilities(values: FloatArray) -> None:
    outside = ~((values >= 0) & (values <= 1) | np.isnan(values))
    if outside.any():
        raise DataError(
            f"probabilities has {float(values[outside][0]):g}: give numbers from 0 to 1, not "
            "decision values"
        )


def _area(positive: np.ndarray, values: FloatArray) -> FloatArray:
    """Return the area under the ROC curve along the last axis, by the ranks of the positives."""
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        return np.full(values.shape[:-1], np.nan)
    ranks = rankdata(values, axis=-1, nan_policy="propagate")
    above = ranks[..., positive].sum(axis=-1) - n_positive * (n_positive + 1) / 2
    area: FloatArray = above / (n_positive * n_negative)
    return area


def _mean_of_known(parts: list[FloatArray], values: FloatArray) -> FloatArray:
    """Return the mean over the parts that are not nan; nan where all are, or a score is nan."""
    stacked = np.array(parts)
    known = ~np.isnan(stacked)
    n = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    is_defined = (n > 0) & ~np.isnan(values).any(axis=(-2, -1))
    mean: FloatArray = np.where(is_defined, total / np.maximum(n, 1), np.nan)
    return mean


def _mean_precision(positive: np.ndarray, values: FloatArray) -> FloatArray:
    n_positive = int(positive.sum())
    result = np.full(values.shape[:-1], np.nan)
    if not n_positive or n_positive == len(positive):
        return result
    for at in np.ndindex(result.shape):
        row = values[at]
        if np.isnan(row).any():
            continue
        order = np.argsort(-row, kind="stable")
        ordered = row[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # of equal scores
        hits = np.cumsum(positive[order])[last]
        steps = np.diff(hits, prepend=0) / n_positive
        result[at] = float(steps @ (hits / (last + 1)))
    return result


def _plain(values: float | FloatArray) -> float | FloatArray:
    return float(values) if np.ndim(values) == 0 else values
