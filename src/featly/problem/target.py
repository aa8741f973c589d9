"""Outcomes that columns are ranked for: classes, numbers, and survival times."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.utils.validation import column_or_1d

from featly.basics.errors import (
    ByPairs,
    DataError,
    Field,
    ParameterError,
    Row,
    Setting,
    TargetName,
    Text,
)
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.counts.discretise import CutRule, cut_codes, learn_cuts
from featly.core.sources import DenseSource
from featly.registry import methods_that, suggest
from featly.table.frames import is_category, is_missing, values_of

__all__ = [
    "KIND_NAMES",
    "Classes",
    "Numbers",
    "RowGroups",
    "Survival",
    "Target",
    "are_ambiguous",
    "infer_kind",
    "read_classes",
    "read_target",
]

MOST_WHOLE_CLASSES = 20  # different whole numbers that are classes without a word of the user
MOST_GROUPS = 10  # into which numbers are cut where rows are counted
SURVIVAL_GROUPS = 3
ROWS_A_STRATUM = 10
Y = TargetName()
LARGEST_NUMBER = 1e150  # the squares of larger ones, summed over the rows, may overflow
KIND_NAMES = {"classes": "classes", "numbers": "numbers", "survival": "survival times"}
EVENT_WORDS = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0, "no": 0.0, "yes": 1.0}


class RowGroups(NamedTuple):
    """A grouping of the rows: the number of the group of every row, and how many there are."""

    codes: IntArray
    n_groups: int


class Target(ABC):
    """The outcome of every row, and what methods ask of it.

    Attributes
    ----------
    kind : {"classes", "numbers", "survival"}
    n_rows : int
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Return the outcome of some rows, which may be repeated."""

    @abstractmethod
    def groups(self) -> RowGroups:
        """Return the groups in which rows are counted."""

    @abstractmethod
    def influence(self) -> FloatArray:
        """Return the residuals of a model without columns: n_rows x q, each column of mean 0.

        A column x is related to the outcome as far as ``x' h`` differs from 0: a score test.
        """

    def strata(self) -> IntArray:
        """Return the number of the stratum of every row: parts of a table get a share of each."""
        return self.groups().codes

    @abstractmethod
    def find_lack(self) -> str | None:
        """Return in words what these rows have not and a ranking needs; None if it has all."""

    def to_ranks(self) -> "Target":
        """Return the target with ranks in place of numbers."""
        return self


@dataclass(frozen=True, eq=False)
class Classes(Target):
    """Classes without an order.

    Parameters
    ----------
    codes : int64 array of shape (n_rows,)
        Class of every row, as a position in `labels`.
    labels : array
        Sorted.

    Examples
    --------
    >>> import numpy as np
    >>> target = Classes(np.array([0, 1, 1, 0]), np.array(["ill", "well"]))
    >>> target.groups().n_groups, target.influence()[:, 0].tolist()
    (2, [0.5, -0.5, -0.5, 0.5])
    """

    codes: IntArray
    labels: AnyArray
    kind = "classes"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self.labels)

    @property
    def signs(self) -> FloatArray:
        """1.0 for rows of the second class, -1.0 for all others."""
        return np.where(self.codes == 1, 1.0, -1.0)

    def take(self, rows: IntArray) -> "Classes":
        """Return the classes of some rows; the labels stay."""
        return Classes(self.codes[rows], self.labels)

    def groups(self) -> RowGroups:
        """Return the classes."""
        return RowGroups(self.codes, len(self.labels))

    def influence(self) -> FloatArray:
        """Return an indicator of each class less its share."""
        indicators = (self.codes[:, None] == np.arange(len(self.labels))).astype(np.float64)
        return np.asarray(indicators - indicators.mean(axis=0))

    def find_lack(self) -> str | None:
        """Return the first class without a row, in words; None if there is none.

        Examples
        --------
        >>> import numpy as np
        >>> target = Classes(np.array([0, 1, 1, 0]), np.array(["ill", "well"]))
        >>> target.take(np.array([1, 2])).find_lack()
        "row of class 'ill'"
        """
        empty = np.flatnonzero(np.bincount(self.codes, minlength=len(self.labels)) == 0)
        return f"row of class {self.labels.tolist()[empty[0]]!r}" if len(empty) else None

    def pair(self, first: int, second: int) -> tuple["Classes", IntArray]:
        """Return the rows of two classes, by their positions in `labels`, and where they are."""
        rows = np.flatnonzero((self.codes == first) | (self.codes == second))
        codes = (self.codes[rows] == second).astype(np.int64)
        return Classes(codes, self.labels[[first, second]]), rows

    def against_rest(self, position: int) -> "Classes":
        """Return one class (True) against all others (False)."""
        codes = (self.codes == position).astype(np.int64)
        return Classes(codes, np.array([False, True]))


@dataclass(frozen=True, eq=False)
class Numbers(Target):
    r"""Numbers, such as a price or a concentration.

    Methods that count rows see groups of equally many: :math:`\sqrt[3]{n}` of them, at least 2, at
    most 10. Equal values are in one group, and a monotone change of the numbers changes no group.

    Parameters
    ----------
    values : float64 array of shape (n_rows,)
        Finite, not all equal.
    n_groups : int, optional
        How many groups to count rows in.

    Examples
    --------
    >>> import numpy as np
    >>> target = Numbers(np.array([3.0, 1.0, 2.0, 10.0]))
    >>> target.groups().codes.tolist(), target.influence()[:, 0].tolist()
    ([1, 0, 0, 1], [-1.0, -3.0, -2.0, 6.0])
    """

    values: FloatArray
    n_groups: int | None = None
    kind = "numbers"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    def take(self, rows: IntArray) -> "Numbers":
        """Return the numbers of some rows."""
        return Numbers(self.values[rows], self.n_groups)

    def groups(self) -> RowGroups:
        """Return groups of equally many rows, by the order of the numbers alone."""
        return self._groups

    @cached_property
    def _groups(self) -> RowGroups:
        count = min(max(2, round(self.n_rows ** (1 / 3))), MOST_GROUPS)
        return _equal_groups(self.values, count if self.n_groups is None else self.n_groups)

    def influence(self) -> FloatArray:
        """Return the differences from the mean."""
        shifted = self.values - self.values[0]  # equal numbers differ by 0, and not by rounding
        return np.asarray(shifted - shifted.mean())[:, None]

    def find_lack(self) -> str | None:
        """Return that the numbers are all equal, in words; None if they are not."""
        is_constant = self.n_rows == 0 or bool((self.values == self.values[0]).all())
        return "two rows of different numbers" if is_constant else None

    def to_ranks(self) -> "Numbers":
        """Return the ranks of the numbers; equal ones share the mean of theirs."""
        return Numbers(rankdata(self.values), self.n_groups)

    def strata(self) -> IntArray:
        """Return tenths of the rows by value; larger parts where they would be below ten rows."""
        count = min(MOST_GROUPS, self.n_rows // ROWS_A_STRATUM)
        if count < 2:
            return np.zeros(self.n_rows, np.int64)
        return _equal_groups(self.values, count).codes


@dataclass(frozen=True, eq=False)
class Survival(Target):
    r"""Times until an event, or until a row was last seen without it (censored).

    The influence of a row is its martingale residual without columns,

    .. math::

        M_i = \delta_i - \sum_{u \le t_i} \frac{d(u)}{n(u)},

    with d(u) events among the n(u) rows at risk at time u: Therneau, T. M., Grambsch, P. M. and
    Fleming, T. R. (1990), Martingale-based residuals for survival models, *Biometrika* 77, 147-160.
    Rows are counted in three groups of equally many, by that residual.

    Parameters
    ----------
    time : float64 array of shape (n_rows,)
        Above 0.
    event : bool array of shape (n_rows,)
        Whether the event happened at that time; otherwise the row is censored.

    Examples
    --------
    >>> import numpy as np
    >>> target = Survival(np.array([2.0, 5.0, 3.0]), np.array([True, False, True]))
    >>> target.influence()[:, 0].round(3).tolist()
    [0.667, -0.833, 0.167]
    """

    time: FloatArray
    event: BoolArray
    kind = "survival"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.time)

    def take(self, rows: IntArray) -> "Survival":
        """Return the times and events of some rows."""
        return Survival(self.time[rows], self.event[rows])

    def groups(self) -> RowGroups:
        """Return three groups of equally many rows, from late to early events."""
        return self._groups

    @cached_property
    def _groups(self) -> RowGroups:
        return _equal_groups(self._residuals(), SURVIVAL_GROUPS)

    def influence(self) -> FloatArray:
        """Return the martingale residuals of a model without columns."""
        return self._residuals()[:, None]

    def strata(self) -> IntArray:
        """Return 1 for rows with the event, 0 for censored ones."""
        return self.event.astype(np.int64)

    def find_lack(self) -> str | None:
        """Return that no row has the event, in words; None if one has."""
        return None if self.event.any() else "row with the event"

    def _residuals(self) -> FloatArray:
        times, position = np.unique(self.time, return_inverse=True)
        events = np.bincount(position, self.event, len(times))
        at_risk = np.cumsum(np.bincount(position, minlength=len(times))[::-1])[::-1]
        residuals: FloatArray = self.event - np.cumsum(events / at_risk)[position]
        return residuals


def _equal_groups(values: FloatArray, count: int) -> RowGroups:
    """Return groups of equally many rows, by the rule of EqualFrequency, on the order alone."""
    _, ranks = np.unique(values, return_inverse=True)
    source = DenseSource(ranks.astype(np.float64)[:, None])
    cuts = learn_cuts(source, None, 0, CutRule("equal-frequency", count), n_jobs=1)
    codes, n_levels = cut_codes(source, cuts, n_jobs=1)
    return RowGroups(codes[0].astype(np.int64) - 1, int(n_levels[0]))


# ---- reading -------------------------------------------------------------------------------------
def read_classes(
    y: Any, n_rows: int, method: str, *, many_classes: bool = True
) -> tuple[IntArray, AnyArray]:
    """Return the class of every row as a number, and the labels.

    Raise DataError for a target that is not one of at least two classes. For learners, to which any
    whole numbers are classes.
    """
    target = read_target(
        y, n_rows, method, many_classes=many_classes, kind="classes", is_learner=True
    )
    assert isinstance(target, Classes)
    return target.codes, target.labels


def infer_kind(y: Any) -> str | None:
    """Return the kind of a target by its values; None for whole numbers that may be either.

    Examples
    --------
    >>> infer_kind([0, 1, 1]), infer_kind([0.5, 1.25, 7.0]), infer_kind(range(100))
    ('classes', 'numbers', None)
    """
    if getattr(getattr(y, "dtype", None), "names", None):
        return "survival"
    if is_category(y):
        return "classes"
    values = np.asarray(values_of(y))
    if values.dtype.kind == "O" and len(values) and all(_is_number(v) for v in values):
        values = _as_numbers(values)
    if _has_fractions(values):
        return "numbers"
    if values.dtype.kind in "iuf" and are_ambiguous(np.unique(values)):
        return None
    return "classes"


def are_ambiguous(labels: AnyArray) -> bool:
    """Return whether different values of a target are whole numbers, too many to be classes."""
    return labels.dtype.kind in "iuf" and len(labels) > MOST_WHOLE_CLASSES


def _has_fractions(y: AnyArray) -> bool:
    return y.dtype.kind == "f" and bool((y != np.floor(y)).any())


def _as_numbers(y: AnyArray) -> AnyArray:
    """Return numbers of several types, which are objects, as an array of numbers."""
    return np.array([float(v) if isinstance(v, Decimal) else v for v in y])


def read_target(
    y: Any,
    n_rows: int,
    method: str,
    *,
    targets: tuple[str, ...] = ("classes",),
    many_classes: bool = True,
    kind: str | None = None,
    batch: bool = False,
    is_learner: bool = False,
) -> Target:
    """Read a target, of the kind that the user states or that its values have.

    Text, bool and up to 20 different whole numbers are classes, other numbers are numbers, and a
    structured array of a bool and a number is survival. More whole numbers may be either: an error
    asks which.

    Parameters
    ----------
    y : sequence, or structured array
    n_rows : int
    method : str
        Its name, for errors.
    targets : tuple of str
        The kinds that the method takes.
    many_classes : bool
        Whether it takes more than two classes.
    kind : {"classes", "numbers", "survival"}, optional
        What the user says that y is.
    batch : bool
        Whether there are more rows elsewhere, so that one class, or one number, is enough.
    is_learner : bool
        Whether it predicts classes, so that the names of methods are no help to it.
    """
    if y is None:
        raise ParameterError(
            f"{method} requires y to be passed, but the target y is None: give "
            + ("the class of every row" if targets == ("classes",) else "the outcome of every row")
        )
    says_classes = is_category(y)
    y = values_of(y)
    if kind == "survival" or getattr(getattr(y, "dtype", None), "names", None):
        return _refuse_other_kind(_read_survival(y, n_rows, kind), method, targets)
    y = _read_column(y, n_rows)
    is_real = not says_classes and _has_fractions(y)
    if kind == "numbers" or (kind is None and is_real):
        return _refuse_other_kind(_read_numbers(y, batch=batch), method, targets)
    if is_real:
        raise _real_classes_error(y, method, targets, batch=batch, is_learner=is_learner)
    target = _read_class_labels(y, batch=batch)
    if kind is None and not says_classes:
        _refuse_ambiguous(target.labels)
    if "classes" not in targets:
        return _refuse_other_kind(target, method, targets)
    if target.count > 2 and not many_classes:
        raise DataError(
            Y,
            f" has {target.count} classes, {method} ranks for two. Only binary classification "
            "is supported here: take one list from all pairs of classes with ",
            ByPairs(method),
            ", use a method for many classes, such as "
            f"{suggest(methods_that(many_classes=True))}, or select the rows of two classes",
        )
    return target


def _read_column(y: Any, n_rows: int) -> AnyArray:
    """Return y as an array of one dimension without missing or infinite values."""
    if (
        isinstance(y, list | tuple)
        and len({isinstance(v, str) for v in y if not is_missing(v)}) > 1
    ):
        y = np.array(y, dtype=object)  # NumPy would turn the numbers into text
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 2:
        raise DataError(
            Y,
            f" should be a 1d array, got an array of shape {y.shape} instead: give one column. "
            "Times and events are two, which ",
            Setting("target_kind", "survival", "Schema"),
            " says",
        )
    y = np.asarray(column_or_1d(y, warn=True))
    if len(y) != n_rows:
        raise DataError(
            f"X has {n_rows} rows but y has {len(y)} entries: they must go together "
            "(inconsistent numbers of samples)"
        )
    missing = (
        np.isnan(y)
        if y.dtype.kind == "f"
        else np.array([is_missing(v) for v in y], bool)
        if y.dtype.kind == "O"
        else np.zeros(len(y), bool)
    )
    if missing.any():
        raise DataError(
            Y,
            " is missing (NaN) in ",
            Row(np.flatnonzero(missing)[0]),
            ": leave out rows without an outcome",
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise DataError(Y, " is infinite (inf) in ", Row(np.flatnonzero(np.isinf(y))[0]))
    if y.dtype.kind == "O" and len(y) and all(_is_number(v) for v in y):
        y = _as_numbers(y)
    return np.asarray(y)


def _is_number(value: Any) -> bool:
    is_bool = isinstance(value, bool | np.bool_)
    return isinstance(value, int | float | np.number | Decimal) and not is_bool


def _refuse_ambiguous(labels: AnyArray) -> None:
    """Raise DataError for so many different whole numbers that they may be no classes."""
    if are_ambiguous(labels):
        raise DataError(
            Y,
            f" has {len(labels)} different whole numbers, from {labels[0]:g} to {labels[-1]:g}, "
            "which may be classes or numbers: say which by ",
            Setting("target_kind", "classes", "Schema"),
            " or ",
            Setting("target_kind", "numbers", "Schema"),
        )


def _real_classes_error(
    y: AnyArray, method: str, targets: tuple[str, ...], *, batch: bool, is_learner: bool
) -> DataError:
    """Return the error about numbers with a fraction that the user calls classes."""
    fact = Text(
        Y,
        f" holds real numbers such as {y[np.flatnonzero(y != np.floor(y))[0]]!s} "
        "(Unknown label type: continuous)",
    )
    if is_learner:
        return DataError(
            fact,
            f", and {method} is for classes: cut ",
            Y,
            " into classes. To rank columns for numbers, fit "
            f"{suggest(methods_that(target='numbers'))}",
        )
    if batch:
        return DataError(
            fact, ", and the target of every batch is classes: cut ", Y, " into classes"
        )
    able = "" if "numbers" in targets else f" and use {suggest(methods_that(target='numbers'))}"
    return DataError(
        fact,
        ", and ",
        Setting("target_kind", "classes"),
        " is for labels: cut ",
        Y,
        " into classes, or leave out ",
        Setting("target_kind", "classes"),
        able,
    )


def _read_class_labels(y: AnyArray, *, batch: bool) -> Classes:
    try:
        labels, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError(
            Y, " mixes types that cannot be compared: make all labels text, or all numbers"
        ) from None
    if len(labels) < (1 if batch else 2):
        raise DataError(
            Y,
            f" has one class only ({labels.tolist()[0]!r}): at least two classes are needed"
            if len(labels)
            else " is empty",
        )
    return Classes(codes.astype(np.int64), labels)


def _read_numbers(y: AnyArray, *, batch: bool) -> Numbers:
    if y.dtype.kind not in "biuf":
        remedy: tuple[str | Field, ...] = (
            ("the target of every batch is numbers, correct it",)
            if batch
            else ("correct it, or leave out ", Setting("target_kind", "numbers"))
        )
        for row, value in enumerate(y.tolist()):
            try:
                float(value)
            except (TypeError, ValueError):
                raise DataError(
                    Y,
                    f" holds {value!r} in ",
                    Row(row),
                    ", which is no number: ",
                    *remedy,
                ) from None
    values = y.astype(np.float64)
    if not np.isfinite(values).all():  # such as the text "inf"
        raise DataError(Y, " is infinite in ", Row(np.flatnonzero(~np.isfinite(values))[0]))
    if len(values) == 0:
        raise DataError(Y, " is empty")
    too_large = np.flatnonzero(np.abs(values) > LARGEST_NUMBER)
    if len(too_large):
        raise DataError(
            Y,
            f" is {values[too_large[0]]:g} in ",
            Row(too_large[0]),
            ", whose square overflows: divide ",
            Y,
            " by a large number",
        )
    if (values == values[0]).all() and not batch:
        raise DataError(Y, f" is {values[0]:g} in every row: no column can be related to it")
    return Numbers(values)


def _read_survival(y: Any, n_rows: int, kind: str | None) -> Survival:
    """Read (event, time) from a structured array, or (time, event) from two columns."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names and kind not in (None, "survival"):
        raise DataError(
            Y,
            f" has the fields {', '.join(names)}, and ",
            Setting("target_kind", kind),
            " takes one column: give one of them, or leave out ",
            Setting("target_kind", kind),
        )
    if names:
        fields = {name: np.asarray(y[name]) for name in names}
        events = [name for name, values in fields.items() if values.dtype.kind == "b"]
        if len(names) != 2 or len(events) != 1:
            raise DataError(
                Y,
                f" has the fields {', '.join(names)}: a survival target has two, a bool (whether "
                "the event happened) and a number (the time)",
            )
        (time_name,) = (name for name in names if name not in events)
        time, event = fields[time_name], fields[events[0]]
    else:
        table = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        if table.ndim != 2 or table.shape[1] != 2:
            raise DataError(
                Y,
                f" has the shape {table.shape}, and ",
                Setting("target_kind", kind),
                " takes two columns, the time and whether the event happened then, or a structured "
                "array of both",
            )
        time, event = table[:, 0], table[:, 1]
    if len(time) != n_rows:
        raise DataError(
            f"X has {n_rows} rows but y has {len(time)} entries: they must go together "
            "(inconsistent numbers of samples)"
        )
    return Survival(_read_times(time), _read_events(event))


