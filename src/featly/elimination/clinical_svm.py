"""A support vector machine with the clinical kernel on a shrinking set of columns."""

import numpy as np

from featly.basics.typing import AnyArray
from featly.core.kernels.clinical import ClinicalColumns
from featly.core.svm.dual import SVMDual
from featly.core.svm.projected_gradient import projected_gradient
from featly.core.svm.working_set import solve_by_products

__all__ = ["ClinicalMachine"]

MOST_DENSE_ROWS = 4096  # with more rows no n x n matrix is made ...
FEW_ROWS, FEW_COLUMNS = 1024, 200  # ... nor with more rows than this and at most so many columns
REBUILD_SHARE = 8  # rebuild the Gram matrix when this fraction of the columns is left
ROUNDING = 1e-22  # smaller shares of the form of a useful column are zero; a prior raises it


class ClinicalMachine:
    """An SVM with the mean of the columns' kernels, weighted where there is a prior.

    Parameters
    ----------
    columns : ClinicalColumns
    y : array of +1.0 and -1.0
    C : array, one price a row
    renormalised : bool
        Whether the importance of a column is the change of ||w||^2 when its kernel is taken out of
        the *mean* (eq. 4-5 of Paul et al.) instead of out of the sum.
    widths : array or None
        Weights of the kernels in the mean: the squares of a prior; None is 1 for all.
    most_dense_rows : int
        With more rows than this, a product with the kernel is a pass over the columns; by
        default 4,096, or 1,024 where there are few columns.

    Attributes
    ----------
    duality_gaps : list of float
        Relative duality gap of every round.
    """

    columns: ClinicalColumns
    y: AnyArray

    def __init__(
        self,
        columns: ClinicalColumns,
        y: np.ndarray,
        C: np.ndarray,
        *,
        renormalised: bool = False,
        widths: np.ndarray | None = None,
        most_dense_rows: int | None = None,
    ) -> None:
        self.columns = columns
        self.y, self.C = y, C
        self.renormalised = renormalised
        self.widths = np.ones(columns.n_features) if widths is None else widths
        self._rounding = ROUNDING * float(self.widths.max(initial=1.0)) ** 2
        self.duality_gaps: list[float] = []
        if most_dense_rows is None:
            few = columns.n_features <= FEW_COLUMNS
            most_dense_rows = min(FEW_ROWS, MOST_DENSE_ROWS) if few else MOST_DENSE_ROWS
        self._dense = columns.n_rows <= most_dense_rows
        self._lonely = columns.lonely
        self._gram: np.ndarray | None = None
        self._built, self._built_width = 0, 0.0
        self._dual = SVMDual(y, C, n_jobs=columns.n_jobs) if self._dense else None
        self._coef: np.ndarray | None = None

    def criterion(self) -> np.ndarray:
        """Return importances of the remaining columns, in units without the prior."""
        coef = self._solve_dense() if self._dense else self._solve_free()
        # a missing value is like itself, which adds to ||w|| and says nothing about a column
        forms = self.columns.forms(coef, include_missing=self.renormalised)
        if not self.renormalised:
            forms[self._lonely] = 0.0
        forms *= self.widths**2
        forms[forms <= self._rounding * float(coef @ coef) * self.columns.n_rows] = 0.0
        p = len(forms)
        # two columns are equally far from their mean, and one column without its kernel is
        # nothing: there the forms themselves decide
        if self.renormalised and p > 2:
            forms = np.abs(forms - forms.mean()) / (p - 1)
        return forms

    def drop(self, positions: np.ndarray) -> None:
        """Drop some columns."""
        stays = np.ones(self.columns.n_features, bool)
        stays[positions] = False
        remaining, widths = self.columns.view(np.flatnonzero(stays)), self.widths[stays]
        if self._gram is not None:
            # rebuild if the remaining columns are cheaper to add up than the others to take away,
            # or if so little weight remains that the rounding errors are large beside it
            cheap = remaining.n_features <= max(len(positions), self._built // REBUILD_SHARE)
            if cheap or float(widths.sum()) * REBUILD_SHARE < self._built_width:
                self._gram = None
            else:
                self.columns.gram(-self.widths[positions], positions, out=self._gram)
        self.columns, self._lonely, self.widths = remaining, self._lonely[stays], widths

    def _solve_dense(self) -> np.ndarray:
        assert self._dual is not None
        total = float(self.widths.sum())
        if self._gram is None:
            self._gram = self.columns.gram(self.widths)
            self._built, self._built_width = self.columns.n_features, total
        self._dual.forget_inverse()
        self._dual.solve(self._gram / total, self.columns.rank)
        self.duality_gaps.append(self._dual.duality_gap)
        return self._dual.coef

    def _solve_free(self) -> np.ndarray:
        columns, p = self.columns, self.columns.n_features
        mean = self.widths / float(self.widths.sum())

        def product(v: np.ndarray) -> np.ndarray:
            return columns.product(v, mean)

        if p == 1:  # it is not compared; the other solver is slow with many rows between bounds
            solution = projected_gradient(product, self.y, self.C, start=self._coef, tolerance=1e-4)
        else:
            solution = solve_by_products(
                product, lambda rows: columns.block(rows, mean), self.y, self.C, start=self._coef
            )
        self._coef = solution.coef
        self.duality_gaps.append(solution.duality_gap)
        return solution.coef
