"""Signal to noise, one column at a time, by the statistics module."""

from math import inf
from statistics import mean, stdev


def signal_to_noise(column, y):
    """(mean1 - mean0) / (sd1 + sd0) over the values that are there; 0 if a class has under two.

    With more than two classes, the largest ratio in absolute value of a class against the rest.
    """
    classes = sorted(set(y))
    marked = classes[1:] if len(classes) == 2 else classes
    ratios = [_ratio(column, [c == k for c in y]) for k in marked]
    return max(ratios, key=abs)


def _ratio(column, inside):
    first, second = (
        [float(x) for x, c in zip(column, inside, strict=True) if c is side and x == x]
        for side in (True, False)
    )
    if min(len(first), len(second)) < 2:
        return 0.0
    signal, noise = mean(first) - mean(second), stdev(first) + stdev(second)
    if noise == 0:
        return 0.0 if signal == 0 else inf if signal > 0 else -inf
    return signal / noise
