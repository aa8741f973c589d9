"""The support vector machine's dual, solved exactly by an active set.

    minimise   1/2 b'Kb - y'b     subject to   sum b = 0,  lower <= b <= upper

with b_i = alpha_i y_i, so that lower and upper are 0 and C_i for the positive class, -C_i and 0
for the other. At any time some b are *free*, the others sit on a bound. For the free ones the
optimum is one linear system; the inverse of its matrix is kept and updated when one b is freed
or fixed, in O(n_free^2). Starting from the solution for almost the same K (one step of feature
elimination), few b change sides and often none, so a solve costs little more than two
matrix-vector products and is exact to rounding. At a stopping tolerance of 1e-3, usual for
sequential minimal optimisation, a ranking by the resulting weights is noise.

K is only positive semi-definite. Two measures keep the free block invertible: the constant
`shift`, added to every entry, which changes nothing while sum b = 0 and makes up for the null
vector of a centred K; and when freeing j would make the block singular, the solution is moved
along the null direction until something hits a bound.

K may be given by a factor, K = A'A with A of shape (r, n), for many rows and few columns: no n x n
matrix is needed.
"""

import numpy as np

from featly.core.runtime.jit import kernel, lane_kernel

__all__ = ["CONVERGED", "UNBOUNDED", "downdate_inverse", "solve_active_set"]

# mypy: disable-error-code="no-untyped-def"

CONVERGED, TOO_MANY_CHANGES, UNBOUNDED = 0, 1, 2
SINGULAR = 1e-10  # a pivot below this share of its diagonal is taken as zero


@lane_kernel
def _fill_cross_terms(K, A, factored, shift, free, n_free, j, out):
    """Write ``K[free[k], j] + shift`` into ``out[k]``; return the diagonal entry of j."""
    if factored:
        diagonal = shift
        for k in range(n_free):
            out[k] = shift
        for c in range(A.shape[0]):
            a = A[c, j]
            diagonal += a * a
            for k in range(n_free):
                out[k] += a * A[c, free[k]]
        return diagonal
    for k in range(n_free):
        out[k] = K[j, free[k]] + shift
    return K[j, j] + shift


@lane_kernel
def _step_along(K, A, factored, free, n_free, step, length, b, gradient):
    """Add ``length * step`` to ``b[free]``, and what follows to the gradient."""
    n = len(b)
    if factored:
        for k in range(n_free):
            b[free[k]] += length * step[k]
        for c in range(A.shape[0]):
            w = 0.0
            for k in range(n_free):
                w += step[k] * A[c, free[k]]
            w *= length
            for i in range(n):
                gradient[i] += A[c, i] * w
        return
    for k in range(n_free):
        d = length * step[k]
        b[free[k]] += d
        row = K[free[k]]
        for i in range(n):
            gradient[i] += d * row[i]


@kernel
def _compute_gradient(K, A, factored, y, b, gradient):
    n = len(y)
    support = np.flatnonzero(b)
    start = np.zeros(n)
    for i in range(n):
        gradient[i] = -y[i]
    _step_along(K, A, factored, support, len(support), b[support], 1.0, start, gradient)


@kernel
def _grow_inverse(inverse, n_free, z, pivot):
    """Extend the inverse by one row and column, whose Schur complement is `pivot`."""
    for k in range(n_free):
        scaled = z[k] / pivot
        for m in range(n_free):
            inverse[k, m] += scaled * z[m]
        inverse[k, n_free] = -scaled
        inverse[n_free, k] = -scaled
    inverse[n_free, n_free] = 1.0 / pivot


@kernel
def _shrink_inverse(inverse, free, position, n_free, k):
    """Remove the k-th row and column of the inverse; the last takes its place."""
    last = n_free - 1
    position[free[k]] = -1
    if k != last:
        for m in range(n_free):
            inverse[k, m], inverse[last, m] = inverse[last, m], inverse[k, m]
        for m in range(n_free):
            inverse[m, k], inverse[m, last] = inverse[m, last], inverse[m, k]
        free[k] = free[last]
        position[free[k]] = k
    pivot = inverse[last, last]
    for m in range(last):
        scaled = inverse[m, last] / pivot
        for q in range(last):
            inverse[m, q] -= scaled * inverse[last, q]
    return last


