r"""The margin machine of the l1-norm: a linear program over a growing set of columns.

.. math::

    \min_{w, b, \xi} \sum_a |w_a| + \sum_i C_i \xi_i \quad\text{s.t.}\quad
    y_i (w \cdot x_i + b) \ge 1 - \xi_i,\; \xi_i \ge 0

and its dual, of which a solution proves the other to be one,

.. math::

    \max_\alpha \sum_i \alpha_i \quad\text{s.t.}\quad
    \Big|\sum_i \alpha_i y_i x_{ia}\Big| \le 1 \text{ for every atom } a,\;
    \sum_i \alpha_i y_i = 0,\; 0 \le \alpha_i \le C_i

Bradley, P. S. and Mangasarian, O. L. (1998), Feature selection via concave minimization and
support vector machines, *ICML*, 82-90.

At most as many atoms as rows have a weight, so the program is solved on a working set of columns
(by HiGHS), all others are priced by the dual solution in one pass, and those that violate the
dual join. HiGHS stops at a tolerance of 1e-9; from the rows and columns that are tight in its
solution, two small linear systems give both solutions to rounding.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import lstsq
from scipy.optimize import linprog

from featly.basics.kinds import CATEGORICAL
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.question import question
from featly.core.sources.base import Source
from featly.core.svm.dual import middle_bias

__all__ = ["L1Machine", "NotSeparableError", "l1_margin"]


FIRST_COLUMNS = 200  # of a working set; a program of so many takes 10 ms on 100 rows
MOST_COLUMNS = 200  # that join it in one round, or as many as rows where those are fewer ...
FEWEST_COLUMNS = 40  # ... but not below this
VIOLATION = 1e-9  # how far above 1 the tightness of a column outside may be
LEAST_TIGHT = 0.8  # atoms less tight than this leave the working set
COPY_WINDOW = 1e-6  # columns this near to the tightness of another may be copies of it
HIGHS_TOLERANCES = (1e-9, 1e-7)  # absolute, of a program whose objective is near 1
HIGHEST_PRICE = 1e18  # 1e20 is infinite to HiGHS
CLOSE = 1e-7  # HiGHS's solution is this near to a bound that holds
TINY = 1e-9  # and what is below this share of the largest may well be zero
POLISHED = 1e-13  # relative objectives that differ by less are equally good
ROUNDING = 1e-15  # of a sum, relative to its terms

OPTIMAL, NONE_FEASIBLE = 0, (2, 3)  # linprog: infeasible, or its dual unbounded


class NotSeparableError(Exception):
    """A hard margin, and no hyperplane separates the classes."""


@dataclass(frozen=True)
class L1Machine:
    """A solution of the program and of its dual.

    Attributes
    ----------
    features : int array
        The features with a weight, ascending.
    norms : float array
        The sum of ``|w_a|`` over the block of each of them; positive.
    coef : float array of shape (n_rows,)
        ``alpha_i y_i`` of the dual; they sum to zero.
    bias : float
        Where all of an interval is best, its middle.
    loss : float
        ``sum_i C_i xi_i``; 0 for a hard margin.
    tightness : float array of shape (n_features,)
        For every feature the largest ``|x_a . coef|`` of its atoms: at most 1, and 1 for those
        with a weight, up to the rounding of the sum.
    duality_gap : float
        (primal - dual) / primal objective: the certificate. It takes `coef` divided by the
        largest tightness, where that is above 1.
    n_columns : int
        How many features entered the working set.
    """

    features: IntArray
    norms: FloatArray
    coef: FloatArray
    bias: float
    loss: float
    tightness: FloatArray
    duality_gap: float
    n_columns: int


@question
def l1_margin(
    source: Source, y: FloatArray, C: FloatArray, start: IntArray | None = None
) -> L1Machine:
    """Solve the machine of least l1-norm on columns that are centred and scaled.

    Of atoms that are equal, or opposite, in every row, only the one of the first feature can have
    a weight. Where several machines are optimal, the result is one of them, the same in every run.

    Parameters
    ----------
    source : Source
        Complete columns. Their scales may differ by many orders of magnitude.
    y : array of +1.0 and -1.0, both present
    C : array
        A price a row, all infinite (a hard margin) or all positive and finite.
    start : int array, optional
        Features to begin with, such as the support of a machine on similar columns.

    Returns
    -------
    L1Machine

    Raises
    ------
    NotSeparableError
        With a hard margin, if no hyperplane separates the classes by 1e-8 or so of the widths of
        the columns.
    """
    hard = bool(np.isinf(C[0]))
    dual_at_zero = _dual_without_columns(y, np.ones(len(y)) if hard else C)
    columns = _WorkingSet(source, y)
    if start is None or not hard:
        tightness = _tightness(source, dual_at_zero)
        if not hard and tightness.max(initial=0.0) <= 1:
            return _build_machine(columns, C, np.empty(0), dual_at_zero, tightness)
    if start is None:
        start = _find_largest(tightness, max(FIRST_COLUMNS, 2 * len(y) if hard else 0))
    columns.add(start)
    most = max(FEWEST_COLUMNS, min(len(y), MOST_COLUMNS))
    last = np.inf
    while True:
        solved = _Program(columns.atoms, y, C).solve()
        if solved is None:
            _add_separating_columns(columns, most)
            solved = _Program(columns.atoms, y, C).solve()
            if solved is None:
                raise NotSeparableError("no hyperplane separates the classes")
        weights, coef = solved
        tightness = _tightness(source, coef, above=1.0)
        is_tight = np.abs(columns.atoms @ coef) >= LEAST_TIGHT
        count = columns.add_largest(np.where(tightness > 1 + VIOLATION, tightness, 0.0), most)
        if count == 0:
            break
        value = float(np.abs(coef).sum())
        if value < (1 - VIOLATION) * last:  # so that the working sets cannot repeat
            columns.retain(np.append(is_tight, np.ones(count, np.bool_)))
        last = value
    if (source.kinds == CATEGORICAL).any():
        tightness = _tightness(source, coef)
    return _build_machine(columns, C, weights, coef, tightness)


def _dual_without_columns(y: FloatArray, C: FloatArray) -> FloatArray:
    """Return the dual solution where no column is worth its price: the lighter class pays all."""
    positive = y > 0
    above, below = C[positive].sum(), C[~positive].sum()
    paid = min(above, below)
    coef: FloatArray = y * C * np.where(positive, paid / above, paid / below)
    return coef


def _build_machine(
    columns: "_WorkingSet",
    C: FloatArray,
    weights: FloatArray,
    coef: FloatArray,
    tightness: FloatArray,
) -> L1Machine:
    """Build the solution by feature, with its certificate."""
    chosen = np.flatnonzero(weights)
    owners = columns.first_owners(chosen, tightness)
    features, position = np.unique(owners, return_inverse=True)
    norms = np.zeros(len(features))
    np.add.at(norms, position, np.abs(weights[chosen]))
    bias, loss = _best_bias(weights[chosen] @ columns.atoms[chosen], columns.y, C)
    primal = float(norms.sum()) + loss
    dual = float(np.abs(coef).sum()) / max(1.0, float(tightness.max(initial=0.0)))
    duality_gap = (primal - dual) / max(primal, np.finfo(float).tiny)
    n_columns = int(columns.entered.sum())
    return L1Machine(features, norms, coef, bias, loss, tightness, duality_gap, n_columns)


def _best_bias(values: FloatArray, y: FloatArray, C: FloatArray) -> tuple[float, float]:
    """Return the bias, in the middle where there is a choice, and the loss that goes with it."""
    if np.isinf(C[0]):
        return float((1 - values[y > 0]).max() + (-1 - values[y < 0]).min()) / 2, 0.0
    bias = middle_bias(values, y, C)
    return bias, float(C @ np.maximum(0.0, 1 - y * (values + bias)))


# ---- columns ------------------------------------------------------------------------------------
def _find_largest(values: FloatArray, count: int) -> IntArray:
    """Return positions of the largest positive values, at most `count`; of equal ones the first."""
    if len(values) > count:
        least = np.partition(values, len(values) - count)[len(values) - count]
        places = np.flatnonzero((values >= least) & (values > 0))
    else:
        places = np.flatnonzero(values > 0)
    return places[np.argsort(-values[places], kind="stable")][:count]


def _iterate_tiles(
    source: Source, features: IntArray
) -> Iterator[tuple[IntArray, FloatArray, IntArray]]:
    """Yield some features at a time, their atoms, and the feature of each atom."""
    part = source.view(features)
    sizes = np.diff(part.atoms)
    for low, high in part.blocks():
        owners = np.repeat(features[low:high], sizes[low:high])
        yield features[low:high], part.load(np.arange(low, high)), owners


def _tightness(source: Source, coef: FloatArray, above: float = 0.0) -> FloatArray:
    """Compute the largest ``|x_a . coef|`` of the atoms of every feature.

    Where the norm over a block is `above` or less, that norm, an upper bound, may be returned.
    """
    tightness = np.sqrt(source.forms(coef))
    blocks = np.flatnonzero((source.kinds == CATEGORICAL) & (tightness > above))
    for features, atoms, owners in _iterate_tiles(source, blocks):
        # a sum in one order for all atoms: equal ones get equal bits
        products = np.abs((atoms * coef).sum(axis=1))
        tightness[features] = np.maximum.reduceat(products, np.searchsorted(owners, features))
    return tightness


def _atom_keys(atoms: FloatArray) -> list[bytes]:
    """Keys of atoms: the same for equal or opposite atoms, and for no others."""
    first = atoms[np.arange(len(atoms)), (atoms != 0).argmax(axis=1)]
    return [atom.tobytes() for atom in np.sign(first)[:, None] * atoms + 0.0]  # -0.0 becomes 0.0


class _WorkingSet:
    """Atoms of some features, without copies and those that are zero in all rows.

    Attributes
    ----------
    atoms : float array, one row an atom
    owner : int array
        The feature that has come with an atom.
    entered : bool array, one entry a feature
        Whether a feature was ever added.
    """

    def __init__(self, source: Source, y: FloatArray) -> None:
        self.source, self.y = source, y
        self.atoms = np.empty((0, source.n_rows))
        self.owner = np.empty(0, np.int64)
        self.entered = np.zeros(source.n_features, np.bool_)
        self._positions: dict[bytes, int] = {}

    def add(self, features: IntArray) -> int:
        """Add some features; return how many new atoms came with them."""
        blocks, owner = [self.atoms], self.owner.tolist()
        for members, atoms, owners in _iterate_tiles(self.source, features):
            self.entered[members] = True
            nonzero = atoms.any(axis=1)
            atoms, owners = atoms[nonzero], owners[nonzero]
            new = []
            for k, key in enumerate(_atom_keys(atoms)):
                position = self._positions.setdefault(key, len(owner))
                if position == len(owner):
                    owner.append(owners[k])
                    new.append(k)
            blocks.append(atoms[new])
        before = len(self.atoms)
        self.atoms, self.owner = np.concatenate(blocks), np.array(owner, np.int64)
        return len(self.atoms) - before

    def add_largest(self, values: FloatArray, most: int) -> int:
        """Add features of large values until about `most` atoms are new, copies not counted."""
        count = 0
        while count < most and values.any():
            chosen = _find_largest(values, most - count)
            count += self.add(chosen)
            values[chosen] = 0.0
        return count

    def retain(self, retained: BoolArray) -> None:
        """Remove all other atoms."""
        self.atoms, self.owner = self.atoms[retained], self.owner[retained]
        self._positions = {key: k for k, key in enumerate(_atom_keys(self.atoms))}

    def first_owners(self, chosen: IntArray, tightness: FloatArray) -> IntArray:
        """Return the first feature of the source with each of these atoms, in the set or not."""
        owner = self.owner[chosen]
        if len(chosen) == 0:
            return owner
        positions = {key: k for k, key in enumerate(_atom_keys(self.atoms[chosen]))}
        before = tightness[: owner.max()]  # a copy is as tight, up to rounding
        for _, atoms, owners in _iterate_tiles(
            self.source, np.flatnonzero(before >= (1 - COPY_WINDOW) * tightness[owner].min())
        ):
            for key, feature in zip(_atom_keys(atoms), owners, strict=True):
                k = positions.get(key)
                if k is not None:
                    owner[k] = min(owner[k], feature)
        return owner


def _add_separating_columns(columns: _WorkingSet, most: int) -> None:
    """Add the columns without which no hyperplane separates the classes.

    The margins' total shortfall is minimised, and weights cost nothing. While the shortfall is
    positive, its dual solution v has x_a . v = 0 on the working set; a column that helps has not.
    """
    source, y = columns.source, columns.y
    while True:
        solved = _Program(columns.atoms, y, np.ones(len(y)), free=True).solve()
        assert solved is not None  # w = 0 is feasible
        coef = solved[1]
        total = float(np.abs(coef).sum())
        if total < 1:  # it is 0, or some alpha is 1 and as much is on the other side
            return
        helpful = np.zeros(source.n_features)
        for features, atoms, owners in _iterate_tiles(source, np.arange(source.n_features)):
            products = np.abs((atoms * coef).sum(axis=1))
            products[products <= VIOLATION * total * np.ptp(atoms, axis=1)] = 0.0
            helpful[features] = np.maximum.reduceat(products, np.searchsorted(owners, features))
        if not columns.add_largest(helpful, most):
            raise NotSeparableError("no hyperplane separates the classes")


# ---- the program --------------------------------------------------------------------------------
class _Program:
    """The program on some atoms, in units in which it is well scaled.

    With u_a = x_a / s_a for s_a the largest entry, and omega_a = s_a w_a, the weights are what
    columns add to the margins, and the price of one is 1 / s_a. All prices, C included, are
    multiplied by one factor that brings the objective near 1, as HiGHS's tolerances are absolute.
    """

    def __init__(self, atoms: FloatArray, y: FloatArray, C: FloatArray, free: bool = False) -> None:
        self.y, self.free, self.hard = y, free, bool(np.isinf(C[0]))
        self.widths = np.abs(atoms).max(axis=1, initial=0.0)
        self.unit = atoms / self.widths[:, None]
        # a margin of 1 takes weights of 1 / max(s) at least, but w = 0 may be better
        factor = float(self.widths.max(initial=0.0))
        if not self.hard:
            factor = max(factor, 1 / float(np.abs(_dual_without_columns(y, C)).sum()))
        self.factor = float(np.exp2(np.round(np.log2(factor or 1.0))))  # exact there and back
        self.C = C * self.factor
        self.price = np.minimum(self.factor / self.widths, HIGHEST_PRICE) * (not free)

    def solve(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the weight of every atom and alpha_i y_i of every row; None without separation."""
        solution = self._solve_by_highs()
        if solution is None:
            return None
        omega, coef = solution if self.free else self._polish(*solution)
        return omega / self.widths, coef / self.factor

    def _solve_by_highs(self) -> tuple[FloatArray, FloatArray] | None:
        """Solve by HiGHS, in the form with fewer constraints if it can."""
        solvers = [self._solve_by_rows, self._solve_by_columns]
        if len(self.unit) < len(self.y):
            solvers.reverse()
        solution: tuple[FloatArray, FloatArray] | None
        for tolerance, solver in itertools.product(HIGHS_TOLERANCES, solvers):
            status, solution = solver(tolerance)
            if status == OPTIMAL:
                return solution
            if status in NONE_FEASIBLE and self.hard:
                return None
        raise FloatingPointError(f"HiGHS could not solve the linear program (status {status})")

    def _solve_by_rows(self, tolerance: float) -> tuple[int, Any]:
        """Solve the program itself, omega in two parts: a constraint a row."""
        m, n = self.unit.shape
        dense = np.empty((2 * m + 1, n))
        dense[:m], dense[m : 2 * m], dense[-1] = self.unit, -self.unit, 1.0
        A = (-self.y * dense).T
        cost = np.concatenate([self.price, self.price, [0.0]])
        low = np.zeros(len(cost))
        low[-1] = -np.inf
        if not self.hard:
            A = scipy.sparse.hstack([A, -scipy.sparse.eye_array(n)], format="csc")
            cost, low = np.concatenate([cost, self.C]), np.concatenate([low, np.zeros(n)])
        bounds = np.column_stack([low, np.full(len(cost), np.inf)])
        result = _linprog(cost, bounds, tolerance, A_ub=A, b_ub=-np.ones(n))
        if result.status != OPTIMAL:
            return result.status, None
        return OPTIMAL, (result.x[:m] - result.x[m : 2 * m], -result.ineqlin.marginals * self.y)

    def _solve_by_columns(self, tolerance: float) -> tuple[int, Any]:
        """Solve the dual, with u_a . v as variables between bounds: a constraint a column."""
        m, n = self.unit.shape
        constraints = np.concatenate([self.unit, np.ones((1, n))]) * self.y
        A = scipy.sparse.hstack([constraints, -scipy.sparse.eye_array(m + 1, m)], format="csc")
        cost = np.concatenate([-np.ones(n), np.zeros(m)])
        low, high = np.concatenate([np.zeros(n), -self.price]), np.concatenate([self.C, self.price])
        bounds = np.column_stack([low, high])
        result = _linprog(cost, bounds, tolerance, A_eq=A, b_eq=np.zeros(m + 1))
        if result.status != OPTIMAL:
            return result.status, None
        return OPTIMAL, (-result.eqlin.marginals[:m], result.x[:n] * self.y)

    # ---- polishing: from HiGHS's tolerance to rounding ------------------------------------------
    def _polish(self, omega: FloatArray, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve to rounding where the tight rows and columns determine the solutions.

        Each proposal is made feasible and judged by its objective, so that none can do harm.
        """
        alpha = np.clip(coef * self.y, 0.0, self.C)
        full = alpha >= self.C - TINY * alpha.max()
        free = (alpha > TINY * alpha.max()) & ~full
        near = np.where(full, self.C, np.where(free, alpha, 0.0))
        weighted = np.abs(omega) > TINY * np.abs(omega).max(initial=0.0)
        values = omega @ self.unit
        bias = _best_bias(values, self.y, self.C)[0]
        # the rows and columns that must be tight; then also those that happen to be
        rows = free, free | (np.abs(1 - self.y * (values + bias)) <= CLOSE)
        columns = weighted, weighted | (np.abs(self.unit @ coef) >= (1 - CLOSE) * self.price)
        weights = [self._meet_rows(omega, bias, weighted, tight) for tight in rows]
        duals = [self._meet_columns(near, tight, free) for tight in columns]
        primal = [self._scale_primal(proposal) for proposal in (*weights, omega)]
        dual = [self._balance_dual(proposal) for proposal in (*duals, alpha)]
        least = min(value for value, _ in primal)
        most = max(value for value, _ in dual)
        # the first that is as good as the best: HiGHS's own may have weights of 1e-17 for zeros
        best_omega = next(solution for value, solution in primal if value <= least * (1 + POLISHED))
        best_alpha = next(solution for value, solution in dual if value >= most * (1 - POLISHED))
        return best_omega, best_alpha * self.y

    def _meet_rows(
        self, omega: FloatArray, bias: float, weighted: BoolArray, rows: BoolArray
    ) -> FloatArray:
        """Change some weights a little, so that with such a bias some margins are 1."""
        weights = np.where(weighted, omega, 0.0)
        if not rows.any():
            return weights
        system = np.append(self.unit[weighted], np.ones((1, len(rows))), axis=0)[:, rows].T
        solution = np.append(omega[weighted], bias)
        for _ in range(2):
            solution += _solve(system, self.y[rows] - system @ solution)
        weights[weighted] = solution[:-1]
        return weights

    def _meet_columns(self, alpha: FloatArray, columns: BoolArray, free: BoolArray) -> FloatArray:
        """Change some alpha a little, so that all balance and some columns are at their price."""
        if not free.any():
            return alpha
        alpha = alpha.copy()
        system = np.append(self.unit[columns], np.ones((1, len(alpha))), axis=0) * self.y
        price = np.append(np.sign(system[:-1] @ alpha) * self.price[columns], 0.0)
        for _ in range(2):
            alpha[free] += _solve(system[:, free], price - system @ alpha)
        return alpha

    def _scale_primal(self, omega: FloatArray) -> tuple[float, FloatArray]:
        """Scale weights to a margin of 1 where that pays or must be; return their objective too."""
        values, price = omega @ self.unit, float(self.price @ np.abs(omega))
        bias = _best_bias(values, self.y, np.full(len(self.y), np.inf))[0]
        margin = float((self.y * (values + bias)).min())
        least = np.inf
        if not self.hard:
            least = price + _best_bias(values, self.y, self.C)[1]
            # a margin that falls short by rounding would be expensive at a large C
            margin /= 1 + ROUNDING * (1 + float(np.abs(omega).sum()))
        if margin > 0 and price / margin <= (1 + POLISHED) * least:
            return price / margin, omega / margin
        return least, omega

    def _balance_dual(self, alpha: FloatArray) -> tuple[float, FloatArray]:
        """Balance dual variables; return their objective once feasible, and the variables."""
        alpha = np.clip(alpha, 0.0, self.C)
        positive = self.y > 0
        sums = np.where(positive, alpha[positive].sum(), alpha[~positive].sum())
        if np.ptp(sums) > 1e-15 * sums.max():
            alpha = alpha * (sums.min() / np.maximum(sums, np.finfo(float).tiny))
        excess = float((np.abs(self.unit @ (alpha * self.y)) / self.price).max(initial=1.0))
        return float(alpha.sum()) / excess, alpha


def _solve(system: FloatArray, right: FloatArray) -> FloatArray:
    """Return the least change that solves a system, or comes nearest to that."""
    solution: FloatArray = lstsq(
        system, right, cond=1e-12, lapack_driver="gelsy", check_finite=False
    )[0]
    return solution


def _linprog(cost: FloatArray, bounds: FloatArray, tolerance: float, **constraints: Any) -> Any:
    """Run scipy's HiGHS without presolve: dense columns have little to gain from it."""
    options = {
        "presolve": False,
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
    }
    return linprog(cost, bounds=bounds, method="highs-ds", options=options, **constraints)
