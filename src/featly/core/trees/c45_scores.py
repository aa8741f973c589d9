r"""Worth of the splits of a node: gain and gain ratio of every column.

.. math::

    \text{gain} = \frac{K}{W} \Bigl(H(D) - \sum_b \frac{w_b}{K} H(D_b)\Bigr), \qquad
    \text{ratio} = \text{gain} \Big/ \Bigl(-\sum_b \frac{w_b}{W} \log_2 \frac{w_b}{W}
        - \frac{U}{W} \log_2 \frac{U}{W}\Bigr)

for rows of weight W in the node, K of it with a known value and U = W - K without; branches b of
weight w_b; H the entropy of the classes in bits.

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.

A column holds codes: 0 is missing; 1, 2, ... are its values in their order, or its levels. The
rows of a node are brought into the order of their codes in one of three ways: few codes are
counted by class; more are sorted by counting; and where the codes outnumber the rows by far, the
rows are merged. What comes out is a list of entries (code, class, weight), and the sums of
:math:`x \log_2 x` follow it entry by entry.
"""

import math
from typing import Any

import numpy as np

from featly.core.runtime.jit import kernel

__all__ = ["SMALL", "is_about_zero", "merge_sort", "score_columns", "score_memory"]

# mypy: disable-error-code="no-untyped-def"

SMALL = 1e-6  # what differs by less is equal, so that rounding decides nothing
LONG = 25.0  # weight that is enough on either side of a cut, however large the node
CELLS_A_ROW = 2  # codes times classes that are counted as a table, for each row of the node
CODES_A_ROW = 8  # codes that are sorted by counting, for each row of the node
RUN = 12  # rows that are sorted by insertion


@kernel
def is_about_zero(value):
    """Return whether a number is 0 but for rounding."""
    return -SMALL < value < SMALL


@kernel
def x_log_x(x, logs):
    """x log2 x, from a table where x is a whole number; 0 for what is nearly 0."""
    if x < SMALL:
        return 0.0
    whole = int(x)
    if whole == x and whole < len(logs):
        return logs[whole]
    return x * math.log2(x)


@kernel
def merge_sort(keys, scratch, size):
    """Sort the first `size` keys; `scratch` is as long and is overwritten."""
    for begin in range(0, size, RUN):
        for i in range(begin + 1, min(begin + RUN, size)):
            key = keys[i]
            position = i
            while position > begin and keys[position - 1] > key:
                keys[position] = keys[position - 1]
                position -= 1
            keys[position] = key
    width = RUN
    while width < size:
        for begin in range(0, size, 2 * width):
            middle = min(begin + width, size)
            end = min(begin + 2 * width, size)
            a, b = begin, middle
            for position in range(begin, end):
                if a < middle and (b >= end or keys[a] <= keys[b]):
                    scratch[position] = keys[a]
                    a += 1
                else:
                    scratch[position] = keys[b]
                    b += 1
        for position in range(size):
            keys[position] = scratch[position]
        width *= 2


