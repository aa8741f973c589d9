"""C4.5 against Weka's J48, which `WEKA_JAR` names, and against CART for the cost of a small fit."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeClassifier
from studies.intrusion_data import CLASSES, classes_of

from benchmarks.harness import Row, best_of, peak_over
from featly.learners.c45 import C45

REAL = ("arrhythmia", "bands", "heart_cleveland", "hepatitis", "libras", "madelon", "mfeat")


def _folder() -> Path | None:
    folder = os.environ.get("FEATLY_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def _run_j48(X: pl.DataFrame, y: Any, *options: str) -> str:
    """Run J48 on a table; return what it prints, or why there is nothing."""
    jar = os.environ.get("WEKA_JAR")
    if not jar or not Path(jar).exists():
        return "no WEKA_JAR names Weka's jar"
    if shutil.which("java") is None:
        return "no java"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.arff"
        _write_arff(file, X, y)
        command = ["java", "-Xmx6g", "-cp", jar, "weka.classifiers.trees.J48", "-t", str(file)]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


def _write_arff(file: Path, X: pl.DataFrame, y: Any) -> None:
    lines = ["@relation table"]
    columns = []
    for k, column in enumerate(X):
        if column.dtype.is_numeric():
            lines.append(f"@attribute x{k} numeric")
            columns.append(column.cast(pl.String).fill_null("?"))
        else:
            texts = "'" + column.cast(pl.String).str.replace_all("'", "_") + "'"
            levels = texts.drop_nulls().unique().sort().to_list()
            lines.append(f"@attribute x{k} {{{','.join(levels)}}}")
            columns.append(texts.fill_null("?"))
    labels = pl.Series("class", [f"c{label}" for label in y])
    lines.append(f"@attribute class {{{','.join(labels.unique().sort().to_list())}}}")
    rows = pl.DataFrame([column.alias(str(k)) for k, column in enumerate([*columns, labels])])
    with file.open("w") as out:
        out.write("\n".join([*lines, "@data", ""]))
        rows.write_csv(out, include_header=False, quote_style="never")


def _parse_seconds(printed: str) -> float:
    match = re.search(r"Time taken to build model: ([\d.]+) seconds", printed)
    return float(match[1]) if match else float("nan")


def _parse_size(printed: str) -> str:
    match = re.search(r"Number of Leaves\s*:\s*(\d+)\s*Size of the tree\s*:\s*(\d+)", printed)
    return f"{match[2]} nodes, {match[1]} leaves" if match else printed.strip()[-80:]


def intrusion() -> Iterator[Row]:
    """KDD Cup 99: 494,021 rows, 2, 5 and 23 classes."""
    folder = _folder()
    if folder is None or not (folder / "kddcup99.parquet").exists():
        return
    frame = pl.read_parquet(folder / "kddcup99.parquet")
    frame = frame.filter(pl.col("split").cast(pl.String) == "train").drop("split")
    X, labels = frame.drop("class"), frame["class"].cast(pl.String).to_numpy()
    targets = {
        "2": np.where(labels == "normal", "normal", "attack"),
        "5": np.array(CLASSES)[classes_of(frame["class"])],
        "23": labels,
    }
    C45().fit(X[:1000], labels[:1000])
    for name, y in targets.items():
        problem = f"C4.5, KDD Cup 99, {len(y):,} x {X.width}, {name} classes"
        _, peak, _ = peak_over(lambda y=y: C45().fit(X, y))
        seconds, tree = best_of(lambda y=y: C45().fit(X, y), 3)
        single_thread, _ = best_of(lambda y=y: C45(n_jobs=1).fit(X, y), 2)
        note = f"{tree.size_} nodes, {tree.n_leaves_} leaves, peak memory {peak / 1e6:.0f} MB"
        yield Row(problem, "featly", seconds, note, ours=True)
        yield Row(problem, "featly, one thread", single_thread)
        printed = _run_j48(X, y, "-no-cv")
        yield Row(problem, "Weka J48", _parse_seconds(printed), _parse_size(printed))


def real() -> Iterator[Row]:
    """Small real tables: the trees must be of one size."""
    folder = _folder()
    for name in REAL:
        if folder is None or not (folder / f"{name}.parquet").exists():
            continue
        frame = pl.read_parquet(folder / f"{name}.parquet").drop("split", strict=False)
        X, y = frame.drop("class"), frame["class"].cast(pl.String).to_numpy()
        problem = f"C4.5, {name}, {X.height:,} x {X.width:,}"
        seconds, tree = best_of(lambda X=X, y=y: C45().fit(X, y), 5)
        note = f"{tree.size_} nodes, {tree.n_leaves_} leaves"
        yield Row(problem, "featly", seconds, note, ours=True)
        printed = _run_j48(X, y, "-no-cv")
        yield Row(problem, "Weka J48", _parse_seconds(printed), _parse_size(printed))


def small() -> Iterator[Row]:
    """Small fits, of which a wrapper makes many, and wide tables."""
    rng = np.random.default_rng(0)
    for n_rows, n_features in ((75, 20), (72, 7_129), (97, 24_485)):
        X, y = rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 2
        X[:, 0] += y
        problem = f"a tree of {n_rows} x {n_features:,}"
        C45().fit(X, y)
        ours, _ = best_of(lambda X=X, y=y: C45().fit(X, y), 30, 5.0)
        peer, _ = best_of(lambda X=X, y=y: DecisionTreeClassifier().fit(X, y), 30, 5.0)
        yield Row(problem, "featly C45", ours, ours=True)
        yield Row(problem, "scikit-learn DecisionTreeClassifier (CART)", peer)


CASES = {"c45": small, "c45-real": real, "c45-intrusion": intrusion}
