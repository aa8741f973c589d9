"""Graphs as rows of bits, and weighted ones as squares of small whole numbers.

:mod:`featly.core.ranking.voting` needs the edges of at least some strength, the components of nodes
that reach each other, and the graph in which every component is one node. Node a has row a; bit
b % 64 of word b // 64 is its edge to b.
"""

import numpy as np

from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.simd import ones

__all__ = [
    "closure",
    "components",
    "contract",
    "count_wins_within",
    "distinct_strengths",
    "pack_edges",
]

# mypy: disable-error-code="no-untyped-def"


def _count_words(count: int) -> int:
    return (count + 63) // 64


def _row_blocks(count: int) -> list[tuple[int, int]]:
    """Return blocks of rows of a square of bytes, some megabytes each."""
    return split(count, max(1, (1 << 22) // max(1, count)))


def distinct_strengths(strength: np.ndarray, n_lists: int, n_jobs: int | None) -> list[int]:
    """Return the strengths that occur, the largest first."""

    def mark_block(block: tuple[int, int]) -> np.ndarray:
        marks = np.zeros(n_lists + 1, np.bool_)
        _mark_values(strength[block[0] : block[1]], marks)
        return marks

    occurs = np.logical_or.reduce(run_blocks(mark_block, _row_blocks(len(strength)), n_jobs))
    return [int(level) for level in np.flatnonzero(occurs)[::-1] if level > 0]


def pack_edges(strength: np.ndarray, level: int, n_jobs: int | None) -> np.ndarray:
    """Pack the edges of at least a given strength, a bit each."""
    p = len(strength)
    packed = np.empty((p, _count_words(p)), np.uint64)

    def pack_block(block: tuple[int, int]) -> None:
        _pack_rows(strength, strength.dtype.type(level), block[0], block[1], packed)

    run_blocks(pack_block, _row_blocks(p), n_jobs)
    return packed


@kernel
def _mark_values(strength, marks):
    """Mark the values that occur."""
    for a in range(len(strength)):
        for b in range(strength.shape[1]):
            marks[strength[a, b]] = True


@kernel
def _pack_rows(strength, level, start, stop, packed):
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
def _lowest_bit(word):
    """Return the position of the lowest bit that is set."""
    return np.int64(ones((word & (~word + np.uint64(1))) - np.uint64(1)))


@kernel
def components(graph):
    """Return the strongly connected component of every node, and how many there are.

    They are numbered by their first nodes. Tarjan's search by rows of bits: only edges to nodes
    still on the stack are visited one by one.
    """
    p, n_words = graph.shape
    component = np.full(p, -1, np.int64)
    seen = np.full(p, -1, np.int64)  # the time at which a node was first seen
    back = np.empty(p, np.int64)  # that of the earliest node on the stack that it reaches
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
                edges = graph[v, word[v]] & unseen[word[v]]
                if edges:
                    following = 64 * word[v] + _lowest_bit(edges)
                    break
                word[v] += 1
            if following >= 0:
                continue
            for w in range(n_words):
                edges = graph[v, w] & waiting[w]
                while edges:
                    back[v] = min(back[v], seen[64 * w + _lowest_bit(edges)])
                    edges &= edges - np.uint64(1)
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
def contract(strength, merged, count):
    """Return the largest strengths between the nodes of components; `strength` is overwritten.

    The number of a component is at most that of its first node, so its row ends no later than
    that node's: only rows that have been read are overwritten.
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
def closure(graph):
    """Return the nodes that every node of a graph without cycles reaches, itself included.

    The row of a node is the union of its neighbours' rows. A neighbour already in it adds nothing,
    so few rows are joined if the nodes are roughly in the order of the graph.
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
                edges = graph[v, w] & ~reach[v, w]
                if not edges:
                    word[v] += 1
                    continue
                neighbour = 64 * w + _lowest_bit(edges)
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
def count_wins_within(strength, above, merged, count, size):
    """Count the features in its component that each node reaches by strengths of at least `above`.

    No path between two nodes of a component leaves it, so each is a small graph of its own.
    """
    p = len(strength)
    begin = np.zeros(count + 1, np.int64)  # of the nodes of each component
    for v in range(p):
        begin[merged[v] + 1] += 1
    for c in range(count):
        begin[c + 1] += begin[c]
    members, position = np.empty(p, np.int64), begin[:-1].copy()
    for v in range(p):
        members[position[merged[v]]] = v
        position[merged[v]] += 1
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
        reach = closure(graph)
        for i in range(n):
            for w in range(reach.shape[1]):
                edges = reach[i, w]
                while edges:
                    gains[inside[i]] += size[inside[64 * w + _lowest_bit(edges)]]
                    edges &= edges - np.uint64(1)
            gains[inside[i]] -= size[inside[i]]  # every node reaches itself
    return gains
