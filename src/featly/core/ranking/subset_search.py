r"""Searches over subsets of columns, by a merit that a function computes.

.. math::

    S^* = \arg\max_{S \subseteq \{1, \dots, p\}} J(S)

cannot be found by trying all 2^p subsets. Four searches try few of them: forward, backward,
floating (Pudil, P., Novovičová, J. and Kittler, J., 1994, Floating search methods in feature
selection, *Pattern Recognition Letters* 15, 1119-1125) and best-first (Kohavi, R. and John, G. H.,
1997, Wrappers for feature subset selection, *Artificial Intelligence* 97, 273-324).

Merits are computed in batches: ``evaluate(subset, candidates)`` returns those of the subset with
each candidate added, ``without(subset, candidates)`` with each removed. Merits are compared after
rounding to 33 mantissa bits, as scores are in :mod:`featly.core.ranking.ordering`; of equal ones
the lower column counts as the better. After Ctrl-C, a search returns its result so far.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.ranking.ordering import round_scores

__all__ = [
    "Step",
    "SubsetSearchResult",
    "best_first",
    "floating",
    "greedy_backward",
    "greedy_forward",
]

Evaluate = Callable[[tuple[int, ...], IntArray], FloatArray]
Progress = Callable[[int, int], object]

THRESHOLD = 1e-5
FIRST_SORTED = 16  # children that are sorted first; more are rarely needed


@dataclass(frozen=True)
class Step:
    """A subset that a search went through, its columns in the order of their choice."""

    subset: tuple[int, ...]
    merit: float


@dataclass(frozen=True)
class SubsetSearchResult:
    """Result of a search over subsets.

    Attributes
    ----------
    subset : tuple of int
        Columns in the order of their choice; those of the start come first.
    merit : float
        Merit of that subset.
    n_evaluated : int
        Number of subsets evaluated.
    path : tuple of Step
        For best-first the subsets in the order of their expansion, otherwise those that the
        search moved to, from its start.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    subset: tuple[int, ...]
    merit: float
    n_evaluated: int
    path: tuple[Step, ...]
    interrupted: bool = False


def best_first(
    n_features: int,
    evaluate: Evaluate,
    *,
    start: Iterable[int] = (),
    merit: float | None = None,
    max_stale: int = 5,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
) -> SubsetSearchResult:
    """Expand the best evaluated subset not yet expanded, until that brings no improvement.

    To expand a subset is to evaluate it with every other column added. The next to be expanded is
    the one of largest merit; of equal merit the one of fewer columns, then the one that is first
    when their columns are compared from the lowest. The search ends after `max_stale` expansions
    in a row without improvement, or when all subsets are expanded. Every subset is evaluated once
    at most and expanded once at most.

    Parameters
    ----------
    n_features : int
    evaluate : function of (tuple of int, int64 array) to float64 array
        Merits of a subset with each of some columns added. -inf is a merit; NaN is an error.
    start : iterable of int
        Columns that every subset has.
    merit : float or None
        Merit of the start. None: computed, or -inf for the empty subset, so that at least one
        column is chosen.
    max_stale : int, default=5
        Expansions in a row without improvement after which the search ends.
    threshold : float, default=1e-5
        By how much a merit must exceed the best one to be an improvement.
    progress : function of (int, int) or None
        Called after each expansion with their number, and the number at which it ends at the
        earliest.

    Returns
    -------
    SubsetSearchResult
        The best subset. Its merit is the largest evaluated, up to `threshold`.

    Notes
    -----
    Weka's BestFirst differs in three ways. Its list of subsets to be expanded has at most
    `max_stale` entries; others are dropped. A subset that is reached in another way is listed
    again and may be expanded again, which counts as an expansion without improvement. And the
    subsets of an expansion are compared with the best so far one by one, in the order of columns,
    so one that exceeds an earlier one by less than 1e-5 loses against it.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.ranking.subset_search import best_first
    >>> worth = np.array([0.1, 0.5, 0.3, -0.2])
    >>> def evaluate(subset, candidates):
    ...     return worth[list(subset)].sum() + worth[candidates]
    >>> result = best_first(4, evaluate)
    >>> result.subset, round(result.merit, 3), result.n_evaluated
    ((1, 2, 0), 0.9, 11)
    """
    search = _Search(n_features, evaluate, start, merit)
    waiting: list[_Waiting] = []
    expanded: dict[int, list[frozenset[int]]] = {}
    subset, stale = search.best.subset, 0
    try:
        while True:
            columns = search.free_columns(subset, _evaluated_columns(subset, expanded))
            expanded.setdefault(len(subset), []).append(frozenset(subset))
            _push_next_child(
                waiting,
                subset,
                _children_best_first(columns, search.merits(evaluate, subset, columns)),
            )
            improved = len(waiting) > 0 and search.improve(waiting[0].step, threshold)
            stale = 0 if improved else stale + 1
            if progress is not None:
                progress(len(search.path), len(search.path) + max_stale - stale)
            if stale >= max_stale or not waiting:
                return search.result()
            next_waiting = heapq.heappop(waiting)
            _push_next_child(waiting, next_waiting.step.subset[:-1], next_waiting.siblings)
            subset = next_waiting.step.subset
            search.path.append(next_waiting.step)
    except KeyboardInterrupt:
        return search.result(interrupted=True)


