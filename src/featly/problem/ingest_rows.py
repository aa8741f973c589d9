"""Later rows, read in the same way as the training rows.

A learner and a kernel get one table in ``fit`` and others later. Kinds of columns and levels of
categories are those of the first table, even if a column of whole numbers has fractions in a later
one, has new levels there, or had no values in the first.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_array, validate_data

from featly.basics.errors import Column, DataError, Row
from featly.basics.estimators import BaseEstimator
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.typing import FloatArray, IntArray
from featly.problem.ingest import level_texts, read_numbers
from featly.table.frames import ArrayTable, Table, is_frame, open_table, refuse_shapes
from featly.table.schema import Columns, Schema

__all__ = ["MixedColumns", "MixedReader", "MixedRows", "kinds_as_schema"]


LARGEST = 1e150  # the square of a larger number overflows
HASHED_BITS = 48  # twice such a code is still exact as a float


class MixedColumns:
    """scikit-learn tags of estimators that read mixed columns with missing values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class MixedRows:
    """Rows of a table as numbers and codes.

    Attributes
    ----------
    numbers : float64 array of shape (n_rows, n_numeric)
        Continuous and ordinal columns, missing as NaN.
    codes : int64 array of shape (n_categorical, n_rows)
        0 is missing, 1 to `n_levels` are the levels of the training rows. Larger codes are levels
        that those do not have: equal codes are equal levels, in every table.
    n_levels : int64 array of shape (n_categorical,)
    """

    numbers: FloatArray
    codes: IntArray
    n_levels: IntArray

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.numbers)


