r"""Tests that two tables come from one distribution, column by column and as a whole.

.. math::

    E = \frac{2}{nm} \sum_{ij} d(x_i, x'_j) - \frac{1}{n^2} \sum_{ij} d(x_i, x_j)
        - \frac{1}{m^2} \sum_{ij} d(x'_i, x'_j)

Székely, G. J. and Rizzo, M. L. (2004), Testing for equal distributions in high dimension,
*InterStat* 5.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.basics.typing import BoolArray, ByteArray, FloatArray
from featly.core.runtime.parallel import n_threads, run_blocks, single_threaded_blas, split
from featly.core.stats.row_distances import SquaredDistances
from featly.core.stats.shift import column_distances
from featly.diagnostics.reading import Rows, check_count, new_levels, read_pair
from featly.table.frames import frame_of
from featly.table.schema import Schema

__all__ = ["Shift", "shift"]


BLOCK = 64  # columns that are sorted together
ENERGY_ROWS = 1000  # of each table, for the statistic of all columns together


@dataclass(frozen=True)
class Shift:
    """Result of :func:`shift`.

    Attributes
    ----------
    names : list of str
    numeric : bool array
        Whether a column holds numbers.
    distance : float array
        Kolmogorov-Smirnov distance of numbers, total variation of levels, from 0 (equal) to 1
        (nothing in common), without missing values.
    missing_difference : float array
        Missing share in the second table minus that in the first.
    p_values, adjusted_p_values : float arrays
        By permutation; adjusted over all columns.
    energy, p_value : float
        The energy distance of all columns together, and its p-value by permutation.
    new_levels : dict
        Levels that only the second table has, by column.
    n_first, n_second, n_used : int
        Rows of the tables, and rows of both that were permuted.
    """

    names: list[str]
    numeric: BoolArray
    distance: FloatArray
    missing_difference: FloatArray
    p_values: FloatArray
    adjusted_p_values: FloatArray
    energy: float
    p_value: float
    new_levels: dict[str, list[str]]
    n_first: int
    n_second: int
    n_used: int

    def shifted(self, level: float = 0.05) -> list[str]:
        """List columns whose adjusted p-value is at most `level`, most different first."""
        size = np.maximum(self.distance, np.abs(self.missing_difference))
        order = np.lexsort((-size, self.adjusted_p_values))
        return [self.names[f] for f in order if self.adjusted_p_values[f] <= level]

    def to_frame(self) -> Any:
        """Return a frame with one row a column."""
        return frame_of(
            {
                "column": self.names,
                "distance": self.distance,
                "missing_difference": self.missing_difference,
                "p_value": self.p_values,
                "adjusted_p_value": self.adjusted_p_values,
                "new_levels": [len(self.new_levels.get(name, ())) for name in self.names],
            },
            None,
        )

    def text(self) -> str:
        """Summarise in a few lines."""
        shifted_names = self.shifted()
        lines = [
            f"all columns together: p = {self.p_value:.3g}",
            f"{len(shifted_names)} of {len(self.names)} columns differ (adjusted p <= 0.05)",
        ]
        position = {name: f for f, name in enumerate(self.names)}
        for name in shifted_names[:10]:
            f = position[name]
            difference = self.missing_difference[f]
            size_text = f"{self.distance[f]:.2f}"
            if abs(difference) > self.distance[f]:
                size_text = f"missing {difference:+.0%}"
            lines.append(f"{name}: {size_text} (p = {self.adjusted_p_values[f]:.3g})")
        for name, levels in list(self.new_levels.items())[:10]:
            lines.append(f"{name}: new levels {', '.join(levels[:5])}")
        return "\n".join(lines)

    __str__ = text


def shift(
    train: Any,
    test: Any,
    *,
    schema: Schema | dict[str, Any] | None = None,
    n_permutations: int = 999,
    max_rows: int = 10_000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Shift:
    r"""Compare two tables with the same columns.

    The null hypothesis is that all rows are drawn independently from one distribution. Then the
    rows may be dealt out to the two tables again, at random, and the observed tables are one of
    ``n_permutations + 1`` draws that are equally likely: p-values are exact, whatever the columns
    are and however they depend on each other. They are not valid if rows depend on each other,
    such as several visits of a patient or rows sorted by date.

    A column has two statistics: the distance of the present values, and the difference of the
    missing shares. Each is standardised over all draws; the larger is the score of the column.
    Adjusted p-values compare that to the largest score of any column in each draw (Westfall and
    Young), so that the chance of a false alarm in the whole table is at most the level. None is
    below ``1 / (n_permutations + 1)``.

    The p-value of all columns together is that of the energy distance, on Euclidean-overlap
    distances (:class:`featly.learners.HEOMNeighbors`) between up to 1,000 rows of each table. It
    finds many small differences, and changes in how columns go together; a single column among
    thousands is found by its own p-value.

    Parameters
    ----------
    train, test : data frames, arrays or sparse matrices
        With the same columns. Kinds of columns are those of the first.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.
    n_permutations : int, default=999
    max_rows : int, default=10000
        Of a larger table, this number of rows is drawn for the p-values of columns. Distances,
        missing shares and new levels are always of all rows.
    random_state : int, default=0
        Seed of the random numbers.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Returns
    -------
    Shift

    References
    ----------
    Székely, G. J. and Rizzo, M. L. (2004), Testing for equal distributions in high dimension,
    *InterStat* 5.

    Westfall, P. H. and Young, S. S. (1993), *Resampling-based multiple testing*, Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.diagnostics import shift
    >>> rng = np.random.default_rng(0)
    >>> train, test = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    >>> test[:, 1] += 2
    >>> result = shift(train, test)
    >>> result.shifted(), result.p_value
    (['x1'], 0.001)
    """
    check_count("n_permutations", n_permutations, 1)
    check_count("max_rows", max_rows, 2)
    check_count("random_state", random_state, 0)
    n_threads(n_jobs)
    first, second = read_pair(train, test, schema)
    for rows, name in ((first, "train"), (second, "test")):
        if rows.n_rows < 2:
            raise DataError(f"{name} has {rows.n_rows} row: at least 2 are needed to compare")
    rng = np.random.default_rng(random_state)
    first_sample, second_sample = (
        draw_rows(first, max_rows, rng),
        draw_rows(second, max_rows, rng),
    )
    labels = deal_labels(first_sample.n_rows, second_sample.n_rows, n_permutations, rng)
    tests = compare_columns(first_sample, second_sample, labels, n_jobs)
    distance = tests.distance
    if first_sample is not first or second_sample is not second:
        observed_labels = deal_labels(first.n_rows, second.n_rows, 0, rng)
        distance = compare_columns(first, second, observed_labels, n_jobs).distance
    energies = draw_energies(first, second, n_permutations, rng, n_jobs)
    return Shift(
        first.names,
        first.is_number,
        distance,
        _missing_shares(second) - _missing_shares(first),
        tests.p,
        adjust_scores(tests.score, tests.largest),
        float(energies[0]),
        share_as_large(energies),
        new_levels(first, second, test),
        first.n_rows,
        second.n_rows,
        first_sample.n_rows + second_sample.n_rows,
    )


def draw_rows(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Return some rows of a larger table, drawn at random, in their order."""
    if rows.n_rows <= size:
        return rows
    return rows.take_rows(np.sort(rng.choice(rows.n_rows, size, replace=False)))


