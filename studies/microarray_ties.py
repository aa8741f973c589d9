r"""A filter that the book's INTERACT of chapter 4 may have been: FCBF that retains ties.

.. math:: \text{drop } g \text{ if } SU(f, g) > SU(g, y) \text{ for a kept } f \text{ before it}

FCBF (Yu and Liu, 2004) drops g if the one is not less than the other; INTERACT (Zhao and Liu, 2007)
drops what consistency does not need, which leaves a few genes of tables with few rows. Table 4.7
prints as many genes for INTERACT as for FCBF where there are no ties (CNS, Colon), and on Brain,
where many genes separate the classes without an error, 36 and 49, as many as for CFS, where FCBF
has one. That is what this rule gives.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from featly import CFS, FCBF, Interact
from featly.basics.typing import AnyArray, FloatArray
from featly.preprocessing import Filler
from featly.study import KFold
from studies.microarray_tables import TIES_KEPT

__all__ = ["table_of_ties"]


def table_of_ties(
    tables: dict[str, tuple[FloatArray, AnyArray]], printed: dict[str, int], folds: int
) -> dict[str, Any]:
    """Genes chosen in the first deal of folds: mean of each rule, beside what was printed."""
    ways: dict[str, Callable[[FloatArray, AnyArray], int]] = {
        "INTERACT": lambda X, y: len(Interact(n_jobs=1).fit(X, y).order_),
        "FCBF": lambda X, y: len(FCBF(n_jobs=1).fit(X, y).order_),
        TIES_KEPT: lambda X, y: len(FCBF(ties="keep", n_jobs=1).fit(X, y).order_),
        "CFS": lambda X, y: len(CFS(locally_predictive=True, n_jobs=1).fit(X, y).order_),
    }
    rows = []
    for name, (X, y) in tables.items():
        numbers: dict[str, list[int]] = {way: [] for way in ways}
        for split in KFold(folds).split(X, y):
            train = Filler().fit(X[split.train]).transform(X[split.train])
            for way, count in ways.items():
                numbers[way].append(count(train, y[split.train]))
        means = [f"{np.mean(gene_counts):.1f}" for gene_counts in numbers.values()]
        rows.append([name, *means, str(printed[name])])
    title = "What table 4.7 prints for INTERACT: genes chosen in the first five folds"
    return {"title": title, "head": ["", *ways, "printed for INTERACT"], "rows": rows}
