r"""Rank tests of many columns over the classes, with a p-value that holds for few rows and ties.

.. math::

    H = \frac{(n - 1) \sum_c n_c (\bar r_c - \bar r)^2}{\sum_i (r_i - \bar r)^2}

where r are the ranks of a column's values; equal values get the mean of their ranks. The
denominator is :math:`(n^3 - n - \sum (t^3 - t)) / 12` over the groups of t equal values, so this is
the textbook H divided by its correction for ties. Kruskal, W. H. and Wallis, W. A. (1952), Use of
ranks in one-criterion variance analysis, *J. Amer. Statist. Assoc.* 47, 583-621.

Its null distribution given the column's values and the sizes of the classes, in which every
division of the rows into the classes is as probable as any other:

- two classes, no ties: by the recursion of Mann, H. B. and Whitney, D. R. (1947), On a test of
  whether one of two random variables is stochastically larger than the other, *Ann. Math. Statist.*
  18, 50-60, once for all columns;
- two classes and few values, or few rows off the most frequent one: the sum over all tables of
  values against classes;
- otherwise random divisions, in the stages of :mod:`featly.core.runtime.monte_carlo`. They are
  drawn for the sorted values and seeded by the sizes and rank sums of the classes, so neither the
  order of the rows nor that of the columns matters, and equal columns get equal p-values. Columns
  that differ have other divisions: if all had the same, chance in the divisions would make the
  p-values of a whole table too small or too large together.
"""

from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.monte_carlo import draw_in_stages
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = ["Ranks", "kruskal_wallis", "permutation_p"]

# mypy: disable-error-code="no-untyped-def"

MOST_TABLES = 4096  # listing these takes about as long as drawing for a column without effect
MOST_STEPS = 2e8  # of the recursion for columns without ties
GAMMA = np.uint64(0x9E3779B97F4A7C15)  # between the states of a random stream
SAME = 1e-10  # statistics that differ by less, relatively, are equal
TASK_DRAWS, TASK_VALUES = 20_000, 1 << 17  # of one task, where its columns are several


@dataclass(frozen=True)
class Ranks:
    """Facts about the ranks of many columns in the classes, missing values left out.

    Attributes
    ----------
    statistic : float64 array of shape (n_features,)
        H; 0 where fewer than two classes or two different values remain.
    freedom : float64 array of shape (n_features,)
        Its degrees of freedom; 1 there.
    sizes : int64 array of shape (n_features, n_classes)
        Rows of every class that have a value.
    lowest : int64 array of shape (n_features, n_classes)
        Rows of every class that have the column's smallest value.
    n_values : int64 array of shape (n_features,)
        Different values.
    mode : int64 array of shape (n_features,)
        Rows that have the most frequent value.
    skewness : float64 array of shape (n_features,)
        Of the values, all classes together; infinite where it overflows.
    """

    statistic: FloatArray
    freedom: FloatArray
    sizes: IntArray
    lowest: IntArray
    n_values: IntArray
    mode: IntArray
    skewness: FloatArray

    def take(self, columns: AnyArray | slice) -> "Ranks":
        """Return those of some columns."""
        return Ranks(*(part[columns] for part in self.arrays()))

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays in the order of the fields."""
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def n_known(self) -> IntArray:
        """Rows that have a value."""
        return np.asarray(self.sizes.sum(axis=1))

    @property
    def smallest(self) -> IntArray:
        """Rows of the smallest class that has any value; 0 where none has."""
        largest = np.iinfo(np.int64).max
        least = np.where(self.sizes > 0, self.sizes, largest).min(axis=1)
        return np.where(least == largest, 0, least)


@question(gpu=True)
def kruskal_wallis(source: Source, y: IntArray, n_classes: int, n_jobs: int | None = None) -> Ranks:
    """Compute H of every column of a source of numbers, and what its p-value depends on.

    Missing values are left out, and so is a class without any value in the column. With two
    classes, H is the square of the normal deviate of the Mann-Whitney test without continuity
    correction.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0], [np.nan, 6.0]])
    >>> ranks = kruskal_wallis(DenseSource(X), np.array([0, 0, 1, 1]), 2)
    >>> ranks.statistic.round(4).tolist(), ranks.freedom.tolist()
    ([1.5, 0.0], [1.0, 1.0])
    """
    p = source.n_features
    sizes, lowest = np.zeros((2, p, n_classes), np.int64)
    n_values, mode = np.zeros((2, p), np.int64)
    ranks = Ranks(np.zeros(p), np.ones(p), sizes, lowest, n_values, mode, np.zeros(p))

    def score_block(block: tuple[int, int]) -> None:
        low, high = block
        part = ranks.take(slice(low, high))
        _kruskal_wallis(*_sort_values(source, np.arange(low, high)), y, *part.arrays())

    run_blocks(score_block, source.blocks(), n_jobs)
    return ranks


def _sort_values(source: Source, columns: IntArray) -> tuple[FloatArray, IntArray]:
    values = source.load(columns)
    # NumPy's sort is vectorised, and lets other threads run; NaN comes last
    return values, np.argsort(values, axis=1)


def permutation_p(
    source: Source,
    y: IntArray,
    ranks: Ranks,
    *,
    n_draws: int = 10_000,
    n_columns: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return the p-value of every H among all divisions of the rows, and the divisions drawn.

    The latter is 0 where p is exact: a sum over all divisions. `n_columns` is the number of
    columns of the table, of which `source` may hold some; `ranks` are those of `source`.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> source, y = DenseSource(np.array([[1.0], [2], [3], [4], [5]])), np.array([0, 0, 1, 1, 1])
    >>> p, drawn = permutation_p(source, y, kruskal_wallis(source, y, 2))
    >>> p.round(3).tolist(), drawn.tolist()
    ([0.2], [0])
    """
    p, drawn = np.ones(source.n_features), np.zeros(source.n_features, np.int64)
    n_present = (ranks.sizes > 0).sum(axis=1)
    varies, two = (ranks.statistic > 0) & (n_present > 1), n_present == 2
    is_tied = ranks.n_values < ranks.n_known
    summed = varies & two & ~is_tied & (_recursion_steps(ranks) <= MOST_STEPS)
    p[summed] = _mann_whitney_p(ranks.take(summed))
    listed = np.flatnonzero(varies & two & is_tied)
    p[listed] = _listed_p(source.view(listed), y, ranks.sizes.shape[1], n_jobs)
    listed = listed[~np.isnan(p[listed])]
    summed[listed] = True
    rest = np.flatnonzero(varies & ~summed)
    if len(rest):
        seed = np.uint64(int(random_state) % (1 << 64))
        count = _Divisions(source.view(rest), y, ranks.sizes.shape[1], seed, n_jobs)
        reached, divisions = np.zeros((2, len(rest)), np.int64)
        n_columns = source.n_features if n_columns is None else n_columns
        draw_in_stages(count, reached, divisions, n_draws=n_draws, n_columns=n_columns)
        p[rest], drawn[rest] = (1 + reached) / (1 + divisions), divisions
    return p, drawn


