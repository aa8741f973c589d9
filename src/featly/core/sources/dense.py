"""Columns in memory: a matrix of numbers, row-major or feature-major, and a matrix of codes."""

from typing import Any

import numpy as np
import numpy.typing as npt

from featly.core import linear, moments
from featly.core.parallel import run_blocks, split
from featly.core.sources.base import FloatArray, IntArray, Moments, Source
from featly.kinds import CATEGORICAL, CONTINUOUS

__all__ = ["DenseSource"]

ROW_BLOCK = 8192  # columns of a row-major matrix that one task streams through
MASKED_BLOCK = 512


class DenseSource(Source):
    """Numbers and codes in memory.

    Parameters
    ----------
    values : float32 or float64 array of shape (n_rows, n_numbers), or None
        In row-major or feature-major order; never copied.
    codes : uint8 or uint16 array of shape (n_categorical, n_rows), or None
        Feature-major. 0 is missing, 1 to `n_levels` are the levels.
    kinds : uint8 array of shape (n_features,), optional
        Which features are categorical: the i-th of them is row i of `codes`, the i-th of the
        others is column i of `values`.
    n_levels : int array of shape (n_categorical,), optional
    """

    def __init__(
        self,
        values: npt.NDArray[Any] | None,
        codes: npt.NDArray[Any] | None = None,
        kinds: npt.NDArray[np.uint8] | None = None,
        n_levels: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if values is None:
            assert codes is not None
            values = np.empty((codes.shape[1], 0))
        if kinds is None:
            kinds = np.full(values.shape[1], CONTINUOUS)
        if not (values.flags.c_contiguous or values.flags.f_contiguous):
            values = np.ascontiguousarray(values)
        self.values = values
        self.codes = np.empty((0, len(values)), np.uint8) if codes is None else codes
        self.kinds = kinds
        self.n_jobs = n_jobs
        self.n_rows, self.n_features = len(values), len(kinds)
        categorical = kinds == CATEGORICAL
        sizes = np.ones(self.n_features, np.int64)
        if n_levels is not None:
            sizes[categorical] = n_levels
        self.atoms = np.concatenate([[0], np.cumsum(sizes)])
        self.numeric = np.flatnonzero(~categorical)  # features that are numbers ...
        self.columns = np.arange(values.shape[1])  # ... and the columns that hold them
        self.categorical = np.flatnonzero(categorical)
        self.code_rows = np.arange(len(self.codes))
        self.center = np.zeros(self.atoms[-1])
        self.scale = np.ones(self.n_features)

    @property
    def feature_major(self) -> bool:
        """Whether a single column of numbers lies together in memory."""
        return bool(self.values.flags.f_contiguous)

    def view(self, features: IntArray) -> "DenseSource":
        """Only these features, in this order; the matrices are shared."""
        features = np.asarray(features)
        part = object.__new__(DenseSource)
        part.__dict__.update(self.__dict__)
        part.kinds = self.kinds[features]
        part.n_features = len(features)
        part.scale = self.scale[features]
        if len(self.categorical) == 0:
            part.atoms = np.arange(len(features) + 1)
            part.numeric, part.columns = part.atoms[:-1], self.columns[features]
            part.center = self.center[features]
            return part
        sizes = np.diff(self.atoms)[features]
        part.atoms = np.concatenate([[0], np.cumsum(sizes)])
        offset = np.repeat(self.atoms[features] - part.atoms[:-1], sizes)
        part.center = self.center[np.arange(part.atoms[-1]) + offset]
        place = np.empty(self.n_features, np.int64)
        place[self.numeric], place[self.categorical] = self.columns, self.code_rows
        coded = part.kinds == CATEGORICAL
        part.numeric, part.categorical = np.flatnonzero(~coded), np.flatnonzero(coded)
        part.columns = place[features[part.numeric]]
        part.code_rows = place[features[part.categorical]]
        return part

    def scaled(self, center: FloatArray, scale: FloatArray) -> "DenseSource":
        """Centred and scaled when read; the matrices are shared."""
        part = object.__new__(DenseSource)
        part.__dict__.update(self.__dict__)
        part.center, part.scale = center, scale
        return part

    def compact(self) -> "DenseSource":
        """The numbers of this view alone, copied to feature-major order; codes are so already."""
        if self.feature_major:
            return self
        part = object.__new__(DenseSource)
        part.__dict__.update(self.__dict__)
        lying = np.empty((len(self.columns), self.n_rows), self.values.dtype)

        def copy(block: tuple[int, int]) -> None:
            low, high = block
            lying[low:high] = self.values[:, self.columns[low:high]].T

        run_blocks(copy, split(len(self.columns), 256), self.n_jobs)
        part.values, part.columns = lying.T, np.arange(len(self.columns))
        return part

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that this view sees."""
        return len(self.columns) * self.n_rows * self.values.itemsize

    def load(self, features: IntArray) -> FloatArray:
        """The atoms of some features, centred and scaled, feature-major."""
        part = self.view(features)
        out = np.empty((part.atoms[-1], self.n_rows))
        if len(part.categorical) == 0:
            self._tile(part.columns, part.center, part.scale, out)
            return out
        at = part.atoms[:-1][part.numeric]
        numbers = np.empty((len(at), self.n_rows))
        self._tile(part.columns, part.center[at], part.scale[part.numeric], numbers)
        out[at] = numbers
        for f, row in zip(part.categorical, part.code_rows, strict=True):
            low, high = part.atoms[f], part.atoms[f + 1]
            linear.tile_codes(
                self.codes,
                np.array([row]),
                np.array([0, high - low]),
                part.center[low:high],
                part.scale[f : f + 1],
                out[low:high],
            )
        return out

    def _tile(self, columns: IntArray, center: FloatArray, scale: FloatArray, out: Any) -> None:
        if self.feature_major:
            linear.tile_columns(self.values.T, columns, center, scale, out)
        else:
            linear.tile_rows(self.values, columns, center, scale, out)

    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """One pass over the numbers; categorical features are left at count 0."""
        if groups is None:
            groups = np.zeros(self.n_rows, np.int64)
        rows = [np.flatnonzero(groups == g) for g in range(n_groups)]
        sizes = np.array([len(members) for members in rows], dtype=np.float64)
        width = self.values.shape[1]
        mean, m2 = np.zeros((n_groups, width)), np.zeros((n_groups, width))
        lying = self.values.T

        def one(block: tuple[int, int]) -> list[tuple[IntArray, FloatArray]]:
            low, high = block
            for g, members in enumerate(rows):
                if len(members) == 0:
                    continue
                if self.feature_major:
                    moments.moments_columns(lying, members, low, high, mean[g], m2[g])
                else:
                    moments.moments_rows(self.values, members, low, high, mean[g], m2[g])
            odd = low + np.flatnonzero(~np.isfinite(m2[:, low:high]).all(axis=0))
            return [self._masked(odd[a:b], rows, mean, m2) for a, b in split(len(odd), MASKED_BLOCK)]

        found = run_blocks(one, split(width, ROW_BLOCK), self.n_jobs)
        count = np.broadcast_to(sizes[:, None], (n_groups, width))
        incomplete = [pair for pairs in found for pair in pairs]
        if incomplete:
            count = count.copy()
            for columns, counts in incomplete:
                count[:, columns] = counts
        return self._by_feature(Moments(count, mean, m2))

    def _masked(
        self, columns: IntArray, rows: list[IntArray], mean: FloatArray, m2: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Redo `columns`, which are not finite, leaving out missing values."""
        block = np.ascontiguousarray(self.values[:, columns])
        counts = np.zeros((len(rows), len(columns)))
        for g, members in enumerate(rows):
            one_mean, one_m2 = np.empty(len(columns)), np.empty(len(columns))
            moments.moments_masked(block, members, counts[g], one_mean, one_m2)
            mean[g, columns], m2[g, columns] = one_mean, one_m2
        return columns, counts

    def _by_feature(self, found: Moments) -> Moments:
        if self.n_features == self.values.shape[1] and np.array_equal(
            self.columns, np.arange(self.n_features)
        ):
            return found
        out = [np.zeros((len(found.mean), self.n_features)) for _ in range(3)]
        for target, source in zip(out, (found.count, found.mean, found.m2), strict=True):
            target[:, self.numeric] = source[:, self.columns]
        return Moments(*out)

    def level_counts(self) -> FloatArray:
        """Rows at each level of categorical features; 0 at the atoms of others."""
        counts = np.zeros(self.atoms[-1])
        for f, row in zip(self.categorical, self.code_rows, strict=True):
            low, high = self.atoms[f], self.atoms[f + 1]
            counts[low:high] = np.bincount(self.codes[row], minlength=high - low + 1)[1:]
        return counts

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature: one pass over the values."""
        out = np.empty(self.n_features)
        plain = len(self.categorical) == 0
        at = slice(None) if plain else self.numeric
        center = self.center if plain else self.center[self.atoms[:-1][self.numeric]]
        scale = self.scale[at]
        if len(self.numeric) == 0:
            pass
        elif self.feature_major:
            found = out if plain else np.empty(len(self.columns))
            lying = self.values.T

            def columns(block: tuple[int, int]) -> None:
                linear.forms_columns(lying, self.columns, v, center, scale, *block, found)

            run_blocks(columns, split(len(self.columns), 4096), self.n_jobs)
            if not plain:
                out[at] = found
        else:
            out[at] = self._row_major_forms(v, center, scale)
        if len(self.categorical):
            out[self.categorical] = self._code_forms(v)
        return out

    def _row_major_forms(
        self, v: FloatArray, center: FloatArray, scale: FloatArray
    ) -> FloatArray:
        rows = np.flatnonzero(v)
        weights = v[rows]
        # a row is read as it lies, columns outside the view included: that streams, a gather
        # does not; a view of few columns is better compacted first
        width = self.values.shape[1]
        whole = len(self.columns) == width and np.array_equal(self.columns, np.arange(width))
        if not whole:
            wide_center, wide_scale = np.zeros(width), np.zeros(width)
            wide_center[self.columns], wide_scale[self.columns] = center, scale
            center, scale = wide_center, wide_scale
        found = np.empty(width)

        def one(block: tuple[int, int]) -> None:
            linear.forms_rows(self.values, rows, weights, center, scale, *block, found)

        run_blocks(one, split(width, ROW_BLOCK), self.n_jobs)
        return found if whole else found[self.columns]

    def _code_forms(self, v: FloatArray) -> FloatArray:
        found = np.empty(len(self.categorical))
        sizes = np.diff(self.atoms)[self.categorical]
        atoms = np.concatenate([[0], np.cumsum(sizes)])
        offset = np.repeat(self.atoms[self.categorical] - atoms[:-1], sizes)
        center = self.center[np.arange(atoms[-1]) + offset]
        scale = self.scale[self.categorical]

        def one(block: tuple[int, int]) -> None:
            linear.forms_codes(self.codes, self.code_rows, v, atoms, center, scale, *block, found)

        run_blocks(one, split(len(found), 2048), self.n_jobs)
        return found
