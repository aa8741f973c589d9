"""Measures, rankers and learners of the studies of many classes."""

import json
import warnings

import numpy as np
import polars as pl
import pytest
from scipy import stats
from studies import multiclass_lists, multiclass_real, multiclass_sharing
from studies.multiclass_lists import (
    RULES,
    ZHOU,
    Rule,
    SharedPriceSVM,
    Told,
    Zhou,
    note_figures,
    read_figures,
)
from studies.multiclass_measures import (
    Runs,
    average_gains,
    error_gain,
    exponent,
    first_noise_gain,
    position_gain,
    results_error,
)

from featly.elimination.svm_rfe import SVMRFE
from featly.ensembles.pairwise import PairwiseRanker
from featly.learners import LinearSVM
from featly.measures.statistics import corrected_resampled_t, plain_interval
from featly.study.splits import Subsampling


# ---- measures ------------------------------------------------------------------------------------
def some_runs(seed, parts=None, n_runs=5, p=30):
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(p) for _ in range(n_runs)])
    return Runs(orders, rng.uniform(0, 1, (n_runs, 3)), (2, 5, 10), (), parts)


def test_differences_of_errors():
    first, second = some_runs(1), some_runs(2)
    apart = first.errors[:, [0, 2]].mean(axis=1) - second.errors[:, [0, 2]].mean(axis=1)
    gain = error_gain(first, second, [2, 10])
    assert (gain.lower, gain.upper) == pytest.approx(plain_interval(apart))
    assert gain.mean == pytest.approx(apart.mean())
    splits = some_runs(1, (75.0, 25.0)), some_runs(2, (75.0, 25.0))
    test = corrected_resampled_t(splits[0].error() - splits[1].error(), 75, 25)
    gain = error_gain(*splits)
    assert (gain.mean, gain.lower, gain.upper) == pytest.approx((test.mean, test.lower, test.upper))
    assert error_gain(first, first).is_null


def test_differences_of_positions():
    first_runs, second_runs, columns = some_runs(3), some_runs(4), [4, 7, 20, 29]
    where = [
        [[order.tolist().index(c) + 1 for c in columns] for order in method_runs.orders]
        for method_runs in (first_runs, second_runs)
    ]
    gain = position_gain(first_runs, second_runs, columns)
    apart = np.mean(where[0], axis=1) - np.mean(where[1], axis=1)
    assert (gain.mean, gain.lower) == pytest.approx((apart.mean(), plain_interval(apart)[0]))
    quarter = position_gain(first_runs, second_runs, columns, quartile=True)
    assert quarter.mean == pytest.approx(
        np.mean([np.percentile(a, 75) - np.percentile(b, 75) for a, b in zip(*where, strict=True)])
    )
    first = first_noise_gain(first_runs, second_runs, columns)
    assert first.mean == pytest.approx(np.mean(np.min(where[0], 1) - np.min(where[1], 1)))
    statistics = first_runs.statistics({"some": columns})["some"]
    assert (statistics.best, statistics.worst) == (np.min(where[0]), np.max(where[0]))
    assert statistics.mean == pytest.approx(np.mean(where[0]))


def test_averages_over_independent_tables():
    whole = average_gains(
        [error_gain(some_runs(5), some_runs(6)), error_gain(some_runs(7), some_runs(8))]
    )
    parts = [error_gain(some_runs(5), some_runs(6)), error_gain(some_runs(7), some_runs(8))]
    assert whole.mean == pytest.approx((parts[0].mean + parts[1].mean) / 2)
    half = np.hypot(*(gain.upper - gain.mean for gain in parts)) / 2
    assert whole.upper - whole.mean == pytest.approx(half)


def test_exponents():
    gain = exponent([1, 2, 4, 8], [3, 24, 192, 1536])
    assert (gain.mean, gain.lower, gain.upper) == pytest.approx((3, 3, 3))
    y = [1.0, 2.5, 3.5, 9.0]
    line = stats.linregress(np.log([1, 2, 4, 8]), np.log(y))
    assert exponent([1, 2, 4, 8], y).mean == pytest.approx(line.slope)


def test_errors_from_confusion_matrices():
    rows = pl.DataFrame({"confusion": [[5, 1, 2, 2], [1, 0, 0, 0, 1, 0, 1, 1, 1]]})
    assert results_error(rows) == pytest.approx([0.3, 0.4])


# ---- methods and learner -------------------------------------------------------------------------
def classes_apart(seed=0, n=90, p=25):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"], n // 3)
    X = rng.normal(size=(n, p))
    X[:, :3] += 1.5 * (y[:, None] == np.array(["a", "b", "c"]))
    return X, y


@pytest.fixture
def _nothing_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv(multiclass_sharing.VARIABLE, str(tmp_path / "shared.sqlite"))
    multiclass_sharing.memory.clear()
    multiclass_lists._prices_by_column.clear()


def fit_quietly(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Told)
        return estimator.fit(X, y)


