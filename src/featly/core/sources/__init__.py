"""Where the columns lie, and the questions one may ask them."""

from featly.core.sources.base import Moments, Source, centers_and_variances, unit_scale
from featly.core.sources.csc import CSCSource
from featly.core.sources.dense import DenseSource, compacted
from featly.core.sources.streamed import ColumnStore, Mapped, StreamedSource

__all__ = [
    "CSCSource",
    "ColumnStore",
    "DenseSource",
    "Mapped",
    "Moments",
    "Source",
    "StreamedSource",
    "centers_and_variances",
    "compacted",
    "unit_scale",
]
