"""``featly redundancy``: a table in, pairs and groups of columns out."""

import json

import numpy as np
import polars as pl
import pytest

from featly import redundancy
from featly.cli import printing
from featly.cli import redundancy as pairing
from tests.cli.reading import cells


@pytest.fixture(scope="module")
def genes():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"gene{k}": rng.normal(size=50).round(4) for k in range(12)})
    return frame.with_columns(
        (2.54 * frame["gene3"] + 1).alias("inches"),
        (frame["gene3"] + 0.02 * frame["gene4"]).alias("near"),
        (-frame["gene7"]).alias("minus"),
    )


@pytest.fixture
def csv_of_genes(genes, tmp_path):
    path = tmp_path / "genes.csv"
    genes.write_csv(path)
    return path


def test_pairs_are_those_of_python(featly, genes, csv_of_genes):
    code, out, err = featly("redundancy", csv_of_genes)
    assert code == 0
    head, *rows = cells(out)
    assert head == ["first", "second", "value"]
    expected = redundancy(genes, threshold=0.95)
    assert [(a, b, float(v)) for a, b, v in rows] == expected.table().rows()
    assert [row[:2] for row in rows[:2]] == [["gene3", "inches"], ["gene7", "minus"]]
    assert "4 pairs of 15 columns reach 0.95, by pearson\n" in err
    assert "5 columns in 2 groups: 3 could be left out, one of each group kept\n" in err
    for measure in ("spearman", "information"):
        code, out, _ = featly("redundancy", csv_of_genes, "--measure", measure, "--threshold", 0.4)
        assert code == 0
        expected = redundancy(genes, threshold=0.4, measure=measure)
        assert [(a, b, float(v)) for a, b, v in cells(out)[1:]] == expected.table().rows()


def test_neighbours(featly, genes, csv_of_genes):
    code, out, err = featly("redundancy", csv_of_genes, "-k", 2, "--top", 5)
    assert code == 0
    assert "the 2 nearest of each of 15 columns, by pearson" in err
    head, *rows = cells(out)
    assert head == ["feature", "neighbour", "rank", "value"]
    expected = redundancy(genes, neighbours=2).table().head(5).rows()
    assert [(a, b, int(k), float(v)) for a, b, k, v in rows] == expected


def test_groups(featly, csv_of_genes, tmp_path, monkeypatch):
    code, out, _ = featly("redundancy", csv_of_genes, "--groups")
    assert code == 0
    assert cells(out) == [
        ["group", "representative", "n_columns", "others"],
        ["1", "gene3", "3", "inches, near"],
        ["2", "gene7", "2", "minus"],
    ]
    path = tmp_path / "groups.csv"
    code, _, err = featly("redundancy", csv_of_genes, "--groups", "-o", path)
    assert code == 0
    assert f"the groups are in {path}" in err
    assert pl.read_csv(path)["feature"].to_list() == ["gene3", "inches", "near", "gene7", "minus"]
    monkeypatch.setattr(pairing, "NAMED", 1)
    monkeypatch.setattr(printing, "is_output_terminal", lambda: True)
    code, out, _ = featly("redundancy", csv_of_genes, "--groups")
    assert "inches, and 1 more" in out


def test_files(featly, genes, csv_of_genes, tmp_path):
    expected = redundancy(genes, threshold=0.95).table()
    for ending in ("csv", "parquet"):
        path = tmp_path / f"pairs.{ending}"
        code, out, err = featly("redundancy", csv_of_genes, "--output", path, "--top", 1)
        assert code == 0
        assert len(cells(out)) == 2
        assert f"the pairs are in {path}" in err
        written = pl.read_csv(path) if ending == "csv" else pl.read_parquet(path)
        assert written.equals(expected)
    code, out, err = featly("redundancy", csv_of_genes, "-o", "-", "--quiet")
    assert (code, err) == (0, "")
    assert out == expected.write_csv()
    code, out, _ = featly("redundancy", csv_of_genes, "-o", tmp_path / "all.json", "--json")
    document = json.loads(out)
    assert document == json.loads((tmp_path / "all.json").read_text("utf8"))
    assert document["pairs"] == expected.to_dicts()
    assert document["groups"][1] == {"representative": "gene7", "columns": ["gene7", "minus"]}
    assert (document["threshold"], document["measure"]) == (0.95, "pearson")
    code, out, _ = featly("redundancy", csv_of_genes, "--json", "-k", 1)
    assert json.loads(out)["neighbours"][0]["feature"] == "gene0"


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "1MB")])
def test_tables_that_stay_on_disk(featly, genes, csv_of_genes, tmp_path, limit):
    np.save(tmp_path / "X.npy", genes.to_numpy())
    genes.write_parquet(tmp_path / "X.parquet")
    names = genes.columns
    for path in (csv_of_genes, tmp_path / "X.parquet", tmp_path / "X.npy"):
        code, out, _ = featly("redundancy", path, *limit)
        assert code == 0
        (first, second, value), *_ = cells(out)[1:]
        expected = ("x3", "x12") if path.suffix == ".npy" else ("gene3", "inches")
        assert (first, second, value) == (*expected, "1.0")
    assert names[3] == "gene3"
    assert names[12] == "inches"


