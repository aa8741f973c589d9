r"""Distribution optimally balanced stratified cross-validation (DOB-SCV).

.. math::

    d(x, z) = \sqrt{\sum_f d_f(x_f, z_f)^2}, \qquad
    d_f(a, b) = \begin{cases} 1 & a \text{ or } b \text{ missing} \\
        [a \ne b] & f \text{ categorical} \\
        |a - b| / (\max_f - \min_f) & \text{otherwise} \end{cases}

Moreno-Torres, J. G., Sáez, J. A. and Herrera, F. (2012), Study on the impact of partition-induced
dataset shift on k-fold cross-validation, *IEEE Trans. Neural Networks and Learning Systems* 23,
1304-1312. The distance is HEOM: Wilson, D. R. and Martinez, T. R. (1997), Improved heterogeneous
distance functions, *J. Artif. Intell. Res.* 6, 1-34.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import Column, DataError
from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.ranking.ordering import round_scores
from featly.core.runtime.parallel import split
from featly.core.runtime.question import question
from featly.core.sources import CSCSource
from featly.problem.ingest import read
from featly.study.splitter import Folds, Rows, Split
from featly.table.frames import is_frame, open_table, refuse_shapes
from featly.table.schema import Schema

__all__ = ["DistributionBalancedKFold", "deal_balanced", "heom"]


Names = Sequence[str]

BLOCK_CELLS = 1 << 18  # differences in memory at a time: they fit in a core's cache


@dataclass(frozen=True, repr=False)
class DistributionBalancedKFold(Folds):
    """Cross-validation whose folds look alike: near rows of a class go to different folds.

    Within each class: take a random row without a fold and its ``n_folds - 1`` nearest rows
    without a fold, put each of these rows into a different fold, and repeat until no row is left.
    So every fold has its part of every region of a class, and the accuracy does not suffer from
    folds that differ by chance.

    Folds differ by at most one row in each class, and in total: the rows of a start go to the
    folds with the fewest rows first. Equal distances and equal folds are decided at random.

    The folds are formed from the columns of all rows, test rows included; no fit sees them. The
    estimate is for test rows distributed as the training rows are. Where the model will be used on
    rows distributed otherwise, plain :class:`KFold` is no worse.

    With `row_groups`, groups are dealt instead of rows. A group counts for its most frequent
    class, the distance of two groups is the mean over their pairs of rows, and of a group and its
    nearest ones the largest goes to the fold with the fewest rows.

    Parameters
    ----------
    n_folds : int, default=5
    n_repeats : int, default=1
        Partitions; split number k is fold ``k % n_folds`` of repeat ``k // n_folds``.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It declares categorical and ordinal columns where the dtypes do not. Ordinal columns count
        by the ranks of their levels.
    random_state : int, default=0
        Seed of the random numbers.

    Notes
    -----
    Ranges are those over all rows. A constant column adds nothing, a missing value is at distance
    1 from everything, also from another missing value. The work is at most ``n² p / n_folds``,
    and nothing larger than the table is kept in memory.

    References
    ----------
    Moreno-Torres, J. G., Sáez, J. A. and Herrera, F. (2012), *IEEE Trans. Neural Networks and
    Learning Systems* 23, 1304-1312. Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A.
    (2015), *Feature Selection for High-Dimensional Data*, section 4.4.1.

    Examples
    --------
    Two clouds in one class: each fold gets half of each.

    >>> import numpy as np
    >>> from featly.study.splits import DistributionBalancedKFold
    >>> X = np.array([[0.0], [0.1], [9.0], [9.1], [5.0], [5.1]])
    >>> y = ["a", "a", "a", "a", "b", "b"]
    >>> for split in DistributionBalancedKFold(2).split(X, y):
    ...     print(X[split.test].ravel().round().tolist())
    [0.0, 9.0, 5.0]
    [0.0, 9.0, 5.0]
    """

    n_folds: int = 5
    _: KW_ONLY
    n_repeats: int = 1
    schema: Any = None
    random_state: int = 0

    needs_table = True
    _always_shown = ("n_folds",)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        if rows.X is None:
            raise DataError(f"{self!r} needs the columns: pass X")
        return super()._drawer(replace(rows, X=heom(rows.X, self.schema)))

    def _deal(self, rows: Rows, generator: np.random.Generator) -> IntArray:
        n_folds = int(self.n_folds)
        folds = deal_balanced(rows.X, rows.unit_classes, rows.units, n_folds, generator)
        return folds[rows.units]


def deal_balanced(
    distance: "Distance",
    strata: IntArray,
    units: IntArray,
    n_folds: int,
    generator: np.random.Generator,
) -> IntArray:
    """Return the fold of every unit: a row, or a group of rows.

    Parameters
    ----------
    distance : Distance
    strata : int array of shape (n_units,)
        The class of every unit.
    units : int array of shape (n_rows,)
        The unit of every row.
    """
    folds = np.empty(len(strata), np.int64)
    sizes = np.bincount(units, minlength=len(strata))
    load = np.zeros(n_folds, np.int64)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        rows = np.flatnonzero(strata[units] == stratum)
        position = np.searchsorted(members, units[rows])
        squared = distance.for_rows(rows)
        own_rows = np.split(np.argsort(position, kind="stable"), np.cumsum(sizes[members])[:-1])
        waiting = generator.permutation(len(members))  # so that the first is a random one
        while len(waiting):
            start, remaining = waiting[0], waiting[1:]
            total = sum(np.sqrt(squared(row)) for row in own_rows[start])
            mean = np.bincount(position, total) / (sizes[members] * len(own_rows[start]))
            nearest_first = np.argsort(round_scores(mean[remaining]), kind="stable")
            near, far = nearest_first[: n_folds - 1], nearest_first[n_folds - 1 :]
            neighbourhood = members[np.concatenate([[start], remaining[near]])]
            neighbourhood = neighbourhood[np.argsort(-sizes[neighbourhood], kind="stable")]
            emptiest = generator.permutation(n_folds)
            emptiest = emptiest[np.argsort(load[emptiest], kind="stable")][: len(neighbourhood)]
            folds[neighbourhood] = emptiest
            load[emptiest] += sizes[neighbourhood]
            waiting = remaining[np.sort(far)]
    return folds


# ---- distances --------------------------------------------------------------------------------
class Distance(ABC):
    """HEOM distances between the rows of a table, computed row by row when needed."""

    @abstractmethod
    def for_rows(self, rows: IntArray) -> Callable[[int], FloatArray]:
        """Return a function from a position in `rows` to its squared distances to all of them."""


def heom(X: Any, schema: Any = None) -> Distance:
    """Return the HEOM distances between the rows of a frame, an array or a sparse matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.dob_scv import heom
    >>> X = np.array([[0.0, 5.0], [10.0, 5.0], [5.0, np.nan]])
    >>> heom(X).for_rows(np.arange(3))(0).tolist()
    [0.0, 1.0, 1.25]
    """
    refuse_shapes(X)
    if is_frame(X):
        X = open_table(X)
    elif not scipy.sparse.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise DataError(f"X has shape {X.shape}: give a table, rows by columns")
        X = open_table(X) if X.dtype.kind in "OUST" else X
    reading = read(X, Schema.of(schema))
    return _distances(reading.source, reading.columns.names)


@question
def _distances(source: Any, names: Sequence[str]) -> "Distance":
    """Return the distances between the rows of a table in memory."""
    numbers = [names[int(j)] for j in np.flatnonzero(source.kinds != CATEGORICAL)]
    return _MixedDistance(source.values, source.codes, numbers)


@_distances.answer(CSCSource)
def _sparse_distances(source: CSCSource, names: Sequence[str]) -> "Distance":
    """Return those of a sparse table, which stays sparse."""
    return _SparseDistance(source.matrix, names)


def _ranges(low: FloatArray, high: FloatArray, names: Sequence[str]) -> FloatArray:
    """Return maximum less minimum of every column; infinity, which adds nothing, if constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        ranges = high - low
    odd = np.flatnonzero(np.isinf(low) | np.isinf(high) | np.isinf(ranges))
    if len(odd):
        raise DataError(
            "column ",
            Column(names[odd[0]]),
            " has an infinite or too large value: correct it, or make it missing",
        )
    return np.where(ranges > 0, ranges, np.inf)


