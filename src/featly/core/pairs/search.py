"""All pairs of columns, compared tile by tile: the p x p matrix is never in memory.

A tile is a block of columns against another. Its values come from a quick computation that is only
a screen: a screened value is never further than `margin` from the exact one. Pairs that may matter
are computed again, exactly, and only the exact value decides and is returned. So the result does
not depend on the tiles, the memory or the number of threads.

The value of two columns is their correlation
(:class:`~featly.core.pairs.correlation.UnitColumns`) or their symmetric uncertainty
(:class:`~featly.core.pairs.uncertainty.CodedColumns`).
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from featly.basics.errors import Parameter, ParameterError, Setting
from featly.basics.resources import Resources
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question

__all__ = [
    "PairedColumns",
    "Progress",
    "drop_in_order",
    "drop_redundant",
    "neighbours",
    "pairs_above",
    "pairs_with",
    "round_to_grid",
    "search_memory",
    "too_many_pairs_error",
]

# mypy: disable-error-code="no-untyped-def"

Progress = Callable[[int, int], Any] | None
PairValues = tuple[IntArray, IntArray, FloatArray]  # two columns and the value of the pair

BLOCK = 2048  # columns of a tile, where memory allows
LEAST_BLOCK = 32
STRIPE = 128  # columns of a tile that one task compares with those of the other side
NEVER = np.inf  # the limit of a constant column, which no pair reaches
OWN_SHARE = 2  # columns ready for comparison take half of the memory budget, the table the rest
ON_DEVICE = "featly.core.pairs.search_cuda"


class PairedColumns(Protocol):
    """Columns, every two of which have a value from 0 to 1."""

    n_features: int
    n_jobs: int | None
    bytes_per_column: int  # of what `load` returns
    margin: float  # how far a screened value may be from the exact one
    grid: float  # exact values are multiples of its inverse
    dtype: npt.DTypeLike  # of screened values

    def load(self, features: IntArray) -> Any:
        """Load some columns, ready to be compared; the result has `features` and `varies`."""

    def part(self, block: Any, mask: BoolArray) -> Any:
        """Return the columns of a block that a mask selects."""

    def screen(self, left: Any, right: Any, low: int, high: int) -> AnyArray:
        """Return screened values of columns ``low:high`` of one block with all of another."""

    def value(
        self, left: Any, right: Any, i: IntArray, j: IntArray, screened: AnyArray
    ) -> FloatArray:
        """Return the exact values of some pairs, given by their positions in the blocks."""


# ---- searches -------------------------------------------------------------------------------
@question(gpu=ON_DEVICE)
def search_memory(columns: PairedColumns, resources: Resources) -> int:
    """Return the bytes that columns ready for comparison may take."""
    return resources.memory_budget // OWN_SHARE


@question(gpu=ON_DEVICE)
def neighbours(
    columns: PairedColumns, count: int, memory: int, progress: Progress = None
) -> tuple[IntArray, FloatArray]:
    """Return for every column the columns of largest value with it, ties by position.

    Parameters
    ----------
    columns : PairedColumns
    count : int
        Number of neighbours of each column.
    memory : int
        Bytes that columns may take; those beyond are loaded again when they are needed.
    progress : callable, optional
        Called with (tiles done, tiles in all).

    Returns
    -------
    index : int64 array of shape (n_features, count)
        -1 where fewer columns have a value above 0.
    value : float64 array of shape (n_features, count)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.correlation import UnitColumns
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> index, value = neighbours(UnitColumns(DenseSource(X)), 1, 1 << 20)
    >>> index[:, 0].tolist(), value[:, 0].tolist()
    ([1, 0, -1], [1.0, 1.0, 0.0])
    """
    index = np.full((columns.n_features, count), -1)
    best = np.zeros((columns.n_features, count))

    def limits(block: Any) -> AnyArray:
        at = block.features
        bound = np.where(index[at, -1] >= 0, best[at, -1], 0.0)
        return _limits(columns, bound, block.varies)

    for left, right, same in _tiles(columns, memory, progress):
        across = limits(right)
        if same:  # each pair is compared once, and may pass by either column's limit
            down = np.maximum(across, _limits_within_block(columns, left, count))
            hits = _find_pairs(columns, left, left, down, down, same=True)
        else:
            hits = _find_pairs(columns, left, right, limits(left), across)
        for first, second, value in hits:
            _insert_pairs(first, second, value, index, best)
    return index, best


@question(gpu=ON_DEVICE)
def pairs_above(
    columns: PairedColumns, threshold: float, max_pairs: int, memory: int, progress: Progress = None
) -> PairValues:
    """Return every pair whose value is at least a threshold, in no particular order.

    Parameters
    ----------
    columns : PairedColumns
    threshold : float
        Above 0.
    max_pairs : int
        A ParameterError is raised if more pairs reach the threshold.
    memory, progress
        See :func:`neighbours`.

    Returns
    -------
    first, second : int64 arrays
        ``first < second``.
    value : float64 array

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.correlation import UnitColumns
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> [part.tolist() for part in pairs_above(UnitColumns(DenseSource(X)), 0.9, 100, 1 << 20)]
    [[0], [1], [1.0]]
    """
    pair_parts: list[PairValues] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    total = 0
    for left, right, same in _tiles(columns, memory, progress):
        down, across = (
            _limits(columns, np.full(len(block.features), threshold), block.varies)
            for block in (left, right)
        )
        for first, second, value in _find_pairs(
            columns, left, right, down, across, threshold=threshold, same=same
        ):
            pair_parts.append((first, second, value))
            total += len(value)
        if total > max_pairs:
            raise too_many_pairs_error(threshold, max_pairs)
    first, second, value = (np.concatenate(parts) for parts in zip(*pair_parts, strict=True))
    return np.minimum(first, second), np.maximum(first, second), value


@question
def pairs_with(
    columns: PairedColumns,
    features: IntArray,
    threshold: float,
    max_pairs: int,
    memory: int,
    progress: Progress = None,
) -> PairValues:
    """Return every pair that includes some columns and whose value is at least a threshold.

    Parameters
    ----------
    columns : PairedColumns
    features : int64 array
        The columns whose pairs are returned, each once.
    threshold, max_pairs, memory, progress
        See :func:`pairs_above`.

    Returns
    -------
    first, second : int64 arrays
        ``first < second``.
    value : float64 array

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.correlation import UnitColumns
    >>> from featly.core.sources import DenseSource
    >>> columns = UnitColumns(DenseSource(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 3.5]])))
    >>> [x.tolist() for x in pairs_with(columns, np.array([1]), 0.9, 100, 1 << 20)]
    [[0, 1], [1, 2], [1.0, 1.0]]
    """
    pair_parts: list[PairValues] = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    inside = np.zeros(columns.n_features, np.bool_)
    inside[features] = True
    width, _ = _plan(columns, memory)
    chunks, blocks = split(len(features), width), split(columns.n_features, width)
    total = done = 0
    for chunk in chunks:
        left = columns.load(features[slice(*chunk)])
        for block in blocks:
            right = columns.load(np.arange(*block))
            down, across = (
                _limits(columns, np.full(len(part.features), threshold), part.varies)
                for part in (left, right)
            )
            for first, second, value in _find_pairs(
                columns, left, right, down, across, threshold=threshold
            ):
                # two of these columns are compared twice, and each with itself
                is_new = ~inside[second] | (first < second)
                pair_parts.append((first[is_new], second[is_new], value[is_new]))
                total += int(is_new.sum())
            if total > max_pairs:
                raise too_many_pairs_error(threshold, max_pairs)
            done += 1
            if progress is not None:
                progress(done, len(chunks) * len(blocks))
    first, second, value = (np.concatenate(parts) for parts in zip(*pair_parts, strict=True))
    return np.minimum(first, second), np.maximum(first, second), value


def round_to_grid(threshold: float, grid: float) -> float:
    """Round a threshold to the grid of the values, so that an equal value is not below it.

    Examples
    --------
    >>> round_to_grid(0.3, 4.0), round_to_grid(1.0, 4.0), round_to_grid(0.01, 4.0)
    (0.25, 1.0, 0.25)
    """
    return max(float(np.rint(threshold * grid)), 1.0) / grid


def too_many_pairs_error(threshold: float, max_pairs: int) -> ParameterError:
    """Return the error for too many pairs that reach a threshold."""
    return ParameterError(
        "more than ",
        Setting("max_pairs", max_pairs),
        " pairs reach ",
        Setting("threshold", float(f"{threshold:g}")),
        ": give a higher threshold, ",
        Parameter("neighbours"),
        " for the nearest alone, or a larger ",
        Parameter("max_pairs"),
    )


@question(gpu=ON_DEVICE)
def drop_redundant(
    columns: PairedColumns,
    order: IntArray,
    threshold: float,
    n_fixed: int,
    memory: int,
    progress: Progress = None,
) -> tuple[IntArray, FloatArray, int]:
    """Go through columns in an order and drop those that are redundant to an earlier one.

    Parameters
    ----------
    columns : PairedColumns
    order : int64 array
        Columns, the best first.
    threshold : float
        A column is dropped if its value with an earlier column that stays is at least this.
    n_fixed : int
        The first `n_fixed` columns of the order always stay.
    memory, progress
        See :func:`neighbours`.

    Returns
    -------
    redundant_to : int64 array of shape (n_features,)
        The first column in the order to which this one is redundant; -1 where it stays.
    value : float64 array of shape (n_features,)
        The value of the two; 0 where it stays.
    decided : int
        How many columns of the order are decided: all, unless Ctrl-C interrupted the search.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.correlation import UnitColumns
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]])
    >>> columns = UnitColumns(DenseSource(X))
    >>> drop_redundant(columns, np.array([1, 2, 0]), 0.9, 0, 1 << 20)[0].tolist()
    [1, -1, -1]
    """
    redundant_to = np.full(columns.n_features, -1)
    values = np.zeros(columns.n_features)
    fixed = np.zeros(columns.n_features, np.bool_)
    fixed[order[:n_fixed]] = True
    width, max_held = _plan(columns, memory)
    blocks = split(len(order), width)
    decided, done = 0, 0
    total = len(blocks) * (len(blocks) + 1) // 2

    def drop(left: Any, right: Any, *, same: bool) -> Any:
        """Mark the columns of the second block that are redundant; return the others."""
        limits = (
            _limits(columns, np.full(len(block.features), threshold), block.varies)
            for block in (left, right)
        )
        for first, second, value in _find_pairs(
            columns, left, right, *limits, threshold=threshold, same=same
        ):
            drop_in_order(first, second, value, fixed, redundant_to, values)
        return columns.part(right, redundant_to[right.features] < 0)

    try:
        for low, high in split(len(blocks), max_held):
            held_blocks: list[Any] = []
            for number in range(low, len(blocks)):
                features = order[slice(*blocks[number])]
                block = columns.load(features[redundant_to[features] < 0])
                for left in held_blocks:
                    block = drop(left, block, same=False)
                    done += 1
                    if progress is not None:
                        progress(done, total)
                if number < high:
                    held_blocks.append(drop(block, block, same=True))
                    decided, done = blocks[number][1], done + 1
                if progress is not None:
                    progress(done, total)
    except KeyboardInterrupt:
        pass
    return redundant_to, values, decided


# ---- tiles ----------------------------------------------------------------------------------
def _plan(columns: PairedColumns, memory: int) -> tuple[int, int]:
    """Return the columns of a block, and how many blocks may be held beside the current one.

    Memory for two blocks is left over: one while it is loaded, and one for what remains of another.
    """
    width = int(np.clip(memory // (3 * columns.bytes_per_column), LEAST_BLOCK, BLOCK))
    return width, max(1, memory // (width * columns.bytes_per_column) - 2)


def _tiles(
    columns: PairedColumns, memory: int, progress: Progress
) -> Iterator[tuple[Any, Any, bool]]:
    """Yield pairs of blocks that cover all pairs of columns, and whether the two are the same."""
    width, max_held = _plan(columns, memory)
    blocks = split(columns.n_features, width)
    total, done = len(blocks) * (len(blocks) + 1) // 2, 0
    for low, high in split(len(blocks), max_held):
        held_blocks: list[Any] = []
        for number in range(low, len(blocks)):
            block = columns.load(np.arange(*blocks[number]))
            # a block with itself first: that raises the bounds for the other blocks
            parts = [(held_block, block, False) for held_block in held_blocks]
            if number < high:
                held_blocks.append(block)
                parts.insert(0, (block, block, True))
            for part in parts:
                yield part
                done += 1
                if progress is not None:
                    progress(done, total)


def _limits(columns: PairedColumns, bound: FloatArray, varies: BoolArray) -> AnyArray:
    """Return the least screened value of a pair whose exact value is at least a bound."""
    limit = np.maximum(bound - columns.margin, 0.0).astype(columns.dtype)
    limit = np.nextafter(limit, limit.dtype.type(0.0))  # down, whichever way it was rounded
    limits: AnyArray = np.where(varies, limit, limit.dtype.type(NEVER))
    return limits


def _limits_within_block(columns: PairedColumns, block: Any, count: int) -> AnyArray:
    """Return limits from the values within a block, which at least `count` columns reach."""
    width = len(block.features)
    if width <= count:
        return _limits(columns, np.zeros(width), block.varies)

    def find_kth_largest(stripe: tuple[int, int]) -> FloatArray:
        screened = np.abs(columns.screen(block, block, *stripe))
        screened[np.arange(len(screened)), np.arange(*stripe)] = 0.0
        return np.partition(screened, width - count, axis=1)[:, width - count].astype(np.float64)

    kth = np.concatenate(run_blocks(find_kth_largest, split(width, STRIPE), columns.n_jobs))
    return _limits(columns, kth - columns.margin, block.varies)


def _find_pairs(
    columns: PairedColumns,
    left: Any,
    right: Any,
    down: AnyArray,
    across: AnyArray,
    *,
    threshold: float = 0.0,
    same: bool = False,
) -> list[PairValues]:
    """Return pairs of two blocks that reach the limit of either column and have a large value.

    `down` are the limits of the columns of the first block, `across` those of the second. A value
    must be at least `threshold`, or above 0 without one. With `same`, the two blocks are one, and
    each pair is compared once.
    """
    # numbers from 0 up have the order of their bits, and the compiler vectorises whole numbers
    bits = np.int32 if np.dtype(columns.dtype).itemsize == 4 else np.int64
    all_but_sign = bits(np.iinfo(bits).max)
    row_limits, column_limits = down.view(bits), across.view(bits)

    def find_stripe_pairs(part: tuple[int, int]) -> PairValues:
        low, high = part
        screened_stripe = columns.screen(left, right, low, high)
        i, j = _find_passing(
            screened_stripe.view(bits),
            all_but_sign,
            row_limits[low:high],
            column_limits,
            low if same else -1,
        )
        value = columns.value(left, right, i + low, j, screened_stripe[i, j])
        passes = value >= threshold if threshold > 0 else value > 0
        return left.features[i[passes] + low], right.features[j[passes]], value[passes]

    return run_blocks(find_stripe_pairs, split(len(left.features), STRIPE), columns.n_jobs)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _find_passing(screened, all_but_sign, row_limits, column_limits, diagonal):
    """Return positions whose absolute value reaches the limit of its row or of its column.

    Values and limits are given as bits. If `diagonal` is not negative, columns up to
    ``i + diagonal`` of row i are left out.
    """
    n_rows, width = screened.shape
    count = 0
    out = np.empty((2, 256), np.int64)
    for i in range(n_rows):
        begin = i + diagonal + 1 if diagonal >= 0 else 0
        row_bits = screened[i]
        limit = row_limits[i]
        for low in range(begin, width, 128):
            high = min(low + 128, width)
            passing = 0
            for j in range(low, high):
                passing += (row_bits[j] & all_but_sign) >= min(limit, column_limits[j])
            if passing == 0:
                continue
            if count + passing > out.shape[1]:
                larger = np.empty((2, 2 * (count + passing)), np.int64)
                larger[:, :count] = out[:, :count]
                out = larger
            for j in range(low, high):
                if (row_bits[j] & all_but_sign) >= min(limit, column_limits[j]):
                    out[0, count] = i
                    out[1, count] = j
                    count += 1
    return out[0, :count], out[1, :count]


@kernel
def _insert_neighbour(f, g, value, index, best):
    last = index.shape[1] - 1
    if index[f, last] >= 0:
        lowest = best[f, last]
        if value < lowest or (value == lowest and g > index[f, last]):
            return
    k = last
    while k > 0:
        before = index[f, k - 1]
        if before >= 0 and (best[f, k - 1] > value or (best[f, k - 1] == value and before < g)):
            break
        index[f, k] = before
        best[f, k] = best[f, k - 1]
        k -= 1
    index[f, k] = g
    best[f, k] = value


@kernel
def _insert_pairs(first, second, value, index, best):
    """Insert pairs into the sorted neighbour lists of both columns."""
    for k in range(len(value)):
        _insert_neighbour(first[k], second[k], value[k], index, best)
        _insert_neighbour(second[k], first[k], value[k], index, best)


@kernel
def drop_in_order(first, second, value, fixed, redundant_to, values):
    """Mark redundant columns; pairs come in the order of their first column."""
    for k in range(len(value)):
        f, g = first[k], second[k]
        if redundant_to[f] < 0 and redundant_to[g] < 0 and not fixed[g]:
            redundant_to[g] = f
            values[g] = value[k]
