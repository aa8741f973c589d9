r"""A decision tree grown from its root, each node split by the column of the largest gain ratio.

Of the columns whose gain is at least the average, that of the largest ratio; of equal ones the
first. A row whose value is missing goes down every branch with a share of its weight,

.. math:: w_b = w \cdot \frac{\text{known weight in branch } b}{\text{known weight in the node}}

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann.

The whole rows of a node lie together in one array, ``rows[LOW:HIGH]``, in the order of its
branches, those with a missing value last, from ``FIRST_MISSING``. Parts of rows, whose value was
missing in a node above, are in a second list, ``parts[FIRST:LAST]`` with their weights. It holds
the parts of all nodes on the way from the root, one node after another, so that those of a parent
are intact when its children are grown.
"""

import numpy as np

from featly.core.runtime.jit import kernel
from featly.core.trees.c45_scores import SMALL, score_columns

__all__ = [
    "CHILD",
    "COUNT",
    "CUT",
    "DONE",
    "FEATURE",
    "FIELDS",
    "FIRST",
    "FIRST_MISSING",
    "FULL",
    "HIGH",
    "LARGE",
    "LAST",
    "LOW",
    "PARENT",
    "branch",
    "grow",
    "order_by_branch",
    "pass_parts",
]

# mypy: disable-error-code="no-untyped-def"

# what is known of a node, by column of `nodes`
FEATURE, CUT, CHILD, COUNT, PARENT, LOW, HIGH, FIRST_MISSING, FIRST, LAST = range(10)
FIELDS = 10
DONE, LARGE, FULL = 0, 1, 2  # why `grow` returns
SLACK = 1e-3  # a gain that is less than the average by no more than this will do


@kernel
def branch(code, is_level, cut):
    """Return the branch that a code takes; -1 where it is missing."""
    if code == 0:
        return -1
    if not is_level:
        return 0 if code <= cut else 1
    if cut == 0:
        return code - 1
    return 0 if code == cut else 1


@kernel
def order_by_branch(rows, low, high, column, is_level, cut, n_branches, spare, ends):
    """Bring ``rows[low:high]`` into the order of their branches, the missing last.

    Branch b ends up in ``rows[ends[b]:ends[b + 1]]``, from ``ends[n_branches]`` on are the missing.
    """
    for b in range(n_branches + 2):
        ends[b] = 0
    for i in range(low, high):
        b = branch(column[rows[i]], is_level, cut)
        ends[(n_branches if b < 0 else b) + 1] += 1
    ends[0] = low
    for b in range(n_branches + 1):
        ends[b + 1] += ends[b]
    for i in range(low, high):
        b = branch(column[rows[i]], is_level, cut)
        if b < 0:
            b = n_branches
        spare[ends[b]] = rows[i]
        ends[b] += 1
    for b in range(n_branches, 0, -1):
        ends[b] = ends[b - 1]
    ends[0] = low
    for i in range(low, high):
        rows[i] = spare[i]


@kernel
def pass_parts(
    rows,
    first_missing,
    high,
    parts,
    part_weights,
    first,
    last,
    weight,
    column,
    is_level,
    cut,
    b,
    share,
):
    """Append to the parts those that go from a node to its branch `b`; return the new end.

    These are the missing of its whole rows, ``rows[first_missing:high]``, and of its parts
    ``parts[first:last]``, with their share, and the parts whose value belongs to the branch.
    """
    end = last
    if share > SMALL:
        for i in range(first_missing, high):
            parts[end] = rows[i]
            part_weights[end] = weight[rows[i]] * share
            end += 1
    for i in range(first, last):
        taken = branch(column[parts[i]], is_level, cut)
        if taken == b or (taken < 0 and share > SMALL):
            parts[end] = parts[i]
            part_weights[end] = part_weights[i] * (share if taken < 0 else 1.0)
            end += 1
    return end


@kernel
def _choose_column(can_split, gains, ratios, averaged):
    """Return the column to split by, or -1."""
    sum_gains, n_counted = 0.0, 0
    for f in range(len(can_split)):
        if can_split[f] and averaged[f]:
            sum_gains += gains[f]
            n_counted += 1
    if n_counted == 0:
        return -1
    least_gain = sum_gains / n_counted - SLACK
    best, best_column = 0.0, -1
    for f in range(len(can_split)):
        if can_split[f] and gains[f] >= least_gain and ratios[f] - best > SMALL:
            best, best_column = ratios[f], f
    return best_column


@kernel
def _threshold_code(low, high, values, start):
    """Return the largest code whose value is not above the middle of those of two codes."""
    below, above = values[start + low - 1], values[start + high - 1]
    # a middle that is rounded to the upper value has no third value below it
    middle = (below + above) / 2.0
    while high - low > 1:
        between = (low + high) // 2
        if values[start + between - 1] <= middle:
            low = between
        else:
            high = between
    return low


