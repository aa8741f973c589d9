"""Large files for the commands that read them by blocks of columns."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featly.errors import DataError
from featly.io.stores import StoredTable

__all__ = ["StoredFile", "is_stored", "read_target_file", "scan_file"]

SUFFIXES = (".npy", ".bed", ".zarr", ".h5", ".hdf5", ".h5ad")


@dataclass
class StoredFile:
    """A table on disk in the place of a :class:`featly.io.tables.TableFile`."""

    X: StoredTable
    y: np.ndarray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    notes: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Let go of the file."""
        self.X.close()

    def save_columns(self, columns: Sequence[str], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a CSV, TSV or parquet file."""
        import polars as pl

        from featly.io.writing import write_frame

        place = {str(name): position for position, name in enumerate(self.names)}
        chosen = np.array([place[name] for name in columns])
        if self.X.dtype is None:
            frame = self.X.take_frame(chosen)
        else:
            values = self.X.take(chosen)
            frame = pl.DataFrame({name: values[:, k] for k, name in enumerate(columns)})
            if self.X.missing is not None:
                frame = frame.with_columns(pl.all().replace(self.X.missing, None))
        if self.y is not None:
            frame = frame.with_columns(pl.Series(str(self.target), self.y.tolist()))
        write_frame(frame, path)


def is_stored(file: str) -> bool:
    """Whether a file is one of those that are read by blocks of columns."""
    return Path(file).suffix.lower() in SUFFIXES


def scan_file(file: str, target: str | None, target_file: str | None) -> StoredFile:
    """A large file and its target: a column that it has, or a file of its own."""
    from featly.scanning import scan

    table = scan(file)
    try:
        name, y = target, None
        if target_file is not None:
            name, y = read_target_file(target_file, target, table.n_rows)
        elif target is not None:
            y = table.column(target)
            if y is None:
                raise DataError(
                    f"{table.name} has no column {target!r} beside its matrix: name a file with "
                    "the class of every row by --target-file"
                )
        return StoredFile(table, y, name, table.names, table.name, table.kind)
    except BaseException:
        table.close()
        raise


def read_target_file(file: str, target: str | None, n_rows: int) -> tuple[str, np.ndarray]:
    """The class of every row from a file: a vector of NumPy, or a column of a table."""
    from featly.io import read_table

    if Path(file).suffix.lower() == ".npy":
        found = np.load(file, allow_pickle=False)
        name, y = Path(file).stem, found.reshape(-1)
        if found.ndim > 2 or (found.ndim == 2 and 1 not in found.shape):
            raise DataError(f"{file!r} holds an array of shape {found.shape}: give one class a row")
    else:
        with read_table(file, target=target) as table:
            if target is None and len(table.names) != 1:
                raise DataError(
                    f"{file!r} has {len(table.names)} columns: which is the target? Say --target"
                )
            if target is None:
                name, y = str(table.names[0]), table.X[:, 0].to_numpy()
            else:
                assert table.y is not None
                name, y = target, table.y
    if len(y) != n_rows:
        raise DataError(
            f"{file!r} has the classes of {len(y)} rows, the table has {n_rows}: they must go "
            "together, without a header line in one that the other has not"
        )
    return name, np.asarray(y)
