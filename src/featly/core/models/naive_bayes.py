r"""Log-likelihoods of mixed columns that are independent within a class, and searches by them.

.. math::

    \log p(x \mid c) = \sum_f \log p(x_f \mid c), \qquad
    p(x_f \mid c) = \begin{cases}
        \mathcal N(x_f;\, \mu_{cf},\, \sigma_{cf}^2 + \epsilon \sigma_f^2)
            & f \text{ continuous or ordinal} \\
        (n_{cfl} + \alpha) / (n_{cf} + \alpha L_f) & f \text{ categorical},\ x_f = l
    \end{cases}

They add up over columns, so another column costs one pass over the rows. Numbers are float64 with
NaN where missing; codes are int64, 0 where missing, 1 to L are levels. Sums over rows run in the
order of the rows, one column at a time.
"""

import numpy as np

from featly.core.runtime.jit import kernel

__all__ = [
    "add_codes",
    "add_numbers",
    "count_right",
    "join_codes",
    "join_numbers",
    "learn_codes",
    "learn_numbers",
    "merge_likelihoods",
]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

NEAR = 1e-10  # logarithms and rates that differ by no more than this share are equal
FAR = 1e100  # a value so many deviations away is as good as any that is farther


# ---- densities and probabilities by class ---------------------------------------------------
@kernel
def learn_numbers(columns, y, fold, left_out, smoothing, densities):
    """Learn normal densities by class, from the rows that are not of fold `left_out`.

    `columns` is float64[columns, n]. ``densities[column]`` becomes three numbers for each class:
    mean m, scale s and height h, so that the log-density at x is ``h - ((x - m) * s) ** 2``.
    """
    for f in range(len(columns)):
        _learn_number(columns[f], y, fold, left_out, smoothing, densities[f])


@kernel
def _learn_number(values, y, fold, left_out, smoothing, density):
    """Learn the normal densities of one column.

    A class with one value has the variance of the column, one without any its mean as well.
    Everything is 0 where the column is constant: it does not count then.
    """
    mean, scale, height = density[0], density[1], density[2]
    n_classes = len(mean)
    count = np.zeros(n_classes)
    for c in range(n_classes):
        mean[c] = 0.0
    shift, n, total = np.nan, 0, 0.0
    for i in range(len(values)):
        x = values[i]
        if fold[i] == left_out or x != x:
            continue
        shift = shift if shift == shift else x  # a constant column has differences of exactly 0
        mean[y[i]] += x - shift
        count[y[i]] += 1
        total += x - shift
        n += 1
    total /= max(n, 1)
    for c in range(n_classes):
        mean[c] = mean[c] / count[c] if count[c] > 0 else total
    within, variance = np.zeros(n_classes), 0.0
    for i in range(len(values)):
        x = values[i]
        if fold[i] == left_out or x != x:
            continue
        within[y[i]] += (x - shift - mean[y[i]]) ** 2
        variance += (x - shift - total) ** 2
    variance /= max(n, 1)
    for c in range(n_classes):
        if variance == 0.0:
            scale[c] = height[c] = mean[c] = 0.0
            continue
        own = within[c] / count[c] if count[c] > 1 else variance
        own += smoothing * variance
        mean[c] += shift
        scale[c] = 1 / np.sqrt(2 * own)
        height[c] = -np.log(2 * np.pi * own) / 2


@kernel
def learn_codes(codes, y, fold, left_out, smoothing, logs):
    """Learn log-probabilities ``logs[class, code]`` of one column's levels, from the same rows.

    0 for missing values and for levels that none of the rows has: they do not count.
    """
    n_classes, width = logs.shape
    _clear(logs)
    for i in range(len(codes)):
        if fold[i] != left_out and codes[i] > 0:
            logs[y[i], codes[i]] += 1
    count, n_levels = np.zeros(n_classes), 0
    for level in range(1, width):
        seen = 0.0
        for c in range(n_classes):
            seen += logs[c, level]
            count[c] += logs[c, level]
        n_levels += seen > 0
        if seen == 0:
            logs[0, level] = np.nan  # a mark: a level that other rows may have
    for c in range(n_classes):
        count[c] = np.log(count[c] + smoothing * max(n_levels, 1))
    for level in range(1, width):
        unseen = logs[0, level] != logs[0, level]
        for c in range(n_classes):
            logs[c, level] = 0.0 if unseen else np.log(logs[c, level] + smoothing) - count[c]


@kernel
def add_numbers(columns, first, last, fold, tested, densities, total):
    """Add the log-densities of columns ``first:last`` to the rows of fold `tested`.

    ``total[row, class]`` is float64.
    """
    for f in range(first, last):
        _add_number(columns[f], fold, tested, densities[f], total)


@kernel
def _add_number(values, fold, tested, density, total):
    mean, scale, height = density[0], density[1], density[2]
    for i in range(len(values)):
        if fold[i] == tested and values[i] == values[i]:
            for c in range(len(mean)):
                z = min(abs((values[i] - mean[c]) * scale[c]), FAR)
                total[i, c] += height[c] - z * z


