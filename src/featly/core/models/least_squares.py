r"""Penalised least squares with a bias, by whichever system is smaller.

.. math::

    \min_\beta \sum_i d_i \|t_i - a_i \beta\|^2 + \lambda \|\beta\|^2, \quad A = [\mathbf 1, Z]:
    \qquad (A^\top D A + \lambda I) \beta = A^\top D T, \quad\text{or}\quad
    \beta = B^\top (B B^\top + \lambda I)^{-1} D^{1/2} T, \quad B = D^{1/2} A

The second form is the first one by the Sherman-Morrison-Woodbury identity: a system of the rows
in place of one of the columns. Both are solved by Cholesky's factors and one round of refinement.
Where :math:`\lambda` is lost in rounding beside the squares, or 0, eigenvalues say which
directions the rows determine, and the others get no weight: the shortest solution. Where both
systems are large, conjugate gradients need no more than products with A (Hestenes and Stiefel
1952, with the squares of the columns as preconditioner).

The certificate is the residual of the system over its right-hand side. The cost is
:math:`2\lambda`-strongly convex, so the solution is no further from the best one than the
residual over :math:`\lambda`.

Fung, G. and Mangasarian, O. L. (2001), Proximal support vector machine classifiers, *KDD*, 77-86.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from featly.basics.typing import FloatArray, IntArray
from featly.core.models.least_squares_tables import Part, Table, signs
from featly.core.runtime.parallel import single_threaded_blas

__all__ = ["LARGEST_SYSTEM", "Solution", "clear_rounding", "solve", "solve_system"]


LARGEST_SYSTEM = 8192  # unknowns of a system that is factorised: half a gigabyte
LOST = 1e-12  # a penalty, or a direction, below this share of the squares is lost in rounding
NEAR = 1e-10  # values that differ by this share of the largest that weights can give are equal
NEGLIGIBLE = 1e-7  # a right-hand side this small, beside what it might be, counts as this large
TOLERANCE = 1e-10  # of the residual, where gradients are conjugate
MOST_ROUNDS = 5000


@dataclass(frozen=True)
class Solution:
    """Weights of least squares.

    Attributes
    ----------
    beta : float array of shape (1 + n_columns, n_outputs)
        The bias, and the weights of the columns.
    residual : float array of shape (n_outputs,)
        What the system leaves of its right-hand side, as a share: the certificate.
    least : float array of shape (n_outputs,)
        Values of this size are 0 but for rounding.
    """

    beta: FloatArray
    residual: FloatArray
    least: FloatArray


def solve(
    table: Table,
    codes: IntArray,
    n_classes: int,
    ridge: float,
    weight: FloatArray | None = None,
    counts: Sequence[int] | None = None,
) -> Iterator[Solution]:
    r"""Fit signs of classes on the bias and the first columns, for each number of them.

    The system of the first columns is the first part of the system of all, and so are its
    Cholesky factors: as long as there are no more columns than rows, all numbers of columns cost
    one factorisation. Beyond that the Gram matrix of the rows grows, and is factorised each time.

    Parameters
    ----------
    table : Table
    codes : int array
        Class of every row, from 0 to `n_classes` - 1.
    n_classes : int
    ridge : float
        :math:`\lambda`, from 0.
    weight : float array or None
        :math:`d_i`, positive.
    counts : ascending counts of columns, or None for all of them

    Yields
    ------
    solution : Solution

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.models.least_squares_tables import BlockTable
    >>> table = BlockTable.from_array(np.array([[-1.0], [0.0], [1.0]]))
    >>> next(solve(table, np.array([0, 1, 1]), 2, ridge=1.0)).beta.ravel().tolist()
    [0.25, 0.6666666666666666]
    """
    counts = [table.n_columns] if counts is None else counts
    n = table.n_rows
    if weight is not None and weight.max() > 1:
        # whatever the weights are, their squares do not overflow; a power of 4 rounds nothing
        unit = 4.0 ** (np.frexp(weight.max())[1] // 2)
        weight, ridge = weight / unit, ridge / unit
    total = n if weight is None else float(weight.sum())
    bound = total / (total + ridge)  # the most that a bias alone can be
    most = min(n, LARGEST_SYSTEM)
    tall = [count for count in counts if count < most]
    wide = [count for count in counts if count >= most]

    def target(low: int, high: int) -> FloatArray:
        return signs(codes[low:high], n_classes)

    if tall:
        yield from solve_system(
            *table.normal_equations(target, weight, tall[-1]), ridge, bound, tall
        )
    if wide and n <= LARGEST_SYSTEM:
        yield from _solve_by_rows(table, target, ridge, weight, bound, wide)
    else:
        for count in wide:
            yield _solve_by_gradients(_FirstColumns(table, count), target, ridge, weight, bound)


def clear_rounding(values: FloatArray, least: FloatArray) -> FloatArray:
    """Clear values of rounding errors: one value a row, or for many classes one a class.

    What is 0 but for rounding is 0; what is the largest but for rounding is the largest, so that
    the first of equal classes wins, however the sums were rounded.

    Examples
    --------
    >>> import numpy as np
    >>> clear_rounding(np.array([[1e-17], [0.5]]), np.array([1e-10]))
    array([0. , 0.5])
    >>> clear_rounding(np.array([[0.5, 0.5 + 2e-16, -0.5]]), np.full(3, 1e-10)).argmax()
    np.int64(0)
    """
    if values.shape[1] == 1:
        return np.where(np.abs(values) <= least, 0.0, values)[:, 0]
    best = values.max(axis=1, keepdims=True)
    return np.where(values >= best - least.max(), best, values)


# ---- a system of the columns ---------------------------------------------------------------------
def solve_system(
    gram: FloatArray, right: FloatArray, ridge: float, bound: float, counts: Sequence[int]
) -> Iterator[Solution]:
    """Solve (gram + ridge I) beta = right on the bias and the first columns.

    The same as :func:`solve` where A'DA and A'DT are known already; `bound` is the most that a
    bias alone can be.
    """
    with single_threaded_blas():
        factor = _factor(gram, ridge)
        if factor is not None:
            half = solve_triangular(factor, right, lower=True, check_finite=False)
    for count in counts:
        k = count + 1
        system, wanted = gram[:k, :k], right[:k]
        with single_threaded_blas():
            if factor is None:
                beta = _shortest(system, wanted, ridge)
            else:
                L = factor[:k, :k]
                beta = solve_triangular(L, half[:k], lower=True, trans="T", check_finite=False)
                beta += _solve_cholesky(L, wanted - system @ beta - ridge * beta)
            residual = wanted - system @ beta - ridge * beta
        size = _lengths(wanted, np.sqrt(gram[0, 0] * np.trace(system)))
        yield _build_solution(beta, residual, size, bound)


def _factor(gram: FloatArray, ridge: float) -> FloatArray | None:
    """Return L with LL' = gram + ridge I, or None where the ridge is lost in rounding."""
    if ridge <= LOST * np.trace(gram):
        return None
    raised = gram.copy()
    raised.flat[:: len(raised) + 1] += ridge
    factor: FloatArray = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
    return factor


