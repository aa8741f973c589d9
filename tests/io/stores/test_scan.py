"""One call for every format: endings, options, and files that are none of them."""

import os
import shutil

import numpy as np
import polars as pl
import pytest

from featly.basics.errors import DataError
from featly.io.stores import StoredTable
from featly.problem.scan import scan
from tests.io.stores.making import MAKERS, floats, write_example


@pytest.mark.parametrize("name", MAKERS)
def test_paths_of_any_kind_and_endings_in_any_case(name, tmp_path, monkeypatch):
    path, X = write_example(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for path_form in (path, str(path), path.name):
        table = scan(path_form)
        assert isinstance(table, StoredTable)
        assert str(table.path) == str(path_form)
        table.close()
    if not path.is_dir():
        loud = path.with_suffix(path.suffix.upper())
        path.rename(loud)
        with scan(loud) as table:
            assert np.array_equal(table.read(0, 61), X)


def test_a_missing_file(tmp_path):
    write_example("npy", tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"no file '.*tabel.npy'; did you mean '.*table.npy'"
    ):
        scan(tmp_path / "tabel.npy")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        scan(tmp_path / "nowhere" / "table.npy")
    for suffix in (".parquet", ".h5", ".zarr", ".bed", ".csv", ".xyz"):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            scan(tmp_path / f"b{suffix}")


@pytest.mark.skipif(os.getuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path, _ = write_example("npy", tmp_path)
    path.chmod(0)
    with pytest.raises(PermissionError, match="may not be read"):
        scan(path)


@pytest.mark.parametrize(
    ("suffix", "line"),
    [
        (".csv", "polars.scan_csv('X.csv').sink_parquet('X.parquet')"),
        (".txt", "polars.scan_csv('X.txt').sink_parquet('X.parquet')"),
        (".tsv", r"polars.scan_csv('X.tsv', separator='\t').sink_parquet('X.parquet')"),
        (".npz", "numpy.save('X.npy', numpy.load('X.npz')['X'])"),
        (".mat", "numpy.save('X.npy', featly.read_table('X.mat').X)"),
        (".arff", "featly.read_table('X.arff').X.write_parquet('X.parquet')"),
        (".pgen", "plink2 --pfile X --make-bed --out X"),
        (".vcf", "plink2 --vcf X.vcf --make-bed --out X"),
    ],
)
def test_other_formats_come_with_a_command_to_convert_them(suffix, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"X{suffix}").write_text("something")
    with pytest.raises(DataError) as caught:
        scan(f"X{suffix}")
    assert str(caught.value) == f"'X{suffix}' cannot be read by columns: convert it with {line}"


def test_the_commands_to_convert_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"polars": pl, "numpy": np}
    (tmp_path / "X.csv").write_text("a,b\n1.5,2\n3,4\n")
    (tmp_path / "X.tsv").write_text("a\tb\n1.5\t2\n3\t4\n")
    np.savez(tmp_path / "X.npz", X=[[1.5, 2], [3, 4]])
    for suffix, made_of in ((".csv", ".parquet"), (".tsv", ".parquet"), (".npz", ".npy")):
        with pytest.raises(DataError) as caught:
            scan(f"X{suffix}")
        exec(str(caught.value).partition("convert it with ")[2], names)
        with scan(f"X{made_of}") as table:
            assert table.read(0, 2).tolist() == [[1.5, 2], [3, 4]]
        (tmp_path / f"X{made_of}").unlink()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.parket", b"x", r"its ending '.parket' is none; did you mean '.parquet'\?"),
        ("a.xyz", b"x", "its ending '.xyz' is none: there are .arrow, .bed, .feather, .h5, "),
        ("a", b"x", "it has no ending: there are .arrow, .bed"),
        ("a.dat", b"PAR1....", r"It begins like a parquet table \(.parquet\)"),
        ("a.csv.gz", b"\x1f\x8b.........", "is compressed by gzip: decompress it first"),
        ("a.xyz", b"", "is empty: no table is in it"),
        ("a.csv", b"", "is empty: no table is in it"),
    ],
)
def test_unknown_endings(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=words):
        scan(tmp_path / name)


