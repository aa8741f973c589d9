"""Packed columns in a file: written once, mapped ever after.

A file is a row of records and an index behind them::

    "FEATLYPK"  version
    record      the arrays of one range of columns, each from a multiple of 64 bytes on
    ...
    index       JSON: the key of the file, for every record its arrays, place and CRC-32
    footer      where the index begins, its length and CRC-32, "FEATLYPK"

While it is written it has another name (``.partial``), and a journal beside it says which records
are whole. A run that was stopped is taken up behind the last of them. When all are there, the
index is written and the file renamed: a file under its own name is whole.
"""

import contextlib
import errno
import hashlib
import json
import mmap
import os
import struct
import tempfile
import threading
import time
import weakref
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from featly.core.packing import PackedColumns, Packing
from featly.core.parallel import run_blocks
from featly.errors import DataError
from featly.whole_files import whole_file

__all__ = ["Keeping", "PackedFile", "SavedSearch", "Spill", "key_of"]

MAGIC = b"FEATLYPK"
VERSION = 1
HEAD = struct.Struct("<8sQ")
FOOTER = struct.Struct("<QQQ8s")
ALIGNED = 64

Arrays = dict[str, npt.NDArray[Any]]


def key_of(*parts: Any) -> str:
    """A name for what depends on these parts: text, numbers, bytes and arrays.

    Examples
    --------
    >>> import numpy as np
    >>> key_of("mdlp", np.array([0, 1])) == key_of("mdlp", np.array([0, 1]))
    True
    >>> key_of("mdlp", np.array([0, 1])) == key_of("pkid", np.array([0, 1]))
    False
    """
    digest = hashlib.blake2b(str(VERSION).encode(), digest_size=12)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            part = np.ascontiguousarray(part).view(np.uint8).data
        elif not isinstance(part, bytes):
            part = repr(part).encode()
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


@dataclass(frozen=True)
class Keeping:
    """Where packed columns go, and what they depend on.

    Attributes
    ----------
    room : int or None
        Bytes that may stay in memory; None is no limit.
    folder : Path or None
        Where they are kept for good.
    key : tuple
        The table, the target and the rule that cut it.
    """

    room: int | None = None
    folder: Path | None = None
    key: tuple[Any, ...] = ()

    def keeper(
        self, packing: Packing, n_columns: int, n_jobs: int | None = None
    ) -> "Spill | PackedFile | None":
        """Who keeps them; None: they stay in memory."""
        if self.folder is not None:
            key = key_of(*self.key, packing.classes, packing.n_classes, packing.by_class)
            return PackedFile(self.folder, key, packing, n_columns, n_jobs)
        return None if self.room is None else Spill(packing, self.room, n_jobs)

    def search(self, *parts: Any) -> "SavedSearch | None":
        """The search that goes with the columns, and with these parts; None without a folder."""
        if self.folder is None:
            return None
        return SavedSearch(self.folder / f"{key_of(*self.key, *parts)}.search")


