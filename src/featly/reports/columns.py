"""Single columns against the classes: what a page tells of each that it shows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.privacy import count_told, percentile_told
from featly.plots.table_columns import Column, few_levels

__all__ = ["column_facts", "level_counts", "number"]

PERCENTILES = {"low": 5, "quartile_1": 25, "median": 50, "quartile_3": 75, "high": 95}


# ---- in figures ----------------------------------------------------------------------------------
def column_facts(
    column: Column, classes: Sequence[str], y: npt.NDArray[np.int64], *, individuals: bool
) -> dict[str, Any]:
    """What one column looks like in each class, and in a sentence how they differ.

    Without `individuals`, nothing is told that rests on few rows: see
    :mod:`featly.basics.privacy`.
    """
    if column.numbers is not None:
        groups = [column.numbers[y == k] for k in range(len(classes))]
        rows = [
            _numbers(label, group, individuals=individuals)
            for label, group in zip(classes, groups, strict=True)
        ]
        return {"classes": rows, "words": _numbers_in_words(rows, groups)}
    levels, counts = level_counts(column, len(classes), y)
    rows = [
        _levels(label, levels, row, individuals=individuals)
        for label, row in zip(classes, counts, strict=True)
    ]
    return {"classes": rows, "words": _levels_in_words(levels, rows, counts)}


def level_counts(
    column: Column, n_classes: int, y: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Levels, rare ones of many as one; and classes x (missing, levels), in how many rows."""
    codes, levels, n_merged = few_levels(column)
    if n_merged:
        levels = [*levels, f"{n_merged} others"]
    width = len(levels) + 1
    counts = np.bincount(y * width + codes, minlength=n_classes * width)
    return levels, counts.reshape(n_classes, width)


def _numbers(label: str, values: npt.NDArray[np.float64], *, individuals: bool) -> dict[str, Any]:
    there = values[~np.isnan(values)]
    found: dict[str, Any] = {"class": label, "n": len(there), "missing": len(values) - len(there)}
    for name, percentile in PERCENTILES.items():
        if len(there) and (individuals or percentile_told(percentile, len(there))):
            found[name] = float(np.percentile(there, percentile))
    return found


def _numbers_in_words(rows: list[dict[str, Any]], groups: list[npt.NDArray[np.float64]]) -> str:
    known = [k for k, row in enumerate(rows) if "median" in row]
    if len(known) < 2:
        return "too few values to compare the classes"
    order = sorted(known, key=lambda k: rows[k]["median"])
    low, high = order[0], order[-1]
    if rows[low]["median"] == rows[high]["median"]:
        told = f"the median is {number(rows[low]['median'])} in every class"
    else:
        told = (
            f"highest in {rows[high]['class']} (median {number(rows[high]['median'])}), lowest in "
            f"{rows[low]['class']} ({number(rows[low]['median'])})"
        )
        if len(rows) == 2:
            told = told.replace("highest", "higher").replace(", lowest in", " than in")
    if len(rows) == 2 and len(known) == 2:
        share = _larger(groups[high], groups[low])
        told += (
            f"; of two rows, one of each class, that of {rows[high]['class']} has the higher value "
            f"in {share:.0%} of cases (50% is chance)"
        )
    return told


def _larger(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """How often a value of a is larger than one of b, ties as halves."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    ranks = stats.rankdata(np.concatenate([a, b]))[: len(a)]
    return float((ranks.sum() - len(a) * (len(a) + 1) / 2) / (len(a) * len(b)))


def _levels(
    label: str, levels: list[str], counts: npt.NDArray[np.int64], *, individuals: bool
) -> dict[str, Any]:
    n = int(counts[1:].sum())
    cells = []
    for level, count in zip(levels, counts[1:].tolist(), strict=True):
        share = count / n if n else 0.0
        cells.append(
            {
                "level": level,
                "count": count_told(count, individuals=individuals),
                "share": round(share, 1) if not individuals else share,
            }
        )
    return {"class": label, "n": n, "missing": int(counts[0]), "levels": cells}


def _levels_in_words(
    levels: list[str], rows: list[dict[str, Any]], counts: npt.NDArray[np.int64]
) -> str:
    n = counts[:, 1:].sum(axis=1)
    known = np.flatnonzero(n)
    if len(known) < 2 or not levels:
        return "too few values to compare the classes"
    shares = counts[known, 1:] / n[known, None]
    spread = shares.max(axis=0) - shares.min(axis=0)
    k = int(spread.round(12).argmax())  # the first of those that differ by rounding alone
    most, least = known[shares[:, k].argmax()], known[shares[:, k].argmin()]
    if spread[k] == 0:
        return "every level is as frequent in each class"
    cells = [rows[c]["levels"][k] for c in (most, least)]
    return (
        f"'{levels[k]}' is in {cells[0]['share']:.0%} of {rows[most]['class']} and in "
        f"{cells[1]['share']:.0%} of {rows[least]['class']}"
    )


def number(value: float) -> str:
    """A number as people write it: four digits at most, thousands apart."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
