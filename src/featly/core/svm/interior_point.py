"""The support vector machine's dual by an interior-point method: no start needed.

A primal-dual predictor-corrector (Mehrotra 1992) on

    minimise 1/2 a'Qa - 1'a   subject to   y'a = 0,  0 <= a <= C

whose Newton systems have the matrix K + D with D diagonal. With K = A'A given by its r x n
factor they cost O(n r^2) by the Woodbury identity (Ferris and Munson 2002), so a million rows
and few columns are no trouble. It takes some twenty iterations whatever the data, a hundred where
values lie hundreds of standard deviations out. The active set starts from the result and makes
it exact.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from featly.basics.typing import FloatArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["interior_point"]


CHUNK_BYTES = 4 << 20  # rows of a factor that one task works on


def interior_point(
    y: FloatArray,
    C: FloatArray,
    K: FloatArray | None = None,
    A: FloatArray | None = None,
    tolerance: float = 1e-10,
    max_iter: int = 400,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Solve for `a`; return it, and the multipliers of ``a >= 0``, ``a <= C`` and ``y'a = 0``.

    `y` is +1 or -1, `C` one finite positive bound a row; exactly one of `K` and `A` is given.
    """
    with np.errstate(all="ignore"):  # a system out of range ends the loop, below
        return _iterate(y, C, K, A, tolerance, max_iter, n_jobs)


def _iterate(
    y: FloatArray,
    C: FloatArray,
    K: FloatArray | None,
    A: FloatArray | None,
    tolerance: float,
    max_iter: int,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    n = len(y)
    system = _Dense(K) if K is not None else _Factored(A, n_jobs)
    diagonal = system.diagonal()
    size = max(float(diagonal.mean()), np.finfo(float).tiny)
    a = np.minimum(C / 2, 1 / size)
    s = C - a
    z, t = np.ones(n), np.ones(n)
    bias = 0.0
    best, least = (a, z, t, bias), np.inf
    for _ in range(max_iter):
        quadratic = y * system.product(y * a)
        dual = quadratic - 1 + y * bias - z + t
        balance = float(y @ a)
        duality_gap = float(a @ z + s @ t)
        objective = abs(float(a.sum() - a @ quadratic / 2))
        # 1 or less meets the tolerances; rounding in the Newton systems may spoil the last
        # iterations
        excess = max(
            duality_gap / max(objective, 1e-12) / tolerance, float(np.abs(dual).max()) / 1e-9
        )
        if excess < least:
            best, least = (a, z, t, bias), excess
        if excess <= 1 or excess > 1e4 * least:
            break
        mean_gap = duality_gap / (2 * n)
        weight = z / a + t / s
        try:
            solve = system.newton(weight)
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
            # az, st: the wanted changes of the products a z and s t
            a, s, z, t = state
            rhs = y * (-dual + az / a - st / s)
            solved = solve(rhs)
            d_bias = float((solved.sum() + balance) / ones.sum())
            d_a = y * (solved - d_bias * ones)
            return d_a, (az - z * d_a) / a, (st + t * d_a) / s, d_bias

        d_a, d_z, d_t, _ = direction(-a * z, -s * t)
        reach = min(_reach(a, d_a), _reach(s, -d_a), _reach(z, d_z), _reach(t, d_t))
        ahead = float((a + reach * d_a) @ (z + reach * d_z) + (s - reach * d_a) @ (t + reach * d_t))
        target = (ahead / duality_gap) ** 3 * mean_gap
        d_a, d_z, d_t, d_bias = direction(target - a * z - d_a * d_z, target - s * t + d_a * d_t)
        step_a = min(1.0, 0.995 * min(_reach(a, d_a), _reach(s, -d_a)))
        step_z = min(1.0, 0.995 * min(_reach(z, d_z), _reach(t, d_t)))
        step = min(step_a, step_z)  # the quadratic couples both sides
        if not (np.isfinite(step * d_a).all() and np.isfinite(d_bias)):
            break
        a = a + step * d_a
        s = s - step * d_a
        z, t = z + step * d_z, t + step * d_t
        bias += step * d_bias
        if step < 1e-10:
            break
    return best


@kernel
def _reach(value, change):  # type: ignore[no-untyped-def]
    """Return the longest step that keeps `value` from falling below zero."""
    reach = 1e300
    for i in range(len(value)):
        if change[i] < 0:
            reach = min(reach, -value[i] / change[i])
    return reach


class _Dense:
    """Products with K, and Newton systems with K + diag(weight)."""

    def __init__(self, K: FloatArray) -> None:
        self.K = K

    def diagonal(self) -> FloatArray:
        return np.diag(self.K)

    def product(self, b: FloatArray) -> FloatArray:
        return self.K @ b

    def newton(self, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
        matrix = self.K.copy()
        matrix[np.diag_indices_from(matrix)] += weight
        factored = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return lambda rhs: linalg.cho_solve(factored, rhs, check_finite=False)


class _Factored:
    """Products and Newton systems for K = A'A, in O(n r) and O(n r^2), by chunks of rows."""

    def __init__(self, A: FloatArray | None, n_jobs: int | None) -> None:
        assert A is not None
        self.A = A
        self.n_jobs = n_jobs
        r, n = A.shape
        self.chunks = [slice(*c) for c in split(n, max(1, CHUNK_BYTES // (8 * max(1, r))))]

    def diagonal(self) -> FloatArray:
        squares: FloatArray = np.einsum("ij,ij->j", self.A, self.A)
        return squares

    def _weights(self, b: FloatArray) -> FloatArray:
        """Product A b."""
        parts = run_blocks(lambda c: self.A[:, c] @ b[c], self.chunks, self.n_jobs)
        product: FloatArray = np.sum(parts, axis=0)
        return product

    def _values(self, w: FloatArray) -> FloatArray:
        """Product A'w."""
        return np.concatenate(run_blocks(lambda c: w @ self.A[:, c], self.chunks, self.n_jobs))

    def product(self, b: FloatArray) -> FloatArray:
        return self._values(self._weights(b))

    def newton(self, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
        def chunk_gram(c: slice) -> FloatArray:
            columns = self.A[:, c]
            return (columns / weight[c]) @ columns.T

        inner = np.sum(run_blocks(chunk_gram, self.chunks, self.n_jobs), axis=0)
        inner[np.diag_indices_from(inner)] += 1
        small = linalg.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve_once(rhs: FloatArray) -> FloatArray:
            scaled = rhs / weight
            inside = linalg.cho_solve(small, self._weights(scaled), check_finite=False)
            return scaled - self._values(inside) / weight

        def solve(rhs: FloatArray) -> FloatArray:
            x = solve_once(rhs)
            # Woodbury loses digits when the weights span many orders; a correction restores them
            residual = rhs - weight * x - self.product(x)
            if np.abs(residual).max() <= 1e-9 * np.abs(rhs).max():
                return x
            return x + solve_once(residual)

        return solve
