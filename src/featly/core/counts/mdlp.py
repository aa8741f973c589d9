r"""Cut points by the principle of the shortest description.

.. math::

    \text{cut } S \text{ into } S_1, S_2 \text{ where } \sum_i |S_i| H(S_i) \text{ is least, as
    long as } |S| H(S) - \sum_i |S_i| H(S_i) > \log_2(|S| - 1) + \log_2(3^k - 2) -
    k H(S) + k_1 H(S_1) + k_2 H(S_2)

with H the entropy of the classes in bits, |S| the number of rows (or of different values, if a cut
is coded as a position between those, as by Weka's ``-E``) and k, k_1, k_2 the numbers of classes
that occur in S, S_1 and S_2; then both parts are cut in the same way. Fayyad, U. M. and Irani, K.
B. (1993), Multi-interval discretization of continuous-valued attributes for classification
learning, *IJCAI-93*, 1022-1027.

Entropies are whole numbers (:mod:`featly.core.counts.entropy`), so the order of rows, the names of
classes and the number of threads change nothing. A cut is in the middle between two values; the
lowest of equally good ones is taken. No cut inside a stretch of values of one class can be best
(theorem 1 of the paper), so none is tried there.

The packages that offer this are wrong or do not build, hence a loop of our own. The values of every
class are sorted on their own, as plain numbers, and the sorted runs are merged: plain numbers sort
several times faster than pairs, or than positions.
"""

import math

import numpy as np

from featly.core.runtime.jit import kernel

__all__ = ["mdlp_bytes", "mdlp_runs", "mdlp_stored", "midpoint", "sort_stored"]

# mypy: disable-error-code="no-untyped-def"


# ---- a column as sorted values --------------------------------------------------------------
@kernel
def midpoint(low, high):
    """Return the middle of two numbers, such that ``low <= middle < high`` whatever is rounded."""
    middle = (low + high) / 2.0
    return middle if low <= middle < high else low


@kernel
def _merge_pairs(bound, n_runs, value, label, value_out, label_out):
    """Merge neighbouring runs two by two; of equal values those of the first run come first."""
    merged = 0
    for r in range(0, n_runs, 2):
        i, middle = bound[r], bound[r + 1]
        j, end = middle, bound[min(r + 2, n_runs)]
        out = i
        while i < middle and j < end:
            second = value[j] < value[i]
            value_out[out] = value[j] if second else value[i]
            label_out[out] = label[j] if second else label[i]
            j += second
            i += not second
            out += 1
        while i < middle:
            value_out[out], label_out[out] = value[i], label[i]
            i += 1
            out += 1
        while j < end:
            value_out[out], label_out[out] = value[j], label[j]
            j += 1
            out += 1
        bound[merged] = bound[r]
        merged += 1
    bound[merged] = bound[n_runs]
    return merged


@kernel
def _merge(bound, n_runs, value, label, spare_value, spare_label):
    """Merge consecutive sorted runs into one; the arrays may be swapped."""
    while n_runs > 1:
        n_runs = _merge_pairs(bound, n_runs, value, label, spare_value, spare_label)
        value, spare_value = spare_value, value
        label, spare_label = spare_label, label
    return value, label, spare_value, spare_label


@kernel
def sort_stored(data, indices, low, high, labels, zeros, bound, value, label, spare, spare_label):
    """Sort the stored entries of a sparse column, with the labels of its rows; count zeros.

    `zeros` has the sizes of the classes, from which entries that are not zero are subtracted.
    Returned are the number of values that are neither zero nor missing, the number of negative
    ones, and the arrays, which may have been swapped.
    """
    m, n_runs, negative = np.int64(0), np.int64(0), np.int64(0)
    for position in range(low, high):
        x = np.float64(data[position])
        if x == 0.0:
            continue
        c = labels[indices[position]]
        zeros[c] -= 1
        if x != x:
            continue
        if m == 0 or x < value[m - 1]:
            bound[n_runs] = m
            n_runs += 1
        value[m], label[m] = x, c
        negative += x < 0.0
        m += 1
    bound[n_runs] = m
    value, label, spare, spare_label = _merge(bound, n_runs, value, label, spare, spare_label)
    return m, negative, value, label, spare, spare_label


