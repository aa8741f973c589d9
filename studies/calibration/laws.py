"""Laws that tables are drawn from, so that the truth about a model is known.

A law draws any number of rows. Of a **made** law the class of a row is given and its columns follow
from that: normal columns that are independent, autoregressive, in blocks, or correlated as the
genes of a real table are; some columns are moved by `effect` standard deviations in a class. A
**mixed** law has numbers and categories, with missing values. Of a **half-made** law the columns
are rows of a real table, and only the outcome is made: its log-odds are a sum over five columns.

The rate of a model is counted on new rows: 4,000 of a made law, as many of each class; of a
half-made one the rows of the real table that are not in the drawn one, each weighted by the known
chances of its classes, so that no chance of labels is left.
"""

import functools
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

__all__ = [
    "ASIDE",
    "LAWS",
    "TOGETHER",
    "HalfMade",
    "Law",
    "Made",
    "Mixed",
    "Repeated",
    "Together",
    "Twice",
    "available",
]

FOLDER = Path(os.environ.get("FEATLY_DATA", "../shared/data"))
NEW_ROWS = 4000
BLOCK_ROWS = 1000  # of new rows that are in memory at a time
BLOCK = 20  # columns that share one hidden cause
MOST_REAL_ROWS = 6000
LEVELS = 3
Block = tuple[Any, np.ndarray]  # columns of new rows, and the chances of their classes


