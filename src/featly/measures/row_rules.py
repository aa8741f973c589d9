r"""Choice of a pipeline and of its size by predictions pooled over folds.

.. math::

    m(s) = \frac1C \sum_c \frac{1}{n_c} \sum_{i \in c} h_{is}, \qquad
    s^* = \min \Bigl\{s : m(b) - m(s) \le
    \frac1C \sqrt{\textstyle\sum_c \operatorname{var}_c(h_b - h_s) / n_c}\Bigr\}, \qquad
    b = \arg\max_s m(s)

with :math:`h_{is} = 1` if size s predicts row i right. This is the rule "one-standard-error" of

Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984), *Classification and Regression
Trees*, Wadsworth, section 3.4.3,

with the standard error of the difference, from rows instead of splits. The rule "best" takes b.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.measures.nested_rates import class_rates
from featly.measures.sizes import CURVE_RULES, Curve, choose_size

__all__ = ["choose_by_rows"]

ROUNDING = 1e-12  # one row between two sizes is a standard error exactly, but for rounding


def choose_by_rows(
    scores: ArrayLike,
    y: ArrayLike,
    sizes: ArrayLike,
    rule: str | int = "best",
    *,
    pipelines: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    error_factor: float = 1.0,
    n_features: int | None = None,
    level: float = 0.95,
) -> int:
    """Choose one of several candidates, each a pipeline with a number of columns.

    The pipeline with the best rate at any of its sizes is chosen, then its size by the rule.

    Parameters
    ----------
    scores : float array of shape (n_candidates, n_rows)
        1 where a row is predicted right, 0 where it is not, NaN where there is no prediction. Any
        other score of rows does, such as the placements whose mean is the AUC.
    y : int array of shape (n_rows,)
        Codes of the classes, from 0.
    sizes : int array of shape (n_candidates,)
        Numbers of columns; 0 where the pipeline chooses the number itself.
    rule : str or int, default="best"
        "best", "one-standard-error", "within-interval" (with the interval from rows),
        "within-corrected-interval" (the same here), "knee", "rule-of-thumb" or a size.
    pipelines : int array of shape (n_candidates,), default=None
        The pipeline of each candidate. None: all are of one.
    weights : float array of shape (n_classes,), default=None
        The share of each class in the rate; None is the same for all.
    error_factor : float, default=1.0
        By which standard errors are multiplied, for scores whose classes share their pairs of rows.
    n_features : int, default=None
        Number of columns, for the rule of thumb.
    level : float, default=0.95
        Of the intervals.

    Returns
    -------
    int
        Position of the candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.row_rules import choose_by_rows
    >>> y = np.repeat([0, 1], 10)
    >>> hits = np.ones((3, 20))
    >>> hits[0, ::4], hits[1, 3] = 0, 0  # one column is worse, two are nearly as good as four
    >>> choose_by_rows(hits, y, [1, 2, 4])
    2
    >>> choose_by_rows(hits, y, [1, 2, 4], "one-standard-error")
    1
    """
    rows, codes = np.asarray(scores, dtype=np.float64), np.asarray(y)
    counts = np.asarray(sizes, dtype=np.int64)
    owner = np.zeros(len(counts), np.int64) if pipelines is None else np.asarray(pipelines)
    n_classes = int(codes.max()) + 1
    share = np.full(n_classes, 1 / n_classes) if weights is None else np.asarray(weights, float)
    means = np.array([class_rates(h, codes, n_classes) for h in rows])
    rates = np.where(np.isnan(means), 0.0, means) @ share
    rates[np.isnan(rows).all(axis=1)] = np.nan
    allowed = _allowed_candidates(counts, rule, n_features)
    rates[~allowed] = np.nan
    if np.isnan(rates).all():
        raise DataError("no candidate has a prediction: there is nothing to choose from")
    best = _first_best(rates, counts)
    own = np.flatnonzero((owner == owner[best]) & ~np.isnan(rates))
    own = own[np.argsort(counts[own], kind="stable")]
    if rule == "best" or not isinstance(rule, str) or rule == "rule-of-thumb" or len(own) == 1:
        return best
    if rule == "knee":
        curve = Curve(counts[own], rates[own][None])
        return int(own[np.searchsorted(counts[own], choose_size(curve, "knee"))])
    for candidate in own:
        if rule == "one-standard-error":
            margin = _standard_error(rows[best] - rows[candidate], codes, share)
        else:
            t = float(stats.t.ppf((1 + level) / 2, max(1, len(codes) - n_classes)))
            margin = t * _standard_error(rows[best], codes, share)
        if rates[best] - rates[candidate] <= error_factor * margin + ROUNDING:
            return int(candidate)
    return best


def _allowed_candidates(sizes: IntArray, rule: str | int, n_features: int | None) -> BoolArray:
    """Return a mask of the candidates that the rule may choose."""
    if isinstance(rule, str) and rule in CURVE_RULES:
        return np.ones(len(sizes), bool)
    if isinstance(rule, str) and rule != "rule-of-thumb":
        raise ParameterError(
            f"rule={rule!r}: give a size or one of {', '.join([*CURVE_RULES, 'rule-of-thumb'])}"
        )
    size = choose_size(None, rule, n_features=n_features)
    allowed: BoolArray = (sizes == size) | (sizes == 0)
    if not allowed.any():
        raise ParameterError(f"rule={rule!r} is size {size}, which is not tried: add it to sizes")
    return allowed


def _first_best(rates: FloatArray, sizes: IntArray) -> int:
    """Return the candidate of largest rate; of several the smallest size, then the first."""
    # rates are sums of fractions: equal ones may differ in the last digits
    ties = np.flatnonzero(rates >= np.nanmax(rates) - ROUNDING)
    return int(ties[np.argmin(sizes[ties])])


def _standard_error(scores: FloatArray, y: IntArray, share: FloatArray) -> float:
    """Return the standard error of the weighted mean of the class means of scores of rows."""
    variance = 0.0
    for code, weight in enumerate(share):
        values = scores[(y == code) & ~np.isnan(scores)]
        if weight and len(values) > 1:
            variance += weight**2 * float(values.var(ddof=1)) / len(values)
    return math.sqrt(variance)
