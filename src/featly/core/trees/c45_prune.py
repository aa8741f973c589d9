r"""Pruning of a grown tree: nodes that do not pay become leaves, or their heaviest branch.

A leaf of weight N with errors e is expected to err on :math:`N \cdot U_{CF}(e, N)` of other rows,
the upper limit of a binomial confidence interval:

.. math::

    U_{CF}(0, N) = 1 - CF^{1/N}, \qquad
    U_{CF}(e, N) = \frac{f + \frac{z^2}{2N}
        + z \sqrt{\frac{f}{N} - \frac{f^2}{N} + \frac{z^2}{4N^2}}}{1 + \frac{z^2}{N}}, \quad
    f = \frac{e + 1/2}{N}, \quad z = \Phi^{-1}(1 - CF)

and by the straight line between e = 0 and e = 1. From the leaves up, a node becomes a leaf, or its
heaviest branch, if that is expected to err no more than the branches together.

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.

In a complete table the errors of the heaviest branch, were it given all rows of its parent, need
only the rows of the other branches: these are sent through it, and the errors of subtrees that
they do not reach are known. With missing values the shares of the branches change too, and all rows
are sent.
"""

import math

import numpy as np

from featly.core.runtime.jit import kernel
from featly.core.trees.c45_grow import (
    CHILD,
    COUNT,
    CUT,
    DONE,
    FEATURE,
    FIRST,
    FIRST_MISSING,
    FULL,
    HIGH,
    LAST,
    LOW,
    PARENT,
    branch,
    order_by_branch,
    pass_parts,
)
from featly.core.trees.c45_scores import SMALL

__all__ = ["collapse", "expected_errors", "prune", "renumber_nodes"]

# mypy: disable-error-code="no-untyped-def"

SAVED = 1e-3  # training errors that a subtree must save to stay
BETTER = 0.1  # expected errors by which a larger tree must be better


@kernel
def _added_errors(total, errors, confidence, z):
    """Return how many errors are expected beyond those seen."""
    if errors < 1.0:
        base = total * (1.0 - confidence ** (1.0 / total))
        if errors == 0.0:
            return base
        return base + errors * (_added_by_limit(total, 1.0, z) - base)
    return _added_by_limit(total, errors, z)


@kernel
def _added_by_limit(total, errors, z):
    if errors + 0.5 >= total:
        return max(total - errors, 0.0)
    f = (errors + 0.5) / total
    root = math.sqrt(f / total - f * f / total + z * z / (4.0 * total * total))
    upper = (f + z * z / (2.0 * total) + z * root) / (1.0 + z * z / total)
    return upper * total - errors


@kernel
def expected_errors(classes, confidence, z):
    """Return the errors that a leaf with these weights of classes is expected to make."""
    total, most = 0.0, 0.0
    for c in range(len(classes)):
        total += classes[c]
        most = max(most, classes[c])
    if total < SMALL:
        return 0.0
    return total - most + _added_errors(total, total - most, confidence, z)


@kernel
def collapse(nodes, classes, n_nodes, errors):
    """Make leaves of the nodes whose subtrees err as often on the training rows.

    `errors` is filled: training errors of the subtree of each node.
    """
    for node in range(n_nodes - 1, -1, -1):  # children come after their parents
        total, most = 0.0, 0.0
        for c in range(classes.shape[1]):
            total += classes[node, c]
            most = max(most, classes[node, c])
        own = total - most
        if nodes[node, FEATURE] < 0:
            errors[node] = own
            continue
        errors[node] = 0.0
        for b in range(nodes[node, COUNT]):
            errors[node] += errors[nodes[node, CHILD] + b]
        if errors[node] >= own - SAVED:
            nodes[node, FEATURE] = -1


