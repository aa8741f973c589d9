r"""Rows that are alike in nearly everything: patients entered twice, samples measured twice.

With :math:`r_k` the distance of a row to its k-th nearest row, K outer neighbours and m the
dimension that these show, a row whose nearest is as near as any by chance has

.. math::

    u = r_1 / r_K, \qquad p = 1 - (1 - u^m)^{K - 1}, \qquad
    m = \frac{\psi(K) - \psi(a)}{\operatorname{mean} \log (r_K / r_a)}

A pair is kept if besides its cells are nearer than chance makes them, counted in as many columns as
the table has independent ones:

.. math::

    p_\text{eff}\, \operatorname{mean}_f \left(-\log \Pr(|X_f - x_{if}| \le |x_{jf} - x_{if}|)
    \right) > \log(n q) + \log 10^4

The dimension is the maximum likelihood estimate of Levina, E. and Bickel, P. J. (2004), Maximum
likelihood estimation of intrinsic dimension, *NIPS* 17, 777-784, from outer neighbours only, so
that families of rows do not hide themselves. The rule for pairs is ours; how often it is wrong was
measured on made tables.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtri, psi
from scipy.stats import rankdata

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.diagnostics.reading import Rows

__all__ = ["Twins", "draw_columns", "find_twins", "normal_scores"]

LEAST_ROWS = 10
MOST_COLUMNS = 1000
MOST_QUERIES, MANY_ROWS, FEW_QUERIES = 2000, 50_000, 250
OPERATIONS = 2e10  # products of cells: the work is kept below, by drawing fewer columns
LEAST_COLUMNS = 50
MOST_LEVELS = 100  # of a category that is compared, levels of one row not counted
NEAR = 0.5  # of the K-th distance
CHANCE = 0.01  # among all queries
SURPRISE = np.log(1e4)
IN_COMMON = 0.3  # of the columns: rows that have fewer cells in common count as far
KNOWN = 0.5  # of the columns, in both rows of a kept pair
MANY = 0.05  # of the rows: more is an alarm
LARGEST_GROUP = 20
SAMPLE = 2000  # rows to which the cells of a pair are compared
HASHED_ROWS, LEFT_OUT = 20_000, 64


@dataclass(frozen=True)
class Twins:
    """Rows that are alike in nearly everything: the result of :func:`find_twins`.

    Attributes
    ----------
    pairs : int array of shape (n_pairs, 2)
        Rows that are alike, the lower first, sorted.
    copies : int array of shape (n_copies, 2)
        Those of the pairs that are equal in all columns.
    n_queries : int
        Rows whose nearest rows were looked at: all, or a sample of a large table.
    n_rows : int
        Rows of the table.
    equal_share : float
        Share of the rows that have an equal row, however often chance makes one.
    """

    pairs: IntArray
    copies: IntArray
    n_queries: int
    n_rows: int
    equal_share: float = 0.0
    queries: IntArray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)

    @property
    def share(self) -> float:
        """Share of the rows looked at that are like another row."""
        rows = np.intersect1d(self.pairs, self.queries)
        return len(rows) / max(self.n_queries, 1)

    @property
    def is_alarm(self) -> bool:
        """Return whether a twentieth of the rows is alike, so that results are too good."""
        return self.share >= MANY

    def groups(self) -> IntArray | None:
        """Return a number for every row, equal for rows that are alike.

        None if a group would have more than 20 rows: then something else makes them alike.
        """
        if not len(self.pairs):
            return np.arange(self.n_rows)
        first, second = self.pairs.T
        links = coo_array((np.ones(len(first)), (first, second)), (self.n_rows, self.n_rows))
        labels: IntArray = connected_components(links, directed=False)[1].astype(np.int64)
        return None if np.bincount(labels).max() > LARGEST_GROUP else labels

    def in_larger_table(self, drawn: IntArray, n_rows: int) -> "Twins":
        """Return the same by positions in a table of which the rows were drawn."""
        return replace(
            self,
            pairs=drawn[self.pairs],
            copies=drawn[self.copies],
            queries=drawn[self.queries],
            n_rows=n_rows,
        )


def find_twins(
    rows: Rows, *, all_rows: bool = False, is_part: bool = False, random_state: int = 0
) -> Twins:
    """Find rows that are alike in nearly everything.

    Parameters
    ----------
    rows : Rows
        Columns that identify the rows should be left out.
    all_rows : bool, default=False
        Whether every row is looked at. If not, above 2,000 rows a sample is held against all
        others, and above 50,000 rows against a sample.
    is_part : bool, default=False
        Whether the rows are a sample of a larger table, so that few are looked at.
    random_state : int, default=0
        Seed of the random numbers.
        They draw rows and columns of large tables.

    Returns
    -------
    Twins
    """
    rng = np.random.default_rng(random_state)
    n = rows.n_rows
    nothing = np.empty((0, 2), np.int64)
    if n < LEAST_ROWS or rows.n_columns == 0:
        return Twins(nothing, nothing, n, n)
    others, queries = _draw_rows(n, all_rows, is_part, rng)
    kept_rows = rows if len(others) == n else rows.take_rows(others)
    copies, equal_share = _find_copies(kept_rows, rng)
    pairs = _find_near_pairs(kept_rows, np.searchsorted(others, queries), rng)
    pairs = np.unique(np.concatenate([pairs, copies]), axis=0)
    return Twins(others[pairs], others[copies], len(queries), n, equal_share, queries)


def _draw_rows(
    n: int, all_rows: bool, is_part: bool, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the rows that are compared with, and those of them that are looked at."""
    everything = np.arange(n)
    if all_rows or n <= MOST_QUERIES:
        return everything, everything
    if is_part:
        return everything, np.sort(rng.choice(n, FEW_QUERIES, replace=False))
    if n <= MANY_ROWS:
        return everything, np.sort(rng.choice(n, MOST_QUERIES, replace=False))
    others = np.sort(rng.choice(n, MANY_ROWS, replace=False))
    return others, np.sort(rng.choice(others, FEW_QUERIES, replace=False))


