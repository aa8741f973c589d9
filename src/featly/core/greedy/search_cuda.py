"""Greedy forward search on the device; see :mod:`featly.core.greedy.search`.

:class:`PairInformation` has the attributes of its CPU counterpart, as arrays of CuPy, so that a
:class:`~featly.core.greedy.search.Criterion` adds them up on the device as it does on the host.
:func:`forward_search` fetches one small array a step, and the result at the end.

Columns are stored as bit-planes, on the device as far as they fit. The others lie in pinned memory
of the host and are copied to the device in every step, by two buffers: one is filled while the
other is counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.counts import bitplanes_cuda, histograms_cuda
from featly.core.counts.bitpacking import PlaneLayout
from featly.core.counts.bitplanes_cuda import (
    CONSTANT,
    TILE,
    WIDE,
    ConditioningColumn,
    DeviceLayout,
    Part,
    Terms,
)
from featly.core.counts.codes_cuda import ByteBlock, CudaCodes
from featly.core.counts.entropy import FixedPoint
from featly.core.counts.entropy_cuda import MOST_PADDING, Classes, fill_class_information
from featly.core.greedy import search
from featly.core.greedy.cache import PackCache, SavedSearch
from featly.core.greedy.cache_cuda import PlaneStore
from featly.core.greedy.search import COMPARED_BITS, SPARE_BITS, Criterion, SearchResult
from featly.core.ranking.preference import Preference
from featly.core.runtime.device_cuda import (
    NotOnDevice,
    as_device,
    kernel,
    to_host,
    translate_memory_errors,
    xp,
)
from featly.core.runtime.question import GPU

__all__ = ["DeviceSearchResult", "PairInformation", "forward_search"]


LITTLE_PADDING = 1.25  # like MOST_PADDING, if counts by class are not wanted
POSITION_BITS = 40  # last bits of a location: the position in a part, after the number of the part
BLOCKS, THREADS = 1024, 256
CHUNK = 4096  # numbers of which a block computes the running minimum
DROPPED_BITS = 52 - 33  # see featly.core.ranking.ordering.round_scores
LARGEST = 1e308  # see featly.core.ranking.ordering.apply_prior


class PairInformation:
    """Information that every column shares with a chosen one, as whole numbers on the device.

    Parameters
    ----------
    codes : CudaCodes
    classes : int64 array
    n_classes : int
    by_class : bool
        Whether I(f; y | s) is wanted.
    redundancy : bool
        Whether I(f; s) is wanted.
    spread : bool
        Whether missing values are spread over the levels; if there are any, that needs the CPU.
    memory : int, optional
        Bytes of the device that planes may take; None for what is free.

    Attributes
    ----------
    relevance, entropy, redundancy, conditional : int64 arrays of CuPy
    class_entropy, scale, digits
        See :class:`featly.core.greedy.search.PairInformation`.
    varies : bool array of CuPy
    bits : float array of NumPy
    """

    lies: ClassVar[str] = GPU
    conditional: Any
    redundancy: Any

    def __init__(
        self,
        codes: CudaCodes,
        classes: IntArray,
        n_classes: int,
        *,
        by_class: bool,
        redundancy: bool = True,
        spread: bool = False,
        memory: int | None = None,
    ) -> None:
        cupy = xp()
        if spread and codes.any_missing():
            raise NotOnDevice("missing='spread' is computed on the CPU")
        n, p = codes.n_rows, codes.n_features
        fixed = FixedPoint.for_rows(n)
        point_bits = fixed.shift - SPARE_BITS
        self.digits: int = max(0, point_bits - COMPARED_BITS)
        self.scale: float = n * 2.0**point_bits
        self._grouping = Classes(classes, n_classes)
        self._choose_layout(by_class)
        with translate_memory_errors():
            table = cupy.asarray(fixed.table)
            whole_terms = int(fixed.table[-1])
            self.redundancy, self.conditional = (cupy.zeros(p, cupy.int64) for _ in range(2))
            self.varies: Any = cupy.zeros(p, cupy.bool_)
            self._location: Any = None
            self._store = PlaneStore(p, memory)
            mutual, entropy = cupy.zeros(p, cupy.int64), cupy.zeros(p, cupy.int64)
            self._by_class = int(fixed.table[self._grouping.sizes].sum())
            for coded in codes.blocks():
                self.varies[coded.first : coded.first + coded.n_columns] = coded.high > coded.low
                for n_planes, columns in bitplanes_cuda.group_by_planes(coded):
                    self._add(coded, columns, n_planes, table, mutual, entropy)
            self._bits = mutual / fixed.scale
            self.relevance: Any = _drop_bits(mutual, SPARE_BITS)
            self.entropy: Any = _drop_bits(entropy, SPARE_BITS)
            own_terms = whole_terms - entropy
        self.class_entropy: int = int(_drop_bits(whole_terms - self._by_class, SPARE_BITS))
        redundancy_out = self.redundancy if redundancy else None
        steps = cupy.asarray(np.diff(fixed.table))
        self._terms = Terms(table, steps, own_terms, SPARE_BITS, redundancy_out, self.conditional)

    def _choose_layout(self, by_class: bool) -> None:
        """Choose the layout of rows in planes, and whether classes lie apart in them."""
        grouping = self._grouping
        self._in_planes, self._by_words = True, True
        self._words = self._counting = grouping.layout
        if by_class:
            self._in_planes = grouping.padding <= MOST_PADDING
        elif grouping.padding <= LITTLE_PADDING:
            self._counting = grouping.layout.as_one_class()
        else:
            layout = PlaneLayout.from_classes(np.zeros(grouping.n_rows, np.int64), 1)
            self._words = self._counting = DeviceLayout.from_layout(layout)
            self._by_words = False

    def _add(
        self, coded: ByteBlock, columns: Any, n_planes: int, table: Any, mutual: Any, entropy: Any
    ) -> None:
        """Store some columns of a block, and compute their information about the class."""
        if n_planes == CONSTANT:
            return  # such a column has no information
        part: Part | histograms_cuda.WideColumns
        if n_planes == WIDE or not self._in_planes:
            levels, n_levels = coded.levels(columns), coded.most_levels(columns)
            part = histograms_cuda.WideColumns(coded.first, columns, len(levels), n_levels, levels)
            counts_by_block = self._grouping.count_levels(levels, n_levels, coded.first, columns)
        else:
            part = bitplanes_cuda.pack(coded, columns, n_planes, self._words)
            by_words = self._by_words
            counts_by_block = (
                self._grouping.count_part(part)
                if by_words
                else self._grouping.count_block(coded, columns)
            )
        for counts in counts_by_block:
            fill_class_information(counts, self._grouping, table, self._by_class, mutual, entropy)
        if columns is not None:
            cupy = xp()
            if self._location is None:
                self._location = cupy.full(len(mutual), -1, cupy.int64)
            number = len(self._store.parts) << POSITION_BITS
            self._location[coded.first + columns] = cupy.arange(len(columns)) + number
        self._store.add(part)

    @property
    def bits(self) -> FloatArray:
        """I(f; y) in bits, without rounding, on the host."""
        return to_host(self._bits)

    def condition_on(self, chosen: int) -> None:
        """Fill `redundancy` and `conditional` for a chosen column s."""
        counting, terms = self._counting, self._terms
        levels, n_levels = self._levels(chosen)
        other = ConditioningColumn.from_levels(levels, n_levels, counting, terms.table)
        rows: histograms_cuda.RowOrder | None = None
        for part, data in self._store.each():
            if isinstance(part, Part):
                bitplanes_cuda.fill_information(part, data, other, counting, terms)
            else:
                rows = rows or histograms_cuda.RowOrder.from_column(other, counting)
                histograms_cuda.fill_information(part, data, other, rows, counting, terms)

    def _levels(self, column: int) -> tuple[Any, int]:
        """Return the levels of a column from 0, and how many there may be."""
        number, position = self._find(column)
        if number < 0:
            return xp().zeros(self._grouping.n_rows, np.int32), 1
        part, data = self._store.parts[number], self._store.data[number]
        if isinstance(part, histograms_cuda.WideColumns):
            return as_device(data[position]).astype(np.int32), part.n_levels
        tile, lane = divmod(position, TILE)
        if self._store.is_on_host(number):
            words, stride = as_device(np.ascontiguousarray(data[tile, :, :, lane])), 1
        else:
            words, stride = data[tile].reshape(-1)[lane:], TILE
        return bitplanes_cuda.unpack_levels(
            words, stride, part.n_planes, self._words
        ), part.n_planes + 1

    def _find(self, column: int) -> tuple[int, int]:
        """Return the number of the part of a column, -1 for none, and the position in it."""
        for number, part in enumerate(self._store.parts):
            if part.columns is None and 0 <= column - part.first < part.n_columns:
                return number, column - part.first
        location = -1 if self._location is None else int(self._location[column])
        return location >> POSITION_BITS, location & ((1 << POSITION_BITS) - 1)


@dataclass(frozen=True)
class DeviceSearchResult(SearchResult):
    """Result of a greedy search, with ranks and scores, which the device computes sooner.

    Attributes
    ----------
    ranking : int64 array of shape (n_features,)
        The rank of each column, from 1.
    scores : float array of shape (n_features,)
        The smallest criterion, weighted by the prior, up to the column in the order; a column of
        the start has its own.
    """

    ranking: IntArray
    scores: FloatArray

    def ranks(self) -> IntArray:
        """Return the ranks of the columns, from 1."""
        return self.ranking

    def falling_scores(self, preference: Preference) -> FloatArray:
        """Return the scores, in which the preference is allowed for."""
        return self.scores


@search.pair_information.answer(CudaCodes)
def _information_of_codes(
    codes: CudaCodes,
    classes: IntArray,
    n_classes: int,
    *,
    by_class: bool,
    redundancy: bool = True,
    spread: bool = False,
    memory: int | None = None,
    pack_cache: PackCache | None = None,
    progress: Callable[[int, int], Any] | None = None,
    n_jobs: int | None = None,
) -> PairInformation:
    """Pack on the device, which stores the columns there: no cache of the host is used."""
    return PairInformation(
        codes,
        classes,
        n_classes,
        by_class=by_class,
        redundancy=redundancy,
        spread=spread,
        memory=memory,
    )


@search.forward_search.answer(PairInformation)
def forward_search(
    criterion: Criterion,
    n_steps: int,
    preference: Preference | None = None,
    progress: Callable[[int, int], Any] | None = None,
    saved: SavedSearch | None = None,
) -> DeviceSearchResult:
    """Choose the columns to keep, then the best one `n_steps` times.

    See :func:`featly.core.greedy.search.forward_search`; the terms of the criterion are on the
    device, where a search is so quick that none is saved.
    """
    cupy = xp()
    terms = criterion.terms
    preference = preference or Preference()
    if preference.has_cost:
        raise NotOnDevice("costs are weighed on the CPU")
    start_columns: list[int] = preference.keep.tolist()
    weights = None if preference.prior is None else as_device(preference.prior)
    free = terms.varies.copy()
    free[cupy.asarray(np.array(start_columns, np.int64))] = False
    n_all = len(start_columns) + min(n_steps, int(free.sum()))
    steps: list[tuple[int, float]] = []
    is_interrupted = False
    with translate_memory_errors():
        value = criterion.value()
        try:
            for number in range(n_all):
                if number < len(start_columns):
                    best, worth = start_columns[number], float(value[start_columns[number]])
                else:
                    best, worth = _best(value, terms.digits, weights, free)
                free[best] = False
                steps.append((best, worth / terms.scale))
                if progress is not None:
                    progress(number + 1, n_all)
                if number + 1 < n_all:
                    criterion.choose(best)
                    value = criterion.value()
        except KeyboardInterrupt:
            is_interrupted = True
        chosen = np.array([column for column, _ in steps], np.int64)
        worths = np.array([worth for _, worth in steps])
        unreached = np.array(start_columns[len(chosen) :], np.int64)  # of an interrupted search
        return _make_result(
            value, criterion, weights, chosen, worths, unreached, len(start_columns), is_interrupted
        )


def _make_result(
    value: Any,
    criterion: Criterion,
    prior: Any,
    chosen: IntArray,
    worths: FloatArray,
    unreached: IntArray,
    n_start: int,
    is_interrupted: bool,
) -> DeviceSearchResult:
    """Return the order of all columns, with ranks and scores, on the host."""
    cupy, terms = xp(), criterion.terms
    first = cupy.asarray(np.concatenate([chosen, unreached]))
    unchosen = cupy.ones(len(value), cupy.bool_)
    unchosen[first] = False
    remaining, constant = (
        cupy.flatnonzero(unchosen & kind) for kind in (terms.varies, ~terms.varies)
    )
    keys = _comparison_keys(value, terms.digits, prior)
    remaining = remaining[cupy.argsort(-keys[remaining])]  # a stable sort: equal ones stay in order
    order = cupy.concatenate([first, remaining, constant])
    worth = value / terms.scale
    worth[cupy.asarray(chosen)] = cupy.asarray(worths)
    scores = _apply_prior(worth, prior).copy()
    free = order[n_start:]
    scores[free] = _running_minimum(scores[free])
    ranking = cupy.empty_like(order)
    ranking[order] = cupy.arange(1, len(order) + 1)
    step = np.zeros(len(value), np.int64)
    step[chosen] = np.arange(1, len(chosen) + 1)
    device_arrays = (order, worth, criterion.evidence, ranking, scores)
    order, worth, *others = [to_host(array) for array in device_arrays]
    return DeviceSearchResult(order, step, worth, is_interrupted, *others)


def _comparison_keys(value: Any, digits: int, prior: Any) -> Any:
    """Return the numbers by which columns are compared."""
    if value.dtype.kind == "f":
        return _round_to_33_bits(_apply_prior(value, prior))
    if prior is None:
        return _drop_bits(value, digits)
    return xp().floor(_apply_prior(value, prior) * 2.0**-digits + 0.5)


def _best(value: Any, digits: int, prior: Any, free: Any) -> tuple[int, float]:
    """Return the best column that is free, the first of equal ones, and its value."""
    cupy = xp()
    keys = value
    if value.dtype.kind == "f" or prior is not None:
        keys, digits = _as_ordered_integers(_comparison_keys(value, digits, prior)), 0
    best = cupy.empty((3, BLOCKS), cupy.int64)
    loop = kernel(SOURCE, "best", CHUNK=CHUNK, THREADS=THREADS)
    arguments = (keys, value.view(cupy.int64), free, len(keys), digits, best)
    loop((BLOCKS,), (THREADS,), arguments)
    key, index, values = best.get()
    nonempty = np.flatnonzero(index >= 0)  # blocks with a free column
    block = nonempty[key[nonempty].argmax()]
    return int(index[block]), float(values[block : block + 1].view(value.dtype)[0])


def _drop_bits(value: Any, bits: int) -> Any:
    """Round off the last bits of whole numbers."""
    return (value + ((1 << bits) >> 1)) >> bits


def _apply_prior(scores: Any, prior: Any) -> Any:
    """Apply the prior, as :func:`featly.core.ranking.ordering.apply_prior` does on the CPU."""
    if prior is None:
        return scores
    cupy = xp()
    weighted = cupy.where(scores < 0, scores / prior, scores * prior)
    return cupy.minimum(weighted, cupy.maximum(scores, LARGEST))


def _round_to_33_bits(scores: Any) -> Any:
    """Round to 33 bits, as :func:`featly.core.ranking.ordering.round_scores` does on the CPU."""
    bits = scores.astype(np.float64).view(np.int64)
    bits += 1 << (DROPPED_BITS - 1)
    bits &= ~((1 << DROPPED_BITS) - 1)
    return bits.view(np.float64)


def _as_ordered_integers(keys: Any) -> Any:
    """Return whole numbers that are ordered as floats are; zeros of both signs are equal."""
    bits = (keys + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _running_minimum(values: Any) -> Any:
    """Return ``numpy.minimum.accumulate(values)``."""
    cupy = xp()
    blocks = -(-len(values) // CHUNK)
    if blocks == 0:
        return values
    least, out = cupy.empty(blocks), cupy.empty_like(values)
    for name in ("chunk_minimum", "running_minimum"):
        loop = kernel(SOURCE, name, CHUNK=CHUNK, THREADS=THREADS)
        loop((blocks,), (THREADS,), (values, len(values), least, out))
    return out


SOURCE = r"""
typedef long long i64;

