"""The clinical kernel on the device: the CUDA counterpart of :mod:`featly.core.kernels.clinical`.

Columns are placed on the line and sorted on the device, and stored in that order. Matrices,
products and forms are computed from it as on the CPU and returned on the host.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.kernels import clinical as host
from featly.core.kernels import kernel_sets
from featly.core.kernels.clinical_kernels_cuda import MOST_SORTED, SORT, WALK
from featly.core.kernels.kernel_sets import ROUNDING
from featly.core.runtime import device_cuda
from featly.core.runtime.parallel import split
from featly.core.sources import Source, linear_cuda
from featly.core.sources.lent_cuda import LentSource
from featly.core.sources.moments_cuda import column_layout
from featly.core.sources.source_cuda import CudaSource, StreamedCudaSource
from featly.core.stats.pair_sums_cuda import PairSums, padded_width

__all__ = [
    "ClinicalColumns",
    "ColumnKernels",
    "add_similarities",
    "code_positions",
    "number_positions",
    "ranges",
]


TILE_BYTES = 1 << 28  # of columns in row order at a time
HOST_BLOCK = 4096  # columns that are placed on the line by the host at a time
COMPACT_SHARE = 2  # once this fraction of the columns is left, they are gathered
MOST_ROWS = 65535  # of a grid


# ---- positions on the line ------------------------------------------------------------------
def ranges(numbers: Any) -> tuple[Any, Any]:
    """Return smallest present value and range of every column; 0 and 0 of an empty one."""
    xp = device_cuda.xp()
    missing = xp.isnan(numbers)
    low = xp.where(missing, np.inf, numbers).min(axis=1)
    high = xp.where(missing, -np.inf, numbers).max(axis=1)
    empty = low > high
    return xp.where(empty, 0.0, low), xp.where(empty, 0.0, high - low)


def number_positions(numbers: Any, low: Any, span: Any, first_row: int = 0) -> Any:
    """Convert feature-major numbers to positions in 0..1; those outside go to its ends."""
    xp = device_cuda.xp()
    width = xp.where(span > 0, span, 1.0)[:, None]
    z = xp.where(span[:, None] > 0, (numbers - low[:, None]) / width, 0.0)
    return xp.where(xp.isnan(numbers), _missing_positions(numbers, first_row), xp.clip(z, 0.0, 1.0))


def code_positions(codes: Any, first_row: int = 0) -> Any:
    """Convert feature-major codes to positions, two levels never near; 0 is missing."""
    xp = device_cuda.xp()
    return xp.where(
        codes == 0, _missing_positions(codes, first_row), host.LEVEL_STEP * codes.astype(np.float64)
    )


def _missing_positions(table: Any, first_row: int) -> Any:
    """Return the positions of missing values, one for every row."""
    return -host.LEVEL_STEP * (first_row + device_cuda.xp().arange(1, table.shape[1] + 1))


# ---- Gram matrices --------------------------------------------------------------------------
def add_similarities(
    za: Any, zb: Any, weight: FloatArray, out: FloatArray, n_jobs: int | None = None
) -> None:
    """Add ``sum_f weight_f max(0, 1 - |za[f, i] - zb[f, j]|)`` to every ``out[i, j]``.

    Positions are arrays of the host or of the device, `out` is one of the host. Without `zb`, of
    `za` to itself.
    """
    xp = device_cuda.xp()
    za = device_cuda.as_device(za)
    zb = za if zb is None else device_cuda.as_device(zb)
    near = device_cuda.to_host(((za >= 0) & (za <= 1)).all(axis=1))
    if zb is not za:
        near &= device_cuda.to_host(((zb >= 0) & (zb <= 1)).all(axis=1))

    def spread_columns(z: Any, columns: IntArray, factors: Any) -> Any:
        tile = xp.zeros((z.shape[1], padded_width(len(columns))))
        tile[:, : len(columns)] = (z[device_cuda.as_device(columns)] * factors[:, None]).T
        return tile

    total = xp.zeros(out.shape)
    with device_cuda.translate_memory_errors():
        for columns, sign, clipped in _groups(near, weight):
            sums = PairSums(zb.shape[1], len(columns), None if zb is za else za.shape[1])
            for low, high in split(len(columns), _width(za.shape[1] + zb.shape[1])):
                selected = columns[low:high]
                factors = device_cuda.as_device(np.abs(weight[selected]))
                tile = spread_columns(zb, selected, factors)
                other_tile = tile if zb is za else spread_columns(za, selected, factors)
                sums.add(tile, other_tile, _reaches(factors) if clipped else None)
            _fold(total, sums, sign, None if clipped else float(np.abs(weight[columns]).sum()))
    out += device_cuda.to_host(total)


def _groups(near: BoolArray, weight: FloatArray) -> Iterator[tuple[IntArray, float, bool]]:
    """Yield columns whose weights have the same sign and which all need a maximum, or none does."""
    for sign in (1.0, -1.0):
        for clipped in (False, True):
            columns = np.flatnonzero((near != clipped) & (weight * sign > 0))
            if len(columns):
                yield columns, sign, clipped


def _reaches(factors: Any) -> Any:
    """Return the reach of every column: multiplied positions have a multiplied reach."""
    out = device_cuda.xp().zeros(padded_width(len(factors)))
    out[: len(factors)] = factors
    return out


def _fold(total: Any, sums: PairSums, sign: float, whole: float | None) -> None:
    """Add sums of what is left of a reach, or `whole` less the distances."""
    summed = sums.total()
    total += sign * (summed if whole is None else whole - summed)


def _width(n_rows: int) -> int:
    """Return the columns that are spread out at a time."""
    return max(1, TILE_BYTES // (8 * n_rows))


class ClinicalColumns:
    """Columns under the clinical kernel: each is a kernel of its own, and so is their sum.

    The CUDA counterpart of :class:`featly.core.kernels.clinical.ClinicalColumns`. The order of the
    rows and the sorted positions are stored, 12 bytes a cell of the device's memory; a table that
    needs more than is free is refused (:class:`~featly.core.runtime.device_cuda.NotOnDevice`).

    Parameters
    ----------
    positions : float array of shape (n_features, n_rows), or list of such blocks
        Of the host or of the device.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
        The device does not use it.
    """

    n_jobs: int | None
    n_rows: int

    def __init__(self, positions: Any, n_jobs: int | None = None) -> None:
        blocks: Sequence[Any] = positions if isinstance(positions, list | tuple) else [positions]
        self._allocate(blocks[0].shape[1], sum(len(block) for block in blocks), n_jobs)
        done = 0
        for block in blocks:
            self._sort_positions(device_cuda.as_device(block), done)
            done += len(block)

    @classmethod
    def from_source(cls, source: Source) -> "ClinicalColumns":
        """Make columns from a source, with the ranges of its own rows.

        Numbers that lie on the device, or pass through it, are placed there; the columns of any
        other source are placed by the host and sorted on the device, categories included.
        """
        self = object.__new__(cls)
        self._allocate(source.n_rows, source.n_features, source.n_jobs)
        if isinstance(source, CudaSource | StreamedCudaSource):
            done = 0
            order = np.empty(source.n_features, np.int64)
            for places, part in source.parts():
                order[np.arange(source.n_features)[places]] = np.arange(
                    done, done + part.n_features
                )
                self._sort_numbers(part, done)
                done += part.n_features
            self._column_index = order
            return self
        for low, high in split(source.n_features, HOST_BLOCK):
            z = host.source_positions(source, np.arange(low, high))
            self._sort_positions(device_cuda.as_device(z), low)
        return self

    def _allocate(self, n_rows: int, count: int, n_jobs: int | None) -> None:
        xp = device_cuda.xp()
        self.n_rows, self.n_jobs = n_rows, n_jobs
        if 12 * n_rows * count + TILE_BYTES > device_cuda.free_bytes():
            raise device_cuda.NotOnDevice(
                f"{count} sorted columns of {n_rows} rows do not fit into the device's memory"
            )
        self._order = xp.empty((n_rows, count), np.int32)
        self._line = xp.empty((n_rows, count))
        self._facts = np.empty((count, 3), np.int32)  # distinct, lonely, near: see sort_column
        self._column_index = np.arange(count)

    def _sort_numbers(self, part: CudaSource, at: int) -> None:
        """Place the columns of a source on the line, and sort them."""
        if self.n_rows <= MOST_SORTED:
            self._sort(part.values, part.columns, part.center, part.scale, at, are_positions=False)
            return
        for low, high in split(part.n_features, _width(4 * self.n_rows)):
            tile, feature_major = linear_cuda.make_tile(
                part.values, part.columns[low:high], part.center, part.scale
            )
            numbers = tile[0] if feature_major else tile[0].T
            self._sort_positions(number_positions(numbers, *ranges(numbers)), at + low)

    def _sort_positions(self, z: Any, at: int) -> None:
        xp = device_cuda.xp()
        if self.n_rows <= MOST_SORTED:
            z = xp.ascontiguousarray(z)
            columns, zeros = xp.arange(len(z), dtype=np.int32), xp.zeros(len(z))
            self._sort(z.T, columns, zeros, zeros, at, are_positions=True)
            return
        for low, high in split(len(z), _width(8 * self.n_rows)):
            order = xp.argsort(z[low:high], axis=1)
            line = xp.take_along_axis(z[low:high], order, axis=1)
            part = slice(at + low, at + high)
            self._order[:, part], self._line[:, part] = order.T, line.T
            steps = line[:, 1:] - line[:, :-1]
            facts = self._facts[part]
            facts[:, 0] = 1 + device_cuda.to_host((steps > 0).sum(axis=1))
            facts[:, 1] = device_cuda.to_host((steps > 1).all(axis=1))
            facts[:, 2] = device_cuda.to_host((line[:, 0] >= 0) & (line[:, -1] <= 1))

    def _sort(
        self, values: Any, columns: Any, center: Any, scale: Any, at: int, *, are_positions: bool
    ) -> None:
        """Sort columns of at most `MOST_SORTED` rows, a block each."""
        T, _, row_step, column_step = column_layout(values)
        count = len(columns)
        if count == 0:
            return
        size = max(64, 1 << (self.n_rows - 1).bit_length())
        facts = device_cuda.xp().empty((count, 3), np.int32)
        device_cuda.kernel(SORT, "sort_column", VALUE=T, SIZE=size, GIVEN=int(are_positions))(
            (count,),
            (min(size // 2, 512),),
            (values, row_step, column_step, columns, center, scale, np.int32(self.n_rows),
             np.int64(self._order.shape[1]), np.int64(at), self._order, self._line, facts),
        )  # fmt: skip
        self._facts[at : at + count] = device_cuda.to_host(facts)

    # ---- as on the host ---------------------------------------------------------------------
    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self._column_index)

    @property
    def rank(self) -> int:
        """Upper bound of the rank of the sum kernel."""
        return int(min(self.n_rows, self._facts[self._column_index, 0].sum(dtype=np.int64)))

    @property
    def lonely(self) -> BoolArray:
        """Columns in which no two rows have any similarity: nothing can be learnt from them."""
        lonely: BoolArray = self._facts[self._column_index, 1].astype(np.bool_)
        return lonely

    @cached_property
    def _columns(self) -> Any:
        """Positions of the columns in the stored matrices, on the device."""
        return device_cuda.as_device(self._column_index.astype(np.int32))

    def view(self, features: IntArray) -> "ClinicalColumns":
        """Return only these columns, in this order; they are gathered once they are few."""
        other = copy.copy(self)
        other.__dict__.pop("_columns", None)
        other._column_index = self._column_index[features]
        if len(features) * COMPACT_SHARE <= self._order.shape[1]:
            xp = device_cuda.xp()
            with device_cuda.translate_memory_errors(12 * self.n_rows * len(features)):
                other._order = xp.take(self._order, other._columns, axis=1)
                other._line = xp.take(self._line, other._columns, axis=1)
            other._facts = self._facts[other._column_index]
            other._column_index = np.arange(len(features))
            other.__dict__.pop("_columns", None)
        return other

    def forms(self, v: FloatArray, include_missing: bool = True) -> FloatArray:
        """Return ``v' K_f v`` of every column, in O(n p).

        Without `include_missing`, less :math:`v_i^2` for every missing value.
        """
        count = self.n_features
        out = device_cuda.xp().empty(count)
        if count:
            device_cuda.kernel(WALK, "clinical_forms")(
                (-(-count // 128),),
                (128,),
                (*self._sorted_arrays(), self._columns, np.int32(count), _vector(v),
                 np.int32(self.n_rows), np.int32(include_missing), out),
            )  # fmt: skip
        return device_cuda.to_host(out)

    def product(self, v: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Return ``sum_f weight_f K_f v`` in O(n p); weights are 1 if not given."""
        return self._product(v, weight, include_missing=True)

    def gram(
        self,
        weight: FloatArray | None = None,
        features: IntArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return ``sum_f weight_f K_f``, of all columns or some; added to `out` if given."""
        selected = self if features is None else self.view(features)
        matrix = device_cuda.to_host(selected._gram(weight)[0])
        if out is None:
            return matrix
        out += matrix
        return out

    def block(self, rows: IntArray, weight: FloatArray) -> FloatArray:
        """Return ``sum_f weight_f K_f`` between some rows alone."""
        return device_cuda.to_host(self._gram(weight, rows)[0])

    # ---- parts ------------------------------------------------------------------------------
    def _sorted_arrays(self) -> tuple[Any, ...]:
        return self._order, self._line, np.int64(self._order.shape[1])

    def _product(
        self, v: FloatArray, weight: FloatArray | None, *, include_missing: bool
    ) -> FloatArray:
        n = self.n_rows
        weights = np.ones(self.n_features) if weight is None else weight
        used = np.flatnonzero(weights)
        total = device_cuda.xp().zeros(n)
        for low, high in split(len(used), _width(n)):
            tile = self._products(v, used[low:high], weights[used[low:high]], include_missing)
            _add_row_sums(tile[0], high - low, total)
        return device_cuda.to_host(total)

    def _products(
        self,
        v: FloatArray,
        features: IntArray,
        factors: FloatArray,
        include_missing: bool,
        part: int = 0,
    ) -> Any:
        """Return ``factor_f K_f v`` of some columns on the device: shape (parts, rows, part)."""
        n, count = self.n_rows, len(features)
        part = part or count
        n_parts = -(-count // part)
        places = device_cuda.as_device(self._column_index[features].astype(np.int32))
        with device_cuda.translate_memory_errors(8 * n_parts * n * part):
            out = device_cuda.xp().empty((n_parts, n, part))
        device_cuda.kernel(WALK, "clinical_products")(
            (-(-n_parts * part // 128),),
            (128,),
            (
                *self._sorted_arrays(),
                places,
                np.int32(count),
                _vector(v),
                _vector(factors),
                np.int32(n),
                np.int32(include_missing),
                np.int32(part),
                np.int32(n_parts * part),
                out,
            ),
        )
        return out

    def _gram(self, weight: FloatArray | None, rows: IntArray | None = None) -> tuple[Any, Any]:
        """Return the matrix, between some rows or all, and the weight that each row has missing."""
        xp, n = device_cuda.xp(), self.n_rows
        weights = np.ones(self.n_features) if weight is None else weight
        m = n if rows is None else len(rows)
        total, missing = xp.zeros((m, m)), xp.zeros(n)
        row_index = None if rows is None else device_cuda.as_device(np.asarray(rows, np.int64))
        near = self._facts[self._column_index, 2].astype(np.bool_)
        for columns, sign, clipped in _groups(near, weights):
            sums = PairSums(m, len(columns))
            for low, high in split(len(columns), _width(n)):
                features = columns[low:high]
                factors = _vector(np.abs(weights[features]))
                tile = self._spread(features, factors)
                if clipped:
                    _add_row_sums(tile, len(features), missing, sign * factors)
                if row_index is not None:
                    tile = xp.take(tile, row_index, axis=0)
                sums.add(tile, reaches=_reaches(factors) if clipped else None)
            _fold(total, sums, sign, None if clipped else float(np.abs(weights[columns]).sum()))
        return total, missing

    def _spread(self, features: IntArray, factors: Any) -> Any:
        """Return the positions of some columns by row again, times factors."""
        n, step = self.n_rows, padded_width(len(features))
        with device_cuda.translate_memory_errors(8 * n * step):
            out = device_cuda.xp().empty((n, step))
        places = device_cuda.as_device(self._column_index[features].astype(np.int32))
        device_cuda.kernel(WALK, "spread_columns")(
            (-(-step // 128), min(n, MOST_ROWS)),
            (128,),
            (
                *self._sorted_arrays(),
                places,
                np.int32(len(features)),
                factors,
                np.int32(n),
                np.int32(step),
                out,
            ),
        )
        return out


class ColumnKernels(ClinicalColumns):
    """A clinical kernel for every column, without the similarity of a missing value to itself.

    The CUDA counterpart of :class:`featly.core.kernels.kernel_sets.ColumnKernels`.
    """

    @classmethod
    def from_source(cls, source: Source) -> "ColumnKernels":
        """Make kernels from a source, with the ranges of its own rows."""
        kernels = super().from_source(source)
        assert isinstance(kernels, cls)
        return kernels

    def view(self, features: IntArray) -> "ColumnKernels":
        """Return only these columns, in this order; they are gathered once they are few."""
        kernels = super().view(features)
        assert isinstance(kernels, ColumnKernels)
        return kernels

    def forms(self, v: FloatArray, include_missing: bool = False) -> FloatArray:
        """Return ``v' K_f v`` of every column; exactly 0 where it is a rounding error of that."""
        forms = super().forms(v, include_missing)
        forms[forms <= ROUNDING**2 * float(v @ v) * self.n_rows] = 0.0
        return forms

    def products(self, v: FloatArray, low: int, high: int) -> FloatArray:
        """Return ``K_f v`` for columns from `low` to `high`, one a row, in O(n) each."""
        if high <= low:
            return np.empty((0, self.n_rows))
        tile = self._products(v, np.arange(low, high), np.ones(high - low), include_missing=False)
        return device_cuda.to_host(device_cuda.xp().ascontiguousarray(tile[0].T))

    def product(self, v: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """Return ``sum_f weight_f K_f v`` in O(n p); weights are 1 if not given."""
        return self._product(v, weight, include_missing=False)

    def squared_products(self, v: FloatArray, scale: FloatArray) -> FloatArray:
        """Return ``sum_f scale_f^2 (K_f v)(K_f v)'``, summed on the device."""
        n = self.n_rows
        total = device_cuda.xp().zeros((n, n))
        for low, high in split(self.n_features, _width(n)):
            part = linear_cuda.part_width(n, high - low)
            tile = self._products(v, np.arange(low, high), scale[low:high], False, part)
            linear_cuda.add_outer(total, tile, feature_major=False)
        return device_cuda.to_host(total)

    def gram(
        self,
        weight: FloatArray | None = None,
        features: IntArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return ``sum_f weight_f K_f``, of all columns or some; added to `out` if given."""
        selected = self if features is None else self.view(features)
        total, missing = selected._gram(weight)
        matrix = device_cuda.to_host(total)
        matrix[np.diag_indices_from(matrix)] -= device_cuda.to_host(missing)
        if out is None:
            return matrix
        out += matrix
        return out


def _vector(values: FloatArray) -> Any:
    return device_cuda.as_device(np.asarray(values, np.float64))


def _add_row_sums(tile: Any, count: int, out: Any, weights: Any = None) -> None:
    """Add the sum of every row of a tile, or of the weights of its negative entries, to `out`."""
    device_cuda.kernel(WALK, "add_row_sums")(
        (len(tile),),
        (256,),
        (tile, np.int32(tile.shape[1]), np.int32(count), tile if weights is None else weights,
         np.int32(weights is not None), out),
    )  # fmt: skip


# ---- answers --------------------------------------------------------------------------------
@host.clinical_columns.answer(CudaSource)
def _columns_of_device_table(source: CudaSource) -> ClinicalColumns:
    """Sort the table of a user where it lies."""
    return ClinicalColumns.from_source(source)


@host.clinical_columns.answer(LentSource)
def _columns_of_lent_table(source: LentSource) -> ClinicalColumns:
    """Place the columns on the host, and sort them on the device."""
    return ClinicalColumns.from_source(source.lender)


@kernel_sets.column_kernels.answer(CudaSource)
def _kernels_of_device_table(source: CudaSource) -> ColumnKernels:
    """Sort the table of a user where it lies."""
    return ColumnKernels.from_source(source)


@kernel_sets.column_kernels.answer(LentSource)
def _kernels_of_lent_table(source: LentSource) -> ColumnKernels:
    """Place the columns on the host, and sort them on the device."""
    return ColumnKernels.from_source(source.lender)
