import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from featly.basics.errors import DataError, ParameterError
from featly.measures.classification import (
    KDD_COSTS,
    METRICS,
    accuracy,
    bcr,
    confusion_matrix,
    cost_score,
    detection,
    error,
    false_positive_rate,
    no_information,
    point632,
    point632plus,
    sensitivity,
    specificity,
)
from tests.reference import measures as naive

# the winner of KDD Cup 99 on its 311,029 test rows (Elkan 2000); the order of KDD_COSTS
WINNER = np.array(
    [
        [60262, 243, 78, 4, 6],
        [511, 3471, 184, 0, 0],
        [5299, 1328, 223226, 0, 0],
        [168, 20, 0, 30, 10],
        [14527, 294, 0, 8, 1360],
    ]
)


@st.composite
def predictions(draw):
    """Up to four classes, some without rows, some never predicted; at least one row."""
    n_classes = draw(st.integers(2, 4))
    rows = st.lists(
        st.tuples(st.integers(0, n_classes - 1), st.integers(0, n_classes - 1)),
        min_size=1,
        max_size=25,
    )
    y_true, y_pred = zip(*draw(rows), strict=True)
    return list(y_true), list(y_pred), n_classes


def quotient(part, whole):
    return part / whole if whole else np.nan


@given(predictions())
def test_every_metric_is_its_definition(case):
    y_true, y_pred, n_classes = case
    confusion = confusion_matrix(y_true, y_pred, n_classes)
    assert confusion.tolist() == naive.confusion(y_true, y_pred, n_classes)
    assert confusion.dtype == np.int64
    right = sum(t == p for t, p in zip(y_true, y_pred, strict=True))
    assert accuracy(confusion) == right / len(y_true)
    assert error(confusion) == (len(y_true) - right) / len(y_true)
    assert bcr(confusion) == pytest.approx(naive.balanced_rate(y_true, y_pred))
    for c in range(n_classes):
        tp, fn, fp, tn = naive.one_against_rest(y_true, y_pred, c)
        assert sensitivity(confusion, c) == pytest.approx(quotient(tp, tp + fn), nan_ok=True)
        assert specificity(confusion, c) == pytest.approx(quotient(tn, tn + fp), nan_ok=True)
        assert detection(confusion)[c] == pytest.approx(quotient(tp, tp + fn), nan_ok=True)
        assert false_positive_rate(confusion)[c] == pytest.approx(
            quotient(fp, tn + fp), nan_ok=True
        )
    expected = naive.expected_confusion(y_true, y_pred, n_classes)
    assert no_information(confusion) == pytest.approx(np.array(expected))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_scikit_learn_agrees(n_classes):
    rng = np.random.default_rng(n_classes)
    y_true, y_pred = rng.integers(0, n_classes, size=(2, 200))
    confusion = confusion_matrix(y_true, y_pred, n_classes)
    assert confusion.tolist() == sklearn_metrics.confusion_matrix(y_true, y_pred).tolist()
    assert accuracy(confusion) == sklearn_metrics.accuracy_score(y_true, y_pred)
    assert error(confusion) == pytest.approx(sklearn_metrics.zero_one_loss(y_true, y_pred))
    assert bcr(confusion) == pytest.approx(sklearn_metrics.balanced_accuracy_score(y_true, y_pred))
    recall = sklearn_metrics.recall_score(y_true, y_pred, average=None)
    assert detection(confusion) == pytest.approx(recall)
    one_by_one = sklearn_metrics.multilabel_confusion_matrix(y_true, y_pred)
    for c, ((tn, fp), (fn, tp)) in enumerate(one_by_one):
        assert sensitivity(confusion, positive=c) == tp / (tp + fn)
        assert specificity(confusion, positive=c) == tn / (tn + fp)
        assert false_positive_rate(confusion)[c] == fp / (tn + fp)


def test_a_class_without_test_rows_is_left_out_of_the_mean():
    y_true, y_pred = np.array([0, 0, 2, 2]), np.array([0, 2, 2, 2])
    assert bcr(confusion_matrix(y_true, y_pred, 4)) == 0.75
    assert sklearn_metrics.balanced_accuracy_score(y_true, y_pred) == 0.75


def test_two_classes_are_the_mean_of_sensitivity_and_specificity():
    confusion = [[7, 5], [1, 3]]
    assert bcr(confusion) == (sensitivity(confusion) + specificity(confusion)) / 2
    assert sensitivity(confusion) == 3 / 4
    assert specificity(confusion) == 7 / 12
    assert sensitivity(confusion, positive=0) == specificity(confusion)


