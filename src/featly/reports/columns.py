"""Single columns against the classes: figures, and a sentence, for the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from featly.basics.privacy import (
    HIDDEN,
    PublishedCounts,
    bound_present,
    has_small_cell,
    hide_cells,
    private_percentiles,
)
from featly.basics.typing import FloatArray, IntArray
from featly.plots.table_columns import MOST_LEVELS, Column, few_levels, publish_levels

__all__ = ["column_facts", "gives_rows_away", "level_counts", "number"]

PERCENTILES = {"low": 5, "quartile_1": 25, "median": 50, "quartile_3": 75, "high": 95}
FEW_VALUES = MOST_LEVELS  # numbers with no more different values are looked at like levels


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
        tells_shares = individuals or not gives_rows_away(column, len(classes), y)
        return {"classes": rows, "words": _describe_numbers(rows, groups if tells_shares else [])}
    if not individuals:
        published = publish_levels(column, len(classes), y)
        return {
            "classes": _published_levels(classes, published),
            "words": _describe_levels(
                published.levels, classes, published.shares(), of_all=published.has_hidden_totals
            ),
        }
    levels, counts = level_counts(column, len(classes), y)
    rows = [_levels(label, levels, row) for label, row in zip(classes, counts, strict=True)]
    n = counts[:, 1:].sum(axis=1)
    shares = np.where(n[:, None] > 0, counts[:, 1:] / np.maximum(n, 1)[:, None], np.nan)
    return {"classes": rows, "words": _describe_levels(levels, classes, shares)}


def gives_rows_away(column: Column, n_classes: int, y: IntArray) -> bool:
    """Return whether few rows of a class share a level or value, so that a score may tell."""
    codes = column.codes
    if codes is None:
        assert column.numbers is not None
        values, codes = np.unique(column.numbers, return_inverse=True)
        if len(values) > FEW_VALUES:
            return False
    width = int(codes.max(initial=0)) + 1
    return has_small_cell(np.bincount(y * width + codes, minlength=n_classes * width))


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
    n, n_missing = len(present), len(values) - len(present)
    facts: dict[str, Any] = {"class": label, "n": n, "missing": n_missing}
    if individuals:
        figures = np.percentile(present, list(PERCENTILES.values())).tolist() if n else []
    else:
        if hide_cells(np.array([[n_missing, n]])).any():
            facts |= {"n": None, "missing": None}
        known = bound_present(len(values), n)
        figures = private_percentiles(present, list(PERCENTILES.values()), known)
    named = zip(PERCENTILES, figures, strict=bool(figures))
    return facts | {name: figure for name, figure in named if figure is not None}


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
    if len(rows) == 2 and len(with_median) == 2 and groups:
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


def _levels(label: str, levels: list[str], counts: IntArray) -> dict[str, Any]:
    n = int(counts[1:].sum())
    cells = [
        {"level": level, "count": f"{count:,}", "share": count / n if n else 0.0}
        for level, count in zip(levels, counts[1:].tolist(), strict=True)
    ]
    return {"class": label, "n": n, "missing": int(counts[0]), "levels": cells}


def _published_levels(classes: Sequence[str], published: PublishedCounts) -> list[dict[str, Any]]:
    """Return the counts that may be shown; of the others, that they are hidden."""
    rows = []
    shares = published.shares()
    for k, (label, n) in enumerate(zip(classes, published.n_present, strict=True)):
        cells = [
            {"level": level, "count": HIDDEN, "share": None}
            if published.hidden[k, j]
            else {"level": level, "count": f"{published.counts[k, j]:,}",
                  "share": float(shares[k, j - 1])}
            for j, level in enumerate(published.levels, start=1)
        ]  # fmt: skip
        missing = None if published.hidden[k, 0] else int(published.counts[k, 0])
        rows.append({"class": label, "n": n, "missing": missing, "levels": cells})
    return rows


def _describe_levels(
    levels: list[str], classes: Sequence[str], shares: FloatArray, *, of_all: bool = False
) -> str:
    """Describe the level whose shown shares differ most."""
    is_compared = (~np.isnan(shares)).sum(axis=0) >= 2
    if not is_compared.any():
        return "too few values to compare the classes"
    known = shares[:, is_compared]
    spread = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
    place = int(spread.round(12).argmax())  # the first of those that differ by rounding only
    if spread[place] == 0:
        return "every level is as frequent in each class"
    most, least = int(np.nanargmax(known[:, place])), int(np.nanargmin(known[:, place]))
    level = levels[int(np.flatnonzero(is_compared)[place])]
    return (
        f"'{level}' is in {known[most, place]:.0%} of {classes[most]} and in "
        f"{known[least, place]:.0%} of {classes[least]}"
        f"{' (of all rows, missing values among them)' if of_all else ''}"
    )


def number(value: float) -> str:
    """Return a number with at most four digits, and commas between thousands."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
