r"""Association of two columns, whatever their kinds.

.. math::

    V^2(a, b) = \frac{1}{d} \operatorname{tr}
        \bigl(S_{aa}^{-1} S_{ab} S_{bb}^{-1} S_{ba}\bigr),
    \qquad d = \min(\text{levels}_a, \text{levels}_b) - 1 \text{ or } 1,

with S the covariances of the two columns, numbers as ranks, categories as indicators of their
levels. For two columns of numbers V is Spearman's correlation without its sign, for two of
categories Cramér's V, for one of each the correlation ratio of the ranks.

With many levels the last two are large by chance alone, and 1 for an identifier. They are corrected
for that: with :math:`\phi^2 = d V^2`, r and c levels and n rows

.. math::

    \tilde V^2 = \frac{\max\left(0,\ \phi^2 - \frac{(r - 1)(c - 1)}{n - 1}\right)}
    {\min\left(r - \frac{(r - 1)^2}{n - 1},\ c - \frac{(c - 1)^2}{n - 1}\right) - 1},
    \qquad \tilde\eta^2 = \max\left(0,\ 1 - (1 - \eta^2)\frac{n - 1}{n - r}\right)

Cramér, H. (1946), *Mathematical Methods of Statistics*, Princeton University Press, chapter 21.
Bergsma, W. (2013), A bias-correction for Cramér's V and Tschuprow's T, *Journal of the Korean
Statistical Society* 42, 323-328. Kelley, T. L. (1935), An unbiased correlation ratio measure,
*Proceedings of the National Academy of Sciences* 21, 554-559.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.diagnostics.reading import Rows, read_rows
from featly.table.schema import Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["associations", "corrected_v"]


BLOCK_CELLS = 4_000_000  # ranks or indicators in memory at a time
FEW_LEVELS = 32  # columns with more are counted pair by pair
ROUNDING = 1e-9  # a variance below this share of the column's own is none


def associations(
    X: Any,
    columns: Sequence[int | str] | None = None,
    *,
    schema: Schema | dict[str, Any] | None = None,
) -> FloatArray:
    r"""Measure the association of some columns with every column of a table, from 0 to 1.

    Spearman's correlation without its sign for two columns of numbers, Cramér's V for two of
    categories, the correlation ratio of the ranks for one of each; the last two corrected for what
    chance does with many levels. So a column of names that are all different is associated with
    nothing, and a copy still has 1. Each pair is compared in the rows in which neither is missing;
    ranks are those among all values of a column. The association of a column that is constant in
    those rows is 0.

    Parameters
    ----------
    X : data frame, array or sparse matrix of shape (n_rows, n_features)
    columns : sequence of names or positions, or None
        None means all columns; then the result, of p x p cells, is the largest array in memory.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.

    Returns
    -------
    array of shape (len(columns), n_features)

    See Also
    --------
    suspect_columns : Columns that are exactly the same, or multiples of each other.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.diagnostics import associations
    >>> table = pl.DataFrame({
    ...     "dose": [1.0, 2.0, 3.0, 4.0], "level": [2.0, 9.0, 11.0, 90.0],
    ...     "ward": ["a", "a", "b", "b"], "sex": ["f", "m", "f", "m"]})
    >>> associations(table, ["dose", "ward"]).round(2).tolist()
    [[1.0, 1.0, 0.84, 0.0], [0.84, 0.84, 1.0, 0.0]]
    """
    rows = read_rows(X, schema)
    wanted = _find_positions(rows, columns)
    is_number = rows.is_number
    position = np.empty(rows.n_columns, np.int64)
    position[rows.numeric] = np.arange(len(rows.numeric))
    position[rows.categorical] = np.arange(len(rows.categorical))
    strengths = np.zeros((len(wanted), rows.n_columns))
    by_kind = np.flatnonzero(is_number[wanted]), np.flatnonzero(~is_number[wanted])
    ranks, present = _ranks(rows.numbers[:, position[wanted[by_kind[0]]]])
    for lo, hi in _blocks(len(rows.numeric), rows.n_rows):
        block_ranks, block_present = _ranks(rows.numbers[:, lo:hi])
        block_columns = rows.numeric[lo:hi]
        if len(by_kind[0]):
            strengths[np.ix_(by_kind[0], block_columns)] = _correlate_ranks(
                ranks, present, block_ranks, block_present
            )
        for k in by_kind[1]:
            strengths[k, block_columns] = _correlation_ratios(
                rows.codes[position[wanted[k]]], block_ranks, block_present
            )
    if len(by_kind[0]):
        for f, codes in zip(rows.categorical.tolist(), rows.codes, strict=True):
            strengths[by_kind[0], f] = _correlation_ratios(codes, ranks, present)
    if len(by_kind[1]):
        strengths[np.ix_(by_kind[1], rows.categorical)] = _cramer_matrix(
            rows.codes[position[wanted[by_kind[1]]]], rows.codes
        )
    return strengths


def _find_positions(rows: Rows, columns: Sequence[int | str] | None) -> IntArray:
    if columns is None:
        return np.arange(rows.n_columns)
    position_of = {name: f for f, name in enumerate(rows.names)}
    positions = []
    for column in columns:
        if isinstance(column, str):
            if column not in position_of:
                raise DataError(f"{column!r} {describe_unknown_column(column, rows.names)}")
            positions.append(position_of[column])
            continue
        if not -1 < column < rows.n_columns:
            raise DataError(
                f"there is no column {column}: positions run from 0 to {rows.n_columns - 1}"
            )
        positions.append(int(column))
    return np.array(positions, np.int64)


def _blocks(n_columns: int, n_rows: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_CELLS // max(n_rows, 1))
    return ((lo, min(lo + size, n_columns)) for lo in range(0, n_columns, size))


def _ranks(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return ranks of every column around 0, and 1 where there is a value; missing values are 0."""
    present = ~np.isnan(numbers)
    if not numbers.size:
        return numbers.copy(), present.astype(np.float64)
    ranks = np.asarray(stats.rankdata(np.where(present, numbers, np.inf), axis=0))
    count = present.sum(axis=0)
    return np.where(present, ranks - (count + 1) / 2, 0.0), present.astype(np.float64)