@kernel
def _send_rows(
    son,
    joining,
    nodes,
    classes,
    expected,
    table,
    y,
    weight,
    rows,
    spare,
    new,
    parts,
    part_weights,
    ends,
    branch_weights,
    stack,
    limits,
):
    """Return the expected errors of the subtree of `son` with other rows; -1 if `parts` is full.

    Parameters
    ----------
    joining : whether the rows join those of the subtree, in a complete table; if not they replace
        them
    new : nodes, weights of classes and shares of the subtree with these rows; LOW, HIGH, FIRST and
        LAST of `son` are given, the rest is filled
    """
    codes, _, is_level = table
    new_nodes, new_classes, new_share = new
    confidence, z = limits
    result, height = 0.0, 1
    stack[0] = son
    while height > 0:
        height -= 1
        current = stack[height]
        if current != son:
            parent = nodes[current, PARENT]
            f = nodes[parent, FEATURE]
            first, last = new_nodes[parent, FIRST], new_nodes[parent, LAST]
            first_missing, end = new_nodes[parent, FIRST_MISSING], new_nodes[parent, HIGH]
            new_nodes[current, FIRST], new_nodes[current, LAST] = last, last
            if end > first_missing or last > first:
                if last + (end - first_missing) + (last - first) > len(parts):
                    return -1.0
                new_nodes[current, LAST] = pass_parts(
                    rows,
                    first_missing,
                    end,
                    parts,
                    part_weights,
                    first,
                    last,
                    weight,
                    codes[f],
                    is_level[f],
                    nodes[parent, CUT],
                    current - nodes[parent, CHILD],
                    new_share[current],
                )
        low, high = new_nodes[current, LOW], new_nodes[current, HIGH]
        if joining and low == high:
            result += expected[current]
            continue
        first, last = new_nodes[current, FIRST], new_nodes[current, LAST]
        for c in range(classes.shape[1]):
            new_classes[current, c] = classes[current, c] if joining else 0.0
        for i in range(low, high):
            new_classes[current, y[rows[i]]] += weight[rows[i]]
        for i in range(first, last):
            new_classes[current, y[parts[i]]] += part_weights[i]
        new_nodes[current, FIRST_MISSING] = high
        f = nodes[current, FEATURE]
        if f < 0:
            result += expected_errors(new_classes[current], confidence, z)
            continue
        n_branches, cut = nodes[current, COUNT], nodes[current, CUT]
        order_by_branch(rows, low, high, codes[f], is_level[f], cut, n_branches, spare, ends)
        new_nodes[current, FIRST_MISSING] = ends[n_branches]
        known = 0.0
        for b in range(n_branches):
            branch_weights[b] = 0.0
            for i in range(ends[b], ends[b + 1]):
                branch_weights[b] += weight[rows[i]]
            known += branch_weights[b]
        for i in range(first, last):
            b = branch(codes[f, parts[i]], is_level[f], cut)
            if b >= 0:
                branch_weights[b] += part_weights[i]
                known += part_weights[i]
        for b in range(n_branches):
            child = nodes[current, CHILD] + b
            new_nodes[child, LOW], new_nodes[child, HIGH] = ends[b], ends[b + 1]
            new_share[child] = branch_weights[b] / known if known > 0.0 else 1.0 / n_branches
            stack[height + n_branches - 1 - b] = child
        height += n_branches
    return result


@kernel
def _replace_node(node, son, nodes, classes, share, new, stack):
    """Replace `node` by `son`, with its new rows, classes and shares."""
    new_nodes, new_classes, new_share = new
    height = 1
    stack[0] = son
    while height > 0:
        height -= 1
        current = stack[height]
        if current != son:
            nodes[current, LOW], nodes[current, HIGH] = (
                new_nodes[current, LOW],
                new_nodes[current, HIGH],
            )
            nodes[current, FIRST_MISSING] = new_nodes[current, FIRST_MISSING]
            for c in range(classes.shape[1]):
                classes[current, c] = new_classes[current, c]
            share[current] = new_share[current]
        if nodes[current, FEATURE] >= 0:
            for b in range(nodes[current, COUNT]):
                stack[height] = nodes[current, CHILD] + b
                height += 1
    nodes[node, FEATURE], nodes[node, CUT] = nodes[son, FEATURE], nodes[son, CUT]
    nodes[node, CHILD], nodes[node, COUNT] = nodes[son, CHILD], nodes[son, COUNT]
    nodes[node, FIRST_MISSING] = new_nodes[son, FIRST_MISSING]
    for b in range(nodes[node, COUNT]):
        nodes[nodes[node, CHILD] + b, PARENT] = node


