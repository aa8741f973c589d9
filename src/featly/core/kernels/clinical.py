r"""The clinical kernel of many columns: products, forms and matrices without n x n x p memory.

Every column is put on a line so that one formula serves all kinds:

.. math:: k_f(a, b) = \max(0, 1 - |z_a - z_b|)

A number lies at (x - min) / (max - min), a level at twice its code, a missing value far from every
value but itself. With the rows in the order of z, a column falls into *runs*: a number
column is one run, a level is a run, a missing value is a run by itself; rows of different runs
have similarity 0. Within a run, with steps :math:`g_k` between neighbours,
:math:`P_k` the sum of v up to the k-th row and S that of the run,

.. math:: v'K_f v = \sum_{runs} S^2 - 2 S \sum_k g_k P_k + 2 \sum_k g_k P_k^2

which is O(n), as is :math:`K_f v`.

Daemen, A. and De Moor, B. (2009), Development of a kernel function for clinical data, *EMBC*,
5913-5917.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = [
    "ClinicalColumns",
    "add_product",
    "add_similarities",
    "clinical_columns",
    "code_positions",
    "copy_to_upper",
    "number_positions",
    "ranges",
]


COLUMN_BLOCK = 256  # columns that one task sorts or sums over
TILE_COLUMNS = 64  # columns that are spread out at a time for a Gram matrix: they stay in cache
ROW_BLOCK = 64  # rows of a Gram matrix that one task fills
LEVEL_STEP = 2.0  # between two levels: further than any similarity reaches

# mypy: disable-error-code="no-untyped-def"


# ---- positions on the line ------------------------------------------------------------------
def ranges(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return smallest value and range of every column, without missing values; 0 and 0 if empty.

    `numbers` is feature-major.
    """
    low, high = np.empty(len(numbers)), np.empty(len(numbers))
    _extremes(numbers, low, high)
    return low, high - low


@kernel
def _extremes(numbers, low, high):
    for f in range(len(numbers)):
        least, most = np.inf, -np.inf
        for x in numbers[f]:
            if x < least:
                least = x
            if x > most:
                most = x
        low[f] = least if least <= most else 0.0
        high[f] = most if least <= most else 0.0


def number_positions(
    numbers: FloatArray, low: FloatArray, span: FloatArray, first_row: int = 0
) -> FloatArray:
    """Convert feature-major numbers to positions in 0..1; those outside go to its ends.

    A missing value of row i goes to ``-2 (first_row + i + 1)``: no two rows meet there, so rows
    of two tables need different `first_row`.
    """
    z = np.empty(numbers.shape)
    _place_numbers(numbers, low, span, first_row, z)
    return z


@kernel
def _place_numbers(numbers, low, span, first_row, z):
    for f in range(len(numbers)):
        start, width = low[f], span[f]
        for i in range(numbers.shape[1]):
            x = numbers[f, i]
            if x != x:
                z[f, i] = -LEVEL_STEP * (first_row + i + 1)
            elif width > 0:
                z[f, i] = min(max((x - start) / width, 0.0), 1.0)
            else:
                z[f, i] = 0.0


def code_positions(codes: npt.NDArray[np.integer], first_row: int = 0) -> FloatArray:
    """Convert feature-major codes to positions, two levels never near; 0 is missing, as above."""
    away = -LEVEL_STEP * (first_row + np.arange(1, codes.shape[1] + 1))
    return np.where(codes == 0, away, LEVEL_STEP * codes.astype(np.float64))


# ---- Gram matrices --------------------------------------------------------------------------
def add_similarities(
    za: FloatArray,
    zb: FloatArray | None,
    weight: FloatArray,
    out: FloatArray,
    n_jobs: int | None = None,
) -> None:
    """Add ``sum_f weight_f max(0, 1 - |za[f, i] - zb[f, j]|)`` to ``out[i, j]``.

    Without `zb`, of `za` to itself: then the lower triangle is made, and mirrored.
    """
    zb, symmetric = (za, True) if zb is None else (zb, False)
    # numbers in [0, 1] need no maximum: two operations fewer, and they are most of a table
    near = _find_near(za, zb)
    plain_columns, clipped_columns = np.flatnonzero(near), np.flatnonzero(~near)
    rows = split(len(out), ROW_BLOCK)

    def add_row_block(block: tuple[int, int]) -> None:
        for columns, clipped in ((plain_columns, False), (clipped_columns, True)):
            for low, high in split(len(columns), TILE_COLUMNS):
                part = columns[low:high]
                if clipped:
                    _add_clipped(za, zb, part, weight, *block, symmetric, out)
                else:
                    _add_plain(za, zb, part, weight, *block, symmetric, out)

    run_blocks(add_row_block, rows, n_jobs)
    if symmetric:
        copy_to_upper(out)


