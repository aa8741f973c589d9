"""AROM against the same iterations written by hand around scikit-learn and SciPy.

There is no maintained AROM to compare with. By hand it is a linear SVM, or HiGHS, on columns that
are multiplied by their weights, until these settle or underflow.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from sklearn.svm import SVC

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly import AROM, Schema
from featly.study import Dataset, Study, Subsampling, read_dataset

MARKERS = ("X01060_at", "X02152_at")
SIZES = [1 << k for k in range(10)]


def lymphomas() -> tuple[Dataset, str]:
    """Shipp's lymphomas, or a made table of their size where they are not at hand."""
    folder = os.environ.get("FEATLY_DATA")
    if folder and (Path(folder) / "dlbcl_shipp.parquet").exists():
        return read_dataset("dlbcl_shipp.parquet"), "dlbcl_shipp, 77 x 7,129"
    X, y = two_classes(77, 7129)
    return Dataset.of(X, y), "made, 77 x 7,129"


def prior(data: Dataset) -> dict[int, float]:
    """Prior of the two markers by position, or of the first two columns of the made table."""
    names = list(data.names)
    return {names.index(name) if name in names else k: 10.0 for k, name in enumerate(MARKERS)}


def standardise(data: Dataset) -> np.ndarray:
    X = np.asarray(data.X, dtype=np.float64)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def fit_machine(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of a hard margin by SMO: C is so large that it does not matter."""
    return SVC(kernel="linear", C=1e8, tol=1e-6, cache_size=500).fit(X, y).coef_[0]


def solve_program(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the weights of least sum, by HiGHS."""
    signed = X * y[:, None]
    A = -np.hstack([signed, -signed, y[:, None]])
    cost = np.append(np.ones(2 * X.shape[1]), 0.0)
    bounds = [(0, None)] * (2 * X.shape[1]) + [(None, None)]
    w = linprog(cost, A_ub=A, b_ub=-np.ones(len(y)), bounds=bounds, method="highs").x
    p = X.shape[1]
    return w[:p] - w[p : 2 * p]


def by_hand(X: np.ndarray, y: np.ndarray, solve) -> np.ndarray:
    """|w| after the iterations, zero where it underflowed."""
    w = np.ones(X.shape[1])
    for _ in range(100):
        alive = np.flatnonzero(w)
        new_w = np.zeros(X.shape[1])
        new_w[alive] = np.abs(w[alive] * solve(X[:, alive] * w[alive], y))
        new_w[new_w < 1e-16 * new_w.max()] = 0.0
        done = np.abs(new_w / new_w.max() - w / w.max()).max() < 1e-8
        w = new_w
        if done:
            break
    return w


def fits() -> Iterator[Row]:
    data, name = lymphomas()
    X, signs = standardise(data), np.where(data.codes == 1, 1.0, -1.0)
    for norm, solve in ((2, fit_machine), (1, solve_program)):
        problem = f"l{norm}-AROM, {name}"
        AROM(norm=norm).fit(data.X, data.codes)
        ours, fitted = best_of(lambda norm=norm: AROM(norm=norm).fit(data.X, data.codes), 7)
        single_thread, _ = best_of(
            lambda norm=norm: AROM(norm=norm, n_jobs=1).fit(data.X, data.codes), 5
        )
        peer, weights = best_of(lambda solve=solve: by_hand(X, signs, solve), 1)
        left = np.flatnonzero(fitted.iterations_ == fitted.n_iter_)
        same = len(np.intersect1d(left, np.flatnonzero(weights)))
        note = f"{fitted.n_iter_} iterations, {len(left)} columns left"
        yield Row(problem, "featly", ours, note, ours=True)
        yield Row(problem, "featly, one thread", single_thread)
        tool = "by hand around SVC, C=1e8, tol=1e-6" if norm == 2 else "by hand around HiGHS"
        peer_note = f"{int((weights > 0).sum())} columns left, {same} of ours"
        yield Row(problem, tool, peer, peer_note)
        ours, _ = best_of(
            lambda norm=norm: AROM(norm=norm, schema=Schema(prior=prior(data))).fit(
                data.X, data.codes
            ),
            7,
        )
        yield Row(problem + ", two columns favoured", "featly", ours, ours=True)


def splits() -> Iterator[Row]:
    data, name = lymphomas()
    for norm in (2, 1):
        method = AROM(norm=norm, schema=Schema(prior=prior(data)))
        study = Study(method, data, Subsampling(200, test_size=0.1), sizes=SIZES)
        seconds, results = best_of(study.run, 1)
        problem = f"200 splits of PS-l{norm}-AROM + linear SVM at 10 sizes, {name}"
        at = results.summary().row(0, named=True)
        note = f"BCR {at['bcr']:.3f}, Kuncheva's index {at['kuncheva']:.3f}"
        yield Row(problem, "featly, all cores", seconds, note, ours=True)


def million() -> Iterator[Row]:
    X, y = two_classes(100, 1_000_000, np.float32)
    for norm in (2, 1):
        AROM(norm=norm).fit(X[:, :500], y)
        seconds, peak, fitted = peak_over(lambda norm=norm: AROM(norm=norm).fit(X, y))
        note = (
            f"{fitted.n_iter_} iterations, {fitted.path_[-1]} columns left; "
            f"peak memory {peak / 1e6:.0f} MB over a table of {X.nbytes / 1e6:.0f}"
        )
        problem = f"l{norm}-AROM, 100 x 1,000,000 float32"
        yield Row(problem, "featly", seconds, note, ours=True)


CASES = {"arom": fits, "arom-splits": splits, "arom-million": million}
