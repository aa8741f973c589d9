"""The Relief family equals its reference implementation on every code path."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.relief import relief, relief_columns
from featly.core.relief.relief import Near, Nearest, NearestOfAll, relief_weights
from featly.core.sources import CSCSource, DenseSource
from tests.reference import relief as reference

RULES = {
    "share": (Nearest(2), lambda t, i, row: reference.relieff_pairs(t, i, row, 2, "share")),
    "many": (Nearest(7), lambda t, i, row: reference.relieff_pairs(t, i, row, 7, "share")),
    "weka": (Nearest(3, True), lambda t, i, row: reference.relieff_pairs(t, i, row, 3, "weka")),
    "relief": (NearestOfAll(), reference.relief_pairs),
    "multisurf": (Near(), reference.multisurf_pairs),
}


def make_table(
    seed, n_rows, n_numbers, n_codes, n_classes, missing_share, n_levels=4, continuous=False
):
    """A table of few values, so that distances tie, with missing values; every class has a row."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows)])[:n_rows]
    y = rng.permutation(y)
    shape = (n_rows, n_numbers)
    X = rng.normal(size=shape) if continuous else rng.integers(0, 4, shape).astype(float)
    X[rng.random(shape) < missing_share] = np.nan
    codes = rng.integers(1, n_levels + 1, (n_codes, n_rows))
    codes[rng.random(codes.shape) < missing_share] = 0
    return X, codes.astype(np.uint8 if n_levels < 255 else np.uint16), y.astype(np.int64)


def source_of(X, codes, **options):
    kinds = np.repeat([CONTINUOUS, CATEGORICAL], [X.shape[1], len(codes)]).astype(np.uint8)
    return DenseSource(X, codes, kinds, codes.max(axis=1, initial=0).astype(np.int64), **options)


def reference_weights(X, codes, y, pairs, missing="conditional", rows=None):
    columns = [[None if np.isnan(v) else float(v) for v in column] for column in X.T]
    columns += [[None if v == 0 else int(v) for v in column] for column in codes]
    named = [False] * X.shape[1] + [True] * len(codes)
    return reference.weights(reference.Table(columns, named, y.tolist(), missing), pairs, rows)


def weights(source, y, rule, **options):
    return relief_weights(source, y, int(y.max()) + 1, rule, **options).weights


# ---- the reference -------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(3, 13),
    n_numbers=st.integers(0, 3),
    n_codes=st.integers(0, 3),
    n_classes=st.integers(2, 3),
    missing_share=st.sampled_from([0.0, 0.3, 0.7]),
    missing=st.sampled_from(["conditional", "weka"]),
    continuous=st.booleans(),
)
def test_agrees_with_the_reference(
    rule, seed, n_rows, n_numbers, n_codes, n_classes, missing_share, missing, continuous
):
    ours, theirs = RULES[rule]
    X, codes, y = make_table(
        seed,
        n_rows,
        n_numbers + (n_codes == 0),
        n_codes,
        n_classes,
        missing_share,
        continuous=continuous,
    )
    expected = pytest.approx(reference_weights(X, codes, y, theirs, missing), abs=2e-12)
    source = source_of(X, codes)
    assert weights(source, y, ours, missing=missing) == expected
    assert weights(source, y, ours, missing=missing, sample=np.arange(n_rows)) == expected


def test_a_sample_compares_its_rows_with_all():
    X, codes, y = make_table(0, 12, 2, 2, 3, 0.2)
    rows = [7, 1, 4]
    rule, pairs = RULES["share"]
    result = weights(source_of(X, codes), y, rule, sample=np.array(rows))
    assert result == pytest.approx(reference_weights(X, codes, y, pairs, rows=rows), abs=2e-12)


@pytest.mark.parametrize("n_levels", [2, 3, 9, 300])
def test_many_categorical_columns_and_levels(n_levels):
    X, codes, y = make_table(1, 14, 0, 70, 2, 0.1, n_levels=n_levels)
    for rule, pairs in (RULES["share"], RULES["multisurf"]):  # few neighbours: distances matter
        expected = reference_weights(X, codes, y, pairs)
        assert weights(source_of(X, codes), y, rule) == pytest.approx(expected, abs=2e-12)


def test_a_class_without_any_value():
    X, codes, y = make_table(2, 12, 2, 2, 3, 0.2)
    X[y == 1, 0] = np.nan
    codes[0, y == 2] = 0
    for missing in ("conditional", "weka"):
        for rule, pairs in RULES.values():
            expected = reference_weights(X, codes, y, pairs, missing)
            result = weights(source_of(X, codes), y, rule, missing=missing)
            assert result == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("missing", ["conditional", "weka"])
