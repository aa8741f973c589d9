"""Many classes as problems of two: every pair of classes, or every class against the rest.

Each of the problems has a ranking, and the rankings are combined into one.

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216.
"""

from functools import partial
from itertools import combinations
from typing import Any

from sklearn.base import clone

from featly.basics.errors import ParameterError
from featly.basics.params import OneOf
from featly.combine.engine import rank_parts
from featly.combine.parts import Part
from featly.problem.outcome import Ranking
from featly.problem.problem import Problem

__all__ = [
    "DECOMPOSITION",
    "against_rest",
    "class_pairs",
    "rank_by_classes",
]

DECOMPOSITION = OneOf("ovo", "ova")  # every pair of classes, or every class against the rest


def class_pairs(problem: Problem, ranker: Any = None) -> list[Part]:
    """Return a part for every pair of classes, on their rows alone.

    Parameters
    ----------
    problem : Problem
        Its target is classes.
    ranker : Ranker or None, default=None
        If it has class weights by class, each part has a copy of it with those of its two classes.

    Returns
    -------
    parts : list of Part
        The key is the pair of labels. If two labels of parts would be the same, as with a class
        called "b vs c", the classes are put between quotes.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.combine.class_pairs import class_pairs
    >>> problem = FTest()._read([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "c", "a"])
    >>> [part.label for part in class_pairs(problem)]
    ['a vs b', 'a vs c', 'b vs c']
    >>> class_pairs(problem)[1].problem(1).rows
    array([0, 2, 3])
    """
    classes = problem.classes.labels.tolist()
    pairs = list(combinations(range(len(classes)), 2))
    for text in (str, repr):
        words = [text(label) for label in classes]
        labels = [f"{words[a]} vs {words[b]}" for a, b in pairs]
        if len(set(labels)) == len(labels):
            break
    weights = _class_weights(ranker, classes)
    return [
        Part(
            (classes[a], classes[b]),
            label,
            partial(problem.pair, a, b),
            ranker=_with_weights(ranker, weights, (classes[a], classes[b])),
        )
        for (a, b), label in zip(pairs, labels, strict=True)
    ]


def against_rest(problem: Problem, ranker: Any = None) -> list[Part]:
    """Return a part for every class against all others, on all rows; two classes are one pair.

    Parameters
    ----------
    problem : Problem
        Its target is classes.
    ranker : Ranker or None, default=None
        It is refused if it has class weights by class: the rest is none of them.

    Returns
    -------
    parts : list of Part
        The key is the label of the class. If a class is called "rest", the classes are put between
        quotes.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.combine.class_pairs import against_rest
    >>> problem = FTest()._read([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "c", "a"])
    >>> [part.label for part in against_rest(problem)]
    ['a vs rest', 'b vs rest', 'c vs rest']
    """
    classes = problem.classes.labels.tolist()
    if len(classes) == 2:
        return class_pairs(problem, ranker)
    if _class_weights(ranker, classes) is not None:
        raise ParameterError(
            "class_weight by class has no meaning for a class against the rest: give "
            "'balanced', or take pairs of classes ('ovo')"
        )
    words = [str(label) for label in classes]
    if "rest" in words:
        words = [repr(label) for label in classes]
    return [
        Part(label, f"{word} vs rest", partial(problem.against_rest, position))
        for position, (label, word) in enumerate(zip(classes, words, strict=True))
    ]


def rank_by_classes(
    ranker: Any,
    problem: Problem,
    decomposition: str,
    *,
    n_jobs: int | None = None,
    verbose: Any = False,
    method: str = "k-first",
    k: int | float | None = None,
    tie_sd: str = "larger",
) -> Ranking:
    """Rank for every problem of two classes, and combine the rankings into one.

    Parameters
    ----------
    ranker : Ranker
        Its parameters are used; it is not fitted.
    problem : Problem
    decomposition : {"ovo", "ova"}
    n_jobs, verbose, method, k, tie_sd
        See :func:`featly.combine.engine.rank_parts`.
    """
    make_parts = class_pairs if decomposition == "ovo" else against_rest
    return rank_parts(
        ranker,
        problem,
        make_parts(problem, ranker),
        n_jobs=n_jobs,
        verbose=verbose,
        method=method,
        k=k,
        tie_sd=tie_sd,
    )


# ---- class weights -------------------------------------------------------------------------------
def _class_weights(ranker: Any, classes: list[Any]) -> dict[Any, float] | None:
    """Return the class weights of a ranker if they are by class, else None."""
    weights = getattr(ranker, "class_weight", None)
    if not isinstance(weights, dict):
        return None
    unknown = [label for label in weights if label not in classes]
    if unknown:
        raise ParameterError(
            f"class_weight names {unknown[0]!r}, which is no class; the classes are {classes}"
        )
    return weights


def _with_weights(ranker: Any, weights: dict[Any, float] | None, pair: tuple[Any, Any]) -> Any:
    """Return the ranker with the weights of two classes; None if there are none by class."""
    if weights is None:
        return None
    return clone(ranker).set_params(class_weight={k: v for k, v in weights.items() if k in pair})
