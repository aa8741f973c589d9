"""Discretisation as the papers define it, in plain Python and exact arithmetic."""

import math
from collections import Counter
from fractions import Fraction


def known_values(values):
    return [float(v) for v in values if v == v]


def purity(labels):
    """``2^(-n H)``, a ratio of whole numbers: what is larger has less entropy, exactly."""
    counts = Counter(labels).values()
    return Fraction(math.prod(k**k for k in counts), len(labels) ** len(labels))


def bits(ratio):
    return math.log2(ratio.denominator) - math.log2(ratio.numerator)


def mdlp(values, labels, encoding="rows"):
    """Cut points of Fayyad and Irani; every position between two values is tried."""
    pairs = sorted((float(v), c) for v, c in zip(values, labels, strict=True) if v == v)
    return sorted(_mdlp(pairs, encoding))


def _mdlp(pairs, encoding):
    labels = [c for _, c in pairs]
    if len(pairs) < 2:
        return []
    whole = purity(labels)
    best, position = whole, None
    for i in range(1, len(pairs)):
        if pairs[i - 1][0] < pairs[i][0]:
            parts = purity(labels[:i]) * purity(labels[i:])
            if parts > best:
                best, position = parts, i
    if position is None:
        return []
    left, right = labels[:position], labels[position:]
    weighted = [len(set(part)) * bits(purity(part)) / len(part) for part in (labels, left, right)]
    n, k = len(labels), len(set(labels))
    delta = math.log2(3**k - 2) - (weighted[0] - weighted[1] - weighted[2])
    n_positions = n - 1 if encoding == "rows" else len({v for v, _ in pairs}) - 1
    if bits(whole) - bits(best) <= math.log2(n_positions) + delta:
        return []
    cut = (pairs[position - 1][0] + pairs[position][0]) / 2
    return [cut, *_mdlp(pairs[:position], encoding), *_mdlp(pairs[position:], encoding)]


def equal_frequency(values, n_bins):
    """From below, each interval aims at (values left) / (intervals left); ties stay together."""
    remaining = sorted(known_values(values))
    cuts = []
    for intervals in range(n_bins, 1, -1):
        cut_positions = [i for i in range(1, len(remaining)) if remaining[i - 1] < remaining[i]]
        if not cut_positions:
            break
        aim = Fraction(len(remaining), intervals)
        position = min(cut_positions, key=lambda i: (abs(i - aim), -i))
        cuts.append((remaining[position - 1] + remaining[position]) / 2)
        remaining = remaining[position:]
    return cuts


def pkid(values):
    return equal_frequency(values, math.isqrt(len(known_values(values))))


def equal_width(values, n_bins):
    values = known_values(values)
    if not values or min(values) == max(values):
        return []
    step = (max(values) - min(values)) / n_bins
    return [min(values) + step * j for j in range(1, n_bins)]


def codes(values, cuts):
    return [0 if v != v else 1 + sum(float(v) > t for t in cuts) for v in values]
