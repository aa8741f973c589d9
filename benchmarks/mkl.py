"""Multiple kernel learning against the published alternation around SVC, and against MKLpy.

MKLpy runs in a Python of its own, which the environment variable FEATLY_PEERS names; without it
that peer is left out. It is given ready-made Gram matrices, and only its fit is timed; featly's
time includes sorting the columns, and a loop by hand that of the sums.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.svm import SVC

from benchmarks.harness import Row, best_of, peak_over, two_classes
from featly.core.kernels.clinical import number_positions, ranges
from featly.core.kernels.kernel_sets import ColumnKernels
from featly.core.kernels.mkl import solve_mkl
from featly.core.runtime.parallel import single_threaded_blas
from featly.elimination.mkl_rfe import MKLRFE

PEER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from MKLpy.algorithms import AverageMKL, EasyMKL
data = np.load(sys.argv[1])
kernels = [1 - np.abs(z[:, None] - z[None]) for z in data["z"]]
found = {}
for name, machine in (("AverageMKL", AverageMKL()), ("EasyMKL", EasyMKL(lam=0.1))):
    began = time.perf_counter()
    machine.fit(kernels, data["y"])
    found[name] = time.perf_counter() - began
print(json.dumps(found))
"""


def positions(n, p):
    X, y = two_classes(n, p)
    numbers = np.ascontiguousarray(X.T)
    return number_positions(numbers, *ranges(numbers)), np.where(y == 1, 1.0, -1.0)


def alternation(z, y, C, tolerance):
    """Kloft et al. (2011) as one writes it down: SVC, the closed form for norm 2, and so on."""
    weights = np.full(len(z), len(z) ** -0.5)
    turn = 0
    while True:
        turn += 1
        K = np.zeros((len(y), len(y)))
        for weight, x in zip(weights, z, strict=True):
            K += weight * (1 - np.abs(x[:, None] - x))
        machine = SVC(kernel="precomputed", C=C, tol=1e-6).fit(K, y)
        b = np.zeros(len(y))
        b[machine.support_] = machine.dual_coef_[0]
        forms = np.array([b @ (1 - np.abs(x[:, None] - x)) @ b for x in z])
        duality_gap = (np.sqrt(forms @ forms) - weights @ forms) / 2 / (y @ b - weights @ forms / 2)
        if duality_gap <= tolerance:
            break
        lengths = weights * np.sqrt(forms)
        weights = lengths ** (2 / 3) / np.sqrt(np.sum(lengths ** (4 / 3)))
    return turn


def thousand() -> Iterator[Row]:
    def ours(z, y, tolerance):
        with single_threaded_blas():
            return solve_mkl(ColumnKernels(z), y, np.full(len(y), 0.1), tolerance=tolerance)

    ours(*positions(40, 30), 1e-3)  # compile
    z, y = positions(300, 1000)
    for tolerance in (1e-3, 1e-9):
        problem = f"MKL, 1,000 column kernels on 300 rows, C=0.1, relative gap {tolerance:g}"
        _, extra, _ = peak_over(lambda tolerance=tolerance: ours(z, y, tolerance))
        seconds, solution = best_of(lambda tolerance=tolerance: ours(z, y, tolerance))
        note = f"{solution.n_iter} machines, peak memory {extra / 1e6:.0f} MB"
        yield Row(problem, "featly", seconds, note, ours=True)
        if tolerance == 1e-3:
            seconds, turns = best_of(lambda: alternation(z, y, 0.1, 1e-3), 1)
            yield Row(problem, "alternation around SVC", seconds, f"{turns} machines")
            for name, seconds in mklpy(z, y).items():
                note = "duality gap not reported; Gram matrices ready-made, 720 MB"
                yield Row(problem, f"MKLpy {name}", seconds, note)


def mklpy(z, y) -> dict[str, float]:
    """Return seconds of MKLpy's machines; none where no Python with it is named."""
    python = os.environ.get("FEATLY_PEERS")
    if not python:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.npz"
        np.savez(file, z=z, y=y)
        done = subprocess.run(
            [python, "-c", PEER, str(file)], capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout)


def table(name, n, p):
    """A dataset where FEATLY_DATA has it, its training part; else a made one of its size."""
    folder = os.environ.get("FEATLY_DATA")
    if folder and (Path(folder) / f"{name}.parquet").exists():
        frame = pl.read_parquet(Path(folder) / f"{name}.parquet")
        if "split" in frame.columns:
            frame = frame.filter(pl.col("split") == "train").drop("split")
        frame = frame.head(n)
        return frame.drop("class"), frame["class"].to_numpy(), f"{name}, {n} x {p:,}"
    X, y = two_classes(n, p)
    return X, y, f"made, {n} x {p:,}"


def elimination() -> Iterator[Row]:
    for name, n, p in (("vantveer_breast", 78, 24_488), ("boston_housing2", 455, 17)):
        X, y, title = table(name, n, p)
        MKLRFE().fit(X, y)  # compile
        seconds, rfe = best_of(lambda X=X, y=y: MKLRFE().fit(X, y))
        note = f"largest relative duality gap {rfe.duality_gap_.max():.0e}"
        yield Row(f"MKL-RFE, {title}, 20% a step", "featly", seconds, note, ours=True)


CASES = {"mkl": thousand, "mkl-rfe": elimination}
