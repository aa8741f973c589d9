r"""Distances between rows of mixed columns, votes of the nearest rows, and a search by these votes.

.. math::

    d(x, x')^2 = \sum_f d_f(x_f, x'_f)^2, \qquad
    d_f(a, b) = \begin{cases}
        [a \ne b] & f \text{ categorical} \\
        |a - b| / (\max_f - \min_f) & f \text{ continuous or ordinal}
    \end{cases}

and 1 where a or b is missing: the Heterogeneous Euclidean-Overlap Metric.

Wilson, D. R. and Martinez, T. R. (1997), Improved heterogeneous distance functions, *JAIR* 6, 1-34.

Cells are float64 and feature-major; NaN is missing, and a categorical column holds codes. The range
of a column goes with it, 0 says that it is categorical. Squared distances add up over columns, so
another column costs one pass over the pairs of rows. Differences are taken before they are divided
by the range: equal ones then give equal distances, whatever lies between the values and zero.
"""

import numpy as np

from featly.core.runtime.jit import kernel

__all__ = ["add_distances", "join_neighbours", "merge_neighbours", "poll"]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

NEAR = 1e-10  # distances and rates that differ by no more than this share are equal
TIP = 1e-9  # what tips the scales between equal shares


@kernel
def add_distances(rows, lo, hi, training, ranges, first, last, total):
    """Add the columns ``first:last`` to the squared distances of rows ``lo:hi`` to all others.

    `rows` is float64[features, rows], `training` float64[features, n], `ranges` float64[features],
    `total` float64[hi - lo, n]. Numbers in `rows` lie within the range of their column.
    """
    n = training.shape[1]
    for f in range(first, last):
        for t in range(lo, hi):
            _add_column(training[f], rows[f, t], ranges[f], 0, n, total[t - lo])


@kernel
def _add_column(column, value, spread, begin, end, total):
    """Add d_f^2 between `value` and the training rows ``begin:end``."""
    column, total = column[begin:end], total[begin:end]  # loops from 0 are compiled to vectors
    if spread == 0.0:
        for j in range(len(column)):
            total[j] += 1.0 if column[j] != value else 0.0  # NaN differs from everything
    else:
        for j in range(len(column)):
            d = abs(column[j] - value) / spread
            d = d if d == d else 1.0
            total[j] += d * d


# ---- votes ----------------------------------------------------------------------------------
@kernel
def poll(total, farthest, y, k, shares, wins):
    """Count the votes of the k nearest: fill ``shares[row, class]`` and ``wins[row, class]``.

    `total` is float64[rows, n], `farthest` the k-th smallest of each row; `shares` are float64 and
    sum to 1, `wins` is bool. Classes with the most votes that lose by distance give up a `TIP`, so
    that the largest share is a winner's.
    """
    n_rows, n = total.shape
    n_classes = shares.shape[1]
    near = np.empty(n, np.int64)
    ahead, level = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    for t in range(n_rows):
        count = _gather_near(total[t], farthest[t] * (1 + NEAR), 0, n, near, 0)
        _decide_votes(total[t], near, count, farthest[t], y, k, ahead, level, wins[t])
        n_level, remaining = 0, k
        for c in range(n_classes):
            n_level += level[c]
            remaining -= ahead[c]
        largest, n_wins = 0.0, 0
        for c in range(n_classes):
            shares[t, c] = (ahead[c] * n_level + remaining * level[c]) / (k * n_level)
            largest = max(largest, shares[t, c])
            n_wins += wins[t, c]
        taken = 0.0
        for c in range(n_classes):
            if shares[t, c] == largest and not wins[t, c]:
                shares[t, c] -= TIP
                taken += TIP
        for c in range(n_classes):
            shares[t, c] += taken / n_wins if wins[t, c] else 0.0


@kernel
def _gather_near(total, limit, begin, end, near, count):
    """Append those of ``begin:end`` within `limit` to `near`; return how many it has then."""
    total = total[begin:end]
    for j in range(len(total)):
        near[count] = begin + j  # no branch, which could not be predicted
        count += total[j] <= limit
    return count


@kernel
def _decide_votes(total, near, count, farthest, y, k, ahead, level, wins):
    """Count the votes of the rows in `near`, all that lie within the k-th distance or more.

    ``ahead[class]`` are rows nearer than `farthest`, ``level[class]`` those as far, which share
    the votes that the nearer ones leave of k. Votes are compared as whole numbers. Classes with
    equal votes are compared by the summed distance of their voters. Returns how many classes win.
    """
    n_classes = len(ahead)
    for c in range(n_classes):
        ahead[c] = level[c] = 0
    nearer, limit = farthest * (1 - NEAR), farthest * (1 + NEAR)
    n_level, remaining = 0, k
    for i in range(count):
        j = near[i]
        if total[j] < nearer:
            ahead[y[j]] += 1
            remaining -= 1
        elif total[j] <= limit:
            level[y[j]] += 1
            n_level += 1
    most = 0
    for c in range(n_classes):
        most = max(most, ahead[c] * n_level + remaining * level[c])
    n_wins = 0
    for c in range(n_classes):
        wins[c] = ahead[c] * n_level + remaining * level[c] == most
        n_wins += wins[c]
    if n_wins == 1:
        return 1
    summed = np.zeros(n_classes)
    for i in range(count):
        j = near[i]
        if total[j] < nearer:
            summed[y[j]] += np.sqrt(total[j])
    shortest = np.inf
    for c in range(n_classes):
        summed[c] += remaining * level[c] / n_level * np.sqrt(farthest)
        if wins[c]:
            shortest = min(shortest, summed[c])
    n_wins = 0
    for c in range(n_classes):
        wins[c] = wins[c] and summed[c] <= shortest * (1 + NEAR)
        n_wins += wins[c]
    return n_wins


