"""Aims for a GPU and what it reaches: ``python -m benchmarks.gpu [--output FILE]``.

mRMR, JMI and CMIM on five million columns of three levels, the ten nearest of a million columns,
ReliefF on 10,000 x 100,000. Tables are made on the device before the clock starts. Each figure
stands beside its aim, and beside the fraction of a rate that was measured on the same device in
the same run. The time of the public method is given as well, and whether a smaller table gives the
result of the CPU. A part that fails is reported, and the others go on.

With ``--small`` the tables are small: to see that it runs. What is measured in more detail is in
``gpu_greedy.py``, ``gpu_pairs.py`` and ``gpu_relief.py``.
"""

import argparse
import datetime
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import environment
from benchmarks.scale.rates import cuda_rates, machine, needs_device

STEPS = 50
NEIGHBOURS = 10
REPEATS = 3
COMPARED = 20_000  # columns of a greedy search that the CPU does, too
AIMS = {"mrmr": 0.15, "jmi": 0.5, "cmim": 0.5, "pairs": 3.0, "relieff": 5.0}  # seconds
SIZES = {  # rows, columns: in full, and small
    "greedy": ((1000, 5_000_000), (200, 20_000)),
    "pairs": ((1000, 1_000_000), (200, 20_000)),
    "relief": ((10_000, 100_000), (300, 1000)),
}


@dataclass
class Figure:
    """One measured thing.

    Attributes
    ----------
    figure : str
    asked : float or None
        The aim in seconds.
    seconds : float or None
        None where it failed; the note then says how.
    fraction : float or None
        Of the peak.
    peak : str
        What the fraction is of.
    note : str
    """

    figure: str
    asked: float | None
    seconds: float | None
    fraction: float | None = None
    peak: str = ""
    note: str = ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--output", type=Path, help="also write the figures to this file, as JSON")
    parser.add_argument("--small", action="store_true", help="small tables: to see that it runs")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="some parts")
    arguments = parser.parse_args()
    needs_device()
    began = time.monotonic()
    small = arguments.small
    rates = cuda_rates(*((1 << 24, 512) if small else ()))
    print("  ".join(f"{name} {rate:.3g}/s" for name, rate in rates.items()), flush=True)
    free()
    figures: list[Figure] = []
    for name in arguments.only or PARTS:
        try:
            for figure in PARTS[name](rates, small):
                figures.append(figure)
                print(line(figure), flush=True)
        except Exception as error:
            traceback.print_exc()
            figures.append(Figure(name, None, None, note=describe_error(error)))
        free()
        if arguments.output:
            write(arguments.output, figures, rates, small)
    print(f"\n{as_table(figures)}\n\n{time.monotonic() - began:.0f} s in all")
    if any(figure.seconds is None for figure in figures):
        sys.exit(1)


# ---- parts ---------------------------------------------------------------------------------------
def greedy(rates: dict[str, float], small: bool) -> Iterator[Figure]:
    """Measure mRMR, JMI and CMIM, by the search on the device and by the public method."""
    from benchmarks.gpu_greedy import METHODS, make_table
    from featly.core.counts.codes_cuda import CudaCodes
    from featly.core.greedy import search_cuda as on_device

    n, p = SIZES["greedy"][small]
    X, y = make_table(n, p)
    few = X[:, : min(p, COMPARED)].copy()
    for name, kind in METHODS.items():
        method = kind()
        wants = {"by_class": method._by_class, "redundancy": method._redundancy}

        def search(method=method, wants=wants) -> tuple[Any, int]:
            terms = on_device.PairInformation(CudaCodes.from_array(X), y, 2, **wants)
            result = on_device.forward_search(method._criterion(terms), STEPS)
            return result, sum(array.nbytes for array in terms._store.data)

        title = f"{name}, {STEPS} of {n:,} x {p:,}, three levels"
        asked = None if small else AIMS[name.lower()]
        fit = partial(fit_method, kind, {"discretizer": None, "max_steps": STEPS}, X, y)
        try:
            seconds, (result, n_plane_bytes) = best(search)
            # the table twice, for bounds and packing; planes written once, then read at each step,
            # with a criterion read and informations written
            step = n_plane_bytes + 8 * p * (1 + method._by_class + method._redundancy)
            moved = 2 * X.nbytes + n_plane_bytes + (STEPS - 1) * step
            yield Figure(
                f"{title}: the search",
                asked,
                seconds,
                moved / seconds / rates["bandwidth"],
                "bandwidth of a copy",
                f"{moved / 1e9:.1f} GB moved",
            )
        except Exception as error:
            traceback.print_exc()
            moved, result = None, None
            yield Figure(f"{title}: the search", asked, None, note=describe_error(error))
        yield try_fit(f"{title}: fit", asked, fit, moved, rates, result)
        yield check_against_cpu(f"{name}, {few.shape[1]:,} columns as on the CPU", kind, few, y)


