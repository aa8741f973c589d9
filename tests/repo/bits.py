"""Rankings of every method on real tables, to compare before and after a change.

``python -m tests.repo.bits store`` writes a hash of each ranking to ``bits.json`` beside this file,
``compare`` computes them anew and lists the differences. FEATLY_DATA names the folder of the
tables. Hashes are of the order and of the scores, rounded as they are compared.
"""

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from featly.base import Ranker
from featly.core.ranking.ordering import round_scores
from featly.registry import METHODS, method_class

HASHES = Path(__file__).with_name("bits.json")
TABLES = {  # name: (most rows, most columns)
    "hepatitis": (500, 500),
    "heart_cleveland": (500, 500),
    "bands": (600, 500),
    "arrhythmia": (500, 300),
    "monk1": (600, 10),
    "colon_alon": (100, 1000),
    "leukemia_golub": (100, 1500),
    "libras": (400, 90),
    "novartis_500": (110, 500),
    "madelon": (800, 200),
    "snp_hapmap_chr10": (400, 300),
    "kddcup99": (3000, 41),
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "forest": {"n_trees": 200},
    "wrapper": {"n_features_to_select": 3},
    "hybrid-forward": {},
}


def read_table(folder: Path, name: str) -> tuple[pl.DataFrame, np.ndarray]:
    """Read some rows and columns of a table, evenly spaced, and the classes."""
    most_rows, most_columns = TABLES[name]
    frame = pl.read_parquet(folder / f"{name}.parquet")
    frame = frame.gather_every(max(1, -(-len(frame) // most_rows)))
    y = frame["class"].cast(pl.String).to_numpy()
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    frequent = np.array([counts[label] >= 5 for label in y])
    columns = [column for column in frame.columns if column not in ("class", "split")]
    step = max(1, -(-len(columns) // most_columns))
    return frame.select(columns[::step]).filter(frequent), y[frequent]


def complete(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill missing values: the median, or the most frequent level."""
    filled = []
    for column in frame:
        value = column.median() if column.dtype.is_numeric() else column.drop_nulls().mode()[0]
        filled.append(column.fill_null(value))
    return pl.DataFrame(filled)


def hash_ranking(method: str, frame: pl.DataFrame, y: np.ndarray) -> str:
    """Return a hash of the outcome of a method, or the name of the error."""
    estimator = method_class(method)(**PARAMETERS.get(method, {}))
    try:
        fitted = estimator.fit(frame, y)
    except Exception as error:
        return type(error).__name__
    digest = hashlib.blake2b(fitted.order_.astype(np.int64).tobytes(), digest_size=8)
    if isinstance(fitted, Ranker):
        digest.update(round_scores(fitted.scores_).tobytes())
    return digest.hexdigest()


def hash_rankings(folder: Path, methods: list[str]) -> Iterator[tuple[str, str]]:
    """Yield ``"table method"`` and a hash, for every table as it is and where needed filled."""
    for name in TABLES:
        frame, y = read_table(folder, name)
        numbers = [c for c in frame.columns if frame[c].dtype.is_numeric()]
        two = np.isin(y, [label for label, _ in _by_size(y)[:2]])
        for method in methods:
            outcome = hash_ranking(method, frame, y)
            if not outcome.endswith("Error"):
                yield f"{name} {method}", outcome
                continue
            filled = complete(frame)
            outcome = hash_ranking(method, filled, y)
            if outcome.endswith("Error"):  # for two classes, or for numbers
                kept = filled if method_class(method)._many_classes else filled.filter(two)
                labels = y if method_class(method)._many_classes else y[two]
                outcome = hash_ranking(method, kept, labels)
                if outcome.endswith("Error") and numbers:
                    outcome = hash_ranking(method, kept.select(numbers), labels)
            yield f"{name} {method}", outcome


def _by_size(y: np.ndarray) -> list[tuple[Any, int]]:
    labels, counts = np.unique(y, return_counts=True)
    return sorted(zip(labels.tolist(), counts.tolist(), strict=True), key=lambda pair: -pair[1])


def main() -> None:
    """Store the hashes, or compare them with those that are stored."""
    parser = argparse.ArgumentParser(prog="python -m tests.repo.bits")
    parser.add_argument("command", choices=("store", "compare"))
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--slow", type=float, default=5, help="seconds above which a fit is named")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = os.environ.get("FEATLY_DATA")
    if not folder:
        raise SystemExit("FEATLY_DATA names no folder of datasets")
    hashes: dict[str, str] = {}
    began = time.perf_counter()
    for key, outcome in hash_rankings(Path(folder), options.methods.split(",")):
        hashes[key] = outcome
        seconds, began = time.perf_counter() - began, time.perf_counter()
        if seconds > options.slow:
            print(f"{key}: {seconds:.1f} s", file=sys.stderr)
    if options.command == "store":
        HASHES.write_text(json.dumps(hashes, indent=0) + "\n", "utf-8")
        return
    stored = json.loads(HASHES.read_text("utf-8"))
    differences = [key for key, outcome in hashes.items() if stored.get(key) != outcome]
    for key in differences:
        print(f"{key}: {stored.get(key)} before, {hashes[key]} now")
    print(f"{len(hashes) - len(differences)} of {len(hashes)} rankings are equal")
    raise SystemExit(bool(differences))


if __name__ == "__main__":
    main()
