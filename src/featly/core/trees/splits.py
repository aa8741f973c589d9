r"""The best way to split the rows of a tree's node in two by one column.

.. math::

    \max_{L \cup R = N}\; \frac{1}{n_L} \sum_c n_{Lc}^2 + \frac{1}{n_R} \sum_c n_{Rc}^2

which is the largest decrease of the Gini impurity. A column holds codes: 0 is missing; 1, 2, ...
are its values in their order, or the levels of a category in any order.

Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984), *Classification and Regression
Trees*, Wadsworth.

The codes that occur in a node come into order without a sort: each sets a bit, and the bits are
read off from the lowest. :func:`tabulate` and :func:`sort_rows` do that and know no criterion;
:func:`cut_two` and :func:`cut_many` are the Gini impurity of two and of many classes. Rows that a
bootstrap drew more than once are held once, with the number of their draws.

Memory that these functions share:

=========== ========== ============================================================================
counts      int64      one a code: counts of two classes, or the last row of a code
bits        uint64     one a 64 codes: which codes occur
summary     uint64     one a 64 words of `bits`: which words are not 0
node_codes  int32      the codes that occur, in the order in which they are cut
table       int64      for each of them, two classes: counts as in `packed`; more: where its rows
                       begin (lower 32 bits) and end in `members`
share       float64    for each of them, the key by which levels are ordered
members     int32      rows of the node by code, counted from its first
following   int32      one row of the same code after another
left        int64      draws of each class on the left
probability float64    of the classes in every level, centred
squares     float64    two matrices of the size of the classes
=========== ========== ============================================================================

The first three are 0 before and after each call.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from featly.core.runtime.jit import kernel

__all__ = [
    "GAMMA",
    "SET",
    "count_classes",
    "count_draws",
    "cut_many",
    "cut_two",
    "draw_bag",
    "draw_below",
    "fill_set",
    "gini_decrease",
    "is_sent_left",
    "majority",
    "mix_bits",
    "most_gain",
    "order_many",
    "order_two",
    "partition_bare_rows",
    "partition_rows",
    "sort_rows",
    "tabulate",
]

# mypy cannot see through the compiler
# mypy: disable-error-code="no-untyped-def, assignment, call-arg"

LOW = 0xFFFFFFFF  # the lower half of a packed number
SQUARINGS = 12  # of a matrix, to find its first component ...
CLOSE = 1e-9  # ... or fewer, when its trace, then 1, is lost to others by no more than this
FINE = 2.0**30  # shares are rounded to a fraction of this, so that equal levels tie
ONE = np.uint64(1)
GAMMA = np.uint64(0x9E3779B97F4A7C15)  # between the states of a random stream
SET = -1  # for the shift of a node that splits by a set of levels


# ---- the best cut ---------------------------------------------------------------------------
@kernel
def cut_two(n_codes, has_missing, table, size, ones, smallest, gain, base):
    """Find the best cut of two classes, if it is better than ``gain / base``.

    The criterion, up to constants, is (l1 N - N1 l)^2 / (l r) for l draws on the left, l1 of them
    of class 1; fractions are compared without a division.

    Parameters
    ----------
    n_codes, table : the codes that occur, in the order in which they are cut
    has_missing : whether the first of them are missing values among numbers
    size, ones : draws in the node, and those of class 1
    smallest : fewest draws on either side
    gain, base : the fraction to beat; -1 and 1 are less than any

    Returns
    -------
    gain, base : the fraction, better or as it was
    position : of the last code that goes left; -1 if no cut is better
    missing_right : 1 if missing values, first among the codes, go right nevertheless
    """
    position, missing_right = -1, 0
    # missing values go left first, alone and with the lowest codes, and then right
    for first in range(1 + has_missing):
        packed = np.int64(0)
        for k in range(np.uint64(first), np.uint64(n_codes - 1)):
            packed += table[k]
            n_left = float(packed & LOW)
            n_right = size - n_left
            if n_left < smallest or n_right < smallest:
                continue
            excess = float(packed >> 32) * size - ones * n_left
            if excess * excess * base > gain * (n_left * n_right):
                gain = excess * excess
                base = n_left * n_right
                position, missing_right = np.int64(k), first
    return gain, base, position, missing_right


@kernel
def cut_many(
    n_codes, has_missing, table, packed, start, members, size, totals, smallest, gain, base, left
):
    """Find the best cut of many classes, row by row: sum_c l_c^2 / l + sum_c r_c^2 / r."""
    position, missing_right = -1, 0
    for first in range(1 + has_missing):
        n_left = 0.0
        left_squares = 0.0
        right_squares = 0.0
        for c in range(len(totals)):
            left[c] = 0
            right_squares += float(totals[c]) * totals[c]
        for k in range(first, n_codes - 1):
            for i in range(np.uint64(table[k] & LOW), np.uint64(table[k] >> 32)):
                entry = packed[start + members[i]]
                c = np.uint64(entry >> 32)
                draws = float(entry & LOW)
                before = float(left[c])
                left_squares += draws * (2.0 * before + draws)
                right_squares -= draws * (2.0 * (totals[c] - before) - draws)
                left[c] += entry & LOW
                n_left += draws
            n_right = size - n_left
            if n_left < smallest or n_right < smallest:
                continue
            score = left_squares * n_right + right_squares * n_left
            if score * base > gain * (n_left * n_right):
                gain = score
                base = n_left * n_right
                position, missing_right = k, first
    return gain, base, position, missing_right


@kernel
def most_gain(totals, size):
    """Return an upper bound of the gain of a cut: both sides pure. 0 where the node is pure."""
    if len(totals) == 2:
        return float(totals[0]) * totals[1]
    for c in range(len(totals)):
        if totals[c] == size:
            return 0.0
    return size


@kernel
def gini_decrease(gain, base, totals, size):
    """Return the decrease of the Gini impurity, times the draws, by the best cut's criterion."""
    if len(totals) == 2:
        return 2.0 * gain / (base * size)
    squares = 0.0
    for c in range(len(totals)):
        squares += float(totals[c]) * totals[c]
    return max(gain / base - squares / size, 0.0)


