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
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from featly.errors import DataError
from featly.frames import ArrayTable, Table, is_frame, open_table, refuse_shapes, take_columns
from featly.kinds import CATEGORICAL
from featly.reading import read
from featly.schema import Schema

__all__ = ["Encoder"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Block:
    """What the training rows said of one categorical column."""

    column: int
    levels: dict[Any, int]
    frequency: FloatArray
    scale: float


class Encoder(TransformerMixin, BaseEstimator):
    r"""Turn mixed columns into numbers of mean 0 and variance 1.

    A continuous or ordinal column is one number; a categorical one is an indicator for each level
    that the training rows have, and all of them share one scale. A missing value counts as the
    average of its column, and a level that the training rows do not have as none of the levels.
    Means, variances and levels are those of the rows that ``fit`` has seen, so no test row has a
    say in them.

    Parameters
    ----------
    standardize : bool, default=True
        Divide by the standard deviation. Without it columns are centred only.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.

    Attributes
    ----------
    starts_ : int array of shape (n_features_in_ + 1,)
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
        """Learn levels, means and variances.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : ignored
            It is there for pipelines.

        Returns
        -------
        self
        """
        table, X = self._checked(X, reset=True)
        numbers, self._numeric, categorical = self._numbers(X, table)
        self.center_, variance = _moments(numbers)
        self.scale_ = self._unit(variance)
        self._blocks = [self._block(table, column) for column in categorical]
        sizes = np.ones(self.n_features_in_, np.int64)
        for block in self._blocks:
            sizes[block.column] = len(block.levels)
        self.starts_ = np.concatenate([[0], np.cumsum(sizes)])
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
        table, X = self._checked(X, reset=False)
        numbers, _, _ = self._numbers(X, table)
        scaled = (numbers - self.center_) * self.scale_
        if np.isnan(scaled).any():
            scaled[np.isnan(scaled)] = 0.0
        if not self._blocks:
            return scaled
        out = np.empty((len(numbers), self.starts_[-1]))
        out[:, self.starts_[:-1][self._numeric]] = scaled
        for block in self._blocks:
            low, high = self.starts_[block.column], self.starts_[block.column + 1]
            out[:, low:high] = _indicators(table, block)
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Names of the outcome: the column's, or ``column=level``."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", ())) or [
            f"x{column}" for column in range(self.n_features_in_)
        ]
        found = {block.column: block for block in self._blocks}
        return np.array(
            [
                name if level is None else f"{name}={level}"
                for column, name in enumerate(names)
                for level in (found[column].levels if column in found else (None,))
            ],
            dtype=object,
        )

    # ---- reading ----------------------------------------------------------------------------
    def _checked(self, X: Any, *, reset: bool) -> tuple[Table | None, Any]:
        """A frame or an array of texts as a table, or an array of numbers."""
        refuse_shapes(X)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return open_table(X), X
        if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "US":
            X = np.array(X, dtype=object)
        if scipy.sparse.issparse(X):
            X = X.toarray()
        textual = getattr(X, "dtype", np.dtype(float)).kind in "OUST"
        dtype = None if textual else "numeric"
        X = check_array(X, dtype=dtype, ensure_all_finite=False, estimator=self, input_name="X")
        validate_data(self, X, reset=reset, skip_check_array=True)
        if X.dtype.kind == "O" and not any(isinstance(v, str) for v in X.flat):
            X, textual = np.where(np.array(None) == X, np.nan, X).astype(np.float64), False
        if textual:
            return open_table(X), X
        return (None if self.schema is None else ArrayTable(X)), X

    def _numbers(self, X: Any, table: Table | None) -> tuple[FloatArray, Any, list[int]]:
        """Numeric columns (rows x columns), which they are, and the categorical ones."""
        if table is None:
            values = X.astype(np.float64, copy=False)
            numeric: Any = slice(None)
            categorical: list[int] = []
        else:
            reading = read(table, Schema.of(self.schema))
            kinds = reading.columns.kinds
            categorical = np.flatnonzero(kinds == CATEGORICAL).tolist()
            numeric = np.flatnonzero(kinds != CATEGORICAL)
            values = reading.source.load(numeric).T
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            at = column if isinstance(numeric, slice) else numeric[column]
            raise DataError(
                f"column {self._name(int(at))!r} has an infinite value (inf) in row {row}: "
                "correct it, or make it missing"
            )
        return values, numeric, categorical

    def _name(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"x{column}" if names is None else str(names[column])

    def _block(self, table: Table | None, column: int) -> _Block:
        assert table is not None
        codes, levels = table.texts(column)
        counts = np.bincount(codes, minlength=len(levels) + 1)[1:].astype(np.float64)
        used = np.flatnonzero(counts)
        frequency = counts[used] / max(counts.sum(), 1.0)
        variance = 1 - float(frequency @ frequency) if len(used) > 1 else 0.0
        places = {str(levels[code]): place for place, code in enumerate(used)}
        return _Block(column, places, frequency, float(self._unit(np.array([variance]))[0]))

    def _unit(self, variance: FloatArray) -> FloatArray:
        varies = variance > 0
        if not self.standardize:
            return np.ones(len(variance))
        return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)


def take(X: Any, columns: Any) -> Any:
    """Some columns of a frame, an array or a sparse matrix, in the given order."""
    return take_columns(X, columns) if is_frame(X) else X[:, columns]


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of columns, gaps left out; a constant one has variance 0 exactly."""
    gaps = np.isnan(values)
    if gaps.any():
        count = np.maximum((~gaps).sum(axis=0), 1)
        values = np.where(gaps, 0.0, values)
        center = values.sum(axis=0) / count
        deviation = np.where(gaps, 0.0, values - center)
    else:
        count = np.array(len(values))
        center = values.mean(axis=0)
        deviation = values - center
    variance = np.einsum("ij,ij->j", deviation, deviation) / count
    rounding = (4 * np.finfo(float).eps * np.abs(center)) ** 2
    return center, np.where(variance > rounding, variance, 0.0)


def _indicators(table: Table | None, block: _Block) -> FloatArray:
    assert table is not None
    codes, levels = table.texts(block.column)
    place = np.array([-1, *(block.levels.get(str(level), -1) for level in levels)])[codes]
    hot = place[:, None] == np.arange(len(block.levels))
    out = (hot - block.frequency) * block.scale
    out[codes == 0] = 0.0
    return out
