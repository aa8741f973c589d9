"""HDF5 files, and the annotated matrices of h5ad."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from featly.basics.errors import DataError, ParameterError, SlowWarning
from featly.io.stores import chunks
from featly.io.stores import sparse as compressed
from featly.problem.scan import scan
from tests.io.stores.making import floats, sparse, write_h5, write_h5ad

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize("dtype", ["?", "i1", ">i4", "u8", "<f4", ">f8"])
@pytest.mark.parametrize("options", [{}, {"chunks": (3, 4)}, {"chunks": True, "compression": 1}])
def test_dtypes_and_layouts(dtype, options, tmp_path):
    X = np.random.default_rng(0).integers(0, 100, (11, 10)).astype(dtype)
    write_h5(tmp_path / "a.h5", X, **options)
    table = scan(tmp_path / "a.h5")
    block = table.read(2, 9)
    assert np.array_equal(block, X[:, 2:9])
    assert block.dtype == table.dtype == X.dtype.newbyteorder("=")
    assert np.array_equal(table.take([9, 1]), X[:, [9, 1]])
    assert table.alignment == (1 if not options else min(h5_chunks(tmp_path / "a.h5")[1], 10))


def h5_chunks(path):
    with h5py.File(path) as file:
        return file["X"].chunks


def test_choice_of_the_matrix(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["deep/er/X"] = floats()
        file["y"] = [b"ill", b"well"] * 11 + [b"ill"]
        file["other"] = np.arange(5)
    table = scan(path, target="y")
    assert table.where == "deep/er/X"
    assert np.array_equal(table.read(0, 61), floats())
    assert table.y[:3].tolist() == ["ill", "well", "ill"]
    assert table.column("other") is None
    with pytest.raises(DataError, match=r"target 'other' is no column of .*: its columns are y"):
        scan(path, target="other")
    table.close()
    with h5py.File(path, "a") as file:
        file["Z"] = floats(seed=1)
    with pytest.raises(
        DataError, match=r"has 2 matrices \('Z', 'deep/er/X'\): name one by dataset"
    ):
        scan(path)
    assert np.array_equal(scan(path, dataset="/Z").read(0, 61), floats(seed=1))
    wrong = {
        "W": "has no matrix 'W': there are 'Z'",
        "deep": "'deep' of .* is a group",
        "y": "'y' of .* holds Python objects",
        "other": "has 1 dimension",
    }
    for name, words in wrong.items():
        with pytest.raises(DataError, match=words):
            scan(path, dataset=name)
    with pytest.raises(DataError, match="has no layers, as it is no h5ad file"):
        scan(path, layer="counts")


def test_no_matrix(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["y"] = np.arange(3)
    with pytest.raises(DataError, match="has no matrix: a dataset of two dimensions is needed"):
        scan(tmp_path / "a.h5")
    with pytest.raises(DataError, match="has no matrix 'X', and no other"):
        scan(tmp_path / "a.h5", dataset="X")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is no HDF5 file: it begins like text"),
        (bytes(3000), "is no HDF5 file: write it with h5py or anndata"),
        (b"\x89HDF\r\n\x1a\n" + bytes(3000), "cannot be read as an HDF5 file .* cut or damaged"),
    ],
)
def test_other_files_are_refused(content, words, tmp_path):
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        scan(tmp_path / "a.h5")
    assert "\n" not in str(caught.value)


def test_a_user_block(tmp_path):
    """A user block in front of the HDF5 content is skipped."""
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=1024) as file:
        file["X"] = floats()
    assert np.array_equal(scan(tmp_path / "a.h5").read(0, 61), floats())


def test_values_in_other_files(tmp_path):
    write_h5(tmp_path / "b.h5", floats())
    layout = h5py.VirtualLayout((23, 61), "f4")
    layout[:] = h5py.VirtualSource(tmp_path / "b.h5", "X", shape=(23, 61))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("X", layout)
    with pytest.raises(DataError, match=r"'X' of .* lies in other files"):
        scan(tmp_path / "a.h5")


def test_a_matrix_that_was_never_written(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", (3, 4), "f4", fillvalue=7)
    assert (scan(tmp_path / "a.h5").read(0, 4) == 7).all()


def test_a_damaged_chunk(tmp_path):
    path = tmp_path / "a.h5"
    write_h5(path, floats(), chunks=(23, 61), compression=4, shuffle=True)
    with h5py.File(path) as file:
        offset = file["X"].id.get_chunk_info(0).byte_offset
    content = bytearray(path.read_bytes())
    content[offset + 10 : offset + 200] = bytes(190)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be read as an HDF5 file"):
        scan(path).read(0, 5)


@pytest.mark.parametrize("name", ["h5-gzip", "h5ad-columns"])
def test_a_compression_that_is_not_installed(name, tmp_path, monkeypatch):
    path = tmp_path / "a.h5"
    if name == "h5-gzip":
        write_h5(path, floats(), compression=4)
    else:
        write_h5ad(path, scipy.sparse.csc_matrix(sparse()), compression="gzip")
    monkeypatch.setattr(h5py.h5z, "filter_avail", lambda code: False)
    with pytest.raises(DataError, match=r"'X' of .* by deflate, .* pip install hdf5plugin"):
        scan(path)


def test_warning_about_wide_bands(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "BAND_BYTES", 1000)
    monkeypatch.setattr(chunks, "BLOCK_BYTES", 300)
    write_h5(tmp_path / "a.h5", floats(), chunks=(1, 61))
    with pytest.warns(SlowWarning, match=r"'X' of .* in chunks of 1 rows and 61 columns") as caught:
        table = scan(tmp_path / "a.h5")
    assert caught[0].filename == __file__
    assert np.array_equal(table.read(3, 30), floats()[:, 3:30])
    assert table.held_bytes == 0
    write_h5(tmp_path / "b.h5", floats(), chunks=(8, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scan(tmp_path / "b.h5")


def test_a_band_is_read_once(tmp_path, monkeypatch):
    write_h5(tmp_path / "a.h5", floats(), chunks=(8, 16))
    table = scan(tmp_path / "a.h5")
    fetched = []
    fetch = table._fetch
    monkeypatch.setattr(
        table, "_fetch", lambda low, high: fetched.append((low, high)) or fetch(low, high)
    )
    for low in range(0, 60, 3):
        assert np.array_equal(table.read(low, low + 3), floats()[:, low : low + 3])
    assert fetched == [(0, 16), (16, 32), (32, 48), (48, 61)]
    fetched.clear()
    assert np.array_equal(table.read(10, 55), floats()[:, 10:55])
    assert fetched == [(0, 16), (16, 48)]
    fetched.clear()
    assert np.array_equal(table.read(16, 33), floats()[:, 16:33])
    assert fetched == [(16, 32), (32, 48)], "no part of a band but from the cache"


def test_without_the_library(tmp_path, monkeypatch):
    write_h5(tmp_path / "a.h5", floats())
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DataError, match=r"not installed: pip install 'featly\[io\]'"):
        scan(tmp_path / "a.h5")


# ---- h5ad ---------------------------------------------------------------------------------------
def test_matrices_of_an_annotated_file(tmp_path):
    path = tmp_path / "a.h5ad"
    X = sparse()
    write_h5ad(path, X, rows=scipy.sparse.csr_matrix(X + 1), columns=scipy.sparse.csc_matrix(X * 2))
    dense, rows, columns = (scan(path, layer=name) for name in (None, "rows", "columns"))
    assert [table.sparse for table in (dense, rows, columns)] == [False, True, True]
    assert np.array_equal(dense.read(0, 61), X)
    assert np.array_equal(rows.read(7, 50), (X + 1)[:, 7:50])
    assert np.array_equal(columns.read(7, 50), (X * 2)[:, 7:50])
    assert list(columns.names) == [f"gene{k}" for k in range(61)]
    block = columns.sparse_block(3, 9)
    assert scipy.sparse.issparse(block)
    assert block.format == "csc"
    assert np.array_equal(block.toarray(), (X * 2)[:, 3:9])
    assert np.array_equal(rows.sparse_block(3, 9).toarray(), (X + 1)[:, 3:9])
    assert len(rows.sparse_block(3, 3).data) == 0
    with pytest.raises(DataError, match="is dense: read it by read"):
        dense.sparse_block(0, 1)
    with pytest.raises(DataError, match="has no matrix 'layers/none': there are 'X', 'layers/"):
        scan(path, layer="none")
    with pytest.raises(DataError, match="both layer 'rows' and dataset 'X' are named"):
        scan(path, layer="rows", dataset="X")
    assert np.array_equal(scan(path, dataset="layers/rows").read(0, 61), X + 1)


def test_the_raw_matrix_has_names_of_its_own(tmp_path):
    full = anndata.AnnData(floats(5, 9), var=pd.DataFrame(index=[f"g{k}" for k in range(9)]))
    part = full[:, :4].copy()
    part.raw = full
    part.write_h5ad(tmp_path / "a.h5ad")
    table = scan(tmp_path / "a.h5ad", dataset="raw/X")
    assert list(table.names) == [f"g{k}" for k in range(9)]
    assert np.array_equal(table.read(0, 9), floats(5, 9))
    assert list(scan(tmp_path / "a.h5ad").names) == ["g0", "g1", "g2", "g3"]


def test_columns_of_obs(tmp_path):
    obs = pd.DataFrame(
        {
            "state": pd.Categorical(["ill", None, "well", "ill"]),
            "level": pd.Categorical([3, 1, 3, 3]),
            "dose": [0.5, np.nan, 2, 3],
            "age": [61, 47, 52, 68],
            "visits": pd.array([1, None, 3, 4], dtype="Int64"),
            "sure": pd.array([True, None, False, True], dtype="boolean"),
            "all_there": pd.array([1, 2, 3, 4], dtype="Int64"),
        },
        index=list("abcd"),
    )
    path = tmp_path / "a.h5ad"
    anndata.AnnData(floats(4, 3), obs=obs).write_h5ad(path)
    table = scan(path, target="state")
    assert table.y.tolist() == ["ill", None, "well", "ill"]
    assert table.column("level").tolist() == [3, 1, 3, 3]
    assert np.array_equal(table.column("dose"), [0.5, np.nan, 2, 3], equal_nan=True)
    assert table.column("age").tolist() == [61, 47, 52, 68]
    assert np.array_equal(table.column("visits"), [1, np.nan, 3, 4], equal_nan=True)
    assert table.column("sure").tolist() == [True, None, False, True]
    assert table.column("all_there").tolist() == [1, 2, 3, 4]
    assert table.column("_index") is None
    with pytest.raises(DataError, match=r"target 'stat' is no column of the obs .* mean 'state'\?"):
        scan(path, target="stat")


def test_text_and_the_categories_of_older_files(tmp_path):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = floats(3, 2)
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"], var.attrs["_index"] = "cells", b"genes"
        obs["cells"], var["genes"] = [b"a", b"b", b"c"], [b"TP53", b"BRCA1"]
        obs["site"] = ["Köln", "Leiden", "Wien"]
        obs["state"] = np.array([1, -1, 0], np.int8)
        obs["__categories/state"] = [b"ill", b"well"]
        obs["state"].attrs["categories"] = obs["__categories/state"].ref
    table = scan(path)
    assert list(table.names) == ["TP53", "BRCA1"]
    assert table.column("state").tolist() == ["well", None, "ill"]
    assert table.column("site").tolist() == ["Köln", "Leiden", "Wien"]
    assert table._target_names() == ["site", "state"]


def test_annotations_that_do_not_fit(tmp_path):
    path = tmp_path / "a.h5ad"
    write_h5ad(path, floats(4, 3))
    with h5py.File(path, "a") as file:
        del file["var/_index"], file["obs/state/codes"]
        file["var/_index"] = [b"only"]
        file["obs/state/codes"] = np.array([0, 1, 2, 9], np.int8)
    table = scan(path)
    with pytest.raises(DataError, match="has 1 names for the 3 columns of 'X'"):
        _ = table.names
    with pytest.raises(DataError, match="has codes beyond its categories"):
        table.column("state")


def test_obs_as_very_old_files_have_it(tmp_path):
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = floats(3, 2)
        file["obs"] = np.zeros(3, [("index", "S3"), ("state", "i1")])
        file["var"] = np.zeros(2, [("index", "S3")])
    table = scan(path)
    assert table.names[1] == "x1"
    with pytest.raises(DataError, match=r"before 0.7: read it with anndata and write it again"):
        table.column("state")


@pytest.mark.parametrize("piece", [1, 7, 100, 10_000])
@pytest.mark.parametrize("density", [0, 0.1, 1])
def test_sparse_rows_are_converted_piece_by_piece(piece, density, tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "PIECE", piece)
    X = scipy.sparse.random(17, 13, density, "csr", np.float32, random_state=0)
    write_h5ad(tmp_path / "a.h5ad", X)
    table = scan(tmp_path / "a.h5ad")
    block = table.sparse_block(0, 13)
    assert np.array_equal(block.toarray(), X.toarray())
    assert block.has_sorted_indices
    assert np.array_equal(table.read(4, 9), X.toarray()[:, 4:9])


def test_memory_limit_of_sparse_rows(tmp_path):
    X = scipy.sparse.random(2000, 1000, 0.2, "csr", np.float32, random_state=0)
    path = tmp_path / "a.h5ad"
    write_h5ad(path, X)
    with pytest.raises(DataError, match=r"'X' of .* take 3.21 MB .* than the 2 MB .*\.tocsc\(\)"):
        scan(path, memory_limit="2MB")
    table = scan(path, memory_limit="4MB")
    assert np.array_equal(table.read(0, 9), X.toarray()[:, :9])
    assert table.held_bytes == 400_000 * 8 + 8 * 1001
    with pytest.raises(ParameterError, match="memory_limit='two'"):
        scan(path, memory_limit="two")
    write_h5ad(tmp_path / "b.h5ad", X.tocsc(), dense=X.toarray())
    for layer, words in ((None, "but 'X' of .* is so by columns"), ("dense", "'layers/dense' of")):
        with pytest.raises(
            DataError, match=f"memory_limit is for .*{words}.* leave memory_limit out"
        ):
            scan(tmp_path / "b.h5ad", layer=layer, memory_limit="4MB")


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    ("part", "value"), [("indices", 500), ("indices", -1), ("indptr", 9000), ("indptr", -4)]
)
def test_damaged_sparse_matrices(form, part, value, tmp_path):
    path = tmp_path / "a.h5ad"
    X = scipy.sparse.csr_matrix(sparse())
    write_h5ad(path, X.asformat(form))
    with h5py.File(path, "a") as file:
        file[f"X/{part}"][5] = value
    with pytest.raises(DataError, match=r"'X' of .* has indices beyond its shape: it is damaged"):
        scan(path).read(0, 61)


def test_sparse_matrices_that_lack_a_part(tmp_path):
    write_h5ad(tmp_path / "a.h5ad", scipy.sparse.csr_matrix(sparse()))
    with h5py.File(tmp_path / "a.h5ad", "a") as file:
        del file["X/indptr"]
    with pytest.raises(DataError, match=r"'X' of .* has no indptr: it is damaged"):
        scan(tmp_path / "a.h5ad")