def draw_columns(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """Return at most so many of the columns, drawn at random."""
    if rows.n_columns <= most:
        return rows
    mask = np.zeros(rows.n_columns, np.bool_)
    mask[rng.choice(rows.n_columns, most, replace=False)] = True
    return rows.take_columns(mask)


# ---- near rows -----------------------------------------------------------------------------------
def _find_near_pairs(rows: Rows, queries: IntArray, rng: np.random.Generator) -> IntArray:
    """Return pairs of rows that are nearer than chance makes them."""
    nothing = np.empty((0, 2), np.int64)
    most = int(np.clip(OPERATIONS / (len(queries) * rows.n_rows), LEAST_COLUMNS, MOST_COLUMNS))
    cells = _Cells.from_rows(rows, most, rng)
    if cells.n_columns == 0:
        return nothing
    distance, neighbour = _nearest(cells, queries)
    n_outer = distance.shape[1]
    inner = min(10, n_outer // 2)
    outer, middle, first = distance[:, -1], distance[:, inner - 1], distance[:, 0]
    is_spread = (middle > 0) & np.isfinite(outer)
    if not is_spread.any():
        return nothing
    logs = np.log(outer[is_spread] / middle[is_spread])
    dimension = (psi(n_outer) - psi(inner)) / max(float(logs.mean()), 1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(outer > 0, first / outer, 1.0)
    chance = -np.expm1((n_outer - 1) * np.log1p(-(np.minimum(u, 1 - 1e-12) ** dimension)))
    candidates = np.flatnonzero((u < NEAR) & (chance < CHANCE / len(queries)) & np.isfinite(outer))
    pairs = np.stack([queries[candidates], neighbour[candidates]], axis=1)
    pairs = pairs[cells.surprise(pairs, rng) > np.log(rows.n_rows * len(queries)) + SURPRISE]
    return np.unique(np.sort(pairs, axis=1), axis=0)


@dataclass(frozen=True)
class _Cells:
    """Columns in units in which each adds 2 to the expected squared distance of two rows.

    Numbers are normal scores of their ranks, missing as NaN; codes are as read, 0 is missing.
    """

    scores: FloatArray  # rows x numbers
    codes: IntArray  # rows x categories

    @classmethod
    def from_rows(cls, rows: Rows, most: int, rng: np.random.Generator) -> "_Cells":
        """Take at most so many columns that vary."""
        rows = draw_columns(rows, most, rng)
        scores = normal_scores(rows.numbers)
        scores = scores[:, np.nanmax(np.abs(scores), axis=0, initial=0.0) > 0]
        counts = [np.bincount(codes)[1:] for codes in rows.codes]
        varies = [
            (count > 0).sum() > 1 and (count > 1).any() and (count > 1).sum() <= MOST_LEVELS
            for count in counts
        ]
        return cls(scores, rows.codes[np.array(varies, np.bool_)].T)

    @property
    def n_columns(self) -> int:
        """Columns that are compared."""
        return int(self.scores.shape[1] + self.codes.shape[1])

    def encode(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return rows x encoded columns, and rows x columns: squared lengths, and what is known.

        A missing cell is 0 in all of them. A level of one row has a length and no encoded column,
        since it is like no other.
        """
        known = np.concatenate([~np.isnan(self.scores), self.codes > 0], axis=1)
        numbers = np.nan_to_num(self.scores, nan=0.0)
        blocks, squares = [numbers], [numbers**2]
        for codes in self.codes.T:
            counts = np.bincount(codes)
            counts[0] = 0
            share = counts / counts.sum()
            square = 1.0 / (1.0 - float(share @ share))
            blocks.append((codes[:, None] == np.flatnonzero(counts > 1)) * np.sqrt(square))
            squares.append((codes[:, None] > 0) * square)
        encoded, lengths = (np.concatenate(part, axis=1) for part in (blocks, squares))
        return encoded.astype(np.float32), lengths.astype(np.float32), known.astype(np.float32)

    def surprise(self, pairs: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return minus the log probability that two rows are as near as each pair.

        It is the mean over the columns that both rows know, times the number of independent
        columns; minus infinity where less than half of the columns are known.
        """
        first, second = pairs.T
        n = len(self.scores)
        sample = np.arange(n) if n <= SAMPLE else rng.choice(n, SAMPLE, replace=False)
        total, count = np.zeros(len(pairs)), np.zeros(len(pairs))
        for column in self.scores.T:
            ordered = np.sort(column[sample][~np.isnan(column[sample])])
            apart = np.abs(column[first] - column[second])
            # a little more, so that rounding leaves no equal value out
            low = np.searchsorted(ordered, column[first] - apart - 1e-12, side="left")
            high = np.searchsorted(ordered, column[first] + apart + 1e-12, side="right")
            is_known = ~np.isnan(apart)
            share = np.maximum(high - low, 1) / max(len(ordered), 1)
            total -= np.where(is_known, np.log(np.minimum(share, 1.0)), 0.0)
            count += is_known
        for codes in self.codes.T:
            counts = np.bincount(codes[sample], minlength=int(codes.max()) + 1)
            share = np.maximum(counts, 1) / max(counts[1:].sum(), 1)
            is_known = (codes[first] > 0) & (codes[second] > 0)
            is_equal = is_known & (codes[first] == codes[second])
            total -= np.where(is_equal, np.log(np.minimum(share[codes[first]], 1.0)), 0.0)
            count += is_known
        enough = count >= KNOWN * self.n_columns
        n_independent = min(float(self.n_columns), self._n_independent(rng))
        mean = total / np.maximum(count, 1)
        return np.where(enough, mean * n_independent, -np.inf)

    def _n_independent(self, rng: np.random.Generator) -> float:
        """Return the effective number of columns, from the Gram matrix of some rows."""
        encoded, _, _ = self.encode()
        n = len(encoded)
        sample = np.arange(n) if n <= 400 else rng.choice(n, 400, replace=False)
        centered = encoded[sample].astype(np.float64)
        centered -= centered.mean(axis=0)
        gram = centered @ centered.T
        return float(np.trace(gram) ** 2 / max(float((gram**2).sum()), 1e-300))


def normal_scores(numbers: FloatArray) -> FloatArray:
    """Return the normal scores of mid-ranks, of variance 1; missing values stay NaN."""
    missing = np.isnan(numbers)
    ranks = rankdata(np.where(missing, np.inf, numbers), axis=0) if numbers.size else numbers
    count = (~missing).sum(axis=0)
    scores = ndtri(np.where(missing, 0.5, ranks / (count + 1)))
    center = scores.sum(axis=0) / np.maximum(count, 1)
    scores = np.where(missing, 0.0, scores - center)
    spread = np.sqrt((scores**2).sum(axis=0) / np.maximum(count, 1))
    scores = np.where(spread > 1e-9, scores / np.where(spread > 1e-9, spread, 1.0), 0.0)
    return np.where(missing, np.nan, scores)


def _nearest(cells: _Cells, queries: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distances to the nearest rows of each query, in order, and the nearest row."""
    encoded, lengths, known = cells.encode()
    n, n_columns = known.shape
    n_outer = min(20, (n - 1) // 2)
    is_complete = bool(known.all())
    total = lengths.sum(axis=1)
    distance, neighbour = np.empty((len(queries), n_outer)), np.empty(len(queries), np.int64)
    size = max(1, int(2e7) // n)
    for low in range(0, len(queries), size):
        block = queries[low : low + size]
        product = encoded[block] @ encoded.T
        if is_complete:
            squares = total[block, None] + total - 2 * product
        else:
            squares = lengths[block] @ known.T + known[block] @ lengths.T - 2 * product
            common = known[block] @ known.T
            squares *= n_columns / np.maximum(common, 1)
            squares[common < IN_COMMON * n_columns] = np.inf
        squares[np.arange(len(block)), block] = np.inf
        nearest = np.argpartition(squares, n_outer - 1, axis=1)[:, :n_outer]
        near = np.maximum(np.take_along_axis(squares, nearest, axis=1), 0.0)
        neighbour[low : low + size] = nearest[np.arange(len(block)), near.argmin(axis=1)]
        distance[low : low + size] = np.sqrt(np.sort(near, axis=1))
    return distance, neighbour


# ---- equal rows ----------------------------------------------------------------------------------
def _find_copies(rows: Rows, rng: np.random.Generator) -> tuple[IntArray, float]:
    """Return pairs of rows that are equal in all columns, and the share of rows that have one.

    No pair is returned where chance makes such pairs: where more pairs differ in one column than
    in none, or where independent columns would make one in a hundred tables.
    """
    nothing = np.empty((0, 2), np.int64)
    n = rows.n_rows
    sample = np.arange(n) if n <= HASHED_ROWS else np.sort(rng.choice(n, HASHED_ROWS, False))
    taken = draw_columns(rows, MOST_COLUMNS, rng).take_rows(sample)
    columns = [bits for bits in _bits_of_columns(taken) if (bits != bits[0]).any()]
    if not columns:  # all rows are equal, and say nothing
        return nothing, 1.0
    keys = rng.integers(1, 2**63, len(columns), np.uint64) * np.uint64(2) + np.uint64(1)
    hashed = (_mix(bits, key) for bits, key in zip(columns, keys, strict=True))
    total = np.zeros(len(sample), np.uint64)
    for part in hashed:
        total += part
    n_equal = _count_equal_pairs(total)
    equal_share = _share_with_equal(total)
    if not n_equal:
        return nothing, equal_share
    left_out = rng.permutation(len(columns))[:LEFT_OUT]
    nearly = sum(_count_equal_pairs(total - _mix(columns[f], keys[f])) - n_equal for f in left_out)
    few = np.sort(rng.choice(len(sample), min(SAMPLE, len(sample)), False))
    log_expected = np.log(len(sample)) + np.log(max(len(sample) - 1, 1)) - np.log(2)
    for bits in columns:
        n_pairs = len(few) * (len(few) - 1) / 2
        log_expected += np.log(max(_count_equal_pairs(bits[few]), 0.5) / n_pairs)
    if n_equal <= nearly * len(columns) / len(left_out) or log_expected >= np.log(0.01):
        return nothing, equal_share
    pairs = _equal_pairs(total, sample)
    if taken.n_columns < rows.n_columns:  # the others may differ
        pairs = pairs[_are_equal(rows, pairs)]
    return pairs, equal_share


def _are_equal(rows: Rows, pairs: IntArray) -> BoolArray:
    """Return whether the two rows of each pair are equal in all columns."""
    first, second = pairs.T
    a, b = rows.numbers[first], rows.numbers[second]
    are_equal = ((a == b) | (np.isnan(a) & np.isnan(b))).all(axis=1)
    return np.asarray(are_equal & (rows.codes[:, first] == rows.codes[:, second]).all(axis=0))


def _bits_of_columns(rows: Rows) -> list[AnyArray]:
    """Return every column as 64 bits a cell, equal for equal cells."""
    numbers = np.where(np.isnan(rows.numbers), np.nan, rows.numbers) + 0.0  # one NaN, one 0
    bits = [np.ascontiguousarray(column).view(np.uint64) for column in numbers.T]
    return bits + [codes.astype(np.uint64) for codes in rows.codes]


def _mix(bits: AnyArray, key: np.uint64) -> AnyArray:
    """Return a hash of 64 bits of each cell."""
    mixed = (bits ^ key) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= key
    mixed ^= mixed >> np.uint64(29)
    return mixed * np.uint64(0xBF58476D1CE4E5B9)


def _count_equal_pairs(keys: AnyArray) -> int:
    counts = np.unique(keys, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _share_with_equal(keys: AnyArray) -> float:
    counts = np.unique(keys, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(keys))


def _equal_pairs(keys: AnyArray, positions: IntArray) -> IntArray:
    """Return pairs of positions with equal keys, each row with the next that equals it."""
    order = np.argsort(keys, kind="stable")
    is_equal: BoolArray = keys[order][1:] == keys[order][:-1]
    pairs = np.stack([positions[order[:-1][is_equal]], positions[order[1:][is_equal]]], axis=1)
    return np.unique(np.sort(pairs, axis=1), axis=0)
