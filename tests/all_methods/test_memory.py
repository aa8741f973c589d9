"""Memory of a fit against its memory limit.

The largest resident memory is measured, less that of the process after a fit to a small table.
Blocks that are read, copies of columns and packed columns must stay near the limit. The results
are not limited: a few numbers for each column, and a few more while they are computed.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

LIMIT = 24  # million bytes
COLUMNS, ROWS = 125_000, 250  # of four bytes: 125 million bytes
BYTES_PER_COLUMN = 250  # of results, and of arrays from which they are computed
METHODS = [
    ("f-test", {}),
    ("univariate-test", {"continuous": "kruskal-wallis"}),
    ("information-gain", {"discretizer": "pkid"}),
    ("mrmr", {"max_steps": 5}),
    ("mrmr", {"max_steps": 3, "measure": "rank"}),
    ("relieff", {"n_samples": 20}),
    ("svm-rfe", {"step": 0.5}),
    ("arom", {"C": 10.0}),
]
SCRIPT = """
import json, os, sys
import numpy as np
from featly.registry import method_class
from featly.problem.scan import scan

folder, limit, cases = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
y = np.load(folder + "/y.npy")

def memory(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024

def made(name, parameters, limit):
    return method_class(name)(memory_limit=limit, device="cpu", **parameters)

for case in cases:  # everything is loaded and compiled
    made(*case, "1MB").fit(scan(folder + "/small.npy"), y)
for case in cases:  # each in a process of its own, as memory that was freed could be used again
    sys.stdout.flush()
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        continue
    method = made(*case, limit)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the largest memory is counted from here on
    before = memory("VmRSS")
    method.fit(scan(folder + "/large.npy"), y)
    print(memory("VmHWM") - before, flush=True)
    os._exit(0)
"""


@pytest.mark.thorough
def test_fits_stay_near_their_limit(tmp_path):
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system has no /proc/self/clear_refs")
    rng = np.random.default_rng(0)
    y = np.arange(ROWS) % 2
    columns = (rng.normal(size=(5_000, ROWS)) + 0.2 * y).astype(np.float32)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "small.npy", columns[:2_000].T)
    path, shape = tmp_path / "large.npy", (ROWS, COLUMNS)
    large = np.lib.format.open_memmap(path, "w+", "f4", shape, fortran_order=True)
    for low in range(0, COLUMNS, len(columns)):
        large.T[low : low + len(columns)] = columns
    del large
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path), f"{LIMIT}MB",
         json.dumps(METHODS)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )  # fmt: skip
    path.unlink()
    assert done.returncode == 0, done.stderr
    for (name, parameters), line in zip(METHODS, done.stdout.splitlines(), strict=True):
        print(f"{name} {parameters}: {int(line) / 1e6:.0f} million bytes")
        assert int(line) < 2e6 * LIMIT + BYTES_PER_COLUMN * COLUMNS, name
