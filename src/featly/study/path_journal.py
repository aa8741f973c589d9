"""Journal of paths: what nested folds, shuffles and halves have fitted, for a run that goes on.

Each outcome is kept by a hash of all that it depends on: the table, the method and its parameters,
learners, sizes, rows, labels, seed and the version of featly. So a run that was stopped at any
instant goes on, a second one fits nothing anew, and nothing that was fitted otherwise is taken.
"""

import hashlib
import io
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from featly.basics.typing import AnyArray
from featly.study.dataset import Dataset
from featly.study.evaluate import Protocol, sizes_for
from featly.study.plan import describe_value
from featly.study.store import open_alone

__all__ = ["PathJournal", "hash_parts", "pack", "unpack"]

PATHS = "paths.sqlite"
META = "meta"  # the entry of an outcome that holds what is no array

_TABLE = "CREATE TABLE IF NOT EXISTS outcomes (key TEXT PRIMARY KEY, outcome BLOB NOT NULL)"


class PathJournal:
    """Outcomes of tasks of one table and protocol, in a file that survives whatever kills a run.

    Parameters
    ----------
    folder : path
        Made if it does not exist. Any number of tables and protocols may share it.
    dataset : Dataset
    methods : mapping of name to estimator
    protocol : Protocol
    """

    def __init__(
        self, folder: str | Path, dataset: Dataset, methods: Mapping[str, Any], protocol: Protocol
    ) -> None:
        from featly import __version__

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        self._base = open_alone(path / PATHS, _TABLE)
        self._methods = {name: describe_value(method) for name, method in methods.items()}
        self._common = hash_parts(
            __version__,
            dataset.fingerprint,
            {name: describe_value(learner) for name, learner in protocol.learners.items()},
            sizes_for(protocol.sizes, dataset.n_features),
            protocol.fill,
            describe_value(protocol.resample),
            protocol.random_state,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that other runs can use the folder."""
        self._base.close()

    def key(self, parts: tuple[Any, ...], methods: tuple[str, ...]) -> str:
        """Return the key of a task, by what it depends on and the names of its methods."""
        return hash_parts(self._common, *(self._methods[name] for name in methods), *parts)

    def read(self, key: str) -> bytes | None:
        """Return an outcome, or None if it is not there."""
        row = self._base.execute("SELECT outcome FROM outcomes WHERE key=?", (key,)).fetchone()
        return None if row is None else row[0]

    def has(self, key: str) -> bool:
        """Return whether an outcome is there."""
        return (
            self._base.execute("SELECT 1 FROM outcomes WHERE key=?", (key,)).fetchone() is not None
        )

    def write(self, key: str, outcome: bytes) -> None:
        """Keep an outcome; every one is a transaction of its own."""
        self._base.execute(
            "INSERT OR REPLACE INTO outcomes VALUES (?, ?)", (key, sqlite3.Binary(outcome))
        )


def hash_parts(*parts: Any) -> str:
    """Return a hash of texts, numbers and arrays, the same in every run.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.path_journal import hash_parts
    >>> hash_parts("a", np.arange(3)) == hash_parts("a", np.arange(3))
    True
    >>> hash_parts("ab", "c") == hash_parts("a", "bc")
    False
    """
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(repr((part.dtype.str, part.shape)).encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()


def pack(arrays: Mapping[str, AnyArray], meta: Mapping[str, Any]) -> bytes:
    """Return arrays, and what can be written as JSON, as bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.path_journal import pack, unpack
    >>> arrays, meta = unpack(pack({"order": np.array([2, 0])}, {"seconds": 0.5}))
    >>> arrays["order"].tolist(), meta
    ([2, 0], {'seconds': 0.5})
    """
    out = io.BytesIO()
    text = np.frombuffer(json.dumps(dict(meta)).encode(), np.uint8)
    entries: dict[str, Any] = {META: text, **arrays}
    np.savez(out, **entries)
    return out.getvalue()


def unpack(outcome: bytes) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return the arrays and the rest of what :func:`pack` made bytes of."""
    with np.load(io.BytesIO(outcome), allow_pickle=False) as entries:
        arrays = {name: entries[name] for name in entries.files}
    return arrays, json.loads(arrays.pop(META).tobytes())
