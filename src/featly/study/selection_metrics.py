"""Metrics of the selected columns: how many are relevant, and how many are categorical."""

from typing import TYPE_CHECKING

import numpy as np

from featly.basics.errors import ParameterError
from featly.basics.typing import FloatArray
from featly.measures.recovery import count_roles, cut_at_relevant, success_index

if TYPE_CHECKING:
    from featly.study.results import Results

__all__ = ["SELECTION_METRICS", "selection_values"]

SELECTION_METRICS = {  # whether greater is better
    "success": True,
    "relevant": True,
    "redundant": False,
    "irrelevant": False,
    "categorical": True,
}


def selection_values(results: "Results", metric: str) -> FloatArray:
    """Return a metric of the first `size` columns of every ranking; NaN where unknown."""
    orders = {
        tuple(key): (order, subset)
        for *key, order, subset in results.rankings.select(
            "dataset", "method", "split", "null_draw", "order", "subset"
        ).rows()
    }
    roles = {name: results.roles(name) for name in results.about["datasets"]}
    if metric != "categorical" and not any(roles.values()):
        raise ParameterError(
            f"metric {metric!r} needs datasets of which the truth is known: no dataset of this "
            "study says which columns are relevant"
        )
    labels = {
        name: set(about["kinds"].get("categorical", ()))
        for name, about in results.about["datasets"].items()
    }
    is_cut = results.about.get("cut_at_relevant", False)
    values = np.full(results.rows.height, np.nan)
    computed: dict[tuple[object, ...], float] = {}  # learners share a selection
    rows = results.rows.select("dataset", "method", "split", "null_draw", "size").rows()
    for at, (*key, size) in enumerate(rows):
        selection_key = (*key, size)
        if selection_key not in computed:
            order, subset = orders.get(tuple(key), (None, False))
            truth = roles.get(key[0])
            if is_cut and order is not None and truth is not None and not subset:
                size = cut_at_relevant(order, size, truth)
            selected = None if order is None else order[:size]
            if selected is None:
                computed[selection_key] = np.nan
            elif metric == "categorical":
                computed[selection_key] = float(len(labels[key[0]].intersection(selected)))
            elif truth is None:
                computed[selection_key] = np.nan
            elif metric == "success":
                computed[selection_key] = success_index(selected, truth, ranked=not subset)
            else:
                computed[selection_key] = float(getattr(count_roles(selected, truth), metric))
        values[at] = computed[selection_key]
    return values
