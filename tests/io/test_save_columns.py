import datetime
import gzip
import io
import types

import numpy as np
import polars as pl
import pytest
import scipy.io

from featly import DataError, read_table
from featly.io import byte_source


@pytest.fixture
def standard_input(monkeypatch):
    def feed(content):
        fake = types.SimpleNamespace(buffer=io.BytesIO(content), closed=False, isatty=lambda: False)
        monkeypatch.setattr("sys.stdin", fake)

    return feed


def write(tmp_path, content, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TEXT = (
    'id,"a, b",dose,ill\n 1,"x, ""y""",01.50,yes\n\n2,"p\n\nq",?,no\n+3.0e0,"",NA,yes\n4, z ,,no\n'
)


@pytest.mark.parametrize("size", [1, 10, 1 << 20])
@pytest.mark.parametrize("packed", [False, True])
def test_cells_are_copied_unchanged(tmp_path, monkeypatch, size, packed):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    content = gzip.compress(TEXT.encode()) if packed else TEXT
    with read_table(write(tmp_path, content), target="ill") as table:
        table.save_columns(["dose", "a, b", "id"], tmp_path / "b.csv")
        table.save_columns(["id"], tmp_path / "c.tsv")
        table.save_columns(["id"], tmp_path / "d.csv.gz")
    rows = 'dose,"a, b",id,ill\n01.50,"x, ""y""", 1,yes\n?,"p\n\nq",2,no\n'
    rows += 'NA,"",+3.0e0,yes\n, z ,4,no\n'
    assert (tmp_path / "b.csv").read_text() == rows
    assert (tmp_path / "c.tsv").read_text() == "id\till\n 1\tyes\n2\tno\n+3.0e0\tyes\n4\tno\n"
    assert (
        gzip.decompress((tmp_path / "d.csv.gz").read_bytes())
        == b"id,ill\n 1,yes\n2,no\n+3.0e0,yes\n4,no\n"
    )


def test_decimal_commas_keep_their_semicolons(tmp_path):
    path = write(tmp_path, "a;b;c\n1,5;x;2\n0,50;y, z;3\n")
    with read_table(path, target="c") as table:
        table.save_columns(["b", "a"], tmp_path / "b.csv")
        table.save_columns(["a"], tmp_path / "b.tsv")
        table.save_columns(["a"], tmp_path / "b.parquet")
    assert (tmp_path / "b.csv").read_text() == "b;a;c\nx;1,5;2\ny, z;0,50;3\n"
    assert (tmp_path / "b.tsv").read_text() == "a\tc\n1,5\t2\n0,50\t3\n"
    assert pl.read_parquet(tmp_path / "b.parquet").rows() == [(1.5, 2), (0.5, 3)]


def test_other_texts(tmp_path):
    with read_table(write(tmp_path, "größe b\n1 x\n2 y\n".encode("utf-16"))) as table:
        table.save_columns(["b", "größe"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text(encoding="utf-8") == "b,größe\nx,1\ny,2\n"
    with read_table(write(tmp_path, "1,x\n2,y\n2,x\n"), target=1) as table:
        table.save_columns(["x0"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "x0,x1\n1,x\n2,y\n2,x\n"
    with read_table(write(tmp_path, 'size,n\n5" pipe,1\n6 pipe,2\n')) as table:
        table.save_columns(["size"], tmp_path / "b.tsv")
    assert pl.read_csv(tmp_path / "b.tsv", separator="\t")["size"].to_list() == [
        '5" pipe',
        "6 pipe",
    ]
    with read_table(write(tmp_path, "*,^a$,a\n1,2,3\n4,5,6\n"), target="*") as table:
        table.save_columns(["^a$"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "^a$,*\n2,1\n5,4\n"


def test_saved_columns_can_be_read_again(tmp_path):
    with read_table(write(tmp_path, TEXT), target="ill") as table:
        table.save_columns(table.names, tmp_path / "b.csv")
        with read_table(tmp_path / "b.csv", target="ill") as again:
            assert again.X.equals(table.X)
            assert again.y.tolist() == table.y.tolist()


def test_parquet_keeps_its_types(tmp_path):
    frame = pl.DataFrame(
        {
            "int": [1, 2**60 + 1],
            "small": pl.Series([0.1, 0.2], dtype=pl.Float32),
            "day": [datetime.date(2020, 1, 1), None],
            "category": pl.Series(["x", None], dtype=pl.Categorical),
            "ill": [True, False],
        }
    )
    frame.write_parquet(tmp_path / "a.parquet")
    with read_table(tmp_path / "a.parquet", target="ill") as table:
        table.save_columns(["day", "int", "small"], tmp_path / "b.parquet")
        table.save_columns(["int", "category"], tmp_path / "b.csv")
    saved = pl.read_parquet(tmp_path / "b.parquet")
    assert saved.equals(frame.select("day", "int", "small", "ill"))
    assert saved.schema == frame.select("day", "int", "small", "ill").schema
    assert (tmp_path / "b.csv").read_text() == f"int,category,ill\n1,x,true\n{2**60 + 1},,false\n"


HEAD = "@relation r\n@attribute a real\n@attribute 'b c' {x,y}\n@attribute class {p,q}\n@data\n"
ARFF = HEAD + "1.50,x,p\n?,?,q\n"
SPARSE = HEAD.replace("'b c' {x,y}", "b real") + "{1 2}\n{0 1.5,2 q}\n"


def test_from_other_formats(tmp_path):
    with read_table(write(tmp_path, ARFF, "a.arff")) as table:
        table.save_columns(["b c", "a"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() in (
        "b c,a,class\nx,1.5,p\n,NaN,q\n", "b c,a,class\nx,1.5,p\n,,q\n",
    )  # fmt: skip
    with read_table(write(tmp_path, SPARSE, "a.arff")) as table:
        table.save_columns(["b"], tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text() == "b\tclass\n2\tp\n0\tq\n"
    with read_table(write(tmp_path, "1 2:0.5\n-1 1:3\n", "a.svm")) as table:
        table.save_columns(["x1"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "x1,label\n0.5,1\n0.0,-1\n"
    content = {"X": np.array([[1.0, 2], [3, 4]]), "Y": [[5], [6]]}
    scipy.io.savemat(tmp_path / "a.mat", content)
    with read_table(tmp_path / "a.mat") as table:
        table.save_columns(["x1", "x0"], tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").to_dict(as_series=False) == {
        "x1": [2, 4], "x0": [1, 3], "Y": [5, 6],
    }  # fmt: skip
    named = np.array(["age", "dose"], dtype=object)
    scipy.io.savemat(tmp_path / "a.mat", {**content, "names": named})
    with read_table(tmp_path / "a.mat") as table:
        table.save_columns(["dose"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "dose,Y\n2,5\n4,6\n"
    with read_table(write(tmp_path, "ok\n1 2\n\nbad\n3 4\n\n", "a.data")) as table:
        table.save_columns(["v2_t1"], tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_text() == "v2_t1,class\n2,ok\n4,bad\n"


def test_from_standard_input(tmp_path, standard_input):
    standard_input(TEXT.encode())
    with read_table("-", target="ill") as table:
        assert table.source == "standard input"
        table.save_columns(["dose"], tmp_path / "b.csv")
        table.save_columns(["dose"], tmp_path / "c.csv")
    assert (tmp_path / "b.csv").read_text() == "dose,ill\n01.50,yes\n?,no\nNA,yes\n,no\n"
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "c.csv").read_bytes()
    with pytest.raises(DataError, match=r"^standard input is closed: read it again$"):
        table.save_columns(["dose"], tmp_path / "d.csv")
    assert not (tmp_path / "d.csv").exists()
    out = io.BytesIO()
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet(out)
    standard_input(gzip.compress(b"a,b\n1,x\n"))
    with read_table("-") as table:
        assert table.X.rows() == [(1.0, "x")]
    standard_input(out.getvalue())
    with read_table("-", target="b") as table:
        table.save_columns(["a"], tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").rows() == [(1, "x"), (2, "y")]
    standard_input(b"")
    with pytest.raises(DataError, match=r"^standard input is empty: no table is in it$"):
        read_table("-")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_changed_file_is_refused(tmp_path, name):
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    path = tmp_path / name
    frame.write_csv(path) if name == "a.csv" else frame.write_parquet(path)
    with read_table(path) as table:
        changed = frame.with_columns(a=pl.col("a") + 100, c=1)
        changed.write_csv(path) if name == "a.csv" else changed.write_parquet(path)
        with pytest.raises(DataError, match=r"^'.*' changed while it was in use: start again$"):
            table.save_columns(["a"], tmp_path / "b.csv")
        assert not (tmp_path / "b.csv").exists()
        path.unlink()
        with pytest.raises(FileNotFoundError, match=r"^there is no file '.*'"):
            table.save_columns(["a"], tmp_path / "b.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.arff", "a.svm"])
def test_unknown_columns(tmp_path, name):
    frame = pl.DataFrame({"alpha": [1, 2], "x0": [3, 4], "class": ["p", "q"]})
    path = tmp_path / name
    content = {
        "a.csv": frame.write_csv(),
        "a.arff": HEAD.replace("'b c' {x,y}", "x0 real") + "1,2,p\n",
        "a.svm": "1 1:2 2:3\n",
    }
    if name == "a.parquet":
        frame.write_parquet(path)
    else:
        path.write_text(content[name])
    target = "class" if name in ("a.csv", "a.parquet") else None
    with read_table(path, target=target) as table:
        with pytest.raises(DataError, match=r"^column 'alphq' is no column of '.*'"):
            table.save_columns(["x0", "alphq"], tmp_path / "b.csv")
        with pytest.raises(DataError, match=r"there is nothing to save$"):
            table.save_columns([], tmp_path / "b.csv")
        with pytest.raises(DataError, match=r"the ending says how to write the file"):
            table.save_columns(["x0"], tmp_path / "b.xlsx")
        assert not list(tmp_path.glob("b.*"))
        table.save_columns(["x0", "x0"], tmp_path / "b.csv")
        assert (tmp_path / "b.csv").read_text().startswith(f"x0,{table.target}\n")


def test_saving_over_the_file_itself(tmp_path):
    path = write(tmp_path, TEXT)
    with read_table(path, target="ill") as table:
        table.save_columns(["dose"], path)
    assert path.read_text() == "dose,ill\n01.50,yes\n?,no\nNA,yes\n,no\n"
