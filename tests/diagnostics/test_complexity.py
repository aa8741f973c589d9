import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.svm import SVC

from featly.basics.errors import DataError, ParameterError
from featly.core.stats import row_distances as core
from featly.core.stats.row_distances import SquaredDistances
from featly.diagnostics import MEASURES, complexity
from featly.diagnostics.reading import draw_stratified
from tests.reference import complexity as naive


@st.composite
def tables(draw, max_classes=3):
    """Ties, missing values, constants, duplicates, levels, classes of one row."""
    n = draw(st.integers(3, 12))
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=4))
    number = st.sampled_from([0.0, 0.5, 1.0, 3.0, -2.0, None])
    level = st.sampled_from(["a", "b", "c", None])
    X = [[draw(number if kind else level) for kind in kinds] for _ in range(n)]
    y = [draw(st.integers(0, max_classes - 1)) for _ in range(n)]
    y[0], y[1] = 0, 1
    return X, y, kinds


def frame(X, kinds):
    dtypes = [pl.Float64 if kind else pl.String for kind in kinds]
    return pl.DataFrame(
        {f"c{f}": pl.Series([row[f] for row in X], dtype=dtypes[f]) for f in range(len(kinds))}
    )


def pairs(y):
    return list(combinations(sorted(set(y)), 2))


@settings(max_examples=40)
@given(tables())
def test_measures_are_their_definitions(table):
    X, y, kinds = table
    result = complexity(frame(X, kinds), y)
    values, D = result.values, naive.heom(X, kinds)
    columns = range(len(kinds))
    assert values["N3"] == pytest.approx(naive.n3(D, y))
    ratio = naive.n2(D, y)
    assert np.isnan(values["N2"]) if ratio is None else values["N2"] == pytest.approx(ratio)
    edges = naive.boundary_edges(D, y)
    rows = round(values["N1"] * len(y))
    assert bool(rows)
    assert rows <= 2 * len(edges)
    expected = [max(naive.fisher(X, y, kinds, f, a, b) for f in columns) for a, b in pairs(y)]
    assert values["F1"] == pytest.approx(np.mean(expected))
    shared = [[naive.overlap(X, y, kinds, f, a, b) for f in columns] for a, b in pairs(y)]
    volume = np.mean([math.prod(share for share, _ in pair) for pair in shared])
    assert values["F2"] == pytest.approx(volume)
    best = [max(apart for _, apart in pair) for pair in shared]
    assert values["F3"] == pytest.approx(np.mean(best))
    every = [min(pair[f][1] for pair in shared) for f in columns]
    alone = tuple(f"c{f}" for f in columns if every[f] == 1)  # levels are too few to be names
    assert result.separating_columns == alone
    assert values["IR"] == max(map(y.count, set(y))) / min(map(y.count, set(y)))
    assert values["T2"] == len(y) / len(kinds)
    for name in ("L2", "L3", "N1", "N3", "N4", "T1"):
        assert 0 <= values[name] <= 1


@settings(max_examples=25)
@given(tables())
def test_lorena_lies_between_0_and_1_and_agrees_with_the_other_convention(table):
    X, y, kinds = table
    raw = complexity(frame(X, kinds), y).values
    bounded = complexity(frame(X, kinds), y, convention="lorena").values
    for name, value in bounded.items():
        assert name == "T2" or np.isnan(value) or 0 <= value <= 1, name
    for name in ("F2", "L2", "L3", "N1", "N3", "N4", "T1"):
        assert bounded[name] == pytest.approx(raw[name], nan_ok=True), name
    assert bounded["F3"] == pytest.approx(1 - raw["F3"])
    if np.isfinite(raw["N2"]):
        assert bounded["N2"] == pytest.approx(raw["N2"] / (1 + raw["N2"]))


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(4, 20), st.integers(1, 4))
def test_trees_and_spheres_without_ties(seed, n, p):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), rng.integers(0, 3, n)
    y[:2] = 0, 1
    values = complexity(X, y).values
    D = naive.heom(X.tolist(), [True] * p)
    ends = {i for edge in naive.boundary_edges(D, y.tolist()) for i in edge}
    assert values["N1"] == pytest.approx(len(ends) / n)
    assert values["T1"] == pytest.approx(naive.spheres(D, y.tolist()) / n)


