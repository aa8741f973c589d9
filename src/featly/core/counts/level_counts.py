"""Rows of every level of every column in every group, which can be added.

A level is known by its label: the value of a whole number, the number of an interval, or a number
that stands for a text. Batches of rows need not have the same levels: counts of equal labels are
added, others are put side by side, sorted. Whole counts are exact, so batches may come in any
order.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.contingency import Tables
from featly.core.runtime.question import question

__all__ = ["MISSING", "LevelCounts", "level_labels"]

MISSING = -np.inf  # the label of a missing value, which is the first of every column


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Rows of every level of every column in every group.

    Attributes
    ----------
    columns : int64 array of shape (n_entries,)
        Column of each entry; they rise.
    labels : float64 array of shape (n_entries,)
        Label of its level; they rise within a column. Every column has an entry for missing values.
    counts : int64 or float64 array of shape (n_entries, n_groups)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> codes = DenseCodes(np.array([[1, 2, 2, 0]], np.uint8), np.array([2]))
    >>> tables = codes.tables(np.array([0, 0, 1, 1]), 2)
    >>> batch = LevelCounts.from_tables(tables, level_labels(codes))
    >>> (batch + batch).tables().table(0).tolist()
    [[0, 2], [2, 0], [2, 2]]
    """

    columns: IntArray
    labels: FloatArray
    counts: AnyArray

    @classmethod
    def from_tables(cls, tables: Tables, labels: FloatArray) -> "LevelCounts":
        """Return the counts of tables whose first rows count missing values.

        `labels` has an entry for every row of every table; rows of no count are left out.
        """
        counts = tables.counts.reshape(-1, tables.n_classes)
        rows = np.diff(tables.start) // tables.n_classes
        columns = np.repeat(np.arange(len(tables)), rows)
        wanted = counts.any(axis=1) | (labels == MISSING)
        return cls(columns[wanted], labels[wanted], counts[wanted])

    def __add__(self, other: "LevelCounts") -> "LevelCounts":
        """Return the counts of the rows of both."""
        if np.array_equal(self.columns, other.columns) and np.array_equal(
            self.labels, other.labels
        ):
            return LevelCounts(self.columns, self.labels, self.counts + other.counts)
        columns = np.concatenate([self.columns, other.columns])
        labels = np.concatenate([self.labels, other.labels])
        order = np.lexsort((labels, columns))
        columns, labels = columns[order], labels[order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (columns[1:] != columns[:-1]) | (labels[1:] != labels[:-1])
        counts = np.concatenate([self.counts, other.counts])[order]
        starts = np.flatnonzero(is_first)
        return LevelCounts(columns[starts], labels[starts], np.add.reduceat(counts, starts, axis=0))

    def in_groups(self, positions: IntArray, n_groups: int) -> "LevelCounts":
        """Return the counts with the groups at other positions, among groups without a row."""
        counts = np.zeros((len(self.counts), n_groups), self.counts.dtype)
        counts[:, positions] = self.counts
        return LevelCounts(self.columns, self.labels, counts)

    def relabel(self, column: int, new_labels: FloatArray) -> "LevelCounts":
        """Return the counts with the labels 0, 1, ... of a column replaced, and sorted again."""
        part = slice(*np.searchsorted(self.columns, [column, column + 1]).tolist())
        labels, counts = self.labels.copy(), self.counts.copy()
        known = labels[part][1:].astype(np.int64)
        order = np.argsort(new_labels[known])
        labels[part][1:] = new_labels[known][order]
        counts[part][1:] = self.counts[part][1:][order]
        return LevelCounts(self.columns, labels, counts)

    def tables(self) -> Tables:
        """Return a table a column, whose first row counts missing values."""
        n_groups = self.counts.shape[1]
        starts = np.flatnonzero(self.labels == MISSING) * n_groups
        start = np.append(starts, self.counts.size).astype(np.int64)
        return Tables(np.ascontiguousarray(self.counts).reshape(-1), start, n_groups)


@question
def level_labels(codes: Codes) -> FloatArray:
    """Return the label of every level of every column: values where codes have them, or numbers.

    The first label of a column is that of missing values.
    """
    sizes = codes.n_levels + 1
    start = np.concatenate([[0], np.cumsum(sizes)])
    labels: Any = (np.arange(start[-1]) - np.repeat(start[:-1], sizes)).astype(np.float64)
    if codes.lowest is not None:
        labels += np.repeat(codes.lowest - 1.0, sizes)
        for column, values in codes.distinct.items():
            labels[start[column] + 1 : start[column + 1]] = values
    labels[start[:-1]] = MISSING
    return np.asarray(labels, np.float64)