def pairs(rates: dict[str, float], small: bool) -> Iterator[Figure]:
    """Measure the ten nearest columns of each, exactly."""
    from benchmarks import gpu_pairs
    from featly.core.pairs import search_cuda

    n, p = SIZES["pairs"][small]
    X = gpu_pairs.make_table(n, p)
    gpu_pairs.warm(n)
    neighbours: list[Any] = []

    def search() -> None:
        neighbours.clear()
        neighbours.extend(search_cuda.neighbours(search_cuda.UnitColumns(X), NEIGHBOURS))

    title = f"the {NEIGHBOURS} nearest of {p:,} columns, {n:,} rows"
    asked = None if small else AIMS["pairs"]
    seconds, _ = best(search, 2)
    rate = n * p * p / seconds  # a multiplication and an addition, of half the pairs
    coarse = rates.get("coarse")
    yield Figure(
        f"{title}: the search",
        asked,
        seconds,
        rate / coarse if coarse else None,
        "product of large float16 matrices",
        f"{rate / 1e12:.0f} Tflop/s",
    )
    free()

    def public() -> Any:
        from featly.diagnostics.redundancy import redundancy

        return redundancy(X, neighbours=NEIGHBOURS, device="cuda")

    try:
        seconds, result = best(public, 1)
        same = np.array_equal(result.neighbours, neighbours[0])
        fraction = n * p * p / seconds / coarse if coarse else None
        yield Figure(
            f"{title}: redundancy(X, neighbours={NEIGHBOURS})",
            asked,
            seconds,
            fraction,
            "product of large float16 matrices",
            f"the same as the search: {yes(same)}",
        )
        del result
    except Exception as error:
        traceback.print_exc()
        yield Figure(f"{title}: redundancy", asked, None, note=describe_error(error))
    free()
    if not small:
        began = time.perf_counter()
        lines = gpu_pairs.check_results(X, tuple(neighbours))
        seconds = time.perf_counter() - began
        yield Figure("nearest columns, compared", None, seconds, note="; ".join(lines))


def relief(rates: dict[str, float], small: bool) -> Iterator[Figure]:
    """Measure ReliefF with ten neighbours."""
    from benchmarks.gpu_relief import normal
    from featly.core.ranking.ordering import best_first
    from featly.core.relief import relief as on_host
    from featly.core.relief import relief_cuda as on_device
    from featly.core.relief.relief import Nearest
    from featly.core.sources.source_cuda import CudaSource
    from featly.filters.relieff import ReliefF

    n, p = SIZES["relief"][small]
    X, y = normal(n, p)
    title = f"ReliefF, {n:,} x {p:,} float32"
    asked = None if small else AIMS["relieff"]
    additions = rates.get("additions")
    terms = n * (n + 1) / 2 * p  # a difference and a sum for each
    peak = "float64 additions in registers"

    def search() -> Any:
        return on_device.relief_weights(CudaSource(X), y, 2, Nearest(10)).weights

    try:
        seconds, weights = best(search, 2)
        good = int((best_first(weights)[:20] < 20).sum())
        fraction = 2 * terms / seconds / additions if additions else None
        note = f"{good} of the 20 planted columns among the first 20"
        yield Figure(f"{title}: the weights", asked, seconds, fraction, peak, note)
    except Exception as error:
        traceback.print_exc()
        yield Figure(f"{title}: the weights", asked, None, note=describe_error(error))
    free()
    try:
        seconds, _ = best(partial(fit_method, ReliefF, {}, X, y), 1)
        fraction = 2 * terms / seconds / additions if additions else None
        yield Figure(f"{title}: fit", asked, seconds, fraction, peak)
    except Exception as error:
        traceback.print_exc()
        yield Figure(f"{title}: fit", asked, None, note=describe_error(error))
    del X
    free()
    X, y = normal(300, 3000, seed=1)
    source = CudaSource(X)
    began = time.perf_counter()
    ours = on_device.relief_weights(source, y, 2, Nearest(10)).weights
    theirs = on_host.relief_weights(source.on_host(), y, 2, Nearest(10)).weights
    same = bool((best_first(ours) == best_first(theirs)).all())
    seconds = time.perf_counter() - began
    yield Figure("ReliefF, 300 x 3,000 as on the CPU", None, seconds, note=yes(same))


