"""The redundancy filter against its definition, and the checks of every method."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.core import all_pairs
from featly.errors import DataError, ParameterError
from featly.filters.fcbf import FCBF
from featly.filters.redundancy_filter import RedundancyFilter
from featly.testing import CHECKS, method_checks
from tests.reference import all_pairs as naive
from tests.reference.subset_filters import uncertainty
from tests.test_cfs import lists, tables

VARIANTS = [
    RedundancyFilter(),
    RedundancyFilter(measure="spearman", threshold=0.3),
    RedundancyFilter(rule="groups"),
    RedundancyFilter(rule="groups", least_relevance=0.0),
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{estimator!r}-{name}")
        for estimator in VARIANTS
        for name, check in method_checks(estimator)
    ],
)
def test_check(estimator, check):
    check(estimator)


def test_scikit_learn():
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(RedundancyFilter(), on_skip=None)
    assert CHECKS


# ---- greedy ---------------------------------------------------------------------------------
@given(tables(), st.sampled_from([0.1, 0.4, 1.0]), st.integers(0, 2), st.booleans())
def test_greedy_is_the_definition(table, threshold, n_keep, scarce):
    X, y = table
    keep = list(range(X.shape[1] - 1, max(X.shape[1] - 1 - n_keep, -1), -1))
    with pytest.MonkeyPatch.context() as patch:
        if scarce:  # several panels of blocks of a few columns
            patch.setattr(all_pairs, "_plan", lambda columns, memory: (2, 1))
        found = RedundancyFilter(
            measure="information", discretizer=None, threshold=threshold, schema={"keep": keep}
        ).fit(X, y)
    columns, _ = lists(X, y)
    values = naive.square(columns, "information")
    order = sorted(range(len(columns)), key=lambda f: (-found.relevance_[f], f))
    order = [f for f in order if f in keep] + [f for f in order if f not in keep]
    # a value that is the threshold but for rounding reaches it
    chosen, gone = naive.without_redundant(values, order, threshold - 1e-9, len(keep))
    assert found.order_.tolist() == chosen
    assert found.redundant_to_.tolist() == [gone.get(f, -1) for f in range(len(columns))]
    for f, g in gone.items():
        assert found.redundancy_[f] == pytest.approx(values[f][g], abs=1e-9)


@pytest.mark.parametrize("measure", ["pearson", "spearman"])
def test_greedy_of_correlations(measure, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 60)) + rng.normal(size=(30, 1))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 30)
    columns = [[None if np.isnan(x) else float(x) for x in column] for column in X.T]
    values = naive.square(columns, measure)
    for block in (60, 7):
        monkeypatch.setattr(all_pairs, "_plan", lambda columns, memory, block=block: (block, 2))
        found = RedundancyFilter(measure=measure, threshold=0.6).fit(X, y)
        order = sorted(range(60), key=lambda f: (-found.relevance_[f], f))
        chosen, gone = naive.without_redundant(values, order, 0.6)
        assert found.order_.tolist() == chosen
        assert 5 < len(chosen) < 55
        assert found.redundant_to_.tolist() == [gone.get(f, -1) for f in range(60)]


def test_copies_go_and_the_first_stays():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 10))
    y = (X[:, 0] > 0).astype(int)
    X = np.hstack([X, 5 - 2 * X])
    found = RedundancyFilter(threshold=1.0).fit(X, y)
    assert sorted(found.order_.tolist()) == list(range(10))
    assert found.redundant_to_.tolist() == [-1] * 10 + list(range(10))
    assert (found.redundancy_[10:] == 1).all()
    assert not found.interrupted_
    kept = RedundancyFilter(threshold=1.0, schema={"keep": [13]}).fit(X, y)
    assert kept.order_[0] == 13
    assert kept.redundant_to_[3] == 13


def test_relevance_is_what_was_asked_for():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 1))
    X = np.hstack([x, x + 1e-6 * rng.normal(size=(60, 1)), np.sign(x)])
    y = (x[:, 0] > 0).astype(int)
    f = RedundancyFilter(threshold=0.9).fit(X, y)
    assert f.order_.tolist()[0] == 2
    assert f.relevance_[2] == 1e300  # F is infinite
    gain = RedundancyFilter(threshold=0.9, relevance="information").fit(X, y)
    assert gain.relevance_.max() == pytest.approx(1.0, abs=0.05)


def test_on_disk(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (60, 700)).astype(np.float32)
    X[:, 300:600] = X[:, :300]
    y = rng.integers(0, 2, 60)
    np.save(tmp_path / "X.npy", X)
    there = np.load(tmp_path / "X.npy", mmap_mode="r")
    for parameters in ({}, {"measure": "information"}, {"rule": "groups"}):
        expected = RedundancyFilter(**parameters).fit(X, y)
        found = RedundancyFilter(memory_limit="1MB", **parameters).fit(there, y)
        assert found.order_.tolist() == expected.order_.tolist()
        assert found.redundant_to_.tolist() == expected.redundant_to_.tolist()
    assert len(RedundancyFilter().fit(X, y).order_) == 400


def test_ctrl_c_keeps_what_was_decided(monkeypatch):
    monkeypatch.setattr(all_pairs, "_plan", lambda columns, memory: (8, 100))
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 64)), np.arange(20) % 2
    whole = RedundancyFilter(threshold=0.4).fit(X, y)

    def stop(done, total):
        assert total == 36
        if done == 8:
            raise KeyboardInterrupt

    stopped = RedundancyFilter(threshold=0.4, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, y)
    assert stopped.interrupted_
    count = len(stopped.order_)
    assert 0 < count < len(whole.order_)
    assert stopped.order_.tolist() == whole.order_[:count].tolist()

    def at_once(done, total):
        raise KeyboardInterrupt

    nothing = RedundancyFilter(verbose=at_once)
    monkeypatch.setattr(
        all_pairs, "without_redundant", lambda *a: (np.full(64, -1), np.zeros(64), 0)
    )
    with pytest.raises(KeyboardInterrupt):
        nothing.fit(X, y)
    assert not hasattr(nothing, "order_")


# ---- groups ---------------------------------------------------------------------------------
@given(tables(), st.sampled_from([0.0, 0.1, 0.5]), st.booleans())
def test_groups_are_fast(table, least, largest):
    X, y = table
    found = RedundancyFilter(
        rule="groups",
        least_relevance=least,
        discretizer=None,
        tree="largest" if largest else "smallest",
    ).fit(X, y)
    columns, labels = lists(X, y)
    grid = 2.0**36
    values = [[round(v * grid) / grid for v in row] for row in naive.square(columns, "information")]
    relevance = [round(uncertainty(column, labels) * grid) / grid for column in columns]
    assert found.relevance_ == pytest.approx(relevance, abs=1e-9)
    assert found.empty_ == (max(relevance) <= least)
    assert found.order_.tolist() == naive.fast(values, relevance, least, largest=largest)
    for f, other in enumerate(found.redundant_to_.tolist()):
        if other >= 0:
            assert f not in found.order_
            assert other in found.order_
            assert found.redundancy_[f] == pytest.approx(values[f][other], abs=1e-9)
        else:
            assert f in found.order_ or relevance[f] <= least


def test_the_papers_tree_keeps_copies_apart():
    """Why the default tree is not that of the paper."""
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 8)
    told = np.where(np.arange(64) % 8 == 0, 1 - y, y)
    free = np.where(np.arange(64) % 2 == 0, y, np.arange(64) // 16 % 2)
    X = np.column_stack([told, told, free])
    paper = RedundancyFilter(rule="groups", least_relevance=0.0, discretizer=None, tree="smallest")
    ours = RedundancyFilter(rule="groups", least_relevance=0.0, discretizer=None)
    assert sorted(ours.fit(X, y).order_.tolist()) == [0, 2]
    assert sorted(paper.fit(X, y).order_.tolist()) == [0, 1, 2]


def test_groups_without_a_least_relevance():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 200)
    X = np.where(rng.random((200, 100)) < rng.random(100) * 0.5, y[:, None], 0)
    X = X + rng.integers(0, 2, X.shape)
    found = RedundancyFilter(rule="groups", discretizer=None).fit(X, y)
    place = int(np.sqrt(100) * np.log2(100))
    least = np.sort(found.relevance_)[::-1][place - 1]
    same = RedundancyFilter(rule="groups", discretizer=None, least_relevance=float(least))
    assert found.order_.tolist() == same.fit(X, y).order_.tolist()
    kept = RedundancyFilter(rule="groups", discretizer=None, schema={"keep": [7, 3]}).fit(X, y)
    assert set(kept.order_[:2].tolist()) == {3, 7}
    assert (kept.redundant_to_[[3, 7]] == -1).all()


def test_groups_that_do_not_fit_are_refused():
    rng = np.random.default_rng(6)
    X, y = rng.integers(0, 2, (4000, 300)), rng.integers(0, 2, 4000)
    with pytest.raises(DataError, match="columns are above least_relevance=0 and take"):
        RedundancyFilter(
            rule="groups", least_relevance=0, discretizer=None, memory_limit="1MB"
        ).fit(X, y)


def test_leukemia_groups(data_folder):
    frame = pl.read_parquet(data_folder / "leukemia_golub.parquet")
    X, y = frame.drop("split", "class"), frame["class"]
    found = RedundancyFilter(rule="groups").fit(X, y)
    first = FCBF().fit(X, y)
    assert found.order_[0] == first.order_[0]  # both start from the most relevant column
    assert 1 < len(found.order_) < 1000


# ---- parameters -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"rule": "best"}, "rule='best': give 'greedy' or 'groups'"),
        ({"rule": None}, "rule=None"),
        ({"threshold": 0}, "threshold=0: give a number above 0"),
        ({"threshold": True}, "threshold=True"),
        ({"measure": "cosine"}, "measure='cosine'"),
        ({"relevance": "gain"}, "relevance='gain': give 'f', 'information'"),
        ({"tree": "oak"}, "tree='oak': give 'largest' or 'smallest'"),
        ({"rule": "groups", "least_relevance": 1}, "least_relevance=1: give a number from 0"),
        ({"rule": "groups", "measure": "pearson"}, "so give measure='information'"),
        ({"rule": "groups", "threshold": 0.5}, "threshold=0.5 is of no use with rule='groups'"),
        ({"rule": "groups", "relevance": "f"}, "relevance='f' is of no use with rule='groups'"),
        ({"tree": "smallest"}, "tree='smallest' is of no use with rule='greedy'"),
        ({"least_relevance": 0.1}, "least_relevance=0.1 is of no use with rule='greedy'"),
        ({"discretizer": None}, "discretizer=None is of no use with measure='pearson'"),
        ({"measure": "information", "discretizer": "half"}, "discretizer='half'"),
        ({"device": "gpu"}, "device='gpu'"),
        ({"memory_limit": 3}, "memory_limit=3"),
    ],
)
def test_senseless_parameters_are_named(parameters, told):
    with pytest.raises(ParameterError, match=re.escape(told)):
        RedundancyFilter(**parameters).fit(np.eye(4), [0, 1, 0, 1])


def test_kinds_follow_the_measure():
    frame = pl.DataFrame({"ward": ["a", "b", "a", "b"], "dose": [1.0, 2.0, 3.0, 4.0]})
    y = [0, 1, 0, 1]
    for parameters in ({}, {"measure": "information", "relevance": "f"}):
        with pytest.raises(DataError, match="'ward' is categorical"):
            RedundancyFilter(**parameters).fit(frame, y)
    found = RedundancyFilter(measure="information", threshold=1.0).fit(frame, y)
    assert found.order_[0] == 0
    assert RedundancyFilter(rule="groups").fit(frame, y).order_.tolist() == [0]
