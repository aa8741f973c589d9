"""A matrix of numbers in a file, one value behind the other, without compression."""

from typing import Any

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import SlowWarning
from featly.basics.resources import format_bytes
from featly.io.stores.base import GAP_BYTES, SPAN_BYTES, spans
from featly.io.stores.files import Buffers, DiskFile

__all__ = ["RawValues"]

ROW_GAP_BYTES = 1 << 13  # most bytes between two rows that are read rather than skipped
TILE_BYTES = 1 << 20  # of whole rows, so that columns are picked from the processor's cache
BLOCK_BYTES = 1 << 25  # expected size of a block
# measured with the file in the system's cache: bytes in a second, and seconds for a call
RATE, CALL = 1e10, 2e-6
WORTH_A_WARNING = 60  # seconds


class RawValues:
    """Values of one dtype from a position in a file on.

    Parameters
    ----------
    file : DiskFile
    offset : int
        Position of the first value, in bytes.
    shape : tuple of int
    stored : dtype
        Dtype in the file, with its byte order.
    feature_major : bool
        Whether the values are stored column after column, or row after row.
    """

    n_features: int
    n_rows: int
    stored: np.dtype[Any]
    offset: int
    file: DiskFile

    def __init__(
        self,
        file: DiskFile,
        offset: int,
        shape: tuple[int, int],
        stored: np.dtype[Any],
        *,
        feature_major: bool,
    ) -> None:
        self.file, self.offset, self.stored = file, offset, stored
        self.dtype: np.dtype[Any] = stored.newbyteorder("=")
        self.n_rows, self.n_features = shape
        self.feature_major = feature_major
        self.buffers: Buffers = Buffers()
        # a line is a column or a row, whichever is contiguous
        self._line = stored.itemsize * (self.n_rows if feature_major else self.n_features)

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return self.n_rows * self.n_features * self.stored.itemsize

    def warn(self, name: str) -> None:
        """Warn if columns have to be gathered from very many rows."""
        if self.feature_major:
            return
        blocks = -(-self.nbytes // BLOCK_BYTES)
        whole = self.nbytes / RATE
        seconds = min(blocks * whole, blocks * self.n_rows * CALL + whole)
        if seconds - whole > WORTH_A_WARNING:
            warn_user(
                f"{name} lies row by row, and has {self.n_rows} rows: to read all columns in "
                f"blocks of {format_bytes(BLOCK_BYTES)} takes about {seconds / 60:.0f} minutes, "
                f"where column by column it takes {max(whole, 1):.0f} s. Write it in Fortran order",
                SlowWarning,
            )

    def read(self, low: int, high: int) -> np.ndarray:
        """Read columns ``low:high``, in the memory order of the file."""
        size = self.stored.itemsize
        if self.feature_major:
            start = self.offset + low * self._line
            raw = self._memory((high - low) * self._line, start)
            self.file.read_into(raw, start)
            self.file.confirm()
            return self._to_native(raw.view(self.stored).reshape(high - low, self.n_rows).T)
        start, width = self.offset + low * size, (high - low) * size
        raw = self._memory(self.n_rows * width, start)
        self._read_rows(raw, start, width)
        self.file.confirm()
        return self._to_native(raw.view(self.stored).reshape(self.n_rows, high - low))

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Read columns in ascending order, each once."""
        if self.feature_major:
            return self._take_columns(columns)
        # in every row, columns that are close to each other are read together
        out = np.empty((self.n_rows, len(columns)), self.stored)
        size = self.stored.itemsize
        tile = max(1, TILE_BYTES // self._line)
        done = 0
        for part in spans(columns, ROW_GAP_BYTES // size, self.n_features):
            low, width = int(part[0]), (int(part[-1]) + 1 - int(part[0])) * size
            scratch = np.empty((min(tile, self.n_rows), width // size), self.stored)
            for row in range(0, self.n_rows, tile):
                rows = scratch[: min(tile, self.n_rows - row)]
                start = self.offset + row * self._line + low * size
                self._read_rows(rows.reshape(-1).view(np.uint8), start, width)
                out[row : row + tile, done : done + len(part)] = rows[:, part - low]
            done += len(part)
        self.file.confirm()
        return self._to_native(out)

    def _take_columns(self, columns: np.ndarray) -> np.ndarray:
        out = np.empty((len(columns), self.n_rows), self.stored)
        done = 0
        gap, most = GAP_BYTES // self._line, max(1, SPAN_BYTES // self._line)
        for part in spans(columns, gap, most):
            low, high = int(part[0]), int(part[-1]) + 1
            whole = high - low == len(part)
            target = out[done : done + len(part)]
            lines = target if whole else np.empty((high - low, self.n_rows), self.stored)
            self.file.read_into(lines.reshape(-1).view(np.uint8), self.offset + low * self._line)
            if not whole:
                target[:] = lines[part - low]
            done += len(part)
        self.file.confirm()
        return self._to_native(out.T)

    def _memory(self, count: int, start: int) -> np.ndarray:
        # values must be aligned in memory, even if they are not in the file
        return self.buffers.lend(count, start if start % self.stored.itemsize == 0 else 0)

    def _read_rows(self, target: np.ndarray, start: int, width: int) -> None:
        """Fill with `width` bytes of every row; the first of them is at `start`."""
        line, read_into = self._line, self.file.read_into
        n_rows = len(target) // width
        if width == line:
            read_into(target, start)
            return
        if line - width > ROW_GAP_BYTES:
            self.file.read_rows(target, width, start, line)
            return
        tile = max(1, TILE_BYTES // line)
        scratch = np.empty(tile * line, np.uint8)
        rows = target.reshape(n_rows, width)
        for row in range(0, n_rows, tile):
            count = min(tile, n_rows - row)
            # the file may end behind the columns of the last row
            raw_rows = scratch[: (count - 1) * line + width]
            read_into(raw_rows, start + row * line)
            rows[row : row + count] = scratch[: count * line].reshape(count, line)[:, :width]

    def _to_native(self, values: np.ndarray) -> np.ndarray:
        if values.dtype == self.dtype:
            return values
        return values.byteswap(inplace=True).view(self.dtype)