// Find the largest key of the free columns in each block's stretch of columns, the first of equal
// ones: the key, the column, or -1, and its value.
extern "C" __global__ void best(
    const i64* keys, const i64* values, const bool* free, i64 p, i64 digits, i64* out)
{
    const i64 begin = p * blockIdx.x / gridDim.x, end = p * (blockIdx.x + 1) / gridDim.x;
    const i64 half = (1LL << digits) >> 1;
    __shared__ i64 key[THREADS], index[THREADS];
    i64 most = 0, at = -1;
    for (i64 f = begin + threadIdx.x; f < end; f += THREADS) {
        const i64 own_key = (keys[f] + half) >> digits;
        if (free[f] && (at < 0 || own_key > most)) {
            most = own_key;
            at = f;
        }
    }
    key[threadIdx.x] = most;
    index[threadIdx.x] = at;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) {
            const i64 other = index[threadIdx.x + step], other_key = key[threadIdx.x + step];
            const bool larger = other_key > most || (other_key == most && other < at);
            const bool better = other >= 0 && (at < 0 || larger);
            if (better) {
                most = key[threadIdx.x] = other_key;
                at = index[threadIdx.x] = other;
            }
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = most;
        out[gridDim.x + blockIdx.x] = at;
        out[2 * gridDim.x + blockIdx.x] = at < 0 ? 0 : values[at];
    }
}

