"""Files of a study: a journal while it runs, parquet when it is done.

Every fit is one transaction of a SQLite journal, so a study that is killed at any instant loses
at most the fits that were running. When all are done, the journal is compacted into two parquet
files and a description, each written whole or not at all, and removed. Predictions of test rows, if
they are kept, have a file of their own, which stays (`kept.py`).
"""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from featly.basics.atomic_file import whole_file
from featly.basics.errors import StudyError
from featly.basics.typing import AnyArray, IntArray
from featly.study.kept import KeptRows

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "ALL_ROWS",
    "SCRATCH",
    "Fit",
    "Journal",
    "Key",
    "Outcome",
    "open_alone",
    "read_compacted",
    "remove_leftovers",
]

SCRATCH = ".featly-study-"  # prefix of folders that only a running study needs
JOURNAL, ROWS, RANKINGS, ABOUT = "journal.sqlite", "rows.parquet", "rankings.parquet", "study.json"
ALL_ROWS = -1  # number of the split whose training and test part are all rows
MAX_POSITIONS = 1 << 16  # of a ranking that are stored, unless more are evaluated

Key = tuple[str, str, int, int]  # dataset, method, split, null draw


@dataclass(frozen=True)
class Outcome:
    """Outcome of a learner with the first `size` columns: a confusion matrix, or an error."""

    learner: str
    size: int
    confusion: IntArray | None
    seconds: float
    error: str | None = None
    kept: KeptRows | None = None


@dataclass(frozen=True)
class Fit:
    """Fit of one method on one split: its ranking and an outcome for every size.

    `test_rows` and `test_codes`, rows and classes of the test part, are there if predictions are
    kept.
    """

    dataset: str
    method: str
    split: int
    null_draw: int = 0
    n_train: int = 0
    n_test: int = 0
    order: AnyArray | None = None
    subset: bool = False
    seconds: float = 0.0
    error: str | None = None
    notes: tuple[str, ...] = ()
    outcomes: list[Outcome] = field(default_factory=list)
    test_rows: IntArray | None = None
    test_codes: IntArray | None = None

    @property
    def key(self) -> Key:
        """Identity of the fit among all others."""
        return self.dataset, self.method, self.split, self.null_draw


_TABLES = """
CREATE TABLE IF NOT EXISTS about (part TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS fits (
    dataset TEXT, method TEXT, split INTEGER, null_draw INTEGER, n_train INTEGER, n_test INTEGER,
    subset INTEGER, seconds REAL, error TEXT, notes TEXT, ranking BLOB,
    PRIMARY KEY (dataset, method, split, null_draw));
CREATE TABLE IF NOT EXISTS outcomes (
    dataset TEXT, method TEXT, split INTEGER, null_draw INTEGER, learner TEXT, size INTEGER,
    confusion BLOB, seconds REAL, error TEXT);
"""


def open_alone(path: Path, tables: str) -> sqlite3.Connection:
    """Open a journal that no other run has open, and make its tables.

    A row is written before the next statement, unless a transaction was begun.
    """
    base = sqlite3.connect(path, isolation_level=None, timeout=0.2)
    try:
        # the system still writes what a killed process has handed over; only a power cut can
        # lose the last fits, and it does not damage the file
        base.execute("PRAGMA locking_mode=EXCLUSIVE")
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA synchronous=NORMAL")
        base.executescript(tables)
    except sqlite3.OperationalError as problem:
        base.close()
        if "locked" not in str(problem):
            raise
        raise StudyError(
            f"another run is at work in {str(path.parent)!r}: wait for it, or use another folder"
        ) from None
    except sqlite3.DatabaseError:
        base.close()
        raise StudyError(f"{str(path)!r} is no journal of a study: use another folder") from None
    return base


