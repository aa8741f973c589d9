"""Distances and votes are those of the definition, ties included, and a path is a fit a size."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import DataError
from featly.basics.errors import ParameterError
from featly.kernels import ClinicalKernel
from featly.learners.heom import HEOMNeighbors
from tests.reference.heom import squared_distances, votes


@st.composite
def mixed_problems(draw, most_classes=3, kinds=("whole", "real", "text")):
    """Training rows, labels, other rows, as columns: ties, missing values, outliers, new levels."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n, m = draw(st.integers(2, 14)), 5
    n_classes = min(n, draw(st.integers(2, most_classes)))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    missing_rate = draw(st.sampled_from([0.0, 0.2]))
    columns = []
    for _ in range(draw(st.integers(1, 5))):
        kind = rng.choice(kinds)
        if kind == "text":
            values = rng.choice(list("abcd"), n + m).tolist()
        elif kind == "whole":
            values = (1.0 * rng.integers(-2, 3, n + m)).tolist()
            if rng.random() < 0.2:
                values[0] = 1e3
        else:
            values = rng.normal(size=n + m).tolist()
        if rng.random() < 0.15:
            values[:n] = [values[0]] * n
        values = [None if rng.random() < missing_rate else v for v in values]
        if rng.random() < 0.05:
            values[:n] = [None] * n
        columns.append(values)
    return [c[:n] for c in columns], y, [c[n:] for c in columns]


def frame(columns, types=None):
    """Lists as a polars frame; `types` are those of another frame."""
    texts = [any(isinstance(v, str) for v in c) for c in columns]
    return pl.DataFrame(
        {
            f"c{j}": pl.Series(c, dtype=pl.String if text else pl.Float64)
            for j, (c, text) in enumerate(zip(columns, texts, strict=True))
        },
        schema_overrides=types,
    )


def frames(train, rows):
    """Both parts as frames, of the same types even where one has no value."""
    joined = frame([a + b for a, b in zip(train, rows, strict=True)])
    return joined[: len(train[0])], joined[len(train[0]) :]


# ---- the definition ------------------------------------------------------------------------------
@given(mixed_problems(most_classes=4), st.integers(1, 6))
@settings(max_examples=80)
def test_agrees_with_reference(problem, k):
    train, y, rows = problem
    X, other = frames(train, rows)
    nearest = HEOMNeighbors(n_neighbors=k).fit(X, y)
    squared = squared_distances(train, rows)
    shares, wins, labels = (
        nearest.predict_proba(other),
        nearest.winners(other),
        nearest.predict(other),
    )
    distances, indices = nearest.kneighbors(other)
    assert distances.shape == indices.shape == (len(squared), min(k, len(y)))
    for i, row in enumerate(squared):
        expected_shares, first = votes(row, y.tolist(), k)
        assert shares[i] == pytest.approx(
            [float(v) / min(k, len(y)) for v in expected_shares.values()]
        )
        assert np.flatnonzero(wins[i]).tolist() == first
        assert labels[i] == first[0]
        expected = sorted(range(len(row)), key=lambda j: (row[j], j))
        assert indices[i].tolist() == expected[: min(k, len(y))]
        assert distances[i] ** 2 == pytest.approx([float(row[j]) for j in indices[i]], abs=1e-12)


