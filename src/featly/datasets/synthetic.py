r"""A synthetic problem: a table, and the role of every column of it.

.. math::

    \{\text{columns}\} = \text{relevant} \,\cup\, \text{redundant} \,\cup\, \text{irrelevant}

The functions of :mod:`featly.datasets` return it. A selection can then be compared with the truth
rather than judged by a classifier: Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A.
(2013), A review of feature selection methods on synthetic data, *Knowledge and Information
Systems* 34, 483-519.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from featly.basics.errors import DataError
from featly.basics.params import Whole

if TYPE_CHECKING:
    import polars as pl

    from featly.measures.recovery import Roles

__all__ = ["Synthetic"]


@dataclass(frozen=True, eq=False, repr=False)
class Synthetic:
    """Table of a synthetic problem, and the truth about it.

    Attributes
    ----------
    name : str
        The name of the problem in :data:`featly.datasets.PROBLEMS`.
    X : polars.DataFrame
        The features, named f1, f2 and so on.
    y : array of shape (n_rows,)
        The class of every row, whole numbers.
    relevant : tuple of tuples of str
        Each entry is one piece of information to be found: a single column, or a group of
        interchangeable columns of which one is needed.
    redundant : dict of str to tuple of str
        Named groups of columns that only repeat what the relevant ones say, or say less.
    description : str
        One sentence: the rule, and the parameters that made this table.
    relevant_tiers : dict of str to tuple of str
        The relevant columns by how much they are worth, where that differs or where they have
        names; else empty.

    See Also
    --------
    make_problem : Make a problem by its name.
    featly.measures.recovery.success_index : Compare a selection with `roles`.

    Examples
    --------
    >>> from featly.datasets import make_corral
    >>> corral = make_corral()
    >>> corral
    Synthetic(corral: 32 rows, 2 classes, 6 columns: 4 relevant, 1 redundant, 1 irrelevant)
    >>> corral.relevant, corral.redundant, corral.irrelevant
    ((('f1',), ('f2',), ('f3',), ('f4',)), {'correlated': ('f6',)}, ('f5',))

    How much of it does a method choose?

    >>> from featly import FTest
    >>> from featly.measures.recovery import success_index
    >>> test = FTest().fit(corral.X, corral.y)
    >>> success_index(test.order_[:5], corral.roles, ranked=True)
    75.0
    """

    name: str
    X: "pl.DataFrame"
    y: np.ndarray
    relevant: tuple[tuple[str, ...], ...]
    redundant: Mapping[str, tuple[str, ...]]
    description: str
    relevant_tiers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.y) != self.X.height:
            raise DataError(f"X has {self.X.height} rows and y {len(self.y)}: give one label a row")
        if "class" in self.X.columns:
            raise DataError("X has a column 'class': rename it, the labels have that name")
        tiers = sorted(column for tier in self.relevant_tiers.values() for column in tier)
        if tiers and tiers != sorted(self._relevant_columns):
            raise DataError("relevant_tiers: give every relevant column one tier, and no other")
        self.roles  # noqa: B018  refuses unknown columns and those with two roles

    @property
    def irrelevant(self) -> tuple[str, ...]:
        """Columns that say nothing about the class: all that are not relevant or redundant."""
        known = {*self._relevant_columns, *(c for group in self.redundant.values() for c in group)}
        return tuple(column for column in self.X.columns if column not in known)

    @property
    def frame(self) -> "pl.DataFrame":
        """The features, and as the last column "class"."""
        import polars as pl

        return self.X.with_columns(pl.Series("class", self.y))

    @property
    def roles(self) -> "Roles":
        """The roles by position, for :mod:`featly.measures.recovery`."""
        from featly.measures.recovery import Roles  # imports scipy, which few uses need

        return Roles(
            self.X.width,
            tuple(self.positions(group) for group in self.relevant),
            {name: self.positions(group) for name, group in self.redundant.items()},
        )

    @property
    def tiers(self) -> dict[str, tuple[str, ...]]:
        """Groups of columns by name, the most relevant first and the irrelevant last.

        Their :meth:`positions` are the groups for
        :func:`featly.measures.recovery.position_statistics`.
        """
        groups = {
            **(self.relevant_tiers or {"relevant": self._relevant_columns}),
            **self.redundant,
            "irrelevant": self.irrelevant,
        }
        return {name: columns for name, columns in groups.items() if columns}

    def positions(self, columns: Iterable[str]) -> tuple[int, ...]:
        """Return the positions of columns in `X`, from 0.

        Examples
        --------
        >>> from featly.datasets import make_corral
        >>> make_corral().positions(["f6", "f1"])
        (5, 0)
        """
        position_of = {name: position for position, name in enumerate(self.X.columns)}
        try:
            return tuple(position_of[column] for column in columns)
        except KeyError as unknown:
            raise DataError(f"X has no column {unknown}: its columns are f1, f2, ...") from None

    def shuffle_columns(self, random_state: int = 0) -> "Synthetic":
        """Return the same problem with its columns in random order; they keep their names.

        The problems have their relevant columns first, and of tied columns methods take the
        first: a random order removes that advantage.

        Examples
        --------
        >>> from featly.datasets import make_corral
        >>> corral = make_corral().shuffle_columns()
        >>> corral.X.columns, corral.roles.relevant
        (['f6', 'f4', 'f1', 'f2', 'f3', 'f5'], ((2,), (3,), (4,), (1,)))
        """
        (order,) = generators(random_state, 1)
        return replace(self, X=self.X[:, order.permutation(self.X.width).tolist()])

    @property
    def _relevant_columns(self) -> tuple[str, ...]:
        return tuple(column for group in self.relevant for column in group)

    def __repr__(self) -> str:
        counts = {
            "relevant": len(self._relevant_columns),
            "redundant": sum(map(len, self.redundant.values())),
            "irrelevant": len(self.irrelevant),
        }
        groups = f" in {len(self.relevant)} groups"
        grouped = groups if len(self.relevant) < counts["relevant"] else ""
        relevant, redundant, irrelevant = (f"{n} {role}" for role, n in counts.items())
        return (
            f"Synthetic({self.name}: {self.X.height} rows, {len(np.unique(self.y))} classes, "
            f"{self.X.width} columns: {relevant}{grouped}, {redundant}, {irrelevant})"
        )


def names(first: int, last: int) -> tuple[str, ...]:
    """Return the names of columns `first` to `last`, counted from 1, both included."""
    return tuple(f"f{number}" for number in range(first, last + 1))


def table(*blocks: np.ndarray) -> "pl.DataFrame":
    """Put blocks of columns side by side; every row of a block is a column of the table."""
    import polars as pl

    columns = np.vstack(blocks)
    return pl.DataFrame(columns, schema=list(names(1, len(columns))), orient="col")


def generators(random_state: int, n_parts: int) -> list[np.random.Generator]:
    """Make a stream of random numbers for each part of a table, so that no part changes another."""
    Whole(at_least=0).check("random_state", random_state)
    seeds = np.random.SeedSequence(int(random_state)).spawn(n_parts)
    return [np.random.default_rng(seed) for seed in seeds]


def share(part: float, n: int) -> int:
    """Return a fraction of n as a count; halves round up."""
    return int(np.floor(part * n + 0.5))
