"""Pipes, terminals, completion: the command line as a process of its own."""

import os
import pty
import select
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.thorough


def command(*arguments):
    return [sys.executable, "-m", "featly", *map(str, arguments)]


def test_a_reader_that_leaves_is_no_error(tmp_path):
    path = tmp_path / "wide.csv"
    rng = np.random.default_rng(0)
    frame = pl.from_numpy(rng.normal(size=(6, 20_000)).round(2))
    frame.with_columns(y=pl.int_range(6) % 2).write_csv(path)
    featly = subprocess.Popen(
        command("rank", path, "-t", "y", "-q"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert featly.stdout.readline().startswith(b"rank\tfeature")
    featly.stdout.close()
    assert featly.stderr.read() == b""
    featly.stderr.close()
    assert featly.wait(timeout=60) == 0


def run_on_terminal(arguments, seconds=90):
    """Run a command on a terminal; return its code and the text shown."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    featly = subprocess.Popen(arguments, stdin=follower, stdout=follower, stderr=follower, env=env)
    os.close(follower)
    shown, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        elif featly.poll() is not None:
            break
    os.close(leader)
    return featly.wait(timeout=10), shown.decode()


def test_a_terminal_shows_a_table_with_title_and_bar(csv, tmp_path):
    code, shown = run_on_terminal(command("rank", csv, "-t", "ill", "-m", "svm-rfe", "--top", 2))
    assert code == 0
    assert "svm-rfe for ill (no 30, yes 30)" in shown
    assert "3 more; --top 0 shows all" in shown
    assert "\t" not in shown
    assert "columns" in shown  # the bar


def test_in_a_pipe_there_is_no_bar_and_no_colour(csv):
    process = subprocess.run(
        command("rank", csv, "-t", "ill", "-m", "svm-rfe"), capture_output=True, timeout=120
    )
    assert process.returncode == 0
    assert b"\x1b" not in process.stdout + process.stderr
    assert process.stderr.count(b"\n") == 1


def test_the_first_run_says_that_it_compiles(numbers, tmp_path):
    env = f"FEATLY_CACHE_DIR={tmp_path}"
    arguments = ["env", env, *command("rank", numbers, "-t", "ill", "--top", 1)]
    assert "for this machine, which is done once" in run_on_terminal(arguments)[1]
    assert "for this machine, which is done once" not in run_on_terminal(arguments)[1]


@pytest.mark.parametrize(
    ("line", "offered"),
    [("featly rank a.csv --method sv", "svm-rfe"), ("featly rank a.csv --target il", "ill")],
)
def test_completion(csv, line, offered):
    words = line.replace("a.csv", str(csv))
    env = {**os.environ, "_FEATLY_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
    script = "from featly.cli.main import main; import sys; sys.argv = ['featly']; main()"
    process = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60
    )
    assert offered in process.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device(tmp_path, csv):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            command("rank", csv, "-t", "ill", "-q"),
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
    assert process.returncode == 2
    assert "Traceback" not in process.stderr
    assert "standard output cannot be used: No space left on device" in process.stderr


def test_other_processes_leave_nothing_behind(csv, tmp_path):
    """The work lasts longer than other processes take to start; then they end, and say nothing."""
    options = ("--target", "ill", "--methods", "mkl-rfe", "--splits", 900, "--jobs", 2, "--quiet")
    process = subprocess.run(
        command("evaluate", csv, *options), capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0
    assert process.stderr == ""
