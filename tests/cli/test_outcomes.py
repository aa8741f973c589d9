"""Results that the commands compute, print and save."""

import json

import numpy as np
import polars as pl
import pytest

from featly import SVMRFE, FTest, Schema
from featly.basics.json_text import as_json
from featly.registry import METHODS
from tests.cli.reading import cells


def test_rank_prints_what_python_computes(featly, csv, frame):
    code, out, err = featly("rank", csv, "--target", "ill", "--method", "svm-rfe")
    assert code == 0
    head, *rows = cells(out)
    table = SVMRFE().fit(frame.drop("ill"), frame["ill"]).table()
    assert head == ["rank", "feature", "kind", "score", "evidence", "round", "criterion"]
    assert [row[1] for row in rows] == table["feature"].to_list()
    assert [float(row[3]) for row in rows] == table["score"].to_list()
    assert "60 rows, 5 columns; commas between the columns" in err


def test_filler_is_spoken_of_once(featly, tmp_path):
    rng = np.random.default_rng(0)
    data = pl.DataFrame({f"g{j}": rng.normal(size=40) for j in range(8)})
    real = data.with_columns(ill=np.arange(40) % 2, g0=np.arange(40) % 2 + 0.1 * data["g0"])
    made, ranking = tmp_path / "made.csv", tmp_path / "ranking.csv"
    real.write_csv(made)
    rest = "no evidence for 7 of the 8 columns: their ranks say nothing"
    for command, expected in (
        (("rank", "-m", "mrmr"), [rest]),
        (("select", "-m", "mrmr", "-k", "1"), []),
        (("select", "-m", "mrmr", "-k", "1", "--ranking", ranking), [rest]),
        (("select", "-m", "mrmr", "-k", "3"), ["2 of the 3 selected columns are filler: MRMR has"]),
        (("select", "-m", "cfs", "--ranking", ranking), []),
    ):
        code, _, err = featly(*command, made, "-t", "ill")
        notes = [line.removeprefix("note: ") for line in err.splitlines() if "note: " in line]
        assert code == 0
        assert len(notes) == len(expected), notes
        assert all(note.startswith(text) for note, text in zip(notes, expected, strict=True))


def test_rank_takes_a_schema_from_options(featly, csv, frame):
    arguments = ("--categorical", "age", "--ordinal", "stage=I,II,III", "--keep", "noise,sex")
    code, out, _ = featly("rank", csv, "-t", "ill", "-m", "SVMRFE", *arguments, "--json")
    assert code == 0
    schema = Schema(
        categorical=["age"], ordinal={"stage": ["I", "II", "III"]}, keep=["noise", "sex"]
    )
    table = SVMRFE(schema=schema).fit(frame.drop("ill"), frame["ill"]).table()
    ranking = pl.DataFrame(json.loads(out)["ranking"])
    for column in ("feature", "kind", "rank", "score", "criterion"):
        assert ranking[column].to_list() == table[column].to_list()


def test_rank_takes_a_schema_from_a_file(featly, csv, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        'target = "ill"\ndrop = ["sex"]\nkeep = ["noise"]\n[ordinal]\nstage = ["I", "II", "III"]\n'
    )
    code, out, _ = featly("rank", csv, "--schema", path, "--method", "f-test", "--drop", "age")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]] == ["noise", "marker", "stage"]


def test_rank_passes_parameters_on(featly, csv, frame):
    code, out, _ = featly("rank", csv, "-t", "ill", "-m", "svm-rfe", "--set", "C=0.01", "--set",
                          "step=1", "--set", "class_weight=balanced", "--json")  # fmt: skip
    assert code == 0
    document = json.loads(out)
    assert document["parameters"]["C"] == 0.01
    rfe = SVMRFE(C=0.01, step=1, class_weight="balanced").fit(frame.drop("ill"), frame["ill"])
    assert [row["feature"] for row in document["ranking"]] == rfe.table()["feature"].to_list()


def test_priors_and_costs_reach_the_schema(featly, numbers, tmp_path):
    prior, costs = tmp_path / "prior.csv", tmp_path / "costs.tsv"
    prior.write_text("column,prior\nmarker,10\n")
    costs.write_text("age\t2.5\n")
    code, _, err = featly("rank", numbers, "-t", "ill", "--prior", prior, "--costs", costs)
    assert code == 0
    assert "note: SVMRFE does not use costs of the schema" in err
    assert "'marker' 1 (without it" in err


def test_top_limits_what_is_printed_not_what_is_saved(featly, numbers, tmp_path):
    path = tmp_path / "ranking.csv"
    code, out, err = featly("rank", numbers, "-t", "ill", "--top", 1, "-o", path)
    assert code == 0
    assert len(cells(out)) == 2
    assert pl.read_csv(path).height == 3
    assert str(path) in err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "csv.gz"])
