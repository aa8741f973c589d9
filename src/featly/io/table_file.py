"""A table read from a file, copies of its columns into another one, and how to read it."""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse

from featly.basics.atomic_file import whole_file
from featly.basics.errors import DataError
from featly.io import delimited
from featly.io.byte_source import ByteSource, NotInEncodingError, guess_encoding
from featly.io.column_lookup import ColumnFinder
from featly.io.csv_dialect import CsvDialect
from featly.io.write import check_ending, separator_for, write_frame
from featly.table.formats import FORMATS, load_part

__all__ = ["Reading", "TableFile", "split_target", "to_whole_numbers"]


@dataclass(repr=False)
class TableFile:
    """Table read from a file, as :func:`featly.read_table` returns it.

    Attributes
    ----------
    X : polars frame, array or SciPy sparse matrix
        The table without its target, ready for any method's ``fit``.
    y : array or None
        The target, if one was named or the file has one.
    target : str or None
        Name of the target.
    names : sequence of str
        Names of the columns of X.
    source : str
        The file in messages.
    format : str
        A name of :data:`featly.io.FORMATS`.
    notes : list of str
        What was detected: separator, encoding, header.
    """

    X: Any
    y: np.ndarray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    notes: list[str] = field(default_factory=list)
    _opened: ByteSource | None = field(default=None, repr=False)
    _dialect: CsvDialect | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of X."""
        n_rows, n_features = self.X.shape
        return n_rows, n_features

    def __repr__(self) -> str:
        rows, columns = self.shape
        target = "" if self.target is None else f", target {self.target!r}"
        return f"TableFile({self.source}: {rows} rows, {columns} columns{target})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the table stays."""
        if self._opened is not None:
            self._opened.close()

    def save_columns(self, columns: Sequence[str], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a file.

        From text to text every cell is copied unchanged; from parquet and Arrow types are kept.
        The file is written whole or not at all.

        Parameters
        ----------
        columns : list of str
        path : path
            Its ending is the format: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``; ``.csv.gz`` is
            compressed.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.csv").write_text("age,dose,ill\\n61,1.50,yes\\n47,?,no\\n")
        >>> from featly import read_table
        >>> with read_table(folder / "a.csv", target="ill") as table:
        ...     table.save_columns(["dose"], folder / "b.csv")
        >>> print((folder / "b.csv").read_text())
        dose,ill
        1.50,yes
        ?,no
        <BLANKLINE>
        """
        find = ColumnFinder(self.names, self.source)
        columns = [self.names[find(column, "column")] for column in dict.fromkeys(columns)]
        if not columns:
            raise DataError(f"no column of {self.source} was named: there is nothing to save")
        check_ending(path, json=False)
        wanted = [*columns, self.target] if self.target is not None else columns
        separator = separator_for(path)
        if separator is not None and self._dialect is not None and self._dialect.prepare is None:
            dialect = self._dialect
            if dialect.decimal_comma and separator == ",":
                separator = ";"  # commas are part of the numbers
            position_of = {name: j for j, name in enumerate(dialect.names)}
            positions = [position_of[name] for name in wanted]
            with self._reopen() as opened, whole_file(path) as out:
                delimited.copy_columns(opened, dialect, positions, out, separator)
            return
        columns_part = FORMATS[self.format].columns
        if columns_part:
            with self._reopen() as opened:
                frame = load_part(columns_part)(opened, wanted)[wanted]
        else:
            frame = self._take_columns(columns)
        write_frame(frame, path)

    @contextlib.contextmanager
    def _reopen(self) -> Iterator[ByteSource]:
        """Open the file once more, and close it afterwards."""
        assert self._opened is not None
        try:
            yield self._opened
        finally:
            self._opened.release()

    def _take_columns(self, columns: Sequence[str]) -> Any:
        """Return some columns and the target as a frame."""
        import polars as pl

        if isinstance(self.X, pl.DataFrame):
            frame = self.X[list(columns)]
        else:
            position_of = {name: j for j, name in enumerate(self.names)}
            block = self.X[:, [position_of[name] for name in columns]]
            dense = block.toarray() if scipy.sparse.issparse(block) else block
            frame = pl.from_numpy(np.asfortranarray(dense), schema=list(columns), orient="row")
        if self.y is not None:
            # a list, since a column of Python objects cannot be written
            y = self.y.tolist() if self.y.dtype.kind == "O" else self.y
            frame = frame.with_columns(pl.Series(self.target, y, strict=False))
        return pl.DataFrame([_prepare_for_file(column) for column in frame.get_columns()])


def _prepare_for_file(column: Any) -> Any:
    """Prepare a column for a file: missing values empty, whole numbers without decimals."""
    import polars as pl

    if not column.dtype.is_float():
        return column
    # without its name, which polars may take for a pattern
    name, column = column.name, column.alias("").fill_nan(None)
    present = column.drop_nulls()
    whole = present.is_finite().all() and (present == present.floor()).all()
    whole = whole and (present.abs() < 2**53).all()
    return (column.cast(pl.Int64) if whole else column).alias(name)


@dataclass(frozen=True)
class Reading:
    """An open file, and how the user wants it read: the parameters of ``read_table``.

    Attributes
    ----------
    opened : ByteSource
    progress : callable or None
        Called with (done, total).
    target : str, int or None
    apart : sequence of str or int
    separator, encoding : str or None
    header : bool or None
    missing : sequence of str
    n_features : int or None
    sheet : str, int or None
    """

    opened: ByteSource
    progress: Any = None
    target: str | int | None = None
    apart: Sequence[str | int] = ()
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    missing: Sequence[str] = ()
    n_features: int | None = None
    sheet: str | int | None = None

    def with_text(self, text: ByteSource, *, separator: str) -> "Reading":
        """Return the reading of a text that was made of the file."""
        return replace(self, opened=text, separator=separator, encoding="utf-8")

    def columns(self, names: list[str]) -> tuple[str | None, list[int]]:
        """Return the target's name, and the positions of `apart` and of the target."""
        find = ColumnFinder(names, self.opened.name)
        aside = [find(column, "column") for column in self.apart]
        if self.target is None:
            return None, aside
        position = find(self.target, "target")
        return names[position], [*aside, position]

    def in_encoding(self, read: Callable[[str], TableFile]) -> TableFile:
        """Read a text in the given encoding, or else in the likeliest one."""
        if self.encoding is not None:
            return read(self.encoding)
        encoding = guess_encoding(self.opened.head(1 << 20))
        try:
            table = read(encoding)
        except NotInEncodingError:  # beyond the bytes that the guess is based on
            if encoding == "cp1252":
                raise
            encoding = "cp1252"
            table = read(encoding)
        if encoding not in ("utf-8", "utf-8-sig"):
            table.notes.append(f"encoding {encoding}, as far as one can tell")
        return table


# ---- the target ----------------------------------------------------------------------------------
def split_target(
    opened: ByteSource,
    frame: Any,
    target: str | None,
    kind: str,
    notes: list[str],
    dialect: CsvDialect | None = None,
) -> TableFile:
    """Take the target out of a frame."""
    import polars as pl

    y = None
    if target is not None:
        y = _labels(frame[target])
        # polars would take some names for patterns, and is slow to drop one of many columns
        frame = pl.DataFrame([c for c in frame.get_columns() if c.name != target])
        if not frame.width:
            raise DataError(
                f"{opened.name} has no column but the target {target!r}: there is nothing to rank"
            )
    return TableFile(frame, y, target, frame.columns, opened.name, kind, notes, opened, dialect)


def _labels(column: Any) -> np.ndarray:
    """Return a target as an array: whole numbers, real ones, or text with None where missing."""
    import polars as pl

    if not column.dtype.is_numeric():
        if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
            column = column.cast(pl.String)
        return np.array(column.to_list(), dtype=object)
    return to_whole_numbers(column.to_numpy())


def to_whole_numbers(values: np.ndarray) -> np.ndarray:
    """Convert a target of whole numbers to int64; leave others as they are."""
    whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
