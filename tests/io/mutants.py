"""Damaged files: deterministic mutants of real and generated tables.

Every mutant is a function of its seed and of the sources; ``tests.io.guard`` reads them.
"""

import bz2
import dataclasses
import gzip
import io
import lzma
import random
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Mutant", "mutant", "sources"]

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


def _generate_files() -> dict[str, bytes]:
    """Make small files of the kinds that the folder has not."""
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
    template = "@relation s\n{}\n@attribute class {{well,'very ill'}}\n@data\n{}\n"
    return {
        "mixed.parquet": _parquet(frame),
        "plain.parquet": _parquet(flat, compression="uncompressed", row_group_size=16),
        "snappy.parquet": _parquet(flat, compression="snappy", statistics=False),
        "packed.csv.gz": gzip.compress(csv, mtime=0),
        "packed.csv.bz2": bz2.compress(csv),
        "packed.csv.xz": lzma.compress(csv),
        "sparse.arff": template.format("\n".join(sparse), "\n".join(rows)).encode(),
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
    """Return the files to mutate by name: those of ``raw`` in a data folder, and made ones."""
    files = _generate_files()
    if folder and (Path(folder) / "raw").is_dir():
        for path in sorted((Path(folder) / "raw").iterdir()):
            if path.is_file():
                files[path.name] = path.read_bytes()
    return files


# ---- shortening ----------------------------------------------------------------------------------
def _shorten(rng: random.Random, name: str, data: bytes) -> bytes:
    """Shorten a file to a small one of the same kind, so that thousands can be read."""
    if name.endswith(".mat"):
        return _unpack_matlab(data) if rng.random() < 0.7 else data
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


def _unpack_matlab(data: bytes) -> bytes:
    """Decompress the variables of a MATLAB file, so that changes reach their numbers."""
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


def _draw_position(rng: random.Random, data: bytes) -> int:
    """Draw a position: anywhere, or near an end, where headers and footers are."""
    chance = rng.random()
    if chance < 0.25:
        return rng.randrange(min(len(data), 300) + 1)
    if chance < 0.5:
        return len(data) - rng.randrange(min(len(data), 600) + 1)
    return rng.randrange(len(data) + 1)


def cut(rng: random.Random, data: bytes) -> bytes:
    return (
        data[: _draw_position(rng, data)]
        if rng.random() < 0.8
        else data[_draw_position(rng, data) :]
    )


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 40]) if out else 0):
        out[min(_draw_position(rng, data), len(out) - 1)] ^= 1 << rng.randrange(8)
    return bytes(out)


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice([1, 3, 20]) if out else 0):
        out[min(_draw_position(rng, data), len(out) - 1)] = rng.choice(
            b"\0\xff\x7f\x80\n\r\"',;:{}@%#?-.09eE"
        )
    return bytes(out)


def insert_bytes(rng: random.Random, data: bytes) -> bytes:
    at = _draw_position(rng, data)
    return data[:at] + rng.randbytes(rng.choice([1, 2, 7, 300])) + data[at:]


def delete_bytes(rng: random.Random, data: bytes) -> bytes:
    at = _draw_position(rng, data)
    return data[:at] + data[at + rng.choice([1, 2, 5, 100, 3000]) :]


def repeat_chunk(rng: random.Random, data: bytes) -> bytes:
    at = _draw_position(rng, data)
    chunk = data[at : at + rng.choice([1, 10, 200, 5000])]
    return data[:at] + chunk * rng.choice([2, 2, 3, 50]) + data[at + len(chunk) :]


def move_chunk(rng: random.Random, data: bytes) -> bytes:
    a, b, c = sorted(_draw_position(rng, data) for _ in range(3))
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
    """Move the header below or the body above, or exchange two lines."""
    lines = data.split(b"\n")
    kind = rng.randrange(3)
    if kind == 0:
        lines = lines[1:] + lines[:1]
    elif kind == 1:
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
    at = _draw_position(rng, data)
    wrong = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff", b"\x81",
             b"\xe2\x80\xa8", b"\xc2\x85", b"\xef\xbb\xbf", b"\xd9\xa3",
             b"\xcc\x81" * 50]  # fmt: skip
    return data[:at] + rng.choice(wrong) + data[at:]


