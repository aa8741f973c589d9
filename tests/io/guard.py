"""A guarded reader of mutants.

Batches are read in a process of their own, which writes down the mutant at hand first: a crash or
a hang then names what reproduces it.

    python -m tests.io.guard read SEED         what one mutant does, with a traceback
    python -m tests.io.guard fuzz COUNT [BASE]
"""

import contextlib
import dataclasses
import faulthandler
import io
import json
import os
import resource
import subprocess
import sys
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from tests.io.mutants import Mutant, mutant, sources

__all__ = ["Report", "fuzz"]

ROOT = Path(__file__).parents[2]
SLOWEST = 20.0  # seconds that one mutant may take
MEMORY = 1_500  # MB that reading one may add to what the process has
ADDRESSES = (
    12_000  # MB of addresses that it may add: beyond, memory is refused as on a full machine
)
LONGEST_MESSAGE = 500


# ---- one mutant ----------------------------------------------------------------------------------
def _check_table(table: Any) -> str | None:
    """Return what is wrong with a table that was read; None if it is sound."""
    import numpy as np
    import polars as pl
    import scipy.sparse

    X, y = table.X, table.y
    rows, columns = table.shape
    if rows < 1 or columns < 1:
        return f"a table of {rows} x {columns}"
    names = list(table.names)
    if len(names) != columns or not all(isinstance(name, str) for name in names):
        return f"{len(names)} names for {columns} columns"
    if isinstance(X, pl.DataFrame):
        if X.columns != names:
            return "names that are not those of the frame"
        X.null_count()
        X.head(5).rows()
        np.isnan(X[:, :1000].select(pl.selectors.numeric()).to_numpy()).any()
        X.tail(1).write_csv(io.StringIO())
    elif scipy.sparse.issparse(X):
        X.check_format(full_check=True)
        X.sum()
    else:
        if not isinstance(X, np.ndarray) or X.dtype.kind != "f":
            return f"an X that is {type(X).__name__}"
        np.isnan(X).any()
    if y is not None and (not isinstance(y, np.ndarray) or y.shape != (rows,)):
        return f"a y of shape {getattr(y, 'shape', None)} for {rows} rows"
    if (y is None) != (table.target is None):
        return "a target without a name, or a name without one"
    if any("\n" in note for note in table.notes) or len("; ".join(table.notes)) > 1000:
        return "notes that are too long"
    return None


def _check_message(problem: BaseException, path: Path) -> str | None:
    message = str(problem)
    if len(message.splitlines()) != 1:
        return "more than one line"
    if len(message) - len(str(path)) > LONGEST_MESSAGE:
        return f"{len(message)} characters"
    if repr(str(path)) not in message:
        return "the file is not named"
    return None


def read_one(case: Mutant, folder: Path) -> str | None:
    """Read a mutant as a user would; return what is wrong in words, or None."""
    from featly.basics.errors import DataError
    from featly.io import read_table

    path = folder / case.name
    path.write_bytes(case.data)
    allowed = (DataError, OSError)
    table = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                table = read_table(path, **case.options)
            except allowed as problem:
                wrong = _check_message(problem, path)
                if wrong:
                    return f"message: {wrong}: {str(problem)[:700]!r}"
        if caught:
            return f"warning {caught[0].category.__name__}: {str(caught[0].message)[:200]}"
        if table is not None:
            wrong = _check_table(table)
            if wrong:
                return wrong
            if case.seed % 5 == 0:
                saved = folder / ("saved.csv" if case.seed % 2 else "saved.parquet")
                try:
                    table.save_columns(list(table.names)[:3], saved)
                except allowed as problem:
                    wrong = len(str(problem).splitlines()) != 1
                    return f"message: {str(problem)[:500]!r}" if wrong else None
    except BaseException as problem:  # a panic of Rust is no Exception
        where = traceback.format_exc().strip().splitlines()[-7:]
        return f"{type(problem).__name__}: {str(problem)[:300]} | {' | '.join(where)[-900:]}"
    finally:
        if table is not None:
            table.close()
        path.unlink()
    return None


def rank_one(case: Mutant, folder: Path) -> str | None:
    """Rank a mutant by the command line, in this process; return what is wrong, or None."""
    from featly.cli.main import main

    path = folder / case.name
    path.write_bytes(case.data)
    words = ["featly", "rank", str(path), "--jobs", "1", "--fill"]
    options = {"target": "-1", **case.options}
    for key in ("target", "format", "encoding", "separator"):
        if key in options:
            words += [f"--{key}", str(options[key])]
    if "header" in options:
        words.append("--header" if options["header"] else "--no-header")
    before, sys.argv = sys.argv, words
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code: Any = "none"
    except SystemExit as end:
        code = end.code
    except BaseException as problem:
        return f"{type(problem).__name__}: {str(problem)[:300]}"
    finally:
        sys.argv = before
        path.unlink()
    error_text = err.buffer.getvalue().decode()  # type: ignore[attr-defined]
    if code not in (0, 2) or "Traceback" in error_text:
        return f"exit code {code}: {error_text[-600:]!r}"
    return None


