"""Dialect of a text file, detected from its first rows."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import (
    ByteSource,
    NotInEncodingError,
    guess_encoding,
    resolve_encoding,
    row_chunks,
)

__all__ = [
    "MISSING",
    "CsvDialect",
    "blanks_to_tabs",
    "detect_dialect",
    "is_number",
    "remove_blank_lines",
    "text_names",
]

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
SAMPLE_CELLS = 50_000
SAMPLE_BYTES = 1 << 22


@dataclass(frozen=True)
class CsvDialect:
    """Dialect of a text file: all that its rows are read with.

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
        Cells that stand for a missing value.
    decimal_comma : bool
    declared : bool
        Whether the file says which columns hold numbers; then a text in them is an error.
    prepare : function, optional
        Function that rewrites a piece of the file as plain rows: (first line, bytes) -> bytes.
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


# ---- rows as bytes -------------------------------------------------------------------------------
_BLANK_LINE = re.compile(rb'("[^"]*")|^ *(?:\n|\Z)', re.MULTILINE)
_BLANKS = re.compile(rb'((?<![^ \t\n])"[^"\n]*"(?![^ \t\n]))|^[ \t]+|[ \t]+$|[ \t]+', re.MULTILINE)


def remove_blank_lines(chunk: bytes) -> bytes:
    """Remove the blank lines between rows; those between quotes belong to a cell."""
    if chunk[:1] not in b"\n " and b"\n\n" not in chunk and b"\n " not in chunk:
        return chunk
    return _BLANK_LINE.sub(lambda match: match[1] or b"", chunk)


def blanks_to_tabs(chunk: bytes) -> bytes:
    """Replace blanks between cells by one tab; quoted cells stay as they are."""
    if b'"' not in chunk:
        chunk = chunk.replace(b"\t", b" ")
        while b"  " in chunk:
            chunk = chunk.replace(b"  ", b" ")
        chunk = chunk.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
        return chunk.removesuffix(b" ").replace(b" ", b"\t")

    def replace_blank(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return match[1]
        start, stop = match.span()
        edge = start == 0 or stop == len(chunk) or chunk[start - 1] == 10 or chunk[stop] == 10
        return b"" if edge else b"\t"

    return _BLANKS.sub(replace_blank, chunk)


# ---- detection ----------------------------------------------------------------------------------
def text_names(opened: ByteSource) -> list[str]:
    """Return the names of the columns of a text file."""
    return detect_dialect(opened)[0].names


def detect_dialect(
    opened: ByteSource,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] = (),
) -> tuple[CsvDialect, list[str]]:
    """Detect the dialect of a text file from its first rows; return it, and notes for the user."""
    notes: list[str] = []
    separator = _resolve_separator(separator)
    if encoding is not None:
        codec = resolve_encoding(encoding)
        rows = _first_rows(opened, codec)
    else:
        codec = guess_encoding(opened.head(1 << 20))
        try:
            rows = _first_rows(opened, codec)
        except NotInEncodingError:  # beyond the bytes that the guess is based on
            codec = "cp1252"
            rows = _first_rows(opened, codec)
        if codec not in ("utf-8", "utf-8-sig"):
            notes.append(f"encoding {codec}, as far as one can tell")
    if not rows:
        raise DataError(f"{opened.name} has nothing but blank lines: no table is in it")
    try:
        rows, separator, n_above = _remove_preamble(rows, separator, notes)
        separator = separator or _guess_separator(rows)
        sample = _split_cells(rows, separator)
    except csv.Error as problem:
        raise DataError(f"{opened.name} is no table ({problem})") from None
    markers = (*MISSING, *missing)
    decimal_comma = separator != "," and _has_decimal_comma(sample[1:] or sample)
    if header is None:
        header = _has_header(sample, set(markers), decimal_comma)
    body = sample[1:] if header else sample
    if header and body and {len(row) for row in body} == {len(sample[0]) + 1}:
        _add_missing_name(sample[0], body, notes)
    width = len(sample[0])
    cells = [[cell.strip() for cell in row] for row in body if len(row) == width]
    names = (
        _unique_names(sample[0], notes) if header else [f"x{position}" for position in range(width)]
    )
    dialect = CsvDialect(
        names=names,
        numeric=frozenset(_numeric_columns(cells, width, set(markers), decimal_comma)),
        separator=separator,
        encoding=codec,
        skip=_count_lines_before_body(opened, codec, separator, n_above, header=header),
        missing=markers,
        decimal_comma=decimal_comma,
    )
    between = f"{SEPARATORS.get(separator, repr(separator))} between the columns"
    notes.insert(0, between if width > 1 else "one column")
    if decimal_comma:
        notes.append("a comma before the decimals")
    if not header:
        last = f" to x{width - 1}" if width > 1 else ""
        notes.append(f"no header line, columns are called x0{last}")
    return dialect, notes


