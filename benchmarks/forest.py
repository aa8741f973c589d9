"""Permutation importance against ranger (R, where it is installed) and scikit-learn's forest.

ranger does not split a category of more than 53 levels as a set: it orders levels once,
by all rows. scikit-learn's trees take numbers only, so levels become numbers; its
``permutation_importance`` permutes all rows, not those out of the bag, five times. A peer that is
too slow for 10,000 trees grows fewer, and its time is multiplied.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly.embedded.forest_ranker import ForestRanker

N_TREES = 10_000
RANGER = """
suppressMessages(library(ranger))
arguments <- commandArgs(TRUE)
frame <- read.csv(arguments[1], stringsAsFactors = TRUE)
y <- factor(frame$class)
x <- frame[names(frame) != "class"]
seconds <- system.time(
  found <- ranger(x = x, y = y, num.trees = as.integer(arguments[2]), importance = "permutation",
                  respect.unordered.factors = "order", seed = 1,
                  num.threads = as.integer(arguments[3]))
)[3]
cat(seconds, found$prediction.error, found$variable.importance, sep = "\\n")
"""


def table(name: str, n: int, p: int) -> tuple[pl.DataFrame, np.ndarray, str]:
    """A dataset where FEATLY_DATA has it, its training part; else a made one of its size."""
    folder = os.environ.get("FEATLY_DATA")
    file = Path(folder or "") / f"{name}.parquet"
    if folder and file.exists():
        frame = pl.read_parquet(file)
        if "split" in frame.columns:
            frame = frame.filter(pl.col("split") == "train").drop("split")
        X = frame.drop("class")
        return X, frame["class"].to_numpy(), f"{name}, {X.height:,} x {X.width:,}"
    values, y = two_classes(n, p)
    return pl.from_numpy(values), y, f"made, {n:,} x {p:,}"


def ranger(X: pl.DataFrame, y: np.ndarray, n_trees: int, threads: int) -> tuple | None:
    """Seconds, out-of-bag error and importances; None where R or ranger is not installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        X.with_columns(pl.Series("class", y).cast(pl.String)).write_csv(file)
        command = ["Rscript", "-e", RANGER, str(file), str(n_trees), str(threads)]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None
    seconds, error, *importance = map(float, done.stdout.split())
    return seconds, error, np.array(importance)


def scikit_learn(X: pl.DataFrame, y: np.ndarray, n_trees: int, threads: int) -> np.ndarray:
    numbers = X.with_columns(pl.col(pl.Categorical, pl.String).cast(pl.Categorical).to_physical())
    values = numbers.cast(pl.Float64).to_numpy()
    forest = RandomForestClassifier(n_trees, n_jobs=threads, random_state=0).fit(values, y)
    importance = permutation_importance(forest, values, y, n_jobs=1, random_state=0)
    return importance.importances_mean


def against(name: str, n: int, p: int, peer_trees: int, slow_trees: int) -> Iterator[Row]:
    X, y, title = table(name, n, p)
    problem = f"Forest importance, {N_TREES:,} trees, {title}"
    threads = len(os.sched_getaffinity(0))
    ForestRanker(n_trees=1).fit(X, y)  # compile
    ours_alone, _ = best_of(lambda: ForestRanker(n_trees=N_TREES, n_jobs=1).fit(X, y), 3)
    ours, fitted = best_of(lambda: ForestRanker(n_trees=N_TREES).fit(X, y), 5)
    error = f"out-of-bag error {fitted.oob_error_:.3f}"
    yield Row(problem, "featly", ours, error, ours=True)
    yield Row(problem, "featly, one thread", ours_alone)
    complete = X.select([column for column in X.columns if X[column].null_count() == 0])
    note = "" if complete.width == X.width else f"{complete.width} complete ones; "
    positions = [X.columns.index(column) for column in complete.columns]

    def compare_best(importance: np.ndarray, n_trees: int) -> str:
        best = set(np.argsort(-importance)[:10]) & set(np.argsort(-fitted.scores_[positions])[:10])
        times = "" if n_trees == N_TREES else f", {N_TREES // n_trees} x the time of {n_trees:,}"
        return f"{note}{len(best)} of the best 10 in common{times}"

    if peer_trees:
        for count in sorted({1, threads}, reverse=True):
            peer = ranger(complete, y, peer_trees, count)
            if peer is not None:
                words = f"out-of-bag error {peer[1]:.3f}; {compare_best(peer[2], peer_trees)}"
                seconds = peer[0] * N_TREES / peer_trees
                yield Row(problem, f"ranger, {count} thread{'s' * (count > 1)}", seconds, words)
    if slow_trees:
        seconds, importance = best_of(lambda: scikit_learn(complete, y, slow_trees, threads), 1)
        tool = "RandomForestClassifier + permutation_importance"
        yield Row(
            problem, tool, seconds * N_TREES / slow_trees, compare_best(importance, slow_trees)
        )


def mixed_columns() -> Iterator[Row]:
    yield from against("boston_housing2", 506, 17, N_TREES, 500)


def clinical() -> Iterator[Row]:
    yield from against("arrhythmia_binary", 430, 262, N_TREES, 50)


def many_classes() -> Iterator[Row]:
    yield from against("arrhythmia", 452, 279, 2500, 0)


def genes() -> Iterator[Row]:
    yield from against("vantveer_breast", 78, 24_488, 2500, 0)


def tall() -> Iterator[Row]:
    X, y = two_classes(100_000, 20)
    ForestRanker(n_trees=1).fit(X, y)
    seconds, extra, fitted = peak_over(lambda: ForestRanker(n_trees=20).fit(X, y))
    note = f"out-of-bag error {fitted.oob_error_:.3f}; memory {extra / X.nbytes:.1f} times X"
    yield Row("Forest importance, 20 trees, 100,000 x 20", "featly", seconds, note, ours=True)


CASES = {
    "forest": mixed_columns,
    "forest-clinical": clinical,
    "forest-classes": many_classes,
    "forest-genes": genes,
    "forest-tall": tall,
}
