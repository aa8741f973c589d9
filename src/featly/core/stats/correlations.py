r"""Absolute correlations of all columns with one of them, in one pass over the values.

.. math::

    |r_{fs}| = \frac{|\sum_i (x_{if} - \bar x_f)(x_{is} - \bar x_s)|}
                    {\sqrt{\sum_i (x_{if} - \bar x_f)^2 \sum_i (x_{is} - \bar x_s)^2}}

A missing value counts as the mean of its column: it adds nothing to the sums. With mid-ranks this
is Spearman's coefficient. Values are rounded to multiples of 2^-40, so that sums of them are exact.
"""

from typing import Any

import numpy as np

from featly.basics.typing import FloatArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks
from featly.core.runtime.question import question
from featly.core.sources import DenseSource, Moments, Source, StreamedSource

__all__ = ["Correlations", "correlations", "mid_ranks"]

# mypy: disable-error-code="no-untyped-def"


GRID = 2.0**40
EXACT = 1 << 22  # rows up to which halves of ranks are exact in float32


class Correlations:
    """Standardised columns, and the absolute correlations of all with one of them.

    Parameters
    ----------
    source : Source
        Without categorical columns.
    moments : Moments
        Moments of `source` over all rows.
    relevance : float array of shape (n_features,)
        Score of each column by itself.

    Attributes
    ----------
    relevance : float array of shape (n_features,)
        As given.
    redundancy : float array of shape (n_features,)
        Absolute correlation with the column of the last :meth:`condition_on`; 0 for a constant one.
    conditional : float array
        Empty.
    scale, digits : float, int
        1 and 0.
    varies : bool array of shape (n_features,)
        Whether a column is not constant.

    Examples
    --------
    >>> import numpy as np
    >>> source = DenseSource(np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 1.0]]))
    >>> correlations = Correlations(source, source.moments(), np.zeros(2))
    >>> correlations.condition_on(0)
    >>> correlations.redundancy.round(3).tolist()
    [1.0, 0.982]
    """

    digits: int
    scale: float

    def __init__(self, source: Source, moments: Moments, relevance: FloatArray) -> None:
        self.relevance = relevance
        self.redundancy: FloatArray = np.zeros(source.n_features)
        self.conditional: FloatArray = np.zeros(0)
        self.scale, self.digits = 1.0, 0
        squares = moments.m2[0]
        self.varies: Any = squares > 0
        size = np.where(self.varies, 1 / np.sqrt(np.where(self.varies, squares, 1.0)), 0.0)
        self._source = source.scaled(moments.mean[0], size)
        complete = moments.count[0] == source.n_rows
        self._complete, self._incomplete = np.flatnonzero(complete), np.flatnonzero(~complete)
        self._complete_source = (
            self._source if complete.all() else self._source.view(self._complete)
        )
        self._filled_source: Source | None = None
        if len(self._incomplete):
            self._filled_source = _fill_with_zero(self._source.view(self._incomplete))

    def condition_on(self, chosen: int) -> None:
        """Fill `redundancy` with the absolute correlations with a column."""
        v = np.nan_to_num(self._source.load(np.array([chosen]))[0])
        redundancy = self.redundancy
        if self._filled_source is None:
            redundancy[:] = self._complete_source.forms(v)
        else:
            redundancy[self._complete] = self._complete_source.forms(v)
            redundancy[self._incomplete] = self._filled_source.forms(v)
        np.rint(np.sqrt(redundancy) * GRID, out=redundancy)
        redundancy /= GRID


@question
def correlations(source: Source, moments: Moments, relevance: FloatArray) -> Correlations:
    """Return the correlations of every column with a chosen one; see :class:`Correlations`."""
    return Correlations(source, moments, relevance)


@question
def _fill_with_zero(source: Source) -> Source:
    """Return centred columns with 0 where a value is missing."""
    filled = np.empty((source.n_features, source.n_rows))

    def fill(block: tuple[int, int]) -> None:
        filled[slice(*block)] = np.nan_to_num(source.load(np.arange(*block)))

    run_blocks(fill, source.blocks(), source.n_jobs)
    return DenseSource(filled.T, n_jobs=source.n_jobs)


@_fill_with_zero.answer(StreamedSource)
def _fill_streamed(source: StreamedSource) -> Source:
    """Fill when a block is read."""
    return source.fill_with_center()


@question
def mid_ranks(source: Source) -> Source:
    """Replace the columns of a source by ranks from 1; equal values get the mean of their ranks.

    Missing values stay missing. A sparse source becomes dense; a streamed one is ranked once, into
    a temporary file.

    Examples
    --------
    >>> import numpy as np
    >>> column = np.array([[30.0], [10.0], [np.nan], [30.0]])
    >>> mid_ranks(DenseSource(column)).values[:, 0].tolist()
    [2.5, 1.0, nan, 2.5]
    """
    ranks = np.empty((source.n_features, source.n_rows), _rank_dtype(source.n_rows))

    def rank_block(block: tuple[int, int]) -> None:
        values = source.load(np.arange(*block))
        _mid_ranks(values, np.argsort(values, axis=1), ranks[slice(*block)])

    run_blocks(rank_block, source.blocks(), source.n_jobs)
    return DenseSource(ranks.T, n_jobs=source.n_jobs)


@mid_ranks.answer(StreamedSource)
def _mid_ranks_streamed(source: StreamedSource) -> Source:
    """Rank once, into a temporary file."""
    dtype = np.dtype(_rank_dtype(source.n_rows))
    return source.map_blocks(mid_ranks, dtype, feature_major=True, once=True)


def _rank_dtype(n_rows: int) -> type[np.floating[Any]]:
    return np.float32 if n_rows < EXACT else np.float64


@kernel
def _mid_ranks(values, order, ranks):
    for f in range(len(values)):
        x = values[f]
        rows = order[f]
        first = 0
        while first < len(rows):
            value = x[rows[first]]
            last = first
            while last + 1 < len(rows) and x[rows[last + 1]] == value:
                last += 1
            for k in range(first, last + 1):
                ranks[f, rows[k]] = 0.5 * (first + last) + 1.0 if value == value else np.nan
            first = last + 1
