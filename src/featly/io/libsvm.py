"""LIBSVM (SVMlight) files: a label, then ``index:value`` for every value that is not zero."""

import io
import itertools
import re
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource, row_chunks

__all__ = ["is_libsvm_line", "is_libsvm_text", "read_libsvm"]

MOST_FEATURES = 50_000_000  # a larger index is taken for an error
_ROW = re.compile(rb"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:\s+qid:\d+)?(?:\s+\d+:[^\s:]+)*\s*(?:#.*)?")


def is_libsvm_text(text: str) -> bool:
    """Return whether the first lines of a text are LIBSVM's; the last one may be cut."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]
    return len(lines) > 1 and all(is_libsvm_line(line.encode()) for line in lines[:3][:-1])


def is_libsvm_line(line: bytes) -> bool:
    """Return whether a line is a label followed by at least one ``index:value``."""
    return b":" in line and _ROW.fullmatch(line.strip()) is not None


def read_libsvm(
    opened: ByteSource, encoding: str = "utf-8", *, n_features: int | None = None
) -> tuple[Any, np.ndarray, list[str]]:
    """Read a sparse matrix, its labels and notes for the user.

    Indices count from 1, as LIBSVM writes them, unless the file has an index 0.
    """
    from sklearn.datasets import load_svmlight_file

    parts, labels = [], []
    for line, chunk in row_chunks(opened, encoding, quote=b""):
        try:
            X, y = load_svmlight_file(io.BytesIO(chunk), zero_based=True)
        except Exception as problem:
            raise _row_error(opened, line, chunk, problem) from None
        if X.shape[1] > MOST_FEATURES + 1 and n_features is None:
            index = X.shape[1] - 1
            line += chunk[: chunk.rfind(b" %d:" % index)].count(b"\n")
            raise DataError(
                f"line {line} of {opened.name} has the index {index}, which looks like a slip: "
                "correct it, or say how many features there are (n_features)"
            )
        parts.append(X)
        labels.append(y)
    y = np.concatenate(labels) if labels else np.zeros(0)
    if not len(y):
        raise DataError(f"{opened.name} has no rows: there is nothing to rank")
    width = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], width)
    matrix = scipy.sparse.csc_array(scipy.sparse.vstack(parts, format="csc"))
    zero_based = bool(matrix.indptr[1] > 0)
    notes = ["indices count from 0" if zero_based else "indices count from 1"]
    if not zero_based:
        matrix = matrix[:, 1:]
    if n_features is not None:
        if matrix.shape[1] > n_features:
            raise DataError(
                f"{opened.name} has an index for column {matrix.shape[1]}, more than the "
                f"{n_features} features that were named"
            )
        matrix.resize(matrix.shape[0], n_features)
    if matrix.shape[1] == 0:
        raise DataError(f"{opened.name} has labels but no index:value: there is nothing to rank")
    if np.isfinite(y).all() and (y == np.floor(y)).all() and np.abs(y).max() < 2**53:
        y = y.astype(np.int64)
    return matrix, y, notes


def _row_error(opened: ByteSource, first: int, chunk: bytes, problem: Exception) -> DataError:
    """Return an error that names the line that cannot be read."""
    for k, line in enumerate(chunk.split(b"\n")):
        text = line.strip()
        if not text or text.startswith(b"#"):
            continue
        shown = text[:60].decode(errors="replace")
        where = f"line {first + k} of {opened.name}"
        if not _ROW.fullmatch(text):
            return DataError(
                f"{where} is no LIBSVM row: {shown!r}. It has a label, then index:value pairs; "
                "correct the line"
            )
        indices = [int(index[:20]) for index in re.findall(rb"\s(\d+):", text.split(b"#")[0])]
        if any(b <= a for a, b in itertools.pairwise(indices)):
            return DataError(f"{where} does not have its indices in ascending order: sort them")
        if indices and indices[-1] > 2**31 - 2:
            return DataError(f"{where} has the index {indices[-1]}, which is too large: correct it")
        for cell in re.findall(rb"\s\d+:([^\s#]+)", text.split(b"#")[0]):
            try:
                float(cell)
            except ValueError:
                return DataError(f"{where} has the value {cell.decode(errors='replace')!r}, which "
                                 "is no number")  # fmt: skip
    return DataError(
        f"{opened.name} cannot be read from line {first} on ({str(problem)[:100]}): it is no "
        "LIBSVM file, or damaged"
    )
