r"""Area under the ROC curve of decision values that were pooled over folds, and its interval.

.. math::

    A = \frac{1}{n_1 n_0} \sum_{i \in 1} \sum_{j \in 0}
    \bigl([v_i > v_j] + \tfrac12 [v_i = v_j]\bigr)

The placement of a row is its share of that sum: the mean over the rows of either class is A, and
the variance within the classes gives that of A.

DeLong, E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988), Comparing the areas under two or more
correlated receiver operating characteristic curves, *Biometrics* 44, 837-845. Hanley, J. A. and
McNeil, B. J. (1982), The meaning and use of the area under a receiver operating characteristic
curve, *Radiology* 143, 29-36.

The interval's factor was measured by simulation; it covers 89% to 100% where 95% is meant.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import expit, logit

from featly.basics.errors import DataError
from featly.basics.typing import AnyArray, FloatArray
from featly.measures.corrected_t import FRACTION
from featly.measures.nested_rates import (
    FEWEST_ROWS,
    RateInterval,
    extrapolation_weight,
    inflation,
    round_outward,
)
from featly.measures.scores import roc_auc

__all__ = ["area_interval", "mean_area", "placements"]

AREA_FACTOR = 2.4  # on the variance, at five repeats; more at fewer, as for rates


def mean_area(values: ArrayLike, y: ArrayLike, *, undefined: float = math.nan) -> float:
    """Return the mean area under the ROC curve of several lists of decision values.

    Parameters
    ----------
    values : float array of shape (..., n_rows)
        Larger where class 1 is likelier. Rows that are NaN in a list are left out of it.
    y : int array of shape (n_rows,)
        Codes of the classes, 0 and 1.
    undefined : float, default=nan
        The area of a list without a value for both classes; NaN leaves it out.

    Returns
    -------
    float
        NaN where no list has an area.

    Examples
    --------
    >>> from featly.measures.nested_auc import mean_area
    >>> mean_area([[0.1, 0.4, 0.3, 0.8], [0.0, 0.1, 0.8, 0.9]], [0, 0, 1, 1])
    0.875
    """
    rows, codes = np.asarray(values, dtype=np.float64), np.asarray(y)
    if not np.isnan(rows).any():
        areas = np.ravel(roc_auc(codes, rows))
    else:
        lists = rows.reshape(-1, rows.shape[-1])
        known = [(v[~np.isnan(v)], codes[~np.isnan(v)]) for v in lists]
        areas = np.array([roc_auc(c, v) for v, c in known])
    areas = np.where(np.isnan(areas), undefined, areas)
    usable = areas[~np.isnan(areas)]
    return math.fsum(usable) / len(usable) if len(usable) else math.nan


def placements(values: ArrayLike, y: ArrayLike) -> FloatArray:
    """Return the share of rows of the other class that each row is on the right side of.

    Parameters
    ----------
    values : float array of shape (..., n_rows)
        Larger where class 1 is likelier.
    y : int or bool array of shape (n_rows,)
        1 or True for the rows of class 1.

    Returns
    -------
    float array of shape (..., n_rows)
        Equal values count half. The mean over either class is the area.

    Examples
    --------
    >>> from featly.measures.nested_auc import placements
    >>> placements([0.1, 0.4, 0.3, 0.8], [0, 0, 1, 1])
    array([1. , 0.5, 0.5, 1. ])
    """
    rows, positive = np.asarray(values, dtype=np.float64), np.asarray(y) == 1
    shares = np.empty_like(rows)
    overall = stats.rankdata(rows, axis=-1)
    for mask, sign in ((positive, 1.0), (~positive, -1.0)):
        n_others = int((~mask).sum())
        if not n_others:
            raise DataError("all rows are of one class: there is no area under a ROC curve")
        # the rank among all less the rank among its own class counts the others below a row
        below = overall[..., mask] - stats.rankdata(rows[..., mask], axis=-1)
        shares[..., mask] = below / n_others if sign > 0 else 1 - below / n_others
    return shares


def area_interval(
    outer: ArrayLike,
    inner: ArrayLike,
    y: ArrayLike,
    *,
    folds: int,
    n_inner: int,
    counts: tuple[int, int] | None = None,
    level: float = 0.95,
    rounded: bool = True,
) -> RateInterval:
    r"""Return the area of a nested cross-validation, brought to all rows, with its interval.

    .. math::

        A' = \operatorname{clip}(A + w (A - B), 0, 1), \qquad
        \tilde A = \frac{A' m + 1}{m + 2}, \qquad
        \operatorname{logit} \tilde A \pm z
        \frac{\sqrt{2.4\, V}}{\tilde A (1 - \tilde A)}

    with A the mean area over repeats, B that of the models of the inner folds, m the rows of the
    smaller class, and V the larger of the mean variance of DeLong et al. and that of Hanley and
    McNeil at :math:`\tilde A`. The upper limit is 1 if :math:`A' = 1`.

    Parameters
    ----------
    outer : float array of shape (n_repeats, n_rows)
        Decision values of each row by the model that was trained on the other folds.
    inner : float array of shape (..., n_rows)
        The same by models of the inner folds. NaN rows are left out, here and above.
    y : int array of shape (n_rows,)
        Codes of the classes, 0 and 1.
    folds, n_inner : int
        Numbers of outer and inner folds.
    counts : (int, int), default=None
        Rows of the classes; where rows come in groups, groups with a row of it. None: the rows.
    level : float, default=0.95
        Of the interval.
    rounded : bool, default=True
        Whether limits are rounded outward to two decimals.

    Returns
    -------
    RateInterval

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.nested_auc import area_interval
    >>> y = np.repeat([0, 1], 20)
    >>> values = np.random.default_rng(0).normal(size=(5, 40)) + 2 * y
    >>> area_interval(values, values, y, folds=10, n_inner=5)
    RateInterval(value=0.923, lower=0.59, upper=0.98)
    """
    FRACTION.check("level", level)
    codes = np.asarray(y)
    area, before = mean_area(outer, codes), mean_area(inner, codes)
    if math.isnan(area):
        raise DataError("no repeat has values of both classes: there is no area")
    if not math.isnan(before):
        weight = extrapolation_weight(folds, n_inner)
        area = min(1.0, max(0.0, area + weight * (area - before)))
    lists = _lists_of_both_classes(outer, codes)
    sizes = counts if counts is not None else (int((codes == 0).sum()), int((codes == 1).sum()))
    smallest = min(sizes)
    if smallest < FEWEST_ROWS:
        raise DataError(f"a class has {smallest} rows: an interval needs {FEWEST_ROWS}")
    shrunk = (area * smallest + 1) / (smallest + 2)
    delong = math.fsum(_delong_variance(v, c, sizes) for v, c in lists) / len(lists)
    variance = max(delong, _hanley_mcneil_variance(shrunk, *sizes))
    factor = AREA_FACTOR * inflation(len(lists)) / inflation(5)
    z = float(stats.norm.ppf((1 + level) / 2))
    half = z * math.sqrt(factor * variance) / (shrunk * (1 - shrunk))
    lower = float(expit(logit(shrunk) - half))
    upper = 1.0 if area == 1 else float(expit(logit(shrunk) + half))
    # the limits are around the shrunk area, which in a narrow interval may leave the area outside
    lower, upper = min(lower, area), max(upper, area)
    return RateInterval(area, *(round_outward(lower, upper) if rounded else (lower, upper)))


def _lists_of_both_classes(values: ArrayLike, y: AnyArray) -> list[tuple[FloatArray, AnyArray]]:
    """Return the values and classes of the rows of each list that has both classes."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    lists = [(v[~np.isnan(v)], y[~np.isnan(v)]) for v in rows]
    return [(v, c) for v, c in lists if len(np.unique(c)) == 2]


def _delong_variance(values: FloatArray, y: FloatArray, sizes: tuple[int, int]) -> float:
    shares = placements(values, y)
    return sum(float(shares[y == code].var(ddof=1)) / sizes[code] for code in (0, 1))


def _hanley_mcneil_variance(area: float, n_negative: int, n_positive: int) -> float:
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area)
    spread += (n_positive - 1) * (q1 - area**2) + (n_negative - 1) * (q2 - area**2)
    return spread / (n_negative * n_positive)
