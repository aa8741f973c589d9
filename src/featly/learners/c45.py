r"""C4.5, Quinlan's decision tree, for columns of all kinds and with missing values.

.. math::

    \text{ratio} = \frac{H(D) - \sum_b \frac{w_b}{w} H(D_b)}
        {-\sum_b \frac{w_b}{w} \log_2 \frac{w_b}{w}}

Each node is split by the column of the largest ratio among those whose gain, the numerator, is at
least the average.

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.
"""

import warnings
from typing import Annotated, Any, Self, cast

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from featly.basics.errors import DataError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, Whole, check_parameters, check_value
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.trees.c45 import (
    CodedRows,
    TreeRules,
    add_probabilities,
    grow_tree,
    saved_bits,
)
from featly.core.trees.c45_codes import code_numbers
from featly.learners.tree_text import Rule, TreeWords, tree_rules, tree_text
from featly.problem.ingest_rows import MixedColumns, MixedReader, MixedRows
from featly.problem.parameters import InSchema, Threaded
from featly.problem.target import read_classes

__all__ = ["C45"]


TIE = 1e-9  # probabilities that differ by less are equal
LARGEST_WEIGHT = 1e150  # of a row; far from what overflows, however many rows there are


class C45(Threaded, InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Quinlan's C4.5 tree, node for node as Weka's J48 grows it.

    A categorical column has a branch for each level, a column of numbers two, at a threshold that
    is a value of the training rows. A row whose value is missing, in training and after it, goes
    down all branches in proportion to the weight that is known to go there; so does a level that
    the training rows do not have. The steps:

    - A node is split while it weighs ``2 * min_rows`` and holds more than one class. A split needs
      two branches of weight `min_rows`; a threshold leaves on both sides at least a tenth of the
      weight a class, if that is more, but 25 are always enough.
    - Among the columns whose gain :math:`H(D) - \sum_b \frac{w_b}{w} H(D_b)` is at least the
      average, the gain ratio decides. A column with a level for every third row does not count in
      the average. The gain of the best of m thresholds is less by :math:`\log_2(m) / w`
      (`mdl_correction`).
    - A subtree that errs as often on the training rows as a leaf would, becomes one (`collapse`).
    - From the leaves up, a node becomes a leaf, or its heaviest branch takes its place
      (`subtree_raising`), if the errors expected of other rows, at `confidence`, do not grow by
      more than 0.1.

    Of equal gain ratios the first column wins, of equal thresholds the smallest, of equally heavy
    branches the last; gains within 1e-6 are equal. Apart from that, the order of columns and of
    rows, units and names do not matter. This differs from J48 in three things: J48 takes values
    closer than 1e-5 for one value, whatever the unit; compares a number of rows with a weight, so
    that a row of weight 2 is not two rows; and has a branch for a level that is declared but does
    not occur.

    Parameters
    ----------
    confidence : float, default=0.25
        CF, above 0 and at most 0.5: the smaller, the more is pruned.
    min_rows : float, default=2
        Weight of the rows, at least 1, that two branches of a split must have.
    pruned : bool, default=True
        Whether to prune.
    subtree_raising : bool, default=True
        Whether pruning may replace a node by its heaviest branch.
    collapse : bool, default=True
        Whether subtrees that do not err less on the training rows go, pruned or not.
    mdl_correction : bool, default=True
        Whether the gain of a threshold is lessened by the cost of its choice.
    binary_splits : bool, default=False
        Whether a categorical column splits into one level and the others.
    laplace : bool, default=False
        Whether probabilities count one more row of each class in a leaf.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Small tables take one thread all the same.

    Attributes
    ----------
    classes_ : array
    n_leaves_, size_, depth_ : int
        Leaves, nodes with the leaves, and splits on the longest way to a leaf.
    feature_importances_ : float array of shape (n_features,)
        :math:`I_f \propto \sum_{v \text{ split by } f} \bigl(w_v H(D_v) - \sum_b w_b H(D_b)\bigr)`,
        the bits that the splits by a column save, summing to 1; all 0 in a tree without a split.
    n_features_in_ : int
    feature_names_in_ : array
        Where X has names.

    See Also
    --------
    featly.plot_tree : The tree as a picture.
    MixedNaiveBayes : Another classifier for mixed columns.

    References
    ----------
    Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import C45
    >>> weather = pl.DataFrame(
    ...     {
    ...         "outlook": ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5,
    ...         "humidity": [85, 90, 95, 70, 70, 78, 65, 90, 75, 96, 80, 70, 80, 80],
    ...         "windy": list("nynnynyynnnyny"),
    ...     }
    ... )
    >>> play = ["no"] * 3 + ["yes"] * 6 + ["yes", "yes", "no", "yes", "no"]
    >>> tree = C45().fit(weather, play)
    >>> print(tree.export_text())
    outlook = overcast: yes (4.0)
    outlook = rain
    |   windy = n: yes (3.0)
    |   windy = y: no (2.0)
    outlook = sunny
    |   humidity <= 75: yes (2.0)
    |   humidity > 75: no (3.0)
    >>> print(tree.rules()[1])
    outlook = rain and windy = n: yes (3.0)
    >>> unknown = pl.DataFrame({"outlook": [None], "humidity": [90], "windy": ["n"]})
    >>> tree.predict_proba(unknown).round(2).tolist()
    [[0.36, 0.64]]
    """

    confidence: Annotated[float, Number(above=0, at_most=0.5)] = 0.25
    min_rows: Annotated[float, Number(at_least=1)] = 2
    pruned: bool = True
    subtree_raising: bool = True
    collapse: bool = True
    mdl_correction: bool = True
    binary_splits: bool = False
    laplace: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)
        sample_weight : sequence of shape (n_rows,) or None, default=None
            A row of weight 2 counts as two rows, one of weight 0 as none. Weights that sum to 1,
            as some ensembles pass them, are less than `min_rows`: nothing would be split, and a
            warning says so.

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y, weight = _drop_zero_weights(X, y, sample_weight)
        reader = MixedReader(self.schema)
        mixed = reader.fit(X, self)
        labels, classes = read_classes(y, mixed.n_rows, type(self).__name__)
        if weight is None:
            weight = np.ones(mixed.n_rows)
        elif weight.sum() < 1 + TIE and mixed.n_rows >= 4 * self.min_rows:
            warnings.warn(
                f"sample_weight sums to {weight.sum():.3g}, less than the two branches of "
                f"min_rows={self.min_rows} that a split needs, so the tree is a single leaf: "
                "multiply the weights, so that they count rows",
                UserWarning,
                stacklevel=2,
            )
        rows = self._code_rows(reader, mixed, labels, len(classes), weight)
        rules = TreeRules(
            self.confidence,
            self.min_rows,
            self.pruned,
            self.subtree_raising,
            self.collapse,
            self.mdl_correction,
            self.binary_splits,
        )
        self._tree = grow_tree(rows, rules, self.n_jobs)
        self._reader = reader
        self.classes_: AnyArray = classes
        return self

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of every row; of equal ones, that sorted first.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        probabilities = self.predict_proba(X)
        best = probabilities.max(axis=1, keepdims=True)
        return self.classes_[(probabilities >= best - TIE).argmax(axis=1)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class: its share in the leaf.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        probabilities : float array of shape (n_rows, n_classes)
            Rows sum to 1.
        """
        check_is_fitted(self, "_tree")
        mixed = self._reader.read(X, self)
        tree = self._tree
        result = np.zeros((mixed.n_rows, len(self.classes_)))
        add_probabilities(
            (
                tree.feature,
                tree.cut,
                tree.threshold,
                tree.child,
                tree.n_children,
                tree.classes,
                tree.share,
            ),
            _storage_positions(self._reader),
            np.require(mixed.numbers, requirements=["C", "W"]),  # one type, compiled once
            mixed.codes,
            mixed.n_levels,
            bool(self.laplace),
            result,
        )
        return result

    @property
    def n_leaves_(self) -> int:
        """Leaves of the tree, empty ones included."""
        check_is_fitted(self, "_tree")
        return int((self._tree.feature < 0).sum())

    @property
    def size_(self) -> int:
        """Nodes of the tree, leaves included."""
        check_is_fitted(self, "_tree")
        return len(self._tree.feature)

    @property
    def depth_(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        check_is_fitted(self, "_tree")
        return int(self._tree.depth[-1])

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each column in the bits that all splits save; zeros where there is none."""
        check_is_fitted(self, "_tree")
        saved = saved_bits(self._tree)
        inner = self._tree.feature >= 0
        sums = np.bincount(
            self._tree.feature[inner], saved[inner], minlength=self._reader.n_features
        )
        total = float(sums.sum())
        return np.asarray(sums / total if total > 0 else sums, dtype=np.float64)

    def export_text(self, max_depth: int | None = None) -> str:
        """Return the tree as an indented text.

        One line a branch; a leaf shows its class, the weight of its training rows, and after a
        stroke that of the rows with another class.

        Parameters
        ----------
        max_depth : int or None, default=None
            How deep to go; None is to the leaves.

        Returns
        -------
        text : str
        """
        check_is_fitted(self, "_tree")
        check_value("max_depth", max_depth, Whole(at_least=1), optional=True)
        return tree_text(self._tree, self._tree_words(), max_depth)

    def rules(self) -> list[Rule]:
        """Return the tree as rules, one for each leaf.

        Exactly one rule holds for a row without missing values, and it names the class that
        ``predict`` does. A level that the training rows do not have is as good as missing.

        Returns
        -------
        rules : list of Rule
            With ``conditions``, ``label``, ``rows``, ``errors`` and ``probability``; printable.
        """
        check_is_fitted(self, "_tree")
        return tree_rules(self._tree, self._tree_words())

    # ---- parts ------------------------------------------------------------------------------
    def _tree_words(self) -> TreeWords:
        reader = self._reader
        as_read = reader._training_schema
        return TreeWords(
            [reader.name(column) for column in range(reader.n_features)],
            {
                int(column): list(known)
                for column, known in zip(reader.categorical, reader.levels, strict=True)
            },
            {} if as_read is None else cast(dict[int, Any], as_read.ordinal),
            self.classes_,
            bool(self.laplace),
        )

    def _code_rows(
        self, reader: MixedReader, mixed: MixedRows, labels: Any, n_classes: int, weight: FloatArray
    ) -> CodedRows:
        n_features, n_rows = reader.n_features, mixed.n_rows
        codes = np.empty((n_features, n_rows), np.int32)
        codes[reader.categorical] = mixed.codes
        values, counts = code_numbers(mixed.numbers, codes, reader.numeric, self.n_jobs)
        n_codes = np.empty(n_features, np.int64)
        n_codes[reader.categorical] = mixed.n_levels
        n_codes[reader.numeric] = counts
        starts = np.zeros(n_features, np.int64)
        starts[reader.numeric] = np.cumsum(counts) - counts
        is_level = np.zeros(n_features, np.bool_)
        is_level[reader.categorical] = True
        return CodedRows(
            codes,
            n_codes,
            is_level,
            values,
            starts,
            labels.astype(np.int32),
            n_classes,
            weight,
        )


def _storage_positions(reader: MixedReader) -> IntArray:
    """Position of each column among the numbers, or -1 less its position among the codes."""
    position = np.empty(reader.n_features, np.int64)
    position[reader.numeric] = np.arange(len(reader.numeric))
    position[reader.categorical] = -1 - np.arange(len(reader.categorical))
    return position


def _drop_zero_weights(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray | None]:
    """Return the rows with a weight above 0, and their weights; DataError for wrong weights."""
    if sample_weight is None or y is None:  # without y nothing can be learnt anyway
        return X, y, None
    try:
        weight = np.asarray(sample_weight)
        if weight.dtype.kind == "c":
            raise TypeError("these are complex ones")
        weight = np.require(weight, np.float64, ["C", "W"])
    except (TypeError, ValueError) as problem:
        raise DataError(f"sample_weight is not a list of numbers: {problem}") from None
    n_rows = _num_samples(y)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(
            f"sample_weight has shape {weight.shape}: give one number for each of {n_rows} rows"
        )
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError(
            "sample_weight has a missing, negative or infinite entry: give numbers from 0"
        )
    if weight.max() > LARGEST_WEIGHT:
        raise DataError(
            f"sample_weight has an entry of {weight.max():.3g}, too large to be summed: divide "
            "the weights by a large number"
        )
    if not weight.any():
        raise DataError("sample_weight is zero everywhere: no row is left to learn from")
    if (weight > 0).all() or _num_samples(X) != n_rows:  # reading y raises the error
        return X, y, weight
    weighted_rows = np.flatnonzero(weight > 0)
    return _safe_indexing(X, weighted_rows), _safe_indexing(y, weighted_rows), weight[weighted_rows]
