"""Arrow files, which is what Feather is since its version 2."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource
from featly.io.parquet import ColumnFormat

__all__ = [
    "ARROW",
    "has_pyarrow",
    "open_arrow",
    "refuse_other_arrow",
    "write_arrow",
]

MAGIC = b"ARROW1"


def refuse_other_arrow(start: bytes, name: str) -> None:
    """Raise DataError if a file does not begin as an Arrow file does, with what to do about it.

    Examples
    --------
    >>> refuse_other_arrow(b"FEA1....", "'a.feather'")
    Traceback (most recent call last):
    ...
    featly.DataError: 'a.feather' is a Feather file of version 1, which is no Arrow file yet: read \
it with pyarrow.feather.read_table, and write it again
    """
    if start.startswith(MAGIC):
        return
    if start.startswith(b"FEA1"):
        raise DataError(
            f"{name} is a Feather file of version 1, which is no Arrow file yet: read it with "
            "pyarrow.feather.read_table, and write it again"
        )
    if start.startswith(b"\xff\xff\xff\xff"):
        raise DataError(
            f"{name} is a stream of Arrow messages, of which no column can be read alone: make a "
            "file of it with polars.read_ipc_stream(...).write_ipc(...)"
        )
    raise DataError(f"{name} is no Arrow file, whatever its name says: it is damaged")


class _ArrowFormat(ColumnFormat):
    """Arrow files; pyarrow reads them where it is installed, polars otherwise.

    polars does not read the categories of pandas if some are missing.
    """

    def _describe_damage(self) -> str:
        if has_pyarrow():
            return "it is cut or damaged"
        return (
            "it is cut or damaged, or has missing categories of pandas, which takes pyarrow: "
            "pip install 'featly[io]'"
        )

    def _read_schema(self, file: Any) -> Any:
        if not has_pyarrow():
            return super()._read_schema(file)
        import polars as pl

        with _arrow_source(file) as source:
            empty: Any = pl.from_arrow(open_arrow(source, []).schema.empty_table())
        return empty.schema

    def _read_columns(self, file: Any, names: Sequence[str]) -> Any:
        if not has_pyarrow() or not names:
            return super()._read_columns(file, names)
        import polars as pl

        with _arrow_source(file) as source:
            known = {name: k for k, name in enumerate(open_arrow(source, []).schema.names)}
        with _arrow_source(file) as source:
            table = open_arrow(source, sorted(known[name] for name in names)).read_all()
        return pl.from_arrow(table.unify_dictionaries())


def has_pyarrow() -> bool:
    """Return whether pyarrow is installed."""
    try:
        import pyarrow.ipc  # noqa: F401
    except ImportError:
        return False
    return True


def open_arrow(source: Any, positions: Sequence[int]) -> Any:
    """Open a file by pyarrow, to read some columns; all of them if none are given."""
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=list(positions), use_threads=False)
    return ipc.open_file(source, options=options)


@contextmanager
def _arrow_source(file: Any) -> Iterator[Any]:
    """Open a path, or take a stream from its start; streams stay open."""
    import pyarrow as pa

    if isinstance(file, str | os.PathLike):
        with pa.OSFile(os.fspath(file)) as source:
            yield source
    else:
        file.seek(0)
        yield pa.BufferReader(file.read())


def _scan_arrow(file: Any) -> Any:
    import polars as pl

    return pl.scan_ipc(file, glob=False)


def _check_arrow(opened: ByteSource) -> None:
    refuse_other_arrow(opened.head(8), opened.name)


ARROW = _ArrowFormat("arrow", "an Arrow file", _scan_arrow, _check_arrow)


def write_arrow(frame: Any, stream: BinaryIO) -> None:
    """Write a polars frame."""
    frame.write_ipc(stream)