@kernel
def add_codes(codes, fold, tested, logs, total):
    """Add the log-probabilities of one column to the rows of fold `tested`.

    Codes beyond the levels of `logs` do not count.
    """
    for i in range(len(codes)):
        if fold[i] == tested and codes[i] < logs.shape[1]:
            for c in range(len(logs)):
                total[i, c] += logs[c, codes[i]]


# ---- the search -----------------------------------------------------------------------------
@kernel
def join_numbers(values, y, fold, n_folds, smoothing, total):
    """Add one column of numbers to every fold, learnt from the other folds."""
    density = np.empty((3, total.shape[1]))
    for f in range(n_folds):
        _learn_number(values, y, fold, f, smoothing, density)
        _add_number(values, fold, f, density, total)


@kernel
def join_codes(codes, n_levels, y, fold, n_folds, smoothing, total):
    """Add one column of codes to every fold, learnt from the other folds."""
    logs = np.empty((total.shape[1], n_levels + 1))
    for f in range(n_folds):
        learn_codes(codes, y, fold, f, smoothing, logs)
        add_codes(codes, fold, f, logs, total)


@kernel
def merge_likelihoods(
    numbers, codes, n_levels, y, fold, n_folds, tested, smoothing, var_smoothing, total, taken,
    rates,
):  # fmt: skip
    """Merge two ranked lists of columns by the balanced rate at which the likeliest class is right.

    Row i is predicted from the rows of other folds; folds count from 0, and rows of fold -1 are
    never predicted. `tested` are the rows tested of each class, ``total[row, class]`` the
    logarithms on the columns so far, which are kept up to date. At each step the next of `numbers`
    (float64[columns, n]) and the next of `codes` (int64[columns, n]) are tried, and the better one
    is taken, on a tie the former. ``taken[step]`` says whether it was the latter, ``rates[step]``
    what its rate was. Ends with the first of the lists, and returns how many steps it took.
    """
    by_number, by_code = np.empty_like(total), np.empty_like(total)
    new_number, new_code = True, True
    a, b = 0, 0
    while a < len(numbers) and b < len(codes):
        if new_number:
            _clear(by_number)
            join_numbers(numbers[a], y, fold, n_folds, var_smoothing, by_number)
        if new_code:
            _clear(by_code)
            join_codes(codes[b], n_levels[b], y, fold, n_folds, smoothing, by_code)
        rate = _rate(total, by_number, y, fold, tested)
        code_rate = _rate(total, by_code, y, fold, tested)
        new_code = code_rate > rate + NEAR
        new_number = not new_code
        taken[a + b] = new_code
        rates[a + b] = code_rate if new_code else rate
        _add_likelihoods(total, by_code if new_code else by_number)
        a += new_number
        b += new_code
    return a + b


@kernel
def _clear(table):
    for i in range(len(table)):
        for c in range(table.shape[1]):
            table[i, c] = 0.0


@kernel
def _add_likelihoods(total, more):
    for i in range(len(total)):
        for c in range(total.shape[1]):
            total[i, c] += more[i, c]


@kernel
def _rate(total, more, y, fold, tested):
    """Return the balanced rate of ``total + more``."""
    n_classes = len(tested)
    right = np.empty(n_classes)
    _count_right(total, more, y, fold, right)
    rate, n_tested = 0.0, 0
    for c in range(n_classes):
        if tested[c] > 0:
            rate += right[c] / tested[c]
            n_tested += 1
    return rate / n_tested


@kernel
def _count_right(total, more, y, fold, right):
    """Fill ``right[class]``; a row whose likeliest classes tie is right in part."""
    n_classes = len(right)
    for c in range(n_classes):
        right[c] = 0.0
    for i in range(len(y)):
        if fold[i] < 0:
            continue
        best = -np.inf
        for c in range(n_classes):
            best = max(best, total[i, c] + more[i, c])
        limit = best - NEAR * max(1.0, abs(best))
        if total[i, y[i]] + more[i, y[i]] >= limit:
            n_wins = 0
            for c in range(n_classes):
                n_wins += total[i, c] + more[i, c] >= limit
            right[y[i]] += 1 / n_wins


@kernel
def count_right(total, more, y, fold, right):
    r"""Fill ``right[set, class]`` with the rows that ``total + more[set]`` has right.

    .. math::

        r_c = \sum_{i: y_i = c} \frac{[y_i \in W_i]}{|W_i|}, \qquad
        W_i = \arg\max_d \ell_{id},

    where :math:`\ell_{id}` is the logarithm of class d at row i.

    `total` is float64[n, classes], `more` float64[sets, n, classes], `y` int64[n], `fold` int64[n]
    with -1 for rows that are not tested.
    """
    for s in range(len(more)):
        _count_right(total, more[s], y, fold, right[s])
