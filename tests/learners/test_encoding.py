"""Encoded mixed columns are those of a plain loop over the values."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import DataError
from featly.basics.errors import SchemaError
from featly.learners import Encoder
from tests.reference.learners import encode_columns

NUMBERS = [None, -4.0, 0.0, 0.1, 1.0, 1.0, 1.5, 1e6]
LEVELS = [None, "a", "b", "b", "é", "1"]


@st.composite
def mixed_tables(draw):
    """Training and other rows: ties, missing values, constant and empty columns, new levels."""
    n_train, n_rows = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    train, rows = {}, {}
    for j in range(draw(st.integers(1, 5))):
        text = draw(st.booleans())
        cell = st.sampled_from(LEVELS if text else NUMBERS)
        if draw(st.integers(0, 4)) == 0:
            cell = st.just(draw(cell))
        train[f"c{j}"] = draw(st.lists(cell, min_size=n_train, max_size=n_train))
        unseen = st.sampled_from(["new", *LEVELS] if text else [7.25, *NUMBERS])
        rows[f"c{j}"] = draw(st.lists(unseen, min_size=n_rows, max_size=n_rows))
        if text and all(v is None for v in train[f"c{j}"]):
            train[f"c{j}"][0] = "a"  # an empty column of texts is another test
    return train, rows


def as_polars(columns):
    return pl.DataFrame(
        {
            name: pl.Series(values, dtype=pl.String if is_text(values) else pl.Float64)
            for name, values in columns.items()
        }
    )


def as_pandas(columns):
    return as_polars(columns).to_pandas()


def as_arrow(columns):
    return as_polars(columns).to_arrow()


def as_objects(columns):
    return np.array([list(row) for row in zip(*columns.values(), strict=True)], dtype=object)


def as_lists(columns):
    return [list(row) for row in zip(*columns.values(), strict=True)]


def is_text(values):
    return any(isinstance(v, str) for v in values)


LIBRARIES = [as_polars, as_pandas, as_arrow, as_objects, as_lists]


@given(mixed_tables(), st.booleans(), st.sampled_from(LIBRARIES))
def test_equals_reference(tables, standardize, library):
    train, rows = tables
    encoder = Encoder(standardize=standardize).fit(library(train))
    expected = encode_columns(train, rows, standardize)
    encoded_rows = encoder.transform(library(rows))
    assert encoded_rows.shape == expected.shape == (len(expected), encoder.starts_[-1])
    assert encoded_rows == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert len(encoder.get_feature_names_out()) == expected.shape[1]


@given(mixed_tables())
def test_training_rows_have_mean_0_and_total_variance_1(tables):
    train, _ = tables
    complete = {
        name: [("a" if is_text(values) else 0.0) if v is None else v for v in values]
        for name, values in train.items()
    }
    encoder = Encoder()
    Z = encoder.fit_transform(as_polars(complete))
    assert Z.mean(axis=0) == pytest.approx(0, abs=1e-9)
    variance = np.add.reduceat(Z.var(axis=0), encoder.starts_[:-1])
    for name, total in zip(complete, variance, strict=True):
        assert total == pytest.approx(float(len(set(complete[name])) > 1))


@given(mixed_tables(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_order_of_rows_does_not_matter_and_each_is_by_itself(tables, random):
    train, rows = tables
    shuffled = random.sample(range(len(train["c0"])), len(train["c0"]))
    other = {name: [values[i] for i in shuffled] for name, values in train.items()}
    Z = Encoder().fit(as_polars(train)).transform(as_polars(rows))
    assert Encoder().fit(as_polars(other)).transform(as_polars(rows)) == pytest.approx(Z, abs=1e-9)
    encoder = Encoder().fit(as_polars(train))
    for i in range(len(Z)):
        row = as_polars(rows)[i : i + 1]
        assert (encoder.transform(row) == Z[i]).all()


def test_arrays_of_every_kind_agree():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((20, 6)) < 0.4, rng.integers(-3, 9, (20, 6)), 0).astype(float)
    expected = Encoder().fit(X[:12]).transform(X[12:])
    assert expected == pytest.approx((X[12:] - X[:12].mean(0)) / X[:12].std(0))
    locked = X.copy()
    locked.setflags(write=False)
    for table in (
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(np.int8),
        X.astype(int).astype(object),
        locked,
        scipy.sparse.csr_array(X),
        scipy.sparse.csc_matrix(X),
    ):
        assert Encoder().fit(table[:12]).transform(table[12:]) == pytest.approx(expected, rel=1e-6)
    assert Encoder().fit(X[:12].tolist()).transform(X[12:].tolist()) == pytest.approx(expected)
    assert (locked == X).all()


@pytest.mark.parametrize("value", [0.1, 1e9 + 0.3, -7e-9, 123456.789])
@pytest.mark.parametrize("with_missing", [False, True])
def test_a_constant_column_is_0_however_many_rows_it_has(value, with_missing):
    """A sum of many equal numbers is not their number times one of them, but columns stay 0."""
    X = np.full((30_011, 2), value)
    X[0, 1] = 0.0
    if with_missing:
        X[::7] = np.nan
    encoder = Encoder().fit(X)
    assert encoder.scale_[0] == 0
    row = encoder.transform([[value + 1, 0.0]])
    assert row[0, 0] == 0


def test_a_large_offset_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, size=(500, 3)) / 128  # exact with the offset
    plain = Encoder().fit_transform(X)
    assert Encoder().fit_transform(X + 2.0**40) == pytest.approx(plain, abs=1e-9)


# ---- levels --------------------------------------------------------------------------------------
def test_numbers_declared_categorical_are_the_same_whole_or_real():
    """A missing value turns whole numbers into real ones in most libraries."""
    expected = Encoder().fit_transform(pl.DataFrame({"stage": ["1", "2", "2", "3"]}))
    codes = [1, 2, 2, 3]
    for whole, real in (
        (pd.DataFrame({"stage": codes}), pd.DataFrame({"stage": [1.0, 2.0, 2.0, 3.0]})),
        (pl.DataFrame({"stage": codes}), pl.DataFrame({"stage": [1.0, 2.0, 2.0, 3.0]})),
        (pa.table({"stage": codes}), pa.table({"stage": [1.0, 2.0, 2.0, 3.0]})),
        (np.array([codes]).T, np.array([codes]).T.astype(np.float32)),
        (pd.DataFrame({"stage": codes}), pd.DataFrame({"stage": codes}, dtype="Int64")),
        (pd.DataFrame({"stage": codes}), pd.DataFrame({"stage": ["1", "2", "2", "3"]})),
    ):
        encoder = Encoder(schema={"categorical": [0]}).fit(whole)
        assert encoder.transform(whole) == pytest.approx(expected)
        assert encoder.transform(real) == pytest.approx(expected)
        assert encoder.get_feature_names_out()[0].endswith("=1")


def test_sparse_numbers_declared_categorical():
    X = scipy.sparse.csr_array(np.array([[0.0, 2], [1, 0], [2, 0], [0, 2]]))
    schema = {"categorical": [0]}
    expected = Encoder(schema=schema).fit_transform(X.toarray())
    assert expected.shape == (4, 4)
    assert (Encoder(schema=schema).fit_transform(X) == expected).all()


def test_bools_are_two_levels():
    expected = Encoder().fit_transform(pl.DataFrame({"smokes": ["no", "yes", "yes"]}))
    for frame in (
        pl.DataFrame({"smokes": [False, True, True]}),
        pd.DataFrame({"smokes": [False, True, True]}),
        pd.DataFrame({"smokes": [False, True, True]}, dtype="boolean"),
        pa.table({"smokes": [False, True, True]}),
    ):
        assert Encoder().fit_transform(frame) == pytest.approx(expected)


def test_levels_of_the_dtype_that_no_row_has_are_no_columns():
    dtype = pl.Enum(["none", "some", "much"])
    frame = pl.DataFrame({"pain": pl.Series(["much", "none", "much"], dtype=dtype)})
    encoder = Encoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["pain=none", "pain=much"]
    categories = pd.DataFrame({"pain": pd.Categorical(["b", "a"], categories=["c", "b", "a"])})
    assert Encoder().fit_transform(categories).shape == (2, 2)


def test_a_row_of_another_level_is_none_of_them():
    encoder = Encoder().fit(pl.DataFrame({"sex": ["f", "m", "m", "m"]}))
    seen = encoder.transform(pl.DataFrame({"sex": ["f", "m", "x", None]}))
    unit = np.sqrt(1 - (1 / 16 + 9 / 16))
    assert seen * unit == pytest.approx(
        np.array([[0.75, -0.75], [-0.25, 0.25], [-0.25, -0.75], [0.0, 0.0]])
    )


def test_other_rows_that_are_all_missing_have_another_dtype():
    train = pl.DataFrame({"age": [40, 50], "sex": ["f", "m"]})
    encoder = Encoder().fit(train)
    for rows in (
        pl.DataFrame({"age": [None, None], "sex": [None, None]}),
        pd.DataFrame({"age": [None, None], "sex": [None, None]}),
        pa.table({"age": pa.nulls(2), "sex": pa.nulls(2)}),
    ):
        assert (encoder.transform(rows) == np.zeros((2, 3))).all()
    as_array = np.array([[40, "f"], [50, "m"]], dtype=object)
    nothing = np.array([[None, None]], dtype=object)
    assert (Encoder().fit(as_array).transform(nothing) == np.zeros((1, 3))).all()


def test_training_rows_that_are_all_missing_are_encoded_as_0():
    encoder = Encoder().fit(pl.DataFrame({"sex": [None, None], "age": [1, 2]}))
    rows = encoder.transform(pl.DataFrame({"sex": ["f", None], "age": [1, 2]}))
    assert rows.tolist() == [[0.0, -1.0], [0.0, 1.0]]
    assert encoder.get_feature_names_out().tolist() == ["sex", "age"]
    texts = pl.DataFrame({"sex": pl.Series([None, None], dtype=pl.String)})
    assert Encoder().fit(texts).transform(pl.DataFrame({"sex": ["f"]})).tolist() == [[0.0]]
    X = np.full((3, 1), np.nan)
    assert Encoder().fit(X).transform([[5.0]]).tolist() == [[0.0]]


# ---- ordinal columns -----------------------------------------------------------------------------
GRADES = ["low", "middle", "high"]


@pytest.mark.parametrize(
    ("train", "schema"),
    [
        (pd.DataFrame({"grade": pd.Categorical(["low", "high"], GRADES, ordered=True)}), None),
        (pl.DataFrame({"grade": pl.Series(["low", "high"], dtype=pl.Enum(GRADES))}),
         {"ordinal": ["grade"]}),
        (pl.DataFrame({"grade": ["low", "high"]}), {"ordinal": {"grade": GRADES}}),
        (np.array([["low"], ["high"]], dtype=object), {"ordinal": {0: GRADES}}),
    ],
)  # fmt: skip
def test_an_ordinal_column_is_the_rank_of_its_levels(train, schema):
    encoder = Encoder(schema=schema).fit(train)
    assert encoder.transform(train).tolist() == [[-1.0], [1.0]]
    if isinstance(train, np.ndarray):
        rows = np.array([["middle"], [None]], dtype=object)
    else:
        rows = pl.DataFrame({"grade": ["middle", None]})
    assert encoder.transform(rows).tolist() == [[0.0], [0.0]]


def test_ranks_are_those_of_the_training_rows_dtype():
    """Rows whose dtype has lost a level, as by ``remove_unused_categories``, rank as before."""
    train = pd.DataFrame({"grade": pd.Categorical(["low", "high"], GRADES, ordered=True)})
    encoder = Encoder().fit(train)
    fewer = pd.DataFrame({"grade": pd.Categorical(["high"], ["low", "high"], ordered=True)})
    assert encoder.transform(fewer).tolist() == [[1.0]]
    other = pd.DataFrame({"grade": pd.Categorical(["huge"], ["low", "huge"], ordered=True)})
    with pytest.raises(SchemaError, match="'grade' holds 'huge'"):
        encoder.transform(other)


def test_numbers_declared_ordinal():
    frame = pl.DataFrame({"dose": [1, 10, 100, 10]})
    as_numbers = Encoder(schema={"ordinal": ["dose"]}).fit_transform(frame)
    assert as_numbers == pytest.approx(Encoder().fit_transform(frame))
    as_ranks = Encoder(schema={"ordinal": {"dose": [1, 10, 100]}}).fit_transform(frame)
    assert as_ranks == pytest.approx(Encoder().fit_transform(pl.DataFrame({"dose": [0, 1, 2, 1]})))


def test_text_declared_continuous_is_read():
    encoder = Encoder(schema={"continuous": ["dose"]}).fit(pl.DataFrame({"dose": ["1", "3"]}))
    assert encoder.transform(pl.DataFrame({"dose": ["2", "5"]})).tolist() == [[0.0], [3.0]]
    assert encoder.transform(pl.DataFrame({"dose": [2.0, 5.0]})).tolist() == [[0.0], [3.0]]


# ---- names, mistakes -----------------------------------------------------------------------------
def test_names_and_output():
    frame = pl.DataFrame({"age": [40, 60], "sex": ["f", "m"]})
    encoder = Encoder().set_output(transform="polars").fit(frame)
    assert encoder.transform(frame).columns == ["age", "sex=f", "sex=m"]
    plain = Encoder().fit(np.eye(2))
    assert plain.get_feature_names_out().tolist() == ["x0", "x1"]
    assert plain.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="input_features"):
        encoder.get_feature_names_out(["age", "stage"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pl.DataFrame({"a": [1.0, np.inf]}), "column 'a' has an infinite value .* row 1"),
        (np.array([[1.0, 2.0], [1.0, -np.inf]]), "column 'x1' has an infinite value .* row 1"),
        (np.array([[1.0, 2.0], [1e200, 2.0]]), r"column 'x0' .* 1e\+200 in row 1.*overflows"),
        (pl.DataFrame({"t": ["a", "b"], "n": [1.0, -1e300]}), r"column 'n' .* row 1"),
        (pl.DataFrame({"a": [1.0]}).head(0), r"0 sample\(s\)"),
        (pl.DataFrame(), r"0 feature\(s\)"),
        (pl.Series([1.0, 2.0]), "one column"),
        (pl.DataFrame({"a": [1.0]}).lazy(), "LazyFrame"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "two columns are called 'a'"),
    ],
)
def test_mistakes_are_named(table, words):
    with pytest.raises(DataError, match=words) as caught:
        Encoder().fit(table)
    assert "\n" not in str(caught.value)


def test_rows_that_are_too_large_are_named_too():
    encoder = Encoder().fit(pl.DataFrame({"t": ["a", "b"], "n": [1.0, 2.0]}))
    with pytest.raises(DataError, match="column 'n' has an infinite value"):
        encoder.transform(pl.DataFrame({"t": ["a"], "n": [np.inf]}))
    assert np.isfinite(encoder.transform(pl.DataFrame({"t": ["a"], "n": [1e140]}))).all()
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(pl.DataFrame({"n": [1.0], "t": ["a"]}))


def test_levels_that_are_written_alike_are_one():
    frame = pd.DataFrame({"code": pd.Categorical([1, "1", 2], categories=[1, "1", 2])})
    encoder = Encoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["code=1", "code=2"]
    texts = pl.DataFrame({"code": ["1", "1", "2"]})
    assert encoder.transform(frame) == pytest.approx(Encoder().fit_transform(texts))


@parametrize_with_checks([Encoder(), Encoder(standardize=False)])
def test_scikit_learn(estimator, check):
    check(estimator)
