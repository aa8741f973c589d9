"""Small files of a user's knowledge: a number for each of some columns, or a whole schema."""

import csv
import difflib
import os
import tomllib
from typing import Any

from featly.errors import SchemaError
from featly.io.opening import NotInEncodingError, Opened, guess_encoding, row_chunks

__all__ = ["read_schema_file", "read_weights"]

LARGEST = 1 << 26  # bytes
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
        if opened.size > LARGEST:
            raise SchemaError(f"{opened.name} is too large for a list of columns")
        encoding = guess_encoding(opened.head(1 << 20))
        try:
            chunks = [chunk.decode() for _, chunk in row_chunks(opened, encoding)]
        except NotInEncodingError as problem:
            raise SchemaError(f"line {problem.line} of {opened.name} is no text") from None
        return "".join(chunks), opened.name


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