PARTS: dict[str, Callable[[dict[str, float], bool], Iterator[Figure]]] = {
    "greedy": greedy,
    "pairs": pairs,
    "relief": relief,
}


# ---- measuring -----------------------------------------------------------------------------------
def best(call: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Return the shortest time of some calls, the device waited for, after one not counted."""
    import cupy

    call()
    seconds, result = [], None
    for _ in range(repeats):
        result = None  # its memory is given back before the next call
        gc.collect()
        cupy.cuda.runtime.deviceSynchronize()
        began = time.perf_counter()
        result = call()
        cupy.cuda.runtime.deviceSynchronize()
        seconds.append(time.perf_counter() - began)
    return min(seconds), result


def fit_method(kind: Any, parameters: dict[str, Any], X: Any, y: np.ndarray, device="cuda") -> Any:
    """Fit by the public method, from a table on the device to attributes on the host."""
    return kind(**parameters, device=device).fit(X, y)


def try_fit(
    title: str,
    asked: float | None,
    fit: Callable[[], Any],
    moved: float | None,
    rates: dict[str, float],
    search: Any,
) -> Figure:
    """Time a fit of a greedy filter, beside the search that it is made of."""
    try:
        seconds, method = best(fit)
    except Exception as error:
        traceback.print_exc()
        return Figure(title, asked, None, note=describe_error(error))
    fraction = None if moved is None else moved / seconds / rates["bandwidth"]
    note = ""
    if search is not None:
        same = np.array_equal(method.order_, search.order)
        note = f"the order of the search: {yes(same)}"
    return Figure(title, asked, seconds, fraction, "bandwidth of a copy", note)


def check_against_cpu(title: str, kind: Any, few: Any, y: np.ndarray) -> Figure:
    """Compare the order and the scores of a fit on the device with those of the CPU."""
    import cupy

    parameters = {"discretizer": None, "max_steps": STEPS}
    began = time.perf_counter()
    try:
        ours = fit_method(kind, parameters, few, y)
        theirs = fit_method(kind, parameters, cupy.asnumpy(few), y, "cpu")
    except Exception as error:
        traceback.print_exc()
        return Figure(title, None, None, note=describe_error(error))
    same = np.array_equal(ours.order_, theirs.order_) and np.array_equal(
        ours.scores_, theirs.scores_
    )
    return Figure(title, None, time.perf_counter() - began, note=yes(same))


def yes(same: bool) -> str:
    """Return a truth value in words, so that a difference is seen."""
    return "yes" if same else "NO"


def describe_error(error: Exception) -> str:
    """Return an error in a line."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"{type(error).__name__}: {text}"


def free() -> None:
    """Give memory back between the parts."""
    gc.collect()
    try:
        import cupy

        cupy.get_default_memory_pool().free_all_blocks()
    except Exception as error:  # the device may be lost: the next part shows it
        print(describe_error(error), file=sys.stderr)


# ---- output --------------------------------------------------------------------------------------
def line(figure: Figure) -> str:
    """Return a figure as a line."""
    seconds = "failed" if figure.seconds is None else f"{figure.seconds:.4g} s"
    return f"{figure.figure}: {seconds} {figure.note}"


def as_table(figures: list[Figure]) -> str:
    """Return all figures as a Markdown table."""
    lines = [
        "| figure | aim, s | seconds | of peak | the peak | note |",
        "|---|---|---|---|---|---|",
    ]
    for figure in figures:
        asked = "" if figure.asked is None else f"under {figure.asked:g}"
        seconds = "failed" if figure.seconds is None else f"{figure.seconds:.4g}"
        share = "" if figure.fraction is None else f"{figure.fraction:.0%}"
        lines.append(
            f"| {figure.figure} | {asked} | {seconds} | {share} | {figure.peak} | {figure.note} |"
        )
    return "\n".join(lines)


def write(path: Path, figures: list[Figure], rates: dict[str, float], small: bool) -> None:
    """Write the file, whole or not at all."""
    content = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine("cuda"),
        "versions": environment(),
        "rates": rates,
        "small": small,
        "figures": [asdict(figure) for figure in figures],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, path)


if __name__ == "__main__":
    main()