def score_memory(size: int, most_codes: int, n_classes: int) -> tuple[Any, ...]:
    """Buffers to score a node of up to `size` rows: tables, keys, entries, sums of classes."""
    return (
        np.empty(CELLS_A_ROW * size + 64),
        np.empty(min(most_codes, CODES_A_ROW * size) + 1, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(n_classes),
        np.empty(n_classes),
    )


@kernel
def _sort_entries(column, n_codes, rows, y, weight, size, n_classes, memory):
    """List the known values of a node in the order of their codes; return how many entries."""
    cells, counts, keys, scratch, code, label, mass, _, _ = memory
    n_entries = np.int64(0)  # a literal would compile a second sort
    if (n_codes + 1) * n_classes <= CELLS_A_ROW * size + 64:
        for i in range((n_codes + 1) * n_classes):
            cells[i] = 0.0
        for i in range(size):
            cells[column[rows[i]] * n_classes + y[i]] += weight[i]
        for value in range(1, n_codes + 1):
            for c in range(n_classes):
                amount = cells[value * n_classes + c]
                if amount > 0.0:
                    code[n_entries], label[n_entries], mass[n_entries] = value, c, amount
                    n_entries += 1
    elif n_codes <= CODES_A_ROW * size:
        for value in range(n_codes + 1):
            counts[value] = 0
        for i in range(size):
            counts[column[rows[i]]] += 1
        for value in range(1, n_codes + 1):
            n_rows = counts[value]
            counts[value] = n_entries
            n_entries += n_rows
        for i in range(size):
            value = column[rows[i]]
            if value > 0:
                position = counts[value]
                counts[value] = position + 1
                code[position], label[position], mass[position] = value, y[i], weight[i]
    else:
        for i in range(size):
            value = column[rows[i]]
            if value > 0:
                keys[n_entries] = (np.int64(value) << 32) | i
                n_entries += 1
        merge_sort(keys, scratch, n_entries)
        for position in range(n_entries):
            i = keys[position] & 0xFFFFFFFF
            code[position], label[position], mass[position] = keys[position] >> 32, y[i], weight[i]
    return n_entries


@kernel
def _gain_per_weight(before, after, known, total):
    """Return the gain in bits for each unit of weight; missing values lessen it."""
    saved = (known / total) * (before - after)
    if is_about_zero(saved):
        return 0.0
    return saved / known


@kernel
def _gain_ratio(gain, spread, total):
    """Return the gain for each bit that the split itself needs."""
    if is_about_zero(spread):
        return 0.0
    return gain / (spread / total)


@kernel
def _cut_numbers(n_entries, memory, total, known, min_rows, mdl, logs):
    """Find the best threshold: if there is one, gain, ratio, and the codes on its two sides."""
    code, label, mass, totals, left = memory[4], memory[5], memory[6], memory[7], memory[8]
    n_classes = len(totals)
    least = 0.1 * known / n_classes
    if least <= min_rows:
        least = min_rows
    elif least > LONG:
        least = LONG
    right_logs = 0.0
    for c in range(n_classes):
        right_logs += x_log_x(totals[c], logs)
        left[c] = 0.0
    before = x_log_x(known, logs) - right_logs
    left_logs, n_left, best, best_left = 0.0, 0.0, 0.0, 0.0
    n_cuts, low, high = 0, 0, 0
    for i in range(n_entries - 1):
        c, amount = label[i], mass[i]
        was = left[c]
        now = was + amount
        left[c] = now
        left_logs += x_log_x(now, logs) - x_log_x(was, logs)
        right_logs += x_log_x(totals[c] - now, logs) - x_log_x(totals[c] - was, logs)
        n_left += amount
        if code[i] == code[i + 1]:
            continue
        n_right = known - n_left
        if n_left <= least - SMALL:
            continue
        if n_right <= least - SMALL:
            break
        n_cuts += 1
        after = x_log_x(n_left, logs) + x_log_x(n_right, logs) - left_logs - right_logs
        gain = _gain_per_weight(before, after, known, total)
        if gain - best > SMALL:
            best, best_left, low, high = gain, n_left, code[i], code[i + 1]
    if n_cuts == 0:
        return False, 0.0, 0.0, 0, 0
    if mdl:
        best -= math.log2(n_cuts) / total
    if best < SMALL:
        return False, 0.0, 0.0, 0, 0
    spread = x_log_x(total, logs) - x_log_x(best_left, logs)
    spread -= x_log_x(known - best_left, logs) + x_log_x(total - known, logs)
    return True, best, _gain_ratio(best, spread, total), low, high


@kernel
def _split_by_level(n_entries, memory, total, known, min_rows, logs):
    """Split into a branch for each level: whether two weigh enough, gain and ratio."""
    code, label, mass, totals, left = memory[4], memory[5], memory[6], memory[7], memory[8]
    n_classes = len(totals)
    before = x_log_x(known, logs)
    for c in range(n_classes):
        before -= x_log_x(totals[c], logs)
        left[c] = 0.0
    spread = x_log_x(total, logs) - x_log_x(total - known, logs)
    after, n_heavy, begin = 0.0, 0, 0
    while begin < n_entries:
        end, level_weight = begin, 0.0
        while end < n_entries and code[end] == code[begin]:
            left[label[end]] += mass[end]
            level_weight += mass[end]
            end += 1
        for i in range(begin, end):  # a class that comes again finds 0
            after -= x_log_x(left[label[i]], logs)
            left[label[i]] = 0.0
        after += x_log_x(level_weight, logs)
        spread -= x_log_x(level_weight, logs)
        if level_weight > min_rows - SMALL:
            n_heavy += 1
        begin = end
    if n_heavy < 2:
        return False, 0.0, 0.0
    gain = _gain_per_weight(before, after, known, total)
    return True, gain, _gain_ratio(gain, spread, total)


@kernel
def _split_off_level(n_entries, memory, total, known, min_rows, logs):
    """Split one level from the others: whether there is a split, gain, ratio and the level."""
    code, label, mass, totals, left = memory[4], memory[5], memory[6], memory[7], memory[8]
    n_classes = len(totals)
    all_logs = 0.0
    for c in range(n_classes):
        all_logs += x_log_x(totals[c], logs)
        left[c] = 0.0
    before = x_log_x(known, logs) - all_logs
    can_split, best, best_ratio, level, begin = False, 0.0, 0.0, 0, 0
    while begin < n_entries:
        end, level_weight = begin, 0.0
        while end < n_entries and code[end] == code[begin]:
            left[label[end]] += mass[end]
            level_weight += mass[end]
            end += 1
        inner, outer = 0.0, all_logs
        for i in range(begin, end):
            c = label[i]
            if left[c] > 0.0:
                inner += x_log_x(left[c], logs)
                outer += x_log_x(totals[c] - left[c], logs) - x_log_x(totals[c], logs)
                left[c] = 0.0
        other_weight = known - level_weight
        if level_weight > min_rows - SMALL and other_weight > min_rows - SMALL:
            can_split = True
            after = x_log_x(level_weight, logs) + x_log_x(other_weight, logs) - inner - outer
            gain = _gain_per_weight(before, after, known, total)
            spread = x_log_x(total, logs) - x_log_x(total - known, logs)
            spread -= x_log_x(level_weight, logs) + x_log_x(other_weight, logs)
            ratio = _gain_ratio(gain, spread, total)
            if ratio - best_ratio > SMALL:
                best, best_ratio, level = gain, ratio, code[begin]
        begin = end
    return can_split, best, best_ratio, level


@kernel
def score_columns(
    first,
    last,
    table,
    rows,
    y,
    weight,
    size,
    totals,
    rules,
    logs,
    memory,
    can_split,
    gains,
    ratios,
    cuts,
):
    """Compute gain, ratio and cut of the columns from `first` to `last`, for one node.

    Parameters
    ----------
    table : codes (columns, rows), how many codes each column has, and whether they are levels
    rows, y, weight : of the node; the first `size` count
    totals : weight of each class in the node
    rules : smallest weight of a branch, whether the choice of a threshold costs bits (MDL), and
        whether levels split in two
    logs : x log2 x of whole numbers
    memory : see :func:`score_memory`
    can_split, gains, ratios, cuts : filled: whether a column can split, and how; `cuts` holds the
        codes on both sides of a threshold, or the level that stands alone
    """
    codes, n_codes, is_level = table
    min_rows, mdl, binary = rules
    label, mass, known_totals = memory[5], memory[6], memory[7]
    n_classes = len(totals)
    total = 0.0
    for c in range(n_classes):
        total += totals[c]
    for f in range(first, last):
        can_split[f] = False
        if n_codes[f] < 2:
            continue
        n_entries = _sort_entries(codes[f], n_codes[f], rows, y, weight, size, n_classes, memory)
        if n_entries < 2:
            continue
        for c in range(n_classes):
            known_totals[c] = 0.0
        for i in range(n_entries):
            known_totals[label[i]] += mass[i]
        known = 0.0
        for c in range(n_classes):
            known += known_totals[c]
        if is_level[f] and binary:
            can_split[f], gains[f], ratios[f], cuts[f, 0] = _split_off_level(
                n_entries, memory, total, known, min_rows, logs
            )
        elif is_level[f]:
            can_split[f], gains[f], ratios[f] = _split_by_level(
                n_entries, memory, total, known, min_rows, logs
            )
            cuts[f, 0] = 0
        else:
            can_split[f], gains[f], ratios[f], cuts[f, 0], cuts[f, 1] = _cut_numbers(
                n_entries, memory, total, known, min_rows, mdl, logs
            )
