"""The network minimises the papers' cost, and learns in batches what it learns at once."""

import numpy as np
import polars as pl
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import ConvergenceWarning, DataError
from featly.basics.errors import ParameterError
from featly.core.models import least_squares, least_squares_tables
from featly.learners import Encoder, one_layer
from featly.learners.one_layer import OneLayerNetwork
from tests.learners.test_proximal_svc import patients, problems
from tests.reference.one_layer import activation, cost, network, outputs, units

PARAMETERS = st.fixed_dictionaries(
    {
        "activation": st.sampled_from(["logistic", "tanh", "identity"]),
        "margin": st.sampled_from([0.05, 0.2]),
        "alpha": st.sampled_from([0.0, 1e-3, 0.5]),
    }
)


def definition(Z, y, starts, activation="logistic", margin=0.05, alpha=1e-3):
    """Weights and biases of the encoded columns, an output a row."""
    scaled, mean, scale = units(Z, starts)
    networks = []
    for on in outputs(y, len(np.unique(y))):
        w, b = network(scaled, on, activation, margin, alpha)
        networks.append((w * scale, b - (w * scale) @ mean))
    return np.array([w for w, _ in networks]), np.array([b for _, b in networks])


# ---- the network ---------------------------------------------------------------------------------
@given(problems(), PARAMETERS)
def test_every_network_is_that_of_the_definition(problem, parameters):
    X, y, rows = problem
    learner = OneLayerNetwork(**parameters).fit(X, y)
    encoder = Encoder().fit(X)
    coef, bias = definition(encoder.transform(X), y, encoder.starts_, **parameters)
    assert learner.coef_ == pytest.approx(coef, rel=1e-5, abs=1e-5)
    assert learner.intercept_ == pytest.approx(bias, rel=1e-5, abs=1e-5)
    assert learner.residual_.max() < 1e-8
    values = encoder.transform(rows) @ coef.T + bias
    ours = learner.decision_function(rows).reshape(len(rows), -1)
    assert ours == pytest.approx(values, abs=1e-4)
    f, _, _, (low, high) = activation(parameters["activation"])
    share = np.array([[(f(v) - low) / (high - low) for v in row] for row in ours]).clip(0, 1)
    if share.shape[1] == 1:
        expected = np.c_[1 - share, share]
    else:
        expected = share / share.sum(axis=1, keepdims=True)
    proba = learner.predict_proba(rows)
    assert proba == pytest.approx(expected, abs=1e-9)
    assert proba.sum(axis=1) == pytest.approx(1)
    winner = proba[np.arange(len(rows)), np.searchsorted(learner.classes_, learner.predict(rows))]
    assert winner == pytest.approx(proba.max(axis=1))


