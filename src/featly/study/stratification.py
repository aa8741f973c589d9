r"""Class counts of a random test part, and folds of rows or groups.

.. math::

    q_c = m \, n_c / n, \qquad m_c \in \{\lfloor q_c \rfloor, \lceil q_c \rceil\}, \qquad
    E[m_c] = q_c

Madow, W. G. (1949), On the theory of systematic sampling II, *Ann. Math. Statist.* 20, 333-354.

Functions of arrays; the splitters in :mod:`featly.study.splits` call them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from featly.basics.typing import BoolArray, IntArray
from featly.core.ranking.ordering import round_scores

__all__ = [
    "Quotas",
    "class_quotas",
    "deal_groups",
    "deal_rows",
    "draw_counts",
    "draw_groups",
    "main_classes",
]


@dataclass(frozen=True, eq=False)
class Quotas:
    """Expected test rows of each class, ``whole + remainder / unit``, in whole numbers."""

    whole: IntArray
    remainder: IntArray
    unit: int


def class_quotas(sizes: IntArray, n_test: int) -> Quotas:
    """Return the expected test rows of each class, proportional to its size, never the whole class.

    A class of one row has none. Where a proportional share would take a whole class, the class
    gives all rows but one, and the others share the rest. `n_test` is at most
    the number of rows less the number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> quotas = class_quotas(np.array([40, 22]), 6)
    >>> (quotas.whole + quotas.remainder / quotas.unit).round(2).tolist()
    [3.87, 2.13]
    """
    whole = np.zeros(len(sizes), np.int64)
    free = np.ones(len(sizes), bool)
    while True:
        remaining = n_test - int(whole[~free].sum())
        unit = max(1, int(sizes[free].sum()))
        is_over = free & (remaining * sizes > (sizes - 1) * unit)
        if not is_over.any():
            break
        whole[is_over] = sizes[is_over] - 1
        free &= ~is_over
    remainder = np.zeros(len(sizes), np.int64)
    whole[free], remainder[free] = np.divmod(remaining * sizes[free], unit)
    return Quotas(whole, remainder, unit)


def draw_counts(quotas: Quotas, generator: np.random.Generator) -> IntArray:
    """Draw test counts: each quota rounded up with a probability equal to its remainder.

    The remainders lie end to end, in random order; points one unit apart, from a random start,
    fall on those that are rounded up. So the sum is always exact, and every class is on average:
    a class with a quota of a third of a row is tested in a third of the splits.
    """
    counts = quotas.whole.copy()
    due = np.flatnonzero(quotas.remainder)
    if len(due):
        due = generator.permutation(due)
        end = np.cumsum(quotas.remainder[due])
        points = (end - 1 - int(generator.integers(quotas.unit))) // quotas.unit
        counts[due] += np.diff(points, prepend=-1)
    return counts


def deal_rows(y: IntArray, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Return the fold of every row, dealt in turn, in random order within classes.

    Each class goes on at the fold where the last one ended, so that folds differ by at most one
    row in each class and in total. Pass zeros to deal without regard to classes.
    """
    order = generator.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), np.int64)
    folds[order] = generator.permutation(n_folds)[np.arange(len(y)) % n_folds]
    return folds


def deal_groups(table: IntArray, n_folds: int, generator: np.random.Generator) -> IntArray:
    r"""Return the fold of every group, dealt greedily, those with the largest share first.

    With :math:`a_{gc}` rows of class c in group g, and :math:`n_{fc}` in fold f so far, the group
    goes where

    .. math:: \sum_c a_{gc} n_{fc} / n_c + a_g n_f / n

    is smallest. This is the fold for which the sum over folds of the squared deviations from equal
    class counts (each divided by :math:`n_c`) and from equal sizes grows least. Groups come by
    falling :math:`\sum_c a_{gc} / n_c + a_g / n`: those with many rows, or much of a rare class,
    first. Ties are broken at random. No fold is empty unless there are fewer groups than folds.
    """
    counts = np.column_stack([table, table.sum(axis=1)]).astype(np.float64)
    totals = counts.sum(axis=0)
    shares = counts / np.sqrt(totals)  # so that their products are the terms above
    order = generator.permutation(len(table))
    weight = round_scores((counts / totals).sum(axis=1))[order]
    order = order[np.argsort(-weight, kind="stable")]
    fold_labels = generator.permutation(n_folds)  # ties between folds
    fold_shares = np.zeros((n_folds, shares.shape[1]))
    folds = np.empty(len(table), np.int64)
    for group in order:
        fold = int(np.argmin(round_scores(fold_shares @ shares[group])))
        fold_shares[fold] += shares[group]
        folds[group] = fold_labels[fold]
    return folds


def main_classes(table: IntArray) -> IntArray:
    """Return the most frequent class of each group; of several, the rarest over all groups."""
    rarest_first = np.argsort(table.sum(axis=0), kind="stable")
    main: IntArray = rarest_first[np.argmax(table[:, rarest_first], axis=1)]
    return main


def draw_groups(
    strata: IntArray, sizes: IntArray, chance: float, generator: np.random.Generator
) -> BoolArray:
    """Draw groups, each with the same chance, spread over strata and sizes.

    Within a stratum groups stand in the order of their sizes, and neighbours compete (the pivotal
    method: Deville, J.-C. and Tillé, Y. (1998), Unequal probability sampling without replacement
    through a splitting method, *Biometrika* 85, 89-101). So a stratum's number of drawn groups is
    the expected one, rounded up or down, and small and large groups are both there.
    """
    chosen = np.zeros(len(strata), bool)
    undecided: list[int] = []
    chances: list[float] = []
    for stratum in np.unique(strata):
        members = generator.permutation(np.flatnonzero(strata == stratum))
        members = members[np.argsort(sizes[members], kind="stable")]
        winners, last, last_chance = _compete([chance] * len(members), generator)
        chosen[members[winners]] = True
        undecided.append(int(members[last]))
        chances.append(last_chance)
    order = generator.permutation(len(undecided))
    winners, last, last_chance = _compete([chances[k] for k in order], generator)
    for winner in winners:
        chosen[undecided[order[winner]]] = True
    chosen[undecided[order[last]]] = generator.random() < last_chance
    return chosen


def _compete(
    chances: Sequence[float], generator: np.random.Generator
) -> tuple[list[int], int, float]:
    """Return the winners among units in order, the unit still undecided, and its chance."""
    winners: list[int] = []
    holder, chance = 0, chances[0]
    for rival, draw in enumerate(generator.random(len(chances) - 1).tolist(), 1):
        combined = chance + chances[rival]
        if combined <= 1:  # one unit is out, the other takes both chances
            if draw * combined < chances[rival]:
                holder = rival
            chance = combined
        else:  # one unit is in, the other takes the remaining chance
            if draw * (2 - combined) < 1 - chances[rival]:
                winners.append(holder)
                holder = rival
            else:
                winners.append(rival)
            chance = combined - 1
    return winners, holder, chance
