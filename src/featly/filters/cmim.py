r"""The least information of a column about the class beside any chosen column.

.. math::

    J(f; S) = \min \left( I(f; y), \min_{s \in S} I(f; y | s) \right)

``include_relevance=False`` leaves :math:`I(f; y)` out once a column is chosen: the formula of
Fleuret's article, of table 2.3 of Bolón-Canedo and others (2015), and informative fragments (IF).

Fleuret, F. (2004), Fast binary feature selection with conditional mutual information, *JMLR* 5,
1531-1555.
"""

import numpy as np

from featly.core.greedy.search import Criterion, PairInformation
from featly.filters._greedy import GreedyInformation

__all__ = ["CMIM"]


class CMIM(GreedyInformation):
    r"""Choose columns greedily by the least they tell about the class beside any chosen one.

    By default the minimum includes :math:`I(f; y)`, as in Fleuret's algorithm and in praznik: a
    column that informs only together with a chosen one is not found. Without it, it is, and the
    method is the same as informative fragments (IF), :math:`\min_s I(f, s; y) - I(s; y)`.

    Parameters
    ----------
    include_relevance : bool, default=True
        Whether the minimum includes what a column tells alone, once another one is chosen.
        False finds the other half of an exclusive or, once one half is chosen.
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
        J in bits when the column was chosen or, for the others, at the last step.
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
    JMI : The mean in place of the minimum.

    Notes
    -----
    With relevance included a criterion can only fall. Fleuret's lazy evaluation uses that to skip
    most columns at most steps. It is not used here, because the order of the columns that are not
    chosen needs all values.

    References
    ----------
    Fleuret, F. (2004), Fast binary feature selection with conditional mutual information, *JMLR* 5,
    1531-1555. Vidal-Naquet, M. and Ullman, S. (2003), Object recognition with informative features
    and linear classification, *ICCV*, 281-288.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import CMIM
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "low", "high", "high", "high", "high"],
    ...     "dose again": ["l", "l", "l", "l", "h", "h", "h", "h"],
    ...     "sex": ["f", "f", "m", "m", "f", "f", "m", "m"],
    ...     "noise": ["a", "b", "a", "b", "b", "a", "b", "a"],
    ... })
    >>> y = ["well", "well", "well", "ill", "well", "ill", "ill", "ill"]
    >>> table = CMIM().fit(frame, y).table()
    >>> table.select("feature", "step", pl.col("criterion", "score").round(3))
    shape: (4, 4)
    ┌────────────┬──────┬───────────┬───────┐
    │ feature    ┆ step ┆ criterion ┆ score │
    │ ---        ┆ ---  ┆ ---       ┆ ---   │
    │ str        ┆ i64  ┆ f64       ┆ f64   │
    ╞════════════╪══════╪═══════════╪═══════╡
    │ dose       ┆ 1    ┆ 0.189     ┆ 0.189 │
    │ sex        ┆ 2    ┆ 0.189     ┆ 0.189 │
    │ dose again ┆ 3    ┆ 0.0       ┆ 0.0   │
    │ noise      ┆ 4    ┆ 0.0       ┆ 0.0   │
    └────────────┴──────┴───────────┴───────┘
    """

    include_relevance: bool = True

    _redundancy = False

    def _criterion(self, terms: PairInformation) -> Criterion:
        return _Cmim(terms, self.include_relevance)


class _Cmim(Criterion):
    def __init__(self, terms: PairInformation, include_relevance: bool) -> None:
        super().__init__(terms)
        self.include_relevance = include_relevance
        self.least = self.relevance.copy()

    def add(self, column: int) -> None:
        if self.n_chosen == 0 and not self.include_relevance:
            self.least = self.terms.conditional.copy()
        np.minimum(self.least, self.terms.conditional, out=self.least)

    def value(self) -> np.ndarray:
        return self.least.copy()
