"""Single columns against the classes: figures, and a sentence, for the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from featly.basics.privacy import is_percentile_safe, mask_count
from featly.basics.typing import FloatArray, IntArray
from featly.plots.table_columns import Column, few_levels

__all__ = ["column_facts", "level_counts", "number"]

PERCENTILES = {"low": 5, "quartile_1": 25, "median": 50, "quartile_3": 75, "high": 95}


def column_facts(
    column: Column, classes: Sequence[str], y: IntArray, *, individuals: bool
) -> dict[str, Any]:
    """Summarise one column in each class, and describe the differences in a sentence.

    Without `individuals`, figures that rest on few rows are left out: see
    :mod:`featly.basics.privacy`.
    """
    if column.numbers is not None:
        groups = [column.numbers[y == k] for k in range(len(classes))]
        rows = [
            _numbers(label, group, individuals=individuals)
            for label, group in zip(classes, groups, strict=True)
        ]
        return {"classes": rows, "words": _describe_numbers(rows, groups)}
    levels, counts = level_counts(column, len(classes), y)
    rows = [
        _levels(label, levels, row, individuals=individuals)
        for label, row in zip(classes, counts, strict=True)
    ]
    return {"classes": rows, "words": _describe_levels(levels, rows, counts)}


def level_counts(column: Column, n_classes: int, y: IntArray) -> tuple[list[str], IntArray]:
    """Return levels, rare ones as one, and row counts: classes x (missing, levels)."""
    codes, levels, n_merged = few_levels(column)
    if n_merged:
        levels = [*levels, f"{n_merged} others"]
    width = len(levels) + 1
    counts = np.bincount(y * width + codes, minlength=n_classes * width)
    return levels, counts.reshape(n_classes, width)


def _numbers(label: str, values: FloatArray, *, individuals: bool) -> dict[str, Any]:
    present = values[~np.isnan(values)]
    facts: dict[str, Any] = {
        "class": label,
        "n": len(present),
        "missing": len(values) - len(present),
    }
    for name, percentile in PERCENTILES.items():
        if len(present) and (individuals or is_percentile_safe(percentile, len(present))):
            facts[name] = float(np.percentile(present, percentile))
    return facts


def _describe_numbers(rows: list[dict[str, Any]], groups: list[FloatArray]) -> str:
    with_median = [k for k, row in enumerate(rows) if "median" in row]
    if len(with_median) < 2:
        return "too few values to compare the classes"
    order = sorted(with_median, key=lambda k: rows[k]["median"])
    low, high = order[0], order[-1]
    if rows[low]["median"] == rows[high]["median"]:
        text = f"the median is {number(rows[low]['median'])} in every class"
    else:
        more, less = ("higher", " than") if len(rows) == 2 else ("highest", ", lowest")
        text = (
            f"{more} in {rows[high]['class']} (median {number(rows[high]['median'])}){less} in "
            f"{rows[low]['class']} ({number(rows[low]['median'])})"
        )
    if len(rows) == 2 and len(with_median) == 2:
        share = _share_larger(groups[high], groups[low])
        text += (
            f"; of two rows, one of each class, that of {rows[high]['class']} has the higher value "
            f"in {share:.0%} of cases (50% is chance)"
        )
    return text


def _share_larger(a: FloatArray, b: FloatArray) -> float:
    """Return how often a value of a is larger than one of b, ties as halves."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    ranks = stats.rankdata(np.concatenate([a, b]))[: len(a)]
    return float((ranks.sum() - len(a) * (len(a) + 1) / 2) / (len(a) * len(b)))


def _levels(
    label: str, levels: list[str], counts: IntArray, *, individuals: bool
) -> dict[str, Any]:
    n = int(counts[1:].sum())
    cells = []
    for level, count in zip(levels, counts[1:].tolist(), strict=True):
        share = count / n if n else 0.0
        cells.append(
            {
                "level": level,
                "count": mask_count(count, individuals=individuals),
                "share": round(share, 1) if not individuals else share,
            }
        )
    return {"class": label, "n": n, "missing": int(counts[0]), "levels": cells}


def _describe_levels(levels: list[str], rows: list[dict[str, Any]], counts: IntArray) -> str:
    n = counts[:, 1:].sum(axis=1)
    with_rows = np.flatnonzero(n)
    if len(with_rows) < 2 or not levels:
        return "too few values to compare the classes"
    shares = counts[with_rows, 1:] / n[with_rows, None]
    spread = shares.max(axis=0) - shares.min(axis=0)
    k = int(spread.round(12).argmax())  # the first of levels that differ by rounding errors only
    most, least = with_rows[shares[:, k].argmax()], with_rows[shares[:, k].argmin()]
    if spread[k] == 0:
        return "every level is as frequent in each class"
    cells = [rows[c]["levels"][k] for c in (most, least)]
    return (
        f"'{levels[k]}' is in {cells[0]['share']:.0%} of {rows[most]['class']} and in "
        f"{cells[1]['share']:.0%} of {rows[least]['class']}"
    )


def number(value: float) -> str:
    """Return a number with at most four digits, and commas between thousands."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
