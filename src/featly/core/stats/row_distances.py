r"""Distances between all rows of mixed columns: nearest rows, spanning tree, spheres.

.. math::

    d(x, x')^2 = \sum_f d_f(x_f, x'_f)^2

Cells are float64 and feature-major, numbers already divided by their scale; NaN is missing. A
categorical column holds codes: the squared distance of two different codes is `apart`, and so is
that of a missing cell from any other. With ranges as scales and `apart` 1 this is the Heterogeneous
Euclidean-Overlap Metric.

Wilson, D. R. and Martinez, T. R. (1997), Improved heterogeneous distance functions, *JAIR* 6, 1-34.

Up to `STORED` rows the distances are stored; each pair is computed once, a tile at a time. Above
that no n x n matrix is made: rows of distances are computed again when they are needed.
"""

from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["NearestRows", "SquaredDistances"]

# mypy cannot see through the compiler; the types of kernels are in their docstrings
# mypy: disable-error-code="no-untyped-def"


STORED = 4096  # rows up to which distances are stored: 134 MB
BLOCK = 64  # rows of one task
TILE, WIDTH = 8, 512  # distances that are summed together: 32 kB
NEAR = 1e-10  # squared distances that differ by no more than this share are equal


class NearestRows:
    """Nearest rows of each row, and the share of other classes among them.

    Attributes
    ----------
    intra, extra : float64 arrays
        Squared distance to the nearest row of the same class, and of another; infinite where
        there is none.
    enemy : int64 array
        The nearest row of another class, the first of several.
    wrong : float64 array
        Share of other classes among the nearest rows: 0 or 1 unless several are nearest.
    """

    wrong: FloatArray
    enemy: IntArray
    extra: FloatArray
    intra: FloatArray

    def __init__(self, n_rows: int) -> None:
        self.intra, self.extra = np.empty(n_rows), np.empty(n_rows)
        self.enemy, self.wrong = np.empty(n_rows, np.int64), np.empty(n_rows)


