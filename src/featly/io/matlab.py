"""MATLAB files: the matrix X, the labels Y, and names of columns where there are some."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource
from featly.io.mat5 import check_structure

__all__ = ["read_matlab"]

TARGETS = ("y", "label", "labels", "class", "classes", "target", "gnd", "group")
HDF5 = b"\x89HDF\r\n\x1a\n"


def read_matlab(
    opened: ByteSource, *, target: str | None = None
) -> tuple[Any, list[str] | None, Any, str | None, list[str]]:
    """Read the table, its column names, its labels, their name, and notes for the user."""
    import scipy.io

    if opened.compression:
        raise DataError(f"{opened.name} is a compressed MATLAB file: decompress it first")
    if opened.head(520)[512:] == HDF5:
        raise DataError(
            f"{opened.name} is in MATLAB's format 7.3 (HDF5), which featly does not read: save it "
            "in MATLAB with the option '-v7'"
        )
    try:
        content = _load(opened)
    except Exception as problem:
        reason = str(problem).split("\n")[0][:100]
        raise DataError(
            f"{opened.name} cannot be read as a MATLAB file ({reason}): it is cut or damaged. Copy "
            "or download it again"
        ) from None
    variables = {name: value for name, value in content.items() if not name.startswith("__")}
    name = _table_name(opened, variables)
    X = variables.pop(name)
    notes = [f"the table is the variable {name!r}"]
    if X.dtype.kind == "c":
        raise DataError(f"variable {name!r} of {opened.name} is complex: take its real part")
    if scipy.sparse.issparse(X):
        X = scipy.sparse.csc_array(X)
        X = X if X.dtype.kind == "f" else X.astype(np.float64)
    elif X.dtype.kind == "b":
        X = X.astype(np.uint8)
    names = _column_names(variables, X.shape[1], notes)
    labels, labels_name = _labels(opened, variables, X.shape[0], target)
    return X, names, labels, labels_name, notes


def _load(opened: ByteSource) -> dict[str, Any]:
    """Load all variables of a file; its structure is checked first, as damage can crash SciPy."""
    import scipy.io.matlab

    if scipy.io.matlab.matfile_version(opened.stream())[0] == 1:
        check_structure(opened.stream(), opened.size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # 'data may be corrupt'
        warnings.simplefilter("ignore", scipy.io.matlab.MatReadWarning)
        content: dict[str, Any] = scipy.io.loadmat(opened.stream(), chars_as_strings=True)
    for value in content.values():
        if scipy.sparse.issparse(value):
            value.check_format(full_check=True)  # no index out of bounds
    return content


def _is_matrix(value: Any) -> bool:
    if scipy.sparse.issparse(value):
        return True
    return isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "biufc"


def _list_shapes(variables: dict[str, Any]) -> str:
    shown = [
        f"{name} {'x'.join(map(str, value.shape))}"
        for name, value in list(variables.items())[:8]
        if hasattr(value, "shape")
    ]
    return ", ".join(shown) or "none"


def _table_name(opened: ByteSource, variables: dict[str, Any]) -> str:
    """Return the name of the variable that is the table: X, or the only matrix."""
    tables = [name for name, value in variables.items() if _is_matrix(value) and min(value.shape)]
    for name in ("X", "x", "data", "fea"):
        if name in tables:
            return name
    wide = [name for name in tables if min(variables[name].shape) > 1]
    if len(wide) == 1:
        return wide[0]
    raise DataError(
        f"{opened.name} has no matrix called 'X', and not just one matrix (variables: "
        f"{_list_shapes(variables)}): save the table as 'X' and the labels as 'Y'"
    )


def _column_names(variables: dict[str, Any], width: int, notes: list[str]) -> list[str] | None:
    """Return names of columns from a cell array with one text a column, or None."""
    for key, value in variables.items():
        if not isinstance(value, np.ndarray) or value.size != width or value.dtype.kind not in "OU":
            continue
        if "name" not in key.lower() and "feature" not in key.lower():
            continue
        names = [_cell_text(cell) for cell in value.ravel()]
        if all(names) and len(set(names)) == width:
            notes.append(f"names of the columns are in {key!r}")
            return [str(name) for name in names]
    return None


def _cell_text(cell: Any) -> str | None:
    while isinstance(cell, np.ndarray):
        if cell.size != 1:
            return None
        cell = cell.ravel()[0]
    return str(cell).strip() if isinstance(cell, str | np.str_) else None


def _labels(
    opened: ByteSource, variables: dict[str, Any], n_rows: int, target: str | None
) -> tuple[Any, str | None]:
    candidates = {
        name: value
        for name, value in variables.items()
        if isinstance(value, np.ndarray) and value.size == n_rows and value.dtype.kind in "biufOU"
    }
    if target is not None:
        if target not in candidates:
            raise DataError(
                f"{opened.name} has no variable {target!r} with {n_rows} labels (variables: "
                f"{_list_shapes(variables)})"
            )
        chosen = target
    else:
        likely = [name for name in candidates if name.lower() in TARGETS]
        if not likely:
            return None, None
        chosen = likely[0]
    values = candidates[chosen].ravel()
    if values.dtype.kind == "O":
        texts = [_cell_text(cell) for cell in values]
        numbers = [cell.ravel()[0] if getattr(cell, "size", 0) == 1 else None for cell in values]
        values = np.array(texts if all(t is not None for t in texts) else numbers)
    if values.dtype.kind == "U":
        values = np.char.strip(values)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values % 1 == 0).all():
        values = values.astype(np.int64)
    return values, chosen
