"""Learners by name, for plans and for the command line."""

import difflib
from collections.abc import Callable
from typing import Any

from featly.basics.errors import ParameterError

__all__ = ["LEARNERS", "make_learner"]


def _with_encoder(classifier: Any) -> Any:
    """Put a classifier of scikit-learn's behind the encoding of mixed columns."""
    from sklearn.pipeline import make_pipeline

    from featly.learners.encoding import Encoder

    return make_pipeline(Encoder(), classifier)


def _linear_svm(**parameters: Any) -> Any:
    from featly.learners.linear_svm import LinearSVM

    return LinearSVM(**parameters)


def _clinical_svm(**parameters: Any) -> Any:
    from featly.learners.clinical_svc import ClinicalSVC

    return ClinicalSVC(**parameters)


def _linear_or_neighbours(**parameters: Any) -> Any:
    from featly.learners.linear_or_neighbours import LinearOrNeighbours

    return LinearOrNeighbours(**parameters)


def _clinical_or_neighbours(**parameters: Any) -> Any:
    from featly.learners.linear_or_neighbours import LinearOrNeighbours

    return LinearOrNeighbours(**{"machine": "clinical-svm"} | parameters)


def _mkl(**parameters: Any) -> Any:
    from featly.learners.mkl_classifier import MKLClassifier

    return MKLClassifier(**parameters)


def _mixed_naive_bayes(**parameters: Any) -> Any:
    from featly.learners.mixed_naive_bayes import MixedNaiveBayes

    return MixedNaiveBayes(**parameters)


def _c45(**parameters: Any) -> Any:
    from featly.learners.c45 import C45

    return C45(**parameters)


def _proximal_svm(**parameters: Any) -> Any:
    from featly.learners.proximal_svc import ProximalSVC

    return ProximalSVC(**parameters)


def _one_layer(**parameters: Any) -> Any:
    from featly.learners.one_layer import OneLayerNetwork

    return OneLayerNetwork(**parameters)


def _logistic(**parameters: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return _with_encoder(LogisticRegression(**{"max_iter": 1000} | parameters))


def _naive_bayes(**parameters: Any) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return _with_encoder(GaussianNB(**parameters))


def _neighbours(count: int) -> Callable[..., Any]:
    def make(**parameters: Any) -> Any:
        from featly.learners.heom import HEOMNeighbors

        return HEOMNeighbors(**{"n_neighbors": count} | parameters)

    return make


def _encoded_neighbours(count: int) -> Callable[..., Any]:
    def make(**parameters: Any) -> Any:
        from sklearn.neighbors import KNeighborsClassifier

        return _with_encoder(KNeighborsClassifier(**{"n_neighbors": count} | parameters))

    return make


def _tree(**parameters: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return _with_encoder(DecisionTreeClassifier(**{"random_state": 0} | parameters))


def _forest(**parameters: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _with_encoder(RandomForestClassifier(**{"random_state": 0, "n_jobs": 1} | parameters))


def _perceptron(**parameters: Any) -> Any:
    from sklearn.neural_network import MLPClassifier

    return _with_encoder(MLPClassifier(**{"random_state": 0, "max_iter": 1000} | parameters))


def _rbf_svm(**parameters: Any) -> Any:
    from sklearn.svm import SVC

    return _with_encoder(SVC(**parameters))


LEARNERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "linear-svm": ("linear support vector machine, exact, quick over many sizes", _linear_svm),
    "clinical-svm": (
        "support vector machine with the clinical kernel, for mixed columns with missing values",
        _clinical_svm,
    ),
    "linear-or-neighbours": (
        "linear-svm or 5-nn, whichever predicts better inside the training rows",
        _linear_or_neighbours,
    ),
    "clinical-or-neighbours": ("the same of clinical-svm and 5-nn", _clinical_or_neighbours),
    "mkl": ("a weighted clinical kernel for each column, weights learnt", _mkl),
    "mixed-naive-bayes": ("naive Bayes: normal for numbers, counts for levels", _mixed_naive_bayes),
    "c4.5": ("decision tree with multiway splits, pruned: C4.5, Weka's J48", _c45),
    "proximal-svm": ("two parallel planes, by one linear system", _proximal_svm),
    "one-layer": ("one layer of neurons, at its global optimum, in batches if need be", _one_layer),
    "rbf-svm": ("support vector machine with a Gaussian kernel", _rbf_svm),
    "logistic": ("logistic regression", _logistic),
    "naive-bayes": ("Gaussian naive Bayes", _naive_bayes),
    "1-nn": (
        "nearest neighbour by the mixed distance HEOM: ranges, and levels that differ",
        _neighbours(1),
    ),
    "5-nn": ("five nearest neighbours by the same distance", _neighbours(5)),
    "1-nn-encoded": (
        "nearest neighbour among standardised numbers, levels as indicators",
        _encoded_neighbours(1),
    ),
    "5-nn-encoded": ("five nearest neighbours among the same", _encoded_neighbours(5)),
    "tree": ("decision tree (CART)", _tree),
    "forest": ("random forest of 100 trees", _forest),
    "mlp": ("neural network with a hidden layer of 100", _perceptron),
}


def make_learner(name: str, **parameters: Any) -> Any:
    """Make a classifier by its name.

    Parameters
    ----------
    name : str
        One of ``LEARNERS``.
    **parameters
        Passed on to it.

    Returns
    -------
    classifier
        All take mixed columns and missing values, some by themselves, the others behind
        :class:`featly.learners.Encoder`.

    Examples
    --------
    >>> from featly.learners import make_learner
    >>> make_learner("linear-svm", C=10)
    LinearSVM(C=10)
    >>> make_learner("liner-svm")
    Traceback (most recent call last):
    ...
    featly.ParameterError: there is no learner 'liner-svm': did you mean 'linear-svm'?
    """
    if name not in LEARNERS:
        near = difflib.get_close_matches(str(name), list(LEARNERS), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(LEARNERS)}"
        raise ParameterError(f"there is no learner {name!r}: {hint}")
    try:
        return LEARNERS[name][1](**parameters)
    except TypeError as problem:
        raise ParameterError(f"learner {name!r}: {problem}") from None