class SquaredDistances:
    """Squared distances between all rows, with what complexity measures need of them.

    Parameters
    ----------
    cells : float64 array of shape (n_columns, n_rows)
        Scaled numbers or codes; NaN is missing.
    numeric : bool array of shape (n_columns,)
        Whether a column holds numbers; else it holds codes.
    apart : float, default=1.0
        Squared distance of different codes and of missing cells.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.stats.row_distances import SquaredDistances
    >>> cells = np.array([[0.0, 0.5, 1.0], [1.0, 1.0, np.nan]])
    >>> SquaredDistances(cells, np.array([True, False])).block(0, 3)
    array([[0.  , 0.25, 2.  ],
           [0.25, 0.  , 1.25],
           [2.  , 1.25, 0.  ]])
    """

    n_jobs: int | None
    apart: float
    cells: FloatArray
    numeric: BoolArray

    def __init__(
        self,
        cells: FloatArray,
        numeric: BoolArray,
        apart: float = 1.0,
        n_jobs: int | None = None,
    ) -> None:
        self.cells, self.numeric = np.ascontiguousarray(cells), np.ascontiguousarray(numeric)
        self.apart, self.n_jobs = float(apart), n_jobs
        self.n_rows: Any = cells.shape[1]
        self._stored = np.empty((0, 0))
        if self.n_rows <= STORED:
            self._stored = self._all_distances()

    def _all_distances(self) -> FloatArray:
        distances = np.empty((self.n_rows, self.n_rows))
        tiles = list(combinations_with_replacement(split(self.n_rows, 2 * BLOCK), 2))

        def fill(pair: tuple[tuple[int, int], tuple[int, int]]) -> None:
            (low, high), (begin, end) = pair
            tile = np.empty((high - low, end - begin))
            squares(self.cells, low, high, self.cells, begin, end, self.numeric, self.apart, tile)
            distances[low:high, begin:end] = tile
            distances[begin:end, low:high] = tile.T

        run_blocks(fill, tiles, self.n_jobs)
        np.fill_diagonal(distances, 0.0)  # also of a row with missing values to itself
        return distances

    def block(self, low: int, high: int) -> FloatArray:
        """Return squared distances of some rows to all, 0 to themselves; may be a view."""
        if len(self._stored):
            return self._stored[low:high]
        squared = self.distances_from(self.cells, low, high)
        squared[np.arange(high - low), np.arange(low, high)] = 0.0
        return squared

    def distances_from(self, cells: FloatArray, low: int, high: int) -> FloatArray:
        """Return squared distances of rows ``low:high`` of other cells to all rows."""
        squared, n = np.empty((high - low, self.n_rows)), self.n_rows
        squares(cells, low, high, self.cells, 0, n, self.numeric, self.apart, squared)
        return squared

    def nearest(self, y: IntArray) -> NearestRows:
        """Find the nearest rows of the same and of other classes."""
        out = NearestRows(self.n_rows)

        def find_nearest(block: tuple[int, int]) -> None:
            find_nearest_rows(
                self.block(*block), block[0], y, out.intra, out.extra, out.enemy, out.wrong
            )

        run_blocks(find_nearest, split(self.n_rows, BLOCK), self.n_jobs)
        return out

    def errors(self, cells: FloatArray, labels: IntArray, y: IntArray) -> FloatArray:
        """Return the share of wrong classes among the rows nearest to other rows of known class."""
        wrong, cells = np.empty(len(labels)), np.ascontiguousarray(cells)

        def find_nearest(block: tuple[int, int]) -> None:
            count_wrong(
                self.distances_from(cells, *block), y, labels[slice(*block)], wrong[slice(*block)]
            )

        run_blocks(find_nearest, split(len(labels), BLOCK), self.n_jobs)
        return wrong

    def boundary(self, y: IntArray) -> BoolArray:
        """Return the rows joined to one of another class in a minimum spanning tree.

        Of edges of equal length, those within a class come first.
        """
        on_boundary = np.zeros(self.n_rows, np.bool_)
        grow_spanning_tree(self._stored, self.cells, self.numeric, self.apart, y, on_boundary)
        return on_boundary

    def spheres(self, y: IntArray, nearest: NearestRows) -> tuple[FloatArray, int]:
        """Return the radii of the spheres around all rows, and how many spheres are needed."""
        distance = np.sqrt(nearest.extra)
        radius = np.empty(self.n_rows)
        for i in np.argsort(distance, kind="stable").tolist():
            j = int(nearest.enemy[i])
            mutual = nearest.extra[j] >= nearest.extra[i] * (1 - NEAR)
            radius[i] = distance[i] / 2 if mutual else distance[i] - radius[j]
        order = np.argsort(-radius, kind="stable")
        n_spheres = count_spheres(
            self._stored, self.cells, self.numeric, self.apart, y, radius, order
        )
        return radius, int(n_spheres)


# ---- loops ---------------------------------------------------------------------------------------
@kernel
def squares(rows, lo, hi, cells, begin, end, numeric, apart, total):
    """Fill `total` with squared distances of ``rows[:, lo:hi]`` to ``cells[:, begin:end]``.

    `rows` and `cells` are float64[columns, ...], `total` float64[hi - lo, end - begin]. Sums of
    `TILE` rows by `WIDTH` cells at a time stay in the first cache of the processor.
    """
    scratch = np.empty((TILE, WIDTH))
    for left in range(begin, end, WIDTH):
        width = min(WIDTH, end - left)
        for top in range(lo, hi, TILE):
            height = min(TILE, hi - top)
            for t in range(height):
                for j in range(width):
                    scratch[t, j] = 0.0
            for f in range(len(cells)):
                column = cells[f, left : left + width]
                for t in range(height):
                    _add_column(column, rows[f, top + t], numeric[f], apart, scratch[t, :width])
            for t in range(height):
                for j in range(width):
                    total[top - lo + t, left - begin + j] = _round_distance(scratch[t, j])


