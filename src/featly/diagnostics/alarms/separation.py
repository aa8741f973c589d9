r"""Columns that nearly separate two classes, or hold the time until the event.

For numbers the area under the ROC curve A, with the error of Hanley and McNeil at
:math:`\tilde A = (A n_0 n_1 + \tfrac12) / (n_0 n_1 + 1)`:

.. math::

    A - 2.33\, s(\tilde A) \ge 0.9, \qquad
    \operatorname{logit} \tilde A - \operatorname{logit} \tilde A' \ge 1.5

with :math:`A'` of the best column that is not of one mind with it (rank correlation below 0.8). For
categories, balanced accuracy with each row left out takes the place of A.

Hanley, J. A. and McNeil, B. J. (1982), The meaning and use of the area under a receiver operating
characteristic (ROC) curve, *Radiology* 143, 29-36.

A leak and a strong marker follow the same law, so all this can only ask.
"""

import re
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.diagnostics.reading import Rows

__all__ = ["Separator", "Timer", "find_separator", "find_timers", "is_late_name"]

LEAST_ROWS = 15  # of each class
ERRORS = 2.33
LEAST_AREA = 0.9
LEAD = 1.5  # in logits
SCREENED, PAIRS = 2000, 48  # columns above which pairs of rows are drawn first, and their number
OF_ONE_MIND = 0.8
BLOCK = 64  # columns that are held against the best at a time
LEAST_DEVIATE = 3.0
LATE = re.compile(
    r"(?:^|[^a-z])(?:death|dead|died|deceased|discharge[d]?|follow[ _.-]?up|fu|relapse[d]?|"
    r"recurrence|outcome|survival|surv|los|length[ _.-]of[ _.-]stay|autopsy|days?|months?|"
    r"progression|last[ _.-]?(?:seen|visit|contact)|end[ _.-]?of)(?:$|[^a-z])"
)
TIME = re.compile(
    r"(?:^|[^a-z])(?:times?|days?|weeks?|months?|years?|dur|duration|follow[ _.-]?up|fu|futime|"
    r"survival|surv|os|pfs|dfs|rfs|ttp|tte|t2e|los|length[ _.-]of[ _.-]stay|stay)(?:$|[^a-z])"
)


@dataclass(frozen=True)
class Separator:
    """A column that orders nearly all pairs of rows of two classes.

    Attributes
    ----------
    name : str
    area : float
        Share of the pairs of rows that it orders; for a category, balanced accuracy.
    next_area : float
        The same of the best column that is not of one mind with it.
    is_number : bool
    """

    name: str
    area: float
    next_area: float
    is_number: bool


@dataclass(frozen=True)
class Timer:
    """A column of numbers that may be the time until the event, or until it was last looked for."""

    name: str
    deviate: float


def is_late_name(name: str) -> bool:
    """Return whether a name is that of something known only after the outcome.

    Examples
    --------
    >>> is_late_name("days_to_death"), is_late_name("Follow-up"), is_late_name("daylight")
    (True, True, False)
    """
    return LATE.search(_spread_words(name)) is not None


def _spread_words(name: str) -> str:
    """Return a name in lower case, its words apart: followUp is follow up."""
    return re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", name).lower()


def find_separator(rows: Rows, y: IntArray) -> Separator | None:
    """Find the column that separates two classes far better than all others do.

    Parameters
    ----------
    rows : Rows
    y : int array of shape (n_rows,)
        0 or 1.
    """
    if rows.n_columns == 0 or min(np.bincount(y, minlength=2)) < LEAST_ROWS:
        return None
    area = np.full(rows.n_columns, 0.5)
    looked_at = _screen(rows.numbers, y)
    numeric = rows.numeric[looked_at]
    a, n0, n1 = areas(rows.numbers[:, looked_at], y)
    is_enough = (n0 >= LEAST_ROWS) & (n1 >= LEAST_ROWS)
    area[numeric] = np.where(is_enough, a, 0.5)
    for f, codes in zip(rows.categorical.tolist(), rows.codes, strict=True):
        area[f] = balanced_accuracy(codes, y)
    counts = np.bincount(y, minlength=2)
    pairs = np.full(rows.n_columns, float(counts[0] * counts[1]))
    pairs[numeric] = np.maximum(n0 * n1, 1)
    first, second = np.full(rows.n_columns, counts[0]), np.full(rows.n_columns, counts[1])
    first[numeric], second[numeric] = np.maximum(n0, 1), np.maximum(n1, 1)
    fitted = (area * pairs + 0.5) / (pairs + 1)
    lower = area - ERRORS * area_error(fitted, first, second)
    best = int(area.argmax())
    if lower[best] < LEAST_AREA:
        return None
    logit = np.log(fitted / (1 - fitted))
    rival = _best_rival(rows, best, np.argsort(-logit, kind="stable"))
    if logit[best] - (0.0 if rival is None else max(0.0, float(logit[rival]))) < LEAD:
        return None
    next_area = 0.5 if rival is None else float(area[rival])
    return Separator(rows.names[best], float(area[best]), next_area, bool(rows.is_number[best]))


