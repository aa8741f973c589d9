"""The engine: identities of parts that are the whole, merged blocks, stops and errors."""

import threading
from functools import partial

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from featly import (
    AROM,
    JMI,
    MKLRFE,
    MRMR,
    SVMRFE,
    ChiSquared,
    ForestRanker,
    FTest,
    InformationGain,
    MonotoneDependence,
    MultiSURF,
    PerceptronRanker,
    ReliefF,
    SignalToNoise,
    SymmetricUncertainty,
    UnivariateTest,
)
from featly.basics.errors import ConvergenceWarning, DataError, ParameterError
from featly.combine import engine
from featly.combine.engine import rank_column_blocks, rank_parts
from featly.combine.parts import bootstrap, column_blocks, rankers, row_blocks, sites
from featly.combine.rankings import RULES
from featly.problem.problem import Problem
from featly.problem.scan import scan
from featly.registry import METHODS, method_class
from tests.all_methods.small_blocks import on_disk, small_blocks
from tests.combine.ensemble import Ensemble
from tests.reference import parts as naive

RANKERS = [
    FTest(),
    SignalToNoise(),
    UnivariateTest(),
    InformationGain(),
    JMI(),
    MRMR(discretizer="equal-frequency"),
    MonotoneDependence(),
    ReliefF(),
    MultiSURF(),
    SVMRFE(),
    SVMRFE(step=1, kernel="clinical"),
    SVMRFE(multiclass="ovo"),
    MKLRFE(multiclass="ova"),
    AROM(C=10.0, multiclass="ovo"),
    ForestRanker(n_trees=20),
    PerceptronRanker(),
]
# parts that are the whole, in five ways
WHOLES = {
    "bag": lambda problem: bootstrap(problem, 1, 0, share=1.0),
    "row block": lambda problem: row_blocks(problem, 1, 0),
    "site": lambda problem: sites({"here": problem}),
    "column block": lambda problem: column_blocks(problem, 1),
}


def table(n=48, p=12, n_classes=2, seed=0):
    """Make numbers with equal columns, a constant one, and signal in three of them."""
    rng = np.random.default_rng(seed)
    y = np.array(list("abcd"))[np.arange(n) % n_classes]
    X = np.round(rng.normal(size=(n, p)), 1)
    X[:, 3] += 2 * (y == "a")
    X[:, 9] += 2 * (y == "b")
    X[:, 5] = 1.0
    X[:, 7] = X[:, 3]
    return X, y


def targets(n=48, seed=0):
    rng = np.random.default_rng(seed)
    event = np.array(
        list(zip(rng.random(n) < 0.7, np.round(rng.exponential(size=n), 2) + 0.1, strict=True)),
        dtype=[("event", bool), ("time", float)],
    )
    return {"numbers": np.round(rng.normal(size=n), 1) + 0.05, "survival": event}


def takes(ranker, n_classes):
    return n_classes == 2 or ranker._takes_many_classes()


# ---- parts that are the whole --------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::featly.SchemaWarning")
@pytest.mark.parametrize("whole", WHOLES)
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_one_part_of_everything_is_the_ranker(ranker, whole):
    options, merge = {"method": "borda"}, rank_parts
    if whole == "column block":
        options, merge = {"n_best": 1}, rank_column_blocks
    for n_classes, schema in (
        (2, None),
        (3, None),
        (2, {"keep": [5, 2, 7], "prior": {4: 3.0, 0: 50.0}}),
        (2, {"keep": list(range(12))}),
    ):
        if not takes(ranker, n_classes):
            continue
        X, y = table(n_classes=n_classes)
        alone = clone(ranker).set_params(schema=schema, n_features_to_select=12).fit(X, y)
        ensemble = Ensemble(
            ranker, WHOLES[whole], engine=merge, options=options, schema=schema,
            n_features_to_select=12,
        ).fit(X, y)  # fmt: skip
        np.testing.assert_array_equal(ensemble.order_, alone.order_)
        if whole == "column block":
            np.testing.assert_array_equal(ensemble.scores_, alone.scores_)


