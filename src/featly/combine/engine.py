"""One engine that ranks the parts of a problem and combines their rankings into one.

It knows nothing of what the parts are: :mod:`featly.combine.parts` and
:mod:`featly.combine.class_pairs` make them. Parts that rank all columns give lists, which a rule of
:mod:`featly.combine.rankings` combines. Parts that rank some of the columns each are merged by
their scores, or by a final.

Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, sections 4.3 and 6.3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError
from featly.basics.progress import progress_bar
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.combine.parts import Part
from featly.combine.rankings import check_rule, combine_rankings
from featly.core.ranking.ordering import best_first, round_scores
from featly.core.runtime.parallel import n_threads, run_blocks
from featly.problem.outcome import Ranking, StoppedError, stop_with
from featly.problem.problem import Problem

__all__ = ["rank_parts"]


def rank_parts(
    ranker: Any,
    problem: Problem,
    parts: Sequence[Part],
    *,
    n_jobs: int | None = None,
    verbose: Any = False,
    method: str = "k-first",
    k: int | float | None = None,
    tie_sd: str = "larger",
) -> Ranking:
    """Rank the columns for every part, and combine the rankings into one.

    Columns to keep come first in every list, so their positions carry no information: the rule
    combines the others only. Columns that tie in a list share the mean of their positions.

    With one part the order is that of its ranking, by any rule.

    Parameters
    ----------
    ranker : Ranker
        It ranks the parts that have no ranker of their own. It is copied for every part and not
        fitted itself.
    problem : Problem
        The problem that the parts belong to: it says how many columns there are, which of them to
        keep, and whether they lie on a GPU. Its rows are not read.
    parts : sequence of Part
        At least one. Each ranks all columns of the problem.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
        They are used for whole parts if there are enough of these.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts parts.
    method, k, tie_sd
        See :func:`featly.combine.rankings.combine_rankings`.

    Returns
    -------
    Ranking
        With the attributes `positions` (one row a column, one column a part), `problems` (the
        labels of the parts), `keys`, `n_first`, `n_ties` and `interrupted`.

    Raises
    ------
    DataError
        If a part cannot be ranked; the message begins with the label of the part.
    StoppedError
        On Ctrl-C, with the ranking of the parts that were done. KeyboardInterrupt if none was.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 4.3.

    Examples
    --------
    Five bags of the same rows, combined by the mean of the positions:

    >>> import numpy as np
    >>> from featly import FTest
    >>> from featly.combine.engine import rank_parts
    >>> from featly.combine.parts import bootstrap
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.normal(size=(40, 4))
    >>> X[:, 2] += 2 * y
    >>> problem = FTest()._read(X, y)
    >>> ranking = rank_parts(FTest(), problem, bootstrap(problem, 5, seed=0), method="borda")
    >>> ranking.order[0], ranking.attributes["problems"][:2]
    (np.int64(2), ['bag 1', 'bag 2'])
    """
    p, keep = problem.source.n_features, problem.preference.keep
    # raise errors before the work
    n_first = check_rule(method, max(1, p - len(keep)), len(parts), k=k, tie_sd=tie_sd)
    positions = np.empty((p, len(parts)), order="F")

    def note_positions(j: int, part_ranker: Any, ranking: Ranking) -> None:
        positions[:, j] = _positions(ranking, keep, greedy=part_ranker._is_greedy())

    work = _rank_each(ranker, problem, parts, note_positions, n_jobs=n_jobs, verbose=verbose)
    stopped = work.stopped
    if len(work.done) < len(parts):
        positions = np.asfortranarray(positions[:, work.done])
    options = {"k": k, "tie_sd": tie_sd, "n_jobs": n_jobs, "verbose": verbose is True}
    try:
        order, scores, ties = _combine(positions, keep, method, **options)
    except KeyboardInterrupt:  # combine the lists by a rule that takes no time
        stopped = True
        order, scores, ties = _combine(positions, keep, "average-sd")
    ranking = Ranking(
        order=order,
        scores=scores,
        attributes={
            "positions": positions,
            "problems": [parts[j].label for j in work.done],
            "keys": [parts[j].key for j in work.done],
            "n_first": n_first,
            "n_ties": ties,
            "interrupted": stopped,
        },
        warning=work.warning,
    )
    if stopped:
        raise stop_with(ranking)
    return ranking


# ---- each part -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Work:
    """The parts that were ranked.

    Attributes
    ----------
    done : list of int
        Their positions among the parts. Never empty.
    warning : str or None
        The warnings of all of them in one.
    stopped : bool
        Whether Ctrl-C ended the work before all were ranked.
    """

    done: list[int]
    warning: str | None
    stopped: bool


def _rank_each(
    ranker: Any,
    problem: Problem,
    parts: Sequence[Part],
    note_ranking: Callable[[int, Any, Ranking], None],
    *,
    n_jobs: int | None,
    verbose: Any,
) -> _Work:
    """Rank every part, and hand each ranking on with its ranker as soon as it is ready."""
    threads = 1 if problem.on_device else n_threads(n_jobs)  # a device computes one at a time
    # with more threads than parts can use, each part gets all of them
    parts_in_parallel = 1 < threads < 2 * len(parts)
    inner_jobs = 1 if parts_in_parallel else n_jobs
    rankers = [
        _copy_ranker(ranker if part.ranker is None else part.ranker, inner_jobs) for part in parts
    ]
    warnings: dict[int, str | None] = {}  # of the parts that are done
    stopped = False
    with progress_bar(
        verbose, type(rankers[0] if ranker is None else ranker).__name__, unit="lists"
    ) as progress:

        def rank_part(j: int) -> None:
            try:
                ranking = rankers[j]._rank_classes(parts[j].problem(inner_jobs))
            except StoppedError:
                raise KeyboardInterrupt from None
            except DataError as error:
                raise DataError(f"{parts[j].label}: {error}") from None
            note_ranking(j, rankers[j], ranking)
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
    return _Work(done, _merge_warnings([(parts[j].label, warnings[j]) for j in done]), stopped)


def _copy_ranker(ranker: Any, n_jobs: int | None) -> Any:
    """Copy a ranker for one part, which is silent and uses so many threads."""
    copy = clone(ranker).set_params(n_jobs=n_jobs)
    if "verbose" in copy.get_params(deep=False):
        copy.set_params(verbose=False)
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
    """Merge the warnings of all parts into one: the first of them in full."""
    warnings = [(label, text) for label, text in part_warnings if text is not None]
    if not warnings:
        return None
    label, text = warnings[0]
    n_others = len(warnings) - 1
    also = f" (and {n_others} other problem{'s' * (n_others > 1)} like it)" if n_others else ""
    return f"{label}{also}: {text}"


# ---- lists of all columns ------------------------------------------------------------------------
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
