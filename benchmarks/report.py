"""The report, the advice, and associations of columns, against pandas."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import featly
from benchmarks.harness import Row, best_of
from featly.datasets import make_cohort
from featly.diagnostics import associations
from featly.io import write_frame

SCHEMA = """target = "outcome"
drop = ["patient"]
categorical = ["ward"]
[ordinal]
stage = ["I", "II", "III", "IV"]
grade = ["G1", "G2", "G3"]
"""


def report() -> Iterator[Row]:
    """The whole command on the table of the demo: reading, advice, 50 splits, page."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_frame(make_cohort().frame, root / "cohort.csv")
        (root / "schema.toml").write_text(SCHEMA)
        command = [sys.executable, "-m", "featly", "report", "cohort.csv", "--schema",
                   "schema.toml", "--quiet"]  # fmt: skip
        subprocess.run([*command, "--splits", "2"], cwd=folder, check=True)  # compiles
        seconds, _ = best_of(lambda: subprocess.run(command, cwd=folder, check=True), 1)
        size = (root / "report.html").stat().st_size
    problem = "featly report, the demo's 300 x 2,011, 4 methods, 50 splits"
    yield Row(problem, "featly", seconds, f"{size / 1e3:.0f} kB", ours=True)


def page() -> Iterator[Row]:
    """A page of 500 columns of 20,000, without the study."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20_000)).astype(np.float32), np.arange(300) % 2
    X[:, :500] += 0.5 * y[:, None]
    result = featly.report(X, y, methods=["f-test"], splits=2, sizes=[500], rule=500, n_shown=500)
    began = time.perf_counter()
    text = result.html()
    seconds = time.perf_counter() - began
    note = f"{len(text.encode()) / 1e6:.2f} MB, figures drawn on the way"
    yield Row("page of 500 columns, 20,000 ranked", "featly", seconds, note, ours=True)


def advice() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 5000)), np.arange(500) % 2
    X[:, :20] += 0.5 * y[:, None]
    featly.advise(X[:60, :20], y[:60])
    seconds, result = best_of(lambda: featly.advise(X, y), 3)
    yield Row("advise, 500 x 5,000", "featly", seconds, result.method, ours=True)


def column_associations() -> Iterator[Row]:
    """Spearman's correlations of 200 columns with 5,000, a hundredth of the cells missing."""
    import pandas as pd

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5000))
    X[rng.random(X.shape) < 0.01] = np.nan
    few = list(range(200))
    problem = "associations of 200 columns with 5,000, 300 rows, 1% missing"
    seconds, values = best_of(lambda: associations(X, few), 3)
    yield Row(problem, "featly", seconds, ours=True)
    frame = pd.DataFrame(X)
    ranks = frame.rank()
    began = time.perf_counter()
    theirs = np.array([ranks.corrwith(ranks[k]) for k in few[:10]])
    seconds = (time.perf_counter() - began) * len(few) / 10
    largest_difference = np.abs(np.abs(theirs) - values[:10]).max()
    note = f"from 10 columns; differ by at most {largest_difference:.0e}"
    yield Row(problem, "pandas, corrwith of ranks", seconds, note)


CASES = {
    "report": report,
    "report-page": page,
    "advise": advice,
    "associations": column_associations,
}
