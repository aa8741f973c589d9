"""Columns of numbers on the device, or streamed through it, and computations on them.

Results are returned on the host: a number a column, or a matrix of rows by rows. No table is copied
within the device, except the columns of a view that has few of a large table.
"""

import copy
import functools
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.basics.typing import AnyArray, ByteArray, FloatArray, IntArray
from featly.core.runtime import device_cuda
from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.core.runtime.question import GPU
from featly.core.sources import Comoments, DenseSource, Moments, Source, StreamedSource, linear_cuda
from featly.core.sources.moments_cuda import column_layout, compute_moments

__all__ = ["CudaSource", "StreamedCudaSource", "cuda_source"]

TABLE_SHARE = 2  # a table up to this fraction of the free memory of the device is copied there
COMPACT_SHARE = 2  # once this fraction of its columns is left, they are gathered
GATHER_BYTES = 1 << 24  # that one thread gathers at a time
ROW_BYTES = 1 << 25  # of a row of a block: it goes through a pinned buffer in one piece


def cuda_source(
    X: Any, capacity: int | None = None, n_jobs: int | None = None
) -> "CudaSource | StreamedCudaSource":
    """Return columns of numbers as a source that computes on the device.

    Parameters
    ----------
    X : Source, or array of shape (n_rows, n_features), of NumPy, CuPy or torch
        An array on the device is not copied. A source of categories is refused
        (:class:`~featly.core.runtime.device_cuda.NotOnDevice`).
    capacity : int, optional
        Bytes of the device that the table may take; half of what is free by default. A table that
        is larger stays where it is, and its columns pass through the device.
    """
    if isinstance(X, CudaSource | StreamedCudaSource):
        return X
    if not isinstance(X, Source):
        if device_cuda.is_device_array(X):
            return CudaSource(device_cuda.as_device(X), n_jobs=n_jobs)
        X = DenseSource(np.asarray(X), n_jobs=n_jobs)
    if not isinstance(X, DenseSource | StreamedSource):
        raise device_cuda.NotOnDevice("a sparse table is computed on the CPU")
    if (X.kinds == CATEGORICAL).any():
        raise device_cuda.NotOnDevice("categorical columns are computed on the CPU")
    if capacity is None:
        capacity = device_cuda.free_bytes() // TABLE_SHARE
    raw, center, scale = _split_scaling(X)
    source = StreamedCudaSource(raw, capacity).scaled(center, scale).in_memory()
    assert isinstance(source, CudaSource | StreamedCudaSource)
    return source


