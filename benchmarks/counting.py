"""Filters of one column at a time against scikit-learn and against one pass over the memory."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_selection import chi2

from benchmarks.harness import Row, best_of, two_classes
from featly import (
    JMI,
    MRMR,
    ChiSquared,
    FTest,
    InformationGain,
    ReliefF,
    SignalToNoise,
    SymmetricUncertainty,
)


def codes() -> Iterator[Row]:
    problem = "counting, 1,000 x 100,000 uint8, three levels"
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (1000, 100_000), dtype=np.uint8), rng.permutation(np.arange(1000) % 2)
    for memory_order in ("row-major", "column-major"):
        title = f"{problem}, {memory_order}"
        X = X if memory_order == "row-major" else np.asfortranarray(X)
        for method in (ChiSquared, InformationGain, SymmetricUncertainty):
            fit = method(discretizer=None).fit
            fit(X[:, :1000].copy("K"), y)
            seconds, _ = best_of(lambda fit=fit, X=X: fit(X, y))
            yield Row(title, method.__name__, seconds, ours=method is ChiSquared)
        yield Row(title, "one pass, X.sum()", best_of(lambda X=X: X.sum())[0])
        yield Row(title, "one pass, X.max()", best_of(lambda X=X: X.max())[0])
    # another statistic: it takes the values themselves for counts
    yield Row(title, "scikit-learn chi2", best_of(lambda: chi2(X, y), repeats=2)[0])


def moments() -> Iterator[Row]:
    problem = "moments, 1,000 x 100,000 float32"
    X, y = two_classes(1000, 100_000, np.float32)
    for method in (SignalToNoise, FTest):
        method().fit(X[:, :1000].copy(), y)
        seconds, _ = best_of(lambda method=method: method().fit(X, y))
        yield Row(problem, method.__name__, seconds, ours=method is SignalToNoise)
    yield Row(problem, "one pass, X.sum()", best_of(lambda: X.sum())[0])
    InformationGain().fit(X[:, :1000].copy(), y)
    seconds, _ = best_of(lambda: InformationGain().fit(X, y), repeats=2)
    yield Row("MDLP and information gain, 1,000 x 100,000 float32", "featly", seconds, ours=True)


def genotypes() -> Iterator[Row]:
    """From a frame of categories, reading it included."""
    file = Path(os.environ.get("FEATLY_DATA", "")) / "snp_hapmap_chr10.parquet"
    if not file.exists():
        return
    import polars as pl

    table = pl.read_parquet(file)
    y = table["class"].to_numpy()
    frame = table.drop("class", "stratum")
    for library, X in (("polars", frame), ("pandas", frame.to_pandas())):
        for method in (ChiSquared(), MRMR(), JMI(), ReliefF()):
            method.fit(X, y)
            seconds, _ = best_of(lambda method=method, X=X: method.fit(X, y), repeats=2)
            name = type(method).__name__
            yield Row(f"genotypes 1,000 x 28,501, {library}, {name}", "featly", seconds, ours=True)


CASES = {"counting": codes, "moments": moments, "genotypes": genotypes}
