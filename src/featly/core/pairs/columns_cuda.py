r"""Columns on the device whose pairs have a value: correlations, symmetric uncertainties.

Correlations are screened by products of unit columns in half precision, on tensor cores. The
screened value c of a pair, divided by the square of `UNIT`, is never further than `margin` from
its exact value v. With the notation of :mod:`featly.core.pairs.correlation`, a = z + e and
b = w + e' the columns in half precision:

1. :math:`|a'b - z'w| \le |z||e'| + |e||w| + |e||e'| \le 2d + d^2`, where d is the largest
   :math:`|e|` of all columns. It is measured when they are rounded, about 2^-12.
2. Products of halves are exact in float32. A tensor core adds 16 of them to a sum at a time: all
   are aligned to the largest, and what lies more than 23 bits below it may be cut off (Fasi et al.
   2021). That is at most 17 times 2^-23 of a number that is no larger than
   :math:`|a|'|b| \le |a||b| \le (1 + d)^2`; twice that is allowed for here. Over m rows,
   17/16 m + 17 times 2^-22 (1 + d)^2. More than 8192 rows go in chunks, whose bounds add up to
   that of one chunk, by Cauchy-Schwarz, and a rounding a chunk.
3. Rounding in float64, and to the grid of values: as on the CPU.

A screened value is then cut to 16 bits, which takes off at most 2^-10 of it. Limits that are
derived from screened values allow for that; `margin` does not contain it.

Fasi, M., Higham, N. J., Mikaitis, M. and Pranesh, S. (2021), Numerical behavior of NVIDIA tensor
cores, *PeerJ Computer Science* 7, e330.
"""

from typing import Any

import numpy as np

from featly.basics.errors import Setting
from featly.basics.kinds import CATEGORICAL
from featly.core.counts.codes import Codes
from featly.core.counts.entropy import FixedPoint
from featly.core.counts.uncertainty import GRID as COARSE_GRID
from featly.core.pairs.correlation import GRID, LEAST, NotFiniteError
from featly.core.pairs.kernels_cuda import CODES, UNITS
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    as_device,
    free_bytes,
    is_device_array,
    kernel,
    translate_memory_errors,
    xp,
)
from featly.core.runtime.parallel import split
from featly.core.sources import DenseSource, Source
from featly.core.stats.correlations import EXACT

__all__ = ["CodedColumns", "UnitColumns"]


UNIT = 128.0  # a unit column is multiplied by this, so that small entries keep their digits
CHUNK = 8192  # rows that the tensor cores add up at a time
MOST_COLUMNS = (1 << 24) - 2
MOST_LEVELS = 16  # of a column, missing counted as a level
EXACT_COUNTS = 2048  # rows up to which counts are exact in half precision
MOST_ROWS = 1 << 22  # rows up to which counts are exact in float32, with a margin
LARGEST_CODE = 31743  # the bits of the largest half
HOST_BLOCK = 1 << 27  # bytes that are sent over at a time
ONE, ZERO = np.ones(1, np.float32), np.zeros(1, np.float32)

C_TYPES = {
    "float32": "float",
    "float64": "double",
    "int8": "s8",
    "uint8": "u8",
    "int16": "short",
    "uint16": "u16",
    "int32": "int",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
}