class Journal:
    """Fits as they are done, in a file that survives whatever kills the process.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._base = open_alone(folder / JOURNAL, _TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, so that other runs can use the folder."""
        self._base.close()

    def about(self) -> dict[str, Any]:
        """Return the description that was written when the study began; empty if there is none."""
        rows = self._base.execute("SELECT part, value FROM about")
        return {part: json.loads(value) for part, value in rows}

    def describe(self, about: dict[str, Any]) -> None:
        """Write the description of the study."""
        with _transaction(self._base):
            self._base.executemany(
                "INSERT OR REPLACE INTO about VALUES (?, ?)",
                [(part, json.dumps(value)) for part, value in about.items()],
            )

    def done(self) -> set[Key]:
        """Return the keys of the fits in the journal."""
        rows = self._base.execute("SELECT dataset, method, split, null_draw FROM fits")
        return set(rows)

    def write(self, fit: Fit) -> None:
        """Write a fit and its outcomes in one transaction."""
        with _transaction(self._base):
            self._base.execute(
                "INSERT OR REPLACE INTO fits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *fit.key,
                    fit.n_train,
                    fit.n_test,
                    fit.subset,
                    fit.seconds,
                    fit.error,
                    json.dumps(fit.notes) if fit.notes else None,
                    None if fit.order is None else _pack_ranking(fit.order, fit.outcomes),
                ),
            )
            self._base.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *fit.key,
                        outcome.learner,
                        outcome.size,
                        None if outcome.confusion is None else _bytes(outcome.confusion),
                        outcome.seconds,
                        outcome.error,
                    )
                    for outcome in fit.outcomes
                ],
            )

    def ranking(self, key: Key) -> tuple[npt.NDArray[np.uint32], bool] | None:
        """Return the ranking of one fit, and whether the method chose its size itself."""
        row = self._base.execute(
            "SELECT ranking, subset FROM fits "
            "WHERE dataset=? AND method=? AND split=? AND null_draw=?",
            key,
        ).fetchone()
        if row is None or row[0] is None:
            return None
        return np.frombuffer(row[0], "<u4"), bool(row[1])

    def frames(self) -> tuple["pl.DataFrame", "pl.DataFrame"]:
        """Return a frame with one row an outcome, and a frame with one row a fit."""
        import polars as pl

        keys = ["dataset", "method", "split", "null_draw"]
        names = [*keys, "n_train", "n_test", "subset", "seconds", "failure", "notes", "ranking"]
        fits = list(
            self._base.execute("SELECT * FROM fits ORDER BY dataset, method, null_draw, split")
        )
        rankings = pl.DataFrame(
            fits, orient="row", schema={**_FIT_TYPES, "ranking": pl.Binary}
        ).rename({"seconds": "select_seconds"})
        assert rankings.columns == [n if n != "seconds" else "select_seconds" for n in names]
        orders = _lists("order", rankings["ranking"].to_list(), "<u4")
        rankings = rankings.drop("ranking").with_columns(orders, pl.col("subset").cast(pl.Boolean))
        outcomes = list(
            self._base.execute(
                "SELECT * FROM outcomes ORDER BY dataset, method, null_draw, split, learner, size"
            )
        )
        rows = pl.DataFrame(outcomes, orient="row", schema=_OUTCOME_TYPES)
        return rows.with_columns(_lists("confusion", rows["confusion"].to_list(), "<i8")), rankings

    def compact(
        self, rows: "pl.DataFrame", rankings: "pl.DataFrame", about: dict[str, Any]
    ) -> None:
        """Write everything as parquet, then remove the journal."""
        write_compacted(self.folder, rows, rankings, about)
        self.discard()

    def discard(self) -> None:
        """Remove the journal, of which the parquet files hold everything."""
        self.close()
        for leftover in self.folder.glob(f"{JOURNAL}*"):
            leftover.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove the scratch folders of runs that were killed."""
        for leftover in self.folder.glob(f"{SCRATCH}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def restore(self, rows: "pl.DataFrame", rankings: "pl.DataFrame") -> None:
        """Write a compacted study into the journal, so that fits can be added."""
        keys = ["dataset", "method", "split", "null_draw"]
        with _transaction(self._base):
            columns = [*keys, "n_train", "n_test", "subset", "select_seconds", "failure", "notes"]
            orders = (None if o is None else _bytes(np.array(o), "<u4") for o in rankings["order"])
            self._base.executemany(
                "INSERT OR REPLACE INTO fits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (*row, order)
                    for row, order in zip(rankings.select(columns).rows(), orders, strict=True)
                ],
            )
            self._base.execute("DELETE FROM outcomes")
            columns = [*keys, "learner", "size"]
            matrices = (None if c is None else _bytes(np.array(c)) for c in rows["confusion"])
            self._base.executemany(
                "INSERT INTO outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (*row, matrix, *result)
                    for row, matrix, result in zip(
                        rows.select(columns).rows(),
                        matrices,
                        rows.select("seconds", "failure").rows(),
                        strict=True,
                    )
                ],
            )


_FIT_TYPES = {
    "dataset": str,
    "method": str,
    "split": int,
    "null_draw": int,
    "n_train": int,
    "n_test": int,
    "subset": int,
    "seconds": float,
    "failure": str,
    "notes": str,
}
_OUTCOME_TYPES = {
    "dataset": str,
    "method": str,
    "split": int,
    "null_draw": int,
    "learner": str,
    "size": int,
    "confusion": bytes,
    "seconds": float,
    "failure": str,
}


def write_compacted(
    folder: Path, rows: "pl.DataFrame", rankings: "pl.DataFrame", about: dict[str, Any]
) -> None:
    """Write a finished study; the description comes last, so that its presence means complete."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder) as scratch:
        drafts = Path(scratch)
        for name, frame in ((ROWS, rows), (RANKINGS, rankings)):
            with whole_file(drafts / name) as out:
                frame.write_parquet(out)
        with whole_file(drafts / ABOUT) as out:
            out.write((json.dumps(about, indent=2) + "\n").encode())
        for name in (ROWS, RANKINGS, ABOUT):
            os.replace(drafts / name, folder / name)