def test_the_ranking_is_saved_in_every_format(featly, numbers, tmp_path, ending, frame):
    path = tmp_path / f"ranking.{ending}"
    assert featly("rank", numbers, "-t", "ill", "--output", path, "-q")[0] == 0
    if ending == "json":
        document = json.loads(path.read_text())
        assert document["classes"] == {"no": 30, "yes": 30}
        saved = pl.DataFrame(document["ranking"])
    elif ending == "parquet":
        saved = pl.read_parquet(path)
    else:
        saved = pl.read_csv(path, separator="\t" if ending == "tsv" else ",")
    table = FTest().fit(frame.select("age", "marker", "noise"), frame["ill"]).table()
    assert saved["feature"].to_list() == table["feature"].to_list()
    assert saved["q_value"].to_list() == pytest.approx(table["q_value"].to_list(), abs=0)


def test_json_is_valid_where_numbers_are_not(featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,1,0\n2,1,1\n3,1,0\n4,1,1\n")
    code, out, _ = featly("rank", path, "-t", "y", "--json")
    assert code == 0

    def refuse(constant):
        raise AssertionError(constant)

    assert len(json.loads(out, parse_constant=refuse)["ranking"]) == 2


def test_standard_input_is_a_file_like_any(featly, csv):
    from_file = featly("rank", csv, "-t", "ill", "-m", "svm-rfe")[1]
    from_pipe = featly("rank", "-", "-t", "ill", "-m", "svm-rfe", stdin=csv.read_bytes())[1]
    assert from_file == from_pipe


def test_a_method_is_chosen_and_named(featly, csv, numbers):
    assert "method: f-test" in featly("rank", numbers, "-t", "ill")[2]
    assert "method: svm-rfe" in featly("rank", csv, "-t", "ill")[2]
    assert featly("rank", csv, "-t", "ill", "-q")[2] == ""


def test_mixed_columns_with_missing_values_are_ranked_as_they_are(featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sex,bmi,y\nf,20,0\nm,?,1\nf,31,0\nm,22,1\n")
    code, out, err = featly("rank", path, "-t", "y")
    assert code == 0
    assert "method: mkl-rfe" in err
    assert [row[1] for row in cells(out)[1:]] == ["sex", "bmi"]
    three = tmp_path / "b.csv"
    three.write_text("sex,bmi,y\nf,20,0\nm,?,1\nf,31,2\nm,22,1\n")
    assert "method: univariate-test" in featly("rank", three, "-t", "y")[2]
    clinical = featly("rank", path, "-t", "y", "-m", "svm-rfe", "--set", "kernel=clinical")
    assert clinical[0] == 0
    code, out, err = featly("rank", path, "-t", "y", "--fill")
    assert code == 0
    assert len(cells(out)) == 3
    assert "missing values filled in 1 column ('bmi')" in err


def test_rows_without_a_target_are_left_out_with_a_note(featly, tmp_path, frame):
    path = tmp_path / "a.csv"
    gappy = frame.drop("sex", "stage").with_columns(
        pl.when(pl.int_range(60) > 2).then("ill").alias("ill")
    )
    gappy.write_csv(path)
    code, out, err = featly("rank", path, "-t", "ill", "--json")
    assert code == 0
    assert "3 rows have no 'ill' and stay out" in err
    assert json.loads(out)["rows"] == 57
    expected = FTest().fit(frame[3:].select("age", "marker", "noise"), frame["ill"][3:])
    assert json.loads(out)["ranking"][0]["score"] == expected.table()["score"][0]


def test_positions_and_files_without_a_header(featly, tmp_path, frame):
    path = tmp_path / "a.data"
    frame.drop("sex", "stage").write_csv(path, include_header=False)
    code, out, err = featly("rank", path, "-t", "-1", "--drop", "0")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]] == ["x1", "x2"]
    assert "no header line, columns are called x0 to x3" in err


def test_sparse_files_keep_their_names(featly, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "words.arff"
    lines = ["@relation w", "@attribute 'the word' numeric", "@attribute b numeric",
             "@attribute c numeric", "@attribute class {no,yes}", "@data"]  # fmt: skip
    for k in range(40):
        yes = k % 2
        lines.append(
            f"{{0 {rng.normal() + 3 * yes:.3f}, 2 {rng.normal():.3f}, 3 {'yes' if yes else 'no'}}}"
        )
    path.write_text("\n".join(lines))
    code, out, _ = featly("rank", path, "--method", "svm-rfe", "--keep", "c")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]][:2] == ["c", "the word"]
    path.write_text(path.read_text().replace("{0 ", "{0 ?, 1 ", 1))
    code, _, err = featly("rank", path, "--method", "svm-rfe", "-q")
    assert code == 2
    assert "column 'the word' has a missing value" in err


