"""Recursive elimination: drop the worst columns of a model, refit, repeat.

Guyon, I. et al. (2002), Gene selection for cancer classification using support vector machines,
*Machine Learning* 46, 389-422.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from featly.basics.params import Function, Number, Parameters, Rule, Whole
from featly.basics.typing import FloatArray
from featly.core.ranking.ordering import worst
from featly.problem.outcome import Ranking, stop_with

__all__ = [
    "Elimination",
    "Machine",
    "Scheduled",
    "build_elimination_ranking",
    "eliminate",
    "schedule",
]

POOR_DUALITY_GAP = 1e-6  # relative; above it, columns of similar weight may be out of order

Step = int | float | Sequence[int] | Callable[[int], int]


class Sizes(Rule):
    """Falling sizes to pass through."""

    words: Sequence[str] = ("a list of sizes to pass through, which fall and stay above 0",)
    outside: Sequence[Any] = ([], [3, 3], [3, 5], [3, 0], [2.5], ["a"])

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a list of falling sizes."""
        is_list = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
        if not is_list or getattr(value, "ndim", 1) != 1:
            return False
        sizes = list(value)
        is_whole = all(Whole(at_least=1).accepts(size) for size in sizes)
        return bool(sizes) and is_whole and sizes == sorted(set(sizes), reverse=True)


class Scheduled(Parameters):
    """Eliminations, which drop some of the remaining columns in every round."""

    step: Annotated[
        Step,
        Number(above=0, below=1),
        Whole(at_least=1),
        Sizes(),
        Function("a function of the number of columns that remain"),
    ] = 0.2
    fine_below: Annotated[int | None, Whole(at_least=1)] = None


class Machine(Protocol):
    """A model whose columns can be dropped."""

    def criterion(self) -> np.ndarray:
        """Return the importance of every column in the model, in ascending order of column."""

    def drop(self, positions: np.ndarray) -> None:
        """Drop columns of the model, given by their positions in it, ascending."""


@dataclass
class Elimination:
    """Result of an elimination.

    Attributes
    ----------
    order : int array
        Columns, best first.
    round : int array
        The round in which each column was dropped, from 0; the best column has the last round.
    criterion : float array
        The importance of the column in that round.
    totals : list of float
        The sum of the importances of all columns in every round, negative ones left out.
    evidence : bool array
        Whether the column had an importance above 0 in any round.
    interrupted : bool
        Whether Ctrl-C ended it early; the columns that remain are then ordered by their last
        importance.
    """

    order: np.ndarray
    round: np.ndarray
    criterion: np.ndarray
    totals: list[float]
    evidence: np.ndarray
    interrupted: bool = False

    @property
    def share(self) -> FloatArray:
        """`criterion` as a share of its sum over the columns of that round; 0 where negative."""
        totals = np.array(self.totals)[self.round]
        gains = np.maximum(self.criterion, 0.0)
        share: FloatArray = np.divide(gains, totals, out=np.zeros(len(totals)), where=totals > 0)
        return share

    @property
    def tie_keys(self) -> tuple[np.ndarray, np.ndarray]:
        """Round and criterion, equal for columns that tie; no round where the criterion is 0."""
        return np.where(self.criterion == 0, -1, self.round), self.criterion


def build_elimination_ranking(
    elimination: Elimination, duality_gaps: np.ndarray, remedy: str
) -> Ranking:
    """Build the ranking of an elimination, with a warning if a duality gap is large.

    `duality_gaps` are those of the rounds; `remedy` ends the warning.
    """
    last_is_single = len(elimination.round) and np.bincount(elimination.round)[-1] == 1
    # a single last column is compared with none, so its duality gap does not matter
    compared_gaps = duality_gaps[: len(duality_gaps) - 1] if last_is_single else duality_gaps
    warning = None
    if compared_gaps.max(initial=0.0) > POOR_DUALITY_GAP:
        warning = (
            f"the SVM of round {int(compared_gaps.argmax())} was solved to a relative duality gap "
            f"of {compared_gaps.max():.1e} only: columns of similar weight may be out of order; "
            f"{remedy}"
        )
    ranking = Ranking(
        order=elimination.order,
        scores=elimination.round + elimination.share,
        evidence=elimination.evidence,
        extra={"round": elimination.round, "criterion": elimination.criterion},
        attributes={"duality_gap": duality_gaps, "interrupted": elimination.interrupted},
        warning=warning,
        tie_keys=elimination.tie_keys,
    )
    if elimination.interrupted:
        raise stop_with(ranking)
    return ranking


