"""How the rows of a text file are written: what the first of them tell."""

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import (
    NotInEncodingError,
    Opened,
    checked_encoding,
    guess_encoding,
    row_chunks,
)

__all__ = ["MISSING", "Layout", "blanks_to_tabs", "is_number", "survey", "without_blank_lines"]

MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
SAMPLE_CELLS = 50_000
SAMPLE_BYTES = 1 << 22


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


# ---- rows as bytes -------------------------------------------------------------------------------
_BLANK_LINE = re.compile(rb'("[^"]*")|^ *(?:\n|\Z)', re.MULTILINE)
_BLANKS = re.compile(rb'((?<![^ \t\n])"[^"\n]*"(?![^ \t\n]))|^[ \t]+|[ \t]+$|[ \t]+', re.MULTILINE)


def without_blank_lines(chunk: bytes) -> bytes:
    """Rows without the blank lines between them; those between quotes belong to a cell."""
    if chunk[:1] not in b"\n " and b"\n\n" not in chunk and b"\n " not in chunk:
        return chunk
    return _BLANK_LINE.sub(lambda found: found[1] or b"", chunk)


def blanks_to_tabs(chunk: bytes) -> bytes:
    """Rows with blanks between the cells as rows with one tab; quoted cells stay as they are."""
    if b'"' not in chunk:
        chunk = chunk.replace(b"\t", b" ")
        while b"  " in chunk:
            chunk = chunk.replace(b"  ", b" ")
        chunk = chunk.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
        return chunk.removesuffix(b" ").replace(b" ", b"\t")

    def between(found: re.Match[bytes]) -> bytes:
        if found[1]:
            return found[1]
        start, stop = found.span()
        edge = start == 0 or stop == len(chunk) or chunk[start - 1] == 10 or chunk[stop] == 10
        return b"" if edge else b"\t"

    return _BLANKS.sub(between, chunk)


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
    separator = _checked_separator(separator)
    if encoding is not None:
        found = checked_encoding(encoding)
        rows = _first_rows(opened, found)
    else:
        found = guess_encoding(opened.head(1 << 20))
        try:
            rows = _first_rows(opened, found)
        except NotInEncodingError:  # further down than the guess looks
            found = "cp1252"
            rows = _first_rows(opened, found)
        if found not in ("utf-8", "utf-8-sig"):
            said.append(f"encoding {found}, as far as one can tell")
    if not rows:
        raise DataError(f"{opened.name} has nothing but blank lines: no table is in it")
    try:
        rows, separator, above = _without_preamble(rows, separator, said)
        separator = separator or _guess_separator(rows)
        sample = _cut(rows, separator)
    except csv.Error as problem:
        raise DataError(f"{opened.name} is no table ({problem})") from None
    markers = (*MISSING, *missing)
    decimal_comma = separator != "," and _has_decimal_comma(sample[1:] or sample)
    if header is None:
        header = _has_header(sample, set(markers), decimal_comma)
    body = sample[1:] if header else sample
    if header and body and {len(row) for row in body} == {len(sample[0]) + 1}:
        _complete(sample[0], body, said)
    width = len(sample[0])
    cells = [[cell.strip() for cell in row] for row in body if len(row) == width]
    names = _names(sample[0], said) if header else [f"x{position}" for position in range(width)]
    layout = Layout(
        names=names,
        numeric=frozenset(_numeric(cells, width, set(markers), decimal_comma)),
        separator=separator,
        encoding=found,
        skip=_lines_before_body(opened, found, separator, above, header=header),
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
        # at least some rows, however long they are
        start = max(chunk[:SAMPLE_BYTES], b"\n".join(chunk.split(b"\n", 4)[:4]), key=len)
        lines = without_blank_lines(start).decode(errors="ignore").split("\n")
        if len(start) < len(chunk) and len(lines) > 1:
            lines.pop()  # cut in the middle
        if not lines[-1]:
            lines.pop()
        if lines:
            commas = 1 + max(lines[0].count(separator) for separator in SEPARATORS)
            most = max(4, min(100, SAMPLE_CELLS // commas))
            return [line + "\n" for line in lines[:most]]
    return []


def _without_preamble(
    rows: list[str], separator: str | None, said: list[str]
) -> tuple[list[str], str | None, int]:
    """Rows without what stands above the table: Excel's ``sep=;``, comments after ``#``."""
    told = re.fullmatch(r"sep=(\S|\t)", rows[0].strip("\n"), re.IGNORECASE)
    if told and len(rows) > 1:
        return rows[1:], separator or told[1], 1
    above = next((k for k, row in enumerate(rows) if not row.startswith("#")), 0)
    if above:
        between = separator or _guess_separator(rows[above:])
        width = len(_cut(rows[above:], between)[0])
        if width > 1 and len(_cut(rows[above - 1 : above], between)[0]) == width:
            above -= 1  # the header itself, such as #CHROM
    if above:
        said.append(f"{above} comment line{'s' if above > 1 else ''} above the table")
    return rows[above:], separator, above


def _cut(rows: list[str], separator: str) -> list[list[str]]:
    """The cells of some rows."""
    if separator == " ":
        rows = blanks_to_tabs("".join(rows).encode()).decode().splitlines(keepends=True)
        return list(csv.reader(rows, delimiter="\t"))
    return list(csv.reader(rows, delimiter=separator))


_DECIMAL = re.compile(r"\s*[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*")


def _guess_separator(rows: list[str]) -> str:
    """The separator that cuts most rows into the same, largest number of cells."""
    found: dict[str, tuple[float, int]] = {}
    for separator in SEPARATORS:
        try:
            cells = _cut(rows, separator)
        except csv.Error:  # a long line that has none of these is a cell too long for Python
            continue
        counts = [len(row) for row in cells]
        usual = max(set(counts), key=counts.count)
        agreement = counts.count(usual) / len(counts)
        if usual < 2:
            continue
        commas = [cell for row in cells[1:] or cells for cell in row if "," in cell]
        if commas and found.get(",", (2,))[0] <= agreement and all(map(_DECIMAL.fullmatch, commas)):
            del found[","]  # every comma is part of a number
        if separator == " ":
            # blanks are in texts as well: only where nothing else is between cells
            alike = set(counts[1:] or counts) == {usual} and counts[0] in (usual, usual - 1)
            if not alike or any(other > 0.5 for other, _ in found.values()):
                continue
        found[separator] = (agreement, usual)
    scores = {separator: (round(share, 1), width) for separator, (share, width) in found.items()}
    return max(scores, key=scores.__getitem__, default=",")


def is_number(cell: str, *, decimal_comma: bool = False) -> bool:
    """Whether a cell is a number as programs write them."""
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
    """Whether the first row names the columns."""

    def number(cell: str) -> bool:
        return is_number(cell, decimal_comma=decimal_comma)

    first, body = [cell.strip() for cell in sample[0]], sample[1:]
    if not body:
        return not any(map(number, first))
    counted = [str(k) for k in range(len(first))]
    if (first == counted and len(first) > 3) or first == ["", *counted[:-1]]:
        return True  # pandas numbers columns without names
    texts = [k for k, cell in enumerate(first) if cell not in markers and not number(cell)]
    columns = {k: {row[k].strip() for row in body if k < len(row)} - markers for k in texts[:500]}
    # a text above numbers is a name
    if any(found and all(map(number, found)) for found in columns.values()):
        return True
    filled = [cell for cell in first if cell]
    if "?" in first or len(set(filled)) < len(filled):
        return False
    if any(number(cell) and not cell.isdecimal() for cell in first):
        return False
    # a cell that comes again below is a value
    return bool(texts) and not any(first[k] in found for k, found in columns.items())


def _has_decimal_comma(cells: list[list[str]]) -> bool:
    points = re.compile(r"\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*")
    flat = [cell for row in cells for cell in row]
    return any(map(_DECIMAL.fullmatch, flat)) and not any(map(points.fullmatch, flat))


def _complete(names: list[str], body: list[list[str]], said: list[str]) -> None:
    """Add the one name that a header lacks."""
    if any(row[-1].strip() for row in body):
        # R writes the names of the rows without a name above them
        names.insert(0, "row_names" if "row_names" not in names else "")
        said.append(f"the first column has no name; called {names[0] or 'x0'!r}")
    else:
        names.append("")
        said.append("rows end in a separator: the last column has no name and no values")


def _names(cells: list[str], said: list[str]) -> list[str]:
    """Names of columns: none empty, none twice."""
    names: list[str] = []
    given = {cell.strip() for cell in cells}
    seen: set[str] = set()
    renamed: list[tuple[str, str]] = []
    for position, cell in enumerate(cells):
        name = wanted = cell.strip() or f"x{position}"
        count = 2
        while name in seen or (name != cell.strip() and name in given):
            name = f"{wanted}_{count}"
            count += 1
        if cell.strip() and name != wanted:
            renamed.append((wanted, name))
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
            if cell not in markers and not is_number(cell, decimal_comma=decimal_comma):
                found[j] = False
    return np.flatnonzero(found).tolist()


def _lines_before_body(
    opened: Opened, encoding: str, separator: str, above: int, *, header: bool
) -> int:
    """How many lines come before the first row of data; a quoted header may take several."""
    if not header and not above:
        return 0
    for line, chunk in row_chunks(opened, encoding):
        lines = chunk[:SAMPLE_BYTES].decode(errors="ignore").split("\n")
        at = 0
        while above and at < len(lines):
            above -= bool(lines[at].strip())
            at += 1
        if not header:
            return line - 1 + at
        if separator == " ":  # no cell goes on in the next line
            filled = (k for k in range(at, len(lines)) if lines[k].strip())
            return line + next(filled, at)
        reader = csv.reader((text + "\n" for text in lines[at:]), delimiter=separator)
        try:
            for row in reader:
                if len(row) > 1 or (row and not row[0].isspace()):
                    return line - 1 + at + reader.line_num
        except csv.Error as problem:
            raise DataError(f"{opened.name} is no table ({problem})") from None
    return 0
