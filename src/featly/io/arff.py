"""ARFF, the format of Weka, and KEEL's dialect of it.

The header is parsed here. Rows are read as delimited text; those with quotes, comments or braces
are rewritten as plain rows first. featly has a reader of its own because no maintained one takes
sparse rows, quoted names and text columns.
"""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, guess_encoding, row_chunks
from featly.io.csv_dialect import CsvDialect
from featly.io.delimited import read_chunks, read_delimited

__all__ = ["Header", "arff_names", "is_arff_text", "read_arff", "read_header"]

NUMBERS = ("numeric", "real", "integer")
MISSING = ("?", "<null>", "")
LARGEST_DENSE = 1 << 28  # cells of a sparse table that may be converted to a dense one


@dataclass
class Header:
    """Header of an ARFF file: names, levels and types of its attributes.

    Attributes
    ----------
    names : list of str
    levels : dict
        The levels of nominal attributes, by position.
    texts : set of int
        Positions of string attributes.
    outputs : list of str
        Names in KEEL's ``@outputs``.
    n_lines : int
        Lines of the header, that of ``@data`` included.
    missing : tuple of str
        Cells that stand for a missing value.
    """

    names: list[str] = field(default_factory=list)
    levels: dict[int, list[str]] = field(default_factory=dict)
    texts: set[int] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)
    n_lines: int = 0
    missing: tuple[str, ...] = MISSING

    @property
    def numeric(self) -> frozenset[int]:
        """Positions of numeric attributes."""
        return frozenset(range(len(self.names))) - set(self.levels) - self.texts

    def target(self) -> str | None:
        """Return the target: KEEL's output, 'class', or as in Weka a nominal last attribute."""
        if len(self.outputs) == 1 and self.outputs[0] in self.names:
            return self.outputs[0]
        for name in self.names:
            if name.lower() == "class":
                return name
        return self.names[-1] if len(self.names) - 1 in self.levels else None


def is_arff_text(text: str) -> bool:
    """Return whether the first line of a text that is no comment is one of ARFF's."""
    lines = (line.strip() for line in re.split(r"[\r\n]+", text))
    first = next((line for line in lines if line and not line.startswith("%")), "")
    return re.match(r"@(relation|attribute)\b", first, re.IGNORECASE) is not None


def arff_names(opened: ByteSource) -> list[str]:
    """Return the names of the columns."""
    return read_header(opened, guess_encoding(opened.head(1 << 20))).names


def read_header(opened: ByteSource, encoding: str) -> Header:
    """Parse everything up to ``@data``."""
    header = Header()
    seen: dict[str, int] = {}
    for first, chunk in row_chunks(opened, encoding, quote=b""):
        for k, line in enumerate(chunk.decode().split("\n")):
            number = first + k
            text = _strip_comment(line).strip()
            if not text:
                continue
            where = f"line {number} of {opened.name}"
            keyword, _, arguments = (
                text.partition(" ") if "\t" not in text else _split_at_blank(text)
            )
            keyword = keyword.lower()
            if keyword == "@data":
                header.n_lines = number
                if not header.names:
                    raise DataError(f"{opened.name} declares no attribute before @data")
                return header
            if keyword == "@attribute":
                name = _read_attribute(header, arguments.strip(), where)
                if name in seen:
                    raise DataError(
                        f"{where} declares attribute {name!r} again (first in line "
                        f"{seen[name]}): rename one"
                    )
                seen[name] = number
            elif keyword in ("@outputs", "@output"):
                header.outputs = [_unquote(part.strip()) for part in arguments.split(",")]
            elif keyword == "@end":
                raise DataError(f"{where} ends a relational attribute, which featly does not read")
            elif keyword not in ("@relation", "@inputs", "@input"):
                raise DataError(
                    f"{where} is no declaration: {text[:60]!r}. Before @data only @relation and "
                    "@attribute lines may stand"
                )
    raise DataError(f"{opened.name} has no @data line: it seems to be cut in its header")


def _split_at_blank(text: str) -> tuple[str, str, str]:
    parts = [*text.strip().split(None, 1), "", ""]
    return parts[0], " ", parts[1]