__device__ double smaller(double a, double b) { return b < a ? b : a; }

// Return the smallest number of THREADS threads.
__device__ double least_of_block(double mine)
{
    __shared__ double shared[THREADS];
    shared[threadIdx.x] = mine;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            shared[threadIdx.x] = smaller(shared[threadIdx.x], shared[threadIdx.x + step]);
    }
    __syncthreads();
    return shared[0];
}

extern "C" __global__ void chunk_minimum(const double* values, i64 n, double* least, double* out)
{
    const i64 begin = blockIdx.x * (i64)CHUNK;
    double mine = values[begin];
    for (i64 k = begin + threadIdx.x; k < begin + CHUNK && k < n; k += THREADS)
        mine = smaller(mine, values[k]);
    const double block_minimum = least_of_block(mine);
    if (threadIdx.x == 0) least[blockIdx.x] = block_minimum;
}

extern "C" __global__ void running_minimum(const double* values, i64 n, double* least, double* out)
{
    double before = values[0];
    for (i64 k = threadIdx.x; k < blockIdx.x; k += THREADS) before = smaller(before, least[k]);
    before = least_of_block(before);
    // first the neighbours that belong to one thread, then the threads of the block
    const i64 begin = blockIdx.x * (i64)CHUNK + threadIdx.x * (CHUNK / THREADS);
    __shared__ double shared[THREADS];
    double mine = before;
    for (i64 k = begin; k < begin + CHUNK / THREADS && k < n; k++) mine = smaller(mine, values[k]);
    shared[threadIdx.x] = mine;
    for (int step = 1; step < THREADS; step *= 2) {
        __syncthreads();
        const double other = threadIdx.x >= step ? shared[threadIdx.x - step] : mine;
        __syncthreads();
        shared[threadIdx.x] = mine = smaller(mine, other);
    }
    __syncthreads();
    double running = threadIdx.x > 0 ? smaller(before, shared[threadIdx.x - 1]) : before;
    for (i64 k = begin; k < begin + CHUNK / THREADS && k < n; k++) {
        running = smaller(running, values[k]);
        out[k] = running;
    }
}
"""