@kernel
def _add_column(column, value, number, apart, total):
    if number:
        for j in range(len(column)):
            d = column[j] - value
            total[j] += d * d if d == d else apart
    else:
        for j in range(len(column)):
            total[j] += 0.0 if column[j] == value else apart  # NaN equals nothing


@kernel
def _round_distance(value):
    """Round to ten digits, so that ties remain in other units and orders of columns."""
    wide = value * 1048577.0  # 2^20 + 1, Veltkamp's way to drop 20 bits
    return wide - (wide - value)


@kernel
def _fill_row(stored, cells, numeric, apart, i, total):
    """Fill `total` with the squared distances of row `i` to all."""
    n = cells.shape[1]
    if len(stored):
        for j in range(n):
            total[j] = stored[i, j]
        return
    for j in range(n):
        total[j] = 0.0
    for f in range(len(cells)):
        _add_column(cells[f], cells[f, i], numeric[f], apart, total)
    for j in range(n):
        total[j] = _round_distance(total[j])
    total[i] = 0.0


@kernel
def find_nearest_rows(squared, first, y, intra, extra, enemy, wrong):
    """Find the nearest rows of rows ``first:first + len(squared)``; see `NearestRows`."""
    for t in range(len(squared)):
        i, row = first + t, squared[t]
        own, other, enemy_row = np.inf, np.inf, -1
        for j in range(len(row)):
            if y[j] == y[i]:
                if row[j] < own and j != i:
                    own = row[j]
            elif row[j] < other:
                other, enemy_row = row[j], j
        intra[i], extra[i], enemy[i] = own, other, enemy_row
        wrong[i] = _share_wrong(row, min(own, other), y, y[i], i)


@kernel
def _share_wrong(row, least, y, label, without):
    limit, level, n_wrong = least * (1 + NEAR), 0, 0
    for j in range(len(row)):
        if row[j] <= limit and j != without:
            level += 1
            n_wrong += y[j] != label
    return n_wrong / level


@kernel
def count_wrong(squared, y, labels, wrong):
    """Compute the share of wrong classes among the nearest rows of other points."""
    for t in range(len(squared)):
        least = np.inf
        for j in range(len(y)):
            least = min(least, squared[t, j])
        wrong[t] = _share_wrong(squared[t], least, y, labels[t], -1)


@kernel
def grow_spanning_tree(stored, cells, numeric, apart, y, on_boundary):
    """Grow Prim's tree from row 0; mark in `on_boundary` both ends of edges between classes."""
    n = len(y)
    row, best, parent = np.empty(n), np.empty(n), np.empty(n, np.int64)
    crosses, within = np.empty(n, np.bool_), np.zeros(n, np.bool_)
    for j in range(n):
        best[j], parent[j], crosses[j] = np.inf, 0, True
    current = 0
    for _ in range(n - 1):
        within[current] = True
        _fill_row(stored, cells, numeric, apart, current, row)
        following = -1
        for j in range(n):
            if within[j]:
                continue
            cross = y[j] != y[current]
            if row[j] < best[j] or (row[j] == best[j] and crosses[j] and not cross):
                best[j], parent[j], crosses[j] = row[j], current, cross
            if (
                following < 0
                or best[j] < best[following]
                or (best[j] == best[following] and crosses[following] and not crosses[j])
            ):
                following = j
        current = following
        if crosses[current]:
            on_boundary[current] = True
            on_boundary[parent[current]] = True


@kernel
def count_spheres(stored, cells, numeric, apart, y, radius, order):
    """Count the spheres needed when each, in this order, covers the rows of its class inside it."""
    n, count = len(y), 0
    covered, row = np.zeros(n, np.bool_), np.empty(n)
    for k in range(n):
        i = order[k]
        if covered[i]:
            continue
        count += 1
        covered[i] = True
        if radius[i] <= 0.0:
            continue
        _fill_row(stored, cells, numeric, apart, i, row)
        limit = radius[i] * radius[i]
        for j in range(n):
            if y[j] == y[i] and row[j] < limit * (1 - NEAR):
                covered[j] = True
    return count
