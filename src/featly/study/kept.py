"""Predictions of test rows that a study keeps: in a file beside its journal, or in memory.

A number takes four bytes and a predicted class one (two above 256 classes). The rows of a test part
are written once, not with every fit. The file stays when the study is done; nothing of it is in
memory until a metric asks for it, and then one fit at a time.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from featly.basics.errors import StudyError
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.study.predict import Predictions

if TYPE_CHECKING:
    from featly.study.store import Fit

__all__ = [
    "KEPT_BYTES",
    "KeptFit",
    "KeptPredictions",
    "KeptRows",
    "PredictionWriter",
    "bytes_per_row",
]

PREDICTIONS = "predictions.sqlite"
KEPT_BYTES = 1 << 27  # a study that would write more keeps no predictions unless it is told to
SMALL = 256  # codes of so many classes take one byte

_TABLES = """
CREATE TABLE IF NOT EXISTS tests (
    dataset TEXT, split INTEGER, null_draw INTEGER, n_classes INTEGER, rows BLOB, codes BLOB,
    PRIMARY KEY (dataset, split, null_draw));
CREATE TABLE IF NOT EXISTS predictions (
    dataset TEXT, method TEXT, split INTEGER, null_draw INTEGER, learner TEXT, kind TEXT,
    sizes BLOB, codes BLOB, scores BLOB,
    PRIMARY KEY (dataset, method, split, null_draw, learner));
