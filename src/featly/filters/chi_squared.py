r"""Pearson's statistic of the counts of levels in classes.

.. math::

    \chi^2 = \sum_{ij} \frac{(n_{ij} - n_{i\cdot} n_{\cdot j} / n)^2}{n_{i\cdot} n_{\cdot j} / n}

Pearson, K. (1900), On the criterion that a given system of deviations..., *Philosophical Magazine*
50, 157-175; Liu, H. and Setiono, R. (1995), Chi2: feature selection and discretization of numeric
attributes, *Proc. 7th IEEE ICTAI*, 388-391.

Beside both: where few rows are expected in a cell, p-values are by random tables with the same
margins, :func:`featly.core.counts.contingency.chi_squared_p`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featly.base import Problem, Questions, Ranking, rank_by_merit
from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.counts.codes import count_levels, spread_missing
from featly.core.counts.coding import code_columns
from featly.core.counts.contingency import (
    Tables,
    chi2_tail,
    chi_squared,
    chi_squared_p,
    has_small_expected_counts,
)
from featly.core.runtime.parallel import run_blocks, split
from featly.core.stats.tails import false_discovery_rates
from featly.filters._counting import CountingFilter, is_cut_by_class

__all__ = ["ChiSquared"]


@dataclass(frozen=True)
class FewRows:
    """Tables in which few rows are expected in some cell, and the columns that they are of."""

    columns: IntArray
    tables: Tables

    @classmethod
    def none(cls, n_classes: int) -> "FewRows":
        """Return no table."""
        return cls(
            np.empty(0, np.int64), Tables(np.empty(0, np.int64), np.zeros(1, int), n_classes)
        )


Measures = tuple[FloatArray, FloatArray, FewRows]


class ChiSquared(CountingFilter):
    r"""Rank columns by Pearson's statistic of their levels against the classes.

    Numbers are cut into levels first. This is the test of the contingency table, unlike
    scikit-learn's ``chi2``, which uses the values themselves as counts. The score is the
    statistic, as in Weka; it grows with the number of levels. For an order by p-values see
    :class:`UnivariateTest`.

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
        `keep` and `costs` are used. `prior` is not: it does not enter a p-value.
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
    scores_ : float array of shape (n_features,)
        The statistic; 0 for a column that was not cut or is constant.
    freedom_ : float array of shape (n_features,)
        Degrees of freedom; 1 where there is nothing to test.
    p_value_ : float array of shape (n_features,)
        Probability of a statistic at least as large where column and class are independent: by
        the tail of chi-squared, or, where an expected count is below 1 or a fifth of them below 5,
        by random tables with the same numbers of rows in levels and classes, the more of them the
        smaller p is. Where `missing` is "spread" and leaves parts of rows, by the tail. NaN for
        numbers cut by "mdlp": their cuts were chosen to make it small; and where a `sample_weight`
        is no whole number, as the sum of the weights is then no number of rows.
    q_value_ : float array of shape (n_features,)
        Benjamini-Hochberg over the columns that have a p-value.
    note_ : array of str of shape (n_features,)
        The number of random tables that a p-value rests on; empty where it is by the tail.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    UnivariateTest : Fisher's exact test, and tests for numbers without cuts.
    InformationGain : The likelihood ratio instead of Pearson's statistic.

    References
    ----------
    Pearson, K. (1900), On the criterion that a given system of deviations from the probable in the
    case of a correlated system of variables is such that it can be reasonably supposed to have
    arisen from random sampling, *Philosophical Magazine* 50, 157-175. Liu, H. and Setiono, R.
    (1995), Chi2: feature selection and discretization of numeric attributes, *Proc. 7th IEEE
    ICTAI*, 388-391.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import ChiSquared
    >>> frame = pl.DataFrame({
    ...     "dose": [1.0, 1.2, 0.9, 1.1, 3.1, 3.4, 2.9, 3.3],
    ...     "sex": ["f", "m", "f", "m", "m", "f", "f", "m"],
    ...     "site": ["a", "a", "b", "a", "b", "b", "c", "b"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> ranked = ChiSquared().fit(frame, outcome)
    >>> ranked.table().select("feature", "rank", pl.col("score").round(3))
    shape: (3, 3)
    ┌─────────┬──────┬───────┐
    │ feature ┆ rank ┆ score │
    │ ---     ┆ ---  ┆ ---   │
    │ str     ┆ i64  ┆ f64   │
    ╞═════════╪══════╪═══════╡
    │ dose    ┆ 1    ┆ 8.0   │
    │ site    ┆ 2    ┆ 5.0   │
    │ sex     ┆ 3    ┆ 0.0   │
    └─────────┴──────┴───────┘
    """

    _uses = ("keep", "costs")
    _has_q_values = True

    def _rank(self, problem: Problem) -> Ranking:
        has_tests = bool(self._is_tested(problem).any())

        def measure(tables: Tables) -> Measures:
            statistic, freedom = chi_squared(tables, self.n_jobs)
            few = find_few(tables, self.n_jobs) if has_tests else FewRows.none(tables.n_classes)
            return statistic, freedom, few

        return self._rank_measures(problem, self._join(self._map_tables(problem, measure)))

    def _measure(self, tables: Tables, n_rows: float) -> Measures:
        return (*chi_squared(tables, self.n_jobs), find_few(tables, self.n_jobs))

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, count_levels, spread_missing, chi_squared)

    def _join(self, parts: Sequence[Measures]) -> Measures:
        statistic, freedom = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        low = np.cumsum([0, *(len(part[0]) for part in parts)])
        columns = [part[2].columns + start for part, start in zip(parts, low, strict=False)]
        few = FewRows(
            np.concatenate(columns),
            Tables.concatenate([part[2].tables for part in parts]),
        )
        return statistic, freedom, few

    def _is_tested(self, problem: Problem) -> BoolArray:
        """Return the columns that have a p-value: those whose cuts the classes did not choose."""
        by_class = is_cut_by_class(self.discretizer)
        tested = (problem.columns.kinds == CATEGORICAL) | (not by_class)
        return np.asarray(tested & problem.weights_are_counts)

    def _rank_measures(self, problem: Problem, measures: Measures) -> Ranking:
        statistic, freedom, few = measures
        tested = self._is_tested(problem)
        p, q = np.full((2, len(statistic)), np.nan)
        note = np.full(len(statistic), "", object)
        if tested.any():

            def tail_of_block(block: tuple[int, int]) -> FloatArray:
                return chi2_tail(statistic[slice(*block)], freedom[slice(*block)])[0]

            blocks = split(len(statistic), 8192)
            p[:] = np.concatenate(run_blocks(tail_of_block, blocks, self.n_jobs))
            p[~tested] = np.nan
            which = np.flatnonzero(tested[few.columns])
            columns = few.columns[which]
            p[columns], drawn = chi_squared_p(
                few.tables,
                which,
                statistic[columns],
                n_columns=int(tested.sum()),
                n_jobs=self.n_jobs,
            )
            note[columns] = [f"{count:,} random tables" for count in drawn.tolist()]
            probabilities = p[tested]
            q[tested] = false_discovery_rates(probabilities, np.argsort(probabilities))
        return rank_by_merit(
            problem.preference,
            statistic,
            extra={"freedom": freedom, "p_value": p, "q_value": q, "note": note},
        )


def find_few(tables: Tables, n_jobs: int | None = None) -> FewRows:
    """Return the tables whose chi-squared has not the tail of that law; only those of whole counts.

    Missing values that are spread over the levels leave parts of rows, which cannot be drawn.
    """
    columns = np.flatnonzero(has_small_expected_counts(tables, n_jobs))
    parts = [tables.counts[tables.start[k] : tables.start[k + 1]] for k in columns.tolist()]
    is_whole = [part.dtype.kind in "iu" or bool((part == np.rint(part)).all()) for part in parts]
    parts = [part for part, whole in zip(parts, is_whole, strict=True) if whole]
    if not parts:
        return FewRows.none(tables.n_classes)
    start = np.cumsum([0, *(len(part) for part in parts)])
    counts = np.concatenate(parts).astype(np.int64)
    return FewRows(columns[is_whole], Tables(counts, start, tables.n_classes))