# ---- a process that reads many -------------------------------------------------------------------
def _status(key: str) -> float:
    """Return a figure of this process in MB: VmHWM, VmSize."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def _peak() -> float:
    """Return the most memory since the last call of _forget_peak, in MB."""
    if os.path.exists("/proc/self/clear_refs"):
        return _status("VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def worker(kind: str, first: int, stop: int, step: int, folder: Path) -> None:
    """Read mutants and write what went wrong, one JSON line each, into the folder."""
    files = sources(os.environ.get("FEATLY_DATA"))
    import featly.io.read  # noqa: F401 (what is imported is no memory of a reader's)

    check = rank_one if kind == "rank" else read_one
    for source in ("comma.csv", "mixed.parquet", "dense.mat", "sparse.arff"):
        check(Mutant(0, source, source, [], files[source], {}), folder)  # imports and compiles
    if os.path.exists("/proc/self/status"):
        most = int(_status("VmSize") + ADDRESSES) << 20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    words = os.environ.get("FEATLY_FUZZ_TRIAL", "").split(",")  # to try the guard itself
    trial = dict(word.split(":") for word in words if word)
    now, log = folder / "now", (folder / "failures").open("a")
    for seed in range(first, stop, step):
        case = mutant(files, seed)
        now.write_text(json.dumps([seed, case.label]))
        _forget_peak()
        base = _status("VmRSS")
        began = time.perf_counter()
        faulthandler.dump_traceback_later(SLOWEST if not trial else 5, exit=True)
        if str(seed) == trial.get("crash"):
            os.abort()
        if str(seed) == trial.get("hang"):
            time.sleep(100)
        wrong = check(case, folder)
        faulthandler.cancel_dump_traceback_later()
        took, memory = time.perf_counter() - began, _peak() - base
        if wrong is None and memory > MEMORY:
            wrong = f"{memory:.0f} MB of memory"
        row = {"seed": seed, "wrong": wrong, "label": case.label, "took": took, "memory": memory}
        log.write(json.dumps(row) + "\n")
        log.flush()


@dataclasses.dataclass
class Report:
    """Results of reading many mutants.

    Attributes
    ----------
    count : int
        Mutants that were read.
    failures : list of str
    seconds, slowest, memory : float
        In all, of the slowest mutant, and MB of the one that took most.
    """

    count: int = 0
    failures: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_label: str = ""
    memory: float = 0.0
    memory_label: str = ""

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Add what a process wrote."""
        for row in rows:
            self.count += 1
            if row["wrong"]:
                self.failures.append(f"{row['label']}: {row['wrong']}")
            if row["took"] > self.slowest:
                self.slowest, self.slowest_label = row["took"], row["label"]
            if row["memory"] > self.memory:
                self.memory, self.memory_label = row["memory"], row["label"]


def fuzz(
    folder: Path, count: int, *, base: int = 0, processes: int = 1, kind: str = "read"
) -> Report:
    """Read `count` mutants in processes of their own; a crash or a hang is a failure, too."""
    report, lock = Report(), threading.Lock()
    began = time.perf_counter()

    def lane(k: int) -> None:
        first, crashes = base + k, 0
        lane_folder = folder / f"lane{k}"
        lane_folder.mkdir()
        while first < base + count and crashes < 50:
            done, last_words = _run(kind, first, base + count, processes, lane_folder)
            log = lane_folder / "failures"
            rows = [json.loads(line) for line in log.read_text().splitlines()]
            log.unlink()
            with lock:
                report.add(rows)
            if done == 0:
                return
            crashes += 1
            seed, label = json.loads((lane_folder / "now").read_text())
            with lock:
                report.count += 1
                report.failures.append(f"{label}: the process ended with {done}: {last_words}")
            first = seed + processes

    lanes = [threading.Thread(target=lane, args=(k,)) for k in range(processes)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    report.seconds = time.perf_counter() - began
    return report


def _run(kind: str, first: int, stop: int, step: int, folder: Path) -> tuple[int, str]:
    """Run a worker to its end; return its exit code, and its last words should it not be 0."""
    (folder / "now").write_text(json.dumps([first, f"seed {first}: before the first mutant"]))
    (folder / "failures").touch()
    words = [sys.executable, "-X", "faulthandler", "-m", "tests.io.guard"]
    words += ["worker", kind, str(first), str(stop), str(step), str(folder)]
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    env = {**os.environ, **threads, "POLARS_MAX_THREADS": "1"}
    with (folder / "stderr").open("w+", errors="replace") as err:
        process = subprocess.Popen(words, cwd=ROOT, env=env, stdout=err, stderr=err)
        # the watch inside cannot help where the process does not run at all
        seen, since = "", time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            current = (folder / "now").read_text()
            if current != seen:
                seen, since = current, time.monotonic()
            if time.monotonic() - since > 4 * SLOWEST:
                process.kill()
        code = process.wait()
        err.seek(0)
        words_left = err.read()
    return code, words_left[-1500:] if code else ""


def main() -> None:
    """Run a command of those at the top of this file, for developers."""
    import tempfile

    match sys.argv[1:]:
        case ["worker", kind, first, stop, step, path]:
            worker(kind, int(first), int(stop), int(step), Path(path))
        case ["read" | "rank" as kind, seed]:
            case = mutant(sources(os.environ.get("FEATLY_DATA")), int(seed))
            print(case.label, len(case.data), "bytes", case.data[:200])
            folder = Path(tempfile.mkdtemp())
            (folder / f"kept-{case.name}").write_bytes(case.data)
            began = time.perf_counter()
            check = rank_one if kind == "rank" else read_one
            print(check(case, folder) or "sound", "in", folder)
            print(f"{time.perf_counter() - began:.2f} s, {_peak():.0f} MB in all")
        case ["fuzz" | "rankfuzz" as kind, count, *base]:
            folder = Path(tempfile.mkdtemp())
            report = fuzz(folder, int(count), base=int(base[0]) if base else 0, processes=2,
                          kind="rank" if kind == "rankfuzz" else "read")  # fmt: skip
            print("\n".join(report.failures))
            print(f"{report.count} mutants, {len(report.failures)} failures, "
                  f"{report.seconds:.0f} s\n"
                  f"slowest {report.slowest:.1f} s: {report.slowest_label}\n"
                  f"most memory {report.memory:.0f} MB: {report.memory_label}")  # fmt: skip
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
