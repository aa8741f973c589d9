"""Weights of the Relief family on the device: distances, neighbours and differences stay there.

The CUDA counterpart of :func:`featly.core.relief.relief.relief_weights` for numbers without missing
values. Distances are sums in float64 of the same scaled values, coefficients come from the same
rules with the same tolerance for ties, and the weights are rounded to the same grid.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.typing import IntArray
from featly.core.relief import relief
from featly.core.relief.relief import GRID, Near, Nearest, NearestOfAll, Rule, Weights
from featly.core.relief.relief_columns import ClassOrder
from featly.core.relief.relief_kernels_cuda import COLUMNS, PAIRS, RULES
from featly.core.runtime import device_cuda
from featly.core.runtime.parallel import split
from featly.core.sources import Source
from featly.core.sources.moments_cuda import column_layout
from featly.core.sources.source_cuda import CudaSource, StreamedCudaSource, cuda_source
from featly.core.stats.pair_sums_cuda import PairSums, padded_width

__all__ = ["relief_weights"]


TILE_BYTES = 1 << 29  # of scaled columns that are compared at a time
TILE_COLUMNS = 1 << 14  # and no more columns than this, so that progress can be shown
HELD_SHARE = 3  # scaled columns are cached if they take at most 1 / HELD_SHARE of the free memory
SQUARE_SHARE = 4  # all distances are made at once if they take at most this fraction; else panels
PART_PAIRS = 2048  # pairs that are summed in one part, if there are no more than ...
MOST_PARTS = 64  # ... so many parts
MOST_ROWS = 65535  # of a grid


@relief.relief_weights.answer(CudaSource)
@relief.relief_weights.answer(StreamedCudaSource)
def relief_weights(
    source: Source,
    y: IntArray,
    n_classes: int,
    rule: Rule,
    *,
    sample: IntArray | None = None,
    missing: str = "conditional",
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    panel_bytes: int | None = None,
) -> Weights:
    """Return the weights of all features of a source by a rule of the family.

    Parameters are those of :func:`featly.core.relief.relief.relief_weights`, and

    panel_bytes : int, optional
        Bytes of distances in memory at a time; a quarter of the free memory by default.

    Raises
    ------
    NotOnDevice
        For categories, and for columns with missing values.
    """
    table = cuda_source(source, n_jobs=n_jobs)
    n, class_order = table.n_rows, ClassOrder.from_labels(y, n_classes)
    columns = _Columns(table, class_order)
    n_wanted = n if sample is None else len(sample)
    report = progress or (lambda done, total: None)
    xp = device_cuda.xp()
    summed = xp.zeros(len(columns.features))
    if len(columns.features) == 0:
        return Weights(np.zeros(table.n_features), n_wanted)
    if panel_bytes is None:
        panel_bytes = device_cuda.free_bytes() // SQUARE_SHARE
    work = _Work(columns, class_order, rule, progress is not None)
    if sample is None and 8 * n * n * PairSums.count_slabs(n, columns.width) <= panel_bytes:
        work.add(None, summed, lambda rows: report(rows, n_wanted))
        return columns.weights(summed, n, n)
    position = np.empty(n, np.int64)
    position[class_order.rows] = np.arange(n)
    rows = position if sample is None else position[sample]
    # every panel has rows from the whole table, so after Ctrl-C the rows done represent all
    n_panels = min(n_wanted, -(-n_wanted * n * 8 // panel_bytes))
    done = 0

    def report_panel(rows: int) -> None:
        report(done + rows, n_wanted)

    try:
        for k in range(n_panels):
            panel, added = np.sort(rows[k::n_panels]), xp.zeros_like(summed)
            work.add(panel, added, report_panel)
            summed += added
            done += len(panel)
    except KeyboardInterrupt:
        if done == 0:
            raise
    return columns.weights(summed, done, n_wanted)


class _Columns:
    """Columns that vary, scaled to 0..1, rows sorted by class, some of them at a time."""

    def __init__(self, source: CudaSource | StreamedCudaSource, class_order: ClassOrder) -> None:
        self.source, self.n_features = source, source.n_features
        extremes = np.empty((3, source.n_features))
        for selection, part in source.parts():
            extremes[:, selection] = device_cuda.to_host(_extremes(part))
        low, high, known = extremes
        for feature in np.flatnonzero(known < source.n_rows)[:1]:
            raise device_cuda.NotOnDevice(
                f"column {feature} has a missing value: missing values are compared on the CPU"
            )
        self.features = np.flatnonzero(high > low)
        self.low, self.high = low[self.features], high[self.features]
        self.width = max(1, min(TILE_COLUMNS, TILE_BYTES // (8 * source.n_rows)))
        self.rows = device_cuda.as_device(class_order.rows.astype(np.int32))
        self.varying = source.view(self.features)
        self._cached_tiles: list[tuple[Any, Any]] | None = None

    @cached_property
    def _is_cached(self) -> bool:
        """Return whether all tiles are cached, so that a second pass need not make them again."""
        memory_budget = device_cuda.free_bytes() // HELD_SHARE
        return 8 * self.source.n_rows * len(self.features) <= memory_budget

    def tiles(self) -> Iterator[tuple[Any, Any]]:
        """Yield positions among the columns that vary, and their tile on the device."""
        if self._cached_tiles is not None:
            yield from self._cached_tiles
            return
        tiles: list[tuple[Any, Any]] = []
        for selection, part in self.varying.parts():
            positions = np.arange(len(self.features))[selection]
            for begin, end in split(len(positions), self.width):
                tile_positions = positions[begin:end]
                tile = self._tile(part.view(np.arange(begin, end)), tile_positions)
                if self._is_cached:
                    tiles.append((tile_positions, tile))
                yield tile_positions, tile
        if self._is_cached:
            self._cached_tiles = tiles

    def _tile(self, part: CudaSource, positions: IntArray) -> Any:
        T, feature_major, row_step, column_step = column_layout(part.values)
        n, width = part.n_rows, part.n_features
        step = padded_width(width)
        with device_cuda.translate_memory_errors(8 * n * step):
            out = device_cuda.xp().empty((n, step))
        low, high = (device_cuda.as_device(bound[positions]) for bound in (self.low, self.high))
        if feature_major:
            name, grid, threads = "scale_columns", (-(-step // 32), -(-n // 32)), (32, 8)
        else:
            name, grid, threads = "scale_rows", (-(-step // 128), n), (128, 1)
        device_cuda.kernel(COLUMNS, name, VALUE=T)(
            (grid[0], min(grid[1], MOST_ROWS)),
            threads,
            (part.values, row_step, column_step, part.columns, np.int32(width), self.rows,
             np.int32(n), low, high, np.int32(step), out),
        )  # fmt: skip
        return out

    def weights(self, summed: Any, done: int, n_wanted: int) -> Weights:
        """Turn sums over rows of the varying columns into weights of all features, on the host."""
        out = np.zeros(self.n_features)
        out[self.features] = device_cuda.to_host(summed)
        return Weights(np.round(out / done * GRID) / GRID, done, done < n_wanted)


def _extremes(part: CudaSource) -> Any:
    """Return the smallest value, the largest and their number, of every column, on the device."""
    T, feature_major, row_step, column_step = column_layout(part.values)
    width = part.n_features
    out = device_cuda.xp().empty((3, width))
    name, grid, threads = "extremes_rows", -(-width // 128), 128
    if feature_major:
        name, grid, threads = "extremes_columns", -(-width // 8), 256
    if width:
        device_cuda.kernel(COLUMNS, name, VALUE=T)(
            (grid,),
            (threads,),
            (part.values, row_step, column_step, part.columns, np.int32(width),
             np.int32(part.n_rows), out),
        )  # fmt: skip
    return out


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows that are compared, and the coefficient of each: arrays on the device."""

    firsts: Any
    others: Any
    coefficients: Any


