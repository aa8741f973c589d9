r"""Pearson's statistic of the counts of levels in classes.

.. math::

    \chi^2 = \sum_{ij} \frac{(n_{ij} - n_{i\cdot} n_{\cdot j} / n)^2}{n_{i\cdot} n_{\cdot j} / n}

Pearson, K. (1900), On the criterion that a given system of deviations..., *Philosophical Magazine*
50, 157-175; Liu, H. and Setiono, R. (1995), Chi2: feature selection and discretization of numeric
attributes, *Proc. 7th IEEE ICTAI*, 388-391.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.base import Problem, Questions, Ranking, rank_by_merit
from featly.basics.kinds import CATEGORICAL
from featly.core.counts.codes import count_levels, spread_missing
from featly.core.counts.coding import code_columns
from featly.core.counts.contingency import Tables, chi2_tail, chi_squared
from featly.core.runtime.parallel import run_blocks, split
from featly.core.stats.tails import false_discovery_rates
from featly.filters._counting import CountingFilter, is_cut_by_class

__all__ = ["ChiSquared"]


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
        Probability of a statistic at least as large where column and class are independent, by
        the tail of chi-squared, which is too small where few rows are expected in a cell: with a
        level of 5% and 12 of 60 rows in the smaller class, 0.04% of independent columns had p up
        to 0.0001 (``studies/p_values.py``). `UnivariateTest(categorical="chi2")` draws random
        tables for those. NaN for numbers cut by "mdlp": their cuts were chosen to make it small;
        and where a `sample_weight` is no whole number, as the sum of the weights is then no number
        of rows.
    q_value_ : float array of shape (n_features,)
        Benjamini-Hochberg over the columns that have a p-value.
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

    def _measure(self, tables: Tables, n_rows: float) -> Any:
        return chi_squared(tables, self.n_jobs)

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, count_levels, spread_missing, chi_squared)

    def _join(self, parts: Sequence[Any]) -> Any:
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _rank_measures(self, problem: Problem, measures: Any) -> Ranking:
        statistic, freedom = measures
        by_class = is_cut_by_class(self.discretizer)
        tested = (problem.columns.kinds == CATEGORICAL) | (not by_class)
        tested &= problem.weights_are_counts
        p, q = np.full((2, len(statistic)), np.nan)
        if tested.any():
            tested_statistic, tested_freedom = statistic[tested], freedom[tested]

            def tail_of_block(block: tuple[int, int]) -> np.ndarray:
                return chi2_tail(tested_statistic[slice(*block)], tested_freedom[slice(*block)])[0]

            probabilities = np.concatenate(
                run_blocks(tail_of_block, split(len(tested_statistic), 8192), self.n_jobs)
            )
            p[tested], q[tested] = (
                probabilities,
                false_discovery_rates(probabilities, np.argsort(probabilities)),
            )
        return rank_by_merit(
            problem.preference,
            statistic,
            extra={"freedom": freedom, "p_value": p, "q_value": q},
        )
