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
from featly.preprocessing import MDLP, Filler
from featly.study import KFold

__all__ = ["select_genes", "table_of_ties"]

EQUAL = 1e-9  # uncertainties that differ by less are the same number


def select_genes(X: FloatArray, y: AnyArray, *, retain_ties: bool) -> list[int]:
    """Select genes by FCBF; with `retain_ties`, genes that tie with the class stay.

    Genes are cut as featly's filters cut them. Of those with the same uncertainty the first of the
    table comes first.
    """
    codes = np.asarray(MDLP(encoding="distinct").fit(X, y).transform(X)).astype(np.int64)
    codes -= codes.min(axis=0)
    levels = [(codes == level).astype(np.float64) for level in range(codes.max() + 1)]
    own = _entropy([indicator.sum(axis=0) for indicator in levels])
    labels = [(y == label).astype(np.float64) for label in np.unique(y)]
    with_class = _uncertainty(levels, own, labels)
    order = np.argsort(-np.round(with_class / EQUAL), kind="stable")
    order = order[with_class[order] > EQUAL]
    left = np.zeros(len(own), bool)
    left[order] = True
    genes = []
    for gene in order:
        if not left[gene]:
            continue
        genes.append(int(gene))
        left[gene] = False
        between = _uncertainty(levels, own, [indicator[:, gene] for indicator in levels])
        left &= between <= with_class + EQUAL if retain_ties else between < with_class - EQUAL
    return genes


def _uncertainty(levels: list[FloatArray], own: FloatArray, other: list[FloatArray]) -> FloatArray:
    """Symmetric uncertainty of every column with another, given by its levels."""
    joint = _entropy([mask @ level for mask in other for level in levels])
    whole = own + _entropy([np.array(mask.sum()) for mask in other])
    return np.asarray(2 * (whole - joint) / np.where(whole > 0, whole, 1))


def _entropy(counts: list[FloatArray]) -> FloatArray:
    """In bits, of the counts of every column."""
    stacked = np.stack(counts)
    share = stacked / stacked.sum(axis=0)
    return np.asarray(-(share * np.log2(np.where(share > 0, share, 1))).sum(axis=0))


def table_of_ties(
    tables: dict[str, tuple[FloatArray, AnyArray]], printed: dict[str, int], folds: int
) -> dict[str, Any]:
    """Genes chosen in the first deal of folds: mean of each rule, beside what was printed."""
    ways: dict[str, Callable[[FloatArray, AnyArray], int]] = {
        "INTERACT": lambda X, y: len(Interact(n_jobs=1).fit(X, y).order_),
        "FCBF": lambda X, y: len(FCBF(n_jobs=1).fit(X, y).order_),
        "FCBF that keeps ties": lambda X, y: len(select_genes(X, y, retain_ties=True)),
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
