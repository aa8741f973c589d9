"""Properties of the base classes that the checks of registered methods do not cover."""

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import SVMRFE, ChiSquared, DataError, FTest, ParameterError, SchemaWarning
from featly.base import Ranker, SubsetSelector, keep_first
from featly.filters.f_test import f_statistic
from featly.measures.sizes import choose_size
from featly.registry import METHODS, method_class
from featly.testing import method_checks


class Strong(SubsetSelector):
    """Columns whose F is above a threshold, or else the best one."""

    _missing = True

    def __init__(self, *, threshold=4.0, schema=None, n_jobs=None):
        self.threshold = threshold
        self.schema = schema
        self.n_jobs = n_jobs

    def _select(self, problem):
        statistic, _, _ = f_statistic(problem.moments(by_class=True))
        order = keep_first(np.argsort(-statistic, kind="stable"), problem.columns.keep)
        strong = statistic[order] > self.threshold
        strong[: max(1, len(problem.columns.keep))] = True
        return order[strong]


@pytest.mark.parametrize(
    "check", [pytest.param(check, id=name) for name, check in method_checks(Strong())]
)
def test_subset_selectors_pass_the_checks(check):
    check(Strong())


@parametrize_with_checks([Strong()])
def test_subset_selectors_pass_scikit_learns_checks(estimator, check):
    check(estimator)


def test_table_of_a_subset_selector():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pl.DataFrame({"noise": rng.normal(size=40), "signal": rng.normal(size=40) + 3 * y})
    chosen = Strong().fit(frame, y)
    assert chosen.table().rows() == [
        ("signal", "continuous", True, True),
        ("noise", "continuous", False, False),
    ]
    assert chosen.transform(frame).columns == ["signal"]


def test_in_a_pipeline_and_a_grid():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 60)), np.arange(80) % 2
    X[:, :3] += y[:, None]
    pipeline = make_pipeline(StandardScaler(), SVMRFE(n_features_to_select=3), SVC())
    assert cross_val_score(pipeline, X, y, cv=4).mean() > 0.7
    grid = GridSearchCV(pipeline, {"svmrfe__n_features_to_select": [1, 3, 10]}, cv=3).fit(X, y)
    assert grid.best_params_["svmrfe__n_features_to_select"] in (1, 3, 10)


def test_another_count_needs_no_fit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 8)), np.arange(30) % 2
    test = FTest(n_features_to_select=2).fit(X, y)
    assert test.transform(X).shape[1] == 2
    assert test.set_params(n_features_to_select=5).transform(X).shape[1] == 5
    assert test.set_params(n_features_to_select=None).get_support().sum() == 4
    assert test.get_feature_names_out().tolist() == [f"x{j}" for j in np.sort(test.order_[:4])]


def test_targets_of_every_library():
    import pandas as pd
    import pyarrow as pa

    X = np.random.default_rng(0).normal(size=(12, 3))
    labels = ["a", "b"] * 6
    expected = FTest().fit(X, labels).statistic_.tolist()
    for y in (
        np.array(labels, dtype=object),
        pd.Series(labels),
        pd.Series(labels, dtype="category"),
        pl.Series(labels),
        pl.Series(labels).cast(pl.Categorical),
        pa.array(labels),
        pd.Series([0, 1] * 6, dtype="Int64"),
        pd.Series([False, True] * 6, dtype="boolean"),
    ):
        assert FTest().fit(X, y).statistic_.tolist() == expected


def test_classes_keep_their_type():
    import pandas as pd

    labels = pd.Series([False, True] * 2, dtype="boolean")
    assert FTest().fit(np.eye(4), labels).classes_.tolist() == [False, True]
    assert isinstance(FTest().fit(np.eye(4), labels).classes_.tolist()[0], bool)


def test_schema_warnings_point_at_the_caller():
    with pytest.warns(SchemaWarning, match="FTest does not use prior and costs") as caught:
        FTest(schema={"prior": {0: 2}, "costs": {0: 2}}).fit(np.eye(4), [0, 1, 0, 1])
    assert caught[0].filename == __file__


def test_a_parameter_is_never_changed():
    schema = {"keep": ["a"]}
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "b": [0.0, 1, 0, 1]})
    estimator = SVMRFE(schema=schema)
    clone(estimator).fit(frame, [0, 1, 0, 1])
    assert estimator.schema is schema
    assert schema == {"keep": ["a"]}


@pytest.mark.parametrize("rule", ["rule-of-thumb", "largest-gap", "two-variances"])
def test_the_count_may_be_a_rule_on_the_ranking(rule):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    X[:, [4, 7]] += 3 * y[:, None]
    ranker = FTest(n_features_to_select=rule).fit(X, y)
    assert ranker.support_.sum() == choose_size(ranker, rule)
    if rule == "largest-gap":
        assert np.flatnonzero(ranker.support_).tolist() == [4, 7]
    ranker.set_params(n_features_to_select=5)  # chosen anew without another fit
    assert ranker.support_.sum() == 5
    with_keep = FTest(n_features_to_select=rule, schema={"keep": list(range(20))}).fit(X, y)
    assert with_keep.support_.sum() >= 20


def test_the_count_may_be_a_false_discovery_rate():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 30)), np.arange(60) % 2
    X[:, [4, 7]] += 3 * y[:, None]
    test = FTest(n_features_to_select="fdr").fit(X, y)
    assert np.flatnonzero(test.support_).tolist() == np.flatnonzero(test.q_value_ <= 0.1).tolist()
    assert test.support_.sum() == choose_size(test, "fdr")
    # columns to keep come first and are not counted
    kept = FTest(n_features_to_select="fdr", schema={"keep": [0, 4]}).fit(X, y)
    assert set(np.flatnonzero(kept.support_)) == {0, 4, *np.flatnonzero(test.q_value_ <= 0.1)}
    noise = FTest(n_features_to_select="fdr").fit(rng.normal(size=(60, 30)), y)
    assert noise.support_.sum() == 1


def test_methods_without_q_values_refuse_a_false_discovery_rate():
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    with pytest.raises(ParameterError, match="SVMRFE has no q-values"):
        SVMRFE(n_features_to_select="fdr").fit(X, y)
    with pytest.raises(ParameterError, match="no q-value for column 'x0', which was cut"):
        ChiSquared(n_features_to_select="fdr").fit(X, y)
    with pytest.raises(ParameterError, match="SVMRFE has no q-values"):
        _ = SVMRFE().fit(X, y).set_params(n_features_to_select="fdr").support_


def test_methods_say_truly_that_they_have_q_values():
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.arange(40) % 2
    for name in METHODS:
        if issubclass(method_class(name), Ranker) and METHODS[name].family == "filter":
            assert hasattr(method_class(name)().fit(X, y), "q_value_") == (
                method_class(name)._has_q_values
            )


def test_lists_may_mix_none_and_text():
    rows = [[None, "a"], [1.0, "b"], [2.0, "a"], [3.0, "b"]]
    with pytest.raises(DataError, match="'x0' has a missing value"):
        SVMRFE().fit(rows, [0, 1, 0, 1])
    rows[0][0] = 0.0
    assert SVMRFE().fit(rows, [0, 1, 0, 1]).order_.tolist() == [1, 0]