class UnitColumns:
    """Columns whose absolute correlations are computed.

    Parameters
    ----------
    values : CuPy array of shape (n_rows, n_features)
        Numbers, in any order of memory; not copied.
    ranks : bool, default=False
        Whether values are replaced by their mid-ranks first, in a copy.
    """

    margin: float
    scales: Any
    means: Any
    origins: Any
    n_features: int
    n_rows: int

    grid = GRID
    coded = 0
    relative: float = 2.0**-10 + 2.0**-20  # a value cut to 16 bits, and rounding in float32

    def __init__(self, values: Any, *, ranks: bool = False) -> None:
        cupy = xp()
        if values.dtype.kind == "b":
            values = values.view(np.uint8)
        elif values.dtype == np.float16:
            values = values.astype(np.float32)
        if values.dtype.name not in C_TYPES:
            raise NotOnDevice(f"columns of {values.dtype} are compared on the CPU")
        self.n_rows, self.n_features = (int(size) for size in values.shape)
        if self.n_features > MOST_COLUMNS or self.n_rows >= 1 << 31:
            raise NotOnDevice(f"more than {MOST_COLUMNS} columns are compared on the CPU")
        self.padded: int = -(-self.n_rows // 8) * 8
        needed = self.n_features * (2 * self.padded + 32)
        if ranks:
            needed += self.n_features * self.n_rows * (4 if self.n_rows < EXACT else 8)
        _check_memory(needed)
        with translate_memory_errors(needed):
            self.values: Any = _ranks(values) if ranks else values
            self.halves: Any = cupy.empty((self.n_features, self.padded), np.float16)
            self._standardise()
        self._wide: Any = None

    @staticmethod
    def from_source(source: Source, *, ranks: bool = False) -> "UnitColumns":
        """Make columns from a source; one on the host is copied to the device."""
        if (source.kinds == CATEGORICAL).any():
            raise NotOnDevice("categorical columns are compared on the CPU")
        values = getattr(source, "values", None)
        if is_device_array(values) and getattr(source, "place", None) is None:
            return UnitColumns(values, ranks=ranks)
        if isinstance(source, DenseSource) and np.array_equal(
            source.place, np.arange(source.values.shape[1])
        ):
            _check_memory(source.values.nbytes)
            return UnitColumns(as_device(source.values), ranks=ranks)
        needed = 8 * source.n_rows * source.n_features
        _check_memory(needed)
        with translate_memory_errors(needed):
            values = xp().empty((source.n_features, source.n_rows))
        width = max(1, HOST_BLOCK // (8 * max(1, source.n_rows)))
        for low, high in split(source.n_features, width):
            values[low:high] = as_device(source.load(np.arange(low, high)))
        return UnitColumns(values.T, ranks=ranks)

    def _kernel(self, name: str) -> Any:
        value = C_TYPES[self.values.dtype.name]
        return kernel(UNITS, name, VALUE=value, RANK="float", LEAST=repr(LEAST), GRID=repr(GRID))

    def _value_arguments(self) -> tuple[Any, ...]:
        """Return the arguments by which kernels read the values."""
        rows, columns = (step // self.values.itemsize for step in self.values.strides)
        return self.values, np.int64(rows), np.int64(columns), np.int32(self.n_rows)

    def _standardise(self) -> None:
        cupy, p = xp(), self.n_features
        self.origins, self.means, self.scales = (cupy.empty(p) for _ in range(3))
        slacks, first_infinite = cupy.empty(p), cupy.full(1, p, np.int32)
        self._kernel("standardise")(
            (-(-p // 8),),
            (256,),
            (
                *self._value_arguments(), np.int32(p), np.int32(self.padded), UNIT, self.halves,
                self.origins, self.means, self.scales, slacks, first_infinite,
            ),
        )  # fmt: skip
        if int(first_infinite[0]) < p:
            raise NotFiniteError(int(first_infinite[0]))
        self.varies: Any = self.scales > 0
        off = float(slacks.max()) * (1 + 1e-6) + 2.0**-40
        terms = 17 / 16 * min(self.padded, CHUNK) + 17 + len(split(self.padded, CHUNK))
        self.margin = (2 + off) * off + terms * 2.0**-22 * (1 + off) ** 2
        self.margin += 3 * self.padded * 2.0**-52 + 2.0**-40

    @property
    def absolute(self) -> float:
        """Twice the margin, in the units of screened values."""
        return 2 * self.margin * UNIT**2 * (1 + 1e-5)

    def work(self, width: int) -> int:
        """Return the bytes that tiles of so many columns need besides the tiles themselves."""
        return 4 * width * width if self.padded > CHUNK else 0

    def tile(self, out: Any, first: tuple[int, int], second: tuple[int, int]) -> None:
        """Write screened values of some columns with others into an array of 16 bits."""
        first_halves, second_halves = self.halves[slice(*first)], self.halves[slice(*second)]
        if self.padded <= CHUNK:
            product(first_halves, second_halves, out, half=True)
            return
        if self._wide is None or self._wide.shape != out.shape:
            self._wide = xp().empty(out.shape, np.float32)
        for low, high in split(self.padded, CHUNK):
            product(first_halves, second_halves, self._wide, half=False, rows=(low, high))
        size = (first[1] - first[0]) * out.shape[1]
        self._kernel("narrow")((-(-size // 256),), (256,), (self._wide, np.int64(size), out))

    def screen_codes(self, values: Any) -> Any:
        """Return the least codes that pairs of these exact values can have after the screen."""
        scaled = xp().maximum(values - self.margin, 0.0) * UNIT**2
        codes = scaled.astype(np.float16).view(np.uint16)
        return xp().where(codes > 0, codes - 1, 0).astype(np.uint16)  # whichever way it was rounded

    def exact_values(self, pairs: Any) -> Any:
        """Return the exact values of pairs, the same as on the CPU."""
        out = xp().empty(len(pairs))
        if len(pairs):
            self._kernel("pair_values")(
                (-(-len(pairs) // 8),),
                (256,),
                (
                    *self._value_arguments(), self.origins, self.means, self.scales, pairs,
                    np.int64(len(pairs)), out,
                ),
            )  # fmt: skip
        return out


def _check_memory(needed: int) -> None:
    free = free_bytes()
    if needed > free:
        raise NotOnDevice(
            f"the columns need {needed / 1e9:.3g} GB on the device, and {free / 1e9:.3g} GB are "
            "free: give ",
            Setting("device", "cpu"),
        )


def _ranks(values: Any) -> Any:
    """Return mid-ranks of the columns, NaN for a missing value; infinite values are refused."""
    cupy = xp()
    n, p = values.shape
    dtype = np.float32 if n < EXACT else np.float64
    out = cupy.empty((p, n), dtype)
    rank = kernel(
        UNITS,
        "mid_ranks",
        VALUE="float",
        RANK="float" if dtype == np.float32 else "double",
        LEAST=repr(LEAST),
        GRID=repr(GRID),
    )
    for low, high in split(p, max(1, HOST_BLOCK // (8 * n))):
        block = cupy.ascontiguousarray(values[:, low:high].T.astype(np.float64))
        infinite = cupy.isinf(block).any(axis=1)
        if bool(infinite.any()):
            raise NotFiniteError(low + int(infinite.argmax()))
        order = cupy.argsort(block, axis=1)
        size = high - low
        rank(
            (-(-size // 64),),
            (64,),
            (block, order, np.int32(n), np.int32(size), out[low:high]),
        )
    return out.T


class CodedColumns:
    """Columns whose symmetric uncertainties are computed: counts by products of indicators.

    Parameters
    ----------
    codes : Codes
        On the host; copied to the device.
    """

    planes: int

    n_features: int
    n_rows: int

    grid = COARSE_GRID
    coded = 1
    relative: float = 0.0
    absolute: float = 0.0
    margin: float = 0.0

    def __init__(self, codes: Codes) -> None:
        cupy = xp()
        self.n_rows, self.n_features = codes.n_rows, codes.n_features
        p, n = self.n_features, self.n_rows
        if p > MOST_COLUMNS:
            raise NotOnDevice(f"more than {MOST_COLUMNS} columns are compared on the CPU")
        if n > MOST_ROWS:
            raise NotOnDevice(f"levels of more than {MOST_ROWS} rows are counted on the CPU")
        if codes.n_levels.max(initial=0) > 254:
            raise NotOnDevice("columns of more than 254 levels are compared on the CPU")
        _check_memory(p * n + p * (4 * MOST_LEVELS + 12))
        self.table: Any = as_device(FixedPoint.for_rows(n).table)
        with translate_memory_errors(p * n):
            self.slots: Any = cupy.empty((p, n), np.uint8)
            self.sizes: Any = cupy.zeros((p, MOST_LEVELS), np.int32)
            self.occupied: Any = cupy.empty(p, np.int32)
            self.entropy: Any = cupy.empty(p, np.int64)
        self.planes = 1
        for low, high in split(p, max(1, HOST_BLOCK // max(1, n))):
            block = np.ascontiguousarray(codes.block(low, high), np.uint8)
            self._kernel("slots")(
                (-(-(high - low) // 8),),
                (256,),
                (
                    as_device(block), np.int32(n), np.int32(high - low), self.table,
                    self.slots[low:high], self.sizes[low:high], self.occupied[low:high],
                    self.entropy[low:high],
                ),
            )  # fmt: skip
        most = int(self.occupied.max())
        if most > MOST_LEVELS:
            raise NotOnDevice(f"columns of more than {MOST_LEVELS} levels are compared on the CPU")
        self.varies: Any = self.occupied > 1
        self.planes = max(1, most - 1)
        self.padded: int = -(-n // 8) * 8
        needed = 2 * p * self.planes * self.padded
        _check_memory(needed)
        with translate_memory_errors(needed):
            self.halves: Any = cupy.empty((p * self.planes, self.padded), np.float16)
        total = p * self.padded
        self._kernel("indicators")(
            (-(-total // 256),),
            (256,),
            (
                self.slots, self.occupied, np.int32(n), np.int64(p), np.int32(self.padded),
                self.halves,
            ),
        )  # fmt: skip
        self._counts: Any = None

    @property
    def _small(self) -> bool:
        return self.n_rows <= EXACT_COUNTS

    def _kernel(self, name: str) -> Any:
        return kernel(
            CODES,
            name,
            MOST=MOST_LEVELS,
            PLANES=self.planes,
            CELL="u16" if self._small else "float",
            GRID=repr(COARSE_GRID),
        )

    def work(self, width: int) -> int:
        """Return the bytes that tiles of so many columns need besides the tiles themselves."""
        return (2 if self._small else 4) * (width * self.planes) ** 2

    def tile(self, out: Any, first: tuple[int, int], second: tuple[int, int]) -> None:
        """Write values of some columns with others, as fractions of the largest code."""
        width = out.shape[1] * self.planes
        if self._counts is None or self._counts.shape != (width, width):
            dtype = np.float16 if self._small else np.float32
            self._counts = xp().empty((width, width), dtype)
        first_planes, second_planes = (
            self.halves[low * self.planes : high * self.planes] for low, high in (first, second)
        )
        product(first_planes, second_planes, self._counts, half=self._small)
        rows, columns = first[1] - first[0], second[1] - second[0]
        self._kernel("uncertainties")(
            (-(-columns // 128), rows),
            (128,),
            (
                self._counts, np.int64(width), np.int32(rows), np.int32(columns),
                np.int32(first[0]), np.int32(second[0]), self.sizes, self.occupied, self.entropy,
                self.table, np.int32(self.n_rows), out, np.int32(out.shape[1]),
            ),
        )  # fmt: skip

    def screen_codes(self, values: Any) -> Any:
        """Return the codes of these values."""
        return xp().floor(values * LARGEST_CODE).astype(np.uint16)

    def exact_values(self, pairs: Any) -> Any:
        """Return the exact values of pairs, the same as on the CPU."""
        out = xp().empty(len(pairs))
        if len(pairs):
            self._kernel("code_values")(
                (-(-len(pairs) // 8),),
                (256,),
                (
                    self.slots, np.int32(self.n_rows), self.occupied, self.entropy, self.table,
                    pairs, np.int64(len(pairs)), out,
                ),
            )  # fmt: skip
        return out


def product(
    left: Any, right: Any, out: Any, *, half: bool, rows: tuple[int, int] | None = None
) -> None:
    """Write ``left @ right.T`` of float16 arrays into `out`, summed in float32 by tensor cores.

    CuPy's ``matmul`` has no such product. `rows` is the range of rows that are added up; if it
    does not begin at 0, the product is added to `out`.
    """
    cupy = xp()
    cublas, runtime = cupy.cuda.cublas, cupy.cuda.runtime
    low, high = rows or (0, left.shape[1])
    kind = runtime.CUDA_R_16F
    beta = ZERO if low == 0 else ONE
    # cuBLAS stores matrices by columns, so our rows are its columns, and the product is transposed
    cublas.gemmEx(
        cupy.cuda.device.get_cublas_handle(), cublas.CUBLAS_OP_T, cublas.CUBLAS_OP_N,
        len(right), len(left), high - low, ONE.ctypes.data,
        right.data.ptr + 2 * low, kind, right.shape[1],
        left.data.ptr + 2 * low, kind, left.shape[1], beta.ctypes.data,
        out.data.ptr, kind if half else runtime.CUDA_R_32F, out.shape[1],
        cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip
