r"""C4.5 on arrays: a tree from codes, and the probabilities of classes that it gives to rows.

.. math::

    p(c \mid x) = \sum_{\text{leaf } l} \frac{w_{lc}}{w_l} \prod_{b \text{ on the way}} s_b(x)

where a branch has :math:`s_b = 1` if the row's value belongs to it, 0 if another branch's, and the
share of the training weight that went down it if the value is missing.

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, xlogy

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.core.trees.c45_grow import (
    DONE,
    FEATURE,
    FIELDS,
    FIRST_MISSING,
    HIGH,
    LARGE,
    PARENT,
    grow,
)
from featly.core.trees.c45_prune import collapse, prune, renumber_nodes
from featly.core.trees.c45_scores import SMALL, score_columns, score_memory

__all__ = ["CodedRows", "Tree", "TreeRules", "add_probabilities", "grow_tree", "saved_bits"]


LARGE_NODE = 1 << 20  # cells of a node from which on threads score its columns
MANY_LEVELS = 0.3  # levels a row: such a column gains by chance
LOGS = 1 << 21  # whole numbers whose logarithms are kept


@dataclass(frozen=True)
class CodedRows:
    """Rows as codes.

    Attributes
    ----------
    codes : int32 array of shape (n_features, n_rows)
        0 is missing, 1 to `n_codes` the values in their order, or the levels.
    n_codes : int64 array of shape (n_features,)
    is_level : bool array of shape (n_features,)
        Whether the codes are levels.
    values, starts : float64 array, int64 array of shape (n_features,)
        The values of the codes, of all columns one after another, and where each column begins.
    y : int32 array of shape (n_rows,)
        The class, from 0.
    n_classes : int
    weight : float64 array of shape (n_rows,)
        Positive.
    """

    codes: npt.NDArray[np.int32]
    n_codes: IntArray
    is_level: BoolArray
    values: FloatArray
    starts: IntArray
    y: npt.NDArray[np.int32]
    n_classes: int
    weight: FloatArray

    @property
    def kernel_table(self) -> tuple[Any, Any, Any]:
        """Codes, their numbers and which columns are levels: the table of the kernels."""
        return self.codes, self.n_codes, self.is_level


@dataclass(frozen=True)
class TreeRules:
    """Rules by which a tree is grown and pruned; see :class:`featly.learners.C45`."""

    confidence: float
    min_rows: float
    pruned: bool
    subtree_raising: bool
    collapse: bool
    mdl_correction: bool
    binary_splits: bool


@dataclass(frozen=True)
class Tree:
    """A tree: node 0 is the root, children come after their parents and lie together.

    Attributes
    ----------
    feature : int64 array of shape (n_nodes,)
        The column that splits a node, -1 in a leaf.
    cut : int64 array
        The largest code of the first branch; among levels the one that is alone there, or 0 where
        each level has a branch.
    threshold : float64 array
        The value of a cut between numbers, else NaN.
    child, n_children, parent, depth : int64 arrays
    classes : float64 array of shape (n_nodes, n_classes)
        Weight of each class.
    share : float64 array
        The part of its parent's rows with a missing value that a node is given.
    """

    feature: IntArray
    cut: IntArray
    threshold: FloatArray
    child: IntArray
    n_children: IntArray
    parent: IntArray
    depth: IntArray
    classes: FloatArray
    share: FloatArray


def grow_tree(rows: CodedRows, rules: TreeRules, n_jobs: int | None = None) -> Tree:
    """Grow, collapse and prune a tree; the result does not depend on `n_jobs`."""
    widest = max(2, int(rows.n_codes[rows.is_level].max(initial=2)))
    lists = (
        np.arange(rows.codes.shape[1], dtype=np.int32),
        np.empty(rows.codes.shape[1], np.int32),
        np.empty(widest + 2, np.int64),
        np.empty(widest),
    )
    tree, n_nodes = _grow_nodes(rows, rules, lists, n_jobs)
    if rules.collapse:
        collapse(tree[0], tree[1], n_nodes, np.empty(n_nodes))
    if rules.pruned and tree[0][0, FEATURE] >= 0:
        tree = _prune_nodes(rows, rules, lists, tree, n_nodes)
    nodes, classes, share = tree[:3]
    old, renumbered = np.empty(n_nodes, np.int64), np.empty((n_nodes, 6), np.int64)
    n_left = renumber_nodes(nodes, old, renumbered)
    old = old[:n_left]
    feature, cut, child, n_children, parent, depth = renumbered[:n_left].T.copy()
    threshold = np.full(n_left, np.nan)
    cuts = np.flatnonzero(feature >= 0)
    cuts = cuts[~rows.is_level[feature[cuts]]]
    threshold[cuts] = rows.values[rows.starts[feature[cuts]] + cut[cuts] - 1]
    return Tree(feature, cut, threshold, child, n_children, parent, depth, classes[old], share[old])


def _grow_nodes(
    rows: CodedRows, rules: TreeRules, lists: tuple[Any, ...], n_jobs: int | None
) -> tuple[tuple[Any, ...], int]:
    """Grow a tree without pruning; return it and the number of its nodes."""
    n_features, n_rows = rows.codes.shape
    order, spare, ends, branch_weights = lists
    total = float(rows.weight.sum())
    has_many_levels = rows.is_level & (rows.n_codes >= MANY_LEVELS * total - SMALL)
    averaged = ~has_many_levels | has_many_levels.all()
    logs = np.zeros(int(min(total, LOGS)) + 2)
    whole = np.arange(1.0, len(logs))
    logs[1:] = whole * np.log2(whole)
    gain_rules = (float(rules.min_rows), bool(rules.mdl_correction), bool(rules.binary_splits))
    n_slots = 32 + len(branch_weights)
    nodes = np.zeros((n_slots, FIELDS), np.int64)
    nodes[0, FEATURE] = nodes[0, PARENT] = -1
    nodes[0, HIGH] = nodes[0, FIRST_MISSING] = n_rows
    tree: tuple[Any, ...] = (
        nodes, np.zeros((n_slots, rows.n_classes)), np.ones(n_slots), np.zeros(n_slots, np.int64),
        np.empty(64, np.int32), np.empty(64),
    )  # fmt: skip
    totals = np.zeros(rows.n_classes)
    node = (np.empty(n_rows, np.int32), np.empty(n_rows, np.int32), np.empty(n_rows))
    scores = (
        np.zeros(n_features, np.bool_), np.empty(n_features), np.empty(n_features),
        np.zeros((n_features, 2), np.int64),
    )  # fmt: skip
    memory = (order, spare, *node, totals, ends, branch_weights)
    most_codes = int(rows.n_codes.max())
    table = rows.kernel_table
    workers = 1 if n_jobs is None and n_rows * n_features < LARGE_NODE else n_threads(n_jobs)
    large = LARGE_NODE if workers > 1 else np.iinfo(np.int64).max
    work = score_memory(n_rows, most_codes, rows.n_classes)
    counters = np.array([1, 1, 0])

    def score(block: tuple[int, int]) -> None:
        size = int(counters[2])
        buffers = score_memory(size, most_codes, rows.n_classes)
        score_columns(*block, table, *node, size, totals, gain_rules, logs, buffers, *scores)

    blocks = split(n_features, -(-n_features // (4 * workers)))
    scored = False
    while True:
        reason = grow(
            table, rows.y, rows.weight, rows.values, rows.starts, averaged, gain_rules, logs, large,
            scored, counters, tree, memory, scores, work,
        )  # fmt: skip
        if reason == DONE:
            return tree, int(counters[0])
        scored = reason == LARGE
        if scored:
            run_blocks(score, blocks, n_jobs)
        else:
            tree = tuple(_double_length(array) for array in tree)


def _prune_nodes(
    rows: CodedRows, rules: TreeRules, lists: tuple[Any, ...], tree: tuple[Any, ...], n_nodes: int
) -> tuple[Any, ...]:
    """Prune a tree: some of its nodes have no parent any more."""
    order, spare, ends, branch_weights = lists
    memory = (
        np.empty(n_nodes), np.zeros(n_nodes, np.int64), np.empty(n_nodes, np.int64),
        np.empty(len(order), np.int32), spare, ends, branch_weights,
    )  # fmt: skip
    new = tuple(np.empty_like(array[:n_nodes]) for array in tree[:3])
    # 1 - CF would be 1, and its quantile infinite, for a small CF
    limits = (float(rules.confidence), -float(ndtri(rules.confidence)))
    has_missing = bool((rows.codes == 0).any())
    tree[3][0] = 0
    stack_height = np.array([1])
    while True:
        reason = prune(
            tree, rows.kernel_table, rows.y, rows.weight, order, limits,
            bool(rules.subtree_raising), has_missing, stack_height, memory, new,
        )  # fmt: skip
        if reason == DONE:
            return tree
        tree = (*tree[:4], *(_double_length(array) for array in tree[4:]))


def _double_length(array: AnyArray) -> AnyArray:
    return np.concatenate([array, np.zeros_like(array)])


def saved_bits(tree: Tree) -> FloatArray:
    """Bits that the split of each node saves: W H(D) less the same of its children."""
    bits = xlogy(tree.classes.sum(axis=1), tree.classes.sum(axis=1))
    bits -= xlogy(tree.classes, tree.classes).sum(axis=1)
    saved = np.where(tree.feature >= 0, bits, 0.0)
    np.subtract.at(saved, tree.parent[1:], bits[1:])
    result: FloatArray = np.maximum(saved, 0.0) / np.log(2.0)
    return result


# mypy: disable-error-code="no-untyped-def"
@kernel
def add_probabilities(tree, positions, numbers, codes, n_levels, laplace, result):
    """Add the probabilities of classes to the rows of `result`.

    Parameters
    ----------
    tree : feature, cut, threshold, child, n_children, classes and share of the nodes
    positions : for each column, its position among the numbers, or -1 less that among the codes
    numbers, codes, n_levels : rows of a table, see :class:`featly.problem.ingest_rows.MixedRows`
    laplace : whether each class of a leaf gets one more row
    result : float64 array of shape (n_rows, n_classes)
    """
    feature, cut, threshold, child, n_children, classes, share = tree
    n_classes = classes.shape[1]
    total = np.zeros(len(feature))
    for node in range(len(feature)):
        for c in range(n_classes):
            total[node] += classes[node, c]
    stack = np.empty(len(feature), np.int64)
    masses = np.empty(len(feature))
    extra = 1.0 if laplace else 0.0
    for i in range(len(result)):
        stack[0], masses[0] = 0, 1.0
        height = 1
        while height > 0:
            height -= 1
            node, mass = stack[height], masses[height]
            while feature[node] >= 0:
                position = positions[feature[node]]
                branch_taken = -1
                if position >= 0:
                    value = numbers[i, position]
                    if value == value:
                        branch_taken = 0 if value <= threshold[node] else 1
                else:
                    code = codes[-1 - position, i]
                    if 0 < code <= n_levels[-1 - position]:
                        one_or_others = 0 if code == cut[node] else 1
                        branch_taken = code - 1 if cut[node] == 0 else one_or_others
                if branch_taken >= 0:
                    following = child[node] + branch_taken
                    if total[following] < SMALL:
                        break  # no training row went there: the node itself is the leaf
                    node = following
                    continue
                for b in range(n_children[node] - 1, -1, -1):
                    following = child[node] + b
                    if total[following] >= SMALL:
                        stack[height], masses[height] = following, mass * share[following]
                        height += 1
                mass = 0.0
                break
            if mass > 0.0:
                denominator = total[node] + extra * n_classes
                for c in range(n_classes):
                    result[i, c] += mass * (classes[node, c] + extra) / denominator
