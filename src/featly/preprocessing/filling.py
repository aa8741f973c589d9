"""Missing values filled with medians or a level, or with values drawn from the same column.

Medians are for methods that need complete columns. Drawn values are for methods that use what is
missing: they have the distribution of the known values, in every class the same, so that a column
says no more than its values do.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import DataError
from featly.basics.estimators import BaseEstimator, TransformerMixin
from featly.basics.params import ListOf, OneOf, Parameters, Whole, check_parameters
from featly.table.frames import is_frame, library_of

__all__ = ["Filler", "fill_missing"]

LEVEL = "missing"


class Filler(Parameters, TransformerMixin, BaseEstimator):
    """Fill missing values: numbers with their median, text with the level ``"missing"``.

    Medians are those of the training rows; in an evaluation the test rows are filled with them too.
    A column of numbers without any value becomes 0.

    Parameters
    ----------
    columns : sequence of int or None, default=None
        Positions of the columns to fill, if it is known which have missing values; None is all.
    rule : {"median", "draw"}, default="median"
        "draw" takes values of the same column instead, spread over its quantiles and dealt at
        random, so that nothing can be learnt from what is missing.
    random_state : int, default=0
        Seed of the random numbers.
        They deal the drawn values.

    Attributes
    ----------
    medians_ : dict of int to float
        Medians of the columns of numbers, by position.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.preprocessing import Filler
    >>> filler = Filler().fit(pl.DataFrame({"age": [50, 60, 70], "sex": ["f", "m", None]}))
    >>> filler.transform(pl.DataFrame({"age": [None, 20], "sex": ["f", None]})).rows()
    [(60.0, 'f'), (20.0, 'missing')]
    """

    columns: Annotated[Sequence[int] | None, ListOf("positions of columns")] = None
    rule: Annotated[str, OneOf("median", "draw")] = "median"
    random_state: Annotated[int, Whole(at_least=0)] = 0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the medians.

        Parameters
        ----------
        X : polars frame or array
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        _check_library(X)
        self.n_features_in_: int = X.shape[1]
        self.medians_: dict[Any, Any] = {}
        self._known: dict[int, Any] = {}  # sorted values of every column
        for position in self._positions():
            if self.rule == "draw":
                self._known[position] = _known_values(X, position)
            median = _median(X, position)
            if median is not None:
                self.medians_[position] = median
        return self

    def transform(self, X: Any) -> Any:
        """Return the table without missing values; complete columns are not copied.

        Parameters
        ----------
        X : polars frame or array

        Returns
        -------
        X_filled
        """
        check_is_fitted(self)
        _check_library(X)
        return self._fill(X)[0]

    def _positions(self) -> Sequence[int]:
        return range(self.n_features_in_) if self.columns is None else self.columns

    def _fill(self, X: Any) -> tuple[Any, list[int]]:
        if is_frame(X):
            return self._fill_frame(X)
        wanted = np.array(self._positions(), np.int64)
        incomplete = wanted[np.isnan(X[:, wanted]).any(axis=0)]
        if not len(incomplete):
            return X, []
        filled = X.copy()
        for column in incomplete.tolist():
            values = filled[:, column]
            is_missing = np.isnan(values)
            values[is_missing] = self._values_for(column, int(is_missing.sum()))
        return filled, incomplete.tolist()

    def _values_for(self, column: int, count: int) -> Any:
        """Return the values of some missing cells of a column."""
        known = self._known.get(column, ())
        if not len(known):
            return self.medians_.get(column, LEVEL)
        quantiles = ((np.arange(count) + 0.5) / max(count, 1) * len(known)).astype(np.int64)
        return known[np.random.default_rng([self.random_state, column]).permutation(quantiles)]

    def _fill_frame(self, frame: Any) -> tuple[Any, list[int]]:
        import polars as pl

        series = frame.get_columns()
        columns = []
        for position in self._positions():
            column = series[position]
            name, column = column.name, column.alias("column")  # '*' and '^a$' are patterns
            if len(self._known.get(position, ())):
                is_missing = column.is_null()
                if column.dtype.is_float():
                    is_missing = is_missing | column.is_nan().fill_null(False)
                rows = np.flatnonzero(is_missing.to_numpy())
                if not len(rows):
                    continue
                is_number = position in self.medians_
                values = column.cast(pl.Float64 if is_number else pl.String).to_numpy().copy()
                values[rows] = self._values_for(position, len(rows))
                dtype = pl.Float64 if is_number else column.dtype
                series[position] = pl.Series(name, values.tolist(), dtype=dtype)
            elif position in self.medians_:
                values = column.cast(pl.Float64)
                if not (values.is_null() | values.is_nan()).any():
                    continue
                values = values.fill_nan(None).fill_null(self.medians_[position])
                series[position] = values.alias(name)
            elif column.null_count():
                series[position] = column.cast(pl.String).fill_null(LEVEL).alias(name)
            else:
                continue
            columns.append(position)
        return (pl.DataFrame(series) if columns else frame), columns


def fill_missing(X: Any, rule: str = "median") -> tuple[Any, list[int]]:
    """Fill missing values: numbers with their median, text with the level ``"missing"``.

    It uses all rows. In an evaluation, fit a :class:`Filler` to the training rows instead.

    Parameters
    ----------
    X : polars frame or array
    rule : {"median", "draw"}, default="median"
        As of :class:`Filler`.

    Returns
    -------
    X_filled : frame or array
        Complete columns are shared with X, not copied.
    columns : list of int
        Positions of the columns that had missing values. A column without any value becomes 0.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.preprocessing import fill_missing
    >>> frame = pl.DataFrame({"age": [50, None, 70], "sex": ["f", "m", None]})
    >>> filled, columns = fill_missing(frame)
    >>> filled.rows(), columns
    ([(50.0, 'f'), (60.0, 'm'), (70.0, 'missing')], [0, 1])
    """
    if not is_frame(X):
        X = np.asarray(X)
    return Filler(columns=_columns_with_missing(X), rule=rule).fit(X)._fill(X)


def _check_library(X: Any) -> None:
    library = library_of(X)
    if library not in (None, "polars"):
        raise DataError(
            f"missing values are filled in arrays and polars frames, X is of {library}: convert it"
        )


def _columns_with_missing(X: Any) -> list[int]:
    """Return the columns with missing values; medians of the others are not needed."""
    if not is_frame(X):
        incomplete: list[int] = np.flatnonzero(np.isnan(X).any(axis=0)).tolist()
        return incomplete
    _check_library(X)
    return [
        position
        for position, column in enumerate(X.get_columns())
        if column.null_count()
        or (column.dtype.is_float() and column.alias("column").is_nan().any())
    ]


def _known_values(X: Any, position: int) -> Any:
    """Return the values of a column, sorted."""
    if not is_frame(X):
        values = X[:, position]
        return np.sort(values[~np.isnan(values)])
    import polars as pl

    column = X.to_series(position).alias("column")
    if column.dtype.is_numeric():
        return column.cast(pl.Float64).fill_nan(None).drop_nulls().sort().to_numpy()
    return np.array(sorted(column.cast(pl.String).drop_nulls().to_list()), dtype=object)


def _median(X: Any, position: int) -> float | None:
    """Return the median of a column of numbers, 0 where it has none; None for text."""
    if not is_frame(X):
        values = X[:, position]
        values = values[~np.isnan(values)]
        return float(np.median(values)) if len(values) else 0.0
    import polars as pl

    column = X.to_series(position).alias("column")
    if not (column.dtype.is_numeric() or column.dtype == pl.Null):
        return None
    median = column.cast(pl.Float64).fill_nan(None).median()
    return 0.0 if median is None else float(median)
