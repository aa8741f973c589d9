"""The parts of an h5ad file (anndata's on-disk format): obs, var and sparse matrices.

They are read by h5py: anndata reads all columns of a frame, and takes a second to import.
"""

from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.typing import AnyArray

__all__ = [
    "is_annotated",
    "observation_column",
    "observation_columns",
    "plain",
    "sparse_format",
    "sparse_shape",
    "variable_names",
]


def is_annotated(h5: Any) -> bool:
    """Return whether a file is one of anndata's."""
    return _text(h5.attrs.get("encoding-type")) == "anndata" or (
        "obs" in h5 and "var" in h5 and ("X" in h5 or "layers" in h5)
    )


def sparse_format(item: Any) -> str | None:
    """Return 'csr' or 'csc' for a group that is such a matrix, None for everything else."""
    if hasattr(item, "shape") or not hasattr(item, "attrs"):
        return None
    kind = _text(item.attrs.get("encoding-type")) or _text(item.attrs.get("h5sparse_format")) or ""
    return kind[:3] if kind[:3] in ("csr", "csc") else None


def sparse_shape(item: Any) -> tuple[int, ...]:
    """Return rows and columns of a sparse matrix."""
    shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape", ()))
    return tuple(int(size) for size in shape)


def variable_names(h5: Any, where: str) -> list[str] | None:
    """Return names of the columns of a matrix: those of the var next to it, else of the file."""
    folder = where.rpartition("/")[0]
    path = f"{folder}/var" if folder else "var"
    frame = h5.get(path if path in h5 else "var")
    index = _index(frame)
    return None if index is None else [str(name) for name in plain(frame[index]).tolist()]


def observation_columns(h5: Any) -> list[str]:
    """Return names of the columns of obs."""
    obs = h5.get("obs")
    if obs is None:
        return []
    if hasattr(obs, "shape"):
        raise DataError(
            f"{h5.filename!r} has its obs in the form of anndata before 0.7: read it with anndata "
            "and write it again"
        )
    index = _index(obs)
    return [name for name in obs if name not in (index, "__categories")]


def observation_column(h5: Any, name: str) -> np.ndarray:
    """Return a column of obs: numbers, or objects with None where a value is missing."""
    item = h5["obs"][name]
    if not hasattr(item, "shape"):
        if "codes" in item and "categories" in item:
            return _levels(item["codes"][:], plain(item["categories"]))
        if "values" in item and "mask" in item:
            return _apply_mask(plain(item["values"]), item["mask"][:])
        kind = _text(item.attrs.get("encoding-type"))
        raise DataError(
            f"column {name!r} of {h5.filename!r} is stored as {kind!r}, which is not read: make "
            "it numbers or text"
        )
    # before 0.8, a column of codes pointed to its categories
    categories = item.attrs.get("categories")
    if categories is not None:
        return _levels(item[:], plain(h5[categories]))
    return plain(item)


def plain(item: Any) -> np.ndarray:
    """Return a dataset as an array; text as objects."""
    values: AnyArray = item[:]
    if values.dtype.kind in "OS":
        text = np.empty(len(values), object)
        text[:] = [v.decode(errors="replace") if isinstance(v, bytes) else v for v in values]
        return text
    return values


def _levels(codes: np.ndarray, levels: np.ndarray) -> np.ndarray:
    known: AnyArray = np.empty(len(levels) + 1, object)
    known[:-1], known[-1] = levels.tolist(), None  # code -1 is a missing value
    if len(codes) and not -1 <= codes.min() <= codes.max() < len(levels):
        raise DataError("a categorical column has codes beyond its categories: it is damaged")
    column: AnyArray = known[codes]
    return column


def _apply_mask(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if not mask.any():
        return values
    if values.dtype.kind in "iuf":
        return np.where(mask, np.nan, values.astype(np.float64))
    objects = values.astype(object)
    objects[mask] = None
    return objects


def _index(frame: Any) -> str | None:
    """Return the name of the column that holds a frame's row names, or None."""
    if frame is None or hasattr(frame, "shape"):
        return None
    name = _text(frame.attrs.get("_index")) or "_index"
    return name if name in frame else None


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
