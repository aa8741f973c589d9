"""Reading of a table and its target from a file of any format, with notes on the file."""

import difflib
import os
from collections.abc import Sequence

from featly.basics.errors import DataError, Parameter
from featly.basics.progress import progress_bar
from featly.io.byte_source import ByteSource, NotInEncodingError, resolve_encoding
from featly.io.sniff import guess_format
from featly.io.table_file import Reading, TableFile
from featly.table import formats

__all__ = ["TableFile", "column_names", "read_table"]

WORTH_A_BAR = 1 << 26  # bytes


def read_table(
    path: str | os.PathLike[str],
    *,
    target: str | int | None = None,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    missing: Sequence[str] = (),
    n_features: int | None = None,
    sheet: str | int | None = None,
    apart: Sequence[str | int] = (),
    verbose: bool = False,
) -> TableFile:
    """Read a table from a file: text, spreadsheet, parquet, Arrow, ARFF, LIBSVM, MATLAB, SPSS, ...

    Format, separator, encoding and whether there is a header are detected from the content of the
    file, and reported in ``notes`` of the result. Gzip, bzip2 and xz are decompressed. Blank cells,
    ``?``, ``NA``, ``<NA>``, ``N/A``, ``#N/A``, ``NaN`` and ``NULL`` are missing.

    Parameters
    ----------
    path : path
        ``"-"`` is standard input.
    target : str or int, optional
        The column to predict, by name or position (negative ones count from the end). By default,
        it is the labels of a file that has some: LIBSVM, MATLAB's Y, KEEL's output, ARFF's
        attribute ``class`` or a nominal last one. Of other files the whole table is returned.
    format : str, optional
        Format of the file, if it cannot be detected: one of :data:`featly.io.FORMATS`. Records are
        the free form of UCI's robot data: a label, a block of numbers, a blank line.
    separator, encoding : str, optional
        Separator of the cells and encoding of a text file, if they cannot be detected.
    header : bool, optional
        Whether the first line names the columns. Without it they are called x0, x1, ...
    missing : list of str, optional
        Further cells that stand for a missing value, such as ``"-9"``.
    n_features : int, optional
        Number of columns of a LIBSVM file, should the last ones be all zero.
    sheet : str or int, optional
        Which sheet of a spreadsheet, by name or position; by default the first one with cells.
    apart : list of str or int, optional
        Columns that a schema is going to declare categorical or ordinal, or that will not be used.
        This only saves memory: the other numbers are together, and methods read them in place.
    verbose : bool, default=False
        True shows a progress bar; a function is called with (done, total).

    Returns
    -------
    TableFile
        ``table.X`` and ``table.y`` go into any method.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from featly import FTest, read_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.csv"
    >>> _ = path.write_text("age;dose;ill\\n61;1,5;yes\\n47;?;no\\n52;0,5;no\\n68;2,5;yes\\n")
    >>> table = read_table(path, target="ill")
    >>> table.notes
    ['semicolons between the columns', 'a comma before the decimals']
    >>> FTest().fit(table.X, table.y).get_feature_names_out()
    array(['age'], dtype=object)
    """
    known = formats.readable()
    if format is not None and format not in known:
        near = difflib.get_close_matches(format, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(known)}"
        raise DataError(f"there is no format {format!r}{hint}")
    if encoding is not None:
        encoding = resolve_encoding(encoding)
    opened = ByteSource(path)
    try:
        kind = format or guess_format(opened, encoding)
        if n_features is not None and kind == "csv" and opened.suffix not in (".csv", ".tsv"):
            (kind,) = formats.taking("n_features")  # the option tells
        is_given = {
            "separator": separator is not None,
            "header": header is not None,
            "encoding": encoding is not None,
            "missing": len(missing) > 0,
            "n_features": n_features is not None,
            "sheet": sheet is not None,
        }
        _check_options(opened, kind, [option for option, flag in is_given.items() if flag])
        entry = formats.FORMATS[kind]
        bar = verbose and opened.size > WORTH_A_BAR
        unit = "columns" if entry.columns else "MB"
        with progress_bar(bar, f"reading {opened.name}", unit) as progress:
            reading = Reading(
                opened,
                progress,
                target=target,
                apart=apart,
                separator=separator or ("\t" if format == "tsv" else None),
                encoding=encoding,
                header=header,
                missing=missing,
                n_features=n_features,
                sheet=sheet,
            )
            table: TableFile = formats.load_part(entry.reader)(reading)
            return table
    except NotInEncodingError as problem:
        opened.close()
        raise DataError(
            f"line {problem.line} of {opened.name} is no text in the encoding {problem.encoding}: "
            "say which it has (",
            Parameter("encoding"),
            " 'latin-1' reads anything), or copy the file again if it is damaged",
        ) from None
    except DataError as problem:
        opened.close()
        brief = _shorten(str(problem), opened.name)
        raise (problem if brief == str(problem) else type(problem)(brief)) from None
    except BaseException:
        opened.close()
        raise
    finally:
        opened.release()


def _shorten(message: str, source: str) -> str:
    """Shorten a message to one line, however long a cell or a name in the file is."""
    line = " ".join(message.splitlines())
    head, tail = len(source) + 250, 200
    return line if len(line) <= head + tail else f"{line[:head]} ... {line[-tail:]}"


def _check_options(opened: ByteSource, kind: str, options: Sequence[str]) -> None:
    """Raise DataError for an option that the format does not have."""
    for option in options:
        if option not in formats.FORMATS[kind].options:
            raise DataError(
                Parameter(option),
                f" is for {', '.join(formats.taking(option))} files, but {opened.name} is read as "
                f"{kind}: leave ",
                Parameter(option),
                " out",
            )


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file, the target included, without reading its rows."""
    with ByteSource(path) as opened:
        part = formats.FORMATS[guess_format(opened)].names
        return list(formats.load_part(part)(opened)) if part else []