def _solve_cholesky(L: FloatArray, right: FloatArray) -> FloatArray:
    half = solve_triangular(L, right, lower=True, check_finite=False)
    solution: FloatArray = solve_triangular(L, half, lower=True, trans="T", check_finite=False)
    return solution


def _shortest(gram: FloatArray, right: FloatArray, ridge: float) -> FloatArray:
    """Return the solution of least length, in the directions that the rows determine."""
    values, vectors = eigh(gram, check_finite=False)
    sure = values > LOST * values[-1]
    V = vectors[:, sure]
    solution: FloatArray = V @ ((V.T @ right) / (values[sure] + ridge)[:, None])
    return solution


# ---- a system of the rows ------------------------------------------------------------------------
def _solve_by_rows(
    table: Table,
    target: Part,
    ridge: float,
    weight: FloatArray | None,
    bound: float,
    counts: Sequence[int],
) -> Iterator[Solution]:
    n = table.n_rows
    root = np.ones((n, 1)) if weight is None else np.sqrt(weight)[:, None]
    wanted = root * target(0, n)
    outer, n_used = np.ones((n, n)), 0
    for count in counts:
        outer += table.outer(n_used, count)
        n_used = count
        system = outer * root * root.T
        with single_threaded_blas():
            factor = _factor(system, ridge)
            if factor is None:
                dual = _shortest(system, wanted, ridge)
            else:
                dual = _solve_cholesky(factor, wanted)
                dual += _solve_cholesky(factor, wanted - system @ dual - ridge * dual)
            residual = wanted - system @ dual - ridge * dual
            size = _lengths(wanted, 0.0)
            if factor is None:  # the part that no weights can fit remains
                residual = system @ residual
                size = _lengths(system @ wanted, np.trace(system) * size)
        spread = root * dual
        beta = table.multiply_transposed(_as_part(spread))[: count + 1]
        yield _build_solution(beta, residual, size, bound)


