"""Rankers and learners of the studies of many classes.

The lists of a split are made once and combined by every rule, every k and both directions of the
tie rule, as in Izetta, Verdes and Granitto (2017), section 3.1: "the fixed set of lists"; see
:mod:`studies.multiclass_sharing`.
"""

import hashlib
import json
import time
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from featly.basics.typing import AnyArray, FloatArray
from featly.combine.rankings import combine_rankings
from featly.core.runtime.parallel import run_blocks
from featly.elimination.multiclass_svm_rfe import MulticlassSVMRFE
from featly.elimination.svm_rfe import SVMRFE
from featly.ensembles.pairwise import PairwiseRanker
from featly.filters.f_test import FTest
from featly.learners import LinearSVM
from featly.study.splits import KFold
from studies.multiclass_sharing import Memory, digest, make_once

ALL_CORES = -1
REPEATS = 3  # of what is timed
GRID = (0.01, 0.1, 1.0, 10.0)  # prices that cross-validation chooses from
FOLDS = 5
PRICED = [10, 20]  # columns at which it does
SCHEDULE: dict[str, Any] = {"step": 0.1, "fine_below": 20}  # of every elimination


class Told(UserWarning):
    """No warning but figures of one fit, for the notes of a study; its journals have this name."""


def note_figures(**figures: float) -> None:
    """Keep figures of this fit."""
    warnings.warn(json.dumps(figures), Told, stacklevel=2)


def read_figures(notes: str | None) -> dict[str, float]:
    """Return the figures of a fit, from its notes."""
    figures: dict[str, float] = {}
    for note in json.loads(notes) if notes else ():
        kind, _, text = note.partition(": ")
        if kind == Told.__name__:
            figures |= json.loads(text)
    return figures


# ---- what the methods of a split share -----------------------------------------------------------
_prices_by_column = Memory(256)


def lists_of(
    X: AnyArray, y: AnyArray, decomposition: str, C: float, n_jobs: int
) -> tuple[FloatArray, float]:
    """Positions by column and problem, and the seconds it took to find them."""

    def make() -> tuple[FloatArray, float]:
        began = time.perf_counter()
        ranker = PairwiseRanker(
            SVMRFE(C=C, **SCHEDULE),
            decomposition=decomposition,
            combine="average-sd",
            n_jobs=n_jobs,
        )
        positions = ranker.fit(X, y).positions_
        return positions, time.perf_counter() - began

    return make_once(f"lists {decomposition} {C} {digest(X, y)}", make)


def price_of(X: AnyArray, y: AnyArray) -> float:
    """C by cross-validation on the training rows; of equals the smallest.

    What is predicted from are the columns with the largest F statistic on the rows of a fold: a
    selection that favours none of the methods.
    """

    def make() -> float:
        codes = np.unique(y, return_inverse=True)[1]
        folds = list(KFold(FOLDS).split(None, codes))
        best = [FTest().fit(X[f.train], y[f.train]).order_[: PRICED[-1]] for f in folds]

        def wrong(case: tuple[int, float]) -> int:
            fold, columns = folds[case[0]], best[case[0]]
            train, test = X[fold.train][:, columns], X[fold.test][:, columns]
            labels = LinearSVM(C=case[1]).predict_path(train, y[fold.train], test, PRICED)
            return int(np.count_nonzero(labels != y[fold.test]))

        cases = [(fold, C) for C in GRID for fold in range(FOLDS)]
        counts = np.reshape(run_blocks(wrong, cases, ALL_CORES), (len(GRID), FOLDS))
        return GRID[int(np.argmin(counts.sum(axis=1)))]

    return float(make_once(f"price {digest(X, y)}", make))


