r"""Columns that group the rows as a site or a batch does, and go with the class.

A column g is asked about if it goes with the class, bias-corrected V at least 0.5, and if many
columns of numbers differ between its levels *within* each class: with normal scores centred by
class, the share of columns with an F-test at p < 0.01, less 0.01, is at least 0.15, and larger than
for g permuted within the classes.

V is in :mod:`featly.diagnostics.association`. The rule is ours; how often it is wrong was measured.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import f as f_distribution

from featly.basics.typing import FloatArray, IntArray
from featly.core.counts.contingency import Tables, fisher
from featly.diagnostics.alarms.twins import normal_scores
from featly.diagnostics.association import corrected_v
from featly.diagnostics.reading import Rows

__all__ = ["Batch", "find_batches", "group_rows", "lag_correlation"]

LEVELS = 2, 30
ROWS_A_LEVEL = 5
LEAST_COLUMNS, MOST_COLUMNS = 20, 1000
LEAST_V, LEVEL = 0.5, 0.001
LEAST_SHARE, TEST = 0.15, 0.01
SHUFFLES = 199
MOST_ROWS = 5000
MOST_CANDIDATES = 1000  # columns that may be a batch; of more, some are drawn
MOST_SHUFFLED = 2000  # rows that are shuffled
FIRST_ROWS = 64  # that tell whether a column may have few values
LEAST_LAG = 0.2


@dataclass(frozen=True)
class Batch:
    """A column that groups the rows and goes with the class.

    Attributes
    ----------
    name : str
    v : float
        Bias-corrected V of the column and the class.
    share : float
        Share of the columns of numbers that differ between its levels within the classes.
    """

    name: str
    v: float
    share: float


def find_batches(
    rows: Rows,
    y: IntArray,
    n_classes: int,
    groupings: Sequence[tuple[int, IntArray]],
    *,
    random_state: int = 0,
) -> list[Batch]:
    """Find columns that look like a site or a batch which goes with the class.

    Parameters
    ----------
    rows : Rows
    y : int array of shape (n_rows,)
    n_classes : int
    groupings : sequence of (int, int array)
        Columns that may be one, and the group of every row, -1 where it is missing. Of more than
        1,000, as in a table of genotypes, so many are drawn.
    random_state : int, default=0
        Seed of the random numbers.
        They shuffle within the classes.
    """
    rng = np.random.default_rng(random_state)
    if len(groupings) > MOST_CANDIDATES:
        drawn = np.sort(rng.choice(len(groupings), MOST_CANDIDATES, replace=False))
        groupings = [groupings[k] for k in drawn.tolist()]
    candidates = [(f, groups) for f, groups in groupings if _are_sound(groups)]
    if not candidates:
        return []
    related = [(f, g, v) for f, g in candidates if (v := _relate(g, y, n_classes)) >= LEAST_V]
    related = [
        (f, g, v) for f, g, v in related
        if _p_of_table(g, y, n_classes) < LEVEL / len(candidates)
    ]  # fmt: skip
    batches = []
    for f, groups, v in related:
        columns = np.flatnonzero(rows.numeric != f)
        if len(columns) < LEAST_COLUMNS:
            continue
        if len(columns) > MOST_COLUMNS:
            columns = rng.choice(columns, MOST_COLUMNS, replace=False)
        drawn = np.flatnonzero(groups >= 0)
        if len(drawn) > MOST_SHUFFLED:
            drawn = np.sort(rng.choice(drawn, MOST_SHUFFLED, replace=False))
        is_in = np.zeros(len(groups), np.bool_)
        is_in[drawn] = True
        scores = _center_by_class(rows.numbers[is_in][:, columns], y[is_in], n_classes)
        share = _share_that_differs(scores, groups[is_in], n_classes)
        if share < LEAST_SHARE:
            continue
        shuffled = (_permute_within(groups[is_in], y[is_in], rng) for _ in range(SHUFFLES))
        if _is_rare(_share_that_differs(scores, g, n_classes) >= share for g in shuffled):
            batches.append(Batch(rows.names[f], v, share))
    return sorted(batches, key=lambda batch: -batch.share)


def _is_rare(reached: Iterable[bool]) -> bool:
    """Return whether so few shuffles reach what was seen that p is at most 0.01."""
    count = 0
    for is_reached in reached:
        count += is_reached
        if (1 + count) / (1 + SHUFFLES) > TEST:
            return False
    return True


def group_rows(rows: Rows, most: int) -> list[tuple[int, IntArray]]:
    """Return the columns of at most so many values: the group of every row, -1 where missing."""
    groups = [
        (f, codes.astype(np.int64) - 1)
        for f, codes, levels in zip(rows.categorical.tolist(), rows.codes, rows.levels, strict=True)
        if len(levels) <= most
    ]
    first = np.sort(rows.numbers[:FIRST_ROWS].T)  # missing values last
    n_distinct = 1 + (np.diff(first) > 0).sum(axis=1)
    for j in np.flatnonzero(n_distinct <= most).tolist():
        column = rows.numbers[:, j]
        is_missing = np.isnan(column)
        distinct, codes = np.unique(column[~is_missing], return_inverse=True)
        if len(distinct) <= most:
            numbered = np.full(len(column), -1, np.int64)
            numbered[~is_missing] = codes
            groups.append((int(rows.numeric[j]), numbered))
    return groups


def _are_sound(groups: IntArray) -> bool:
    """Return whether there are 2 to 30 groups of at least 5 rows."""
    counts = np.bincount(groups[groups >= 0])
    counts = counts[counts > 0]
    low, high = LEVELS
    return low <= len(counts) <= high and int(counts.min()) >= ROWS_A_LEVEL


def _table(groups: IntArray, y: IntArray, n_classes: int) -> IntArray:
    is_in = groups >= 0
    cells = groups[is_in] * n_classes + y[is_in]
    size = (int(groups.max()) + 1) * n_classes
    return np.bincount(cells, minlength=size).reshape(-1, n_classes)


def _relate(groups: IntArray, y: IntArray, n_classes: int) -> float:
    return corrected_v(_table(groups, y, n_classes).astype(np.float64))


def _p_of_table(groups: IntArray, y: IntArray, n_classes: int) -> float:
    table = _table(groups, y, n_classes)
    tables = Tables(table.reshape(-1), np.array([0, table.size]), n_classes)
    return float(np.exp(fisher(tables, n_jobs=1).log_p[0]))


def _center_by_class(numbers: FloatArray, y: IntArray, n_classes: int) -> FloatArray:
    """Return normal scores less the mean of their class; missing cells are 0."""
    scores = normal_scores(numbers)
    for c in range(n_classes):
        part = scores[y == c]
        known = ~np.isnan(part)
        mean = np.where(known, part, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        scores[y == c] = part - mean
    return np.nan_to_num(scores, nan=0.0)


def _share_that_differs(scores: FloatArray, groups: IntArray, n_classes: int) -> float:
    """Return the share of columns with an F-test between groups at p < 0.01, less 0.01."""
    counts = np.bincount(groups)
    present = counts > 0
    order = np.argsort(groups.astype(np.int16), kind="stable")  # few groups: a radix sort
    starts = np.concatenate([[0], np.cumsum(counts[present])[:-1]])
    sums = np.add.reduceat(scores[order], starts, axis=0)
    between = (sums**2 / counts[present][:, None]).sum(axis=0)
    total = (scores**2).sum(axis=0)
    d1 = int(present.sum()) - 1
    d2 = len(groups) - d1 - n_classes
    if d2 < 1:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(total > 0, (between / d1) / ((total - between) / d2), 0.0)
    return float((ratio > f_distribution.isf(TEST, d1, d2)).mean()) - TEST


def _permute_within(groups: IntArray, y: IntArray, rng: np.random.Generator) -> IntArray:
    permuted = groups.copy()
    for c in np.unique(y):
        members = np.flatnonzero(y == c)
        permuted[members] = groups[rng.permutation(members)]
    return permuted


def lag_correlation(
    numbers: FloatArray, y: IntArray, *, random_state: int = 0
) -> tuple[float, float]:
    """Return the mean correlation of a row with the next of its class, and its permutation p."""
    rng = np.random.default_rng(random_state)
    if numbers.shape[1] > MOST_COLUMNS:
        numbers = numbers[:, rng.choice(numbers.shape[1], MOST_COLUMNS, replace=False)]
    n_classes = int(y.max(initial=0)) + 1
    starts = [np.flatnonzero(y == c) for c in range(n_classes)]
    starts = [rows[: MOST_ROWS // n_classes] for rows in starts if len(rows) > 2]
    if not starts or numbers.shape[1] == 0:
        return 0.0, 1.0
    taken = np.concatenate(starts)
    scores = _center_by_class(numbers[taken], y[taken], n_classes)
    spread = np.sqrt((scores**2).mean(axis=0))
    scores = scores[:, spread > 1e-9] / spread[spread > 1e-9]
    if scores.shape[1] == 0:
        return 0.0, 1.0
    bounds = np.cumsum([0] + [len(rows) for rows in starts])
    parts = list(pairwise(bounds.tolist()))
    n_pairs = sum(high - low - 1 for low, high in parts)

    def mean_of_neighbours(order: IntArray) -> float:
        ordered = scores[order]
        total = sum(
            (ordered[low : high - 1] * ordered[low + 1 : high]).sum() for low, high in parts
        )
        return float(total / (n_pairs * scores.shape[1]))

    rows = np.arange(len(scores))
    observed = mean_of_neighbours(rows)
    if observed < LEAST_LAG:
        return observed, 1.0
    reached = 0
    for _ in range(SHUFFLES):
        order = np.concatenate([low + rng.permutation(high - low) for low, high in parts])
        reached += mean_of_neighbours(order) >= observed
        if (1 + reached) / (1 + SHUFFLES) > TEST:  # that is all that anybody asks
            break
    return observed, (1 + reached) / (1 + SHUFFLES)
