"""Reading tables, and the command line from start to end."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.harness import Row, best_of
from featly import read_table


def write_csv(path: Path, n: int, p: int) -> None:
    """Numbers with five decimals, ten columns with signal, text last."""
    rng = np.random.default_rng(0)
    names = [f"g{j}" for j in range(p)]
    with path.open("wb") as out:
        for low in range(0, n, max(1, 2_000_000 // p)):
            y = np.arange(low, min(n, low + max(1, 2_000_000 // p))) % 2
            X = rng.normal(size=(len(y), p))
            X[:, :10] += 0.5 * y[:, None]
            frame = pl.from_numpy(X, schema=names).with_columns(
                outcome=pl.Series(np.where(y, "ill", "well"))
            )
            frame.write_csv(out, include_header=low == 0, float_precision=5)


def run_process(arguments: list[str]) -> tuple[float, int]:
    """Run a process; return its seconds and its peak of resident bytes (Linux)."""
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status = Path(f"/proc/{process.pid}/status")
    # not ru_maxrss: a child starts with that of its parent
    while process.poll() is None:
        try:
            match = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        except OSError:
            break
        peak = max(peak, int(match[1]) * 1024 if match else 0)
        time.sleep(0.01)
    assert process.wait() == 0, arguments
    return time.perf_counter() - began, peak


def wide() -> Iterator[Row]:
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.csv"
        write_csv(path, 100, 20_000)
        for tool, call in (
            ("featly", lambda: read_table(path, target="outcome")),
            ("polars", lambda: pl.read_csv(path)),
            ("pandas", lambda: pd.read_csv(path)),
        ):
            seconds, _ = best_of(call)
            yield Row("read a CSV, 100 x 20,000", tool, seconds, ours=tool == "featly")


def large() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder) / "large.csv", Path(folder) / "small.csv"
        write_csv(path, 100_000, 1_200)
        size = path.stat().st_size
        problem = f"a CSV of {size / 1e9:.2f} GB, 100,000 x 1,200"
        for tool, code in (
            ("featly", "import featly; featly.read_table({!r}, target='outcome')"),
            ("polars", "import polars; polars.read_csv({!r})"),
        ):
            seconds, peak = run_process([sys.executable, "-c", code.format(str(path))])
            note = f"peak memory {peak / size:.2f} times the file"
            yield Row(f"read {problem}", tool, seconds, note, ours=tool == "featly")
        seconds, peak = run_process(
            [sys.executable, "-m", "featly", "select", str(path), "--target", "outcome",
             "--method", "f-test", "--count", "20", "--output", str(small)]
        )  # fmt: skip
        note = f"peak memory {peak / size:.2f} times the file"
        yield Row(f"select 20 of {problem}", "featly select", seconds, note, ours=True)


def command() -> Iterator[Row]:
    featly = [sys.executable, "-m", "featly"]
    seconds, _ = best_of(lambda: run_process([*featly, "--help"]))
    yield Row("command line", "featly --help", seconds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_csv(path, 100, 2_000)
        for method in ("f-test", "svm-rfe"):
            cache = {"FEATLY_CACHE_DIR": str(Path(folder) / method)}
            rank = ["env", *(f"{key}={value}" for key, value in cache.items()), *featly, "rank",
                    str(path), "--target", "outcome", "--method", method]  # fmt: skip
            first, _ = run_process(rank)
            later, _ = best_of(lambda rank=rank: run_process(rank))
            problem = f"featly rank --method {method}, 100 x 2,000"
            yield Row(problem, "the first run ever, which compiles", first)
            yield Row(problem, "later runs", later)


CASES = {"wide-csv": wide, "large-csv": large, "command": command}