def _screen(numbers: FloatArray, y: IntArray) -> IntArray:
    """Return the columns of a wide table that may order most pairs of rows of two classes.

    48 pairs tell: of a column with an area of 0.8, one in ten thousand is lost.
    """
    if numbers.shape[1] <= SCREENED:
        return np.arange(numbers.shape[1])
    rng = np.random.default_rng(0)
    first = rng.choice(np.flatnonzero(y == 0), PAIRS)
    second = rng.choice(np.flatnonzero(y == 1), PAIRS)
    difference = numbers[second] - numbers[first]
    n_known = (~np.isnan(difference)).sum(axis=0)
    balance = (difference > 0).sum(axis=0) - (difference < 0).sum(axis=0)
    is_kept = (n_known < PAIRS // 2) | (np.abs(balance) >= 0.2 * n_known)
    return np.flatnonzero(is_kept)


def find_timers(rows: Rows, y: IntArray, *, known: tuple[str, ...] = ()) -> list[Timer]:
    """Find columns of positive numbers with a name like time that differ between two classes."""
    timers = []
    for f, column in zip(rows.numeric.tolist(), rows.numbers.T, strict=True):
        name = rows.names[f]
        if name in known or not TIME.search(_spread_words(name)):
            continue
        values = column[~np.isnan(column)]
        if len(values) < 2 * LEAST_ROWS or values.min() < 0 or len(np.unique(values)) < 10:
            continue
        deviate = _rank_deviate(column, y)
        if abs(deviate) > LEAST_DEVIATE:
            timers.append(Timer(name, deviate))
    return sorted(timers, key=lambda timer: -abs(timer.deviate))


def areas(numbers: FloatArray, y: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return areas under the ROC curve, at least a half, and the known rows of both classes.

    Examples
    --------
    >>> numbers = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    >>> [part.tolist() for part in areas(numbers, np.array([1, 1, 0, 0, 0]))]
    [[1.0], [2], [2]]
    """
    is_known = ~np.isnan(numbers)
    n1 = (is_known & (y == 1)[:, None]).sum(axis=0)
    n0 = is_known.sum(axis=0) - n1
    if not numbers.size:
        return np.full(numbers.shape[1], 0.5), n0, n1
    ranks = rankdata(np.where(is_known, numbers, np.inf), axis=0)
    rank_sum = np.where(is_known & (y == 1)[:, None], ranks, 0.0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        area = (rank_sum - n1 * (n1 + 1) / 2) / (n0 * n1)
    area = np.where((n0 > 0) & (n1 > 0), area, 0.5)
    return np.maximum(area, 1 - area), n0, n1


def area_error(area: FloatArray, n0: IntArray, n1: IntArray) -> FloatArray:
    """Return the standard error of an area by Hanley and McNeil."""
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (n1 - 1) * (first - area**2) + (n0 - 1) * (second - area**2)
    return np.asarray(np.sqrt(np.maximum(variance, 0.0) / (n0 * n1)))


def balanced_accuracy(codes: IntArray, y: IntArray) -> float:
    """Return how well the level of a row tells its class, the row itself left out.

    Each row is given the class that is more frequent among the others of its level, relative to the
    size of the class; a half where neither is.
    """
    table = np.zeros((int(codes.max(initial=0)) + 1, 2))
    np.add.at(table, (codes, y), 1.0)
    sizes = np.bincount(y, minlength=2).astype(np.float64)
    counts = table[codes]
    counts[np.arange(len(y)), y] -= 1
    left = np.tile(sizes, (len(y), 1))
    left[np.arange(len(y)), y] -= 1
    share = counts / np.maximum(left, 1)
    own, other = share[np.arange(len(y)), y], share[np.arange(len(y)), 1 - y]
    hit = np.where(own > other, 1.0, np.where(own == other, 0.5, 0.0))
    return float(np.mean([hit[y == c].mean() for c in (0, 1)]))


def _best_rival(rows: Rows, best: int, order: IntArray) -> int | None:
    """Return the first column of an order that is not of one mind with the best."""
    for low in range(0, len(order), BLOCK):
        block = order[low : low + BLOCK]
        block = block[block != best]
        others = block[~_of_one_mind(rows, best, block)]
        if len(others):
            return int(others[0])
    return None


def _of_one_mind(rows: Rows, best: int, columns: IntArray) -> BoolArray:
    """Return which columns of numbers follow a column: rank correlation of 0.8 or more."""
    flags = np.zeros(len(columns), np.bool_)
    position_of = np.full(rows.n_columns, -1)
    position_of[rows.numeric] = np.arange(len(rows.numeric))
    is_number = position_of[columns] >= 0
    if position_of[best] < 0 or not is_number.any():
        return flags
    column = rows.numbers[:, position_of[best]]
    known = ~np.isnan(column)
    other = rows.numbers[known][:, position_of[columns[is_number]]]
    other_known = ~np.isnan(other)
    ranks = rankdata(np.where(other_known, other, np.inf), axis=0)
    middle = np.where(other_known, ranks, 0.0).sum(axis=0) / np.maximum(other_known.sum(axis=0), 1)
    centered = np.where(other_known, ranks - middle, 0.0)
    own = rankdata(column[known])
    own = own - own.mean()
    length = np.sqrt((centered**2).sum(axis=0) * (own**2).sum())
    flags[is_number] = np.abs(own @ centered) >= OF_ONE_MIND * np.maximum(length, 1e-12)
    return flags


def _rank_deviate(column: FloatArray, y: IntArray) -> float:
    """Return the normal deviate of the rank-sum test, ties counted."""
    known = ~np.isnan(column)
    ranks, classes = rankdata(column[known]), y[known]
    n, n1 = len(classes), int(classes.sum())
    if n1 in (0, n):
        return 0.0
    variance = n1 * (n - n1) / n * float(ranks.var()) * n / (n - 1)
    return float((ranks[classes == 1].sum() - n1 * (n + 1) / 2) / np.sqrt(max(variance, 1e-300)))
