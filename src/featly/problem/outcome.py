"""What a method's computation returns, and how it stops early with something to show."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Ranking", "Selection", "StoppedError", "interrupted"]


@dataclass(frozen=True)
class Ranking:
    """What a ranker's computation returns.

    `extra` becomes columns of ``table()`` (one entry a feature) and fitted attributes; `attributes`
    fitted attributes only. Names without the trailing underscore. `caution` is what the user must
    know about how far the computation came; it is given as a ConvergenceWarning. Columns are tied
    where all of `keys` are equal, which are the scores unless they say less than the order.
    `places` is the rank of every column, from 1, where that is known.
    """

    order: np.ndarray
    scores: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    caution: str | None = None
    keys: tuple[np.ndarray, ...] = ()
    places: np.ndarray | None = None


@dataclass(frozen=True)
class Selection:
    """What a subset selector's computation returns.

    `order` are the chosen columns, in the order of their choice; `extra` and `attributes` as in
    :class:`Ranking`.
    """

    order: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


class StoppedError(Exception):
    """Ctrl-C reached a method that has something to show for its work."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome


def interrupted(outcome: Ranking | Selection) -> Exception:
    """What a method raises on Ctrl-C: ``fit`` keeps the outcome and passes Ctrl-C on."""
    return StoppedError(outcome)
