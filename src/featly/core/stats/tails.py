"""Tail probabilities that keep their digits where they underflow."""

import numpy as np
from scipy import special

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel

__all__ = ["f_tail", "false_discovery_rates"]


def f_tail(statistic: FloatArray, d1: FloatArray, d2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute ``p = P(F >= statistic)`` and ``-log10 p``, the latter also where p underflows.

    Examples
    --------
    >>> import numpy as np
    >>> p, evidence = f_tail(np.array([4.0, 9000.0]), np.array([1.0, 1.0]), np.array([98.0, 998.0]))
    >>> p.round(5).tolist(), evidence.round(3).tolist()
    ([0.04827, 0.0], [1.316, 500.965])
    """
    infinite = np.isinf(statistic)
    finite = np.where(infinite, 0.0, statistic)
    a, b = d2 / 2, d1 / 2
    x = d2 / (d2 + d1 * finite)
    one_minus_x = d1 * finite / (d2 + d1 * finite)  # 1 - x, without the cancellation
    # one integral each: for statistics below 1 the complement, since p is close to 1
    p, evidence = np.empty(len(x)), np.empty(len(x))
    small = finite < 1
    complement = special.betainc(b[small], a[small], one_minus_x[small])
    p[small], evidence[small] = 1 - complement, -np.log1p(-complement)
    large = ~small
    p[large] = special.betainc(a[large], b[large], x[large])
    with np.errstate(divide="ignore"):
        evidence[large] = -np.log(p[large])
    low = p < 1e-280
    if low.any():
        evidence[low] = -(
            a[low] * np.log(x[low])
            + b[low] * np.log(one_minus_x[low])
            - special.betaln(a[low], b[low])
            + np.log(_beta_fraction(a[low], b[low], x[low]))
            - np.log(a[low])
        )
    p[infinite], evidence[infinite] = 0.0, np.inf
    return p, evidence / np.log(10)


def false_discovery_rates(p: FloatArray, order: IntArray) -> FloatArray:
    """Compute Benjamini-Hochberg q-values; `order` sorts p in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.01, 0.5, 0.02])
    >>> false_discovery_rates(p, np.argsort(p)).tolist()
    [0.03, 0.5, 0.03]
    """
    count = len(p)
    raised = p[order] * (count / np.arange(1, count + 1))
    q = np.empty(count)
    q[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return q


@kernel
def _beta_fraction(a, b, x):  # type: ignore[no-untyped-def]
    """Evaluate the continued fraction of the incomplete beta integral (DLMF 8.17.22; Lentz)."""
    out = np.empty(len(x))
    for i in range(len(x)):
        value, below, above = 1.0, 0.0, 1.0
        for m in range(1, 100_000):
            k = m // 2
            if m % 2 == 1:
                term = -(a[i] + k) * (a[i] + b[i] + k) * x[i]
                term /= (a[i] + 2 * k) * (a[i] + 2 * k + 1)
            else:
                term = k * (b[i] - k) * x[i] / ((a[i] + 2 * k - 1) * (a[i] + 2 * k))
            below = 1.0 / (1.0 + term * below)
            above = 1.0 + term / above
            value *= above * below
            if abs(above * below - 1.0) < 1e-15:
                break
        out[i] = 1.0 / value
    return out