@pytest.mark.parametrize("name", ["logistic", "tanh", "identity"])
def test_no_optimiser_finds_less(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.arange(12) % 3
    learner = OneLayerNetwork(activation=name, alpha=0.1).fit(X, y)
    Z, mean, scale = units(Encoder().fit_transform(X), range(4))
    for k, on in enumerate(outputs(y, 3)):
        value = lambda b, on=on: cost(Z, on, name, 0.05, 0.1, b[1:], b[0])  # noqa: E731
        w = learner.coef_[k] / scale
        ours = np.r_[learner.intercept_[k] + learner.coef_[k] @ mean, w]
        best = scipy.optimize.minimize(value, np.zeros(4), tol=1e-12, method="Powell")
        assert value(ours) <= best.fun * (1 + 1e-12)
        assert ours == pytest.approx(best.x, abs=1e-4)


def test_without_a_penalty_it_is_linear_regression_of_inverted_targets():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 2
    learner = OneLayerNetwork(alpha=0).fit(X, y)
    Z = Encoder().fit_transform(X)
    line = LinearRegression().fit(Z, np.where(y, np.log(19), -np.log(19)))
    assert learner.coef_[0] == pytest.approx(line.coef_)
    assert learner.intercept_[0] == pytest.approx(line.intercept_)


def test_it_is_ridge_regression_on_a_bordered_table():
    rng = np.random.default_rng(0)
    for n, p in ((50, 4), (10, 30)):
        X, y = rng.normal(size=(n, p)), np.arange(n) % 2
        learner = OneLayerNetwork(activation="identity", alpha=2.0).fit(X, y)
        bordered = np.column_stack([np.ones(n), Encoder().fit_transform(X)])
        ridge = Ridge(alpha=2.0, fit_intercept=False).fit(bordered, np.where(y, 0.9, -0.9))
        assert np.r_[learner.intercept_, learner.coef_[0]] == pytest.approx(ridge.coef_)


def test_tanh_is_the_logistic_function_of_twice_the_value():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    logistic, tanh = (OneLayerNetwork(activation=name, alpha=0) for name in ("logistic", "tanh"))
    logistic.fit(X, y), tanh.fit(X, y)
    assert 2 * tanh.decision_function(X) == pytest.approx(logistic.decision_function(X))
    assert tanh.predict_proba(X) == pytest.approx(logistic.predict_proba(X))


def test_units_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    expected = OneLayerNetwork().fit(X, y).predict_proba(X)
    changed = X * [1.0, 1e6, 1e-6, -3.0] + [0.0, 5.0, 1.0, 1e4]
    order = rng.permutation(30)
    learner = OneLayerNetwork().fit(changed[order][:, [2, 0, 3, 1]], y[order])
    assert learner.predict_proba(changed[:, [2, 0, 3, 1]]) == pytest.approx(expected, abs=1e-6)


# ---- batches -------------------------------------------------------------------------------------
@given(problems(), PARAMETERS, st.data())
def test_batches_are_a_fit(problem, parameters, data):
    X, y, rows = problem
    X, rows = np.nan_to_num(X), np.nan_to_num(rows)
    n = len(X)
    expected = OneLayerNetwork(**parameters).fit(X, y)
    order = data.draw(st.permutations(range(n)))
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=4))) if n > 1 else []
    learner = OneLayerNetwork(**parameters)
    kind = data.draw(st.sampled_from([np.asarray, scipy.sparse.csr_array]))
    for batch in np.split(np.array(order), cuts):
        learner.partial_fit(kind(X[batch]), y[batch], classes=np.unique(y))
    assert learner.n_rows_seen_ == n
    if parameters["alpha"] or n > X.shape[1] + 1:
        values = learner.decision_function(rows)
        assert values == pytest.approx(expected.decision_function(rows), abs=2e-4)
        assert learner.predict_proba(X) == pytest.approx(expected.predict_proba(X), abs=2e-4)


def test_a_number_constant_in_the_first_batch_counts_later():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.column_stack([np.where(np.arange(60) < 20, 1e3, 1e3 + y), rng.normal(size=60)])
    expected = OneLayerNetwork().fit(X, y)
    for kind in (np.asarray, scipy.sparse.csr_array):
        learner = OneLayerNetwork().partial_fit(kind(X[:20]), y[:20])
        assert learner.coef_[0, 0] == 0
        learner.partial_fit(kind(X[20:]), y[20:])
        assert learner.decision_function(X) == pytest.approx(expected.decision_function(X))


def test_batches_after_a_fit_go_on_from_there():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.array(["a", "b", "c"])[np.arange(60) % 3]
    expected = OneLayerNetwork().fit(X, y).decision_function(X)
    learner = OneLayerNetwork().fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert learner.decision_function(X) == pytest.approx(expected)
    assert learner.fit(X[:20], y[:20]).n_rows_seen_ == 20, "a fit forgets"
    alone = OneLayerNetwork().fit(X[:20], y[:20])
    assert learner.decision_function(X) == pytest.approx(alone.decision_function(X))


def test_levels_and_missing_values_are_read_as_in_the_first_batch():
    frame, y = patients()
    first, later = frame[:25], frame[25:].with_columns(stage=pl.lit("new"))
    learner = OneLayerNetwork().partial_fit(first, y[:25]).partial_fit(later, y[25:])
    encoder = Encoder().fit(first)
    encoded = np.vstack([encoder.transform(first), encoder.transform(later)])
    codes = np.searchsorted(np.unique(y), y)
    coef, bias = definition(encoded, codes, encoder.starts_)
    assert learner.coef_ == pytest.approx(coef, abs=1e-7)
    assert learner.intercept_ == pytest.approx(bias, abs=1e-7)


