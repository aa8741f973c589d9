r"""Rates of a nested cross-validation: without optimism, brought to all rows, with an interval.

.. math::

    p'_c = \operatorname{clip}\bigl(p_c + w (p_c - q_c), 0, 1\bigr), \qquad
    w = \frac{1 / u - 1}{1 / v - 1 / u}, \qquad u = 1 - \frac1K, \quad v = u \Bigl(1 - \frac1I\Bigr)

where :math:`p_c` is the share of the rows of class c that models trained on K - 1 of K folds
predict right, and :math:`q_c` the share that models trained on I - 1 of I inner folds of the same
rows predict right. The error is taken as linear in one over the number of training rows.

The interval takes a rate as that of :math:`N_c = n_c / 1.64` independent rows, each with the
limits of

Clopper, C. J. and Pearson, E. S. (1934), The use of confidence or fiducial limits illustrated in
the case of the binomial, *Biometrika* 26, 404-413.

:math:`1.64 \approx 1 + 2 / \pi`, since the label of a row also trains the models that judge other
rows. Limits of classes are combined as the squares of their distances add up, and rounded outward
to two decimals.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.typing import FloatArray, IntArray
from featly.measures.corrected_t import FRACTION

__all__ = [
    "FEWEST_ROWS",
    "RateInterval",
    "class_rates",
    "correct_rates",
    "count_units",
    "extrapolation_weight",
    "inflation",
    "rate_interval",
    "rate_limits",
    "round_outward",
]

FEWEST_ROWS = 4  # of a class: with fewer there is no figure
# repeats of the folds, and the factor on the variance of independent rows that was measured there;
# between two of them the factor of the fewer repeats is taken, which is the wider one
INFLATION = ((1, 2.0), (3, 1.75), (5, 1.64))
DECIMALS = 2
ROUNDING = 1e-9  # a limit that is so near to two decimals is taken as those


class RateInterval(NamedTuple):
    """A rate with its interval.

    Attributes
    ----------
    value : float
    lower, upper : float
        Rounded outward to two decimals, unless asked otherwise.
    """

    value: float
    lower: float
    upper: float


def extrapolation_weight(folds: int, inner: int) -> float:
    r"""Return how far beyond K - 1 of K folds the rate of all rows lies.

    .. math::

        w = \frac{1 / u - 1}{1 / v - 1 / u}, \qquad u = 1 - \frac1K, \quad v = u (1 - \frac1I)

    in units of the difference between models trained on shares u and v of the rows.

    Parameters
    ----------
    folds, inner : int
        Outer folds K and inner folds I, at least 2.

    Returns
    -------
    float

    Examples
    --------
    >>> from featly.measures.nested_rates import extrapolation_weight
    >>> round(extrapolation_weight(10, 5), 6)
    0.4
    """
    for name, value in (("folds", folds), ("inner", inner)):
        Whole(at_least=2).check(name, value)
    u = 1 - 1 / folds
    v = u * (1 - 1 / inner)
    return (1 / u - 1) / (1 / v - 1 / u)


def class_rates(scores: ArrayLike, y: ArrayLike, n_classes: int) -> FloatArray:
    """Return the mean of the scores of the rows of each class, such as the share predicted right.

    Parameters
    ----------
    scores : float array of shape (..., n_rows)
        1 for a row that was predicted right, 0 for another, NaN for one without a prediction. All
        leading axes, such as repeats, are averaged over.
    y : int array of shape (n_rows,)
        Codes of the classes, from 0.
    n_classes : int

    Returns
    -------
    float array of shape (n_classes,)
        NaN for a class without a prediction.

    Examples
    --------
    >>> from featly.measures.nested_rates import class_rates
    >>> class_rates([[1, 0, 1, 1], [1, 1, 1, 1]], [0, 0, 1, 1], 2)
    array([0.75, 1.  ])
    """
    values, codes = np.asarray(scores, dtype=np.float64), np.asarray(y)
    rows = values.reshape(-1, values.shape[-1])
    known = ~np.isnan(rows)
    total = np.bincount(codes, np.where(known, rows, 0.0).sum(axis=0), minlength=n_classes)
    count = np.bincount(codes, known.sum(axis=0), minlength=n_classes)
    rates = np.full(n_classes, np.nan)
    np.divide(total, count, out=rates, where=count > 0)
    return rates


def correct_rates(outer: ArrayLike, inner: ArrayLike, folds: int, n_inner: int) -> FloatArray:
    """Return the rates that models trained on all rows are expected to have.

    Parameters
    ----------
    outer : float array
        Rates of models trained on all folds but one.
    inner : float array
        Rates, on the same rows, of models trained on all inner folds but one.
    folds, n_inner : int
        Numbers of outer and inner folds.

    Returns
    -------
    float array
        From 0 to 1.

    Examples
    --------
    >>> from featly.measures.nested_rates import correct_rates
    >>> correct_rates([0.80, 0.99], [0.75, 0.90], folds=10, n_inner=5).round(4)
    array([0.82, 1.  ])
    """
    p, q = np.asarray(outer, dtype=np.float64), np.asarray(inner, dtype=np.float64)
    weight = extrapolation_weight(folds, n_inner)
    return np.clip(p + weight * (p - np.where(np.isnan(q), p, q)), 0.0, 1.0)


def inflation(repeats: int) -> float:
    """Return the factor on the variance of a rate of independent rows.

    Parameters
    ----------
    repeats : int
        How often the folds were drawn.

    Returns
    -------
    float

    Examples
    --------
    >>> from featly.measures.nested_rates import inflation
    >>> inflation(1), inflation(4), inflation(5)
    (2.0, 1.75, 1.64)
    """
    if repeats < 1:
        raise ParameterError(f"repeats={repeats}: give a whole number of at least 1")
    return next(factor for least, factor in reversed(INFLATION) if repeats >= least)


def rate_limits(
    rates: ArrayLike, counts: ArrayLike, *, repeats: int = 5, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of each rate alone, not rounded.

    Parameters
    ----------
    rates : float array of shape (n_classes,)
        From 0 to 1.
    counts : int array of shape (n_classes,)
        Rows of each class; where rows come in groups, groups with a row of it.
    repeats : int, default=5
        How often the folds were drawn.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    lower, upper : float arrays of shape (n_classes,)

    Examples
    --------
    >>> from featly.measures.nested_rates import rate_limits
    >>> lower, upper = rate_limits([0.8, 1.0], [50, 30])
    >>> lower.round(4), upper.round(4)
    (array([0.6161, 0.8174]), array([0.9221, 1.    ]))
    """
    FRACTION.check("level", level)
    p, n = np.asarray(rates, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if p.shape != n.shape or p.ndim != 1:
        raise DataError(f"rates have shape {p.shape}, counts {n.shape}: give one of each a class")
    if (n < FEWEST_ROWS).any():
        raise DataError(
            f"class {int(np.argmin(n))} has {n.min():g} rows: an interval needs {FEWEST_ROWS}"
        )
    total = n / inflation(repeats)
    hits, tail = p * total, (1 - level) / 2
    lower, upper = np.zeros(len(p)), np.ones(len(p))
    low, high = hits > 0, hits < total
    lower[low] = betaincinv(hits[low], total[low] - hits[low] + 1, tail)
    upper[high] = betaincinv(hits[high] + 1, total[high] - hits[high], 1 - tail)
    return lower, upper


def rate_interval(
    rates: ArrayLike,
    counts: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    repeats: int = 5,
    level: float = 0.95,
    rounded: bool = True,
) -> RateInterval:
    r"""Return the weighted mean of the rates of the classes, with its interval.

    .. math::

        r = \sum_c a_c p'_c, \qquad
        r - \sqrt{\sum_c a_c^2 (p'_c - l_c)^2} \quad \text{to} \quad
        r + \sqrt{\sum_c a_c^2 (u_c - p'_c)^2}

    Parameters
    ----------
    rates : float array of shape (n_classes,)
        Those of :func:`correct_rates`.
    counts : int array of shape (n_classes,)
        Rows of each class; where rows come in groups, groups with a row of it.
    weights : float array of shape (n_classes,), default=None
        The share of each class; None is the same for all, as in the balanced rate. The shares of
        the rows give the accuracy; 1 for one class and 0 for the others gives that class's rate.
    repeats : int, default=5
        How often the folds were drawn.
    level : float, default=0.95
        Of the interval.
    rounded : bool, default=True
        Whether limits are rounded outward to two decimals. That is part of the procedure: it
        covers rates near 0 and 1.

    Returns
    -------
    RateInterval

    Examples
    --------
    >>> from featly.measures.nested_rates import rate_interval
    >>> rate_interval([0.8, 0.6], [50, 30])
    RateInterval(value=0.7, lower=0.54, upper=0.83)
    """
    p = np.asarray(rates, dtype=np.float64)
    share = np.full(len(p), 1 / len(p)) if weights is None else np.asarray(weights, np.float64)
    used = share != 0
    p, share = p[used], share[used]
    lower, upper = rate_limits(p, np.asarray(counts)[used], repeats=repeats, level=level)
    # sums without rounding, so that the order of the classes does not show
    value = math.fsum(share * p)
    low = max(0.0, value - math.sqrt(math.fsum((share * (p - lower)) ** 2)))
    high = min(1.0, value + math.sqrt(math.fsum((share * (upper - p)) ** 2)))
    return RateInterval(value, *(round_outward(low, high) if rounded else (low, high)))


def round_outward(lower: float, upper: float, decimals: int = DECIMALS) -> tuple[float, float]:
    """Return the limits of an interval rounded away from its middle, within 0 and 1.

    Examples
    --------
    >>> from featly.measures.nested_rates import round_outward
    >>> round_outward(0.5446, 0.8246)
    (0.54, 0.83)
    """
    unit = 10**decimals
    low = math.floor(lower * unit + ROUNDING) / unit
    high = math.ceil(upper * unit - ROUNDING) / unit
    return max(0.0, low), min(1.0, high)


def count_units(y: IntArray, n_classes: int, groups: IntArray | None = None) -> IntArray:
    """Return the rows of each class, or the groups with a row of it.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.nested_rates import count_units
    >>> y, groups = np.array([0, 0, 0, 1, 1]), np.array([7, 7, 8, 8, 9])
    >>> count_units(y, 2), count_units(y, 2, groups)
    (array([3, 2]), array([2, 2]))
    """
    if groups is not None:
        y = np.unique(np.column_stack([groups, y]), axis=0)[:, 1]
    counts: IntArray = np.bincount(y, minlength=n_classes)
    return counts
