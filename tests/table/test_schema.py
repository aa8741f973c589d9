import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from featly import SVMRFE, DataError, FTest, Schema, SchemaError
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"prior": {"a": 0.5}}, "prior of 'a' is 0.5"),
        ({"prior": {"a": float("nan")}}, "prior of 'a'"),
        ({"prior": ["a"]}, "prior must map"),
        ({"costs": {"a": -1}}, "cost of 'a' is -1"),
        ({"costs": {"a": "dear"}}, "cost of 'a' is 'dear'"),
        ({"costs": {"a": True}}, "cost of 'a'"),
        ({"keep": "age"}, "keep='age'"),
        ({"keep": [1.5]}, "keep names 1.5"),
        ({"keep": [True]}, "keep names True"),
        ({"ordinal": {"a": "low high"}}, "ordinal levels of 'a'"),
        ({"ordinal": {"a": ["x", "x"]}}, "ordinal levels of 'a'"),
        ({"ordinal": {"a": []}}, "ordinal levels of 'a'"),
        ({"column_groups": ["a"]}, "column_groups must map"),
        ({"column_groups": {"lab": "a"}}, "column_groups['lab']='a'"),
    ],
)
def test_errors_of_the_schema_alone(parts, words):
    with pytest.raises(SchemaError) as raised:
        Schema(**parts)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"keep": ["agee"]}, "keep names 'agee', which is no column of the table; did you mean"),
        ({"keep": ["zzz"]}, "keep names 'zzz', which is no column of the table"),
        ({"prior": {7: 2.0}}, "prior names position 7: positions run from 0 to 2"),
        ({"costs": {-1: 2.0}}, "costs names position -1"),
        ({"keep": ["age", 0]}, "keep names 'age' twice"),
        ({"categorical": ["age"], "continuous": [0]}, "'age' cannot be"),
        ({"column_groups": {"lab": ["x"]}}, "column_groups['lab'] names 'x'"),
    ],
)
def test_errors_with_a_table(parts, words):
    with pytest.raises(SchemaError) as raised:
        Schema(**parts).resolve(["age", "sex", "dose"], [CONTINUOUS] * 3)
    assert words in str(raised.value)


def test_resolution():
    schema = Schema(
        categorical=["a"], ordinal={"b": ["lo", "hi"]}, keep=[2], prior={"c": 3}, costs={"a": 1.5},
        column_groups={"g": ["a", 2]},
    )  # fmt: skip
    columns = schema.resolve(["a", "b", "c"], [CONTINUOUS, CATEGORICAL, CONTINUOUS])
    assert columns.kinds.tolist() == [CATEGORICAL, ORDINAL, CONTINUOUS]
    assert columns.levels == {1: ["lo", "hi"]}
    assert columns.keep.tolist() == [2]
    assert columns.prior.tolist() == [1, 1, 3]
    assert columns.costs.tolist() == [1.5, 0, 0]
    assert columns.groups["g"].tolist() == [0, 2]
    assert columns.stated_parts() == ["keep", "prior", "costs", "column_groups"]


def test_integers_are_positions_even_where_names_are_integers():
    frame = pd.DataFrame({1: [1.0, 2, 3, 4], 0: ["a", "b", "a", "b"]})
    rfe = SVMRFE(schema={"keep": [0]}).fit(frame, [0, 1, 0, 1])
    assert rfe.table()["feature"].tolist()[0] == "1"


def test_repr_and_forms():
    assert repr(Schema()) == "Schema()"
    assert repr(Schema(keep=["a"])) == "Schema(keep=['a'])"
    assert Schema.of({"keep": ["a"]}) == Schema(keep=["a"])
    with pytest.raises(SchemaError, match="no part 'keeps'; did you mean 'keep'"):
        Schema.of({"keeps": []})
    with pytest.raises(SchemaError, match="give a Schema"):
        Schema.of(["keep"])


