r"""What the studies of prior knowledge share: the tables, and differences with their intervals.

Of two methods on the same splits, averaged over some sizes:

- *BCR*: the mean over splits with the corrected resampled interval (Nadeau and Bengio, 2003);
- *Kuncheva's index* (KI), a mean over pairs of splits, with the interval of the jackknife over
  splits (Arvesen, 1969): :math:`\hat d \pm t_{K-1} \sqrt{\frac{K-1}{K} \sum_i (\hat d_{(i)} -
  \bar d)^2}`, where :math:`\hat d_{(i)}` is what is left without split i. It tells how far more
  splits of this table would move the difference, nothing about another table;
- the *geometric mean* of KI and of the mean BCR, the same.

Values of ten outer splits, or of ten random priors, have Student's interval over those ten.
"""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import stats

from featly.measures.multi_criteria import stability_performance
from featly.measures.stability import kuncheva_curve
from featly.measures.statistics import corrected_resampled_t
from featly.study import Dataset, Finding, Results
from featly.study.prior_report import stability_without_each
from featly.study.store import ALL_ROWS

FOLDER = Path(os.environ.get("FEATLY_DATA", "../shared/data"))
FILES = {
    "DLBCL": "dlbcl_shipp",
    "leukemia": "leukemia_golub",
    "prostate": "prostate_singh_6033",
    "colon": "colon_alon",
}
MARKERS = {
    "DLBCL": {"TR": "X01060_at", "LDHA": "X02152_at"},
    "leukemia": {"CD11c": "M81695_s_at", "CD33": "M23197_at", "MB-1": "U05259_rna1_at"},
}
WEIGHT = 10.0
POWERS = [1 << k for k in range(10)]
SIZES = sorted([*POWERS, 30])
VERY_SMALL = [1, 2, 4, 8]  # "very small signatures (<= 8 genes)"
SMALL = [1, 2, 4, 8, 16, 32, 64]  # "64 or fewer genes"
PS, PLAIN, RFE, SN, RANDOM = "PS-l2-AROM", "l2-AROM", "RFE", "S/N", "RANDOM"
DRAWS = 10  # of random genes
WEIGHTS = (2, 5, 20, 50, 100)  # beside 10

Floats = npt.NDArray[np.float64]


# ---- data ----------------------------------------------------------------------------------------
def frame_of(name: str) -> pl.DataFrame:
    """A table of the paper, with its column `class`."""
    return pl.read_parquet(FOLDER / f"{FILES[name]}.parquet").drop("split", strict=False)


def with_markers(names: Sequence[str] = tuple(MARKERS)) -> dict[str, Dataset]:
    """Tables whose clinical markers are favoured by 10."""
    return {
        name: Dataset.of(
            frame_of(name),
            "class",
            name=name,
            schema={"prior": dict.fromkeys(MARKERS[name].values(), WEIGHT)},
        )
        for name in names
    }


def random_names() -> list[str]:
    """Of the ten draws."""
    return [f"{RANDOM} {draw}" for draw in range(1, DRAWS + 1)]


def weight_name(weight: float) -> str:
    """Of PS-l2-AROM with that weight."""
    return PS if weight == WEIGHT else f"{PS}, {weight:g}"


