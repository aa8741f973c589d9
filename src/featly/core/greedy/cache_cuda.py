"""Columns stored for a search: on the device as far as they fit, else in memory of the host.

The CUDA counterpart of :mod:`featly.core.greedy.cache`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from featly.basics.errors import DeviceError
from featly.core.counts.bitplanes_cuda import Part
from featly.core.counts.histograms_cuda import WideColumns
from featly.core.runtime.device_cuda import REMEDY, free_bytes, xp

__all__ = ["PlaneStore"]

BYTES_A_COLUMN = 128  # that the search itself needs
RESERVE = 1 << 28  # bytes that stay free
BUFFERS = 2


class PlaneStore:
    """Parts of a table, each on the device or in pinned memory.

    Parameters
    ----------
    n_features : int
    memory : int, optional
        Bytes of the device that parts may take; None for what is free.

    Attributes
    ----------
    parts : list
        The parts, without their arrays.
    data : list
        The array of each, on the device or of NumPy in pinned memory.
    """

    def __init__(self, n_features: int, memory: int | None = None) -> None:
        self.parts: list[Part | WideColumns] = []
        self.data: list[Any] = []
        self._memory, self._needed = memory, BYTES_A_COLUMN * n_features + RESERVE
        self._used = 0
        self._on_host: list[int] = []
        self._buffers: list[Any] = []

    def add(self, part: Part | WideColumns) -> None:
        """Store a part that is on the device."""
        array = part.data
        if self._fits(array.nbytes):
            self._used += array.nbytes
        else:
            self._on_host.append(len(self.parts))
            array = _copy_to_pinned(array)
        self.parts.append(replace(part, data=None))
        self.data.append(array)

    def _fits(self, size: int) -> bool:
        if self._memory is not None:
            return self._used + size <= self._memory
        # this part is on the device; the next one and the buffers must fit beside it
        return free_bytes() >= self._needed + (1 + BUFFERS) * size

    def each(self) -> Iterator[tuple[Part | WideColumns, Any]]:
        """Yield all parts on the device, one after the other, first those that are stored there.

        Work on a part must be queued on the current stream before the next part is requested.
        """
        for k, array in enumerate(self.data):
            if k not in self._on_host:
                yield self.parts[k], array
        if self._on_host:
            yield from self._stream_parts()

    def is_on_host(self, number: int) -> bool:
        """Return whether a part lies on the host."""
        return number in self._on_host

    def _stream_parts(self) -> Iterator[tuple[Part | WideColumns, Any]]:
        cuda, on_host = xp().cuda, self._on_host
        if not self._buffers:
            size = max(self.data[k].nbytes for k in on_host)
            self._stream = cuda.Stream(non_blocking=True)
            for _ in range(BUFFERS):
                arrived, done = (cuda.Event(disable_timing=True) for _ in range(2))
                self._buffers.append((xp().empty(size, np.uint8), arrived, done))
        current = cuda.get_current_stream()

        def send_part(turn: int) -> Any:
            buffer, arrived, done = self._buffers[turn % BUFFERS]
            pinned = self.data[on_host[turn]]
            on_device = buffer[: pinned.nbytes].view(pinned.dtype).reshape(pinned.shape)
            self._stream.wait_event(done)
            on_device.set(pinned, stream=self._stream)
            arrived.record(self._stream)
            return on_device

        for _, _, done in self._buffers:  # earlier work may still read the buffers
            done.record(current)
        next_part = send_part(0)
        for turn, k in enumerate(on_host):
            on_device, (_, arrived, done) = next_part, self._buffers[turn % BUFFERS]
            if turn + 1 < len(on_host):
                next_part = send_part(turn + 1)
            current.wait_event(arrived)
            yield self.parts[k], on_device
            done.record(current)


def _copy_to_pinned(array: Any) -> np.ndarray:
    """Copy to pinned memory of the host, from which the device reads at full speed."""
    cuda = xp().cuda
    try:
        memory = cuda.PinnedMemoryPointer(cuda.PinnedMemory(array.nbytes), 0)
    except cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"neither the device nor the host has memory for {array.nbytes / 1e9:.3g} GB more of "
            "packed columns: ",
            *REMEDY,
        ) from error
    out = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    array.get(out=out)
    return out
