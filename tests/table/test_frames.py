import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from featly import SVMRFE, DataError, FTest, Schema
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.preprocessing import fill_missing
from featly.table.frames import open_table


def kinds(frame):
    return dict(zip(open_table(frame).names, open_table(frame).kinds(), strict=True))


def test_kinds_of_pandas_dtypes():
    frame = pd.DataFrame(
        {
            "float": [1.0, 2.0],
            "int": [1, 2],
            "nullable": pd.array([1, None], dtype="Int64"),
            "arrow": pd.array([1.5, None], dtype="float64[pyarrow]"),
            "bool": [True, False],
            "maybe": pd.array([True, None], dtype="boolean"),
            "text": ["a", "b"],
            "arrow text": pd.array(["a", None], dtype="string[pyarrow]"),
            "object text": pd.Series(["a", None], dtype=object),
            "object numbers": pd.Series([1, 2.5], dtype=object),
            "decimal": [decimal.Decimal(1), decimal.Decimal("2.5")],
            "nothing": pd.Series([None, None], dtype=object),
            "category": pd.Categorical(["a", "b"]),
            "ordered": pd.Categorical(["a", "b"], ordered=True),
        }
    )
    text = {"bool", "maybe", "text", "arrow text", "object text", "category"}
    for name, kind in kinds(frame).items():
        expected = ORDINAL if name == "ordered" else CATEGORICAL if name in text else CONTINUOUS
        assert kind == expected, name
    numeric = [n for n, kind in kinds(frame).items() if kind == CONTINUOUS]
    numbers = open_table(frame[numeric]).numbers(range(len(numeric)))
    assert numbers.dtype == np.float64
    assert np.isnan(numbers[1, [numeric.index("nullable"), numeric.index("arrow")]]).all()
    assert numbers[1, numeric.index("decimal")] == 2.5


def test_kinds_of_polars_and_arrow_dtypes():
    columns = {
        "float": [1.0, None],
        "int": [1, 2],
        "bool": [True, None],
        "text": ["a", "b"],
        "decimal": [decimal.Decimal("1.5"), decimal.Decimal("2.5")],
        "nothing": [None, None],
    }
    expected = [CONTINUOUS, CONTINUOUS, CATEGORICAL, CATEGORICAL, CONTINUOUS, CONTINUOUS]
    frame = pl.DataFrame(columns)
    assert list(kinds(frame).values()) == expected
    assert list(kinds(pa.table(columns)).values()) == expected
    assert open_table(frame).numbers([4]).tolist() == [[1.5], [2.5]]
    assert open_table(pa.table(columns)).numbers([4]).tolist() == [[1.5], [2.5]]
    enum = frame.with_columns(pl.col("text").cast(pl.Enum(["b", "a"])))
    assert kinds(enum)["text"] == CATEGORICAL


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_keep_their_precision(dtype, library):
    frame = library({"a": np.array([1, 2], dtype), "b": np.array([3, 4], dtype)})
    numbers = open_table(frame).numbers([0, 1])
    assert numbers.dtype == dtype
    assert numbers.flags.f_contiguous, "columns of frames lie together"
    small = library({"a": np.array([1, 2], dtype), "b": np.array([3, 4], np.int8)})
    assert open_table(small).numbers([0, 1]).dtype == dtype


def test_single_block_pandas_frames_are_not_copied():
    X = np.random.default_rng(0).normal(size=(5, 4))
    frame = pd.DataFrame(X)
    assert np.shares_memory(open_table(frame).numbers(range(4)), frame.to_numpy())