def schedule(n_remaining: int, step: Step, fine_below: int | None = None) -> int:
    """Return how many of the remaining columns the next round drops.

    Examples
    --------
    A fraction of the *remaining* columns, rounded, at least one column:

    >>> remaining, sizes = 30, []
    >>> while remaining:
    ...     sizes.append(remaining)
    ...     remaining -= schedule(remaining, 0.2)
    >>> sizes
    [30, 24, 19, 15, 12, 10, 8, 6, 5, 4, 3, 2, 1]

    Ten per cent until fewer than 20 remain, then one by one:

    >>> schedule(40, 0.1, fine_below=20), schedule(19, 0.1, fine_below=20)
    (4, 1)
    """
    if callable(step):
        count = int(step(n_remaining))
    elif isinstance(step, Sequence | np.ndarray):
        count = n_remaining - max((size for size in step if size < n_remaining), default=0)
    elif fine_below is not None and n_remaining < fine_below:
        count = 1
    elif step < 1:
        count = int(np.floor(step * n_remaining + 0.5))
    else:
        count = int(step)
    return min(max(1, count), n_remaining)


def eliminate(
    machine: Machine,
    n_features: int,
    *,
    step: Step,
    fine_below: int | None = None,
    keep: np.ndarray | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Elimination:
    """Drop columns until none remains; the last one to be dropped is the best.

    Columns in `keep` are dropped only when no others remain. `progress` is called after every round
    with the number of ranked columns and the number of all.
    """
    is_kept = np.zeros(n_features, bool)
    if keep is not None:
        is_kept[keep] = True
    has_kept = bool(is_kept.any())
    elimination = Elimination(
        order=np.empty(n_features, np.int64),
        round=np.zeros(n_features, np.int32),
        criterion=np.zeros(n_features),
        totals=[],
        evidence=np.zeros(n_features, bool),
    )
    remaining = np.arange(n_features)
    importances = np.zeros(n_features)
    round_number = 0
    try:
        while len(remaining):
            importances = machine.criterion()
            elimination.evidence[remaining] |= importances > 0
            count = schedule(len(remaining), step, fine_below)
            free = np.flatnonzero(~is_kept[remaining]) if has_kept else ()
            if len(free) == 0:
                positions = worst(importances, count)
            else:
                positions = free[worst(importances[free], min(count, len(free)))]
            _record(elimination, remaining, positions, importances, round_number)
            round_number += 1
            if len(positions) == len(remaining):
                remaining = remaining[:0]
            else:
                positions = np.sort(positions)
                machine.drop(positions)
                remaining = np.delete(remaining, positions)
            if progress is not None:
                progress(n_features - len(remaining), n_features)
    except KeyboardInterrupt:
        if len(importances) != len(remaining):  # Ctrl-C came after drop
            stays = np.delete(np.arange(len(importances)), positions)
            importances = importances[stays]
        elimination.interrupted = True
        last = worst(importances, len(remaining))
        last = np.concatenate([last[is_kept[remaining[last]]], last[~is_kept[remaining[last]]]])
        _record(elimination, remaining, last, importances, round_number)
    return elimination


def _record(
    elimination: Elimination,
    remaining: np.ndarray,
    positions: np.ndarray,
    importances: np.ndarray,
    round_number: int,
) -> None:
    """Record the columns of a round, best first, above those dropped before."""
    end = len(remaining)
    columns = remaining[positions]
    elimination.order[end - len(columns) : end] = columns
    elimination.round[columns] = round_number
    elimination.criterion[columns] = importances[positions]
    elimination.totals.append(float(np.maximum(importances, 0.0).sum()))
