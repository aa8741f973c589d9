"""Signal to noise against its reference."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.sources import DenseSource
from featly.filters.f_test import FTest
from featly.filters.signal_to_noise import SignalToNoise, signal_to_noise
from tests.reference import signal_to_noise as naive
from tests.reference.columns import order


@st.composite
def tables(draw):
    """Ties, missing values, constant columns, classes of one row, two to four classes."""
    n_rows, n_columns = draw(st.integers(3, 14)), draw(st.integers(1, 4))
    cell = st.sampled_from([0.0, 0.5, 1.0, 1.5, -4.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    label = st.integers(0, draw(st.integers(1, 3)))
    y = np.array(draw(st.lists(label, min_size=n_rows, max_size=n_rows)))
    y[:2] = 0, 1
    return X, y


@given(tables())
def test_every_column_equals_reference(table):
    X, y = table
    ratio = SignalToNoise().fit(X, y)
    expected = [naive.signal_to_noise(column, y.tolist()) for column in X.T]
    assert ratio.scores_ == pytest.approx(np.abs(expected), rel=1e-9, abs=1e-12)
    assert ratio.scores_.tolist() == np.abs(ratio.statistic_).tolist()
    assert ratio.order_.tolist() == order(ratio.scores_.tolist())
    if len(ratio.classes_) == 2:
        assert ratio.statistic_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert set(ratio.marked_class_.tolist()) == {1}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_an_offset_costs_no_digits(dtype, layout, n_classes):
    rng = np.random.default_rng(n_classes)
    X = (rng.normal(size=(30, 20)) + 10_000).astype(dtype, order=layout)
    y = np.arange(30) % n_classes
    expected = [naive.signal_to_noise(column, y.tolist()) for column in X.T]
    assert SignalToNoise().fit(X, y).statistic_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_perfect_columns_come_first_in_the_order_of_the_table(n_classes):
    y = np.arange(16) % n_classes
    noise = np.random.default_rng(0).normal(size=16)
    X = np.column_stack(
        [y == 0, noise + 0.3 * y, 0.1 * (y == 1), np.full(16, 0.7), -7.3 * (y == 1)]
    )
    ratio = SignalToNoise().fit(X, y)
    assert ratio.order_.tolist() == [0, 2, 4, 1, 3]
    assert ratio.scores_[[0, 2, 4]].tolist() == [np.inf] * 3
    assert ratio.statistic_[[2, 4]].tolist() == [np.inf, -np.inf]
    assert ratio.scores_[3] == 0


def test_a_class_that_varies_leaves_the_constant_rest_constant():
    """The moments of the rest are added up: nothing is left over from a class of large spread."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = np.where(y == 2, 1e6 * rng.normal(size=40), 0.1)[:, None]
    mean, deviation = X[y == 2].mean(), X[y == 2].std(ddof=1)
    statistic, marked = signal_to_noise(DenseSource(X).moments(y, 4))
    assert marked.tolist() == [2]
    assert statistic[0] == pytest.approx((mean - 0.1) / deviation, rel=1e-12)


def test_sign_and_marked_class():
    y = np.array(["a", "b", "c"])[np.arange(30) % 3]
    noise = np.random.default_rng(0).normal(size=(30, 3))
    X = noise + np.column_stack([9.0 * (y == "b"), -9.0 * (y == "c"), 9.0 * (y != "a")])
    ratio = SignalToNoise().fit(X, y)
    assert ratio.marked_class_.tolist() == ["b", "c", "a"]
    assert np.sign(ratio.statistic_).tolist() == [1, -1, -1]
    assert "marked_class" in ratio.table().columns


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_equal_classes_of_equal_spread_are_the_t_statistic(seed):
    """With n rows in both classes and the same deviation, s = t / sqrt(2 n), and F = t²."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(10, 4))
    X = np.concatenate([first, first[::-1] + rng.normal(size=4)])
    y = np.repeat([0, 1], 10)
    scores = SignalToNoise().fit(X, y).scores_
    assert 2 * 10 * scores**2 == pytest.approx(FTest().fit(X, y).statistic_, rel=1e-9)


def test_missing_values_are_left_out():
    frame = pl.DataFrame({"x": [0.1, 0.3, None, 0.9, 1.1], "one": [None, 1.0, 2.0, None, 3.0]})
    ratio = SignalToNoise().fit(frame, [0, 0, 0, 1, 1])
    assert ratio.scores_.tolist() == pytest.approx([0.8 / (2 * np.sqrt(0.02)), 0.0])


def test_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 30)) < 0.3, rng.normal(size=(40, 30)), 0.0)
    y = rng.integers(0, 3, size=40)
    dense, sparse = SignalToNoise().fit(X, y), SignalToNoise().fit(scipy.sparse.csr_array(X), y)
    assert sparse.statistic_ == pytest.approx(dense.statistic_, rel=1e-12)
    assert sparse.order_.tolist() == dense.order_.tolist()


def test_golubs_genes(data_folder):
    """All ratios by NumPy, and markers of figure 3 of the paper: they lead the training rows."""
    frame = pl.read_parquet(data_folder / "leukemia_golub.parquet")
    frame = frame.filter(pl.col("split") == "train")
    X, y = frame.drop("split", "class"), frame["class"].to_numpy()
    values = X.to_numpy().astype(np.float64)
    myeloid, lymphoid = values[y == "AML"], values[y == "ALL"]
    with np.errstate(invalid="ignore"):
        expected = (myeloid.mean(0) - lymphoid.mean(0)) / (
            myeloid.std(0, ddof=1) + lymphoid.std(0, ddof=1)
        )
    ranker = SignalToNoise().fit(X, y)
    assert ranker.statistic_ == pytest.approx(np.nan_to_num(expected), rel=1e-8, abs=1e-12)
    assert ranker.marked_class_[0] == "AML"
    table = ranker.table()
    high_in_aml = table.filter(pl.col("statistic") > 0)["feature"].head(8).to_list()
    high_in_all = table.filter(pl.col("statistic") < 0)["feature"].head(3).to_list()
    # fumarylacetoacetase, zyxin, LTC4 synthase, LYN, CD33, HoxA9; c-myb, the proteasome, MB-1
    published = {"M55150_at", "X95735_at", "U50136_rna1_at", "M16038_at", "M23197_at", "U82759_at"}
    assert published < set(high_in_aml)
    assert set(high_in_all) == {"U22376_cds2_s_at", "X59417_at", "U05259_rna1_at"}
