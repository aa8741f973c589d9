"""Records: a label on a line of its own, then a block of numbers; blank lines between records.

This is the format of the UCI robot execution failures, where a record has 15 lines of 6 forces and
torques.
"""

from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, row_chunks

__all__ = ["is_records_text", "read_records"]


def _parse_numbers(line: str) -> list[float] | None:
    try:
        return [float(cell) for cell in line.replace(",", " ").split()]
    except ValueError:
        return None


def is_records_text(start: str) -> bool:
    """Return whether a text starts with a label, lines of numbers, then a blank line or the end."""
    lines = start.replace("\r\n", "\n").replace("\r", "\n").lstrip("\n").split("\n")
    if len(lines) < 3 or not lines[0].strip() or len(lines[0].split()) != 1:
        return False
    widths, k = set(), 1
    while k < len(lines) and lines[k].strip():
        numbers = _parse_numbers(lines[k])
        if numbers is None:
            return False
        widths.add(len(numbers))
        k += 1
    label = lines[0].strip()
    # a column of numbers under a name is a table, not a record
    return (
        _parse_numbers(label) is None
        and "," not in label
        and len(widths) == 1
        and widths != {1}
        and k < len(lines) - 1
    )


def read_records(opened: ByteSource, encoding: str = "utf-8") -> tuple[Any, np.ndarray, list[str]]:
    """Read a frame with one row for each record, labels, and notes for the user.

    A column ``v2_t3`` holds number 2 of line 3.
    """
    import polars as pl

    rows: list[list[float]] = []
    labels: list[str] = []
    starts: list[int] = []
    block: list[float] = []
    width = 0
    open_record = False
    for first, chunk in row_chunks(opened, encoding, quote=b""):
        for k, line in enumerate(chunk.decode().removesuffix("\n").split("\n")):
            where = f"line {first + k} of {opened.name}"
            numbers = _parse_numbers(line)
            if not line.strip():
                open_record = False
            elif not open_record and numbers is None:
                labels.append(line.strip())
                starts.append(first + k)
                block = []
                rows.append(block)
                open_record = True
            elif numbers is None or not open_record:
                raise DataError(
                    f"{where} is {line.strip()[:40]!r}, where "
                    + ("a line of numbers belongs" if open_record else "a label belongs")
                )
            else:
                width = width or len(numbers)
                if len(numbers) != width:
                    raise DataError(
                        f"{where} has {len(numbers)} numbers, where others have {width}"
                    )
                block.extend(numbers)
    size = len(rows[0]) if rows else 0
    if not size:
        raise DataError(f"{opened.name} has no records: there is nothing to rank")
    for row, start in zip(rows, starts, strict=True):
        if len(row) != size:
            raise DataError(
                f"the record from line {start} of {opened.name} on has {len(row)} numbers, where "
                f"the first has {size}: is the file cut?"
            )
    names = [f"v{k % width + 1}_t{k // width + 1}" for k in range(size)]
    values = np.asfortranarray(np.array(rows))
    frame = pl.from_numpy(values, schema=names, orient="row")
    notes = [f"records of {size // width} lines with {width} numbers"]
    return frame, np.array(labels), notes
