"""A pipeline that takes microseconds: columns by their F statistic, rows to the nearest mean."""

from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator


class QuickF(BaseEstimator):
    """Rank columns `first` to `last` by F; the others follow as they are."""

    def __init__(self, first=0, last=None):
        self.first = first
        self.last = last

    def fit(self, X, y):
        """Rank."""
        scores = np.full(X.shape[1], -1.0)
        own = slice(self.first, self.last)
        scores[own] = f_statistics(X[:, own], y)
        self.order_ = np.argsort(-scores, kind="stable")
        self.ranking_ = np.argsort(self.order_) + 1
        return self


class NearestMean(BaseEstimator):
    """Predict the class of the nearest mean, at all sizes at once."""

    def fit(self, X, y):
        """Keep the rows."""
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        """Predict by all columns."""
        return self.predict_path(self.X_, self.y_, X, [X.shape[1]])[0]

    def predict_path(self, X, y, X_test, sizes):
        """Predict at every size."""
        return self.predict_path_values(X, y, X_test, sizes).labels

    def predict_path_values(self, X, y, X_test, sizes):
        """Predict at every size, with the difference of the squared distances."""
        classes = np.unique(y)
        at = np.array(sizes) - 1
        distances = np.array(
            [np.cumsum((X_test - X[y == c].mean(axis=0)) ** 2, axis=1)[:, at].T for c in classes]
        )
        labels = classes[distances.argmin(axis=0)]
        values = distances[0] - distances[1] if len(classes) == 2 else -distances.transpose(1, 2, 0)
        return SimpleNamespace(labels=labels, values=values, is_probability=False, classes=classes)


def f_statistics(X, y):
    """Return F of every column."""
    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    within = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in np.unique(y))
    return (total - within) / within
