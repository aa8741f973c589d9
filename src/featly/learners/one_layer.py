r"""Networks of one layer, learnt by one linear system, with the error before the activation.

.. math::

    \min_{w_j, b_j} \sum_s \Bigl( f'(\bar d_{js}) \bigl(\bar d_{js} - b_j - w_j \cdot z_s \bigr)
    \Bigr)^2 + \alpha \bigl( \|w_j\|^2 + b_j^2 \bigr), \qquad \bar d_{js} = f^{-1}(d_{js})

Castillo, E., Fontenla-Romero, O., Guijarro-Berdiñas, B. and Alonso-Betanzos, A. (2002), A global
optimum approach for one-layer neural networks, *Neural Computation* 14, 1429-1449; the weight
:math:`f'` is of Fontenla-Romero, O., Guijarro-Berdiñas, B., Pérez-Sánchez, B. and Alonso-Betanzos,
A. (2010), A new convex objective function for the supervised learning of single-layer neural
networks, *Pattern Recognition* 43, 1984-1992.
"""

import warnings
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted, column_or_1d

from featly.basics.errors import ConvergenceWarning, DataError, ParameterError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, OneOf, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.models.least_squares import (
    LARGEST_SYSTEM,
    Solution,
    clear_rounding,
    solve,
    solve_system,
)
from featly.core.models.least_squares_tables import Table, signs
from featly.learners.encoded_rows import EncodedRows
from featly.learners.one_vs_one import check_sizes, winning_classes
from featly.learners.proximal_svc import stack_weights
from featly.problem.ingest_rows import MixedColumns
from featly.problem.parameters import InSchema
from featly.problem.target import read_classes
from featly.table.frames import values_of

__all__ = ["OneLayerNetwork"]


ACTIVATIONS = ("logistic", "tanh", "identity")
TINY = np.finfo(np.float64).smallest_subnormal  # an exclusive bound below 0, so that 0 is allowed
LARGEST_RESIDUAL = 1e-6  # a larger one gives a warning


