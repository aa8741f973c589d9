"""Packed columns on disk: written once, taken up again, never believed when damaged."""

import errno
import json
import os
import signal
import threading
from unittest import mock

import numpy as np
import pytest

import featly
from featly.core import packed, packing
from featly.core.packed import SavedSearch
from tests.streaming.small_blocks import on_disk, small_blocks
from tests.streaming.test_streamed_methods import assert_same, table

GREEDY = [
    featly.MRMR,
    featly.JMI,
    featly.CMIM,
    featly.DISR,
    featly.ICAP,
    featly.InformationCriterion,
]


def fitted(method, stored, y, **parameters):
    with small_blocks():
        return method(memory_limit="1MB", **parameters).fit(stored, y)


@pytest.mark.parametrize("method", GREEDY)
def test_a_second_run_reads_what_the_first_packed(method, tmp_path):
    X, y = table(1, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    here = method().fit(X, y)
    assert_same(here, fitted(method, stored, y, cache=cache))
    assert sorted(path.suffix for path in cache.iterdir()) == [".packed", ".search"]
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(here, fitted(method, stored, y, cache=cache))
        (next(cache.glob("*.search"))).unlink()
        assert_same(here, fitted(method, stored, y, cache=cache))


def test_a_table_in_memory_has_a_cache_as_well(tmp_path):
    X, y = table(2, 40, 60, "float32", gaps=True)
    here = featly.JMI().fit(X, y)
    assert_same(here, featly.JMI(cache=tmp_path / "cache").fit(X, y))
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(here, featly.JMI(cache=tmp_path / "cache").fit(X, y))
    other = X.copy()
    other[0, 0] += 1
    assert_same(featly.JMI().fit(other, y), featly.JMI(cache=tmp_path / "cache").fit(other, y))


def test_other_targets_and_rules_have_files_of_their_own(tmp_path):
    X, y = table(3, 40, 60, "float32", gaps=False)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    for target in (y, 1 - y, np.arange(40) % 3):
        for discretizer in ("mdlp", "equal-width"):
            found = fitted(featly.JMI, stored, target, cache=cache, discretizer=discretizer)
            assert_same(featly.JMI(discretizer=discretizer).fit(X, target), found)


def test_columns_that_do_not_fit_into_memory_are_spilled(tmp_path):
    X, y = table(4, 40, 60, "float32", gaps=True)
    written = []
    original = packed._write
    with (
        mock.patch.object(packed, "_write", lambda *a: written.append(1) or original(*a)),
        mock.patch.object(featly.problem.Resources, "room", 1),
    ):
        found = fitted(featly.JMI, on_disk(tmp_path, X), y)
    assert written
    assert_same(featly.JMI().fit(X, y), found)


def test_packing_is_taken_up_where_it_was_stopped(tmp_path):
    X, y = table(5, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original, packed_by_now = packing.Packing.pack, []

    def stop(self, codes, low, n_jobs):
        if len(packed_by_now) == 3:
            raise KeyboardInterrupt
        packed_by_now.append(low)
        return original(self, codes, low, n_jobs)

    with mock.patch.object(packing.Packing, "pack", stop), pytest.raises(KeyboardInterrupt):
        fitted(featly.JMI, stored, y, cache=cache, n_jobs=1)
    assert {path.suffix for path in cache.iterdir()} == {".partial", ".journal"}
    again = []

    def go_on(self, codes, low, n_jobs):
        again.append(low)
        return original(self, codes, low, n_jobs)

    with mock.patch.object(packing.Packing, "pack", go_on):
        found = fitted(featly.JMI, stored, y, cache=cache)
    assert set(again).isdisjoint(packed_by_now)
    assert_same(featly.JMI().fit(X, y), found)


def test_a_half_written_record_is_packed_again(tmp_path):
    X, y = table(6, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    with (
        mock.patch.object(packed.PackedFile, "finish", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        fitted(featly.JMI, stored, y, cache=cache, n_jobs=1)
    partial = next(cache.glob("*.partial"))
    os.truncate(partial, partial.stat().st_size - 100)
    journal = next(cache.glob("*.journal"))
    journal.write_text(journal.read_text() + '{"begin": 1')
    assert_same(featly.JMI().fit(X, y), fitted(featly.JMI, stored, y, cache=cache))


def test_a_damaged_file_is_not_believed(tmp_path):
    X, y = table(7, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fitted(featly.JMI, stored, y, cache=cache)
    next(cache.glob("*.search")).unlink()
    path = next(cache.glob("*.packed"))
    sound = path.read_bytes()
    begin = packed.FOOTER.unpack(sound[-packed.FOOTER.size :])[0]
    records = json.loads(sound[begin : -packed.FOOTER.size])["records"]
    places = [record["begin"] + record["size"] // 2 for record in records]
    for place in [*places, begin + 5, len(sound) - 20, len(sound) - 3]:
        data = bytearray(sound)
        data[place] ^= 4
        path.write_bytes(data)
        with pytest.raises(featly.DataError, match="damaged or was cut: delete it"):
            fitted(featly.JMI, stored, y, cache=cache)
    for length in (0, 10, begin, len(sound) - 1):
        path.write_bytes(sound[:length])
        with pytest.raises(featly.DataError, match="damaged or was cut: delete it"):
            fitted(featly.JMI, stored, y, cache=cache)
    path.unlink()
    assert_same(featly.JMI().fit(X, y), fitted(featly.JMI, stored, y, cache=cache))


@pytest.mark.parametrize("stop_at", [1, 5, 17])
@pytest.mark.parametrize("method", GREEDY)
def test_a_search_goes_on_where_ctrl_c_ended_it(method, stop_at, tmp_path):
    X, y = table(8, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"

    def stop(step, total):
        if step == stop_at:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fitted(method, stored, y, cache=cache, verbose=lambda a, b: b < 60 and stop(a, b))
    steps = []
    found = fitted(method, stored, y, cache=cache, verbose=lambda a, b: b < 60 and steps.append(a))
    assert steps[0] == stop_at + 1
    assert_same(method().fit(X, y), found)


def test_more_steps_go_on_from_fewer(tmp_path):
    X, y = table(9, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    for max_steps in (10, 25, 25, 7):
        found = fitted(featly.MRMR, stored, y, cache=cache, max_steps=max_steps)
        assert_same(featly.MRMR(max_steps=max_steps).fit(X, y), found)


def test_a_saved_search_that_is_damaged_is_begun_anew(tmp_path):
    X, y = table(10, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fitted(featly.MRMR, stored, y, cache=cache)
    saved = next(cache.glob("*.search"))
    saved.write_bytes(saved.read_bytes()[:200])
    assert_same(featly.MRMR().fit(X, y), fitted(featly.MRMR, stored, y, cache=cache))


def test_a_search_is_saved_from_time_to_time(tmp_path):
    X, y = table(11, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original, times = SavedSearch.save, []

    def save(self, criterion, found, *, now=False):
        self.every = 0.0
        times.append(len(found))
        original(self, criterion, found, now=now)

    with mock.patch.object(SavedSearch, "save", save):
        fitted(featly.MRMR, stored, y, cache=cache, max_steps=5)
    assert times == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("parameters", [{"cache": "cache"}, {}])
def test_a_full_disk(parameters, tmp_path, monkeypatch):
    X, y = table(12, 40, 60, "float32", gaps=True)
    monkeypatch.chdir(tmp_path)
    stored = on_disk(tmp_path, X)

    def full(file, arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        mock.patch.object(packed, "_write", full),
        mock.patch.object(featly.problem.Resources, "room", 1),
        pytest.raises(OSError, match=r"no space is left in .* free some") as told,
    ):
        fitted(featly.JMI, stored, y, **parameters)
    assert told.value.errno == errno.ENOSPC
    assert ("cache" in str(told.value)) == bool(parameters)


def test_two_runs_do_not_write_one_file(tmp_path):
    X, y = table(13, 40, 60, "float32", gaps=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original, seen = packing.Packing.pack, []
    begun, go_on = threading.Event(), threading.Event()

    def slow(self, codes, low, n_jobs):
        begun.set()
        go_on.wait(30)
        return original(self, codes, low, n_jobs)

    def first():
        seen.append(featly.JMI(cache=cache, n_jobs=1).fit(stored, y))

    with mock.patch.object(packing.Packing, "pack", slow):
        run = threading.Thread(target=first)
        run.start()
        begun.wait(30)
        try:
            with pytest.raises(featly.DataError, match="being written by another run"):
                featly.JMI(cache=cache).fit(stored, y)
        finally:
            go_on.set()
            run.join()
    assert_same(featly.JMI().fit(X, y), seen[0])


def test_senseless_caches(tmp_path):
    X, y = table(14, 40, 10, "float32", gaps=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(featly.ParameterError, match="is a file"):
        featly.JMI(cache=tmp_path / "file").fit(X, y)
    with pytest.raises(featly.ParameterError, match="cache=7"):
        featly.JMI(cache=7).fit(X, y)
    with pytest.raises(featly.ParameterError, match="of no use with missing='spread'"):
        featly.JMI(cache=tmp_path, missing="spread").fit(X, y)
    with pytest.raises(featly.ParameterError, match="device='tpu'"):
        featly.JMI(device="tpu").fit(X, y)
