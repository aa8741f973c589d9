r"""Symmetric uncertainty of columns with the class and with each other.

.. math::

    SU(X, Y) = 2 \frac{H(X) + H(Y) - H(X, Y)}{H(X) + H(Y)}

Press, W. H. et al. (1988), *Numerical Recipes in C*, section 14.4. It is 1 where each column
determines the other, and 0 where they are independent or one is constant.

Values are rounded to multiples of 2^-36. Sums of fewer than 65,536 of them are then exact in
float64: they do not depend on the order in which a search adds them up, and ties are exact.
"""

import itertools
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import (
    FEW,
    Codes,
    CodesView,
    copy_bytes,
    gather_columns,
    select_columns,
)
from featly.core.counts.contingency import Tables
from featly.core.counts.entropy import FixedPoint, class_information, drop_rounding_noise, xlogx
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.runtime.simd import ones

__all__ = ["Pairs", "uncertainty"]

# mypy: disable-error-code="no-untyped-def"


GRID = 2.0**36
CELLS = 1 << 22  # of tables that are made at a time
BLOCK = 1024  # columns
PLANE_BLOCK = 8192


@question
def uncertainty(
    codes: Codes, groups: IntArray, n_groups: int, *, spread: bool = False
) -> FloatArray:
    """Return the symmetric uncertainty of every column with a grouping of the rows.

    Parameters
    ----------
    codes : Codes
    groups : int64 array of shape (n_rows,)
        From 1 to `n_groups`; 0 is a missing value.
    n_groups : int
    spread : bool, default=False
        Whether missing values are spread over the levels instead of being a level of their own:
        where one of the two is missing, in proportion to the levels; where both are, in proportion
        to the pairs of levels. That is what Weka does.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> from featly.core.counts.uncertainty import uncertainty
    >>> columns = np.array([[1, 1, 2, 2], [1, 2, 1, 2], [1, 1, 2, 0]], np.uint8)
    >>> codes, groups = DenseCodes(columns, np.array([2, 2, 2])), np.array([1, 1, 2, 2])
    >>> uncertainty(codes, groups, 2).round(3).tolist()
    [1.0, 0.0, 0.8]
    >>> uncertainty(codes, groups, 2, spread=True).round(3).tolist()
    [1.0, 0.0, 0.479]
    """
    cells = (codes.n_levels + 1) * (n_groups + 1)
    if not spread and (n_groups >= FEW or cells.max(initial=0) > CELLS):
        return _round_to_grid(_uncertainty_by_rows(codes, groups, n_groups))
    values = np.empty(codes.n_features)
    for low, high in _runs(cells):
        whole = high - low == codes.n_features
        part = codes if whole else CodesView(codes, np.arange(low, high))
        tables = part.tables(groups, n_groups + 1)
        if spread:
            values[low:high] = _spread_uncertainty(tables, codes.n_jobs)
        else:
            information = class_information(tables, codes.n_rows, codes.n_jobs)
            values[low:high] = information.uncertainty()
    return _round_to_grid(values)


def _round_to_grid(values: FloatArray) -> FloatArray:
    return np.rint(values * GRID) / GRID


def _runs(cells: IntArray) -> list[tuple[int, int]]:
    """Return ranges of columns whose tables have about `CELLS` cells together."""
    run = (np.cumsum(cells) - cells) // CELLS
    edges = [0, *(np.flatnonzero(np.diff(run)) + 1).tolist(), len(cells)]
    return list(itertools.pairwise(edges))


class Pairs:
    """Symmetric uncertainties between some columns, computed on demand and cached.

    Parameters
    ----------
    codes : Codes
    features : int64 array
        Numbers of the columns.
    spread : bool, default=False
        See :func:`uncertainty`.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> from featly.core.counts.uncertainty import Pairs
    >>> columns = np.array([[1, 1, 2, 2], [1, 2, 1, 2], [2, 2, 1, 1]], np.uint8)
    >>> pairs = Pairs(DenseCodes(columns, np.array([2, 2, 2])), np.array([0, 2]))
    >>> pairs.row(1).tolist()
    [1.0, 1.0]
    """

    codes: Codes
    spread: bool

    def __init__(self, codes: Codes, features: IntArray, *, spread: bool = False) -> None:
        self.codes, self.spread = select_columns(codes, features), spread
        self._cache: dict[int, FloatArray] = {}
        n_levels = self.codes.n_levels
        use_planes = n_levels.max(initial=0) < FEW and (
            n_levels + 1
        ).sum() * codes.n_rows <= 8 * copy_bytes(codes)
        self._planes = Planes(self.codes) if use_planes else None
        if self._planes is None or (spread and self._planes.missing):
            self._planes = None
            self.codes = gather_columns(self.codes, np.arange(len(features)))

    def __len__(self) -> int:
        return self.codes.n_features

    def row(self, k: int) -> FloatArray:
        """Return the symmetric uncertainty of the k-th column with each, itself included."""
        values = self._cache.get(k)
        if values is not None:
            return values
        if self._planes is not None:
            values = _round_to_grid(self._planes.uncertainty(k))
        else:
            groups = self.codes.block(k, k + 1)[0].astype(np.int64)
            n_groups = int(self.codes.n_levels[k])
            values = uncertainty(self.codes, groups, n_groups, spread=self.spread)
        self._cache[k] = values
        return values


