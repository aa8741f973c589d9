import gzip

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse

from featly import DataError, read_table
from featly.io.matlab import HDF5

X = np.arange(12.0).reshape(4, 3) / 3
Y = np.array([[1], [2], [1], [2]])


def load(tmp_path, content, **options):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, content)
    with read_table(path, **options) as table:
        return table


def names(*texts):
    """A cell array of texts."""
    return np.array(texts, dtype=object)


@pytest.mark.parametrize(
    "values", [X, X.astype(np.float32), (X * 3).astype(np.int16), X > 1, (X * 3).astype(np.uint8)]
)
def test_dense_matrices(tmp_path, values):
    table = load(tmp_path, {"X": values, "Y": Y})
    assert table.X.dtype in (np.float64, np.float32)
    assert np.array_equal(table.X, values)
    assert table.y.tolist() == [1, 2, 1, 2]
    assert table.target == "Y"
    assert table.format == "matlab"
    assert list(table.names) == ["x0", "x1", "x2"]
    assert table.notes == ["the table is the variable 'X'", "the target is the variable 'Y'"]


@pytest.mark.parametrize("values", [X, X > 1])
def test_sparse_matrices(tmp_path, values):
    table = load(tmp_path, {"X": scipy.sparse.csc_array(values), "Y": Y})
    assert scipy.sparse.issparse(table.X)
    assert table.X.dtype == np.float64, "as methods take it"
    assert np.array_equal(table.X.toarray(), values)


@pytest.mark.parametrize("compressed", [True, False])
def test_scipy_and_compression_inside_the_file(tmp_path, compressed):
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"X": X, "Y": Y}, do_compression=compressed)
    with read_table(path) as table:
        assert np.array_equal(table.X, X)
    scipy.io.savemat(path, {"X": X, "Y": Y}, format="4")
    with read_table(path) as table:
        assert np.array_equal(table.X, X)


def test_names_of_columns(tmp_path):
    table = load(tmp_path, {"X": X, "Y": Y, "feature_names": names("age", "body weight", "größe")})
    assert isinstance(table.X, pl.DataFrame)
    assert table.names == ["age", "body weight", "größe"]
    assert np.array_equal(table.X.to_numpy(), X)
    twice = load(tmp_path, {"X": X, "Y": Y, "names": names("a", "a", "b")})
    assert list(twice.names) == ["x0", "x1", "x2"]
    sparse = load(tmp_path, {"X": scipy.sparse.csc_array(X), "Y": Y, "names": names("a", "b", "c")})
    assert list(sparse.names) == ["a", "b", "c"]


@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_named_columns_whatever_the_shape(tmp_path, shape):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    called = [f"n{j}" for j in range(shape[1])]
    table = load(tmp_path, {"X": values, "names": names(*called)})
    assert np.array_equal(table.X.to_numpy(), values)
    first = table.X["n0"].to_numpy()
    assert np.shares_memory(table.X.to_numpy(), first), "methods read it in place"


def test_labels(tmp_path):
    text = ["ill", "well", "ill", "well"]
    assert load(tmp_path, {"X": X, "labels": names(*text)}).y.tolist() == text
    assert load(tmp_path, {"X": X, "class": np.array(text)}).y.tolist() == text
    assert load(tmp_path, {"X": X, "Y": Y.T}).y.tolist() == [1, 2, 1, 2]
    assert load(tmp_path, {"X": X, "Y": Y + 0.5}).y.tolist() == [1.5, 2.5, 1.5, 2.5]
    assert load(tmp_path, {"X": X, "Y": Y > 1}).y.tolist() in (
        [0, 1, 0, 1],
        [False, True, False, True],
    )
    assert load(tmp_path, {"X": X, "other": Y}).y is None
    table = load(tmp_path, {"X": X, "other": Y, "Y": Y[::-1]}, target="other")
    assert table.y.tolist() == [1, 2, 1, 2]
    assert table.target == "other"
    assert load(tmp_path, {"X": X, "Y": np.ones(3)}).y is None, "three labels for four rows"


def test_the_only_matrix_is_the_table(tmp_path):
    assert load(tmp_path, {"counts": X, "y": Y}).shape == (4, 3)
    assert load(tmp_path, {"fea": X, "gnd": Y, "other": X}).y.tolist() == [1, 2, 1, 2]


BAD = [
    ({"A": X, "B": X}, r"^'.*a.mat' has no matrix called 'X', and not just one matrix \(variables: "
     r"A 4x3, B 4x3\): save the table as 'X' and the labels as 'Y'$"),
    ({"text": "hello"}, r"has no matrix called 'X'"),
    ({"X": np.zeros((0, 3)), "Y": Y}, r"has no matrix called 'X'"),
    ({"X": X * 1j}, r"^variable 'X' of '.*a.mat' is complex: take its real part$"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BAD)
def test_files_without_a_table(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        load(tmp_path, content)


def test_missing_targets(tmp_path):
    with pytest.raises(
        DataError, match=r"^'.*a.mat' has no variable 'Z' with 4 labels \(variables: Y 4x1\)$"
    ):
        load(tmp_path, {"X": X, "Y": Y}, target="Z")
    with pytest.raises(DataError, match=r"is a MATLAB file: name the variable with the labels$"):
        load(tmp_path, {"X": X, "Y": Y}, target=-1)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(512) + HDF5 + bytes(100))
    with pytest.raises(DataError, match=r"^'.*a.mat' is in MATLAB's format 7.3 \(HDF5\), .*'-v7'$"):
        read_table(path)
    path.write_bytes(HDF5 + bytes(1000))
    with pytest.raises(
        DataError, match=r"^'.*a.mat' is an HDF5 file: save the table as parquet or CSV$"
    ):
        read_table(path)
    scipy.io.savemat(path, {"X": X, "Y": Y})
    whole = path.read_bytes()
    for stop in (150, 200, len(whole) - 20):
        path.write_bytes(whole[:stop])
        with pytest.raises(DataError, match=r"^'.*a.mat' ") as caught:
            read_table(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(b"no matlab file at all")
    with pytest.raises(DataError, match=r"^'.*a.mat' cannot be read as a MATLAB file"):
        read_table(path)
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(DataError, match=r"is a compressed MATLAB file: decompress it first$"):
        read_table(path)
