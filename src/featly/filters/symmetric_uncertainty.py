r"""Mutual information in units of the mean entropy.

.. math::

    SU(X, Y) = \frac{2\, I(X; Y)}{H(X) + H(Y)}

Press, W. H. et al. (1988), *Numerical Recipes in C*, section 14.4. (The book of Bolón-Canedo et al.
prints it without the 2 as eq. 2.6.)
"""

from featly.base import Problem, Ranking, rank_by_merit
from featly.core.counts.entropy import ClassInformation
from featly.filters._counting import CountingFilter

__all__ = ["SymmetricUncertainty"]


class SymmetricUncertainty(CountingFilter):
    r"""Rank columns by their symmetric uncertainty with the class.

    Numbers are cut into levels first. The score is 0 for a column that is independent of the
    class, and 1 where column and class determine each other. :class:`CFS`, :class:`FCBF` and
    :class:`Interact` are built on it.

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
        SU(X, Y), from 0 to 1; 0 for a column that was not cut or is constant. With a prior, also
        a column of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_` times the prior, if there is one.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    InformationGain : The mutual information itself.
    FCBF : Leaves out columns that others make redundant.

    Notes
    -----
    Entropies are sums of whole numbers in fixed point, so the order of rows, levels and classes
    changes no bit, and a column that is exactly independent of the class has exactly 0. Agrees
    with Weka's SymmetricalUncertAttributeEval where `missing` is "spread".

    References
    ----------
    Press, W. H. et al. (1988), *Numerical Recipes in C*, section 14.4.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import SymmetricUncertainty
    >>> frame = pl.DataFrame({
    ...     "dose": [1.0, 1.2, 0.9, 1.1, 3.1, 3.4, 2.9, 3.3],
    ...     "sex": ["f", "m", "f", "m", "m", "f", "f", "m"],
    ...     "site": ["a", "a", "b", "a", "b", "b", "c", "b"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> ranked = SymmetricUncertainty().fit(frame, outcome)
    >>> ranked.table().select("feature", "rank", pl.col("score").round(3))
    shape: (3, 3)
    ┌─────────┬──────┬───────┐
    │ feature ┆ rank ┆ score │
    │ ---     ┆ ---  ┆ ---   │
    │ str     ┆ i64  ┆ f64   │
    ╞═════════╪══════╪═══════╡
    │ dose    ┆ 1    ┆ 1.0   │
    │ site    ┆ 2    ┆ 0.494 │
    │ sex     ┆ 3    ┆ 0.0   │
    └─────────┴──────┴───────┘
    """

    _uses = ("keep", "prior", "costs")

    def _rank_measures(self, problem: Problem, measures: ClassInformation) -> Ranking:
        return rank_by_merit(problem.preference, measures.uncertainty(), shown=True)
