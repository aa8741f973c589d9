"""Columns of a sparse matrix, compressed by column: what is not stored is zero."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.kinds import CONTINUOUS
from featly.basics.typing import ByteArray, FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import comoments, linear, moments
from featly.core.sources.base import Comoments, Moments, Source, any_infinite

__all__ = ["CSCSource"]

COLUMN_BLOCK = 4096


class CSCSource(Source):
    """Sparse numbers; all features continuous. Nothing is made dense but single tiles.

    Parameters
    ----------
    matrix : scipy.sparse.csc_array or csc_matrix of shape (n_rows, n_features)
    """

    n_features: int
    n_rows: int

    def __init__(self, matrix: scipy.sparse.csc_array, n_jobs: int | None = None) -> None:
        self.matrix = matrix
        self.n_jobs = n_jobs
        self.n_rows, self.n_features = matrix.shape
        self.kinds: ByteArray = np.full(self.n_features, CONTINUOUS)
        self.columns: IntArray = np.arange(self.n_features)
        self.center: FloatArray = np.zeros(self.n_features)
        self.scale: FloatArray = np.ones(self.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers."""
        dtype: np.dtype[Any] = np.dtype(self.matrix.dtype)
        return dtype

    def keys(self, make_key: Callable[..., str]) -> tuple[Any, ...]:
        """Return the arrays of the matrix."""
        matrix = self.matrix
        return matrix.shape, matrix.data, matrix.indices, matrix.indptr

    def has_infinite(self, n_jobs: int | None = None) -> bool:
        """Return whether a stored number of the matrix is infinite."""
        return any_infinite(self.matrix.data, n_jobs)

    def view(self, features: IntArray) -> "CSCSource":
        """Return only these features, in this order; the matrix is shared."""
        part = object.__new__(CSCSource)
        part.__dict__.update(self.__dict__)
        part.n_features = len(features)
        part.kinds = self.kinds[features]
        part.columns = self.columns[features]
        return part

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> "CSCSource":
        """Return only these rows, copied; what is stored stays sparse."""
        matrix = scipy.sparse.csc_array(self.matrix[rows][:, self.columns])
        matrix.sort_indices()
        return CSCSource(matrix, n_jobs)

    def scaled(self, center: FloatArray, scale: FloatArray) -> "CSCSource":
        """Return the columns centred and scaled when read; the shared matrix stays sparse."""
        part = object.__new__(CSCSource)
        part.__dict__.update(self.__dict__)
        part.center, part.scale = self.center.copy(), self.scale.copy()
        part.center[self.columns], part.scale[self.columns] = center, scale
        return part

    def weighted(self, factor: FloatArray) -> "CSCSource":
        """Return the columns, each feature multiplied by its factor; the matrix is shared."""
        part = object.__new__(CSCSource)
        part.__dict__.update(self.__dict__)
        part.scale = self.scale.copy()
        part.scale[self.columns] *= factor
        return part

    def load(self, features: IntArray) -> FloatArray:
        """Load some features, centred and scaled, dense and feature-major."""
        columns = self.columns[features]
        tile = self.matrix[:, columns].toarray().T.astype(np.float64)
        tile -= self.center[columns, None]
        tile *= self.scale[columns, None]
        return np.ascontiguousarray(tile)

    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments by two passes over what is stored."""
        if groups is None:
            groups = np.zeros(self.n_rows, np.int64)
        sizes = np.bincount(groups, minlength=n_groups).astype(np.float64)
        shape = (n_groups, self.matrix.shape[1])
        count, mean, m2 = np.empty(shape), np.empty(shape), np.empty(shape)
        stored = (self.matrix.data, self.matrix.indices, self.matrix.indptr)

        def compute_block(block: tuple[int, int]) -> None:
            moments.moments_csc(*stored, groups, sizes, *block, count, mean, m2)

        run_blocks(compute_block, split(shape[1], COLUMN_BLOCK), self.n_jobs)
        if self.n_features == shape[1] and np.array_equal(self.columns, np.arange(shape[1])):
            return Moments(count, mean, m2)
        return Moments(count[:, self.columns], mean[:, self.columns], m2[:, self.columns])

    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments with those of h by two passes over what is stored."""
        out = Comoments.zeros(self.matrix.shape[1])
        stored = (self.matrix.data, self.matrix.indices, self.matrix.indptr)

        def compute_block(block: tuple[int, int]) -> None:
            comoments.comoments_csc(*stored, h, *block, *out.parts())

        run_blocks(compute_block, split(len(out.count), COLUMN_BLOCK), self.n_jobs)
        return Comoments(*(part[self.columns] for part in out.parts()))

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature: one pass over what is stored."""
        out = np.empty(self.n_features)
        stored = (self.matrix.data, self.matrix.indices, self.matrix.indptr)

        def compute_block(block: tuple[int, int]) -> None:
            linear.forms_csc(*stored, self.columns, v, self.center, self.scale, *block, out)

        run_blocks(compute_block, split(self.n_features, COLUMN_BLOCK), self.n_jobs)
        return out

    def gram(self, features: IntArray | None = None) -> FloatArray:
        """``sum_f s_f^2 (x_f - c_f)(x_f - c_f)'`` from the sparse products, then centred."""
        part = self if features is None else self.view(features)
        weight = self.scale[part.columns]
        matrix = self.matrix[:, part.columns].astype(np.float64)
        matrix = matrix @ scipy.sparse.diags_array(weight)
        center = self.center[part.columns] * weight
        gram: FloatArray = (matrix @ matrix.T).toarray()
        cross = matrix @ center
        gram -= cross[:, None]
        gram -= cross[None, :]
        gram += center @ center
        return gram
