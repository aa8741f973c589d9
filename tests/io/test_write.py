import errno
import gzip
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

from featly import DataError
from featly.basics.atomic_file import check_writable
from featly.io import whole_file, write_frame
from featly.io import write as writing
from featly.io.schema_files import read_ranking
from featly.io.write import check_ending, separator_for

FRAME = pl.DataFrame({"feature": ["age", 'a "b", c'], "score": [1.5, None], "rank": [1, 2]})


def is_only_old(path, content=b"old"):
    """Return whether the old file is unchanged, and the only one in its folder."""
    return path.read_bytes() == content and [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "old.csv"
    path.write_bytes(b"old")
    return path


# ---- whole or not at all -------------------------------------------------------------------------
@pytest.mark.parametrize(
    "problem", [ValueError("no"), KeyboardInterrupt(), SystemExit(1), MemoryError()]
)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_an_error_leaves_the_old_file(old, problem, ending):
    path = old.with_suffix(ending)
    old.rename(path)

    def write_and_fail():
        with whole_file(path) as out:
            out.write(b"new" * 100_000)
            out.flush()
            raise problem

    with pytest.raises(type(problem)):
        write_and_fail()
    assert is_only_old(path)


def test_the_old_file_stays_until_all_is_written(old):
    with whole_file(old) as out:
        out.write(b"new")
        out.flush()
        assert old.read_bytes() == b"old"
    assert is_only_old(old, b"new")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("where", ["fsync", "replace", "fchmod"])
def test_a_full_disk(old, monkeypatch, code, where):
    def full(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writing.os, "chmod" if where == "fchmod" else where, full)
    with pytest.raises(OSError, match=r"^'.*old.csv' was not written: ") as caught:
        write_frame(FRAME, old)
    assert "\n" not in str(caught.value)
    if code == errno.ENOSPC:
        assert str(caught.value).endswith("the disk is full. Make room, or write elsewhere")
    assert is_only_old(old)


def test_a_file_larger_than_allowed(tmp_path):
    names = ["old.csv", "old.csv.gz", "old.parquet", "old.json"]
    for name in names:
        (tmp_path / name).write_bytes(b"old")
    script = f"""
        import random, resource, signal
        import polars as pl
        from featly.io import write_frame
        frame = pl.DataFrame({{"a": [random.random() for _ in range(50_000)]}})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        for name in {names}:
            try:
                write_frame(frame, {str(tmp_path)!r} + "/" + name)
            except OSError as problem:
                print(problem)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    reason = "the file would be larger than allowed here. Write elsewhere"
    expected = [f"{str(tmp_path / name)!r} was not written: {reason}" for name in names]
    assert done.stdout.splitlines() == expected, done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(
        names, b"old"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("height", [1, 100_000])
def test_a_full_device(height, tmp_path):
    device = tmp_path / "full.csv"
    device.symlink_to("/dev/full")
    frame = pl.DataFrame({"a": range(height)})
    with pytest.raises(
        OSError, match=r"^'.*full.csv' was not written: the disk is full\. Make room, or"
    ):
        write_frame(frame, device)
    assert device.is_symlink()


def test_pipes_are_written_to(tmp_path):
    code = (
        "import polars as pl; from featly.io import write_frame; "
        "from featly.basics.atomic_file import "
        "check_writable; check_writable('/dev/stdout'); "
        "write_frame(pl.DataFrame({'a': [1]}), '-'); "
        "d = '/dev/stdout'; from featly.io import whole_file\n"
        "with whole_file(d) as out: out.write(b'more')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.stdout == b"a\n1\nmore", done.stderr


# ---- rights, links, folders ----------------------------------------------------------------------
def test_links_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to("target.csv")
    write_frame(FRAME, link)
    assert link.is_symlink()
    assert target.read_bytes().startswith(b"feature,")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_of_a_new_file(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_frame(FRAME, tmp_path / "new.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o666 & ~mask


def test_drafts_of_other_processes(tmp_path):
    with whole_file(tmp_path / "a.csv") as first:
        first.write(b"first")
        with whole_file(tmp_path / "a.csv") as second:
            second.write(b"second")
    assert is_only_old(tmp_path / "a.csv", b"first")


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 251 + ".csv")
    write_frame(FRAME, path)
    assert path.exists()
    longer = tmp_path / ("n" * 252 + ".csv")
    with pytest.raises(OSError, match=r"was not written: the name is too long$"):
        write_frame(FRAME, longer)


@pytest.mark.parametrize("write", [lambda path: write_frame(FRAME, path), check_writable])
def test_unwritable_paths(tmp_path, write, monkeypatch):
    folder = tmp_path / "a.csv"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match=r"^'.*a.csv' is a directory: name a file in it$"):
        write(folder)
    missing = tmp_path / "none" / "b.csv"
    with pytest.raises(FileNotFoundError) as caught:
        write(missing)
    reason = f"there is no folder {str(missing.parent)!r}. Make it first"
    assert str(caught.value) == f"{str(missing)!r} was not written: {reason}"
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"^'.*b.csv' was not written: "):
        write(tmp_path / "file" / "b.csv")
    path = tmp_path / "mine.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr(writing.os, "access", lambda *_: False)
    with pytest.raises(PermissionError) as caught:
        write(path)
    reason = "permission denied. Write to a folder of yours"
    assert str(caught.value) == f"{str(path)!r} was not written: {reason}"
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="permission denied"):
            write_frame(FRAME, tmp_path / "a.csv")
        with pytest.raises(PermissionError, match="permission denied"):
            check_writable(tmp_path / "a.csv")
    finally:
        tmp_path.chmod(0o700)


def test_writable_paths(tmp_path):
    check_writable("-")
    check_writable(tmp_path / "new.csv")
    (tmp_path / "old.csv").write_bytes(b"")
    check_writable(tmp_path / "old.csv")


# ---- formats -------------------------------------------------------------------------------------
READ = {
    "a.csv": pl.read_csv,
    "a.CSV": pl.read_csv,
    "a.tsv": lambda path: pl.read_csv(path, separator="\t"),
    "a.txt": lambda path: pl.read_csv(path, separator="\t"),
    "a.csv.gz": pl.read_csv,
    "a.v2.json": pl.read_json,
    "a.parquet": pl.read_parquet,
    "a.pq": pl.read_parquet,
}


@pytest.mark.parametrize("name", READ)
def test_written_files_can_be_read(tmp_path, name):
    write_frame(FRAME, tmp_path / name)
    assert READ[name](tmp_path / name).equals(FRAME)


def test_compressed_files_are_equal_byte_by_byte(tmp_path):
    write_frame(FRAME, tmp_path / "a.csv.gz")
    os.utime(tmp_path / "a.csv.gz", (0, 0))
    write_frame(FRAME, tmp_path / "b.csv.gz")
    a, b = ((tmp_path / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert a == b
    assert gzip.decompress(a).startswith(b"feature,score,rank\n")


def test_endings():
    assert separator_for("a.csv") == ","
    assert separator_for("-") == ","
    assert separator_for("a.tsv.gz") == "\t"
    assert separator_for("a.parquet") is None
    for name in ("a.xlsx", "a", "a.gz", ".csv"):
        with pytest.raises(DataError) as caught:
            check_ending(name)
        advice = "give it one of .csv, .tsv, .parquet, .arrow, .json"
        assert str(caught.value) == f"{name!r}: the ending says how to write the file; {advice}"
    with pytest.raises(DataError, match=r"one of .csv, .tsv, .parquet, .arrow$"):
        check_ending("a.xml", json=False)


def test_an_unknown_ending_writes_nothing(tmp_path):
    with pytest.raises(DataError, match="the ending says how to write the file"):
        write_frame(FRAME, tmp_path / "a.xlsx")
    assert not list(tmp_path.iterdir())


# ---- formulas ------------------------------------------------------------------------------------
NAMES = ["=cmd()", "+1+1", "-1", "-x", "@SUM(A1)", "\t=1", "'=x", "''-y", "age", "-1e3", "a=b", "'"]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_no_spreadsheet_runs_a_name(tmp_path, ending):
    path = tmp_path / f"ranking{ending}"
    frame = pl.DataFrame({"feature": NAMES, "rank": range(1, len(NAMES) + 1), "=1+1": NAMES})
    write_frame(frame, path, inert=True)
    separator = separator_for(path)
    cells = pl.read_csv(path, separator=separator, infer_schema=False)
    assert cells.columns == ["feature", "rank", "'=1+1"]
    for cell in [*cells.columns, *cells["feature"]]:
        assert not cell.startswith(("=", "+", "@", "\t", "\r"))
        assert not cell.startswith("-") or cell in ("-1", "-1e3")
    assert read_ranking(path)["feature"].to_list() == NAMES


def test_tables_of_users_are_written_unchanged(tmp_path):
    path = tmp_path / "table.csv"
    write_frame(pl.DataFrame({"=a": ["=1"]}), path)
    assert path.read_text() == "=a\n=1\n"
    write_frame(pl.DataFrame({"=a": ["=1"]}), tmp_path / "table.parquet", inert=True)
    assert pl.read_parquet(tmp_path / "table.parquet").rows() == [("=1",)]
