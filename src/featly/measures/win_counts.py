r"""Proportions of runs that one method wins against another, and counts of methods beaten.

.. math::

    P_{ab} = \frac{1}{R_{ab}} \sum_{r} [e_{ar} < e_{br}], \qquad
    \text{beaten}_a = \sum_b [P_{ab} > P_{ba}]

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216, section 4.
"""

from collections.abc import Hashable, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError
from featly.basics.typing import FloatArray, IntArray
from featly.measures.corrected_t import as_numbers

__all__ = ["methods_beaten", "win_proportions"]


def win_proportions(
    errors: npt.ArrayLike, groups: Sequence[Hashable] | npt.NDArray[np.generic] | None = None
) -> FloatArray:
    r"""Compute the proportion of the runs in which one method's error is below another's.

    .. math::

        P_{ab} = \frac{1}{R_{ab}} \sum_{r} [e_{ar} < e_{br}]

    over the :math:`R_{ab}` runs of both methods. Runs with equal errors count for neither:
    :math:`P_{ab} + P_{ba}` may be below 1. The runs of several datasets stand side by side
    and have equal weight, as in the paper. With `groups` datasets have equal weight:
    :math:`P_{ab}` is then the mean of the proportions of the groups in which both methods ran.

    Parameters
    ----------
    errors : array of shape (n_methods, n_runs)
        Of the same run in each column; NaN where a method did not run, which leaves the run out
        of the comparisons with that method only.
        They are compared exactly: round them if they have rounding errors.
    groups : sequence of shape (n_runs,) or None, default=None
        The dataset of every run, for equal weights of datasets, however many runs they have.

    Returns
    -------
    proportions : float array of shape (n_methods, n_methods)
        Of the method of the row against that of the column. 0 on the diagonal, NaN for two
        methods that never ran together.

    See Also
    --------
    methods_beaten : The counts of table 8 of the paper.
    featly.measures.multi_criteria.wins : For complete tables of scores, with names and a summary.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216, section 4.

    Examples
    --------
    Three runs on one dataset and one on another.

    >>> from featly.measures.win_counts import win_proportions
    >>> errors = [[0.1, 0.2, 0.1, 0.5], [0.2, 0.3, 0.1, 0.4]]
    >>> win_proportions(errors).tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    >>> win_proportions(errors, groups=["iris", "iris", "iris", "wine"]).round(2).tolist()
    [[0.0, 0.33], [0.5, 0.0]]
    """
    table, members = _read(errors, groups)
    n_methods = len(table)
    proportions = np.full((n_methods, n_methods), np.nan)
    for a in range(n_methods):
        for b in range(n_methods):
            share = _share(table[a], table[b], members)
            if a == b:
                proportions[a, b] = 0.0
            elif share is not None:
                proportions[a, b] = float(share)
    return proportions


def methods_beaten(
    errors: npt.ArrayLike, groups: Sequence[Hashable] | npt.NDArray[np.generic] | None = None
) -> IntArray:
    r"""Count for each method the others it beats: with the smaller error in more runs.

    .. math::

        \text{beaten}_a = \sum_b [P_{ab} > P_{ba}]

    with the proportions of :func:`win_proportions`. They are compared as fractions, so that
    rounding breaks no tie. Two methods with as many wins each do not beat one another.

    Parameters
    ----------
    errors : array of shape (n_methods, n_runs)
        NaN where a method did not run.
    groups : sequence of shape (n_runs,) or None, default=None
        The dataset of every run, for equal weights of datasets.

    Returns
    -------
    beaten : int array of shape (n_methods,)
        From 0 to n_methods - 1; higher is better.

    Notes
    -----
    The counts add up to the number of pairs that are not tied: 36 for the nine methods of the
    paper's table 8 without ties, as in five of its six rows. The row "UCI, 10 features" adds up to
    37, which is impossible with one winner a pair: either a tied pair is counted for both methods,
    or one of the numbers is wrong.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216, table 8.

    Examples
    --------
    >>> from featly.measures.win_counts import methods_beaten
    >>> k_first, best, schulze = [0.1, 0.2, 0.1], [0.2, 0.3, 0.3], [0.2, 0.1, 0.2]
    >>> methods_beaten([k_first, best, schulze]).tolist()
    [2, 0, 1]
    """
    table, members = _read(errors, groups)
    beaten = np.zeros(len(table), np.int64)
    for a in range(len(table)):
        for b in range(len(table)):
            won = _share(table[a], table[b], members)
            lost = _share(table[b], table[a], members)
            beaten[a] += won is not None and lost is not None and won > lost
    return beaten


def _share(first: FloatArray, second: FloatArray, members: list[IntArray]) -> Fraction | None:
    """Return the mean over groups of the share of runs in which the first is below, or None."""
    shares = []
    for runs in members:
        a, b = first[runs], second[runs]
        n_both = int((~np.isnan(a) & ~np.isnan(b)).sum())
        if n_both:
            shares.append(Fraction(int((a < b).sum()), n_both))
    return sum(shares, Fraction(0)) / len(shares) if shares else None


def _read(errors: npt.ArrayLike, groups: object) -> tuple[FloatArray, list[IntArray]]:
    """Return the errors, and the runs of every group."""
    table = as_numbers("errors", errors)
    if table.ndim != 2 or table.size == 0:
        raise DataError(
            f"errors have shape {table.shape}: give a row for each method and a column for each run"
        )
    if groups is None:
        return table, [np.arange(table.shape[1])]
    labels = list(groups)  # type: ignore[call-overload]
    if len(labels) != table.shape[1]:
        raise DataError(
            f"groups have {len(labels)} entries, but errors have {table.shape[1]} runs: give the "
            "dataset of every run"
        )
    runs: dict[Hashable, list[int]] = {}
    for run, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise DataError(f"groups hold {label!r}: give one name a run")
        runs.setdefault(label, []).append(run)
    return table, [np.array(group_runs) for group_runs in runs.values()]
