"""From the path of a large file to a table that is read by blocks of columns."""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from featly.basics.errors import DataError, Parameter
from featly.io.stores.base import StoredTable
from featly.io.stores.files import DiskFile, describe_beginning

__all__ = ["NotByColumnsError", "scan"]

_FORMATS = {
    ".npy": "npy",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".h5ad": "hdf5",
    ".zarr": "zarr",
    ".zip": "zarr",
    ".bed": "bed",
}
_OPTIONS = {
    "dataset": ("hdf5", "zarr"),
    "layer": ("hdf5",),
    "memory_limit": ("hdf5",),
    "target": ("parquet", "hdf5", "zarr", "bed"),
    "without": ("parquet",),
}
# formats that cannot be read by columns, and a command that converts them to one that can
_REMEDIES = {
    **dict.fromkeys((".csv", ".txt"), "polars.scan_csv({path}).sink_parquet({parquet})"),
    **dict.fromkeys(
        (".tsv", ".tab"), "polars.scan_csv({path}, separator='\\t').sink_parquet({parquet})"
    ),
    **dict.fromkeys(
        (".arrow", ".ipc", ".feather"), "polars.scan_ipc({path}).sink_parquet({parquet})"
    ),
    ".npz": "numpy.save({npy}, numpy.load({path})['X'])",
    ".mat": "numpy.save({npy}, featly.read_table({path}).X)",
    ".arff": "featly.read_table({path}).X.write_parquet({parquet})",
    ".pgen": "plink2 --pfile {bare} --make-bed --out {bare}",
    **dict.fromkeys((".vcf", ".bcf"), "plink2 --vcf {shown} --make-bed --out {bare}"),
    ".bgen": "plink2 --bgen {shown} --make-bed --out {bare}",
}


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
    ``.npy``, ``.parquet``, ``.h5``, ``.hdf5``, ``.h5ad``, ``.zarr`` (a folder, or a ``.zip``
    file), ``.bed`` (PLINK genotypes, with ``.bim`` and ``.fam`` beside it).

    Parameters
    ----------
    path : path
    dataset : str, optional
        Path of a matrix in an HDF5 file or Zarr store. Not needed if there is only one.
    layer : str, optional
        Name of a layer of an h5ad file, to be read instead of its X.
    target : str, optional
        The column to predict: of a parquet file (by name or position, and then it is no longer one
        of the table's columns), of an h5ad file's obs, of a ``.fam`` file (``"phenotype"``), or a
        vector in an HDF5 file or Zarr store. It becomes ``y`` of the result.
    without : list of str or int, optional
        Columns of a parquet file to leave out of the table, such as identifiers.
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
    for option in is_given:
        if is_given[option] and kind not in _OPTIONS[option]:
            raise DataError(
                Parameter(option),
                f" is for {', '.join(_OPTIONS[option])} files, but {str(path)!r} is read as "
                f"{kind}: leave ",
                Parameter(option),
                " out",
            )
    options = {"dataset": dataset, "layer": layer, "memory_limit": memory_limit}
    return _OPENERS[kind](path, target=target, without=without, **options)


# ---- formats, each loaded when it is needed -----------------------------------------------
def _open_npy(path: Any, **_: Any) -> StoredTable:
    from featly.io.stores.npy import NpyTable

    return NpyTable(path)


def _open_parquet(path: Any, *, target: Any, without: Any, **_: Any) -> StoredTable:
    from featly.io.stores.parquet import ParquetTable

    return ParquetTable(path, target=target, without=without)


def _open_hdf5(path: Any, *, memory_limit: Any, without: Any, **options: Any) -> StoredTable:
    from featly.basics.resources import parse_bytes
    from featly.io.stores.hdf5 import Hdf5Table

    limit = None if memory_limit is None else parse_bytes(memory_limit)
    return Hdf5Table(path, memory_limit=limit, **options)


def _open_zarr(path: Any, *, dataset: Any, target: Any, **_: Any) -> StoredTable:
    from featly.io.stores.zarr import ZarrTable

    return ZarrTable(path, dataset=dataset, target=target)


def _open_bed(path: Any, *, target: Any, **_: Any) -> StoredTable:
    from featly.core.counts.genotypes import unpack_genotypes
    from featly.io.stores.bed import BedTable

    return BedTable(path, unpack=unpack_genotypes, target=target)


_OPENERS: dict[str, Callable[..., StoredTable]] = {
    "npy": _open_npy,
    "parquet": _open_parquet,
    "hdf5": _open_hdf5,
    "zarr": _open_zarr,
    "bed": _open_bed,
}


def _detect_format(path: str | os.PathLike[str]) -> str:
    """Return the format by the ending of the name, or raise DataError with a way to convert."""
    if not isinstance(path, str | os.PathLike):
        raise DataError(f"scan takes the path of a file, not a {type(path).__name__}")
    location = Path(path)
    suffix, name = location.suffix.lower(), repr(str(path))
    kind = _FORMATS.get(suffix)
    if location.is_dir():
        return _detect_folder_format(location, name, kind)
    if kind is not None:
        return kind
    DiskFile(path).close()  # raises if there is no such file, or if it cannot be read
    if suffix in _REMEDIES:
        stem = str(location.with_suffix(""))
        line = _REMEDIES[suffix].format(
            path=name,
            shown=str(location),
            bare=stem,
            parquet=repr(f"{stem}.parquet"),
            npy=repr(f"{stem}.npy"),
        )
        raise NotByColumnsError(f"{name} cannot be read by columns: convert it with {line}")
    known = sorted(_FORMATS)
    near = difflib.get_close_matches(suffix, known, n=1, cutoff=0.7)
    with DiskFile(path) as file:
        content = describe_beginning(file.head(4096))
    hint = f"; did you mean {near[0]!r}?" if near else f": there are {', '.join(known)}"
    inside = f". It begins like {content}" if content and content != "text" else ""
    ending = f"its ending {suffix!r} is none" if suffix else "it has no ending"
    raise DataError(f"{name} is in no format that is read by columns, {ending}{hint}{inside}")


def _detect_folder_format(folder: Path, name: str, kind: str | None) -> str:
    from featly.io.stores.zarr import is_zarr_folder

    if is_zarr_folder(folder):
        return "zarr"
    inside = sorted(entry.name for entry in folder.iterdir() if entry.suffix.lower() in _FORMATS)
    example = f", such as {str(folder / inside[0])!r}" if inside else ""
    raise DataError(f"{name} is a folder without a Zarr array in it: name a file{example}")