@kernel
def grow(
    table,
    y,
    weight,
    values,
    starts,
    averaged,
    rules,
    logs,
    large,
    scored,
    counters,
    tree,
    memory,
    scores,
    work,
):
    """Grow until the tree is done, its arrays are full, or a node is large enough for threads.

    Parameters
    ----------
    table : codes (columns, rows), how many codes each column has, and whether they are levels
    y, weight : class and weight of every row
    values, starts : the values behind the codes, column f from ``starts[f]``
    averaged : which columns count in the average gain
    rules : see :func:`featly.core.trees.c45_scores.score_columns`
    logs : x log2 x of whole numbers
    large : cells of a node from which on it is left to threads
    scored : whether the node at the top of the stack has been scored by them
    counters : number of nodes, height of the stack, and rows of the node at its top
    tree : nodes, weights of classes in them, share that missing values of the parent have in them,
        the stack, and parts of rows with their weights
    memory : rows of the tree, a spare list of the same length, rows of the node with class and
        weight, weight of its classes, and a bound and a weight for each branch of a node
    scores : see :func:`featly.core.trees.c45_scores.score_columns`
    work : see :func:`featly.core.trees.c45_scores.score_memory`

    Returns
    -------
    reason : DONE, FULL or LARGE
    """
    codes, n_codes, is_level = table
    nodes, classes, share, stack, parts, part_weights = tree
    rows, spare, node_rows, node_y, node_weight, totals, ends, branch_weights = memory
    can_split, gains, ratios, cuts = scores
    min_rows = rules[0]
    n_features = len(n_codes)
    n_nodes, height, size = counters[0], counters[1], counters[2]
    begin = np.int64(0)  # a literal would compile a second version of score_columns
    reason = DONE
    while height > 0:
        node = stack[height - 1]
        if n_nodes + len(branch_weights) > len(nodes):
            reason = FULL
            break
        if not scored:
            parent = nodes[node, PARENT]
            if parent >= 0:
                first, last = nodes[parent, FIRST], nodes[parent, LAST]
                first_missing, high = nodes[parent, FIRST_MISSING], nodes[parent, HIGH]
                nodes[node, FIRST], nodes[node, LAST] = last, last
                if high > first_missing or last > first:
                    if last + (high - first_missing) + (last - first) > len(parts):
                        reason = FULL
                        break
                    f = nodes[parent, FEATURE]
                    nodes[node, LAST] = pass_parts(
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
                        nodes[parent, CUT],
                        node - nodes[parent, CHILD],
                        share[node],
                    )
            size = np.int64(0)
            for c in range(len(totals)):
                totals[c] = 0.0
            for i in range(nodes[node, LOW], nodes[node, HIGH]):
                r = rows[i]
                node_rows[size], node_y[size], node_weight[size] = r, y[r], weight[r]
                totals[y[r]] += weight[r]
                size += 1
            for i in range(nodes[node, FIRST], nodes[node, LAST]):
                r = parts[i]
                node_rows[size], node_y[size], node_weight[size] = r, y[r], part_weights[i]
                totals[y[r]] += part_weights[i]
                size += 1
            total, most = 0.0, 0.0
            for c in range(len(totals)):
                total += totals[c]
                most = max(most, totals[c])
                classes[node, c] = totals[c]
            if total < 2.0 * min_rows - SMALL or total - most < SMALL:
                height -= 1
                continue
            if size * n_features >= large:
                reason = LARGE
                break
            score_columns(
                begin,
                n_features,
                table,
                node_rows,
                node_y,
                node_weight,
                size,
                totals,
                rules,
                logs,
                work,
                can_split,
                gains,
                ratios,
                cuts,
            )
        scored = False
        height -= 1
        f = _choose_column(can_split, gains, ratios, averaged)
        if f < 0:
            continue
        column, levels = codes[f], is_level[f]
        cut = cuts[f, 0]
        if not levels:
            cut = _threshold_code(cuts[f, 0], cuts[f, 1], values, starts[f])
        n_branches = n_codes[f] if levels and cut == 0 else 2
        known = 0.0
        for b in range(n_branches):
            branch_weights[b] = 0.0
        for i in range(size):
            b = branch(column[node_rows[i]], levels, cut)
            if b >= 0:
                branch_weights[b] += node_weight[i]
                known += node_weight[i]
        order_by_branch(
            rows, nodes[node, LOW], nodes[node, HIGH], column, levels, cut, n_branches, spare, ends
        )
        nodes[node, FEATURE], nodes[node, CUT] = f, cut
        nodes[node, CHILD], nodes[node, COUNT] = n_nodes, n_branches
        nodes[node, FIRST_MISSING] = ends[n_branches]
        for b in range(n_branches):
            child = n_nodes + b
            nodes[child, FEATURE], nodes[child, CUT] = -1, 0
            nodes[child, CHILD], nodes[child, COUNT] = 0, 0
            nodes[child, PARENT] = node
            nodes[child, LOW], nodes[child, HIGH] = ends[b], ends[b + 1]
            nodes[child, FIRST_MISSING] = ends[b + 1]
            nodes[child, FIRST], nodes[child, LAST] = 0, 0
            share[child] = branch_weights[b] / known
            stack[height + n_branches - 1 - b] = child
        height += n_branches
        n_nodes += n_branches
    counters[0], counters[1], counters[2] = n_nodes, height, size
    return reason
