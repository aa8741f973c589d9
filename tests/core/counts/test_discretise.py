import csv
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.core.counts.discretise import RULES, CutRule, Cuts, cut_codes, cut_sparse, learn_cuts
from featly.core.sources import CSCSource, DenseSource
from tests.reference import discretise as naive

SMALL = [0.0, 0.0, 1.0, 2.0, 3.0, -1.0, -0.0, 7.0]
REAL = [*SMALL, 0.1, 1 / 3, 2.5, -4.25, 1e-3, np.nan]


@st.composite
def columns(draw, cells=REAL, most=40):
    """Draw a few columns with ties and missing values, and classes that may be absent."""
    n, p = draw(st.integers(1, most)), draw(st.integers(1, 3))
    cell = st.one_of(st.sampled_from(cells), st.sampled_from(cells[:2]))
    X = np.array(draw(st.lists(cell, min_size=n * p, max_size=n * p))).reshape(n, p)
    k = draw(st.integers(1, 4))
    y = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int64)
    if draw(st.booleans()):  # a column that depends on the classes
        X[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, X[:, 0] + 3 * y)
    return X, y, k


def naive_cuts(x, y, rule):
    if rule.name == "mdlp":
        return naive.mdlp(x, y, rule.encoding)
    if rule.name == "pkid":
        return naive.pkid(x)
    if rule.name == "equal-width":
        return naive.equal_width(x, rule.n_bins)
    return naive.equal_frequency(x, rule.n_bins)


def assert_cuts(cuts, X, y, rule):
    for f in range(X.shape[1]):
        assert cuts.points(f).tolist() == naive_cuts(X[:, f], y, rule)


def rules():
    encodings = st.sampled_from(["rows", "distinct"])
    return st.builds(CutRule, st.sampled_from(RULES), st.integers(1, 6), encodings)


@settings(max_examples=60)
@given(columns(), rules())
def test_cuts_of_every_storage_equal_reference(table, rule):
    X, y, k = table
    for dtype in (np.float64, np.float32):
        A = X.astype(dtype)
        for array in (np.ascontiguousarray(A), np.asfortranarray(A)):
            source = DenseSource(array)
            cuts = learn_cuts(source, y, k, rule)
            assert_cuts(cuts, A, y, rule)
            codes, n_levels = cut_codes(source, cuts)
            assert codes.flags.c_contiguous
            assert codes.dtype == np.uint8
            for f in range(X.shape[1]):
                assert codes[f].tolist() == naive.codes(A[:, f], cuts.points(f))
                assert n_levels[f] == len(cuts.points(f)) + 1
        check_sparse(scipy.sparse.csc_array(A), A, y, k, rule)


def check_sparse(matrix, A, y, k, rule):
    source = CSCSource(matrix)
    cuts = learn_cuts(source, y, k, rule)
    assert_cuts(cuts, A, y, rule)
    codes, zero, n_levels = cut_sparse(source, cuts)
    for f in range(A.shape[1]):
        column = np.full(len(A), zero[f])
        part = slice(matrix.indptr[f], matrix.indptr[f + 1])
        column[matrix.indices[part]] = codes[part]
        assert column.tolist() == naive.codes(A[:, f], cuts.points(f))
        assert n_levels[f] == len(cuts.points(f)) + 1


@settings(max_examples=40)
@given(columns(cells=[0, 1, 2, 3, -1, -128, 127, 5]), rules())
def test_whole_numbers_are_cut_as_the_same_floats(table, rule):
    X, y, k = table
    X = np.clip(X, -128, 127)
    for dtype in (np.int8, np.uint8, np.int16, np.int32):
        A = X.astype(np.int64).astype(dtype)
        for array in (np.ascontiguousarray(A), np.asfortranarray(A)):
            cuts = learn_cuts(DenseSource(array), y, k, rule)
            assert_cuts(cuts, A.astype(np.float64), y, rule)
            codes, _ = cut_codes(DenseSource(array), cuts)
            assert codes[0].tolist() == naive.codes(A[:, 0].astype(np.float64), cuts.points(0))