def test_a_stack_is_its_matrices():
    confusions = np.random.default_rng(0).integers(0, 5, size=(4, 6, 3, 3))
    confusions[1, 2] = 0
    confusions[2, 3, 1] = 0
    costs = np.arange(9).reshape(3, 3)
    functions = [metric.function for metric in METRICS.values()]
    functions += [detection, false_positive_rate, no_information]
    functions += [lambda confusion: cost_score(confusion, costs)]
    for function in functions:
        whole = function(confusions)
        for place in np.ndindex(4, 6):
            assert np.array_equal(whole[place], function(confusions[place]), equal_nan=True)


def test_one_matrix_gives_a_plain_float():
    for metric in METRICS.values():
        assert type(metric.function([[2, 1], [0, 2]])) is float
    assert type(cost_score([[2, 1], [0, 2]], [[0, 1], [1, 0]])) is float
    assert type(point632(0.1, 0.2)) is float
    assert type(point632plus(0.1, 0.2, 0.5)) is float


def test_no_rows_have_no_metric():
    nothing = confusion_matrix([], [], 2)
    assert nothing.tolist() == [[0, 0], [0, 0]]
    for metric in METRICS.values():
        assert np.isnan(metric.function(nothing))
    assert np.isnan(cost_score(nothing, [[0, 1], [1, 0]]))
    assert np.isnan(detection(nothing)).all()
    assert np.isnan(false_positive_rate(nothing)).all()
    assert no_information(nothing).tolist() == [[0, 0], [0, 0]]


def test_one_class_only_has_no_sensitivity():
    confusion = confusion_matrix([0, 0, 0], [0, 1, 0], 2)
    assert np.isnan(sensitivity(confusion))
    assert specificity(confusion) == bcr(confusion) == accuracy(confusion) == 2 / 3


def test_folds_add_up():
    rng = np.random.default_rng(3)
    y_true, y_pred = rng.integers(0, 3, size=(2, 90))
    folds = [confusion_matrix(y_true[i::9], y_pred[i::9], 3) for i in range(9)]
    assert accuracy(sum(folds)) == accuracy(confusion_matrix(y_true, y_pred, 3))


def test_narrow_codes_do_not_overflow():
    y = np.arange(200, dtype=np.uint8)
    assert np.array_equal(confusion_matrix(y, y, 200), np.eye(200))
    assert confusion_matrix(np.array([True, False]), np.array([True, True]), 2).tolist() == [
        [0, 1],
        [0, 1],
    ]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "n_classes", "message"),
    [
        ([0, 2], [0, 1], 2, "y_true has code 2 with n_classes=2: encode the classes from 0 to 1"),
        ([0, 1], [0, -1], 2, "y_pred has code -1"),
        ([0, 1, 1], [0, 1], 2, "y_true has 3 rows and y_pred 2"),
        ([0.0, 1.0], [0, 1], 2, "y_true is not a vector of whole numbers"),
        (["a", "b"], [0, 1], 2, "y_true is not a vector of whole numbers"),
        ([[0, 1]], [0, 1], 2, "y_true is not a vector"),
    ],
)
def test_wrong_codes_are_named(y_true, y_pred, n_classes, message):
    with pytest.raises(DataError, match=message):
        confusion_matrix(y_true, y_pred, n_classes)


def test_wrong_parameters_are_named():
    for n_classes in (0, 2.0):
        with pytest.raises(ParameterError, match=f"n_classes={n_classes}"):
            confusion_matrix([0], [0], n_classes)
    for positive in (2, -1):
        with pytest.raises(ParameterError, match=f"positive={positive}: give a class from 0 to 1"):
            sensitivity([[1, 0], [0, 1]], positive=positive)
        with pytest.raises(ParameterError, match=f"positive={positive}"):
            specificity([[1, 0], [0, 1]], positive=positive)
    with pytest.raises(ParameterError, match=r"costs has shape \(2, 2\)"):
        cost_score(WINNER, [[0, 1], [1, 0]])
    for confusion in ([1, 2], [[1, 2, 3], [4, 5, 6]], np.zeros((3, 0, 0))):
        with pytest.raises(DataError, match="confusion has shape"):
            accuracy(confusion)


