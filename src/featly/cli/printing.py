"""Output of results: a table on a terminal, tab-separated cells in a pipe, JSON, or a file.

Results go to standard output, messages to standard error.
"""

import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from featly.basics.json_text import as_json

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "amount",
    "check_output",
    "is_error_terminal",
    "is_output_terminal",
    "print_json",
    "print_table",
    "save_result",
    "say",
    "silence_broken_pipe",
]

PIECE = 1 << 13  # lines that are written at a time


def amount(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> amount(1, "row"), amount(2011, "column")
    ('1 row', '2,011 columns')
    """
    return f"{count:,} {word}{'s' * (count != 1)}"


def is_output_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout.isatty()


def is_error_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return sys.stderr.isatty()


def say(text: str, style: str = "") -> None:
    """Print a message on standard error."""
    if not is_error_terminal():
        print(text, file=sys.stderr)
        return
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(text, style=style, markup=False)


def print_table(
    names: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", note: str = ""
) -> None:
    """Print rows as a table on a terminal, or as tab-separated cells in a pipe."""
    if not is_output_terminal():
        lines = (_join_cells([_format_exact(cell) for cell in row]) for row in rows)
        sys.stdout.write(_join_cells(names))
        while part := "".join(islice(lines, PIECE)):
            sys.stdout.write(part)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for k, name in enumerate(names):
        numbers = all(isinstance(row[k], int | float) and row[k] is not True for row in rows)
        table.add_column(Text(name), justify="right" if rows and numbers else "left")
    for row in rows:
        table.add_row(*(Text(_format_short(cell)) for cell in row))
    console = Console()
    console.print(table)
    if note:
        console.print(note, style="dim", markup=False, highlight=False)


def _join_cells(cells: Iterable[str]) -> str:
    clean = (cell.replace("\t", " ").replace("\n", " ").replace("\r", " ") for cell in cells)
    return "\t".join(clean) + "\n"


def _format_exact(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return repr(cell) if isinstance(cell, float) else str(cell)


def _format_short(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else ""
    if isinstance(cell, float):
        if cell == 0 or 1e-3 <= abs(cell) < 1e6:
            return f"{cell:.4g}"
        return f"{cell:.1e}"
    return str(cell)


def print_json(document: Any) -> None:
    """Print a document as JSON; NaN and infinity become null."""
    sys.stdout.write(as_json(document))


def check_output(path: str | None, *, json: bool = True) -> None:
    """Raise an error for a file that cannot be written, before the work instead of after it."""
    from featly.basics.atomic_file import check_writable
    from featly.io.write import check_ending

    if path is not None:
        check_ending(path, json=json)
        check_writable(path)


def save_result(
    path: str, make_document: Callable[[], Any], make_frame: Callable[[], "pl.DataFrame"]
) -> None:
    """Write a whole document as JSON, or its frame, by the ending."""
    from featly.basics.atomic_file import whole_file
    from featly.io.write import check_ending, write_frame

    if check_ending(path) == "json":
        with whole_file(path) as out:
            out.write(as_json(make_document()).encode())
    else:
        write_frame(make_frame(), path, inert=True)


def silence_broken_pipe() -> None:
    """Send standard output to nowhere when its reader has gone, also for the flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
