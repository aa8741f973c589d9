r"""Madelon: clusters on the vertices of a hypercube, labelled at random, among many probes.

.. math::

    u_i = 2 v_{c(i)} + A_{c(i)}^\top g_i, \qquad y_i = \ell_{c(i)}, \qquad
    v_c \in \{-1, 1\}^5, \quad g_i \sim N(0, I_5)

Guyon, I., Gunn, S., Nikravesh, M. and Zadeh, L., eds (2006), *Feature Extraction: Foundations and
Applications*, Springer.
"""

from itertools import product

import numpy as np

from featly.basics.params import Number, Whole
from featly.datasets.synthetic import (
    Synthetic,
    generators,
    names,
    share,
    table,
)

__all__ = ["make_madelon"]

N_RELEVANT, N_COMBINATIONS, N_REPEATS = 5, 5, 10
VERTICES = np.array(list(product((-1, 1), repeat=N_RELEVANT)))
DISTANCE = 2.0  # of a vertex from the middle, along every axis
NOISE = 0.1  # standard deviation, where that of the column is 1
LOWEST, HIGHEST = (450.0, 1.0), (550.0, 50.0)  # shift and scale of a column


def make_madelon(
    *,
    n_rows: int = 2400,
    n_irrelevant: int = 480,
    label_noise: float = 0.01,
    random_state: int = 0,
) -> Synthetic:
    r"""Make Madelon: five columns that matter only together, ten repeats, 480 probes.

    .. math::

        u_i = 2 v_{c(i)} + A_{c(i)}^\top g_i, \qquad y_i = \ell_{c(i)}

    Each of the 32 vertices :math:`v_c \in \{-1, 1\}^5` of a hypercube carries a Gaussian cluster:
    :math:`g_i \sim N(0, I)`, and the matrix :math:`A_c` of the cluster has entries from
    U[-1, 1]. Sixteen vertices, drawn at random, are of class 1, the others of class -1; every
    axis matters for some of them. The columns are

    f1 to f5
        The coordinates of :math:`u`: relevant.
    f6 to f10
        Products of :math:`u` with a random matrix, entries from U[-1, 1]: redundant, group
        "combinations".
    f11 to f20
        Repeats of columns drawn from f1 to f10 with replacement: redundant, group "repeats".
    f21 to f500
        N(0, 1): irrelevant.

    Then the data are distorted. The first twenty columns are standardised and get noise with
    standard deviation 0.1, which differs between a column and its repeat; some labels are
    flipped; and every column is multiplied by a number from U[1, 50] and shifted by one from
    U[450, 550].

    Parameters
    ----------
    n_rows : int, default=2400
        Rows, at least 32. The 32 clusters share them as evenly as possible, in random order.
    n_irrelevant : int, default=480
        Probes.
    label_noise : float, default=0.01
        Fraction of labels that are flipped: exactly that many rows, rounded.
    random_state : int, default=0
        Seed of the random numbers.
        They also draw the labels of the vertices and the matrices: every seed is another problem
        of the same kind.

    Returns
    -------
    Synthetic
        With `n_rows` rows and 20 + `n_irrelevant` columns; y is -1 or 1.

    Notes
    -----
    The public file does not say which of its columns are which. What the text leaves open, the
    distance of vertices, the covariance of clusters and the noise, is chosen so that this table
    is like that file: repeats correlate by 0.99 with each other, the relevant columns have a
    kurtosis of -0.9, and the nearest neighbour on f1 to f5 is right in 87 to 91% of the rows.
    Values are not rounded to whole numbers.

    References
    ----------
    Guyon, I., Gunn, S., Nikravesh, M. and Zadeh, L., eds (2006), *Feature Extraction: Foundations
    and Applications*, Springer.

    Examples
    --------
    >>> from featly.datasets import make_madelon
    >>> madelon = make_madelon()
    >>> madelon
    Synthetic(madelon: 2400 rows, 2 classes, 500 columns: 5 relevant, 15 redundant, 480 irrelevant)
    >>> {name: (tier[0], tier[-1]) for name, tier in madelon.tiers.items()}
    {'relevant': ('f1', 'f5'), 'combinations': ('f6', 'f10'), 'repeats': ('f11', 'f20'),
     'irrelevant': ('f21', 'f500')}
    """
    Whole(at_least=len(VERTICES)).check("n_rows", n_rows)
    Whole(at_least=0).check("n_irrelevant", n_irrelevant)
    Number(at_least=0, at_most=1).check("label_noise", label_noise)
    labelling, rows, clusters, mixing, noise, flips, units, probes = generators(random_state, 8)
    labels = _vertex_labels(labelling)
    cluster = rows.permutation(np.arange(n_rows) % len(VERTICES))
    shapes = clusters.uniform(-1, 1, size=(len(VERTICES), N_RELEVANT, N_RELEVANT))
    cloud = np.einsum("ni,nij->jn", clusters.normal(size=(n_rows, N_RELEVANT)), shapes[cluster])
    relevant = DISTANCE * VERTICES[cluster].T + cloud
    combinations = mixing.uniform(-1, 1, size=(N_COMBINATIONS, N_RELEVANT)) @ relevant
    useful = np.vstack([relevant, combinations])
    useful = np.vstack([useful, useful[mixing.integers(len(useful), size=N_REPEATS)]])
    useful = (useful - useful.mean(axis=1, keepdims=True)) / useful.std(axis=1, keepdims=True)
    useful += NOISE * noise.normal(size=useful.shape)
    columns = np.vstack([useful, probes.normal(size=(n_irrelevant, n_rows))])
    shift, scale = units.uniform(LOWEST, HIGHEST, size=(len(columns), 2)).T[:, :, None]
    flipped = flips.permutation(n_rows) < share(label_noise, n_rows)
    last = N_RELEVANT + N_COMBINATIONS
    return Synthetic(
        name="madelon",
        X=table(columns * scale + shift),
        y=np.where(flipped, -labels[cluster], labels[cluster]),
        relevant=tuple((column,) for column in names(1, N_RELEVANT)),
        redundant={
            "combinations": names(N_RELEVANT + 1, last),
            "repeats": names(last + 1, last + N_REPEATS),
        },
        description="class = a random label of the nearest of 32 vertices in f1 to f5; f6 to f10 "
        f"combine them, f11 to f20 repeat f1 to f10; {100 * label_noise:g}% of labels are "
        f"flipped; {n_irrelevant} random columns",
    )


def _vertex_labels(rng: np.random.Generator) -> np.ndarray:
    """Draw labels of vertices, as many of either class, such that every axis matters."""
    while True:
        labels = rng.permutation(np.repeat([-1, 1], len(VERTICES) // 2))
        if _is_every_axis_relevant(labels):
            return labels


def _is_every_axis_relevant(labels: np.ndarray) -> bool:
    """Return whether along every axis some vertex and its neighbour have different labels."""
    cube = labels.reshape((2,) * N_RELEVANT)
    return all((np.diff(cube, axis=axis) != 0).any() for axis in range(N_RELEVANT))
