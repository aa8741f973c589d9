"""The clinical kernel against scikit-survival's, and SVM-RFE with it as rows grow.

scikit-survival aborts the process where numeric columns outnumber rows, so it gets 200
columns only. The whole protocol of Paul et al. (2015) runs on boston_housing2, where FEATLY_DATA
has it: 200 splits, a ranking by MKL-RFE and a classifier at every size.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.harness import Row, best_of, peak_over
from featly import MKLRFE, SVMRFE
from featly.datasets import make_problem
from featly.kernels import ClinicalKernel
from featly.learners import ClinicalSVC
from featly.study import Dataset, Study, Subsampling


def mixed_table(n: int, p: int, seed: int = 0) -> pd.DataFrame:
    """Table of half numbers, half categories of five levels."""
    rng = np.random.default_rng(seed)
    numbers = {f"x{k}": rng.normal(size=n) for k in range(p - p // 2)}
    codes = {
        f"c{k}": pd.Categorical.from_codes(rng.integers(0, 5, n), list("abcde"))
        for k in range(p // 2)
    }
    return pd.DataFrame({**numbers, **codes})


def gram() -> Iterator[Row]:
    for p in (200, 5000):
        frame = mixed_table(500, p)
        problem = f"clinical kernel, 500 x {p:,}, half categorical"
        ClinicalKernel().fit(frame[:20]).gram()  # compile
        seconds, ours = best_of(lambda frame=frame: ClinicalKernel().fit(frame).gram())
        fitted = ClinicalKernel().fit(frame)
        alone, _ = best_of(fitted.gram)
        if p > 200:
            note = f"of which the matrix {alone:.3f} s; scikit-survival aborts the process"
            yield Row(problem, "featly, pandas frame read", seconds, note, ours=True)
            continue
        try:
            from sksurv.kernels import clinical_kernel
        except ImportError:
            yield Row(problem, "featly, pandas frame read", seconds, ours=True)
            continue
        peer, theirs = best_of(lambda frame=frame: clinical_kernel(frame))
        note = f"largest difference {np.abs(ours - theirs).max():.0e}"
        yield Row(problem, "featly, pandas frame read", seconds, note, ours=True)
        yield Row(problem, "featly, the matrix alone", alone)
        yield Row(problem, "scikit-survival clinical_kernel", peer)


def protocol() -> Iterator[Row]:
    folder = os.environ.get("FEATLY_DATA")
    file = Path(folder or "") / "boston_housing2.parquet"
    if not folder or not file.exists():
        return
    data = Dataset.of(pl.read_parquet(file), "class", name="housing")
    problem = "MKL-RFE and a clinical SVM at all 17 sizes, 200 splits, boston_housing2, 506 x 17"
    for jobs in (None, 1):
        study = Study(
            {"mkl-rfe": MKLRFE()}, data, Subsampling(200, test_size=0.1), sizes="all",
            learner={"clinical SVM": ClinicalSVC()},
        )  # fmt: skip
        began = time.perf_counter()
        results = study.run(n_jobs=jobs)
        seconds = time.perf_counter() - began
        best = results.curves("bcr")["mean"].max()
        tool = "featly, all cores" if jobs is None else "featly, one core"
        note = f"best BCR {best:.3f}; the paper's took 23 minutes"
        yield Row(problem, tool, seconds, note, ours=jobs is None)


def tall(n: int, p: int = 50, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Table of numbers and of categories, some with signal, some values missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    numbers = {f"x{k}": rng.normal(size=n) + 0.3 * y * (k < 5) for k in range(3 * p // 5)}
    numbers["x0"][rng.random(n) < 0.05] = np.nan
    shift = y * (rng.random(n) < 0.3)
    levels = np.array(list("abcdef"))
    codes = {
        f"c{k}": levels[np.minimum(rng.integers(0, 6, n) + shift * (k < 3), 5)]
        for k in range(2 * p // 5)
    }
    return pl.DataFrame({**numbers, **codes}), y


def rows() -> Iterator[Row]:
    SVMRFE(kernel="clinical").fit(*tall(2000))  # compile
    for n in (3_000, 10_000, 30_000, 100_000):
        X, y = tall(n)
        seconds, extra, rfe = peak_over(lambda X=X, y=y: SVMRFE(kernel="clinical").fit(X, y))
        gap = rfe.duality_gap_[:-1].max()
        note = f"peak memory {extra / 1e6:.0f} MB, largest relative duality gap {gap:.0e}"
        problem = f"SVM-RFE, clinical kernel, {n:,} x 50, 20% a step"
        yield Row(problem, "featly", seconds, note, ours=True)


def gaussian() -> Iterator[Row]:
    small = make_problem("xor-100", random_state=0)
    SVMRFE(kernel="rbf").fit(small.X, small.y)  # compile
    for name in ("xor-100", "madelon"):
        data = make_problem(name, random_state=0)
        relevant = {column for group in data.roles.relevant for column in group}
        n, p = data.X.shape
        for kernel in ("rbf", "linear"):
            seconds, rfe = best_of(
                lambda kernel=kernel, data=data: SVMRFE(kernel=kernel).fit(data.X, data.y),
                1 if name == "madelon" else 5,
            )
            n_found = len(relevant & set(rfe.order_[: len(relevant)].tolist()))
            note = f"{n_found} of {len(relevant)} relevant columns first"
            problem = f"SVM-RFE on {name}, {n:,} x {p}"
            yield Row(problem, f"featly, {kernel} kernel", seconds, note, ours=kernel == "rbf")


CASES = {
    "clinical-kernel": gram,
    "clinical-protocol": protocol,
    "clinical-rows": rows,
    "svm-rfe-rbf": gaussian,
}
