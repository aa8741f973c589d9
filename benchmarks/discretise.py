"""Discretisation against scikit-learn's unsupervised one, and against a sort of the same values.

No peer of MDLP is in Python: the packages are wrong or do not build. Weka 3.9.7 takes 0.09 s for
Golub's table and Orange 3.40 1.4 s, with the same cut points, on a machine like that of the other
figures. Golub's table is read from the folder that FEATLY_DATA names; without it one of the same
size is made.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse
from sklearn.preprocessing import KBinsDiscretizer

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly.core.counts.discretise import CutRule, cut_codes, learn_cuts
from featly.core.sources import CSCSource, DenseSource
from featly.preprocessing import MDLP, PKID, EqualWidth, SSVEncoder


def golub() -> tuple[pl.DataFrame, np.ndarray, str]:
    folder = os.environ.get("FEATLY_DATA")
    if folder is not None:
        frame = pl.read_parquet(Path(folder) / "leukemia_golub.parquet").drop("split")
        return frame.drop("class").cast(pl.Float64), frame["class"].cast(pl.String).to_numpy(), ""
    X, y = two_classes(72, 7129)
    return pl.DataFrame(X, schema=[f"x{f}" for f in range(X.shape[1])]), y, " (made)"


def small() -> Iterator[Row]:
    frame, y, suffix = golub()
    problem = f"MDLP, 72 x 7,129{suffix}"
    tables = {
        "array": np.ascontiguousarray(frame.to_numpy()),
        "polars frame": frame,
        "pandas frame": frame.to_pandas(),
    }
    for name, X in tables.items():
        MDLP().fit(X, y)
        seconds, fitted = best_of(lambda X=X: MDLP().fit(X, y), repeats=10)
        cut = int((fitted.n_levels_ > 1).sum())
        yield Row(problem, f"featly, {name}", seconds, f"{cut:,} columns cut", ours=name == "array")
        seconds, _ = best_of(lambda X=X, fitted=fitted: fitted.transform(X))
        yield Row(problem, f"featly, {name}, transform", seconds)


def large() -> Iterator[Row]:
    problem = "MDLP cut points and codes, 1,000 x 100,000 float32"
    X, y = two_classes(1000, 100_000, np.float32)
    for memory_order in ("row-major", "column-major"):
        if memory_order == "column-major":
            X = np.asfortranarray(X)
        title = f"{problem} {memory_order}"
        source = DenseSource(X)
        few = source.view(np.arange(99))
        cut_codes(few, learn_cuts(few, y, 2, CutRule("mdlp")))
        seconds, cuts = best_of(
            lambda source=source: learn_cuts(source, y, 2, CutRule("mdlp")), repeats=3
        )
        coded, bytes_over, _ = peak_over(lambda source=source, cuts=cuts: cut_codes(source, cuts))
        note = f"cut points {seconds:.2f} s, codes {coded:.2f} s and {bytes_over / 1e6:.0f} MB"
        yield Row(title, "featly", seconds + coded, note, ours=True)
        columns = X.T[:2000].copy()
        sorting, _ = best_of(lambda columns=columns: np.sort(columns, axis=1))
        yield Row(title, "numpy.sort of the values, one thread", 50 * sorting, "from 2,000")


def equal_bins() -> Iterator[Row]:
    X, _ = two_classes(1000, 20_000)
    for problem, ours, strategy in (
        ("10 intervals of equal width, 1,000 x 20,000", EqualWidth(), "uniform"),
        ("31 intervals of equal frequency (PKID), 1,000 x 20,000", PKID(), "quantile"),
    ):
        ours.fit_transform(X[:, :50])
        seconds, _ = best_of(lambda ours=ours: ours.fit_transform(X), repeats=3)
        yield Row(problem, "featly", seconds, ours=True)
        peer = KBinsDiscretizer(
            n_bins=10 if strategy == "uniform" else 31,
            encode="ordinal",
            strategy=strategy,
            quantile_method="averaged_inverted_cdf",
            subsample=None,
        )
        seconds, _ = best_of(lambda peer=peer: peer.fit_transform(X), repeats=1)
        yield Row(problem, "scikit-learn KBinsDiscretizer", seconds)


def sparse() -> Iterator[Row]:
    problem = "MDLP, 10,000 x 100,000 sparse, 10 million stored"
    rng = np.random.default_rng(0)
    n_stored = 10_000_000
    cells = (rng.integers(0, 10_000, n_stored), rng.integers(0, 100_000, n_stored))
    matrix = scipy.sparse.coo_array((rng.exponential(size=n_stored), cells), (10_000, 100_000))
    matrix = scipy.sparse.csc_array(matrix)
    y = rng.integers(0, 2, 10_000)
    learn_cuts(CSCSource(matrix[:, :99]), y, 2, CutRule("mdlp"))
    seconds, _ = best_of(lambda: learn_cuts(CSCSource(matrix), y, 2, CutRule("mdlp")), repeats=3)
    yield Row(problem, "featly", seconds, ours=True)


def symbols() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500_000)
    levels = np.array([f"service {k}" for k in range(70)])
    share = rng.random(70)
    chance = np.where(y[:, None] == 1, share, 1 - share).cumsum(axis=1)
    chosen = (rng.random((len(y), 1)) * chance[:, -1:] > chance).sum(axis=1)
    frame = pl.DataFrame({"service": levels[chosen]})
    SSVEncoder().fit(frame[:100], y[:100])
    seconds, _ = best_of(lambda: SSVEncoder().fit(frame, y), repeats=3)
    yield Row("SSV, one column of 70 levels, 500,000 rows", "featly", seconds, ours=True)


CASES = {
    "mdlp": small,
    "mdlp-large": large,
    "mdlp-sparse": sparse,
    "discretise": equal_bins,
    "ssv": symbols,
}
