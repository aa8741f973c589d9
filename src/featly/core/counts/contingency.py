r"""Tables of counts, levels against classes: Fisher's exact test and Pearson's chi-squared.

.. math::

    P(x) = \frac{\prod_i r_i! \prod_j c_j!}{n! \prod_{ij} x_{ij}!}, \qquad
    p = \sum_{x : P(x) \le P(\text{observed})} P(x)

over all tables x with the observed margins r and c. Freeman, G. H. and Halton, J. H. (1951), Note
on an exact treatment of contingency, goodness of fit and other problems of significance,
*Biometrika* 38, 141-149.

Where that sum is too long even for :mod:`featly.core.counts.fisher_exact`, random tables with the
same margins are drawn: Patefield, W. M. (1981), Algorithm AS 159, *Applied Statistics* 30, 91-97,
or for small tables the permutation of Boyett, J. M. (1979), Algorithm AS 144, both in SciPy.

Random numbers are seeded by the margins and the counts, so that p does not depend on the order of
rows, levels, classes or columns. The smaller p, the more tables are drawn:
:mod:`featly.core.runtime.monte_carlo`. Such tables give chi-squared a p-value where its own tail
does not hold, by Cochran, W. G. (1954), Some methods for strengthening the common chi-squared
tests, *Biometrics* 10, 417-451: an expected count below 1, or more than a fifth of them below 5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.counts.fisher_exact import TIE, exact_tail, fisher_small, margin_sums
from featly.core.runtime.jit import kernel
from featly.core.runtime.monte_carlo import draw_in_stages
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question

__all__ = [
    "Fisher",
    "Tables",
    "chi2_tail",
    "chi_squared",
    "chi_squared_p",
    "count_tables",
    "fisher",
    "has_small_expected_counts",
]

# mypy: disable-error-code="no-untyped-def"

Margins = tuple[tuple[int, ...], tuple[int, ...]]

BLOCK = 2048  # columns that one task tests
BATCH = 32  # sets of margins, or tables drawn for, between two reports of progress
SAME_SUM = 1e-12  # sums of squares that differ by less, relatively, are equal
DRAWN_CELLS = 1 << 21  # of random tables in memory at a time


@dataclass(frozen=True)
class Tables:
    """Tables of many columns against the same classes.

    Attributes
    ----------
    counts : int64 array, or float64 where counts are spread over levels
        The tables one after the other, each levels x classes.
    start : int64 array of shape (n_tables + 1,)
        Where each begins.
    n_classes : int
    """

    counts: AnyArray
    start: IntArray
    n_classes: int

    def __len__(self) -> int:
        return len(self.start) - 1

    def table(self, i: int) -> AnyArray:
        """Return table i, levels x classes; a level or class may be empty."""
        return self.counts[self.start[i] : self.start[i + 1]].reshape(-1, self.n_classes)

    @classmethod
    def concatenate(cls, parts: Sequence["Tables"]) -> "Tables":
        """Return the tables of all parts, one after the other."""
        low = np.cumsum([0, *(len(part.counts) for part in parts)])
        start = [part.start[:-1] + first for part, first in zip(parts, low, strict=False)]
        return cls(
            np.concatenate([part.counts for part in parts]),
            np.concatenate([*start, low[-1:]]),
            parts[0].n_classes,
        )


@dataclass(frozen=True)
class Fisher:
    """Results of Fisher's exact test of many tables.

    Attributes
    ----------
    log_p : float array
        Natural logarithm of the p-value; NaN for tables not tested before Ctrl-C.
    log_probability : float array
        Natural logarithm of the probability of the observed table.
    drawn : int64 array
        The random tables that p was estimated from; 0 where it is exact.
    """

    log_p: FloatArray
    log_probability: FloatArray
    drawn: IntArray


def count_tables(
    codes: AnyArray,
    rows: IntArray,
    n_levels: IntArray,
    y: IntArray,
    n_classes: int,
    n_jobs: int | None = None,
) -> Tables:
    """Count levels against classes for some rows of `codes`, in which 0 is a missing value.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([[1, 2, 2, 0, 1]], np.uint8)
    >>> zero, two = np.array([0]), np.array([2])
    >>> count_tables(codes, zero, two, np.array([0, 0, 1, 1, 0]), 2).table(0).tolist()
    [[2, 0], [1, 1]]
    """
    start = np.concatenate([[0], np.cumsum(n_levels * n_classes, dtype=np.int64)])
    counts = np.zeros(start[-1], np.int64)

    def count_block(block: tuple[int, int]) -> None:
        _count(codes, rows, y, n_classes, start, *block, counts)

    run_blocks(count_block, split(len(rows), BLOCK), n_jobs)
    return Tables(counts, start, n_classes)


# ---- chi-squared ----------------------------------------------------------------------------
@question(gpu="featly.core.counts.entropy_cuda")
def chi_squared(tables: Tables, n_jobs: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Return Pearson's statistic of every table, without correction, and its degrees of freedom.

    Empty levels and classes do not count. Where fewer than two of either are left, the statistic
    is 0 with one degree of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> chi_squared(Tables(np.array([8, 2, 1, 5]), np.array([0, 4]), 2))[0].round(3).tolist()
    [6.112]
    """
    statistic, freedom = np.zeros(len(tables)), np.ones(len(tables))

    def test_block(block: tuple[int, int]) -> None:
        _chi_squared(tables.counts, tables.start, tables.n_classes, *block, statistic, freedom)

    run_blocks(test_block, split(len(tables), BLOCK), n_jobs)
    return statistic, freedom


