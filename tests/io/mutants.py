"""Damaged files: deterministic mutants of real and generated tables, and a guarded reader of them.

Every mutant is a function of its seed and of the sources. Batches are read in a process of their
own, which writes down the mutant at hand first: a crash or a hang then names what reproduces it.

    python -m tests.io.mutants read SEED       what one mutant does, with a traceback
    python -m tests.io.mutants fuzz COUNT [BASE]
"""

import bz2
import contextlib
import dataclasses
import faulthandler
import gzip
import io
import json
import lzma
import os
import random
import re
import resource
import struct
import subprocess
import sys
import threading
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Mutant", "Report", "fuzz", "mutant", "sources"]

ROOT = Path(__file__).parents[2]
SLOWEST = 20.0  # seconds that one mutant may take
MEMORY = 1_500  # MB that reading one may add to what the process has
ADDRESSES = (
    12_000  # MB of addresses that it may add: beyond, memory is refused as on a full machine
)
LONGEST_MESSAGE = 500
SHORT = 20_000  # bytes of a file that is shortened before it is changed


# ---- what is mutated -----------------------------------------------------------------------------
def _frame() -> Any:
    import polars as pl

    n = 60
    return pl.DataFrame(
        {
            "age": [20 + k % 50 for k in range(n)],
            "dose": [k / 7 if k % 11 else None for k in range(n)],
            "small": pl.Series([k % 5 for k in range(n)], dtype=pl.Int8),
            "ward": pl.Series(["north", "south", None, "öst"] * 15, dtype=pl.Categorical),
            "note": [f"text {k % 9}" for k in range(n)],
            "ill": [k % 3 == 0 for k in range(n)],
            "day": pl.Series(range(n), dtype=pl.Int32).cast(pl.Date),
            "class": ["yes" if k % 2 else "no" for k in range(n)],
        }
    )


def _parquet(frame: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out, **options)
    return out.getvalue()


def _matlab(packed: bool, sparse: bool) -> bytes:
    import numpy as np
    import scipy.io
    import scipy.sparse

    X = np.arange(240.0).reshape(40, 6) % 17
    names = np.array([f"gene{k}" for k in range(6)], dtype=object)
    table = scipy.sparse.csc_array(X * (X > 11)) if sparse else X
    content = {"X": table, "Y": np.arange(40) % 2, "feature_names": names}
    out = io.BytesIO()
    scipy.io.savemat(out, content, do_compression=packed)
    data = out.getvalue()
    return b"MATLAB 5.0 MAT-file, made for tests".ljust(116) + data[116:]


def _generated() -> dict[str, bytes]:
    """Small files of the kinds that the folder has not."""
    import polars as pl

    frame = _frame()
    flat = frame.drop("day")
    csv = flat.write_csv().encode()
    rows = [f"{{0 {k % 7}.5, {2 + k % 3} {k}, 5 'very ill'}}" for k in range(40)]
    sparse = [f"@attribute {name} numeric" for name in ("x0", "*", "^x.*$", "x3", "x4")]
    quoted = ['"name, long","text ""quoted""",class']
    quoted += [f'"{k},5","line\nbreak {k % 4}",{k % 2}' for k in range(40)]
    comma = ["alter;dosis;gruppe"] + [f"{k};{k % 7},{k % 10};{'ab'[k % 2]}" for k in range(60)]
    odd = "*,^a.*$,abc,a b,class\n" + "".join(
        f"{k},{k % 3},x{k % 2},1,{k % 2}\n" for k in range(30)
    )
    both = "@relation s\n{}\n@attribute class {{well,'very ill'}}\n@data\n{}\n"
    return {
        "mixed.parquet": _parquet(frame),
        "plain.parquet": _parquet(flat, compression="uncompressed", row_group_size=16),
        "snappy.parquet": _parquet(flat, compression="snappy", statistics=False),
        "packed.csv.gz": gzip.compress(csv, mtime=0),
        "packed.csv.bz2": bz2.compress(csv),
        "packed.csv.xz": lzma.compress(csv),
        "sparse.arff": both.format("\n".join(sparse), "\n".join(rows)).encode(),
        "quoted.csv": "\n".join(quoted).encode(),
        "names.csv": odd.encode(),
        "names.parquet": _parquet(pl.read_csv(odd.encode())),
        "comma.csv": "\n".join(comma).encode(),
        "wide.csv": csv.decode().encode("utf-16"),
        "dense.mat": _matlab(False, False),
        "sparse.mat": _matlab(False, True),
        "packed.mat": _matlab(True, False),
    }


