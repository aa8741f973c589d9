"""Relief, ReliefF and MultiSURF, one pair of rows at a time.

A table is a list of columns, each a list; None is missing. `categorical` says of every column
whether its values are names. All distances are sums over the columns in their order.
"""

from statistics import fmean, pstdev

NEAR = 1e-10  # distances that differ by no more than this share are equal


def difference(a, b, categorical, span):
    """Difference of two known values of a column."""
    if categorical:
        return float(a != b)
    return abs(a - b) / span


def differences(column, y, categorical, missing="conditional"):
    """Return the function of two rows that is their difference in a column."""
    known = [v for v in column if v is not None]
    span = 0.0 if categorical or not known else max(known) - min(known)
    if len(set(known)) < 2:
        return lambda i, j: 0.0

    def candidates(label):
        inside = [v for v, c in zip(column, y, strict=True) if v is not None and c == label]
        return inside or known

    by_class = {label: candidates(label) for label in set(y)}

    def conditional(i, j):
        """Mean over all values that a missing one may have: those known in the row's class."""
        first = by_class[y[i]] if column[i] is None else [column[i]]
        second = by_class[y[j]] if column[j] is None else [column[j]]
        return fmean(difference(a, b, categorical, span) for a in first for b in second)

    def weka(i, j):
        if categorical:
            return 1 - 1 / len(set(known))
        if column[i] is None and column[j] is None:
            return 1.0
        position = ((column[j] if column[i] is None else column[i]) - min(known)) / span
        return max(position, 1 - position)

    between_missing = {"conditional": conditional, "weka": weka}[missing]

    def pair_difference(i, j):
        if column[i] is None or column[j] is None:
            return between_missing(i, j)
        return difference(column[i], column[j], categorical, span)

    return pair_difference


def distances(table):
    """``d[i][j]`` from the differences of all columns."""
    n = table.n
    return [[sum(diff(i, j) for diff in table.columns) for j in range(n)] for i in range(n)]


class Table:
    """Columns as functions of two rows, and the classes."""

    def __init__(self, columns, categorical, y, missing="conditional"):
        self.n, self.y = len(y), list(y)
        self.columns = [
            differences(column, self.y, named, missing)
            for column, named in zip(columns, categorical, strict=True)
        ]
        self.share = {label: self.y.count(label) / self.n for label in set(self.y)}


def is_equal(a, b):
    """Return whether two distances are equal but for rounding."""
    return abs(a - b) <= NEAR * max(a, b)


def nearest_shared(row, others, k):
    """{other: weight} of the k nearest; those as far as the last share what is left."""
    k = min(k, len(others))
    if k == 0:
        return {}
    last = sorted(row[j] for j in others)[k - 1]
    level = [j for j in others if is_equal(row[j], last)]
    ahead = [j for j in others if row[j] < last and j not in level]
    return dict.fromkeys(ahead, 1 / k) | {j: (k - len(ahead)) / len(level) / k for j in level}


def nearest_weka(row, others, k):
    """{other: weight} of the k nearest: a later row replaces the first of the farthest so far."""
    chosen = []
    for j in others:
        if len(chosen) < k:
            chosen.append(j)
            continue
        farthest = max(row[i] for i in chosen)
        worst = next(p for p, i in enumerate(chosen) if is_equal(row[i], farthest))
        if row[j] < row[chosen[worst]] and not is_equal(row[j], row[chosen[worst]]):
            chosen[worst] = j
    return {j: 1 / len(chosen) for j in chosen}


def relieff_pairs(table, i, row, k, ties):
    """{other: coefficient} of ReliefF for row i."""
    nearest = {"share": nearest_shared, "weka": nearest_weka}[ties]
    coefficients = {}
    own = table.y[i]
    for label, share in table.share.items():
        others = [j for j in range(table.n) if j != i and table.y[j] == label]
        factor = -1.0 if label == own else share / (1 - table.share[own])
        coefficients |= {j: factor * weight for j, weight in nearest(row, others, k).items()}
    return coefficients


def relief_pairs(table, i, row):
    """{other: coefficient} of Relief for row i: the nearest hit, the nearest miss of all."""
    own = table.y[i]
    hits = [j for j in range(table.n) if j != i and table.y[j] == own]
    misses = [j for j in range(table.n) if table.y[j] != own]
    coefficients = {j: -weight for j, weight in nearest_shared(row, hits, 1).items()}
    return coefficients | nearest_shared(row, misses, 1)


def multisurf_pairs(table, i, row):
    """{other: coefficient} of MultiSURF for row i: all rows nearer than mean - deviation / 2."""
    others = [j for j in range(table.n) if j != i]
    far = [row[j] for j in others]
    limit = fmean(far) - pstdev(far) / 2
    near = [j for j in others if row[j] < limit and not is_equal(row[j], limit)]
    own = table.y[i]
    groups = {label: [j for j in near if table.y[j] == label] for label in table.share}
    met = sum(table.share[label] for label, rows in groups.items() if rows and label != own)
    coefficients = {}
    for label, rows in groups.items():
        factor = -1.0 if label == own else table.share[label] / met if rows else 0.0
        coefficients |= {j: factor / len(rows) for j in rows}
    return coefficients


def weights(table, pairs, rows=None):
    """Compute the weight of every column; ``pairs(table, i, distances)`` gives the coefficients."""
    rows = range(table.n) if rows is None else rows
    far = distances(table)
    total = [0.0] * len(table.columns)
    for i in rows:
        for j, coefficient in pairs(table, i, far[i]).items():
            for f, diff in enumerate(table.columns):
                total[f] += coefficient * diff(i, j)
    return [value / len(rows) for value in total]
