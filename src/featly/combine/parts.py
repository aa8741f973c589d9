"""Parts of a problem that are ranked each by itself: samples, blocks, sites, several rankers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from featly.problem.problem import Problem

__all__ = ["Part"]


@dataclass(frozen=True)
class Part:
    """One part of a problem, to be ranked by itself.

    Attributes
    ----------
    key : hashable
        A name for programs: the key of its list in ``rankings_``.
    label : str
        A name for people, in errors, warnings and tables.
    problem : callable
        Called with a number of threads, it returns the problem of the part. The rows are copied
        then and not before.
    ranker : Ranker or None
        The ranker of this part; None is the one that all parts share.
    """

    key: Any
    label: str
    problem: Callable[[int | None], Problem]
    ranker: Any = None