def _correlate_ranks(a: FloatArray, has_a: FloatArray, b: FloatArray, has_b: FloatArray) -> Any:
    """Correlate columns of ranks without sign, each pair over the rows that both have."""
    if has_a.all() and has_b.all():
        n: Any = float(len(a))
        sum_a, sum_b = a.sum(axis=0)[:, None], b.sum(axis=0)[None]
        square_a, square_b = (a**2).sum(axis=0)[:, None], (b**2).sum(axis=0)[None]
    else:
        n = np.maximum(has_a.T @ has_b, 1.0)
        sum_a, sum_b = a.T @ has_b, has_a.T @ b
        square_a, square_b = (a**2).T @ has_b, has_a.T @ b**2
    covariance = a.T @ b - sum_a * sum_b / n
    return _root_of_ratio(
        covariance**2, (square_a - sum_a**2 / n, square_a), (square_b - sum_b**2 / n, square_b)
    )


def _correlation_ratios(codes: IntArray, ranks: FloatArray, present: FloatArray) -> FloatArray:
    """Return the root of the share of the ranks' variance that lies between levels."""
    level = codes[codes > 0]
    if not len(level) or not ranks.shape[1]:
        return np.zeros(ranks.shape[1])
    known, code = np.unique(level, return_inverse=True)
    indicators = np.zeros((len(known), len(level)))
    indicators[code, np.arange(len(level))] = 1.0
    known_ranks, known_present = ranks[codes > 0], present[codes > 0]
    count, total = indicators @ known_present, indicators @ known_ranks
    n = np.maximum(count.sum(axis=0), 1.0)
    within = total**2 / np.maximum(count, 1.0)
    mean = total.sum(axis=0) ** 2 / n
    square = (known_ranks**2).sum(axis=0)
    between = within.sum(axis=0) - mean
    n_levels = (count > 0).sum(axis=0)
    ratio = _root_of_ratio(between, (square - mean, square), (1.0, 1.0)) ** 2
    has_rest = (n_levels > 1) & (n > n_levels)
    rest = (1 - ratio) * (n - 1) / np.where(has_rest, n - n_levels, 1.0)
    return np.where(has_rest, np.sqrt(np.clip(1 - rest, 0.0, 1.0)), 0.0)


def _cramer_matrix(ours: IntArray, theirs: IntArray) -> FloatArray:
    """Compute Cramér's V of every pair; columns of few levels by one product of indicators."""
    strengths = np.empty((len(ours), len(theirs)))
    few_ours, few_theirs = (codes.max(axis=1, initial=0) <= FEW_LEVELS for codes in (ours, theirs))
    strengths[np.ix_(few_ours, few_theirs)] = _cramer_by_indicators(
        ours[few_ours], theirs[few_theirs]
    )
    for j in range(len(ours)):
        for f in np.flatnonzero(~few_theirs) if few_ours[j] else range(len(theirs)):
            strengths[j, f] = _cramer_of_pair(ours[j], theirs[f])
    return strengths