# ---- products only -------------------------------------------------------------------------------
class _FirstColumns:
    """The bias and the first columns of a table, as conjugate gradients need them."""

    def __init__(self, table: Table, count: int) -> None:
        self.table, self.count = table, count

    def pull(self, part: Part) -> FloatArray:
        """Return the product A'U on these columns."""
        return self.table.multiply_transposed(part)[: self.count + 1]

    def squares(self, weight: FloatArray | None) -> FloatArray:
        """Return approximate sums of squares of the columns: weights count by their mean."""
        mean, variance = self.table.moments()
        total = self.table.n_rows if weight is None else weight.sum()
        return np.concatenate([[1.0], (variance + mean**2)[: self.count]]) * total


def _solve_by_gradients(
    first: _FirstColumns, target: Part, ridge: float, weight: FloatArray | None, bound: float
) -> Solution:
    """Solve the system of the columns by conjugate gradients, all outputs at once."""
    table = first.table
    wanted = target(0, table.n_rows)

    def residual_of(beta: FloatArray) -> FloatArray:
        fitted = table.multiply(beta)
        return first.pull(_weight_part(_as_part(wanted - fitted), weight)) - ridge * beta

    def product(V: FloatArray) -> FloatArray:
        fitted = table.multiply(V)
        return first.pull(_weight_part(_as_part(fitted), weight)) + ridge * V

    right = first.pull(_weight_part(target, weight))
    squares = first.squares(weight) + ridge
    divisor = np.where(squares > 0, squares, 1.0)[:, None]
    total = table.n_rows if weight is None else weight.sum()
    size = _lengths(right, np.sqrt(total * squares.sum()))
    beta, residual = np.zeros_like(right), right.copy()
    step = residual / divisor
    fall = (residual * step).sum(axis=0)
    for _ in range(MOST_ROUNDS):
        if (np.linalg.norm(residual, axis=0) <= TOLERANCE * size).all():
            break
        product_of_step = product(step)
        curve = (step * product_of_step).sum(axis=0)
        length = np.divide(fall, curve, out=np.zeros_like(fall), where=curve > 0)
        beta += length * step
        residual -= length * product_of_step
        scaled_residual = residual / divisor
        before, fall = fall, (residual * scaled_residual).sum(axis=0)
        share = np.divide(fall, before, out=np.zeros_like(fall), where=before > 0)
        step = scaled_residual + share * step
    return _build_solution(beta, residual_of(beta), size, bound)


# ---- parts ---------------------------------------------------------------------------------------
def _as_part(U: FloatArray) -> Part:
    return lambda low, high: U[low:high]


def _weight_part(part: Part, weight: FloatArray | None) -> Part:
    if weight is None:
        return part
    return lambda low, high: part(low, high) * weight[low:high, None]


def _lengths(right: FloatArray, most: float | FloatArray) -> FloatArray:
    """Return lengths of right-hand sides, with a lower bound, as residuals are divided by them.

    `most` is the length that rows of this size can give (Cauchy and Schwarz).
    """
    lengths: FloatArray = np.maximum(np.linalg.norm(right, axis=0), NEGLIGIBLE * most)
    return lengths


def _build_solution(
    beta: FloatArray, remainder: FloatArray, size: FloatArray, bound: float
) -> Solution:
    length = np.linalg.norm(remainder, axis=0)
    residual = np.divide(length, size, out=np.zeros_like(length), where=size > 0)
    return Solution(beta, residual, NEAR * (np.abs(beta).sum(axis=0) + bound))