def test_sparse_files_have_their_names(featly, tmp_path):
    path = tmp_path / "table.svm"
    path.write_text("1 1:1 2:2 3:1\n0 1:2 2:4\n1 1:3 2:6 3:5\n")
    code, out, _ = featly("redundancy", path)
    assert code == 0
    assert len(cells(out)) == 2


def test_columns_of_all_kinds(featly, csv, frame, mistake, tmp_path):
    code, out, err = featly("redundancy", csv, "--target", "ill", "--threshold", 0.001)
    assert code == 0
    message = "without 2 columns such as 'sex', which are categorical: --measure information takes"
    assert message in err
    assert "of 3 columns" in err
    names = {cell for row in cells(out)[1:] for cell in row[:2]}
    assert names == {"age", "marker", "noise"}
    code, _, err = featly("redundancy", csv, "--drop", "sex,stage,ill")
    assert code == 0
    assert "without" not in err
    assert "no pair of 3 columns reaches 0.95, by pearson" in err
    code, _, err = featly("redundancy", csv, "--drop", "sex,ill")
    assert "without 'stage', which is categorical" in err
    levels = ("--ordinal", "stage=I,II,III", "--measure", "spearman", "--threshold", 0.001)
    code, out, err = featly("redundancy", csv, "--drop", "ill", *levels)
    assert "without 'sex', which is categorical" in err
    assert "stage" in {cell for row in cells(out) for cell in row}
    code, out, err = featly("redundancy", csv, "-t", "ill", "--measure", "information")
    assert "of 5 columns" in err
    path = tmp_path / "text.csv"
    frame.select("sex", "stage").write_csv(path)
    assert "has no columns of numbers: --measure information" in mistake("redundancy", path)
    frame.write_parquet(tmp_path / "mixed.parquet")
    message = mistake("redundancy", tmp_path / "mixed.parquet", "--memory-limit", "1MB")
    assert "column 'sex' is categorical, and --measure pearson takes numbers" in message
    assert message.endswith("or give --measure information")


def test_a_terminal_shows_the_first(featly, tmp_path, monkeypatch):
    x = np.random.default_rng(0).normal(size=(20, 1))
    np.save(tmp_path / "X.npy", np.repeat(x, 9, axis=1))
    monkeypatch.setattr(printing, "is_output_terminal", lambda: True)
    code, out, _ = featly("redundancy", tmp_path / "X.npy")
    assert code == 0
    assert "16 more; --top 0 shows all" in out
    code, out, _ = featly("redundancy", tmp_path / "X.npy", "--top", 0)
    assert "more" not in out
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(20, 3)))
    code, out, err = featly("redundancy", tmp_path / "X.npy")
    assert (code, out) == (0, "")
    assert "no pair of 3 columns" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--threshold", "1.5"], "--threshold 1.5: give a number above 0, and at most 1"),
        (["--threshold", "0"], "--threshold 0: give a number above 0"),
        (["--threshold", "nan"], "--threshold nan: give a number above 0"),
        (["--threshold", "0.5", "-k", "2"], "--threshold and --neighbours: give one of the two"),
        (["--groups", "-k", "2"], "--groups and --neighbours: give one of the two"),
        (["--measure", "cosine"], "--measure 'cosine': give pearson, spearman, information"),
        (["--device", "gpu"], "--device 'gpu': give auto, cpu or cuda"),
        (["--memory-limit", "much"], "--memory-limit 'much': give 1 MB or more"),
        (["--output", "pairs.doc"], "pairs.doc"),
        (["--output", "nowhere/pairs.csv"], "nowhere"),
        (
            ["--threshold", "0.01", "--max-pairs", "3"],
            "more than --max-pairs 3 pairs reach --threshold 0.01: give a higher threshold, "
            "--neighbours for the nearest alone, or a larger --max-pairs",
        ),
        (["--jobs", "0"], "--jobs 0: give a whole number other than 0"),
        (["--drop", "nobody"], "nobody"),
    ],
)
def test_mistakes(mistake, csv_of_genes, arguments, expected):
    assert expected in mistake("redundancy", csv_of_genes, *arguments)


def test_infinite_values_are_named(mistake, tmp_path):
    X = np.ones((5, 3))
    X[1, 2] = np.inf
    np.save(tmp_path / "X.npy", X)
    message = mistake("redundancy", tmp_path / "X.npy")
    assert "column 'x2' has an infinite value (inf) in row 2 of the data" in message


def test_measures_complete():
    assert pairing.complete_measure("s") == ["spearman"]
    assert pairing.complete_measure("") == list(pairing.MEASURES)