# ---- what a method did on the splits of a table --------------------------------------------------
@dataclass(frozen=True, eq=False)
class Runs:
    """Signatures and rates of one method on the splits of one table."""

    orders: npt.NDArray[np.int64]  # splits x columns, best first
    rates: Floats  # splits x sizes
    sizes: tuple[int, ...]
    n_features: int
    parts: tuple[float, float]  # rows to train and to test

    def at(self, sizes: Sequence[int]) -> list[int]:
        """Where sizes are."""
        return [self.sizes.index(size) for size in sizes]

    @functools.cached_property
    def stability(self) -> Floats:
        """Kuncheva's index at every size."""
        return np.asarray(kuncheva_curve(self.orders, np.array(self.sizes), self.n_features))

    @functools.cached_property
    def stability_without(self) -> Floats:
        """The same without each of the splits: splits x sizes."""
        columns = [
            stability_without_each(list(self.orders[:, :size]), self.n_features)
            for size in self.sizes
        ]
        return np.column_stack(columns)

    @functools.cached_property
    def rate(self) -> Floats:
        """Mean BCR at every size."""
        return self.rates.mean(axis=0)

    @functools.cached_property
    def both(self) -> Floats:
        """Geometric mean of the two at every size."""
        return np.asarray(stability_performance(self.stability, self.rate))

    @functools.cached_property
    def both_without(self) -> Floats:
        """The same without each of the splits."""
        others = (self.rates.sum(axis=0) - self.rates) / (len(self.rates) - 1)
        return np.asarray(stability_performance(self.stability_without, others))


@functools.lru_cache(maxsize=512)  # many claims ask for the same
def runs(results: Results, dataset: str, method: str) -> Runs:
    """What a method did on a table; all splits must have worked."""
    here = (
        (pl.col("dataset") == dataset)
        & (pl.col("method") == method)
        & (pl.col("split") != ALL_ROWS)
    )
    fits = results.rankings.filter(here).sort("split")
    rows = results.rows.filter(here).sort("split", "size")
    sizes = rows["size"].unique().sort().to_list()
    orders = fits["order"].list.head(sizes[-1]).explode(empty_as_null=False).to_numpy()
    return Runs(
        orders=orders.reshape(fits.height, sizes[-1]).astype(np.int64),
        rates=rows["bcr"].to_numpy().reshape(fits.height, len(sizes)),
        sizes=tuple(sizes),
        n_features=results.about["datasets"][dataset]["columns"],
        parts=(float(fits["n_train"].mean()), float(fits["n_test"].mean())),  # type: ignore[arg-type]
    )


# ---- differences ---------------------------------------------------------------------------------
@dataclass(frozen=True)
class Gain:
    """A difference with its 95% interval."""

    mean: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ({self.lower:+.3f} to {self.upper:+.3f})"

    @property
    def above(self) -> bool:
        """Whether it is a gain."""
        return self.lower > 0

    @property
    def below(self) -> bool:
        """Whether it is a loss."""
        return self.upper < 0

    @property
    def nothing(self) -> bool:
        """Whether it cannot be told from 0."""
        return self.lower <= 0 <= self.upper

    def found(self, holds: bool, why: str) -> Finding:
        """This difference as what was found about a claim."""
        return Finding(holds, why, self.mean, self.lower, self.upper)

    def less(self, other: "Gain") -> "Gain":
        """The difference to that of another table, which is independent of this one."""
        half = float(np.hypot(self.upper - self.mean, other.upper - other.mean))
        mean = self.mean - other.mean
        return Gain(mean, mean - half, mean + half)


def rate_gain(one: Runs, other: Runs, sizes: Sequence[int]) -> Gain:
    """Of the BCR, mean over sizes, with the corrected resampled interval."""
    return _of_splits(
        one.rates[:, one.at(sizes)].mean(axis=1) - other.rates[:, other.at(sizes)].mean(axis=1),
        one.parts,
    )


def mean_rate_gain(some: Sequence[Runs], other: Runs, sizes: Sequence[int]) -> Gain:
    """The same of several methods, whose rates are averaged in every split."""
    rates = np.mean([one.rates[:, one.at(sizes)].mean(axis=1) for one in some], axis=0)
    return _of_splits(rates - other.rates[:, other.at(sizes)].mean(axis=1), other.parts)


def stability_gain(one: Runs, other: Runs, sizes: Sequence[int]) -> Gain:
    """Of Kuncheva's index, mean over sizes, with the interval of the jackknife."""
    return jackknife(
        float((one.stability[one.at(sizes)] - other.stability[other.at(sizes)]).mean()),
        (one.stability_without[:, one.at(sizes)] - other.stability_without[:, other.at(sizes)])
        .mean(axis=1),
    )  # fmt: skip