COLUMN = ["b", None, "a", "b", "c", None, "a"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": COLUMN}),
        pd.DataFrame({"x": pd.Categorical(COLUMN, categories=["z", "c", "b", "a"])}),
        pl.DataFrame({"x": COLUMN}),
        pl.DataFrame({"x": COLUMN}).with_columns(pl.col("x").cast(pl.Categorical)),
        pl.DataFrame({"x": COLUMN}).with_columns(pl.col("x").cast(pl.Enum(["z", "c", "b", "a"]))),
        pa.table({"x": COLUMN}),
        pa.table({"x": pa.array(COLUMN).dictionary_encode()}),
        pa.concat_tables([pa.table({"x": COLUMN[:2]}), pa.table({"x": COLUMN[2:]})]),
        np.array([[v] for v in COLUMN], dtype=object),
    ],
)
def test_codes_start_at_one_and_leave_zero_to_missing(frame):
    table = open_table(frame)
    codes, sizes = table.codes([0])
    assert codes.dtype == np.uint8
    assert sizes.tolist() == [3]
    assert (codes[0] == 0).tolist() == [value is None for value in COLUMN]
    assert sorted(set(codes[0].tolist())) == [0, 1, 2, 3]
    column_codes, levels = table.texts(0)
    assert [None if c == 0 else levels[c - 1] for c in column_codes] == COLUMN


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_many_levels_take_wider_codes(library):
    frame = library({"x": [f"level {k}" for k in range(300)], "y": ["a", "b"] * 150})
    codes, sizes = open_table(frame).codes([0, 1])
    assert codes.dtype == np.uint16
    assert sizes.tolist() == [300, 2]
    y = np.arange(300) % 2
    assert SVMRFE().fit(frame, y).order_.tolist() == [1, 0]


def test_too_many_levels_are_an_identifier():
    frame = pl.DataFrame({"key": [str(k) for k in range(70_000)]})
    with pytest.raises(DataError, match=r"'key' has 70000 different texts.*identifier"):
        SVMRFE().fit(frame, np.arange(70_000) % 2)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("value", [datetime.date(2020, 1, 2), datetime.timedelta(days=3)])
def test_dates_are_refused_by_name(library, value):
    with pytest.raises(DataError, match=r"'seen' holds dates or times.*number"):
        FTest().fit(library({"a": [1.0, 2.0], "seen": [value, value]}), [0, 1])


def test_other_dtypes_are_refused_by_name():
    with pytest.raises(DataError, match="'z' has dtype List"):
        FTest().fit(pl.DataFrame({"z": [[1], [2]]}), [0, 1])
    with pytest.raises(DataError, match=r"'z' has type list"):
        FTest().fit(pa.table({"z": [[1], [2]]}), [0, 1])
    with pytest.raises(DataError, match=r"'z' is complex"):
        FTest().fit(pd.DataFrame({"z": [1j, 2j]}), [0, 1])


def test_lists_keep_numbers_beside_text():
    rows = [[1.0, "a"], [2.0, "b"], [3.0, "a"], [4.0, "b"]]
    rfe = SVMRFE().fit(rows, [0, 1, 0, 1])
    assert rfe.kinds_ == ["continuous", "categorical"]


def test_object_arrays():
    X = np.array([[1, None], [2.5, 4], [3, 5], [0, 7]], dtype=object)
    test = FTest().fit(X, [0, 1, 0, 1])
    assert test.kinds_ == ["continuous", "continuous"]
    expected = FTest().fit(np.array([[1, np.nan], [2.5, 4], [3, 5], [0, 7]]), [0, 1, 0, 1])
    assert test.statistic_.tolist() == expected.statistic_.tolist()


def test_integer_and_boolean_arrays_are_numbers():
    rng = np.random.default_rng(0)
    bits, y = rng.random((40, 6)) < 0.4, np.arange(40) % 2
    expected = FTest().fit(bits.astype(float), y)
    for dtype in (bool, np.int8, np.uint16, np.int64, np.float16):
        ranker = FTest().fit(bits.astype(dtype), y)
        assert ranker.kinds_ == ["continuous"] * 6
        assert ranker.statistic_ == pytest.approx(expected.statistic_)


def test_index_and_column_labels_of_pandas_are_kept():
    frame = pd.DataFrame({"a": [1.0, 2, 3, 5], "b": [1.0, 1, 2, 2]}, index=list("wxyz"))
    taken = FTest(n_features_to_select=1).fit(frame, [0, 0, 1, 1]).transform(frame)
    assert taken.index.tolist() == list("wxyz")
    assert taken.columns.tolist() == ["b"]


