"""A table and a target, read and checked: the input of every method's computation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from featly.basics.errors import Column, DataError, Parameter, ParameterError, Row, Setting
from featly.basics.kinds import CATEGORICAL, KINDS
from featly.basics.resources import Resources, format_bytes
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes, count_levels
from featly.core.counts.coding import code_columns
from featly.core.counts.contingency import Tables
from featly.core.counts.discretise import CutRule, Cuts, learn_cuts
from featly.core.counts.streamed_codes import InfiniteError, refuse_infinite
from featly.core.counts.whole_numbers import NotWholeError, TooManyLevelsError
from featly.core.greedy.cache import cache_key
from featly.core.ranking.preference import Preference
from featly.core.sources import (
    Comoments,
    Moments,
    Source,
    centers_and_variances,
    questions,
    weighted_comoments,
    weighted_level_counts,
    weighted_moments,
)
from featly.problem.target import Classes, Target
from featly.registry import methods_that, suggest
from featly.table.schema import Columns

__all__ = ["Problem", "row_prices"]

Answer = TypeVar("Answer")

MOST_REPEATED = 1 << 24  # rows, where whole weights become repeated rows


@dataclass(frozen=True)
class Problem:
    """A table and a target, read and checked: the input of a method's computation.

    Attributes
    ----------
    source : Source
    columns : Columns
        Names, kinds and the rest of the schema, an entry for every column.
    target : Target
        The outcome of every row.
    preference : Preference
        What the user wants of the columns, as far as the method uses it.
    rows : int64 array or None
        Positions of the rows in the user's table, if they are only some of it.
    resources : Resources
        The device and the memory that may be used.
    stored : StoredTable or None
        The table on disk that was read, whether it is in memory or not.
    weights : float64 array of shape (n_rows,), or None
        How many equal rows each row counts as, above 0; None for 1 each.
    weights_are_counts : bool
        Whether all weights are whole, so that their sum is a number of rows.
    features : int64 array or None
        Positions of the columns in the user's table, if they are only some of it.
    kept : dict or None
        Answers of the table for all targets of its rows, see :meth:`once`.
    """

    source: Source
    columns: Columns
    target: Target
    preference: Preference = field(default_factory=Preference)
    rows: np.ndarray | None = None
    resources: Resources = field(default_factory=Resources)
    stored: Any = None
    weights: FloatArray | None = None
    weights_are_counts: bool = True
    features: np.ndarray | None = None
    kept: dict[str, tuple[Source, Any]] | None = None

    def once(self, name: str, compute: Callable[[], Answer]) -> Answer:
        """Return what is computed of the table alone, kept for other targets of the same rows.

        It must not be changed by whoever gets it. Nothing is kept where the table is read for one
        target only.
        """
        if self.kept is None:
            return compute()
        source, kept = self.kept.get(name, (None, None))
        if source is self.source:
            return cast(Answer, kept)
        answer = compute()
        self.kept[name] = self.source, answer
        return answer

    @property
    def total(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.source.n_rows if self.weights is None else float(self.weights.sum())

    @property
    def classes(self) -> Classes:
        """The target of a method for classes only."""
        assert isinstance(self.target, Classes)
        return self.target

    def take(
        self, rows: IntArray, n_jobs: int | None = None, target: Target | None = None
    ) -> "Problem":
        """Return the problem of some rows, which are copied; with another target of those rows."""
        return replace(
            self,
            source=self.source.take_rows(rows, n_jobs),
            target=self.target.take(rows) if target is None else target,
            rows=rows if self.rows is None else self.rows[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def take_columns(self, features: IntArray) -> "Problem":
        """Return the problem of some columns, in the order given; no value is copied."""
        return replace(
            self,
            source=self.source.view(features),
            columns=self.columns.take(features),
            preference=self.preference.take(features),
            features=features if self.features is None else self.features[features],
        )

    def with_jobs(self, n_jobs: int | None) -> "Problem":
        """Return the same problem, whose table is read by so many threads."""
        return replace(self, source=self.source.with_jobs(n_jobs))

    def pair(self, first: int, second: int, n_jobs: int | None = None) -> "Problem":
        """Return the problem of two classes, by their positions in the labels."""
        target, rows = self.classes.pair(first, second)
        return self.take(rows, n_jobs, target)

    def against_rest(self, position: int, n_jobs: int | None = None) -> "Problem":
        """Return the problem of one class (True) against others (False); the table is shared."""
        target, source = self.classes.against_rest(position), self.source.with_jobs(n_jobs)
        return replace(self, source=source, target=target)

    def row(self, position: int) -> int:
        """Return the position of a row in the user's table."""
        return int(position if self.rows is None else self.rows[position])

    @cached_property
    def fingerprint(self) -> str:
        """Key of the values, kinds and levels of the table."""
        source = self.source
        kinds_and_levels: tuple[Any, ...] = (self.columns.kinds, self.columns.levels)
        if self.features is not None:
            kinds_and_levels += (self.features,)
        if self.stored is not None:  # the same whether it is in memory or not
            return cache_key(
                self.stored.fingerprint(), self.rows, self.source.dtype.str, *kinds_and_levels
            )
        return cache_key(*source.keys(cache_key), *kinds_and_levels)

    def on_host(self, *, integers: bool) -> "Problem":
        """Return the same problem for the CPU: a table on a GPU is copied, or comes by blocks."""
        memory_budget = self.resources.memory_budget
        return replace(
            self, source=questions.fetch_to_host(self.source, memory_budget, integers=integers)
        )

    def in_memory(self, method: str) -> "Problem":
        """Return the same problem in memory, or raise DataError if it exceeds the memory budget."""
        source = self.source.in_memory()
        if source.memory is not None:
            limited = self.resources.memory is not None
            larger = ("Give a larger ", Parameter("memory_limit"), ", or") if limited else ("Take",)
            raise DataError(
                f"X takes {format_bytes(source.nbytes)} in memory, and may take half of "
                f"{format_bytes(self.resources.memory_budget)}: {method} needs it whole. ",
                *larger,
                f" a method that reads columns by blocks: {suggest(methods_that(streams=True))}",
            )
        return replace(self, source=source)

    def moments(
        self, *, by_class: bool = False, complete_for: str | None = None, instead: str = ""
    ) -> Moments:
        """Return moments of the columns; infinite values are an error that names them.

        With `complete_for`, the name of a method that needs complete columns, so are missing ones;
        `instead` is a variant of it that does not.
        """
        groups = self.classes.groups() if by_class else ()
        if self.weights is None:
            moments = questions.moments(self.source, *groups)
        else:
            moments = weighted_moments(self.source, self.weights, *groups)
        is_infinite = ~np.isfinite(moments.m2).all(axis=0)
        if is_infinite.any():
            raise self._infinite_error(int(np.flatnonzero(is_infinite)[0]))
        if complete_for is not None:
            self._require_complete(moments, complete_for, instead)
        return moments

    def comoments(self, h: FloatArray) -> Comoments:
        """Return moments of the columns with those of h; infinite values are an error."""
        if self.weights is None:
            moments = questions.comoments(self.source, h)
        else:
            moments = weighted_comoments(self.source, self.weights, h)
        is_infinite = ~(np.isfinite(moments.m2) & np.isfinite(moments.product))
        if is_infinite.any():
            raise self._infinite_error(int(np.flatnonzero(is_infinite)[0]))
        return moments

    def tables(self, codes: Codes) -> Tables:
        """Count the levels of every column in every group of rows."""
        groups = self.target.groups()
        if self.weights is None:
            return count_levels(codes, *groups)
        return codes.weighted_tables(*groups, self.weights)

    def centers_and_variances(self, moments: Moments) -> tuple[FloatArray, FloatArray]:
        """Return the mean of every atom and the total variance of every feature."""
        counts = None
        if self.weights is not None and (self.source.kinds == CATEGORICAL).any():
            counts = weighted_level_counts(self.source, self.weights)
        return centers_and_variances(self.source, moments, counts)

    def row_prices(self, C: Any, class_weight: Any) -> FloatArray:
        """Return C of every row of a support vector machine, by its class and its weight."""
        classes = self.classes
        return row_prices(C, class_weight, classes.codes, classes.labels, self.weights)

    def coded(self, rule: CutRule | Cuts | None, n_jobs: int | None = None) -> Codes:
        """Return the columns as codes: numbers cut by a rule or at points, or as they are."""
        return code_columns(
            self.source,
            rule,
            self.target.groups(),
            rows=self._repeated_rows(rule),
            make_error=self.column_error,
            n_jobs=n_jobs,
        )

    def cuts(self, rule: CutRule | Cuts, n_jobs: int | None = None) -> Cuts:
        """Return the points at which numbers of a table in memory are cut."""
        with self.naming_columns():
            refuse_infinite(self.source, n_jobs)
        if isinstance(rule, Cuts):
            return rule
        repeated = self._repeated_rows(rule)
        return learn_cuts(self.source, *self.target.groups(), rule, n_jobs, repeated)

    def _repeated_rows(self, rule: CutRule | Cuts | None) -> IntArray | None:
        """Return the rows, each as often as its weight says, where a rule of cuts counts rows."""
        if self.weights is None or not isinstance(rule, CutRule) or not rule.counts_rows:
            return None
        whole = np.rint(self.weights)
        if (whole != self.weights).any() or whole.sum() > MOST_REPEATED:
            raise DataError(
                f"sample_weight is {self.weights[np.argmax(whole != self.weights)]:g} in a row, "
                f"and discretizer={rule.name!r} counts rows: give whole weights of at most "
                f"{MOST_REPEATED:,} in all, discretizer='equal-width' or None, or cuts that are "
                "learnt, by sklearn's FrozenEstimator"
            )
        return np.repeat(np.arange(len(whole)), whole.astype(np.int64))

    @contextmanager
    def naming_columns(self) -> Iterator[None]:
        """Turn errors about columns that cannot be coded into errors that name the column."""
        try:
            yield
        except (InfiniteError, NotWholeError, TooManyLevelsError) as error:
            raise self.column_error(error) from None

    def column_error(self, error: Any) -> Exception:
        """Return the error about a column that cannot be coded, with its name."""
        column = Column(self.columns.names[error.feature])
        if isinstance(error, TooManyLevelsError):
            return DataError(
                "column ",
                column,
                f" has {error.count} different values, more than the 65534 levels that can be "
                "counted: is it an identifier? Leave it out, or give a discretizer",
            )
        if isinstance(error, InfiniteError) or np.isinf(error.value):
            return self._infinite_error(error.feature)
        return DataError(
            "column ",
            column,
            " is continuous (",
            Row(self.row(error.row)),
            f": {error.value:g}): with ",
            Setting("discretizer", None),
            " numbers are levels as they stand, and must be whole. Give ",
            Setting("discretizer", "mdlp"),
            ", 'pkid', 'equal-frequency' or 'equal-width', or declare the column categorical",
        )

    def _column(self, feature: int) -> np.ndarray:
        values: AnyArray = self.source.load(np.array([feature]))[0]
        return values

    def _infinite_error(self, feature: int) -> DataError:
        values, column = self._column(feature), Column(self.columns.names[feature])
        rows = np.flatnonzero(np.isinf(values))
        if len(rows):
            return DataError(
                "column ",
                column,
                " has an infinite value (inf) in ",
                Row(self.row(rows[0])),
                ": correct it, or make it missing",
            )
        return DataError(
            "column ",
            column,
            f" has values as large as {np.nanmax(np.abs(values)):.3g}, whose squares overflow: "
            "divide the column by a large number",
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
        names = suggest(sorted(set.intersection(*names_by_kind)))
        alternatives = ", ".join(name for name in (instead, names) if name)
        advice = (
            f", or use a method that takes missing values: {alternatives}" if alternatives else ""
        )
        raise DataError(
            "column ",
            Column(self.columns.names[feature]),
            " has a missing value (NaN) in ",
            Row(self.row(row)),
            f"{also}: {method} needs complete columns. Fill them in or leave them out{advice}",
        )


def row_prices(
    C: Any,
    class_weight: Any,
    codes: np.ndarray,
    classes: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return C of every row of a machine with prices by class, or raise ParameterError.

    Parameters
    ----------
    C : float
    class_weight : dict, "balanced" or None
    codes : int array
        Class of every row, as a position in `classes`.
    classes : array
    weights : float array, optional
        Of the rows: a row of weight 2 costs as much as two.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.problem.problem import row_prices
    >>> row_prices(2, {"a": 3}, np.array([0, 0, 1]), np.array(["a", "b"]))
    array([6., 6., 2.])
    """
    weights = np.ones(len(codes)) if weights is None else weights
    if class_weight is None:
        return float(C) * weights
    if isinstance(class_weight, dict):
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ParameterError(
                f"class_weight names {unknown[0]!r}, which is no class; the classes are "
                f"{classes.tolist()}"
            )
        by_class = compute_class_weight(class_weight, classes=classes, y=classes[codes])
    else:
        by_class = weights.sum() / (len(classes) * np.bincount(codes, weights))
    if not (np.isfinite(by_class).all() and (by_class > 0).all()):
        raise ParameterError(f"class_weight={class_weight!r}: weights must be positive")
    prices: AnyArray = float(C) * by_class[codes] * weights
    return prices