@pytest.mark.usefixtures("_nothing_remembered")
def test_rules_share_lists(monkeypatch):
    X, y = classes_apart()
    made_lists = []

    class Counted(PairwiseRanker):
        def fit(self, X, y):
            made_lists.append(self.decomposition)
            return super().fit(X, y)

    monkeypatch.setattr(multiclass_lists, "PairwiseRanker", Counted)
    ranker = SVMRFE(C=0.5, step=0.1, fine_below=20)
    for name, rule in RULES.items():
        for decomposition in ("ovo", "ova"):
            ours = fit_quietly(Rule(rule, C=0.5, decomposition=decomposition), X, y)
            alone = PairwiseRanker(ranker, decomposition=decomposition, combine=rule).fit(X, y)
            assert np.array_equal(ours.order_, alone.order_), name
    assert sorted(made_lists) == ["ova", "ovo"]
    share = fit_quietly(Rule("k-first", 0.2, C=0.5), X, y)
    alone = PairwiseRanker(ranker, combine="k-first", k=0.2).fit(X, y)
    assert np.array_equal(share.order_, alone.order_)
    fit_quietly(Rule(C=0.5), X[1:], y[1:])
    fit_quietly(Rule(C=0.4), X, y)
    assert len(made_lists) == 4


@pytest.mark.usefixtures("_nothing_remembered")
@pytest.mark.parametrize("formulation", ZHOU.values())
def test_joint_eliminations(formulation):
    from featly.elimination.multiclass_svm_rfe import MulticlassSVMRFE

    X, y = classes_apart(1, 45)
    ours = fit_quietly(Zhou(formulation, C=0.5), X, y)
    importance = "abs" if formulation == "ovo" else "squared"
    alone = MulticlassSVMRFE(
        formulation=formulation, importance=importance, C=0.5, step=0.1, fine_below=20
    ).fit(X, y)
    assert np.array_equal(ours.order_, alone.order_)


@pytest.mark.usefixtures("_nothing_remembered")
def test_the_learner_has_the_price_of_its_split(monkeypatch):
    prices = []
    learn = LinearSVM.predict_path

    def record_price(self, *arguments):
        prices.append(self.C)
        return learn(self, *arguments)

    monkeypatch.setattr(LinearSVM, "predict_path", record_price)
    X, y = classes_apart(2)
    C = multiclass_lists.price_of(X[::2], y[::2])
    assert C in multiclass_lists.GRID
    assert len(prices) == 5 * len(multiclass_lists.GRID)
    assert multiclass_lists.price_of(X[::2], y[::2]) == C  # remembered
    assert len(prices) == 5 * len(multiclass_lists.GRID)
    order = fit_quietly(Rule(), X[::2], y[::2]).order_
    predicted = SharedPriceSVM().predict_path(X[::2][:, order], y[::2], X[1::2][:, order], [2, 5])
    assert prices[-1] == C
    expected = LinearSVM(C=C).predict_path(X[::2][:, order], y[::2], X[1::2][:, order], [2, 5])
    assert np.array_equal(predicted, expected)
    learner = SharedPriceSVM().fit(X[::2][:, order], y[::2])
    alone = LinearSVM(C=C).fit(X[::2][:, order], y[::2])
    assert np.array_equal(learner.predict(X[1::2][:, order]), alone.predict(X[1::2][:, order]))
    with pytest.raises(KeyError):  # rows for which nothing was ranked
        SharedPriceSVM().predict_path(X[1::2], y[1::2], X[::2], [2])


def test_figures_in_the_notes_of_fits():
    with pytest.warns(Told) as caught:
        note_figures(ties=3, C=0.5)
    notes = [f"{w.category.__name__}: {w.message}" for w in caught]
    assert read_figures(json.dumps(["ConvergenceWarning: slow", *notes])) == {"ties": 3, "C": 0.5}
    assert read_figures(None) == {}


@pytest.mark.usefixtures("_nothing_remembered")
def test_one_process_makes_values_that_others_read():
    made_by = []

    def make():
        made_by.append(1)
        return np.arange(3.0), 0.5

    for _ in range(2):
        multiclass_sharing.memory.clear()  # as in another process
        values, seconds = multiclass_sharing.make_once("key", make)
        assert (values.tolist(), seconds) == ([0, 1, 2], 0.5)
    assert len(made_by) == 1
    for number in range(multiclass_sharing.KEPT):
        multiclass_sharing.make_once(f"other {number}", make)
    multiclass_sharing.memory.clear()
    multiclass_sharing.make_once("key", make)
    assert len(made_by) == multiclass_sharing.KEPT + 2

    def fail():
        raise ValueError("no lists")

    with pytest.raises(ValueError, match="no lists"):
        multiclass_sharing.make_once("new", fail)
    assert multiclass_sharing.make_once("new", lambda: 7) == 7  # nobody is locked out


def test_memory_forgets_the_oldest():
    memory = multiclass_sharing.Memory(2)
    for key in "abc":
        memory.put(key, key.upper())
    assert dict(memory) == {"b": "B", "c": "C"}


def test_fewer_splits_of_many_rows():
    splits = multiclass_real.FewerOfMany(5, test_size=0.25, few_splits=2, many_rows=50)
    few, many = np.arange(20) % 2, np.arange(60) % 2
    assert [splits.count(None, y) for y in (few, many)] == [5, 2]
    alike = zip(
        splits.split(None, few), Subsampling(5, test_size=0.25).split(None, few), strict=True
    )
    assert all(np.array_equal(a.test, b.test) for a, b in alike)
    assert repr(splits) == "FewerOfMany(5, test_size=0.25, few_splits=2, many_rows=50)"
