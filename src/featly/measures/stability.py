r"""Stability of selections made on different samples of the rows.

.. math::

    \mathrm{KI} = \frac{2}{K (K - 1)} \sum_{i < j}
    \frac{|S_i \cap S_j| - s^2 / p}{s - s^2 / p}

K sets of s features out of p: 1 if all are the same, about 0 if they are drawn at random.
Kuncheva, L. I. (2007), A stability index for feature selection, *Artificial Intelligence and
Applications*, 390-395.

No pair of sets is ever formed. If feature f is in :math:`c_f` of the sets, it is in
:math:`c_f (c_f - 1) / 2` of the intersections, so that

.. math::

    \sum_{i < j} |S_i \cap S_j| = \sum_f \frac{c_f (c_f - 1)}{2}.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import ndtri

from featly.basics.errors import DataError, ParameterError

__all__ = [
    "Stability",
    "half_index",
    "kuncheva_curve",
    "kuncheva_index",
    "nogueira_curve",
    "nogueira_stability",
    "selection_frequency",
]

BLOCK_CELLS = 1 << 20  # gathered at a time, so that no array is larger than the rankings


class Stability(NamedTuple):
    """A stability with its confidence interval: floats, or arrays with one value a size.

    Attributes
    ----------
    value : float or array
        The estimate.
    lower, upper : float or array
        Ends of the confidence interval. They are not clipped, so `upper` may exceed 1.
    variance : float or array
        Estimated variance of `value`.
    """

    value: float | np.ndarray
    lower: float | np.ndarray
    upper: float | np.ndarray
    variance: float | np.ndarray


def selection_frequency(selections: Sequence[ArrayLike], n_features: int) -> np.ndarray:
    """Compute the fraction of the selections that contain each feature.

    Parameters
    ----------
    selections : sequence of int arrays
        The selected columns of each run, in any order; sizes may differ, empty ones count.
    n_features : int
        Columns of the table, p.

    Returns
    -------
    float array of shape (n_features,)

    Examples
    --------
    >>> from featly.measures.stability import selection_frequency
    >>> selection_frequency([[0, 1], [1, 2], [1], [1, 0]], n_features=4)
    array([0.5 , 1.  , 0.25, 0.  ])
    """
    columns, sizes = _gather(selections, n_features, at_least=1)
    return np.bincount(columns, minlength=n_features) / len(sizes)


def kuncheva_index(selections: Sequence[ArrayLike], n_features: int) -> float:
    r"""Compute Kuncheva's index, the mean over pairs of sets of their overlap beyond chance.

    .. math::

        \mathrm{KI} = \frac{2}{K (K - 1)} \sum_{i < j}
        \frac{|S_i \cap S_j| - |S_i| |S_j| / p}{\min(|S_i|, |S_j|) - |S_i| |S_j| / p}

    For sets of one size this is the index of Kuncheva; for others its extension by Wald et al.,
    under which a set and any subset of it agree perfectly.

    Parameters
    ----------
    selections : sequence of int arrays
        The selected columns of each run, at least two runs. A ranking's first s columns are
        `order[:s]`; for many sizes use :func:`kuncheva_curve`.
    n_features : int
        Columns of the table, p.

    Returns
    -------
    float
        From -1 to 1 for sets of one size. With others it can fall to 1 - p, where a single
        feature is compared with a set of all others. nan if any set is empty or holds all p
        features, since the index of a pair with such a set is 0 / 0. :func:`nogueira_stability` is
        then defined, unless all sets are empty or all hold all features.

    References
    ----------
    Kuncheva, L. I. (2007), A stability index for feature selection, *Artificial Intelligence and
    Applications*, 390-395. Wald, R., Khoshgoftaar, T. M. and Napolitano, A. (2013), Stability of
    filter- and wrapper-based feature subset selection, *ICTAI*, 374-380.

    Examples
    --------
    >>> from featly.measures.stability import kuncheva_index
    >>> kuncheva_index([[0, 1], [1, 0], [0, 1]], n_features=10)
    1.0
    >>> round(kuncheva_index([[0, 1], [0, 2], [0, 3]], n_features=10), 4)
    0.375
    """
    columns, sizes = _gather(selections, n_features, at_least=2)
    if sizes.min() == 0 or sizes.max() == n_features:
        return float("nan")
    # all terms of a pair but |A & B| depend on the sizes alone, so sets of one size go together
    distinct, member, times = np.unique(sizes, return_inverse=True, return_counts=True)
    cells = (np.ones(columns.size, dtype=np.int64), (np.repeat(member, sizes), columns))
    counts = sparse.csr_array(cells, shape=(distinct.size, n_features))
    shared = (counts @ counts.T).toarray()
    pairs = np.outer(times, times)
    own = np.diag_indices(distinct.size)
    shared[own] = (shared[own] - times * distinct) // 2  # no set with itself, and no pair twice
    pairs[own] = times * (times - 1) // 2
    a, b = np.triu_indices(distinct.size)
    has_pairs = pairs[a, b] > 0
    a, b = a[has_pairs], b[has_pairs]
    chance = distinct[a] * (distinct[b] / n_features)
    overlap = shared[a, b] / pairs[a, b]
    index = (overlap - chance) / (np.minimum(distinct[a], distinct[b]) - chance)
    return float(np.average(index, weights=pairs[a, b]))


def kuncheva_curve(orders: ArrayLike, sizes: ArrayLike, n_features: int) -> np.ndarray:
    """Compute Kuncheva's index of the first s features of several rankings, for every size s.

    One pass over the rankings: the counts at one size are those at the size before plus the
    features in between.

    Parameters
    ----------
    orders : int array of shape (n_rankings, m)
        Columns best first, one ranking a row; m is at least the largest size.
    sizes : int array of shape (n_sizes,)
        From 1 to m, in any order.
    n_features : int
        Columns of the table, p.

    Returns
    -------
    float array of shape (n_sizes,)
        nan at size p, at which all selections are the same.

    See Also
    --------
    kuncheva_index : The formula, and sets of different sizes.

    Examples
    --------
    >>> from featly.measures.stability import kuncheva_curve
    >>> orders = [[4, 0, 2], [4, 2, 0], [4, 2, 1]]
    >>> kuncheva_curve(orders, sizes=[1, 2, 3], n_features=6).round(4)
    array([1.    , 0.5   , 0.5556])
    """
    ranks, distinct, position = _ranks(orders, sizes, n_features)
    shared = np.array([pairs for _, pairs in _grow(ranks, distinct, n_features)])
    index: np.ndarray = _kuncheva(shared, ranks.shape[1], distinct, n_features)[position]
    return index


def nogueira_stability(
    selections: Sequence[ArrayLike], n_features: int, level: float = 0.95
) -> Stability:
    r"""Compute Nogueira's stability of selections of any sizes, with a confidence interval.

    .. math::

        \hat\Phi = 1 - \frac{\frac{1}{p} \sum_f \frac{K}{K - 1} \hat p_f (1 - \hat p_f)}
        {\frac{\bar k}{p} \left(1 - \frac{\bar k}{p}\right)},

    where :math:`\hat p_f` is how often feature f is selected and :math:`\bar k` the mean size. It
    is 1 only if all selections are the same, and 0 on average if they are random. For selections
    of one size it is exactly Kuncheva's index. The variance is that of the influence of the
    selections, :math:`v = \frac{4}{K^2} \sum_i (\hat\Phi_i - \bar\Phi)^2` with

    .. math::

        \hat\Phi_i = \frac{\frac{1}{p} \sum_{f \in S_i} \hat p_f - \frac{k_i \bar k}{p^2}
        + \frac{\hat\Phi}{2} \left(\frac{2 k_i \bar k}{p^2} - \frac{k_i}{p} - \frac{\bar k}{p}
        + 1\right)}{\frac{\bar k}{p} \left(1 - \frac{\bar k}{p}\right)},

    and the interval is :math:`\hat\Phi \pm z \sqrt v`. It holds for many independent selections.
    Those made on random parts of one table are independent given that table only: the interval
    then says how far more parts would move the value, and nothing about another table.

    Parameters
    ----------
    selections : sequence of int arrays
        The selected columns of each run, at least two runs; sizes may differ.
    n_features : int
        Columns of the table, p.
    level : float, default=0.95
        Of the confidence interval.

    Returns
    -------
    Stability
        With `value` from -1 / (K - 1) to 1. All nan where every selection is empty, or every one
        holds all features.

    Notes
    -----
    The sign before :math:`\hat\Phi / 2` follows from differentiating :math:`\hat\Phi`. The
    authors' programs in Python and in R disagree on it; the one in R has a minus. It matters only
    where sizes differ.

    References
    ----------
    Nogueira, S., Sechidis, K. and Brown, G. (2018), On the stability of feature selection
    algorithms, *JMLR* 18 (174), 1-54.

    Examples
    --------
    >>> from featly.measures.stability import nogueira_stability
    >>> runs = [[0, 1], [0, 1, 2], [0, 1], [0, 3]]
    >>> stability = nogueira_stability(runs, n_features=8)
    >>> round(stability.value, 3), round(stability.lower, 3), round(stability.upper, 3)
    (0.536, 0.289, 0.784)
    """
    quantile = _quantile(level)
    columns, sizes = _gather(selections, n_features, at_least=2)
    n_runs, mean_size = len(sizes), sizes.mean()
    counts = np.bincount(columns, minlength=n_features)
    largest_spread = mean_size * (1 - mean_size / n_features)
    if mean_size in (0, n_features):
        return Stability(*[float("nan")] * 4)
    n_disagreements = int((counts * (n_runs - counts)).sum())  # pairs of runs that disagree, twice
    value = 1 - n_disagreements / (n_runs * (n_runs - 1)) / largest_spread
    run = np.repeat(np.arange(n_runs), sizes)
    frequency_sums = np.bincount(run, weights=counts[columns], minlength=n_runs) / n_runs
    # constants are left out, since var() subtracts the mean
    influence = frequency_sums - sizes * mean_size / n_features
    influence += value / 2 * sizes * (2 * mean_size / n_features - 1)
    variance = 4 / n_runs * influence.var() / largest_spread**2
    return _interval(value, variance, quantile)


def nogueira_curve(
    orders: ArrayLike, sizes: ArrayLike, n_features: int, level: float = 0.95
) -> Stability:
    """Compute Nogueira's stability of the first s features of several rankings, for every size s.

    The values are those of :func:`kuncheva_curve`, to which this adds the confidence intervals.
    The intervals cost s steps a ranking at every size s.

    Parameters
    ----------
    orders : int array of shape (n_rankings, m)
        Columns best first, one ranking a row; m is at least the largest size.
    sizes : int array of shape (n_sizes,)
        From 1 to m, in any order.
    n_features : int
        Columns of the table, p.
    level : float, default=0.95
        Of the confidence intervals.

    Returns
    -------
    Stability
        Of arrays of shape (n_sizes,), nan at size p.

    See Also
    --------
    nogueira_stability : The formulas, and selections of different sizes.

    Examples
    --------
    >>> from featly.measures.stability import nogueira_curve
    >>> orders = [[4, 0, 2], [4, 2, 0], [4, 2, 1]]
    >>> curve = nogueira_curve(orders, sizes=[1, 2, 3], n_features=6)
    >>> curve.value.round(4), curve.lower.round(4)
    (array([1.    , 0.5   , 0.5556]), array([1.    , 0.2333, 0.3185]))
    """
    quantile = _quantile(level)
    ranks, distinct, position = _ranks(orders, sizes, n_features)
    n_runs = ranks.shape[1]
    shared = np.empty(distinct.size, dtype=np.int64)
    spread = np.empty(distinct.size)
    for at, (counts, pairs) in enumerate(_grow(ranks, distinct, n_features)):
        shared[at] = pairs
        spread[at] = _sum_frequencies(ranks[: distinct[at]], counts).var()
    value = _kuncheva(shared, n_runs, distinct, n_features)
    largest_spread = distinct * (1 - distinct / n_features)
    largest_spread[distinct == n_features] = np.nan
    variance = 4 / n_runs**3 * spread / largest_spread**2
    return _interval(value[position], variance[position], quantile)


def half_index(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    sizes: ArrayLike,
    n_features: int,
) -> np.ndarray:
    r"""Compute the agreement of selections made on the two halves of each of several splits.

    .. math::

        \hat\Phi_r(s) = \frac{|A_r \cap B_r| - s^2 / p}{s - s^2 / p}

    with A and B the first s columns of the rankings of the halves: Nogueira's stability of the two,
    which is Kuncheva's index. The halves share no row, so that the value is what two fresh tables
    of half the size would give.

    Parameters
    ----------
    first, second : sequences of int arrays
        For each split the ranking of either half, best first; or selections of any size.
    sizes : int array of shape (n_sizes,)
        From 1 to the length of the rankings; 0 compares selections as they are, by
        :func:`nogueira_stability`.
    n_features : int
        Columns of the table, p.

    Returns
    -------
    float array of shape (n_splits, n_sizes)
        nan at size p, at which all selections are the same.

    References
    ----------
    Nogueira, S., Sechidis, K. and Brown, G. (2018), On the stability of feature selection
    algorithms, *JMLR* 18 (174), 1-54. Halves: Shah, R. D. and Samworth, R. J. (2013), Variable
    selection with error control: another look at stability selection, *J. R. Statist. Soc. B* 75,
    55-80.

    Examples
    --------
    >>> from featly.measures.stability import half_index
    >>> half_index([[4, 0, 2], [1, 2, 3]], [[4, 2, 0], [0, 4, 5]], [1, 2, 3], 6).round(2)
    array([[ 1.  ,  0.25,  1.  ],
           [-0.2 , -0.5 , -1.  ]])
    """
    if len(first) != len(second):
        raise DataError(f"{len(first)} first halves and {len(second)} second ones: give pairs")
    wanted = np.asarray(sizes)
    index = np.empty((len(first), wanted.size))
    for split, pair in enumerate(zip(first, second, strict=True)):
        a, b = (np.asarray(half) for half in pair)
        for k, size in enumerate(wanted.tolist()):
            halves = (a[:size], b[:size]) if size else (a, b)
            index[split, k] = nogueira_stability(halves, n_features).value
    return index


def column_indices(columns: ArrayLike, n_features: int, name: str) -> np.ndarray:
    """Return different columns of a table as an array of indices; errors name the wrong one."""
    indices = np.asarray(columns)
    if indices.dtype.kind == "b":
        raise DataError(f"{name} is a mask: give column indices, such as np.flatnonzero(mask)")
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise DataError(f"{name} is not a vector of whole numbers: give column indices")
    indices = indices.astype(np.intp)
    if indices.size and (indices.min() < 0 or indices.max() >= n_features):
        wrong = indices.min() if indices.min() < 0 else indices.max()
        raise DataError(f"{name} has column {wrong}: columns go from 0 to {n_features - 1}")
    ordered = np.sort(indices)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if twice.size:
        raise DataError(f"{name} has column {twice[0]} twice: give each column once")
    return indices


def _gather(
    selections: Sequence[ArrayLike], n_features: int, at_least: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return all selected columns, one selection after the other, and the size of each."""
    _check_features(n_features)
    parts = [
        column_indices(selection, n_features, f"selections[{i}]")
        for i, selection in enumerate(selections)
    ]
    _check_runs(len(parts), "selections", at_least)
    return np.concatenate(parts), np.array([part.size for part in parts])


