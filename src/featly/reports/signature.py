"""Facts about single columns: how often chosen, tested alone, and their alternatives."""

from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL, KINDS
from featly.basics.privacy import round_figures
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.diagnostics import associations
from featly.diagnostics.reading import read_rows
from featly.plots.table_columns import open_any, read_column, read_columns
from featly.reports.columns import column_facts, gives_rows_away
from featly.reports.context import Evidence
from featly.reports.missing import missing_facts

__all__ = ["MOST_CELLS", "feature_facts", "near_misses", "shown_scores"]

REDUNDANT = 0.7  # association from which a column is an alternative
MOST_ALTERNATIVES = 5  # named for a column
MOST_CELLS = 200_000_000  # of a table up to which its columns are looked at one by one
CHUNK_CELLS = 20_000_000  # associations in memory at a time


def feature_facts(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the facts about every column that is shown, best first."""
    chosen = evidence.signature_columns
    shown = evidence.order[: max(len(chosen), evidence.n_shown)]
    frequency = evidence.times_chosen[shown] / max(len(evidence.orders), 1)
    ranks = _ranks(evidence, shown)
    tests = _single_tests(evidence, shown)
    alternatives = _alternatives(evidence)
    withheld = _gives_rows_away(evidence, shown)
    scores = shown_scores(evidence, shown, withheld)
    columns = read_columns(evidence.table, chosen.tolist(), evidence.schema, evidence.names)
    codes, classes = evidence.shown_classes
    class_facts = {
        column.position: column_facts(column, classes, codes, individuals=evidence.individuals)
        for column in columns
    }
    figures = round_figures if not evidence.individuals else lambda value: value
    inside = set(chosen.tolist())
    missing = missing_facts(evidence)
    rows = []
    for k, position in enumerate(shown.tolist()):
        rows.append(
            {
                "position": position,
                "name": evidence.names[position],
                "kind": KINDS[evidence.data.kinds[position]],
                "rank": k + 1,
                "score": None if scores is None else scores[k],
                "selected": position in inside,
                "filler": bool(evidence.filler[position]),
                "frequency": float(frequency[k]),
                "ranks": None if ranks is None else [int(r) for r in ranks[:, k]],
                "p_value": None if withheld[k] else figures(tests["p"][k]),
                "q_value": None if withheld[k] else figures(tests["q"][k]),
                "test": tests["test"][k],
                "test_note": tests["note"][k],
                **(
                    {"alternatives": figures(alternatives.get(position, []))}
                    if position in inside
                    else {}
                ),
                **class_facts.get(position, {}),
                **({"missing": missing[position]} if position in missing else {}),
            }
        )
    return rows


def _gives_rows_away(evidence: Evidence, positions: IntArray) -> BoolArray:
    """Return which columns have counts so small that a score or a test would tell them."""
    withheld = np.zeros(len(positions), bool)
    if evidence.individuals:
        return withheld
    table = open_any(evidence.table)
    columns = evidence.schema.resolve(table.names, table.kinds())
    n_classes = len(evidence.classes)
    for k, position in enumerate(positions.tolist()):
        try:
            column = read_column(table, columns, position, evidence.names[position])
        except DataError:  # an infinite value
            withheld[k] = True
        else:
            withheld[k] = gives_rows_away(column, n_classes, evidence.data.codes)
    return withheld


def shown_scores(
    evidence: Evidence, positions: IntArray, withheld: BoolArray | None = None
) -> list[float | None] | None:
    """Return the scores of some columns; None if the method has none.

    Without individuals, those are rounded, and those that would give rows away are None.
    """
    scores = getattr(evidence.fitted_main, "scores_", None)
    if scores is None:
        return None
    values: list[float] = np.asarray(scores, dtype=np.float64)[positions].tolist()
    if evidence.individuals:
        return list(values)
    withheld = _gives_rows_away(evidence, positions) if withheld is None else withheld
    return [
        None if is_withheld else round_figures(value)
        for value, is_withheld in zip(values, withheld.tolist(), strict=True)
    ]


def _ranks(evidence: Evidence, shown: IntArray) -> FloatArray | None:
    """Return the quartiles of the ranks of columns over the splits."""
    p, orders = evidence.data.n_features, evidence.orders
    if not len(orders) or any(len(order) < p for order in orders):
        return None
    ranks = np.empty((len(orders), len(shown)))
    for k, order in enumerate(orders):
        position_of = np.empty(p, np.int64)
        position_of[order] = np.arange(p)
        ranks[k] = position_of[shown] + 1
    return np.percentile(ranks, [25, 50, 75], axis=0, method="nearest")


def near_misses(evidence: Evidence) -> list[dict[str, Any]]:
    """Return columns outside the signature that most splits would have chosen."""
    counts, n_splits = evidence.times_chosen.copy(), len(evidence.orders)
    counts[evidence.signature_columns] = 0
    often = np.flatnonzero(counts * 2 > n_splits)
    often = often[np.argsort(-counts[often], kind="stable")]
    return [{"name": evidence.names[c], "frequency": counts[c] / n_splits} for c in often.tolist()]


def _single_tests(evidence: Evidence, shown: IntArray) -> dict[str, list[Any]]:
    """Test each column by itself: a p-value, and the q-value among all columns."""
    from featly import UnivariateTest

    no_values: list[Any] = [None] * len(shown)
    try:
        data = evidence.data
        test = UnivariateTest(schema=evidence.kinds_of_data(), n_jobs=evidence.n_jobs)
        test.fit(data.X, data.y)
    except DataError:  # such as infinite values, or a sparse table
        return {"p": no_values, "q": no_values, "test": no_values, "note": no_values}
    return {
        "note": [tell_note(note, evidence.individuals) for note in test.note_[shown]],
        "p": test.p_value_[shown].tolist(),
        "q": test.q_value_[shown].tolist(),
        "test": [str(word) for word in test.test_[shown]],
    }


def tell_note(note: str, individuals: bool) -> str:
    """Return the note of a p-value, without a number of rows that may tell of single ones."""
    return note if individuals else note.partition(":")[0]


def _alternatives(evidence: Evidence) -> dict[int, list[dict[str, Any]]]:
    """Return, for each column of the signature, columns that are strongly associated with it."""
    data, chosen = evidence.data, evidence.signature_columns
    if data.n_rows * data.n_features > MOST_CELLS:
        return _alternatives_by_blocks(evidence)
    rows = read_rows(data.X, evidence.kinds_of_data())
    step = max(1, CHUNK_CELLS // data.n_features)
    alternatives: dict[int, list[dict[str, Any]]] = {}
    for low in range(0, len(chosen), step):
        part = chosen[low : low + step].tolist()
        for position, values in zip(part, associations(rows, part), strict=True):
            values[position] = 0.0
            similar = np.flatnonzero(values >= REDUNDANT)
            alternatives[position] = _nearest_columns(evidence, similar, values[similar])
    return alternatives


def _alternatives_by_blocks(evidence: Evidence) -> dict[int, list[dict[str, Any]]]:
    """Return the same for a large table of numbers, by blocks of columns."""
    from featly.diagnostics.redundancy import redundancy

    data, chosen = evidence.data, evidence.signature_columns
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
    except (DataError, ParameterError):  # infinite values, or too many pairs
        return {}
    alternatives = {}
    for position in chosen.tolist():
        directions = [(pairs["first"], pairs["second"]), (pairs["second"], pairs["first"])]
        similar = np.concatenate([target[source == position] for source, target in directions])
        values = np.concatenate([pairs["value"][source == position] for source, _ in directions])
        order = np.argsort(similar)
        alternatives[position] = _nearest_columns(evidence, similar[order], values[order])
    return alternatives


def _nearest_columns(
    evidence: Evidence, similar: IntArray, values: FloatArray
) -> list[dict[str, Any]]:
    """Return the nearest columns by name, and how many more there are."""
    inside = set(evidence.signature_columns.tolist())
    order = np.argsort(-values, kind="stable")
    nearest: list[dict[str, Any]] = [
        {
            "name": evidence.names[int(similar[k])],
            "association": float(values[k]),
            "selected": int(similar[k]) in inside,
        }
        for k in order[:MOST_ALTERNATIVES].tolist()
    ]
    if len(similar) > MOST_ALTERNATIVES:
        nearest.append({"more": len(similar) - MOST_ALTERNATIVES})
    return nearest
