"""Runs that are killed or stopped, and runs that continue them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import featly
from featly.problem.scan import scan
from tests.all_methods.small_blocks import on_disk, small_blocks
from tests.all_methods.test_streamed_methods import assert_same

COLUMNS, ROWS, STEPS = 600, 40, 12
SCRIPT = """
import os, sys
import numpy as np
import featly
from featly.problem.scan import scan
from tests.all_methods.small_blocks import small_blocks

folder, phase, at, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])

def progress(done, total):
    print(done, total, flush=True)
    if (total == {columns}) == (phase == "packing") and done >= at:
        os.kill(os.getpid(), number)

with small_blocks():
    method = featly.MRMR(memory_limit="1MB", cache=folder + "/cache", max_steps={steps},
                         discretizer=None, n_jobs=2, verbose=progress)
    method.fit(scan(folder + "/X.npy"), np.load(folder + "/y.npy"))
"""


def run_until_signal(folder, phase, at, number):
    """Run a process until a signal ends it; return its progress in columns and in steps."""
    script = SCRIPT.format(columns=COLUMNS, steps=STEPS)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), phase, str(at), str(int(number))],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert number != signal.SIGINT or "KeyboardInterrupt" in done.stderr, done.stderr
    reports = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return [a for a, b in reports if b == COLUMNS], [a for a, b in reports if b == STEPS]


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals of another kind")
def test_a_run_continues_a_stopped_one(tmp_path):
    rng = np.random.default_rng(5)
    y = np.arange(ROWS) % 2
    X = (rng.integers(0, 3, (ROWS, COLUMNS)) | (y[:, None] & (rng.random(COLUMNS) < 0.1))).astype(
        np.uint8
    )
    on_disk(tmp_path, np.asfortranarray(X))
    np.save(tmp_path / "y.npy", y)

    columns, steps = run_until_signal(tmp_path, "packing", 70, signal.SIGKILL)
    assert columns[0] == 7
    assert steps == []
    packed = columns[-1]
    columns, steps = run_until_signal(tmp_path, "steps", 5, signal.SIGINT)
    assert columns[0] > packed  # nothing of it is packed twice
    assert columns[-1] == COLUMNS
    assert steps == [1, 2, 3, 4, 5]

    steps = []
    method = featly.MRMR(
        memory_limit="1MB",
        cache=tmp_path / "cache",
        max_steps=STEPS,
        discretizer=None,
        verbose=lambda done, total: steps.append(done),
    )
    with small_blocks():
        method.fit(scan(tmp_path / "X.npy"), y)
    assert steps == [6, 7, 8, 9, 10, 11, 12]
    assert_same(featly.MRMR(max_steps=STEPS, discretizer=None).fit(X, y), method)