def _ranks(
    orders: ArrayLike, sizes: ArrayLike, n_features: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rankings with one rank a row, the different sizes, and each size's position."""
    _check_features(n_features)
    columns, wanted = np.asarray(orders), np.asarray(sizes)
    if columns.ndim != 2 or columns.dtype.kind not in "iu":
        raise DataError("orders is not a matrix of whole numbers: give one ranking a row")
    _check_runs(len(columns), "orders", 2)
    if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "iu":
        raise ParameterError("sizes is not a list of whole numbers: give at least one size")
    depth = columns.shape[1]
    if wanted.min() < 1 or wanted.max() > depth:
        wrong = wanted.min() if wanted.min() < 1 else wanted.max()
        raise ParameterError(
            f"sizes has {wrong}, and orders {depth} features a ranking: give sizes 1 to {depth}"
        )
    distinct, position = np.unique(wanted.astype(np.int64), return_inverse=True)
    columns = columns[:, : distinct[-1]].astype(np.intp, copy=False)
    if columns.min() < 0 or columns.max() >= n_features:
        wrong = columns.min() if columns.min() < 0 else columns.max()
        raise DataError(f"orders has column {wrong}: columns go from 0 to {n_features - 1}")
    # a rank written at a column is read back unchanged, unless the column occurs twice
    ranks, last = np.arange(columns.shape[1]), np.empty(n_features, dtype=np.intp)
    for i, order in enumerate(columns):
        last[order] = ranks
        if not np.array_equal(last[order], ranks):
            column_indices(order, n_features, f"orders[{i}]")
    return np.ascontiguousarray(columns.T), distinct, position


def _grow(
    ranks: np.ndarray, sizes: np.ndarray, n_features: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield at increasing sizes the count of each feature, and shared features over all pairs.

    A feature that enters b times and was there c times makes bc + b(b - 1) / 2 new pairs. Summed
    over the entries, the counts before are bc and the counts after b(c + b).
    """
    counts = np.zeros(n_features, dtype=np.int64)
    pairs, start = 0, 0
    for size in sizes:
        entering = ranks[start:size].ravel()
        count_sums = counts.take(entering)
        np.add.at(counts, entering, 1)
        count_sums += counts.take(entering)
        pairs += (int(count_sums.sum()) - entering.size) // 2
        start = size
        yield counts, pairs


def _sum_frequencies(ranks: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sum for each ranking the counts of its features in all rankings."""
    total = np.zeros(ranks.shape[1], dtype=np.int64)
    step = max(1, BLOCK_CELLS // ranks.shape[1])
    for start in range(0, len(ranks), step):
        total += counts.take(ranks[start : start + step]).sum(axis=0)
    return total


def _kuncheva(shared: np.ndarray, n_runs: int, sizes: np.ndarray, n_features: int) -> np.ndarray:
    chance = sizes * (sizes / n_features)
    overlap = shared / (n_runs * (n_runs - 1) // 2)
    index = np.full(sizes.size, np.nan)
    np.divide(overlap - chance, sizes - chance, out=index, where=sizes < n_features)
    return index


def _interval(
    value: float | np.ndarray, variance: float | np.ndarray, quantile: float
) -> Stability:
    half = quantile * np.sqrt(variance)
    if np.ndim(value) == 0:
        return Stability(float(value), float(value - half), float(value + half), float(variance))
    return Stability(value, value - half, value + half, variance)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ParameterError(f"level={level}: give a number between 0 and 1, such as 0.95")
    return float(ndtri((1 + level) / 2))


def _check_features(n_features: int) -> None:
    if not isinstance(n_features, int | np.integer) or n_features < 1:
        raise ParameterError(f"n_features={n_features}: give the number of columns, at least 1")


def _check_runs(n_runs: int, name: str, at_least: int) -> None:
    if n_runs < at_least:
        raise DataError(
            f"{name} has {n_runs} run{'s' * (n_runs != 1)} to compare: give at least {at_least}"
        )
