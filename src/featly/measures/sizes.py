r"""Choice of the number of features, from a curve of performance or the scores of a ranking.

.. math::

    k^* = \min \{k : \bar v_k \ge \bar v_b - t_{1 - \alpha / 2}\, s_b / \sqrt n\}, \qquad
    b = \arg\max_k \bar v_k

Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature selection,
*Neurocomputing* 169, 187-195.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.typing import FloatArray, IntArray
from featly.measures.corrected_t import (
    FRACTION,
    as_numbers,
    corrected_interval,
    mean_of,
    plain_interval,
    spread_of,
)

__all__ = ["SIZE_RULES", "Curve", "choose_size", "expected_false"]


SIZE_RULES = {
    "best": "the size of best mean performance",
    "within-interval": "the smallest size whose mean lies in the confidence interval of the best",
    "within-corrected-interval": "the same, the interval corrected for overlapping training parts",
    "one-standard-error": "the smallest size whose mean is within one standard error of the best",
    "knee": "the size highest above the line from the first point of the curve to its best",
    "largest-gap": "cut the ranking at the largest gap between consecutive scores",
    "two-variances": "discard scores more than two variances below the mean",
    "fdr": "as many columns as have a q-value of at most 0.1, at least one",
    "rule-of-thumb": "75%, 40%, 10% or 3% of the features, by how many there are",
}
CURVE_RULES = tuple(SIZE_RULES)[:5]
SCORE_RULES = ("largest-gap", "two-variances", "fdr")  # they need the scores or q-values of a fit

MOST_Q = 0.1  # false discovery rate of the rule "fdr"
WIDE_SPREAD = 8  # with a larger ratio of sizes, the knee uses their logarithm
TOLERANCE = 1e-10  # a smaller difference, relative to the range, is rounding
# (largest number of features, percent); at 10, 75 and 100 the larger percentage of two holds
RULE_OF_THUMB = ((10, 75), (75, 40), (100, 10), (math.inf, 3))


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Performance by number of features, over splits.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of features, ascending, from 1.
    values : array of shape (n_splits, n_sizes)
        Performance; NaN where a fit failed, which leaves that split out at that size.
    greater_is_better : bool, default=True
        False for errors.
    n_train, n_test : float, default=None
        Rows in the training and the test part of a split, for corrected intervals.

    Attributes
    ----------
    mean, sd, standard_error : float arrays of shape (n_sizes,)
        NaN where too few values are left, one for the mean and two for the others.
    n : int array of shape (n_sizes,)
        Splits with a value.

    Examples
    --------
    >>> from featly.measures.sizes import Curve
    >>> curve = Curve([1, 2, 4], [[0.6, 0.8, 0.9], [0.7, 0.9, 0.8]], n_train=90, n_test=10)
    >>> curve
    Curve(3 sizes from 1 to 4, 2 splits, best mean 0.85 at 2)
    >>> curve.mean.round(2).tolist()
    [0.65, 0.85, 0.85]
    """

    sizes: IntArray
    values: FloatArray
    greater_is_better: bool = True
    n_train: float | None = None
    n_test: float | None = None

    def __post_init__(self) -> None:
        sizes, values = np.array(self.sizes), as_numbers("values", self.values).copy()
        is_whole = sizes.ndim == 1 and len(sizes) > 0 and np.issubdtype(sizes.dtype, np.integer)
        if not is_whole or sizes[0] < 1 or (np.diff(sizes) <= 0).any():
            raise DataError(f"sizes={sizes.tolist()}: give whole numbers from 1, ascending")
        if values.ndim != 2 or values.shape[1] != len(sizes) or np.isinf(values).any():
            raise DataError(
                f"values have shape {values.shape}: give one row a split, one column for each of "
                f"{len(sizes)} sizes, and NaN, not infinity, where a fit failed"
            )
        if np.isnan(values).all():
            raise DataError("values are all NaN: no fit gave a performance to choose by")
        for name, array in (("sizes", sizes.astype(np.int64)), ("values", values)):
            array.flags.writeable = False  # so that the checks stay true
            object.__setattr__(self, name, array)

    @property
    def n(self) -> IntArray:
        """Splits with a value, at every size."""
        counts: IntArray = (~np.isnan(self.values)).sum(axis=0)
        return counts

    @property
    def mean(self) -> FloatArray:
        """Mean over the splits, whatever their order."""
        return np.array([mean_of(x) if len(x) else np.nan for x in self._columns()])

    @property
    def sd(self) -> FloatArray:
        """Standard deviation over the splits."""
        return np.array([spread_of(x) if len(x) > 1 else np.nan for x in self._columns()])

    @property
    def standard_error(self) -> FloatArray:
        """Standard deviation of the mean, as if splits were independent."""
        return self.sd / np.sqrt(np.maximum(self.n, 1))

    def interval(
        self, level: float = 0.95, corrected: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper end of an interval of the mean, at every size.

        Parameters
        ----------
        level : float, default=0.95
        corrected : bool, default=False
            Student's interval assumes independent splits, but splits share training rows. True
            widens it as Nadeau and Bengio do; the curve then needs `n_train`
            and `n_test`.
        """
        FRACTION.check("level", level)
        if corrected and (self.n_train is None or self.n_test is None):
            raise ParameterError(
                "corrected interval: give the curve n_train and n_test, the rows in either part of "
                "a split"
            )

        def ends(x: FloatArray) -> tuple[float, float]:
            if len(x) < 2:
                return np.nan, np.nan
            if self.n_train is None or self.n_test is None or not corrected:
                return plain_interval(x, level)
            return corrected_interval(x, self.n_train, self.n_test, level)

        lower, upper = np.array([ends(x) for x in self._columns()]).T
        return lower, upper

    def _columns(self) -> Iterator[FloatArray]:
        return (column[~np.isnan(column)] for column in self.values.T)

    def __repr__(self) -> str:
        best = choose_size(self, "best")
        mean = self.mean[np.searchsorted(self.sizes, best)]
        return (
            f"Curve({len(self.sizes)} sizes from {self.sizes[0]} to {self.sizes[-1]}, "
            f"{len(self.values)} splits, best mean {mean:.4g} at {best})"
        )

    def summary(self) -> str:
        """Return one line a size: mean, standard error and splits, as text."""
        rows = zip(self.sizes, self.mean, self.standard_error, self.n, strict=True)
        return "\n".join(
            [f"{'size':>6}  {'mean':>8}  {'error':>8}  splits"]
            + [f"{size:6d}  {mean:8.4f}  {error:8.4f}  {n:6d}" for size, mean, error, n in rows]
        )


def choose_size(
    curve: Curve | Any = None,
    rule: str | int = "within-interval",
    *,
    n_features: int | None = None,
    scores: npt.ArrayLike | None = None,
    q_values: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> int:
    r"""Choose a number of features.

    Rules on a curve, with b the size of best mean (the smallest of several):

    "best"
        b.
    "within-interval"
        The smallest size whose mean lies in Student's interval of the mean at b (Paul et al.). On
        many splits of one table this interval is too narrow.
    "within-corrected-interval"
        The same with Nadeau and Bengio's interval, which is wider; sizes are at most as large.
    "one-standard-error"
        The smallest size whose mean is at most one standard error of b worse than b.
    "knee"
        Of the sizes from the first to b, the one with its mean highest above the straight line
        between these two points; b if none lies above. Sizes are :math:`\log_2 k` if b is more
        than 8 times the first.

    Rules on scores, larger being better. A score of infinity is always selected, and one
    of minus infinity never, unless all are:

    "largest-gap"
        The size before the largest difference of consecutive scores, the first of several; all
        if all scores are equal (Mejía-Lavalle et al.).
    "two-variances"
        The number of scores not more than two variances below the mean (Belanche and González).
        A variance is not in the units of a mean, so scores are first moved and scaled to 0..1. A
        score far above the mean is not discarded. It is a mild rule: of a few large scores
        among many near zero, it keeps all.

    A rule on q-values, which :class:`featly.FTest`, :class:`featly.UnivariateTest` and
    :class:`featly.ChiSquared` have:

    "fdr"
        The number of q-values of at most 0.1, but at least one column: of those selected, at most
        a tenth are expected to be false (Benjamini and Hochberg). If no q-value is so small, the
        one column is selected without that promise.

    Rules without a curve or scores:

    "rule-of-thumb"
        75% of fewer than 10 features, 40% of up to 75, 10% of up to 100, 3% of more; at 10, 75,
        100 the larger size; halves go up (Bolón-Canedo et al., section 3.2).
    a whole number
        That size.

    The scores of an elimination are the rounds that columns survived, so their differences mean
    little. Use a curve there.

    Parameters
    ----------
    curve : Curve, fitted ranker or None, default=None
        A ranker gives `scores`, `q_values` if it has them, and `n_features`.
    rule : str or int, default="within-interval"
        One of ``SIZE_RULES``, or a size.
    n_features : int, default=None
        Number of columns. By default the number of scores.
    scores : array of shape (n_features,), default=None
        Score of every column.
    q_values : array of shape (n_features,), default=None
        q-value of every column, for "fdr".
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    int
        At least 1; one of ``curve.sizes`` for the rules on a curve.

    References
    ----------
    Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature
    selection, *Neurocomputing* 169, 187-195. Mejía-Lavalle, M., Sucar, E. and Arroyo, G. (2006),
    Feature selection with a perceptron neural net, *International Workshop on Feature Selection
    for Data Mining*, 131-135. Belanche, L. A. and González, F. F. (2011), Review and evaluation of
    feature selection algorithms in synthetic problems, arXiv:1101.2320. Benjamini, Y. and Hochberg,
    Y. (1995), Controlling the false discovery rate, *Journal of the Royal Statistical Society B*
    57, 289-300. Bolón-Canedo, V.,
    Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for High-Dimensional
    Data*, Springer.

    Examples
    --------
    >>> from featly.measures.sizes import Curve, choose_size
    >>> curve = Curve([1, 2, 4, 8], [[0.6, 0.80, 0.84, 0.83], [0.7, 0.86, 0.86, 0.87]])
    >>> choose_size(curve), choose_size(curve, "best"), choose_size(curve, "knee")
    (2, 4, 2)
    >>> choose_size(rule="largest-gap", scores=[0.1, 0.9, 0.8, 0.2])
    2
    >>> choose_size(rule="rule-of-thumb", n_features=500)
    15
    >>> choose_size(rule="fdr", q_values=[0.02, 0.8, 0.09, 0.3])
    2
    """
    if q_values is None:
        q_values = getattr(curve, "q_value_", None)
    performance, column_scores, total = _resolve_inputs(curve, scores, n_features)
    FRACTION.check("level", level)
    if not isinstance(rule, str):
        return _check_size(rule, total)
    if rule not in SIZE_RULES:
        raise ParameterError(f"rule={rule!r}: give a size or one of {', '.join(SIZE_RULES)}")
    if rule == "rule-of-thumb":
        if total is None:
            raise ParameterError(f"rule={rule!r}: give n_features")
        percent = next(percent for most, percent in RULE_OF_THUMB if total <= most)
        return (total * percent + 50) // 100
    if rule in CURVE_RULES:
        if performance is None:
            raise ParameterError(f"rule={rule!r}: give a Curve of performance by size")
        return _choose_on_curve(performance, rule, level)
    if rule == "fdr":
        return max(1, int((_check_q_values(q_values, total) <= MOST_Q).sum()))
    if column_scores is None:
        raise ParameterError(f"rule={rule!r}: give scores, or a fitted ranker")
    return _largest_gap(column_scores) if rule == "largest-gap" else _two_variances(column_scores)


def _resolve_inputs(
    curve: Any, scores: npt.ArrayLike | None, n_features: int | None
) -> tuple[Curve | None, FloatArray | None, int | None]:
    if n_features is not None:
        n_features = _check_size(n_features, None, "n_features")
    if curve is not None and not isinstance(curve, Curve):
        if not (hasattr(curve, "scores_") and hasattr(curve, "order_")):
            raise ParameterError(
                f"curve is a {type(curve).__name__}: give a Curve, a fitted ranker or None"
            )
        if scores is not None:
            raise ParameterError("scores: leave them out, the ranker has scores of its own")
        curve, scores = None, curve.scores_
    if scores is None:
        if curve is not None and n_features is not None and curve.sizes[-1] > n_features:
            raise ParameterError(
                f"n_features={n_features}: the curve has a size of {curve.sizes[-1]}; give the "
                "number of columns"
            )
        return curve, None, n_features
    values = as_numbers("scores", scores)
    if values.ndim != 1 or not len(values) or np.isnan(values).any():
        raise DataError("scores: give one number a column, none of them NaN")
    if n_features is not None and n_features != len(values):
        raise ParameterError(f"n_features={n_features}: there are {len(values)} scores")
    return curve, values, len(values)


def _check_q_values(q_values: npt.ArrayLike | None, total: int | None) -> FloatArray:
    if q_values is None:
        raise ParameterError(
            "rule='fdr': give q_values, or a fitted method that has them, such as UnivariateTest"
        )
    values = as_numbers("q_values", q_values)
    if values.ndim != 1 or not len(values) or not ((values >= 0) & (values <= 1)).all():
        raise DataError("q_values: give one number from 0 to 1 a column, none of them NaN")
    if total is not None and total != len(values):
        raise ParameterError(f"q_values: there are {len(values)} for {total} columns")
    return values


def expected_false(q_values: npt.ArrayLike, selected: npt.ArrayLike) -> float:
    """Return how many of the selected columns are expected to be false, at most.

    Of all columns whose q-value is at most q, a share of q is expected to be false. So it is the
    largest q-value of the selected columns, times the number of columns whose q-value is not
    larger: of the first columns by p-value, these are the selected ones.

    Parameters
    ----------
    q_values : array of shape (n_features,)
    selected : bool array of shape (n_features,)
        At least one is.

    Returns
    -------
    float
        At most the number of selected columns.

    Examples
    --------
    >>> from featly.measures.sizes import expected_false
    >>> expected_false([0.02, 0.8, 0.1, 0.3], [True, False, True, False])
    0.2
    """
    q, mask = _check_q_values(q_values, None), np.asarray(selected, dtype=bool)
    largest = q[mask].max()
    return float(min(largest * (q <= largest).sum(), mask.sum()))


def _check_size(size: Any, most: int | None, name: str = "rule") -> int:
    Whole(at_least=1, at_most=most).check(name, size)
    return int(size)


def _choose_on_curve(curve: Curve, rule: str, level: float) -> int:
    mean = curve.mean if curve.greater_is_better else -curve.mean
    best = int(np.nanargmax(mean))
    if rule == "best":
        return int(curve.sizes[best])
    if rule == "knee":
        present = np.flatnonzero(~np.isnan(mean[: best + 1]))
        return int(_knee(curve.sizes[present], mean[present]))
    if curve.n[best] < 2:
        raise DataError(
            f"size {curve.sizes[best]}, the best, has one value: rule {rule!r} needs two splits"
        )
    if rule == "one-standard-error":
        margin = curve.standard_error[best]
    else:
        lower, upper = curve.interval(level, corrected=rule == "within-corrected-interval")
        margin = (upper[best] - lower[best]) / 2
    # compared as distances from the best, so that a margin of zero is met exactly
    return int(curve.sizes[np.flatnonzero(mean[best] - mean <= margin)[0]])


def _knee(sizes: IntArray, mean: FloatArray) -> int:
    """Return the size whose mean is highest above the chord; both arrays end at the best."""
    if len(sizes) == 1:
        return int(sizes[0])
    x = np.log2(sizes) if sizes[-1] > WIDE_SPREAD * sizes[0] else sizes.astype(np.float64)
    x = (x - x[0]) / (x[-1] - x[0])
    above = (mean - mean[0]) / (mean[-1] - mean[0]) - x
    if above.max() <= TOLERANCE:
        return int(sizes[-1])
    return int(sizes[np.argmax(above >= above.max() - TOLERANCE)])


def _largest_gap(scores: FloatArray) -> int:
    ranked = -np.sort(-scores)
    first, last = int((ranked == np.inf).sum()), int((ranked > -np.inf).sum())
    if last == 0 or first == last:  # all minus infinity, or nothing finite
        return last or len(ranked)
    if first:
        return first
    drops = -np.diff(ranked[:last])
    if not drops.any():
        return last
    return 1 + int(np.argmax(drops >= drops.max() - TOLERANCE * drops.sum()))


def _two_variances(scores: FloatArray) -> int:
    finite = scores[np.isfinite(scores)]
    above = int((scores == np.inf).sum())
    if not len(finite):
        return above or len(scores)
    if finite.min() == finite.max():
        return above + len(finite)
    scaled = (finite - finite.min()) / (finite.max() - finite.min())
    limit = scaled.mean() - 2 * scaled.var()
    return above + int((scaled >= limit - TOLERANCE).sum())
