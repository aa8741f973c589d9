"""CFS, FCBF, Interact and Consistency, cutting into levels included; CFS and Consistency by Weka.

Weka runs where the environment variable FEATLY_WEKA names its jar, once, and its time has the start
of Java and the reading of the table in it (a few seconds). Weka 3.9 has no ConsistencySubsetEval,
3.6 has: what a jar does not have is passed over. Its CFS takes independent columns for redundant,
so its merit is of another kind.
"""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.harness import Row, best_of, two_classes
from featly.filters.cfs import CFS
from featly.filters.consistency import Consistency
from featly.filters.fcbf import FCBF
from featly.filters.interact import Interact

METHODS: dict[str, Any] = {
    "CFS": CFS(),
    "FCBF": FCBF(),
    "Interact": Interact(),
    "Consistency": Consistency(),
    "Consistency, forward": Consistency(search="forward"),
    "Consistency, lvf": Consistency(search="lvf"),
}
EVALUATORS = {"CFS": ["CfsSubsetEval", "-L"], "Consistency": ["ConsistencySubsetEval"]}
SEARCH = "weka.attributeSelection.BestFirst -D 1 -N 5"
PATIENCE = 900  # seconds that Weka is given


def genes() -> Iterator[Row]:
    X, y, title = leukemia()
    for name, method in METHODS.items():
        problem = f"{name}, {title}"
        method.fit(X[:, :100], y)
        seconds, fitted = best_of(lambda method=method: method.fit(X, y))
        yield Row(problem, "featly", seconds, describe(fitted), ours=True)
        if name in EVALUATORS and (peer := weka(EVALUATORS[name], X, y)) is not None:
            seconds, size, merit = peer
            note = f"{size} columns, merit {merit}" if size else "not done by then"
            yield Row(problem, "Weka, with BestFirst", seconds, note)


def genotypes() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n, p = 1000, 28_502
    y = rng.integers(0, 2, n)
    X = rng.integers(0, 3, (n, p)).astype(np.int8)
    X[:, :50] = np.where(rng.random((n, 50)) < 0.3, 2 * y[:, None], X[:, :50])
    for name, method in METHODS.items():
        whole = type(method)(**{**method.get_params(), "discretizer": None})
        whole.fit(X[:, :100], y)
        seconds, fitted = best_of(lambda whole=whole: whole.fit(X, y), 3)
        problem = f"{name}, made genotypes, {n:,} x {p:,}"
        yield Row(problem, "featly", seconds, describe(fitted), ours=True)


def leukemia() -> tuple[np.ndarray, np.ndarray, str]:
    """Golub's table, all its rows, where FEATLY_DATA has it; else a made one of its size."""
    folder = os.environ.get("FEATLY_DATA")
    file = Path(folder or "") / "leukemia_golub.parquet"
    if folder and file.exists():
        frame = pl.read_parquet(file)
        X = frame.drop("split", "class").to_numpy()
        return X, frame["class"].cast(pl.String).to_numpy(), "leukemia_golub, 72 x 7,129"
    X, y = two_classes(72, 7129)
    return X, y.astype(str), "made, 72 x 7,129"


def describe(fitted: Any) -> str:
    size = f"{len(fitted.order_)} columns"
    if hasattr(fitted, "merit_"):
        return f"{size}, merit {fitted.merit_:.4f}"
    return f"{size}, inconsistency {fitted.rate_:.3f}" if hasattr(fitted, "rate_") else size


def weka(evaluator: list[str], X: np.ndarray, y: np.ndarray) -> tuple[float, int, str] | None:
    """Return seconds, number of columns and merit by Weka; None without jar or evaluator."""
    jar = os.environ.get("FEATLY_WEKA")
    if not jar:
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.arff"
        names = "".join(f"@attribute a{j} numeric\n" for j in range(X.shape[1]))
        rows = zip(X.tolist(), y.tolist(), strict=True)
        lines = (f"{','.join(map(repr, row))},{label}" for row, label in rows)
        levels = ",".join(np.unique(y).tolist())
        head = f"@relation table\n{names}@attribute class {{{levels}}}\n@data\n"
        file.write_text(head + "\n".join(lines) + "\n")
        name, *options = evaluator
        command = ["java", "-cp", jar, f"weka.attributeSelection.{name}", *options]
        began = time.perf_counter()
        try:
            done = subprocess.run(
                [*command, "-s", SEARCH, "-i", str(file)],
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
        except subprocess.TimeoutExpired:
            return float(PATIENCE), 0, ""
        seconds = time.perf_counter() - began
    merit = re.search(r"Merit of best subset found:\s+(\S+)", done.stdout)
    size = re.search(r"Selected attributes: .*: (\d+)", done.stdout)
    return None if merit is None or size is None else (seconds, int(size[1]), merit[1])


CASES = {"subset-filters": genes, "subset-filters-wide": genotypes}