@pytest.mark.parametrize("rule", RULES)
def test_one_bag_is_the_ranker_by_any_rule(rule):
    X, y = table(n_classes=3)
    for ranker in (FTest(), JMI(), SVMRFE(multiclass="ovo")):
        alone = clone(ranker).fit(X, y)
        ensemble = Ensemble(ranker, WHOLES["bag"], options={"method": rule}).fit(X, y)
        np.testing.assert_array_equal(ensemble.order_, alone.order_)


@pytest.mark.parametrize("kind", ["numbers", "survival"])
@pytest.mark.parametrize("whole", WHOLES)
def test_one_part_of_everything_for_other_targets(kind, whole):
    X, _ = table()
    merge = rank_column_blocks if whole == "column block" else rank_parts
    options = {"n_best": 1} if whole == "column block" else {"method": "best"}
    for ranker in (FTest(), InformationGain(), JMI(), ChiSquared(discretizer="equal-width")):
        alone = clone(ranker).fit(X, targets()[kind])
        ensemble = Ensemble(ranker, WHOLES[whole], engine=merge, options=options)
        np.testing.assert_array_equal(ensemble.fit(X, targets()[kind]).order_, alone.order_)


def test_one_ranker_of_several_is_itself():
    X, y = table()
    for ranker in (FTest(), SVMRFE(), JMI()):
        ensemble = Ensemble(ranker, lambda problem, own=ranker: rankers(problem, [own]))
        np.testing.assert_array_equal(ensemble.fit(X, y).order_, ranker.fit(X, y).order_)


def test_ensembles_of_ensembles_keep_ties_and_tie_rules():
    X, y = table(n_classes=4)
    for rule in RULES:
        for schema in (None, {"keep": [1, 5, 8]}, {"keep": list(range(12))}):
            inner = Ensemble(FTest(), lambda problem: bootstrap(problem, 3, 1), schema=schema)
            inner.set_params(options={"method": rule}, n_features_to_select=12)
            outer = Ensemble(
                clone(inner).set_params(schema=None), WHOLES["bag"], schema=schema,
                options={"method": "borda"}, n_features_to_select=12,
            )  # fmt: skip
            expected = inner.fit(X, y).order_
            np.testing.assert_array_equal(outer.fit(X, y).order_, expected, err_msg=rule)


# ---- blocks of columns, merged by score ----------------------------------------------------------
ONE_BY_ONE = [
    *(ranker for ranker in (method_class(name)() for name in METHODS) if ranker._scores_one_by_one),
    InformationGain(discretizer="equal-frequency", missing="spread"),
    SymmetricUncertainty(discretizer="pkid"),
    ChiSquared(discretizer="equal-width"),
]


