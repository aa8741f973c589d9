"""Base class of the rankers that learn from batches of rows, because their statistics add up."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from featly.base import Problem, Questions, Ranker, Ranking, Weighted
from featly.basics.caller import warn_user
from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.basics.params import check_parameters
from featly.basics.typing import AnyArray, IntArray
from featly.core.runtime.parallel import single_threaded_blas
from featly.problem.ingest import as_stored_table
from featly.problem.ingest_rows import kinds_as_schema
from featly.problem.target import Classes, Target
from featly.table.frames import Table, is_frame, open_table
from featly.table.schema import Columns, Schema

__all__ = ["Additive"]

# parameters that may change between batches: they change no sum
FREE = {"n_features_to_select", "missing", "n_jobs", "device", "memory_limit", "verbose"}


@dataclass(frozen=True)
class Batches:
    """Knowledge of the batches so far.

    Attributes
    ----------
    schema : Schema
        The kinds of the columns of the first batch, and what the user said.
    columns : Columns
        Those of the first batch.
    parameters : dict
        That must not change.
    target_kind : str
    settled
        What the first batch settled for all others.
    statistic
        The sum over all rows.
    labels : array or None
        The classes, sorted; None for other targets.
    weights_are_counts : bool
        Whether the weights of all rows are whole.
    n_rows : int
    """

    schema: Schema
    columns: Columns
    parameters: dict[str, str]
    target_kind: str
    settled: Any
    statistic: Any
    labels: AnyArray | None
    weights_are_counts: bool
    n_rows: int


class _AdditiveState:
    """Attributes of a ranker that has seen batches."""

    _batches: Batches | None = None


class Additive(Weighted, Ranker, _AdditiveState):
    """Base of the rankers that judge columns by a sum over rows.

    A subclass implements ``_statistic(problem, settled)``, whose results for two sets of rows can
    be added by ``+``, and ``_judge(problem, statistic, settled)``, which looks at no row. Where the
    first rows have to settle something for all others, such as cut points, ``_settle(problem)``
    returns it.

    Attributes
    ----------
    n_seen_ : int
        Rows of all batches; after ``partial_fit`` only.
    """

    _adds_targets: ClassVar[tuple[str, ...]] = ("classes",)

    def _settle(self, problem: Problem) -> Any:
        """Return what the first rows settle for all others."""
        return None

    @abstractmethod
    def _statistic(self, problem: Problem, settled: Any) -> Any:
        """Return the sum over the rows."""

    @abstractmethod
    def _judge(self, problem: Problem, statistic: Any, settled: Any) -> Ranking:
        """Rank the columns by a sum; the rows of `problem` are only the last of them."""

    def _asks_of_batches(self, target: str) -> Questions:
        """Return the questions that ``partial_fit`` asks of a batch."""
        return self._asks(target)

    def _rank(self, problem: Problem) -> Ranking:
        settled = self._settle(problem)
        return self._judge(problem, self._statistic(problem, settled), settled)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of rows; the ranking is that of all rows so far.

        Nothing of a batch is kept but its sums. Counts are exact: whatever the batches and their
        order, the ranking is to the bit that of one ``fit`` to all rows with the same cuts. Means
        and variances agree up to rounding. A batch that raises an error changes nothing. After
        ``fit``, which keeps no sums, it begins anew, with a warning.

        Parameters
        ----------
        X : data frame, array, sparse matrix or table on disk of shape (n_rows, n_features)
            The columns of the first batch, in their order and of their kinds. It must fit in
            memory.
        y : sequence of shape (n_rows,)
            A batch may have one class only, and classes that those before do not have.
        classes : sequence, optional
            All classes there are: another one in `y` is then an error.
        sample_weight : sequence of shape (n_rows,), optional
            How many equal rows each row counts as, see ``fit``.

        Returns
        -------
        self

        Examples
        --------
        >>> from featly import InformationGain
        >>> ranker = InformationGain(discretizer=None)
        >>> for X, y in (([[0, 1], [1, 1]], ["a", "b"]), ([[0, 0], [1, 1]], ["a", "b"])):
        ...     ranker = ranker.partial_fit(X, y)
        >>> ranker.scores_.round(2).tolist(), ranker.n_seen_
        ([1.0, 0.31], 4)
        """
        check_parameters(self)
        batches = self._batches
        parameters = self._fixed_parameters()
        if batches is None and hasattr(self, "order_"):
            warn_user(
                f"{type(self).__name__} was fitted by fit, which keeps no sums to add a batch to: "
                "partial_fit begins anew with these rows",
                UserWarning,
            )
        if batches is not None:
            for name, value in parameters.items():
                if value != batches.parameters[name]:
                    raise ParameterError(
                        f"{name} was {batches.parameters[name]} for the first batch and is "
                        f"{value} now: set it back, or begin again with sklearn.base.clone"
                    )
        problem = self._read_batch(X, y, sample_weight, batches)
        with single_threaded_blas():
            problem, batches = self._add_batch(problem, classes, batches, parameters, X)
            ranking = self._judge(problem, batches.statistic, batches.settled)
        self._batches = batches
        self._store(problem, ranking)
        self.n_seen_: int = batches.n_rows
        return self

    def _forget(self) -> None:
        super()._forget()
        self._batches = None

    def _fixed_parameters(self) -> dict[str, str]:
        return {
            name: repr(v) for name, v in self.get_params(deep=False).items() if name not in FREE
        }

    # ---- reading ----------------------------------------------------------------------------
    def _read_batch(self, X: Any, y: Any, sample_weight: Any, batches: Batches | None) -> Problem:
        schema = None if batches is None else batches.schema
        if batches is not None and is_frame(X):
            _check_kinds(open_table(X), batches.columns, Schema.of(self.schema))
        problem = self._read(X, y, sample_weight, batch=True, schema=schema)
        kind, name = problem.target.kind, type(self).__name__
        if kind not in self._adds_targets:
            raise DataError(
                f"y holds {kind}, where {name}.partial_fit takes "
                f"{' or '.join(self._adds_targets)}: what it sums depends on all rows. Use fit"
            )
        if batches is not None and kind != batches.target_kind:
            raise DataError(
                f"y holds {kind} in this batch, and {batches.target_kind} in the first: say which "
                "by Schema(target_kind=...)"
            )
        problem = problem.in_memory(f"{name}.partial_fit")
        stored = as_stored_table(X, mapped=False)
        if stored is not None and stored.dtype is None:  # to have the names of its levels
            frame = stored.take_frame(np.arange(stored.n_features))
            return self._read_batch(frame, y, sample_weight, batches)
        return problem

    def _add_batch(
        self,
        problem: Problem,
        classes: Any,
        batches: Batches | None,
        parameters: dict[str, str],
        X: Any,
    ) -> tuple[Problem, Batches]:
        """Return the problem with the target of all batches, and these with one more."""
        _check_classes(problem.target, classes)

        def compute(problem: Problem) -> tuple[Any, Any]:
            settled = self._settle(problem) if batches is None else batches.settled
            return settled, self._statistic(problem, settled)

        questions = self._asks_of_batches(problem.target.kind)
        settled, statistic = self._run(questions, problem, compute)
        labels = problem.target.labels if isinstance(problem.target, Classes) else None
        n_rows = problem.source.n_rows
        if batches is None:
            kinds = _kinds_of(X, problem.columns, self.schema)
            return problem, Batches(
                replace(kinds, target_kind=problem.target.kind),
                problem.columns,
                parameters,
                problem.target.kind,
                settled,
                statistic,
                labels,
                problem.weights_are_counts,
                n_rows,
            )
        before = batches.statistic
        if labels is not None:
            assert batches.labels is not None
            both = _join_labels(batches.labels, labels)
            before = before.in_groups(np.searchsorted(both, batches.labels), len(both))
            places = np.searchsorted(both, labels)
            statistic = statistic.in_groups(places, len(both))
            target = Classes(places[problem.target.groups().codes], both)
            problem, labels = replace(problem, target=target), both
        are_counts = problem.weights_are_counts and batches.weights_are_counts
        return replace(problem, weights_are_counts=are_counts), replace(
            batches,
            statistic=before + statistic,
            labels=labels,
            weights_are_counts=are_counts,
            n_rows=n_rows + batches.n_rows,
        )