"""


def bytes_per_row(n_classes: int) -> int:
    """Return the bytes that the prediction of one row takes."""
    return (1 if n_classes <= SMALL else 2) + 4 * (1 if n_classes == 2 else n_classes)


@dataclass(frozen=True)
class KeptRows:
    """Predictions of all test rows at one size, in the types in which they are kept."""

    codes: IntArray
    scores: FloatArray | None
    kind: str | None

    @classmethod
    def from_predictions(cls, predictions: Predictions, n_classes: int) -> "KeptRows":
        """Return predictions in the types in which they are written."""
        assert predictions.codes is not None
        scores = predictions.scores
        if scores is not None:
            with np.errstate(over="ignore"):  # beyond float32 is infinite
                scores = scores.astype("<f4")
        return cls(predictions.codes.astype(_code_type(n_classes)), scores, predictions.kind)


@dataclass(frozen=True)
class KeptFit:
    """The predictions of one fit and one learner.

    Attributes
    ----------
    dataset, method, learner : str
    split, null_draw, n_classes : int
    kind : {"decision", "probability"} or None
    sizes : int array of shape (n_sizes,)
    rows : int array of shape (n_test,)
        Positions of the test rows in the table.
    truth : int array of shape (n_test,)
        Codes of their classes; with shuffled labels, those.
    codes : int array of shape (n_sizes, n_test)
        The predicted classes.
    scores : float array of shape (n_sizes, n_test) or (n_sizes, n_test, n_classes), or None
        As in :class:`featly.study.predict.Predictions`.
    """

    dataset: str
    method: str
    split: int
    null_draw: int
    learner: str
    n_classes: int
    kind: str | None
    sizes: IntArray
    rows: IntArray
    truth: IntArray
    codes: IntArray
    scores: FloatArray | None


class KeptPredictions:
    """Kept predictions, read from a file or from its bytes.

    Parameters
    ----------
    source : path or bytes
    """

    def __init__(self, source: Path | bytes) -> None:
        self.source = source

    @classmethod
    def in_folder(cls, folder: Path) -> "KeptPredictions | None":
        """Return the predictions in the folder of a study; None if it has none."""
        return cls(folder / PREDICTIONS) if (folder / PREDICTIONS).is_file() else None

    def into_memory(self) -> "KeptPredictions":
        """Return the same predictions, independent of the file."""
        with closing(self._connect()) as base:
            return KeptPredictions(base.serialize())

    def kinds(self, learners: Sequence[str]) -> set[str]:
        """Return the kinds of scores of some learners; empty if they have none."""
        marks = ", ".join("?" * len(learners))
        query = f"SELECT DISTINCT kind FROM predictions WHERE learner IN ({marks})"
        return {str(kind) for (kind,) in self._read(query, learners) if kind is not None}

    def fits(
        self,
        *,
        dataset: str | None = None,
        method: str | None = None,
        learner: str | None = None,
        draws: bool = True,
    ) -> Iterator[KeptFit]:
        """Yield the predictions of every fit and learner, one after the other.

        Parameters
        ----------
        dataset, method, learner : str or None
            Only those of this one.
        draws : bool, default=True
            Whether to include fits to shuffled labels.
        """
        limits = {"dataset": dataset, "method": method, "learner": learner}
        wanted = {part: name for part, name in limits.items() if name is not None}
        where = [f"p.{part} = ?" for part in wanted] + ([] if draws else ["p.null_draw = 0"])
        query = (
            "SELECT p.dataset, p.method, p.split, p.null_draw, p.learner, t.n_classes, p.kind, "
            "p.sizes, t.rows, t.codes, p.codes, p.scores FROM predictions p "
            "JOIN tests t USING (dataset, split, null_draw)"
            + (f" WHERE {' AND '.join(where)}" if where else "")
            + " ORDER BY p.dataset, p.method, p.null_draw, p.split, p.learner"
        )
        for row in self._read(query, list(wanted.values())):
            yield _read_fit(row)

    def _read(self, query: str, values: Sequence[str]) -> Iterator[tuple[object, ...]]:
        try:
            with closing(self._connect()) as base:
                yield from base.execute(query, list(values))
        except sqlite3.DatabaseError as problem:
            raise StudyError(f"the kept predictions cannot be read: {problem}") from None

    def _connect(self) -> sqlite3.Connection:
        if isinstance(self.source, bytes):
            base = sqlite3.connect(":memory:")
            base.deserialize(self.source)
            return base
        return sqlite3.connect(self.source, timeout=10.0)


class PredictionWriter:
    """The file of kept predictions while a study runs; every fit is one transaction.

    Parameters
    ----------
    folder : path
        Of the study.
    """

    def __init__(self, folder: Path) -> None:
        self._base = sqlite3.connect(folder / PREDICTIONS, isolation_level=None, timeout=10.0)
        # as for the journal: what a killed process has handed over is written by the system
        self._base.execute("PRAGMA journal_mode=WAL")
        self._base.execute("PRAGMA synchronous=NORMAL")
        self._base.executescript(_TABLES)

    def write(self, fit: "Fit", n_classes: int) -> None:
        """Write the predictions of a fit."""
        if fit.test_rows is None:
            return
        learners: dict[str, list[tuple[int, KeptRows]]] = {}
        for outcome in fit.outcomes:
            if outcome.kept is not None:
                learners.setdefault(outcome.learner, []).append((outcome.size, outcome.kept))
        with self._base:
            self._base.execute("BEGIN IMMEDIATE")
            self._base.execute(
                "INSERT OR REPLACE INTO tests VALUES (?, ?, ?, ?, ?, ?)",
                (
                    *(fit.dataset, fit.split, fit.null_draw, n_classes),
                    np.asarray(fit.test_rows).astype("<u4").tobytes(),
                    np.asarray(fit.test_codes).astype(_code_type(n_classes)).tobytes(),
                ),
            )
            self._base.executemany(
                "INSERT OR REPLACE INTO predictions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(*fit.key, name, *_pack(kept)) for name, kept in learners.items()],
            )

    def close(self) -> None:
        """Close the file, and leave nothing beside it."""
        try:
            self._base.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            pass  # somebody reads it: the next run tidies up
        finally:
            self._base.close()


def _pack(kept: Sequence[tuple[int, KeptRows]]) -> tuple[str | None, bytes, bytes, bytes | None]:
    """Return kind, sizes, codes and scores of all sizes of a fit as they are written."""
    sizes = np.array([size for size, _ in kept], "<u4").tobytes()
    codes = b"".join(rows.codes.tobytes() for _, rows in kept)
    kinds = {rows.kind for _, rows in kept}
    if len(kinds) > 1 or None in kinds:
        return None, sizes, codes, None
    scores: Iterable[FloatArray] = (rows.scores for _, rows in kept if rows.scores is not None)
    return kinds.pop(), sizes, codes, b"".join(part.tobytes() for part in scores)


def _read_fit(row: tuple[object, ...]) -> KeptFit:
    dataset, method, split, null_draw, learner, n_classes, kind, *blobs = row
    assert isinstance(n_classes, int)
    code_type = _code_type(n_classes)
    sizes = _numbers(blobs[0], "<u4").astype(np.int64)
    rows = _numbers(blobs[1], "<u4").astype(np.int64)
    truth = _numbers(blobs[2], code_type).astype(np.int64)
    codes = _numbers(blobs[3], code_type).astype(np.int64).reshape(len(sizes), len(rows))
    scores = None
    if blobs[4] is not None:
        shape = (len(sizes), len(rows)) if n_classes == 2 else (len(sizes), len(rows), n_classes)
        scores = _numbers(blobs[4], "<f4").astype(np.float64).reshape(shape)
    return KeptFit(
        *(str(dataset), str(method), int(str(split)), int(str(null_draw)), str(learner), n_classes),
        kind=None if kind is None else str(kind),
        sizes=sizes,
        rows=rows,
        truth=truth,
        codes=codes,
        scores=scores,
    )


def _numbers(blob: object, dtype: str) -> AnyArray:
    assert isinstance(blob, bytes)
    return np.frombuffer(blob, dtype)


def _code_type(n_classes: int) -> str:
    return "<u1" if n_classes <= SMALL else "<u2"
