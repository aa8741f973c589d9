"""Columns of an array that is stored in chunks, where only whole chunks can be read."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import SlowWarning
from featly.basics.resources import format_bytes

__all__ = ["Bands"]

HELD_BANDS = 2  # bands in the cache
BAND_BYTES = 1 << 26  # larger bands are not cached
BLOCK_BYTES = 1 << 25  # expected size of a block
WORTH_A_WARNING = 8  # times that the whole array is read

Fetch = Callable[[int, int], np.ndarray]


class Bands:
    """Reader of columns by bands, which are as wide as a chunk and as tall as the table.

    If only a part of a band is requested, the rest is likely to be requested next. So the band is
    cached, if it is not too large. Whole bands are read directly.

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

    n_features: int
    n_rows: int

    def __init__(self, shape: tuple[int, int], width: int, dtype: np.dtype[Any]) -> None:
        self.n_rows, self.n_features = shape
        self.width: int = min(width, self.n_features)
        self.dtype = dtype
        self._lock = threading.Lock()
        self._cache: OrderedDict[int, np.ndarray] = OrderedDict()

    @property
    def band_bytes(self) -> int:
        """Bytes of a band."""
        return self.n_rows * self.width * self.dtype.itemsize

    @property
    def is_cached(self) -> bool:
        """Return whether bands are small enough to be cached."""
        return self.band_bytes <= BAND_BYTES

    def warn(self, name: str, chunks: tuple[int, int]) -> None:
        """Warn if the chunks are so wide that they are read again for many blocks."""
        times = min(self.band_bytes, self.n_rows * self.n_features * self.dtype.itemsize)
        times //= BLOCK_BYTES
        if not self.is_cached and times >= WORTH_A_WARNING:
            warn_user(
                f"{name} lies in chunks of {chunks[0]} rows and {chunks[1]} columns: with blocks "
                f"of {format_bytes(BLOCK_BYTES)} everything is read about {times} times. Write it "
                f"in chunks of {self.n_rows} rows and a few hundred columns",
                SlowWarning,
            )

    def read(self, low: int, high: int, fetch: Fetch) -> np.ndarray:
        """Read columns ``low:high``, row-major, by a function that reads some as a new array."""
        width, p = self.width, self.n_features
        whole = low % width == 0 and (high % width == 0 or high == p)
        if whole or not self.is_cached:
            return fetch(low, high)
        out = np.empty((self.n_rows, high - low), self.dtype)
        position = low
        while position < high:
            band = position // width
            end = min((band + 1) * width, high)
            if position == band * width and end == min((band + 1) * width, p):
                end = max(end, min(high // width * width, p))  # whole bands, in one go
                out[:, position - low : end - low] = fetch(position, end)
            else:
                band_values = self._band(band, fetch)
                first = band * width
                out[:, position - low : end - low] = band_values[:, position - first : end - first]
            position = end
        return out

    def _band(self, band: int, fetch: Fetch) -> np.ndarray:
        with self._lock:  # other threads that need the same band wait for it
            if band not in self._cache:
                low = band * self.width
                values = fetch(low, min(low + self.width, self.n_features))
                while len(self._cache) >= HELD_BANDS:
                    self._cache.popitem(last=False)
                self._cache[band] = values
            self._cache.move_to_end(band)
            return self._cache[band]

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._cache.clear()
