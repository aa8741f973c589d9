r"""Nearest neighbours of rows with columns of all kinds and with missing values.

.. math::

    d(x, x') = \sqrt{\sum_f d_f(x_f, x'_f)^2}, \qquad
    d_f(a, b) = \begin{cases}
        1 & a \text{ or } b \text{ missing} \\
        [a \ne b] & f \text{ categorical} \\
        |a - b| / (\max_f - \min_f) & f \text{ continuous or ordinal}
    \end{cases}

Wilson, D. R. and Martinez, T. R. (1997), Improved heterogeneous distance functions, *JAIR* 6, 1-34.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Whole, check_parameters
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.models.heom import add_distances, poll
from featly.core.ranking.ordering import round_scores
from featly.core.runtime.parallel import run_blocks, split
from featly.learners.one_vs_one import check_sizes
from featly.problem.ingest_rows import MixedColumns, MixedReader, MixedRows
from featly.problem.parameters import InSchema, Threaded
from featly.problem.target import read_classes

__all__ = ["HEOMNeighbors"]


TILE = 32  # rows whose distances are summed together: a column is read once for all of them


class HEOMNeighbors(Threaded, InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""k nearest neighbours by the Heterogeneous Euclidean-Overlap Metric.

    Ranges and levels are those of the training rows, so no test row influences them:

    - a value of another row outside the range counts as the end of the range, so that no column
      counts more than 1;
    - a level that the training rows do not have differs from all of theirs;
    - a missing value has distance 1 to everything, another missing value included;
    - a constant column has distance 0 between values that are not missing.

    Each of the k nearest rows has a vote. Rows as far as the k-th share the votes that nearer ones
    leave, so the order of the training rows does not matter. On equal votes, the class whose voters
    are nearer by their summed distance wins, then the class that is sorted first.

    Parameters
    ----------
    n_neighbors : int, default=5
        Rows that vote; all of them where there are fewer.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    classes_ : array
    n_features_in_ : int
    feature_names_in_ : array
        Where X has names.

    See Also
    --------
    featly.kernels.ClinicalKernel : The same columns as similarities :math:`1 - d_f`.
    MixedNaiveBayes : Another classifier for mixed columns.

    References
    ----------
    Wilson, D. R. and Martinez, T. R. (1997), Improved heterogeneous distance functions, *JAIR* 6,
    1-34.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import HEOMNeighbors
    >>> train = pl.DataFrame({"age": [40, 50, 60, 80], "sex": ["f", "m", "f", "m"]})
    >>> nearest = HEOMNeighbors(n_neighbors=1).fit(train, ["well", "well", "ill", "ill"])
    >>> rows = pl.DataFrame({"age": [62, None], "sex": ["f", "m"]})
    >>> nearest.predict(rows).tolist()
    ['ill', 'ill']
    >>> nearest.kneighbors(rows)[0].round(2).tolist(), nearest.kneighbors(rows)[1].tolist()
    ([[0.05], [1.0]], [[2], [1]])

    The age of the second row is missing, so both men are equally near, and share its vote:

    >>> nearest.predict_proba(rows).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    n_neighbors: Annotated[int, Whole(at_least=1)] = 5

    def fit(self, X: Any, y: Any) -> Self:
        """Store the training rows, and learn ranges and levels.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        reader = MixedReader(self.schema)
        rows = reader.fit(X, self)
        self._y, classes = read_classes(y, rows.n_rows, type(self).__name__)
        self.classes_: AnyArray = classes
        self._reader, self._training = reader, _Training(reader, rows)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        first = self.winners(X).argmax(axis=1)
        return self.classes_[first]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of each class in the votes of the neighbours.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        shares : float array of shape (n_rows, n_classes)
            Rows sum to 1. A class with as many votes as the winner, but farther ones, has 1e-9
            less, so that the largest share is that of the predicted class.
        """
        return self._poll(X)[0]

    def winners(self, X: Any) -> BoolArray:
        """Return the classes of first rank: several where votes and distances tie.

        ``predict`` returns the first of them. A caller whose result must not depend on the names of
        classes, such as :class:`featly.HybridForward`, uses all of them.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        winners : bool array of shape (n_rows, n_classes)
        """
        return self._poll(X)[1]

    def kneighbors(self, X: Any) -> tuple[FloatArray, IntArray]:
        """Return the nearest training rows, nearest first; of rows equally near, the first.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        distances : float array of shape (n_rows, n_neighbors)
        indices : int array of shape (n_rows, n_neighbors)
            Positions of the training rows.
        """
        other, training = self._read_cells(X), self._training
        k = min(self.n_neighbors, training.n_rows)
        distances = np.empty((other.shape[1], k))
        indices = np.empty((other.shape[1], k), np.int64)

        def find_nearest(block: tuple[int, int]) -> None:
            total = np.zeros((block[1] - block[0], training.n_rows))
            training.add(other, block, 0, len(other), total)
            # equal distances must tie, however they were rounded
            order = np.argsort(round_scores(total), axis=1, kind="stable")[:, :k]
            indices[slice(*block)] = order
            distances[slice(*block)] = np.sqrt(np.take_along_axis(total, order, axis=1))

        run_blocks(find_nearest, split(other.shape[1], TILE), self.n_jobs)
        return distances, indices

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]) -> Any:
        """Train on the first k columns for every k in `sizes`, and predict other rows.

        The same as a fit and a predict at every size, but squared distances add up over columns:
        all sizes cost as many passes over the columns as the largest. Nothing is left behind: this
        object is as fitted or unfitted as before.

        Parameters
        ----------
        X, y
            The training rows, columns in the order in which they join.
        X_test
            Rows to predict, with the same columns.
        sizes : ascending counts of columns

        Returns
        -------
        labels : array of shape (n_sizes, n_test_rows)

        Examples
        --------
        >>> import numpy as np
        >>> from featly.learners import HEOMNeighbors
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> HEOMNeighbors().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        check_parameters(self)
        reader, owner = MixedReader(self.schema), HEOMNeighbors()
        rows = reader.fit(X, owner)
        training, other = _Training(reader, rows), reader.read(X_test, owner)
        sizes = check_sizes(sizes, reader.n_features)
        codes, classes = read_classes(y, rows.n_rows, type(self).__name__)
        wins = self._count_votes(training, codes, len(classes), training.cells_of(other), sizes)[1]
        return classes[wins.argmax(axis=2)]

    # ---- parts ------------------------------------------------------------------------------
    def _read_cells(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._training.cells_of(self._reader.read(X, self))

    def _poll(self, X: Any) -> tuple[FloatArray, BoolArray]:
        other = self._read_cells(X)
        sizes, n_classes = [len(other)], len(self.classes_)
        shares, wins = self._count_votes(self._training, self._y, n_classes, other, sizes)
        return shares[0], wins[0]

    def _count_votes(
        self,
        training: "_Training",
        y: IntArray,
        n_classes: int,
        other: FloatArray,
        sizes: Sequence[int],
    ) -> tuple[FloatArray, BoolArray]:
        """Return shares and winners on the first columns, for each number of them."""
        k = min(self.n_neighbors, training.n_rows)
        shares = np.empty((len(sizes), other.shape[1], n_classes))
        wins = np.empty(shares.shape, np.bool_)

        def poll_block(block: tuple[int, int]) -> None:
            rows, n_added = slice(*block), 0
            total = np.zeros((block[1] - block[0], training.n_rows))
            for s, size in enumerate(sizes):
                training.add(other, block, n_added, size, total)
                farthest = np.partition(total, k - 1, axis=1)[:, k - 1].copy()
                poll(total, farthest, y, k, shares[s, rows], wins[s, rows])
                n_added = size

        run_blocks(poll_block, split(other.shape[1], TILE), self.n_jobs)
        return shares, wins


class _Training:
    """Cells of the training rows, as :mod:`featly.core.models.heom` takes them."""

    def __init__(self, reader: MixedReader, rows: MixedRows) -> None:
        self._numeric, self._categorical = reader.numeric, reader.categorical
        # unlike min and max, these skip missing values without a warning
        self.low = np.fmin.reduce(rows.numbers, axis=0)[:, None]
        self.high = np.fmax.reduce(rows.numbers, axis=0)[:, None]
        self.n_rows = rows.n_rows
        self.cells = self._cells(rows)
        self.ranges = np.zeros(reader.n_features)
        spread = (self.high - self.low)[:, 0]
        self.ranges[self._numeric] = np.where(spread > 0, spread, 1.0)

    def cells_of(self, rows: MixedRows) -> FloatArray:
        """Return other rows as cells, numbers clipped to the range of the training rows."""
        cells = self._cells(rows)
        cells[self._numeric] = np.clip(cells[self._numeric], self.low, self.high)
        return cells

    def add(
        self, other: FloatArray, block: tuple[int, int], first: int, last: int, total: FloatArray
    ) -> None:
        """Add some columns to the squared distances from a block of other rows."""
        add_distances(other, *block, self.cells, self.ranges, first, last, total)

    def _cells(self, rows: MixedRows) -> FloatArray:
        cells = np.empty((len(self._numeric) + len(self._categorical), rows.n_rows))
        cells[self._numeric] = rows.numbers.T
        cells[self._categorical] = np.where(rows.codes == 0, np.nan, rows.codes)
        return cells
