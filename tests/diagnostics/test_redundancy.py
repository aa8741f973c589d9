"""All pairs of columns against their definitions, and against other ways to compute them."""

import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import featly
from featly.basics.errors import DataError, DeviceError, ParameterError, SchemaWarning
from featly.core.counts.codes import DenseCodes
from featly.core.counts.streamed_codes import CodesInOrder, StreamedCodes
from featly.core.counts.uncertainty import Pairs
from featly.core.pairs import correlation, search
from featly.core.pairs.correlation import UnitColumns
from featly.core.pairs.order import columns_in_order, restore_order
from featly.core.pairs.uncertainty import CodedColumns
from featly.core.sources import DenseSource, StreamedSource
from featly.diagnostics.redundancy import redundancy
from featly.preprocessing import MDLP, EqualWidth
from featly.problem.ingest import ingest_stored
from featly.problem.scan import scan
from featly.table.schema import Schema
from tests.reference import all_pairs as naive

MEASURES = ("pearson", "spearman", "information")
NUMBERS = st.one_of(st.none(), st.integers(-3, 3).map(float))


@st.composite
def tables(draw):
    n, p = draw(st.integers(2, 12)), draw(st.integers(1, 9))
    columns = [draw(st.lists(NUMBERS, min_size=n, max_size=n)) for _ in range(p)]
    for _ in range(draw(st.integers(0, 3))):  # copies, up to sign, scale and offset
        column = columns[draw(st.integers(0, p - 1))]
        a, b = draw(st.sampled_from([1.0, -1.0, 3.0])), draw(st.sampled_from([0.0, 7.0]))
        columns.append([None if x is None else a * x + b for x in column])
    return columns


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(search, "BLOCK", 8)
    monkeypatch.setattr(search, "LEAST_BLOCK", 8)
    monkeypatch.setattr(search, "STRIPE", 8)


def array(columns):
    return np.array([[np.nan if x is None else x for x in c] for c in columns]).T


def levels(columns):
    """Codes of whole numbers, as the CPU's."""
    return [[0 if x is None else int(x) + 100 for x in column] for column in columns]


# ---- the definition -------------------------------------------------------------------------
@given(tables(), st.sampled_from(MEASURES), st.integers(1, 5), st.booleans())
def test_neighbours_are_the_nearest(columns, measure, count, scarce):
    values = naive.square(levels(columns) if measure == "information" else columns, measure)
    cut = {"discretizer": None} if measure == "information" else {}
    with pytest.MonkeyPatch.context() as patch:
        if scarce:
            patch.setattr(search, "BLOCK", 4)
            patch.setattr(search, "LEAST_BLOCK", 4)
            patch.setattr(search, "_plan", lambda columns, memory: (4, 1))
        result = redundancy(array(columns), neighbours=count, measure=measure, **cut)
    assert result.neighbours.shape == result.values.shape == (len(columns), count)
    for f, expected in enumerate(naive.nearest(values, count)):
        listed = result.neighbours[f]
        assert listed[listed >= 0].tolist() == expected
        assert not result.values[f, len(expected) :].any()
        exact = [values[f][g] for g in expected]
        assert result.values[f, : len(expected)] == pytest.approx(exact, abs=1e-10)


@given(tables(), st.sampled_from(MEASURES), st.sampled_from([0.2, 0.5, 0.9, 1.0]))
def test_pairs_are_all_that_reach_the_threshold(columns, measure, threshold):
    values = naive.square(levels(columns) if measure == "information" else columns, measure)
    cut = {"discretizer": None} if measure == "information" else {}
    result = redundancy(array(columns), threshold=threshold, measure=measure, **cut)
    expected = {
        (f, g): v
        for f, row in enumerate(values)
        for g, v in enumerate(row[f + 1 :], f + 1)
        if v >= threshold - 1e-11
    }
    pairs = result.pairs
    assert {(f, g) for f, g, _ in pairs.tolist()} == set(expected)
    assert len(pairs) == len(expected)
    keys = [(-v, f, g) for f, g, v in pairs.tolist()]
    assert keys == sorted(keys)
    for f, g, value in pairs.tolist():
        assert value == pytest.approx(expected[f, g], abs=1e-10)
    near = naive.groups(values, threshold - 1e-11)
    assert result.groups.tolist() == near
    for group, column in enumerate(result.representatives.tolist()):
        assert near[column] == group
        partners = [sum(v >= threshold - 1e-11 for v in row) for row in values]
        members = [f for f, label in enumerate(near) if label == group]
        assert column == max(members, key=lambda f: (partners[f], -f))


