"""Greedy filters by mutual information against praznik (R, where it is installed).

praznik is measured as it stands, a data frame of factors in memory. Where it is not installed, its
times on tables of this size are those of a two-core machine at an earlier date, as the note says.
It stops at the requested columns; featly orders all others as well. scikit-learn has no greedy
filter; ``mutual_info_classif`` is what comes before one.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly.filters.cmim import CMIM
from featly.filters.jmi import JMI
from featly.filters.mim import MIM
from featly.filters.mrmr import MRMR

N_CHOSEN = 50
METHODS = {"MRMR": MRMR, "JMI": JMI, "CMIM": CMIM}
# seconds with two threads, version 11.0.0
EARLIER = {
    (500, 20_000): {"MRMR": 0.71, "JMI": 1.25, "CMIM": 0.05},
    (1000, 100_000): {"MRMR": 5.1, "JMI": 9.5, "CMIM": 0.25},
}
PRAZNIK = """
suppressMessages(library(praznik))
arguments <- commandArgs(TRUE)
n <- as.integer(arguments[2]); p <- as.integer(arguments[3])
bytes <- readBin(arguments[1], "integer", n * (p + 1), size = 1, signed = FALSE)
codes <- matrix(bytes, nrow = n)
y <- factor(codes[, p + 1])
x <- as.data.frame(lapply(seq_len(p), function(j) factor(codes[, j])))
for (method in arguments[-(1:5)]) {
  seconds <- system.time(
    found <- get(method)(x, y, as.integer(arguments[4]), threads = as.integer(arguments[5]))
  )[3]
  cat(seconds, found$selection - 1, "\\n")
}
"""


def levels(n: int, p: int, n_levels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random levels, 20 columns of which depend on the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.integers(0, n_levels, (n, p), dtype=np.uint8)
    is_informative = rng.random((n, 20)) < 0.3
    X[:, :20] = np.where(is_informative, y[:, None], X[:, :20])
    return X, y


def praznik(X: np.ndarray, y: np.ndarray, threads: int) -> dict[str, tuple[float, list[int]]]:
    """Seconds and choice of every method; empty where R or praznik is not installed."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "codes"
        np.asfortranarray(np.column_stack([X, y.astype(np.uint8)])).T.tofile(file)
        sizes = [str(number) for number in (*X.shape, N_CHOSEN, threads)]
        command = ["Rscript", "-e", PRAZNIK, str(file), *sizes, *METHODS]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {}
    lines = [line.split() for line in done.stdout.splitlines()]
    return {
        name: (float(line[0]), [int(column) for column in line[1:]])
        for name, line in zip(METHODS, lines, strict=True)
    }


def against(n: int, p: int, n_levels: int) -> Iterator[Row]:
    X, y = levels(n, p, n_levels)
    threads = len(os.sched_getaffinity(0))
    peers = praznik(X, y, threads)
    for name, method in METHODS.items():
        problem = f"{name}, {N_CHOSEN} of {n:,} x {p:,}, {n_levels} levels"
        ours = method(discretizer=None, max_steps=N_CHOSEN, n_features_to_select=N_CHOSEN)
        ours.fit(X[:, :100], y)  # compile
        seconds, fitted = best_of(lambda ours=ours: ours.fit(X, y), 9)
        single_thread, _ = best_of(lambda ours=ours: ours.set_params(n_jobs=1).fit(X, y), 5)
        yield Row(problem, "featly", seconds, ours=True)
        yield Row(problem, "featly, one thread", single_thread)
        if name in peers:
            same = len(set(peers[name][1]) & set(fitted.order_[:N_CHOSEN].tolist()))
            note = f"{same} of {N_CHOSEN} in common"
            yield Row(problem, f"praznik, {threads} threads", peers[name][0], note)
        else:
            earlier = EARLIER[n, p][name]
            yield Row(problem, "praznik 11.0.0, 2 threads", earlier, "earlier, similar table")


def small() -> Iterator[Row]:
    yield from against(500, 20_000, 5)


def large() -> Iterator[Row]:
    yield from against(1000, 100_000, 3)


def half_a_million() -> Iterator[Row]:
    X, y = levels(1000, 500_000, 3)
    ours = MRMR(discretizer=None, max_steps=N_CHOSEN)
    ours.fit(X[:, :100], y)
    seconds, extra, _ = peak_over(lambda: ours.fit(X, y))
    note = f"memory {1 + extra / X.nbytes:.2f} times the table"
    problem = f"MRMR, {N_CHOSEN} of 1,000 x 500,000, 3 levels"
    yield Row(problem, "featly", seconds, note, ours=True)


def genotypes() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1000, 28_501)).astype(np.float32)
    X[rng.random(X.shape) < 0.02] = np.nan
    y = rng.integers(0, 2, 1000)
    ours = JMI(discretizer=None).fit(X[:, :100], y)
    seconds, _ = best_of(lambda: ours.fit(X, y), 3)
    yield Row(
        "JMI, 100 of 1,000 x 28,501 genotypes with missing values", "featly", seconds, ours=True
    )


def correlations() -> Iterator[Row]:
    X, y = two_classes(500, 20_000)
    problem = f"MRMR by F and correlation, {N_CHOSEN} of 500 x 20,000"
    ours = MRMR(measure="f", max_steps=N_CHOSEN).fit(X[:, :100], y)
    seconds, _ = best_of(lambda: ours.fit(X, y), 3)
    yield Row(problem, "featly", seconds, ours=True)
    for tool, earlier in (("feature-engine 1.9.4", 87.0), ("mrmr-selection 0.2.8", 130.0)):
        yield Row(problem, tool, earlier, "earlier, similar table")


def relevance() -> Iterator[Row]:
    X, y = levels(500, 2000, 5)
    problem = "I(f; y) of 500 x 2,000, 5 levels"
    ours = MIM(discretizer=None).fit(X[:, :100], y)
    seconds, fitted = best_of(lambda: ours.fit(X, y))
    peer, bits = best_of(lambda: mutual_info_classif(X, y, discrete_features=True), 2)
    worst = np.abs(bits / np.log(2) - fitted.scores_).max()
    yield Row(problem, "featly MIM", seconds, ours=True)
    yield Row(problem, "mutual_info_classif", peer, f"largest difference {worst:.0e} bits")


CASES = {
    "greedy": small,
    "greedy-large": large,
    "greedy-half-a-million": half_a_million,
    "greedy-genotypes": genotypes,
    "greedy-correlations": correlations,
    "greedy-relevance": relevance,
}
