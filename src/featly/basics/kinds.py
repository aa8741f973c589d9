"""The kinds of column, as small numbers in arrays and as words in texts; the kinds of target."""

import numpy as np

__all__ = ["CATEGORICAL", "CONTINUOUS", "KINDS", "ORDINAL", "TARGET_KINDS"]

CONTINUOUS, ORDINAL, CATEGORICAL = np.uint8(0), np.uint8(1), np.uint8(2)
KINDS = ("continuous", "ordinal", "categorical")
TARGET_KINDS = ("classes", "numbers", "survival")
