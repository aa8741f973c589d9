"""Every raw file of the data folder, against the parquet copy of it."""

import gzip
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from featly import read_table

# file -> options, rows, features, how often each class comes
FILES = {
    "arrhythmia.data": ({"target": -1}, 452, 279, 13),
    "bands.data": ({"target": -1}, 540, 39, {"band": 228, "noband": 312}),
    "hepatitis.data": ({"target": 0}, 155, 19, {1: 32, 2: 123}),
    "processed.cleveland.data": ({"target": 13}, 303, 13, {0: 164, 1: 55, 2: 36, 3: 35, 4: 13}),
    "DLBCLTumor.arff": ({}, 77, 7129, {"DLBCL": 58, "FL": 19}),
    "DLBCL-Stanford.arff": ({}, 47, 4026, {"activated": 23, "germinal": 24}),
    "dermatology.arff": ({}, 366, 34, 6),
    "monks-1.train.arff": ({}, 124, 6, {"0": 62, "1": 62}),
    "monks-1.test.arff": ({}, 432, 6, {"0": 216, "1": 216}),
    "monks-2.train.arff": ({}, 169, 6, {"0": 105, "1": 64}),
    "monks-2.test.arff": ({}, 432, 6, {"0": 290, "1": 142}),
    "monks-3.train.arff": ({}, 122, 6, {"0": 62, "1": 60}),
    "monks-3.test.arff": ({}, 432, 6, {"0": 204, "1": 228}),
    "dexter_train.svmlight": ({"n_features": 20000}, 300, 20000, {1: 150, -1: 150}),
    "dexter_valid.svmlight": ({"n_features": 20000}, 300, 20000, {1: 150, -1: 150}),
    "colon.mat": ({}, 62, 2000, {-1: 40, 1: 22}),
    "madelon.mat": ({}, 2600, 500, {-1: 1300, 1: 1300}),
    "movement_libras.keel.dat": ({}, 360, 90, {str(k): 24 for k in range(1, 16)}),
    "lp4.data": ({}, 117, 90, {"normal": 24, "collision": 72, "obstruction": 21}),
}
TEXTS = [name for name in FILES if not name.endswith(".mat")]
# file -> parquet copy, part of it
COPIES = {
    "arrhythmia.data": ("arrhythmia", None),
    "bands.data": ("bands", None),
    "hepatitis.data": ("hepatitis", None),
    "processed.cleveland.data": ("heart_cleveland", None),
    "DLBCLTumor.arff": ("dlbcl_shipp", None),
    "DLBCL-Stanford.arff": ("dlbcl_alizadeh", None),
    "monks-1.train.arff": ("monk1", "train"),
    "monks-1.test.arff": ("monk1", "test"),
    "monks-2.train.arff": ("monk2", "train"),
    "monks-2.test.arff": ("monk2", "test"),
    "monks-3.train.arff": ("monk3", "train"),
    "monks-3.test.arff": ("monk3", "test"),
    "dexter_train.svmlight": ("dexter", "train"),
    "dexter_valid.svmlight": ("dexter", "test"),
    "madelon.mat": ("madelon", None),
    "movement_libras.keel.dat": ("libras", None),
    "lp4.data": ("robot_lp4", None),
}


@pytest.fixture
def raw(data_folder):
    folder = data_folder / "raw"
    if not folder.is_dir():
        pytest.skip("there is no folder of raw files")
    return folder


def load(path, name):
    with read_table(path, **FILES[name][0]) as table:
        return table


def parts_of(X):
    """Return numbers as a matrix with NaN, their positions, and the texts by position."""
    if scipy.sparse.issparse(X):
        X = X.toarray()
    if not isinstance(X, pl.DataFrame):
        return np.asarray(X, dtype=float), list(range(X.shape[1])), {}
    floats = [j for j, dtype in enumerate(X.dtypes) if dtype.is_float()]
    texts = [j for j, dtype in enumerate(X.dtypes) if not dtype.is_float()]
    texts_by_position = {j: X[:, j].cast(pl.String) for j in texts}
    return X[:, floats].cast(pl.Float64).to_numpy(), floats, texts_by_position


