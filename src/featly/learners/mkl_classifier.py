r"""A support vector machine on a learnt combination of kernels.

.. math::

    k(x, x') = \sum_f \mu_f\, k_f(x, x'), \qquad \mu \ge 0,\ \|\mu\|_p \le 1

with the weights :math:`\mu` and the machine from one optimisation (see
:mod:`featly.core.kernels.mkl`).

Kloft, M., Brefeld, U., Sonnenburg, S. and Zien, A. (2011), l_p-norm multiple kernel learning,
*Journal of Machine Learning Research* 12, 953-997.
"""

import warnings
from itertools import combinations
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from featly.basics.errors import ConvergenceWarning, DataError, ParameterError
from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Number, OneOf, Whole, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.kernels.kernel_sets import KernelList
from featly.core.runtime.parallel import single_threaded_blas
from featly.kernels.positions import Positions
from featly.learners.kernel_machines import (
    Columns,
    Machine,
    Matrices,
    check_similarities,
    train,
)
from featly.learners.one_vs_one import decision_values, winning_classes
from featly.learners.platt import couple_pairs, platt
from featly.problem.parameters import ClassWeighted, InSchema, Threaded
from featly.problem.problem import row_prices
from featly.problem.target import read_classes

__all__ = ["MKLClassifier"]


MOST_ROWS = 20_000  # of two classes: of the matrices of n x n numbers there are four at a time
FOLDS = 5  # for the probabilities


