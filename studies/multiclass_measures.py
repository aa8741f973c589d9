"""What the studies of many classes share: the made tables, and differences with their intervals.

A made table is drawn anew for every run, so runs are independent and a difference of two methods,
paired over runs, has Student's interval. Random splits of one real table share rows: there the
interval is that of Nadeau and Bengio (2003). Errors are averaged over the sizes at which rankings
were evaluated unless sizes are named; averages over tables, which are independent, have errors that
add in squares.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from featly.datasets import make_artificial
from featly.measures.recovery import PositionStatistics, position_statistics
from featly.measures.statistics import corrected_resampled_t, plain_interval
from featly.study import Dataset, Results
from featly.study.dataset import family_of
from studies.multiclass_lists import told
from studies.prior_measures import Gain

NOISE = 500  # irrelevant columns of every made table
MADE = {
    "Artificial-1-3C": (1, 3),
    "Artificial-1-4C": (1, 4),
    "Artificial-1-5C": (1, 5),
    "Artificial-1-8C": (1, 8),
    "Artificial-1-16C": (1, 16),
    "Artificial-2-8C": (2, 8),
    "Artificial-3-3C": (3, 3),
    "Artificial-3-8C": (3, 8),
    "Artificial-3-16C": (3, 16),
}  # table 3 of the paper: problem and number of classes
ONE, TWO, THREE = "Artificial-1-8C", "Artificial-2-8C", "Artificial-3-8C"
TIERS = {"1 to 5": range(5), "6 to 10": range(5, 10), "11 to 25": range(10, 25)}
MOST = 80  # columns at which rankings of a made table are evaluated
STEP = 1000  # between the seeds of two made tables

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


# ---- data ----------------------------------------------------------------------------------------
def made(
    names: Sequence[str],
    draws: int,
    rows: Callable[[int], int],
    fewer: Mapping[str, int] | None = None,
) -> dict[str, Dataset]:
    """Draws of made tables, `fewer` of some, columns shuffled; `rows` of the number of classes."""
    found = {}
    for draw in range(draws):
        for name in names:
            if draw >= (fewer or {}).get(name, draws):
                continue
            problem, n_classes = MADE[name]
            seed = seed_of(name, draw)
            table = make_artificial(
                problem, n_classes=n_classes, n_rows=rows(n_classes), random_state=seed
            )
            key = f"{name}/{draw}"
            found[key] = Dataset.of(table.shuffle_columns(seed), name=key)
    return found


def seed_of(name: str, draw: int) -> int:
    """Of a draw; no two tables share one."""
    return STEP * list(MADE).index(name) + draw


def made_sizes(n_features: int) -> list[int]:
    """Where rankings of a made table are evaluated: up to twice the relevant columns, or 80."""
    relevant = n_features - NOISE
    sizes = {2, 5, 10, 20, 40, relevant, 2 * relevant}
    return sorted(size for size in sizes if size <= min(2 * relevant, MOST))


# ---- what a method did ---------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Runs:
    """Rankings and errors of one method on the draws of a made table, or splits of a real one."""

    orders: Ints  # runs x columns, best first, columns by the number in their name where made
    errors: Floats  # runs x sizes
    sizes: tuple[int, ...]
    figures: tuple[dict[str, float], ...] = ()  # what the fits told: ties, C, seconds
    parts: tuple[float, float] | None = None  # rows to train and to test, where splits share rows

    def error(self, sizes: Sequence[int] | None = None) -> Floats:
        """Of every run, averaged over sizes."""
        if sizes is None:
            return self.errors.mean(axis=1)
        return self.errors[:, [self.sizes.index(size) for size in sizes]].mean(axis=1)

    def positions(self, columns: Sequence[int]) -> Ints:
        """Runs x columns, from 1."""
        return np.argsort(self.orders, axis=1)[:, list(columns)] + 1

    def statistics(self, groups: Mapping[str, Sequence[int]]) -> dict[str, PositionStatistics]:
        """Best, quartiles, mean and worst position, over all runs."""
        return position_statistics(self.orders, groups)

    def figure(self, name: str) -> Floats:
        """A figure that every fit told."""
        return np.array([one[name] for one in self.figures])


@functools.lru_cache(maxsize=2048)  # many claims ask for the same
def runs(results: Results, table: str, method: str) -> Runs:
    """What a method did on a table; every run must have worked."""
    names = [name for name in results.about["datasets"] if family_of(name) == table]
    here = pl.col("dataset").is_in(names) & (pl.col("method") == method)
    number = pl.col("dataset").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    fits = results.rankings.filter(here).sort(number, "split")
    rows = results.rows.filter(here).sort(number, "split", "size")
    sizes = rows["size"].unique().sort().to_list()
    errors = results_error(rows).reshape(fits.height, len(sizes))
    drawn = names != [table]
    orders = np.array(fits["order"].to_list(), dtype=np.int64)
    if drawn:
        orders = np.array(
            [
                numbers(results.about["datasets"][name]["names"])[order]
                for name, order in zip(fits["dataset"], orders, strict=True)
            ]
        )
    parts = float(fits["n_train"].mean()), float(fits["n_test"].mean())  # type: ignore[arg-type]
    figures = tuple(told(notes) for notes in fits["notes"])
    return Runs(orders, errors, tuple(sizes), figures, None if drawn else parts)


def results_error(rows: pl.DataFrame) -> Floats:
    """Share of the test rows that were predicted wrongly, from the confusion matrices."""
    found = []
    for flat in rows["confusion"]:
        matrix = flat.to_numpy()
        side = round(len(matrix) ** 0.5)
        found.append(1 - matrix[:: side + 1].sum() / matrix.sum())
    return np.array(found)


def numbers(names: Sequence[str]) -> Ints:
    """f12 is column 11 of a made table, wherever it stands."""
    return np.array([int(name[1:]) - 1 for name in names])


def tables_of(results: Results) -> list[str]:
    """The tables of a study, each once."""
    return list(dict.fromkeys(family_of(name) for name in results.about["datasets"]))


def relevant_of(table: str) -> int:
    """How many columns matter in a made table."""
    problem, n_classes = MADE[table]
    return 25 if problem == 2 else 5 * n_classes


def noise_of(table: str) -> range:
    """The columns that do not."""
    return range(relevant_of(table), relevant_of(table) + NOISE)


# ---- differences ---------------------------------------------------------------------------------
def of_runs(values: npt.ArrayLike, parts: tuple[float, float] | None) -> Gain:
    """A mean over runs, with its interval."""
    found = np.asarray(values, dtype=np.float64).round(12)  # 0 where only rounding is left
    if parts is not None:
        test = corrected_resampled_t(found, *parts)
        return Gain(test.mean, test.lower, test.upper)
    return Gain(float(found.mean()), *plain_interval(found))


def error_gain(one: Runs, other: Runs, sizes: Sequence[int] | None = None) -> Gain:
    """Error of one less that of the other, paired over runs."""
    return of_runs(one.error(sizes) - other.error(sizes), one.parts)


def position_gain(one: Runs, other: Runs, columns: Sequence[int], quartile: bool = False) -> Gain:
    """Mean position of columns, or its third quartile, of one less that of the other."""
    both = []
    for some in (one, other):
        positions = some.positions(columns)
        both.append(np.quantile(positions, 0.75, axis=1) if quartile else positions.mean(axis=1))
    return of_runs(both[0] - both[1], one.parts)


def first_noise_gain(one: Runs, other: Runs, noise: Sequence[int]) -> Gain:
    """Where the first irrelevant column stands in the rankings of one, less that of the other."""
    firsts = [some.positions(noise).min(axis=1) for some in (one, other)]
    return of_runs(firsts[0] - firsts[1], one.parts)


def together(gains: Sequence[Gain]) -> Gain:
    """The average of independent differences."""
    mean = float(np.mean([gain.mean for gain in gains]))
    half = float(np.sqrt(sum((gain.upper - gain.mean) ** 2 for gain in gains))) / len(gains)
    return Gain(mean, mean - half, mean + half)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> Gain:
    """Slope of log seconds on log size by least squares, with Student's interval."""
    from scipy import stats

    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(seconds, float))
    line = stats.linregress(x, y)
    half = float(stats.t.ppf(0.975, len(x) - 2) * line.stderr)
    return Gain(float(line.slope), float(line.slope) - half, float(line.slope) + half)


