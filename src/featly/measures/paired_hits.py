r"""Comparison of two pipelines by the rows that each predicts right, on the same folds.

.. math::

    D = \frac1C \sum_c \bar d_c, \qquad
    S^2 = \frac1R \sum_r \frac{1}{C^2} \sum_c \frac{\operatorname{var}_c(d_r)}{n_c}, \qquad
    t = \frac{D}{\sqrt{2 S^2}}

with :math:`d_{ri}` the hit of one less that of the other on row i in repeat r. The factor 2 is for
labels that also train the models which judge other rows; without it, equal pipelines differ at 5%
in up to 10% of tables. Degrees of freedom are those of

Welch, B. L. (1947), The generalization of "Student's" problem when several different population
variances are involved, *Biometrika* 34, 28-35.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.measures.corrected_t import FRACTION
from featly.measures.nested_rates import class_rates

__all__ = ["HitComparison", "compare_hits"]

FACTOR = 2.0  # on the variance of independent rows


@dataclass(frozen=True)
class HitComparison:
    """Difference of two pipelines, with its interval and its p-value.

    Attributes
    ----------
    difference : float
        Rate of the first less that of the second.
    lower, upper : float
        The interval, not rounded.
    p_value : float or None
        Two-sided. None if both predict every row alike, so that there is nothing to test.
    degrees : float
        Degrees of freedom; NaN where nothing varies.
    n_rows : int
        Rows with a prediction of both.

    Examples
    --------
    >>> from featly.measures.paired_hits import compare_hits
    >>> compare_hits([[1, 1, 0, 1]], [[1, 1, 0, 1]], [0, 0, 1, 1]).is_same
    True
    """

    difference: float
    lower: float
    upper: float
    p_value: float | None
    degrees: float
    n_rows: int

    @property
    def is_same(self) -> bool:
        """Return whether both predict every row alike, right or wrong."""
        return self.p_value is None

    def __str__(self) -> str:
        if self.is_same:
            return "the same predictions"
        interval = f"{self.difference:+.3f} ({self.lower:+.3f} to {self.upper:+.3f})"
        return f"{interval}, p = {self.p_value:.3g}"


def compare_hits(
    first: ArrayLike,
    second: ArrayLike,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> HitComparison:
    """Test whether two pipelines predict rows right at different rates.

    Parameters
    ----------
    first, second : float arrays of shape (n_repeats, n_rows)
        1 where a row is predicted right by a model that did not see it, 0 where it is not, NaN
        where there is no prediction. Folds are the same for both.
    y : int array of shape (n_rows,)
        Codes of the classes, from 0.
    weights : float array of shape (n_classes,), default=None
        The share of each class; None is the same for all, as in the balanced rate.
    groups : int array of shape (n_rows,), default=None
        Groups of rows that belong together.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    HitComparison

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.paired_hits import compare_hits
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> good, poor = rng.random((5, 100)) < 0.9, rng.random((5, 100)) < 0.6
    >>> print(compare_hits(good, poor, y))
    +0.288 (+0.122 to +0.454), p = 0.000836
    """
    FRACTION.check("level", level)
    a, b = (np.atleast_2d(np.asarray(hits, dtype=np.float64)) for hits in (first, second))
    if a.shape != b.shape:
        raise DataError(f"hits have shapes {a.shape} and {b.shape}: compare the same folds")
    codes = np.asarray(y)
    n_classes = int(codes.max()) + 1
    share = np.full(n_classes, 1 / n_classes) if weights is None else np.asarray(weights, float)
    differences = a - b
    units = np.arange(len(codes)) if groups is None else np.asarray(groups)
    rates = class_rates(differences, codes, n_classes)
    rates = np.where(np.isnan(rates), 0.0, rates)
    value = math.fsum(share * rates)
    parts, degrees = np.zeros(n_classes), np.zeros(n_classes)
    for code in np.flatnonzero(share):
        rows = codes == code
        parts[code], degrees[code] = _variance(differences[:, rows], units[rows])
    n_rows = int((~np.isnan(differences)).any(axis=0).sum())
    if not parts.any() and not rates.any():
        return HitComparison(0.0, 0.0, 0.0, None, math.nan, n_rows)
    if not parts.any():  # every row of a class differs: its variance is that of one row that might
        count = degrees + 1
        odds = (np.abs(rates) * count + 1) / (count + 2)
        parts = np.where(rates != 0, odds * (1 - odds) / count, 0.0)
    parts = parts * share**2
    variance = math.fsum(parts)
    freedom = variance**2 / math.fsum(parts**2 / np.maximum(degrees, 1))
    error = math.sqrt(FACTOR * variance)
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    return HitComparison(
        difference=value,
        lower=max(-1.0, value - half),
        upper=min(1.0, value + half),
        p_value=2 * float(stats.t.sf(abs(value) / error, freedom)),
        degrees=freedom,
        n_rows=n_rows,
    )


def _variance(differences: FloatArray, units: IntArray) -> tuple[float, float]:
    """Return the mean over repeats of the variance of a mean over units, and its freedom.

    A unit of several rows counts by the sum of its deviations, so that rows of one group may
    depend on each other in any way.
    """
    variances, freedom = [], 0.0
    for row in differences:
        known = ~np.isnan(row)
        names, member = np.unique(units[known], return_inverse=True)
        if len(names) < 2:
            continue
        values = row[known]
        sums = np.bincount(member, values - values.mean())
        variances.append(len(names) / (len(names) - 1) * float(sums @ sums) / len(values) ** 2)
        freedom = max(freedom, len(names) - 1.0)
    if not variances:
        return 0.0, freedom
    mean = math.fsum(variances) / len(variances)
    return (mean if mean > 1e-30 else 0.0), freedom  # equal differences leave rounding errors