# ---- codes in order -------------------------------------------------------------------------
@kernel
def tabulate(
    codes, offset, n_levels, rows, packed, start, end, counts, bits, summary, node_codes, table
):
    """List the codes that occur in a node, from the lowest, and sum `packed` at each.

    Parameters
    ----------
    codes, offset : the codes of all columns in one array, and where this column begins
    n_levels : its largest code
    rows, packed : the rows of the tree, and for each how often it was drawn (lower 32 bits),
        and that again where the class is 1 (upper bits)
    start, end : the node is ``rows[start:end]``
    counts, bits, summary, node_codes, table : see above

    Returns
    -------
    n_codes : how many codes occur
    """
    for i in range(np.uint64(start), np.uint64(end)):
        code = codes[offset + rows[i]]
        counts[code] += packed[i]
        word = code >> 6
        bits[word] |= ONE << np.uint64(code & 63)
        summary[word >> 6] |= ONE << np.uint64(word & 63)
    n_codes = np.uint64(0)
    for high in range(np.uint64(n_levels >> 12) + ONE):
        words = summary[high]
        summary[high] = 0
        while words:
            word = (high << np.uint64(6)) | trailing_zeros(words)
            words &= words - ONE
            occur = bits[word]
            bits[word] = 0
            while occur:
                code = (word << np.uint64(6)) | trailing_zeros(occur)
                occur &= occur - ONE
                node_codes[n_codes] = code
                table[n_codes] = counts[code]
                counts[code] = 0
                n_codes += ONE
    return np.int64(n_codes)


@kernel
def sort_rows(
    codes, offset, n_levels, rows, start, end, counts, bits, summary, node_codes, table, members,
    following,
):  # fmt: skip
    """List the codes that occur in a node, from the lowest, and the rows at each."""
    for i in range(end - start):
        code = codes[offset + rows[start + i]]
        following[i] = counts[code]
        counts[code] = i + 1
        word = code >> 6
        bits[word] |= ONE << np.uint64(code & 63)
        summary[word >> 6] |= ONE << np.uint64(word & 63)
    n_codes = np.uint64(0)
    placed = np.uint64(0)
    for high in range(np.uint64(n_levels >> 12) + ONE):
        words = summary[high]
        summary[high] = 0
        while words:
            word = (high << np.uint64(6)) | trailing_zeros(words)
            words &= words - ONE
            occur = bits[word]
            bits[word] = 0
            while occur:
                code = (word << np.uint64(6)) | trailing_zeros(occur)
                occur &= occur - ONE
                begin = np.int64(placed)
                row = counts[code]
                counts[code] = 0
                while row:
                    members[placed] = row - 1
                    placed += ONE
                    row = np.int64(following[row - 1])
                node_codes[n_codes] = code
                table[n_codes] = begin | (np.int64(placed) << 32)
                n_codes += ONE
    return np.int64(n_codes)


