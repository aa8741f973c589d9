r"""A mean over random splits of one table: its interval, and whether it differs from zero.

.. math::

    t = \frac{\bar d}{\sqrt{(1/J + n_{test} / n_{train})\, s^2}}

Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, *Machine Learning* 52,
239-281.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.errors import DataError
from featly.basics.params import Number
from featly.basics.typing import FloatArray

__all__ = ["TTest", "corrected_interval", "corrected_resampled_t", "plain_interval"]

FRACTION = Number(above=0, below=1)


@dataclass(frozen=True, eq=False, repr=False)
class TTest:
    """Result of :func:`corrected_resampled_t`.

    Attributes
    ----------
    statistic, p_value : float
        Student's t and its two-sided p-value.
    mean, lower, upper : float
        The mean and its interval.
    degrees : int
        Degrees of freedom, one less than the number of differences used.
    level : float
    n_dropped : int
        Differences left out because they were NaN.
    """

    statistic: float
    p_value: float
    mean: float
    lower: float
    upper: float
    degrees: int
    level: float
    n_dropped: int

    def __repr__(self) -> str:
        return (
            f"TTest(statistic={self.statistic:.4g}, p_value={self.p_value:.3g}, "
            f"mean={self.mean:.4g} [{self.lower:.4g}, {self.upper:.4g}])"
        )

    def summary(self) -> str:
        """Return the test as one line of text."""
        return (
            f"mean {self.mean:.4g}, {100 * self.level:g}% interval {self.lower:.4g} to "
            f"{self.upper:.4g}; t = {self.statistic:.4g} on {self.degrees} degrees of freedom, "
            f"p = {self.p_value:.3g}"
        )


def corrected_resampled_t(
    differences: npt.ArrayLike, n_train: float, n_test: float, level: float = 0.95
) -> TTest:
    r"""Test the mean difference of two methods over random splits of one table.

    .. math::

        t = \frac{\bar d}{\sqrt{(1/J + n_{test} / n_{train})\, s^2}}

    The training parts of the splits overlap, so the J differences are not independent and the
    plain t-test finds differences where there are none. The second term corrects for that.

    Parameters
    ----------
    differences : array of shape (n_splits,)
        Score of one method less that of the other on the same split. NaN are left out.
    n_train, n_test : float
        Rows in the training and the test part; means where splits differ.
    level : float, default=0.95
        Of the interval.

    Returns
    -------
    TTest
        On J - 1 degrees of freedom. Equal differences: p is 1 if they are 0, else 0.

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003), Inference for the generalization error, *Machine Learning*
    52, 239-281.

    Examples
    --------
    >>> from featly.measures.statistics import corrected_resampled_t
    >>> corrected_resampled_t([0.02, 0.03, -0.01, 0.02, 0.04], n_train=90, n_test=10)
    TTest(statistic=1.917, p_value=0.128, mean=0.02 [-0.008972, 0.04897])
    """
    numbers = as_numbers("differences", differences)
    values = _read_sample(numbers)
    error = spread_of(values) * math.sqrt(_overlap_factor(len(values), n_train, n_test))
    mean, degrees = mean_of(values), len(values) - 1
    certain = math.copysign(math.inf, mean) if mean else 0.0  # where nothing varies
    statistic = mean / error if error else certain
    half = _half_width(error, degrees, level)
    return TTest(
        statistic=statistic,
        p_value=2 * float(stats.t.sf(abs(statistic), degrees)),
        mean=mean,
        lower=mean - half,
        upper=mean + half,
        degrees=degrees,
        level=level,
        n_dropped=len(numbers) - len(values),
    )


def corrected_interval(
    values: npt.ArrayLike, n_train: float, n_test: float, level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval of a mean over random splits, corrected for their overlap.

    Parameters and reference as in :func:`corrected_resampled_t`.

    Examples
    --------
    >>> from featly.measures.statistics import corrected_interval
    >>> lower, upper = corrected_interval([0.8, 0.9, 0.85, 0.8], n_train=90, n_test=10)
    >>> round(lower, 4), round(upper, 4)
    (0.746, 0.929)
    """
    sample = _read_sample(values)
    factor = _overlap_factor(len(sample), n_train, n_test)
    half = _half_width(spread_of(sample) * math.sqrt(factor), len(sample) - 1, level)
    return mean_of(sample) - half, mean_of(sample) + half


def plain_interval(values: npt.ArrayLike, level: float = 0.95) -> tuple[float, float]:
    """Compute Student's interval of a mean, as if the values were independent. NaN are left out.

    Examples
    --------
    >>> from featly.measures.statistics import plain_interval
    >>> lower, upper = plain_interval([0.8, 0.9, 0.85, 0.8])
    >>> round(lower, 4), round(upper, 4)
    (0.7613, 0.9137)
    """
    sample = _read_sample(values)
    half = _half_width(spread_of(sample) / math.sqrt(len(sample)), len(sample) - 1, level)
    return mean_of(sample) - half, mean_of(sample) + half


def as_numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return an array of float64, or raise an error that names what is wrong."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} are not all numbers, or of unequal lengths: {error}") from None


def mean_of(values: FloatArray) -> float:
    """Return the mean by an exact sum, so that it does not depend on the order of the values."""
    first = float(values[0])
    return first if (values == first).all() else math.fsum(values) / len(values)


def _read_sample(values: npt.ArrayLike) -> FloatArray:
    numbers = as_numbers("values", values)
    if numbers.ndim != 1:
        raise DataError(f"values have shape {numbers.shape}: give a list of numbers")
    sample = numbers[~np.isnan(numbers)]
    if len(sample) < 2 or np.isinf(sample).any():
        raise DataError("fewer than two finite values, or an infinite one: there is no variance")
    return sample


def spread_of(sample: FloatArray) -> float:
    """Return the standard deviation; exactly 0 where all values are equal."""
    return 0.0 if (sample == sample[0]).all() else float(np.std(sample, ddof=1))


def _overlap_factor(n_splits: int, n_train: float, n_test: float) -> float:
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        Number(above=0).check(name, value)
    return 1 / n_splits + n_test / n_train


def _half_width(error: float, degrees: int, level: float) -> float:
    FRACTION.check("level", level)
    return float(stats.t.ppf((1 + level) / 2, degrees)) * error
