"""The redundancy filter against its definition, and the checks of every method."""

import re
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.core.pairs import search
from featly.core.ranking.ordering import round_scores
from featly.core.runtime.question import question
from featly.filters.fcbf import FCBF
from featly.filters.redundancy_filter import RedundancyFilter
from featly.problem.scan import scan
from featly.testing import CHECKS, method_checks
from tests.filters.test_cfs import lists, tables
from tests.reference import all_pairs as naive
from tests.reference.subset_filters import uncertainty

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


# ---- greedy --------------------------------------------------------------------------------------
@given(tables(), st.sampled_from([0.1, 0.4, 1.0]), st.integers(0, 2), st.booleans())
def test_greedy_equals_definition(table, threshold, n_keep, scarce):
    X, y = table
    keep = list(range(X.shape[1] - 1, max(X.shape[1] - 1 - n_keep, -1), -1))
    with pytest.MonkeyPatch.context() as patch:
        if scarce:  # several panels of blocks of a few columns
            patch.setattr(search, "_plan", lambda columns, memory: (2, 1))
        selector = RedundancyFilter(
            measure="information", discretizer=None, threshold=threshold, schema={"keep": keep}
        ).fit(X, y)
    columns, _ = lists(X, y)
    values = naive.square(columns, "information")
    relevance = round_scores(selector.relevance_)
    order = sorted(range(len(columns)), key=lambda f: (-relevance[f], f))
    order = [f for f in order if f in keep] + [f for f in order if f not in keep]
    # a value that is the threshold but for rounding reaches it
    chosen, gone = naive.drop_redundant(values, order, threshold - 1e-9, len(keep))
    assert selector.order_.tolist() == chosen
    assert selector.redundant_to_.tolist() == [gone.get(f, -1) for f in range(len(columns))]
    for f, g in gone.items():
        assert selector.redundancy_[f] == pytest.approx(values[f][g], abs=1e-9)


@pytest.mark.parametrize("measure", ["pearson", "spearman"])
def test_greedy_of_correlations(measure, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 60)) + rng.normal(size=(30, 1))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, 30)
    columns = [[None if np.isnan(x) else float(x) for x in column] for column in X.T]
    values = naive.square(columns, measure)
    for block in (60, 7):
        monkeypatch.setattr(search, "_plan", lambda columns, memory, block=block: (block, 2))
        selector = RedundancyFilter(measure=measure, threshold=0.6).fit(X, y)
        order = sorted(range(60), key=lambda f: (-selector.relevance_[f], f))
        chosen, gone = naive.drop_redundant(values, order, 0.6)
        assert selector.order_.tolist() == chosen
        assert 5 < len(chosen) < 55
        assert selector.redundant_to_.tolist() == [gone.get(f, -1) for f in range(60)]


def test_the_first_of_several_copies_is_chosen():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 10))
    y = (X[:, 0] > 0).astype(int)
    X = np.hstack([X, 5 - 2 * X])
    selector = RedundancyFilter(threshold=1.0).fit(X, y)
    assert sorted(selector.order_.tolist()) == list(range(10))
    assert selector.redundant_to_.tolist() == [-1] * 10 + list(range(10))
    assert (selector.redundancy_[10:] == 1).all()
    assert not selector.interrupted_
    with_keep = RedundancyFilter(threshold=1.0, schema={"keep": [13]}).fit(X, y)
    assert with_keep.order_[0] == 13
    assert with_keep.redundant_to_[3] == 13


def test_relevance_measures():
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
    memory_mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for parameters in ({}, {"measure": "information"}, {"rule": "groups"}):
        expected = RedundancyFilter(**parameters).fit(X, y)
        selector = RedundancyFilter(memory_limit="1MB", **parameters).fit(memory_mapped, y)
        assert selector.order_.tolist() == expected.order_.tolist()
        assert selector.redundant_to_.tolist() == expected.redundant_to_.tolist()
    assert len(RedundancyFilter().fit(X, y).order_) == 400


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_scanned_table_is_read_in_the_order_of_relevance(order, tmp_path, monkeypatch):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 4, (60, 1500)).astype(np.float64)
    X[:, 700:1400] = 3 - X[:, :700]
    X[rng.random(X.shape) < 0.002] = np.nan
    y = rng.integers(0, 3, 60)
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    monkeypatch.setattr(search, "_plan", lambda columns, memory: (64, 3))
    reads = []
    with scan(tmp_path / "X.npy") as table:
        for parameters in (
            {},
            {"measure": "spearman"},
            {"measure": "information", "discretizer": "equal-frequency"},
            {"rule": "groups", "least_relevance": 0.0},
        ):
            expected = RedundancyFilter(**parameters).fit(X, y)
            assert (expected.redundant_to_ >= 0).sum() > 0
            read = type(table)._read

            def count(self, low, high, read=read):
                reads.append(high - low)
                return read(self, low, high)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(table), "_read", count)
                reads.clear()
                selector = RedundancyFilter(memory_limit="1MB", **parameters).fit(table, y)
            assert selector.order_.tolist() == expected.order_.tolist()
            assert selector.redundant_to_.tolist() == expected.redundant_to_.tolist()
            assert np.array_equal(selector.redundancy_, expected.redundancy_)
            # a pass for the relevance and one or two to write them down, however many blocks
            assert sum(reads) <= 7 * 1500


