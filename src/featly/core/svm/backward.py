"""Backward elimination by a linear support vector machine, all rounds in one compiled loop.

For tables of few rows, as in every split of a study, a round takes some ten microseconds of
arithmetic, and handing it back to Python between rounds would take several times that. The
mathematics is that of :class:`featly.core.svm.dual.SVMDual`, step by step; where it meets a case
that wants more care (no variance left, a solver that does not converge), it gives up, and the
caller goes the general way.
"""

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel, lane_kernel
from featly.core.sources.linear import downdate_gram
from featly.core.svm.active_set import CONVERGED, downdate_inverse, solve_active_set

__all__ = ["MOST_CELLS", "MOST_ROWS", "eliminate_small"]

# mypy: disable-error-code="no-untyped-def"

MOST_ROWS = 128  # above, inverses are better left to LAPACK
MOST_CELLS = 4 << 20  # of the float64 copy of the table that this way needs
DROPPED_BITS = 52 - 33  # as in featly.core.ranking.ordering
REBUILD_TRACE = 8  # rebuild the Gram matrix when its trace has fallen by this factor


def eliminate_small(
    Z: FloatArray,
    y: FloatArray,
    C: FloatArray,
    counts: IntArray,
    kept: BoolArray,
    noise: FloatArray,
    units: FloatArray | None = None,
) -> tuple[AnyArray, ...] | None:
    """Eliminate the rows of Z, features by rows; None where the general way must be gone.

    Parameters
    ----------
    Z : float64 array of shape (n_features, n_rows)
        Centred and scaled.
    y : array of +1.0 and -1.0
    C : array, one upper bound a row
    counts : how many features each round drops; they add up to all
    kept : features that go only when nothing else is left
    noise : squared weights up to this times the squared norm of the dual solution are zero
    units : squared weights are multiplied by these first: the squares of how many times as wide
        as the others a prior has made a feature; None is 1 for all

    Returns
    -------
    order, round, criterion, totals, gaps
        See :class:`featly.elimination.rfe.Elimination`.
    """
    p = len(Z)
    order, rounds = np.empty(p, np.int64), np.zeros(p, np.int32)
    criterion, totals, gaps = np.zeros(p), np.empty(len(counts)), np.empty(len(counts))
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    # wide columns hide in the trace how little is left of the others
    share = 0.0 if units is None else 1 / REBUILD_TRACE
    units = np.ones(p) if units is None else units
    factored = False  # a constant inside would have the solver compiled once more, for that case
    done = _eliminate(
        Z, Z.T @ Z, factored, y, lower, upper, counts, kept, noise, units, share, order, rounds,
        criterion, totals, gaps,
    )  # fmt: skip
    return (order, rounds, criterion, totals, gaps) if done else None


@kernel
def falling(scores, n, ranking, spare):
    """``ranking[:n]``: positions of the first n scores, largest first, ties by position.

    A merge sort of our own: numba's takes several seconds to compile.
    """
    for k in range(n):
        ranking[k] = k
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for k in range(low, high):
                if right >= high or (
                    left < middle and scores[ranking[left]] >= scores[ranking[right]]
                ):
                    spare[k] = ranking[left]
                    left += 1
                else:
                    spare[k] = ranking[right]
                    right += 1
        for k in range(n):
            ranking[k] = spare[k]
        width *= 2


@kernel
def add_gram(K, before, block, factor):
    """``K = before K + factor block' block`` in place; returns the trace."""
    product = np.dot(block.T, block)
    trace = 0.0
    for i in range(len(K)):
        for j in range(len(K)):
            K[i, j] = before * K[i, j] + factor * product[i, j]
        trace += K[i, i]
    return trace


@lane_kernel
def _weight(z, v):
    total = 0.0
    for i in range(len(v)):
        total += z[i] * v[i]
    return total


