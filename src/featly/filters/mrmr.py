r"""Relevance of a column, less its mean redundancy with the chosen columns.

.. math::

    J(f; S) = I(f; y) - \frac{1}{|S|} \sum_{s \in S} I(f; s), \qquad\text{or}\qquad
    J(f; S) = I(f; y) \Big/ \frac{1}{|S|} \sum_{s \in S} I(f; s)

Peng, H., Long, F. and Ding, C. (2005), Feature selection based on mutual information: criteria of
max-dependency, max-relevance, and min-redundancy, *IEEE Transactions on Pattern Analysis and
Machine Intelligence* 27, 1226-1238.
"""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from featly.base import Problem, Questions, Ranking
from featly.basics.errors import Column, DataError, ParameterError, Setting
from featly.basics.kinds import CATEGORICAL, KINDS
from featly.basics.params import OneOf
from featly.core.greedy.search import Criterion, PairInformation, forward_search
from featly.core.ranking.ordering import round_scores
from featly.core.stats.correlations import Correlations, correlations, mid_ranks
from featly.filters._greedy import GreedyInformation, greedy_ranking
from featly.filters.f_test import asks_of_target, f_of_target
from featly.registry import methods_that, suggest
from featly.table.schema import Columns

__all__ = ["MRMR"]

MEASURES = ("information", "f", "rank")
FORMS = ("difference", "quotient")
LEAST_REDUNDANCY = 0.001  # keeps a quotient finite
MOST_RELEVANCE = 1e300  # stands for an infinite F


class _KindsByMeasure:
    """Kinds of column: all of them for information, numbers for correlations."""

    def __get__(self, method: Any, owner: Any = None) -> tuple[str, ...]:
        numbers = method is not None and method.measure in ("f", "rank")
        return KINDS[:2] if numbers else KINDS