def test_covered_by_has_the_names_of_chosen_columns():
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({"dose": rng.normal(size=30), "age": rng.normal(size=30)})
    frame = frame.with_columns((2 * frame["dose"]).alias("twice"))
    for parameters in ({}, {"rule": "groups", "least_relevance": 0.0, "discretizer": "pkid"}):
        selector = RedundancyFilter(**parameters).fit(frame, np.arange(30) % 2)
        table = selector.table()
        assert table.columns[-3:] == ["relevance", "redundancy", "covered_by"]
        assert table.schema["covered_by"] == pl.String
        covered = dict(zip(table["feature"], table["covered_by"], strict=True))
        assert covered["twice"] == "dose"
        assert covered["dose"] is None
        assert selector.covered_by_.tolist() == [covered[name] for name in frame.columns]


def test_few_rows_and_uninformative_columns():
    single = RedundancyFilter().fit(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 5.0]]), [0, 1])
    assert single.order_.tolist() == [0, 2]  # two rows agree always; a constant one with none
    for X in (np.ones((4, 3)), np.full((4, 3), np.nan)):
        assert RedundancyFilter().fit(X, [0, 1, 0, 1]).order_.tolist() == [0, 1, 2]
        assert RedundancyFilter(rule="groups").fit(X, [0, 1, 0, 1]).order_.tolist() == [0]
    copies = np.repeat(np.random.default_rng(0).normal(size=(9, 1)), 5000, axis=1)
    assert RedundancyFilter().fit(copies, np.arange(9) % 2).order_.tolist() == [0]


def test_columns_that_mdlp_does_not_cut_are_redundant_to_none():
    x = np.random.default_rng(1).normal(size=(40, 1))
    X, y = np.hstack([x, x]), np.arange(40) % 2
    assert len(RedundancyFilter(measure="information").fit(X, y).order_) == 2
    cut = RedundancyFilter(measure="information", discretizer="equal-frequency")
    assert len(cut.fit(X, y).order_) == 1


def test_leukemia_against_numpy_and_scipy(data_folder):
    """On real data, correlations of NumPy and F of SciPy, one column after the other."""
    frame = pl.read_parquet(data_folder / "leukemia_golub.parquet")
    X, y = frame.drop("split", "class").to_numpy()[:, :2000].astype(float), frame["class"]
    labels = y.to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        correlations = np.nan_to_num(np.abs(np.corrcoef(X.T)))
        f = scipy.stats.f_oneway(*(X[labels == label] for label in np.unique(labels))).statistic
    order = np.argsort(-np.nan_to_num(f), kind="stable")
    chosen, gone = [], {}
    for column in order.tolist():
        before = [other for other in chosen if correlations[other, column] >= 0.8]
        if before:
            gone[column] = before[0]
        else:
            chosen.append(column)
    selector = RedundancyFilter(threshold=0.8).fit(X, y)
    assert selector.order_.tolist() == chosen
    assert {f: g for f, g in enumerate(selector.redundant_to_.tolist()) if g >= 0} == gone
    assert len(gone) > 100


def test_ctrl_c_keeps_decided_columns(monkeypatch):
    monkeypatch.setattr(search, "_plan", lambda columns, memory: (8, 100))
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

    def stop_at_once(done, total):
        raise KeyboardInterrupt

    nothing = RedundancyFilter(verbose=stop_at_once)
    monkeypatch.setattr(
        "featly.filters.redundancy_filter.drop_redundant",
        question(lambda *a: (np.full(64, -1), np.zeros(64), 0)),
    )
    with pytest.raises(KeyboardInterrupt):
        nothing.fit(X, y)
    assert not hasattr(nothing, "order_")


