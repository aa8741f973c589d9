"""Support vector machines for many classes on a shrinking set of columns."""

from abc import ABC, abstractmethod
from itertools import combinations
from typing import Any

import numpy as np

from featly.basics.typing import FloatArray
from featly.core.runtime.parallel import run_blocks
from featly.core.sources import Source, compact_if_small
from featly.core.sources.linear import downdate_gram
from featly.core.svm.dual import SVMDual
from featly.core.svm.multiclass_svm import MulticlassDual
from featly.elimination.linear_svm import REBUILD_TRACE, ROUNDING

__all__ = ["BinaryMachines", "JointMachine", "MulticlassMachine"]

MOST_GRAM_ROWS = 4096  # with more rows than this, and ...
FACTOR_SHARE = 4  # ... this many times more rows than atoms, no n x n matrix is made
SMALL_PAIR = 1024  # pairs of classes with up to this many rows have a Gram matrix of their own


class MulticlassMachine(ABC):
    """A machine on a shrinking set of columns, with a weight for each class or pair of classes.

    Parameters
    ----------
    source : Source
        Centred and scaled.
    variance : array or float
        Total variance of every column, before a prior multiplied it.
    widths : array or None
        The squares of the priors by which the columns of `source` have been multiplied.
    squared : bool
        Whether squared weights are summed, or absolute ones averaged.

    Attributes
    ----------
    duality_gaps : list of float
        Relative duality gap of every round; of several machines the largest.
    """

    source: Source
    squared: bool
    variance: FloatArray | float

    def __init__(
        self,
        source: Source,
        variance: FloatArray | float,
        widths: np.ndarray | None,
        squared: bool,
    ) -> None:
        self.variance, self.widths, self.squared = variance, widths, squared
        self.duality_gaps: list[float] = []
        self._rounding = ROUNDING if widths is None else ROUNDING * float(widths.max())
        self._all_bytes = source.nbytes
        self._gram: np.ndarray | None = None
        self._factor: np.ndarray | None = None
        self._built_trace, self._built = 0.0, 0
        self.source = compact_if_small(source, self._all_bytes)

    @abstractmethod
    def _has_many_rows(self) -> bool:
        """Return whether there are too many rows for a Gram matrix."""

    @abstractmethod
    def _solve(self) -> tuple[list[np.ndarray], float]:
        """Return the coefficients of the rows in every machine, and the largest duality gap."""

    def criterion(self) -> np.ndarray:
        """Return importances of the remaining columns, in units without the prior."""
        if self._has_many_rows():
            self._gram = None
            if self._factor is None:
                self._factor = self._load_factor()
        elif self._gram is None:
            self._build()
        coefficients, duality_gap = self._solve()
        self.duality_gaps.append(duality_gap)
        self.source = compact_if_small(self.source, self._all_bytes)
        total = np.zeros(self.source.n_features)
        for v in coefficients:
            weights = self.source.forms(v)
            if self.widths is not None:
                weights *= self.widths
            # rounding errors of sums that cancel: see LinearMachine._noise
            noise = self._rounding**2 * float(v @ v) * self.source.n_rows * self.variance
            weights[weights <= noise] = 0.0
            total += weights if self.squared else np.sqrt(weights)
        return total if self.squared else total / len(coefficients)

    def drop(self, positions: np.ndarray) -> None:
        """Drop some columns."""
        stays = np.ones(self.source.n_features, bool)
        stays[positions] = False
        if self._factor is not None:
            self._factor = self._factor[np.repeat(stays, np.diff(self.source.atoms))]
        removed_atom = self._downdate(positions) if self._gram is not None else None
        self.source = self.source.view(np.flatnonzero(stays))
        if not isinstance(self.variance, float):
            self.variance = self.variance[stays]
        if self.widths is not None:
            self.widths = self.widths[stays]
        if self._gram is not None:
            # in the trace, wide columns hide how little is left of the others
            few = self.widths is not None and self.source.n_features * REBUILD_TRACE < self._built
            if few or float(np.trace(self._gram)) * REBUILD_TRACE < self._built_trace:
                self._build()
                removed_atom = None
        self._update_duals(removed_atom)

    @abstractmethod
    def _update_duals(self, removed_atom: np.ndarray | None) -> None:
        """Update the solutions after one atom was removed, or several, for which it is None."""

    def _load_factor(self) -> np.ndarray:
        factor = np.empty((self.source.n_atoms, self.source.n_rows))
        atoms = self.source.atoms
        for low, high in self.source.blocks():
            factor[atoms[low] : atoms[high]] = self.source.load(np.arange(low, high))
        return factor

    def _build(self) -> None:
        self._gram = self.source.gram()
        self._built_trace = float(np.trace(self._gram))
        self._built = self.source.n_features

    def _downdate(self, positions: np.ndarray) -> np.ndarray | None:
        """Take columns out of the Gram matrix; return the atom if it is a single one."""
        assert self._gram is not None
        if len(positions) > 1:
            self._gram -= self.source.gram(positions)
            return None
        atoms = self.source.load(positions)
        for atom in atoms:
            downdate_gram(self._gram, atom)
        return atoms[0] if len(atoms) == 1 else None


