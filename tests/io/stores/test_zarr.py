"""Zarr stores: folders and zip files, groups, and chunks that are lost."""

import shutil
import sys
import zipfile

import numpy as np
import pytest

from featly.basics.errors import DataError, SlowWarning
from featly.io.stores import chunks
from featly.problem.scan import scan
from tests.io.stores.making import floats, write_zarr, write_zip

zarr = pytest.importorskip("zarr")


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("dtype", ["?", "i1", ">i4", "u8", "<f4", ">f8"])
def test_dtypes(dtype, zarr_format, tmp_path):
    X = np.random.default_rng(0).integers(0, 100, (11, 10)).astype(dtype)
    write_zarr(tmp_path / "a.zarr", X, (4, 3), zarr_format=zarr_format)
    table = scan(tmp_path / "a.zarr")
    block = table.read(2, 9)
    assert np.array_equal(block, X[:, 2:9])
    assert block.dtype == table.dtype == X.dtype.newbyteorder("=")


@pytest.mark.parametrize(
    "options", [{"order": "F", "zarr_format": 2}, {"compressors": None}, {"shards": (12, 12)}]
)
def test_chunks_shards_and_compression(options, tmp_path):
    write_zarr(tmp_path / "a.zarr", floats(), (6, 6), **options)
    table = scan(tmp_path / "a.zarr")
    for low in range(0, 60, 4):
        assert np.array_equal(table.read(low, low + 4), floats()[:, low : low + 4])


def test_names_of_chunks(tmp_path):
    for separator in ("/", "."):
        path = tmp_path / f"{ord(separator)}.zarr"
        key = {"name": "v2", "separator": separator}
        write_zarr(path, floats(), (8, 16), zarr_format=2, chunk_key_encoding=key)
        assert (path / f"0{separator}0").is_file()
        table = scan(path)
        (path / f"1{separator}2").unlink()
        with pytest.raises(DataError, match=rf"the chunk '1{separator}2' went missing"):
            table.read(0, 61)


def test_choice_of_the_array(tmp_path):
    path = tmp_path / "a.zarr"
    group = zarr.open_group(str(path), mode="w")
    group.create_array("deep/X", shape=(23, 61), chunks=(8, 16), dtype="f4")[:] = floats()
    group.create_array("y", data=np.arange(23) % 2)
    group.create_array("short", data=np.arange(5))
    table = scan(path, target="y")
    assert np.array_equal(table.read(0, 61), floats())
    assert table.y.tolist() == [k % 2 for k in range(23)]
    assert table.column("short") is None
    with pytest.raises(DataError, match=r"target 'z' is no column of .*a.zarr'"):
        scan(path, target="z")
    group.create_array("Z", data=floats(seed=1))
    with pytest.raises(DataError, match=r"has 2 matrices \('Z', 'deep/X'\): name one by dataset"):
        scan(path)
    assert np.array_equal(scan(path, dataset="/deep/X").read(0, 61), floats())
    assert np.array_equal(scan(path / "Z").read(0, 61), floats(seed=1))
    with pytest.raises(DataError, match="has no array 'W': there are 'Z', 'deep/X'"):
        scan(path, dataset="W")
    with pytest.raises(DataError, match="has 1 dimension, where a table has two"):
        scan(path, dataset="y")
    with pytest.raises(DataError, match="is one array, no group of them: leave dataset 'X' out"):
        scan(path / "Z", dataset="X")
    shutil.rmtree(path / "Z")
    shutil.rmtree(path / "deep")
    with pytest.raises(DataError, match="has no array of two dimensions"):
        scan(path)


def test_a_zip_with_groups(tmp_path):
    store = zarr.storage.ZipStore(str(tmp_path / "a.zarr.zip"), mode="w")
    group = zarr.open_group(store, mode="w")
    group.create_array("X", data=floats(), chunks=(8, 16))
    store.close()
    with scan(tmp_path / "a.zarr.zip") as table:
        assert np.array_equal(table.read(3, 40), floats()[:, 3:40])


