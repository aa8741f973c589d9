"""A ranking on one table becomes a prior for another."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import featly.table.schema
import featly.table.schema_report
from featly import CFS, FTest, Schema
from featly.basics.errors import ParameterError, SchemaError, SchemaWarning
from featly.io.schema_files import read_ranking
from featly.io.write import write_frame


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    noise = rng.normal(size=(40, 6))
    noise[:, 4] += 3 * y
    noise[:, 1] += 1.5 * y
    return pl.DataFrame({f"g{j}": noise[:, j] for j in range(6)}), y


@pytest.fixture(scope="module")
def ranker(table):
    return FTest().fit(*table)


# ---- what a ranking may be -----------------------------------------------------------------------
def test_a_fitted_ranker(ranker, table):
    names = [table[0].columns[j] for j in ranker.order_]
    schema = Schema.prior_from(ranker, top=3)
    assert schema == Schema(prior=dict.fromkeys(names[:3], 10.0))
    assert list(schema.prior) == names[:3]
    assert names[:2] == ["g4", "g1"]


def test_defaults_are_those_of_the_paper():
    names = [f"g{j}" for j in range(60)]
    assert dict(Schema.prior_from(names).prior) == dict.fromkeys(names[:50], 10.0)


def test_a_subset_selector_gives_what_it_selected(table):
    selector = CFS().fit(*table)
    chosen = [table[0].columns[j] for j in selector.order_]
    assert len(chosen) < 6
    assert list(Schema.prior_from(selector).prior) == chosen


def test_an_array_has_names_of_its_own(table):
    ranker = FTest().fit(table[0].to_numpy(), table[1])
    assert list(Schema.prior_from(ranker, top=1).prior) == ["x4"]
    assert next(iter(Schema.prior_from(ranker, top=9, columns=np.zeros((2, 4))).prior)) == "x1"
    sparse = scipy.sparse.csr_array(np.eye(3))
    assert set(Schema.prior_from(ranker, columns=sparse).prior) == {"x0", "x1", "x2"}


def test_an_unfitted_ranker_is_refused():
    with pytest.raises(NotFittedError):
        Schema.prior_from(FTest())


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_a_frame_of_any_library_sorted_by_rank_or_not(ranker, library):
    columns = ranker.table().sample(fraction=1.0, shuffle=True, seed=1).to_dict(as_series=False)
    make = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "pyarrow": pa.table}[library]
    schema = Schema.prior_from(make(columns), top=4, weight=3)
    assert schema == Schema.prior_from(ranker, top=4, weight=3)
    assert list(schema.prior.values()) == [3.0] * 4


@pytest.mark.parametrize("selected", [[True, False, True], ["True", "False", "true"], [1, 0, 1]])
def test_a_frame_of_a_subset(selected):
    frame = pl.DataFrame({"feature": ["b", "a", "c"], "selected": selected})
    assert list(Schema.prior_from(frame).prior) == ["b", "c"]


def test_the_rank_goes_before_what_is_selected():
    frame = pl.DataFrame({"feature": ["b", "a"], "selected": [True, False], "rank": [2, 1]})
    assert list(Schema.prior_from(frame).prior) == ["a", "b"]


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64])
def test_names_that_are_numbers_survive_a_reader_that_takes_them_for_such(dtype):
    frame = pl.DataFrame({"feature": pl.Series([1007, 12], dtype=dtype), "rank": [2, 1]})
    assert list(Schema.prior_from(frame).prior) == ["12", "1007"]
    pandas = pd.DataFrame({"feature": [1007.0, 12.0], "rank": [2, 1]})
    assert list(Schema.prior_from(pandas, columns=["1007"]).prior) == ["1007"]


@pytest.mark.parametrize("make", [list, np.array, pd.Index, pd.Series, pl.Series, tuple])
def test_names_best_first(make):
    assert list(Schema.prior_from(make(["b", "a", "c"]), top=2).prior) == ["b", "a"]


# ---- the other table -----------------------------------------------------------------------------
@pytest.mark.parametrize("library", ["list", "polars", "pandas", "index", "file"])
def test_the_best_of_those_that_the_other_table_has(library, tmp_path):
    import featly

    other = ["z", "c", "a", "d"]
    cells = {name: [1.0, 2.0] for name in other}
    path = tmp_path / "other.csv"
    pl.DataFrame(cells).write_csv(path)
    columns = {
        "list": other,
        "polars": pl.DataFrame(cells),
        "pandas": pd.DataFrame(cells),
        "index": pd.DataFrame(cells).columns,
        "file": featly.read_table(path),
    }[library]
    schema = Schema.prior_from(["b", "a", "d", "c"], top=2, columns=columns)
    assert dict(schema.prior) == {"a": 10.0, "d": 10.0}


def test_the_prior_applies_to_the_other_table(ranker):
    other = pl.DataFrame({"g4": [0.0, 1.0, 0.1], "new": [1.0, 2.0, 3.0]})
    schema = replace(Schema.prior_from(ranker, columns=other), keep=["new"])
    columns = schema.resolve(other.columns, [0, 0])
    assert columns.prior.tolist() == [10.0, 1.0]
    assert columns.keep.tolist() == [1]
    with pytest.raises(SchemaError, match=r"prior names 'g\d', which is no column of"):
        Schema.prior_from(ranker).resolve(other.columns, [0, 0])


def test_all_columns_favoured_alike_favour_none(table):
    from featly import SignalToNoise

    with pytest.warns(SchemaWarning, match="prior is 10 for every column, so it favours none"):
        SignalToNoise(schema=Schema.prior_from(table[0].columns)).fit(*table)


# ---- weights -------------------------------------------------------------------------------------
@given(
    count=st.integers(1, 12),
    top=st.integers(1, 15),
    weight=st.floats(1, 1e6),
    graded=st.booleans(),
)
def test_weights_are_those_of_the_formula(count, top, weight, graded):
    names = [f"g{j}" for j in range(count)]
    prior = Schema.prior_from(names, top, weight, graded=graded).prior
    assert list(prior) == names[: min(top, count)]
    for r, value in enumerate(prior.values(), 1):
        assert value == pytest.approx(weight ** (1 - (r - 1) / top) if graded else weight)
        assert value >= 1


def test_graded_weights_fall_from_the_weight_by_one_factor_towards_1():
    prior = Schema.prior_from(list("abcd"), 4, 16.0, graded=True).prior
    assert list(prior.values()) == pytest.approx([16, 8, 4, 2])  # and 1 for the next


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("top", [0, -3, 2.0, 2.5, "5", True, None])
def test_top_is_a_whole_number_from_1(top):
    with pytest.raises(ParameterError, match=r"top=.*: give a whole number from 1"):
        Schema.prior_from(["a"], top)


@pytest.mark.parametrize("weight", [0.99, 0, -1, float("nan"), float("inf"), "10", None, True])
def test_weight_is_a_finite_number_from_1(weight):
    with pytest.raises(ParameterError, match=r"weight=.*: give a finite number from 1"):
        Schema.prior_from(["a"], 1, weight)


@pytest.mark.parametrize(
    ("ranking", "message"),
    [
        ([3, 1, 2], "ranking has 3, which is no name: a position says nothing"),
        (np.array([3, 1]), "which is no name"),
        (["a", None], "ranking has None"),
        ("ranking.csv", r"ranking='ranking.csv' is one text: .* featly.read_table\(path\).X"),
        ({"a": 1}, "give a table, or a list of names, best first"),
        (7, "ranking=7: give a table"),
        (["a", "b", "a"], "the ranking names 'a' twice"),
        ([], "the ranking names no column"),
        (pl.DataFrame({"name": ["a"], "rank": [1]}), "this one has 'name', 'rank'"),
        (pl.DataFrame({"feature": ["a"], "score": [1]}), "columns 'feature' and 'rank', or"),
        (pl.DataFrame({"feature": ["a", None], "rank": [1, 2]}), "row 1 of the ranking has no"),
        (pl.DataFrame({"feature": ["a", "b"], "rank": [1, None]}), "must be a number in every row"),
        (pl.DataFrame({"feature": ["a"], "rank": ["best"]}), "must be a number in every row"),
        (pl.DataFrame({"feature": ["a", "a"], "rank": [1, 2]}), "names 'a' twice"),
        (pl.DataFrame({"feature": ["a"], "selected": [False]}), "names no column"),
    ],
)
def test_wrong_rankings(ranking, message):
    with pytest.raises(ValueError, match=message):
        Schema.prior_from(ranking)


def test_none_of_the_names_is_in_the_other_table():
    with pytest.raises(SchemaError, match=r"none of the 2 ranked columns \('a', 'b'\) is a column "
                       r"of the table \('A', 'B', 'C', \.\.\.\): are they called"):  # fmt: skip
        Schema.prior_from(["a", "b"], columns=["A", "B", "C", "D"])
    with pytest.raises(ParameterError, match="columns='a' is one text"):
        Schema.prior_from(["a"], columns="a")
    with pytest.raises(ParameterError, match="columns has 1, which is no name"):
        Schema.prior_from(["a"], columns=[1])


# ---- files ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "csv.gz"])
def test_a_file_of_a_ranking_is_read_back(ranker, tmp_path, ending):
    path = tmp_path / f"ranking.{ending}"
    frame = ranker.table()
    write_frame(frame.with_columns(pl.col("feature").str.slice(1)), path)  # names are numbers
    ranking = read_ranking(path)
    assert ranking["feature"].to_list() == frame["feature"].str.slice(1).to_list()
    assert ranking["rank"].to_list() == frame["rank"].to_list()
    assert ranking.columns == ["feature", "rank"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_a_file_of_a_subset_is_read_back(tmp_path, ending):
    path = tmp_path / f"ranking.{ending}"
    write_frame(pl.DataFrame({"feature": ["b", "a"], "selected": [True, False]}), path)
    assert read_ranking(path).rows() == [("b", True), ("a", False)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.csv", "gene,prior\nTP53,10\n", "is no ranking, .* it has 'gene', 'prior'"),
        ("r.csv", "feature,kind\nTP53,10\n", "'featly select --ranking' writes it"),
        ("r.csv", "", "is empty"),
        ("r.csv", "feature,rank\nTP53,best\n", "row 1 of .* has the rank 'best': give a number"),
        ("r.csv", "rank,feature\n1,a\n2\n", "row 2 of .* names no column"),
        ("r.csv", "feature,rank\na\n", "has the rank None"),
        ("r.json", "{", "is no JSON file"),
        ("r.json", '{"ranking": 3}', "holds no ranking: give a file that 'featly rank' wrote"),
        ("r.json", "[1, 2]", "holds no ranking"),
        ("r.json", '[{"a": 1}]', "it has 'a'"),
        ("r.json", "[]", "it has nothing"),
    ],
)
def test_files_that_are_no_rankings(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_ranking(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parquet_file_of_something_else(tmp_path):
    path = tmp_path / "r.parquet"
    pl.DataFrame({"age": [1]}).write_parquet(path)
    with pytest.raises(SchemaError, match="is no ranking"):
        read_ranking(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(OSError, match="there is no file"):
        read_ranking(tmp_path / "r.csv")


# ---- the report on a schema, in a file of its own ------------------------------------------------
def test_schema_report_is_exported_by_the_schema_module():
    assert featly.table.schema.SchemaReport is featly.table.schema_report.SchemaReport
    assert featly.SchemaReport is featly.table.schema_report.SchemaReport
    assert type(Schema().describe(np.eye(3))) is featly.table.schema.SchemaReport
