"""Zero-norm minimisation as printed: explicit columns times their widths, a machine, and again.

Numbers are decimals of many digits, whose exponents do not end: no weight underflows, however many
machines are trained and however wide the prior. A machine of norm 2 is found by trying which rows
lie on the margin; that of norm 1 by scipy's linear programming, in floats.
"""

import itertools
from decimal import Decimal, getcontext, localcontext

import numpy as np
from scipy.optimize import linprog

DIGITS = 60


def arom(blocks, y, n_iter, *, C=None, prior=None, standardize=True):
    """(|w_f| of every column, loss) as decimals after each of `n_iter` machines of norm 2.

    `blocks` are the columns: rows x atoms, one block a column. `C` None is a hard margin. A column
    that is orthogonal to the solution of the dual has weight 0, and stays there.
    """
    with localcontext() as context:
        context.prec = DIGITS
        columns = [_centre(block, standardize) for block in blocks]
        beta = [Decimal(b) for b in ([1.0] * len(blocks) if prior is None else prior)]
        C = None if C is None else Decimal(C)
        w = [Decimal(1)] * len(blocks)
        out, states = [], None
        for _ in range(n_iter):
            z = [b * v for b, v in zip(beta, w, strict=True)]
            scaled = [
                [z[f] * v for f, column in enumerate(columns) for v in column[i]]
                for i in range(len(y))
            ]
            dual, bias, states = machine(scaled, y, C, states)
            w = [
                z[f] * z[f] * _product(column, dual) for f, column in enumerate(columns)
            ]  # w' * z, w' = z * X'dual
            loss = Decimal(0)
            if C is not None:
                for row, sign in zip(scaled, y, strict=True):
                    value = bias + sum(
                        d * sum(a * b for a, b in zip(row, other, strict=True))
                        for d, other in zip(dual, scaled, strict=True)
                    )
                    loss += C * max(Decimal(0), 1 - int(sign) * value)
            out.append((w, loss))
        return out


def _centre(block, standardize):
    """Rows x atoms with mean 0 and, with `standardize`, total variance 1 (0 where constant)."""
    rows = [[Decimal(v) for v in row] for row in np.asarray(block).tolist()]
    n = len(rows)
    means = [sum(column) / n for column in zip(*rows, strict=True)]
    if all(row == rows[0] for row in rows):
        return [[Decimal(0)] * len(means)] * n
    rows = [[v - m for v, m in zip(row, means, strict=True)] for row in rows]
    variance = sum(v * v for row in rows for v in row) / n
    return [[v / variance.sqrt() for v in row] for row in rows] if standardize else rows


def _product(column, dual):
    """|x' dual|, the norm over a block; 0 where nothing but rounding is left."""
    size = sum(v * v for row in column for v in row) * sum(d * d for d in dual)
    squared = sum(
        sum(d * v for d, v in zip(dual, atom, strict=True)) ** 2
        for atom in zip(*column, strict=True)
    )
    return squared.sqrt() if squared > size.scaleb(-DIGITS) else Decimal(0)


def machine(X, y, C=None, near=None):
    """Find dual coefficients, bias and states (0: no support, 1: on the margin, 2: at C).

    All states are tried, those like `near` first; the first that satisfies the conditions of
    Karush, Kuhn and Tucker is the solution. Its w is unique, its coefficients need not be.
    """
    n = len(y)
    y = [int(sign) for sign in y]
    K = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in X] for r in X]
    near = (1,) * n if near is None else near
    ways = itertools.product((0, 1) if C is None else (0, 1, 2), repeat=n)
    for states in sorted(ways, key=lambda way: sum(a != b for a, b in zip(way, near, strict=True))):
        solution = _solution(K, y, C, states)
        if solution is not None:
            return *solution, states
    raise ValueError("no hyperplane separates the classes")


