"""Reading of a table and its target from a file of any format, with notes on the file."""

import contextlib
import difflib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse

from featly.basics.atomic_file import whole_file
from featly.basics.errors import DataError, Parameter
from featly.basics.progress import progress_bar
from featly.io import delimited
from featly.io.arff import read_arff, read_header
from featly.io.byte_source import ByteSource, NotInEncodingError, guess_encoding, resolve_encoding
from featly.io.column_lookup import ColumnFinder
from featly.io.csv_dialect import CsvDialect, detect_dialect
from featly.io.libsvm import read_libsvm
from featly.io.matlab import read_matlab
from featly.io.parquet import parquet_names, read_columns, read_parquet
from featly.io.records import read_records
from featly.io.sniff import guess_format
from featly.io.write import check_ending, separator_for, write_frame
from featly.table.frames import DefaultNames, as_floats

__all__ = ["FORMATS", "TableFile", "column_names", "read_table"]

FORMATS = ("csv", "tsv", "parquet", "arff", "libsvm", "matlab", "records")
WORTH_A_BAR = 1 << 26  # bytes
_TEXT = ("csv", "tsv")
_OPTIONS = {
    "separator": _TEXT,
    "header": _TEXT,
    "encoding": (*_TEXT, "arff", "libsvm", "records"),
    "missing": (*_TEXT, "arff"),
    "n_features": ("libsvm",),
}


