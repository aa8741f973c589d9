"""Packed columns in a file: written once, then memory-mapped.

A file is a sequence of records, followed by an index::

    "FEATLYPK"  version
    record      the arrays of one range of columns, each from a multiple of 64 bytes on
    ...
    index       JSON: the key of the file, for every record its arrays, position and CRC-32
    footer      where the index begins, its length and CRC-32, "FEATLYPK"

While it is written it has another name (``.partial``), and a journal beside it lists the complete
records, each line with a CRC-32 of its own. The next run goes on after the last of them. When all
records are written, the index follows and the file is renamed, while it is still locked: a file
under its own name is complete, and no other run has it open for writing.
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

from featly import __version__
from featly.basics.atomic_file import whole_file
from featly.basics.errors import DataError, Parameter, Setting, SlowWarning, Text
from featly.basics.typing import AnyArray
from featly.core.greedy.packing import PackedColumns, Packing
from featly.core.runtime.parallel import run_blocks

__all__ = ["PackCache", "PackedFile", "SavedSearch", "TemporaryPack", "cache_key"]

MAGIC = b"FEATLYPK"
VERSION = 2
HEAD = struct.Struct("<8sQ")
FOOTER = struct.Struct("<QQQ8s")
ALIGNED = 64
OTHER_CACHE = Text("give another ", Parameter("cache"))
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Arrays = dict[str, AnyArray]


def cache_key(*parts: Any) -> str:
    """Return a name for a result that depends on these parts: text, numbers, bytes and arrays.

    It depends on the version of featly as well: another one may cut or count in another way.

    Examples
    --------
    >>> import numpy as np
    >>> cache_key("mdlp", np.array([0, 1])) == cache_key("mdlp", np.array([0, 1]))
    True
    >>> cache_key("mdlp", np.array([0, 1])) == cache_key("pkid", np.array([0, 1]))
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
class PackCache:
    """Storage for packed columns, and the parts of their key.

    Attributes
    ----------
    memory_budget : int or None
        Bytes that may stay in memory; None is no limit.
    folder : Path or None
        The cache; None: columns are not stored after the run.
    key : tuple
        The table, the target and the rule that cut it.
    """

    memory_budget: int | None = None
    folder: Path | None = None
    key: tuple[Any, ...] = ()

    def open_store(
        self, packing: Packing, n_columns: int, n_jobs: int | None = None
    ) -> "TemporaryPack | PackedFile | None":
        """Return the store for packed columns; None: they stay in memory."""
        if self.folder is not None:
            key = cache_key(*self.key, packing.classes, packing.n_classes, packing.by_class)
            return PackedFile(self.folder, key, packing, n_columns, n_jobs)
        return (
            None
            if self.memory_budget is None
            else TemporaryPack(packing, self.memory_budget, n_jobs)
        )

    def search(self, *parts: Any) -> "SavedSearch | None":
        """Return the saved search for these columns and parts; None without a folder."""
        if self.folder is None:
            return None
        return SavedSearch(self.folder / f"{cache_key(*self.key, *parts)}.search")