@given(mixed_problems(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_does_not_matter(problem, k, random):
    train, y, rows = problem
    X, other = frames(train, rows)
    expected = HEOMNeighbors(n_neighbors=k).fit(X, y)
    shuffled = random.sample(range(len(y)), len(y))
    names = random.sample(X.columns, X.width)
    permuted = HEOMNeighbors(n_neighbors=k).fit(X[shuffled].select(names), y[shuffled])
    other_names = other.select(names)
    assert (permuted.winners(other_names) == expected.winners(other)).all()
    assert permuted.predict_proba(other_names) == pytest.approx(expected.predict_proba(other))
    assert [expected.predict(row)[0] for row in other.iter_slices(1)] == expected.predict(
        other
    ).tolist()


def test_differences_tie_however_far_values_lie_from_zero():
    """Steps of 1 in a column with a range of a million, and squares that sum in two orders."""
    X = pl.DataFrame({"a": [10.0, 12.0, 0.0, 1e6], "b": [0.0, 0.0, 0.0, 3e6]})
    nearest = HEOMNeighbors(n_neighbors=1).fit(X + 0.1, ["x", "y", "y", "y"])
    assert nearest.predict_proba(pl.DataFrame({"a": [11.1], "b": [0.1]})).tolist() == [[0.5, 0.5]]
    assert 0.1**2 + 0.2**2 + 0.5**2 != 0.5**2 + 0.2**2 + 0.1**2
    X = np.array([[0.1, 0.2, 0.5], [0.5, 0.2, 0.1], [0.2, 0.5, 0.1], [0, 0, 0], [1, 1, 1]])
    nearest = HEOMNeighbors(n_neighbors=2).fit(X, [0, 1, 2, 0, 0])
    assert nearest.predict_proba(np.zeros((1, 3)))[0] == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    assert nearest.kneighbors(np.zeros((1, 3)))[1].tolist() == [[3, 0]]


def test_equal_votes_go_to_the_nearer_class_then_to_the_first():
    X, y = [[0.0], [1.0], [4.0], [10.0]], ["b", "a", "a", "b"]
    two = HEOMNeighbors(n_neighbors=2).fit(X, y)
    shares = two.predict_proba([[0.4], [0.6], [0.5]])
    assert shares == pytest.approx(np.full((3, 2), 0.5))
    assert shares.argmax(axis=1).tolist() == [1, 0, 0]
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    assert two.predict([[0.4], [0.6], [0.5]]).tolist() == ["b", "a", "a"]
    assert two.winners([[0.4], [0.6], [0.5]]).tolist() == [[0, 1], [1, 0], [1, 1]]
    # two votes at distance 8, against one at 0 and one that two rows at distance 9 share
    four = HEOMNeighbors(n_neighbors=4).fit([[9.0], [9.0], [1.0], [10.0], [10.0]], list("aabbb"))
    assert four.predict([[1.0]]).tolist() == ["b"]


# ---- independent programs ------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 5, 30, 100])
def test_numbers_are_scikit_learns_on_columns_from_0_to_1(k):
    rng = np.random.default_rng(k)
    X, rows = rng.normal(size=(100, 6)) * 10.0 ** np.arange(-3, 3), rng.normal(size=(40, 6))
    y = rng.integers(0, 3, 100)
    low, high = X.min(axis=0), X.max(axis=0)
    rows = rows * (high - low) / 2 + X.mean(axis=0)
    peer = KNeighborsClassifier(k).fit((X - low) / (high - low), y)
    clipped = (np.clip(rows, low, high) - low) / (high - low)
    ours = HEOMNeighbors(n_neighbors=k).fit(X, y)
    assert ours.predict_proba(rows) == pytest.approx(peer.predict_proba(clipped))
    distances, indices = ours.kneighbors(rows)
    assert distances == pytest.approx(peer.kneighbors(clipped)[0])
    assert (indices == peer.kneighbors(clipped)[1]).all()


def test_categories_are_scikit_learns_hamming():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, (50, 9)), rng.integers(0, 2, 50)
    peer = KNeighborsClassifier(7, metric="hamming").fit(codes[:35], y[:35])
    ours = HEOMNeighbors(n_neighbors=7).fit(codes[:35].astype(str), y[:35])
    distances = ours.kneighbors(codes[35:].astype(str))[0]
    assert distances**2 / 9 == pytest.approx(peer.kneighbors(codes[35:])[0])


def test_one_minus_the_clinical_kernel():
    """Equation 11 of Paul, D'Ambrosio and Dupont (2015): d_f = 1 - k_f, also where missing."""
    X = pl.DataFrame({"age": [40, None, 60, 55], "sex": ["f", "m", "m", None]})
    other = pl.DataFrame({"age": [45, 90, None], "sex": ["m", "x", "f"]})
    for name in X.columns:
        kernel = ClinicalKernel().fit(X.select(name))
        nearest = HEOMNeighbors(n_neighbors=4).fit(X.select(name), [0, 1, 0, 1])
        distances, indices = nearest.kneighbors(other.select(name))
        similarity = np.take_along_axis(kernel(other.select(name)), indices, axis=1)
        assert distances == pytest.approx(1 - similarity)


# ---- hard columns --------------------------------------------------------------------------------
def test_missing_constant_and_empty_columns():
    X = pl.DataFrame(
        {
            "constant": [3.0, 3.0, None],
            "nothing": pl.Series([None] * 3, dtype=pl.Float64),
            "no text": pl.Series([None] * 3, dtype=pl.String),
            "one level": ["a", "a", None],
        }
    )
    other = pl.DataFrame({"constant": [8.0], "nothing": [1.0], "no text": ["b"], "one level": "a"})
    nearest = HEOMNeighbors(n_neighbors=3).fit(X, [0, 1, 1])
    for name, expected in (("constant", 0), ("nothing", 1), ("no text", 1), ("one level", 0)):
        single = HEOMNeighbors(n_neighbors=3).fit(X.select(name), [0, 1, 1])
        assert single.kneighbors(other.select(name))[0][0] == pytest.approx([expected, expected, 1])
    assert nearest.kneighbors(other)[0][0] == pytest.approx(np.sqrt([2, 2, 4]))
    empty = np.full((3, 2), np.nan)
    assert HEOMNeighbors().fit(empty, [0, 1, 1]).predict(empty).tolist() == [1, 1, 1]


def test_levels_of_numbers_and_ordinal_levels():
    X = pl.DataFrame({"site": [1, 2, 3, 3], "grade": ["low", "mid", "high", "low"]})
    schema = {"categorical": ["site"], "ordinal": {"grade": ["low", "mid", "high"]}}
    nearest = HEOMNeighbors(n_neighbors=4, schema=schema).fit(X, [0, 0, 1, 1])
    rows = pl.DataFrame({"site": [3.0, 7.0], "grade": ["mid", None]})
    distances, indices = nearest.kneighbors(rows)
    assert indices.tolist() == [[2, 3, 1, 0], [0, 1, 2, 3]]
    assert distances**2 == pytest.approx(np.array([[0.25, 0.25, 1, 1.25], [2, 2, 2, 2]]))


def test_as_many_neighbours_as_there_are():
    nearest = HEOMNeighbors(n_neighbors=50).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert nearest.predict_proba([[0.0]]) == pytest.approx(np.array([[1 / 3, 2 / 3]]))
    assert nearest.kneighbors([[0.0]])[1].tolist() == [[0, 1, 2]]


def test_threads_and_blocks_change_nothing():
    rng = np.random.default_rng(0)
    X, y, rows = rng.normal(size=(60, 9)), rng.integers(0, 3, 60), rng.normal(size=(101, 9))
    fits = [HEOMNeighbors(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3)]
    assert len({fitted.predict_proba(rows).tobytes() for fitted in fits}) == 1
    assert len({fitted.kneighbors(rows)[0].tobytes() for fitted in fits}) == 1
    one_by_one = np.vstack([fits[0].predict_proba(row[None]) for row in rows])
    assert (one_by_one == fits[0].predict_proba(rows)).all()


# ---- tables and labels ---------------------------------------------------------------------------
def patients(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    table = pl.DataFrame(
        {
            "age": pl.Series(np.round(rng.normal(50 + 5 * y, 9), 1)).set(
                pl.Series(rng.random(n) < 0.1), None
            ),
            "stage": rng.choice(["i", "ii", "iii"], n),
            "site": rng.integers(1, 4, n),
            "smokes": rng.random(n) < 0.2 + 0.3 * y,
            "noise": rng.normal(size=n),
        }
    )
    return table, np.array(["well", "ill", "worse"])[y]


def test_frames_of_all_libraries_agree():
    table, y = patients()
    schema = {"categorical": ["site"]}
    expected = HEOMNeighbors(schema=schema).fit(table[:40], y[:40]).predict_proba(table[40:])
    for train, rows in (
        (table[:40].to_pandas(), table[40:].to_pandas()),
        (table[:40].to_arrow(), table[40:].to_arrow()),
        (table[:40], table[40:].with_columns(pl.col("site").cast(pl.Float64))),
        (table[:40].with_columns(pl.col("stage").cast(pl.Categorical)), table[40:]),
    ):
        probabilities = HEOMNeighbors(schema=schema).fit(train, y[:40]).predict_proba(rows)
        assert (probabilities == expected).all()


@pytest.mark.parametrize(
    "labels",
    [np.array([3, 7]), np.array([False, True]), np.array([-1.0, 1.0]), np.array(["ill", "well"])],
)
def test_labels_of_any_type_come_back(labels):
    rng = np.random.default_rng(0)
    code = np.arange(30) % 2
    X = rng.normal(size=(30, 2)) + 3 * code[:, None]
    for y in (labels[code], labels[code].tolist(), pd.Series(labels[code])):
        nearest = HEOMNeighbors().fit(X, y)
        assert nearest.predict(X).dtype.kind == nearest.classes_.dtype.kind
        assert (nearest.predict(X) == labels[code]).mean() > 0.9
        assert nearest.predict_path(X, y, X, [1, 2])[1].tolist() == nearest.predict(X).tolist()


def test_lists_sparse_tables_and_pickles():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5)) < 0.5, rng.normal(size=(40, 5)), 0.0)
    y = np.arange(40) % 2
    expected = HEOMNeighbors().fit(X, y).predict(X).tolist()
    assert HEOMNeighbors().fit(X.tolist(), y.tolist()).predict(X.tolist()).tolist() == expected
    sparse = scipy.sparse.csr_array(X)
    assert HEOMNeighbors().fit(sparse, y).predict(sparse).tolist() == expected
    copy = pickle.loads(pickle.dumps(HEOMNeighbors().fit(X, y)))
    assert copy.predict(X).tolist() == expected
    X.setflags(write=False)
    assert HEOMNeighbors().fit(X, y).predict(X).tolist() == expected