def _sum_squares(
    columns: Callable[[int, int], AnyArray], own: FloatArray, n_rows: int
) -> FloatArray:
    """Return squared differences to one row, summed over columns that come block by block."""
    total = np.zeros(n_rows)
    for low, high in split(len(own), max(1, BLOCK_CELLS // max(1, n_rows))):
        difference = columns(low, high) - own[low:high]
        difference[np.isnan(difference)] = 1.0
        total += np.einsum("ij,ij->i", difference, difference)
    return total


class _MixedDistance(Distance):
    """Distances of numbers (rows by columns) and codes (columns by rows, 0 is missing)."""

    def __init__(self, values: AnyArray, codes: AnyArray, names: Sequence[str]) -> None:
        self.values, self.codes = values, codes
        low = np.fmin.reduce(values, axis=0).astype(np.float64)
        high = np.fmax.reduce(values, axis=0).astype(np.float64)
        self.ranges = _ranges(low, high, names)
        self.low = np.where(np.isnan(low), 0.0, low)

    def for_rows(self, rows: IntArray) -> Callable[[int], FloatArray]:
        scaled = (self.values[rows].astype(np.float64) - self.low) / self.ranges
        codes = self.codes[:, rows]

        def squared_distances(row: int) -> FloatArray:
            total = _sum_squares(lambda low, high: scaled[:, low:high], scaled[row], len(rows))
            own = codes[:, row, None]
            n_different: IntArray = np.count_nonzero((codes != own) | (own == 0), axis=0)
            return total + n_different

        return squared_distances


class _SparseDistance(Distance):
    """Distances of numbers of which most are zero and not stored."""

    def __init__(self, matrix: scipy.sparse.csc_array, names: Sequence[str]) -> None:
        n_rows, n_columns = matrix.shape
        n_stored = np.diff(matrix.indptr)
        low, high = np.zeros(n_columns), np.zeros(n_columns)
        nonempty = np.flatnonzero(n_stored)
        if len(nonempty):
            low[nonempty] = np.fmin.reduceat(matrix.data, matrix.indptr[nonempty])
            high[nonempty] = np.fmax.reduceat(matrix.data, matrix.indptr[nonempty])
        zeros = n_stored < n_rows
        low[zeros], high[zeros] = np.fmin(low[zeros], 0.0), np.fmax(high[zeros], 0.0)
        ranges = _ranges(low, high, names)
        data = matrix.data / np.repeat(ranges, n_stored)
        self.scaled = scipy.sparse.csr_array(
            scipy.sparse.csc_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        )

    def for_rows(self, rows: IntArray) -> Callable[[int], FloatArray]:
        by_row = self.scaled[rows]
        by_column = by_row.tocsc()
        from_zero = by_row.copy()  # what a stored value adds where the other row has none
        from_zero.data = np.where(np.isnan(by_row.data), 1.0, by_row.data**2)

        def squared_distances(row: int) -> FloatArray:
            entries = slice(by_row.indptr[row], by_row.indptr[row + 1])
            shared, own = by_row.indices[entries], by_row.data[entries]
            elsewhere = np.ones(by_row.shape[1])
            elsewhere[shared] = 0.0
            near = _sum_squares(
                lambda low, high: by_column[:, shared[low:high]].toarray(), own, len(rows)
            )
            far: FloatArray = from_zero @ elsewhere
            return near + far

        return squared_distances
