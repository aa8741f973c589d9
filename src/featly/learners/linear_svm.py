r"""A linear support vector machine, solved exactly, along a list of columns.

.. math::

    \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
    \quad\text{s.t.}\quad y_i (w \cdot z_i + b) \ge 1 - \xi_i,\ \xi_i \ge 0

Cortes, C. and Vapnik, V. (1995), Support-vector networks, *Machine Learning* 20, 273-297.
"""

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ConvergenceWarning
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, check_parameters
from featly.basics.typing import AnyArray, FloatArray
from featly.core.runtime.parallel import single_threaded_blas
from featly.learners.encoding import Encoder
from featly.learners.one_vs_one import check_sizes, decision_values, winning_classes
from featly.learners.pairwise_svm import PairMachine, pair_machines
from featly.problem.ingest_rows import MixedColumns
from featly.problem.parameters import ClassWeighted, InSchema
from featly.problem.problem import row_prices
from featly.problem.target import read_classes

__all__ = ["LinearSVM"]


MOST_DENSE_ROWS = 1024  # above this, and ...
FACTOR_SHARE = 4  # ... this many times more rows than columns, nothing n x n is made


class LinearSVM(ClassWeighted, InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Soft-margin linear support vector machine for mixed columns.

    Columns are centred and scaled by :class:`Encoder`, from the training rows; missing values count
    as averages. The machine is solved to machine precision (`duality_gap_`); where several biases
    are best, it takes the middle of them. More than two classes are told apart pair by pair, and
    the class with most votes wins; on a tie the larger sum of margins decides. What lies on a
    boundary is of the class that is sorted first.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin violation.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class.
    standardize : bool, default=True
        Give every column variance 1 first.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

    Attributes
    ----------
    coef_ : float array of shape (n_pairs, n_encoded)
        Weights of the encoded columns, a row for each pair of classes.
    intercept_ : float array of shape (n_pairs,)
    duality_gap_ : float array of shape (n_pairs,)
        (primal - dual) / primal objective: the certificate.
    classes_ : array

    See Also
    --------
    featly.SVMRFE : Ranks columns by the weights of such a machine.

    References
    ----------
    Cortes, C. and Vapnik, V. (1995), Support-vector networks, *Machine Learning* 20, 273-297.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import LinearSVM
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0], [5.0, 5.0]])
    >>> svm = LinearSVM().fit(X, ["low", "low", "high", "high"])
    >>> svm.predict([[0.5, 5.0], [4.5, 5.0]]).tolist()
    ['low', 'high']
    >>> bool(svm.duality_gap_.max() < 1e-8)
    True
    """

    C: Annotated[float, Number(above=0)] = 1.0
    standardize: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the machine.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        encoder = Encoder(standardize=self.standardize, schema=self.schema)
        Z = encoder.fit_transform(X)
        self._encoder = encoder
        self.n_features_in_: int = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_: AnyArray = encoder.feature_names_in_
        codes, classes = read_classes(y, len(Z), type(self).__name__)
        self.classes_: AnyArray = classes
        machines = self._machines(codes, self.classes_)
        with single_threaded_blas():
            kernel = _Kernel(Z, Z[:0])
            kernel.grow(Z.shape[1])
            for machine in machines:
                kernel.solve(machine)
        self.coef_: AnyArray = np.array([machine.coef @ Z[machine.rows] for machine in machines])
        self.intercept_: AnyArray = np.array([machine.bias for machine in machines])
        self.duality_gap_: AnyArray = np.array([machine.duality_gap for machine in machines])
        self._least = np.array([machine.least for machine in machines])
        self._warn_of_duality_gaps(self.duality_gap_)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of rows: the side of the boundary, and how clearly.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            For two classes the margin, positive for the second one. For more, the votes of each
            class plus its margins as a number in (-1/3, 1/3).
        """
        check_is_fitted(self)
        Z = self._encoder.transform_for(self, X)
        values = Z @ self.coef_.T + self.intercept_
        return decision_values(values, self._least, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        values = self.decision_function(X)
        return self.classes_[winning_classes(values)]

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]) -> Any:
        """Train on the first k columns for every k in `sizes`, and predict other rows.

        The same as a fit and a predict at every size, but one Gram matrix grows from size to size
        and each machine starts from the last solution: ten sizes cost little more than one.
        Nothing is left behind: this object is as fitted or unfitted as before.

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
        >>> from featly.learners import LinearSVM
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> LinearSVM().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        check_parameters(self)
        encoder = Encoder(standardize=self.standardize, schema=self.schema)
        Z, other = encoder.fit_transform(X), encoder.transform(X_test)
        sizes = check_sizes(sizes, encoder.n_features_in_)
        codes, classes = read_classes(y, len(Z), type(self).__name__)
        machines = self._machines(codes, classes)
        predictions = np.empty((len(sizes), len(other)), np.int64)
        duality_gaps = np.empty((len(sizes), len(machines)))
        with single_threaded_blas():
            kernel = _Kernel(Z, other)
            for k, size in enumerate(sizes):
                kernel.grow(int(encoder.starts_[size]))
                values = np.column_stack([kernel.solve(machine) for machine in machines])
                least = np.array([machine.least for machine in machines])
                predictions[k] = winning_classes(decision_values(values, least, len(classes)))
                duality_gaps[k] = [machine.duality_gap for machine in machines]
        self._warn_of_duality_gaps(duality_gaps)
        return classes[predictions]

    # ---- parts ------------------------------------------------------------------------------
    def _machines(self, codes: AnyArray, classes: AnyArray) -> list[PairMachine]:
        prices = row_prices(self.C, self.class_weight, codes, classes)
        return pair_machines(codes, len(classes), prices)

    def _warn_of_duality_gaps(self, duality_gaps: FloatArray) -> None:
        largest = float(duality_gaps.max())
        if largest > 1e-6:
            remedy = "try a smaller C" if self.standardize else "try standardize=True"
            warnings.warn(
                f"the machine was solved to a relative duality gap of {largest:.1e} only: rows "
                f"near the boundary may be on the wrong side; {remedy}",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit
            )


# ---- machines along a list of columns ------------------------------------------------------------
class _Kernel:
    """Gram matrices of the leading columns: of the training rows, and with the other rows."""

    def __init__(self, Z: FloatArray, other: FloatArray) -> None:
        self.Z, self.other = Z, other
        self.used = 0
        self._gram = self._cross = np.empty((0, 0))
        if not self._is_tall(Z.shape[1]):
            self._gram, self._cross = np.zeros((len(Z), len(Z))), np.zeros((len(other), len(Z)))

    def _is_tall(self, n_columns: int) -> bool:
        return len(self.Z) > MOST_DENSE_ROWS and n_columns * FACTOR_SHARE <= len(self.Z)

    @property
    def is_tall(self) -> bool:
        """Return whether rows so outnumber columns that machines work on the columns."""
        return self._is_tall(self.used)

    def grow(self, count: int) -> None:
        """Add columns up to `count` in all."""
        if len(self._gram):
            new = self.Z[:, self.used : count]
            self._gram += new @ new.T
            self._cross += self.other[:, self.used : count] @ new.T
        self.used = count

    def solve(self, machine: PairMachine) -> FloatArray:
        """Solve a machine on the columns added so far; return margins of the other rows."""
        if self.is_tall:
            A = np.ascontiguousarray(self.Z[machine.rows, : self.used].T)
            return machine.solve_factor(A, self.other[:, : self.used])
        return machine.solve(self._gram, self._cross, self.used)
