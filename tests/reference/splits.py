"""Splits by their definitions, a row at a time, in exact arithmetic."""

from fractions import Fraction


def quotas(sizes, n_test):
    """Test rows due to every class: proportional, at most all rows but one, none of single rows."""
    full = {c for c, size in enumerate(sizes) if size == 1}
    while True:
        left = n_test - sum(sizes[c] - 1 for c in full)
        rows = sum(size for c, size in enumerate(sizes) if c not in full)
        due = [
            Fraction(size - 1) if c in full else Fraction(left * size, rows)
            for c, size in enumerate(sizes)
        ]
        over = {c for c, size in enumerate(sizes) if due[c] > size - 1}
        if not over:
            return due
        full |= over


def imbalance(counts, totals):
    """Squared deviations from equal folds, over classes and sizes, relative to what there is.

    `counts` has, a fold, the rows of each class; `totals` those of all folds when all are dealt.
    """
    columns = [*zip(*counts, strict=True), [sum(fold) for fold in counts]]
    return sum(
        (n - Fraction(total, len(counts))) ** 2 / total
        for column, total in zip(columns, [*totals, sum(totals)], strict=True)
        for n in column
    )


def deal_groups(table, n_folds, generator):
    """The fold of every group, each where the imbalance grows least, largest share first."""
    order = generator.permutation(len(table)).tolist()
    names = generator.permutation(n_folds).tolist()
    totals = [sum(column) for column in zip(*table, strict=True)]

    def share(group):
        parts = [Fraction(a, total) for a, total in zip(table[group], totals, strict=True)]
        return sum(parts) + Fraction(sum(table[group]), sum(totals))

    counts = [[0] * len(totals) for _ in range(n_folds)]
    folds = [0] * len(table)
    for group in sorted(order, key=lambda group: -share(group)):
        after = []
        for fold in range(n_folds):
            tried = [list(fold_counts) for fold_counts in counts]
            tried[fold] = [a + b for a, b in zip(tried[fold], table[group], strict=True)]
            after.append(tried)
        fold = min(range(n_folds), key=lambda fold: imbalance(after[fold], totals))
        counts, folds[group] = after[fold], names[fold]
    return folds


def heom_squared(rows, i, j, categorical):
    """The squared distance of two rows; None is missing, ranges are those of all rows."""
    total = Fraction(0)
    for f, (a, b) in enumerate(zip(rows[i], rows[j], strict=True)):
        if a is None or b is None:
            total += 1
        elif f in categorical:
            total += a != b
        else:
            known = [Fraction(row[f]) for row in rows if row[f] is not None]
            span = max(known) - min(known)
            total += ((Fraction(a) - Fraction(b)) / span) ** 2 if span else 0
    return total


def balanced_folds(rows, y, n_folds, categorical, generator):
    """DOB-SCV: a random row of a class and its nearest ones, each to a different fold.

    Rows of a start go to the folds with the fewest rows first. The random numbers are drawn
    in the order in which they are needed: the order of a class, then that of the folds.
    """
    folds = [None] * len(rows)
    for label in sorted(set(y)):
        members = [i for i in range(len(rows)) if y[i] == label]
        waiting = [members[k] for k in generator.permutation(len(members))]
        while waiting:
            start, *remaining = waiting
            near = sorted(remaining, key=lambda i: heom_squared(rows, start, i, categorical))
            neighbourhood = [start, *near[: n_folds - 1]]
            emptiest = sorted(generator.permutation(n_folds).tolist(), key=folds.count)
            for i, fold in zip(neighbourhood, emptiest, strict=False):
                folds[i] = fold
            waiting = [i for i in waiting if i not in neighbourhood]
    return folds