def test_bytes_with_more_classes_than_are_counted():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 300
    A = (y[:, None] // 100 * 50 + rng.integers(0, 9, (600, 2))).astype(np.uint8)
    cuts = learn_cuts(DenseSource(A), y, 300, CutRule("mdlp"))
    wide = learn_cuts(DenseSource(A.astype(np.float64)), y, 300, CutRule("mdlp"))
    assert cuts.values.tolist() == wide.values.tolist()


@pytest.mark.parametrize("rule", RULES)
def test_tables_of_many_tiles(rule):
    """Blocks, threads, order of rows and names of classes have no say."""
    rng = np.random.default_rng(1)
    n, p = 300, 700
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, p)) + 0.8 * y[:, None] * (rng.random(p) < 0.3)
    X[:, ::3] = X[:, ::3].round(1)
    X[rng.random((n, p)) < 0.02] = np.nan
    cuts = learn_cuts(DenseSource(X), y, 3, CutRule(rule))
    assert_cuts(Cuts(cuts.values, cuts.start[:6]), X[:, :5], y, CutRule(rule))
    assert cuts.counts.max() > 1
    shuffled = rng.permutation(n)
    for table, labels, k, jobs in [
        (np.asfortranarray(X), y, 3, 1),
        (X[shuffled], y[shuffled], 3, 2),
        (X, np.array([4, 1, 3])[y], 6, None),
    ]:
        again = learn_cuts(DenseSource(table), labels, k, CutRule(rule), n_jobs=jobs)
        assert np.array_equal(again.values, cuts.values)
        assert np.array_equal(again.start, cuts.start)
    codes, _ = cut_codes(DenseSource(X), cuts)
    again, _ = cut_codes(DenseSource(np.asfortranarray(X)), cuts, n_jobs=1)
    assert np.array_equal(codes, again)
    for f in range(0, p, 97):
        assert codes[f].tolist() == naive.codes(X[:, f], cuts.points(f))


def test_views_and_categorical_columns():
    """Kinds are mixed, columns out of order; codes of categories are passed on."""
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    values = rng.normal(size=(60, 4)) + 2 * y[:, None]
    kinds = np.array([CONTINUOUS, CATEGORICAL, ORDINAL, CONTINUOUS, CATEGORICAL, CONTINUOUS])
    levels = rng.integers(0, 4, (2, 60)).astype(np.uint8)
    for matrix_values in (values, np.asfortranarray(values)):
        source = DenseSource(matrix_values, levels, kinds, np.array([3, 3]))
        for selection in ([0, 1, 2, 3, 4, 5], [5, 4, 0, 3], [1], [4, 2], [3, 2]):
            view = source.view(np.array(selection))
            cuts = learn_cuts(view, y, 2, CutRule("mdlp"))
            codes, n_levels = cut_codes(view, cuts)
            for f, feature in enumerate(selection):
                if kinds[feature] == CATEGORICAL:
                    assert len(cuts.points(f)) == 0
                    assert n_levels[f] == 3
                    assert codes[f].tolist() == levels[int(feature == 4)].tolist()
                else:
                    x = values[:, [0, 0, 1, 2, 0, 3][feature]]
                    assert cuts.points(f).tolist() == naive.mdlp(x, y)
                    assert codes[f].tolist() == naive.codes(x, cuts.points(f))
    matrix = scipy.sparse.csc_array(values.round())
    view = CSCSource(matrix).view(np.array([2, 0]))
    cuts = learn_cuts(view, y, 2, CutRule("mdlp"))
    assert cuts.points(0).tolist() == naive.mdlp(values[:, 2].round(), y)
    assert cuts.points(1).tolist() == naive.mdlp(values[:, 0].round(), y)
    codes, _, _ = cut_sparse(view, cuts)
    assert not codes[matrix.indptr[1] : matrix.indptr[2]].any()