def _resolve_separator(separator: str | None) -> str | None:
    words = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}
    if separator is None:
        return None
    separator = words.get(separator, separator)
    if len(separator) != 1 or not separator.isascii() or separator in '"\n\r':
        raise DataError(f"separator {separator!r}: give one character, or 'tab' or 'space'")
    return separator


def _first_rows(opened: ByteSource, encoding: str) -> list[str]:
    """Return the first lines that are not blank, as many as the detection needs."""
    for _, chunk in row_chunks(opened, encoding):
        # at least some rows, however long they are
        start = max(chunk[:SAMPLE_BYTES], b"\n".join(chunk.split(b"\n", 4)[:4]), key=len)
        lines = remove_blank_lines(start).decode(errors="ignore").split("\n")
        if len(start) < len(chunk) and len(lines) > 1:
            lines.pop()  # an incomplete line
        if not lines[-1]:
            lines.pop()
        if lines:
            commas = 1 + max(lines[0].count(separator) for separator in SEPARATORS)
            most = max(4, min(100, SAMPLE_CELLS // commas))
            return [line + "\n" for line in lines[:most]]
    return []


def _remove_preamble(
    rows: list[str], separator: str | None, notes: list[str]
) -> tuple[list[str], str | None, int]:
    """Remove lines above the table: Excel's ``sep=;``, comments after ``#``."""
    directive = re.fullmatch(r"sep=(\S|\t)", rows[0].strip("\n"), re.IGNORECASE)
    if directive and len(rows) > 1:
        return rows[1:], separator or directive[1], 1
    n_above = next((k for k, row in enumerate(rows) if not row.startswith("#")), 0)
    if n_above:
        between = separator or _guess_separator(rows[n_above:])
        width = len(_split_cells(rows[n_above:], between)[0])
        if width > 1 and len(_split_cells(rows[n_above - 1 : n_above], between)[0]) == width:
            n_above -= 1  # the header itself, such as #CHROM
    if n_above:
        notes.append(f"{n_above} comment line{'s' if n_above > 1 else ''} above the table")
    return rows[n_above:], separator, n_above


def _split_cells(rows: list[str], separator: str) -> list[list[str]]:
    """Split rows into cells."""
    if separator == " ":
        rows = blanks_to_tabs("".join(rows).encode()).decode().splitlines(keepends=True)
        return list(csv.reader(rows, delimiter="\t"))
    return list(csv.reader(rows, delimiter=separator))


_DECIMAL = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")


def _guess_separator(rows: list[str]) -> str:
    """Return the separator that cuts most rows into the same, largest number of cells."""
    candidates: dict[str, tuple[float, int]] = {}
    for separator in SEPARATORS:
        try:
            cells = _split_cells(rows, separator)
        except csv.Error:  # without this separator, a cell is too long for Python
            continue
        counts = [len(row) for row in cells]
        usual = max(set(counts), key=counts.count)
        agreement = counts.count(usual) / len(counts)
        if usual < 2:
            continue
        commas = [cell for row in cells[1:] or cells for cell in row if "," in cell]
        if (
            commas
            and candidates.get(",", (2,))[0] <= agreement
            and all(map(_DECIMAL.fullmatch, commas))
        ):
            del candidates[","]  # every comma is part of a number
        if separator == " ":
            # blanks are in texts as well, so they count only if no other separator fits
            alike = set(counts[1:] or counts) == {usual} and counts[0] in (usual, usual - 1)
            if not alike or any(other > 0.5 for other, _ in candidates.values()):
                continue
        candidates[separator] = (agreement, usual)
    scores = {
        separator: (round(share, 1), width) for separator, (share, width) in candidates.items()
    }
    return max(scores, key=scores.__getitem__, default=",")


def is_number(cell: str, *, decimal_comma: bool = False) -> bool:
    """Return whether a cell is a number in the notation of programs."""
    if decimal_comma:
        cell = cell.replace(",", ".")
    if "_" in cell:
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _has_header(sample: list[list[str]], markers: set[str], decimal_comma: bool) -> bool:
    """Return whether the first row names the columns."""

    def looks_numeric(cell: str) -> bool:
        return is_number(cell, decimal_comma=decimal_comma)

    first, body = [cell.strip() for cell in sample[0]], sample[1:]
    if not body:
        return not any(map(looks_numeric, first))
    numbers = [str(k) for k in range(len(first))]
    if (first == numbers and len(first) > 3) or first == ["", *numbers[:-1]]:
        return True  # pandas numbers unnamed columns
    texts = [k for k, cell in enumerate(first) if cell not in markers and not looks_numeric(cell)]
    columns = {k: {row[k].strip() for row in body if k < len(row)} - markers for k in texts[:500]}
    # a text above numbers is a name
    if any(values and all(map(looks_numeric, values)) for values in columns.values()):
        return True
    filled = [cell for cell in first if cell]
    if "?" in first or len(set(filled)) < len(filled):
        return False
    if any(looks_numeric(cell) and not cell.isdecimal() for cell in first):
        return False
    # a text that occurs again below it is a value
    return bool(texts) and not any(first[k] in values for k, values in columns.items())


def _has_decimal_comma(cells: list[list[str]]) -> bool:
    points = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
    flat = [cell for row in cells for cell in row]
    return any(map(_DECIMAL.fullmatch, flat)) and not any(map(points.fullmatch, flat))


def _add_missing_name(names: list[str], body: list[list[str]], notes: list[str]) -> None:
    """Add the one name that a header lacks."""
    if any(row[-1].strip() for row in body):
        # R writes the names of the rows as a column without a name
        names.insert(0, "row_names" if "row_names" not in names else "")
        notes.append(f"the first column has no name; called {names[0] or 'x0'!r}")
    else:
        names.append("")
        notes.append("rows end in a separator: the last column has no name and no values")


def _unique_names(cells: list[str], notes: list[str]) -> list[str]:
    """Return names of columns, none of them empty or repeated."""
    names: list[str] = []
    originals = {cell.strip() for cell in cells}
    seen: set[str] = set()
    renamed: list[tuple[str, str]] = []
    for position, cell in enumerate(cells):
        name = wanted = cell.strip() or f"x{position}"
        count = 2
        while name in seen or (name != cell.strip() and name in originals):
            name = f"{wanted}_{count}"
            count += 1
        if cell.strip() and name != wanted:
            renamed.append((wanted, name))
        seen.add(name)
        names.append(name)
    if renamed:
        more = f", and {len(renamed) - 1} more like it" if len(renamed) > 1 else ""
        notes.append(f"a second column {renamed[0][0]!r} is called {renamed[0][1]!r}{more}")
    return names


def _numeric_columns(
    cells: list[list[str]], width: int, markers: set[str], decimal_comma: bool
) -> list[int]:
    """Return the columns that hold nothing but numbers and missing values in these rows."""
    is_numeric = np.ones(width, bool)
    for row in cells:
        for j in np.flatnonzero(is_numeric):
            cell = row[j]
            if cell not in markers and not is_number(cell, decimal_comma=decimal_comma):
                is_numeric[j] = False
    return np.flatnonzero(is_numeric).tolist()


def _count_lines_before_body(
    opened: ByteSource, encoding: str, separator: str, n_above: int, *, header: bool
) -> int:
    """Count the lines before the first row of data; a quoted header may take several."""
    if not header and not n_above:
        return 0
    for line, chunk in row_chunks(opened, encoding):
        lines = chunk[:SAMPLE_BYTES].decode(errors="ignore").split("\n")
        start = 0
        while n_above and start < len(lines):
            n_above -= bool(lines[start].strip())
            start += 1
        if not header:
            return line - 1 + start
        if separator == " ":  # no cell reaches into the next line
            filled = (k for k in range(start, len(lines)) if lines[k].strip())
            return line + next(filled, start)
        reader = csv.reader((text + "\n" for text in lines[start:]), delimiter=separator)
        try:
            for row in reader:
                if len(row) > 1 or (row and not row[0].isspace()):
                    return line - 1 + start + reader.line_num
        except csv.Error as problem:
            raise DataError(f"{opened.name} is no table ({problem})") from None
    return 0
