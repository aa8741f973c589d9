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
import numpy.typing as npt
from scipy.linalg import lstsq

from featly.core.l1_margin import NotSeparableError, l1_margin
from featly.core.sources import DenseSource, Source
from featly.core.svm import SVMDual

__all__ = ["Arom", "NotSeparableError", "arom"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LOG_EPSILON = -52 * np.log(2.0)  # of h; a weight this far below the largest has vanished ...
RESOLUTION = np.log(1e-5)  # ... or this far, where the other columns have the same prior
SUPPORT = 1e-9  # widths below this share of the largest weight, together, change no Gram matrix
MET = 1e-12  # margins of rows between bounds that are met to this are left alone
GOOD_GAP = 1e-7  # a machine solved to this is taken
ROUNDING = 1e-11  # cosines between a column and the dual solution below this are zero ...
EPSILON = 1e-15  # ... or below this, where the machine holds on to the column
CAPS = np.log(10.0) * np.arange(1, 25)  # how far down widths are cut, see _SquaredNorm
WIDEST = 1e6  # of the linear program, see _FirstNorm
TINY = np.finfo(float).tiny
COLLAPSED = 1e-12  # C times the squared length of a row below this: no column is worth its price
MOST_DENSE_ROWS, FACTOR_SHARE = 1024, 4  # with this many rows, and atoms fewer by this, no n x n
COMPACT_SHARE, COMPACT_BYTES = 20, 16 << 20  # when few columns are left they are copied


@dataclass(frozen=True)
class Arom:
    """What an approximation of the zero-norm found.

    Attributes
    ----------
    log_weights : float array of shape (n_features,)
        :math:`\\ln |w_f|` of the last iteration in which the column took part; -inf for an exact 0.
    survived : int array of shape (n_features,)
        How many iterations the column survived; all of them for those that are left.
    tightness : float array of shape (n_features,)
        For norm 1, how near a column that has vanished was to have a weight then, from 0 to 1;
        0 for others.
    log_tops : list of float
        :math:`\\ln` of the largest weight in every iteration.
    path : list of int
        Columns left after every iteration.
    objective : list of float
        h after every iteration, with a finite C the price of the margin violations added.
    gaps : list of float
        Relative duality gap of the machine of every iteration.
    converged, collapsed, interrupted : bool
        Whether the weights settled; whether a finite C made all of them fall to nothing; whether
        Ctrl-C ended it.
    """

    log_weights: FloatArray
    survived: IntArray
    tightness: FloatArray
    log_tops: list[float]
    path: list[int]
    objective: list[float]
    gaps: list[float]
    converged: bool = False
    collapsed: bool = False
    interrupted: bool = False


@dataclass(frozen=True)
class _Solved:
    """One machine: ln |w_f| of the columns that it saw, their tightness, loss and gap."""

    log_weights: FloatArray
    tightness: FloatArray
    loss: float
    gap: float


class _Machine(Protocol):
    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _Solved: ...


class _CollapsedError(Exception):
    """The price of a violation is so small beside the widths that no column is worth it."""


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
    """Weights of the columns of a centred and scaled source.

    Parameters
    ----------
    source : Source
    y : array of +1.0 and -1.0
    C : float
        Price of a margin violation; infinity is a hard margin.
    log_prior : float array of shape (n_features,), or None
        :math:`\\ln \\beta_f`.
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
    gaps: list[float] = []
    converged = collapsed = interrupted = False
    part, all_bytes = source, source.nbytes if isinstance(source, DenseSource) else 0
    alive, before = np.arange(p), None
    gone = 0.0  # what the columns that have vanished weigh in h
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
                break  # the last weights do separate, so it is rounding that is in the way
            after = solved.log_weights
            h = float((np.exp(-beta) * np.logaddexp(after, LOG_EPSILON)).sum())
            h += LOG_EPSILON * gone + solved.loss
            if norm == 1 and objective and h >= objective[-1]:
                converged = True  # the line search has step 0
                break
            log_weights[alive] = after
            top = float(after.max())
            if top == -np.inf:
                tightness[alive] = solved.tightness
                collapsed = bool(solved.tightness.any())  # or all columns are constant
                break
            left = after > -np.inf
            if norm == 2:
                left &= _lasting(after, beta)
            tightness[alive[~left]] = solved.tightness[~left]
            survived[alive[left]] += 1
            gone += float(np.exp(-beta[~left]).sum())
            log_tops.append(top)
            path.append(int(left.sum()))
            objective.append(h)
            gaps.append(solved.gap)
            converged = before is not None and _change(before, after) < tol
            alive, before = alive[left], after[left]
            if progress is not None:
                progress(k + 1, max_iter)
            if converged:
                break
            if not left.all():
                part = _compacted(part.view(np.flatnonzero(left)), all_bytes)
    except KeyboardInterrupt:
        if not path:
            raise
        interrupted = True
    if progress is not None and not interrupted:
        progress(max_iter, max_iter)
    return Arom(
        log_weights,
        survived,
        tightness,
        log_tops,
        path,
        objective,
        gaps,
        converged,
        collapsed,
        interrupted,
    )


def _lasting(log_w: FloatArray, beta: FloatArray) -> npt.NDArray[np.bool_]:
    """Which weights have not vanished.

    The square of a weight is its column's share of the next Gram matrix, and what is below 1e-10
    of that the machine cannot see. Favoured columns may have much larger weights than all others,
    which are compared among themselves; and one that its prior can bring back is not gone.
    """
    above = log_w + 2 * beta - log_w.max()
    lasting = above > np.where(beta > 0, RESOLUTION, LOG_EPSILON)
    plain = beta == 0
    if plain.any():
        lasting &= ~plain | (log_w - log_w[plain].max() > RESOLUTION)
    return lasting


def _change(before: FloatArray, after: FloatArray) -> float:
    """The largest change of a weight, as a share of the largest weight."""
    return float(np.abs(np.exp(after - after.max()) - np.exp(before - before.max())).max())


def _compacted(source: Source, all_bytes: int) -> Source:
    """A row-major table is copied, column by column, once little of it is left."""
    if not isinstance(source, DenseSource) or source.feature_major:
        return source
    few = source.nbytes <= max(COMPACT_BYTES, all_bytes // COMPACT_SHARE)
    return source.compact() if few else source


class _SquaredNorm:
    """The linear SVM in its dual, on the Gram matrix of columns times their widths.

    With widths z, :math:`K = X \\, diag(z^2) X'` and :math:`w_f = z_f^2 x_f \\cdot v`, whatever
    the scale of z: the largest is made 1, and a finite C multiplied by its square.

    The width of a favoured column may be so large that all others drown in the rounding of K,
    although it does not separate the classes without them. There its penalty, which goes with the
    inverse of its squared width, is nothing beside that of the others, and still is with a
    smaller width: widths are cut until the machine can be solved.
    """

    def __init__(self, y: FloatArray, C: float, variance: FloatArray | float) -> None:
        self.y, self.C, self.variance = y, C, np.asarray(variance, dtype=np.float64)

    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _Solved:
        log_width = log_w + beta
        columns = _WideColumns(source, log_width, beta > 0, float(log_w.max()))
        lowest, highest = float(log_width.min()), float(log_width.max())
        best: _Dual | None = None
        wanted = GOOD_GAP if beta.any() else np.inf  # without a prior, only what fails is cut
        for down in (0.0, *CAPS):
            cap = highest - down
            found = self._solve(columns, cap)
            if found is not None and (best is None or found.gap < best.gap):
                best = found
            if (best is not None and best.gap < wanted) or cap <= lowest:
                break
        if best is None:
            raise NotSeparableError
        v = best.coef
        forms = source.forms(v)
        noise = np.maximum(ROUNDING * np.exp(-2 * beta), EPSILON)
        variance = self.variance[alive] if self.variance.ndim else self.variance
        forms[forms <= noise**2 * float(v @ v) * source.n_rows * variance] = 0.0
        with np.errstate(divide="ignore"):
            weights = 2 * (np.minimum(log_width, best.cap) - best.cap) + np.log(forms) / 2
        return _Solved(weights, np.zeros(len(weights)), best.loss, best.gap)

    def _solve(self, columns: "_WideColumns", cap: float) -> "_Dual | None":
        """The machine with widths up to the cap, of which the largest is 1; None if it fails."""
        n = len(self.y)
        C = self.C * np.exp(2 * cap) if np.isfinite(self.C) else np.inf
        tall = columns.tall
        matrix = columns.factor(cap) if tall else columns.gram(cap)
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
            coef, bias, values = _met(matrix, self.y, coef, bias, values, C)
        slack = np.maximum(0.0, 1 - self.y * (values + bias))
        violated, price = float(slack.sum()), float(coef @ values)
        paid = C * violated if np.isfinite(C) else 0.0
        gap = abs(price + paid - float(np.abs(coef).sum())) / max(price / 2 + paid, TINY)
        if np.isfinite(C):
            return _Dual(coef, gap, self.C * violated, cap)
        # the gap of a hard margin knows nothing of rows that are on the wrong side of it
        return _Dual(coef, max(gap, float(slack.max())), 0.0, cap)


def _met(
    K: FloatArray, y: FloatArray, coef: FloatArray, bias: float, values: FloatArray, C: float
) -> tuple[FloatArray, float, FloatArray]:
    """A dual solution changed by little, so that the rows between bounds lie on their margin.

    The weight of a narrow column is what wide ones leave over: it is known as well as margins are
    met, which the inverse that the solver updates may miss by 1e-6 where K is near-singular.
    """
    for _ in range(3):
        free = np.flatnonzero((coef * y > 0) & (coef * y < C))
        short = y[free] - values[free] - bias
        worst = float(np.abs(short).max(initial=0.0))
        if worst <= MET:
            break
        system = np.ones((len(free) + 1, len(free) + 1))
        system[:-1, :-1], system[-1, -1] = K[np.ix_(free, free)], 0.0
        step = lstsq(system, np.append(short, -coef.sum()), lapack_driver="gelsy")[0]
        other = coef.copy()
        other[free] += step[:-1]
        if (other * y < 0).any() or (other * y > C).any():
            break
        met, moved = K @ other, bias + float(step[-1])
        if np.abs(y[free] - met[free] - moved).max() >= worst:
            break
        coef, bias, values = other, moved, met
    return coef, bias, values


@dataclass(frozen=True)
class _Dual:
    """A solution, and the logarithm of the largest width it was found with."""

    coef: FloatArray
    gap: float
    loss: float
    cap: float


class _WideColumns:
    """Columns times their widths, some of them favoured: for any cap on the widths."""

    def __init__(
        self, source: Source, log_width: FloatArray, favoured: npt.NDArray[np.bool_], top: float
    ) -> None:
        self.source, self.log_width = source, log_width
        least = top + np.log(SUPPORT) - np.log(source.n_features) / 2
        useful = log_width > least
        self.parts = [
            np.flatnonzero(useful & chosen) for chosen in (~favoured, favoured) if chosen.any()
        ]
        self._grams: list[tuple[float, FloatArray] | None] = [None] * len(self.parts)

    @property
    def tall(self) -> bool:
        """Whether there are many more rows than columns, so that nothing n x n is made."""
        n = self.source.n_rows
        return n > MOST_DENSE_ROWS and self.source.n_atoms * FACTOR_SHARE <= n

    def factor(self, cap: float) -> FloatArray:
        """The columns times their widths, of shape (atoms, rows)."""
        width = np.exp(np.minimum(self.log_width, cap) - cap)
        return self.source.weighted(width).load(np.arange(self.source.n_features))

    def gram(self, cap: float) -> FloatArray:
        """The Gram matrix; that of a part that the cap does not touch is made once."""
        total = np.zeros((self.source.n_rows, self.source.n_rows))
        for number, part in enumerate(self.parts):
            if len(part) == 0:
                continue
            highest = min(float(self.log_width[part].max()), cap)
            made = self._grams[number]
            if made is None or made[0] > highest:
                width = np.exp(np.minimum(self.log_width[part], cap) - highest)
                made = highest, self.source.view(part).weighted(width).gram()
                self._grams[number] = made
            total += np.exp(2 * (highest - cap)) * made[1]
        return total


class _FirstNorm:
    """The linear program, on columns times their widths.

    A width beyond a million times the largest weight is cut to that: it has no price either way.
    """

    def __init__(self, y: FloatArray, C: float) -> None:
        self.y, self.C = y, C

    def __call__(
        self, source: Source, alive: IntArray, log_w: FloatArray, beta: FloatArray
    ) -> _Solved:
        log_width = np.minimum(log_w + beta, float(log_w.max()) + np.log(WIDEST))
        top = float(log_width.max())
        # |w'| is measured in units of the largest width
        C = self.C * np.exp(top) if np.isfinite(self.C) else np.inf
        if C * np.sqrt(source.n_rows) <= COLLAPSED:
            raise _CollapsedError
        found = l1_margin(source.weighted(np.exp(log_width - top)), self.y, np.full(len(self.y), C))
        weights = np.full(source.n_features, -np.inf)
        weights[found.features] = log_width[found.features] - top + np.log(found.norms)
        loss = found.loss * np.exp(-top) if np.isfinite(self.C) else 0.0
        return _Solved(weights, np.minimum(found.tightness, 1.0), loss, abs(found.gap))
