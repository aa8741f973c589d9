"""Arrow and Feather files, read as a table in memory."""

import gzip
import io
import os
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest

from featly import FTest, read_table
from featly.basics.errors import DataError
from featly.io.read import column_names

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")

MIXED = pl.DataFrame(
    {
        "double": [1.5, None, 3.0, float("nan")],
        "int": [1, 2, None, 4],
        "small": pl.Series([1, 2, 3, 4], dtype=pl.UInt8),
        "flag": [True, None, False, True],
        "word": ["a", None, "b", "a"],
        "level": pl.Series(["lo", "hi", None, "lo"], dtype=pl.Categorical),
        "ward": pl.Series(["x", "y", "y", "x"], dtype=pl.Enum(["y", "x"])),
        "*": [1.0, 2.0, 3.0, 4.0],
        "ill": ["yes", "no", "no", "yes"],
    }
)


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
@pytest.mark.parametrize("n_rows_a_batch", [None, 1, 3])
def test_equals_the_same_table_as_parquet(tmp_path, compression, n_rows_a_batch):
    MIXED.write_ipc(tmp_path / "a.arrow", compression=compression, record_batch_size=n_rows_a_batch)
    MIXED.write_parquet(tmp_path / "a.parquet")
    expected = read_table(tmp_path / "a.parquet", target="ill", apart=["int"])
    with read_table(tmp_path / "a.arrow", target="ill", apart=["int"]) as table:
        assert (table.format, table.target, table.names) == ("arrow", "ill", expected.names)
        assert table.X.schema == expected.X.schema
        assert table.X.equals(expected.X, null_equal=True)
        assert table.y.tolist() == expected.y.tolist()
        numbers = table.X[["double", "small", "*"]].to_numpy()
        assert numbers.flags.f_contiguous
        assert np.shares_memory(numbers, table.X["double"].to_numpy())
        table.save_columns(["level", "int", "*"], tmp_path / "b.arrow")
        table.save_columns(["int"], tmp_path / "b.csv")
    saved = pl.read_ipc(tmp_path / "b.arrow")
    assert saved.equals(MIXED[["level", "int", "*", "ill"]])
    assert saved.schema["int"] == pl.Int64
    assert column_names(tmp_path / "a.arrow") == MIXED.columns


def test_small_numbers_stay_small(tmp_path):
    frame = pl.DataFrame({"a": [1.5, 2.0], "b": [1, None]}, schema={"a": pl.Float32, "b": pl.Int8})
    frame.write_ipc(tmp_path / "a.feather")
    table = read_table(tmp_path / "a.feather")
    assert set(table.X.dtypes) == {pl.Float32}
    assert np.isnan(table.X["b"][1])


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_files_of_pandas_and_pyarrow(tmp_path, compression):
    frame = pd.DataFrame(
        {"age": [61.0, np.nan, 52.0], "sex": pd.Categorical(["f", None, "m"]), "ill": [1, 0, 1]}
    )
    feather.write_feather(frame, tmp_path / "a.feather", compression=compression)
    table = read_table(tmp_path / "a.feather", target="ill")
    assert np.isnan(table.X["age"][1])
    assert table.X["sex"].to_list() == ["f", None, "m"]
    assert table.y.tolist() == [1, 0, 1]
    arrow = pa.table({"a": pa.array([3, 5, 3]).dictionary_encode(), "b": [0.5, 1.0, 2.0]})
    with pa.OSFile(str(tmp_path / "b.ipc"), "wb") as file, pa.ipc.new_file(file, arrow.schema) as w:
        w.write_table(arrow, max_chunksize=1)
    table = read_table(tmp_path / "b.ipc")
    assert table.X["a"].to_list() == [3, 5, 3]
    assert FTest().fit(table.X, ["x", "y", "x"]).order_.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["data[1].arrow", "a*b?.feather", "no ending", "x.csv"])
def test_whatever_the_name(tmp_path, name):
    MIXED.write_ipc(tmp_path / name)
    with read_table(tmp_path / name, target="ill") as table:
        assert (table.format, table.shape) == ("arrow", (4, 8))


def test_a_pipe_is_read_once(tmp_path):
    MIXED.write_ipc(tmp_path / "a.arrow")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (tmp_path / "a.arrow").read_bytes()
    writer = threading.Thread(target=lambda: pipe.write_bytes(content))
    writer.start()
    with read_table(pipe, target="ill") as table:
        writer.join(10)
        assert table.shape == (4, 8)
        table.save_columns(["int"], tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").columns == ["int", "ill"]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.arrow"
    MIXED.head(0).write_ipc(path)
    with pytest.raises(DataError, match=r"^'.*a.arrow' has no rows: there is nothing to rank$"):
        read_table(path)
    MIXED.write_ipc(path)
    whole = path.read_bytes()
    with pytest.raises(DataError, match=r"target 'il' is no column of .*; did you mean 'ill'"):
        read_table(path, target="il")
    for content in (whole[:-10], whole[: len(whole) // 2], whole[:30]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot be read as an Arrow file") as caught:
            read_table(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(DataError, match="is an Arrow file, compressed: decompress it first"):
        read_table(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="is no Arrow file, whatever its name says"):
        read_table(path)


def test_without_pyarrow_polars_reads(tmp_path, monkeypatch):
    MIXED.write_ipc(tmp_path / "a.arrow", compression="zstd", record_batch_size=2)
    expected = read_table(tmp_path / "a.arrow", target="ill")
    frame = pd.DataFrame({"sex": pd.Categorical(["f", None, "m"]), "age": [1.0, 2.0, 3.0]})
    feather.write_feather(frame, tmp_path / "b.feather")
    for name in ("pyarrow", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, name, None)
    table = read_table(tmp_path / "a.arrow", target="ill")
    assert table.X.equals(expected.X, null_equal=True)
    with pytest.raises(DataError, match=r"or has missing categories of pandas, which takes pyar"):
        read_table(tmp_path / "b.feather")


def test_other_files_of_arrow_are_refused_by_name(tmp_path):
    stream = io.BytesIO()
    MIXED.write_ipc_stream(stream)
    for name in ("a.arrow", "a", "a.csv"):
        (tmp_path / name).write_bytes(stream.getvalue())
        with pytest.raises(DataError, match=r"is a stream of Arrow messages, .*write_ipc"):
            read_table(tmp_path / name)
    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    with pytest.raises(DataError, match=r"is a Feather file of version 1, .*write it again"):
        read_table(tmp_path / "old.feather")