class OneLayerNetwork(InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Neural network of one layer, solved as one system of linear equations.

    An output is :math:`f(b_j + w_j \cdot z)`. Its error is measured before the activation f, where
    the target d has become :math:`f^{-1}(d)`, and weighted by the slope of f there, so that it is
    about the error behind the activation. That cost is convex, its minimum the solution of a linear
    system: no learning rate, no start, no local minimum. There is one output for two classes, and
    one for each of more.

    Targets cannot be the ends of f, which are infinitely far. They are pulled in by `margin`, a
    share of the range of f: 0.05 and 0.95 for the logistic function, -0.9 and 0.9 for the others.
    Both are equally steep, so of these targets the costs of 2002 (without :math:`f'`) and of 2010
    differ by a factor only, which matters beside `alpha` alone; and so all outputs share one
    system.

    Columns are encoded as by :class:`Encoder`, and brought to mean 0 and variance 1 over the
    training rows, where a missing value counts as an average. `alpha` penalises weights of such
    columns, so units do not matter; `coef_` belongs to the columns that ``Encoder`` makes, fitted
    to the first training rows.

    The statistics are sums over rows: :meth:`partial_fit` on batches of rows is a ``fit`` on all
    of them, up to rounding, in any order. The first batch fixes how columns are read: their
    kinds, the levels of categories, and the average for missing values. A level seen later only
    counts as none of the levels, and a column without any value in the first batch, or a category
    with one level there, stays 0.

    Parameters
    ----------
    activation : {"logistic", "tanh", "identity"}, default="logistic"
        f.
    margin : float, default=0.05
        How far targets are from the ends of f, as a share of its range: between 0 and 0.5.
    alpha : float, default=1e-3
        Penalty, small: it makes the system solvable whatever the columns. With 0, the cost of the
        papers, the shortest of all best weights is taken.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

    Attributes
    ----------
    coef_ : float array of shape (1, n_encoded) or (n_classes, n_encoded)
        Weights of the encoded columns.
    intercept_ : float array of shape (1,) or (n_classes,)
    residual_ : float array of shape (1,) or (n_classes,)
        What the system leaves of its right-hand side, as a share: the certificate.
    n_rows_seen_ : int
        Rows learnt from.
    classes_ : array

    See Also
    --------
    ProximalSVC : Least squares with a price on errors.

    References
    ----------
    Castillo, E., Fontenla-Romero, O., Guijarro-Berdiñas, B. and Alonso-Betanzos, A. (2002), A
    global optimum approach for one-layer neural networks, *Neural Computation* 14, 1429-1449.

    Fontenla-Romero, O., Guijarro-Berdiñas, B., Pérez-Sánchez, B. and Alonso-Betanzos, A. (2010), A
    new convex objective function for the supervised learning of single-layer neural networks,
    *Pattern Recognition* 43, 1984-1992.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import OneLayerNetwork
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), ["low", "low", "high", "high"]
    >>> network = OneLayerNetwork().fit(X, y)
    >>> network.predict_proba([[0.5], [2.5], [4.5]]).round(2).tolist()
    [[0.08, 0.92], [0.5, 0.5], [0.92, 0.08]]
    >>> batches = OneLayerNetwork().partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
    >>> bool(np.allclose(batches.predict_proba(X), network.predict_proba(X)))
    True
    """

    activation: Annotated[str, OneOf(*ACTIVATIONS)] = "logistic"
    margin: Annotated[float, Number(above=0, below=0.5)] = 0.05
    alpha: Annotated[float, Number(at_least=0)] = 1e-3

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows at once; forget what was learnt before.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        height, ridge = self._resolve_parameters()
        rows = EncodedRows(True, self.schema, growing=True)
        table = rows.fit(X, self)
        codes, classes = self._target(y, table.n_rows)
        self._sums = _RowSums.from_table(table, codes, len(classes))
        self._rows = rows
        self.classes_: AnyArray = classes
        self.n_rows_seen_: int = table.n_rows
        if self._sums is not None:
            self._learn(height, ridge)
        else:
            center, scale = _units(*table.moments(), self._rows.starts)
            solution = next(solve(table.rescale(center, scale), codes, len(self.classes_), ridge))
            self._set_coefficients(solution, center, scale, height)
        self._warn_of_residuals(self.residual_)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from more rows.

        It keeps the sums of squares and products of all encoded columns, so there may be no more
        than 8191 of them. After a ``fit`` it goes on from there, unless that had no more rows than
        columns: then it kept no such sums.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)
        classes : sequence or None, default=None
            All classes that any batch may have. The first call needs them where its rows do not
            have them all; later calls may repeat them.

        Returns
        -------
        self
        """
        height, ridge = self._resolve_parameters()
        if not hasattr(self, "classes_"):
            known = self._sort_classes(y if classes is None else classes)
            rows = EncodedRows(True, self.schema, growing=True)
            table = rows.fit(X, self)
            codes = self._encode_target(y, table.n_rows, known)
            width = table.n_columns
            if width >= LARGEST_SYSTEM:
                raise DataError(
                    f"X has {width} encoded columns: partial_fit keeps a sum for every pair of "
                    f"them, and takes up to {LARGEST_SYSTEM - 1}. Use fit, or select columns first"
                )
            sums = _RowSums(width, len(known))
            sums.add(table, codes)
            self._rows, self._sums = rows, sums
            self.classes_ = known
            self.n_rows_seen_ = 0
        else:
            if self._sums is None:
                raise DataError(
                    "fit has seen no more rows than encoded columns and kept no sums: begin with "
                    "partial_fit to learn in batches"
                )
            if classes is not None and not np.array_equal(
                self._sort_classes(classes), self.classes_
            ):
                raise ParameterError(
                    f"classes={list(classes)!r} are not those of the first call, "
                    f"{self.classes_.tolist()}"
                )
            table = self._rows.read(X, self)
            codes = self._encode_target(y, table.n_rows, self.classes_)
            self._sums.add(table, codes)
        self.n_rows_seen_ += table.n_rows
        self._learn(height, ridge)
        self._warn_of_residuals(self.residual_)
        return self

    def decision_function(self, X: Any) -> FloatArray:
        r"""Return the outputs before their activation: :math:`b_j + w_j \cdot z`.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            For two classes one value, positive for the second one.
        """
        check_is_fitted(self, "coef_")
        table = self._rows.read(X, self)
        return clear_rounding(
            table.multiply(np.vstack([self.intercept_, self.coef_.T])), self._least
        )

    def predict(self, X: Any) -> Any:
        """Predict the class of largest output; of equal ones the first.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        values = self.decision_function(X)
        return self.classes_[winning_classes(values)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the outputs as shares of their range, normalised to sum to 1.

        Parameters
        ----------
        X : data frame, array or sparse matrix

        Returns
        -------
        probabilities : float array of shape (n_rows, n_classes)
        """
        values = self.decision_function(X)
        if self.activation == "identity":
            share = np.clip((values + 1) / 2, 0.0, 1.0)
        else:  # (1 + tanh(v)) / 2 is the logistic function of 2v
            share = expit(values if self.activation == "logistic" else 2 * values)
        if values.ndim == 1:
            return np.column_stack([1 - share, share])
        # outputs sum to what targets sum to, so never are all at the lower end
        probabilities: FloatArray = share / share.sum(axis=1, keepdims=True)
        return probabilities

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
        >>> from featly.learners import OneLayerNetwork
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> OneLayerNetwork().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        _, ridge = self._resolve_parameters()
        rows, owner = EncodedRows(True, self.schema, growing=True), OneLayerNetwork()
        table = rows.fit(X, owner)
        other = rows.read(X_test, owner)
        sizes = check_sizes(sizes, owner.n_features_in_)
        codes, classes = self._target(y, table.n_rows)
        counts = [int(rows.starts[size]) for size in sizes]
        sums = _RowSums.from_table(table, codes, len(classes))
        if sums is not None:
            center, scale = sums.units(rows.starts)
            solutions = list(sums.solve_sizes(center, scale, ridge, counts))
        else:
            center, scale = _units(*table.moments(), rows.starts)
            scaled = table.rescale(center, scale)
            solutions = list(solve(scaled, codes, len(classes), ridge, None, counts))
        self._warn_of_residuals(np.array([solution.residual for solution in solutions]))
        values = other.rescale(center, scale).multiply(
            stack_weights([solution.beta for solution in solutions])
        )
        parts = zip(solutions, np.hsplit(values, len(solutions)), strict=True)
        return classes[
            np.array(
                [winning_classes(clear_rounding(part, solution.least)) for solution, part in parts]
            )
        ]

    # ---- learning ---------------------------------------------------------------------------
    def _learn(self, height: float, ridge: float) -> None:
        assert self._sums is not None
        center, scale = self._sums.units(self._rows.starts)
        solution = next(self._sums.solve_sizes(center, scale, ridge, [len(center)]))
        self._set_coefficients(solution, center, scale, height)

    def _set_coefficients(
        self, solution: Solution, center: FloatArray, scale: FloatArray, height: float
    ) -> None:
        """Set the weights of encoded columns from those of standardised columns."""
        weights = solution.beta[1:] * scale[:, None]
        self.coef_: FloatArray = height * weights.T
        self.intercept_: Any = height * (solution.beta[0] - center @ weights)
        self.residual_: FloatArray = solution.residual
        self._least = height * solution.least

    def _warn_of_residuals(self, residuals: FloatArray) -> None:
        if residuals.max() > LARGEST_RESIDUAL:
            warnings.warn(
                f"the system was solved to a relative residual of {residuals.max():.1e} only: "
                "probabilities are about right at best; try a larger alpha",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit
            )

    # ---- parameters and targets -------------------------------------------------------------
    def _resolve_parameters(self) -> tuple[float, float]:
        """Return the targets' distance from 0 before activation, and alpha over their slope^2."""
        check_parameters(self)
        end = 1 - 2 * self.margin
        height, slope = {
            "logistic": (2 * np.arctanh(end), self.margin * (1 - self.margin)),
            "tanh": (np.arctanh(end), 1 - end**2),
            "identity": (end, 1.0),
        }[self.activation]
        return float(height), float(self.alpha / slope**2)

    def _target(self, y: Any, n_rows: int) -> tuple[IntArray, AnyArray]:
        return read_classes(y, n_rows, type(self).__name__)

    def _sort_classes(self, labels: Any) -> AnyArray:
        """Return all classes, sorted."""
        labels = _as_column(labels)
        return self._target(labels, 0 if labels is None else len(labels))[1]

    def _encode_target(self, y: Any, n_rows: int, known: AnyArray) -> IntArray:
        """Return the class of every row as a position in `known`; a batch may lack some classes."""
        y = _as_column(y)
        if y is None or len(y) != n_rows:
            return self._target(y, n_rows)[0]  # raises the error
        # behind the labels of the rows, so that an error names the right row
        codes, seen_classes = self._target(np.concatenate([y, known]), n_rows + len(known))
        is_unknown = ~np.isin(seen_classes, known)
        if is_unknown.any():
            raise DataError(
                f"y has the class {seen_classes[is_unknown].tolist()[0]!r}, which is not among "
                f"{known.tolist()}: name all classes in the first call, as classes=[...]"
            )
        return codes[:n_rows]