@dataclass(frozen=True)
class _Work:
    """Steps from rows to weights: distances, coefficients, pairs, differences."""

    columns: _Columns
    class_order: ClassOrder
    rule: Rule
    watched: bool

    def add(self, rows: IntArray | None, out: Any, report: Callable[[int], Any]) -> None:
        """Add the weights of some rows; None means all of them, by the square of distances."""
        n, p = len(self.class_order.y), len(self.columns.features)
        own_rows = np.arange(n) if rows is None else rows
        xp = device_cuda.xp()
        sums = PairSums(n, self.columns.width, None if rows is None else len(rows))
        row_index = None if rows is None else device_cuda.as_device(rows)
        done = 0
        for positions, tile in self.columns.tiles():
            sums.add(tile, None if row_index is None else xp.take(tile, row_index, axis=0))
            done += len(positions)
            if self.watched:  # launches return at once; progress is reported when they are done
                xp.cuda.get_current_stream().synchronize()
                report((len(own_rows) - 1) * done // p)
        total = sums.total()
        del sums
        own_index = device_cuda.as_device(own_rows.astype(np.int32))
        self._weigh(total, own_index)
        pairs = _collect_pairs(total, own_index, triangle=rows is None)
        del total
        for positions, tile in self.columns.tiles():
            _add_weights(tile, pairs, positions, out)
        if self.watched:
            xp.cuda.get_current_stream().synchronize()
            report(len(own_rows))

    def _weigh(self, total: Any, own_rows: Any) -> None:
        """Turn distances into coefficients, row by row."""
        bounds, (m, n) = self.class_order.bounds, total.shape
        share = device_cuda.as_device(np.diff(bounds) / bounds[-1])
        classes = device_cuda.as_device(bounds.astype(np.int32))
        start: tuple[Any, ...] = (total, np.int32(n), own_rows, classes)
        count = np.int32(len(bounds) - 1)
        if isinstance(self.rule, NearestOfAll):
            device_cuda.kernel(RULES, "nearest_of_all")((m,), (256,), start)
        elif isinstance(self.rule, Near):
            device_cuda.kernel(RULES, "near_rows")((m,), (256,), (*start, count, share))
        elif isinstance(self.rule, Nearest) and not self.rule.first_come:
            n_neighbours = np.int32(min(self.rule.k, n))
            device_cuda.kernel(RULES, "nearest")((m,), (256,), (*start, count, share, n_neighbours))
        elif isinstance(self.rule, Nearest):
            k, xp = min(self.rule.k, n), device_cuda.xp()
            with device_cuda.translate_memory_errors(12 * m * k):
                buffers = (xp.empty((m, k)), xp.empty((m, k), np.int32))
            device_cuda.kernel(RULES, "nearest_first_come")(
                (-(-m // 32),),
                (32,),
                (
                    total,
                    np.int32(n),
                    np.int32(m),
                    own_rows,
                    classes,
                    count,
                    share,
                    np.int32(k),
                    *buffers,
                ),
            )
        else:
            raise device_cuda.NotOnDevice(
                f"the rule {type(self.rule).__name__} is computed on the CPU"
            )


def _collect_pairs(total: Any, own_rows: Any, *, triangle: bool) -> _Pairs:
    """Collect the pairs with a coefficient; in a square, both directions become one pair."""
    xp, (m, n) = device_cuda.xp(), total.shape
    counts = xp.empty(m, np.int32)
    side = (total, np.int32(n), np.int32(triangle))
    device_cuda.kernel(PAIRS, "count_pairs")((m,), (256,), (*side, counts))
    starts = np.concatenate([[0], np.cumsum(device_cuda.to_host(counts), dtype=np.int64)])
    size = int(starts[-1])
    with device_cuda.translate_memory_errors(16 * size):
        pairs = _Pairs(xp.empty(size, np.int32), xp.empty(size, np.int32), xp.empty(size))
    if size:
        device_cuda.kernel(PAIRS, "collect_pairs")(
            (m,),
            (256,),
            (
                *side,
                own_rows,
                device_cuda.as_device(starts),
                pairs.firsts,
                pairs.others,
                pairs.coefficients,
            ),
        )
    return pairs


def _add_weights(tile: Any, pairs: _Pairs, positions: IntArray, out: Any) -> None:
    """Add ``coefficient * |difference|`` of all pairs to `out`, for the columns of a tile."""
    xp, n_pairs, step = device_cuda.xp(), len(pairs.firsts), tile.shape[1]
    if n_pairs == 0:
        return
    n_parts = min(MOST_PARTS, -(-n_pairs // PART_PAIRS))
    size = -(-n_pairs // n_parts)
    partial, width = xp.empty((n_parts, step)), len(positions)
    device_cuda.kernel(PAIRS, "pair_weights")(
        (-(-step // 128), n_parts),
        (128,),
        (tile, np.int32(step), np.int64(n_pairs), np.int64(size), pairs.firsts, pairs.others,
         pairs.coefficients, partial),
    )  # fmt: skip
    added = xp.zeros(width)
    device_cuda.kernel(PAIRS, "add_weights")(
        (-(-width // 128),),
        (128,),
        (partial, np.int32(n_parts), np.int32(step), np.int32(width), added),
    )
    if int(positions[-1]) - int(positions[0]) == width - 1:
        out[int(positions[0]) : int(positions[-1]) + 1] += added
    else:
        out[device_cuda.as_device(positions)] += added
