"""Comparisons, decisions and sizes by their definitions, in plain Python."""

import math


def midranks(values):
    """Rank 1 for the smallest; ties share the mean of the ranks they would take."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def tie_sum(values):
    """Sum of t^3 - t over the groups of t equal values."""
    return sum(values.count(x) ** 3 - values.count(x) for x in set(values))


def friedman(table):
    """Mean ranks, and the statistic of the textbooks divided by its correction for ties."""
    n, k = len(table), len(table[0])
    ranks = [midranks(row) for row in table]
    mean = [sum(row[j] for row in ranks) / n for j in range(k)]
    plain = 12 * n / (k * (k + 1)) * (sum(r * r for r in mean) - k * (k + 1) ** 2 / 4)
    correction = 1 - sum(tie_sum(row) for row in table) / (n * k * (k * k - 1))
    return mean, (plain / correction if correction else 0.0)


def bars(mean_ranks, difference):
    """All sets of two or more methods within the difference, less those inside a larger one."""
    k = len(mean_ranks)
    groups = set()
    for low in range(k):
        for high in range(k):
            start, stop = mean_ranks[low], mean_ranks[high]
            if 0 <= stop - start < difference:
                groups.add(frozenset(i for i in range(k) if start <= mean_ranks[i] <= stop))
    return {s for s in groups if len(s) > 1 and not any(s < other for other in groups)}


def kruskal(samples):
    """Mean ranks, H of the textbooks, and the variance of the ranks with its tie term."""
    pooled = [x for sample in samples for x in sample]
    n, ranks = len(pooled), midranks(pooled)
    means, start = [], 0
    for sample in samples:
        means.append(sum(ranks[start : start + len(sample)]) / len(sample))
        start += len(sample)
    weighted = sum(len(s) * r * r for s, r in zip(samples, means, strict=True))
    plain = 12 / (n * (n + 1)) * weighted - 3 * (n + 1)
    correction = 1 - tie_sum(pooled) / (n**3 - n)
    variance = n * (n + 1) / 12 - tie_sum(pooled) / (12 * (n - 1))
    return means, (plain / correction if correction else 0.0), variance


def holm(p_values):
    """One value at a time: the largest of the products up to it."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i])
    out = [0.0] * m
    for rank, i in enumerate(order):
        out[i] = max(min(1.0, (m - j) * p_values[order[j]]) for j in range(rank + 1))
    return out


def corrected_t(differences, n_train, n_test):
    """The statistic of Nadeau and Bengio."""
    j = len(differences)
    mean = sum(differences) / j
    variance = sum((d - mean) ** 2 for d in differences) / (j - 1)
    return mean / math.sqrt((1 / j + n_test / n_train) * variance)


def wins(table):
    """Proportions of strict wins, and how many others each beats."""
    n, k = len(table), len(table[0])
    share = [[sum(row[a] > row[b] for row in table) / n for b in range(k)] for a in range(k)]
    return share, [sum(share[a][b] > share[b][a] for b in range(k)) for a in range(k)]


def topsis(matrix, weights, benefit, squared, standard):
    """Closeness by the steps of the textbook, one number at a time."""
    n, k = len(matrix), len(weights)
    total = sum(weights)
    v = [[0.0] * k for _ in range(n)]
    for j in range(k):
        column = [row[j] for row in matrix]
        if len(set(column)) == 1:
            continue
        centre = sum(column) / n if standard else 0.0
        scale = math.sqrt(sum((x - centre) ** 2 for x in column) / (n if standard else 1))
        for i in range(n):
            v[i][j] = weights[j] / total * (column[i] - centre) / scale
    out = []
    for row in v:
        plus = minus = 0.0
        for j in range(k):
            low, high = min(r[j] for r in v), max(r[j] for r in v)
            best, worst = (high, low) if benefit[j] else (low, high)
            plus += (row[j] - best) ** 2
            minus += (row[j] - worst) ** 2
        if not squared:
            plus, minus = math.sqrt(plus), math.sqrt(minus)
        out.append(minus / (plus + minus) if plus + minus else 0.5)
    return out


def pareto(matrix, benefit):
    """Every row against every other."""

    def beats(a, b):
        signed = [(x, y) if up else (y, x) for x, y, up in zip(a, b, benefit, strict=True)]
        return all(x >= y for x, y in signed) and any(x > y for x, y in signed)

    return [not any(beats(other, row) for other in matrix) for row in matrix]


def within(sizes, columns, margin):
    """The smallest size at most `margin(values of the best)` below the best mean."""
    means = [math.fsum(c) / len(c) if c else None for c in columns]
    best = max(
        (j for j in range(len(sizes)) if means[j] is not None), key=lambda j: (means[j], -sizes[j])
    )
    limit = means[best] - margin(columns[best])
    return min(s for s, m in zip(sizes, means, strict=True) if m is not None and m >= limit)


def largest_gap(scores):
    """Try every cut."""
    ranked = sorted(scores, reverse=True)
    drops = [ranked[i] - ranked[i + 1] for i in range(len(ranked) - 1)]
    if not drops or max(drops) == 0:
        return len(ranked)
    return drops.index(max(drops)) + 1


def two_variances(scores):
    """Scores from 0 to 1, those counted that are not two variances below their mean."""
    low, high = min(scores), max(scores)
    if low == high:
        return len(scores)
    scaled = [(s - low) / (high - low) for s in scores]
    mean = math.fsum(scaled) / len(scaled)
    variance = math.fsum((s - mean) ** 2 for s in scaled) / len(scaled)
    return max(1, sum(s >= mean - 2 * variance - 1e-10 for s in scaled))
