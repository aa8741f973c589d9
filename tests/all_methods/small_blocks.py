"""Small tables read in many blocks, so that the code for large tables is tested quickly."""

from contextlib import contextmanager
from unittest import mock

import numpy as np

from featly.core.counts import codes
from featly.core.sources import streamed
from featly.io.stores.npy import NpyTable


@contextmanager
def small_blocks(columns=7, rows=40):
    """Read by blocks of some columns, with nothing held in memory for good."""
    with (
        mock.patch.object(streamed, "HELD_SHARE", 1 << 40),
        mock.patch.object(streamed, "BLOCK_BYTES", 8 * rows * columns),
        mock.patch.object(streamed, "ALIGNED", 1),
        mock.patch.object(codes, "RANGE_VALUES", rows * columns),
        mock.patch.object(codes, "ALIGNED", 1),
    ):
        yield


def on_disk(folder, X, name="X.npy"):
    """Write an array as a table on disk."""
    path = folder / name
    np.save(path, X)
    return NpyTable(path)