def test_cached_distances_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1100, 4)), rng.integers(0, 2, 1100)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = np.round(X[:, 3])
    stored = complexity(X, y, schema={"categorical": [3]}, n_jobs=1)
    monkeypatch.setattr(core, "STORED", 10)
    again = complexity(X, y, schema={"categorical": [3]}, n_jobs=2)
    assert stored.values == again.values


def test_distances_agree_with_scipy():
    X = np.random.default_rng(1).normal(size=(200, 7))
    squared = SquaredDistances(X.T, np.ones(7, bool)).block(0, 200)
    np.testing.assert_allclose(squared, cdist(X, X, "sqeuclidean"), rtol=2e-10)


def test_direction_by_the_pseudo_inverse():
    rng = np.random.default_rng(2)
    for n, p in ((60, 3), (60, 59), (20, 50)):
        X, y = rng.normal(size=(n, p)), np.arange(n) % 2
        X[:, 0] += y
        ratio = complexity(X, y, measures=["F1v"]).values["F1v"]
        assert ratio == pytest.approx(naive.direction(X, y == 0), rel=1e-6)


def test_directions_of_few_columns_do_not_depend_on_units():
    X, y = load_breast_cancer(return_X_y=True)
    a = complexity(X, y, measures=["F1v"]).values["F1v"]
    b = complexity(X * np.geomspace(1e-3, 1e3, X.shape[1]), y, measures=["F1v"]).values["F1v"]
    assert a == pytest.approx(b, rel=1e-6)


def test_linear_measures_agree_with_libsvm():
    X, y = load_breast_cancer(return_X_y=True)
    Z = (X - X.mean(0)) / X.std(0)
    peer = SVC(C=1.0, kernel="linear", tol=1e-8).fit(Z, y)
    margins = np.where(y == 1, 1, -1) * peer.decision_function(Z)
    raw = complexity(X, y, measures=["L1", "L2", "L3"]).values
    assert raw["L2"] == np.mean(margins < 0)
    assert raw["L1"] == pytest.approx(np.maximum(0, 1 - margins).mean(), rel=1e-4)
    distance = np.maximum(0, -margins).mean() / np.linalg.norm(peer.coef_)
    bounded = complexity(X, y, measures=["L1"], convention="lorena").values
    assert bounded["L1"] == pytest.approx(distance / (1 + distance), rel=1e-4)
    assert raw["L3"] <= raw["L2"] + 0.02


def test_interpolated_points_of_convex_classes_are_right():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    X[40:] += 30
    values = complexity(X, np.repeat([0, 1], 40)).values
    assert values["L1"] < 0.05
    for name in ("L2", "L3", "N3", "N4"):
        assert values[name] == 0
    # a ring around a blob: points between its rows fall into the blob
    angle = rng.uniform(0, 2 * np.pi, 40)
    X = np.concatenate([rng.normal(size=(40, 2)) / 10, np.c_[np.cos(angle), np.sin(angle)] * 3])
    values = complexity(X, np.repeat([0, 1], 40)).values
    assert values["N3"] == 0
    assert values["N4"] > 0.05
    assert values["L2"] > 0.2


def test_levels_have_nothing_between_them():
    table = pl.DataFrame({"g": ["p", "r", "q"] * 8})  # codes 1, 3 and 2
    assert complexity(table, ["a", "a", "b"] * 8).values["N4"] == 0


def test_rows_alone_in_their_class():
    result = complexity([[0.0], [1.0], [5.0]], ["a", "b", "c"])
    assert np.isnan(result.values["N2"])
    assert result.values["N3"] == 1
    assert result.values["N1"] == 1
    assert result.values["F1"] == np.inf
    assert result.separating_columns == ("x0",)


def test_copies_across_classes():
    X, y = np.zeros((6, 2)), [0, 0, 0, 1, 1, 1]
    raw, bounded = complexity(X, y).values, complexity(X, y, convention="lorena").values
    assert raw["N2"] == 1
    assert bounded["N2"] == 0.5
    assert raw["N3"] == pytest.approx(0.6)
    assert raw["F1"] == 0
    assert bounded["F1"] == 1
    assert raw["F2"] == 1
    assert raw["F3"] == 0
    assert raw["T1"] == 1
    assert raw["L2"] == 0.5