def test_folders(tmp_path):
    with pytest.raises(DataError, match=r"is a folder without a Zarr array in it: name a file$"):
        scan(tmp_path)
    write_example("npy", tmp_path)
    with pytest.raises(DataError, match=r"name a file, such as '.*table.npy'"):
        scan(tmp_path)


@pytest.mark.parametrize("path", [3, None, b"a.npy", np.zeros((2, 2))])
def test_arguments_that_are_no_path(path):
    with pytest.raises(DataError, match=f"takes the path of a file, not a {type(path).__name__}"):
        scan(path)


VALUES = {
    "dataset": "X",
    "layer": "counts",
    "target": "state",
    "without": ["state"],
    "memory_limit": "1GB",
}
TAKERS = {
    "dataset": ("h5", "h5ad", "zarr-3"),
    "layer": ("h5", "h5ad"),
    "target": ("parquet", "h5", "h5ad", "zarr-3", "bed"),
    "without": ("parquet",),
    "memory_limit": ("h5", "h5ad"),
}


@pytest.mark.parametrize("option", VALUES)
@pytest.mark.parametrize("name", ["npy", "parquet", "h5", "h5ad", "zarr-3", "bed"])
def test_options_that_make_no_sense_are_refused(name, option, tmp_path):
    path, _ = write_example(name, tmp_path)
    try:
        scan(path, **{option: VALUES[option]}).close()
        refusal = ""
    except DataError as problem:
        refusal = str(problem)
    kind = {"h5": "hdf5", "h5ad": "hdf5", "zarr-3": "zarr"}.get(name, name)
    foreign = f"but '{path}' is read as {kind}: leave {option} out" in refusal
    assert foreign is (name not in TAKERS[option])


def test_text_under_every_ending(tmp_path):
    """A web page under the name of a table is refused as text."""
    for suffix in (".npy", ".parquet", ".h5", ".h5ad", ".zip", ".bed"):
        path = tmp_path / f"a{suffix}"
        path.write_text("<!DOCTYPE html><html><body>404 not found</body></html>\n")
        with pytest.raises(DataError, match=r"it begins like text|it is text"):
            scan(path)


def test_a_file_of_one_format_under_the_name_of_another(tmp_path):
    path, _ = write_example("npy", tmp_path)
    for suffix in (".parquet", ".h5", ".zip", ".bed"):
        wrong = path.with_suffix(suffix)
        wrong.write_bytes(path.read_bytes())
        with pytest.raises(DataError, match=r"it begins like a NumPy array \(.npy\)"):
            scan(wrong)


def test_the_largest_numbers_survive(tmp_path):
    X = np.array([[2**63 - 1, -(2**63)], [1, 2]])
    np.save(tmp_path / "a.npy", X)
    assert np.array_equal(scan(tmp_path / "a.npy").read(0, 2), X)
    X = floats()
    X[0, :3] = np.nan, np.inf, -0.0
    for name in MAKERS:
        if name.startswith(("bed", "h5ad-")):
            continue
        folder = tmp_path / name
        folder.mkdir()
        path, _ = write_example(name, folder)
        if path.is_dir():
            shutil.rmtree(path)
        MAKERS[name][2](path, X)
        values = scan(path).read(0, 61)
        assert values.tobytes(order="C") == X.tobytes(), name


def test_results_of_columns_count_towards_the_memory(tmp_path):
    from featly.problem.ingest import COLUMN_BYTES, ingest_stored
    from featly.table.schema import Schema

    np.save(tmp_path / "X.npy", np.zeros((200, 40_000), np.float32, order="F"))
    table = scan(tmp_path / "X.npy")
    reserved = COLUMN_BYTES * 40_000
    assert ingest_stored(table, Schema(), 20_000_000).source.memory == 20_000_000 - reserved
    assert ingest_stored(table, Schema(), 4_000_000).source.memory == 1_000_000  # a quarter is left
