r"""Zero-norm minimisation by rescaling: a margin machine, its weights as widths, and again.

.. math::

    w_{k+1} = w' * w_k * \beta, \qquad
    w' = \arg\min \|w'\| \quad\text{s.t.}\quad y_i (w' \cdot (x_i * w_k * \beta) + b) \ge 1

which descends on :math:`h(w) = \sum_f \ln(|w_f| + \epsilon) / \beta_f`. Weston, J. et al. (2003),
Use of the zero-norm with linear models and kernel methods, *JMLR* 3, 1439-1461; with the prior
:math:`\beta`: Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with
regularized linear models, *ICML*.

Weights are kept as logarithms. A weight that falls does so to its square in every iteration: from
0.001 it takes four to leave the range of a double.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lstsq

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.sources import Source, compact_if_small
from featly.core.svm.dual import SVMDual
from featly.core.svm.l1_margin import NotSeparableError, l1_margin

__all__ = ["Arom", "NotSeparableError", "arom"]


LOG_EPSILON = -52 * np.log(2.0)  # of h; weights this far below the largest have vanished ...
RESOLUTION = np.log(1e-5)  # ... or this far below the largest that is not favoured
SUPPORT = 1e-9  # widths below this share of the largest weight, together, change no Gram matrix
MARGIN_TOLERANCE = 1e-12  # margins of rows between bounds that are met to this are left alone
GOOD_DUALITY_GAP = 1e-7  # a machine solved to this relative duality gap is accepted
ROUNDING = 1e-11  # cosines between a column and the dual solution below this are zero ...
EPSILON = 1e-15  # ... or below this, for a column with a large prior
WIDEST = 1e8  # larger priors are cut to this: the column has no price already
TINY = np.finfo(float).tiny
ROUNDED = 1e-12  # a fall of h by less than this share of it is a rounding error
BLUNDER = 1e-3  # a solution is refused where rows miss a hard margin by this ...
RELIABLE = 1e-6  # ... or where rounding may move margins by this
COLLAPSED = 1e-12  # C times the squared length of a row below this: no column is worth its price
MOST_DENSE_ROWS, FACTOR_SHARE = 1024, 4  # with this many rows, and atoms fewer by this, no n x n


@dataclass(frozen=True)
class Arom:
    r"""Result of an approximation of the zero-norm.

    Attributes
    ----------
    log_weights : float array of shape (n_features,)
        :math:`\ln |w_f|` of the last iteration in which the column took part; -inf for an exact 0.
    survived : int array of shape (n_features,)
        How many iterations the column survived; all of them for those that are left.
    tightness : float array of shape (n_features,)
        For norm 1, how near a column that has vanished was to a weight, from 0 to 1; 0 for others.
        Where no column ever had a weight, the differences of the class means.
    log_tops : list of float
        :math:`\ln` of the largest weight in every iteration.
    path : list of int
        Columns left after every iteration.
    objective : list of float
        h after every iteration, with a finite C the price of the margin violations added.
    duality_gaps : list of float
        Relative duality gap of the machine of every iteration.
    converged, collapsed, stuck, interrupted : bool
        Whether the weights settled; whether a finite C made all of them fall to nothing; whether
        rounding stood in the way of another machine; whether Ctrl-C ended it.
    """

    log_weights: FloatArray
    survived: IntArray
    tightness: FloatArray
    log_tops: list[float]
    path: list[int]
    objective: list[float]
    duality_gaps: list[float]
    converged: bool = False
    collapsed: bool = False
    stuck: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class _MachineSolution:
    """Solution of one machine: ln |w_f| and tightness of its columns, loss and duality gap."""

    log_weights: FloatArray
    tightness: FloatArray
    loss: float
    duality_gap: float


class _Machine(Protocol):
    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _MachineSolution: ...


class _CollapsedError(Exception):
    """A violation costs so little beside the widths that no column is worth its price."""


def arom(
    source: Source,
    y: FloatArray,
    C: float,
    log_prior: FloatArray | None = None,
    *,
    variance: FloatArray | float = 1.0,
    norm: int = 2,
    max_iter: int = 100,
    tol: float = 1e-8,
    progress: Callable[[int, int], Any] | None = None,
) -> Arom:
    r"""Compute the weights of the columns of a centred and scaled source.

    Parameters
    ----------
    source : Source
    y : array of +1.0 and -1.0
    C : float
        Price of a margin violation; infinity is a hard margin.
    log_prior : float array of shape (n_features,), or None
        :math:`\ln \beta_f`.
    variance : array or float
        Total variance of every column.
    norm : {1, 2}
    max_iter, tol
        Stop after so many machines, or when no weight changes by more than this share of the
        largest; for norm 1 also when h does not fall any more.

    Raises
    ------
    NotSeparableError
        With an infinite C, where no hyperplane separates the classes.
    """
    p = source.n_features
    prior = np.zeros(p) if log_prior is None else log_prior
    machine: _Machine = _FirstNorm(y, C) if norm == 1 else _SquaredNorm(y, C, variance)
    log_weights, tightness, survived = np.zeros(p), np.zeros(p), np.zeros(p, np.int64)
    log_tops: list[float] = []
    path: list[int] = []
    objective: list[float] = []
    duality_gaps: list[float] = []
    converged = collapsed = stuck = interrupted = False
    part, all_bytes = source, source.nbytes
    alive, before = np.arange(p), None
    vanished_weight = 0.0  # what the columns that have vanished weigh in h
    try:
        for k in range(max_iter):
            beta = prior[alive]
            try:
                solved = machine(part, alive, log_weights[alive], beta)
            except _CollapsedError:
                collapsed = True
                break
            except NotSeparableError:
                if k == 0:
                    raise
                stuck = True  # the last weights separate the classes, so rounding is to blame
                break
            after = solved.log_weights
            top = float(after.max())
            if top == -np.inf:
                collapsed = k > 0
                if k == 0:
                    log_weights, tightness = after, _class_mean_distances(source, y, variance)
                    collapsed = bool(tightness.any())  # else all columns are constant
                break
            h = float((np.exp(-beta) * np.logaddexp(after, LOG_EPSILON)).sum())
            h += LOG_EPSILON * vanished_weight + solved.loss
            if norm == 1 and objective and h >= objective[-1] - ROUNDED * abs(h):
                converged = True  # the line search has step 0
                break
            log_weights[alive] = after
            remaining = after > -np.inf
            if norm == 2:
                remaining &= _find_lasting(after, beta)
            tightness[alive[~remaining]] = solved.tightness[~remaining]
            survived[alive[remaining]] += 1
            vanished_weight += float(np.exp(-beta[~remaining]).sum())
            log_tops.append(top)
            path.append(int(remaining.sum()))
            objective.append(h)
            duality_gaps.append(solved.duality_gap)
            converged = before is not None and _largest_change(before, after) < tol
            alive, before = alive[remaining], after[remaining]
            if progress is not None:
                progress(k + 1, max_iter)
            if converged:
                break
            if not remaining.all():
                part = compact_if_small(part.view(np.flatnonzero(remaining)), all_bytes)
        if progress is not None and len(path) < max_iter:
            progress(max_iter, max_iter)
    except KeyboardInterrupt:
        if not path:
            raise
        interrupted = True
    return Arom(
        log_weights,
        survived,
        tightness,
        log_tops,
        path,
        objective,
        duality_gaps,
        converged,
        collapsed,
        stuck,
        interrupted,
    )


def _find_lasting(log_w: FloatArray, beta: FloatArray) -> BoolArray:
    """Return which weights have not vanished.

    The square of a weight is its column's share of the next Gram matrix, where a share below 1e-10
    is lost in rounding. Favoured columns may have much larger weights than all others,
    so the largest weight of these others is the measure for all. A weight that its prior can raise
    above the limits again has not vanished.
    """
    reach, top = log_w + 2 * beta, float(log_w.max())
    plain = float(log_w[beta == 0].max(initial=-np.inf))
    measure = plain if plain > -np.inf else top
    lasting: BoolArray = (reach > measure + RESOLUTION) & (reach > top + LOG_EPSILON)
    return lasting


def _class_mean_distances(
    source: Source, y: FloatArray, variance: FloatArray | float
) -> FloatArray:
    """Return distances between the class means of every column, as shares of the largest."""
    v = np.where(y > 0, 1 / (y > 0).sum(), -1 / (y < 0).sum())
    forms = source.forms(v)
    forms[forms <= ROUNDING**2 * float(v @ v) * source.n_rows * variance] = 0.0
    return np.sqrt(forms / max(float(forms.max()), TINY))


def _largest_change(before: FloatArray, after: FloatArray) -> float:
    """Return the largest change of a weight, as a share of the largest weight."""
    return float(np.abs(np.exp(after - after.max()) - np.exp(before - before.max())).max())


class _SquaredNorm:
    """The linear SVM in its dual, on the Gram matrix of columns times their widths.

    With widths z, :math:`K = X \\, diag(z^2) X'` and :math:`w_f = z_f^2 x_f \\cdot v`, whatever
    the scale of z: the largest is made 1, and a finite C multiplied by its square.

    A prior may make a column so wide that all others drown in the rounding of K, although it does
    not separate the classes without them. There its penalty, which goes with the inverse of its
    squared width, is nothing beside that of the others, and still is with a smaller prior: priors
    are limited, as much as it takes to solve the machine.
    """

    def __init__(self, y: FloatArray, C: float, variance: FloatArray | float) -> None:
        self.y, self.C, self.variance = y, C, np.asarray(variance, dtype=np.float64)

    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _MachineSolution:
        columns = _WideColumns(source, log_w, beta)
        best: _DualSolution | None = None
        for limit in _prior_limits(float(beta.max(initial=0.0))):
            candidate = self._solve(columns, limit)
            if candidate is not None and (best is None or candidate.duality_gap < best.duality_gap):
                best = candidate
            if best is not None and best.duality_gap < GOOD_DUALITY_GAP:
                break
        if best is None:
            raise NotSeparableError
        v, log_width = best.coef, columns.log_width(best.limit)
        forms = source.forms(v)
        noise = np.maximum(ROUNDING * np.exp(-2 * np.minimum(beta, best.limit)), EPSILON)
        variance = self.variance[alive] if self.variance.ndim else self.variance
        forms[forms <= noise**2 * float(v @ v) * source.n_rows * variance] = 0.0
        with np.errstate(divide="ignore"):
            weights = 2 * (log_width - log_width.max()) + np.log(forms) / 2
        return _MachineSolution(weights, np.zeros(len(weights)), best.loss, best.duality_gap)

    def _solve(self, columns: "_WideColumns", limit: float) -> "_DualSolution | None":
        """Solve the machine with priors up to the limit; return None if it fails."""
        n, top = len(self.y), float(columns.log_width(limit).max())
        C = self.C * np.exp(2 * top) if np.isfinite(self.C) else np.inf
        tall = columns.is_tall
        matrix = columns.factor(limit) if tall else columns.gram(limit)
        trace = float(np.vdot(matrix, matrix) if tall else np.trace(matrix))
        if trace == 0 and not np.isfinite(C):
            return None
        if 0 < C * trace / n <= COLLAPSED:
            raise _CollapsedError
        dual = SVMDual(self.y, np.full(n, C), n_jobs=columns.source.n_jobs)
        try:
            if tall:
                dual.solve_factor(matrix)
            else:
                dual.solve(matrix, columns.source.n_atoms, trace)
        except FloatingPointError:
            return None
        coef, bias = dual.coef, dual.bias
        values = matrix.T @ (matrix @ coef) if tall else matrix @ coef
        if not tall:
            coef, bias, values = _refine_margins(matrix, self.y, coef, bias, values, C)
        slack = np.maximum(0.0, 1 - self.y * (values + bias))
        worst = float(slack.max())
        if not np.isfinite(C):
            # where no hyperplane separates the classes, huge coefficients may seem to by rounding
            reach = np.abs(matrix) @ np.abs(coef)
            reach = np.abs(matrix).T @ reach if tall else reach
            if not worst <= BLUNDER or not float(reach.max()) * EPSILON <= RELIABLE:
                return None
        price = float(coef @ values)
        violation_cost = C * float(slack.sum()) if np.isfinite(C) else 0.0
        duality_gap = abs(price + violation_cost - float(np.abs(coef).sum())) / max(
            price / 2 + violation_cost, TINY
        )
        if np.isfinite(C):
            return _DualSolution(coef, duality_gap, self.C * float(slack.sum()), limit)
        # the duality gap of a hard margin does not count rows on its wrong side
        return _DualSolution(coef, max(duality_gap, worst), 0.0, limit)


def _refine_margins(
    K: FloatArray, y: FloatArray, coef: FloatArray, bias: float, values: FloatArray, C: float
) -> tuple[FloatArray, float, FloatArray]:
    """Correct a dual solution a little, so that the rows between bounds lie on their margin.

    The weight of a narrow column is what wide ones leave over. It is as exact as the margins are
    met, which the inverse that the solver updates may miss by 1e-6 where K is near-singular.
    """
    for _ in range(3):
        free = np.flatnonzero((coef * y > 0) & (coef * y < C))
        shortfall = y[free] - values[free] - bias
        worst = float(np.abs(shortfall).max(initial=0.0))
        if worst <= MARGIN_TOLERANCE:
            break
        system = np.ones((len(free) + 1, len(free) + 1))
        system[:-1, :-1], system[-1, -1] = K[np.ix_(free, free)], 0.0
        step = lstsq(system, np.append(shortfall, -coef.sum()), lapack_driver="gelsy")[0]
        proposal = coef.copy()
        proposal[free] += step[:-1]
        if (proposal * y < 0).any() or (proposal * y > C).any():
            break
        proposal_values, proposal_bias = K @ proposal, bias + float(step[-1])
        if np.abs(y[free] - proposal_values[free] - proposal_bias).max() >= worst:
            break
        coef, bias, values = proposal, proposal_bias, proposal_values
    return coef, bias, values


@dataclass(frozen=True)
class _DualSolution:
    """A dual solution, and the limit on the logarithms of priors that it was solved with."""

    coef: FloatArray
    duality_gap: float
    loss: float
    limit: float


def _prior_limits(largest: float) -> list[float]:
    """Limits on the logarithms of priors, the highest first; the last makes them all 1."""
    start = min(largest, np.log(WIDEST))
    return [*np.arange(start, 0.0, -np.log(10.0)).tolist(), 0.0]


class _WideColumns:
    """Columns times their widths, some of them favoured: for any limit on the priors."""

    def __init__(self, source: Source, log_w: FloatArray, beta: FloatArray) -> None:
        self.source, self.log_w, self.beta = source, log_w, beta
        least = float(log_w.max()) + np.log(SUPPORT) - np.log(source.n_features) / 2
        useful, favoured = log_w + beta > least, beta > 0
        self.parts = [
            np.flatnonzero(useful & members) for members in (~favoured, favoured) if members.any()
        ]
        self._plain: FloatArray | None = None

    def log_width(self, limit: float) -> FloatArray:
        """Logarithms of the widths."""
        return self.log_w + np.minimum(self.beta, limit)

    @property
    def is_tall(self) -> bool:
        """Return whether there are so many more rows than columns that nothing n x n is made."""
        n = self.source.n_rows
        return n > MOST_DENSE_ROWS and self.source.n_atoms * FACTOR_SHARE <= n

    def factor(self, limit: float) -> FloatArray:
        """The columns times their widths, of which the largest is 1: of shape (atoms, rows)."""
        log_width = self.log_width(limit)
        width = np.exp(log_width - log_width.max())
        return self.source.weighted(width).load(np.arange(self.source.n_features))

    def gram(self, limit: float) -> FloatArray:
        """Gram matrix of the wide columns; that of the columns without a prior is made once."""
        log_width = self.log_width(limit)
        top, total = float(log_width.max()), np.zeros((self.source.n_rows, self.source.n_rows))
        for part in self.parts:
            if len(part) == 0:
                continue
            highest = float(log_width[part].max())
            plain = self.beta[part[0]] == 0
            part_gram = self._plain if plain else None
            if part_gram is None:
                width = np.exp(log_width[part] - highest)
                part_gram = self.source.view(part).weighted(width).gram()
                self._plain = part_gram if plain else self._plain
            total += np.exp(2 * (highest - top)) * part_gram
        return total


class _FirstNorm:
    """The linear program, on columns times their widths, priors limited."""

    def __init__(self, y: FloatArray, C: float) -> None:
        self.y, self.C = y, C

    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _MachineSolution:
        log_width = log_w + np.minimum(beta, np.log(WIDEST))
        top = float(log_width.max())
        # |w'| is measured in units of the largest width
        C = self.C * np.exp(top) if np.isfinite(self.C) else np.inf
        if C * np.sqrt(source.n_rows) <= COLLAPSED:
            raise _CollapsedError
        machine = l1_margin(
            source.weighted(np.exp(log_width - top)), self.y, np.full(len(self.y), C)
        )
        weights = np.full(source.n_features, -np.inf)
        weights[machine.features] = log_width[machine.features] - top + np.log(machine.norms)
        loss = machine.loss * np.exp(-top) if np.isfinite(self.C) else 0.0
        return _MachineSolution(
            weights, np.minimum(machine.tightness, 1.0), loss, abs(machine.duality_gap)
        )
