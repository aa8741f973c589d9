r"""Moments of columns whose rows have weights.

.. math::

    n = \sum_i w_i, \qquad \bar x = \frac{1}{n} \sum_i w_i x_i, \qquad
    M_2 = \sum_i w_i (x_i - \bar x)^2

so that a row of weight 2 counts as two equal rows. Every column is loaded as it lies, shifted by
one of its values, and read twice; rows are added in their order.
"""

from typing import Any

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks
from featly.core.runtime.question import question
from featly.core.sources.base import Comoments, Moments, Source

__all__ = ["weighted_comoments", "weighted_level_counts", "weighted_moments"]

# mypy: disable-error-code="no-untyped-def"


@question
def weighted_moments(
    source: Source, weights: FloatArray, groups: IntArray | None = None, n_groups: int = 1
) -> Moments:
    """Return weight, mean and weighted squared deviations of continuous and ordinal features.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> moments = weighted_moments(DenseSource(np.array([[1.0], [4.0]])), np.array([2.0, 1.0]))
    >>> moments.count[0], moments.mean[0], moments.m2[0]
    (array([3.]), array([2.]), array([6.]))
    """
    if groups is None:
        groups = np.zeros(source.n_rows, np.int64)
    out = np.zeros((3, n_groups, source.n_features))

    def compute_block(tile: FloatArray, features: IntArray) -> None:
        part = np.zeros((3, n_groups, len(tile)))
        _fill_moments(tile, groups, weights, *part)
        out[:, :, features] = part

    _map_numbers(source, compute_block)
    return Moments(*out)


def weighted_comoments(source: Source, weights: FloatArray, h: FloatArray) -> Comoments:
    """Return weighted moments of continuous and ordinal features together with those of h."""
    out = np.zeros((6, source.n_features))

    def compute_block(tile: FloatArray, features: IntArray) -> None:
        part = np.zeros((6, len(tile)))
        _fill_comoments(tile, h, weights, *part)
        out[:, features] = part

    _map_numbers(source, compute_block)
    return Comoments(*out)


def weighted_level_counts(source: Source, weights: FloatArray) -> FloatArray:
    """Return the weight at each level of categorical features; 0 at the atoms of others."""
    out, atoms = np.zeros(source.n_atoms), source.atoms
    for f in np.flatnonzero(source.kinds == CATEGORICAL).tolist():
        out[atoms[f] : atoms[f + 1]] = source.load(np.array([f])) @ weights
    return out


def _map_numbers(source: Source, compute_block: Any) -> None:
    """Call a function with every block of numbers, columns x rows, and the features in it."""
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)

    def compute_part(part: Source, places: Any) -> None:
        positions = np.arange(len(numeric))[places]

        def load_block(block: tuple[int, int]) -> None:
            tile = part.load(np.arange(*block))
            compute_block(tile, numeric[positions[slice(*block)]])

        run_blocks(load_block, part.blocks(), part.n_jobs)

    source.view(numeric).each(compute_part)


# ---- compiled loops ------------------------------------------------------------------------------
@kernel
def _fill_moments(tile, groups, weights, count, mean, m2):
    """Fill an entry a group and column; a NaN is a missing value."""
    n_groups = len(count)
    shift = np.zeros(n_groups)
    total = np.zeros(n_groups)
    for f in range(len(tile)):
        x = tile[f]
        total[:] = 0.0
        for i in range(len(x)):
            if x[i] == x[i]:
                g = groups[i]
                if count[g, f] == 0.0:
                    shift[g] = x[i]
                count[g, f] += weights[i]
                total[g] += weights[i] * (x[i] - shift[g])
        for g in range(n_groups):
            if count[g, f] > 0.0:
                mean[g, f] = shift[g] + total[g] / count[g, f]
        for i in range(len(x)):
            if x[i] == x[i]:
                g = groups[i]
                d = x[i] - mean[g, f]
                m2[g, f] += weights[i] * d * d


@kernel
def _fill_comoments(tile, h, weights, count, mean, m2, mean_h, m2_h, product):
    """Fill an entry a column; rows where a column is missing are left out of h, too."""
    for f in range(len(tile)):
        x = tile[f]
        n, first, first_h = 0.0, 0.0, 0.0
        s, t = 0.0, 0.0
        for i in range(len(x)):
            if x[i] == x[i]:
                if n == 0.0:
                    first, first_h = x[i], h[i]
                n += weights[i]
                s += weights[i] * (x[i] - first)
                t += weights[i] * (h[i] - first_h)
        if n == 0.0:
            continue
        count[f], mean[f], mean_h[f] = n, first + s / n, first_h + t / n
        for i in range(len(x)):
            if x[i] == x[i]:
                d, e = x[i] - mean[f], h[i] - mean_h[f]
                m2[f] += weights[i] * d * d
                m2_h[f] += weights[i] * e * e
                product[f] += weights[i] * d * e