def both_gain(one: Runs, other: Runs, sizes: Sequence[int]) -> Gain:
    """Of the geometric mean of Kuncheva's index and BCR, mean over sizes, by the jackknife."""
    return jackknife(
        float((one.both[one.at(sizes)] - other.both[other.at(sizes)]).mean()),
        (one.both_without[:, one.at(sizes)] - other.both_without[:, other.at(sizes)]).mean(axis=1),
    )


def stability_drop(one: Runs, above: Sequence[int], below: Sequence[int]) -> Gain:
    """How much more stable a method is at some sizes than at others."""
    high, low = one.at(above), one.at(below)
    return jackknife(
        float(one.stability[high].mean() - one.stability[low].mean()),
        one.stability_without[:, high].mean(axis=1) - one.stability_without[:, low].mean(axis=1),
    )


def jackknife(value: float, without_each: Floats) -> Gain:
    """A figure of all splits, and its interval from what is left without each of them."""
    n = len(without_each)
    error = np.sqrt((n - 1) / n * ((without_each - without_each.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.975, n - 1) * error)
    return Gain(value, value - half, value + half)


def of_shares(values: npt.ArrayLike, part: float) -> Gain:
    """A mean over random parts of one table, of which each leaves out a share of the rows."""
    return _of_splits(values, (1 - part, part))


def _of_splits(values: npt.ArrayLike, parts: tuple[float, float]) -> Gain:
    test = corrected_resampled_t(values, *parts)
    return Gain(test.mean, test.lower, test.upper)


# ---- to be shown ---------------------------------------------------------------------------------
def by_size(sizes: Sequence[int], values: npt.ArrayLike) -> str:
    """Values in words: ``1: +0.412, 2: +0.398``."""
    found = np.asarray(values, dtype=np.float64)
    return ", ".join(f"{size}: {value:+.3f}" for size, value in zip(sizes, found, strict=True))


def line(some: Sequence[Runs]) -> dict[str, Any]:
    """What a figure is drawn from, averaged over draws."""
    return {
        "size": list(some[0].sizes),
        "kuncheva": _rounded([one.stability for one in some]),
        "bcr": _rounded([one.rate for one in some]),
        "geometric_mean": _rounded([one.both for one in some]),
    }


def _rounded(values: Sequence[Floats]) -> list[float]:
    return np.mean(values, axis=0).round(5).tolist()


def in_numbers(title: str, lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A table of Kuncheva's index and BCR by method and size."""
    sizes = next(iter(lines.values()))["size"]
    rows = [
        [name, *(f"{k:.2f} / {b:.3f}" for k, b in zip(one["kuncheva"], one["bcr"], strict=True))]
        for name, one in lines.items()
    ]
    return {"title": title, "head": ["KI / BCR", *map(str, sizes)], "rows": rows}


def gains_by_size(what: str, gains: dict[str, list[Gain]]) -> dict[str, Any]:
    """A table of what PS gained over l2-AROM, with intervals."""
    rows = [[name, *map(str, found)] for name, found in gains.items()]
    head = [f"{what} gained", *map(str, SIZES)]
    return {"title": f"{what} of PS-l2-AROM less that of l2-AROM", "head": head, "rows": rows}


def seconds(results: Results) -> dict[str, dict[str, float]]:
    """Of all rankings and all predictions of a method on a table, one thread each."""
    fits = results.rankings.group_by("dataset", "method", maintain_order=True).agg(
        pl.col("select_seconds").sum()
    )
    later = results.rows.group_by("dataset", "method").agg(pl.col("seconds").sum())
    both = fits.join(later, on=["dataset", "method"], maintain_order="left")
    found: dict[str, dict[str, float]] = {}
    for dataset, method, ranking, predicting in both.rows():
        found.setdefault(dataset, {})[method] = round(ranking + predicting, 2)
    return found