def _solution(K, y, C, states):
    n = len(y)
    tiny = Decimal(10) ** -(getcontext().prec // 2)
    free = [i for i in range(n) if states[i] == 1]
    v = [C * y[i] if states[i] == 2 else Decimal(0) for i in range(n)]
    if not free and sum(v) != 0:
        return None
    if free:
        rows = [[K[i][j] for j in free] + [Decimal(1)] for i in free] + [
            [Decimal(1)] * len(free) + [Decimal(0)]
        ]
        right = [y[i] - sum(K[i][j] * v[j] for j in range(n)) for i in free] + [-sum(v)]
        solved = _gauss(rows, right)
        if solved is None:
            return None
        *inner, bias = solved
        for i, value in zip(free, inner, strict=True):
            v[i] = value
        scale = max(abs(value) for value in v)
        for i in free:
            if v[i] * y[i] < -tiny * scale or (C is not None and v[i] * y[i] > C * (1 + tiny)):
                return None
    values = [sum(K[i][j] * v[j] for j in range(n)) for i in range(n)]
    if not free:  # any bias between the bounds will do: the middle
        low = max(y[i] - values[i] for i in range(n) if (y[i] > 0) == (states[i] == 0))
        high = min(y[i] - values[i] for i in range(n) if (y[i] > 0) != (states[i] == 0))
        bias = (low + high) / 2
    for i in range(n):
        margin = y[i] * (values[i] + bias)
        if states[i] == 0 and margin < 1 - tiny:
            return None
        if states[i] == 2 and margin > 1 + tiny:
            return None
    return v, bias


def _gauss(rows, right):
    """Solve a square system; return None where it is singular."""
    m = len(rows)
    rows = [[*row, r] for row, r in zip(rows, right, strict=True)]
    tiny = Decimal(10) ** -(getcontext().prec * 3 // 4)
    size = [max(abs(v) for v in row[:m]) for row in rows]
    if min(size) == 0:
        return None
    for k in range(m):
        best = max(range(k, m), key=lambda i: abs(rows[i][k]) / size[i])
        if abs(rows[best][k]) <= tiny * size[best]:
            return None
        rows[k], rows[best] = rows[best], rows[k]
        size[k], size[best] = size[best], size[k]
        for i in range(k + 1, m):
            factor = rows[i][k] / rows[k][k]
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    solution = [Decimal(0)] * m
    for k in reversed(range(m)):
        left = rows[k][m] - sum(rows[k][j] * solution[j] for j in range(k + 1, m))
        solution[k] = left / rows[k][k]
    return solution


def arom_l1(blocks, y, n_iter, *, C=None, prior=None, standardize=True):
    """(|w_f|, value of the program, loss) of machines of norm 1: the whole program by scipy.

    Floats. The norm of a block is the sum over its atoms. It ends early where the objective
    does not fall, as the line search has step 0 there.
    """
    with localcontext() as context:
        context.prec = DIGITS
        columns = [np.array(_centre(block, standardize), dtype=float) for block in blocks]
    beta = np.ones(len(blocks)) if prior is None else np.asarray(prior, dtype=float)
    owner = np.repeat(np.arange(len(blocks)), [c.shape[1] for c in columns])
    X = np.column_stack(columns)
    w, out, last = np.ones(len(blocks)), [], np.inf
    for _ in range(n_iter):
        z = w * beta
        value, weights, loss = linear_program(X * z[owner], y, C)
        w = np.bincount(owner, np.abs(weights), len(blocks)) * z
        h = float((np.log(w + 2.0**-52) / beta).sum() + loss)
        if h >= last:
            break
        last = h
        out.append((w, value, loss))
    return out


def linear_program(X, y, C=None):
    """min sum |w| + C sum xi with y (X w + b) >= 1 - xi: its value, w and C sum xi."""
    n, p = X.shape
    n_slack = 0 if C is None else n
    price = np.concatenate([np.ones(2 * p), [0, 0], np.full(n_slack, C or 0.0)])
    signed = y[:, None] * np.column_stack([X, -X, np.ones(n), -np.ones(n)])
    rows = np.column_stack([signed, np.eye(n)]) if n_slack else signed
    program = linprog(price, A_ub=-rows, b_ub=-np.ones(n), bounds=(0, None), method="highs")
    if not program.success:
        raise ValueError("no hyperplane separates the classes")
    weights = program.x[:p] - program.x[p : 2 * p]
    return program.fun, weights, float(program.x[2 * p + 2 :].sum() * (C or 0.0))
