"""Studies judge by predicted classes: any number of whole-number classes, and no other target."""

import warnings

import numpy as np
import pytest

from featly import FTest, Schema, SignalToNoise
from featly.basics.errors import DataError
from featly.study import Dataset, KFold, Study


def many_classes(n_classes=24, rows_each=6):
    """Whole numbers as labels, more of them than are classes without a word."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), rows_each)
    X = rng.normal(size=(len(y), 5))
    X[:, 1] += y
    return X, y


@pytest.mark.parametrize("schema", [None, {"keep": [0]}, Schema(prior={2: 3.0})])
def test_many_whole_numbers_are_classes_in_a_study(schema):
    X, y = many_classes()
    methods = {"own": SignalToNoise(schema=schema), "named": "signal-to-noise"}
    results = Study(methods, (X, y), KFold(3), sizes=[2], learner="naive-bayes").run()
    assert results.failures.height == 0


def test_a_schema_that_says_so_is_left_as_it_is():
    X, y = many_classes()
    data = Dataset.of(X, y)
    assert data.declare_classes(None).target_kind == "classes"
    assert data.declare_classes({"keep": [1]}) == Schema(keep=[1], target_kind="classes")
    stated = Schema(target_kind="classes")
    assert data.declare_classes(stated) is stated
    few = Dataset.of(X, y % 3)
    assert few.declare_classes(None) is None
    assert Dataset.of(X, y, schema={"target_kind": "classes"}).n_rows == len(y)


def test_prior_report_of_many_whole_numbers():
    from featly.study import prior_report

    X, y = many_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = prior_report(
            SignalToNoise(schema={"prior": {2: 10.0}}), X, y, splits=10, size=2, n_jobs=1
        )
    assert report.results.failures.height == 0


@pytest.mark.parametrize("kind", ["numbers", "survival"])
def test_other_targets_are_refused_and_methods_named(kind):
    X, y = many_classes()
    with pytest.raises(DataError, match=f"target_kind='{kind}' of dataset 'data'.*fit FTest"):
        Dataset.of(X, y, schema={"target_kind": kind})


def test_real_numbers_are_refused():
    X, y = many_classes()
    with pytest.raises(DataError, match=r"dataset 'data' is for classes: cut y into classes. To"):
        Dataset.of(X, y + 0.5)
    assert FTest().fit(X, y + 0.5).target_kind_ == "numbers"


def test_a_trade_off_goes_with_the_dataset():
    X, y = many_classes(3)
    schema = {"costs": {0: 0.0, 1: 2.0}, "trade_off": 0.5}
    priced = Dataset.of(X, y, schema=schema).schema
    assert (priced.costs, priced.trade_off) == ({1: 2.0}, 0.5)
    free = {"costs": {0: 0.0}, "trade_off": 0.5}
    assert Dataset.of(X, y, schema=free).schema.trade_off == 0
