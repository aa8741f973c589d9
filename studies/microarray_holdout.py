"""Breast of Bolón-Canedo et al. (2015), chapter 4, by its official split: tables 4.8 to 4.10.

Methods and learners as in microarray; 78 rows to train on, 19 to test. Only the 24,481 genes, as in
the book: the seven clinical columns are left out. Prostate's test rows are not here.

In the copy here missing values are marked (36,458 of the training rows', 5,568 of the test rows').
In the book's they do not seem to be: 0.68, which it prints as the largest F1 of the training rows,
is that of the best complete gene, while an incomplete one has 0.71. So there are two tables here:
"Breast", missing values filled with medians of the training rows, and "Breast, NaN as 100", with
100 for a missing value, far outside the others, which go from -2 to 2. Every printed figure is
compared with both.

How claims are tested was written down before the first run. A printed figure is near if it is
within one test row of ours, give or take 0.01: one split of 19 rows makes no interval. For the same
reason that the SVM is better than C4.5 and naive Bayes there cannot be tested. (At first figures
were to be judged by "Breast" alone. The first run showed that with 100 for a missing value many
are equal to the last row; so that has verdicts of its own, claims with "100" in their names.)
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from featly.study import Claim, Dataset, Finding, Holdout, Results, Study
from studies import microarray
from studies.microarray_claims import (
    CUT_OFF,
    LEARNERS,
    ROWS,
    SUBSETS,
    by_split,
    genes,
    judge_rounding,
    largest_f1,
)
from studies.microarray_tables import (
    BREAST_F1,
    BREAST_GENES,
    SHOWN,
    TIES_KEPT,
    read_printed_breast,
)

BREAST, CODED = "Breast", "Breast, NaN as 100"
CODE = 100.0
TESTED = {"accuracy": 19, "sensitivity": 7, "specificity": 12}  # rows behind a figure
TABLES = dict(zip(LEARNERS, ("4.8", "4.9", "4.10"), strict=True))


def datasets() -> dict[str, Dataset]:
    """Breast with missing values, and with 100 instead of them."""
    X, y, part = microarray.read(BREAST)
    coded = np.where(np.isnan(X), CODE, X)
    return {
        name: Dataset.of(table, y, name=name, official=part)
        for name, table in ((BREAST, X), (CODED, coded))
    }


def study() -> Study:
    """The plan."""
    return Study(
        microarray.methods_and_ties(),
        datasets(),
        Holdout(),
        sizes=microarray.SIZES,
        learner=microarray.learners(),
        balanced=False,
        metrics=("accuracy", "bcr"),
        fill=True,
        claims=claims(),
        title="book, chapter 4: Breast by its official split",
    )


# ---- claims --------------------------------------------------------------------------------------
def within_a_row(
    dataset: str, row: str, learner: str, metric: str, published: float
) -> Callable[[Results], Finding]:
    """Return a check whether a figure is within one test row of ours."""

    def check(results: Results) -> Finding:
        ours = float(by_split(results, metric)[dataset, row, learner][0])
        rows = abs(ours - published) * TESTED[metric]
        holds = abs(ours - published) <= 1 / TESTED[metric] + CUT_OFF
        return Finding(holds, f"{rows:.0f} of {TESTED[metric]} test rows apart", ours)

    return check


def f1(results: Results) -> Finding:
    """E2 of the training rows."""
    X, y, part = microarray.read(BREAST)
    return judge_rounding(largest_f1(X[part == "train"], y[part == "train"]), BREAST_F1)


def check_gene_number(method: str, published: int) -> Callable[[Results], Finding]:
    """Return a check of E4: as many genes, to the last one."""

    def check(results: Results) -> Finding:
        ours, coded = (genes(results, name, method)[0] for name in (BREAST, CODED))
        why = f"one split, no interval; with missing values as 100 {coded:.0f}"
        return Finding(bool(ours == published), why, float(ours))

    return check


def claims() -> list[Claim]:
    """E2, E4 and all figures of tables 4.8 to 4.10 that are Breast's."""
    all_claims = [
        Claim("E2 Breast", "largest F1 of a gene of Breast, training rows", f1, BREAST_F1, "4.4.2"),
        *(
            Claim(
                f"E4 {method}",
                f"genes that {method} chooses on Breast",
                check_gene_number(method, number),
                number,
                "table 4.7",
            )
            for method, number in BREAST_GENES.items()
        ),
        Claim.untestable(
            "4.5.1 SVM",
            "Breast and Prostate: the SVM is notably better than C4.5 and naive Bayes",
            "one split of 19 rows makes no interval",
            where="4.5.1",
        ),
        Claim.untestable(
            "4.5.1 Prostate",
            "all figures of Prostate",
            "its 34 test rows are not here",
            where="tables 4.8-4.10",
        ),
    ]
    for dataset, mark in ((BREAST, ""), (CODED, " 100")):
        all_claims += printed_figures(dataset, mark)
    return all_claims


