r"""Columns of norm 1, whose products are correlations.

.. math::

    |r_{fg}| = |z_f' z_g|, \qquad z_f = \frac{x_f - \bar x_f}{\|x_f - \bar x_f\|}

A missing value counts as the mean of its column, so it adds nothing. A constant column forms no
pair. With mid-ranks this is Spearman's coefficient.

The value of a pair is computed in float64, summed in lanes of a fixed order that is the same on a
device, and rounded to a multiple of 2^-40: equal columns have exactly 1. Products in float32 are
computed first, tile by tile. They are only a screen: the screened value c of a pair is never
further than `margin` from its value v.

Let u = 2^-24, z and w the unit columns as they are in float64, a and b the same in float32, n rows
in chunks of m:

1. a = z + e with |e_i| <= u |z_i|, so that |e| <= u, and likewise b = w + e'. By Cauchy-Schwarz
   |a'b - z'w| <= |z||e'| + |e||w| + |e||e'| <= 2u + u^2.
2. A float32 dot product of m terms, in any order, with or without fused operations, is off by at
   most g |a|'|b| with g = m u / (1 - m u) (Higham 2002, section 3.1), and |a|'|b| <= |a||b|
   <= (1 + u)^2. Over chunks the products of the norms add up to at most |a||b|, by
   Cauchy-Schwarz once more.
3. To add up k chunks costs k - 1 roundings of a number that is at most 1 + g + 3u.
4. The norms of z and w differ from 1, and the float64 dot product from z'w, by less than n 2^-52
   each; v is rounded to 2^-40. For n up to 10^9 all of that is below 2^-20.

Altogether |c - v| <= (m + k + 4) u (1 + 2^-8) + 3 n 2^-52 + 2^-40, which is `margin`. A pair whose
screened value is below a bound by more than that has a value below the bound.

Higham, N. J. (2002), *Accuracy and Stability of Numerical Algorithms*, 2nd edition, SIAM.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import intrinsic, kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import DenseSource, Source
from featly.core.stats.correlations import mid_ranks

__all__ = ["GRID", "LANES", "LEAST", "NotFiniteError", "UnitColumns", "Units"]

# mypy: disable-error-code="no-untyped-def"


GRID = 2.0**40
LANES = 32  # partial sums of a column, on the CPU as on a device
CHUNK = 4096  # rows that are added up in float32
STRIPE = 128  # columns that one task reads
LEAST = 2.0**-960  # a smaller sum of squares has too few digits: the column counts as constant


class NotFiniteError(ValueError):
    """A column holds an infinite value, or values whose squares are infinite."""

    def __init__(self, feature: int) -> None:
        super().__init__(f"feature {feature}")
        self.feature = feature


@dataclass(frozen=True)
class Units:
    """Columns centred and of norm 1.

    Attributes
    ----------
    features : int64 array
        Positions of the columns in the table.
    varies : bool array
        False where a column is constant; its values are then all 0.
    fine : float64 array of shape (width, padded)
        The values; rows after the last are 0.
    coarse : float32 array of shape (width, padded)
        The same values in float32, for the screen.
    """

    features: IntArray
    varies: BoolArray
    fine: FloatArray
    coarse: npt.NDArray[np.float32]


class UnitColumns:
    """Columns to be compared by absolute correlation.

    Parameters
    ----------
    source : Source
        Without categorical columns.
    ranks : bool, default=False
        Whether values are replaced by their mid-ranks first.
    """

    n_rows: int
    n_features: int
    ranks: bool
    source: Source

    dtype = np.float32
    grid = GRID

    def __init__(self, source: Source, *, ranks: bool = False) -> None:
        if ranks and source.memory is not None:
            # once, into a temporary file: a column is loaded many times
            _refuse_infinite(source)
            source, ranks = mid_ranks(source), False
        self.source, self.ranks = source, ranks
        self.n_features, self.n_rows = source.n_features, source.n_rows
        self.n_jobs: int | None = source.n_jobs
        self.padded: int = -(-self.n_rows // LANES) * LANES
        self.bytes_per_column: int = 12 * self.padded
        chunks = split(self.padded, CHUNK)
        terms = min(self.padded, CHUNK) + len(chunks) + 4
        # proved in the docstring of the module
        self.margin: float = (
            terms * 2.0**-24 * (1 + 2.0**-8) + 3 * self.padded * 2.0**-52 + 1 / GRID
        )

    def load(self, features: IntArray) -> Units:
        """Load some columns, centred and of norm 1."""
        shape = len(features), self.padded
        fine, coarse = np.zeros(shape), np.zeros(shape, np.float32)
        varies = np.zeros(len(features), np.bool_)

        def load_stripe(stripe: tuple[int, int]) -> None:
            low, high = stripe
            part = features[low:high]
            raw = self.source.load(part)
            if self.ranks:
                infinite = np.isinf(raw).any(axis=1)
                if infinite.any():
                    raise NotFiniteError(int(part[infinite.argmax()]))
                raw = mid_ranks(DenseSource(raw.T, n_jobs=1)).load(np.arange(high - low))
            infinite_at = _standardise(raw, fine[low:high], coarse[low:high], varies[low:high])
            if infinite_at >= 0:
                raise NotFiniteError(int(part[infinite_at]))

        run_blocks(load_stripe, split(len(features), STRIPE), self.n_jobs)
        return Units(features, varies, fine, coarse)

    def part(self, block: Units, mask: BoolArray) -> Units:
        """Return the columns of a block that a mask selects."""
        if mask.all():
            return block
        return Units(block.features[mask], block.varies[mask], block.fine[mask], block.coarse[mask])

    def screen(self, left: Units, right: Units, low: int, high: int) -> npt.NDArray[np.float32]:
        """Return products in float32 as screened values."""
        products = None
        for begin, end in split(self.padded, CHUNK):
            part = left.coarse[low:high, begin:end] @ right.coarse[:, begin:end].T
            products = part if products is None else np.add(products, part, out=products)
        assert products is not None
        return products

    def value(
        self, left: Units, right: Units, i: IntArray, j: IntArray, screened: AnyArray
    ) -> FloatArray:
        """Return products in float64, rounded to the grid."""
        out = np.empty(len(i))
        _products(left.fine, right.fine, i, j, out)
        return out


def _refuse_infinite(source: Source) -> None:
    """Raise NotFiniteError for the first column with an infinite value, which a rank would hide."""
    doubtful = np.flatnonzero(~np.isfinite(source.moments().m2).all(axis=0))
    for feature in doubtful.tolist():
        if np.isinf(source.load(np.array([feature]))).any():
            raise NotFiniteError(feature)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _sum_lanes(lanes):
    """Return the sum of the lanes: the upper half is added to the lower one until one is left."""
    half = LANES // 2
    while half > 0:
        for k in range(half):
            lanes[k] += lanes[k + half]
        half //= 2
    return lanes[0]


@kernel
def _standardise(raw, fine, coarse, varies):
    """Fill unit columns; return the first one that is not finite, or -1."""
    width, n = raw.shape
    lanes = np.empty(LANES)
    for f in range(width):
        x = raw[f]
        z = fine[f]
        first = 0
        while first < n and x[first] != x[first]:
            first += 1
        if first == n:
            continue
        # from the first value on, so that a constant column is exactly 0
        origin = x[first]
        count = 0
        lanes[:] = 0.0
        for i in range(n):
            if x[i] == x[i]:
                z[i] = x[i] - origin
                lanes[i % LANES] += z[i]
                count += 1
        mean = _sum_lanes(lanes) / count
        lanes[:] = 0.0
        for i in range(n):
            if x[i] == x[i]:
                z[i] -= mean
                lanes[i % LANES] += z[i] * z[i]
        squares = _sum_lanes(lanes)
        if not squares < np.inf:
            return f
        if squares < LEAST:
            z[:] = 0.0
            continue
        varies[f] = True
        scale = 1.0 / np.sqrt(squares)
        for i in range(n):
            z[i] *= scale
            coarse[f, i] = z[i]
    return -1


@kernel
def _products(first_rows, second_rows, i, j, out):
    padded = first_rows.shape[1]
    x, y = first_rows.reshape(-1), second_rows.reshape(-1)
    for k in range(len(i)):
        product = _product(x, i[k] * padded, y, j[k] * padded, padded)
        out[k] = min(np.rint(abs(product) * GRID) / GRID, 1.0)


@intrinsic
def _product(typing: Any, left: Any, left_at: Any, right: Any, right_at: Any, length: Any) -> Any:
    """Return the dot product of ranges of two flat arrays, in the lanes of :func:`_sum_lanes`.

    It is written as LLVM vectors: six times as fast as the same loop compiled from Python.
    """
    word_type, index_type = ir.IntType(64), ir.IntType(32)
    vector_type = ir.VectorType(ir.DoubleType(), 8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, left_at, _, right_at, length = arguments
        sides = [
            (context.make_array(signature.args[k])(context, builder, arguments[k]).data, start)
            for k, start in ((0, left_at), (2, right_at))
        ]
        zero = ir.Constant(vector_type, [0.0] * 8)
        allocate: Callable[..., Any] = cgutils.alloca_once_value  # numba does not annotate it
        sums = [allocate(builder, zero) for _ in range(LANES // 8)]
        with cgutils.for_range(builder, builder.lshr(length, ir.Constant(word_type, 5))) as loop:
            offset = builder.shl(loop.index, ir.Constant(word_type, 5))
            for k, total in enumerate(sums):
                factors = []
                for data, start in sides:
                    first = builder.add(builder.add(start, offset), ir.Constant(word_type, 8 * k))
                    pointer = builder.bitcast(builder.gep(data, [first]), vector_type.as_pointer())
                    factors.append(builder.load(pointer, align=8))
                product = builder.fmul(*factors)
                builder.store(builder.fadd(builder.load(total), product), total)
        a, b, c, d = (builder.load(total) for total in sums)
        total = builder.fadd(builder.fadd(a, c), builder.fadd(b, d))
        for half in (4, 2, 1):
            undefined = ir.Constant(total.type, ir.Undefined)
            lower, upper = (
                builder.shuffle_vector(
                    total,
                    undefined,
                    ir.Constant(ir.VectorType(index_type, half), list(range(begin, begin + half))),
                )
                for begin in (0, half)
            )
            total = builder.fadd(lower, upper)
        return builder.extract_element(total, ir.Constant(index_type, 0))

    return types.float64(left, types.int64, right, types.int64, types.int64), generate
