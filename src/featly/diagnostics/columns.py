r"""Columns that say nothing, or what another says already.

A column is near-constant where

.. math::

    n_{(1)} \ge 19\, n_{(2)} \quad\text{and}\quad \text{distinct values} \le n / 10,

with :math:`n_{(1)}, n_{(2)}` the rows of its most and second most frequent value and n those that
have one.

Kuhn, M. (2008), Building predictive models in R using the caret package, *Journal of Statistical
Software* 28(5): the same rule and constants.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.diagnostics.reading import Rows, read_rows
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["SuspectColumns", "suspect_columns"]

FREQUENT = 19.0  # times the second most frequent value: 95 to 5
FEW_VALUES = 0.1  # distinct values over rows
BLOCK = 256


@dataclass(frozen=True)
class SuspectColumns:
    """What :func:`suspect_columns` found, by name of column.

    Attributes
    ----------
    empty : list of str
        Without any value.
    constant : list of str
    near_constant : dict
        Share of the most frequent value.
    identical : list of list of str
        Groups of columns with the same cells, gaps included.
    rescaled : list of list of str
        Groups of numbers that are multiples of each other plus a constant; of identical ones, the
        first.
    relabelled : list of list of str
        Groups of columns that split the rows in the same way under other names; of identical and
        rescaled ones, the first.
    n_columns : int
    """

    empty: list[str]
    constant: list[str]
    near_constant: dict[str, float]
    identical: list[list[str]]
    rescaled: list[list[str]]
    relabelled: list[list[str]]
    n_columns: int

    @property
    def redundant(self) -> list[str]:
        """Columns that can be left out, because one that stays says the same."""
        return [
            name
            for groups in (self.identical, self.rescaled, self.relabelled)
            for group in groups
            for name in group[1:]
        ]

    def to_frame(self) -> Any:
        """One row for every suspicion: column, suspicion, what it is like."""
        rows: list[tuple[str, str, str]] = [(name, "empty", "") for name in self.empty]
        rows += [(name, "constant", "") for name in self.constant]
        rows += [
            (name, "near-constant", f"{share:.1%} of its values are equal")
            for name, share in self.near_constant.items()
        ]
        for word in ("identical", "rescaled", "relabelled"):
            for group in getattr(self, word):
                rows += [(name, word, group[0]) for name in group[1:]]
        columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
        return frame_of(
            dict(zip(("column", "suspicion", "like"), map(list, columns), strict=True)), None
        )

    def text(self) -> str:
        """In a few lines."""
        same = sum(len(group) - 1 for group in self.identical)
        again = len(self.redundant) - same
        return "\n".join(
            [
                f"{len(self.empty) + len(self.constant)} empty or constant columns",
                f"{len(self.near_constant)} near-constant columns",
                f"{same} copies of other columns, {again} rescaled or relabelled",
            ]
        )

    __str__ = text


def suspect_columns(
    X: Any, *, schema: Schema | dict[str, Any] | None = None, n_jobs: int | None = None
) -> SuspectColumns:
    r"""Find columns that are constant, nearly so, or the same as others.

    Near-constant is caret's rule: the most frequent value occurs at least 19 times as often as the
    second, and there are at most a tenth as many different values as rows. Such a column may still
    be the one that matters, such as a rare mutation: look before you drop it.

    Copies are exact: columns are compared by a hash of their cells. Numbers that are the same up to
    sign, scale and offset (inches and centimetres) are compared with six digits, levels up to
    their names. Columns in which hardly two rows are alike split the rows in the same way for no
    reason, and are not called relabelled.

    What :meth:`featly.Schema.describe` tells of single columns (identifiers, text that reads as
    numbers, labels read as numbers) is not repeated here.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    SuspectColumns

    Examples
    --------
    >>> import polars as pl
    >>> from featly.diagnostics import suspect_columns
    >>> table = pl.DataFrame({
    ...     "cm": [160.0, 175.0, 181.0, 169.0], "m": [1.6, 1.75, 1.81, 1.69],
    ...     "sex": ["f", "m", "m", "f"], "male": [0, 1, 1, 0], "site": ["north"] * 4})
    >>> found = suspect_columns(table)
    >>> found.constant, found.rescaled, found.relabelled
    (['site'], [['cm', 'm']], [['sex', 'male']])
    """
    n_threads(n_jobs)
    rows = read_rows(X, schema)
    place = np.empty(rows.n_columns, np.int64)
    place[rows.numeric] = np.arange(len(rows.numeric))
    place[rows.categorical] = np.arange(len(rows.categorical))
    number = rows.is_number

    def look(block: tuple[int, int]) -> list[_Column]:
        return [_looked_at(rows, int(place[f]), bool(number[f])) for f in range(*block)]

    blocks = run_blocks(look, split(rows.n_columns, BLOCK), n_jobs)
    columns = [column for block in blocks for column in block]
    names = rows.names
    alike = _groups((f, column.exact) for f, column in enumerate(columns))
    first = _firsts(range(len(columns)), alike)
    scaled = _groups((f, columns[f].scaled) for f in first)
    first = _firsts(first, scaled)
    relabelled = _groups((f, columns[f].partition) for f in first)

    def named(groups: list[list[int]]) -> list[list[str]]:
        return [[names[f] for f in group] for group in groups]

    return SuspectColumns(
        [names[f] for f, column in enumerate(columns) if column.n_distinct == 0],
        [names[f] for f, column in enumerate(columns) if column.n_distinct == 1],
        {names[f]: column.share for f, column in enumerate(columns) if column.near_constant},
        named(alike),
        named(scaled),
        named(relabelled),
        rows.n_columns,
    )


@dataclass(frozen=True)
class _Column:
    """Counts of a column, and what equal columns have in common; None equals nothing."""

    n_distinct: int
    share: float
    near_constant: bool
    exact: bytes | None = None
    scaled: bytes | None = None
    partition: bytes | None = None


def _looked_at(rows: Rows, j: int, number: bool) -> _Column:
    if number:
        values = rows.numbers[:, j] + 0.0  # -0.0 is 0.0
        present = ~np.isnan(values)
    else:
        values = rows.codes[j]
        present = values > 0
    there = values[present]
    if len(there) == 0:
        return _Column(0, 0.0, False)
    found, at, inverse, counts = np.unique(
        there, return_index=True, return_inverse=True, return_counts=True
    )
    most = int(counts.max())
    if len(counts) == 1:
        return _Column(1, 1.0, False)
    second = int(np.partition(counts, -2)[-2])
    near = most >= FREQUENT * second and len(counts) <= FEW_VALUES * len(there)
    order = np.argsort(at)  # of values, by first appearance
    rank = np.empty(len(at), np.int64)
    rank[order] = np.arange(1, len(at) + 1)
    codes = np.zeros(len(values), np.int64)
    codes[present] = rank[inverse]
    scaled = partition = None
    if number:
        exact = _hash(b"n", np.where(present, values, np.nan))
        scaled = _hash(b"s", _canonical(values, present))
    else:  # codes of two columns may be equal and stand for other levels
        levels = list(rows.levels[j])
        named = [levels[code - 1] for code in found[order]]
        exact = _hash(b"c", codes) + _hash(b"l", np.frombuffer(repr(named).encode(), np.uint8))
    if 2 * len(counts) <= len(there):
        partition = _hash(b"p", codes)
    return _Column(len(counts), most / len(there), near, exact, scaled, partition)


def _canonical(values: npt.NDArray[np.float64], present: npt.NDArray[np.bool_]) -> Any:
    """Mean 0, variance 1, the first clear deviation upwards, six digits."""
    there = values[present]
    there = there - there[0]  # an offset costs no digits
    there = there - there.mean()
    spread = there.std()
    if not spread > 0:
        spread = 1.0
    there = there / spread
    if there[np.abs(there) > 0.5][:1].sum() < 0:
        there = -there
    found = np.full(len(values), np.nan)
    found[present] = np.round(there, 6) + 0.0
    return found


def _hash(kind: bytes, values: npt.NDArray[Any]) -> bytes:
    return kind + hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()


def _groups(keys: Iterable[tuple[int, bytes | None]]) -> list[list[int]]:
    """Columns with one key, where there are several, in the order of the table."""
    found: dict[bytes, list[int]] = {}
    for f, key in keys:
        if key is not None:
            found.setdefault(key, []).append(f)
    return [group for group in found.values() if len(group) > 1]


def _firsts(columns: Iterable[int], groups: list[list[int]]) -> list[int]:
    """The columns without all but the first of each group."""
    gone = {f for group in groups for f in group[1:]}
    return [f for f in columns if f not in gone]