# ---- chunks that are lost -----------------------------------------------------------------------
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("harm", ["went missing", "was cut from", "changed"])
def test_a_chunk_that_is_lost_after_the_scan(harm, zarr_format, tmp_path):
    """A lost chunk is an error, where the library would read zeros."""
    path = tmp_path / "a.zarr"
    write_zarr(path, floats(), (8, 16), zarr_format=zarr_format)
    table = scan(path)
    key = "1.2" if zarr_format == 2 else "c/1/2"
    content = (path / key).read_bytes()
    if harm == "went missing":
        (path / key).unlink()
    else:
        (path / key).write_bytes(content[:-3] if harm == "was cut from" else content + b"123")
    assert np.array_equal(table.read(0, 32), floats()[:, :32])  # it is none of these
    for ask in (lambda: table.read(30, 40), lambda: table.take([33]), table.check):
        with pytest.raises(DataError, match=rf"a.zarr': the chunk '{key}' {harm} .*scan it again"):
            ask()


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chunk_of_fill_values_is_none(zarr_format, tmp_path):
    X = floats()
    X[8:16, 32:48] = 0
    path = tmp_path / "a.zarr"
    write_zarr(path, X, (8, 16), zarr_format=zarr_format)
    assert not (path / ("1.2" if zarr_format == 2 else "c/1/2")).exists()
    table = scan(path)
    assert np.array_equal(table.read(0, 61), X)
    table.check()


def test_a_chunk_that_was_cut_before_the_scan(tmp_path):
    path = tmp_path / "a.zarr"
    write_zarr(path, floats(), (8, 16))
    content = (path / "c/1/2").read_bytes()
    (path / "c/1/2").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"a.zarr' cannot be read as a Zarr store .*cut or damaged"):
        scan(path).read(0, 61)


def test_metadata_that_change(tmp_path):
    path = tmp_path / "a.zarr"
    write_zarr(path, floats(), (8, 16))
    table = scan(path)
    text = (path / "zarr.json").read_text()
    (path / "zarr.json").write_text(text + " ")
    with pytest.raises(DataError, match=r"zarr.json' changed while it was in use"):
        table.check()


def test_an_array_without_chunks(tmp_path):
    path = tmp_path / "a.zarr"
    write_zarr(path, floats(), (8, 16))
    shutil.rmtree(path / "c")
    with pytest.raises(DataError, match="has no chunk of its array: nothing was written to it"):
        scan(path)


def test_warning_about_wide_bands(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "BAND_BYTES", 1000)
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 300)
    write_zarr(tmp_path / "a.zarr", floats(), (1, 61))
    with pytest.warns(SlowWarning, match="in chunks of 1 rows and 61 columns") as caught:
        table = scan(tmp_path / "a.zarr")
    assert caught[0].filename == __file__
    assert np.array_equal(table.read(3, 30), floats()[:, 3:30])


# ---- what is none -------------------------------------------------------------------------------
def test_wrong_arrays(tmp_path):
    empty = tmp_path / "empty.zarr"
    empty.mkdir()
    with pytest.raises(DataError, match="is a folder without a Zarr array in it"):
        scan(empty)
    (empty / "zarr.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read as a Zarr store"):
        scan(empty)
    half = tmp_path / "half.zarr"
    write_zarr(half, floats().astype(np.float16), (8, 16))
    with pytest.raises(DataError, match="holds float16; bool, whole numbers"):
        scan(half)


def test_zip_files_that_are_none(tmp_path):
    path = tmp_path / "a.zip"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="is no zip file with a Zarr store: it begins like text"):
        scan(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="is a zip file without a Zarr store in it"):
        scan(path)
    write_zip(tmp_path / "b.zip", floats(), (8, 16))
    content = (tmp_path / "b.zip").read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"cannot be read as a zip file .* cut or damaged"):
        scan(path)


def test_without_the_library(tmp_path, monkeypatch):
    write_zarr(tmp_path / "a.zarr", floats(), (8, 16))
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(DataError, match=r"not installed: pip install 'featly\[io\]'"):
        scan(tmp_path / "a.zarr")