def test_spearman_equals_scipy():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(40, 6)), 1)
    expected = np.abs(scipy.stats.spearmanr(X).statistic)
    for f, g, value in redundancy(X, threshold=1e-6, measure="spearman").pairs.tolist():
        assert value == pytest.approx(expected[f, g], abs=1e-9)


def test_information_has_the_bits_of_fcbf():
    rng = np.random.default_rng(1)
    for most in (4, 40):  # few levels as bits, many row by row, and both kinds beside each other
        n_levels = np.where(np.arange(30) % 3, 3, most)
        codes = np.array([rng.integers(k % 2, top + 1, 90) for k, top in enumerate(n_levels)])
        packed = DenseCodes(codes.astype(np.uint8), n_levels)
        expected = np.array([Pairs(packed, np.arange(30)).row(k) for k in range(30)])
        first, second, value = search.pairs_above(CodedColumns(packed), 2.0**-36, 999, 1 << 20)
        square = np.zeros((30, 30))
        square[first, second] = value
        assert np.array_equal(square, np.triu(expected, 1))
        assert (value > 0).sum() > 100


def test_copies_have_exactly_one():
    rng = np.random.default_rng(2)
    for n in (7, 60, 1001):
        x = rng.normal(size=n)
        X = np.column_stack([x, x * 3 + 1e3, -x / 7, x + 1e-4 * x**2, np.exp(x)])
        result = redundancy(X, threshold=0.5)
        ones = result.pairs[result.pairs["value"] == 1]
        assert ones[["first", "second"]].tolist() == [(0, 1), (0, 2), (1, 2)]
        ranks = redundancy(X[:, [0, 1, 2, 4]], threshold=1.0, measure="spearman")
        assert len(ranks.pairs) == 6  # of ranks, all are copies


def test_constant_columns_have_no_partner():
    X = np.random.default_rng(0).normal(size=(30, 5))
    X[:, 1], X[:, 3] = 0.1, np.nan
    for measure in MEASURES:
        result = redundancy(X, neighbours=4, measure=measure)
        assert (result.neighbours[[1, 3]] == -1).all()
        assert not np.isin(result.neighbours, [1, 3]).any()
        assert not result.values[[1, 3]].any()


# ---- the screen -----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["normal", "heavy", "alike", "tiny"])
@pytest.mark.parametrize("n", [5, 300, 9000])
def test_the_screen_is_as_near_as_its_margin(kind, n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 60))
    if kind == "heavy":
        X = rng.standard_cauchy(size=X.shape)
    elif kind == "alike":
        X = X[:, :1] + 1e-3 * X
    elif kind == "tiny":
        X[:, ::2] *= 1e-140
    columns = UnitColumns(DenseSource(X))
    block = columns.load(np.arange(60))
    screened = np.abs(columns.screen(block, block, 0, 60))
    i, j = np.indices((60, 60)).reshape(2, -1)
    value = columns.value(block, block, i, j, screened[i, j]).reshape(60, 60)
    assert np.abs(screened - value).max() <= columns.margin < 3e-4
    assert np.array_equal(value, value.T)
    assert (np.diag(value) == 1).all()