# ---- what looks wrong -----------------------------------------------------------------------
def odd_table():
    n = 40
    rng = np.random.default_rng(0)
    return {
        "patient_id": np.arange(1000, 1000 + n),
        "code": [f"A-{k}" for k in range(n)],
        "age": rng.normal(60, 10, n),
        "grade": rng.integers(1, 4, n),
        "smoker": rng.integers(0, 2, n),
        "weight": [f"{w:.1f}" for w in rng.normal(70, 9, n)],
        "site": ["north"] * n,
        "stage": [["I", "II", "?"][k] for k in rng.integers(0, 3, n)],
        "empty": [None] * n,
        "sex": [["f", "m"][k] for k in rng.integers(0, 2, n)],
    }


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_describe_reports_what_looks_wrong_and_changes_nothing(library):
    report = Schema().describe(library(odd_table()))
    assert set(report.remarks) == {
        "patient_id", "code", "grade", "weight", "site", "stage", "empty",
    }  # fmt: skip
    assert "identifier" in report.remarks["patient_id"]
    assert "identifier" in report.remarks["code"]
    assert "3 whole numbers" in report.remarks["grade"]
    assert "numbers" in report.remarks["weight"]
    assert "constant" in report.remarks["site"]
    assert "missing" in report.remarks["stage"]
    assert "entirely missing" in report.remarks["empty"]
    kinds = dict(zip(report.names, report.kinds, strict=True))
    assert kinds["grade"] == "continuous"
    assert kinds["weight"] == "categorical"
    assert report.n_missing[report.names.index("empty")] == 40
    assert "40 rows, 10 columns" in str(report)
    assert isinstance(report.table(), type(library({"a": [1]})))


def test_describe_does_not_doubt_declared_columns():
    schema = Schema(ordinal=["grade"], continuous=["weight"], categorical=["patient_id"])
    report = schema.describe(pl.DataFrame(odd_table()))
    assert not {"grade", "weight", "patient_id"} & set(report.remarks)
    assert dict(zip(report.names, report.kinds, strict=True))["grade"] == "ordinal"


def test_describe_of_arrays():
    X = np.column_stack([np.arange(30.0), np.full(30, 2.0), np.random.default_rng(0).random(30)])
    report = Schema().describe(X)
    assert set(report.remarks) == {"x0", "x1"}
    report = Schema().describe(np.array([["a", 1.0], ["b", np.inf]], dtype=object))
    assert "infinite" in report.remarks["x1"]
    assert "<pre>" in report._repr_html_()
    sparse = Schema().describe(scipy.sparse.csr_array(X))
    assert sparse.remarks == Schema().describe(X).remarks
    with pytest.raises(DataError, match="1 dimensions"):
        Schema().describe([1.0, 2.0])
    with pytest.raises(DataError, match="LazyFrame"):
        Schema().describe(pl.DataFrame({"a": [1]}).lazy())


def test_describe_accepts_a_category_and_groups_equal_remarks():
    frame = pl.DataFrame({f"empty {j}": pl.Series([None] * 12) for j in range(5)}).with_columns(
        grade=pl.Series(["1", "2", "3"] * 4, dtype=pl.Categorical)
    )
    for library in (frame, frame.to_pandas(), frame.to_arrow()):
        report = Schema().describe(library)
        assert "grade" not in report.remarks
        last = str(report).splitlines()[-1]
        assert last == "5 columns (empty 0, empty 1, empty 2, ...): entirely missing; leave it out"


def test_describe_reports_a_wrong_declaration():
    report = Schema(continuous=["stage"]).describe(pl.DataFrame({"stage": ["I", "2"]}))
    assert report.remarks == {"stage": "declared continuous, but 'I' is no number"}


# ---- what the kinds do ----------------------------------------------------------------------
def test_ordinal_levels_give_the_ranks():
    y = np.arange(30) % 2
    stage = np.array(["late", "early", "middle"])[np.arange(30) % 3]
    frame = pl.DataFrame({"stage": stage})
    test = FTest(schema={"ordinal": {"stage": ["early", "middle", "late"]}}).fit(frame, y)
    ranks = np.array([2.0, 0.0, 1.0])[np.arange(30) % 3]
    assert test.statistic_ == pytest.approx(FTest().fit(ranks[:, None], y).statistic_)
    assert test.kinds_ == ["ordinal"]
    with pytest.raises(SchemaError, match=r"'stage' holds 'late'"):
        FTest(schema={"ordinal": {"stage": ["early", "middle"]}}).fit(frame, y)
    with pytest.raises(SchemaError, match="'stage' is text without an order"):
        FTest(schema={"ordinal": ["stage"]}).fit(frame, y)


