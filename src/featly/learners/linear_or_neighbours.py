r"""A linear machine or nearest neighbours: the better one inside the training rows.

.. math::

    \hat m_k = \arg\max_{m \in \{\text{linear}, \text{neighbours}\}} r(m, k)

r(m, k) is the balanced rate of learner m with the first k columns, over folds of the training rows.

Stone, M. (1974), Cross-validatory choice and assessment of statistical predictions, *Journal of the
Royal Statistical Society B* 36, 111-147.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import OneOf, Whole, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.learners.balanced import balance
from featly.learners.clinical_svc import ClinicalSVC
from featly.learners.heom import HEOMNeighbors
from featly.learners.linear_svm import LinearSVM
from featly.learners.path import PathPredictions
from featly.measures.classification import accuracy, bcr, confusion_matrix
from featly.problem.parameters import InSchema
from featly.problem.target import read_classes

__all__ = ["LinearOrNeighbours"]

MACHINES = {"linear-svm": LinearSVM, "clinical-svm": ClinicalSVC}


class LinearOrNeighbours(InSchema, ClassifierMixin, BaseEstimator):
    r"""A linear machine or five nearest neighbours, whichever predicts better inside the training.

    Neighbours see what columns say together, such as an exclusive or, which a straight boundary
    cannot; where columns add up, the straight boundary is better. So a ranking by neighbours
    (:class:`featly.ReliefF`) is judged by both. Every training part is dealt into folds, the rates
    of both learners are counted there, and the better one is trained on the whole part, the machine
    on a tie. Along a list of columns it is chosen anew at every size. No test row has a say.

    The rate is the balanced one with ``class_weight="balanced"``, else the accuracy. Where a class
    has one training row, there is nothing to choose by and the machine is taken. Folds do not know
    of rows that belong together, so they may prefer neighbours where such rows are twins.

    Parameters
    ----------
    machine : {"linear-svm", "clinical-svm"}, default="linear-svm"
        The linear machine; "clinical-svm" has a kernel for mixed columns, additive over them.
    n_neighbors : int, default=5
        Rows that vote; all of them where there are fewer.
    n_folds : int, default=5
        Folds of the training rows; fewer where a class has fewer rows.
    class_weight : "balanced" or None, default=None
        Whether every class weighs the same, see :func:`balance`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The kinds of the columns are used, where dtypes do not show them.

    Attributes
    ----------
    learner_ : classifier
        The better one, trained on all rows.
    rates_ : float array of shape (2,)
        Rates of the machine and of the neighbours over the folds; NaN where there were none.
    classes_ : array

    See Also
    --------
    HEOMNeighbors : The neighbours.

    References
    ----------
    Stone, M. (1974), Cross-validatory choice and assessment of statistical predictions, *Journal of
    the Royal Statistical Society B* 36, 111-147.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import LinearOrNeighbours
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> together, alone = X[:, 0] * X[:, 1] > 0, X.sum(axis=1) > 0
    >>> type(LinearOrNeighbours().fit(X, together).learner_).__name__
    'HEOMNeighbors'
    >>> type(LinearOrNeighbours().fit(X, alone).learner_).__name__
    'LinearSVM'
    """

    machine: Annotated[str, OneOf(*MACHINES)] = "linear-svm"
    n_neighbors: Annotated[int, Whole(at_least=1)] = 5
    n_folds: Annotated[int, Whole(at_least=2)] = 5
    class_weight: Annotated[str | None, OneOf("balanced")] = None

    def fit(self, X: Any, y: Any) -> Self:
        """Choose one of the two learners, and train it.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_rows, n_features)
        y : sequence of shape (n_rows,)

        Returns
        -------
        self
        """
        check_parameters(self)
        labels = np.asarray(y)
        self.classes_: AnyArray = read_classes(labels, len(labels), type(self).__name__)[1]
        self.rates_: FloatArray = self._inner_rates(X, labels, None)[:, 0]
        self.learner_: Any = self._learners()[_better(self.rates_[:, None])[0]].fit(X, labels)
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
        check_is_fitted(self)
        return self.learner_.predict(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of the machine, or the votes of the neighbours.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        values : float array of shape (n_rows,) or (n_rows, n_classes)
            Of two classes one number a row, above 0 for the second one: of neighbours the share of
            its votes less that of the first one.
        """
        check_is_fitted(self)
        if hasattr(self.learner_, "decision_function"):
            margins: FloatArray = self.learner_.decision_function(X)
            return margins
        return _as_decisions(self.learner_.predict_proba(X))

    def predict_path(self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]) -> Any:
        """Choose and train on the first k columns for every k in `sizes`, and predict other rows.

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
        """
        return self.predict_path_values(X, y, X_test, sizes).labels

    def predict_path_values(
        self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]
    ) -> PathPredictions:
        """Do the same as :meth:`predict_path`, and return decision values beside the classes.

        Parameters
        ----------
        X, y
            The training rows, columns in the order in which they join.
        X_test
            Rows to predict, with the same columns.
        sizes : ascending counts of columns

        Returns
        -------
        PathPredictions
        """
        check_parameters(self)
        labels = np.asarray(y)
        chosen = _better(self._inner_rates(X, labels, sizes))
        paths = [
            learner.predict_path_values(X, labels, X_test, sizes) if (chosen == k).any() else None
            for k, learner in enumerate(self._learners())
        ]
        predicted, values = [], []
        for k, choice in enumerate(chosen):
            path = paths[choice]
            assert path is not None
            predicted.append(path.labels[k])
            values.append(_as_decisions(path.values[k]) if path.is_probability else path.values[k])
        classes = np.unique(labels)
        return PathPredictions(
            np.array(predicted), np.array(values), is_probability=False, classes=classes
        )

    # ---- parts ------------------------------------------------------------------------------
    def _learners(self) -> list[Any]:
        learners = [
            MACHINES[self.machine](schema=self.schema),
            HEOMNeighbors(n_neighbors=self.n_neighbors, schema=self.schema),
        ]
        return learners if self.class_weight is None else [balance(learner) for learner in learners]

    def _inner_rates(self, X: Any, y: AnyArray, sizes: Sequence[int] | None) -> FloatArray:
        """Return the rates of both learners over folds, at every size or with all columns."""
        classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        n_folds = min(self.n_folds, int(counts.min()))
        if n_folds < 2:
            return np.full((2, 1 if sizes is None else len(sizes)), np.nan)
        folds = _deal_rows(codes, n_folds)
        predicted: list[Any] = [[], []]
        for fold in range(n_folds):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            X_train, X_test = _safe_indexing(X, train), _safe_indexing(X, test)
            for learner, parts in zip(self._learners(), predicted, strict=True):
                if sizes is None:
                    labels = learner.fit(X_train, y[train]).predict(X_test)[None]
                else:
                    labels = learner.predict_path_values(X_train, y[train], X_test, sizes).labels
                parts.append(np.searchsorted(classes, labels))
        truth = np.concatenate([codes[folds == fold] for fold in range(n_folds)])
        rate = accuracy if self.class_weight is None else bcr
        return np.array(
            [
                [
                    rate(confusion_matrix(truth, row, len(classes)))
                    for row in np.concatenate(parts, axis=1)
                ]
                for parts in predicted
            ]
        )


def _better(rates: FloatArray) -> IntArray:
    """Return 1 where the neighbours are better, at every size; 0 on a tie, and for NaN."""
    better: IntArray = (rates[1] > rates[0] + 1e-12).astype(np.int64)
    return better


def _deal_rows(codes: IntArray, n_folds: int) -> IntArray:
    """Return the fold of every row; the rows of a class are dealt in turn, in a fixed random order.

    The order of the rows decides, and nothing else.
    """
    folds = np.empty(len(codes), np.int64)
    order = np.random.default_rng(0).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


def _as_decisions(probabilities: FloatArray) -> FloatArray:
    """Return shares of votes as ``decision_function`` would."""
    if probabilities.shape[-1] != 2:
        return probabilities
    difference: FloatArray = probabilities[..., 1] - probabilities[..., 0]
    return difference