def test_batches_of_one_class_and_of_other_dtypes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) // 20
    expected = OneLayerNetwork().fit(X, y).decision_function(X)
    learner = OneLayerNetwork().partial_fit(X[:20], y[:20], classes=[1, 0])
    learner.partial_fit(X[20:], y[20:].astype(float), classes=np.array([0, 1]))
    assert learner.decision_function(X) == pytest.approx(expected)
    assert learner.predict(X).dtype.kind == "i"


# ---- tables --------------------------------------------------------------------------------------
@given(problems(), PARAMETERS)
@settings(max_examples=40)
def test_sparse_tables_are_the_same_tables(problem, parameters):
    X, y, rows = problem
    X, rows = np.where(np.abs(X) < 0.5, 0.0, X), np.where(np.abs(rows) < 0.5, 0.0, rows)
    dense = OneLayerNetwork(**parameters).fit(X, y)
    sparse = OneLayerNetwork(**parameters).fit(scipy.sparse.csc_array(X), y)
    expected = dense.decision_function(rows)
    for table in (rows, scipy.sparse.csr_array(rows)):
        assert sparse.decision_function(table) == pytest.approx(expected, abs=1e-4)
        assert dense.decision_function(table) == pytest.approx(expected, abs=1e-9)


def test_blocks_of_rows_and_gradients_change_nothing(monkeypatch):
    frame, y = patients()
    expected = OneLayerNetwork().fit(frame, y)
    monkeypatch.setattr(least_squares_tables, "BLOCK_VALUES", 1)
    monkeypatch.setattr(least_squares_tables, "FEWEST_BLOCK_ROWS", 7)
    learner = OneLayerNetwork().fit(frame, y)
    assert learner.coef_ == pytest.approx(expected.coef_)
    for module in (least_squares, one_layer):
        monkeypatch.setattr(module, "LARGEST_SYSTEM", 5)
    learner = OneLayerNetwork().fit(frame, y)
    assert learner.coef_ == pytest.approx(expected.coef_, abs=1e-6)


@given(problems(), PARAMETERS)
@settings(max_examples=40)
def test_path_is_a_fit_at_every_size(problem, parameters):
    X, y, rows = problem
    net = OneLayerNetwork(**parameters)
    sizes = range(1, X.shape[1] + 1)
    path = net.predict_path(X, y, rows, sizes)
    assert not [name for name in vars(net) if name.endswith("_")], "the path leaves traces"
    for size, labels in zip(sizes, path, strict=True):
        single = OneLayerNetwork(**parameters).fit(X[:, :size], y)
        values = single.decision_function(rows[:, :size]).reshape(len(rows), -1)
        values = np.c_[-values, values] if values.shape[1] == 1 else values
        least, most = np.sort(values, axis=1)[:, -2:].T
        same = labels == single.predict(rows[:, :size])
        # the shortest of all weights, found in another system, differ by more than rounding
        assert same[(most - least > 1e-5) | (parameters["alpha"] > 0)].all(), f"size {size}"


def test_path_of_mixed_frames():
    frame, y = patients()
    path = OneLayerNetwork().predict_path(frame[:40], y[:40], frame[40:], [1, 2, 5])
    for size, labels in zip([1, 2, 5], path, strict=True):
        single = OneLayerNetwork().fit(frame[:40, :size], y[:40])
        assert labels.tolist() == single.predict(frame[40:, :size]).tolist()


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"activation": "relu"}, "activation='relu': give 'logistic', 'tanh' or 'identity'"),
        ({"margin": 0}, "margin=0: give a number above 0 and below 0.5"),
        ({"margin": 0.5}, "margin=0.5"),
        ({"margin": "0.1"}, "margin='0.1'"),
        ({"alpha": -1e-9}, "alpha=-1e-09: give a finite number from 0"),
        ({"alpha": np.inf}, "alpha=inf"),
        ({"alpha": True}, "alpha=True"),
    ],
)
def test_parameters_that_make_no_sense(parameters, word):
    for call in (
        lambda net: net.fit(np.eye(3), [0, 1, 1]),
        lambda net: net.partial_fit(np.eye(3), [0, 1, 1]),
        lambda net: net.predict_path(np.eye(3), [0, 1, 1], np.eye(3), [1]),
    ):
        with pytest.raises(ParameterError, match=word) as caught:
            call(OneLayerNetwork(**parameters))
        assert "\n" not in str(caught.value)


