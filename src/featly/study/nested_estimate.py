"""Estimate of a nested cross-validation: the rate of a recipe, its interval, and both in words."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from featly.basics.typing import FloatArray

__all__ = ["Candidate", "NestedEstimate"]

SMALL = 50  # with fewer rows the words give the interval only


class Candidate(NamedTuple):
    """A method, a learner and a number of columns; 0 if the method chooses the number itself.

    Attributes
    ----------
    method, learner : str
    size : int
    """

    method: str
    learner: str
    size: int


@dataclass(frozen=True, eq=False)
class NestedEstimate:
    """Rate of a recipe on new rows, with its interval, and the size that the final model has.

    Attributes
    ----------
    metric : str
    value : float
        The rate that a model of all rows is expected to have.
    lower, upper : float
        Rounded outward to two decimals; NaN where there is no interval.
    level : float
    method, learner : str
        Of the final model.
    size : int
        Its number of columns: chosen by the same rule from all outer predictions, or the mean
        number of a method that chooses it itself.
    uncorrected : float
        The rate of the outer models, which have seen a fold less.
    class_rates : float array
        Corrected shares of each class that are predicted right; empty for the AUC.
    chosen : list of (repeat, fold, Candidate)
        What each training part chose; None where nothing could be fitted.
    chance : float or None
        The value of guessing.
    greater_is_better : bool
    notes : tuple of str
        Words of caution.
    n_rows : int

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import nested
    >>> X, y = np.random.default_rng(1).normal(size=(80, 5)), np.tile([0, 1], 40)
    >>> X[:, 0] += 3 * y
    >>> print(nested("f-test", (X, y), repeats=1, sizes=[1], n_jobs=1).estimate())
    On new rows like these the whole recipe, choice of columns included, gets 90% right (each
    class counting the same); the data are compatible with 74% to 97%.
    """

    metric: str
    value: float
    lower: float
    upper: float
    level: float
    method: str
    learner: str
    size: int
    uncorrected: float
    class_rates: FloatArray
    chosen: list[tuple[int, int, Candidate | None]]
    chance: float | None
    greater_is_better: bool
    n_rows: int
    notes: tuple[str, ...] = ()

    @property
    def has_interval(self) -> bool:
        """Return whether there is an interval."""
        return not math.isnan(self.lower)

    def __str__(self) -> str:
        begin = "On new rows like these the whole recipe, choice of columns included,"
        if self.metric == "auc":
            value, ends = f"{self.value:.2f}", (f"{self.lower:.2f}", f"{self.upper:.2f}")
            words = "an area under the ROC curve of {}"
        else:
            value = f"{100 * self.value:.0f}%"
            ends = f"{100 * self.lower:.0f}%", f"{100 * self.upper:.0f}%"
            words = _WORDS[self.metric]
        verb = "has" if self.metric == "auc" else "gets"
        if not self.has_interval:
            return f"{begin} {verb} {words.format(value)}; too many fits failed for an interval."
        if self.n_rows < SMALL:
            return f"{begin} {verb} {words.format('between ' + ' and '.join(ends))}."
        return (
            f"{begin} {verb} {words.format(value)}; the data are compatible with "
            f"{' to '.join(ends)}."
        )


_WORDS = {
    "bcr": "{} right (each class counting the same)",
    "accuracy": "{} right",
    "error": "{} wrong",
    "sensitivity": "{} of the rows of the second class right",
    "specificity": "{} of the other rows right",
}
