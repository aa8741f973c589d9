"""Gaps filled plainly, for methods that need complete columns."""

from typing import Any

import numpy as np

from featly.frames import is_frame

__all__ = ["fill_missing"]

LEVEL = "missing"


def fill_missing(X: Any) -> tuple[Any, list[int]]:
    """Fill gaps: a column of numbers with its median, one of text with the level ``"missing"``.

    It uses all rows that it is given. Inside an evaluation, fill the training rows alone.

    Parameters
    ----------
    X : polars frame or array

    Returns
    -------
    X_filled : frame or array
        Complete columns are shared with X, not copied.
    columns : list of int
        Positions of the columns that had gaps. A column without any value becomes 0.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.preprocessing import fill_missing
    >>> frame = pl.DataFrame({"age": [50, None, 70], "sex": ["f", "m", None]})
    >>> filled, columns = fill_missing(frame)
    >>> filled.rows(), columns
    ([(50.0, 'f'), (60.0, 'm'), (70.0, 'missing')], [0, 1])
    """
    if is_frame(X):
        return _fill_frame(X)
    X = np.asarray(X)
    gaps = np.flatnonzero(np.isnan(X).any(axis=0))
    if not len(gaps):
        return X, []
    filled = X.copy()
    for column in gaps:
        values = filled[:, column]
        present = values[~np.isnan(values)]
        values[np.isnan(values)] = np.median(present) if len(present) else 0.0
    return filled, gaps.tolist()


def _fill_frame(frame: Any) -> tuple[Any, list[int]]:
    import polars as pl

    series = frame.get_columns()
    columns = []
    for position, column in enumerate(series):
        name, column = column.name, column.alias("column")  # polars reads '*' and '^a$' as patterns
        numeric = column.dtype.is_numeric() or column.dtype == pl.Null
        if numeric:
            values = column.cast(pl.Float64)
            gaps = values.is_null() | values.is_nan()
            if not gaps.any():
                continue
            values = values.fill_nan(None)
            median = values.median()
            series[position] = values.fill_null(0.0 if median is None else median).alias(name)
        elif column.null_count():
            series[position] = column.cast(pl.String).fill_null(LEVEL).alias(name)
        else:
            continue
        columns.append(position)
    return (pl.DataFrame(series) if columns else frame), columns
