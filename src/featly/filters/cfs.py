r"""A subset whose columns tell about the class and not about each other.

.. math::

    M(S) = \frac{k\, \overline{r_{cf}}}{\sqrt{k + k (k - 1)\, \overline{r_{ff}}}}

for a subset S of k columns, with the mean symmetric uncertainty of its columns with the class,
:math:`\overline{r_{cf}}`, and with each other, :math:`\overline{r_{ff}}`. Hall, M. A. (2000),
Correlation-based feature selection for discrete and numeric class machine learning, *ICML 2000*,
359-366.
"""

from typing import Annotated

import numpy as np

from featly.base import Problem, Selection, stop_with
from featly.basics.params import Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import FloatArray, IntArray
from featly.core.counts.uncertainty import Pairs, uncertainty
from featly.core.ranking.ordering import best_first as falling
from featly.core.ranking.subset_search import SubsetSearchResult, best_first
from featly.filters._counting import CountingSelector, Discretizing, SpreadsMissing
from featly.problem.parameters import Streaming, Verbose

__all__ = ["CFS"]


CACHED_SUMS = 16  # subsets whose sums are cached


class CFS(Verbose, Streaming, SpreadsMissing, Discretizing, CountingSelector):
    r"""Choose columns that go with the class and not with each other (correlation-based).

    Numbers are cut into levels first. The search starts from the empty subset. An expansion tries
    the best subset known so far with each further column; the search ends when `max_stale`
    expansions in a row have improved nothing. Columns that are independent of the class by
    themselves are left out, for they can only lower the merit: interactions between columns are
    not found. The uncertainties of a column with all others are computed when the search first
    takes it into a subset.

    Parameters
    ----------
    max_stale : int, default=5
        Expansions in a row without improvement after which the search ends.
    locally_predictive : bool, default=False
        Whether to add columns after the search, in falling order of their uncertainty with the
        class: each whose uncertainty with the class is at least that with every column chosen so
        far (Weka's default).
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser. None: whole numbers are levels as they are.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own. "spread": it is spread over the levels
        in proportion, as Weka does.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        The search starts from the columns to keep, and a subset pays the mean of its `costs`.
        `prior` is not used: the merit is that of a subset, not of a column.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Levels of the columns that are compared beyond it go to a temporary file.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts expansions; the total is the number at which the search ends at the earliest.

    Attributes
    ----------
    merit_ : float
        Merit of the subset that the search found, which comes first in ``order_``.
    uncertainty_ : float array of shape (n_features,)
        Symmetric uncertainty of every column with the class.
    n_evaluated_ : int
        Number of subsets whose merit was computed.
    empty_ : bool
        Whether every column is independent of the class. The first one was chosen then, because
        a selection has at least one.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`.

    See Also
    --------
    FCBF : One pass over the columns instead of a search.
    Interact : Finds columns that only matter together.

    Notes
    -----
    With ``missing="spread"`` this differs from Weka's CfsSubsetEval in one point: Weka counts two
    columns that are independent of each other as wholly redundant (an uncertainty below 1e-6
    becomes 1, which is meant for constant columns). On the leukemia table of 72 x 7,129 Weka
    chooses 53 columns of merit 0.9655, featly 54 of merit 0.9683, and this point explains all of
    the difference. Two more differences change nothing there: Weka's list of five subsets may hold
    the same one twice, and it computes in single precision. Neither search is sure to find the
    best subset: on DLBCL (47 x 4,026) Weka's ends at 0.9355 and this one at 0.9347.

    Weka cuts numbers with a variant of MDLP, ``Discretize -E``, which codes a cut point by the
    number of different values instead of the number of rows, and makes a few cuts more.

    References
    ----------
    Hall, M. A. (2000), Correlation-based feature selection for discrete and numeric class machine
    learning, *ICML 2000*, 359-366.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import CFS
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "high", "low", "high", "high", "high"],
    ...     "twice": ["2", "2", "2", "4", "2", "4", "4", "4"],
    ...     "site": ["a", "b", "a", "b", "a", "b", "b", "a"],
    ...     "sex": ["f", "m", "m", "m", "f", "f", "m", "f"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> chosen = CFS().fit(frame, outcome)
    >>> chosen.get_feature_names_out().tolist(), round(chosen.merit_, 3)
    (['dose', 'sex'], 0.267)
    """

    max_stale: Annotated[int, Whole(at_least=1)] = 5
    locally_predictive: bool = False

    _uses = ("keep", "costs")

    def _select(self, problem: Problem) -> Selection:
        codes, keep = self._codes(problem), problem.preference.keep
        spread = self.missing == "spread"
        groups = problem.target.groups()
        with_class = uncertainty(codes, groups.codes + 1, groups.n_groups, spread=spread)
        features = np.union1d(np.flatnonzero(with_class), keep).astype(np.int64)
        if len(features) == 0:
            return self._selection(np.array([0]), with_class, SubsetSearchResult((), 0.0, 0, ()))
        merits = Merits(with_class[features], Pairs(codes, features, spread=spread))
        preference = problem.preference

        def evaluate(subset: tuple[int, ...], candidates: IntArray) -> FloatArray:
            merit = merits(subset, candidates)
            return preference.apply_to_subset(merit, features[list(subset)], features[candidates])

        with progress_bar(self.verbose, "CFS", "expansions") as progress:
            search_result = best_first(
                len(features),
                evaluate,
                start=np.searchsorted(features, keep).tolist(),
                max_stale=self.max_stale,
                progress=progress,
            )
        chosen = list(search_result.subset)
        if self.locally_predictive and not search_result.interrupted:
            chosen += merits.locally_predictive(chosen)
        selection = self._selection(features[chosen], with_class, search_result)
        if search_result.interrupted:
            raise stop_with(selection)
        return selection

    def _selection(
        self, order: IntArray, with_class: FloatArray, search_result: SubsetSearchResult
    ) -> Selection:
        return Selection(
            order,
            evidence=with_class > 0,
            extra={"uncertainty": with_class},
            attributes={
                "merit": search_result.merit,
                "n_evaluated": search_result.n_evaluated,
                "empty": not with_class.any(),
            },
        )


