"""Decoding of binary answers by its definition: classes and problems one at a time, in fractions.

Margins and probabilities are fractions, so that sums are exact and ties are ties.
"""

import math
from fractions import Fraction


def pairs(n_classes):
    """One row a pair: the first class against the second."""
    rows = []
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            rows.append([1 if c == a else -1 if c == b else 0 for c in range(n_classes)])
    return rows


def against_rest(n_classes):
    """One row a class; two classes are one problem."""
    if n_classes == 2:
        return pairs(2)
    return [[1 if c == positive else -1 for c in range(n_classes)] for positive in range(n_classes)]


def sign(value):
    return 1 if value > 0 else -1 if value < 0 else 0


def hamming(margins, code):
    """Minus the distance of every class."""
    scores = []
    for y in range(len(code[0])):
        distance = Fraction(0)
        for s, h in enumerate(margins):
            distance += Fraction(1 - sign(code[s][y] * h), 2)
        scores.append(-distance)
    return scores


def answers(probabilities, threshold):
    """+1, -1 or 0 where neither side is above the threshold."""
    return [1 if p > threshold else -1 if 1 - p > threshold else 0 for p in probabilities]


def hinge(z):
    return max(Fraction(0), 1 - z)


def squared_loss(z):
    return (1 - z) ** 2


def logistic(z):
    return math.log(1 + math.exp(-2 * z))


def exponential(z):
    return math.exp(-z)


def loss(margins, code, function):
    """Minus the total loss of every class."""
    return [
        -sum(function(code[s][y] * h) for s, h in enumerate(margins)) for y in range(len(code[0]))
    ]


def probabilities_for(probabilities, code, y, alone):
    """Return the probability of class y by each problem where it is on a side (by itself)."""
    values = []
    for s, p in enumerate(probabilities):
        own = code[s][y]
        if own == 0 or (alone and code[s].count(own) > 1):
            continue
        values.append(p if own == 1 else 1 - p)
    return values


def sums(probabilities, code, threshold=Fraction(0), alone=False):
    """Sum of the probabilities above the threshold; of all, where none is above it."""
    by_class = [probabilities_for(probabilities, code, y, alone) for y in range(len(code[0]))]
    scores = [sum((q for q in side if q > threshold), Fraction(0)) for side in by_class]
    return scores if any(scores) else [sum(side, Fraction(0)) for side in by_class]


def winner(scores):
    """Return the first of the best classes."""
    return scores.index(max(scores))
