r"""Recovery of the truth by a selection, on made problems whose truth is known.

.. math::

    \mathrm{suc} = 100 \left[\frac{R_s}{R_t} - \alpha \frac{I_s}{I_t}\right], \qquad
    \alpha = \min\left(\frac12, \frac{R_t}{I_t}\right)

:math:`R_s` of :math:`R_t` relevant and :math:`I_s` of :math:`I_t` irrelevant columns are selected:
Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, eq. 3.1.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from featly.basics.errors import DataError, ParameterError
from featly.measures.stability import column_indices

__all__ = [
    "PositionStatistics",
    "RoleCounts",
    "Roles",
    "count_roles",
    "cut_at_relevant",
    "kinds_selected",
    "position_statistics",
    "success_index",
]

IRRELEVANT, REDUNDANT = -1, -2  # codes beside the numbers of the relevant groups


@dataclass(frozen=True)
class Roles:
    """Role of each column of a made problem.

    Attributes
    ----------
    n_features : int
        Columns of the table.
    relevant : tuple of tuples of int
        Each entry is one piece of information to find: a single column, or a group of
        interchangeable columns of which one is needed.
    redundant : mapping of str to tuple of int
        Named groups of columns that only repeat other columns.
    irrelevant : tuple of int
        All other columns; a property.

    Examples
    --------
    CorrAL: four relevant columns, one irrelevant, one that agrees with the class in most rows.

    >>> from featly.measures.recovery import Roles
    >>> corral = Roles(6, relevant=((0,), (1,), (2,), (3,)), redundant={"correlated": (5,)})
    >>> corral.irrelevant
    (4,)

    SD1: two groups of ten genes, and one gene of each is all that is needed.

    >>> sd1 = Roles(4020, relevant=(tuple(range(10)), tuple(range(10, 20))))
    >>> len(sd1.irrelevant)
    4000
    """

    n_features: int
    relevant: tuple[tuple[int, ...], ...]
    redundant: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        n_features = self.n_features
        if not isinstance(n_features, int | np.integer) or n_features < 1:
            raise ParameterError(f"n_features={n_features}: give the number of columns, at least 1")
        relevant = tuple(
            _group(columns, n_features, f"relevant[{i}]") for i, columns in enumerate(self.relevant)
        )
        redundant = {
            name: _group(columns, n_features, f"redundant[{name!r}]")
            for name, columns in self.redundant.items()
        }
        seen: set[int] = set()
        for columns in (*relevant, *redundant.values()):
            if twice := seen.intersection(columns):
                raise ParameterError(f"column {min(twice)} has two roles: give each column one")
            seen.update(columns)
        object.__setattr__(self, "relevant", relevant)
        object.__setattr__(self, "redundant", redundant)

    @property
    def irrelevant(self) -> tuple[int, ...]:
        """Columns that are neither relevant nor redundant."""
        return tuple(np.flatnonzero(self._group_of_columns == IRRELEVANT).tolist())

    @cached_property
    def _group_of_columns(self) -> np.ndarray:
        """Number of every column's relevant group, or a code for the other roles."""
        labels = np.full(self.n_features, IRRELEVANT)
        for number, columns in enumerate(self.relevant):
            labels[list(columns)] = number
        for columns in self.redundant.values():
            labels[list(columns)] = REDUNDANT
        return labels


class RoleCounts(NamedTuple):
    """Numbers of selected columns that are relevant, redundant and irrelevant; they add up."""

    relevant: int
    redundant: int
    irrelevant: int


class PositionStatistics(NamedTuple):
    """Statistics of the positions of a group of columns in rankings, counted from 1."""

    best: int
    first_quartile: float
    mean: float
    third_quartile: float
    worst: int


