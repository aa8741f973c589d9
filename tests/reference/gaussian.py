"""The margin of a Gaussian-kernel machine without one column, with the coefficients kept."""

import numpy as np


def margin_change(blocks, v, gamma, left_out):
    """||w||^2 less what it is without a column; `blocks` holds rows x atoms for each column."""
    return _norm(blocks, v, gamma) - _norm(
        [block for f, block in enumerate(blocks) if f != left_out], v, gamma
    )


def _norm(blocks, v, gamma):
    total = 0.0
    for i in range(len(v)):
        for j in range(len(v)):
            distance = sum(((block[i] - block[j]) ** 2).sum() for block in blocks)
            total += v[i] * v[j] * np.exp(-gamma * distance)
    return total
