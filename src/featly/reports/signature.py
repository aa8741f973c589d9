"""What a report tells of single columns: how often chosen, how alone, what says the same."""

from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL, KINDS
from featly.diagnostics import associations
from featly.diagnostics.reading import read_rows
from featly.plots.table_columns import read_columns
from featly.reports.columns import column_facts
from featly.reports.context import Evidence

__all__ = ["MOST_CELLS", "feature_facts", "near_misses"]

REDUNDANT = 0.7  # associations from here on are told
MOST_ALTERNATIVES = 5
MOST_CELLS = 200_000_000  # of tables whose columns are looked at one by one
CHUNK_CELLS = 20_000_000  # of associations that are held at a time


def feature_facts(evidence: Evidence) -> list[dict[str, Any]]:
    """What is told of every column that is shown, best first."""
    chosen = evidence.chosen
    shown = evidence.order[: max(len(chosen), evidence.n_shown)]
    frequency = evidence.times_chosen[shown] / max(len(evidence.orders), 1)
    ranks = _ranks(evidence, shown)
    alone = _alone(evidence, shown)
    alternatives = _alternatives(evidence)
    scores = getattr(evidence.fitted_main, "scores_", None)
    columns = read_columns(evidence.table, chosen.tolist(), evidence.schema, evidence.names)
    looks = {
        column.position: column_facts(
            column, evidence.classes, evidence.data.codes, individuals=evidence.individuals
        )
        for column in columns
    }
    inside = set(chosen.tolist())
    found = []
    for k, position in enumerate(shown.tolist()):
        found.append(
            {
                "position": position,
                "name": evidence.names[position],
                "kind": KINDS[evidence.data.kinds[position]],
                "rank": k + 1,
                "score": None if scores is None else float(scores[position]),
                "selected": position in inside,
                "frequency": float(frequency[k]),
                "ranks": None if ranks is None else [int(r) for r in ranks[:, k]],
                "p_value": alone["p"][k],
                "q_value": alone["q"][k],
                "test": alone["test"][k],
                **({"alternatives": alternatives.get(position, [])} if position in inside else {}),
                **looks.get(position, {}),
            }
        )
    return found


def _ranks(evidence: Evidence, shown: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
    """Quartiles of the ranks that columns have in the splits."""
    p, orders = evidence.data.n_features, evidence.orders
    if not len(orders) or any(len(order) < p for order in orders):
        return None
    ranks = np.empty((len(orders), len(shown)))
    for k, order in enumerate(orders):
        place = np.empty(p, np.int64)
        place[order] = np.arange(p)
        ranks[k] = place[shown] + 1
    return np.percentile(ranks, [25, 50, 75], axis=0, method="nearest")


def near_misses(evidence: Evidence) -> list[dict[str, Any]]:
    """Columns outside the signature that most splits would have chosen."""
    counts, n_splits = evidence.times_chosen.copy(), len(evidence.orders)
    counts[evidence.chosen] = 0
    often = np.flatnonzero(counts * 2 > n_splits)
    often = often[np.argsort(-counts[often], kind="stable")]
    return [{"name": evidence.names[c], "frequency": counts[c] / n_splits} for c in often.tolist()]


def _alone(evidence: Evidence, shown: npt.NDArray[np.int64]) -> dict[str, list[Any]]:
    """What each column tells by itself: a p-value, and the q-value among all columns."""
    from featly import UnivariateTest

    nothing: list[Any] = [None] * len(shown)
    try:
        data = evidence.data
        test = UnivariateTest(schema=evidence.kinds_of_data(), n_jobs=evidence.n_jobs)
        test.fit(data.X, data.y)
    except DataError:  # such as infinite values, or sparse columns that it does not take
        return {"p": nothing, "q": nothing, "test": nothing}
    return {
        "p": test.p_value_[shown].tolist(),
        "q": test.q_value_[shown].tolist(),
        "test": [str(word) for word in test.test_[shown]],
    }


def _alternatives(evidence: Evidence) -> dict[int, list[dict[str, Any]]]:
    """Columns that tell much the same as one of the signature."""
    data, chosen = evidence.data, evidence.chosen
    if data.n_rows * data.n_features > MOST_CELLS:
        return _alternatives_of_many(evidence)
    rows = read_rows(data.X, evidence.kinds_of_data())
    step = max(1, CHUNK_CELLS // data.n_features)
    found: dict[int, list[dict[str, Any]]] = {}
    for low in range(0, len(chosen), step):
        part = chosen[low : low + step].tolist()
        for position, values in zip(part, associations(rows, part), strict=True):
            values[position] = 0.0
            near = np.flatnonzero(values >= REDUNDANT)
            found[position] = _listed(evidence, near, values[near])
    return found


def _alternatives_of_many(evidence: Evidence) -> dict[int, list[dict[str, Any]]]:
    """The same of a large table of numbers, which is read by blocks of columns and not copied."""
    from featly.diagnostics.redundancy import redundancy

    data, chosen = evidence.data, evidence.chosen
    if (data.kinds == CATEGORICAL).any():
        return {}
    try:
        pairs = redundancy(
            data.X,
            threshold=REDUNDANT,
            columns=chosen.tolist(),
            measure="spearman",
            schema=evidence.kinds_of_data(),
            n_jobs=evidence.n_jobs,
        ).pairs
    except (DataError, ParameterError):  # infinite values, or most columns tell the same
        return {}
    found = {}
    for position in chosen.tolist():
        others = [(pairs["first"], pairs["second"]), (pairs["second"], pairs["first"])]
        near = np.concatenate([other[own == position] for own, other in others])
        values = np.concatenate([pairs["value"][own == position] for own, _ in others])
        order = np.argsort(near)
        found[position] = _listed(evidence, near[order], values[order])
    return found


def _listed(
    evidence: Evidence, near: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> list[dict[str, Any]]:
    """The nearest columns by name, and how many more there are."""
    inside = set(evidence.chosen.tolist())
    order = np.argsort(-values, kind="stable")
    found: list[dict[str, Any]] = [
        {
            "name": evidence.names[int(near[k])],
            "association": float(values[k]),
            "selected": int(near[k]) in inside,
        }
        for k in order[:MOST_ALTERNATIVES].tolist()
    ]
    if len(near) > MOST_ALTERNATIVES:
        found.append({"more": len(near) - MOST_ALTERNATIVES})
    return found