def _cramer_by_indicators(ours: IntArray, theirs: IntArray) -> FloatArray:
    if not len(ours) or not len(theirs):
        return np.zeros((len(ours), len(theirs)))
    left, begins = _indicators(ours)
    parts = []
    for lo, hi in _blocks(len(theirs), max(len(left), ours.shape[1]) * FEW_LEVELS):
        right, starts = _indicators(theirs[lo:hi])
        counts = (left @ right.T).astype(np.float64)
        rows = np.add.reduceat(counts, starts, axis=1)
        columns = np.add.reduceat(counts, begins, axis=0)
        sizes = np.diff([*starts, len(right)]), np.diff([*begins, len(left)])
        expected = np.repeat(rows, sizes[0], axis=1) * np.repeat(columns, sizes[1], axis=0)
        share = counts**2 / np.maximum(expected, 1.0)
        share = np.add.reduceat(np.add.reduceat(share, starts, axis=1), begins, axis=0)
        levels = (
            np.add.reduceat(rows > 0, begins, axis=0, dtype=np.int64),
            np.add.reduceat(columns > 0, starts, axis=1, dtype=np.int64),
        )
        n = np.add.reduceat(rows, begins, axis=0)
        parts.append(_correct_v(share - 1, n, *levels))
    return np.concatenate(parts, axis=1)


def _indicators(codes: IntArray) -> tuple[npt.NDArray[np.float32], list[int]]:
    """Stack levels x rows of all columns, and return where each column begins."""
    sizes = np.maximum(codes.max(axis=1), 1)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    indicators = np.zeros((int(begins[-1]), codes.shape[1]), np.float32)
    column, row = np.nonzero(codes)
    indicators[begins[column] + codes[column, row] - 1, row] = 1.0
    return indicators, begins[:-1].tolist()


def _cramer_of_pair(a: IntArray, b: IntArray) -> float:
    is_known = (a > 0) & (b > 0)
    if not is_known.any():
        return 0.0
    _, first = np.unique(a[is_known], return_inverse=True)
    _, second = np.unique(b[is_known], return_inverse=True)
    shape = first.max() + 1, second.max() + 1
    if min(shape) < 2:
        return 0.0
    # only pairs of levels that occur: the table of two columns of identifiers would fill the memory
    pairs, counts = np.unique(first * shape[1] + second, return_counts=True)
    rows, columns = np.bincount(first), np.bincount(second)
    share = counts**2 / (rows[pairs // shape[1]] * columns[pairs % shape[1]])
    return float(_correct_v(share.sum() - 1, counts.sum(), *shape))


def corrected_v(table: FloatArray) -> float:
    """Return Cramér's V of a table of counts, corrected for its bias.

    Examples
    --------
    >>> round(corrected_v(np.array([[18.0, 2.0], [2.0, 18.0]])), 3)
    0.794
    >>> corrected_v(np.full((2, 2), 10.0))
    0.0
    """
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = table.sum()
    if n < 2 or min(table.shape) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    return float(_correct_v((table**2 / expected).sum() / n - 1, n, *table.shape))


def _correct_v(phi: Any, n: Any, r: Any, c: Any) -> Any:
    """Return the corrected V of mean squares of contingency, rows, and levels of both columns."""
    rest = np.maximum(np.asarray(n, dtype=np.float64) - 1, 1.0)
    phi = np.maximum(0.0, phi - (r - 1) * (c - 1) / rest)
    below = np.minimum(r - (r - 1) ** 2 / rest, c - (c - 1) ** 2 / rest) - 1
    is_defined = (np.minimum(r, c) > 1) & (below > ROUNDING)
    square = np.where(is_defined, phi, 0.0) / np.where(is_defined, below, 1.0)
    return np.sqrt(np.clip(square, 0.0, 1.0))


def _root_of_ratio(top: Any, *spreads: tuple[Any, Any]) -> Any:
    """Return the root of top over the product of spreads, 0 where one of these is rounding."""
    below, is_positive = 1.0, True
    for spread, whole in spreads:
        is_positive = is_positive & (spread > ROUNDING * np.maximum(whole, 1.0))
        below = below * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(
            np.clip(np.where(is_positive, top, 0.0) / np.where(is_positive, below, 1.0), 0.0, 1.0)
        )
    return root
