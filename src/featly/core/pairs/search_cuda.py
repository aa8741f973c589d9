"""Every pair of columns on the device: the twin of :mod:`featly.core.pairs.search`.

Blocks of columns are multiplied with each other by the tensor cores. A kernel compares the tile
that results with limits and notes the pairs that pass, while the next tile is multiplied. In round
d every block meets the one d places further on, in a circle, so that all columns have seen as many
others at any time; after rounds 0, 1, 2, 4, 8, ... the list of pairs is sorted, the k-th pair of a
column raises the limit of the column, and what is below is forgotten. The limits of the first
round come from the block itself. About k log(p) pairs a column are ever noted. What is left in
the end is computed again, exactly.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import ParameterError
from featly.core.pairs.columns_cuda import CodedColumns, UnitColumns
from featly.core.pairs.kernels_cuda import LISTS
from featly.core.pairs.search import Progress, drop_in_order, refuse_pairs
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    free_bytes,
    kernel,
    out_of_memory,
    to_host,
    xp,
)
from featly.core.runtime.parallel import split

__all__ = ["CodedColumns", "UnitColumns", "neighbours", "pairs_above", "without_redundant"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Columns = UnitColumns | CodedColumns

TILE = 8192  # columns of a tile, where memory allows
LEAST_TILE = 64
AHEAD = 2  # tiles that may be under way when the length of the list is looked at
MOST_NEIGHBOURS = 256
NEVER = 0x7C00  # the limit of a column that has no partner
ROWS = 64  # of a tile that a block of the scan looks at
VALUED = 1 << 26  # pairs whose values are computed at a time
DRAINED = 1 << 25  # pairs above a threshold that are noted before they are looked at
GREEDY_PAIRS = 50_000_000  # above a threshold, from which the CPU does it with less memory
EXACT_REDUCTION = 16  # of cuBLAS: partial sums are added in float32 as well


def neighbours(
    columns: Columns, count: int, memory: int | None = None, progress: Progress = None
) -> tuple[IntArray, FloatArray]:
    """For every column those of largest value with it, ties by position.

    See :func:`featly.core.pairs.search.neighbours`; `memory` are bytes of the device.
    """
    if count > MOST_NEIGHBOURS:
        raise NotOnDevice(f"more than {MOST_NEIGHBOURS} neighbours are found on the CPU")
    with _sweeping(columns, count, memory) as sweep:
        for number, tiles in enumerate(sweep.rounds()):
            for first, second in tiles:
                sweep.tile(first, second, mode=1 if number == 0 else 0)
                sweep.tell(progress)
            if number & (number - 1) == 0:  # 0, 1, 2, 4, 8, ...
                sweep.shrink()
        sweep.shrink()
        return sweep.best()


def pairs_above(
    columns: Columns,
    threshold: float,
    most: int,
    memory: int | None = None,
    progress: Progress = None,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Every pair whose value is at least a threshold, in no particular order.

    See :func:`featly.core.pairs.search.pairs_above`; `memory` are bytes of the device.
    """
    with _sweeping(columns, 0, memory, threshold, most) as sweep:
        for number, tiles in enumerate(sweep.rounds()):
            for first, second in tiles:
                sweep.tile(first, second, mode=3 if number == 0 else 2)
                sweep.tell(progress)
        sweep.drain()
        return sweep.pairs()


