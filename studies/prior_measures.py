r"""Tables, and differences with intervals, that the studies of prior knowledge share.

Of two methods on the same splits, averaged over some sizes:

- *BCR*: the mean over splits with the corrected resampled interval (Nadeau and Bengio, 2003);
- *Kuncheva's index* (KI), a mean over pairs of splits, with the interval of the jackknife over
  splits (Arvesen, 1969): :math:`\hat d \pm t_{K-1} \sqrt{\frac{K-1}{K} \sum_i (\hat d_{(i)} -
  \bar d)^2}`, where :math:`\hat d_{(i)}` is the difference without split i. It covers
  more splits of this table, not another table;
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

from featly.basics.typing import FloatArray, IntArray
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
    """Return the names of the ten draws."""
    return [f"{RANDOM} {draw}" for draw in range(1, DRAWS + 1)]


def weight_name(weight: float) -> str:
    """Return the name of PS-l2-AROM with that weight."""
    return PS if weight == WEIGHT else f"{PS}, {weight:g}"


# ---- runs of a method on the splits of a table ---------------------------------------------------
@dataclass(frozen=True, eq=False)
class Runs:
    """Signatures and rates of one method on the splits of one table."""

    orders: IntArray  # splits x columns, best first
    rates: FloatArray  # splits x sizes
    sizes: tuple[int, ...]
    n_features: int
    parts: tuple[float, float]  # rows to train and to test

    def index_sizes(self, sizes: Sequence[int]) -> list[int]:
        """Return the positions of sizes."""
        return [self.sizes.index(size) for size in sizes]

    @functools.cached_property
    def stability(self) -> FloatArray:
        """Kuncheva's index at every size."""
        return np.asarray(kuncheva_curve(self.orders, np.array(self.sizes), self.n_features))

    @functools.cached_property
    def stability_without(self) -> FloatArray:
        """Kuncheva's index without each of the splits: splits x sizes."""
        columns = [
            stability_without_each(list(self.orders[:, :size]), self.n_features)
            for size in self.sizes
        ]
        return np.column_stack(columns)

    @functools.cached_property
    def rate(self) -> FloatArray:
        """Mean BCR at every size."""
        return self.rates.mean(axis=0)

    @functools.cached_property
    def both(self) -> FloatArray:
        """Geometric mean of stability and rate at every size."""
        return np.asarray(stability_performance(self.stability, self.rate))

    @functools.cached_property
    def both_without(self) -> FloatArray:
        """Geometric mean of stability and rate without each of the splits."""
        others = (self.rates.sum(axis=0) - self.rates) / (len(self.rates) - 1)
        return np.asarray(stability_performance(self.stability_without, others))


@functools.lru_cache(maxsize=512)  # many claims need the same
def runs(results: Results, dataset: str, method: str) -> Runs:
    """Return the runs of a method on a table; all splits must have worked."""
    is_fit = (
        (pl.col("dataset") == dataset)
        & (pl.col("method") == method)
        & (pl.col("split") != ALL_ROWS)
    )
    fits = results.rankings.filter(is_fit).sort("split")
    rows = results.rows.filter(is_fit).sort("split", "size")
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
    def is_positive(self) -> bool:
        """Return whether the whole interval is above 0."""
        return self.lower > 0

    @property
    def is_negative(self) -> bool:
        """Return whether the whole interval is below 0."""
        return self.upper < 0

    @property
    def is_null(self) -> bool:
        """Return whether the interval contains 0."""
        return self.lower <= 0 <= self.upper

    def as_finding(self, holds: bool, why: str) -> Finding:
        """Return this difference as the finding about a claim."""
        return Finding(holds, why, self.mean, self.lower, self.upper)

    def less(self, other: "Gain") -> "Gain":
        """Return the difference to that of another table, which is independent of this one."""
        half = float(np.hypot(self.upper - self.mean, other.upper - other.mean))
        mean = self.mean - other.mean
        return Gain(mean, mean - half, mean + half)


def rate_gain(first: Runs, second: Runs, sizes: Sequence[int]) -> Gain:
    """Return the difference of BCR, mean over sizes, with the corrected resampled interval."""
    return _split_gain(
        first.rates[:, first.index_sizes(sizes)].mean(axis=1)
        - second.rates[:, second.index_sizes(sizes)].mean(axis=1),
        first.parts,
    )


def mean_rate_gain(all_runs: Sequence[Runs], other: Runs, sizes: Sequence[int]) -> Gain:
    """Return the difference of BCR of several methods, averaged in every split."""
    rates = np.mean(
        [
            method_runs.rates[:, method_runs.index_sizes(sizes)].mean(axis=1)
            for method_runs in all_runs
        ],
        axis=0,
    )
    return _split_gain(rates - other.rates[:, other.index_sizes(sizes)].mean(axis=1), other.parts)


