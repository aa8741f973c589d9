import datetime
import decimal
import os
import re
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from featly import DataError, read_table
from featly.io import parquet
from featly.io.read import column_names


def load(tmp_path, frame, **options):
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    with read_table(path, **options) as table:
        return table


MIXED = pl.DataFrame(
    {
        "double": [1.5, None, 3.0],
        "int": pl.Series([1, None, 2**40], dtype=pl.Int64),
        "small": pl.Series([1, 2, None], dtype=pl.UInt8),
        "decimal": [decimal.Decimal("1.25"), None, decimal.Decimal("2.5")],
        "text": ["a", None, "b"],
        "category": pl.Series(["x", "y", None], dtype=pl.Categorical),
        "enum": pl.Series(["p", None, "q"], dtype=pl.Enum(["q", "p"])),
        "bool": [True, None, False],
        "day": [datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)],
        "time": [datetime.datetime(2020, 1, 1, 12), None, None],
        "nothing": pl.Series([None, None, None], dtype=pl.Null),
    }
)


def test_types(tmp_path):
    table = load(tmp_path, MIXED)
    numbers = ["double", "int", "small", "decimal"]
    assert table.names == MIXED.columns
    assert [table.X[name].dtype for name in numbers] == [pl.Float64] * 4
    expected = [[1.5, 1, 1, 1.25], [np.nan, np.nan, 2, np.nan], [3, 2**40, np.nan, 2.5]]
    assert np.array_equal(table.X.select(numbers).to_numpy(), expected, equal_nan=True)
    for name in set(MIXED.columns) - set(numbers):
        assert table.X[name].dtype == MIXED[name].dtype, name
        assert table.X[name].to_list() == MIXED[name].to_list(), name
    assert column_names(tmp_path / "a.parquet") == MIXED.columns


def test_single_precision_stays(tmp_path):
    frame = pl.DataFrame(
        {"a": pl.Series([0.1, None], dtype=pl.Float32), "b": pl.Series([1, 2], dtype=pl.Int8)}
    )
    table = load(tmp_path, frame)
    assert table.X.dtypes == [pl.Float32, pl.Float32]
    assert table.X["a"][0] == np.float32(0.1)
    wide = load(tmp_path, frame.with_columns(c=pl.Series([2**24 + 1, 0], dtype=pl.Int32)))
    assert wide.X.dtypes == [pl.Float64] * 3
    assert wide.X["c"][0] == 2**24 + 1


@pytest.mark.parametrize(
    ("target", "y"),
    [
        ("int", [1.0, np.nan, 2.0**40]),
        ("text", ["a", None, "b"]),
        ("category", ["x", "y", None]),
        ("enum", ["p", None, "q"]),
        ("bool", ["true", None, "false"]),
        (0, [1.5, np.nan, 3.0]),
    ],
)
def test_targets(tmp_path, target, y):
    table = load(tmp_path, MIXED, target=target)
    assert table.shape == (3, MIXED.width - 1)
    assert table.target not in table.names
    for actual, expected in zip(table.y.tolist(), y, strict=True):
        assert actual == expected or (actual != actual and expected != expected)
    assert load(tmp_path, pl.DataFrame({"a": [1], "b": [2.0]}), target="b").y.dtype == np.int64


@pytest.mark.parametrize("block", [1, 40, 1 << 26])
@pytest.mark.parametrize("apart", [[], ["n1"], ["n0", -1]])
def test_numbers_are_one_matrix(tmp_path, monkeypatch, block, apart):
    monkeypatch.setattr(parquet, "BLOCK_BYTES", block)
    frame = pl.DataFrame(
        {"n0": [1, 2], "n1": [3.0, 4], "t": ["a", "b"], "n2": [5, 6], "n3": [7, 8], "n4": [9, 1]}
    )
    table = load(tmp_path, frame, target="n2", apart=apart)
    aside = {"n4" if name == -1 else name for name in apart}
    numeric = [name for name in table.names if name != "t" and name not in aside]
    matrix = table.X.select(numeric).to_numpy()
    assert matrix.flags.f_contiguous
    for j, name in enumerate(numeric):
        assert np.shares_memory(matrix, table.X[name].to_numpy())
        assert matrix[:, j].tolist() == frame[name].to_list()
    assert table.y.tolist() == [5, 6]