def test_columns_without_a_difference_weigh_nothing(missing):
    X, codes, y = make_table(3, 12, 3, 3, 2, 0.0)
    before = weights(source_of(X[:, 2:], codes[2:]), y, Nearest(3), missing=missing)
    X[:, 0] = np.nan
    X[:, 1] = np.where(np.arange(12) % 3, 0.1, np.nan)
    codes[0] = 0
    codes[1] = np.where(np.arange(12) % 3, 2, 0)
    result = weights(source_of(X, codes), y, Nearest(3), missing=missing)
    assert result[[0, 1, 3, 4]].tolist() == [0, 0, 0, 0]
    assert result[[2, 5]].tolist() == before.tolist()
    nothing = source_of(X[:, :2], codes[:2])
    assert weights(nothing, y, Near(), missing=missing).tolist() == [0, 0, 0, 0]


# ---- independent programs and closed forms --------------------------------------------------
@pytest.mark.parametrize("n_classes", [2, 3])
def test_neighbours_of_scikit_learn(n_classes):
    X, _, y = make_table(4, 60, 200, 0, n_classes, 0.0, continuous=True)
    Z = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    share = np.bincount(y) / len(y)
    expected = np.zeros(200)
    for c in range(n_classes):
        members = Z[y == c]
        finder = NearestNeighbors(n_neighbors=5, metric="manhattan").fit(members)
        for i, row in enumerate(Z):
            near = finder.kneighbors([row], n_neighbors=6, return_distance=False)[0]
            near = near[1:] if y[i] == c else near[:5]  # the nearest to a member is itself
            factor = -1 if y[i] == c else share[c] / (1 - share[y[i]])
            expected += factor * np.abs(members[near] - row).mean(axis=0)
    result = weights(DenseSource(X), y, Nearest(5))
    assert result == pytest.approx(expected / 60, abs=2e-12)


@pytest.mark.parametrize("rule", [Nearest(100), Nearest(100, True)])
def test_all_rows_as_neighbours_have_a_closed_form(rule):
    X, _, y = make_table(5, 40, 6, 0, 2, 0.0)
    n, expected = np.bincount(y), []
    for column in X.T / np.ptp(X, axis=0)[:, None]:
        first, second = (column[y == c][:, None] for c in (0, 1))
        misses = cdist(first, second, "cityblock").sum() * (1 / n[0] + 1 / n[1])
        hits = sum(cdist(a, a, "cityblock").sum() / (len(a) - 1) for a in (first, second))
        expected.append((misses - hits) / 40)
    assert weights(DenseSource(X), y, rule) == pytest.approx(expected, abs=2e-12)


def test_relief_is_relieff_with_one_neighbour_of_two_classes():
    X, codes, y = make_table(6, 50, 3, 3, 2, 0.1)
    source = source_of(X, codes)
    assert weights(source, y, NearestOfAll()).tolist() == weights(source, y, Nearest(1)).tolist()


def test_a_missing_value_with_one_possible_value_counts_as_it():
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    X = rng.normal(size=(20, 3))
    codes = rng.integers(1, 4, (2, 20)).astype(np.uint8)
    X[y == 0, 1], codes[1, y == 0] = 0.5, 2
    expected = weights(source_of(X, codes), y, Nearest(4))
    X[[2, 6], 1], codes[1, [4, 6]] = np.nan, 0
    assert weights(source_of(X, codes), y, Nearest(4)) == pytest.approx(expected, abs=2e-12)


# ---- code paths -----------------------------------------------------------------------------
@pytest.mark.parametrize("missing", ["conditional", "weka"])
@pytest.mark.parametrize("rule", RULES)
def test_panels_and_pieces_change_nothing(rule, missing, monkeypatch):
    X, codes, y = make_table(7, 45, 20, 20, 3, 0.1)
    source = source_of(X, codes)
    expected = weights(source, y, RULES[rule][0], missing=missing)
    result = weights(source, y, RULES[rule][0], missing=missing, sample=np.arange(45))
    assert result == pytest.approx(expected, abs=2e-12)
    monkeypatch.setattr(relief_columns, "TILE_COLUMNS", 3)
    monkeypatch.setattr(relief_columns, "CODE_COLUMNS", 3)
    monkeypatch.setattr(relief_columns, "WEIGHT_COLUMNS", 2)
    monkeypatch.setattr(relief_columns, "CACHE_BYTES", 0)
    monkeypatch.setattr(relief_columns, "MISSING_BYTES", 2 * 8 * 3 * 45)
    result = weights(source, y, RULES[rule][0], missing=missing)
    assert result == pytest.approx(expected, abs=2e-12)
    monkeypatch.setattr(relief, "SQUARE_ROWS", 44)
    monkeypatch.setattr(relief, "PANEL_BYTES", 8 * 45 * 11)
    result = weights(source, y, RULES[rule][0], missing=missing)
    assert result == pytest.approx(expected, abs=2e-12)