def without_redundant(
    columns: Columns,
    order: IntArray,
    threshold: float,
    n_fixed: int,
    memory: int | None = None,
    progress: Progress = None,
) -> tuple[IntArray, FloatArray, int]:
    """Of columns in an order, which earlier one, itself there to stay, each goes for.

    See :func:`featly.core.pairs.search.without_redundant`. All pairs above the threshold are found
    on the device and gone through on the host.
    """
    try:
        first, second, value = pairs_above(columns, threshold, GREEDY_PAIRS, memory, progress)
    except ParameterError:
        raise NotOnDevice(
            f"more than {GREEDY_PAIRS} pairs reach the threshold, which takes the CPU less memory"
        ) from None
    rank = np.full(columns.n_features, -1)
    rank[order] = np.arange(len(order))
    before, after = rank[first], rank[second]
    there = (before >= 0) & (after >= 0)
    before, after, value = before[there], after[there], value[there]
    before, after = np.minimum(before, after), np.maximum(before, after)
    turn = np.lexsort((after, before))
    redundant_to = np.full(columns.n_features, -1)
    values = np.zeros(columns.n_features)
    fixed = np.zeros(columns.n_features, np.bool_)
    fixed[order[:n_fixed]] = True
    drop_in_order(order[before[turn]], order[after[turn]], value[turn], fixed, redundant_to, values)
    return redundant_to, values, len(order)


@contextmanager
def _sweeping(
    columns: Columns,
    count: int,
    memory: int | None,
    threshold: float | None = None,
    most: int = 0,
) -> Iterator["_Sweep"]:
    """Buffers and streams, given back whatever happens; sums of cuBLAS held to float32."""
    cupy = xp()
    cublas, handle = cupy.cuda.cublas, cupy.cuda.device.get_cublas_handle()
    mode = cublas.getMathMode(handle)
    sweep = None
    try:
        cublas.setMathMode(handle, mode | EXACT_REDUCTION)
        with out_of_memory():
            sweep = _Sweep(columns, count, memory, threshold, most)
            yield sweep
    finally:
        if sweep is not None:
            sweep.wait()  # nothing may still run in memory that is given back
        cublas.setMathMode(handle, mode)


