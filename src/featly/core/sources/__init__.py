"""Where the columns lie, and the questions one may ask them."""

from featly.core.sources.base import Moments, Source, centers_and_variances, unit_scale
from featly.core.sources.csc import CSCSource
from featly.core.sources.dense import DenseSource, compacted

__all__ = [
    "CSCSource",
    "DenseSource",
    "Moments",
    "Source",
    "centers_and_variances",
    "compacted",
    "unit_scale",
]
