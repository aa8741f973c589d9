r"""Mixed columns as numbers, with everything learnt from the training rows.

.. math::

    z_{ij} = \frac{x_{ij} - \bar x_j}{s_j}, \qquad
    z_{ijl} = \frac{[x_{ij} = l] - p_{jl}}{\sqrt{1 - \sum_l p_{jl}^2}}
    \text{ for a level } l \text{ of a categorical column,}

so that every column has mean 0 and total variance 1, whatever its kind and its units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_array,
    check_is_fitted,
    validate_data,
)

from featly.errors import DataError
from featly.frames import ArrayTable, Table, is_frame, open_table, refuse_shapes
from featly.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.reading import Reading, read
from featly.schema import Columns, Schema

__all__ = ["Encoder"]

FloatArray = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

LARGEST = 1e150  # a number whose square still is one


@dataclass(frozen=True)
class _Block:
    """What the training rows said of one categorical column."""

    column: int
    levels: dict[str, int]
    frequency: FloatArray
    scale: float

    @property
    def width(self) -> int:
        """Columns of the outcome; one of zeros where the training rows have no level at all."""
        return max(1, len(self.levels))


class Encoder(TransformerMixin, BaseEstimator):
    r"""Turn mixed columns into numbers of mean 0 and variance 1.

    A continuous or ordinal column is one number; a categorical one is an indicator for each level
    that the training rows have, and all of them share one scale. A missing value counts as the
    average of its column, and a level that the training rows do not have as none of the levels.
    A column that is constant or empty in the training rows is 0. Kinds, means, variances and
    levels are those of the rows that ``fit`` has seen, so no test row has a say in them.

    Parameters
    ----------
    standardize : bool, default=True
        Divide by the standard deviation. Without it columns are centred only.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.

    Attributes
    ----------
    starts_ : int array of shape (n_columns + 1,)
        Column j of the table is ``starts_[j]:starts_[j + 1]`` of the outcome.
    center_, scale_ : float arrays
        Of the numeric columns.

    See Also
    --------
    featly.learners.LinearSVM : A classifier on columns so encoded.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import Encoder
    >>> encoder = Encoder().fit(pl.DataFrame({"age": [40, 60], "sex": ["f", "m"]}))
    >>> encoder.transform(pl.DataFrame({"age": [50, None], "sex": ["f", "x"]})).round(2)
    array([[ 0.  ,  0.71, -0.71],
           [ 0.  , -0.71, -0.71]])
    """

    def __init__(
        self, *, standardize: bool = True, schema: Schema | dict[str, Any] | None = None
    ) -> None:
        self.standardize = standardize
        self.schema = schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn kinds, levels, means and variances.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : ignored
            It is there for pipelines.

        Returns
        -------
        self
        """
        table, X = self._checked(X, self, reset=True)
        self._schema: Schema | None = None
        self._blocks: list[_Block] = []
        if table is None:
            self._numeric = np.arange(X.shape[1])
            numbers = self._finite(X.astype(np.float64, copy=False))
        else:
            reading = read(table, Schema.of(self.schema))
            numeric = np.flatnonzero(reading.columns.kinds != CATEGORICAL)
            numbers = reading.source.load(numeric).T
            empty = np.isnan(numbers).all(axis=0)
            self._numeric = numeric[~empty]
            numbers = self._finite(numbers[:, ~empty])
            # an empty column has no kind yet: it may be text in other rows
            codes = np.setdiff1d(np.arange(self.n_features_in_), self._numeric)
            self._blocks = [self._block(table, reading.columns, int(column)) for column in codes]
            self._schema = _as_read(table, reading.columns, codes)
        self._first, self._mean, variance = _moments(numbers)
        self.center_, self.scale_ = self._first + self._mean, self._unit(variance)
        widths = np.ones(self.n_features_in_, np.int64)
        for block in self._blocks:
            widths[block.column] = block.width
        self.starts_ = np.concatenate([[0], np.cumsum(widths)])
        return self

    def transform(self, X: Any) -> FloatArray:
        """The table as numbers.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        Z : float64 array of shape (n_rows, starts_[-1])
        """
        check_is_fitted(self)
        return self.transform_for(self, X)

    def transform_for(self, owner: BaseEstimator, X: Any) -> FloatArray:
        """The same for a learner that has an encoder inside: what is wrong with X is its matter.

        Parameters
        ----------
        owner : estimator
            Fitted on the same columns; errors and warnings speak of it.
        X : data frame, array or sparse matrix

        Returns
        -------
        Z : float64 array
        """
        table, X = self._checked(X, owner, reset=False)
        if table is None and self._blocks:
            table = ArrayTable(X)
        if table is None:
            return self._scaled(X.astype(np.float64, copy=False))
        reading = self._read(table)
        scaled = self._scaled(reading.source.load(self._numeric).T)
        if not self._blocks:
            return scaled
        out = np.zeros((len(scaled), self.starts_[-1]))
        out[:, self.starts_[:-1][self._numeric]] = scaled
        for block in self._blocks:
            low = self.starts_[block.column]
            codes, levels = _levels(table, reading.columns, block.column)
            out[:, low : low + len(block.levels)] = _indicators(codes, levels, block)
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Names of the outcome: the column's, or ``column=level``.

        Parameters
        ----------
        input_features : sequence of str or None
            Names of the columns, where ``fit`` has seen none.

        Returns
        -------
        names : object array
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        levels: dict[int, list[str | None]] = {
            block.column: list(block.levels) for block in self._blocks
        }
        return np.array(
            [
                name if level is None else f"{name}={level}"
                for column, name in enumerate(names)
                for level in levels.get(column) or [None]
            ],
            dtype=object,
        )

    # ---- reading ----------------------------------------------------------------------------
    def _checked(self, X: Any, owner: BaseEstimator, *, reset: bool) -> tuple[Table | None, Any]:
        """A frame or an array of texts as a table, or an array of numbers."""
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

    def _read(self, table: Table) -> Reading:
        """Other rows, read as the training rows were: their own dtypes have no say."""
        return read(table, self._schema or Schema(continuous=self._numeric.tolist()))

    def _finite(self, numbers: FloatArray) -> FloatArray:
        """The same numbers, or DataError for one that is too large."""
        with np.errstate(invalid="ignore"):
            huge = np.abs(numbers) > LARGEST
        if huge.any():
            row, column = np.argwhere(huge)[0]
            self._blame(numbers[row, column], int(row), int(column))
        return numbers

    def _blame(self, value: float, row: int, column: int) -> None:
        name = self._name(int(self._numeric[column]))
        if np.isinf(value):
            raise DataError(
                f"column {name!r} has an infinite value (inf) in row {row}: correct it, or make "
                "it missing"
            )
        raise DataError(
            f"column {name!r} has a value as large as {value:.3g} in row {row}, whose square "
            "overflows: correct it, or divide the column by a large number"
        )

    def _name(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"x{column}" if names is None else str(names[column])

    # ---- learning ---------------------------------------------------------------------------
    def _block(self, table: Table, columns: Columns, column: int) -> _Block:
        codes, levels = _levels(table, columns, column)
        counts: dict[str, int] = {}
        for level, count in zip(
            levels, np.bincount(codes, minlength=len(levels) + 1)[1:], strict=True
        ):
            if count:
                counts[level] = counts.get(level, 0) + int(count)
        frequency = np.array(list(counts.values()), np.float64) / max(sum(counts.values()), 1)
        variance = 1 - float(frequency @ frequency) if len(counts) > 1 else 0.0
        return _Block(
            column,
            {level: place for place, level in enumerate(counts)},
            frequency,
            float(self._unit(np.array([variance]))[0]),
        )

    def _unit(self, variance: FloatArray) -> FloatArray:
        """What to multiply by; columns that do not vary become 0."""
        varies = variance > 0
        if not self.standardize:
            return varies.astype(np.float64)
        return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)

    def _scaled(self, numbers: FloatArray) -> FloatArray:
        scaled = (self._finite(numbers) - self._first - self._mean) * self.scale_
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def _moments(numbers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A first value of every column, mean and variance of the differences from it; no gaps.

    Summed so, a constant column has variance 0 exactly, however many rows it has, and an offset
    costs no digits.
    """
    gaps = np.isnan(numbers)
    first = numbers[gaps.argmin(axis=0), np.arange(numbers.shape[1])]
    first[np.isnan(first)] = 0.0
    offset = np.where(gaps, 0.0, numbers - first)
    count = np.maximum((~gaps).sum(axis=0), 1)
    mean = offset.sum(axis=0) / count
    offset = np.where(gaps, 0.0, offset - mean)
    return first, mean, np.einsum("ij,ij->j", offset, offset) / count


def _as_read(table: Table, columns: Columns, codes: Codes) -> Schema:
    """The kinds that a table was read with, levels of ordinal columns spelt out, by position."""
    given = columns.levels
    ordinal: dict[str | int, Sequence[Any]] = {
        column: given[column] if column in given else table.texts(column)[1]
        for column in np.flatnonzero(columns.kinds == ORDINAL).tolist()
        if column not in codes and (column in given or columns.inferred[column] != CONTINUOUS)
    }
    rest = np.setdiff1d(np.arange(len(columns.kinds)), [*codes, *ordinal])
    return Schema(categorical=codes.tolist(), ordinal=ordinal, continuous=rest.tolist())


def _levels(table: Table, columns: Columns, column: int) -> tuple[Codes, list[str]]:
    """A column as codes from 1, 0 where missing, and the levels as text.

    The number 1 is the level "1" in whole and in real numbers: a gap turns one into the other.
    """
    if columns.inferred[column] != CONTINUOUS:
        codes, levels = table.texts(column)
        return codes, [str(level) for level in levels]
    codes, levels = ArrayTable(table.numbers([column])).texts(0)
    return codes, [str(int(level) if level.is_integer() else level) for level in levels]


def _indicators(codes: Codes, levels: list[str], block: _Block) -> FloatArray:
    place = np.array([-1, *(block.levels.get(level, -1) for level in levels)])[codes]
    hot = place[:, None] == np.arange(len(block.levels))
    out = (hot - block.frequency) * block.scale
    out[codes == 0] = 0.0
    return out