# possessive: a cell of megabytes takes no stack, and an open quote is read once
_QUOTED = re.compile(r"""'([^'\\]*+(?:\\.[^'\\]*+)*+)'|"([^"\\]*+(?:\\.[^"\\]*+)*+)\"""")
_QUOTED_CELL = re.compile(rf"(?<![^\s,{{])(?:{_QUOTED.pattern})")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_COMMENT = re.compile(_QUOTED_CELL.pattern + r"|(?:(?<=\s)|^)%.*")
_RANGE = re.compile(r"(numeric|real|integer)\s*\[[^\]]*\]$", re.IGNORECASE)


def _unquote(text: str) -> str:
    match = _QUOTED.fullmatch(text)
    if not match:
        return text
    inside = match[1] if match[1] is not None else match[2]
    return re.sub(r"\\(.)", lambda escape: _ESCAPED.get(escape[1], escape[1]), inside)


def _strip_comment(line: str) -> str:
    """Cut a line at a percent sign that is not in quotes and follows a blank or nothing."""
    if "%" not in line:
        return line
    return _COMMENT.sub(lambda match: match[0] if match[0][0] in "'\"" else "", line)


def _read_attribute(header: Header, text: str, where: str) -> str:
    """Read one declaration: a name, quoted or not, and a type."""
    quoted = _QUOTED.match(text)
    if quoted:
        name, kind = _unquote(quoted[0]), text[quoted.end() :].strip()
    else:
        parts = re.split(r"\s+|(?=\{)", text, maxsplit=1)
        name, kind = parts[0], parts[1].strip() if len(parts) > 1 else ""
    if not name or not kind:
        raise DataError(f"{where} declares an attribute without a name or a type: {text[:60]!r}")
    position = len(header.names)
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise DataError(f"{where}: the levels of {name!r} have no closing brace")
        levels = [cell.strip() for cell in _split_cells(kind[1:-1], where) if cell is not None]
        if len(set(levels)) < len(levels):
            repeated = next(level for level in levels if levels.count(level) > 1)
            raise DataError(f"{where} gives {name!r} the level {repeated!r} twice")
        header.levels[position] = levels
    elif kind.lower() == "string":
        header.texts.add(position)
    elif kind.lower().split()[0] == "date":
        raise DataError(
            f"{where}: attribute {name!r} is a date, which featly does not read: turn it into a "
            "number, such as days since an event"
        )
    elif kind.lower().split()[0] == "relational":
        raise DataError(
            f"{where}: attribute {name!r} is relational, a table in a cell, which featly does "
            "not read: write its values as columns of their own"
        )
    elif kind.lower() not in NUMBERS and not _RANGE.match(kind):
        raise DataError(
            f"{where}: attribute {name!r} has the type {kind[:40]!r}, where ARFF knows numeric, "
            "string and {levels}"
        )
    header.names.append(name)
    return name


def _split_cells(text: str, where: str) -> list[str | None]:
    """Split a row with quotes into cells; None for a question mark without quotes."""
    cells: list[str | None] = []
    start, length = 0, len(text)
    has_commas = "," in _QUOTED_CELL.sub("", text)
    while True:
        while start < length and text[start] in " \t":
            start += 1
        quoted = _QUOTED.match(text, start)
        if quoted:
            cells.append(_unquote(quoted[0]))
            start = quoted.end()
        else:
            if start < length and text[start] in "'\"":
                raise DataError(f"{where} opens a quote and does not close it")
            stop = start
            while stop < length and text[stop] != "," and (has_commas or text[stop] not in " \t"):
                stop += 1
            cell = text[start:stop].strip()
            cells.append(None if cell in MISSING else cell)
            start = stop
        while start < length and text[start] in " \t":
            start += 1
        if start >= length:
            return cells
        if text[start] == ",":
            start += 1
        elif has_commas:
            raise DataError(f"{where} has text behind a quote: {text[start : start + 20]!r}")


