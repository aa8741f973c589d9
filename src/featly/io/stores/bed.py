"""PLINK 1 binary genotypes, two bits each, with the ``.bim`` and ``.fam`` files beside them.

featly has a reader of its own because bed-reader decodes all requested variants at once; here, a
method can have the packed bytes, and a file that was cut is detected.

Purcell, S. et al. (2007), PLINK: a tool set for whole-genome association and population-based
linkage analyses, *American Journal of Human Genetics* 81, 559-575; format: www.cog-genomics.org.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.column_lookup import ColumnFinder
from featly.io.stores.base import GAP_BYTES, SPAN_BYTES, StoredTable, spans
from featly.io.stores.files import Buffers, DiskFile, describe_beginning
from featly.io.stores.lines import LineWords

__all__ = ["BedTable"]

MAGIC = b"l\x1b"
HEADER = 3
NAME_COLUMN = 1  # of a .bim file
MISSING = 3
PEOPLE = ("fid", "iid", "father", "mother", "sex", "phenotype")

Unpack = Callable[[np.ndarray, np.ndarray], None]


class BedTable(StoredTable):
    """Genotypes of a PLINK ``.bed`` file.

    A genotype is how often the first allele of the ``.bim`` file occurs in it, 0, 1 or 2; 3 is a
    missing one.

    Parameters
    ----------
    path : path
    unpack : callable
        ``unpack(packed, out)`` decodes rows of bytes into rows of genotypes.
    target : str, optional
        A column of the ``.fam`` file, such as ``"phenotype"``.
    """

    kind = "bed"
    missing: int = MISSING
    feature_major = True

    def __init__(
        self, path: str | os.PathLike[str], *, unpack: Unpack, target: str | None = None
    ) -> None:
        super().__init__(path, unpack=unpack, target=target)
        self.dtype: np.dtype[Any] = np.dtype(np.uint8)
        self._unpack = unpack
        self._open_files: list[DiskFile] = []
        try:
            self._bed = self._open(Path(path))
            self._check_beginning()
            self._fam = self._open(_find_companion(Path(path), ".fam", self.name))
            self._bim = self._open(_find_companion(Path(path), ".bim", self.name))
            # a file of its own: a fitted method reads names after the table was closed
            self._names = LineWords(DiskFile(self._bim.place), NAME_COLUMN)
            self.n_features: int = len(self._names)
            self.n_rows: int = len(LineWords(self._fam, 0))
            self._line = -(-self.n_rows // 4)
            self._check_size()
            if target is not None:
                people = f"the .fam file of {self.name}"
                self.target: str = PEOPLE[ColumnFinder(PEOPLE, people)(target, "target")]
        except BaseException:
            self.close()
            raise
        self.nbytes: int = self.n_features * self._line
        self._buffers = Buffers()
        self._bed.advise_sequential()

    def _open(self, path: Path) -> DiskFile:
        file = DiskFile(path)
        self._open_files.append(file)
        return file

    def _check_beginning(self) -> None:
        start = self._bed.head(4096)
        if not start.startswith(MAGIC):
            content = describe_beginning(start)
            remedy = (
                "it is text; a .bed file of genomic regions has no genotypes"
                if content == "text"
                else f"it begins like {content}"
                if content
                else "write it with plink --make-bed"
            )
            raise DataError(f"{self.name} is no PLINK .bed file: {remedy}")
        stem = self.path.with_suffix("").name
        if start[2:3] == b"\x00":
            raise DataError(
                f"{self.name} has its genotypes person by person, but variant by variant is "
                f"needed: convert it with plink --bfile {stem} --make-bed --out {stem}_by_variant"
            )
        if start[2:3] != b"\x01":
            raise DataError(f"{self.name} is damaged in its third byte: copy or write it again")

    def _check_size(self) -> None:
        expected = HEADER + self.n_features * self._line
        size = self._bed.size
        if size == expected:
            return
        counts = f"{self.n_features} variants (.bim) of {self.n_rows} people (.fam)"
        if size < expected:
            raise DataError(
                f"{self.name} has {size} bytes, where {counts} take {expected}: it is cut, or .bim "
                "or .fam belong to another file. Copy or write it again"
            )
        raise DataError(
            f"{self.name} has {size} bytes, where {counts} take {expected}: .bim or .fam are cut, "
            "or belong to another file. Copy or write them again"
        )

    @property
    def names(self) -> Sequence[str]:
        """Names of the variants, from the ``.bim`` file."""
        return self._names

    # ---- reading ----------------------------------------------------------------------------
    def read_packed(self, low: int, high: int) -> np.ndarray:
        """Read the raw bytes of variants ``low:high``, of shape (high - low, ceil(n_rows / 4)).

        Two bits a person, the lowest first: 0 is 2, 1 is missing, 2 is 1 and 3 is 0.
        """
        self._check_range(low, high)
        start = HEADER + low * self._line
        raw = self._buffers.lend((high - low) * self._line, start)
        self._bed.read_into(raw, start)
        self._bed.confirm()
        return raw.reshape(high - low, self._line)

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._decode(self.read_packed(low, high))

    def _take(self, columns: np.ndarray) -> np.ndarray:
        packed = np.empty((len(columns), self._line), np.uint8)
        done = 0
        most = max(1, SPAN_BYTES // self._line)
        for part in spans(columns, GAP_BYTES // self._line, most):
            low, high = int(part[0]), int(part[-1]) + 1
            block = self.read_packed(low, high)
            packed[done : done + len(part)] = block[part - low]
            done += len(part)
        return self._decode(packed)

    def _decode(self, packed: np.ndarray) -> np.ndarray:
        out = self._buffers.lend(len(packed) * self.n_rows).reshape(len(packed), self.n_rows)
        self._unpack(packed, out)
        return out.T

    # ---- people -----------------------------------------------------------------------------
    def _target_names(self) -> list[str]:
        """Return the columns of the ``.fam`` file that are offered as a target."""
        return ["phenotype", "sex"]

    def column(self, name: str) -> np.ndarray | None:
        """Return a column of the ``.fam`` file: fid, iid, father, mother, sex or phenotype.

        A phenotype of nothing but 1, 2, 0 and -9 is that of controls (1) and cases (2), where 0
        and -9 are missing; any other is a measurement, where -9 is missing. Missing ones are NaN.
        """
        if name not in PEOPLE:
            return None
        position = PEOPLE.index(name)
        words = list(LineWords(self._fam, position))
        if position < PEOPLE.index("sex"):
            texts = np.empty(len(words), object)
            texts[:] = words
            return texts
        return _numbers(words, name, self._fam.name)

    # ---- the files --------------------------------------------------------------------------
    def _files(self) -> Sequence[DiskFile]:
        return self._open_files

    def _fingerprint_parts(self) -> Any:
        return None  # a table of genotypes is the whole file

    def close(self) -> None:
        """Close the files."""
        super().close()
        if hasattr(self, "_buffers"):
            self._buffers.clear()


def _find_companion(path: Path, suffix: str, name: str) -> Path:
    companion = path.with_suffix(suffix)
    if not companion.exists() and path.with_suffix(suffix.upper()).exists():
        companion = path.with_suffix(suffix.upper())
    if not companion.exists():
        raise DataError(
            f"{name} has no {suffix} file beside it: put {companion.name!r} into the same folder"
        )
    return companion


def _numbers(words: Sequence[str], name: str, source: str) -> np.ndarray:
    """Return sex or phenotype as numbers."""
    values = np.empty(len(words))
    for k, word in enumerate(words):
        try:
            values[k] = np.nan if word in ("NA", "na", "NaN", "nan") else float(word)
        except ValueError:
            raise DataError(
                f"line {k + 1} of {source} has {word[:40]!r} as {name}, which is no number: "
                "correct it, or write -9 for a missing one"
            ) from None
    coded = name == "sex" or bool(np.isin(values[np.isfinite(values)], (-9, 0, 1, 2)).all())
    values[np.isin(values, (-9, 0) if coded else (-9,))] = np.nan
    return values.astype(np.int64) if coded and np.isfinite(values).all() else values
