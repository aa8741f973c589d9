"""Training parts that are taken, filled and read once for many labellings of their rows.

Shuffled labels change nothing of the columns. So the rows of a part are copied and filled once, a
method reads them once, and what it computes of the columns alone (kernels, sorted values) is kept.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import NoEvidenceWarning
from featly.basics.typing import AnyArray, IntArray
from featly.study.dataset import Dataset
from featly.study.evaluate import Parts, Protocol, copy_for, rank_columns, read_columns
from featly.study.splits import Split
from featly.table.frames import is_frame

__all__ = ["HeldParts", "TrainingPart"]

HELD_BYTES = 1 << 28  # of all parts of a table that a process holds at a time
COPIES = 4  # of a part: its rows, and what a method makes of them


class TrainingPart:
    """Rows to train on and rows to predict, for any labels of them.

    Parameters
    ----------
    dataset : Dataset
        Its labels do not matter.
    protocol : Protocol
        Without resampling, which would change the rows by their labels.
    train, test : int64 arrays

    Examples
    --------
    >>> import numpy as np
    >>> from featly import FTest
    >>> from featly.learners import LinearSVM
    >>> from featly.study import Dataset
    >>> from featly.study.evaluate import Protocol
    >>> from featly.study.training_part import TrainingPart
    >>> X, y = np.random.default_rng(0).normal(size=(40, 6)), np.tile([0, 1], 20)
    >>> data, protocol = Dataset.of(X, y), Protocol({"svm": LinearSVM()})
    >>> part = TrainingPart(data, protocol, np.arange(30), np.arange(30, 40))
    >>> order, subset = part.rank("f", FTest(), part.relabel(data), data)
    >>> len(order), subset
    (6, False)
    """

    def __init__(
        self, dataset: Dataset, protocol: Protocol, train: IntArray, test: IntArray
    ) -> None:
        self.protocol = protocol
        self.split: Split = Split(0, train, test)
        self._parts = Parts.from_split(dataset, self.split, protocol)
        self._prepared: dict[str, Any] = {}

    def relabel(self, dataset: Dataset) -> Parts:
        """Return the rows with the labels that a dataset gives them."""
        y, codes = dataset.y[self.split.train], dataset.codes[self.split.test]
        return replace(self._parts, y=y, codes_test=codes)

    def rank(self, name: str, method: Any, parts: Parts, dataset: Dataset) -> tuple[AnyArray, bool]:
        """Rank the columns with the labels of `parts`; the table is read for the first ones only.

        The outcome is that of :func:`featly.study.evaluate.rank_columns`.
        """
        if method is None or not hasattr(method, "_fit_prepared"):
            return rank_columns(parts, method, dataset, self.protocol)
        copy = copy_for(dataset, method, self.protocol)
        if name not in self._prepared:
            self._prepared[name] = copy._prepare(parts.X, parts.y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoEvidenceWarning)
            return read_columns(copy._fit_prepared(self._prepared[name], parts.y), dataset)


class HeldParts:
    """Training parts of one table that are held: all, or the last one where they are large.

    Parameters
    ----------
    dataset : Dataset
    n_parts : int
        The number of parts there are.
    """

    def __init__(self, dataset: Dataset, n_parts: int) -> None:
        self.n_parts: int = n_parts
        self.holds_all: bool = COPIES * n_parts * count_bytes(dataset) <= HELD_BYTES
        self._parts: dict[int, TrainingPart] = {}

    def part(self, number: int, make: Callable[[], TrainingPart]) -> TrainingPart:
        """Return a part, which is made if it is not held."""
        if number not in self._parts:
            if not self.holds_all:
                self._parts.clear()
            self._parts[number] = make()
        return self._parts[number]


def count_bytes(dataset: Dataset) -> int:
    """Return the bytes that the columns of a table take."""
    X = dataset.X
    if scipy.sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.estimated_size()) if is_frame(X) else int(np.asarray(X).nbytes)