# ---- the criterion --------------------------------------------------------------------------
@kernel
def _stretches(value, label, weight, n_values, label_out, weight_out, cut_out, upto_out):
    """Sum up neighbours between which no cut can be best.

    A stretch is one class and a number of rows; `cut_out` is the cut point after a stretch, NaN
    where there is none because the next one has the same value; `upto_out` counts the different
    values up to its end.
    """
    m = 0  # stretches so far
    first = 0  # the first stretch of the current value
    pure = False  # whether everything since the last possible cut is of one class
    last = 0.0  # the value before the current one
    i = 0
    n_different = 0
    while i < n_values:
        x = value[i]
        first = m
        n_different += 1
        while i < n_values and value[i] == x:
            if m > first and label_out[m - 1] == label[i]:
                weight_out[m - 1] += weight[i]
            else:
                label_out[m], weight_out[m], cut_out[m] = label[i], weight[i], np.nan
                upto_out[m] = n_different
                m += 1
            i += 1
        single = m == first + 1
        if first > 0:
            if single and pure and label_out[first - 1] == label_out[first]:
                weight_out[first - 1] += weight_out[first]
                upto_out[first - 1] = n_different
                m -= 1
            else:
                cut_out[first - 1] = midpoint(last, x)
        pure = single
        last = x
    return m


@kernel
def _bits_of_classes(k):
    """Return ``log2(3^k - 2)``, also where 3^k overflows."""
    return math.log2(3.0**k - 2.0) if k < 30 else k * math.log2(3.0)


@kernel
def _count_classes(label, weight, low, high, counts):
    counts[:] = 0
    total = 0
    for j in range(low, high):
        counts[label[j]] += weight[j]
        total += weight[j]
    return total


@kernel
def _entropy(counts, total, table):
    """Return n H in fixed point, and how many classes occur."""
    entropy = table[total]
    present = 0
    for c in range(len(counts)):
        entropy -= table[counts[c]]
        present += counts[c] > 0
    return entropy, present


@kernel
def _best_cut(label, weight, cut, low, high, n, table, whole, present, left, right):
    """Return the stretch after which to cut, -1 if no cut helps, and n H after the cut.

    `right` holds the counts of all classes. Two values differ only if rounding cannot explain it.
    """
    left[:] = 0
    tolerance = 4 * (present + 1)
    best, best_value = -1, whole - tolerance
    value_left, value_right = 0, 0
    for c in range(len(right)):
        value_right += table[right[c]]
    n_left = 0
    for j in range(low, high - 1):
        c, w = label[j], weight[j]
        value_left += table[left[c] + w] - table[left[c]]
        value_right += table[right[c] - w] - table[right[c]]
        left[c] += w
        right[c] -= w
        n_left += w
        if cut[j] == cut[j]:
            value = table[n_left] + table[n - n_left] - value_left - value_right
            if value < best_value:
                best, best_value = j, value - tolerance
    return best, best_value + tolerance


@kernel
def _is_accepted(
    label, weight, low, best, high, n, n_positions, table, unit, whole, remaining, present, left,
    right,
):  # fmt: skip
    """Return whether a cut after stretch `best`, of `n_positions`, shortens the description."""
    n_left = _count_classes(label, weight, low, best + 1, left)
    n_right = _count_classes(label, weight, best + 1, high, right)
    inside_left, present_left = _entropy(left, n_left, table)
    inside_right, present_right = _entropy(right, n_right, table)
    price = (
        math.log2(n_positions)
        + _bits_of_classes(present)
        - unit
        * (
            present * (whole / n)
            - present_left * (inside_left / n_left)
            - present_right * (inside_right / n_right)
        )
    )
    return unit * (whole - remaining) > price


@kernel
def _split(label, weight, cut, upto, m, by_value, table, unit, left, right, stack, is_cut):
    """Mark in `is_cut` the stretches after which there is a cut."""
    is_cut[:m] = False
    stack[0], stack[1] = 0, m
    top = 2
    while top > 0:
        low, high = stack[top - 2], stack[top - 1]
        top -= 2
        n = _count_classes(label, weight, low, high, right)
        whole, present = _entropy(right, n, table)
        if present < 2:
            continue
        best, remaining = _best_cut(
            label, weight, cut, low, high, n, table, whole, present, left, right
        )
        n_positions = n - 1.0
        if by_value:
            n_positions = upto[high - 1] - (upto[low - 1] if low > 0 else 0) - 1.0
        if best >= 0 and _is_accepted(
            label, weight, low, best, high, n, n_positions, table, unit, whole, remaining, present,
            left, right,
        ):  # fmt: skip
            is_cut[best] = True
            stack[top], stack[top + 1] = low, best + 1
            stack[top + 2], stack[top + 3] = best + 1, high
            top += 4


