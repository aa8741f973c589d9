"""What the greedy filters by mutual information have in common."""

import os
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from featly.base import Problem, Ranking, interrupted
from featly.basics.errors import DataError, ParameterError
from featly.basics.progress import progress_bar
from featly.core.greedy.cache import Keeping, SavedSearch
from featly.core.greedy.search import Chosen, Criterion, PairInformation, forward
from featly.core.ranking.ordering import favoured
from featly.core.runtime.device_cuda import NotOnDevice
from featly.core.sources import StreamedSource
from featly.filters._counting import CountingRanker, rule_of
from featly.filters.favouring import prior_of
from featly.table.schema import Schema

__all__ = [
    "GreedyInformation",
    "check_weight",
    "exact_weight",
    "greedy_ranking",
    "whole_where_safe",
]

MOST_CELLS = 1 << 26  # of a table of spread counts
MOST_WEIGHT = 16  # up to which weighted sums of whole numbers cannot overflow


class GreedyInformation(CountingRanker):
    """Base of the greedy filters: a subclass gives its criterion; see :class:`JMI`."""

    _uses = ("keep", "prior")
    _by_class: ClassVar[bool] = True  # whether I(f; y | s) is used ...
    _redundancy: ClassVar[bool] = True  # ... and I(f; s)

    def __init__(
        self,
        *,
        n_features_to_select: int | float | str | None = None,
        max_steps: int = 100,
        discretizer: Any = "mdlp",
        missing: str = "level",
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        memory_limit: int | str | None = None,
        cache: str | os.PathLike[str] | None = None,
        verbose: bool | Callable[[int, int], Any] = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.max_steps = max_steps
        self.discretizer = discretizer
        self.missing = missing
        self.schema = schema
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit
        self.cache = cache
        self.verbose = verbose

    def _greedy(self) -> bool:
        return True

    @abstractmethod
    def _criterion(self, terms: PairInformation) -> Criterion:
        """J, before any column is chosen."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.max_steps
        whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if not whole or given < 1:
            raise ParameterError(f"max_steps={given!r}: give a whole number from 1")
        if self.cache is not None and self.missing == "spread":
            raise ParameterError(
                f"cache={str(self.cache)!r} is of no use with missing='spread', whose counts are "
                "not packed: leave it out, or give missing='level'"
            )

    def _operations(self, n_rows: int, n_features: int) -> float:
        return super()._operations(n_rows, n_features) * self.max_steps / 8

    def _device_form(self) -> str:
        if self.cache is not None:
            raise NotOnDevice(f"cache={str(self.cache)!r} is kept by the CPU")
        return "own"

    def _rank(self, problem: Problem) -> Ranking:
        if problem.on_device:
            return self._rank_on_device(problem)
        terms = self._terms(problem)
        return greedy_ranking(self, problem, self._criterion(terms), terms.bits)

    def _rank_on_device(self, problem: Problem) -> Ranking:
        from featly.core.greedy import search_cuda as twin

        with problem.blaming():
            terms = twin.PairInformation(
                self._device_codes(problem),
                problem.y,
                len(problem.classes),
                by_class=self._by_class,
                redundancy=self._redundancy,
                memory=problem.resources.memory,
            )
        keep, prior = problem.columns.keep, prior_of(self, problem)
        criterion = self._criterion(terms)  # type: ignore[arg-type]
        with progress_bar(self.verbose, type(self).__name__, unit="steps") as progress:
            found = twin.forward(criterion, self.max_steps, keep, progress, prior)
        return _ranking_of(found, found.scores, terms.bits, found.ranking)

    def _keeping(self, problem: Problem) -> Keeping | None:
        """Where packed columns are kept: a table on disk has packed columns of some size."""
        source, folder = problem.source, problem.resources.cache
        room = source.memory // 2 if isinstance(source, StreamedSource) else None
        if folder is None and room is None:
            return None
        key = () if folder is None else (problem.fingerprint, rule_of(self.discretizer))
        return Keeping(room, folder, key)

    def _saved(self, problem: Problem, *parts: Any) -> SavedSearch | None:
        """Where an unfinished search is kept."""
        keeping = self._keeping(problem)
        ours = {"schema", "n_jobs", "verbose", "max_steps", "cache", "memory_limit", "device",
                "n_features_to_select", "discretizer"}  # fmt: skip
        rest = {name: value for name, value in self.get_params().items() if name not in ours}
        name = type(self).__name__
        return None if keeping is None else keeping.search(name, rest, problem.y, *parts)

    def _terms(self, problem: Problem) -> PairInformation:
        codes, n_classes = self._codes(problem), len(problem.classes)
        spread = self.missing == "spread"
        if spread and (int(codes.n_levels.max()) + 1) ** 2 * n_classes > MOST_CELLS:
            column = problem.columns.names[int(codes.n_levels.argmax())]
            raise DataError(
                f"column {column!r} has {codes.n_levels.max()} levels, too many for "
                "missing='spread': use missing='level', or leave it out"
            )
        with progress_bar(self.verbose, f"{type(self).__name__}, packing", "columns") as progress:
            return PairInformation(
                codes,
                problem.y,
                n_classes,
                by_class=self._by_class,
                redundancy=self._redundancy,
                spread=spread,
                keeping=self._keeping(problem),
                progress=progress if isinstance(problem.source, StreamedSource) else None,
                n_jobs=self.n_jobs,
            )


def greedy_ranking(
    method: Any, problem: Problem, criterion: Criterion, relevance: np.ndarray
) -> Ranking:
    """Search with a criterion; scores are those at the choice, or the lowest before it."""
    keep, prior = problem.columns.keep, prior_of(method, problem)
    saved = method._saved(problem, keep, prior)
    with progress_bar(method.verbose, type(method).__name__, unit="steps") as progress:
        found = forward(criterion, method.max_steps, keep, progress, prior, saved)
    weighted = favoured(found.criterion, prior)
    scores = weighted.copy()
    free = found.order[len(keep) :]
    scores[free] = np.minimum.accumulate(weighted[free])
    return _ranking_of(found, scores, relevance)


def _ranking_of(
    found: Chosen, scores: np.ndarray, relevance: np.ndarray, places: np.ndarray | None = None
) -> Ranking:
    """What a search found, or what it had found when Ctrl-C came."""
    ranking = Ranking(
        order=found.order,
        scores=scores,
        extra={"criterion": found.criterion, "relevance": relevance, "step": found.step},
        attributes={"interrupted": found.interrupted},
        # equal in both, one after the other: nothing chosen between them told them apart
        keys=(found.criterion, relevance),
        places=places,
    )
    if found.interrupted:
        raise interrupted(ranking)
    return ranking


def check_weight(name: str, weight: Any) -> None:
    """Refuse what is no weight."""
    number = isinstance(weight, int | float | np.integer | np.floating)
    if isinstance(weight, bool) or not number or not 0 <= weight < np.inf:
        raise ParameterError(f"{name}={weight!r}: give a finite number from 0")


def exact_weight(weight: float) -> float:
    """The weight, as an int where it is whole and sums of whole numbers cannot overflow.

    Examples
    --------
    >>> exact_weight(1.0), exact_weight(0.5)
    (1, 0.5)
    """
    return int(weight) if float(weight).is_integer() and weight <= MOST_WEIGHT else float(weight)


def whole_where_safe(value: np.ndarray, weight: float) -> np.ndarray:
    """A weighted sum as whole numbers, unless the weight is so large that they could overflow.

    Examples
    --------
    >>> import numpy as np
    >>> whole_where_safe(np.array([2.0, 3.6]), 0.1).tolist()
    [2, 4]
    """
    if value.dtype.kind == "i" or weight > MOST_WEIGHT:
        return value
    return np.rint(value).astype(np.int64)
