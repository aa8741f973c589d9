import numpy as np
import pytest
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from featly import (
    SVMRFE,
    ChiSquared,
    DataError,
    ForestRanker,
    FTest,
    InformationGain,
    PairwiseRanker,
    ReliefF,
)
from featly.preprocessing import MDLP, EqualWidth


def table(n_rows=80, n_columns=6, n_classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0).astype(int)
    return X, y if n_classes == 2 else rng.integers(0, n_classes, n_rows), rng


@pytest.mark.parametrize("kernel", ["linear", "rbf", "clinical"])
def test_half_the_weight_at_twice_the_price(kernel):
    X, y, rng = table()
    weights = rng.integers(1, 5, len(y))
    whole = SVMRFE(kernel=kernel, C=0.1).fit(X, y, sample_weight=weights)
    halves = SVMRFE(kernel=kernel, C=0.2).fit(X, y, sample_weight=weights / 2)
    assert halves.order_.tolist() == whole.order_.tolist()
    assert halves.scores_ == pytest.approx(whole.scores_, rel=1e-6)


def test_more_rows_are_more_evidence():
    X, y, rng = table()
    weights = rng.random(len(y)) + 0.5
    few, many = (FTest().fit(X, y, sample_weight=k * weights) for k in (1, 2))
    assert few.order_.tolist() == many.order_.tolist()
    assert (few.scores_ < many.scores_).all()


def test_numbers_take_weights():
    X, _, rng = table()
    y, weights = X[:, 2] + rng.normal(size=len(X)), rng.integers(1, 4, len(X))
    weighted = FTest().fit(X, y, sample_weight=weights)
    repeated = FTest().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.statistic_ == pytest.approx(repeated.statistic_, rel=1e-10)
    with pytest.raises(DataError, match="y holds numbers, where InformationGain takes no sample_w"):
        InformationGain().fit(X, y, sample_weight=weights)


def test_weights_that_leave_one_class():
    X, y, _ = table()
    with pytest.raises(DataError, match=r"one class only \('ill'\) in rows of a sample_weight"):
        FTest().fit(X, np.where(y == 1, "ill", "well"), sample_weight=y)


def test_no_p_value_where_weights_are_no_counts():
    X, y, rng = table()
    for method in (FTest(), ChiSquared(discretizer="equal-width")):
        whole = method.fit(X, y, sample_weight=rng.integers(0, 4, len(y)))
        assert not np.isnan(whole.p_value_).any()
        fractions = rng.random(len(y)) + 0.5
        fraction = method.fit(X, y, sample_weight=fractions)
        assert np.isnan(fraction.p_value_).all()
        assert np.isnan(fraction.q_value_).all()
        assert np.isfinite(fraction.scores_).all()
    batches = FTest().partial_fit(X[:40], y[:40], sample_weight=fractions[:40])
    assert np.isnan(batches.partial_fit(X[40:], y[40:]).p_value_).all()


def test_fractions_need_cuts_that_count_no_row():
    X, y, rng = table()
    fractions = rng.random(len(y)) + 0.5
    with pytest.raises(DataError, match=r"discretizer='mdlp' counts rows: .*'equal-width'"):
        InformationGain().fit(X, y, sample_weight=fractions)
    cut = InformationGain(discretizer="equal-width").fit(X, y, sample_weight=fractions)
    frozen = InformationGain(discretizer=FrozenEstimator(EqualWidth().fit(X)))
    assert (frozen.fit(X, y, sample_weight=fractions).scores_ == cut.scores_).all()
    doubled = InformationGain(discretizer="equal-width").fit(X, y, sample_weight=2 * fractions)
    assert doubled.scores_ == pytest.approx(cut.scores_, rel=1e-12)  # shares are the same


def test_whole_weights_cut_as_repeated_rows_do():
    X, y, rng = table(n_columns=30)
    weights = rng.integers(0, 4, len(y))
    for rule in ("mdlp", "pkid", "equal-frequency", MDLP()):
        weighted = InformationGain(discretizer=rule).fit(X, y, sample_weight=weights)
        rows = np.repeat(np.arange(len(y)), weights)
        repeated = InformationGain(discretizer=rule).fit(X[rows], y[rows])
        assert (weighted.scores_ == repeated.scores_).all()


def test_a_forest_draws_rows_by_weight():
    X, _, _ = table(200)
    # the class follows column 0 in half of the rows, and column 5 in the others
    first = np.arange(200) < 100
    y = (np.where(first, X[:, 0], X[:, 5]) > 0).astype(int)

    def place(weights):
        ranked = ForestRanker(n_trees=300).fit(X, y, sample_weight=weights)
        return ranked.scores_[0] - ranked.scores_[5]

    assert place(np.where(first, 20.0, 1.0)) > 0 > place(np.where(first, 1.0, 20.0))


def test_pairs_of_classes_pass_weights_on():
    X, y, rng = table(n_classes=4)
    weights = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = PairwiseRanker(FTest()).fit(X, y, sample_weight=weights)
    assert (weighted.positions_ == PairwiseRanker(FTest()).fit(X[rows], y[rows]).positions_).all()
    with pytest.raises(DataError, match=r"PairwiseRanker\(ReliefF\(\)\) takes no sample_weight"):
        PairwiseRanker(ReliefF()).fit(X, y, sample_weight=weights)


def test_metadata_routing():
    X, y, rng = table()
    weights = rng.integers(0, 4, len(y))
    expected = FTest(n_features_to_select=2).fit(X, y, sample_weight=weights).get_support()
    with config_context(enable_metadata_routing=True):
        ranker = FTest(n_features_to_select=2).set_fit_request(sample_weight=True)
        model = LinearSVC().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), ranker, model
        )
        pipeline.fit(X, y, sample_weight=weights)
        assert (pipeline["ftest"].get_support() == expected).all()
        assert not hasattr(ReliefF(), "set_fit_request") or "sample_weight" not in str(
            ReliefF().get_metadata_routing()
        )
    pipeline = make_pipeline(FTest(n_features_to_select=2), LinearSVC())
    pipeline.fit(X, y, ftest__sample_weight=weights)
    assert (pipeline["ftest"].get_support() == expected).all()