# ---- methods -------------------------------------------------------------------------------------
class Rule(BaseEstimator):
    """A rule that combines the lists of SVM-RFE, one a pair of classes or a class.

    Parameters
    ----------
    combine, k, tie_sd
        Of :func:`featly.combine.rankings.combine_rankings`.
    decomposition : {"ovo", "ova"}
    C : float or None
        None is the price that cross-validation chooses for these rows.
    timed : bool
        Whether seconds matter: then all is done by one thread, and the combination three times.
    """

    def __init__(
        self,
        combine: str = "k-first",
        k: float | None = None,
        tie_sd: str = "larger",
        decomposition: str = "ovo",
        C: float | None = None,
        timed: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.combine = combine
        self.k = k
        self.tie_sd = tie_sd
        self.decomposition = decomposition
        self.C = C
        self.timed = timed
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Rank."""
        C = price_of(X, y) if self.C is None else self.C
        threads = 1 if self.timed else ALL_CORES
        positions, listing = lists_of(X, y, self.decomposition, C, threads)
        combining = np.inf
        for _ in range(REPEATS if self.timed else 1):
            began = time.perf_counter()
            combined = combine_rankings(
                positions, self.combine, k=self.k, tie_sd=self.tie_sd, n_jobs=self.n_jobs
            )
            combining = min(combining, time.perf_counter() - began)
        self.order_, self.ranking_ = combined.order, combined.ranking
        note_figures(
            ties=combined.ties, C=C, listing=round(listing, 5), combining=round(combining, 7)
        )
        remember_price(X, y, self.order_, C)
        return self


class Zhou(BaseEstimator):
    """MSVM-RFE of Zhou and Tuck (2007): one elimination for all classes together.

    Parameters
    ----------
    formulation : {"crammer-singer", "weston-watkins", "ovo"}
    C : float or None
        None is the price that cross-validation chooses for these rows.
    """

    def __init__(
        self,
        formulation: str = "crammer-singer",
        C: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.formulation = formulation
        self.C = C
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Rank."""
        C = price_of(X, y) if self.C is None else self.C
        importance = "abs" if self.formulation == "ovo" else "squared"
        began = time.perf_counter()
        ranked = MulticlassSVMRFE(
            formulation=self.formulation,
            importance=importance,
            C=C,
            n_jobs=self.n_jobs,
            **SCHEDULE,
        ).fit(X, y)
        note_figures(C=C, listing=round(time.perf_counter() - began, 5), combining=0.0)
        self.order_, self.ranking_ = ranked.order_, ranked.ranking_
        remember_price(X, y, self.order_, C)
        return self


# ---- learner -------------------------------------------------------------------------------------
def remember_price(X: AnyArray, y: AnyArray, order: AnyArray, C: float) -> None:
    """Put the price in the cache for the learner, which sees the best columns of the same rows."""
    _prices_by_column.put(_column_key(X[:, order[0]], y), C)


def _column_key(column: AnyArray, y: AnyArray) -> str:
    hasher = hashlib.blake2b(np.ascontiguousarray(column).tobytes(), digest_size=16)
    hasher.update(repr(y.tolist()).encode())
    return hasher.hexdigest()


class SharedPriceSVM(ClassifierMixin, BaseEstimator):
    """The multiclass SVM of a split, with the price at which its columns were ranked.

    That price was chosen by cross-validation on the same rows; the process in which a method ranks
    is the one in which this learner then trains.
    """

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Any) -> Any:
        """Train on the first columns, and predict other rows."""
        C = _prices_by_column[_column_key(X[:, 0], np.asarray(y))]
        return LinearSVM(C=C).predict_path(X, y, X_test, sizes)

    def fit(self, X: Any, y: Any) -> Self:
        """Train on all the columns that are given."""
        C = _prices_by_column[_column_key(X[:, 0], np.asarray(y))]
        self._svm = LinearSVM(C=C).fit(X, y)
        self.classes_ = self._svm.classes_
        return self

    def predict(self, X: Any) -> Any:
        """The class of every row."""
        return self._svm.predict(X)


# ---- names ---------------------------------------------------------------------------------------
RULES = {
    "3Q-SD": "third-quartile-sd",
    "Av-SD": "average-sd",
    "Best": "best",
    "K-First": "k-first",
    "Condorcet": "condorcet",
    "Schulze": "schulze",
}  # in the order of the paper's tables
ZHOU = {"Zhou C&S": "crammer-singer", "Zhou W&W": "weston-watkins", "Zhou OVO": "ovo"}
SHARES = (0.01, 0.05, 0.2, 0.5, 1.0)  # k as a share of the columns, beside 0.1
ALL_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)
WITH_SD = ("3Q-SD", "Av-SD")


def against_all(name: str) -> str:
    """The name of a rule whose lists are of each class against the rest."""
    return f"{name}, OvA"


def with_share(share: float) -> str:
    """The name of K-First with that k."""
    return "K-First" if share == 0.1 else f"K-First, k = {share:.0%}"


def smaller_first(name: str) -> str:
    """The name of a rule that takes the smaller standard deviation first."""
    return f"{name}, smaller SD"


def rules(decomposition: str = "ovo") -> dict[str, Rule]:
    """The six."""
    return {
        name if decomposition == "ovo" else against_all(name): Rule(
            combine, decomposition=decomposition
        )
        for name, combine in RULES.items()
    }


def sweep() -> dict[str, Rule]:
    """Other k, and the other direction of the tie rule."""
    others: dict[str, Rule] = {with_share(share): Rule("k-first", share) for share in SHARES}
    return others | {smaller_first(name): Rule(RULES[name], tie_sd="smaller") for name in WITH_SD}
