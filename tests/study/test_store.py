"""Fits are written to the journal in one transaction each; compacting is atomic, too."""

import json
import sqlite3

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import StudyError
from featly.study import store
from featly.study.store import (
    ALL_ROWS,
    MAX_POSITIONS,
    SCRATCH,
    Fit,
    Journal,
    Outcome,
    read_compacted,
    remove_leftovers,
)

ABOUT = {"methods": {"z": "Z()", "a": "A()"}, "null": 0, "metrics": []}


def a_fit(split=0, method="m", **more):
    outcomes = [
        Outcome("svm", 1, np.array([[3, 1], [0, 4]]), 0.25),
        Outcome("svm", 2, None, 0.5, "ValueError: no"),
    ]
    values = {"n_train": 20, "n_test": 8, "order": np.array([2, 0, 1]), "outcomes": outcomes}
    return Fit("d", method, split, **{**values, **more})


FAILED = Fit("d", "m", 1, n_train=20, n_test=8, error="KeyError: 'x'", notes=("UserWarning: hm",))


def write(folder, *fits):
    with Journal(folder) as journal:
        for fit in fits:
            journal.write(fit)


# ---- reading and writing -------------------------------------------------------------------------
def test_fits_are_read_back_unchanged(tmp_path):
    subset = a_fit(2, order=np.array([1]), subset=True, outcomes=[], notes=("a", "b"))
    write(tmp_path / "new" / "folder", a_fit(), FAILED, subset, a_fit(ALL_ROWS, null_draw=3))
    with Journal(tmp_path / "new" / "folder") as journal:
        assert journal.done() == {
            ("d", "m", 0, 0), ("d", "m", 1, 0), ("d", "m", 2, 0), ("d", "m", ALL_ROWS, 3)
        }  # fmt: skip
        rows, rankings = journal.frames()
        order, is_subset = journal.ranking(("d", "m", 2, 0))
        assert (order.tolist(), is_subset) == ([1], True)
        assert journal.ranking(("d", "m", 1, 0)) is None
        assert journal.ranking(("d", "m", 77, 0)) is None
    assert rows["split"].to_list() == [0, 0, -1, -1]
    assert rows["confusion"].to_list() == [[3, 1, 0, 4], None] * 2
    assert rows["failure"].to_list() == [None, "ValueError: no"] * 2
    assert rows["seconds"].to_list() == [0.25, 0.5] * 2
    assert rankings["order"].to_list() == [[2, 0, 1], None, [1], [2, 0, 1]]
    assert rankings["order"].dtype == pl.List(pl.UInt32)
    assert rows["confusion"].dtype == pl.List(pl.Int64)
    assert rankings["subset"].to_list() == [False, False, True, False]
    assert rankings["failure"].to_list() == [None, "KeyError: 'x'", None, None]
    assert [t and json.loads(t) for t in rankings["notes"]] == [
        None, ["UserWarning: hm"], ["a", "b"], None
    ]  # fmt: skip


def test_a_journal_without_a_fit(tmp_path):
    with Journal(tmp_path) as journal:
        rows, rankings = journal.frames()
        assert (rows.height, rankings.height, journal.about()) == (0, 0, {})
    assert rows["confusion"].dtype == pl.List(pl.Int64)


def test_frames_do_not_depend_on_the_order_of_the_fits(tmp_path):
    fits = [a_fit(k, method) for k in range(4) for method in "xyz"]
    write(tmp_path / "1", *fits)
    write(tmp_path / "2", *fits[::-1])
    frames = []
    for name in "12":
        with Journal(tmp_path / name) as journal:
            frames.append(journal.frames())
    assert frames[0][0].equals(frames[1][0])
    assert frames[0][1].equals(frames[1][1])


@given(st.lists(st.none() | st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5)))
def test_lists_of_numbers(lists):
    blobs = [None if v is None else np.array(v, "<u4").tobytes() for v in lists]
    series = store._lists("n", blobs, "<u4")
    assert series.to_list() == lists
    assert series.dtype == pl.List(pl.UInt32)


def test_long_rankings_are_cut_beyond_the_sizes(tmp_path):
    order = np.arange(MAX_POSITIONS + 10)
    far = Outcome("svm", MAX_POSITIONS + 5, None, 0.0)
    write(tmp_path, a_fit(0, order=order), a_fit(1, order=order, outcomes=[far]))
    with Journal(tmp_path) as journal:
        lengths = journal.frames()[1]["order"].list.len().to_list()
    assert lengths == [MAX_POSITIONS, MAX_POSITIONS + 5]


# ---- transactions --------------------------------------------------------------------------------
def test_an_interrupted_write_leaves_no_fit(tmp_path):
    class Broken:
        learner, size, confusion, seconds, error = "svm", 3, None, 0.0, object()

    with Journal(tmp_path) as journal:
        journal.write(a_fit(0))
        with pytest.raises(sqlite3.Error):
            journal.write(a_fit(1, outcomes=[*a_fit().outcomes, Broken()]))
        assert journal.done() == {("d", "m", 0, 0)}
        journal.write(a_fit(2))  # and the journal still works
    with Journal(tmp_path) as journal:
        rows, rankings = journal.frames()
    assert rows["split"].to_list() == [0, 0, 2, 2]
    assert rankings["split"].to_list() == [0, 2]


