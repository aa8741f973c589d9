"""The search by monotone dependence against its reference and the tables of the book."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import ParameterError
from featly.core.sources import DenseSource
from featly.core.stats.copula import class_dependence
from featly.datasets import make_problem
from featly.filters import monotone_dependence
from featly.filters.monotone_dependence import MonotoneDependence
from tests.reference import copula as naive
from tests.reference.columns import order


@st.composite
def tables(draw):
    """Numbers and levels, ties, missing values, constant columns, copies; two or three classes."""
    n_rows, seed = draw(st.integers(4, 9)), draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    y = rng.integers(0, draw(st.integers(2, 3)), n_rows)
    y[:2] = 0, 1
    makers = {
        "number": lambda: rng.normal(size=n_rows),
        "whole": lambda: rng.integers(0, 3, n_rows).astype(float),
        "missing": lambda: np.where(rng.random(n_rows) < 0.3, np.nan, rng.integers(0, 5, n_rows)),
        "constant": lambda: np.full(n_rows, 0.1),
        "level": lambda: [None if c == "d" else str(c) for c in rng.choice(list("abcd"), n_rows)],
    }
    names = draw(st.lists(st.sampled_from(list(makers)), min_size=1, max_size=6))
    columns = [makers[name]() for name in names]
    kinds = ["unordered" if name == "level" else "ordered" for name in names]
    if draw(st.booleans()):
        columns.append(columns[0])
        kinds.append(kinds[0])
    return columns, kinds, y


def make_frame(columns, kinds):
    return pl.DataFrame(
        {
            f"{kind} {position}": pl.Series(
                list(column), dtype=pl.String if kind == "unordered" else pl.Float64
            )
            for position, (column, kind) in enumerate(zip(columns, kinds, strict=True))
        }
    )


@given(tables(), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from([1, 2, 100]))
@settings(max_examples=40)
def test_equals_reference(table, trade_off, max_steps):
    columns, kinds, y = table
    ranker = MonotoneDependence(trade_off=trade_off, max_steps=max_steps)
    ranker.fit(make_frame(columns, kinds), y)
    if trade_off == 0:
        expected = [
            naive.sigma_of_levels(y.tolist(), list(column), both=kind == "unordered")
            for column, kind in zip(columns, kinds, strict=True)
        ]
        assert ranker.relevance_.tolist() == pytest.approx(expected, abs=1e-12)
        assert ranker.order_.tolist() == order(ranker.scores_.tolist())
        assert not hasattr(ranker, "redundancy_")
    else:
        lists = [list(column) for column in columns]
        expected = naive.ranking(lists, kinds, y.tolist(), trade_off, max_steps)
        assert ranker.order_.tolist() == expected
        assert order(ranker.scores_.tolist()) == expected


# ---- the search ----------------------------------------------------------------------------------
def make_table(n_rows=50, n_columns=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, n_columns)) + np.linspace(1.5, 0, n_columns) * y[:, None]
    return X, y


def test_without_a_trade_off_there_is_no_redundancy(monkeypatch):
    X, y = make_table()
    monkeypatch.setattr(monotone_dependence, "dependence", None)
    monkeypatch.setattr(monotone_dependence, "code_columns", None)
    ranker = MonotoneDependence(trade_off=0).fit(X, y)
    assert ranker.scores_.tolist() == class_dependence(DenseSource(X), y, 2).tolist()
    assert ranker.scores_.tolist() == ranker.relevance_.tolist()


def test_the_first_columns_do_not_depend_on_the_number_of_steps():
    X, y = make_table()
    whole = MonotoneDependence().fit(X, y).order_
    for steps in (1, 2, 5, 11):
        assert MonotoneDependence(max_steps=steps).fit(X, y).order_[:steps].tolist() == (
            whole[:steps].tolist()
        )


def test_scores_hold_the_step_and_the_criterion():
    X, y = make_table()
    ranker = MonotoneDependence(trade_off=0.5, max_steps=4).fit(X, y)
    share = (ranker.relevance_ - 0.5 * ranker.redundancy_ + 0.5) / 1.5
    left = np.zeros(12)
    left[ranker.order_[:4]] = [4, 3, 2, 1]
    assert ranker.scores_ == pytest.approx(left + share, abs=1e-9)
    assert ranker.redundancy_[ranker.order_[0]] == 0


def test_a_copy_comes_after_columns_with_other_information():
    X, y = make_table()
    first = MonotoneDependence().fit(X, y).order_[0]
    with_copy = np.column_stack([X, np.exp(-X[:, first])])
    ranker = MonotoneDependence().fit(with_copy, y)
    assert ranker.relevance_[12] == ranker.relevance_[first]
    assert ranker.ranking_[first] == 1
    assert ranker.ranking_[12] > 3
    assert MonotoneDependence(trade_off=0).fit(with_copy, y).ranking_[12] == 2


def test_constant_and_empty_columns_are_last():
    X, y = make_table()
    useless = np.column_stack([np.full(50, 0.1), np.full(50, np.nan), X, np.zeros(50)])
    ranker = MonotoneDependence().fit(useless, y)
    assert ranker.order_[-3:].tolist() == [0, 1, 14]
    assert ranker.relevance_[[0, 1, 14]].tolist() == [0, 0, 0]
    assert ranker.redundancy_[[0, 1, 14]].tolist() == [1, 1, 1]


def test_columns_to_keep_start_the_search():
    X, y = make_table()
    best = MonotoneDependence().fit(X, y).order_[0]
    X = np.column_stack([X, X[:, best]])
    assert MonotoneDependence().fit(X, y).order_[0] == best
    with_keep = MonotoneDependence(schema={"keep": [12, 7]}).fit(X, y)
    assert with_keep.order_[:2].tolist() == [12, 7]
    assert with_keep.ranking_[best] > 3  # equal to a column that is there already
    assert with_keep.redundancy_[7] == pytest.approx(naive.sigma(X[:, 7], X[:, 12]))
    few = MonotoneDependence(schema={"keep": [12, 7]}, max_steps=1).fit(X, y)
    assert few.order_[:2].tolist() == [12, 7]
    assert few.redundancy_[7] == with_keep.redundancy_[7]


def test_two_levels_are_as_good_as_two_numbers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    numbers = rng.integers(0, 2, size=(40, 4)) + 0.0
    numbers[rng.random((40, 4)) < 0.1] = np.nan
    frame = pl.DataFrame(numbers, schema=list("abcd"), nan_to_null=True)
    levels = frame.with_columns(pl.col("b", "c").cast(pl.String))
    from_numbers, from_levels = (MonotoneDependence().fit(table, y) for table in (frame, levels))
    assert from_levels.kinds_ == ["continuous", "categorical", "categorical", "continuous"]
    assert from_levels.order_.tolist() == from_numbers.order_.tolist()
    assert from_levels.relevance_ == pytest.approx(from_numbers.relevance_, abs=1e-14)
    assert from_levels.redundancy_ == pytest.approx(from_numbers.redundancy_, abs=1e-14)


def test_sparse_equals_dense():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 30)) < 0.3, rng.normal(size=(40, 30)), 0.0)
    y = rng.integers(0, 2, size=40)
    for trade_off in (0, 1):
        dense = MonotoneDependence(trade_off=trade_off).fit(X, y)
        sparse = MonotoneDependence(trade_off=trade_off).fit(scipy.sparse.csc_array(X), y)
        assert sparse.scores_.tolist() == dense.scores_.tolist()


# ---- progress, Ctrl-C, parameters -----------------------------------------------------------
def test_progress_counts_columns(capsys):
    X, y = make_table()
    calls = []
    MonotoneDependence(max_steps=3, verbose=lambda *done: calls.append(done)).fit(X, y)
    assert calls == [(1, 3), (2, 3), (3, 3)]
    calls.clear()
    MonotoneDependence(trade_off=0, verbose=lambda *done: calls.append(done)).fit(X, y)
    assert calls == [(12, 12)]
    MonotoneDependence(verbose=True).fit(X, y)
    printed = capsys.readouterr()
    assert "Monotone dependence" in printed.err
    assert printed.out == ""


def test_an_interrupted_search_keeps_what_it_chose():
    X, y = make_table()

    def stop(done, total):
        if done == 4:
            raise KeyboardInterrupt

    ranker = MonotoneDependence(verbose=stop, schema={"keep": [3]})
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y)
    assert ranker.interrupted_
    same = MonotoneDependence(max_steps=4, schema={"keep": [3]}).fit(X, y)
    assert not same.interrupted_
    assert ranker.order_.tolist() == same.order_.tolist()
    assert ranker.scores_.tolist() == same.scores_.tolist()


def test_ctrl_c_before_the_first_choice_ranks_by_relevance(monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    X, y = make_table()
    monkeypatch.setattr(monotone_dependence, "code_columns", stop)
    ranker = MonotoneDependence(schema={"keep": [9, 3]})
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y)
    expected = MonotoneDependence(trade_off=0, schema={"keep": [9, 3]}).fit(X, y)
    assert ranker.order_.tolist() == expected.order_.tolist()
    assert set(ranker.order_[:2].tolist()) == {3, 9}


@pytest.mark.parametrize(
    "parameters",
    [
        {"trade_off": -0.1},
        {"trade_off": np.inf},
        {"trade_off": np.nan},
        {"trade_off": "1"},
        {"trade_off": True},
        {"max_steps": 0},
        {"max_steps": 2.0},
        {"max_steps": True},
    ],
)
def test_wrong_parameters(parameters):
    (name,) = parameters
    with pytest.raises(ParameterError, match=f"^{name}="):
        MonotoneDependence(**parameters).fit(*make_table())


# ---- the book ------------------------------------------------------------------------------------
@pytest.mark.parametrize("trade_off", [0, 1])
def test_corral_as_in_the_book(trade_off):
    """Table 3.1: the four relevant columns and the correlated one before the irrelevant one."""
    problem = make_problem("corral")
    ranker = MonotoneDependence(trade_off=trade_off).fit(problem.X, problem.y)
    first = {problem.X.columns[column] for column in ranker.order_[:5]}
    assert first == {"f1", "f2", "f3", "f4", "f6"}
    assert ranker.relevance_[4] < 0.1


@pytest.mark.parametrize("trade_off", [0, 1])
def test_monk3_as_in_the_book(trade_off):
    """Table 3.7: all three relevant columns are among five, and 2 and 5 are easy to find."""
    problem = make_problem("monk3")
    ranker = MonotoneDependence(trade_off=trade_off).fit(problem.X, problem.y)
    names = [problem.X.columns[column] for column in ranker.order_]
    assert set(names[:2]) == {"f2", "f5"}
    assert {"f2", "f4", "f5"} < set(names[:5])