def deal_labels(n: int, m: int, count: int, rng: np.random.Generator) -> ByteArray:
    """Mark the rows of the first table: as observed in column 0, then at random."""
    labels = np.zeros((n + m, count + 1), np.uint8)
    labels[:n, 0] = 1
    for b in range(1, count + 1):
        labels[:, b] = rng.permutation(labels[:, 0])
    return labels


def adjust_scores(score: FloatArray, largest: FloatArray) -> FloatArray:
    """Return p-values adjusted by the largest score in each draw; `largest[0]` is as observed."""
    in_draws = np.sort(largest[1:])
    n_larger = len(in_draws) - np.searchsorted(in_draws, score - 1e-9, side="left")
    adjusted: FloatArray = (1 + n_larger) / len(largest)
    return adjusted


def share_as_large(values: FloatArray) -> float:
    """Return the share of draws with a value as large as the first, which is as observed."""
    tolerance = 1e-9 * float(np.abs(values).max())
    return float((values >= values[0] - tolerance).mean())


def _missing_shares(rows: Rows) -> FloatArray:
    shares = np.zeros(rows.n_columns)
    shares[rows.numeric] = np.isnan(rows.numbers).mean(axis=0)
    shares[rows.categorical] = (rows.codes == 0).mean(axis=1)
    return shares


