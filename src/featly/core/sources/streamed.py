"""Columns on disk, read in blocks: the next one is read while one is computed on.

A block is a :class:`~featly.core.sources.dense.DenseSource` in memory, and no result depends on
where a block ends, so a streamed table gives the same bits as one in memory.
"""

import copy
import errno
import os
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar, Protocol

import numpy as np

from featly.basics.errors import DataError, Parameter, Text
from featly.basics.kinds import CATEGORICAL
from featly.basics.resources import format_bytes
from featly.basics.typing import AnyArray, ByteArray, FloatArray, IntArray
from featly.core.runtime.parallel import POOL, n_threads, run_blocks
from featly.core.runtime.question import DISK
from featly.core.sources.base import Comoments, Moments, Source
from featly.core.sources.dense import DenseSource

__all__ = ["ColumnStore", "MappedStore", "StreamedSource"]

WINDOW_SHARE = 4  # blocks that are held take this fraction of the memory ...
HELD_SHARE = 2  # ... and a copy of what is left of a table up to this one
BLOCK_BYTES = 1 << 25  # a block needs no more to be read and computed on at full speed
ALIGNED = 512  # columns: blocks end where the tiles of every computation end
FEW = 16  # single columns of a block are read alone where they are fewer than one in so many

Piece = tuple[int, Any, IntArray]  # block, where its columns stand in a view, and in the block


class ColumnStore(Protocol):
    """A table on disk, as a streamed source reads it."""

    n_rows: int
    kinds: ByteArray
    dtype: np.dtype[Any]  # of the numbers, the same in every block
    feature_major: bool

    def read(self, low: int, high: int) -> DenseSource:
        """Columns ``low:high``, in memory; the layout is that of `feature_major`."""

    def take(self, features: IntArray) -> DenseSource:
        """Some columns."""

    def check(self) -> None:
        """Raise DataError where the file is not what it was."""

    # a store of genotypes has `levels(low, high)`, too: codes and how many levels there are


class MappedStore:
    """A store whose blocks go through a function of single columns, such as ranks of values."""

    feature_major: bool
    dtype: np.dtype[Any]
    kinds: ByteArray
    n_rows: int
    store: ColumnStore
    function: Callable[[DenseSource], DenseSource]

    def __init__(
        self,
        store: ColumnStore,
        function: Callable[[DenseSource], DenseSource],
        n_rows: int,
        dtype: np.dtype[Any],
        *,
        feature_major: bool,
    ) -> None:
        self.store, self.function = store, function
        self.n_rows, self.kinds = n_rows, store.kinds
        self.dtype, self.feature_major = dtype, feature_major

    def read(self, low: int, high: int) -> DenseSource:
        """See :class:`ColumnStore`."""
        return self.function(self.store.read(low, high))

    def take(self, features: IntArray) -> DenseSource:
        """See :class:`ColumnStore`."""
        return self.function(self.store.take(features))

    def check(self) -> None:
        """See :class:`ColumnStore`."""
        self.store.check()


