"""Tables as encoded rows for linear learners: dense ones in blocks, sparse ones kept sparse.

Both are encoded as by :class:`featly.learners.Encoder`. A dense table is encoded a block of rows at
a time, so its encoding never exists as a whole unless it is read twice. A sparse one keeps its
zeros: means are subtracted in the algebra.
"""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array, validate_data

from featly.basics.errors import Column, DataError, Row, SchemaError
from featly.basics.estimators import BaseEstimator
from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.basics.typing import AnyArray, FloatArray
from featly.core.models.least_squares import LARGEST_SYSTEM
from featly.core.models.least_squares_tables import BlockTable, SparseTable, Table, block_rows
from featly.learners.encoding import Encoder
from featly.problem.ingest_rows import LARGEST
from featly.table.frames import DefaultNames, is_frame, library_of, open_table
from featly.table.schema import Schema

__all__ = ["EncodedRows"]


class EncodedRows:
    """Reader of tables as encoded rows, always with the encoding of the first one.

    Parameters
    ----------
    standardize : bool
        Divide by standard deviations.
    schema : Schema, dict or None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.
    growing : bool, default=False
        More training rows may come: a number that is constant so far is centred only, as else it
        would stay 0.

    Attributes
    ----------
    starts : int array of shape (n_features + 1,)
        Column j of a table is ``starts[j]:starts[j + 1]`` of its encoding.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import Encoder
    >>> rows = EncodedRows(True, None)
    >>> table = rows.fit(np.array([[1.0, 7.0], [3.0, 7.0]]), Encoder())
    >>> table.multiply(np.array([[0.5], [1.0], [1.0]])).ravel().tolist()
    [-0.5, 1.5]
    """

    starts: AnyArray
    growing: bool
    schema: Schema | dict[str, Any] | None
    standardize: bool

    def __init__(
        self, standardize: bool, schema: Schema | dict[str, Any] | None, *, growing: bool = False
    ) -> None:
        self.standardize, self.schema, self.growing = standardize, schema, growing

    def fit(self, X: Any, owner: Any) -> Table:
        """Learn the encoding, and read the training rows.

        Names and number of columns are noted on `owner`, whose ``fit`` this is.
        """
        self._encoder: Encoder | None = None
        if scipy.sparse.issparse(X):
            return self._fit_sparse(X, owner)
        encoder = Encoder(standardize=self.standardize, schema=self.schema).fit(X)
        if self.growing:
            encoder.scale_ = np.where(encoder.scale_ == 0, 1.0, encoder.scale_)
        self._encoder, self.starts = encoder, encoder.starts_
        owner.n_features_in_ = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            owner.feature_names_in_ = encoder.feature_names_in_
        elif hasattr(owner, "feature_names_in_"):
            del owner.feature_names_in_
        return self._blocks(X, owner)

    def read(self, X: Any, owner: BaseEstimator) -> Table:
        """Read other rows; errors name `owner`."""
        if self._encoder is None:
            return self._encode_sparse(self._read_sparse(X, owner, reset=False))
        if scipy.sparse.issparse(X):
            X = X.tocsr()
        return self._blocks(X, owner)

    # ---- dense ------------------------------------------------------------------------------
    def _blocks(self, X: Any, owner: BaseEstimator) -> BlockTable:
        encoder, width = self._encoder, int(self.starts[-1])
        assert encoder is not None
        is_list = not is_frame(X) and len(getattr(X, "shape", ())) != 2
        # a list and a part of it may become arrays of different dtypes
        if is_list or X.shape[0] <= block_rows(width):
            return BlockTable.from_array(encoder.transform_for(owner, X))

        def encode_block(low: int, high: int) -> FloatArray:
            try:
                return encoder.transform_for(owner, _rows(X, low, high))
            except DataError:
                encoder.transform_for(owner, X)  # its error names the row of the whole table
                raise

        n = X.shape[0]
        table = BlockTable(encode_block, n, width)
        is_reread = n <= width or min(n, width + 1) > LARGEST_SYSTEM
        return table.in_memory() if is_reread else table

    # ---- sparse -----------------------------------------------------------------------------
    def _fit_sparse(self, X: Any, owner: BaseEstimator) -> SparseTable:
        matrix = self._read_sparse(X, owner, reset=True)
        n, p = matrix.shape
        self._refuse_kinds(p)
        columns, data = matrix.indices, matrix.data
        missing = np.isnan(data)
        n_stored = np.bincount(columns, minlength=p)
        n_known = n - np.bincount(columns[missing], minlength=p)
        lowest, highest = np.full(p, np.inf), np.full(p, -np.inf)
        np.minimum.at(lowest, columns[~missing], data[~missing])
        np.maximum.at(highest, columns[~missing], data[~missing])
        n_zeros = n - n_stored
        lowest = np.where(n_zeros > 0, np.minimum(lowest, 0.0), lowest)
        highest = np.where(n_zeros > 0, np.maximum(highest, 0.0), highest)
        filled = np.where(missing, 0.0, data)
        mean = np.bincount(columns, filled, minlength=p) / np.maximum(n_known, 1)
        constant = (highest <= lowest) | (n_known == 0)
        center = np.where(constant & (n_known > 0), lowest, mean)
        deviations = np.where(missing, 0.0, data - center[columns])
        squares = np.bincount(columns, deviations**2, minlength=p) + n_zeros * center**2
        deviation = np.sqrt(squares / np.maximum(n_known, 1))
        useful = ~constant & (deviation > 0)
        unit = 1 / np.where(useful, deviation, 1.0) if self.standardize else np.ones(p)
        self._scale = unit if self.growing else np.where(useful, unit, 0.0)
        self._center, self.starts = center, np.arange(p + 1)
        return self._encode_sparse(matrix)

    def _encode_sparse(self, matrix: Any) -> SparseTable:
        """Encode rows: centre columns without zeros as stored, the others in the algebra."""
        columns, (n, p) = matrix.indices, matrix.shape
        is_full = np.bincount(columns, minlength=p) == n
        deferred_center = np.where(is_full, 0.0, self._center)
        missing = np.isnan(matrix.data)
        data = (
            np.where(missing, self._center[columns], matrix.data)
            - (self._center - deferred_center)[columns]
        )
        encoded = scipy.sparse.csr_array(
            (data * self._scale[columns], columns, matrix.indptr), shape=(n, p)
        )
        return SparseTable(encoded, deferred_center * self._scale)

    def _read_sparse(self, X: Any, owner: BaseEstimator, *, reset: bool) -> Any:
        if is_frame(X):
            validate_data(owner, X, reset=reset, skip_check_array=True)
            X = open_table(X).numbers(range(X.shape[1]))
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=np.float64,
            ensure_all_finite=False,
            estimator=owner,
            input_name="X",
        )
        validate_data(owner, X, reset=reset, skip_check_array=True)
        matrix = scipy.sparse.csr_array(X)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        huge = np.abs(matrix.data) > LARGEST  # NaN is not
        if huge.any():
            index = int(np.flatnonzero(huge)[0])
            value, column = matrix.data[index], matrix.indices[index]
            row = int(np.searchsorted(matrix.indptr, index, side="right")) - 1
            fault = (
                "is infinite (inf)" if np.isinf(value) else f"is {value:.3g}: its square overflows"
            )
            raise DataError(
                "column ",
                Column(f"x{column}"),
                f" {fault} in ",
                Row(row),
                ": correct the value, or make it missing",
            )
        return matrix

    def _refuse_kinds(self, n_columns: int) -> None:
        names = DefaultNames(n_columns)
        columns = Schema.of(self.schema).resolve(names, np.full(n_columns, CONTINUOUS))
        odd = columns.kinds == CATEGORICAL
        odd[list(columns.levels)] = True
        if odd.any():
            raise SchemaError(
                "column ",
                Column(names[int(np.flatnonzero(odd)[0])]),
                " of a sparse table cannot have levels: pass the table dense, or leave the column "
                "continuous",
            )


def _rows(X: Any, low: int, high: int) -> Any:
    """Return some rows of a table, in its own form."""
    library = library_of(X)
    if library == "pandas":
        return X.iloc[low:high]
    if library == "pyarrow":
        return X.slice(low, high - low)
    if library == "other":
        import narwhals as nw

        return nw.from_native(X, eager_only=True)[low:high].to_native()
    return X[low:high]