def chi2_tail(statistic: FloatArray, freedom: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ``P(chi2 >= statistic)`` and its ``-log10``, which does not underflow.

    Examples
    --------
    >>> import numpy as np
    >>> p, evidence = chi2_tail(np.array([3.84, 4000.0]), np.array([1.0, 2.0]))
    >>> p.round(5).tolist(), evidence.round(3).tolist()
    ([0.05004, 0.0], [1.301, 868.589])
    """
    a, x = freedom / 2, statistic / 2
    p = special.gammaincc(a, x)
    evidence = -np.log1p(-special.gammainc(a, np.where(p > 0.5, x, 0.0)))
    middle = (p <= 0.5) & (p >= 1e-280)
    evidence[middle] = -np.log(p[middle])
    low = p < 1e-280
    if low.any():
        a, x = a[low], x[low]
        fraction = _gamma_fraction(a, x)
        evidence[low] = x - a * np.log(x) + special.gammaln(a) - np.log(fraction)
    return p, evidence / np.log(10)


def has_small_expected_counts(tables: Tables, n_jobs: int | None = None) -> BoolArray:
    """Return, for every table, whether Cochran's rule distrusts the tail of chi-squared.

    Examples
    --------
    >>> tables = Tables(np.array([8, 2, 1, 5, 80, 20, 10, 50]), np.array([0, 4, 8]), 2)
    >>> has_small_expected_counts(tables).tolist()
    [True, False]
    """
    out = np.zeros(len(tables), np.bool_)

    def check_block(block: tuple[int, int]) -> None:
        _small_expected(tables.counts, tables.start, tables.n_classes, *block, out)

    run_blocks(check_block, split(len(tables), BLOCK), n_jobs)
    return out


def chi_squared_p(
    tables: Tables,
    which: IntArray,
    statistic: FloatArray,
    *,
    n_draws: int = 10_000,
    n_columns: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> tuple[FloatArray, IntArray]:
    """Return p of chi-squared for some tables, by random tables of their margins, and how many.

    `n_columns` is the number of columns of the whole table; None: as many as there are tables.

    Examples
    --------
    >>> tables = Tables(np.array([8, 2, 1, 5]), np.array([0, 4]), 2)
    >>> p, drawn = chi_squared_p(tables, np.array([0]), chi_squared(tables)[0])
    >>> bool(0.02 < p[0] < 0.05), drawn.tolist()
    (True, [1000])
    """
    if not len(which):
        return np.empty(0), np.empty(0, np.int64)
    totals = np.array([tables.table(i).sum() for i in which.tolist()], np.float64)
    # the statistic is n (sum - 1); more than rounding below it is less extreme
    sums = statistic / np.maximum(totals, 1) + 1
    # equal tables have equal random numbers and so equal p: they are drawn for once
    equal: dict[tuple[Any, ...], int] = {}
    copy_of = np.empty(len(which), np.int64)
    for k, i in enumerate(which.tolist()):
        table = tables.table(i)
        key = (*_margins(table), np.sort(table[table > 0]).tobytes(), round(float(sums[k]), 11))
        copy_of[k] = equal.setdefault(key, len(equal))
    first = np.unique(copy_of, return_index=True)[1]
    which, sums = which[first], sums[first]

    def count_extreme(i: int, rows: IntArray, columns: IntArray, cells: IntArray) -> int:
        expected = np.outer(rows, columns).ravel().astype(np.float64)
        drawn_sums = (cells.astype(np.float64) ** 2 / expected).sum(axis=1)
        return int((drawn_sums >= sums[i] * (1 - SAME_SUM)).sum())

    count = _RandomTables(tables, which, count_extreme, random_state, n_jobs)
    reached, drawn = np.zeros((2, len(which)), np.int64)
    n_columns = len(tables) if n_columns is None else n_columns
    draw_in_stages(count, reached, drawn, n_draws=n_draws, n_columns=n_columns)
    return ((1 + reached) / (1 + drawn))[copy_of], drawn[copy_of]


# ---- Fisher's exact test --------------------------------------------------------------------
def fisher(
    tables: Tables,
    *,
    n_draws: int = 10_000,
    n_columns: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Fisher:
    """Test every table by Fisher's exact test, or by random tables if that takes too long.

    With random tables, ``p = (1 + number at most as probable as the observed) / (1 + number)``;
    `n_draws` of them, and more where p is small and decides about the q-values of `n_columns`
    columns (by default as many as there are tables). Ctrl-C ends the tests, and the results so far
    are returned; `progress` is called with (tables tested, tables).

    Examples
    --------
    >>> import numpy as np
    >>> tea = Tables(np.array([3, 1, 1, 3]), np.array([0, 4]), 2)
    >>> np.exp(fisher(tea).log_p).round(4).tolist()
    [0.4857]
    """
    log_p, log_probability = np.empty(len(tables)), np.empty(len(tables))
    drawn = np.zeros(len(tables), np.int64)
    most = np.add.reduceat(tables.counts, tables.start[:-1]).max(initial=0) if len(tables) else 0
    log_factorial = special.gammaln(np.arange(most + 1) + 1.0)

    def test_small_tables(block: tuple[int, int]) -> None:
        fisher_small(
            tables.counts, tables.start, tables.n_classes, log_factorial, *block,
            log_p, log_probability,
        )  # fmt: skip

    run_blocks(test_small_tables, split(len(tables), BLOCK), n_jobs)

    def report() -> None:
        if progress is not None:
            progress(len(tables) - int(np.isnan(log_p).sum()), len(tables))

    try:
        large = _sum_large_tables(tables, log_p, log_probability, log_factorial, n_jobs, report)
        if len(large):

            def count_extreme(i: int, rows: IntArray, columns: IntArray, cells: IntArray) -> int:
                values = log_factorial[columns].sum() - log_factorial[cells].sum(axis=1)
                whole = log_factorial[rows.sum()] - log_factorial[rows].sum()
                return int((values <= log_probability[large[i]] + whole + TIE).sum())

            reached, divisor = np.zeros((2, len(large)), np.int64)

            def report_drawn() -> None:
                drawn[large] = divisor
                log_p[large[divisor > 0]] = np.log((1 + reached) / (1 + divisor))[divisor > 0]
                report()

            draw_in_stages(
                _RandomTables(tables, large, count_extreme, random_state, n_jobs),
                reached, divisor, n_draws=n_draws,
                n_columns=len(tables) if n_columns is None else n_columns,
                all_at_once=True, batch=BATCH, report=report_drawn,
            )  # fmt: skip
    except KeyboardInterrupt:
        pass  # what was not tested is NaN
    return Fisher(log_p, log_probability, drawn)


def _sum_large_tables(
    tables: Tables,
    log_p: FloatArray,
    log_probability: FloatArray,
    log_factorial: FloatArray,
    n_jobs: int | None,
    report: Callable[[], None],
) -> IntArray:
    """Fill in log p of larger tables, where it is NaN; return those too large for a sum."""
    groups: dict[Margins, list[int]] = {}
    for i in np.flatnonzero(np.isnan(log_p)).tolist():
        groups.setdefault(_margins(tables.table(i)), []).append(i)
    work = list(groups.items())
    large: list[int] = []

    def sum_tables(item: tuple[Margins, list[int]]) -> FloatArray | None:
        rows, columns = (np.array(margin) for margin in item[0])
        return _log_tail(rows, columns, log_probability[item[1]], log_factorial)

    for low, high in split(len(work), BATCH):
        batch = work[low:high]
        for (_, members), tail in zip(batch, run_blocks(sum_tables, batch, n_jobs), strict=True):
            if tail is None:
                large.extend(members)
            else:
                log_p[members] = tail
        report()
    return np.array(sorted(large), np.int64)


def _log_tail(
    rows: IntArray, columns: IntArray, log_probability: FloatArray, log_factorial: FloatArray
) -> FloatArray | None:
    """Return log p of some tables with the same margins; None if too many would be listed."""
    whole = log_factorial[rows.sum()] - log_factorial[rows].sum()
    exact = exact_tail(rows, columns, log_probability + whole + TIE, log_factorial)
    return None if exact is None else np.where(exact - whole > -TIE, 0.0, exact - whole)


def _margins(table: IntArray) -> Margins:
    """Return both margins without zeros, the largest first; the shorter margin comes first."""
    levels, classes = (np.sort(table.sum(axis=axis))[::-1] for axis in (1, 0))
    levels, classes = levels[levels > 0], classes[classes > 0]
    first, second = (classes, levels) if len(classes) <= len(levels) else (levels, classes)
    return tuple(first.tolist()), tuple(second.tolist())


# ---- random tables --------------------------------------------------------------------------
class _RandomTables:
    """Counts random tables that are as extreme as the observed of the same margins.

    ``count_extreme(i, rows, columns, cells)`` counts them for one of the tables.
    """

    def __init__(
        self,
        tables: Tables,
        which: IntArray,
        count_extreme: Callable[[int, IntArray, IntArray, IntArray], int],
        random_state: int,
        n_jobs: int | None,
    ) -> None:
        self.tables = [tables.table(i) for i in which.tolist()]
        self.count_extreme, self.random_state, self.n_jobs = count_extreme, random_state, n_jobs

    def __call__(self, active: IntArray, low: int, high: int) -> IntArray:
        """Return the number among tables `low` to `high` for the active ones."""

        def count_one(i: int) -> int:
            table = self.tables[i]
            rows, columns = (np.array(margin) for margin in _margins(table))
            counts = np.sort(table[table > 0])
            random = np.random.default_rng(
                [self.random_state, low, len(rows), *rows, *columns, *counts]
            )
            distribution = stats.random_table(rows, columns)
            total = 0
            for a, b in split(high - low, max(1, DRAWN_CELLS // (len(rows) * len(columns)))):
                cells = distribution.rvs(b - a, random_state=random).reshape(b - a, -1)
                total += self.count_extreme(i, rows, columns, cells.astype(np.int64))
            return total

        return np.array(run_blocks(count_one, active.tolist(), self.n_jobs), np.int64)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _count(codes, rows, y, n_classes, start, lo, hi, counts):
    for f in range(lo, hi):
        column = codes[rows[f]]
        base = start[f] - n_classes
        for i in range(len(y)):
            if column[i] > 0:
                counts[base + column[i] * n_classes + y[i]] += 1


@kernel
def _chi_squared(counts, start, n_classes, lo, hi, statistic, freedom):
    classes = np.empty(n_classes, counts.dtype)
    for f in range(lo, hi):
        base = start[f]
        levels = np.empty((start[f + 1] - base) // n_classes, counts.dtype)
        n, n_levels, n_present = margin_sums(counts, base, levels, classes)
        if n_levels < 2 or n_present < 2:
            continue
        total = 0.0
        for i in range(len(levels)):
            for c in range(n_classes):
                if levels[i] > 0 and classes[c] > 0:
                    # whole numbers as long as possible: independence gives exactly zero
                    expected = np.float64(levels[i] * classes[c])
                    difference = counts[base + i * n_classes + c] * n - expected
                    total += difference * difference / expected
        statistic[f] = total / n
        freedom[f] = (n_levels - 1) * (n_present - 1)


@kernel
def _small_expected(counts, start, n_classes, lo, hi, out):
    classes = np.empty(n_classes, counts.dtype)
    for f in range(lo, hi):
        base = start[f]
        levels = np.empty((start[f + 1] - base) // n_classes, counts.dtype)
        n, n_levels, n_present = margin_sums(counts, base, levels, classes)
        if n_levels < 2 or n_present < 2:
            continue
        below_five, below_one = 0, 0
        for i in range(len(levels)):
            for c in range(n_classes):
                if levels[i] > 0 and classes[c] > 0:
                    expected = levels[i] * classes[c] / n
                    below_five += expected < 5
                    below_one += expected < 1
        out[f] = below_one > 0 or 5 * below_five > n_levels * n_present


@kernel
def _gamma_fraction(a, x):
    """Return the continued fraction of the upper incomplete gamma function (DLMF 8.9.2), x > a."""
    out = np.empty(len(x))
    for i in range(len(x)):
        b = x[i] + 1.0 - a[i]
        upper = 1e300
        lower = 1.0 / b
        out[i] = lower
        for m in range(1, 100_000):
            term = -m * (m - a[i])
            b += 2.0
            lower = 1.0 / (term * lower + b)
            upper = b + term / upper
            out[i] *= lower * upper
            if abs(lower * upper - 1.0) < 1e-15:
                break
    return out
