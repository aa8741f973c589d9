"""Lists of features as a table of positions, checked and completed.

Positions are stored doubled, as whole numbers: features that tie have the mean of their positions,
which is a whole number or a half. Sums of whole numbers do not depend on the order of the lists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray

__all__ = ["Lists", "positions_of", "read_lists"]


@dataclass(frozen=True)
class Lists:
    """Lists of features as checked positions.

    Attributes
    ----------
    doubled : int64 array of shape (n_features, n_lists)
        Twice the position; 0 if a list does not hold a feature.
    lengths : int64 array of shape (n_lists,)
        Number of positions of each list.
    counts : int64 array of shape (n_features,)
        Number of lists that hold each feature.
    """

    doubled: IntArray
    lengths: IntArray
    counts: IntArray

    def last_ranks(self) -> IntArray:
        """Return the last of the ranks that tied features share; 0 where not listed."""
        last = np.zeros_like(self.doubled)
        for j, column in enumerate(self.doubled.T):
            sharing = np.bincount(column)[column]
            last[:, j] = np.where(column > 0, (column + sharing - 1) // 2, 0)
        return last


def read_lists(positions: npt.ArrayLike, unlisted: str) -> Lists:
    """Check a table of positions.

    Parameters
    ----------
    positions : array of shape (n_features, n_lists)
        1 = best, NaN = not in that list.
    unlisted : {"last", "unknown"}
        Features that a list omits share the positions after it, or have none.
    """
    table = _check_table(positions)
    p, n_lists = table.shape
    columns = np.ascontiguousarray(table.T)
    doubled_rows = np.empty(columns.shape, np.int64)
    lengths = np.empty(n_lists, np.int64)
    for j in range(n_lists):
        doubled_rows[j], lengths[j] = _read_list(columns[j], j)
    doubled = np.ascontiguousarray(doubled_rows.T)
    if unlisted == "last":
        doubled = np.where(doubled > 0, doubled, lengths + 1 + p)
        lengths = np.full(n_lists, p)
    counts = np.count_nonzero(doubled, axis=1)
    if not counts.all():
        raise DataError(
            f"feature {int(np.flatnonzero(counts == 0)[0])} is in no list: leave it out, or use "
            "unlisted='last'"
        )
    return Lists(doubled, lengths, counts)


def _check_table(positions: npt.ArrayLike) -> FloatArray:
    try:
        table = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "positions are no table of numbers: give one row a feature and one column a list, or "
            "use positions_of for lists of names"
        ) from None
    if table.ndim != 2:
        raise DataError(
            f"positions have {table.ndim} dimension{'s' * (table.ndim != 1)}: give one row a "
            "feature and one column a list"
        )
    if 0 in table.shape:
        raise DataError(
            f"positions of {table.shape[0]} features in {table.shape[1]} lists: give at least one "
            "of both"
        )
    return table


def _read_list(column: FloatArray, j: int) -> tuple[IntArray, int]:
    """Return twice the positions of one list, 0 where it omits a feature, and its length."""
    listed = ~np.isnan(column)
    length = int(np.count_nonzero(listed))
    if length == 0:
        raise DataError(f"list {j + 1} holds no feature: leave it out")
    listed_positions = column if length == len(column) else column[listed]
    doubled = np.zeros(len(column), np.int64)
    # most often a permutation, which needs no sorting
    if listed_positions.min() >= 1 and listed_positions.max() <= length:
        whole = listed_positions.astype(np.int64)
        if (whole == listed_positions).all() and np.bincount(whole, minlength=length + 1)[1:].all():
            doubled[listed] = 2 * whole
            return doubled, length
    order = np.argsort(listed_positions, kind="stable")
    ranked = listed_positions[order]
    # equal positions share the mean of the ranks that they take
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    stops = np.append(starts[1:], length)
    shared = np.repeat(starts + 1 + stops, stops - starts)
    wrong = np.flatnonzero(2 * ranked != shared)
    if len(wrong):
        feature = int(np.flatnonzero(listed)[order[wrong[0]]])
        raise DataError(
            f"list {j + 1} has feature {feature} at position {column[feature]:g}, where "
            f"{shared[wrong[0]] / 2:g} is due: number the features of a list from 1 without a gap, "
            "or as scipy.stats.rankdata does where some tie"
        )
    doubled[np.flatnonzero(listed)[order]] = shared
    return doubled, length


def positions_of(
    lists: Iterable[Sequence[Any]], names: Iterable[Any] | None = None
) -> tuple[FloatArray, list[Any]]:
    """Return the table of positions of some lists of names.

    Parameters
    ----------
    lists : iterable of sequences of names
        Each list has the best feature first.
    names : iterable of names or None, default=None
        All features, in the order of the rows; None takes those in any list, in order of their
        first appearance.

    Returns
    -------
    positions : float array of shape (n_features, n_lists)
        1 = best, NaN if a list does not hold the feature.
    names : list
        Names of the rows.

    Examples
    --------
    >>> from featly.combine.rankings import positions_of
    >>> positions, names = positions_of([["TP53", "BRCA1", "MYC"], ["MYC", "TP53"]])
    >>> names
    ['TP53', 'BRCA1', 'MYC']
    >>> positions.tolist()
    [[1.0, 2.0], [2.0, nan], [3.0, 1.0]]
    """
    name_lists = [_check_names(list_names, j) for j, list_names in enumerate(lists, 1)]
    if not name_lists:
        raise DataError("there is no list: give at least one")
    rows: dict[Any, int] = {}
    if names is not None:
        for name in names:
            if name in rows:
                raise DataError(f"names has {name!r} twice: name every feature once")
            rows[name] = len(rows)
    else:
        for list_names in name_lists:
            for name in list_names:
                rows.setdefault(name, len(rows))
    positions = np.full((len(rows), len(name_lists)), np.nan)
    for j, list_names in enumerate(name_lists):
        for rank, name in enumerate(list_names, 1):
            row = rows.get(name)
            if row is None:
                raise DataError(
                    f"list {j + 1} has {name!r} at position {rank}, which is not among names: "
                    "add it there, or take it out of the list"
                )
            if not np.isnan(positions[row, j]):
                raise DataError(
                    f"list {j + 1} has {name!r} twice, at positions {positions[row, j]:g} and "
                    f"{rank}: name a feature once a list"
                )
            positions[row, j] = rank
    return positions, list(rows)


def _check_names(entries: Sequence[Any], j: int) -> list[Any]:
    if isinstance(entries, str):
        raise DataError(f"list {j} is the text {entries!r}: give a list of names")
    names = list(entries)
    if not names:
        raise DataError(f"list {j} is empty: leave it out")
    return names