@intrinsic
def trailing_zeros(typingctx: Any, value: Any) -> Any:
    """Count the 0 bits below the lowest 1 of a number that is not 0: one instruction."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


# ---- levels in order ------------------------------------------------------------------------
@kernel
def order_two(n_codes, node_codes, table, share):
    """Order levels by the share of class 1: the best cut in that order is the best of all."""
    for k in range(n_codes):
        share[k] = (table[k] >> 32) / (table[k] & LOW)
    sort_levels(n_codes, node_codes, table, share)


@kernel
def order_many(
    n_codes, packed, start, size, totals, node_codes, table, members, share, probability, squares
):
    """Order levels along the first principal component (Coppersmith, Hong and Hosking 1999).

    Of the class probabilities in each level, weighted by its draws. Their covariance matrix is
    squared until nothing but that component is left.
    """
    n_classes = len(totals)
    trace = 0.0
    for c in range(n_classes):
        for d in range(n_classes):
            squares[0, c, d] = 0.0
    for k in range(n_codes):
        draws = 0.0
        for c in range(n_classes):
            probability[k, c] = 0.0
        for i in range(table[k] & LOW, table[k] >> 32):
            entry = packed[start + members[i]]
            probability[k, entry >> 32] += entry & LOW
            draws += entry & LOW
        for c in range(n_classes):
            probability[k, c] = probability[k, c] / draws - totals[c] / size
        for c in range(n_classes):
            for d in range(n_classes):
                squares[0, c, d] += draws * probability[k, c] * probability[k, d]
            trace += draws * probability[k, c] ** 2
    now = 0
    for _ in range(SQUARINGS):
        if trace == 0.0:  # every level has the same classes: any order will do
            break
        squared = 0.0
        for c in range(n_classes):
            for d in range(n_classes):
                product = 0.0
                for e in range(n_classes):
                    product += squares[now, c, e] * squares[now, e, d]
                squares[1 - now, c, d] = product / (trace * trace)
            squared += squares[1 - now, c, c]
        now = 1 - now
        trace = squared
        if trace > 1.0 - CLOSE:  # of a matrix of trace 1: it has one component
            break
    axis = 0  # the matrix is v v' up to a factor: take the column in which v is clearest
    for c in range(1, n_classes):
        if squares[now, c, c] > squares[now, axis, axis] * (1.0 + CLOSE):
            axis = c
    norm = 0.0
    for c in range(n_classes):
        norm += squares[now, c, axis] ** 2
    norm = np.sqrt(norm) if norm > 0.0 else 1.0
    for k in range(n_codes):
        along = 0.0
        for c in range(n_classes):
            along += probability[k, c] * squares[now, c, axis] / norm
        share[k] = np.floor(along * FINE + 0.5)
    sort_levels(n_codes, node_codes, table, share)


@kernel
def sort_levels(n_codes, node_codes, table, share):
    """Sort levels by rising `share`, equal ones by code: Shell's sort."""
    step = 1
    while 3 * step + 1 < n_codes:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, n_codes):
            key, code, entry = share[k], node_codes[k], table[k]
            j = k
            while j >= step and (
                share[j - step] > key or (share[j - step] == key and node_codes[j - step] > code)
            ):
                share[j], node_codes[j], table[j] = (
                    share[j - step],
                    node_codes[j - step],
                    table[j - step],
                )
                j -= step
            share[j], node_codes[j], table[j] = key, code, entry
        step //= 3


# ---- the two sides -------------------------------------------------------------------------
@kernel
def is_sent_left(cut, shift, sets, code):
    """Return whether a code goes left; the missing are 0, or the largest by a shift of 1."""
    if shift == SET:
        word = sets[np.uint64(cut) + np.uint64(code >> 6)]
        return (word >> np.uint64(code & 63)) & ONE != 0
    return np.uint32(np.int64(code) - shift) <= np.uint32(cut)


