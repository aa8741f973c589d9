"""A linear support vector machine on a Gram matrix that shrinks: exact, and warm at each step."""

from typing import Any

import numpy as np
from scipy import linalg

from featly.basics.typing import AnyArray, FloatArray
from featly.core.svm.active_set import (
    CONVERGED,
    UNBOUNDED,
    downdate_inverse,
    solve_active_set,
)
from featly.core.svm.interior_point import interior_point

__all__ = ["SVMDual", "middle_bias"]


FREE_ROWS = 256  # up to this many rows, and ...
FREE_PRICE = 100.0  # ... where C times the mean of the diagonal is this, all start out free
WORK_SHARE = 8  # n^3 / 8 of the active set's work takes as long as the interior-point method
TINY = float(np.finfo(np.float64).tiny)
DIRECT_INVERSE = 128  # above this many free variables LAPACK inverts, below the active set does


class SVMDual:
    """The dual of a soft-margin SVM with an unpenalised bias, for a sequence of Gram matrices.

    Parameters
    ----------
    y : array of +1.0 and -1.0
    C : array, one positive upper bound a row; infinity is a hard margin

    Attributes
    ----------
    coef : array
        alpha_i y_i of the last solution, so that w = X' coef.
    bias : float
    duality_gap : float
        (primal - dual) / primal objective of the last solution: its certificate.
    n_changes : int
        How many variables changed between free and fixed in the last solve.
    """

    duality_gap: float

    n_changes: Any
    bias: Any

    def __init__(self, y: FloatArray, C: FloatArray, n_jobs: int | None = None) -> None:
        n = len(y)
        self.n_jobs = n_jobs
        self.y = y
        self.C = C
        self.lower: AnyArray = np.where(y > 0, 0.0, -C)
        self.upper: AnyArray = np.where(y > 0, C, 0.0)
        self.coef: FloatArray = np.zeros(n)
        self.bias, self.duality_gap, self.n_changes = 0.0, np.inf, 0
        self._gradient = np.empty(n)
        self._free = np.zeros(n + 1, np.int64)
        self._position = np.full(n, -1)
        self._n_free = self._n_ready = 0
        self._inverse = np.empty((0, 0))
        self._shift = 0.0
        self._cold = True

    def downdate(self, x: FloatArray) -> None:
        """Update the inverse for a Gram matrix that has lost ``x x'``, if it can be kept."""
        if self._n_ready != self._n_free or self._n_free == 0:
            return
        free = self._free[: self._n_free]
        if not downdate_inverse(self._inverse, self._n_free, x[free]):
            self._n_ready = 0

    def forget_inverse(self) -> None:
        """Forget the inverse: the Gram matrix has changed in more than one direction."""
        self._n_ready = 0

    def solve(self, K: FloatArray, rank: int, trace: float | None = None) -> None:
        """Solve for the n x n matrix K of (at most) the given rank, from the last solution."""
        self._solve(K, None, rank, float(np.trace(K)) if trace is None else trace)

    def solve_factor(self, A: FloatArray) -> None:
        """Solve for K = A'A, A of shape (r, n), from its interior; nothing is n x n."""
        self._cold = True
        self._solve(None, A, len(A), float(np.vdot(A, A)))

    def _solve(self, K: FloatArray | None, A: FloatArray | None, rank: int, trace: float) -> None:
        n = len(self.y)
        if trace <= 0:
            self._solve_without_columns()
            return
        if self._cold or not 1 / 16 < trace / n / self._shift < 16:
            self._n_ready = 0  # the shift is part of the inverse
        if self._n_ready == 0:
            self._shift = trace / n
        bounded = bool(np.isfinite(self.C).all())
        budget = np.inf
        if self._cold:
            if n <= FREE_ROWS or not bounded or K is not None:
                free = rank >= n and float(self.C.min()) * self._shift >= FREE_PRICE
                self._start_outside(free and (n <= FREE_ROWS or not bounded))
                if bounded and n > FREE_ROWS:
                    budget = n**3 / WORK_SHARE
            elif not self._start_inside(K, A, rank):
                return
        if self._n_ready == 0 and K is not None:
            self._invert(K, rank)
        status = self._run(K, A, budget)
        poor = status != UNBOUNDED and (status != CONVERGED or self.duality_gap > 1e-6)
        if poor and bounded and self._start_inside(K, A, rank):
            status = self._run(K, A)
        if status == UNBOUNDED:
            raise FloatingPointError("no hyperplane separates the classes")
        self._cold = False

    def _solve_without_columns(self) -> None:
        """Solve K = 0: every row gets the sign of the heavier class, the lighter one pays."""
        positive = self.y > 0
        above, below = self.C[positive].sum(), self.C[~positive].sum()
        paid = min(above, below)
        self.coef[:] = self.y * self.C * np.where(positive, paid / above, paid / below)
        self.bias, self.duality_gap, self.n_changes = (1.0 if above >= below else -1.0), 0.0, 0
        self._cold = True

    def _run(self, K: FloatArray | None, A: FloatArray | None, budget: float = np.inf) -> int:
        need = self._n_free + 1 if K is None else len(self.y)
        if K is None and A is not None:
            need = max(need, len(A) + 3)
        if len(self._inverse) < need:
            grown = np.empty((need, need))
            grown[: self._n_ready, : self._n_ready] = self._inverse[
                : self._n_ready, : self._n_ready
            ]
            self._inverse = grown
        empty = np.empty((0, 0))
        status, self._n_free, self.bias, self.n_changes, primal, dual = solve_active_set(
            empty if K is None else K,
            empty if A is None else A,
            K is None,
            self._shift,
            self.y,
            self.lower,
            self.upper,
            self.coef,
            self._gradient,
            self._free,
            self._position,
            self._inverse,
            self._n_ready,
            self._n_free,
            20 * len(self.y) + 100 if A is None else 20 * len(A) + 100,
            budget,
            1e-10,
        )
        self._n_ready = self._n_free
        # Python's own numbers: the objectives may be infinite, and NumPy's would warn
        primal, dual = float(primal), float(dual)
        self.duality_gap = (primal - dual) / max(abs(primal), TINY)
        return int(status)

    def _set_free(self, free: AnyArray) -> None:
        self._position[:] = -1
        self._position[free] = np.arange(len(free))
        self._free[: len(free)] = free
        self._n_free, self._n_ready = len(free), 0

    def _start_outside(self, free: bool) -> None:
        """Start with all variables free and equal within a class, or with none.

        Where few of them end up between their bounds, as under a small C, starting from none
        takes a change or two a row, each of which costs next to nothing.
        """
        n = len(self.y)
        self.coef[:] = 0
        if not free:
            self._set_free(np.empty(0, np.int64))
            return
        positive = self.y > 0
        per_class = np.where(positive, 1 / positive.sum(), -1 / (~positive).sum())
        slack = np.where(np.isfinite(self.C), self.C, 1.0) / np.abs(per_class)
        self.coef[:] = per_class * min(slack.min() / 2, 1 / self._shift)
        self._set_free(np.arange(n))

    def _start_inside(self, K: FloatArray | None, A: FloatArray | None, rank: int) -> bool:
        """Start from the interior solution, with what is close to a bound put on it.

        Return False where that solution is final: where rows repeat, as in tables of few and coarse
        columns, many more of them lie on the margin than the active set can have free, and to find
        the right ones would take longer than all the rest. The interior solution is within 1e-10 of
        the optimum.
        """
        alpha, at_zero, at_C, bias = interior_point(self.y, self.C, K=K, A=A, n_jobs=self.n_jobs)
        scale = max(float(alpha.max()), TINY)
        zero = at_zero > alpha / scale
        full = (at_C > (self.C - alpha) / scale) & ~zero
        if A is not None and len(alpha) - zero.sum() - full.sum() > rank + 1:
            self._accept(alpha, bias, A)
            return False
        alpha[zero] = 0.0
        alpha[full] = self.C[full]
        self.coef[:] = self.y * alpha
        self._repair_balance(np.flatnonzero(~zero & ~full))
        free = np.flatnonzero((self.coef > self.lower) & (self.coef < self.upper))
        if len(free) > rank + 1:
            # more free variables than the optimum needs; the active set thins them out
            free = free[np.argsort(-np.minimum(alpha, self.C - alpha)[free], kind="stable")]
        self._set_free(free)
        return True

    def _accept(self, alpha: FloatArray, bias: float, A: FloatArray) -> None:
        """Take a solution as it is, with its certificate."""
        self.coef[:] = self.y * alpha
        self._repair_balance(np.arange(len(alpha)))
        values = (A @ self.coef) @ A
        quadratic = float(self.coef @ values) / 2
        loss = float(self.C @ np.maximum(0.0, 1 - self.y * (values + bias)))
        dual = float(np.abs(self.coef).sum()) - quadratic
        self.bias, self.n_changes = bias, 0
        self.duality_gap = (quadratic + loss - dual) / (quadratic + loss)

    def _repair_balance(self, free: AnyArray) -> None:
        """Make the coefficients sum to zero again, moving the free ones first."""
        for members in (free, np.arange(len(self.y))):
            excess = float(self.coef.sum())
            if abs(excess) <= 1e-14 * float(np.abs(self.coef).sum()):
                return
            if len(members) == 0:
                continue
            bound = self.lower if excess > 0 else self.upper
            slack = np.abs(self.coef[members] - bound[members])
            share = min(1.0, abs(excess) / max(float(slack.sum()), TINY))
            self.coef[members] -= np.sign(excess) * share * slack
        self.coef[:] = np.clip(self.coef, self.lower, self.upper)

    def _invert(self, K: FloatArray, rank: int) -> None:
        """Invert the free block by LAPACK where it is large and surely regular."""
        if not DIRECT_INVERSE < self._n_free <= rank:
            return
        free = self._free[: self._n_free]
        block = K[np.ix_(free, free)] + self._shift
        try:
            factor = linalg.cholesky(block, lower=True, overwrite_a=False, check_finite=False)
        except linalg.LinAlgError:
            return
        if (np.diag(factor) ** 2).min() <= 1e-8 * np.diag(block).max():
            return
        inverse, failed = linalg.lapack.dpotri(factor, lower=1)
        if failed:
            return
        if len(self._inverse) < len(self.y):
            self._inverse = np.empty((len(self.y), len(self.y)))
        lower = np.tril(inverse)
        self._inverse[: len(free), : len(free)] = lower + np.tril(lower, -1).T
        self._n_ready = self._n_free


def middle_bias(values: FloatArray, y: FloatArray, C: FloatArray) -> float:
    """Return the bias b of least loss sum_i C_i max(0, 1 - y_i (values_i + b)).

    Where all of an interval is best, its middle: else the bias would depend on the way to the
    solution. The loss bends at b = y_i - values_i, and its slope grows by C_i there.
    """
    bends = y - values
    order = np.argsort(bends, kind="stable")
    slope = np.cumsum(C[order]) - C[y > 0].sum()
    flat = 1e-12 * C.sum()
    best = int(np.argmax(slope >= -flat))
    low = bends[order[best]]
    high = bends[order[best + 1]] if slope[best] <= flat else low
    return float(low + high) / 2
