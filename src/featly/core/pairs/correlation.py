r"""Columns of norm 1, whose products are correlations.

.. math::

    |r_{fg}| = |z_f' z_g|, \qquad z_f = \frac{x_f - \bar x_f}{\|x_f - \bar x_f\|}

A missing value counts as the mean of its column, so it adds nothing. A constant column has no
partner. Of mid-ranks this is Spearman's coefficient.

The value of a pair is computed in float64, in lanes of a fixed order that is the same on a
device, and rounded to a multiple of 2^-40: equal columns have exactly 1. Before it come products in
float32, tile by tile, which are only a screen: the screen c of a pair is never further than
`margin` from its value v.

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
screen is below a bound by more than that has a value below the bound.

Higham, N. J. (2002), *Accuracy and Stability of Numerical Algorithms*, 2nd edition, SIAM.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import DenseSource, Source, StreamedSource
from featly.core.stats.correlations import mid_ranks

__all__ = ["GRID", "LANES", "LEAST", "NotFiniteError", "UnitColumns", "Units"]

# mypy: disable-error-code="no-untyped-def"

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

GRID = 2.0**40
LANES = 32  # sums of a column run in so many lanes, here as on a device
CHUNK = 4096  # rows that are added up in float32
STRIPE = 128  # columns that one task reads
LEAST = 2.0**-960  # a sum of squares below it has too few digits to be scaled: none


class NotFiniteError(ValueError):
    """A column holds an infinite value, or values whose squares are."""

    def __init__(self, feature: int) -> None:
        super().__init__(f"feature {feature}")
        self.feature = feature


@dataclass(frozen=True)
class Units:
    """Unit columns.

    Attributes
    ----------
    features : int64 array
    varies : bool array
        False where a column is constant, and all of it 0.
    fine : float64 array of shape (width, padded)
        Rows behind the last are 0.
    coarse : float32 array of shape (width, padded)
    """

    features: IntArray
    varies: npt.NDArray[np.bool_]
    fine: FloatArray
    coarse: npt.NDArray[np.float32]


class UnitColumns:
    """Columns whose absolute correlations are asked for.

    Parameters
    ----------
    source : Source
        No column categorical.
    ranks : bool, default=False
        Whether mid-ranks are taken first.
    """

    dtype = np.float32
    grid = GRID

    def __init__(self, source: Source, *, ranks: bool = False) -> None:
        if ranks and isinstance(source, StreamedSource):
            # once, into a temporary file: a column is loaded many times
            _refuse_infinite(source)
            source, ranks = mid_ranks(source), False
        self.source, self.ranks = source, ranks
        self.n_features, self.n_rows = source.n_features, source.n_rows
        self.n_jobs = source.n_jobs
        self.padded = -(-self.n_rows // LANES) * LANES
        self.bytes_per_column = 12 * self.padded
        chunks = split(self.padded, CHUNK)
        terms = min(self.padded, CHUNK) + len(chunks) + 4
        # see the proof above
        self.margin = terms * 2.0**-24 * (1 + 2.0**-8) + 3 * self.padded * 2.0**-52 + 1 / GRID

    def load(self, features: IntArray) -> Units:
        """Some columns, centred and of norm 1."""
        shape = len(features), self.padded
        fine, coarse = np.zeros(shape), np.zeros(shape, np.float32)
        varies = np.zeros(len(features), np.bool_)

        def one(stripe: tuple[int, int]) -> None:
            low, high = stripe
            part = features[low:high]
            raw = self.source.load(part)
            if self.ranks:
                infinite = np.isinf(raw).any(axis=1)
                if infinite.any():
                    raise NotFiniteError(int(part[infinite.argmax()]))
                raw = mid_ranks(DenseSource(raw.T, n_jobs=1)).load(np.arange(high - low))
            odd = _standardise(raw, fine[low:high], coarse[low:high], varies[low:high])
            if odd >= 0:
                raise NotFiniteError(int(part[odd]))

        run_blocks(one, split(len(features), STRIPE), self.n_jobs)
        return Units(features, varies, fine, coarse)

    def part(self, block: Units, kept: npt.NDArray[np.bool_]) -> Units:
        """Some columns of a block."""
        if kept.all():
            return block
        return Units(block.features[kept], block.varies[kept], block.fine[kept], block.coarse[kept])

    def screen(self, one: Units, other: Units, low: int, high: int) -> npt.NDArray[np.float32]:
        """Products in float32."""
        found = None
        for begin, end in split(self.padded, CHUNK):
            part = one.coarse[low:high, begin:end] @ other.coarse[:, begin:end].T
            found = part if found is None else np.add(found, part, out=found)
        assert found is not None
        return found

    def value(
        self, one: Units, other: Units, i: IntArray, j: IntArray, screened: npt.NDArray[Any]
    ) -> FloatArray:
        """Products in float64, on the grid."""
        out = np.empty(len(i))
        _products(one.fine, other.fine, i, j, out)
        return out


def _refuse_infinite(source: Source) -> None:
    """NotFiniteError for the first column with an infinite value, which a rank would hide."""
    doubtful = np.flatnonzero(~np.isfinite(source.moments().m2).all(axis=0))
    for feature in doubtful.tolist():
        if np.isinf(source.load(np.array([feature]))).any():
            raise NotFiniteError(feature)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _folded(lanes):
    """The sum of the lanes: the upper half onto the lower one, again and again."""
    half = LANES // 2
    while half > 0:
        for k in range(half):
            lanes[k] += lanes[k + half]
        half //= 2
    return lanes[0]


@kernel
def _standardise(raw, fine, coarse, varies):
    """Fill unit columns; returns one that is not finite, or -1."""
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
        mean = _folded(lanes) / count
        lanes[:] = 0.0
        for i in range(n):
            if x[i] == x[i]:
                z[i] -= mean
                lanes[i % LANES] += z[i] * z[i]
        squares = _folded(lanes)
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
def _products(one, other, i, j, out):
    padded = one.shape[1]
    x, y = one.reshape(-1), other.reshape(-1)
    for k in range(len(i)):
        product = _product(x, i[k] * padded, y, j[k] * padded, padded)
        out[k] = min(np.rint(abs(product) * GRID) / GRID, 1.0)


@intrinsic
def _product(typing: Any, one: Any, at: Any, other: Any, other_at: Any, length: Any) -> Any:
    """The product of two stretches of flat arrays, in lanes as :func:`_folded` adds them up.

    In LLVM's vectors, which are six times as fast as what becomes of the same loop in Python.
    """
    word, place = ir.IntType(64), ir.IntType(32)
    eight = ir.VectorType(ir.DoubleType(), 8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, _, other_at, length = arguments
        sides = [
            (context.make_array(signature.args[k])(context, builder, arguments[k]).data, start)
            for k, start in ((0, at), (2, other_at))
        ]
        zero = ir.Constant(eight, [0.0] * 8)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(LANES // 8)]
        with cgutils.for_range(builder, builder.lshr(length, ir.Constant(word, 5))) as loop:
            here = builder.shl(loop.index, ir.Constant(word, 5))
            for k, total in enumerate(sums):
                factors = []
                for data, start in sides:
                    first = builder.add(builder.add(start, here), ir.Constant(word, 8 * k))
                    pointer = builder.bitcast(builder.gep(data, [first]), eight.as_pointer())
                    factors.append(builder.load(pointer, align=8))
                product = builder.fmul(*factors)
                builder.store(builder.fadd(builder.load(total), product), total)
        a, b, c, d = (builder.load(total) for total in sums)
        total = builder.fadd(builder.fadd(a, c), builder.fadd(b, d))
        for half in (4, 2, 1):
            nothing = ir.Constant(total.type, ir.Undefined)
            lower, upper = (
                builder.shuffle_vector(
                    total,
                    nothing,
                    ir.Constant(ir.VectorType(place, half), list(range(begin, begin + half))),
                )
                for begin in (0, half)
            )
            total = builder.fadd(lower, upper)
        return builder.extract_element(total, ir.Constant(place, 0))

    return types.float64(one, types.int64, other, types.int64, types.int64), generate
