"""Comments above a table, options that do not apply, and files that are no tables."""

import gzip

import polars as pl
import pytest

from featly import DataError, read_table

BODY = "age,dose,ill\n61,1.5,yes\n47,2,no\n52,?,no\n"


def read(tmp_path, text, name="a.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_table(path, **options)


@pytest.mark.parametrize(
    "above", ["# made by a program\n", "# one\n\n# two, with a comma\n", "#\n"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_comments_above_the_table_are_skipped_and_noted(tmp_path, above, end):
    table = read(tmp_path, (above + BODY).replace("\n", end), target="ill")
    plain = read(tmp_path, BODY, name="b.csv", target="ill")
    assert table.X.equals(plain.X)
    assert table.y.tolist() == plain.y.tolist()
    assert "above the table" in table.notes[-1]


def test_comments_above_a_table_without_a_header(tmp_path):
    table = read(tmp_path, "# three columns\n1,2.5,a\n3,4.5,b\n5,1.5,a\n")
    assert table.shape == (3, 3)
    assert table.X.columns == ["x0", "x1", "x2"]


def test_a_header_may_begin_with_a_hash(tmp_path):
    table = read(tmp_path, "##fileformat\n#CHROM\tPOS\tREF\n1\t10\tA\n2\t20\tC\n")
    assert table.X.columns == ["#CHROM", "POS", "REF"]
    assert table.shape == (2, 3)


def test_errors_below_comments_name_the_right_line(tmp_path):
    with pytest.raises(DataError, match="line 6 of"):
        read(tmp_path, "# one\n# two\n" + BODY.replace("52,?,no", "52,?") + "1,2,no\n")


def test_excel_may_name_its_separator(tmp_path):
    table = read(tmp_path, "sep=;\n" + BODY.replace(",", ";").replace(".", ","), target="ill")
    assert table.X["dose"].to_list()[:2] == [1.5, 2.0]
    assert table.X.columns == ["age", "dose"]


def test_columns_below_comments_are_copied(tmp_path):
    table = read(tmp_path, "# one\n" + BODY, target="ill")
    table.save_columns(["dose"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "dose,ill\n1.5,yes\n2,no\n?,no\n"


@pytest.mark.parametrize(
    ("name", "text", "option"),
    [
        ("a.arff", "@relation r\n@attribute a numeric\n@data\n1\n", {"separator": ";"}),
        ("a.arff", "@relation r\n@attribute a numeric\n@data\n1\n", {"header": True}),
        ("a.svmlight", "1 1:2\n0 1:3\n", {"missing": ["-9"]}),
        ("a.csv", BODY, {"n_features": 7}),
        ("a.parquet", None, {"encoding": "utf-8"}),
        ("a.parquet", None, {"missing": ["-9"]}),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(tmp_path, name, text, option):
    path = tmp_path / name
    if text is None:
        pl.DataFrame({"a": [1]}).write_parquet(path)
    else:
        path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_table(path, **option)
    assert str(caught.value).startswith(next(iter(option)))
    assert name in str(caught.value)


@pytest.mark.parametrize("row", ["-9,-9,b", "{0 -9, 1 -9, 2 b}"])
def test_missing_markers_work_in_arff(tmp_path, row):
    first = row.replace("-9,-9", "3,x") if "{" not in row else "{0 3, 1 x, 2 b}"
    head = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@attribute class {a,b}\n@data\n"
    table = read(tmp_path, f"{head}{first}\n{row}\n", name="a.arff", missing=["-9"])
    assert table.X.fill_nan(None).rows() == [(3.0, "x"), (None, None)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<!DOCTYPE html>\n<html><body>403</body></html>\n", "a web page or XML"),
        ("<?xml version='1.0'?>\n<table/>\n", "a web page or XML"),
        ('{"a": [1, 2]}\n', "JSON"),
        ('[{"a": 1}]', "JSON"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pages_and_json_are_named(tmp_path, text, reason, pack):
    with pytest.raises(DataError, match=reason):
        read(tmp_path, pack(text.encode()))


def test_columns_saved_from_arff(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c {x,y}\n@data\n"
    table = read(tmp_path, text + "1,0.5,x\n?,?,y\n3,2,x\n", name="a.arff")
    table.save_columns(["a", "b"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "a,b,c\n1,0.5,x\n,,y\n3,2.0,x\n"
    with pytest.raises(DataError, match=r"give it one of \.csv, \.tsv, \.parquet, \.arrow$"):
        table.save_columns(["a"], tmp_path / "b.json")


def test_repr(tmp_path):
    assert repr(read(tmp_path, BODY, target="ill")).endswith("3 rows, 2 columns, target 'ill')")
