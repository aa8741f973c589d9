r"""Ways to divide rows into a training and a test part.

.. math::

    \{1, \dots, n\} \supseteq \text{train}_k \cup \text{test}_k, \qquad
    \text{train}_k \cap \text{test}_k = \emptyset, \qquad k = 0, 1, \dots

Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, section 4.4.1 and appendix A.3.

Every splitter leaves at least two classes in the training part, keeps `row_groups` together, and
makes split number k from its parameters, the rows and k alone.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import FLAG, Whole
from featly.basics.typing import IntArray
from featly.study.dob_scv import DistributionBalancedKFold
from featly.study.fixed_splits import FixedSplits, FromSklearn, official_split
from featly.study.sampling import REDRAWS, check_test_size, has_two_classes, make_test_drawer
from featly.study.splitter import (
    Folds,
    Rows,
    Split,
    Splitter,
    has_two_training_classes,
)
from featly.study.stratification import deal_groups, deal_rows

__all__ = [
    "Bootstrap",
    "DistributionBalancedKFold",
    "FixedSplits",
    "FromSklearn",
    "Holdout",
    "KFold",
    "LeaveOneOut",
    "Split",
    "Splitter",
    "Subsampling",
    "as_splitter",
]


ESTIMATORS = (".632+", ".632", "out-of-bag")
NO_SAMPLE = (
    f"{REDRAWS} draws left no row to test, or one class to train on. "
    "There are too few rows or groups: use LeaveOneOut"
)


@dataclass(frozen=True, repr=False)
class Subsampling(Splitter):
    r"""Random splits without replacement: by default 200 with 90% to train and 10% to test.

    Stratified, class c of :math:`n_c` rows is due :math:`q_c = m \, n_c / n` of the m test rows.
    It gets that number rounded up or down, up with a probability equal to the remainder, so that
    the counts always add up to m, and every row is tested with the same probability: a class that
    is due a third of a row is tested in a third of the splits. Every class keeps at least one
    training row. So a class of one row is never tested, and where a share would be a whole class,
    the class gives all rows but one and the others share the rest.

    With `row_groups`, groups are drawn instead of rows. Each group has the same chance, so that
    there are m test rows on average (at least one group is tested). Stratified, a group counts
    for its most frequent class, and drawn groups are spread over the classes and over small and
    large groups; a group with all rows of some class stays in training.

    Parameters
    ----------
    n_splits : int, default=200
    test_size : float or int, default=0.1
        A fraction of the rows, with halves rounded up to at least one row, or their number.
    stratify : bool, default=True
        False draws rows (or the fraction of groups) without regard to classes, and again where the
        training part has one class only.
    random_state : int, default=0
        Seed of the random numbers.

    References
    ----------
    Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature
    selection, *Neurocomputing* 169, 187-195, section 4.1; they do not say that they stratify.

    Examples
    --------
    >>> from featly.study.splits import Subsampling
    >>> Subsampling()
    Subsampling(200, test_size=0.1)
    >>> y = ["ill"] * 22 + ["well"] * 40
    >>> Subsampling().split_at(7, None, y)
    Split(7, 56 train, 6 test)
    >>> [sum(y[row] == "ill" for row in split.test) for split in Subsampling(9).split(None, y)]
    [2, 2, 3, 2, 2, 2, 2, 3, 2]
    """

    n_splits: int = 200
    _: KW_ONLY
    test_size: float | int = 0.1
    stratify: bool = True
    random_state: int = 0

    _always_shown = ("n_splits", "test_size")

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        Whole(at_least=1).check("n_splits", self.n_splits)
        check_test_size(self.test_size)

    def total_test_rows(self, n_splits: int, n_rows: int) -> float:
        """Return about how many test rows all splits of a table have."""
        return n_splits * _test_rows(self.test_size, n_rows)

    def _count(self, rows: Rows) -> int:
        return int(self.n_splits)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        draw = make_test_drawer(rows, self.test_size, self.stratify)
        return lambda number: Split.testing(number, draw(self._generator(number)), rows.n)


@dataclass(frozen=True, repr=False)
class KFold(Folds):
    """Cross-validation: every row is tested once in each repeat.

    Stratified, every class is spread over the folds as evenly as whole rows allow: folds differ
    by at most one row in each class, and in total. A class with fewer rows than folds is absent
    from some. Without `stratify`, only sizes are even, and rows are dealt again where a fold
    leaves one class to train on.

    With `row_groups`, groups are dealt instead of rows: those with the largest share of the rows
    or of a class first, each to the fold with the fewest rows of its classes. A group may have
    several classes. Folds are then as even as such groups allow, without a bound.

    Parameters
    ----------
    n_folds : int, default=10
    n_repeats : int, default=1
        Partitions; split number k is fold ``k % n_folds`` of repeat ``k // n_folds``.
    stratify : bool, default=True
    random_state : int, default=0
        Seed of the random numbers.

    References
    ----------
    Kohavi, R. (1995), A study of cross-validation and bootstrap for accuracy estimation and model
    selection, *IJCAI*, 1137-1145.

    Examples
    --------
    >>> from featly.study.splits import KFold
    >>> for split in KFold(3).split(None, list("aaaaaabbb")):
    ...     print(split.name, split.test)
    fold 1 [3 4 6]
    fold 2 [1 2 7]
    fold 3 [0 5 8]
    """

    n_folds: int = 10
    _: KW_ONLY
    n_repeats: int = 1
    stratify: bool = True
    random_state: int = 0

    _always_shown = ("n_folds",)

    def _deal(self, rows: Rows, generator: np.random.Generator) -> IntArray:
        if rows.groups is None:
            classes = rows.y if self.stratify else np.zeros(rows.n, np.int64)
            return deal_rows(classes, int(self.n_folds), generator)
        table = rows.table if self.stratify else rows.group_sizes[:, None]
        return deal_groups(table, int(self.n_folds), generator)[rows.groups]


@dataclass(frozen=True, repr=False)
class LeaveOneOut(Splitter):
    """Every row is tested once, alone; with `row_groups`, every group.

    References
    ----------
    Lachenbruch, P. A. and Mickey, M. R. (1968), Estimation of error rates in discriminant
    analysis, *Technometrics* 10, 1-11.

    Examples
    --------
    >>> from featly.study.splits import LeaveOneOut
    >>> patients = ["ann", "ann", "bob", "cid"]
    >>> for split in LeaveOneOut().split(None, [0, 1, 1, 0], row_groups=patients):
    ...     print(split.name, split.train, split.test)
    ann [2 3] [0 1]
    bob [0 1 3] [2]
    cid [0 1 2] [3]
    """

    def total_test_rows(self, n_splits: int, n_rows: int) -> float:
        """Return how many test rows all splits of a table have."""
        return float(n_rows)

    def _count(self, rows: Rows) -> int:
        return rows.n_units

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        rows.refuse_lonely_class()
        labels, groups = rows.group_labels, rows.groups
        if labels is None or groups is None:
            return lambda row: Split.testing(row, np.array([row]), rows.n, f"row {row}")
        left = has_two_training_classes(rows.table)
        if not left.all():
            raise DataError(
                f"leaving out {rows.unit_name(int(np.argmin(left)))} leaves one class to train "
                "on: use KFold or Subsampling, or leave the group out"
            )
        return lambda group: Split.testing(group, groups == group, rows.n, str(labels[group]))


@dataclass(frozen=True, repr=False)
class Holdout(Splitter):
    """One split: the official one where the data has one, else a random one.

    Parameters
    ----------
    test_size : float or int, default=1/3
        Of the random split, drawn as :class:`Subsampling` draws.
    column : str or None, default=None
        The column of the official split, which must then exist: the study takes it out of the
        table and passes it on. ``official`` is text, "train" or "test" in upper or lower case; or
        bools, where True is a test row, unless `column` has the word "train" in its name. Other
        labels, such as "validation", are refused: say whether such rows are for training, or leave
        them out.
    stratify : bool, default=True
        Of the random split.
    random_state : int, default=0
        Seed of the random numbers.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, appendix A.3.4.

    Examples
    --------
    >>> from featly.study.splits import Holdout
    >>> Holdout()
    Holdout(test_size=1/3)
    >>> next(Holdout().split(None, [0, 1, 0, 1, 0, 1]))
    Split(0, 'random', 4 train, 2 test)
    >>> official = ["Train", "Train", "Train", "Test", "Test", "Test"]
    >>> next(Holdout(column="split").split(None, [0, 1, 0, 1, 0, 1], official=official)).test
    array([3, 4, 5])
    """

    _: KW_ONLY
    test_size: float | int = 1 / 3
    column: str | None = None
    stratify: bool = True
    random_state: int = 0

    @property
    def _always_shown(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("test_size",) if self.column is None else ()

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        check_test_size(self.test_size)
        if self.column is not None and not isinstance(self.column, str):
            raise ParameterError(f"column={self.column!r}: give the name of a column, or None")
        if self.column is not None and self.test_size != 1 / 3:
            raise ParameterError(
                f"column={self.column!r} and test_size={self.test_size!r}: an official split has "
                "its own size, give one of the two"
            )

    def _count(self, rows: Rows) -> int:
        return 1

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        if rows.official is not None:
            return lambda number: official_split(rows, self.column)
        if self.column is not None:
            raise DataError(f"{self!r}: the table came without its official split, pass official=")
        draw = make_test_drawer(rows, self.test_size, self.stratify)
        return lambda number: Split.testing(number, draw(self._generator(number)), rows.n, "random")


@dataclass(frozen=True, repr=False)
class Bootstrap(Splitter):
    r"""Train on n rows drawn with replacement, test on those never drawn (about 36.8%).

    A sample is drawn again if it leaves no row to test, or one class to train on. With
    `row_groups`, groups are drawn with replacement, as many as there are, each with all its rows.

    Parameters
    ----------
    n_splits : int, default=100
    estimator : {".632+", ".632", "out-of-bag"}, default=".632+"
        How a study combines the errors of the replicates: with :math:`\bar e` the error on the rows
        that the fit has seen and :math:`e_0` that on the others,
        :math:`.368 \bar e + .632 e_0` (".632"), a weight of :math:`e_0` that grows with the
        overfitting (".632+"), or :math:`e_0` alone ("out-of-bag").
    stratify : bool, default=False
        Whether each class (for groups: each most frequent class) is drawn from separately.
    balanced : bool, default=False
        Whether every row (or group) is drawn equally often in all samples together: `n_splits`
        copies of the rows are shuffled and cut into the samples. A mean over the samples then has
        no error from rows that happen to be drawn too often.
    random_state : int, default=0
        Seed of the random numbers.

    References
    ----------
    Davison, A. C., Hinkley, D. V. and Schechtman, E. (1986), Efficient bootstrap simulation,
    *Biometrika* 73, 555-566. Efron, B. and Tibshirani, R. (1997), Improvements on cross-validation:
    the .632+ bootstrap method, *J. Am. Statist. Assoc.* 92, 548-560.

    Examples
    --------
    >>> from featly.study.splits import Bootstrap
    >>> Bootstrap(50, estimator="out-of-bag")
    Bootstrap(50, estimator='out-of-bag')
    >>> split = Bootstrap().split_at(0, None, [0, 1, 0, 1, 0, 1])
    >>> split.train, split.test
    (array([0, 1, 1, 3, 3, 5]), array([2, 4]))
    """

    n_splits: int = 100
    _: KW_ONLY
    estimator: str = ".632+"
    stratify: bool = False
    balanced: bool = False
    random_state: int = 0

    _always_shown = ("n_splits", "estimator")

    @property
    def needs_apparent(self) -> bool:
        """Return whether `estimator` needs the error on the training rows, too."""
        return self.estimator != "out-of-bag"

    def check_parameters(self) -> None:
        """Raise ParameterError for a parameter that is out of range."""
        super().check_parameters()
        Whole(at_least=1).check("n_splits", self.n_splits)
        FLAG.check("balanced", self.balanced)
        if self.estimator not in ESTIMATORS:
            raise ParameterError(
                f"estimator={self.estimator!r}: give one of {', '.join(map(repr, ESTIMATORS))}"
            )

    def total_test_rows(self, n_splits: int, n_rows: int) -> float:
        """Return about how many test rows all splits of a table have."""
        return n_splits * n_rows / np.e  # of many rows a sample leaves out so many

    def _count(self, rows: Rows) -> int:
        return int(self.n_splits)

    def _drawer(self, rows: Rows) -> Callable[[int], Split]:
        strata = [np.arange(rows.n_units)]
        if self.stratify:
            main = rows.unit_classes
            strata = [np.flatnonzero(main == label) for label in np.unique(main)]

        if self.balanced:
            return self._balanced_drawer(rows, strata)

        def draw(number: int) -> Split:
            generator = self._generator(number)
            for _ in range(REDRAWS):
                drawn = [m[generator.integers(len(m), size=len(m))] for m in strata]
                split = _sample_split(number, np.concatenate(drawn), rows)
                if split is not None:
                    return split
            raise DataError(f"{self!r}: {NO_SAMPLE}")

        return draw

    def _balanced_drawer(self, rows: Rows, strata: list[IntArray]) -> Callable[[int], Split]:
        """Draw all samples together, again until each of them can be used."""

        @cache
        def draw_all() -> list[Split]:
            generator = self._generator(0)
            for _ in range(REDRAWS):
                samples = [
                    generator.permutation(np.tile(m, self.n_splits)).reshape(self.n_splits, len(m))
                    for m in strata
                ]
                splits = []
                for number, drawn in enumerate(np.concatenate(samples, axis=1)):
                    split = _sample_split(number, drawn, rows)
                    if split is None:
                        break
                    splits.append(split)
                if len(splits) == self.n_splits:
                    return splits
            raise DataError(f"{self!r}: {NO_SAMPLE}")

        return lambda number: draw_all()[number]


def _sample_split(number: int, drawn: IntArray, rows: Rows) -> Split | None:
    """Return the split of drawn units; None if no row is left to test, or one class to train on."""
    times = np.bincount(drawn, minlength=rows.n_units)[rows.units]
    train, test = np.repeat(np.arange(rows.n), times), np.flatnonzero(times == 0)
    return Split(number, train, test) if len(test) and has_two_classes(rows.y[train]) else None


def _test_rows(test_size: float, n_rows: int) -> float:
    """Return the number of test rows that a parameter `test_size` means."""
    return test_size * n_rows if isinstance(test_size, float | np.floating) else float(test_size)


def as_splitter(value: Any) -> Splitter:
    """Return the splitter for a value of ``splits``.

    Parameters
    ----------
    value : Splitter, int, scikit-learn splitter, or list of (train, test) pairs
        An int is the number of folds of :class:`KFold`.

    Returns
    -------
    Splitter
        Its parameters have been checked.

    Examples
    --------
    >>> from sklearn.model_selection import GroupKFold
    >>> as_splitter(5), as_splitter(GroupKFold(3)), as_splitter([([0, 1], [2]), ([1, 2], [0])])
    (KFold(5), FromSklearn(GroupKFold(...n_splits=3...)), FixedSplits(2 pairs, ...))
    """
    if isinstance(value, Splitter):
        splitter = value
    elif isinstance(value, type):
        raise ParameterError(f"splits={value.__name__} is a class: write {value.__name__}()")
    elif Whole().accepts(value):
        splitter = KFold(int(value))
    elif hasattr(value, "split") and not isinstance(value, str | bytes):
        splitter = FromSklearn(value)
    elif hasattr(value, "__iter__") and not isinstance(value, str | bytes | dict):
        splitter = FixedSplits(tuple(value))
    else:
        raise ParameterError(
            f"splits={value!r}: give a splitter such as Subsampling(200, test_size=0.1), a number "
            "of folds, a scikit-learn splitter, or a list of (train, test) pairs"
        )
    splitter.check_parameters()
    return splitter
