"""KDD Cup 99: the classes of its labels, the contest's winner, and figures with intervals.

The contest groups 40 labels into five classes; the percentages of table 5.1 of the book pin the
grouping down, with ``httptunnel`` under user to root. The winner's confusion matrix is that of the
contest's report: Elkan, C. (1999), Results of the KDD'99 classifier learning contest,
https://cseweb.ucsd.edu/~elkan/clresults.html. It is checked: rows that add
up to the classes of the test part, the score 0.2331, and all printed rates of detection.
"""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.measures.classification import KDD_COSTS

FILE = Path(os.environ.get("FEATLY_DATA", "../shared/data")) / "kddcup99.parquet"
CLASSES = ("Normal", "Probe", "DoS", "U2R", "R2L")  # in the order of the cost matrix
SIDES = ("normal", "attack")
GROUPS = {
    "Normal": ("normal",),
    "Probe": ("ipsweep", "mscan", "nmap", "portsweep", "saint", "satan"),
    "DoS": ("apache2", "back", "land", "mailbomb", "neptune", "pod", "processtable", "smurf",
            "teardrop", "udpstorm"),
    "U2R": ("buffer_overflow", "httptunnel", "loadmodule", "perl", "ps", "rootkit", "sqlattack",
            "xterm"),
    "R2L": ("ftp_write", "guess_passwd", "imap", "multihop", "named", "phf", "sendmail",
            "snmpgetattack", "snmpguess", "spy", "warezclient", "warezmaster", "worm", "xlock",
            "xsnoop"),
}  # fmt: skip
CLASS_OF = {label: k for k, name in enumerate(CLASSES) for label in GROUPS[name]}
WINNER = np.array(
    [
        [60262, 243, 78, 4, 6],
        [511, 3471, 184, 0, 0],
        [5299, 1328, 223226, 0, 0],
        [168, 20, 0, 30, 10],
        [14527, 294, 0, 8, 1360],
    ]
)
COSTS = KDD_COSTS
Z = NormalDist().inv_cdf(0.975)


def classes_of(labels: pl.Series) -> IntArray:
    """The number of the class of every label."""
    text = labels.cast(pl.String)
    unknown = sorted(set(text.unique()) - set(CLASS_OF))
    if unknown:
        raise ValueError(f"label {unknown[0]!r} is none of KDD Cup 99")
    return text.replace_strict(CLASS_OF, return_dtype=pl.Int64).to_numpy()


def shares(codes: IntArray) -> dict[str, float]:
    """Percentages of the classes: a column of table 5.1."""
    counts = np.bincount(codes, minlength=len(CLASSES))
    return dict(zip(CLASSES, (100 * counts / counts.sum()).tolist(), strict=True))


@dataclass(frozen=True)
class Data:
    """Both parts. Test rows with equal values are one row here, with their counts by class.

    Attributes
    ----------
    train, test : frames of the 41 columns
    y : classes of the training rows
    counts : int array of shape (rows of test, classes)
        How many test rows look like that and are of that class.
    """

    train: pl.DataFrame
    test: pl.DataFrame
    y: IntArray
    counts: IntArray
    digest: str

    @classmethod
    def read(cls, file: Path = FILE) -> "Data":
        """Read the data from a file."""
        frame = pl.read_parquet(file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        return cls.from_frame(frame, digest)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, digest: str) -> "Data":
        """Make the data from a frame with the columns `split` and `class`."""
        parts = {part: frame.filter(pl.col("split") == part) for part in ("train", "test")}
        names = [name for name in frame.columns if name not in ("split", "class")]
        y = classes_of(parts["train"]["class"])
        truth = pl.Series("class", classes_of(parts["test"]["class"]))
        alike = (
            parts["test"]
            .select(names)
            .with_columns(truth)
            .group_by(names, maintain_order=True)
            .agg(*((pl.col("class") == k).sum().alias(f"={k}") for k in range(len(CLASSES))))
        )
        counts = alike.select(f"={k}" for k in range(len(CLASSES))).to_numpy().astype(np.int64)
        return cls(parts["train"].select(names), alike.select(names), y, counts, digest)

    def labels(self, kind: str) -> tuple[IntArray, IntArray]:
        """Classes of the training rows and counts of the test rows: of "five", or of "two"."""
        if kind == "five":
            return self.y, self.counts
        two = np.column_stack([self.counts[:, 0], self.counts[:, 1:].sum(axis=1)])
        return (self.y > 0).astype(np.int64), two

    def constant_columns(self) -> list[str]:
        """Return columns with one value in the training part."""
        return [name for name in self.train.columns if self.train[name].n_unique() == 1]

    def shares(self) -> dict[str, dict[str, float]]:
        """Table 5.1."""
        test = np.repeat(np.arange(len(CLASSES)), self.counts.sum(axis=0))
        return {"train": shares(self.y), "test": shares(test)}

    def about(self) -> dict[str, Any]:
        """Return facts about the data for the record."""
        y, counts = self.labels("five")
        parts = {"train": np.bincount(y, minlength=len(CLASSES)), "test": counts.sum(axis=0)}
        return {
            "hash": self.digest,
            "rows": int(sum(part.sum() for part in parts.values())),
            "columns": self.train.width,
            "classes": {
                name: int(sum(part[k] for part in parts.values())) for k, name in enumerate(CLASSES)
            },
            "parts": {part: int(n.sum()) for part, n in parts.items()},
            "distinct": {
                "train": self.train.with_columns(pl.Series("class", y)).n_unique(),
                "test": int((counts > 0).sum()),
            },
        }