def greedy_forward(
    n_features: int,
    evaluate: Evaluate,
    *,
    start: Iterable[int] = (),
    merit: float | None = None,
    n_select: int | None = None,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
) -> SubsetSearchResult:
    """Add the column that makes the merit largest, over and over.

    Parameters
    ----------
    n_features, evaluate, start, merit
        See :func:`best_first`.
    n_select : int or None, default=None
        Stop at this many columns, whatever the merits; `n_features` ranks them all. None stops
        when no column improves the merit by more than `threshold`.
    threshold : float, default=1e-5
    progress : function of (int, int) or None
        Called after each addition with the number of columns, and the largest there can be.

    Returns
    -------
    SubsetSearchResult
        The last subset; ``path`` has the earlier ones.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.ranking.subset_search import greedy_forward
    >>> worth = np.array([0.1, 0.5, 0.3, -0.2])
    >>> def evaluate(subset, candidates):
    ...     return worth[list(subset)].sum() + worth[candidates]
    >>> greedy_forward(4, evaluate).subset, greedy_forward(4, evaluate, n_select=4).subset
    ((1, 2, 0), (1, 2, 0, 3))
    """
    search = _Search(n_features, evaluate, start, merit)
    wanted = n_features if n_select is None else n_select
    try:
        while len(search.best.subset) < wanted:
            larger = search.add(evaluate, search.best.subset)
            if n_select is not None:
                search.best = larger
            elif not search.improve(larger, threshold):
                break
            search.path.append(larger)
            if progress is not None:
                progress(len(larger.subset), wanted)
    except KeyboardInterrupt:
        return search.result(interrupted=True)
    return search.result()


def greedy_backward(
    n_features: int,
    without: Evaluate,
    *,
    merit: float,
    keep: Iterable[int] = (),
    n_select: int | None = None,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
) -> SubsetSearchResult:
    """Remove the column without which the merit is largest, over and over.

    Of equal ones the highest is removed. At least one column stays.

    Parameters
    ----------
    n_features : int
    without : function of (tuple of int, int64 array) to float64 array
        Merits of a subset with each of some of its columns removed.
    merit : float
        Of all columns together.
    keep : iterable of int
        Columns that are never removed: those that the user wants kept (schema `keep`).
    n_select : int or None, default=None
        Stop at this many columns, whatever the merits. None stops when every removal brings the
        merit more than `threshold` below the largest so far.
    threshold : float, default=1e-5
    progress : function of (int, int) or None
        Called after each removal with the number of columns removed, and the largest there can be.

    Returns
    -------
    SubsetSearchResult
        The last subset: columns of `keep` first, the others by the loss of merit without them when
        removals were last tried, the largest loss first.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.ranking.subset_search import greedy_backward
    >>> worth = np.array([0.1, 0.5, 0.3, -0.2])
    >>> def without(subset, candidates):
    ...     return worth[list(subset)].sum() - worth[candidates]
    >>> greedy_backward(4, without, merit=0.7).subset
    (1, 2, 0)
    """
    fixed = _check_columns(keep, n_features)
    search = _Search(n_features, without, range(n_features), merit)
    least = max(1, len(fixed), 0 if n_select is None else n_select)
    largest = merit
    merit_without = np.zeros(n_features)  # merit without each column, when that was last tried
    interrupted = False
    try:
        while len(search.best.subset) > least:
            smaller, columns, merits = search.remove(without, search.best.subset, fixed)
            merit_without[columns] = merits
            if n_select is None and _exceeds(largest, smaller.merit, threshold):
                break
            largest = max(largest, smaller.merit)
            search.best = smaller
            search.path.append(smaller)
            if progress is not None:
                progress(n_features - len(smaller.subset), n_features - least)
    except KeyboardInterrupt:
        interrupted = True
    free = np.setdiff1d(search.best.subset, fixed)
    ordered = free[np.argsort(round_scores(merit_without[free]), kind="stable")].tolist()
    search.best = Step((*fixed, *ordered), search.best.merit)
    return search.result(interrupted=interrupted)


