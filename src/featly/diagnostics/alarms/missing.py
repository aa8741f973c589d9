r"""Missing values that tell the class: columns, and rows, whose gaps are no accident.

Every pattern of missing cells that some columns share is tested against the classes by Fisher's
exact test, with Holm's correction over the patterns.

How much of what a column says is said by its missing values alone:

.. math::

    G_1 = \frac{D_\text{missing}}{D_\text{missing} + D_\text{values}}

with the deviances, less their degrees of freedom, of missing against class, and of the quintile of
the value against class among the rows that have one. Missing values of numbers that are high are
no accident either; then the values say the rest.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kruskal

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.counts.contingency import Tables, fisher
from featly.diagnostics.reading import Rows
from featly.measures.statistics import holm

__all__ = [
    "ChosenWithMissing",
    "MissingColumns",
    "MissingRows",
    "describe_missing",
    "find_missing_that_tells",
    "missing_share",
]

LEAST = 5  # missing and known cells of a column that is tested
LEVEL_COLUMNS, LEVEL_ROWS = 0.008, 0.002
PARTS = 5
RELATED = 0.05  # adjusted p of missing against class, for chosen columns


@dataclass(frozen=True)
class MissingColumns:
    """Columns that are missing in one class more often than in another.

    Attributes
    ----------
    names : list of str
        Columns with one pattern of missing cells.
    shares : float array of shape (n_classes,)
        Share of the rows of each class in which they are missing.
    p : float
        Of Fisher's exact test, corrected for the number of patterns.
    """

    names: list[str]
    shares: FloatArray
    p: float


@dataclass(frozen=True)
class MissingRows:
    """Numbers of missing cells of the rows, which differ between the classes."""

    means: FloatArray
    p: float


def find_missing_that_tells(
    rows: Rows, y: IntArray, n_classes: int
) -> tuple[list[MissingColumns], MissingRows | None, int]:
    """Test whether cells are missing in one class more often than in another.

    Returns
    -------
    columns : list of MissingColumns
        By p, the smallest first.
    rows : MissingRows or None
    n_patterns : int
        Patterns that were tested.
    """
    patterns: dict[bytes, list[str]] = {}
    masks: list[np.ndarray] = []
    is_missing = np.isnan(rows.numbers)
    total = is_missing.sum(axis=1) + (rows.codes == 0).sum(axis=0)
    for f, mask in _masks(rows, is_missing):
        n_missing = int(mask.sum())
        if min(n_missing, rows.n_rows - n_missing) < LEAST:
            continue
        key = np.packbits(mask).tobytes()
        if key not in patterns:
            patterns[key] = []
            masks.append(mask)
        patterns[key].append(rows.names[f])
    if not masks:
        return [], None, 0
    counts = np.array(
        [[np.bincount(y[mask == side], minlength=n_classes) for side in (0, 1)] for mask in masks]
    )
    tables = Tables(counts.reshape(-1), np.arange(len(masks) + 1) * 2 * n_classes, n_classes)
    p = np.exp(fisher(tables, n_jobs=1).log_p)
    order = np.argsort(p, kind="stable")
    adjusted = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    names = list(patterns.values())
    class_sizes = np.maximum(np.bincount(y, minlength=n_classes), 1)
    columns = [
        MissingColumns(names[k], counts[k, 1] / class_sizes, float(min(value, 1.0)))
        for k, value in zip(order, adjusted, strict=True)
        if value <= LEVEL_COLUMNS
    ]
    return columns, _test_rows(total, y, n_classes), len(masks)


def _masks(rows: Rows, is_missing: BoolArray) -> Iterator[tuple[int, BoolArray]]:
    """Yield the position of every column with missing cells, and a mask of them."""
    for j in np.flatnonzero(is_missing.any(axis=0)).tolist():
        yield int(rows.numeric[j]), is_missing[:, j]
    for f, codes in zip(rows.categorical.tolist(), rows.codes, strict=True):
        yield f, codes == 0


def _test_rows(total: IntArray, y: IntArray, n_classes: int) -> MissingRows | None:
    """Test by Kruskal and Wallis whether rows of one class have more missing cells."""
    parts = [total[y == c] for c in range(n_classes)]
    parts = [part for part in parts if len(part)]
    if len(parts) < 2 or (total == total[0]).all():
        return None
    p = float(kruskal(*parts).pvalue)
    return MissingRows(np.array([part.mean() for part in parts]), p) if p <= LEVEL_ROWS else None


@dataclass(frozen=True)
class ChosenWithMissing:
    """The missing values of a column that was chosen.

    Attributes
    ----------
    name : str
    shares : float array of shape (n_classes,)
        Share of the rows of each class in which it is missing.
    n_missing : int
    p_value : float
        Of Fisher's exact test of missing against class, Holm's correction over the columns.
    share : float
        As :func:`missing_share`.
    """

    name: str
    shares: FloatArray
    n_missing: int
    p_value: float
    share: float

    @property
    def is_related(self) -> bool:
        """Return whether missing goes with the class by more than chance."""
        return self.p_value <= RELATED

    def sentence(self, labels: Sequence[str], *, individuals: bool = True) -> str:
        """Return that the column was chosen for its missing values, and where it is missing.

        Parameters
        ----------
        labels : sequence of str
        individuals : bool, default=True
            Whether shares may be told, from which rows can be counted.
        """
        most, least = labels[int(self.shares.argmax())], labels[int(self.shares.argmin())]
        begin = "chosen at least partly for its missing values: absent"
        if not individuals:
            return f"{begin} in more of {most!r} than of {least!r}"
        high, low = self.shares.max(), self.shares.min()
        return f"{begin} in {high:.0%} of {most!r}, {low:.0%} of {least!r}"


def describe_missing(rows: Rows, y: IntArray, n_classes: int) -> list[ChosenWithMissing]:
    """Describe the missing values of chosen columns, in the order of the table.

    Parameters
    ----------
    rows : Rows
        With the chosen columns alone.
    y : int array of shape (n_rows,)
    n_classes : int
    """
    numbers = dict(zip(rows.numeric.tolist(), rows.numbers.T, strict=True))
    coded = dict(zip(rows.categorical.tolist(), rows.codes, strict=True))
    columns = [
        numbers[f] if f in numbers else np.where(coded[f] > 0, coded[f], np.nan).astype(np.float64)
        for f in range(rows.n_columns)
    ]
    if not columns:
        return []
    masks = [np.isnan(column) for column in columns]
    counts = np.array(
        [[np.bincount(y[mask == side], minlength=n_classes) for side in (0, 1)] for mask in masks]
    )
    tables = Tables(counts.reshape(-1), np.arange(len(masks) + 1) * 2 * n_classes, n_classes)
    adjusted = holm(np.exp(fisher(tables, n_jobs=1).log_p))
    sizes = np.maximum(np.bincount(y, minlength=n_classes), 1)
    return [
        ChosenWithMissing(
            rows.names[f], counts[f, 1] / sizes, int(masks[f].sum()), float(adjusted[f]),
            missing_share(column, y, n_classes),
        )
        for f, column in enumerate(columns)
    ]  # fmt: skip


def missing_share(values: FloatArray, y: IntArray, n_classes: int) -> float:
    """Return how much of what a column says about the class its missing values say, 0 to 1.

    Parameters
    ----------
    values : float array of shape (n_rows,)
        Numbers, or codes of levels as numbers; missing as NaN.
    y : int array of shape (n_rows,)
    n_classes : int

    Examples
    --------
    >>> y = np.repeat([0, 1], 50)
    >>> values = np.where((np.arange(100) % 2 == 0) & (y == 1), np.nan, np.arange(100) % 7)
    >>> missing_share(values, y, 2) > 0.9
    True
    """
    is_missing = np.isnan(values)
    by_missing = _excess_deviance(is_missing.astype(np.int64), y, n_classes)
    known = values[~is_missing]
    distinct = np.unique(known)
    if len(distinct) > PARTS:
        cuts = np.quantile(known, np.arange(1, PARTS) / PARTS)
        part = np.searchsorted(cuts, known, side="left")
    else:
        part = np.searchsorted(distinct, known)
    by_value = _excess_deviance(part, y[~is_missing], n_classes)
    total = by_missing + by_value
    return float(by_missing / total) if total > 0 else 0.0


def _excess_deviance(levels: IntArray, y: IntArray, n_classes: int) -> float:
    """Return the deviance of levels against classes, less its degrees of freedom, at least 0."""
    if not len(levels):
        return 0.0
    table = np.bincount(levels * n_classes + y, minlength=(levels.max() + 1) * n_classes)
    table = table.reshape(-1, n_classes).astype(np.float64)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = 2 * np.where(table > 0, table * np.log(table / expected), 0.0).sum()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    return max(float(deviance) - float(freedom), 0.0)