class CudaSource(Source):
    """Numbers on the device.

    Parameters
    ----------
    values : CuPy array of shape (n_rows, n_features)
        Of float32, float64 or whole numbers, by rows or by columns; never copied if contiguous.
    kinds : uint8 array of shape (n_features,), optional
        Continuous or ordinal; continuous if not given.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
        The device does not use it; it is passed on to computations on the host.
    host_memory : int, optional
        Bytes of the host that its columns may take there; a quarter of what is free by default.
    """

    scale: Any
    center: Any
    n_jobs: int | None
    n_features: int
    n_rows: int
    lies: ClassVar[str] = GPU

    def __init__(
        self,
        values: Any,
        kinds: ByteArray | None = None,
        n_jobs: int | None = None,
        host_memory: int | None = None,
    ) -> None:
        xp = device_cuda.xp()
        if not (values.flags.c_contiguous or values.flags.f_contiguous):
            with device_cuda.translate_memory_errors(values.nbytes):
                values = xp.ascontiguousarray(values)
        column_layout(values)
        self.values = values
        self.n_rows, width = values.shape
        self.kinds: Any | ByteArray = np.full(width, CONTINUOUS) if kinds is None else kinds
        self.n_features, self.n_jobs = len(self.kinds), n_jobs
        self.host_memory = host_memory
        self.place: IntArray | None = None  # where each feature lies; None where all lie in order
        # these belong to the table, on the device, so that views need no copy of them
        self.center, self.scale = xp.zeros(width), xp.ones(width)

    def n_at_once(self, n_jobs: int | None) -> int:
        """Return 1: a device computes one at a time."""
        return 1

    # ---- the storage ------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers."""
        dtype: np.dtype[Any] = np.dtype(self.values.dtype)
        return dtype

    @property
    def feature_major(self) -> bool:
        """Return whether a single column of numbers lies together in memory."""
        return bool(self.values.flags.f_contiguous)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that this view sees."""
        return int(self.n_features * self.n_rows * self.values.itemsize)

    @cached_property
    def columns(self) -> Any:
        """Position of each feature in the table, on the device."""
        if self.place is None:
            return device_cuda.xp().arange(self.values.shape[1], dtype=np.int32)
        return device_cuda.as_device(self.place.astype(np.int32))

    def _with(self, **changes: Any) -> "CudaSource":
        other = copy.copy(self)
        if "place" in changes:
            other.__dict__.pop("columns", None)
        other.__dict__.update(changes)
        return other

    def view(self, features: IntArray) -> "CudaSource":
        """Return only these features, in this order; the table is shared."""
        place = np.asarray(features) if self.place is None else self.place[features]
        return self._with(n_features=len(place), kinds=self.kinds[features], place=place)

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> "CudaSource":
        """Return only these rows, copied on the device; neither centred nor scaled."""
        xp, row_index = device_cuda.xp(), device_cuda.as_device(np.asarray(rows, np.int64))
        with device_cuda.translate_memory_errors():
            if self.feature_major:
                values = xp.take(self.values.T, row_index, axis=1).T
            else:
                values = xp.take(self.values, row_index, axis=0)
        kinds = np.full(values.shape[1], CONTINUOUS)
        whole = CudaSource(values, kinds, n_jobs, self.host_memory)
        return whole._with(n_features=self.n_features, kinds=self.kinds, place=self.place)

    def scaled(self, center: FloatArray, scale: FloatArray) -> "CudaSource":
        """Return the columns centred and scaled when read; the table is shared."""
        if self.place is None:
            return self._with(center=_floats(center), scale=_floats(scale))
        wide, factors = self.center.copy(), self.scale.copy()
        wide[self.columns], factors[self.columns] = _floats(center), _floats(scale)
        return self._with(center=wide, scale=factors)

    def weighted(self, factor: FloatArray) -> "CudaSource":
        """Return the columns, each feature multiplied by its factor; the table is shared."""
        if self.place is None:
            return self._with(scale=self.scale * _floats(factor))
        scale = self.scale.copy()
        scale[self.columns] = self.scale[self.columns] * _floats(factor)
        return self._with(scale=scale)

    def compact(self) -> "CudaSource":
        """Do as :meth:`in_memory`: on the device both layouts are read as quickly."""
        return self.in_memory()

    def in_memory(self) -> "CudaSource":
        """Gather the columns of this view, once they are few among those of the table."""
        if self.place is None or len(self.place) * COMPACT_SHARE > self.values.shape[1]:
            return self
        xp = device_cuda.xp()
        with device_cuda.translate_memory_errors(self.nbytes):
            if self.feature_major:
                values = xp.take(self.values.T, self.columns, axis=0).T
            else:
                values = xp.take(self.values, self.columns, axis=1)
        center, scale = self.center[self.columns], self.scale[self.columns]
        return self._with(values=values, place=None, center=center, scale=scale)

    def load(self, features: IntArray) -> FloatArray:
        """Load some features, centred and scaled, feature-major, on the host."""
        part = self.view(features)
        tile, feature_major = linear_cuda.make_tile(
            part.values, part.columns, part.center, part.scale
        )
        if len(tile) == 0:
            return np.empty((0, self.n_rows))
        return device_cuda.to_host(
            tile[0] if feature_major else device_cuda.xp().ascontiguousarray(tile[0].T)
        )

    def on_host(self) -> DenseSource:
        """Copy this view to the host, for what the device does not do."""
        part = self.view(np.arange(self.n_features)) if self.place is None else self
        xp = device_cuda.xp()
        if self.feature_major:
            values = device_cuda.to_host(xp.take(self.values.T, part.columns, axis=0)).T
        else:
            values = device_cuda.to_host(xp.take(self.values, part.columns, axis=1))
        host_source = DenseSource(values, kinds=self.kinds, n_jobs=self.n_jobs)
        center, scale = (device_cuda.to_host(x[part.columns]) for x in (self.center, self.scale))
        return host_source.scaled(center, scale)

    def parts(self) -> Iterator[tuple[slice, "CudaSource"]]:
        """Yield blocks of this view on the device and the positions of their columns: here one."""
        yield slice(0, self.n_features), self

    # ---- answers ----------------------------------------------------------------------------
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments by one pass over the numbers."""
        return Moments(*device_cuda.to_host(self.device_moments(groups, n_groups)))

    def comoments(self, h: FloatArray) -> Comoments:
        """Raise NotOnDevice: numbers as a target are computed on the CPU."""
        raise device_cuda.NotOnDevice(
            "numbers and survival times as targets are computed on the CPU"
        )

    def forms(self, v: FloatArray) -> FloatArray:
        """Return ``v' K_f v`` for every feature: one pass over the numbers."""
        return device_cuda.to_host(self.device_forms(v))

    def gram(self, features: IntArray | None = None) -> FloatArray:
        """Return ``sum_f K_f`` over some features: float64 of shape (rows, rows)."""
        total = _square(self.n_rows)
        self.add_gram(total, features)
        return device_cuda.to_host(total)

    def device_moments(self, groups: IntArray | None, n_groups: int) -> Any:
        """Return count, mean and squared deviations, still on the device."""
        with device_cuda.translate_memory_errors():
            return compute_moments(self.values, self.columns, groups, n_groups)

    def device_forms(self, v: FloatArray) -> Any:
        """Return the forms, still on the device."""
        with device_cuda.translate_memory_errors():
            return linear_cuda.compute_forms(self.values, self.columns, v, self.center, self.scale)

    def add_gram(self, total: Any, features: IntArray | None = None) -> None:
        """Add the Gram matrix of some features to one on the device."""
        part = self if features is None else self.view(features)
        with device_cuda.translate_memory_errors():
            linear_cuda.add_gram(total, part.values, part.columns, part.center, part.scale)


