"""Paul, D'Ambrosio and Dupont (2015), claim A14: other final classifiers predict similarly.

The five rankers of the paper, 20 splits, sizes 1, 2, 4, ...; a clinical-kernel SVM, a random
forest, naive Bayes and five nearest neighbours are trained on the same columns.
"""

from typing import Any

import numpy as np
import polars as pl

from featly.learners import ClinicalSVC, HEOMNeighbors, MixedNaiveBayes, make_learner
from featly.study import Claim, Results, Study, Subsampling
from featly.study.verdicts import Finding
from studies.heterogeneous import FIVE, datasets, methods

SPLITS = 20
SIMILAR = 0.02  # of the balanced rate, in the mean over tables, methods and sizes
FIRST = "clinical SVM"


def learners() -> dict[str, Any]:
    """Return the learners that the paper names."""
    return {
        FIRST: ClinicalSVC(),
        "forest": make_learner("forest"),
        "naive Bayes": MixedNaiveBayes(),
        "5-NN": HEOMNeighbors(),
    }


def by_learner(results: Results) -> pl.DataFrame:
    """One row a table, method and size, one column a learner."""
    curves = results.curves("bcr").select("dataset", "method", "size", "learner", "mean")
    return curves.pivot("learner", index=["dataset", "method", "size"], values="mean")


def a14(results: Results) -> Finding:
    """No learner is further than SIMILAR from the clinical SVM, table by table in words."""
    table = by_learner(results)
    words, holds = [], True
    for name in results.about["learners"]:
        if name == FIRST:
            continue
        differences = table.select("dataset", (pl.col(name) - pl.col(FIRST)).alias("difference"))
        mean = float(differences["difference"].mean())
        parts = differences.group_by("dataset", maintain_order=True).mean()
        by_table = ", ".join(f"{d} {v:+.3f}" for d, v in parts.rows())
        words.append(f"{name} {mean:+.3f} ({by_table})")
        holds &= abs(mean) <= SIMILAR
    return Finding(holds, "BCR less that of the clinical SVM: " + "; ".join(words))


def claims() -> list[Claim]:
    """A14."""
    text = f"forest, naive Bayes and 5-NN as final classifiers: similar BCR (within {SIMILAR})"
    return [Claim("A14", text, a14, None, "sec. 5")]


def study() -> Study:
    """The plan."""
    wanted = {name: method for name, method in methods().items() if name in FIVE}
    return Study(
        wanted,
        datasets(),
        Subsampling(SPLITS, test_size=0.1),
        sizes="powers",
        learner=learners(),
        balanced=False,
        metrics=("bcr",),
        claims=claims(),
        title="Paul et al. 2015, other final classifiers",
    )


def extras(results: Results) -> dict[str, Any]:
    """Mean rates by table and learner."""
    table = by_learner(results)
    names = list(results.about["learners"])
    means = table.group_by("dataset", maintain_order=True).agg(pl.col(names).mean())
    rows = {row[0]: np.round(row[1:], 4).tolist() for row in means.rows()}
    return {"by_learner": {d: dict(zip(names, r, strict=True)) for d, r in rows.items()}}
