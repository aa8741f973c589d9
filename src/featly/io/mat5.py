"""Check the structure of a MATLAB file before SciPy reads it.

SciPy's reader relies on the types and lengths in a file. In a damaged file they can be out of
bounds, which ends the whole process. So they are checked here; the data are not.
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


class _ByteReader:
    """Sequential reader of bytes; ValueError at an end in the middle of an element."""

    def __init__(self, file: BinaryIO, size: int, *, packed: bool) -> None:
        self._file, self._left = file, size
        self._zlib = zlib.decompressobj() if packed else None
        self.most_left = size * _MOST_INFLATION + 1024 if packed else size

    def read(self, count: int) -> bytes:
        out = b""
        while len(out) < count:
            chunk = self._read_some(min(count - len(out), 1 << 16))
            if not chunk:
                raise ValueError("a variable ends in the middle")
            out += chunk
        self.most_left -= count
        return out

    def skip(self, count: int) -> None:
        if count > self.most_left:
            raise ValueError("a length that goes beyond the variable")
        if self._zlib is None:
            self._file.seek(count, 1)
            self._left -= count
            self.most_left -= count
            return
        while count:
            count -= len(self.read(min(count, 1 << 16)))

    def _read_some(self, count: int) -> bytes:
        if self._zlib is None:
            chunk = self._file.read(min(count, self._left))
            self._left -= len(chunk)
            return chunk
        while not self._zlib.eof:
            packed = self._zlib.unconsumed_tail
            if not packed:
                packed = self._file.read(min(1 << 16, self._left))
                self._left -= len(packed)
            chunk = self._zlib.decompress(packed, count)
            if chunk or not packed:
                return chunk
        return b""


def check_structure(file: BinaryIO, size: int) -> None:
    """Raise ValueError if types and lengths in a version 5 file of this size do not fit."""
    file.seek(0)
    head = file.read(128)
    order = ">" if head[126:128] == b"MI" else "<"
    position = 128
    while position < size:
        file.seek(position)
        tag = file.read(8)
        if len(tag) < 8:
            raise ValueError("a variable ends in the middle")
        kind, length = struct.unpack(order + "II", tag)
        if kind not in (_MATRIX, _COMPRESSED) or length > size - position - 8:
            raise ValueError("a variable of an unknown type, or longer than the file")
        data = _ByteReader(file, length, packed=kind == _COMPRESSED)
        if kind == _COMPRESSED:
            kind, inner = struct.unpack(order + "II", data.read(8))
            if kind != _MATRIX or inner > data.most_left:
                raise ValueError("a variable of an unknown type, or longer than the file")
        _check_matrix(data, order, 0)
        position += 8 + length


def _read_tag(data: _ByteReader, order: str) -> tuple[int, int, bytes]:
    """Read type and length of an element, and its bytes where they are in the tag."""
    word = data.read(4)
    (kind,) = struct.unpack(order + "I", word)
    if kind >> 16:
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise ValueError("a short element that is too long")
        return kind, length, data.read(4)[:length]
    (length,) = struct.unpack(order + "I", data.read(4))
    if length > data.most_left:
        raise ValueError("a length that goes beyond the variable")
    return kind, length, b""


def _read_element(
    data: _ByteReader, order: str, kinds: tuple[int, ...], most: int = 1 << 16
) -> bytes:
    """Read the bytes of a small element of one of some types."""
    kind, length, content = _read_tag(data, order)
    if kind not in kinds or length > most:
        raise ValueError("an element of a type or length that does not belong there")
    if length and not content:
        content = data.read(length)
        data.skip(min(-length % 8, data.most_left))
    return content


def _skip_numbers(
    data: _ByteReader, order: str, sizes: dict[int, int], count: int | None, *, last: bool
) -> int:
    """Skip an element of `count` numbers; if it is the `last`, only check its length."""
    kind, length, content = _read_tag(data, order)
    if kind not in sizes:
        raise ValueError("data of an unknown type")
    n_numbers = length // sizes[kind]
    if count is not None and (n_numbers != count or length % sizes[kind]):
        raise ValueError(f"{n_numbers} numbers where {count} belong")
    if not last and not content and length:
        data.skip(length)
        data.skip(min(-length % 8, data.most_left))
    return n_numbers


def _check_matrix(data: _ByteReader, order: str, depth: int) -> None:
    """Check a variable, or the content of a cell, from behind its tag."""
    if depth > _DEEPEST:
        raise ValueError("cells in cells without end")
    flags = _read_element(data, order, (6,))
    if len(flags) != 8:
        raise ValueError("flags of a wrong length")
    word = struct.unpack(order + "II", flags)[0]
    kind, is_complex = word & 0xFF, bool(word >> 8 & 8)
    if kind == _OPAQUE:
        for _ in range(3):
            _read_element(data, order, (1, 16))
        _check_inner_matrix(data, order, depth)
        return
    shape = _read_element(data, order, (5, 6), 4 * 32)
    dims = struct.unpack(f"{order}{len(shape) // 4}i", shape[: len(shape) // 4 * 4])
    if len(dims) < 2 or min(dims) < 0:
        raise ValueError("dimensions that are none")
    count = math.prod(dims)
    _read_element(data, order, (1, 16))  # its name
    if kind in range(6, 16):
        _skip_numbers(data, order, _SIZES, count, last=depth == 0 and not is_complex)
        if is_complex:
            _skip_numbers(data, order, _SIZES, count, last=depth == 0)
    elif kind == _SPARSE:
        _skip_numbers(data, order, _SIZES, None, last=False)
        _skip_numbers(data, order, _SIZES, dims[1] + 1, last=False)
        for _ in range(1 + is_complex):
            _skip_numbers(data, order, _SIZES, None, last=False)
    elif kind == _CHAR:
        n_characters = _skip_numbers(data, order, _CHARACTERS, None, last=False)
        if count > n_characters + 65_536:  # an empty text may have a size: it is blanks
            raise ValueError("fewer characters than its size says")
    elif kind == _FUNCTION:
        _check_inner_matrix(data, order, depth)
    elif kind in (_CELL, _STRUCT, _OBJECT):
        if kind == _OBJECT:
            _read_element(data, order, (1, 16))
        fields = 1
        if kind != _CELL:
            width = int.from_bytes(
                _read_element(data, order, (5, 6), 4), "little" if order == "<" else "big"
            )
            names = _read_element(data, order, (1, 16), 1 << 20)
            if not 0 < width < 1 << 10:
                raise ValueError("names of fields of a wrong length")
            fields = len(names) // width
        if count * max(1, fields) * 8 > data.most_left + 8:
            raise ValueError("more cells than the variable has bytes for")
        for _ in range(count * fields):
            _check_inner_matrix(data, order, depth)
    else:
        raise ValueError("a variable of an unknown class")


def _check_inner_matrix(data: _ByteReader, order: str, depth: int) -> None:
    kind, length, content = _read_tag(data, order)
    if kind != _MATRIX or content:
        raise ValueError("a cell that is no matrix")
    if length:
        _check_matrix(data, order, depth + 1)