@dataclass(repr=False)
class TableFile:
    """Table read from a file, as :func:`featly.read_table` returns it.

    Attributes
    ----------
    X : polars frame, array or SciPy sparse matrix
        The table without its target, ready for any method's ``fit``.
    y : array or None
        The target, if one was named or the file has one.
    target : str or None
        Name of the target.
    names : sequence of str
        Names of the columns of X.
    source : str
        The file in messages.
    format : str
        One of csv, tsv, parquet, arff, libsvm, matlab, records.
    notes : list of str
        What was detected: separator, encoding, header.
    """

    X: Any
    y: np.ndarray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    notes: list[str] = field(default_factory=list)
    _opened: ByteSource | None = field(default=None, repr=False)
    _dialect: CsvDialect | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of X."""
        n_rows, n_features = self.X.shape
        return n_rows, n_features

    def __repr__(self) -> str:
        rows, columns = self.shape
        target = "" if self.target is None else f", target {self.target!r}"
        return f"TableFile({self.source}: {rows} rows, {columns} columns{target})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the table stays."""
        if self._opened is not None:
            self._opened.close()

    def save_columns(self, columns: Sequence[str], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a CSV, TSV or parquet file.

        From text to text every cell is copied unchanged; from parquet to parquet types are kept.
        The file is written whole or not at all.

        Parameters
        ----------
        columns : list of str
        path : path
            Its ending is the format: ``.csv``, ``.tsv``, ``.parquet``; ``.csv.gz`` is compressed.

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
        find = ColumnFinder(self.names, self.source)
        columns = [self.names[find(column, "column")] for column in dict.fromkeys(columns)]
        if not columns:
            raise DataError(f"no column of {self.source} was named: there is nothing to save")
        check_ending(path, json=False)
        wanted = [*columns, self.target] if self.target is not None else columns
        separator = separator_for(path)
        if separator is not None and self._dialect is not None and self._dialect.prepare is None:
            dialect = self._dialect
            if dialect.decimal_comma and separator == ",":
                separator = ";"  # commas are part of the numbers
            position_of = {name: j for j, name in enumerate(dialect.names)}
            positions = [position_of[name] for name in wanted]
            with self._reopen() as opened, whole_file(path) as out:
                delimited.copy_columns(opened, dialect, positions, out, separator)
            return
        if self.format == "parquet":
            with self._reopen() as opened:
                frame = read_columns(opened, wanted)[wanted]
        else:
            frame = self._take_columns(columns)
        write_frame(frame, path)

    @contextlib.contextmanager
    def _reopen(self) -> Iterator[ByteSource]:
        """Open the file once more, and close it afterwards."""
        assert self._opened is not None
        try:
            yield self._opened
        finally:
            self._opened.release()

    def _take_columns(self, columns: Sequence[str]) -> Any:
        """Return some columns and the target as a frame."""
        import polars as pl

        if isinstance(self.X, pl.DataFrame):
            frame = self.X[list(columns)]
        else:
            position_of = {name: j for j, name in enumerate(self.names)}
            block = self.X[:, [position_of[name] for name in columns]]
            dense = block.toarray() if scipy.sparse.issparse(block) else block
            frame = pl.from_numpy(np.asfortranarray(dense), schema=list(columns), orient="row")
        if self.y is not None:
            # a list, since a column of Python objects cannot be written
            y = self.y.tolist() if self.y.dtype.kind == "O" else self.y
            frame = frame.with_columns(pl.Series(self.target, y, strict=False))
        return pl.DataFrame([_prepare_for_file(column) for column in frame.get_columns()])


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
    format : {"csv", "tsv", "parquet", "arff", "libsvm", "matlab", "records"}, optional
        Format of the file, if it cannot be detected. Records are the free form of UCI's robot
        data: a label, a block of numbers, a blank line.
    separator, encoding : str, optional
        Separator of the cells and encoding of a text file, if they cannot be detected.
    header : bool, optional
        Whether the first line names the columns. Without it they are called x0, x1, ...
    missing : list of str, optional
        Further cells that stand for a missing value, such as ``"-9"``.
    n_features : int, optional
        Number of columns of a LIBSVM file, should the last ones be all zero.
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
    if format is not None and format not in FORMATS:
        near = difflib.get_close_matches(format, FORMATS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(FORMATS)}"
        raise DataError(f"there is no format {format!r}{hint}")
    if encoding is not None:
        encoding = resolve_encoding(encoding)
    opened = ByteSource(path)
    try:
        kind = format or guess_format(opened, encoding)
        if n_features is not None and kind == "csv" and opened.suffix not in (".csv", ".tsv"):
            kind = "libsvm"  # the only format that has this option
        is_given = {
            "separator": separator is not None,
            "header": header is not None,
            "encoding": encoding is not None,
            "missing": len(missing) > 0,
            "n_features": n_features is not None,
        }
        _check_options(opened, kind, [option for option, flag in is_given.items() if flag])
        bar = verbose and opened.size > WORTH_A_BAR
        unit = "columns" if kind == "parquet" else "MB"
        with progress_bar(bar, f"reading {opened.name}", unit) as progress:
            if kind in ("csv", "tsv"):
                separator = separator or ("\t" if format == "tsv" else None)
                options = {"separator": separator, "encoding": encoding, "header": header}
                return _from_text(opened, target, apart, progress, kind, missing, options)
            if kind == "parquet":
                return _from_parquet(opened, target, apart, progress)
            if kind == "matlab":
                return _from_matlab(opened, target)
            if kind == "arff":
                read = partial(_from_arff, opened, target, apart, missing, progress)
            elif kind == "libsvm":
                read = partial(_from_libsvm, opened, target, n_features)
            else:
                read = partial(_from_records, opened, target)
            return _read_in_encoding(opened, encoding, read)
    except NotInEncodingError as problem:
        opened.close()
        raise DataError(
            f"line {problem.line} of {opened.name} is no text in the encoding {problem.encoding}: "
            "say which it has (encoding 'latin-1' reads anything), or copy the file again if it "
            "is damaged"
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
        if kind not in _OPTIONS[option]:
            raise DataError(
                Parameter(option),
                f" is for {', '.join(_OPTIONS[option])} files, but {opened.name} is read as "
                f"{kind}: leave ",
                Parameter(option),
                " out",
            )


def column_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the columns of a file, the target included, without reading its rows."""
    with ByteSource(path) as opened:
        kind = guess_format(opened)
        if kind == "csv":
            return detect_dialect(opened)[0].names
        if kind == "parquet":
            return parquet_names(opened)
        if kind == "arff":
            return read_header(opened, guess_encoding(opened.head(1 << 20))).names
        return []


# ---- the formats ---------------------------------------------------------------------------------
def _read_in_encoding(
    opened: ByteSource, encoding: str | None, read: Callable[[str], TableFile]
) -> TableFile:
    """Read a text in the given encoding, or else in the likeliest one."""
    if encoding is not None:
        return read(encoding)
    encoding = guess_encoding(opened.head(1 << 20))
    try:
        table = read(encoding)
    except NotInEncodingError:  # beyond the bytes that the guess is based on
        if encoding == "cp1252":
            raise
        encoding = "cp1252"
        table = read(encoding)
    if encoding not in ("utf-8", "utf-8-sig"):
        table.notes.append(f"encoding {encoding}, as far as one can tell")
    return table


def _from_text(
    opened: ByteSource,
    target: str | int | None,
    apart: Sequence[str | int],
    progress: Any,
    kind: str,
    missing: Sequence[str],
    options: dict[str, Any],
) -> TableFile:
    dialect, notes = detect_dialect(opened, missing=missing, **options)
    chosen, aside = _resolve_columns(opened, dialect.names, target, apart)
    frame, final = delimited.read_delimited(
        opened,
        dialect,
        progress=progress,
        apart=aside,
        auto_encoding=options["encoding"] is None,
    )
    if final.encoding != dialect.encoding:
        notes.append(f"encoding {final.encoding}, as far as one can tell")
    kind = "tsv" if final.separator == "\t" else kind
    return _split_target(opened, frame, chosen, kind, notes, final)


def _from_parquet(
    opened: ByteSource, target: str | int | None, apart: Sequence[str | int], progress: Any
) -> TableFile:
    names = parquet_names(opened)
    chosen, aside = _resolve_columns(opened, names, target, apart)
    frame = read_parquet(opened, apart=[names[j] for j in aside], progress=progress)
    return _split_target(opened, frame, chosen, "parquet", [])


def _from_arff(
    opened: ByteSource,
    target: str | int | None,
    apart: Sequence[str | int],
    missing: Sequence[str],
    progress: Any,
    encoding: str,
) -> TableFile:
    notes = []
    header = read_header(opened, encoding)
    header.missing = (*header.missing, *missing)
    names = header.names
    chosen, aside = _resolve_columns(opened, names, target, apart)
    if target is None:
        chosen = header.target()
        if chosen is not None:
            notes.append(f"the target is {chosen!r}")
            aside.append(names.index(chosen))
    rows, sparse = read_arff(
        opened, header, encoding, target=chosen, apart=aside, progress=progress
    )
    if sparse:
        notes.append("sparse rows")
    if not scipy.sparse.issparse(rows):
        return _split_target(opened, rows, chosen, "arff", notes)
    y = None
    if chosen is not None:
        column = names.index(chosen)
        y = np.ravel(rows[:, [column]].toarray())
        if column in header.levels:
            levels = [None, *header.levels[column]]
            y = np.array(levels, dtype=object)[np.nan_to_num(y + 1).astype(int)]
        else:
            y = _to_whole_numbers(y)
        feature_positions = [j for j in range(len(names)) if j != column]
        rows, names = rows[:, feature_positions], [names[j] for j in feature_positions]
    return TableFile(rows, y, chosen, names, opened.name, "arff", notes, opened)


def _from_libsvm(
    opened: ByteSource, target: str | int | None, n_features: int | None, encoding: str
) -> TableFile:
    if target is not None:
        raise DataError(
            f"{opened.name} is a LIBSVM file, whose labels stand in front: leave out target"
        )
    X, y, notes = read_libsvm(opened, encoding, n_features=n_features)
    return TableFile(X, y, "label", DefaultNames(X.shape[1]), opened.name, "libsvm", notes, opened)


def _from_matlab(opened: ByteSource, target: str | int | None) -> TableFile:
    if isinstance(target, int):
        raise DataError(f"{opened.name} is a MATLAB file: name the variable with the labels")
    X, names, y, target_name, notes = read_matlab(opened, target=target)
    if target_name is not None:
        notes.append(f"the target is the variable {target_name!r}")
    if not scipy.sparse.issparse(X):
        X = as_floats(X)
        if names is not None:
            import polars as pl

            X = pl.from_numpy(np.asfortranarray(X), schema=names, orient="row")
    return TableFile(
        X, y, target_name, names or DefaultNames(X.shape[1]), opened.name, "matlab", notes, opened
    )


def _from_records(opened: ByteSource, target: str | int | None, encoding: str) -> TableFile:
    if target not in (None, "class"):
        raise DataError(f"{opened.name} has records with a label each: leave out target")
    X, y, notes = read_records(opened, encoding)
    return TableFile(X, y, "class", X.columns, opened.name, "records", notes, opened)


def _resolve_columns(
    opened: ByteSource, names: list[str], target: str | int | None, apart: Sequence[str | int]
) -> tuple[str | None, list[int]]:
    """Return the target's name, and the positions of `apart` and of the target."""
    find = ColumnFinder(names, opened.name)
    aside = [find(column, "column") for column in apart]
    if target is None:
        return None, aside
    position = find(target, "target")
    return names[position], [*aside, position]


def _split_target(
    opened: ByteSource,
    frame: Any,
    target: str | None,
    kind: str,
    notes: list[str],
    dialect: CsvDialect | None = None,
) -> TableFile:
    """Take the target out of a frame."""
    import polars as pl

    y = None
    if target is not None:
        y = _labels(frame[target])
        # polars would take some names for patterns, and is slow to drop one of many columns
        frame = pl.DataFrame([c for c in frame.get_columns() if c.name != target])
        if not frame.width:
            raise DataError(
                f"{opened.name} has no column but the target {target!r}: there is nothing to rank"
            )
    return TableFile(frame, y, target, frame.columns, opened.name, kind, notes, opened, dialect)


def _prepare_for_file(column: Any) -> Any:
    """Prepare a column for a file: missing values empty, whole numbers without decimals."""
    import polars as pl

    if not column.dtype.is_float():
        return column
    # without its name, which polars may take for a pattern
    name, column = column.name, column.alias("").fill_nan(None)
    present = column.drop_nulls()
    whole = present.is_finite().all() and (present == present.floor()).all()
    whole = whole and (present.abs() < 2**53).all()
    return (column.cast(pl.Int64) if whole else column).alias(name)


def _labels(column: Any) -> np.ndarray:
    """Return a target as an array: whole numbers, real ones, or text with None where missing."""
    import polars as pl

    if not column.dtype.is_numeric():
        if column.dtype in (pl.Categorical, pl.Enum, pl.Boolean):
            column = column.cast(pl.String)
        return np.array(column.to_list(), dtype=object)
    return _to_whole_numbers(column.to_numpy())


def _to_whole_numbers(values: np.ndarray) -> np.ndarray:
    """Convert a target of whole numbers to int64; leave others as they are."""
    whole = np.isfinite(values).all() and (values == np.floor(values)).all()
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values
