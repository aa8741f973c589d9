"""Starting up, and reading wide mixed frames."""

import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Row, best_of
from featly.problem.ingest import read
from featly.table.frames import open_table
from featly.table.schema import Schema


def start() -> Iterator[Row]:
    for code in ("import featly", "from featly import SVMRFE", "import sklearn"):
        seconds, _ = best_of(lambda code=code: subprocess.run([sys.executable, "-c", code]), 5)
        nothing, _ = best_of(lambda: subprocess.run([sys.executable, "-c", "pass"]), 5)
        yield Row("start", code, seconds - nothing, ours=code == "import featly")


def frames() -> Iterator[Row]:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rng = np.random.default_rng(0)
    columns = {}
    for j in range(10_000):
        columns[f"gene {j}"] = rng.normal(size=300)
        columns[f"count {j}"] = rng.integers(0, 50, 300)
        columns[f"snp {j}"] = np.array(["AA", "AB", "BB"])[rng.integers(0, 3, 300)]
    pandas = pd.DataFrame(columns)
    texts = [name for name in columns if name.startswith("snp")]
    for name, frame in (
        ("polars, text", pl.DataFrame(columns)),
        ("pandas, text", pandas),
        ("pandas, category", pandas.astype(dict.fromkeys(texts, "category"))),
        ("pyarrow, text", pa.table(columns)),
    ):
        seconds, _ = best_of(lambda frame=frame: read(open_table(frame), Schema()), 3)
        yield Row("read 300 x 30,000 mixed columns", name, seconds)


CASES = {"start": start, "frames": frames}