# ---- columns -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class ColumnTests:
    """Distances, scores and p-values of columns, and the largest score of each draw."""

    distance: FloatArray
    score: FloatArray
    p: FloatArray
    largest: FloatArray


def compare_columns(
    first: Rows, second: Rows, labels: ByteArray, n_jobs: int | None
) -> ColumnTests:
    """Return distances, scores and p-values of all columns over the permutations in `labels`."""
    numeric, p = first.is_number, first.n_columns
    position = np.empty(p, np.int64)
    position[first.numeric] = np.arange(len(first.numeric))
    position[first.categorical] = np.arange(len(first.categorical))
    distance, difference, score, p_values = np.empty(p), np.empty(p), np.empty(p), np.empty(p)

    def compare(block: tuple[int, int]) -> FloatArray:
        columns = range(*block)
        values = np.empty((len(columns), len(labels)))
        for k, f in enumerate(columns):
            j = int(position[f])
            if numeric[f]:
                values[k] = np.concatenate([first.numbers[:, j], second.numbers[:, j]])
            else:
                codes = np.concatenate([first.codes[j], second.codes[j]])
                values[k] = np.where(codes == 0, np.nan, codes)
        orders = np.argsort(values, axis=1)  # NaN last
        sorted_values = np.take_along_axis(values, orders, axis=1)
        ends = np.ones(sorted_values.shape, np.bool_)
        ends[:, :-1] = sorted_values[:, 1:] != sorted_values[:, :-1]
        present = (~np.isnan(values)).sum(axis=1)
        largest = np.full(labels.shape[1], -np.inf)
        own = slice(*block)
        column_distances(
            orders, ends, present, numeric[own], labels, distance[own], difference[own], score[own],
            p_values[own], largest,
        )  # fmt: skip
        return largest

    size = max(1, min(BLOCK, (1 << 22) // len(labels)))
    largest_by_block = run_blocks(compare, split(p, size), n_jobs)
    return ColumnTests(distance, score, p_values, np.max(largest_by_block, axis=0))


# ---- all columns together ------------------------------------------------------------------------
def draw_energies(
    first: Rows, second: Rows, count: int, rng: np.random.Generator, n_jobs: int | None
) -> FloatArray:
    """Return the energy distance as observed, and of `count` draws."""
    first_sample, second_sample = (
        draw_rows(first, ENERGY_ROWS, rng),
        draw_rows(second, ENERGY_ROWS, rng),
    )
    pooled = Rows(
        np.concatenate([first_sample.numbers, second_sample.numbers]),
        np.concatenate([first_sample.codes, second_sample.codes], axis=1),
        first_sample.numeric,
        first_sample.categorical,
        first_sample.names,
        first_sample.levels,
    )
    squared = SquaredDistances(pooled.scale_to_range(), pooled.is_number, n_jobs=n_jobs)
    distances = np.sqrt(squared.block(0, pooled.n_rows))
    labels = deal_labels(first_sample.n_rows, second_sample.n_rows, count, rng).astype(np.float64)
    with single_threaded_blas():
        within = np.einsum("ib,ib->b", labels, distances @ labels)
        crossing = distances.sum(axis=1) @ labels - within
    within_second = float(distances.sum()) - within - 2 * crossing
    n, m = first_sample.n_rows, second_sample.n_rows
    energies: FloatArray = 2 * crossing / (n * m) - within / n**2 - within_second / m**2
    return energies
