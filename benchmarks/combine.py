"""One ranking from many, by every rule; Schulze's and Copeland's also by votelib where it is there.

votelib's time has its own counting of the pairs in it. The other peer is the rule as it is usually
written: the matrix of all pairs, and Floyd and Warshall's loop over numpy rows.
"""

import importlib.util
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.harness import Row, best_of, peak_over
from featly.combine.rankings import RULES, combine_rankings

SMALL = 200  # features that votelib can do in seconds


def make_lists(p: int, n_lists: int, noise: float = 0.3) -> np.ndarray:
    """Positions in lists that agree in part."""
    rng = np.random.default_rng(0)
    seen = np.linspace(0, 1, p)[:, None] + noise * rng.normal(size=(p, n_lists))
    return seen.argsort(axis=0).argsort(axis=0) + 1


def by_numpy(positions: np.ndarray) -> np.ndarray:
    """Return Schulze's wins by the textbook."""
    votes = np.zeros((len(positions), len(positions)), np.int16)
    for column in positions.T:
        votes += column[:, None] < column
    path = np.where(votes > votes.T, votes, 0).astype(np.int16)
    for middle in range(len(path)):
        np.maximum(path, np.minimum(path[:, [middle]], path[middle]), out=path)
    return (path > path.T).sum(axis=1)


def votelib(rule: str, positions: np.ndarray) -> Callable[[], list[int]] | None:
    """Return a call of votelib's rule, or None where it is not installed."""
    if importlib.util.find_spec("votelib") is None:
        return None
    from votelib.convert import RankedToCondorcetVotes
    from votelib.evaluate import condorcet

    ballots: dict[tuple[int, ...], int] = {}
    for column in positions.T:
        ballot = tuple(np.argsort(column).tolist())
        ballots[ballot] = ballots.get(ballot, 0) + 1
    judge = condorcet.Schulze() if rule == "schulze" else condorcet.Copeland(second_order=False)
    return lambda: judge.evaluate(RankedToCondorcetVotes().convert(ballots), len(positions))


def rules() -> Iterator[Row]:
    positions = make_lists(10_000, 105)
    for rule in RULES:
        combine_rankings(positions[:50].argsort(axis=0).argsort(axis=0) + 1, rule)
        seconds, combined = best_of(lambda rule=rule: combine_rankings(positions, rule), 3)
        _, memory, _ = peak_over(lambda rule=rule: combine_rankings(positions, rule))
        note = f"{combined.ties:,} tie, {memory / 2**20:.0f} MB"
        yield Row(f"{rule}, 10,000 features, 105 lists", "featly", seconds, note, ours=True)


def paths() -> Iterator[Row]:
    for p in (SMALL, 2_000, 10_000):
        positions = make_lists(p, 28)
        problem = f"schulze, {p:,} features, 28 lists"
        seconds, combined = best_of(lambda: combine_rankings(positions, "schulze"))  # noqa: B023
        yield Row(problem, "featly", seconds, ours=True)
        if p <= 2_000:
            peer, wins = best_of(lambda: by_numpy(positions), 1)  # noqa: B023
            agree = "the same wins" if (wins == combined.scores).all() else "OTHER WINS"
            yield Row(problem, "Floyd-Warshall in numpy", peer, agree)
        if p == SMALL:
            yield from _peer("schulze", problem, positions, combined.scores)
    positions = make_lists(SMALL, 28)
    problem = f"condorcet, {SMALL} features, 28 lists"
    seconds, combined = best_of(lambda: combine_rankings(positions, "condorcet"))
    yield Row(problem, "featly", seconds, ours=True)
    yield from _peer("condorcet", problem, positions, combined.scores)


def _peer(rule: str, problem: str, positions: np.ndarray, scores: np.ndarray) -> Iterator[Row]:
    call = votelib(rule, positions)
    if call is not None:
        seconds, order = best_of(call, 1)
        agree = (np.diff(scores[order]) <= 0).all()
        yield Row(problem, "votelib", seconds, "the same order" if agree else "ANOTHER ORDER")


CASES = {"combine": rules, "combine-paths": paths}