@pytest.mark.parametrize("ranker", ONE_BY_ONE, ids=repr)
@given(
    seed=st.integers(0, 10**6),
    n_blocks=st.integers(1, 9),
    cut=st.one_of(st.none(), st.integers(0, 99)),
    layout=st.sampled_from(["C", "F", "float32", "missing", "sparse"]),
    schema=st.sampled_from([None, {"keep": [8, 1]}]),
)
@settings(max_examples=12, deadline=None)
def test_blocks_merged_by_score_are_the_whole(ranker, seed, n_blocks, cut, layout, schema):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 5, (30, 9)).astype(float), np.arange(30) % 3
    X[:, ::2] += rng.normal(size=(30, 5))
    if layout == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    X = {
        "F": np.asfortranarray,
        "float32": np.float32,
        "sparse": scipy.sparse.csr_array,
    }.get(layout, np.asarray)(X)
    alone = clone(ranker).set_params(schema=schema).fit(X, y)
    ensemble = Ensemble(
        ranker, lambda problem: column_blocks(problem, n_blocks, cut),
        engine=rank_column_blocks, options={"n_best": 1}, schema=schema,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(ensemble.order_, alone.order_)
    np.testing.assert_array_equal(ensemble.scores_, alone.scores_)


def cut_columns(problem, columns, n_jobs):
    return problem.take_columns(np.array(columns))


def test_blocks_merged_by_score_equal_the_reference():
    X, y = table(n_classes=3)
    blocks = [[0, 4, 5, 6], [1, 3, 9, 11], [2, 7, 8, 10]]
    for ranker in (FTest(), InformationGain(), SignalToNoise()):
        problem = clone(ranker)._read(X, y)
        parts = [
            engine.Part(
                k, f"block {k}", partial(cut_columns, problem, block), columns=np.array(block)
            )
            for k, block in enumerate(blocks)
        ]
        ranking = rank_column_blocks(ranker, problem, parts, n_best=1)
        order, scores = naive.merge_by_score(ranker, X, y, blocks)
        assert ranking.order.tolist() == order
        np.testing.assert_array_equal(ranking.scores, scores)


def test_a_prior_is_the_same_in_every_block():
    class FavouredTest(FTest):
        _uses = ("keep", "prior")

    X, y = table()
    schema = {"prior": {0: 2.0, 3: 4.0, 7: 4.0, 10: 1000.0}}
    whole = FavouredTest(schema=schema).fit(X, y)
    blocks = Ensemble(
        FavouredTest(), lambda problem: column_blocks(problem, 5, 0),
        engine=rank_column_blocks, options={"n_best": 1}, schema=schema,
    ).fit(X, y)  # fmt: skip
    np.testing.assert_array_equal(blocks.scores_, whole.scores_)
    np.testing.assert_array_equal(blocks.order_, whole.order_)


def test_blocks_of_a_table_on_disk_and_of_a_mixed_frame(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (40, 300)).astype(np.float32), np.arange(40) % 2
    on_disk(tmp_path, X)
    for ranker in (FTest(), InformationGain(), JMI(max_steps=5), ReliefF(n_neighbors=3), SVMRFE()):
        cut = {"engine": rank_column_blocks, "options": {"n_best": 20}}
        in_memory = Ensemble(ranker, lambda problem: column_blocks(problem, 3, 0), **cut).fit(X, y)
        with small_blocks():
            small = clone(ranker).set_params(memory_limit="1MB")
            streamed = Ensemble(small, lambda problem: column_blocks(problem, 3, 0), **cut)
            streamed.fit(scan(tmp_path / "X.npy"), y)
        np.testing.assert_array_equal(in_memory.order_, streamed.order_)
        np.testing.assert_array_equal(in_memory.scores_, streamed.scores_)
    frame = pl.DataFrame({f"n{j}": X[:, j] for j in range(4)}).with_columns(
        a=pl.Series(rng.choice(list("xyz"), 40)), b=pl.Series(rng.choice(list("vw"), 40))
    )
    for ranker in (InformationGain(), MKLRFE(), ForestRanker(n_trees=9), ReliefF(n_neighbors=3)):
        order = ["a", "n2", "b", "n0", "n3", "n1"]
        problem = clone(ranker)._read(frame[order], y)
        part = column_blocks(problem, 2, 4)[0]
        names = [order[j] for j in part.columns]
        by_hand = clone(ranker).fit(frame[names], y)
        ranking = clone(ranker)._rank(part.problem(1))
        np.testing.assert_array_equal(ranking.order, by_hand.order_)
        np.testing.assert_array_equal(ranking.scores, by_hand.scores_)


@pytest.mark.parametrize("layout", ["C", "F", "sparse", "integers"])
@pytest.mark.parametrize("ranker", [*RANKERS, JMI(discretizer=None)], ids=repr)
def test_a_block_is_the_table_cut_by_hand(ranker, layout):
    X, y = table(seed=2)
    if getattr(ranker, "discretizer", "") is None or layout == "integers":
        X = np.round(X)
    if layout == "sparse" and not ranker._sparse:
        pytest.skip("takes no sparse table")
    change = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "sparse": scipy.sparse.csc_array,
        "integers": lambda X: X.astype(np.int8),
    }[layout]
    problem = clone(ranker)._read(change(X), y)
    blocks = [part.columns for part in column_blocks(problem, 3, 1)]
    # in another order, too: a view is not always a part of the table as it lies
    for columns in (*blocks, np.arange(12)[::-1]):
        by_hand = clone(ranker).fit(change(X[:, columns]), y)
        ranking = clone(ranker)._rank_classes(problem.take_columns(columns))
        np.testing.assert_array_equal(ranking.order, by_hand.order_)
        np.testing.assert_allclose(ranking.scores, by_hand.scores_, rtol=1e-9)


