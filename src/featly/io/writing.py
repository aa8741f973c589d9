"""Files that are written whole or not at all."""

import contextlib
import errno
import gzip
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from featly.errors import DataError

__all__ = ["check_ending", "check_place", "separator_for", "whole_file", "write_frame"]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}
STANDARD_OUTPUT = "-"


def _ending(path: str | os.PathLike[str]) -> str:
    if str(path) == STANDARD_OUTPUT:
        return ".csv"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def separator_for(path: str | os.PathLike[str]) -> str | None:
    """What is put between the cells of a text file with this name; None for other formats."""
    return _SEPARATORS.get(_ending(path))


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to; it appears under its name when all is written, or not at all.

    What was there before stays until then, and stays for good if anything goes wrong. A name that
    ends in ``.gz`` is compressed. Pipes, devices and ``-``, which is standard output, are written
    to directly.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ranking.csv"
    >>> with whole_file(path) as out:
    ...     _ = out.write(b"feature,rank\\n")
    >>> path.read_bytes()
    b'feature,rank\\n'
    """
    if str(path) == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    given, device = str(path), Path(path)
    path = Path(os.path.realpath(path))
    with _said_aloud(given, path):
        if device.is_dir():
            raise IsADirectoryError(f"{given!r} is a directory: name a file in it")
        if device.exists() and not device.is_file():  # /dev/stdout is a link that leads nowhere
            with device.open("wb") as out:
                yield out
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # open() instead of tempfile: the file gets the rights that any new file gets
        draft = path.with_name(f".featly-{secrets.token_hex(8)}.part")
        file = os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb")
        try:
            with file:
                if path.suffix == ".gz":
                    with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                        yield packed  # type: ignore[misc]
                else:
                    yield file
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                os.chmod(draft, stat.S_IMODE(path.stat().st_mode))
            os.replace(draft, path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise


@contextlib.contextmanager
def _said_aloud(given: str, path: Path) -> Iterator[None]:
    """Problems of the system in one line that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.errno is None:  # it has words of ours already
            raise
        words = {
            errno.ENOSPC: "the disk is full. Make room, or write elsewhere",
            errno.EDQUOT: "the disk quota is used up. Make room, or write elsewhere",
            errno.EFBIG: "the file would be larger than allowed here. Write elsewhere",
            errno.EACCES: "permission denied. Write to a folder of yours",
            errno.EPERM: "permission denied. Write to a folder of yours",
            errno.EROFS: "the disk is read-only. Write elsewhere",
            errno.ENOENT: f"there is no folder {str(path.parent)!r}. Make it first",
            errno.ENOTDIR: f"{str(path.parent)!r} is no folder",
            errno.ENAMETOOLONG: "the name is too long",
        }
        reason = words.get(problem.errno, problem.strerror or str(problem))
        raise type(problem)(f"{given!r} was not written: {reason}") from None


def write_frame(frame: Any, path: str | os.PathLike[str], *, inert: bool = False) -> None:
    """Write a polars frame as CSV, TSV, JSON or parquet, by the ending of the name.

    A spreadsheet runs a cell of CSV that begins like a formula. With `inert`, such texts get a
    quote before them, which :func:`featly.io.knowledge.read_ranking` takes off again: for tables
    of featly's, in which names of columns are cells. A user's own table is written as it is.

    Examples
    --------
    >>> import tempfile, pathlib, polars as pl
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "ranking.json"
    >>> write_frame(pl.DataFrame({"feature": ["age"], "rank": [1]}), path)
    >>> path.read_text()
    '[{"feature":"age","rank":1}]'
    """
    ending = check_ending(path)
    # by way of memory: polars' own words for a full disk or a closed pipe are no help
    written = io.BytesIO()
    if ending in _SEPARATORS:
        frame = _inert(frame) if inert else frame
        frame.write_csv(written, separator=_SEPARATORS[ending])
    elif ending == ".json":
        frame.write_json(written)
    else:
        frame.write_parquet(written)
    with whole_file(path) as out:
        out.write(written.getbuffer())


# quotes before it are counted in, so that taking one off is always right
_FORMULA = r"^'*[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def _inert(frame: Any) -> Any:
    """Texts and names that no spreadsheet takes for a formula."""
    import polars as pl

    found = []
    for name, column in zip(frame.columns, frame.get_columns(), strict=True):
        if column.dtype == pl.String:
            runs = column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)
            quoted = pl.concat_str([pl.lit("'"), column])
            column = pl.select(pl.when(runs).then(quoted).otherwise(column)).to_series()
        runs_too = re.match(_FORMULA, name) and not re.match(_NUMBER, name)
        found.append(column.alias(f"'{name}" if runs_too else name))
    return pl.DataFrame(found)


def check_ending(path: str | os.PathLike[str], *, json: bool = True) -> str:
    """The ending of a file to write; DataError if featly has no writer for it."""
    ending = _ending(path)
    known = [".csv", ".tsv", ".parquet", *([".json"] if json else [])]
    if ending not in (*known, ".tab", ".txt", ".pq"):
        raise DataError(
            f"{str(path)!r}: the ending says how to write the file; give it one of "
            f"{', '.join(known)}"
        )
    return ending


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place that cannot be written to, before long work rather than after it."""
    if str(path) == STANDARD_OUTPUT:
        return
    place = Path(os.path.realpath(path))
    with _said_aloud(str(path), place):
        if place.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a directory: name a file in it")
        if Path(path).exists() and not place.exists():
            return  # a pipe behind /dev/stdout
        if not place.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        writable = place if place.exists() else place.parent
        if not os.access(writable, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
