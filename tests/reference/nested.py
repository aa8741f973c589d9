"""Nested cross-validation written out: one fold, one size and one row at a time."""

import math

from scipy.stats import beta


def nested(X, y, parts, sizes, rank, predict):
    """Return value, lower and upper of the balanced rate, before rounding, and the final size.

    `parts` are (repeat, train, test, inner folds); `rank(X, y)` returns columns, best first;
    `predict(X, y, X_test)` returns labels. The size is the best one of pooled predictions.
    """
    classes = sorted(set(y.tolist()))
    repeats = 1 + max(part[0] for part in parts)
    outer = {c: [] for c in classes}
    inner = {c: [] for c in classes}
    hits_of_size = {size: {} for size in sizes}
    for _, train, test, inner_folds in parts:
        pooled = {size: {} for size in sizes}
        models_of_inner_folds = []
        for left_out in inner_folds:
            rows = [i for i in train if i not in set(left_out)]
            order = rank(X[rows], y[rows])
            models_of_inner_folds.append((rows, order))
            for size in sizes:
                labels = predict_rows(X, y, rows, order[:size], left_out, predict)
                pooled[size] |= {i: labels[i] == y[i] for i in left_out}
        size = best_size(pooled, y, classes)
        for rows, order in models_of_inner_folds:
            labels = predict_rows(X, y, rows, order[:size], test, predict)
            for i in test:
                inner[y[i]].append(labels[i] == y[i])
        order = rank(X[train], y[train])
        for candidate in sizes:
            labels = predict_rows(X, y, train, order[:candidate], test, predict)
            for i in test:
                hits_of_size[candidate].setdefault(i, []).append(labels[i] == y[i])
                if candidate == size:
                    outer[y[i]].append(labels[i] == y[i])
    folds, n_inner = len(parts) // repeats, len(parts[0][3])
    u = 1 - 1 / folds
    v = u * (1 - 1 / n_inner)
    w = (1 / u - 1) / (1 / v - 1 / u)
    value = below = above = 0.0
    for c in classes:
        p, q = mean(outer[c]), mean(inner[c])
        rate = min(1.0, max(0.0, p + w * (p - q)))
        n = sum(label == c for label in y) / {1: 2.0, 3: 1.75, 5: 1.64}[repeats]
        x = rate * n
        lower = 0.0 if x == 0 else beta.ppf(0.025, x, n - x + 1)
        upper = 1.0 if x == n else beta.ppf(0.975, x + 1, n - x)
        value += rate / len(classes)
        below += (rate - lower) ** 2
        above += (upper - rate) ** 2
    averaged = {s: {i: mean(h) for i, h in hits.items()} for s, hits in hits_of_size.items()}
    half_widths = math.sqrt(below) / len(classes), math.sqrt(above) / len(classes)
    final = best_size(averaged, y, classes)
    return value, value - half_widths[0], value + half_widths[1], final


def predict_rows(X, y, train, columns, rows, predict):
    """Return the label of each row by a model of the training rows and columns."""
    table = X[:, columns]
    return dict(zip(rows, predict(table[train], y[train], table[rows]), strict=True))


def best_size(hits, y, classes):
    """Return the size of the best balanced rate; of equal ones the smallest."""
    rates = {}
    for size, of_row in hits.items():
        by_class = [mean([h for i, h in of_row.items() if y[i] == c]) for c in classes]
        rates[size] = round(mean(by_class), 10)
    return min(size for size in rates if rates[size] == max(rates.values()))


def mean(values):
    """Return the mean."""
    return math.fsum(values) / len(values)