@dataclass(frozen=True)
class Law:
    """A law of tables.

    Attributes
    ----------
    name : str
    signal : {"noise", "weak", "mid", "strong", "together"}
        How much the columns tell about the classes; "together" is nothing one by one.
    counts : tuple of int
        Rows of each class in a table; of a half-made law their sum counts, and the shares are
        what is expected.
    n_columns : int
    """

    name: str
    signal: str
    counts: tuple[int, ...]
    n_columns: int

    @property
    def is_noise(self) -> bool:
        """Return whether no column says anything about the classes."""
        return self.signal == "noise"

    def table(self, number: int) -> tuple[Any, np.ndarray]:
        """Draw the columns and the classes of a table; its number is its seed."""
        rng = self.generator(number)
        codes = rng.permutation(np.repeat(np.arange(len(self.counts)), self.counts))
        return self.columns(codes, rng), codes

    def row_groups(self, number: int) -> np.ndarray | None:
        """Return which rows of a table belong together; None where each is by itself."""
        return None

    def new_rows(self, number: int) -> Iterator[Block]:
        """Yield rows by blocks that are not in the table of that number, as many of each class."""
        rng, n_classes = self.generator(number, "new rows"), len(self.counts)
        for _ in range(NEW_ROWS // BLOCK_ROWS):
            codes = np.arange(BLOCK_ROWS) % n_classes
            yield self.columns(codes, rng), np.eye(n_classes)[codes]

    def columns(self, codes: np.ndarray, rng: np.random.Generator) -> Any:
        """Draw the columns of rows of given classes."""
        raise NotImplementedError

    def generator(self, number: int, purpose: str = "table") -> np.random.Generator:
        """Return the random numbers of one table, for one purpose."""
        digest = hashlib.sha256(f"{self.name}; {purpose}".encode()).digest()
        return np.random.default_rng([int.from_bytes(digest[:8], "big"), number])

    def fingerprint(self) -> str:
        """Return the hash of the first table, by which two runs are known to draw the same."""
        X, y = self.table(0)
        if isinstance(X, pl.DataFrame):
            cells = X.write_csv(float_precision=10).encode()
        else:
            cells = np.ascontiguousarray(X.round(10)).tobytes()
        return hashlib.sha256(cells + np.asarray(y, np.int64).tobytes()).hexdigest()[:12]


@dataclass(frozen=True)
class Made(Law):
    """Normal columns, of which some are moved in a class.

    Attributes
    ----------
    n_informative : int
        Columns that are moved: of two classes in the second, of more in one class each.
    effect : float
        How far, in standard deviations.
    structure : str
        "independent", "ar" (neighbours correlated by `correlation`), "blocks" (of 20 columns,
        correlated by `correlation`), "heavy" (independent, Student's t on 3 degrees of freedom), or
        the name of a real table, the correlations of which the columns have.
    correlation : float
    """

    n_informative: int = 0
    effect: float = 0.0
    structure: str = "independent"
    correlation: float = 0.6

    def columns(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw noise, and move the informative columns."""
        return self._noise(len(codes), rng) + self._noise_free(codes)

    def _noise_free(self, codes: np.ndarray) -> np.ndarray:
        """Return what the classes move the columns of each row by."""
        moved = np.zeros((len(codes), self.n_columns))
        places = np.linspace(0, self.n_columns - 1, self.n_informative).round().astype(int)
        n_classes = len(self.counts)
        home = np.ones(len(places), int) if n_classes == 2 else np.arange(len(places)) % n_classes
        moved[:, places] = self.effect * (codes[:, None] == home)
        return moved

    def _noise(self, n_rows: int, rng: np.random.Generator) -> np.ndarray:
        shape, r = (n_rows, self.n_columns), self.correlation
        if self.structure == "heavy":
            return rng.standard_t(3, shape) / 3**0.5
        e = rng.normal(size=shape)
        if self.structure == "independent":
            return e
        if self.structure == "ar":
            e[:, 1:] *= (1 - r * r) ** 0.5
            return np.asarray(lfilter([1.0], [1.0, -r], e, axis=1))
        if self.structure == "blocks":
            n_blocks = -(-self.n_columns // BLOCK)
            shared = np.repeat(rng.normal(size=(n_rows, n_blocks)), BLOCK, axis=1)
            return np.sqrt(r) * shared[:, : self.n_columns] + np.sqrt(1 - r) * e
        loadings = _standard_scores(self.structure, self.n_columns)
        shared = rng.normal(size=(n_rows, len(loadings))) @ loadings / len(loadings) ** 0.5
        return np.asarray(np.sqrt(0.8) * shared + np.sqrt(0.2) * e)


@dataclass(frozen=True)
class Repeated(Made):
    """Two, three or four rows of every patient; `counts` are patients, and new rows are new ones.

    Attributes
    ----------
    share : float
        How much of the variance of a column is that between patients.
    """

    share: float = 0.7

    def row_groups(self, number: int) -> np.ndarray:
        """Return the patient of every row."""
        n_patients = sum(self.counts)
        return np.repeat(np.arange(n_patients), 2 + np.arange(n_patients) % 3)

    def table(self, number: int) -> tuple[Any, np.ndarray]:
        """Draw patients and their classes, then the rows of each."""
        rng, patient = self.generator(number), self.row_groups(number)
        codes = rng.permutation(np.repeat(np.arange(len(self.counts)), self.counts))
        between = self.columns(codes, rng)
        centre = between - self._noise_free(codes)
        within = rng.normal(size=(len(patient), self.n_columns))
        noise = np.sqrt(self.share) * centre[patient] + np.sqrt(1 - self.share) * within
        return noise + self._noise_free(codes[patient]), codes[patient]


@dataclass(frozen=True)
class Together(Law):
    """Two of the columns tell the class by the sign of their product, and none by itself.

    Attributes
    ----------
    flipped : float
        Share of the rows whose class is the other one.
    """

    flipped: float = 0.1

    def columns(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw noise, and give the second column the sign that the class asks for."""
        X = rng.normal(size=(len(codes), self.n_columns))
        sign = np.where((codes == 1) ^ (rng.random(len(codes)) < self.flipped), 1.0, -1.0)
        X[:, 1] = np.abs(X[:, 1]) * np.sign(X[:, 0]) * sign
        return X


@dataclass(frozen=True)
class Twice(Law):
    """Two draws of the columns of a made law side by side: equal halves by construction."""

    law: Made | None = None

    @classmethod
    def from_law(cls, law: Made) -> "Twice":
        """Return the law of both halves, under the name of the one."""
        return cls(law.name, law.signal, law.counts, 2 * law.n_columns, law)

    def generator(self, number: int, purpose: str = "table") -> np.random.Generator:
        """Return random numbers of its own, so that no half is a table of the one law."""
        return super().generator(number, f"twice, {purpose}")

    def columns(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the first half and the second, given the classes independently."""
        assert self.law is not None
        return np.hstack([self.law.columns(codes, rng), self.law.columns(codes, rng)])


@dataclass(frozen=True)
class Mixed(Law):
    """Numbers, skewed numbers and categories in turn, with missing values at random.

    Attributes
    ----------
    n_informative : int
        The first so many columns tell: numbers are moved by `effect` in the second class,
        categories have other shares there.
    effect : float
    missing : float
        Share of the cells.
    """

    n_informative: int = 0
    effect: float = 0.0
    missing: float = 0.1

    def columns(self, codes: np.ndarray, rng: np.random.Generator) -> pl.DataFrame:
        """Draw a frame column by column."""
        parts = {}
        for column in range(self.n_columns):
            values = rng.normal(size=len(codes))
            if column < self.n_informative:
                values += self.effect * (codes == 1)
            gaps = rng.random(len(codes)) < self.missing
            name = f"c{column}"
            if column % 3 == 2:
                level = np.digitize(values, norm.ppf([1 / LEVELS, 2 / LEVELS]))
                series = pl.Series(name, np.array(["low", "middle", "high"])[level].tolist())
            else:
                series = pl.Series(name, np.exp(values) if column % 3 else values)
            parts[name] = series.scatter(np.flatnonzero(gaps), None)
        return pl.DataFrame(parts)


@dataclass(frozen=True)
class HalfMade(Law):
    """Rows of a real table; the outcome, two classes, follows from five of its columns.

    Attributes
    ----------
    file : str
        Name of the table.
    every : int
        One column in so many is taken.
    effect : float
        Standard deviation of the log-odds.
    """

    file: str = ""
    every: int = 1
    effect: float = 0.0

    def table(self, number: int) -> tuple[Any, np.ndarray]:
        """Draw rows without replacement, and their outcome."""
        X, chance = self._population()
        rng = self.generator(number)
        chosen = rng.permutation(len(chance))[: sum(self.counts)]
        while True:
            codes = (rng.random(len(chosen)) < chance[chosen]).astype(np.int64)
            if np.bincount(codes, minlength=2).min() >= min(self.counts) // 2:
                return X[chosen], codes

    def new_rows(self, number: int) -> Iterator[Block]:
        """Yield the rows that were not drawn for the table, with the chances of their classes."""
        X, chance = self._population()
        others = self.generator(number).permutation(len(chance))[sum(self.counts) :][:NEW_ROWS]
        for start in range(0, len(others), BLOCK_ROWS):
            rows = others[start : start + BLOCK_ROWS]
            yield X[rows], np.column_stack([1 - chance[rows], chance[rows]])

    def _population(self) -> tuple[Any, np.ndarray]:
        X = _real_columns(self.file, self.every)
        scores = _normal_scores(X)
        weights = np.random.default_rng(len(self.file)).permutation(scores.shape[1])[:5]
        sign = np.where(np.arange(len(weights)) % 2, -1.0, 1.0)
        merit = scores[:, weights] @ sign
        share = self.counts[1] / sum(self.counts)
        log_odds = self.effect * merit / merit.std() + np.log(share / (1 - share))
        return X, 1 / (1 + np.exp(-log_odds))


# ---- real tables ---------------------------------------------------------------------------------
@functools.lru_cache(maxsize=4)
def _real_columns(file: str, every: int) -> Any:
    """Return rows of a real table: an array, or a frame if it has categories."""
    frame = pl.read_parquet(FOLDER / f"{file}.parquet")
    frame = frame.drop("class", "split", "stratum", strict=False)
    if frame.height > MOST_REAL_ROWS:
        frame = frame.sample(MOST_REAL_ROWS * 20, seed=0).unique(maintain_order=True)
        frame = frame.head(MOST_REAL_ROWS)
    # a column of which one value fills nine rows of ten is constant in most small tables
    keeps = [c for c in frame.columns if _commonest(frame[c]) < 0.9 * frame.height]
    frame = frame.select(keeps[::every])
    numeric = all(dtype.is_numeric() for dtype in frame.dtypes)
    return frame.to_numpy().astype(np.float64) if numeric else frame


def _commonest(column: pl.Series) -> int:
    return int(column.value_counts(name="rows of a value")["rows of a value"].max())  # type: ignore[arg-type]


def _normal_scores(X: Any) -> np.ndarray:
    """Return the normal scores of the columns of numbers, so that no outlier makes the outcome."""
    if isinstance(X, pl.DataFrame):
        X = X.select(pl.selectors.numeric()).to_numpy().astype(np.float64)
    return np.asarray(norm.ppf((rankdata(X, axis=0) - 0.5) / len(X)))


@functools.lru_cache(maxsize=2)
def _standard_scores(file: str, n_columns: int) -> np.ndarray:
    """Return the first columns of a real table, standardised: rows x columns."""
    frame = pl.read_parquet(FOLDER / f"{file}.parquet").drop("class", "split", strict=False)
    X = frame.to_numpy().astype(np.float64)[:, :n_columns]
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def _files(law: Law) -> list[str]:
    if isinstance(law, HalfMade):
        return [law.file]
    structure = getattr(law, "structure", "independent")
    return [] if structure in ("independent", "ar", "blocks", "heavy") else [structure]


def available(laws: tuple[Law, ...]) -> list[Law]:
    """Return the laws of which the real tables, if any, are here."""
    return [law for law in laws if all((FOLDER / f"{f}.parquet").exists() for f in _files(law))]


LAWS: tuple[Law, ...] = (
    Made("noise 60 x 50", "noise", (30, 30), 50),
    Made("noise 100 x 500, 30%", "noise", (70, 30), 500),
    Made("noise 40 x 5000", "noise", (20, 20), 5000),
    Made("noise 200 x 200, ar", "noise", (100, 100), 200, structure="ar"),
    Made("noise 300 x 100, 10%", "noise", (270, 30), 100),
    Made("noise 90 x 60, 3 classes", "noise", (30, 30, 30), 60),
    Mixed("noise 120 x 30, mixed", "noise", (70, 50), 30),
    HalfMade("noise 150, digits", "noise", (75, 75), 216, file="mfeat", every=3),
    Made("weak 60 x 50", "weak", (30, 30), 50, n_informative=3, effect=0.7),
    Made("weak 100 x 100, 25%, blocks", "weak", (75, 25), 100, n_informative=5, effect=0.7,
         structure="blocks", correlation=0.5),
    Made("weak 400 x 30, 30%", "weak", (280, 120), 30, n_informative=4, effect=0.35),
    HalfMade("weak 150, digits", "weak", (90, 60), 216, file="mfeat", every=3, effect=1.0),
    Made("mid 200 x 200, ar", "mid", (100, 100), 200, n_informative=5, effect=0.5,
         structure="ar"),
    Made("mid 120 x 100, 4 classes", "mid", (30, 30, 30, 30), 100, n_informative=8, effect=1.0),
    Made("mid 80 x 200, 12 in a class", "mid", (68, 12), 200, n_informative=5, effect=1.2),
    Made("mid 200 x 100, 10%", "mid", (180, 20), 100, n_informative=5, effect=0.8),
    Made("mid 500 x 1000", "mid", (250, 250), 1000, n_informative=10, effect=0.3),
    Mixed("mid 150 x 30, mixed", "mid", (90, 60), 30, n_informative=6, effect=0.7),
    HalfMade("mid 200, connections", "mid", (120, 80), 20, file="kddcup99", effect=2.0),
    Made("strong 40 x 500", "strong", (20, 20), 500, n_informative=10, effect=1.0),
    Made("strong 100 x 50", "strong", (50, 50), 50, n_informative=5, effect=1.5),
    Made("strong 62 x 1000, genes", "strong", (40, 22), 1000, n_informative=20, effect=1.0,
         structure="colon_alon"),
    Made("noise 40 x 50, 4 in a class", "noise", (36, 4), 50),
    Made("mid 40 x 50, 4 in a class", "mid", (36, 4), 50, n_informative=5, effect=1.2),
    Repeated("noise 60 patients, 180 x 50", "noise", (30, 30), 50),
    Repeated("mid 60 patients, 180 x 50", "mid", (35, 25), 50, n_informative=5, effect=0.8),
)  # fmt: skip

TOGETHER = Together("200 x 30, two together", "together", (100, 100), 30)

# Run once, when everything else is right: nothing was tuned on them.
ASIDE: tuple[Law, ...] = (
    Made("noise aside", "noise", (60, 40, 20), 300, structure="heavy"),
    Made("mid aside", "mid", (56, 24), 800, n_informative=12, effect=0.8,
         structure="su_multitissue"),
)  # fmt: skip