def zeros(rng: random.Random, data: bytes) -> bytes:
    at = _draw_position(rng, data)
    return data[:at] + b"\0" * rng.choice([1, 1, 8, 5000]) + data[at + rng.choice([0, 1, 8]) :]


def huge_field(rng: random.Random, data: bytes) -> bytes:
    at = _draw_position(rng, data)
    kinds = [b"x", b"9", b"1 ", b"\xc3\xa9", b"-", b"\\", b"{", b" ", b"\t", b"'\\", b"%"]
    kind = rng.choice(kinds)
    size = rng.choice([200_000, 200_000, 3_000_000])
    if kind == b"1 ":
        size = 40_000  # these are cells: hundreds of thousands of columns take their time
    quote = rng.choice([b"", b"", b'"'])
    return data[:at] + quote + kind * (size // len(kind)) + quote + data[at:]


def many_columns(rng: random.Random, data: bytes) -> bytes:
    """Put in a line of very many cells, somewhere or as the header."""
    lines = data.split(b"\n")
    at = rng.choice([0, len(lines) // 2, len(lines) - 1])
    # a table of one row and a million columns is in order, and takes its time
    count = rng.choice([3_000, 20_000, 200_000, 1_000_000] if len(lines) > 2 else [3_000, 50_000])
    mark = rng.choice([b",", b",", b";", b"\t", b" "])
    cells = mark * count if rng.random() < 0.5 else mark.join(b"%d" % k for k in range(count))
    lines[at] = cells
    return b"\n".join(lines)


def open_quote(rng: random.Random, data: bytes) -> bytes:
    positions = [0, *(match.end() for match in re.finditer(rb"[,;\s{]", data[:200_000]))]
    at = rng.choice(positions)
    return data[:at] + rng.choice([b'"', b"'", b'""', b'"a"b', b"{", b"'\\"]) + data[at:]


def line_ends(rng: random.Random, data: bytes) -> bytes:
    ends = rng.choice([[b"\r"], [b"\r\n"], [b"\r", b"\n", b"\r\n"], [b"\n\n"], [b"\n", b"\x0c"],
                       [b"\n", b"\n\r"], [b" "], [b"\n", b"\x0b\n", b"\x1c\n"]])  # fmt: skip
    lines = re.split(rb"\r?\n", data)
    return b"".join(line + rng.choice(ends) for line in lines)


def huge_number(rng: random.Random, data: bytes) -> bytes:
    spans = [match.span() for match in re.finditer(rb"\d+", data[:300_000])]
    if not spans:
        return flip_bits(rng, data)
    huge = [b"1000000000000", b"2147483647", b"2147483646", b"49999999", b"18446744073709551616",
            b"1e400", b"-1", b"0", b"1e308", b"9" * 400, b"9" * 5000, b"1_0", b"0x10", b"inf",
            b"nan", b"1e", "١٢".encode()]  # fmt: skip
    for start, stop in sorted(rng.sample(spans, min(len(spans), rng.choice([1, 1, 3]))))[::-1]:
        data = data[:start] + rng.choice(huge) + data[stop:]
    return data


def huge_word(rng: random.Random, data: bytes) -> bytes:
    """Change a number of 4 or 8 bytes, such as a length or a dimension, to a huge one."""
    size = rng.choice([4, 4, 8])
    if len(data) < size:
        return data
    at = min(_draw_position(rng, data), len(data) - size)
    at -= at % rng.choice([1, 4, 8])
    word = rng.choice([2**31 - 1, 2**31, 2**32 - 1, 10**9, 2**24, 0, 1, 65535, 2**20])
    return data[:at] + word.to_bytes(size, "little") + data[at + size :]


def footer(rng: random.Random, data: bytes) -> bytes:
    """Change the last part of the file, where parquet describes itself."""
    if len(data) < 12:
        return data
    size = min(int.from_bytes(data[-8:-4], "little") + 8, len(data))
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = len(out) - 1 - rng.randrange(size)
        out[at] = rng.choice([rng.randrange(256), 0xFF, 0, out[at] ^ 1, (out[at] + 2) % 256])
    return bytes(out)


def long_number_in_footer(rng: random.Random, data: bytes) -> bytes:
    """Make numbers of Thrift, written in groups of 7 bits, huge without moving the rest."""
    size = min(int.from_bytes(data[-8:-4], "little") + 8, len(data))
    out = bytearray(data)
    for _ in range(rng.choice([1, 2])):
        at = max(0, len(out) - 9 - rng.randrange(max(1, size)))
        out[at : at + 3] = b"\xfe\xff\xff"[: len(out[at : at + 3])]
    return bytes(out)


def separators(rng: random.Random, data: bytes) -> bytes:
    positions = [match.start() for match in re.finditer(rb"[,;:\t ]", data[:300_000])]
    if not positions:
        return insert_bytes(rng, data)
    for at in sorted(rng.sample(positions, min(len(positions), rng.choice([1, 5]))))[::-1]:
        new = rng.choice([data[at : at + 1] * 2, data[at : at + 1] * 1000, b"", b";", b"\t", b":"])
        data = data[:at] + new + data[at + 1 :]
    return data


def levels(rng: random.Random, data: bytes) -> bytes:
    """Change the type of an ARFF attribute; elsewhere put a line of its syntax in front."""
    types = [b"{" + b",".join(b"l%d" % k for k in range(20_000)) + b"}", b"{}", b"{,}", b"{a,a}",
             b"{'", b"{a", b"date", b"date 'yyyy'", b"relational", b"string", b"numeric [", b"",
             b"real[0,1]", b"integer", b"{?}", b"{'?',a}", b"{a b}", b"NUMERIC", b"{" * 400,
             b"{" + b"'" * 401 + b"}", b"{" + b"\\" * 301 + b"}"]  # fmt: skip
    declared = list(re.finditer(rb"(?im)^(@attribute\s+\S+)(.*)$", data[:300_000]))
    if not declared:
        return b"@relation r\n@attribute a " + rng.choice(types) + b"\n@data\n" + data
    chosen = rng.choice(declared)
    return data[: chosen.end(1)] + b" " + rng.choice(types) + data[chosen.end(2) :]


def double(rng: random.Random, data: bytes) -> bytes:
    return data + rng.choice([b"", b"\n"]) + data


def empty(rng: random.Random, data: bytes) -> bytes:
    return rng.choice([b"", b"\n", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"PAR1", b"PAR1PAR1",
                       b"\x1f\x8b", b"@data", b"@attribute", b"BZh", data[:1], data[:130], b"a",
                       b"a\n1", b"1", b"a,b", b",", b'"', b"1 1:1", b"@relation",
                       b"\r"])  # fmt: skip


ANY: tuple[Way, ...] = (cut, flip_bits, change_bytes, insert_bytes, delete_bytes, repeat_chunk,
                        move_chunk, zeros, huge_word, double)  # fmt: skip
TEXT: tuple[Way, ...] = (insert_line, delete_line, swap_lines, shuffle_lines, other_encoding,
                         invalid_text, huge_field, open_quote, line_ends, huge_number, separators,
                         levels, empty)  # fmt: skip
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
        """Text that reproduces the mutant: seed, source, ways and options."""
        shown = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"seed {self.seed} ({self.source}: {', '.join(self.ways)}; {shown or 'no options'})"


_UNPACK = {".gz": (gzip.decompress, lambda data: gzip.compress(data, 1, mtime=0)),
           ".bz2": (bz2.decompress, bz2.compress),
           ".xz": (lzma.decompress, lambda data: lzma.compress(data, preset=0))}  # fmt: skip


def mutant(files: dict[str, bytes], seed: int) -> Mutant:
    """Make the mutant of a seed."""
    rng = random.Random(seed)
    names = sorted(files)
    # in turn, so that few seeds reach every file
    source = names[seed % len(names)]
    data = files[source]
    ways: list[str] = []
    whole = rng.random() < (0.3 if len(data) < 300_000 else 0.12)
    if whole:
        ways.append("whole")
    else:
        data = _shorten(rng, source, data)
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
