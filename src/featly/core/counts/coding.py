"""Columns of a source as codes: numbers cut into intervals, or levels as they stand."""

from collections.abc import Callable
from typing import Any

import scipy.sparse

from featly.basics.typing import IntArray
from featly.core.counts.codes import Codes, DenseCodes, SparseCodes
from featly.core.counts.discretise import CutRule, Cuts, cut_codes, cut_sparse, learn_cuts
from featly.core.counts.streamed_codes import InfiniteError, StreamedCodes, refuse_infinite
from featly.core.counts.whole_numbers import NotWholeError, TooManyLevelsError, whole_codes
from featly.core.runtime.question import question
from featly.core.sources import CSCSource, DenseSource, Source, StreamedSource

__all__ = ["code_columns", "cut_columns"]


def _same(error: Any) -> Exception:
    return error  # type: ignore[no-any-return]


@question(gpu="featly.core.counts.coding_cuda")
def code_columns(
    source: Source,
    rule: CutRule | Cuts | None,
    groups: tuple[IntArray, int],
    *,
    rows: IntArray | None = None,
    make_error: Callable[[Any], Exception] = _same,
    n_jobs: int | None = None,
) -> Codes:
    """Return the columns of a source as codes.

    Parameters
    ----------
    source : Source
    rule : CutRule, Cuts or None
        By which numbers are cut, or where; None: whole numbers are levels.
    groups : (int64 array of shape (n_rows,), int)
        Group of every row and how many there are, for a rule that looks at them.
    rows : int array, optional
        Rows from which cuts are learnt, which may be repeated; all once by default.
    make_error : callable, optional
        Converts a NotWholeError, TooManyLevelsError or InfiniteError, whose columns have no name,
        to the error to be raised.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> source = DenseSource(np.array([[1.0], [2.0], [8.0]]))
    >>> groups = np.array([0, 0, 1]), 2
    >>> code_columns(source, CutRule("equal-width", 2), groups).block(0, 1).tolist()
    [[1, 1, 2]]
    """
    try:
        if rule is None:
            return whole_codes(source, n_jobs)
        refuse_infinite(source, n_jobs)
        cuts = rule if isinstance(rule, Cuts) else learn_cuts(source, *groups, rule, n_jobs, rows)
        return cut_columns(source, cuts, n_jobs)
    except (InfiniteError, NotWholeError, TooManyLevelsError) as error:
        raise make_error(error) from None


@code_columns.answer(StreamedSource)
def _code_streamed(
    source: StreamedSource,
    rule: CutRule | Cuts | None,
    groups: tuple[IntArray, int],
    *,
    rows: IntArray | None = None,
    make_error: Callable[[Any], Exception] = _same,
    n_jobs: int | None = None,
) -> Codes:
    """Code columns on disk when they are read."""
    return StreamedCodes(source, rule, *groups, make_error, n_jobs, rows)


@question(disk=False)
def cut_columns(source: Source, cuts: Cuts, n_jobs: int | None = None) -> Codes:
    """Return the columns of a table in memory as codes, by cut points."""
    assert isinstance(source, DenseSource)
    return DenseCodes(*cut_codes(source, cuts, n_jobs), n_jobs)


@cut_columns.answer(CSCSource)
def _cut_sparse_columns(source: CSCSource, cuts: Cuts, n_jobs: int | None = None) -> Codes:
    """Cut the stored numbers only."""
    data, zero, n_levels = cut_sparse(source, cuts, n_jobs)
    stored = source.matrix
    coded = scipy.sparse.csc_array((data, stored.indices, stored.indptr), stored.shape)
    matrix = coded[:, source.columns]
    return SparseCodes(matrix, matrix.data, zero, n_levels, n_jobs)