def test_ordered_categories_are_ordinal_with_unused_levels():
    order = pd.CategoricalDtype(["I", "II", "III", "IV"], ordered=True)
    values = pd.Series(["I", "IV", "III", None] * 5, dtype=order)
    y = np.arange(20) % 2
    test = FTest().fit(pd.DataFrame({"stage": values}), y)
    ranks = np.array([0.0, 3.0, 2.0, np.nan] * 5)
    assert test.statistic_ == pytest.approx(FTest().fit(ranks[:, None], y).statistic_)
    dictionary = pa.DictionaryArray.from_arrays(
        pa.array([0, 3, 2, None] * 5, pa.int8()), pa.array(["I", "II", "III", "IV"]), ordered=True
    )
    arrow = FTest().fit(pa.table({"stage": dictionary}), y)
    assert arrow.statistic_.tolist() == test.statistic_.tolist()


def test_an_enum_may_be_declared_ordinal():
    stages = pl.Series(["late", "early", "middle"] * 10, dtype=pl.Enum(["early", "middle", "late"]))
    y = np.arange(30) % 2
    test = FTest(schema={"ordinal": ["stage"]}).fit(pl.DataFrame({"stage": stages}), y)
    ranks = np.array([2.0, 0.0, 1.0] * 10)
    assert test.statistic_ == pytest.approx(FTest().fit(ranks[:, None], y).statistic_)


def test_numbers_with_an_order_of_their_own():
    X, y = np.array([[3.0], [1.0], [2.0], [np.nan]] * 5), np.arange(20) % 2
    test = FTest(schema={"ordinal": {0: [3, 1, 2]}}).fit(X, y)
    ranks = np.array([[0.0], [1.0], [2.0], [np.nan]] * 5)
    assert test.statistic_ == pytest.approx(FTest().fit(ranks, y).statistic_)
    with pytest.raises(SchemaError, match="'x0' holds 2, which is not among"):
        FTest(schema={"ordinal": {0: [3, 1]}}).fit(X, y)


def test_text_declared_continuous_is_read_as_numbers():
    frame = pl.DataFrame({"dose": ["1.5", "2", None, "1e3"] * 5})
    y = np.arange(20) % 2
    numbers = np.array([1.5, 2.0, np.nan, 1000.0] * 5)
    test = FTest(schema={"continuous": ["dose"]}).fit(frame, y)
    assert test.statistic_ == pytest.approx(FTest().fit(numbers[:, None], y).statistic_)


def test_numbers_declared_categorical_are_levels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 1] = np.where(y, rng.choice([1, 4], 60), rng.choice([2, 3], 60))  # useless as a number
    named = SVMRFE(schema={"categorical": [1]}).fit(X, y)
    as_text = pl.DataFrame(X).with_columns(pl.col("column_1").cast(pl.String))
    assert named.order_[0] == 1
    assert np.array_equal(named.order_, SVMRFE().fit(as_text, y).order_)
    assert named.kinds_[1] == "categorical"


def test_a_truth_value_is_a_number_among_numbers():
    categories = pd.DataFrame({"a": pd.Categorical([True, *range(2, 32)] * 2)})
    assert Schema().describe(categories).remarks == {}


@pytest.mark.parametrize(
    ("values", "remark"),
    [
        ([*map(str, range(20)), "unknown"], "numbers but for 'unknown', so read as labels"),
        ([*map(str, range(20)), "?"], "the level '?' looks like a missing value"),
        (["2024-01-05", "2023-12-31", "2024-01-05"], "dates; turn them into a number"),
        (["5.1.2024", "31.12.2023", "5.1.2024"], "dates; turn them into a number"),
        (["1", "2", "unknown"], None),  # labels that happen to be numbers
        (["v1", "v2", "v1"], None),
    ],
)
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_remarks_on_text(values, remark, dtype):
    remarks = Schema().describe(pl.DataFrame({"a": pl.Series(values, dtype=dtype)})).remarks
    assert remark is None or remark in remarks["a"]
    assert (remark is None) == (not remarks)


def test_equal_remarks_are_printed_together():
    few = {f"c{k}": [float(j % (3 + k)) for j in range(60)] for k in range(5)}
    text = str(Schema().describe(pl.DataFrame(few)))
    assert "5 columns (c0, c1, c2, ...): few whole numbers, read as continuous" in text


def test_the_text_of_a_schema_has_what_is_stated():
    schema = Schema(keep=np.array([0, 1]), costs={0: 2.0}, trade_off=0.5, target_kind="numbers")
    assert repr(schema) == (
        "Schema(keep=array([0, 1]), costs={0: 2.0}, target_kind='numbers', trade_off=0.5)"
    )
    assert repr(Schema(keep=np.array([], int))) == "Schema()"
    with pytest.raises(SchemaError, match="target_kind='number': give 'classes', 'numbers'"):
        Schema(target_kind="number")
