r"""Permutation importance in a random forest.

.. math::

    I_f = \frac1T \sum_t \frac{1}{|O_t|} \sum_{i \in O_t}
          \Big( [h_t(x_i) = y_i] - [h_t(x_i^{\pi(f)}) = y_i] \Big)

Breiman, L. (2001), Random forests, *Machine Learning* 45, 5-32.
"""

from typing import Annotated, Any, ClassVar

import numpy as np

from featly.base import Problem, Ranker, Ranking, Weighted, rank_by_merit, stop_with
from featly.basics.errors import ParameterError
from featly.basics.params import Number, OneOf, Whole
from featly.basics.progress import progress_bar
from featly.core.trees.forest import Forest, ForestInterrupted, grow_forest
from featly.core.trees.rank_codes import code_table
from featly.problem.parameters import Seeded, Verbose

__all__ = ["ForestRanker"]


class ForestRanker(Verbose, Seeded, Weighted, Ranker):
    r"""Rank columns by the accuracy that a random forest loses when they are permuted.

    Every tree is grown on a bootstrap sample of the rows and tested on the rows outside it. Then
    one column after the other is permuted among those rows; the drop in accuracy, averaged over the
    trees, is the score of the column. It finds interactions that a test of single columns misses,
    and takes columns of all kinds as they are: categories are split into two *sets* of levels,
    missing values go to the better side, and only the order of numbers matters.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    n_trees : int, default=10000
        Number of trees. They are not stored.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of candidate columns, drawn anew at every node: the root or the logarithm of the
        number of columns (rounded down), a count, a fraction, or None for all.
    min_samples_leaf : int, default=1
        Least number of rows on either side of a split; a row counts as often as it was drawn.
    max_depth : int or None, default=None
        Largest number of splits from the root to a leaf; None grows trees until leaves are pure.
    scaled : bool, default=False
        Whether each score is divided by its standard error, an option of R's randomForest. The
        quotient grows with the number of trees and is no significance test (Strobl and Zeileis,
        2008).
    random_state : int, default=0
        Seed of the random numbers.
        Each tree has its own stream of them, so the result is the same on every machine.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `costs` are used.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts grown trees.

    Attributes
    ----------
    scores_ : float array of shape (n_features,)
        Mean drop in accuracy, a fraction; divided by its standard error if `scaled`. Zero for a
        column that no tree uses, such as a constant one; a useless one may be negative by chance.
    importance_error_ : float array of shape (n_features,)
        Standard error of the mean over the trees: its variation with other random numbers, not
        with other rows.
    gini_ : float array of shape (n_features,)
        Mean over trees of the summed decrease of the Gini impurity, in rows, as in R.
    oob_error_ : float
        Error rate by the votes of the trees that were grown without a row; NaN if every tree was
        grown with all rows.
    oob_confusion_ : int array of shape (n_classes, n_classes)
        The same as counts: true classes in rows, predicted ones in columns, in the order of
        `classes_`.
    n_trees_ : int
        Number of grown trees: `n_trees`, or fewer after Ctrl-C.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early. The scores are then those of the trees grown by then.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    FTest : Scores every column by itself, in one pass.

    Notes
    -----
    Descriptions of random forests differ in these points.

    *Splits* are by Gini impurity, ties at random: candidates come in random order and the first of
    equal ones is taken. A column that is constant in a node counts as a candidate, as in R; but if
    none of the candidates can split the node, more are drawn until one can, as in scikit-learn.
    A cut lies halfway, in ranks over the whole table, between the two values next to it.

    *Categories.* For two classes, levels are ordered by their share of a class; the best cut in
    that order is the best of all subsets (Breiman et al., 1984). For more classes they are ordered
    along the first principal component of their class probabilities (Coppersmith et al., 1999),
    which is close to the best. Both orders are made in every node, as in R's randomForest. With
    ``respect.unordered.factors="order"`` ranger makes the order once from all rows, including those
    out of the bag, and so overestimates the value of columns of many levels for new rows.

    *Missing values* are tried on both sides of every cut, and alone against all others (Twala et
    al., 2008), so that informative missing values are found. In a category they are one more level.

    *Weights of rows*: with `sample_weight`, the rows of a tree are drawn in proportion to their
    weights, as many as there are rows, as with ranger's ``case.weights``. Rows out of the bag count
    once each.

    *New levels and new missing values*, which a node did not have in training, go to its larger
    side.

    *Equal columns* (equal ranks, equal levels) get the mean of their scores, because it is chance
    which of them a tree uses. They share importance: each of two copies has less than one column
    alone. So do correlated columns, because the others keep the information of one that is
    permuted.

    *Bias.* The Gini importance favours columns of many values, which have more possible cuts
    (Strobl et al., 2007). Permutation among rows out of the bag has no such bias, but a larger
    variance for these columns. Measured on 200 tables of 120 rows and six columns of noise (2, 4,
    10, 20 and 50 levels, and a continuous one): the 50 levels have the largest `gini_` in all 200.
    The mean score is within 0.001 of zero for every column, as it should be; but its standard
    deviation grows from 0.002 for 2 levels to 0.016 for 50, which come first in 64 of the 200
    tables, and not in 33. Check a high rank of a category of many levels with another table.

    A fit costs about :math:`T\, n \log n \sqrt p` operations for T trees, and two bytes a cell of
    the table, four above 65,534 rows; a sparse table becomes dense.

    References
    ----------
    Breiman, L. (2001), Random forests, *Machine Learning* 45, 5-32. Breiman, L., Friedman, J. H.,
    Olshen, R. A. and Stone, C. J. (1984), *Classification and Regression Trees*. Coppersmith, D.,
    Hong, S. J. and Hosking, J. R. M. (1999), Partitioning nominal attributes in decision trees,
    *Data Mining and Knowledge Discovery* 3, 197-217. Strobl, C., Boulesteix, A.-L., Zeileis, A.
    and Hothorn, T. (2007), Bias in random forest variable importance measures, *BMC
    Bioinformatics* 8, 25. Strobl, C. and Zeileis, A. (2008), Danger: high power! Exploring the
    statistical properties of a test for random forest variable importance, *COMPSTAT 2008*. Twala,
    B., Jones, M. C. and Hand, D. J. (2008), Good methods for coping with missing data in decision
    trees, *Pattern Recognition Letters* 29, 950-956.

    Examples
    --------
    Two columns that inform only together:

    >>> import numpy as np
    >>> from featly import ForestRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 6))
    >>> y = np.where(X[:, 2] * X[:, 4] > 0, "same", "opposite")
    >>> forest = ForestRanker(n_features_to_select=2, n_trees=500).fit(X, y)
    >>> sorted(forest.order_[:2].tolist())
    [2, 4]

    A category is one column:

    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "age": rng.integers(30, 70, 120),
    ...     "site": rng.choice(["lung", "breast", "colon", "skin"], 120),
    ... })
    >>> outcome = frame["site"].is_in(["lung", "skin"]).to_numpy()
    >>> forest = ForestRanker(n_trees=100).fit(frame, outcome)
    >>> forest.table().select("feature", "kind", "rank")
    shape: (2, 3)
    ┌─────────┬─────────────┬──────┐
    │ feature ┆ kind        ┆ rank │
    │ ---     ┆ ---         ┆ ---  │
    │ str     ┆ str         ┆ i64  │
    ╞═════════╪═════════════╪══════╡
    │ site    ┆ categorical ┆ 1    │
    │ age     ┆ continuous  ┆ 2    │
    └─────────┴─────────────┴──────┘
    >>> forest.oob_error_
    0.0
    """

    n_trees: Annotated[int, Whole(at_least=1)] = 10000
    max_features: Annotated[
        str | int | float | None,
        OneOf("sqrt", "log2"),
        Whole(at_least=1),
        Number(above=0, at_most=1),
    ] = "sqrt"
    min_samples_leaf: Annotated[int, Whole(at_least=1)] = 1
    max_depth: Annotated[int | None, Whole(at_least=1)] = None
    scaled: bool = False

    _kinds = ("continuous", "ordinal", "categorical")
    _missing = True
    _reads_missing = True
    # for scikit-learn, as for its own forests: a weight is a chance to be drawn
    _expected_failed_checks: ClassVar[dict[str, str]] = {
        f"check_sample_weight_equivalence_on_{form}_data": "rows are drawn at random by weight"
        for form in ("dense", "sparse")
    }
    _uses = ("keep", "costs")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # the bootstrap draws rows by position
        return tags

    def _rank(self, problem: Problem) -> Ranking:
        n_candidates = _count_candidates(self.max_features, problem.source.n_features)
        problem.moments()  # raises an error on infinite values
        # classes in the order of appearance, so random draws do not depend on their names
        y = problem.classes.codes
        _, first = np.unique(y, return_index=True)
        rank = np.argsort(np.argsort(first))
        was_interrupted = False
        with progress_bar(self.verbose, "Forest", unit="trees") as progress:
            try:
                forest = grow_forest(
                    code_table(problem.source, self.n_jobs),
                    rank[y],
                    n_trees=int(self.n_trees),
                    n_candidates=n_candidates,
                    min_samples_leaf=int(self.min_samples_leaf),
                    max_depth=None if self.max_depth is None else int(self.max_depth),
                    random_state=int(self.random_state),
                    weights=problem.weights,
                    n_jobs=self.n_jobs,
                    progress=progress,
                )
            except ForestInterrupted as stopped:
                forest, was_interrupted = stopped.forest, True
        scores = forest.importance
        if self.scaled:
            certain = forest.error < np.finfo(np.float64).eps
            scores = scores / np.where(certain, 1.0, forest.error)
        confusion = _confusion(forest, rank, y)
        n_tested = int(confusion.sum())
        n_wrong = n_tested - int(np.trace(confusion))
        ranking = rank_by_merit(
            problem.preference,
            scores,
            extra={"importance_error": forest.error, "gini": forest.gini},
            attributes={
                "oob_error": n_wrong / n_tested if n_tested else float("nan"),
                "oob_confusion": confusion,
                "n_trees": forest.n_trees,
                "interrupted": was_interrupted,
            },
        )
        if was_interrupted:
            raise stop_with(ranking)
        return ranking


def _count_candidates(max_features: Any, n_features: int) -> int:
    """Return the number of columns that `max_features` stands for."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        return max(1, int(getattr(np, max_features)(n_features)))
    if isinstance(max_features, int | np.integer):
        if max_features > n_features:
            raise ParameterError(
                f"max_features={max_features!r}, but the table has {n_features} columns"
            )
        return int(max_features)
    return max(1, int(max_features * n_features))


def _confusion(forest: Forest, rank: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Count rows by true and voted class, without those that are in every bootstrap sample."""
    votes = forest.votes[:, rank]  # back to the classes in their order
    has_votes = votes.any(axis=1)
    # ties go to the class that appears first in the table, so names do not matter
    winner = np.argsort(rank)[forest.votes.argmax(axis=1)]
    confusion = np.zeros((len(rank), len(rank)), np.int64)
    np.add.at(confusion, (y[has_votes], winner[has_votes]), 1)
    return confusion
