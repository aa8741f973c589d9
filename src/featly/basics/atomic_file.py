"""Files that are written whole or not at all."""

import contextlib
import errno
import gzip
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ["STANDARD_OUTPUT", "check_writable", "whole_file"]

STANDARD_OUTPUT = "-"


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for bytes that appears under its name when all is written, or not at all.

    An older file of that name stays until then, and stays if anything goes wrong. A file whose
    name ends in ``.gz`` is compressed. Pipes, devices and ``-``, which is standard output, are
    written to directly.

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
    shown, device = str(path), Path(path)
    path = Path(os.path.realpath(path))
    with _explain_os_errors(shown, path):
        if device.is_dir():
            raise IsADirectoryError(f"{shown!r} is a directory: name a file in it")
        if device.exists() and not device.is_file():  # /dev/stdout is a link that leads nowhere
            with device.open("wb") as out:
                yield out
            return
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # open() instead of tempfile: the file gets the permissions of any new file
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
def _explain_os_errors(shown: str, path: Path) -> Iterator[None]:
    """Turn an error of the system into an error of one line that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as problem:
        if problem.errno is None:  # the message is featly's own
            raise
        reasons = {
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
        reason = reasons.get(problem.errno, problem.strerror or str(problem))
        raise type(problem)(f"{shown!r} was not written: {reason}") from None


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError for a path that cannot be written to, before long work rather than after it."""
    if str(path) == STANDARD_OUTPUT:
        return
    target = Path(os.path.realpath(path))
    with _explain_os_errors(str(path), target):
        if target.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a directory: name a file in it")
        if Path(path).exists() and not target.exists():
            return  # a pipe behind /dev/stdout
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        writable = target if target.exists() else target.parent
        if not os.access(writable, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