def test_select_writes_the_cells_as_they_stand(featly, tmp_path):
    path, small = tmp_path / "a.csv", tmp_path / "small.csv"
    rows = [f'{k},"a, ""b""",{k % 2}.50,{k % 3},{"yes" if k % 2 else "no"}' for k in range(20)]
    path.write_text("id,text,good,poor,ill\n" + "\n".join(rows) + "\n")
    code, out, err = featly(
        "select", path, "-t", "ill", "-k", 1, "--drop", "id,text", "--output", small
    )
    assert (code, out) == (0, "")
    assert "1 column and 'ill' are in" in err
    expected = ["good,ill", *(f"{k % 2}.50,{'yes' if k % 2 else 'no'}" for k in range(20))]
    assert small.read_text().splitlines() == expected


def test_select_in_a_pipe_writes_the_table(featly, numbers):
    code, out, _ = featly("select", "-", "-t", "ill", "-k", "0.5", stdin=numbers.read_bytes())
    assert code == 0
    assert out.splitlines()[0] == "marker,noise,ill"
    assert len(out.splitlines()) == 61
    assert out.splitlines()[1].removesuffix(",no") in numbers.read_text()


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz"])
def test_select_to_every_format(featly, csv, frame, tmp_path, ending):
    small, ranking = tmp_path / f"small.{ending}", tmp_path / "ranking.json"
    code, _, _ = featly("select", csv, "-t", "ill", "-m", "svm-rfe", "-k", 2, "-o", small,
                        "--ranking", ranking)  # fmt: skip
    assert code == 0
    read = pl.read_parquet(small) if ending == "parquet" else pl.read_csv(
        small, separator="\t" if ending == "tsv" else ","
    )  # fmt: skip
    chosen = json.loads(ranking.read_text())["selected"]
    assert len(chosen) == 2
    assert set(read.columns) == {*chosen, "ill"}
    for name in read.columns:
        assert read[name].cast(pl.String).cast(frame[name].dtype).to_list() == frame[name].to_list()


def test_parquet_keeps_its_types(featly, frame, tmp_path):
    path, small = tmp_path / "a.parquet", tmp_path / "small.parquet"
    typed = frame.with_columns(pl.col("age").cast(pl.Int16), pl.col("marker").cast(pl.Float32))
    typed.write_parquet(path)
    code, _, _ = featly(
        "select", path, "-t", "ill", "--drop", "sex,stage,noise", "-k", 2, "-o", small
    )
    assert code == 0
    assert pl.read_parquet(small).equals(typed.select("age", "marker", "ill"))


def test_describe_says_what_looks_wrong(featly, tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"P{k},{k % 3},constant,{k * 1.5},{'ill' if k % 2 else 'well'}" for k in range(30)]
    path.write_text("patient,ward,site,dose,y\n" + "\n".join(rows) + "\n")
    code, out, err = featly("describe", path, "--target", "y")
    assert code == 0
    assert "patient: different in every row, like an identifier; leave it out" in err
    assert "ward: 3 whole numbers, read as continuous; are they labels?" in err
    assert "target 'y': 2 classes (ill 15, well 15)" in err
    assert [row[0] for row in cells(out)] == ["column", "patient", "ward", "site", "dose"]
    document = json.loads(featly("describe", path, "--target", "y", "--json")[1])
    assert document["columns"][2]["remark"] == "constant ('constant'); it cannot tell rows apart"
    assert document["format"] == "csv"


def test_describe_warns_about_the_target(featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y,z\n" + "\n".join(f"{k},case {k},same" for k in range(40)) + "\n")
    assert "is it a measurement, or an identifier?" in featly("describe", path, "-t", "y")[2]
    assert "has one class only" in featly("describe", path, "-t", "z")[2]


def test_methods_are_those_of_the_registry(featly):
    code, out, _ = featly("methods")
    assert code == 0
    assert [row[0] for row in cells(out)[1:]] == list(METHODS)
    assert [entry["name"] for entry in json.loads(featly("methods", "--json")[1])] == list(METHODS)
    for name, method in METHODS.items():
        document = json.loads(featly("methods", name, "--json")[1])
        assert document["tier"] == method.tier
        assert all(parameter["meaning"] for parameter in document["parameters"]), name
        assert all(parameter["values"] for parameter in document["parameters"]), name
    line = ["C", "None", "a finite number above 0, or None", "Price of a margin violation."]
    assert line in cells(featly("methods", "SVMRFE")[1].split("\n\n")[-1])


def test_version_and_help(featly):
    import featly as package

    assert featly("--version")[1] == f"featly {package.__version__}\n"
    for command in ("rank", "select", "describe", "methods"):
        assert featly(command, "--help")[0] == 0


def test_what_is_not_finite_is_null_in_json():
    text = as_json(
        {"a": [1.0, float("nan")], "b": np.array([np.inf, -np.inf, 2.5]), "c": (np.int64(3),)}
    )
    assert json.loads(text) == {"a": [1.0, None], "b": [None, None, 2.5], "c": [3]}


def test_methods_name_the_parts_of_a_schema_that_they_use(featly):
    assert "uses    keep, prior\n" in featly("methods", "arom")[1]
    assert "uses    keep, costs\n" in featly("methods", "f-test")[1]
