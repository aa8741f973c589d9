r"""Schweizer and Wolff's dependence of columns, on empirical copulas with mid-ranks.

.. math::

    \sigma(x, y) = \frac{m}{n} \cdot
        \frac{\int \int |H(u, v) - F(u)\, G(v)| \, du \, dv}
             {\sqrt{\mathrm{Var}\, U \cdot \mathrm{Var}\, V}}

where (U, V) are the mid-ranks of the m rows with both values, divided by m: U of a row is the
share of smaller values plus half the share of equal ones. H is their joint distribution function,
F and G are its margins, n counts all rows. Without ties, Var U = (1 - 1/n²) / 12, H is the
empirical copula C, and this is :math:`12 \int\int |C(u, v) - uv|` on the grid of ranks.

Without the bars the integral is the covariance of U and V (Hoeffding), so sigma is Spearman's
rho without regard to sign, and at least its absolute value. It is at most 1: for two rows 1 and 2
drawn at random, the integral is at most :math:`\frac12 E|U_1 - U_2||V_1 - V_2|`, since for each u
its inner part is F (1 - F) times a Wasserstein distance; then Cauchy and Schwarz. It is 1 where,
and only where, one column is a strictly monotone function of the other. For two columns of two
values it is the absolute value of their correlation.

With levels 1, ..., K of x and 1, ..., L of y in rows a and b of their table, A and B the cumulated
counts t of levels and N those of the table, all terms are whole numbers:

.. math::

    \sigma = \frac{3 \sum_{a < K} \sum_{b < L} |m N_{ab} - A_a B_b| (t_a + t_{a+1}) (t_b + t_{b+1})}
                  {n \sqrt{(m^3 - \sum t_a^3) (m^3 - \sum t_b^3)}}

A column without an order has the largest sigma of the indicators of its levels.

Schweizer, B. and Wolff, E. F. (1981), On nonparametric measures of dependence for random
variables, *Annals of Statistics* 9, 879-885.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = ["RankedColumns", "class_dependence", "code_columns", "coded_bytes", "dependence"]

# mypy: disable-error-code="no-untyped-def"


SMALL_CODES = np.iinfo(np.uint16).max
SMALL_SUMS = 1 << 15  # rows up to which eight differences m N - A B, each up to m² / 4, fit 31 bits
CELLS = 1 << 23  # cells of one task, which takes some milliseconds
MOST_COLUMNS = 1024  # columns of one task
STEPS = 4  # rows that are passed at once
TILE = 1024  # levels that are updated together, so that their sums stay in the cache of a core


@dataclass(frozen=True)
class RankedColumns:
    """Columns as whole numbers: 0 is missing, others are dense ranks, or levels.

    Attributes
    ----------
    codes : uint16 or uint32 array of shape (n_features, n_rows)
        The codes of every column.
    n_levels : int64 array of shape (n_features,)
        The largest code of every column.
    unordered : bool array of shape (n_features,)
        Whether the codes of a column are levels without an order.
    """

    codes: AnyArray
    n_levels: IntArray
    unordered: BoolArray


def code_columns(source: Source, n_jobs: int | None = None) -> RankedColumns:
    """Code all columns of a source: two bytes a cell, four from 65,535 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> coded = code_columns(DenseSource(np.array([[0.5, 2.0], [0.5, np.nan], [-1.0, 7.0]])))
    >>> coded.codes.tolist(), coded.n_levels.tolist()
    ([[2, 2, 1], [1, 0, 2]], [2, 2])
    """
    codes = np.empty((source.n_features, source.n_rows), _code_type(source.n_rows))
    n_levels = np.zeros(source.n_features, np.int64)

    def code_block(block: tuple[int, int]) -> None:
        part = _code_range(source, *block)
        codes[slice(*block)], n_levels[slice(*block)] = part.codes, part.n_levels

    run_blocks(code_block, source.blocks(), n_jobs)
    return RankedColumns(codes, n_levels, source.kinds == CATEGORICAL)


def coded_bytes(source: Source) -> int:
    """Return the bytes of the codes that :func:`code_columns` makes."""
    return source.n_features * source.n_rows * np.dtype(_code_type(source.n_rows)).itemsize


@question
def class_dependence(
    source: Source, y: IntArray, n_classes: int, n_jobs: int | None = None
) -> FloatArray:
    """Compute sigma of every column with the classes, which have no order, block by block.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 0.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, 2.0], [4.0, 1.0, 3.0]])
    >>> class_dependence(DenseSource(X), np.array([0, 0, 1, 1]), 2).round(3).tolist()
    [0.894, 1.0, 0.236]
    """
    sigma = np.zeros(source.n_features)
    classes = (y + 1).astype(_code_type(source.n_rows))

    def fill_block(block: tuple[int, int]) -> None:
        coded = _code_range(source, *block)
        _mixed_pairs(
            classes, n_classes, True, coded.codes, coded.n_levels, coded.unordered,
            np.arange(len(coded.codes)), sigma[slice(*block)],
        )  # fmt: skip

    run_blocks(fill_block, source.blocks(), n_jobs)
    return sigma


def dependence(
    coded: RankedColumns, first: int, others: IntArray, n_jobs: int | None = None
) -> FloatArray:
    """Compute sigma of one column with each of some others.

    Two ordered columns of K and L distinct values cost K L operations and one pass over the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, -1.0, 2.0], [2.0, -8.0, 1.0], [3.0, -27.0, 4.0], [4.0, -64.0, 3.0]])
    >>> dependence(code_columns(DenseSource(X)), 0, np.arange(3)).round(3).tolist()
    [1.0, 1.0, 0.8]
    """
    codes, n_levels = coded.codes[first], int(coded.n_levels[first])
    unordered = bool(coded.unordered[first])
    table = (coded.codes, coded.n_levels)
    rows = np.argsort(codes, kind="stable")
    rows = rows[codes[rows] > 0]
    sums = np.empty(0, np.int32 if len(codes) < SMALL_SUMS else np.int64)  # only its type is used
    mixed = coded.unordered[others] | unordered
    sigma = np.empty(len(others))

    def fill_columns(positions: IntArray) -> None:
        out, columns = np.empty(len(positions)), others[positions]
        if mixed[positions[0]]:
            _mixed_pairs(codes, n_levels, unordered, *table, coded.unordered, columns, out)
        else:
            _ordered_pairs(rows, codes, *table, columns, sums, out)
        sigma[positions] = out

    size = max(1, min(MOST_COLUMNS, CELLS // max(1, n_levels * len(codes))))
    parts = (np.flatnonzero(~mixed), np.flatnonzero(mixed))
    blocks = [part[low:high] for part in parts for low, high in split(len(part), size)]
    run_blocks(fill_columns, blocks, n_jobs)
    return sigma


# ---- codes ----------------------------------------------------------------------------------
def _code_type(n_rows: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if n_rows < SMALL_CODES else np.uint32


def _code_range(source: Source, low: int, high: int) -> RankedColumns:
    """Code a range of columns."""
    categorical = source.kinds[low:high] == CATEGORICAL
    codes = np.zeros((high - low, source.n_rows), _code_type(source.n_rows))
    numeric = np.flatnonzero(~categorical)
    if len(numeric):
        values = source.load(low + numeric)
        # NumPy's sort is vectorised, and lets other threads run; NaN comes last
        _dense_ranks(values, np.argsort(values, axis=1), numeric, codes)
    codes[categorical] = source.level_codes(low + np.flatnonzero(categorical))
    return RankedColumns(codes, codes.max(axis=1).astype(np.int64), categorical)


@kernel
def _dense_ranks(values, order, columns, codes):
    """Write dense ranks of the rows of `values`, which `order` sorts, from 1; 0 is missing."""
    for k in range(len(values)):
        x, by, out = values[k], order[k], codes[columns[k]]
        rank, last = 0, np.nan
        for i in by:
            if np.isnan(x[i]):
                break
            if x[i] != last:
                rank += 1
                last = x[i]
            out[i] = rank


# ---- two ordered columns --------------------------------------------------------------------
@kernel
def _ordered_pairs(rows, first, codes, n_levels, columns, sums, out):
    """Fill `out` with sigma of a column with each of `columns`, all of them ordered.

    `rows` are the rows in which `first` has a value, in the order of its values. They are passed
    one after the other while ``difference[b] = m N_ab - A_a B_b`` is updated for all levels b of
    the other column, in whole numbers of the type of `sums`. The last row of a level a has the
    weight of that level; other rows have weight 0.
    """
    n = codes.shape[1]
    widest = 1
    for f in columns:
        widest = max(widest, n_levels[f])
    level, weight = np.empty(n + STEPS, np.int64), np.empty(n + STEPS, np.int64)
    count, heavy = np.empty(widest, np.int64), np.empty(widest, np.int64)
    below, difference = np.empty(widest, sums.dtype), np.empty(widest, sums.dtype)
    light = np.empty(widest, sums.dtype)
    for k in range(len(columns)):
        x, n_knots = codes[columns[k]], n_levels[columns[k]] - 1
        for b in range(n_knots + 1):
            count[b] = 0
        m, n_groups, last, start, before = 0, 0, 0, 0, 0
        ties = 0.0
        for i in rows:
            if x[i] == 0:
                continue
            if first[i] != last:
                if m > 0:
                    ties += np.float64(m - start) ** 3
                    if n_groups > 1:
                        weight[start - 1] = m - before
                    before, start = start, m
                n_groups += 1
                last = first[i]
            level[m], weight[m] = x[i] - 1, 0
            count[level[m]] += 1
            m += 1
        ties += np.float64(m - start) ** 3
        if n_groups > 1:
            weight[start - 1] = m - before
        for i in range(m, m + STEPS):
            level[i], weight[i] = n_knots, 0
        cube = np.float64(m) ** 3
        spread = cube - ties
        ties, run = 0.0, 0
        for b in range(n_knots + 1):
            ties += np.float64(count[b]) ** 3
            run += count[b]
            below[b] = run
            difference[b] = light[b] = heavy[b] = 0
        spread *= cube - ties
        if spread <= 0:
            out[k] = 0.0
            continue
        if n_groups * STEPS > m:
            for low in range(0, n_knots, TILE):
                tile = slice(low, min(low + TILE, n_knots))
                _pass_rows(
                    level, weight, m, low, below[tile], difference[tile], light[tile], heavy[tile]
                )
        else:
            _pass_groups(level, weight, m, n_knots, below, difference, light, heavy)
        integral = 0.0
        for b in range(n_knots):
            integral += np.float64(heavy[b]) * (count[b] + count[b + 1])
        out[k] = min(1.0, 3 * integral / (n * np.sqrt(spread)))


@kernel
def _pass_rows(level, weight, m, low, below, difference, light, heavy):
    """Add ``weight |difference|`` of all rows to `heavy`, four rows at once: for few ties.

    The levels begin at `low`. `light` holds the sums of some rows in the type of `difference`, and
    is added to `heavy` before it can overflow.
    """
    n_knots = len(difference)
    whole = difference.dtype.type
    full, none = whole(m), whole(0)
    most_weight, light_weight = (
        (np.int64(2) ** (8 * difference.itemsize - 1) - 1) // (m * m // 4 + 1),
        0,
    )
    for i in range(0, m, STEPS):
        more = weight[i] + weight[i + 1] + weight[i + 2] + weight[i + 3]
        if light_weight + more > most_weight:
            for b in range(n_knots):
                heavy[b] += light[b]
                light[b] = 0
            light_weight = 0
        if more > most_weight:
            for j in range(i, i + STEPS):
                for b in range(n_knots):
                    difference[b] += (full if low + b >= level[j] else none) - below[b]
                    heavy[b] += weight[j] * abs(np.int64(difference[b]))
            continue
        light_weight += more
        at0, at1 = whole(level[i] - low), whole(level[i + 1] - low)
        at2, at3 = whole(level[i + 2] - low), whole(level[i + 3] - low)
        w0, w1 = whole(weight[i]), whole(weight[i + 1])
        w2, w3 = whole(weight[i + 2]), whole(weight[i + 3])
        # numba widens every result to 64 bits; `whole` casts back, so sixteen fit into a register
        if w0 == w1 and w1 == w2 and w2 == w3:
            for b in range(n_knots):
                position, step = whole(b), below[b]
                g0 = whole(difference[b] + ((full if position >= at0 else none) - step))
                g1 = whole(g0 + ((full if position >= at1 else none) - step))
                g2 = whole(g1 + ((full if position >= at2 else none) - step))
                g3 = whole(g2 + ((full if position >= at3 else none) - step))
                difference[b] = g3
                light[b] += w0 * whole(whole(abs(g0) + abs(g1)) + whole(abs(g2) + abs(g3)))
        else:
            for b in range(n_knots):
                position, step = whole(b), below[b]
                g0 = whole(difference[b] + ((full if position >= at0 else none) - step))
                g1 = whole(g0 + ((full if position >= at1 else none) - step))
                g2 = whole(g1 + ((full if position >= at2 else none) - step))
                g3 = whole(g2 + ((full if position >= at3 else none) - step))
                difference[b] = g3
                light[b] += whole(w0 * abs(g0) + w1 * abs(g1)) + whole(w2 * abs(g2) + w3 * abs(g3))
    for b in range(n_knots):
        heavy[b] += light[b]


@kernel
def _pass_groups(level, weight, m, n_knots, below, difference, joined, heavy):
    """Do the same, one group of equal rows at once: for many ties."""
    start = 0
    for i in range(m):
        joined[level[i]] += 1
        if weight[i] == 0:
            continue
        run = 0
        for b in range(n_knots):
            run += joined[b]
            joined[b] = 0
            difference[b] += m * run - (i + 1 - start) * below[b]
            heavy[b] += weight[i] * abs(np.int64(difference[b]))
        start = i + 1


# ---- pairs with levels that have no order ---------------------------------------------------
@kernel
def _mixed_pairs(first, n_first, unordered_first, codes, n_levels, unordered, columns, out):
    """Fill `out` with sigma of a column with others where one of the two is unordered."""
    for k in range(len(columns)):
        f = columns[k]
        if not unordered_first:
            out[k] = _largest_indicator_sigma(codes[f], n_levels[f], first, n_first)
        elif not unordered[f]:
            out[k] = _largest_indicator_sigma(first, n_first, codes[f], n_levels[f])
        else:
            out[k] = _largest_indicator_correlation(first, n_first, codes[f], n_levels[f])


@kernel
def _largest_indicator_sigma(levels, n_levels, ranks, n_ranks):
    """Return the largest sigma of the indicator of a level with an ordered column."""
    by, start, sizes = _sort_levels_by_rank(levels, n_levels, ranks, n_ranks)
    m, ties = len(by), 0.0
    for b in range(n_ranks):
        ties += np.float64(start[b + 1] - start[b]) ** 3
    n_used = 1 if n_levels == 2 else n_levels  # of two levels, both indicators have the same sigma
    seen, summed = np.zeros(n_levels, np.int64), np.zeros(n_used, np.int64)
    for b in range(n_ranks - 1):
        for i in range(start[b], start[b + 1]):
            seen[by[i]] += 1
        weight = start[b + 2] - start[b]
        for a in range(n_used):
            summed[a] += weight * abs(m * seen[a] - start[b + 1] * sizes[a])
    spread = np.float64(m) ** 3 - ties
    sigma = 0.0
    for a in range(n_used):
        inside = np.float64(sizes[a]) * (m - sizes[a])
        if inside * spread > 0:
            sigma = max(sigma, summed[a] * np.sqrt(3 * m / (inside * spread)))
    return min(1.0, sigma / len(levels))


@kernel
def _largest_indicator_correlation(levels, n_levels, other_levels, n_others):
    """Return the largest sigma of an indicator of a level with an indicator of another column."""
    by, start, sizes = _sort_levels_by_rank(other_levels, n_others, levels, n_levels)
    m = len(by)
    joint = np.zeros(n_others, np.int64)
    sigma = 0.0
    for a in range(n_levels):
        size = start[a + 1] - start[a]
        if size == 0 or size == m:
            continue
        for i in range(start[a], start[a + 1]):
            joint[by[i]] += 1
        for b in range(n_others):
            inside = np.float64(size) * (m - size) * sizes[b] * (m - sizes[b])
            if inside > 0:
                sigma = max(sigma, abs(m * joint[b] - size * sizes[b]) / np.sqrt(inside))
            joint[b] = 0
    return min(1.0, sigma * m / len(levels))


@kernel
def _sort_levels_by_rank(levels, n_levels, ranks, n_ranks):
    """Sort the rows with both values by rank, and return their levels, counted from 0.

    Also return the start of each rank, and the number of rows at each level.
    """
    start, sizes = np.zeros(n_ranks + 1, np.int64), np.zeros(n_levels, np.int64)
    for i in range(len(ranks)):
        if ranks[i] > 0 and levels[i] > 0:
            start[ranks[i]] += 1
            sizes[levels[i] - 1] += 1
    for b in range(n_ranks):
        start[b + 1] += start[b]
    by, filled = np.empty(start[n_ranks], np.int64), start.copy()
    for i in range(len(ranks)):
        if ranks[i] > 0 and levels[i] > 0:
            by[filled[ranks[i] - 1]] = levels[i] - 1
            filled[ranks[i] - 1] += 1
    return by, start, sizes
