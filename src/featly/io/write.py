"""Writing of frames, in the format of the file name's ending."""

import io
import os
import re
from pathlib import Path
from typing import Any

from featly.basics.atomic_file import STANDARD_OUTPUT, whole_file
from featly.basics.errors import DataError

__all__ = ["check_ending", "separator_for", "write_frame"]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}


def _ending(path: str | os.PathLike[str]) -> str:
    if str(path) == STANDARD_OUTPUT:
        return ".csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def separator_for(path: str | os.PathLike[str]) -> str | None:
    """Return the separator of a text file with this name; None for other formats."""
    return _SEPARATORS.get(_ending(path))


def write_frame(frame: Any, path: str | os.PathLike[str], *, inert: bool = False) -> None:
    """Write a polars frame as CSV, TSV, JSON or parquet, by the ending of the name.

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
    ending = check_ending(path)
    # by way of memory: polars' messages about a full disk or a closed pipe are no help
    written = io.BytesIO()
    if ending in _SEPARATORS:
        frame = _make_inert(frame) if inert else frame
        frame.write_csv(written, separator=_SEPARATORS[ending])
    elif ending == ".json":
        frame.write_json(written)
    else:
        frame.write_parquet(written)
    with whole_file(path) as out:
        out.write(written.getbuffer())


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
    """Return the ending of a file to write; DataError if featly has no writer for it."""
    ending = _ending(path)
    known = [".csv", ".tsv", ".parquet", *([".json"] if json else [])]
    if ending not in (*known, ".tab", ".txt", ".pq"):
        raise DataError(
            f"{str(path)!r}: the ending says how to write the file; give it one of "
            f"{', '.join(known)}"
        )
    return ending
