r"""A support vector machine with the clinical kernel.

.. math::

    f(x) = \sum_i \alpha_i y_i\, k(x, x_i) + b, \qquad
    k(x, x') = \frac{1}{p} \sum_f k_f(x_f, x'_f)

Daemen, A. and De Moor, B. (2009), Development of a kernel function for clinical data, *EMBC*,
5913-5917.
"""

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ConvergenceWarning
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.kernels.clinical import ClinicalColumns, add_similarities
from featly.core.runtime.parallel import single_threaded_blas, split
from featly.core.svm.working_set import solve_by_products
from featly.kernels import ClinicalKernel
from featly.kernels.clinical import DICT_OF_WEIGHTS, LIST_OF_WEIGHTS, Weights
from featly.kernels.positions import Positions
from featly.learners.one_vs_one import check_sizes, decision_values, winning_classes
from featly.learners.pairwise_svm import PairMachine, pair_machines
from featly.problem.ingest_rows import MixedColumns
from featly.problem.parameters import ClassWeighted, InSchema, Threaded
from featly.problem.problem import row_prices
from featly.problem.target import read_classes

__all__ = ["ClinicalSVC"]


MOST_DENSE_ROWS = 4096  # above this nothing n x n is made
NEW_ROWS = 1024  # rows that are compared with the training rows at a time