def test_many_levels_take_two_bytes():
    x = np.random.default_rng(3).permutation(90_000).astype(np.float32)[:, None]
    cuts = learn_cuts(DenseSource(x), None, 0, CutRule("pkid"))
    codes, n_levels = cut_codes(DenseSource(x), cuts)
    assert n_levels.tolist() == [300]
    assert codes.dtype == np.uint16
    assert (np.bincount(codes[0])[1:] == 300).all()
    assert codes[0, :500].tolist() == naive.codes(x[:500, 0], cuts.points(0))
    matrix = scipy.sparse.csc_array(x)
    stored_codes, zero, _ = cut_sparse(CSCSource(matrix), cuts)
    assert stored_codes.dtype == zero.dtype == np.uint16
    with pytest.raises(DataError, match="column 0 has 65536 levels"):
        cut_codes(DenseSource(x), Cuts(np.arange(65_535.0), np.array([0, 65_535])))


def test_neighbouring_floats_get_different_codes():
    """The middle of two neighbours is rounded to one of them; it must not be the upper one."""
    low = 1.0 + np.arange(8) * 2.0**-52
    for x in (low[:2], low[1:3], np.array([1e308, 1.7e308]), np.array([-1.7e308, -1e308])):
        column = np.repeat(x, 5)[:, None]
        y = np.repeat([0, 1], 5)
        cuts = learn_cuts(DenseSource(column), y, 2, CutRule("mdlp"))
        codes, _ = cut_codes(DenseSource(column), cuts)
        assert codes[0].tolist() == [1] * 5 + [2] * 5
    # a cut between two float32 is no float32, and would be rounded to either of them
    for low in (1.0, 1.0 + 2.0**-23):
        column = np.repeat(np.array([low, low + 2.0**-23], np.float32), 5)[:, None]
        cuts = learn_cuts(DenseSource(column), y, 2, CutRule("mdlp"))
        assert cuts.values.tolist() == [low + 2.0**-24]
        assert cut_codes(DenseSource(column), cuts)[0].tolist() == [[1] * 5 + [2] * 5]


def test_equal_widths_that_rounding_joins():
    x = np.array([1.0, 1.0 + 2.0**-52, 1.0 + 2.0**-51])[:, None]
    cuts = learn_cuts(DenseSource(x), None, 0, CutRule("equal-width", 100))
    assert (np.diff(cuts.values) > 0).all()
    assert cuts.values.tolist() == x[:2, 0].tolist()


def test_ties_go_to_the_lowest_cut():
    """Classes that mirror each other are equally well cut from both ends."""
    y = np.repeat([0, 1, 0, 1, 0, 1, 0], [24, 3, 14, 24, 14, 3, 24])
    x = np.arange(len(y), dtype=float)[:, None]
    cuts = learn_cuts(DenseSource(x), y, 2, CutRule("mdlp"))
    assert cuts.values.tolist() == naive.mdlp(x[:, 0], y) == [23.5, 26.5, 40.5, 64.5]
    matrix = scipy.sparse.csc_array(x)
    assert learn_cuts(CSCSource(matrix), y, 2, CutRule("mdlp")).values.tolist() == [
        *cuts.values.tolist()
    ]


@pytest.mark.parametrize("size", [5, 6])
def test_ties_that_rounding_would_break(size):
    """Two cuts leave the same entropy, by different counts; logarithms round to the second."""
    x = np.repeat([0.0, 1.0, 2.0], [2 * size, 6 * size, 6 * size])[:, None]
    y = np.repeat([1, 0, 1, 0, 1], np.array([2, 2, 4, 4, 2]) * size)
    parts = [
        naive.purity(list(y[x[:, 0] < t])) * naive.purity(list(y[x[:, 0] > t])) for t in (0.5, 1.5)
    ]
    assert parts[0] == parts[1]
    for source in (
        DenseSource(x),
        DenseSource(x.astype(np.int8)),
        CSCSource(scipy.sparse.csc_array(x)),
    ):
        cuts = learn_cuts(source, y, 2, CutRule("mdlp"))
        assert cuts.values.tolist() == naive.mdlp(x[:, 0], y) == [0.5]


