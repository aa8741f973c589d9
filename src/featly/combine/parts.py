"""Many classes as problems of two: every pair of classes, or every class against the rest.

Each of the problems has a ranking, and the rankings are combined into one.

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError, ParameterError
from featly.basics.progress import progress_bar
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.combine.rankings import check_rule, combine_rankings
from featly.core.ranking.ordering import best_first, round_scores
from featly.core.runtime.parallel import n_threads, run_blocks
from featly.problem.outcome import Ranking, StoppedError, stop_with
from featly.problem.problem import Problem

__all__ = ["DECOMPOSITIONS", "Part", "check_decomposition", "decompose", "rank_by_classes"]

DECOMPOSITIONS = ("ovo", "ova")


@dataclass(frozen=True)
class Part:
    """One problem of two classes.

    Attributes
    ----------
    key : (class, class), or class
        The two labels; for a class against the rest, the label of the class.
    label : str
        The same in words: "a vs b", "a vs rest".
    problem : callable
        Called with a number of threads, it returns the problem.
    """

    key: Any
    label: str
    problem: Callable[[int | None], Problem]


def check_decomposition(name: str, value: Any) -> None:
    """Refuse an unknown decomposition."""
    if not isinstance(value, str) or value not in DECOMPOSITIONS:
        raise ParameterError(
            f"{name}={value!r}: give 'ovo' (every pair of classes) or 'ova' (every class against "
            "the rest)"
        )


def decompose(problem: Problem, decomposition: str) -> list[Part]:
    """Return the problems of two classes that make up a problem of many.

    Two classes are one problem with any decomposition. If two problems would have the same label,
    as with a class called "b vs c", the classes are put between quotes.
    """
    classes = problem.classes.labels.tolist()
    against_rest = decomposition == "ova" and len(classes) > 2
    pairs = list(combinations(range(len(classes)), 2))
    for text in (str, repr):
        words = [text(label) for label in classes]
        if against_rest:
            labels = [f"{word} vs rest" for word in words]
            is_unambiguous = "rest" not in words
        else:
            labels = [f"{words[a]} vs {words[b]}" for a, b in pairs]
            is_unambiguous = len(set(labels)) == len(labels)
        if is_unambiguous:
            break
    if against_rest:
        return [
            Part(label, text, partial(problem.against_rest, class_code))
            for class_code, (label, text) in enumerate(zip(classes, labels, strict=True))
        ]
    return [
        Part((classes[a], classes[b]), text, partial(problem.pair, a, b))
        for (a, b), text in zip(pairs, labels, strict=True)
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

    Columns to keep come first in every list, so their positions carry no information: the rule
    combines the others only.

    Parameters
    ----------
    ranker : Ranker
        Its parameters are used; it is not fitted.
    problem : Problem
    decomposition : {"ovo", "ova"}
    n_jobs, verbose
        Threads, used for whole problems if there are enough of them; the progress counts problems.
    method, k, tie_sd
        See :func:`featly.combine.rankings.combine_rankings`.
    """
    parts = decompose(problem, decomposition)
    p, keep = problem.source.n_features, problem.preference.keep
    # raise errors before the work
    n_first = check_rule(method, max(1, p - len(keep)), len(parts), k=k, tie_sd=tie_sd)
    threads = 1 if problem.on_device else n_threads(n_jobs)  # a device computes one at a time
    # with more threads than problems can use, each problem gets all of them
    parts_in_parallel = 1 < threads < 2 * len(parts)
    inner_jobs = 1 if parts_in_parallel else n_jobs
    rankers = [_copy_for_part(ranker, part, problem.classes.labels, inner_jobs) for part in parts]
    positions = np.empty((p, len(parts)), order="F")
    evidence = np.zeros((p, len(parts)), np.bool_, order="F")
    warnings: dict[int, str | None] = {}  # of the lists that are done
    stopped = False
    with progress_bar(verbose, type(ranker).__name__, unit="lists") as progress:

        def rank_part(j: int) -> None:
            try:
                ranking = rankers[j]._rank(parts[j].problem(inner_jobs))
            except StoppedError:
                raise KeyboardInterrupt from None
            except DataError as error:
                raise DataError(f"{parts[j].label}: {error}") from None
            positions[:, j] = _positions(ranking, keep, greedy=ranker._is_greedy())
            evidence[:, j] = ranking.evidence
            warnings[j] = ranking.warning
            if progress is not None:
                progress(len(warnings), len(parts))

        try:
            run_blocks(rank_part, range(len(parts)), threads if parts_in_parallel else 1)
        except KeyboardInterrupt:
            stopped = True
    done = sorted(warnings)
    if not done:
        raise KeyboardInterrupt
    if len(done) < len(parts):
        positions = np.asfortranarray(positions[:, done])
    options = {"k": k, "tie_sd": tie_sd, "n_jobs": n_jobs, "verbose": verbose is True}
    try:
        order, scores, ties = _combine(positions, keep, method, **options)
    except KeyboardInterrupt:  # combine the lists by a rule that takes no time
        stopped = True
        order, scores, ties = _combine(positions, keep, "average-sd")
    ranking = Ranking(
        order=order,
        scores=scores,
        evidence=np.asarray(evidence[:, done].any(axis=1)),
        attributes={
            "positions": positions,
            "problems": [parts[j].label for j in done],
            "keys": [parts[j].key for j in done],
            "n_first": n_first,
            "n_ties": ties,
            "interrupted": stopped,
        },
        warning=_merge_warnings([(parts[j].label, warnings[j]) for j in done]),
    )
    if stopped:
        raise stop_with(ranking)
    return ranking


