"""Made tables, and differences with intervals, that the studies of many classes share.

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

from featly.basics.typing import FloatArray, IntArray
from featly.datasets import make_artificial
from featly.measures.recovery import PositionStatistics, position_statistics
from featly.measures.statistics import corrected_resampled_t, plain_interval
from featly.study import Dataset, Results
from featly.study.dataset import family_of
from studies.multiclass_lists import read_figures
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


# ---- data ----------------------------------------------------------------------------------------
def make_tables(
    names: Sequence[str],
    draws: int,
    rows: Callable[[int], int],
    fewer: Mapping[str, int] | None = None,
) -> dict[str, Dataset]:
    """Draw made tables, `fewer` of some, columns shuffled; `rows` of the number of classes."""
    datasets = {}
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
            datasets[key] = Dataset.of(table.shuffle_columns(seed), name=key)
    return datasets


def seed_of(name: str, draw: int) -> int:
    """Return the seed of a draw; no two tables share one."""
    return STEP * list(MADE).index(name) + draw


def made_sizes(n_features: int) -> list[int]:
    """Return sizes for rankings of a made table: up to twice the relevant columns, or 80."""
    relevant = n_features - NOISE
    sizes = {2, 5, 10, 20, 40, relevant, 2 * relevant}
    return sorted(size for size in sizes if size <= min(2 * relevant, MOST))


# ---- runs of a method ----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Runs:
    """Rankings and errors of one method on the draws of a made table, or splits of a real one."""

    orders: IntArray  # runs x columns, best first, columns by the number in their name where made
    errors: FloatArray  # runs x sizes
    sizes: tuple[int, ...]
    figures: tuple[dict[str, float], ...] = ()  # figures of the fits: ties, C, seconds
    parts: tuple[float, float] | None = None  # rows to train and to test, where splits share rows

    def error(self, sizes: Sequence[int] | None = None) -> FloatArray:
        """Of every run, averaged over sizes."""
        if sizes is None:
            return self.errors.mean(axis=1)
        return self.errors[:, [self.sizes.index(size) for size in sizes]].mean(axis=1)

    def positions(self, columns: Sequence[int]) -> IntArray:
        """Runs x columns, from 1."""
        return np.argsort(self.orders, axis=1)[:, list(columns)] + 1

    def statistics(self, groups: Mapping[str, Sequence[int]]) -> dict[str, PositionStatistics]:
        """Best, quartiles, mean and worst position, over all runs."""
        return position_statistics(self.orders, groups)

    def figure(self, name: str) -> FloatArray:
        """Return a figure that every fit left in its notes."""
        return np.array([fit_figures[name] for fit_figures in self.figures])


@functools.lru_cache(maxsize=2048)  # many claims need the same
def runs(results: Results, table: str, method: str) -> Runs:
    """Return the runs of a method on a table; every run must have worked."""
    names = [name for name in results.about["datasets"] if family_of(name) == table]
    is_run = pl.col("dataset").is_in(names) & (pl.col("method") == method)
    number = pl.col("dataset").replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    fits = results.rankings.filter(is_run).sort(number, "split")
    rows = results.rows.filter(is_run).sort(number, "split", "size")
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
    figures = tuple(read_figures(notes) for notes in fits["notes"])
    return Runs(orders, errors, tuple(sizes), figures, None if drawn else parts)


def results_error(rows: pl.DataFrame) -> FloatArray:
    """Share of the test rows that were predicted wrongly, from the confusion matrices."""
    errors = []
    for flat in rows["confusion"]:
        matrix = flat.to_numpy()
        side = round(len(matrix) ** 0.5)
        errors.append(1 - matrix[:: side + 1].sum() / matrix.sum())
    return np.array(errors)


def numbers(names: Sequence[str]) -> IntArray:
    """Return numbers of columns: f12 is column 11 of a made table, wherever it stands."""
    return np.array([int(name[1:]) - 1 for name in names])


def tables_of(results: Results) -> list[str]:
    """The tables of a study, each once."""
    return list(dict.fromkeys(family_of(name) for name in results.about["datasets"]))


def relevant_of(table: str) -> int:
    """Return how many columns matter in a made table."""
    problem, n_classes = MADE[table]
    return 25 if problem == 2 else 5 * n_classes


def noise_of(table: str) -> range:
    """Return the columns that do not matter."""
    return range(relevant_of(table), relevant_of(table) + NOISE)


# ---- differences ---------------------------------------------------------------------------------
def of_runs(values: npt.ArrayLike, parts: tuple[float, float] | None) -> Gain:
    """A mean over runs, with its interval."""
    rounded = np.asarray(values, dtype=np.float64).round(12)  # 0 where only rounding is left
    if parts is not None:
        test = corrected_resampled_t(rounded, *parts)
        return Gain(test.mean, test.lower, test.upper)
    return Gain(float(rounded.mean()), *plain_interval(rounded))


def error_gain(first: Runs, second: Runs, sizes: Sequence[int] | None = None) -> Gain:
    """Error of one less that of the other, paired over runs."""
    return of_runs(first.error(sizes) - second.error(sizes), first.parts)


def position_gain(
    first: Runs, second: Runs, columns: Sequence[int], quartile: bool = False
) -> Gain:
    """Mean position of columns, or its third quartile, of one less that of the other."""
    figures = []
    for method_runs in (first, second):
        positions = method_runs.positions(columns)
        figures.append(np.quantile(positions, 0.75, axis=1) if quartile else positions.mean(axis=1))
    return of_runs(figures[0] - figures[1], first.parts)


def first_noise_gain(first: Runs, second: Runs, noise: Sequence[int]) -> Gain:
    """Return the position of the first irrelevant column of one less that of the other."""
    firsts = [method_runs.positions(noise).min(axis=1) for method_runs in (first, second)]
    return of_runs(firsts[0] - firsts[1], first.parts)


def average_gains(gains: Sequence[Gain]) -> Gain:
    """Return the average of independent differences."""
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


# ---- the page ------------------------------------------------------------------------------------
def line(method_runs: Runs) -> dict[str, Any]:
    """Return data of a curve: mean error and its standard deviation over runs."""
    spread = (
        method_runs.errors.std(axis=0, ddof=1)
        if len(method_runs.errors) > 1
        else np.zeros(len(method_runs.sizes))
    )
    return {
        "size": list(method_runs.sizes),
        "error": method_runs.errors.mean(axis=0).round(4).tolist(),
        "sd": spread.round(4).tolist(),
    }


def lines(results: Results, table: str, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return data of the curves of several methods."""
    return {method: line(runs(results, table, method)) for method in methods}


