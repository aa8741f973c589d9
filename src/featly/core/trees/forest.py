r"""Accuracy that a random forest loses when a column is permuted.

.. math::

    I_f = \frac1T \sum_t \frac{1}{|O_t|} \sum_{i \in O_t}
          \Big( [h_t(x_i) = y_i] - [h_t(x_i^{\pi(f)}) = y_i] \Big)

over trees t, their out-of-bag rows :math:`O_t`, and a permutation of column f among those rows.

Breiman, L. (2001), Random forests, *Machine Learning* 45, 5-32.

A tree is grown, classifies its out-of-bag rows and is dropped. Only rows that pass a node which
splits on f can change when f is permuted; they lie together, since the out-of-bag rows are
partitioned along with the tree.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.trees.rank_codes import CodedTable
from featly.core.trees.splits import (
    GAMMA,
    SET,
    count_classes,
    count_draws,
    cut_many,
    cut_two,
    draw_bag,
    draw_below,
    fill_set,
    gini_decrease,
    is_sent_left,
    majority,
    mix_bits,
    most_gain,
    order_many,
    order_two,
    partition_bare_rows,
    partition_rows,
    sort_rows,
    tabulate,
)

__all__ = ["Forest", "ForestInterrupted", "grow_forest"]

# mypy cannot see through the compiler
# mypy: disable-error-code="no-untyped-def, assignment, call-arg"


MOST_TREES = 32  # that one task grows
TASK_WORK = 1 << 23  # cells that one task reads, about; a task has at least one tree
LEAF = -1  # for the offset of a node's column


# ---- the forest -----------------------------------------------------------------------------
@dataclass(frozen=True)
class Forest:
    """Result of a forest, with an entry for every column of the user's table.

    Attributes
    ----------
    importance : float array
        Mean over trees of the drop in accuracy on a tree's out-of-bag rows, a share of 1. Trees
        without such rows do not count.
    error : float array
        Standard error of that mean.
    gini : float array
        Mean over trees of the decrease of the Gini impurity, times the draws in the node.
    votes : int array of shape (n_rows, n_classes)
        How many trees, of those that have not seen a row, give it each class.
    n_trees : int
        Trees that were grown.
    """

    importance: FloatArray
    error: FloatArray
    gini: FloatArray
    votes: npt.NDArray[np.int32]
    n_trees: int


class ForestInterrupted(Exception):  # noqa: N818  as in KeyboardInterrupt
    """Ctrl-C, with the result of the trees that were finished until then."""

    def __init__(self, forest: Forest) -> None:
        super().__init__()
        self.forest = forest


def grow_forest(
    table: CodedTable,
    y: IntArray,
    *,
    n_trees: int,
    n_candidates: int,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
    random_state: int = 0,
    weights: FloatArray | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> Forest:
    """Grow trees and permute every column among the out-of-bag rows of each.

    Parameters
    ----------
    table : CodedTable
    y : int array
        The class of every row: 0, 1, ..., each at least once, in the order of appearance.
    n_trees, n_candidates, min_samples_leaf, max_depth, random_state, n_jobs
        See :class:`featly.embedded.forest_ranker.ForestRanker`.
    weights : float array, optional
        Of the rows, above 0: they are drawn in proportion. All equal by default.
    progress : function of (trees grown, trees in all)
        Called in the order of the trees, maybe by other threads.
    """
    n_classes = int(y.max()) + 1
    codes = table.codes.reshape(-1)
    seed = np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0]
    groups = int(table.group[-1]) + 1
    size = np.bincount(table.group, minlength=groups)
    totals, grown = np.zeros((3, groups)), np.zeros(2, np.int64)
    votes = np.zeros((len(y), n_classes), np.int32)
    ends = np.empty(0) if weights is None else np.cumsum(weights)
    waiting: dict[int, tuple[Any, ...]] = {}
    lock, stopped = threading.Lock(), threading.Event()

    def grow(block: tuple[int, int]) -> None:
        capacity = (block[1] - block[0]) * min(len(y), groups)
        output = np.empty(capacity, np.int32), np.empty(capacity), np.empty(capacity)
        block_votes = np.zeros_like(votes)
        n_entries, n_tested = _grow_block(
            *block, seed, codes, table.n_levels, table.categorical, table.group, size, y, ends,
            n_candidates, min_samples_leaf, depth, *output, block_votes, *_memory(table, n_classes),
        )  # fmt: skip
        with lock:  # sums in the order of the trees do not depend on the threads
            if stopped.is_set():
                return
            waiting[block[0]] = (*block, n_entries, n_tested, *output, block_votes)
            while (ready := waiting.pop(int(grown[0]), None)) is not None:
                _add_block(*ready, totals, votes, grown)
                if progress is not None:
                    progress(int(grown[0]), n_trees)

    depth = len(y) if max_depth is None else min(max_depth, len(y))
    work = len(y) * n_candidates * max(1, int(np.log2(len(y))))
    blocks = split(n_trees, int(np.clip(TASK_WORK // work, 1, MOST_TREES)))
    try:
        run_blocks(grow, blocks, n_jobs)
    except KeyboardInterrupt:
        with lock:  # blocks that are still at work come too late
            stopped.set()
        if grown[0] == 0:
            raise
        raise ForestInterrupted(_summarise(table, totals, votes, grown)) from None
    return _summarise(table, totals, votes, grown)


def _summarise(
    table: CodedTable, totals: FloatArray, votes: npt.NDArray[np.int32], grown: IntArray
) -> Forest:
    n_trees, n_tested = int(grown[0]), max(1, int(grown[1]))
    mean = totals[0] / n_tested
    variance = np.maximum(totals[1] / n_tested - mean**2, 0.0)
    error, gini = np.sqrt(variance / n_tested), totals[2] / n_trees
    positions = np.argsort(table.columns)
    mean, error, gini = (values[table.group][positions] for values in (mean, error, gini))
    return Forest(mean, error, gini, votes, n_trees)


@kernel
def _add_block(
    first, last, n_entries, n_tested, groups, drops, decreases, block_votes, totals, votes, grown
):
    """Add one block to the sums: in one call, so that Ctrl-C comes before or after it."""
    for k in range(n_entries):
        totals[0, groups[k]] += drops[k]
        totals[1, groups[k]] += drops[k] * drops[k]
        totals[2, groups[k]] += decreases[k]
    for i in range(votes.shape[0]):
        for c in range(votes.shape[1]):
            votes[i, c] += block_votes[i, c]
    grown[0] += last - first
    grown[1] += n_tested


# ---- trees ----------------------------------------------------------------------------------
def _memory(table: CodedTable, n_classes: int) -> tuple[AnyArray, ...]:
    """Allocate the arrays in which the trees of a block are grown, one after the other."""
    p, n = table.codes.shape
    widest = int(table.n_levels.max())
    wide, words = min(widest + 1, n), (widest >> 6) + 1
    levels = int(np.where(table.categorical, table.n_levels, 0).max()) if n_classes > 2 else 0
    return (
        # the nodes of a tree
        np.empty(2 * n, np.int64),  # offsets: where the codes of the node's column begin, or LEAF
        np.empty(2 * n, np.int64),  # cuts: codes up to it go left; or where the node's set begins
        np.empty(2 * n, np.int64),  # shifts: 1 sends the missing right, 0 left; or SET
        np.empty(2 * n, np.uint32),  # child: the left one, before the right one; a leaf's class
        np.empty(2 * n, np.int32),  # lows: the first out-of-bag row that comes by
        np.empty(2 * n, np.int32),  # highs: after the last
        np.empty(n, np.uint32),  # splits: the nodes that are no leaves, from left to right
        np.empty(n),  # decrease: what each of them takes off the Gini impurity
        # its rows, those of a node together
        np.empty(n, np.uint32),  # rows: that were drawn
        np.empty(n, np.int64),  # packed: how often, and the class, see featly.core.trees.splits
        np.empty(n, np.uint32),  # out_of_bag: rows that were not drawn
        np.empty(n, bool),  # right: whether the tree is right about them
        # scratch memory, see featly.core.trees.splits
        np.zeros(widest + 1, np.int64),  # counts
        np.zeros(words, np.uint64),  # bits
        np.zeros((words >> 6) + 1, np.uint64),  # summary
        np.empty(wide, np.int32),  # node_codes
        np.empty(wide, np.int64),  # table
        np.empty(wide),  # share
        np.empty(n, np.int32),  # members
        np.empty(n, np.int32),  # following
        np.empty(n_classes, np.int64),  # left
        np.empty((levels + 1, n_classes)),  # probability
        np.empty((2, n_classes, n_classes)),  # squares
        np.empty(n_classes, np.int64),  # totals: draws of each class in a node
        np.empty(wide, np.int32),  # best_codes: in the order of the best cut so far
        np.empty((n + 1, 4), np.int64),  # stack: nodes to come, with rows and depth
        np.arange(p, dtype=np.uint32),  # candidates: all columns, those drawn in front
        np.empty(p, np.uint32),  # swaps: the positions they were exchanged with
        np.empty(n, np.uint32),  # spare: rows while they are partitioned
        np.empty(n, np.int64),  # spare_packed: and their entries of packed
        np.empty(n, np.uint32),  # pool: out-of-bag rows to draw from
        np.full(p, -1, np.int32),  # head: the first split on a column
        np.empty(n, np.int32),  # chain: from a split to the next one on the same column
        np.empty(n, np.int32),  # used: columns of a tree
        np.full(p, -1, np.int32),  # slot: the entry of a group of columns
    )


@kernel
def _grow_block(
    first, last, seed, codes, n_levels, categorical, group, group_size, y, ends, n_candidates,
    smallest, depth, groups, drops, decreases, votes,
    offsets, cuts, shifts, child, lows, highs, splits, decrease, rows, packed, out_of_bag, right,
    counts, bits, summary, node_codes, table, share, members, following, left, probability, squares,
    totals, best_codes, stack, candidates, swaps, spare, spare_packed, pool, head, chain, used,
    slot,
):  # fmt: skip
    """Grow the trees from first to last - 1, and measure what permuting columns costs each.

    A tree splits nodes until they are pure; its out-of-bag rows go along and vote in the leaves.
    Fills `groups`, `drops` and `decreases`, see :func:`_append_worth`. Returns how many entries
    there are, and how many trees have out-of-bag rows.
    """
    n, p = len(y), len(n_levels)
    is_binary = len(totals) == 2
    sets = np.empty(64, np.uint64)
    state = np.empty(1, np.uint64)
    n_out = np.int64(0)  # a plain 0 would have functions compiled for it alone
    n_tested = 0
    for t in range(first, last):
        state[0] = mix_bits(seed + np.uint64(t) * GAMMA)
        n_bag, n_pool = draw_bag(state, y, len(totals), ends, rows, packed, out_of_bag, pool, spare)
        lows[0], highs[0] = 0, n_pool
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, n_bag, 0
        height = 1
        n_nodes = 1
        n_splits = 0
        n_words = np.int64(0)
        while height > 0:
            height -= 1
            node, start, end = stack[height, 0], stack[height, 1], stack[height, 2]
            level = stack[height, 3]
            size = count_classes(packed, start, end, totals)
            gain, base = -1.0, 1.0
            most = most_gain(totals, size)
            best = np.int64(-1)
            cut, shift = np.int64(0), np.int64(0)
            has_missing = False
            n_best = 0
            k = 0
            if level < depth and most > 0.0 and size >= 2 * smallest:
                while k < p and (k < n_candidates or best < 0) and gain < most * base:
                    j = k + draw_below(state, p - k)
                    swaps[k] = j
                    f = np.int64(candidates[j])
                    candidates[j] = candidates[k]
                    candidates[k] = f
                    k += 1
                    offset = np.uint64(f * n)
                    if is_binary:
                        n_codes = tabulate(
                            codes, offset, n_levels[f], rows, packed, start, end, counts, bits,
                            summary, node_codes, table,
                        )  # fmt: skip
                    else:
                        n_codes = sort_rows(
                            codes, offset, n_levels[f], rows, start, end, counts, bits, summary,
                            node_codes, table, members, following,
                        )  # fmt: skip
                    missing = node_codes[0] == 0
                    if categorical[f]:
                        if is_binary:
                            order_two(n_codes, node_codes, table, share)
                        else:
                            order_many(
                                n_codes, packed, start, size, totals, node_codes, table, members,
                                share, probability, squares,
                            )  # fmt: skip
                    if is_binary:
                        gain, base, position, missing_right = cut_two(
                            n_codes, missing and not categorical[f], table, size, float(totals[1]),
                            smallest, gain, base,
                        )  # fmt: skip
                    else:
                        gain, base, position, missing_right = cut_many(
                            n_codes, missing and not categorical[f], table, packed, start, members,
                            size, totals, smallest, gain, base, left,
                        )  # fmt: skip
                    if position < 0:
                        continue
                    best = f
                    if categorical[f]:
                        cut, n_best = position + 1, n_codes
                        for i in range(n_codes):
                            best_codes[i] = node_codes[i]
                    else:
                        low = np.int64(node_codes[position])
                        high = np.int64(node_codes[position + 1])
                        cut = (low if low == 0 else (low + high) >> 1) - missing_right
                        shift, has_missing = np.int64(missing_right), missing
                while k > 0:  # the next node draws from the same list
                    k -= 1
                    j = np.int64(swaps[k])
                    f = np.int64(candidates[k])
                    candidates[k] = candidates[j]
                    candidates[j] = f
            low, high = np.int64(lows[node]), np.int64(highs[node])
            if best < 0:
                label = majority(totals, state)
                offsets[node], child[node] = LEAF, label
                for i in range(low, high):
                    row = out_of_bag[i]
                    votes[row, label] += 1
                    right[i] = y[row] == label
                continue
            offset = np.uint64(best * n)
            if categorical[best]:
                wide = (n_levels[best] >> 6) + 1
                if n_words + wide > len(sets):
                    larger_sets = np.empty(2 * (n_words + wide), np.uint64)
                    for i in range(n_words):
                        larger_sets[i] = sets[i]
                    sets = larger_sets
                fill_set(sets, n_words, wide, best_codes, n_best, cut)
                n_left, cut, shift = cut, n_words, np.int64(SET)
            middle = partition_rows(
                codes, offset, cut, shift, sets, rows, packed, start, end, spare, spare_packed
            )
            # what does not occur in the node goes with the larger side
            larger = 2 * count_draws(packed, start, middle) >= size
            if categorical[best]:
                if larger:
                    fill_set(sets, n_words, wide, best_codes, n_best, n_left - n_best)
                n_words += wide
            elif not has_missing and not larger:
                cut, shift = cut - 1, np.int64(1)
            between = partition_bare_rows(
                codes, offset, cut, shift, sets, out_of_bag, low, high, spare
            )
            offsets[node], cuts[node], shifts[node], child[node] = best * n, cut, shift, n_nodes
            splits[n_splits] = node
            decrease[n_splits] = gini_decrease(gain, base, totals, size)
            n_splits += 1
            lows[n_nodes], highs[n_nodes] = low, between
            lows[n_nodes + 1], highs[n_nodes + 1] = between, high
            stack[height, 0], stack[height, 1] = n_nodes + 1, middle
            stack[height, 2], stack[height, 3] = end, level + 1
            height += 1
            stack[height, 0], stack[height, 1] = n_nodes, start
            stack[height, 2], stack[height, 3] = middle, level + 1
            height += 1
            n_nodes += 2
        n_out = _append_worth(
            n_out, n_splits, n_pool, group, group_size, codes, y, offsets, cuts, shifts, child,
            lows, highs, splits, decrease, out_of_bag, right, sets, head, chain, used, slot, pool,
            state, groups, drops, decreases,
        )  # fmt: skip
        n_tested += n_pool > 0
    return n_out, n_tested


@kernel
def _append_worth(
    n_out, n_splits, n_pool, group, group_size, codes, y, offset, cut, shift, child, low, high,
    splits, decrease, out_of_bag, right, sets, head, chain, used, slot, pool, state, groups, drops,
    decreases,
):  # fmt: skip
    """Append the worth of the columns of a tree: their groups, drops and Gini decreases."""
    n_used = 0
    for k in range(n_splits - 1, -1, -1):  # the splits on a column, as a chain from left to right
        f = offset[splits[k]] // len(y)
        if head[f] < 0:
            used[n_used] = f
            n_used += 1
        chain[k] = head[f]
        head[f] = k
    begin = n_out
    for u in range(n_used):
        f = used[u]
        g = group[f]
        if slot[g] < 0:
            slot[g] = n_out
            groups[n_out], drops[n_out], decreases[n_out] = g, 0.0, 0.0
            n_out += 1
        k = head[f]
        while k >= 0:
            decreases[slot[g]] += decrease[k] / group_size[g]
            k = chain[k]
        if n_pool > 1:
            lost = _count_lost_rows(
                head[f], chain, offset, cut, shift, child, low, high, splits, out_of_bag, right,
                sets, codes, y, pool, n_pool, state,
            )  # fmt: skip
            drops[slot[g]] += lost / (n_pool * group_size[g])
        head[f] = -1
    for k in range(begin, n_out):
        slot[groups[k]] = -1
    return n_out


@kernel
def _count_lost_rows(
    first, chain, offset, cut, shift, child, lows, highs, splits, out_of_bag, right, sets, codes,
    y, pool, n_pool, state,
):  # fmt: skip
    """Count how many more out-of-bag rows a tree gets wrong with one column permuted."""
    lost = 0
    drawn = 0
    k = first
    own_offset = offset[splits[first]]
    while k >= 0:
        top = splits[k]
        low, high = lows[top], highs[top]
        k = chain[k]
        split_again = False
        while k >= 0 and lows[splits[k]] < high:  # splits on the column below this one
            split_again = split_again or lows[splits[k]] < highs[splits[k]]
            k = chain[k]
        down = child[top]
        between = highs[down]
        for i in range(low, high):
            j = drawn + draw_below(state, n_pool - drawn)
            partner = pool[j]
            pool[j] = pool[drawn]
            pool[drawn] = partner
            drawn += 1
            stays = is_sent_left(cut[top], shift[top], sets, codes[np.uint64(own_offset) + partner])
            if stays == (i < between) and not split_again:
                continue
            row = out_of_bag[i]
            node = down + np.uint32(not stays)
            while offset[node] != LEAF:
                source_row = row
                if offset[node] == own_offset:
                    source_row = partner
                code = codes[np.uint64(offset[node]) + source_row]
                stays = is_sent_left(cut[node], shift[node], sets, code)
                node = child[node] + np.uint32(not stays)
            lost += np.int64(right[i]) - np.int64(y[row] == child[node])
    return lost