def _combine(
    positions: FloatArray, keep: AnyArray, method: str, **options: Any
) -> tuple[IntArray, FloatArray, int]:
    """Return order, scores and ties by a rule; columns to keep come first, by mean position."""
    free = np.setdiff1d(np.arange(len(positions)), keep)
    front = keep[best_first(-positions[keep].mean(axis=1))]
    scores = np.zeros(len(positions))
    if len(free) == 0:
        return front, scores, len(front)
    combined = combine_rankings(positions[free] - len(keep), method, p_values=False, **options)
    scores[free] = combined.scores
    scores[keep] = combined.scores.max()
    return np.concatenate([front, free[combined.order]]), scores, combined.ties


def _copy_for_part(ranker: Any, part: Part, classes: AnyArray, n_jobs: int | None) -> Any:
    """Copy the ranker for one problem, with the class weights of its classes only."""
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


def _positions(ranking: Ranking, keep: AnyArray, *, greedy: bool) -> FloatArray:
    """Return positions of columns in a list, from 1; columns that tie share their mean.

    Tied columns are listed in the order of the table. With these positions the left column would be
    better in every list, and so in all of them together. If a score depends on the columns chosen
    before (`greedy`), equal scores alone are no tie.
    """
    order = ranking.order
    ranks = np.arange(1.0, len(order) + 1)
    if ranking.tie_keys or not greedy:
        keys = [round_scores(key) for key in ranking.tie_keys or (ranking.scores,)]
        differs = np.zeros(len(order) - 1, bool)
        for key in (*keys, np.isin(np.arange(len(order)), keep)):
            differs |= key[order[1:]] != key[order[:-1]]
        run = np.concatenate([[0], np.cumsum(differs)])
        ranks = (np.bincount(run, ranks) / np.bincount(run))[run]
    positions = np.empty(len(order))
    positions[order] = ranks
    return positions


def _merge_warnings(part_warnings: Sequence[tuple[str, str | None]]) -> str | None:
    """Merge the warnings of all problems into one: the first of them in full."""
    warnings = [(label, text) for label, text in part_warnings if text is not None]
    if not warnings:
        return None
    label, text = warnings[0]
    n_others = len(warnings) - 1
    also = f" (and {n_others} other problem{'s' * (n_others > 1)} like it)" if n_others else ""
    return f"{label}{also}: {text}"
