"""Columns kept for a search: on the device as far as they fit, else in memory of the host."""

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
RESERVE = 1 << 28  # bytes that are left alone
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
        What is known of each; where it lies is in `lying`.
    lying : list
        An array on the device, or one of NumPy in pinned memory.
    """

    def __init__(self, n_features: int, memory: int | None = None) -> None:
        self.parts: list[Part | WideColumns] = []
        self.lying: list[Any] = []
        self._memory, self._needed = memory, BYTES_A_COLUMN * n_features + RESERVE
        self._used = 0
        self._away: list[int] = []
        self._buffers: list[Any] = []

    def add(self, part: Part | WideColumns) -> None:
        """Keep a part, which is on the device now."""
        array = part.lying
        if self._fits(array.nbytes):
            self._used += array.nbytes
        else:
            self._away.append(len(self.parts))
            array = _pinned(array)
        self.parts.append(replace(part, lying=None))
        self.lying.append(array)

    def _fits(self, size: int) -> bool:
        if self._memory is not None:
            return self._used + size <= self._memory
        # this one is there already; room must be left to make the next, and for two buffers
        return free_bytes() >= self._needed + (1 + BUFFERS) * size

    def each(self) -> Iterator[tuple[Part | WideColumns, Any]]:
        """All parts on the device, one after the other: first those that lie there.

        What is done with a part must be queued on the current stream before the next is asked for.
        """
        for k, array in enumerate(self.lying):
            if k not in self._away:
                yield self.parts[k], array
        if self._away:
            yield from self._streamed()

    def is_away(self, number: int) -> bool:
        """Whether a part lies on the host."""
        return number in self._away

    def _streamed(self) -> Iterator[tuple[Part | WideColumns, Any]]:
        cuda, away = xp().cuda, self._away
        if not self._buffers:
            size = max(self.lying[k].nbytes for k in away)
            self._stream = cuda.Stream(non_blocking=True)
            for _ in range(BUFFERS):
                arrived, done = (cuda.Event(disable_timing=True) for _ in range(2))
                self._buffers.append((xp().empty(size, np.uint8), arrived, done))
        current = cuda.get_current_stream()

        def send(turn: int) -> Any:
            buffer, arrived, done = self._buffers[turn % BUFFERS]
            lying = self.lying[away[turn]]
            there = buffer[: lying.nbytes].view(lying.dtype).reshape(lying.shape)
            self._stream.wait_event(done)
            there.set(lying, stream=self._stream)
            arrived.record(self._stream)
            return there

        for _, _, done in self._buffers:  # what was queued before must not be overtaken
            done.record(current)
        coming = send(0)
        for turn, k in enumerate(away):
            there, (_, arrived, done) = coming, self._buffers[turn % BUFFERS]
            if turn + 1 < len(away):
                coming = send(turn + 1)
            current.wait_event(arrived)
            yield self.parts[k], there
            done.record(current)


def _pinned(array: Any) -> np.ndarray:
    """A copy in pinned memory of the host, from which the device reads at full speed."""
    cuda = xp().cuda
    try:
        memory = cuda.PinnedMemoryPointer(cuda.PinnedMemory(array.nbytes), 0)
    except cuda.runtime.CUDARuntimeError as error:
        raise DeviceError(
            f"neither the device nor the host has room for {array.nbytes / 1e9:.3g} GB more of "
            f"packed columns: {REMEDY}"
        ) from error
    out = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    array.get(out=out)
    return out
