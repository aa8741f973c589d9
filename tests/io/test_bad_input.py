"""Files that cannot be read: an error of one line names the file, the line, and what to do."""

import bz2
import gzip
import lzma
import os
import pickle
import re
import zipfile

import pytest

from featly import DataError, read_table
from featly.io import byte_source
from featly.io.read import column_names


def error_message(path, error=DataError, **options):
    """Return the message about a file, its name shortened; one line, and no file left open."""
    with pytest.raises(error) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value).replace(str(path.parent), "")


def error_of_content(tmp_path, content, name="a.csv", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return error_message(path, **options)


CASES = {
    "empty": (b"", {}, "'/a.csv' is empty: no table is in it"),
    "blank": (b"\n  \n\r\n", {}, "'/a.csv' is empty: no table is in it"),
    "a mark alone": ("\ufeff", {}, "'/a.csv' has nothing but blank lines: no table is in it"),
    "header only": ("a,b\n", {}, "'/a.csv' has a header but no rows: there is nothing to rank"),
    "header and blank lines": (
        "a,b\n\n\n",
        {},
        "'/a.csv' has a header but no rows: there is nothing to rank",
    ),
    "cut": (
        "a,b,c\n1,2,3\n4,5",
        {},
        "line 3 of '/a.csv' has 2 cells, where the table has 3 columns: it seems to be cut there",
    ),
    "cut between quotes": (
        'a,b,c\n1,2,3\n4,"five',
        {},
        "line 3 of '/a.csv' has 2 cells, where the table has 3 columns: it seems to be cut there",
    ),
    "a short line": (
        "a,b,c\n1,2,3\n4\n5,6,7\n",
        {},
        "line 3 of '/a.csv' has 1 cell, where the table has 3 columns: correct that line, or say "
        "which separator the file has",
    ),
    "a long line": (
        'a,b,c\n"x\n\ny",2,3\n\n4,5,6,7\n8,9,0\n',
        {},
        "line 6 of '/a.csv' has 4 cells, where the table has 3 columns: correct that line, or say "
        "which separator the file has",
    ),
    "a long line after text among numbers": (
        "a,b\n1,2\n \nx,3\n4,5,6\n",
        {},
        "line 5 of '/a.csv' has 3 cells, where the table has 2 columns: correct that line, or say "
        "which separator the file has",
    ),
    "blanks, one too few": (
        "a b c\n1 2 3\n4 5\n6 7 8\n",
        {"separator": " "},
        "line 3 of '/a.csv' has 2 cells, where the table has 3 columns: correct that line, or say "
        "which separator the file has",
    ),
    "no such target": (
        "age,dose\n1,2\n",
        {"target": "doze"},
        "target 'doze' is no column of '/a.csv'; did you mean 'dose'?",
    ),
    "another case": (
        "age,Dose\n1,2\n",
        {"target": "DOSE"},
        "target 'DOSE' is no column of '/a.csv'; did you mean 'Dose'?",
    ),
    "nothing like it": (
        "a,b,c,d,e,f\n1,2,3,4,5,6\n",
        {"target": "outcome"},
        "target 'outcome' is no column of '/a.csv': its columns are a, b, c, d, e, ...",
    ),
    "no such position": (
        "a,b\n1,2\n",
        {"target": 2},
        "target 2 is no column of '/a.csv': positions run from 0 to 1",
    ),
    "no such position from the end": (
        "a,b\n1,2\n",
        {"target": "-3"},
        "target -3 is no column of '/a.csv': positions run from 0 to 1",
    ),
    "no such column apart": (
        "age,dose\n1,2\n",
        {"apart": ["doze"]},
        "column 'doze' is no column of '/a.csv'; did you mean 'dose'?",
    ),
    "the target alone": (
        "a\n1\n2\n",
        {"target": "a"},
        "'/a.csv' has no column but the target 'a': there is nothing to rank",
    ),
    "a format": ("a,b\n1,2\n", {"format": "arf"}, "there is no format 'arf'; did you mean 'arff'?"),
    "another format": (
        "a,b\n1,2\n",
        {"format": "word"},
        "there is no format 'word': there are csv, tsv, parquet, arrow, arff, libsvm, matlab, "
        "records, excel, spss, stata, sas",
    ),
    "an encoding": (
        "a,b\n1,2\n",
        {"encoding": "latin"},
        None,
    ),
    "no encoding": (
        "a,b\n1,2\n",
        {"encoding": "klingon"},
        "there is no encoding 'klingon'; did you mean 'latin-1'?",
    ),
    "a separator": (
        "a,b\n1,2\n",
        {"separator": "\n"},
        "separator '\\n': give one character, or 'tab' or 'space'",
    ),
    "no text at all": (
        b"a,b\n1,2\n\x00\x01\x02\x03\n",
        {},
        "'/a.csv' holds a zero byte in line 3: it is damaged, or no text file",
    ),
    "no text in any encoding": (
        b"a,b\n1,2\n\x81\x8d,3\n",
        {},
        "line 3 of '/a.csv' is no text in the encoding cp1252: say which it has (encoding "
        "'latin-1' reads anything), or copy the file again if it is damaged",
    ),
    "a pickle": (
        pickle.dumps({"a": [1, 2]}),
        {},
        "'/a.csv' is a Python pickle: save the frame as parquet",
    ),
    "HDF5": (
        b"\x89HDF\r\n\x1a\n" + bytes(50),
        {},
        "'/a.csv' is an HDF5 file: save the table as parquet or CSV",
    ),
    "an old Feather file": (
        b"FEA1" + bytes(50),
        {},
        "'/a.csv' is a Feather file of version 1, which is no Arrow file yet: read it with "
        "pyarrow.feather.read_table, and write it again",
    ),
    "a stream of Arrow": (
        b"\xff\xff\xff\xff\x10\1\0\0" + bytes(50),
        {},
        "'/a.csv' is a stream of Arrow messages, of which no column can be read alone: make a file "
        "of it with polars.read_ipc_stream(...).write_ipc(...)",
    ),
    "R": (
        b"RDX3\nX\n\0\0\0\3",
        {},
        "'/a.csv' is an R file: write the data frame with write.csv",
    ),
    "NumPy": (
        b"\x93NUMPY\1\0" + bytes(50),
        {},
        "'/a.csv' is a NumPy array: load it with numpy and pass the array to a method",
    ),
    "cut gzip": (
        gzip.compress(b"a,b\n1,2\n" * 1000)[:-12],
        {},
        "'/a.csv' is cut: its gzip data end in the middle. Copy or download it again",
    ),
    "cut bzip2": (
        bz2.compress(b"a,b\n1,2\n" * 1000)[:-12],
        {},
        "'/a.csv' is cut: its bzip2 data end in the middle. Copy or download it again",
    ),
    "cut xz": (
        lzma.compress(b"a,b\n1,2\n" * 1000)[:-12],
        {},
        "'/a.csv' is cut: its xz data end in the middle. Copy or download it again",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_message(tmp_path, case):
    content, options, expected = CASES[case]
    if expected is None:  # Python knows that name
        (tmp_path / "a.csv").write_text(content)
        with read_table(tmp_path / "a.csv", **options) as table:
            assert table.shape == (1, 2)
        return
    assert error_of_content(tmp_path, content, **options) == expected


def test_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(b"".join(b"%d,2\n" % k for k in range(9999))))
    packed[-6] ^= 255
    text = error_of_content(tmp_path, bytes(packed), "a.csv.gz")
    assert re.fullmatch(
        r"'/a.csv.gz' cannot be read to its end \(.*\): it is damaged\. Copy or download it again",
        text,
    )


def test_zip_and_excel(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("sheet.xml", "<xml/>")
    assert (
        error_message(tmp_path / "a.xlsx")
        == "'/a.xlsx' is an archive and no spreadsheet: unpack it and name the file with the "
        "table, such as 'sheet.xml'"
    )


def test_texts_that_begin_like_other_files_are_read(tmp_path):
    for name in ("X", "RDX2", "ARROW1", "$FL2", "PAR1", "%PDF", "PK"):
        (tmp_path / "a.csv").write_text(f"{name}\n1\n2\n")
        with read_table(tmp_path / "a.csv") as table:
            assert table.names == [name]
            assert table.shape == (2, 1)


def test_missing_files(tmp_path):
    (tmp_path / "study.csv").write_text("a,b\n1,2\n")
    text = error_message(tmp_path / "studi.csv", FileNotFoundError)
    assert text == "there is no file '/studi.csv'; did you mean '/study.csv'?"
    assert error_message(tmp_path / "zzz", FileNotFoundError) == "there is no file '/zzz'"
    inner = tmp_path / "none" / "study.csv"
    text = error_message(inner, FileNotFoundError)
    assert text == "there is no file '/study.csv': there is no folder ''"
    under = error_message(tmp_path / "study.csv" / "a.csv", (DataError, OSError))
    assert under.startswith("'/a.csv' cannot be opened: ")
    assert error_message(tmp_path / ("n" * 300)).endswith("cannot be opened: File name too long")
    assert "cannot be opened" in error_message(tmp_path / "a\0b")


def test_directories(tmp_path):
    folder = tmp_path / "data.csv"
    folder.mkdir()
    assert error_message(folder, IsADirectoryError) == "'/data.csv' is a directory: name a file"
    (folder / "b.csv").write_text("a\n1\n")
    text = error_message(folder, IsADirectoryError)
    assert text == "'/data.csv' is a directory: name a file, such as '/data.csv/b.csv'"


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    if os.getuid():
        path.chmod(0)
    else:

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(byte_source.Path, "open", refuse)
    text = error_message(path, PermissionError)
    assert text == "'/a.csv' may not be read (permission denied): ask its owner, or read a copy"


def test_a_quote_that_is_never_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", 10_000)
    monkeypatch.setattr(byte_source, "LONGEST_ROW", 1 << 20)
    text = error_of_content(tmp_path, 'a,b\n1,2\n3,"4\n' + "5,6\n" * 300_000)
    assert text == (
        "'/a.csv' has no end of line within 1 MB from line 3 on: it is no table, or a quote is "
        "opened and not closed"
    )


@pytest.mark.parametrize("size", [3, 1 << 20])
def test_lines_are_counted_through_pieces(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_source, "CHUNK_BYTES", size)
    for end in ("\n", "\r\n", "\r"):
        text = 'a,b\n"x\ny",1\n\n2,3\n4,5,6\n7,8\n'.replace("\n", end)
        assert error_of_content(tmp_path, text).startswith("line 6 of '/a.csv' has 3 cells")


def test_names_of_columns_of_bad_files(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(DataError, match="is empty: no table is in it"):
        column_names(tmp_path / "a.csv")


RECORDS = "ok\n1 2\n3 4\n\nbad\n5 6\n7 8\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            RECORDS + "\nbad\n9 1\n",
            "the record from line 9 of '/a.data' on has 2 numbers, where the first has 4: is the "
            "file cut?",
        ),
        (RECORDS + "\n1 2\n", "line 9 of '/a.data' is '1 2', where a label belongs"),
        (RECORDS + "x y\n", "line 8 of '/a.data' is 'x y', where a line of numbers belongs"),
        (RECORDS + "9\n", "line 8 of '/a.data' has 1 numbers, where others have 2"),
    ],
)
def test_records(tmp_path, text, expected):
    assert error_of_content(tmp_path, text, "a.data") == expected
    (tmp_path / "a.data").write_text(RECORDS)
    with read_table(tmp_path / "a.data") as table:
        assert table.format == "records"
        assert table.X.rows() == [(1, 2, 3, 4), (5, 6, 7, 8)]
        assert table.y.tolist() == ["ok", "bad"]
    assert error_of_content(tmp_path, RECORDS, "a.data", target="x").endswith(
        "a label each: leave out target"
    )
