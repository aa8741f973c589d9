import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly.basics.errors import ParameterError
from featly.kernels import ClinicalKernel
from featly.learners import ClinicalSVC, clinical_svc


def make_mixed_table(n, seed=0, n_classes=2, missing=True):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    frame = pl.DataFrame(
        {
            "age": rng.normal(size=n) + y,
            "dose": rng.integers(0, 4, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "stage": np.array(["I", "II", "III", "IV"])[(y + rng.integers(0, 2, n)) % 4],
            "noise": rng.normal(size=n),
        }
    )
    if missing:
        is_missing = rng.random((n, 5)) < 0.1
        frame = frame.with_columns(
            pl.when(pl.Series(~is_missing[:, k])).then(pl.col(name)).otherwise(None).alias(name)
            for k, name in enumerate(frame.columns)
        )
    return frame, y


@parametrize_with_checks([ClinicalSVC(), ClinicalSVC(C=0.1, class_weight="balanced")])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_margins_are_those_of_libsvm_on_the_same_kernel(C, n_classes):
    X, y = make_mixed_table(90, n_classes=n_classes)
    ours = ClinicalSVC(C=C).fit(X[:60], y[:60])
    kernel = ClinicalKernel().fit(X[:60])
    peer = SVC(kernel="precomputed", C=C, tol=1e-9, decision_function_shape="ovo")
    peer.fit(kernel.gram(), y[:60])
    assert ours.duality_gap_.max() < 1e-9
    if n_classes == 2:
        expected = peer.decision_function(kernel(X[60:]))
        assert ours.decision_function(X[60:]) == pytest.approx(expected, abs=1e-4)
    else:
        assert (ours.predict(X[60:]) == peer.predict(kernel(X[60:]))).mean() > 0.95


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.integers(2, 3), st.sampled_from([0.1, 1.0, 10.0]))
def test_path_is_a_fit_at_every_size(seed, n_classes, C):
    X, y = make_mixed_table(40, seed, n_classes)
    order = np.random.default_rng(seed).permutation(5)
    X = X[:, order.tolist()]
    sizes = [1, 2, 3, 5]
    path = ClinicalSVC(C=C).predict_path(X[:28], y[:28], X[28:], sizes)
    for labels, size in zip(path, sizes, strict=True):
        single = ClinicalSVC(C=C).fit(X[:28, :size], y[:28])
        assert labels.tolist() == single.predict(X[28:, :size]).tolist()


def test_many_rows_need_no_square_matrix(monkeypatch):
    X, y = make_mixed_table(300, n_classes=3)
    dense = ClinicalSVC(C=0.5).fit(X[:200], y[:200])
    path = ClinicalSVC(C=0.5).predict_path(X[:200], y[:200], X[200:], [2, 5])
    monkeypatch.setattr(clinical_svc, "MOST_DENSE_ROWS", 10)
    free = ClinicalSVC(C=0.5).fit(X[:200], y[:200])
    assert free.duality_gap_.max() <= 1e-8
    assert free.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-3)
    assert (ClinicalSVC(C=0.5).predict_path(X[:200], y[:200], X[200:], [2, 5]) == path).all()


def test_weights_of_columns():
    X, y = make_mixed_table(60)
    age_only = ClinicalSVC(weights={"sex": 0, "stage": 0, "dose": 0, "noise": 0}).fit(X, y)
    alone = ClinicalSVC().fit(X[:, :1], y)
    assert age_only.decision_function(X) == pytest.approx(
        alone.decision_function(X[:, :1]), abs=1e-7
    )
    for path_weights in ([1, 2, 3, 4, 5], {"age": 0}):
        weighted = ClinicalSVC(weights=path_weights)
        path = weighted.predict_path(X, y, X, [1, 5])
        assert path[1].tolist() == weighted.fit(X, y).predict(X).tolist()


@pytest.mark.parametrize("C", [0, -1.0, np.inf, "much", True])
def test_price_must_be_positive(C):
    X, y = make_mixed_table(20)
    with pytest.raises(ParameterError, match="C="):
        ClinicalSVC(C=C).fit(X, y)


def test_rows_unlike_any_training_row():
    """A new level and a missing value have no similarity at all, so the bias decides."""
    X = pl.DataFrame({"a": ["x", "x", "y"], "b": [1.0, 2.0, 3.0]})
    svc = ClinicalSVC().fit(X, [0, 0, 1])
    strange = pl.DataFrame({"a": ["z"], "b": [None]}, schema={"a": pl.String, "b": pl.Float64})
    assert svc.decision_function(strange) == pytest.approx(svc.intercept_)


def test_a_column_without_values_and_two_rows():
    X = pl.DataFrame({"a": [None, None], "b": [0.0, 1.0]}, schema={"a": pl.String, "b": pl.Float64})
    svc = ClinicalSVC().fit(X, ["no", "yes"])
    assert svc.predict(X).tolist() == ["no", "yes"]