class MixedReader:
    """Reader of tables in the same way as the first one.

    Parameters
    ----------
    schema : Schema, dict or None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.

    Attributes
    ----------
    n_features : int
    numeric, categorical : int arrays
        Positions of the columns of numbers and of codes. A column without any value in the
        training rows is read as codes: it may be text in other rows.
    levels : list of dict
        Code of each level, for every categorical column.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import Encoder
    >>> from featly.problem.ingest_rows import MixedReader
    >>> owner, reader = Encoder(), MixedReader(None)
    >>> reader.fit(pl.DataFrame({"age": [40, 60], "sex": ["f", "m"]}), owner).codes
    array([[1, 2]])
    >>> other = reader.read(pl.DataFrame({"age": [50.5, None], "sex": ["m", "x"]}), owner)
    >>> other.numbers[:, 0].tolist(), int(other.codes[0, 0]), bool(other.codes[0, 1] > 2)
    ([50.5, nan], 2, True)
    """

    categorical: IntArray
    numeric: IntArray

    def __init__(self, schema: Schema | dict[str, Any] | None) -> None:
        self.schema = schema
        self._training_schema: Schema | None = None
        self._names: Any = None

    def fit(self, X: Any, owner: BaseEstimator) -> MixedRows:
        """Read the training rows and learn kinds and levels.

        Names and number of columns are set on `owner`, whose ``fit`` this is; errors name it.
        """
        table, X = self._check_table(X, owner, reset=True)
        self.n_features: int = int(owner.n_features_in_)
        self._names = getattr(owner, "feature_names_in_", None)
        self._training_schema = None
        self.levels: list[dict[str, int]] = []
        self.categorical = np.empty(0, np.int64)
        if table is None:
            self.numeric = np.arange(self.n_features)
            numbers = X.astype(np.float64, copy=False)
            codes = np.empty((0, len(numbers)), np.int64)
        else:
            columns = Schema.of(self.schema).resolve(table.names, table.kinds())
            numeric = np.flatnonzero(columns.kinds != CATEGORICAL)
            numbers = _numbers(table, columns)
            empty = np.isnan(numbers).all(axis=0)
            self.numeric, numbers = numeric[~empty], numbers[:, ~empty]
            self.categorical = np.setdiff1d(np.arange(self.n_features), self.numeric)
            codes = np.zeros((len(self.categorical), table.n_rows), np.int64)
            for k, column in enumerate(self.categorical.tolist()):
                codes[k] = self._learn_levels(*level_texts(table, columns, column))
            self._training_schema = kinds_as_schema(table, columns, self.categorical)
        return MixedRows(self._require_finite(numbers), codes, self._n_levels())

    def read(self, X: Any, owner: BaseEstimator) -> MixedRows:
        """Read other rows; errors name `owner`."""
        table, X = self._check_table(X, owner, reset=False)
        if table is None and len(self.categorical):
            table = ArrayTable(X)
        if table is None:
            numbers = self._require_finite(X.astype(np.float64, copy=False))
            return MixedRows(numbers, np.empty((0, len(numbers)), np.int64), self._n_levels())
        # the kinds of the training rows, whatever the dtypes of these are
        schema = self._training_schema or Schema(continuous=self.numeric.tolist())
        columns = schema.resolve(table.names, table.kinds())
        numbers = self._require_finite(_numbers(table, columns))
        codes = np.zeros((len(self.categorical), table.n_rows), np.int64)
        for k, column in enumerate(self.categorical.tolist()):
            column_codes, levels = level_texts(table, columns, column)
            known = self.levels[k]
            new_codes = [known.get(level) or _hash_level(level, len(known)) for level in levels]
            codes[k] = np.array([0, *new_codes], np.int64)[column_codes]
        return MixedRows(numbers, codes, self._n_levels())

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return f"x{column}" if self._names is None else str(self._names[column])

    # ---- parts ------------------------------------------------------------------------------
    def _n_levels(self) -> IntArray:
        return np.array([len(known) for known in self.levels], np.int64)

    def _learn_levels(self, codes: IntArray, levels: list[str]) -> IntArray:
        """Return codes without the levels that no row has, and store the codes of the others."""
        counts = np.bincount(codes, minlength=len(levels) + 1)[1:]
        known = dict(zip(levels, range(1, len(levels) + 1), strict=True))
        if len(known) == len(levels) and counts.all():
            self.levels.append(known)
            return codes
        known = {}
        new_codes = [0]
        for level, count in zip(levels, counts, strict=True):
            new_codes.append(known.setdefault(level, len(known) + 1) if count else 0)
        self.levels.append(known)
        return np.array(new_codes, np.int64)[codes]

    def _check_table(
        self, X: Any, owner: BaseEstimator, *, reset: bool
    ) -> tuple[Table | None, Any]:
        """Return a frame or an array of texts as a table, or an array of numbers."""
        refuse_shapes(X)
        if is_frame(X):
            table = open_table(X)
            validate_data(owner, X, reset=reset, skip_check_array=True)
            for count, unit in ((X.shape[1], "feature"), (X.shape[0], "sample")):
                if count == 0:
                    raise DataError(f"X has 0 {unit}(s): a minimum of 1 is required")
            return table, X
        if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
            X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
        if scipy.sparse.issparse(X):
            X = X.toarray()
        textual = getattr(X, "dtype", np.dtype(float)).kind in "OUST"
        dtype = None if textual else "numeric"
        X = check_array(X, dtype=dtype, ensure_all_finite=False, estimator=owner, input_name="X")
        validate_data(owner, X, reset=reset, skip_check_array=True)
        if X.dtype.kind == "O" and not any(isinstance(v, str) for v in X.flat):
            X, textual = np.where(np.array(None) == X, np.nan, X).astype(np.float64), False
        if textual:
            return open_table(X), X
        return (None if self.schema is None else ArrayTable(X)), X

    def _require_finite(self, numbers: FloatArray) -> FloatArray:
        """Return the same numbers, or raise DataError for one that is too large."""
        with np.errstate(invalid="ignore"):
            huge = np.abs(numbers) > LARGEST
        if huge.any():
            row, column = np.argwhere(huge)[0]
            raise self._too_large_error(numbers[row, column], int(row), int(column))
        return numbers

    def _too_large_error(self, value: float, row: int, column: int) -> DataError:
        name = Column(self.name(int(self.numeric[column])))
        if np.isinf(value):
            return DataError(
                "column ",
                name,
                " has an infinite value (inf) in ",
                Row(row),
                ": correct it, or make it missing",
            )
        return DataError(
            "column ",
            name,
            f" has a value as large as {value:.3g} in ",
            Row(row),
            ", whose square overflows: correct it, or divide the column by a large number",
        )


def _numbers(table: Table, columns: Columns) -> FloatArray:
    values = read_numbers(table, columns)
    if values is None:
        return np.empty((table.n_rows, 0))
    return values.astype(np.float64, copy=False)


def kinds_as_schema(table: Table, columns: Columns, codes: IntArray) -> Schema:
    """Return the kinds of a table's columns as a schema, by position, with ordinal levels."""
    levels = columns.levels
    coded = set(codes.tolist())
    ordinal: dict[str | int, Sequence[Any]] = {
        column: levels[column] if column in levels else table.texts(column)[1]
        for column in np.flatnonzero(columns.kinds == ORDINAL).tolist()
        if column not in coded and (column in levels or columns.inferred[column] != CONTINUOUS)
    }
    continuous = np.setdiff1d(np.arange(len(columns.kinds)), [*codes, *ordinal])
    return Schema(categorical=codes.tolist(), ordinal=ordinal, continuous=continuous.tolist())


def _hash_level(level: str, n_levels: int) -> int:
    """Return a code above those of the training rows, the same for a level in every table."""
    digest = hashlib.blake2b(level.encode(), digest_size=HASHED_BITS // 8).digest()
    return n_levels + 1 + int.from_bytes(digest, "little")
