"""Arrow and Feather files, read by blocks of columns."""

import sys

import numpy as np
import polars as pl
import pytest

from featly import FTest
from featly.basics.errors import DataError
from featly.problem.scan import scan

pa = pytest.importorskip("pyarrow")

KINDS = pl.DataFrame(
    {
        "double": [1.5, None, 3.0, float("nan"), 2.0],
        "int": [1, 2, None, 4, 5],
        "word": ["a", None, "b", "a", "c"],
        "level": pl.Series(["lo", "hi", None, "lo", "mid"], dtype=pl.Categorical),
        "ill": ["yes", "no", "no", "yes", "no"],
    }
)


@pytest.fixture(params=["pyarrow", "polars"])
def library(request, monkeypatch):
    """Read by pyarrow, and by polars where that is not installed."""
    if request.param == "polars":
        for name in ("pyarrow", "pyarrow.ipc"):
            monkeypatch.setitem(sys.modules, name, None)
    return request.param


def write(folder, frame, compression="uncompressed", rows=None):
    path = folder / "table.arrow"
    frame.write_ipc(path, compression=compression, record_batch_size=rows)
    return path


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("rows", [None, 1, 4])
def test_numbers_of_any_batches(library, tmp_path, compression, rows):
    X = np.random.default_rng(0).normal(size=(9, 30)).astype(np.float32)
    with scan(write(tmp_path, pl.from_numpy(X), compression, rows)) as table:
        assert (table.shape, table.dtype) == ((9, 30), np.float32)
        assert np.array_equal(table.read(0, 30), X)
        assert np.array_equal(table.read(7, 8), X[:, 7:8])
        assert table.read(4, 4).shape == (9, 0)
        assert np.array_equal(table.take([29, 3, 3]), X[:, [29, 3, 3]])


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"a": pl.Int8, "b": pl.Int8}, np.int8),
        ({"a": pl.UInt16, "b": pl.Int8}, np.float32),
        ({"a": pl.Int32, "b": pl.Float32}, np.float64),
        ({"a": pl.Int64, "b": pl.Int64}, np.int64),
    ],
)
def test_the_dtype_holds_all_columns(library, tmp_path, columns, dtype):
    frame = pl.DataFrame({name: [1, 2, 3] for name in columns}, schema=columns)
    with scan(write(tmp_path, frame)) as table:
        assert table.dtype == dtype
        assert table.read(0, 2).tolist() == [[1, 1], [2, 2], [3, 3]]


def test_missing_whole_numbers_become_floats(library, tmp_path):
    frame = pl.DataFrame({"a": [1, None, 3], "b": [4, 5, 6]})
    with scan(write(tmp_path, frame, rows=1)) as table:
        assert table.dtype == np.float64
        assert np.isnan(table.read(0, 1)[1, 0])


@pytest.mark.parametrize("rows", [None, 2])
def test_columns_of_several_kinds(library, tmp_path, rows):
    with scan(write(tmp_path, KINDS, "lz4", rows), target="ill", without=["int"]) as table:
        assert table.dtype is None
        assert table.names == ["double", "word", "level"]
        assert table.y.tolist() == KINDS["ill"].to_list()
        frame = table.frame(0, 3)
        assert frame["double"].to_list()[0] == 1.5
        assert frame["word"].to_list() == KINDS["word"].to_list()
        assert frame["level"].cast(pl.String).to_list() == ["lo", "hi", None, "lo", "mid"]
        assert table.take_frame([2, 0]).columns == ["level", "double"]
        assert table.schema_frame().schema == frame.schema
        assert table.frame(1, 1).shape[1] == 0
        assert table.column("int").tolist()[:2] == [1.0, 2.0]


def test_dictionaries_of_numbers(library, tmp_path):
    values = pa.array([30, 50, 30, 70]).dictionary_encode()
    table = pa.table({"a": values, "b": [0.5, 1.5, 1.0, 2.0]})
    path = tmp_path / "table.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    with scan(path) as stored:
        block = stored.read(0, 2) if stored.dtype is not None else stored.frame(0, 2).to_numpy()
        assert block[:, 0].tolist() == [30, 50, 30, 70]


def test_a_method_reads_it_like_parquet(tmp_path):
    rng = np.random.default_rng(1)
    frame = pl.from_numpy(rng.normal(size=(30, 50))).with_columns(
        pl.Series("y", ["a", "b"] * 15), pl.Series("sex", ["f", "m", "m"] * 10)
    )
    frame.write_parquet(tmp_path / "table.parquet")
    scores = []
    for path in (write(tmp_path, frame, "zstd", 7), tmp_path / "table.parquet"):
        with scan(path, target="y", without=["sex"]) as table:
            scores.append(FTest(memory_limit="1MB").fit(table, table.y).scores_)
    assert np.array_equal(*scores)


def test_nested_columns_are_named(tmp_path):
    frame = pl.DataFrame({"a": [1.0, 2.0], "list": [[1], [2, 3]]})
    with pytest.raises(DataError, match=r"column 'list' of .* with without=\['list'\]"):
        scan(write(tmp_path, frame))
    assert scan(tmp_path / "table.arrow", without=["list"]).shape == (2, 1)


def test_files_that_are_none(library, tmp_path):
    path = write(tmp_path, KINDS)
    whole = path.read_bytes()
    for content in (whole[:-12], whole[: len(whole) // 2], b"ARROW1\0\0" + bytes(40)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"table.arrow' cannot be read as an Arrow file"):
            scan(path)
    path.write_bytes(b"FEA1" + bytes(40))
    with pytest.raises(DataError, match="is a Feather file of version 1"):
        scan(path)
    path.write_bytes(b"\xff\xff\xff\xff" + bytes(40))
    with pytest.raises(DataError, match="is a stream of Arrow messages"):
        scan(path)
    KINDS.head(0).write_ipc(path)
    with pytest.raises(DataError, match="has no rows"):
        scan(path)


def test_damaged_blocks_are_an_error_when_they_are_read(library, tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 40))
    path = write(tmp_path, pl.from_numpy(X), "lz4")
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 4000] = bytes(4000)
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as an Arrow file"), scan(path) as table:
        table.read(0, 40)


def test_a_file_that_changes_is_an_error(tmp_path):
    path = write(tmp_path, KINDS.select("double"))
    with scan(path) as table:
        path.write_bytes(path.read_bytes() + b" ")
        with pytest.raises(DataError, match="changed"):
            table.read(0, 1)
