"""The promises of every table on disk, whatever its format."""

import os
import pickle
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from featly.basics.errors import DataError, ParameterError
from featly.problem.scan import scan
from tests.io.stores.making import MAKERS, PLAIN_FILES, scan_example, write_example

every_format = pytest.mark.parametrize("name", MAKERS)


@every_format
def test_any_block_equals_the_array(name, tmp_path):
    table, X = scan_example(name, tmp_path)
    assert table.shape == X.shape
    assert table.dtype == X.dtype
    assert table.missing == (3 if name == "bed" else None)
    for low in range(0, 61, 5):
        for high in (low, low + 1, min(low + 13, 61), 61):
            block = table.read(low, high)
            assert np.array_equal(block, X[:, low:high])
            assert block.dtype == table.dtype
            flags = block.flags
            assert flags.f_contiguous if table.feature_major else flags.c_contiguous
            assert flags.writeable
            assert flags.aligned


@every_format
@pytest.mark.parametrize("features", [[], [60], [0, 1, 2], [58, 3, 4, 3, 0], list(range(0, 61, 2))])
def test_any_columns_in_any_order(name, features, tmp_path):
    table, X = scan_example(name, tmp_path)
    columns = table.take(np.array(features, np.int64))
    assert np.array_equal(columns, X[:, features])
    assert columns.dtype == table.dtype
    assert columns.flags.f_contiguous if table.feature_major else columns.flags.c_contiguous


@every_format
def test_blocks_are_independent_copies(name, tmp_path):
    table, X = scan_example(name, tmp_path)
    first = table.read(3, 20)
    second = table.read(3, 20)
    first[:] = 0
    assert np.array_equal(second, X[:, 3:20])
    assert np.array_equal(table.read(3, 20), X[:, 3:20])


@every_format
def test_threads_read_at_the_same_time(name, tmp_path):
    table, X = scan_example(name, tmp_path)

    def reads_back(low):
        return np.array_equal(table.read(low, low + 7), X[:, low : low + 7])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(reads_back, [k % 54 for k in range(400)]))


@every_format
def test_a_pickled_table_is_opened_again(name, tmp_path, monkeypatch):
    path, X = write_example(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    table = scan(path.name)
    stored = pickle.dumps(table)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = pickle.loads(stored)
    assert np.array_equal(again.read(0, 61), X)
    assert again.fingerprint() == table.fingerprint()
    assert len(stored) < 2000
    table.close()
    again.close()
    if path.is_dir():
        shutil.rmtree(path)
    MAKERS[name][2](path, X[:, :-1])
    with pytest.raises(DataError, match=r"scan it again|cut"):
        pickle.loads(stored)


@every_format
def test_a_closed_table_raises(name, tmp_path):
    with scan(write_example(name, tmp_path)[0]) as table:
        table.read(0, 1)
    with pytest.raises(DataError, match="is closed: scan it again"):
        table.read(0, 1)
    table.close()


@every_format
def test_unknown_columns(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    for low, high in ((-1, 3), (5, 62), (7, 6)):
        with pytest.raises(ParameterError, match=f"columns {low}:{high} are none of"):
            table.read(low, high)
    for column in (-1, 61):
        with pytest.raises(ParameterError, match=f"column {column} is none of .*from 0 to 60"):
            table.take([2, column])


@every_format
def test_numbers_are_no_frame(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    for ask in (lambda: table.frame(0, 1), table.schema_frame, lambda: table.take_frame([0])):
        with pytest.raises(DataError, match="has numbers only"):
            ask()


@every_format
def test_attributes(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    assert f"23 rows, 61 columns of {table.dtype}" in repr(table)
    assert str(table.path) in repr(table)
    assert len(table.names) == 61
    assert table.names[0] in ("x0", "column_0", "gene0", "rs0")
    assert table.column("nobody") is None
    assert table.y is None
    assert table.nbytes > 0
    assert table.alignment in (1, 8, 16)


@every_format
def test_the_same_content_has_the_same_fingerprint(name, tmp_path):
    path, X = write_example(name, tmp_path)
    with scan(path) as first, scan(path) as second:
        before = first.fingerprint()
        assert before == second.fingerprint()
    other = X.copy()
    other[11, 30] = 0 if X[11, 30] else 1
    if path.is_dir():
        shutil.rmtree(path)
    MAKERS[name][2](path, other)
    with scan(path) as table:
        assert table.fingerprint() != before


# ---- files that change ------------------------------------------------------------------------
@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_file_that_shrinks_after_the_scan(name, tmp_path):
    table, X = scan_example(name, tmp_path)
    size = os.path.getsize(table.path)
    os.truncate(table.path, size // 2)
    with pytest.raises(DataError, match=rf"table.* was cut from {size} to {size // 2} bytes"):
        table.check()
    refused = 0
    for low in range(0, 60, 10):
        try:
            block = table.read(low, low + 10)
        except DataError:
            refused += 1
        else:  # what the table holds itself
            assert np.array_equal(block, X[:, low : low + 10])
    assert refused
    with pytest.raises(DataError, match="cut"):
        table.take([0, 59])


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_file_that_was_cut_before_the_scan(name, tmp_path):
    path, _ = write_example(name, tmp_path)
    os.truncate(path, os.path.getsize(path) - 5)
    with pytest.raises(DataError, match=r"table\S* .*(is cut|cut or damaged|was cut)"):
        scan(path).read(0, 61)


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_file_that_is_replaced(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    table.check()
    new = tmp_path / "new"
    shutil.copy(table.path, new)
    os.replace(new, table.path)
    with pytest.raises(DataError, match="was replaced while it was in use: scan it again"):
        table.check()


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_deleted_file(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    table.path.unlink()
    with pytest.raises(DataError, match=r"is no longer there .*scan it again"):
        table.check()


@pytest.mark.parametrize("name", PLAIN_FILES)
def test_a_file_that_is_written_to(name, tmp_path):
    table, _ = scan_example(name, tmp_path)
    with open(table.path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\xff")
    os.utime(table.path, ns=(0, 12345))
    with pytest.raises(DataError, match="changed while it was in use: scan it again"):
        table.check()
    with pytest.raises(DataError, match="scan it again"):
        table.read(40, 61)


@pytest.mark.parametrize("name", ["npy", "npy-rows", "h5", "bed"])
def test_a_file_that_shrinks_while_a_pass_goes_on(name, tmp_path):
    """Wrong numbers are never returned while another thread cuts the file."""
    table, X = scan_example(name, tmp_path, n_rows=400, n_features=3000)
    begun, end = threading.Event(), os.path.getsize(table.path)

    def cut():
        begun.wait()
        for size in range(end, 0, -1 - end // 50):
            os.truncate(table.path, size)

    cutter = threading.Thread(target=cut)
    cutter.start()
    with pytest.raises(DataError, match=r"table.* was cut from|changed while"):  # noqa: PT012
        for turn in range(1000):
            for low in range(0, 3000, 300):
                block = table.read(low, low + 300)
                assert np.array_equal(block, X[:, low : low + 300]), (turn, low)
            begun.set()
    cutter.join()


def test_imports_are_lazy(tmp_path):
    import subprocess
    import sys

    path, _ = write_example("npy", tmp_path)
    script = (
        "import sys\n"
        "from featly.problem.scan import scan\n"
        "heavy = {'polars', 'pyarrow', 'h5py', 'zarr', 'numba', 'sklearn', 'pandas', 'narwhals'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        f"scan({str(path)!r}).read(0, 5)\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
