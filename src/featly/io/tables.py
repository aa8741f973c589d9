"""One call for every format: from a file to a table, its target, and what was noticed."""

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse

from featly.errors import DataError
from featly.frames import DefaultNames, as_floats
from featly.io import delimited
from featly.io.arff import read_arff, read_header
from featly.io.delimited import Layout
from featly.io.libsvm import looks_like_libsvm, read_libsvm
from featly.io.matlab import HDF5, read_matlab
from featly.io.opening import NotInEncodingError, Opened, checked_encoding, guess_encoding
from featly.io.parquet import names_of, read_columns, read_parquet
from featly.io.records import looks_like_records, read_records
from featly.io.writing import separator_for, whole_file, write_frame
from featly.progress import progress_bar

__all__ = ["FORMATS", "TableFile", "column_names", "find_column", "read_table"]

FORMATS = ("csv", "tsv", "parquet", "arff", "libsvm", "matlab", "records")
WORTH_A_BAR = 1 << 26  # bytes
_FOREIGN = {
    b"PK\x03\x04": "an Excel or zip file: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save the sheet as CSV",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it first",
    b"ARROW1": "an Arrow file: save it as parquet",
    b"RDX": "an R file: write the data frame with write.csv",
    b"X\n": "an R file: write the data frame with write.csv",
    b"$FL2": "an SPSS file: save it as CSV",
    b"SQLite format 3": "a database: export the table as CSV",
    b"%PDF": "a PDF: the table has to be saved as CSV",
    b"\x80\x04": "a Python pickle: save the frame as parquet",
    b"\x80\x05": "a Python pickle: save the frame as parquet",
    b"\x93NUMPY": "a NumPy file: load it with numpy and pass the array to a method",
}


