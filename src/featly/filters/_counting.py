"""Base classes of the filters that count levels: cutting numbers, missing values."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.frozen import FrozenEstimator

from featly.additive import Additive
from featly.base import Problem, Questions, Ranker, Ranking, SubsetSelector
from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import CATEGORICAL
from featly.basics.params import OneOf, Parameters, check_value
from featly.core.counts.codes import Codes, count_levels, select_columns, spread_missing
from featly.core.counts.coding import code_columns
from featly.core.counts.contingency import Tables
from featly.core.counts.discretise import CutRule, Cuts
from featly.core.counts.entropy import ClassInformation, class_information
from featly.core.counts.level_counts import LevelCounts, level_labels
from featly.core.counts.uncertainty import uncertainty
from featly.problem.parameters import OnDevice, Streaming

__all__ = [
    "CountingFilter",
    "CountingRanker",
    "CountingSelector",
    "Discretizing",
    "SpreadsMissing",
    "cut_rule_from",
    "is_cut_by_class",
    "read_cuts",
]

RULES = ("mdlp", "pkid", "equal-width", "equal-frequency")


class Discretizer(OneOf):
    """A way to cut numbers into levels: a name, or a discretiser."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.words = [
            *self.words,
            "a discretiser of featly.preprocessing ('mdlp' is MDLP(encoding='distinct'))",
            "one that is fitted and frozen by sklearn's FrozenEstimator",
        ]

    def accepts(self, value: Any) -> bool:
        """Return whether a value says how to cut numbers."""
        is_frozen = isinstance(value, FrozenEstimator)
        rule = getattr(value.estimator if is_frozen else value, "cut_rule", None)
        return super().accepts(value) or (rule is not None and not isinstance(value, type))


DISCRETIZER = Discretizer(*RULES)


class Discretizing(Parameters):
    """Methods that cut numbers into levels."""

    discretizer: Annotated[Any | None, DISCRETIZER] = "mdlp"


class SpreadsMissing(Parameters):
    """Methods that count a missing value as a level, or over the others."""

    missing: Annotated[str, OneOf("level", "spread")] = "level"


class _Counting:
    """The columns as codes."""

    _kinds: ClassVar[tuple[str, ...]] = ("continuous", "ordinal", "categorical")
    _missing = True
    _targets: ClassVar[tuple[str, ...]] = ("classes", "numbers", "survival")

    @property
    def _reads_missing(self) -> bool:
        return getattr(self, "missing", "level") == "level"

    def _takes_integers(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        cut_rule_from(self.discretizer)  # type: ignore[attr-defined]

    def _codes(self, problem: Problem) -> Codes:
        cuts = read_cuts(self.discretizer, problem)  # type: ignore[attr-defined]
        return problem.coded(cuts, self.n_jobs)  # type: ignore[attr-defined]

    def _map_tables(self, problem: Problem, compute: Callable[[Tables], Any]) -> list[Any]:
        """Compute something from the counts of the levels of every column in every class.

        Missing values have a level of their own, or are spread over the others. A table on disk
        is counted one range of columns at a time, and the list has one entry for each range.
        """
        codes = self._codes(problem)

        def count_part(part: Codes) -> Any:
            return compute(self._spread(problem.tables(part)))

        with problem.naming_columns():
            return codes.each(count_part)

    def _spread(self, tables: Tables) -> Tables:
        """Return the counts with missing values spread over the levels, if they are to be."""
        return spread_missing(tables) if self.missing == "spread" else tables  # type: ignore[attr-defined]


class CountingRanker(OnDevice, Streaming, SpreadsMissing, Discretizing, _Counting, Ranker):
    """Base of the rankers that count levels; see :class:`InformationGain` for the parameters."""

    _scores_one_by_one = True


@dataclass(frozen=True)
class Settled:
    """Facts that the first rows settle for all others: cuts of numbers, and names of levels."""

    cuts: Cuts | None
    names: dict[int, dict[str, int]] = field(default_factory=dict)


class CountingFilter(CountingRanker, Additive):
    """Base of the filters that judge each column by the table of its levels against the classes.

    Whole numbers on a GPU are counted and scored there.
    """

    _adds_targets = ("classes",)

    @abstractmethod
    def _rank_measures(self, problem: Problem, measures: Any) -> Ranking:
        """Rank columns by what ``_measure`` says of them."""

    def _measure(self, tables: Tables, n_rows: float) -> Any:
        """Measure the tables of some columns."""
        return class_information(tables, n_rows, self.n_jobs)

    def _join(self, parts: Sequence[Any]) -> Any:
        """Join the measures of ranges of columns."""
        return ClassInformation.concatenate(parts)

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, count_levels, spread_missing, class_information)

    def _asks_of_batches(self, target: str) -> Questions:
        return (code_columns, level_labels)

    def _rank(self, problem: Problem) -> Ranking:
        n_rows = problem.total
        parts = self._map_tables(problem, lambda tables: self._measure(tables, n_rows))
        return self._rank_measures(problem, self._join(parts))

    # ---- batches ----------------------------------------------------------------------------
    def _settle(self, problem: Problem) -> Settled:
        cuts = read_cuts(self.discretizer, problem)
        if isinstance(cuts, CutRule):
            if cuts.is_supervised and problem.target.groups().n_groups < 2:
                raise DataError(
                    "y of the first batch has one class only, and "
                    f"discretizer={self.discretizer!r} learns its cuts from that batch and needs "
                    "two. Give more rows first, or cuts that are learnt: "
                    "discretizer=FrozenEstimator(MDLP().fit(X, y))"
                )
            cuts = problem.cuts(cuts, self.n_jobs)
        return Settled(cuts)

    def _statistic(self, problem: Problem, settled: Settled) -> LevelCounts:
        codes = problem.coded(settled.cuts, self.n_jobs)
        labels = level_labels(codes)
        start = np.concatenate([[0], np.cumsum(codes.n_levels + 1)])
        for column, texts in problem.columns.texts.items():
            names = settled.names.setdefault(column, {})
            numbers = [names.setdefault(text, len(names)) for text in texts]
            first = start[column] + 1
            labels[first : first + len(numbers)] = numbers
        return LevelCounts.from_tables(problem.tables(codes), labels)

    def _judge(self, problem: Problem, statistic: LevelCounts, settled: Settled) -> Ranking:
        for column, names in settled.names.items():  # sorted, whenever they came
            order = sorted(names, key=str)
            position = {name: place for place, name in enumerate(order)}
            new_labels = np.array([position[name] for name in names], np.float64)
            statistic = statistic.relabel(column, new_labels)
        n_rows = statistic.counts[statistic.columns == 0].sum()
        measures = self._measure(self._spread(statistic.tables()), n_rows)
        return self._rank_measures(problem, measures)


