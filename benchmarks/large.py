"""Tables that are larger than the memory that a method may use, read from a file by columns.

Files are made in a temporary folder by blocks and lie in the file cache when the clock starts.
Every fit has a process of its own, which reports its time and its peak memory; the plain reading of
the same file, from start to end, is timed in the same process just before. What is found is held
against the columns that were planted, and against a fit to the table in memory.

What it takes to read a file that lies in the file cache depends on where it is read to. Into a
small buffer again and again, which stays in the processor's cache, as dd does: that is the least,
and no byte reaches memory. Into memory takes some three times as long. Both are given, as the
verdict may depend on it.
"""

import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Row, best_of
from benchmarks.scale.measure import HighWater, quiet, status, trim
from benchmarks.scale.tables import CELLS, accuracy, classes_and_columns, filler

LIMIT = "512MB"
LIMIT_BYTES = 512_000_000
ROOT = Path(__file__).parents[1]
CHUNK = 1 << 22
STORED = 1 << 27  # bytes, more than a cache holds
STEPS = 50
SMALL = (60, 40)
REPEATS = 3  # of a fit that keeps nothing: reading is the best of some, too
PATIENCE = 15.0  # seconds after which a fit is not repeated
STOP = 20  # the step at which a search is stopped, to be gone on with


# ---- files ---------------------------------------------------------------------------------------
def write_table(path: Path, n: int, p: int, table: str) -> None:
    """Write a table to an npy file column by column; at most a block of it is in memory."""
    y, planted = classes_and_columns(n, p, 2, 0)
    fill = filler(y, planted, 2, table, 0)
    dtype = np.dtype(np.float32 if table == "numbers" else np.uint8)
    head = {"descr": dtype.str, "fortran_order": True, "shape": (n, p)}
    width = max(1, CELLS // n)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, head)
        block = np.empty((width, n), dtype)
        for low in range(0, p, width):
            columns = block[: min(width, p - low)]
            fill(low, columns)
            file.write(columns.data)


def read_through(path: Path, buffer: np.ndarray) -> int:
    """Read a file from start to end, by chunks, into a buffer that begins anew when it is full."""
    view, total = memoryview(buffer), 0
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(view[(low := total % len(buffer)) : low + CHUNK]):
            total += count
    return total


def reading_times(path: Path) -> tuple[float, float]:
    """Return seconds to read a file and forget it, and to read it into memory."""
    times = []
    for size in (CHUNK, STORED):
        buffer = np.ones(size, np.uint8)  # there before the clock starts
        times.append(best_of(lambda buffer=buffer: read_through(path, buffer), 5)[0])
    return times[0], times[1]


# ---- a process a fit -----------------------------------------------------------------------------
def fit_in_process(path: Path, method: str, n: int, p: int, **job: Any) -> dict[str, Any]:
    """Fit a method to a file in a process of its own; return what that reports."""
    job = {"path": str(path), "method": method, "n": n, "p": p, **job}
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.large", json.dumps(job)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folder for folder in paths if folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def work(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one method to one file, in this process."""
    from featly.problem.scan import scan
    from featly.registry import method_class

    path, in_memory = Path(job["path"]), job.get("in_memory", False)
    y, planted = classes_and_columns(job["n"], job["p"], 2, 0)
    limit = {} if in_memory else {"memory_limit": LIMIT}
    parameters = {**job.get("parameters", {}), **limit}
    kind = method_class(job["method"])
    with tempfile.TemporaryDirectory() as folder, quiet():  # compile
        small = Path(folder) / "small.npy"
        write_table(small, *SMALL, job["table"])
        labels = classes_and_columns(*SMALL, 2, 0)[0]
        brief = {"max_steps": 3} if "max_steps" in parameters else {}
        without = {key: value for key, value in parameters.items() if key != "cache"}
        kind(**{**without, **brief}).fit(np.load(small) if in_memory else scan(small), labels)
    reading_time, storing_time = (0.0, 0.0) if in_memory else reading_times(path)
    calls: list[tuple[int, int]] = []
    interrupted = False

    def count_call(done: int, total: int) -> None:
        calls.append((done, total))
        if job.get("stop") and total == STEPS and done >= job["stop"]:
            raise KeyboardInterrupt

    if job.get("watch"):
        parameters["verbose"] = count_call
    X = np.load(path) if in_memory else scan(path)
    seconds, marks, own = [], [], []
    while len(seconds) < (1 if job.get("watch") else REPEATS) and sum(seconds) < PATIENCE:
        method = kind(**parameters)
        gc.collect()
        trim()
        with HighWater() as mark, OwnMemory() as mine, quiet():
            began = time.perf_counter()
            try:
                method.fit(X, y)
            except KeyboardInterrupt:
                interrupted = True
            seconds.append(time.perf_counter() - began)
        marks.append(mark)
        own.append(mine.peak - mine.before)
    # of a later fit less: buffers of the table are there already
    mark = max(marks, key=lambda candidate: candidate.extra)
    steps = [done for done, total in calls if total == STEPS]
    return {
        "seconds": min(seconds),
        "reading": reading_time,
        "storing": storing_time,
        "peak": mark.peak,
        "before": mark.before,
        "own": max(own),
        "accuracy": accuracy(method.order_, planted),
        "order": digest(method.order_),
        "first": method.order_[:STEPS].tolist(),
        "scores": digest(method.scores_),
        "calls": len(calls),
        "first_step": steps[0] if steps else None,
        "interrupted": interrupted,
    }


class OwnMemory:
    """The most memory within a ``with`` that is the process's own, over that before it (Linux).

    Pages of a file that is mapped count as resident, too, but the system takes them back when it
    needs them. A thread looks every five milliseconds: the system keeps no mark of this.
    """

    def __enter__(self) -> "OwnMemory":
        self.before = self.peak = status("RssAnon")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.005):
            self.peak = max(self.peak, status("RssAnon"))

    def __exit__(self, *error: Any) -> None:
        self._done.set()
        self._thread.join()


