"""Two pipelines that are equal by construction: each sees one half of the columns of one law."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from featly import FTest

__all__ = ["AllOfHalf", "HalfOfColumns"]


class HalfOfColumns(BaseEstimator):
    """The F-test on one half of the columns; the others come last, and are never tried."""

    def __init__(self, half: int = 0) -> None:
        self.half = half

    def fit(self, X: Any, y: Any) -> "HalfOfColumns":
        """Rank the columns of the half."""
        width = X.shape[1] // 2
        mine = slice(self.half * width, (self.half + 1) * width)
        order = FTest(n_jobs=1).fit(X[:, mine], y).order_ + mine.start
        others = np.setdiff1d(np.arange(X.shape[1]), order)
        self.order_ = np.concatenate([order, others])
        self.ranking_ = np.empty(len(self.order_), np.int64)
        self.ranking_[self.order_] = np.arange(1, len(self.order_) + 1)
        return self


class AllOfHalf(BaseEstimator):
    """No selection among the columns of one half."""

    def __init__(self, half: int = 0) -> None:
        self.half = half

    def fit(self, X: Any, y: Any) -> "AllOfHalf":
        """Take the columns of the half."""
        width = X.shape[1] // 2
        self.order_ = np.arange(self.half * width, (self.half + 1) * width)
        return self