@kernel
def _mark_near(z, is_near):
    for f in range(len(z)):
        near = True
        for x in z[f]:
            if x < 0.0 or x > 1.0:
                near = False
                break
        is_near[f] = near


def _find_near(za: FloatArray, zb: FloatArray) -> BoolArray:
    """Columns whose similarities cannot be negative before the maximum is taken."""
    near = np.empty(len(za), np.bool_)
    _mark_near(za, near)
    if zb is not za:
        other_near = np.empty(len(zb), np.bool_)
        _mark_near(zb, other_near)
        near &= other_near
    return near


@kernel
def _add_plain(za, zb, columns, weight, low, high, symmetric, out):
    total = 0.0
    for f in columns:
        total += weight[f]
    m = len(columns)
    whole = m - m % 4
    for i in range(low, high):
        end = i + 1 if symmetric else zb.shape[1]
        row = out[i]
        for j in range(end):
            row[j] += total
        for k in range(0, whole, 4):
            f0, f1, f2, f3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            a0, a1, a2, a3 = za[f0, i], za[f1, i], za[f2, i], za[f3, i]
            w0, w1, w2, w3 = weight[f0], weight[f1], weight[f2], weight[f3]
            b0, b1, b2, b3 = zb[f0], zb[f1], zb[f2], zb[f3]
            for j in range(end):
                row[j] -= (w0 * abs(a0 - b0[j]) + w1 * abs(a1 - b1[j])) + (
                    w2 * abs(a2 - b2[j]) + w3 * abs(a3 - b3[j])
                )
        for k in range(whole, m):
            f0 = columns[k]
            a0, w0, b0 = za[f0, i], weight[f0], zb[f0]
            for j in range(end):
                row[j] -= w0 * abs(a0 - b0[j])


@kernel
def _overlap(a, b):
    s = 1.0 - abs(a - b)
    return s if s > 0.0 else 0.0


@kernel
def _add_clipped(za, zb, columns, weight, low, high, symmetric, out):
    m = len(columns)
    whole = m - m % 4
    for i in range(low, high):
        end = i + 1 if symmetric else zb.shape[1]
        row = out[i]
        for k in range(0, whole, 4):
            f0, f1, f2, f3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
            a0, a1, a2, a3 = za[f0, i], za[f1, i], za[f2, i], za[f3, i]
            w0, w1, w2, w3 = weight[f0], weight[f1], weight[f2], weight[f3]
            b0, b1, b2, b3 = zb[f0], zb[f1], zb[f2], zb[f3]
            for j in range(end):
                row[j] += (w0 * _overlap(a0, b0[j]) + w1 * _overlap(a1, b1[j])) + (
                    w2 * _overlap(a2, b2[j]) + w3 * _overlap(a3, b3[j])
                )
        for k in range(whole, m):
            f0 = columns[k]
            a0, w0, b0 = za[f0, i], weight[f0], zb[f0]
            for j in range(end):
                row[j] += w0 * _overlap(a0, b0[j])


@kernel
def copy_to_upper(K):
    """Make a matrix symmetric by its lower triangle."""
    n = len(K)
    step = 32
    for top in range(0, n, step):
        for left in range(0, top + 1, step):
            for i in range(top, min(top + step, n)):
                for j in range(left, min(left + step, i)):
                    K[j, i] = K[i, j]


