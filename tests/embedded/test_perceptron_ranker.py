"""Weights are those of a perceptron trained row by row; ends are certified, ties are exact."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.core.models import perceptron
from featly.datasets import make_corral_100, make_led, make_parity
from featly.embedded.perceptron_ranker import PerceptronRanker
from tests.reference import perceptron as naive


@st.composite
def tables(draw):
    """Mixed columns and classes: ties, missing values, constant columns, wide and long tables."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n, n_classes = draw(st.integers(2, 25)), draw(st.integers(2, 4))
    y = rng.integers(0, n_classes, n)
    y[:2] = 0, 1
    columns = {}
    for j in range(draw(st.integers(1, 12))):
        noise = rng.integers(-2, 3, n) if rng.random() < 0.5 else rng.normal(size=n)
        columns[f"number {j}"] = (noise + rng.choice([0.0, 1.0]) * y).astype(float).tolist()
    for j in range(draw(st.integers(0, 3))):
        level = np.where(rng.random(n) < 0.4, y, rng.integers(0, 4, n))
        columns[f"level {j}"] = np.array(list("abcd"))[level].tolist()
    if rng.random() < 0.3:
        columns["constant"] = [0.1] * n
    if draw(st.booleans()):
        columns = {
            name: [None if rng.random() < 0.15 else value for value in values]
            for name, values in columns.items()
        }
    types = {name: pl.String if name[0] == "l" else pl.Float64 for name in columns}
    return pl.DataFrame(columns, schema=types), y


@given(table=tables(), max_epochs=st.sampled_from([1, 2, 7, 60]))
@settings(max_examples=80)
def test_equals_reference(table, max_epochs):
    frame, y = table
    ranker = PerceptronRanker(max_epochs=max_epochs).fit(frame, y)
    columns = [frame[name].to_list() for name in frame.columns]
    assert ranker.scores_ == pytest.approx(naive.worth(columns, y.tolist(), max_epochs), abs=1e-9)


@pytest.mark.parametrize("shape", [(30, 200), (200, 30)])
def test_few_rows_and_few_columns_are_trained_alike(shape):
    """By the Gram matrix or by the columns: the same coefficients, whole numbers at the end."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=shape)
    t = np.where(Z[:, :2].sum(axis=1) > 0, 1.0, -1.0)[:, None]
    K = Z @ Z.T + 1
    dual = perceptron.train(lambda A: K @ A, t, K.diagonal().max(), 500)
    primal = perceptron.train(lambda A: Z @ (Z.T @ A) + A.sum(axis=0), t, K.diagonal().max(), 500)
    assert np.array_equal(dual.coefficients, primal.coefficients)
    assert dual.converged.all()
    assert (dual.coefficients == np.round(dual.coefficients)).all()
    weights, bias = Z.T @ dual.coefficients, dual.coefficients.sum()
    assert (t * (Z @ weights + bias) > 0).all()  # the certificate: every row is on its side


def test_converged_outputs_do_not_change():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(40, 3))
    easy = np.where(Z[:, 0] > 0, 1.0, -1.0)
    hard = np.where(rng.random(40) > 0.5, 1.0, -1.0)

    longest = (Z**2).sum(axis=1).max() + 1

    def outputs(A):
        return Z @ (Z.T @ A) + A.sum(axis=0)

    together = perceptron.train(outputs, np.column_stack([easy, hard]), longest, 300)
    assert together.converged.tolist() == [True, False]
    assert together.epochs[0] < together.epochs[1] == 300
    for k, t in enumerate((easy, hard)):
        alone = perceptron.train(outputs, t[:, None], longest, 300)
        assert together.coefficients[:, k] == pytest.approx(alone.coefficients[:, 0])


def test_one_epoch_gives_the_difference_of_class_means():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 8))
    y = np.arange(50) % 2
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    difference = np.abs(Z[y == 1].mean(axis=0) - Z[y == 0].mean(axis=0))
    ranker = PerceptronRanker(max_epochs=1).fit(X, y)
    assert ranker.scores_ == pytest.approx(difference / np.linalg.norm(difference))


def test_scores_are_shares():
    led = make_led(n_irrelevant=5)
    ranker = PerceptronRanker().fit(led.X, led.y)
    assert len(ranker.n_epochs_) == len(ranker.converged_) == 10
    assert (ranker.scores_ >= 0).all()
    assert ranker.scores_.max() <= 1
    two = PerceptronRanker().fit(led.X, led.y < 5)
    assert len(two.n_epochs_) == 1
    assert np.sum(two.scores_**2) == pytest.approx(1)


def test_segments_of_digits_come_first():
    """Led-100: the book's FS-P finds six or seven of the seven among its first ten."""
    for seed in range(3):
        led = make_led(n_irrelevant=92, random_state=seed)
        ranker = PerceptronRanker(n_features_to_select=10).fit(led.X, led.y)
        segments = {f"f{k}" for k in range(1, 8)}
        assert len(segments & set(ranker.get_feature_names_out())) >= 6


