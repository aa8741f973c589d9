r"""Fisher's exact test, the sum over all tables with given margins, without listing them all.

A table x with rows r and columns c has the probability :math:`e^{v(x)} \prod_i r_i! / n!`, with the
*value*

.. math::

    v(x) = \sum_j \Big( \log c_j! - \sum_i \log x_{ij}! \Big)

a sum over columns. The p-value is a sum of :math:`e^v` over the tables with v up to a limit; all
sums are logarithms, so that none underflows.

- 2 x 2: v rises and then falls, so the sum has two tails. 2 x 3: the same for every count in the
  smallest column.
- Larger: the columns are divided into two halves. For each, all partial tables are listed by the
  margins that they use up (a *node*) and by value, equal ones merged; then the pairs of partial
  tables that make a whole table are counted together, as both lists are sorted. The merging is of
  Mehta, C. R. and Patel, N. R. (1983), A network algorithm for performing Fisher's exact test in
  r x c contingency tables, *J. Amer. Statist. Assoc.* 78, 427-434.
"""

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel

__all__ = ["MOST_PARTIAL_TABLES", "TIE", "exact_tail", "fisher_small", "margin_sums"]

# mypy: disable-error-code="no-untyped-def"


MOST_PARTIAL_TABLES = 1 << 18  # listing these takes about as long as drawing 10,000 tables
TIE = 1e-7  # tables whose probabilities differ by less, relatively, are equally probable
SAME = 1e-10  # partial tables whose values differ by less are merged


def exact_tail(
    rows: IntArray, columns: IntArray, limits: FloatArray, log_factorial: FloatArray
) -> FloatArray | None:
    """Return log of the sum of ``exp(v)`` over the tables with v <= limit, for some limits.

    None where more than `MOST_PARTIAL_TABLES` would have to be listed for a half, which depends on
    the margins alone. It is fastest where `rows` is the shorter margin, the largest first.

    Examples
    --------
    Without a limit, tables with rows 3 and 2 add up to 5! / (3! 2!) = 10.

    >>> import numpy as np
    >>> from scipy.special import gammaln
    >>> rows, columns = np.array([3, 2]), np.array([2, 2, 1])
    >>> total = exact_tail(rows, columns, np.array([np.inf]), gammaln(np.arange(6) + 1.0))
    >>> np.exp(total).round(9).tolist()
    [10.0]
    """
    # a node is a number; its digits are the used margins of all rows but the largest
    sizes = (rows[1:] + 1).astype(np.float64)
    if sizes.prod() > MOST_PARTIAL_TABLES:
        return None
    n_nodes = int(sizes.prod())
    stride = np.concatenate([[0, 1], np.cumprod(rows[1:] + 1)[:-1]]).astype(np.int64)
    halves: tuple[list[int], list[int]] = ([], [])
    work = [0.0, 0.0]  # logarithms of bounds on the numbers of partial tables
    for column in columns:
        smaller = int(work[1] < work[0])
        halves[smaller].append(int(column))
        work[smaller] += float(np.log(np.minimum(rows[1:], column) + 1.0).sum())
    lists = []
    for half in halves:
        partial = _partial_tables(
            np.array(half), rows, stride, n_nodes, log_factorial, MOST_PARTIAL_TABLES
        )
        if len(partial[0]) == 0:
            return None
        lists.append(partial)
    whole = int((rows * stride).sum())
    log_sums: FloatArray = _sum_whole_tables(*lists[0], *lists[1], whole, limits)
    return log_sums


@kernel
def margin_sums(counts, base, levels, classes):
    """Fill in the margins of a table; return its total, occupied levels and occupied classes."""
    for i in range(len(levels)):
        levels[i] = 0
    for c in range(len(classes)):
        classes[c] = 0
    n, n_levels, n_present = 0, 0, 0
    for i in range(len(levels)):
        for c in range(len(classes)):
            count = counts[base + i * len(classes) + c]
            levels[i] += count
            classes[c] += count
        n += levels[i]
        n_levels += levels[i] > 0
    for c in range(len(classes)):
        n_present += classes[c] > 0
    return n, n_levels, n_present