def test_order_of_rows_and_columns_and_threads_do_not_matter():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape) * 1e-3  # no ties
    names = [name for name in MEASURES if name not in ("L3", "N4")]  # those are drawn
    order = np.random.default_rng(1).permutation(len(X))
    first = complexity(X, y, measures=names, n_jobs=1).values
    second = complexity(X[order][:, ::-1], y[order], measures=names, n_jobs=2).values
    assert first == pytest.approx(second, rel=1e-6)
    assert complexity(X, y, random_state=4).values == complexity(X, y, random_state=4).values


@pytest.mark.parametrize("seed", range(5))
def test_units_and_order_of_columns_do_not_matter_where_distances_tie(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 8, size=(40, 4)) / 10, np.r_[0, 1, 2, rng.integers(0, 3, 37)]
    names = [name for name in MEASURES if name not in ("L3", "N4")]  # those are drawn
    other = (X * [2.54, 1.8, 1e3, 0.37] + [0, 32, 5, 1])[:, [2, 0, 3, 1]]
    first = complexity(X, y, measures=names).values
    assert complexity(other, y, measures=names).values == pytest.approx(first, rel=1e-6)


def test_volumes_too_small_for_a_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6000))
    result = complexity(X, np.arange(40) % 2, measures=["F2"])
    assert result.values["F2"] == 0
    assert -5000 < result.log10_overlap < -308
    few = complexity(X[:, :5], np.arange(40) % 2, measures=["F2"])
    assert few.log10_overlap == pytest.approx(np.log10(few.values["F2"]))
    assert "10^-" in result.text()


def test_samples_are_noted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), (np.arange(500) < 20).astype(int)
    result = complexity(X, y, max_rows=100)
    assert result.n_used == 100
    assert result.n_rows == 500
    assert "100 of 500" in result.notes[0]
    assert result.values["IR"] == 24
    assert result.values["T2"] == 250


def test_imbalance_of_lorena():
    y = [0] * 30 + [1] * 10
    ratio = 0.5 * (30 / 10 + 10 / 30)
    result = complexity(np.arange(40.0)[:, None], y, measures=["IR"], convention="lorena")
    assert result.values["IR"] == pytest.approx(1 - 1 / ratio)
    assert result.imbalance_ratio == 3


def test_no_row_is_its_own_neighbour():
    y = np.array([0, 1, 0, 1])
    distances = SquaredDistances(np.array([[0.0, 1.0, 2.5, 4.5]]), np.array([True]))
    assert distances.nearest(y).wrong.tolist() == [1, 1, 1, 1]
    assert distances.nearest(np.array([0, 0, 1, 1])).wrong.tolist() == [0, 0, 1, 0]


def test_identifiers_do_not_separate_classes():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"id": [f"p{i}" for i in range(60)], "x": rng.normal(size=60)})
    assert complexity(table, ["a", "b"] * 30).separating_columns == ()
    ward = pl.DataFrame({"ward": ["n", "s", "e", "w"] * 15})
    assert complexity(ward, ["a", "b"] * 30).separating_columns == ("ward",)


def test_separating_columns_separate_all_rows_of_the_table():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = np.c_[y + rng.uniform(0, 0.5, 400), y + rng.uniform(0, 0.5, 400)]
    used = set(complexity(X, y, max_rows=50).notes)
    assert used == {"from 50 of 400 rows, each class in its share"}
    assert complexity(X, y, max_rows=50).separating_columns == ("x0", "x1")
    sample = draw_stratified(y, 50, np.random.default_rng(0))
    X[np.setdiff1d(np.flatnonzero(y == 0), sample)[:3], 0] = 1.2
    assert complexity(X, y, max_rows=50).separating_columns == ("x1",)


def test_classes_that_do_not_vary_have_an_infinite_ratio():
    for X in ([[0.0], [0.0], [1.0], [1.0]], [[0.1, 5.0], [0.1, 7.0], [0.3, 5.5], [0.3, 6.0]]):
        values = complexity(X, [0, 0, 1, 1], measures=["F1", "F1v"]).values
        assert values["F1"] == np.inf
        assert values["F1v"] == np.inf
        bounded = complexity(X, [0, 0, 1, 1], measures=["F1v"], convention="lorena")
        assert bounded.values["F1v"] == 0
    table = pl.DataFrame({"g": list("abab") * 5, "h": ["x"] * 20, "i": list("abab") * 5})
    assert complexity(table, [0, 1] * 10, measures=["F1v"]).values["F1v"] == np.inf
    assert complexity(np.zeros((8, 2)), [0, 1] * 4, measures=["F1v"]).values["F1v"] == 0


