"""Small files of a user's knowledge: numbers of some columns, a ranking, or a whole schema."""

import csv
import difflib
import json
import os
import re
import tomllib
from typing import Any

from featly.basics.errors import SchemaError
from featly.io.byte_source import NotInEncodingError, Opened, guess_encoding, row_chunks
from featly.io.parquet import names_of, read_columns

__all__ = ["read_ranking", "read_schema_file", "read_weights"]

LARGEST = 1 << 26  # bytes
ORDERS = ("rank", "selected")  # columns of which one tells the best of a ranking
TRUE = ("true", "1")
PARTS = {
    "target": str,
    "drop": list,
    "categorical": list,
    "continuous": list,
    "ordinal": dict,
    "keep": list,
    "prior": dict,
    "costs": dict,
    "column_groups": dict,
}


def _text(path: str | os.PathLike[str]) -> tuple[str, str]:
    with Opened(path) as opened:
        return _decoded(opened), opened.name


def _decoded(opened: Opened) -> str:
    if opened.size > LARGEST:
        raise SchemaError(f"{opened.name} is too large for a list of columns")
    encoding = guess_encoding(opened.head(1 << 20))
    try:
        return "".join(chunk.decode() for _, chunk in row_chunks(opened, encoding))
    except NotInEncodingError as problem:
        raise SchemaError(f"line {problem.line} of {opened.name} is no text") from None


def read_weights(path: str | os.PathLike[str], what: str) -> dict[str, float]:
    """A number for each of some columns: lines such as ``TP53,10``, with or without a header.

    Parameters
    ----------
    path : path
        Name and number are separated by a comma, a semicolon or a tab.
    what : str
        What the numbers are, for messages.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prior.csv"
    >>> _ = path.write_text("gene,prior\\nTP53,10\\nBRCA1,5\\n")
    >>> read_weights(path, "prior")
    {'TP53': 10.0, 'BRCA1': 5.0}
    """
    text, name = _text(path)
    start = text.lstrip().split("\n", 1)[0]
    separator = next((mark for mark in "\t;," if mark in start), ",")
    found: dict[str, float] = {}
    try:
        rows = list(csv.reader(text.split("\n"), delimiter=separator))
    except csv.Error as problem:
        raise SchemaError(f"{name} cannot be read ({problem})") from None
    first = next((line for line, row in enumerate(rows, 1) if any(map(str.strip, row))), 0)
    for line, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != 2:
            raise SchemaError(
                f"line {line} of {name} has {len(row)} cells, where a column and its {what} belong"
            )
        column, cell = (part.strip() for part in row)
        try:
            number = float(cell if separator == "," else cell.replace(",", "."))
        except ValueError:
            if line == first:
                continue  # a header
            raise SchemaError(
                f"line {line} of {name} gives {column!r} the {what} {cell!r}, which is no number"
            ) from None
        if column in found:
            raise SchemaError(f"line {line} of {name} names {column!r} a second time")
        found[column] = number
    if not found:
        raise SchemaError(f"{name} names no column: give lines such as 'age,2'")
    return found


def read_ranking(path: str | os.PathLike[str]) -> Any:
    """A ranking that ``featly rank --output`` or ``featly select --ranking`` wrote.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON or parquet, as the content tells; gzip is decompressed.

    Returns
    -------
    polars.DataFrame
        Columns `feature` (text) and `rank`, or `selected` where there are no ranks.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ranking.csv"
    >>> _ = path.write_text("rank,feature,score\\n1,TP53,7.1\\n2,1007,0.3\\n")
    >>> read_ranking(path).rows()
    [('TP53', 1.0), ('1007', 2.0)]
    """
    with Opened(path) as opened:
        name = opened.name
        if opened.head(4) == b"PAR1":
            wanted = [part for part in ("feature", *ORDERS) if part in names_of(opened)]
            return _ranking(read_columns(opened, wanted).to_dicts(), wanted, name)
        text = _decoded(opened)
    if text.lstrip()[:1] in ("{", "["):
        return _ranking(*_json_rows(text, name), name)
    separator = "\t" if "\t" in text.split("\n", 1)[0] else ","
    try:
        lines = [row for row in csv.reader(text.split("\n"), delimiter=separator) if row]
    except csv.Error as problem:
        raise SchemaError(f"{name} cannot be read ({problem})") from None
    # a quote before what a spreadsheet would run: see `write_frame`
    lines = [[re.sub(r"^'(?='*[=+\-@\t\r])", "", cell) for cell in row] for row in lines]
    head = lines[0] if lines else []
    return _ranking([dict(zip(head, row, strict=False)) for row in lines[1:]], head, name)


def _json_rows(text: str, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Rows of a ranking in JSON, by itself or with all that ``featly rank`` tells."""
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise SchemaError(f"{name} is no JSON file: {problem}") from None
    rows = found.get("ranking") if isinstance(found, dict) else found
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SchemaError(f"{name} holds no ranking: give a file that 'featly rank' wrote")
    return rows, list(rows[0]) if rows else []


def _ranking(rows: list[dict[str, Any]], head: list[str], name: str) -> Any:
    """Names, and ranks or what is selected; an error that names the row."""
    import polars as pl

    by = next((part for part in ORDERS if part in head), None)
    if "feature" not in head or by is None:
        shown = ", ".join(map(repr, head[:5])) or "nothing"
        raise SchemaError(
            f"{name} is no ranking, which has columns 'feature' and 'rank' (or 'selected', as "
            f"'featly select --ranking' writes it): it has {shown}"
        )
    values = []
    for number, row in enumerate(rows, 1):
        cell = row.get(by)
        try:
            value = str(cell).lower() in TRUE if by == "selected" else float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SchemaError(
                f"row {number} of {name} has the rank {cell!r}: give a number"
            ) from None
        if row.get("feature") in (None, ""):
            raise SchemaError(f"row {number} of {name} names no column")
        values.append((str(row["feature"]), value))
    kind = pl.Boolean if by == "selected" else pl.Float64
    return pl.DataFrame(values, schema={"feature": pl.String, by: kind}, orient="row")


def read_schema_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parts of a schema, and ``target`` and ``drop``, from a TOML file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "schema.toml"
    >>> _ = path.write_text('target = "ill"\\nkeep = ["age"]\\n[prior]\\nTP53 = 10\\n')
    >>> read_schema_file(path)
    {'target': 'ill', 'keep': ['age'], 'prior': {'TP53': 10}}
    """
    text, name = _text(path)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"{name} is no TOML file: {problem}") from None
    for part, value in found.items():
        if part not in PARTS:
            near = difflib.get_close_matches(part, list(PARTS), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(PARTS)}"
            raise SchemaError(f"{name} has a part {part!r}, which a schema has not{hint}")
        if not isinstance(value, PARTS[part]):
            kinds = {str: "a text", list: "a list of columns", dict: "a table, such as [prior]"}
            raise SchemaError(f"{part} in {name} must be {kinds[PARTS[part]]}")
    return found