def test_a_folder_has_one_run_at_a_time(tmp_path):
    with Journal(tmp_path), pytest.raises(StudyError, match="another run is at work in"):
        Journal(tmp_path)
    with Journal(tmp_path):
        pass


def test_a_file_that_is_no_journal(tmp_path):
    (tmp_path / "journal.sqlite").write_text("not a database, " * 100)
    with pytest.raises(StudyError, match="is no journal of a study"):
        Journal(tmp_path)


def test_the_description_is_read_back(tmp_path):
    with Journal(tmp_path) as journal:
        journal.describe({"methods": {"z": "Z()"}, "null": 0})
    with Journal(tmp_path) as journal:
        assert journal.about() == {"methods": {"z": "Z()"}, "null": 0}
        journal.describe({"null": 2})
        assert journal.about() == {"methods": {"z": "Z()"}, "null": 2}


# ---- compacting ----------------------------------------------------------------------------------
def write_compact_study(folder, *fits):
    write(folder, *fits)
    with Journal(folder) as journal:
        journal.compact(*journal.frames(), ABOUT)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


WHOLE = ["rankings.parquet", "rows.parquet", "study.json"]


def test_a_compacted_study_can_go_on(tmp_path):
    fits = [a_fit(0), FAILED, a_fit(2, notes=("n",), subset=True)]
    write_compact_study(tmp_path, *fits)
    assert names(tmp_path) == WHOLE
    rows, rankings, about = read_compacted(tmp_path)
    assert about == ABOUT
    assert list(about["methods"]) == ["z", "a"]  # in the order of the plan
    with Journal(tmp_path) as journal:
        journal.restore(rows, rankings)
        again = journal.frames()
    assert again[0].equals(rows)
    assert again[1].equals(rankings)


def test_a_folder_without_a_study(tmp_path):
    assert read_compacted(tmp_path) is None
    assert read_compacted(tmp_path / "nowhere") is None


@pytest.mark.parametrize("step", range(9))
def test_killed_while_compacting(tmp_path, monkeypatch, step):
    """The process may die after any write, rename or move; no fit is lost."""
    write_compact_study(tmp_path, a_fit(0))
    old = read_compacted(tmp_path)
    with Journal(tmp_path) as journal:
        journal.restore(*old[:2])
        journal.write(a_fit(1))
    count = 0

    class PowerCut(BaseException):
        """Nothing catches it, and nothing cleans up after it."""

    def cut_power_later(function):
        def call(*arguments):
            nonlocal count
            count += 1
            if count > step:
                raise PowerCut
            return function(*arguments)

        return call

    with Journal(tmp_path) as journal:
        frames = journal.frames()
        monkeypatch.setattr(store, "whole_file", cut_power_later(store.whole_file))
        monkeypatch.setattr(store.os, "replace", cut_power_later(store.os.replace))
        with pytest.raises(PowerCut):
            journal.compact(*frames, {**ABOUT, "null": 9})
        monkeypatch.undo()
    stored = read_compacted(tmp_path)
    assert stored is not None  # the old one is still there
    assert stored[2]["null"] == 0
    with Journal(tmp_path) as journal:
        assert journal.done() == {("d", "m", 0, 0), ("d", "m", 1, 0)}
        journal.sweep()
        journal.compact(*journal.frames(), {**ABOUT, "null": 9})
    rows, rankings, about = read_compacted(tmp_path)
    assert (rows.height, rankings.height, about["null"]) == (4, 2, 9)
    assert names(tmp_path) == WHOLE


def test_a_full_disk_leaves_the_journal(tmp_path, monkeypatch):
    write(tmp_path, a_fit(0))

    def full(*_):
        raise OSError(28, "No space left on device")

    with Journal(tmp_path) as journal:
        frames = journal.frames()
        monkeypatch.setattr(store, "whole_file", full)
        with pytest.raises(OSError, match="No space"):
            journal.compact(*frames, ABOUT)
    assert names(tmp_path) == ["journal.sqlite"]


# ---- leftovers -----------------------------------------------------------------------------------
def test_leftovers_of_killed_runs(tmp_path):
    (tmp_path / f"{SCRATCH}abc" / "0").mkdir(parents=True)
    (tmp_path / f"{SCRATCH}abc" / "0" / "X.npy").write_text("large")
    (tmp_path / "shared-data").mkdir()  # not of a study
    with Journal(tmp_path) as journal:
        journal.sweep()
        assert names(tmp_path)[-1] == "shared-data"
        assert not any(name.startswith(SCRATCH) for name in names(tmp_path))


def test_a_journal_without_new_fits_is_removed(tmp_path):
    write_compact_study(tmp_path, a_fit(0), a_fit(1))
    rankings = read_compacted(tmp_path)[1]
    remove_leftovers(tmp_path, rankings)
    assert names(tmp_path) == WHOLE
    write(tmp_path, a_fit(0))  # as if it had been killed before the journal was removed
    remove_leftovers(tmp_path, rankings)
    assert names(tmp_path) == WHOLE
    write(tmp_path, a_fit(0), a_fit(5))
    remove_leftovers(tmp_path, rankings)
    assert "journal.sqlite" in names(tmp_path)  # split 5 is nowhere else
    with Journal(tmp_path):
        remove_leftovers(tmp_path, rankings)  # another run is at work