def test_winner_of_the_kdd_cup():
    """The book's tables 5.4, 5.8 and 5.9 print these figures of the winning entry."""
    assert WINNER.sum() == 311_029
    assert cost_score(WINNER, KDD_COSTS) == 72_500 / 311_029
    assert round(cost_score(WINNER, KDD_COSTS), 4) == 0.2331
    normal, probe, dos, u2r, r2l = (100 * detection(WINNER)).round(2)
    assert (normal, u2r, dos, r2l, probe) == (99.45, 13.16, 97.12, 8.40, 83.32)
    attack = np.array([0, 1, 1, 1, 1])
    binary = np.zeros((2, 2))
    np.add.at(binary, (attack[:, None], attack), WINNER)
    assert round(100 * error(binary), 2) == 6.70
    assert 100 * sensitivity(binary) == pytest.approx(91.80, abs=0.015)  # printed cut off
    assert round(100 * (1 - specificity(binary)), 2) == 0.55


def test_unit_costs_are_the_error():
    assert cost_score(WINNER, 1 - np.eye(5)) == pytest.approx(error(WINNER))
    with pytest.raises(ValueError, match="read-only"):
        KDD_COSTS[0, 0] = 1


def test_no_information_of_a_constant_prediction_is_itself():
    confusion = np.array([[30, 0], [10, 0]])
    assert np.array_equal(no_information(confusion), confusion)


def test_no_information_keeps_the_margins_and_has_chance_bcr():
    guessed = no_information(WINNER)
    assert guessed.sum(axis=0) == pytest.approx(WINNER.sum(axis=0))
    assert guessed.sum(axis=1) == pytest.approx(WINNER.sum(axis=1))
    assert no_information(guessed) == pytest.approx(guessed)
    assert bcr(guessed) == pytest.approx(1 / 5)
    p, q = WINNER.sum(axis=1) / WINNER.sum(), WINNER.sum(axis=0) / WINNER.sum()
    assert error(guessed) == pytest.approx((p * (1 - q)).sum())  # Efron and Tibshirani's gamma
    assert no_information(WINNER / WINNER.sum()) * WINNER.sum() == pytest.approx(guessed)
    assert no_information(WINNER / 1e6) * 1e6 == pytest.approx(guessed)


@given(*[st.integers(0, 20)] * 3)
def test_point632plus_is_a_weighted_mean(apparent, out_of_bag, gamma):
    """The paper's other form of it, with weight .632 / (1 - .368 R)."""
    a, o, g = apparent / 20, out_of_bag / 20, gamma / 20
    overfitting = (min(o, g) - a) / (g - a) if o > a and g > a else 0.0
    assert 0 <= overfitting <= 1
    weight = 0.632 / (1 - 0.368 * overfitting)
    capped = (1 - weight) * a + weight * min(o, g)
    assert point632plus(a, o, g) == pytest.approx(capped + 0.632 * (o - min(o, g)))


def test_point632plus_between_its_ends():
    assert point632(0.1, 0.3) == pytest.approx(0.2264)
    # no overfitting: .632; all of it: the error on the rows left out
    assert point632plus(0.1, 0.1, 0.5) == pytest.approx(0.1)
    assert point632plus(0.2, 0.1, 0.5) == pytest.approx(point632(0.2, 0.1))
    assert point632plus(0.3, 0.4, 0.2) == pytest.approx(point632(0.3, 0.4))
    assert point632plus(0.0, 0.5, 0.5) == pytest.approx(0.5)
    # by hand: R = (0.3 - 0.1) / (0.5 - 0.1) = 1/2, and 0.2264 + 0.2 x 0.116288 / 0.816
    assert point632plus(0.1, 0.3, 0.5) == pytest.approx(0.2549019607843)
    # worse than chance: R = 1, 0.368 x 0.5 + 0.632 x 0.6
    assert point632plus(0.0, 0.6, 0.5) == pytest.approx(0.5632)


def test_point632plus_takes_arrays():
    apparent, out_of_bag = np.array([0.0, 0.1, np.nan, 0.1]), np.array([0.5, 0.3, 0.3, np.nan])
    errors = point632plus(apparent, out_of_bag, 0.5)
    assert errors[:2] == pytest.approx([0.5, 0.2549019607843])
    assert np.isnan(errors[2:]).all()
    assert np.isnan(point632plus(0.1, 0.2, np.nan))


def test_metrics_by_name():
    names = ["bcr", "accuracy", "error", "sensitivity", "specificity", "ppv", "npv", "f1"]
    assert list(METRICS) == names
    perfect, useless = [[3, 0], [0, 4]], [[0, 3], [4, 0]]
    for name, metric in METRICS.items():
        assert metric.name == name
        assert (metric.function(perfect) > metric.function(useless)) == metric.greater_is_better
        assert metric.description
        assert "\n" not in metric.description