def test_a_screen_that_errs_within_its_margin_changes_nothing(monkeypatch):
    """Errors of the screen within its margin do not change the outcome."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (12, 70)).astype(float)  # many values are equal
    expected = redundancy(X, neighbours=6)
    pairs = redundancy(X, threshold=0.5).pairs
    screen = UnitColumns.screen

    def screen_with_errors(self, first, second, low, high):
        result = screen(self, first, second, low, high)
        return result + rng.uniform(-0.9e-2, 0.9e-2, result.shape).astype(np.float32)

    init = UnitColumns.__init__

    def init_with_wide_margin(self, *arguments, **options):
        init(self, *arguments, **options)
        self.margin = 1e-2

    monkeypatch.setattr(UnitColumns, "screen", screen_with_errors)
    monkeypatch.setattr(UnitColumns, "__init__", init_with_wide_margin)
    result = redundancy(X, neighbours=6)
    assert np.array_equal(result.neighbours, expected.neighbours)
    assert np.array_equal(result.values, expected.values)
    assert np.array_equal(redundancy(X, threshold=0.5).pairs, pairs)
    monkeypatch.setattr(UnitColumns, "__init__", init)  # the margin of float32 does not cover it
    assert not np.array_equal(redundancy(X, neighbours=6).neighbours, expected.neighbours)


# ---- memory, threads, storage ---------------------------------------------------------------
@pytest.mark.parametrize("measure", MEASURES)
def test_memory_threads_and_layout_change_no_bit(measure, small_blocks, monkeypatch):
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(50, 75)).astype(np.float32), 2)
    X[rng.random(X.shape) < 0.05] = np.nan
    loads = []
    for cls in (UnitColumns, CodedColumns):
        load = cls.load
        monkeypatch.setattr(
            cls, "load", lambda self, f, load=load: (loads.append(len(f)), load(self, f))[1]
        )
    expected = redundancy(X, neighbours=5, measure=measure)
    assert sum(loads) == 75  # each block once
    pairs = redundancy(X, threshold=0.2, measure=measure).pairs
    loads.clear()
    monkeypatch.setattr(search, "_plan", lambda columns, memory: (8, 2))
    for n_jobs in (1, 3):
        for table in (X, np.asfortranarray(X), X.astype(np.float64)):
            result = redundancy(table, neighbours=5, measure=measure, n_jobs=n_jobs)
            assert np.array_equal(result.neighbours, expected.neighbours)
            assert result.values.tobytes() == expected.values.tobytes()
            assert np.array_equal(
                redundancy(table, threshold=0.2, measure=measure, n_jobs=n_jobs).pairs, pairs
            )
    assert sum(loads) > 12 * 75 * 2  # blocks beyond the memory limit were loaded again


def test_a_memory_limit_is_respected():
    columns = UnitColumns(DenseSource(np.zeros((1000, 5000))))
    for memory in (1 << 20, 1 << 24, 1 << 28):
        width, n_blocks = search._plan(columns, memory)
        n_bytes = (n_blocks + 1) * width * columns.bytes_per_column
        assert n_bytes <= memory or (width, n_blocks) == (search.LEAST_BLOCK, 1)
        # and data that are being read into a block, or are left of one
        assert n_bytes + width * columns.bytes_per_column <= memory or n_blocks == 1
    assert search._plan(columns, 1 << 40)[0] == search.BLOCK


def test_tables_on_disk(tmp_path):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, (80, 900)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for measure in MEASURES:
        expected = redundancy(X, neighbours=3, measure=measure)
        result = redundancy(mapped, neighbours=3, measure=measure, memory_limit="1MB")
        assert np.array_equal(result.neighbours, expected.neighbours)
        assert np.array_equal(result.values, expected.values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_scanned_tables(order, tmp_path):
    rng = np.random.default_rng(8)
    X = rng.integers(0, 4, (70, 1100)).astype(np.float64)
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, 900:] = 3 - X[:, :200]
    np.save(tmp_path / "X.npy", np.asarray(X, order=order))
    frame = pl.DataFrame({f"g{k}": X[:, k] for k in range(X.shape[1])})
    frame.write_parquet(tmp_path / "X.parquet")
    for measure in MEASURES:
        expected = redundancy(X, threshold=0.99, measure=measure)
        assert len(expected.pairs) >= 200
        for name in ("X.npy", "X.parquet"):
            with scan(tmp_path / name) as table:
                for limit in (None, "1MB"):
                    result = redundancy(table, threshold=0.99, measure=measure, memory_limit=limit)
                    assert np.array_equal(result.pairs, expected.pairs)
                    assert np.array_equal(result.groups, expected.groups)
        assert result.table()["first"][0] == "g0"  # of the parquet file


def test_scanned_tables_of_several_kinds(tmp_path):
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({f"g{k}": rng.normal(size=60) for k in range(600)})
    ward = pl.Series("ward", ["a", "b", None] * 20)
    frame = frame.with_columns(ward, ward.replace({"a": "z"}).alias("copy"))
    frame.write_parquet(tmp_path / "X.parquet")
    expected = redundancy(frame, threshold=0.9, measure="information")
    with scan(tmp_path / "X.parquet") as table:
        for limit in (None, "1MB"):
            result = redundancy(table, threshold=0.9, measure="information", memory_limit=limit)
            assert np.array_equal(result.pairs, expected.pairs)
        with pytest.raises(DataError, match="'ward' is categorical, and measure='pearson'"):
            redundancy(table, threshold=0.9)
    assert ("ward", "copy", 1.0) in expected.table().rows()


def test_a_file_that_changes_meanwhile_is_refused(tmp_path):
    X = np.random.default_rng(10).normal(size=(30, 300))
    np.save(tmp_path / "X.npy", X)

    def overwrite(done, total):
        np.save(tmp_path / "X.npy", X + 1)

    with scan(tmp_path / "X.npy") as table, pytest.raises(DataError, match=r"X\.npy"):
        redundancy(table, threshold=0.9, verbose=overwrite)


def test_levels_of_a_table_on_disk_are_cut_once(tmp_path, monkeypatch):
    X = np.random.default_rng(11).normal(size=(50, 2000))
    np.save(tmp_path / "X.npy", X)
    cut, code = [], StreamedCodes.part
    monkeypatch.setattr(
        StreamedCodes, "part", lambda self, *part: (cut.append(part), code(self, *part))[1]
    )
    with scan(tmp_path / "X.npy") as table:
        result = redundancy(table, threshold=0.5, measure="information", memory_limit="1MB")
    # once to count the levels and once to write them, not for every block of columns
    assert len(cut) == 2 * len(set(cut))
    # a table in memory is not written
    monkeypatch.setattr("featly.diagnostics.redundancy.CodesInOrder", None)
    expected = redundancy(X, threshold=0.5, measure="information")
    assert np.array_equal(result.pairs, expected.pairs)


def test_columns_are_written_in_their_order(tmp_path):
    rng = np.random.default_rng(12)
    X = rng.integers(0, 3, (20, 700)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    np.save(tmp_path / "X.npy", X)
    order = rng.permutation(700)
    with scan(tmp_path / "X.npy") as table:
        source = ingest_stored(table, Schema(), 1 << 14).source
        assert isinstance(source, StreamedSource)
        for columns in (order, order[:9], np.arange(700)):
            ordered = columns_in_order(source, columns)
            part = np.arange(0, len(columns), 2)
            assert np.array_equal(ordered.load(part), X.T[columns[part]], equal_nan=True)
        codes = StreamedCodes(source, None, np.zeros(20, np.int64), 1)
        ordered = CodesInOrder(codes, order)
        part = np.array([5, 6, 7, 3, 699])
        assert np.array_equal(ordered.take(part), codes.take(order[part]))
        assert np.array_equal(ordered.block(3, 80), codes.take(order[3:80]))
        assert np.array_equal(ordered.n_levels, codes.n_levels[order])
    redundant_to, value = restore_order(order, np.r_[-1, 0, np.full(698, -1)], np.arange(700.0))
    assert redundant_to[order[1]] == order[0]
    assert (np.delete(redundant_to, order[1]) == -1).all()
    assert value[order].tolist() == list(range(700))


def test_levels_that_no_row_has_cost_nothing():
    """Whole numbers far apart: the levels between them are none."""
    rng = np.random.default_rng(13)
    X = rng.integers(0, 30, (40, 12))
    far = redundancy(X * 2000, threshold=0.1, measure="information", discretizer=None).pairs
    near = redundancy(X, threshold=0.1, measure="information", discretizer=None).pairs
    assert np.array_equal(far, near)


def test_sparse_tables_and_whole_numbers():
    rng = np.random.default_rng(6)
    X = rng.integers(0, 3, (40, 30)).astype(np.int8)
    for measure in MEASURES:
        cut = {"discretizer": None} if measure == "information" else {}
        expected = redundancy(X.astype(float), threshold=0.3, measure=measure, **cut).pairs
        for table in (X, scipy.sparse.csr_array(X.astype(float)), X.tolist()):
            result = redundancy(table, threshold=0.3, measure=measure, **cut)
            assert np.array_equal(result.pairs, expected)


# ---- as it is used --------------------------------------------------------------------------
def test_frames_and_kinds():
    frame = pl.DataFrame(
        {
            "dose": [1.0, 2.0, 3.0, 4.0],
            "ward": ["a", "a", "b", "b"],
            "twin": ["x", "x", "y", "y"],
            "grade": [1, 2, 2, 3],
        }
    )
    result = redundancy(frame, threshold=0.9, measure="information", discretizer=None)
    table = result.table()
    assert table.rows() == [("ward", "twin", 1.0)]
    assert table.columns == ["first", "second", "value"]
    assert str(result) == (
        "1 pair of 4 columns reaches 0.9, by information\n"
        "2 columns in 1 group: 1 could be left out, one of each group kept"
    )
    assert repr(result) == "<Redundancy: 1 pair of 4 columns reaches 0.9, by information>"
    nearest = redundancy(frame.select("dose", "grade"), neighbours=2)
    assert nearest.table().columns == ["feature", "neighbour", "rank", "value"]
    assert nearest.table()["neighbour"].to_list() == ["grade", "dose"]
    assert nearest.neighbours.tolist() == [[1, -1], [0, -1]]
    assert type(redundancy(frame.to_pandas()[["dose"]], neighbours=1).table()).__name__ in (
        "DataFrame",
    )
    ordinal = {"ordinal": {"ward": ["a", "b"], "twin": ["y", "x"]}}
    result = redundancy(frame, threshold=0.99, schema=ordinal)
    assert result.table().rows() == [("ward", "twin", 1.0)]


def test_groups_as_a_table():
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(2, 40))
    X = np.column_stack([y, x, x + 0.4 * rng.normal(size=40), x + 0.4 * y, rng.normal(size=40), -y])
    result = redundancy(X, threshold=0.85)
    table = result.group_table()
    assert table.columns == ["group", "feature", "representative", "n_columns"]
    assert table.rows() == [
        (1, "x1", "x1", 3),
        (1, "x2", "x1", 3),
        (1, "x3", "x1", 3),
        (2, "x0", "x0", 2),
        (2, "x5", "x0", 2),
    ]
    none = redundancy(X[:, [0, 1]], threshold=0.9)
    assert none.group_table().height == 0
    assert str(none) == "no pair of 2 columns reaches 0.9, by pearson"


@given(tables(), st.sampled_from(MEASURES), st.sampled_from([0.3, 1.0]), st.data())
def test_pairs_with_some_columns(columns, measure, threshold, data):
    subset = data.draw(st.lists(st.integers(0, len(columns) - 1), max_size=4))
    cut = {"discretizer": None} if measure == "information" else {}
    X = array(columns)
    whole = redundancy(X, threshold=threshold, measure=measure, **cut).pairs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_plan", lambda columns, memory: (4, 1))
        pairs = redundancy(X, threshold=threshold, columns=subset, measure=measure, **cut).pairs
    inside = np.isin(whole["first"], subset) | np.isin(whole["second"], subset)
    assert np.array_equal(pairs, whole[inside])


def test_some_columns_by_name():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0], "b": [2.0, 4.0, 8.0], "c": [9.0, 1.0, 5.0]})
    result = redundancy(frame, threshold=0.9, columns=["b"])
    assert result.table().rows() == [("a", "b", 1.0)]
    assert redundancy(frame, threshold=0.9, columns=["c", 2]).table().height == 0
    for columns, message in (
        (["d"], "'d' is no column"),
        ([3], "from 0 to 2"),
        ([-1], "there is no column -1"),
        ([1.5], "column 1.5"),
    ):
        with pytest.raises(DataError, match=message):
            redundancy(frame, threshold=0.9, columns=columns)
    for parameters, message in (
        ({"threshold": 0.9, "columns": "b"}, "columns='b': give a list"),
        ({"neighbours": 1, "columns": ["b"]}, "columns go with a threshold"),
        ({"threshold": 0.9, "columns": ["b"], "device": "cuda"}, "leave out device, or columns"),
    ):
        with pytest.raises(ParameterError, match=message):
            redundancy(frame, **parameters)
    with pytest.raises(ParameterError, match="max_pairs=1"):
        redundancy(np.tile(frame.to_numpy(), 3), threshold=0.9, columns=[0], max_pairs=1)


def test_arguments_that_are_no_table(tmp_path):
    for X, message in (
        ("table.csv", "X is the path 'table.csv': open it with featly.scan"),
        (tmp_path, "open it with featly.scan"),
        (np.zeros(4), "X has 1 dimension, where a table has 2"),
        (np.zeros((2, 2, 2)), "X has 3 dimensions"),
        (None, "X has 0 dimensions"),
        (np.zeros((3, 2)) + 1j, "X is no table: Complex data not supported"),
    ):
        with pytest.raises(DataError, match=message) as raised:
            redundancy(X, threshold=0.9)
        assert "\n" not in str(raised.value)


def test_lists_that_exceed_memory_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 10))
    with pytest.raises(ParameterError, match=r"lists of so many for 10 columns take 1.6\d* TB"):
        redundancy(X, neighbours=10**10)


def test_few_rows():
    X = np.array([[1.0, 2.0, 3.0], [5.0, 1.0, 3.0]])
    assert redundancy(X, threshold=1.0).pairs.tolist() == [(0, 1, 1.0)]
    for measure in MEASURES:
        assert len(redundancy(X[:1], threshold=0.1, measure=measure).pairs) == 0
        assert redundancy(X[:, :1], threshold=0.1, measure=measure).groups.tolist() == [0]


def test_progress():
    calls = []
    X = np.random.default_rng(0).normal(size=(10, 40))
    redundancy(X, neighbours=2, verbose=lambda *counts: calls.append(counts))
    assert calls == [(1, 1)]


@pytest.mark.parametrize("options", [{"neighbours": 2}, {"threshold": 0.5}])
def test_ctrl_c_stops(options, small_blocks):
    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redundancy(np.random.default_rng(0).normal(size=(10, 60)), verbose=stop, **options)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "threshold=None, neighbours=None: give one of the two"),
        ({"threshold": 0.5, "neighbours": 2}, "give one of the two"),
        ({"threshold": 0}, "threshold=0: give a number above 0"),
        ({"threshold": 1.1}, "threshold=1.1"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"threshold": True}, "threshold=True"),
        ({"neighbours": 0}, "neighbours=0: give a whole number from 1"),
        ({"neighbours": 2.0}, "neighbours=2.0"),
        ({"neighbours": 2, "measure": "cosine"}, "measure='cosine': give 'pearson'"),
        ({"neighbours": 2, "discretizer": "pkid"}, "of no use with measure='pearson'"),
        (
            {"neighbours": 2, "measure": "information", "discretizer": "mdlp"},
            "discretizer='mdlp': give 'equal-frequency'",
        ),
        ({"neighbours": 2, "measure": "information", "discretizer": MDLP()}, "needs no classes"),
        ({"neighbours": 2, "device": "gpu"}, "device='gpu': give 'auto', 'cpu' or 'cuda'"),
        ({"neighbours": 2, "memory_limit": "much"}, "memory_limit='much'"),
        ({"neighbours": 2, "n_jobs": 0}, "n_jobs=0"),
        ({"threshold": 0.5, "max_pairs": 0}, "max_pairs=0: give a whole number from 1"),
        ({"threshold": 0.01, "max_pairs": 5}, "more than max_pairs=5 pairs reach threshold=0.01"),
    ],
)
def test_wrong_parameters(parameters, message):
    X = np.random.default_rng(0).normal(size=(20, 10))
    with pytest.raises(ParameterError, match=re.escape(message)):
        redundancy(X, **parameters)


@pytest.mark.parametrize("measure", MEASURES)
def test_bad_tables_are_named(measure):
    X = np.random.default_rng(0).normal(size=(20, 10))
    with pytest.raises(DataError, match="no columns"):
        redundancy(X[:, :0], neighbours=1, measure=measure)
    with pytest.raises(DataError, match="no rows"):
        redundancy(X[:0], neighbours=1, measure=measure)
    with pytest.raises(DataError, match="no rows"):
        redundancy(pl.DataFrame({"a": []}), neighbours=1, measure=measure)
    with pytest.raises(DataError, match="LazyFrame"):
        redundancy(pl.LazyFrame({"a": [1.0]}), neighbours=1, measure=measure)
    X[4, 2] = -np.inf
    with pytest.raises(DataError, match=r"'x2' has an infinite value \(inf\) in row 4"):
        redundancy(X, neighbours=1, measure=measure)
    X[4, 2] = 1e200
    if measure == "pearson":
        with pytest.raises(DataError, match=r"'x2' has values as large as 1e\+200"):
            redundancy(X, neighbours=1, measure=measure)
    with pytest.warns(SchemaWarning, match="does not use prior"):
        redundancy(X[:, 3:], neighbours=1, measure=measure, schema={"prior": {"x1": 2.0}})


def test_categorical_columns_are_refused_by_correlations():
    frame = pl.DataFrame({"dose": [1.0, 2.0], "ward": ["a", "b"]})
    for measure in ("pearson", "spearman"):
        with pytest.raises(DataError, match=f"'ward' is categorical, and measure='{measure}'"):
            redundancy(frame, neighbours=1, measure=measure)


def test_groups_need_a_threshold():
    result = redundancy(np.random.default_rng(0).normal(size=(20, 4)), neighbours=2)
    with pytest.raises(ParameterError, match="give redundancy a threshold"):
        _ = result.groups
    assert str(result) == "the 2 nearest of each of 4 columns, by pearson"
    assert len(result.pairs) <= 6


def test_without_a_device():
    from featly.core.runtime.device_cuda import is_available

    if is_available():
        pytest.skip("there is a device")
    X = np.random.default_rng(0).normal(size=(20, 10))
    with pytest.raises(DeviceError, match="device='cpu'"):
        redundancy(X, neighbours=2, device="cuda")
    with pytest.raises(DeviceError, match="device='cpu'"):
        redundancy(X, neighbours=2, measure="information", device="cuda")


def test_a_discretiser():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3))
    X[:, 2] = X[:, 0] + 0.01 * rng.normal(size=200)
    for discretizer in ("equal-width", "pkid", EqualWidth(n_bins=4)):
        result = redundancy(X, neighbours=1, measure="information", discretizer=discretizer)
        assert result.neighbours[0, 0] == 2
    assert correlation.LANES == 32  # what the device adds up side by side


def test_ranks_of_a_table_on_disk_are_made_once_and_hide_no_infinite_value(tmp_path):
    X = np.random.default_rng(3).normal(size=(40, 9000)).astype(np.float32)
    X[:, 8000] = np.exp(X[:, 11])
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    options = {"threshold": 0.9, "measure": "spearman"}
    wanted = redundancy(X, **options).pairs
    pairs = redundancy(featly.scan(tmp_path / "X.npy"), memory_limit=10**6, **options).pairs
    np.testing.assert_array_equal(pairs, wanted)
    assert pairs.tolist() == [(11, 8000, 1.0)]
    X[5, 77] = np.inf
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    with pytest.raises(featly.DataError, match=r"'x77' has an infinite value \(inf\) in row 5"):
        redundancy(featly.scan(tmp_path / "X.npy"), memory_limit=10**6, **options)


@pytest.mark.parametrize("options", [{"device": "cpu"}, {"columns": [1]}], ids=str)
def test_arrays_on_a_device_are_copied_for_the_cpu(options, monkeypatch):
    class Lying:
        """An array that cannot be read where it lies."""

    X, on_device = np.random.default_rng(0).normal(size=(30, 4)), Lying()
    monkeypatch.setattr(
        "featly.diagnostics.redundancy.ensure_on_host",
        lambda argument: X if argument is on_device else argument,
    )
    result = redundancy(on_device, threshold=0.01, **options)
    assert result.pairs.tolist() == redundancy(X, threshold=0.01, **options).pairs.tolist()
