"""Timing, memory and tables, shared by all benchmarks."""

import gc
import os
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

PACKAGES = ("featly", "numpy", "scipy", "scikit-learn", "numba", "polars", "pandas", "pyarrow")


@dataclass
class Row:
    """One measured thing."""

    problem: str
    tool: str
    seconds: float
    note: str = ""
    ours: bool = False


def best_of(call: Callable[[], Any], repeats: int = 5, budget: float = 20.0) -> tuple[float, Any]:
    """Return the shortest time of some calls, and what the last one returned."""
    times, result, spent = [], None, 0.0
    for _ in range(repeats):
        gc.collect()
        began = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - began)
        spent += times[-1]
        if spent > budget:
            break
    return min(times), result


def peak_over(call: Callable[[], Any]) -> tuple[float, int, Any]:
    """Return seconds, bytes of memory above those before a call, and its result (Linux)."""
    page = os.sysconf("SC_PAGE_SIZE")

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * page

    gc.collect()
    before, peak, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    began = time.perf_counter()
    try:
        result = call()
    finally:
        seconds = time.perf_counter() - began
        done.set()
        thread.join()
    return seconds, max(0, peak - before), result


def two_classes(n: int, p: int, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, np.ndarray]:
    """Normal columns, 20 of them shifted by 0.6 between two classes, all standardised."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % 2)
    X = rng.standard_normal((n, p), dtype=np.float32 if dtype == np.float32 else np.float64)
    X[:, :20] += (0.6 * y[:, None]).astype(X.dtype)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, y


def environment() -> dict[str, str]:
    """Return versions and number of cores, for the record."""
    versions = {"python": platform.python_version(), "cores": str(len(os.sched_getaffinity(0)))}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def as_markdown(rows: list[Row]) -> str:
    """Convert rows to a table; the ratio is a peer's time over featly's on the same problem."""
    lines = ["| problem | tool | seconds | times featly's | note |", "|---|---|---|---|---|"]
    for row in rows:
        ours = next((r for r in rows if r.problem == row.problem and r.ours), None)
        ratio = "" if ours is None or row.ours else f"{row.seconds / ours.seconds:.1f}"
        lines.append(f"| {row.problem} | {row.tool} | {row.seconds:.3g} | {ratio} | {row.note} |")
    return "\n".join(lines)


def as_json(rows: list[Row]) -> dict[str, Any]:
    """Convert rows to a JSON document, with the environment."""
    return {"environment": environment(), "rows": [asdict(row) for row in rows]}
