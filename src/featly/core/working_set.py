r"""The support vector machine's dual for so many rows that K does not fit: exact all the same.

Projected gradients (:mod:`featly.core.projected_gradient`) soon know which coefficients lie
between their bounds, and those are few. With them and the rows that violate optimality most as
the *working set* W,

    minimise   1/2 b_W' K_WW b_W - (y_W - K_WN b_N)' b_W     subject to   sum b_W = - sum b_N

is a small problem that the active set solves exactly; one product with K tells what is left to do.

Osuna, E., Freund, R. and Girosi, F. (1997), An improved training algorithm for support vector
machines, *NNSP*, 276-285.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from featly.core.active_set import CONVERGED, solve_active_set
from featly.core.projected_gradient import Solution, duality_gap, projected_gradient

__all__ = ["solve_by_products"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

ROUGH = (1e-4, 1e-5, 1e-6, 1e-7)  # gaps at which the bounds that hold may be known well enough
FEW = 200  # rows that a working set takes in at least, if they violate optimality
MOST = 3000  # rows of a working set
ROUNDS = 40


def solve_by_products(
    product: Callable[[FloatArray], FloatArray],
    block: Callable[[IntArray], FloatArray],
    y: FloatArray,
    C: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = 1e-10,
    rough: float = 1e-8,
    max_iter: int = 5000,
) -> Solution:
    """Solve with products ``K v`` and small blocks ``K[rows, rows]`` alone.

    To a relative duality gap of `tolerance` where few coefficients lie between their bounds; else,
    as for a column of many equal values, to one of `rough`, by `max_iter` gradient steps at most.
    """
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    scale, steps = 0.0, 0
    for goal in ROUGH:
        found = projected_gradient(
            product, y, C, start=start, lipschitz=scale, tolerance=goal, max_iter=max_iter - steps
        )
        start, scale, steps = found.coef, found.lipschitz, steps + found.n_iter
        n_free = int(((start > lower) & (start < upper)).sum())
        if n_free <= MOST // 2 or found.gap <= rough or steps >= max_iter:
            break
    b, best = found.coef.copy(), found
    for _ in range(ROUNDS):
        Kb = product(b)
        gap, bias = duality_gap(Kb, b, y, C)
        if gap < best.gap:
            best = Solution(b.copy(), bias, gap, steps, scale)
        if gap <= tolerance:
            return best
        rows = _working_set(Kb - y + bias, b, lower, upper)
        if rows is None or not _improve(rows, block(rows), Kb, b, y, lower, upper):
            break
        steps += 1
    if best.gap <= rough or steps >= max_iter:
        return best
    finer = projected_gradient(
        product, y, C, start=best.coef, lipschitz=scale, tolerance=rough, max_iter=max_iter - steps
    )
    if finer.gap >= best.gap:
        return best
    return replace(finer, n_iter=steps + finer.n_iter)


def _working_set(
    slack: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray
) -> IntArray | None:
    """Coefficients between their bounds and the worst violations; None where those are many."""
    free = (b > lower) & (b < upper)
    violation = np.where(b <= lower, -slack, slack)
    violation[free] = 0.0
    n_free = int(free.sum())
    wanted = max(FEW, n_free)
    if n_free + wanted > MOST:
        return None
    worst = np.argpartition(-violation, min(wanted, len(b) - 1))[:wanted]
    worst = worst[violation[worst] > 0]
    return np.sort(np.concatenate([np.flatnonzero(free), worst]))


def _improve(
    rows: IntArray,
    K: FloatArray,
    Kb: FloatArray,
    b: FloatArray,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """Solve for the rows of a working set, in place; False if that failed."""
    m = len(rows)
    part = b[rows]
    # one more variable that cannot move stands for all other rows: it keeps the sum at zero
    wide = np.zeros((m + 1, m + 1))
    wide[:m, :m] = K
    linear = np.append(y[rows] - (Kb[rows] - K @ part), 0.0)
    rest = -part.sum()
    low, high = np.append(lower[rows], rest), np.append(upper[rows], rest)
    solution = np.append(part, rest)
    free = np.zeros(m + 2, np.int64)
    inside = np.flatnonzero((part > low[:m]) & (part < high[:m]))
    free[: len(inside)] = inside
    position = np.full(m + 1, -1)
    position[inside] = np.arange(len(inside))
    status, *_ = solve_active_set(
        wide, np.empty((0, 0)), False, float(np.trace(K)) / m, linear, low, high, solution,
        np.empty(m + 1), free, position, np.empty((m + 1, m + 1)), 0, len(inside),
        20 * m + 100, np.inf, 1e-12,
    )  # fmt: skip
    if status != CONVERGED or np.array_equal(solution[:m], part):
        return False
    b[rows] = solution[:m]
    return True
