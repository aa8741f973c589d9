"""The rule for what may be shown of a table where no individual may be recognised.

A row of a table of counts is a class, whose number of rows is known; its cells are the missing
values and the levels. A count from 1 to 4 is *small*. Where a row has a small cell, hidden are

1. all its small cells, and the last of its other cells that are not 0;
2. the whole row, zeros too, if there is no other cell, or if those of 1 together hold fewer than
   six rows more than there are of them.

A reader knows the sum T of the m hidden cells, and that each 0 is shown. A small cell may hold 1, 2
or 3 rows, the other small ones 1 each, and the last one the rest, which is at least
T - 3 - (m - 2) >= 5, as it has to be: three values at the least, also for a reader who knows this
rule. Who goes by sums alone has T - m + 1 >= 7. The cell that is hidden along is chosen by its
place: a choice by size would tell something about it.

A level keeps its name if one of its counts is at least five in a row that is not hidden as a whole;
in the argument above that stays so. The other levels are pooled, since a name tells that there are
rows. Classes below five are pooled by the same rule, as cells of a row whose sum is the number of
rows.

A percentile is the mean of the five values around it, rounded by the distance between the
quartiles, and is shown only if five rows lie on either side of it and the five are no further apart
than the quartiles: a median of 10 rows, quartiles of 20, the 5th and 95th percentile of 100.

Complementary cell suppression: Willenborg and de Waal (2001), *Elements of Statistical Disclosure
Control*, chapter 4. There, cells are chosen by how little is lost, which tells something about them
to a reader who knows the rule; here, by their place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "HIDDEN",
    "OTHER_LEVELS",
    "QUARTILE_ROWS",
    "SMALL_CELL",
    "PublishedCounts",
    "bound_present",
    "has_small_cell",
    "hide_cells",
    "is_percentile_safe",
    "pool_classes",
    "private_percentiles",
    "publish_counts",
    "round_figures",
]

SMALL_CELL = 5
SLACK = 6  # rows that hidden cells hold beyond one each, at least
QUARTILE_ROWS = 4 * SMALL_CELL
DIGITS = 2  # of figures that are computed from all rows
HIDDEN = "hidden"
OTHER_LEVELS = "other levels"
ALL_CLASSES = "all classes"


# ---- counts --------------------------------------------------------------------------------------
def hide_cells(counts: IntArray) -> BoolArray:
    """Return which cells of a table of counts are hidden.

    Parameters
    ----------
    counts : int array of shape (n_rows, n_cells)
        Rows whose sums are known.

    Returns
    -------
    bool array of shape (n_rows, n_cells)

    Examples
    --------
    >>> import numpy as np
    >>> from featly.basics.privacy import hide_cells
    >>> hide_cells(np.array([[25, 30, 1], [25, 36, 0]])).tolist()
    [[False, True, True], [False, False, False]]
    """
    hidden = (counts > 0) & (counts < SMALL_CELL)
    for row, mask in zip(counts, hidden, strict=True):
        if not mask.any():
            continue
        others = np.flatnonzero((row > 0) & ~mask)
        mask[others[-1:]] = True
        if not len(others) or row[mask].sum() < mask.sum() + SLACK:
            mask[:] = True
    return np.asarray(hidden)


@dataclass(frozen=True)
class PublishedCounts:
    """Counts of classes x (missing, levels) as they may be shown.

    Attributes
    ----------
    levels : list of str
        Names of the levels that are shown, and "other levels" for those that are pooled.
    retained : int array
        Positions of the levels with a name.
    counts : int array of shape (n_classes, 1 + n_levels)
        Missing values first.
    hidden : bool array of shape (n_classes, 1 + n_levels)
    """

    levels: list[str]
    retained: IntArray
    counts: IntArray
    hidden: BoolArray

    def merge_codes(self, codes: IntArray) -> IntArray:
        """Return codes of the shown levels for codes of all levels; 0 is a missing value."""
        places = np.searchsorted(self.retained, codes - 1)
        is_named = np.isin(codes - 1, self.retained)
        return np.asarray(
            np.where(codes == 0, 0, 1 + np.where(is_named, places, len(self.retained)))
        )

    @property
    def n_present(self) -> list[int | None]:
        """Rows of each class with a value; None where that is hidden."""
        return [
            None if hidden else int(total)
            for hidden, total in zip(self.hidden[:, 0], self.counts[:, 1:].sum(axis=1), strict=True)
        ]

    @property
    def has_hidden_totals(self) -> bool:
        """Return whether it is hidden in some class how many rows have a value."""
        return bool(self.hidden[:, 0].any())

    @property
    def totals(self) -> IntArray:
        """Rows of each class with a value or, if that is hidden in some class, all of them."""
        return np.asarray(self.counts[:, int(not self.has_hidden_totals) :].sum(axis=1))

    def shares(self) -> FloatArray:
        """Return shares of the levels in each class, computed from shown counts; NaN is hidden."""
        totals = self.totals[:, None]
        shares = self.counts[:, 1:] / np.maximum(totals, 1)
        return np.asarray(np.where(self.hidden[:, 1:] | (totals == 0), np.nan, shares))


def publish_counts(
    counts: IntArray, levels: Sequence[str], merged: BoolArray | None = None
) -> PublishedCounts:
    """Hide cells so that no small count can be worked out, and pool levels without a shown count.

    Parameters
    ----------
    counts : int array of shape (n_classes, 1 + n_levels)
        Rows of every class with a missing value and with each level.
    levels : sequence of str
    merged : bool array of shape (n_levels,) or None, default=None
        Levels that are pooled for another reason, such as that there are many.

    Returns
    -------
    PublishedCounts

    Examples
    --------
    >>> import numpy as np
    >>> from featly.basics.privacy import publish_counts
    >>> published = publish_counts(np.array([[0, 25, 30, 1], [0, 36, 25, 0]]), ["A", "B", "Rome"])
    >>> published.levels
    ['A', 'B', 'other levels']
    >>> np.where(published.hidden, -1, published.counts).tolist()
    [[0, 25, -1, -1], [0, 36, 25, 0]]
    """
    hidden = hide_cells(counts)
    is_used = np.asarray(counts[:, 1:].any(axis=0))
    is_told = ~hidden[:, np.r_[True, is_used]].all(axis=1)
    is_named = np.asarray((counts[is_told] >= SMALL_CELL)[:, 1:].any(axis=0))
    if merged is not None:
        is_named &= ~merged
    names = [level for level, named in zip(levels, is_named, strict=True) if named]
    if is_used[~is_named].any():
        names.append(OTHER_LEVELS)
    return PublishedCounts(
        names,
        np.flatnonzero(is_named),
        _pool_levels(counts, ~is_named)[:, : len(names) + 1],
        _pool_levels(hidden, ~is_named)[:, : len(names) + 1] > 0,
    )


def _pool_levels(counts: Any, pooled: BoolArray) -> IntArray:
    """Return counts of (missing, levels), those of pooled levels as the last column."""
    table = np.asarray(counts, np.int64)
    parts = [table[:, :1], table[:, 1:][:, ~pooled]]
    if pooled.any():
        parts.append(table[:, 1:][:, pooled].sum(axis=1, keepdims=True))
    return np.concatenate(parts, axis=1)


def pool_classes(codes: IntArray, classes: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Pool classes that are too small to be shown.

    Parameters
    ----------
    codes : int array
        The class of every row.
    classes : sequence of str

    Returns
    -------
    codes : int array
    classes : list of str

    Examples
    --------
    >>> import numpy as np
    >>> from featly.basics.privacy import pool_classes
    >>> codes, classes = pool_classes(np.repeat([0, 1, 2], [61, 56, 3]), ["ill", "well", "very"])
    >>> classes, np.bincount(codes).tolist()
    (['ill', 'well or rarer'], [61, 59])
    """
    counts = np.bincount(codes, minlength=len(classes))
    hidden = hide_cells(counts[None, :])[0]
    if not hidden.any():
        return codes, list(classes)
    along = [classes[k] for k in np.flatnonzero(hidden & (counts >= SMALL_CELL)).tolist()]
    label = ALL_CLASSES if hidden.all() else f"{along[0]} or rarer"
    retained = np.flatnonzero(~hidden)
    new_codes = np.full(len(classes), len(retained), np.int64)
    new_codes[retained] = np.arange(len(retained))
    return new_codes[codes], [*(classes[k] for k in retained.tolist()), label]


