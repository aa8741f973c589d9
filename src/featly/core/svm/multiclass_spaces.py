"""Rows known by their products or by their columns, as a multiclass machine needs them.

Scores of all rows by some weights, weights from coefficients of the rows, inner products of
weights; and the linear systems of its Newton steps. Arrays of scores and coefficients are
class-major, (n_classes, n_rows).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, split
from featly.core.svm.multiclass_kernels import combine_rows, sweep_gram, sweep_weights

__all__ = ["CHUNK", "Gram", "Point", "Rows", "solve_by_blocks"]


PANEL = 1024  # columns of a matrix that one task works on
CHUNK = 256  # rows of a system that one task works on


@dataclass
class Point:
    """Weights, and the scores of all rows by them, (n_classes, n_rows).

    `form` are the weights themselves, or coefficients of the rows that give them.
    """

    form: FloatArray
    scores: FloatArray

    def move_towards(self, other: "Point", length: float) -> "Point":
        """Move this point towards another by a share of the way."""
        return Point(
            self.form + length * (other.form - self.form),
            self.scores + length * (other.scores - self.scores),
        )

    def minus(self, other: "Point") -> "Point":
        """Return the difference of two points."""
        return Point(self.form - other.form, self.scores - other.scores)


class Gram:
    """Rows known by their products with one another."""

    n_jobs: int | None
    rank: int

    n_weights: float = np.inf

    def __init__(self, K: FloatArray, rank: int, n_jobs: int | None) -> None:
        self.K, self.rank, self.n_jobs = K, rank, n_jobs
        self.size: float = float(np.trace(K)) / len(K)

    def point(self, coef: FloatArray) -> Point:
        """Compute the weights that coefficients of the rows give."""
        return Point(coef, combine_by_blocks(coef, self.K, self.n_jobs))

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two points' weights, summed over classes."""
        return float(np.vdot(a.form, b.scores))

    def sweep(
        self, y: IntArray, C: FloatArray, box: bool, eta: FloatArray, at: Point, count: int
    ) -> None:
        """Solve for every row in turn, `count` times; `at`, the point of `eta`, is updated too."""
        for _ in range(count):
            sweep_gram(self.K, y, C, box, eta, at.scores)

    def block(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Return products of some rows, and the position of each row in them."""
        return self.K, np.arange(len(self.K))


class Rows:
    """Rows themselves: few columns, and nothing n x n."""

    rank: Any
    n_weights: Any
    n_jobs: int | None

    def __init__(self, X: FloatArray, n_jobs: int | None) -> None:
        self.X, self.n_jobs = X, n_jobs
        self.n_weights = self.rank = X.shape[1]
        self.size: float = float(np.vdot(X, X)) / len(X)

    def point(self, coef: FloatArray) -> Point:
        """Compute the weights that coefficients of the rows give."""
        return self.weights(combine_by_blocks(coef, self.X, self.n_jobs))

    def weights(self, W: FloatArray) -> Point:
        """Compute the point of given weights."""
        return Point(W, W @ self.X.T)

    def inner(self, a: Point, b: Point) -> float:
        """Return the inner product of two points' weights, summed over classes."""
        return float(np.vdot(a.form, b.form))

    def sweep(
        self, y: IntArray, C: FloatArray, box: bool, eta: FloatArray, at: Point, count: int
    ) -> None:
        """Solve for every row in turn, `count` times; `at`, the point of `eta`, is updated too."""
        for _ in range(count):
            sweep_weights(self.X, y, C, box, eta, at.form)

    def block(self, rows: IntArray) -> tuple[FloatArray, IntArray]:
        """Return products of some rows, and the position of each row in them."""
        positions = np.zeros(len(self.X), np.int64)
        positions[rows] = np.arange(len(rows))
        part = self.X[rows]
        return part @ part.T, positions


def combine_by_blocks(coef: FloatArray, rows: FloatArray, n_jobs: int | None) -> FloatArray:
    """Compute ``coef @ rows``, quick where most coefficients are zero."""
    out = np.zeros((len(coef), rows.shape[1]))
    parts = split(rows.shape[1], PANEL)
    run_blocks(lambda part: combine_rows(coef, rows, *part, out), parts, n_jobs)
    return out


def solve_by_blocks(H: FloatArray, right: FloatArray, n_jobs: int | None) -> FloatArray | None:
    """Solve a positive definite system given by its lower triangle, which is overwritten.

    Return None where it is not positive definite by rounding errors. The factorisation goes by
    blocks of columns: what is below a block, and right of it, is shared by threads row by row.
    """
    size = len(H)
    if size == 0:
        return right
    for low in range(0, size, CHUNK):
        high = min(low + CHUNK, size)
        block, failed = linalg.lapack.dpotrf(H[low:high, low:high], lower=1)
        if failed:
            return None
        H[low:high, low:high] = block

        def solve_below(part: tuple[int, int], block: FloatArray = block, low: int = low) -> None:
            at, end = (low + len(block) + bound for bound in part)
            panel = H[at:end, low : low + len(block)]
            panel[:] = linalg.blas.dtrsm(1.0, block, panel, side=1, lower=1, trans_a=1)

        def update_right(part: tuple[int, int], low: int = low, high: int = high) -> None:
            at, end = high + part[0], high + part[1]
            H[at:end, high:end] -= H[at:end, low:high] @ H[high:end, low:high].T

        parts = split(size - high, CHUNK)
        run_blocks(solve_below, parts, n_jobs)
        run_blocks(update_right, parts[::-1], n_jobs)  # the longest first
    lower = H.T  # as LAPACK sees it, an upper triangle
    return np.asarray(linalg.lapack.dpotrs(lower, right, lower=0)[0])
