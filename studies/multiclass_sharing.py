"""A store of results that a split needs once: made by one process, read by the others.

The processes of a study work on the methods of one split side by side, and all of them need the
lists of that split. The first process makes them, with all cores, while the others wait; a
database that only one process at a time may open is lock and store in one, and is unlocked when
its owner is killed. It belongs to one run: nothing is left for the next, whose code may differ.
"""

import atexit
import hashlib
import os
import pickle
import sqlite3
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray

VARIABLE = "FEATLY_STUDY_SHARED"  # names the file; processes that are started later inherit it
LONGEST = 3600.0  # seconds to wait for another process
KEPT = 24  # entries in the file
REMEMBERED = 8  # entries that a process holds in memory
DIGESTED = 32  # columns, spread over the table, that identify a set of rows


def digest(X: AnyArray, y: AnyArray) -> str:
    """Return a hash of the rows that a method was given."""
    sampled = X[:, :: max(1, X.shape[1] // DIGESTED)]
    hasher = hashlib.blake2b(repr((X.shape, y.tolist())).encode(), digest_size=16)
    hasher.update(np.ascontiguousarray(sampled).tobytes())
    return hasher.hexdigest()


class Memory(OrderedDict[Any, Any]):
    """A memory of the last few values."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def put(self, key: Any, value: Any) -> Any:
        """Put a value under a key, and forget the oldest."""
        self[key] = value
        while len(self) > self.most:
            self.popitem(last=False)
        return value


memory = Memory(REMEMBERED)


def make_once(key: str, make: Callable[[], Any]) -> Any:
    """Return the value of `make`, made once for all processes of this run."""
    if key in memory:
        return memory[key]
    with closing(sqlite3.connect(_file(), timeout=LONGEST, isolation_level=None)) as base:
        base.execute("BEGIN EXCLUSIVE")
        base.execute("CREATE TABLE IF NOT EXISTS made (key TEXT PRIMARY KEY, value BLOB)")
        row = base.execute("SELECT value FROM made WHERE key = ?", (key,)).fetchone()
        if row is None:
            value = make()
            base.execute("INSERT INTO made VALUES (?, ?)", (key, pickle.dumps(value)))
            base.execute(
                "DELETE FROM made WHERE rowid NOT IN "
                "(SELECT rowid FROM made ORDER BY rowid DESC LIMIT ?)",
                (KEPT,),
            )
        else:
            value = pickle.loads(row[0])
        base.execute("COMMIT")
    return memory.put(key, value)


def _file() -> str:
    return os.environ[VARIABLE]


def _begin() -> None:
    """Name the file of this run, unless the process that started this one has."""
    if VARIABLE in os.environ:
        return
    name = f"featly-study-{os.getpid()}-{time.time_ns()}.sqlite"
    path = Path(tempfile.gettempdir()) / name
    os.environ[VARIABLE] = str(path)
    atexit.register(path.unlink, missing_ok=True)


_begin()