def has_small_cell(counts: IntArray) -> bool:
    """Return whether a table has a count from 1 to 4, which an exact test or score would give away.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.basics.privacy import has_small_cell
    >>> has_small_cell(np.array([[25, 0], [30, 5]])), has_small_cell(np.array([[25, 1], [30, 5]]))
    (False, True)
    """
    return bool(((counts > 0) & (counts < SMALL_CELL)).any())


# ---- numbers -------------------------------------------------------------------------------------
def is_percentile_safe(percentile: float, n_rows: int) -> bool:
    """Return whether enough rows lie on either side of a percentile.

    Examples
    --------
    >>> from featly.basics.privacy import is_percentile_safe
    >>> is_percentile_safe(50, 10), is_percentile_safe(25, 10), is_percentile_safe(25, 20)
    (True, False, True)
    """
    return min(percentile, 100 - percentile) * n_rows >= 100 * SMALL_CELL


def bound_present(n_rows: int, n_present: int) -> int:
    """Return how many rows of a class have a value at least, for all that a reader may know.

    What is shown of the values must not depend on a number of rows that is hidden.

    Parameters
    ----------
    n_rows : int
        Rows of the class.
    n_present : int
        Those with a value.

    Examples
    --------
    >>> from featly.basics.privacy import bound_present
    >>> bound_present(60, 60), bound_present(60, 59), bound_present(60, 50), bound_present(60, 2)
    (60, 56, 50, 0)
    """
    if not hide_cells(np.array([[n_rows - n_present, n_present]])).any():
        return n_present
    return max(n_rows - SMALL_CELL + 1, 0) if n_present >= SMALL_CELL else 0


