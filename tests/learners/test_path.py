"""Decision values and probabilities along a list of columns."""

import numpy as np
import pytest

from featly.learners import (
    ClinicalSVC,
    HEOMNeighbors,
    LinearSVM,
    MixedNaiveBayes,
    OneLayerNetwork,
    ProximalSVC,
)

LEARNERS = [
    LinearSVM(),
    ClinicalSVC(),
    HEOMNeighbors(),
    MixedNaiveBayes(),
    OneLayerNetwork(),
    OneLayerNetwork(activation="identity"),
    ProximalSVC(),
    ProximalSVC(kernel="gaussian"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_are_those_of_a_fit_at_every_size(learner, n_classes):
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(90) % n_classes]
    X = rng.normal(size=(90, 6))
    X[:, :2] += (y == "a")[:, None] - 1.0 * (y == "c")[:, None]
    sizes = [1, 2, 6]
    path = learner.predict_path_values(X[:60], y[:60], X[60:], sizes)
    assert path.classes.tolist() == ["a", "b", "c"][:n_classes]
    assert (path.labels == learner.predict_path(X[:60], y[:60], X[60:], sizes)).all()
    for k, size in enumerate(sizes):
        fitted = learner.fit(X[:60, :size], y[:60])
        function = fitted.predict_proba if path.is_probability else fitted.decision_function
        assert np.allclose(path.values[k], function(X[60:, :size]), atol=1e-6)
        assert (path.labels[k] == fitted.predict(X[60:, :size])).all()
