r"""A perceptron trained on all rows at once.

.. math::

    w \leftarrow w + \frac1n \sum_{i:\, t_i (w^\top z_i + b) \le 0} t_i z_i, \qquad
    b \leftarrow b + \frac1n \sum_{i:\, t_i (w^\top z_i + b) \le 0} t_i,

from w = 0, b = 0, with targets :math:`t_i` of -1 and 1, until no row is on the wrong side. If that
is not reached, the mean of all w is taken.

Rosenblatt, F. (1958), The perceptron: a probabilistic model for information storage and
organization in the brain, *Psychological Review* 65, 386-408; with the mean of Freund, Y. and
Schapire, R. E. (1999), Large margin classification using the perceptron algorithm, *Machine
Learning* 37, 277-296.

Taking all rows at once makes the order of the rows irrelevant. The weights are
:math:`w = \frac1n \sum_i a_i z_i` with whole numbers a, by how often each row was wrong: training
needs products of rows only, from a Gram matrix where rows are few, and a is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.jit import lane_kernel

__all__ = ["NEAR", "TrainedPerceptrons", "project", "train"]


NEAR = 1e-12  # a sum of at most this share of its terms is a rounding error and counts as 0


@dataclass(frozen=True)
class TrainedPerceptrons:
    """Perceptrons after training.

    Attributes
    ----------
    coefficients : float64 array of shape (n, m)
        a, whole numbers where no row is wrong at the end, else the mean over the epochs.
    epochs : int64 array of shape (m,)
        Epochs with a wrong row.
    converged : bool array of shape (m,)
        Whether no row is wrong.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """

    coefficients: FloatArray
    epochs: IntArray
    converged: BoolArray
    interrupted: bool


def train(
    outputs: Callable[[FloatArray], FloatArray],
    targets: FloatArray,
    longest: float,
    max_epochs: int,
    progress: Callable[[int, int], object] | None = None,
) -> TrainedPerceptrons:
    """Train perceptrons side by side.

    Ctrl-C after the first epoch ends the training.

    Parameters
    ----------
    outputs : function of float64[n, m] to float64[n, m]
        ``Z Z' A`` plus the sum of each column of A: the outputs of weights ``Z' A`` and biases
        ``1' A`` for every row.
    targets : float64 array of shape (n, m)
        -1 and 1, a column for each perceptron.
    longest : float
        The largest of ``z'z + 1`` of all rows z: outputs that are small beside it count as 0.
    max_epochs : int
    progress : function of (int, int) or None
        Called with epochs done, and all.

    Returns
    -------
    TrainedPerceptrons

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.models.perceptron import train
    >>> Z = np.array([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> t = np.array([[-1.0], [-1.0], [-1.0], [1.0]])  # the last corner against the others
    >>> nets = train(lambda A: Z @ (Z.T @ A) + A.sum(axis=0), t, 3.0, 100)
    >>> (Z.T @ nets.coefficients).ravel().tolist(), nets.epochs.tolist(), nets.converged.tolist()
    ([2.0, -2.0], [1], [True])
    """
    n, m = targets.shape
    current, summed = np.zeros((n, m)), np.zeros((n, m))
    epochs = np.zeros(m, np.int64)
    converged = np.zeros(m, bool)
    stopped = False
    try:
        for epoch in range(max_epochs + 1):
            live = np.flatnonzero(~converged)
            values = outputs(current[:, live])
            limit = NEAR * longest * np.abs(current[:, live]).sum(axis=0)
            wrong = targets[:, live] * values <= limit
            converged[live] = ~wrong.any(axis=0)
            if converged.all() or epoch == max_epochs:
                break
            epochs[~converged] += 1
            current[:, live] += targets[:, live] * wrong
            summed[:, live] += current[:, live]
            if progress is not None:
                progress(epoch + 1, max_epochs)
    except KeyboardInterrupt:
        stopped = True
        if not epochs.any():
            raise
    mean = summed / np.maximum(epochs, 1)
    return TrainedPerceptrons(np.where(converged, current, mean), epochs, converged, stopped)


@lane_kernel
def project(tile, v, out):  # type: ignore[no-untyped-def]
    """``out[k, j] = sum_i tile[j, i] v[k, i]``, each sum in the same order: equal columns tie.

    `tile` is float64[columns, n], `v` float64[m, n].
    """
    for j in range(len(tile)):
        z = tile[j]
        for k in range(len(v)):
            a = v[k]
            w = 0.0
            for i in range(len(z)):
                w += z[i] * a[i]
            out[k, j] = w