@kernel
def _write_cuts(
    value, label, weight, n_values, by_value, table, unit, left, right, stack,
    label_out, weight_out, cut, upto, is_cut, cut_points, at,
):  # fmt: skip
    """Write the cut points of one column to `cut_points` from `at` on; return where they end."""
    m = _stretches(value, label, weight, n_values, label_out, weight_out, cut, upto)
    if m > 1:
        _split(
            label_out, weight_out, cut, upto, m, by_value, table, unit, left, right, stack, is_cut
        )
        for j in range(m - 1):
            if is_cut[j]:
                cut_points[at] = cut[j]
                at += 1
    return at


# ---- two classes ----------------------------------------------------------------------------
@kernel
def _tabulate(table, n, halves):
    """Fill in ``T(i) + T(n - i)`` for i from 0 to n."""
    for i in range(n + 1):
        halves[i] = table[i] + table[n - i]


@kernel
def _is_hopeless(
    first, second, n_first, n_second, by_value, table, unit, halves_first, halves_second, halves
):
    """Return whether no cut between two sorted classes can be accepted.

    Where i values of one class and j of the other are below a cut, the parts have
    ``T(i + j) + T(n - i - j) - T(i) - T(n_1 - i) - T(j) - T(n_2 - j)``, which merging the classes
    gives. The price is at least ``log2(n_positions) + log2 7 - 2 H``. Most columns of a wide table
    need no more than this.
    """
    n = n_first + n_second
    whole = table[n] - table[n_first] - table[n_second]
    best = whole
    i, j = 0, 0
    last = min(first[0], second[0])
    n_positions = 0.0 if by_value else n - 1.0  # for values a lower bound, counted below
    while i < n_first and j < n_second:
        later = second[j] < first[i]
        x = second[j] if later else first[i]
        value = halves[i + j] - halves_first[i] - halves_second[j]
        best = min(best, value if last < x else best)
        n_positions += by_value and last < x
        last = x
        j += later
        i += not later
    x = first[i] if i < n_first else second[j]
    if last < x:
        best = min(best, halves[i + j] - halves_first[i] - halves_second[j])
    gain = unit * (whole - best + 12)  # 12: what rounding may explain
    n_positions = max(n_positions, 1.0)
    return gain <= math.log2(n_positions) + math.log2(7.0) - 2.0 * unit * (whole / n)


# ---- whole tiles ----------------------------------------------------------------------------
@kernel
def mdlp_runs(tile, run_start, by_value, table, unit, cut_points, ends):
    """Write cut points of every column of a tile whose rows are sorted within classes.

    Parameters
    ----------
    tile : float32 or float64 array of shape (n_columns, n_rows)
        Class c is at ``run_start[c]:run_start[c + 1]``, its values rising, NaN last.
    by_value : bool
        Whether a cut is coded by the number of different values, not of rows.
    table, unit
        Of :class:`featly.core.counts.entropy.FixedPoint`; `unit` is 2^-shift.
    cut_points : float64 array
        The cut points, one column after the other.
    ends : int64 array of shape (n_columns,)
        Where those of each column end.
    """
    n, k = tile.shape[1], len(run_start) - 1
    value, spare = np.empty(n), np.empty(n)
    label, spare_label = np.empty(n, np.int64), np.empty(n, np.int64)
    weight = np.ones(n, np.int64)
    bound, stack = np.empty(n + 2, np.int64), np.empty(2 * n + 4, np.int64)
    left, right = np.empty(k, np.int64), np.empty(k, np.int64)
    label_out, weight_out = np.empty(n, np.int64), np.empty(n, np.int64)
    cut, upto, is_cut = np.empty(n), np.empty(n, np.int64), np.empty(n, np.bool_)
    halves_first, halves_second = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    halves, n_first, n_second = np.empty(n + 1, np.int64), -1, -1
    at = np.int64(0)  # typed: numba would compile what it is passed to a second time
    for f in range(len(tile)):
        ends[f] = at
        if k == 2:
            first, second = tile[f, : run_start[1]], tile[f, run_start[1] :]
            n_known, n_known_second = _count_known(first), _count_known(second)
            if n_known == 0 or n_known_second == 0:
                continue
            if n_known != n_first or n_known_second != n_second:
                n_first, n_second = n_known, n_known_second
                _tabulate(table, n_first, halves_first)
                _tabulate(table, n_second, halves_second)
                _tabulate(table, n_first + n_second, halves)
            if _is_hopeless(
                first, second, n_first, n_second, by_value, table, unit, halves_first,
                halves_second, halves,
            ):  # fmt: skip
                continue
        m, n_runs = np.int64(0), np.int64(0)
        for c in range(k):
            begin = m
            for i in range(run_start[c], run_start[c + 1]):
                x = np.float64(tile[f, i])
                if x != x:
                    break
                value[m], label[m] = x, c
                m += 1
            if m > begin:
                bound[n_runs] = begin
                n_runs += 1
        bound[n_runs] = m
        if n_runs > 1:
            value, label, spare, spare_label = _merge(
                bound, n_runs, value, label, spare, spare_label
            )
            at = _write_cuts(
                value, label, weight, m, by_value, table, unit, left, right, stack,
                label_out, weight_out, cut, upto, is_cut, cut_points, at,
            )  # fmt: skip
        ends[f] = at