def digest(values: np.ndarray) -> str:
    """Return a short name of an array's bits."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


# ---- cases ---------------------------------------------------------------------------------------
def compare_with_memory(
    path: Path, method: str, n: int, p: int, table: str, **parameters: Any
) -> Row:
    """Compare a fit under the limit with reading the file and with a fit in memory."""
    job = {"table": table, "parameters": parameters}
    streamed = fit_in_process(path, method, n, p, **job)
    whole = fit_in_process(path, method, n, p, in_memory=True, **job)
    problem = f"{n:,} x {p:,} {KINDS[table]}, from a file of {size_of(path)}, {LIMIT}"
    return Row(problem, method, streamed["seconds"], note_of(streamed, whole), ours=True)


def note_of(fit: dict[str, Any], whole: dict[str, Any] | None) -> str:
    """Describe a fit in words: reading, memory, accuracy, and the fit in memory."""
    parts = [
        f"{fit['seconds'] / fit['reading']:.3g} times reading the file ({fit['reading']:.2g} "
        f"s), {fit['seconds'] / fit['storing']:.3g} times reading it into memory "
        f"({fit['storing']:.2g} s)",
        memory_of(fit),
        f"{fit['accuracy']:.0%} of the first 20 planted",
    ]
    if whole is not None:
        parts.append(f"in memory {whole['seconds']:.3g} s, {agreement(fit, whole)}")
    return "; ".join(parts)


def memory_of(fit: dict[str, Any]) -> str:
    """Describe the peak of the process, its memory before the fit, and the fit's own.

    The limit is for what is read and held of the table. A fit that takes more than it is marked.
    """
    peak, before, own = (fit[part] / 1e6 for part in ("peak", "before", "own"))
    above = ", MORE THAN THE LIMIT" if own > LIMIT_BYTES / 1e6 else ""
    return (
        f"peak memory {peak:.0f} MB: {before:.0f} before the fit, {peak - before:.0f} for it, of "
        f"which {own:.0f} are no pages of a file{above}"
    )


def agreement(fit: dict[str, Any], other: dict[str, Any]) -> str:
    """Describe in words whether two fits agree."""
    if fit["order"] == other["order"]:
        return "the same order" + (" and scores" if fit["scores"] == other["scores"] else "")
    same = len(set(fit["first"]) & set(other["first"]))
    return f"ANOTHER ORDER, {same} of the first {len(other['first'])} in common"


def size_of(path: Path) -> str:
    """Return the size of a file in words."""
    return f"{path.stat().st_size / 1e9:.3g} GB"


KINDS = {"numbers": "float32", "levels": "bytes, three levels"}


def mrmr(n: int = 1000, p: int = 1_000_000) -> Iterator[Row]:
    """mRMR, 50 columns; the aim: under 10 s."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "levels.npy"
        write_table(path, n, p, "levels")
        yield compare_with_memory(path, "mrmr", n, p, "levels", discretizer=None, max_steps=STEPS)


def filters(n: int = 1000, p: int = 1_000_000, fewer: int = 100) -> Iterator[Row]:
    """Filters that look at a column once; the aim: within 1.5 times reading the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "levels.npy"
        write_table(path, n, p, "levels")
        for name in (
            "chi-squared", "information-gain", "gain-ratio", "symmetric-uncertainty", "mim",
        ):  # fmt: skip
            yield compare_with_memory(path, name, n, p, "levels", discretizer=None)
        path.unlink()
        path = Path(folder) / "numbers.npy"
        write_table(path, fewer, p, "numbers")
        for name in ("f-test", "signal-to-noise", "univariate-test"):
            yield compare_with_memory(path, name, fewer, p, "numbers")


def machines(n: int = 100, p: int = 1_000_000) -> Iterator[Row]:
    """SVM-RFE and l2-AROM."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers.npy"
        write_table(path, n, p, "numbers")
        for name in ("svm-rfe", "arom"):
            yield compare_with_memory(path, name, n, p, "numbers")


def five_million(n: int = 1000, p: int = 5_000_000) -> Iterator[Row]:
    """mRMR that reports its progress, is stopped, and goes on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "levels.npy"
        write_table(path, n, p, "levels")
        problem = f"{n:,} x {p:,} {KINDS['levels']}, from a file of {size_of(path)}, {LIMIT}"
        search = {"discretizer": None, "max_steps": STEPS}
        job = {"table": "levels", "watch": True}
        whole = fit_in_process(path, "mrmr", n, p, parameters=search, **job)
        note = f"{note_of(whole, None)}; progress reported {whole['calls']:,} times"
        yield Row(problem, "mrmr", whole["seconds"], note, ours=True)
        search["cache"] = str(Path(folder) / "cache")
        first = fit_in_process(path, "mrmr", n, p, parameters=search, stop=STOP, **job)
        stopped = f"stopped at step {STOP}" if first["interrupted"] else "NOT STOPPED"
        yield Row(problem, f"mrmr with a cache, {stopped}", first["seconds"], memory_of(first))
        second = fit_in_process(path, "mrmr", n, p, parameters=search, **job)
        note = f"goes on at step {second['first_step']}; {memory_of(second)}; "
        note += agreement(second, whole)
        yield Row(problem, "mrmr, called again", second["seconds"], note)


CASES = {
    "large-mrmr": mrmr,
    "large-filters": filters,
    "large-svm-rfe": machines,
    "large-five-million": five_million,
}

if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]))))
