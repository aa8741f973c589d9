r"""Weights of columns by how they differ between rows that are near each other.

.. math::

    W_f = \frac{1}{m} \sum_i \sum_j a_{ij} \, \mathrm{diff}_f(i, j), \qquad
    d(i, j) = \sum_f \mathrm{diff}_f(i, j)

over m rows i. A method of the Relief family is a rule for :math:`a_{ij}`: negative for near rows
j of the class of i, positive for near rows of other classes, 0 for others. Kononenko, I. (1994),
Estimating attributes: analysis and extensions of RELIEF, *ECML-94*, 171-182.

Distances of up to `SQUARE_ROWS` rows are a square, of which one half is computed; of more rows, or
of a sample, they come in panels of some rows by all. A rule turns the distances of a row into its
coefficients, in place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from featly.core.relief.relief_columns import Columns, Layout, Pairs, columns_of, padded
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import Source

__all__ = ["Near", "Nearest", "NearestOfAll", "Weights", "relief_weights"]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SQUARE_ROWS = 4096
PANEL_BYTES = 1 << 26
STRIP = 64  # rows of a task
NEAR = 1e-10  # distances that differ by no more than this share are equal
GRID = 2.0**40  # weights are rounded to this: sums that should be 0 are


class Rule(Protocol):
    """Which rows count, and how much."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """Turn distances into coefficients, for the rows ``part`` of `total`.

        ``own[i]`` is the row itself, class c is ``bounds[c]:bounds[c + 1]`` with a `share` of all
        rows.
        """


@dataclass(frozen=True)
class Nearest:
    """ReliefF: the k nearest of every class, those of other classes by their share.

    Rows as far as the k-th share what the nearer ones leave; with `first_come` they do not, and
    who stays is as in Weka.
    """

    k: int
    first_come: bool = False

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """See :class:`Rule`."""
        rule = _nearest_first_come if self.first_come else _nearest
        rule(total, own, bounds, share, min(self.k, int(bounds[-1])), *part)


class NearestOfAll:
    """Relief: the nearest row of the class and the nearest of all others; equals share."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """See :class:`Rule`."""
        _nearest_of_all(total, own, bounds, *part)


class Near:
    """MultiSURF: all rows nearer than the mean distance less half a standard deviation."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """See :class:`Rule`."""
        _near(total, own, bounds, share, *part)


@dataclass(frozen=True)
class Weights:
    """The weight of every feature, from how many rows, and whether Ctrl-C ended it."""

    weights: FloatArray
    n_rows: int
    interrupted: bool = False


def relief_weights(
    source: Source,
    y: IntArray,
    n_classes: int,
    rule: Rule,
    *,
    sample: IntArray | None = None,
    missing: str = "conditional",
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Weights:
    """Weights of all features of a source by a rule of the family.

    Parameters
    ----------
    source : DenseSource or CSCSource
    y : int64 array
        Class of every row.
    n_classes : int
        None of them is empty.
    rule : Nearest, NearestOfAll or Near
    sample : int array, optional
        Rows whose neighbours are looked up; all by default.
    missing : {"conditional", "weka"}
        What a gap differs, see :mod:`featly.core.relief.relief_columns`.
    progress : callable, optional
        Called with (rows done, rows in all).

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> X = np.array([[0.0, 3.0], [0.1, 1.0], [0.9, 2.0], [1.0, 0.0]])
    >>> relief_weights(DenseSource(X), np.array([0, 0, 1, 1]), 2, Nearest(1)).weights.round(3)
    array([ 0.75 , -0.333])
    """
    n, layout = source.n_rows, Layout.of(y, n_classes)
    work = _Work(columns_of(source, layout, missing, n_jobs), layout, rule, n_jobs)
    asked = n if sample is None else len(sample)
    tell = progress or (lambda done, total: None)
    summed = np.zeros(source.n_features)
    if not work.columns:
        return _finished(summed, asked, asked)
    if sample is None and n <= SQUARE_ROWS:
        work.add(None, summed, lambda rows: tell(rows, asked))
        return _finished(summed, n, n)
    place = np.empty(n, np.int64)
    place[layout.rows] = np.arange(n)
    rows = place if sample is None else place[sample]
    # every panel has rows from the whole table: what is done when Ctrl-C comes stands for all
    n_panels = -(-asked * n * 8 // PANEL_BYTES)
    done = 0

    def tell_of_panel(rows: int) -> None:
        tell(done + rows, asked)

    try:
        for k in range(n_panels):
            panel = np.sort(rows[k::n_panels])
            added = np.zeros_like(summed)
            work.add(panel, added, tell_of_panel)
            summed += added
            done += len(panel)
    except KeyboardInterrupt:
        if done == 0:
            raise
    return _finished(summed, done, asked)


def _finished(summed: FloatArray, done: int, asked: int) -> Weights:
    return Weights(np.round(summed / done * GRID) / GRID, done, done < asked)


@dataclass(frozen=True)
class _Work:
    """From rows to weights: distances, coefficients, pairs, differences."""

    columns: list[Columns]
    layout: Layout
    rule: Rule
    n_jobs: int | None

    def add(self, rows: IntArray | None, out: FloatArray, tell: Callable[[int], Any]) -> None:
        """Add the weights of some rows; None is all of them, by the square of distances."""
        own = np.arange(len(self.layout.y)) if rows is None else rows
        total = np.zeros((padded(len(own), 4), padded(len(self.layout.y), 4)))
        self._add_gaps(rows, total)
        width, done = sum(len(columns.features) for columns in self.columns), 0
        for columns in self.columns:
            for more in columns.add_distances(total, rows):
                done += more
                tell((len(own) - 1) * done // width)
        pairs = self._pairs(total, own, triangle=rows is None)
        del total
        for columns in self.columns:
            columns.add_weights(pairs, out)
            for gaps in columns.gaps():
                gaps.add_weights(pairs, out)
        tell(len(own))

    def _add_gaps(self, rows: IntArray | None, total: FloatArray) -> None:
        """What gaps differ, of the rows themselves and of those that they are compared with."""
        n = len(self.layout.y)
        tables = (gaps for columns in self.columns for gaps in columns.gaps())
        across, k = None, -1
        for k, gaps in enumerate(tables):
            if rows is not None and k == 0:
                across = np.zeros((n, len(rows)))
            gaps.add_distances(total, across, rows)
        if across is not None:
            total[: across.shape[1], :n] += across.T
        elif k >= 0:
            run_blocks(lambda part: _fold(total, *part), split(n, STRIP), self.n_jobs)

    def _pairs(self, total: FloatArray, own: IntArray, *, triangle: bool) -> Pairs:
        """The pairs of rows that count; in a square those of both directions become one."""
        bounds = self.layout.bounds
        share = np.diff(bounds) / bounds[-1]
        strips = split(len(own), STRIP)
        if triangle:
            run_blocks(lambda part: _mirror(total, *part, len(own)), strips, self.n_jobs)
        run_blocks(
            lambda part: self.rule.weigh(total, own, bounds, share, part), strips, self.n_jobs
        )
        if triangle:
            run_blocks(lambda part: _fold(total, *part), strips, self.n_jobs)
        n = len(self.layout.y)
        starts = np.zeros(len(own) + 1, np.int64)
        run_blocks(lambda part: _count(total, n, triangle, *part, starts), strips, self.n_jobs)
        np.cumsum(starts, out=starts)
        others, coefficients = np.empty(starts[-1], np.int64), np.empty(starts[-1])
        run_blocks(
            lambda part: _collect(total, n, triangle, *part, starts, others, coefficients),
            strips,
            self.n_jobs,
        )
        return Pairs(own, starts, others, coefficients, n)


# ---- rules ----------------------------------------------------------------------------------
@kernel
def _nearest(total, own, bounds, share, k, first, last):
    """ReliefF, for the rows ``first:last`` of `total`, float64[rows, n]."""
    heap = np.empty(k)
    for i in range(first, last):
        total[i, own[i]] = np.inf
        hits = _class_of(own[i], bounds)
        for c in range(len(bounds) - 1):
            row = total[i, bounds[c] : bounds[c + 1]]
            count = min(k, len(row) - (c == hits))
            factor = -1.0 if c == hits else share[c] / (1 - share[hits])
            _share(row, _kth(row, count, heap), count, factor)


@kernel
def _class_of(row, bounds):
    c = 0
    while bounds[c + 1] <= row:
        c += 1
    return c


@kernel
def _kth(row, count, heap):
    """The `count`-th smallest distance; 0 if none is asked for. `heap` has room for them."""
    if count == 0:
        return 0.0
    size = 0
    for j in range(len(row)):
        d = row[j]
        if size < count:
            place = size
            size += 1
            while place > 0 and heap[(place - 1) // 2] < d:
                heap[place] = heap[(place - 1) // 2]
                place = (place - 1) // 2
            heap[place] = d
        elif d < heap[0]:
            place = 0
            while True:
                child = 2 * place + 1
                if child + 1 < count and heap[child + 1] > heap[child]:
                    child += 1
                if child >= count or heap[child] <= d:
                    break
                heap[place] = heap[child]
                place = child
            heap[place] = d
    return heap[0]


@kernel
def _share(row, farthest, count, factor):
    """Distances to coefficients that sum to `factor`: `count` rows, equals at the end share."""
    nearer, limit = farthest * (1 - NEAR), farthest * (1 + NEAR)
    ahead = level = 0
    for j in range(len(row)):
        ahead += row[j] < nearer
        level += (row[j] >= nearer) & (row[j] <= limit)
    each = factor / count if count > 0 else 0.0
    last = each * (count - ahead) / level if count > 0 else 0.0
    for j in range(len(row)):
        d = row[j]
        row[j] = each if d < nearer else last if d <= limit else 0.0


@kernel
def _nearest_first_come(total, own, bounds, share, k, first, last):
    """ReliefF as Weka chooses: a row takes the place of the first of the farthest so far.

    Rows of a class are in their order in the table.
    """
    kept, chosen = np.empty(k), np.empty(k, np.int64)
    for i in range(first, last):
        hits = _class_of(own[i], bounds)
        for c in range(len(bounds) - 1):
            row, itself = total[i, bounds[c] : bounds[c + 1]], own[i] - bounds[c]
            size, place = 0, 0
            for j in range(len(row)):
                if j == itself or (size == k and row[j] >= kept[place] * (1 - NEAR)):
                    continue
                if size < k:
                    place = size
                    size += 1
                kept[place], chosen[place] = row[j], j
                farthest = 0.0
                for q in range(size):
                    farthest = max(farthest, kept[q])
                place = 0
                while kept[place] < farthest * (1 - NEAR):
                    place += 1
            factor = -1.0 if c == hits else share[c] / (1 - share[hits])
            row[:] = 0.0
            for q in range(size):
                row[chosen[q]] = factor / size


@kernel
def _nearest_of_all(total, own, bounds, first, last):
    """Relief."""
    n = bounds[-1]
    for i in range(first, last):
        total[i, own[i]] = np.inf
        c = _class_of(own[i], bounds)
        begin, end = bounds[c], bounds[c + 1]
        hits = total[i, begin:end]
        nearest = np.inf
        for j in range(len(hits)):
            nearest = min(nearest, hits[j])
        _share(hits, nearest, min(1, len(hits) - 1), -1.0)
        # the misses lie on both sides of the class
        nearest = np.inf
        for j in range(n):
            if not begin <= j < end:
                nearest = min(nearest, total[i, j])
        limit = nearest * (1 + NEAR)
        level = 0
        for j in range(n):
            level += (not begin <= j < end) and total[i, j] <= limit
        for j in range(n):
            if not begin <= j < end:
                total[i, j] = 1 / level if total[i, j] <= limit else 0.0


@kernel
def _near(total, own, bounds, share, first, last):
    """MultiSURF."""
    n_classes, n = len(bounds) - 1, bounds[-1]
    for i in range(first, last):
        row, hits = total[i, :n], _class_of(own[i], bounds)
        row[own[i]] = 0.0
        mean = 0.0
        for j in range(n):
            mean += row[j]
        mean /= n - 1
        variance = -mean * mean  # of the row itself, which is in the sum
        for j in range(n):
            variance += (row[j] - mean) ** 2
        limit = mean - np.sqrt(max(variance, 0.0) / (n - 1)) / 2
        row[own[i]] = np.inf
        limit *= 1 - NEAR
        met = 0.0
        for c in range(n_classes):
            count = 0
            for j in range(bounds[c], bounds[c + 1]):
                near = row[j] < limit
                count += near
                row[j] = 1.0 if near else 0.0
            if count > 0 and c != hits:
                met += share[c]
            factor = -1.0 if c == hits else share[c]
            for j in range(bounds[c], bounds[c + 1]):
                row[j] *= factor / max(count, 1)
        for c in range(n_classes):
            if c != hits and met > 0:
                for j in range(bounds[c], bounds[c + 1]):
                    row[j] /= met


# ---- pairs ----------------------------------------------------------------------------------
@kernel
def _mirror(total, first, last, n):
    """Copy what is above the diagonal in the rows ``first:last`` to below it."""
    for panel in range(first, n, 32):
        for i in range(first, last):
            for j in range(max(i + 1, panel), min(n, panel + 32)):
                total[j, i] = total[i, j]


@kernel
def _fold(total, first, last):
    """Add what is below the diagonal in the rows ``first:last`` to its mirror image."""
    for i in range(first, last):
        row = total[i, :i]
        for j in range(len(row)):
            if row[j] != 0.0:  # few are
                total[j, i] += row[j]


@kernel
def _count(total, n, triangle, first, last, counts):
    """``counts[i + 1]``: coefficients of row i that are not 0."""
    for i in range(first, last):
        row = total[i, i + 1 if triangle else 0 : n]
        found = 0
        for j in range(len(row)):
            found += row[j] != 0.0
        counts[i + 1] = found


@kernel
def _collect(total, n, triangle, first, last, starts, others, coefficients):
    """List those coefficients with their rows."""
    for i in range(first, last):
        begin = i + 1 if triangle else 0
        row = total[i, begin:n]
        place = starts[i]
        for j in range(len(row)):
            if row[j] != 0.0:
                others[place], coefficients[place] = begin + j, row[j]
                place += 1
