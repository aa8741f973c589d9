"""Base classes of the filters that count levels: cutting numbers, missing values."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from featly.base import Problem, Ranker, SubsetSelector
from featly.basics.errors import ParameterError
from featly.core.counts.codes import Codes, spread_missing
from featly.core.counts.contingency import Tables, chi_squared
from featly.core.counts.discretise import CutRule
from featly.core.counts.entropy import ClassInformation, class_information
from featly.core.counts.streamed_codes import StreamedCodes
from featly.core.runtime.device_cuda import NotOnDevice
from featly.problem.place import device_codes
from featly.table.schema import Schema

__all__ = ["CountingRanker", "CountingSelector", "cut_rule_from"]

RULES = ("mdlp", "pkid", "equal-width", "equal-frequency")
MISSING = ("level", "spread")


class _Counting:
    """Parameters `discretizer` and `missing`, and the columns as codes."""

    _kinds: ClassVar[tuple[str, ...]] = ("continuous", "ordinal", "categorical")
    _missing = True
    _targets: ClassVar[tuple[str, ...]] = ("classes", "numbers", "survival")

    def _takes_integers(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        cut_rule_from(self.discretizer)  # type: ignore[attr-defined]
        missing = self.missing  # type: ignore[attr-defined]
        if not isinstance(missing, str) or missing not in MISSING:
            raise ParameterError(
                f"missing={missing!r}: give 'level', a level of its own, or 'spread', over the "
                "levels in proportion"
            )

    def _codes(self, problem: Problem) -> Codes:
        rule = cut_rule_from(self.discretizer)  # type: ignore[attr-defined]
        return problem.coded(rule, self.n_jobs)  # type: ignore[attr-defined]

    def _map_tables(self, problem: Problem, compute: Callable[[Tables], Any]) -> list[Any]:
        """Compute something from the counts of the levels of every column in every class.

        Missing values have a level of their own, or are spread over the others. A table on disk
        is counted one range of columns at a time, and the list has one entry for each range.
        """
        codes, groups = self._codes(problem), problem.target.groups()

        def count_part(part: Codes) -> Any:
            tables = part.tables(*groups)
            return compute(spread_missing(tables) if self.missing == "spread" else tables)  # type: ignore[attr-defined]

        return codes.each(count_part) if isinstance(codes, StreamedCodes) else [count_part(codes)]

    def _information(self, problem: Problem) -> ClassInformation:
        """Return the information of each column about the class."""
        n_rows, n_jobs = problem.source.n_rows, self.n_jobs  # type: ignore[attr-defined]
        parts = self._map_tables(problem, lambda tables: class_information(tables, n_rows, n_jobs))
        return ClassInformation.concatenate(parts)


class CountingRanker(_Counting, Ranker):
    """Base of the rankers that count levels; see :class:`InformationGain` for the parameters.

    Whole numbers on a GPU are counted and scored there.
    """

    _streams = True
    _on_device = True

    def _device_form(self) -> str:
        return "own"

    def _information(self, problem: Problem) -> ClassInformation:
        if not problem.on_device:
            return super()._information(problem)
        from featly.core.counts import entropy_cuda as cuda

        with problem.naming_columns():
            codes = self._device_codes(problem)
            return cuda.class_information(codes, *problem.target.groups())

    def _chi_squared(self, problem: Problem) -> tuple[Any, Any]:
        """Return Pearson's statistic of every column, and its degrees of freedom."""
        if not problem.on_device:
            parts = self._map_tables(problem, lambda tables: chi_squared(tables, self.n_jobs))
            statistic, freedom = (np.concatenate(part) for part in zip(*parts, strict=True))
            return statistic, freedom
        from featly.core.counts import entropy_cuda as cuda

        with problem.naming_columns():
            codes = self._device_codes(problem)
            return cuda.chi_squared(codes, *problem.target.groups())

    def _device_codes(self, problem: Problem) -> Any:
        """Return the columns as codes on the device."""
        codes = device_codes(problem, cut_rule_from(self.discretizer), self.n_jobs)
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


def cut_rule_from(discretizer: Any) -> CutRule | None:
    """Return the cut rule of a name or of a discretiser; None leaves numbers uncut.

    Examples
    --------
    >>> from featly.filters._counting import cut_rule_from
    >>> cut_rule_from("pkid").name, cut_rule_from(None)
    ('pkid', None)
    """
    if discretizer is None:
        return None
    if isinstance(discretizer, str) and discretizer in RULES:
        # the coding of a cut that Weka's evaluators use; only MDLP codes cuts, and MDLP() otherwise
        return CutRule(discretizer, encoding="distinct")
    rule = getattr(discretizer, "cut_rule", None)
    if rule is not None and not isinstance(discretizer, type):
        return rule()  # type: ignore[no-any-return]
    raise ParameterError(
        f"discretizer={discretizer!r}: give {', '.join(map(repr, RULES))} ('mdlp' is "
        "MDLP(encoding='distinct')), a discretiser of featly.preprocessing such as MDLP(), or None "
        "for numbers that are levels already"
    )
