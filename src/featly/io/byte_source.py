"""A file or standard input as bytes that can be read from the start as often as needed."""

import bz2
import codecs
import difflib
import gzip
import io
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from featly.basics.errors import DataError

__all__ = [
    "ByteSource",
    "NotInEncodingError",
    "guess_encoding",
    "is_text",
    "most_rows",
    "resolve_encoding",
    "row_chunks",
    "text_chunks",
]

CHUNK_BYTES = 1 << 24
LONGEST_ROW = 1 << 28  # bytes: ten million columns of 25 characters

_COMPRESSED: dict[bytes, tuple[str, Any]] = {
    b"\x1f\x8b": ("gzip", gzip.open),
    b"BZh": ("bzip2", bz2.open),
    b"\xfd7zXZ\x00": ("xz", lzma.open),
}


class ByteSource:
    """Bytes of a file, decompressed where need be; ``-`` is standard input.

    Standard input is copied to a temporary file first: some formats are read twice.

    Attributes
    ----------
    name : str
        The file in messages.
    compression : str or None
    """

    compression: str | None
    _decompress: Callable[[BinaryIO], BinaryIO] | None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path | None = None if str(path) == "-" else Path(path)
        self.name: str = "standard input" if self.path is None else repr(str(path))
        self._copied = self.path is None
        if self.path is None:
            self._file = _copy_input()
        else:
            self._file, self._copied = _open(self.path, self.name)
        self._begin()

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> Self:
        """Return a source of bytes that were made of a file, which is `name` in messages."""
        source = cls.__new__(cls)
        source.path, source.name, source._copied = None, name, True
        source._file = io.BytesIO(content)
        source._begin()
        return source

    def _begin(self) -> None:
        """Look at the size and the first bytes of the open file."""
        self._state = self._read_state()
        self.size: int = self._state[0]
        if self.size == 0:
            self.close()
            raise DataError(f"{self.name} is empty: no table is in it")
        start = self._file.read(8)
        matches = [entry for magic, entry in _COMPRESSED.items() if start.startswith(magic)]
        self.compression, self._decompress = matches[0] if matches else (None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_state(self) -> tuple[int, int]:
        if isinstance(self._file, io.BytesIO):
            return self._file.getbuffer().nbytes, 0
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def close(self) -> None:
        """Close the file; ``stream`` opens it again."""
        self._file.close()

    def release(self) -> None:
        """Close the file if it can be opened again: a copy of standard input stays open."""
        if self.reopenable_path is not None:
            self._file.close()

    @property
    def reopenable_path(self) -> Path | None:
        """Path of the file, unless it can be read only once."""
        return None if self._copied else self.path

    @property
    def suffix(self) -> str:
        """Last part of the name in small letters, without that of a compression."""
        if self.path is None:
            return ""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if self.compression and suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @property
    def position(self) -> int:
        """Bytes of the file that have been read, of `size`."""
        return self._file.tell()

    def stream(self) -> BinaryIO:
        """Return the bytes from the start; one stream at a time."""
        if self._file.closed:
            if self.reopenable_path is None:
                raise DataError(f"{self.name} is closed: read it again")
            self._file, self._copied = _open(self.reopenable_path, self.name)
        if self._read_state() != self._state:
            self.close()
            raise DataError(f"{self.name} changed while it was in use: start again")
        self._file.seek(0)
        return self._decompress(self._file) if self._decompress else self._file

    def read(self, stream: BinaryIO, count: int = -1) -> bytes:
        """Read from a stream of this file; a cut or damaged compressed file is a DataError."""
        try:
            return stream.read(count)
        except EOFError:
            raise DataError(
                f"{self.name} is cut: its {self.compression} data end in the middle. "
                "Copy or download it again"
            ) from None
        except (OSError, zlib.error, lzma.LZMAError) as problem:
            raise DataError(
                f"{self.name} cannot be read to its end ({problem}): it is damaged. "
                "Copy or download it again"
            ) from None

    def head(self, count: int) -> bytes:
        """Return the first bytes."""
        return self.read(self.stream(), count)


def _open(path: Path, name: str) -> tuple[BinaryIO, bool]:
    """Open a file; return it, and whether it is a copy of one that can be read only once."""
    try:
        if path.is_dir():
            inside = sorted(entry.name for entry in path.iterdir() if entry.is_file())
            example = f", such as {str(path / inside[0])!r}" if inside else ""
            raise IsADirectoryError(f"{name} is a directory: name a file{example}")
        file = path.open("rb")
    except IsADirectoryError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {name}{_suggest_file(path)}") from None
    except PermissionError:
        raise PermissionError(
            f"{name} may not be read (permission denied): ask its owner, or read a copy"
        ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{name} cannot be opened: {reason}") from None
    if not file.seekable():  # a named pipe, such as <(command) in a shell
        with file:
            return _copy_stream(file), True
    return file, False


def _suggest_file(path: Path) -> str:
    """Suggest a file with a similar name."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": there is no folder {str(path.parent)!r}"
    similar = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"; did you mean {str(path.parent / similar[0])!r}?" if similar else ""


def _copy_input() -> BinaryIO:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("standard input is closed: name a file instead of '-'")
    if sys.stdin.isatty():
        print("reading from the terminal; end with Ctrl-D", file=sys.stderr)
    return _copy_stream(sys.stdin.buffer)


def _copy_stream(stream: BinaryIO) -> BinaryIO:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 (ByteSource closes it)
    shutil.copyfileobj(stream, copy)
    copy.flush()
    copy.seek(0)
    return copy


# ---- text --------------------------------------------------------------------------------------
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def is_text(start: bytes) -> bool:
    """Return whether the first bytes of a file are text, as far as bytes can tell."""
    return bool(start[:4096]) and not start[:4096].strip(b"\t\n\r\x0c\x1b" + bytes(range(32, 256)))


def guess_encoding(start: bytes) -> str:
    """Guess the encoding of a text from its first bytes.

    A byte order mark decides; then UTF-16 where every other byte is 0, then UTF-8 where that is
    possible, else Windows-1252, which most programs that do not write UTF-8 write.
    """
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    probe = start[:4096]
    zeros = [probe[side::2].count(0) / max(1, len(probe[side::2])) for side in (0, 1)]
    if max(zeros) > 0.4 and min(zeros) < 0.1:
        return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def resolve_encoding(name: str) -> str:
    """Return an encoding that the user named, as Python calls it."""
    try:
        codec = codecs.lookup(name)
        if not getattr(codec, "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError):
        known = ["utf-8", "utf-16", "utf-32", "latin-1", "cp1252", "ascii", "gb18030", "shift_jis"]
        near = difflib.get_close_matches(name.lower(), known, n=1) or ["latin-1"]
        raise DataError(f"there is no encoding {name!r}; did you mean {near[0]!r}?") from None
    return codec.name


class NotInEncodingError(Exception):
    """Bytes that are no text in the encoding; `line` counts from 1."""

    encoding: str
    line: int

    def __init__(self, line: int, encoding: str) -> None:
        super().__init__(line, encoding)
        self.line, self.encoding = line, encoding


def text_chunks(opened: ByteSource, encoding: str, times: int = 1) -> Iterator[bytes]:
    """Yield the text of a file in pieces, as UTF-8 without a mark."""
    stream = opened.stream()
    before = 0  # bytes
    decoder = codecs.getincrementaldecoder("utf-8" if encoding == "utf-8-sig" else encoding)()
    plain = encoding in ("utf-8", "utf-8-sig", "ascii")
    first, pending = True, b""
    while True:
        raw, overlap = opened.read(stream, times * CHUNK_BYTES), len(pending)
        try:
            if plain and not pending and raw.isascii():
                text = raw
            elif plain:
                # the few bytes of a character that the last piece cut in two
                text, pending = pending + raw, b""
                decoder.decode(text, final=not raw)
                used = len(text) - len(decoder.getstate()[0])
                text, pending = text[:used], text[used:]
                decoder.reset()
            else:
                text = decoder.decode(raw, final=not raw).encode()
        except UnicodeError as problem:
            start = before - overlap + max(0, getattr(problem, "start", 0))
            raise NotInEncodingError(_line_number_at(opened, start), encoding) from None
        if first and text.startswith(codecs.BOM_UTF8):
            text = text[3:]
        first = first and not text
        if b"\0" in text:
            line = _line_number_at(opened, before + raw.find(b"\0"))
            raise DataError(
                f"{opened.name} holds a zero byte in line {line}: it is damaged, or no text file"
            )
        before += len(raw)
        yield text
        if not raw:
            return


def _line_number_at(opened: ByteSource, offset: int) -> int:
    """Return the number of the line in which a byte lies, from 1."""
    stream, line = opened.stream(), 1
    while offset > 0:
        raw = opened.read(stream, min(offset, CHUNK_BYTES))
        if not raw:
            break
        line += raw.count(b"\n") or raw.count(b"\r")
        offset -= len(raw)
    return line


def most_rows(opened: ByteSource, width: int) -> int:
    """Return an upper bound of the rows of a text file: its line breaks, even those in quotes."""
    stream, count, size = opened.stream(), 1, 0
    while raw := opened.read(stream, CHUNK_BYTES):
        size += len(raw)
        count += raw.count(b"\n") + 1
        if b"\r" in raw:
            count += raw.count(b"\r") - raw.count(b"\r\n")
    # a row has at least one byte for each of its columns
    return min(count, size // max(1, width) + 2)


def row_chunks(
    opened: ByteSource, encoding: str, *, quote: bytes = b'"', times: int = 1
) -> Iterator[tuple[int, bytes]]:
    """Yield whole rows in pieces: the number of the first line of a piece, and its bytes.

    A line break between quotes does not end a row. Lines end in ``\\n`` alone. Pieces are `times`
    the usual size.
    """
    pending, line, cr = b"", 1, False
    last = False
    pieces = text_chunks(opened, encoding, times)
    while not last:
        piece = next(pieces, None)
        last = piece is None
        piece = piece or b""
        # a carriage return at the end of a piece may belong to a line feed in the next one
        if cr:
            piece, cr = b"\r" + piece, False
        if b"\r" in piece:
            if piece.endswith(b"\r") and not last:
                piece, cr = piece[:-1], True
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        pending += piece
        cut = len(pending) if last else _end_of_rows(pending, quote)
        if cut == 0 and len(pending) > LONGEST_ROW:
            raise DataError(
                f"{opened.name} has no end of line within {LONGEST_ROW >> 20} MB from line {line} "
                "on: it is no table, or a quote is opened and not closed"
            )
        if cut:
            yield line, pending[:cut]
            line += pending.count(b"\n", 0, cut)
            pending = pending[cut:]


def _end_of_rows(text: bytes, quote: bytes) -> int:
    """Return the position behind the last line break outside quotes; 0 if there is none."""
    end = text.rfind(b"\n") + 1
    if not end or not quote or quote not in text:
        return end
    odd = text.count(quote, 0, end) % 2
    while end and odd:
        # the last quote is not closed: go to the start of its line
        start = text.rfind(b"\n", 0, text.rfind(quote, 0, end)) + 1
        odd ^= text.count(quote, start, end) % 2
        end = start
    return end