class SavedSearch:
    """State of a greedy search in a file, from which another run goes on.

    Parameters
    ----------
    path : Path
    interval : float, default=10.0
        Seconds between two writings.
    """

    interval: float
    path: Path

    def __init__(self, path: Path, interval: float = 10.0) -> None:
        self.path, self.interval = path, interval
        self._last = time.monotonic()

    def load(self, criterion: Any, most: int) -> list[tuple[int, float]]:
        """Return the columns chosen and their worth, and restore the criterion to that state.

        The list is empty if nothing or more than `most` columns were saved, or the file is damaged.
        """
        try:
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as saved:
                state = {name: saved[name] for name in saved.files}
            if bytes(state.pop("key")).decode() != self.path.name:
                return []
            columns, worths = state.pop("chosen.columns"), state.pop("chosen.worths")
            n_chosen = int(state.pop("n_chosen"))
        except Exception:  # a damaged archive raises a dozen kinds of errors
            return []
        current_state = _criterion_state(criterion)
        fits = {name: (array.shape, array.dtype) for name, array in current_state.items()} == {
            name: (array.shape, array.dtype) for name, array in state.items()
        }
        if not fits or len(columns) > most:
            return []
        criterion.n_chosen = n_chosen
        for name, array in state.items():
            current_state[name][...] = array
        return list(zip(columns.tolist(), worths.tolist(), strict=True))

    def save(self, criterion: Any, choices: list[tuple[int, float]], *, now: bool = False) -> None:
        """Write the state, if that is due; if it cannot be written, the search goes on."""
        if not now and time.monotonic() - self._last < self.interval:
            return
        columns = np.array([column for column, _ in choices], np.int64)
        worths = np.array([worth for _, worth in choices], np.float64)
        key = np.frombuffer(self.path.name.encode(), np.uint8)
        state = {"key": key, "chosen.columns": columns, "chosen.worths": worths}
        state |= {"n_chosen": np.array(criterion.n_chosen), **_criterion_state(criterion)}
        try:
            with whole_file(self.path) as file:
                np.savez(file, **state)  # type: ignore[arg-type]
        except OSError as problem:
            self.interval = np.inf
            warnings.warn(
                f"the search could not be saved: {problem.strerror or problem}; if it is stopped, "
                "it starts anew",
                SlowWarning,
                stacklevel=2,
            )
        self._last = time.monotonic()


def _criterion_state(criterion: Any) -> Arrays:
    """Return the arrays that a criterion has added up."""
    return {
        name: value
        for name, value in vars(criterion).items()
        if isinstance(value, np.ndarray) and name != "relevance"
    }


