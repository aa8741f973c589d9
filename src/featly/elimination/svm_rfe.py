r"""Backward elimination by the weights of a linear support vector machine.

.. math::

    \min_{w, b, \xi} \tfrac12 \|w\|^2 + C \sum_i \xi_i
    \quad\text{s.t.}\quad y_i (w \cdot x_i + b) \ge 1 - \xi_i,\ \xi_i \ge 0;
    \qquad \text{drop the } j \text{ with the smallest } w_j^2

Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002), Gene selection for cancer
classification using support vector machines, *Machine Learning* 46, 389-422.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from featly.base import Problem, Ranker, Ranking, interrupted
from featly.core.backward import MOST_CELLS, MOST_ROWS, eliminate_small
from featly.core.linear import downdate_gram
from featly.core.sources import DenseSource, Source, centers_and_variances, unit_scale
from featly.core.svm import SVMDual
from featly.elimination.backward import Elimination, check_schedule, drops, eliminate
from featly.errors import ConvergenceWarning, ParameterError
from featly.kinds import CATEGORICAL
from featly.progress import progress_bar
from featly.schema import Schema

__all__ = ["SVMRFE"]


class SVMRFE(Ranker):
    r"""Rank columns by recursive elimination with a linear support vector machine.

    Each round fits a soft-margin SVM to the columns that are left and drops those with the
    smallest squared weight :math:`w_j^2`, for a categorical column the squared norm of the
    weights of its levels; it stays one feature. The SVM is solved to machine precision and says
    so (`duality_gap_`): at the usual tolerance of 1e-3 most positions of the ranking are noise.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction, None for half, or a rule:
        "rule-of-thumb", "largest-gap", "two-variances". The ranking
        does not depend on it: elimination always goes to the end.
    step : float, int, list of int or callable, default=0.2
        How many columns a round drops: a fraction of those that *remain* (rounded, at least one;
        note that scikit-learn's ``RFE`` takes a fraction of the original number), a count, a
        falling list of sizes to pass through, or a function from the number that remain to the
        number to drop.
    fine_below : int or None, default=None
        With fewer columns than this left, go one by one. ``step=0.1, fine_below=20`` is the
        schedule of Izetta, Verdes and Granitto (2017).
    C : float, default=1.0
        Price of a margin violation.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class; "balanced" is :math:`n / (2 n_c)`.
    standardize : bool, default=True
        Give every column mean 0 and total variance 1 first. Without it, the ranking depends on
        the units of the columns.
    schema : Schema, dict or None, default=None
        What is known about the columns; `keep` is used: those columns are never eliminated
        before others.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (columns ranked, columns in all).

    Attributes
    ----------
    round_ : int array of shape (n_features,)
        The round in which a column was dropped, from 0.
    criterion_ : float array of shape (n_features,)
        :math:`w_j^2` in that round.
    scores_ : float array of shape (n_features,)
        `round_` plus the column's share of :math:`\|w\|^2` in that round.
    duality_gap_ : float array
        (primal - dual) / primal objective of the SVM of every round.
    interrupted_ : bool
        Whether Ctrl-C ended the elimination early. Columns not yet eliminated are then ordered by
        their last weight.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    FTest : Scores every column by itself; takes missing values and many classes.

    Notes
    -----
    For n rows and p columns, the Gram matrix costs :math:`n^2 p` operations and taking columns out
    of it as much again; a round costs :math:`n p` for the weights and a few :math:`n^2` for the
    solver, which starts from the last round's solution. With many more rows than columns nothing
    of size :math:`n^2` is made: a round costs about :math:`20\, n p^2`, and memory one copy of the
    table.

    References
    ----------
    Guyon, I., Weston, J., Barnhill, S. and Vapnik, V. (2002), Gene selection for cancer
    classification using support vector machines, *Machine Learning* 46, 389-422. Izetta, J.,
    Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via list
    combination, *Expert Systems with Applications* 88, 205-216.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import SVMRFE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 200))
    >>> y = np.where(X[:, 7] + X[:, 11] > 0, "ill", "well")
    >>> rfe = SVMRFE(n_features_to_select=2).fit(X, y)
    >>> sorted(rfe.order_[:2].tolist())
    [7, 11]
    >>> bool(rfe.duality_gap_.max() < 1e-8)
    True
    """

    _kinds = ("continuous", "ordinal", "categorical")
    _many_classes = False

    def __init__(
        self,
        *,
        n_features_to_select: int | float | str | None = None,
        step: float | int | Sequence[int] | Callable[[int], int] = 0.2,
        fine_below: int | None = None,
        C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        standardize: bool = True,
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool | Callable[[int, int], Any] = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.step = step
        self.fine_below = fine_below
        self.C = C
        self.class_weight = class_weight
        self.standardize = standardize
        self.schema = schema
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _units_matter(self) -> bool:
        return not self.standardize

    def _check_parameters(self) -> None:
        check_schedule(self.step, self.fine_below)
        number = isinstance(self.C, int | float | np.integer | np.floating)
        if isinstance(self.C, bool) or not number or not 0 < self.C < np.inf:
            raise ParameterError(f"C={self.C!r}: give a positive finite number")
        given = self.class_weight
        if not (given is None or isinstance(given, dict) or given == "balanced"):
            raise ParameterError(f"class_weight={given!r}: give a dict, 'balanced' or None")

    def _rank(self, problem: Problem) -> Ranking:
        moments = problem.moments(complete_for=type(self).__name__)
        center, variance = centers_and_variances(problem.source, moments)
        scale = unit_scale(variance) if self.standardize else np.ones(len(variance))
        source = problem.source.scaled(center, scale)
        y, C = np.where(problem.y == 1, 1.0, -1.0), self.C * self._weights(problem)
        spread: np.ndarray | float = 1.0 if self.standardize else variance
        del moments, center, scale, variance  # a number a column each, not needed any more
        found, gaps = None, np.empty(0)
        if not self.verbose:
            found, gaps = self._ranked_small(problem, source, y, C, spread)
        if found is None:
            machine = _LinearMachine(source, y, C, variance=spread)
            with progress_bar(self.verbose, "SVM-RFE", unit="columns") as progress:
                found = eliminate(
                    machine,
                    problem.source.n_features,
                    step=self.step,
                    fine_below=self.fine_below,
                    keep=problem.columns.keep,
                    progress=progress,
                )
            gaps = np.array(machine.gaps)
        if gaps.max(initial=0.0) > 1e-6:
            remedy = "try a smaller C" if self.standardize else "try standardize=True"
            warnings.warn(
                f"the SVM of round {int(gaps.argmax())} was solved to a relative gap of "
                f"{gaps.max():.1e} only: columns of similar weight may be out of order; {remedy}",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit
            )
        ranking = Ranking(
            order=found.order,
            scores=found.round + found.share,
            extra={"round": found.round, "criterion": found.criterion},
            attributes={"duality_gap": gaps, "interrupted": found.interrupted},
        )
        if found.interrupted:
            raise interrupted(ranking)
        return ranking

    def _ranked_small(
        self,
        problem: Problem,
        source: Source,
        y: np.ndarray,
        C: np.ndarray,
        variance: np.ndarray | float,
    ) -> tuple[Elimination | None, np.ndarray]:
        """All rounds at once, where the table is small enough; None where it is not."""
        n, p = source.n_rows, source.n_features
        plain = isinstance(source, DenseSource) and source.n_atoms == p
        if not plain or n > MOST_ROWS or n * p > MOST_CELLS or (source.kinds == CATEGORICAL).any():
            return None, np.empty(0)
        kept = np.zeros(p, bool)
        kept[problem.columns.keep] = True
        counts = drops(p, int(kept.sum()), self.step, self.fine_below)
        noise = np.broadcast_to(ROUNDING**2 * n * np.asarray(variance), p)
        done = eliminate_small(source.load(np.arange(p)), y, C, counts, kept, noise)
        if done is None:
            return None, np.empty(0)
        order, rounds, criterion, totals, gaps = done
        return Elimination(order, rounds, criterion, totals.tolist()), gaps

    def _weights(self, problem: Problem) -> np.ndarray:
        """The factor on C of every row."""
        if self.class_weight is None:
            return np.ones(len(problem.y))
        if isinstance(self.class_weight, dict):
            absent = [label for label in self.class_weight if label not in problem.classes]
            if absent:
                raise ParameterError(
                    f"class_weight names {absent[0]!r}, which is no class; the classes are "
                    f"{problem.classes.tolist()}"
                )
        labels = problem.classes[problem.y]
        by_class = compute_class_weight(self.class_weight, classes=problem.classes, y=labels)
        if not (np.isfinite(by_class).all() and (by_class > 0).all()):
            raise ParameterError(f"class_weight={self.class_weight!r}: weights must be positive")
        return by_class[problem.y]


COMPACT_SHARE = 20  # a row-major table is copied, column by column, once this fraction is left ...
COMPACT_BYTES = 16 << 20  # ... or once what is left is this small
REBUILD_TRACE = 8  # rebuild the Gram matrix when its trace has fallen by this factor
ROUNDING = 1e-12  # cosines between a column and the dual solution below this are zero
MOST_DENSE_ROWS = 1024  # above this, and ...
FACTOR_SHARE = 4  # ... this many times more rows than atoms, nothing n x n is made


class _LinearMachine:
    """A linear SVM on a shrinking set of columns."""

    def __init__(
        self, source: Source, y: np.ndarray, C: np.ndarray, variance: np.ndarray | float
    ) -> None:
        self.source = source
        self.variance = variance
        self.dual = SVMDual(y, C, n_jobs=source.n_jobs)
        self.gaps: list[float] = []
        self._all_bytes = source.nbytes if isinstance(source, DenseSource) else 0
        self._factor: np.ndarray | None = None
        self._gram: np.ndarray | None = None
        self._trace = self._built_trace = 0.0
        self._compact()

    def criterion(self) -> np.ndarray:
        n, rank = self.source.n_rows, self.source.n_atoms
        if n > MOST_DENSE_ROWS and rank * FACTOR_SHARE <= n:
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
            self.dual.solve(self._gram, rank, self._trace)
        self.gaps.append(self.dual.gap)
        self._compact()
        weights = self.source.forms(self.dual.coef)
        weights[weights <= self._noise()] = 0.0
        return weights

    def _noise(self) -> np.ndarray | float:
        """Squared weights up to this may be rounding errors of zero.

        Where w = 0 is the optimum, its computed entries are sums of n terms that cancel; without
        this they would be ordered by how they were rounded.
        """
        v = self.dual.coef
        return ROUNDING**2 * float(v @ v) * self.source.n_rows * self.variance

    def drop(self, positions: np.ndarray) -> None:
        stays = np.ones(self.source.n_features, bool)
        stays[positions] = False
        if self._factor is not None:
            self._factor = self._factor[np.repeat(stays, np.diff(self.source.atoms))]
        if self._gram is not None:
            self._downdate(positions)
        self.source = self.source.view(np.flatnonzero(stays))
        if not isinstance(self.variance, float):
            self.variance = self.variance[stays]
        if self._gram is not None and self._trace * REBUILD_TRACE < self._built_trace:
            self._build()

    def _build(self) -> None:
        self._gram = self.source.gram()
        self._trace = self._built_trace = float(np.trace(self._gram))
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
            self.dual.downdated(atoms[0])
        else:
            self.dual.forget_inverse()

    def _compact(self) -> None:
        if isinstance(self.source, DenseSource) and not self.source.feature_major:
            left = self.source.nbytes
            if left <= max(COMPACT_BYTES, self._all_bytes // COMPACT_SHARE):
                self.source = self.source.compact()
