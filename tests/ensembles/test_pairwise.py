"""One list from many: the lists are those of the ranker on two classes, and nothing is lost."""

import pickle
import threading

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from featly import (
    AROM,
    JMI,
    MKLRFE,
    SVMRFE,
    ForestRanker,
    FTest,
    InformationGain,
    MulticlassSVMRFE,
    PairwiseRanker,
    ReliefF,
    SignalToNoise,
    UnivariateTest,
)
from featly.basics.errors import ConvergenceWarning, DataError, ParameterError, SchemaWarning
from featly.combine import engine
from featly.combine.rankings import RULES, combine_rankings
from featly.core.runtime.parallel import run_blocks
from featly.filters._greedy import GreedyInformation
from featly.registry import METHODS, method_class
from tests.reference import pairwise as naive


def three_classes(n=60, p=8, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    y = np.array(list("abc"))[np.arange(n) % 3]
    X = rng.normal(size=(n, p))
    X[:, 1] += 3 * (y == "a")
    X[:, 4] += 3 * (y == "c")
    return X.astype(dtype), y


def mixed_table(n=72, seed=0):
    """Numbers, a complete category whose levels vanish with a class, and an ordinal column."""
    rng = np.random.default_rng(seed)
    y = np.array(["x", "y", "z", "w"])[rng.integers(0, 4, n)]
    y[:4] = ["x", "y", "z", "w"]
    site = np.where(y == "z", "only z", rng.choice(["north", "south", "west"], n))
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=n) + 2 * (y == "x"),
            "site": site,
            "b": rng.normal(size=n),
            "grade": rng.integers(1, 4, n),
            "kind": np.where(rng.random(n) < 0.8, y, "other"),
            "constant": np.ones(n),
        }
    )
    return frame, y


RANKERS = {
    "svm-rfe": SVMRFE(step=1),
    "clinical": SVMRFE(kernel="clinical"),
    "mkl-rfe": MKLRFE(),
    "information-gain": InformationGain(),
    "univariate": UnivariateTest(),
    "relieff": ReliefF(),
}


@pytest.mark.parametrize("decomposition", ["ovo", "ova"])
@pytest.mark.parametrize("name", RANKERS)
def test_lists_equal_the_ranker_on_two_classes(name, decomposition):
    ranker = RANKERS[name]
    X, y = mixed_table()
    pairs = PairwiseRanker(ranker, decomposition=decomposition, n_jobs=2).fit(X, y)
    expected = naive.lists(ranker, X, y, decomposition)
    assert list(pairs.rankings_) == list(expected)
    for key, positions in expected.items():
        np.testing.assert_array_equal(pairs.rankings_[key], positions, err_msg=str(key))
    np.testing.assert_array_equal(np.column_stack(list(expected.values())), pairs.positions_)


@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 4),
    decomposition=st.sampled_from(["ovo", "ova"]),
    layout=st.sampled_from(["C", "F", "float32", "sparse"]),
)
@settings(max_examples=30, deadline=None)
def test_lists_of_tied_tables_in_any_layout(seed, n_classes, decomposition, layout):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 20)])
    X = rng.integers(0, 3, size=(len(y), 6)).astype(np.float32 if layout == "float32" else float)
    X[:, 2] = 1.0
    X = {"F": np.asfortranarray, "sparse": scipy.sparse.csr_array}.get(layout, np.asarray)(X)
    ranker = SignalToNoise()
    pairs = PairwiseRanker(ranker, decomposition=decomposition).fit(X, y)
    expected = naive.lists(ranker, X, y, decomposition)
    assert list(pairs.rankings_) == list(expected)
    for key, positions in expected.items():
        np.testing.assert_array_equal(pairs.rankings_[key], positions)


GREEDY = [
    ranker
    for ranker in (method_class(name)() for name in METHODS)
    if isinstance(ranker, GreedyInformation)
]


@pytest.mark.parametrize("ranker", GREEDY)
def test_uninformative_columns_tie_in_greedy_lists(ranker):
    rng = np.random.default_rng(0)
    y = np.repeat(list("abcd"), 30)
    X = rng.normal(size=(120, 20))
    X[:, 19] += 3 * (y == "d")
    X[:, 18] += 3 * (y == "a")
    pairs = PairwiseRanker(ranker).fit(X, y)
    mirrored = PairwiseRanker(ranker).fit(X[:, ::-1], y)
    assert set(pairs.order_[:2].tolist()) == {18, 19}
    np.testing.assert_array_equal(pairs.positions_, mirrored.positions_[::-1])
    assert (pairs.rankings_["b", "c"] == 10.5).all()  # nothing there passes the discretiser


