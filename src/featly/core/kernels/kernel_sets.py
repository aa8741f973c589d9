"""Sets of kernels on the same rows, with the products that multiple kernel learning needs.

A clinical kernel for every column of a table, where a product with each takes O(n) and no matrix
is made, or any kernels by their Gram matrices. In a kernel of a single column, a missing value has
similarity 0 to everything, itself included: the similarity of 1 to itself, which
:class:`featly.core.kernels.clinical.ClinicalColumns` has, would be a dimension for that row alone.
A machine could memorise rows with such dimensions, and would give columns with many missing values
the largest weights.

Measures of the importance of a kernel come from loops in a fixed order, never from BLAS: equal
kernels must get equal bits.
"""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.core.kernels.clinical import COLUMN_BLOCK, ClinicalColumns, add_product
from featly.core.runtime.jit import kernel, lane_kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = ["ColumnKernels", "KernelList", "Kernels", "ScaledKernels", "column_kernels"]


ROUNDING = 1e-12  # cosines between a column and the dual solution below this are zero

# mypy: disable-error-code="no-untyped-def"


class Kernels(Protocol):
    """Kernels on the same rows, as the solver needs them."""

    n_rows: int
    n_jobs: int | None

    @property
    def n_features(self) -> int:
        """Number of kernels."""

    @property
    def rank(self) -> int:
        """Upper bound of the rank of their sum."""

    def view(self, features: IntArray) -> Self:
        """Select these kernels."""

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` of every kernel; exactly 0 where it is a rounding error of that."""

    def product(self, v: FloatArray, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f K_f v``."""

    def products(self, v: FloatArray, low: int, high: int) -> FloatArray:
        """``K_f v`` for f from `low` to `high`, one a row."""

    def gram(self, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f K_f``."""


class ColumnKernels(ClinicalColumns):
    """A clinical kernel for every column, without the similarity of a missing value to itself.

    See :class:`featly.core.kernels.clinical.ClinicalColumns`; still positive semi-definite.
    """

    @classmethod
    def from_source(cls, source: Source) -> "ColumnKernels":
        """Sort the columns of a source, with the ranges of its own rows."""
        kernels = super().from_source(source)
        assert isinstance(kernels, cls)
        return kernels

    def view(self, features: IntArray) -> "ColumnKernels":
        """Select these columns, in this order; nothing is copied."""
        kernels = object.__new__(ColumnKernels)
        kernels.__dict__.update(super().view(features).__dict__)
        return kernels

    def forms(self, v: FloatArray, include_missing: bool = False) -> FloatArray:
        """``v' K_f v`` of every column, in O(n p).

        Where the optimum is zero, the computed one is a sum of squares of rounding errors; without
        a limit, columns would be ordered by those.
        """
        forms = super().forms(v, include_missing)
        forms[forms <= ROUNDING**2 * float(v @ v) * self.n_rows] = 0.0
        return forms

    def products(self, v: FloatArray, low: int, high: int) -> FloatArray:
        """``K_f v`` for columns from `low` to `high`, one a row, in O(n) each."""
        out = np.empty((high - low, self.n_rows))

        def fill_block(block: tuple[int, int]) -> None:
            places = self._places[low + block[0] : low + block[1]]
            _fill_products(self._order, self._line, places, v, out[slice(*block)])

        run_blocks(fill_block, split(high - low, COLUMN_BLOCK), self.n_jobs)
        return out

    def product(self, v: FloatArray, weight: FloatArray | None = None) -> FloatArray:
        """``sum_f weight_f K_f v`` in O(n p), without the matrix; weights are 1 if not given."""
        return super().product(v, weight) - self._missing_weight(weight) * v

    def gram(
        self,
        weight: FloatArray | None = None,
        features: IntArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """``sum_f weight_f K_f``, of all columns or some; added to `out` if given."""
        gram = super().gram(weight, features, out)
        selected = self if features is None else self.view(features)
        gram[np.diag_indices_from(gram)] -= selected._missing_weight(weight)
        return gram

    def _missing_weight(self, weight: FloatArray | None) -> FloatArray:
        """Return the weight of the columns with a missing value, for every row."""
        weights = np.ones(self.n_features) if weight is None else weight
        out = np.zeros(self.n_rows)
        _add_missing_weight(self._order, self._line, self._places, weights, out)
        return out


@question(disk=False, gpu="featly.core.kernels.clinical_cuda")
def column_kernels(source: Source) -> Any:
    """Return a clinical kernel for every column of a source."""
    return ColumnKernels.from_source(source)


@kernel
def _fill_products(order, line, places, v, out):
    along = np.empty(len(v))
    unit = 1.0 + 0.0 * len(v)  # a plain 1.0 would have the loop compiled once more, for that case
    for k in range(len(places)):
        rows, z = order[places[k]], line[places[k]]
        out[k] = 0.0
        add_product(rows, z, v, unit, along, out[k])
        for i in range(len(rows)):
            if z[i] >= 0.0:  # missing values come first
                break
            out[k, rows[i]] = 0.0


@kernel
def _add_missing_weight(order, line, places, weight, out):
    for k in range(len(places)):
        rows, z = order[places[k]], line[places[k]]
        for i in range(len(rows)):
            if z[i] >= 0.0:  # missing values come first
                break
            out[rows[i]] += weight[k]


class KernelList:
    """Kernels given by their Gram matrices.

    Parameters
    ----------
    matrices : sequence of (n, n) arrays, or array of shape (m, n, n)
        Symmetric and positive semi-definite. An array of float64 is not copied.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    matrices : float64 array of shape (m, n, n)

    Examples
    --------
    >>> import numpy as np
    >>> KernelList([np.eye(2), np.ones((2, 2))]).forms(np.array([1.0, -1.0]))
    array([2., 0.])
    """

    def __init__(
        self, matrices: Sequence[npt.ArrayLike] | FloatArray, n_jobs: int | None = None
    ) -> None:
        self.matrices: FloatArray = _check_matrices(matrices)
        self.n_jobs = n_jobs
        self.n_rows: int = int(self.matrices.shape[1])
        self._roots = np.sqrt(np.diagonal(self.matrices, axis1=1, axis2=2).clip(0))
        self._places = np.arange(len(self.matrices))

    @property
    def n_features(self) -> int:
        """Number of kernels."""
        return len(self._places)

    @property
    def rank(self) -> int:
        """Upper bound of the rank of their sum."""
        return self.n_rows

    def view(self, features: IntArray) -> "KernelList":
        """Select these kernels, in this order; nothing is copied."""
        kernels = object.__new__(KernelList)
        kernels.__dict__.update(self.__dict__)
        kernels._places = self._places[features]
        return kernels

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` of every kernel; DataError if one is negative."""
        forms = np.empty(self.n_features)

        def fill_block(block: tuple[int, int]) -> None:
            for k in range(*block):
                forms[k] = _quadratic_form(self.matrices[self._places[k]], v)

        run_blocks(fill_block, split(self.n_features, 8), self.n_jobs)
        most = (self._roots[self._places] @ np.abs(v)) ** 2
        if (forms < -1e-9 * most).any():
            worst = int(np.argmin(forms))
            raise DataError(
                f"kernel {self._places[worst]} is not positive semi-definite: v'Kv is "
                f"{forms[worst]:.3g} for some v; add a multiple of the identity, or clip its "
                "spectrum"
            )
        forms[forms <= 1e-14 * most] = 0.0
        return forms

    def products(self, v: FloatArray, low: int, high: int) -> FloatArray:
        """``K_f v`` for kernels from `low` to `high`, one a row."""
        out = np.empty((high - low, self.n_rows))

        def fill_block(block: tuple[int, int]) -> None:
            for k in range(*block):
                np.matmul(self.matrices[self._places[low + k]], v, out=out[k])

        run_blocks(fill_block, split(high - low, 8), self.n_jobs)
        return out

    def product(self, v: FloatArray, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f K_f v``."""
        return weight @ self.products(v, 0, self.n_features)

    def gram(self, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f K_f``."""
        out = np.zeros((self.n_rows, self.n_rows))

        def fill_rows(block: tuple[int, int]) -> None:
            part = slice(*block)
            for f, w in zip(self._places, weight, strict=True):
                out[part] += w * self.matrices[f, part]

        run_blocks(fill_rows, split(self.n_rows, max(32, -(-self.n_rows // 8))), self.n_jobs)
        return out


class ScaledKernels:
    """Kernels times factors: ``d_f K_f``.

    Parameters
    ----------
    kernels : Kernels
    factors : positive float array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> kernels = ScaledKernels(KernelList([np.eye(2), np.ones((2, 2))]), np.array([3.0, 1.0]))
    >>> kernels.forms(np.array([1.0, 1.0]))
    array([6., 4.])
    """

    n_jobs: int | None
    n_rows: int
    factors: FloatArray
    kernels: Kernels

    def __init__(self, kernels: Kernels, factors: FloatArray) -> None:
        self.kernels, self.factors = kernels, factors
        self.n_rows, self.n_jobs = kernels.n_rows, kernels.n_jobs

    @property
    def n_features(self) -> int:
        """Number of kernels."""
        return self.kernels.n_features

    @property
    def rank(self) -> int:
        """Upper bound of the rank of their sum."""
        return self.kernels.rank

    def view(self, features: IntArray) -> "ScaledKernels":
        """Select these kernels, in this order; nothing is copied."""
        return ScaledKernels(self.kernels.view(features), self.factors[features])

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' d_f K_f v`` of every kernel; exactly 0 where it is a rounding error of that."""
        return self.factors * self.kernels.forms(v)

    def products(self, v: FloatArray, low: int, high: int) -> FloatArray:
        """``d_f K_f v`` for kernels from `low` to `high`, one a row."""
        return self.factors[low:high, None] * self.kernels.products(v, low, high)

    def product(self, v: FloatArray, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f d_f K_f v``."""
        return self.kernels.product(v, weight * self.factors)

    def gram(self, weight: FloatArray) -> FloatArray:
        """``sum_f weight_f d_f K_f``."""
        return self.kernels.gram(weight * self.factors)


@lane_kernel
def _quadratic_form(K, v):
    form = 0.0
    for i in range(len(v)):
        row, total = K[i], 0.0
        for j in range(len(v)):
            total += row[j] * v[j]
        form += v[i] * total
    return form


def _check_matrices(matrices: Any) -> FloatArray:
    """Check Gram matrices and return them as one array; DataError for the first invalid one."""
    if len(matrices) == 0:
        raise DataError("there is no kernel: give at least one Gram matrix")
    size: tuple[int, ...] | None = None
    for k, matrix in enumerate(matrices):
        K = np.asarray(matrix)
        if K.ndim != 2 or K.shape[0] != K.shape[1] or K.dtype.kind not in "fiub":
            raise DataError(
                f"kernel {k} is an array of shape {K.shape} and type {K.dtype}: give a square "
                "matrix of numbers"
            )
        if size is not None and K.shape != size:
            raise DataError(
                f"kernel {k} has shape {K.shape}, kernel 0 has shape {size}: give matrices of the "
                "same rows"
            )
        size = K.shape
    stack = np.ascontiguousarray(matrices, np.float64)
    for k, K in enumerate(stack):
        most = np.abs(K).max(initial=0.0)
        if not np.isfinite(most):
            row, column = np.argwhere(~np.isfinite(K))[0]
            raise DataError(
                f"kernel {k} has {K[row, column]} at ({row}, {column}): similarities must be "
                "finite numbers"
            )
        off = np.abs(K - K.T).max(initial=0.0)
        if off > 1e-8 * most:
            raise DataError(f"kernel {k} is not symmetric: entries differ by up to {off:.3g}")
        if (np.diagonal(K) < 0).any():
            row = int(np.argmin(np.diagonal(K)))
            raise DataError(
                f"kernel {k} is not positive semi-definite: row {row} has similarity "
                f"{K[row, row]:.3g} to itself"
            )
    return stack