def test_sparse_tables_with_missing_values(monkeypatch):
    X, _, y = make_table(8, 30, 25, 0, 2, 0.0)
    X[X < 2] = 0
    X[[3, 9], [4, 5]] = np.nan
    X[:, 7] = 0
    X[:, 8] = np.arange(1, 31)  # nothing that is not stored
    monkeypatch.setattr(relief_columns, "TILE_COLUMNS", 10)
    monkeypatch.setattr(relief_columns, "SPARSE_BYTES", 0)
    expected = weights(DenseSource(X), y, Nearest(3))
    for dtype in (np.float64, np.float32):
        matrix = scipy.sparse.csc_array(X.astype(dtype))
        assert weights(CSCSource(matrix), y, Nearest(3)).tolist() == expected.tolist()


def test_layouts_and_threads_change_no_bit():
    X, codes, y = make_table(9, 70, 300, 150, 2, 0.02, continuous=True)
    X = X.astype(np.float32).astype(np.float64)
    expected = weights(source_of(X, codes), y, Nearest(5), n_jobs=1).tobytes()
    for other in (X, np.asfortranarray(X), X.astype(np.float32)):
        result = weights(source_of(other, codes), y, Nearest(5), n_jobs=3)
        assert result.tobytes() == expected


def test_equal_columns_get_equal_weights():
    X, codes, y = make_table(10, 67, 130, 70, 3, 0.05, continuous=True)
    result = weights(source_of(np.hstack([X, X]), np.vstack([codes, codes])), y, Nearest(5))
    assert result[:130].tobytes() == result[130:260].tobytes()
    assert result[260:330].tobytes() == result[330:].tobytes()


def test_rows_in_another_order():
    X, codes, y = make_table(11, 60, 3, 3, 3, 0.1)
    rows = np.random.default_rng(0).permutation(60)
    for name, (rule, _) in RULES.items():
        if name != "weka":
            result = weights(source_of(X[rows], codes[:, rows]), y[rows], rule)
            expected = weights(source_of(X, codes), y, rule)
            assert result == pytest.approx(expected, abs=2e-12)


@pytest.mark.parametrize("layout", "CF")
def test_complete_columns_need_no_rule_for_missing_values(layout):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[4, 1] = np.nan
    source = source_of(np.asarray(X, order=layout), np.empty((0, 20), np.uint8))
    order = relief_columns.ClassOrder.from_labels(np.arange(20) % 2, 2)
    complete, incomplete = relief_columns.build_columns(source, order, "conditional", 1)
    assert complete.features.tolist() == [0, 2]
    assert incomplete.features.tolist() == [1]


# ---- long work ------------------------------------------------------------------------------
def test_progress_and_interruption(monkeypatch):
    X, codes, y = make_table(12, 40, 4, 4, 2, 0.1)
    source = source_of(X, codes)
    reported = []
    relief_weights(source, y, 2, Nearest(3), progress=lambda *now: reported.append(now))
    assert reported[-1] == (40, 40)
    assert [done for done, _ in reported] == sorted(done for done, _ in reported)

    monkeypatch.setattr(relief, "SQUARE_ROWS", 0)
    monkeypatch.setattr(relief, "PANEL_BYTES", 8 * 40 * 10)

    def stop(done, total):
        if done > stop.after:
            raise KeyboardInterrupt

    stop.after = 25  # two panels of ten rows are done, the third is not
    partial = relief_weights(source, y, 2, Nearest(3), progress=stop)
    assert partial.interrupted
    assert partial.n_rows == 20
    # the third panel had its distances, but no weight of it was added
    panels = [np.arange(40)[k::4] for k in range(2)]
    expected = relief_weights(source, y, 2, Nearest(3), sample=np.concatenate(panels))
    assert partial.weights == pytest.approx(expected.weights, abs=2e-12)
    stop.after = 0
    with pytest.raises(KeyboardInterrupt):
        relief_weights(source, y, 2, Nearest(3), progress=stop)
