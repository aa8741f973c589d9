"""A format of files that featly does not have: a first line ``TOY1``, then CSV of numbers."""

import io

import numpy as np
import polars as pl

from featly.io.stores import StoredTable
from featly.io.stores.files import DiskFile
from featly.io.table_file import TableFile
from featly.table.formats import Format

FRAME = pl.DataFrame({"age": [61.0, 47.0, 52.0, 68.0, 40.0, 59.0], "ill": [1, 0, 0, 1, 0, 1],
                      "dose": [1.5, 2.0, 0.5, 2.75, 3.0, 1.0]})  # fmt: skip
MAGIC = b"TOY1\0\n"


def parse(content):
    return pl.read_csv(io.BytesIO(content.removeprefix(MAGIC)))


def toy_names(opened):
    return parse(opened.head(1 << 30)).columns


def toy_columns(opened, names):
    return parse(opened.head(1 << 30)).select(names)


def read_toy(reading):
    opened = reading.opened
    frame = parse(opened.head(1 << 30))
    target, _ = reading.columns(frame.columns)
    y = None if target is None else frame[target].to_numpy()
    frame = frame if target is None else frame.drop(target)
    return TableFile(frame, y, target, frame.columns, opened.name, "toy", ["a toy"], opened)


def write_toy(frame, stream):
    stream.write(MAGIC)
    frame.write_csv(stream)


class ToyTable(StoredTable):
    kind = "toy"

    def __init__(self, path, *, target=None, without=()):
        super().__init__(path, target=target, without=tuple(without))
        self._file = DiskFile(path)
        self._frame = parse(self._file.head(self._file.size))
        self.target = target
        left_out = {target, *without}
        self._names = [name for name in self._frame.columns if name not in left_out]
        self.n_rows, self.n_features = self._frame.height, len(self._names)
        self.dtype, self.nbytes = np.dtype(np.float64), self._file.size

    @property
    def names(self):
        return self._names

    def column(self, name):
        return self._frame[name].to_numpy()

    def _read(self, low, high):
        return np.asfortranarray(self._frame.select(self._names[low:high]).to_numpy())

    def _files(self):
        return [self._file]


TOY = Format(
    "a toy table",
    (".toy",),
    magic=b"TOY1",
    reader="tests.table.toy:read_toy",
    names="tests.table.toy:toy_names",
    columns="tests.table.toy:toy_columns",
    writer="tests.table.toy:write_toy",
    store="tests.table.toy:ToyTable",
    store_options=("target", "without"),
    remedy="play with it",
)
