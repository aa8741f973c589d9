r"""One ranking for many classes from a list for each pair of them.

.. math::

    r_{fj} = 1 - \frac{\mathrm{pos}_{fj}}{p}, \qquad
    R_f = \frac1M \sum_{j=1}^{M} \max\left(0,\ 1 - \frac{\mathrm{pos}_{fj}}{k + 1}\right)

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from featly.base import Problem, Questions, Ranker, Ranking, Weighted
from featly.basics.errors import ParameterError
from featly.basics.params import Number, OneOf, Rule, Whole, check_parameters, field
from featly.basics.resources import Resources
from featly.combine.class_pairs import DECOMPOSITION, rank_by_classes
from featly.combine.rankings import RULES, TIE_SD
from featly.problem.parameters import Verbose
from featly.registry import METHODS, find_method, method_class

__all__ = ["PairwiseRanker"]


class RankerOrName(Rule):
    """A ranker of featly, or its name; not one for pairs itself."""

    words: Sequence[str] = (
        "a method of featly that ranks all columns, such as SVMRFE()",
        "its name (`featly methods` lists them)",
    )
    outside: Sequence[Any] = (Ranker, "cfs", "pairwise")
    names: Sequence[str] = tuple(METHODS)

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a ranker, or the name of one."""
        if isinstance(value, str):
            value = method_class(value)() if find_method(value) else None
        return isinstance(value, Ranker) and not isinstance(value, PairwiseRanker)


RANKER = RankerOrName()


