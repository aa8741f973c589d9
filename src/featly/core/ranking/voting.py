r"""Rules of voting theory: every list is a voter, every feature a candidate.

With :math:`d_{ab}` the number of lists that put a before b, a *defeats* b where
:math:`d_{ab} > d_{ba}`.

- Copeland: :math:`\#\{b: d_{ab} > d_{ba}\} - \#\{b: d_{ab} < d_{ba}\}`.
- Schulze: a defeat has the strength :math:`d_{ab}` (winning votes), a path that of its weakest
  defeat, :math:`P_{ab}` is the strength of the strongest path from a to b, and the score of a is
  :math:`\#\{b: P_{ab} > P_{ba}\}`.

Schulze, M. (2011), A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent
single-winner election method, *Social Choice and Welfare* 36, 267-303.

The usual way to the strongest paths is that of Floyd and Warshall, :math:`p^3` steps. But there
are no more strengths than lists. Let s fall from the largest strength, and look at the graph of
the defeats of at least s: two features that reach each other in it for the first time have
:math:`\min(P_{ab}, P_{ba}) = s`, and a wins if it reached b in the graph before. From then on both
have the same paths to all others, so they become one node. A round costs :math:`p^2` steps on
bytes, fewer as nodes merge; reachability is computed only within merged nodes, by rows of bits.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from featly.basics.errors import SlowWarning
from featly.basics.typing import IntArray
from featly.core.ranking.graphs import (
    components,
    contract,
    count_wins_within,
    distinct_strengths,
    pack_edges,
)
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import n_threads, run_blocks, split

__all__ = ["compact_positions", "copeland", "schulze"]

# mypy: disable-error-code="no-untyped-def"

Progress = Callable[[int, int], Any] | None

_WIDTH = 2048  # features compared with one at a time; their positions fit in the processor's cache
_COMPARISONS = 1 << 28  # of a block of work: about 50 ms
_LONG = 3600.0  # seconds; a longer run gives a warning


def compact_positions(positions: IntArray) -> tuple[np.ndarray, np.ndarray]:
    """Convert positions for the kernels, list by list, to as few bytes as possible.

    Parameters
    ----------
    positions : int64 array of shape (n_features, n_lists)
        Whole numbers from 1, smaller is better; 0 where a list does not hold the feature.

    Returns
    -------
    low, high : arrays of shape (n_lists, n_features)
        The same positions. Where a list does not hold a feature, `low` is 0 and `high` the largest
        number, so that the feature is never after another by `low`, nor before one by `high`. They
        are the same array if nothing is missing.
    """
    largest = int(positions.max()) + 1
    kind = np.uint16 if largest <= np.iinfo(np.uint16).max else np.uint32
    low = np.ascontiguousarray(positions.T, dtype=kind)
    absent = low == 0
    return low, np.where(absent, kind(np.iinfo(kind).max), low) if absent.any() else low


def copeland(
    low: np.ndarray, high: np.ndarray, n_jobs: int | None = None, progress: Progress = None
) -> IntArray:
    """Return the number of wins minus that of defeats, of every feature.

    Parameters
    ----------
    low, high : arrays of shape (n_lists, n_features)
        From :func:`compact_positions`.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
    progress : callable or None
        Called with the blocks done and their number.

    Examples
    --------
    >>> import numpy as np
    >>> lists = np.array([[1, 1, 2], [2, 3, 1], [3, 2, 3]])  # features x lists
    >>> copeland(*compact_positions(lists)).tolist()
    [2, 0, -2]
    """
    n_lists, p = low.shape
    counts = np.int16 if n_lists < 2**15 else np.int32

    def count_block(block: tuple[int, int]) -> IntArray:
        net = np.zeros(p, np.int64)
        _copeland(low, high, block[0], block[1], np.empty(_WIDTH, counts), net)
        return net

    # a row is compared with those after it, so later blocks have more rows
    n_blocks = 1 + n_lists * p * p // (2 * _COMPARISONS)
    bounds = np.unique(p - np.floor(p * np.sqrt(np.linspace(1, 0, n_blocks + 1))).astype(int))
    blocks = list(pairwise(bounds.tolist()))
    total = np.zeros(p, np.int64)
    for net in _run_with_warning(count_block, blocks, n_jobs, progress, "condorcet", len(blocks)):
        total += net
    return total


def schulze(
    low: np.ndarray, high: np.ndarray, n_jobs: int | None = None, progress: Progress = None
) -> IntArray:
    """Return how many others each feature wins against, by the strengths of the strongest paths.

    Parameters as in :func:`copeland`. Memory: a byte and a quarter a pair of features, two and a
    quarter with more than 255 lists.

    Examples
    --------
    >>> import numpy as np
    >>> lists = np.array([[1, 1, 2], [2, 3, 1], [3, 2, 3]])  # features x lists
    >>> schulze(*compact_positions(lists)).tolist()
    [2, 1, 0]
    """
    n_lists, p = low.shape
    kind = np.uint8 if n_lists < 2**8 else np.uint16 if n_lists < 2**16 else np.uint32
    strength = np.empty((p, p), kind)

    def count_block(block: tuple[int, int]) -> None:
        _winning_votes(low, high, block[0], block[1], np.empty((2, _WIDTH), kind), strength)

    blocks = split(p, max(1, _COMPARISONS // (2 * n_lists * p)))
    total = len(blocks) + n_lists
    for _ in _run_with_warning(count_block, blocks, n_jobs, progress, "schulze", total):
        pass
    node = np.arange(len(strength))  # of a feature
    size = np.ones(len(strength), np.int64)  # of a node
    wins = np.zeros(len(strength), np.int64)
    above = 0
    for level in distinct_strengths(strength, n_lists, n_jobs):
        merged, count = components(pack_edges(strength, level, n_jobs))
        if count < len(strength):
            if above:
                wins += count_wins_within(strength, above, merged, count, size)[node]
            node = merged[node]
            size = np.bincount(node, minlength=count)
            strength = contract(strength, merged, count)
        above = level
        if progress is not None:
            progress(total - level, total)
        if count == 1:
            break
    # between two nodes that were not merged there is a path in at most one direction
    merged = np.zeros(len(strength), np.int64)
    wins += count_wins_within(strength, max(above, 1), merged, 1, size)[node]
    if progress is not None:
        progress(total, total)
    return wins


def _run_with_warning(
    function: Callable[[tuple[int, int]], Any],
    blocks: list[tuple[int, int]],
    n_jobs: int | None,
    progress: Progress,
    rule: str,
    total: int,
) -> Iterator[Any]:
    """Yield results of blocks of like work, a few at a time; warn if that will take hours.

    `total` is the second argument of `progress`: the blocks, and the steps that follow them.
    """
    threads = n_threads(n_jobs) if len(blocks) > 1 else 1
    done, begun = 0, time.perf_counter()
    for first, last in split(len(blocks), 4 * threads):
        yield from run_blocks(function, blocks[first:last], n_jobs)
        if done == 0:
            seconds_left = (time.perf_counter() - begun) * (len(blocks) - last) / last
            if seconds_left > _LONG:
                warnings.warn(
                    f"{rule}: comparing every pair of features in every list takes about "
                    f"{seconds_left / 3600:.1f} hours here: stop, and combine by k-first or "
                    "average-sd, or combine only the features that these rank first",
                    SlowWarning,
                    stacklevel=5,
                )
        done = last
        if progress is not None:
            progress(done, total)


@kernel
def _copeland(low, high, start, stop, counts, net):
    """Add to `net` the wins and defeats of the pairs (a, b > a), for a in [start, stop)."""
    n_lists, p = low.shape
    for first in range(start, p, len(counts)):
        last = min(first + len(counts), p)
        for a in range(start, min(stop, last)):
            begin = max(first, a + 1)
            n = last - begin
            for b in range(n):
                counts[b] = 0
            for j in range(n_lists):
                position = low[j, a]
                if position == 0:
                    continue
                later, earlier = low[j, begin:last], high[j, begin:last]
                for b in range(n):
                    counts[b] += np.int16(position < later[b]) - np.int16(position > earlier[b])
            gained = np.int64(0)
            for b in range(n):
                sign = np.int64(counts[b] > 0) - np.int64(counts[b] < 0)
                gained += sign
                net[begin + b] -= sign
            net[a] += gained


@kernel
def _winning_votes(low, high, start, stop, workspace, strength):
    """Fill the rows [start, stop) of `strength`."""
    n_lists, p = low.shape
    votes, against = workspace[0], workspace[1]
    for first in range(0, p, len(votes)):
        last = min(first + len(votes), p)
        n = last - first
        for a in range(start, stop):
            for b in range(n):
                votes[b] = 0
                against[b] = 0
            for j in range(n_lists):
                position = low[j, a]
                if position == 0:
                    continue
                later, earlier = low[j, first:last], high[j, first:last]
                for b in range(n):
                    votes[b] += np.uint8(position < later[b])
                    against[b] += np.uint8(position > earlier[b])
            row = strength[a, first:last]
            for b in range(n):
                row[b] = votes[b] if votes[b] > against[b] else 0
