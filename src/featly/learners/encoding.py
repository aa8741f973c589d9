r"""Mixed columns as numbers, with an encoding learnt from the training rows alone.

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
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from featly.basics.estimators import BaseEstimator, TransformerMixin
from featly.basics.params import check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.problem.ingest_rows import MixedColumns, MixedReader, MixedRows
from featly.problem.parameters import InSchema

__all__ = ["Encoder"]


@dataclass(frozen=True)
class _Block:
    """Levels, frequencies and scale of one categorical column, from the training rows."""

    column: int
    levels: list[str]
    frequency: FloatArray
    scale: float

    @property
    def width(self) -> int:
        """Columns of its encoding; one of zeros where the training rows have no level at all."""
        return max(1, len(self.levels))


class Encoder(InSchema, MixedColumns, TransformerMixin, BaseEstimator):
    r"""Turn mixed columns into numbers of mean 0 and variance 1.

    A continuous or ordinal column is one number; a categorical one is an indicator for each level
    that the training rows have, and all of them share one scale. A missing value counts as the
    average of its column, and a level that the training rows do not have as none of the levels.
    A column that is constant or empty in the training rows is 0. Kinds, means, variances and
    levels are those of the rows that ``fit`` has seen, so no test row influences them.

    Parameters
    ----------
    standardize : bool, default=True
        Divide by the standard deviation. Without it columns are centred only.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

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

    standardize: bool = True

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
        check_parameters(self)
        self._reader = MixedReader(self.schema)
        rows = self._reader.fit(X, self)
        columns = self._reader.categorical.tolist()
        self._blocks = [self._learn_block(rows, k, column) for k, column in enumerate(columns)]
        numbers = rows.numbers
        self._first, self._mean, variance = _moments(numbers)
        self.center_: FloatArray = self._first + self._mean
        self.scale_: FloatArray = self._scale_factors(variance)
        widths = np.ones(self.n_features_in_, np.int64)
        for block in self._blocks:
            widths[block.column] = block.width
        self.starts_: AnyArray = np.concatenate([[0], np.cumsum(widths)])
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the table as numbers.

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
        """Return the table as numbers for a learner; errors and warnings name that learner.

        Parameters
        ----------
        owner : estimator
            Fitted on the same columns; errors and warnings name it.
        X : data frame, array or sparse matrix

        Returns
        -------
        Z : float64 array
        """
        rows = self._reader.read(X, owner)
        scaled = self._standardise_numbers(rows.numbers)
        if not self._blocks:
            return scaled
        out = np.zeros((len(scaled), self.starts_[-1]))
        out[:, self.starts_[:-1][self._reader.numeric]] = scaled
        for block, codes in zip(self._blocks, rows.codes, strict=True):
            low = self.starts_[block.column]
            out[:, low : low + len(block.levels)] = _indicators(codes, block)
        return out

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> Any:
        """Return the names of the encoded columns: the column's, or ``column=level``.

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
            block.column: [*block.levels] for block in self._blocks
        }
        return np.array(
            [
                name if level is None else f"{name}={level}"
                for column, name in enumerate(names)
                for level in levels.get(column) or [None]
            ],
            dtype=object,
        )

    # ---- learning ---------------------------------------------------------------------------
    def _learn_block(self, rows: MixedRows, k: int, column: int) -> _Block:
        levels = list(self._reader.levels[k])
        counts = np.bincount(rows.codes[k], minlength=len(levels) + 1)[1:]
        frequency = counts / max(counts.sum(), 1)
        variance = 1 - float(frequency @ frequency) if len(levels) > 1 else 0.0
        return _Block(
            column, levels, frequency, float(self._scale_factors(np.array([variance]))[0])
        )

    def _scale_factors(self, variance: FloatArray) -> FloatArray:
        """Return the factor of each column; 0 for columns that do not vary."""
        varies = variance > 0
        if not self.standardize:
            return varies.astype(np.float64)
        return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)

    def _standardise_numbers(self, numbers: FloatArray) -> FloatArray:
        scaled = (numbers - self._first - self._mean) * self.scale_
        scaled[np.isnan(scaled)] = 0.0
        return scaled


def _moments(numbers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a known value of every column, and mean and variance of the differences from it.

    Summed so, a constant column has variance 0 exactly, however many rows it has, and an offset
    costs no digits.
    """
    missing = np.isnan(numbers)
    first = numbers[missing.argmin(axis=0), np.arange(numbers.shape[1])]
    first[np.isnan(first)] = 0.0
    offset = np.where(missing, 0.0, numbers - first)
    count = np.maximum((~missing).sum(axis=0), 1)
    mean = offset.sum(axis=0) / count
    offset = np.where(missing, 0.0, offset - mean)
    return first, mean, np.einsum("ij,ij->j", offset, offset) / count


def _indicators(codes: IntArray, block: _Block) -> FloatArray:
    indicators = codes[:, None] == np.arange(1, len(block.levels) + 1)
    encoded: FloatArray = (indicators - block.frequency) * block.scale
    encoded[codes == 0] = 0.0
    return encoded