def test_corral_100_has_most_relevant_columns_first():
    """The book's FS-P has three of f1 to f4 among its first ten."""
    for seed in range(3):
        corral = make_corral_100(random_state=seed)
        ranker = PerceptronRanker(n_features_to_select=10).fit(corral.X, corral.y)
        assert len({"f1", "f2", "f3", "f4"} & set(ranker.get_feature_names_out())) >= 3


def test_parity_is_not_found():
    parity = make_parity()
    assert not PerceptronRanker().fit(parity.X, parity.y).converged_.any()


def test_symmetric_columns_tie_exactly():
    X = np.array([[-1, 1, 0, 1], [1, -1, 0, 1], [-1, 1, 0, -1], [1, -1, 0, -1]] * 3, float)
    y = np.arange(12) % 2
    ranker = PerceptronRanker().fit(X, y)
    assert ranker.scores_.tolist()[:2] == [ranker.scores_[0]] * 2
    assert ranker.scores_.tolist()[2:] == [0.0, 0.0]
    assert ranker.order_.tolist() == [0, 1, 2, 3]


def test_weights_that_cancel_are_0():
    """The class means are equal, in exact arithmetic: what rounding leaves is not their share."""
    for offset in (0.1, 1 / 3):
        X = np.array([[-1.0], [1.0], [0.0], [2.0], [0.0], [-2.0], [1.0], [-1.0]]) * 0.7 + offset
        y = np.array([0, 0, 0, 1, 0, 1, 1, 1])
        for rows in (np.arange(8), np.array([3, 5, 7, 0, 1, 6, 4, 2])):
            ranker = PerceptronRanker(max_epochs=1).fit(X[rows], y[rows])
            assert ranker.scores_.tolist() == [0.0]


def test_missing_values_count_as_the_mean():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    X[:, 0] += y
    incomplete = X.copy()
    incomplete[rng.random(X.shape) < 0.2] = np.nan
    mean, spread = np.nanmean(incomplete, axis=0), np.nanstd(incomplete, axis=0)
    Z = np.where(np.isnan(incomplete), 0.0, (incomplete - mean) / spread)
    scores = naive.worth(X.T.tolist(), y.tolist(), 1000)
    assert PerceptronRanker().fit(X, y).scores_ == pytest.approx(scores)
    weights, _, _ = naive.perceptron(Z.tolist(), np.where(y == 1, 1.0, -1.0).tolist(), 1000)
    expected = np.abs(weights) / np.linalg.norm(weights)
    assert PerceptronRanker().fit(incomplete, y).scores_ == pytest.approx(expected)


@pytest.mark.parametrize("after", [0, 3])
def test_control_c(after):
    parity = make_parity()

    def stop(done, total):
        if done >= max(after, 1):
            raise KeyboardInterrupt

    ranker = PerceptronRanker(verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(parity.X, parity.y)
    assert ranker.interrupted_
    assert ranker.n_epochs_.tolist() == [max(after, 1)]
    shorter = PerceptronRanker(max_epochs=max(after, 1)).fit(parity.X, parity.y)
    assert ranker.scores_ == pytest.approx(shorter.scores_)
    assert not shorter.interrupted_


def test_control_c_before_the_first_epoch():
    def outputs(A):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perceptron.train(outputs, np.ones((3, 1)), 1.0, 5)


@pytest.mark.parametrize("wrong", [0, 2.5, True, None])
def test_wrong_epochs(wrong):
    with pytest.raises(ParameterError, match="max_epochs"):
        PerceptronRanker(max_epochs=wrong).fit([[0.0], [1.0]], [0, 1])


def test_infinite_values_are_named():
    with pytest.raises(DataError, match=r"'x1'.*row 1"):
        PerceptronRanker().fit([[0.0, 1.0], [1.0, np.inf]], [0, 1])
