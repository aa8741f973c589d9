"""Spreadsheets: the same table as from text, whichever program wrote it."""

import datetime
import sys
import zipfile

import polars as pl
import pytest

from featly import FTest, read_table
from featly.basics.errors import DataError
from featly.io.read import column_names

pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")

ROWS = [
    ["age", "dose", "stage", "seen", "ill"],
    [61, "1,5", "I", datetime.date(2020, 1, 2), "yes"],
    [47, "NA", "II", None, "no"],
    [None, "0,25", "II", datetime.date(2021, 3, 4), "no"],
    [68, "2,75", "?", datetime.date(2020, 5, 6), "yes"],
]
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>"""
CONTENT = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content office:version="1.2"
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">
<office:body><office:spreadsheet><table:table table:name="Data">{rows}</table:table>
</office:spreadsheet></office:body></office:document-content>"""


def write_xlsx(path, sheets):
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                for j, cell in enumerate(row):
                    if cell is not None:
                        sheet.write(i, j, cell, *([day] * isinstance(cell, datetime.date)))


def write_ods(path, rows):
    def cell(value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, int):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        if isinstance(value, datetime.date):
            return f'<table:table-cell office:value-type="date" office:date-value="{value}"/>'
        return (
            '<table:table-cell office:value-type="string">'
            f"<text:p>{value}</text:p></table:table-cell>"
        )

    lines = ("".join(map(cell, row)) for row in rows)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        text = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", CONTENT.format(rows=text))


@pytest.fixture
def xlsx(tmp_path):
    path = tmp_path / "study.xlsx"
    write_xlsx(path, {"Legend": [], "Data": ROWS, "Notes": [["a", "b"], [1, 2]]})
    return path


@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_sheet_is_read_as_a_text_is(tmp_path, ending):
    path = tmp_path / f"study.{ending}"
    write_xlsx(path, {"Data": ROWS}) if ending == "xlsx" else write_ods(path, ROWS)
    text = tmp_path / "study.tsv"
    lines = ("\t".join("" if cell is None else str(cell) for cell in row) for row in ROWS)
    text.write_text("\n".join(lines))
    with read_table(path, target="ill") as table, read_table(text, target="ill") as same:
        assert table.X.equals(same.X)
        assert table.X.schema == same.X.schema
        assert table.y.tolist() == same.y.tolist() == ["yes", "no", "no", "yes"]
        assert (table.format, table.notes) == ("excel", ["a comma before the decimals"])
        assert str(path) in repr(table)
        table.save_columns(["dose"], tmp_path / "small.csv")
        table.save_columns(["dose"], tmp_path / "small.parquet")
    assert (tmp_path / "small.csv").read_text().splitlines()[:2] == ["dose;ill", "1,5;yes"]
    assert pl.read_parquet(tmp_path / "small.parquet").columns == ["dose", "ill"]
    assert column_names(path) == ROWS[0]
    path.rename(tmp_path / "study")
    assert read_table(tmp_path / "study").format == "excel"  # its content tells


def test_a_sheet_is_chosen(xlsx):
    table = read_table(xlsx)
    assert table.names == ROWS[0]
    assert table.notes[0] == "the sheet 'Data' of 3: 'Legend', 'Data', 'Notes'"
    for sheet in ("Notes", 2, -1):
        assert read_table(xlsx, sheet=sheet).names == ["a", "b"]
    for sheet in ("Date", 3, -4):
        with pytest.raises(DataError, match=r"has no sheet .*: give sheet one of 'Legend', 'Data'"):
            read_table(xlsx, sheet=sheet)
    with pytest.raises(DataError, match=r"sheet 'Legend' of .* has no cells"):
        read_table(xlsx, sheet="Legend")
    with pytest.raises(DataError, match="sheet is for excel files"):
        read_table(xlsx, format="csv", sheet="Data")


def test_empty_rows_and_columns_are_left_out(tmp_path):
    path = tmp_path / "a.xlsx"
    write_xlsx(
        path, {"A": [[], [None, "x", None, "y"], [None, 1, None, 2], [], [None, 3, None, 4]]}
    )
    assert read_table(path).X.to_dict(as_series=False) == {"x": [1, 3], "y": [2, 4]}


def test_numbers_have_all_their_digits(tmp_path):
    path = tmp_path / "a.xlsx"
    values = [1e-300, 1.5e-7, 0.1234567890123456, -(2.0**70), 1e22, 12.0]
    write_xlsx(path, {"A": [["x", "y"], *([v, v] for v in values), [None, "NA"]]})
    table = read_table(path)
    for name in ("x", "y"):  # a word among them changes nothing
        assert table.X[name][:-1].to_list() == pytest.approx(values, rel=1e-15, abs=0)
    table.save_columns(["x"], tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[-2] == "12"


def test_what_is_no_spreadsheet_is_refused(tmp_path, xlsx):
    archive = tmp_path / "tables.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("study.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"archive and no spreadsheet: .* such as 'study.csv'"):
        read_table(archive)
    for damaged in (xlsx.read_bytes()[:900], b"\xd0\xcf\x11\xe0" + b"\0" * 600):
        path = tmp_path / "damaged.xlsx"
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"damaged.xlsx' (is|cannot be read as) a spreadsheet"):
            read_table(path)


def test_without_fastexcel_the_error_says_what_to_install(xlsx, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(DataError, match=r"takes fastexcel: pip install 'featly\[excel\]', or save"):
        read_table(xlsx)


def test_a_sheet_goes_into_a_method(xlsx):
    with read_table(xlsx, target="ill") as table:
        assert FTest().fit(table.X.select("age", "dose"), table.y).n_features_in_ == 2