def private_percentiles(
    values: FloatArray, percentiles: Sequence[float], n_known: int
) -> list[float | None]:
    """Return percentiles that rest on five rows each, rounded; None where that cannot be.

    Parameters
    ----------
    values : float array
        Without missing values.
    percentiles : sequence of float
    n_known : int
        How many there are at least, for all that a reader may know: see :func:`bound_present`.

    Returns
    -------
    list of float or None

    Examples
    --------
    >>> import numpy as np
    >>> from featly.basics.privacy import private_percentiles
    >>> private_percentiles(np.arange(40.0) ** 2 + 0.123, [5, 25, 50], 40)
    [None, 100.0, 400.0]
    """
    values = np.sort(values)
    if len(values) < SMALL_CELL:
        return [None] * len(percentiles)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.percentile(values, [25, 75])
        distance = float(high - low)
        return [
            _mean_of_five(values, percentile, distance)
            if is_percentile_safe(percentile, n_known)
            else None
            for percentile in percentiles
        ]


def _mean_of_five(values: FloatArray, percentile: float, distance: float) -> float | None:
    """Return the mean of the five sorted values around a percentile, rounded by a distance."""
    middle = round(percentile / 100 * (len(values) - 1))
    first = min(max(middle - SMALL_CELL // 2, 0), len(values) - SMALL_CELL)
    five = values[first : first + SMALL_CELL]
    if not five[-1] - five[0] <= distance < np.inf:  # a tail, which single rows make
        return None
    mean = float(five[0] + (five - five[0]).mean())
    # to a power of ten from a fiftieth to a fifth of the distance
    return mean if distance == 0 else round(mean, -int(np.floor(np.log10(distance / 5.0))))


def round_figures(value: Any) -> Any:
    """Return a figure, or all figures in lists and dicts, with two digits; others as they are.

    Examples
    --------
    >>> from featly.basics.privacy import round_figures
    >>> round_figures({"score": 0.123456, "size": 123, "all": [1234.5, None]})
    {'score': 0.12, 'size': 123, 'all': [1200.0, None]}
    """
    if isinstance(value, dict):
        return {name: round_figures(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(round_figures(part) for part in value)
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
