"""Columns that are ready to be compared in pairs, wherever their table lies."""

from typing import Any

import numpy as np

from featly.basics.typing import IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.streamed_codes import CodesInOrder, StreamedCodes
from featly.core.pairs.correlation import UnitColumns
from featly.core.pairs.order import columns_in_order
from featly.core.pairs.uncertainty import CodedColumns
from featly.core.runtime.question import question
from featly.core.sources import Source, StreamedSource

__all__ = ["arrange", "coded_columns", "unit_columns"]


@question(gpu="featly.core.pairs.columns_cuda")
def unit_columns(source: Source, *, ranks: bool = False) -> Any:
    """Return columns of numbers, or their ranks, to be compared by correlation."""
    return UnitColumns(source, ranks=ranks)


@question(gpu="featly.core.pairs.columns_cuda")
def coded_columns(codes: Codes) -> Any:
    """Return columns of levels to be compared by symmetric uncertainty."""
    return CodedColumns(codes)


@question(gpu="featly.core.pairs.columns_cuda")
def arrange(table: Any, order: IntArray) -> tuple[Any, IntArray]:
    """Return a source, or codes, to be read in an order, and the positions of the columns in it.

    It is the same in memory; on disk, a copy in which these columns follow each other.
    """
    return table, order


@arrange.answer(StreamedSource)
def _arrange_source(table: StreamedSource, order: IntArray) -> tuple[Any, IntArray]:
    """Copy numbers on disk."""
    return columns_in_order(table, order), np.arange(len(order))


@arrange.answer(StreamedCodes)
def _arrange_codes(table: StreamedCodes, order: IntArray) -> tuple[Any, IntArray]:
    """Code columns once, and write the codes to disk."""
    return CodesInOrder(table, order), np.arange(len(order))