def count_roles(selected: ArrayLike, roles: Roles) -> RoleCounts:
    """Count the relevant, redundant and irrelevant columns of a selection.

    Parameters
    ----------
    selected : int array
        Different columns, in any order.
    roles : Roles
        The truth.

    Returns
    -------
    RoleCounts
        `relevant` counts the groups of which a column is selected, `redundant` further columns of
        these groups and columns of the groups of `roles.redundant`, `irrelevant` the others.

    Examples
    --------
    >>> from featly.measures.recovery import Roles, count_roles
    >>> roles = Roles(8, relevant=((0, 1, 2), (3,)), redundant={"copies": (4,)})
    >>> count_roles([0, 2, 4, 6, 7], roles)
    RoleCounts(relevant=1, redundant=2, irrelevant=2)
    """
    columns = column_indices(selected, roles.n_features, "selected")
    labels = roles._group_of_columns[columns]
    relevant = np.unique(labels[labels >= 0]).size
    irrelevant = int((labels == IRRELEVANT).sum())
    return RoleCounts(relevant, columns.size - relevant - irrelevant, irrelevant)


def success_index(selected: ArrayLike, roles: Roles, ranked: bool = False) -> float:
    r"""Compute the index of success, which rewards relevant columns and penalises all others.

    .. math::

        \mathrm{suc} = 100 \left[\frac{R_s}{R_t} - \alpha \frac{I_s}{I_t}\right], \qquad
        \alpha = \min\left(\frac12, \frac{R_t}{I_t}\right)

    There are :math:`R_t` pieces of information to find, and :math:`I_t` is the number of columns
    less that: redundant columns are penalised as irrelevant ones, and so are all but one of a
    group of interchangeable columns.

    Parameters
    ----------
    selected : int array
        Different columns; best first if `ranked`.
    roles : Roles
        The truth, with at least one relevant column.
    ranked : bool, default=False
        Whether the columns are the first of a ranking, whose number was given to the ranker. The
        index is then 100 if all that is relevant comes before any other column.

    Returns
    -------
    float
        At most 100, for the relevant columns and no other; 0 if no column is selected; at least
        -50.

    Notes
    -----
    The book's tables 3.2 and 3.3 (CorrAL-100 and XOR-100) print the negative values 100 times too
    large: -44, -13 and -21 are -0.44, -0.13 and -0.21 by the formula. The -2 of the correlated
    column alone on CorrAL-100 fits neither way: the formula gives -0.04. Values between 99.5 and
    100 are mostly printed as 99.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 3.2.

    Examples
    --------
    >>> from featly.measures.recovery import Roles, success_index
    >>> corral = Roles(6, relevant=((0,), (1,), (2,), (3,)), redundant={"correlated": (5,)})
    >>> success_index([5], corral), success_index([0, 1, 2, 3, 5], corral)
    (-25.0, 75.0)
    >>> success_index([2, 0, 3, 1, 5], corral, ranked=True)
    100.0
    """
    n_relevant = len(roles.relevant)
    if n_relevant == 0:
        raise ParameterError("roles has no relevant column: the success index needs at least one")
    counts = count_roles(selected, roles)
    if ranked and count_roles(np.asarray(selected)[:n_relevant], roles).relevant == n_relevant:
        return 100.0
    relevant_share = counts.relevant / n_relevant
    n_other = roles.n_features - n_relevant
    if n_other == 0:  # no other column exists
        return 100 * relevant_share
    alpha = min(0.5, n_relevant / n_other)
    return 100 * (relevant_share - alpha * (counts.redundant + counts.irrelevant) / n_other)


def cut_at_relevant(order: ArrayLike, size: int, roles: Roles) -> int:
    """Return how many columns of a ranking are taken if nothing may follow a perfect beginning.

    A ranker is told how many columns to take. Where its first ones are all the relevant columns and
    no other, the book's tables 3.1, 3.3, 3.4, 3.5 and 3.7 stop there ("Irr 0").

    Parameters
    ----------
    order : int array
        Different columns, best first.
    size : int
        The number of columns asked for.
    roles : Roles
        The truth. Of a group of interchangeable columns all members count as relevant.

    Returns
    -------
    int
        The number of relevant columns, if these lead the ranking and `size` is larger; else `size`.

    Examples
    --------
    >>> from featly.measures.recovery import Roles, cut_at_relevant
    >>> corral = Roles(6, relevant=((0,), (1,), (2,), (3,)), redundant={"correlated": (5,)})
    >>> cut_at_relevant([2, 0, 3, 1, 5], 5, corral), cut_at_relevant([2, 0, 5, 1, 3], 5, corral)
    (4, 5)
    """
    relevant = {column for group in roles.relevant for column in group}
    n = len(relevant)
    leads = 0 < n < size and {int(column) for column in np.asarray(order)[:n]} == relevant
    return n if leads else size


