r"""Sequential test against shuffled labels: a clear no ends after a few, a clear yes goes on.

.. math::

    p = \begin{cases} h / l & \text{if } h \text{ shuffles reach the observed value at the } l
    \text{th} \\ (g + 1) / (m + 1) & \text{if } g < h \text{ of } m \text{ do} \end{cases}

Besag, J. and Clifford, P. (1991), Sequential Monte Carlo p-values, *Biometrika* 78, 301-304. With
h = 5 and m = 99. The statistic needs no choice of a size: it is the mean over all sizes of the area
under the ROC curve, or of the balanced rate, of :mod:`featly.measures.fold_tally`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from featly.basics.errors import ParameterError

__all__ = ["MOST_SHUFFLES", "STOP", "ShuffleTest", "is_reached", "shuffle_test"]

MOST_SHUFFLES = 99
STOP = 5  # shuffles that reach the observed value: more would change nothing
LEVEL = 0.05
TIE = 1e-12  # values as near as this are equal, and count as reached


@dataclass(frozen=True)
class ShuffleTest:
    """Result of :func:`shuffle_test`.

    Attributes
    ----------
    statistic : float
        The observed value.
    drawn : int
        Shuffles that were drawn.
    reached : int
        Those whose value is at least the observed one.
    most : int
        Shuffles that would have been drawn at most.
    p_value : float
    values : tuple of float
        Those of the shuffles; of one that was ended early, because it could not reach the observed
        value any more, a number that it could not have exceeded.
    """

    statistic: float
    drawn: int
    reached: int
    most: int
    p_value: float
    values: tuple[float, ...] = ()

    @property
    def is_yes(self) -> bool:
        """Return whether the observed value is more than chance, at 5%."""
        return self.p_value <= LEVEL

    def __str__(self) -> str:
        return (
            f"with shuffled outcomes {self.reached} of {self.drawn} tries do as well: "
            f"p = {self.p_value:.3g}"
        )


def shuffle_test(
    observed: float, shuffled: Iterable[float], *, most: int = MOST_SHUFFLES, stop: int = STOP
) -> ShuffleTest:
    """Test a value against values of shuffled labels, drawn one by one until the answer is clear.

    Parameters
    ----------
    observed : float
        The value with the real labels; larger is better.
    shuffled : iterable of float
        Values with shuffled labels. No more are drawn than are needed.
    most : int, default=99
        Shuffles to draw at most; at least 19, below which p cannot be 5%.
    stop : int, default=5
        Stop when so many shuffles reach the observed value.

    Returns
    -------
    ShuffleTest
        An iterable that ends early gives the test of what was drawn.

    Examples
    --------
    >>> from featly.measures.shuffle_test import shuffle_test
    >>> print(shuffle_test(0.8, [0.5, 0.6, 0.8, 0.9, 0.4, 0.5, 0.9, 0.8, 0.9, 0.1, 0.2]))
    with shuffled outcomes 5 of 9 tries do as well: p = 0.556
    >>> shuffle_test(0.8, [0.5] * 200).p_value
    0.01
    """
    if most < 19 or stop < 1:
        raise ParameterError(f"most={most}, stop={stop}: give at least 19 shuffles, stop from 1")
    values: list[float] = []
    reached = 0
    for value in shuffled:
        values.append(float(value))
        reached += is_reached(float(value), observed)
        if reached == stop or len(values) == most:
            break
    drawn = len(values)
    p_value = reached / drawn if reached == stop else (1 + reached) / (1 + drawn)
    return ShuffleTest(float(observed), drawn, reached, most, p_value, tuple(values))


def is_reached(value: float, observed: float) -> bool:
    """Return whether a value is at least the observed one; a missing one counts as such.

    Examples
    --------
    >>> from featly.measures.shuffle_test import is_reached
    >>> is_reached(0.7, 0.7), is_reached(0.6, 0.7), is_reached(float("nan"), 0.7)
    (True, False, True)
    """
    return not value < observed - TIE
