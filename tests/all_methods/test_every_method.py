"""Every method of the registry on every kind of file gives the result that it gives in memory."""

import errno
import gc
import os
import pickle
import shutil
import threading

import numpy as np
import polars as pl
import pytest

import featly
from featly.io.stores import files
from featly.io.stores.npy import NpyTable
from featly.problem.scan import scan
from featly.registry import METHODS, method_class
from tests.all_methods.small_blocks import on_disk, small_blocks
from tests.all_methods.test_streamed_methods import assert_same, table
from tests.io.stores.making import MAKERS, NEEDS, write_example

STREAMED = [name for name, method in METHODS.items() if method.streams]
OTHERS = [name for name, method in METHODS.items() if not method.streams]
# a hard margin refuses classes that cannot be separated
PARAMETERS = {"arom": {"C": 1000.0}}
# each format is tested with half of the methods: all of them read it in the same way
FORMATS = list(MAKERS)


def make_method(name, **parameters):
    method = method_class(name)(**PARAMETERS.get(name, {}))
    if "memory_limit" in parameters and "memory_limit" not in method.get_params():
        limit = parameters.pop("memory_limit")  # an ensemble has that of its members
        parameters["ranker"] = method_class(method.ranker)(memory_limit=limit)
    return method.set_params(**parameters)


def numbers(name, kind, seed=0):
    """A table that a file of some kind can hold, with missing values if the method takes them."""
    missing = METHODS[name].missing
    if kind == "bed":
        X, y = table(seed, 40, 45, "uint8", missing=False)
        X %= 4 if missing else 3
        return X, np.where(X == 3, np.float32(np.nan), X.astype(np.float32)), y
    X, y = table(seed, 40, 45, "float32", missing=missing)
    if "rows" in kind or "columns" in kind:
        X[X == 0] = 0
    return X, X, y


def write_table(name, kind, folder, seed=0):
    """Write a table to a file of some kind; return it stored and in memory."""
    for library in NEEDS.get(kind.partition("-")[0], ()):
        pytest.importorskip(library)
    raw, X, y = numbers(name, kind, seed)
    suffix, _, write = MAKERS[kind]
    path = folder / f"other{suffix}"
    if path.is_dir():
        shutil.rmtree(path)
    write(path, raw)
    stored = scan(path)
    # sums over rows and over columns that lie in another order may differ in their last bits
    return stored, np.asarray(X, order="F" if stored.feature_major else "C"), y


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["npy", "npy-rows", "parquet", "bed"])
@pytest.mark.parametrize("name", STREAMED)
def test_threads_and_layouts(name, kind, tmp_path):
    stored, X, y = write_table(name, kind, tmp_path)
    expected = make_method(name).fit(X, y)
    for n_jobs in (1, 2):
        with small_blocks():
            streamed = make_method(name, memory_limit="1MB", n_jobs=n_jobs).fit(stored, y)
        assert_same(expected, streamed)
    assert_same(expected, make_method(name).fit(stored, y))  # read into memory


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("kind", FORMATS)
def test_formats(kind, tmp_path):
    number = FORMATS.index(kind)
    for name in STREAMED[number % 2 :: 2]:
        stored, X, y = write_table(name, kind, tmp_path, seed=number)
        with small_blocks(), stored:
            streamed = make_method(name, memory_limit="1MB").fit(stored, y)
        assert_same(make_method(name).fit(X, y), streamed)


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("columns", [1, 4, 44, 100])
@pytest.mark.parametrize("kind", ["npy", "npy-rows"])
@pytest.mark.parametrize("name", STREAMED)
def test_blocks_of_any_size(name, kind, columns, tmp_path):
    """Sums of a column do not depend on its block, even if it is alone, as the last of 45 here."""
    stored, X, y = write_table(name, kind, tmp_path, seed=columns)
    with small_blocks(columns):
        streamed = make_method(name, memory_limit="1MB").fit(stored, y)
    assert_same(make_method(name).fit(X, y), streamed)