# ---- the search -----------------------------------------------------------------------------
@kernel
def merge_neighbours(numbers, codes, y, starts, tested, k, squared, near, taken, rates):
    """Merge two ranked lists of columns by the balanced rate at which neighbours are right.

    Rows are sorted by fold: fold f is ``starts[f]:starts[f + 1]`` and is classified by all the
    others; ``starts[0]`` is 0, and rows from ``starts[-1]`` on only classify. `tested` are the rows
    tested of each class, `squared` float64[n, n] the distances on the columns so far and `near`
    int64[n, k] the k nearest on those, or any k others; both are kept up to date. At each step the
    next of `numbers` and the next of `codes` (float64[columns, n]) are tried, and the better one is
    taken, on a tie the former. ``taken[step]`` says whether it was the latter, ``rates[step]`` what
    its rate was. Ends with the first of the lists, and returns how many steps it took.
    """
    a, b = 0, 0
    # the literals True and False would have every kernel compiled once for each
    number, code = a == 0, a != 0
    by_number, by_code = np.empty_like(near), np.empty_like(near)
    while a < len(numbers) and b < len(codes):
        rate = _rate(numbers[a], number, y, starts, tested, k, squared, near, by_number)
        code_rate = 0.0
        if rate < 1 - NEAR:  # nothing is better than that
            code_rate = _rate(codes[b], code, y, starts, tested, k, squared, near, by_code)
        better = code_rate > rate + NEAR
        taken[a + b] = better
        rates[a + b] = code_rate if better else rate
        if better:
            join_neighbours(codes[b], code, starts, squared)
            b += 1
        else:
            join_neighbours(numbers[a], number, starts, squared)
            a += 1
        neighbours = by_code if better else by_number
        for t in range(len(near)):
            for i in range(k):
                near[t, i] = neighbours[t, i]
    return a + b


@kernel
def join_neighbours(column, numeric, starts, squared):
    """Add one column to the squared distances of every fold to the others."""
    n = len(column)
    for f in range(len(starts) - 1):
        begin, end = starts[f], starts[f + 1]
        low, high, spread = _extent(column, numeric, begin, end)
        for t in range(begin, end):
            value = _clip_value(column[t], low, high)
            _add_column(column, value, spread, starts[0], begin, squared[t])
            _add_column(column, value, spread, end, n, squared[t])


@kernel
def _rate(column, numeric, y, starts, tested, k, squared, near, neighbours):
    """Return the balanced rate with one more column; fill ``neighbours[row]`` with the nearest.

    The k nearest so far are no farther than the farthest of them now: all near rows are within
    that bound, which leaves few rows to sort.
    """
    n, n_classes = len(column), len(tested)
    total, within = np.empty(n), np.empty(n, np.int64)
    ahead, level = np.empty(n_classes, np.int64), np.empty(n_classes, np.int64)
    wins = np.empty(n_classes, np.bool_)
    right = np.zeros(n_classes)
    for f in range(len(starts) - 1):
        begin, end = starts[f], starts[f + 1]
        low, high, spread = _extent(column, numeric, begin, end)
        n_near = min(k, n - (end - begin))
        for t in range(begin, end):
            value = _clip_value(column[t], low, high)
            for j in range(n):
                total[j] = squared[t, j]
            _add_column(column, value, spread, starts[0], begin, total)
            _add_column(column, value, spread, end, n, total)
            bound = 0.0
            for i in range(n_near):
                bound = max(bound, total[near[t, i]])
            bound *= 1 + NEAR
            count = _gather_near(total, bound, starts[0], begin, within, starts[0])
            count = _gather_near(total, bound, end, n, within, count)
            farthest = _find_nearest(total, within, count, n_near, neighbours[t])
            n_wins = _decide_votes(total, within, count, farthest, y, n_near, ahead, level, wins)
            if wins[y[t]]:
                right[y[t]] += 1 / n_wins
    rate, n_tested = 0.0, 0
    for c in range(n_classes):
        if tested[c] > 0:
            rate += right[c] / tested[c]
            n_tested += 1
    return rate / n_tested


@kernel
def _extent(column, numeric, begin, end):
    """Return least and largest value outside ``begin:end`` and the range, 0 for codes."""
    low, high = -np.inf, np.inf
    if not numeric:
        return low, high, 0.0
    low, high = np.inf, -np.inf
    for j in range(len(column)):
        if not begin <= j < end and column[j] == column[j]:
            low, high = min(low, column[j]), max(high, column[j])
    return low, high, (high - low if high > low else 1.0)


@kernel
def _clip_value(value, low, high):
    # NaN is neither below nor above
    return low if value < low else high if value > high else value


@kernel
def _find_nearest(total, within, count, k, neighbours):
    """Fill ``neighbours[:k]`` with the nearest of ``within[:count]``; return the k-th distance."""
    size = 0
    for i in range(count):
        j = within[i]
        if size == k and total[j] >= total[neighbours[k - 1]]:
            continue
        position = min(size, k - 1)
        while position > 0 and total[neighbours[position - 1]] > total[j]:
            neighbours[position] = neighbours[position - 1]
            position -= 1
        neighbours[position] = j
        size = min(size + 1, k)
    return total[neighbours[k - 1]]