def floating(
    n_features: int,
    evaluate: Evaluate,
    without: Evaluate,
    *,
    start: Iterable[int] = (),
    merit: float | None = None,
    n_select: int | None = None,
    max_stale: int = 5,
    threshold: float = THRESHOLD,
    progress: Progress | None = None,
) -> SubsetSearchResult:
    """Add the best column, then remove columns while that beats the subsets so far, repeatedly.

    Sequential floating forward selection. After each addition the column without which the merit
    is largest is removed, as long as that gives a better subset than any earlier one of that size.
    If an addition gives a worse subset than an earlier one of its size, the search goes on from
    the earlier one.

    Parameters
    ----------
    n_features, evaluate, start, merit
        See :func:`best_first`; columns of the start are never removed.
    without : function of (tuple of int, int64 array) to float64 array
        Merits of a subset with each of some of its columns removed. A subset may be evaluated more
        than once: cache merits that are expensive.
    n_select : int or None, default=None
        End with the best subset of this many columns, when one is reached. None ends after
        `max_stale` additions in a row that did not improve the best subset of all.
    max_stale : int, default=5
        See `n_select`.
    threshold : float, default=1e-5
        By how much a merit must exceed another to be better.
    progress : function of (int, int) or None
        Called after each addition with the number of columns, and the largest there can be.

    Returns
    -------
    SubsetSearchResult
        The best of all evaluated subsets, or of those of `n_select` columns.

    Examples
    --------
    Two columns of little merit alone and much together replace the best single one.

    >>> import numpy as np
    >>> from featly.core.ranking.subset_search import floating
    >>> def worth(subset):
    ...     return 0.4 * (0 in subset) + 0.3 * (1 in subset) + 0.6 * ({1, 2} <= subset) - (
    ...         0.45 * ({0, 2} <= subset))
    >>> def evaluate(subset, candidates):
    ...     return np.array([worth({*subset, c}) for c in candidates.tolist()])
    >>> def without(subset, candidates):
    ...     return np.array([worth({*subset} - {c}) for c in candidates.tolist()])
    >>> floating(3, evaluate, without).subset
    (1, 2)
    """
    search = _Search(n_features, evaluate, start, merit)
    fixed, current, stale = search.best.subset, search.best, 0
    best_of_size = {len(fixed): current}
    wanted = n_features if n_select is None else n_select
    try:
        while len(current.subset) < wanted and (stale < max_stale or n_select is not None):
            best = search.best
            current = search.add(evaluate, current.subset)
            earlier = best_of_size.get(len(current.subset))
            if earlier is not None and not _exceeds(current.merit, earlier.merit, threshold):
                current = earlier
            while True:
                best_of_size[len(current.subset)] = current
                search.path.append(current)
                search.improve(current, threshold)
                if len(current.subset) <= len(fixed) + 2:  # all smaller ones have been tried
                    break
                smaller, _, _ = search.remove(without, current.subset, fixed)
                if not _exceeds(smaller.merit, best_of_size[len(smaller.subset)].merit, threshold):
                    break
                current = smaller
            stale = 0 if search.best is not best else stale + 1
            if progress is not None:
                progress(len(current.subset), wanted)
    except KeyboardInterrupt:
        return search.result(interrupted=True)
    if n_select is not None:
        search.best = best_of_size[max(wanted, len(fixed))]
    return search.result()


