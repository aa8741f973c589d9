"""Metrics of scores against their definitions and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn import metrics as peers
from sklearn.linear_model import LogisticRegression

from featly.basics.errors import DataError, ParameterError
from featly.measures.scores import (
    SCORE_METRICS,
    average_precision,
    brier_score,
    calibration_curve,
    calibration_line,
    confusion_at,
    log_loss,
    roc_auc,
)
from tests.reference import scores as naive


@st.composite
def scored_rows(draw):
    """Rows of two classes with scores from 0 to 1, many of them equal; maybe of one class only."""
    scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5000001, 0.75, 1.0])
    rows = draw(st.lists(st.tuples(st.integers(0, 1), scores), min_size=1, max_size=20))
    y, s = zip(*rows, strict=True)
    return list(y), list(s)


@given(scored_rows())
def test_equal_the_definitions(rows):
    y, scores = rows
    assert roc_auc(y, scores) == pytest.approx(naive.area(y, scores), nan_ok=True)
    expected = naive.average_precision(y, scores)
    assert average_precision(y, scores) == pytest.approx(expected, nan_ok=True)
    assert brier_score(y, scores) == pytest.approx(naive.brier(y, scores))
    assert log_loss(y, scores) == pytest.approx(naive.log_loss(y, scores))
    for threshold in (-1.0, 0.25, 0.3, 1.0):
        expected = naive.confusion(y, scores, threshold)
        assert confusion_at(y, scores, threshold).tolist() == expected


@pytest.mark.parametrize("decimals", [1, 8])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_equal_scikit_learn(decimals, share):
    rng = np.random.default_rng(decimals)
    y = (np.arange(400) < 400 * share).astype(int)
    p = expit(rng.normal(size=400) + y).round(decimals)
    assert roc_auc(y, p) == pytest.approx(peers.roc_auc_score(y, p), rel=1e-12)
    assert average_precision(y, p) == pytest.approx(peers.average_precision_score(y, p), rel=1e-12)
    assert brier_score(y, p) == pytest.approx(peers.brier_score_loss(y, p), rel=1e-12)
    assert log_loss(y, p) == pytest.approx(peers.log_loss(y, p), rel=1e-12)


def test_many_classes_equal_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 200)
    p = rng.random((200, 4)).round(1) + 0.05 + np.eye(4)[y] * 0.3
    p /= p.sum(axis=1, keepdims=True)
    area = roc_auc(y, p, 4)
    assert area == pytest.approx(peers.roc_auc_score(y, p, multi_class="ovo"), rel=1e-12)
    assert area == pytest.approx(naive.area_of_classes(y.tolist(), p.tolist(), 4), rel=1e-12)
    precision = peers.average_precision_score(np.eye(4)[y], p)
    assert average_precision(y, p, 4) == pytest.approx(precision, rel=1e-12)
    assert log_loss(y, p, 4) == pytest.approx(peers.log_loss(y, p), rel=1e-12)
    assert brier_score(y, p, 4) == pytest.approx(peers.brier_score_loss(y, p), rel=1e-12)


@pytest.mark.parametrize("name", list(SCORE_METRICS))
def test_a_stack_is_its_parts(name):
    rng = np.random.default_rng(1)
    function = SCORE_METRICS[name].function
    y, stack = rng.integers(0, 2, 30), rng.random((3, 2, 30)).round(1)
    assert np.allclose(function(y, stack, 2), [[function(y, s, 2) for s in part] for part in stack])
    y, stack = np.arange(30) % 3, rng.dirichlet(np.ones(3), (4, 30))
    assert np.allclose(function(y, stack, 3), [function(y, part, 3) for part in stack])


def test_constant_predictions():
    y = [0, 0, 0, 1]
    assert roc_auc(y, [0.3] * 4) == 0.5
    assert average_precision(y, [0.3] * 4) == 0.25  # the share of the class
    assert brier_score(y, [0.25] * 4) == pytest.approx(0.25 * 0.75)
    assert all(np.isnan(calibration_line(y, [0.3] * 4)))


def test_one_class_or_no_row_has_no_area():
    assert np.isnan(roc_auc([1, 1], [0.1, 0.2]))
    assert np.isnan(average_precision([0, 0], [0.1, 0.2]))
    assert np.isnan(roc_auc([2, 2], np.full((2, 3), 0.3), 3))
    assert np.isnan(average_precision([2, 2], np.full((2, 3), 0.3), 3))
    for name in SCORE_METRICS:
        assert np.isnan(SCORE_METRICS[name].function(np.array([], int), [], 2))
    assert np.isnan(roc_auc([0, 1], [np.nan, 1.0]))
    assert np.isnan(average_precision([0, 1], [np.nan, 1.0]))
    assert all(np.isnan(calibration_line([1, 1], [0.1, 0.2])))


def test_classes_without_a_row_are_left_out():
    rng = np.random.default_rng(5)
    y, p = np.arange(40) % 3, rng.random((40, 5))
    absent = roc_auc(y, p, 5)
    assert absent == pytest.approx(naive.area_of_classes(y.tolist(), p.tolist(), 3))
    with_gap = np.where(np.arange(40)[:, None] == 3, np.nan, p)
    assert np.isnan(roc_auc(y, with_gap, 5))
    assert np.isnan(average_precision(y, with_gap, 5))
    expected = [naive.average_precision((y == c).astype(int).tolist(), p[:, c]) for c in range(3)]
    assert average_precision(y, p, 5) == pytest.approx(np.mean(expected))


def test_classes_that_are_apart_have_no_slope():
    assert all(np.isnan(calibration_line([0, 0, 1, 1], [-2.0, -1.0, 1.0, 2.0])))
    assert all(np.isnan(calibration_line([0, 0, 1, 1], [1.0, 2.0, -2.0, -1.0])))
    assert all(np.isnan(calibration_line([0, 1, 1, 0], [0.0, 0.0, 1.0, -1.0])))


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_line_is_a_logistic_regression(factor):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    y = (rng.random(4000) < expit(truth)).astype(int)
    slope, intercept = calibration_line(y, factor * truth)
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(factor * truth[:, None], y)
    assert slope == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert intercept == pytest.approx(peer.intercept_[0], abs=1e-5)
    assert slope == pytest.approx(1 / factor, rel=0.1)  # too extreme by that factor


def test_infinite_log_odds_count_as_certain():
    slope, intercept = calibration_line([0, 1, 0, 1, 1], [-np.inf, -1.0, 1.0, 1.0, np.inf])
    assert np.isfinite(slope)
    assert np.isfinite(intercept)


def test_the_curve_has_bins_of_equal_counts():
    rng = np.random.default_rng(2)
    p = rng.random(1000)
    y = (rng.random(1000) < p).astype(int)
    curve = calibration_curve(y, p, bins=10)
    assert curve.n.tolist() == [100] * 10
    part = np.argsort(p)[200:300]
    assert curve.predicted[2] == pytest.approx(p[part].mean())
    assert curve.observed[2] == pytest.approx(y[part].mean())
    assert (np.diff(curve.predicted) > 0).all()
    inside = (curve.lower <= curve.predicted) & (curve.predicted <= curve.upper)
    assert inside.sum() >= 8


def test_the_curve_keeps_equal_probabilities_together():
    curve = calibration_curve([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.9], bins=10)
    assert curve.predicted.tolist() == [0.5, 0.9]
    assert curve.n.tolist() == [3, 1]
    assert len(calibration_curve([], [], bins=5).n) == 0


def test_thresholds_divide_strictly_above():
    y, p = [0, 1, 1], [0.2, 0.5, 0.7]
    assert confusion_at(y, p, [0.5, 0.1]).tolist() == [[[1, 0], [1, 1]], [[0, 1], [0, 2]]]
    assert confusion_at(y, logit(p), 0.0).tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roc_auc([0, 2], [0.1, 0.2]), "code 2 with n_classes=2"),
        (lambda: roc_auc([0.5, 1], [0.1, 0.2]), "not a vector of whole numbers"),
        (lambda: roc_auc([0, 1], [0.1]), "its last axes must be"),
        (lambda: roc_auc([0, 1], [0.1, 0.2], 3), "its last axes must be"),
        (lambda: brier_score([0, 1], [-0.1, 0.2]), "not decision values"),
        (lambda: log_loss([0, 1], [0.1, 1.2]), "not decision values"),
        (lambda: calibration_curve([0, 1], [0.1, 3.0]), "not decision values"),
        (lambda: calibration_curve([0, 1], [[0.1, 0.3]]), "one number a row"),
        (lambda: calibration_line([0, 1], [[0.1, 0.3]]), "one number a row"),
        (lambda: confusion_at([0, 1], [[0.1, 0.3]], 0), "one number a row"),
        (lambda: confusion_at([0, 1], [0.1, np.nan], 0), "no number in row 1"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_wrong_parameters_are_named():
    with pytest.raises(ParameterError, match="n_classes=1"):
        roc_auc([0], [0.1], 1)
    with pytest.raises(ParameterError, match="bins=0"):
        calibration_curve([0, 1], [0.1, 0.2], bins=0)
