"""Base class of the greedy filters by mutual information."""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import numpy as np

from featly.base import Problem, Questions, Ranking, stop_with
from featly.basics.errors import Column, DataError, ParameterError, Setting
from featly.basics.params import Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.coding import code_columns
from featly.core.counts.discretise import Cuts
from featly.core.greedy.cache import PackCache, SavedSearch
from featly.core.greedy.search import (
    Criterion,
    PairInformation,
    SearchResult,
    cached_pair_information,
    forward_search,
    pair_information,
)
from featly.core.ranking.preference import Preference
from featly.core.runtime.question import Question
from featly.filters._counting import CountingRanker, read_cuts
from featly.problem.parameters import Caching, Verbose

__all__ = [
    "GreedyInformation",
    "exact_weight",
    "greedy_ranking",
    "round_where_safe",
]

MOST_CELLS = 1 << 26  # of a table of spread counts, one float64 each
MOST_WEIGHT = 16  # up to this weight, weighted sums of whole numbers cannot overflow


class GreedyInformation(Verbose, Caching, CountingRanker):
    """Base of the greedy filters: a subclass defines its criterion; see :class:`JMI`."""

    max_steps: Annotated[int, Whole(at_least=1)] = 100

    _uses = ("keep", "prior", "costs")
    _scores_one_by_one = False
    _by_class: ClassVar[bool] = True  # whether the criterion uses I(f; y | s)
    _redundancy: ClassVar[bool] = True  # whether it uses I(f; s)

    def _is_greedy(self) -> bool:
        return True

    @abstractmethod
    def _criterion(self, terms: PairInformation) -> Criterion:
        """Return the criterion J of a search that has not chosen a column yet."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.cache is not None and self.missing == "spread":
            raise ParameterError(
                f"cache={str(self.cache)!r} is of no use with missing='spread', whose counts are "
                "not packed: leave it out, or give missing='level'"
            )

    def _operations(self, n_rows: int, n_features: int) -> float:
        return super()._operations(n_rows, n_features) * self.max_steps / 8

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, self._pair_information, forward_search)

    @property
    def _pair_information(self) -> Question[..., Any]:
        return pair_information if self.cache is None else cached_pair_information

    def _rank(self, problem: Problem) -> Ranking:
        terms = self._terms(problem)
        return greedy_ranking(self, problem, self._criterion(terms), terms.bits)

    def _pack_cache(self, problem: Problem) -> PackCache | None:
        """Return the cache of packed columns; None for a table in memory without a cache folder."""
        source, folder = problem.source, problem.resources.cache
        memory_budget = None if source.memory is None else source.memory // 2
        if folder is None and memory_budget is None:
            return None
        cuts = read_cuts(self.discretizer, problem)
        parts = (cuts.values, cuts.start) if isinstance(cuts, Cuts) else (cuts,)
        key = () if folder is None else (problem.fingerprint, *parts)
        return PackCache(memory_budget, folder, key)

    def _saved_search(self, problem: Problem) -> SavedSearch | None:
        """Return the file of an unfinished search, None without a cache."""
        pack_cache, preference = self._pack_cache(problem), problem.preference
        groups = problem.target.groups().codes
        parts: list[Any] = [preference.keep, preference.prior]
        if preference.has_cost:
            parts += [preference.cost, preference.trade_off]
        # parameters that do not change what a search finds, or are in the key already
        unrelated = {"schema", "n_jobs", "verbose", "max_steps", "cache", "memory_limit", "device",
                "n_features_to_select", "discretizer"}  # fmt: skip
        parameters = {
            name: value for name, value in self.get_params().items() if name not in unrelated
        }
        name = type(self).__name__
        return None if pack_cache is None else pack_cache.search(name, parameters, groups, *parts)

    def _terms(self, problem: Problem) -> PairInformation:
        codes, groups = self._codes(problem), problem.target.groups()
        spread = self.missing == "spread"
        if spread and (int(codes.n_levels.max()) + 1) ** 2 * groups.n_groups > MOST_CELLS:
            column = problem.columns.names[int(codes.n_levels.argmax())]
            raise DataError(
                "column ",
                Column(column),
                f" has {codes.n_levels.max()} levels, too many for ",
                Setting("missing", "spread"),
                ": use ",
                Setting("missing", "level"),
                ", or leave it out",
            )
        bar = progress_bar(self.verbose, f"{type(self).__name__}, packing", "columns")
        with bar as progress, problem.naming_columns():
            return self._pair_information(  # type: ignore[no-any-return]
                codes,
                *groups,
                by_class=self._by_class,
                redundancy=self._redundancy,
                spread=spread,
                memory=problem.resources.memory,
                pack_cache=self._pack_cache(problem),
                progress=None if problem.source.memory is None else progress,
                n_jobs=self.n_jobs,
            )


def greedy_ranking(
    method: Any, problem: Problem, criterion: Criterion, relevance: FloatArray
) -> Ranking:
    """Search with a criterion and rank the columns.

    A score is the criterion when the column was chosen, or the lowest one before it.
    """
    preference = problem.preference
    saved_search = method._saved_search(problem)
    with progress_bar(method.verbose, type(method).__name__, unit="steps") as progress:
        search_result = forward_search(
            criterion, method.max_steps, preference, progress, saved_search
        )
    return _build_ranking(search_result, preference, relevance)


def _build_ranking(
    search_result: SearchResult, preference: Preference, relevance: FloatArray
) -> Ranking:
    """Build the ranking of a search, finished or ended by Ctrl-C."""
    ranking = Ranking(
        order=search_result.order,
        scores=search_result.falling_scores(preference),
        evidence=search_result.evidence,
        extra={
            "criterion": search_result.criterion,
            "relevance": relevance,
            "step": search_result.step,
        },
        attributes={"interrupted": search_result.interrupted},
        # neighbours in the order that are equal in both: no choice between them tells them apart
        tie_keys=(search_result.criterion, relevance),
        ranks=search_result.ranks(),
    )
    if search_result.interrupted:
        raise stop_with(ranking)
    return ranking


def exact_weight(weight: float) -> float:
    """Return the weight, as an int where sums of whole numbers cannot overflow.

    Examples
    --------
    >>> exact_weight(1.0), exact_weight(0.5)
    (1, 0.5)
    """
    return int(weight) if float(weight).is_integer() and weight <= MOST_WEIGHT else float(weight)


def round_where_safe(value: AnyArray, weight: float) -> AnyArray:
    """Round a weighted sum to whole numbers, unless the weight is so large that they overflow.

    Examples
    --------
    >>> import numpy as np
    >>> round_where_safe(np.array([2.0, 3.6]), 0.1).tolist()
    [2, 4]
    """
    if value.dtype.kind == "i" or weight > MOST_WEIGHT:
        return value
    rounded: IntArray = np.rint(value).astype(np.int64)
    return rounded