class StreamedCudaSource(Source):
    """Numbers on the host that pass through the device, two blocks of columns at a time.

    One is computed on while the next is on its way. No answer but a Gram matrix, a sum over
    columns, depends on where a block ends.

    Parameters
    ----------
    host : DenseSource or StreamedSource
        Without categorical features, neither centred nor scaled.
    capacity : int
        Bytes of the device that both blocks may take together.
    """

    scale: FloatArray
    center: FloatArray
    n_jobs: int | None
    kinds: ByteArray
    n_features: int
    n_rows: int
    capacity: int
    host: DenseSource | StreamedSource
    lies: ClassVar[str] = GPU

    def __init__(self, host: DenseSource | StreamedSource, capacity: int) -> None:
        self.host, self.capacity = host, capacity
        self.n_rows, self.n_features = host.n_rows, host.n_features
        self.kinds, self.n_jobs = host.kinds, host.n_jobs
        self.center, self.scale = np.zeros(self.n_features), np.ones(self.n_features)

    def n_at_once(self, n_jobs: int | None) -> int:
        """Return 1: a device computes one at a time."""
        return 1

    # ---- the storage ------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers on the host."""
        return self.host.dtype

    @property
    def feature_major(self) -> bool:
        """Return whether a single column of numbers lies together in memory."""
        return bool(self.host.feature_major)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that this view sees."""
        return int(self.host.nbytes)

    def _with(self, **changes: Any) -> "StreamedCudaSource":
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def with_jobs(self, n_jobs: int | None) -> "StreamedCudaSource":
        """Return the same columns, read by so many threads."""
        return self._with(host=self.host.with_jobs(n_jobs), n_jobs=n_jobs)

    def view(self, features: IntArray) -> "StreamedCudaSource":
        """Return only these features, in this order; nothing is copied."""
        return self._with(
            host=self.host.view(features),
            n_features=len(features),
            kinds=self.kinds[features],
            center=self.center[features],
            scale=self.scale[features],
        )

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> Source:
        """Return only these rows, copied on the host; on the device where they fit."""
        host = self.host.take_rows(rows, n_jobs)
        assert isinstance(host, DenseSource | StreamedSource)
        return StreamedCudaSource(host, self.capacity).in_memory()

    def scaled(self, center: FloatArray, scale: FloatArray) -> "StreamedCudaSource":
        """Return the columns centred and scaled when read."""
        return self._with(center=np.asarray(center), scale=np.asarray(scale))

    def weighted(self, factor: FloatArray) -> "StreamedCudaSource":
        """Return the columns with every feature multiplied by its factor when read."""
        return self._with(scale=self.scale * factor)

    def load(self, features: IntArray) -> FloatArray:
        """Load some features, centred and scaled, feature-major: they never leave the host."""
        tile = self.host.load(features)
        tile -= self.center[features, None]
        tile *= self.scale[features, None]
        return tile

    def on_host(self) -> Source:
        """Return this view on the host."""
        return self.host.scaled(self.center, self.scale)

    def fits(self) -> bool:
        """Return whether the columns of this view fit into the capacity of the device."""
        return self.nbytes <= self.capacity

    def in_memory(self) -> Source:
        """Return this view on the device, if it fits there."""
        if not self.fits():
            return self
        if isinstance(self.host, DenseSource):
            return self._upload(self.host, slice(None))
        n, p, xp = self.n_rows, self.n_features, device_cuda.xp()
        with device_cuda.translate_memory_errors(self.nbytes):
            matrix = xp.empty((p, n) if self.feature_major else (n, p), self.host.store.dtype)
        values = matrix.T if self.feature_major else matrix
        for places, part in self._blocks():
            values[:, places] = self._upload(part, places).values
        source = CudaSource(values, self.kinds, self.n_jobs)
        return source.scaled(self.center, self.scale)

    def compact(self) -> Source:
        """Do as :meth:`in_memory`."""
        return self.in_memory()

    def _upload(self, part: DenseSource, places: slice) -> CudaSource:
        """Copy a block in memory to the device, with its centres and scales."""
        values = _gather_columns(part.values, part.place, part.feature_major, part.n_jobs)
        source = CudaSource(device_cuda.as_device(values), part.kinds, self.n_jobs)
        return source.scaled(self.center[places], self.scale[places])

    def parts(self) -> Iterator[tuple[slice, CudaSource]]:
        """Yield blocks of this view on the device, and the positions of their columns in it.

        A block is copied by a stream of its own while the one before is computed on; its memory is
        not used again before that is done.
        """
        cuda = device_cuda.xp().cuda
        computing, copying = cuda.get_current_stream(), _copy_stream(int(cuda.runtime.getDevice()))
        waiting: deque[tuple[Any, CudaSource]] = deque()
        try:
            for places, part in self._blocks():
                if len(waiting) == 2:
                    waiting[0][0].synchronize()
                    waiting.popleft()
                with copying:
                    device_part = self._upload(part, places)
                copying.synchronize()
                yield places, device_part
                waiting.append((computing.record(), device_part))
        finally:
            computing.synchronize()

    def _blocks(self) -> Iterator[tuple[slice, DenseSource]]:
        """Yield blocks on the host that take half of the capacity, or a column."""
        host, max_bytes = self.host, self.capacity // 2
        if isinstance(host, StreamedSource):
            host.store.check()
            item = host.store.dtype.itemsize
            max_bytes = min(max_bytes, host.memory // (2 * (n_threads(self.n_jobs) + 2)))
        else:
            item = host.values.itemsize
        width = max(1, min(max_bytes // max(1, self.n_rows * item), ROW_BYTES // item))
        if isinstance(host, StreamedSource):
            host = host.with_block_width(width)
        for low, high in split(self.n_features, width):
            if isinstance(host, StreamedSource):
                yield slice(low, high), host.range(low, high)
            else:
                yield slice(low, high), host.view(np.arange(low, high))

    def each(self, function: Callable[[Any, Any], Any]) -> list[Any]:
        """Call ``function(part, places)`` for every block, on the device."""
        return [function(part, places) for places, part in self.parts()]

    # ---- answers ----------------------------------------------------------------------------
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments by one pass over the numbers."""
        out = np.zeros((3, n_groups, self.n_features))
        self._fill(out, lambda part: part.device_moments(groups, n_groups))
        return Moments(*out)

    def comoments(self, h: FloatArray) -> Comoments:
        """Raise NotOnDevice: numbers as a target are computed on the CPU."""
        raise device_cuda.NotOnDevice(
            "numbers and survival times as targets are computed on the CPU"
        )

    def forms(self, v: FloatArray) -> FloatArray:
        """Return ``v' K_f v`` for every feature: one pass over the numbers."""
        out = np.empty(self.n_features)
        self._fill(out, lambda part: part.device_forms(v))
        return out

    def _fill(self, out: FloatArray, answer: Callable[[CudaSource], Any]) -> None:
        """Put the answers about every block at its columns along the last axis."""
        last: tuple[slice, Any] | None = None
        for places, part in self.parts():
            current = (places, answer(part))
            if last is not None:  # fetched while the next block is at work
                out[..., last[0]] = device_cuda.to_host(last[1])
            last = current
        if last is not None:
            out[..., last[0]] = device_cuda.to_host(last[1])

    def gram(self, features: IntArray | None = None) -> FloatArray:
        """Return ``sum_f K_f`` over some features: float64 of shape (rows, rows)."""
        selected = self if features is None else self.view(features)
        total = _square(self.n_rows)
        for _, part in selected.parts():
            part.add_gram(total)
        return device_cuda.to_host(total)


