"""Columns of a source as codes on the device.

Whole numbers are coded there. Others are discretised on the host, and the codes are copied.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from featly.basics.resources import Resources
from featly.basics.typing import AnyArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.codes_cuda import CudaCodes
from featly.core.counts.coding import code_columns
from featly.core.counts.discretise import CutRule, Cuts
from featly.core.sources import DenseSource, Source
from featly.core.sources.lent_cuda import LentSource
from featly.core.sources.questions import fetch_to_host
from featly.core.sources.source_cuda import CudaSource

__all__: list[str] = []


@code_columns.answer(CudaSource)
def _code_device_table(
    source: CudaSource, rule: CutRule | Cuts | None, groups: tuple[IntArray, int], **options: Any
) -> CudaCodes:
    """Code the table of a user on the device, or its copy on the host."""

    def code_on_host() -> Codes:
        memory = Resources(memory=source.host_memory).memory_budget
        return code_columns(fetch_to_host(source, memory, integers=True), rule, groups, **options)

    values = source.values if source.place is None else None
    return _code(values if rule is None else None, code_on_host)


@code_columns.answer(LentSource)
def _code_lent_table(
    source: LentSource, rule: CutRule | Cuts | None, groups: tuple[IntArray, int], **options: Any
) -> CudaCodes:
    """Code a table on the host, block by block."""

    def code_on_host() -> Codes:
        return code_columns(source.lender, rule, groups, **options)

    return _code(_plain_numbers(source.lender) if rule is None else None, code_on_host)


def _code(values: Any, code_on_host: Callable[[], Codes]) -> CudaCodes:
    """Code whole numbers on the device; without them, copy codes of the host."""
    if values is not None:
        return CudaCodes.from_array(values, code_on_host=code_on_host)
    return CudaCodes.from_codes(code_on_host())


def _plain_numbers(source: Source) -> AnyArray | None:
    """Return the matrix of a table of numbers in memory, if it has its columns in their order."""
    if not isinstance(source, DenseSource) or len(source.categorical):
        return None
    in_table_order = np.arange(source.values.shape[1])
    return source.values if np.array_equal(source.place, in_table_order) else None
