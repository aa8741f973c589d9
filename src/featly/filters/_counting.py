"""What the filters that count have in common: cutting numbers into levels, and missing values."""

from collections.abc import Callable
from typing import Any

import numpy as np

from featly.base import Problem, Ranker, SubsetSelector
from featly.basics.errors import ParameterError
from featly.core.counts.codes import Codes, spread
from featly.core.counts.contingency import Tables, chi_squared
from featly.core.counts.discretise import CutRule
from featly.core.counts.entropy import ClassInformation, class_information
from featly.core.counts.streamed_codes import StreamedCodes
from featly.core.runtime.device_cuda import NotOnDevice
from featly.problem.place import device_codes
from featly.table.schema import Schema

__all__ = ["CountingRanker", "CountingSelector", "rule_of"]

RULES = ("mdlp", "pkid", "equal-width", "equal-frequency")
MISSING = ("level", "spread")


class _Counting:
    """Parameters `discretizer` and `missing`, and the columns as codes."""

    _kinds = ("continuous", "ordinal", "categorical")
    _missing = True

    def _takes_integers(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        rule_of(self.discretizer)  # type: ignore[attr-defined]
        given = self.missing  # type: ignore[attr-defined]
        if not isinstance(given, str) or given not in MISSING:
            raise ParameterError(
                f"missing={given!r}: give 'level', a level of its own, or 'spread', over the "
                "levels in proportion"
            )

    def _codes(self, problem: Problem) -> Codes:
        rule = rule_of(self.discretizer)  # type: ignore[attr-defined]
        return problem.coded(rule, self.n_jobs)  # type: ignore[attr-defined]

    def _judged(self, problem: Problem, judge: Callable[[Tables], Any]) -> list[Any]:
        """What is made of the counts of the levels of every column in every class.

        Missing values are among them. Of a table on disk, there are as many counts at a time as
        there are columns in a range.
        """
        codes = self._codes(problem)

        def one(some: Codes) -> Any:
            tables = some.tables(problem.y, len(problem.classes))
            return judge(spread(tables) if self.missing == "spread" else tables)  # type: ignore[attr-defined]

        return codes.each(one) if isinstance(codes, StreamedCodes) else [one(codes)]

    def _information(self, problem: Problem) -> ClassInformation:
        """What each column tells about the class."""
        n_rows, n_jobs = problem.source.n_rows, self.n_jobs  # type: ignore[attr-defined]
        found = self._judged(problem, lambda tables: class_information(tables, n_rows, n_jobs))
        return ClassInformation.joined(found)


class CountingRanker(_Counting, Ranker):
    """Base of the rankers that count levels; see :class:`InformationGain` for the parameters.

    Of whole numbers on a GPU, tables are counted and judged there.
    """

    _streams = True
    _on_device = True

    def _device_form(self) -> str:
        return "own"

    def _information(self, problem: Problem) -> ClassInformation:
        if not problem.on_device:
            return super()._information(problem)
        from featly.core.counts import entropy_cuda as twin

        with problem.blaming():
            codes = self._device_codes(problem)
            return twin.class_information(codes, problem.y, len(problem.classes))

    def _chi_squared(self, problem: Problem) -> tuple[Any, Any]:
        """Pearson's statistic of every column, and its degrees of freedom."""
        if not problem.on_device:
            found = self._judged(problem, lambda tables: chi_squared(tables, self.n_jobs))
            statistic, freedom = (np.concatenate(part) for part in zip(*found, strict=True))
            return statistic, freedom
        from featly.core.counts import entropy_cuda as twin

        with problem.blaming():
            codes = self._device_codes(problem)
            return twin.chi_squared(codes, problem.y, len(problem.classes))

    def _device_codes(self, problem: Problem) -> Any:
        """The columns as codes on the device."""
        codes = device_codes(problem, rule_of(self.discretizer), self.n_jobs)
        if self.missing == "spread" and codes.any_missing():
            raise NotOnDevice("missing='spread' is computed on the CPU")
        return codes

    def __init__(
        self,
        *,
        n_features_to_select: int | float | str | None = None,
        discretizer: Any = "mdlp",
        missing: str = "level",
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        memory_limit: int | str | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.discretizer = discretizer
        self.missing = missing
        self.schema = schema
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit


class CountingSelector(_Counting, SubsetSelector):
    """Base of the subset selectors that count levels."""


def rule_of(discretizer: Any) -> CutRule | None:
    """How numbers are cut: a name, an instance of a discretiser, or None for not at all.

    Examples
    --------
    >>> from featly.filters._counting import rule_of
    >>> rule_of("pkid").name, rule_of(None)
    ('pkid', None)
    """
    if discretizer is None:
        return None
    if isinstance(discretizer, str) and discretizer in RULES:
        # the code of a cut that Weka's evaluators use; of the other rules it has no say
        return CutRule(discretizer, encoding="distinct")
    rule = getattr(discretizer, "cut_rule", None)
    if rule is not None and not isinstance(discretizer, type):
        return rule()  # type: ignore[no-any-return]
    raise ParameterError(
        f"discretizer={discretizer!r}: give {', '.join(map(repr, RULES))}, a discretiser of "
        "featly.preprocessing, or None for numbers that are levels already"
    )
