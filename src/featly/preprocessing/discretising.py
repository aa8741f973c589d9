r"""Base class of the discretisers: reading, checking and output.

Interval j of a column with cut points :math:`t_1 < t_2 < \dots` is :math:`(t_{j-1}, t_j]`; the
subclasses define the cut points. The loops are in :mod:`featly.core.counts.discretise` and
:mod:`featly.core.counts.mdlp`.
"""

from abc import abstractmethod
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from featly.basics.errors import DataError, ParameterError
from featly.basics.estimators import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, KINDS
from featly.basics.params import OneOf, check_parameters
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.coding import cut_columns
from featly.core.counts.discretise import CutRule, Cuts, cut_codes, learn_cuts
from featly.core.counts.streamed_codes import InfiniteError, refuse_infinite
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import DenseSource, Source
from featly.preprocessing.levels import MISSING, in_library, interval_names, write_levels
from featly.problem.ingest import read
from featly.problem.ingest_rows import MixedColumns, MixedReader, MixedRows
from featly.problem.parameters import InSchema, Threaded
from featly.problem.target import read_classes
from featly.table.frames import (
    ArrayTable,
    frame_of,
    is_frame,
    library_of,
    open_table,
    refuse_shapes,
)
from featly.table.schema import Schema

__all__ = ["Discretiser"]


COLUMN_BLOCK = 256
CHECK_VALUES = 1 << 18  # values that are checked at once


