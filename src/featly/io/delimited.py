"""Tables as text: comma, semicolon, tab, bar or blanks between the cells.

The file is read in pieces of whole rows. Numbers go straight from each piece into their final
place, so that a table is never held twice.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import NotInEncodingError, Opened, most_rows, row_chunks
from featly.io.concat import Assembly
from featly.io.csv_dialect import Layout, blanks_to_tabs, is_number, without_blank_lines

__all__ = ["copy_columns", "read_chunks", "read_delimited"]


# ---- reading ------------------------------------------------------------------------------------
def read_delimited(
    opened: Opened,
    layout: Layout,
    *,
    progress: Callable[[int, int], Any] | None = None,
    apart: Sequence[int] = (),
    auto_encoding: bool = False,
) -> tuple[Any, Layout]:
    """All rows as a polars frame: numbers as float64, texts as categories; and the final layout.

    Columns that turn out to hold text further down are read again as text. Those in `apart` come
    last in the matrix of numbers, so that the others lie together.
    """
    while True:
        try:
            return _read_once(opened, layout, progress, set(apart)), layout
        except _TextAmongNumbersError as found:
            layout = replace(layout, numeric=layout.numeric - found.columns)
        except NotInEncodingError:
            if not auto_encoding or layout.encoding == "cp1252":
                raise
            layout = replace(layout, encoding="cp1252")


class _TextAmongNumbersError(Exception):
    """Columns taken for numbers hold text."""

    def __init__(self, columns: frozenset[int]) -> None:
        super().__init__(columns)
        self.columns = columns


def read_chunks(opened: Opened, layout: Layout) -> Iterator[tuple[int, bytes]]:
    """The rows of data in pieces: number of the first line, and plain rows without blank lines."""
    quote = b"" if layout.separator == " " or layout.prepare else b'"'
    # every piece costs something a column: the more columns, the larger the pieces
    times = min(8, 1 + len(layout.names) // 4096)
    for line, chunk in row_chunks(opened, layout.encoding, quote=quote, times=times):
        if line <= layout.skip:
            # the lines before the data lie in the first piece, or are many
            skipped = layout.skip - line + 1
            parts = chunk.split(b"\n", skipped)
            chunk = parts[-1] if len(parts) > skipped else b""
            line += skipped
        if layout.prepare is not None:
            chunk = layout.prepare(line, chunk)
        if layout.separator == " ":
            chunk = blanks_to_tabs(chunk)
        if chunk:
            yield line, chunk


def _read_once(
    opened: Opened, layout: Layout, progress: Callable[[int, int], Any] | None, apart: set[int]
) -> Any:
    numeric = sorted(layout.numeric, key=lambda j: (j in apart, j))
    assembly = Assembly(layout.names, numeric, most_rows(opened, len(layout.names)))
    wrong: set[int] = set()
    if progress is not None:
        progress(0, opened.size >> 20)
    for frame in _parsed_ahead(opened, layout):
        if isinstance(frame, set):
            wrong |= frame
        elif not wrong:
            assembly.add(frame, _texts(layout, frame))
        if progress is not None:
            progress(opened.position >> 20, opened.size >> 20)
    if wrong:
        raise _TextAmongNumbersError(frozenset(wrong))
    if assembly.n_rows == 0:
        raise DataError(f"{opened.name} has a header but no rows: there is nothing to rank")
    return assembly.frame()


def _parsed_ahead(opened: Opened, layout: Layout) -> Iterator[Any]:
    """What `_parse` makes of every piece; the next is parsed while the last is put away."""
    pieces = read_chunks(opened, layout)

    def parsed() -> Any:
        piece = next(pieces, None)
        return None if piece is None else _parse(opened, layout, *piece)

    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(parsed)
        while (frame := coming.result()) is not None:
            coming = ahead.submit(parsed)
            yield frame


def _parse(opened: Opened, layout: Layout, line: int, chunk: bytes) -> Any:
    """A piece as a frame; where columns of numbers hold text, the set of those."""
    import polars as pl

    schema = {
        name: pl.Float64 if j in layout.numeric else pl.String
        for j, name in enumerate(layout.names)
    }
    # a blank line is no row; most pieces have none
    one = len(layout.names) == 1
    rows = without_blank_lines(chunk) if one or chunk[:1] in b"\n " else chunk
    if not rows:
        return pl.DataFrame(schema=schema)
    if rows.count(b"\n") * len(layout.names) > len(rows):
        # rows that are too short, which polars fills up: with a million columns, until memory ends
        _check_widths(opened, layout, line, chunk)
    try:
        frame = pl.read_csv(rows, schema=schema, **_polars_options(layout, rows))
        if not _same_width(layout, rows, frame.height):
            rows = without_blank_lines(chunk)
            frame = pl.read_csv(rows, schema=schema, **_polars_options(layout, rows))
        if _same_width(layout, rows, frame.height):
            return frame
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass  # found out below
    _check_widths(opened, layout, line, chunk)
    return _parse_text(opened, layout, line, chunk)


def _parse_text(opened: Opened, layout: Layout, line: int, chunk: bytes) -> Any:
    """As `_parse`, by way of text: for numbers with blanks around them, and odd quotes."""
    import polars as pl

    frame = _text_frame(layout, chunk)
    places, columns = sorted(layout.numeric), frame.get_columns()
    height, wrong = frame.height, set()
    # columns below each other: one by one takes minutes and gigabytes where there are 100,000
    step = max(1, 1_000_000 // max(1, height))
    for block in (places[low : low + step] for low in range(0, len(places), step)):
        text = pl.concat([columns[j].alias("") for j in block], rechunk=True).str.strip_chars()
        text = text.set(text.is_in(list(layout.missing)), None)
        if layout.decimal_comma:
            text = text.str.replace(",", ".", literal=True)
        number = text.cast(pl.Float64, strict=False)
        odd = np.flatnonzero((number.is_null() & text.is_not_null()).to_numpy())
        wrong |= {block[k] for k in np.unique(odd // max(1, height))}
        for k, j in enumerate(block):
            columns[j] = number.slice(k * height, height).alias(layout.names[j])
    if wrong and layout.declared:
        raise _blame(opened, layout, line, chunk, min(wrong))
    return wrong or pl.DataFrame(columns)


def _text_frame(layout: Layout, chunk: bytes, columns: Sequence[int] | None = None) -> Any:
    """Some columns of a piece, every cell as it stands there."""
    import polars as pl

    columns = range(len(layout.names)) if columns is None else sorted(set(columns))
    rows = without_blank_lines(chunk)
    schema = dict.fromkeys(layout.names, pl.String)
    if not rows:
        return pl.DataFrame(schema=schema)[:, list(columns)]
    options = _polars_options(layout, rows) | {"null_values": None}
    try:
        frame = pl.read_csv(rows, schema=schema, columns=list(columns), **options)
        if _same_width(layout, rows, frame.height):
            return frame
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass
    # a quote in the middle of a cell
    found = [row for _, row in _numbered(layout, 1, rows)]
    names = [layout.names[j] for j in columns]
    cells = [[row[j] or None for j in columns] for row in found]
    return pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row")


def _numbered(layout: Layout, line: int, chunk: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a piece, read by Python: slower, but it knows the line of each."""
    delimiter = "\t" if layout.separator == " " else layout.separator
    text = io.StringIO(chunk.decode(errors="replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    before, one = 0, len(layout.names) == 1
    for row in reader:
        if len(row) > 1 or (row and (one or not row[0].isspace())):
            yield line + before, row
        before = reader.line_num


def _texts(layout: Layout, frame: Any) -> Any:
    """The columns of text as categories, without blanks around them."""
    import polars as pl

    found = pl.DataFrame([frame.to_series(j) for j in layout.texts])
    text = pl.all().str.strip_chars()
    return found.select(pl.when(~text.is_in(list(layout.missing))).then(text).cast(pl.Categorical))


def _polars_options(layout: Layout, rows: bytes) -> dict[str, Any]:
    return {
        "has_header": False,
        "separator": "\t" if layout.separator == " " else layout.separator,
        "null_values": list(layout.missing),
        "decimal_comma": layout.decimal_comma,
        "quote_char": '"' if b'"' in rows else None,
    }


def _blame(opened: Opened, layout: Layout, line: int, chunk: bytes, column: int) -> DataError:
    """Which cell of a column of numbers is none."""
    name = layout.names[column]
    for number, row in _numbered(layout, line, chunk):
        cell = row[column].strip()
        if cell not in layout.missing and not is_number(cell):
            return DataError(
                f"line {number} of {opened.name} has {cell[:60]!r} in column {name!r}, which is "
                "declared as numbers: correct the value or the declaration"
            )
    return DataError(f"column {name!r} of {opened.name} is declared as numbers, but holds text")


def _same_width(layout: Layout, rows: bytes, height: int) -> bool:
    """Whether there are as many separators as whole rows need; polars fills short rows up."""
    separator = b"\t" if layout.separator == " " else layout.separator.encode()
    expected = height * (len(layout.names) - 1)
    cells = np.frombuffer(rows, np.uint8)
    if b'"' not in rows:
        return int(np.count_nonzero(cells == separator[0])) == expected
    outside = ~np.logical_xor.accumulate(cells == ord('"'))
    return int(np.count_nonzero(outside & (cells == separator[0]))) == expected


def _check_widths(opened: Opened, layout: Layout, line: int, chunk: bytes) -> None:
    """Refuse the first row that has more or fewer cells than the table has columns."""
    width, number = len(layout.names), line
    rows = _numbered(layout, line, chunk)
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
    opened: Opened, layout: Layout, columns: Sequence[int], out: Any, separator: str
) -> None:
    """Write some columns of a text file, every cell as it stands there."""
    names = [layout.names[j] for j in columns]
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    out.write(line.getvalue().encode())
    for _, chunk in read_chunks(opened, layout):
        frame = _text_frame(layout, chunk, columns)
        if frame.height:
            written = io.BytesIO()  # see `write_frame`
            frame[names].write_csv(written, include_header=False, separator=separator)
            out.write(written.getbuffer())