class TemporaryPack:
    """Packed columns in memory up to a budget, the others in a file without a name.

    Parameters
    ----------
    packing : Packing
    memory_budget : int
        Bytes that may stay in memory.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    """

    memory_budget: int
    n_jobs: int | None
    packing: Packing

    def __init__(self, packing: Packing, memory_budget: int, n_jobs: int | None = None) -> None:
        self.packing, self.memory_budget, self.n_jobs = packing, memory_budget, n_jobs
        self._in_memory: list[PackedColumns] = []
        self._entries: list[dict[str, Any]] = []
        self._file: Any = None
        self._lock = threading.Lock()

    def ranges(self) -> list[tuple[int, int]]:
        """Return no range: nothing is packed yet."""
        return []

    def put(self, columns: PackedColumns) -> None:
        """Put the columns into memory, or write them to the file."""
        arrays = columns.arrays()
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            if size <= self.memory_budget:
                self.memory_budget -= size
                self._in_memory.append(columns)
                return
            with _explain_full_disk(tempfile.gettempdir(), "set TMPDIR to a larger disk"):
                if self._file is None:
                    self._file = tempfile.TemporaryFile(prefix="featly-", buffering=0)  # noqa: SIM115
                    weakref.finalize(self, self._file.close)
                self._entries.append(_write_record(self._file, arrays))

    def finish(self) -> list[PackedColumns]:
        """Return all columns, in memory or mapped; the last reference deletes the file."""
        if self._file is None:
            return self._in_memory
        return [
            *self._in_memory,
            *_unpack_records(self._file, self._entries, self.packing, self.n_jobs),
        ]

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
        Made if it does not exist.
    key : str
        From :func:`cache_key`.
    packing : Packing
    n_columns : int
        Of the whole table.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    """

    n_jobs: int | None
    n_columns: int
    packing: Packing

    def __init__(
        self, folder: Path, key: str, packing: Packing, n_columns: int, n_jobs: int | None = None
    ) -> None:
        self.packing, self.n_columns, self.n_jobs = packing, n_columns, n_jobs
        self.key = key
        self.path: Path = folder / f"{key}.packed"
        self._partial, self._journal = self.path.with_suffix(".partial"), folder / f"{key}.journal"
        self._entries: list[dict[str, Any]] = []
        self._file: Any = None
        self._lock = threading.Lock()
        self._is_whole = False
        with _explain_unwritable_folder(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the ranges that are packed: all of them, or those of an earlier run."""
        if not self.path.exists():
            self._resume()
        if self._file is None:
            self._file = self.path.open("rb", buffering=0)
            weakref.finalize(self, self._file.close)
            self._entries, self._is_whole = self._read_index(), True
        return [(entry["low"], entry["high"]) for entry in self._entries]

    def put(self, columns: PackedColumns) -> None:
        """Write the columns, and list them in the journal."""
        arrays = columns.arrays()
        with (
            self._lock,
            _explain_full_disk(self.path.parent, OTHER_CACHE),
        ):
            entry = _write_record(self._file, arrays)
            with self._journal.open("a") as journal:
                journal.write(_journal_line(entry))
            self._entries.append(entry)

    def finish(self) -> list[PackedColumns]:
        """Return all columns, mapped from the file after it got its index and its own name."""
        with self._lock:
            if not self._is_whole:
                self._finalise()
            return _unpack_records(self._file, self._entries, self.packing, self.n_jobs)

    def _finalise(self) -> None:
        index = json.dumps({"key": self.key, "records": self._entries}).encode()
        number = self._file.fileno()
        with _explain_full_disk(self.path.parent, OTHER_CACHE):
            end = os.fstat(number).st_size
            footer = FOOTER.pack(end, len(index), zlib.crc32(index), MAGIC)
            _write_bytes(self._file, index + footer, end)
            os.fsync(number)
        os.replace(self._partial, self.path)  # before it is unlocked
        self._journal.unlink(missing_ok=True)

    def close(self) -> None:
        """Write no more: another run may then resume the file, also if this object lives on."""
        with self._lock:
            if self._file is not None and not self._file.closed:
                _unlock(self._file)
                self._file.close()

    # ---- a complete file --------------------------------------------------------------------
    def _read_index(self) -> list[dict[str, Any]]:
        """Return the records of a complete file, all of them checked."""
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
            contents = json.loads(index)
            if contents["key"] != self.key:
                raise ValueError
            entries: list[dict[str, Any]] = contents["records"]
            number = file.fileno()
            bounds = sorted((entry["low"], entry["high"]) for entry in entries)
            if [0, *(high for _, high in bounds)] != [*(low for low, _ in bounds), self.n_columns]:
                raise ValueError  # some columns are in it twice, or missing
            if not all(run_blocks(lambda entry: _is_sound(number, entry), entries, self.n_jobs)):
                raise ValueError
        except (ValueError, KeyError, TypeError, struct.error):
            raise DataError(
                f"{str(self.path)!r} is damaged or was cut: delete it, and it is made again"
            ) from None
        return entries

    # ---- a file that is being written -------------------------------------------------------
    def _resume(self) -> None:
        """Open the unfinished file after its last complete record, or a new one.

        No file is opened if another run has finished it meanwhile.
        """
        with _explain_unwritable_folder(self.path.parent):
            number = os.open(self._partial, os.O_RDWR | os.O_CREAT, 0o666)
        file = os.fdopen(number, "r+b", buffering=0)
        try:
            _lock_for_writing(file, self._partial)
            # a run that ended before this one got the lock may have renamed the file
            if not _is_named(number, self._partial):
                if not self.path.exists():
                    raise DataError(
                        f"{str(self._partial)!r} is being written by another run: wait for it, or "
                        "give another ",
                        Parameter("cache"),
                    )
                file.close()
                return
            if self.path.exists():  # then this new file is not needed
                self._partial.unlink()
                file.close()
                return
            self._truncate_to_whole_records(file)
        except BaseException:
            file.close()
            raise
        self._file = file
        weakref.finalize(self, file.close)

    def _truncate_to_whole_records(self, file: Any) -> None:
        """Cut the file and the journal off after the last complete record."""
        self._entries, end = [], HEAD.size
        head = HEAD.pack(MAGIC, VERSION)
        if os.pread(file.fileno(), HEAD.size, 0) == head:
            for entry in self._read_journal():
                if entry["begin"] < end or not _is_sound(file.fileno(), entry):
                    break
                self._entries.append(entry)
                end = entry["begin"] + entry["size"]
        with _explain_full_disk(self.path.parent, OTHER_CACHE):
            _write_bytes(file, head, 0)
            file.truncate(end)
            with self._journal.open("w") as journal:
                journal.writelines(map(_journal_line, self._entries))

    def _read_journal(self) -> Iterator[dict[str, Any]]:
        """Yield the records that the journal names, up to the first damaged line."""
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
    """Return whether an open file still has a name."""
    try:
        return os.path.samestat(os.fstat(number), os.stat(path))
    except FileNotFoundError:
        return False