@kernel
def _count_known(column):
    """Return how many values of a column with NaN last are known."""
    n = len(column)
    while n > 0 and column[n - 1] != column[n - 1]:
        n -= 1
    return n


@kernel
def mdlp_bytes(tile, lowest, labels, n_classes, by_value, table, unit, cut_points, ends):
    """Write cut points of columns of whole numbers of one byte, by counting.

    `tile` is of uint8, `lowest` the number that its 0 stands for; rows are in any order.
    """
    size = 256 * n_classes
    value, label, weight = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
    stack = np.empty(2 * size + 4, np.int64)
    left, right = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    label_out, weight_out = np.empty(size, np.int64), np.empty(size, np.int64)
    cut, upto, is_cut = np.empty(size), np.empty(size, np.int64), np.empty(size, np.bool_)
    counts = np.zeros((256, n_classes), np.int64)
    at = np.int64(0)
    for f in range(len(tile)):
        smallest, largest = np.int64(255), np.int64(0)
        for i in range(tile.shape[1]):
            byte = np.int64(tile[f, i])
            smallest, largest = min(smallest, byte), max(largest, byte)
            counts[byte, labels[i]] += 1
        m = np.int64(0)
        for x in range(smallest, largest + 1):
            for c in range(n_classes):
                if counts[x, c] > 0:
                    value[m], label[m], weight[m] = np.float64(x + lowest), c, counts[x, c]
                    counts[x, c] = 0
                    m += 1
        at = _write_cuts(
            value, label, weight, m, by_value, table, unit, left, right, stack,
            label_out, weight_out, cut, upto, is_cut, cut_points, at,
        )  # fmt: skip
        ends[f] = at


@kernel
def mdlp_stored(
    data,
    indices,
    indptr,
    columns,
    labels,
    class_sizes,
    by_value,
    table,
    unit,
    lo,
    hi,
    cut_points,
    ends,
):
    """Write cut points of columns `lo` to `hi` of a sparse matrix.

    Time is proportional to the stored entries: zeros are one value with counts by class.
    """
    k, most = len(class_sizes), 0
    for f in range(lo, hi):
        most = max(most, indptr[columns[f] + 1] - indptr[columns[f]])
    size = most + k
    value, spare = np.empty(size), np.empty(size)
    label, spare_label = np.empty(size, np.int64), np.empty(size, np.int64)
    weight, zeros = np.empty(size, np.int64), np.empty(k, np.int64)
    bound, stack = np.empty(size + 2, np.int64), np.empty(2 * size + 4, np.int64)
    left, right = np.empty(k, np.int64), np.empty(k, np.int64)
    label_out, weight_out = np.empty(size, np.int64), np.empty(size, np.int64)
    cut, upto, is_cut = np.empty(size), np.empty(size, np.int64), np.empty(size, np.bool_)
    at = np.int64(0)
    for f in range(lo, hi):
        for c in range(k):  # an assignment of slices takes seconds to compile
            zeros[c] = class_sizes[c]
        low, high = indptr[columns[f]], indptr[columns[f] + 1]
        m, negative, value, label, spare, spare_label = sort_stored(
            data, indices, low, high, labels, zeros, bound, value, label, spare, spare_label
        )
        # zeros go between the negative and the positive values
        n_values = np.int64(0)
        for i in range(m + 1):
            if i == negative:
                for c in range(k):
                    if zeros[c] > 0:
                        spare[n_values], spare_label[n_values] = 0.0, c
                        weight[n_values] = zeros[c]
                        n_values += 1
            if i < m:
                spare[n_values], spare_label[n_values] = value[i], label[i]
                weight[n_values] = 1
                n_values += 1
        at = _write_cuts(
            spare, spare_label, weight, n_values, by_value, table, unit, left, right, stack,
            label_out, weight_out, cut, upto, is_cut, cut_points, at,
        )  # fmt: skip
        ends[f - lo] = at
