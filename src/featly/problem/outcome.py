"""Results of a method's computation, whether it was completed or interrupted."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featly.basics.typing import BoolArray, FloatArray
from featly.core.ranking.ordering import best_first
from featly.core.ranking.preference import Preference

__all__ = ["Ranking", "Selection", "StoppedError", "rank_by_merit", "stop_with"]


@dataclass(frozen=True)
class Ranking:
    """Result of a ranker's computation.

    `extra` becomes columns of ``table()`` (one entry a feature) and fitted attributes; `attributes`
    become fitted attributes only. Names are without the trailing underscore. `warning` is the text
    of a ConvergenceWarning about an incomplete computation. Columns are tied if all of `tie_keys`
    are equal; these are the scores by default. `ranks` is the rank of every column, from 1, where
    that is known. `evidence` is a mask of the columns for which the method has any evidence that
    they tell something about the target; the others are filler.
    """

    order: np.ndarray
    scores: np.ndarray
    evidence: BoolArray
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    warning: str | None = None
    tie_keys: tuple[np.ndarray, ...] = ()
    ranks: np.ndarray | None = None


@dataclass(frozen=True)
class Selection:
    """Result of a subset selector's computation.

    `order` are the chosen columns, in the order of their choice; `evidence`, `extra` and
    `attributes` as in :class:`Ranking`. Without `evidence`, columns that were chosen without being
    kept by the user have some, and the others have none.
    """

    order: np.ndarray
    evidence: BoolArray | None = None
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


def rank_by_merit(
    preference: Preference,
    merit: FloatArray,
    *,
    extra: dict[str, np.ndarray] | None = None,
    attributes: dict[str, Any] | None = None,
    tie_break: FloatArray | None = None,
    shown: bool = False,
) -> Ranking:
    """Rank columns by their merit and what the user prefers, the columns to keep first.

    A column of merit 0 or less has no evidence, whatever the user prefers.

    Columns of equal score go by `tie_break`, then by position.
    With `shown`, the merit is the attribute `relevance_`; where a preference changes it, also a
    column of ``table()``, since it is not the score.
    """
    scores, extra, attributes = preference.apply(merit), dict(extra or {}), dict(attributes or {})
    if shown or preference.has_cost:
        (extra if preference.changes_merit else attributes)["relevance"] = merit
    tie_keys: tuple[np.ndarray, ...] = ()
    if tie_break is None:
        order = best_first(scores)
    else:
        first, tie_keys = best_first(tie_break), (scores, tie_break)
        order = first[best_first(scores[first])]
    return Ranking(
        order=preference.put_keep_first(order),
        scores=scores,
        evidence=merit > 0,
        extra=extra,
        attributes=attributes,
        tie_keys=tie_keys,
    )


class StoppedError(Exception):
    """Ctrl-C during a computation, with its outcome so far."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


def stop_with(outcome: Ranking | Selection) -> Exception:
    """Return the error to raise on Ctrl-C: ``fit`` stores the outcome, then passes Ctrl-C on."""
    return StoppedError(outcome)