def printed_figures(dataset: str, mark: str) -> list[Claim]:
    """All of tables 4.8 to 4.10 that are Breast's, compared with one of our tables."""
    figure_claims = []
    for learner, table in TABLES.items():
        for row, figures in read_printed_breast(learner).items():
            for metric, value in zip(TESTED, figures, strict=True):
                after = "on all genes" if row == "none" else f"after {row}"
                figure_claims.append(
                    Claim(
                        f"T{table} {row} {metric}{mark}",
                        f"{learner} {after}, {dataset}: {metric}",
                        within_a_row(dataset, row, learner, metric, value), value, f"table {table}",
                    )
                )  # fmt: skip
    return figure_claims


# ---- the page ------------------------------------------------------------------------------------
def extras(results: Results) -> dict[str, Any]:
    """Tables 4.8 to 4.10 again, and how many figures are near in both tables."""
    return {"tables": [*(table_of(results, name) for name in (BREAST, CODED)), counts(results)]}


def table_of(results: Results, dataset: str) -> dict[str, Any]:
    """Accuracy, sensitivity, specificity after the three learners (printed)."""
    ours = {metric: by_split(results, metric) for metric in TESTED}
    rows = []
    for row in SHOWN:
        is_subset = row in (*SUBSETS, TIES_KEPT)
        number = f" [{genes(results, dataset, row)[0]:.0f}]" if is_subset else ""
        line = [row + number]
        for learner in LEARNERS:
            our_text = " ".join(
                f"{ours[metric][dataset, row, learner][0]:.2f}" for metric in TESTED
            )
            theirs = " ".join(f"{value:.2f}" for value in read_printed_breast(learner)[row])
            line.append(f"{our_text} ({theirs})")
        rows.append(line)
    title = (
        f"Tables 4.8 to 4.10 again, {dataset}: accuracy, sensitivity, specificity (printed); "
        "in brackets how many genes a subset filter chose"
    )
    return {"title": title, "head": ["after", *LEARNERS], "rows": rows}


def counts(results: Results) -> dict[str, Any]:
    """Printed figures that are near, and those that are equal but for cutting off."""
    rows = []
    for dataset in results.about["datasets"]:
        line = [dataset]
        for learner in LEARNERS:
            n_near, n_equal = 0, 0
            printed = read_printed_breast(learner)
            for row in ROWS:
                for metric, value in zip(TESTED, printed[row], strict=True):
                    finding = within_a_row(dataset, row, learner, metric, value)(results)
                    n_near += bool(finding.holds)
                    n_equal += abs(float(finding.ours or 0.0) - value) <= CUT_OFF
            line.append(f"{n_near} near, {n_equal} equal, of {len(ROWS) * len(TESTED)}")
        rows.append(line)
    return {
        "title": "Printed figures that are near ours, and equal to ours",
        "head": ["table", *LEARNERS],
        "rows": rows,
    }
