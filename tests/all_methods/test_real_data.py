"""Real tables, where FEATLY_DATA names their folder."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.feature_selection import f_classif
from sklearn.svm import SVC

from featly import SVMRFE, DataError, FTest, Schema
from featly.elimination.rfe import schedule
from tests.reference.svm import svm_rfe as naive_rfe


def load(folder, name):
    frame = pl.read_parquet(folder / f"{name}.parquet")
    return frame.drop("class", "split", strict=False), frame["class"]


@pytest.mark.parametrize("name", ["leukemia_golub", "khan_srbct", "colon_alon"])
def test_f_test_equals_scikit_learn_in_float64(data_folder, name):
    X, y = load(data_folder, name)
    test = FTest().fit(X, y)
    values = X.to_numpy().astype(np.float64)
    statistic, p = f_classif(values - values.mean(axis=0), y.to_numpy())
    assert test.statistic_ == pytest.approx(statistic, rel=1e-8)
    assert test.p_value_ == pytest.approx(p, rel=1e-6, abs=1e-300)


def test_svm_rfe_on_colon_equals_a_loop_with_libsvm(data_folder):
    X, y = load(data_folder, "colon_alon")
    Z = X.to_numpy().astype(np.float64)
    Z = (Z - Z.mean(0)) / Z.std(0)
    rfe = SVMRFE().fit(X, y)
    order, margins = naive_rfe(
        list(Z.T[:, :, None]), y.to_numpy(), 1.0, drop=lambda left: schedule(left, 0.2)
    )
    assert rfe.duality_gap_.max() < 1e-8
    assert np.mean(rfe.order_ == order) == 1.0 or min(margins) < 1e-8


@pytest.mark.parametrize("name", ["colon_alon", "leukemia_golub", "arcene", "robot_lp4"])
def test_rows_in_any_order(data_folder, name):
    X, y = load(data_folder, name)
    y = y == y[0]
    rows = np.random.default_rng(0).permutation(len(y))
    for method in (SVMRFE(), FTest()):
        first, second = method.fit(X, y).order_, method.fit(X[rows], y.to_numpy()[rows]).order_
        assert np.array_equal(first, second)


def test_mixed_columns(data_folder):
    X, y = load(data_folder, "arrhythmia_binary")
    with pytest.raises(DataError, match=r"'t_angle' has a missing value \(NaN\) in row"):
        SVMRFE().fit(X, y)
    with pytest.raises(DataError, match=r"'sex' is categorical"):
        FTest().fit(X, y)
    complete = X.select([name for name in X.columns if X[name].null_count() == 0])
    rfe = SVMRFE(step=1, n_features_to_select=20).fit(complete, y)
    assert rfe.duality_gap_.max() < 1e-8
    assert rfe.kinds_.count("categorical") == 64
    selected = rfe.transform(complete).to_dummies(pl.selectors.categorical()).to_numpy()
    assert SVC().fit(selected, y.to_numpy()).score(selected, y.to_numpy()) > 0.7


def test_describe_finds_the_columns_that_the_papers_left_out(data_folder):
    X, _ = load(data_folder, "bands")
    remarks = Schema().describe(X).remarks
    assert "constant" in remarks["ink_color"]
    assert "constant" in remarks["cylinder_division"]


def test_many_rows(data_folder):
    X, y = load(data_folder, "madelon")
    rfe = SVMRFE().fit(X, y)
    assert rfe.duality_gap_.max() < 1e-8
    assert {"f242", "f476", "f379"} & set(rfe.table()["feature"][:20])


def test_sparse_equals_dense(data_folder):
    path = data_folder / "raw" / "dexter_train.svmlight"
    X, y = load_svmlight_file(str(path), n_features=20_000)
    for method in (SVMRFE(), FTest()):
        sparse, dense = method.fit(X, y).order_, method.fit(X.toarray(), y).order_
        assert np.array_equal(sparse, dense)
