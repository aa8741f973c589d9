"""One engine that ranks the parts of a problem and combines their rankings into one.

It knows nothing of what the parts are: :mod:`featly.combine.parts` and
:mod:`featly.combine.class_pairs` make them. Parts that rank all columns give lists, which a rule of
:mod:`featly.combine.rankings` combines. Parts that rank some of the columns each are merged by
their scores, or by a final.

Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, sections 4.3 and 6.3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError
from featly.basics.params import Whole
from featly.basics.progress import progress_bar
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.combine.parts import Part
from featly.combine.rankings import check_rule, combine_rankings
from featly.core.ranking.ordering import best_first, round_scores
from featly.core.runtime.parallel import run_blocks
from featly.problem.outcome import Ranking, StoppedError, stop_with
from featly.problem.problem import Problem

__all__ = ["rank_column_blocks", "rank_parts"]


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
    has_evidence = np.zeros((p, len(parts)), bool, order="F")
    last_order = np.empty(0, np.int64)

    def note_positions(j: int, part_ranker: Any, ranking: Ranking) -> None:
        nonlocal last_order
        last_order = ranking.order
        positions[:, j] = _positions(ranking, keep, greedy=part_ranker._is_greedy())
        has_evidence[:, j] = ranking.evidence

    work = _rank_each(ranker, problem, parts, note_positions, n_jobs=n_jobs, verbose=verbose)
    stopped = work.stopped
    if len(work.done) < len(parts):
        positions = np.asfortranarray(positions[:, work.done])
    evidence = np.asarray(has_evidence.any(axis=1))  # parts that were not ranked have none
    options = {"k": k, "tie_sd": tie_sd, "n_jobs": n_jobs, "verbose": verbose is True}
    try:
        combined = _combine(positions, keep, evidence, method, **options)
    except KeyboardInterrupt:  # combine the lists by a rule that takes no time
        stopped = True
        combined = _combine(positions, keep, evidence, "average-sd")
    if len(parts) == 1:  # columns that tie stay as its ranker puts them
        combined = replace(combined, order=last_order)
    ranking = replace(
        combined,
        attributes={
            "positions": positions,
            "problems": [parts[j].label for j in work.done],
            "keys": [parts[j].key for j in work.done],
            "n_first": n_first,
            **combined.attributes,
            "interrupted": stopped,
        },
        warning=work.warning,
    )
    if stopped:
        raise stop_with(ranking)
    return ranking


def rank_column_blocks(
    ranker: Any,
    problem: Problem,
    parts: Sequence[Part],
    *,
    n_best: int,
    n_jobs: int | None = None,
    verbose: Any = False,
) -> Ranking:
    """Rank every block of the columns, and merge the rankings into one of all columns.

    Positions in different blocks do not compare. Where the score of a column depends on that column
    alone, as for :class:`featly.FTest`, scores do, and the outcome is that of the whole table to
    the bit. Otherwise the first `n_best` columns of every block meet in a final: the ranker ranks
    them again, together. Columns to keep are all in the final. Those that are not in it come
    after it, by their position in their own block.

    One block gives the ranking of the ranker, and so do blocks of at most `n_best` columns.

    Parameters
    ----------
    ranker : Ranker
        It is copied for every block and for the final, and not fitted itself.
    problem : Problem
        The problem of all columns.
    parts : sequence of Part
        From :func:`featly.combine.parts.column_blocks`.
    n_best : int
        Columns of a block that reach the final, at least 1; those to keep are not counted. Twice
        the number of columns that are wanted is a good choice, see the notes.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts blocks.

    Returns
    -------
    Ranking
        With the attributes `problems` (the labels of the blocks that were ranked), `keys` and
        `interrupted`. The score of a column that is not in the final is the lowest score there less
        the position in the own block.

    Raises
    ------
    DataError
        If a block cannot be ranked; the message begins with its label.
    StoppedError
        On Ctrl-C. Columns of blocks that were not ranked by then come last, with the score minus
        infinity. A final that was stopped counts with what it had, or not at all.
        KeyboardInterrupt if no block was ranked.

    Notes
    -----
    A greedy filter or an elimination may choose otherwise in a block than in the whole table, so
    the final is an approximation. Two columns that tell something only together are lost if they
    are in different blocks and neither is among the first there. Of a made table with 200 rows and
    400 columns, 20 of them informative, in four blocks, the first 25 columns of JMI and MRMR are
    those of the whole table in the same order from ``n_best=10``; of ReliefF 17 of 25 are among
    them, 18 from ``n_best=25``, of SVMRFE 9, 12 and 18 with 10, 25 and 50.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 6.3. The final is featly's.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import JMI
    >>> from featly.combine.engine import rank_column_blocks
    >>> from featly.combine.parts import column_blocks
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 12))
    >>> X[:, [3, 10]] += 2 * y[:, None]
    >>> problem = JMI()._read(X, y)
    >>> ranking = rank_column_blocks(JMI(), problem, column_blocks(problem, 3), n_best=2)
    >>> sorted(ranking.order[:2].tolist())
    [3, 10]
    """
    Whole(at_least=1).check("n_best", n_best)
    blocks: dict[int, _Block] = {}

    def note_block(j: int, part_ranker: Any, ranking: Ranking) -> None:
        columns = parts[j].columns
        assert columns is not None
        keep = np.flatnonzero(np.isin(columns, problem.preference.keep))
        positions = _positions(ranking, keep, greedy=part_ranker._is_greedy())
        blocks[j] = _Block(columns, ranking, positions)

    work = _rank_each(ranker, problem, parts, note_block, n_jobs=n_jobs, verbose=verbose)
    ranked_blocks = [blocks[j] for j in work.done]
    stopped, warning = work.stopped, work.warning
    if len(parts) == 1:
        merged = _restore_columns(problem, ranked_blocks[0])
    elif ranker._scores_one_by_one:
        merged = _merge_by_score(problem, ranked_blocks)
    else:
        final = None
        if not stopped:
            columns = _find_finalists(problem, ranked_blocks, n_best)
            final, stopped = _rank_final(_copy_ranker(ranker, n_jobs), problem, columns)
        merged = _merge_by_final(problem, ranked_blocks, final)
        final_warning = None if final is None else final.ranking.warning
        warning = _merge_warnings([("the final", final_warning)]) or warning
    ranking = replace(
        merged,
        attributes={
            "problems": [parts[j].label for j in work.done],
            "keys": [parts[j].key for j in work.done],
            "interrupted": stopped,
        },
        warning=warning,
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
    threads = problem.source.n_at_once(n_jobs)
    copied = min(threads, len(parts)) * max(part.nbytes for part in parts)
    # with more threads than parts can use, or copies than memory can hold, a part gets all threads
    parts_in_parallel = 1 < threads < 2 * len(parts) and (
        copied == 0 or copied <= problem.resources.memory_budget
    )
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
    positions: FloatArray, keep: AnyArray, evidence: BoolArray, method: str, **options: Any
) -> Ranking:
    """Combine lists by a rule; columns to keep come first, by their mean position."""
    free = np.setdiff1d(np.arange(len(positions)), keep)
    mean = positions.mean(axis=1)
    front = keep[best_first(-mean[keep])]
    scores = np.zeros(len(positions))
    if len(free) == 0:
        ties = {"n_ties": len(front)}
        return Ranking(front, scores, evidence, attributes=ties, tie_keys=(mean,))
    combined = combine_rankings(positions[free] - len(keep), method, p_values=False, **options)
    scores[free] = combined.scores
    scores[keep] = combined.scores.max()
    tie_keys = np.zeros((len(combined.tie_keys), len(positions)))
    tie_keys[:, free] = combined.tie_keys
    tie_keys[0, keep] = mean[keep]
    return Ranking(
        np.concatenate([front, free[combined.order]]),
        scores,
        evidence,
        attributes={"n_ties": combined.ties},
        tie_keys=tuple(tie_keys),
    )


# ---- blocks of columns ---------------------------------------------------------------------------
@dataclass(frozen=True)
class _Block:
    """Some columns and their ranking.

    Attributes
    ----------
    columns : int64 array
        Their positions in the whole table.
    ranking : Ranking
        In positions of the block.
    positions : float64 array
        The position of every column in the ranking, from 1; tied ones share their mean.
    """

    columns: IntArray
    ranking: Ranking
    positions: FloatArray


def _restore_columns(problem: Problem, block: _Block) -> Ranking:
    """Return the ranking of a block of all columns as that of the table."""
    assert len(block.columns) == problem.source.n_features
    ranking = block.ranking
    return Ranking(ranking.order, ranking.scores, ranking.evidence, tie_keys=ranking.tie_keys)


def _join_evidence(n_features: int, blocks: Sequence[_Block]) -> BoolArray:
    """Return whether any block, or the final, has evidence for a column."""
    evidence = np.zeros(n_features, bool)
    for block in blocks:
        evidence[block.columns] |= block.ranking.evidence
    return evidence


def _merge_by_score(problem: Problem, blocks: Sequence[_Block]) -> Ranking:
    """Merge blocks by their scores, which compare; columns of no block come last."""
    scores = np.full(problem.source.n_features, -np.inf)
    for block in blocks:
        scores[block.columns] = block.ranking.scores
    evidence = _join_evidence(len(scores), blocks)
    return Ranking(problem.preference.put_keep_first(best_first(scores)), scores, evidence)


def _find_finalists(problem: Problem, blocks: Sequence[_Block], n_best: int) -> IntArray:
    """Return the columns to keep and the first others of every block, rising."""
    finalists = [problem.preference.keep]
    for block in blocks:
        order = block.columns[block.ranking.order]
        finalists.append(order[~np.isin(order, problem.preference.keep)][:n_best])
    return np.unique(np.concatenate(finalists))


def _rank_final(ranker: Any, problem: Problem, columns: IntArray) -> tuple[_Block | None, bool]:
    """Rank some columns together; None if Ctrl-C left no ranking, and whether it came."""
    stopped = False
    try:
        ranking = ranker._rank_classes(problem.take_columns(columns))
    except StoppedError as error:
        ranking, stopped = error.outcome, True
    except KeyboardInterrupt:
        return None, True
    except DataError as error:
        raise DataError(f"the final: {error}") from None
    keep = np.flatnonzero(np.isin(columns, problem.preference.keep))
    return _Block(columns, ranking, _positions(ranking, keep, greedy=ranker._is_greedy())), stopped


def _merge_by_final(problem: Problem, blocks: Sequence[_Block], final: _Block | None) -> Ranking:
    """Put the columns of the final first, then the others by their positions in their blocks."""
    p, keep = problem.source.n_features, problem.preference.keep
    place = np.full(p, np.inf)  # of every column, 1 is best; those of no block are last
    for block in blocks:
        place[block.columns] = block.positions - np.isin(block.columns, keep).sum()
    if final is None:
        scores = -place
        order = problem.preference.put_keep_first(best_first(scores))
        return Ranking(order, scores, _join_evidence(p, blocks))
    scores = final.ranking.scores.min() - place
    scores[final.columns] = final.ranking.scores
    others = np.setdiff1d(np.arange(p), final.columns)
    order = np.concatenate([final.columns[final.ranking.order], others[best_first(-place[others])]])
    place += len(final.columns)
    place[final.columns] = final.positions
    evidence = _join_evidence(p, [*blocks, final])
    return Ranking(order, scores, evidence, tie_keys=(place,))