# ---- shared by the searches -----------------------------------------------------------------
class _Search:
    """State of a search: the best subset so far, the way to it, and the merits computed."""

    def __init__(
        self, n_features: int, evaluate: Evaluate, start: Iterable[int], merit: float | None
    ) -> None:
        self.n_features, self.n_evaluated = n_features, 0
        subset = _check_columns(start, n_features)
        if merit is None:
            merit = (
                float(self.merits(evaluate, subset[:-1], np.array(subset[-1:]))[0])
                if subset
                else -np.inf
            )
        self.best = Step(subset, merit)
        self.path = [self.best]

    def free_columns(self, subset: tuple[int, ...], excluded: Iterable[int] = ()) -> IntArray:
        """Return the columns that are neither in the subset nor among those excluded."""
        free = np.ones(self.n_features, bool)
        free[[*subset, *excluded]] = False
        return np.flatnonzero(free)

    def merits(self, function: Evaluate, subset: tuple[int, ...], columns: IntArray) -> FloatArray:
        """Return merits of subsets, checked and counted."""
        if len(columns) == 0:
            return np.empty(0)
        merits = np.asarray(function(subset, columns), np.float64)
        if merits.shape != columns.shape or np.isnan(merits).any():
            raise ValueError(f"{len(columns)} merits are needed, none of them NaN: {merits}")
        self.n_evaluated += len(columns)
        return merits

    def add(self, evaluate: Evaluate, subset: tuple[int, ...]) -> Step:
        """Return the best subset with one more column."""
        columns = self.free_columns(subset)
        column, merit = next(_children_best_first(columns, self.merits(evaluate, subset, columns)))
        return Step((*subset, column), merit)

    def remove(
        self, without: Evaluate, subset: tuple[int, ...], fixed: tuple[int, ...]
    ) -> tuple[Step, IntArray, FloatArray]:
        """Return the best subset with one column fewer, the candidates, and merits without each."""
        columns = np.setdiff1d(subset, fixed)
        merits = self.merits(without, subset, columns)
        keys = round_scores(merits)
        position = len(keys) - 1 - int(keys[::-1].argmax())
        removed = int(columns[position])
        smaller = Step(tuple(c for c in subset if c != removed), float(merits[position]))
        return smaller, columns, merits

    def improve(self, step: Step, threshold: float) -> bool:
        """Make a subset the best if it is better; any is better than the empty one."""
        better = not self.best.subset or _exceeds(step.merit, self.best.merit, threshold)
        if better:
            self.best = step
        return better

    def result(self, *, interrupted: bool = False) -> SubsetSearchResult:
        """Return the result; raise Ctrl-C again if there is none yet."""
        if interrupted and not self.best.subset:
            raise KeyboardInterrupt
        return SubsetSearchResult(
            self.best.subset, self.best.merit, self.n_evaluated, tuple(self.path), interrupted
        )


@dataclass(frozen=True, order=True)
class _Waiting:
    """The best subset of an expansion that is not itself expanded yet, and its siblings."""

    key: tuple[float, int, tuple[int, ...]]
    step: Step = field(compare=False)
    siblings: Iterator[tuple[int, float]] = field(compare=False)


def _push_next_child(
    waiting: list[_Waiting], subset: tuple[int, ...], children: Iterator[tuple[int, float]]
) -> None:
    """Push the next child of a subset on the heap of subsets to be expanded."""
    for column, merit in children:
        larger = (*subset, column)
        key = (-_key(merit), len(larger), tuple(sorted(larger)))
        heapq.heappush(waiting, _Waiting(key, Step(larger, merit), children))
        return


def _evaluated_columns(
    subset: tuple[int, ...], expanded: dict[int, list[frozenset[int]]]
) -> list[int]:
    """Return the columns with which a subset has been evaluated, as a child of another one."""
    own = frozenset(subset)
    added = (other - own for other in expanded.get(len(own), ()))
    return [column for columns in added if len(columns) == 1 for column in columns]


def _children_best_first(columns: IntArray, merits: FloatArray) -> Iterator[tuple[int, float]]:
    """Yield columns and merits, best first, ties by column; sort only as many as needed."""
    keys, size = round_scores(merits), FIRST_SORTED
    while len(columns):
        is_best = np.ones(len(keys), bool)
        if size < len(keys):
            is_best = keys >= np.partition(keys, len(keys) - size)[len(keys) - size]
        positions = np.flatnonzero(is_best)
        positions = positions[np.argsort(-keys[positions], kind="stable")]
        yield from zip(columns[positions].tolist(), merits[positions].tolist(), strict=True)
        columns, merits, keys, size = columns[~is_best], merits[~is_best], keys[~is_best], 8 * size


def _key(merit: float) -> float:
    return float(round_scores(np.array([merit]))[0])


def _exceeds(merit: float, other: float, threshold: float) -> bool:
    return _key(merit) > _key(other) + threshold


def _check_columns(columns: Iterable[int], n_features: int) -> tuple[int, ...]:
    indices = tuple(int(column) for column in columns)
    if len(set(indices)) < len(indices) or not all(0 <= column < n_features for column in indices):
        raise ValueError(f"{indices}: columns are different numbers from 0 to {n_features - 1}")
    return indices