class ClinicalSVC(ClassWeighted, Threaded, InSchema, MixedColumns, ClassifierMixin, BaseEstimator):
    r"""Soft-margin support vector machine with the clinical kernel, for mixed columns.

    Continuous, ordinal and categorical columns and missing values are taken as they are: see
    :class:`featly.kernels.ClinicalKernel` for the similarity of two rows. Up to 4,096 rows of two
    classes the machine is solved to machine precision; above, to a relative duality gap of 1e-8
    without any n x n matrix. Where several biases are best, it takes the middle of them. More than
    two classes are told apart pair by pair, and the class with most votes wins; on a tie the larger
    sum of margins decides. What lies on a boundary is of the class that is sorted first.

    Parameters
    ----------
    C : float, default=10.0
        Price of a margin violation; 10 is that of Paul et al.
    weights : sequence, dict or None, default=None
        Weights of the columns in the kernel, as in :class:`featly.kernels.ClinicalKernel`.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    kernel_ : ClinicalKernel
        With the ranges and levels of the training rows.
    dual_coef_ : list of float arrays
        :math:`\alpha_i y_i`, an array for each pair of classes over its rows.
    intercept_ : float array of shape (n_pairs,)
    duality_gap_ : float array of shape (n_pairs,)
        (primal - dual) / primal objective: the certificate.
    n_support_ : int array of shape (n_pairs,)
        Rows with a coefficient.
    classes_ : array

    See Also
    --------
    featly.SVMRFE : ``SVMRFE(kernel="clinical")`` ranks columns by such a machine.

    References
    ----------
    Daemen, A. and De Moor, B. (2009), Development of a kernel function for clinical data, *EMBC*,
    5913-5917. Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous
    feature selection, *Neurocomputing* 169, 187-195.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import ClinicalSVC
    >>> X = pl.DataFrame({"age": [30, 35, None, 70, 64, 71], "smokes": list("nnnyyn")})
    >>> svc = ClinicalSVC().fit(X, ["well", "well", "well", "ill", "ill", "ill"])
    >>> svc.predict(pl.DataFrame({"age": [33, 68], "smokes": ["n", None]})).tolist()
    ['well', 'ill']
    """

    C: Annotated[float, Number(above=0)] = 10.0
    weights: Annotated[Weights, LIST_OF_WEIGHTS, DICT_OF_WEIGHTS] = None

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
        positions = Positions(self.schema)
        z = positions.fit(X, self)
        kernel = ClinicalKernel(weights=self.weights, schema=self.schema, n_jobs=self.n_jobs)
        kernel.adopt(positions, z, self)
        codes, classes = read_classes(y, z.shape[1], type(self).__name__)
        self.classes_: AnyArray = classes
        prices = row_prices(self.C, self.class_weight, codes, self.classes_)
        machines = pair_machines(codes, len(self.classes_), prices)
        with single_threaded_blas():
            self._solve(machines, z, kernel.weights_)
        self.kernel_ = kernel
        self.dual_coef_: list[FloatArray] = [machine.coef.copy() for machine in machines]
        self.intercept_: AnyArray = np.array([machine.bias for machine in machines])
        self.duality_gap_: AnyArray = np.array([machine.duality_gap for machine in machines])
        self.n_support_: IntArray = np.array([np.count_nonzero(coef) for coef in self.dual_coef_])
        self._rows = [machine.rows for machine in machines]
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
        positions, z, weights = self.kernel_.parts
        pairs = list(zip(self._rows, self.dual_coef_, strict=True))
        values = self._margins(z, positions.locate(X, self), weights, pairs) + self.intercept_
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

        The same as a fit and a predict at every size, but the kernel grows from size to size and
        each machine starts from the last solution. Nothing is left behind: this object is as
        fitted or unfitted as before.

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
        >>> from featly.learners import ClinicalSVC
        >>> rng = np.random.default_rng(0)
        >>> X, y = rng.normal(size=(40, 8)), np.repeat([0, 1], 20)
        >>> X[:, 2] += 3 * y
        >>> ClinicalSVC().predict_path(X[::2], y[::2], X[1::2], [1, 4]).shape
        (2, 20)
        """
        check_parameters(self)
        owner, positions = ClinicalKernel(schema=self.schema), Positions(self.schema)
        z = positions.fit(X, owner)
        test_z = positions.locate(X_test, owner)
        sizes = check_sizes(sizes, len(z))
        codes, classes = read_classes(y, z.shape[1], type(self).__name__)
        prices = row_prices(self.C, self.class_weight, codes, classes)
        machines = pair_machines(codes, len(classes), prices)
        weights = self._path_weights(positions, z, owner)
        predictions = np.empty((len(sizes), test_z.shape[1]), np.int64)
        duality_gaps = np.empty((len(sizes), len(machines)))
        with single_threaded_blas():
            path = self._path if z.shape[1] <= MOST_DENSE_ROWS else self._path_by_products
            for k, values in enumerate(path(machines, z, test_z, weights, sizes)):
                least = np.array([machine.least for machine in machines])
                predictions[k] = winning_classes(decision_values(values, least, len(classes)))
                duality_gaps[k] = [machine.duality_gap for machine in machines]
        self._warn_of_duality_gaps(duality_gaps)
        return classes[predictions]

    # ---- parts ------------------------------------------------------------------------------
    def _path_weights(self, positions: Positions, z: FloatArray, owner: Any) -> FloatArray:
        kernel = ClinicalKernel(weights=self.weights, schema=self.schema)
        kernel.adopt(positions, z, owner)
        return kernel.weights_

    def _path(
        self,
        machines: list[PairMachine],
        z: FloatArray,
        test_z: FloatArray,
        weights: FloatArray,
        sizes: list[int],
    ) -> Iterator[FloatArray]:
        """Margins of the other rows at every size, from one growing Gram matrix."""
        n = z.shape[1]
        gram, cross = np.zeros((n, n)), np.zeros((test_z.shape[1], n))
        n_used = rank = 0
        for size in sizes:
            added = slice(n_used, size)
            add_similarities(z[added], None, weights[added], gram, self.n_jobs)
            add_similarities(test_z[added], z[added], weights[added], cross, self.n_jobs)
            n_used, rank = size, min(n, rank + _rank_bound(z[added]))
            total = _total_weight(weights[:size])
            yield np.column_stack(
                [machine.solve(gram / total, cross / total, rank) for machine in machines]
            )

    def _path_by_products(
        self,
        machines: list[PairMachine],
        z: FloatArray,
        test_z: FloatArray,
        weights: FloatArray,
        sizes: list[int],
    ) -> Iterator[FloatArray]:
        """Yield the margins of `_path` without a Gram matrix, for many rows."""
        for size in sizes:
            part = weights[:size] / _total_weight(weights[:size])
            self._solve(machines, z[:size], part)
            pairs = [(machine.rows, machine.coef) for machine in machines]
            bias = np.array([machine.bias for machine in machines])
            yield self._margins(z[:size], test_z[:size], part, pairs) + bias

    def _margins(
        self,
        z: FloatArray,
        new_z: FloatArray,
        weights: FloatArray,
        pairs: list[tuple[AnyArray, FloatArray]],
    ) -> FloatArray:
        """Margins of new rows without the bias, a column for each pair of classes."""
        coef = np.zeros((z.shape[1], len(pairs)))
        for k, (rows, values) in enumerate(pairs):
            coef[rows, k] = values
        support = np.flatnonzero(coef.any(axis=1))
        support_z, coef = np.ascontiguousarray(z[:, support]), coef[support]
        margins = np.empty((new_z.shape[1], len(pairs)))
        for low, high in split(new_z.shape[1], NEW_ROWS):
            cross = np.zeros((high - low, len(support)))
            part = np.ascontiguousarray(new_z[:, low:high])
            add_similarities(part, support_z, weights, cross, self.n_jobs)
            margins[low:high] = cross @ coef
        return margins

    def _solve(self, machines: list[PairMachine], z: FloatArray, weights: FloatArray) -> None:
        """Solve all pairs, each on its own rows."""
        n = z.shape[1]
        no_rows = np.empty((0, n))
        if n <= MOST_DENSE_ROWS:
            gram = np.zeros((n, n))
            add_similarities(z, None, weights, gram, self.n_jobs)
            for machine in machines:
                machine.solve(gram, no_rows, _rank_bound(z))
            return
        for machine in machines:
            part = np.ascontiguousarray(z[:, machine.rows])
            if len(machine.rows) <= MOST_DENSE_ROWS:
                gram = np.zeros((len(machine.rows), len(machine.rows)))
                add_similarities(part, None, weights, gram, self.n_jobs)
                machine.solve(gram, np.empty((0, len(gram))), _rank_bound(part))
                continue
            columns = ClinicalColumns(part, n_jobs=self.n_jobs)
            solution = solve_by_products(
                partial(columns.product, weight=weights),
                partial(columns.block, weight=weights),
                machine.y,
                machine.C,
            )
            machine.coef[:] = solution.coef
            machine.certify(columns.product(solution.coef, weights), float(len(machine.rows)))

    def _warn_of_duality_gaps(self, duality_gaps: FloatArray) -> None:
        largest = float(duality_gaps.max())
        if largest > 1e-6:
            warnings.warn(
                f"the machine was solved to a relative duality gap of {largest:.1e} only: rows "
                "near the boundary may be on the wrong side; try a smaller C",
                ConvergenceWarning,
                stacklevel=3,  # the caller of fit
            )


def _total_weight(weights: FloatArray) -> float:
    """Return the divisor of summed similarities: 1 where the columns so far weigh nothing."""
    return float(weights.sum()) or 1.0


def _rank_bound(z: FloatArray) -> int:
    """Return an upper bound on the rank of the sum of the columns' kernels."""
    total = 0
    for column in z:
        total += len(np.unique(column))
        if total >= z.shape[1]:
            return int(z.shape[1])
    return total
