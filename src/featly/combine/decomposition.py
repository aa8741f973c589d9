"""Many classes as problems of two: every pair of classes, or every class against the rest.

A ranking for each of the problems, and one list from all of them.

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from featly.combine.rankings import check_rule, combine_rankings
from featly.core.ordering import keep_first, rounded
from featly.core.parallel import n_threads, run_blocks
from featly.errors import DataError, ParameterError
from featly.outcomes import Ranking, StoppedError, interrupted
from featly.problem import Problem
from featly.progress import progress_bar

__all__ = ["DECOMPOSITIONS", "Part", "check_decomposition", "decompose", "rank_by_classes"]

DECOMPOSITIONS = ("ovo", "ova")


@dataclass(frozen=True)
class Part:
    """One problem of two classes.

    Attributes
    ----------
    key : (class, class), or class
        The two labels; for a class against the rest its own.
    label : str
        The same in words: "a vs b", "a vs rest".
    problem : callable
        Makes the problem, for a number of threads.
    """

    key: Any
    label: str
    problem: Callable[[int | None], Problem]


def check_decomposition(name: str, value: Any) -> None:
    """Refuse what is no decomposition."""
    if not isinstance(value, str) or value not in DECOMPOSITIONS:
        raise ParameterError(
            f"{name}={value!r}: give 'ovo' (every pair of classes) or 'ova' (every class against "
            "the rest)"
        )


def decompose(problem: Problem, decomposition: str) -> list[Part]:
    """The problems of two classes that a problem of many is made of.

    Two classes are one problem, either way.
    """
    labels = problem.classes.tolist()
    if decomposition == "ova" and len(labels) > 2:
        return [
            Part(label, f"{label} vs rest", partial(problem.against_rest, one))
            for one, label in enumerate(labels)
        ]
    return [
        Part((labels[a], labels[b]), f"{labels[a]} vs {labels[b]}", partial(problem.pair, a, b))
        for a, b in combinations(range(len(labels)), 2)
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
    """A ranking for every problem of two classes, combined into one.

    Parameters
    ----------
    ranker : Ranker
        Its parameters are used; it is not fitted.
    problem : Problem
    decomposition : {"ovo", "ova"}
    n_jobs, verbose
        Threads, over the problems where there are enough of them; the bar counts problems.
    method, k, tie_sd
        See :func:`featly.combine.rankings.combine_rankings`.
    """
    # what makes no sense is refused before the work
    n_first = check_rule(method, problem.source.n_features, k=k, tie_sd=tie_sd)
    parts = decompose(problem, decomposition)
    threads = n_threads(n_jobs)
    outside = 1 < threads < 2 * len(parts)  # else there are more threads than problems can use
    inside = 1 if outside else n_jobs
    rankers = [_for_part(ranker, part, problem.classes, inside) for part in parts]
    found: dict[int, Ranking] = {}
    stopped = False
    with progress_bar(verbose, type(ranker).__name__, unit="lists") as progress:

        def one(j: int) -> None:
            try:
                found[j] = rankers[j]._rank(parts[j].problem(inside))
            except StoppedError:
                raise KeyboardInterrupt from None
            except DataError as told:
                raise DataError(f"{parts[j].label}: {told}") from None
            if progress is not None:
                progress(len(found), len(parts))

        try:
            run_blocks(one, range(len(parts)), threads if outside else 1)
        except KeyboardInterrupt:
            stopped = True
    done = sorted(found)
    if not done:
        raise KeyboardInterrupt
    keep = problem.columns.keep
    lists = [_positions(found[j], keep, tied=not ranker._greedy()) for j in done]
    positions = np.column_stack(lists)
    combined = combine_rankings(
        positions, method, k=k, tie_sd=tie_sd, n_jobs=n_jobs, verbose=verbose is True
    )
    ranking = Ranking(
        order=keep_first(combined.order, keep),
        scores=combined.scores,
        attributes={
            "positions": positions,
            "problems": [parts[j].label for j in done],
            "rankings": {parts[j].key: column for j, column in zip(done, lists, strict=True)},
            "n_first": n_first,
            "n_ties": combined.ties,
            "interrupted": stopped,
        },
        caution=_caution([(parts[j].label, found[j].caution) for j in done]),
    )
    if stopped:
        raise interrupted(ranking)
    return ranking


def _for_part(ranker: Any, part: Part, classes: npt.NDArray[Any], n_jobs: int | None) -> Any:
    """A copy of the ranker for one problem: with its own share of what is said about classes."""
    copy = clone(ranker).set_params(n_jobs=n_jobs)
    parameters = copy.get_params(deep=False)
    if "verbose" in parameters:
        copy.set_params(verbose=False)
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        unknown = [label for label in weights if label not in classes]
        if unknown:
            raise ParameterError(
                f"class_weight names {unknown[0]!r}, which is no class; the classes are "
                f"{classes.tolist()}"
            )
        if not isinstance(part.key, tuple):
            raise ParameterError(
                "class_weight by class has no meaning for a class against the rest: give "
                "'balanced', or take pairs of classes ('ovo')"
            )
        copy.set_params(class_weight={k: v for k, v in weights.items() if k in part.key})
    return copy


def _positions(ranking: Ranking, keep: npt.NDArray[Any], *, tied: bool) -> npt.NDArray[np.float64]:
    """Positions of the columns in a list, from 1; those of equal score share theirs.

    In a list, columns of equal score stand in the order of the table. Were these positions
    counted, the left column would be better in every list, and so in all of them together. Where
    a score depends on the columns chosen before (not `tied`), equal ones are no ties.
    """
    order = ranking.order
    places = np.arange(1.0, len(order) + 1)
    if tied:
        keys = [rounded(key) for key in ranking.keys or (ranking.scores,)]
        differs = np.zeros(len(order) - 1, bool)
        for key in (*keys, np.isin(np.arange(len(order)), keep)):
            differs |= key[order[1:]] != key[order[:-1]]
        run = np.concatenate([[0], np.cumsum(differs)])
        places = (np.bincount(run, places) / np.bincount(run))[run]
    positions = np.empty(len(order))
    positions[order] = places
    return positions


def _caution(told: Sequence[tuple[str, str | None]]) -> str | None:
    """One warning for all problems: the first of them in full."""
    cautions = [(label, text) for label, text in told if text is not None]
    if not cautions:
        return None
    label, text = cautions[0]
    others = len(cautions) - 1
    also = f" (and {others} other problem{'s' * (others > 1)} like it)" if others else ""
    return f"{label}{also}: {text}"
