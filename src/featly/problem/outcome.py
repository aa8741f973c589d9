"""Results of a method's computation, whether it was completed or interrupted."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
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
    order: IntArray | None = None,
    shown: bool = False,
) -> Ranking:
    """Rank columns by their merit and what the user prefers, the columns to keep first.

    A column of merit 0 or less has no evidence, whatever the user prefers.

    Parameters
    ----------
    preference : Preference
        That of the problem.
    merit : float64 array of shape (n_features,)
        What a column is worth by the data alone; larger is better.
    extra : dict of str to array, optional
        Further columns of ``table()``.
    attributes : dict, optional
        Attributes of the fitted method that are not one value a column.
    tie_break : float64 array, optional
        By which columns of equal score go; then by position.
    order : int array, optional
        ``best_first(merit)``, where it is known already.
    shown : bool, default=False
        Whether the merit is the attribute `relevance_`. Where a prior or a cost changes it, it is
        a column of ``table()``, too.

    Returns
    -------
    Ranking

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.ranking.preference import Preference
    >>> preference = Preference(keep=np.array([2]), cost=np.array([0.0, 3.0, 0.0]), trade_off=0.5)
    >>> ranking = rank_by_merit(preference, np.array([1.0, 2.0, 0.1]))
    >>> ranking.order.tolist(), ranking.scores.round(6).tolist()
    ([2, 0, 1], [1.0, 0.5, 0.1])
    """
    scores, extra, attributes = preference.apply(merit), dict(extra or {}), dict(attributes or {})
    if shown or preference.has_cost:
        (extra if preference.changes_merit else attributes)["relevance"] = merit
    tie_keys: tuple[np.ndarray, ...] = ()
    if tie_break is None:
        order = best_first(scores) if order is None or preference.changes_merit else order
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
