r"""The loops of the multiclass support vector machines: one row at a time.

A row i of class y has a variable eta_m >= 0 for every other class m. Its coefficient in w_m is
-eta_m, that in w_y the sum of all eta. Crammer and Singer bound that sum, Weston and Watkins
each eta. With h_m linear in the scores, every step on a row is

    minimise 1/2 (sum_m eta_m^2 + (sum_m eta_m)^2) - h'eta
    subject to eta >= 0 and sum_m eta_m <= C, or 0 <= eta_m <= C

whose solution is eta_m = h_m - t cut off at the bounds, for one number t.

Crammer, K. and Singer, Y. (2001), On the algorithmic implementation of multiclass kernel-based
vector machines, *Journal of Machine Learning Research* 2, 265-292.

Arrays are class-major, (n_classes, n_rows): a class's scores of all rows lie side by side. The
entry of a row's own class is 0.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel

__all__ = [
    "AT_BOUND",
    "AT_ZERO",
    "FREE",
    "certificate",
    "clip_to_bounds",
    "combine_rows",
    "fill_face_matrix",
    "find_nearest_point",
    "mark_face",
    "slope_change",
    "solve_row",
    "sweep_gram",
    "sweep_weights",
]

# mypy: disable-error-code="no-untyped-def"

AT_ZERO, FREE, AT_BOUND = 0, 1, 2
ROUNDING = 1e-15  # of the number t: what is closer than this to a bound lies on it


@kernel
def solve_row(h, own, C, box, eta):
    """Solve for the best `eta` of a row; `box` is Weston and Watkins. `h` may be overwritten.

    Returns whether the sum is at its bound.
    """
    full = False
    if box:
        t = _solve_box(h, own, C)
    else:
        extra, constant = 1, 0.0  # run-time values: numba compiles once for every constant
        t = _solve_sum(h, own, extra, constant)
        full = t > C
        if full:
            # h may be so much larger than C that h - t would be rounded away
            top = -np.inf
            for m in range(len(h)):
                if m != own:
                    top = max(top, h[m])
            for m in range(len(h)):
                h[m] -= top
            extra, constant = 0, C
            t = _solve_sum(h, own, extra, constant)
    close = ROUNDING * min(abs(t), C)
    for m in range(len(h)):
        value = h[m] - t
        if m == own or value <= close:
            value = 0.0
        elif box and value >= C - close:
            value = C
        eta[m] = value
    return full


@kernel
def _solve_sum(h, own, extra, constant):
    """Find t such that the h_m - t above 0 sum up to ``extra t + constant``.

    By Newton's method from below, which ends after at most a step a class (Michelot 1986).
    """
    count, total = 0, 0.0
    for m in range(len(h)):
        if m != own:
            count += 1
            total += h[m]
    while True:
        t = (total - constant) / (count + extra)
        n_above, total = 0, 0.0
        for m in range(len(h)):
            if m != own and h[m] > t:
                n_above += 1
                total += h[m]
        if n_above == 0:
            return max(t, 0.0)
        if n_above >= count:
            return t
        count = n_above


@kernel
def _solve_box(h, own, C):
    """Find t = the sum of h_m - t cut off at 0 and C, by Newton's method between two bounds."""
    low, high, t = 0.0, 0.0, 0.0
    for m in range(len(h)):
        if m != own:
            high += min(max(h[m], 0.0), C)
    while True:
        count, total, value = 1, 0.0, -t
        for m in range(len(h)):
            if m != own:
                excess = h[m] - t
                if excess >= C:
                    total += C
                    value += C
                elif excess > 0:
                    count += 1
                    total += h[m]
                    value += excess
        if value > 0:
            low = t
        else:
            high = t
        better = total / count
        if abs(better - t) <= 1e-16 * abs(t):
            return t
        if not low < better < high:
            better = (low + high) / 2
            if not low < better < high:
                return t
        t = better


@kernel
def _update_row(h, own, C, box, eta, i, new):
    """Solve row i, write the change into `new`, the own class's last; return if there is one."""
    solve_row(h, own, C, box, new)
    largest, total = 0.0, 0.0
    for m in range(len(new)):
        change = new[m] - eta[m, i]
        largest = max(largest, abs(change))
        if m != own:
            eta[m, i] = new[m]
            new[m] = -change
            total += change
    new[own] = total
    return largest > 1e-14 * C


@lane_kernel
def _add(target, factor, x):
    for j in range(len(x)):
        target[j] += factor * x[j]


@lane_kernel
def _dot(x, z):
    total = 0.0
    for j in range(len(x)):
        total += x[j] * z[j]
    return total


@kernel
def _row_targets(scores, own, eta, i, width, h):
    """Compute h of the step on row i: `width` times the margins missed, from where eta stands."""
    total = 0.0
    for m in range(len(h)):
        total += eta[m, i]
    for m in range(len(h)):
        h[m] = eta[m, i] + total + width * (1 + scores[m] - scores[own])


@kernel
def sweep_gram(K, y, C, box, eta, S):
    """Solve for every row in turn; `S`, the scores of all rows, is kept up to date."""
    k, n = eta.shape
    h, new, scores = np.empty(k), np.empty(k), np.empty(k)
    for i in range(n):
        for m in range(k):
            scores[m] = S[m, i]
        _row_targets(scores, y[i], eta, i, 1 / K[i, i], h)
        if _update_row(h, y[i], C[i], box, eta, i, new):
            for m in range(k):
                if new[m] != 0:
                    _add(S[m], new[m], K[i])


