"""The protocol of a study in plain loops: rank, train, predict, count, average, compare.

Tables are lists of columns, so that nothing of the study's own handling of frames and arrays is
used; a learner gets them as a pandas frame or an array, as one would write it by hand.
"""

import math
import statistics
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import clone


def is_text(column):
    return any(isinstance(value, str) for value in column)


def is_missing(value):
    return value is None or value != value


def fill_missing(columns, train):
    """Fill every missing value: the median of the training rows, or the level "missing"."""
    columns_filled = []
    for column in columns:
        if is_text(column):
            columns_filled.append(["missing" if is_missing(v) else v for v in column])
            continue
        known = [column[row] for row in train if not is_missing(column[row])]
        median = statistics.median(known) if known else 0.0
        columns_filled.append([median if is_missing(v) else v for v in column])
    return columns_filled


def rows_of(columns, rows):
    """Some rows as an array of numbers, or a pandas frame where there is text."""
    taken = {f"c{j}": [column[row] for row in rows] for j, column in enumerate(columns)}
    if any(is_text(column) for column in columns):
        frame = {}
        for name, values in taken.items():
            text = is_text(columns[int(name[1:])])
            frame[name] = pd.Series(values, dtype="str" if text else "float64")
        return pd.DataFrame(frame)
    return np.array(list(taken.values()), dtype=float).T


def fit_all(columns, y, splits, methods, sizes, learner, *, fill=False, outside=False):
    """Every fit: {(method, split): (order, {size: [(true, predicted), ...]})}."""
    fits = {}
    n = len(y)
    for number, (train, test) in enumerate(splits):
        table = fill_missing(columns, train) if fill else columns
        for name, method in methods.items():
            if method is None:
                order, wanted = list(range(len(columns))), [len(columns)]
            else:
                learning = range(n) if outside else train
                learning_table = fill_missing(columns, learning) if fill else columns
                fitted = clone(method).fit(
                    rows_of(learning_table, learning), [y[row] for row in learning]
                )
                if hasattr(fitted, "order_"):
                    order = list(fitted.order_)
                    wanted = sizes if hasattr(fitted, "ranking_") else [len(order)]
                else:
                    order = [j for j, chosen in enumerate(fitted.get_support()) if chosen]
                    wanted = [len(order)]
            outcomes = {}
            for size in wanted:
                best = [table[j] for j in order[:size]]
                model = clone(learner).fit(rows_of(best, train), [y[row] for row in train])
                predicted = model.predict(rows_of(best, test))
                outcomes[size] = [
                    (y[row], label) for row, label in zip(test, predicted, strict=True)
                ]
            fits[name, number] = ([int(j) for j in order], outcomes)
    return fits


# ---- figures -------------------------------------------------------------------------------------
def confusion(pairs, classes):
    """Rows true, columns predicted, flat."""
    return [sum(p == (a, b) for p in pairs) for a in classes for b in classes]


def recall(pairs, label):
    mine = [predicted == true for true, predicted in pairs if true == label]
    return sum(mine) / len(mine) if mine else None


def bcr(pairs):
    recalls = [recall(pairs, label) for label in {true for true, _ in pairs}]
    return sum(recalls) / len(recalls)


def accuracy(pairs):
    return sum(true == predicted for true, predicted in pairs) / len(pairs)


def interval(values, n_train, n_test, level=0.95):
    """Nadeau and Bengio's."""
    if len(values) < 2:
        return None, None
    spread = statistics.variance(values)
    error = math.sqrt((1 / len(values) + n_test / n_train) * spread)
    half = stats.t.ppf((1 + level) / 2, len(values) - 1) * error
    mean = statistics.mean(values)
    return mean - half, mean + half


def corrected_p(differences, n_train, n_test):
    """Two-sided, by the same error."""
    error = math.sqrt((1 / len(differences) + n_test / n_train) * statistics.variance(differences))
    t = statistics.mean(differences) / error
    return 2 * stats.t.sf(abs(t), len(differences) - 1)


def holm(p_values):
    """Adjust p-values: smallest first, times the number that are left; never decreasing."""
    order = sorted(range(len(p_values)), key=lambda k: p_values[k])
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = worst
    return adjusted


def wins(values):
    """For every pair of columns, how often the first is larger."""
    return {
        (a, b): sum(x > z for x, z in zip(values[a], values[b], strict=True)) / len(values[a])
        for a, b in [*combinations(values, 2), *[(b, a) for a, b in combinations(values, 2)]]
    }


def within_interval(sizes, by_size):
    """The smallest size whose mean is inside the plain interval of the best mean."""
    means = [statistics.mean(by_size[size]) for size in sizes]
    best = max(range(len(sizes)), key=lambda k: (means[k], -k))
    values = by_size[sizes[best]]
    error = statistics.stdev(values) / math.sqrt(len(values))
    half = stats.t.ppf(0.975, len(values) - 1) * error
    return next(size for size, mean in zip(sizes, means, strict=True) if mean >= means[best] - half)


# ---- the bootstrap -------------------------------------------------------------------------------
def point632(apparent, left_out):
    return 0.368 * apparent + 0.632 * left_out


def no_information_rate(pairs):
    """The error if truths and predictions were paired at random, all with all."""
    n = len(pairs)
    return sum(true != predicted for true, _ in pairs for _, predicted in pairs) / n**2


def point632plus(apparent, left_out, blind):
    """Efron and Tibshirani (1997), equation 32."""
    capped = min(left_out, blind)
    overfitting = 0.0
    if left_out > apparent and blind > apparent:
        overfitting = (capped - apparent) / (blind - apparent)
    lean = 0.368 * 0.632 * overfitting / (1 - 0.368 * overfitting)
    return point632(apparent, left_out) + (capped - apparent) * lean