@kernel
def partition_rows(codes, offset, cut, shift, sets, rows, packed, start, end, spare, spare_packed):
    """Bring the rows that go left before the others, both in order; return where those begin."""
    middle = np.uint64(start)
    moved = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        row, weight = rows[i], packed[i]
        left = np.uint64(is_sent_left(cut, shift, sets, codes[offset + row]))
        rows[middle], packed[middle] = row, weight
        spare[moved], spare_packed[moved] = row, weight
        middle += left
        moved += ONE - left
    for i in range(moved):
        rows[middle + i], packed[middle + i] = spare[i], spare_packed[i]
    return np.int64(middle)


@kernel
def partition_bare_rows(codes, offset, cut, shift, sets, rows, start, end, spare):
    """Do the same for rows without an entry of `packed`."""
    middle = np.uint64(start)
    moved = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(end)):
        row = rows[i]
        left = np.uint64(is_sent_left(cut, shift, sets, codes[offset + row]))
        rows[middle] = row
        spare[moved] = row
        middle += left
        moved += ONE - left
    for i in range(moved):
        rows[middle + i] = spare[i]
    return np.int64(middle)


@kernel
def fill_set(sets, begin, wide, levels, n_levels, n_left):
    """Write the first levels as bits, or where `n_left` is negative, all but the last ones."""
    all_but_last = n_left < 0
    for word in range(begin, begin + wide):
        sets[word] = ~np.uint64(0) if all_but_last else np.uint64(0)
    for k in range(n_levels + n_left if all_but_last else 0, n_levels if all_but_last else n_left):
        code = np.int64(levels[k])
        sets[begin + (code >> 6)] ^= ONE << np.uint64(code & 63)


@kernel
def count_draws(packed, start, end):
    """Count the draws of the rows from start to end - 1."""
    total = np.int64(0)
    for i in range(start, end):
        total += packed[i] & LOW
    return total


@kernel
def count_classes(packed, start, end, totals):
    """Count the draws of every class in a node, and of all."""
    n_classes = len(totals)
    for c in range(n_classes):
        totals[c] = 0
    if n_classes == 2:
        total = np.int64(0)
        for i in range(start, end):
            total += packed[i]
        totals[1] = total >> 32
        totals[0] = (total & LOW) - totals[1]
    else:
        for i in range(start, end):
            totals[packed[i] >> 32] += packed[i] & LOW
    size = 0.0
    for c in range(n_classes):
        size += totals[c]
    return size


# ---- random numbers -------------------------------------------------------------------------
@kernel
def mix_bits(z):
    """Turn a state into a random number of 64 bits: SplitMix64 (Steele, Lea and Flood 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def draw_below(state, count):
    """Draw a random whole number from 0 to count - 1."""
    state[0] += GAMMA
    return np.int64(((mix_bits(state[0]) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@kernel
def draw_by_weight(state, ends):
    """Draw a position in proportion to weights, whose running sums are `ends`."""
    state[0] += GAMMA
    share = np.float64(mix_bits(state[0]) >> np.uint64(11)) * 2.0**-53
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] > share * ends[-1]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def draw_bag(state, y, n_classes, ends, rows, packed, out_of_bag, pool, draws):
    """Draw as many rows as there are, with replacement, and list the rows not drawn.

    `ends` are running sums of the weights of the rows, or empty where all are equal.
    """
    n = len(y)
    for i in range(n):
        draws[i] = 0
    for _ in range(n):
        draws[draw_by_weight(state, ends) if len(ends) else draw_below(state, n)] += 1
    n_bag = 0
    n_pool = 0
    for i in range(n):
        drawn = np.int64(draws[i])
        if drawn > 0:
            rows[n_bag] = i
            packed[n_bag] = drawn | ((drawn * y[i] if n_classes == 2 else y[i]) << 32)
            n_bag += 1
        else:
            out_of_bag[n_pool] = i
            pool[n_pool] = i
            n_pool += 1
    return n_bag, n_pool


@kernel
def majority(totals, state):
    """Return the class with most draws, by lot among equals."""
    label = 0
    equals = 1
    for c in range(1, len(totals)):
        if totals[c] > totals[label]:
            label = c
            equals = 1
        elif totals[c] == totals[label]:
            equals += 1
            if draw_below(state, equals) == 0:
                label = c
    return label