def test_one_column_after_the_other_is_no_tie():
    X, y = three_classes()
    X = np.round(X)
    X[:, 7] = X[:, 1]  # redundant once the other is chosen
    pairs = PairwiseRanker(JMI(discretizer=None)).fit(X, y)
    for positions in pairs.rankings_.values():
        assert positions[1] != positions[7]


def test_columns_without_weight_tie_whatever_the_round():
    X, y = three_classes(p=20)
    X[:, 6:] = 1.0
    for ranker in (SVMRFE(), SVMRFE(step=1), MKLRFE(), MulticlassSVMRFE(step=1)):
        for positions in PairwiseRanker(ranker).fit(X, y).rankings_.values():
            assert set(positions[6:].tolist()) == {13.5}, ranker


@pytest.mark.parametrize("rule", RULES)
def test_the_rule_combines_the_lists(rule):
    X, y = three_classes()
    pairs = PairwiseRanker(FTest(), combine=rule).fit(X, y)
    combined = combine_rankings(pairs.positions_, rule)
    np.testing.assert_array_equal(pairs.order_, combined.order)
    np.testing.assert_array_equal(pairs.scores_, combined.scores)
    assert pairs.n_ties_ == combined.ties
    assert set(pairs.order_[:2].tolist()) == {1, 4}


def test_options_are_passed_to_the_rule():
    X, y = three_classes(p=20)
    for options in ({"k": 3}, {"k": 0.5}, {"combine": "average-sd", "tie_sd": "smaller"}):
        pairs = PairwiseRanker(FTest(), **options).fit(X, y)
        rule = options.pop("combine", "k-first")
        combined = combine_rankings(pairs.positions_, rule, **options)
        np.testing.assert_array_equal(pairs.order_, combined.order)


def test_two_classes_give_the_ranking_of_the_ranker():
    X, y = three_classes()
    X, y = X[y != "b"], y[y != "b"]
    alone = SVMRFE().fit(X, y)
    for decomposition in ("ovo", "ova"):
        for rule in RULES:
            pairs = PairwiseRanker(SVMRFE(), decomposition=decomposition, combine=rule).fit(X, y)
            assert pairs.problems_ == ["a vs c"]
            np.testing.assert_array_equal(pairs.order_, alone.order_)


@pytest.mark.parametrize("ranker", [FTest(), JMI()])
def test_two_classes_leave_tied_columns_to_keep_where_the_ranker_puts_them(ranker):
    X, y = three_classes()
    X, y = X[y != "b"], y[y != "b"]
    X[:, [2, 5]] = 1.0
    schema = {"keep": [5, 2]}
    alone = clone(ranker).set_params(schema=schema).fit(X, y)
    pairs = PairwiseRanker(ranker, schema=schema).fit(X, y)
    np.testing.assert_array_equal(pairs.order_, alone.order_)


@pytest.mark.parametrize("ranker", [SVMRFE(), MKLRFE(), AROM(C=10.0)])
@pytest.mark.parametrize("multiclass", ["ovo", "ova"])
def test_multiclass_is_a_pairwise_ranker(ranker, multiclass):
    X, y = three_classes()
    by_parameter = clone(ranker).set_params(multiclass=multiclass).fit(X, y)
    by_ranker = PairwiseRanker(ranker, decomposition=multiclass).fit(X, y)
    np.testing.assert_array_equal(by_parameter.order_, by_ranker.order_)
    np.testing.assert_array_equal(by_parameter.scores_, by_ranker.scores_)
    assert list(by_parameter.rankings_) == list(by_ranker.rankings_)
    assert by_parameter.table().equals(by_ranker.table())
    two = y != "b"
    plain = clone(ranker).fit(X[two], y[two])
    also = clone(ranker).set_params(multiclass=multiclass).fit(X[two], y[two])
    np.testing.assert_array_equal(plain.scores_, also.scores_)
    assert hasattr(also, "duality_gap_")
    assert not hasattr(also, "rankings_")


def test_a_refit_forgets_the_lists():
    X, y = three_classes()
    rfe = SVMRFE(multiclass="ovo").fit(X, y)
    assert "best_in" in rfe.table().columns
    rfe.fit(X[y != "b"], y[y != "b"])
    assert "best_in" not in rfe.table().columns
    assert not hasattr(rfe, "rankings_")
    rfe.fit(X, y)
    assert not hasattr(rfe, "round_")


