"""The greedy merge, with a public learner trained anew for every trial and every fold."""

import numpy as np


def rate(learner, frame, y, fold, columns):
    """Balanced classification rate of a learner on some columns of a polars frame."""
    right = {label: [] for label in np.unique(y)}
    for f in range(fold.max() + 1):
        train, test = fold != f, fold == f
        part = frame.select(columns)
        fitted = learner.fit(part.filter(train), y[train])
        for label, wins in zip(y[test], fitted.winners(part.filter(test)), strict=True):
            own = wins[fitted.classes_.tolist().index(label)]
            right[label].append(own / wins.sum())
    return np.mean([np.mean(shares) for shares in right.values() if shares])


def merge_lists(learner, frame, y, fold, numbers, codes, chosen=()):
    """Merge two ranked lists of names after those `chosen`; names and rates, None for untried."""
    order, rates = list(chosen), []
    numbers, codes = list(numbers), list(codes)
    while numbers or codes:
        best_rate = None
        if numbers and codes and (fold >= 0).any():
            by_number = rate(learner, frame, y, fold, [*order, numbers[0]])
            by_code = rate(learner, frame, y, fold, [*order, codes[0]])
            code = by_code > by_number + 1e-9
            best_rate = by_code if code else by_number
        else:
            code = not numbers
        order.append((codes if code else numbers).pop(0))
        rates.append(best_rate)
    return order[len(chosen) :], rates