# ---- sums along the line --------------------------------------------------------------------
@kernel
def _fill_forms(order, line, places, v, include_missing, low, high, out):
    """Compute ``out[k] = v' K_f v`` for f = places[k], k from `low` to `high`.

    Without `include_missing`, less what the similarity of a missing value to itself adds.
    """
    n = len(v)
    for k in range(low, high):
        f = places[k]
        rows, z = order[f], line[f]
        form = 0.0
        total, first, second = 0.0, 0.0, 0.0
        start = 0
        if not include_missing:
            while start < n and z[start] < 0.0:  # missing values come first
                start += 1
        if start == n:
            out[k] = 0.0
            continue
        for i in range(start, n - 1):
            total += v[rows[i]]
            step = z[i + 1] - z[i]
            if step > 1.0:
                form += total * total - 2 * total * first + 2 * second
                total, first, second = 0.0, 0.0, 0.0
            else:
                first += step * total
                second += step * total * total
        total += v[rows[n - 1]]
        form += total * total - 2 * total * first + 2 * second
        out[k] = max(form, 0.0)


@kernel
def add_product(rows, z, v, w, along, out):
    """Add ``w K_f v`` of one column, given by the order of its rows and its sorted positions.

    `along` is a buffer for v in that order, so that scattered memory is read once.
    """
    n = len(v)
    for i in range(n):
        along[i] = v[rows[i]]
    start = 0
    while start < n:
        end = start
        total, first = 0.0, 0.0
        while True:
            total += along[end]
            end += 1
            if end == n or z[end] - z[end - 1] > 1.0:
                break
            first += (z[end] - z[end - 1]) * total
        # how far the others are from the first row of the run, weighted by v
        distance = (z[end - 1] - z[start]) * total - first
        below = 0.0
        for i in range(start, end):
            out[rows[i]] += w * (total - distance)
            if i + 1 < end:
                below += along[i]
                distance += (z[i + 1] - z[i]) * (2 * below - total)
        start = end


@kernel
def _add_products(order, line, places, v, weight, low, high, out):
    """Add ``sum_k weight_k K_f v`` to `out`, for f = places[k], k from `low` to `high`."""
    along = np.empty(len(v))
    for k in range(low, high):
        if weight[k] != 0.0:
            add_product(order[places[k]], line[places[k]], v, weight[k], along, out)


@kernel
def _spread_positions(order, line, places, out):
    """Write the positions of some columns back in the order of the rows."""
    for k in range(len(places)):
        f = places[k]
        for i in range(order.shape[1]):
            out[k, order[f, i]] = line[f, i]


@kernel
def _pick_rows(order, line, places, member, out):
    """Write the positions of some rows: row i goes to ``member[i]``, or nowhere if negative."""
    for k in range(len(places)):
        f = places[k]
        for i in range(order.shape[1]):
            at = member[order[f, i]]
            if at >= 0:
                out[k, at] = line[f, i]


@kernel
def _count_distinct(line, out):
    for f in range(len(line)):
        count = 1
        for i in range(line.shape[1] - 1):
            count += line[f, i + 1] > line[f, i]
        out[f] = count


@kernel
def _mark_lonely(line, places, out):
    for k in range(len(places)):
        z = line[places[k]]
        out[k] = True
        for i in range(len(z) - 1):
            if z[i + 1] - z[i] <= 1.0:
                out[k] = False
                break


