r"""Linear machines between pairs of classes: L1, L2, L3, and margins of rows left out.

.. math::

    \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
    \quad\text{s.t.}\quad y_i (w \cdot z_i + b) \ge 1 - \xi_i,\ \xi_i \ge 0

Cortes, C. and Vapnik, V. (1995), Support-vector networks, *Machine Learning* 20, 273-297.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, single_threaded_blas
from featly.core.svm.dual import SVMDual, middle_bias

__all__ = ["Machine", "left_out_margins", "pair_machine"]


MOST_DENSE_ROWS = 1024  # with more rows, and at most a quarter as many columns, no n x n matrix
ROUNDING = 1e-9  # a margin, or the violation of one, below this is 0


@dataclass(frozen=True)
class Machine:
    """A linear machine with the margins of the rows it was trained on.

    Attributes
    ----------
    weights : float array
    bias, duality_gap : float
        The bias, and the relative duality gap.
    margins : float array
        :math:`y_i (w z_i + b)`: negative on the wrong side, and 0 on neither.
    """

    weights: FloatArray
    bias: float
    duality_gap: float
    margins: FloatArray

    @property
    def slack(self) -> float:
        """Mean violation of the margin, where rounding errors count as 0."""
        violation = 1 - self.margins
        return float(np.where(violation > ROUNDING, violation, 0.0).mean())

    @property
    def error_distance(self) -> float:
        """Summed distance of misplaced rows to the boundary, over all rows."""
        length = float(np.linalg.norm(self.weights))
        if length == 0:
            return 0.0
        return float(np.maximum(0.0, -self.margins).mean()) / length

    @property
    def error(self) -> float:
        """Share of misplaced rows; one on the boundary counts as half."""
        return float((self.margins < 0).mean() + (self.margins == 0).mean() / 2)

    def nonlinearity(self, pairs: IntArray, weight: FloatArray) -> float:
        """Return the share of misplaced points between two rows of a class.

        Margins are linear, so that of a point is between those of the two rows.
        """
        between = weight * self.margins[pairs[:, 0]] + (1 - weight) * self.margins[pairs[:, 1]]
        return float((between < 0).mean() + (between == 0).mean() / 2)


def pair_machine(Z: FloatArray, second: BoolArray, C: float | FloatArray) -> Machine:
    """Solve the machine of two classes exactly."""
    y = np.where(second, 1.0, -1.0)
    prices = np.broadcast_to(np.asarray(C, np.float64), y.shape).copy()
    dual = SVMDual(y, prices)
    with single_threaded_blas():
        if len(Z) > MOST_DENSE_ROWS and 4 * Z.shape[1] <= len(Z):
            dual.solve_factor(np.ascontiguousarray(Z.T))
        else:
            dual.solve(Z @ Z.T, Z.shape[1])
        weights = dual.coef @ Z
        values = Z @ weights
    bias = middle_bias(values, y, prices)
    margins = y * (values + bias)
    margins[np.abs(margins) <= ROUNDING * max(1.0, float(np.abs(values).max()))] = 0.0
    return Machine(weights, bias, dual.duality_gap, margins)


def left_out_margins(
    Z: FloatArray,
    y: IntArray,
    n_classes: int,
    fold: IntArray,
    needed: BoolArray,
    n_jobs: int | None,
) -> FloatArray:
    """Return the least margin of each row, against any other class, of machines without that row.

    Margins are in units of the median margin of the machine; all classes have the same total cost,
    whatever their numbers of rows. A negative margin means another class. It is infinite for rows
    that are not `needed`.
    """
    pairs = list(combinations(range(n_classes), 2))
    tasks = [(pair, f) for pair in pairs for f in range(int(fold.max()) + 1)]
    least = np.full(len(y), np.inf)

    def judge_left_out(task: tuple[tuple[int, int], int]) -> tuple[IntArray, FloatArray]:
        (a, b), f = task
        either = (y == a) | (y == b)
        train, test = (
            np.flatnonzero(either & (fold != f)),
            np.flatnonzero(either & needed & (fold == f)),
        )
        second = y[train] == b
        if len(test) == 0 or second.all() or not second.any():
            return test[:0], np.empty(0)
        share = np.where(second, second.mean(), 1 - second.mean())
        machine = pair_machine(Z[train], second, 0.5 / share)
        unit = float(np.median(np.abs(machine.margins)))
        values = (Z[test] @ machine.weights + machine.bias) / (unit if unit > 0 else 1.0)
        return test, np.where(y[test] == b, values, -values)

    for rows, margins in run_blocks(judge_left_out, tasks, n_jobs):
        least[rows] = np.minimum(least[rows], margins)
    return least
