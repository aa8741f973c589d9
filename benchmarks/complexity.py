"""Measures of complexity and the comparison of two tables, against problexity and by hand."""

import importlib.util
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import ks_2samp

from benchmarks.harness import Row, best_of, peak_over
from featly.diagnostics import complexity, shift, suspect_columns, suspect_rows

# F1v of problexity is a loop over pairs of columns in Python, 50 million steps at 5,000 of them
PEER = ("f1", "f2", "f3", "l1", "l2", "l3", "n1", "n2", "n3", "n4", "t1", "t2", "c2")
SLOW = "f1v"
WITHOUT = 200  # columns at which the peer's F1v is timed, too


def problexity() -> object | None:
    """Import the peer; None where it is not installed."""
    if importlib.util.find_spec("problexity") is None:
        return None
    import problexity.classification as peer

    return peer


def measures() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5000)), np.arange(500) % 2
    X[:, :20] += 0.5 * y[:, None]
    complexity(X[:60, :20], y[:60])
    problem = "14 measures of complexity, 500 x 5,000"
    seconds, profile = best_of(lambda: complexity(X, y), 3)
    single_thread, _ = best_of(lambda: complexity(X, y, n_jobs=1), 2)
    note = f"N3 {profile.values['N3']:.3f}, T1 {profile.values['T1']:.3f}"
    yield Row(problem, "featly", seconds, note, ours=True)
    yield Row(problem, "featly, one thread", single_thread)
    peer = problexity()
    if peer is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, values = best_of(lambda: {n: getattr(peer, n)(X, y) for n in PEER}, 1)
        note = f"N3 {values['n3']:.3f}, T1 {values['t1']:.3f}; without its F1v"
        yield Row(problem, "problexity", theirs, note)
        few = np.ascontiguousarray(X[:, :WITHOUT])
        problem = f"14 measures of complexity, 500 x {WITHOUT}"
        seconds, _ = best_of(lambda: complexity(few, y), 5)
        theirs, _ = best_of(lambda: [getattr(peer, n)(few, y) for n in (*PEER, SLOW)], 1)
        yield Row(problem, "featly", seconds, ours=True)
        yield Row(problem, "problexity", theirs)


def tall() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 40)), np.arange(20_000) % 2
    X[:, 0] += y
    names = ["N1", "N2", "N3", "N4", "T1"]
    complexity(X[:100], y[:100], measures=names)
    seconds, peak, _ = peak_over(lambda: complexity(X, y, measures=names))
    note = f"peak memory {peak / 1e6:.0f} MB; all distances would be 3,200"
    yield Row("N1, N2, N3, N4, T1, 20,000 x 40", "featly", seconds, note, ours=True)


def column_shift() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(78, 24_000)), rng.normal(size=(19, 24_000))
    shift(first[:, :100], second[:, :100])
    problem = "shift of 24,000 columns, 78 and 19 rows, 999 permutations"
    seconds, _ = best_of(lambda: shift(first, second), 3)
    yield Row(problem, "featly", seconds, ours=True)

    def by_hand() -> None:
        """Compute the distances alone, of one permutation and a column in ten."""
        for f in range(0, first.shape[1], 10):
            ks_2samp(first[:, f], second[:, f], method="asymp")

    theirs, _ = best_of(by_hand, 1)
    note = f"extrapolated from {theirs:.2f} s, a tenth of the columns and one permutation"
    yield Row(problem, "a loop around scipy's ks_2samp", theirs * 10 * 1000, note)


def real() -> Iterator[Row]:
    folder = os.environ.get("FEATLY_DATA")
    if not folder or not (Path(folder) / "kddcup99.parquet").exists():
        return
    table = pl.read_parquet(Path(folder) / "kddcup99.parquet")
    parts = [table.filter(pl.col("split") == name) for name in ("train", "test")]
    X = [part.drop("class", "split") for part in parts]
    rows = f"{len(parts[0]):,} and {len(parts[1]):,} rows x 41"
    seconds, result = best_of(lambda: shift(*X), 1)
    note = f"{len(result.shifted())} columns differ, on {result.n_used:,} rows"
    yield Row(f"shift, KDD Cup 99, {rows}", "featly", seconds, note, ours=True)
    seconds, columns = best_of(lambda: suspect_columns(X[0]), 1)
    note = f"{len(columns.near_constant)} near-constant"
    yield Row(f"suspect columns, {len(X[0]):,} x 41", "featly", seconds, note, ours=True)
    y = parts[0]["class"]
    seconds, odd = best_of(lambda: suspect_rows(X[0], y, max_rows=4000), 1)
    note = f"{len(odd.mislabelled)} look mislabelled"
    yield Row("suspect rows, KDD Cup 99, 4,000 of them", "featly", seconds, note, ours=True)


CASES = {
    "complexity": measures,
    "complexity-tall": tall,
    "shift": column_shift,
    "diagnostics-real": real,
}
