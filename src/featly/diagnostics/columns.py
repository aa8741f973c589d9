r"""Columns that say nothing, or repeat another column.

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

from featly.basics.typing import AnyArray, BoolArray, FloatArray
from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.diagnostics.reading import Rows, read_rows
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["SuspectColumns", "suspect_columns"]

FREQUENT = 19.0  # times the second most frequent value: 95 to 5
FEW_VALUES = 0.1  # distinct values over rows
LEAST_REPEATS = 3  # rows a value on average, in columns that may be another one renamed
BLOCK = 256


@dataclass(frozen=True)
class SuspectColumns:
    """Result of :func:`suspect_columns`, by name of column.

    Attributes
    ----------
    empty : list of str
        Without any value.
    constant : list of str
    near_constant : dict
        Share of the most frequent value.
    identical : list of list of str
        Groups of columns with the same values, and missing values in the same rows.
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
        """Return a frame of suspicions: column, suspicion, and the column that it is like."""
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
        """Summarise in a few lines."""
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
    matter, for example a rare mutation: look at it before you drop it.

    Copies are exact: columns are compared by a hash of their cells. Numbers that are the same up to
    sign, scale and offset (inches and centimetres) are compared with six digits, levels up to
    their names. Columns with fewer than three rows a value split the rows in the same way for no
    reason, as where every patient is there twice, and are not called relabelled.

    The remarks of :meth:`featly.Schema.describe` on single columns (identifiers, text that reads
    as numbers, labels read as numbers) are not repeated here.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.
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
    ...     "cm": [160.0, 175.0, 181.0, 169.0] * 2, "m": [1.6, 1.75, 1.81, 1.69] * 2,
    ...     "sex": ["f", "m", "m", "f"] * 2, "male": [0, 1, 1, 0] * 2, "site": ["north"] * 8})
    >>> suspects = suspect_columns(table)
    >>> suspects.constant, suspects.rescaled, suspects.relabelled
    (['site'], [['cm', 'm']], [['sex', 'male']])
    """
    n_threads(n_jobs)
    rows = read_rows(X, schema)
    position = np.empty(rows.n_columns, np.int64)
    position[rows.numeric] = np.arange(len(rows.numeric))
    position[rows.categorical] = np.arange(len(rows.categorical))
    is_number = rows.is_number

    def describe_block(block: tuple[int, int]) -> list[_Column]:
        return [_describe_column(rows, int(position[f]), bool(is_number[f])) for f in range(*block)]

    blocks = run_blocks(describe_block, split(rows.n_columns, BLOCK), n_jobs)
    columns = [column for block in blocks for column in block]
    names = rows.names
    identical = _group_by_key((f, column.exact) for f, column in enumerate(columns))
    first = _drop_repeats(range(len(columns)), identical)
    scaled = _group_by_key((f, columns[f].scaled) for f in first)
    first = _drop_repeats(first, scaled)
    relabelled = _group_by_key((f, columns[f].partition) for f in first)

    def names_of_groups(groups: list[list[int]]) -> list[list[str]]:
        return [[names[f] for f in group] for group in groups]

    return SuspectColumns(
        [names[f] for f, column in enumerate(columns) if column.n_distinct == 0],
        [names[f] for f, column in enumerate(columns) if column.n_distinct == 1],
        {names[f]: column.share for f, column in enumerate(columns) if column.near_constant},
        names_of_groups(identical),
        names_of_groups(scaled),
        names_of_groups(relabelled),
        rows.n_columns,
    )


@dataclass(frozen=True)
class _Column:
    """Counts of a column, and keys that equal columns share; None equals nothing."""

    n_distinct: int
    share: float
    near_constant: bool
    exact: bytes | None = None
    scaled: bytes | None = None
    partition: bytes | None = None


def _describe_column(rows: Rows, j: int, is_number: bool) -> _Column:
    if is_number:
        values = rows.numbers[:, j] + 0.0  # -0.0 is 0.0
        present = ~np.isnan(values)
    else:
        values = rows.codes[j]
        present = values > 0
    known = values[present]
    if len(known) == 0:
        return _Column(0, 0.0, False)
    distinct, first_rows, inverse, counts = np.unique(
        known, return_index=True, return_inverse=True, return_counts=True
    )
    most = int(counts.max())
    if len(counts) == 1:
        return _Column(1, 1.0, False)
    second = int(np.partition(counts, -2)[-2])
    is_near_constant = most >= FREQUENT * second and len(counts) <= FEW_VALUES * len(known)
    order = np.argsort(first_rows)  # of values, by first appearance
    rank = np.empty(len(first_rows), np.int64)
    rank[order] = np.arange(1, len(first_rows) + 1)
    codes = np.zeros(len(values), np.int64)
    codes[present] = rank[inverse]
    scaled = partition = None
    if is_number:
        exact = _hash(b"n", np.where(present, values, np.nan))
        scaled = _hash(b"s", _canonical_values(values, present))
    else:  # codes of two columns may be equal and stand for other levels
        levels = list(rows.levels[j])
        names = [levels[code - 1] for code in distinct[order]]
        exact = _hash(b"c", codes) + _hash(b"l", np.frombuffer(repr(names).encode(), np.uint8))
    if LEAST_REPEATS * len(counts) < len(known):
        partition = _hash(b"p", codes)
    return _Column(len(counts), most / len(known), is_near_constant, exact, scaled, partition)


def _canonical_values(values: FloatArray, present: BoolArray) -> Any:
    """Standardise values: mean 0, variance 1, the first large deviation positive, six digits."""
    known = values[present]
    known = known - known[0]  # an offset costs no digits
    known = known - known.mean()
    spread = known.std()
    if not spread > 0:
        spread = 1.0
    known = known / spread
    if known[np.abs(known) > 0.5][:1].sum() < 0:
        known = -known
    canonical = np.full(len(values), np.nan)
    canonical[present] = np.round(known, 6) + 0.0
    return canonical


def _hash(kind: bytes, values: AnyArray) -> bytes:
    return kind + hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()


def _group_by_key(keys: Iterable[tuple[int, bytes | None]]) -> list[list[int]]:
    """Group columns of one key, where there are several, in the order of the table."""
    columns_by_key: dict[bytes, list[int]] = {}
    for f, key in keys:
        if key is not None:
            columns_by_key.setdefault(key, []).append(f)
    return [group for group in columns_by_key.values() if len(group) > 1]


def _drop_repeats(columns: Iterable[int], groups: list[list[int]]) -> list[int]:
    """Return the columns without all but the first of each group."""
    repeats = {f for group in groups for f in group[1:]}
    return [f for f in columns if f not in repeats]
