import csv
import io
import math
from unittest import mock

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from featly import DataError, read_table
from featly.io import byte_source
from featly.io.byte_source import ByteSource, row_chunks
from featly.io.csv_dialect import blanks_to_tabs, remove_blank_lines
from tests.reference.tables import read_plain


def load(tmp_path, content, name="a.csv", **options):
    """Read a table from text or bytes."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with read_table(path, **options) as table:
        return table


def cells_of(frame):
    """Return columns as lists: floats with NaN, texts with None."""
    return [column.to_list() for column in frame.get_columns()]


def is_equal(actual, expected):
    """Return whether two columns are equal, NaN and None included, and numbers to the bit."""
    if len(actual) != len(expected):
        return False
    for a, b in zip(actual, expected, strict=True):
        if isinstance(a, float) and isinstance(b, float):
            if math.isnan(a) != math.isnan(b) or (not math.isnan(a) and a.hex() != b.hex()):
                return False
        elif a != b or type(a) is not type(b):
            return False
    return True


# ---- against the reference implementation --------------------------------------------------------
NUMBERS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["1e3", ".5", "5.", "+3", "-0", "1E-300", "007", "+.5e+2", "1.e5", "-0.0"]),
)
MISSING_CELLS = st.sampled_from(["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null"])
LETTERS = 'abcé日🙂 ,;\t|"\n\r.15-?'
TEXTS = st.text(LETTERS, min_size=1, max_size=6)
SPACED = st.tuples(st.sampled_from(["", " ", "  "]), NUMBERS, st.sampled_from(["", " "])).map(
    "".join
)
COLUMNS = st.sampled_from(
    [
        NUMBERS,
        NUMBERS | MISSING_CELLS,
        SPACED,
        TEXTS,
        TEXTS | MISSING_CELLS,
        NUMBERS | TEXTS,
        MISSING_CELLS,
    ]
)


@st.composite
def tables(draw, separators=",;\t|"):
    """Draw a table as text, and its separator."""
    kinds = draw(st.lists(COLUMNS, min_size=1, max_size=5))
    n_rows = draw(st.integers(1, 8))
    separator = draw(st.sampled_from(separators))
    names = [
        f"{draw(st.sampled_from(['n', 'größe', 'a b', '名', 'q,;']))}{j}" for j in range(len(kinds))
    ]
    out = io.StringIO(newline="")
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="\r\n")
    writer.writerow(names)
    for _ in range(n_rows):
        if draw(st.integers(0, 9)) == 0:
            out.write(draw(st.sampled_from(["", "  "])) + "\r\n")
        writer.writerow([draw(kind) for kind in kinds])
    text = out.getvalue().replace("\r\n", end)
    return (text.rstrip("\r\n") if draw(st.booleans()) else text), separator


@given(tables(), st.integers(1, 60), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
@example(('a,b\n"x\n\ny",1\n\n2,3\n', ","), 7, "utf-8")
@example(('a\n""\n1\n', ","), 60, "utf-8")
@example(('a,b\n1,"x"\n2,"5"" pipe"\n', ","), 1, "utf-8")
@example(("n0;n1\n0;,1\n", ";"), 11, "utf-8")  # a text that looks like a number with a comma
@settings(max_examples=150)
def test_tables_are_read_as_the_reference_reads_them(tmp_path_factory, table, size, encoding):
    text, separator = table
    names, expected = read_plain(text, separator)
    path = tmp_path_factory.getbasetemp() / "drawn.csv"
    path.write_bytes(text.encode(encoding))
    if not any(expected) or not expected[0]:
        return
    with (
        mock.patch.object(byte_source, "CHUNK_BYTES", size),
        read_table(path, separator=separator, header=True, encoding=encoding) as result,
    ):
        assert list(result.names) == names
        if "a comma before the decimals" in result.notes:
            _, expected = read_plain(text, separator, decimal_comma=True)
        for name, a, b in zip(names, cells_of(result.X), expected, strict=True):
            assert is_equal(a, b), (name, a, b)


def test_the_reference_finds_numbers_texts_and_missing_values():
    names, columns = read_plain('a,b\n1e3,"x,\r\ny"\n\n?, z \n')
    assert names == ["a", "b"]
    assert is_equal(columns[0], [1000.0, math.nan])
    assert columns[1] == ["x,\ny", "z"]


@given(st.text("ab1 \t\n", max_size=30))
def test_blanks_to_tabs_with_and_without_quotes(text):
    """Both ways, quick and for chunks with quotes, agree with a split of every line."""
    expected = "\n".join("\t".join(line.split()) for line in text.split("\n"))
    assert blanks_to_tabs(text.encode()).decode() == expected
    quoted = f'"a  b" \n{text}\n  "c\t" d '
    assert blanks_to_tabs(quoted.encode()).decode() == f'"a  b"\n{expected}\n"c\t"\td'


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " ", ":"])
@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_every_separator_is_read_and_but_for_colons_guessed(tmp_path, separator, size, monkeypatch):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    rows = [["age", "dose", "ward"], ["61", "1.5", "north"], ["47", "NA", "süd"], ["52", "2", "?"]]
    text = "".join(separator.join(row) + "\n" for row in rows)
    for given_ in [separator] if separator == ":" else [separator, None]:
        table = load(tmp_path, text, "a.txt", separator=given_)
        assert table.names == rows[0]
        assert is_equal(table.X["age"].to_list(), [61.0, 47.0, 52.0])
        assert is_equal(table.X["dose"].to_list(), [1.5, math.nan, 2.0])
        assert table.X["ward"].to_list() == ["north", "süd", None]
        assert table.format == ("tsv" if separator == "\t" else "csv")


def test_words_for_separators(tmp_path):
    assert load(tmp_path, "a\tb,c\n1\t2\n", separator="tab").names == ["a", "b,c"]
    assert load(tmp_path, "a;b,c\n1;2\n", separator="semicolon").names == ["a", "b,c"]
    assert load(tmp_path, "a\tb\n1\t2\n", format="tsv").format == "tsv"
    with pytest.raises(
        DataError, match=r"^separator ',,': give one character, or 'tab' or 'space'$"
    ):
        load(tmp_path, "a,,b\n1,,2\n", separator=",,")


# ---- decimal commas ------------------------------------------------------------------------------
@pytest.mark.parametrize("separator", [";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
def test_decimal_commas(tmp_path, separator, header):
    body = [["1,5", "-2,25", "3"], ["0,5", "1e3", "4"], ["7,0", "2,5e-3", "5"]] * 30
    rows = ([["a", "b", "c"]] if header else []) + body
    table = load(tmp_path, "".join(separator.join(row) + "\n" for row in rows), "a.txt")
    assert table.shape == (90, 3)
    assert table.X.row(0) == (1.5, -2.25, 3.0)
    assert table.X.row(2) == (7.0, 0.0025, 5.0)
    assert "a comma before the decimals" in table.notes


def test_all_columns_with_decimal_commas_are_no_columns_between_commas(tmp_path):
    table = load(tmp_path, "a;b\n" + "1,5;2,5\n" * 120)
    assert table.shape == (120, 2)
    assert table.X.row(119) == (1.5, 2.5)


def test_a_list_in_a_cell_does_not_make_its_commas_decimals(tmp_path):
    table = load(tmp_path, "id,tags\n1,2;3\n4,5;6\n")
    assert table.names == ["id", "tags"]
    assert table.X["tags"].to_list() == ["2;3", "5;6"]


def test_thousands_are_no_numbers(tmp_path):
    assert load(tmp_path, 'a,b\n"1,234",1\n"2,345",2\n').X["a"].to_list() == ["1,234", "2,345"]
    table = load(tmp_path, "a;b\n1,5;1\n2,5;2\n" + "1,5;3\n" * 120 + "1.234,5;4\n")
    assert table.X["a"].dtype == pl.Categorical
    assert table.X["a"][-1] == "1.234,5"


# ---- text that comes late ------------------------------------------------------------------------
@pytest.mark.parametrize("size", [50, 1000, 1 << 20])
@pytest.mark.parametrize("late", ["x", "1_0", "0x1F", "１２", "1e", "--1", "1 2"])
def test_text_at_the_end_of_a_column_of_numbers(tmp_path, monkeypatch, size, late):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    table = load(tmp_path, "a,b,c\n" + "01.50,2, 3\n" * 500 + f"4,5,{late}\n")
    assert table.X["a"].to_list() == [1.5] * 500 + [4.0]
    assert table.X["c"].to_list() == ["3"] * 500 + [late]
    several = load(tmp_path, "a,b,c\n" + "1,2,3\n" * 500 + "x,5,6\n" + "1,2,3\n" * 500 + "7,8,y\n")
    assert [str(dtype)[:7] for dtype in several.X.dtypes] == ["Categor", "Float64", "Categor"]
    assert several.X["a"][-1] == "7"


@pytest.mark.parametrize("size", range(1, 14))
def test_borders_of_pieces_may_lie_anywhere(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    text = 'é,"x\r\n\r\n""y""",日本\r\n"a\r\nb",1,🙂\r\n\r\n"""",2,"🙂,\r"\r\n'
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"):
        table = load(tmp_path, text.encode(encoding), encoding=encoding, header=True)
        assert table.names == ["é", 'x\n\n"y"', "日本"]
        assert table.X.rows() == [("a\nb", 1.0, "🙂"), ('"', 2.0, "🙂,")]


@given(st.text('ab"\n\r,é', max_size=40), st.integers(1, 9))
@settings(max_examples=100)
def test_pieces_make_up_the_file_and_number_its_lines(tmp_path_factory, text, size):
    path = tmp_path_factory.getbasetemp() / "pieces.csv"
    path.write_bytes(text.encode() or b"a")
    whole = (text or "a").replace("\r\n", "\n").replace("\r", "\n").encode()
    with mock.patch.object(byte_source, "CHUNK_BYTES", size), ByteSource(path) as opened:
        content = b""
        for line, piece in row_chunks(opened, "utf-8"):
            assert line == content.count(b"\n") + 1
            assert not content or content.endswith(b"\n")
            content += piece
            if not content.count(b'"') % 2:
                assert content == whole or piece.endswith(b"\n")
        assert content == whole


def test_blank_lines_are_no_rows_but_belong_to_quoted_cells(tmp_path):
    assert remove_blank_lines(b'\n1\n\n  \n"a\n\nb",2\n\n') == b'1\n"a\n\nb",2\n'
    table = load(tmp_path, '\n\na,b\n\n1,"p\n\nq"\n   \n2,r\n\n\n')
    assert table.X.rows() == [(1.0, "p\n\nq"), (2.0, "r")]
    assert load(tmp_path, "a\n1\n\n2\n\n\n").X.rows() == [(1.0,), (2.0,)], "as in pandas and R"
    column = load(tmp_path, 'a\n1\n""\n2\n').X["a"].to_list()
    assert is_equal(column, [1.0, math.nan, 2.0])


def test_blanks_around_cells_are_no_part_of_them(tmp_path):
    table = load(tmp_path, "39, State-gov, 77516, ?\n50 ,?, ?,<=50K\n 1,x , 2, <=50K\n")
    assert is_equal(table.X["x2"].to_list(), [77516.0, math.nan, 2.0])
    assert table.X["x1"].to_list() == ["State-gov", None, "x"]
    assert table.X["x3"].to_list() == [None, "<=50K", "<=50K"]


def test_quotes_within_cells(tmp_path):
    table = load(tmp_path, 'size,n\n5" pipe,1\n6" pipe,2\n7 "inch" pipe,3\n')
    assert table.X["size"].to_list() == ['5" pipe', '6" pipe', '7 "inch" pipe']
    odd = load(tmp_path, 'size,n\n5" pipe,1\n6 pipe,2\n7 pipe,3\n')
    assert odd.X.rows() == [('5" pipe', 1.0), ("6 pipe", 2.0), ("7 pipe", 3.0)]


# ---- headers -------------------------------------------------------------------------------------
HEADERS = {
    "names over numbers": ("a,b\n1,2\n3,4\n", True),
    "names over numbers with missing values": ("a,b\n?,2\n3,NA\n", True),
    "names over text": ("sex,ward\nf,north\nm,south\n", True),
    "numeric names beside one of text": ("1,2,class\n5,6,a\n7,8,b\n", True),
    "numbers of columns, as pandas writes them": ("0,1,2,3\n5,6,7,8\n7,8,9,1\n", True),
    "numbers behind a nameless index": (",0,1\n0,5.5,6\n1,7,8.5\n", True),
    "nameless index": (",a,b\n0,1,2\n1,3,4\n", True),
    "years": ("country,2001,2002\nFR,1.5,2\nDE,2.5,3\n", True),
    "one column": ("a\n1\n2\n", True),
    "names over decimal commas": ("a;b\n1,5;2,5\n3,5;4,5\n", True),
    "numbers": ("1,2\n3,4\n5,6\n", False),
    "numbers with a missing value first": ("NA,1,2\n3,4,5\n6,7,8\n", False),
    "a question mark": ("?,1,a\n3,4,b\n6,7,a\n", False),
    "a class that comes again": ("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n", False),
    "whole numbers and a class": ("5,3,setosa\n4,3,setosa\n7,3,versicolor\n", False),
    "decimals and texts": ("1.5,x\n2.5,y\n", False),
    "decimal commas": ("1,5;2,25\n3,5;4,5\n", False),
    "twice the same": ("x,x,y\ny,x,x\nx,y,y\n", False),
    "one row of numbers": ("1,2,3\n", False),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_are_detected(tmp_path, case):
    text, header = HEADERS[case]
    table = load(tmp_path, text)
    n_lines = text.count("\n")
    assert table.shape[0] == n_lines - header
    assert any("no header line" in note for note in table.notes) != header
    if not header:
        assert list(table.names) == [f"x{j}" for j in range(table.shape[1])]


def test_header_option(tmp_path):
    table = load(tmp_path, "1,2\n3,4\n", header=True)
    assert table.names == ["1", "2"]
    assert table.X.rows() == [(3.0, 4.0)]
    table = load(tmp_path, "a,b\n3,4\n", header=False)
    assert table.names == ["x0", "x1"]
    assert table.X.rows() == [("a", "b"), ("3", "4")]


@pytest.mark.parametrize(
    "text",
    [
        '"a" "b c"\n"r1" 1 "x y"\n"r2" 2 "z"\n',  # write.table
        "a\tb c\nr1\t1\tx y\nr2\t2\tz\n",
        '"","a","b c"\n"r1",1,"x y"\n"r2",2,"z"\n',  # write.csv
    ],
)
def test_names_of_rows_as_r_writes_them(tmp_path, text):
    table = load(tmp_path, text, "a.txt")
    assert list(table.names) in (["row_names", "a", "b c"], ["x0", "a", "b c"])
    assert table.X.rows() == [("r1", 1.0, "x y"), ("r2", 2.0, "z")]


def test_a_separator_at_the_end_of_rows_does_not_shift_names(tmp_path):
    table = load(tmp_path, "a,b\n1,2,\n3,4,\n")
    assert table.names == ["a", "b", "x2"]
    assert table.X["a"].to_list() == [1.0, 3.0]
    assert any("rows end in a separator" in note for note in table.notes)


def test_names_empty_and_twice(tmp_path):
    table = load(tmp_path, "a,a,a_2,, b \n1,2,3,4,5\n2,3,4,5,6\n")
    assert table.names == ["a", "a_3", "a_2", "x3", "b"]
    assert "a second column 'a' is called 'a_3'" in table.notes
    table = load(tmp_path, ",x0,x1\n0,1.5,2\n1,2.5,3\n")
    assert table.names == ["x0_2", "x0", "x1"], "a name of the file is not changed"
    many = load(tmp_path, "a,a,a,b\n1,2,3,4\n", header=True)
    assert many.names == ["a", "a_2", "a_3", "b"]
    assert "a second column 'a' is called 'a_2', and 1 more like it" in many.notes


# ---- encodings -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"],
)
def test_encodings_are_guessed(tmp_path, encoding):
    table = load(tmp_path, "größe,ort\n1,Köln\n2,Nîmes\n".encode(encoding))
    assert table.names == ["größe", "ort"]
    assert table.X["ort"].to_list() == ["Köln", "Nîmes"]
    is_noted = any(note.startswith("encoding") for note in table.notes)
    assert is_noted != encoding.startswith("utf-8")


def test_utf_32_with_the_other_mark(tmp_path):
    content = "\ufeffgröße,b\n1,2\n".encode("utf-32-be")
    assert load(tmp_path, content).names == ["größe", "b"]


def test_encoding_option(tmp_path):
    assert load(tmp_path, "имя,b\n1,2\n".encode("cp1251"), encoding="cp1251").names == ["имя", "b"]
    assert load(tmp_path, "ä,b\n1,2\n".encode("latin-1"), encoding="L1").names == ["ä", "b"]
    assert load(tmp_path, "名,b\n1,2\n".encode("shift_jis"), encoding="sjis").names == ["名", "b"]
    with pytest.raises(DataError, match=r"^line 3 of '.*a.csv' is no text in the encoding utf-8: "):
        load(tmp_path, "a,b\nx,1\n\xe4,2\n".encode("latin-1"), encoding="utf-8")
    with pytest.raises(DataError, match=r"^line 3 of '.*a.csv' is no text in the encoding ascii: "):
        load(tmp_path, "a,b\rx,1\rä,2\r", encoding="ascii")
    with pytest.raises(DataError, match=r"^there is no encoding 'utf8x'; did you mean 'utf-8'\?$"):
        load(tmp_path, "a,b\n1,2\n", encoding="utf8x")
    with pytest.raises(DataError, match=r"there is no encoding 'base64'"):
        load(tmp_path, "a,b\n1,2\n", encoding="base64")


@pytest.mark.parametrize("size", [1000, 1 << 24])
def test_a_late_byte_that_is_no_utf_8(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", max(size, 1 << 16))
    text = "a,b\n" + "1,north\n" * 150_000 + "2,caf\xe9\n"
    table = load(tmp_path, text.encode("latin-1"))
    assert table.shape == (150_000 + 1, 2)
    assert table.X["b"][-1] == "café"
    assert "encoding cp1252, as far as one can tell" in table.notes


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_line_of_a_wrong_byte_is_named(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    for content in ("é,b\n1,2\né,\xff\n3,4\n", "é,b\n1,2\né\xff\n\n\n\n"):
        content = content.encode("latin-1").replace(b"\xe9", "é".encode())
        with pytest.raises(DataError, match=r"^line 3 of"):
            load(tmp_path, content, encoding="utf-8")


# ---- missing values, memory ----------------------------------------------------------------------
def test_further_marks_of_missing_values(tmp_path):
    table = load(tmp_path, "a,b\n-9,x\n2, none \n3,y\n", missing=["-9", "none"])
    assert is_equal(table.X["a"].to_list(), [math.nan, 2.0, 3.0])
    assert table.X["b"].to_list() == ["x", None, "y"]


def test_columns_without_a_value(tmp_path):
    table = load(tmp_path, "a,b,c\n?,1,NA\n,2,\nNA,3,?\n")
    assert table.X.dtypes == [pl.Float64] * 3
    assert np.isnan(table.X.select("a", "c").to_numpy()).all()


@pytest.mark.parametrize("size", [64, 1 << 20])
@pytest.mark.parametrize("target", [None, "t", "n2"])
@pytest.mark.parametrize("apart", [[], ["n1"], ["n0", -1]])
def test_numbers_are_one_matrix(tmp_path, monkeypatch, size, target, apart):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    rows = ["n0,n1,t,n2,n3,n4"] + [f"{k},{k}.5,{'ab'[k % 2]},{k % 3},-{k},{k}e2" for k in range(40)]
    table = load(tmp_path, "\n".join(rows) + "\n\n\n", target=target, apart=apart)
    aside = {"n0" if a == "n0" else "n1" if a == "n1" else "n4" for a in apart}
    numeric = [n for n in table.names if n.startswith("n") and n not in aside]
    block = table.X.select(numeric).to_numpy()
    assert block.flags.f_contiguous
    for j, name in enumerate(numeric):
        assert np.shares_memory(block, table.X[name].to_numpy()), name
        expected = {"n0": 7, "n1": 7.5, "n2": 1, "n3": -7, "n4": 700}[name]
        assert block[7, j] == expected
    if target == "n2":
        assert table.y.tolist() == [k % 3 for k in range(40)]
        assert table.y.dtype == np.int64


def test_targets_by_position_and_of_every_kind(tmp_path):
    text = "a,b,c,d\n1,x,1.5,?\n2,y,2.5,1\n3,?,3,2\n"
    assert load(tmp_path, text, target=0).y.tolist() == [1, 2, 3]
    assert load(tmp_path, text, target="1").y.tolist() == ["x", "y", None]
    assert load(tmp_path, text, target=-2).y.tolist() == [1.5, 2.5, 3.0]
    assert is_equal(load(tmp_path, text, target="d").y.tolist(), [math.nan, 1.0, 2.0])
    assert load(tmp_path, text, target="d").names == ["a", "b", "c"]
