"""Small files about columns: a number for each of some columns, a ranking, or a schema."""

import csv
import difflib
import json
import os
import re
import tomllib
from typing import Any

from featly.basics.errors import SchemaError
from featly.io.byte_source import ByteSource, NotInEncodingError, guess_encoding, row_chunks
from featly.table.formats import FORMATS, format_of_content, load_part

__all__ = ["read_ranking", "read_schema_file", "read_weights"]

LARGEST = 1 << 26  # bytes
ORDERS = ("rank", "selected")  # columns of a ranking, of which one is needed
TRUE = ("true", "1")
PARTS: dict[str, Any] = {
    "target": str,
    "target_kind": str,
    "drop": list,
    "categorical": list,
    "continuous": list,
    "ordinal": dict,
    "keep": list,
    "known_before": list,
    "prior": dict,
    "costs": dict,
    "trade_off": (int, float),
    "column_groups": dict,
}


def _read_text(path: str | os.PathLike[str]) -> tuple[str, str]:
    with ByteSource(path) as opened:
        return _decode(opened), opened.name


def _decode(opened: ByteSource) -> str:
    if opened.size > LARGEST:
        raise SchemaError(f"{opened.name} is too large for a list of columns")
    encoding = guess_encoding(opened.head(1 << 20))
    try:
        return "".join(chunk.decode() for _, chunk in row_chunks(opened, encoding))
    except NotInEncodingError as problem:
        raise SchemaError(f"line {problem.line} of {opened.name} is no text") from None


def read_weights(path: str | os.PathLike[str], quantity: str) -> dict[str, float]:
    """Read a number for each of some columns from lines such as ``TP53,10``.

    Parameters
    ----------
    path : path
        Name and number are separated by a comma, a semicolon or a tab. A first line without a
        number is a header.
    quantity : str
        Name of the numbers in messages.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "prior.csv"
    >>> _ = path.write_text("gene,prior\\nTP53,10\\nBRCA1,5\\n")
    >>> read_weights(path, "prior")
    {'TP53': 10.0, 'BRCA1': 5.0}
    """
    text, name = _read_text(path)
    start = text.lstrip().split("\n", 1)[0]
    separator = next((mark for mark in "\t;," if mark in start), ",")
    weights: dict[str, float] = {}
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
                f"line {line} of {name} has {len(row)} cells, where a column and its {quantity} "
                "belong"
            )
        column, cell = (part.strip() for part in row)
        try:
            number = float(cell if separator == "," else cell.replace(",", "."))
        except ValueError:
            if line == first:
                continue  # a header
            raise SchemaError(
                f"line {line} of {name} gives {column!r} the {quantity} {cell!r}, which is no "
                "number"
            ) from None
        if column in weights:
            raise SchemaError(f"line {line} of {name} names {column!r} a second time")
        weights[column] = number
    if not weights:
        raise SchemaError(f"{name} names no column: give lines such as 'age,2'")
    return weights


def read_ranking(path: str | os.PathLike[str]) -> Any:
    """Read a ranking that ``featly rank --output`` or ``featly select --ranking`` wrote.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON, parquet or Arrow, which is detected from the content; gzip is decompressed.

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
    with ByteSource(path) as opened:
        name = opened.name
        kind = format_of_content(opened.head(1 << 12))
        if kind is not None and FORMATS[kind].columns:
            known = load_part(FORMATS[kind].names)(opened)
            wanted = [part for part in ("feature", *ORDERS) if part in known]
            frame = load_part(FORMATS[kind].columns)(opened, wanted)
            return _ranking_frame(frame.to_dicts(), wanted, name)
        text = _decode(opened)
    if text.lstrip()[:1] in ("{", "["):
        return _ranking_frame(*_json_rows(text, name), name)
    separator = "\t" if "\t" in text.split("\n", 1)[0] else ","
    try:
        lines = [row for row in csv.reader(text.split("\n"), delimiter=separator) if row]
    except csv.Error as problem:
        raise SchemaError(f"{name} cannot be read ({problem})") from None
    # remove the quote before what a spreadsheet would run: see `write_frame`
    lines = [[re.sub(r"^'(?='*[=+\-@\t\r])", "", cell) for cell in row] for row in lines]
    head = lines[0] if lines else []
    return _ranking_frame([dict(zip(head, row, strict=False)) for row in lines[1:]], head, name)


def _json_rows(text: str, name: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of a ranking in JSON, alone or in the output of ``featly rank``."""
    try:
        content = json.loads(text)
    except ValueError as problem:
        raise SchemaError(f"{name} is no JSON file: {problem}") from None
    rows = content.get("ranking") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SchemaError(f"{name} holds no ranking: give a file that 'featly rank' wrote")
    return rows, list(rows[0]) if rows else []


def _ranking_frame(rows: list[dict[str, Any]], head: list[str], name: str) -> Any:
    """Return names with ranks or selections as a frame; SchemaError names the row."""
    import polars as pl

    order = next((part for part in ORDERS if part in head), None)
    if "feature" not in head or order is None:
        shown = ", ".join(map(repr, head[:5])) or "nothing"
        raise SchemaError(
            f"{name} is no ranking, which has columns 'feature' and 'rank' (or 'selected', as "
            f"'featly select --ranking' writes it): it has {shown}"
        )
    values = []
    for number, row in enumerate(rows, 1):
        cell = row.get(order)
        try:
            value = str(cell).lower() in TRUE if order == "selected" else float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise SchemaError(
                f"row {number} of {name} has the rank {cell!r}: give a number"
            ) from None
        if row.get("feature") in (None, ""):
            raise SchemaError(f"row {number} of {name} names no column")
        values.append((str(row["feature"]), value))
    kind = pl.Boolean if order == "selected" else pl.Float64
    return pl.DataFrame(values, schema={"feature": pl.String, order: kind}, orient="row")


def read_schema_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the parts of a schema, and ``target`` and ``drop``, from a TOML file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "schema.toml"
    >>> _ = path.write_text('target = "ill"\\nkeep = ["age"]\\n[prior]\\nTP53 = 10\\n')
    >>> read_schema_file(path)
    {'target': 'ill', 'keep': ['age'], 'prior': {'TP53': 10}}
    """
    text, name = _read_text(path)
    try:
        schema = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise SchemaError(f"{name} is no TOML file: {problem}") from None
    for part, value in schema.items():
        if part not in PARTS:
            near = difflib.get_close_matches(part, list(PARTS), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(PARTS)}"
            raise SchemaError(f"{name} has a part {part!r}, which a schema does not have{hint}")
        if not isinstance(value, PARTS[part]):
            kinds: dict[Any, str] = {
                str: "a text",
                list: "a list of columns",
                dict: "a table, such as [prior]",
                (int, float): "a number",
            }
            raise SchemaError(f"{part} in {name} must be {kinds[PARTS[part]]}")
    return schema
