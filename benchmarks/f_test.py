"""The F-test against scikit-learn's, and against one pass over the memory."""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.feature_selection import f_classif

from benchmarks.harness import Row, best_of, two_classes
from featly import FTest


def large() -> Iterator[Row]:
    problem = "F-test, 1,000 x 100,000 float32"
    X, y = two_classes(1000, 100_000, np.float32)
    exact, _ = f_classif(X.astype(np.float64), y)
    for memory_order in ("row-major", "column-major"):
        if memory_order == "column-major":
            X = np.asfortranarray(X)
        FTest().fit(X[:, :1000].copy("K"), y)
        seconds, ours = best_of(lambda X=X: FTest().fit(X, y))
        one_pass, _ = best_of(lambda X=X: X.sum())
        peer, (statistic, _) = best_of(lambda X=X: f_classif(X, y))
        title = f"{problem} {memory_order}"
        yield Row(title, "featly", seconds, largest_error(ours.statistic_, exact), ours=True)
        yield Row(title, "one pass over the memory (X.sum())", one_pass)
        yield Row(title, "scikit-learn f_classif", peer, largest_error(statistic, exact))


def offset() -> Iterator[Row]:
    problem = "F-test, 60 x 10,000 float32 around 10,000"
    X, y = two_classes(60, 10_000, np.float32)
    X += 10_000
    centred = X.astype(np.float64)
    exact, _ = f_classif(centred - centred.mean(axis=0), y)
    FTest().fit(X, y)
    seconds, ours = best_of(lambda: FTest().fit(X, y))
    yield Row(problem, "featly", seconds, largest_error(ours.statistic_, exact), ours=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer, (statistic, _) = best_of(lambda: f_classif(X, y))
    note = f"{int((statistic < 0).sum()):,} of 10,000 F values negative"
    yield Row(problem, "scikit-learn f_classif", peer, note)


def largest_error(statistic, exact):
    return f"largest error {np.max(np.abs(statistic - exact) / np.maximum(exact, 1e-3)):.0e}"


CASES = {"f-test": large, "f-test-offset": offset}