class CountingSelector(_Counting, SubsetSelector):
    """Base of the subset selectors that count levels."""

    def _asks(self, target: str = "classes") -> Questions:
        return (code_columns, uncertainty, select_columns)


def cut_rule_from(discretizer: Any) -> CutRule | None:
    """Return the cut rule of a name or of a discretiser; None leaves numbers uncut.

    Examples
    --------
    >>> from featly.filters._counting import cut_rule_from
    >>> cut_rule_from("pkid").name, cut_rule_from(None)
    ('pkid', None)
    """
    check_value("discretizer", discretizer, DISCRETIZER, optional=True)
    if discretizer is None:
        return None
    if isinstance(discretizer, str):
        # the coding of a cut that Weka's evaluators use; only MDLP codes cuts, and MDLP() otherwise
        return CutRule(discretizer, encoding="distinct")
    if isinstance(discretizer, FrozenEstimator):
        if not hasattr(discretizer, "cuts_"):
            raise ParameterError(
                f"discretizer={discretizer!r} is not fitted: call its fit before it is frozen"
            )
        discretizer = discretizer.estimator
    rule: CutRule = discretizer.cut_rule()
    return rule


def is_cut_by_class(discretizer: Any) -> bool:
    """Return whether numbers are cut where the classes differ."""
    rule = cut_rule_from(discretizer)
    return rule is not None and rule.is_supervised


def read_cuts(discretizer: Any, problem: Problem) -> CutRule | Cuts | None:
    """Return the rule by which the numbers of a table are cut, or the cuts of a frozen discretiser.

    Raise DataError if it was fitted to other columns.
    """
    rule = cut_rule_from(discretizer)
    if not isinstance(discretizer, FrozenEstimator):
        return rule
    fitted, columns = discretizer.estimator, problem.columns
    cuts: Cuts = fitted.cuts()
    names = getattr(fitted, "feature_names_in_", None)
    if problem.features is not None:  # a part of the columns of a table that was checked
        cuts, names = cuts.take(problem.features), None
    n_columns, n_fitted = len(columns.kinds), len(cuts.counts)
    if n_fitted != n_columns:
        raise DataError(
            f"X has {n_columns} columns and the frozen discretizer was fitted to {n_fitted}: fit "
            "it to a table of the same columns"
        )
    for k, name in enumerate([] if names is None else names):
        if columns.names[k] != name:
            raise DataError(
                f"column {k} of X is {columns.names[k]!r}, and was {name!r} where the frozen "
                "discretizer was fitted: give the columns in that order"
            )
    differs = np.flatnonzero((columns.kinds == CATEGORICAL) & (cuts.counts > 0))
    if len(differs):
        raise DataError(
            f"column {columns.names[int(differs[0])]!r} is categorical, and was cut where the "
            "frozen discretizer was fitted: give both the same schema"
        )
    return cuts
