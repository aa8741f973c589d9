r"""Tables with a bias column, and the products that least squares need of them.

.. math::

    A = [\mathbf 1, Z], \qquad A^\top D A, \quad Z Z^\top, \quad A V, \quad A^\top U

A dense table is read in blocks of rows, so that it need not exist as a whole. A sparse one is
centred in the algebra: :math:`Z = M - \mathbf 1 m^\top` with a sparse M is never made.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, single_threaded_blas, split

__all__ = ["BlockTable", "SparseTable", "Table", "block_rows", "signs"]

Part = Callable[[int, int], FloatArray]  # rows low to high of something

BLOCK_VALUES = 1 << 21  # of a block of rows: 16 MiB
FEWEST_BLOCK_ROWS = 256
TOGETHER = 8  # blocks whose sums wait to be added ...
NARROW = 1024  # ... where a sum of squares is at most this wide


def signs(codes: IntArray, n_classes: int) -> FloatArray:
    """Return targets of rows: a column of -1 and 1 for two classes, for more a column a class.

    Examples
    --------
    >>> import numpy as np
    >>> signs(np.array([0, 1]), 2).T
    array([[-1.,  1.]])
    >>> signs(np.array([0, 2]), 3)
    array([[ 1., -1., -1.],
           [-1., -1.,  1.]])
    """
    wanted = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes[:, None] == wanted, 1.0, -1.0)


def block_rows(n_columns: int) -> int:
    """Return the number of rows of a block with so many columns."""
    return max(FEWEST_BLOCK_ROWS, BLOCK_VALUES // max(n_columns, 1))


class Table(ABC):
    """Rows of numbers Z, and a column of ones before them: A.

    Attributes
    ----------
    n_rows, n_columns : int
        Of Z.
    """

    n_rows: int
    n_columns: int

    @abstractmethod
    def normal_equations(
        self, target: Part, weight: FloatArray | None, count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return A'DA and A'DT on the bias and the first `count` columns, in one pass.

        ``target(low, high)`` gives rows of T; `weight` is the diagonal of D.
        """

    @abstractmethod
    def outer(self, low: int, high: int) -> FloatArray:
        """Product ZZ' of some columns."""

    @abstractmethod
    def multiply(self, V: FloatArray) -> FloatArray:
        """Product AV; where V has fewer rows than A has columns, on the first ones."""

    @abstractmethod
    def multiply_transposed(self, part: Part) -> FloatArray:
        """Product A'U, where ``part(low, high)`` gives rows of U."""

    @abstractmethod
    def to_array(self) -> FloatArray:
        """Z, as an array."""

    @abstractmethod
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of every column."""

    @abstractmethod
    def rescale(self, center: FloatArray, scale: FloatArray) -> "Table":
        """Return the table (Z - center) * scale."""


class BlockTable(Table):
    """A dense table, a block of rows at a time.

    Parameters
    ----------
    rows : callable
        ``rows(low, high)`` gives these rows of Z.
    n_rows, n_columns : int
    """

    n_columns: int
    n_rows: int

    def __init__(self, rows: Part, n_rows: int, n_columns: int) -> None:
        self._rows = rows
        self.n_rows, self.n_columns = n_rows, n_columns
        self._blocks = split(n_rows, block_rows(n_columns))

    @classmethod
    def from_array(cls, Z: FloatArray) -> "BlockTable":
        """Wrap a table that is in memory as a whole."""
        return cls(lambda low, high: Z[low:high], *Z.shape)

    def in_memory(self) -> "BlockTable":
        """Return the same table in memory as a whole, for repeated reading."""
        return BlockTable.from_array(self.to_array())

    def to_array(self) -> FloatArray:
        """Z, as an array."""
        Z = np.empty((self.n_rows, self.n_columns))

        def put(block: tuple[int, int]) -> None:
            Z[slice(*block)] = self._rows(*block)

        run_blocks(put, self._blocks)
        return Z

    def normal_equations(
        self, target: Part, weight: FloatArray | None, count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return A'DA and A'DT, a block at a time."""
        n_outputs = target(0, 1).shape[1]
        root = None if weight is None else np.sqrt(weight)

        def block_products(block: tuple[int, int]) -> FloatArray:
            A, T = np.empty((block[1] - block[0], count + 1)), target(*block)
            A[:, 0] = 1.0
            A[:, 1:] = self._rows(*block)[:, :count]
            if root is not None:
                A *= root[slice(*block), None]
                T = T * root[slice(*block), None]
            # A'A of one array: half the work, and symmetric to the bit
            return np.hstack([A.T @ A, A.T @ T])

        products = self._sum_blocks(block_products, (count + 1, count + 1 + n_outputs))
        return products[:, : count + 1], products[:, count + 1 :]

    def outer(self, low: int, high: int) -> FloatArray:
        """Product ZZ' of some columns, of all rows at once."""
        Z = self._rows(0, self.n_rows)[:, low:high]
        with single_threaded_blas():
            return Z @ Z.T

    def multiply(self, V: FloatArray) -> FloatArray:
        """Product AV."""
        count = len(V) - 1
        out = np.empty((self.n_rows, V.shape[1]))

        def put(block: tuple[int, int]) -> None:
            out[slice(*block)] = self._rows(*block)[:, :count] @ V[1:] + V[0]

        with single_threaded_blas():
            run_blocks(put, self._blocks)
        return out

    def multiply_transposed(self, part: Part) -> FloatArray:
        """Product A'U."""

        def block_product(block: tuple[int, int]) -> FloatArray:
            U = part(*block)
            return np.vstack([U.sum(axis=0), self._rows(*block).T @ U])

        return self._sum_blocks(block_product, (self.n_columns + 1, part(0, 1).shape[1]))

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of every column, in two passes."""
        ones = lambda low, high: np.ones((high - low, 1))  # noqa: E731
        mean = self.multiply_transposed(ones)[1:, 0] / self.n_rows

        def squares(block: tuple[int, int]) -> FloatArray:
            centred = self._rows(*block) - mean
            sums: FloatArray = np.einsum("ij,ij->j", centred, centred)
            return sums

        return mean, self._sum_blocks(squares, (self.n_columns,)) / self.n_rows

    def rescale(self, center: FloatArray, scale: FloatArray) -> "BlockTable":
        """Return the table (Z - center) * scale, block by block."""
        rows = lambda low, high: (self._rows(low, high) - center) * scale  # noqa: E731
        return BlockTable(rows, self.n_rows, self.n_columns)

    def _sum_blocks(
        self, block_value: Callable[[tuple[int, int]], FloatArray], shape: tuple[int, ...]
    ) -> FloatArray:
        """Sum over the blocks in their order, whichever is ready first."""
        total = np.zeros(shape)
        n_waiting = TOGETHER if total.size <= NARROW**2 else 1
        with single_threaded_blas():
            for low, high in split(len(self._blocks), n_waiting):
                for block_sum in run_blocks(block_value, self._blocks[low:high]):
                    total += block_sum
        return total


class SparseTable(Table):
    """A sparse table less a vector: M - 1m'.

    Parameters
    ----------
    matrix : CSR array of float64, shape (n_rows, n_columns)
    shift : float64 array of shape (n_columns,)
        m. What is lost by centring so late is of the order of the rounding times the share of
        stored entries over that of zeros in a column: centre columns without zeros beforehand.
    """

    n_columns: int
    n_rows: int

    def __init__(self, matrix: Any, shift: FloatArray) -> None:
        self._matrix, self._shift = matrix, shift
        self.n_rows, self.n_columns = matrix.shape

    def normal_equations(
        self, target: Part, weight: FloatArray | None, count: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return A'DA and A'DT: those of M, less the terms of m."""
        M, m, T = self._matrix[:, :count], self._shift[:count], target(0, self.n_rows)
        d = np.ones(self.n_rows) if weight is None else weight
        sums, total = M.T @ d, d.sum()
        gram = np.empty((count + 1, count + 1))
        gram[0, 0] = total
        gram[0, 1:] = gram[1:, 0] = sums - total * m
        cross = np.outer(m, sums)
        heavy = M if weight is None else scipy.sparse.diags_array(d) @ M
        gram[1:, 1:] = (M.T @ heavy).toarray() - (cross + cross.T) + total * np.outer(m, m)
        right = d @ T
        return gram, np.vstack([right, heavy.T @ T - np.outer(m, right)])

    def outer(self, low: int, high: int) -> FloatArray:
        """Product ZZ' of some columns."""
        M, m = self._matrix[:, low:high], self._shift[low:high]
        cross = (M @ m)[:, None]
        product: FloatArray = (M @ M.T).toarray() - (cross + cross.T) + m @ m
        return product

    def multiply(self, V: FloatArray) -> FloatArray:
        """Product AV."""
        count = len(V) - 1
        M = self._matrix if count == self.n_columns else self._matrix[:, :count]
        product: FloatArray = M @ V[1:] + (V[0] - self._shift[:count] @ V[1:])
        return product

    def multiply_transposed(self, part: Part) -> FloatArray:
        """Product A'U."""
        U = part(0, self.n_rows)
        total = U.sum(axis=0)
        return np.vstack([total, self._matrix.T @ U - np.outer(self._shift, total)])

    def to_array(self) -> FloatArray:
        """Z, as an array."""
        Z: FloatArray = self._matrix.toarray() - self._shift
        return Z

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of every column; zeros count."""
        M, n, p = self._matrix, self.n_rows, self.n_columns
        mean = np.bincount(M.indices, M.data, minlength=p) / n
        zeros = n - np.bincount(M.indices, minlength=p)
        squares = np.bincount(M.indices, (M.data - mean[M.indices]) ** 2, minlength=p)
        return mean - self._shift, (squares + zeros * mean**2) / n

    def rescale(self, center: FloatArray, scale: FloatArray) -> "SparseTable":
        """Return the table (Z - center) * scale: M * scale less (m + center) * scale."""
        M = self._matrix
        data = M.data * scale[M.indices]
        matrix = scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)
        return SparseTable(matrix, (self._shift + center) * scale)
