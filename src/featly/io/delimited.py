"""Tables as text, with a comma, semicolon, tab, bar or blanks between the cells.

The file is read in pieces of whole rows. The numbers of each piece are copied into one matrix at
once, so that the table is in memory only once.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, NotInEncodingError, most_rows, row_chunks
from featly.io.concat import Assembly
from featly.io.csv_dialect import CsvDialect, blanks_to_tabs, is_number, remove_blank_lines

__all__ = ["copy_columns", "read_chunks", "read_delimited"]


# ---- reading ------------------------------------------------------------------------------------
def read_delimited(
    opened: ByteSource,
    dialect: CsvDialect,
    *,
    progress: Callable[[int, int], Any] | None = None,
    apart: Sequence[int] = (),
    auto_encoding: bool = False,
) -> tuple[Any, CsvDialect]:
    """Read all rows into a polars frame (float64, categories), with the final dialect.

    If a column taken for numbers holds text further down, the file is read again, with that column
    as text. Columns in `apart` come last in the matrix of numbers, so that the others are together.
    """
    while True:
        try:
            return _read_once(opened, dialect, progress, set(apart)), dialect
        except _TextAmongNumbersError as error:
            dialect = replace(dialect, numeric=dialect.numeric - error.columns)
        except NotInEncodingError:
            if not auto_encoding or dialect.encoding == "cp1252":
                raise
            dialect = replace(dialect, encoding="cp1252")


class _TextAmongNumbersError(Exception):
    """Text in columns that were taken for numbers."""

    def __init__(self, columns: frozenset[int]) -> None:
        super().__init__(columns)
        self.columns = columns


def read_chunks(opened: ByteSource, dialect: CsvDialect) -> Iterator[tuple[int, bytes]]:
    """Yield the data in pieces of plain rows, each with the number of its first line."""
    quote = b"" if dialect.separator == " " or dialect.prepare else b'"'
    # every piece has a cost per column, so more columns take larger pieces
    times = min(8, 1 + len(dialect.names) // 4096)
    for line, chunk in row_chunks(opened, dialect.encoding, quote=quote, times=times):
        if line <= dialect.skip:
            # the lines before the data are part of this piece, or all of it
            skipped = dialect.skip - line + 1
            parts = chunk.split(b"\n", skipped)
            chunk = parts[-1] if len(parts) > skipped else b""
            line += skipped
        if dialect.prepare is not None:
            chunk = dialect.prepare(line, chunk)
        if dialect.separator == " ":
            chunk = blanks_to_tabs(chunk)
        if chunk:
            yield line, chunk


def _read_once(
    opened: ByteSource,
    dialect: CsvDialect,
    progress: Callable[[int, int], Any] | None,
    apart: set[int],
) -> Any:
    numeric = sorted(dialect.numeric, key=lambda j: (j in apart, j))
    assembly = Assembly(dialect.names, numeric, most_rows(opened, len(dialect.names)))
    text_columns: set[int] = set()
    if progress is not None:
        progress(0, opened.size >> 20)
    for frame in _parse_ahead(opened, dialect):
        if isinstance(frame, set):
            text_columns |= frame
        elif not text_columns:
            assembly.add(frame, _text_columns(dialect, frame))
        if progress is not None:
            progress(opened.position >> 20, opened.size >> 20)
    if text_columns:
        raise _TextAmongNumbersError(frozenset(text_columns))
    if assembly.n_rows == 0:
        raise DataError(f"{opened.name} has a header but no rows: there is nothing to rank")
    return assembly.frame()


def _parse_ahead(opened: ByteSource, dialect: CsvDialect) -> Iterator[Any]:
    """Yield the parsed pieces; the next one is parsed while the last is processed."""
    pieces = read_chunks(opened, dialect)

    def parse_next() -> Any:
        piece = next(pieces, None)
        return None if piece is None else _parse_piece(opened, dialect, *piece)

    with ThreadPoolExecutor(1) as ahead:
        upcoming = ahead.submit(parse_next)
        while (frame := upcoming.result()) is not None:
            upcoming = ahead.submit(parse_next)
            yield frame


def _parse_piece(opened: ByteSource, dialect: CsvDialect, line: int, chunk: bytes) -> Any:
    """Return a piece as a frame, or the set of number columns that hold text."""
    import polars as pl

    schema = {
        name: pl.Float64 if j in dialect.numeric else pl.String
        for j, name in enumerate(dialect.names)
    }
    # a blank line is no row; most pieces have none
    single_column = len(dialect.names) == 1
    rows = remove_blank_lines(chunk) if single_column or chunk[:1] in b"\n " else chunk
    if not rows:
        return pl.DataFrame(schema=schema)
    if rows.count(b"\n") * len(dialect.names) > len(rows):
        # polars fills rows that are too short, which with a million columns takes all memory
        _check_widths(opened, dialect, line, chunk)
    try:
        frame = pl.read_csv(rows, schema=schema, **_polars_options(dialect, rows))
        if not _has_same_width(dialect, rows, frame.height):
            rows = remove_blank_lines(chunk)
            frame = pl.read_csv(rows, schema=schema, **_polars_options(dialect, rows))
        if _has_same_width(dialect, rows, frame.height):
            return frame
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass  # the reason is found below
    _check_widths(opened, dialect, line, chunk)
    return _parse_text(opened, dialect, line, chunk)


def _parse_text(opened: ByteSource, dialect: CsvDialect, line: int, chunk: bytes) -> Any:
    """Parse a piece by way of text: for numbers between blanks, and quotes within cells."""
    import polars as pl

    frame = _text_frame(dialect, chunk)
    positions, columns = sorted(dialect.numeric), frame.get_columns()
    height, wrong = frame.height, set()
    # many columns as one: of 100,000, one by one takes minutes and gigabytes
    step = max(1, 1_000_000 // max(1, height))
    for block in (positions[low : low + step] for low in range(0, len(positions), step)):
        text = pl.concat([columns[j].alias("") for j in block], rechunk=True).str.strip_chars()
        text = text.set(text.is_in(list(dialect.missing)), None)
        if dialect.decimal_comma:
            text = text.str.replace(",", ".", literal=True)
        number = text.cast(pl.Float64, strict=False)
        odd = np.flatnonzero((number.is_null() & text.is_not_null()).to_numpy())
        wrong |= {block[k] for k in np.unique(odd // max(1, height))}
        for k, j in enumerate(block):
            columns[j] = number.slice(k * height, height).alias(dialect.names[j])
    if wrong and dialect.declared:
        raise _number_error(opened, dialect, line, chunk, min(wrong))
    return wrong or pl.DataFrame(columns)


def _text_frame(dialect: CsvDialect, chunk: bytes, columns: Sequence[int] | None = None) -> Any:
    """Return some columns of a piece as texts, every cell unchanged."""
    import polars as pl

    columns = range(len(dialect.names)) if columns is None else sorted(set(columns))
    rows = remove_blank_lines(chunk)
    schema = dict.fromkeys(dialect.names, pl.String)
    if not rows:
        return pl.DataFrame(schema=schema)[:, list(columns)]
    options = _polars_options(dialect, rows) | {"null_values": None}
    try:
        frame = pl.read_csv(rows, schema=schema, columns=list(columns), **options)
        if _has_same_width(dialect, rows, frame.height):
            return frame
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass
    # a quote in the middle of a cell
    parsed_rows = [row for _, row in _numbered_rows(dialect, 1, rows)]
    names = [dialect.names[j] for j in columns]
    cells = [[row[j] or None for j in columns] for row in parsed_rows]
    return pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")


def _numbered_rows(dialect: CsvDialect, line: int, chunk: bytes) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row, read by Python, which is slower than polars."""
    delimiter = "\t" if dialect.separator == " " else dialect.separator
    text = io.StringIO(chunk.decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    before, single_column = 0, len(dialect.names) == 1
    for row in reader:
        if len(row) > 1 or (row and (single_column or not row[0].isspace())):
            yield line + before, row
        before = reader.line_num


def _text_columns(dialect: CsvDialect, frame: Any) -> Any:
    """Return the columns of text as categories, without the blanks around cells."""
    import polars as pl

    columns = pl.DataFrame([frame.to_series(j) for j in dialect.texts])
    text = pl.all().str.strip_chars()
    return columns.select(
        pl.when(~text.is_in(list(dialect.missing))).then(text).cast(pl.Categorical)
    )


def _polars_options(dialect: CsvDialect, rows: bytes) -> dict[str, Any]:
    return {
        "has_header": False,
        "separator": "\t" if dialect.separator == " " else dialect.separator,
        "null_values": list(dialect.missing),
        "decimal_comma": dialect.decimal_comma,
        "quote_char": '"' if b'"' in rows else None,
    }


def _number_error(
    opened: ByteSource, dialect: CsvDialect, line: int, chunk: bytes, column: int
) -> DataError:
    """Return an error that names the cell of a number column that is no number."""
    name = dialect.names[column]
    for number, row in _numbered_rows(dialect, line, chunk):
        cell = row[column].strip()
        if cell not in dialect.missing and not is_number(cell):
            return DataError(
                f"line {number} of {opened.name} has {cell[:60]!r} in column {name!r}, which is "
                "declared as numbers: correct the value or the declaration"
            )
    return DataError(f"column {name!r} of {opened.name} is declared as numbers, but holds text")


def _has_same_width(dialect: CsvDialect, rows: bytes, height: int) -> bool:
    """Return whether rows have as many separators as columns need (polars fills up)."""
    separator = b"\t" if dialect.separator == " " else dialect.separator.encode()
    expected = height * (len(dialect.names) - 1)
    cells = np.frombuffer(rows, np.uint8)
    if b'"' not in rows:
        return int(np.count_nonzero(cells == separator[0])) == expected
    outside = ~np.logical_xor.accumulate(cells == ord('"'))
    return int(np.count_nonzero(outside & (cells == separator[0]))) == expected


def _check_widths(opened: ByteSource, dialect: CsvDialect, line: int, chunk: bytes) -> None:
    """Raise DataError for the first row that has more or fewer cells than there are columns."""
    width, number = len(dialect.names), line
    rows = _numbered_rows(dialect, line, chunk)
    try:
        for number, row in rows:
            if len(row) == width:
                continue
            cut = len(row) < width and next(rows, None) is None
            cells = f"{len(row)} cell{'s' if len(row) > 1 else ''}"
            columns = f"{width} column{'s' if width > 1 else ''}"
            raise DataError(
                f"line {number} of {opened.name} has {cells}, where the table has {columns}: "
                + (
                    "it seems to be cut there"
                    if cut
                    else "correct that line, or say which separator the file has"
                )
            )
    except csv.Error as problem:
        raise DataError(
            f"{opened.name} cannot be read from line {number} on ({problem}): is a quote opened "
            "and not closed?"
        ) from None


# ---- copying ------------------------------------------------------------------------------------
def copy_columns(
    opened: ByteSource, dialect: CsvDialect, columns: Sequence[int], out: Any, separator: str
) -> None:
    """Write some columns of a text file, every cell unchanged."""
    names = [dialect.names[j] for j in columns]
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    out.write(line.getvalue().encode())
    for _, chunk in read_chunks(opened, dialect):
        frame = _text_frame(dialect, chunk, columns)
        if frame.height:
            written = io.BytesIO()  # see `write_frame`
            frame[names].write_csv(written, include_header=False, separator=separator)
            out.write(written.getbuffer())