class PairwiseRanker(Verbose, Weighted, Ranker):
    r"""Rank for every pair of classes, and make one list of all the lists.

    An average over the classes undervalues a column that only tells one class from the others: in
    most of the comparisons it is useless. Here every pair of classes ("ovo") or every class against
    the rest ("ova") has a list of its own, made by any ranker, and a rule that uses the tops of the
    lists combines them. The default rule, k-first, counts only the first k positions of each list,

    .. math::

        R_f = \frac1M \sum_{j=1}^{M} \max\left(0,\ 1 - \frac{\mathrm{pos}_{fj}}{k + 1}\right)

    for column f at position :math:`\mathrm{pos}_{fj}` of list j; ties are ordered by the mean
    position.

    Parameters
    ----------
    ranker : Ranker or str, default="svm-rfe"
        The ranker for two classes: an instance such as ``SVMRFE(C=0.1)``, or the name of a method
        as in ``featly methods``. It is copied for every problem and not fitted itself. Methods for
        many classes may be used as well.
    decomposition : {"ovo", "ova"}, default="ovo"
        A problem for every pair of classes, on their rows alone, or for every class against all
        others.
    combine : str, default="k-first"
        The rule: "average-sd", "best", "third-quartile-sd", "k-first", "condorcet", "schulze",
        "borda", "reciprocal-rank", "robust-rank" or "stuart"; see
        :func:`featly.combine.rankings.combine_rankings`.
    k : int, float or None, default=None
        For k-first: a number of positions or a fraction of the columns. None is a tenth of them,
        at least 1.
    tie_sd : {"larger", "smaller"}, default="larger"
        For "average-sd" and "third-quartile-sd": which standard deviation of the positions comes
        first among equals.
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The ranker gets it. Columns to keep come first in every list and in the result; the rule
        sees the positions of the others among themselves.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        Problems run side by side.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts lists.

    Attributes
    ----------
    rankings_ : dict
        The position of every column, 1 is best, for each problem: the key is the pair of classes,
        or the class for "ova". Columns of equal score have the mean of their positions.
    problems_ : list of str
        The problems in words, such as "a vs b" or "a vs rest".
    positions_ : float array of shape (n_features, n_problems)
        The same positions side by side, in the order of `problems_`.
    n_first_ : int
        k, the number of positions that k-first uses and ``table()`` counts as first, after columns
        to keep.
    n_ties_ : int
        Columns that share their score with another one; their order is that of the tie rule.
    interrupted_ : bool
        Whether Ctrl-C ended the work early. The lists that were ready are combined.
    scores_ : float array of shape (n_features,)
        The statistic of the rule; larger is better.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    MulticlassSVMRFE : One elimination for all classes together.
    featly.combine.rankings.combine_rankings : The rules, for lists from elsewhere.
    featly.plot_pairs : A plot of the positions.

    Notes
    -----
    ``table()`` shows for every column its best position and the list that has it (`best_in`), the
    number of lists that have it among the first k (`among_first`), and its position in each list.
    A class of one row is treated like any other, though its lists are of little value. With two
    classes there is one list, and the ranking is that of the ranker.

    Columns that tie in a list have the mean of their positions; in the order of the table, the left
    one would be ahead in every list. If a round of an elimination ends within columns of equal
    weight, it drops those on the right, and they do not tie with the others; only columns of weight
    0 tie across rounds.

    c classes have c (c - 1) / 2 pairs with 2 / c of the rows each on average. If a ranking costs
    n p, that is c - 1 rankings of the whole table. The table is read once; a pair copies its own
    rows. Positions take 8 p bytes a list, some five times that while they are combined.

    There are no p-values of "robust-rank" and "stuart": pairs of classes share rows, so their lists
    are not independent.

    :doc:`/guide/multiclass` has results on the paper's artificial problems.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216.

    Examples
    --------
    Column 7 only tells class "d" from the others, column 2 only class "a":

    >>> import numpy as np
    >>> from featly import SVMRFE, PairwiseRanker
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(list("abcd"), 30)
    >>> X = rng.normal(size=(120, 20))
    >>> X[:, 7] += 3 * (y == "d")
    >>> X[:, 2] += 3 * (y == "a")
    >>> pairs = PairwiseRanker(SVMRFE(), n_features_to_select=2).fit(X, y)
    >>> pairs.problems_
    ['a vs b', 'a vs c', 'a vs d', 'b vs c', 'b vs d', 'c vs d']
    >>> pairs.positions_[[2, 7]].astype(int)
    array([[ 1,  1,  2,  3,  9, 19],
           [ 9, 19,  1,  2,  1,  1]])
    >>> pairs.get_support(indices=True)
    array([2, 7])
    """

    ranker: Annotated[Any, RANKER] = field(default="svm-rfe", kw_only=False)
    decomposition: Annotated[str, DECOMPOSITION] = "ovo"
    combine: Annotated[str, OneOf(*RULES)] = "k-first"
    k: Annotated[int | float | None, Whole(at_least=1), Number(above=0, at_most=1)] = None
    tie_sd: Annotated[str, TIE_SD] = "larger"

    # ---- what it takes and uses is what the ranker does --------------------------------------
    @property
    def _kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._ranker_or_class()._kinds

    @property
    def _uses(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._ranker_or_class()._uses

    @property
    def _most_prior(self) -> float:  # type: ignore[override]
        return self._ranker_or_class()._most_prior

    @property
    def _missing(self) -> bool:  # type: ignore[override]
        return self._ranker_or_class()._missing

    @property
    def _sparse(self) -> bool:  # type: ignore[override]
        return self._ranker_or_class()._sparse

    @property
    def _takes_bytes(self) -> bool:  # type: ignore[override]
        return self._ranker_or_class()._takes_bytes

    @property
    def _weighs_targets(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._ranker_or_class()._weighs_targets

    def _resources(self) -> Resources:
        return self._resolve_ranker()._resources()

    def _asks(self, target: str = "classes") -> Questions:
        return self._resolve_ranker()._asks(target)

    def _operations(self, n_rows: int, n_features: int) -> float:
        return self._resolve_ranker()._operations(n_rows, n_features)

    def _is_scale_dependent(self) -> bool:
        return self._resolve_ranker()._is_scale_dependent()

    def _takes_integers(self) -> bool:
        return self._resolve_ranker()._takes_integers()

    def _is_greedy(self) -> bool:
        return self._resolve_ranker()._is_greedy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ranker = self._ranker_or_class()
        if not isinstance(ranker, type):
            tags.non_deterministic = ranker.__sklearn_tags__().non_deterministic
        return tags

    def _ranker_or_class(self) -> Ranker | type[Ranker]:
        """Return the ranker, or the class Ranker if it is invalid, for display in notebooks."""
        return self._resolve_ranker() if RANKER.accepts(self.ranker) else Ranker

    def _display_name(self) -> str:
        return f"PairwiseRanker({type(self._resolve_ranker()).__name__}())"

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; ``ranker__C`` is the C of the ranker, which may be given by name.

        Parameters
        ----------
        **parameters

        Returns
        -------
        self
        """
        ranker = parameters.get("ranker", self.ranker)
        inner = any(name.startswith("ranker__") for name in parameters)
        if inner and isinstance(ranker, str) and find_method(ranker):
            parameters["ranker"] = method_class(ranker)()
        super().set_params(**parameters)
        return self

    def _resolve_ranker(self) -> Ranker:
        """Return the ranker, or raise ParameterError."""
        RANKER.check("ranker", self.ranker)
        ranker: Ranker = self.ranker
        return method_class(ranker)() if isinstance(ranker, str) else ranker

    # ---- fitting ----------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        inner = self._resolve_ranker()
        for name in ("schema", "n_features_to_select"):
            if getattr(inner, name) is not None:
                raise ParameterError(
                    f"ranker={inner!r} has its own {name}: give it to PairwiseRanker instead"
                )
        multiclass = getattr(inner, "multiclass", None)
        if multiclass is not None:
            raise ParameterError(
                f"multiclass={multiclass!r} of the ranker has no meaning here: give "
                "decomposition= to PairwiseRanker"
            )
        check_parameters(inner)

    def _rank(self, problem: Problem) -> Ranking:
        return rank_by_classes(
            self._resolve_ranker(),
            problem,
            self.decomposition,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            method=self.combine,
            k=self.k,
            tie_sd=self.tie_sd,
        )
