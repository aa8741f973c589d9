"""Pieces of a table put together: the numbers in one block of memory, never held twice."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Assembly", "column_views"]


def column_views(values: np.ndarray, names: Sequence[str]) -> Iterator[Any]:
    """Return the rows of a matrix as polars columns that share its memory."""
    import polars as pl

    # slices of one column: a column made from each row would take four times as long
    flat, width = pl.Series("", values.reshape(-1)), values.shape[1]
    return (flat.slice(k * width, width).alias(name) for k, name in enumerate(names))


class Assembly:
    """Rows that come in pieces, as one polars frame.

    Parameters
    ----------
    names : list of str
    numeric : list of int
        Positions of the columns of numbers, in the order in which they lie in one feature-major
        matrix. The frame's columns are views of it, so that methods read it without a copy.
    most_rows : int
        At least as many rows as will come.
    """

    def __init__(self, names: list[str], numeric: Sequence[int], most_rows: int) -> None:
        self.names, self.numeric = names, list(numeric)
        known = set(self.numeric)
        self.texts = [j for j in range(len(names)) if j not in known]
        self.n_rows = 0
        # pages that no row reaches are never taken from the system
        self._values = np.empty((len(self.numeric), most_rows))
        self._texts: list[Any] = []
        # neighbours in the file that are neighbours in the matrix move together
        self._runs: list[tuple[int, int]] = []
        for j in self.numeric:
            if self._runs and self._runs[-1][1] == j:
                self._runs[-1] = (self._runs[-1][0], j + 1)
            else:
                self._runs.append((j, j + 1))

    def add(self, frame: Any, texts: Any) -> None:
        """Put rows below those that are there: a frame with the numbers, one with the texts."""
        low, high = self.n_rows, self.n_rows + frame.height
        at = 0
        for start, stop in self._runs:
            block = frame[:, start:stop].to_numpy()
            self._values[at : at + stop - start, low:high] = block.T
            at += stop - start
        if self.texts:
            self._texts.append(texts)
        self.n_rows = high

    def frame(self) -> Any:
        """All rows as one polars frame."""
        import polars as pl

        columns: dict[int, Any] = {}
        if self.texts:
            texts = pl.concat(self._texts, rechunk=True)
            self._texts.clear()
            columns = dict(zip(self.texts, texts.get_columns(), strict=True))
        columns |= zip(
            self.numeric,
            column_views(self._compact(), [self.names[j] for j in self.numeric]),
            strict=True,
        )
        return pl.DataFrame([columns[j] for j in range(len(self.names))])

    def _compact(self) -> np.ndarray:
        """Return the numbers without unused rows, moved within their memory."""
        count, capacity = self._values.shape
        if capacity == self.n_rows:
            return self._values
        flat = self._values.reshape(-1)
        for k in range(1, count):
            flat[k * self.n_rows : (k + 1) * self.n_rows] = flat[
                k * capacity : k * capacity + self.n_rows
            ]
        return flat[: count * self.n_rows].reshape(count, self.n_rows)
