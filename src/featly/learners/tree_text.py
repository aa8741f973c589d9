"""A decision tree as an indented text, and as a list of rules.

Every leaf is a rule: the conditions on the way to it, those on one column merged into an interval
or a set of levels.

Quinlan, J. R. (1993), *C4.5: Programs for Machine Learning*, Morgan Kaufmann, chapter 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from featly.core.trees.c45 import Tree

__all__ = ["Interval", "Levels", "Rule", "TreeWords", "tree_rules", "tree_text"]

EMPTY = 1e-6  # weight of an empty leaf
TIE = 1e-9  # probabilities that differ by less are equal


@dataclass(frozen=True)
class Interval:
    """``above < column <= up_to``; a side without a limit is None.

    Of an ordinal column the limits are levels.
    """

    column: str
    above: Any
    up_to: Any

    def __str__(self) -> str:
        if self.above is None:
            return f"{self.column} <= {_format_limit(self.up_to)}"
        if self.up_to is None:
            return f"{self.column} > {_format_limit(self.above)}"
        return f"{_format_limit(self.above)} < {self.column} <= {_format_limit(self.up_to)}"


@dataclass(frozen=True)
class Levels:
    """Condition that the column has one of these levels."""

    column: str
    levels: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.levels) == 1:
            return f"{self.column} = {self.levels[0]}"
        return f"{self.column} in {{{', '.join(self.levels)}}}"


@dataclass(frozen=True)
class Rule:
    """Rule of a leaf: if all conditions hold, the class is `label`.

    Attributes
    ----------
    conditions : tuple of Interval and Levels
        In the order in which the path from the root first splits on their columns.
    label : the class
    rows : float
        Weight of the training rows in the leaf; parts of rows count where values were missing.
    errors : float
        Weight of those with another class.
    probability : float
        Of `label`, as ``predict_proba`` gives it.
    """

    conditions: tuple[Interval | Levels, ...]
    label: Any
    rows: float
    errors: float
    probability: float

    def __str__(self) -> str:
        met = " and ".join(str(condition) for condition in self.conditions) or "always"
        return f"{met}: {self.label} ({_format_weights(self.rows, self.errors)})"


@dataclass(frozen=True)
class TreeWords:
    """Names of the columns, levels and classes of a tree.

    Attributes
    ----------
    names : of the columns
    levels : for each categorical column, its levels in the order of their codes
    ordinal : for each ordinal column with named levels, these from the lowest
    classes : the labels
    laplace : whether each class of a leaf gets one more row
    """

    names: Sequence[str]
    levels: Mapping[int, Sequence[str]]
    ordinal: Mapping[int, Sequence[Any]]
    classes: Any
    laplace: bool = False

    def limit(self, tree: Tree, node: int) -> Any:
        """Return the threshold of a node: a number, or an ordinal level."""
        column = int(tree.feature[node])
        value = float(tree.threshold[node])
        return self.ordinal[column][int(value)] if column in self.ordinal else value

    def branch(self, tree: Tree, node: int, branch: int, digits: int | None = None) -> str:
        """Return the test on the way from a node to a child, with all digits or so many."""
        column, cut = int(tree.feature[node]), int(tree.cut[node])
        name = self.names[column]
        if column not in self.levels:
            limit = self.limit(tree, node)
            if digits is not None and isinstance(limit, float):
                limit = float(f"{limit:.{digits}g}")
            return f"{name} {'>' if branch else '<='} {_format_limit(limit)}"
        if cut == 0:
            return f"{name} = {self.levels[column][branch]}"
        return f"{name} {'!=' if branch else '='} {self.levels[column][cut - 1]}"

    def leaf(self, tree: Tree, node: int) -> tuple[int, float, float, float]:
        """Return the class (a position in the labels), weight, errors and probability of a leaf."""
        classes = tree.classes[node]
        rows = float(classes.sum())
        if rows < EMPTY and tree.parent[node] >= 0:
            classes = tree.classes[tree.parent[node]]
        extra = 1.0 if self.laplace else 0.0
        probabilities = (classes + extra) / (classes.sum() + extra * len(classes))
        best = int((probabilities >= probabilities.max() - TIE).argmax())
        errors = 0.0 if rows < EMPTY else max(0.0, rows - float(classes[best]))
        return best, max(0.0, rows), errors, float(probabilities[best])

    def leaf_text(self, tree: Tree, node: int) -> str:
        """Return class, weight and errors of a leaf as text."""
        best, rows, errors, _ = self.leaf(tree, node)
        return f"{self.classes[best]} ({_format_weights(rows, errors)})"


def tree_text(tree: Tree, words: TreeWords, max_depth: int | None = None) -> str:
    """Return a line for each branch, indented by depth; leaves with class, weight and errors."""
    if tree.feature[0] < 0:
        return f": {words.leaf_text(tree, 0)}"
    below = _sizes(tree)
    lines = []
    stack = _children(tree, 0)
    while stack:
        node = stack.pop()
        above, depth = int(tree.parent[node]), int(tree.depth[node])
        test = words.branch(tree, above, node - int(tree.child[above]))
        line = f"{'|   ' * (depth - 1)}{test}"
        if tree.feature[node] < 0:
            line += f": {words.leaf_text(tree, node)}"
        elif max_depth is not None and depth >= max_depth:
            line += f": ... {below[node] - 1} nodes"
        else:
            stack += _children(tree, node)
        lines.append(line)
    return "\n".join(lines)


def tree_rules(tree: Tree, words: TreeWords) -> list[Rule]:
    """Return a rule for each leaf, from the first branch to the last."""
    result = []
    stack = [0]
    while stack:
        node = stack.pop()
        if tree.feature[node] >= 0:
            stack += _children(tree, node)
            continue
        best, rows, errors, probability = words.leaf(tree, node)
        conditions = _conditions(tree, words, node)
        result.append(Rule(conditions, words.classes[best], rows, errors, probability))
    return result


def _conditions(tree: Tree, words: TreeWords, node: int) -> tuple[Interval | Levels, ...]:
    """Return the tests on the way to a node, one for each column."""
    path = []
    while tree.parent[node] >= 0:
        above = int(tree.parent[node])
        path.append((above, node - int(tree.child[above])))
        node = above
    limits: dict[int, list[Any]] = {}  # above, and up to
    only_level: dict[int, int] = {}  # the only level that is left
    excluded: dict[int, set[int]] = {}
    order: dict[int, None] = {}
    for above, branch in reversed(path):
        column, cut = int(tree.feature[above]), int(tree.cut[above])
        order.setdefault(column)
        if column not in words.levels:
            # each cut on the way lies within those before it
            bounds = limits.setdefault(column, [None, None])
            bounds[0 if branch else 1] = words.limit(tree, above)
        elif cut == 0 or branch == 0:
            only_level[column] = branch if cut == 0 else cut - 1
        else:
            excluded.setdefault(column, set()).add(cut - 1)
    conditions: list[Interval | Levels] = []
    for column in order:
        name = words.names[column]
        if column in limits:
            conditions.append(Interval(name, *limits[column]))
        else:
            known, ruled_out = words.levels[column], excluded.get(column, set())
            remaining = [only_level[column]] if column in only_level else range(len(known))
            levels = tuple(known[level] for level in remaining if level not in ruled_out)
            conditions.append(Levels(name, levels))
    return tuple(conditions)


def _children(tree: Tree, node: int) -> list[int]:
    """Return the children of a node, last first, as a stack wants them."""
    first, count = int(tree.child[node]), int(tree.n_children[node])
    return list(range(first + count - 1, first - 1, -1))


def _sizes(tree: Tree) -> list[int]:
    """Nodes of the subtree of each node."""
    sizes = [1] * len(tree.parent)
    for node in range(len(sizes) - 1, 0, -1):
        sizes[tree.parent[node]] += sizes[node]
    return sizes


def _format_weights(rows: float, errors: float) -> str:
    return f"{round(rows, 2)}/{round(errors, 2)}" if errors > EMPTY else f"{round(rows, 2)}"


def _format_limit(limit: Any) -> str:
    """Format whole numbers without a point, others with the digits that tell them apart."""
    if isinstance(limit, float):
        return str(int(limit)) if limit.is_integer() and abs(limit) < 1e15 else repr(limit)
    return str(limit)
