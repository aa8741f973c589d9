r"""Missing values of chosen columns: shares by class, and their part in the rank.

With s = -log2 rank of a column, as it is, with its known values shuffled among the rows that have
one, and with values and missing cells shuffled together:

.. math::

    G = \frac{s_\text{values shuffled} - s_\text{all shuffled}}{s - s_\text{all shuffled}}

medians of four draws. 1 says that the column has its rank by its missing values alone, 0 by its
values alone. It is undefined where the column is ranked no better than a shuffled one. Eight fits a
column, so it is made where a fit is quick; :func:`featly.diagnostics.alarms.missing_share` needs
none.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.privacy import round_figures
from featly.diagnostics.alarms.missing import ChosenWithMissing, describe_missing
from featly.diagnostics.reading import read_rows
from featly.reports.context import Evidence
from featly.study import Dataset
from featly.study.evaluate import Protocol, fit_to_all_rows
from featly.table.frames import is_frame

__all__ = ["missing_facts", "share_of_rank"]

DRAWS = 4
QUICK_SECONDS, THOROUGH_SECONDS = 5.0, 30.0  # for all columns
LEAST_DIFFERENCE = 0.5  # of -log2 rank from that of a shuffled column
PARTLY = 0.5


def missing_facts(evidence: Evidence) -> dict[int, dict[str, Any]]:
    """Return facts about the missing values of the chosen columns that have some."""
    data = evidence.data
    incomplete = set(data.columns_with_missing)
    chosen = [c for c in evidence.signature_columns.tolist() if c in incomplete]
    if not chosen or scipy.sparse.issparse(data.X):
        return {}
    part = data.X[:, chosen]
    rows = read_rows(part, evidence.kinds_of_data(chosen))
    columns = describe_missing(rows, data.codes, len(data.classes))
    limit = THOROUGH_SECONDS if evidence.inference.thorough else QUICK_SECONDS
    ends = time.perf_counter() + limit
    seconds = 0.0
    facts = {}
    for position, column in zip(chosen, columns, strict=True):
        share = None
        if time.perf_counter() + 2 * DRAWS * seconds < ends and column.is_related:
            began = time.perf_counter()
            method, protocol = evidence.study.methods[evidence.main], evidence.study.protocol()
            share = share_of_rank(
                data, method, protocol, position, evidence.fitted_main, evidence.seed, ends
            )
            seconds = (time.perf_counter() - began) / (2 * DRAWS)
        facts[position] = _facts(column, share, evidence)
    return facts


def _facts(column: ChosenWithMissing, share: float | None, evidence: Evidence) -> dict[str, Any]:
    labels = evidence.classes
    uses = getattr(evidence.fitted_main, "_reads_missing", False) and not evidence.study.fill
    by = column.share if share is None and uses else share
    is_partly = column.is_related and by is not None and by >= PARTLY
    return {
        "shares": dict(zip(labels, column.shares.tolist(), strict=True))
        if evidence.individuals
        else {},
        # a test of missing values by class would tell how many there are
        "p_value": column.p_value if evidence.individuals else None,
        "share_without_refit": column.share if evidence.individuals else None,
        "share_of_rank": share if evidence.individuals else round_figures(share),
        "chosen_for_missing": is_partly,
        "text": _sentence(column, labels, evidence) if is_partly else "",
    }


def _sentence(column: ChosenWithMissing, labels: list[str], evidence: Evidence) -> str:
    """Return that a column was chosen for its missing values; no class is named that is hidden."""
    if evidence.pools_classes:
        return "chosen at least partly for its missing values"
    return column.sentence(labels, individuals=evidence.individuals)


def share_of_rank(
    data: Dataset,
    method: Any,
    protocol: Protocol,
    column: int,
    fitted_to_all: Any,
    seed: int = 0,
    ends: float = np.inf,
) -> float | None:
    """Return the share of a column's rank that its missing values make; None if undefined.

    Parameters
    ----------
    data : Dataset
    method : method
    protocol : Protocol
        How the method is fitted to all rows.
    column : int
    fitted_to_all : method
        Fitted to the table as it is. It ranks all columns, else there is no share.
    seed : int, default=0
    ends : float, default=inf
        Time of :func:`time.perf_counter` at which to give up.
    """
    if len(getattr(fitted_to_all, "order_", ())) < data.n_features:
        return None
    scores: dict[bool, list[float]] = {True: [], False: []}
    for draw in range(DRAWS):
        for shuffle_all in (False, True):
            if time.perf_counter() > ends:
                return None
            rng = np.random.default_rng([seed, column, draw, shuffle_all])
            shuffled = _shuffle(data, column, rng, shuffle_all=shuffle_all)
            fitted = fit_to_all_rows(shuffled, method, protocol)
            scores[shuffle_all].append(_minus_log_rank(fitted, column))
    full = _minus_log_rank(fitted_to_all, column)
    values, null = (float(np.median(scores[key])) for key in (False, True))
    if full - null < LEAST_DIFFERENCE:
        return None
    return float(np.clip((values - null) / (full - null), 0.0, 1.0))


def _minus_log_rank(fitted: Any, column: int) -> float:
    """Return -log2 of the rank; columns without evidence share the mean of their ranks."""
    rank = np.empty(len(fitted.order_))
    rank[fitted.order_] = np.arange(1, len(rank) + 1)
    evidence = getattr(fitted, "evidence_", None)
    if evidence is not None and not evidence[column]:
        return -float(np.log2(rank[~evidence].mean()))
    return -float(np.log2(rank[column]))


def _shuffle(data: Dataset, column: int, rng: np.random.Generator, *, shuffle_all: bool) -> Dataset:
    """Return the table with a column shuffled: all of its cells, or the known ones."""
    if is_frame(data.X):
        import polars as pl

        series = data.X.to_series(column).alias("column")
        known = series.is_not_null()
        if series.dtype.is_float():
            known = known & ~series.is_nan().fill_null(True)
        rows = np.arange(data.n_rows)
        moved = rows if shuffle_all else np.flatnonzero(known.to_numpy())
        rows[moved] = rng.permutation(moved)
        columns = data.X.get_columns()
        columns[column] = data.X.to_series(column)[rows]
        return replace(data, X=pl.DataFrame(columns))
    X = data.X.copy()
    moved = np.arange(data.n_rows)
    if not shuffle_all:
        moved = np.flatnonzero(~np.isnan(X[:, column]))
    X[moved, column] = X[rng.permutation(moved), column]
    return replace(data, X=X)
