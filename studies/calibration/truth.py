"""The truth about a model: its rates and its area on new rows of the law that its table is from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score

from featly.learners import balance, make_learner
from featly.preprocessing import Filler
from featly.table.frames import is_frame
from studies.calibration.laws import Law

__all__ = ["Model", "Truth", "true_figures", "true_rates"]


@dataclass(frozen=True)
class Model:
    """A model that featly shows: columns by position, a learner by name, filling and weights."""

    columns: tuple[int, ...]
    learner: str
    fill: bool = False
    balanced: bool = True  # whether every class weighs the same, as unless asked otherwise


@dataclass(frozen=True, eq=False)
class Truth:
    """Figures of a model on new rows.

    Attributes
    ----------
    class_rates : float array
        The share of each class that it gets right. A new row counts for each class by the chance
        that it is of that class.
    area : float or None
        The area under the ROC curve; None for more than two classes.
    """

    class_rates: np.ndarray
    area: float | None


def true_rates(
    law: Law, number: int, X: Any, y: np.ndarray, models: Mapping[str, Model]
) -> dict[str, float]:
    """Train every model on all rows of a table; return its balanced rate on new rows."""
    figures = true_figures(law, number, X, y, models, with_areas=False)
    return {name: float(truth.class_rates.mean()) for name, truth in figures.items()}


def true_figures(
    law: Law,
    number: int,
    X: Any,
    y: np.ndarray,
    models: Mapping[str, Model],
    with_areas: bool = True,
) -> dict[str, Truth]:
    """Train every model on all rows of a table; return its figures on new rows."""
    trained = {name: _Trained.fit(model, X, y) for name, model in models.items()}
    with_areas = with_areas and len(law.counts) == 2
    hits = dict.fromkeys(models, 0.0)
    values: dict[str, list[np.ndarray]] = {name: [] for name in models}
    chances = []
    for rows, chance in law.new_rows(number):
        chances.append(chance)
        for name, model in trained.items():
            is_hit = model.predict(rows)[:, None] == np.arange(chance.shape[1])
            hits[name] = hits[name] + (chance * is_hit).sum(axis=0)
            if with_areas:
                values[name].append(model.decide(rows))
    chance = np.concatenate(chances)
    return {
        name: Truth(
            np.asarray(hits[name] / chance.sum(axis=0)),
            _area(np.concatenate(values[name]), chance) if with_areas else None,
        )
        for name in models
    }


def _area(values: np.ndarray, chance: np.ndarray) -> float:
    """Return the area of decision values, each row counting for both classes by its chances."""
    labels = np.repeat([0, 1], len(chance))
    return float(roc_auc_score(labels, np.tile(values, 2), sample_weight=chance.T.ravel()))


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
        if model.balanced:
            learner = balance(learner)
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