def _kinds_of(X: Any, columns: Columns, schema: Any) -> Schema:
    """Return the user's schema with the kinds that the columns of a batch have."""
    stated: Schema = Schema.of(schema)
    table = _as_table(X)
    if table is None:
        return stated
    codes: IntArray = np.flatnonzero(columns.kinds == CATEGORICAL)
    kinds = kinds_as_schema(table, columns, codes)
    return replace(
        stated, categorical=kinds.categorical, ordinal=kinds.ordinal, continuous=kinds.continuous
    )


def _as_table(X: Any) -> Table | None:
    """Return a frame, or an array that holds text, as a table."""
    if is_frame(X):
        return open_table(X)
    array = X if hasattr(X, "dtype") else np.asarray(X)
    if getattr(array.dtype, "kind", "f") in "OUST":
        return open_table(np.array(X, dtype=object))
    return None


def _check_kinds(table: Table, first: Columns, schema: Schema) -> None:
    """Raise DataError for a column of text where the first batch had numbers, or the reverse."""
    if len(table.names) != len(first.kinds):
        return  # the error of scikit-learn is clear
    declared = {
        name for part in (schema.categorical, schema.ordinal, schema.continuous) for name in part
    }
    words = ("numbers", "text")
    for column, kind in enumerate(table.kinds()):
        was_text, is_text = (int(k != CONTINUOUS) for k in (first.inferred[column], kind))
        name = table.names[column]
        if was_text == is_text or name in declared or column in declared:
            continue
        if not is_text and np.isnan(table.numbers([column])).all():
            continue  # no value says nothing
        raise DataError(
            f"column {name!r} holds {words[is_text]} in this batch, and {words[was_text]} in the "
            "first: correct it, or declare its kind in the schema"
        )


def _check_classes(target: Target, classes: Any) -> None:
    """Raise DataError for a class that is not among those that the user gave."""
    if classes is None:
        return
    if not isinstance(target, Classes):
        raise ParameterError(f"classes is for a target of classes, and y holds {target.kind}")
    known = set(np.asarray(classes).tolist())
    for label in target.labels.tolist():
        if label not in known:
            raise DataError(f"y holds {label!r}, which is not among the classes {sorted(known)}")


def _join_labels(known: AnyArray, new: AnyArray) -> AnyArray:
    """Return the labels of both, sorted."""
    if known.dtype.kind in "biuf" and new.dtype.kind in "biuf":
        return np.union1d(known, new)
    labels = set(known.tolist()) | set(new.tolist())
    try:
        joined = sorted(labels)
    except TypeError:
        raise DataError(
            f"y holds {new.tolist()[0]!r} in this batch, and {known.tolist()[0]!r} in those "
            "before: make all labels text, or all numbers"
        ) from None
    out = np.array(joined)
    return out if out.dtype.kind == known.dtype.kind else np.array(joined, dtype=object)
