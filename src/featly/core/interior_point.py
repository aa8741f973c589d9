"""The support vector machine's dual by an interior-point method: no start needed.

A primal-dual predictor-corrector (Mehrotra 1992) on

    minimise 1/2 a'Qa - 1'a   subject to   y'a = 0,  0 <= a <= C

whose Newton systems have the matrix K + D with D diagonal. With K = A A' given by its n x r
factor they cost O(n r^2) by the Woodbury identity (Ferris and Munson 2002), so a million rows
and few columns are no trouble. The count of iterations, twenty or so, hardly depends on the
data. The active set starts from the result and makes it exact.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import linalg

__all__ = ["interior_point"]

FloatArray = npt.NDArray[np.float64]

ROW_CHUNK_BYTES = 32 << 20


def interior_point(
    y: FloatArray,
    C: FloatArray,
    K: FloatArray | None = None,
    A: FloatArray | None = None,
    tolerance: float = 1e-10,
    max_iter: int = 100,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve for `a`; returns it with the multipliers of ``a >= 0`` and ``a <= C``.

    `y` is +1 or -1, `C` one finite positive bound a row; exactly one of `K` and `A` is given.
    """
    n = len(y)
    if A is not None:
        diagonal = np.einsum("ij,ij->i", A, A)
        factor = A
        product = lambda b: factor @ (factor.T @ b)  # noqa: E731
    else:
        assert K is not None
        matrix = K
        diagonal = np.diag(matrix)
        product = lambda b: matrix @ b  # noqa: E731
    size = max(float(diagonal.mean()), np.finfo(float).tiny)
    a = np.minimum(C / 2, 1 / size)
    s = C - a
    z, t = np.ones(n), np.ones(n)
    bias = 0.0
    for _ in range(max_iter):
        quadratic = y * product(y * a)
        dual = quadratic - 1 + y * bias - z + t
        balance = float(y @ a)
        gap = float(a @ z + s @ t)
        objective = abs(float(a.sum() - a @ quadratic / 2))
        if gap <= tolerance * max(objective, 1e-12) and np.abs(dual).max() <= 1e-9:
            break
        mean_gap = gap / (2 * n)
        weight = z / a + t / s
        try:
            solve = _newton(weight, K, A)
        except linalg.LinAlgError:
            break
        solved_ones = solve(np.ones(n))

        def direction(
            az: FloatArray,
            st: FloatArray,
            dual: FloatArray = dual,
            balance: float = balance,
            solve: Callable[[FloatArray], FloatArray] = solve,
            ones: FloatArray = solved_ones,
            state: tuple[FloatArray, ...] = (a, s, z, t),
        ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
            # az, st: what the products a z and s t are asked to change by
            a, s, z, t = state
            rhs = y * (-dual + az / a - st / s)
            solved = solve(rhs)
            d_bias = float((solved.sum() + balance) / ones.sum())
            d_a = y * (solved - d_bias * ones)
            return d_a, (az - z * d_a) / a, (st + t * d_a) / s, d_bias

        d_a, d_z, d_t, _ = direction(-a * z, -s * t)
        reach = min(_reach(a, d_a), _reach(s, -d_a), _reach(z, d_z), _reach(t, d_t))
        ahead = float((a + reach * d_a) @ (z + reach * d_z) + (s - reach * d_a) @ (t + reach * d_t))
        target = (ahead / gap) ** 3 * mean_gap
        d_a, d_z, d_t, d_bias = direction(target - a * z - d_a * d_z, target - s * t + d_a * d_t)
        step_a = min(1.0, 0.995 * min(_reach(a, d_a), _reach(s, -d_a)))
        step_z = min(1.0, 0.995 * min(_reach(z, d_z), _reach(t, d_t)))
        step = min(step_a, step_z)  # the quadratic couples both sides
        a = a + step * d_a
        s = s - step * d_a
        z, t = z + step * d_z, t + step * d_t
        bias += step * d_bias
        if step < 1e-10:
            break
    return a, z, t


def _reach(value: FloatArray, change: FloatArray) -> float:
    """The longest step that keeps `value` from falling below zero."""
    falling = change < 0
    return float((-value[falling] / change[falling]).min()) if falling.any() else 1e300


def _newton(
    weight: FloatArray, K: FloatArray | None, A: FloatArray | None
) -> Callable[[FloatArray], FloatArray]:
    """Solver of ``(K + diag(weight)) x = rhs``."""
    if A is None:
        assert K is not None
        matrix = K.copy()
        matrix[np.diag_indices_from(matrix)] += weight
        factored = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda rhs: linalg.cho_solve(factored, rhs, check_finite=False)
    n, r = A.shape
    inner = np.eye(r)
    chunk = max(1, ROW_CHUNK_BYTES // (8 * max(1, r)))
    for low in range(0, n, chunk):
        part = A[low : low + chunk]
        inner += part.T @ (part / weight[low : low + chunk, None])
    small = linalg.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

    def solve(rhs: FloatArray) -> FloatArray:
        def once(rhs: FloatArray) -> FloatArray:
            scaled = rhs / weight
            return scaled - (A @ linalg.cho_solve(small, A.T @ scaled, check_finite=False)) / weight

        x = once(rhs)
        # Woodbury loses digits when the weights span many orders; one correction wins them back
        return x + once(rhs - weight * x - A @ (A.T @ x))

    return solve
