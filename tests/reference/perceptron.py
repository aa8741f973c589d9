"""A perceptron row by row, and the worth of columns by its weights."""

import math


def perceptron(rows, targets, max_epochs):
    """Weights (of n times the step), epochs, and whether every row is right.

    Sums of which less than 1e-12 of their terms is left are 0.
    """
    n, width = len(rows), len(rows[0])
    longest = max(sum(z * z for z in row) + 1 for row in rows)
    mistakes, weights, bias = [0] * n, [0.0] * width, 0.0
    all_mistakes, sums = [0] * n, [0.0] * width
    for epoch in range(max_epochs + 1):
        outputs = [sum(w * z for w, z in zip(weights, row, strict=True)) + bias for row in rows]
        near = 1e-12 * longest * sum(mistakes)
        wrong = [i for i, s in enumerate(outputs) if targets[i] * s <= near]
        if not wrong:
            return _clear_rounding(weights, mistakes), epoch, True
        if epoch == max_epochs:
            break
        for i in wrong:
            mistakes[i] += 1
            bias += targets[i]
            for j in range(width):
                weights[j] += targets[i] * rows[i][j]
        sums = [s + w for s, w in zip(sums, weights, strict=True)]
        all_mistakes = [s + m for s, m in zip(all_mistakes, mistakes, strict=True)]
    mean = [s / max_epochs for s in sums]
    return _clear_rounding(mean, [m / max_epochs for m in all_mistakes]), max_epochs, False


def _clear_rounding(weights, mistakes):
    least = 1e-12 * math.sqrt(len(mistakes) * sum(m * m for m in mistakes))
    return [w if abs(w) > least else 0.0 for w in weights]


def standardise(column):
    """Turn a column into blocks of numbers: one for a number, one a level for texts."""
    present = [value for value in column if value is not None]
    if not any(isinstance(value, str) for value in present):
        mean = sum(present) / len(present) if present else 0.0
        variance = sum((v - mean) ** 2 for v in present) / max(len(present), 1)
        scale = 1 / math.sqrt(variance) if len(set(present)) > 1 else 0.0
        return [[0.0 if value is None else (value - mean) * scale] for value in column]
    levels = sorted(set(present))
    share = [present.count(level) / len(present) for level in levels]
    variance = 1 - sum(s * s for s in share)
    scale = 1 / math.sqrt(variance) if len(levels) > 1 else 0.0
    return [
        [0.0] * len(levels)
        if value is None
        else [((value == level) - s) * scale for level, s in zip(levels, share, strict=True)]
        for value in column
    ]


def worth(columns, y, max_epochs):
    """J of every column: the mean share of its weights over the outputs."""
    blocks = [standardise(column) for column in columns]
    rows = [[z for block in blocks for z in block[i]] for i in range(len(y))]
    classes = sorted(set(y))
    scores = [0.0] * len(columns)
    outputs = classes[1:] if len(classes) == 2 else classes
    for label in outputs:
        targets = [1.0 if value == label else -1.0 for value in y]
        weights, _, _ = perceptron(rows, targets, max_epochs)
        total = math.sqrt(sum(w * w for w in weights)) or 1.0
        begin = 0
        for f, block in enumerate(blocks):
            own = weights[begin : begin + len(block[0])]
            scores[f] += math.sqrt(sum(w * w for w in own)) / total / len(outputs)
            begin += len(block[0])
    return scores