class Merits:
    """Merits of a subset with each of some columns added.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> from featly.core.counts.uncertainty import Pairs
    >>> from featly.filters.cfs import Merits
    >>> codes = DenseCodes(np.array([[1, 1, 2, 2], [1, 2, 1, 2]], np.uint8), np.array([2, 2]))
    >>> merits = Merits(np.array([0.5, 0.5]), Pairs(codes, np.arange(2)))
    >>> merits((), np.array([0, 1])).tolist(), merits((0,), np.array([1])).round(4).tolist()
    ([0.5, 0.5], [0.7071])
    """

    pairs: Pairs
    with_class: FloatArray

    def __init__(self, with_class: FloatArray, pairs: Pairs) -> None:
        self.with_class, self.pairs = with_class, pairs
        self._sums: dict[tuple[int, ...], tuple[float, FloatArray]] = {}

    def __call__(self, subset: tuple[int, ...], candidates: IntArray) -> FloatArray:
        among, between = self._redundancy(subset)
        relevance = self.with_class[list(subset)].sum() + self.with_class[candidates]
        redundancy = 2 * (among + between[candidates])
        return np.asarray(relevance / np.sqrt(len(subset) + 1 + redundancy))

    def _redundancy(self, subset: tuple[int, ...]) -> tuple[float, FloatArray]:
        """Sum the uncertainties within a subset, and those of every column with the subset."""
        if not subset:
            return 0.0, np.zeros(len(self.with_class))
        if subset not in self._sums:
            # most often the subset without its last column has just been summed
            among, between = self._redundancy(subset[:-1])
            last = subset[-1]
            if len(self._sums) >= CACHED_SUMS:
                del self._sums[next(iter(self._sums))]
            self._sums[subset] = among + float(between[last]), between + self.pairs.row(last)
        return self._sums[subset]

    def locally_predictive(self, chosen: list[int]) -> list[int]:
        """Return columns to add: their uncertainty with the class is at least that with others.

        The others are the chosen columns and those added before, in falling order of the
        uncertainty with the class.
        """
        covered = np.zeros(len(self.with_class))
        for column in chosen:
            np.maximum(covered, self.pairs.row(column), out=covered)
        added = []
        for column in falling(self.with_class).tolist():
            if column not in chosen and covered[column] <= self.with_class[column]:
                added.append(column)
                np.maximum(covered, self.pairs.row(column), out=covered)
        return added
