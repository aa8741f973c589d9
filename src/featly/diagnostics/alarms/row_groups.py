"""Rows that belong together: those that are alike, and those of one part of an identifier."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from featly.basics.errors import DataError, Parameter
from featly.basics.typing import IntArray
from featly.diagnostics.alarms.identifiers import (
    IdentifierGroups,
    find_groups,
    find_identifiers,
)
from featly.diagnostics.alarms.twins import find_twins, normal_scores
from featly.diagnostics.reading import Rows, check_count, read_rows
from featly.table.schema import Schema

__all__ = ["identifier_groups", "twin_groups"]

MOST_GROUPED = 20_000  # rows whose identifiers are cut into parts


def twin_groups(
    X: Any, *, schema: Schema | dict[str, Any] | None = None, random_state: int = 0
) -> IntArray:
    """Group rows that are alike in nearly everything, or by parts of their identifier.

    Every row is held against all others, so that this takes time that grows with the square of
    their number.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
        Without the target.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
    random_state : int, default=0
        Seed of the random numbers.
        They draw columns of wide tables.

    Returns
    -------
    int array of shape (n_rows,)
        A number for every row, equal for rows that belong together, as `row_groups` takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.diagnostics import twin_groups
    >>> X = np.random.default_rng(0).normal(size=(30, 10))
    >>> groups = twin_groups(np.concatenate([X, X]))
    >>> len(np.unique(groups)), bool((groups[:30] == groups[30:]).all())
    (30, True)

    The first row of every group, to leave the others out:

    >>> first = np.unique(groups, return_index=True)[1]
    """
    check_count("random_state", random_state, 0)
    rows = read_rows(X, schema)
    identifiers = find_identifiers(rows)
    apart = {*identifiers.who, *identifiers.many_levels}
    plain = rows.take_columns(np.array([name not in apart for name in rows.names], np.bool_))
    labels = find_twins(plain, all_rows=True, random_state=random_state).groups()
    if labels is None:
        raise DataError(
            "rows that are alike form a group of more than 20 rows: something else than an "
            "individual that is there twice makes them alike; name a column of groups, ",
            Parameter("row_groups"),
        )
    for groups in identifier_groups(rows, plain, identifiers.who, random_state):
        labels = _join_groups(labels, groups.labels)
    return labels


def _join_groups(first: IntArray, second: IntArray) -> IntArray:
    """Return the groups of rows that share a group in either."""
    n = len(first)
    ends = np.concatenate([first, first.max() + 1 + second])
    n_nodes = int(ends.max()) + 1 + n
    rows = np.tile(np.arange(n), 2) + int(ends.max()) + 1
    links = coo_array((np.ones(2 * n), (rows, ends)), (n_nodes, n_nodes))
    components = connected_components(links, directed=False)[1][int(ends.max()) + 1 :]
    return np.unique(components, return_inverse=True)[1].astype(np.int64)


def identifier_groups(
    rows: Rows, plain: Rows, who: Sequence[str], random_state: int
) -> list[IdentifierGroups]:
    """Return groups of rows that parts of identifiers make.

    Parameters
    ----------
    rows : Rows
    plain : Rows
        The other columns, in which rows of one group are alike.
    who : sequence of str
        Columns that identify the rows.
    random_state : int
        Seed of the random numbers.
        They shuffle the groups.
    """
    if not who or rows.n_rows > MOST_GROUPED:
        return []
    cells = np.nan_to_num(normal_scores(plain.numbers), nan=0.0)
    if not cells.shape[1]:
        return []
    groups_of_names = []
    for f, codes, levels in zip(rows.categorical, rows.codes, rows.levels, strict=True):
        name = rows.names[f]
        if name not in who:
            continue
        texts = np.array(["", *map(str, levels)], dtype=object)[codes]
        groups = find_groups(texts.tolist(), name, cells, random_state)
        if groups is not None:
            groups_of_names.append(groups)
    return groups_of_names
