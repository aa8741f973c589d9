"""Where the columns lie, and the questions one may ask them."""

from featly.core.sources.base import Moments, Source, standardisation
from featly.core.sources.csc import CSCSource
from featly.core.sources.dense import DenseSource

__all__ = ["CSCSource", "DenseSource", "Moments", "Source", "standardisation"]