def test_threads_do_not_matter():
    X, y = mixed_table(seed=3)
    orders = [
        PairwiseRanker(SVMRFE(), combine="average-sd", n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2, 13)
    ]
    for other in orders[1:]:
        np.testing.assert_array_equal(orders[0].positions_, other.positions_)
        np.testing.assert_array_equal(orders[0].order_, other.order_)


def test_blocks_inside_blocks_do_not_wait_for_each_other():
    def inner(_):
        return threading.current_thread().name

    def outer(_):
        return run_blocks(inner, range(4), 2)

    done = []
    worker = threading.Thread(target=lambda: done.append(run_blocks(outer, range(4), 2)))
    worker.daemon = True
    worker.start()
    worker.join(20)
    assert len(done) == 1
    assert all(len(set(names)) == 1 for names in done[0])


def test_the_table_shows_the_best_list_of_a_column():
    X, y = three_classes(p=20)
    frame = pl.DataFrame(X, schema=[f"gene {j}" for j in range(20)])
    pairs = PairwiseRanker(SVMRFE(), n_features_to_select=2).fit(frame, y)
    table = pairs.table()
    assert table.columns[:6] == ["feature", "kind", "rank", "score", "selected", "evidence"]
    assert table.columns[6:] == ["best_position", "best_in", "among_first", *pairs.problems_]
    assert pairs.n_first_ == 2
    row = table.row(by_predicate=pl.col("feature") == "gene 1", named=True)
    assert row["best_position"] == 1
    assert row["best_in"] == "a vs b"
    assert row["among_first"] == 2
    assert row["b vs c"] > 2
    assert set(pairs.get_feature_names_out()) == {"gene 1", "gene 4"}


def test_columns_to_keep_come_first_and_priors_reach_the_ranker():
    X, y = three_classes(p=12)
    with_keep = PairwiseRanker(SVMRFE(), schema={"keep": [7]}).fit(X, y)
    assert with_keep.order_[0] == 7
    assert all(positions[7] == 1 for positions in with_keep.rankings_.values())
    assert with_keep.scores_[7] == with_keep.scores_.max()
    prior = {"prior": {6: 50.0}}
    pairs = PairwiseRanker(SVMRFE(), schema=prior).fit(X, y)
    for key, positions in naive.lists(SVMRFE(schema=prior), X, y).items():
        np.testing.assert_array_equal(pairs.rankings_[key], positions)
    with pytest.warns(SchemaWarning, match=r"PairwiseRanker\(FTest\(\)\) does not use prior"):
        PairwiseRanker(FTest(), schema=prior).fit(X, y)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("keep", [[0], [11, 3], [0, 2, 5], list(range(12))])
def test_columns_to_keep_do_not_change_the_order_of_others(rule, keep):
    X, y = three_classes(p=12)
    plain = (
        PairwiseRanker(FTest(), combine=rule).fit(np.delete(X, keep, axis=1), y)
        if len(keep) < 12
        else None
    )
    with_keep = PairwiseRanker(
        FTest(), combine=rule, schema={"keep": keep}, n_features_to_select=12
    )
    with_keep.fit(X, y)
    assert set(with_keep.order_[: len(keep)].tolist()) == set(keep)
    if plain is not None:
        other_columns = np.setdiff1d(np.arange(12), keep)
        np.testing.assert_array_equal(with_keep.order_[len(keep) :], other_columns[plain.order_])
        np.testing.assert_array_equal(with_keep.scores_[other_columns], plain.scores_)
        assert with_keep.n_first_ == plain.n_first_
        first = with_keep.table()["among_first"].to_list()[len(keep) :]
        assert first == plain.table()["among_first"].to_list()


def test_problems_of_the_same_name_are_quoted():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b vs c", "a vs b", "c"])[np.arange(40) % 4]
    pairs = PairwiseRanker(FTest()).fit(rng.normal(size=(40, 8)), y)
    assert len(set(pairs.problems_)) == 6
    assert "'a' vs 'b vs c'" in pairs.problems_
    assert pairs.table().columns[-6:] == pairs.problems_
    y = np.array(["rest", "work", "play"])[np.arange(40) % 3]
    pairs = PairwiseRanker(FTest(), decomposition="ova").fit(rng.normal(size=(40, 8)), y)
    assert pairs.problems_ == ["'play' vs rest", "'rest' vs rest", "'work' vs rest"]


