r"""Proximal support vector machines: one system of linear equations.

.. math::

    \min_{w, \gamma} \tfrac12 \sum_i C_i \bigl(y_i - (w \cdot z_i - \gamma)\bigr)^2
    + \tfrac12 \bigl(\|w\|^2 + \gamma^2\bigr), \qquad y_i = \pm 1

Fung, G. and Mangasarian, O. L. (2001), Proximal support vector machine classifiers, *KDD*, 77-86.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ConvergenceWarning, DataError, ParameterError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, OneOf, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.models.least_squares import LARGEST_SYSTEM, Solution, clear_rounding, solve
from featly.core.models.least_squares_tables import BlockTable, Table
from featly.learners.encoded_rows import EncodedRows
from featly.learners.one_vs_one import check_sizes, winning_classes
from featly.problem.ingest_rows import MixedColumns
from featly.problem.parameters import ClassWeighted, InSchema
from featly.problem.problem import row_prices
from featly.problem.target import read_classes

__all__ = ["ProximalSVC"]


LARGEST_RESIDUAL = 1e-6  # a larger one gives a warning


class ProximalSVC(ClassWeighted, InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Proximal support vector machine for mixed columns.

    Two parallel planes :math:`w \cdot z - \gamma = \pm 1`, one for each class, lie close to their
    rows and as far apart as the price C allows; a row is of the class whose plane is nearer. A
    support vector machine has inequalities in place of these equalities, so this machine is the
    solution of

    .. math::

        (A^\top D A + I) \beta = A^\top D y, \qquad A = [\mathbf 1, Z],\ D = \mathrm{diag}(C_i),\
        \beta = (-\gamma, w)

    or of an equal system with an unknown a row, whichever is smaller. It is ridge regression of
    :math:`\pm 1` with the penalty 1 / C on the bias as well.

    With ``kernel="gaussian"`` the row :math:`(k(z, z_1), \dots, k(z, z_n))` takes the place of z,
    :math:`k(z, z') = \exp(-\|z - z'\|^2 / (2\, width^2))`, and the weights of the n training rows
    are penalised as w is.

    More than two classes are told apart one against the rest, all with one factorisation; the
    largest value wins. Of equal classes it is the one that is sorted first.

    Columns are centred and scaled as :class:`Encoder` does, from the training rows; missing values
    count as averages. A dense table is read in blocks of rows; a sparse one is never made dense
    (but for a Gaussian). Up to 8192 unknowns the system is factorised; where rows and columns are
    more, conjugate gradients solve it. `residual_` is the certificate.

    Parameters
    ----------
    C : float, default=1.0
        Price of a squared distance from the plane of the class.
    kernel : {"linear", "gaussian"}, default="linear"
        Planes in the space of the columns, or of a Gaussian kernel, for up to 8192 rows.
    width : float or None, default=None
        Width of the Gaussian; None takes the root of half the total variance of the encoded
        columns, :math:`k = \exp(-\|z - z'\|^2 / \text{variance})`.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class.
    standardize : bool, default=True
        Give every column variance 1 first.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

    Attributes
    ----------
    coef_ : float array of shape (1, n_encoded) or (n_classes, n_encoded)
        w, of the encoded columns; for a Gaussian there is none.
    dual_coef_ : float array of shape (1, n_rows) or (n_classes, n_rows)
        Weights of the training rows, for a Gaussian only.
    intercept_ : float array of shape (1,) or (n_classes,)
        :math:`-\gamma`.
    residual_ : float array of shape (1,) or (n_classes,)
        What the system leaves of its right-hand side, as a share: the certificate.
    width_ : float
        The width that was used, for a Gaussian only.
    classes_ : array

    See Also
    --------
    LinearSVM : The machine with inequalities.
    OneLayerNetwork : Another system of linear equations.

    References
    ----------
    Fung, G. and Mangasarian, O. L. (2001), Proximal support vector machine classifiers, *KDD*,
    77-86.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import ProximalSVC
    >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0], [5.0, 5.0]])
    >>> machine = ProximalSVC().fit(X, ["low", "low", "high", "high"])
    >>> machine.predict([[0.5, 5.0], [4.5, 5.0]]).tolist()
    ['low', 'high']
    >>> machine.coef_.round(3).tolist(), machine.intercept_.tolist()
    ([[-0.776, 0.0]], [0.0])
    """

    C: Annotated[float, Number(above=0)] = 1.0
    kernel: Annotated[str, OneOf("linear", "gaussian")] = "linear"
    width: Annotated[float | None, Number(above=0)] = None
    standardize: bool = True

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the system.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        rows = EncodedRows(self.standardize, self.schema)
        table = rows.fit(X, self)
        codes, classes = self._target(y, table.n_rows)
        prices = row_prices(self.C, self.class_weight, codes, classes)
        self._rows = rows
        self.classes_: AnyArray = classes
        for name in ("coef_", "dual_coef_", "width_", "_training"):  # of another kernel
            if hasattr(self, name):
                delattr(self, name)
        if self.kernel == "linear":
            solution = next(solve(table, codes, len(self.classes_), 1.0, prices))
            self.coef_: FloatArray = solution.beta[1:].T.copy()
        else:
            Z = table.to_array()
            squares = _Distances(Z, Z[:0])
            squares.grow(Z.shape[1])
            self.width_: float = self._width(squares)
            solution = _solve_kernel(squares.own, self.width_, codes, len(self.classes_), prices)
            self.dual_coef_: FloatArray = solution.beta[1:].T.copy()
            self._training = Z
        self.intercept_: FloatArray = solution.beta[0].copy()
        self.residual_: FloatArray = solution.residual
        self._least = solution.least
        self._warn_of_residuals(self.residual_)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        r"""Return the signed distance from the middle plane: :math:`w \cdot z - \gamma`.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            For two classes one value, positive for the second one; 1 and -1 are the planes. For
            more, one for each class against the rest.
        """
        check_is_fitted(self, "intercept_")
        table = self._rows.read(X, self)
        if hasattr(self, "dual_coef_"):
            table = _kernel_table(table.to_array(), self._training, self.width_)
            weights = self.dual_coef_
        else:
            weights = self.coef_
        return clear_rounding(table.multiply(np.vstack([self.intercept_, weights.T])), self._least)

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

        The same as a fit and a predict at every size, but systems are nested: up to as many
        columns as rows, one factorisation serves all sizes. Nothing is left behind: this object
        is as fitted or unfitted as before.

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
        >>> from featly.learners import ProximalSVC
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> ProximalSVC().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        check_parameters(self)
        rows, owner = EncodedRows(self.standardize, self.schema), ProximalSVC()
        table = rows.fit(X, owner)
        other = rows.read(X_test, owner)
        sizes = check_sizes(sizes, owner.n_features_in_)
        codes, classes = self._target(y, table.n_rows)
        prices = row_prices(self.C, self.class_weight, codes, classes)
        counts = [int(rows.starts[size]) for size in sizes]
        predictions, residuals = [], []
        for solution, values in self._path(table, other, codes, len(classes), prices, counts):
            predictions.append(winning_classes(clear_rounding(values, solution.least)))
            residuals.append(solution.residual)
        self._warn_of_residuals(np.array(residuals))
        return classes[np.array(predictions)]

    # ---- parts ------------------------------------------------------------------------------
    def _path(
        self,
        table: Table,
        other: Table,
        codes: IntArray,
        n_classes: int,
        prices: FloatArray,
        counts: list[int],
    ) -> Iterator[tuple[Solution, FloatArray]]:
        """Yield solutions on the leading columns, and the values of other rows."""
        if self.kernel == "linear":
            solutions = list(solve(table, codes, n_classes, 1.0, prices, counts))
            values = other.multiply(stack_weights([solution.beta for solution in solutions]))
            yield from zip(solutions, np.hsplit(values, len(solutions)), strict=True)
            return
        squares = _Distances(table.to_array(), other.to_array())
        for count in counts:
            squares.grow(count)
            width = self._width(squares)
            solution = _solve_kernel(squares.own, width, codes, n_classes, prices)
            yield (
                solution,
                BlockTable.from_array(_gaussian(squares.other, width)).multiply(solution.beta),
            )

    def _check_parameters(self) -> None:
        if self.width is not None and self.kernel == "linear":
            raise ParameterError(
                f"width={self.width!r} is of kernel='gaussian': give both, or none"
            )

    def _target(self, y: Any, n_rows: int) -> tuple[IntArray, AnyArray]:
        if self.kernel == "gaussian" and n_rows > LARGEST_SYSTEM:
            raise DataError(
                f"X has {n_rows} rows: kernel='gaussian' solves a system with an unknown a row, up "
                f"to {LARGEST_SYSTEM}. Take a sample of the rows, or kernel='linear'"
            )
        return read_classes(y, n_rows, type(self).__name__)

    def _width(self, squares: "_Distances") -> float:
        if self.width is not None:
            return float(self.width)
        return float(np.sqrt(squares.variance / 2)) if squares.variance > 0 else 1.0

    def _warn_of_residuals(self, residuals: FloatArray) -> None:
        if residuals.max() > LARGEST_RESIDUAL:
            warnings.warn(
                f"the system was solved to a relative residual of {residuals.max():.1e} only: rows "
                "near the boundary may be on the wrong side; try a smaller C",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit
            )