# ---- to be shown ---------------------------------------------------------------------------------
def line(one: Runs) -> dict[str, Any]:
    """What a curve is drawn from: mean error and its standard deviation over runs."""
    spread = one.errors.std(axis=0, ddof=1) if len(one.errors) > 1 else np.zeros(len(one.sizes))
    return {
        "size": list(one.sizes),
        "error": one.errors.mean(axis=0).round(4).tolist(),
        "sd": spread.round(4).tolist(),
    }


def lines(results: Results, table: str, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The same of several methods."""
    return {method: line(runs(results, table, method)) for method in methods}


def error_table(title: str, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Mean error in percent, by method and size."""
    sizes = next(iter(found.values()))["size"]
    rows = [
        [name, *(f"{100 * e:.1f} ± {100 * s:.1f}" for e, s in zip(one["error"], one["sd"],
                                                                   strict=True))]
        for name, one in found.items()
    ]  # fmt: skip
    return {"title": title, "head": ["error in %", *map(str, sizes)], "rows": rows}


def position_table(
    results: Results, title: str, table: str, methods: Sequence[str],
    groups: Mapping[str, Sequence[int]], printed: Mapping[str, Sequence[str]],
) -> dict[str, Any]:  # fmt: skip
    """Tables 4 to 6: where groups of columns stand; `printed` rows beside ours."""
    found = {method: runs(results, table, method).statistics(groups) for method in methods}
    rows = []
    for group in groups:
        every = [found[method][group] for method in methods]
        for what in ("best", "first_quartile", "mean", "third_quartile", "worst"):
            digits = 1 if what == "mean" else 0
            values = [f"{getattr(one, what):.{digits}f}" for one in every]
            name = f"{group}, {what.replace('_', ' ')}"
            rows.append([name, *values])
            if name in printed:
                rows.append([f"{name}, printed", *printed[name]])
    return {"title": title, "head": ["position", *methods], "rows": rows}
