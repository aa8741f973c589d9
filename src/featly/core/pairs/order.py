"""Columns of a table on disk, copied once into the order in which they are compared.

A filter compares columns from the best score down, and these lie all over a file. Reading them in
that order, or discretising them each time, would take longer than comparing them. The copy is a
temporary file without a name; it is deleted with the object.
"""

from typing import Any

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.sources import DenseSource, StreamedSource
from featly.core.sources.column_file import ColumnFile, positions_in_order

__all__ = ["columns_in_order", "restore_order"]


def columns_in_order(source: StreamedSource, order: IntArray) -> StreamedSource:
    """Copy columns of numbers in an order; the copy takes as much space on disk as they do.

    Parameters
    ----------
    source : StreamedSource
        Without categorical columns.
    order : int64 array
        Columns, each at most once.
    """
    file = ColumnFile(source.n_rows, source.store.dtype, len(order))
    position = positions_in_order(order, source.n_features)

    def write(part: DenseSource, selection: Any) -> None:
        values = part.load(np.arange(part.n_features)).astype(file.dtype)
        file.write(position[np.arange(source.n_features)[selection]], values)

    source.without_scaling().each(write)
    return StreamedSource(file, source.memory, source.n_jobs)


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
