import csv
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import ParameterError
from featly.core.counts.codes import DenseCodes
from featly.filters.consistency import Consistency, ConsistencyMeasure, las_vegas
from tests.filters.test_cfs import cut_as_weka, lists, read_golden, tables
from tests.reference import subset_filters as naive


def varying(table):
    """Without constant columns, which are not looked at, unless there are no others."""
    X, y = table
    codes = np.nan_to_num(X)
    varies = (codes != codes[0]).any(axis=0)
    return (X[:, varies], y) if varies.any() else table


@given(tables(), st.sampled_from([0.0, 0.2]), st.booleans())
def test_forward_equals_reference(table, threshold, has_keep):
    X, y = varying(table)
    keep = list(range(X.shape[1]))[:-4:-1] if has_keep else []
    columns, labels = lists(X, y)
    allowed = int(threshold * len(y) + 1e-9)
    selector = Consistency(
        search="forward", threshold=threshold, discretizer=None, schema={"keep": keep}
    ).fit(X, y)
    expected = naive.forward(columns, labels, keep, allowed)
    assert selector.order_.tolist() == expected
    count = naive.count_inconsistent([columns[f] for f in expected], labels)
    assert selector.rate_ == count / len(y)
    assert selector.empty_ == (count == naive.count_inconsistent([], labels))
    scores = [naive.uncertainty(column, labels) for column in columns]
    assert selector.uncertainty_ == pytest.approx(scores, abs=1e-9)


@given(tables(), st.booleans())
def test_best_first_equals_reference(table, has_keep):
    X, y = varying(table)
    keep = [X.shape[1] - 1] if has_keep else []
    columns, labels = lists(X, y)

    def merit(subset):
        return 1 - naive.count_inconsistent([columns[f] for f in subset], labels) / len(labels)

    subset, best = naive.best_first(len(columns), merit, keep, threshold=0.5 / len(y))
    selector = Consistency(discretizer=None, schema={"keep": keep}).fit(X, y)
    assert set(selector.order_.tolist()) == subset
    assert 1 - selector.rate_ == pytest.approx(best, abs=1e-8)


@given(tables(), st.integers(0, 99), st.booleans())
def test_las_vegas_stays_as_consistent_as_all_columns(table, seed, has_keep):
    X, y = table
    keep = [X.shape[1] - 1] if has_keep else []
    columns, labels = lists(X, y)
    selector = Consistency(
        search="lvf", n_tries=200, random_state=seed, discretizer=None, schema={"keep": keep}
    ).fit(X, y)
    chosen = selector.order_.tolist()
    assert set(keep) <= set(chosen)
    everything = naive.count_inconsistent(columns, labels) / len(y)
    assert selector.rate_ == everything or len(chosen) == 1
    assert selector.n_evaluated_ <= 200
    # with so few columns 200 tries find one of the smallest subsets
    smaller = [set(chosen) - {f} for f in chosen if f not in keep]
    for subset in smaller:
        if subset:
            assert (
                naive.count_inconsistent([columns[f] for f in subset], labels) / len(y) > everything
            )


def test_las_vegas_depends_on_its_seed_not_on_the_order_of_columns_or_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(50, 30))
    y = (X[:, :4].sum(axis=1) + rng.integers(0, 2, 50)) % 3
    outcomes = []
    for seed in range(6):
        method = Consistency(search="lvf", n_tries=60, random_state=seed, discretizer=None)
        chosen = method.fit(X, y).order_.tolist()
        assert method.fit(X, y).order_.tolist() == chosen
        columns, rows = rng.permutation(30), rng.permutation(50)
        moved = columns[method.fit(X[rows][:, columns], y[rows]).order_].tolist()
        assert moved == chosen
        outcomes.append(tuple(chosen))
    assert len(set(outcomes)) > 1


def test_las_vegas_stops_at_the_threshold_and_on_control_c():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = np.column_stack([np.where(rng.random(100) < 0.95, y, 1 - y), rng.integers(0, 9, (100, 9))])
    exact, rough = (
        Consistency(search="lvf", discretizer=None, threshold=t).fit(X, y) for t in (0.0, 0.1)
    )
    assert exact.rate_ == 0
    assert rough.order_.tolist() == [0]
    assert 0 < rough.rate_ <= 0.1
    codes = DenseCodes((X.T + 1).astype(np.uint8), np.full(10, 9))

    def stop(done, _):
        if done == 3:
            raise KeyboardInterrupt

    measure = ConsistencyMeasure(codes, y, 2, 0)
    search_result = las_vegas(
        measure, np.arange(10), np.array([], int), n_tries=9, random_state=0, progress=stop
    )
    assert search_result.interrupted
    assert search_result.n_evaluated == 3
    method = Consistency(search="lvf", discretizer=None, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, y)
    assert method.order_.tolist()
    assert method.rate_ == 0


@pytest.mark.parametrize("search", ["best-first", "forward", "lvf"])
def test_tables_without_anything_to_choose(search):
    y = np.arange(12) % 2
    method = Consistency(search=search, discretizer=None)
    flat = method.fit(np.ones((12, 3), int), y)
    assert flat.empty_
    assert flat.order_.tolist() == [0]
    assert flat.rate_ == 0.5
    with_keep = method.set_params(schema={"keep": [2]}).fit(np.ones((12, 3), int), y)
    assert with_keep.empty_
    assert with_keep.order_.tolist() == [2]


def test_the_rate_is_that_of_all_chosen_columns():
    y = np.array([0] * 5 + [1] * 5)
    X = np.column_stack([y, np.zeros(10, int)])
    X[9] = 0, 1
    method = Consistency(threshold=0.1, discretizer=None, schema={"keep": [0, 1]})
    assert method.fit(X, y).rate_ == 0  # the first column is good enough, but not alone


def test_a_missing_value_is_a_value():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    assert Consistency(discretizer=None).fit(X, [0, 0, 1, 1]).rate_ == 0


@pytest.mark.parametrize("name", ["heart_cleveland", "hepatitis", "monk1", "monk2", "monk3"])
def test_equals_weka(data_folder, name):
    frame, y, _, _ = read_golden(data_folder, name)
    X = cut_as_weka(frame, y)
    with (data_folder.parent / "golden" / "consistency_weka36.csv").open() as file:
        outcomes = [row for row in csv.reader(file) if row[0] == name]
    assert len(outcomes) == 2
    for _, search, merit, subset in outcomes:
        ours = "best-first" if search.startswith("BestFirst") else "forward"
        selector = Consistency(search=ours, discretizer=None).fit(X, y)
        assert 1 - selector.rate_ == pytest.approx(float(merit), abs=5e-4)
        assert selector.empty_ == (subset == "")
        if subset:
            assert sorted(selector.order_.tolist()) == [int(f) for f in subset.split()]


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"search": "backward"}, "search='backward'"),
        ({"search": None}, "search=None"),
        ({"threshold": 1}, "threshold=1"),
        ({"threshold": -0.1}, "threshold=-0.1"),
        ({"max_stale": 0}, "max_stale=0"),
        ({"n_tries": 50}, "n_tries is for search='lvf'"),
        ({"search": "lvf", "max_stale": 3}, "max_stale is for search='best-first'"),
        ({"search": "lvf", "n_tries": 0}, "n_tries=0"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": None}, "random_state=None"),
        ({"discretizer": 3}, "discretizer=3"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    with pytest.raises(ParameterError, match=re.escape(word)):
        Consistency(**parameters).fit(np.eye(4), [0, 1, 0, 1])
