"""A list for each pair of classes, against the same loop written by hand around LinearSVC."""

import os
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.harness import Row, best_of, peak_over
from featly import SVMRFE, FTest, PairwiseRanker
from featly.combine.rankings import combine_rankings
from featly.datasets import make_artificial
from featly.elimination.rfe import schedule
from featly.study import read_dataset

STEP = 0.2  # both sides drop a fifth of the columns that are left


def by_hand(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """Return positions in the list of every pair: standardise, fit, drop the smallest weights."""
    lists = []
    for a, b in combinations(np.unique(y).tolist(), 2):
        rows = np.flatnonzero((y == a) | (y == b))
        Z = X[rows]
        spread = Z.std(axis=0)
        Z = (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        positions, left = np.empty(X.shape[1]), np.arange(X.shape[1])
        while len(left):
            weights = LinearSVC(C=C, random_state=0).fit(Z[:, left], y[rows]).coef_[0] ** 2
            ranked = np.argsort(-weights, kind="stable")
            stay = len(left) - schedule(len(left), STEP)
            positions[left[ranked[stay:]]] = np.arange(stay + 1, len(left) + 1)
            left = np.sort(left[ranked[:stay]])
        lists.append(positions)
    return np.column_stack(lists)


def artificial() -> Iterator[Row]:
    data = make_artificial(1)
    X, y = data.X.to_numpy(), data.y
    PairwiseRanker(SVMRFE()).fit(X[:300], y[:300])
    for C in (1.0, 0.01):
        problem = f"SVM-RFE for each of 28 pairs, Artificial-1-8C, 3,000 x 540, C = {C:g}"
        ours, fitted = best_of(lambda C=C: PairwiseRanker(SVMRFE(C=C)).fit(X, y), 3)
        single_thread, _ = best_of(lambda C=C: PairwiseRanker(SVMRFE(C=C), n_jobs=1).fit(X, y), 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer, lists = best_of(lambda C=C: by_hand(X, y, C), 1)
        yield Row(problem, "featly", ours, _describe_recovery(fitted.ranking_), ours=True)
        yield Row(problem, "featly, one thread", single_thread)
        ranking = combine_rankings(lists).ranking
        yield Row(
            problem, "by hand around LinearSVC, as shipped", peer, _describe_recovery(ranking)
        )


def _describe_recovery(ranking: np.ndarray) -> str:
    return f"{int((ranking[:40] <= 40).sum())} of the 40 relevant columns among the first 40"


def real() -> Iterator[Row]:
    folder = os.environ.get("FEATLY_DATA")
    if not folder or not (Path(folder) / "monti_leukemia_stjude.parquet").exists():
        return
    data = read_dataset("monti_leukemia_stjude.parquet")
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    problem = "SVM-RFE for each of 15 pairs, St Jude leukemia, 248 x 985"
    PairwiseRanker(SVMRFE()).fit(X, y)
    ours, _ = best_of(lambda: PairwiseRanker(SVMRFE()).fit(X, y), 7)
    peer, _ = best_of(lambda: by_hand(X, y, 1.0), 1)
    yield Row(problem, "featly", ours, ours=True)
    yield Row(problem, "by hand around LinearSVC, as shipped", peer)


def wide() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 500_000)).astype(np.float32), np.arange(100) % 5
    for ranker in (SVMRFE(), FTest()):
        PairwiseRanker(ranker).fit(X[:, :500], y)
        seconds, peak, _ = peak_over(lambda ranker=ranker: PairwiseRanker(ranker).fit(X, y))
        problem = f"{type(ranker).__name__} for each of 10 pairs, 100 x 500,000 float32"
        note = f"peak memory {peak / 1e6:.0f} MB over a table of {X.nbytes / 1e6:.0f}"
        yield Row(problem, "featly", seconds, note, ours=True)


CASES = {"pairwise": artificial, "pairwise-real": real, "pairwise-wide": wide}