@pytest.mark.parametrize("name", STREAMED)
def test_columns_of_several_kinds(name, tmp_path):
    method = METHODS[name]
    if "categorical" not in method.kinds:
        pytest.skip("takes numbers")
    rng = np.random.default_rng(3)
    y = np.arange(40) % 2
    numbers = rng.normal(size=(40, 12)).round(1) + y[:, None]
    frame = pl.DataFrame(
        {f"number {k}": column for k, column in enumerate(numbers.T)}
        | {f"text {k}": rng.choice(list("abcd"), 40) for k in range(6)}
        | {"flag": rng.random(40) < 0.5, "whole": rng.integers(0, 4, 40)}
    ).with_columns(pl.col("text 1").cast(pl.Categorical), pl.col("number 2").cast(pl.Float32))
    frame = frame.select(rng.permutation(frame.columns).tolist())
    if method.missing:
        with_missing = [
            pl.when(pl.lit(rng.random(40)) < 0.9).then(pl.col(c)) for c in frame.columns[::2]
        ]
        frame = frame.with_columns(with_missing)
    frame.write_parquet(tmp_path / "X.parquet", row_group_size=17)
    stored = scan(tmp_path / "X.parquet")
    expected = make_method(name).fit(frame, y)
    for columns in (1, 5):
        with small_blocks(columns):
            streamed = make_method(name, memory_limit="1MB").fit(stored, y)
        assert_same(expected, streamed)
        assert expected.kinds_ == streamed.kinds_
        names = expected.get_feature_names_out().tolist()
        assert streamed.get_feature_names_out().tolist() == names


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("name", STREAMED)
def test_refusals_name_column_and_row(name, tmp_path):
    """An error names the same column and row as in memory."""
    X, y = table(5, 40, 45, "float64", missing=False)
    for value in (np.inf, np.nan):
        X[31, 40] = value
        messages = []
        for take in (lambda X=X: X, lambda X=X: on_disk(tmp_path, X)):
            with small_blocks():
                limit = {} if take() is X else {"memory_limit": "1MB"}
                try:
                    make_method(name, **limit).fit(take(), y)
                except featly.DataError as problem:
                    messages.append(str(problem))
        if value == np.inf or not METHODS[name].missing:
            assert len(messages) == 2
            assert "'x40'" in messages[0]
            assert "row 31" in messages[0]
            assert messages[0] == messages[1]
        else:
            assert messages == []


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning", "ignore::featly.SlowWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_methods_that_need_all_in_memory(name, tmp_path):
    rng = np.random.default_rng(1)
    y = np.arange(24) % 2
    X = (rng.integers(0, 3, (24, 6)) + y[:, None]).astype(np.float32)
    stored = on_disk(tmp_path, X)
    assert_same(make_method(name).fit(X, y), make_method(name).fit(stored, y))
    message = r"needs it whole\..* a method that reads columns by blocks: FTest"
    with small_blocks(), pytest.raises(featly.DataError, match=message):
        make_method(name).fit(stored, y)


# ---- after the fit ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", MAKERS)
def test_a_fitted_method_does_not_need_the_file(kind, tmp_path):
    path, X = write_example(kind, tmp_path)
    with scan(path) as stored:
        fitted = featly.SignalToNoise(n_features_to_select=5).fit(stored, np.arange(23) % 2)
        names = fitted.get_feature_names_out()
        assert names.tolist() == [stored.names[k] for k in fitted.get_support(indices=True)]
        chosen = fitted.transform(stored)
        pickled = pickle.dumps(fitted)
    path.rename(tmp_path / "elsewhere")
    again = pickle.loads(pickled)
    assert again.get_feature_names_out().tolist() == names.tolist()
    assert again.table().equals(fitted.table())
    expected = X[:, fitted.get_support(indices=True)].astype(np.float64)
    expected[(expected == 3) & (kind == "bed")] = np.nan
    np.testing.assert_array_equal(chosen, expected)


def test_transform_refuses_another_table(tmp_path):
    X, y = table(1, 40, 5, "float32", missing=False)
    pl.DataFrame(X, list("abcde")).write_parquet(tmp_path / "one.parquet")
    pl.DataFrame(X, list("abced")).write_parquet(tmp_path / "other.parquet")
    fitted = featly.FTest().fit(scan(tmp_path / "one.parquet"), y)
    with pytest.raises(featly.DataError, match=r"column 3 of X is 'e', where it was 'd' in fit"):
        fitted.transform(scan(tmp_path / "other.parquet"))
    with pytest.raises(featly.DataError, match="X has 4 features, but FTest is expecting 5"):
        fitted.transform(on_disk(tmp_path, X[:, :4]))


def test_no_threads_or_files_are_left_open(tmp_path):
    def fit_all():
        X, y = table(1, 40, 60, "float32", missing=True)
        stored = on_disk(tmp_path, X)
        with small_blocks():
            for method in (featly.FTest, featly.MRMR, featly.ReliefF):
                method(memory_limit="1MB").fit(stored, y)
            featly.MRMR(measure="rank", memory_limit="1MB").fit(stored, y)
            featly.JMI(memory_limit="1MB", cache=tmp_path / "cache").fit(stored, y)

    def count_handles():
        gc.collect()
        readers = [t for t in threading.enumerate() if "reader" in t.name]
        for thread in readers:  # they end when their source is collected
            thread.join(10)
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system has no /proc/self/fd")
    fit_all()
    before = count_handles()
    for _ in range(3):
        fit_all()
    assert count_handles() == before


