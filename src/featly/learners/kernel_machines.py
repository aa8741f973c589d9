"""Machines on weighted sums of kernels, one for each pair of classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.core.kernels.clinical import add_similarities
from featly.core.kernels.kernel_sets import ColumnKernels, KernelList
from featly.core.kernels.mkl import solve_mkl
from featly.core.runtime.parallel import split
from featly.core.svm.dual import middle_bias
from featly.learners.pairwise_svm import NEAR, ROUNDING

__all__ = ["Columns", "Machine", "Matrices", "check_similarities", "train"]


CHUNK_BYTES = 64 << 20  # of similarities to other rows that are held at a time


@dataclass
class Machine:
    """A fitted machine for two classes.

    Attributes
    ----------
    weights : float array of shape (n_kernels,)
    rows, coef : arrays of the same length
        The support vectors, among the training rows, and their alpha_i y_i.
    bias : float
    least : float
        Margins up to this are rounding errors: which side they fall on would be chance.
    duality_gap : float
        Relative duality gap.
    n_iter : int
    """

    weights: FloatArray
    rows: IntArray
    coef: FloatArray
    bias: float
    least: float
    duality_gap: float
    n_iter: int


def train(
    source: "Columns | Matrices",
    rows: IntArray,
    y: FloatArray,
    C: FloatArray,
    norm: float,
    tolerance: float,
    max_iter: int,
) -> Machine:
    """Learn weights and a machine from some of the training rows, with signs y."""
    weights, coef, values = np.zeros(source.n_kernels), np.zeros(len(rows)), np.zeros(len(rows))
    solution = solve_mkl(
        source.kernels_of(rows), y, C, norm=norm, tolerance=tolerance, max_iter=max_iter
    )
    if solution.forms.any():  # else w = 0 is optimal
        weights, coef, values = solution.weights, solution.coef, solution.values
    summed = 0.01 + float(np.abs(coef).sum()) * source.diagonal(rows, weights)
    support = np.flatnonzero(coef)
    return Machine(
        weights=weights,
        rows=rows[support],
        coef=coef[support],
        bias=middle_bias(values, y, C),
        least=NEAR * float(np.abs(values).max()) + ROUNDING * summed,
        duality_gap=solution.duality_gap,
        n_iter=solution.n_iter,
    )


class Columns:
    """Clinical kernels, one a column, of rows at positions z (columns x rows)."""

    n_rows: Any
    n_kernels: Any
    n_jobs: int | None
    z: FloatArray

    def __init__(self, z: FloatArray, n_jobs: int | None) -> None:
        self.z, self.n_jobs = z, n_jobs
        self.n_kernels, self.n_rows = z.shape

    def kernels_of(self, rows: IntArray) -> ColumnKernels:
        """Return the kernels of some rows."""
        return ColumnKernels(np.ascontiguousarray(self.z[:, rows]), self.n_jobs)

    def diagonal(self, rows: IntArray, weights: FloatArray) -> float:
        """The mean similarity of a row to itself."""
        return float(weights.sum())

    def rows_as_new(self, rows: IntArray) -> FloatArray:
        """Return training rows in the form of new rows."""
        return self.z[:, rows]

    def margins(self, machine: Machine, other: FloatArray) -> FloatArray:
        """Return the margins of rows at new positions."""
        used = np.flatnonzero(machine.weights)
        support = np.ascontiguousarray(self.z[np.ix_(used, machine.rows)])
        values = np.empty(other.shape[1])
        size = max(1, CHUNK_BYTES // (8 * max(1, len(machine.rows))))
        for low, high in split(len(values), size):
            similarity = np.zeros((high - low, len(machine.rows)))
            part = np.ascontiguousarray(other[used, low:high])
            add_similarities(part, support, machine.weights[used], similarity, self.n_jobs)
            values[low:high] = similarity @ machine.coef
        return values + machine.bias

    def for_prediction(self) -> "Columns":
        """Return the source as needed for prediction."""
        return self


class Matrices:
    """Kernels given as Gram matrices."""

    n_rows: int
    n_kernels: int

    def __init__(self, kernels: KernelList) -> None:
        self.kernels: KernelList | None = kernels
        self.n_kernels, self.n_rows = kernels.n_features, kernels.n_rows

    def _stack(self) -> FloatArray:
        assert self.kernels is not None
        return self.kernels.matrices

    def kernels_of(self, rows: IntArray) -> KernelList:
        """Return the kernels of some rows."""
        assert self.kernels is not None
        if len(rows) == self.n_rows:
            return self.kernels
        all_kernels = np.arange(self.n_kernels)
        return KernelList(self._stack()[np.ix_(all_kernels, rows, rows)], self.kernels.n_jobs)

    def diagonal(self, rows: IntArray, weights: FloatArray) -> float:
        """The mean similarity of a row to itself."""
        return float(weights @ self._stack()[:, rows, rows].mean(axis=1))

    def rows_as_new(self, rows: IntArray) -> FloatArray:
        """Return training rows in the form of new rows."""
        return self._stack()[:, rows]

    def margins(self, machine: Machine, other: FloatArray) -> FloatArray:
        """Return the margins of rows from their similarities to the training rows."""
        coef = np.zeros(self.n_rows)
        coef[machine.rows] = machine.coef
        values = np.full(other.shape[1], machine.bias)
        for f in np.flatnonzero(machine.weights):
            values += machine.weights[f] * (other[f] @ coef)
        return values

    def for_prediction(self) -> "Matrices":
        """Drop the Gram matrices, which prediction does not need."""
        self.kernels = None
        return self


def check_similarities(X: Any, n_kernels: int, n_rows: int) -> FloatArray:
    """Check similarities of new rows to the training rows, kernel by kernel, or raise DataError."""
    if len(X) != n_kernels:
        raise DataError(f"X has {len(X)} matrices, the training rows had {n_kernels}")
    for k, matrix in enumerate(X):
        shape = np.shape(matrix)
        if len(shape) != 2 or shape[1] != n_rows or shape[0] != np.shape(X[0])[0]:
            raise DataError(
                f"matrix {k} is of shape {shape}: give similarities of the same new rows to the "
                f"{n_rows} training rows, one of these a column"
            )
    similarities = np.asarray(X, np.float64)
    if not np.isfinite(similarities).all():
        k, row, column = np.argwhere(~np.isfinite(similarities))[0]
        raise DataError(
            f"matrix {k} has {similarities[k, row, column]} at ({row}, {column}): similarities are "
            "finite numbers"
        )
    return similarities