# ---- few levels -----------------------------------------------------------------------------
class Planes:
    """Columns of few levels as bits: one for every row and level that occurs.

    Attributes
    ----------
    bits : uint64 array of shape (n_planes, n_words)
    start : int64 array of shape (n_features + 1,)
        Where the planes of a column begin.
    sizes : int64 array of shape (n_planes,)
        Rows of every level.
    missing : bool
        Whether any value is missing.
    """

    sizes: AnyArray
    bits: AnyArray

    def __init__(self, codes: Codes) -> None:
        self.n_jobs: int | None = codes.n_jobs
        blocks = split(codes.n_features, BLOCK)
        most = int(codes.n_levels.max(initial=0)) + 1

        def pack(block: tuple[int, int]) -> tuple[Any, ...]:
            packed: tuple[Any, ...] = _pack_levels(codes.block(*block), most)
            return packed

        bits, sizes, levels = zip(*run_blocks(pack, blocks, codes.n_jobs), strict=True)
        self.bits, self.sizes = np.concatenate(bits), np.concatenate(sizes)
        counts = np.concatenate(levels)
        self.missing: bool = bool((counts < 0).any())  # the sign says whether a value is missing
        self.start: AnyArray = np.concatenate([[0], np.cumsum(np.abs(counts))])
        self.table: IntArray = FixedPoint.for_rows(codes.n_rows).table
        self.entropy: Any = self.table[-1] - np.add.reduceat(
            self.table[self.sizes], self.start[:-1]
        )

    def uncertainty(self, k: int) -> FloatArray:
        """Return the symmetric uncertainty of the k-th column with each."""
        out = np.empty(len(self.entropy))

        def compute_block(block: tuple[int, int]) -> None:
            _uncertainty_by_planes(
                self.bits, self.start, self.sizes, self.entropy, self.table, k, *block, out
            )

        run_blocks(compute_block, split(len(out), PLANE_BLOCK), self.n_jobs)
        return out


