"""Base of all splitters: small objects that divide rows into a training and a test part.

Split number k of a splitter depends on its parameters, the rows and k alone: it is the same
among 10 splits and among 200, and can be made without the others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import FLAG, Whole
from featly.basics.typing import AnyArray, BoolArray, IntArray
from featly.problem.target import read_classes
from featly.study.stratification import main_classes
from featly.table.frames import values_of

__all__ = [
    "Folds",
    "Rows",
    "Split",
    "Splitter",
    "has_two_training_classes",
]


MAX_DEALS = 100  # attempts to make a partition before giving up


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """One division of the rows.

    Attributes
    ----------
    number : int
        From 0.
    train, test : int64 arrays
        Positions of rows, rising; only in a bootstrap sample does `train` repeat rows.
    name : str
        Which fold, or which row or group is left out; may be empty.

    Examples
    --------
    >>> from featly.study.splits import KFold
    >>> next(KFold(3).split(None, [0, 1, 0, 1, 0, 1, 0]))
    Split(0, 'fold 1', 5 train, 2 test)
    """

    number: int
    train: IntArray
    test: IntArray
    name: str = ""

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return f"Split({self.number}, {name}{len(self.train)} train, {len(self.test)} test)"

    @classmethod
    def testing(cls, number: int, test: AnyArray, n_rows: int, name: str = "") -> "Split":
        """Test the given rows (positions or a mask), train on all others."""
        tested = np.zeros(n_rows, bool)
        tested[test] = True
        return cls(number, np.flatnonzero(~tested), np.flatnonzero(tested), name)


@dataclass(frozen=True, eq=False)
class Rows:
    """Classes and groups of the rows to divide, read and checked.

    Attributes
    ----------
    y : int64 array
        Class of every row, as a position in `classes`.
    classes : array
    groups : int64 array or None
        Group of every row, as a position in `group_labels`.
    group_labels : array
    X, official
        As passed.
    """

    y: IntArray
    classes: AnyArray
    groups: IntArray | None = None
    group_labels: AnyArray | None = None
    X: Any = None
    official: Any = None

    @classmethod
    def read(cls, X: Any, y: Any, row_groups: Any = None, official: Any = None) -> "Rows":
        """Read and check the arguments of a splitter."""
        values = values_of(y)
        n_rows = len(values)
        if X is not None:
            n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        labels, classes = read_classes(values, n_rows, "a study")
        if row_groups is None:
            return cls(labels, classes, X=X, official=official)
        groups, group_labels = _read_groups(row_groups, n_rows)
        return cls(labels, classes, groups, group_labels, X, official)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_units(self) -> int:
        """Number of units to divide: groups, or rows if there are no groups."""
        return self.n if self.group_labels is None else len(self.group_labels)

    @property
    def units(self) -> IntArray:
        """The group of every row, or the row itself if there are no groups."""
        return np.arange(self.n) if self.groups is None else self.groups

    @cached_property
    def class_sizes(self) -> IntArray:
        """Rows of each class."""
        return np.bincount(self.y, minlength=len(self.classes))

    @cached_property
    def members(self) -> list[IntArray]:
        """The rows of each class."""
        return np.split(np.argsort(self.y, kind="stable"), np.cumsum(self.class_sizes)[:-1])

    @cached_property
    def table(self) -> IntArray:
        """Rows of each class in each group: of shape (groups, classes)."""
        return count_code_pairs(self.units, self.y, self.n_units, len(self.classes))

    @cached_property
    def group_sizes(self) -> IntArray:
        """Rows of each group."""
        return np.bincount(self.units, minlength=self.n_units)

    @cached_property
    def unit_classes(self) -> IntArray:
        """The class of every row, or the main one of every group."""
        return self.y if self.groups is None else main_classes(self.table)

    def unit_name(self, unit: int) -> str:
        """Return the name of a group or a row for messages."""
        if self.group_labels is None:
            return f"row {unit}"
        return f"group {self.group_labels.tolist()[unit]!r}"

    def refuse_lonely_class(self) -> None:
        """Raise DataError if one of two classes lies in a single row or group.

        A split that tests it would leave the other class alone to train on.
        """
        if len(self.classes) > 2:
            return
        spread = np.count_nonzero(self.table, axis=0)
        for code in np.flatnonzero(spread == 1):
            unit = int(np.flatnonzero(self.table[:, code])[0])
            raise DataError(
                f"class {self.classes.tolist()[code]!r} lies in {self.unit_name(unit)} alone: "
                "testing it leaves one class to train on. Leave the class out, or use "
                "Subsampling, which keeps it in training where the other class can be tested"
            )

    def find_straddling_group(self, split: Split) -> str | None:
        """Return the name of a group with rows on both sides, or None."""
        if self.groups is None:
            return None
        shared = np.intersect1d(self.groups[split.train], self.groups[split.test])
        return self.unit_name(int(shared[0])) if len(shared) else None


def _read_groups(row_groups: Any, n_rows: int) -> tuple[IntArray, AnyArray]:
    """Return the group of every row as a number, and the labels."""
    if isinstance(row_groups, str):
        raise ParameterError(
            f"row_groups={row_groups!r}: a splitter takes the labels themselves, one a row"
        )
    labels = np.asarray(values_of(row_groups))
    if labels.shape != (n_rows,):
        raise DataError(
            f"row_groups has shape {labels.shape}, the table has {n_rows} rows: give one label a "
            "row"
        )
    if labels.dtype.kind == "O":
        absent = [v is None or type(v).__name__ == "NAType" or v != v for v in labels]
    else:
        absent = (labels != labels).tolist()
    if any(absent):
        raise DataError(
            f"row_groups is missing in row {absent.index(True)}: give every row a group, one of "
            "its own where it belongs to none"
        )
    try:
        group_labels, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(
            "row_groups mixes types that cannot be compared: make all labels text, or all numbers"
        ) from None
    if len(group_labels) < 2:
        raise DataError(
            f"row_groups has one group only ({group_labels.tolist()[0]!r}): rows of one group "
            "never straddle a split, so nothing can be divided"
        )
    return codes.astype(np.int64), group_labels


def count_code_pairs(a: IntArray, b: IntArray, n_a: int, n_b: int) -> IntArray:
    """Return how often each pair of codes occurs: of shape (n_a, n_b)."""
    return np.bincount(a * n_b + b, minlength=n_a * n_b).reshape(n_a, n_b)


def has_two_training_classes(table: IntArray) -> BoolArray:
    """Return whether two classes are left to train on, from the class counts of each test part."""
    n_classes: IntArray = np.count_nonzero(table.sum(axis=0) - table, axis=1)
    return n_classes >= 2


class Splitter(ABC):
    """Base of the splitters: parameters are stored as given and checked at use.

    A subclass is a frozen dataclass, has ``check_parameters``, ``_count(rows)`` and
    ``_drawer(rows)``, which returns the function that makes split number k.

    Attributes
    ----------
    needs_table : bool
        Whether the splitter uses X. Others take None.
    needs_apparent : bool
        Whether the estimate needs the error on the training rows, too.
    """

    needs_table: ClassVar[bool] = False
    _always_shown: ClassVar[tuple[str, ...]] = ()  # parameters in the repr even at their default

    @property
    def needs_apparent(self) -> bool:
        """Return whether the estimate needs the error on the training rows, too."""
        return False

    def split(
        self, X: Any, y: Any, *, row_groups: Any = None, official: Any = None
    ) -> Iterator[Split]:
        """Yield the splits of the rows.

        Parameters
        ----------
        X : table or None
            Only splitters with `needs_table` use it.
        y : sequence of shape (n_rows,)
            The class of every row, as labels or numbers.
        row_groups : sequence of shape (n_rows,), optional
            Labels. Rows of one group, such as one patient, are never on both sides.
        official : sequence of shape (n_rows,), optional
            The division that came with the data, for :class:`Holdout`. Other splitters make
            their own.

        Yields
        ------
        Split
        """
        return self._splits(self._read(X, y, row_groups, official))

    def split_at(
        self, number: int, X: Any, y: Any, *, row_groups: Any = None, official: Any = None
    ) -> Split:
        """Make one split alone: the same as ``split`` makes at this number."""
        rows = self._read(X, y, row_groups, official)
        count = self._count(rows)
        Whole(at_least=0).check("number", number)
        if number >= count:
            raise ParameterError(f"number={number}: {self!r} has {count} splits, 0 to {count - 1}")
        return self._drawer(rows)(int(number))

    def count(self, X: Any, y: Any, *, row_groups: Any = None, official: Any = None) -> int:
        """Return the number of splits, without making them."""
        return self._count(self._read(X, y, row_groups, official))

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        if hasattr(self, "random_state"):
            Whole(at_least=0).check("random_state", self.random_state)
        if hasattr(self, "stratify"):
            FLAG.check("stratify", self.stratify)

    def _read(self, X: Any, y: Any, row_groups: Any, official: Any) -> Rows:
        self.check_parameters()
        return Rows.read(X, y, row_groups, official)

    def _splits(self, rows: Rows) -> Iterator[Split]:
        draw = self._drawer(rows)
        return (draw(number) for number in range(self._count(rows)))

    @abstractmethod
    def _count(self, rows: Rows) -> int:
        """Return the number of splits."""

    @abstractmethod
    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        """Return a function that makes split number k; what splits share is computed here."""

    def _generator(self, number: int) -> np.random.Generator:
        """Return the generator of one split, which does not depend on other splits."""
        state = getattr(self, "random_state", 0)
        return np.random.default_rng(np.random.SeedSequence([int(state), number]))

    def __repr__(self) -> str:
        arguments = []
        for position, field in enumerate(fields(self)):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if (
                field.name in self._always_shown
                or field.default is MISSING
                or value != field.default
            ):
                text = _format_parameter(value)
                arguments.append(
                    text if position == 0 and not field.kw_only else f"{field.name}={text}"
                )
        return f"{type(self).__name__}({', '.join(arguments)})"


class Folds(Splitter):
    """Base of the splitters whose test parts are the folds of a partition, maybe of several.

    A subclass has the parameters `n_folds`, `n_repeats` and `random_state`, and ``_deal``.
    """

    n_folds: int
    n_repeats: int

    @abstractmethod
    def _deal(self, rows: Rows, generator: np.random.Generator) -> IntArray:
        """Return the fold of every row."""

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        Whole(at_least=2).check("n_folds", self.n_folds)
        Whole(at_least=1).check("n_repeats", self.n_repeats)

    def _count(self, rows: Rows) -> int:
        return int(self.n_folds) * int(self.n_repeats)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        if self.n_folds > rows.n_units:
            unit_word = "rows" if rows.groups is None else "row groups"
            raise ParameterError(
                f"n_folds={self.n_folds}, but there are {rows.n_units} {unit_word}: take fewer "
                "folds"
            )
        rows.refuse_lonely_class()

        @lru_cache(maxsize=1)
        def folds_of(repeat: int) -> IntArray:
            return self._deal_well(rows, self._generator(repeat))

        def draw(number: int) -> Split:
            repeat, fold = divmod(number, int(self.n_folds))
            name = f"fold {fold + 1}"
            if self.n_repeats > 1:
                name = f"repeat {repeat + 1}, {name}"
            return Split.testing(number, folds_of(repeat) == fold, rows.n, name)

        return draw

    def _deal_well(self, rows: Rows, generator: np.random.Generator) -> IntArray:
        """Deal until every fold leaves two classes to train on."""
        for _ in range(MAX_DEALS):
            folds = self._deal(rows, generator)
            if has_two_training_classes(
                count_code_pairs(folds, rows.y, int(self.n_folds), len(rows.classes))
            ).all():
                return folds
        raise DataError(
            f"{self!r} found no {self.n_folds} folds of which each leaves two classes to train "
            "on: take more folds, or leave out classes with few rows or groups"
        )


def _format_parameter(value: Any) -> str:
    """Return a parameter as text; a third is 1/3."""
    if isinstance(value, float) and len(repr(value)) > 8:
        simple = Fraction(value).limit_denominator(30)
        if float(simple) == value:
            return str(simple)
    return repr(value.item() if isinstance(value, np.generic) else value)