@dataclass
class TableFile:
    """A table that was read from a file: what :func:`featly.read_table` returns.

    Attributes
    ----------
    X : polars frame, array or SciPy sparse matrix
        The table without its target, ready for any method's ``fit``.
    y : array or None
        The target, where one was named or the file has one.
    target : str or None
        What the target is called.
    names : sequence of str
        Names of the columns of X.
    source : str
        How messages call the file.
    format : str
        One of csv, tsv, parquet, arff, libsvm, matlab, records.
    notes : list of str
        What was found out about the file: separator, encoding, header.
    """

    X: Any
    y: np.ndarray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    notes: list[str] = field(default_factory=list)
    _opened: Opened | None = field(default=None, repr=False)
    _layout: Layout | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of X."""
        return self.X.shape

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; the table stays."""
        if self._opened is not None:
            self._opened.close()

    def save_columns(self, columns: Sequence[str], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a CSV, TSV or parquet file.

        From text to text every cell is copied as it stands in the file; parquet keeps its types.
        The file is written whole or not at all.

        Parameters
        ----------
        columns : list of str
        path : path
            The ending decides: ``.csv``, ``.tsv``, ``.parquet``; ``.csv.gz`` is compressed.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.csv").write_text("age,dose,ill\\n61,1.50,yes\\n47,?,no\\n")
        >>> with read_table(folder / "a.csv", target="ill") as table:
        ...     table.save_columns(["dose"], folder / "b.csv")
        >>> print((folder / "b.csv").read_text())
        dose,ill
        1.50,yes
        ?,no
        <BLANKLINE>
        """
        wanted = [*columns, self.target] if self.target is not None else list(columns)
        separator = separator_for(path)
        if separator is not None and self._layout is not None and self._layout.prepare is None:
            layout = self._layout
            if layout.decimal_comma and separator == ",":
                separator = ";"  # as in the file: a comma is part of its numbers
            place = {name: j for j, name in enumerate(layout.names)}
            positions = [place[name] for name in wanted]
            with whole_file(path) as out:
                delimited.copy_columns(self._opened, layout, positions, out, separator)
            return
        if self.format == "parquet":
            frame = read_columns(self._opened, wanted).select(wanted)
        else:
            frame = self._taken(columns)
        write_frame(frame, path)

    def _taken(self, columns: Sequence[str]) -> Any:
        """Some columns and the target as a frame."""
        import polars as pl

        if isinstance(self.X, pl.DataFrame):
            frame = self.X.select(list(columns))
        else:
            place = {name: j for j, name in enumerate(self.names)}
            block = self.X[:, [place[name] for name in columns]]
            dense = block.toarray() if scipy.sparse.issparse(block) else block
            frame = pl.from_numpy(np.asfortranarray(dense), schema=list(columns))
        if self.y is not None:
            frame = frame.with_columns(pl.Series(self.target, self.y))
        return frame


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
    apart: Sequence[str | int] = (),
    verbose: bool = False,
) -> TableFile:
    """Read a table from a CSV, TSV, parquet, ARFF, KEEL, LIBSVM or MATLAB file.

    The content of the file tells its format, its separator, its encoding and whether it has a
    header; ``notes`` of what is returned says what was found. Gzip, bzip2 and xz are decompressed.
    Blank cells, ``?``, ``NA``, ``N/A``, ``#N/A``, ``NaN`` and ``NULL`` are missing values.

    Parameters
    ----------
    path : path
        ``"-"`` is standard input.
    target : str or int, optional
        The column to predict, by name or position (negative ones count from the end). Where it is
        None, files with labels of their own give those: LIBSVM, MATLAB's Y, KEEL's output, ARFF's
        attribute ``class`` or a nominal last one. From other files the whole table is returned.
    format : {"csv", "tsv", "parquet", "arff", "libsvm", "matlab", "records"}, optional
        What the file is, should its content not tell. Records are the free form of UCI's robot
        data: a label, a block of numbers, a blank line.
    separator, encoding : str, optional
        For text files: what is between cells, how characters are written.
    header : bool, optional
        Whether the first line names the columns. Without it they are called x0, x1, ...
    missing : list of str, optional
        Further cells that stand for a missing value, such as ``"-9"``.
    n_features : int, optional
        Number of columns of a LIBSVM file, should the last ones be all zero.
    apart : list of str or int, optional
        Columns that a schema is going to declare categorical or ordinal, or that will not be used.
        It only saves memory: the other numbers lie together, and methods read them in place.
    verbose : bool, default False
        Show a bar while a large file is read.

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
    if format is not None and format not in FORMATS:
        near = difflib.get_close_matches(format, FORMATS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(FORMATS)}"
        raise DataError(f"there is no format {format!r}{hint}")
    if encoding is not None:
        encoding = checked_encoding(encoding)
    opened = Opened(path)
    try:
        kind = format or guess_format(opened, encoding)
        bar = verbose and opened.size > WORTH_A_BAR
        with progress_bar(bar, f"reading {opened.name}", "bytes") as progress:
            if kind in ("csv", "tsv"):
                separator = separator or ("\t" if format == "tsv" else None)
                options = {"separator": separator, "encoding": encoding, "header": header}
                return _from_text(opened, target, apart, progress, kind, missing, options)
            if kind == "parquet":
                return _from_parquet(opened, target, apart, progress)
            if kind == "arff":
                return _from_arff(opened, target, encoding, progress)
            if kind == "libsvm":
                return _from_libsvm(opened, target, n_features)
            if kind == "matlab":
                return _from_matlab(opened, target)
            return _from_records(opened, target, encoding)
    except NotInEncodingError as problem:
        opened.close()
        raise DataError(
            f"line {problem.line} of {opened.name} is no text in the encoding {problem.encoding}: "
            "say which it has (encoding 'latin-1' reads anything), or copy the file again if it "
            "is damaged"
        ) from None
    except BaseException:
        opened.close()
        raise
    finally:
        opened.release()


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Names of the columns of a file, the target included, without reading its rows."""
    with Opened(path) as opened:
        kind = guess_format(opened)
        if kind == "csv":
            return delimited.survey(opened)[0].names
        if kind == "parquet":
            return names_of(opened)
        if kind == "arff":
            return read_header(opened, guess_encoding(opened.head(1 << 20))).names
        return []


def guess_format(opened: Opened, encoding: str | None = None) -> str:
    """What a file is, by its first bytes; its name decides between texts."""
    start = opened.head(1 << 16)
    if not start.strip():
        raise DataError(f"{opened.name} is empty: no table is in it")
    for magic, what in _FOREIGN.items():
        if start.startswith(magic):
            raise DataError(f"{opened.name} is {what}")
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"MATLAB 5.0 MAT-file") or start[:520].find(HDF5) in (0, 512):
        return "matlab"
    if opened.suffix in (".parquet", ".pq"):
        raise DataError(f"{opened.name} is no parquet file, whatever its name says: it is damaged")
    if opened.suffix == ".mat":
        return "matlab"
    if opened.suffix == ".arff":
        return "arff"
    if opened.suffix in (".svmlight", ".libsvm", ".svm"):
        return "libsvm"
    text = start.decode(encoding or guess_encoding(start), errors="ignore").lstrip("\ufeff")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    declared = [line for line in lines if not line.startswith("%")]
    if declared and re.match(r"@(relation|attribute)\b", declared[0], re.IGNORECASE):
        return "arff"
    if opened.suffix in (".csv", ".tsv", ".tab"):
        return "csv"
    if len(lines) > 1 and all(looks_like_libsvm(line.encode()) for line in lines[:3][:-1]):
        return "libsvm"
    if looks_like_records(text):
        return "records"
    return "csv"


def find_column(names: Sequence[str], wanted: str | int, what: str, source: str) -> int:
    """The position of a column by its name, or by its position; DataError with a suggestion."""
    if isinstance(wanted, str):
        if isinstance(names, DefaultNames):
            found = names.position(wanted)
            if found is not None:
                return found
        elif wanted in names:
            return list(names).index(wanted)
        if not re.fullmatch(r"-?\d+", wanted):
            shown = [str(name) for name in list(names)[:5]]
            lower = {str(name).lower(): str(name) for name in names}
            near = difflib.get_close_matches(wanted.lower(), list(lower), n=1)
            more = ", ..." if len(names) > 5 else ""
            hint = (
                f"; did you mean {lower[near[0]]!r}?"
                if near
                else f": its columns are {', '.join(shown)}{more}"
            )
            raise DataError(f"{what} {wanted!r} is no column of {source}{hint}")
        wanted = int(wanted)
    position = wanted + len(names) if wanted < 0 else wanted
    if not 0 <= position < len(names):
        raise DataError(
            f"{what} {wanted} is no column of {source}: positions run from 0 to {len(names) - 1}"
        )
    return position


# ---- the formats ---------------------------------------------------------------------------------
def _from_text(
    opened: Opened,
    target: str | int | None,
    apart: Sequence[str | int],
    progress: Any,
    kind: str,
    missing: Sequence[str],
    options: dict[str, Any],
) -> TableFile:
    layout, notes = delimited.survey(opened, missing=missing, **options)
    chosen, aside = _resolved(opened, layout.names, target, apart)
    frame, final = delimited.read_delimited(
        opened,
        layout,
        progress=progress,
        apart=aside,
        auto_encoding=options["encoding"] is None,
    )
    if final.encoding != layout.encoding:
        notes.append(f"encoding {final.encoding}, as far as one can tell")
    kind = "tsv" if final.separator == "\t" else kind
    return _split(opened, frame, chosen, kind, notes, final)


def _from_parquet(
    opened: Opened, target: str | int | None, apart: Sequence[str | int], progress: Any
) -> TableFile:
    names = names_of(opened)
    chosen, aside = _resolved(opened, names, target, apart)
    frame = read_parquet(opened, apart=[names[j] for j in aside], progress=progress)
    return _split(opened, frame, chosen, "parquet", [])


def _from_arff(
    opened: Opened, target: str | int | None, encoding: str | None, progress: Any
) -> TableFile:
    notes = []
    if encoding is None:
        encoding = guess_encoding(opened.head(1 << 20))
        if encoding not in ("utf-8", "utf-8-sig"):
            notes.append(f"encoding {encoding}, as far as one can tell")
    header = read_header(opened, encoding)
    names = header.names
    if target is not None:
        chosen = names[find_column(names, target, "target", opened.name)]
    else:
        chosen = header.target()
        if chosen is not None:
            notes.append(f"the target is {chosen!r}")
    found, sparse = read_arff(opened, header, encoding, target=chosen, progress=progress)
    if sparse:
        notes.append("sparse rows")
    if not scipy.sparse.issparse(found):
        return _split(opened, found, chosen, "arff", notes)
    y = None
    if chosen is not None:
        column = names.index(chosen)
        y = np.ravel(found[:, [column]].toarray())
        if column in header.levels:
            levels = [None, *header.levels[column]]
            y = np.array(levels, dtype=object)[np.nan_to_num(y + 1).astype(int)]
        keep = [j for j in range(len(names)) if j != column]
        found, names = found[:, keep], [names[j] for j in keep]
    return TableFile(found, y, chosen, names, opened.name, "arff", notes, opened)


def _from_libsvm(opened: Opened, target: str | int | None, n_features: int | None) -> TableFile:
    if target is not None:
        raise DataError(
            f"{opened.name} is a LIBSVM file, whose labels stand in front: leave out target"
        )
    X, y, notes = read_libsvm(opened, n_features=n_features)
    return TableFile(X, y, "label", DefaultNames(X.shape[1]), opened.name, "libsvm", notes, opened)


def _from_matlab(opened: Opened, target: str | int | None) -> TableFile:
    if isinstance(target, int):
        raise DataError(f"{opened.name} is a MATLAB file: name the variable with the labels")
    X, names, y, called, notes = read_matlab(opened, target=target)
    if called is not None:
        notes.append(f"the target is the variable {called!r}")
    if not scipy.sparse.issparse(X):
        X = as_floats(X)
        if names is not None:
            import polars as pl

            X = pl.from_numpy(np.asfortranarray(X), schema=names)
    return TableFile(
        X, y, called, names or DefaultNames(X.shape[1]), opened.name, "matlab", notes, opened
    )


def _from_records(opened: Opened, target: str | int | None, encoding: str | None) -> TableFile:
    if target not in (None, "class"):
        raise DataError(f"{opened.name} has records with a label each: leave out target")
    X, y, notes = read_records(opened, encoding or guess_encoding(opened.head(1 << 20)))
    return TableFile(X, y, "class", X.columns, opened.name, "records", notes, opened)


def _resolved(
    opened: Opened, names: list[str], target: str | int | None, apart: Sequence[str | int]
) -> tuple[str | None, list[int]]:
    """Name of the target, and positions of it and of what else stands apart."""
    aside = [find_column(names, column, "column", opened.name) for column in apart]
    if target is None:
        return None, aside
    position = find_column(names, target, "target", opened.name)
    return names[position], [*aside, position]


def _split(
    opened: Opened,
    frame: Any,
    target: str | None,
    kind: str,
    notes: list[str],
    layout: Layout | None = None,
) -> TableFile:
    """Take the target out of a frame."""
    y = None
    if target is not None:
        y = _labels(frame[target])
        frame = frame.drop(target)
        if not frame.width:
            raise DataError(
                f"{opened.name} has no column but the target {target!r}: there is nothing to rank"
            )
    return TableFile(frame, y, target, frame.columns, opened.name, kind, notes, opened, layout)


def _labels(column: Any) -> np.ndarray:
    """A target as an array: whole numbers, real ones, or text with None where missing."""
    import polars as pl

    if not column.dtype.is_numeric():
        if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
            column = column.cast(pl.String)
        return np.array(column.to_list(), dtype=object)
    values = column.to_numpy()
    whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
