"""The build of a MATLAB file, checked before SciPy reads it.

SciPy's reader follows the types and lengths in a file as they stand; in a damaged one they lead
it out of bounds, and the whole process ends. Only what steers it is looked at here, not the data.
"""

import math
import struct
import zlib
from typing import BinaryIO

__all__ = ["check_structure"]

_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}  # bytes of the number types
_CHARACTERS = {1: 1, 2: 1, 4: 2, 16: 1, 17: 2, 18: 4}
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _OBJECT, _CHAR, _SPARSE, _FUNCTION, _OPAQUE = 1, 2, 3, 4, 5, 16, 17
_DEEPEST = 20
_MOST_INFLATION = 1032  # zlib packs no better


class _Bytes:
    """Bytes that are read once from front to back; what is not there is a ValueError."""

    def __init__(self, file: BinaryIO, size: int, *, packed: bool) -> None:
        self._file, self._left = file, size
        self._zlib = zlib.decompressobj() if packed else None
        self.room = size * _MOST_INFLATION + 1024 if packed else size

    def read(self, count: int) -> bytes:
        out = b""
        while len(out) < count:
            found = self._some(min(count - len(out), 1 << 16))
            if not found:
                raise ValueError("a variable ends in the middle")
            out += found
        self.room -= count
        return out

    def skip(self, count: int) -> None:
        if count > self.room:
            raise ValueError("a length that goes beyond the variable")
        if self._zlib is None:
            self._file.seek(count, 1)
            self._left -= count
            self.room -= count
            return
        while count:
            count -= len(self.read(min(count, 1 << 16)))

    def _some(self, count: int) -> bytes:
        if self._zlib is None:
            found = self._file.read(min(count, self._left))
            self._left -= len(found)
            return found
        while not self._zlib.eof:
            packed = self._zlib.unconsumed_tail
            if not packed:
                packed = self._file.read(min(1 << 16, self._left))
                self._left -= len(packed)
            found = self._zlib.decompress(packed, count)
            if found or not packed:
                return found
        return b""


def check_structure(file: BinaryIO, size: int) -> None:
    """Raise ValueError if types and lengths in a version 5 file of this size do not fit."""
    file.seek(0)
    head = file.read(128)
    order = ">" if head[126:128] == b"MI" else "<"
    at = 128
    while at < size:
        file.seek(at)
        tag = file.read(8)
        if len(tag) < 8:
            raise ValueError("a variable ends in the middle")
        kind, length = struct.unpack(order + "II", tag)
        if kind not in (_MATRIX, _COMPRESSED) or length > size - at - 8:
            raise ValueError("a variable of an unknown type, or longer than the file")
        data = _Bytes(file, length, packed=kind == _COMPRESSED)
        if kind == _COMPRESSED:
            kind, inner = struct.unpack(order + "II", data.read(8))
            if kind != _MATRIX or inner > data.room:
                raise ValueError("a variable of an unknown type, or longer than the file")
        _matrix(data, order, 0)
        at += 8 + length


def _tag(data: _Bytes, order: str) -> tuple[int, int, bytes]:
    """Type and length of an element; its bytes, where it is so short that they are in the tag."""
    word = data.read(4)
    (kind,) = struct.unpack(order + "I", word)
    if kind >> 16:
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise ValueError("a short element that is too long")
        return kind, length, data.read(4)[:length]
    (length,) = struct.unpack(order + "I", data.read(4))
    if length > data.room:
        raise ValueError("a length that goes beyond the variable")
    return kind, length, b""


def _element(data: _Bytes, order: str, kinds: tuple[int, ...], most: int = 1 << 16) -> bytes:
    """The bytes of a small element of one of some types."""
    kind, length, found = _tag(data, order)
    if kind not in kinds or length > most:
        raise ValueError("an element of a type or length that does not belong there")
    if length and not found:
        found = data.read(length)
        data.skip(min(-length % 8, data.room))
    return found


def _pass(data: _Bytes, order: str, sizes: dict[int, int], count: int | None, *, last: bool) -> int:
    """Go past an element of so many numbers, or check that it may be read if it is the last."""
    kind, length, found = _tag(data, order)
    if kind not in sizes:
        raise ValueError("data of an unknown type")
    held = length // sizes[kind]
    if count is not None and (held != count or length % sizes[kind]):
        raise ValueError(f"{held} numbers where {count} belong")
    if not last and not found and length:
        data.skip(length)
        data.skip(min(-length % 8, data.room))
    return held


def _matrix(data: _Bytes, order: str, depth: int) -> None:
    """A variable, or what is in a cell, behind its tag."""
    if depth > _DEEPEST:
        raise ValueError("cells in cells without end")
    flags = _element(data, order, (6,))
    if len(flags) != 8:
        raise ValueError("flags of a wrong length")
    word = struct.unpack(order + "II", flags)[0]
    kind, is_complex = word & 0xFF, bool(word >> 8 & 8)
    if kind == _OPAQUE:
        for _ in range(3):
            _element(data, order, (1, 16))
        _inner(data, order, depth)
        return
    shape = _element(data, order, (5, 6), 4 * 32)
    dims = struct.unpack(f"{order}{len(shape) // 4}i", shape[: len(shape) // 4 * 4])
    if len(dims) < 2 or min(dims) < 0:
        raise ValueError("dimensions that are none")
    count = math.prod(dims)
    _element(data, order, (1, 16))  # its name
    if kind in range(6, 16):
        _pass(data, order, _SIZES, count, last=depth == 0 and not is_complex)
        if is_complex:
            _pass(data, order, _SIZES, count, last=depth == 0)
    elif kind == _SPARSE:
        _pass(data, order, _SIZES, None, last=False)
        _pass(data, order, _SIZES, dims[1] + 1, last=False)
        for _ in range(1 + is_complex):
            _pass(data, order, _SIZES, None, last=False)
    elif kind == _CHAR:
        held = _pass(data, order, _CHARACTERS, None, last=False)
        if count > held + 65_536:  # an empty text may have places, which are blanks
            raise ValueError("fewer characters than places for them")
    elif kind == _FUNCTION:
        _inner(data, order, depth)
    elif kind in (_CELL, _STRUCT, _OBJECT):
        if kind == _OBJECT:
            _element(data, order, (1, 16))
        fields = 1
        if kind != _CELL:
            width = int.from_bytes(
                _element(data, order, (5, 6), 4), "little" if order == "<" else "big"
            )
            names = _element(data, order, (1, 16), 1 << 20)
            if not 0 < width < 1 << 10:
                raise ValueError("names of fields of a wrong length")
            fields = len(names) // width
        if count * max(1, fields) * 8 > data.room + 8:
            raise ValueError("more cells than the variable has room for")
        for _ in range(count * fields):
            _inner(data, order, depth)
    else:
        raise ValueError("a variable of an unknown class")


def _inner(data: _Bytes, order: str, depth: int) -> None:
    kind, length, found = _tag(data, order)
    if kind != _MATRIX or found:
        raise ValueError("a cell that is no matrix")
    if length:
        _matrix(data, order, depth + 1)