def position_statistics(
    order: ArrayLike, groups: Mapping[str, Sequence[int]]
) -> dict[str, PositionStatistics]:
    """Compute statistics of the positions that rankings give to groups of columns.

    Parameters
    ----------
    order : int array of shape (n_features,) or (n_rankings, n_features)
        All columns, best first. Positions in several rankings are pooled.
    groups : mapping of str to int sequence
        Names and columns of the groups. They may overlap, and need not cover all columns.

    Returns
    -------
    dict of str to PositionStatistics
        In the order of `groups`. Quartiles are interpolated linearly between positions.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216, tables 4 to 6.

    Examples
    --------
    >>> from featly.measures.recovery import position_statistics
    >>> orders = [[0, 1, 4, 2, 3], [1, 3, 0, 2, 4]]
    >>> statistics = position_statistics(orders, {"relevant": [0, 1], "noise": [2, 3, 4]})
    >>> statistics["relevant"]
    PositionStatistics(best=1, first_quartile=1.0, mean=1.75, third_quartile=2.25, worst=3)
    """
    orders = np.atleast_2d(np.asarray(order))
    if orders.ndim != 2 or orders.size == 0:
        raise DataError(f"order has shape {np.shape(order)}: give one ranking, or one a row")
    n_features = orders.shape[1]
    positions = np.empty(orders.shape, dtype=np.int64)
    for i, ranking in enumerate(orders):
        # as many different columns as there are is a permutation
        columns = column_indices(
            ranking, n_features, "order" if len(orders) == 1 else f"order[{i}]"
        )
        positions[i, columns] = np.arange(1, n_features + 1)
    statistics = {}
    for name, members in groups.items():
        pooled = positions[:, list(_group(members, n_features, f"groups[{name!r}]"))]
        low, high = np.quantile(pooled, [0.25, 0.75])
        statistics[name] = PositionStatistics(
            int(pooled.min()), float(low), float(pooled.mean()), float(high), int(pooled.max())
        )
    return statistics


def kinds_selected(selected: ArrayLike, kinds: ArrayLike) -> dict[Hashable, int]:
    """Count the selected columns of each kind.

    Parameters
    ----------
    selected : int array
        Different columns, in any order.
    kinds : array of shape (n_features,)
        A label for every column of the table, numbers or text.

    Returns
    -------
    dict of label to int
        Sorted by label, with 0 for kinds of which no column is selected.

    Examples
    --------
    >>> from featly.measures.recovery import kinds_selected
    >>> kinds_selected([3, 1], ["continuous", "continuous", "ordinal", "continuous"])
    {'continuous': 2, 'ordinal': 0}
    """
    labels, codes = np.unique(np.asarray(kinds), return_inverse=True)
    columns = column_indices(selected, codes.size, "selected")
    counts = np.bincount(codes[columns], minlength=labels.size)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def _group(columns: Sequence[int], n_features: int, name: str) -> tuple[int, ...]:
    """Return the columns of a group as plain integers; there is at least one."""
    if np.ndim(columns) != 1:
        raise ParameterError(f"{name}={columns!r}: give a group of columns, such as (0,)")
    if len(columns) == 0:
        raise ParameterError(f"{name} has no columns: leave the group out")
    try:
        return tuple(column_indices(columns, n_features, name).tolist())
    except DataError as wrong:
        raise ParameterError(str(wrong)) from None
