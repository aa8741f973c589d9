"""Splits made elsewhere: official ones, lists of pairs, scikit-learn's splitters.

Nothing is drawn here. The splits are checked: parts do not overlap, no row group is on both
sides, and the training part has two classes.
"""

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError, Row
from featly.basics.typing import BoolArray, IntArray
from featly.study.splitter import Rows, Split, Splitter
from featly.table.frames import values_of

__all__ = ["FixedSplits", "FromSklearn", "official_split"]

TRAIN = ("train", "training")
TEST = ("test", "testing")


def official_split(rows: Rows, column: str | None = None) -> Split:
    """Return the split that came with the data: text, or bools (see :class:`Holdout`)."""
    name = "official" if column is None else f"column {column!r}"
    labels = np.asarray(values_of(rows.official))
    if labels.shape != (rows.n,):
        raise DataError(
            f"the official split ({name}) has shape {labels.shape}, the table has {rows.n} rows: "
            "give one label a row"
        )
    if labels.dtype.kind == "O" and all(isinstance(label, bool) for label in labels):
        labels = labels.astype(bool)
    if labels.dtype.kind == "b":
        trains = bool(column and re.search("train", column, re.IGNORECASE))
        tested = ~labels if trains else labels
    else:
        tested = _read_labels(labels.tolist(), name)
    split = Split.testing(0, tested, rows.n, "official")
    _check(split, rows, f"the official split ({name})")
    straddling = rows.find_straddling_group(split)
    if straddling:
        raise DataError(
            f"{straddling} of row_groups is on both sides of the official split ({name}): move its "
            "rows to one side, or leave them out"
        )
    return split


def _read_labels(labels: list[Any], name: str) -> BoolArray:
    words = [label.strip().lower() if isinstance(label, str) else None for label in labels]
    for row, word in enumerate(words):
        if word not in TRAIN + TEST:
            raise DataError(
                f"the official split ({name}) has {labels[row]!r} in ",
                Row(row),
                ": label every row "
                "'train' or 'test' (or all rows True or False), or leave the row out",
            )
    return np.array([word in TEST for word in words], dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class FixedSplits(Splitter):
    """Splits given as pairs of training rows and test rows.

    Parameters
    ----------
    pairs : sequence of (train, test)
        Positions from 0, or masks, one bool a row. Training rows may repeat, as in a bootstrap
        sample.

    Examples
    --------
    >>> from featly.study.splits import FixedSplits
    >>> [split.test.tolist() for split in FixedSplits([([0, 1], [2]), ([1, 2], [0])])
    ...  .split(None, ["a", "b", "a"])]
    [[2], [0]]
    """

    pairs: Any

    def __repr__(self) -> str:
        parts = [part for pair in self.pairs for part in pair]
        return f"FixedSplits({len(self.pairs)} pairs, {_digest(parts)})"

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        if not hasattr(self.pairs, "__len__"):
            raise ParameterError(f"pairs={self.pairs!r}: give a list of (train, test) pairs")
        if not len(self.pairs):
            raise ParameterError("splits is an empty list: give (train, test) pairs")
        for number, pair in enumerate(self.pairs):
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ParameterError(
                    f"entry {number} of splits is {pair!r}: give pairs (train, test) of row "
                    "positions"
                )

    def _count(self, rows: Rows) -> int:
        return len(self.pairs)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        return lambda number: _from_pair(number, self.pairs[number], rows, "splits")


@dataclass(frozen=True, eq=False, repr=False)
class FromSklearn(Splitter):
    """A splitter of scikit-learn, or one that is called like it.

    It gets `row_groups` as its ``groups``. Its splits are checked: a group on both sides is an
    error. It must make the same splits each time, so one that shuffles needs an integer
    ``random_state``.

    Parameters
    ----------
    splitter : object with ``split(X, y, groups)``

    Examples
    --------
    >>> from sklearn.model_selection import LeaveOneGroupOut
    >>> from featly.study.splits import FromSklearn
    >>> splitter = FromSklearn(LeaveOneGroupOut())
    >>> splits = splitter.split(None, [0, 1, 0, 1], row_groups=["p", "p", "q", "q"])
    >>> [split.test.tolist() for split in splits]
    [[0, 1], [2, 3]]
    """

    splitter: Any

    @property
    def needs_table(self) -> bool:  # type: ignore[override]
        """Return whether the splitter may use X: scikit-learn's own do not."""
        return not type(self.splitter).__module__.startswith("sklearn.")

    def __repr__(self) -> str:
        splitter, name = self.splitter, type(self.splitter).__name__
        arrays = [value for value in vars(splitter).values() if isinstance(value, np.ndarray)]
        if arrays:  # NumPy leaves out the middle of long ones
            return f"FromSklearn({name}(...), {_digest(arrays)})"
        own_repr: object = type(splitter).__repr__
        if own_repr is not object.__repr__:
            return f"FromSklearn({splitter!r})"
        # a memory address would make the same splitter look like another one
        parameters = ", ".join(f"{key}={value!r}" for key, value in vars(splitter).items())
        return f"FromSklearn({name}({parameters}))"

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        state = getattr(self.splitter, "random_state", 0)
        shuffles = getattr(self.splitter, "shuffle", True)
        if shuffles and not isinstance(state, int | np.integer):
            raise ParameterError(
                f"{self!r} makes other splits each time: give it an integer random_state"
            )

    def _arguments(self, rows: Rows) -> tuple[Any, Any, Any]:
        X = np.zeros((rows.n, 1)) if rows.X is None else rows.X
        return X, rows.classes[rows.y], rows.groups

    def _count(self, rows: Rows) -> int:
        if not hasattr(self.splitter, "get_n_splits"):
            return sum(1 for _ in self._pairs(rows))
        try:
            return int(self.splitter.get_n_splits(*self._arguments(rows)))
        except ValueError as problem:
            raise self._division_error(problem) from None

    def _pairs(self, rows: Rows) -> Iterator[Any]:
        """Yield the pairs of the splitter; its ValueErrors become DataErrors.

        Its warning that it ignores groups is dropped, since each split is checked.
        """
        pairs: Iterator[Any] | None = None
        while True:
            try:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="The groups parameter is ignored")
                    pairs = pairs or iter(self.splitter.split(*self._arguments(rows)))
                    pair = next(pairs)
            except StopIteration:
                return
            except ValueError as problem:
                raise self._division_error(problem) from None
            yield pair

    def _division_error(self, problem: ValueError) -> DataError:
        remedy = " (pass row_groups)" if "'groups'" in str(problem) else ""
        return DataError(f"{self!r} cannot divide these rows: {problem}{remedy}")

    def _splits(self, rows: Rows) -> Iterator[Split]:
        pairs = enumerate(self._pairs(rows))
        return (_from_pair(number, pair, rows, repr(self)) for number, pair in pairs)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        return lambda number: next(islice(self._splits(rows), number, None))


