"""All pairs of columns on the device: the CUDA counterpart of :mod:`featly.core.pairs.search`.

Blocks of columns are multiplied with each other by the tensor cores. A kernel compares the
resulting tile with limits and lists the pairs that pass, while the next tile is multiplied. In
round d every block is compared with the one d blocks further on, in a circle, so that after each
round all columns have been compared with equally many others. After rounds 0, 1, 2, 4, 8, ... the
list of pairs is sorted, the k-th pair of a column raises the limit of the column, and pairs below
it are dropped. The limits of the first round come from the block itself. About k log(p) pairs a
column are ever listed. The pairs left at the end are computed again, exactly.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from featly.basics.errors import ParameterError, Setting
from featly.basics.resources import Resources
from featly.basics.typing import FloatArray, IntArray
from featly.core.pairs import search
from featly.core.pairs.columns_cuda import CodedColumns, UnitColumns
from featly.core.pairs.kernels_cuda import LISTS
from featly.core.pairs.search import Progress, drop_in_order, too_many_pairs_error
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    free_bytes,
    kernel,
    to_host,
    translate_memory_errors,
    xp,
)
from featly.core.runtime.parallel import split

__all__ = ["CodedColumns", "UnitColumns", "drop_redundant", "neighbours", "pairs_above"]

Columns = UnitColumns | CodedColumns

TILE = 8192  # columns of a tile, where memory allows
LEAST_TILE = 64
AHEAD = 2  # tiles that may be in progress when the length of the list is read
MOST_NEIGHBOURS = 256
NEVER = 0x7C00  # the limit of a constant column, which no pair reaches
ROWS = 64  # rows of a tile that a block of the scan reads
VALUE_PAIRS = 1 << 26  # pairs whose exact values are computed at a time
DRAIN_PAIRS = (
    1 << 25
)  # listed pairs from which their exact values are computed and the list emptied
GREEDY_PAIRS = 50_000_000  # pairs above a threshold; for more, the CPU needs less memory
EXACT_REDUCTION = 16  # option of cuBLAS: partial sums are added in float32 as well


@search.search_memory.answer(UnitColumns)
@search.search_memory.answer(CodedColumns)
def _device_memory(columns: Columns, resources: Resources) -> int | None:
    """Return the bytes of the device that are granted; None for what is free."""
    return resources.memory


@search.neighbours.answer(UnitColumns)
@search.neighbours.answer(CodedColumns)
def neighbours(
    columns: Columns, count: int, memory: int | None = None, progress: Progress = None
) -> tuple[IntArray, FloatArray]:
    """Return for every column the columns of largest value with it, ties by position.

    See :func:`featly.core.pairs.search.neighbours`; `memory` is in bytes of the device.
    """
    if count > MOST_NEIGHBOURS:
        raise NotOnDevice(f"more than {MOST_NEIGHBOURS} neighbours are found on the CPU")
    with _open_sweep(columns, count, memory) as sweep:
        for number, tiles in enumerate(sweep.rounds()):
            for first, second in tiles:
                sweep.tile(first, second, mode=1 if number == 0 else 0)
                sweep.report_progress(progress)
            if number & (number - 1) == 0:  # 0, 1, 2, 4, 8, ...
                sweep.shrink()
        sweep.shrink()
        return sweep.best()


@search.pairs_above.answer(UnitColumns)
@search.pairs_above.answer(CodedColumns)
def pairs_above(
    columns: Columns,
    threshold: float,
    max_pairs: int,
    memory: int | None = None,
    progress: Progress = None,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return every pair whose value is at least a threshold, in no particular order.

    See :func:`featly.core.pairs.search.pairs_above`; `memory` is in bytes of the device.
    """
    with _open_sweep(columns, 0, memory, threshold, max_pairs) as sweep:
        for number, tiles in enumerate(sweep.rounds()):
            for first, second in tiles:
                sweep.tile(first, second, mode=3 if number == 0 else 2)
                sweep.report_progress(progress)
        sweep.drain()
        return sweep.pairs()


