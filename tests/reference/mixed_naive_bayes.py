"""Naive Bayes for mixed columns, one cell at a time.

A table is a list of columns, a column a list of numbers or texts with None where missing.
"""

import math
from statistics import fmean


def variance(values):
    """Mean squared deviation from the mean."""
    mean = fmean(values)
    return fmean([(v - mean) ** 2 for v in values])


def number(train, y, label, value, var_smoothing):
    """log p(value | class) of a column of numbers."""
    known = [v for v in train if v is not None]
    if value is None or len(set(known)) < 2:
        return 0.0
    own = [v for v, c in zip(train, y, strict=True) if v is not None and c == label]
    mean = fmean(own or known)
    spread = variance(own) if len(own) > 1 else variance(known)
    spread += var_smoothing * variance(known)
    return -((value - mean) ** 2) / (2 * spread) - math.log(2 * math.pi * spread) / 2


def level(train, y, label, value, smoothing):
    """log p(value | class) of a column of texts."""
    known = {v for v in train if v is not None}
    if value is None or value not in known:
        return 0.0
    own = [v for v, c in zip(train, y, strict=True) if v is not None and c == label]
    return math.log((own.count(value) + smoothing) / (len(own) + smoothing * len(known)))


def joint(train, y, rows, smoothing=1.0, var_smoothing=1e-9, priors=None):
    """log p(class, row) of every row, a list for the sorted classes each."""
    classes = sorted(set(y))
    priors = priors or [list(y).count(c) / len(y) for c in classes]
    log_joint = []
    for i in range(len(rows[0])):
        logs = [math.log(prior) for prior in priors]
        for known, other in zip(train, rows, strict=True):
            text = any(isinstance(v, str) for v in known)
            for k, c in enumerate(classes):
                if text:
                    logs[k] += level(known, y, c, other[i], smoothing)
                elif any(v is not None for v in known):
                    logs[k] += number(known, y, c, other[i], var_smoothing)
        log_joint.append(logs)
    return log_joint


def normalise(logs):
    """Probabilities from logarithms."""
    weights = [math.exp(v - max(logs)) for v in logs]
    return [w / math.fsum(weights) for w in weights]
