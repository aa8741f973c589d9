"""Instructions that the compiler does not find by itself: bits counted, columns in lanes.

A *lane group* is eight 64-bit words that lie together, one of each of eight columns. The functions
here are for use inside kernels only. All but :func:`ones` work on lane groups in flat arrays, given
by the position of their first word. They are written as LLVM vectors, which become AVX-512
registers where the processor has them (counting bits is one instruction there) and smaller ones
elsewhere.

As plain loops the same code is two to five times slower: the compiler cannot know that arrays do
not overlap, and it looks up tables by gather instructions, which are slower than single loads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from featly.core.runtime.jit import intrinsic

__all__ = [
    "LANES",
    "add_groups",
    "copy_groups",
    "count_one",
    "count_two",
    "equal_mask",
    "look_up",
    "look_up_pairs",
    "ones",
    "prefetch",
    "subtract_groups",
    "sum_bits",
]

LANES = 8

_WORD = ir.IntType(64)
_INT = types.int64
_GROUP = ir.VectorType(_WORD, LANES)
_BYTES = ir.VectorType(ir.IntType(8), 64)


# ---- writing LLVM ---------------------------------------------------------------------------
def _constant(value: int) -> ir.Constant:
    return ir.Constant(_WORD, value)


def _array_data(
    context: Any, builder: Any, signature: Any, arguments: Any, *positions: int
) -> list[Any]:
    """Return pointers to the elements of some array arguments."""
    return [
        context.make_array(signature.args[k])(context, builder, arguments[k]).data
        for k in positions
    ]


def _pointer(builder: Any, data: Any, index: Any, vector: ir.VectorType = _GROUP) -> Any:
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _load_group(builder: Any, data: Any, index: Any) -> Any:
    return builder.load(_pointer(builder, data, index), align=8)


def _store_group(builder: Any, group: Any, data: Any, index: Any) -> None:
    builder.store(group, _pointer(builder, data, index), align=8)


def _llvm_function(builder: Any, name: str, returned: ir.Type, arguments: list[ir.Type]) -> Any:
    function = builder.module.globals.get(name)
    return function or ir.Function(builder.module, ir.FunctionType(returned, arguments), name)


def _count_bits(builder: Any, group: Any) -> Any:
    return builder.call(_llvm_function(builder, "llvm.ctpop.v8i64", _GROUP, [_GROUP]), [group])


def _broadcast(builder: Any, value: Any, vector: ir.VectorType = _GROUP) -> Any:
    """Return a vector of one value."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _zero_variable(builder: Any, vector: Any = _GROUP) -> Any:
    """Make a variable that starts at zero, and that the compiler keeps in a register."""
    allocate: Callable[..., Any] = cgutils.alloca_once  # numba does not annotate it
    variable = allocate(builder, vector)
    builder.store(ir.Constant(vector, [0] * LANES if vector is _GROUP else 0), variable)
    return variable