# ---- groups --------------------------------------------------------------------------------------
@given(tables(), st.sampled_from([0.0, 0.1, 0.5]), st.booleans())
def test_groups_equal_the_fast_algorithm(table, least, largest):
    X, y = table
    selector = RedundancyFilter(
        rule="groups",
        least_relevance=least,
        discretizer=None,
        tree="largest" if largest else "smallest",
    ).fit(X, y)
    columns, labels = lists(X, y)
    grid = 2.0**36
    values = [[round(v * grid) / grid for v in row] for row in naive.square(columns, "information")]
    relevance = [round(uncertainty(column, labels) * grid) / grid for column in columns]
    assert selector.relevance_ == pytest.approx(relevance, abs=1e-9)
    assert selector.empty_ == (max(relevance) <= least)
    assert selector.order_.tolist() == naive.fast(values, relevance, least, largest=largest)
    for f, other in enumerate(selector.redundant_to_.tolist()):
        if other >= 0:
            assert f not in selector.order_
            assert other in selector.order_
            assert selector.redundancy_[f] == pytest.approx(values[f][other], abs=1e-9)
        else:
            assert f in selector.order_ or relevance[f] <= least


def test_the_papers_tree_separates_copies():
    """The paper's tree keeps two copies of a column; the default tree does not."""
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1] * 8)
    copy = np.where(np.arange(64) % 8 == 0, 1 - y, y)
    free = np.where(np.arange(64) % 2 == 0, y, np.arange(64) // 16 % 2)
    X = np.column_stack([copy, copy, free])
    paper = RedundancyFilter(rule="groups", least_relevance=0.0, discretizer=None, tree="smallest")
    ours = RedundancyFilter(rule="groups", least_relevance=0.0, discretizer=None)
    assert sorted(ours.fit(X, y).order_.tolist()) == [0, 2]
    assert sorted(paper.fit(X, y).order_.tolist()) == [0, 1, 2]


def test_groups_without_a_least_relevance():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 200)
    X = np.where(rng.random((200, 100)) < rng.random(100) * 0.5, y[:, None], 0)
    X = X + rng.integers(0, 2, X.shape)
    selector = RedundancyFilter(rule="groups", discretizer=None).fit(X, y)
    rank = int(np.sqrt(100) * np.log2(100))
    least = np.sort(selector.relevance_)[::-1][rank - 1]
    same = RedundancyFilter(rule="groups", discretizer=None, least_relevance=float(least))
    assert selector.order_.tolist() == same.fit(X, y).order_.tolist()
    with_keep = RedundancyFilter(rule="groups", discretizer=None, schema={"keep": [7, 3]}).fit(X, y)
    assert set(with_keep.order_[:2].tolist()) == {3, 7}
    assert (with_keep.redundant_to_[[3, 7]] == -1).all()


def test_groups_that_do_not_fit_are_refused():
    rng = np.random.default_rng(6)
    X, y = rng.integers(0, 2, (4000, 300)), rng.integers(0, 2, 4000)
    with pytest.raises(DataError, match=r"columns are above least_relevance=0\.0 and take"):
        RedundancyFilter(
            rule="groups", least_relevance=0, discretizer=None, memory_limit="1MB"
        ).fit(X, y)


def test_leukemia_groups(data_folder):
    frame = pl.read_parquet(data_folder / "leukemia_golub.parquet")
    X, y = frame.drop("split", "class"), frame["class"]
    selector = RedundancyFilter(rule="groups").fit(X, y)
    first = FCBF().fit(X, y)
    assert selector.order_[0] == first.order_[0]  # both start from the most relevant column
    assert 1 < len(selector.order_) < 1000


# ---- parameters ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "best"}, "rule='best': give 'greedy' or 'groups'"),
        ({"rule": None}, "rule=None"),
        ({"threshold": 0}, "threshold=0: give a number above 0"),
        ({"threshold": True}, "threshold=True"),
        ({"measure": "cosine"}, "measure='cosine'"),
        ({"relevance": "gain"}, "relevance='gain': give 'f', 'information'"),
        ({"tree": "oak"}, "tree='oak': give 'largest' or 'smallest'"),
        ({"rule": "groups", "least_relevance": 1}, "least_relevance=1: give a number from 0"),
        ({"rule": "groups", "measure": "pearson"}, "give measure='information', or rule='greedy'"),
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
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        RedundancyFilter(**parameters).fit(np.eye(4), [0, 1, 0, 1])


def test_kinds_follow_the_measure():
    frame = pl.DataFrame({"ward": ["a", "b", "a", "b"], "dose": [1.0, 2.0, 3.0, 4.0]})
    y = [0, 1, 0, 1]
    for parameters in ({}, {"measure": "information", "relevance": "f"}):
        with pytest.raises(DataError, match="'ward' is categorical"):
            RedundancyFilter(**parameters).fit(frame, y)
    selector = RedundancyFilter(measure="information", threshold=1.0).fit(frame, y)
    assert selector.order_[0] == 0
    assert RedundancyFilter(rule="groups").fit(frame, y).order_.tolist() == [0]