# ---- two classes, no ties -------------------------------------------------------------------
def _recursion_steps(ranks: Ranks) -> FloatArray:
    n, few = ranks.n_known.astype(np.float64), ranks.smallest.astype(np.float64)
    return n * few * few * (n - few)


def _mann_whitney_p(ranks: Ranks) -> FloatArray:
    """Return the exact p of columns without ties in two classes."""
    n, few = ranks.n_known, ranks.smallest
    many = n - few
    # U is a whole number, and so far from its mean
    distance = np.sqrt(ranks.statistic * few * many * (n + 1.0) / 12)
    least = np.rint(few * many / 2 - distance).astype(np.int64)
    p = np.empty(len(n))
    # one recursion serves all columns of about as many rows
    size = np.frexp(few)[1] * 64 + np.frexp(n)[1]
    for group in np.unique(size):
        members = np.flatnonzero(size == group)
        members = members[np.argsort(n[members], kind="stable")]
        tail = np.empty(len(members))
        _mann_whitney(n[members], few[members], least[members], tail)
        p[members] = tail
    return p


@kernel
def _mann_whitney(n, few, least, p):
    """Fill two-sided p-values of U at most `least`; columns are sorted by n."""
    most = few.max()
    ways = np.zeros((most + 1, most * n[len(n) - 1] + 1))  # to choose j of i ranks so that U is u
    ways[0, 0] = 1.0
    done = 0
    for i in range(1, n[len(n) - 1] + 1):
        for j in range(min(i, most), 0, -1):
            shift = i - j
            for u in range((j - 1) * shift + 1):
                ways[j, u + shift] += ways[j - 1, u]
        while done < len(n) and n[done] == i:
            j = few[done]
            tail, total = 0.0, 0.0
            for u in range(j * (i - j) + 1):
                total += ways[j, u]
                if u <= least[done]:
                    tail += ways[j, u]
            p[done] = min(1.0, 2 * tail / total)
            done += 1


# ---- two classes, few values ----------------------------------------------------------------
def _listed_p(source: Source, y: IntArray, n_classes: int, n_jobs: int | None) -> FloatArray:
    """Return the exact p of columns in two classes; NaN where there are too many tables."""
    p = np.empty(source.n_features)
    log_factorial = special.gammaln(np.arange(source.n_rows + 1) + 1.0)

    def list_block(block: tuple[int, int]) -> None:
        values, order = _sort_values(source, np.arange(*block))
        _list_tables(values, order, y, n_classes, MOST_TABLES, log_factorial, p[slice(*block)])

    run_blocks(list_block, source.blocks(), n_jobs)
    return p


