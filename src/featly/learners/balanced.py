r"""Learners for which every class weighs the same, however few rows it has.

A row of class c counts :math:`n / (L\, n_c)` in training. A learner that takes no weights keeps its
training, and its probabilities are changed to those of a population with equal classes:

.. math::

    p'_c = \frac{p_c / \pi_c}{\sum_d p_d / \pi_d}, \qquad \pi_c = n_c / n.

Saerens, M., Latinne, P. and Decaestecker, C. (2002), Adjusting the outputs of a classifier to new a
priori probabilities: a simple procedure, *Neural Computation* 14, 21-41. For naive Bayes this is
equal priors, for nearest neighbours votes that count :math:`1 / \pi_c`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from featly.basics.estimators import BaseEstimator, ClassifierMixin
from featly.basics.params import Parameters, check_parameters, field
from featly.basics.typing import AnyArray, FloatArray
from featly.combine.decoding import Classifier
from featly.learners.path import PathPredictions

__all__ = ["Balanced", "balance"]


def balance(learner: Any) -> Any:
    """Return an unfitted copy of a classifier for which every class weighs the same.

    Parameters
    ----------
    learner : classifier, or Pipeline that ends in one

    Returns
    -------
    classifier
        With ``class_weight="balanced"`` if it has such a parameter, which is left as it is if it is
        not None; else a :class:`Balanced` around it.

    Examples
    --------
    >>> from featly.learners import LinearSVM, MixedNaiveBayes, balance
    >>> balance(LinearSVM(C=10)), balance(MixedNaiveBayes())
    (LinearSVM(C=10, class_weight='balanced'), Balanced(learner=MixedNaiveBayes()))
    """
    copy = clone(learner)
    last = _last_step(copy)
    parameters = last.get_params(deep=False) if hasattr(last, "get_params") else {}
    if "class_weight" not in parameters:
        return Balanced(copy)
    if parameters["class_weight"] is None:
        last.set_params(class_weight="balanced")
    return copy


def _last_step(learner: Any) -> Any:
    return learner.steps[-1][1] if hasattr(learner, "steps") else learner


def _has_path(balanced: "Balanced") -> bool:
    return hasattr(balanced.learner, "predict_path_values") and not balanced._takes_weights()


class Balanced(Parameters, ClassifierMixin, BaseEstimator):
    r"""A classifier without class weights, made to weigh every class the same.

    If ``fit`` of the learner takes `sample_weight`, a row of class c weighs :math:`n / (L\, n_c)`.
    Else its probabilities are divided by the shares :math:`\pi_c` of the classes among the training
    rows, and the class of largest quotient is predicted, the first one on a tie.

    Parameters
    ----------
    learner : classifier, or Pipeline that ends in one
        It needs ``predict_proba`` if it takes no weights.

    Attributes
    ----------
    learner_ : classifier
        The fitted one.
    classes_ : array
    shares_ : float array of shape (n_classes,)
        :math:`\pi_c`.

    See Also
    --------
    balance : Uses the class weights of a learner that has them.

    References
    ----------
    Saerens, M., Latinne, P. and Decaestecker, C. (2002), Adjusting the outputs of a classifier to
    new a priori probabilities: a simple procedure, *Neural Computation* 14, 21-41.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.learners import Balanced, HEOMNeighbors
    >>> X, y = np.arange(8.0)[:, None], np.array(["well"] * 6 + ["ill"] * 2)
    >>> neighbours = HEOMNeighbors(n_neighbors=5)
    >>> neighbours.fit(X, y).predict([[7.0]]).item()
    'well'
    >>> Balanced(neighbours).fit(X, y).predict([[7.0]]).item()
    'ill'
    """

    learner: Annotated[Any, Classifier()] = field(kw_only=False)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the learner.

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
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        learner = clone(self.learner)
        if self._takes_weights():
            weights = (len(codes) / (len(counts) * counts))[codes]
            name = "sample_weight"
            if hasattr(learner, "steps"):
                name = f"{learner.steps[-1][0]}__{name}"
            learner.fit(X, y, **{name: weights})
        else:
            learner.fit(X, y)
        self.learner_: Any = learner
        self.classes_: AnyArray = learner.classes_
        self.shares_: FloatArray = counts / len(codes)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class in a population where all are as frequent.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        probabilities : float array of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        probabilities = np.asarray(self.learner_.predict_proba(X))
        return probabilities if self._takes_weights() else _divide(probabilities, self.shares_)

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
        if self._takes_weights():
            return self.learner_.predict(X)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @available_if(_has_path)  # type: ignore[untyped-decorator]
    def predict_path_values(
        self, X: Any, y: Any, X_test: Any, sizes: Sequence[int]
    ) -> PathPredictions:
        """Train on the first k columns for every k in `sizes`, and predict other rows.

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
        path = clone(self.learner).predict_path_values(X, y, X_test, sizes)
        counts = np.unique(np.asarray(y), return_counts=True)[1]
        values = _divide(path.values, counts / counts.sum())
        labels = path.classes[values.argmax(axis=-1)]
        return PathPredictions(labels, values, is_probability=True, classes=path.classes)

    def _takes_weights(self) -> bool:
        return bool(has_fit_parameter(_last_step(self.learner), "sample_weight"))


def _divide(probabilities: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the probabilities of a population where all classes are as frequent."""
    # rounded, so that what ties in exact arithmetic ties here: 3 of 4 neighbours and a share of 3/4
    quotients = np.round(probabilities / shares, 12)
    total = quotients.sum(axis=-1, keepdims=True)
    adjusted: FloatArray = np.divide(
        quotients, total, out=np.full_like(quotients, 1 / len(shares)), where=total > 0
    )
    return adjusted
