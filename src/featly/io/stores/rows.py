"""Some rows of a table on disk, taken from every block that is read."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import ParameterError
from featly.basics.typing import AnyArray
from featly.io.stores.base import StoredTable
from featly.io.stores.files import DiskFile

__all__ = ["RowSubset"]


class RowSubset(StoredTable):
    """Some rows of another table, in a given order.

    Parameters
    ----------
    table : StoredTable
    rows : int array
        Positions of rows, or a mask of all of them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, featly
    >>> from featly.io.stores.rows import RowSubset
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "X.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> RowSubset(featly.scan(path), [2, 0]).read(0, 2).tolist()
    [[4.0, 5.0], [0.0, 1.0]]
    """

    target: str | None
    held_bytes: int
    alignment: int
    feature_major: bool
    n_features: int
    n_rows: int
    missing: int | None
    dtype: np.dtype[Any] | None
    kind: str
    table: StoredTable
    rows: AnyArray

    def __init__(self, table: StoredTable, rows: npt.ArrayLike) -> None:
        super().__init__(table.path)
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        wrong = chosen[(chosen < 0) | (chosen >= table.n_rows)] if len(chosen) else chosen
        if len(chosen) == 0 or len(wrong):
            wrong_row = "no row" if len(chosen) == 0 else f"row {wrong[0]}"
            raise ParameterError(
                f"{wrong_row} of {table.name}: rows run from 0 to {table.n_rows - 1}"
            )
        self.table, self.rows = table, chosen
        self.kind, self.dtype, self.missing = table.kind, table.dtype, table.missing
        self.n_rows, self.n_features = len(chosen), table.n_features
        self.feature_major, self.alignment = table.feature_major, table.alignment
        self.held_bytes, self.target = table.held_bytes, table.target
        self.nbytes: int = table.nbytes * self.n_rows // table.n_rows
        self.names = table.names

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._select_rows(self.table.read(low, high))

    def _take(self, columns: np.ndarray) -> np.ndarray:
        return self._select_rows(self.table.take(columns))

    def _select_rows(self, block: np.ndarray) -> np.ndarray:
        if self.feature_major:
            return np.take(block.T, self.rows, axis=1).T
        return np.take(block, self.rows, axis=0)

    def frame(self, low: int, high: int) -> Any:
        """Return columns ``low:high`` as a polars frame."""
        return self.table.frame(low, high)[self.rows]

    def take_frame(self, features: npt.ArrayLike) -> Any:
        """Return any columns in any order as a polars frame."""
        return self.table.take_frame(features)[self.rows]

    def schema_frame(self) -> Any:
        """Return a polars frame without rows."""
        return self.table.schema_frame()

    def column(self, name: str) -> np.ndarray | None:
        """Return a column beside the table, or in it, by its name; None if there is none."""
        values = self.table.column(name)
        return None if values is None else values[self.rows]

    def fingerprint(self) -> str:
        """Return a key of the table and of the rows."""
        rows = np.ascontiguousarray(self.rows, np.int64).tobytes()
        return f"{self.table.fingerprint()}-{hashlib.sha256(rows).hexdigest()[:16]}"

    def _files(self) -> Sequence[DiskFile]:
        return self.table._files()

    def __reduce__(self) -> Any:
        return RowSubset, (self.table, self.rows)