def test_columns_with_different_missing_rows_side_by_side():
    rng = np.random.default_rng(6)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 40)) + y[:, None] * np.tile([0.4, 0.8, 1.2, 3.0], 10)
    X[rng.random((80, 40)) < np.tile([0.95, 0.0, 0.5, 0.0, 0.3], 8)] = np.nan
    cuts = learn_cuts(DenseSource(X), y, 2, CutRule("mdlp"))
    assert_cuts(cuts, X, y, CutRule("mdlp"))
    assert 10 < (cuts.counts > 0).sum() < 35


def test_one_row_a_class():
    """Two rows of two classes are cut: log2 1 + log2 7 - 2 = 0.81 bits buy 2."""
    x = np.array([[1.0], [2.0]])
    assert learn_cuts(DenseSource(x), np.array([0, 1]), 2, CutRule("mdlp")).values.tolist() == [1.5]
    x, y = np.arange(5.0)[:, None], np.arange(5)
    cuts = learn_cuts(DenseSource(x), y, 5, CutRule("mdlp"))
    assert cuts.values.tolist() == naive.mdlp(x[:, 0], y)


def test_very_many_classes():
    """3^k is larger than any float."""
    x, y = np.arange(1400.0)[:, None], np.arange(1400) // 2
    cuts = learn_cuts(DenseSource(x), y, 700, CutRule("mdlp"))
    assert len(cuts.values) == 699


@pytest.mark.parametrize("rule", RULES)
def test_nothing_to_cut(rule):
    y = np.array([0, 1, 0, 1])
    for x in ([5.0] * 4, [np.nan] * 4, [0.0] * 4, [np.nan, 3.0, np.nan, np.nan]):
        column = np.array(x)[:, None]
        for source in (DenseSource(column), CSCSource(scipy.sparse.csc_array(column))):
            cuts = learn_cuts(source, y, 2, CutRule(rule))
            assert cuts.start.tolist() == [0, 0]
    empty = DenseSource(None, np.ones((2, 4), np.uint8), np.full(2, CATEGORICAL), np.array([1, 1]))
    assert learn_cuts(empty, y, 2, CutRule(rule)).start.tolist() == [0, 0, 0]
    assert cut_codes(empty, Cuts(np.empty(0), np.zeros(3, np.int64)))[0].tolist() == [[1] * 4] * 2


def test_rules_are_checked():
    with pytest.raises(ParameterError, match="name='emd': give 'mdlp'"):
        CutRule("emd")
    for n_bins in (0, 2.5, True, 70_000, "3"):
        with pytest.raises(ParameterError, match="n_bins"):
            CutRule("equal-width", n_bins)


def test_cuts_of_another_table_are_refused():
    cuts = Cuts(np.empty(0), np.zeros(3, np.int64))
    x = np.ones((3, 1))
    with pytest.raises(ParameterError, match="cut points of 2 columns, but the table has 1"):
        cut_codes(DenseSource(x), cuts)
    with pytest.raises(ParameterError, match="cut points of 2 columns, but the table has 1"):
        cut_sparse(CSCSource(scipy.sparse.csc_array(x)), cuts)


@pytest.mark.parametrize("name", ["heart_cleveland", "hepatitis", "leukemia_golub"])
def test_cut_points_equal_those_of_weka(name):
    """weka.filters.supervised.attribute.Discretize of Weka 3.9.7, to the last digit."""
    folder = Path(os.environ.get("FEATLY_DATA", "absent"))
    golden = folder.parent / "golden" / f"{name}.mdlp.csv"
    if not golden.exists():
        pytest.skip("Weka's cut points are not here")
    pl = pytest.importorskip("polars")
    frame = pl.read_parquet(folder / f"{name}.parquet")
    with golden.open() as file:
        rows = list(csv.reader(file))[1:]
    expected = {row[1]: [float(cut) for cut in row[2].split()] for row in rows}
    names = [column for column in frame.columns if column in expected]
    _, y = np.unique(frame["class"].cast(pl.String).to_numpy(), return_inverse=True)
    X = frame.select(pl.col(names).cast(pl.Float64)).to_numpy()
    cuts = learn_cuts(DenseSource(X), y, int(y.max()) + 1, CutRule("mdlp"))
    assert len(names) == len(expected)
    assert {n: cuts.points(f).tolist() for f, n in enumerate(names)} == {
        n: expected[n] for n in names
    }
