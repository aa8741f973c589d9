"""Columns in memory: a matrix of numbers, row-major or feature-major, and a matrix of codes."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.basics.typing import AnyArray, ByteArray, FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import comoments, linear, moments
from featly.core.sources.base import Comoments, Moments, Source, any_infinite

__all__ = ["DenseSource", "compact_if_small"]

ROW_BLOCK = 8192  # columns of a row-major matrix that one task streams through
COLUMN_BLOCK = 4096
MASKED_BLOCK = 512
KEY_BLOCKS = 64  # whose keys are computed by several threads
COMPACT_SHARE = 20  # a row-major table is copied, column by column, once this fraction is left ...
COMPACT_BYTES = 16 << 20  # ... or once what is left is this small


def compact_if_small(source: Source, all_bytes: int) -> Source:
    """Return a view of a row-major table as a copy by columns, once little of it is left.

    A streamed table is loaded once the memory budget allows it.
    """
    source = source.in_memory()
    if getattr(source, "feature_major", True):
        return source
    little = source.nbytes <= max(COMPACT_BYTES, all_bytes // COMPACT_SHARE)
    return source.compact() if little else source


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

    n_features: int
    n_rows: int

    def __init__(
        self,
        values: AnyArray | None,
        codes: AnyArray | None = None,
        kinds: ByteArray | None = None,
        n_levels: IntArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        if values is None:
            assert codes is not None
            values = np.empty((codes.shape[1], 0))
        if not (values.flags.c_contiguous or values.flags.f_contiguous):
            values = np.ascontiguousarray(values)
        self.values = values
        self._by_rows = False  # a single column of a table that lies row by row
        self.codes: AnyArray = np.empty((0, len(values)), np.uint8) if codes is None else codes
        self.kinds: Any | ByteArray = (
            np.full(values.shape[1], CONTINUOUS) if kinds is None else kinds
        )
        self.n_jobs = n_jobs
        self.n_rows, self.n_features = len(values), len(self.kinds)
        # where each feature lies: a column of `values` or, if categorical, a row of `codes`
        self.place: IntArray = np.empty(self.n_features, np.int64)
        self.place[self.categorical] = np.arange(len(self.codes))
        self.place[self.numeric] = np.arange(values.shape[1])
        # these belong to the matrices, so that views need no copy of them
        # a column without any value has no level, but gets one atom
        levels = np.zeros(0, np.int64) if n_levels is None else np.maximum(n_levels, 1)
        self.code_atoms: AnyArray = np.concatenate([[0], np.cumsum(levels, dtype=np.int64)])
        self.center: FloatArray = np.zeros(values.shape[1])
        self.scale: FloatArray = np.ones(values.shape[1])
        self.code_center: FloatArray = np.zeros(self.code_atoms[-1])
        self.code_scale: FloatArray = np.ones(len(self.codes))

    # ---- the storage ------------------------------------------------------------------------
    @property
    def feature_major(self) -> bool:
        """Return whether a single column of numbers lies together in memory."""
        flags = self.values.flags
        return bool(flags.f_contiguous) and not (self._by_rows and flags.c_contiguous)

    def with_feature_major(self, feature_major: bool) -> "DenseSource":
        """Return the same columns, a single one taken to lie as in a larger table.

        Sums over the rows of a column differ in their last bits by how it lies.
        """
        return self._with(_by_rows=not feature_major)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers."""
        return np.dtype(self.values.dtype)

    def keys(self, make_key: Callable[..., str]) -> tuple[Any, ...]:
        """Return shape and order of the numbers, keys of their blocks, and the codes."""
        lines = self.values.T if self.feature_major else self.values
        blocks = split(len(lines), -(-len(lines) // KEY_BLOCKS))
        keys = run_blocks(lambda block: make_key(lines[slice(*block)]), blocks, None)
        return self.values.shape, self.feature_major, keys, self.codes

    def has_infinite(self, n_jobs: int | None = None) -> bool:
        """Return whether a number of the table is infinite."""
        if self.values.dtype.kind in "iu":
            return False
        return any_infinite(self.values.ravel(order="K"), n_jobs)  # a view, in memory's order

    def level_codes(self, features: IntArray) -> AnyArray:
        """Return the codes of categorical features: shared where they lie in this order."""
        rows = self.place[features]
        if len(rows) and bool((np.diff(rows) == 1).all()):
            return self.codes[rows[0] : rows[-1] + 1]
        codes: AnyArray = self.codes[rows]
        return codes

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers that this view sees."""
        count = self.n_features - int((self.kinds == CATEGORICAL).sum())
        return count * self.n_rows * self.values.itemsize

    @cached_property
    def categorical(self) -> Any:
        """Index of the categorical features."""
        return np.flatnonzero(self.kinds == CATEGORICAL)

    @cached_property
    def numeric(self) -> Any:
        """Index of the others: a slice where there is nothing but those."""
        return np.flatnonzero(self.kinds != CATEGORICAL) if len(self.categorical) else slice(None)

    @property
    def n_atoms(self) -> int:
        """Number of atoms of all features."""
        if len(self.categorical) == 0:
            return self.n_features
        rows = self.place[self.categorical]
        levels = self.code_atoms[rows + 1] - self.code_atoms[rows]
        return int(levels.sum()) + self.n_features - len(rows)

    @property
    def atoms(self) -> IntArray:
        """The one-hot block of feature f is ``atoms[f]:atoms[f + 1]``."""
        sizes = np.ones(self.n_features, np.int64)
        rows = self.place[self.categorical]
        sizes[self.categorical] = self.code_atoms[rows + 1] - self.code_atoms[rows]
        return np.concatenate([[0], np.cumsum(sizes)])

    def _with(self, **changes: Any) -> "DenseSource":
        other = object.__new__(DenseSource)
        other.__dict__.update(self.__dict__)
        for cached in ("categorical", "numeric"):
            other.__dict__.pop(cached, None)
        other.__dict__.update(changes)
        return other

    def view(self, features: IntArray) -> "DenseSource":
        """Return only these features, in this order; the matrices are shared."""
        part = self._with(
            n_features=len(features), kinds=self.kinds[features], place=self.place[features]
        )
        if len(self.categorical) == 0:  # nothing to look for in every round of an elimination
            part.__dict__["categorical"] = self.categorical
        return part

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> "DenseSource":
        """Return only these rows, copied in the layout of the table, without lost levels."""
        matrix = self.values.T if self.feature_major else self.values
        selected = np.take(matrix, rows, axis=1 if self.feature_major else 0)
        codes, n_levels = _drop_empty_levels(self.codes[:, rows])
        whole = DenseSource(
            selected.T if self.feature_major else selected,
            codes,
            self._storage_kinds(),
            n_levels,
            n_jobs,
        )
        return whole._with(n_features=self.n_features, kinds=self.kinds, place=self.place.copy())

    def _storage_kinds(self) -> ByteArray:
        """Return the kinds of a table of all the numbers and then all the codes."""
        kinds = np.full(self.values.shape[1] + len(self.codes), CONTINUOUS)
        kinds[self.values.shape[1] :] = CATEGORICAL
        return kinds

    def scaled(self, center: FloatArray, scale: FloatArray) -> "DenseSource":
        """Return the columns centred and scaled when read; the matrices are shared."""
        if len(self.categorical) == 0 and self._whole():
            return self._with(center=center, scale=scale)
        columns, rows = self.place[self.numeric], self.place[self.categorical]
        atoms = self.atoms
        wide_center, wide_scale = self.center.copy(), self.scale.copy()
        wide_center[columns] = center[atoms[:-1][self.numeric]]
        wide_scale[columns] = scale[self.numeric]
        code_center, code_scale = self.code_center.copy(), self.code_scale.copy()
        code_scale[rows] = scale[self.categorical]
        for f, row in zip(self.categorical, rows, strict=True):
            low, high = self.code_atoms[row], self.code_atoms[row + 1]
            code_center[low:high] = center[atoms[f] : atoms[f + 1]]
        return self._with(
            center=wide_center, scale=wide_scale, code_center=code_center, code_scale=code_scale
        )

    def weighted(self, factor: FloatArray) -> "DenseSource":
        """Return the columns, each feature multiplied by its factor; the matrices are shared."""
        scale, code_scale = self.scale.copy(), self.code_scale
        scale[self.place[self.numeric]] *= factor[self.numeric]
        if len(self.categorical):
            code_scale = code_scale.copy()
            code_scale[self.place[self.categorical]] *= factor[self.categorical]
        return self._with(scale=scale, code_scale=code_scale)

    def compact(self) -> "DenseSource":
        """Return the numbers of this view alone, feature-major by a copy; codes are so already."""
        if self.feature_major:
            return self
        columns = self.place[self.numeric]
        numbers = np.empty((len(columns), self.n_rows), self.values.dtype)

        def copy_block(block: tuple[int, int]) -> None:
            low, high = block
            numbers[low:high] = self.values[:, columns[low:high]].T

        run_blocks(copy_block, split(len(columns), 256), self.n_jobs)
        positions = self.place.copy()
        positions[self.numeric] = np.arange(len(columns))
        return self._with(
            _by_rows=False,
            values=numbers.T,
            place=positions,
            center=self.center[columns],
            scale=self.scale[columns],
        )

    def _whole(self) -> bool:
        """Return whether every column of the numbers is here, in the order in which it lies."""
        columns = self.place[self.numeric]
        width = self.values.shape[1]
        return len(columns) == width and (width < 2 or bool((np.diff(columns) == 1).all()))

    def load(self, features: IntArray) -> FloatArray:
        """Load the atoms of some features, centred and scaled, feature-major."""
        part = self.view(features)
        columns = part.place[part.numeric]
        numbers = np.empty((len(columns), self.n_rows))
        if self.feature_major:
            linear.tile_columns(self.values.T, columns, self.center, self.scale, numbers)
        else:
            linear.tile_rows(self.values, columns, self.center, self.scale, numbers)
        if len(part.categorical) == 0:
            return numbers
        atoms = part.atoms
        out = np.empty((atoms[-1], self.n_rows))
        out[atoms[:-1][part.numeric]] = numbers
        for f, row in zip(part.categorical, part.place[part.categorical], strict=True):
            linear.tile_codes(
                self.codes, row, self.code_atoms, self.code_center, self.code_scale,
                out[atoms[f] : atoms[f + 1]],
            )  # fmt: skip
        return out

    # ---- sums over rows ---------------------------------------------------------------------
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments by one pass over the numbers; categorical features have count 0."""
        if groups is None:
            groups = np.zeros(self.n_rows, np.int64)
        rows = [np.flatnonzero(groups == g) for g in range(n_groups)]
        sizes = np.array([len(members) for members in rows], dtype=np.float64)
        width = self.values.shape[1]
        mean, m2 = np.zeros((n_groups, width)), np.zeros((n_groups, width))

        exact = self.values.itemsize == 1  # whole numbers, whose sums are
        inside = np.array([groups == g for g in range(n_groups)])
        member = inside * np.uint8(255) if exact else inside.astype(np.float64)
        raw = self.values.view(np.uint8) if exact else self.values
        flip = np.uint8(128 if self.values.dtype.kind == "i" else 0)

        def compute_block(block: tuple[int, int]) -> list[tuple[IntArray, FloatArray]]:
            low, high = block
            for g, members in enumerate(rows):
                if len(members) == 0:
                    continue
                target = (low, high, mean[g], m2[g])
                if exact and self.feature_major:
                    first, count = members[0], len(members)
                    moments.moments_byte_columns(raw.T, flip, member[g], first, count, *target)
                elif exact:
                    moments.moments_byte_rows(self.values, members, *target)
                elif self.feature_major:
                    moments.moments_columns(
                        self.values.T, member[g], len(members), low, high, mean[g], m2[g]
                    )
                else:
                    moments.moments_rows(self.values, members, low, high, mean[g], m2[g])
            odd = low + np.flatnonzero(~np.isfinite(m2[:, low:high]).all(axis=0))
            return [
                self._redo_with_missing(odd[a:b], rows, mean, m2)
                for a, b in split(len(odd), MASKED_BLOCK)
            ]

        size = COLUMN_BLOCK if self.feature_major else ROW_BLOCK
        incomplete_by_block = run_blocks(compute_block, split(width, size), self.n_jobs)
        count = np.broadcast_to(sizes[:, None], (n_groups, width))
        incomplete = [pair for pairs in incomplete_by_block for pair in pairs]
        if incomplete:
            count = count.copy()
            for columns, counts in incomplete:
                count[:, columns] = counts
        return self._select_features(Moments(count, mean, m2))

    def _redo_with_missing(
        self, columns: IntArray, rows: list[IntArray], mean: FloatArray, m2: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Redo `columns`, which are not finite, leaving out missing values."""
        block = np.ascontiguousarray(self.values[:, columns])
        counts = np.zeros((len(rows), len(columns)))
        for g, members in enumerate(rows):
            group_mean, group_m2 = np.empty(len(columns)), np.empty(len(columns))
            moments.moments_masked(block, members, counts[g], group_mean, group_m2)
            mean[g, columns], m2[g, columns] = group_mean, group_m2
        return columns, counts

    def _select_features(self, by_column: Moments) -> Moments:
        if len(self.categorical) == 0 and self._whole():
            return by_column
        columns = self.place[self.numeric]
        out = [np.zeros((len(by_column.mean), self.n_features)) for _ in range(3)]
        for target, source in zip(
            out, (by_column.count, by_column.mean, by_column.m2), strict=True
        ):
            target[:, self.numeric] = source[:, columns]
        return Moments(*out)

    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments with those of h by one pass; categorical features have count 0."""
        width, total = self.values.shape[1], float(h.sum())
        out = Comoments.zeros(width)
        out.count[:], out.mean_h[:] = self.n_rows, total / self.n_rows
        out.m2_h[:] = (h * h).sum() - total * total / self.n_rows
        complete = (out.mean, out.m2, out.product)

        def compute_block(block: tuple[int, int]) -> None:
            if self.feature_major:
                comoments.comoments_columns(self.values.T, h, total, *block, *complete)
            else:
                comoments.comoments_rows(self.values, h, total, *block, *complete)
            odd = block[0] + np.flatnonzero(~np.isfinite(out.m2[slice(*block)]))
            for a, b in split(len(odd), MASKED_BLOCK):
                columns = odd[a:b]
                parts = [np.empty(b - a) for _ in range(6)]
                tile = np.ascontiguousarray(self.values[:, columns].T)
                comoments.comoments_masked(tile, h, *parts)
                for target, part in zip(out.parts(), parts, strict=True):
                    target[columns] = part

        size = COLUMN_BLOCK if self.feature_major else ROW_BLOCK
        run_blocks(compute_block, split(width, size), self.n_jobs)
        if len(self.categorical) == 0 and self._whole():
            return out
        whole = Comoments.zeros(self.n_features)
        for target, part in zip(whole.parts(), out.parts(), strict=True):
            target[self.numeric] = part[self.place[self.numeric]]
        return whole

    def level_counts(self) -> FloatArray:
        """Rows at each level of categorical features; 0 at the atoms of others."""
        atoms = self.atoms
        counts = np.zeros(atoms[-1])
        for f, row in zip(self.categorical, self.place[self.categorical], strict=True):
            low, high = atoms[f], atoms[f + 1]
            counts[low:high] = np.bincount(self.codes[row], minlength=high - low + 1)[1:]
        return counts

    # ---- sums over columns ------------------------------------------------------------------
    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature: one pass over the values."""
        if len(self.categorical) == 0:
            return self._number_forms(v)
        out = np.empty(self.n_features)
        out[self.numeric] = self._number_forms(v)
        out[self.categorical] = self._code_forms(v)
        return out

    def _number_forms(self, v: FloatArray) -> FloatArray:
        columns = self.place[self.numeric]
        width = self.values.shape[1]
        if self.feature_major:
            forms = np.empty(len(columns))

            def compute_block(block: tuple[int, int]) -> None:
                linear.forms_columns(
                    self.values.T, columns, v, self.center, self.scale, *block, forms
                )

            run_blocks(compute_block, split(len(columns), COLUMN_BLOCK), self.n_jobs)
            return forms
        # a row is read as it lies, columns outside the view included: that streams, a gather
        # does not; a view of few columns is better compacted first
        rows = np.flatnonzero(v)
        wide = np.empty(width)

        def compute_wide_block(block: tuple[int, int]) -> None:
            linear.forms_rows(self.values, rows, v[rows], self.center, self.scale, *block, wide)

        run_blocks(compute_wide_block, split(width, ROW_BLOCK), self.n_jobs)
        return wide if self._whole() else wide[columns]

    def _code_forms(self, v: FloatArray) -> FloatArray:
        rows = self.place[self.categorical]
        forms = np.empty(len(rows))

        def compute_block(block: tuple[int, int]) -> None:
            linear.forms_codes(
                self.codes, rows, v, self.code_atoms, self.code_center, self.code_scale,
                *block, forms,
            )  # fmt: skip

        run_blocks(compute_block, split(len(rows), COLUMN_BLOCK), self.n_jobs)
        return forms


def _drop_empty_levels(codes: AnyArray) -> tuple[AnyArray, IntArray]:
    """Return codes without the levels that do not occur, and how many levels are left."""
    new_codes, sizes = codes.copy(), np.zeros(len(codes), np.int64)
    for row, column in enumerate(codes):
        occurs = np.bincount(column) > 0
        occurs[0] = False
        sizes[row] = occurs.sum()
        if not occurs[1:].all():
            new_codes[row] = np.where(occurs, np.cumsum(occurs), 0)[column]
    return new_codes, sizes
