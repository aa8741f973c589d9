"""Packed columns in a file: written once, mapped ever after.

A file is a row of records and an index behind them::

    "FEATLYPK"  version
    record      the arrays of one range of columns, each from a multiple of 64 bytes on
    ...
    index       JSON: the key of the file, for every record its arrays, place and CRC-32
    footer      where the index begins, its length and CRC-32, "FEATLYPK"

While it is written it has another name (``.partial``), and a journal beside it says which records
are whole, each line with a CRC-32 of its own. A run that was stopped is taken up behind the last of
them. When all are there, the index is written and the file renamed, while it is still locked: a
file under its own name is whole, and nobody else has it open to write to it.
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
import warnings
import weakref
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from featly import __version__
from featly.basics.atomic_file import whole_file
from featly.basics.errors import DataError, SlowWarning
from featly.core.greedy.packing import PackedColumns, Packing
from featly.core.runtime.parallel import run_blocks

__all__ = ["Keeping", "PackedFile", "SavedSearch", "Spill", "key_of"]

MAGIC = b"FEATLYPK"
VERSION = 2
HEAD = struct.Struct("<8sQ")
FOOTER = struct.Struct("<QQQ8s")
ALIGNED = 64
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Arrays = dict[str, npt.NDArray[Any]]


def key_of(*parts: Any) -> str:
    """A name for what depends on these parts: text, numbers, bytes and arrays.

    It depends on the version of featly, too: another one may cut or count in another way.

    Examples
    --------
    >>> import numpy as np
    >>> key_of("mdlp", np.array([0, 1])) == key_of("mdlp", np.array([0, 1]))
    True
    >>> key_of("mdlp", np.array([0, 1])) == key_of("pkid", np.array([0, 1]))
    False
    """
    digest = hashlib.blake2b(f"{VERSION} {__version__}".encode(), digest_size=12)
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
            if bytes(state.pop("key")).decode() != self.path.name:
                return []
            columns, worths = state.pop("chosen.columns"), state.pop("chosen.worths")
            n_chosen = int(state.pop("n_chosen"))
        except Exception:  # what a damaged archive raises is of a dozen kinds
            return []
        known = _state_of(criterion)
        fits = {name: (array.shape, array.dtype) for name, array in known.items()} == {
            name: (array.shape, array.dtype) for name, array in state.items()
        }
        if not fits or len(columns) > most:
            return []
        criterion.n_chosen = n_chosen
        for name, array in state.items():
            known[name][...] = array
        return list(zip(columns.tolist(), worths.tolist(), strict=True))

    def save(self, criterion: Any, found: list[tuple[int, float]], *, now: bool = False) -> None:
        """Write the state, if that is due; where it cannot be written, the search goes on."""
        if not now and time.monotonic() - self._last < self.every:
            return
        columns = np.array([column for column, _ in found], np.int64)
        worths = np.array([worth for _, worth in found], np.float64)
        key = np.frombuffer(self.path.name.encode(), np.uint8)
        state = {"key": key, "chosen.columns": columns, "chosen.worths": worths}
        state |= {"n_chosen": np.array(criterion.n_chosen), **_state_of(criterion)}
        try:
            with whole_file(self.path) as file:
                np.savez(file, **state)  # type: ignore[arg-type]
        except OSError as problem:
            self.every = np.inf
            warnings.warn(
                f"the search cannot be taken up again, for {problem.strerror or problem}",
                SlowWarning,
                stacklevel=2,
            )
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
        self._held: list[PackedColumns] = []
        self._entries: list[dict[str, Any]] = []
        self._file: Any = None
        self._lock = threading.Lock()

    def ranges(self) -> list[tuple[int, int]]:
        """None yet."""
        return []

    def keep(self, columns: PackedColumns) -> None:
        """Hold on to the columns, or write them."""
        arrays = columns.arrays()
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            if size <= self.room:
                self.room -= size
                self._held.append(columns)
                return
            with _told_of_space(tempfile.gettempdir(), "set TMPDIR to a larger disk"):
                if self._file is None:
                    self._file = tempfile.TemporaryFile(prefix="featly-", buffering=0)  # noqa: SIM115
                    weakref.finalize(self, self._file.close)
                self._entries.append(_write(self._file, arrays))

    def finish(self) -> list[PackedColumns]:
        """All columns, in memory or mapped; the file is gone when nobody looks at it any more."""
        if self._file is None:
            return self._held
        return [*self._held, *_unpacked(self._file, self._entries, self.packing, self.n_jobs)]

    def close(self) -> None:
        """Write no more."""
        with self._lock:
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
        self._file: Any = None
        self._lock = threading.Lock()
        self._whole = False
        with _told_of_folder(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def ranges(self) -> list[tuple[int, int]]:
        """The columns that are there: all of them, or those that an earlier run had packed."""
        if not self.path.exists():
            self._take_up()
        if self._file is None:
            self._file = self.path.open("rb", buffering=0)
            weakref.finalize(self, self._file.close)
            self._entries, self._whole = self._read_index(), True
        return [(entry["low"], entry["high"]) for entry in self._entries]

    def keep(self, columns: PackedColumns) -> None:
        """Write the columns, and note that they are there."""
        arrays = columns.arrays()
        with (
            self._lock,
            _told_of_space(self.path.parent, "name another folder as cache"),
        ):
            entry = _write(self._file, arrays)
            with self._journal.open("a") as journal:
                journal.write(_line_of(entry))
            self._entries.append(entry)

    def finish(self) -> list[PackedColumns]:
        """All columns, mapped from a file that has an index and its own name by now."""
        with self._lock:
            if not self._whole:
                self._name()
            return _unpacked(self._file, self._entries, self.packing, self.n_jobs)

    def _name(self) -> None:
        index = json.dumps({"key": self.key, "records": self._entries}).encode()
        number = self._file.fileno()
        with _told_of_space(self.path.parent, "name another folder as cache"):
            end = os.fstat(number).st_size
            footer = FOOTER.pack(end, len(index), zlib.crc32(index), MAGIC)
            _put(self._file, index + footer, end)
            os.fsync(number)
        os.replace(self._partial, self.path)  # before it is unlocked
        self._journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Write no more: who comes next may take the file up, also if this object lives on."""
        with self._lock:
            if self._file is not None and not self._file.closed:
                _unlock(self._file)
                self._file.close()

    # ---- a whole file -----------------------------------------------------------------------
    def _read_index(self) -> list[dict[str, Any]]:
        """The records of a whole file, all of them checked."""
        file = self._file
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
            bounds = sorted((entry["low"], entry["high"]) for entry in entries)
            if [0, *(high for _, high in bounds)] != [*(low for low, _ in bounds), self.n_columns]:
                raise ValueError  # some columns are twice in it, or not at all
            if not all(run_blocks(lambda entry: _sound(number, entry), entries, self.n_jobs)):
                raise ValueError
        except (ValueError, KeyError, TypeError, struct.error):
            raise DataError(
                f"{str(self.path)!r} is damaged or was cut: delete it, and it is made again"
            ) from None
        return entries

    # ---- a file that is being written -------------------------------------------------------
    def _take_up(self) -> None:
        """The unfinished file, behind its last whole record; a new one where there is none.

        None is taken where another run has finished it meanwhile.
        """
        with _told_of_folder(self.path.parent):
            number = os.open(self._partial, os.O_RDWR | os.O_CREAT, 0o666)
        file = os.fdopen(number, "r+b", buffering=0)
        try:
            _lock_for_writing(file, self._partial)
            # a run that ended before this one had the lock may have given the file its name
            if not _is_named(number, self._partial):
                if not self.path.exists():
                    raise DataError(
                        f"{str(self._partial)!r} is being written by another run: wait for it, or "
                        "give another cache"
                    )
                file.close()
                return
            if self.path.exists():  # and this is a new one, of no use
                self._partial.unlink()
                file.close()
                return
            self._go_on(file)
        except BaseException:
            file.close()
            raise
        self._file = file
        weakref.finalize(self, file.close)

    def _go_on(self, file: Any) -> None:
        """Cut off what is no whole record, in the file and in the journal."""
        self._entries, end = [], HEAD.size
        head = HEAD.pack(MAGIC, VERSION)
        if os.pread(file.fileno(), HEAD.size, 0) == head:
            for entry in self._noted():
                if entry["begin"] < end or not _sound(file.fileno(), entry):
                    break
                self._entries.append(entry)
                end = entry["begin"] + entry["size"]
        with _told_of_space(self.path.parent, "name another folder as cache"):
            _put(file, head, 0)
            file.truncate(end)
            with self._journal.open("w") as journal:
                journal.writelines(map(_line_of, self._entries))

    def _noted(self) -> Iterator[dict[str, Any]]:
        """The records that the journal names; what was cut or changed in it ends the list."""
        try:
            lines = self._journal.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            checksum, _, text = line.partition(b" ")
            if checksum != b"%08x" % zlib.crc32(text):
                return
            yield json.loads(text)