class MKLClassifier(ClassWeighted, Threaded, InSchema, ClassifierMixin, BaseEstimator):
    r"""Support vector machine that learns how much each kernel counts.

    By default every column has a kernel of its own, the clinical kernel, so that continuous,
    ordinal and categorical columns go together, and a missing value is similar to none; or the
    kernels are given by their Gram matrices. The optimum is found by Newton's method and certified
    (`duality_gap_`). More than two classes are told apart pair by pair, each with weights of its
    own, and the class with most votes wins; on a tie the larger sum of margins decides. What lies
    on a boundary is of the class that is sorted first.

    Parameters
    ----------
    C : float, default=10.0
        Price of a margin violation.
    norm : float, default=2.0
        The p, above 1, of the norm on the weights. Towards 1 few kernels get all the weight, for
        large norms all get the same.
    kernels : {"columns", "precomputed"}, default="columns"
        "columns": X is a table, and each column a kernel. "precomputed": X is a list of m Gram
        matrices of the training rows, (n, n) each, or an array of shape (m, n, n); to predict, a
        list of m matrices (n_new, n) of similarities to the training rows. They must be symmetric
        and positive semi-definite, and are best of similar trace: weights depend on the units.
    probability : bool, default=False
        Whether to fit what ``predict_proba`` needs: five more fits for each pair of classes.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class.
    tolerance : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=200
        The most support vector machines to solve for a pair of classes; five to ten are usual.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    weights_ : float array of shape (n_pairs, n_kernels)
        The weight of every kernel for each pair of classes, in the order (0, 1), (0, 2), ...; of
        norm 1, or all 0 where no kernel tells the two classes apart.
    mean_weights_ : float array of shape (n_kernels,)
        Their mean over the pairs.
    duality_gap_ : float array of shape (n_pairs,)
        (primal - dual) / primal objective: the certificate.
    n_iter_ : int array of shape (n_pairs,)
        How many support vector machines were solved.
    classes_ : array
    n_features_in_ : int
        Columns, or Gram matrices.

    See Also
    --------
    featly.elimination.mkl_rfe.MKLRFE : Ranks columns by such weights.

    Notes
    -----
    Probabilities are Platt's: a sigmoid of the margin, fitted to margins of rows that were held
    out in five folds. The i-th row of a class is in fold i modulo 5; where that leaves no row of
    its class, the margin is 1 in favour of the other. For many classes those of the pairs are
    coupled as by Wu, Lin and Weng (2004, their second method). The most probable class need not
    be the one that ``predict`` gives.

    For n rows of a pair of classes and p kernels a fit takes some :math:`10\, n^2 p` operations
    and four n x n matrices; more than 20,000 rows of a pair are refused.

    References
    ----------
    Kloft, M., Brefeld, U., Sonnenburg, S. and Zien, A. (2011), l_p-norm multiple kernel learning,
    *JMLR* 12, 953-997. Lin, H.-T., Lin, C.-J. and Weng, R. C. (2007), A note on Platt's
    probabilistic outputs for support vector machines, *Machine Learning* 68, 267-276. Wu, T.-F.,
    Lin, C.-J. and Weng, R. C. (2004), Probability estimates for multi-class classification by
    pairwise coupling, *JMLR* 5, 975-1005.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.learners import MKLClassifier
    >>> rows = pl.DataFrame(
    ...     {"age": [30, 35, 62, None, 71, 58], "sex": ["f", "m", "f", "m", "f", "m"]}
    ... )
    >>> ill = ["no", "no", "yes", "no", "yes", "yes"]
    >>> machine = MKLClassifier().fit(rows, ill)
    >>> machine.predict(pl.DataFrame({"age": [33, 66], "sex": ["f", "m"]})).tolist()
    ['no', 'yes']
    >>> bool(machine.weights_[0, 0] > machine.weights_[0, 1])
    True

    Gram matrices of one's own:

    >>> import numpy as np
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> grams = [np.outer(x, x), np.exp(-np.subtract.outer(x, x) ** 2)]
    >>> machine = MKLClassifier(kernels="precomputed").fit(grams, [0, 0, 1, 1])
    >>> new = np.array([-1.5, 1.5])
    >>> machine.predict([np.outer(new, x), np.exp(-np.subtract.outer(new, x) ** 2)])
    array([0, 1])
    """

    C: Annotated[float, Number(above=0)] = 10.0
    norm: Annotated[float, Number(above=1)] = 2.0
    kernels: Annotated[str, OneOf("columns", "precomputed")] = "columns"
    probability: bool = False
    tolerance: Annotated[float, Number(above=0)] = 1e-6
    max_iter: Annotated[int, Whole(at_least=1)] = 200

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        table = self.kernels == "columns"
        tags.input_tags.allow_nan = table
        tags.input_tags.categorical = table
        tags.input_tags.string = table
        tags.input_tags.sparse = table
        tags.input_tags.two_d_array = table
        tags.input_tags.three_d_array = not table
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights and the machines.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features); or Gram matrices
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        source = self._read(X)
        codes, classes = read_classes(y, source.n_rows, type(self).__name__)
        self.classes_: AnyArray = classes
        C = row_prices(self.C, self.class_weight, codes, self.classes_)
        machines, sigmoids = [], []
        with single_threaded_blas():
            for first, second in combinations(range(len(self.classes_)), 2):
                rows = np.flatnonzero((codes == first) | (codes == second))
                signs = np.where(codes[rows] == second, 1.0, -1.0)
                machines.append(self._train_machine(source, rows, signs, C[rows]))
                if self.probability:
                    sigmoids.append(self._fit_sigmoid(source, rows, signs, C[rows]))
        self._machines, self._sigmoids = machines, np.array(sigmoids)
        self._source = source.for_prediction()
        self.weights_: AnyArray = np.array([machine.weights for machine in machines])
        self.mean_weights_: Any = self.weights_.mean(axis=0)
        self.duality_gap_: AnyArray = np.array([machine.duality_gap for machine in machines])
        self.n_iter_: AnyArray = np.array([machine.n_iter for machine in machines])
        largest = float(self.duality_gap_.max())
        if largest > max(1e-6, self.tolerance):
            warnings.warn(
                f"the weights were learnt to a relative duality gap of {largest:.1e} only: try a "
                "smaller C, a larger norm or more max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of rows: the side of the boundary, and how clearly.

        Parameters
        ----------
        X : data frame, array or sparse matrix; or similarities to the training rows

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            For two classes the margin, positive for the second one. For more, the votes of each
            class plus its margins as a number in (-1/3, 1/3).
        """
        margins = self._margins(X)
        least = np.array([machine.least for machine in self._machines])
        return decision_values(margins, least, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Predict the class of every row.

        Parameters
        ----------
        X : data frame, array or sparse matrix; or similarities to the training rows

        Returns
        -------
        labels : array of shape (n_rows,)
        """
        values = self.decision_function(X)
        return self.classes_[winning_classes(values)]

    def _has_probabilities(self) -> bool:
        if not self.probability:
            raise AttributeError("predict_proba needs MKLClassifier(probability=True)")
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every class.

        Parameters
        ----------
        X : data frame, array or sparse matrix; or similarities to the training rows

        Returns
        -------
        probabilities : float array of shape (n_rows, n_classes)
            In the order of ``classes_``.
        """
        margins = self._margins(X)
        if len(self._sigmoids) == 0:
            raise ParameterError("probability was set after the fit: fit once more")
        slope, offset = self._sigmoids.T
        return couple_pairs(expit(margins * slope + offset), len(self.classes_))

    # ---- parts ------------------------------------------------------------------------------
    def _read(self, X: Any) -> Columns | Matrices:
        if self.kernels == "columns":
            self._positions = Positions(self.schema)
            return Columns(self._positions.fit(X, self), self.n_jobs)
        if self.schema is not None:
            raise ParameterError("schema is about columns, and kernels='precomputed' has none")
        matrices = Matrices(KernelList(X, self.n_jobs))
        self.n_features_in_: int = matrices.n_kernels
        return matrices

    def _train_machine(
        self, source: Columns | Matrices, rows: IntArray, y: FloatArray, C: FloatArray
    ) -> Machine:
        if len(rows) > MOST_ROWS:
            raise DataError(
                f"two classes have {len(rows)} rows, and MKLClassifier, which needs square "
                f"matrices of that size, takes {MOST_ROWS}: draw some of the rows"
            )
        return train(source, rows, y, C, self.norm, self.tolerance, self.max_iter)

    def _fit_sigmoid(
        self, source: Columns | Matrices, rows: IntArray, y: FloatArray, C: FloatArray
    ) -> tuple[float, float]:
        """Return slope and offset of the second class's probability, from rows held out."""
        fold = np.empty(len(rows), np.int64)
        for sign in (-1.0, 1.0):
            fold[y == sign] = np.arange(np.count_nonzero(y == sign)) % FOLDS
        margins = np.empty(len(rows))
        for k in range(fold.max() + 1):
            is_out, is_training = fold == k, fold != k
            if len(set(y[is_training])) == 1:  # the only row of a class is held out
                margins[is_out] = y[is_training][0]
            else:
                machine = self._train_machine(
                    source, rows[is_training], y[is_training], C[is_training]
                )
                margins[is_out] = source.margins(machine, source.rows_as_new(rows[is_out]))
        return platt(margins, y > 0)

    def _margins(self, X: Any) -> FloatArray:
        """Return the margins of every machine, one a column."""
        check_is_fitted(self)
        source = self._source
        if isinstance(source, Columns):
            other = self._positions.locate(X, self)
        else:
            other = check_similarities(X, source.n_kernels, source.n_rows)
        with single_threaded_blas():
            return np.column_stack([source.margins(machine, other) for machine in self._machines])
