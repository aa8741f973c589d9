"""Readers of text and MATLAB: from an open file to a table in memory, with notes on the file.

:mod:`featly.table.formats` says which format has which.
"""

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError, Parameter
from featly.io import delimited
from featly.io.arff import read_arff, read_header
from featly.io.csv_dialect import detect_dialect
from featly.io.libsvm import read_libsvm
from featly.io.matlab import read_matlab
from featly.io.records import read_records
from featly.io.table_file import Reading, TableFile, split_target, to_whole_numbers
from featly.table.frames import DefaultNames, as_floats

__all__ = [
    "read_arff_file",
    "read_libsvm_file",
    "read_matlab_file",
    "read_records_file",
    "read_text",
]


def read_text(reading: Reading) -> TableFile:
    """Read CSV or TSV."""
    opened = reading.opened
    dialect, notes = detect_dialect(
        opened,
        separator=reading.separator,
        encoding=reading.encoding,
        header=reading.header,
        missing=reading.missing,
    )
    chosen, aside = reading.columns(dialect.names)
    frame, final = delimited.read_delimited(
        opened,
        dialect,
        progress=reading.progress,
        apart=aside,
        auto_encoding=reading.encoding is None,
    )
    if final.encoding != dialect.encoding:
        notes.append(f"encoding {final.encoding}, as far as one can tell")
    kind = "tsv" if final.separator == "\t" else "csv"
    return split_target(opened, frame, chosen, kind, notes, final)


def read_arff_file(reading: Reading) -> TableFile:
    """Read an ARFF or KEEL file."""
    return reading.in_encoding(lambda encoding: _read_arff(reading, encoding))


def _read_arff(reading: Reading, encoding: str) -> TableFile:
    opened, notes = reading.opened, []
    header = read_header(opened, encoding)
    header.missing = (*header.missing, *reading.missing)
    names = header.names
    chosen, aside = reading.columns(names)
    if reading.target is None:
        chosen = header.target()
        if chosen is not None:
            notes.append(f"the target is {chosen!r}")
            aside.append(names.index(chosen))
    rows, sparse = read_arff(
        opened, header, encoding, target=chosen, apart=aside, progress=reading.progress
    )
    if sparse:
        notes.append("sparse rows")
    if not scipy.sparse.issparse(rows):
        return split_target(opened, rows, chosen, "arff", notes)
    y = None
    if chosen is not None:
        column = names.index(chosen)
        y = np.ravel(rows[:, [column]].toarray())
        if column in header.levels:
            levels = [None, *header.levels[column]]
            y = np.array(levels, dtype=object)[np.nan_to_num(y + 1).astype(int)]
        else:
            y = to_whole_numbers(y)
        feature_positions = [j for j in range(len(names)) if j != column]
        rows, names = rows[:, feature_positions], [names[j] for j in feature_positions]
    return TableFile(rows, y, chosen, names, opened.name, "arff", notes, opened)


def read_libsvm_file(reading: Reading) -> TableFile:
    """Read a LIBSVM or SVMlight file."""
    opened = reading.opened
    if reading.target is not None:
        raise DataError(
            f"{opened.name} is a LIBSVM file, whose labels stand in front: leave out ",
            Parameter("target"),
        )

    def read(encoding: str) -> TableFile:
        X, y, notes = read_libsvm(opened, encoding, n_features=reading.n_features)
        names = DefaultNames(X.shape[1])
        return TableFile(X, y, "label", names, opened.name, "libsvm", notes, opened)

    return reading.in_encoding(read)


def read_matlab_file(reading: Reading) -> TableFile:
    """Read a MATLAB file up to version 7."""
    opened, target = reading.opened, reading.target
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


def read_records_file(reading: Reading) -> TableFile:
    """Read records: a label, a block of numbers, a blank line."""
    opened = reading.opened
    if reading.target not in (None, "class"):
        raise DataError(
            f"{opened.name} has records with a label each: leave out ", Parameter("target")
        )

    def read(encoding: str) -> TableFile:
        X, y, notes = read_records(opened, encoding)
        return TableFile(X, y, "class", X.columns, opened.name, "records", notes, opened)

    return reading.in_encoding(read)
