"""C4.5 as it is described: plain lists, recursion, every sum from scratch.

A tree is a dict: "classes" (weight of each class), and in an inner node "column", "cut" (a
threshold, or the level that stands alone, or None), "children" and "share" of the missing.
"""

from itertools import pairwise
from math import inf, log2, sqrt
from statistics import NormalDist

SMALL = 1e-6


def f(x):
    return x * log2(x) if x > SMALL else 0.0


def distribution(rows, y, n_classes):
    return [sum(w for i, w in rows if y[i] == c) for c in range(n_classes)]


def entropy(classes):
    return f(sum(classes)) - sum(f(w) for w in classes)


def gain_and_ratio(bags, total):
    known = sum(sum(bag) for bag in bags)
    before = entropy([sum(column) for column in zip(*bags, strict=True)])
    saved = known / total * (before - sum(entropy(bag) for bag in bags))
    gain = 0.0 if abs(saved) < SMALL else saved / known
    spread = f(total) - f(total - known) - sum(f(sum(bag)) for bag in bags)
    return gain, spread / total


def as_ratio(gain, spread, total):
    return 0.0 if abs(spread * total) < SMALL else gain / spread


class Grower:
    def __init__(self, columns, kinds, y, weight, **rules):
        self.columns, self.kinds, self.y = columns, kinds, y
        self.n_classes = max(y) + 1
        self.confidence = rules.get("confidence", 0.25)
        self.min_rows = rules.get("min_rows", 2)
        self.mdl = rules.get("mdl_correction", True)
        self.binary = rules.get("binary_splits", False)
        self.raising = rules.get("subtree_raising", True)
        self.z = NormalDist().inv_cdf(1 - self.confidence)
        self.levels = [
            sorted({v for v in column if v is not None}) if kind == "levels" else None
            for column, kind in zip(columns, kinds, strict=True)
        ]
        total = sum(weight)
        self.many = [
            levels is not None and len(levels) >= 0.3 * total - SMALL for levels in self.levels
        ]

    # ---- growing
    def branch(self, column, cut, i):
        value = self.columns[column][i]
        if value is None:
            return None
        if self.levels[column] is None:
            return 0 if value <= cut else 1
        if cut is None:
            return self.levels[column].index(value)
        return 0 if value == cut else 1

    def parts(self, rows, column, cut):
        """Rows of each branch, and its share of the missing."""
        n = len(self.levels[column]) if self.levels[column] is not None and cut is None else 2
        bags = [[] for _ in range(n)]
        missing = []
        for i, w in rows:
            b = self.branch(column, cut, i)
            (missing if b is None else bags[b]).append((i, w))
        known = [sum(w for _, w in bag) for bag in bags]
        share = [w / sum(known) if sum(known) > 0 else 1 / n for w in known]
        for b in range(n):
            if share[b] > SMALL:
                bags[b] += [(i, w * share[b]) for i, w in missing]
        return bags, share

    def candidates(self, rows, column):
        """Gain, ratio and cut of a column, or None."""
        total = sum(w for _, w in rows)
        values = self.columns[column]
        known = [(i, w) for i, w in rows if values[i] is not None]
        present = sorted({values[i] for i, _ in known})

        def bag(condition):
            return distribution(
                [r for r in known if condition(values[r[0]])], self.y, self.n_classes
            )

        if self.levels[column] is None:
            weight = sum(w for _, w in known)
            least = min(max(0.1 * weight / self.n_classes, self.min_rows), max(25, self.min_rows))
            best, split, count = 0.0, None, 0
            for low, high in pairwise(present):
                bags = [bag(lambda v, low=low: v <= low), bag(lambda v, low=low: v > low)]
                if min(sum(b) for b in bags) <= least - SMALL:
                    continue
                count += 1
                gain, spread = gain_and_ratio(bags, total)
                if gain > best + SMALL:
                    best, split = gain, (low, high, spread)
            if count and self.mdl:
                best -= log2(count) / total
            if best < SMALL or split is None:
                return None
            low, high, spread = split
            middle = (low + high) / 2
            if middle == high:
                middle = low
            cut = max(v for v in values if v is not None and v <= middle)
            return best, as_ratio(best, spread, total), cut
        bags = [bag(lambda v, level=level: v == level) for level in present]
        if not self.binary:
            if sum(sum(b) > self.min_rows - SMALL for b in bags) < 2:
                return None
            gain, spread = gain_and_ratio(bags, total)
            return gain, as_ratio(gain, spread, total), None
        result = None
        for level, alone in zip(present, bags, strict=True):
            others = bag(lambda v, level=level: v != level)
            if min(sum(alone), sum(others)) <= self.min_rows - SMALL:
                continue
            result = result or (0.0, 0.0, None)
            gain, spread = gain_and_ratio([alone, others], total)
            ratio = as_ratio(gain, spread, total)
            if ratio > result[1] + SMALL:
                result = gain, ratio, level
        return result

    def grow(self, rows):
        classes = distribution(rows, self.y, self.n_classes)
        node = {"classes": classes, "rows": rows}
        if sum(classes) < 2 * self.min_rows - SMALL or sum(classes) - max(classes) < SMALL:
            return node
        scores = [self.candidates(rows, column) for column in range(len(self.columns))]
        counted = [
            score[0]
            for score, many in zip(scores, self.many, strict=True)
            if score is not None and (not many or all(self.many))
        ]
        if not counted:
            return node
        enough = sum(counted) / len(counted) - 1e-3
        best, column = 0.0, None
        for k, score in enumerate(scores):
            if score is not None and score[0] >= enough and score[1] > best + SMALL:
                best, column = score[1], k
        if column is None:
            return node
        bags, share = self.parts(rows, column, scores[column][2])
        node |= {"column": column, "cut": scores[column][2], "share": share}
        return node | {"children": [self.grow(bag) for bag in bags]}

    # ---- pruning
    def errors(self, classes):
        total = sum(classes)
        if total < SMALL:
            return 0.0
        return total - max(classes) + self.added_errors(total, total - max(classes))

    def added_errors(self, n, e):
        if e < 1:
            base = n * (1 - self.confidence ** (1 / n))
            return base if e == 0 else base + e * (self.added_errors(n, 1) - base)
        if e + 0.5 >= n:
            return max(n - e, 0)
        p, z = (e + 0.5) / n, self.z
        upper = p + z * z / (2 * n) + z * sqrt(p / n - p * p / n + z * z / (4 * n * n))
        return n * upper / (1 + z * z / n) - e

    def expected_errors(self, node):
        if "children" not in node:
            return self.errors(node["classes"])
        return sum(self.expected_errors(child) for child in node["children"])

    def with_rows(self, node, rows):
        """Build the same subtree with other rows."""
        new = {"classes": distribution(rows, self.y, self.n_classes), "rows": rows}
        if "children" not in node:
            return new
        bags, share = self.parts(rows, node["column"], node["cut"])
        children = [self.with_rows(*pair) for pair in zip(node["children"], bags, strict=True)]
        return new | {
            "column": node["column"], "cut": node["cut"], "share": share, "children": children
        }  # fmt: skip

    def prune(self, node):
        leaf = {"classes": node["classes"], "rows": node["rows"]}
        if "children" not in node:
            return leaf
        node = node | {"children": [self.prune(child) for child in node["children"]]}
        heaviest, most = None, 0.0
        for child in node["children"]:
            if sum(child["classes"]) > most - SMALL:
                heaviest, most = child, sum(child["classes"])
        raised = self.with_rows(heaviest, node["rows"])
        as_son = self.expected_errors(raised) if self.raising else inf
        as_leaf, as_tree = self.errors(node["classes"]), self.expected_errors(node)
        if as_leaf < as_tree + 0.1 + SMALL and as_leaf < as_son + 0.1 + SMALL:
            return leaf
        if as_son < as_tree + 0.1 + SMALL:
            return self.prune(raised)
        return node


