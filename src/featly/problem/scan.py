"""From the path of a large file to a table that is read by blocks of columns."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from featly.basics.errors import DataError, Parameter
from featly.basics.resources import parse_bytes
from featly.io.stores.base import StoredTable
from featly.io.stores.files import DiskFile, describe_beginning
from featly.table import formats

__all__ = ["NotByColumnsError", "open_bed", "scan"]


class NotByColumnsError(DataError):
    """A file of a format that cannot be read by columns."""


def scan(
    path: str | os.PathLike[str],
    *,
    dataset: str | None = None,
    layer: str | None = None,
    target: str | int | None = None,
    without: Sequence[str | int] = (),
    memory_limit: int | str | None = None,
) -> StoredTable:
    """Open a table on disk, to be read by blocks of columns and never whole.

    The result takes the place of an array in ``fit``. The ending of the name decides the format:
    ``.npy``, ``.parquet``, ``.arrow`` or ``.feather``, ``.h5``, ``.hdf5``, ``.h5ad``, ``.zarr`` (a
    folder, or a ``.zip`` file), ``.bed`` (PLINK genotypes, with ``.bim`` and ``.fam`` beside it).

    Parameters
    ----------
    path : path
    dataset : str, optional
        Path of a matrix in an HDF5 file or Zarr store. Not needed if there is only one.
    layer : str, optional
        Name of a layer of an h5ad file, to be read instead of its X.
    target : str, optional
        The column to predict: of a parquet or Arrow file (by name or position, and then it is no
        longer one of the table's columns), of an h5ad file's obs, of a ``.fam`` file
        (``"phenotype"``), or a vector in an HDF5 file or Zarr store. It becomes ``y`` of the
        result.
    without : list of str or int, optional
        Columns of a parquet or Arrow file to leave out of the table, such as identifiers.
    memory_limit : int or str, optional
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Only for an h5ad matrix that is sparse by rows: to be read by columns, it is transposed
        once in memory.

    Returns
    -------
    StoredTable

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np, featly
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "X.npy"
    >>> np.save(path, np.asfortranarray([[0.1, 5.0], [0.3, 4.0], [0.9, 4.5], [1.1, 5.5]]))
    >>> X = featly.scan(path)
    >>> X.shape, X.dtype, X.feature_major
    ((4, 2), dtype('float64'), True)
    >>> X.read(1, 2).ravel()
    array([5. , 4. , 4.5, 5.5])
    """
    is_given = {
        "dataset": dataset is not None,
        "layer": layer is not None,
        "target": target is not None,
        "without": len(without) > 0,
        "memory_limit": memory_limit is not None,
    }
    kind = _detect_format(path)
    entry = formats.FORMATS[kind]
    for option in is_given:
        if is_given[option] and option not in entry.store_options:
            raise DataError(
                Parameter(option),
                f" is for {', '.join(_scanned_with(option))} files, but {str(path)!r} is read as "
                f"{kind}: leave ",
                Parameter(option),
                " out",
            )
    options: dict[str, Any] = {
        "dataset": dataset,
        "layer": layer,
        "target": target,
        "without": without,
        "memory_limit": None if memory_limit is None else parse_bytes(memory_limit),
    }
    taken = {name: value for name, value in options.items() if name in entry.store_options}
    table: StoredTable = formats.load_part(entry.store)(path, **taken)
    return table


def open_bed(path: Any, *, target: Any = None) -> StoredTable:
    """Open PLINK genotypes, which the compiled loops of the core unpack."""
    from featly.core.counts.genotypes import unpack_genotypes
    from featly.io.stores.bed import BedTable

    return BedTable(path, unpack=unpack_genotypes, target=target)


def _scanned_with(option: str) -> list[str]:
    return [name for name in formats.taking(option) if formats.FORMATS[name].store]


def _detect_format(path: str | os.PathLike[str]) -> str:
    """Return the format by the ending of the name, or raise DataError with a way to convert."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"scan takes the path of a file, not a {type(path).__name__}")
    location = Path(path)
    name, kind = repr(str(path)), formats.format_of_name(path, loosely=True)
    if location.is_dir():
        return _detect_folder_format(location, name)
    if kind is not None and formats.FORMATS[kind].store:
        return kind
    DiskFile(path).close()  # raises if there is no such file, or if it cannot be read
    if kind is not None and formats.FORMATS[kind].convert:
        line = formats.convert_command(kind, path)
        raise NotByColumnsError(f"{name} cannot be read by columns: convert it with {line}")
    suffix = location.suffix.lower()
    known = sorted(
        ending for kind in formats.scannable() for ending in formats.FORMATS[kind].suffixes
    )
    near = difflib.get_close_matches(suffix, known, n=1, cutoff=0.7)
    with DiskFile(path) as file:
        content = describe_beginning(file.head(4096))
    hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(known)}"
    inside = f". It begins like {content}" if content and content != "text" else ""
    ending = f"its ending {suffix!r} is none" if suffix else "it has no ending"
    raise DataError(f"{name} is in no format that is read by columns, {ending}{hint}{inside}")


def _detect_folder_format(folder: Path, name: str) -> str:
    kind = formats.format_of_folder(folder)
    if kind is not None:
        return kind
    stored = formats.scannable()
    inside = sorted(
        entry.name
        for entry in folder.iterdir()
        if formats.format_of_name(entry, loosely=True) in stored
    )
    example = f", such as {str(folder / inside[0])!r}" if inside else ""
    raise DataError(f"{name} is a folder without a Zarr array in it: name a file{example}")
