"""Spreadsheets: the cells of one sheet, read as a table of text is.

Types of cells say little, since numbers are often typed as text, and missing values as words. So
a sheet becomes rows of text, and header, numbers, decimal commas and missing values are seen as in
a text file.
"""

import zipfile
from io import BytesIO
from typing import Any

from featly.basics.errors import DataError, Parameter
from featly.io.byte_source import ByteSource
from featly.io.csv_dialect import text_names
from featly.io.readers import read_text
from featly.io.table_file import Reading, TableFile

__all__ = ["read_excel_file", "sheet_names"]

MIDNIGHT = " 00:00:00"
TAB = "\t"


def read_excel_file(reading: Reading) -> TableFile:
    """Read one sheet of a spreadsheet."""
    text, note = _sheet_as_text(reading.opened, reading.sheet)
    reading.opened.close()
    table = read_text(reading.with_text(text, separator=TAB))
    table.format = "excel"
    table.notes[:1] = [note] if note else []  # in place of what is between the cells
    return table


def sheet_names(opened: ByteSource) -> list[str]:
    """Return the names of the columns of the sheet that is read if none is named."""
    text, _ = _sheet_as_text(opened, None)
    with text:
        return text_names(text)


def _sheet_as_text(opened: ByteSource, sheet: str | int | None) -> tuple[ByteSource, str]:
    """Return a sheet as a text with tabs, and a note on which it is."""
    book = _open_book(opened)
    names: list[str] = book.sheet_names
    if sheet is not None:
        name = _find_sheet(opened, names, sheet)
        cells = _cells(opened, book, name)
    else:
        for name in names:
            cells = _cells(opened, book, name)
            if cells.height:
                break
    if not cells.height:
        what = f"sheet {name!r} of {opened.name}" if sheet is not None else f"{opened.name}"
        raise DataError(f"{what} has no cells: there is nothing to rank")
    note = ""
    if sheet is None and len(names) > 1:
        note = f"the sheet {name!r} of {len(names)}: {', '.join(map(repr, names))}"
    content = cells.write_csv(separator=TAB, include_header=False, quote_style="necessary")
    return ByteSource.from_bytes(content.encode(), opened.name), note


def _open_book(opened: ByteSource) -> Any:
    """Open a spreadsheet by fastexcel; DataError if it is none, or that is not installed."""
    content = opened.read(opened.stream())
    _refuse_other_archives(opened, content)
    try:
        import fastexcel
    except ImportError:
        raise DataError(
            f"{opened.name} is a spreadsheet, which takes fastexcel: pip install 'featly[excel]', "
            "or save the sheet as CSV"
        ) from None
    try:
        return fastexcel.read_excel(content)
    except fastexcel.FastExcelError as problem:
        reason = str(problem).strip().split("\n")[0]
        raise DataError(
            f"{opened.name} cannot be read as a spreadsheet ({reason}): it is damaged or locked by "
            "a password. Save the sheet as CSV"
        ) from None


def _refuse_other_archives(opened: ByteSource, content: bytes) -> None:
    """Raise DataError for a zip archive that holds no spreadsheet."""
    if not content.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            inside = archive.namelist()
    except zipfile.BadZipFile:
        raise DataError(
            f"{opened.name} is a spreadsheet or an archive, cut or damaged: copy it again"
        ) from None
    if not any(name.startswith("xl/") or name == "content.xml" for name in inside):
        example = f", such as {inside[0]!r}" if inside else ""
        raise DataError(
            f"{opened.name} is an archive and no spreadsheet: unpack it and name the file with the "
            f"table{example}"
        )


def _find_sheet(opened: ByteSource, names: list[str], sheet: str | int) -> str:
    """Return the name of a sheet, given by name or position."""
    if isinstance(sheet, int) and -len(names) <= sheet < len(names):
        return names[sheet]
    if sheet in names:
        return str(sheet)
    raise DataError(
        f"{opened.name} has no sheet {sheet!r}: give ",
        Parameter("sheet"),
        f" one of {', '.join(map(repr, names))}",
    )


def _cells(opened: ByteSource, book: Any, name: str) -> Any:
    """Return the cells of a sheet as text, without rows and columns that are empty."""
    import polars as pl

    try:
        cells = book.load_sheet(name, header_row=None, dtypes="string").to_polars()
        numbers = book.load_sheet(name, header_row=None, dtypes="float").to_polars()
    except Exception as problem:  # such as a sheet that is a chart
        reason = str(problem).strip().split("\n")[0]
        raise DataError(f"sheet {name!r} of {opened.name} cannot be read ({reason})") from None
    columns = [
        _without_midnight(_with_all_digits(text, number))
        for text, number in zip(cells.get_columns(), numbers.get_columns(), strict=True)
    ]
    columns = [column for column in columns if column.null_count() < len(column)]
    cells = pl.DataFrame(columns)
    return cells.filter(~pl.all_horizontal(pl.all().is_null())) if columns else cells


def _with_all_digits(text: Any, number: Any) -> Any:
    """Return the text of cells with all digits of numbers: fastexcel writes nine of them."""
    import polars as pl

    shown = text.cast(pl.Float64, strict=False)
    is_short = shown.is_not_null() & number.is_not_null() & (shown != number)
    return number.cast(pl.String).zip_with(is_short.fill_null(False), text).alias(text.name)


def _without_midnight(column: Any) -> Any:
    """Return dates without a time of day, if none of them has one."""
    times = column.str.extract(r"^\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d.*)$").drop_nulls()
    if len(times) and (times == MIDNIGHT).all():
        return column.str.strip_suffix(MIDNIGHT)
    return column
