r"""Folds within folds, halves without shared rows, and shuffled labels.

.. math::

    T_a = \{1, \dots, n\} \setminus F_a, \qquad T_a = G_{a1} \cup \dots \cup G_{aI}

Folds are dealt by class, each class going on where the last one ended; whole groups go, largest
first, where class counts stay nearest their share. Labels are shuffled within blocks of rows, and
between groups of equal size as wholes, which is what the rows are exchangeable by.
"""

import math
from dataclasses import dataclass

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import AnyArray, IntArray
from featly.study.splitter import count_code_pairs
from featly.study.stratification import deal_groups, deal_rows

__all__ = ["OuterFold", "count_arrangements", "deal_folds", "nested_folds", "shuffle_labels"]

OUTER, INNER = 1, 2  # parts of seeds
MOST_ARRANGEMENTS = 1000  # counted up to here


@dataclass(frozen=True, eq=False)
class OuterFold:
    """A fold, the rows that models may be trained on, and the inner folds of these.

    Attributes
    ----------
    repeat, fold : int
        From 0.
    train, test : int64 arrays
        All other rows, and the rows of the fold.
    inner : tuple of int64 arrays
        The rows of each inner fold: parts of `train`.
    """

    repeat: int
    fold: int
    train: IntArray
    test: IntArray
    inner: tuple[IntArray, ...]


def deal_folds(
    codes: IntArray, n_folds: int, generator: np.random.Generator, groups: IntArray | None = None
) -> IntArray:
    """Return the fold of every row, stratified by class; groups of rows stay together.

    Parameters
    ----------
    codes : int64 array of shape (n_rows,)
        The class of every row.
    n_folds : int
    generator : numpy Generator
    groups : int64 array or None, default=None
        The group of every row.

    Returns
    -------
    int64 array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.nested_folds import deal_folds
    >>> folds = deal_folds(np.repeat([0, 1], [6, 3]), 3, np.random.default_rng(0))
    >>> np.bincount(folds[:6]).tolist(), np.bincount(folds[6:]).tolist()
    ([2, 2, 2], [1, 1, 1])
    """
    if groups is None:
        return deal_rows(codes, n_folds, generator)
    members = np.unique(groups, return_inverse=True)[1]
    table = count_code_pairs(members, codes, int(members.max()) + 1, int(codes.max()) + 1)
    return deal_groups(table[:, table.any(axis=0)], n_folds, generator)[members]


def nested_folds(
    codes: IntArray,
    *,
    folds: int,
    repeats: int,
    inner: int,
    random_state: int,
    groups: IntArray | None = None,
) -> list[OuterFold]:
    """Return the folds of every repeat, each with its inner folds.

    Parameters
    ----------
    codes : int64 array of shape (n_rows,)
        The class of every row.
    folds, repeats, inner : int
        Folds, how often they are drawn, and inner folds of each training part.
    random_state : int
        Seed of the random numbers.
    groups : int64 array or None, default=None
        The group of every row.

    Returns
    -------
    list of OuterFold
        The first repeat first.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.nested_folds import nested_folds
    >>> parts = nested_folds(np.repeat([0, 1], 10), folds=5, repeats=2, inner=4, random_state=0)
    >>> len(parts), len(parts[0].train), [len(rows) for rows in parts[0].inner]
    (10, 16, [4, 4, 4, 4])
    """
    n_units = len(codes) if groups is None else len(np.unique(groups))
    if n_units < folds:
        unit_word = "rows" if groups is None else "row groups"
        raise ParameterError(f"folds={folds}, but there are {n_units} {unit_word}: take fewer")
    parts = []
    for repeat in range(repeats):
        generator = _generator(random_state, OUTER, repeat)
        fold_of = deal_folds(codes, folds, generator, groups)
        for fold in range(folds):
            train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            generator = _generator(random_state, INNER, repeat, fold)
            own_groups = None if groups is None else groups[train]
            inner_of = deal_folds(codes[train], inner, generator, own_groups)
            inner_rows = (train[inner_of == part] for part in range(inner))
            inner_folds = tuple(rows for rows in inner_rows if len(rows))
            parts.append(OuterFold(repeat, fold, train, test, inner_folds))
    return parts


def shuffle_labels(
    codes: IntArray,
    generator: np.random.Generator,
    *,
    groups: IntArray | None = None,
    blocks: AnyArray | None = None,
) -> IntArray:
    """Shuffle labels between rows; within blocks, and as wholes between groups of equal size.

    Parameters
    ----------
    codes : int64 array of shape (n_rows,)
        The class of every row.
    generator : numpy Generator
    groups : int64 array or None, default=None
        The group of every row. The labels of a group go to another one together, in their order.
    blocks : array or None, default=None
        The block of every row, such as its site. Labels stay in their block.

    Returns
    -------
    int64 array of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.nested_folds import shuffle_labels
    >>> codes = np.array([0, 1, 1, 0, 0, 1])
    >>> sites = np.array([7, 7, 7, 8, 8, 8])
    >>> shuffled = shuffle_labels(codes, np.random.default_rng(0), blocks=sites)
    >>> int(shuffled[:3].sum()), int(shuffled[3:].sum())
    (2, 1)
    """
    shuffled = codes.copy()
    for rows in _exchangeable(len(codes), groups, blocks):
        shuffled[rows] = codes[rows[generator.permutation(len(rows))]]
    return shuffled


def count_arrangements(
    codes: IntArray, *, groups: IntArray | None = None, blocks: AnyArray | None = None
) -> int:
    """Return how many different labellings :func:`shuffle_labels` can draw, counted up to 1,000.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.nested_folds import count_arrangements
    >>> count_arrangements(np.array([0, 0, 1, 1]))
    6
    >>> count_arrangements(np.array([0, 0, 1, 1]), groups=np.array([0, 1, 2, 2]))
    1
    """
    total = 1
    for rows in _exchangeable(len(codes), groups, blocks):
        counts = np.unique(codes[rows], axis=0, return_counts=True)[1]
        left = int(counts.sum())
        for count in counts.tolist():
            total *= math.comb(left, count)
            left -= count
            if total >= MOST_ARRANGEMENTS:
                return MOST_ARRANGEMENTS
    return total


def _exchangeable(n_rows: int, groups: IntArray | None, blocks: AnyArray | None) -> list[IntArray]:
    """Return sets of units that may swap labels: arrays of rows, (units, rows of a unit)."""
    units = np.arange(n_rows) if groups is None else np.asarray(groups)
    block_of = np.zeros(n_rows, np.int64) if blocks is None else np.asarray(blocks)
    _, member, sizes = np.unique(units, return_inverse=True, return_counts=True)
    rows_of = np.split(np.argsort(member, kind="stable"), np.cumsum(sizes)[:-1])
    first = np.array([rows[0] for rows in rows_of])
    if (block_of != block_of[first[member]]).any():
        at = int(np.flatnonzero(block_of != block_of[first[member]])[0])
        raise DataError(
            f"row {at} is of block {block_of.tolist()[at]!r}, other rows of its group of another: "
            "give blocks that keep groups together"
        )
    blocks_of_units = np.unique(block_of[first], return_inverse=True)[1]
    sets = []
    for block, size in np.unique(np.column_stack([blocks_of_units, sizes]), axis=0):
        chosen = np.flatnonzero((blocks_of_units == block) & (sizes == size))
        sets.append(np.array([rows_of[unit] for unit in chosen]))
    return sets


def _generator(*seed: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(list(seed)))