# ---- blocks of columns, merged by a final --------------------------------------------------------
@pytest.mark.parametrize("ranker", [JMI(), SVMRFE(step=1), ReliefF(), UnivariateTest()], ids=repr)
@pytest.mark.parametrize("n_best", [1, 2, 4])
def test_a_final_equals_the_reference(ranker, n_best):
    X, y = table(p=15, seed=4)
    make_parts = {seed: lambda problem, s=seed: column_blocks(problem, 3, s) for seed in (None, 7)}
    for make in make_parts.values():
        blocks = [part.columns.tolist() for part in make(clone(ranker)._read(X, y))]
        ensemble = Ensemble(ranker, make, engine=rank_column_blocks, options={"n_best": n_best})
        ensemble.fit(X, y)
        expected = naive.merge_by_final(ranker, X, y, blocks, n_best)
        assert ensemble.order_.tolist() == expected
        assert (np.diff(ensemble.scores_[ensemble.order_]) <= 0).all()


def test_a_final_of_all_columns_is_the_whole():
    X, y = table(p=15)
    for ranker in (JMI(), SVMRFE(), ReliefF(), UnivariateTest(), ForestRanker(n_trees=9)):
        for schema in (None, {"keep": [13, 0]}):
            alone = clone(ranker).set_params(schema=schema).fit(X, y)
            ensemble = Ensemble(
                ranker, lambda problem: column_blocks(problem, 4, 2),
                engine=rank_column_blocks, options={"n_best": 4}, schema=schema,
            ).fit(X, y)  # fmt: skip
            np.testing.assert_array_equal(ensemble.order_, alone.order_)
            np.testing.assert_array_equal(ensemble.scores_, alone.scores_)


def test_columns_to_keep_are_in_the_final_and_take_no_place_in_it():
    X, y = table(p=15)
    ensemble = Ensemble(
        JMI(), lambda problem: column_blocks(problem, 3),
        engine=rank_column_blocks, options={"n_best": 1}, schema={"keep": [5, 0, 1]},
    ).fit(X, y)  # fmt: skip
    assert set(ensemble.order_[:3].tolist()) == {0, 1, 5}
    finalists = set(ensemble.order_[:6].tolist())
    assert [len(finalists & set(range(a, a + 5))) for a in (0, 5, 10)] == [3, 2, 1]


