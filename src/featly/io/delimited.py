"""Tables as text: comma, semicolon, tab, bar or blanks between the cells.

The file is read in pieces of whole rows. Numbers go straight from each piece into their final
place, so that a table is never held twice.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from featly.errors import DataError
from featly.io.assembling import Assembly
from featly.io.opening import (
    NotInEncodingError,
    Opened,
    checked_encoding,
    guess_encoding,
    most_rows,
    row_chunks,
)

__all__ = ["MISSING", "Layout", "copy_columns", "read_chunks", "read_delimited", "survey"]

MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
SAMPLE_CELLS = 50_000


@dataclass(frozen=True)
class Layout:
    """How the rows of a text file are read.

    Attributes
    ----------
    names : list of str
    numeric : set of int
        Positions of the columns of numbers; the others are text.
    separator : str
        A blank stands for any run of blanks and tabs.
    encoding : str
    skip : int
        Lines before the first row of data.
    missing : tuple of str
        What stands for a missing value.
    decimal_comma : bool
    declared : bool
        Whether the file says which columns hold numbers: a text there is an error, then.
    prepare : function, optional
        Makes plain rows out of a piece of the file: (first line, bytes) -> bytes.
    """

    names: list[str]
    numeric: frozenset[int]
    separator: str = ","
    encoding: str = "utf-8"
    skip: int = 0
    missing: tuple[str, ...] = MISSING
    decimal_comma: bool = False
    declared: bool = False
    prepare: Callable[[int, bytes], bytes] | None = None

    @property
    def texts(self) -> list[int]:
        """Positions of the columns of text."""
        return [j for j in range(len(self.names)) if j not in self.numeric]


# ---- finding out --------------------------------------------------------------------------------
def survey(
    opened: Opened,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] = (),
) -> tuple[Layout, list[str]]:
    """The layout of a text file by its first rows, and in words what was found."""
    said: list[str] = []
    if encoding is None:
        found = guess_encoding(opened.head(1 << 20))
        if found not in ("utf-8", "utf-8-sig"):
            said.append(f"encoding {found}, as far as one can tell")
    else:
        found = checked_encoding(encoding)
    separator = _checked_separator(separator)
    rows = _first_rows(opened, found)
    if not rows:
        raise DataError(f"{opened.name} has nothing but blank lines: no table is in it")
    if separator is None:
        separator = _guess_separator(rows)
    sample = list(_parsed(opened, rows, separator))
    markers = (*MISSING, *missing)
    if header is None:
        header = _has_header(sample, set(markers))
    body = sample[1:] if header else sample
    width = len(sample[0])
    if header and body and {len(row) for row in body} == {width + 1}:
        # R writes the names of the rows without a name above them
        sample[0] = ["row_names", *sample[0]]
        width += 1
        said.append("the first column has no name; called 'row_names'")
    cells = [[cell.strip() for cell in row] for row in body if len(row) == width]
    decimal_comma = separator != "," and _has_decimal_comma(cells)
    names = _names(sample[0], said) if header else [f"x{position}" for position in range(width)]
    layout = Layout(
        names=names,
        numeric=frozenset(_numeric(cells, width, set(markers), decimal_comma)),
        separator=separator,
        encoding=found,
        skip=_lines_before_body(opened, found, header=header),
        missing=markers,
        decimal_comma=decimal_comma,
    )
    between = f"{SEPARATORS.get(separator, repr(separator))} between the columns"
    said.insert(0, between if width > 1 else "one column")
    if decimal_comma:
        said.append("a comma before the decimals")
    if not header:
        last = f" to x{width - 1}" if width > 1 else ""
        said.append(f"no header line, columns are called x0{last}")
    return layout, said


def _checked_separator(separator: str | None) -> str | None:
    words = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}
    if separator is None:
        return None
    separator = words.get(separator, separator)
    if len(separator) != 1 or not separator.isascii() or separator in '"\n\r':
        raise DataError(f"separator {separator!r}: give one character, or 'tab' or 'space'")
    return separator


def _first_rows(opened: Opened, encoding: str) -> list[str]:
    """The first lines that are not blank, enough to see what the columns hold."""
    for _, chunk in row_chunks(opened, encoding):
        start = chunk[: 1 << 22]
        lines = start.decode(errors="ignore").split("\n")
        if len(start) < len(chunk) and len(lines) > 1:
            lines.pop()  # cut in the middle
        lines = [line for line in lines if line.strip()]
        if lines:
            commas = 1 + max(lines[0].count(separator) for separator in SEPARATORS)
            return lines[: max(4, min(100, SAMPLE_CELLS // commas))]
    return []


def _guess_separator(rows: list[str]) -> str:
    """The separator that cuts most rows into the same, largest number of cells."""
    best, score = ",", (0.0, 0)
    for separator in SEPARATORS:
        if separator == " ":
            counts = [len(row.split()) for row in rows]
        elif any('"' in row for row in rows):
            try:
                counts = [len(row) for row in csv.reader(rows, delimiter=separator)]
            except csv.Error:
                counts = [row.count(separator) + 1 for row in rows]
        else:
            counts = [row.count(separator) + 1 for row in rows]
        usual = max(set(counts), key=counts.count)
        if usual < 2:
            continue
        agreement = counts.count(usual) / len(counts)
        if separator == " " and (score[0] > 0.5 or agreement < 1):
            continue  # blanks are in texts as well: only where nothing else is between cells
        if (round(agreement, 1), usual) > score:
            best, score = separator, (round(agreement, 1), usual)
    return best


def _parsed(opened: Opened, rows: list[str], separator: str) -> Iterator[list[str]]:
    if separator == " ":
        yield from (row.split() for row in rows)
        return
    reader = csv.reader(rows, delimiter=separator)
    try:
        yield from reader
    except csv.Error as problem:
        raise DataError(f"{opened.name} is no table ({problem})") from None


def _is_number(cell: str, *, decimal_comma: bool = False) -> bool:
    if decimal_comma:
        cell = cell.replace(",", ".")
    if "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_header(sample: list[list[str]], markers: set[str]) -> bool:
    """Whether the first row names the columns."""
    first, body = [cell.strip() for cell in sample[0]], sample[1:]
    if not body:
        return not any(_is_number(cell) for cell in first)
    texts = [k for k, cell in enumerate(first) if cell and not _is_number(cell)]
    columns = {k: {row[k].strip() for row in body if k < len(row)} - markers for k in texts[:500]}
    # a text above numbers is a name
    if any(
        found and all(map(_is_number, found))
        for k, found in columns.items()
        if first[k] not in markers
    ):
        return True
    filled = [cell for cell in first if cell]
    if "?" in first or len(set(filled)) < len(filled):
        return False
    if any(_is_number(cell) and not cell.isdecimal() for cell in first):
        return False
    # a cell that comes again below is a value
    return bool(texts) and not any(first[k] in found for k, found in columns.items())


def _has_decimal_comma(cells: list[list[str]]) -> bool:
    commas = re.compile(r"[+-]?\d+,\d+")
    points = re.compile(r"[+-]?\d*\.\d+")
    flat = [cell for row in cells for cell in row]
    return any(map(commas.fullmatch, flat)) and not any(map(points.fullmatch, flat))


def _names(cells: list[str], said: list[str]) -> list[str]:
    """Names of columns: none empty, none twice."""
    names: list[str] = []
    seen: set[str] = set()
    renamed: list[tuple[str, str]] = []
    given = {cell.strip() for cell in cells}
    for position, cell in enumerate(cells):
        name = cell.strip()
        if not name:
            name = f"x{position}"
        if name in seen:
            count = 2
            while f"{name}_{count}" in seen or f"{name}_{count}" in given:
                count += 1
            renamed.append((name, f"{name}_{count}"))
            name = f"{name}_{count}"
        seen.add(name)
        names.append(name)
    if renamed:
        more = f", and {len(renamed) - 1} more like it" if len(renamed) > 1 else ""
        said.append(f"a second column {renamed[0][0]!r} is called {renamed[0][1]!r}{more}")
    return names


def _numeric(
    cells: list[list[str]], width: int, markers: set[str], decimal_comma: bool
) -> list[int]:
    """Columns that hold nothing but numbers and gaps in these rows."""
    found = np.ones(width, bool)
    for row in cells:
        for j in np.flatnonzero(found):
            cell = row[j]
            if cell not in markers and not _is_number(cell, decimal_comma=decimal_comma):
                found[j] = False
    return np.flatnonzero(found).tolist()


def _lines_before_body(opened: Opened, encoding: str, *, header: bool) -> int:
    """How many lines come before the first row of data; a quoted header may take several."""
    if not header:
        return 0
    for _, chunk in row_chunks(opened, encoding):
        quotes = 0
        for number, text in enumerate(chunk.split(b"\n", 1000), 1):
            quotes += text.count(b'"')
            if text.strip() and quotes % 2 == 0:
                return number
    return 0


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
    for line, chunk in row_chunks(opened, layout.encoding, quote=quote):
        if line <= layout.skip:
            # the lines before the data lie in the first piece, or are many
            skipped = layout.skip - line + 1
            parts = chunk.split(b"\n", skipped)
            chunk = parts[-1] if len(parts) > skipped else b""
            line += skipped
        if layout.prepare is not None:
            chunk = layout.prepare(line, chunk)
        if layout.separator == " ":
            chunk = re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", chunk)
            chunk = re.sub(rb"[ \t]+", b"\t", chunk)
        if chunk:
            yield line, chunk


def _without_blank_lines(chunk: bytes) -> bytes:
    return re.sub(rb"(?m)^ *(\n|\Z)", b"", chunk)


def _read_once(
    opened: Opened, layout: Layout, progress: Callable[[int, int], Any] | None, apart: set[int]
) -> Any:
    numeric = sorted(layout.numeric, key=lambda j: (j in apart, j))
    assembly = Assembly(layout.names, numeric, most_rows(opened))
    wrong: set[int] = set()
    for line, chunk in read_chunks(opened, layout):
        frame = _parse(opened, layout, line, chunk)
        if isinstance(frame, set):
            wrong |= frame
        elif not wrong:
            assembly.add(frame, _texts(layout, frame))
        if progress is not None:
            progress(opened.position, opened.size)
    if wrong:
        raise _TextAmongNumbersError(frozenset(wrong))
    if assembly.n_rows == 0:
        raise DataError(f"{opened.name} has a header but no rows: there is nothing to rank")
    return assembly.frame()


def _parse(opened: Opened, layout: Layout, line: int, chunk: bytes) -> Any:
    """A piece as a frame; where columns of numbers hold text, the set of those."""
    import polars as pl

    schema = {
        name: pl.Float64 if j in layout.numeric else pl.String
        for j, name in enumerate(layout.names)
    }
    # a blank line is no row; in a table of one column it is a missing value
    one = len(layout.names) == 1
    rows = _without_blank_lines(chunk) if chunk[:1] in b"\n " and not one else chunk
    try:
        if not rows:
            return pl.DataFrame(schema=schema)
        frame = pl.read_csv(rows, schema=schema, **_polars_options(layout, rows))
        if not one and not _same_width(layout, rows, frame.height):
            rows = _without_blank_lines(chunk)
            frame = pl.read_csv(rows, schema=schema, **_polars_options(layout, rows))
            if not _same_width(layout, rows, frame.height):
                _check_widths(opened, layout, line, chunk)
    except pl.exceptions.PolarsError as problem:
        _check_widths(opened, layout, line, chunk)
        wrong = _columns_of_text(layout, rows)
        if not wrong:
            raise DataError(
                f"{opened.name} cannot be read from line {line} on ({_first_line(problem)})"
            ) from None
        if layout.declared:
            raise _blame(opened, layout, rows, min(wrong), line) from None
        return wrong
    return frame


def _texts(layout: Layout, frame: Any) -> Any:
    """The columns of text as categories, without blanks around them."""
    import polars as pl

    columns = frame.get_columns()
    found = pl.DataFrame([columns[j] for j in layout.texts])
    text = pl.all().str.strip_chars()
    return found.select(pl.when(~text.is_in(list(layout.missing))).then(text).cast(pl.Categorical))


def _polars_options(layout: Layout, rows: bytes) -> dict[str, Any]:
    quotes = layout.separator != " " and b'"' in rows
    return {
        "has_header": False,
        "separator": "\t" if layout.separator == " " else layout.separator,
        "null_values": list(layout.missing),
        "decimal_comma": layout.decimal_comma,
        "quote_char": '"' if quotes else None,
    }


def _columns_of_text(layout: Layout, rows: bytes) -> set[int]:
    """Columns among those of numbers that hold something else."""
    import polars as pl

    numeric = sorted(layout.numeric)
    schema = dict.fromkeys(layout.names, pl.String)
    frame = pl.read_csv(rows, schema=schema, columns=numeric, **_polars_options(layout, rows))
    number = pl.all().str.strip_chars()
    if layout.decimal_comma:
        number = number.str.replace(",", ".", literal=True)
    present = number.is_not_null() & ~number.is_in(list(layout.missing))
    odd = frame.select((present & number.cast(pl.Float64, strict=False).is_null()).any())
    return {j for j, wrong in zip(numeric, odd.row(0), strict=True) if wrong}


def _blame(opened: Opened, layout: Layout, rows: bytes, column: int, line: int) -> DataError:
    """Which cell of a column of numbers is none."""
    import polars as pl

    schema = dict.fromkeys(layout.names, pl.String)
    cells = pl.read_csv(rows, schema=schema, columns=[column], **_polars_options(layout, rows))
    for row, cell in enumerate(cells.to_series()):
        if cell is not None and not _is_number(cell.strip()) and cell.strip() not in layout.missing:
            return DataError(
                f"column {layout.names[column]!r} of {opened.name} is declared as numbers, but "
                f"holds {cell!r} (row {row} from line {line} on): correct the value or the "
                "declaration"
            )
    return DataError(f"column {layout.names[column]!r} of {opened.name} holds text")


def _same_width(layout: Layout, rows: bytes, height: int) -> bool:
    """Whether there are as many separators as whole rows need; polars fills short rows up."""
    separator = b"\t" if layout.separator == " " else layout.separator.encode()
    expected = height * (len(layout.names) - 1)
    cells = np.frombuffer(rows, np.uint8)
    if layout.separator == " " or b'"' not in rows:
        return int(np.count_nonzero(cells == separator[0])) == expected
    outside = ~np.logical_xor.accumulate(cells == ord('"'))
    return int(np.count_nonzero(outside & (cells == separator[0]))) == expected


def _check_widths(opened: Opened, layout: Layout, line: int, chunk: bytes) -> None:
    """Refuse the first row that has more or fewer cells than the table has columns."""
    width = len(layout.names)
    text = chunk.decode(errors="replace")
    delimiter = "\t" if layout.separator == " " else layout.separator
    quoting = csv.QUOTE_NONE if layout.separator == " " else csv.QUOTE_MINIMAL
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=quoting)
    before = 0
    try:
        for row in reader:
            if row and len(row) != width and not (width > 1 and row == [""]):
                at_end = not text[_offset(text, reader.line_num) :].strip()
                cut = ": it seems to be cut there" if at_end and len(row) < width else ""
                advice = cut or ": correct that line, or say which separator the file has"
                raise DataError(
                    f"line {line + before} of {opened.name} has {len(row)} cells, where the table "
                    f"has {width} columns{advice}"
                )
            before = reader.line_num
    except csv.Error as problem:
        raise DataError(
            f"line {line + before} of {opened.name} cannot be read ({problem})"
        ) from None


def _offset(text: str, lines: int) -> int:
    at = 0
    for _ in range(lines):
        at = text.find("\n", at) + 1
        if at == 0:
            return len(text)
    return at


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n")[0][:200]


# ---- copying ------------------------------------------------------------------------------------
def copy_columns(
    opened: Opened, layout: Layout, columns: Sequence[int], out: Any, separator: str
) -> None:
    """Write some columns of a text file, every cell as it stands there."""
    import polars as pl

    names = [layout.names[j] for j in columns]
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    out.write(line.getvalue().encode())
    schema = dict.fromkeys(layout.names, pl.String)
    for _, chunk in read_chunks(opened, layout):
        rows = chunk if len(layout.names) == 1 else _without_blank_lines(chunk)
        if rows:
            options = _polars_options(layout, rows) | {"null_values": None}
            frame = pl.read_csv(rows, schema=schema, columns=list(columns), **options)
            frame.select(names).write_csv(out, include_header=False, separator=separator)
