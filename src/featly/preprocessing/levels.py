"""Codes written into a frame as levels, beside columns that stay as they are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, FloatArray
from featly.table.frames import library_of

__all__ = ["MISSING", "in_library", "interval_names", "write_levels"]

MISSING = "missing"  # name of the level of missing values
DIGITS = 10  # of a cut point in a name, more if two names would be equal


def interval_names(cuts: FloatArray) -> list[str]:
    """Return the names of the intervals between cut points.

    Examples
    --------
    >>> import numpy as np
    >>> interval_names(np.array([2.6500000000000004, 3.85]))
    ['(-inf, 2.65]', '(2.65, 3.85]', '(3.85, inf)']
    >>> interval_names(np.array([]))
    ['(-inf, inf)']
    """
    texts = [f"{cut:.{DIGITS}g}" for cut in cuts]
    if len(set(texts)) < len(texts):
        texts = [repr(float(cut)) for cut in cuts]
    pairs = zip(["-inf", *texts], [*texts, "inf"], strict=True)
    return [f"({low}, {high}{']' if high != 'inf' else ')'}" for low, high in pairs]


def in_library(frame: Any, wanted: str | None) -> Any:
    """Convert a frame to another library: "pandas", "polars", or None for its own."""
    current = library_of(frame)
    if wanted is None or wanted == current:
        return frame
    if current not in ("pandas", "polars", "pyarrow"):
        import narwhals as nw

        frame, current = nw.from_native(frame, eager_only=True).to_arrow(), "pyarrow"
    if wanted == "pandas":
        return frame.to_pandas()
    import polars as pl

    return pl.from_pandas(frame) if current == "pandas" else pl.from_arrow(frame)


def write_levels(
    frame: Any,
    positions: Sequence[int],
    codes: AnyArray,
    names: Sequence[Sequence[str]],
    *,
    ordered: bool = True,
) -> Any:
    """Return the frame with some columns replaced by categories.

    Parameters
    ----------
    frame : data frame
        Of pandas (Categorical), polars (Enum), pyarrow (dictionary) or, through pyarrow, another
        library that narwhals knows. It is not changed.
    positions : sequence of int
        The columns to replace.
    codes : uint8 or uint16 array of shape (n_columns, n_rows)
        0 is a missing value, 1 the first level.
    names : sequence of sequences of str
        The levels of each column.
    ordered : bool, default=True
        Whether the levels have an order. The Enum of polars always has one.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> frame = pl.DataFrame({"age": [40, 60, None], "sex": ["f", "m", "f"]})
    >>> write_levels(frame, [0], np.array([[1, 2, 0]], np.uint8), [["young", "old"]]).rows()
    [('young', 'f'), ('old', 'm'), (None, 'f')]
    """
    library = library_of(frame)
    if library == "pandas":
        return _write_pandas(frame, positions, codes, names, ordered)
    if library == "polars":
        return _write_polars(frame, positions, codes, names)
    if library == "pyarrow":
        return _write_arrow(frame, positions, codes, names, ordered)
    import narwhals as nw

    other = nw.from_native(frame, eager_only=True)
    written = _write_arrow(other.to_arrow(), positions, codes, names, ordered)
    return nw.from_arrow(written, backend=other.implementation).to_native()


def _write_pandas(
    frame: Any, positions: Sequence[int], codes: Any, names: Any, ordered: bool
) -> Any:
    import pandas as pd

    dtypes: dict[tuple[str, ...], Any] = {}
    written = {}
    for row, position in enumerate(positions):
        key = tuple(names[row])
        if key not in dtypes:
            dtypes[key] = pd.CategoricalDtype(list(key), ordered=ordered)
        physical = codes[row].astype(np.int32) - 1
        written[position] = pd.Categorical.from_codes(physical, dtype=dtypes[key])
    columns = {k: written[k] if k in written else frame.iloc[:, k] for k in range(frame.shape[1])}
    out = pd.DataFrame(columns, index=frame.index)
    out.columns = frame.columns
    return out


def _write_polars(frame: Any, positions: Sequence[int], codes: Any, names: Any) -> Any:
    import polars as pl

    series = frame.get_columns()
    rows_by_names: dict[tuple[str, ...], list[int]] = {}
    for row in range(len(positions)):
        rows_by_names.setdefault(tuple(names[row]), []).append(row)
    n = frame.height
    for key, rows in rows_by_names.items():
        levels = pl.Series([None, *key], dtype=pl.Enum(list(key)))
        # one call for all columns with these levels: a call a column takes far longer
        flat = levels.gather(codes[rows].ravel().astype(np.uint32))
        for k, row in enumerate(rows):
            position = positions[row]
            series[position] = flat.slice(k * n, n).alias(series[position].name)
    return pl.DataFrame(series)


def _write_arrow(
    frame: Any, positions: Sequence[int], codes: Any, names: Any, ordered: bool
) -> Any:
    import pyarrow as pa

    columns = list(frame.columns)
    for row, position in enumerate(positions):
        is_missing = codes[row] == 0
        physical = np.where(is_missing, 0, codes[row].astype(np.int32) - 1).astype(np.int32)
        columns[position] = pa.DictionaryArray.from_arrays(
            pa.array(physical, mask=is_missing),
            pa.array(list(names[row]), pa.string()),
            ordered=ordered,
        )
    return pa.table(columns, names=frame.column_names)
