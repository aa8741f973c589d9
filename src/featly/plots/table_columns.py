"""Single columns of any table as numbers, or as levels with their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, KINDS, ORDINAL
from featly.basics.privacy import PublishedCounts, publish_counts
from featly.basics.typing import FloatArray, IntArray
from featly.problem.ingest import _ranks, level_texts
from featly.table.frames import ArrayTable, Table, is_frame, open_table, refuse_shapes
from featly.table.schema import Columns, Schema

__all__ = [
    "MOST_LEVELS",
    "Column",
    "few_levels",
    "open_any",
    "publish_levels",
    "read_column",
    "read_columns",
]

MOST_LEVELS = 12  # shown one by one; of more, the rarest are merged
NUMBERED_LEVELS = 20  # different values up to which an ordinal column of numbers has levels


@dataclass(frozen=True)
class Column:
    """The cells of one column.

    Attributes
    ----------
    position : int
    name, kind : str
    numbers : float array or None
        Values of continuous columns, and of ordinal ones with many levels; NaN is a missing value.
    codes : int array or None
        Codes of columns with levels; 0 is a missing value.
    levels : list of str
        Names of the codes 1, 2, ...
    """

    position: int
    name: str
    kind: str
    numbers: FloatArray | None
    codes: IntArray | None
    levels: list[str]


def open_any(X: Any) -> Table:
    """Open a frame, an array or a sparse matrix for reading."""
    refuse_shapes(X)
    if is_frame(X):
        return open_table(X)
    if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
        X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
    X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"X has {X.ndim} dimensions, where a table has 2")
    return ArrayTable(X) if X.dtype.kind not in "OUST" else open_table(X)


def read_columns(
    X: Any, positions: Sequence[int], schema: Schema, names: Sequence[str]
) -> list[Column]:
    """Read some columns of a table, under the given names."""
    table = open_any(X)
    columns = schema.resolve(table.names, table.kinds())
    return [read_column(table, columns, j, str(names[j])) for j in positions]


def read_column(table: Table, columns: Columns, j: int, name: str) -> Column:
    """Read one column; raise DataError if a number is infinite."""
    kind = columns.kinds[j]
    if kind == CATEGORICAL:
        codes, levels = level_texts(table, columns, j)
        return Column(j, name, KINDS[kind], None, np.asarray(codes, np.int64), levels)
    is_number = columns.inferred[j] == CONTINUOUS and j not in columns.levels
    values = table.numbers([j])[:, 0] if is_number else _ranks(table, j, columns)
    values = np.asarray(values, np.float64)
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise DataError(
            f"column {name!r} has an infinite value (inf) in row {row}: correct it, or make it "
            "missing"
        )
    present = ~np.isnan(values)
    if kind == ORDINAL:
        steps = np.unique(values[present])
        if not is_number:
            levels = [str(level) for level in columns.levels.get(j) or table.texts(j)[1]]
            steps = np.arange(len(levels), dtype=np.float64)
        else:
            levels = [f"{step:g}" for step in steps]
        if not is_number or len(steps) <= NUMBERED_LEVELS:
            codes = np.zeros(len(values), np.int64)
            codes[present] = np.searchsorted(steps, values[present]) + 1
            return Column(j, name, KINDS[kind], None, codes, levels)
    return Column(j, name, KINDS[kind], values, None, [])


def few_levels(column: Column, *, ordered: bool = False) -> tuple[IntArray, list[str], int]:
    """Return codes, names of the levels, and how many rare levels were merged into the last code.

    No levels of an ordered column are merged.
    """
    assert column.codes is not None
    counts = np.bincount(column.codes, minlength=len(column.levels) + 1)[1:]
    retained = np.flatnonzero(counts)
    merged = retained[:0]
    if len(retained) > MOST_LEVELS and not ordered:
        by_count = retained[np.argsort(-counts[retained], kind="stable")]
        retained, merged = np.sort(by_count[: MOST_LEVELS - 1]), by_count[MOST_LEVELS - 1 :]
    new_codes = np.zeros(len(column.levels) + 1, np.int64)
    new_codes[retained + 1] = np.arange(1, len(retained) + 1)
    new_codes[merged + 1] = len(retained) + 1
    return new_codes[column.codes], [column.levels[k] for k in retained.tolist()], len(merged)


def publish_levels(
    column: Column, n_classes: int, y: IntArray, *, ordered: bool = False
) -> PublishedCounts:
    """Return what may be shown of a column of levels where no individual may be recognised.

    Parameters
    ----------
    column : Column
    n_classes : int
    y : int array
        The class of every row.
    ordered : bool, default=False
        Whether all levels are kept that are not rare; else those beyond the first few are pooled.
    """
    assert column.codes is not None
    width = len(column.levels) + 1
    counts = np.bincount(y * width + column.codes, minlength=n_classes * width)
    counts = counts.reshape(n_classes, width)
    totals = counts[:, 1:].sum(axis=0)
    merged = np.zeros(len(totals), bool)
    if (totals > 0).sum() > MOST_LEVELS and not ordered:
        merged[np.argsort(-totals, kind="stable")[MOST_LEVELS - 1 :]] = True
    return publish_counts(counts, column.levels, merged)