def is_same_table(a, b):
    """Return whether two tables agree in every cell, missing ones too."""
    if a.shape != b.shape or not np.array_equal(a.y, b.y):
        return False
    if scipy.sparse.issparse(a.X):
        return (a.X != b.X).nnz == 0
    (values, positions, texts), (other_values, other_positions, other_texts) = (
        parts_of(a.X),
        parts_of(b.X),
    )
    return (
        positions == other_positions
        and np.array_equal(values, other_values, equal_nan=True)
        and all(texts[j].equals(other_texts[j], null_equal=True) for j in texts)
    )


def test_no_raw_file_is_forgotten(raw):
    assert {path.name for path in raw.iterdir()} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_shape_and_classes(raw, name):
    table = load(raw / name, name)
    _, n_rows, n_features, classes = FILES[name]
    assert table.shape == (n_rows, n_features)
    assert len(table.names) == n_features
    counts = Counter(table.y.tolist())
    assert (len(counts) if isinstance(classes, int) else dict(counts)) == classes


def test_missing_cells_are_counted(raw):
    table = load(raw / "DLBCL-Stanford.arff", "DLBCL-Stanford.arff")
    assert np.isnan(table.X.to_numpy()).sum() == 5978
    table = load(raw / "bands.data", "bands.data")
    values, _, texts = parts_of(table.X)
    assert np.isnan(values).sum() + sum(column.null_count() for column in texts.values()) == 999


@pytest.mark.parametrize("name", COPIES)
def test_every_cell_is_that_of_the_parquet_copy(raw, name):
    table = load(raw / name, name)
    copy, part = COPIES[name]
    frame = pl.read_parquet(raw.parent / f"{copy}.parquet")
    if part is not None:
        frame = frame.filter(pl.col("split").cast(pl.String) == part)
    wanted = frame.drop("class", "split", strict=False)
    assert table.shape == wanted.shape
    values, positions, texts = parts_of(table.X)
    # what the file writes as numbers may be categories in the copy
    numbers = wanted[:, positions].cast({pl.Categorical: pl.String}).cast(pl.Float64).to_numpy()
    np.testing.assert_allclose(values, numbers, rtol=1e-6)
    for j, column in texts.items():
        column = column.str.to_lowercase() if copy == "bands" else column
        assert column.equals(wanted[:, j].cast(pl.String), null_equal=True), table.names[j]
    # the copies have classes of their own; each is one or several of the file's
    labels = {}
    for ours, theirs in zip(table.y.tolist(), frame["class"].cast(pl.String), strict=True):
        assert labels.setdefault(ours, theirs) == theirs


def test_a_parquet_copy_reads_as_polars_reads_it(data_folder):
    path = data_folder / "bands.parquet"
    with read_table(path, target="class") as table:
        frame = pl.read_parquet(path)
        assert table.X.shape == (540, 39)
        assert table.y.tolist() == frame["class"].cast(pl.String).to_list()
        for name in table.names:
            column, wanted = table.X[name], frame[name]
            if wanted.dtype.is_float():
                wanted = wanted.cast(pl.Float64).fill_null(float("nan"))
            assert column.cast(wanted.dtype).equals(wanted, null_equal=True), name


@pytest.mark.parametrize("name", TEXTS)
def test_other_line_ends_encodings_and_gzip_make_no_difference(raw, name, tmp_path):
    expected = load(raw / name, name)
    text = re.sub(rb"\r\n?", b"\n", (raw / name).read_bytes())
    ways = {
        "packed": (f"{name}.gz", gzip.compress((raw / name).read_bytes(), compresslevel=1)),
        "line feeds": (name, text),
        "carriage returns": (name, text.replace(b"\n", b"\r")),
        "both": (name, text.replace(b"\n", b"\r\n")),
        "utf-16": (name, text.decode().encode("utf-16")),
        "utf-16 without a mark": (name, text.decode().encode("utf-16-be")),
        "utf-8 with a mark": (name, text.decode().encode("utf-8-sig")),
        "no line end at the end": (name, text.rstrip(b"\n")),
    }
    for way, (file_name, content) in ways.items():
        path = tmp_path / file_name
        path.write_bytes(content)
        table = load(path, name)
        assert is_same_table(expected, table), way
        assert list(table.names) == list(expected.names), way
        assert table.format == expected.format, way