@dataclass(frozen=True)
class Outcome:
    """Test rows by class and prediction: all, distinct ones, and squares of counts of equal ones.

    A record that occurs m times is m rows of `rows`, one of `distinct` and m^2 of `squares`; the
    last gives the interval of a figure if equal rows are one observation, not m.
    """

    rows: IntArray
    distinct: IntArray
    squares: IntArray

    @classmethod
    def from_predictions(cls, predicted: npt.ArrayLike, counts: IntArray) -> "Outcome":
        """Make an outcome from the predicted class of each distinct test row and its counts."""
        codes, size = np.asarray(predicted), counts.shape[1]

        def table(weights: IntArray) -> IntArray:
            lines = [np.bincount(codes, weights=w, minlength=size) for w in weights.T]
            return np.array(lines).astype(np.int64)

        return cls(table(counts), table((counts > 0).astype(np.int64)), table(counts**2))

    @classmethod
    def read(cls, lists: dict[str, Any]) -> "Outcome":
        """Read what :meth:`to_lists` gave."""
        return cls(*(np.array(lists[part], np.int64) for part in ("rows", "distinct", "squares")))

    def to_lists(self) -> dict[str, Any]:
        """Return the counts as lists."""
        return {part: getattr(self, part).tolist() for part in ("rows", "distinct", "squares")}

    def figure(self, name: str) -> "Figure":
        """Return a figure of merit by name: of FIGURES, or the detection of a class."""
        value, among = (
            FIGURES[name](self.rows) if name in FIGURES else _detection_cells(name, self.rows)
        )
        return Figure.from_outcome(self, value, among)


Parts = tuple[FloatArray, BoolArray]


def _all_cells(value: Callable[[int], npt.ArrayLike]) -> Callable[[IntArray], Parts]:
    def parts(rows: IntArray) -> Parts:
        size = len(rows)
        return np.array(value(size), np.float64), np.ones((size, size), bool)

    return parts


def _detection_cells(name: str, rows: IntArray) -> Parts:
    k = CLASSES.index(name)
    value, among = np.zeros(rows.shape), np.zeros(rows.shape, bool)
    value[k, k], among[k] = 100.0, True
    return value, among


def _attack_cells(real: int) -> Callable[[IntArray], Parts]:
    """Return the share of the normal or of the attacking rows that is taken for an attack."""

    def parts(rows: IntArray) -> Parts:
        value, among = np.zeros(rows.shape), np.zeros(rows.shape, bool)
        own = slice(1, None) if real else slice(0, 1)
        value[own, 1:], among[own] = 100.0, True
        return value, among

    return parts


FIGURES: dict[str, Callable[[IntArray], Parts]] = {
    "error": _all_cells(lambda size: 100.0 * (1 - np.eye(size))),
    "TP": _attack_cells(1),
    "FP": _attack_cells(0),
    "cost": _all_cells(lambda size: COSTS),
}
"""What a row of a class counts for by its prediction, and which rows the mean is over."""


@dataclass(frozen=True)
class Figure:
    """A mean over test rows, its 95% interval, and the same if equal rows are one observation.

    Percentages of rows have Wilson's interval; mean costs the normal one; the one for equal rows is
    that of a ratio of totals of clusters.
    """

    value: float
    lower: float
    upper: float
    alike: tuple[float, float]
    distinct: float

    @classmethod
    def from_outcome(cls, outcome: Outcome, value: FloatArray, among: BoolArray) -> "Figure":
        """Return the mean of `value` over the cells `among`."""
        n = int(outcome.rows[among].sum())
        mean = float((value * outcome.rows)[among].sum() / n)
        distinct = float((value * outcome.distinct)[among].sum() / outcome.distinct[among].sum())
        spread = Z * float(np.sqrt(((value - mean) ** 2 * outcome.squares)[among].sum())) / n
        if set(np.unique(value[among])) <= {0.0, 100.0}:
            lower, upper = wilson(mean / 100, n)
        else:
            half = Z * float(np.sqrt(((value - mean) ** 2 * outcome.rows)[among].sum())) / n
            lower, upper = mean - half, mean + half
        return cls(mean, lower, upper, (max(0.0, mean - spread), mean + spread), distinct)


def wilson(p: float, n: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share, in percent."""
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * float(np.sqrt(p * (1 - p) / n + (Z / (2 * n)) ** 2)) / (1 + Z * Z / n)
    return 100 * max(0.0, middle - half), 100 * min(1.0, middle + half)


def winner(kind: str = "five") -> Outcome:
    """Return the outcome of the contest's winner, of "five" classes or of "two".

    Its predictions are not public, so nothing is known of equal rows.
    """
    rows = WINNER
    if kind == "two":
        sides = np.add.reduceat(rows, [0, 1], axis=0)
        rows = np.add.reduceat(sides, [0, 1], axis=1)
    return Outcome(rows, rows, rows)