def _strip_weight(text: str) -> str:
    """Remove the weight at the end of a row, such as ``{2.5}``."""
    # not by a regular expression, which takes forever where a cell is thousands of braces
    start = text.rfind("{") if text.endswith("}") else 0
    return text[:start].rstrip().removesuffix(",") if start > 0 else text


def _row_rewriter(opened: ByteSource, *, blanks: bool) -> Callable[[int, bytes], bytes]:
    """Return a function that rewrites rows with quotes, comments or weights as plain ones."""

    def prepare(first: int, chunk: bytes) -> bytes:
        if not blanks and not any(mark in chunk for mark in (b"'", b'"', b"%", b"{", b"\\")):
            return chunk
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        for k, line in enumerate(chunk.decode().split("\n")):
            text = _strip_comment(line).strip()
            where = f"line {first + k} of {opened.name}"
            if not text:
                out.write("\n")  # so that lines keep their numbers
                continue
            text = _strip_weight(text)
            writer.writerow(["?" if cell is None else cell for cell in _split_cells(text, where)])
        return out.getvalue().encode()

    return prepare


def read_arff(
    opened: ByteSource,
    header: Header,
    encoding: str,
    *,
    target: str | None = None,
    apart: Sequence[int] = (),
    progress: Callable[[int, int], Any] | None = None,
) -> tuple[Any, bool]:
    """Read the rows as a frame or a sparse matrix, and whether the file writes them sparse.

    A sparse table stays sparse where all its columns but the target are numbers.
    """
    start = _first_row(opened, header, encoding)
    if start.startswith("{"):
        return _read_sparse(opened, header, encoding, target), True
    blanks = "," not in _QUOTED_CELL.sub("", start) and len(header.names) > 1
    dialect = CsvDialect(
        names=header.names,
        numeric=header.numeric,
        encoding=encoding,
        skip=header.n_lines,
        missing=header.missing,
        declared=True,
        prepare=_row_rewriter(opened, blanks=blanks),
    )
    frame, _ = read_delimited(opened, dialect, progress=progress, apart=apart)
    return _cast_nominal(opened, frame, header), False


def _first_row(opened: ByteSource, header: Header, encoding: str) -> str:
    for line, chunk in row_chunks(opened, encoding, quote=b""):
        skipped = max(0, header.n_lines - line + 1)
        for row in chunk.decode().split("\n")[skipped:]:
            text = row.strip()
            if text and not text.startswith("%"):
                return text
    raise DataError(f"{opened.name} has no row behind @data: there is nothing to rank")


def _cast_nominal(opened: ByteSource, frame: Any, header: Header) -> Any:
    """Cast nominal attributes to the levels that the file declares."""
    import polars as pl

    casts = [
        pl.nth(j).cast(pl.String).cast(pl.Enum(levels), strict=False)
        for j, levels in header.levels.items()
    ]
    if not casts:
        return frame
    cast_frame = frame.with_columns(casts)
    positions = list(header.levels)
    before, after = (part[:, positions].null_count().row(0) for part in (frame, cast_frame))
    for j, was, now in zip(header.levels, before, after, strict=True):
        if was != now:
            name = header.names[j]
            # without their names, which polars may take for patterns
            was, now = frame[name].alias("was"), cast_frame[name].alias("now")
            wrong = was.is_not_null() & now.is_null()
            row = wrong.arg_max()
            raise DataError(
                f"row {row} of {opened.name} has {frame[name][row]!r} in {name!r}, which is not "
                f"among its levels {header.levels[j][:8]!r}: correct the value, or declare the "
                "level"
            )
    return cast_frame


