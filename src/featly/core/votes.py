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
bytes, fewer as nodes merge; who reached whom is asked only within what merges, by rows of bits.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.core.jit import kernel
from featly.core.parallel import n_threads, run_blocks, split
from featly.core.popcount import ones

__all__ = ["copeland", "places", "schulze"]

IntArray = npt.NDArray[np.int64]
Progress = Callable[[int, int], Any] | None

_WIDTH = 2048  # features that are compared with one at a time; their places stay in the cache
_COMPARISONS = 1 << 28  # of a block of work: some 50 ms
_LONG = 3600.0  # seconds from which a run is announced


def places(positions: IntArray) -> tuple[np.ndarray, np.ndarray]:
    """Positions as the kernels compare them, list by list, in as few bytes as they fit in.

    Parameters
    ----------
    positions : int64 array of shape (n_features, n_lists)
        Whole numbers from 1, smaller is better; 0 where a list does not hold the feature.

    Returns
    -------
    low, high : arrays of shape (n_lists, n_features)
        The same places, but one who is not there is never behind in the first, and never before
        in the second. One array where nothing is missing.
    """
    largest = int(positions.max()) + 1
    kind = np.uint16 if largest <= np.iinfo(np.uint16).max else np.uint32
    low = np.ascontiguousarray(positions.T, dtype=kind)
    absent = low == 0
    return low, np.where(absent, kind(np.iinfo(kind).max), low) if absent.any() else low


