r"""A linear support vector machine, solved exactly, along a list of columns.

.. math::

    \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
    \quad\text{s.t.}\quad y_i (w \cdot z_i + b) \ge 1 - \xi_i,\ \xi_i \ge 0

Cortes, C. and Vapnik, V. (1995), Support-vector networks, *Machine Learning* 20, 273-297.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from featly.core.parallel import single_threaded_blas
from featly.core.svm import SVMDual
from featly.errors import ParameterError
from featly.frames import is_frame
from featly.learners.encoding import Encoder
from featly.problem import read_target
from featly.schema import Schema

__all__ = ["LinearSVM"]

FloatArray = npt.NDArray[np.float64]

MOST_DENSE_ROWS = 1024  # above this, and ...
FACTOR_SHARE = 4  # ... this many times more rows than columns, nothing n x n is made


class LinearSVM(ClassifierMixin, BaseEstimator):
    r"""Soft-margin linear support vector machine for mixed columns.

    Columns are centred and scaled by :class:`Encoder`, from the training rows; gaps count as
    averages. The machine is solved to machine precision (`duality_gap_`). More than two classes
    are told apart pair by pair, and the class with most votes wins; on a tie the larger sum of
    margins decides.

    Parameters
    ----------
    C : float, default=1.0
        Price of a margin violation.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class.
    standardize : bool, default=True
        Give every column variance 1 first.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        standardize: bool = True,
        schema: Schema | dict[str, Any] | None = None,
    ) -> None:
        self.C = C
        self.class_weight = class_weight
        self.standardize = standardize
        self.schema = schema

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags

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
        self._check_parameters()
        if y is None:
            raise ParameterError(
                "LinearSVM requires y to be passed, but the target y is None: give the class of "
                "every row"
            )
        self._encoder = Encoder(standardize=self.standardize, schema=self.schema)
        Z = self._encoder.fit_transform(X)
        self.n_features_in_ = self._encoder.n_features_in_
        if hasattr(self._encoder, "feature_names_in_"):
            self.feature_names_in_ = self._encoder.feature_names_in_
        codes, self.classes_ = read_target(y, len(Z), type(self).__name__, many_classes=True)
        C = self._prices(codes)
        with single_threaded_blas():
            machines = [_Machine.of(codes, pair, C) for pair in self._pairs()]
            kernel = _Kernel(Z, Z)
            kernel.grow(Z.shape[1])
            for machine in machines:
                machine.solve(kernel)
        self.coef_ = np.array([m.dual.coef @ Z[m.rows] for m in machines])
        self.intercept_ = np.array([m.dual.bias for m in machines])
        self.duality_gap_ = np.array([m.dual.gap for m in machines])
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Signed distance from the boundary: a column a pair of classes, or one for two classes.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            For more than two classes, votes plus margins in (-1/3, 1/3).
        """
        check_is_fitted(self)
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        values = self._encoder.transform(X) @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else self._votes(values)

    def predict(self, X: Any) -> Any:
        """The class of every row.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        return self.classes_[_decided(self.decision_function(X))]

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]) -> Any:
        """Train on the first k columns for every k in `sizes`, and predict other rows.

        The same as a fit and a predict at every size, but one Gram matrix grows from size to size
        and each machine starts from the last solution: ten sizes cost little more than one.

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
        self._check_parameters()
        sizes = [int(size) for size in sizes]
        if not sizes or sizes != sorted(set(sizes)) or sizes[0] < 1 or sizes[-1] > X.shape[1]:
            raise ParameterError(
                f"sizes={sizes!r}: give counts of columns from 1 to {X.shape[1]}, ascending"
            )
        encoder = Encoder(standardize=self.standardize, schema=self.schema)
        Z = encoder.fit_transform(X)
        codes, classes = read_target(y, len(Z), type(self).__name__, many_classes=True)
        self.classes_ = classes
        found = np.empty((len(sizes), X_test.shape[0]), np.int64)
        with single_threaded_blas():
            kernel = _Kernel(Z, encoder.transform(X_test))
            C = self._prices(codes)
            machines = [_Machine.of(codes, pair, C) for pair in self._pairs()]
            for k, size in enumerate(sizes):
                kernel.grow(int(encoder.starts_[size]))
                values = np.column_stack([m.solve(kernel) for m in machines])
                one = values[:, 0] if len(classes) == 2 else self._votes(values)
                found[k] = _decided(one)
        return classes[found]

    # ---- parts ------------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        number = isinstance(self.C, int | float | np.integer | np.floating)
        if isinstance(self.C, bool) or not number or not 0 < self.C < np.inf:
            raise ParameterError(f"C={self.C!r}: give a positive finite number")

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(len(self.classes_)), 2)

    def _prices(self, codes: npt.NDArray[Any]) -> FloatArray:
        if self.class_weight is None:
            return np.full(len(codes), float(self.C))
        try:
            weights = compute_class_weight(
                self.class_weight, classes=self.classes_, y=self.classes_[codes]
            )
        except ValueError as problem:
            raise ParameterError(f"class_weight={self.class_weight!r}: {problem}") from None
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise ParameterError(f"class_weight={self.class_weight!r}: weights must be positive")
        return self.C * weights[codes]

    def _votes(self, values: FloatArray) -> FloatArray:
        """Votes of the pairs, with the margins as a fraction that never outweighs a vote."""
        votes = np.zeros((len(values), len(self.classes_)))
        margins = np.zeros_like(votes)
        for (a, b), value in zip(self._pairs(), values.T, strict=True):
            votes[:, a] += value <= 0
            votes[:, b] += value > 0
            margins[:, a] -= value
            margins[:, b] += value
        return votes + margins / (3 * (np.abs(margins) + 1))


def _decided(values: FloatArray) -> npt.NDArray[Any]:
    """Positions of the winning classes."""
    return (values > 0).astype(np.int64) if values.ndim == 1 else values.argmax(axis=1)


class _Kernel:
    """Gram matrices of the first so many columns: of the training rows, and to others."""

    def __init__(self, Z: FloatArray, other: FloatArray) -> None:
        self.Z, self.other = Z, other
        self.used = 0
        n = len(Z)
        # the machines of large tables work on the columns themselves
        dense = n <= MOST_DENSE_ROWS or Z.shape[1] * FACTOR_SHARE > n
        self.gram = np.zeros((n, n)) if dense else None
        self.cross = np.zeros((len(other), n)) if dense else None

    def grow(self, count: int) -> None:
        """Add columns until `count` are in."""
        if self.gram is not None and self.cross is not None:
            new = self.Z[:, self.used : count]
            self.gram += new @ new.T
            self.cross += self.other[:, self.used : count] @ new.T
        self.used = count


@dataclass
class _Machine:
    """One pair of classes."""

    rows: npt.NDArray[Any]
    dual: SVMDual
    all_rows: bool

    @classmethod
    def of(cls, codes: npt.NDArray[Any], pair: tuple[int, int], C: FloatArray) -> "_Machine":
        rows = np.flatnonzero(np.isin(codes, pair))
        y = np.where(codes[rows] == pair[1], 1.0, -1.0)
        return cls(rows, SVMDual(y, C[rows]), len(rows) == len(codes))

    def solve(self, kernel: _Kernel) -> FloatArray:
        """Solve on the columns that the kernel has, and evaluate on its other rows."""
        n = len(self.rows)
        if (
            kernel.gram is None
            or kernel.cross is None
            or (n > MOST_DENSE_ROWS and kernel.used * FACTOR_SHARE <= n)
        ):
            A = np.ascontiguousarray(kernel.Z[self.rows, : kernel.used].T)
            self.dual.solve_factor(A)
            return kernel.other[:, : kernel.used] @ (A @ self.dual.coef) + self.dual.bias
        self.dual.forget_inverse()
        if self.all_rows:
            self.dual.solve(kernel.gram, kernel.used)
            return kernel.cross @ self.dual.coef + self.dual.bias
        self.dual.solve(
            np.ascontiguousarray(kernel.gram[np.ix_(self.rows, self.rows)]), kernel.used
        )
        return kernel.cross[:, self.rows] @ self.dual.coef + self.dual.bias