def _is_named(number: int, path: Path) -> bool:
    """Whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except FileNotFoundError:
        return False


def _line_of(entry: dict[str, Any]) -> str:
    """What the journal notes of a record."""
    text = json.dumps(entry)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


# ---- records ----------------------------------------------------------------------------------
def _write(file: Any, arrays: Arrays) -> dict[str, Any]:
    """Write a record at the end of a file; what the index must know about it."""
    end = os.fstat(file.fileno()).st_size
    begin = -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    listed, offset, checksum = [], 0, 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        raw = array.reshape(-1).view(np.uint8).data
        padding = bytes(-len(raw) % ALIGNED)
        _put(file, raw, begin + offset)
        _put(file, padding, begin + offset + len(raw))
        checksum = zlib.crc32(padding, zlib.crc32(raw, checksum))
        listed.append([name, array.dtype.str, list(array.shape), offset])
        offset += len(raw) + len(padding)
    low, high = arrays["range"][:2].tolist()
    return {"low": low, "high": high, "begin": begin, "size": offset, "crc": checksum,
            "arrays": listed}  # fmt: skip


def _put(file: Any, data: Any, place: int) -> None:
    """Write bytes to a place of a file, all of them."""
    view = memoryview(data)
    while len(view):
        count = os.pwrite(file.fileno(), view, place)
        view, place = view[count:], place + count


def _unpacked(
    file: Any, entries: list[dict[str, Any]], packing: Packing, n_jobs: int | None
) -> list[PackedColumns]:
    """The columns of records, from one map of the file: every map has a descriptor of its own."""
    mapped = _mapped(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return [packing.unpack(_arrays(mapped, entry), n_jobs) for entry in entries]


def _sound(number: int, entry: dict[str, Any]) -> bool:
    """Whether a record is what it was when it was written."""
    if os.fstat(number).st_size < entry["begin"] + entry["size"]:
        return False
    return zlib.crc32(_mapped(number, entry["begin"], entry["size"])) == entry["crc"]


def _mapped(number: int, begin: int, size: int) -> mmap.mmap:
    # private: the loops want arrays that may be written to, and nobody writes; so no memory is set
    # aside for it, which there may not be
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
    return mmap.mmap(number, size, flags=flags, offset=begin,
                     prot=mmap.PROT_READ | mmap.PROT_WRITE)  # fmt: skip


def _arrays(mapped: mmap.mmap, entry: dict[str, Any]) -> Arrays:
    found = {}
    for name, dtype, shape, offset in entry["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(mapped, dtype, count, entry["begin"] + offset).reshape(shape)
    return found


@contextlib.contextmanager
def _told_of_space(folder: str | os.PathLike[str], remedy: str) -> Iterator[None]:
    """A full disk in words."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        raise OSError(
            problem.errno,
            f"no space is left in {str(folder)!r} for packed columns: free some, or {remedy}",
        ) from None


@contextlib.contextmanager
def _told_of_folder(folder: Path) -> Iterator[None]:
    """A folder that cannot be written to in words."""
    with _told_of_space(folder, "name another folder as cache"):
        try:
            yield
        except OSError as problem:
            if problem.errno in FULL:
                raise
            raise type(problem)(
                problem.errno,
                f"cache={str(folder)!r} cannot be written to ({problem.strerror}): give a folder "
                "of yours, or leave cache out",
            ) from None


def _lock_for_writing(file: Any, path: Path) -> None:
    """One run at a time writes a file; where the system has no such locks, nothing is checked."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return  # a file system without locks
        raise DataError(
            f"{str(path)!r} is being written by another run: wait for it, or give another cache"
        ) from None


def _unlock(file: Any) -> None:
    # a map of the file has a copy of its descriptor, and with that the lock
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