@kernel
def sweep_weights(X, y, C, box, eta, W):
    """Solve for every row by the weights `W` (classes x columns) of the rows of `X`."""
    k, n = eta.shape
    h, new, scores = np.empty(k), np.empty(k), np.empty(k)
    for i in range(n):
        for m in range(k):
            scores[m] = _dot(X[i], W[m])
        _row_targets(scores, y[i], eta, i, 1 / _dot(X[i], X[i]), h)
        if _update_row(h, y[i], C[i], box, eta, i, new):
            for m in range(k):
                if new[m] != 0:
                    _add(W[m], new[m], X[i])


@kernel
def combine_rows(coef, rows, low, high, out):
    """Compute ``coef @ rows`` for the columns ``low:high``; zero coefficients cost nothing."""
    for i in range(len(rows)):
        for m in range(len(coef)):
            if coef[m, i] != 0:
                _add(out[m, low:high], coef[m, i], rows[i, low:high])


@kernel
def find_nearest_point(S, center, sigma, y, C, box, eta, state):
    """Find ``eta``, the feasible point best for scores `S`, at a price for leaving `center`.

    That is the solution for h = M center + sigma (margins missed). `state` says for every entry
    whether it is at zero, free, or at its bound. In a row whose sum is at its bound, the first
    entry above zero counts as bound: it is the bound less the others, which are free.
    """
    k, n = eta.shape
    h, new, scores = np.empty(k), np.empty(k), np.empty(k)
    for i in range(n):
        for m in range(k):
            scores[m] = S[m, i]
        _row_targets(scores, y[i], center, i, sigma, h)
        full = solve_row(h, y[i], C[i], box, new)
        for m in range(k):
            eta[m, i] = new[m]
        _mark_states(eta, i, C[i], box, full, state)


@kernel
def mark_face(eta, C, box, state):
    """Mark the `state` of a feasible point, as in :func:`find_nearest_point`."""
    k, n = eta.shape
    for i in range(n):
        total = 0.0
        for m in range(k):
            total += eta[m, i]
        _mark_states(eta, i, C[i], box, total >= C[i] * (1 - 1e-13), state)


@kernel
def _mark_states(eta, i, C, box, full, state):
    bound = False
    for m in range(len(eta)):
        if eta[m, i] <= 0:
            state[m, i] = AT_ZERO
        elif (box and eta[m, i] >= C) or (not box and full and not bound):
            state[m, i] = AT_BOUND
            bound = True
        else:
            state[m, i] = FREE


@kernel
def slope_change(S, D, length, eta, center, sigma, y, C, box):
    """Return how the coefficients' inner product with D changes from S to S + length D.

    The coefficients are those that :func:`find_nearest_point` gives; `eta` are those at S. Most do
    not change, and the difference of two sums over all of them would be lost in rounding errors.
    """
    k, n = S.shape
    h, new, scores = np.empty(k), np.empty(k), np.empty(k)
    total = 0.0
    for i in range(n):
        for m in range(k):
            scores[m] = S[m, i] + length * D[m, i]
        _row_targets(scores, y[i], center, i, sigma, h)
        solve_row(h, y[i], C[i], box, new)
        for m in range(k):
            total += (new[m] - eta[m, i]) * (D[y[i], i] - D[m, i])
    return total


@kernel
def certificate(S, eta, y, C, box):
    """Return primal less dual objective, a sum of terms none of which is negative, and loss.

    `S` must be the scores of `eta`.
    """
    k, n = S.shape
    duality_gap, loss = 0.0, 0.0
    for i in range(n):
        missed, paid = 0.0, 0.0
        for m in range(k):
            if m != y[i]:
                margin = 1 + S[m, i] - S[y[i], i]
                paid += eta[m, i] * margin
                missed = missed + max(margin, 0.0) if box else max(missed, margin)
        loss += C[i] * missed
        duality_gap += C[i] * missed - paid
    return duality_gap, loss


@kernel
def clip_to_bounds(eta, C, box):
    """Make a point that is feasible up to rounding errors feasible."""
    k, n = eta.shape
    for i in range(n):
        total = 0.0
        for m in range(k):
            eta[m, i] = min(max(eta[m, i], 0.0), C[i])
            total += eta[m, i]
        if not box and total > C[i]:
            for m in range(k):
                eta[m, i] *= C[i] / total


@kernel
def fill_face_matrix(K, positions, rows, classes, others, ridge, low, high, H):
    """Fill rows ``low:high`` of the lower triangle of the Hessian on a face.

    Variable u moves coefficient from class ``classes[u]`` to ``others[u]`` in row ``rows[u]``,
    which is row ``positions[rows[u]]`` of `K`.
    """
    for u in range(low, high):
        i, m, r = rows[u], classes[u], others[u]
        row = K[positions[i]]
        for v in range(u + 1):
            shared = 0
            if others[v] == r:
                shared += 1
            if classes[v] == m:
                shared += 1
            if classes[v] == r:
                shared -= 1
            if others[v] == m:
                shared -= 1
            value = 0.0
            if shared != 0:
                value = row[positions[rows[v]]]
                if rows[v] == i:
                    value += ridge
            H[u, v] = shared * value