@kernel
def _pack_levels(codes, most):
    """Pack planes of the levels that occur; their number is negative if a value is missing."""
    width, n = codes.shape
    sizes = np.zeros((width, most), np.int64)
    n_planes = 0
    for k in range(width):
        for i in range(n):
            sizes[k, codes[k, i]] += 1
        for level in range(most):
            n_planes += sizes[k, level] > 0
    bits = np.zeros((n_planes, (n + 63) // 64), np.uint64)
    plane_sizes = np.empty(n_planes, np.int64)
    counts = np.zeros(width, np.int64)
    plane = np.empty(most, np.int64)
    first = 0
    for k in range(width):
        for level in range(most):
            if sizes[k, level] > 0:
                plane[level] = first + counts[k]
                plane_sizes[plane[level]] = sizes[k, level]
                counts[k] += 1
        first += counts[k]
        if sizes[k, 0] > 0:
            counts[k] = -counts[k]
        for i in range(n):
            bits[plane[codes[k, i]], i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return bits, plane_sizes, counts


@kernel
def _uncertainty_by_planes(bits, start, sizes, entropy, table, f, lo, hi, out):
    """Compute joint counts by AND of planes; each last level gets the remaining rows."""
    low, high = start[f], start[f + 1]
    n_words = bits.shape[1]
    left = np.empty(high - low, np.int64)
    for k in range(lo, hi):
        for a in range(high - low):
            left[a] = sizes[low + a]
        cells = 0
        terms = 2 + high - low + start[k + 1] - start[k]
        for plane in range(start[k], start[k + 1] - 1):
            remaining = sizes[plane]
            for a in range(high - low - 1):
                total = np.uint64(0)
                for w in range(n_words):
                    total += ones(bits[plane, w] & bits[low + a, w])
                count = np.int64(total)
                left[a] -= count
                remaining -= count
                cells += table[count]
                terms += count > 1
            left[high - low - 1] -= remaining
            cells += table[remaining]
            terms += remaining > 1
        for a in range(high - low):
            cells += table[left[a]]
            terms += left[a] > 1
        joint = table[len(table) - 1] - cells
        mutual = drop_rounding_noise(entropy[f] + entropy[k] - joint, terms)
        out[k] = 2 * mutual / (entropy[f] + entropy[k]) if mutual > 0 else 0.0


# ---- many groups ----------------------------------------------------------------------------
def _uncertainty_by_rows(codes: Codes, groups: IntArray, n_groups: int) -> FloatArray:
    """Compute without tables, most of whose cells would be empty: rows are sorted by group."""
    fixed = FixedPoint.for_rows(codes.n_rows)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups, minlength=n_groups + 1))
    most = int(codes.n_levels.max(initial=0)) + 1
    out = np.zeros((2, codes.n_features), np.int64)

    def sum_block(block: tuple[int, int]) -> None:
        low, high = block
        _row_sums(codes.block(low, high), order, ends, fixed.table, most, low, out)

    run_blocks(sum_block, split(codes.n_features, BLOCK), codes.n_jobs)
    mutual, entropies = out
    values = np.zeros(codes.n_features)
    return np.divide(2 * mutual, entropies, out=values, where=mutual > 0)


@kernel
def _row_sums(codes, order, ends, table, most, first, out):
    n = len(order)
    counts = np.zeros(most, np.int64)
    by_group = 0
    begin = 0
    for g in range(len(ends)):
        by_group += table[ends[g] - begin]
        begin = ends[g]
    for k in range(len(codes)):
        x = codes[k]
        levels = 0
        terms = 2 + len(ends)
        for i in range(n):
            counts[x[i]] += 1
        for i in range(n):
            size = counts[x[i]]
            if size > 0:
                levels += table[size]
                terms += size > 1
                counts[x[i]] = 0
        cells = 0
        begin = 0
        for g in range(len(ends)):
            for i in range(begin, ends[g]):
                counts[x[order[i]]] += 1
            for i in range(begin, ends[g]):
                size = counts[x[order[i]]]
                if size > 0:
                    cells += table[size]
                    terms += size > 1
                    counts[x[order[i]]] = 0
            begin = ends[g]
        out[0, first + k] = drop_rounding_noise(table[n] + cells - levels - by_group, terms)
        out[1, first + k] = 2 * table[n] - levels - by_group


# ---- missing values spread over the levels --------------------------------------------------
def _spread_uncertainty(tables: Tables, n_jobs: int | None) -> FloatArray:
    """Compute from tables whose first row and first column count missing values."""
    out = np.zeros(len(tables))

    def compute_block(block: tuple[int, int]) -> None:
        _uncertainty_of_shares(tables.counts, tables.start, tables.n_classes, *block, out)

    run_blocks(compute_block, split(len(tables), BLOCK), n_jobs)
    return out


@kernel
def _uncertainty_of_shares(counts, start, n_groups, lo, hi, out):
    columns = np.empty(n_groups)
    spread_columns = np.empty(n_groups)
    for f in range(lo, hi):
        cell = counts[start[f] : start[f + 1]].reshape(-1, n_groups)
        n_levels = len(cell)
        rows = np.zeros(n_levels)
        columns[:] = 0.0
        n = 0.0
        for i in range(n_levels):
            for j in range(n_groups):
                rows[i] += cell[i, j]
                columns[j] += cell[i, j]
            n += rows[i]
        complete = n - rows[0] - columns[0] + cell[0, 0]
        if rows[0] == n or columns[0] == n:
            continue  # one of the two has no value at all
        # rows where both are missing are spread like those where both are known, if there are any
        both_share = cell[0, 0] / complete if complete > 0.0 else 0.0
        spread_columns[:] = 0.0
        total, cells, levels, by_group = 0.0, 0.0, 0.0, 0.0
        for i in range(1, n_levels):
            row_share = rows[i] / (n - rows[0])
            spread_row = 0.0
            for j in range(1, n_groups):
                weight = cell[i, j] * (1.0 + both_share)
                weight += row_share * cell[0, j]
                weight += columns[j] / (n - columns[0]) * cell[i, 0]
                cells += xlogx(weight)
                spread_row += weight
                spread_columns[j] += weight
            levels += xlogx(spread_row)
            total += spread_row
        for j in range(1, n_groups):
            by_group += xlogx(spread_columns[j])
        whole = xlogx(total)
        mutual = whole + cells - levels - by_group
        entropies = 2.0 * whole - levels - by_group
        if mutual > 1e-11 * whole and entropies > 0.0:
            out[f] = 2.0 * mutual / entropies
