"""A linear support vector machine on a shrinking set of columns."""

import numpy as np

from featly.basics.typing import FloatArray
from featly.core.sources import Source, compact_if_small
from featly.core.sources.linear import downdate_gram
from featly.core.svm.dual import SVMDual

__all__ = ["ROUNDING", "LinearMachine"]

REBUILD_TRACE = 8  # rebuild the Gram matrix when its trace has fallen by this factor
ROUNDING = 1e-11  # cosines between a column and the dual solution below this are zero
MOST_DENSE_ROWS = 1024  # with more rows than this, and ...
FACTOR_SHARE = 4  # ... this many times more rows than atoms, no n x n matrix is made


class LinearMachine:
    """A linear SVM on a shrinking set of columns.

    Parameters
    ----------
    source : Source
        Centred and scaled.
    y : array of +1.0 and -1.0
    C : array, one price a row
    variance : array or float
        Total variance of every column, before a prior multiplied it.
    widths : array or None
        The squares of the priors by which the columns of `source` have been multiplied.

    Attributes
    ----------
    duality_gaps : list of float
        Relative duality gap of every round.
    """

    source: Source

    def __init__(
        self,
        source: Source,
        y: np.ndarray,
        C: np.ndarray,
        variance: FloatArray | float,
        widths: np.ndarray | None = None,
    ) -> None:
        self.source = source
        self.variance: FloatArray | float = variance
        self.widths = widths
        self._rounding = ROUNDING if widths is None else ROUNDING * float(widths.max())
        self.dual: SVMDual = SVMDual(y, C, n_jobs=source.n_jobs)
        self.duality_gaps: list[float] = []
        self._all_bytes = source.nbytes
        self._factor: np.ndarray | None = None
        self._gram: np.ndarray | None = None
        self._trace = self._built_trace = 0.0
        self._built = 0
        self.source = compact_if_small(self.source, self._all_bytes)

    def criterion(self) -> np.ndarray:
        """Return squared weights of the remaining columns, in units without the prior."""
        n, rank = self.source.n_rows, self.source.n_atoms
        if self.is_tall:
            self._gram = None
            if self._factor is None:
                self._factor = np.empty((rank, n))
                atoms = self.source.atoms
                for low, high in self.source.blocks():
                    part = slice(atoms[low], atoms[high])
                    self._factor[part] = self.source.load(np.arange(low, high))
            self.dual.solve_factor(self._factor)
        else:
            if self._gram is None:
                self._build()
            assert self._gram is not None
            self.dual.solve(self._gram, rank, self._trace)
        self.duality_gaps.append(self.dual.duality_gap)
        self.source = compact_if_small(self.source, self._all_bytes)
        weights = self.source.forms(self.dual.coef)
        if self.widths is not None:
            weights *= self.widths
        weights[weights <= self._noise()] = 0.0
        return weights

    def _noise(self) -> np.ndarray | float:
        """Return the largest squared weights that may be rounding errors of zero.

        If w = 0 is the optimum, its computed entries are sums of n terms that cancel, and would be
        ordered by their rounding errors. Those of the widest column affect all others, so the limit
        grows with its width.
        """
        v = self.dual.coef
        return self._rounding**2 * float(v @ v) * self.source.n_rows * self.variance

    def drop(self, positions: np.ndarray) -> None:
        """Drop some columns."""
        stays = np.ones(self.source.n_features, bool)
        stays[positions] = False
        if self._factor is not None:
            self._factor = self._factor[np.repeat(stays, np.diff(self.source.atoms))]
        if self._gram is not None:
            self._downdate(positions)
        self.source = self.source.view(np.flatnonzero(stays))
        if not isinstance(self.variance, float):
            self.variance = self.variance[stays]
        few = False
        if self.widths is not None:
            # in the trace, wide columns hide how little is left of the others
            self.widths = self.widths[stays]
            few = self.source.n_features * REBUILD_TRACE < self._built
        if self._gram is not None and (few or self._trace * REBUILD_TRACE < self._built_trace):
            self._build()

    @property
    def is_tall(self) -> bool:
        """Return whether rows so outnumber columns that no Gram matrix is made."""
        n, rank = self.source.n_rows, self.source.n_atoms
        return n > MOST_DENSE_ROWS and rank * FACTOR_SHARE <= n

    def start(self, gram: np.ndarray) -> None:
        """Start with the Gram matrix of all columns, which is copied."""
        self._build(gram.copy())

    def _build(self, gram: np.ndarray | None = None) -> None:
        self._gram = self.source.gram() if gram is None else gram
        self._trace = self._built_trace = float(np.trace(self._gram))
        self._built = self.source.n_features
        self.dual.forget_inverse()

    def _downdate(self, positions: np.ndarray) -> None:
        assert self._gram is not None
        if len(positions) > 1:
            self._gram -= self.source.gram(positions)
            self._trace = float(np.trace(self._gram))
            self.dual.forget_inverse()
            return
        atoms = self.source.load(positions)
        for atom in atoms:
            self._trace = downdate_gram(self._gram, atom)
        if len(atoms) == 1:
            self.dual.downdate(atoms[0])
        else:
            self.dual.forget_inverse()