class MRMR(GreedyInformation):
    r"""Choose columns greedily by maximum relevance and minimum redundancy.

    With ``measure="information"`` both are mutual informations of columns cut into levels. With
    ``measure="f"`` the relevance is F of analysis of variance over the classes, and the redundancy
    the absolute correlation of Pearson. With ``measure="rank"`` both are those of the mid-ranks, so
    the redundancy is Spearman's. With "f" and "rank" numbers are not cut, and columns must be
    continuous or ordinal.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    measure : {"information", "f", "rank"}, default="information"
        How relevance and redundancy are measured.
    form : {"difference", "quotient"} or None, default=None
        Relevance minus or over mean redundancy. None: the difference for information, the quotient
        for "f" and "rank", whose relevance and redundancy have different units (MID, FCQ of Ding
        and Peng). In a quotient, a mean redundancy under 0.001 counts as 0.001.
    max_steps : int, default=100
        Columns that the search chooses one by one; the others follow by the last step.
        Columns to keep are not counted. `n_features_to_select` has no influence on the order.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser; see :class:`InformationGain`. None: whole numbers are levels
        as they are. Used with ``measure="information"`` only.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own. "spread": it is spread over the levels in
        proportion, which is much slower. Used with ``measure="information"`` only: with others, a
        missing value is left out of F, and counts as the mean of its column in a correlation.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used. Columns to keep are chosen first, in the order given.
        At every step the criterion of a column is multiplied by its prior, or divided by it where
        the criterion is negative.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.
    cache : path or None, default=None
        Folder for packed columns and unfinished searches; the next fit goes on from there.
        It serves fits to the same table and target, also after Ctrl-C.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts steps.

    Attributes
    ----------
    criterion_ : float array of shape (n_features,)
        J when the column was chosen or, for the others, at the last step; the relevance alone at
        the first. In bits for the difference of informations.
    scores_ : float array of shape (n_features,)
        The smallest `criterion_` of the columns up to this one in the order, so that scores fall;
        for a column to keep its own. Weighted by the prior, if there is one.
    relevance_ : float array of shape (n_features,)
        I(f; y) in bits, or F (1e300 where it is infinite).
    step_ : int array of shape (n_features,)
        The step at which the column was chosen, from 1; 0 if it was not chosen.
    interrupted_ : bool
        Whether Ctrl-C ended the search.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`. A column of one level is never chosen and comes last, even
        where other columns have a negative criterion.

    See Also
    --------
    JMI : Counts only redundancy that does not help to tell the classes apart.
    MIFS : The sum of redundancies in place of the mean.

    References
    ----------
    Peng, H., Long, F. and Ding, C. (2005), Feature selection based on mutual information: criteria
    of max-dependency, max-relevance, and min-redundancy, *IEEE Transactions on Pattern Analysis and
    Machine Intelligence* 27, 1226-1238. Ding, C. and Peng, H. (2005), Minimum redundancy feature
    selection from microarray gene expression data, *Journal of Bioinformatics and Computational
    Biology* 3, 185-205.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import MRMR
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "low", "high", "high", "high", "high"],
    ...     "dose again": ["l", "l", "l", "l", "h", "h", "h", "h"],
    ...     "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
    ...     "noise": ["a", "b", "a", "b", "b", "a", "b", "a"],
    ... })
    >>> y = ["well", "well", "well", "ill", "well", "ill", "ill", "ill"]
    >>> table = MRMR().fit(frame, y).table()
    >>> table.select("feature", "step", pl.col("criterion", "score").round(3))
    shape: (4, 4)
    ┌────────────┬──────┬───────────┬────────┐
    │ feature    ┆ step ┆ criterion ┆ score  │
    │ ---        ┆ ---  ┆ ---       ┆ ---    │
    │ str        ┆ i64  ┆ f64       ┆ f64    │
    ╞════════════╪══════╪═══════════╪════════╡
    │ dose       ┆ 1    ┆ 0.189     ┆ 0.189  │
    │ sex        ┆ 2    ┆ 0.189     ┆ 0.189  │
    │ noise      ┆ 3    ┆ 0.0       ┆ 0.0    │
    │ dose again ┆ 4    ┆ -0.145    ┆ -0.145 │
    └────────────┴──────┴───────────┴────────┘
    """

    measure: Annotated[str, OneOf(*MEASURES)] = "information"
    form: Annotated[str | None, OneOf(*FORMS)] = None

    _by_class = False
    _kinds = _KindsByMeasure()

    def _takes_integers(self) -> bool:
        return self.measure == "information"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.measure != "information":
            for name, default in (("discretizer", "mdlp"), ("missing", "level")):
                value = getattr(self, name)
                if not isinstance(value, str) or value != default:
                    raise ParameterError(
                        f"{name}={value!r} is of no use with measure={self.measure!r}, which does "
                        "not cut numbers into levels: leave it out, or give measure='information'"
                    )

    def _check_schema(self, columns: Columns, target: str) -> None:
        nominal = np.flatnonzero(columns.kinds == CATEGORICAL)
        if self.measure != "information" and len(nominal):
            able = methods_that(kind="categorical", target=target)
            raise DataError(
                "column ",
                Column(columns.names[int(nominal[0])]),
                " is categorical, and ",
                Setting("measure", self.measure),
                " takes numbers: leave it out, declare it continuous or ordinal in the schema if "
                "its values have an order, give ",
                Setting("measure", "information"),
                f", or use another method that takes it: {suggest(n for n in able if n != 'MRMR')}",
            )
        super()._check_schema(columns, target)

    def _criterion(self, terms: PairInformation | Correlations) -> Criterion:
        default = "difference" if self.measure == "information" else "quotient"
        quotient = (self.form or default) == "quotient"
        return _Quotient(terms) if quotient else _Difference(terms)

    def _asks(self, target: str = "classes") -> Questions:
        if self.measure == "information":
            return super()._asks(target)
        return (*asks_of_target(target), correlations, forward_search)

    def _rank(self, problem: Problem) -> Ranking:
        if self.measure == "information":
            return super()._rank(problem)
        f_of_columns = f_of_target(problem)[0]  # raises an error on infinite values
        source = problem.source
        if self.measure == "rank":
            source = mid_ranks(source)
            by_rank = replace(problem, target=problem.target.to_ranks())
            f_of_columns = f_of_target(by_rank, source)[0]
        relevance = np.minimum(f_of_columns, MOST_RELEVANCE)
        terms = correlations(source, source.moments(), round_scores(relevance))
        return greedy_ranking(self, problem, self._criterion(terms), relevance)


class _Difference(Criterion):
    def __init__(self, terms: PairInformation | Correlations) -> None:
        super().__init__(terms)
        self.redundancy = np.zeros_like(self.relevance)

    def add(self, column: int) -> None:
        self.redundancy += self.terms.redundancy

    def value(self) -> np.ndarray:
        if self.n_chosen == 0:
            return self.relevance.copy()
        exact = self.relevance.dtype.kind == "i"
        mean = self.redundancy // self.n_chosen if exact else self.redundancy / self.n_chosen
        return self.relevance - mean


class _Quotient(_Difference):
    def value(self) -> np.ndarray:
        if self.n_chosen == 0:
            return self.relevance.copy()
        mean = self.redundancy / (self.n_chosen * self.terms.scale)
        quotient = self.relevance / self.terms.scale / np.maximum(mean, LEAST_REDUNDANCY)
        return self.to_fixed_point(quotient) if self.relevance.dtype.kind == "i" else quotient