class JointMachine(MulticlassMachine):
    """One machine for all classes, of Crammer and Singer, or with `box` of Weston and Watkins."""

    def __init__(
        self,
        source: Source,
        y: np.ndarray,
        n_classes: int,
        C: np.ndarray,
        box: bool,
        variance: FloatArray | float,
        widths: np.ndarray | None,
        squared: bool,
    ) -> None:
        super().__init__(source, variance, widths, squared)
        self.n_classes = n_classes
        self.dual: MulticlassDual = MulticlassDual(y, n_classes, C, box, source.n_jobs)

    def _has_many_rows(self) -> bool:
        n, width = self.source.n_rows, self.source.n_atoms + 1
        few = n > 2 * self.n_classes * width
        return few or (n > MOST_GRAM_ROWS and n >= FACTOR_SHARE * width)

    def _solve(self) -> tuple[list[np.ndarray], float]:
        if self._gram is not None:
            # the bias is the weight of a column of ones
            self.dual.solve(self._gram + 1.0, self.source.n_atoms + 1)
        else:
            assert self._factor is not None
            rows = np.empty((self.source.n_rows, len(self._factor) + 1))
            rows[:, :-1] = self._factor.T
            rows[:, -1] = 1.0
            self.dual.solve_rows(rows)
        return list(self.dual.coef), self.dual.duality_gap

    def _update_duals(self, removed_atom: np.ndarray | None) -> None:
        """Do nothing: the dual holds only its solution, which is feasible for any table."""


class BinaryMachines(MulticlassMachine):
    """A machine for every pair of classes, or class `against_rest`, all on the same columns."""

    duals: list[Any]
    members: list[Any]

    def __init__(
        self,
        source: Source,
        y: np.ndarray,
        n_classes: int,
        C: np.ndarray,
        against_rest: bool,
        variance: FloatArray | float,
        widths: np.ndarray | None,
        squared: bool,
    ) -> None:
        super().__init__(source, variance, widths, squared)
        self.members, self.duals = [], []
        problems: list[tuple[int, np.ndarray]] = [
            (second, np.flatnonzero((y == first) | (y == second)))
            for first, second in combinations(range(n_classes), 2)
        ]
        if against_rest:
            problems = [(label, np.arange(len(y))) for label in range(n_classes)]
        for label, rows in problems:
            self.members.append(rows)
            # the machines run in threads, so each uses one
            self.duals.append(SVMDual(np.where(y[rows] == label, 1.0, -1.0), C[rows], n_jobs=1))

    def _has_many_rows(self) -> bool:
        n = self.source.n_rows
        return n > MOST_GRAM_ROWS and n >= FACTOR_SHARE * self.source.n_atoms

    def _solve(self) -> tuple[list[np.ndarray], float]:
        rank = self.source.n_atoms

        def solve_pair(number: int) -> np.ndarray:
            rows, dual = self.members[number], self.duals[number]
            if self._gram is not None:
                whole = len(rows) == len(self._gram)
                K = self._gram if whole else self._gram[np.ix_(rows, rows)]
                dual.solve(K, rank)
            else:
                assert self._factor is not None
                part = self._factor[:, rows]
                if len(rows) <= SMALL_PAIR or len(rows) < FACTOR_SHARE * rank:
                    dual.forget_inverse()
                    dual.solve(part.T @ part, rank)
                else:
                    dual.solve_factor(part)
            coef = np.zeros(self.source.n_rows)
            coef[rows] = dual.coef
            return coef

        coefficients = run_blocks(solve_pair, range(len(self.duals)), self.source.n_jobs)
        return coefficients, max(dual.duality_gap for dual in self.duals)

    def _update_duals(self, removed_atom: np.ndarray | None) -> None:
        for rows, dual in zip(self.members, self.duals, strict=True):
            if removed_atom is None:
                dual.forget_inverse()
            else:
                dual.downdate(removed_atom[rows])