def stack_weights(weights: list[FloatArray]) -> FloatArray:
    """Stack weights of leading columns side by side; columns beyond weigh nothing."""
    longest = max(len(beta) for beta in weights)
    return np.hstack([np.pad(beta, ((0, longest - len(beta)), (0, 0))) for beta in weights])


# ---- the Gaussian --------------------------------------------------------------------------------
class _Distances:
    """Squared distances of rows on the leading columns: among them, and to others."""

    def __init__(self, Z: FloatArray, other: FloatArray) -> None:
        self.Z, self.rows = Z, other
        self.used, self.variance = 0, 0.0
        self.own, self.other = np.zeros((len(Z), len(Z))), np.zeros((len(other), len(Z)))

    def grow(self, count: int) -> None:
        """Add columns up to `count` in all."""
        new, rows = self.Z[:, self.used : count], self.rows[:, self.used : count]
        self.own += _squared_distances(new, new)
        self.other += _squared_distances(rows, new)
        self.variance += float(new.var(axis=0).sum())
        self.used = count


def _squared_distances(rows: FloatArray, other_rows: FloatArray) -> FloatArray:
    left, right = (np.einsum("ij,ij->i", A, A) for A in (rows, other_rows))
    squares: FloatArray = np.maximum(left[:, None] + right - 2 * rows @ other_rows.T, 0.0)
    return squares


def _gaussian(squares: FloatArray, width: float) -> FloatArray:
    return np.exp(squares / (-2 * width**2))


def _solve_kernel(
    squares: FloatArray, width: float, codes: IntArray, n_classes: int, prices: FloatArray
) -> Solution:
    table = BlockTable.from_array(_gaussian(squares, width))
    return next(solve(table, codes, n_classes, 1.0, prices))


def _kernel_table(Z: FloatArray, training: FloatArray, width: float) -> BlockTable:
    rows = lambda low, high: _gaussian(_squared_distances(Z[low:high], training), width)  # noqa: E731
    return BlockTable(rows, len(Z), len(training))
