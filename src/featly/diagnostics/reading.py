"""Reading of tables for the diagnostics: numbers, codes and names of some rows."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from featly.basics.errors import DataError
from featly.basics.estimators import BaseEstimator
from featly.basics.kinds import CONTINUOUS
from featly.basics.params import Whole
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.problem.ingest import read_numbers
from featly.problem.ingest_rows import LARGEST, MixedReader, MixedRows
from featly.table.frames import is_frame, open_table
from featly.table.schema import Schema

__all__ = ["Rows", "check_count", "draw_stratified", "new_levels", "read_pair", "read_rows"]


WIDE = 2000  # columns of a frame from which numbers are read at once
FEW_LEVELS = 20  # a column with up to half as many levels is never an identifier


class _Diagnostics(BaseEstimator):
    """Estimator that errors and warnings of the reader name."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a table, as numbers and codes.

    Attributes
    ----------
    numbers : float64 array of shape (n_rows, n_numeric)
        Missing as NaN.
    codes : int64 array of shape (n_categorical, n_rows)
        0 is missing.
    numeric, categorical : int64 arrays
        Positions of those columns in the table.
    names : list of str
    levels : list of dict
        Code of each level, for every categorical column.
    """

    numbers: FloatArray
    codes: IntArray
    numeric: IntArray
    categorical: IntArray
    names: list[str]
    levels: list[dict[str, int]]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.numbers)

    @property
    def n_columns(self) -> int:
        """Columns of the table."""
        return len(self.names)

    @property
    def is_number(self) -> BoolArray:
        """Return whether each column of the table holds numbers."""
        flags = np.zeros(self.n_columns, np.bool_)
        flags[self.numeric] = True
        return flags

    def take_rows(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        parts = self.numeric, self.categorical, self.names, self.levels
        return type(self)(self.numbers[rows], self.codes[:, rows], *parts)

    def take_columns(self, mask: BoolArray) -> Self:
        """Return some of the columns."""
        new_position = np.cumsum(mask) - 1
        numbers, codes = mask[self.numeric], mask[self.categorical]
        return type(self)(
            self.numbers[:, numbers],
            self.codes[codes],
            new_position[self.numeric[numbers]],
            new_position[self.categorical[codes]],
            [name for name, is_taken in zip(self.names, mask, strict=True) if is_taken],
            [levels for levels, is_taken in zip(self.levels, codes, strict=True) if is_taken],
        )

    @property
    def has_repeats(self) -> BoolArray:
        """Return whether the levels of each column repeat; those of identifiers do not."""
        flags = np.ones(self.n_columns, np.bool_)
        for column, codes in zip(self.categorical, self.codes, strict=True):
            present = int((codes > 0).sum())
            flags[column] = 2 * len(np.unique(codes[codes > 0])) <= max(present, FEW_LEVELS)
        return flags

    @property
    def n_directions(self) -> int:
        """Number of varying columns of numbers, plus all levels less one a categorical column."""
        spread = np.fmax.reduce(self.numbers, axis=0) > np.fmin.reduce(self.numbers, axis=0)
        levels = [len(np.unique(codes[codes > 0])) for codes in self.codes]
        return int(spread.sum()) + sum(max(count - 1, 0) for count in levels)

    def cells(self, center: FloatArray, scale: FloatArray) -> FloatArray:
        """Return columns x rows: numbers centred and divided, missing as NaN, codes as they are."""
        cells = np.empty((self.n_columns, self.n_rows))
        cells[self.numeric] = ((self.numbers - center) / scale).T
        cells[self.categorical] = np.where(self.codes == 0, np.nan, self.codes)
        return cells

    def scale_to_range(self) -> FloatArray:
        """Return cells with numbers from 0 to 1."""
        low = np.fmin.reduce(self.numbers, axis=0)
        spread = np.fmax.reduce(self.numbers, axis=0) - low
        return self.cells(low, np.where(spread > 0, spread, 1.0))

    def encode(self) -> FloatArray:
        """Return rows x encoded columns: numbers and indicators, each column of variance 1.

        A missing cell counts as the average of its column; constant columns are left out.
        """
        parts = [_standardise(self.numbers)]
        for codes, levels in zip(self.codes, self.levels, strict=True):
            indicators = (codes[:, None] == np.arange(1, len(levels) + 1)).astype(np.float64)
            present = codes > 0
            share = indicators.sum(axis=0) / max(int(present.sum()), 1)
            variance = 1 - float(share @ share)
            if present.any() and indicators[:, share > 0].shape[1] > 1:
                parts.append(
                    np.where(present[:, None], (indicators - share) / np.sqrt(variance), 0.0)
                )
        return np.concatenate(parts, axis=1)


def _standardise(numbers: FloatArray) -> FloatArray:
    missing = np.isnan(numbers)
    count = np.maximum((~missing).sum(axis=0), 1)
    first = np.where(
        missing.all(axis=0), 0.0, numbers[missing.argmin(axis=0), range(numbers.shape[1])]
    )
    offset = np.where(missing, 0.0, numbers - first)  # so that a constant column is exactly 0
    offset = np.where(missing, 0.0, offset - offset.sum(axis=0) / count)
    spread = np.sqrt(np.einsum("ij,ij->j", offset, offset) / count)
    return np.asarray(offset[:, spread > 0] / spread[spread > 0])


def read_rows(X: Any, schema: Schema | dict[str, Any] | None) -> Rows:
    """Read a table; return Rows unchanged."""
    if isinstance(X, Rows):
        return X
    _refuse_empty(X, "X")
    numbers = _read_wide_numbers(X, schema)
    if numbers is not None:
        return numbers
    reader = MixedReader(schema)
    return _make_rows(reader, reader.fit(X, _Diagnostics()))


def _read_wide_numbers(X: Any, schema: Schema | dict[str, Any] | None) -> Rows | None:
    """Read a wide frame of numbers without a reader for other rows, which takes longer.

    None if it is no such frame, or something is wrong with it that the reader says.
    """
    if not is_frame(X) or X.shape[1] < WIDE:
        return None
    table = open_table(X)
    columns = Schema.of(schema).resolve(table.names, table.kinds())
    if (columns.kinds != CONTINUOUS).any() or (columns.inferred != CONTINUOUS).any():
        return None
    values = read_numbers(table, columns)
    if values is None:
        return None
    numbers = values.astype(np.float64, copy=False)
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(numbers, axis=0), np.fmax.reduce(numbers, axis=0)
    if not (low >= -LARGEST).all() or not (high <= LARGEST).all():  # nor if a column is empty
        return None
    nothing = np.empty((0, len(numbers)), np.int64)
    positions = np.arange(numbers.shape[1])
    return Rows(numbers, nothing, positions, nothing[:, 0], list(table.names), [])


def _refuse_empty(X: Any, name: str) -> None:
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    for count, word in zip(shape[:2], ("rows", "columns"), strict=False):
        if count == 0:
            raise DataError(f"{name} has no {word}: there is nothing to look at")


def read_pair(first: Any, second: Any, schema: Schema | dict[str, Any] | None) -> tuple[Rows, Rows]:
    """Read two tables with the same columns; kinds and levels are those of the first.

    Levels that only the second has get codes above those of the first. Two objects of class Rows
    are returned unchanged.
    """
    if isinstance(first, Rows) and isinstance(second, Rows):
        return first, second
    for frame, other, where in ((first, second, "second"), (second, first, "first")):
        if is_frame(frame) and is_frame(other):
            known = set(open_table(other).names)
            absent = [name for name in open_table(frame).names if name not in known]
            if absent:
                raise DataError(
                    f"column {absent[0]!r} is not in the {where} table: both need the same columns"
                )
    for table, name in ((first, "train"), (second, "test")):
        _refuse_empty(table, name)
    reader, owner = MixedReader(schema), _Diagnostics()
    first_rows = _make_rows(reader, reader.fit(first, owner))
    return first_rows, _make_rows(reader, reader.read(second, owner))


def new_levels(first: Rows, second: Rows, X: Any) -> dict[str, list[str]]:
    """Return levels that only the second table has, by column; X is that table before reading."""
    sizes = np.array([len(levels) for levels in first.levels], np.int64)[:, None]
    # columns with levels that were unknown when the first was read
    has_unknown = np.asarray((second.codes > sizes).any(axis=1))
    new_by_column: dict[str, list[str]] = {}
    levels_of_second: dict[int, dict[str, int]] = {}
    if has_unknown.any():
        reader = MixedReader(Schema(categorical=[int(f) for f in first.categorical[has_unknown]]))
        reader.fit(X, _Diagnostics())
        levels_of_second = dict(zip(reader.categorical.tolist(), reader.levels, strict=True))
    for k, column in enumerate(first.categorical.tolist()):
        known = first.levels[k]
        seen = [np.unique(rows.codes[k]) for rows in (first, second)]
        fresh = set(np.setdiff1d(seen[1], seen[0]).tolist()) - {0}
        levels = [level for level, code in known.items() if code in fresh]
        if has_unknown[k]:
            levels += [level for level in levels_of_second[column] if level not in known]
        if levels:
            new_by_column[first.names[column]] = levels
    return new_by_column


def _make_rows(reader: MixedReader, mixed: MixedRows) -> Rows:
    names = [reader.name(column) for column in range(reader.n_features)]
    parts = reader.numeric, reader.categorical, names, reader.levels
    return Rows(mixed.numbers, mixed.codes, *parts)


def draw_stratified(y: IntArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw rows, each class in its share, but at least two of a class that has as many."""
    if len(y) <= size:
        return np.arange(len(y))
    samples = []
    for label, count in enumerate(np.bincount(y).tolist()):
        n_drawn = min(count, max(2, round(size * count / len(y))))
        samples.append(rng.choice(np.flatnonzero(y == label), n_drawn, replace=False))
    return np.sort(np.concatenate(samples))


def check_count(name: str, value: Any, least: int) -> int:
    """Check a whole number from `least`, or raise ParameterError."""
    Whole(at_least=least).check(name, value)
    return int(value)