def stability_gain(first: Runs, second: Runs, sizes: Sequence[int]) -> Gain:
    """Return the difference of Kuncheva's index, mean over sizes, with the jackknife."""
    of_first, of_second = first.index_sizes(sizes), second.index_sizes(sizes)
    gains = first.stability[of_first] - second.stability[of_second]
    gains_without = first.stability_without[:, of_first] - second.stability_without[:, of_second]
    return jackknife(float(gains.mean()), gains_without.mean(axis=1))


def both_gain(first: Runs, second: Runs, sizes: Sequence[int]) -> Gain:
    """Return the difference of geometric means of stability and BCR, with the jackknife."""
    return jackknife(
        float(
            (first.both[first.index_sizes(sizes)] - second.both[second.index_sizes(sizes)]).mean()
        ),
        (
            first.both_without[:, first.index_sizes(sizes)]
            - second.both_without[:, second.index_sizes(sizes)]
        ).mean(axis=1),
    )


def stability_drop(method_runs: Runs, above: Sequence[int], below: Sequence[int]) -> Gain:
    """Return how much more stable a method is at some sizes than at others."""
    high, low = method_runs.index_sizes(above), method_runs.index_sizes(below)
    return jackknife(
        float(method_runs.stability[high].mean() - method_runs.stability[low].mean()),
        method_runs.stability_without[:, high].mean(axis=1)
        - method_runs.stability_without[:, low].mean(axis=1),
    )


def jackknife(value: float, without_each: FloatArray) -> Gain:
    """A figure of all splits, and its interval from the figures without each of them."""
    n = len(without_each)
    error = np.sqrt((n - 1) / n * ((without_each - without_each.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.975, n - 1) * error)
    return Gain(value, value - half, value + half)


def of_shares(values: npt.ArrayLike, part: float) -> Gain:
    """A mean over random parts of one table, of which each leaves out a share of the rows."""
    return _split_gain(values, (1 - part, part))


def _split_gain(values: npt.ArrayLike, parts: tuple[float, float]) -> Gain:
    test = corrected_resampled_t(values, *parts)
    return Gain(test.mean, test.lower, test.upper)


# ---- the page ------------------------------------------------------------------------------------
def by_size(sizes: Sequence[int], values: npt.ArrayLike) -> str:
    """Values in words: ``1: +0.412, 2: +0.398``."""
    array = np.asarray(values, dtype=np.float64)
    return ", ".join(f"{size}: {value:+.3f}" for size, value in zip(sizes, array, strict=True))


def line(all_runs: Sequence[Runs]) -> dict[str, Any]:
    """Return data of a figure, averaged over draws."""
    return {
        "size": list(all_runs[0].sizes),
        "kuncheva": _round_mean([method_runs.stability for method_runs in all_runs]),
        "bcr": _round_mean([method_runs.rate for method_runs in all_runs]),
        "geometric_mean": _round_mean([method_runs.both for method_runs in all_runs]),
    }


def _round_mean(values: Sequence[FloatArray]) -> list[float]:
    return np.mean(values, axis=0).round(5).tolist()


def in_numbers(title: str, lines: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A table of Kuncheva's index and BCR by method and size."""
    sizes = next(iter(lines.values()))["size"]
    rows = [
        [
            name,
            *(f"{k:.2f} / {b:.3f}" for k, b in zip(values["kuncheva"], values["bcr"], strict=True)),
        ]
        for name, values in lines.items()
    ]
    return {"title": title, "head": ["KI / BCR", *map(str, sizes)], "rows": rows}


def gains_by_size(label: str, gains: dict[str, list[Gain]]) -> dict[str, Any]:
    """A table of what PS gained over l2-AROM, with intervals."""
    rows = [[name, *map(str, size_gains)] for name, size_gains in gains.items()]
    head = [f"{label} gained", *map(str, SIZES)]
    return {"title": f"{label} of PS-l2-AROM less that of l2-AROM", "head": head, "rows": rows}


def seconds(results: Results) -> dict[str, dict[str, float]]:
    """Return seconds of all rankings and predictions of a method on a table, one thread each."""
    fits = results.rankings.group_by("dataset", "method", maintain_order=True).agg(
        pl.col("select_seconds").sum()
    )
    later = results.rows.group_by("dataset", "method").agg(pl.col("seconds").sum())
    joined = fits.join(later, on=["dataset", "method"], maintain_order="left")
    seconds_by_method: dict[str, dict[str, float]] = {}
    for dataset, method, ranking, predicting in joined.rows():
        seconds_by_method.setdefault(dataset, {})[method] = round(ranking + predicting, 2)
    return seconds_by_method