# ---- counting -------------------------------------------------------------------------------
@intrinsic
def ones(typing: Any, word: Any) -> Any:
    """Return the number of ones of a uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@dataclass(frozen=True)
class _Planes:
    """LLVM values of the arguments of a count."""

    planes: Any
    at: Any
    others: Any
    n_words: Any
    low: Any
    high: Any
    counts: Any
    row: Any
    length: Any
    last: Any

    def tile(self, builder: Any, first: Any, n_planes: int, n_others: int) -> None:
        """Count the planes against `n_others` other planes from `first` on, all in registers."""
        add, take, times = builder.add, builder.sub, builder.mul

        def multiples(start: Any, step: Any, count: int) -> list[Any]:
            return [add(start, times(step, _constant(i))) for i in range(count)]

        starts = multiples(self.at, times(self.n_words, _constant(LANES)), n_planes)
        other_starts = multiples(times(first, self.n_words), self.n_words, n_others)
        rows = multiples(self.row, self.length, n_planes)
        columns = multiples(times(first, _constant(LANES)), _constant(LANES), n_others)
        sums = [[_zero_variable(builder) for _ in columns] for _ in rows]
        with cgutils.for_range(builder, take(self.high, self.low)) as loop:
            word = add(self.low, loop.index)
            offset_of_word = times(word, _constant(LANES))
            mine = [
                _load_group(builder, self.planes, add(start, offset_of_word)) for start in starts
            ]
            for j, start in enumerate(other_starts):
                other = builder.load(builder.gep(self.others, [add(start, word)]))
                other = _broadcast(builder, other)
                for i in range(n_planes):
                    bits = _count_bits(builder, builder.and_(mine[i], other))
                    builder.store(add(builder.load(sums[i][j]), bits), sums[i][j])
        cells = [[builder.load(variable) for variable in line] for line in sums]
        for i, row_start in enumerate(rows):
            end = add(row_start, take(self.length, _constant(LANES)))
            remainder = _load_group(builder, self.counts, end)
            for j, offset in enumerate(columns):
                remainder = take(remainder, cells[i][j])
                _store_group(builder, cells[i][j], self.counts, add(row_start, offset))
            _store_group(builder, remainder, self.counts, end)
        for j, offset in enumerate(columns):
            remainder = _load_group(builder, self.counts, add(self.last, offset))
            for i in range(n_planes):
                remainder = take(remainder, cells[i][j])
            _store_group(builder, remainder, self.counts, add(self.last, offset))


def _make_count(n_planes: int) -> Callable[..., Any]:
    """Make a function that counts planes of a lane group against those of another column.

    ``count(planes, at, others, n_others, n_words, low, high, counts, row, length, last)``: planes
    of `n_words` groups begin at `at`, those of the other column are `n_others` times `n_words`
    words; words ``low:high`` are counted. In `counts`, rows of `length` words follow each other.
    The counts are written into the rows from `row` on. They are subtracted from the last group of
    each row and from the row at `last`, which then hold the counts of the levels without a plane.
    """

    @intrinsic
    def count(
        typing: Any, planes: Any, at: Any, others: Any, n_others: Any, n_words: Any, low: Any,
        high: Any, counts: Any, row: Any, length: Any, last: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, at, _, n_others, n_words, low, high, _, row, length, last = arguments
            planes, others, counts = _array_data(context, builder, signature, arguments, 0, 2, 7)
            work = _Planes(planes, at, others, n_words, low, high, counts, row, length, last)
            with cgutils.for_range(builder, builder.lshr(n_others, _constant(2))) as loop:
                work.tile(builder, builder.mul(loop.index, _constant(4)), n_planes, 4)
            for size in (2, 1):
                left = builder.and_(n_others, _constant(size))
                with builder.if_then(builder.icmp_signed("!=", left, _constant(0))):
                    first = builder.and_(n_others, _constant(-2 * size))
                    work.tile(builder, first, n_planes, size)
            return context.get_dummy_value()

        signature = types.void(
            planes, _INT, others, _INT, _INT, _INT, _INT, counts, _INT, _INT, _INT
        )
        return signature, generate

    return count


count_one: Callable[..., Any] = _make_count(1)
count_two: Callable[..., Any] = _make_count(2)


@intrinsic
def sum_bits(
    typing: Any, planes: Any, at: Any, rows: Any, low: Any, high: Any, counts: Any, count_at: Any
) -> Any:
    """Count how many of the bits ``rows[low:high]`` are set in a plane of a lane group."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, _, low, high, _, count_at = arguments
        planes, rows, counts = _array_data(context, builder, signature, arguments, 0, 2, 5)
        total = _zero_variable(builder)
        with cgutils.for_range(builder, builder.sub(high, low)) as loop:
            row = builder.load(builder.gep(rows, [builder.add(low, loop.index)]))
            word = builder.lshr(row, _constant(6))
            index = builder.add(at, builder.mul(word, _constant(LANES)))
            bit = _broadcast(builder, builder.and_(row, _constant(63)))
            selected = builder.lshr(_load_group(builder, planes, index), bit)
            selected = builder.and_(selected, ir.Constant(_GROUP, [1] * LANES))
            builder.store(builder.add(builder.load(total), selected), total)
        _store_group(builder, builder.load(total), counts, count_at)
        return context.get_dummy_value()

    return types.void(planes, _INT, rows, _INT, _INT, counts, _INT), generate