@kernel
def prune(tree, table, y, weight, rows, limits, raising, has_missing, stack_height, memory, new):
    """Prune from the leaves up; the fields of the nodes and the order of `rows` are changed.

    Parameters
    ----------
    tree : as in :func:`featly.core.trees.c45_grow.grow`
    table, y, weight, rows : what it was grown from
    limits : CF, and the quantile of the normal distribution that belongs to it
    raising : whether a node may be replaced by its heaviest branch
    has_missing : whether a value of the table is missing
    stack_height : the height of the stack, first 1
    memory : for each node its expected errors and the number of children that are done, and a
        second stack; two lists of rows; a bound and a weight for each branch of a node
    new : nodes, weights of classes and shares, of the tree that is tried

    Returns
    -------
    reason : DONE, or FULL where the list of parts of rows is full: call again with a longer one
    """
    nodes, classes, share, stack, parts, part_weights = tree
    expected, n_done, inner, work, spare, ends, branch_weights = memory
    codes, _, is_level = table
    confidence, z = limits
    height = stack_height[0]
    while height > 0:
        stack_height[0] = height
        node = stack[height - 1]
        f = nodes[node, FEATURE]
        if f < 0:
            expected[node] = expected_errors(classes[node], confidence, z)
            height -= 1
            continue
        low, high = nodes[node, LOW], nodes[node, HIGH]
        first, last, first_missing = (
            nodes[node, FIRST],
            nodes[node, LAST],
            nodes[node, FIRST_MISSING],
        )
        if n_done[node] < nodes[node, COUNT]:
            son = nodes[node, CHILD] + n_done[node]
            nodes[son, FIRST], nodes[son, LAST] = last, last
            if high > first_missing or last > first:
                if last + (high - first_missing) + (last - first) > len(parts):
                    return FULL
                nodes[son, LAST] = pass_parts(
                    rows,
                    first_missing,
                    high,
                    parts,
                    part_weights,
                    first,
                    last,
                    weight,
                    codes[f],
                    is_level[f],
                    nodes[node, CUT],
                    n_done[node],
                    share[son],
                )
            n_done[node] += 1
            n_done[son] = 0
            stack[height] = son
            height += 1
            continue
        as_tree, heaviest, son = 0.0, 0.0, node
        for b in range(nodes[node, COUNT]):
            child = nodes[node, CHILD] + b
            as_tree += expected[child]
            total = 0.0
            for c in range(classes.shape[1]):
                total += classes[child, c]
            if total > heaviest - SMALL:
                heaviest, son = total, child
        as_leaf = expected_errors(classes[node], confidence, z)
        as_son = np.inf
        # in a complete table first with the rows of the other branches alone, then with all
        joining = raising and not has_missing
        trying = raising
        while trying:
            start, size = low, 0
            if joining:
                start = 0
                for i in range(low, high):
                    if i < nodes[son, LOW] or i >= nodes[son, HIGH]:
                        work[size] = rows[i]
                        size += 1
            else:
                for i in range(low, high):
                    work[i] = rows[i]
                size = high - low
            new[0][son, LOW], new[0][son, HIGH] = start, start + size
            new[0][son, FIRST], new[0][son, LAST] = first, last
            as_son = _send_rows(
                son,
                joining,
                nodes,
                classes,
                expected,
                table,
                y,
                weight,
                work,
                spare,
                new,
                parts,
                part_weights,
                ends,
                branch_weights,
                inner,
                limits,
            )
            if as_son < 0.0:
                return FULL
            trying = (
                joining
                and as_son - as_tree - BETTER < SMALL
                and not (as_leaf - as_tree - BETTER < SMALL and as_leaf - as_son - BETTER < SMALL)
            )
            joining = False
        if as_leaf - as_tree - BETTER < SMALL and as_leaf - as_son - BETTER < SMALL:
            nodes[node, FEATURE] = -1
            expected[node] = as_leaf
            height -= 1
        elif as_son - as_tree - BETTER < SMALL:
            for i in range(low, high):
                rows[i] = work[i]
            _replace_node(node, son, nodes, classes, share, new, inner)
            n_done[node] = 0
        else:
            expected[node] = as_tree
            height -= 1
    return DONE


@kernel
def renumber_nodes(nodes, old, tree):
    """Number the remaining nodes: parents before children, children of a node together.

    `old` and `tree` are filled: the number that a node had, and its column (-1 in a leaf), cut,
    first child, number of children, parent and depth. Returns how many are left.
    """
    old[0] = 0
    tree[0, 4], tree[0, 5] = -1, 0
    n_left, node = 1, 0
    while node < n_left:
        old_node = old[node]
        tree[node, 0] = nodes[old_node, FEATURE]
        tree[node, 1], tree[node, 2], tree[node, 3] = 0, 0, 0
        if nodes[old_node, FEATURE] >= 0:
            tree[node, 1], tree[node, 2] = nodes[old_node, CUT], n_left
            tree[node, 3] = nodes[old_node, COUNT]
            for b in range(nodes[old_node, COUNT]):
                old[n_left] = nodes[old_node, CHILD] + b
                tree[n_left, 4], tree[n_left, 5] = node, tree[node, 5] + 1
                n_left += 1
        node += 1
    return n_left