def collapse_tree(node):
    def errors(node):
        if "children" not in node:
            return sum(node["classes"]) - max(node["classes"])
        return sum(errors(child) for child in node["children"])

    if "children" not in node:
        return node
    if errors(node) >= sum(node["classes"]) - max(node["classes"]) - 1e-3:
        return {"classes": node["classes"], "rows": node["rows"]}
    return node | {"children": [collapse_tree(child) for child in node["children"]]}


def tree(columns, kinds, y, weight, *, pruned=True, collapse=True, **rules):
    """Grow the tree of rows; `kinds` are "numbers" or "levels", a missing value is None."""
    grower = Grower(columns, kinds, y, weight, **rules)
    node = grower.grow(list(enumerate(weight)))
    if collapse:
        node = collapse_tree(node)
    return grower.prune(node) if pruned else node


def probabilities(node, row, levels, *, laplace=False):
    """Probabilities of the classes for a row; `levels` of each column or None."""

    def answer(classes):
        extra = 1.0 if laplace else 0.0
        return [(w + extra) / (sum(classes) + extra * len(classes)) for w in classes]

    if "children" not in node:
        return answer(node["classes"])
    value, known = row[node["column"]], levels[node["column"]]
    if value is None or (known is not None and value not in known):
        result = [0.0] * len(node["classes"])
        for child, share in zip(node["children"], node["share"], strict=True):
            if sum(child["classes"]) >= SMALL:
                for c, p in enumerate(probabilities(child, row, levels, laplace=laplace)):
                    result[c] += share * p
        return result
    if known is None:
        branch = 0 if value <= node["cut"] else 1
    elif node["cut"] is None:
        branch = known.index(value)
    else:
        branch = 0 if value == node["cut"] else 1
    child = node["children"][branch]
    if sum(child["classes"]) < SMALL:
        return answer(node["classes"])
    return probabilities(child, row, levels, laplace=laplace)
