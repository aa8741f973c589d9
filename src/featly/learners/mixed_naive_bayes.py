r"""Naive Bayes for columns of all kinds and with missing values.

.. math::

    p(c \mid x) \propto \pi_c \prod_{f:\, x_f \text{ known}} p(x_f \mid c), \qquad
    p(x_f \mid c) = \begin{cases}
        \mathcal N(x_f;\, \mu_{cf},\, \sigma_{cf}^2 + \epsilon \sigma_f^2)
            & f \text{ continuous or ordinal} \\
        (n_{cfl} + \alpha) / (n_{cf} + \alpha L_f) & f \text{ categorical},\ x_f = l
    \end{cases}

John, G. H. and Langley, P. (1995), Estimating continuous distributions in Bayesian classifiers,
*UAI*, 338-345.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import ListOf, Number, check_parameters
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.models.naive_bayes import NEAR, add_codes, add_numbers, learn_codes, learn_numbers
from featly.learners.one_vs_one import check_sizes
from featly.problem.ingest_rows import MixedColumns, MixedReader, MixedRows
from featly.problem.parameters import InSchema
from featly.problem.target import read_classes

__all__ = ["MixedNaiveBayes"]


NO_FOLD = -1  # the fold that is left out of the training rows


class MixedNaiveBayes(InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Naive Bayes: normal densities of numbers, smoothed counts of levels.

    Everything is learnt from the training rows. The product leaves out:

    - a missing value, in training and after it;
    - a level that no training row has (a smoothed count of 0 would favour the class with the
      fewest rows);
    - a column that is constant in the training rows, or without any value.

    A class needs two values in a column for a variance of its own. With one it takes the variance
    of the whole column, without any the mean of the whole column as well. `var_smoothing` adds a
    share of the variance of the same column, where scikit-learn's GaussianNB adds a share of the
    largest variance of all columns: so units do not matter here.

    Parameters
    ----------
    smoothing : float, default=1.0
        :math:`\alpha`, added to the count of every level (Laplace).
    var_smoothing : float, default=1e-9
        :math:`\epsilon`, the share of a column's variance that is added to that of each class.
    priors : sequence of float or None, default=None
        :math:`\pi_c`, in the order of the sorted classes; None is their share in the training rows.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

    Attributes
    ----------
    classes_ : array
    class_prior_ : float array of shape (n_classes,)
        :math:`\pi_c`.
    n_features_in_ : int
    feature_names_in_ : array
        Where X has names.

    See Also
    --------
    HEOMNeighbors : Another classifier for mixed columns.

    References
    ----------
    John, G. H. and Langley, P. (1995), Estimating continuous distributions in Bayesian
    classifiers, *UAI*, 338-345.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import MixedNaiveBayes
    >>> train = pl.DataFrame({"age": [40, 50, 60, 80], "smokes": ["no", "no", "yes", "no"]})
    >>> bayes = MixedNaiveBayes().fit(train, ["well", "well", "ill", "ill"])
    >>> rows = pl.DataFrame({"age": [75, None, None], "smokes": ["no", "yes", "never asked"]})
    >>> bayes.predict_proba(rows).round(3).tolist()
    [[1.0, 0.0], [0.667, 0.333], [0.5, 0.5]]
    """

    smoothing: Annotated[float, Number(above=0)] = 1.0
    var_smoothing: Annotated[float, Number(above=0)] = 1e-9
    priors: Annotated[Sequence[float] | None, ListOf("positive numbers, one for each class")] = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn densities, probabilities and priors.

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
        codes, classes = read_classes(y, rows.n_rows, type(self).__name__)
        self.classes_: AnyArray = classes
        self.class_prior_: FloatArray = self._check_priors(codes, len(self.classes_))
        self._reader, self._columns = reader, self._learn_columns(reader, rows, codes)
        return self

    def predict(self, X: Any) -> Any:
        """Predict the class of every row; of equally likely ones, the class that is sorted first.

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
        """Return the probability of each class.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        probabilities : float array of shape (n_rows, n_classes)
            Rows sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        logarithms : float array of shape (n_rows, n_classes)
        """
        joint = self._joint(X)
        joint -= joint.max(axis=1, keepdims=True)
        logarithms: FloatArray = joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))
        return logarithms

    def winners(self, X: Any) -> BoolArray:
        """Return the most likely classes: several where they are equally likely.

        ``predict`` returns the first of them. A caller whose result must not depend on the names of
        classes, such as :class:`featly.HybridForward`, uses all of them.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        winners : bool array of shape (n_rows, n_classes)
        """
        return _find_likeliest(self._joint(X))

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]) -> Any:
        """Train on the first k columns for every k in `sizes`, and predict other rows.

        The same as a fit and a predict at every size, but logarithms add up over columns: all
        sizes cost as much as the largest. Nothing is left behind: this object is as fitted or
        unfitted as before.

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
        >>> from featly.learners import MixedNaiveBayes
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> MixedNaiveBayes().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        check_parameters(self)
        reader, owner = MixedReader(self.schema), MixedNaiveBayes()
        rows = reader.fit(X, owner)
        other = reader.read(X_test, owner)
        sizes = check_sizes(sizes, reader.n_features)
        codes, classes = read_classes(y, rows.n_rows, type(self).__name__)
        priors = self._check_priors(codes, len(classes))
        totals = self._learn_columns(reader, rows, codes).totals(other, priors, sizes)
        return classes[np.array([_find_likeliest(total).argmax(axis=1) for total in totals])]

    # ---- parts ------------------------------------------------------------------------------
    def _check_priors(self, codes: IntArray, n_classes: int) -> FloatArray:
        if self.priors is None:
            return np.bincount(codes, minlength=n_classes) / len(codes)
        rule = f"give {n_classes} positive numbers that sum to 1, one for each class, sorted"
        try:
            priors = np.asarray(self.priors, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError(f"priors={self.priors!r}: {rule}") from None
        is_valid = priors.shape == (n_classes,) and (priors > 0).all()
        if not is_valid or not np.isclose(priors.sum(), 1.0):
            raise ParameterError(f"priors={self.priors!r}: {rule}")
        return priors

    def _learn_columns(self, reader: MixedReader, rows: MixedRows, y: IntArray) -> "_Columns":
        n_classes = int(y.max()) + 1
        return _Columns(reader, rows, y, n_classes, self.smoothing, self.var_smoothing)

    def _joint(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        rows = self._reader.read(X, self)
        return next(self._columns.totals(rows, self.class_prior_, [self.n_features_in_]))


class _Columns:
    """Densities and level probabilities of every column, from the training rows."""

    def __init__(
        self,
        reader: MixedReader,
        rows: MixedRows,
        y: IntArray,
        n_classes: int,
        smoothing: float,
        var_smoothing: float,
    ) -> None:
        self._is_number = np.zeros(reader.n_features, bool)
        self._is_number[reader.numeric] = True
        fold = np.zeros(rows.n_rows, np.int64)
        self._densities = np.empty((len(reader.numeric), 3, n_classes))
        numbers = np.ascontiguousarray(rows.numbers.T)
        learn_numbers(numbers, y, fold, NO_FOLD, float(var_smoothing), self._densities)
        self._logs = [np.empty((n_classes, n_levels + 1)) for n_levels in rows.n_levels]
        for codes, logs in zip(rows.codes, self._logs, strict=True):
            learn_codes(codes, y, fold, NO_FOLD, float(smoothing), logs)

    def totals(
        self, rows: MixedRows, priors: FloatArray, sizes: Sequence[int]
    ) -> Iterator[FloatArray]:
        """Yield log prior plus log likelihoods of the leading columns, for each number of them.

        It is always the same array, in which the columns are added up in their order.
        """
        total = np.tile(np.log(priors), (rows.n_rows, 1))
        numbers = np.ascontiguousarray(rows.numbers.T)
        fold = np.zeros(rows.n_rows, np.int64)
        n_added = 0
        for size in sizes:
            while n_added < size:
                n_numbers = int(self._is_number[:n_added].sum())
                n_run = int(np.argmin(np.append(self._is_number[n_added:size], False)))
                if n_run:
                    add_numbers(
                        numbers, n_numbers, n_numbers + n_run, fold, 0, self._densities, total
                    )
                else:
                    add_codes(
                        rows.codes[n_added - n_numbers],
                        fold,
                        0,
                        self._logs[n_added - n_numbers],
                        total,
                    )
                n_added += max(n_run, 1)
            yield total


def _find_likeliest(total: FloatArray) -> BoolArray:
    """Return the classes of largest logarithm; equal ones tie, however they were rounded."""
    best = total.max(axis=1, keepdims=True)
    likeliest: BoolArray = total >= best - NEAR * np.maximum(1.0, np.abs(best))
    return likeliest