def _read_times(time: AnyArray) -> FloatArray:
    try:
        times = time.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "the times of ", Y, " are no numbers: give the time first, then the event"
        ) from None
    wrong = np.flatnonzero(~(np.isfinite(times) & (times > 0)))
    if len(wrong):
        raise DataError(
            "the time of ",
            Y,
            f" is {time[wrong[0]]!s} in ",
            Row(wrong[0]),
            ": a time is a finite number above 0, and comes before the event; correct it, or leave "
            "the row out",
        )
    return times


def _read_events(event: AnyArray) -> BoolArray:
    missing = [row for row, value in enumerate(event.tolist()) if is_missing(value)]
    if missing:
        raise DataError(
            "the event of ", Y, " is missing in ", Row(missing[0]), ": leave the row out"
        )
    values = event.tolist()
    if all(isinstance(value, str) for value in values):
        unknown = [v for v in values if v.strip().lower() not in EVENT_WORDS]
        if unknown:  # of 'died' and 'lived' nobody can say which is the event
            raise DataError(
                "the event of ",
                Y,
                f" is {unknown[0]!r}: give True or 1 where it happened, and False or 0 where the "
                "row was last seen without it",
            )
        values = [EVENT_WORDS[value.strip().lower()] for value in values]
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "the event of ", Y, " mixes types: give True or 1 where it happened, else False or 0"
        ) from None
    levels = np.unique(numbers)
    if len(levels) > 2:
        raise DataError(
            "the event of ",
            Y,
            f" has {len(levels)} levels ({', '.join(f'{v:g}' for v in levels[:3])}, ...): it "
            "either happened or not. Give the time first, then the event",
        )
    # of one level alone, as of True and False, what is above 0 is the event
    happened = np.asarray(numbers == levels[1] if len(levels) == 2 else numbers > 0)
    if not happened.any():
        raise DataError(
            "no row of ", Y, " has the event: without one, no column can be related to the time"
        )
    return happened


def _refuse_other_kind(target: Target, method: str, targets: tuple[str, ...]) -> Target:
    """Return the target if the method takes its kind, else raise DataError."""
    if target.kind in targets:
        return target
    is_numeric = target.kind == "numbers"
    label_type = " (Unknown label type: continuous)" if is_numeric else ""
    cut = ("cut ", Y, " into classes, or ") if is_numeric and "classes" in targets else ()
    held, taken = KIND_NAMES[target.kind], " and ".join(KIND_NAMES[kind] for kind in targets)
    raise DataError(
        Y,
        f" holds {held}{label_type}, and {method} is for {taken}: ",
        *cut,
        f"use a method that takes {held}: {suggest(methods_that(target=target.kind))}",
    )