def copeland(
    low: np.ndarray, high: np.ndarray, n_jobs: int | None = None, progress: Progress = None
) -> IntArray:
    """Defeats given minus defeats suffered, of every feature.

    Parameters
    ----------
    low, high : arrays of shape (n_lists, n_features)
        From :func:`places`.
    n_jobs : int or None
        Threads; the result does not depend on it.
    progress : callable or None
        Told the blocks done and their number.

    Examples
    --------
    >>> import numpy as np
    >>> lists = np.array([[1, 1, 2], [2, 3, 1], [3, 2, 3]])  # features x lists
    >>> copeland(*places(lists)).tolist()
    [2, 0, -2]
    """
    n_lists, p = low.shape
    counts = np.int16 if n_lists < 2**15 else np.int32

    def some(block: tuple[int, int]) -> IntArray:
        net = np.zeros(p, np.int64)
        _copeland(low, high, block[0], block[1], np.empty(_WIDTH, counts), net)
        return net

    blocks = split(p, max(1, _COMPARISONS // (n_lists * p)))
    total = np.zeros(p, np.int64)
    for net in _in_turn(some, blocks, n_jobs, progress, "condorcet", len(blocks)):
        total += net
    return total


def schulze(
    low: np.ndarray, high: np.ndarray, n_jobs: int | None = None, progress: Progress = None
) -> IntArray:
    """How many others each feature wins against, by the strengths of the strongest paths.

    Parameters as in :func:`copeland`. Memory: a byte and a quarter a pair of features, two and a
    quarter with more than 255 lists.

    Examples
    --------
    >>> import numpy as np
    >>> lists = np.array([[1, 1, 2], [2, 3, 1], [3, 2, 3]])  # features x lists
    >>> schulze(*places(lists)).tolist()
    [2, 1, 0]
    """
    n_lists, p = low.shape
    kind = np.uint8 if n_lists < 2**8 else np.uint16 if n_lists < 2**16 else np.uint32
    strength = np.empty((p, p), kind)

    def some(block: tuple[int, int]) -> None:
        _winning_votes(low, high, block[0], block[1], np.empty((2, _WIDTH), kind), strength)

    blocks = split(p, max(1, _COMPARISONS // (2 * n_lists * p)))
    total = len(blocks) + n_lists
    for _ in _in_turn(some, blocks, n_jobs, progress, "schulze", total):
        pass
    node = np.arange(len(strength))  # of a feature
    size = np.ones(len(strength), np.int64)  # of a node
    wins = np.zeros(len(strength), np.int64)
    above = 0
    for level in _levels(strength, n_lists, n_jobs):
        merged, count = _components(_pack(strength, level, n_jobs))
        if count < len(strength):
            if above:
                wins += _gains(strength, above, merged, count, size)[node]
            node = merged[node]
            size = np.bincount(node, minlength=count)
            strength = _contract(strength, merged, count)
        above = level
        if progress is not None:
            progress(total - level, total)
        if count == 1:
            break
    # between what has not become one, there is at most a path one way
    merged = np.zeros(len(strength), np.int64)
    wins += _gains(strength, max(above, 1), merged, 1, size)[node]
    if progress is not None:
        progress(total, total)
    return wins


def _in_turn(
    function: Callable[[tuple[int, int]], Any],
    blocks: list[tuple[int, int]],
    n_jobs: int | None,
    progress: Progress,
    rule: str,
    total: int,
) -> Iterator[Any]:
    """Results of blocks, a few at a time; a run that takes hours is announced.

    `total` is what `progress` is told: the blocks, and what comes after them.
    """
    threads = n_threads(n_jobs) if len(blocks) > 1 else 1
    done, begun = 0, time.perf_counter()
    for first, last in split(len(blocks), 4 * threads):
        yield from run_blocks(function, blocks[first:last], n_jobs)
        if done == 0:
            rest = (time.perf_counter() - begun) * (len(blocks) - last) / last
            if rest > _LONG:
                warnings.warn(
                    f"{rule}: every pair of so many features in every list takes some "
                    f"{rest / 3600:.1f} hours here; stop, and combine by k-first or average-sd, "
                    "or only the features that these put first",
                    stacklevel=5,
                )
        done = last
        if progress is not None:
            progress(done, total)


def _words(count: int) -> int:
    return (count + 63) // 64


def _rows(count: int) -> list[tuple[int, int]]:
    """Blocks of rows of a square of bytes, some megabytes each."""
    return split(count, max(1, (1 << 22) // max(1, count)))


def _levels(strength: np.ndarray, n_lists: int, n_jobs: int | None) -> list[int]:
    """The strengths there are, the largest first."""

    def some(block: tuple[int, int]) -> np.ndarray:
        found = np.zeros(n_lists + 1, np.bool_)
        _note(strength[block[0] : block[1]], found)
        return found

    there = np.logical_or.reduce(run_blocks(some, _rows(len(strength)), n_jobs))
    return [int(level) for level in np.flatnonzero(there)[::-1] if level > 0]


def _pack(strength: np.ndarray, level: int, n_jobs: int | None) -> np.ndarray:
    """Which strengths reach the level, a bit each."""
    p = len(strength)
    packed = np.empty((p, _words(p)), np.uint64)

    def some(block: tuple[int, int]) -> None:
        _bits(strength, strength.dtype.type(level), block[0], block[1], packed)

    run_blocks(some, _rows(p), n_jobs)
    return packed


@kernel
def _copeland(low, high, start, stop, counts, net):  # type: ignore[no-untyped-def]
    """Add to `net` what the pairs (a, b > a) decide, for a in [start, stop)."""
    n_lists, p = low.shape
    for first in range(start, p, len(counts)):
        last = min(first + len(counts), p)
        for a in range(start, min(stop, last)):
            begin = max(first, a + 1)
            n = last - begin
            for b in range(n):
                counts[b] = 0
            for j in range(n_lists):
                place = low[j, a]
                if place == 0:
                    continue
                behind, before = low[j, begin:last], high[j, begin:last]
                for b in range(n):
                    counts[b] += np.int16(place < behind[b]) - np.int16(place > before[b])
            gained = 0
            for b in range(n):
                sign = np.int64(counts[b] > 0) - np.int64(counts[b] < 0)
                gained += sign
                net[begin + b] -= sign
            net[a] += gained


@kernel
def _winning_votes(low, high, start, stop, workspace, strength):  # type: ignore[no-untyped-def]
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
                place = low[j, a]
                if place == 0:
                    continue
                behind, before = low[j, first:last], high[j, first:last]
                for b in range(n):
                    votes[b] += np.uint8(place < behind[b])
                    against[b] += np.uint8(place > before[b])
            row = strength[a, first:last]
            for b in range(n):
                row[b] = votes[b] if votes[b] > against[b] else 0


@kernel
def _note(strength, found):  # type: ignore[no-untyped-def]
    """Mark in `found` the values that occur."""
    for a in range(len(strength)):
        for b in range(strength.shape[1]):
            found[strength[a, b]] = True


@kernel
def _bits(strength, level, start, stop, packed):  # type: ignore[no-untyped-def]
    """Fill the rows [start, stop) of `packed`: bit b of row a is ``strength[a, b] >= level``."""
    p = strength.shape[1]
    for a in range(start, stop):
        for w in range(p // 64):
            row = strength[a, 64 * w : 64 * w + 64]
            word = np.uint64(0)
            for b in range(64):
                word |= np.uint64(row[b] >= level) << np.uint64(b)
            packed[a, w] = word
        if p % 64:
            word = np.uint64(0)
            for b in range(p // 64 * 64, p):
                word |= np.uint64(strength[a, b] >= level) << np.uint64(b % 64)
            packed[a, p // 64] = word


@kernel
def _lowest(word):  # type: ignore[no-untyped-def]
    """The place of the lowest bit that is set."""
    return np.int64(ones((word & (~word + np.uint64(1))) - np.uint64(1)))


@kernel
def _components(graph):  # type: ignore[no-untyped-def]
    """The strongly connected component of every node, and how many there are.

    They are numbered by their first nodes. Tarjan's search, by rows of bits: edges to nodes still
    on the stack are the only ones looked at singly, and they lie in components that are about to
    become one node.
    """
    p, n_words = graph.shape
    component = np.full(p, -1, np.int64)
    seen = np.full(p, -1, np.int64)  # when a node was first seen
    back = np.empty(p, np.int64)  # the earliest that it leads back to
    word = np.zeros(p, np.int64)  # up to which its row has been read
    unseen, waiting = np.zeros(n_words, np.uint64), np.zeros(n_words, np.uint64)
    for v in range(p):
        unseen[v // 64] |= np.uint64(1) << np.uint64(v % 64)
    path, stack = np.empty(p, np.int64), np.empty(p, np.int64)
    n_path = n_stack = time = 0
    for root in range(p):
        if seen[root] >= 0:
            continue
        following = root
        while True:
            if following >= 0:
                v = following
                seen[v] = back[v] = time
                time += 1
                path[n_path] = stack[n_stack] = v
                n_path += 1
                n_stack += 1
                unseen[v // 64] &= ~(np.uint64(1) << np.uint64(v % 64))
                waiting[v // 64] |= np.uint64(1) << np.uint64(v % 64)
            v = path[n_path - 1]
            following = -1
            while word[v] < n_words:
                found = graph[v, word[v]] & unseen[word[v]]
                if found:
                    following = 64 * word[v] + _lowest(found)
                    break
                word[v] += 1
            if following >= 0:
                continue
            for w in range(n_words):
                found = graph[v, w] & waiting[w]
                while found:
                    back[v] = min(back[v], seen[64 * w + _lowest(found)])
                    found &= found - np.uint64(1)
            n_path -= 1
            if back[v] == seen[v]:
                first = n_stack
                member = -1
                while member != v:
                    first -= 1
                    member = stack[first]
                    waiting[member // 64] &= ~(np.uint64(1) << np.uint64(member % 64))
                    component[member] = v
                n_stack = first
            if n_path == 0:
                break
            parent = path[n_path - 1]
            back[parent] = min(back[parent], back[v])
    number = np.full(p, -1, np.int64)
    count = 0
    for v in range(p):
        if number[component[v]] < 0:
            number[component[v]] = count
            count += 1
        component[v] = number[component[v]]
    return component, count


@kernel
def _contract(strength, merged, count):  # type: ignore[no-untyped-def]
    """The strengths between components, the largest of their nodes'; in the memory of the first.

    A component has the number of its first node or a lower one, so that its row ends where, at
    the latest, that node's did: what is overwritten has been read.
    """
    p = len(strength)
    flat = strength.reshape(-1)
    follower, last = np.full(p, -1, np.int64), np.full(count, -1, np.int64)
    first = np.full(count, -1, np.int64)
    for v in range(p):
        c = merged[v]
        if last[c] < 0:
            first[c] = v
        else:
            follower[last[c]] = v
        last[c] = v
    row = np.empty(count, strength.dtype)
    for c in range(count):
        for d in range(count):
            row[d] = 0
        v = first[c]
        while v >= 0:
            for w in range(p):
                row[merged[w]] = max(row[merged[w]], flat[v * p + w])
            v = follower[v]
        row[c] = 0
        for d in range(count):
            flat[c * count + d] = row[d]
    return flat[: count * count].reshape(count, count)


@kernel
def _closure(graph):  # type: ignore[no-untyped-def]
    """What every node of a graph without cycles reaches, itself included.

    The row of a node is the union of its neighbours' rows. A neighbour already in it adds nothing,
    so where the nodes are roughly in the order of the graph, few rows are joined.
    """
    p, n_words = graph.shape
    reach = np.zeros((p, n_words), np.uint64)
    done = np.zeros(n_words, np.uint64)
    path, word = np.empty(p, np.int64), np.zeros(p, np.int64)
    for root in range(p):
        if done[root // 64] >> np.uint64(root % 64) & np.uint64(1):
            continue
        path[0] = root
        n_path = 1
        while n_path:
            v = path[n_path - 1]
            reach[v, v // 64] |= np.uint64(1) << np.uint64(v % 64)
            while word[v] < n_words:
                w = word[v]
                found = graph[v, w] & ~reach[v, w]
                if not found:
                    word[v] += 1
                    continue
                neighbour = 64 * w + _lowest(found)
                if not done[w] >> np.uint64(neighbour % 64) & np.uint64(1):
                    path[n_path] = neighbour
                    n_path += 1
                    break
                for i in range(n_words):
                    reach[v, i] |= reach[neighbour, i]
            if word[v] == n_words:
                done[v // 64] |= np.uint64(1) << np.uint64(v % 64)
                n_path -= 1
    return reach


@kernel
def _gains(strength, above, merged, count, size):  # type: ignore[no-untyped-def]
    """What each node wins against those it becomes one with: it reached them at the level above.

    No path between two nodes of a component leaves it, so each is a small graph of its own.
    """
    p = len(strength)
    begin = np.zeros(count + 1, np.int64)  # nodes of a component, from begin[c] on
    for v in range(p):
        begin[merged[v] + 1] += 1
    for c in range(count):
        begin[c + 1] += begin[c]
    members, place = np.empty(p, np.int64), begin[:-1].copy()
    for v in range(p):
        members[place[merged[v]]] = v
        place[merged[v]] += 1
    gains = np.zeros(p, np.int64)
    for c in range(count):
        inside = members[begin[c] : begin[c + 1]]
        n = len(inside)
        if n == 1:
            continue
        graph = np.zeros((n, (n + 63) // 64), np.uint64)
        for i in range(n):
            row = strength[inside[i]]
            for k in range(n):
                graph[i, k // 64] |= np.uint64(row[inside[k]] >= above) << np.uint64(k % 64)
        reach = _closure(graph)
        for i in range(n):
            for w in range(reach.shape[1]):
                found = reach[i, w]
                while found:
                    gains[inside[i]] += size[inside[64 * w + _lowest(found)]]
                    found &= found - np.uint64(1)
            gains[inside[i]] -= size[inside[i]]  # every node reaches itself
    return gains
