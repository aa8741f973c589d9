"""A table and a target, read and checked: the input of every method's computation."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.basics.kinds import CATEGORICAL, KINDS
from featly.basics.resources import Resources, format_bytes
from featly.basics.typing import AnyArray
from featly.core.counts.codes import Codes, DenseCodes, SparseCodes
from featly.core.counts.discretise import CutRule, cut_codes, cut_sparse, learn_cuts
from featly.core.counts.streamed_codes import InfiniteError, StreamedCodes
from featly.core.counts.whole_numbers import NotWholeError, TooManyLevelsError, whole_codes
from featly.core.greedy.cache import cache_key
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import CSCSource, DenseSource, Moments, Source, StreamedSource
from featly.registry import methods_that, suggested
from featly.table.frames import is_missing, values_of
from featly.table.schema import Columns

__all__ = ["Problem", "read_target", "row_prices"]


@dataclass(frozen=True)
class Problem:
    """A table and a target, read and checked: the input of a method's computation.

    Attributes
    ----------
    source : Source
    columns : Columns
        Names, kinds and the rest of the schema, an entry for every column.
    y : int64 array
        Class of every row, as a position in `classes`.
    classes : array
        The labels, sorted.
    rows : int64 array or None
        Positions of the rows in the user's table, if they are only some of it.
    resources : Resources
        The device and the memory that may be used.
    on_device : bool
        Whether to compute on a GPU; see :mod:`featly.problem.place`.
    stored : StoredTable or None
        The table on disk that was read, whether it is in memory or not.
    """

    source: Source
    columns: Columns
    y: np.ndarray
    classes: np.ndarray
    rows: np.ndarray | None = None
    resources: Resources = field(default_factory=Resources)
    on_device: bool = False
    stored: Any = None

    def pair(self, first: int, second: int, n_jobs: int | None = None) -> "Problem":
        """Return the problem of two classes, by positions in `classes`; their rows are copied."""
        rows = np.flatnonzero((self.y == first) | (self.y == second))
        y = (self.y[rows] == second).astype(np.int64)
        source, classes = self.source.take_rows(rows, n_jobs), self.classes[[first, second]]
        return replace(self, source=source, y=y, classes=classes, rows=self._original_rows(rows))

    def against_rest(self, position: int, n_jobs: int | None = None) -> "Problem":
        """Return the problem of one class (True) against others (False); the table is shared."""
        y, source = (self.y == position).astype(np.int64), self.source.with_jobs(n_jobs)
        return replace(self, source=source, y=y, classes=np.array([False, True]))

    def _original_rows(self, rows: np.ndarray) -> np.ndarray:
        return rows if self.rows is None else self.rows[rows]

    def row(self, position: int) -> int:
        """Return the position of a row in the user's table."""
        return int(position if self.rows is None else self.rows[position])

    @cached_property
    def fingerprint(self) -> str:
        """Key of the values, kinds and levels of the table."""
        source, kinds_and_levels = self.source, (self.columns.kinds, self.columns.levels)
        if self.stored is not None:  # the same whether it is in memory or not
            return cache_key(
                self.stored.fingerprint(), self.rows, self._dtype.str, *kinds_and_levels
            )
        if isinstance(source, StreamedSource):
            return cache_key(
                source.each(lambda part, places: cache_key(part.values, part.codes)),
                *kinds_and_levels,
            )
        if isinstance(source, CSCSource):
            matrix = source.matrix
            return cache_key(
                matrix.shape, matrix.data, matrix.indices, matrix.indptr, *kinds_and_levels
            )
        assert isinstance(source, DenseSource)
        rows = source.values.T if source.feature_major else source.values
        row_keys = run_blocks(
            lambda block: cache_key(rows[slice(*block)]),
            split(len(rows), -(-len(rows) // 64)),
            None,
        )
        return cache_key(
            source.values.shape, source.feature_major, row_keys, source.codes, *kinds_and_levels
        )

    @property
    def _dtype(self) -> np.dtype[Any]:
        """Dtype of the numbers."""
        source: Any = self.source
        dtype = source.store.dtype if isinstance(source, StreamedSource) else source.values.dtype
        return np.dtype(dtype)

    @property
    def lies_on_device(self) -> bool:
        """Return whether the table is an array on a GPU."""
        # imported already if the source is on a GPU
        cuda = sys.modules.get("featly.core.sources.source_cuda")
        return cuda is not None and isinstance(self.source, cuda.CudaSource)

    def on_host(self, *, integers: bool) -> "Problem":
        """Return the same problem for the CPU: a table on a GPU is copied, or comes by blocks."""
        if not self.lies_on_device:
            return self
        from featly.core.sources.fetch_cuda import fetch_to_host

        source: Any = self.source
        host_source = fetch_to_host(source, self.resources.memory_budget, integers=integers)
        return replace(self, source=host_source, on_device=False)

    def in_memory(self, method: str) -> "Problem":
        """Return the same problem in memory, or raise DataError if it exceeds the memory budget."""
        source = self.source.in_memory()
        if isinstance(source, StreamedSource):
            limited = self.resources.memory is not None
            remedy = "Give a larger memory_limit, or" if limited else "Take"
            raise DataError(
                f"X takes {format_bytes(source.nbytes)} in memory, and may take half of "
                f"{format_bytes(self.resources.memory_budget)}: {method} needs it whole. {remedy} "
                f"a method that reads columns by blocks: {suggested(methods_that(streams=True))}"
            )
        return replace(self, source=source)

    def moments(
        self, *, by_class: bool = False, complete_for: str | None = None, instead: str = ""
    ) -> Moments:
        """Return moments of the columns; infinite values are an error that names them.

        With `complete_for`, the name of a method that needs complete columns, so are missing ones;
        `instead` is a variant of it that does not.
        """
        moments = (
            self.source.moments(self.y, len(self.classes)) if by_class else self.source.moments()
        )
        is_infinite = ~np.isfinite(moments.m2).all(axis=0)
        if is_infinite.any():
            raise self._infinite_error(int(np.flatnonzero(is_infinite)[0]))
        if complete_for is not None:
            self._require_complete(moments, complete_for, instead)
        return moments

    def prior(self, method: str, most: float = np.inf) -> np.ndarray | None:
        """Return the prior of every column, divided by the smallest one.

        None where the schema favours no column over another, so that such a prior changes no bit.
        A prior above `most` is an error: `method` cannot tell columns apart beside it.
        """
        prior = self.columns.prior
        if prior is None or prior.max() == prior.min():
            return None
        relative: AnyArray = prior / prior.min()
        if relative.max() > most:
            j = int(relative.argmax())
            raise SchemaError(
                f"prior of {self.columns.names[j]!r} is {prior[j]:g}, {relative[j]:g} times that "
                f"of other columns: {method} takes up to {most:g}, beyond which all others are "
                "lost in rounding. Give less, or `keep` the column to have it for certain"
            )
        return relative

    def coded(self, rule: CutRule | None, n_jobs: int | None = None) -> Codes:
        """Return the columns as codes: numbers cut by a rule, or levels as they stand."""
        if self.lies_on_device:
            return self.on_host(integers=True).coded(rule, n_jobs)
        if isinstance(self.source, StreamedSource):
            classes = (self.y, len(self.classes))
            return StreamedCodes(self.source, rule, *classes, self.column_error, n_jobs)
        if rule is None:
            with self.naming_columns():
                return whole_codes(self.source, n_jobs)
        self._refuse_infinite(n_jobs)
        cuts = learn_cuts(self.source, self.y, len(self.classes), rule, n_jobs)
        if isinstance(self.source, CSCSource):
            data, zero, n_levels = cut_sparse(self.source, cuts)
            matrix = self.source.matrix[:, self.source.columns]
            return SparseCodes(matrix, data, zero, n_levels, n_jobs)
        assert isinstance(self.source, DenseSource)
        return DenseCodes(*cut_codes(self.source, cuts, n_jobs), n_jobs)

    @contextmanager
    def naming_columns(self) -> Iterator[None]:
        """Turn errors about columns that cannot be coded into errors that name the column."""
        try:
            yield
        except (NotWholeError, TooManyLevelsError) as error:
            raise self.column_error(error) from None

    def column_error(self, error: Any) -> Exception:
        """Return the error about a column that cannot be coded, with its name."""
        name = self.columns.names[error.feature]
        if isinstance(error, TooManyLevelsError):
            return DataError(
                f"column {name!r} has {error.count} different values, more than the 65534 levels "
                "that can be counted: is it an identifier? Leave it out, or give a discretizer"
            )
        if isinstance(error, InfiniteError) or np.isinf(error.value):
            return self._infinite_error(error.feature)
        return DataError(
            f"column {name!r} is continuous (row {self.row(error.row)}: {error.value:g}): with "
            "discretizer=None numbers are levels as they stand, and must be whole. Give "
            "discretizer='mdlp', 'pkid', 'equal-frequency' or 'equal-width', or declare the "
            "column categorical"
        )

    def _refuse_infinite(self, n_jobs: int | None) -> None:
        if isinstance(self.source, CSCSource):
            data, size = self.source.matrix.data, 1 << 20
        else:
            assert isinstance(self.source, DenseSource)
            values = self.source.values
            if values.dtype.kind in "iu":
                return
            data, size = values.ravel(order="K"), 1 << 20  # a view, in the order of the memory
        blocks = [(low, low + size) for low in range(0, len(data), size)]
        if any(run_blocks(lambda b: bool(np.isinf(data[slice(*b)]).any()), blocks, n_jobs)):
            for feature in np.flatnonzero(self.source.kinds != CATEGORICAL).tolist():
                if np.isinf(self._column(feature)).any():
                    raise self._infinite_error(feature)

    def _column(self, feature: int) -> np.ndarray:
        values: AnyArray = self.source.load(np.array([feature]))[0]
        return values

    def _infinite_error(self, feature: int) -> DataError:
        values, name = self._column(feature), self.columns.names[feature]
        rows = np.flatnonzero(np.isinf(values))
        if len(rows):
            return DataError(
                f"column {name!r} has an infinite value (inf) in row {self.row(rows[0])}: correct "
                "it, or make it missing"
            )
        return DataError(
            f"column {name!r} has values as large as {np.nanmax(np.abs(values)):.3g}, whose "
            "squares overflow: divide the column by a large number"
        )

    def _require_complete(self, moments: Moments, method: str, instead: str) -> None:
        incomplete = moments.count.sum(axis=0) < self.source.n_rows
        categorical = np.flatnonzero(self.source.kinds == CATEGORICAL)
        if len(categorical):
            counts = np.add.reduceat(self.source.level_counts(), self.source.atoms[:-1])
            incomplete[categorical] = counts[categorical] < self.source.n_rows
        if not incomplete.any():
            return
        feature = int(np.flatnonzero(incomplete)[0])
        if self.source.kinds[feature] == CATEGORICAL:
            row = np.flatnonzero((self.source.load(np.array([feature])) == 0).all(axis=0))[0]
        else:
            row = np.flatnonzero(np.isnan(self._column(feature)))[0]
        n_others = int(incomplete.sum()) - 1
        also = f", and {n_others} other column{'s' * (n_others > 1)}" if n_others else ""
        kinds = [kind for code, kind in enumerate(KINDS) if (self.columns.kinds == code).any()]
        names_by_kind = [set(methods_that(missing=True, kind=kind)) for kind in kinds]
        names = suggested(sorted(set.intersection(*names_by_kind)))
        alternatives = ", ".join(name for name in (instead, names) if name)
        advice = (
            f", or use a method that takes missing values: {alternatives}" if alternatives else ""
        )
        raise DataError(
            f"column {self.columns.names[feature]!r} has a missing value (NaN) in row "
            f"{self.row(row)}{also}: {method} needs complete columns. Fill them in or leave them "
            f"out{advice}"
        )


def read_target(
    y: Any, n_rows: int, method: str, *, many_classes: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of every row as a number, and the labels.

    Raise DataError for a target that is not one of at least two classes.
    """
    if y is None:
        raise ParameterError(
            f"{method} requires y to be passed, but the target y is None: give the class of every "
            "row"
        )
    y = values_of(y)
    if (
        isinstance(y, list | tuple)
        and len({isinstance(v, str) for v in y if not is_missing(v)}) > 1
    ):
        y = np.array(y, dtype=object)  # NumPy would turn the numbers into text
    y = column_or_1d(np.asarray(y), warn=True)
    if len(y) != n_rows:
        raise DataError(
            f"X has {n_rows} rows but y has {len(y)} entries: they must go together "
            "(inconsistent numbers of samples)"
        )
    missing = (
        np.isnan(y)
        if y.dtype.kind == "f"
        else np.array([is_missing(v) for v in y], bool)
        if y.dtype.kind == "O"
        else np.zeros(len(y), bool)
    )
    if missing.any():
        raise DataError(
            f"y is missing (NaN) in row {np.flatnonzero(missing)[0]}: leave out rows without "
            "a class"
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise DataError(f"y is infinite (inf) in row {np.flatnonzero(np.isinf(y))[0]}")
    if y.dtype.kind == "O" and all(isinstance(v, float) for v in y):
        y = y.astype(np.float64)
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        example = y[np.flatnonzero(y != np.floor(y))[0]]
        raise DataError(
            f"y holds real numbers such as {example!s} (Unknown label type: continuous): "
            f"{method} is for classes; cut y into classes first"
        )
    try:
        classes, labels = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError(
            "y mixes types that cannot be compared: make all labels text, or all numbers"
        ) from None
    if len(classes) < 2:
        raise DataError(
            f"y has one class only ({classes.tolist()[0]!r}): at least two classes are needed"
            if len(classes)
            else "y is empty"
        )
    if len(classes) > 2 and not many_classes:
        raise DataError(
            f"y has {len(classes)} classes, {method} ranks for two. Only binary classification "
            f"is supported here: take one list from all pairs of classes with "
            f"PairwiseRanker({method}()), use a method for many classes, such as "
            f"{suggested(methods_that(many_classes=True))}, or select the rows of two classes"
        )
    return labels.astype(np.int64), classes


def row_prices(C: Any, class_weight: Any, codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return C of every row of a machine with prices by class, or raise ParameterError.

    Parameters
    ----------
    C : float
    class_weight : dict, "balanced" or None
    codes : int array
        Class of every row, as a position in `classes`.
    classes : array

    Examples
    --------
    >>> import numpy as np
    >>> from featly.problem.problem import row_prices
    >>> row_prices(2, {"a": 3}, np.array([0, 0, 1]), np.array(["a", "b"]))
    array([6., 6., 2.])
    """
    is_number = isinstance(C, int | float | np.integer | np.floating)
    if isinstance(C, bool) or not is_number or not 0 < C < np.inf:
        raise ParameterError(f"C={C!r}: give a positive finite number")
    if class_weight is None:
        return np.full(len(codes), float(C))
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ParameterError(
                f"class_weight names {unknown[0]!r}, which is no class; the classes are "
                f"{classes.tolist()}"
            )
    elif class_weight != "balanced":
        raise ParameterError(f"class_weight={class_weight!r}: give a dict, 'balanced' or None")
    by_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    if not (np.isfinite(by_class).all() and (by_class > 0).all()):
        raise ParameterError(f"class_weight={class_weight!r}: weights must be positive")
    prices: AnyArray = float(C) * by_class[codes]
    return prices