def test_batches_that_do_not_fit_leave_the_network_as_it_was(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    net = OneLayerNetwork().partial_fit(X, y)
    before = net.decision_function(X)
    for error, batch, labels, classes, word in (
        (DataError, X[:3], [0, 1, 2], None, r"class 2, which is not among \[0, 1\]: name all"),
        (DataError, X[:3], ["a", "b", "c"], None, "which is not among"),
        (DataError, X[:3], [0, 1], None, "3 rows but y has 2"),
        (DataError, X[:3], [0, 1, np.nan], None, "missing .* row 2"),
        (ParameterError, X[:3], None, None, "requires y"),
        (ParameterError, X[:3], [0, 1, 1], [0, 1, 2], "not those of the first call"),
        (ValueError, X[:3, :2], [0, 1, 1], None, "OneLayerNetwork is expecting 3 features"),
        (DataError, np.full((2, 3), np.inf), [0, 1], None, "infinite"),
    ):
        with pytest.raises(error, match=word):
            net.partial_fit(batch, labels, classes=classes)
    assert net.n_rows_seen_ == 20
    assert (net.partial_fit(X[:0:-1], y[:0:-1]).decision_function(X) != before).any()
    with pytest.raises(DataError, match="one class only"):
        OneLayerNetwork().partial_fit(X[:2], [1, 1])
    with pytest.raises(DataError, match="not among"):
        OneLayerNetwork().partial_fit(X[:2], [1, 2], classes=[0, 1])
    with pytest.raises(DataError, match="kept no sums: begin with partial_fit"):
        OneLayerNetwork().fit(X[:3], y[:3]).partial_fit(X, y)
    with pytest.raises(NotFittedError):
        OneLayerNetwork().predict(X)
    monkeypatch.setattr(one_layer, "LARGEST_SYSTEM", 3)
    with pytest.raises(DataError, match=r"3 encoded columns: partial_fit .* up to 2"):
        OneLayerNetwork().partial_fit(X, y)


def test_learning_that_fails_leaves_the_network_as_it_was():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    network = OneLayerNetwork()
    with pytest.raises(DataError, match="class 7"):
        network.partial_fit(X, [0, 0, 1, 7], classes=[0, 1])
    with pytest.raises(NotFittedError):
        network.predict(X)
    network.fit(X, y)
    assert network.n_rows_seen_ == 4
    with pytest.raises(DataError, match="one class"):
        network.fit(X + 100, [0, 0, 0, 0])
    assert network.predict(X).tolist() == y
    assert network.fit(X[1:], y[1:]).n_rows_seen_ == 3
    assert network.partial_fit(X, y).n_rows_seen_ == 7


def test_the_more_probable_class_is_the_one_that_is_predicted():
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        y = np.arange(60) % n_classes
        X = rng.normal(size=(60, 4)) + y[:, None]
        for f in ("logistic", "tanh", "identity"):
            network = OneLayerNetwork(activation=f).fit(X, y)
            assert (network.predict_proba(X).argmax(axis=1) == network.predict(X)).all()
            assert (network.predict(X) == y).mean() > 0.6


def test_values_beyond_all_measure_of_the_first_batch():
    y = np.array([0, 1, 0, 1])
    net = OneLayerNetwork().partial_fit(1e-9 * y[:, None], y)
    with pytest.raises(DataError, match="squares overflow"):
        net.partial_fit(np.full((4, 1), 1e149), y)


def test_a_network_that_is_not_solved_says_so(monkeypatch):
    for module in (least_squares, one_layer):
        monkeypatch.setattr(module, "LARGEST_SYSTEM", 1)
    monkeypatch.setattr(least_squares, "MOST_ROUNDS", 1)
    X, y = np.random.default_rng(0).normal(size=(30, 9)), np.arange(30) % 2
    for call in (
        lambda: OneLayerNetwork().fit(X, y),
        lambda: OneLayerNetwork().predict_path(X, y, X, [3, 9]),
    ):
        with pytest.warns(ConvergenceWarning, match="try a larger alpha") as caught:
            call()
        assert caught[0].filename == __file__


@parametrize_with_checks([OneLayerNetwork(), OneLayerNetwork(activation="tanh", alpha=0)])
def test_scikit_learn(estimator, check):
    check(estimator)
