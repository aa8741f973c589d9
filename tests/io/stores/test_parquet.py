"""Parquet by column chunks: by pyarrow, by polars, missing values, columns of several kinds."""

import sys
import warnings

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from featly.basics.errors import DataError, ParameterError, SlowWarning
from featly.io.stores import parquet
from featly.problem.scan import scan
from tests.io.test_parquet import MIXED


@pytest.fixture(params=["pyarrow", "polars"])
def library(request, monkeypatch):
    if request.param == "polars":
        monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    return request.param


def write_parquet_file(folder, frame, **options):
    path = folder / "a.parquet"
    frame.write_parquet(path, **options)
    return path


def series(values, dtype):
    return pl.Series(values, dtype=dtype)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int32, pl.UInt64, pl.Float32, pl.Float64])
def test_one_dtype_stays(dtype, library, tmp_path):
    values = {name: series([k, 1, 2, 100], dtype) for k, name in enumerate("abcde")}
    table = scan(write_parquet_file(tmp_path, pl.DataFrame(values), row_group_size=3))
    assert table.dtype == np.dtype(str(dtype).lower())
    assert np.array_equal(table.read(1, 4), [[1, 2, 3], [1] * 3, [2] * 3, [100] * 3])
    assert table.read(1, 4).flags.f_contiguous
    assert np.array_equal(table.take([4, 0]), [[4, 0], [1, 1], [2, 2], [100, 100]])


@pytest.mark.parametrize(
    ("dtypes", "common"),
    [
        ((pl.Int16, pl.Int16), np.float32),
        ((pl.Int32, pl.Int32), np.float64),
        ((pl.Int64, pl.Int64), np.float64),
        ((pl.Float32, pl.Float32), np.float32),
        ((pl.Float32, pl.UInt8), np.float32),
        ((pl.Float32, pl.Int32), np.float64),
        ((pl.Float32, pl.Float64), np.float64),
        ((pl.Int8, pl.UInt16), np.float32),
        ((pl.Decimal(10, 2), pl.Decimal(10, 2)), np.float64),
    ],
)
def test_missing_values_and_several_dtypes(dtypes, common, library, tmp_path):
    frame = pl.DataFrame(
        {"a": series([1, None, 3], dtypes[0]), "b": series([4, 5, None], dtypes[1])}
    )
    table = scan(write_parquet_file(tmp_path, frame))
    assert table.dtype == common
    expected = np.array([[1, 4], [np.nan, 5], [3, np.nan]])
    assert np.array_equal(table.read(0, 2), expected, equal_nan=True)
    assert np.array_equal(table.take([1]), expected[:, 1:], equal_nan=True)


def test_half_precision(library, tmp_path):
    frame = pl.DataFrame({"a": series([0.5, 1.5], pl.Float16)})
    table = scan(write_parquet_file(tmp_path, frame))
    assert table.dtype == np.float32
    assert table.read(0, 1).tolist() == [[0.5], [1.5]]


def test_whole_numbers_without_statistics(tmp_path):
    """Without statistics in the file, whole numbers may have missing values."""
    frame = pl.DataFrame({"a": series([1, 2], pl.Int16)})
    assert scan(write_parquet_file(tmp_path, frame)).dtype == np.int16
    assert scan(write_parquet_file(tmp_path, frame, statistics=False)).dtype == np.float32


def test_columns_of_several_kinds(library, tmp_path):
    frame = MIXED.drop("day", "time")
    table = scan(write_parquet_file(tmp_path, frame, row_group_size=2))
    assert table.dtype is None
    assert list(table.names) == frame.columns
    assert_frame_equal(table.frame(0, 9), frame)
    assert_frame_equal(table.frame(3, 6), frame[:, 3:6])
    assert_frame_equal(table.take_frame([6, 0, 5]), frame[:, [6, 0, 5]])
    assert table.schema_frame().schema == frame.schema
    assert table.schema_frame().height == 0
    assert "9 columns of several kinds" in repr(table)
    for ask in (lambda: table.read(0, 1), lambda: table.take([0])):
        with pytest.raises(DataError, match="has columns of several kinds"):
            ask()
    with pytest.raises(ParameterError, match="column twice"):
        table.take_frame([1, 1])
    with pytest.raises(ParameterError, match="columns 4:10 are none"):
        table.frame(4, 10)


def test_truth_values_are_a_kind_of_their_own(library, tmp_path):
    """Booleans are categorical, as in a frame in memory."""
    table = scan(write_parquet_file(tmp_path, pl.DataFrame({"a": [True, False]})))
    assert table.dtype is None
    assert table.frame(0, 1)["a"].to_list() == [True, False]


def test_a_target_is_no_column(library, tmp_path):
    frame = pl.DataFrame({"id": ["p", "q", "r"], "a": [1.5, 2, 3], "ill": ["y", None, "n"],
                          "b": [4.0, 5, 6]})  # fmt: skip
    table = scan(write_parquet_file(tmp_path, frame), target="ill", without=["id"])
    assert list(table.names) == ["a", "b"]
    assert table.read(0, 2).tolist() == [[1.5, 4], [2, 5], [3, 6]]
    assert table.target == "ill"
    assert table.y.tolist() == ["y", None, "n"]
    assert table.y.dtype == object
    assert scan(tmp_path / "a.parquet", target=2, without=[0]).target == "ill"
    assert scan(tmp_path / "a.parquet", target="ill").dtype is None
    assert table.column("a").tolist() == [1.5, 2, 3]