@intrinsic
def look_up(
    typing: Any, table: Any, counts: Any, at: Any, n_groups: Any, sums: Any, sums_at: Any
) -> Any:
    """Add ``table[count]`` of some lane groups of counts to a lane group of sums."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, at, n_groups, _, sums_at = arguments
        table, counts, sums = _array_data(context, builder, signature, arguments, 0, 1, 4)
        totals = [_zero_variable(builder, _WORD) for _ in range(LANES)]
        with cgutils.for_range(builder, n_groups) as loop:
            first = builder.add(at, builder.mul(loop.index, _constant(LANES)))
            for lane, total in enumerate(totals):
                count = builder.load(builder.gep(counts, [builder.add(first, _constant(lane))]))
                # an atomic load costs nothing and keeps the compiler from making it a gather
                entry = builder.load_atomic(builder.gep(table, [count]), "monotonic", 8)
                builder.store(builder.add(builder.load(total), entry), total)
        for lane, total in enumerate(totals):
            target = builder.gep(sums, [builder.add(sums_at, _constant(lane))])
            builder.store(builder.add(builder.load(target), builder.load(total)), target)
        return context.get_dummy_value()

    return types.void(table, counts, _INT, _INT, sums, _INT), generate


@intrinsic
def look_up_pairs(
    typing: Any, table: Any, width: Any, counts: Any, at: Any, other_at: Any, n_groups: Any,
    sums: Any, sums_at: Any,
) -> Any:  # fmt: skip
    """Add ``table[count * width + other count]`` of lane groups to a lane group of sums."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, width, _, at, other_at, n_groups, _, sums_at = arguments
        table, counts, sums = _array_data(context, builder, signature, arguments, 0, 2, 6)
        totals = [_zero_variable(builder, _WORD) for _ in range(LANES)]
        with cgutils.for_range(builder, n_groups) as loop:
            offset = builder.mul(loop.index, _constant(LANES))
            for lane, total in enumerate(totals):
                position = builder.add(offset, _constant(lane))
                count, other = (
                    builder.load(builder.gep(counts, [builder.add(first, position)]))
                    for first in (at, other_at)
                )
                index = builder.add(builder.mul(count, width), other)
                entry = builder.load_atomic(builder.gep(table, [index]), "monotonic", 8)
                builder.store(builder.add(builder.load(total), entry), total)
        for lane, total in enumerate(totals):
            target = builder.gep(sums, [builder.add(sums_at, _constant(lane))])
            builder.store(builder.add(builder.load(target), builder.load(total)), target)
        return context.get_dummy_value()

    return types.void(table, _INT, counts, _INT, _INT, _INT, sums, _INT), generate


# ---- moving ---------------------------------------------------------------------------------
def _make_elementwise(combine: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    @intrinsic
    def move(typing: Any, to: Any, to_at: Any, source: Any, source_at: Any, n_groups: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, to_at, _, source_at, n_groups = arguments
            to, source = _array_data(context, builder, signature, arguments, 0, 2)
            with cgutils.for_range(builder, n_groups) as loop:
                offset = builder.mul(loop.index, _constant(LANES))
                target = builder.add(to_at, offset)
                group = _load_group(builder, source, builder.add(source_at, offset))
                _store_group(
                    builder, combine(builder, _load_group(builder, to, target), group), to, target
                )
            return context.get_dummy_value()

        return types.void(to, _INT, source, _INT, _INT), generate

    return move


copy_groups: Callable[..., Any] = _make_elementwise(lambda builder, target, source: source)
add_groups: Callable[..., Any] = _make_elementwise(
    lambda builder, target, source: builder.add(target, source)
)
subtract_groups: Callable[..., Any] = _make_elementwise(
    lambda builder, target, source: builder.sub(target, source)
)


@intrinsic
def prefetch(typing: Any, array: Any, at: Any, n_groups: Any) -> Any:
    """Fetch lane groups that are needed soon into the cache of the processor."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, n_groups = arguments
        (array,) = _array_data(context, builder, signature, arguments, 0)
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        with cgutils.for_range(builder, n_groups) as loop:
            index = builder.add(at, builder.mul(loop.index, _constant(LANES)))
            address = builder.bitcast(builder.gep(array, [index]), pointer)
            builder.call(fetch, [address, *(ir.Constant(number, k) for k in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, _INT, _INT), generate


@intrinsic
def equal_mask(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """Return a word whose bit i is set where byte ``at + i`` of a flat array is `value`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, value = arguments
        (array,) = _array_data(context, builder, signature, arguments, 0)
        values = builder.load(_pointer(builder, array, at, _BYTES), align=1)
        same = builder.icmp_unsigned("==", values, _broadcast(builder, value, _BYTES))
        return builder.bitcast(same, _WORD)

    return types.uint64(array, _INT, types.uint8), generate