def sources(folder: str | None) -> dict[str, bytes]:
    """The files to mutate by name: those of ``raw`` in a folder of data, and generated ones."""
    found = _generated()
    if folder and (Path(folder) / "raw").is_dir():
        for path in sorted((Path(folder) / "raw").iterdir()):
            if path.is_file():
                found[path.name] = path.read_bytes()
    return found


# ---- shortening ----------------------------------------------------------------------------------
def _shortened(rng: random.Random, name: str, data: bytes) -> bytes:
    """A small file of the same kind, so that thousands can be read."""
    if name.endswith(".mat"):
        return _unpacked(data) if rng.random() < 0.7 else data
    if len(data) <= SHORT or name.endswith((".parquet", ".gz", ".bz2", ".xz")):
        return data
    lines = data.splitlines(keepends=True)
    mark = next((k for k, line in enumerate(lines) if line[:5].lower() == b"@data"), None)
    if mark is None:
        return b"".join(lines[: max(8, SHORT * len(lines) // len(data))])
    head, body = lines[:mark], lines[mark + 1 :]
    declared = [k for k, line in enumerate(head) if line[:10].lower() == b"@attribute"]
    if len(declared) <= 40:
        return b"".join([*head, lines[mark], *body[: max(8, SHORT * len(lines) // len(data))]])
    # hundreds of attributes: the first ones and the last, which is the class
    gone = set(declared[20:-1])
    head = [line for k, line in enumerate(head) if k not in gone]
    rows = [line.rstrip().split(b",") for line in body[:60]]
    body = [b",".join([*row[:20], row[-1]]) + b"\n" for row in rows]
    return b"".join([*head, lines[mark], *body])


def _unpacked(data: bytes) -> bytes:
    """A MATLAB file whose variables are not compressed, so that changes reach their numbers."""
    out, at = [data[:128]], 128
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + 8 + size]
        if kind == 15:
            out.append(zlib.decompress(body))
        else:
            padded = -(-size // 8) * 8
            out.append(data[at : at + 8 + padded])
            size = padded
        at += 8 + size
    return b"".join(out)


# ---- ways to damage a file -----------------------------------------------------------------------
Way = Callable[[random.Random, bytes], bytes]


def _at(rng: random.Random, data: bytes) -> int:
    """A place: anywhere, or near an end, where headers and footers are."""
    where = rng.random()
    if where < 0.25:
        return rng.randrange(min(len(data), 300) + 1)
    if where < 0.5:
        return len(data) - rng.randrange(min(len(data), 600) + 1)
    return rng.randrange(len(data) + 1)


def cut(rng: random.Random, data: bytes) -> bytes:
    return data[: _at(rng, data)] if rng.random() < 0.8 else data[_at(rng, data) :]


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 40]) if out else 0):
        out[min(_at(rng, data), len(out) - 1)] ^= 1 << rng.randrange(8)
    return bytes(out)


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 3, 20]) if out else 0):
        out[min(_at(rng, data), len(out) - 1)] = rng.choice(b"\0\xff\x7f\x80\n\r\"',;:{}@%#?-.09eE")
    return bytes(out)


def insert_bytes(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    return data[:at] + rng.randbytes(rng.choice([1, 2, 7, 300])) + data[at:]


def delete_bytes(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    return data[:at] + data[at + rng.choice([1, 2, 5, 100, 3000]) :]


def repeat_chunk(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    chunk = data[at : at + rng.choice([1, 10, 200, 5000])]
    return data[:at] + chunk * rng.choice([2, 2, 3, 50]) + data[at + len(chunk) :]


def move_chunk(rng: random.Random, data: bytes) -> bytes:
    a, b, c = sorted(_at(rng, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def insert_line(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    strange = [b"", b" ", b",,,,", b"@data", b"@attribute y {a,b}", b"%", b"1 1:1", b"{0 1}", b"{}",
               b"-1,-1,-1", b"?", b"NaN", b'"', b"'", b"\t\t", b"x" * 300]  # fmt: skip
    added = rng.choice([*strange, rng.choice(lines)])
    lines.insert(rng.randrange(len(lines) + 1), added)
    return b"\n".join(lines)


def delete_line(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines)) if rng.random() < 0.6 else 0
    del lines[at : at + rng.choice([1, 1, 3, 1000])]
    return b"\n".join(lines)


def swap_lines(rng: random.Random, data: bytes) -> bytes:
    """The header below, or the body above, or two lines exchanged."""
    lines = data.split(b"\n")
    how = rng.randrange(3)
    if how == 0:
        lines = lines[1:] + lines[:1]
    elif how == 1:
        lines.reverse()
    else:
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def shuffle_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def other_encoding(rng: random.Random, data: bytes) -> bytes:
    text = data.decode("latin-1")
    codec = rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp037", "utf-8", "utf-7",
                        "utf-8-sig"])  # fmt: skip
    return text.encode(codec, errors="replace")


def invalid_text(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    wrong = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff", b"\x81",
             b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf", b"\xd9\xa3",
             b"\xcc\x81" * 50]  # fmt: skip
    return data[:at] + rng.choice(wrong) + data[at:]


def zeros(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    return data[:at] + b"\0" * rng.choice([1, 1, 8, 5000]) + data[at + rng.choice([0, 1, 8]) :]


def huge_field(rng: random.Random, data: bytes) -> bytes:
    at = _at(rng, data)
    kinds = [b"x", b"9", b"1 ", b"\xc3\xa9", b"-", b"\\", b"{", b" ", b"\t", b"'\\", b"%"]
    kind = rng.choice(kinds)
    size = rng.choice([200_000, 200_000, 3_000_000])
    if kind == b"1 ":
        size = 40_000  # these are cells: hundreds of thousands of columns take their time
    quote = rng.choice([b"", b"", b'"'])
    return data[:at] + quote + kind * (size // len(kind)) + quote + data[at:]


def many_columns(rng: random.Random, data: bytes) -> bytes:
    """A line of very many cells, somewhere or as the header."""
    lines = data.split(b"\n")
    at = rng.choice([0, len(lines) // 2, len(lines) - 1])
    # a table of one row and a million columns is in order, and takes its time
    count = rng.choice([3_000, 20_000, 200_000, 1_000_000] if len(lines) > 2 else [3_000, 50_000])
    mark = rng.choice([b",", b",", b";", b"\t", b" "])
    cells = mark * count if rng.random() < 0.5 else mark.join(b"%d" % k for k in range(count))
    lines[at] = cells
    return b"\n".join(lines)


def open_quote(rng: random.Random, data: bytes) -> bytes:
    places = [0, *(found.end() for found in re.finditer(rb"[,;\s{]", data[:200_000]))]
    at = rng.choice(places)
    return data[:at] + rng.choice([b'"', b"'", b'""', b'"a"b', b"{", b"'\\"]) + data[at:]


def line_ends(rng: random.Random, data: bytes) -> bytes:
    ends = rng.choice([[b"\r"], [b"\r\n"], [b"\r", b"\n", b"\r\n"], [b"\n\n"], [b"\n", b"\x0c"],
                       [b"\n", b"\n\r"], [b" "], [b"\n", b"\x0b\n", b"\x1c\n"]])  # fmt: skip
    lines = re.split(rb"\r?\n", data)
    return b"".join(line + rng.choice(ends) for line in lines)


def huge_number(rng: random.Random, data: bytes) -> bytes:
    found = [match.span() for match in re.finditer(rb"\d+", data[:300_000])]
    if not found:
        return flip_bits(rng, data)
    huge = [b"1000000000000", b"2147483647", b"2147483646", b"49999999", b"18446744073709551616",
            b"1e400", b"-1", b"0", b"1e308", b"9" * 400, b"9" * 5000, b"1_0", b"0x10", b"inf",
            b"nan", b"1e", "١٢".encode()]  # fmt: skip
    for start, stop in sorted(rng.sample(found, min(len(found), rng.choice([1, 1, 3]))))[::-1]:
        data = data[:start] + rng.choice(huge) + data[stop:]
    return data


def huge_word(rng: random.Random, data: bytes) -> bytes:
    """A number of 4 or 8 bytes, such as a length or a dimension, changed to a huge one."""
    size = rng.choice([4, 4, 8])
    if len(data) < size:
        return data
    at = min(_at(rng, data), len(data) - size)
    at -= at % rng.choice([1, 4, 8])
    word = rng.choice([2**31 - 1, 2**31, 2**32 - 1, 10**9, 2**24, 0, 1, 65535, 2**20])
    return data[:at] + word.to_bytes(size, "little") + data[at + size :]


def footer(rng: random.Random, data: bytes) -> bytes:
    """Changes in the last part of the file, where parquet describes itself."""
    if len(data) < 12:
        return data
    size = min(int.from_bytes(data[-8:-4], "little") + 8, len(data))
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = len(out) - 1 - rng.randrange(size)
        out[at] = rng.choice([rng.randrange(256), 0xFF, 0, out[at] ^ 1, (out[at] + 2) % 256])
    return bytes(out)


def long_number_in_footer(rng: random.Random, data: bytes) -> bytes:
    """Thrift writes numbers in groups of 7 bits: some are made huge without moving the rest."""
    size = min(int.from_bytes(data[-8:-4], "little") + 8, len(data))
    out = bytearray(data)
    for _ in range(rng.choice([1, 2])):
        at = max(0, len(out) - 9 - rng.randrange(max(1, size)))
        out[at : at + 3] = b"\xfe\xff\xff"[: len(out[at : at + 3])]
    return bytes(out)


def separators(rng: random.Random, data: bytes) -> bytes:
    found = [match.start() for match in re.finditer(rb"[,;:\t ]", data[:300_000])]
    if not found:
        return insert_bytes(rng, data)
    for at in sorted(rng.sample(found, min(len(found), rng.choice([1, 5]))))[::-1]:
        new = rng.choice([data[at : at + 1] * 2, data[at : at + 1] * 1000, b"", b";", b"\t", b":"])
        data = data[:at] + new + data[at + 1 :]
    return data


def levels(rng: random.Random, data: bytes) -> bytes:
    """The type of an ARFF attribute changed; elsewhere a line of its syntax is put in front."""
    types = [b"{" + b",".join(b"l%d" % k for k in range(20_000)) + b"}", b"{}", b"{,}", b"{a,a}",
             b"{'", b"{a", b"date", b"date 'yyyy'", b"relational", b"string", b"numeric [", b"",
             b"real[0,1]", b"integer", b"{?}", b"{'?',a}", b"{a b}", b"NUMERIC", b"{" * 400,
             b"{" + b"'" * 401 + b"}", b"{" + b"\\" * 301 + b"}"]  # fmt: skip
    declared = list(re.finditer(rb"(?im)^(@attribute\s+\S+)(.*)$", data[:300_000]))
    if not declared:
        return b"@relation r\n@attribute a " + rng.choice(types) + b"\n@data\n" + data
    chosen = rng.choice(declared)
    return data[: chosen.end(1)] + b" " + rng.choice(types) + data[chosen.end(2) :]


def joined(rng: random.Random, data: bytes) -> bytes:
    return data + rng.choice([b"", b"\n"]) + data


def emptied(rng: random.Random, data: bytes) -> bytes:
    return rng.choice([b"", b"\n", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"PAR1", b"PAR1PAR1",
                       b"\x1f\x8b", b"@data", b"@attribute", b"BZh", data[:1], data[:130], b"a",
                       b"a\n1", b"1", b"a,b", b",", b'"', b"1 1:1", b"@relation",
                       b"\r"])  # fmt: skip


ANY: tuple[Way, ...] = (cut, flip_bits, change_bytes, insert_bytes, delete_bytes, repeat_chunk,
                        move_chunk, zeros, huge_word, joined)  # fmt: skip
TEXT: tuple[Way, ...] = (insert_line, delete_line, swap_lines, shuffle_lines, other_encoding,
                         invalid_text, huge_field, open_quote, line_ends, huge_number, separators,
                         levels, emptied)  # fmt: skip
BINARY: tuple[Way, ...] = (huge_word, footer, footer, footer, long_number_in_footer, zeros)
RARE: tuple[Way, ...] = (many_columns,)

FORMATS = ("csv", "tsv", "parquet", "arff", "libsvm", "matlab", "records")
ENDINGS = ("", ".csv", ".data", ".tsv", ".arff", ".dat", ".svmlight", ".mat", ".parquet", ".txt",
           ".csv.gz")  # fmt: skip


# ---- mutants -------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Mutant:
    """A damaged file.

    Attributes
    ----------
    seed : int
    source : str
        What it was made from.
    name : str
        Under which name it is written.
    ways : list of str
        What was done to it.
    data : bytes
    options : dict
        For ``read_table``.
    """

    seed: int
    source: str
    name: str
    ways: list[str]
    data: bytes
    options: dict[str, Any]

    @property
    def label(self) -> str:
        """What reproduces it, in words."""
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"seed {self.seed} ({self.source}: {', '.join(self.ways)}; {shown or 'no options'})"


_UNPACK = {".gz": (gzip.decompress, lambda data: gzip.compress(data, 1, mtime=0)),
           ".bz2": (bz2.decompress, bz2.compress),
           ".xz": (lzma.decompress, lambda data: lzma.compress(data, preset=0))}  # fmt: skip


def mutant(found: dict[str, bytes], seed: int) -> Mutant:
    """The mutant of a seed."""
    rng = random.Random(seed)
    names = sorted(found)
    # in turn, so that few seeds reach every file
    source = names[seed % len(names)]
    data = found[source]
    ways: list[str] = []
    whole = rng.random() < (0.3 if len(data) < 300_000 else 0.12)
    if whole:
        ways.append("whole")
    else:
        data = _shortened(rng, source, data)
    binary = source.endswith((".parquet", ".mat"))
    ending = Path(source).suffix
    inside = ending in _UNPACK and rng.random() < 0.5
    if inside:
        data = _UNPACK[ending][0](data)
        ways.append("inside")
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        chance = rng.random()
        if chance < 0.01 and not binary:
            pool = RARE
        elif binary:
            pool = BINARY if chance < 0.5 else ANY if chance < 0.95 else TEXT
        else:
            pool = ANY if chance < 0.3 else TEXT
        way = rng.choice(pool)
        ways.append(way.__name__)
        data = way(rng, data)
        if way in RARE:
            break
    if inside:
        data = _UNPACK[ending][1](data)
    name = f"m{seed}" + "".join(Path(source).suffixes[-2:])
    if rng.random() < 0.12:
        name = f"m{seed}{rng.choice(ENDINGS)}"
    return Mutant(seed, source, name, ways, data, _options(rng))


def _options(rng: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options["target"] = rng.choice(
            [0, -1, -1, 1, "class", "x0", "Y", "ill", "none", "*", 10**6]
        )
    if rng.random() < 0.1:
        options["format"] = rng.choice(FORMATS)
    if rng.random() < 0.15:
        options["header"] = rng.random() < 0.5
    if rng.random() < 0.05:
        options["encoding"] = rng.choice(["utf-8", "latin-1", "utf-16", "cp1252", "utf-32", "cp037",
                                          "shift_jis", "utf-7", "gb18030"])  # fmt: skip
    if rng.random() < 0.05:
        options["separator"] = rng.choice([",", ";", "tab", "space", "|", "1", "."])
    if rng.random() < 0.05:
        options["missing"] = rng.choice([["-9"], ["0", "1"], ["a"]])
    if rng.random() < 0.05:
        options["n_features"] = rng.choice([1, 20_000, 10**6])
    if rng.random() < 0.05:
        options["apart"] = rng.choice([[0], [0, 1], ["age"], [-1]])
    return options


# ---- one mutant ----------------------------------------------------------------------------------
def _touch(table: Any) -> str | None:
    """What is wrong with a table that was read; None if it is sound."""
    import numpy as np
    import polars as pl
    import scipy.sparse

    X, y = table.X, table.y
    rows, columns = table.shape
    if rows < 1 or columns < 1:
        return f"a table of {rows} x {columns}"
    names = list(table.names)
    if len(names) != columns or not all(isinstance(name, str) for name in names):
        return f"{len(names)} names for {columns} columns"
    if isinstance(X, pl.DataFrame):
        if X.columns != names:
            return "names that are not those of the frame"
        X.null_count()
        X.head(5).rows()
        np.isnan(X[:, :1000].select(pl.selectors.numeric()).to_numpy()).any()
        X.tail(1).write_csv(io.StringIO())
    elif scipy.sparse.issparse(X):
        X.check_format(full_check=True)
        X.sum()
    else:
        if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            return f"an X that is {type(X).__name__}"
        np.isnan(X).any()
    if y is not None and (not isinstance(y, np.ndarray) or y.shape != (rows,)):
        return f"a y of shape {getattr(y, 'shape', None)} for {rows} rows"
    if (y is None) != (table.target is None):
        return "a target without a name, or a name without one"
    if any("\n" in note for note in table.notes) or len("; ".join(table.notes)) > 1000:
        return "notes that are too long"
    return None


def _is_wrong_message(problem: BaseException, path: Path) -> str | None:
    message = str(problem)
    if len(message.splitlines()) != 1:
        return "more than one line"
    if len(message) - len(str(path)) > LONGEST_MESSAGE:
        return f"{len(message)} characters"
    if repr(str(path)) not in message:
        return "the file is not named"
    return None


def read_one(made: Mutant, folder: Path) -> str | None:
    """Read a mutant as a user would; what is wrong in words, or None."""
    from featly.errors import DataError
    from featly.io import read_table

    path = folder / made.name
    path.write_bytes(made.data)
    allowed = (DataError, OSError)
    table = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                table = read_table(path, **made.options)
            except allowed as problem:
                wrong = _is_wrong_message(problem, path)
                if wrong:
                    return f"message: {wrong}: {str(problem)[:700]!r}"
        if caught:
            return f"warning {caught[0].category.__name__}: {str(caught[0].message)[:200]}"
        if table is not None:
            wrong = _touch(table)
            if wrong:
                return wrong
            if made.seed % 5 == 0:
                saved = folder / ("saved.csv" if made.seed % 2 else "saved.parquet")
                try:
                    table.save_columns(list(table.names)[:3], saved)
                except allowed as problem:
                    wrong = len(str(problem).splitlines()) != 1
                    return f"message: {str(problem)[:500]!r}" if wrong else None
    except BaseException as problem:  # a panic of Rust is no Exception
        where = traceback.format_exc().strip().splitlines()[-7:]
        return f"{type(problem).__name__}: {str(problem)[:300]} | {' | '.join(where)[-900:]}"
    finally:
        if table is not None:
            table.close()
        path.unlink()
    return None


def rank_one(made: Mutant, folder: Path) -> str | None:
    """Rank a mutant by the command line, in this process; what is wrong in words, or None."""
    from featly.present.cli import main

    path = folder / made.name
    path.write_bytes(made.data)
    words = ["featly", "rank", str(path), "--jobs", "1", "--fill"]
    options = {"target": "-1", **made.options}
    for key in ("target", "format", "encoding", "separator"):
        if key in options:
            words += [f"--{key}", str(options[key])]
    if "header" in options:
        words.append("--header" if options["header"] else "--no-header")
    before, sys.argv = sys.argv, words
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code: Any = "none"
    except SystemExit as end:
        code = end.code
    except BaseException as problem:
        return f"{type(problem).__name__}: {str(problem)[:300]}"
    finally:
        sys.argv = before
        path.unlink()
    said = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if code not in (0, 2) or "Traceback" in said:
        return f"exit code {code}: {said[-600:]!r}"
    return None


# ---- a process that reads many -------------------------------------------------------------------
def _status(key: str) -> float:
    """A figure of this process in MB: VmHWM, VmSize."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def _peak() -> float:
    """The most memory since the last call of _forget_peak, in MB."""
    if os.path.exists("/proc/self/clear_refs"):
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def worker(kind: str, first: int, stop: int, step: int, folder: Path) -> None:
    """Read mutants and write what went wrong, one JSON line each, into the folder."""
    found = sources(os.environ.get("FEATLY_DATA"))
    import featly.io.tables  # noqa: F401 (what is imported is no memory of a reader's)

    if kind == "rank":
        # beyond the readers polars takes such a name for a pattern
        found = {name: re.sub(rb"\^(.)\.\*\$", rb"\1_gen", data) for name, data in found.items()}
    check = rank_one if kind == "rank" else read_one
    for source in ("comma.csv", "mixed.parquet", "dense.mat", "sparse.arff"):
        check(Mutant(0, source, source, [], found[source], {}), folder)  # imports and compiles
    if os.path.exists("/proc/self/status"):
        most = int(_status("VmSize") + ADDRESSES) << 20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    words = os.environ.get("FEATLY_FUZZ_TRIAL", "").split(",")  # to try the guard itself
    trial = dict(word.split(":") for word in words if word)
    now, told = folder / "now", (folder / "told").open("a")
    for seed in range(first, stop, step):
        made = mutant(found, seed)
        now.write_text(json.dumps([seed, made.label]))
        _forget_peak()
        base = _status("VmRSS")
        began = time.perf_counter()
        faulthandler.dump_traceback_later(SLOWEST if not trial else 5, exit=True)
        if str(seed) == trial.get("crash"):
            os.abort()
        if str(seed) == trial.get("hang"):
            time.sleep(100)
        wrong = check(made, folder)
        faulthandler.cancel_dump_traceback_later()
        took, memory = time.perf_counter() - began, _peak() - base
        if wrong is None and memory > MEMORY:
            wrong = f"{memory:.0f} MB of memory"
        row = {"seed": seed, "wrong": wrong, "label": made.label, "took": took, "memory": memory}
        told.write(json.dumps(row) + "\n")
        told.flush()


@dataclasses.dataclass
class Report:
    """What came of many mutants.

    Attributes
    ----------
    count : int
        Mutants that were read.
    failures : list of str
    seconds, slowest, memory : float
        In all, of the slowest mutant, and MB of the one that took most.
    """

    count: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_label: str = ""
    memory: float = 0.0
    memory_label: str = ""

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Take in what a process wrote."""
        for row in rows:
            self.count += 1
            if row["wrong"]:
                self.failures.append(f"{row['label']}: {row['wrong']}")
            if row["took"] > self.slowest:
                self.slowest, self.slowest_label = row["took"], row["label"]
            if row["memory"] > self.memory:
                self.memory, self.memory_label = row["memory"], row["label"]


def fuzz(
    folder: Path, count: int, *, base: int = 0, processes: int = 1, kind: str = "read"
) -> Report:
    """Read `count` mutants in processes of their own; a crash or a hang is a failure, too."""
    report, lock = Report(), threading.Lock()
    began = time.perf_counter()

    def lane(k: int) -> None:
        first, crashes = base + k, 0
        place = folder / f"lane{k}"
        place.mkdir()
        while first < base + count and crashes < 50:
            done, said = _run(kind, first, base + count, processes, place)
            told = place / "told"
            rows = [json.loads(line) for line in told.read_text().splitlines()]
            told.unlink()
            with lock:
                report.add(rows)
            if done == 0:
                return
            crashes += 1
            seed, label = json.loads((place / "now").read_text())
            with lock:
                report.count += 1
                report.failures.append(f"{label}: the process ended with {done}: {said}")
            first = seed + processes

    lanes = [threading.Thread(target=lane, args=(k,)) for k in range(processes)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    report.seconds = time.perf_counter() - began
    return report


def _run(kind: str, first: int, stop: int, step: int, place: Path) -> tuple[int, str]:
    """A worker to its end: its exit code, and its last words should it not be 0."""
    (place / "now").write_text(json.dumps([first, f"seed {first}: before the first mutant"]))
    (place / "told").touch()
    words = [sys.executable, "-X", "faulthandler", "-m", "tests.io.mutants"]
    words += ["worker", kind, str(first), str(stop), str(step), str(place)]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **threads, "POLARS_MAX_THREADS": "1"}
    with (place / "stderr").open("w+", errors="replace") as err:
        process = subprocess.Popen(words, cwd=ROOT, env=env, stdout=err, stderr=err)
        # the watch inside cannot help where the process does not run at all
        seen, since = "", time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            current = (place / "now").read_text()
            if current != seen:
                seen, since = current, time.monotonic()
            if time.monotonic() - since > 4 * SLOWEST:
                process.kill()
        code = process.wait()
        err.seek(0)
        words_left = err.read()
    return code, words_left[-1500:] if code else ""


def main() -> None:
    """For developers: see the top of this file."""
    import tempfile

    match sys.argv[1:]:
        case ["worker", kind, first, stop, step, place]:
            worker(kind, int(first), int(stop), int(step), Path(place))
        case ["read" | "rank" as kind, seed]:
            made = mutant(sources(os.environ.get("FEATLY_DATA")), int(seed))
            print(made.label, len(made.data), "bytes", made.data[:200])
            folder = Path(tempfile.mkdtemp())
            (folder / f"kept-{made.name}").write_bytes(made.data)
            began = time.perf_counter()
            check = rank_one if kind == "rank" else read_one
            print(check(made, folder) or "sound", "in", folder)
            print(f"{time.perf_counter() - began:.2f} s, {_peak():.0f} MB in all")
        case ["fuzz" | "rankfuzz" as kind, count, *base]:
            folder = Path(tempfile.mkdtemp())
            report = fuzz(folder, int(count), base=int(base[0]) if base else 0, processes=2,
                          kind="rank" if kind == "rankfuzz" else "read")  # fmt: skip
            print("\n".join(report.failures))
            print(f"{report.count} mutants, {len(report.failures)} failures, "
                  f"{report.seconds:.0f} s\n"
                  f"slowest {report.slowest:.1f} s: {report.slowest_label}\n"
                  f"most memory {report.memory:.0f} MB: {report.memory_label}")  # fmt: skip
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