def _digest(parts: list[Any]) -> str:
    """Return a short hash of the rows: a resumed study compares splitters as text."""
    digest = hashlib.blake2b(digest_size=4)
    for part in parts:
        digest.update(repr(np.asarray(values_of(part)).tolist()).encode())
    return digest.hexdigest()


def _from_pair(number: int, pair: Any, rows: Rows, source: str) -> Split:
    train, test = (
        np.sort(_read_positions(part, rows.n, f"the {side} part of split {number} of {source}"))
        for part, side in zip(pair, ("training", "test"), strict=True)
    )
    split = Split(number, train, test)
    if (test[1:] == test[:-1]).any():
        raise DataError(
            f"the test part of split {number} of {source} has a row twice: test it once"
        )
    _check(split, rows, f"split {number} of {source}")
    straddling = rows.find_straddling_group(split)
    if straddling:
        raise DataError(
            f"{straddling} of row_groups is on both sides of split {number} of {source}: use "
            "scikit-learn's GroupKFold, or a splitter of featly's, which keep groups together"
        )
    return split


def _read_positions(part: Any, n_rows: int, description: str) -> IntArray:
    """Return rows given by position or by a mask, as positions."""
    positions = np.asarray(values_of(part))
    if positions.dtype.kind == "b" and positions.shape == (n_rows,):
        return np.flatnonzero(positions)
    if positions.ndim != 1 or (positions.dtype.kind not in "iu" and len(positions)):
        raise DataError(
            f"{description} is not a list of row positions, nor a mask of {n_rows} bools"
        )
    odd = positions[(positions < 0) | (positions >= n_rows)] if len(positions) else positions
    if len(odd):
        raise DataError(f"{description} has row {odd[0]}: positions go from 0 to {n_rows - 1}")
    return positions.astype(np.int64)


def _check(split: Split, rows: Rows, description: str) -> None:
    for part, side in ((split.train, "training"), (split.test, "test")):
        if not len(part):
            raise DataError(f"{description} has no {side} rows: give it some")
    shared = np.intersect1d(split.train, split.test)
    if len(shared):
        raise DataError(f"{description} has row {shared[0]} on both sides: test on other rows")
    if len(np.unique(rows.y[split.train])) < 2:
        label = rows.classes.tolist()[rows.y[split.train[0]]]
        raise DataError(f"{description} has one class only ({label!r}) to train on: give it two")