def test_narwhals_frames_of_other_libraries_come_through_arrow():
    import narwhals as nw

    frame = nw.from_native(pl.DataFrame({"a": [1.0, 2, 3, 5], "b": ["x", "y", "x", "y"]}))
    rfe = SVMRFE(n_features_to_select=1).fit(frame, [0, 1, 0, 1])
    assert rfe.kinds_ == ["continuous", "categorical"]
    assert rfe.transform(frame).columns == ["b"]


def test_names_that_polars_takes_for_patterns():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    columns = [*rng.normal(size=(3, 40)), np.array(["a", "b"])[rng.integers(0, 2, 40)]]
    odd = pl.DataFrame(dict(zip(["*", "^a.*$", "abc", "^t$"], columns, strict=True)))
    plain = pl.DataFrame(dict(zip(["p", "q", "r", "s"], columns, strict=True)))
    assert SVMRFE().fit(odd, y).order_.tolist() == SVMRFE().fit(plain, y).order_.tolist()
    assert Schema().describe(odd).n_distinct == Schema().describe(plain).n_distinct
    labels = SVMRFE(schema={"categorical": ["*"]}).fit(odd, y)
    assert labels.kinds_[0] == "categorical"
    assert labels.set_params(n_features_to_select=4).transform(odd).columns == odd.columns
    incomplete = odd.with_columns(pl.Series("^t$", [None, *columns[3][1:]]))
    filled, positions = fill_missing(incomplete)
    assert (filled.columns, positions) == (odd.columns, [3])


def test_the_missing_value_of_pandas_is_missing_in_a_target():
    y = pd.Series(["a", pd.NA, "b", "a"], dtype="string")
    with pytest.raises(DataError, match=r"y is missing \(NaN\) in row 1"):
        FTest().fit(np.arange(4.0)[:, None], y)
    with pytest.raises(DataError, match=r"y is missing \(NaN\) in row 1"):
        FTest().fit(np.arange(4.0)[:, None], ["a", pd.NA, "b", "a"])


@pytest.mark.parametrize("n_texts", [1, 3, 16, 17, 40, 300])
def test_columns_that_share_their_categories_are_coded_as_their_texts(n_texts):
    """Shared physical codes, which go by first appearance, become ranks of the texts."""
    rng = np.random.default_rng(n_texts)
    texts = [f"t{k}" for k in rng.permutation(n_texts)]
    rows = 3 * n_texts + 7
    columns = {f"c{j}": rng.choice([*texts[: 1 + j * n_texts // 4], None], rows) for j in range(5)}
    columns["empty"] = np.full(rows, None)
    columns["full"] = rng.permutation(np.resize(texts, rows))
    as_text = pl.DataFrame(
        {name: values.tolist() for name, values in columns.items()},
        schema=dict.fromkeys(columns, pl.String),
    )
    shared = as_text.select(pl.all().cast(pl.Categorical))
    every = range(len(columns))
    expected, sizes = open_table(as_text).codes(every)
    codes, code_sizes = open_table(shared).codes(every)
    assert np.array_equal(codes, expected)
    assert codes.dtype == expected.dtype
    assert code_sizes.tolist() == sizes.tolist()
    some = [5, 2, 6]
    assert np.array_equal(open_table(shared).codes(some)[0], expected[some])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([True, 1.5, 2], r"mixes truth values and numbers \(row 0: True\)"),
        (["a", 1, 2], r"mixes text and numbers \(row 0: 'a'\)"),
        ([1, None, "a", "b"], r"mixes text and numbers \(row 0: 1\)"),
        ([[1], [2], [3]], r"holds values of the type list \(row 0: \[1\]\)"),
    ],
)
def test_a_column_of_mixed_types_names_the_rarest(values, words):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    with pytest.raises(DataError, match=f"column 'x' {words}"):
        open_table(frame).kinds()
