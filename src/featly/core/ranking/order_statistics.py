r"""Probabilities of the ranks of a feature in random lists.

Relative ranks :math:`x_{(1)} \le \dots \le x_{(n)}` of one feature in n lists are compared with the
order statistics :math:`U_{(k)}` of n uniform numbers:

.. math::

    \rho = \min_k P(U_{(k)} \le x_{(k)}), \qquad
    Q = P(U_{(1)} \le x_{(1)}, \dots, U_{(n)} \le x_{(n)}).

Kolde, R. et al. (2012), Robust rank aggregation for gene list integration and meta-analysis,
*Bioinformatics* 28, 573-580 (:math:`\rho`). Stuart, J. M. et al. (2003), A gene-coexpression
network for global discovery of conserved genetic modules, *Science* 302, 249-255 (Q).

Both underflow long before a hundred lists, so their logarithms are returned. Q is computed by a
recursion whose terms are all positive, as that of Aerts, S. et al. (2006), Gene prioritization
through genomic data fusion, *Nature Biotechnology* 24, 537-544,

.. math::

    V_k = \sum_{i=1}^k (-1)^{i-1} \frac{V_{k-i}}{i!} x_{(n-k+1)}^i, \qquad Q = n!\, V_n,

cancels: its alternating terms leave six correct digits at forty lists and none at seventy. With
:math:`g_j` the probability that j uniform numbers on :math:`[0, x_{(i)}]` meet the first i
conditions, and :math:`c = x_{(i)} / x_{(i+1)}`,

.. math::

    g'_j = \sum_{l=i}^{j} \binom{j}{l} c^l (1 - c)^{j-l} g_l \quad (j > i), \qquad
    Q = x_{(n)}^n\, g_n.
"""

import math

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["MOST_LISTS", "log_joint", "log_smallest"]

# mypy: disable-error-code="no-untyped-def"


MOST_LISTS = 1000  # with more, the binomial coefficients of the recursion overflow


def log_smallest(ranks: FloatArray, counts: IntArray) -> FloatArray:
    r"""Return the natural logarithm of :math:`\rho` of every row.

    Parameters
    ----------
    ranks : float array of shape (n_features, n_lists)
        Relative ranks in (0, 1], each row sorted; only the first ``counts[i]`` of a row count.
    counts : int64 array of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(log_smallest(np.array([[0.1, 0.2, 0.9]]), np.array([3]))[0]).round(3))
    0.104
    """
    logs = np.zeros(ranks.shape[1] + 1)
    logs[1:] = np.cumsum(np.log(np.arange(1, ranks.shape[1] + 1)))
    out = np.empty(len(ranks))
    _smallest(np.ascontiguousarray(ranks, np.float64), counts, logs, out)
    return out


def log_joint(ranks: FloatArray, n_jobs: int | None = None) -> FloatArray:
    """Return the natural logarithm of Q of every row.

    Parameters
    ----------
    ranks : float array of shape (n_features, n_lists)
        Relative ranks in (0, 1], each row sorted; at most ``MOST_LISTS`` lists.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> float(np.exp(log_joint(np.array([[0.5, 1.0]]))[0]).round(3))  # 1 - (1 - 0.5) ** 2
    0.75
    """
    n_lists = ranks.shape[1]
    choose = np.zeros((n_lists + 1, n_lists + 1))  # [l, j] is j over l
    choose[0] = 1.0
    for j in range(1, n_lists + 1):
        choose[1:, j] = choose[:-1, j - 1] + choose[1:, j - 1]
    ranks = np.ascontiguousarray(ranks, np.float64)
    size = max(1, math.ceil(2e7 / (n_lists + 3) ** 3))  # about 20 ms

    def compute_block(block: tuple[int, int]) -> FloatArray:
        out = np.empty(block[1] - block[0])
        _joint(ranks[block[0] : block[1]], choose, out)
        return out

    return np.concatenate(run_blocks(compute_block, split(len(ranks), size), n_jobs))


@kernel
def _smallest(ranks, counts, logs, out):
    """Fill `out` with the smallest log P(U_(k) <= x_(k)); `logs` holds log k!."""
    for i in range(len(ranks)):
        n = counts[i]
        least = 0.0
        for k in range(1, n + 1):
            x = ranks[i, k - 1]
            # P(U_(k) <= x) = P(at least k of n below x); the largest statistic has it in full
            if x >= 1.0:
                continue
            if k < n and x == ranks[i, k]:
                continue  # a later statistic of the same rank is less likely
            odds = x / (1.0 - x)
            if k > n * x:  # the terms fall from the first on
                term = total = 1.0
                for m in range(k, n):
                    term *= (n - m) / (m + 1) * odds
                    total += term
                    if term < 1e-18 * total:
                        break
                tail = k * np.log(x) + (n - k) * np.log1p(-x) + np.log(total)
                tail += logs[n] - logs[k] - logs[n - k]
            else:  # the complement, whose terms fall downwards from k - 1
                term = total = 1.0
                for m in range(k - 1, 0, -1):
                    term *= m / ((n - m + 1) * odds)
                    total += term
                    if term < 1e-18 * total:
                        break
                complement = (k - 1) * np.log(x) + (n - k + 1) * np.log1p(-x) + np.log(total)
                complement += logs[n] - logs[k - 1] - logs[n - k + 1]
                tail = np.log1p(-min(np.exp(complement), 1.0))
            least = min(least, tail)
        out[i] = least


@kernel
def _joint(ranks, choose, out):
    """Fill `out` with log Q of every row."""
    n = ranks.shape[1]
    g, next_g, powers = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1)
    for row in range(len(ranks)):
        x = ranks[row]
        log_q = n * np.log(x[n - 1])
        # j >= i points in [0, x_(i)] meet the conditions up to the end of the first equal ranks
        i = 1
        while i < n and x[i] == x[i - 1]:
            i += 1
        for j in range(i, n + 1):
            g[j] = 1.0
        while i < n:
            nearer, further = x[i - 1], x[i]
            after = i + 1
            while after < n and x[after] == further:
                after += 1
            c = nearer / further
            complement = (further - nearer) / further
            # c ** i is factored out since it may underflow; the other factors cannot all do so
            log_q += i * np.log(c)
            power = 1.0
            for j in range(i, n + 1):
                g[j] *= power
                power *= c
            power = 1.0
            for m in range(n - i + 1):
                powers[m] = power
                power *= complement
            for j in range(after, n + 1):
                next_g[j] = 0.0
            for step in range(i, n + 1):
                begin = max(step, after)
                target, ways = next_g[begin : n + 1], choose[step, begin : n + 1]
                factors = powers[begin - step : n + 1 - step]
                for j in range(len(target)):
                    target[j] += g[step] * ways[j] * factors[j]
            largest = 0.0
            for j in range(after, n + 1):
                largest = max(largest, next_g[j])
            # g_n <= C(n, i) g_i: no term that matters underflows beside the largest
            log_q += np.log(largest)
            for j in range(after, n + 1):
                g[j] = next_g[j] / largest
            i = after
        out[row] = log_q + np.log(g[n])
