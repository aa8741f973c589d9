"""Tables are cut into intervals, whatever library they come from."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import CFS, Schema
from featly.basics.errors import DataError, ParameterError
from featly.filters._counting import cut_rule_from
from featly.learners import MixedNaiveBayes
from featly.preprocessing import MDLP, PKID, EqualFrequency, EqualWidth
from tests.reference import discretise as naive

ALL = [MDLP, PKID, EqualWidth, EqualFrequency]
NUMBERS = [None, -4.0, 0.0, 0.1, 1.0, 1.0, 1.5, 1e6]


@st.composite
def tables(draw):
    """Training rows and others; missing values, constant columns, numbers outside the range."""
    n, m, p = draw(st.integers(2, 20)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    cell = st.sampled_from(NUMBERS)
    train = [draw(st.lists(cell, min_size=n, max_size=n)) for _ in range(p)]
    other = [draw(st.lists(st.sampled_from([*NUMBERS, -1e9, 7.0]), min_size=m, max_size=m))]
    other += [draw(st.lists(cell, min_size=m, max_size=m)) for _ in range(p - 1)]
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    y[:2] = [0, 1]
    return train, other, y


def number(v):
    return np.nan if v is None else v


def expected_cuts(estimator, x, y):
    x = [number(v) for v in x]
    if isinstance(estimator, MDLP):
        return naive.mdlp(x, y)
    if isinstance(estimator, PKID):
        return naive.pkid(x)
    if isinstance(estimator, EqualWidth):
        return naive.equal_width(x, estimator.n_bins)
    return naive.equal_frequency(x, estimator.n_bins)


def polars_frame(columns):
    return pl.DataFrame({f"c{k}": pl.Series(v, dtype=pl.Float64) for k, v in enumerate(columns)})


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(ALL), st.sampled_from(["level", "spread"]))
def test_all_kinds_of_table_are_cut_alike(table, kind, missing):
    train, other, y = table
    estimator = kind(missing=missing)
    frame, rows = polars_frame(train), polars_frame(other)
    estimator.fit(frame, y)
    for x, cuts in zip(train, estimator.cuts_, strict=True):
        assert cuts.tolist() == expected_cuts(estimator, x, y)
    codes = [naive.codes([number(v) for v in x], estimator.cuts_[f]) for f, x in enumerate(other)]
    missing_number = [n if missing == "level" else np.nan for n in estimator.n_levels_]
    expected = np.array(
        [[c - 1 if c else missing_number[f] for c in codes[f]] for f in range(len(codes))]
    ).T
    array = clone(estimator).fit(frame.to_numpy(), y)
    assert [c.tolist() for c in array.cuts_] == [c.tolist() for c in estimator.cuts_]
    transformed = array.transform(rows.to_numpy())
    assert np.array_equal(transformed, expected, equal_nan=True)
    sparse = clone(estimator).fit(scipy.sparse.csr_array(frame.to_numpy()), y)
    transformed = sparse.transform(scipy.sparse.coo_array(rows.to_numpy()))
    assert np.array_equal(transformed, expected, equal_nan=True)
    out = estimator.transform(rows)
    for f, name in enumerate(out.columns):
        physical = out[name].to_physical().to_list()
        assert [np.nan if v is None else v for v in physical] == pytest.approx(
            expected[:, f].tolist(), nan_ok=True
        )
    for library in ("to_pandas", "to_arrow"):
        again = clone(estimator).fit(getattr(frame, library)(), y)
        texts = again.transform(getattr(rows, library)())
        assert frame_rows(texts) == [list(row) for row in out.rows()]


def frame_rows(frame):
    if isinstance(frame, pa.Table):
        return [list(row.values()) for row in frame.to_pylist()]
    return [[None if v != v else v for v in row] for row in frame.to_numpy().tolist()]


MIXED = {
    "age": [41.0, 45.0, 48.0, 61.0, 66.0, None, 70.0, 72.0],
    "sex": ["f", "m", "m", "f", "m", "f", None, "m"],
    "same": [1, 1, 1, 1, 1, 1, 1, 1],
    "empty": [None] * 8,
}
CLASSES = ["a", "a", "a", "b", "b", "b", "b", "b"]


def mixed_frame(library):
    frame = pl.DataFrame(
        MIXED, schema_overrides={"empty": pl.Float64, "sex": pl.Categorical, "same": pl.Int16}
    )
    if library == "polars":
        return frame
    return frame.to_pandas() if library == "pandas" else frame.to_arrow()


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("missing", ["level", "spread"])
def test_frames_come_back_with_ordered_levels(library, missing):
    frame = mixed_frame(library)
    before = frame.copy() if library == "pandas" else frame
    mdlp = MDLP(missing=missing).fit(frame, CLASSES)
    out = mdlp.transform(frame)
    assert type(out) is type(frame)
    names = list(out.columns) if library != "pyarrow" else out.column_names
    assert names == list(MIXED)
    last = ["missing"] if missing == "level" else []
    levels = ["(-inf, 54.5]", "(54.5, inf)", *last]
    if library == "polars":
        assert out["age"].dtype == pl.Enum(levels)
        assert out["same"].dtype == out["empty"].dtype == pl.Enum(["(-inf, inf)", *last])
        assert out["sex"].equals(frame["sex"])
        assert out["sex"].dtype == pl.Categorical
        ages = out["age"].to_list()
    elif library == "pandas":
        assert out["age"].dtype == pd.CategoricalDtype(levels, ordered=True)
        assert out["empty"].dtype == pd.CategoricalDtype(["(-inf, inf)", *last], ordered=True)
        pd.testing.assert_series_equal(out["sex"], frame["sex"])
        pd.testing.assert_frame_equal(frame, before)
        ages = [None if v != v else v for v in out["age"]]
    else:
        assert out.schema.field("age").type.ordered
        assert out.column("age").chunk(0).dictionary.to_pylist() == levels
        assert out.column("sex").equals(frame.column("sex"))
        ages = out.column("age").to_pylist()
    young, old, missing_level = levels[0], levels[1], (last or [None])[0]
    assert ages == [young] * 3 + [old] * 2 + [missing_level] + [old] * 2
    assert mdlp.n_levels_.tolist() == [2, 2, 1, 1]
    assert [len(c) for c in mdlp.cuts_] == [1, 0, 0, 0]


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_levels_without_an_order_are_plain_categories(library):
    frame = mixed_frame(library)
    ordered, plain = MDLP().fit(frame, CLASSES), MDLP(ordered=False).fit(frame, CLASSES)
    kinds = CFS(discretizer=None).fit(plain.transform(frame), CLASSES).kinds_
    assert kinds == ["categorical"] * 4
    if library != "polars":  # whose Enum is read as categories
        kinds = CFS(discretizer=None).fit(ordered.transform(frame), CLASSES).kinds_
        assert kinds == ["ordinal", "categorical", "ordinal", "ordinal"]
    chances = []
    for rows in (mixed_frame("polars"), frame):
        model = make_pipeline(PKID(ordered=False), MixedNaiveBayes()).fit(rows, CLASSES)
        chances.append(model.predict_proba(rows))
    assert np.array_equal(*chances)


def test_ordered_is_for_frames():
    X, y = [[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]
    with pytest.raises(ParameterError, match=r"ordered=False .* X is an array"):
        MDLP(ordered=False).fit(X, y).transform(X)
    with pytest.raises(ParameterError, match="ordered='no': give True or False"):
        MDLP(ordered="no").fit(X, y)


def test_pandas_keeps_its_index_and_labels():
    frame = pd.DataFrame({7: [1.0, 2.0, 8.0, 9.0], "t": list("abab")}, index=[3, 1, 4, 1])
    frame.columns = pd.Index(["7", "t"], name="columns")
    out = MDLP().fit_transform(frame, [0, 0, 1, 1])
    assert out.index.tolist() == [3, 1, 4, 1]
    assert out.columns.equals(frame.columns)


def test_new_rows_are_read_as_the_first_ones_were():
    """New missing values, values in a column that was empty, another library."""
    mdlp = MDLP().fit(mixed_frame("polars"), CLASSES)
    new = pl.DataFrame(
        {"age": [54.5, 54.6], "sex": [None, "new"], "same": [None, 99], "empty": [3.0, None]}
    )
    expected = [
        ("(-inf, 54.5]", None, "missing", "(-inf, inf)"),
        ("(54.5, inf)", "new", "(-inf, inf)", "missing"),
    ]
    assert mdlp.transform(new).rows() == expected
    assert frame_rows(mdlp.transform(new.to_pandas())) == [list(row) for row in expected]
    # an array where there was a frame, and the other way round
    numbers = pl.DataFrame({"a": [1.0, 2.0, 8.0, 9.0]})
    from_frame = MDLP().fit(numbers, [0, 0, 1, 1])
    from_array = MDLP().fit(numbers.to_numpy(), [0, 0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # names on one side only
        assert from_frame.transform(numbers.to_numpy()).ravel().tolist() == [0, 0, 1, 1]
        assert from_array.transform(numbers)["a"].to_physical().to_list() == [0, 0, 1, 1]


def test_arrays_of_numbers_and_text():
    X = np.array([[1.0, "u"], [2.0, "v"], [8.0, "v"], [None, "u"], [9.0, None]], dtype=object)
    mdlp = MDLP().fit(X, [0, 0, 1, 1, 1])
    out = mdlp.transform(X)
    assert out.dtype == object
    assert out[:, 0].tolist() == [0, 0, 1, 2, 1]
    assert out[:, 1].tolist() == ["u", "v", "v", "u", None]
    listed = MDLP().fit([[1, "u"], [2, "v"], [8, "v"], [9, "u"]], [0, 0, 1, 1])
    assert listed.transform([[3, "u"], [7, "w"]]).tolist() == [[0, "u"], [1, "w"]]
    # numbers where there was text: levels still, not to be cut
    assert MDLP().fit([[1, "5"], [9, "7"]], [0, 1]).transform(np.array([[8.0, 5.0]])).tolist() == [
        [1, 5]
    ]
    schema = Schema(categorical=[1])
    coded = np.array([[1.0, 5.0], [2.0, 7.0], [8.0, np.nan], [9.0, 5.0]])
    out = MDLP(schema=schema).fit(coded, [0, 0, 1, 1]).transform(coded)
    assert np.array_equal(out[:, 1], coded[:, 1], equal_nan=True)
    assert out[:, 0].tolist() == [0, 0, 1, 1]


def test_ordinal_levels_are_cut_by_rank():
    frame = pl.DataFrame({"grade": ["low", "mid", "high", "mid", "low", "high"]})
    mdlp = MDLP(schema={"ordinal": {"grade": ["low", "mid", "high"]}})
    mdlp.fit(frame, [0, 0, 1, 0, 0, 1])
    assert mdlp.cuts_[0].tolist() == [1.5]
    assert mdlp.table()["kind"].to_list() == ["ordinal"]
    assert mdlp.transform(frame)["grade"].to_physical().to_list() == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int64, bool])
def test_dtypes(dtype):
    X = (np.arange(20)[:, None] // 10 * 3).astype(dtype)
    y = np.arange(20) // 10
    out = MDLP().fit(X, y).transform(X)
    assert out.ravel().tolist() == y.tolist()
    assert out.dtype == (np.float32 if dtype is np.float32 else np.float64)


def test_equal_width_has_the_edges_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(200, 5))
    peer = KBinsDiscretizer(n_bins=7, encode="ordinal", strategy="uniform").fit(X)
    ours = EqualWidth(n_bins=7).fit(X)
    for f in range(5):
        assert ours.cuts_[f].tolist() == peer.bin_edges_[f][1:-1].tolist()
    assert np.array_equal(ours.transform(X), peer.transform(X))


def test_equal_frequencies_without_ties_are_equal():
    X = np.random.default_rng(1).permutation(100)[:, None] * 1.0
    counts = np.bincount(EqualFrequency(n_bins=10).fit_transform(X).astype(int).ravel())
    assert counts.tolist() == [10] * 10
    counts = np.bincount(PKID().fit_transform(X).astype(int).ravel())
    assert counts.tolist() == [10] * 10


def test_table_has_cuts_and_levels():
    mdlp = MDLP().fit(mixed_frame("polars"), CLASSES)
    assert mdlp.table().rows() == [
        ("age", "continuous", [54.5], 2),
        ("sex", "categorical", [], 2),
        ("same", "continuous", [], 1),
        ("empty", "continuous", [], 1),
    ]
    assert isinstance(MDLP().fit(mixed_frame("pandas"), CLASSES).table(), pd.DataFrame)
    assert PKID().fit([[1.0], [2.0], [3.0], [4.0]]).table().rows() == [
        ("x0", "continuous", [2.5], 2)
    ]


def test_names_and_containers():
    mdlp = MDLP().fit(mixed_frame("polars"), CLASSES)
    assert mdlp.get_feature_names_out().tolist() == list(MIXED)
    for wanted, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        for library in ("polars", "pandas", "pyarrow"):
            out = clone(mdlp).set_output(transform=wanted).fit(mixed_frame(library), CLASSES)
            out = out.transform(mixed_frame(library))
            assert isinstance(out, kind)
            assert list(out.columns) == list(MIXED)
            assert str(out["age"].to_list()[0]) == "(-inf, 54.5]"
    array = MDLP().set_output(transform="polars").fit([[1.0], [2.0]], [0, 1])
    assert array.transform([[1.0], [2.0]])["x0"].to_list() == [0, 1]


def test_names_of_intervals_are_different():
    x = np.array([1.0, 1.0 + 1e-12, 1.0 + 2e-12])
    frame = pl.DataFrame({"x": np.repeat(x, 10)})
    out = MDLP().fit_transform(frame, np.repeat([0, 1, 2], 10))
    names = out["x"].unique(maintain_order=True).to_list()
    assert len(names) == 3
    assert len(set(names[1][1:-1].split(", "))) == 2
    pattern = pl.DataFrame({"^x$": [1.0, 2.0], "*": [3.0, 4.0]})
    assert MDLP().fit_transform(pattern, [0, 1]).columns == ["^x$", "*"]


def test_copies_and_pipelines():
    rng = np.random.default_rng(4)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 4)) + y[:, None] * [3, 0, 0, 3]
    mdlp = MDLP(n_jobs=1).fit(X, y)
    again = pickle.loads(pickle.dumps(mdlp))
    assert np.array_equal(again.transform(X), mdlp.transform(X))
    assert clone(mdlp).get_params() == mdlp.get_params()
    from sklearn.naive_bayes import CategoricalNB

    assert make_pipeline(MDLP(), CategoricalNB(min_categories=5)).fit(X, y).score(X, y) > 0.9


def test_filters_use_the_rule():
    assert cut_rule_from(EqualWidth(n_bins=4)).n_bins == 4
    assert cut_rule_from(MDLP()).name == "mdlp"
    assert cut_rule_from(PKID()).name == "pkid"
    assert cut_rule_from(EqualFrequency()).name == "equal-frequency"


def test_bad_input():
    X, y = np.array([[1.0], [2.0]]), [0, 1]
    with pytest.raises(ParameterError, match="missing='drop'"):
        MDLP(missing="drop").fit(X, y)
    with pytest.raises(ParameterError, match="n_bins=0"):
        EqualWidth(n_bins=0).fit(X)
    with pytest.raises(ParameterError, match="requires y"):
        MDLP().fit(X, None)
    with pytest.raises(DataError, match="one class only"):
        MDLP().fit(X, [1, 1])
    with pytest.raises(DataError, match="one column"):
        MDLP().fit(pl.Series([1.0, 2.0]), y)
    with pytest.raises(DataError, match="LazyFrame"):
        MDLP().fit(pl.LazyFrame({"a": [1.0, 2.0]}), y)


def test_infinite_values_are_named():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(700, 500))
    X[613, 402] = -np.inf
    y = np.arange(700) % 2
    message = "column 'x402' has an infinite value .* in row 613"
    for table in (X, np.asfortranarray(X), X.astype(np.float32), scipy.sparse.csr_array(X)):
        with pytest.raises(DataError, match=message):
            PKID().fit(table)
    first = scipy.sparse.csc_array(np.array([[0.0, 0.0, np.inf], [1.0, 0.0, 2.0]]))
    with pytest.raises(DataError, match=r"column 'x2' has an infinite value .* in row 0"):
        PKID().fit(first)
    fitted = MDLP().fit(np.nan_to_num(X), y)
    with pytest.raises(DataError, match=message):
        fitted.transform(X)
    with pytest.raises(DataError, match="column 'a' has an infinite value"):
        MDLP().fit(pl.DataFrame({"a": [1.0, np.inf]}), [0, 1])


@parametrize_with_checks(
    [MDLP(), PKID(), EqualWidth(n_bins=3), EqualFrequency(missing="spread"), MDLP(n_jobs=1)]
)
def test_scikit_learn(estimator, check):
    check(estimator)