# ---- threads ----------------------------------------------------------------------------------
def test_readers_do_not_deadlock(tmp_path):
    """Ranks are computed as blocks are read, by parts of a block, while all threads wait for it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 15_000)).astype(np.float32)
    y = np.arange(200) % 2
    stored, fits = on_disk(tmp_path, np.asfortranarray(X)), []

    def fit():
        method = featly.MRMR(measure="rank", max_steps=2, memory_limit="20MB", n_jobs=2)
        fits.append(method.fit(stored, y))

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    thread.join(300)
    assert not thread.is_alive()
    assert_same(featly.MRMR(measure="rank", max_steps=2).fit(X, y), fits[0])


# ---- files that change ------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("name", STREAMED)
def test_a_file_that_is_cut_between_two_blocks(name, tmp_path, monkeypatch):
    X, y = table(6, 40, 45, "float32", missing=False)
    stored, blocks = on_disk(tmp_path, np.asfortranarray(X)), []
    original = NpyTable._read

    def read(self, low, high):
        blocks.append(low)
        if len(blocks) == 4:
            os.truncate(self.path, 2000)
        return original(self, low, high)

    monkeypatch.setattr(NpyTable, "_read", read)
    with small_blocks(), pytest.raises(featly.DataError, match=r"X\.npy' was cut from .* to 2000"):
        make_method(name, memory_limit="1MB").fit(stored, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_disk_that_fails(n_jobs, tmp_path, monkeypatch):
    X, y = table(7, 40, 45, "float32", missing=False)
    stored, calls = on_disk(tmp_path, np.asfortranarray(X)), []
    original = files._PREADV

    def fail_later(descriptor, buffers, offset):
        calls.append(offset)
        if len(calls) > 3:
            raise OSError(errno.EIO, "Input/output error")
        return original(descriptor, buffers, offset)

    monkeypatch.setattr(files, "_PREADV", fail_later)
    for method in (featly.FTest, featly.MRMR, featly.SVMRFE):
        calls.clear()
        message = r"X\.npy' cannot be read at byte \d+ \(Input/output error\)"
        with small_blocks(), pytest.raises(featly.DataError, match=message):
            method(memory_limit="1MB", n_jobs=n_jobs).fit(stored, y)


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", STREAMED)
def test_whole_numbers_of_one_byte(name, order, dtype, tmp_path):
    """Whole numbers of one byte, of any sign, on disk, in memory, and as floats."""
    rng = np.random.default_rng(8)
    low, high = {"uint8": (0, 256), "int8": (-128, 128), "bool": (0, 2)}[dtype]
    X = np.asarray(rng.integers(low, high, (40, 45)), dtype, order=order)
    X[:, 3], X[:, 4] = low, high - 1
    X[:20, 7], X[20:, 7] = low, high - 1
    y = np.arange(40) % 3 if METHODS[name].many_classes else np.arange(40) % 2
    as_floats = np.asarray(X, np.float64, order=order)
    with small_blocks():
        streamed = make_method(name, memory_limit="1MB").fit(on_disk(tmp_path, X), y)
    assert_same(make_method(name).fit(X, y), streamed)
    if name in ("svm-rfe", "arom", "pairwise", "redundancy-filter"):
        return  # bytes become float32 here, whose sums are not those of float64
    expected = make_method(name).fit(as_floats, y)
    assert expected.order_.tolist() == streamed.order_.tolist()
    if hasattr(expected, "scores_"):
        np.testing.assert_allclose(expected.scores_, streamed.scores_, rtol=1e-9)


@pytest.mark.parametrize("value", [0.5, np.inf, 1e6], ids=str)
@pytest.mark.parametrize("name", ["information-gain", "mrmr", "chi-squared"])
def test_columns_that_cannot_be_coded(name, value, tmp_path):
    """A number that is no level, an infinite one, and more levels than there are codes."""
    X = np.arange(70_000)[:, None] % np.array([2, 3, 5, 2, 3, 4, 2])
    X = np.asfortranarray(X, np.float64)
    if value == 1e6:
        X[:, 5] = np.arange(70_000)
    else:
        X[31, 5] = value
    y, messages = np.arange(70_000) % 2, []
    for data in (X, on_disk(tmp_path, X)):
        method = make_method(name, memory_limit="1MB").set_params(discretizer=None)
        with pytest.raises(featly.DataError, match="'x5'") as caught:
            method.fit(data, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
