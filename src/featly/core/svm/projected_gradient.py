r"""The support vector machine's dual by accelerated projected gradients: products with K only.

    minimise   1/2 b'Kb - y'b     subject to   sum b = 0,  lower <= b <= upper

Each iteration takes one product with K and one projection onto the constraints, which is a search
for the one number t with sum clip(b - t, lower, upper) = 0. Nothing of size n x n is needed, so it
serves tables with so many rows that a Gram matrix does not fit. The duality gap certifies what
was reached.

Beck, A. and Teboulle, M. (2009), A fast iterative shrinkage-thresholding algorithm, *SIAM Journal
on Imaging Sciences* 2, 183-202; restarts after O'Donoghue, B. and Candes, E. (2015), Adaptive
restart for accelerated gradient schemes, *Foundations of Computational Mathematics* 15, 715-732.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featly.basics.typing import FloatArray
from featly.core.runtime.jit import kernel
from featly.core.svm.dual import middle_bias

__all__ = ["Solution", "duality_gap", "project_balanced", "projected_gradient"]


CHECK_EVERY = 10  # iterations between two computations of the duality gap
POWER_STEPS = 12  # for a first guess at the largest eigenvalue; it is corrected where too small


@dataclass
class Solution:
    """Solution of the dual, with its certificate.

    Attributes
    ----------
    coef : array
        b_i = alpha_i y_i.
    bias : float
    duality_gap : float
        (primal - dual) / primal objective.
    n_iter : int
    lipschitz : float
        The largest eigenvalue of K on balanced vectors, as far as the steps have met it: a start
        for the next, similar K.
    """

    coef: FloatArray
    bias: float
    duality_gap: float
    n_iter: int
    lipschitz: float


def projected_gradient(
    product: Callable[[FloatArray], FloatArray],
    y: FloatArray,
    C: FloatArray,
    *,
    start: FloatArray | None = None,
    lipschitz: float = 0.0,
    tolerance: float = 1e-8,
    max_iter: int = 5000,
) -> Solution:
    """Solve from `start`, or from zero, until the relative duality gap is at most `tolerance`.

    `lipschitz` is an estimate of the largest eigenvalue of K between balanced vectors, or 0. One
    that is too small is corrected; one that is much too large makes the steps too short.
    """
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    scale = lipschitz if lipschitz > 0 else _largest_eigenvalue(product, y)
    scale = max(scale, np.finfo(float).tiny)
    b = np.zeros(len(y)) if start is None else project_balanced(start, lower, upper)
    Kb = product(b) if b.any() else np.zeros(len(y))
    ahead, K_ahead, momentum = b, Kb, 1.0
    best: tuple[float, FloatArray, float] = (np.inf, b, 0.0)
    n_iter = 0
    for n_iter in range(max_iter + 1):
        if n_iter % CHECK_EVERY == 0 or n_iter == max_iter:
            relative_gap, bias = duality_gap(Kb, b, y, C)
            if relative_gap < best[0]:
                best = (relative_gap, b, bias)
            if relative_gap <= tolerance or n_iter == max_iter:
                break
        gradient = K_ahead - y
        while True:
            new = project_balanced(ahead - gradient / scale, lower, upper)
            K_new = product(new)
            change = new - ahead
            length = float(change @ change)
            curvature = float(change @ (K_new - K_ahead))
            if curvature <= scale * length * (1 + 1e-9) or length == 0:
                break
            scale = 1.1 * curvature / length
        if float(gradient @ (new - b)) > 0:
            momentum = 1.0  # the last steps went too far: start anew from here
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        share = (momentum - 1) / next_momentum
        ahead, K_ahead = new + share * (new - b), K_new + share * (K_new - Kb)
        b, Kb, momentum = new, K_new, next_momentum
    relative_gap, coef, bias = best
    return Solution(coef, bias, relative_gap, n_iter, scale)


def _largest_eigenvalue(product: Callable[[FloatArray], FloatArray], y: FloatArray) -> float:
    """Estimate the largest eigenvalue of K between balanced vectors by a few power steps."""
    vector = y - y.mean()
    eigenvalue = 0.0
    for _ in range(POWER_STEPS):
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            break
        vector = product(vector / norm)
        vector = vector - vector.mean()
        eigenvalue = float(np.linalg.norm(vector))
    return eigenvalue


def duality_gap(Kb: FloatArray, b: FloatArray, y: FloatArray, C: FloatArray) -> tuple[float, float]:
    """Return the relative duality gap, and the bias of least loss."""
    bias = middle_bias(Kb, y, C)
    quadratic = float(b @ Kb) / 2
    loss = float(C @ np.maximum(0.0, 1 - y * (Kb + bias)))
    primal = quadratic + loss
    dual = float(y @ b) - quadratic
    return (primal - dual) / max(primal, np.finfo(float).tiny), bias


def project_balanced(b: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Find the nearest point with sum 0 between the bounds."""
    out = np.empty(len(b))
    _project(b, lower, upper, out)
    return out


@kernel
def _project(b, lower, upper, out):  # type: ignore[no-untyped-def]
    n = len(b)
    low, high = np.inf, -np.inf
    size = 0.0
    for i in range(n):
        low = min(low, b[i] - upper[i])
        high = max(high, b[i] - lower[i])
        size += max(-lower[i], upper[i])
    t = min(max(0.0, low), high)  # close to it where the point is nearly feasible
    for _ in range(200):
        total, free = 0.0, 0
        for i in range(n):
            x = b[i] - t
            if x <= lower[i]:
                x = lower[i]
            elif x >= upper[i]:
                x = upper[i]
            else:
                free += 1
            out[i] = x
            total += x
        if abs(total) <= 1e-15 * size:
            return
        if total > 0:
            low = t
        else:
            high = t
        following = t + total / free if free > 0 else 0.5 * (low + high)
        if not low < following < high:
            following = 0.5 * (low + high)
        if following in (low, high) or following == t:
            return
        t = following