class Discretiser(
    Threaded, InSchema, MixedColumns, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    """Base of the transformers that cut numbers into intervals; a subclass defines the rule."""

    missing: Annotated[str, OneOf("level", "spread")] = "level"
    ordered: bool = True

    @abstractmethod
    def cut_rule(self) -> CutRule:
        """Return the rule of the cuts; the counting filters use it."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- fitting ----------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the cut points.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : ignored
            For pipelines.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any) -> Self:
        check_parameters(self)
        rule = self.cut_rule()
        self._library = library_of(X)
        plain = self._numeric_array(X)
        source: Source
        if plain is None:
            source = self._fit_mixed(X)
        else:
            source = self._source(self._validate_table(plain, reset=True))
            self._reader = MixedReader(None)  # for later frames with these columns
            self._reader.fit(np.zeros((1, self.n_features_in_)), self)
            self._kinds = np.full(self.n_features_in_, CONTINUOUS)
            self._numeric = np.arange(self.n_features_in_)
        labels, n_classes = None, 0
        if rule.is_supervised:
            name = type(self).__name__
            labels, classes = read_classes(y, source.n_rows, name)
            n_classes = len(classes)
        cuts = learn_cuts(source, labels, n_classes, rule, self.n_jobs)
        self._set_cuts(cuts)
        return self

    def _fit_mixed(self, X: Any) -> DenseSource:
        """Read a table with columns of several kinds, and set which of them are cut."""
        self._reader = MixedReader(self.schema)
        rows = self._reader.fit(X, self)
        table = open_table(X) if is_frame(X) else self._array_table(X)
        self._kinds = Schema.of(self.schema).resolve(table.names, table.kinds()).kinds
        self._numeric = np.flatnonzero(self._kinds != CATEGORICAL)
        return self._numbers(rows)

    def _set_cuts(self, cuts: Cuts) -> None:
        counts = np.zeros(self.n_features_in_, np.int64)
        counts[self._numeric] = cuts.counts
        self._cuts = Cuts(cuts.values, np.concatenate([[0], np.cumsum(counts)]))
        self.n_levels_: IntArray = counts + 1
        for column, levels in zip(self._reader.categorical, self._reader.levels, strict=True):
            if self._kinds[column] == CATEGORICAL:
                self.n_levels_[column] = len(levels)

    # ---- reading ----------------------------------------------------------------------------
    def _numeric_array(self, X: Any) -> Any:
        """Return an array or sparse matrix of numbers unchanged; None for anything else."""
        refuse_shapes(X)
        if self.schema is not None or is_frame(X):
            return None
        if not hasattr(X, "dtype"):
            X = np.asarray(X)
        return X if getattr(X.dtype, "kind", "O") in "biuf" else None

    @staticmethod
    def _array_table(X: Any) -> Any:
        if scipy.sparse.issparse(X):
            return ArrayTable(X)
        X = X if hasattr(X, "dtype") else np.array(X, dtype=object)
        return ArrayTable(X) if X.dtype.kind in "biuf" else open_table(X)

    def _validate_table(self, X: Any, *, reset: bool) -> Any:
        X = check_array(
            X,
            accept_sparse="csc",
            dtype="numeric",
            ensure_all_finite=False,
            estimator=self,
            input_name="X",
        )
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _source(self, X: Any) -> Source:
        source = read(X, Schema(), self.n_jobs, integers=True).source
        try:
            refuse_infinite(source, self.n_jobs)
        except InfiniteError as error:
            values = source.load(np.array([error.feature]))[0]
            raise DataError(
                f"column 'x{error.feature}' has an infinite value (inf) in row "
                f"{np.flatnonzero(np.isinf(values))[0]}: correct it, or make it missing"
            ) from None
        return source

    def _numbers(self, rows: MixedRows) -> DenseSource:
        """Return the columns that are cut.

        A column without any value in the training rows is among them. The reader has it as codes,
        because other rows could have text there.
        """
        if len(self._reader.numeric) == len(self._numeric):
            return DenseSource(rows.numbers, n_jobs=self.n_jobs)
        whole = np.full((rows.n_rows, len(self._numeric)), np.nan)
        whole[:, np.isin(self._numeric, self._reader.numeric)] = rows.numbers
        return DenseSource(whole, n_jobs=self.n_jobs)

    # ---- output -----------------------------------------------------------------------------
    def transform(self, X: Any) -> Any:
        """Return the table with intervals instead of numbers.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        X_cut
            For a frame, one of the same library: columns of numbers become ordered categories
            with the intervals as levels (plain ones with ``ordered=False``), categorical ones stay
            as they are. For an array or a sparse matrix, an array: the number of the interval,
            from 0.
        """
        check_is_fitted(self)
        if not (self.ordered or is_frame(X)):
            raise ParameterError(
                "ordered=False marks columns of a frame as categories, and X is an array, which "
                "has no kinds: pass a frame, or leave it out and declare the columns categorical "
                "in the schema of what comes after"
            )
        plain = self._numeric_array(X) if (self._kinds == CONTINUOUS).all() else None
        if plain is not None:
            source = self._source(self._validate_table(plain, reset=False))
            dtype = np.float32 if plain.dtype == np.float32 else np.float64
            cut = cut_columns(source, self._cuts, self.n_jobs)
            return self._as_numbers(cut.block(0, cut.n_features), dtype)
        rows = self._reader.read(X, self)
        codes, _ = cut_codes(self._numbers(rows), self._numeric_cuts(), self.n_jobs)
        for column, column_codes in zip(self._reader.categorical, rows.codes, strict=True):
            if self._kinds[column] != CATEGORICAL:  # no value in fit: any value is one level
                codes[np.searchsorted(self._numeric, column)] = column_codes > 0
        if is_frame(X):
            return self._as_frame(X, codes)
        return self._as_array(X, codes)

    def cuts(self) -> Cuts:
        """Return the cut points of all columns; the counting filters use them where it is frozen.

        Returns
        -------
        Cuts
        """
        check_is_fitted(self)
        return self._cuts

    def _numeric_cuts(self) -> Cuts:
        counts = self._cuts.counts[self._numeric]
        return Cuts(self._cuts.values, np.concatenate([[0], np.cumsum(counts)]))

    def _as_frame(self, X: Any, codes: AnyArray) -> Any:
        wanted = _get_output_config("transform", self)["dense"]
        frame = in_library(X, None if wanted == "default" else wanted)
        names = [interval_names(self._cuts.points(f)) for f in self._numeric.tolist()]
        if self.missing == "level":
            missing_codes = np.array([len(levels) + 1 for levels in names], codes.dtype)[:, None]
            codes = np.where(codes == 0, missing_codes, codes)
            names = [[*levels, MISSING] for levels in names]
        return write_levels(frame, self._numeric.tolist(), codes, names, ordered=bool(self.ordered))

    def _as_array(self, X: Any, codes: AnyArray) -> AnyArray:
        """Return numbers of the intervals, beside the categorical columns as they are."""
        numbers = self._as_numbers(codes, np.float64)
        if len(self._numeric) == self.n_features_in_:
            return numbers
        if scipy.sparse.issparse(X):
            X = X.toarray()
        X = X if hasattr(X, "dtype") else np.array(X, dtype=object)
        out = np.array(X, dtype=np.float64 if X.dtype.kind in "biuf" else object)
        out[:, self._numeric] = numbers
        return out

    def _as_numbers(self, codes: AnyArray, dtype: type) -> AnyArray:
        """Return codes from 0, rows x columns; missing values are the last level, or NaN."""
        out: AnyArray = np.empty(codes.shape[::-1], dtype)

        def write_block(block: tuple[int, int]) -> None:
            low, high = block
            tile: AnyArray = codes[low:high].astype(dtype)
            tile -= 1
            rows, columns = np.nonzero(codes[low:high] == 0)
            tile[rows, columns] = self._missing_numbers(dtype)[low:high][rows]
            out[:, low:high] = tile.T

        run_blocks(write_block, split(len(codes), COLUMN_BLOCK), self.n_jobs)
        return out

    def _missing_numbers(self, dtype: type) -> AnyArray:
        """Return the number that stands for a missing value, for each column of numbers."""
        levels: AnyArray = self.n_levels_[self._numeric].astype(dtype)
        return levels if self.missing == "level" else np.full_like(levels, np.nan)

    @property
    def cuts_(self) -> list[FloatArray]:
        """The cut points of every column."""
        check_is_fitted(self)
        return [self._cuts.points(f) for f in range(self.n_features_in_)]

    def table(self) -> Any:
        """Return kinds, cut points and levels as a frame, one row a column.

        Returns
        -------
        frame
            With feature, kind, cuts and n_levels; of the library of the table that was fitted,
            polars for arrays.
        """
        check_is_fitted(self)
        return frame_of(
            {
                "feature": [self._reader.name(f) for f in range(self.n_features_in_)],
                "kind": [KINDS[kind] for kind in self._kinds],
                "cuts": [cuts.tolist() for cuts in self.cuts_],
                "n_levels": self.n_levels_,
            },
            self._library,
        )
