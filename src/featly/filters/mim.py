r"""Mutual information of each column with the class, without redundancy.

.. math::

    J(f) = I(f; y)

Lewis, D. D. (1992), Feature selection and feature extraction for text categorization, *Speech and
Natural Language*, 212-217.
"""

from featly.base import Problem, Ranking
from featly.filters._counting import CountingRanker
from featly.filters.favouring import rank_with_prior, relative_prior

__all__ = ["MIM"]


class MIM(CountingRanker):
    r"""Rank columns by their mutual information with the class: the criterion without redundancy.

    The simplest of the family of :class:`InformationCriterion`, and the same as
    :class:`InformationGain`, under the name that it has there. There is nothing to search for:
    what a column is worth does not depend on those chosen before.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction, None for half, or a rule:
        "rule-of-thumb", "largest-gap", "two-variances".
    discretizer : str, discretiser or None, default="mdlp"
        How continuous and ordinal columns are cut into levels: "mdlp", "pkid", "equal-frequency",
        "equal-width", or an instance of one; None: numbers are levels as they stand. See
        :class:`InformationGain`.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own. "spread": it is shared out to the levels in
        proportion, which is much slower.
    schema : Schema, dict or None, default=None
        What is known about the columns; `keep` and `prior` are used: the score of a favoured column
        is multiplied by its prior.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute. "auto" takes a GPU for a table that lies on it, or that is large, where
        CuPy and a GPU are there; "cuda" insists on it. The ranking is the same.
    memory_limit : int, str or None, default=None
        How much of a table on disk may be in memory, such as "2GB"; None is a quarter of what is
        free. See :func:`featly.scan`. A table in memory is used where it lies.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        I(f; y) in bits. With a prior, also a column of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_` times the prior, if there is one.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    InformationGain : The same.
    MRMR : Less what a column has in common with those chosen.

    References
    ----------
    Lewis, D. D. (1992), Feature selection and feature extraction for text categorization, *Speech
    and Natural Language*, 212-217. Brown, G., Pocock, A., Zhao, M.-J. and Luján, M. (2012),
    Conditional likelihood maximisation: a unifying framework for information theoretic feature
    selection, *JMLR* 13, 27-66.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import MIM
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "low", "high", "high", "high", "high"],
    ...     "dose again": ["l", "l", "l", "l", "h", "h", "h", "h"],
    ...     "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
    ...     "noise": ["a", "b", "a", "b", "b", "a", "b", "a"],
    ... })
    >>> y = ["well", "well", "well", "ill", "well", "ill", "ill", "ill"]
    >>> MIM().fit(frame, y).table().select("feature", "rank", pl.col("score").round(3))
    shape: (4, 3)
    ┌────────────┬──────┬───────┐
    │ feature    ┆ rank ┆ score │
    │ ---        ┆ ---  ┆ ---   │
    │ str        ┆ i64  ┆ f64   │
    ╞════════════╪══════╪═══════╡
    │ dose       ┆ 1    ┆ 0.189 │
    │ dose again ┆ 2    ┆ 0.189 │
    │ sex        ┆ 3    ┆ 0.189 │
    │ noise      ┆ 4    ┆ 0.0   │
    └────────────┴──────┴───────┘
    """

    _uses = ("keep", "prior")

    def _rank(self, problem: Problem) -> Ranking:
        prior = relative_prior(self, problem)
        return rank_with_prior(problem, self._information(problem).gain(), prior)
