"""A whole run: jobs for processes, and a results file that is whole at any time."""

import contextlib
import datetime
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import environment
from benchmarks.scale.families import all_methods, family_of, measurement_of, sizes, why_not
from benchmarks.scale.rates import cpu_rates, cuda_rates, machine, needs_device
from benchmarks.scale.slopes import points_of
from benchmarks.scale.tables import INFORMATIVE_SHARE, PLANTED, SHIFT
from featly.registry import METHODS

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0  # seconds beyond the budget, for a table to be made and loops to be compiled
VERSION = 1
SAME = ("version", "device", "layout", "seed", "quick")  # what makes two runs one


def run(
    output: Path,
    device: str = "cpu",
    methods: list[str] | None = None,
    budget: float = 20.0,
    quick: bool = False,
    layout: str = "columns",
    seed: int = 0,
    limit: float = float("inf"),
    fresh: bool = False,
) -> dict[str, Any]:
    """Measure what is not in the file yet. Half of the budget is for columns, half for rows."""
    if device == "cuda":
        needs_device()
    began = time.monotonic()
    about = {"version": VERSION, "device": device, "layout": layout, "seed": seed, "quick": quick}
    results = open_results(output, about, budget, fresh)
    save(output, results)
    names = methods or all_methods()
    for name in names:
        known = results["methods"].setdefault(name, {"family": measurement_of(name).family})
        known["parameters"] = measurement_of(name).parameters
        reason = why_not(METHODS[name], device)
        known.pop("skipped", None)
        known.setdefault("axes", {})
        if reason is not None:
            known["skipped"] = reason
    jobs = [
        job
        for name in names
        if "skipped" not in results["methods"][name]
        for axis in ("p", "n")
        if (job := job_of(results, name, axis, budget)) is not None
    ]
    # a process a method, so that none finds the memory that another has left; on a device the
    # memory is that of its pool, and starting takes long
    while jobs:
        if time.monotonic() - began > limit:
            print(f"{len(jobs)} jobs are left: call it again", file=sys.stderr)
            break
        batch = [job for job in jobs if device == "cuda" or job["method"] == jobs[0]["method"]]
        deadline = began + limit
        done = work_through(batch, results, output, deadline)
        jobs = [job for job in jobs if (job["method"], job["axis"]) not in done]
    save(output, results)
    return results


def open_results(output: Path, about: dict[str, Any], budget: float, fresh: bool) -> dict[str, Any]:
    """Read what an earlier run has left, or begin a new one."""
    if output.exists() and not fresh:
        results = json.loads(output.read_text("utf-8"))
        differing = [part for part in SAME if results["about"].get(part) != about[part]]
        if differing:
            raise SystemExit(
                f"{output} is of a run with another {' and '.join(differing)}: name another file, "
                "or begin anew with --fresh"
            )
        results["about"]["budget"] = budget
        return results
    rates = cpu_rates if about["device"] == "cpu" else cuda_rates
    return {
        "about": {
            **about,
            "budget": budget,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": machine(about["device"]),
            "versions": environment(),
            "planted": {"columns": PLANTED, "shift": SHIFT, "told": INFORMATIVE_SHARE},
            "rates": {name: float(f"{rate:.4g}") for name, rate in rates().items()},
        },
        "methods": {},
    }


def save(output: Path, results: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    output.parent.mkdir(parents=True, exist_ok=True)
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        beside.write_text(to_json(results), encoding="utf-8")
        os.replace(beside, output)
    finally:
        with contextlib.suppress(FileNotFoundError):
            beside.unlink()


def to_json(results: dict[str, Any]) -> str:
    """Convert results to JSON with a point a line, so that two runs can be compared by diff."""
    points: list[str] = []

    def mark_points(thing: Any) -> Any:
        if isinstance(thing, dict):
            if "seconds" in thing:
                points.append(json.dumps(thing))
                return f"@{len(points) - 1}@"
            return {key: mark_points(value) for key, value in thing.items()}
        return [mark_points(value) for value in thing] if isinstance(thing, list) else thing

    text = json.dumps(mark_points(results), indent=1)
    for number, point in enumerate(points):
        text = text.replace(f'"@{number}@"', point, 1)
    return text + "\n"


def job_of(results: dict[str, Any], name: str, axis: str, budget: float) -> dict[str, Any] | None:
    """Return the job left for a method along an axis; None where it has ended.

    What ended for want of time goes on where the budget is larger now; what failed is tried again.
    """
    about, known = results["about"], results["methods"][name]["axes"]
    state = known.setdefault(axis, {"points": []})
    half = budget / 2
    if state.get("why") and not state.get("failed") and state.get("budget", 0) >= half:
        return None
    grid = sizes(family_of(name), axis, about["device"], about["quick"])
    done = points_of(results, name, axis)
    measured_sizes = {point[axis] for point in done}
    remaining = [size for size in grid if size[axis] not in measured_sizes]
    return {
        "method": name,
        "axis": axis,
        "device": about["device"],
        "layout": about["layout"],
        "seed": about["seed"],
        "points": remaining,
        "last": [[point[axis], point["seconds"]] for point in done[-2:]],
        "budget": half,
    }


def work_through(
    jobs: list[dict[str, Any]], results: dict[str, Any], output: Path, deadline: float
) -> set[tuple[str, str]]:
    """Have jobs done by one process; return those that ended, by themselves or by an error.

    A process that dies takes the job with it that it was at, and the others stay.
    """
    worker = Worker()
    done: set[tuple[str, str]] = set()
    for job in jobs:
        key, state = (job["method"], job["axis"]), results["methods"][job["method"]]["axes"]
        state = state[job["axis"]]
        if time.monotonic() > deadline:
            break
        why, failed = worker.do(
            job, lambda point, state=state: _record_point(state, point, results, output)
        )
        state["why"], state["budget"] = why, job["budget"]
        state.pop("failed", None)
        if failed:
            state["failed"] = True
        done.add(key)
        save(output, results)
        last_point = state["points"][-1] if state["points"] else None
        last = (
            f"{last_point['n']} x {last_point['p']}: {last_point['seconds']:.3g} s; "
            if last_point
            else ""
        )
        print(f"{job['method']}, {job['axis']}: {last}{why}", file=sys.stderr, flush=True)
        if worker.dead:
            break
    worker.close()
    return done


def _record_point(
    state: dict[str, Any], point: dict[str, Any], results: dict[str, Any], out: Path
) -> None:
    short = {
        key: float(f"{value:.4g}") if isinstance(value, float) else value
        for key, value in point.items()
    }
    state["points"].append(short)
    save(out, results)


class Worker:
    """A process that does jobs, one after the other."""

    def __init__(self) -> None:
        paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scale", "work"],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.dead = False

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def do(self, job: dict[str, Any], record: Any) -> tuple[str, bool]:
        """Have a job done; return why it ended, and whether by a failure."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        except OSError:
            self.dead = True
            return "the process had ended", True
        patience = 2 * job["budget"] + PATIENCE
        while True:
            try:
                line = self._lines.get(timeout=patience)
            except queue.Empty:
                self.dead = True
                return f"a point took longer than {patience:.0f} s", True
            if line is None:
                self.dead = True
                return f"the process ended with code {self._process.wait()}", True
            if not line.startswith("{"):  # a library that prints
                continue
            message = json.loads(line)
            if message["kind"] == "point":
                record(message["point"])
            elif message["kind"] == "end":
                return message["why"], bool(message.get("failed"))

    def close(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=0.1 if self.dead else 30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