def test_columns_as_targets(library, tmp_path):
    frame = pl.DataFrame(
        {
            "whole": series([1, 2, 2], pl.Int16),
            "incomplete": series([1, None, 2], pl.Int64),
            "text": series(["a", "b", None], pl.Categorical),
            "truth": [True, None, False],
        }
    )
    table = scan(write_parquet_file(tmp_path, frame))
    assert table.column("whole").tolist() == [1, 2, 2]
    assert table.column("whole").dtype == np.int16
    assert np.array_equal(table.column("incomplete"), [1, np.nan, 2], equal_nan=True)
    assert table.column("text").tolist() == ["a", "b", None]
    assert table.column("truth").tolist() == [True, None, False]


@pytest.mark.parametrize("name", ["*", "^x.*$", "a.b", "a/b", "größe", ""])
def test_names_that_polars_takes_for_patterns(name, library, tmp_path):
    frame = pl.DataFrame({name: [1.0, 2.0], "xy": [3.0, 4.0]})
    table = scan(write_parquet_file(tmp_path, frame))
    assert table.read(0, 1).tolist() == [[1.0], [2.0]]
    assert table.take([1]).tolist() == [[3.0], [4.0]]
    assert table.column(name).tolist() == [1.0, 2.0]


def test_tables_in_cells(library, tmp_path):
    frame = pl.DataFrame(
        {"s": [{"p": 1, "q": 2.0}], "a": [1.5], "l": [[1, 2]], "b": series([7], pl.Int8)}
    )
    path = write_parquet_file(tmp_path, frame)
    with pytest.raises(DataError, match=r"column 's' of '.*a.parquet' has a table in every cell"):
        scan(path)
    table = scan(path, without=["s", "l"])
    assert table.read(0, 2).tolist() == [[1.5, 7]]
    assert scan(path, without=["s", "l", "a"]).dtype == np.int8


def test_wrong_columns(tmp_path):
    path = write_parquet_file(tmp_path, pl.DataFrame({"dose": [1.0], "age": [2.0]}))
    with pytest.raises(DataError, match=r"target 'dosis' .*did you mean 'dose'\?"):
        scan(path, target="dosis")
    with pytest.raises(DataError, match=r"column 'ag' .*did you mean 'age'\?"):
        scan(path, without=["ag"])
    with pytest.raises(DataError, match="has no columns left"):
        scan(path, without=["age"], target="dose")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\x93NUMPY...", "is no parquet file: it begins like a NumPy array"),
        (b"PARE....PARE", "is an encrypted parquet file"),
        (b"PAR1", "is cut: its end is missing"),
        (b"PAR1" + bytes(100), "is cut: its end is missing"),
        (b"PAR1" + bytes(92) + b"\x08\x00\x00\x00PAR1", "cut or damaged"),
    ],
)
def test_other_files_are_refused(content, words, library, tmp_path):
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(DataError, match=words) as caught:
        scan(tmp_path / "a.parquet")
    assert "\n" not in str(caught.value)


def test_a_damaged_page(library, tmp_path):
    path = write_parquet_file(tmp_path, pl.DataFrame({"a": np.arange(5000.0)}), compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:1000] = bytes(996)
    path.write_bytes(content)
    table = scan(path)
    with pytest.raises(DataError, match=r"cannot be read as a parquet file .* cut or damaged"):
        table.read(0, 1)


def test_checksums_are_verified(tmp_path):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    values = pyarrow.table({"a": np.arange(5000.0)})
    pyarrow.parquet.write_table(
        values, path, compression="none", use_dictionary=False, write_page_checksum=True
    )
    content = bytearray(path.read_bytes())
    content[20_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="cut or damaged"):
        scan(path).read(0, 1)


def test_a_file_without_rows(library, tmp_path):
    with pytest.raises(DataError, match="has no rows"):
        scan(write_parquet_file(tmp_path, pl.DataFrame({"a": series([], pl.Float64)})))


def test_warning_about_a_large_footer(tmp_path, monkeypatch):
    path = write_parquet_file(tmp_path, pl.DataFrame({f"x{k}": [1.0] for k in range(30)}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scan(path)
    monkeypatch.setattr(parquet, "LARGE_FOOTER", 100)
    with pytest.warns(SlowWarning, match="the footer of .* better in a .npy or .zarr") as caught:
        scan(path)
    assert caught[0].filename == __file__


def test_without_polars(tmp_path, monkeypatch):
    """Numbers are read without polars."""
    path = write_parquet_file(tmp_path, pl.DataFrame({"a": [1.0, 2.0], "y": [0, 1]}))
    monkeypatch.setitem(sys.modules, "polars", None)
    table = scan(path, target="y")
    assert table.read(0, 1).tolist() == [[1.0], [2.0]]
    assert table.y.tolist() == [0, 1]


def test_two_columns_of_one_name(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    path = tmp_path / "X.parquet"
    columns = [pa.array([1.0, 2.0]), pa.array(["x", "y"]), pa.array([3.0, 5.0])]
    write_table(pa.table(columns, names=["a", "b", "a"]), path)
    message = r"two columns of .*X.parquet' are called 'a' \(positions 0 and 2\)"
    with pytest.raises(DataError, match=message):
        scan(path)
    with pytest.raises(DataError, match="are called 'a'"):
        scan(path, target=2)
    assert scan(path, without=[2]).names == ["a", "b"]
    assert scan(path, without=[1, 2]).read(0, 1).tolist() == [[1.0], [2.0]]