@search.drop_redundant.answer(UnitColumns)
@search.drop_redundant.answer(CodedColumns)
def drop_redundant(
    columns: Columns,
    order: IntArray,
    threshold: float,
    n_fixed: int,
    memory: int | None = None,
    progress: Progress = None,
) -> tuple[IntArray, FloatArray, int]:
    """Return for each column in an order the earlier, retained one that makes it redundant.

    See :func:`featly.core.pairs.search.drop_redundant`. The device finds all pairs above the
    threshold; the host then goes through them in order.
    """
    try:
        first, second, value = pairs_above(columns, threshold, GREEDY_PAIRS, memory, progress)
    except ParameterError:
        raise NotOnDevice(
            f"more than {GREEDY_PAIRS} pairs reach the threshold: the CPU needs less memory"
        ) from None
    rank = np.full(columns.n_features, -1)
    rank[order] = np.arange(len(order))
    before, after = rank[first], rank[second]
    ranked = (before >= 0) & (after >= 0)
    before, after, value = before[ranked], after[ranked], value[ranked]
    before, after = np.minimum(before, after), np.maximum(before, after)
    by_rank = np.lexsort((after, before))
    redundant_to = np.full(columns.n_features, -1)
    values = np.zeros(columns.n_features)
    fixed = np.zeros(columns.n_features, np.bool_)
    fixed[order[:n_fixed]] = True
    drop_in_order(
        order[before[by_rank]], order[after[by_rank]], value[by_rank], fixed, redundant_to, values
    )
    return redundant_to, values, len(order)


@contextmanager
def _open_sweep(
    columns: Columns,
    count: int,
    memory: int | None,
    threshold: float | None = None,
    max_pairs: int = 0,
) -> Iterator["_Sweep"]:
    """Open buffers and streams for a ``with``; cuBLAS adds up in float32 for its length."""
    cupy = xp()
    cublas, handle = cupy.cuda.cublas, cupy.cuda.device.get_cublas_handle()
    mode = cublas.getMathMode(handle)
    sweep = None
    try:
        cublas.setMathMode(handle, mode | EXACT_REDUCTION)
        with translate_memory_errors():
            sweep = _Sweep(columns, count, memory, threshold, max_pairs)
            yield sweep
    finally:
        if sweep is not None:
            sweep.wait()  # no kernel may still use the memory that is freed
        cublas.setMathMode(handle, mode)