# ---- the path ------------------------------------------------------------------------------------
def assert_path_is_fits(learner, X, y, rows, sizes):
    path = learner.predict_path(X, y, rows, sizes)
    assert not [name for name in vars(learner) if name.endswith("_")], "the path leaves traces"
    assert path.shape == (len(sizes), len(rows))
    for size, labels in zip(sizes, path, strict=True):
        single = type(learner)(**learner.get_params()).fit(X[:, :size], y)
        assert labels.tolist() == single.predict(rows[:, :size]).tolist(), f"size {size}"


@given(mixed_problems(most_classes=4), st.integers(1, 6))
def test_path_is_a_fit_at_every_size(problem, k):
    train, y, rows = problem
    X, other = frames(train, rows)
    assert_path_is_fits(HEOMNeighbors(n_neighbors=k), X, y, other, range(1, X.width + 1))


def test_path_of_mixed_and_wide_tables():
    table, y = patients()
    schema = {"categorical": [2]}
    assert_path_is_fits(HEOMNeighbors(schema=schema), table[:40], y[:40], table[40:], [3, 4, 5])
    X = np.random.default_rng(0).normal(size=(90, 300)) + 0.3 * (np.arange(90) % 3)[:, None]
    sizes = [1, 2, 16, 300]
    assert_path_is_fits(HEOMNeighbors(n_jobs=2), X[:50], np.arange(50) % 3, X[50:], sizes)


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [[], [0, 1], [2, 1], [1, 1], [4], [1.5]])
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(ParameterError, match="from 1 to 3, ascending"):
        HEOMNeighbors().predict_path(np.eye(3), [0, 1, 1], np.eye(3), sizes)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0: give a whole number"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5"),
        ({"n_neighbors": True}, "n_neighbors=True"),
        ({"n_neighbors": "5"}, "n_neighbors='5'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_parameters_that_make_no_sense(parameters, word):
    for call in (
        lambda learner: learner.fit(np.eye(3), [0, 1, 1]),
        lambda learner: learner.predict_path(np.eye(3), [0, 1, 1], np.eye(3), [1]),
    ):
        with pytest.raises(ParameterError, match=word):
            call(HEOMNeighbors(**parameters))


def test_targets_and_tables_that_make_no_sense():
    with pytest.raises(DataError, match="one class only"):
        HEOMNeighbors().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(DataError, match="3 rows but y has 2"):
        HEOMNeighbors().fit(np.eye(3), [0, 1])
    with pytest.raises(ParameterError, match="requires y"):
        HEOMNeighbors().fit(np.eye(3), None)
    with pytest.raises(NotFittedError):
        HEOMNeighbors().kneighbors(np.eye(3))
    with pytest.raises(DataError, match="'x1' has an infinite value"):
        HEOMNeighbors().fit([[0.0, np.inf], [1.0, 2.0]], [0, 1])
    fitted = HEOMNeighbors().fit(pl.DataFrame({"a": [1, 2, 3]}), [0, 1, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(pl.DataFrame({"b": [1, 2, 3]}))
    with pytest.raises(ValueError, match="HEOMNeighbors is expecting 3 features"):
        HEOMNeighbors().fit(np.eye(3), [0, 1, 1]).predict(np.eye(2))


@parametrize_with_checks([HEOMNeighbors(), HEOMNeighbors(n_neighbors=1)])
def test_scikit_learn(estimator, check):
    check(estimator)
