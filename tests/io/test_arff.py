import io
import math
from unittest import mock

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import arff

from featly import DataError, read_table
from featly.io import byte_source
from featly.io.read import column_names


def load(tmp_path, text, name="a.arff", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with read_table(path, **options) as table:
        return table


HEAD = """% a comment
@RELATION 'a test'

@Attribute age NUMERIC
@attribute 'body weight' real
@attribute "it\\"s" integer
@attribute sex {f, m}
@attribute	note	string
@attribute ill {yes,'not yet','it\\'s'}
@DATA
"""


@pytest.mark.parametrize("size", [3, 40, 1 << 20])
def test_names_types_quotes_and_comments(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    rows = """61, 70.5, 1, f, 'a, b', yes
% in between
47,?,2,?,"say \\"hi\\"",'not yet'

 52 ,1e2,-3,m,plain,'it\\'s' % behind a row
60,1,1,'m',?,?, {2.5}
"""
    table = load(tmp_path, HEAD + rows)
    assert table.names == ["age", "body weight", 'it"s', "sex", "note"]
    assert table.target == "ill"
    assert table.y.tolist() == ["yes", "not yet", "it's", None]
    assert table.X["age"].to_list() == [61.0, 47.0, 52.0, 60.0]
    assert np.array_equal(table.X["body weight"], [70.5, math.nan, 100.0, 1.0], equal_nan=True)
    assert table.X['it"s'].to_list() == [1.0, 2.0, -3.0, 1.0]
    assert table.X["sex"].to_list() == ["f", None, "m", "m"]
    assert table.X["sex"].dtype == pl.Enum(["f", "m"])
    assert table.X["note"].to_list() == ["a, b", 'say "hi"', "plain", None]
    assert "the target is 'ill'" in table.notes
    assert column_names(tmp_path / "a.arff") == [*table.names, "ill"]


WORDS = st.text("ab %,'\\\"{é", min_size=1, max_size=4).map(str.strip).filter(bool)
VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.none()


def quote_word(word):
    return "'" + word.replace("\\", "\\\\").replace("'", "\\'") + "'"


@given(
    st.lists(st.tuples(VALUES, st.none() | WORDS, st.booleans()), min_size=1, max_size=6),
    WORDS,
    st.integers(1, 50),
    st.sampled_from([",", ", ", " ", "\t"]),
)
@settings(max_examples=80)
def test_written_rows_are_read(tmp_path_factory, rows, name, size, between):
    levels = list(dict.fromkeys(word for _, word, _ in rows if word is not None)) or ["a"]
    lines = [f"@relation r\n@attribute {quote_word(name + '1')} numeric"]
    lines.append(
        "@attribute level {" + ", ".join(map(quote_word, levels)) + "}\n@attribute c {0,1}\n@data"
    )
    for value, word, label in rows:
        cells = ["?" if value is None else repr(value), "?" if word is None else quote_word(word)]
        lines.append(between.join([*cells, str(int(label))]))
    path = tmp_path_factory.getbasetemp() / "written.arff"
    path.write_text("\n".join(lines), encoding="utf-8")
    with mock.patch.object(byte_source, "CHUNK_BYTES", size), read_table(path) as table:
        assert table.names == [name + "1", "level"]
        expected = [math.nan if value is None else value for value, _, _ in rows]
        assert np.array_equal(table.X[name + "1"], expected, equal_nan=True)
        assert table.X["level"].to_list() == [word for _, word, _ in rows]
        assert table.y.tolist() == [str(int(label)) for *_, label in rows]


def test_agrees_with_scipy(tmp_path):
    text = "@relation r\n@attribute a numeric\n@attribute 'b c' real\n@attribute d {x,y}\n@data\n"
    text += "1.5,2,x\n?,-3e-5,y\n7,?,?\n"
    data, _ = arff.loadarff(io.StringIO(text))
    table = load(tmp_path, text)
    for name in ("a", "b c"):
        assert np.array_equal(table.X[name], data[name], equal_nan=True)
    assert [b"?" if label is None else label.encode() for label in table.y] == data["d"].tolist()


def test_the_target(tmp_path):
    text = "@relation r\n@attribute Class {a,b}\n@attribute x numeric\n@attribute z {p,q}\n@data\n"
    text += "a,1,p\nb,2,q\n"
    assert load(tmp_path, text).target == "Class"
    assert load(tmp_path, text, target="z").y.tolist() == ["p", "q"]
    assert load(tmp_path, text, target=1).y.tolist() == [1, 2]
    last = load(tmp_path, text.replace("Class", "c"))
    assert last.target == "z", "as in Weka"
    none = load(tmp_path, "@relation r\n@attribute a {p}\n@attribute b numeric\n@data\np,1\n")
    assert none.target is None
    assert none.y is None
    with pytest.raises(
        DataError, match=r"^target 'clas' is no column of '.*'; did you mean 'Class'\?$"
    ):
        load(tmp_path, text, target="clas")


def test_keel(tmp_path):
    text = """@relation heart
@attribute age integer [29, 77]
@attribute dose real[0.5,9.5]
@attribute kind {absent, present}
@attribute extra {0,1}
@inputs age, dose, extra
@outputs kind
@data
63, 1.5, present, 0
<null>, 2.5, absent, 1
"""
    table = load(tmp_path, text, "heart.dat")
    assert table.format == "arff"
    assert table.names == ["age", "dose", "extra"]
    assert table.target == "kind"
    assert table.y.tolist() == ["present", "absent"]
    assert np.isnan(table.X["age"][1])


def test_comments_behind_declarations_and_escapes(tmp_path):
    text = "@relation r % what\n@attribute a numeric % in years\n@attribute b {'5%', x%} % levels\n"
    table = load(tmp_path, text + "@data % now\n1,'5%' % one\n2,x%\n", target="a")
    assert table.X["b"].to_list() == ["5%", "x%"]
    table = load(
        tmp_path, "@relation r\n@attribute a string\n@attribute b {x}\n@data\n'1\\t2\\\\',x\n"
    )
    assert table.X["a"].to_list() == ["1\t2\\"]


def test_blanks_at_the_edge_of_levels(tmp_path):
    table = load(
        tmp_path, "@relation r\n@attribute a {' x ', y}\n@attribute b real\n@data\n' x ',1\ny,2\n"
    )
    assert table.X["a"].to_list() == ["x", "y"]


def test_a_late_byte_that_is_no_utf_8(tmp_path):
    head = "@relation r\n@attribute a numeric\n@attribute b string\n@attribute c {x}\n@data\n"
    text = head + "1,some text to fill the file with,x\n" * 35_000 + "2,caf\xe9,x\n"
    table = load(tmp_path, text.encode("latin-1"))
    assert table.X["b"][-1] == "café"
    assert "encoding cp1252, as far as one can tell" in table.notes


# ---- sparse rows ---------------------------------------------------------------------------------
SPARSE = """@relation r
@attribute a numeric
@attribute 'b c' numeric
@attribute label {no, yes}
@attribute d real
@data
"""


def test_sparse_rows_of_numbers_stay_sparse(tmp_path):
    table = load(
        tmp_path,
        SPARSE + "{0 1.5, 2 yes}\n% comment\n{}\n{1 ?,3 -2}, {5}\n{2 ?}\n{ 3\t7 }\n",
        target="label",
    )
    assert scipy.sparse.issparse(table.X)
    assert table.names == ["a", "b c", "d"]
    expected = [[1.5, 0, 0], [0, 0, 0], [0, math.nan, -2], [0, 0, 0], [0, 0, 7]]
    assert np.array_equal(table.X.toarray(), expected, equal_nan=True)
    assert table.y.tolist() == ["yes", "no", "no", None, "no"]
    assert "sparse rows" in table.notes
    numeric = load(
        tmp_path, SPARSE.replace("{no, yes}", "numeric") + "{2 3}\n{0 1}\n", target="label"
    )
    assert numeric.y.tolist() == [3, 0]
    assert numeric.y.dtype == np.int64


def test_sparse_rows_with_nominal_columns_are_written_out(tmp_path):
    head = SPARSE.replace("real", "{p, 'q, r', s}")
    table = load(tmp_path, head + "{0 1.5, 3 'q, r'}\n{2 yes}\n{3 ?}\n", target="label")
    assert isinstance(table.X, pl.DataFrame)
    assert table.X["a"].to_list() == [1.5, 0.0, 0.0]
    assert table.X["d"].to_list() == ["q, r", "p", None]
    assert table.y.tolist() == ["no", "yes", "no"]


# ---- what cannot be read -------------------------------------------------------------------------
TWO = "@relation r\n@attribute a real\n@attribute b {x,y}\n@data\n"
# content of a file, and the message about it
BAD = {
    "a date": (
        HEAD.replace("NUMERIC", "date 'yyyy'") + "1\n",
        "line 4 of '*': attribute 'age' is a date, which featly does not read: turn it into a "
        "number, such as days since an event",
    ),
    "relational": (
        "@relation r\n@attribute bag relational\n@attribute x real\n@end bag\n@data\n",
        "line 2 of '*': attribute 'bag' is relational, a table in a cell, which featly does not "
        "read: write its values as columns of their own",
    ),
    "an unknown type": (
        TWO.replace("real", "complex") + "1,x\n",
        "line 2 of '*': attribute 'a' has the type 'complex', where ARFF knows numeric, string and "
        "{levels}",
    ),
    "no type": (
        TWO.replace("real", "") + "1,x\n",
        "line 2 of '*' declares an attribute without a name or a type: 'a'",
    ),
    "an unknown level": (
        TWO + "1,x\n2,z\n",
        "row 1 of '*' has 'z' in 'b', which is not among its levels ['x', 'y']: correct the value, "
        "or declare the level",
    ),
    "text among numbers": (
        TWO + "1,x\n\nold,y\n",
        "line 7 of '*' has 'old' in column 'a', which is declared as numbers: correct the value or "
        "the declaration",
    ),
    "text among numbers, behind quotes": (
        TWO + "1,'x'\n% remark\nold,y\n",
        "line 7 of '*' has 'old' in column 'a', which is declared as numbers: correct the value or "
        "the declaration",
    ),
    "a name twice": (
        TWO.replace("b {", "a {") + "1,x\n",
        "line 3 of '*' declares attribute 'a' again (first in line 2): rename one",
    ),
    "a level twice": (TWO.replace("y", "x"), "line 3 of '*' gives 'b' the level 'x' twice"),
    "an open brace": (
        TWO.replace("}", "") + "1,x\n",
        "line 3 of '*': the levels of 'b' have no closing brace",
    ),
    "no data": (
        "@relation r\n@attribute a real\n",
        "'*' has no @data line: it seems to be cut in its header",
    ),
    "no rows": (TWO + "% none\n", "'*' has no row behind @data: there is nothing to rank"),
    "no attribute": ("@relation r\n@data\n1\n", "'*' declares no attribute before @data"),
    "a stray line": (
        TWO.replace("@data", "1,2\n@data") + "1,x\n",
        "line 4 of '*' is no declaration: '1,2'. Before @data only @relation and @attribute lines "
        "may stand",
    ),
    "cut": (
        TWO + "1,x\n2\n",
        "line 6 of '*' has 1 cell, where the table has 2 columns: it seems to be cut there",
    ),
    "too many cells": (
        TWO + "1,x,3\n2,x\n",
        "line 5 of '*' has 3 cells, where the table has 2 columns: correct that line, or say which "
        "separator the file has",
    ),
    "an open quote": (TWO + "1,'x\n", "line 5 of '*' opens a quote and does not close it"),
    "text behind a quote": (TWO + "1,'x'y\n", "line 5 of '*' has text behind a quote: 'y'"),
    "a sparse index": (
        SPARSE + "{0 1}\n{4 1}\n",
        "line 8 of '*' names attribute 4, but the last one is 3",
    ),
    "a sparse index twice": (SPARSE + "{0 1, 0 2}\n", "line 7 of '*' names attribute 0 twice"),
    "a sparse level": (
        SPARSE + "{2 maybe}\n",
        "line 7 of '*' has 'maybe' in 'label', which is not among its levels ['no', 'yes']",
    ),
    "a sparse text": (SPARSE + "{0 x}\n", "line 7 of '*' has 'x' in 'a', which is no number"),
    "a sparse pair": (
        SPARSE + "{0}\n",
        "line 7 of '*' has '0', where an index and a value belong",
    ),
    "a dense row among sparse": (
        SPARSE + "{0 1}\n1,2,no,3\n",
        "line 8 of '*' is no sparse row: '1,2,no,3'. It has no braces around it",
    ),
    "a cut sparse row": (
        SPARSE + "{0 1}\n{0 1, 2 y",
        "line 8 of '*' is no sparse row: '{0 1, 2 y'. It has no braces around it",
    ),
    "sparse strings": (
        "@relation r\n@attribute s string\n@data\n{0 x}\n",
        "'*' has sparse rows and the string attribute 's', which has no value to leave out: remove "
        "the attribute",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_wrong_files(tmp_path, case, end):
    text, message = BAD[case]
    with pytest.raises(DataError) as caught:
        load(tmp_path, text.replace("\n", end))
    assert str(caught.value).replace(str(tmp_path / "a.arff"), "*") == message


@pytest.mark.parametrize("target", [None, "b"])
def test_numbers_are_one_matrix(tmp_path, target):
    path = tmp_path / "a.arff"
    names = "".join(f"@attribute {name} numeric\n" for name in ("a", "b", "c", "class", "d"))
    rows = "".join(f"{k},{k + 0.5},{k % 3},{k % 2},{-k}\n" for k in range(50))
    path.write_text(f"@relation r\n{names}@data\n{rows}")
    table = read_table(path, target=target, apart=["c"])
    left = table.X[[name for name in table.names if name != "c"]]
    assert np.shares_memory(left.to_numpy(), left["a"].to_numpy())
    assert left["d"].to_list() == [-k for k in range(50)]
    with pytest.raises(DataError, match="did you mean 'class'"):
        read_table(path, apart=["clas"])
