"""Computations on columns that every kind of storage offers.

A feature is one column of the user's table. A continuous or ordinal one is a single *atom*; a
categorical one is a block of atoms, its one-hot indicators, which centre and scale together.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import AnyArray, ByteArray, FloatArray, IntArray
from featly.core.runtime.parallel import n_threads, run_blocks, split
from featly.core.runtime.question import MEMORY

__all__ = [
    "Comoments",
    "Moments",
    "Source",
    "any_infinite",
    "centers_and_variances",
    "unit_scale",
]


CHECKED_VALUES = 1 << 20  # looked at by one thread at a time
TILE_BYTES = 1 << 20  # of float64: a tile and its product stay in a core's own cache
PARTIAL_SUMS = 16  # Gram matrices are summed in this many fixed parts, whatever the threads
PANEL_ROWS = 512  # above twice this, a Gram matrix is cut into panels instead of parts


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations: one row a group, one column a feature.

    Missing values are left out of all three. A feature with an infinite value has an infinite or
    undefined `m2`, one whose squares overflow an infinite one. Those of two sets of rows add up:
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983), Algorithms for computing the sample
    variance, *American Statistician* 37, 242-247.
    """

    count: FloatArray
    mean: FloatArray
    m2: FloatArray

    def columns(self, low: int, high: int) -> "Moments":
        """Return the moments of a range of features."""
        part = slice(low, high)
        return Moments(self.count[:, part], self.mean[:, part], self.m2[:, part])

    def group(self, position: int) -> "Moments":
        """Return the moments of one group."""
        return Moments(self.count[position], self.mean[position], self.m2[position])

    def in_groups(self, positions: IntArray, n_groups: int) -> "Moments":
        """Return the moments with the groups at other positions, among groups without a row."""
        parts = (self.count, self.mean, self.m2)
        out = [np.zeros((n_groups, part.shape[1])) for part in parts]
        for target, part in zip(out, parts, strict=True):
            target[positions] = part
        return Moments(*out)

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of the rows of both, by the formula of Chan, Golub and LeVeque."""
        count = self.count + other.count
        share = other.count / np.where(count > 0, count, 1.0)
        difference = np.where(self.count * other.count > 0, other.mean - self.mean, 0.0)
        mean = np.where(self.count > 0, self.mean + difference * share, other.mean)
        return Moments(count, mean, self.m2 + other.m2 + difference**2 * self.count * share)


@dataclass(frozen=True)
class Comoments:
    """Moments of every feature and of one variable h, over the rows where the feature has a value.

    Attributes
    ----------
    count, mean, m2 : float64 array of shape (n_features,)
        See :class:`Moments`.
    mean_h, m2_h : float64 array of shape (n_features,)
        The same of h.
    product : float64 array of shape (n_features,)
        The sum of the products of both deviations from the mean.
    """

    count: FloatArray
    mean: FloatArray
    m2: FloatArray
    mean_h: FloatArray
    m2_h: FloatArray
    product: FloatArray

    @classmethod
    def zeros(cls, n_features: int) -> "Comoments":
        """Return those of no row."""
        return cls(*np.zeros((6, n_features)))

    def parts(self) -> tuple[FloatArray, ...]:
        """Return the six arrays, in the order of the fields."""
        return self.count, self.mean, self.m2, self.mean_h, self.m2_h, self.product

    def columns(self, low: int, high: int) -> "Comoments":
        """Return the moments of a range of features."""
        return Comoments(*(part[low:high] for part in self.parts()))

    def __add__(self, other: "Comoments") -> "Comoments":
        """Return the moments of the rows of both, by the formula of Chan, Golub and LeVeque."""
        column = Moments(self.count, self.mean, self.m2)
        column += Moments(other.count, other.mean, other.m2)
        variable = Moments(self.count, self.mean_h, self.m2_h)
        variable += Moments(other.count, other.mean_h, other.m2_h)
        shared = self.count * other.count / np.where(column.count > 0, column.count, 1.0)
        steps = (other.mean - self.mean) * (other.mean_h - self.mean_h)
        product = self.product + other.product + np.where(shared > 0, steps, 0.0) * shared
        return Comoments(column.count, column.mean, column.m2, variable.mean, variable.m2, product)


class Source(ABC):
    """Columns in some storage, and computations on them that do not move them.

    Attributes
    ----------
    n_rows, n_features : int
    n_atoms : int
    kinds : uint8 array of shape (n_features,)
        See :mod:`featly.basics.kinds`.
    atoms : int64 array of shape (n_features + 1,)
        The one-hot block of feature f is ``atoms[f]:atoms[f + 1]``; a single atom where the
        feature is not categorical.
    memory : int or None
        Bytes that blocks of columns may take, where they are read when asked for; None for a table
        in memory.
    lies : {"memory", "disk", "gpu"}
        Where answers are computed, see :mod:`featly.core.runtime.question`.
    """

    n_rows: int
    n_features: int
    kinds: ByteArray
    n_jobs: int | None
    memory: int | None = None
    lies: ClassVar[str] = MEMORY

    @property
    def n_atoms(self) -> int:
        """Number of atoms of all features."""
        return self.n_features

    @property
    def atoms(self) -> IntArray:
        """The one-hot block of feature f is ``atoms[f]:atoms[f + 1]``."""
        return np.arange(self.n_features + 1)

    # ---- the storage ------------------------------------------------------------------------
    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers, as they are stored."""

    def keys(self, make_key: Callable[..., str]) -> tuple[Any, ...]:
        """Return what tells this table from others: values, structure, or keys of their parts."""
        return ([make_key(self.load(np.arange(*block))) for block in self.blocks()],)

    def has_infinite(self, n_jobs: int | None = None) -> bool:
        """Return whether a number is infinite."""
        return any(
            run_blocks(
                lambda block: bool(np.isinf(self.load(np.arange(*block))).any()),
                self.blocks(),
                n_jobs,
            )
        )

    def level_codes(self, features: IntArray) -> AnyArray:
        """Return the codes of categorical features from 1, feature-major; 0 where missing."""
        assert len(features) == 0, "these columns have no levels"
        return np.empty((0, self.n_rows), np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of the dense numbers of this view; 0 where there are none to be copied."""
        return 0

    @abstractmethod
    def view(self, features: IntArray) -> "Source":
        """Return only these features, in this order, without copying a value."""

    def n_at_once(self, n_jobs: int | None) -> int:
        """Return how many computations may share the table at a time: as many as threads."""
        return n_threads(n_jobs)

    def with_jobs(self, n_jobs: int | None) -> "Source":
        """Return the same columns, read by so many threads."""
        other = copy.copy(self)
        other.n_jobs = n_jobs
        return other

    @abstractmethod
    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> "Source":
        """Return only these rows, copied, as they were given: neither centred nor scaled.

        A level of a categorical feature that none of these rows has is removed.
        """

    @abstractmethod
    def scaled(self, center: FloatArray, scale: FloatArray) -> "Source":
        """Return the columns centred by `center` (an atom), multiplied by `scale` (a feature)."""

    @abstractmethod
    def weighted(self, factor: FloatArray) -> "Source":
        """Return the columns with every feature multiplied by its factor when read."""

    @abstractmethod
    def load(self, features: IntArray) -> FloatArray:
        """Load the atoms of some features, centred and scaled: float64 of shape (atoms, rows)."""

    def in_memory(self) -> "Source":
        """Return this source in memory, in its own layout, if the memory budget allows it."""
        return self

    def compact(self) -> "Source":
        """Return this source in a layout that reads single features fast, copied if necessary."""
        return self

    def blocks(self, max_bytes: int = TILE_BYTES) -> list[tuple[int, int]]:
        """Return ranges of features whose atoms take about `max_bytes` in float64.

        The ranges depend on the data alone, never on the number of threads.
        """
        max_atoms = max(1, max_bytes // (8 * max(1, self.n_rows)))
        if self.n_atoms == self.n_features and not (self.kinds == CATEGORICAL).any():
            return split(self.n_features, max_atoms)
        atoms, blocks, low = self.atoms, [], 0
        while low < self.n_features:
            high = int(np.searchsorted(atoms, atoms[low] + max_atoms, side="right")) - 1
            high = max(low + 1, high)
            blocks.append((low, high))
            low = high
        return blocks

    def each(self, function: Callable[[Any, Any], Any]) -> list[Any]:
        """Call ``function(part, places)`` for every block of columns that is in memory at a time.

        `places` are the positions of the block's columns in this view. A table in memory is one
        block.
        """
        return [function(self, slice(None))]

    # ---- sums over rows ---------------------------------------------------------------------
    @abstractmethod
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return count, mean and squared deviations of continuous and ordinal features by group."""

    @abstractmethod
    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments of continuous and ordinal features together with those of h.

        `h` has an entry for every row, and mean 0. Categorical features have count 0.
        """

    def level_counts(self) -> FloatArray:
        """Return the rows at each level of categorical features; 0 at the atoms of others."""
        return np.zeros(self.n_atoms)

    # ---- sums over columns ------------------------------------------------------------------
    @abstractmethod
    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature f, where K_f is its linear kernel."""

    def gram(self, features: IntArray | None = None) -> FloatArray:
        """``sum_f K_f`` over some features: float64 of shape (rows, rows)."""
        part = self if features is None else self.view(features)
        n = self.n_rows
        blocks = part.blocks()
        total = np.zeros((n, n))
        if n > 2 * PANEL_ROWS:
            panels = split(n, PANEL_ROWS)
            for block in blocks:
                tile = part.load(np.arange(*block))

                def add_panel(rows: tuple[int, int], tile: FloatArray = tile) -> None:
                    total[rows[0] : rows[1]] += tile[:, rows[0] : rows[1]].T @ tile

                run_blocks(add_panel, panels, self.n_jobs)
            return (total + total.T) / 2

        def sum_blocks(blocks: list[tuple[int, int]]) -> FloatArray:
            summed = np.zeros((n, n))
            for block in blocks:
                tile = part.load(np.arange(*block))
                summed += tile.T @ tile
            return summed

        chunks = split(len(blocks), -(-len(blocks) // PARTIAL_SUMS)) if blocks else []
        for summed in run_blocks(sum_blocks, [blocks[a:b] for a, b in chunks], self.n_jobs):
            total += summed
        return total


def any_infinite(values: AnyArray, n_jobs: int | None = None) -> bool:
    """Return whether a number of a one-dimensional array is infinite."""
    blocks = split(len(values), CHECKED_VALUES)
    is_infinite = run_blocks(
        lambda block: bool(np.isinf(values[slice(*block)]).any()), blocks, n_jobs
    )
    return any(is_infinite)


def centers_and_variances(
    source: Source, moments: Moments, counts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the mean of every atom and the total variance of every feature.

    `moments` are those of `source` over all rows, and so are the `counts` of levels, if given. The
    variance of a categorical feature with level frequencies p_l is that of its one-hot block,
    ``1 - sum_l p_l^2``. Variances are those of the population (divisor n), as in scikit-learn's
    StandardScaler; that of a constant feature is exactly 0.
    """
    center = moments.mean[0]
    variance = moments.m2[0] / np.maximum(moments.count[0], 1)
    categorical = source.kinds == CATEGORICAL
    if not categorical.any():
        return center, variance
    atoms = source.atoms
    start = atoms[:-1]
    counts = source.level_counts() if counts is None else counts
    total = np.maximum(np.add.reduceat(counts, start), 1)
    frequency = counts / np.repeat(total, np.diff(atoms))
    occupied = np.add.reduceat(counts > 0, start, dtype=np.int64)
    block = np.where(occupied > 1, 1 - np.add.reduceat(frequency**2, start), 0.0)
    frequency[start[~categorical]] = center[~categorical]
    return frequency, np.where(categorical, block, variance)


def unit_scale(variance: FloatArray) -> FloatArray:
    """Return the factor that gives a feature total variance 1; 0 where it is constant."""
    varies = variance > 0
    return np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