@kernel
def downdate_inverse(inverse, n_free, x):
    """Make `inverse` that of the block less ``x x'``; return False if that is near singular."""
    z = np.zeros(n_free)
    for k in range(n_free):
        xk = x[k]
        for m in range(n_free):
            z[m] += xk * inverse[k, m]
    remainder = 1.0
    for k in range(n_free):
        remainder -= x[k] * z[k]
    if remainder < 1e-6:
        return False
    for k in range(n_free):
        scaled = z[k] / remainder
        for m in range(n_free):
            inverse[k, m] += scaled * z[m]
    return True


@kernel
def _longest_step(free, n_free, step, b, lower, upper):
    """Return how far `step` may go before a bound, and the index in `free` of what meets it."""
    length, blocking = np.inf, -1
    for k in range(n_free):
        i = free[k]
        if step[k] > 0:
            reach = max(0.0, upper[i] - b[i]) / step[k]
        elif step[k] < 0:
            reach = max(0.0, b[i] - lower[i]) / -step[k]
        else:
            continue
        if reach < length:
            length, blocking = reach, k
    return length, blocking


@kernel
def _fix_at_bound(free, k, step, b, lower, upper):
    i = free[k]
    b[i] = upper[i] if step[k] > 0 else lower[i]


@kernel
def solve_active_set(
    K, A, factored, shift, y, lower, upper, b, gradient, free, position, inverse,
    n_ready, n_free, max_changes, max_work, tolerance,
):  # fmt: skip
    """Solve from the feasible point `b`; all arrays from `b` to `inverse` are updated in place.

    ``free[:n_free]`` are the free variables, of which the first `n_ready` are in `inverse`
    already; ``position[i]`` is the index of i in `free` or -1. It gives up after `max_changes`
    variables freed or fixed, or once the squared numbers of free variables, summed over the
    steps, exceed `max_work`: where most variables end up free, there are faster ways.

    Returns (status, n_free, bias, changes, primal objective, dual objective).
    """
    n = len(y)
    n_waiting = n_free - n_ready
    waiting = np.empty(n_waiting + 2, np.int64)
    for k in range(n_waiting):
        waiting[k] = free[n_ready + k]
        position[waiting[k]] = -1
    n_free = n_ready
    step = np.empty(n + 1)
    z = np.empty(n)
    _compute_gradient(K, A, factored, y, b, gradient)
    bias = 0.0
    changes = 0
    work = 0.0
    refinements = 0
    best_residual = np.inf
    fresh = False
    status = CONVERGED
    while True:
        work += float(n_free) * n_free
        if changes > max_changes or work > max_work:
            status = TOO_MANY_CHANGES
            break
        entering = -1
        if n_waiting > 0:
            n_waiting -= 1
            entering = waiting[n_waiting]
        elif n_free <= 1:
            # one variable cannot move by itself, and on a bound its gradient does not determine
            # the bias: free the pair that violates optimality most
            up, down = -1, -1
            for i in range(n):
                if b[i] < upper[i] and (up < 0 or gradient[i] < gradient[up]):
                    up = i
                if b[i] > lower[i] and (down < 0 or gradient[i] > gradient[down]):
                    down = i
            if up < 0 or down < 0 or gradient[up] >= gradient[down] - tolerance:
                bias = 0.0
                if up >= 0 and down >= 0:
                    bias = -(gradient[up] + gradient[down]) / 2
                elif up >= 0:
                    bias = -gradient[up]
                elif down >= 0:
                    bias = -gradient[down]
                break
            if n_free == 1:
                single = free[0]
                inside = lower[single] < b[single] < upper[single]
                if not inside and single != up and single != down:
                    n_free = _shrink_inverse(inverse, free, position, n_free, 0)
            if position[up] < 0:
                waiting[n_waiting] = up
                n_waiting += 1
            if position[down] < 0:
                waiting[n_waiting] = down
                n_waiting += 1
            continue
        else:
            # the optimum over the free variables: inverse (-gradient - bias), summing to zero
            total, ones_ones, ones_rhs = 0.0, 0.0, 0.0
            for i in range(n):
                total += b[i]
            solved = np.zeros(n_free)
            ones = np.zeros(n_free)
            for k in range(n_free):
                rhs = -gradient[free[k]]
                for m in range(n_free):
                    solved[m] += rhs * inverse[k, m]
                    ones[m] += inverse[k, m]
            for k in range(n_free):
                ones_ones += ones[k]
                ones_rhs += solved[k]
            bias = (ones_rhs + total) / ones_ones
            for k in range(n_free):
                step[k] = solved[k] - bias * ones[k]
            length, blocking = _longest_step(free, n_free, step, b, lower, upper)
            if length < 1.0:
                _step_along(K, A, factored, free, n_free, step, length, b, gradient)
                _fix_at_bound(free, blocking, step, b, lower, upper)
                n_free = _shrink_inverse(inverse, free, position, n_free, blocking)
                changes += 1
                refinements, best_residual, fresh = 0, np.inf, False
                continue
            _step_along(K, A, factored, free, n_free, step, 1.0, b, gradient)
            residual = 0.0
            for k in range(n_free):
                residual = max(residual, abs(gradient[free[k]] + bias))
            if residual > 2e-15 and refinements < 4 and residual < best_residual / 2:
                best_residual = residual
                refinements += 1
                continue
            worst = tolerance
            for i in range(n):
                if position[i] >= 0 or lower[i] == upper[i]:
                    continue
                slack = gradient[i] + bias
                violation = -slack if b[i] < upper[i] and b[i] <= lower[i] else slack
                if violation > worst:
                    worst, entering = violation, i
            if entering < 0:
                if fresh or refinements == 0:
                    break
                # check once more with a gradient without the rounding errors of many steps
                _compute_gradient(K, A, factored, y, b, gradient)
                refinements, best_residual, fresh = 0, np.inf, True
                continue
        refinements, best_residual, fresh = 0, np.inf, False
        changes += 1
        while True:  # free `entering`, fixing others where the block would become singular
            diagonal = _fill_cross_terms(K, A, factored, shift, free, n_free, entering, step)
            pivot = diagonal
            z[:n_free] = 0.0
            for k in range(n_free):
                row_k = step[k]
                for m in range(n_free):
                    z[m] += row_k * inverse[k, m]
            for k in range(n_free):
                pivot -= step[k] * z[k]
            if pivot > SINGULAR * diagonal and n_free < len(inverse):
                _grow_inverse(inverse, n_free, z, pivot)
                free[n_free] = entering
                position[entering] = n_free
                n_free += 1
                break
            slope = gradient[entering]
            for k in range(n_free):
                slope -= z[k] * gradient[free[k]]
            sign = -1.0 if slope > 0 else 1.0
            if b[entering] <= lower[entering]:
                sign = 1.0
            elif b[entering] >= upper[entering]:
                sign = -1.0
            free[n_free] = entering
            for k in range(n_free):
                step[k] = -sign * z[k]
            step[n_free] = sign
            length, blocking = _longest_step(free, n_free + 1, step, b, lower, upper)
            if blocking < 0 or not np.isfinite(length):
                status = UNBOUNDED
                break
            _step_along(K, A, factored, free, n_free + 1, step, length, b, gradient)
            _fix_at_bound(free, blocking, step, b, lower, upper)
            changes += 1
            if blocking == n_free:
                break
            n_free = _shrink_inverse(inverse, free, position, n_free, blocking)
            if changes > max_changes:
                break
        if status == UNBOUNDED:
            break
    for i in range(n):  # a full step may overshoot a bound by its rounding
        b[i] = min(max(b[i], lower[i]), upper[i])
    _compute_gradient(K, A, factored, y, b, gradient)
    quadratic, linear, loss = 0.0, 0.0, 0.0
    for i in range(n):
        quadratic += 0.5 * b[i] * (gradient[i] + y[i])
        linear += abs(b[i])
        slack = 1.0 - y[i] * (gradient[i] + y[i] + bias)
        if slack > 0:
            bound = max(upper[i], -lower[i])
            if np.isfinite(bound):
                loss += bound * slack
    return status, n_free, bias, changes, quadratic + loss, linear - quadratic