@kernel
def _eliminate(
    Z, K, factored, y, lower, upper, counts, kept, noise, units, share, order, rounds, criterion,
    totals, gaps,
):  # fmt: skip
    p, n = Z.shape
    remaining = np.arange(p)
    m = p
    v = np.zeros(n)
    gradient, gathered = np.empty(n), np.empty(n)
    free = np.zeros(n + 1, np.int64)
    position = np.full(n, -1)
    inverse = np.empty((n, n))
    factor = np.empty((0, 0))
    zero = n - n  # a plain 0 would have the solver compiled once more, for that case
    n_free, n_ready = zero, zero
    shift = 0.0
    weights, scores = np.empty(p), np.empty(p)
    bits = scores.view(np.int64)
    candidates, ranking, spare = np.empty(p, np.int64), np.empty(p, np.int64), np.empty(p, np.int64)
    dropped = np.empty(p, np.bool_)
    trace = 0.0
    for i in range(n):
        trace += K[i, i]
    built, m_built = trace, m
    n_kept = 0
    for f in range(p):
        n_kept += kept[f]
    for r in range(len(counts)):
        count = counts[r]
        # ---- the machine on what is left ----
        if trace <= 0 or (r > 0 and shift <= 0):
            return False
        if r == 0 or not 1 / 16 < trace / n / shift < 16:
            n_ready = zero
        if n_ready == 0:
            shift = trace / n
        if r == 0 and m >= n:
            positive = 0
            for i in range(n):
                positive += y[i] > 0
            length = 1 / shift
            for i in range(n):
                bound = upper[i] if y[i] > 0 else -lower[i]
                size = positive if y[i] > 0 else n - positive
                length = min(length, bound * size / 2)
            for i in range(n):
                v[i] = length / positive if y[i] > 0 else -length / (n - positive)
                free[i] = i
                position[i] = i
            n_free = n
        status, n_free, _, _, primal, dual = solve_active_set(
            K, factor, factored, shift, y, lower, upper, v, gradient, free, position, inverse,
            n_ready, n_free, 20 * n + 100, np.inf, 1e-10,
        )  # fmt: skip
        n_ready = n_free
        gaps[r] = (primal - dual) / max(abs(primal), 2.2e-308)
        if status != CONVERGED or gaps[r] > 1e-6:
            return False
        # ---- the importance of every column that is left ----
        norm, total = 0.0, 0.0
        for i in range(n):
            norm += v[i] * v[i]
        for k in range(m):
            w = _weight(Z[remaining[k]], v)
            w *= w * units[remaining[k]]
            if w <= noise[remaining[k]] * norm:
                w = 0.0
            weights[k] = w
            total += w
        totals[r] = total
        # ---- the worst of them: rounded scores, ties to the later column ----
        any_free = m > n_kept
        c = 0
        for k in range(m):
            if not any_free or not kept[remaining[k]]:
                candidates[c] = k
                c += 1
        for k in range(c):
            scores[k] = weights[candidates[k]]
        for k in range(c):
            bits[k] = (bits[k] + (1 << (DROPPED_BITS - 1))) & ~((1 << DROPPED_BITS) - 1)
        falling(scores, c, ranking, spare)
        n_worst = min(count, c)
        ranked = ranking[c - n_worst : c]
        for at in range(m):
            dropped[at] = False
        for k in range(len(ranked)):
            at = candidates[ranked[k]]
            column = remaining[at]
            dropped[at] = True
            order[m - len(ranked) + k] = column
            rounds[column] = r
            criterion[column] = weights[at]
        if len(ranked) == m:
            return True
        # ---- without them ----
        if count == 1:
            x = Z[order[m - 1]]
            trace = downdate_gram(K, x)
            for k in range(n_free):
                gathered[k] = x[free[k]]
            if n_free > 0 and not downdate_inverse(inverse, n_free, gathered):
                n_ready = zero
        else:
            block = np.empty((count, n))
            k = 0
            for at in range(m):
                if dropped[at]:
                    for i in range(n):
                        block[k, i] = Z[remaining[at], i]
                    k += 1
            trace = add_gram(K, 1.0, block, -1.0)
            n_ready = zero
        left = 0
        for at in range(m):
            if not dropped[at]:
                remaining[left] = remaining[at]
                left += 1
        m = left
        if trace * REBUILD_TRACE < built or m < share * m_built:
            block = np.empty((m, n))
            for k in range(m):
                for i in range(n):
                    block[k, i] = Z[remaining[k], i]
            trace = add_gram(K, 0.0, block, 1.0)
            n_ready = zero
            built, m_built = trace, m
    return True
