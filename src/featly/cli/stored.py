"""Large files, for the commands that read them by blocks of columns."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.resources import free_memory, parse_bytes
from featly.basics.typing import AnyArray
from featly.io import ColumnFinder, TableFile, read_table
from featly.io.stores import StoredTable
from featly.io.stores.base import UnusedLimitError
from featly.table.formats import FORMATS, format_of_folder, format_of_name, scannable

__all__ = [
    "StoredFile",
    "no_target_error",
    "parse_memory_limit",
    "read_target_file",
    "scan_file",
]

SHOWN = 8  # names in a message
WRITTEN_BYTES = 40  # memory for a cell on its way into a file


@dataclass
class StoredFile:
    """A table that stays on disk, with the attributes of :class:`featly.io.read.TableFile`."""

    X: StoredTable
    y: AnyArray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    memory: int | None = None  # the memory limit in bytes, if there is one
    notes: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Close the file."""
        self.X.close()

    def check_memory(self, count: int) -> None:
        """Raise DataError if so many columns do not fit in memory at once."""
        memory_budget = self.memory if self.memory is not None else free_memory() // 2
        max_columns = max(1, memory_budget // (WRITTEN_BYTES * self.X.n_rows))
        if count > max_columns:
            raise DataError(
                f"{count:,} columns of {self.source} are too many to be written at once: choose up "
                f"to {max_columns:,} with --count, or give a larger --memory-limit"
            )

    def save_columns_at(self, positions: Sequence[int], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a file of any format."""
        import polars as pl
        from polars import selectors as cs

        from featly.io.write import write_frame

        names = _make_unique(
            [str(self.names[position]) for position in positions], str(self.target)
        )
        if self.X.dtype is None:
            frame = self.X.take_frame(positions)
            frame.columns = names
        else:
            values = self.X.take(positions)
            frame = pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})
            if self.X.missing is not None:
                frame = frame.select(pl.all().replace(self.X.missing, None))
        if self.y is not None:
            labels = pl.Series(str(self.target), self.y.tolist())
            if labels.dtype.is_float():
                labels = labels.fill_nan(None)
                labels = labels.cast(pl.Int64) if (labels == labels.floor()).all() else labels
            frame = frame.with_columns(labels)
        write_frame(frame.with_columns(cs.float().fill_nan(None)), path)


def _make_unique(names: list[str], target: str) -> list[str]:
    """Number the repeated names: in a .bed file, all variants without a name are called '.'."""
    used, unique_names = {target}, []
    for name in names:
        candidate, number = name, 2
        while candidate in used:
            candidate, number = f"{name}_{number}", number + 1
        used.add(candidate)
        unique_names.append(candidate)
    return unique_names


def parse_memory_limit(text: str | None) -> int | None:
    """Return the bytes that ``--memory-limit`` allows."""
    return None if text is None else parse_bytes(text)


def scan_file(
    file: str,
    target: str | None,
    target_file: str | None,
    *,
    dataset: str | None = None,
    layer: str | None = None,
    without: Sequence[str] = (),
    memory_limit: str | None = None,
    text_format: Mapping[str, Any] | None = None,
) -> StoredFile:
    """Open a large file and its target: one of its columns, or a file of its own.

    Parameters
    ----------
    file : str
    target : str or None
        Name of the column to predict.
    target_file : str or None
        File with the class of every row.
    dataset, layer : str or None, default=None
        Which matrix of the file.
    without : sequence of str, default=()
        Columns to leave out.
    memory_limit : str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
    text_format : mapping or None, default=None
        Separator, encoding, header and missing cells of a target file that is text.
    """
    options = {"dataset": dataset, "layer": layer, "without": without}
    if target is not None and target_file is None:
        kind = format_of_name(file)
        if kind in scannable() and "target" not in _options_of(file):
            raise DataError(
                f"{file!r} is a matrix without names, so it has no column {target!r}: name a file "
                "with the class of every row by --target-file"
            )
        options["target"] = target
    limit = parse_memory_limit(memory_limit)
    table = _scan(file, limit, options)
    try:
        name, y = table.target, table.y
        if target_file is not None:
            name, y = read_target_file(
                target_file, target, table.name, table.n_rows, text_format or {}
            )
        return StoredFile(table, _labels(y), name, table.names, table.name, table.kind, limit)
    except BaseException:
        table.close()
        raise


def _options_of(file: str) -> tuple[str, ...]:
    """Return the parameters of ``scan`` for a file."""
    kind = format_of_name(file) or format_of_folder(file)
    return FORMATS[kind].store_options if kind is not None else ()


def _scan(file: str, limit: int | None, options: dict[str, Any]) -> StoredTable:
    from featly.problem.scan import NotByColumnsError, scan

    set_options = {name: value for name, value in options.items() if value}
    if limit is not None and "memory_limit" in _options_of(file):
        # only a matrix that is sparse by rows is transposed, which takes memory
        with suppress(UnusedLimitError):
            return scan(file, memory_limit=limit, **set_options)
    try:
        return scan(file, **set_options)
    except NotByColumnsError as problem:  # it is to be, because of --memory-limit
        raise problem.followed_by(", or leave --memory-limit out") from None


def no_target_error(table: StoredFile) -> DataError:
    """Return the error for a table without a target, with the options that give one."""
    offered = list(getattr(table.X, "_target_names", list)())
    remedy = "name a file with the class of every row by --target-file"
    if "without" in FORMATS[table.format].store_options:  # any column may be the target
        remedy = "say --target with the name of a column"
    elif offered:
        ellipsis = ", ..." if len(offered) > SHOWN else ""
        examples = ", ".join(offered[:SHOWN])
        choice = examples if len(offered) == 1 else f"with one of {examples}{ellipsis}"
        remedy = f"say --target {choice}, or {remedy}"
    remedy = remedy[0].upper() + remedy[1:]
    return DataError(f"which classes do the rows of {table.source} have? {remedy}")


# ---- the target ----------------------------------------------------------------------------------
def read_target_file(
    file: str, target: str | None, source: str, n_rows: int, text_format: Mapping[str, Any]
) -> tuple[str, AnyArray]:
    """Read the name of the target and the class of every row, from .npy or a column of a table."""
    if Path(file).suffix.lower() == ".npy":
        if any(value for value in text_format.values()):
            raise ParameterError(
                f"--header, --separator, --encoding and --missing are not for {file!r}, which is "
                "no text: leave them out"
            )
        name, y = target or Path(file).stem, _read_vector(file)
    else:
        name, y = _read_column(file, target, text_format)
    if len(y) != n_rows:
        remedy = "they must go together, row by row"
        if abs(len(y) - n_rows) == 1 and Path(file).suffix.lower() != ".npy":
            remedy += "; --header or --no-header says whether its first line is a name"
        raise DataError(
            f"{file!r} has the classes of {len(y):,} rows, {source} has {n_rows:,}: {remedy}"
        )
    return name, np.asarray(y)


def _read_vector(file: str) -> AnyArray:
    from featly.io.stores.files import DiskFile

    DiskFile(file).close()  # raises its own errors if the file cannot be read
    try:
        # by mmap: if it is the wrong file, it may be large
        labels = np.load(file, mmap_mode="r", allow_pickle=False)
        if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "biufUS":
            raise ValueError
    except (ValueError, EOFError):
        raise DataError(
            f"{file!r} holds no labels that can be read: save whole numbers or text, with "
            f"numpy.save({file!r}, y.astype(str))"
        ) from None
    if labels.ndim > 2 or (labels.ndim == 2 and 1 not in labels.shape) or labels.ndim == 0:
        raise DataError(f"{file!r} holds an array of shape {labels.shape}: give one class a row")
    return np.array(labels).reshape(-1)


def _read_column(
    file: str, target: str | None, text_format: Mapping[str, Any]
) -> tuple[str, AnyArray]:
    try:
        return _target_column(read_table(file, target=target, **text_format))
    except DataError:
        if target is None:
            raise
        # if the file has one column only, that is the target
        table = read_table(file, **text_format)
        if table.y is not None or len(table.names) != 1:
            table.close()
            raise
        ColumnFinder(table.names, table.source)(target, "target")  # raises for another name
        return _target_column(table)


def _target_column(table: TableFile) -> tuple[str, AnyArray]:
    """Return the target of a table, or its only column."""
    with table:
        if table.y is not None:
            return str(table.target), table.y
        if len(table.names) != 1:
            examples = ", ".join(str(name) for name in list(table.names)[:SHOWN])
            ellipsis = ", ..." if len(table.names) > SHOWN else ""
            raise DataError(
                f"{table.source} has {len(table.names)} columns: which is the target? Say --target "
                f"with one of {examples}{ellipsis}"
            )
        values = table.X[:, 0]
        labels = np.array(values.to_list() if hasattr(values, "to_list") else values)
        return str(table.names[0]), labels


def _labels(y: AnyArray | None) -> AnyArray | None:
    """Return labels as they are printed: bytes as text, and whole numbers without decimals."""
    if y is None:
        return None
    if y.dtype.kind == "S":
        return y.astype(str).astype(object)
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.floor(y)).all():
        return y.astype(np.int64)
    return y
