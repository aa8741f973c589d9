r"""Columns of levels and the symmetric uncertainty of every two of them.

.. math::

    SU(f, g) = 2 \frac{H(f) + H(g) - H(f, g)}{H(f) + H(g)}

It is mutual information, normalised: 1 where each column determines the other, 0 where the two are
independent or one is constant. A missing value is a level of its own. Entropies are whole numbers
(:mod:`featly.core.counts.entropy`), and values are rounded to multiples of 2^-36, as in
:mod:`featly.core.counts.uncertainty`: the same bits in any order, on any device. The screened
value is exact.

Columns of few levels are packed as bits, and joint counts are made by AND and counting ones, eight
columns side by side (:mod:`featly.core.runtime.simd`); those of many levels are counted row by row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.typing import BoolArray, FloatArray, IntArray, WordArray
from featly.core.counts.codes import FEW, Codes, DenseCodes
from featly.core.counts.entropy import FixedPoint, drop_rounding_noise
from featly.core.counts.uncertainty import GRID, Planes
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.simd import LANES, count_one, count_two, look_up

__all__ = ["CodedBlock", "CodedColumns"]

# mypy: disable-error-code="no-untyped-def"


STRIPE = 256  # columns that one task packs


@dataclass(frozen=True)
class CodedBlock:
    """Some columns of levels, packed for comparison.

    Attributes
    ----------
    features : int64 array
        Positions of the columns in the table.
    varies : bool array
        Whether a column has more than one level, missing counted as a level.
    codes : uint16 array of shape (width, n_rows)
        Empty where no column has many levels.
    bits : uint64 array of shape (n_planes, n_words)
    start : int64 array of shape (width,)
        First plane of a column; -1 for a column of many levels.
    sizes : int64 array
        Number of rows of every plane.
    lanes : uint64 array of shape (n_groups, largest number of planes, n_words, 8)
        The same bits, of eight columns side by side, without the last level of each.
    lane_sizes : int64 array of shape (n_groups, largest number of planes, 8)
        Number of rows of every plane in `lanes`.
    occupied : int64 array of shape (width,)
        Number of levels that occur.
    entropy : int64 array of shape (width,)
        Entropy of each column, as a whole number.
    """

    features: IntArray
    varies: BoolArray
    codes: npt.NDArray[np.uint16]
    bits: WordArray
    start: IntArray
    sizes: IntArray
    lanes: WordArray
    lane_sizes: IntArray
    occupied: IntArray
    entropy: IntArray


class CodedColumns:
    """Columns of levels to be compared by symmetric uncertainty.

    Parameters
    ----------
    codes : Codes

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.search import neighbours
    >>> from featly.core.counts.codes import DenseCodes
    >>> matrix = np.array([[1, 1, 2, 2], [1, 2, 1, 2], [3, 3, 1, 1]], np.uint8)
    >>> columns = CodedColumns(DenseCodes(matrix, np.array([2, 2, 3])))
    >>> neighbours(columns, 1, 1 << 20)[0][:, 0].tolist()
    [2, -1, 0]
    """

    n_jobs: int | None
    n_rows: int
    n_features: int

    dtype: npt.DTypeLike = np.float64
    margin: float = 0.0
    grid = GRID

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.n_features, self.n_rows, self.n_jobs = codes.n_features, codes.n_rows, codes.n_jobs
        self.many: BoolArray = codes.n_levels >= FEW
        self.most: int = int(codes.n_levels.max(initial=0)) + 1
        planes = int(codes.n_levels[~self.many].max(initial=0)) + 1
        self.bytes_per_column: int = self.n_rows * 2 * (planes + 7) // 8 + 2 * self.n_rows + 64
        self.table: IntArray = FixedPoint.for_rows(self.n_rows).table

    def load(self, features: IntArray) -> CodedBlock:
        """Load some columns as bits, and as codes where some have many levels."""
        many = self.many[features]
        # all at once: columns on disk are discretised many at a time, however few are needed
        matrix = self.codes.take(features)
        few = np.flatnonzero(~many)
        stripes = [few[low:high] for low, high in split(len(few), STRIPE)]
        n_levels = self.codes.n_levels[features]

        def pack_stripe(positions: IntArray) -> Planes:
            return Planes(DenseCodes(matrix[positions], n_levels[positions], 1))

        parts = run_blocks(pack_stripe, stripes, self.n_jobs)
        start = np.full(len(features), -1)
        sizes = np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)])
        counts = np.concatenate([np.empty(0, np.int64), *(np.diff(part.start) for part in parts)])
        start[~many] = np.cumsum(counts) - counts
        n_words = (self.n_rows + 63) // 64
        bits = np.concatenate([np.empty((0, n_words), np.uint64), *(part.bits for part in parts)])
        occupied = np.zeros(len(features), np.int64)
        entropy = np.zeros(len(features), np.int64)
        occupied[~many] = counts
        entropy[~many] = np.concatenate([np.empty(0, np.int64), *(part.entropy for part in parts)])
        codes = np.empty((0, self.n_rows), np.uint16)
        if self.many.any():
            codes = matrix.astype(np.uint16)
            _sizes(codes, many, self.table, self.most, occupied, entropy)
        return self._make_block(features, codes, bits, start, sizes, occupied, entropy)

    def _make_block(
        self,
        features: IntArray,
        codes: npt.NDArray[np.uint16],
        bits: WordArray,
        start: IntArray,
        sizes: IntArray,
        occupied: IntArray,
        entropy: IntArray,
    ) -> CodedBlock:
        most = max(1, int(occupied[start >= 0].max(initial=0)) - 1)
        n_groups = -(-len(features) // LANES)
        lanes = np.zeros((n_groups, most, bits.shape[1], LANES), np.uint64)
        lane_sizes = np.zeros((n_groups, most, LANES), np.int64)

        def fill_lanes(groups: tuple[int, int]) -> None:
            _interleave_planes(bits, start, sizes, occupied, *groups, lanes, lane_sizes)

        run_blocks(fill_lanes, split(n_groups, STRIPE // LANES), self.n_jobs)
        return CodedBlock(
            features, occupied > 1, codes, bits, start, sizes, lanes, lane_sizes, occupied, entropy
        )

    def part(self, block: CodedBlock, mask: BoolArray) -> CodedBlock:
        """Return the columns of a block that a mask selects."""
        if mask.all():
            return block
        codes = block.codes[mask] if len(block.codes) else block.codes
        return self._make_block(
            block.features[mask], codes, block.bits, block.start[mask], block.sizes,
            block.occupied[mask], block.entropy[mask],
        )  # fmt: skip

    def screen(self, left: CodedBlock, right: CodedBlock, low: int, high: int) -> FloatArray:
        """Return screened values, which are exact here; `low` is a multiple of 8."""
        values = np.zeros((high - low, len(right.features)))
        groups = slice(low // LANES, -(-high // LANES))
        _plane_tile(
            left.lanes[groups],
            left.lane_sizes[groups],
            left.start[low:high],
            left.occupied[low:high],
            left.entropy[low:high],
            right.bits,
            right.start,
            right.sizes,
            right.occupied,
            right.entropy,
            self.table,
            values,
        )
        if (left.start[low:high] < 0).any() or (right.start < 0).any():
            _row_tile(
                left.codes[low:high], left.start[low:high], left.occupied[low:high],
                left.entropy[low:high], right.codes, right.start, right.occupied, right.entropy,
                self.table, self.most, values,
            )  # fmt: skip
        return values

    def value(
        self, left: CodedBlock, right: CodedBlock, i: IntArray, j: IntArray, screened: Any
    ) -> FloatArray:
        """Return the screened values, which are exact."""
        return np.asarray(screened, np.float64)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _sizes(codes, many, table, most, occupied, entropy):
    """Fill in the number of occupied levels and the entropy of columns of many levels."""
    counts = np.zeros(most, np.int64)
    for f in range(len(codes)):
        if not many[f]:
            continue
        counts[:] = 0
        for code in codes[f]:
            counts[code] += 1
        occupied[f] = 0
        entropy[f] = table[len(table) - 1]
        for size in counts:
            occupied[f] += size > 0
            entropy[f] -= table[size]


@kernel
def _quotient(entropies, cells, terms, table):
    """Return the value of a pair from the sum of its cells, as a multiple of 1 / GRID."""
    mutual = drop_rounding_noise(entropies - (table[len(table) - 1] - cells), terms)
    return np.rint(2 * mutual / entropies * GRID) / GRID if mutual > 0 else 0.0


@kernel
def _interleave_planes(bits, start, sizes, occupied, low, high, lanes, lane_sizes):
    for group in range(low, high):
        for lane in range(LANES):
            f = group * LANES + lane
            if f >= len(start) or start[f] < 0:
                continue
            for plane in range(occupied[f] - 1):
                lane_sizes[group, plane, lane] = sizes[start[f] + plane]
                for w in range(bits.shape[1]):
                    lanes[group, plane, w, lane] = bits[start[f] + plane, w]


@kernel
def _plane_tile(
    lanes, lane_sizes, start, occupied, entropy, bits, start_2, sizes_2, occupied_2, entropy_2,
    table, out,
):  # fmt: skip
    """Compute joint counts by AND of planes; those of the last levels are remainders."""
    n_groups, most, n_words = lanes.shape[:3]
    planes = lanes.reshape(-1)
    max_levels = 2
    for k in range(len(start_2)):
        if start_2[k] >= 0:
            max_levels = max(max_levels, occupied_2[k])
    counts = np.zeros((most + 1) * max_levels * LANES, np.int64)
    sums = np.empty(LANES, np.int64)
    terms = np.empty(LANES, np.int64)
    for group in range(n_groups):
        first = group * LANES
        n_mine = 0
        for f in range(first, min(first + LANES, len(start))):
            if start[f] >= 0:
                n_mine = max(n_mine, occupied[f] - 1)
        if n_mine < 1:
            continue
        at = group * most * n_words * LANES
        for k in range(len(start_2)):
            if start_2[k] < 0 or occupied_2[k] < 2:
                continue
            n_others = occupied_2[k] - 1
            others = bits[start_2[k] : start_2[k] + n_others].reshape(-1)
            length = (n_others + 1) * LANES
            last = n_mine * length
            for i in range(n_mine):
                for lane in range(LANES):
                    counts[i * length + n_others * LANES + lane] = lane_sizes[group, i, lane]
            for j in range(n_others + 1):
                for lane in range(LANES):
                    counts[last + j * LANES + lane] = sizes_2[start_2[k] + j]
            i = 0
            while i + 2 <= n_mine:
                count_two(
                    planes, at + i * n_words * LANES, others, n_others, n_words, 0, n_words,
                    counts, i * length, length, last,
                )  # fmt: skip
                i += 2
            if i < n_mine:
                count_one(
                    planes, at + i * n_words * LANES, others, n_others, n_words, 0, n_words,
                    counts, i * length, length, last,
                )  # fmt: skip
            corner = last + n_others * LANES
            for i in range(n_mine):
                for lane in range(LANES):
                    counts[corner + lane] -= counts[i * length + n_others * LANES + lane]
            n_cells = (n_mine + 1) * (n_others + 1)
            sums[:] = 0
            look_up(table, counts, 0, n_cells, sums, 0)
            terms[:] = 0
            for cell in range(n_cells):
                for lane in range(LANES):
                    terms[lane] += counts[cell * LANES + lane] > 1
            for f in range(first, min(first + LANES, len(start))):
                if start[f] >= 0 and occupied[f] > 1:
                    lane = f - first
                    n_terms = 2 + occupied[f] + occupied_2[k] + terms[lane]
                    out[f, k] = _quotient(entropy[f] + entropy_2[k], sums[lane], n_terms, table)


@kernel
def _row_tile(
    codes, start, occupied, entropy, codes_2, start_2, occupied_2, entropy_2, table, most, out
):
    """Compute pairs with a column of many levels; rows are sorted by the level of the first."""
    n = codes.shape[1]
    order = np.empty(n, np.int64)
    ends = np.empty(most, np.int64)
    counts = np.zeros(most, np.int64)
    for i in range(len(codes)):
        if occupied[i] < 2:
            continue
        counts[:] = 0
        for row in range(n):
            counts[codes[i, row]] += 1
        total = 0
        for level in range(most):
            ends[level] = total
            total += counts[level]
        for row in range(n):
            level = codes[i, row]
            order[ends[level]] = row
            ends[level] += 1
        # empty levels are removed once, not skipped again for every other column
        n_ends = 0
        begin = 0
        for level in range(most):
            if ends[level] > begin:
                begin = ends[level]
                ends[n_ends] = begin
                n_ends += 1
        counts[:] = 0
        for k in range(len(codes_2)):
            if (start[i] >= 0 and start_2[k] >= 0) or occupied_2[k] < 2:
                continue
            x = codes_2[k]
            cells = 0
            terms = 2 + occupied[i] + occupied_2[k]
            begin = 0
            for level in range(n_ends):
                for row in range(begin, ends[level]):
                    counts[x[order[row]]] += 1
                for row in range(begin, ends[level]):
                    size = counts[x[order[row]]]
                    if size > 0:
                        cells += table[size]
                        terms += size > 1
                        counts[x[order[row]]] = 0
                begin = ends[level]
            out[i, k] = _quotient(entropy[i] + entropy_2[k], cells, terms, table)
