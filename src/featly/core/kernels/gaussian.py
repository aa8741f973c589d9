r"""The Gaussian kernel, and the change of the margin when one column is taken out of it.

.. math::

    K_{ij} = e^{-\gamma D_{ij}}, \quad D = \sum_f d_f, \qquad
    \|w\|^2 - \|w_{(-f)}\|^2 = \sum_{ij} v_i v_j K_{ij} (1 - e^{\gamma d_f(i, j)})

with the coefficients v kept as they are. Between rounds of an elimination the squared distances D
are downdated; only rows with a coefficient take part. The exponential less one is a polynomial of
the distance divided by :math:`2^k`, doubled k times by :math:`e_{2t} = e_t (e_t + 2)`: products
and sums only, which the compiler turns into vector instructions.

Guyon, I. et al. (2002), *Machine Learning* 46, 389-422, sec. 5.
"""

from itertools import pairwise

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.runtime.jit import lane_kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["margin_changes", "squared_distances"]


COLUMN_BLOCK = 16  # columns that one task goes through
PAIR_BLOCK = 8192  # pairs of rows that stay in cache while the columns pass
FARTHEST = 600.0  # the exponential of minus this does not underflow
LARGEST = 0.25  # of the distance times gamma for which the polynomial is exact to rounding

# mypy: disable-error-code="no-untyped-def"


def squared_distances(gram: FloatArray) -> FloatArray:
    """Turn inner products into squared distances; exact zeros on the diagonal, none negative."""
    diagonal = np.diag(gram)
    distances = diagonal[:, None] + diagonal[None, :] - 2 * gram
    np.maximum(distances, 0.0, out=distances)
    np.fill_diagonal(distances, 0.0)
    return distances


def margin_changes(
    atoms: FloatArray,
    starts: IntArray,
    v: FloatArray,
    distances: FloatArray,
    gamma: float,
    n_jobs: int | None = None,
) -> FloatArray:
    """Compute ``||w||^2 - ||w_(-f)||^2`` for every feature f.

    Parameters
    ----------
    atoms : array of shape (n_atoms, n_rows)
        Feature-major; feature f is rows ``starts[f]:starts[f + 1]``, several for a category.
    v : array
        alpha_i y_i.
    distances : array of shape (n_rows, n_rows)
        Squared, over all features.
    gamma : float
    """
    rows = np.flatnonzero(v)
    n_features = len(starts) - 1
    if len(rows) < 2:
        return np.zeros(n_features)
    z = np.ascontiguousarray(atoms[:, rows])
    weight = v[rows]
    exponent = gamma * distances[np.ix_(rows, rows)]
    share = np.where(exponent > FARTHEST, 0.0, weight[:, None] * weight * np.exp(-exponent))
    reach = np.zeros(n_features)
    spread = np.ptp(z, axis=1) ** 2
    np.add.at(reach, np.repeat(np.arange(n_features), np.diff(starts)), spread)
    halvings = np.ceil(np.log2(np.maximum(gamma * reach / LARGEST, 1.0))).astype(np.int64)
    out = np.zeros(n_features)

    # ranges of rows of the lower triangle with some PAIR_BLOCK pairs each
    ends = np.sqrt(2.0 * PAIR_BLOCK * np.arange(1, len(rows) ** 2 // (2 * PAIR_BLOCK) + 1))
    edges = np.unique([1, *np.ceil(ends).astype(np.int64), len(rows)])

    def add_block(block: tuple[int, int]) -> None:
        for top, bottom in pairwise(edges):
            _add_changes(z, starts, share, top, bottom, gamma, halvings, *block, out)

    run_blocks(add_block, split(n_features, COLUMN_BLOCK), n_jobs)
    far = np.tril(exponent > FARTHEST, -1).nonzero()
    if len(far[0]):  # their kernel underflows, and with it the change by a column
        product = weight[far[0]] * weight[far[1]]
        for f in range(n_features):
            feature_atoms = z[starts[f] : starts[f + 1]]
            shorter = gamma * ((feature_atoms[:, far[0]] - feature_atoms[:, far[1]]) ** 2).sum(
                axis=0
            )
            out[f] += product @ np.exp(-np.maximum(exponent[far] - shorter, 0.0))
    return -2 * out


@lane_kernel
def _add_changes(z, starts, share, top, bottom, gamma, halvings, low, high, out):
    """Add ``sum share_ij (exp(gamma d_f(i, j)) - 1)`` over j < i, i from top to bottom."""
    t = np.empty((bottom * (bottom - 1) - top * (top - 1)) // 2)
    for f in range(low, high):
        factor = gamma * 0.5 ** halvings[f]
        t[:] = 0.0
        for atom in range(starts[f], starts[f + 1]):
            at = 0
            for i in range(top, bottom):
                line = t[at : at + i]
                x = z[atom]
                xi = x[i]
                for j in range(i):
                    d = xi - x[j]
                    line[j] += factor * d * d
                at += i
        for k in range(len(t)):  # the sum of t^m / m! for m from 1 to 11
            x = t[k]
            e = 1 + x * (1 / 11)
            e = 1 + x * (1 / 10) * e
            e = 1 + x * (1 / 9) * e
            e = 1 + x * (1 / 8) * e
            e = 1 + x * (1 / 7) * e
            e = 1 + x * (1 / 6) * e
            e = 1 + x * (1 / 5) * e
            e = 1 + x * (1 / 4) * e
            e = 1 + x * (1 / 3) * e
            e = 1 + x * (1 / 2) * e
            t[k] = x * e
        for _ in range(halvings[f]):
            for k in range(len(t)):
                t[k] = min(t[k] * (t[k] + 2), 1e300)  # times a kernel of 0, elsewhere less
        total = 0.0
        at = 0
        for i in range(top, bottom):
            row = share[i]
            for j in range(i):
                total += row[j] * t[at + j]
            at += i
        out[f] += total
