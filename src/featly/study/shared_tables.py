"""Tables in files that every process of a study maps instead of copying them."""

import functools
import os
import pickle
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.kinds import CATEGORICAL
from featly.study.dataset import Dataset
from featly.table.frames import is_frame, open_table

__all__ = ["end_with_parent", "open_shared", "share"]

PARTS = ("data", "indices", "indptr")  # of a sparse matrix
WATCH_SECONDS = 1.0


def share(dataset: Dataset, folder: Path) -> str:
    """Write a dataset so that other processes can map it instead of copying it."""
    folder.mkdir(parents=True, exist_ok=True)
    X = dataset.X
    if is_frame(X):
        numeric = np.flatnonzero(dataset.kinds != CATEGORICAL).tolist()
        if numeric:
            np.save(folder / "numbers.npy", np.asfortranarray(open_table(X).numbers(numeric)))
        labels = np.flatnonzero(dataset.kinds == CATEGORICAL).tolist()
        X[:, labels].write_ipc(folder / "labels.arrow", compression="uncompressed")
    elif scipy.sparse.issparse(X):
        for part in PARTS:
            np.save(folder / f"{part}.npy", getattr(X, part))
    else:
        np.save(folder / "X.npy", X)
    (folder / "dataset.pickle").write_bytes(pickle.dumps(replace(dataset, X=None)))
    return str(folder.absolute())  # absolute: another process may have another working directory


@functools.lru_cache(maxsize=64)
def open_shared(folder: str) -> Dataset:
    """Open a dataset that another process has shared: its numbers are mapped, not copied."""
    location = Path(folder)
    small: Dataset = pickle.loads((location / "dataset.pickle").read_bytes())
    if (location / "X.npy").exists():
        return replace(small, X=np.load(location / "X.npy", mmap_mode="r"))
    if (location / "labels.arrow").exists():
        return replace(small, X=_map_frame(location, small))
    parts = tuple(np.load(location / f"{part}.npy", mmap_mode="r") for part in PARTS)
    shape = (small.n_rows, small.n_features)
    return replace(small, X=scipy.sparse.csr_array(parts, shape=shape))


@functools.cache
def end_with_parent(parent: int) -> None:
    """End this process when the one that started it is killed, or has been already.

    Else it would wait some minutes for the next task, with its tables in memory.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _map_frame(location: Path, small: Dataset) -> Any:
    """Return a frame whose numbers lie in a mapped file; labels are read into memory."""
    import polars as pl

    path = location / "numbers.npy"
    labels = iter(pl.read_ipc(location / "labels.arrow").get_columns())
    numbers = iter(np.load(path, mmap_mode="r").T if path.exists() else ())
    return pl.DataFrame(
        [
            next(labels) if kind == CATEGORICAL else pl.Series(name, next(numbers))
            for name, kind in zip(small.names[:], small.kinds, strict=True)
        ]
    )
