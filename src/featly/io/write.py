"""Writing of frames, in the format of the file name's ending."""

import io
import os
import re
from pathlib import Path
from typing import Any, BinaryIO

from featly.basics.atomic_file import STANDARD_OUTPUT, whole_file
from featly.basics.errors import DataError
from featly.table.formats import FORMATS, describe_endings, format_of_suffix, load_part, writable

__all__ = [
    "check_ending",
    "separator_for",
    "write_csv",
    "write_frame",
    "write_json",
    "write_tsv",
]

_SEPARATORS = {"csv": ",", "tsv": "\t", "text": "\t"}


def _ending(path: str | os.PathLike[str]) -> str:
    if str(path) == STANDARD_OUTPUT:
        return ".csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def separator_for(path: str | os.PathLike[str]) -> str | None:
    """Return the separator of a text file with this name; None for other formats."""
    kind = format_of_suffix(_ending(path), loosely=True)
    return _SEPARATORS.get(str(kind))


def write_frame(frame: Any, path: str | os.PathLike[str], *, inert: bool = False) -> None:
    """Write a polars frame as CSV, TSV, JSON, parquet or Arrow, by the ending of the name.

    A spreadsheet runs a cell of CSV that begins like a formula. With `inert`, a quote is put before
    such texts, which :func:`featly.io.schema_files.read_ranking` removes: for tables of results,
    in which names of columns are cells. A user's own table is written unchanged.

    Examples
    --------
    >>> import tempfile, pathlib, polars as pl
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ranking.json"
    >>> write_frame(pl.DataFrame({"feature": ["age"], "rank": [1]}), path)
    >>> path.read_text()
    '[{"feature":"age","rank":1}]'
    """
    kind = check_ending(path)
    frame = _make_inert(frame) if inert and separator_for(path) is not None else frame
    # by way of memory: polars' messages about a full disk or a closed pipe are no help
    written = io.BytesIO()
    load_part(FORMATS[kind].writer)(frame, written)
    with whole_file(path) as out:
        out.write(written.getbuffer())


def write_csv(frame: Any, stream: BinaryIO) -> None:
    """Write cells with commas between them."""
    frame.write_csv(stream, separator=",")


def write_tsv(frame: Any, stream: BinaryIO) -> None:
    """Write cells with tabs between them."""
    frame.write_csv(stream, separator="\t")


def write_json(frame: Any, stream: BinaryIO) -> None:
    """Write a list of objects, one a row."""
    frame.write_json(stream)


# also with quotes before it, so that one quote can always be removed again
_FORMULA = r"^'*[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def _make_inert(frame: Any) -> Any:
    """Put a quote before texts and names that a spreadsheet would take for a formula."""
    import polars as pl

    columns = []
    for name, column in zip(frame.columns, frame.get_columns(), strict=True):
        if column.dtype == pl.String:
            runs = column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)
            quoted = pl.concat_str([pl.lit("'"), column])
            column = pl.select(pl.when(runs).then(quoted).otherwise(column)).to_series()
        runs_too = re.match(_FORMULA, name) and not re.match(_NUMBER, name)
        columns.append(column.alias(f"'{name}" if runs_too else name))
    return pl.DataFrame(columns)


def check_ending(path: str | os.PathLike[str], *, json: bool = True) -> str:
    """Return the format of a file to write; DataError if featly has no writer for its ending."""
    kind = format_of_suffix(_ending(path), loosely=True)
    known = [name for name in writable() if name != "json"]
    known += ["json"] if json else []
    if kind not in known:
        raise DataError(
            f"{str(path)!r}: the ending says how to write the file; give it one of "
            f"{describe_endings(known, usual=True)}"
        )
    return str(kind)
