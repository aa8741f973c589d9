"""Subset filters by their definitions, and Weka's CFS as Weka searches.

Columns are lists of whole numbers in which 0 is a missing value.
"""

import math
import struct
from collections import Counter, defaultdict


# ---- symmetric uncertainty ------------------------------------------------------------------
def entropy(weights):
    total = sum(weights)
    return -sum(w / total * math.log2(w / total) for w in weights if w)


def uncertainty(x, y, spread=False):
    """2 (H(x) + H(y) - H(x, y)) / (H(x) + H(y))."""
    table = shares(x, y) if spread else Counter(zip(x, y, strict=True))
    if not table:
        return 0.0
    rows, columns = Counter(), Counter()
    for (a, b), weight in table.items():
        rows[a] += weight
        columns[b] += weight
    entropies = entropy(rows.values()) + entropy(columns.values())
    information = entropies - entropy(table.values())
    return 2 * information / entropies if entropies > 1e-12 and information > 1e-12 else 0.0


def shares(x, y):
    """Pairs of levels, with missing values spread over them."""
    pairs = list(zip(x, y, strict=True))
    of_x, of_y = Counter(a for a in x if a), Counter(b for b in y if b)
    complete = Counter((a, b) for a, b in pairs if a and b)
    table = Counter()
    if not of_x or not of_y:
        return table
    for a, b in pairs:
        if a and b:
            table[a, b] += 1
        elif b:
            for level, count in of_x.items():
                table[level, b] += count / of_x.total()
        elif a:
            for level, count in of_y.items():
                table[a, level] += count / of_y.total()
        else:
            for pair, count in complete.items():
                table[pair] += count / complete.total()
    return table


# ---- consistency ----------------------------------------------------------------------------
def count_inconsistent(columns, y):
    """Count the rows outside the largest class of those that look alike."""
    looks = defaultdict(Counter)
    for i, label in enumerate(y):
        looks[tuple(column[i] for column in columns)][label] += 1
    return sum(counts.total() - max(counts.values()) for counts in looks.values())


# ---- the filters ----------------------------------------------------------------------------
def descending(scores, keep=()):
    """Return columns from the largest score down, ties by column; those to keep first."""
    return sorted(range(len(scores)), key=lambda f: (f not in keep, -round(scores[f], 9), f))


def cfs_merit(subset, columns, y, spread=False):
    k = len(subset)
    with_class = [uncertainty(columns[f], y, spread) for f in subset]
    between = [uncertainty(columns[f], columns[g], spread) for f in subset for g in subset if f < g]
    mean = sum(between) / len(between) if between else 0.0
    return k * (sum(with_class) / k) / math.sqrt(k + k * (k - 1) * mean)


def best_first(n_features, merit, start=(), max_stale=5, threshold=1e-5):
    """Expand the best subset not yet expanded; every subset as a sorted tuple."""
    start = tuple(sorted(start))
    met = {start: round(merit(start), 9) if start else -math.inf}
    best, expanded, stale = start, set(), 0
    while stale < max_stale:
        waiting = [subset for subset in met if subset not in expanded]
        if not waiting:
            break
        subset = min(waiting, key=lambda s: (-met[s], len(s), s))
        expanded.add(subset)
        for column in range(n_features):
            larger = tuple(sorted({*subset, column}))
            if larger not in met:
                met[larger] = round(merit(larger), 9)
        waiting = [subset for subset in met if subset not in expanded]
        if not waiting:
            break
        candidate = min(waiting, key=lambda s: (-met[s], len(s), s))
        if not best or met[candidate] > met[best] + threshold:
            best, stale = candidate, 0
        else:
            stale += 1
    return set(best), met[best]


def locally_predictive(chosen, columns, y, spread=False):
    """Return the columns that are added in the end, in that order."""
    added, scores = [], [uncertainty(column, y, spread) for column in columns]
    for f in descending(scores):
        rivals = [*chosen, *added]
        if f in rivals or scores[f] == 0:
            continue
        between = [uncertainty(columns[f], columns[g], spread) for g in rivals]
        if all(round(value, 9) <= round(scores[f], 9) for value in between):
            added.append(f)
    return added


def fcbf(columns, y, threshold=0.0, keep=(), spread=False, keep_ties=False):
    scores = [uncertainty(column, y, spread) for column in columns]
    waiting = [f for f in descending(scores, keep) if f in keep or scores[f] > threshold]
    chosen = []
    while waiting:
        first = waiting.pop(0)
        chosen.append(first)
        staying = []
        for f in waiting:
            shared = round(uncertainty(columns[first], columns[f], spread), 9)
            own = round(scores[f], 9)
            if f in keep or shared < own or (keep_ties and shared == own):
                staying.append(f)
        waiting = staying
    return chosen


def interact(columns, y, threshold, keep=(), spread=False):
    """Return the columns that stay, and what every column contributed when its turn came."""
    scores = [uncertainty(column, y, spread) for column in columns]
    chosen, contributed = descending(scores, keep), [0.0] * len(columns)
    for f in chosen[len(keep) :][::-1]:
        others = [g for g in chosen if g != f]
        lost = count_inconsistent([columns[g] for g in others], y)
        lost -= count_inconsistent([columns[g] for g in chosen], y)
        contributed[f] = lost / len(y)
        if lost / len(y) < threshold:
            chosen = others
    return chosen, contributed