def read_compacted(
    folder: Path,
) -> tuple["pl.DataFrame", "pl.DataFrame", dict[str, Any]] | None:
    """Return rows, rankings and description of a finished study; None if there is none."""
    import polars as pl

    if not (folder / ABOUT).is_file():
        return None
    about = json.loads((folder / ABOUT).read_text())
    rows, rankings = (pl.read_parquet(folder / name, glob=False) for name in (ROWS, RANKINGS))
    return rows, rankings, about


def remove_leftovers(folder: Path, rankings: "pl.DataFrame") -> None:
    """Remove a journal left beside a finished study by a run that was killed at its end.

    A journal with fits that the finished study does not have stays.
    """
    if not (folder / JOURNAL).exists():
        return
    try:
        with Journal(folder) as journal:
            journal.sweep()
            keys = rankings.select("dataset", "method", "split", "null_draw").rows()
            if journal.done() <= set(keys):
                journal.discard()
    except (StudyError, sqlite3.Error, OSError):
        return  # another run is at work, or the folder is read-only


class _transaction:  # noqa: N801  read as a word: with _transaction(base)
    """A transaction: all statements take effect, or none."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self.base = base

    def __enter__(self) -> None:
        self.base.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.base.execute("COMMIT" if kind is None else "ROLLBACK")


def _bytes(values: AnyArray, dtype: str = "<i8") -> bytes:
    return np.ascontiguousarray(values, dtype).tobytes()


def _lists(name: str, blobs: Sequence[bytes | None], dtype: str) -> "pl.Series":
    """Return bytes as a column of lists of numbers; None stays None."""
    import polars as pl

    width = np.dtype(dtype).itemsize
    lengths = [0 if blob is None else len(blob) // width for blob in blobs]
    flat = np.frombuffer(b"".join(blob for blob in blobs if blob is not None), dtype)
    at = np.repeat(np.arange(len(blobs)), lengths)
    lists = pl.DataFrame([pl.Series("at", at), pl.Series(name, flat)])
    lists = lists.group_by("at", maintain_order=True).agg(name)
    positions = pl.DataFrame([pl.Series("at", np.arange(len(blobs)))])
    return positions.join(lists, on="at", how="left", maintain_order="left")[name]


def _pack_ranking(order: AnyArray, outcomes: Iterable[Outcome]) -> bytes:
    """Return a ranking as bytes, without positions beyond MAX_POSITIONS and all sizes."""
    most = max((outcome.size for outcome in outcomes), default=0)
    return _bytes(order[: max(most, MAX_POSITIONS)], "<u4")
