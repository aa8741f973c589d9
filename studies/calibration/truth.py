"""The truth about a model: its balanced rate on new rows of the law that its table is from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from featly.learners import make_learner
from featly.preprocessing import Filler
from featly.table.frames import is_frame
from studies.calibration.laws import Law

__all__ = ["Model", "true_rates"]


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
    fillers: dict[str, Any] = {}
    trained = {}
    for name, model in models.items():
        part = _take(X, model.columns)
        if model.fill:
            fillers[name] = Filler().fit(part)
            part = fillers[name].transform(part)
        trained[name] = make_learner(model.learner).fit(part, y)
    hits = dict.fromkeys(models, 0.0)
    chances = 0.0
    for rows, chance in law.new_rows(number):
        chances = chances + chance.sum(axis=0)
        for name, model in models.items():
            part = _take(rows, model.columns)
            if name in fillers:
                part = fillers[name].transform(part)
            predicted = np.asarray(trained[name].predict(part)).astype(np.int64)
            is_hit = predicted[:, None] == np.arange(chance.shape[1])
            hits[name] = hits[name] + (chance * is_hit).sum(axis=0)
    return {name: float(np.mean(hits[name] / chances)) for name in models}


def _take(X: Any, columns: tuple[int, ...]) -> Any:
    if is_frame(X):
        frame: pl.DataFrame = X
        return frame.select(frame.columns[c] for c in columns)
    return X[:, list(columns)]
