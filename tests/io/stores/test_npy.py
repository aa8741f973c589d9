"""NumPy files in both orders, and maps of files."""

import os
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError, SlowWarning
from featly.io.stores import StoredTable, raw, table_behind_map
from featly.io.stores.npy import NpyTable
from featly.problem.scan import scan
from tests.io.stores.making import floats, write_h5

DTYPES = ["?", "i1", "u1", "<i2", ">i2", "<u4", ">i8", "<f4", ">f4", "<f8", ">f8"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (6, 5), (3, 20_000), (20_000, 3)])
def test_every_dtype_and_order(dtype, order, shape, tmp_path):
    values = np.random.default_rng(0).integers(-100, 100, shape)
    X = np.asarray(values.astype(dtype), order=order)
    np.save(tmp_path / "X.npy", X)
    table = scan(tmp_path / "X.npy")
    assert table.dtype == X.dtype.newbyteorder("=")
    assert table.dtype.isnative
    p = shape[1]
    for low, high in ((0, p), (p // 3, p - p // 4), (p - 1, p)):
        block = table.read(low, high)
        assert np.array_equal(block, X[:, low:high])
        assert block.dtype.isnative
        assert block.flags.f_contiguous if table.feature_major else block.flags.c_contiguous
    features = np.random.default_rng(1).integers(0, p, 5)
    assert np.array_equal(table.take(features), X[:, features])
    assert table.nbytes == X.nbytes


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    order=st.sampled_from("CF"),
    tile=st.integers(1, 400),
    gap=st.integers(0, 400),
    cut=st.tuples(st.integers(0, 40), st.integers(0, 40)),
    features=st.lists(st.integers(0, 39), max_size=12),
)
def test_tile_and_gap_sizes_do_not_matter(tmp_path_factory, shape, order, tile, gap, cut, features):
    X = np.asarray(np.arange(shape[0] * shape[1], dtype=np.int16).reshape(shape), order=order)
    path = tmp_path_factory.mktemp("npy") / "X.npy"
    np.save(path, X)
    low, high = sorted(min(bound, shape[1]) for bound in cut)
    chosen = [feature % shape[1] for feature in features]
    with pytest.MonkeyPatch.context() as patch, NpyTable(path) as table:
        patch.setattr(raw, "TILE_BYTES", tile)
        patch.setattr(raw, "ROW_GAP_BYTES", gap)
        patch.setattr(raw, "GAP_BYTES", gap)
        patch.setattr(raw, "SPAN_BYTES", tile)
        assert np.array_equal(table.read(low, high), X[:, low:high])
        assert np.array_equal(table.take(chosen), X[:, chosen])


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_is_that_of_a_block(order, tmp_path):
    shape = (500, 40_000)
    X = np.lib.format.open_memmap(
        tmp_path / "X.npy", "w+", np.float32, shape, fortran_order=order == "F"
    )
    X.flush()
    del X
    table = scan(tmp_path / "X.npy")
    tracemalloc.start()
    for low in range(0, 40_000, 4_000):
        table.read(low, low + 4_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.nbytes == 80_000_000
    assert peak < 2 * 8_000_000 + 4_000_000


def test_warning_about_row_major_files(tmp_path, monkeypatch):
    """A slow layout is warned of by an estimate, so a small file serves."""
    X = floats(2000, 30)
    np.save(tmp_path / "F.npy", np.asfortranarray(X))
    np.save(tmp_path / "C.npy", X)
    write_h5(tmp_path / "C.h5", X)
    for path in ("F.npy", "C.npy", "C.h5"):
        scan(tmp_path / path)  # warnings are errors
    monkeypatch.setattr(raw, "BLOCK_BYTES", 8000)
    monkeypatch.setattr(raw, "RATE", 4e4)
    monkeypatch.setattr(raw, "CALL", 1e-2)
    scan(tmp_path / "F.npy")
    for path in ("C.npy", "C.h5"):
        with pytest.warns(SlowWarning, match="takes about 3 minutes, .* Fortran order") as caught:
            table = scan(tmp_path / path)
        assert caught[0].filename == __file__
        assert np.array_equal(table.read(3, 9), X[:, 3:9])


# ---- files that are none ------------------------------------------------------------------------
def header(text, version=b"\x01\x00"):
    size = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + size + text


GOOD = b"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x93NUM", "is no .npy file"),
        (b"PAR1abcdefgh", "is no .npy file: it begins like a parquet table"),
        (b"a,b,c\n1,2,3\n", "is no .npy file: it begins like text"),
        (b"\x00\x01\x02\x03" * 20, "is no .npy file: write it with numpy.save"),
        (header(GOOD)[:30], "is cut within its header"),
        (
            header(GOOD),
            "is cut: it has 69 bytes, where its 2 rows and 3 columns of float32 take 93",
        ),
        (header(GOOD) + bytes(23), "is cut: it has 92 bytes"),
        (header(GOOD) + bytes(25), "has 1 bytes behind its table"),
        (header(b"{'descr': '<f4'}\n"), "has a header that cannot be read"),
        (header(b"__import__('os').getcwd()\n"), "has a header that cannot be read"),
        (header(GOOD.replace(b"2", b"-2")), "has a header that cannot be read"),
        (header(b"(" * 5000), "has a header that cannot be read"),
        (header(GOOD.replace(b"<f4", b"<f2")) + bytes(12), "holds float16; bool, whole numbers"),
        (header(GOOD.replace(b"<f4", b"<c8")) + bytes(48), "holds complex64"),
        (header(GOOD.replace(b"<f4", b"|O")) + bytes(48), "holds Python objects"),
        (header(GOOD.replace(b"<f4", b"<U3")) + bytes(48), "holds <U3"),
        (header(GOOD.replace(b"<f4", b"<M8[s]")) + bytes(48), r"holds datetime64\[s\]"),
        (
            header(GOOD.replace(b"(2, 3)", b"(6,)")) + bytes(24),
            "has 1 dimension, where a table has",
        ),
        (header(GOOD.replace(b"(2, 3)", b"()")) + bytes(4), "has 0 dimensions"),
        (header(GOOD.replace(b"(2, 3)", b"(1,2,3)")) + bytes(24), "has 3 dimensions"),
        (header(GOOD.replace(b"(2, 3)", b"(0, 3)")), "has 0 rows and 3 columns"),
        (header(GOOD.replace(b"(2, 3)", b"(3, 0)")), "has 3 rows and 0 columns"),
    ],
)
def test_other_files_are_refused(content, words, tmp_path):
    path = tmp_path / "X.npy"
    path.write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        scan(path)
    assert repr(str(path)) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", [b"\x02\x00", b"\x03\x00"])
