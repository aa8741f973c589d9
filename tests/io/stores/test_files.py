"""Files read in pieces, memory for blocks, words of lines."""

import gc
import itertools
import os

import numpy as np
import pytest

from featly.basics.errors import DataError
from featly.io.stores import files
from featly.io.stores.base import spans
from featly.io.stores.files import Buffers, DiskFile
from featly.io.stores.lines import STRIDE, LineWords


def test_a_system_without_preadv(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(bytes(range(200)))
    monkeypatch.setattr(files, "_PREADV", None)
    with DiskFile(path) as file:
        assert file.read(100, 50) == bytes(range(100, 150))
        rows = np.zeros(9, np.uint8)
        file.read_rows(rows, 3, 10, 50)
        assert rows.tolist() == [10, 11, 12, 60, 61, 62, 110, 111, 112]
        with pytest.raises(DataError, match="was cut"):
            file.read(190, 11)


def test_a_disk_that_fails(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(bytes(200))

    def fail(*_):
        raise OSError(5, "Input/output error")

    with DiskFile(path) as file:
        monkeypatch.setattr(files, "_PREADV", fail)
        with pytest.raises(DataError, match=r"a' cannot be read at byte 7 \(Input/output error\)"):
            file.read(7, 3)
        with pytest.raises(DataError, match="cannot be read at byte 10"):
            file.read_rows(np.zeros(9, np.uint8), 3, 10, 50)


def test_short_reads_are_continued(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(bytes(range(200)))
    whole = os.preadv

    def little(descriptor, buffers, offset):
        return whole(descriptor, [buffers[0][:7]], offset)

    monkeypatch.setattr(files, "_PREADV", little)
    with DiskFile(path) as file:
        assert file.read(3, 100) == bytes(range(3, 103))
        rows = np.zeros(20, np.uint8)
        file.read_rows(rows, 10, 0, 100)
        assert rows.tolist() == [*range(10), *range(100, 110)]


@pytest.mark.parametrize("path", ["-", "pipe", "packed"])
def test_unseekable_and_compressed_files(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    (tmp_path / "packed").write_bytes(b"\x1f\x8b123456789")
    with pytest.raises(DataError, match=r"name a file|write it to a file|decompress it first"):
        DiskFile(path)


# ---- memory -----------------------------------------------------------------------------------
def test_a_block_in_use_is_not_lent_again():
    buffers = Buffers()
    rng = np.random.default_rng(0)
    lent = []
    for turn in range(300):
        count = int(rng.integers(1 << 22, 1 << 23))
        block = buffers.lend(count, offset=int(rng.integers(100)))
        assert len(block) == count
        block[:64] = turn % 251
        # only a view of a part is kept: it must keep the memory
        lent.append((turn % 251, block.view(np.uint32).reshape(1, -1).T[:8, 0]
                     if count % 4 == 0 else block[5:50]))  # fmt: skip
        if len(lent) > 4:
            lent.pop(int(rng.integers(5)))
        for value, part in lent:
            assert (part.view(np.uint8) == value).all()


def test_a_block_is_aligned_as_in_the_file():
    buffers = Buffers()
    for offset in (0, 128, 131, 1000):
        assert buffers.lend(1 << 22, offset).ctypes.data % 64 == offset % 64


def test_pooled_memory_is_limited():
    buffers = Buffers(n_cached=2)
    blocks = [buffers.lend(1 << 22) for _ in range(5)]
    addresses = {block.ctypes.data for block in blocks}
    del blocks
    gc.collect()
    assert len(buffers._free) == 2
    assert buffers.lend(1 << 22).ctypes.data in addresses
    buffers.clear()
    assert not buffers._free


# ---- runs of columns --------------------------------------------------------------------------
@pytest.mark.parametrize("gap", [0, 1, 5, 100])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_runs_cover_the_columns(gap, most):
    columns = np.unique(np.random.default_rng(gap).integers(0, 300, 60))
    runs = list(spans(columns, gap, most))
    assert np.concatenate(runs).tolist() == columns.tolist()
    for run in runs:
        assert run[-1] - run[0] < most
        assert (np.diff(run) <= gap + 1).all()
    for left, right in itertools.pairwise(runs):  # nothing that belongs together is apart
        assert right[0] - left[-1] > gap + 1 or right[0] - left[0] >= most


# ---- words of lines ---------------------------------------------------------------------------
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("count", [1, 2, STRIDE - 1, STRIDE, STRIDE + 1, 3 * STRIDE, 1000])
def test_words_of_many_lines(count, end, tmp_path, monkeypatch):
    monkeypatch.setattr("featly.io.stores.lines.CHUNK_BYTES", 997)
    path = tmp_path / "a.bim"
    words = [f"rs{k * k}" for k in range(count)]
    path.write_bytes("\r\n".join(f"1 \t{word}  x" for word in words).encode() + end.encode())
    line_words = LineWords(DiskFile(path), 1)
    assert len(line_words) == count
    assert list(line_words) == words
    assert line_words[:] == words
    assert line_words[::-7] == words[::-7]
    assert line_words[5:3] == []
    assert line_words[-1] == words[-1]
    assert [line_words[k] for k in range(0, count, 100)] == words[::100]
    assert line_words.position(words[-1]) == count - 1
    assert line_words.position("x") is None
    assert line_words.position("rs") is None
    with pytest.raises(IndexError):
        line_words[count]


def test_a_line_without_the_word(tmp_path):
    path = tmp_path / "a.bim"
    path.write_text("1 a\n" * 300 + "1\n" + "1 b\n")
    line_words = LineWords(DiskFile(path), 1)
    assert line_words[0] == "a"
    with pytest.raises(DataError, match=r"line 301 of '.*a.bim' has 1 words"):
        list(line_words)
