"""Microarrays of chapter 4 by the .632+ bootstrap: our addition to Bolón-Canedo et al. (2015).

Section 4.4.1 describes the bootstrap, and that Ambroise and McLachlan (2002) recommend its .632+
form, but the book's tables have none. As microarray otherwise, with the 78 training rows of Breast
as a fifth set. Rankings are made on every bootstrap sample and once on all rows, for the apparent
error.

Claims E6 and E8 are tested again, by accuracies on rows out of the sample, as written down there
before the first run. A table shows how far .632+ is from repeated five folds.
"""

from typing import Any

import numpy as np

from featly.study import Bootstrap, Claim, Dataset, Results, Study
from studies import microarray
from studies.microarray_claims import (
    LEARNERS,
    RANKERS,
    ROWS,
    direction_claims,
    stored_repeats,
)
from studies.microarray_dobscv import PLAIN

BREAST = "Breast, training rows"
REPLICATES = 100


def datasets() -> dict[str, Dataset]:
    """The four of five folds, and the training rows of Breast."""
    X, y, part = microarray.read("Breast")
    train = part == "train"
    return microarray.datasets() | {BREAST: Dataset.of(X[train], y[train], name=BREAST)}


def study() -> Study:
    """The plan."""
    return Study(
        microarray.methods(),
        datasets(),
        Bootstrap(REPLICATES),
        sizes=microarray.SIZES,
        learner=microarray.learners(),
        balanced=False,
        metrics=("accuracy", "bcr"),
        fill=True,
        claims=claims(),
        title="book, chapter 4: microarrays, .632+ bootstrap",
    )


def claims() -> list[Claim]:
    """E6 and E8."""
    return direction_claims("bootstrap")


# ---- the page ------------------------------------------------------------------------------------
def extras(results: Results) -> dict[str, Any]:
    """.632+ accuracies beside those of five folds."""
    corrected = estimates(results)
    plain = stored_repeats(PLAIN) or {}
    tables = []
    for learner in LEARNERS:
        rows = []
        for row in ROWS:
            line = [row]
            for dataset in results.about["datasets"]:
                text = f"{corrected[dataset, row, learner]:.3f}"
                if (dataset, row, learner) in plain:
                    text += f" ({np.mean(plain[dataset, row, learner]):.3f})"
                line.append(text)
            rows.append(line)
        title = f"Accuracy of {learner} by .632+ (mean of repeated five folds)"
        tables.append({"title": title, "head": ["after", *results.about["datasets"]], "rows": rows})
    return {"tables": [*tables, *agreement(results, corrected, plain)]}


def estimates(results: Results) -> dict[tuple[str, str, str], float]:
    """.632+ accuracy by set, row of the tables and learner."""
    lines = results.curves("accuracy").select("dataset", "method", "learner", "size", "mean")
    return {
        (dataset, f"{method} {size}" if method in RANKERS else method, learner): mean
        for dataset, method, learner, size, mean in lines.rows()
    }


def agreement(results: Results, corrected: Any, plain: Any) -> list[dict[str, Any]]:
    """Return how far the two estimates are apart."""
    if not plain:
        return []
    rows = []
    for dataset in dict.fromkeys(dataset for dataset, _, _ in plain):
        line = [dataset]
        for learner in LEARNERS:
            apart = np.array(
                [
                    corrected[dataset, row, learner] - np.mean(plain[dataset, row, learner])
                    for row in ROWS
                ]
            )
            line.append(f"{apart.mean():+.3f}, {apart.min():+.3f} to {apart.max():+.3f}")
        rows.append(line)
    title = ".632+ accuracy less that of five folds: mean over the twelve rows, least and most"
    return [{"title": title, "head": ["", *LEARNERS], "rows": rows}]