def test_later_versions_of_the_format(version, tmp_path):
    values = np.arange(6, dtype=np.float32)
    (tmp_path / "X.npy").write_bytes(header(GOOD, version) + values.tobytes())
    assert np.array_equal(scan(tmp_path / "X.npy").read(0, 3), values.reshape(3, 2).T)


def test_structured_arrays(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((2, 3), [("age", "f4"), ("dose", "f4")]))
    with pytest.raises(DataError, match=r"X.npy' holds \[\('age', '<f4'\), \('dose', '<f4'\)\]"):
        scan(tmp_path / "X.npy")


# ---- maps ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_file_behind_a_map(order, tmp_path):
    X = np.asarray(np.arange(35.0).reshape(5, 7), order=order)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    whole = table_behind_map(mapped)
    assert isinstance(whole, StoredTable)
    assert np.array_equal(whole.read(1, 6), X[:, 1:6])
    part = mapped[2:] if order == "C" else mapped[:, 3:]
    assert np.array_equal(table_behind_map(part).read(0, 3), np.asarray(part)[:, :3])
    turned = table_behind_map(mapped.T)
    assert np.array_equal(turned.read(0, 5), X.T)
    assert turned.feature_major is not whole.feature_major or order == "F"


def test_a_raw_map(tmp_path):
    path = tmp_path / "X.bin"
    path.write_bytes(b"\xff" * 5001 + np.arange(12, dtype=">i2").tobytes() + b"tail")
    mapped = np.memmap(path, ">i2", "r", offset=5001, shape=(4, 3))
    values = table_behind_map(mapped).read(0, 3)
    assert np.array_equal(values, np.arange(12).reshape(4, 3))
    assert values.dtype == np.int16
    assert values.flags.aligned


def test_a_map_that_was_written_to(tmp_path):
    mapped = np.memmap(tmp_path / "X.bin", "f4", "w+", shape=(4, 3))
    mapped[:] = np.arange(12).reshape(4, 3)
    assert np.array_equal(table_behind_map(mapped).read(0, 3), np.arange(12).reshape(4, 3))


def test_arrays_that_map_no_file(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.arange(35.0).reshape(5, 7))
    mapped = np.load(path, mmap_mode="r")
    assert table_behind_map(np.zeros((3, 3))) is None
    assert table_behind_map(np.asarray(mapped)) is None
    assert table_behind_map(mapped[:, 2:]) is None
    assert table_behind_map(mapped[::2]) is None
    assert table_behind_map(mapped[0]) is None
    assert table_behind_map(mapped[:0]) is None
    assert table_behind_map(mapped + 1) is None
    assert table_behind_map(np.load(path, mmap_mode="c")) is None
    assert table_behind_map(np.memmap(tmp_path / "half", "f2", "w+", shape=(2, 2))) is None
    old_map = np.load(path, mmap_mode="r")
    os.replace(path, tmp_path / "moved.npy")
    assert table_behind_map(old_map) is None
    np.save(path, np.zeros((5, 7)))  # another file under the same name
    assert table_behind_map(old_map) is None


def test_a_map_of_a_file_that_shrank(tmp_path):
    """A cut file is an error and not the end of the process."""
    path = tmp_path / "X.npy"
    np.save(path, np.arange(400_000.0).reshape(400, 1000))
    table = table_behind_map(np.load(path, mmap_mode="r"))
    os.truncate(path, 8192)
    with pytest.raises(DataError, match="was cut from 3200128 to 8192 bytes"):
        table.read(0, 1000)