class _Sweep:
    """The tiles of all pairs, and the list of those that pass."""

    def __init__(
        self,
        columns: Columns,
        count: int,
        memory: int | None,
        threshold: float | None,
        most: int,
    ) -> None:
        cupy = xp()
        self.columns, self.count = columns, count
        self.threshold, self.most = threshold, most
        p = columns.n_features
        room = free_bytes() if memory is None else min(memory, free_bytes())
        # pairs that are noted on purpose, those of a column in two rounds and of the first ones
        wanted = 8 * count * p if threshold is None else min(DRAINED, room // 128)
        self.noted = wanted
        self.width, self.capacity = _sizes(columns, wanted, room)
        self.slack = (AHEAD + 1) * 2 * self.width**2
        self.blocks = split(p, self.width)
        shape = (self.width, self.width)
        self.tiles = [cupy.empty(shape, np.uint16) for _ in range(2)]
        self.list = cupy.empty(self.capacity, np.uint64)
        self.length = cupy.zeros(1, np.uint64)
        # read in eights, so a few more
        self.limits = cupy.full(-(-p // 8) * 8, NEVER, np.uint16)
        self.limits[:p] = 0 if threshold is None else columns.codes_of(cupy.full(1, threshold))[0]
        self.limits[:p][~columns.varies] = NEVER
        self.multiplying = cupy.cuda.Stream(non_blocking=True)
        self.scanning = cupy.cuda.Stream(non_blocking=True)
        events = [cupy.cuda.Event(disable_timing=True) for _ in range(4 + AHEAD)]
        self.made, self.scanned, self.counted = events[:2], events[2:4], events[4:]
        pinned = cupy.cuda.alloc_pinned_memory(8 * AHEAD)
        self.lengths = np.frombuffer(pinned, np.uint64, AHEAD)
        self.lengths[:] = 0
        self.done, self.total = 0, len(self.blocks) * (len(self.blocks) + 1) // 2
        self.confirmed: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.n_confirmed = 0
        cupy.cuda.get_current_stream().synchronize()  # the other streams do not wait for it

    def rounds(self) -> Iterator[list[tuple[tuple[int, int], tuple[int, int]]]]:
        """Every pair of blocks once, a block with the one so many places further on."""
        blocks, count = self.blocks, len(self.blocks)
        for step in range(count // 2 + 1):
            # half way round, both blocks of a pair would come to it
            starts = count // 2 if 2 * step == count and step else count
            yield [(blocks[k], blocks[(k + step) % count]) for k in range(starts)]

    def tile(self, first: tuple[int, int], second: tuple[int, int], mode: int) -> None:
        """Multiply two blocks, and note what passes when that is done."""
        self._make_room()
        slot = self.done % 2
        tile = self.tiles[slot]
        rows, width = first[1] - first[0], second[1] - second[0]
        with self.multiplying:
            self.multiplying.wait_event(self.scanned[slot])
            self.columns.tile(tile, first, second)
            self.made[slot].record(self.multiplying)
        with self.scanning:
            self.scanning.wait_event(self.made[slot])
            if mode == 1:
                kernel(LISTS, "row_limits", ROWS=ROWS)(
                    (rows,),
                    (256,),
                    (
                        tile, np.int32(self.width), np.int32(width), np.int32(first[0]),
                        *self._rule(), self.limits,
                    ),
                )  # fmt: skip
            kernel(LISTS, "scan", ROWS=ROWS)(
                (-(-width // 1024), -(-rows // ROWS)),
                (128,),
                (
                    tile, np.int32(self.width), np.int32(rows), np.int32(width),
                    np.int32(first[0]), np.int32(second[0]), self.limits, np.int32(mode),
                    self.list, self.length, np.uint64(self.capacity),
                ),
            )  # fmt: skip
            self.scanned[slot].record(self.scanning)
            place = self.done % AHEAD
            self.length.get(
                stream=self.scanning, out=self.lengths[place : place + 1], blocking=False
            )
            self.counted[place].record(self.scanning)
        self.done += 1

    def tell(self, progress: Progress) -> None:
        """Call a progress function now and then."""
        if progress is not None and (self.done % 8 == 0 or self.done == self.total):
            progress(self.done, self.total)

    def _rule(self) -> tuple[Any, ...]:
        """How a limit follows from the k-th screened value."""
        columns = self.columns
        return (
            np.int32(self.count), np.float32(columns.relative), np.float32(columns.absolute),
            np.int32(columns.coded),
        )  # fmt: skip

    def _make_room(self) -> None:
        """Shorten the list before it could overflow."""
        if self.done < AHEAD:
            return
        place = self.done % AHEAD
        self.counted[place].synchronize()
        length = int(self.lengths[place])
        if self.threshold is not None and length > self.noted:
            self.drain()
        elif length + self.slack > self.capacity:
            self.shrink()
            if self._length() + self.slack > self.capacity:
                self._keep_best()

    def wait(self) -> None:
        """Until nothing runs."""
        self.multiplying.synchronize()
        self.scanning.synchronize()

    def _length(self) -> int:
        return int(self.length[0])

    # ---- nearest columns --------------------------------------------------------------------
    def shrink(self) -> None:
        """Sort the list, raise the limits, and forget what is below them."""
        self.wait()
        cupy, p = xp(), self.columns.n_features
        pairs = self.list[: self._length()]
        if len(pairs) > 1:
            pairs.sort()
        start, kept = self._begins(pairs), cupy.empty(p, np.int64)
        blocks = (-(-p // 128),)
        kernel(LISTS, "shrink", ROWS=ROWS)(
            blocks, (128,), (pairs, start, np.int32(p), *self._rule(), self.limits, kept)
        )
        ends = cupy.cumsum(kept)
        shorter = cupy.empty(int(ends[-1]), np.uint64)
        kernel(LISTS, "gather", ROWS=ROWS)(
            blocks, (128,), (pairs, start, ends, np.int32(p), shorter)
        )
        self._replace(shorter)

    def _begins(self, pairs: Any) -> Any:
        p = self.columns.n_features
        start = xp().empty(p + 1, np.int64)
        kernel(LISTS, "begins", ROWS=ROWS)(
            (p // 128 + 1,), (128,), (pairs, np.int64(len(pairs)), np.int32(p), start)
        )
        return start

    def _replace(self, pairs: Any) -> None:
        self.list[: len(pairs)] = pairs
        self.length[0] = len(pairs)
        self.lengths[:] = len(pairs)
        xp().cuda.get_current_stream().synchronize()

    def _keep_best(self) -> None:
        """Where ties leave the list long: only the best pairs, by their values."""
        cupy, p = xp(), self.columns.n_features
        index, best = self._best()
        feature = cupy.repeat(cupy.arange(p, dtype=np.uint64), self.count)
        there = index.reshape(-1) >= 0
        codes = self.columns.codes_of(best)
        full = index[:, -1] >= 0
        limits = self.limits[:p]
        limits[:] = cupy.where(full, cupy.maximum(limits, codes[:, -1]), limits)
        words = (
            feature << np.uint64(40)
            | (0xFFFF - codes.reshape(-1).astype(np.uint64)) << np.uint64(24)
            | index.reshape(-1).astype(np.uint64)
        )
        self._replace(cupy.sort(words[there]))

    def _best(self) -> tuple[Any, Any]:
        """The best pairs of every column of a sorted list, on the device."""
        cupy, p = xp(), self.columns.n_features
        pairs = self.list[: self._length()]
        values = cupy.empty(len(pairs))
        for low, high in split(len(pairs), VALUED):
            values[low:high] = self.columns.values_of(pairs[low:high])
        index, best = cupy.empty((p, self.count), np.int64), cupy.empty((p, self.count))
        kernel(LISTS, "best_pairs", ROWS=ROWS)(
            (-(-p // 8),),
            (256,),
            (
                pairs, values, self._begins(pairs), np.int32(p), np.int32(self.count),
                np.float64(self.columns.grid), index, best,
            ),
        )  # fmt: skip
        return index, best

    def best(self) -> tuple[IntArray, FloatArray]:
        """The best pairs of every column."""
        index, best = self._best()
        return to_host(index), to_host(best)

    # ---- pairs above a threshold ------------------------------------------------------------
    def drain(self) -> None:
        """Compute the values of the pairs in the list, keep those that hold, and empty it."""
        self.wait()
        pairs = self.list[: self._length()]
        for low, high in split(len(pairs), VALUED):
            part = pairs[low:high]
            values = self.columns.values_of(part)
            kept = values >= self.threshold
            self.n_confirmed += int(kept.sum())
            if self.n_confirmed > self.most:
                raise refuse_pairs(self.threshold or 0.0, self.most)
            part, values = part[kept], values[kept]
            first = (part >> np.uint64(40)).astype(np.int64)
            second = (part & np.uint64(0xFFFFFF)).astype(np.int64)
            self.confirmed.append((to_host(first), to_host(second), to_host(values)))
        self._replace(self.list[:0])

    def pairs(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The pairs that were kept."""
        empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        first, second, value = (
            np.concatenate(parts) for parts in zip(empty, *self.confirmed, strict=True)
        )
        return np.minimum(first, second), np.maximum(first, second), value


def _sizes(columns: Columns, wanted: int, room: int) -> tuple[int, int]:
    """Columns of a tile, and words of the list, that fit into so many bytes."""
    width = min(TILE, -(-columns.n_features // LEAST_TILE) * LEAST_TILE)
    if isinstance(columns, CodedColumns):
        width = max(LEAST_TILE, width // columns.planes // LEAST_TILE * LEAST_TILE)
    while True:
        slack = (AHEAD + 1) * 2 * width * width
        # sorting takes as much again, and values of pairs are computed beside them
        needed = 8 * (3 * slack + 4 * wanted) + 4 * width * width + columns.work(width)
        if needed <= room or width <= LEAST_TILE:
            break
        width = max(LEAST_TILE, width // 2 // LEAST_TILE * LEAST_TILE)
    if needed > room:
        raise NotOnDevice(
            f"a comparison of all pairs needs {needed / 1e9:.3g} GB on the device besides the "
            f"columns, {room / 1e9:.3g} GB are free: give device='cpu'"
        )
    return width, slack + 2 * wanted
