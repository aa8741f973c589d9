r"""Weights of columns by how they differ between rows that are near each other.

.. math::

    W_f = \frac{1}{m} \sum_i \sum_j a_{ij} \, \mathrm{diff}_f(i, j), \qquad
    d(i, j) = \sum_f \mathrm{diff}_f(i, j)

over m rows i. A method of the Relief family is a rule for :math:`a_{ij}`: negative for near rows
j of the class of i, positive for near rows of other classes, 0 for others. Kononenko, I. (1994),
Estimating attributes: analysis and extensions of RELIEF, *ECML-94*, 171-182.

Distances of up to `SQUARE_ROWS` rows are a square, of which one half is computed. Of more rows, or
of a sample, they are computed in panels of some rows by all rows. A rule turns the distances of a
row into its coefficients, in place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.relief.relief_columns import ClassOrder, Columns, Pairs, build_columns, round_up
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question
from featly.core.sources import Source

__all__ = ["Near", "Nearest", "NearestOfAll", "Weights", "relief_weights"]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"


SQUARE_ROWS = 4096
PANEL_BYTES = 1 << 26
STRIP = 64  # rows of a task
NEAR = 1e-10  # distances that differ by no more than this share are equal
GRID = (
    2.0**40
)  # weights are rounded to multiples of its inverse: sums that should be 0 are exactly 0


class Rule(Protocol):
    """Rule for the coefficients of the rows near a row."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """Turn distances into coefficients, for the rows ``part`` of `total`.

        Row i of `total` belongs to row ``own[i]`` of the table. Class c is the rows
        ``bounds[c]:bounds[c + 1]``, and ``share[c]`` its share of all rows.
        """


@dataclass(frozen=True)
class Nearest:
    """ReliefF: the k nearest rows of every class, those of other classes weighted by its share.

    Rows as far away as the k-th share the remaining weight equally. With `first_come`, ties are
    broken as in Weka.
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
    """Relief: the nearest row of the same class and of all other classes; ties share the weight."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """See :class:`Rule`."""
        _nearest_of_all(total, own, bounds, *part)


class Near:
    """MultiSURF: all rows nearer than the mean distance minus half a standard deviation."""

    def weigh(
        self, total: FloatArray, own: IntArray, bounds: IntArray, share: FloatArray, part: Any
    ) -> None:
        """See :class:`Rule`."""
        _near(total, own, bounds, share, *part)


@dataclass(frozen=True)
class Weights:
    """Weights of all features, the number of rows used, and whether Ctrl-C interrupted the work."""

    weights: FloatArray
    n_rows: int
    interrupted: bool = False


@question(gpu="featly.core.relief.relief_cuda")
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
    """Compute the weights of all features of a source by a rule of the family.

    Parameters
    ----------
    source : Source
    y : int64 array
        Class of every row.
    n_classes : int
        Number of classes; none is empty.
    rule : Nearest, NearestOfAll or Near
    sample : int array, optional
        Rows whose neighbours are searched; all by default.
    missing : {"conditional", "weka"}
        The difference of a missing value, see :mod:`featly.core.relief.relief_columns`.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
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
    n, class_order = source.n_rows, ClassOrder.from_labels(y, n_classes)
    work = _Work(build_columns(source, class_order, missing, n_jobs), class_order, rule, n_jobs)
    n_wanted = n if sample is None else len(sample)
    report = progress or (lambda done, total: None)
    summed = np.zeros(source.n_features)
    if not work.columns:
        return _build_weights(summed, n_wanted, n_wanted)
    if sample is None and n <= SQUARE_ROWS:
        work.add(None, summed, lambda rows: report(rows, n_wanted))
        return _build_weights(summed, n, n)
    position = np.empty(n, np.int64)
    position[class_order.rows] = np.arange(n)
    rows = position if sample is None else position[sample]
    # every panel has rows from the whole table, so after Ctrl-C the rows done represent all
    n_panels = -(-n_wanted * n * 8 // PANEL_BYTES)
    done = 0

    def report_panel(rows: int) -> None:
        report(done + rows, n_wanted)

    try:
        for k in range(n_panels):
            panel = np.sort(rows[k::n_panels])
            added = np.zeros_like(summed)
            work.add(panel, added, report_panel)
            summed += added
            done += len(panel)
    except KeyboardInterrupt:
        if done == 0:
            raise
    return _build_weights(summed, done, n_wanted)


def _build_weights(summed: FloatArray, done: int, n_wanted: int) -> Weights:
    return Weights(np.round(summed / done * GRID) / GRID, done, done < n_wanted)


@dataclass(frozen=True)
class _Work:
    """Steps from rows to weights: distances, coefficients, pairs, differences."""

    columns: list[Columns]
    class_order: ClassOrder
    rule: Rule
    n_jobs: int | None

    def add(self, rows: IntArray | None, out: FloatArray, report: Callable[[int], Any]) -> None:
        """Add the weights of some rows; None means all of them, by the square of distances."""
        own = np.arange(len(self.class_order.y)) if rows is None else rows
        total = np.zeros((round_up(len(own), 4), round_up(len(self.class_order.y), 4)))
        self._add_missing_distances(rows, total)
        width, done = sum(len(columns.features) for columns in self.columns), 0
        for columns in self.columns:
            for n_more in columns.add_distances(total, rows):
                done += n_more
                report((len(own) - 1) * done // width)
        pairs = self._pairs(total, own, triangle=rows is None)
        del total
        for columns in self.columns:
            columns.add_weights(pairs, out)
            for terms in columns.missing_terms():
                terms.add_weights(pairs, out)
        report(len(own))

    def _add_missing_distances(self, rows: IntArray | None, total: FloatArray) -> None:
        """Add the differences of missing values, of the rows and of those compared with them."""
        n = len(self.class_order.y)
        tables = (terms for columns in self.columns for terms in columns.missing_terms())
        across, k = None, -1
        for k, terms in enumerate(tables):
            if rows is not None and k == 0:
                across = np.zeros((n, len(rows)))
            terms.add_distances(total, across, rows)
        if across is not None:
            total[: across.shape[1], :n] += across.T
        elif k >= 0:
            run_blocks(lambda part: _fold(total, *part), split(n, STRIP), self.n_jobs)

    def _pairs(self, total: FloatArray, own: IntArray, *, triangle: bool) -> Pairs:
        """Collect the pairs with a coefficient; in a square, both directions become one pair."""
        bounds = self.class_order.bounds
        share = np.diff(bounds) / bounds[-1]
        strips = split(len(own), STRIP)
        if triangle:
            run_blocks(lambda part: _mirror(total, *part, len(own)), strips, self.n_jobs)
        run_blocks(
            lambda part: self.rule.weigh(total, own, bounds, share, part), strips, self.n_jobs
        )
        if triangle:
            run_blocks(lambda part: _fold(total, *part), strips, self.n_jobs)
        n = len(self.class_order.y)
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
    """Apply ReliefF to the rows ``first:last`` of `total`, float64[rows, n]."""
    heap = np.empty(k)
    for i in range(first, last):
        total[i, own[i]] = np.inf
        hits = _find_class(own[i], bounds)
        for c in range(len(bounds) - 1):
            row = total[i, bounds[c] : bounds[c + 1]]
            count = min(k, len(row) - (c == hits))
            factor = -1.0 if c == hits else share[c] / (1 - share[hits])
            _share(row, _kth_smallest(row, count, heap), count, factor)


@kernel
def _find_class(row, bounds):
    c = 0
    while bounds[c + 1] <= row:
        c += 1
    return c


@kernel
def _kth_smallest(row, count, heap):
    """Return the `count`-th smallest distance, 0 if `count` is 0; `heap` has that length."""
    if count == 0:
        return 0.0
    size = 0
    for j in range(len(row)):
        d = row[j]
        if size < count:
            node = size
            size += 1
            while node > 0 and heap[(node - 1) // 2] < d:
                heap[node] = heap[(node - 1) // 2]
                node = (node - 1) // 2
            heap[node] = d
        elif d < heap[0]:
            node = 0
            while True:
                child = 2 * node + 1
                if child + 1 < count and heap[child + 1] > heap[child]:
                    child += 1
                if child >= count or heap[child] <= d:
                    break
                heap[node] = heap[child]
                node = child
            heap[node] = d
    return heap[0]


@kernel
def _share(row, farthest, count, factor):
    """Turn distances into coefficients that sum to `factor`: `count` rows, the last ties share."""
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
    """Apply ReliefF as in Weka: a nearer row replaces the first of the farthest so far.

    Rows of a class are in their order in the table.
    """
    distances, members = np.empty(k), np.empty(k, np.int64)
    for i in range(first, last):
        hits = _find_class(own[i], bounds)
        for c in range(len(bounds) - 1):
            row, itself = total[i, bounds[c] : bounds[c + 1]], own[i] - bounds[c]
            size, slot = 0, 0
            for j in range(len(row)):
                if j == itself or (size == k and row[j] >= distances[slot] * (1 - NEAR)):
                    continue
                if size < k:
                    slot = size
                    size += 1
                distances[slot], members[slot] = row[j], j
                farthest = 0.0
                for q in range(size):
                    farthest = max(farthest, distances[q])
                slot = 0
                while distances[slot] < farthest * (1 - NEAR):
                    slot += 1
            factor = -1.0 if c == hits else share[c] / (1 - share[hits])
            row[:] = 0.0
            for q in range(size):
                row[members[q]] = factor / size


@kernel
def _nearest_of_all(total, own, bounds, first, last):
    """Apply Relief to the rows ``first:last`` of `total`."""
    n = bounds[-1]
    for i in range(first, last):
        total[i, own[i]] = np.inf
        c = _find_class(own[i], bounds)
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
    """Apply MultiSURF to the rows ``first:last`` of `total`."""
    n_classes, n = len(bounds) - 1, bounds[-1]
    for i in range(first, last):
        row, hits = total[i, :n], _find_class(own[i], bounds)
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
        share_met = 0.0
        for c in range(n_classes):
            count = 0
            for j in range(bounds[c], bounds[c + 1]):
                near = row[j] < limit
                count += near
                row[j] = 1.0 if near else 0.0
            if count > 0 and c != hits:
                share_met += share[c]
            factor = -1.0 if c == hits else share[c]
            for j in range(bounds[c], bounds[c + 1]):
                row[j] *= factor / max(count, 1)
        for c in range(n_classes):
            if c != hits and share_met > 0:
                for j in range(bounds[c], bounds[c + 1]):
                    row[j] /= share_met


# ---- pairs ----------------------------------------------------------------------------------
@kernel
def _mirror(total, first, last, n):
    """Copy the part of the rows ``first:last`` above the diagonal to below it."""
    for panel in range(first, n, 32):
        for i in range(first, last):
            for j in range(max(i + 1, panel), min(n, panel + 32)):
                total[j, i] = total[i, j]


@kernel
def _fold(total, first, last):
    """Add the part of the rows ``first:last`` below the diagonal to its mirror image."""
    for i in range(first, last):
        row = total[i, :i]
        for j in range(len(row)):
            if row[j] != 0.0:  # few are not 0
                total[j, i] += row[j]


@kernel
def _count(total, n, triangle, first, last, counts):
    """Write into ``counts[i + 1]`` how many coefficients of row i are not 0."""
    for i in range(first, last):
        row = total[i, i + 1 if triangle else 0 : n]
        count = 0
        for j in range(len(row)):
            count += row[j] != 0.0
        counts[i + 1] = count


@kernel
def _collect(total, n, triangle, first, last, starts, others, coefficients):
    """List the coefficients that are not 0, with their rows."""
    for i in range(first, last):
        begin = i + 1 if triangle else 0
        row = total[i, begin:n]
        position = starts[i]
        for j in range(len(row)):
            if row[j] != 0.0:
                others[position], coefficients[position] = begin + j, row[j]
                position += 1
