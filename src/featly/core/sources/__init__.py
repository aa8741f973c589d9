"""Where the columns lie, and the questions one may ask them."""

from featly.core.sources.base import CATEGORICAL, CONTINUOUS, ORDINAL, Moments, Source
from featly.core.sources.csc import CSCSource
from featly.core.sources.dense import DenseSource

__all__ = [
    "CATEGORICAL",
    "CONTINUOUS",
    "ORDINAL",
    "CSCSource",
    "DenseSource",
    "Moments",
    "Source",
]
