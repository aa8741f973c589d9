"""The measures of complexity, literally as they are defined, one cell at a time.

A table is a list of rows; a cell is a number, a text, or None where missing. ``numeric`` is true of
the columns that hold numbers.
"""

import math
from itertools import combinations

import numpy as np


def heom(X, numeric):
    """Distances between all rows."""
    n, p = len(X), len(numeric)
    spans = []
    for f in range(p):
        values = [row[f] for row in X if row[f] is not None]
        spans.append((max(values) - min(values) or 1.0) if numeric[f] and values else 1.0)

    def squared_distance(a, b):
        total = 0.0
        for f in range(p):
            if a[f] is None or b[f] is None:
                total += 1.0
            elif numeric[f]:
                total += ((a[f] - b[f]) / spans[f]) ** 2
            else:
                total += float(a[f] != b[f])
        return total

    return [
        [0.0 if i == j else math.sqrt(squared_distance(X[i], X[j])) for j in range(n)]
        for i in range(n)
    ]


def is_near(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def n3(D, y):
    wrong = 0.0
    for i in range(len(y)):
        least = min(D[i][j] for j in range(len(y)) if j != i)
        level = [j for j in range(len(y)) if j != i and is_near(D[i][j], least)]
        wrong += sum(y[j] != y[i] for j in level) / len(level)
    return wrong / len(y)


def n2(D, y):
    """Return the raw ratio; None where no class has two rows."""
    intra = extra = 0.0
    paired = False
    for i in range(len(y)):
        own = [D[i][j] for j in range(len(y)) if j != i and y[j] == y[i]]
        if own:
            paired = True
            intra += min(own)
            extra += min(D[i][j] for j in range(len(y)) if y[j] != y[i])
    if not paired:
        return None
    return intra / extra if extra else (math.inf if intra else 1.0)


def boundary_edges(D, y):
    """Edges between classes in the minimum spanning tree of Kruskal, own classes first."""
    edges = sorted(
        ((D[i][j], y[i] != y[j], i, j) for i, j in combinations(range(len(y)), 2)),
        key=lambda e: (round(e[0], 9), e[1]),
    )
    group = list(range(len(y)))
    crossing = []
    for _, crosses, i, j in edges:
        if group[i] != group[j]:
            old, new = group[i], group[j]
            group = [new if g == old else g for g in group]
            if crosses:
                crossing.append((i, j))
    return crossing


def spheres(D, y):
    """Count the spheres that are left; for tables without ties."""
    n = len(y)
    enemies = [[j for j in range(n) if y[j] != y[i]] for i in range(n)]

    def radius(i):
        j = min(enemies[i], key=lambda k: D[i][k])
        back = min(enemies[j], key=lambda k: D[j][k])
        return D[i][j] / 2 if back == i else D[i][j] - radius(j)

    radii = [radius(i) for i in range(n)]
    left, n_spheres = set(range(n)), 0
    for i in sorted(range(n), key=lambda i: -radii[i]):
        if i in left:
            n_spheres += 1
            left -= {j for j in range(n) if y[j] == y[i] and D[i][j] < radii[i]} | {i}
    return n_spheres


def fisher(X, y, numeric, f, a, b):
    """Ho and Basu's ratio of one column and two classes."""

    def vector(cell, levels):
        return [cell] if numeric[f] else [float(cell == level) for level in levels]

    levels = sorted({row[f] for row in X if row[f] is not None}) if not numeric[f] else []
    means, variances = [], []
    for c in (a, b):
        cells = [r[f] for r, k in zip(X, y, strict=True) if k == c]
        rows = [vector(cell, levels) for cell in cells if cell is not None]
        if not rows:
            return 0.0
        mean = [sum(col) / len(rows) for col in zip(*rows, strict=True)]
        squares = sum((v - m) ** 2 for r in rows for v, m in zip(r, mean, strict=True))
        means.append(mean)
        variances.append(squares / max(len(rows) - 1, 1))
    between = sum((u - v) ** 2 for u, v in zip(*means, strict=True))
    if between < 1e-18:
        return 0.0
    within = sum(variances)
    return between / within if within > 1e-18 else math.inf


def overlap(X, y, numeric, f, a, b):
    """Share of the range that two classes share, and the share of rows outside it."""
    first = [r[f] for r, k in zip(X, y, strict=True) if k == a and r[f] is not None]
    second = [r[f] for r, k in zip(X, y, strict=True) if k == b and r[f] is not None]
    n = sum(k in (a, b) for k in y)
    if not first or not second:
        return 1.0, 0.0
    if numeric[f]:
        begin, end = max(min(first), min(second)), min(max(first), max(second))
        span = max(first + second) - min(first + second)
        share = max(0.0, end - begin) / span if span else 1.0
        return share, sum(not begin <= v <= end for v in first + second) / n
    shared = set(first) & set(second)
    return len(shared) / len(set(first) | set(second)), sum(
        v not in shared for v in first + second
    ) / n


def direction(X, first):
    """Fisher's ratio along the best direction, by the pseudo-inverse of the scatter."""
    Z = np.asarray(X, float)
    Z = (Z - Z.mean(0)) / np.where(Z.std(0) > 0, Z.std(0), 1)
    parts = Z[first], Z[~first]
    delta = parts[0].mean(0) - parts[1].mean(0)
    W = sum(len(part) / len(Z) * np.cov(part.T, bias=True).reshape(Z.shape[1], -1)
            for part in parts)  # fmt: skip
    return float(delta @ np.linalg.pinv(W, hermitian=True, rcond=1e-10) @ delta)


def kolmogorov_smirnov(first, second):
    first, second = [v for v in first if v is not None], [v for v in second if v is not None]
    if not first or not second:
        return 0.0
    return max(
        abs(sum(v <= t for v in first) / len(first) - sum(v <= t for v in second) / len(second))
        for t in first + second
    )


def total_variation(first, second):
    first, second = [v for v in first if v is not None], [v for v in second if v is not None]
    if not first or not second:
        return 0.0
    return sum(
        abs(first.count(level) / len(first) - second.count(level) / len(second))
        for level in {*first, *second}
    ) / 2  # fmt: skip


def energy(D, n):
    """Energy distance of the first n rows and the others."""
    m = len(D) - n
    across = sum(D[i][j] for i in range(n) for j in range(n, n + m)) / (n * m)
    within_first = sum(D[i][j] for i in range(n) for j in range(n)) / n**2
    within_second = sum(D[i][j] for i in range(n, n + m) for j in range(n, n + m)) / m**2
    return 2 * across - within_first - within_second
