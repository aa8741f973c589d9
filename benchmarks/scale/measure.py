"""Points of a grid, measured in a process of their own: what goes in and comes out is JSON.

One job a line comes in, ``{"method", "axis", "device", "points", "budget", "last", ...}``; one
line a point goes out, and one at the end of a job with the reason why it ended.
"""

import ctypes
import gc
import json
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from benchmarks.scale.families import family_of, measurement_of
from benchmarks.scale.slopes import predict_seconds
from benchmarks.scale.tables import accuracy, make_table, make_table_on_device
from featly.registry import method_class

REPEATS = 3
SHARE = 0.1  # of the budget: what takes longer than this is not repeated
ODD = 4  # times what was expected
SMALL = {"n": 60, "p": 40}  # the table of the fit that compiles


def work(lines: Any = None, out: Any = None) -> None:
    """Do jobs from standard input until it ends."""
    lines, out = lines or sys.stdin, out or sys.stdout

    def report(kind: str, job: dict[str, Any], **details: Any) -> None:
        line = {"kind": kind, "method": job["method"], "axis": job["axis"], **details}
        print(json.dumps(line), file=out, flush=True)

    for line in lines:
        job = json.loads(line)
        report("begin", job)
        try:
            why = None
            for point in measure(job):
                if isinstance(point, str):
                    why = point
                else:
                    report("point", job, point=point)
            report("end", job, why=why or "the grid ended")
        except Exception as error:
            message = (str(error).strip() or type(error).__name__).splitlines()[0]
            report("end", job, why=f"{type(error).__name__}: {message}", failed=True)
            clear(job["device"])


def measure(job: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    """Yield every point that the budget allows; a text is why it ended before the grid did."""
    name, device, axis = job["method"], job["device"], job["axis"]
    if not job["points"]:
        return
    family, spent = family_of(name), 0.0
    make = make_table if device == "cpu" else make_table_on_device
    options = {"layout": job["layout"], "seed": job["seed"]}
    before = list(job.get("last", ()))  # [size, seconds] of points that an earlier run has measured
    small_table = make(SMALL["n"], SMALL["p"], family.table, family.n_classes, **options)
    with quiet():
        estimator(name, device).fit(*small_table[:2])
    for size in job["points"]:
        expected = predict_seconds(before, size[axis])
        if expected is not None and spent + expected > job["budget"]:
            yield f"the next point would take about {expected:.2g} s"
            return
        clear(device)
        X, y, planted = make(size["n"], size["p"], family.table, family.n_classes, **options)
        point = {**size, **measure_point(name, device, X, y, planted, job["budget"], expected)}
        spent += point["seconds"] * point["runs"]
        before.append([size[axis], point["seconds"]])
        del X
        yield point


def measure_point(
    name: str,
    device: str,
    X: Any,
    y: np.ndarray,
    planted: np.ndarray,
    budget: float,
    expected: float | None,
) -> dict[str, Any]:
    """Measure time, memory over the table, and accuracy at a point."""
    seconds: list[float] = []
    memory: list[int] = []
    for repeat in range(REPEATS):
        # a size may be the first that another kernel is compiled for
        compiled = repeat == 1 and (expected is None or seconds[0] > ODD * expected)
        if repeat and sum(seconds) > SHARE * budget and not compiled:
            break
        method = estimator(name, device)
        with quiet():
            elapsed, extra = measure_call(device, lambda: method.fit(X, y), first=repeat == 0)  # noqa: B023
        seconds.append(elapsed)
        memory += [] if extra is None else [extra]
    # the first run at a size may compile, and takes memory for that
    return {
        "seconds": min(seconds),
        "runs": len(seconds),
        "memory": min(memory),
        "table": int(X.nbytes),
        "accuracy": accuracy(method.order_, planted),
        "chosen": int(min(len(method.order_), X.shape[1])),
    }


def estimator(name: str, device: str) -> Any:
    """Return the method as it is measured."""
    method = method_class(name)(**measurement_of(name).parameters)
    if "device" in method.get_params(deep=False):  # others take that of the method inside them
        method.set_params(device=device)
    return method


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings: a machine that does not converge at some size is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---- memory --------------------------------------------------------------------------------------
def measure_call(device: str, call: Callable[[], Any], first: bool) -> tuple[float, int | None]:
    """Return seconds of a call, and bytes that it took at most over what was taken before.

    On a device those that CuPy's pool holds after the first call at a size, which began with an
    empty one; what the pool has is not given back in between.
    """
    if device == "cuda":
        import cupy

        pool = cupy.get_default_memory_pool()
        if first:
            gc.collect()
            pool.free_all_blocks()
        before = pool.total_bytes()
        cupy.cuda.runtime.deviceSynchronize()
        began = time.perf_counter()
        call()
        cupy.cuda.runtime.deviceSynchronize()
        seconds = time.perf_counter() - began
        return seconds, max(0, pool.total_bytes() - before) if first else None
    gc.collect()
    trim()
    with HighWater() as mark:
        began = time.perf_counter()
        call()
        seconds = time.perf_counter() - began
    return seconds, mark.extra


class HighWater:
    """The most resident memory within a ``with``, over that before it (Linux).

    The kernel keeps the mark, if it may be set back; else a thread looks every two milliseconds.
    """

    def __enter__(self) -> "HighWater":
        self.before, self.peak, self._thread = status("VmRSS"), 0, None
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            self._done = threading.Event()
            self._thread = threading.Thread(target=self._watch)
            self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._done.wait(0.002):
            self.peak = max(self.peak, status("VmRSS"))

    def __exit__(self, *error: Any) -> None:
        if self._thread is None:
            self.peak = status("VmHWM")
        else:
            self._done.set()
            self._thread.join()

    @property
    def extra(self) -> int:
        """Bytes over those before."""
        return max(0, self.peak - self.before)


def status(field: str) -> int:
    """Return a size of this process, in bytes."""
    with open("/proc/self/status") as file:
        match = re.search(rf"{field}:\s+(\d+) kB", file.read())
    return int(match[1]) * 1024 if match else 0


def trim() -> None:
    """Give free memory of the C library back, so that it does not hide what a call takes."""
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def clear(device: str) -> None:
    """Give back what the last point has left."""
    gc.collect()
    if device == "cuda":
        try:
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()
        except Exception:  # the next job shows it
            return
    else:
        trim()
