r"""Redundant columns of a table, among all pairs of them.

.. math::

    |r_{fg}| = \frac{|\sum_i (x_{if} - \bar x_f)(x_{ig} - \bar x_g)|}
                    {\sqrt{\sum_i (x_{if} - \bar x_f)^2 \sum_i (x_{ig} - \bar x_g)^2}}
    \qquad\text{or}\qquad
    SU(f, g) = 2 \frac{H(f) + H(g) - H(f, g)}{H(f) + H(g)}

Correlations as in Pearson, K. (1895), Notes on regression and inheritance, *Proceedings of the
Royal Society of London* 58, 240-242; symmetric uncertainty as in Press, W. H. et al. (1988),
*Numerical Recipes in C*, section 14.4.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from featly.basics.errors import DataError, ParameterError, SchemaWarning
from featly.basics.kinds import CATEGORICAL
from featly.basics.params import Number, OneOf
from featly.basics.progress import progress_bar
from featly.basics.resources import DEVICE, Resources, format_bytes, free_memory, parse_bytes
from featly.basics.typing import IntArray
from featly.core.counts.coding import code_columns
from featly.core.counts.discretise import CutRule
from featly.core.counts.streamed_codes import CodesInOrder
from featly.core.pairs.columns import coded_columns, unit_columns
from featly.core.pairs.correlation import NotFiniteError
from featly.core.pairs.search import neighbours as nearest_columns
from featly.core.pairs.search import pairs_above, pairs_with, round_to_grid, search_memory
from featly.core.runtime.device_cuda import as_device, ensure_on_host, is_device_array
from featly.core.runtime.parallel import n_threads, single_threaded_blas
from featly.core.runtime.question import Question
from featly.diagnostics.reading import check_count
from featly.diagnostics.redundancy_result import Redundancy
from featly.problem.ingest import as_stored_table, ingest_stored, read
from featly.problem.place import read_device, run_where_best
from featly.problem.problem import Problem
from featly.problem.target import Classes
from featly.table.frames import is_frame, library_of, open_table, refuse_shapes
from featly.table.schema import Columns, Schema
from featly.table.unknown_column import describe_unknown_column

__all__ = ["redundancy"]


MEASURES = ("pearson", "spearman", "information")
RULES = ("equal-frequency", "equal-width", "pkid")
BYTES_PER_NEIGHBOUR = 16  # a position and a value


def redundancy(
    X: Any,
    *,
    threshold: float | None = None,
    neighbours: int | None = None,
    columns: Sequence[int | str] | None = None,
    measure: str = "pearson",
    discretizer: Any = "equal-frequency",
    max_pairs: int = 10_000_000,
    schema: Schema | dict[str, Any] | None = None,
    device: str = "auto",
    memory_limit: int | str | None = None,
    n_jobs: int | None = None,
    verbose: bool | Callable[[int, int], Any] = False,
) -> Redundancy:
    r"""Compare every column of a table with every other, and list the redundant pairs.

    Either all pairs whose redundancy reaches a threshold, or the nearest columns of each. A
    million columns have half a trillion pairs, which are never in memory together. The result is
    exact: a computation in half or single precision, with a proven bound on its error, only
    excludes pairs, and all others are computed in float64.

    Pearson's and Spearman's correlation without their sign: a missing value counts as the mean of
    its column, or of its ranks (:class:`featly.MRMR` does the same;
    :func:`featly.diagnostics.associations` compares the rows that both columns have). Values are
    rounded to multiples of 2^-40, so that columns which are the same up to sign, scale and offset
    have exactly 1. A constant column has no partner.

    "information" is symmetric uncertainty: mutual information over the mean of the two entropies,
    of columns cut into levels. A missing value is a level of its own. It takes columns of all
    kinds.

    Parameters
    ----------
    X : data frame, array, sparse matrix or table on disk of shape (n_rows, n_features)
        A table that :func:`featly.scan` opened is read by blocks of columns, and an array on a
        device is compared there.
    threshold : float, optional
        Least redundancy of a pair, above 0 and at most 1.
    neighbours : int, optional
        Number of columns that are listed for each. Give either this or `threshold`.
    columns : sequence of names or positions, optional
        With a threshold, only pairs that contain one of these columns, which takes one pass over
        the table on the CPU.
    measure : {"pearson", "spearman", "information"}, default="pearson"
        Measure of redundancy: correlation without its sign, that of the ranks, or symmetric
        uncertainty.
    discretizer : str, discretiser or None, default="equal-frequency"
        How numbers become levels: a name, an instance, or None for whole numbers.
        Only for "information". Names: "equal-frequency", "equal-width" (ten intervals), "pkid"; an
        instance must be one of a discretiser that needs no classes.
    max_pairs : int, default=10,000,000
        With more pairs, of 24 bytes each, an error is raised.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Only their kinds are used.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        The result is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        It also limits the memory for columns that are ready for comparison; those beyond are read
        again. "information" may write the levels of a table on disk to a temporary file, one byte
        for each value.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts tiles of the matrix of all pairs.

    Returns
    -------
    Redundancy
        With `pairs`, `neighbours`, `values`, `groups`, `representatives`, ``table()`` and
        ``group_table()``.

    See Also
    --------
    featly.RedundancyFilter : Leaves out columns that are redundant to better ones.
    featly.diagnostics.associations : Some columns against all, of mixed kinds.
    featly.diagnostics.suspect_columns : Columns that repeat another one, or in other units.

    Examples
    --------
    >>> import polars as pl
    >>> import featly
    >>> table = pl.DataFrame({
    ...     "inches": [60.0, 70.0, 66.0, 63.0], "weight": [55.0, 80.0, 81.0, 50.0],
    ...     "centimetres": [152.4, 177.8, 167.64, 160.02], "age": [30.0, 41.0, 77.0, 52.0]})
    >>> result = featly.redundancy(table, threshold=0.9)
    >>> result.table()
    shape: (1, 3)
    ┌────────┬─────────────┬───────┐
    │ first  ┆ second      ┆ value │
    │ ---    ┆ ---         ┆ ---   │
    │ str    ┆ str         ┆ f64   │
    ╞════════╪═════════════╪═══════╡
    │ inches ┆ centimetres ┆ 1.0   │
    └────────┴─────────────┴───────┘
    >>> result.groups.tolist(), result.representatives.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    >>> featly.redundancy(table, neighbours=1).neighbours[:, 0].tolist()
    [2, 0, 0, 1]
    """
    wanted = _check_arguments(threshold, neighbours, columns, measure, discretizer, max_pairs)
    resources = _resources(device, memory_limit)
    if columns is not None and resources.device == "cuda":
        raise ParameterError(
            "device='cuda' is for all pairs, and some columns are compared on the CPU: leave out "
            "device, or columns"
        )
    n_threads(n_jobs)  # raises ParameterError for a wrong value
    if columns is not None or resources.device == "cpu":
        X = ensure_on_host(X)
    table = _Table.from_input(X, schema, wanted, resources, n_jobs)
    _check_memory(wanted, table.shape[1])
    column_subset = None if columns is None else _find_positions(columns, table.names)
    with single_threaded_blas(), progress_bar(verbose, "redundancy", "tiles") as progress:
        try:
            outcome = _compare(table.problem, wanted, column_subset, progress)
        except NotFiniteError as error:
            table.raise_not_finite(error.feature)
            raise
    if table.stored is not None:
        table.stored.check()  # raises if the file changed meanwhile
    return _make_redundancy(outcome, wanted, table, library_of(X))


# ---- parameters -----------------------------------------------------------------------------
@dataclass(frozen=True)
class _Request:
    """Checked parameters of one comparison."""

    threshold: float | None
    neighbours: int | None
    measure: str
    rule: CutRule | None
    max_pairs: int

    @property
    def needs_codes(self) -> bool:
        return self.measure == "information"


def _check_arguments(
    threshold: Any, neighbours: Any, columns: Any, measure: Any, discretizer: Any, max_pairs: Any
) -> _Request:
    if (threshold is None) == (neighbours is None):
        raise ParameterError(
            f"threshold={threshold!r}, neighbours={neighbours!r}: give one of the two"
        )
    if neighbours is not None and columns is not None:
        raise ParameterError("columns go with a threshold: give that, and no neighbours")
    if neighbours is not None:
        neighbours = check_count("neighbours", neighbours, 1)
    else:
        Number(above=0, at_most=1).check("threshold", threshold)
        threshold = float(threshold)
    OneOf(*MEASURES).check("measure", measure)
    rule = None
    if measure == "information":
        rule = _rule(discretizer)
    elif not isinstance(discretizer, str) or discretizer != "equal-frequency":
        raise ParameterError(
            f"discretizer={discretizer!r} is of no use with measure={measure!r}, which does not "
            "cut numbers into levels: leave it out, or give measure='information'"
        )
    most = check_count("max_pairs", max_pairs, 1)
    return _Request(threshold, neighbours, measure, rule, most)


def _rule(discretizer: Any) -> CutRule | None:
    if discretizer is None:
        return None
    rule = None
    if isinstance(discretizer, str) and discretizer in RULES:
        rule = CutRule(discretizer)
    elif hasattr(discretizer, "cut_rule") and not isinstance(discretizer, type):
        rule = discretizer.cut_rule()
    if rule is None or rule.is_supervised:
        raise ParameterError(
            f"discretizer={discretizer!r}: give {', '.join(map(repr, RULES))}, a discretiser of "
            "featly.preprocessing that needs no classes, or None for numbers that are levels "
            "already"
        )
    return rule


def _find_positions(columns: Any, names: Sequence[str]) -> IntArray:
    """Find the positions of columns, each once; DataError for one that does not exist."""
    if isinstance(columns, str):
        raise ParameterError(f"columns={columns!r}: give a list of names or positions")
    position_of: dict[str, int] = {}
    positions = []
    for column in columns:
        if isinstance(column, str):
            position_of = position_of or {name: f for f, name in enumerate(names)}
            if column not in position_of:
                raise DataError(f"{column!r} {describe_unknown_column(column, names)}")
            positions.append(position_of[column])
        elif isinstance(column, int | np.integer) and -1 < column < len(names):
            positions.append(int(column))
        else:
            raise DataError(
                f"there is no column {column}: positions run from 0 to {len(names) - 1}"
            )
    return np.unique(np.array(positions, np.int64))


def _check_memory(wanted: _Request, p: int) -> None:
    """Raise ParameterError if the lists of neighbours exceed half of the free memory."""
    if wanted.neighbours is None:
        return
    needed, free = p * wanted.neighbours * BYTES_PER_NEIGHBOUR, free_memory()
    if needed > free // 2:
        raise ParameterError(
            f"neighbours={wanted.neighbours}: lists of so many for {p} columns take "
            f"{format_bytes(needed)}, and {format_bytes(free)} are free: give fewer, or a threshold"
        )


def _resources(device: Any, memory_limit: Any) -> Resources:
    DEVICE.check("device", device)
    return Resources(device, None if memory_limit is None else parse_bytes(memory_limit))


# ---- the table ------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Table:
    """A table as it was read, wherever it lies."""

    names: Any
    shape: tuple[int, int]
    problem: Problem
    stored: Any = None  # a table on disk

    @staticmethod
    def from_input(
        X: Any, schema: Any, wanted: _Request, resources: Resources, n_jobs: int | None
    ) -> "_Table":
        if isinstance(X, str | os.PathLike):
            raise DataError(
                f"X is the path {str(X)!r}: open it with featly.scan, or read it with "
                "featly.read_table"
            )
        stored, memory = None, resources.memory
        if is_device_array(X):
            array = _open_array(X)
            ingested = read_device(
                array, Schema.of(schema), n_jobs, integers=True, host_memory=memory
            )
        elif (stored := as_stored_table(X, mapped=memory is not None)) is not None:
            memory_budget = resources.memory_budget
            ingested = ingest_stored(
                stored, Schema.of(schema), memory_budget, n_jobs, integers=True
            )
        else:
            ingested = read(_open_table(X), Schema.of(schema), n_jobs, integers=True)
        source, columns = ingested.source, ingested.columns
        _check_columns(columns, wanted.measure)
        nothing = Classes(np.zeros(source.n_rows, np.int64), np.zeros(1))
        problem = Problem(source, columns, nothing, resources=resources)
        return _Table(columns.names, (source.n_rows, source.n_features), problem, stored)

    def raise_not_finite(self, feature: int) -> None:
        """Raise DataError for a column that is not finite."""
        name = self.names[feature]
        values = self.problem.source.load(np.array([feature]))[0]
        rows = np.flatnonzero(np.isinf(values))
        if len(rows):
            raise DataError(
                f"column {name!r} has an infinite value (inf) in row {rows[0]}: correct it, or "
                "make it missing"
            )
        raise DataError(
            f"column {name!r} has values as large as {np.nanmax(np.abs(values)):.3g}, whose "
            "squares overflow: divide the column by a large number"
        )


def _open_array(X: Any) -> Any:
    """Open an array on a device for reading."""
    array = as_device(X)
    if array.ndim != 2:
        raise DataError(f"X has {array.ndim} dimensions, where a table has 2: reshape it")
    _refuse_empty(array.shape)
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _open_table(X: Any) -> Any:
    """Open a frame, array or sparse matrix for reading."""
    refuse_shapes(X)
    if is_frame(X):
        _refuse_empty(X.shape)
        return open_table(X)
    if not hasattr(X, "dtype") and np.asarray(X).dtype.kind in "OUS":
        X = np.array(X, dtype=object)  # text beside numbers must not make text of the numbers
    n_dimensions = X.ndim if hasattr(X, "ndim") else np.ndim(X)
    if n_dimensions != 2:
        many = "dimension" if n_dimensions == 1 else "dimensions"
        raise DataError(f"X has {n_dimensions} {many}, where a table has 2: reshape it")
    textual = getattr(X, "dtype", np.dtype(float)).kind in "OUST"
    try:
        X = check_array(
            X,
            accept_sparse="csc",
            dtype=None if textual else "numeric",
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
            input_name="X",
        )
    except ValueError as problem:  # such as complex numbers, which are listed on later lines
        raise DataError(f"X is no table: {str(problem).splitlines()[0]}") from None
    _refuse_empty(X.shape)
    return open_table(X) if textual else X


def _refuse_empty(shape: tuple[int, int]) -> None:
    for count, word in zip(shape, ("rows", "columns"), strict=True):
        if count == 0:
            raise DataError(f"X has no {word}: there is nothing to look at")


def _check_columns(columns: Columns, measure: str) -> None:
    unused = columns.stated_parts()
    if unused:
        message = f"redundancy does not use {' and '.join(unused)} of the schema"
        warnings.warn(message, SchemaWarning, stacklevel=4)  # the caller of redundancy
    nominal = np.flatnonzero(columns.kinds == CATEGORICAL)
    if measure != "information" and len(nominal):
        raise DataError(
            f"column {columns.names[int(nominal[0])]!r} is categorical, and measure={measure!r} "
            "takes numbers: leave it out, declare it continuous or ordinal in the schema if its "
            "values have an order, or give measure='information'"
        )


# ---- the comparison -------------------------------------------------------------------------
def _compare(
    problem: Problem, wanted: _Request, column_subset: IntArray | None, progress: Any
) -> Any:
    """Run a search of :mod:`featly.core.pairs.search` where its columns are compared best."""
    search: Question[..., Any] = nearest_columns if wanted.neighbours is not None else pairs_above
    search = pairs_with if column_subset is not None else search
    ready = (code_columns, coded_columns) if wanted.needs_codes else (unit_columns,)

    def compare(problem: Problem) -> Any:
        with problem.naming_columns():
            columns = _make_columns(problem, wanted)
            memory = search_memory(columns, problem.resources)
            if wanted.neighbours is not None:
                count = min(wanted.neighbours, max(1, columns.n_features - 1))
                return nearest_columns(columns, count, memory, progress)
            assert wanted.threshold is not None
            limits = round_to_grid(wanted.threshold, columns.grid), wanted.max_pairs
            if column_subset is not None:
                return pairs_with(columns, column_subset, *limits, memory, progress)
            return pairs_above(columns, *limits, memory, progress)

    return run_where_best(
        (*ready, search),
        problem,
        compute=compare,
        name="redundancy",
        operations=lambda n_rows, p: float(n_rows) * p * p,
        integers=True,
    )


def _make_columns(problem: Problem, wanted: _Request) -> Any:
    """Return the columns ready to be compared."""
    source = problem.source
    if not wanted.needs_codes:
        return unit_columns(source, ranks=wanted.measure == "spearman")
    codes = problem.coded(wanted.rule, source.n_jobs)
    if codes.memory is not None and wanted.rule is not None:
        codes = CodesInOrder(codes, np.arange(source.n_features))  # cut once, not for every block
    return coded_columns(codes)


def _make_redundancy(
    outcome: Any, wanted: _Request, table: _Table, library: str | None
) -> Redundancy:
    names, measure = table.names, wanted.measure
    if wanted.neighbours is None:
        return Redundancy(measure, wanted.threshold, outcome, None, None, names, library)
    index, values = outcome
    n_lacking = wanted.neighbours - index.shape[1]
    if n_lacking:
        index = np.pad(index, ((0, 0), (0, n_lacking)), constant_values=-1)
        values = np.pad(values, ((0, 0), (0, n_lacking)))
    return Redundancy(measure, None, None, index, values, names, library)
