r"""The clinical kernel, a similarity of rows with mixed columns.

.. math::

    k(x, x') = \frac{\sum_f w_f\, k_f(x_f, x'_f)}{\sum_f w_f}, \qquad
    k_f(a, b) = \begin{cases}
        [a = b] & f \text{ categorical} \\
        1 - |a - b| / (\max_f - \min_f) & f \text{ continuous or ordinal}
    \end{cases}

Daemen, A. and De Moor, B. (2009), Development of a kernel function for clinical data, *EMBC*,
5913-5917.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ParameterError
from featly.basics.estimators import BaseEstimator
from featly.basics.params import InstanceOf, ListOf, Whole, check_parameters
from featly.basics.typing import AnyArray, FloatArray
from featly.core.kernels.clinical import add_similarities
from featly.kernels.positions import Positions
from featly.problem.ingest_rows import MixedColumns
from featly.problem.parameters import InSchema, Threaded

__all__ = ["ClinicalKernel"]

Weights = Sequence[float] | Mapping[str | int, float] | None
LIST_OF_WEIGHTS = ListOf("weights, one for each column")
DICT_OF_WEIGHTS = InstanceOf(Mapping, words="a dict of weights by column")


class ClinicalKernel(Threaded, InSchema, MixedColumns, BaseEstimator):
    r"""Similarity of rows with continuous, ordinal and categorical columns, and missing values.

    Every column gives a similarity in [0, 1], and the kernel is their mean, or their weighted
    mean. It is positive semi-definite. Ranges and levels are those of the training rows:

    - a value of another row outside the range counts as the end of the range;
    - a level that the training rows do not have has similarity 1 with itself and 0 with others;
    - a missing value has similarity 0 with everything, also with another missing value, except
      between a row and itself;
    - a constant column has similarity 1 everywhere, a column without any value 0 except between
      a row and itself.

    Parameters
    ----------
    weights : sequence, dict or None, default=None
        A weight of at least 0 for every column; or a dict from names or positions, where columns
        left out weigh 1. None is 1 for all.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    weights_ : float array of shape (n_features,)
        Weights that sum to 1.
    n_features_in_ : int
    feature_names_in_ : array
        Only if X has names.

    See Also
    --------
    featly.SVMRFE : ``SVMRFE(kernel="clinical")`` ranks mixed columns with it.
    featly.learners.ClinicalSVC : A classifier with it.

    Notes
    -----
    An n x n matrix takes :math:`n^2 p` simple operations, half a nanosecond each and less.

    References
    ----------
    Daemen, A. and De Moor, B. (2009), Development of a kernel function for clinical data, *EMBC*,
    5913-5917. Missing values as in HEOM: Wilson, D. R. and Martinez, T. R. (1997), Improved
    heterogeneous distance functions, *JAIR* 6, 1-34.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.kernels import ClinicalKernel
    >>> train = pl.DataFrame({"age": [40, 50, 60], "sex": ["f", "m", "f"]})
    >>> kernel = ClinicalKernel().fit(train)
    >>> kernel.gram()
    array([[1.  , 0.25, 0.5 ],
           [0.25, 1.  , 0.25],
           [0.5 , 0.25, 1.  ]])
    >>> kernel(pl.DataFrame({"age": [45, None], "sex": ["f", "m"]}))
    array([[0.875, 0.375, 0.625],
           [0.   , 0.5  , 0.   ]])

    With scikit-learn it serves as a precomputed Gram matrix:

    >>> from sklearn.svm import SVC
    >>> svc = SVC(kernel="precomputed", C=10).fit(kernel.gram(), ["well", "ill", "ill"])
    >>> svc.predict(kernel(train)).tolist()
    ['well', 'ill', 'ill']
    """

    weights: Annotated[Weights, LIST_OF_WEIGHTS, DICT_OF_WEIGHTS] = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn ranges and levels.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        lines = Positions(self.schema)
        z = lines.fit(X, self)
        self.adopt(lines, z, self)
        return self

    def adopt(self, lines: Positions, positions: FloatArray, owner: BaseEstimator) -> None:
        """Use the columns that a learner with this kernel has read, instead of ``fit``.

        Parameters
        ----------
        lines : Positions
            Fitted.
        positions : float array of shape (n_features, n_rows)
            Positions of the training rows.
        owner : estimator
            The learner that read the columns.
        """
        self.weights_: FloatArray = self._check_weights(lines)
        self._lines, self._z = lines, positions
        self.n_features_in_: int = owner.n_features_in_
        if hasattr(owner, "feature_names_in_"):
            self.feature_names_in_: AnyArray = owner.feature_names_in_

    @property
    def parts(self) -> tuple[Positions, FloatArray, FloatArray]:
        """The reader of rows, positions of the training rows and weights of the columns."""
        check_is_fitted(self)
        return self._lines, self._z, self.weights_

    def __call__(self, X: Any, Y: Any = None) -> FloatArray:
        """Return the similarity of rows to the training rows, or to those of `Y`.

        Parameters
        ----------
        X, Y : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        K : float64 array of shape (n_rows of X, n_training_rows or n_rows of Y)
        """
        check_is_fitted(self)
        za = self._lines.locate(X, self)
        if Y is None:
            return self._similarities(za, self._z, self.weights_)
        zb = self._lines.locate(Y, self, first_row=self._lines.n_rows + za.shape[1])
        return self._similarities(za, zb, self.weights_)

    def gram(self, X: Any = None) -> FloatArray:
        """Return the similarity of the training rows to one another, or of the rows of `X`.

        Parameters
        ----------
        X : data frame, array, sparse matrix or None
            With the columns seen in ``fit``. None is the training rows.

        Returns
        -------
        K : float64 array of shape (n_rows, n_rows)
            Symmetric, with ones on the diagonal.
        """
        check_is_fitted(self)
        z = self._z if X is None else self._lines.locate(X, self)
        return self._similarities(z, None, self.weights_)

    def column_gram(self, column: int | str, X: Any = None) -> FloatArray:
        """Return the similarities that one column gives, unweighted.

        Parameters
        ----------
        column : int or str
            Position or name.
        X : data frame, array, sparse matrix or None
            Rows to compare with one another. None is the training rows.

        Returns
        -------
        K : float64 array of shape (n_rows, n_rows)

        Examples
        --------
        >>> import numpy as np
        >>> from featly.kernels import ClinicalKernel
        >>> ClinicalKernel().fit(np.array([[0.0], [1.0], [4.0]])).column_gram(0)
        array([[1.  , 0.75, 0.  ],
               [0.75, 1.  , 0.25],
               [0.  , 0.25, 1.  ]])
        """
        check_is_fitted(self)
        z = self._z if X is None else self._lines.locate(X, self)
        f = self._position(column, self._lines)
        return self._similarities(z[f : f + 1], None, np.ones(1))

    # ---- parts ------------------------------------------------------------------------------
    def _similarities(
        self, za: FloatArray, zb: FloatArray | None, weights: FloatArray
    ) -> FloatArray:
        shape = (za.shape[1], (za if zb is None else zb).shape[1])
        out = np.zeros(shape)
        add_similarities(za, zb, weights, out, self.n_jobs)
        if zb is None:
            np.fill_diagonal(out, 1.0)  # removes rounding errors
        return out

    def _position(self, column: Any, lines: Positions) -> int:
        reader = lines.reader
        if Whole().accepts(column):
            if 0 <= column < reader.n_features:
                return int(column)
            raise ParameterError(
                f"column {column}: there are {reader.n_features} columns, numbered from 0"
            )
        for position in range(reader.n_features):
            if reader.name(position) == column:
                return position
        raise ParameterError(f"there is no column {column!r}")

    def _check_weights(self, lines: Positions) -> FloatArray:
        p = lines.reader.n_features
        user_weights = self.weights
        if user_weights is None:
            return np.full(p, 1 / p)
        if isinstance(user_weights, Mapping):
            weights = np.ones(p)
            for column, weight in user_weights.items():
                weights[self._position(column, lines)] = _read_weight(weight, column)
        else:
            weights = np.array([_read_weight(weight, k) for k, weight in enumerate(user_weights)])
            if len(weights) != p:
                raise ParameterError(f"weights has {len(weights)} entries, X has {p} columns")
        for f in np.flatnonzero(~(weights >= 0) | np.isinf(weights))[:1]:
            raise ParameterError(
                f"the weight of column {lines.reader.name(int(f))!r} is {weights[f]:g}: weights "
                "are finite and at least 0"
            )
        if not weights.sum() > 0:
            raise ParameterError("all weights are 0: give at least one column a positive weight")
        shares: FloatArray = weights / weights.sum()
        return shares


def _read_weight(weight: Any, column: Any) -> float:
    try:
        return float(weight)
    except (TypeError, ValueError):
        raise ParameterError(
            f"the weight of column {column!r} is {weight!r}: give a number"
        ) from None