class _Sweep:
    """The tiles of all pairs, and the list of those that pass."""

    def __init__(
        self,
        columns: Columns,
        count: int,
        memory: int | None,
        threshold: float | None,
        max_pairs: int,
    ) -> None:
        cupy = xp()
        self.columns, self.count = columns, count
        self.threshold, self.max_pairs = threshold, max_pairs
        p = columns.n_features
        memory_budget = free_bytes() if memory is None else min(memory, free_bytes())
        # 8 pairs a neighbour: of a column in two rounds, and of the first rounds
        expected_pairs = (
            8 * count * p if threshold is None else min(DRAIN_PAIRS, memory_budget // 128)
        )
        self.expected_pairs = expected_pairs
        self.width, self.capacity = _sizes(columns, expected_pairs, memory_budget)
        self.slack = (AHEAD + 1) * 2 * self.width**2
        self.blocks = split(p, self.width)
        shape = (self.width, self.width)
        self.tiles = [cupy.empty(shape, np.uint16) for _ in range(2)]
        self.list = cupy.empty(self.capacity, np.uint64)
        self.length = cupy.zeros(1, np.uint64)
        # kernels read eight at a time, so the length is a multiple of 8
        self.limits = cupy.full(-(-p // 8) * 8, NEVER, np.uint16)
        self.limits[:p] = (
            0 if threshold is None else columns.screen_codes(cupy.full(1, threshold))[0]
        )
        self.limits[:p][~columns.varies] = NEVER
        self.multiplying = cupy.cuda.Stream(non_blocking=True)
        self.scanning = cupy.cuda.Stream(non_blocking=True)
        events = [cupy.cuda.Event(disable_timing=True) for _ in range(4 + AHEAD)]
        self.tile_events, self.scan_events, self.length_events = events[:2], events[2:4], events[4:]
        pinned = cupy.cuda.alloc_pinned_memory(8 * AHEAD)
        self.lengths = np.frombuffer(pinned, np.uint64, AHEAD)
        self.lengths[:] = 0
        self.done, self.total = 0, len(self.blocks) * (len(self.blocks) + 1) // 2
        self.passing: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.n_passing = 0
        cupy.cuda.get_current_stream().synchronize()  # the other streams do not wait for it

    def rounds(self) -> Iterator[list[tuple[tuple[int, int], tuple[int, int]]]]:
        """Yield every pair of blocks once; in round d, blocks that are d apart in a circle."""
        blocks, count = self.blocks, len(self.blocks)
        for step in range(count // 2 + 1):
            # halfway round the circle, each pair would come up twice
            starts = count // 2 if 2 * step == count and step else count
            yield [(blocks[k], blocks[(k + step) % count]) for k in range(starts)]

    def tile(self, first: tuple[int, int], second: tuple[int, int], mode: int) -> None:
        """Multiply two blocks, then list the pairs that pass."""
        self._shorten_list()
        slot = self.done % 2
        tile = self.tiles[slot]
        rows, width = first[1] - first[0], second[1] - second[0]
        with self.multiplying:
            self.multiplying.wait_event(self.scan_events[slot])
            self.columns.tile(tile, first, second)
            self.tile_events[slot].record(self.multiplying)
        with self.scanning:
            self.scanning.wait_event(self.tile_events[slot])
            if mode == 1:
                kernel(LISTS, "row_limits", ROWS=ROWS)(
                    (rows,),
                    (256,),
                    (
                        tile, np.int32(self.width), np.int32(width), np.int32(first[0]),
                        *self._limit_rule(), self.limits,
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
            self.scan_events[slot].record(self.scanning)
            turn = self.done % AHEAD
            self.length.get(stream=self.scanning, out=self.lengths[turn : turn + 1], blocking=False)
            self.length_events[turn].record(self.scanning)
        self.done += 1

    def report_progress(self, progress: Progress) -> None:
        """Call a progress function now and then."""
        if progress is not None and (self.done % 8 == 0 or self.done == self.total):
            progress(self.done, self.total)

    def _limit_rule(self) -> tuple[Any, ...]:
        """Return the arguments by which kernels derive a limit from the k-th screened value."""
        columns = self.columns
        return (
            np.int32(self.count), np.float32(columns.relative), np.float32(columns.absolute),
            np.int32(columns.coded),
        )  # fmt: skip

    def _shorten_list(self) -> None:
        """Shorten the list before it could overflow."""
        if self.done < AHEAD:
            return
        turn = self.done % AHEAD
        self.length_events[turn].synchronize()
        length = int(self.lengths[turn])
        if self.threshold is not None and length > self.expected_pairs:
            self.drain()
        elif length + self.slack > self.capacity:
            self.shrink()
            if self._length() + self.slack > self.capacity:
                self._retain_best_pairs()

    def wait(self) -> None:
        """Wait until no kernel runs."""
        self.multiplying.synchronize()
        self.scanning.synchronize()

    def _length(self) -> int:
        return int(self.length[0])

    # ---- nearest columns --------------------------------------------------------------------
    def shrink(self) -> None:
        """Sort the list, raise the limits, and drop the pairs below them."""
        self.wait()
        cupy, p = xp(), self.columns.n_features
        pairs = self.list[: self._length()]
        if len(pairs) > 1:
            pairs.sort()
        start, n_retained = self._column_starts(pairs), cupy.empty(p, np.int64)
        blocks = (-(-p // 128),)
        kernel(LISTS, "shrink", ROWS=ROWS)(
            blocks,
            (128,),
            (pairs, start, np.int32(p), *self._limit_rule(), self.limits, n_retained),
        )
        ends = cupy.cumsum(n_retained)
        shorter = cupy.empty(int(ends[-1]), np.uint64)
        kernel(LISTS, "gather", ROWS=ROWS)(
            blocks, (128,), (pairs, start, ends, np.int32(p), shorter)
        )
        self._replace(shorter)

    def _column_starts(self, pairs: Any) -> Any:
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

    def _retain_best_pairs(self) -> None:
        """Reduce a list with many ties to the best pairs, by their exact values."""
        cupy, p = xp(), self.columns.n_features
        index, best = self._best()
        feature = cupy.repeat(cupy.arange(p, dtype=np.uint64), self.count)
        is_pair = index.reshape(-1) >= 0
        codes = self.columns.screen_codes(best)
        full = index[:, -1] >= 0
        limits = self.limits[:p]
        limits[:] = cupy.where(full, cupy.maximum(limits, codes[:, -1]), limits)
        words = (
            feature << np.uint64(40)
            | (0xFFFF - codes.reshape(-1).astype(np.uint64)) << np.uint64(24)
            | index.reshape(-1).astype(np.uint64)
        )
        self._replace(cupy.sort(words[is_pair]))

    def _best(self) -> tuple[Any, Any]:
        """Return the best pairs of every column of a sorted list, on the device."""
        cupy, p = xp(), self.columns.n_features
        pairs = self.list[: self._length()]
        values = cupy.empty(len(pairs))
        for low, high in split(len(pairs), VALUE_PAIRS):
            values[low:high] = self.columns.exact_values(pairs[low:high])
        index, best = cupy.empty((p, self.count), np.int64), cupy.empty((p, self.count))
        kernel(LISTS, "best_pairs", ROWS=ROWS)(
            (-(-p // 8),),
            (256,),
            (
                pairs, values, self._column_starts(pairs), np.int32(p), np.int32(self.count),
                np.float64(self.columns.grid), index, best,
            ),
        )  # fmt: skip
        return index, best

    def best(self) -> tuple[IntArray, FloatArray]:
        """Return the best pairs of every column, on the host."""
        index, best = self._best()
        return to_host(index), to_host(best)

    # ---- pairs above a threshold ------------------------------------------------------------
    def drain(self) -> None:
        """Compute the exact values of the listed pairs, keep those that pass, empty the list."""
        self.wait()
        pairs = self.list[: self._length()]
        for low, high in split(len(pairs), VALUE_PAIRS):
            part = pairs[low:high]
            values = self.columns.exact_values(part)
            passes = values >= self.threshold
            self.n_passing += int(passes.sum())
            if self.n_passing > self.max_pairs:
                raise too_many_pairs_error(self.threshold or 0.0, self.max_pairs)
            part, values = part[passes], values[passes]
            first = (part >> np.uint64(40)).astype(np.int64)
            second = (part & np.uint64(0xFFFFFF)).astype(np.int64)
            self.passing.append((to_host(first), to_host(second), to_host(values)))
        self._replace(self.list[:0])

    def pairs(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the pairs that passed the threshold."""
        empty = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        first, second, value = (
            np.concatenate(parts) for parts in zip(empty, *self.passing, strict=True)
        )
        return np.minimum(first, second), np.maximum(first, second), value


def _sizes(columns: Columns, expected_pairs: int, memory_budget: int) -> tuple[int, int]:
    """Return the columns of a tile and the words of the list that fit into so many bytes."""
    width = min(TILE, -(-columns.n_features // LEAST_TILE) * LEAST_TILE)
    if isinstance(columns, CodedColumns):
        width = max(LEAST_TILE, width // columns.planes // LEAST_TILE * LEAST_TILE)
    while True:
        slack = (AHEAD + 1) * 2 * width * width
        # sorting takes as much again, and the exact values of pairs are stored beside them
        needed = 8 * (3 * slack + 4 * expected_pairs) + 4 * width * width + columns.work(width)
        if needed <= memory_budget or width <= LEAST_TILE:
            break
        width = max(LEAST_TILE, width // 2 // LEAST_TILE * LEAST_TILE)
    if needed > memory_budget:
        raise NotOnDevice(
            f"a comparison of all pairs needs {needed / 1e9:.3g} GB on the device besides the "
            f"columns, and {memory_budget / 1e9:.3g} GB are free: give ",
            Setting("device", "cpu"),
        )
    return width, slack + 2 * expected_pairs
