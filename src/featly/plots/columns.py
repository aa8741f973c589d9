"""Single columns of any table as numbers or levels, and the classes of its rows, for plots."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.plots import table_columns
from featly.plots.canvas import shown_names
from featly.plots.table_columns import open_any, read_column
from featly.problem.target import read_classes
from featly.table.schema import Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["Column", "jitter", "open_columns", "quantiles", "read_class_names"]


@dataclass(frozen=True)
class Column:
    """One column as it is drawn.

    Attributes
    ----------
    name : str
    kind : str
    values : float array
        Numbers, or positions in `levels`; NaN is a missing value.
    levels : list of str or None
        Names of the levels as they are drawn; None for numbers.
    """

    name: str
    kind: str
    values: FloatArray
    levels: list[str] | None

    @property
    def present(self) -> BoolArray:
        """Mask of the rows that have a value."""
        return ~np.isnan(self.values)


def open_columns(X: Any, features: list[Any], schema: Any, function: str) -> list[Column]:
    """Read some columns of a table, by name or position."""
    table = open_any(X)
    if not table.n_rows:
        raise DataError(f"X has no rows: {function} has nothing to draw")
    resolved = Schema.of(schema).resolve(table.names, table.kinds())
    drawn_columns = []
    for feature in features:
        j = _find_column(feature, table.names)
        drawn_columns.append(
            _prepare_column(read_column(table, resolved, j, str(resolved.names[j])))
        )
    return drawn_columns


def read_class_names(y: Any, n_rows: int, function: str) -> tuple[IntArray, list[str]]:
    """Return the class of every row as a position, and the classes as they are drawn."""
    codes, classes = read_classes(y, n_rows, function)
    return codes, shown_names(classes.tolist(), 24)


# ---- parts ---------------------------------------------------------------------------------------
def _find_column(feature: Any, names: Any) -> int:
    if isinstance(feature, str):
        known_names = list(names)
        if feature not in known_names:
            raise DataError(f"{feature!r} {describe_unknown_column(feature, known_names)}")
        return known_names.index(feature)
    if not Whole().accepts(feature):
        raise ParameterError(f"feature {feature!r}: give the name of a column, or its position")
    if not 0 <= feature < len(names):
        raise DataError(f"there is no column {feature}: positions run from 0 to {len(names) - 1}")
    return int(feature)


def _prepare_column(column: table_columns.Column) -> Column:
    """Return a column with drawable levels: those that occur, the rarest of many as one."""
    if column.codes is None or column.numbers is not None:
        assert column.numbers is not None
        return Column(column.name, column.kind, column.numbers, None)
    codes, levels, n_merged = table_columns.few_levels(column, ordered=column.kind == "ordinal")
    shown_levels = shown_names(levels, 24)
    if n_merged:
        shown_levels.append(f"{n_merged} other levels")
    values = np.where(codes > 0, codes - 1.0, np.nan)
    return Column(column.name, column.kind, values, shown_levels)


# ---- figures -------------------------------------------------------------------------------------
def quantiles(values: FloatArray, shares: list[float], *, rounded: bool) -> FloatArray:
    """Return quantiles; with `rounded`, so coarse that they give away no single value.

    They are rounded to a power of ten, from a fiftieth to a fifth of the distance between the
    quartiles; if the quartiles are equal, of that between the 5% and the 95% quantile.
    """
    cuts = np.quantile(values, shares)
    outer, low, high, end = np.quantile(values, [0.05, 0.25, 0.75, 0.95])
    width = float(high - low or end - outer)
    if not rounded or width == 0:
        return cuts
    unit = float(10.0 ** np.floor(np.log10(width / 5.0)))
    return np.asarray(np.round(cuts / unit) * unit)


def jitter(values: FloatArray, stride: float = 0.6180339887498949) -> FloatArray:
    """Return offsets from -0.5 to 0.5 for points at these values, wider where they are dense.

    The same values have the same offsets, whatever the order of the rows. Another irrational
    `stride` gives offsets that are not correlated with the first.
    """
    order = np.argsort(values, kind="stable")
    numbers = np.arange(1, len(values) + 1)
    spots = (numbers * stride) % 1.0 - 0.5  # multiples of the golden ratio spread evenly
    low, high = values[order[[0, -1]]] if len(values) else (0.0, 0.0)
    if high > low:
        bins = np.minimum(((values[order] - low) / (high - low) * 24).astype(int), 23)
        dense = np.bincount(bins, minlength=24)
        spots = spots * np.sqrt(dense[bins] / dense.max())
    offsets = np.empty(len(values))
    offsets[order] = spots
    return offsets
