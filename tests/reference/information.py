"""Entropies, informations and greedy criteria, from their definitions, by dictionaries."""

import math
from collections import Counter
from fractions import Fraction


def entropy(*columns):
    """H of some columns together, in bits."""
    counts = Counter(zip(*columns, strict=True))
    n = sum(counts.values())
    return -sum(k / n * math.log2(k / n) for k in counts.values())


def mutual(a, b):
    """I(a; b) = sum p(a, b) log p(a, b) / (p(a) p(b))."""
    n, joint, of_a, of_b = len(a), Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    return sum(k / n * math.log2(k * n / (of_a[x] * of_b[y])) for (x, y), k in joint.items())


def conditional(a, b, given):
    """I(a; b | given): the information within each value of `given`, weighted."""
    total = 0.0
    for value, k in Counter(given).items():
        rows = [i for i, v in enumerate(given) if v == value]
        total += k / len(given) * mutual([a[i] for i in rows], [b[i] for i in rows])
    return total


def joint(f, s, y):
    """I(f, s; y)."""
    return mutual(list(zip(f, s, strict=True)), y)


# ---- criteria: of a column f, the columns S chosen before and the class y ---------------------
def mim(f, S, y):
    return mutual(f, y)


def mifs(f, S, y, beta=1.0):
    return mutual(f, y) - beta * sum(mutual(f, s) for s in S)


def mrmr(f, S, y):
    return mutual(f, y) - (sum(mutual(f, s) for s in S) / len(S) if S else 0.0)


def mrmr_quotient(f, S, y):
    return mutual(f, y) / max(0.001, sum(mutual(f, s) for s in S) / len(S)) if S else mutual(f, y)


def jmi(f, S, y):
    """The sum of I(f, s; y), less what does not depend on f, over |S|."""
    if not S:
        return mutual(f, y)
    return sum(joint(f, s, y) - mutual(s, y) for s in S) / len(S)


def cmi(f, S, y):
    return mutual(f, y) - sum(mutual(f, s) for s in S) + sum(conditional(f, s, y) for s in S)


def cmim(f, S, y):
    return min([mutual(f, y), *(conditional(f, y, s) for s in S)])


def informative_fragments(f, S, y):
    """Least of what f adds beside each chosen column (Vidal-Naquet and Ullman)."""
    return min(joint(f, s, y) - mutual(s, y) for s in S) if S else mutual(f, y)


def jmim(f, S, y):
    return min(joint(f, s, y) for s in S) if S else mutual(f, y)


def icap(f, S, y):
    return mutual(f, y) - sum(max(0.0, mutual(f, s) - conditional(f, s, y)) for s in S)


def disr(f, S, y):
    if not S:
        return mutual(f, y)
    return sum(joint(f, s, y) / entropy(f, s, y) for s in S) / len(S)


def weighted_criterion(f, S, y, beta, gamma):
    redundancy = sum(mutual(f, s) for s in S)
    return mutual(f, y) - beta * redundancy + gamma * sum(conditional(f, s, y) for s in S)


# ---- the search -------------------------------------------------------------------------------
def greedy(columns, y, criterion, max_steps, keep=()):
    """Order of the columns and J of each, at its choice or at the last step."""
    columns = [list(column) for column in columns]
    constant = [len(set(column)) == 1 for column in columns]
    chosen, worth, last = [], {}, None
    while True:
        left = [f for f in range(len(columns)) if f not in chosen]
        S = [columns[s] for s in chosen]
        J = {f: criterion(columns[f], S, y) for f in left}
        free = [f for f in left if not constant[f]]
        steps = len(chosen) - len(keep)
        if len(chosen) < len(keep):
            best = keep[len(chosen)]
        elif steps < max_steps and free:
            best = max(free, key=lambda f: (round(J[f], 7), -f))
        else:
            last = J if last is None else last
            break
        last = J
        chosen.append(best)
        worth[best] = J[best]
    remaining = sorted(free, key=lambda f: (-round(last[f], 7), f))
    worth |= {f: last[f] for f in left}
    return [*chosen, *remaining, *(f for f in left if constant[f])], worth


# ---- missing values spread over the levels ------------------------------------------------------
def spread(f, s, y):
    """Weights of (level of f, level of s, class), where None is missing in f and s."""
    known_f = [v for v in f if v is not None]
    known_s = [v for v in s if v is not None]
    known_pairs = [(a, b) for a, b in zip(f, s, strict=True) if a is not None and b is not None]

    def shares(a, b):
        if a is not None and b is not None:
            return {(a, b): Fraction(1)}
        if a is not None:
            return {(a, v): Fraction(k, len(known_s)) for v, k in Counter(known_s).items()}
        if b is not None:
            return {(v, b): Fraction(k, len(known_f)) for v, k in Counter(known_f).items()}
        if known_pairs:
            return {pair: Fraction(k, len(known_pairs)) for pair, k in Counter(known_pairs).items()}
        return {
            (u, v): Fraction(k * m, len(known_f) * len(known_s))
            for u, k in Counter(known_f).items()
            for v, m in Counter(known_s).items()
        }

    weights = Counter()
    for a, b, c in zip(f, s, y, strict=True):
        for (u, v), share in shares(a, b).items():
            weights[u, v, c] += share
    return weights


def spread_informations(f, s, y):
    """I(f; s) and I(f; y | s) of spread counts; a column without values is one level."""
    f = ["none"] * len(f) if all(v is None for v in f) else f
    s = ["none"] * len(s) if all(v is None for v in s) else s
    weights = spread(f, s, y)

    def bits(*axes):
        sums = Counter()
        for cell, weight in weights.items():
            sums[tuple(cell[k] for k in axes)] += weight
        n = float(sum(sums.values()))
        return -sum(float(w) / n * math.log2(float(w) / n) for w in sums.values() if w)

    redundancy = bits(0) + bits(1) - bits(0, 1)
    return redundancy, bits(0, 1) + bits(1, 2) - bits(0, 1, 2) - bits(1)