def test_class_weights_go_to_the_pairs_that_they_name():
    X, y = three_classes()
    weights = {"a": 5.0, "c": 0.1}
    pairs = PairwiseRanker(SVMRFE(class_weight=weights)).fit(X, y)
    for a, b in pairs.rankings_:
        rows = (y == a) | (y == b)
        own = {label: w for label, w in weights.items() if label in (a, b)}
        alone = SVMRFE(class_weight=own).fit(X[rows], y[rows])
        np.testing.assert_array_equal(naive.tied_positions(alone), pairs.rankings_[a, b])
    with pytest.raises(ParameterError, match="names 'd'"):
        PairwiseRanker(SVMRFE(class_weight={"d": 2})).fit(X, y)
    with pytest.raises(ParameterError, match="against the rest"):
        PairwiseRanker(SVMRFE(class_weight=weights), decomposition="ova").fit(X, y)
    PairwiseRanker(SVMRFE(class_weight="balanced"), decomposition="ova").fit(X, y)


def test_a_class_of_one_row():
    X, y = three_classes(n=31)
    y[0] = "lonely"
    for ranker in (SVMRFE(), FTest(), SignalToNoise(), MKLRFE(), AROM()):
        pairs = PairwiseRanker(ranker).fit(X, y)
        assert len(pairs.rankings_) == 6
        assert sorted(pairs.order_) == list(range(8))


def test_errors_name_the_row_of_the_table_and_the_pair():
    X, y = three_classes()
    X[50, 3] = np.nan
    assert y[50] == "c"
    with pytest.raises(DataError, match=r"^a vs c: column 'x3' has a missing value .* row 50"):
        PairwiseRanker(SVMRFE(), n_jobs=1).fit(X, y)
    X[50, 3] = np.inf
    with pytest.raises(DataError, match=r"column 'x3' has an infinite value .* row 50"):
        SVMRFE(multiclass="ovo").fit(X, y)
    X[50, 3] = 0
    X[:, [1, 4]] = 0
    with pytest.raises(DataError, match=r"vs .*no hyperplane separates .* AROM\(C=1\)"):
        PairwiseRanker(AROM()).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"ranker": "svm-rf"}, "did you mean 'svm-rfe'"),
        ({"ranker": object()}, "that ranks all columns"),
        ({"ranker": SVMRFE}, "that ranks all columns"),
        ({"ranker": "cfs"}, "that ranks all columns"),
        ({"ranker": PairwiseRanker()}, "that ranks all columns"),
        ({"ranker": SVMRFE(schema={"keep": [1]})}, "its own schema"),
        ({"ranker": SVMRFE(n_features_to_select=3)}, "its own n_features_to_select"),
        ({"ranker": SVMRFE(multiclass="ovo")}, "decomposition="),
        ({"ranker": SVMRFE(C=-1)}, "C=-1"),
        ({"decomposition": "ovr"}, "'ovo'"),
        ({"decomposition": None}, "'ovo'"),
        ({"combine": "mean"}, "average-sd"),
        ({"k": 9}, "k=9"),
        ({"k": 0}, "k=0"),
        ({"combine": "best", "k": 3}, "k"),
        ({"combine": "best", "tie_sd": "smaller"}, "tie_sd"),
        ({"combine": "foo"}, "combine='foo': give 'average-sd'"),
    ],
)
def test_wrong_parameters_are_named_before_the_work(parameters, word, monkeypatch):
    X, y = three_classes()
    monkeypatch.setattr(SVMRFE, "_rank", lambda *_: pytest.fail("the work had begun"))
    with pytest.raises(ParameterError, match=word):
        PairwiseRanker(**parameters).fit(X, y)


def test_options_of_a_rule_are_checked_before_the_work(monkeypatch):
    monkeypatch.setattr(FTest, "_rank", lambda *_: pytest.fail("the work had begun"))
    y = np.array(["class"], dtype=object) + (np.arange(100) % 50).astype(str)
    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.raises(ParameterError, match="'stuart' takes at most 1000 lists, here are 1225"):
        PairwiseRanker(FTest(), combine="stuart").fit(X, y)
    wide = np.zeros((6, 10**6), np.float32)
    with pytest.raises(ParameterError, match="'schulze' compares every pair of 1000000"):
        PairwiseRanker(FTest(), combine="schulze").fit(wide, np.arange(6) % 3)


def test_multiclass_is_checked():
    X, y = three_classes()
    with pytest.raises(ParameterError, match="multiclass='pairs'"):
        SVMRFE(multiclass="pairs").fit(X, y)
    with pytest.raises(DataError, match=r"3 classes.*PairwiseRanker\(MKLRFE\(\)\)"):
        MKLRFE().fit(X, y)


