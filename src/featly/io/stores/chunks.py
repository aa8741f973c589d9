"""Columns of an array that is stored in chunks, each of which is read whole or not at all."""

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from featly.basics.errors import SlowWarning
from featly.basics.resources import in_words

__all__ = ["Bands"]

HELD_BANDS = 2
BAND_BYTES = 1 << 26  # a wider band is not held
BLOCK_BYTES = 1 << 25  # what a block is expected to take
WORTH_A_WARNING = 8  # times that everything is read

Fetch = Callable[[int, int], np.ndarray]


class Bands:
    """Reads columns by bands, which are as wide as a chunk and as tall as the table.

    Of a band that begins or ends outside of what is asked for, the rest will be asked for next. So
    it is held, if it is not too large. Columns that fill their bands are read directly.

    Parameters
    ----------
    shape : tuple of int
    width : int
        Columns of a chunk.
    dtype : dtype

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0).reshape(1, 10)
    >>> def fetch(low, high):
    ...     print("fetched", low, high)
    ...     return X[:, low:high].copy()
    >>> bands = Bands(X.shape, 4, X.dtype)
    >>> bands.read(0, 3, fetch)
    fetched 0 4
    array([[0., 1., 2.]])
    >>> bands.read(3, 8, fetch)
    fetched 4 8
    array([[3., 4., 5., 6., 7.]])
    """

    def __init__(self, shape: tuple[int, int], width: int, dtype: np.dtype[Any]) -> None:
        self.n_rows, self.n_features = shape
        self.width = min(width, self.n_features)
        self.dtype = dtype
        self._lock = threading.Lock()
        self._held: OrderedDict[int, np.ndarray] = OrderedDict()

    @property
    def band_bytes(self) -> int:
        """Bytes of a band."""
        return self.n_rows * self.width * self.dtype.itemsize

    @property
    def holds(self) -> bool:
        """Whether bands are small enough to be held."""
        return self.band_bytes <= BAND_BYTES

    def warn(self, name: str, chunks: tuple[int, int], stacklevel: int) -> None:
        """Say so if blocks of columns would be cut out of chunks that are read again and again."""
        times = min(self.band_bytes, self.n_rows * self.n_features * self.dtype.itemsize)
        times //= BLOCK_BYTES
        if not self.holds and times >= WORTH_A_WARNING:
            warnings.warn(
                f"{name} lies in chunks of {chunks[0]} rows and {chunks[1]} columns: with blocks "
                f"of {in_words(BLOCK_BYTES)} everything is read about {times} times. Write it in "
                f"chunks of {self.n_rows} rows and a few hundred columns",
                SlowWarning,
                stacklevel=stacklevel + 1,
            )

    def read(self, low: int, high: int, fetch: Fetch) -> np.ndarray:
        """Columns ``low:high``, row-major; ``fetch(low, high)`` reads some as a new array."""
        width, p = self.width, self.n_features
        whole = low % width == 0 and (high % width == 0 or high == p)
        if whole or not self.holds:
            return fetch(low, high)
        out = np.empty((self.n_rows, high - low), self.dtype)
        place = low
        while place < high:
            band = place // width
            end = min((band + 1) * width, high)
            if place == band * width and end == min((band + 1) * width, p):
                end = max(end, min(high // width * width, p))  # whole bands, in one go
                out[:, place - low : end - low] = fetch(place, end)
            else:
                found = self._band(band, fetch)
                first = band * width
                out[:, place - low : end - low] = found[:, place - first : end - first]
            place = end
        return out

    def _band(self, band: int, fetch: Fetch) -> np.ndarray:
        with self._lock:  # who wants the same band waits for it
            if band not in self._held:
                low = band * self.width
                found = fetch(low, min(low + self.width, self.n_features))
                while len(self._held) >= HELD_BANDS:
                    self._held.popitem(last=False)
                self._held[band] = found
            self._held.move_to_end(band)
            return self._held[band]

    def clear(self) -> None:
        """Let go of what is held."""
        with self._lock:
            self._held.clear()
