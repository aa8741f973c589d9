"""Questions to a table whose answer depends on where the table lies.

A question is a function of a table. It has a default answer, which asks simpler questions, and
better ones for some kinds of table, which are written beside these. Whoever asks does not know
which one is given.
"""

from collections.abc import Callable
from functools import singledispatch, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Question", "question"]

P = ParamSpec("P")
A = TypeVar("A")


class Question(Generic[P, A]):
    """A function that is dispatched by the type of its first argument.

    Parameters
    ----------
    default : callable
        The answer for kinds of table that have no own.

    Examples
    --------
    >>> @question
    ... def size(table):
    ...     return sum(1 for _ in table)
    >>> @size.answer(list)
    ... def _(table):
    ...     return len(table)
    >>> size([1, 2]), size({3, 4, 5}), size.knows(list), size.knows(set)
    (2, 3, True, False)
    """

    def __init__(self, default: Callable[P, A]) -> None:
        self._answers = singledispatch(default)
        update_wrapper(self, default)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> A:
        """Answer for the type of the first argument."""
        answer: Callable[P, A] = self._answers.dispatch(type(arguments[0]))
        return answer(*arguments, **options)

    def answer(self, kind: type) -> Callable[[Callable[..., A]], Callable[..., A]]:
        """Return a decorator of the answer for a kind of table, and those derived from it."""

        def register(function: Callable[..., A]) -> Callable[..., A]:
            self._answers.register(kind, function)
            return function

        return register

    def knows(self, kind: type) -> bool:
        """Return whether there is an answer for a kind of table beside the default."""
        own: Any = self._answers.dispatch(kind)
        return own is not self._answers.dispatch(object)


def question(default: Callable[P, A]) -> Question[P, A]:
    """Make a question of its default answer."""
    return Question(default)