def test_one_warning_for_all_lists():
    X, y = three_classes(n=30, p=40)
    with pytest.warns(ConvergenceWarning) as caught:
        PairwiseRanker(AROM(max_iter=1)).fit(X, y)
    assert len(caught) == 1
    assert str(caught[0].message).startswith("a vs b (and 2 other problems like it): weights still")
    assert caught[0].filename == __file__


def test_progress_counts_lists():
    X, y = three_classes()
    seen = []
    PairwiseRanker(FTest(), verbose=lambda done, total: seen.append((done, total))).fit(X, y)
    assert sorted(seen) == [(1, 3), (2, 3), (3, 3)]


def test_ctrl_c_keeps_finished_lists(monkeypatch):
    X, y = three_classes()
    original = FTest._rank
    done = []

    def second_time(self, problem):
        if done:
            raise KeyboardInterrupt
        done.append(problem.target)
        return original(self, problem)

    monkeypatch.setattr(FTest, "_rank", second_time)
    pairs = PairwiseRanker(FTest(), n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        pairs.fit(X, y)
    assert pairs.interrupted_
    assert pairs.problems_ == ["a vs b"]
    monkeypatch.setattr(FTest, "_rank", original)
    rows = y != "c"
    assert pairs.order_.tolist() == FTest().fit(X[rows], y[rows]).order_.tolist()
    monkeypatch.setattr(FTest, "_rank", second_time)
    fresh = PairwiseRanker(FTest(), n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not hasattr(fresh, "order_")


def test_ctrl_c_while_lists_are_combined_keeps_them(monkeypatch):
    X, y = three_classes()
    original = engine.combine_rankings

    def slow(positions, method, **options):
        if method == "schulze":
            raise KeyboardInterrupt
        return original(positions, method, **options)

    monkeypatch.setattr(engine, "combine_rankings", slow)
    pairs = PairwiseRanker(FTest(), combine="schulze")
    with pytest.raises(KeyboardInterrupt):
        pairs.fit(X, y)
    assert pairs.interrupted_
    assert len(pairs.rankings_) == 3
    expected = PairwiseRanker(FTest(), combine="average-sd").fit(X, y)
    np.testing.assert_array_equal(pairs.order_, expected.order_)


def test_a_stopped_fit_leaves_nothing_of_the_one_before(monkeypatch):
    X, y = three_classes()
    pairs = PairwiseRanker(FTest()).fit(X, y)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FTest, "_rank", stop)
    with pytest.raises(KeyboardInterrupt):
        pairs.fit(X[:, :5], y)
    with pytest.raises(NotFittedError):
        pairs.transform(X[:, :5])
    with pytest.raises(NotFittedError):
        pairs.table()


def test_parameters_of_a_ranker_given_by_name():
    pairs = PairwiseRanker().set_params(ranker__C=0.1)
    assert pairs.ranker.C == 0.1
    pairs = PairwiseRanker().set_params(ranker="mkl-rfe", ranker__C=0.2)
    assert isinstance(pairs.ranker, MKLRFE)
    assert pairs.ranker.C == 0.2
    assert "PairwiseRanker" in PairwiseRanker("nope")._repr_html_()


def test_names_and_instances_are_the_same():
    X, y = three_classes()
    by_name = PairwiseRanker("f-test").fit(X, y)
    np.testing.assert_array_equal(by_name.order_, PairwiseRanker(FTest()).fit(X, y).order_)
    assert clone(by_name).ranker == "f-test"
    assert PairwiseRanker(SVMRFE(C=3)).get_params()["ranker__C"] == 3
    again = pickle.loads(pickle.dumps(by_name))
    assert again.rankings_["a", "b"].tolist() == by_name.rankings_["a", "b"].tolist()


def test_takes_the_tables_that_the_ranker_takes():
    frame, y = mixed_table()
    incomplete = frame.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("a"))
    PairwiseRanker(MKLRFE()).fit(incomplete, y)
    with pytest.raises(
        DataError, match=r"'site' is categorical, PairwiseRanker\(FTest\(\)\) takes"
    ):
        PairwiseRanker(FTest()).fit(frame, y)
    forest = PairwiseRanker(ForestRanker(n_trees=20, random_state=1))
    first, second = forest.fit(frame, y).order_, clone(forest).fit(frame, y).order_
    np.testing.assert_array_equal(first, second)
