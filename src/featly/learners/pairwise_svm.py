"""Support vector machines for every pair of classes, with duality gaps and rounding limits."""

from itertools import combinations

import numpy as np

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.svm.dual import SVMDual, middle_bias

__all__ = ["PairMachine", "pair_machines"]


NEAR = 1e-6  # a margin of this share of the largest one is none ...
ROUNDING = 1e-12  # ... nor is one of this share of what was summed up to it


def pair_machines(codes: AnyArray, n_classes: int, prices: FloatArray) -> list["PairMachine"]:
    """Make a machine for every pair of classes."""
    return [PairMachine(codes, pair, prices) for pair in combinations(range(n_classes), 2)]


class PairMachine:
    """The machine of one pair of classes; each solution starts from the last one.

    Attributes
    ----------
    rows : int array
        The training rows of the two classes.
    coef : float array
        alpha_i y_i of those rows.
    bias, duality_gap, least : float
        Bias, relative duality gap, and the margin below which a row is on neither side.
    """

    bias: float
    duality_gap: float
    least: float

    def __init__(self, codes: AnyArray, pair: tuple[int, int], prices: FloatArray) -> None:
        self.rows: IntArray = np.flatnonzero(np.isin(codes, pair))
        self.y: AnyArray = np.where(codes[self.rows] == pair[1], 1.0, -1.0)
        self.C = prices[self.rows]
        self.dual: SVMDual = SVMDual(self.y, self.C)
        self.bias = self.duality_gap = self.least = 0.0

    @property
    def coef(self) -> FloatArray:
        """alpha_i y_i, so that w = Z' coef."""
        return self.dual.coef

    def solve(self, K: FloatArray, cross: FloatArray, rank: int) -> FloatArray:
        """Solve for the Gram matrix of all training rows; return margins of other rows.

        `cross` are the products of the other rows with all training rows.
        """
        if len(self.rows) < len(K):
            K, cross = np.ascontiguousarray(K[np.ix_(self.rows, self.rows)]), cross[:, self.rows]
        self.dual.forget_inverse()
        self.dual.solve(K, rank)
        self.certify(K @ self.coef, float(np.trace(K)))
        return cross @ self.coef + self.bias

    def solve_factor(self, A: FloatArray, other: FloatArray) -> FloatArray:
        """Solve for K = A'A of this machine's rows; `other` is rows x columns."""
        self.dual.solve_factor(A)
        w = A @ self.coef
        self.certify(w @ A, float(np.vdot(A, A)))
        return other @ w + self.bias

    def certify(self, values: FloatArray, trace: float) -> None:
        """Set bias, duality gap and least margin from w . z of the training rows."""
        self.bias = middle_bias(values, self.y, self.C)
        quadratic = float(self.coef @ values) / 2
        loss = float(self.C @ np.maximum(0.0, 1 - self.y * (values + self.bias)))
        dual = float(np.abs(self.coef).sum()) - quadratic
        self.duality_gap = (quadratic + loss - dual) / (quadratic + loss)
        # smaller margins are rounding errors: which side they fall on would be chance
        summed = 0.01 + float(np.abs(self.coef).sum()) * trace / len(self.rows)
        self.least = NEAR * float(np.abs(values).max()) + ROUNDING * summed
