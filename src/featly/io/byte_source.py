"""A file or standard input as bytes that can be read from the start as often as needed."""

import bz2
import codecs
import difflib
import gzip
import lzma
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

from featly.basics.errors import DataError

__all__ = [
    "NotInEncodingError",
    "Opened",
    "checked_encoding",
    "guess_encoding",
    "most_rows",
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


class Opened:
    """A file, decompressed where need be; ``-`` is standard input.

    Standard input is copied to a temporary file first: some formats are read twice.

    Attributes
    ----------
    name : str
        How messages call it.
    compression : str or None
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = None if str(path) == "-" else Path(path)
        self.name = "standard input" if self.path is None else repr(str(path))
        self._copied = self.path is None
        if self.path is None:
            self._file = _copy_of_input()
        else:
            self._file, self._copied = _open(self.path, self.name)
        self._state = self._seen()
        self.size = self._state[0]
        if self.size == 0:
            self.close()
            raise DataError(f"{self.name} is empty: no table is in it")
        start = self._file.read(8)
        found = [entry for magic, entry in _COMPRESSED.items() if start.startswith(magic)]
        self.compression, self._decompress = found[0] if found else (None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _seen(self) -> tuple[int, int]:
        found = os.fstat(self._file.fileno())
        return found.st_size, found.st_mtime_ns

    def close(self) -> None:
        """Let go of the file; ``stream`` opens it again."""
        self._file.close()

    def release(self) -> None:
        """Close what can be opened again: a copy of standard input stays open."""
        if self.place is not None:
            self._file.close()

    @property
    def place(self) -> Path | None:
        """The path, unless the file can be read only once."""
        return None if self._copied else self.path

    @property
    def suffix(self) -> str:
        """The last part of the name in small letters, that of a compression left out."""
        if self.path is None:
            return ""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if self.compression and suffixes and suffixes[-1] in (".gz", ".bz2", ".xz"):
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @property
    def position(self) -> int:
        """How many of the `size` bytes on disk have been read."""
        return self._file.tell()

    def stream(self) -> BinaryIO:
        """The bytes from the start; one stream at a time."""
        if self._file.closed:
            if self.place is None:
                raise DataError(f"{self.name} is closed: read it again")
            self._file, self._copied = _open(self.place, self.name)
        if self._seen() != self._state:
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
        """The first bytes."""
        return self.read(self.stream(), count)


def _open(path: Path, name: str) -> tuple[BinaryIO, bool]:
    """A file and whether it is a copy of one that can be read only once."""
    try:
        if path.is_dir():
            inside = sorted(entry.name for entry in path.iterdir() if entry.is_file())
            such = f", such as {str(path / inside[0])!r}" if inside else ""
            raise IsADirectoryError(f"{name} is a directory: name a file{such}")
        file = path.open("rb")
    except IsADirectoryError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {name}{_neighbour(path)}") from None
    except PermissionError:
        raise PermissionError(
            f"{name} may not be read (permission denied): ask its owner, or read a copy"
        ) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{name} cannot be opened: {reason}") from None
    if not file.seekable():  # a named pipe, such as <(command) in a shell
        with file:
            return _copy_of(file), True
    return file, False


def _neighbour(path: Path) -> str:
    """Suggest a file with a similar name."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f": there is no folder {str(path.parent)!r}"
    found = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"; did you mean {str(path.parent / found[0])!r}?" if found else ""


def _copy_of_input() -> BinaryIO:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("standard input is closed: name a file instead of '-'")
    if sys.stdin.isatty():
        print("reading from the terminal; end with Ctrl-D", file=sys.stderr)
    return _copy_of(sys.stdin.buffer)


def _copy_of(stream: BinaryIO) -> BinaryIO:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 (it is closed by Opened)
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


def guess_encoding(start: bytes) -> str:
    """The encoding of a text by its first bytes.

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


def checked_encoding(name: str) -> str:
    """An encoding that the user named, as Python calls it."""
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
    """Bytes that are no text in the encoding at hand; `line` counts from 1."""

    def __init__(self, line: int, encoding: str) -> None:
        super().__init__(line, encoding)
        self.line, self.encoding = line, encoding


def text_chunks(opened: Opened, encoding: str, times: int = 1) -> Iterator[bytes]:
    """The text of a file in pieces, as UTF-8 without a mark."""
    stream = opened.stream()
    before = 0  # bytes
    decoder = codecs.getincrementaldecoder("utf-8" if encoding == "utf-8-sig" else encoding)()
    plain = encoding in ("utf-8", "utf-8-sig", "ascii")
    first, held = True, b""
    while True:
        raw, overlap = opened.read(stream, times * CHUNK_BYTES), len(held)
        try:
            if plain and not held and raw.isascii():
                text = raw
            elif plain:
                # the few bytes of a character that the last piece cut in two
                text, held = held + raw, b""
                decoder.decode(text, final=not raw)
                used = len(text) - len(decoder.getstate()[0])
                text, held = text[:used], text[used:]
                decoder.reset()
            else:
                text = decoder.decode(raw, final=not raw).encode()
        except UnicodeError as problem:
            start = before - overlap + max(0, getattr(problem, "start", 0))
            raise NotInEncodingError(_line_at(opened, start), encoding) from None
        if first and text.startswith(codecs.BOM_UTF8):
            text = text[3:]
        first = first and not text
        if b"\0" in text:
            line = _line_at(opened, before + raw.find(b"\0"))
            raise DataError(
                f"{opened.name} holds a zero byte in line {line}: it is damaged, or no text file"
            )
        before += len(raw)
        yield text
        if not raw:
            return


def _line_at(opened: Opened, offset: int) -> int:
    """The number of the line in which a byte lies, from 1."""
    stream, line = opened.stream(), 1
    while offset > 0:
        raw = opened.read(stream, min(offset, CHUNK_BYTES))
        if not raw:
            break
        line += raw.count(b"\n") or raw.count(b"\r")
        offset -= len(raw)
    return line


def most_rows(opened: Opened, width: int) -> int:
    """No fewer than the rows of a text file: its line ends, those between quotes too."""
    stream, count, size = opened.stream(), 1, 0
    while raw := opened.read(stream, CHUNK_BYTES):
        size += len(raw)
        count += raw.count(b"\n") + 1
        if b"\r" in raw:
            count += raw.count(b"\r") - raw.count(b"\r\n")
    # a row has a byte at least for each of its columns: many lines or many columns, not both
    return min(count, size // max(1, width) + 2)


def row_chunks(
    opened: Opened, encoding: str, *, quote: bytes = b'"', times: int = 1
) -> Iterator[tuple[int, bytes]]:
    """Whole rows in pieces: the number of the first line of a piece, and its bytes.

    A line break between quotes does not end a row. Lines end in ``\\n`` alone. Pieces are `times`
    the usual size.
    """
    rest, line, cr = b"", 1, False
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
        rest += piece
        cut = len(rest) if last else _end_of_rows(rest, quote)
        if cut == 0 and len(rest) > LONGEST_ROW:
            raise DataError(
                f"{opened.name} has no end of line within {LONGEST_ROW >> 20} MB from line {line} "
                "on: it is no table, or a quote is opened and not closed"
            )
        if cut:
            yield line, rest[:cut]
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]


def _end_of_rows(text: bytes, quote: bytes) -> int:
    """Behind the last line break that is not between quotes; 0 if there is none."""
    end = text.rfind(b"\n") + 1
    if not end or not quote or quote not in text:
        return end
    odd = text.count(quote, 0, end) % 2
    while end and odd:
        # the last quote opened what is not closed: go to the start of its line
        start = text.rfind(b"\n", 0, text.rfind(quote, 0, end)) + 1
        odd ^= text.count(quote, start, end) % 2
        end = start
    return end
