"""Rows of tables as counts and means, small enough to be committed."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from featly.measures.stability import nogueira_stability
from studies.calibration.figures import STABLE_SIZES, Row
from studies.calibration.laws import Law
from studies.calibration.parts import Part

__all__ = ["summarise"]

FEWEST_FRESH = 10  # tables that the stability between fresh tables needs
MOST_WARNINGS = 5


def summarise(part: Part, laws: Iterable[Law], rows: list[Row]) -> dict[str, Any]:
    """Return, for every law, what was counted and averaged over its tables."""
    document = {}
    for law in laws:
        mine = [row for row in rows if row["law"] == law.name]
        good = [row for row in mine if "error" not in row]
        if not mine:
            continue
        figures = _count([part.figures(row) for row in good])
        if good and "best" in good[0]:
            figures |= fresh_stability(good)
        document[law.name] = {
            "signal": law.signal,
            "hash": law.fingerprint(),
            "tables": len(mine),
            "seconds": round(sum(row["seconds"] for row in mine), 1),
            "figures": figures,
        }
        document[law.name] |= _texts(mine)
    return document


def _count(rows: list[dict[str, bool | float | None]]) -> dict[str, dict[str, float]]:
    """Return how often each sentence is true, and means; tables that say nothing are left out."""
    figures: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        if not values:
            continue
        if isinstance(values[0], bool | np.bool_):
            figures[name] = {"yes": int(np.sum(values)), "of": len(values)}
        else:
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            figures[name] = {
                "mean": round(float(np.mean(values)), 5),
                "sd": round(spread, 5),
                "of": len(values),
            }
    return figures


def fresh_stability(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Return the stability between the tables of a law, and how often an interval holds it.

    The tables are fresh draws from one population, so the agreement of their best columns is what
    "would other rows have given the same columns?" asks for.
    """
    figures: dict[str, dict[str, float]] = {}
    if len(rows) < FEWEST_FRESH:
        return figures
    for size in STABLE_SIZES:
        if size >= rows[0]["columns"]:
            continue
        best = [row["best"][:size] for row in rows]
        fresh = float(nogueira_stability(best, rows[0]["columns"]).value)
        figures[f"stability of {size} fresh"] = {
            "mean": round(fresh, 5),
            "sd": 0.0,
            "of": len(rows),
        }
        stated = [row.get("stability", {}).get(str(size)) for row in rows]
        intervals = [
            values[1:] for values in stated if values is not None and values[1] is not None
        ]
        if intervals:
            figures[f"stability interval of {size} holds fresh"] = {
                "yes": sum(lower <= fresh <= upper for lower, upper in intervals),
                "of": len(intervals),
            }
    return figures


def _texts(rows: list[Row]) -> dict[str, Any]:
    """Return the answers, warnings and errors of the tables of a law, with how often each came."""
    answers: dict[str, Counter[str]] = {}
    for row in rows:
        for question, answer in row.get("answers", {}).items():
            answers.setdefault(question, Counter())[answer] += 1
    warnings = Counter(text for row in rows for text in row.get("warnings", ()))
    errors = Counter(row["error"] for row in rows if "error" in row)
    texts = {
        "answers": {question: dict(counts) for question, counts in answers.items()},
        "warnings": dict(warnings.most_common(MOST_WARNINGS)),
        "errors": dict(errors.most_common(MOST_WARNINGS)),
    }
    return {name: counts for name, counts in texts.items() if counts}
