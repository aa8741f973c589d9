"""Packed columns on disk: written once, resumed, never used when damaged."""

import errno
import gc
import json
import os
import resource
import signal
import threading
from unittest import mock

import numpy as np
import pytest

import featly
from featly.core.greedy import cache as packed
from featly.core.greedy import packing
from featly.core.greedy.cache import SavedSearch
from tests.all_methods.small_blocks import on_disk, small_blocks
from tests.all_methods.test_streamed_methods import assert_same, table

GREEDY = [
    featly.MRMR,
    featly.JMI,
    featly.CMIM,
    featly.DISR,
    featly.ICAP,
    featly.InformationCriterion,
]


def fit_streamed(method, stored, y, **parameters):
    with small_blocks():
        return method(memory_limit="1MB", **parameters).fit(stored, y)


@pytest.mark.parametrize("method", GREEDY)
def test_a_second_run_reads_what_the_first_packed(method, tmp_path):
    X, y = table(1, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected = method().fit(X, y)
    assert_same(expected, fit_streamed(method, stored, y, cache=cache))
    assert sorted(path.suffix for path in cache.iterdir()) == [".packed", ".search"]
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(expected, fit_streamed(method, stored, y, cache=cache))
        (next(cache.glob("*.search"))).unlink()
        assert_same(expected, fit_streamed(method, stored, y, cache=cache))


def test_a_table_in_memory_has_a_cache_as_well(tmp_path):
    X, y = table(2, 40, 60, "float32", missing=True)
    expected = featly.JMI().fit(X, y)
    assert_same(expected, featly.JMI(cache=tmp_path / "cache").fit(X, y))
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(expected, featly.JMI(cache=tmp_path / "cache").fit(X, y))
    changed = X.copy()
    changed[0, 0] += 1
    assert_same(featly.JMI().fit(changed, y), featly.JMI(cache=tmp_path / "cache").fit(changed, y))


def test_other_targets_and_rules_have_files_of_their_own(tmp_path):
    X, y = table(3, 40, 60, "float32", missing=False)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    for target in (y, 1 - y, np.arange(40) % 3):
        for discretizer in ("mdlp", "equal-width"):
            cached = fit_streamed(featly.JMI, stored, target, cache=cache, discretizer=discretizer)
            assert_same(featly.JMI(discretizer=discretizer).fit(X, target), cached)


def test_columns_that_do_not_fit_into_memory_are_spilled(tmp_path):
    X, y = table(4, 40, 60, "float32", missing=True)
    written = []
    original = packed._write_record
    with (
        mock.patch.object(packed, "_write_record", lambda *a: written.append(1) or original(*a)),
        mock.patch.object(featly.problem.problem.Resources, "memory_budget", 1),
    ):
        streamed = fit_streamed(featly.JMI, on_disk(tmp_path, X), y)
    assert written
    assert_same(featly.JMI().fit(X, y), streamed)


def test_packing_goes_on_where_it_was_stopped(tmp_path):
    X, y = table(5, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original, packed_by_now = packing.Packing.pack, []

    def stop(self, codes, low, n_jobs):
        if len(packed_by_now) == 3:
            raise KeyboardInterrupt
        packed_by_now.append(low)
        return original(self, codes, low, n_jobs)

    with mock.patch.object(packing.Packing, "pack", stop), pytest.raises(KeyboardInterrupt):
        fit_streamed(featly.JMI, stored, y, cache=cache, n_jobs=1)
    assert {path.suffix for path in cache.iterdir()} == {".partial", ".journal"}
    again = []

    def go_on(self, codes, low, n_jobs):
        again.append(low)
        return original(self, codes, low, n_jobs)

    with mock.patch.object(packing.Packing, "pack", go_on):
        resumed = fit_streamed(featly.JMI, stored, y, cache=cache)
    assert set(again).isdisjoint(packed_by_now)
    assert_same(featly.JMI().fit(X, y), resumed)


def test_a_half_written_record_is_packed_again(tmp_path):
    X, y = table(6, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    with (
        mock.patch.object(packed.PackedFile, "finish", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        fit_streamed(featly.JMI, stored, y, cache=cache, n_jobs=1)
    partial = next(cache.glob("*.partial"))
    os.truncate(partial, partial.stat().st_size - 100)
    journal = next(cache.glob("*.journal"))
    journal.write_text(journal.read_text() + '{"begin": 1')
    assert_same(featly.JMI().fit(X, y), fit_streamed(featly.JMI, stored, y, cache=cache))


def test_a_damaged_file_is_an_error(tmp_path):
    X, y = table(7, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fit_streamed(featly.JMI, stored, y, cache=cache)
    next(cache.glob("*.search")).unlink()
    path = next(cache.glob("*.packed"))
    sound = path.read_bytes()
    begin = packed.FOOTER.unpack(sound[-packed.FOOTER.size :])[0]
    records = json.loads(sound[begin : -packed.FOOTER.size])["records"]
    offsets = [record["begin"] + record["size"] // 2 for record in records]
    for offset in [*offsets, begin + 5, len(sound) - 20, len(sound) - 3]:
        data = bytearray(sound)
        data[offset] ^= 4
        path.write_bytes(data)
        with pytest.raises(featly.DataError, match="damaged or was cut: delete it"):
            fit_streamed(featly.JMI, stored, y, cache=cache)
    for length in (0, 10, begin, len(sound) - 1):
        path.write_bytes(sound[:length])
        with pytest.raises(featly.DataError, match="damaged or was cut: delete it"):
            fit_streamed(featly.JMI, stored, y, cache=cache)
    path.unlink()
    assert_same(featly.JMI().fit(X, y), fit_streamed(featly.JMI, stored, y, cache=cache))


@pytest.mark.parametrize("stop_at", [1, 5, 17])
@pytest.mark.parametrize("method", GREEDY)
def test_a_search_goes_on_where_ctrl_c_ended_it(method, stop_at, tmp_path):
    X, y = table(8, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"

    def stop(step, total):
        if step == stop_at:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit_streamed(method, stored, y, cache=cache, verbose=lambda a, b: b < 60 and stop(a, b))
    steps = []
    resumed = fit_streamed(
        method, stored, y, cache=cache, verbose=lambda a, b: b < 60 and steps.append(a)
    )
    assert steps[0] == stop_at + 1
    assert_same(method().fit(X, y), resumed)


def test_more_steps_go_on_from_fewer(tmp_path):
    X, y = table(9, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    for max_steps in (10, 25, 25, 7):
        resumed = fit_streamed(featly.MRMR, stored, y, cache=cache, max_steps=max_steps)
        assert_same(featly.MRMR(max_steps=max_steps).fit(X, y), resumed)


def test_a_saved_search_that_is_damaged_is_begun_anew(tmp_path):
    X, y = table(10, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fit_streamed(featly.MRMR, stored, y, cache=cache)
    saved = next(cache.glob("*.search"))
    saved.write_bytes(saved.read_bytes()[:200])
    assert_same(featly.MRMR().fit(X, y), fit_streamed(featly.MRMR, stored, y, cache=cache))


def test_a_search_is_saved_from_time_to_time(tmp_path):
    X, y = table(11, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original, times = SavedSearch.save, []

    def save(self, criterion, choices, *, now=False):
        self.interval = 0.0
        times.append(len(choices))
        original(self, criterion, choices, now=now)

    with mock.patch.object(SavedSearch, "save", save):
        fit_streamed(featly.MRMR, stored, y, cache=cache, max_steps=5)
    assert times == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("parameters", [{"cache": "cache"}, {}])
def test_a_full_disk(parameters, tmp_path, monkeypatch):
    X, y = table(12, 40, 60, "float32", missing=True)
    monkeypatch.chdir(tmp_path)
    stored = on_disk(tmp_path, X)

    def raise_full_disk(file, arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    with (
        mock.patch.object(packed, "_write_record", raise_full_disk),
        mock.patch.object(featly.problem.problem.Resources, "memory_budget", 1),
        pytest.raises(OSError, match=r"no space is left in .* free some") as caught,
    ):
        fit_streamed(featly.JMI, stored, y, **parameters)
    assert caught.value.errno == errno.ENOSPC
    assert ("cache" in str(caught.value)) == bool(parameters)


def test_two_runs_do_not_write_one_file(tmp_path):
    X, y = table(13, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected, original, fits = featly.JMI().fit(X, y), packing.Packing.pack, []
    # compile first what the two runs need, which may take longer than they wait
    featly.JMI(cache=tmp_path / "other").fit(stored, y)
    begun, go_on = threading.Event(), threading.Event()

    def pack_slowly(self, codes, low, n_jobs):
        begun.set()
        go_on.wait(300)
        return original(self, codes, low, n_jobs)

    def run_first():
        fits.append(featly.JMI(cache=cache, n_jobs=1).fit(stored, y))

    with mock.patch.object(packing.Packing, "pack", pack_slowly):
        run = threading.Thread(target=run_first)
        run.start()
        try:
            assert begun.wait(300)
            with pytest.raises(featly.DataError, match="being written by another run"):
                featly.JMI(cache=cache).fit(stored, y)
        finally:
            go_on.set()
            run.join()
    assert_same(expected, fits[0])


def test_a_run_that_ends_while_another_begins(tmp_path):
    """The second run has opened the unfinished file when the first one renames it."""
    X, y = table(15, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected, firsts = featly.JMI().fit(X, y), []
    lock = packed._lock_for_writing

    def lock_late(file, path):
        if not firsts:  # of the second run: it has the file open, and not yet locked
            firsts.append(None)
            firsts[0] = featly.JMI(cache=cache).fit(stored, y)
        lock(file, path)

    with mock.patch.object(packed, "_lock_for_writing", lock_late):
        second = featly.JMI(cache=cache).fit(stored, y)
    assert_same(expected, firsts[0])
    assert_same(expected, second)
    assert sorted(path.suffix for path in cache.iterdir()) == [".packed", ".search"]
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(expected, featly.JMI(cache=cache).fit(stored, y))


def stop_packing_after(count, stored, y, cache, **parameters):
    """Pack some ranges and stop; return the exception, which keeps all frames alive."""
    original, done = packing.Packing.pack, []

    def stop(self, codes, low, n_jobs):
        if len(done) == count:
            raise KeyboardInterrupt
        done.append(low)
        return original(self, codes, low, n_jobs)

    with (
        mock.patch.object(packing.Packing, "pack", stop),
        pytest.raises(KeyboardInterrupt) as stopped,
    ):
        fit_streamed(featly.JMI, stored, y, cache=cache, n_jobs=1, **parameters)
    return stopped


def test_a_stopped_run_closes_the_file(tmp_path):
    """A notebook holds the last exception, and with it all objects of its frames."""
    X, y = table(16, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    stopped = stop_packing_after(3, stored, y, cache)
    assert_same(featly.JMI().fit(X, y), fit_streamed(featly.JMI, stored, y, cache=cache))
    del stopped


def test_ranges_of_another_memory_limit_are_used(tmp_path):
    X, y = table(17, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected = featly.JMI().fit(X, y)
    stop_packing_after(3, stored, y, cache)
    original, again = packing.Packing.pack, []

    def go_on(self, codes, low, n_jobs):
        again.append((low, low + codes.n_features))
        return original(self, codes, low, n_jobs)

    with mock.patch.object(packing.Packing, "pack", go_on), small_blocks(columns=11):
        resumed = featly.JMI(memory_limit="2MB", cache=cache).fit(stored, y)
    assert sorted(again) == [(21, 22), (22, 33), (33, 44), (44, 55), (55, 60)]
    assert_same(expected, resumed)
    with mock.patch.object(packing.Packing, "pack", side_effect=AssertionError("packed again")):
        assert_same(expected, fit_streamed(featly.JMI, stored, y, cache=cache))


def test_a_damaged_journal_is_read_up_to_the_damage(tmp_path):
    X, y = table(18, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected = featly.JMI().fit(X, y)
    stop_packing_after(4, stored, y, cache)
    partial, journal = next(cache.glob("*.partial")), next(cache.glob("*.journal"))
    columns, notes = partial.read_bytes(), journal.read_bytes()
    damaged = [b"", b"\0" * 50, b"\xff\xfe\n" + notes, notes[:-1], notes[:-30], b"1\n" + notes]
    for offset in range(3, len(notes), len(notes) // 12):  # one bit is flipped
        damaged.append(notes[:offset] + bytes([notes[offset] ^ 2]) + notes[offset + 1 :])
    for wrong in damaged:
        for path in cache.iterdir():
            path.unlink()
        partial.write_bytes(columns)
        journal.write_bytes(wrong)
        assert_same(expected, fit_streamed(featly.JMI, stored, y, cache=cache))


def test_any_damage_to_a_saved_search_is_noticed(tmp_path):
    X, y = table(19, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    expected = fit_streamed(featly.MRMR, stored, y, cache=cache, max_steps=9)
    saved = next(cache.glob("*.search"))
    sound = saved.read_bytes()
    for offset in range(0, len(sound), len(sound) // 60):
        data = bytearray(sound)
        data[offset] ^= 0x41
        saved.write_bytes(data)
        assert_same(expected, fit_streamed(featly.MRMR, stored, y, cache=cache, max_steps=9))


def test_another_version_begins_anew(tmp_path):
    X, y = table(20, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fit_streamed(featly.JMI, stored, y, cache=cache)
    with mock.patch.object(packed, "__version__", "999"):
        fit_streamed(featly.JMI, stored, y, cache=cache)
    assert len(list(cache.glob("*.packed"))) == len(list(cache.glob("*.search"))) == 2


def test_other_parameters_begin_anew(tmp_path):
    X, y = table(21, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    weak = np.flatnonzero(featly.MIM().fit(X, y).ranking_ > 30).tolist()[:2]
    cases = [
        {},
        {"form": "quotient"},
        {"discretizer": featly.EqualWidth(n_bins=3)},
        {"discretizer": featly.EqualWidth(n_bins=4)},
        {"schema": {"keep": weak}},
        {"schema": {"keep": weak[::-1]}},
        {"schema": {"prior": {weak[0]: 3.0}}},
        {"schema": {"prior": {weak[0]: 4.0}}},
    ]
    for parameters in cases:
        cached = fit_streamed(featly.MRMR, stored, y, cache=cache, max_steps=9, **parameters)
        assert_same(featly.MRMR(max_steps=9, **parameters).fit(X, y), cached)
    assert len(list(cache.glob("*.search"))) == len(cases)
    assert len(list(cache.glob("*.packed"))) == 3


def test_another_file_of_the_same_name_is_packed_anew(tmp_path):
    X, y = table(22, 40, 60, "float32", missing=True)
    cache = tmp_path / "cache"
    fit_streamed(featly.JMI, on_disk(tmp_path, X), y, cache=cache)
    X[20, 30] += 7  # in the middle of the file
    assert_same(
        featly.JMI().fit(X, y), fit_streamed(featly.JMI, on_disk(tmp_path, X), y, cache=cache)
    )


# ---- folders and disks ------------------------------------------------------------------------
@pytest.fixture
def small_files():
    """Return a function that limits the length of files, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("parameters", [{"cache": "cache"}, {}])
def test_a_disk_that_is_full_in_the_middle(parameters, tmp_path, monkeypatch, small_files):
    X, y = table(23, 40, 60, "float32", missing=True)
    monkeypatch.chdir(tmp_path)
    stored = on_disk(tmp_path, X)
    for size in (4, 2000, 9000, 30_000):
        small_files(size)
        with (
            mock.patch.object(featly.problem.problem.Resources, "memory_budget", 1),
            pytest.raises(OSError, match=r"no space is left in .* free some"),
        ):
            fit_streamed(featly.JMI, stored, y, **parameters)
        gc.collect()  # nothing is written when files are closed
    small_files(resource.RLIM_INFINITY)
    assert_same(featly.JMI().fit(X, y), fit_streamed(featly.JMI, stored, y, **parameters))


def test_a_search_that_cannot_be_saved_is_finished(tmp_path, small_files):
    X, y = table(24, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    fit_streamed(featly.JMI, stored, y, cache=cache)
    next(cache.glob("*.search")).unlink()
    small_files(100)
    with pytest.warns(featly.SlowWarning, match="could not be saved: .* was not written"):
        unsaved = fit_streamed(featly.JMI, stored, y, cache=cache)
    assert_same(featly.JMI().fit(X, y), unsaved)
    assert [path.suffix for path in cache.iterdir()] == [".packed"]


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    X, y = table(25, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    original = os.open

    def refuse_to_write(path, flags, *arguments, **options):
        if flags & os.O_CREAT and str(path).startswith(str(cache)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, flags, *arguments, **options)

    expected = fit_streamed(featly.JMI, stored, y, cache=cache)
    whole = next(cache.glob("*.packed"))
    next(cache.glob("*.search")).unlink()
    monkeypatch.setattr(os, "open", refuse_to_write)
    with pytest.warns(featly.SlowWarning, match="permission denied"):  # packed columns are read
        assert_same(expected, fit_streamed(featly.JMI, stored, y, cache=cache))
    whole.unlink()
    with pytest.raises(PermissionError, match=r"cache=.* cannot be written to \(Permission denied"):
        fit_streamed(featly.JMI, stored, y, cache=cache)
    with (
        mock.patch("pathlib.Path.mkdir", side_effect=PermissionError(13, "Permission denied")),
        pytest.raises(PermissionError, match=r"cache=.* cannot be written to"),
    ):
        fit_streamed(featly.JMI, stored, y, cache=cache / "below")


def test_a_system_without_locks(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    X, y = table(26, 40, 60, "float32", missing=True)
    stored, cache = on_disk(tmp_path, X), tmp_path / "cache"
    no_locks = OSError(errno.ENOLCK, "No locks available")
    with mock.patch.object(fcntl, "flock", side_effect=no_locks):
        assert_same(featly.JMI().fit(X, y), fit_streamed(featly.JMI, stored, y, cache=cache))


def test_wrong_cache_arguments_are_errors(tmp_path):
    X, y = table(14, 40, 10, "float32", missing=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(featly.ParameterError, match="is a file"):
        featly.JMI(cache=tmp_path / "file").fit(X, y)
    with pytest.raises(featly.ParameterError, match="cache=7"):
        featly.JMI(cache=7).fit(X, y)
    with pytest.raises(featly.ParameterError, match="of no use with missing='spread'"):
        featly.JMI(cache=tmp_path, missing="spread").fit(X, y)
    with pytest.raises(featly.ParameterError, match="device='tpu'"):
        featly.JMI(device="tpu").fit(X, y)


def test_a_table_in_memory_and_one_on_disk_share_a_cache(tmp_path):
    """Without a limit, the free memory at the moment decides whether a table is held."""
    random = np.random.default_rng(5)
    X = np.asfortranarray(random.integers(0, 3, (60, 40_000)).astype(np.uint8))
    np.save(tmp_path / "X.npy", X)
    y, files = random.integers(0, 2, 60), []
    wanted = featly.MRMR(discretizer=None, max_steps=4).fit(X, y)
    for limit in ("1MB", "100MB", "1MB"):
        method = featly.MRMR(discretizer=None, max_steps=4, memory_limit=limit)
        method.set_params(cache=tmp_path / "cache").fit(featly.scan(tmp_path / "X.npy"), y)
        np.testing.assert_array_equal(method.order_, wanted.order_)
        files.append({path.name for path in (tmp_path / "cache").iterdir()})
    assert files[0] == files[1] == files[2]


KINDS = ("categorical", "ordinal")


def fit_fresh_and_cached(cache, data, X, y, method, **options):
    """Return the same fit without a cache and with one."""
    options = {"max_steps": 6, "discretizer": None} | options
    cached = method(cache=cache, **options).fit(data, y)
    return method(**options).fit(X, y), cached


def test_a_file_that_was_written_anew_is_another_table(tmp_path):
    random, y = np.random.default_rng(6), np.arange(60) % 2
    path, cache, orders = tmp_path / "X.npy", tmp_path / "cache", set()
    for number in range(3):
        X = random.integers(0, 3, (60, 300)).astype(np.uint8)
        np.save(path, np.asfortranarray(X))
        os.utime(path, (1000 + number, 1000 + number))  # some disks tell seconds only
        fresh, cached = fit_fresh_and_cached(cache, featly.scan(path), X, y, featly.JMI)
        assert_same(fresh, cached)
        orders.add(tuple(cached.order_[:6]))
    assert len(orders) == 3


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (featly.MIFS, [{"beta": 0.0}, {"beta": 5.0}]),
        (featly.MRMR, [{"form": "difference"}, {"form": "quotient"}]),
        (featly.JMI, [{}, {"schema": {"keep": [40]}}, {"schema": {"prior": {50: 9.0}}}]),
        (featly.JMI, [{"discretizer": "mdlp"}, {}, {"discretizer": "equal-width"}]),
        (featly.JMI, [{"discretizer": "mdlp", "schema": {kind: range(90)}} for kind in KINDS]),
    ],
    ids=lambda parameters: getattr(parameters, "__name__", str(parameters)[:40]),
)
def test_other_parameters_are_another_search(method, options, tmp_path):
    random, y = np.random.default_rng(7), np.arange(60) % 2
    X = random.integers(0, 3, (60, 300)).astype(np.uint8)
    X[:, :100] = np.where(random.random((60, 100)) < 0.3, y[:, None], X[:, :100])
    stored = on_disk(tmp_path, np.asfortranarray(X))
    for parameters in [*options, *options]:
        fresh, cached = fit_fresh_and_cached(tmp_path / "cache", stored, X, y, method, **parameters)
        assert_same(fresh, cached)


def test_other_targets_and_other_rows_are_another_search(tmp_path):
    """Pairs of classes that follow each other in the same way, and of equally many rows."""
    random, y = np.random.default_rng(8), np.arange(60) % 3
    X = random.integers(0, 3, (60, 300)).astype(np.uint8)
    stored = on_disk(tmp_path, np.asfortranarray(X))
    for target in (y % 2, np.roll(y % 2, 1), y):
        fresh, cached = fit_fresh_and_cached(tmp_path / "cache", stored, X, target, featly.JMI)
        assert_same(fresh, cached)
    ranker = featly.JMI(max_steps=6, discretizer=None)
    wanted = featly.PairwiseRanker(ranker).fit(X, y)
    ranker = featly.JMI(max_steps=6, discretizer=None, cache=tmp_path / "cache")
    resumed = featly.PairwiseRanker(ranker).fit(stored, y)
    np.testing.assert_array_equal(resumed.positions_, wanted.positions_)
