"""Single columns of any table as numbers or levels, and the classes of its rows, for plots."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Whole
from featly.basics.privacy import PublishedCounts, pool_classes
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.plots import table_columns
from featly.plots.canvas import shown_names
from featly.plots.table_columns import open_any, publish_levels, read_column
from featly.problem.target import read_classes
from featly.table.schema import Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["Column", "jitter", "open_columns", "open_with_classes"]


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
    published : PublishedCounts or None
        Counts of a column of levels that may be drawn; None where single rows may be seen.
    """

    name: str
    kind: str
    values: FloatArray
    levels: list[str] | None
    published: PublishedCounts | None = None

    @property
    def present(self) -> BoolArray:
        """Mask of the rows that have a value."""
        return ~np.isnan(self.values)


def open_columns(X: Any, features: list[Any], schema: Any, function: str) -> list[Column]:
    """Read some columns of a table, by name or position."""
    return [_prepare_column(column) for column in _read_columns(X, features, schema, function)]


def open_with_classes(
    X: Any, features: list[Any], y: Any, schema: Any, function: str, *, individuals: bool
) -> tuple[list[Column], IntArray, list[str]]:
    """Read some columns, the class of every row as a position, and the classes as they are drawn.

    Without `individuals`, rare levels and classes are pooled: see :mod:`featly.basics.privacy`.
    """
    columns = _read_columns(X, features, schema, function)
    first = columns[0].numbers if columns[0].codes is None else columns[0].codes
    assert first is not None
    codes, labels = read_classes(y, len(first), function)
    classes = [str(label) for label in labels.tolist()]
    if individuals:
        return [_prepare_column(column) for column in columns], codes, shown_names(classes, 24)
    codes, classes = pool_classes(codes, classes)
    prepared = [_pool_rare_levels(column, codes, len(classes)) for column in columns]
    return prepared, codes, shown_names(classes, 24)


def _read_columns(
    X: Any, features: list[Any], schema: Any, function: str
) -> list[table_columns.Column]:
    table = open_any(X)
    if not table.n_rows:
        raise DataError(f"X has no rows: {function} has nothing to draw")
    resolved = Schema.of(schema).resolve(table.names, table.kinds())
    positions = [_find_column(feature, table.names) for feature in features]
    return [read_column(table, resolved, j, str(resolved.names[j])) for j in positions]


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


def _pool_rare_levels(column: table_columns.Column, codes: IntArray, n_classes: int) -> Column:
    """Return a column with the levels that may be shown, the others as one."""
    if column.codes is None:
        return _prepare_column(column)
    published = publish_levels(column, n_classes, codes, ordered=column.kind == "ordinal")
    merged = published.merge_codes(column.codes)
    values = np.where(merged > 0, merged - 1.0, np.nan)
    return Column(column.name, column.kind, values, shown_names(published.levels, 24), published)


# ---- points --------------------------------------------------------------------------------------
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
