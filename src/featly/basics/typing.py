"""Types of arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["AnyArray", "BoolArray", "ByteArray", "FloatArray", "IntArray", "WordArray"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
WordArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]
