"""A table put together from pieces, its numbers in one block of memory and never copied."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["Assembly", "column_views"]


def column_views(values: np.ndarray, names: Sequence[str]) -> Iterator[Any]:
    """Return the rows of a matrix as polars columns that share its memory."""
    import polars as pl

    # slices of one long column: to make one from each row takes four times as long
    flat, width = pl.Series("", values.reshape(-1)), values.shape[1]
    return (flat.slice(k * width, width).alias(name) for k, name in enumerate(names))


class Assembly:
    """Builder of one polars frame from pieces of rows.

    Parameters
    ----------
    names : list of str
    numeric : list of int
        Positions of the columns of numbers, in the order of one feature-major matrix. The frame's
        columns are views of it, so that methods read it without a copy.
    most_rows : int
        Upper bound of the number of rows.
    """

    n_rows: Any

    numeric: list[int]
    names: list[str]

    def __init__(self, names: list[str], numeric: Sequence[int], most_rows: int) -> None:
        self.names, self.numeric = names, list(numeric)
        known = set(self.numeric)
        self.texts: list[int] = [j for j in range(len(names)) if j not in known]
        self.n_rows = 0
        # the system allocates only the pages that are written to
        self._values = np.empty((len(self.numeric), most_rows))
        self._texts: list[Any] = []
        # columns that are neighbours in the file and in the matrix are copied together
        self._runs: list[tuple[int, int]] = []
        for j in self.numeric:
            if self._runs and self._runs[-1][1] == j:
                self._runs[-1] = (self._runs[-1][0], j + 1)
            else:
                self._runs.append((j, j + 1))

    def add(self, frame: Any, texts: Any) -> None:
        """Append rows: a frame with the numbers, and one with the texts."""
        low, high = self.n_rows, self.n_rows + frame.height
        done = 0
        for start, stop in self._runs:
            block = frame[:, start:stop].to_numpy()
            self._values[done : done + stop - start, low:high] = block.T
            done += stop - start
        if self.texts:
            self._texts.append(texts)
        self.n_rows = high

    def frame(self) -> Any:
        """Return all rows as one polars frame."""
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
        """Return the numbers without unused rows, moved within the same memory."""
        count, capacity = self._values.shape
        if capacity == self.n_rows:
            return self._values
        flat = self._values.reshape(-1)
        for k in range(1, count):
            flat[k * self.n_rows : (k + 1) * self.n_rows] = flat[
                k * capacity : k * capacity + self.n_rows
            ]
        return flat[: count * self.n_rows].reshape(count, self.n_rows)
