"""Columns in a temporary file without a name, which is deleted with the object."""

import itertools
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.kinds import CONTINUOUS
from featly.basics.typing import AnyArray, ByteArray, IntArray
from featly.core.sources.dense import DenseSource
from featly.core.sources.streamed import write_at

__all__ = ["ColumnFile", "positions_in_order"]


class ColumnFile:
    """Columns in a temporary file, one after the other, readable as a streamed source."""

    feature_major = True

    def __init__(self, n_rows: int, dtype: np.dtype[Any], count: int) -> None:
        self.n_rows: int = n_rows
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.kinds: ByteArray = np.full(count, CONTINUOUS, np.uint8)
        self._column = n_rows * self.dtype.itemsize
        self._file = tempfile.TemporaryFile(prefix="featly-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)

    def write(self, positions: IntArray, values: AnyArray) -> None:
        """Write columns to their positions; one at -1 is left out."""
        # columns that stay side by side are written together
        runs = np.flatnonzero((np.diff(positions) != 1) | (positions[:-1] < 0)) + 1
        edges = [0, *runs.tolist(), len(positions)]
        for low, high in itertools.pairwise(edges):
            if low < high and positions[low] >= 0:
                run = np.ascontiguousarray(values[low:high])
                write_at(self._file.fileno(), run, int(positions[low]) * self._column)

    def columns(self, low: int, high: int) -> AnyArray:
        """Read columns ``low:high``, of shape (high - low, n_rows)."""
        values = np.empty((high - low, self.n_rows), self.dtype)
        self._fill(values, low)
        return values

    def read_columns(self, features: IntArray) -> AnyArray:
        """Read some columns; those that follow each other are read together."""
        values = np.empty((len(features), self.n_rows), self.dtype)
        runs = np.flatnonzero(np.diff(features) != 1) + 1
        edges = [0, *runs.tolist(), len(features)]
        for low, high in itertools.pairwise(edges):
            if low < high:
                self._fill(values[low:high], int(features[low]))
        return values

    def _fill(self, values: AnyArray, low: int) -> None:
        view, done = values.reshape(-1).view(np.uint8).data, 0
        while done < len(view):
            offset = low * self._column + done
            count = os.preadv(self._file.fileno(), [view[done:]], offset)
            if count == 0:
                raise DataError(
                    "a temporary file of featly became shorter while it was read: start again"
                )
            done += count

    # ---- methods of a column store ----------------------------------------------------------
    def read(self, low: int, high: int) -> DenseSource:
        """See :class:`featly.core.sources.ColumnStore`."""
        return DenseSource(self.columns(low, high).T)

    def take(self, features: IntArray) -> DenseSource:
        """See :class:`featly.core.sources.ColumnStore`."""
        return DenseSource(self.read_columns(features).T)

    def check(self) -> None:
        """See :class:`featly.core.sources.ColumnStore`."""


def positions_in_order(order: IntArray, n_features: int) -> IntArray:
    """Return the position of each column in an order; -1 for those left out."""
    position = np.full(n_features, -1)
    position[order] = np.arange(len(order))
    return position
