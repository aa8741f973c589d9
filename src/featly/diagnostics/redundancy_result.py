"""Result of a comparison of all pairs of columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from featly.basics.errors import ParameterError
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.table.frames import frame_of

__all__ = ["Redundancy"]


PAIR = np.dtype([("first", np.int64), ("second", np.int64), ("value", np.float64)])


@dataclass(frozen=True, repr=False, eq=False)
class Redundancy:
    """Result of :func:`redundancy`.

    Attributes
    ----------
    measure : str
    threshold : float or None
    neighbours : int array of shape (n_features, k), or None
        For each column, the positions of the columns most redundant to it, best first, ties by
        position; -1 where no more have a value above 0.
    values : float array of shape (n_features, k), or None
        Redundancy of each neighbour; 0 where there is none.
    names : sequence of str
    library : str or None
        The frame library of the table.
    """

    measure: str
    threshold: float | None
    threshold_pairs: tuple[IntArray, IntArray, FloatArray] | None
    neighbours: IntArray | None
    values: FloatArray | None
    names: Sequence[str]
    library: str | None

    @cached_property
    def pairs(self) -> AnyArray:
        """Structured array with the fields first, second, value, where ``first < second``.

        Sorted by falling value, then by first and second. With a threshold, every pair that
        reaches it; with neighbours, every pair of a column and one of its neighbours.
        """
        if self.threshold_pairs is not None:
            first, second, value = self.threshold_pairs
        else:
            assert self.neighbours is not None
            assert self.values is not None
            feature, slot = np.nonzero(self.neighbours >= 0)
            other = self.neighbours[feature, slot]
            first, second = np.minimum(feature, other), np.maximum(feature, other)
            _, unique_pairs = np.unique(first * len(self.names) + second, return_index=True)
            value = self.values[feature[unique_pairs], slot[unique_pairs]]
            first, second = first[unique_pairs], second[unique_pairs]
        order = np.lexsort((second, first, -value))
        pairs = np.empty(len(value), PAIR)
        pairs["first"], pairs["second"], pairs["value"] = first[order], second[order], value[order]
        return pairs

    @cached_property
    def groups(self) -> IntArray:
        """Number of every column's group: columns are in one group if pairs connect them.

        Groups are numbered by their first column; a column without a pair is a group by itself.
        """
        if self.threshold is None:
            raise ParameterError("groups are those above a threshold: give redundancy a threshold")
        p = len(self.names)
        links = np.ones(len(self.pairs), np.int8), (self.pairs["first"], self.pairs["second"])
        graph = scipy.sparse.coo_array(links, shape=(p, p)).tocsr()
        labels = connected_components(graph, directed=False)[1].astype(np.int64)
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        number = np.empty(len(first), np.int64)
        number[np.argsort(first)] = np.arange(len(first))
        return np.asarray(number[inverse.reshape(-1)])

    @cached_property
    def representatives(self) -> IntArray:
        """One column of every group: that in most pairs, or the first of several."""
        groups = self.groups
        partners = np.bincount(
            np.concatenate([self.pairs["first"], self.pairs["second"]]), minlength=len(groups)
        )
        order = np.lexsort((np.arange(len(groups)), -partners, groups))
        starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
        return np.asarray(order[starts])

    def table(self) -> Any:
        """Return the outcome as a frame with the names of the columns.

        Returns
        -------
        frame
            With a threshold: first, second, value, one row for each pair. With neighbours:
            feature, neighbour, rank, value. Of the library of the table; polars for arrays.
        """
        if self.neighbours is None or self.values is None:
            return frame_of(
                {
                    "first": self._names_of(self.pairs["first"]),
                    "second": self._names_of(self.pairs["second"]),
                    "value": self.pairs["value"].copy(),
                },
                self.library,
            )
        feature, slot = np.nonzero(self.neighbours >= 0)
        return frame_of(
            {
                "feature": self._names_of(feature),
                "neighbour": self._names_of(self.neighbours[feature, slot]),
                "rank": slot + 1,
                "value": self.values[feature, slot],
            },
            self.library,
        )

    def group_table(self) -> Any:
        """Return groups of two columns or more as a frame, the largest group first.

        Returns
        -------
        frame
            group, from 1 on; feature; representative, the column in most pairs of its group;
            n_columns of the group. The representative is the first row of its group.
        """
        groups, leaders = self.groups, self.representatives
        sizes = np.bincount(groups)
        order = np.lexsort((np.arange(len(sizes)), -sizes))
        order = order[sizes[order] > 1]
        number = np.zeros(len(sizes), np.int64)
        number[order] = np.arange(1, len(order) + 1)
        inside = np.flatnonzero(number[groups] > 0)
        first = leaders[groups[inside]]
        inside = inside[np.lexsort((inside, inside != first, number[groups[inside]]))]
        return frame_of(
            {
                "group": number[groups[inside]],
                "feature": self._names_of(inside),
                "representative": self._names_of(leaders[groups[inside]]),
                "n_columns": sizes[groups[inside]],
            },
            self.library,
        )

    def _names_of(self, columns: IntArray) -> list[str]:
        return [self.names[column] for column in columns.tolist()]

    def text(self) -> str:
        """Summarise in a line or two."""
        p = len(self.names)
        if self.threshold is None:
            assert self.neighbours is not None
            count = self.neighbours.shape[1]
            return f"the {count} nearest of each of {_plural(p, 'column')}, by {self.measure}"
        n_pairs, n_groups = len(self.pairs), len(self.representatives)
        if not n_pairs:
            return (
                f"no pair of {_plural(p, 'column')} reaches {self.threshold:g}, by {self.measure}"
            )
        n_inside = int((np.bincount(self.groups)[self.groups] > 1).sum())
        n_redundant = n_inside - (n_groups - (p - n_inside))
        return (
            f"{_plural(n_pairs, 'pair')} of {_plural(p, 'column')} "
            f"{'reaches' if n_pairs == 1 else 'reach'} {self.threshold:g}, by {self.measure}\n"
            f"{_plural(n_inside, 'column')} in {_plural(n_inside - n_redundant, 'group')}: "
            f"{n_redundant:,} could be left out, one of each group kept"
        )

    __str__ = text

    def __repr__(self) -> str:
        return f"<Redundancy: {self.text().splitlines()[0]}>"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"
