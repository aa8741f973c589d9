r"""Joint mutual information of a column and each chosen one with the class.

.. math::

    J(f; S) = \sum_{s \in S} I(f, s; y)
            = |S| \left( I(f; y) - \frac{1}{|S|} \sum_{s \in S} [I(f; s) - I(f; s | y)] \right)
              + \sum_{s \in S} I(s; y)

Yang, H. H. and Moody, J. (1999), Data visualization and feature selection: new algorithms for
nongaussian data, *Advances in Neural Information Processing Systems* 12, 687-693.
"""

import numpy as np

from featly.core.greedy.search import Criterion, PairInformation
from featly.filters._greedy import GreedyInformation

__all__ = ["JMI"]


class JMI(GreedyInformation):
    r"""Choose columns greedily by what they tell about the class together with each chosen one.

    The last sum is the same for all candidates. Without it, and divided by the number of chosen
    columns, the criterion is the mean of :math:`I(f; y | s)`, which f adds to a chosen column.
    `criterion_` and `scores_` show this mean, because it can be compared between steps.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    max_steps : int, default=100
        Columns that the search chooses one by one; the others follow by the last step.
        Columns to keep are not counted. `n_features_to_select` has no influence on the order.
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
        The mean over the chosen columns s of I(f; y | s), in bits, when the column was chosen or,
        for the others, at the last step; I(f; y) at the first.
    scores_ : float array of shape (n_features,)
        The smallest `criterion_` of the columns up to this one in the order, so that scores fall;
        for a column to keep its own. Weighted by the prior, if there is one.
    relevance_ : float array of shape (n_features,)
        I(f; y) in bits.
    step_ : int array of shape (n_features,)
        The step at which the column was chosen, from 1; 0 if it was not chosen.
    interrupted_ : bool
        Whether Ctrl-C ended the search.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`. A column of one level is never chosen and comes last, even
        where other columns have a negative criterion.

    See Also
    --------
    CMIM : The minimum in place of the mean.
    DISR : Each term divided by the joint entropy.
    MRMR : Redundancy that does not depend on the class.

    References
    ----------
    Yang, H. H. and Moody, J. (1999), Data visualization and feature selection: new algorithms for
    nongaussian data, *Advances in Neural Information Processing Systems* 12, 687-693. Brown, G.,
    Pocock, A., Zhao, M.-J. and Luján, M. (2012), Conditional likelihood maximisation: a unifying
    framework for information theoretic feature selection, *JMLR* 13, 27-66.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import JMI
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "low", "high", "high", "high", "high"],
    ...     "dose again": ["l", "l", "l", "l", "h", "h", "h", "h"],
    ...     "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
    ...     "noise": ["a", "b", "a", "b", "b", "a", "b", "a"],
    ... })
    >>> y = ["well", "well", "well", "ill", "well", "ill", "ill", "ill"]
    >>> table = JMI().fit(frame, y).table()
    >>> table.select("feature", "step", pl.col("criterion", "score").round(3))
    shape: (4, 4)
    ┌────────────┬──────┬───────────┬───────┐
    │ feature    ┆ step ┆ criterion ┆ score │
    │ ---        ┆ ---  ┆ ---       ┆ ---   │
    │ str        ┆ i64  ┆ f64       ┆ f64   │
    ╞════════════╪══════╪═══════════╪═══════╡
    │ dose       ┆ 1    ┆ 0.189     ┆ 0.189 │
    │ sex        ┆ 2    ┆ 0.311     ┆ 0.189 │
    │ noise      ┆ 3    ┆ 0.311     ┆ 0.189 │
    │ dose again ┆ 4    ┆ 0.27      ┆ 0.189 │
    └────────────┴──────┴───────────┴───────┘

    A prior decides between two columns with the same information:

    >>> jmi = JMI(schema={"prior": {"dose again": 2}}).fit(frame, y)
    >>> jmi.table()["feature"].to_list()
    ['dose again', 'sex', 'noise', 'dose']
    """

    _redundancy = False

    def _criterion(self, terms: PairInformation) -> Criterion:
        return _Jmi(terms)


class _Jmi(Criterion):
    def __init__(self, terms: PairInformation) -> None:
        super().__init__(terms)
        self.total = np.zeros_like(self.relevance)

    def add(self, column: int) -> None:
        self.total += self.terms.conditional

    def value(self) -> np.ndarray:
        return self.total // self.n_chosen if self.n_chosen else self.relevance.copy()
