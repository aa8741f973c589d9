r"""The support vector machine's dual for so many rows that K does not fit: exact all the same.

Projected gradients (:mod:`featly.core.svm.projected_gradient`) soon know which coefficients lie
between their bounds, and those are few. With them and the rows that violate optimality most as
the *working set* W,

    minimise   1/2 b_W' K_WW b_W - (y_W - K_WN b_N)' b_W     subject to   sum b_W = - sum b_N

is a small problem that the active set solves exactly; one product with K then shows which rows
still violate optimality.

Osuna, E., Freund, R. and Girosi, F. (1997), An improved training algorithm for support vector
machines, *NNSP*, 276-285.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.svm.active_set import CONVERGED, solve_active_set
from featly.core.svm.projected_gradient import Solution, duality_gap, projected_gradient

__all__ = ["solve_by_products"]


ROUGH = 1e-3  # the duality gap at which most of the bounds that hold are known
FEW = 200  # rows that a working set takes in at least, if they violate optimality
MOST = 4000  # rows of a working set: two matrices of 128 MB
ROUNDS = 40
MOST_SLOW = 10  # rounds in a row that do not halve the duality gap


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

    The relative duality gap is at most `tolerance` where few coefficients lie between their
    bounds; else, as for a column of many equal values, at most `rough`, unless `max_iter` gradient
    steps do not suffice.
    """
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    rough_solution = projected_gradient(
        product, y, C, start=start, tolerance=ROUGH, max_iter=max_iter
    )
    scale, steps = rough_solution.lipschitz, rough_solution.n_iter
    b, best = rough_solution.coef.copy(), rough_solution
    last, slow = np.inf, 0
    for _ in range(ROUNDS):
        Kb = product(b)
        relative_gap, bias = duality_gap(Kb, b, y, C)
        slow = slow + 1 if relative_gap > last / 2 else 0
        last = relative_gap
        if slow > MOST_SLOW:  # too many rows are free for sets of this size
            break
        if relative_gap < best.duality_gap:
            best = Solution(b.copy(), bias, relative_gap, steps, scale)
        if relative_gap <= tolerance:
            return best
        rows = _choose_working_set(Kb - y + bias, b, lower, upper)
        if not _improve(rows, block(rows), Kb, b, y, lower, upper):
            break
        steps += 1
    if best.duality_gap <= rough or steps >= max_iter:
        return best
    finer = projected_gradient(
        product, y, C, start=best.coef, lipschitz=scale, tolerance=rough, max_iter=max_iter - steps
    )
    if finer.duality_gap >= best.duality_gap:
        return best
    return replace(finer, n_iter=steps + finer.n_iter)


def _choose_working_set(
    slack: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray
) -> IntArray:
    """Choose the coefficients between their bounds, and those that violate optimality most."""
    between = (b > lower) & (b < upper)
    free = np.flatnonzero(between)
    if len(free) > MOST - FEW:
        free = free[np.argpartition(-np.abs(slack[free]), MOST - FEW)[: MOST - FEW]]
    violation = np.where(b <= lower, -slack, slack)
    violation[between] = 0.0
    wanted = min(max(FEW, len(free)), MOST - len(free))
    worst = np.argpartition(-violation, min(wanted, len(b) - 1))[:wanted]
    worst = worst[violation[worst] > 0]
    return np.sort(np.concatenate([free, worst]))


def _improve(
    rows: IntArray,
    K: FloatArray,
    Kb: FloatArray,
    b: FloatArray,
    y: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> bool:
    """Solve for the rows of a working set, in place; return False if that failed."""
    m = len(rows)
    part = b[rows]
    # one more variable that cannot move stands for all other rows: it keeps the sum at zero
    wide = np.zeros((m + 1, m + 1))
    wide[:m, :m] = K
    linear = np.append(y[rows] - (Kb[rows] - K @ part), 0.0)
    balance = -part.sum()
    low, high = np.append(lower[rows], balance), np.append(upper[rows], balance)
    solution = np.append(_corner(part.sum(), low[:m], high[:m], Kb[rows] - y[rows]), balance)
    free = np.zeros(m + 2, np.int64)
    inside = np.flatnonzero((solution > low) & (solution < high))
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


def _corner(total: float, lower: FloatArray, upper: FloatArray, slack: FloatArray) -> FloatArray:
    """Return a point with the sum `total` and with all but one coefficient on a bound.

    Those of the smallest `slack` are raised first. The active set starts there: to free all the
    coefficients that are between their bounds now, most of which are not in the end, would cost
    the cube of their number.
    """
    order = np.argsort(slack, kind="stable")
    width = (upper - lower)[order]
    before = np.cumsum(width) - width
    point = np.empty(len(order))
    point[order] = lower[order] + np.clip(total - lower.sum() - before, 0.0, width)
    # rounding of the sum goes to the one in between, or to one that is not full
    return np.minimum(np.maximum(point, lower), upper)
