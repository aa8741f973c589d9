"""Wins of methods over each other, run by run and in fractions."""

import math
from fractions import Fraction


def proportion(errors, a, b, groups):
    """Mean over the groups of the share of runs that a wins, None where they never met."""
    shares = []
    for group in dict.fromkeys(groups):
        won = met = 0
        for run, label in enumerate(groups):
            if label != group or math.isnan(errors[a][run]) or math.isnan(errors[b][run]):
                continue
            met += 1
            won += errors[a][run] < errors[b][run]
        if met:
            shares.append(Fraction(won, met))
    return sum(shares) / len(shares) if shares else None


def count_beaten(errors, groups):
    """Count for each method the others that it beats more often than it loses to them."""
    counts = []
    for a in range(len(errors)):
        count = 0
        for b in range(len(errors)):
            won, lost = (proportion(errors, *pair, groups) for pair in ((a, b), (b, a)))
            count += won is not None and won > lost
        counts.append(count)
    return counts
