"""Nested cross-validation: nothing that judges a fold has seen it, and what the result says."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectKBest
from sklearn.neighbors import KNeighborsClassifier

from featly import FTest
from featly.basics.errors import DataError, ParameterError
from featly.measures.nested_rates import round_outward
from featly.measures.statistics import holm_levels
from featly.study import Dataset, Tuned, nested
from featly.study.nested import NestedStoppedError
from featly.study.nested_folds import nested_folds
from tests.reference import nested as reference
from tests.study.quick_pipeline import NearestMean, QuickF


def table(n=60, p=20, signal=0.0, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, :3] += signal * y[:, None]
    return X, y


def run(X, y, methods=None, **options):
    options = {"learner": {"mean": NearestMean()}, "repeats": 1, "n_jobs": 1} | options
    return nested({"f": QuickF()} if methods is None else methods, (X, y), **options)


class SpyLearner(BaseEstimator):
    """Record which rows are trained on; the first column is the number of the row."""

    seen = []  # noqa: RUF012

    def fit(self, X, y):
        SpyLearner.seen.append(("train", X[:, 0].astype(int)))
        self.label_ = y[0]
        return self

    def predict(self, X):
        SpyLearner.seen.append(("test", X[:, 0].astype(int)))
        return np.full(len(X), self.label_)


def test_no_model_predicts_a_row_that_it_was_trained_on():
    y = np.arange(30) % 2
    X = np.column_stack([np.arange(30) + 0.5, np.zeros(30)])  # half a number names no row
    SpyLearner.seen.clear()
    result = run(X, y, {"all": None}, learner={"spy": SpyLearner()}, folds=5, inner=3)
    pairs = list(zip(SpyLearner.seen[::2], SpyLearner.seen[1::2], strict=True))
    assert len(pairs) == result.n_paths == 5 * 4
    for (kind, trained), (other, predicted) in pairs:
        assert (kind, other) == ("train", "test")
        assert not set(trained) & set(predicted)


def test_the_rule_sees_no_row_of_the_fold_that_it_is_judged_on():
    result = run(*table(), repeats=2)
    for repeat, fold in np.ndindex(result.repeats, result.folds):
        own = result.fold_of[repeat] == fold
        assert (result.pooled_codes[repeat, fold][:, own] == -1).all()
        assert (result.pooled_codes[repeat, fold][:, ~own] >= 0).all()


def test_a_column_that_is_the_label_in_the_test_folds_only_does_not_help():
    X, y = table(60, 4, seed=3)
    folds = nested_folds(y, folds=5, repeats=1, inner=5, random_state=0)
    hits = []
    for part in folds:
        leaking = X.copy()
        leaking[part.test, 2] = 50.0 * y[part.test]
        result = run(leaking, y, folds=5)
        # the models that judge this fold are those of a table without the leak
        assert (
            result.estimate().chosen[part.fold] == run(X, y, folds=5).estimate().chosen[part.fold]
        )
        hits += result.hits()[0, part.test].tolist()
    assert np.mean(hits) < 0.75


def test_nothing_of_a_fold_changes_what_is_chosen_for_it():
    X, y = table(seed=4)
    fold = nested_folds(y, folds=10, repeats=1, inner=5, random_state=0)[3]
    changed = X.copy()
    changed[fold.test] = np.random.default_rng(9).normal(size=(len(fold.test), X.shape[1])) * 100
    a, b = run(X, y), run(changed, y)
    assert a.estimate().chosen[3] == b.estimate().chosen[3]
    assert np.array_equal(a.pooled_codes[0, 3], b.pooled_codes[0, 3])
    assert not np.array_equal(a.outer_codes, b.outer_codes)


def test_sizes_differ_between_folds_on_noise():
    estimate = run(*table(seed=5), repeats=2).estimate()
    assert len({candidate.size for _, _, candidate in estimate.chosen}) > 1


def test_a_signal_is_told_with_its_interval():
    X, y = table(100, 20, 3.0)
    result = run(X, y)
    estimate = result.estimate()
    assert 0.8 < estimate.lower < estimate.value <= estimate.upper <= 1.0
    assert estimate.chance == 0.5
    assert result.estimate("auc").value > 0.95
    assert result.estimate("error").value == pytest.approx(1 - result.estimate("accuracy").value)
    sensitivity, specificity = result.estimate("sensitivity"), result.estimate("specificity")
    assert estimate.value == pytest.approx((sensitivity.value + specificity.value) / 2)


def test_the_value_is_the_corrected_rate_of_the_hits():
    result = run(*table(signal=0.5), repeats=2)
    estimate, hits = result.estimate(), result.hits()
    p = np.array([hits[:, result.y == c].mean() for c in (0, 1)])
    assert estimate.uncorrected == pytest.approx(p.mean())
    q = []
    for c in (0, 1):
        total = []
        for repeat, fold, candidate in estimate.chosen:
            rows = (result.fold_of[repeat] == fold) & (result.y == c)
            k = result.candidates.index(candidate)
            total += (result.inner_codes[repeat, :, k][:, rows] == c).ravel().tolist()
        q.append(np.mean(total))
    assert estimate.class_rates == pytest.approx(np.clip(p + 0.4 * (p - np.array(q)), 0, 1))


@pytest.mark.parametrize(("repeats", "n_classes", "seed"), [(1, 2, 0), (3, 2, 1), (5, 3, 2)])
def test_equals_the_reference_implementation(repeats, n_classes, seed):
    X, y = table(45, 12, 0.8, seed, n_classes)
    sizes = [1, 2, 4, 8]
    folds = {"folds": 5, "inner": 3, "repeats": repeats, "random_state": seed}
    estimate = run(X, y, sizes=sizes, **folds).estimate()
    parts = [(p.repeat, p.train, p.test, p.inner) for p in nested_folds(y, **folds)]
    value, lower, upper, size = reference.nested(
        X, y, parts, sizes,
        rank=lambda X, y: QuickF().fit(X, y).order_,
        predict=lambda X, y, X_test: NearestMean().fit(X, y).predict(X_test),
    )  # fmt: skip
    assert estimate.value == pytest.approx(value, abs=1e-12)
    assert (estimate.lower, estimate.upper) == round_outward(lower, upper)
    assert estimate.size == size


def test_the_final_size_is_chosen_by_outer_hits_averaged_over_repeats():
    result = run(*table(signal=1.0), repeats=3)
    best = max(result.curve().rows(named=True), key=lambda r: (round(r["mean"], 9), -r["size"]))
    assert result.estimate().size == best["size"]


def test_results_do_not_depend_on_the_number_of_jobs():
    X, y = table(signal=0.5)
    data = Dataset.of(X, y)
    alone = nested("f-test", data, repeats=1, n_jobs=1)
    together = nested("f-test", data, repeats=1, n_jobs=2)
    assert np.array_equal(alone.outer_codes, together.outer_codes)
    assert np.array_equal(alone.pooled_values, together.pooled_values, equal_nan=True)
    assert alone.estimate().value == together.estimate().value


def test_ctrl_c_keeps_the_repeats_that_were_done():
    X, y = table()

    def stop(done, total, left):
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(NestedStoppedError) as caught:
        run(X, y, repeats=4, verbose=stop)
    result = caught.value.result
    assert (result.repeats, result.planned_repeats, result.was_stopped) == (2, 4, True)
    assert "4 repeats were planned" in result.describe()
    assert result.estimate().value == run(X, y, repeats=2).estimate().value


def test_ctrl_c_before_a_repeat_is_done_keeps_nothing():
    def stop(done, total, left):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        run(*table(), verbose=stop)
    assert not isinstance(caught.value, NestedStoppedError)


class FailsOnSome(QuickF):
    """Fail where the training rows hold a certain one."""

    def fit(self, X, y):
        if (X[:, 0] > 1e6).any():
            raise ValueError("too large")
        return super().fit(X, y)


def test_failed_fits_are_missing_and_many_of_them_leave_no_interval():
    X, y = table()
    X[7, 0] = 1e7  # every part but that of its own fold fails
    result = run(X, y, {"f": FailsOnSome(), "other": QuickF(1)})
    estimate = result.estimate(method="f")
    assert not estimate.has_interval
    assert np.isnan(estimate.upper)
    assert "too large" in estimate.notes[0]
    assert "too many fits failed" in str(estimate)
    assert result.estimate(method="other").has_interval
    X[:, 0] = 1e7
    with pytest.raises(DataError, match="too large"):
        run(X, y, {"f": FailsOnSome()}).estimate()


def test_pairs_of_method_and_size_are_chosen_together():
    X, y = table(80, 20, 1.5)
    methods = {"bad": QuickF(10), "good": QuickF(0)}
    result = run(X, y, methods, sizes=[1, 2, 4, 8])
    assert {c.method for _, _, c in result.estimate().chosen} == {"good"}
    assert result.estimate().method == "good"
    assert result.estimate(method="bad").method == "bad"
    assert result.estimate(method="bad").value < result.estimate().value


def test_learners_are_chosen_within_as_well():
    X, y = table(80, 8)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    learners = {"mean": NearestMean(), "5-nn": KNeighborsClassifier(5)}
    result = run(X[:, :2], y, {"all": None}, learner=learners)
    assert {c.learner for _, _, c in result.estimate().chosen} == {"5-nn"}
    assert result.estimate(learner="mean").value < result.estimate().value


def test_a_selector_has_one_candidate_of_its_own_size():
    result = run(*table(signal=1.0), {"k": SelectKBest(k=3), "f": QuickF()})
    assert [c.size for c in result.candidates] == [0, 1, 2, 4, 8, 16]
    assert result.estimate(method="k").size == 3
    assert result.curve()["size"].to_list() == [3, 1, 2, 4, 8, 16]


def test_tuning_sees_the_training_rows_alone():
    X, y = table(40, 6, 1.0)
    tuned = Tuned(FTest(), {"n_features_to_select": [1, 2]}, splits=3, sizes=[2])
    result = nested({"tuned": tuned}, (X, y), folds=3, inner=2, repeats=1, n_jobs=1)
    assert result.errors == ()
    assert result.estimate().has_interval


def test_comparison_with_all_columns_and_of_equals():
    X, y = table(80, 60, 1.0)
    result = run(X, y, {"f": QuickF(), "again": QuickF(), "other": QuickF(20), "none": None})
    assert result.compare("f", "again").is_same
    rows = {row["second"]: row for row in result.comparisons("f").rows(named=True)}
    assert rows["again"]["answer"] == "the same predictions"
    assert rows["other"]["answer"] == "better"
    assert rows["other"]["difference"] > 0
    assert rows["other"]["p_holm"] >= rows["other"]["p_value"]
    backward = result.comparisons("other").rows(named=True)[0]
    assert backward["answer"] == "worse"
    noise = run(*table(40, 30, seed=8), {"f": QuickF(), "other": QuickF(15)})
    assert noise.comparisons("f")["answer"][0] == "cannot be told apart with 40 rows"


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([0.001, 0.02, 0.3], [1 - 0.05 / 3, 1 - 0.05 / 2, 0.95]),
        ([0.3, 0.001, 0.02], [0.95, 1 - 0.05 / 3, 1 - 0.05 / 2]),
        # the second is at most .05 by itself, but Holm does not get there
        ([0.03, 0.04], [1 - 0.05 / 2, 1 - 0.05 / 2]),
        ([], []),
    ],
)
def test_intervals_have_the_level_at_which_holm_decides(p_values, expected):
    assert holm_levels(p_values, 0.05) == pytest.approx(expected)


def test_an_interval_lies_beside_zero_where_its_p_says_so():
    X, y = table(80, 60, 1.0)
    result = run(X, y, {"f": QuickF(), "a": QuickF(4), "b": QuickF(20), "none": None})
    for level in (0.95, 0.5):
        for row in result.comparisons("f", level=level).rows(named=True):
            if row["p_holm"] is not None:
                beside = row["lower"] > 0 or row["upper"] < 0
                assert beside == (row["p_holm"] <= 1 - level)
    some = result.comparisons("f", others=["none"])
    assert some["second"].to_list() == ["none"]
    assert some["p_holm"][0] == some["p_value"][0]


def test_one_class_predicted_for_all_rows_is_half():
    y = np.repeat([0, 1], [40, 10])
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[:, 0] = np.arange(50) + 0.5

    class OneClass(SpyLearner):
        def fit(self, X, y):
            self.label_ = 0
            return self

    estimate = run(X, y, {"all": None}, learner={"one": OneClass()}).estimate()
    assert estimate.class_rates.tolist() == [1.0, 0.0]
    assert estimate.value == 0.5
    assert estimate.lower < 0.5 < estimate.upper


def test_four_rows_of_a_class_have_a_wide_interval_and_three_none():
    X, _ = table(40, 10)
    y = np.repeat([0, 1], [36, 4])
    estimate = run(X, y).estimate()
    assert estimate.upper - estimate.lower > 0.3
    with pytest.raises(DataError, match="class 1 has 3 rows"):
        run(X, np.repeat([0, 1], [37, 3]))
    groups = np.concatenate([np.arange(36), [36, 36, 37, 37]])
    with pytest.raises(DataError, match="class 1 has 2 row groups"):
        run_groups(X, y, groups)


def run_groups(X, y, groups, **options):
    return nested(
        {"f": QuickF()}, Dataset.of(X, y, row_groups=groups), repeats=1, n_jobs=1,
        learner={"mean": NearestMean()}, **options,
    )  # fmt: skip


def test_groups_stay_together_and_widen_the_interval():
    X, y = table(40, 10, 0.7)
    groups = np.tile(np.arange(40), 2)
    twice, rows = np.tile(X, (2, 1)), np.tile(y, 2)
    grouped = run_groups(twice, rows, groups)
    for repeat in range(grouped.repeats):
        assert (grouped.fold_of[repeat][:40] == grouped.fold_of[repeat][40:]).all()
    alone = run(twice, rows)
    assert "stay together" in grouped.describe()
    width = grouped.estimate().upper - grouped.estimate().lower
    assert width > alone.estimate().upper - alone.estimate().lower


def test_three_classes():
    X, y = table(90, 12, 1.5, n_classes=3)
    result = run(X, y)
    estimate = result.estimate()
    assert estimate.chance == pytest.approx(1 / 3)
    assert estimate.lower > 1 / 3
    assert len(estimate.class_rates) == 3
    with pytest.raises(ParameterError, match="two classes"):
        result.estimate("auc")
    specificity = result.estimate("specificity")
    assert 0 < specificity.lower < specificity.upper <= 1


@pytest.mark.parametrize("rule", ["one-standard-error", "within-interval", "knee", 4])
def test_other_rules_take_no_more_columns(rule):
    result = run(*table(80, 20, 1.0))
    estimate = result.estimate(rule=rule)
    assert estimate.size in (1, 2, 4, 8, 16)
    if rule == 4:
        assert {c.size for _, _, c in estimate.chosen} == {4}
    elif rule == "one-standard-error":
        assert estimate.size <= result.estimate().size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds=1"),
        ({"inner": 1}, "inner=1"),
        ({"repeats": 0}, "repeats=0"),
        ({"rule": "largest-gap"}, "rule='largest-gap'"),
    ],
)
def test_senseless_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        run(*table(), **options)


def test_unknown_names_are_refused():
    result = run(*table(30, 4))
    with pytest.raises(ParameterError, match="there is no 'g'"):
        result.estimate(method="g")
    with pytest.raises(ParameterError, match="metric='f1'"):
        result.estimate("f1")
    with pytest.raises(ParameterError, match="rows predicted right"):
        result.compare("f", "f", metric="auc")


def test_words():
    small = run(*table(40, 6, 2.0))
    assert "between" in str(small.estimate())
    large = run(*table(60, 6, 2.0))
    assert "the data are compatible with" in str(large.estimate())
    assert "ROC curve of 0." in str(large.estimate("auc")) or "of 1.00" in str(
        large.estimate("auc")
    )
    assert "once (quick mode)" in large.describe()
    wide = run(*table(40, 500))
    assert "too low" in wide.estimate().notes[0]