def test_one_separated_pair_does_not_make_the_best_column():
    y = np.repeat([0, 1, 2], [40, 40, 2])
    X = np.random.default_rng(0).normal(size=(82, 2))
    X[:, 1] += 5 * (y == 1) - 5 * (y == 2)
    X[:40, 0], X[80:, 0] = 0.0, 4.0  # a class of two rows that do not vary
    assert complexity(X, y).best_column == "x1"


def test_directions_count_levels():
    table = pl.DataFrame({"g": ["a", "b", "c", None] * 5, "h": ["x"] * 20, "x": [1.0, 2.0] * 10})
    assert complexity(table, [0, 1] * 10).n_directions == 3


def test_frame_and_text():
    X, y = load_iris(return_X_y=True)
    result = complexity(X, y, measures=["N3", "F1"])
    assert result.to_frame()["measure"].to_list() == ["F1", "N3"]
    assert result.to_frame()["larger_is"].to_list() == ["easier", "harder"]
    assert "largest Fisher ratio" in str(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"convention": "weka"}, "convention='weka'"),
        ({"measures": ["F9"]}, "'F9' is none of"),
        ({"measures": "F1"}, "give a list"),
        ({"max_rows": 2}, "max_rows=2"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"measures": 5}, "measures=5"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        complexity([[0.0], [1.0]], [0, 1], **options)


def test_wrong_data():
    with pytest.raises(DataError, match="one class only"):
        complexity([[0.0], [1.0]], [0, 0])
    with pytest.raises(DataError, match="X has no columns"):
        complexity(np.empty((2, 0)), [0, 1])
    with pytest.raises(DataError, match="X has no rows"):
        complexity(np.empty((0, 2)), [])
    with pytest.raises(DataError, match="infinite"):
        complexity([[np.inf], [1.0]], [0, 1])


def test_the_figures_of_the_book(data_folder):
    table = pl.read_parquet(data_folder / "colon_alon.parquet")
    result = complexity(table.drop("class", "split", strict=False), table["class"])
    assert result.values["F1"] == pytest.approx(1.08, abs=0.005)  # table 4.6
    assert result.values["IR"] == pytest.approx(1.82, abs=0.005)
    table = pl.read_parquet(data_folder / "dlbcl_alizadeh.parquet")
    X = table.drop("class", "split", strict=False)
    filled = X.with_columns(pl.all().fill_nan(None).fill_null(strategy="mean"))
    result = complexity(filled, table["class"], measures=["F1", "IR"])
    assert result.values["F1"] == pytest.approx(2.91, abs=0.005)  # missing values as means
    assert result.values["IR"] == pytest.approx(1.04, abs=0.005)


def test_problexity_where_definitions_agree():
    peer = pytest.importorskip("problexity").classification
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.min(0)) / np.ptp(X, axis=0)
    ours = complexity(X, y, convention="lorena").values
    assert ours["F1v"] == pytest.approx(peer.f1v(X, y), rel=1e-6)
    assert ours["F2"] == pytest.approx(peer.f2(X, y))
    assert ours["F3"] == pytest.approx(peer.f3(X, y))
    assert ours["N3"] == pytest.approx(peer.n3(X, y))
    assert ours["T1"] == pytest.approx(peer.t1(X, y))
    assert ours["T2"] == pytest.approx(peer.t2(X, y))
    assert ours["IR"] == pytest.approx(peer.c2(X, y))
    # equation 2 of the paper instead of equation 3: twice our ratio
    ratio = 1 / ours["F1"] - 1
    assert peer.f1(X, y) == pytest.approx(1 / (1 + 2 * ratio))
    # edges between classes, halved, instead of rows
    D = np.sqrt(SquaredDistances(X.T, np.ones(X.shape[1], bool)).block(0, len(X)))
    edges = naive.boundary_edges(D.tolist()[:60], y[:60].tolist())
    assert peer.n1(X[:60], y[:60]) == pytest.approx(len(edges) / 2 / 60)
    # the second nearest row of the other class instead of the nearest
    D[y[:, None] == y] = np.inf
    intra_extra = peer.n2(X, y) / (1 - peer.n2(X, y))
    raw = ours["N2"] / (1 - ours["N2"])
    second = np.sort(D, axis=1)[:, 1].sum() / D.min(axis=1).sum()
    assert intra_extra == pytest.approx(raw / second)
