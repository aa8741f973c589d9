"""Sources of columns, and the computations that they offer."""

from featly.core.sources.base import Comoments, Moments, Source, centers_and_variances, unit_scale
from featly.core.sources.csc import CSCSource
from featly.core.sources.dense import DenseSource, compact_if_small
from featly.core.sources.streamed import ColumnStore, MappedStore, StreamedSource
from featly.core.sources.weighted import (
    weighted_comoments,
    weighted_level_counts,
    weighted_moments,
)

__all__ = [
    "CSCSource",
    "ColumnStore",
    "Comoments",
    "DenseSource",
    "MappedStore",
    "Moments",
    "Source",
    "StreamedSource",
    "centers_and_variances",
    "compact_if_small",
    "unit_scale",
    "weighted_comoments",
    "weighted_level_counts",
    "weighted_moments",
]
