r"""Support vector machines for many classes at once, exact, and warm at each step.

.. math::

    \min_W \tfrac12 \sum_m \|w_m\|^2 + \sum_i C_i \max_m (1[m \ne y_i] + w_m x_i - w_{y_i} x_i)

(Crammer and Singer 2001), or with the sum over the classes :math:`m \ne y_i` of
:math:`\max(0, 1 + w_m x_i - w_{y_i} x_i)` in place of the largest (Weston and Watkins 1999).

The dual is solved in two stages. Row by row, each row's variables to their optimum (see
:mod:`featly.core.svm.multiclass_kernels`; Keerthi et al. 2008, A sequential dual method for large
scale multi-class linear SVMs, *KDD*, 408-416): that comes close in a few sweeps and then crawls.
The proximal point method takes over: it solves

    minimise  dual(eta) + ||eta - center||^2 / (2 sigma),   then  center = eta,  sigma grows

each by a semismooth Newton method on the smooth function of W that is its dual. For given W the
best eta is found row by row; it lies inside of some face of the feasible set, and a Newton step
solves for the optimum on that face, one linear system in the variables that are free, or in
the weights where these are fewer. Any number of variables may change sides in a step. When the
face stays the same, its optimum is the solution, exact to rounding; from the solution for almost
the same data a few steps lead there.

Rockafellar, R. T. (1976), Augmented Lagrangians and applications of the proximal point algorithm
in convex programming, *Mathematics of Operations Research* 1, 97-116. Li, X., Sun, D. and Toh,
K.-C. (2018), A highly efficient semismooth Newton augmented Lagrangian method for solving lasso
problems, *SIAM Journal on Optimization* 28, 433-458.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.parallel import run_blocks, split
from featly.core.svm.multiclass_kernels import (
    AT_BOUND,
    FREE,
    certificate,
    clip_to_bounds,
    fill_face_matrix,
    find_nearest_point,
    mark_face,
    slope_change,
)
from featly.core.svm.multiclass_spaces import CHUNK, Gram, Point, Rows, solve_by_blocks

__all__ = ["MulticlassDual"]


FIRST_SWEEPS, SWEEPS = 100, 20  # from nothing, and from the last solution
START = 10.0  # the first sigma times the mean of the diagonal
MOST_SIGMA = 1e8  # above, sigma times the rounding errors of the scores hides small variables
MOST_SIGMA_CROWDED = 1e5  # where more are free than the weights can tell apart
MOST_STEPS = 40  # Newton steps for one center
MOST_CENTERS = 100
GOOD_DUALITY_GAP = 1e-11  # relative; a solution this good that no longer moves is final ...
ROUNDING = 1e-14  # ... and as this share of all prices: margins are not known any better
STILL = 1e-10  # a relative change of the weights below this is none
NOISE = 1e-12  # cosines between a column and the coefficients below this are zero
NEAR = 1e-8  # a solution that leaves its bounds by this share is out of them by rounding
LEVEL_GRADIENT = 1e-10  # a gradient of this share of the weights that ...
MOST_IDLE = 2  # ... shrinks no more in so many steps is one of rounding errors
FAIR_DUALITY_GAP = 1e-9  # the search may end at such a solution after ...
MOST_STALE = 6  # ... so many centers that do not halve the duality gap, ...
LONG_STALE = 25  # ... and at any other solution after so many


class MulticlassDual:
    """The dual of a multiclass SVM without a bias, for a sequence of shrinking tables.

    Parameters
    ----------
    y : int64 array
        Class of every row, from 0.
    n_classes : int
    C : float64 array
        A price a row.
    box : bool
        Whether every class that comes too close is paid for (Weston and Watkins), not only the
        one that comes closest (Crammer and Singer).
    n_jobs : int or None

    Attributes
    ----------
    eta : float64 array of shape (n_classes, n_rows)
        The last solution: how much a row pushes its own class up and another down.
    duality_gap : float
        (primal - dual) / primal objective of the last solution: its certificate.
    n_steps : int
        Newton steps of the last solution.
    """

    duality_gap: Any

    n_steps: int
    n_jobs: int | None
    box: bool
    y: IntArray

    def __init__(
        self, y: IntArray, n_classes: int, C: FloatArray, box: bool, n_jobs: int | None = None
    ) -> None:
        self.y, self.C, self.box, self.n_jobs = y, C, box, n_jobs
        self.eta: FloatArray = np.zeros((n_classes, len(y)))
        self.duality_gap, self.n_steps = np.inf, 0
        self._rows = np.arange(len(y))
        self._cold = True

    @property
    def coef(self) -> FloatArray:
        """Array a of shape (n_classes, n_rows), w_m = X'a_m; a row's sum over classes is 0."""
        return self._coef(self.eta)

    def solve(self, K: FloatArray, rank: int) -> None:
        """Solve for the n x n matrix K of (at most) the given rank, from the last solution.

        Its diagonal must be positive.
        """
        self._solve(Gram(K, rank, self.n_jobs))

    def solve_rows(self, X: FloatArray) -> None:
        """Solve for K = XX', X of shape (n, p) and C-contiguous; nothing is n x n."""
        self._solve(Rows(X, self.n_jobs))

    def _coef(self, eta: FloatArray) -> FloatArray:
        coef = -eta
        coef[self.y, self._rows] += eta.sum(axis=0)
        return coef

    def _solve(self, space: Gram | Rows) -> None:
        y, C, box = self.y, self.C, self.box
        at = space.point(self.coef)
        space.sweep(y, C, box, self.eta, at, FIRST_SWEEPS if self._cold else SWEEPS)
        self._cold = False
        center = self.eta.copy()
        self.duality_gap, self.n_steps = np.inf, 0
        largest = max(1 / space.size, float(C.mean()))  # what a variable may reach
        sigma, most, stale = START / space.size, MOST_SIGMA * largest, 0
        fastest = np.inf
        last: Point | None = None
        state = np.empty(center.shape, np.int8)
        for _ in range(MOST_CENTERS):
            at = space.point(self._coef(center))
            squared = space.inner(at, at)
            duality_gap, loss = certificate(at.scores, center, y, C, box)
            primal = squared / 2 + loss
            duality_gap /= primal
            good = GOOD_DUALITY_GAP + ROUNDING * float(C.sum()) / primal
            stale = 0 if duality_gap < self.duality_gap / 2 else stale + 1
            if duality_gap < self.duality_gap:
                self.eta[:] = center
                self.duality_gap = duality_gap
            if last is not None and duality_gap <= good:
                moved = at.minus(last)
                if space.inner(moved, moved) <= STILL**2 * squared + self._noise(space, center):
                    return
            if stale >= (MOST_STALE if self.duality_gap <= FAIR_DUALITY_GAP else LONG_STALE):
                return
            last = at
            proposal, taken = self._proximal_point(space, at, center, sigma)
            self.n_steps += taken
            if proposal is None:  # sigma is too large for Newton's method
                center = self.eta.copy()
                sigma, fastest, last = sigma / 10, 3.0, None
                continue
            center = proposal
            mark_face(center, C, box, state)
            if (state == FREE).sum() > (len(center) - 1) * space.rank:
                most = min(most, MOST_SIGMA_CROWDED * largest)
            pace = 100 if taken <= 2 else 10 if taken <= 6 else 3 if taken <= 12 else 1
            sigma = min(sigma * min(pace, fastest), most)

    def _proximal_point(
        self, space: Gram | Rows, at: Point, center: FloatArray, sigma: float
    ) -> tuple[FloatArray | None, int]:
        """Find the proximal point of `center`; return it and the number of Newton steps.

        Return None in place of the point where Newton's method does not converge.
        """
        y, C, box = self.y, self.C, self.box
        eta, state, before = np.empty_like(center), *np.empty((2, *center.shape), np.int8)
        find_nearest_point(at.scores, center, sigma, y, C, box, eta, state)
        hat = space.point(self._coef(eta))
        base, base_at = center, at  # the first step: to the optimum on the center's own face
        mark_face(center, C, box, before)
        if (before == FREE).sum() > len(eta) * space.n_weights:
            base, base_at, before = eta, hat, state.copy()
        least, idle, noise = np.inf, 0, self._noise(space, center)
        for step in range(1, MOST_STEPS + 1):
            free = before == FREE
            weighted = free.sum() > len(eta) * space.n_weights
            if weighted:
                assert isinstance(space, Rows)
                to, exact = self._step_weights(space, at, base_at, base, free, before, sigma)
            else:
                exact = self._step_face(space, base_at, base, center, free, before, sigma)
                to = None if exact is None else space.point(self._coef(exact))
            if to is None or exact is None:
                return None, step
            gradient = at.minus(hat)
            squared_gradient = space.inner(gradient, gradient)
            limit = LEVEL_GRADIENT**2 * space.inner(at, at)
            is_idle = squared_gradient > least / 4 and squared_gradient <= max(limit, noise)
            idle = idle + 1 if is_idle else 0
            least = min(least, squared_gradient)
            length = self._search_line(space, at, to, gradient, eta, center, sigma)
            if length > 0:
                at = to if length == 1 else at.move_towards(to, length)
                find_nearest_point(at.scores, center, sigma, y, C, box, eta, state)
            same = length == 1 and np.array_equal(state, before)
            if same or idle > MOST_IDLE or (length == 0 and step > 1):
                return self._cut(exact, eta), step
            hat = space.point(self._coef(eta))
            base, base_at = eta, hat
            before[:] = state
        return None, MOST_STEPS

    def _noise(self, space: Gram | Rows, eta: FloatArray) -> float:
        """Return a squared norm of the weights up to which they may be rounding errors.

        It matters where the optimum is W = 0, as with Crammer and Singer's loss and classes that
        overlap: the coefficients are large then, and cancel.
        """
        return NOISE**2 * float(np.vdot(eta, eta)) * int(eta.shape[1]) * space.size

    def _cut(self, exact: FloatArray, eta: FloatArray) -> FloatArray:
        """Correct the optimum on the face for rounding; return `eta` if it is out of bounds."""
        cut = exact.copy()
        clip_to_bounds(cut, self.C, self.box)
        return cut if np.abs(cut - exact).max() <= NEAR * np.abs(cut).max() else eta

    def _search_line(
        self,
        space: Gram | Rows,
        at: Point,
        to: Point,
        gradient: Point,
        eta: FloatArray,
        center: FloatArray,
        sigma: float,
    ) -> float:
        """Return how far to go from one point to another: until the derivative is next to zero.

        `gradient` is that at the first. 0 where the way leads uphill.
        """
        along = to.minus(at)
        first, bend = space.inner(along, gradient), space.inner(along, along)
        if not first < 0:
            return 0.0

        def derivative(length: float) -> float:
            change = slope_change(
                at.scores, along.scores, length, eta, center, sigma, self.y, self.C, self.box
            )
            return first + length * bend - float(change)

        low, high = 0.0, 1.0
        at_low, at_high = first, derivative(1.0)
        if at_high <= -first / 10:
            return 1.0
        for _ in range(30):
            length = low + (high - low) * at_low / (at_low - at_high)
            margin = (high - low) / 20
            length = min(max(length, low + margin), high - margin)
            value = derivative(length)
            if abs(value) <= -first / 10:
                break
            if value > 0:  # halving the other one's value keeps both ends moving
                high, at_high, at_low = length, value, at_low / 2
            else:
                low, at_low, at_high = length, value, at_high / 2
        return length

    # ---- the two forms of a Newton step -----------------------------------------------------
    def _step_face(
        self,
        space: Gram | Rows,
        hat: Point,
        eta: FloatArray,
        center: FloatArray,
        free: BoolArray,
        state: npt.NDArray[np.int8],
        sigma: float,
    ) -> FloatArray | None:
        """Find the optimum on the face of eta, where nothing keeps it within the bounds."""
        rows, classes = map(np.ascontiguousarray, np.nonzero(free.T))
        others = self._bound_classes(state)[rows]
        K, positions = space.block(np.flatnonzero(free.any(axis=0)))
        size = len(rows)
        H = np.empty((size, size))

        def fill(part: tuple[int, int]) -> None:
            fill_face_matrix(K, positions, rows, classes, others, 1 / sigma, *part, H)

        run_blocks(fill, split(size, CHUNK), self.n_jobs)
        gradient = hat.scores + self._coef(eta - center) / sigma + 1
        gradient[self.y, self._rows] -= 1
        step = solve_by_blocks(H, gradient[classes, rows] - gradient[others, rows], self.n_jobs)
        if step is None:
            return None
        moved = eta.copy()
        moved[classes, rows] += step
        np.subtract.at(moved, (others, rows), step)
        moved[self.y, self._rows] = 0.0
        return moved

    def _step_weights(
        self,
        space: Rows,
        at: Point,
        hat: Point,
        eta: FloatArray,
        free: BoolArray,
        state: npt.NDArray[np.int8],
        sigma: float,
    ) -> tuple[Point | None, FloatArray | None]:
        """Solve the same step in the weights of all classes; return the variables there too."""
        k, p = at.form.shape
        active = np.flatnonzero(free.any(axis=0))
        member = free[:, active]
        member[self._bound_classes(state)[active], np.arange(len(active))] = True
        share = sigma / member.sum(axis=0)
        X = space.X[active]
        H = np.zeros((k * p, k * p))

        def fill(pair: tuple[int, int]) -> None:
            m, other = pair
            shared_rows = np.flatnonzero(member[m] & member[other])
            part = X[shared_rows]
            factor = (sigma if m == other else 0.0) - share[shared_rows]
            H[m * p : (m + 1) * p, other * p : (other + 1) * p] = (part.T * factor) @ part

        run_blocks(fill, [(m, other) for m in range(k) for other in range(m + 1)], self.n_jobs)
        H[np.diag_indices(k * p)] += 1
        step = solve_by_blocks(H, (hat.form - at.form).ravel(), self.n_jobs)
        if step is None:
            return None, None
        to = space.weights(at.form + step.reshape(k, p))
        change = np.where(member, step.reshape(k, p) @ X.T, 0.0)
        change = np.where(member, change - change.sum(axis=0) / member.sum(axis=0), 0.0)
        moved = eta.copy()
        moved[:, active] += sigma * change
        moved[self.y, self._rows] = 0.0
        return to, moved

    def _bound_classes(self, state: npt.NDArray[np.int8]) -> IntArray:
        """Return the class of every row whose coefficient follows the free ones."""
        if self.box:
            return self.y
        bound = state == AT_BOUND
        return np.where(bound.any(axis=0), bound.argmax(axis=0), self.y)
