"""Columns of a table on disk, copied once into the order in which they are compared.

A filter compares columns from the best score down, and these lie all over a file. Reading them in
that order, or discretising them each time, would take longer than comparing them. The copy is a
temporary file without a name; it is deleted with the object.
"""

import itertools
import os
import tempfile
import weakref
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.kinds import CONTINUOUS
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import DenseSource, StreamedSource
from featly.core.sources.streamed import write_at

__all__ = ["CodesInOrder", "columns_in_order", "restore_order"]


def columns_in_order(source: StreamedSource, order: IntArray) -> StreamedSource:
    """Copy columns of numbers in an order; the copy takes as much space on disk as they do.

    Parameters
    ----------
    source : StreamedSource
        Without categorical columns.
    order : int64 array
        Columns, each at most once.
    """
    file = _Columns(source.n_rows, source.store.dtype, len(order))
    position = _positions_in_order(order, source.n_features)

    def write(part: DenseSource, selection: Any) -> None:
        values = part.load(np.arange(part.n_features)).astype(file.dtype)
        file.write(position[np.arange(source.n_features)[selection]], values)

    source.without_scaling().each(write)
    return StreamedSource(file, source.memory, source.n_jobs)


class CodesInOrder(Codes):
    """Columns of levels in an order, stored on disk with one or two bytes a value.

    Parameters
    ----------
    codes : Codes
    order : int64 array
        Columns, each at most once.
    """

    dtype: np.dtype[Any]
    n_levels: IntArray
    n_jobs: int | None
    n_features: int
    n_rows: int

    def __init__(self, codes: Codes, order: IntArray) -> None:
        self.n_rows, self.n_features, self.n_jobs = codes.n_rows, len(order), codes.n_jobs
        self.n_levels, self.dtype = codes.n_levels[order], codes.dtype
        self._file = _Columns(self.n_rows, self.dtype, len(order))
        position = _positions_in_order(order, codes.n_features)

        def write(part: tuple[int, int]) -> None:
            part_codes = codes.part(*part)
            matrix = part_codes.block(0, part_codes.n_features).astype(self.dtype, copy=False)
            self._file.write(position[slice(*part)], matrix)

        run_blocks(write, split(codes.n_features, codes.width), codes.n_jobs)

    def block(self, low: int, high: int) -> AnyArray:
        """Return a range of columns."""
        return self._file.columns(low, high)

    def take(self, features: IntArray) -> AnyArray:
        """Return some columns."""
        return self._file.read_columns(np.asarray(features))


def restore_order(
    order: IntArray, redundant_to: IntArray, value: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Bring the results for columns in an order back into the order of the table.

    Examples
    --------
    >>> import numpy as np
    >>> restore_order(np.array([2, 0, 1]), np.array([-1, 0, -1]), np.array([0.0, 0.9, 0.0]))
    (array([ 2, -1, -1]), array([0.9, 0. , 0. ]))
    """
    restored, values = np.full(len(order), -1), np.zeros(len(order))
    restored[order] = np.where(redundant_to >= 0, order[redundant_to], -1)
    values[order] = value
    return restored, values


def _positions_in_order(order: IntArray, n_features: int) -> IntArray:
    """Return the position of each column in an order; -1 for those left out."""
    position = np.full(n_features, -1)
    position[order] = np.arange(len(order))
    return position


class _Columns:
    """Columns in a temporary file, one after the other, readable as a streamed source."""

    feature_major = True

    def __init__(self, n_rows: int, dtype: np.dtype[Any], count: int) -> None:
        self.n_rows, self.dtype = n_rows, np.dtype(dtype)
        self.kinds = np.full(count, CONTINUOUS, np.uint8)
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
