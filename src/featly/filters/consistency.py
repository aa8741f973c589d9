r"""A subset in which rows of different classes do not look alike.

.. math::

    R(S) = \frac{1}{n} \sum_{v} \Bigl( n_v - \max_c n_{vc} \Bigr)

is the rate of inconsistency of a subset S: over the patterns v that rows show in its columns, the
share of rows outside the largest class of their pattern. Dash, M. and Liu, H. (2003),
Consistency-based search in feature selection, *Artificial Intelligence* 151, 155-176.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import numpy as np

from featly.base import Problem, Selection, stop_with
from featly.basics.errors import ParameterError
from featly.basics.params import Number, OneOf, Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.counts.codes import Codes, gather_columns
from featly.core.counts.consistency import Groups
from featly.core.counts.uncertainty import uncertainty
from featly.core.ranking.ordering import best_first as falling
from featly.core.ranking.subset_search import SubsetSearchResult, best_first, greedy_forward
from featly.core.runtime.parallel import run_blocks, split
from featly.filters._counting import CountingSelector, Discretizing
from featly.problem.parameters import Seeded, Streaming, Verbose

__all__ = ["Consistency"]


SEARCHES = ("best-first", "forward", "lvf")
MAX_STALE = 5
N_TRIES = 1000
BLOCK = 1024  # columns


class Consistency(Verbose, Streaming, Seeded, Discretizing, CountingSelector):
    r"""Choose a small subset whose rate of inconsistency is low.

    Numbers are cut into levels first. A missing value is a value of its own, and two missing
    values are equal. Adding a column never makes a subset less consistent, so the search is for few
    columns that are as consistent as all. Constant columns are left out.

    Parameters
    ----------
    search : {"best-first", "forward", "lvf"}, default="best-first"
        "forward" adds the column that leaves the fewest inconsistent rows, until none reduces
        them: it misses columns that only matter together. "best-first" goes on where no column
        improves a subset, and from second-best subsets. "lvf", the Las Vegas filter, draws random
        subsets smaller than the best one; one becomes the best if it is as consistent as all
        columns, or if its rate is at most `threshold`.
    threshold : float, default=0.0
        From 0 to below 1: a rate of inconsistency that is low enough; lower rates count the same.
    max_stale : int or None, default=None
        For "best-first": it ends after so many expansions in a row without improvement. None is 5.
    n_tries : int or None, default=None
        For "lvf": number of random subsets. None is 1,000.
    random_state : int, default=0
        Seed of the random numbers.
        Used by "lvf" only.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser. None: whole numbers are levels as they are.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Columns to keep are in every subset. `prior` is not used: the rate is that of a subset, not
        of a column.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Levels beyond it go to a temporary file, one byte for each value.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts steps; the total is their number if the search ends as early as it can.

    Attributes
    ----------
    rate_ : float
        Rate of inconsistency of the chosen columns; Weka's merit is ``1 - rate_``.
    uncertainty_ : float array of shape (n_features,)
        Symmetric uncertainty of every column with the class.
    n_evaluated_ : int
        Number of subsets whose rate was computed.
    empty_ : bool
        Whether the chosen columns are no more consistent than the empty subset. One is chosen
        nevertheless, because a selection has at least one.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`. After "lvf" columns are in order of their
        uncertainty.

    See Also
    --------
    Interact : Eliminates backward from all columns, by the same measure.
    CFS : Uses pairs of columns only.

    Notes
    -----
    Agrees with Weka's ConsistencySubsetEval with BestFirst and GreedyStepwise if numbers are cut
    alike: Weka uses ``Discretize -E``, see :class:`CFS`. If rows of different classes are equal in
    all columns, the smallest rate is above 0, and single rows decide which columns are added: a
    `threshold` of the share of a few rows keeps the subset small.

    "lvf" draws a number of columns uniformly from those below that of the best subset, and then so
    many columns uniformly. They are numbered by their uncertainty with the class, so their order in
    the table does not matter.

    References
    ----------
    Dash, M. and Liu, H. (2003), Consistency-based search in feature selection, *Artificial
    Intelligence* 151, 155-176. Liu, H. and Setiono, R. (1996), A probabilistic approach to feature
    selection - a filter solution, *ICML 1996*, 319-327.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import Consistency
    >>> frame = pl.DataFrame({
    ...     "left": ["a", "a", "b", "b"] * 2,
    ...     "right": ["a", "b", "a", "b"] * 2,
    ...     "noise": ["a", "b", "b", "b", "a", "a", "a", "b"],
    ... })
    >>> odd = ["yes", "no", "no", "yes"] * 2
    >>> chosen = Consistency().fit(frame, odd)
    >>> chosen.get_feature_names_out().tolist(), chosen.rate_
    (['left', 'right'], 0.0)
    """

    search: Annotated[str, OneOf(*SEARCHES)] = "best-first"
    threshold: Annotated[float, Number(at_least=0, below=1)] = 0.0
    max_stale: Annotated[int | None, Whole(at_least=1)] = None
    n_tries: Annotated[int | None, Whole(at_least=1)] = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, search in (("max_stale", "best-first"), ("n_tries", "lvf")):
            if getattr(self, name) is not None and self.search != search:
                raise ParameterError(f"{name} is for search={search!r}: leave it at None")

    def _select(self, problem: Problem) -> Selection:
        codes, keep = self._codes(problem), problem.preference.keep
        y, n_groups = problem.target.groups()
        with_class = uncertainty(codes, y + 1, n_groups)
        varies = _find_varying(codes)
        features = np.union1d(np.flatnonzero(varies), keep).astype(np.int64)
        if len(features) == 0:
            features = np.array([0])
        allowed = int(np.floor(self.threshold * len(y) + 1e-9))
        measure = ConsistencyMeasure(gather_columns(codes, features), y, n_groups, allowed)
        start = np.searchsorted(features, keep)
        with progress_bar(self.verbose, "Consistency", "steps") as progress:
            search_result = self._search(measure, start, falling(with_class[features]), progress)
        inconsistent = measure.groups(search_result.subset, exactly=True).inconsistent
        chosen = features[list(search_result.subset)]
        empty = inconsistent == measure.groups(()).inconsistent
        evidence = with_class > 0
        if not empty:  # the chosen columns tell something together
            evidence[chosen] = varies[chosen]
        selection = Selection(
            chosen,
            evidence=evidence,
            extra={"uncertainty": with_class},
            attributes={
                "rate": inconsistent / len(y),
                "n_evaluated": search_result.n_evaluated,
                "empty": empty,
            },
        )
        if search_result.interrupted:
            raise stop_with(selection)
        return selection

    def _search(
        self,
        measure: "ConsistencyMeasure",
        keep: IntArray,
        order: IntArray,
        progress: Callable[[int, int], Any] | None,
    ) -> SubsetSearchResult:
        if self.search == "lvf":
            n_tries, seed = self.n_tries or N_TRIES, int(self.random_state)
            return las_vegas(
                measure, order, keep, n_tries=n_tries, random_state=seed, progress=progress
            )
        options: dict[str, Any] = {
            "start": keep.tolist(),
            "merit": measure.merit(keep),
            "threshold": 0.5 / len(measure.y),  # a single row is an improvement
            "progress": progress,
        }
        n_features = measure.codes.n_features
        if self.search == "forward":
            return greedy_forward(n_features, measure, **options)
        return best_first(n_features, measure, max_stale=self.max_stale or MAX_STALE, **options)


class ConsistencyMeasure:
    """Shares of rows that are consistent in a subset with each of some columns added.

    Parameters
    ----------
    codes : Codes
    y : int64 array
    n_classes : int
    allowed : int
        Up to so many inconsistent rows count the same.
    """

    allowed: int
    n_classes: int
    y: IntArray
    codes: Codes

    def __init__(self, codes: Codes, y: IntArray, n_classes: int, allowed: int) -> None:
        self.codes, self.y, self.n_classes, self.allowed = codes, y, n_classes, allowed

    def __call__(self, subset: tuple[int, ...], candidates: IntArray) -> FloatArray:
        inconsistent = self.groups(subset).count_with_each(candidates)
        return 1.0 - np.maximum(inconsistent, self.allowed) / len(self.y)

    def merit(self, subset: Iterable[int]) -> float:
        """Return the merit of the subset itself."""
        return 1.0 - float(max(self.groups(subset).inconsistent, self.allowed)) / len(self.y)

    def groups(self, subset: Iterable[int], *, exactly: bool = False) -> Groups:
        """Group the rows that are equal in a subset, no finer than needed unless `exactly`."""
        groups = Groups(self.codes, self.y, self.n_classes)
        return groups.add(subset, 0 if exactly else self.allowed)


def las_vegas(
    measure: ConsistencyMeasure,
    order: IntArray,
    keep: IntArray,
    *,
    n_tries: int,
    random_state: int,
    progress: Callable[[int, int], Any] | None = None,
) -> SubsetSearchResult:
    """Return the smallest of some random subsets that are as consistent as all columns are.

    Parameters
    ----------
    measure : ConsistencyMeasure
    order : int64 array
        All columns; random numbers are positions in it.
    keep : int64 array
        Columns that are in every subset.
    n_tries : int
    random_state : int
    progress : function of (int, int) or None
        Called after every try with (tries, `n_tries`).
    """
    random = np.random.default_rng(random_state)
    free = order[~np.isin(order, keep)]
    best = free
    least = 0 if len(keep) else 1
    enough = max(measure.allowed, measure.groups([*keep, *free]).inconsistent)
    tried = 0
    try:
        while tried < n_tries and len(best) > least:
            size = int(random.integers(least, len(best)))
            candidate = free[np.sort(random.choice(len(free), size, replace=False))]
            groups = Groups(measure.codes, measure.y, measure.n_classes)
            if groups.add([*keep, *candidate], enough).inconsistent <= enough:
                best = candidate
            tried += 1
            if progress is not None:
                progress(tried, n_tries)
        stopped = False
    except KeyboardInterrupt:
        stopped = True
    subset = (*keep.tolist(), *best.tolist())
    return SubsetSearchResult(subset, measure.merit(subset), tried, (), stopped)


def _find_varying(codes: Codes) -> BoolArray:
    """Return a mask of the columns of more than one value, a missing one included."""

    def compare_part(part: Codes) -> BoolArray:
        def compare_values(block: tuple[int, int]) -> BoolArray:
            columns = part.block(*block)
            return np.asarray((columns != columns[:, :1]).any(axis=1))

        blocks = split(part.n_features, BLOCK)
        return np.concatenate(run_blocks(compare_values, blocks, part.n_jobs))

    return np.concatenate(codes.each(compare_part))