@kernel
def fisher_small(counts, start, n_classes, lf, lo, hi, log_p, log_probability):
    """Test tables of 2 x 2 and 2 x 3; log_p is NaN for larger ones. `lf` are log-factorials."""
    classes = np.empty(n_classes, np.int64)
    for f in range(lo, hi):
        base = start[f]
        levels = np.empty((start[f + 1] - base) // n_classes, np.int64)
        n, n_levels, n_present = margin_sums(counts, base, levels, classes)
        log_observed = -lf[n]
        for c in range(n_classes):
            log_observed += lf[classes[c]]
        for i in range(len(levels)):
            log_observed += lf[levels[i]]
            for c in range(n_classes):
                log_observed -= lf[counts[base + i * n_classes + c]]
        log_probability[f] = log_observed
        if n_levels < 2 or n_present < 2:
            log_p[f] = log_probability[f] = 0.0  # there is no other table
        elif n_levels == 2 and n_present <= 3:
            log_p[f] = _two_rows(levels, classes, n, log_observed, lf)
        elif n_present == 2 and n_levels <= 3:
            log_p[f] = _two_rows(classes, levels, n, log_observed, lf)
        else:
            log_p[f] = np.nan


@kernel
def _two_rows(rows, columns, n, log_probability, lf):
    """Return log p of a table with two rows and two or three columns, empty ones aside."""
    row = n  # the smaller one
    for total in rows:
        if total > 0:
            row = min(row, total)
    totals = np.zeros(3, np.int64)  # the largest first
    for total in columns:
        if total > 0:
            k = 2
            while k > 0 and totals[k - 1] < total:
                totals[k] = totals[k - 1]
                k -= 1
            totals[k] = total
    large, middle, small = totals[0], totals[1], totals[2]
    whole = lf[n] - lf[row] - lf[n - row]
    limit = log_probability + whole + TIE
    peak, summed = -np.inf, 0.0
    for x in range(min(small, row) + 1):  # the two larger columns can take the others
        small_term = lf[small] - lf[x] - lf[small - x]
        term = small_term + _two_columns(large, middle, row - x, limit - small_term, lf)
        if term > peak:
            summed = summed * np.exp(peak - term) + 1.0
            peak = term
        elif term > peak - 50.0:
            summed += np.exp(term - peak)
    log_tail = peak + np.log(summed) - whole
    return 0.0 if log_tail > -TIE else log_tail


@kernel
def _two_columns(first, second, row, limit, lf):
    """Return log of the sum of ``C(first, x) C(second, row - x)`` where its log is <= limit.

    The terms rise up to the mode and fall after it, so the sum has a tail on either side.
    """
    low, high = max(0, row - second), min(first, row)
    mode = ((row + 1) * (first + 1)) // (first + second + 2)
    top = lf[first] + lf[second]
    height = top - lf[mode] - lf[first - mode] - lf[row - mode] - lf[second - row + mode]
    if height <= limit:
        return lf[first + second] - lf[row] - lf[first + second - row]
    tails = -np.inf
    for side in (-1, 1):
        end = low if side < 0 else high
        inside, outside = mode, end + side  # bisect for the last x that does not count
        while abs(outside - inside) > 1:
            x = (inside + outside) // 2
            if top - lf[x] - lf[first - x] - lf[row - x] - lf[second - row + x] > limit:
                inside = x
            else:
                outside = x
        x = inside + side
        if side * x > side * end:
            continue
        edge = top - lf[x] - lf[first - x] - lf[row - x] - lf[second - row + x]
        term, summed = 1.0, 1.0
        while x != end and term > 1e-18 * summed:
            # the ratio of neighbours, in doubles: products of counts may be large
            a, b = np.float64(first - x), np.float64(row - x)
            c, d = np.float64(x), np.float64(second - row + x)
            term *= c * d / ((a + 1) * (b + 1)) if side < 0 else a * b / ((c + 1) * (d + 1))
            summed += term
            x += side
        tail = edge + np.log(summed)
        higher, lower = max(tails, tail), min(tails, tail)
        tails = higher + np.log1p(np.exp(lower - higher))
    return tails


@kernel
def _partial_tables(columns, rows, stride, n_nodes, lf, most):
    """List all ways to fill some columns: (first, value, ways); empty arrays if too many.

    Those that use up the same of every row are at ``first[node]:first[node + 1]``, sorted by
    `value`, the log of ``prod_j c_j! / prod_ij x_ij!``; `ways` of them have that value.
    """
    node, value, ways = np.zeros(1, np.int64), np.zeros(1), np.ones(1)
    first = np.zeros(n_nodes + 1, np.int64)
    left, x = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    filled, tried = 0, 0
    for column in columns:
        new_node, new_value, new_ways = np.empty(most, np.int64), np.empty(most), np.empty(most)
        count = 0
        for entry in range(len(node)):
            used = 0
            for i in range(1, len(rows)):
                part = node[entry] // stride[i] % (rows[i] + 1)
                left[i] = rows[i] - part
                used += part
            left[0] = rows[0] - (filled - used)
            for i in range(len(rows)):
                x[i] = 0
            placed, i = 0, 0
            while i < len(rows):
                if tried == most:
                    return first[:0], value[:0], ways[:0]
                tried += 1
                if column - placed <= left[0]:  # else no other half could complete it
                    new_node[count], new_ways[count] = node[entry], ways[entry]
                    new_value[count] = value[entry] + lf[column] - lf[column - placed]
                    for i in range(1, len(rows)):
                        new_node[count] += x[i] * stride[i]
                        new_value[count] -= lf[x[i]]
                    count += 1
                i = 1  # count up: the first row that can take one more; earlier ones are set to 0
                while i < len(rows):
                    x[i] += 1
                    placed += 1
                    if x[i] <= left[i] and placed <= column:
                        break
                    placed -= x[i]
                    x[i] = 0
                    i += 1
        filled += column
        count = _merge_equal(new_node[:count], new_value[:count], new_ways[:count], first)
        node, value, ways = new_node[:count], new_value[:count], new_ways[:count]
    return first, value, ways


@kernel
def _merge_equal(node, value, ways, first):
    """Sort partial tables by node and value, in place, merge equal ones; return their number."""
    count = len(node)
    for k in range(len(first)):
        first[k] = 0
    for k in range(count):
        first[node[k] + 1] += 1
    for k in range(1, len(first)):
        first[k] += first[k - 1]
    position = first.copy()
    sorted_value, sorted_ways = np.empty(count), np.empty(count)
    for k in range(count):
        target = position[node[k]]
        sorted_value[target], sorted_ways[target] = value[k], ways[k]
        position[node[k]] += 1
    n_merged = 0
    for k in range(len(first) - 1):
        low, high = first[k], first[k + 1]
        first[k] = n_merged
        _sort(sorted_value[low:high], sorted_ways[low:high])
        for at in range(low, high):
            if n_merged > first[k] and sorted_value[at] - value[n_merged - 1] < SAME:
                ways[n_merged - 1] += sorted_ways[at]
            else:
                node[n_merged] = k
                value[n_merged], ways[n_merged] = sorted_value[at], sorted_ways[at]
                n_merged += 1
    first[-1] = n_merged
    return n_merged


@kernel
def _sort(keys, values):
    """Sort `keys`, and `values` with them, by Shell's method (numba's takes seconds to compile)."""
    n = len(keys)
    step = 1
    while step < n // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, n):
            key, value = keys[i], values[i]
            j = i
            while j >= step and keys[j - step] > key:
                keys[j], values[j] = keys[j - step], values[j - step]
                j -= step
            keys[j], values[j] = key, value
        step //= 3


@kernel
def _sum_whole_tables(first, value, ways, other_first, other_value, other_ways, whole, limits):
    """Return log of the summed ``exp(value)`` of whole tables, those with value <= limit.

    Node k of one half and node ``whole - k`` of the other make whole tables.
    """
    below = np.empty(len(other_value))  # log of the sum of all up to this one, within its node
    for k in range(len(other_first) - 1):
        total = -np.inf
        for at in range(other_first[k], other_first[k + 1]):
            term = other_value[at] + np.log(other_ways[at])
            total = term + np.log1p(np.exp(total - term)) if term > total else (
                total + np.log1p(np.exp(term - total))
            )  # fmt: skip
            below[at] = total
    out = np.empty(len(limits))
    for case in range(len(limits)):
        peak, summed = -np.inf, 0.0
        for k in range(len(first) - 1):
            start = other_first[whole - k]
            at = other_first[whole - k + 1] - 1
            for entry in range(first[k], first[k + 1]):
                while at >= start and value[entry] + other_value[at] > limits[case]:
                    at -= 1
                if at < start:
                    break
                term = value[entry] + np.log(ways[entry]) + below[at]
                if term > peak:
                    summed = summed * np.exp(peak - term) + 1.0
                    peak = term
                elif term > peak - 50.0:
                    summed += np.exp(term - peak)
        out[case] = peak + np.log(summed)
    return out
