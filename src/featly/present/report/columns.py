"""Single columns against the classes: what a page tells of each that it shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.diagnostics.reading import read_rows
from featly.frames import ArrayTable, is_frame, open_table, take_columns
from featly.kinds import CATEGORICAL, CONTINUOUS, KINDS, ORDINAL
from featly.present.privacy import count_told, percentile_told
from featly.schema import Schema

__all__ = [
    "Column",
    "column_facts",
    "few_levels",
    "level_counts",
    "number",
    "read_columns",
]

MOST_LEVELS = 12  # that are told one by one; rarer ones are told together
OTHERS = "others"
PERCENTILES = {"low": 5, "quartile_1": 25, "median": 50, "quartile_3": 75, "high": 95}


@dataclass(frozen=True)
class Column:
    """The cells of one column.

    Attributes
    ----------
    position : int
    name, kind : str
    numbers : float array or None
        Of continuous columns, missing as NaN.
    codes : int array or None
        Of categorical and ordinal columns, 0 where missing.
    levels : list of str
        What the codes 1, 2, ... stand for.
    """

    position: int
    name: str
    kind: str
    numbers: npt.NDArray[np.float64] | None
    codes: npt.NDArray[np.int64] | None
    levels: list[str]


def read_columns(
    X: Any, positions: Sequence[int], schema: Schema, names: Sequence[str]
) -> list[Column]:
    """Some columns of a table, with the names of their levels."""
    if not len(positions):
        return []
    wanted = [int(position) for position in positions]
    if is_frame(X):
        part = take_columns(X, wanted)
    else:
        part = X[:, wanted]
        part = part.toarray() if hasattr(part, "toarray") else part
    table = open_table(part) if is_frame(part) or part.dtype.kind in "OUST" else ArrayTable(part)
    inferred: Any = (
        table.kinds() if not isinstance(table, ArrayTable) else np.full(len(wanted), CONTINUOUS)
    )
    kinds, levels = _declared(X, schema, wanted, inferred)
    own = Schema(
        categorical=np.flatnonzero(kinds == CATEGORICAL).tolist(),
        ordinal={k: levels[k] for k in range(len(wanted)) if kinds[k] == ORDINAL and k in levels}
        or np.flatnonzero(kinds == ORDINAL).tolist(),
        continuous=[k for k in range(len(wanted)) if kinds[k] == CONTINUOUS != inferred[k]],
    )
    rows = read_rows(part, own)
    place = {int(f): k for k, f in enumerate(rows.categorical)}
    numeric = {int(f): k for k, f in enumerate(rows.numeric)}
    found = []
    for k, position in enumerate(wanted):
        kind, numbers, codes, told = KINDS[kinds[k]], None, None, []
        if k in place:
            codes = rows.codes[place[k]]
            told = [str(level) for level in rows.levels[place[k]]]
        else:
            numbers = rows.numbers[:, numeric[k]]
            if kinds[k] == ORDINAL:
                named = levels.get(k)
                if named is None and inferred[k] != CONTINUOUS:
                    named = table.texts(k)[1]
                codes, told = _steps(numbers, named)
                numbers = None
        found.append(Column(position, str(names[position]), kind, numbers, codes, told))
    return found


def _declared(
    X: Any, schema: Schema, wanted: list[int], inferred: Any
) -> tuple[npt.NDArray[np.uint8], dict[int, list[Any]]]:
    """The kinds of some columns, and the levels that a schema gives them."""
    if is_frame(X) or getattr(getattr(X, "dtype", None), "kind", "") in "OUST":
        whole = open_table(X)
        names: Any = whole.names
        all_kinds: Any = np.full(len(names), CONTINUOUS, np.uint8)
    else:
        names = (
            ArrayTable(X).names
            if not hasattr(X, "indptr")
            else [f"x{j}" for j in range(X.shape[1])]
        )
        all_kinds = np.full(len(names), CONTINUOUS, np.uint8)
    all_kinds[wanted] = inferred
    columns = schema.resolve(names, all_kinds)
    place = {position: k for k, position in enumerate(wanted)}
    levels = {place[j]: list(order) for j, order in columns.levels.items() if j in place}
    return columns.kinds[wanted], levels


def _steps(
    numbers: npt.NDArray[np.float64], named: Sequence[Any] | None
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """An ordinal column as codes, and what its steps are called."""
    present = ~np.isnan(numbers)
    codes = np.zeros(len(numbers), np.int64)
    if named is not None:
        codes[present] = numbers[present].astype(np.int64) + 1
        return codes, [str(level) for level in named]
    steps = np.unique(numbers[present])
    codes[present] = np.searchsorted(steps, numbers[present]) + 1
    return codes, [f"{step:g}" for step in steps]


# ---- in figures ----------------------------------------------------------------------------------
def column_facts(
    column: Column, classes: Sequence[str], y: npt.NDArray[np.int64], *, individuals: bool
) -> dict[str, Any]:
    """What one column looks like in each class, and in a sentence how they differ.

    Without `individuals`, nothing is told that rests on few rows: see
    :mod:`featly.present.privacy`.
    """
    if column.numbers is not None:
        groups = [column.numbers[y == k] for k in range(len(classes))]
        rows = [
            _numbers(label, group, individuals=individuals)
            for label, group in zip(classes, groups, strict=True)
        ]
        return {"classes": rows, "words": _numbers_in_words(rows, groups)}
    counts = level_counts(column, len(classes), y)
    levels, counts = few_levels(column, counts)
    rows = [
        _levels(label, levels, row, individuals=individuals)
        for label, row in zip(classes, counts, strict=True)
    ]
    return {"classes": rows, "words": _levels_in_words(levels, rows, counts)}


def level_counts(column: Column, n_classes: int, y: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Classes x (missing, levels): in how many rows each occurs."""
    assert column.codes is not None
    width = len(column.levels) + 1
    return np.bincount(y * width + column.codes, minlength=n_classes * width).reshape(
        n_classes, width
    )


def few_levels(
    column: Column, counts: npt.NDArray[np.int64]
) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The levels that occur, rare ones of many together."""
    total = counts[:, 1:].sum(axis=0)
    occurs = np.flatnonzero(total)
    if len(occurs) <= MOST_LEVELS:
        kept = [0, *(occurs + 1)]
        return [column.levels[k] for k in occurs], counts[:, kept]
    first = occurs[np.argsort(-total[occurs], kind="stable")[: MOST_LEVELS - 1]]
    first = np.sort(first)
    rest = np.setdiff1d(occurs, first)
    joined = counts[:, rest + 1].sum(axis=1, keepdims=True)
    levels = [*(column.levels[k] for k in first), f"{len(rest)} {OTHERS}"]
    return levels, np.hstack([counts[:, [0, *(first + 1)]], joined])


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
