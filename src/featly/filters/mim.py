r"""Mutual information of each column with the class, without redundancy.

.. math::

    J(f) = I(f; y)

Lewis, D. D. (1992), Feature selection and feature extraction for text categorization, *Speech and
Natural Language*, 212-217.
"""

from featly.base import Problem, Ranking, rank_by_merit
from featly.core.counts.entropy import ClassInformation
from featly.filters._counting import CountingFilter

__all__ = ["MIM"]


class MIM(CountingFilter):
    r"""Rank columns by their mutual information with the class: the criterion without redundancy.

    The simplest of the family of :class:`InformationCriterion`, and the same as
    :class:`InformationGain` under the name that the family uses. It needs no search, because the
    score of a column does not depend on those chosen before.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser; see :class:`InformationGain`. None: whole numbers are levels
        as they are.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own. "spread": it is spread over the levels in
        proportion, which is much slower.
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
        I(f; y) in bits. With a prior, also a column of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_` times the prior, if there is one.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    InformationGain : The same.
    MRMR : Less the redundancy with chosen columns.

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

    _uses = ("keep", "prior", "costs")

    def _rank_measures(self, problem: Problem, measures: ClassInformation) -> Ranking:
        return rank_by_merit(problem.preference, measures.gain(), shown=True)
