r"""p-values by random draws: more of them the smaller p is, and each p still a p-value.

.. math::

    p = \frac{1 + \text{draws at least as extreme as what was observed}}{1 + \text{draws}}

Draws are made in stages of :math:`N_0 < N_1 < \dots` in all. A column leaves after stage s if
:math:`h_s` draws or more were as extreme, where :math:`(1 + h_s) / (1 + N_s)` falls with s.

**Why p is valid.** Let :math:`\alpha` lie between :math:`(1 + h_s) / (1 + N_s)` and the same of the
stage before. A column that left earlier has a larger p; one that leaves at s or goes on has, at s,
:math:`(1 + g_s) / (1 + N_s) \le \alpha` wherever its last p is at most :math:`\alpha`. So
:math:`p \le \alpha` implies that the p-value of the fixed number :math:`N_s` of draws is, which has
at most the probability :math:`\alpha`. Compare Besag, J. and Clifford, P. (1991), Sequential Monte
Carlo p-values, *Biometrika* 78, 301-304, who stop at the draw and not at the stage.

**The last stage.** All columns that are left stop together, once :math:`N_s \ge c\,m / k` for m
columns in the table and k left: then k columns of the smallest p have a q-value of
:math:`m / (k N_s) \le 1 / c`. So the work after the first stages is at most about :math:`4 c m`
draws, however many columns have an effect, and one of 5,000 columns can be found. The stage at
which it ends depends on the other columns. Of a column that is independent of them p is valid by
the argument above; under any dependence :math:`P(p \le \alpha)` is at most :math:`\alpha` for each
stage at which :math:`\alpha` lies between :math:`1 / (1 + N_s)` and :math:`(1 + h_s) / (1 + N_s)`,
which are two of them.
"""

from collections.abc import Callable

import numpy as np

from featly.basics.typing import IntArray
from featly.core.runtime.parallel import split

__all__ = ["draw_in_stages"]

# (share of n_draws, extreme draws after which a column leaves)
STAGES = ((0.02, 20), (0.1, 20), (1.0, 10))
GROWTH = 4  # each later stage has so many times the draws of the one before
LEAVE = 10  # extreme draws after which a column leaves a later stage
PRECISION = 40  # c: the smallest q-value that draws alone must allow is 1 / 40


def draw_in_stages(
    count: Callable[[IntArray, int, int], IntArray],
    reached: IntArray,
    drawn: IntArray,
    *,
    n_draws: int,
    n_columns: int,
    all_at_once: bool = False,
    batch: int | None = None,
    report: Callable[[], None] | None = None,
) -> None:
    """Fill in how many draws were as extreme as the observed, and how many were made.

    Parameters
    ----------
    count : callable
        ``count(active, low, high)``: for some columns, how many of the draws `low` to `high` are
        as extreme. Draws depend on their number alone, not on who is active.
    reached, drawn : int64 array
        Filled in; zeros. After Ctrl-C they hold what was done by then.
    n_draws : int
        Draws of a column of small p before any is refined.
    n_columns : int
        Columns of the table, over which q-values are computed.
    all_at_once : bool, default=False
        Whether all columns have `n_draws`, whatever their p.
    batch : int, optional
        Columns between two calls of `report`; None: all that are active.
    report : callable, optional
        Called without arguments.

    Examples
    --------
    >>> import numpy as np
    >>> reached, drawn = np.zeros((2, 2), int)
    >>> def count(active, low, high):
    ...     share = np.array([0.5, 0.0])[active]
    ...     return (share * (high - low)).astype(int)
    >>> draw_in_stages(count, reached, drawn, n_draws=1000, n_columns=500)
    >>> reached.tolist(), drawn.tolist()
    ([50, 0], [100, 64000])
    """
    active = np.arange(len(reached))
    low = 0
    stages = [(max(1, round(share * n_draws)), leave) for share, leave in STAGES]
    position = len(stages) - 1 if all_at_once else 0
    while len(active):
        if position < len(stages):
            high, leave = stages[position]
        else:
            high, leave = low * GROWTH, LEAVE
        if high > low:
            size = len(active) if batch is None else batch
            for part in (active[a:b] for a, b in split(len(active), size)):
                reached[part] += count(part, low, high)
                drawn[part] = high
                if report is not None:
                    report()
            low = high
        active = active[reached[active] < leave]
        position += 1
        if low >= n_draws and low * len(active) >= PRECISION * n_columns:
            break