# ---- threads, progress, warnings, errors ---------------------------------------------------------
MAKERS = {
    "bags": (rank_parts, {}, lambda problem: bootstrap(problem, 5, 0)),
    "row blocks": (rank_parts, {}, lambda problem: row_blocks(problem, 3, 0)),
    "rankers": (
        rank_parts, {},
        lambda problem: rankers(problem, [JMI(), ReliefF(), ForestRanker(n_trees=9)]),
    ),
    "by score": (rank_column_blocks, {"n_best": 1}, lambda problem: column_blocks(problem, 5, 0)),
    "by final": (rank_column_blocks, {"n_best": 2}, lambda problem: column_blocks(problem, 5, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_threads_do_not_matter(name):
    merge, options, make = MAKERS[name]
    X, y = table(n=70, p=20)
    rankers_of = [FTest()] if name == "by score" else [SVMRFE(), ForestRanker(n_trees=9)]
    for ranker in rankers_of:
        fits = [
            Ensemble(ranker, make, engine=merge, options=options, n_jobs=n_jobs).fit(X, y)
            for n_jobs in (1, 2, 13)
        ]
        for other in fits[1:]:
            np.testing.assert_array_equal(fits[0].order_, other.order_)
            np.testing.assert_array_equal(fits[0].scores_, other.scores_)
            if merge is rank_parts:
                np.testing.assert_array_equal(fits[0].positions_, other.positions_)


def test_copies_that_do_not_fit_are_made_one_after_the_other(monkeypatch):
    X, y = table()
    n_jobs_of = []
    original = Problem.take

    def note_jobs(self, rows, n_jobs=None, target=None):
        n_jobs_of.append(n_jobs)
        return original(self, rows, n_jobs, target)

    monkeypatch.setattr(Problem, "take", note_jobs)
    ranker = FTest(memory_limit="1MB")
    wide = np.tile(X, 120)  # 550 kB: two copies are more than 1 MB
    for values, name, expected in (
        (X, "bags", [1] * 5), (wide, "bags", [2] * 5), (wide, "row blocks", [1] * 3),
    ):  # fmt: skip
        n_jobs_of.clear()
        Ensemble(ranker, MAKERS[name][2], n_jobs=2).fit(values, y)
        assert n_jobs_of == expected


def test_progress_counts_parts():
    X, y = table()
    for merge, options, make in MAKERS.values():
        seen = []
        Ensemble(
            JMI(), make, engine=merge, options=options, n_jobs=2,
            verbose=lambda done, total, seen=seen: seen.append((done, total)),
        ).fit(X, y)  # fmt: skip
        total = seen[0][1]
        assert sorted(seen) == [(done, total) for done in range(1, total + 1)]


def test_one_warning_for_all_parts():
    X, y = table(n=30, p=40)
    for make, merge, options, label in (
        (
            MAKERS["bags"][2],
            rank_parts,
            {},
            r"bag 1 \(and 4 other problems like it\): weights still",
        ),
        (MAKERS["by final"][2], rank_column_blocks, {"n_best": 2}, "column block|the final"),
    ):
        with pytest.warns(ConvergenceWarning, match=label) as caught:
            Ensemble(AROM(max_iter=1, C=1), make, engine=merge, options=options).fit(X, y)
        assert len(caught) == 1


def test_errors_name_the_part():
    X, y = table()
    X[:, 11] = np.nan
    for make, merge, options, label in (
        (MAKERS["bags"][2], rank_parts, {}, "bag 1"),
        (MAKERS["row blocks"][2], rank_parts, {}, "row block 1 of 3"),
        (MAKERS["by final"][2], rank_column_blocks, {"n_best": 2}, r"column block \d of 5"),
        (lambda problem: rankers(problem, [FTest(), SVMRFE()]), rank_parts, {}, "SVMRFE"),
        (lambda problem: sites({"Graz": problem}), rank_parts, {}, "Graz"),
    ):
        for n_jobs in (1, 2):
            ensemble = Ensemble(SVMRFE(), make, engine=merge, options=options, n_jobs=n_jobs)
            with pytest.raises(DataError, match=f"^{label}: column 'x11' has a missing value"):
                ensemble.fit(X, y)


def test_an_error_in_the_final_names_it(monkeypatch):
    X, y = table()
    original = JMI._rank

    def refuse_many(self, problem):
        if problem.source.n_features > 4:
            raise DataError("too many")
        return original(self, problem)

    monkeypatch.setattr(JMI, "_rank", refuse_many)
    with pytest.raises(DataError, match=r"^the final: too many"):
        Ensemble(
            JMI(), MAKERS["by final"][2], engine=rank_column_blocks, options={"n_best": 2}
        ).fit(X, y)


@pytest.mark.parametrize("n_best", [0, 1.5, True, None])
def test_a_wrong_number_of_finalists_is_refused_before_the_work(n_best, monkeypatch):
    X, y = table()
    monkeypatch.setattr(JMI, "_rank", lambda *_: pytest.fail("the work had begun"))
    problem = JMI()._read(X, y)
    with pytest.raises(ParameterError, match=f"n_best={n_best!r}"):
        rank_column_blocks(JMI(), problem, column_blocks(problem, 2), n_best=n_best)


def test_a_rule_that_cannot_be_is_refused_before_the_work(monkeypatch):
    X, y = table()
    monkeypatch.setattr(FTest, "_rank", lambda *_: pytest.fail("the work had begun"))
    ensemble = Ensemble(
        FTest(), lambda problem: bootstrap(problem, 1001, 0), options={"method": "stuart"}
    )
    with pytest.raises(ParameterError, match="at most 1000 lists, here are 1001"):
        ensemble.fit(X, y)


# ---- Ctrl-C --------------------------------------------------------------------------------------
def stop_after(monkeypatch, ranker, count):
    """Let the ranker work so many times, and then raise KeyboardInterrupt."""
    original, calls = type(ranker)._rank, []
    lock = threading.Lock()

    def rank_or_stop(self, problem):
        with lock:
            if len(calls) >= count:
                raise KeyboardInterrupt
            calls.append(1)
        return original(self, problem)

    monkeypatch.setattr(type(ranker), "_rank", rank_or_stop)


@pytest.mark.parametrize("name", ["bags", "row blocks"])
def test_ctrl_c_combines_the_parts_that_are_done(name, monkeypatch):
    X, y = table()
    make = MAKERS[name][2]
    whole = Ensemble(FTest(), make, options={"method": "borda"}).fit(X, y)
    stop_after(monkeypatch, FTest(), 2)
    stopped = Ensemble(FTest(), make, options={"method": "borda"})
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, y)
    assert stopped.interrupted_
    assert stopped.problems_ == whole.problems_[:2]
    np.testing.assert_array_equal(stopped.positions_, whole.positions_[:, :2])
    assert sorted(stopped.order_) == list(range(12))
    monkeypatch.undo()
    stop_after(monkeypatch, FTest(), 0)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, y)
    assert not hasattr(stopped, "order_")


@pytest.mark.parametrize("schema", [None, {"keep": [11, 0]}])
def test_ctrl_c_in_blocks_puts_other_columns_last(schema, monkeypatch):
    X, y = table()
    for ranker, count in ((FTest(), 2), (JMI(), 2)):
        stop_after(monkeypatch, ranker, count)
        ensemble = Ensemble(
            ranker, lambda problem: column_blocks(problem, 4), engine=rank_column_blocks,
            options={"n_best": 2}, schema=schema,
        )  # fmt: skip
        with pytest.raises(KeyboardInterrupt):
            ensemble.fit(X, y)
        assert ensemble.interrupted_
        assert ensemble.problems_ == ["column block 1 of 4", "column block 2 of 4"]
        keep = [] if schema is None else schema["keep"]
        assert set(ensemble.order_[: len(keep)].tolist()) == set(keep)
        free = [f for f in ensemble.order_.tolist() if f not in keep]
        assert set(free[: 6 - sum(f < 6 for f in keep)]) == set(range(6)) - set(keep)
        assert (ensemble.scores_[free[1:]] <= ensemble.scores_[free[:-1]]).all()
        assert np.isinf(ensemble.scores_[free[-1]])
        assert not np.isnan(ensemble.scores_).any()
        monkeypatch.undo()


def test_ctrl_c_in_the_final_keeps_the_blocks(monkeypatch):
    X, y = table()
    cut = {"engine": rank_column_blocks, "options": {"n_best": 2}}
    stop_after(monkeypatch, JMI(), 4)
    ensemble = Ensemble(JMI(), lambda problem: column_blocks(problem, 4), **cut)
    with pytest.raises(KeyboardInterrupt):
        ensemble.fit(X, y)
    assert ensemble.interrupted_
    assert len(ensemble.problems_) == 4
    first = ensemble.order_[:4] // 3
    assert sorted(first.tolist()) == [0, 1, 2, 3]  # the best of every block
    monkeypatch.undo()

    def stop_half_way(self, problem):
        ranking = original(self, problem)
        if problem.source.n_features > 3:
            raise engine.stop_with(ranking)
        return ranking

    original = JMI._rank
    whole = Ensemble(JMI(), lambda problem: column_blocks(problem, 4), **cut).fit(X, y)
    monkeypatch.setattr(JMI, "_rank", stop_half_way)
    with pytest.raises(KeyboardInterrupt):
        ensemble.fit(X, y)
    assert ensemble.interrupted_
    np.testing.assert_array_equal(ensemble.order_, whole.order_)  # what the final had counts