class SavedSearch:
    """How far a greedy search came, in a file, so that another run goes on from there.

    Parameters
    ----------
    path : Path
    every : float, default=10.0
        Seconds between two writings.
    """

    def __init__(self, path: Path, every: float = 10.0) -> None:
        self.path, self.every = path, every
        self._last = time.monotonic()

    def load(self, criterion: Any, most: int) -> list[tuple[int, float]]:
        """The columns chosen and their worth; the criterion is made what it was then.

        Nothing, where nothing was saved, or more than `most` columns, or the file is damaged.
        """
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                state = {name: saved[name] for name in saved.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            return []
        columns, worths = state.pop("chosen.columns"), state.pop("chosen.worths")
        known = _state_of(criterion)
        fits = {name: array.shape for name, array in known.items()} == {
            name: array.shape for name, array in state.items() if name != "n_chosen"
        }
        if not fits or len(columns) > most:
            return []
        criterion.n_chosen = int(state.pop("n_chosen"))
        for name, array in state.items():
            known[name][...] = array
        return list(zip(columns.tolist(), worths.tolist(), strict=True))

    def save(self, criterion: Any, found: list[tuple[int, float]], *, now: bool = False) -> None:
        """Write the state, if that is due."""
        if not now and time.monotonic() - self._last < self.every:
            return
        columns = np.array([column for column, _ in found], np.int64)
        worths = np.array([worth for _, worth in found], np.float64)
        state = {"chosen.columns": columns, "chosen.worths": worths}
        state |= {"n_chosen": np.array(criterion.n_chosen), **_state_of(criterion)}
        with (
            _told_of_space(self.path.parent, "name another folder as cache"),
            whole_file(self.path) as file,
        ):
            np.savez(file, **state)  # type: ignore[arg-type]
        self._last = time.monotonic()


def _state_of(criterion: Any) -> Arrays:
    """What a criterion has added up."""
    return {
        name: value
        for name, value in vars(criterion).items()
        if isinstance(value, np.ndarray) and name != "relevance"
    }


class Spill:
    """Packed columns in memory as far as there is room, the others in a file without a name.

    Parameters
    ----------
    packing : Packing
    room : int
        Bytes that may stay in memory.
    n_jobs : int, optional
    """

    def __init__(self, packing: Packing, room: int, n_jobs: int | None = None) -> None:
        self.packing, self.room, self.n_jobs = packing, room, n_jobs
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def found(self) -> Iterator[PackedColumns]:
        """None yet."""
        yield from ()

    def keep(self, columns: PackedColumns) -> PackedColumns:
        """The same columns, in memory or mapped."""
        arrays = columns.arrays()
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            if size <= self.room:
                self.room -= size
                return columns
            with _told_of_space(tempfile.gettempdir(), "set TMPDIR to a larger disk"):
                if self._file is None:
                    self._file = tempfile.TemporaryFile(prefix="featly-")  # noqa: SIM115
                    weakref.finalize(self, self._file.close)
                entry = _write(self._file, arrays)
                self._file.flush()
            mapped = _mapped(self._file.fileno(), entry["begin"], entry["size"])
        return self.packing.unpack(_arrays(mapped, entry), self.n_jobs)

    def finish(self) -> None:
        """The file is gone when nobody looks at it any more."""
        if self._file is not None:
            self._file.close()


class PackedFile:
    """Packed columns in a file of a folder, by their key.

    Parameters
    ----------
    folder : Path
        Made if need be.
    key : str
        What the columns depend on, see :func:`key_of`.
    packing : Packing
    n_columns : int
        Of the whole table.
    n_jobs : int, optional
    """

    def __init__(
        self, folder: Path, key: str, packing: Packing, n_columns: int, n_jobs: int | None = None
    ) -> None:
        self.packing, self.n_columns, self.n_jobs = packing, n_columns, n_jobs
        self.key = key
        self.path = folder / f"{key}.packed"
        self._partial, self._journal = self.path.with_suffix(".partial"), folder / f"{key}.journal"
        self._entries: list[dict[str, Any]] = []
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()
        self._whole = False
        folder.mkdir(parents=True, exist_ok=True)

    def found(self) -> Iterator[PackedColumns]:
        """The columns that are there: all of them, or those that an earlier run had packed."""
        self._whole = self.path.exists()
        if self._whole:
            with self.path.open("rb") as file:
                yield from self._unpacked(file, self._read_index(file))
        else:
            yield from self._unpacked(self._take_up(), self._entries)

    def _unpacked(self, file: BinaryIO, entries: list[dict[str, Any]]) -> Iterator[PackedColumns]:
        for entry in entries:
            mapped = _mapped(file.fileno(), entry["begin"], entry["size"])
            yield self.packing.unpack(_arrays(mapped, entry), self.n_jobs)

    def keep(self, columns: PackedColumns) -> PackedColumns:
        """The columns, mapped from the file that they were written to."""
        arrays = columns.arrays()
        with self._lock:
            assert self._file is not None
            with _told_of_space(self.path.parent, "name another folder as cache"):
                entry = _write(self._file, arrays)
                self._file.flush()
                self._note(entry)
            mapped = _mapped(self._file.fileno(), entry["begin"], entry["size"])
        return self.packing.unpack(_arrays(mapped, entry), self.n_jobs)

    def finish(self) -> None:
        """Write the index and give the file its name."""
        if self._whole:
            return
        assert self._file is not None
        index = json.dumps({"key": self.key, "records": self._entries}).encode()
        with _told_of_space(self.path.parent, "name another folder as cache"):
            begin = self._file.seek(0, os.SEEK_END)
            self._file.write(index)
            self._file.write(FOOTER.pack(begin, len(index), zlib.crc32(index), MAGIC))
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        os.replace(self._partial, self.path)
        self._journal.unlink(missing_ok=True)

    # ---- a whole file -----------------------------------------------------------------------
    def _read_index(self, file: BinaryIO) -> list[dict[str, Any]]:
        """The records of a whole file, all of them checked."""
        size = file.seek(0, os.SEEK_END)
        try:
            file.seek(max(0, size - FOOTER.size))
            begin, length, checksum, magic = FOOTER.unpack(file.read(FOOTER.size))
            if magic != MAGIC or begin + length + FOOTER.size != size:
                raise ValueError
            file.seek(begin)
            index = file.read(length)
            if zlib.crc32(index) != checksum:
                raise ValueError
            found = json.loads(index)
            if found["key"] != self.key:
                raise ValueError
            entries: list[dict[str, Any]] = found["records"]
            number = file.fileno()
            if not all(run_blocks(lambda entry: _sound(number, entry), entries, self.n_jobs)):
                raise ValueError
        except (ValueError, KeyError, struct.error):
            raise DataError(
                f"{str(self.path)!r} is damaged or was cut: delete it, and it is made again"
            ) from None
        return entries

    # ---- a file that is being written -------------------------------------------------------
    def _take_up(self) -> BinaryIO:
        """The unfinished file, behind its last whole record; a new one where there is none."""
        self._entries = []
        file = os.fdopen(os.open(self._partial, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        self._file = file
        weakref.finalize(self, file.close)
        _lock_for_writing(file, self._partial)
        if file.read(HEAD.size) == HEAD.pack(MAGIC, VERSION):
            end = HEAD.size
            for entry in self._noted():
                if entry["begin"] < end or not _sound(file.fileno(), entry):
                    break
                self._entries.append(entry)
                end = entry["begin"] + entry["size"]
        else:
            end = HEAD.size
            file.seek(0)
            file.write(HEAD.pack(MAGIC, VERSION))
        file.truncate(end)
        with self._journal.open("w") as journal:
            journal.writelines(json.dumps(entry) + "\n" for entry in self._entries)
        return file

    def _noted(self) -> Iterator[dict[str, Any]]:
        """The records that the journal names; what was cut in the middle is left out."""
        try:
            lines = self._journal.read_text().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return

    def _note(self, entry: dict[str, Any]) -> None:
        self._entries.append(entry)
        with self._journal.open("a") as journal:
            journal.write(json.dumps(entry) + "\n")


# ---- records ----------------------------------------------------------------------------------
def _write(file: BinaryIO, arrays: Arrays) -> dict[str, Any]:
    """Write a record at the end of a file; what the index must know about it."""
    end = file.seek(0, os.SEEK_END)
    begin = -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    file.write(bytes(begin - end))
    listed, offset, checksum = [], 0, 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        raw = array.reshape(-1).view(np.uint8).data
        padding = bytes(-len(raw) % ALIGNED)
        file.write(raw)
        file.write(padding)
        checksum = zlib.crc32(padding, zlib.crc32(raw, checksum))
        listed.append([name, array.dtype.str, list(array.shape), offset])
        offset += len(raw) + len(padding)
    return {"begin": begin, "size": offset, "crc": checksum, "arrays": listed}


def _sound(number: int, entry: dict[str, Any]) -> bool:
    """Whether a record is what it was when it was written."""
    if os.fstat(number).st_size < entry["begin"] + entry["size"]:
        return False
    return zlib.crc32(_mapped(number, entry["begin"], entry["size"])) == entry["crc"]


def _mapped(number: int, begin: int, size: int) -> mmap.mmap:
    # private: the loops want arrays that may be written to, and nobody writes
    return mmap.mmap(number, size, flags=mmap.MAP_PRIVATE, offset=begin,
                     prot=mmap.PROT_READ | mmap.PROT_WRITE)  # fmt: skip


def _arrays(mapped: mmap.mmap, entry: dict[str, Any]) -> Arrays:
    found = {}
    for name, dtype, shape, offset in entry["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(mapped, dtype, count, offset).reshape(shape)
    return found


@contextlib.contextmanager
def _told_of_space(folder: str | os.PathLike[str], remedy: str) -> Iterator[None]:
    """A full disk in words."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            problem.errno,
            f"no space is left in {str(folder)!r} for packed columns: free some, or {remedy}",
        ) from None


def _lock_for_writing(file: BinaryIO, path: Path) -> None:
    """One run at a time writes a file; where the system has no such locks, nothing is checked."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise DataError(
            f"{str(path)!r} is being written by another run: wait for it, or give another cache"
        ) from None
