"""Parts of a problem: what is drawn, what is cut, and what is refused."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly import JMI, MRMR, SVMRFE, FTest, InformationGain, ReliefF, SignalToNoise
from featly.basics.errors import DataError, ParameterError
from featly.combine.parts import bootstrap, column_blocks, draw_bag, rankers, row_blocks, sites
from featly.problem.scan import scan
from featly.problem.target import Classes, Numbers, Survival
from tests.all_methods.small_blocks import on_disk, small_blocks
from tests.combine.ensemble import Ensemble
from tests.reference import parts as naive


def read(X, y, ranker=None, **schema):
    ranker = FTest() if ranker is None else ranker
    return ranker.set_params(schema=schema or None)._read(X, y)


def table(n=40, p=7, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.array(list("abcd"))[np.arange(n) % n_classes]
    X = rng.normal(size=(n, p)) + 2 * (np.arange(p) == 3) * (y == "a")[:, None]
    return X, y


def rare_classes(n=30):
    codes = np.zeros(n, np.int64)
    codes[:2] = 1, 2
    return Classes(codes, np.array(["a", "b", "c"]))


# ---- bags ----------------------------------------------------------------------------------------
@given(
    seed=st.integers(0, 10**6),
    layout=st.sampled_from(["C", "F", "float32", "sparse", "categorical"]),
    share=st.sampled_from([None, 0.3, 0.7, 1.0]),
)
@settings(max_examples=30, deadline=None)
def test_bags_are_the_ranker_on_their_rows(seed, layout, share):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 25)])
    X = rng.integers(0, 4, size=(len(y), 6)).astype(np.float32 if layout == "float32" else float)
    ranker, schema = SignalToNoise(), None
    if layout == "categorical":
        ranker, schema = InformationGain(discretizer=None), {"categorical": [0, 3]}
        X = X.astype(int)
    X = {"F": np.asfortranarray, "sparse": scipy.sparse.csr_array}.get(layout, np.asarray)(X)
    ensemble = Ensemble(
        ranker, lambda problem: bootstrap(problem, 4, seed, share=share), schema=schema
    )
    ensemble.fit(X, y)
    target = Classes(y, np.arange(3))
    row_sets = [draw_bag(target, seed, bag, share) for bag in range(1, 5)]
    ranker.set_params(schema=schema)
    np.testing.assert_array_equal(ensemble.positions_, naive.lists(ranker, X, y, row_sets))
    assert ensemble.problems_ == ["bag 1", "bag 2", "bag 3", "bag 4"]


@pytest.mark.parametrize(
    "target",
    [
        rare_classes(),
        Numbers(np.where(np.arange(30) == 7, 1.0, 0.0)),
        Survival(np.arange(1.0, 31.0), np.arange(30) == 4),
    ],
    ids=lambda target: target.kind,
)
@pytest.mark.parametrize("share", [None, 0.5])
def test_a_bag_without_what_a_ranking_needs_is_drawn_again(target, share):
    rows = [draw_bag(target, 3, bag, share) for bag in range(1, 200)]
    assert all(target.take(part).find_lack() is None for part in rows)
    assert {len(part) for part in rows} == {30 if share is None else 15}
    assert len({part.tobytes() for part in rows}) == len(rows)
    assert all((np.diff(part) >= (share is not None)).all() for part in rows)


def test_draws_without_end_are_refused():
    X, y = table()
    y = y.astype(object)
    y[:30] = [f"class {k}" for k in range(30)]
    problem = read(X, y)
    (part, *_) = bootstrap(problem, 3, 0, share=0.5)
    with pytest.raises(DataError, match=r"1000 samples of 20 rows .* without any row of class '"):
        part.problem(1)
    ensemble = Ensemble(FTest(), lambda problem: bootstrap(problem, 3, 0, share=0.5))
    with pytest.raises(DataError, match=r"^bag 1: 1000 samples"):
        ensemble.fit(X, y)


def test_bags_depend_on_the_seed_and_their_number_alone():
    problem = read(*table())
    ten = [part.problem(1).rows for part in bootstrap(problem, 10, 5)]
    forty = [part.problem(2).rows for part in bootstrap(problem, 40, 5)]
    other = [part.problem(1).rows for part in bootstrap(problem, 10, 6)]
    for a, b, c in zip(ten, forty, other, strict=False):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_bags_are_drawn_evenly():
    target = Classes(np.arange(20) % 2, np.array([0, 1]))
    bags = [draw_bag(target, 0, bag) for bag in range(1, 4001)]
    counts = np.bincount(np.concatenate(bags), minlength=20)
    assert abs(counts - 4000).max() < 5 * np.sqrt(4000)
    n_out_of_bag = np.mean([20 - len(np.unique(rows)) for rows in bags])
    assert n_out_of_bag == pytest.approx(20 * 0.95**20, abs=0.1)


# ---- blocks of rows ------------------------------------------------------------------------------
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(12, 90),
    n_blocks=st.integers(1, 4),
    kind=st.sampled_from(["classes", "numbers", "survival"]),
)
@settings(max_examples=60, deadline=None)
def test_row_blocks_share_every_row_and_every_stratum(seed, n, n_blocks, kind):
    rng = np.random.default_rng(seed)
    y = {
        "classes": lambda: np.concatenate([np.repeat([0, 1, 2], 4), rng.integers(0, 3, n - 12)]),
        "numbers": lambda: rng.normal(size=n),
        "survival": lambda: np.array(
            list(zip(np.arange(n) % 2 == 0, rng.exponential(size=n) + 0.1, strict=True)),
            dtype=[("event", bool), ("time", float)],
        ),
    }[kind]()
    problem = read(rng.normal(size=(n, 3)), y)
    blocks = [part.problem(1).rows for part in row_blocks(problem, n_blocks, seed)]
    assert sorted(np.concatenate(blocks).tolist()) == list(range(n))
    assert all((np.diff(rows) > 0).all() for rows in blocks)
    sizes = [len(rows) for rows in blocks]
    assert max(sizes) - min(sizes) <= 1
    for counts in naive.share_of_each_block(problem.target.strata().tolist(), blocks):
        assert max(counts) - min(counts) <= 1


def test_too_many_row_blocks_are_refused():
    X, y = table()
    y[:3] = "z"
    row_blocks(read(X, y), 3, 0)
    with pytest.raises(DataError, match=r"row block \d of 4 has no row of class 'z': take fewer"):
        row_blocks(read(X, y), 4, 0)
    for n_blocks in (40, 41):
        with pytest.raises(DataError, match=r"has no two rows of different numbers"):
            row_blocks(read(X, np.linspace(0.5, 1.2, 40)), n_blocks, 0)
    event = np.array([(k == 3, 1.5) for k in range(40)], dtype=[("e", bool), ("t", float)])
    with pytest.raises(DataError, match=r"row block \d of 2 has no row with the event"):
        row_blocks(read(X, event), 2, 0)


def test_row_blocks_are_the_ranker_on_their_rows():
    X, y = table(n=60, n_classes=3)
    for ranker in (FTest(), SVMRFE(multiclass="ova"), JMI(), ReliefF()):
        ensemble = Ensemble(ranker, lambda problem: row_blocks(problem, 3, 1)).fit(X, y)
        row_sets = [part.problem(1).rows for part in row_blocks(read(X, y), 3, 1)]
        if not isinstance(ranker, SVMRFE):
            expected = naive.lists(ranker, X, y, row_sets)
            np.testing.assert_array_equal(ensemble.positions_, expected)
        for rows, positions in zip(row_sets, ensemble.positions_.T, strict=True):
            order = np.argsort(positions, kind="stable")
            np.testing.assert_array_equal(order, ranker.fit(X[rows], y[rows]).order_)


# ---- sites ---------------------------------------------------------------------------------------
def test_sites_are_the_ranker_on_each():
    X, y = table(n=60)
    places = {"Graz": slice(0, 25), "Linz": slice(25, 60)}
    problems = {name: read(X[rows], y[rows]) for name, rows in places.items()}
    ensemble = Ensemble(FTest(), lambda problem: sites(problems)).fit(X[:25], y[:25])
    expected = naive.lists(FTest(), X, y, [np.arange(60)[rows] for rows in places.values()])
    np.testing.assert_array_equal(ensemble.positions_, expected)
    assert ensemble.problems_ == ["Graz", "Linz"]
    assert list(ensemble.rankings_) == ["Graz", "Linz"]


def test_sites_that_differ_are_named():
    import polars as pl

    X, y = table(p=3)
    frame = pl.DataFrame(X, schema=["age", "dose", "weight"])
    graz = read(frame, y)
    survival = np.array([(True, 1.5)] * 40, dtype=[("event", bool), ("time", float)])
    counted = InformationGain()
    words = frame.with_columns(pl.Series("dose", ["low", "high"] * 20))
    for other, message in (
        (read(frame[:, :2], y), "Linz: it has 2 columns, and Graz has 3"),
        (
            read(frame.rename({"dose": "bp"}), y),
            "Linz: column 1 is 'bp', and at Graz it is 'dose': give",
        ),
        (
            read(words, y, counted),
            "Linz: column 'dose' is categorical, and at Graz it is continuous: declare",
        ),
        (read(frame, y, keep=["age"]), "Linz: it keeps other columns than Graz"),
        (read(frame, survival), "Linz: its target is survival, and that of Graz is classes"),
        (
            read(frame, np.where(y == "a", "c", y)),
            r"Linz: its classes are \['b', 'c'\], and those of Graz are \['a', 'b'\]",
        ),
    ):
        with pytest.raises(DataError, match=f"^{message}"):
            sites({"Graz": graz, "Linz": other})


# ---- blocks of columns ---------------------------------------------------------------------------
@given(seed=st.one_of(st.none(), st.integers(0, 99)), p=st.integers(1, 20), data=st.data())
@settings(max_examples=40, deadline=None)
def test_column_blocks_share_every_column(seed, p, data):
    n_blocks = data.draw(st.integers(1, p))
    problem = read(np.random.default_rng(0).normal(size=(6, p)), np.arange(6) % 2)
    parts = column_blocks(problem, n_blocks, seed)
    blocks = [part.columns for part in parts]
    assert sorted(np.concatenate(blocks).tolist()) == list(range(p))
    assert all((np.diff(block) > 0).all() for block in blocks)
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1
    if seed is None:
        assert np.concatenate(blocks).tolist() == list(range(p))


def test_a_block_of_columns_takes_its_schema_along():
    X, y = table(p=6)
    X[:, 4] = np.round(X[:, 4]) + 5
    schema = {
        "keep": ["x5", "x1"],
        "prior": {"x1": 2.0, "x4": 8.0},
        "ordinal": {"x4": list(range(12))},
        "column_groups": {"lab": ["x1", "x4"], "other": ["x0"]},
        "costs": {"x5": 3.0},
    }
    with pytest.warns(UserWarning, match="does not use"):
        problem = read(X, y, JMI(), **schema)
    part = problem.take_columns(np.array([1, 4, 5]))
    assert list(part.columns.names) == ["x1", "x4", "x5"]
    assert part.columns.names[1:] == ["x4", "x5"]
    assert part.columns.keep.tolist() == part.preference.keep.tolist() == [2, 0]
    assert part.columns.prior.tolist() == part.preference.prior.tolist() == [2.0, 8.0, 1.0]
    assert part.columns.costs.tolist() == [0.0, 0.0, 3.0]
    assert list(part.columns.levels) == [1]
    assert {name: members.tolist() for name, members in part.columns.groups.items()} == {
        "lab": [0, 1]
    }
    again = part.take_columns(np.array([2]))
    assert again.features.tolist() == [5]
    assert again.columns.names[0] == "x5"
    assert len({problem.fingerprint, part.fingerprint, again.fingerprint}) == 3


def test_a_cache_tells_blocks_apart(tmp_path):
    X, y = table(n=60, p=8)
    X[:, 4:] = X[:, 4:] > 0
    X[:, :4] = X[:, :4] > 0
    np.save(tmp_path / "X.npy", X)
    for given_table in (X, scan(tmp_path / "X.npy")):
        ranker = MRMR(discretizer=None, cache=tmp_path / "cache")
        problem = ranker._read(given_table, y).in_memory("MRMR")
        for part in column_blocks(problem, 2):
            plain = MRMR(discretizer=None).fit(X[:, part.columns], y)
            for _ in range(2):
                ranking = ranker._rank(part.problem(1))
                np.testing.assert_array_equal(ranking.order, plain.order_)


def test_parts_of_a_table_on_disk(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 4, (40, 300)).astype(np.float32), np.arange(40) % 2
    on_disk(tmp_path, X)
    for ranker in (FTest(), InformationGain(), JMI(max_steps=5), ReliefF(n_neighbors=3)):
        parts_of = {
            "bags": lambda problem: bootstrap(problem, 3, 0),
            "blocks": lambda problem: row_blocks(problem, 2, 0),
        }
        for make_parts in parts_of.values():
            in_memory = Ensemble(ranker, make_parts).fit(X, y)
            with small_blocks():
                streamed = Ensemble(type(ranker)(**ranker.get_params()), make_parts)
                streamed.ranker.set_params(memory_limit="1MB")
                streamed.fit(scan(tmp_path / "X.npy"), y)
            np.testing.assert_array_equal(in_memory.positions_, streamed.positions_)


# ---- rankers -------------------------------------------------------------------------------------
def test_several_rankers_are_each_themselves():
    X, y = table(p=9)
    schema = {"keep": [8], "prior": {5: 100.0}}
    methods = [FTest(), JMI(discretizer="equal-width"), SVMRFE(C=0.5), ReliefF()]
    uses_all = JMI()
    ensemble = Ensemble(
        uses_all, lambda problem: rankers(problem, methods), schema=schema, options={"k": 3}
    ).fit(X, y)
    assert ensemble.problems_ == ["FTest", "JMI", "SVMRFE", "ReliefF"]
    for method, positions in zip(methods, ensemble.positions_.T, strict=True):
        own = {name: part for name, part in schema.items() if name in method._uses}
        fitted = method.set_params(schema=own).fit(X, y)
        order = np.argsort(positions, kind="stable")
        np.testing.assert_array_equal(order, fitted.order_, err_msg=type(method).__name__)


def test_equal_rankers_have_different_names():
    problem = read(*table())
    methods = [FTest(), SVMRFE(C=2), SVMRFE(), SVMRFE(C=2)]
    labels = [part.label for part in rankers(problem, methods)]
    assert labels == ["FTest", "SVMRFE(C=2) 1", "SVMRFE()", "SVMRFE(C=2) 2"]


# ---- wrong arguments -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make_parts", "message"),
    [
        (lambda problem: bootstrap(problem, 0, 0), "n_bags=0: give a whole number from 1"),
        (lambda problem: bootstrap(problem, 2.0, 0), r"n_bags=2\.0"),
        (lambda problem: bootstrap(problem, 2, -1), "seed=-1: give a whole number from 0"),
        (lambda problem: bootstrap(problem, 2, True), "seed=True"),
        (
            lambda problem: bootstrap(problem, 2, 0, share=0),
            r"share=0: give a number above 0 and at most 1",
        ),
        (lambda problem: bootstrap(problem, 2, 0, share=1.5), r"share=1\.5"),
        (lambda problem: bootstrap(problem, 2, 0, share=True), "share=True"),
        (lambda problem: row_blocks(problem, -1, 0), "n_blocks=-1"),
        (lambda problem: row_blocks(problem, 2, None), "seed=None"),
        (lambda problem: column_blocks(problem, 8), "n_blocks=8: give 1 to 7, the number of"),
        (lambda problem: column_blocks(problem, 2, 1.5), r"seed=1\.5"),
        (lambda problem: sites({}), "names no site"),
        (lambda problem: rankers(problem, []), "holds no ranker"),
    ],
)
def test_wrong_arguments_are_named(make_parts, message):
    with pytest.raises(ParameterError, match=message):
        make_parts(read(*table()))
