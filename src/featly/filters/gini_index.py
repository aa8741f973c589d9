r"""The decrease of the Gini impurity of the class by the levels of a column.

.. math::

    G(X) = \sum_v p_v \sum_c p_{c|v}^2 - \sum_c p_c^2

Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984), *Classification and Regression
Trees*, Wadsworth, chapter 4.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.base import Problem, Questions, Ranking, rank_by_merit
from featly.basics.typing import FloatArray
from featly.core.counts.codes import count_levels, spread_missing
from featly.core.counts.coding import code_columns
from featly.core.counts.contingency import Tables
from featly.filters._counting import CountingFilter

__all__ = ["GiniIndex", "gini_gain"]

GRID = 2.0**40  # gains are rounded to multiples of its inverse, so that no order of levels shows


class GiniIndex(CountingFilter):
    r"""Rank columns by how much purer the classes are within their levels (Gini index).

    Numbers are cut into levels first. The impurity :math:`1 - \sum_c p_c^2` is the chance that two
    rows, drawn with replacement, have different classes; the score is what remains of it less
    within the levels. As with information gain, many levels help a column.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp" (Fayyad and Irani, by the classes),
        "pkid", "equal-frequency" or "equal-width" (ten bins; an
        instance such as ``EqualWidth(n_bins=5)`` for others). None: numbers are levels as they are;
        they must be whole and of at most 65,534 different values.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own, so that missingness that depends on the
        class counts. "spread": it is spread over the levels in proportion, as Weka does.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used: the score of a column is multiplied by its prior.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        G(X), from 0 to below 1; 0 for a column that was not cut or is constant. With a prior,
        also a column of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_` times the prior, if there is one.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    InformationGain : The same with the entropy as impurity.
    ForestRanker : Trees whose splits are chosen by this measure.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984), *Classification and
    Regression Trees*, Wadsworth, chapter 4.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import GiniIndex
    >>> frame = pl.DataFrame({
    ...     "dose": [1.0, 1.2, 0.9, 1.1, 3.1, 3.4, 2.9, 3.3],
    ...     "sex": ["f", "m", "f", "m", "m", "f", "f", "m"],
    ...     "site": ["a", "a", "b", "a", "b", "b", "c", "b"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> ranked = GiniIndex().fit(frame, outcome)
    >>> ranked.table().select("feature", "rank", pl.col("score").round(3))
    shape: (3, 3)
    ┌─────────┬──────┬───────┐
    │ feature ┆ rank ┆ score │
    │ ---     ┆ ---  ┆ ---   │
    │ str     ┆ i64  ┆ f64   │
    ╞═════════╪══════╪═══════╡
    │ dose    ┆ 1    ┆ 0.5   │
    │ site    ┆ 2    ┆ 0.312 │
    │ sex     ┆ 3    ┆ 0.0   │
    └─────────┴──────┴───────┘
    """

    _uses = ("keep", "prior", "costs")

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, count_levels, spread_missing)

    def _measure(self, tables: Tables, n_rows: float) -> FloatArray:
        return gini_gain(tables)

    def _join(self, parts: Sequence[Any]) -> FloatArray:
        return np.concatenate(parts)

    def _rank_measures(self, problem: Problem, measures: FloatArray) -> Ranking:
        return rank_by_merit(problem.preference, measures, shown=True)


def gini_gain(tables: Tables) -> FloatArray:
    """Return the decrease of the impurity by the levels of every table.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.contingency import Tables
    >>> gini_gain(Tables(np.array([4, 0, 0, 4, 2, 2, 2, 2]), np.array([0, 4, 8]), 2)).tolist()
    [0.5, 0.0]
    """
    cells = tables.counts.reshape(-1, tables.n_classes).astype(np.float64)
    table_of_level = np.repeat(np.arange(len(tables)), np.diff(tables.start) // tables.n_classes)

    def sum_levels(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(table_of_level, values, minlength=len(tables)), np.float64)

    by_class = np.stack([sum_levels(counts) for counts in cells.T])
    sizes, total = cells.sum(axis=1), by_class.sum(axis=0)
    within = sum_levels((cells**2).sum(axis=1) / np.where(sizes > 0, sizes, 1.0))
    rows = np.where(total > 0, total, 1.0)
    gain = (within - (by_class**2).sum(axis=0) / rows) / rows
    return np.asarray(np.maximum(np.rint(gain * GRID) / GRID, 0.0))
