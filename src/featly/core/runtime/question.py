"""Questions to a table whose answer depends on where the table lies.

A question is a function of a table. It has a default answer, which asks simpler questions, and
better ones for some kinds of table, which are written beside these. Whoever asks does not know
which one is given. A table says where it `lies`: in memory, on disk, or on a GPU; where all
questions of a method have an answer, there it runs.
"""

from collections.abc import Callable, Iterable
from functools import singledispatch, update_wrapper
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar, overload

__all__ = ["DISK", "GPU", "MEMORY", "Question", "find_unanswered", "places_of", "question"]

P = ParamSpec("P")
A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])

MEMORY, DISK, GPU = "memory", "disk", "gpu"
PLACES = (MEMORY, DISK, GPU)


class Question(Generic[P, A]):
    """A function that is dispatched by the type of its first argument.

    Parameters
    ----------
    default : callable
        The answer for kinds of table that have no own.
    disk : bool
        Whether a table on disk has an answer that reads it by blocks.
    gpu : str or bool
        Module with the answers for a GPU, which is imported when such a table asks first; True
        if the default answers there, too, since it asks a method of the table.
    subject : callable, optional
        What of the first argument is dispatched on; the argument itself if not given.

    Examples
    --------
    >>> @question
    ... def size(table):
    ...     return sum(1 for _ in table)
    >>> @size.answer(list)
    ... def _(table):
    ...     return len(table)
    >>> size([1, 2]), size({3, 4, 5}), sorted(size.places)
    (2, 3, ['disk', 'memory'])
    """

    __name__: str

    def __init__(
        self,
        default: Callable[P, A],
        *,
        disk: bool = True,
        gpu: str | bool = False,
        subject: Callable[[Any], Any] | None = None,
    ) -> None:
        self._answers: Any = singledispatch(default)
        self._subject = subject
        self.gpu_module: str | None = gpu if isinstance(gpu, str) else None
        self._asks_table = gpu is True
        is_answered = {MEMORY: True, DISK: disk, GPU: bool(gpu)}
        self.places: frozenset[str] = frozenset(place for place in PLACES if is_answered[place])
        update_wrapper(self, default)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> A:
        """Answer for the type of the first argument.

        A table that is only lent to a GPU (`lender`) is asked itself where no GPU has an answer.
        """
        table: Any = arguments[0]
        subject = table if self._subject is None else self._subject(table)
        if self.gpu_module is not None and getattr(subject, "lies", None) == GPU:
            import_module(self.gpu_module)
        answer: Callable[..., A] = self._answers.dispatch(type(subject))
        if answer is self._answers.dispatch(object) and not self._asks_table:
            table = getattr(table, "lender", table)
            answer = self._answers.dispatch(type(table)) if self._subject is None else answer
        return answer(table, *arguments[1:], **options)

    def answer(self, kind: type) -> Callable[[F], F]:
        """Return a decorator of the answer for a kind of table, and those derived from it.

        Its type is not compared with that of the question: what is computed of an answer on a
        device may be a question again, of a class of its own.
        """

        def register(function: F) -> F:
            self._answers.register(kind, function)
            return function

        return register

    @property
    def kinds(self) -> frozenset[type[Any]]:
        """The kinds of table that have an answer of their own."""
        return frozenset(self._answers.registry) - {object}


@overload
def question(default: Callable[P, A]) -> Question[P, A]: ...
@overload
def question(
    *, disk: bool = True, gpu: str | bool = False, subject: Callable[[Any], Any] | None = None
) -> Callable[[Callable[P, A]], Question[P, A]]: ...
def question(default: Any = None, **options: Any) -> Any:
    """Make a question of its default answer; see :class:`Question` for the options."""
    if default is not None:
        return Question(default)
    return lambda default: Question(default, **options)


def find_unanswered(questions: Iterable[Question[..., Any]], place: str) -> str | None:
    """Return the name of the first question that has no answer at a place, or None."""
    for asked in questions:
        if place not in asked.places:
            return asked.__name__
    return None


def places_of(questions: Iterable[Question[..., Any]]) -> tuple[str, ...]:
    """Return the places where all questions are answered.

    Examples
    --------
    >>> places_of([question(len), question(gpu=True)(len)])
    ('memory', 'disk')
    """
    asked = list(questions)
    return tuple(place for place in PLACES if find_unanswered(asked, place) is None)
