"""A support vector machine with the Gaussian kernel on a shrinking set of columns."""

import numpy as np

from featly.basics.typing import AnyArray
from featly.core.kernels.gaussian import margin_changes, squared_distances
from featly.core.sources import Source
from featly.core.svm.dual import SVMDual

__all__ = ["GaussianMachine"]

REBUILD_SHARE = 8  # rebuild the distances when this fraction of the columns is left
ROUNDING = 1e-12  # changes of the margin below this share of its terms are zero


class GaussianMachine:
    """An SVM with a Gaussian kernel, whose distances are downdated as columns go.

    Parameters
    ----------
    source : Source
        Centred and scaled.
    y : array of +1.0 and -1.0
    C : array, one price a row
    variance : array or float
        Total variance of every column.
    gamma : float or None
        None is one over the total variance of the columns that remain.
    absolute : bool, default=False
        Whether a rise of ||w||^2 counts as much as a fall.

    Attributes
    ----------
    duality_gaps : list of float
        Relative duality gap of every round.
    """

    source: Source
    variance: AnyArray

    def __init__(
        self,
        source: Source,
        y: np.ndarray,
        C: np.ndarray,
        variance: np.ndarray | float,
        gamma: float | None,
        absolute: bool = False,
    ) -> None:
        self.source = source
        self.variance = np.broadcast_to(variance, source.n_features)
        self.gamma = gamma
        self.absolute = absolute
        self.duality_gaps: list[float] = []
        self._dual = SVMDual(y, C, n_jobs=source.n_jobs)
        self._distances: np.ndarray | None = None
        self._built = 0

    def criterion(self) -> np.ndarray:
        """Return by how much ||w||^2 falls without each remaining column.

        A rise is negative, or positive as well if `absolute`.
        """
        if self._distances is None:
            self._distances = squared_distances(self.source.gram())
            self._built = self.source.n_features
        gamma = self.gamma
        if gamma is None:
            gamma = 1 / max(float(self.variance.sum()), np.finfo(float).tiny)
        K = np.exp(-gamma * self._distances)
        self._dual.forget_inverse()
        self._dual.solve(K, len(K))
        self.duality_gaps.append(self._dual.duality_gap)
        atoms = self.source.load(np.arange(self.source.n_features))
        v = self._dual.coef
        changes = margin_changes(
            atoms, self.source.atoms, v, self._distances, gamma, self.source.n_jobs
        )
        changes[np.abs(changes) <= ROUNDING * float(np.abs(v) @ K @ np.abs(v))] = 0.0
        if self.absolute:
            changes = np.abs(changes)
        # a constant column changes nothing, but must not rank above one that disturbs
        constant = self.variance <= 0
        if constant.any():
            least = min(float(changes.min()), 0.0)
            changes[constant] = least - 1e-6 * abs(least)
        return changes

    def drop(self, positions: np.ndarray) -> None:
        """Drop some columns."""
        stays = np.ones(self.source.n_features, bool)
        stays[positions] = False
        left = int(stays.sum())
        if self._distances is not None:
            if left <= max(len(positions), self._built // REBUILD_SHARE):
                self._distances = None
            else:
                self._distances -= squared_distances(self.source.gram(positions))
                np.maximum(self._distances, 0.0, out=self._distances)
        self.source = self.source.view(np.flatnonzero(stays))
        self.variance = self.variance[stays]
