"""A random forest in plain Python: exact fractions, one row at a time, whole permutations.

It draws the same random numbers in the same order as the fast one, so that outcomes are equal.
"""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix_bits(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """SplitMix64."""

    def __init__(self, seed, tree):
        self.state = mix_bits((seed + tree * GAMMA) & MASK)

    def below(self, count):
        self.state = (self.state + GAMMA) & MASK
        return ((mix_bits(self.state) >> 32) * count) >> 32


def forest(columns, categorical, group, y, *, seed, n_trees, **growth):
    """Drops in accuracy and Gini decreases of every tree by group, and the votes."""
    votes = np.zeros((len(y), max(y) + 1), int)
    drops, decreases = [], []
    for tree in range(n_trees):
        drop, decrease = [0.0] * (max(group) + 1), [0.0] * (max(group) + 1)
        stream = Stream(seed, tree)
        draws = [0] * len(y)
        for _ in y:
            draws[stream.below(len(y))] += 1
        pool = [row for row, count in enumerate(draws) if count == 0]
        grower = Grower(columns, categorical, y, draws, stream, **growth)
        root = grower.grow([row for row, count in enumerate(draws) if count > 0], 0)
        for row in pool:
            votes[row, predict(root, columns, row)] += 1
        used = list(dict.fromkeys(node["column"] for node in reversed(grower.splits)))
        original = list(pool)
        for f in used:
            members = group.count(group[f])
            for node in grower.splits:
                if node["column"] == f:
                    decrease[group[f]] += float(node["decrease"]) / members
            if len(pool) > 1:
                lost = permuted_loss(root, f, columns, y, original, pool, stream)
                drop[group[f]] += lost / len(pool) / members
        drops.append(drop if pool else None)
        decreases.append(decrease)
    return [drop for drop in drops if drop is not None], decreases, votes


def permuted_loss(root, f, columns, y, rows, pool, stream):
    """Count the additional rows that are wrong with column f permuted among them.

    Only the rows that pass a split on f need a partner; what the others get changes nothing.
    """
    passing = [
        row for row in order_in_tree(root, columns, rows) if is_passed(root, columns, row, f)
    ]
    for k in range(len(passing)):
        drawn = k + stream.below(len(pool) - k)
        pool[k], pool[drawn] = pool[drawn], pool[k]
    others = [row for row in rows if row not in passing]
    partner = dict(zip(passing + others, pool, strict=True))
    changed = [list(column) for column in columns]
    for row in rows:
        changed[f][row] = columns[f][partner[row]]
    before = sum(predict(root, columns, row) == y[row] for row in rows)
    return before - sum(predict(root, changed, row) == y[row] for row in rows)


def order_in_tree(node, columns, rows):
    """Rows by leaf, from left to right."""
    if "label" in node:
        return list(rows)
    left = [row for row in rows if node["left?"](columns[node["column"]][row])]
    right = [row for row in rows if row not in left]
    return order_in_tree(node["left"], columns, left) + order_in_tree(node["right"], columns, right)


def path(node, columns, row):
    while "label" not in node:
        yield node
        node = node["left" if node["left?"](columns[node["column"]][row]) else "right"]
    yield node


def predict(root, columns, row):
    return list(path(root, columns, row))[-1]["label"]


def is_passed(root, columns, row, f):
    return any(node.get("column") == f for node in path(root, columns, row))


class Grower:
    """One tree."""

    def __init__(
        self, columns, categorical, y, draws, stream, *, n_candidates, min_samples_leaf, max_depth
    ):
        self.columns, self.categorical, self.y, self.draws = columns, categorical, y, draws
        self.stream, self.n_candidates, self.smallest = stream, n_candidates, min_samples_leaf
        self.depth = len(y) if max_depth is None else max_depth
        self.splits = []

    def counts(self, rows):
        return [
            sum(self.draws[row] for row in rows if self.y[row] == c) for c in range(max(self.y) + 1)
        ]

    def purity(self, rows):
        """Draws times (1 - Gini impurity); a split raises the sum over both sides."""
        return Fraction(sum(n * n for n in self.counts(rows)), sum(self.counts(rows)))

    def grow(self, rows, depth):
        counts = self.counts(rows)
        best = None
        size = sum(counts)
        if depth < self.depth and max(counts) < size and size >= 2 * self.smallest:
            order = list(range(len(self.columns)))
            k = 0
            while k < len(order) and (k < self.n_candidates or best is None):
                if best is not None and best[0] == size:  # both sides pure: nothing is better
                    break
                other = k + self.stream.below(len(order) - k)
                order[k], order[other] = order[other], order[k]
                split = self.best_split(order[k], rows)
                if split is not None and (best is None or split[0] > best[0]):
                    best = (*split, order[k])
                k += 1
        if best is None:
            return {"label": self.majority(counts)}
        score, left_codes, cut, f = best
        column = self.columns[f]
        left = [row for row in rows if column[row] in left_codes]
        right = [row for row in rows if column[row] not in left_codes]
        larger = sum(self.draws[row] for row in left) * 2 >= size
        seen = {column[row] for row in rows}

        def is_sent_left(code):
            if code in seen:
                return code in left_codes
            if cut is None or code == 0:
                return larger
            return code <= cut

        node = {"column": f, "left?": is_sent_left, "decrease": score - self.purity(rows)}
        self.splits.append(node)
        node["left"] = self.grow(left, depth + 1)
        node["right"] = self.grow(right, depth + 1)
        return node

    def majority(self, counts):
        label, equals = 0, 1
        for c in range(1, len(counts)):
            if counts[c] > counts[label]:
                label, equals = c, 1
            elif counts[c] == counts[label]:
                equals += 1
                if self.stream.below(equals) == 0:
                    label = c
        return label

    def score(self, f, rows, codes):
        """The purity of both sides, or None if one of them is too small."""
        left = [row for row in rows if self.columns[f][row] in codes]
        right = [row for row in rows if self.columns[f][row] not in codes]
        if min(sum(self.counts(left)), sum(self.counts(right))) < self.smallest:
            return None
        return self.purity(left) + self.purity(right)

    def best_split(self, f, rows):
        """The first of the best: (score, codes that go left, cut or None)."""
        codes = sorted({self.columns[f][row] for row in rows})
        values = [code for code in codes if code > 0]
        ways = []
        if self.categorical[f]:
            codes = self.ordered_levels(f, rows, codes)
            ways = [(set(codes[:k]), None) for k in range(1, len(codes))]
        else:
            if 0 in codes and values:
                ways.append(({0}, 0))
            for missing in ({0}, set()) if 0 in codes else (set(),):
                for k in range(1, len(values)):
                    ways.append((missing | set(values[:k]), (values[k - 1] + values[k]) // 2))
        scored = [(self.score(f, rows, left), left, cut) for left, cut in ways]
        scored = [way for way in scored if way[0] is not None]
        if not scored:
            return None
        top = max(way[0] for way in scored)
        if max(self.y) == 1 and self.smallest == 1 and len(codes) <= 7 and self.categorical[f]:
            subsets = chain.from_iterable(combinations(codes, k) for k in range(1, len(codes)))
            assert top == max(self.score(f, rows, set(subset)) for subset in subsets)
        return next(way for way in scored if way[0] == top)

    def ordered_levels(self, f, rows, codes):
        members = {code: [row for row in rows if self.columns[f][row] == code] for code in codes}
        counts = {code: self.counts(members[code]) for code in codes}
        if max(self.y) == 1:
            return sorted(codes, key=lambda code: Fraction(counts[code][1], sum(counts[code])))
        weight = np.array([sum(counts[code]) for code in codes], float)
        probability = np.array([counts[code] for code in codes]) / weight[:, None]
        centred = probability - np.array(self.counts(rows)) / weight.sum()
        scaled = centred * np.sqrt(weight)[:, None]
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        if values[-1] < 1e-12:
            return codes
        top = vectors[:, values >= values[-1] * (1 - 1e-6)]
        projection = top @ top.T
        axis = projection[:, np.argmax(np.round(np.diag(projection), 7))]
        position = np.floor(centred @ axis / np.linalg.norm(axis) * 2.0**30 + 0.5)
        return [code for _, code in sorted(zip(position, codes, strict=True))]
