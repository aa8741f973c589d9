"""A column of words in a text file of many lines, read on demand."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from featly.basics.errors import DataError
from featly.io.stores.files import DiskFile

__all__ = ["LineWords"]

STRIDE = 256  # the start of every line of this number is stored
CHUNK_BYTES = 1 << 22


class LineWords(Sequence[str]):
    """One word of every line of a file, such as the names in a ``.bim`` file.

    Five million names would take a third of a gigabyte, and few of them are read. So only the
    start of every 256th line is stored.

    Parameters
    ----------
    file : DiskFile
    word : int
        Position of the word in a line, from 0.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.bim"
    >>> _ = path.write_text("1 rs1 0 10 A G\\n1 rs2 0 20 C T\\n2 rs9 0 5 A C\\n")
    >>> names = LineWords(DiskFile(path), 1)
    >>> len(names), names[-1], names[:2], list(names), names.position("rs9")
    (3, 'rs9', ['rs1', 'rs2'], ['rs1', 'rs2', 'rs9'], 2)
    """

    word: int
    file: DiskFile

    def __init__(self, file: DiskFile, word: int) -> None:
        self.file, self.word = file, word
        self._starts, self._count = _line_starts(file)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: Any) -> Any:
        positions = range(self._count)[position]
        if isinstance(positions, int):
            piece, within = divmod(positions, STRIDE)
            return self._piece(piece)[within]
        if not positions:
            return []
        low, high = min(positions[0], positions[-1]), max(positions[0], positions[-1])
        first = low // STRIDE
        words = [w for piece in range(first, high // STRIDE + 1) for w in self._piece(piece)]
        return [words[k - first * STRIDE] for k in positions]

    def __iter__(self) -> Iterator[str]:
        for piece in range(len(self._starts) - 1):
            yield from self._piece(piece)

    def __reduce__(self) -> Any:
        return list, (list(self),)  # the file may not exist in another process, or later

    def position(self, name: str) -> int | None:
        """Return the first position of `name`, or None."""
        sought = name.encode()
        for piece in range(len(self._starts) - 1):
            raw = self._raw(piece)
            if sought in raw:  # somewhere in a line, but perhaps in another word
                words = self._words(raw, piece)
                if name in words:
                    return piece * STRIDE + words.index(name)
        return None

    def _raw(self, piece: int) -> bytes:
        start, end = int(self._starts[piece]), int(self._starts[piece + 1])
        raw = self.file.read(start, end - start)
        self.file.confirm()
        return raw

    def _piece(self, piece: int) -> list[str]:
        return self._words(self._raw(piece), piece)

    def _words(self, raw: bytes, piece: int) -> list[str]:
        """Return the words of the lines of a piece."""
        picked = []
        for number, line in enumerate(raw.splitlines(), piece * STRIDE + 1):
            words = line.split(None, self.word + 1)
            if len(words) <= self.word:
                raise DataError(
                    f"line {number} of {self.file.name} has {len(words)} words, where more are "
                    "needed: correct that line"
                )
            picked.append(words[self.word].decode(errors="replace"))
        return picked


def _line_starts(file: DiskFile) -> tuple[np.ndarray, int]:
    """Return the start of every 256th line, then the end of the file; and the number of lines."""
    starts, count, done = [np.zeros(1, np.int64)], 0, 0
    buffer = np.empty(min(CHUNK_BYTES, file.size), np.uint8)
    ended = True
    while done < file.size:
        chunk = buffer[: min(len(buffer), file.size - done)]
        file.read_into(chunk, done)
        ends = np.flatnonzero(chunk == ord("\n"))
        starts.append(ends[(-count - 1) % STRIDE :: STRIDE] + done + 1)
        count += len(ends)
        done += len(chunk)
        ended = bool(chunk[-1] == ord("\n"))
    line_starts = np.concatenate(starts)
    line_starts = line_starts[line_starts < file.size]
    return np.append(line_starts, file.size), count + (not ended)