def _split_scaling(
    source: DenseSource | StreamedSource,
) -> tuple[DenseSource | StreamedSource, FloatArray, FloatArray]:
    """Return a source as it lies, and how it was centred and scaled."""
    zeros, ones = np.zeros(source.n_features), np.ones(source.n_features)
    if isinstance(source, DenseSource):
        center, scale = source.center[source.place], source.scale[source.place]
        return source.scaled(zeros, ones), center, scale
    if source._fills_missing:
        raise device_cuda.NotOnDevice(
            "a table whose missing values are filled while it is read is computed on the CPU"
        )
    if source._center is None or source._scale is None:
        return source, zeros, ones
    return (
        source.without_scaling(),
        source._center_of(source.columns),
        source._scale[source.columns],
    )


def _floats(values: FloatArray) -> Any:
    return device_cuda.as_device(np.asarray(values, np.float64))


def _square(n_rows: int) -> Any:
    with device_cuda.translate_memory_errors(8 * n_rows * n_rows):
        return device_cuda.xp().zeros((n_rows, n_rows))


@functools.cache
def _copy_stream(number: int) -> Any:
    """Return the one stream that copies to a device: memory returns to its own stream."""
    return device_cuda.xp().cuda.Stream(non_blocking=True)


def _gather_columns(
    values: AnyArray, columns: IntArray, feature_major: bool, n_jobs: int | None
) -> AnyArray:
    """Return some columns of a table, without a copy where they lie side by side."""
    if len(columns) and bool((np.diff(columns) == 1).all()):
        return values[:, columns[0] : columns[-1] + 1]
    matrix = values.T if feature_major else values
    shape = (len(columns), matrix.shape[1]) if feature_major else (len(matrix), len(columns))
    out = np.empty(shape, values.dtype)

    def copy_block(block: tuple[int, int]) -> None:
        part = slice(*block)
        if feature_major:
            out[part] = matrix[columns[part]]
        else:
            np.take(matrix[part], columns, axis=1, out=out[part])

    line_bytes = max(1, out.nbytes // max(1, len(out)))
    run_blocks(copy_block, split(len(out), max(1, GATHER_BYTES // line_bytes)), n_jobs)
    return out.T if feature_major else out