class TemporaryStore:
    """Columns of another store in a file without a name, after a slow function of each.

    The file is gone with the store. A store of numbers only.
    """

    dtype: np.dtype[Any]
    kinds: ByteArray
    n_rows: int

    def __init__(self, store: MappedStore, source: "StreamedSource") -> None:
        self.n_rows, self.kinds, self.dtype = store.n_rows, store.kinds, store.dtype
        self.feature_major = True
        self._column = self.n_rows * self.dtype.itemsize
        self._file = tempfile.TemporaryFile(prefix="featly-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)

        def write_block(part: DenseSource, places: Any) -> None:
            columns = np.ascontiguousarray(part.values.T, self.dtype)
            write_at(self._file.fileno(), columns, places.start * self._column)

        source.each(write_block)

    def read(self, low: int, high: int) -> DenseSource:
        """See :class:`ColumnStore`."""
        values = np.empty((high - low, self.n_rows), self.dtype)
        view, done = values.reshape(-1).view(np.uint8).data, 0
        while done < len(view):
            offset = low * self._column + done
            n_read = os.preadv(self._file.fileno(), [view[done:]], offset)
            if n_read == 0:
                raise DataError(
                    "a temporary file of featly became shorter while it was read: start again"
                )
            done += n_read
        return DenseSource(values.T)

    def take(self, features: IntArray) -> DenseSource:
        """See :class:`ColumnStore`."""
        columns = [self.read(f, f + 1).values[:, 0] for f in features.tolist()]
        return DenseSource(np.array(columns, self.dtype).reshape(len(features), self.n_rows).T)

    def check(self) -> None:
        """See :class:`ColumnStore`."""


def write_at(descriptor: int, values: AnyArray, offset: int) -> None:
    """Write an array at an offset of a file; an OSError says if the disk is full."""
    view, done = values.reshape(-1).view(np.uint8).data, 0
    try:
        while done < len(view):
            done += os.pwrite(descriptor, view[done:], offset + done)
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(
            problem.errno,
            Text(
                f"no space is left in {tempfile.gettempdir()!r} for {format_bytes(len(view))} of "
                "columns: free some, set TMPDIR to a larger disk, or give a larger ",
                Parameter("memory_limit"),
            ),
        ) from None


class StreamedSource(Source):
    """Columns of a store that is larger than the memory it may take.

    Parameters
    ----------
    store : ColumnStore
    memory : int
        Bytes that blocks and copies of columns may take.
    n_jobs : int, optional

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> from featly.core.sources.streamed import StreamedSource
    >>> class InMemory:  # a store for show
    ...     n_rows, dtype, feature_major = 3, np.dtype(float), False
    ...     kinds = np.zeros(2, np.uint8)
    ...     values = np.array([[0.0, 4.0], [1.0, 5.0], [2.0, 9.0]])
    ...     def read(self, low, high):
    ...         return DenseSource(np.ascontiguousarray(self.values[:, low:high]))
    ...     def take(self, features):
    ...         return DenseSource(np.ascontiguousarray(self.values[:, features]))
    ...     def check(self): ...
    >>> StreamedSource(InMemory(), 1 << 20).moments().mean.tolist()
    [[1.0, 6.0]]
    """

    n_features: int
    n_rows: int
    n_jobs: int | None
    memory: int
    store: ColumnStore
    lies: ClassVar[str] = DISK

    def __init__(self, store: ColumnStore, memory: int, n_jobs: int | None = None) -> None:
        self.store, self.memory, self.n_jobs = store, memory, n_jobs
        self.n_rows, self.n_features = store.n_rows, len(store.kinds)
        self.kinds: ByteArray = store.kinds
        self.feature_major: bool = store.feature_major
        self.columns: IntArray = np.arange(self.n_features)
        self._whole = True
        self._fills_missing = False
        self._center: FloatArray | None = None
        self._scale: FloatArray | None = None
        # rows at each level, by categorical column; the list is shared by all views of the store
        self._level_counts: list[list[FloatArray]] = []
        self._window = _Window(store, self._width(), 2 * n_threads(n_jobs) + 1)

    def _width(self) -> int:
        """Return the columns of a block."""
        blocks = 2 * n_threads(self.n_jobs) + 1
        block_bytes = min(BLOCK_BYTES, self.memory // WINDOW_SHARE // blocks)
        width = block_bytes // max(1, self.n_rows * self.store.dtype.itemsize)
        return max(1, width // ALIGNED * ALIGNED if width >= ALIGNED else width)

    # ---- the storage ------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers in memory."""
        return np.dtype(self.store.dtype)

    def keys(self, make_key: Callable[..., str]) -> tuple[Any, ...]:
        """Return the keys of all blocks."""
        return (self.each(lambda part, places: make_key(part.values, part.codes)),)

    def level_codes(self, features: IntArray) -> AnyArray:
        """Return the codes of categorical features, which are loaded for good."""
        codes = self.view(features).copy_to_memory()
        return codes.level_codes(np.arange(len(features)))

    @property
    def nbytes(self) -> int:
        """Bytes of the columns of this view in memory."""
        return self.n_features * self.n_rows * self.store.dtype.itemsize

    @property
    def n_atoms(self) -> int:
        """Number of atoms of all features."""
        return int(self.atoms[-1]) if (self.kinds == CATEGORICAL).any() else self.n_features

    @property
    def atoms(self) -> IntArray:
        """The one-hot block of feature f is ``atoms[f]:atoms[f + 1]``."""
        if not (self.kinds == CATEGORICAL).any():
            return np.arange(self.n_features + 1)
        sizes = np.diff(self._store_atoms())[self.columns]
        return np.concatenate([[0], np.cumsum(sizes)])

    def _with(self, **changes: Any) -> "StreamedSource":
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    def view(self, features: IntArray) -> "StreamedSource":
        """Return only these features, in this order; nothing is read."""
        columns = self.columns[features]
        whole = len(columns) == len(self.store.kinds) and bool((np.diff(columns) == 1).all())
        return self._with(
            n_features=len(columns), kinds=self.kinds[features], columns=columns, _whole=whole
        )

    def take_rows(self, rows: IntArray, n_jobs: int | None = None) -> Source:
        """Return only these rows: taken as blocks are read, or at once where memory allows."""
        part = self.map_blocks(
            lambda part: part.take_rows(rows), self.store.dtype, n_rows=len(rows)
        )
        part.n_jobs = n_jobs
        return part.in_memory()

    def map_blocks(
        self,
        function: Callable[[DenseSource], Any],
        dtype: np.dtype[Any],
        *,
        n_rows: int | None = None,
        feature_major: bool | None = None,
        once: bool = False,
    ) -> "StreamedSource":
        """Return the columns of this view after a function of each, applied to a block at a time.

        With `once`, the outcome is written to a temporary file: for what takes longer than reading.
        """
        is_feature_major = self.store.feature_major if feature_major is None else feature_major
        n_rows = self.n_rows if n_rows is None else n_rows
        store = MappedStore(self.store, function, n_rows, dtype, feature_major=is_feature_major)
        source = StreamedSource(store, self.memory, self.n_jobs)
        if once:
            source = StreamedSource(TemporaryStore(store, source), self.memory, self.n_jobs)
        return source if self._whole else source.view(self.columns)

    def scaled(self, center: FloatArray, scale: FloatArray) -> "StreamedSource":
        """Return the columns centred and scaled when read."""
        if self._whole:
            return self._with(_center=center, _scale=scale)
        start = self._store_atoms()
        wide, factor = np.zeros(start[-1]), np.ones(len(self.store.kinds))
        factor[self.columns] = scale
        sizes = np.diff(start)[self.columns]
        targets = np.repeat(start[self.columns] - (np.cumsum(sizes) - sizes), sizes)
        wide[targets + np.arange(len(targets))] = center
        return self._with(_center=wide, _scale=factor)

    def weighted(self, factor: FloatArray) -> "StreamedSource":
        """Return the columns with every feature multiplied by its factor when read."""
        p = len(self.store.kinds)
        scale = np.ones(p) if self._scale is None else self._scale.copy()
        scale[self.columns] *= factor
        center = np.zeros(self._store_atoms()[-1]) if self._center is None else self._center
        return self._with(_scale=scale, _center=center)

    def fill_with_center(self) -> "StreamedSource":
        """Let missing values count as the centre of their column: standardised, they are 0."""
        return self._with(_fills_missing=True)

    def fits(self) -> bool:
        """Return whether a copy of this view may be held in memory."""
        return self.nbytes <= self.memory // HELD_SHARE

    def copy_to_memory(self, *, clear: bool = True) -> DenseSource:
        """Copy this view into memory, in the layout of the store."""
        joined = _Joined(self.kinds, self.n_rows, self.store)
        for piece in self._pieces():
            joined.add(self._raw(piece), piece[1])
        if clear:  # a copy for good: the blocks are not needed any more
            self._window.clear()
        source = joined.source()
        source.n_jobs = self.n_jobs
        if self._center is None or self._scale is None:
            return source
        return source.scaled(self._center_of(self.columns), self._scale[self.columns])

    def in_memory(self) -> Source:
        """Return this view in memory, if the memory budget allows it."""
        return self.copy_to_memory() if self.fits() else self

    def compact(self) -> Source:
        """Return a feature-major copy where it may be held; else blocks are turned when read."""
        if self.fits():
            return self.copy_to_memory().compact()
        return self._with(feature_major=True)

    def with_block_width(self, width: int) -> "StreamedSource":
        """Return the same columns, read so many at a time."""
        n_blocks = n_threads(self.n_jobs) + 2
        return self._with(_window=_Window(self.store, width, n_blocks))

    def range(self, low: int, high: int) -> DenseSource:
        """Return some columns of this view that follow each other, as they lie in the store."""
        width = self._window.width
        if self._whole and low % width == 0 and high - low == self._window.columns(low // width):
            return self._window.block(low // width)
        return self.take_store_columns(self.columns[low:high])

    def take_store_columns(self, columns: IntArray) -> DenseSource:
        """Load some columns of the store as they lie there."""
        view = self.without_scaling()._with(
            columns=columns, n_features=len(columns), kinds=self.store.kinds[columns], _whole=False
        )
        return view.copy_to_memory(clear=False)

    def levels(self, low: int, high: int) -> tuple[AnyArray, IntArray] | None:
        """Return codes of some columns and their numbers of levels, where the store knows them."""
        known = getattr(self.store, "levels", None)
        return known(low, high) if known is not None and self._whole else None

    def without_scaling(self) -> "StreamedSource":
        """Return the same columns as they lie in the store."""
        return self._with(_center=None, _scale=None, _fills_missing=False)

    # ---- blocks -----------------------------------------------------------------------------
    def _pieces(self) -> list[Piece]:
        """Return the blocks in which this view has columns, and those columns."""
        width, p = self._window.width, len(self.store.kinds)
        if self._whole:
            return [
                (low // width, slice(low, min(low + width, p)), np.arange(min(width, p - low)))
                for low in range(0, p, width)
            ]
        if self.n_features == 0:
            return []
        block = self.columns // width
        order = np.argsort(block, kind="stable")
        numbers, begin = np.unique(block[order], return_index=True)
        ends = np.append(begin[1:], len(order))
        return [
            (int(k), order[a:b], self.columns[order[a:b]] - k * width)
            for k, a, b in zip(numbers, begin, ends, strict=True)
        ]

    def _raw(self, piece: Piece) -> DenseSource:
        """Return the columns of a piece as they lie in the store."""
        number, _, within = piece
        columns = self._window.columns(number)
        if len(within) * FEW < columns and not self._window.has_block(number):
            selected = self.store.take(within + number * self._window.width)
            return selected.with_feature_major(self.store.feature_major)
        block = self._window.block(number)
        return block if len(within) == columns and self._whole else block.view(within)

    def _part(self, piece: Piece) -> DenseSource:
        """Return the columns of a piece as this view shows them."""
        part = self._raw(piece)
        if self.feature_major and not part.feature_major:
            part = part.compact()
        if self._center is not None and self._scale is not None:
            columns = piece[2] + piece[0] * self._window.width
            part = part.scaled(self._center_of(columns), self._scale[columns])
        if self._fills_missing:
            values = np.nan_to_num(part.load(np.arange(part.n_features)))
            part = DenseSource(values.T)
        return part

    def _center_of(self, columns: IntArray) -> FloatArray:
        assert self._center is not None
        if not (self.store.kinds == CATEGORICAL).any():
            return self._center[columns]
        start = self._store_atoms()
        return np.concatenate([self._center[start[f] : start[f + 1]] for f in columns.tolist()])

    def each(self, function: Callable[[DenseSource, Any], Any]) -> list[Any]:
        """Call ``function(part, places)`` for every block, by threads."""
        self.store.check()
        pieces = self._pieces()
        return run_blocks(lambda k: function(self._part(k), k[1]), pieces, self.n_jobs)

    def load(self, features: IntArray) -> FloatArray:
        """Load the atoms of some features, centred and scaled, feature-major."""
        view = self.view(features)
        pieces = view._pieces()
        if len(pieces) == 1:
            _, places, _ = pieces[0]
            part = view._part(pieces[0])
            if isinstance(places, slice) or bool((np.diff(places) == 1).all()):
                return part.load(np.arange(part.n_features))
        atoms = view.atoms
        out = np.empty((int(atoms[-1]), self.n_rows))
        for piece in pieces:
            part = view._part(piece)
            tile, start = part.load(np.arange(part.n_features)), part.atoms
            for k, f in enumerate(np.arange(view.n_features)[piece[1]].tolist()):
                out[atoms[f] : atoms[f + 1]] = tile[start[k] : start[k + 1]]
        return out

    # ---- answers ----------------------------------------------------------------------------
    def moments(self, groups: IntArray | None = None, n_groups: int = 1) -> Moments:
        """Return moments by one pass over the store."""
        out = [np.zeros((n_groups, self.n_features)) for _ in range(3)]

        def fill_columns(part: DenseSource, places: Any) -> None:
            moments = part.moments(groups, n_groups)
            for target, values in zip(out, (moments.count, moments.mean, moments.m2), strict=True):
                target[:, places] = values

        self.without_scaling().each(fill_columns)
        return Moments(*out)

    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments with those of h by one pass over the store."""
        out = Comoments.zeros(self.n_features)

        def fill_columns(part: DenseSource, places: Any) -> None:
            for target, values in zip(out.parts(), part.comoments(h).parts(), strict=True):
                target[places] = values

        self.without_scaling().each(fill_columns)
        return out

    def forms(self, v: FloatArray) -> FloatArray:
        """``v' K_f v`` for every feature: one pass over the store."""
        out = np.empty(self.n_features)

        def fill_columns(part: DenseSource, places: Any) -> None:
            out[places] = part.forms(v)

        self.each(fill_columns)
        return out

    def level_counts(self) -> FloatArray:
        """Return the rows at each level of categorical features; 0 at the atoms of others."""
        atoms = self.atoms
        counts = np.zeros(atoms[-1])
        nominal = np.flatnonzero(self.store.kinds == CATEGORICAL)
        for f in np.flatnonzero(self.kinds == CATEGORICAL).tolist():
            number = int(np.searchsorted(nominal, self.columns[f]))
            counts[atoms[f] : atoms[f + 1]] = self._levels(nominal)[number]
        return counts

    def _store_atoms(self) -> IntArray:
        """Return the first atom of every column of the store."""
        sizes = np.ones(len(self.store.kinds), np.int64)
        nominal = np.flatnonzero(self.store.kinds == CATEGORICAL)
        if len(nominal):
            sizes[nominal] = [len(levels) for levels in self._levels(nominal)]
        return np.concatenate([[0], np.cumsum(sizes)])

    def _levels(self, nominal: IntArray) -> list[FloatArray]:
        if not self._level_counts:
            self._level_counts.append(self._count_levels(nominal))
        return self._level_counts[0]

    def _count_levels(self, nominal: IntArray) -> list[FloatArray]:
        whole = StreamedSource.view(
            self.without_scaling()._with(
                columns=np.arange(len(self.store.kinds)), kinds=self.store.kinds
            ),
            nominal,
        )
        counts_by_column: list[Any] = [None] * len(nominal)

        def note_counts(part: DenseSource, places: Any) -> None:
            counts, atoms = part.level_counts(), part.atoms
            for k, position in enumerate(np.arange(len(nominal))[places].tolist()):
                counts_by_column[position] = counts[atoms[k] : atoms[k + 1]]

        whole.each(note_counts)
        return counts_by_column


class _Window:
    """The blocks in use and the next ones, read by threads of their own."""

    def __init__(self, store: ColumnStore, width: int, n_blocks: int) -> None:
        self.store, self.width, self.n_blocks = store, width, n_blocks
        self.n_columns = len(store.kinds)
        self._lock = threading.Lock()
        self._blocks: OrderedDict[int, Future[DenseSource]] = OrderedDict()
        self._reader: ThreadPoolExecutor | None = None

    def columns(self, number: int) -> int:
        """Return the number of columns of a block."""
        return min(self.width, self.n_columns - number * self.width)

    def has_block(self, number: int) -> bool:
        """Return whether a block is in memory or being read."""
        return number in self._blocks

    def block(self, number: int) -> DenseSource:
        """Return a block; the next one is read meanwhile."""
        with self._lock:
            future = self._get(number)
            if (number + 1) * self.width < self.n_columns:
                self._get(number + 1)
        try:
            return future.result()
        except BaseException:
            with self._lock:
                self._blocks.pop(number, None)
            raise

    def clear(self) -> None:
        """Drop all blocks."""
        with self._lock:
            self._blocks.clear()

    def _get(self, number: int) -> Future[DenseSource]:
        if number in self._blocks:
            self._blocks.move_to_end(number)
            return self._blocks[number]
        if self._reader is None:
            # what a store does to a block must not wait for threads that wait for the block: by
            # their name, these are workers themselves
            self._reader = ThreadPoolExecutor(2, thread_name_prefix=f"{POOL}-reader")
        while len(self._blocks) >= self.n_blocks:
            self._blocks.popitem(last=False)  # not cancelled: another thread may wait for it
        low = number * self.width
        future = self._reader.submit(self._read, low, low + self.columns(number))
        self._blocks[number] = future
        return future

    def _read(self, low: int, high: int) -> DenseSource:
        return self.store.read(low, high).with_feature_major(self.store.feature_major)

    def __deepcopy__(self, memo: Any) -> "_Window":
        return _Window(self.store, self.width, self.n_blocks)

    def __getstate__(self) -> dict[str, Any]:
        return {"store": self.store, "width": self.width, "n_blocks": self.n_blocks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class _Joined:
    """Parts of a table put together, in the order of the view that they are of."""

    def __init__(self, kinds: ByteArray, n_rows: int, store: ColumnStore) -> None:
        self.kinds, self.n_rows, self.feature_major = kinds, n_rows, store.feature_major
        nominal = kinds == CATEGORICAL
        self._number, self._code = np.cumsum(~nominal) - 1, np.cumsum(nominal) - 1
        width, n_codes = int((~nominal).sum()), int(nominal.sum())
        shape = (width, n_rows) if self.feature_major else (n_rows, width)
        self._values: AnyArray = np.empty(shape, store.dtype)
        self._codes: AnyArray = np.zeros((n_codes, n_rows), np.uint8)
        self._sizes = np.zeros(n_codes, np.int64)

    def add(self, part: DenseSource, places: Any) -> None:
        positions = np.arange(len(self.kinds))[places]
        numeric = np.flatnonzero(part.kinds != CATEGORICAL)
        target, source = self._number[positions[numeric]], part.place[numeric]
        if self.feature_major:
            self._values[target] = part.values.T[source]
        else:
            self._values[:, target] = part.values[:, source]
        if len(part.categorical) == 0:
            return
        rows, target = part.place[part.categorical], self._code[positions[part.categorical]]
        if part.codes.itemsize > self._codes.itemsize:
            self._codes = self._codes.astype(part.codes.dtype)
        self._codes[target] = part.codes[rows]
        self._sizes[target] = np.diff(part.code_atoms)[rows]

    def source(self) -> DenseSource:
        values = self._values.T if self.feature_major else self._values
        codes = self._codes if len(self._sizes) else None
        source = DenseSource(values, codes, self.kinds, self._sizes)
        return source.with_feature_major(self.feature_major)
