"""Multiclass SVM-RFE against the loop around liblinear's Crammer-Singer machine.

A peer with a loose tolerance runs twice: as shipped, and at tol=1e-8. "Same ranking" is against
the latter, where it comes to an end.
"""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from benchmarks.harness import Row, best_of
from featly import MulticlassSVMRFE
from featly.datasets import make_artificial
from featly.elimination.rfe import schedule

FORMULATIONS = ("crammer-singer", "weston-watkins", "ovo")


def loop(X, y, **parameters):
    """Run Zhou and Tuck's loop as one writes it by hand; the order, and rounds not finished."""
    left, order, unfinished = np.arange(X.shape[1]), [], 0
    while len(left):
        machine = LinearSVC(multi_class="crammer_singer", random_state=0, **parameters)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            machine.fit(X[:, left], y)
        unfinished += any(issubclass(w.category, ConvergenceWarning) for w in caught)
        ranked = np.argsort(-(machine.coef_**2).sum(axis=0), kind="stable")
        count = schedule(len(left), 0.2)
        order = [*left[ranked[len(left) - count :]], *order]
        left = np.sort(left[ranked[: len(left) - count]])
    return np.array(order), unfinished


def describe_agreement(order, other):
    return f"{int((order == other).sum()):,} of {len(order):,} positions as at tol=1e-8"


def classes(n, p, k, seed=0):
    """Normal columns, five of them shifted by 1 for each class, all standardised."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, p))
    X[:, : 5 * k] += np.repeat(np.eye(k), 5, axis=1)[y]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def against_liblinear() -> Iterator[Row]:
    X, y = classes(200, 5000, 6)
    problem = "multiclass SVM-RFE, 200 x 5,000, 6 classes, 20% of the remaining a step"
    MulticlassSVMRFE().fit(X[:60, :40], y[:60])  # compile
    seconds, ours = best_of(lambda: MulticlassSVMRFE().fit(X, y))
    exact_seconds, (exact, left) = best_of(lambda: loop(X, y, tol=1e-8, max_iter=100_000), 1)
    gap = f"largest relative duality gap {ours.duality_gap_.max():.0e}"
    yield Row(
        problem, "featly", seconds, f"{describe_agreement(ours.order_, exact)}; {gap}", ours=True
    )
    shipped_seconds, (shipped, _) = best_of(lambda: loop(X, y), 2)
    tool = "loop around LinearSVC(crammer_singer)"
    yield Row(problem, f"{tool}, as shipped", shipped_seconds, describe_agreement(shipped, exact))
    yield Row(problem, f"{tool}, tol=1e-8", exact_seconds, f"{left} rounds not finished")


def formulations() -> Iterator[Row]:
    """Real tables where FEATLY_DATA names their folder, and the artificial problem of the paper."""
    tables = {}
    artificial = make_artificial(1)
    tables["Artificial-1-8C"] = (np.asarray(artificial.X, dtype=float), np.asarray(artificial.y))
    folder = Path(os.environ.get("FEATLY_DATA", "absent"))
    for name in ("monti_leukemia_stjude", "mfeat"):
        if (folder / f"{name}.parquet").exists():
            frame = pl.read_parquet(folder / f"{name}.parquet")
            tables[name] = (frame.drop("class").to_numpy(), frame["class"].to_numpy())
    for name, (X, y) in tables.items():
        size = f"{X.shape[0]:,} x {X.shape[1]:,}, {len(np.unique(y))} classes"
        for formulation in FORMULATIONS:
            rfe = MulticlassSVMRFE(formulation=formulation)
            rfe.fit(*classes(60, 30, 3))  # compile
            seconds, rfe = best_of(lambda rfe=rfe, X=X, y=y: rfe.fit(X, y), 3)
            gap = f"largest relative duality gap {rfe.duality_gap_.max():.0e}"
            problem = f"multiclass SVM-RFE, {formulation}, {name} ({size})"
            yield Row(problem, "featly", seconds, gap, ours=True)


CASES = {"multiclass-liblinear": against_liblinear, "multiclass-formulations": formulations}