class ClinicalColumns:
    """Columns under the clinical kernel: each is a kernel of its own, and their sum one too.

    Parameters
    ----------
    positions : float array of shape (n_features, n_rows), or list of such blocks
        What :func:`number_positions` and :func:`code_positions` give.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    n_rows, n_features : int
    rank : int
        The sum kernel has at most this rank.

    Notes
    -----
    The order of the rows and the sorted positions are stored, 12 bytes a cell.
    """

    def __init__(
        self, positions: FloatArray | Sequence[FloatArray], n_jobs: int | None = None
    ) -> None:
        blocks = [positions] if isinstance(positions, np.ndarray) else list(positions)
        self.n_jobs = n_jobs
        self.n_rows: Any = blocks[0].shape[1]
        count = sum(len(block) for block in blocks)
        self._order = np.empty((count, self.n_rows), np.int32)
        self._line = np.empty((count, self.n_rows))
        distinct = np.empty(count, np.int64)
        done = 0
        for block in blocks:
            self._sort(block, done, distinct)
            done += len(block)
        self._distinct = distinct
        self._places = np.arange(count)

    @classmethod
    def from_source(cls, source: Source) -> "ClinicalColumns":
        """Sort the columns of a source, with the ranges of its own rows."""
        self = object.__new__(cls)
        p, n = source.n_features, source.n_rows
        self.n_jobs, self.n_rows = source.n_jobs, n
        self._order, self._line = np.empty((p, n), np.int32), np.empty((p, n))
        self._distinct, self._places = np.empty(p, np.int64), np.arange(p)

        def sort_block(block: tuple[int, int]) -> None:
            z = source_positions(source, np.arange(*block))
            self._sort(z, block[0], self._distinct)

        run_blocks(sort_block, split(p, COLUMN_BLOCK), self.n_jobs)
        return self

    def _sort(self, z: FloatArray, at: int, distinct: IntArray) -> None:
        part = slice(at, at + len(z))
        order = np.argsort(z, axis=1)
        self._order[part] = order
        self._line[part] = np.take_along_axis(z, order, axis=1)
        _count_distinct(self._line[part], distinct[part])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._places)

    @property
    def rank(self) -> int:
        """Upper bound of the rank of the sum kernel."""
        return int(min(self.n_rows, self._distinct[self._places].sum()))

    @property
    def lonely(self) -> BoolArray:
        """Columns in which no two rows have any similarity: nothing can be learnt from them.

        These are columns without any value, and categories that name the rows.
        """
        is_lonely = np.empty(self.n_features, np.bool_)
        _mark_lonely(self._line, self._places, is_lonely)
        return is_lonely

    def view(self, features: IntArray) -> "ClinicalColumns":
        """Select these columns, in this order; nothing is copied."""
        columns = object.__new__(ClinicalColumns)
        columns.__dict__.update(self.__dict__)
        columns._places = self._places[features]
        return columns

    def forms(self, v: FloatArray, include_missing: bool = True) -> FloatArray:
        """``v' K_f v`` of every column, in O(n p).

        Without `include_missing`, :math:`v_i^2` is subtracted for every missing value: its
        similarity to itself carries no information about the column.
        """
        out = np.empty(self.n_features)

        def fill_block(block: tuple[int, int]) -> None:
            _fill_forms(self._order, self._line, self._places, v, include_missing, *block, out)

        run_blocks(fill_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return out

    def product(self, v: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """``sum_f weight_f K_f v`` in O(n p), without the matrix; weights are 1 if not given."""
        weights = np.ones(self.n_features) if weight is None else weight
        size = max(1, min(COLUMN_BLOCK, -(-self.n_features // 8)))

        def sum_block(block: tuple[int, int]) -> FloatArray:
            out = np.zeros(self.n_rows)
            _add_products(self._order, self._line, self._places, v, weights, *block, out)
            return out

        parts = run_blocks(sum_block, split(self.n_features, size), self.n_jobs)
        return np.sum(parts, axis=0) if len(parts) > 1 else parts[0]

    def gram(
        self,
        weight: FloatArray | None = None,
        features: IntArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """``sum_f weight_f K_f``, of all columns or some; added to `out` if given."""
        places = self._places if features is None else self._places[features]
        weights = np.ones(len(places)) if weight is None else weight
        if out is None:
            out = np.zeros((self.n_rows, self.n_rows))
        # blocks limit the memory of the copies in row order
        size = max(TILE_COLUMNS, (32 << 20) // (8 * self.n_rows))
        for low, high in split(len(places), size):
            z = np.empty((high - low, self.n_rows))
            _spread_positions(self._order, self._line, places[low:high], z)
            add_similarities(z, None, weights[low:high], out, self.n_jobs)
        return out

    def block(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f K_f`` between some rows alone."""
        member = np.full(self.n_rows, -1)
        member[rows] = np.arange(len(rows))
        z = np.empty((self.n_features, len(rows)))
        _pick_rows(self._order, self._line, self._places, member, z)
        out = np.zeros((len(rows), len(rows)))
        add_similarities(z, None, weight, out, self.n_jobs)
        return out


@question(disk=False, gpu="featly.core.kernels.clinical_cuda")
def clinical_columns(source: Source) -> Any:
    """Return the columns of a source sorted, with the ranges of its own rows."""
    return ClinicalColumns.from_source(source)


def source_positions(source: Source, features: IntArray) -> FloatArray:
    """Place some columns of a source on the line."""
    z = np.empty((len(features), source.n_rows))
    coded = source.kinds[features] == CATEGORICAL
    if (~coded).any():
        numbers = source.load(features[~coded])
        z[~coded] = number_positions(numbers, *ranges(numbers))
    if coded.any():
        z[coded] = code_positions(source.level_codes(features[coded]))
    return z
