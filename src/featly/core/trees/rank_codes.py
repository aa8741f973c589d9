"""Columns as small whole numbers, in a form that does not depend on how they are presented.

Trees and rank tests use nothing of a column but the order of its values, or which of them are
equal. Written as codes, with the columns themselves in an order that follows from their content,
a table is the same in other units, with other names of levels and with its columns permuted; so
is what a random method draws for it.
"""

from dataclasses import dataclass

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray, WordArray
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import Source

__all__ = ["CodedTable", "code_table"]


SMALL_CODES = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class CodedTable:
    """A table as codes that do not depend on units, names of levels or the order of columns.

    Columns are in the order of a hash of their codes, so that random draws go with the content
    of a column and not with its position. Columns of equal codes form a group.

    Attributes
    ----------
    codes : uint16 or uint32 array of shape (n_features, n_rows)
        0 is missing. Numbers have their dense ranks, from the end that makes the earlier rows
        low; levels are numbered as they first appear.
    n_levels : int64 array of shape (n_features,)
        The largest code.
    categorical : bool array of shape (n_features,)
        Whether the codes have no order. A category of two levels is as good as ordered.
    columns : int64 array of shape (n_features,)
        The position of each column in the user's table.
    group : int64 array of shape (n_features,)
        The number of each column's group, from 0.
    """

    codes: AnyArray
    n_levels: IntArray
    categorical: BoolArray
    columns: IntArray
    group: IntArray


def code_table(source: Source, n_jobs: int | None = None) -> CodedTable:
    """Code the columns of a source; a sparse one becomes dense, at two bytes a cell."""
    numeric = np.flatnonzero(source.kinds != CATEGORICAL)
    nominal = np.flatnonzero(source.kinds == CATEGORICAL)
    dtype = np.uint16 if source.n_rows < SMALL_CODES else np.uint32
    codes = np.empty((source.n_features, source.n_rows), dtype)
    view = source.view(numeric)

    def rank_block(block: tuple[int, int]) -> None:
        codes[numeric[slice(*block)]] = _orient_ranks(_ranks(view.load(np.arange(*block))))

    run_blocks(rank_block, view.blocks() if len(numeric) else [], n_jobs)
    for f in nominal:
        codes[f] = _number_by_appearance(source.codes[source.place[f]])  # type: ignore[attr-defined]
    n_levels = codes.max(axis=1).astype(np.int64)
    categorical = (source.kinds == CATEGORICAL) & (n_levels > 2)
    key = _hashes(codes, categorical)
    columns = np.argsort(key, kind="stable")  # equal ones by their position
    codes, key = codes[columns], key[columns]
    new = np.ones(len(columns), bool)
    equal_keys = np.flatnonzero(key[1:] == key[:-1])
    new[equal_keys + 1] = (codes[equal_keys + 1] != codes[equal_keys]).any(axis=1)
    return CodedTable(codes, n_levels[columns], categorical[columns], columns, np.cumsum(new) - 1)


def _ranks(values: FloatArray) -> IntArray:
    """Return dense ranks from 1 within every row of a matrix; 0 for NaN."""
    order = np.argsort(values, axis=1)
    rising = np.take_along_axis(values, order, axis=1)
    new = np.ones(values.shape, bool)
    new[:, 1:] = rising[:, 1:] != rising[:, :-1]
    rank = np.cumsum(new, axis=1)
    rank[np.isnan(rising)] = 0
    codes = np.empty_like(rank)
    np.put_along_axis(codes, order, rank, axis=1)
    return codes


def _orient_ranks(codes: IntArray) -> IntArray:
    """Rank from the top or the bottom, whichever makes the first row that differs low."""
    mirrored = np.where(codes > 0, codes.max(axis=1, keepdims=True) + 1 - codes, 0)
    first = (codes != mirrored).argmax(axis=1)
    row = np.arange(len(codes))
    turned = codes[row, first] > mirrored[row, first]
    return np.where(turned[:, None], mirrored, codes)


def _number_by_appearance(codes: AnyArray) -> IntArray:
    """Number levels from 1 as they first appear; missing stays 0."""
    levels, first = np.unique(codes, return_index=True)
    first = np.where(levels == 0, -1, first)
    number = np.zeros(int(levels[-1]) + 1, np.int64)
    number[levels[np.argsort(first)]] = np.arange(len(levels)) + (levels[0] > 0)
    return number[codes]


def _hashes(codes: AnyArray, categorical: BoolArray) -> WordArray:
    """Return a hash of each column: its codes times fixed random factors, modulo 2^64."""
    factors = np.random.SeedSequence(codes.shape[1]).generate_state(codes.shape[1] + 1, np.uint64)
    hashes: WordArray = categorical * factors[-1]
    for low, high in split(len(codes), 1024):
        hashes[low:high] += (codes[low:high] * factors[:-1]).sum(axis=1)
    return hashes