class _RowSums:
    """Sums over rows of squares and products: all that a network needs of them.

    Attributes
    ----------
    squares : float array of shape (1 + n_columns, 1 + n_columns)
        A'A, with A the encoded rows behind a column of ones.
    by_class : float array of shape (1 + n_columns, n_outputs)
        A'T, with T the signs of the classes.
    """

    def __init__(self, n_columns: int, n_classes: int) -> None:
        self.n_classes = n_classes
        self.squares = np.zeros((n_columns + 1, n_columns + 1))
        self.by_class = np.zeros((n_columns + 1, 1 if n_classes == 2 else n_classes))

    @classmethod
    def from_table(cls, table: Table, codes: IntArray, n_classes: int) -> "_RowSums | None":
        """Sum a table with more rows than columns; None for another one."""
        if table.n_columns >= min(table.n_rows, LARGEST_SYSTEM):
            return None
        sums = cls(table.n_columns, n_classes)
        sums.add(table, codes)
        return sums

    def add(self, table: Table, codes: IntArray) -> None:
        """Add rows."""
        target = lambda low, high: signs(codes[low:high], self.n_classes)  # noqa: E731
        with np.errstate(over="ignore", invalid="ignore"):
            squares, by_class = table.normal_equations(target, None, table.n_columns)
        if not np.isfinite(np.trace(squares)):
            raise DataError(
                "X has values so large beside those of the first batch that their squares "
                "overflow: correct them, or make them missing"
            )
        self.squares += squares
        self.by_class += by_class

    def units(self, starts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return centres and scales of the columns, over all rows."""
        n = self.squares[0, 0]
        mean = self.squares[0, 1:] / n
        variance = np.maximum(np.diag(self.squares)[1:] / n - mean**2, 0.0)
        return _units(mean, variance, starts)

    def solve_sizes(
        self, center: FloatArray, scale: FloatArray, ridge: float, counts: Sequence[int]
    ) -> Iterator[Solution]:
        """Solve for the leading columns, centred and scaled, for each number of them."""
        n = self.squares[0, 0]
        squares, by_class = self.squares.copy(), self.by_class.copy()
        squares[1:, 1:] -= n * np.outer(center, center)
        squares[1:, 1:] *= np.outer(scale, scale)
        squares[0, 1:] = squares[1:, 0] = 0.0
        by_class[1:] -= np.outer(center, by_class[0])
        by_class[1:] *= scale[:, None]
        return solve_system(squares, by_class, ridge, n / (n + ridge), counts)


def _units(
    mean: FloatArray, variance: FloatArray, starts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return centres and scales that give every column of the table mean 0 and total variance 1."""
    total = np.add.reduceat(variance, starts[:-1])
    scale = np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > 0)
    return mean, np.repeat(scale, np.diff(starts))


def _as_column(labels: Any) -> Any:
    """Return labels as an array of one dimension, or None."""
    if labels is None:
        return None
    labels = values_of(labels)
    is_mixed = isinstance(labels, list | tuple) and len({isinstance(v, str) for v in labels}) > 1
    return column_or_1d(
        np.array(labels, dtype=object) if is_mixed else np.asarray(labels), warn=True
    )