def _journal_line(entry: dict[str, Any]) -> str:
    """Return the line of the journal for a record."""
    text = json.dumps(entry)
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


# ---- records ----------------------------------------------------------------------------------
def _write_record(file: Any, arrays: Arrays) -> dict[str, Any]:
    """Write a record at the end of a file; return its entry for the index."""
    end = os.fstat(file.fileno()).st_size
    begin = -(-end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
    listed, offset, checksum = [], 0, 0
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        raw = array.reshape(-1).view(np.uint8).data
        padding = bytes(-len(raw) % ALIGNED)
        _write_bytes(file, raw, begin + offset)
        _write_bytes(file, padding, begin + offset + len(raw))
        checksum = zlib.crc32(padding, zlib.crc32(raw, checksum))
        listed.append([name, array.dtype.str, list(array.shape), offset])
        offset += len(raw) + len(padding)
    low, high = arrays["range"][:2].tolist()
    return {"low": low, "high": high, "begin": begin, "size": offset, "crc": checksum,
            "arrays": listed}  # fmt: skip


def _write_bytes(file: Any, data: Any, offset: int) -> None:
    """Write bytes at an offset of a file, all of them."""
    view = memoryview(data)
    while len(view):
        count = os.pwrite(file.fileno(), view, offset)
        view, offset = view[count:], offset + count


def _unpack_records(
    file: Any, entries: list[dict[str, Any]], packing: Packing, n_jobs: int | None
) -> list[PackedColumns]:
    """Return the columns of records, from one map of the file since each needs a descriptor."""
    mapped = _map_bytes(file.fileno(), 0, os.fstat(file.fileno()).st_size)
    return [packing.unpack(_record_arrays(mapped, entry), n_jobs) for entry in entries]


def _is_sound(number: int, entry: dict[str, Any]) -> bool:
    """Return whether a record is undamaged."""
    if os.fstat(number).st_size < entry["begin"] + entry["size"]:
        return False
    return bool(zlib.crc32(_map_bytes(number, entry["begin"], entry["size"])) == entry["crc"])


def _map_bytes(number: int, begin: int, size: int) -> mmap.mmap:
    # private since the loops require writable arrays; nothing is written, so no memory is reserved
    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
    return mmap.mmap(number, size, flags=flags, offset=begin,
                     prot=mmap.PROT_READ | mmap.PROT_WRITE)  # fmt: skip


def _record_arrays(mapped: mmap.mmap, entry: dict[str, Any]) -> Arrays:
    arrays = {}
    for name, dtype, shape, offset in entry["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(mapped, dtype, count, entry["begin"] + offset).reshape(shape)
    return arrays


@contextlib.contextmanager
def _explain_full_disk(folder: str | os.PathLike[str], remedy: str | Text) -> Iterator[None]:
    """Raise errors of a full disk with an explanation."""
    try:
        yield
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        raise OSError(
            problem.errno,
            Text(f"no space is left in {str(folder)!r} for packed columns: free some, or ", remedy),
        ) from None


@contextlib.contextmanager
def _explain_unwritable_folder(folder: Path) -> Iterator[None]:
    """Raise errors of a folder that cannot be written to with an explanation."""
    with _explain_full_disk(folder, OTHER_CACHE):
        try:
            yield
        except OSError as problem:
            if problem.errno in FULL:
                raise
            raise type(problem)(
                problem.errno,
                Text(
                    Setting("cache", str(folder)),
                    f" cannot be written to ({problem.strerror}): give a folder of yours, or "
                    "leave ",
                    Parameter("cache"),
                    " out",
                ),
            ) from None


def _lock_for_writing(file: Any, path: Path) -> None:
    """Lock a file for one run at a time, if the system has such locks."""
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
            f"{str(path)!r} is being written by another run: wait for it, or give another ",
            Parameter("cache"),
        ) from None


def _unlock(file: Any) -> None:
    # a map of the file has a copy of its descriptor, and so would keep the lock
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