# ---- sparse rows ---------------------------------------------------------------------------------
def _read_sparse(opened: ByteSource, header: Header, encoding: str, target: str | None) -> Any:
    """Read rows such as ``{3 1.5, 7 yes}``; cells that are left out are 0, or the first level."""
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    level_codes = {
        j: {level: k for k, level in enumerate(levels)} for j, levels in header.levels.items()
    }
    if header.texts:
        name = header.names[min(header.texts)]
        raise DataError(
            f"{opened.name} has sparse rows and the string attribute {name!r}, which has no "
            "value to leave out: remove the attribute"
        )
    without_levels = [header.names[j] for j, levels in header.levels.items() if not levels]
    if without_levels:
        raise DataError(
            f"{opened.name} has sparse rows and no level for the attribute {without_levels[0]!r}, "
            "where the first level is that of a cell that is left out: declare its levels"
        )
    n_rows = 0
    dialect = CsvDialect(header.names, header.numeric, encoding=encoding, skip=header.n_lines,
                    prepare=lambda _, chunk: chunk)  # fmt: skip
    for first, chunk in read_chunks(opened, dialect):
        for k, line in enumerate(chunk.decode().split("\n")):
            text = _strip_comment(line).strip()
            if not text:
                continue
            where = f"line {first + k} of {opened.name}"
            for column, value in _read_sparse_cells(text, header, level_codes, where):
                rows.append(n_rows)
                columns.append(column)
                values.append(value)
            n_rows += 1
    matrix = scipy.sparse.csc_array(
        (values, (rows, columns)), shape=(n_rows, len(header.names)), dtype=np.float64
    )
    nominal = [j for j in header.levels if header.names[j] != target]
    return _to_dense(opened, matrix, header) if nominal else matrix


def _read_sparse_cells(
    text: str, header: Header, level_codes: dict[int, dict[str, int]], where: str
) -> list[tuple[int, float]]:
    body = _strip_weight(text)
    body = body if body.endswith("}") else text  # the brace was one in a quoted level
    if not (body.startswith("{") and body.endswith("}")):
        raise DataError(f"{where} is no sparse row: {text[:40]!r}. It has no braces around it")
    cells: dict[int, float] = {}
    inside = body[1:-1].strip()
    for part in _split_at_commas(inside) if inside else []:
        index, _, cell = _split_at_blank(part)
        if not index.isdecimal() or not cell:
            raise DataError(f"{where} has {part.strip()[:40]!r}, where an index and a value belong")
        column = int(index[:12])  # Python refuses to convert thousands of digits
        if column >= len(header.names):
            raise DataError(
                f"{where} names attribute {column}, but the last one is {len(header.names) - 1}"
            )
        if column in cells:
            raise DataError(f"{where} names attribute {column} twice")
        if cell in header.missing:
            cells[column] = np.nan
        elif column in level_codes:
            level = _unquote(cell)
            if level not in level_codes[column]:
                raise DataError(
                    f"{where} has {level!r} in {header.names[column]!r}, which is not among its "
                    f"levels {header.levels[column][:8]!r}"
                )
            cells[column] = level_codes[column][level]
        else:
            try:
                cells[column] = float(cell)
            except ValueError:
                raise DataError(
                    f"{where} has {cell!r} in {header.names[column]!r}, which is no number"
                ) from None
    return list(cells.items())


def _split_at_commas(text: str) -> list[str]:
    if "'" not in text and '"' not in text:
        return text.split(",")
    # a quote that is not closed reaches to the end, which is then reported as a wrong value
    parts = re.finditer(rf"(?:[^,'\"]++|{_QUOTED.pattern}|['\"].*)++", text)
    return [match[0] for match in parts]


def _to_dense(opened: ByteSource, matrix: Any, header: Header) -> Any:
    """Convert a sparse table with nominal columns to a frame."""
    import polars as pl

    if matrix.shape[0] * matrix.shape[1] > LARGEST_DENSE:
        raise DataError(
            f"{opened.name} has sparse rows with nominal columns, {matrix.shape[0]} x "
            f"{matrix.shape[1]}, too many to write out: make the nominal columns numbers"
        )
    values = matrix.toarray(order="F")
    columns = []
    for j, name in enumerate(header.names):
        if j in header.levels:
            codes = pl.Series(values[:, j]).fill_nan(None).cast(pl.UInt32)
            levels = pl.Series(header.levels[j], dtype=pl.Enum(header.levels[j]))
            columns.append(levels.gather(codes).alias(name))
        else:
            columns.append(pl.Series(name, values[:, j]))
    return pl.DataFrame(columns)