def forward(columns, y, keep=(), allowed=0):
    """Add the column that leaves the fewest inconsistent rows, until none leaves fewer."""
    chosen = list(keep)

    def count(subset):
        return max(allowed, count_inconsistent([columns[f] for f in subset], y))

    while len(chosen) < len(columns):
        free = [f for f in range(len(columns)) if f not in chosen]
        best = min(free, key=lambda f: (count([*chosen, f]), f))
        if chosen and count([*chosen, best]) >= count(chosen):
            break
        chosen.append(best)
    return chosen


# ---- Weka -----------------------------------------------------------------------------------
def weka_cuts(values, y):
    """Cut by MDLP as CfsSubsetEval and ConsistencySubsetEval do (``Discretize -E``).

    Fayyad and Irani's rule, but for the cost of naming a cut point: the logarithm of how many
    there could be, instead of how many rows there are.
    """
    rows = sorted((v, label) for v, label in zip(values, y, strict=True) if not math.isnan(v))

    def cut(rows):
        whole = Counter(label for _, label in rows)
        n, before = len(rows), entropy(whole.values())
        left, best, n_cuts = Counter(), None, 0
        for i in range(1, n):
            left[rows[i - 1][1]] += 1
            if rows[i - 1][0] == rows[i][0]:
                continue
            n_cuts += 1
            right = whole - left
            parts = [(part.total(), entropy(part.values()), len(part)) for part in (left, right)]
            after = sum(size * part_entropy for size, part_entropy, _ in parts) / n
            if best is None or after < best[0] - 1e-12:
                best = after, i, parts
        if best is None or before - best[0] <= 1e-12:
            return []
        after, i, parts = best
        price = math.log2(3 ** len(whole) - 2) - len(whole) * before
        price += sum(classes * part_entropy for _, part_entropy, classes in parts)
        if before - after <= (math.log2(n_cuts) + price) / n:
            return []
        return [*cut(rows[:i]), (rows[i - 1][0] + rows[i][0]) / 2, *cut(rows[i:])]

    return cut(rows)


class WekaCFS:
    """CfsSubsetEval with BestFirst, forward, step by step as Weka does it.

    Uncertainties are kept in single precision, and one between two columns that is below 1e-6
    becomes 1: meant for constant columns, it also meets columns that are independent.
    """

    def __init__(self, columns, y, spread=True):
        self.columns, self.y, self.spread, self.known = columns, y, spread, {}

    def correlation(self, f, g):
        """Return the uncertainty of two columns, or of one with the class, which is None."""
        key = (f, g) if g is None or f < g else (g, f)
        if key not in self.known:
            other_column = self.y if key[1] is None else self.columns[key[1]]
            value = uncertainty(self.columns[key[0]], other_column, self.spread)
            if value < 1e-6:
                value = 0.0 if key[1] is None else 1.0
            self.known[key] = struct.unpack("f", struct.pack("f", value))[0]
        return self.known[key]

    def merit(self, subset):
        above = sum(self.correlation(f, None) for f in subset)
        pairs = sum(self.correlation(f, g) for f in subset for g in subset if f < g)
        below = len(subset) + 2 * pairs
        return above / math.sqrt(below) if below else 0.0

    def search(self, max_stale=5):
        """Return the best subset, and its merit.

        The list of subsets to be expanded has `max_stale` entries, subsets met before are put on
        it again, and an improvement is one by more than 1e-5 on what was best a column ago.
        """
        waiting, best, best_merit, stale = [(0.0, ())], (), 0.0, 0
        while stale < max_stale and waiting:
            _, subset = waiting.pop(0)
            improved = False
            above = sum(self.correlation(f, None) for f in subset)
            pairs = sum(self.correlation(f, g) for f in subset for g in subset if f < g)
            for f in range(len(self.columns)):
                if f in subset:
                    continue
                larger = tuple(sorted((*subset, f)))
                more = pairs + sum(self.correlation(f, g) for g in subset)
                merit = above + self.correlation(f, None)
                merit /= math.sqrt(len(larger) + 2 * more)
                if len(waiting) < max_stale or merit > waiting[-1][0]:
                    worse = [i for i, (other, _) in enumerate(waiting) if merit > other]
                    waiting.insert(worse[0] if worse else len(waiting), (merit, larger))
                    del waiting[max_stale:]
                if merit - best_merit > 1e-5:
                    best, best_merit, improved = larger, merit, True
            stale = 0 if improved else stale + 1
        return best, best_merit

    def locally_predictive(self, subset):
        """Return the subset, and the columns that Weka adds to it by default."""
        chosen = list(subset)
        with_class = [self.correlation(f, None) for f in range(len(self.columns))]
        for f in sorted(range(len(self.columns)), key=lambda f: (-with_class[f], f)):
            if f not in subset and all(self.correlation(f, g) <= with_class[f] for g in chosen):
                chosen.append(f)
        return sorted(chosen)
