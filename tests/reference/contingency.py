"""Tests of tables of counts by their definitions: every table is listed, in whole numbers."""

import math
from fractions import Fraction


def drop_empty(table):
    """Return the table without empty rows and columns."""
    rows = [row for row in table if sum(row)]
    occupied = [j for j in range(len(table[0])) if sum(row[j] for row in rows)]
    return [[row[j] for j in occupied] for row in rows]


def fillings(total, capacity):
    """Return all ways to put `total` into cells of some capacity."""
    if not capacity:
        return [()] if total == 0 else []
    return [
        (first, *rest)
        for first in range(min(total, capacity[0]) + 1)
        for rest in fillings(total - first, capacity[1:])
    ]


def tables_with(row_totals, column_totals):
    """Return all tables with these margins."""
    if not row_totals:
        return [()] if not any(column_totals) else []
    return [
        (row, *rest)
        for row in fillings(row_totals[0], column_totals)
        for rest in tables_with(
            row_totals[1:], [c - x for c, x in zip(column_totals, row, strict=True)]
        )
    ]


def probability(table):
    """Return the probability of a table among all with its margins."""
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    above = math.prod(math.factorial(total) for total in [*rows, *columns])
    below = math.prod(math.factorial(x) for row in table for x in row)
    return Fraction(above, below * math.factorial(sum(rows)))


def fisher(table):
    """Return the summed probability of all tables at most as probable."""
    table = drop_empty(table)
    if len(table) < 2 or len(table[0]) < 2:
        return Fraction(1)
    observed = probability(table)
    columns = [sum(column) for column in zip(*table, strict=True)]
    tables = tables_with([sum(row) for row in table], columns)
    return sum(p for p in map(probability, tables) if p <= observed)


def chi_squared(table):
    """Return Pearson's statistic and its degrees of freedom."""
    table = drop_empty(table)
    if len(table) < 2 or len(table[0]) < 2:
        return Fraction(0), 1
    n = sum(map(sum, table))
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    statistic = Fraction(0)
    for row, r in zip(table, rows, strict=True):
        for x, c in zip(row, columns, strict=True):
            expected = Fraction(r * c, n)
            statistic += (x - expected) ** 2 / expected
    return statistic, (len(rows) - 1) * (len(columns) - 1)


def count_levels(levels, y, n_levels, n_classes):
    """Count levels 1, 2, ... against classes 0, 1, ...; level 0 is a missing value."""
    return [
        [
            sum(1 for a, b in zip(levels, y, strict=True) if a == level and b == c)
            for c in range(n_classes)
        ]
        for level in range(1, n_levels + 1)
    ]