@kernel
def _list_tables(values, order, y, n_classes, most, lf, p):
    """Sum the probabilities of all tables of values against two classes that are as extreme."""
    for f in range(len(values)):
        score, sizes, sums = _centred_ranks(values[f], order[f], y, n_classes)
        n, few = len(score), n_classes
        observed = 0.0
        for c in range(n_classes):
            if sizes[c] > 0:
                observed = abs(sums[c])  # that of the other class is its negative
                few = c
        for c in range(n_classes):
            if 0 < sizes[c] < sizes[few]:
                few = c
        rows = sizes[few]
        mode, mode_rows = _most_frequent(score)
        value, count = np.empty(n), np.empty(n, np.int64)  # of the other values
        n_values, tables, low = 0, 1, 0
        while low < n and tables <= most:
            high = low + 1
            while high < n and score[high] == score[low]:
                high += 1
            if score[low] != mode:
                value[n_values], count[n_values] = score[low] - mode, high - low
                tables *= min(high - low, rows) + 1
                n_values += 1
            low = high
        if tables > most:
            p[f] = np.nan
            continue
        held = np.zeros(n_values + 1, np.int64)  # rows of the class that have each value
        whole = lf[n] - lf[rows] - lf[n - rows]
        total = 0.0
        while held[n_values] == 0:
            others, centred = 0, mode * rows
            for k in range(n_values):
                others += held[k]
                centred += held[k] * value[k]
            if 0 <= rows - others <= mode_rows and abs(centred) >= observed * (1 - SAME):
                at_mode = rows - others
                term = lf[mode_rows] - lf[at_mode] - lf[mode_rows - at_mode] - whole
                for k in range(n_values):
                    term += lf[count[k]] - lf[held[k]] - lf[count[k] - held[k]]
                total += np.exp(term)
            k = 0
            while k < n_values and held[k] == min(count[k], rows):
                held[k] = 0
                k += 1
            held[k] += 1
        p[f] = 1.0 if total > 1 - 1e-9 else total


