"""Files that many threads read at any position, with checks that they have not changed.

Files are read, never mapped: if a mapped file shrinks, the system kills the process.
"""

import ctypes
import hashlib
import os
import sys
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, is_text
from featly.table.formats import FORMATS, describe_endings, format_of_content

__all__ = ["Buffers", "DiskFile", "State", "describe_beginning"]

PROBE_BYTES = 1 << 16
POOLED_BYTES = 1 << 22  # smaller blocks are quickly allocated
CACHE_LINE = 64


class State(NamedTuple):
    """Size, time and identity of a file, to detect a change."""

    size: int
    changed: int  # nanoseconds
    inode: int
    device: int

    @staticmethod
    def from_stat(status: os.stat_result) -> "State":
        """Make a state from the result of ``os.stat``."""
        return State(status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


class DiskFile:
    """A file to be read in pieces.

    Parameters
    ----------
    path : path

    Attributes
    ----------
    name : str
        The file in messages.
    state : State
        Its state when it was opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if str(path) == "-":
            raise DataError("standard input cannot be read in blocks of columns: name a file")
        self.place: Path = Path(os.path.abspath(path))
        if self.place.is_fifo():
            raise DataError(f"{str(path)!r} is a pipe: write it to a file first")
        with ByteSource(path) as opened:
            self.name: str = opened.name
            if opened.compression:
                raise DataError(
                    f"{self.name} is compressed by {opened.compression}: decompress it first"
                )
            self._descriptor = os.dup(opened.stream().fileno())
        # a table that was not closed is closed when it is collected, without a warning
        self._close = weakref.finalize(self, os.close, self._descriptor)
        self._lock = threading.Lock()
        self.state: State = State.from_stat(os.fstat(self._descriptor))

    @property
    def size(self) -> int:
        """Bytes of the file when it was opened."""
        return self.state.size

    @property
    def is_closed(self) -> bool:
        """Return whether the file was closed."""
        return not self._close.alive

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_into(self, target: Any, offset: int) -> None:
        """Fill a buffer with the bytes from `offset` on; DataError if there are fewer."""
        if self.is_closed:
            raise DataError(f"{self.name} is closed: scan it again")
        view = memoryview(target)
        done, n_bytes = 0, len(view)
        try:
            while done < n_bytes:
                remaining = view[done:] if done else view
                if _PREADV is not None:
                    count = _PREADV(self._descriptor, (remaining,), offset + done)
                else:
                    count = self._seek_and_read(remaining, offset + done)
                if not count:
                    raise self._cut_error()
                done += count
        except OSError as problem:
            raise DataError(
                f"{self.name} cannot be read at byte {offset + done} ({problem.strerror}): "
                "copy it to another disk"
            ) from None

    def read_rows(self, target: np.ndarray, width: int, offset: int, stride: int) -> None:
        """Fill an array of bytes with pieces of `width` bytes, one every `stride` bytes."""
        if _PREADV is None or self.is_closed:
            for position in range(0, len(target), width):
                self.read_into(
                    target[position : position + width], offset + position // width * stride
                )
            return
        # one call for each row takes nearly all the time: little else is done in the loop
        descriptor, view = self._descriptor, memoryview(target)
        start = offset
        for position in range(0, len(target), width):
            piece = view[position : position + width]
            try:
                count = _PREADV(descriptor, (piece,), start)
            except OSError:
                count = 0
            if count != width:
                self.read_into(piece, start)  # raises the error
            start += stride

    def confirm(self) -> None:
        """Raise DataError if the file has changed by now: what was read may be wrong.

        While a file is being cut, the system may return zeros from a page that it has cleared.
        """
        state = State.from_stat(os.fstat(self._descriptor))
        if state.size < self.size:
            raise self._cut_error(state.size)
        if state.changed != self.state.changed:
            raise self._change_error("changed")

    def _seek_and_read(self, view: memoryview, offset: int) -> int:
        """Read at a position, on systems without a call for that."""
        with self._lock:
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            content = os.read(self._descriptor, len(view))
        view[: len(content)] = content
        return len(content)

    def read(self, offset: int, count: int) -> bytes:
        """Return some bytes."""
        content = bytearray(count)
        self.read_into(content, offset)
        return bytes(content)

    def head(self, count: int) -> bytes:
        """Return the first bytes, as many as there are."""
        return self.read(0, min(count, self.size))

    def advise_sequential(self) -> None:
        """Tell the system that the file is read from front to back."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)

    def check(self) -> None:
        """Raise DataError if the file of this name changed, or is not the one that was opened."""
        try:
            state = State.from_stat(os.stat(self.place))
        except OSError as problem:
            raise DataError(
                f"{self.name} is no longer there ({problem.strerror}): bring it back, and scan it "
                "again"
            ) from None
        if state == self.state:
            return
        if state.size < self.size:
            raise self._cut_error(state.size)
        raise self._change_error("was replaced" if state[2:] != self.state[2:] else "changed")

    def _change_error(self, change: str) -> DataError:
        return DataError(f"{self.name} {change} while it was in use: scan it again")

    def _cut_error(self, size: int | None = None) -> DataError:
        if size is None:
            size = os.fstat(self._descriptor).st_size
        return DataError(
            f"{self.name} was cut from {self.size} to {size} bytes while it was in use: copy or "
            "write it again, and scan it again"
        )

    def require(self, state: State) -> None:
        """Raise DataError unless size and time are those of an earlier state."""
        if self.state[:2] != state[:2]:
            raise DataError(f"{self.name} changed since it was scanned: scan it again")

    def digest_into(self, digest: "hashlib._Hash") -> None:
        """Add size, time, the first and the last bytes to a digest."""
        digest.update(repr(self.state[:2]).encode())
        count = min(PROBE_BYTES, self.size)
        digest.update(self.read(0, count))
        digest.update(self.read(self.size - count, count))


# Python has no preadv on Windows and on old macOS
_PREADV = getattr(os, "preadv", None) if sys.platform != "win32" else None


class Buffers:
    """Pool of memory for blocks.

    A large block that is freed goes back to the system, which has to find and clear pages for the
    next one; this takes as long as the reading itself. So the last blocks are pooled. A block has
    the same position within a cache line as its bytes have in the file: otherwise the system
    copies at half the speed.

    Examples
    --------
    >>> buffers = Buffers()
    >>> block = buffers.lend(1 << 23)
    >>> address = block.ctypes.data
    >>> del block
    >>> buffers.lend(1 << 23).ctypes.data == address
    True
    """

    def __init__(self, n_cached: int = 2) -> None:
        self._free: deque[np.ndarray] = deque(maxlen=n_cached)

    def lend(self, count: int, offset: int = 0) -> np.ndarray:
        """Return an unshared array of bytes; `offset` is their position in the file."""
        if count < POOLED_BYTES:
            return np.empty(count, np.uint8)
        raw = self._take_free(count)
        # every view of the result refers to the lease, and keeps it alive; an array or a memoryview
        # in its place would be skipped in the chain of references
        lease = (ctypes.c_char * len(raw)).from_buffer(raw)
        weakref.finalize(lease, self._free.append, raw).atexit = False
        shift = (offset - raw.ctypes.data) % CACHE_LINE
        return np.frombuffer(lease, np.uint8)[shift : shift + count]

    def _take_free(self, count: int) -> np.ndarray:
        for _ in range(len(self._free)):
            try:
                raw = self._free.popleft()
            except IndexError:  # another thread was quicker
                break
            if count + CACHE_LINE <= len(raw) <= 2 * count:
                return raw
            self._free.append(raw)
        return np.empty(count + CACHE_LINE, np.uint8)

    def clear(self) -> None:
        """Free the memory that is not in use."""
        self._free.clear()


def describe_beginning(start: bytes) -> str | None:
    """Return a description of the kind of file that begins so, or None if it is unknown."""
    kind = format_of_content(start)
    if kind is not None:
        return f"{FORMATS[kind].words} ({describe_endings([kind], usual=True)})"
    return "text" if is_text(start) else None