def error_table(title: str, lines_by_method: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Mean error in percent, by method and size."""
    sizes = next(iter(lines_by_method.values()))["size"]
    rows = [
        [name, *(f"{100 * e:.1f} ± {100 * s:.1f}" for e, s in zip(values["error"], values["sd"],
                                                                   strict=True))]
        for name, values in lines_by_method.items()
    ]  # fmt: skip
    return {"title": title, "head": ["error in %", *map(str, sizes)], "rows": rows}


def position_table(
    results: Results, title: str, table: str, methods: Sequence[str],
    groups: Mapping[str, Sequence[int]], printed: Mapping[str, Sequence[str]],
) -> dict[str, Any]:  # fmt: skip
    """Tables 4 to 6: where groups of columns stand; `printed` rows beside ours."""
    statistics = {method: runs(results, table, method).statistics(groups) for method in methods}
    rows = []
    for group in groups:
        group_statistics = [statistics[method][group] for method in methods]
        for statistic in ("best", "first_quartile", "mean", "third_quartile", "worst"):
            digits = 1 if statistic == "mean" else 0
            values = [
                f"{getattr(method_statistics, statistic):.{digits}f}"
                for method_statistics in group_statistics
            ]
            name = f"{group}, {statistic.replace('_', ' ')}"
            rows.append([name, *values])
            if name in printed:
                rows.append([f"{name}, printed", *printed[name]])
    return {"title": title, "head": ["position", *methods], "rows": rows}