# ---- random divisions -----------------------------------------------------------------------
class _Divisions:
    """Counts random divisions of the rows into the classes that are as extreme as the observed."""

    def __init__(
        self, source: Source, y: IntArray, n_classes: int, seed: np.uint64, n_jobs: int | None
    ) -> None:
        self.source, self.y, self.n_classes = source, y, n_classes
        self.seed, self.n_jobs = seed, n_jobs

    def __call__(self, active: IntArray, low: int, high: int) -> IntArray:
        size = min(max(1, TASK_DRAWS // (high - low)), max(1, TASK_VALUES // self.source.n_rows))

        def count_block(block: tuple[int, int]) -> IntArray:
            values, order = _sort_values(self.source, active[slice(*block)])
            counts = np.zeros(len(values), np.int64)
            _count_divisions(
                values, order, self.y, self.n_classes, self.seed, low, high, counts
            )  # fmt: skip
            return counts

        return np.concatenate(run_blocks(count_block, split(len(active), size), self.n_jobs))


@kernel
def _count_divisions(values, order, y, n_classes, seed, low, high, counts):
    """Count, for each row of `values`, divisions with a sum of squares at least the observed.

    What is drawn is either the rows of all classes but the largest, or the classes of all rows off
    the most frequent value, whichever are fewer. The other numbers follow.
    """
    for f in range(len(values)):
        score, class_sizes, class_sums = _centred_ranks(values[f], order[f], y, n_classes)
        n = len(score)
        present = np.flatnonzero(class_sizes)
        # the largest class first; equal ones by their sums, whichever names they have
        key = class_sizes[present] * (2.0 * n * n) - np.abs(class_sums[present])
        present = present[np.argsort(-key)]
        sizes, observed_sums = class_sizes[present], class_sums[present]
        observed = 0.0
        state = _mix(seed + GAMMA)
        for c in range(len(sizes)):
            observed += observed_sums[c] * observed_sums[c] / sizes[c]
            state = _mix((state ^ np.uint64(sizes[c])) + GAMMA)
            state = _mix((state ^ np.uint64(abs(observed_sums[c]))) + GAMMA)
        state = _mix((state ^ np.uint64(low)) + GAMMA)
        mode = _most_frequent(score)[0]
        off = score[score != mode] - mode
        draws_rows = n - sizes[0] <= len(off)
        pool = score.copy() if draws_rows else np.repeat(np.arange(len(sizes)) * 1.0, sizes)
        sums = np.empty(len(sizes))
        limit = observed * (1 - SAME)
        for _ in range(low, high):
            if draws_rows:
                sums[0] = 0.0
                i = 0
                for c in range(1, len(sizes)):
                    total = 0.0
                    for _ in range(sizes[c]):
                        state += GAMMA
                        k = i + _below(state, n - i)
                        pool[i], pool[k] = pool[k], pool[i]
                        total += pool[i]
                        i += 1
                    sums[c] = total
                    sums[0] -= total
            else:
                for c in range(len(sizes)):
                    sums[c] = sizes[c] * mode
                for i in range(len(off)):
                    state += GAMMA
                    k = i + _below(state, n - i)
                    pool[i], pool[k] = pool[k], pool[i]
                    sums[np.int64(pool[i])] += off[i]
            between = 0.0
            for c in range(len(sizes)):
                between += sums[c] * sums[c] / sizes[c]
            counts[f] += between >= limit


@kernel
def _mix(z):
    """Return 64 random bits of a state (SplitMix64: Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _below(state, limit):
    """Return a random whole number below a limit; of 2^32 numbers some come up once more."""
    return np.int64(((_mix(state) >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


# ---- ranks ----------------------------------------------------------------------------------
@kernel
def _centred_ranks(x, by, y, n_classes):
    """Return twice the ranks less their mean, sorted, and the rows and sums of every class.

    They are whole numbers. Of a column and its negative, one has the scores, the other the same:
    those that are lower where they differ first.
    """
    n = len(x)
    while n > 0 and np.isnan(x[by[n - 1]]):
        n -= 1
    score = np.empty(n)
    sizes, sums = np.zeros(n_classes, np.int64), np.zeros(n_classes)
    low = 0
    while low < n:
        high = low + 1
        while high < n and x[by[high]] == x[by[low]]:
            high += 1
        for k in range(low, high):
            score[k] = low + high - n
            sizes[y[by[k]]] += 1
            sums[y[by[k]]] += score[k]
        low = high
    for k in range(n):
        if score[k] != -score[n - 1 - k]:
            if score[k] > -score[n - 1 - k]:
                score = -score[::-1].copy()
                sums = -sums
            break
    return score, sizes, sums


@kernel
def _most_frequent(score):
    """Return the most frequent of sorted scores, and how often it is there."""
    mode, most, low = 0.0, 0, 0
    while low < len(score):
        high = low + 1
        while high < len(score) and score[high] == score[low]:
            high += 1
        if high - low > most:
            mode, most = score[low], high - low
        low = high
    return mode, most


@kernel
def _kruskal_wallis(values, order, y, statistic, freedom, sizes, lowest, n_values, mode, skewness):
    """Fill in H and the rest; `order` sorts each row of `values`, missing last."""
    n_classes = sizes.shape[1]
    for f in range(len(values)):
        x, by = values[f], order[f]
        n = len(x)
        while n > 0 and np.isnan(x[by[n - 1]]):
            n -= 1
        ranks = np.zeros(n_classes)
        ties = 0.0
        low = 0
        while low < n:
            high = low + 1
            while high < n and x[by[high]] == x[by[low]]:
                high += 1
            # twice the difference of the mean rank from the mean of all ranks: a whole number
            rank = np.float64(low + high - n)
            for k in range(low, high):
                sizes[f, y[by[k]]] += 1
                ranks[y[by[k]]] += rank
            if low == 0:
                lowest[f] = sizes[f]
            n_values[f] += 1
            mode[f] = max(mode[f], high - low)
            t = np.float64(high - low)
            ties += (t - 1) * t * (t + 1)
            low = high
        between, present = 0.0, 0
        for c in range(n_classes):
            if sizes[f, c] > 0:
                between += ranks[c] * ranks[c] / sizes[f, c]
                present += 1
        total = np.float64(n)
        spread = (total - 1) * total * (total + 1) - ties
        if present > 1 and spread > 0:
            statistic[f] = 3 * (total - 1) * between / spread
            freedom[f] = present - 1
        skewness[f] = _skewness(x, by, n)


@kernel
def _skewness(x, by, n):
    """Return the skewness of the first n values in sorted order; infinite if it overflows."""
    if n == 0 or x[by[0]] == x[by[n - 1]]:
        return 0.0
    total = 0.0
    for k in range(n):
        total += x[by[k]] - x[by[0]]
    mean = total / n
    scale = max(mean, x[by[n - 1]] - x[by[0]] - mean)
    square, cube = 0.0, 0.0
    for k in range(n):
        deviation = (x[by[k]] - x[by[0]] - mean) / scale
        square += deviation * deviation
        cube += deviation * deviation * deviation
    skewness = cube / n / (square / n) ** 1.5
    return skewness if np.isfinite(skewness) else np.inf
