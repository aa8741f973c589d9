"""The truth about a model: its rates and its area on new rows of the law that its table is from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

from featly.learners import make_learner
from featly.preprocessing import Filler
from featly.table.frames import is_frame
from studies.calibration.laws import Law

__all__ = ["Model", "true_areas", "true_class_rates", "true_rates"]


@dataclass(frozen=True)
class Model:
    """A model that featly shows: columns by position, a learner by name, and the filling."""

    columns: tuple[int, ...]
    learner: str
    fill: bool = False


def true_rates(
    law: Law, number: int, X: Any, y: np.ndarray, models: Mapping[str, Model]
) -> dict[str, float]:
    """Train every model on all rows of a table; return its balanced rate on new rows."""
    by_class = true_class_rates(law, number, X, y, models)
    return {name: float(rates.mean()) for name, rates in by_class.items()}


def true_class_rates(
    law: Law, number: int, X: Any, y: np.ndarray, models: Mapping[str, Model]
) -> dict[str, np.ndarray]:
    """Train every model on all rows of a table; return the share of each class that it gets right.

    A new row counts for each class by the chance that it is of that class.
    """
    trained = {name: _Trained.fit(model, X, y) for name, model in models.items()}
    hits = dict.fromkeys(models, 0.0)
    chances = 0.0
    for rows, chance in law.new_rows(number):
        chances = chances + chance.sum(axis=0)
        for name, model in trained.items():
            predicted = model.predict(rows)
            is_hit = predicted[:, None] == np.arange(chance.shape[1])
            hits[name] = hits[name] + (chance * is_hit).sum(axis=0)
    return {name: np.asarray(hits[name] / chances) for name in models}


def true_areas(
    law: Law, number: int, X: Any, y: np.ndarray, models: Mapping[str, Model]
) -> dict[str, float]:
    """Train every model on all rows of a table of two classes; return its area on new rows."""
    trained = {name: _Trained.fit(model, X, y) for name, model in models.items()}
    blocks = list(law.new_rows(number))
    chance = np.concatenate([chance for _, chance in blocks])
    labels = np.repeat([0, 1], len(chance))
    areas = {}
    for name, model in trained.items():
        values = np.concatenate([model.decide(rows) for rows, _ in blocks])
        weights = chance.T.ravel()
        areas[name] = float(roc_auc_score(labels, np.tile(values, 2), sample_weight=weights))
    return areas


@dataclass(frozen=True, eq=False)
class _Trained:
    """A model that was trained on all rows of a table."""

    columns: tuple[int, ...]
    learner: Any
    filler: Any

    @classmethod
    def fit(cls, model: Model, X: Any, y: np.ndarray) -> "_Trained":
        part = _take(X, model.columns)
        filler = Filler().fit(part) if model.fill else None
        learner = make_learner(model.learner)
        return cls(model.columns, learner.fit(cls._fill(filler, part), y), filler)

    def predict(self, rows: Any) -> np.ndarray:
        part = self._fill(self.filler, _take(rows, self.columns))
        return np.asarray(self.learner.predict(part)).astype(np.int64)

    def decide(self, rows: Any) -> np.ndarray:
        part = self._fill(self.filler, _take(rows, self.columns))
        if hasattr(self.learner, "decision_function"):
            return np.asarray(self.learner.decision_function(part))
        return np.asarray(self.learner.predict_proba(part))[:, 1]

    @staticmethod
    def _fill(filler: Any, part: Any) -> Any:
        return part if filler is None else filler.transform(part)


def _take(X: Any, columns: tuple[int, ...]) -> Any:
    if is_frame(X):
        frame: pl.DataFrame = X
        return frame.select(frame.columns[c] for c in columns)
    return X[:, list(columns)]
