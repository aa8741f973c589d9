r"""Differences of columns between near rows, of the same and of other classes.

.. math::

    W_f = \frac{1}{m} \sum_{i} \Big[ -\frac{1}{k} \sum_{h \in H_i} \mathrm{diff}_f(i, h)
        + \sum_{c \ne y_i} \frac{P(c)}{1 - P(y_i)} \frac{1}{k}
          \sum_{j \in M_i(c)} \mathrm{diff}_f(i, j) \Big]

with the k nearest rows of the same class (hits) and of each other class (misses). Kononenko, I.
(1994), Estimating attributes: analysis and extensions of RELIEF, *ECML-94*, 171-182.
"""

from abc import abstractmethod
from typing import Annotated, Any

import numpy as np

from featly.base import Problem, Questions, Ranker, Ranking, rank_by_merit, stop_with
from featly.basics.params import OneOf, Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import IntArray
from featly.core.relief.relief import Nearest, Rule, relief_weights
from featly.core.sources.questions import moments
from featly.problem.parameters import OnDevice, Seeded, Streaming, Verbose

__all__ = ["NeighbourRanker", "ReliefF"]

MISSING_RULES = ("conditional", "weka")
TIES = ("share", "weka")


class NeighbourRanker(Verbose, Streaming, OnDevice, Ranker):
    """Base class of the methods of the Relief family.

    A subclass implements ``_rule() -> Rule``. One that draws rows is a :class:`SampledRows` first.
    """

    missing: Annotated[str, OneOf(*MISSING_RULES)] = "conditional"

    _kinds = ("continuous", "ordinal", "categorical")
    _uses = ("keep", "prior", "costs")
    _by_neighbours = True
    _missing = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # rows are drawn, or chosen among ties, by their position in the table
        is_sampled = getattr(self, "n_samples", None) is not None
        tags.non_deterministic = is_sampled or getattr(self, "ties", "share") == "weka"
        return tags

    @abstractmethod
    def _rule(self) -> Rule:
        """Return the rule that says which rows count, and how much."""

    def _sample(self, n_rows: int) -> IntArray | None:
        """Return the rows whose neighbours are used; None stands for all."""
        return None

    def _operations(self, n_rows: int, n_features: int) -> float:
        n_sampled = getattr(self, "n_samples", None) or n_rows
        return min(n_sampled, n_rows) * super()._operations(n_rows, n_features)

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, relief_weights)

    def _rank(self, problem: Problem) -> Ranking:
        problem.moments()  # raises an error on infinite values
        with progress_bar(self.verbose, type(self).__name__, unit="rows") as progress:
            relief_result = relief_weights(
                problem.source,
                *problem.classes.groups(),
                self._rule(),
                sample=self._sample(problem.source.n_rows),
                missing=self.missing,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        attributes = {"n_rows_used": relief_result.n_rows, "interrupted": relief_result.interrupted}
        ranking = rank_by_merit(
            problem.preference, relief_result.weights, attributes=attributes, shown=True
        )
        if relief_result.interrupted:
            raise stop_with(ranking)
        return ranking


class SampledRows(Seeded):
    """Rankers that use the neighbours of some rows only."""

    n_samples: Annotated[int | None, Whole(at_least=1)] = None

    def _sample(self, n_rows: int) -> IntArray | None:
        """Draw the rows whose neighbours are used; None stands for all."""
        if self.n_samples is None or self.n_samples >= n_rows:
            return None
        random = np.random.default_rng(int(self.random_state))
        sample: IntArray = random.choice(n_rows, self.n_samples, replace=False)
        return sample


class ReliefF(SampledRows, NeighbourRanker):
    r"""Rank columns by how much more they differ between classes than within, among near rows.

    The distance of two rows is the sum of the differences of all columns. So a column that tells
    classes apart only together with another one gets a large weight, which no test of single
    columns gives. Redundant columns are not detected: copies get the same weight.

    Differences are :math:`|x - x'| / (\max - \min)` in continuous and ordinal columns, 0 or 1 in
    categorical ones. If a class has fewer than `n_neighbors` other rows, all are taken. A row that
    is alone in its class has no hits, and only its misses count. Columns that are constant or have
    no value at all have weight 0.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    n_neighbors : int, default=10
        k, the number of near rows of each class.
    n_samples : int or None, default=None
        m, the number of rows whose neighbours are used, drawn without replacement; the neighbours
        may be any rows. None, or a number as large as that of the rows, takes all rows.
    ties : {"share", "weka"}, default="share"
        How rows count that are all as far away as the k-th nearest. "share": they share what
        the nearer ones leave of k, so the order of the rows does not matter. "weka": some are
        taken and others are not, by their position in the table, as Weka does it.
    missing : {"conditional", "weka"}, default="conditional"
        The difference of a missing value. "conditional": the expected difference, with the
        frequencies of the values that are known in the class of its row. From a level v it is
        :math:`1 - P(v \mid y)`, between two missing values
        :math:`1 - \sum_v P(v \mid y) P(v \mid y')`, and for numbers the mean of
        :math:`|x - x'| / (\max - \min)`. If no value is known in the class, the values of all
        classes are used. "weka": :math:`1 - 1 / \text{number of levels}` in a categorical column;
        in others the largest difference that the known value can have, and 1 between two missing
        values.
    random_state : int, default=0
        Seed of the random numbers.
        Used to draw rows.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used: the score of a column is multiplied by its prior, or
        divided by it where the score is negative. The prior does not change the distances.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts rows.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        The weights, from -1 to 1, to a precision of :math:`10^{-12}`. With a prior, also a column
        of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_`, weighted by the prior if there is one.
    n_rows_used_ : int
        m, the rows whose neighbours were used.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    Relief : One neighbour, and misses of all classes together.
    MultiSURF : All rows within a distance as neighbours.

    Notes
    -----
    ``ties="weka", missing="weka"`` gives the weights of Weka's ``ReliefFAttributeEval``. With
    continuous columns few distances tie, and `ties` does not matter. With a few categorical columns
    most distances tie: on the three monk's problems (six columns) the weights differ by up to 0.07,
    0.02 and 0.12, and permuting the rows changes Weka's by as much. On hepatitis (155 rows, 167
    missing values) the two rules for missing values differ by up to 0.04.

    Up to 4,096 rows, one half of the table of distances is computed. More rows are compared in
    panels, in bounded memory. After Ctrl-C the weights are those of the panels that are done.

    References
    ----------
    Kononenko, I. (1994), Estimating attributes: analysis and extensions of RELIEF, *ECML-94*,
    171-182. Robnik-Sikonja, M. and Kononenko, I. (2003), Theoretical and empirical analysis of
    ReliefF and RReliefF, *Machine Learning* 53, 23-69.

    Examples
    --------
    The class is whether two answers agree; neither answer informs by itself.

    >>> import polars as pl
    >>> from featly import ReliefF
    >>> frame = pl.DataFrame({
    ...     "first": ["yes", "yes", "no", "no"] * 4,
    ...     "second": ["yes", "no", "yes", "no"] * 4,
    ...     "age": [41, 52, 38, 60, 47, 55, 49, 58, 44, 61, 39, 50, 57, 42, 46, 53],
    ... })
    >>> agree = ["agree", "differ", "differ", "agree"] * 4
    >>> ReliefF(n_neighbors=3).fit(frame, agree).table().select("feature", pl.col("score").round(3))
    shape: (3, 2)
    ┌─────────┬────────┐
    │ feature ┆ score  │
    │ ---     ┆ ---    │
    │ str     ┆ f64    │
    ╞═════════╪════════╡
    │ first   ┆ 0.625  │
    │ second  ┆ 0.375  │
    │ age     ┆ -0.199 │
    └─────────┴────────┘
    """

    n_neighbors: Annotated[int, Whole(at_least=1)] = 10
    ties: Annotated[str, OneOf(*TIES)] = "share"

    def _rule(self) -> Rule:
        return Nearest(int(self.n_neighbors), first_come=self.ties == "weka")