def test_files_of_pandas_and_arrow(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame(
        {"a": [1.5, np.nan], "b": pd.Categorical(["x", None])}, index=["r", "s"]
    ).to_parquet(path)
    with read_table(path) as table:
        assert table.X["b"].to_list() == ["x", None]
        assert np.isnan(table.X["a"][1])
    arrow = pa.table({"a": [1, 2], "b": pa.array(["x", "y"]).dictionary_encode()})
    pyarrow.parquet.write_table(arrow, path, compression="gzip", row_group_size=1)
    with read_table(path, target="b") as table:
        assert table.X["a"].to_list() == [1.0, 2.0]
        assert table.y.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "name", ["data[1].parquet", "a*b?.parquet", "no ending", "größe.txt", "x.csv"]
)
def test_whatever_the_name(tmp_path, name):
    MIXED.write_parquet(tmp_path / "a1.parquet")
    (tmp_path / "a1.parquet").rename(tmp_path / name)
    with read_table(tmp_path / name, target="text") as table:
        assert table.format == "parquet"
        table.save_columns(["double", "day"], tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").equals(MIXED.select("double", "day", "text"))
    assert column_names(tmp_path / name) == MIXED.columns


def test_a_pipe_is_read_once(tmp_path):
    MIXED.write_parquet(tmp_path / "a.parquet")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(
        target=lambda: pipe.write_bytes((tmp_path / "a.parquet").read_bytes())
    )
    writer.start()
    with read_table(pipe, target="text") as table:
        writer.join(10)
        assert table.shape == (3, 10)
        table.save_columns(["int"], tmp_path / "b.parquet")
    assert pl.read_parquet(tmp_path / "b.parquet").columns == ["int", "text"]


def test_a_column_called_par1_is_no_parquet(tmp_path):
    (tmp_path / "a.csv").write_text("PAR1,PAR2\n1,2\n3,4\n")
    with read_table(tmp_path / "a.csv") as table:
        assert table.names == ["PAR1", "PAR2"]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.parquet"
    with pytest.raises(DataError, match=r"^'.*a.parquet' has no rows: there is nothing to rank$"):
        load(tmp_path, MIXED.head(0))
    with pytest.raises(DataError, match=r"^'.*a.parquet' has no rows: there is nothing to rank$"):
        load(tmp_path, pl.DataFrame({"a": pl.Series([], dtype=pl.String)}))
    with pytest.raises(
        DataError, match=r"^'.*a.parquet' has no column but the target 'a': there is no"
    ):
        load(tmp_path, pl.DataFrame({"a": [1, 2]}), target="a")
    with pytest.raises(
        DataError, match=r"^target 'txt' is no column of '.*'; did you mean 'text'\?$"
    ):
        load(tmp_path, MIXED, target="txt")
    whole = path.read_bytes()
    for content in (
        whole[:-10],
        whole[: len(whole) // 2],
        whole[:30],
        whole[:4] + b"\x15" * 50 + b"PAR1",
    ):
        path.write_bytes(content)
        with pytest.raises(DataError) as caught:
            read_table(path)
        start = re.escape(f"{str(path)!r} cannot be read as a parquet file (")
        end = re.escape("): it is cut or damaged. Copy or download it again")
        assert re.fullmatch(f"{start}.*{end}", str(caught.value))
    path.write_text("a,b\n1,2\n")
    with pytest.raises(
        DataError, match=r"^'.*a.parquet' is no parquet file, whatever its name says: "
    ):
        read_table(path)
