"""Positions of mixed rows on the lines of the clinical kernel, one line a column."""

from typing import Any

import numpy as np

from featly.basics.estimators import BaseEstimator
from featly.basics.typing import FloatArray
from featly.core.kernels.clinical import code_positions, number_positions, ranges
from featly.problem.ingest_rows import MixedReader, MixedRows
from featly.table.schema import Schema

__all__ = ["Positions"]


class Positions:
    """Positions of rows, with ranges and levels learnt from the training rows.

    Parameters
    ----------
    schema : Schema, dict or None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not.

    Attributes
    ----------
    reader : MixedReader
    low, span : float arrays
        Smallest value and range of every numeric column.
    n_rows : int
        Training rows.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.kernels import ClinicalKernel
    >>> from featly.kernels.positions import Positions
    >>> lines = Positions(None)
    >>> lines.fit(pl.DataFrame({"age": [40, 60], "sex": ["f", "m"]}), ClinicalKernel())
    array([[0., 1.],
           [2., 4.]])
    """

    span: FloatArray
    low: FloatArray

    def __init__(self, schema: Schema | dict[str, Any] | None) -> None:
        self.reader: MixedReader = MixedReader(schema)

    def fit(self, X: Any, owner: BaseEstimator) -> FloatArray:
        """Learn from the training rows; return their positions, columns x rows."""
        rows = self.reader.fit(X, owner)
        self.n_rows: int = rows.n_rows
        self.low, self.span = ranges(np.ascontiguousarray(rows.numbers.T))
        return self._locate_rows(rows, 0)

    def locate(self, X: Any, owner: BaseEstimator, first_row: int | None = None) -> FloatArray:
        """Return positions of other rows.

        A missing value has a position that no other row has, as long as tables differ in
        `first_row`; by default the rows are numbered after the training rows.
        """
        first = self.n_rows if first_row is None else first_row
        return self._locate_rows(self.reader.read(X, owner), first)

    def _locate_rows(self, rows: MixedRows, first_row: int) -> FloatArray:
        numbers = np.ascontiguousarray(rows.numbers.T)
        numeric_positions = number_positions(numbers, self.low, self.span, first_row)
        if len(rows.codes) == 0:
            return numeric_positions
        z = np.empty((self.reader.n_features, rows.n_rows))
        z[self.reader.numeric] = numeric_positions
        z[self.reader.categorical] = code_positions(rows.codes, first_row)
        return z
