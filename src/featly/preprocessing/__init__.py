"""Discretisers, encoders and filling of missing values, for tables before a method."""

from featly.preprocessing.equal_bins import EqualFrequency, EqualWidth
from featly.preprocessing.filling import Filler, fill_missing
from featly.preprocessing.mdlp import MDLP
from featly.preprocessing.pkid import PKID
from featly.preprocessing.ssv import SSVEncoder

__all__ = [
    "MDLP",
    "PKID",
    "EqualFrequency",
    "EqualWidth",
    "Filler",
    "SSVEncoder",
    "fill_missing",
]
