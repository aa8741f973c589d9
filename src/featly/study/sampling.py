r"""Random test parts: a given number of rows or groups, without replacement.

.. math::

    P(i \in \text{test}) = m / n \quad \text{for every row } i

The probability is the same for every row, stratified or not, except for rows that must stay in
training (:mod:`featly.study.stratification` draws the class counts).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Number, Whole, check_value
from featly.basics.typing import AnyArray, BoolArray, IntArray
from featly.study.splitter import Rows
from featly.study.stratification import class_quotas, draw_counts, draw_groups

__all__ = ["REDRAWS", "check_test_size", "has_two_classes", "make_test_drawer"]

REDRAWS = 1000

Draw = Callable[[np.random.Generator], AnyArray]


def check_test_size(value: Any) -> None:
    """Raise ParameterError unless `value` is a fraction or a number of rows."""
    check_value("test_size", value, Number(above=0, below=1), Whole(at_least=1))


def make_test_drawer(rows: Rows, test_size: float | int, stratify: bool) -> Draw:
    """Return a function that draws test rows (positions or a mask) from a generator."""
    n_test = int(test_size)
    if test_size < 1:  # 1e-9, since 0.145 of 100 rows is 14.499999999999998
        n_test = max(1, int(np.floor(test_size * rows.n + 0.5 + 1e-9)))
    least = len(rows.classes) if stratify else 2
    if rows.n - n_test < least:
        raise ParameterError(
            f"test_size={test_size!r} is {n_test} of {rows.n} rows, which leaves "
            f"{max(0, rows.n - n_test)} to train on: leave at least {least}, "
            f"{'one of every class' if stratify else 'two of different classes'}"
        )
    if rows.groups is not None:
        return _make_group_drawer(rows, n_test, test_size, stratify)
    if not stratify:
        return _redraw_until_two_classes(
            rows, lambda g: g.choice(rows.n, n_test, replace=False, shuffle=False)
        )
    members, quotas = rows.members, class_quotas(rows.class_sizes, n_test)

    def draw(generator: np.random.Generator) -> IntArray:
        counts = draw_counts(quotas, generator)
        return np.concatenate(
            [
                member[generator.choice(len(member), count, replace=False, shuffle=False)]
                for member, count in zip(members, counts.tolist(), strict=True)
                if count
            ]
        )

    return draw


def _make_group_drawer(rows: Rows, n_test: int, test_size: float | int, stratify: bool) -> Draw:
    """Return a function that draws groups and gives a mask of their rows."""
    groups, table, n_groups = rows.units, rows.table, rows.n_units
    if not stratify:
        count = min(max(1, int(np.floor(n_groups * n_test / rows.n + 0.5))), n_groups - 1)

        def draw_mask(generator: np.random.Generator) -> BoolArray:
            chosen = generator.choice(n_groups, count, replace=False, shuffle=False)
            return np.isin(np.arange(n_groups), chosen)[groups]

        return _redraw_until_two_classes(rows, draw_mask)
    free = np.flatnonzero(~(table == rows.class_sizes).any(axis=1))
    if not len(free):
        raise DataError(
            "every row group has all rows of some class, so that testing it leaves none to train "
            "on: leave out classes that lie in one group, or pass stratify=False"
        )
    strata, sizes = rows.unit_classes[free], rows.group_sizes[free]
    chance = max(n_test / int(sizes.sum()), 1 / len(free))

    def draw(generator: np.random.Generator) -> BoolArray:
        for _ in range(REDRAWS if chance <= 1 else 0):
            tested = free[draw_groups(strata, sizes, chance, generator)]
            if len(tested) and (table[tested].sum(axis=0) < rows.class_sizes).all():
                return np.isin(np.arange(n_groups), tested)[groups]
        raise ParameterError(
            f"test_size={test_size!r} leaves no training part with every class in it, as rows of "
            "one group stay together: make it smaller, or pass stratify=False"
        )

    return draw


def _redraw_until_two_classes(rows: Rows, draw: Draw) -> Draw:
    """Return a function that repeats `draw` until the training part has two classes."""

    def redraw(generator: np.random.Generator) -> AnyArray:
        for _ in range(REDRAWS):
            test = draw(generator)
            train = np.ones(rows.n, bool)
            train[test] = False
            if has_two_classes(rows.y[train]):
                return test
        raise DataError(
            f"{REDRAWS} random splits all left one class to train on: a class has too few rows "
            "or groups. Pass stratify=True, or test fewer rows"
        )

    return redraw


def has_two_classes(y: IntArray) -> bool:
    """Return whether there are two classes."""
    return bool(np.any(y != y[0]))
