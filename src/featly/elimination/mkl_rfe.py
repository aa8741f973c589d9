r"""Backward elimination by the weights of multiple kernel learning, a clinical kernel a column.

.. math::

    \min_{\mu \ge 0,\ \|\mu\|_p \le 1}\ \min_{w, b, \xi}\
    \tfrac12 \sum_f \frac{\|w_f\|^2}{\mu_f} + C \sum_i \xi_i;
    \qquad \text{drop the columns with the smallest } \mu_f

Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature selection,
*Neurocomputing* 169, 187-195.
"""

from typing import Annotated, ClassVar

import numpy as np

from featly.base import Multiclass, Problem, Questions, Ranker, Ranking, Weighted, stop_with
from featly.basics.errors import DataError
from featly.basics.params import Number, Whole
from featly.basics.progress import progress_bar
from featly.core.kernels.kernel_sets import (
    ColumnKernels,
    Kernels,
    ScaledKernels,
    column_kernels,
)
from featly.core.kernels.mkl import equal_gram, solve_mkl
from featly.core.sources.questions import moments
from featly.core.svm.dual import SVMDual
from featly.elimination.rfe import Scheduled, eliminate
from featly.problem.parameters import ClassWeighted, OnDevice, Verbose

__all__ = ["MKLRFE"]

MOST_ROWS = 20_000  # four n x n matrices are held at a time
MOST_PRIOR = 100.0  # squared, it multiplies a kernel; above, the solver loses the others


class MKLRFE(Verbose, OnDevice, Multiclass, ClassWeighted, Scheduled, Weighted, Ranker):
    r"""Rank mixed columns by recursive elimination with multiple kernel learning.

    Every column has a kernel of its own, the clinical kernel: the similarity of two rows in that
    column. Each round learns a weight :math:`\mu_f` for the kernel of every remaining column,
    together with a support vector machine on the weighted sum, and drops the columns of the
    smallest weights. Continuous, ordinal and categorical columns are compared on the same scale,
    and missing values need not be filled.

    A prior :math:`\beta_f` multiplies the kernel of a column by :math:`\beta_f^2`, as if the column
    were :math:`\beta_f` times as wide. Columns are then dropped by :math:`\beta_f^2 \mu_f`, the
    weight of the column's own kernel in the sum.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
        The ranking does not depend on it: elimination always goes to the end.
    step : float, int, list of int or callable, default=0.2
        How many columns a round drops: a fraction of those that *remain* (rounded, at least one),
        a count, a falling list of sizes to pass through, or a function from the number that
        remain to the number to drop.
    fine_below : int or None, default=None
        With fewer remaining columns than this, drop one a round.
    C : float, default=0.1
        Price of a margin violation.
    norm : float, default=2.0
        The p, above 1, of the norm on the weights. Near 1 few columns have all the weight; with a
        large norm all have the same.
    tolerance : float, default=1e-9
        Relative duality gap at which a round is solved. The weights then have at least about four
        correct digits, mostly eight. A duality gap above 1e-6 gives a warning.
    max_iter : int, default=100
        The largest number of support vector machines in a round.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class; "balanced" is :math:`n / (2 n_c)`.
    multiclass : {"ovo", "ova"} or None, default=None
        The treatment of more than two classes. None raises an error. "ovo" ranks for every pair of
        classes, "ova" for every class against the rest, and k-first combines the lists into one:
        the same as ``PairwiseRanker(MKLRFE(...), decomposition="ovo")``, which offers other
        rules. The attributes are then those of :class:`featly.PairwiseRanker`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `prior` are used. Columns to keep are never eliminated before others. A prior may
        be up to 100 times that of other columns.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts ranked columns.

    Attributes
    ----------
    round_ : int array of shape (n_features,)
        The round in which a column was dropped, from 0.
    criterion_ : float array of shape (n_features,)
        :math:`\mu_f` in that round; with a prior :math:`\beta_f^2 \mu_f`.
    scores_ : float array of shape (n_features,)
        `round_` plus the column's share of the sum of all columns' criterion in that round.
    duality_gap_ : float array
        (primal - dual) / primal objective of every round.
    n_iter_ : int
        The largest number of support vector machines in a round.
    interrupted_ : bool
        Whether Ctrl-C ended the elimination early. Columns not yet eliminated are then ordered by
        their last weight.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    SVMRFE : With ``kernel="clinical"``, all columns have the same weight in the kernel.
    featly.learners.MKLClassifier : The machine itself.

    Notes
    -----
    Weights are those of the optimum, by Newton's method: four or five support vector machines in
    the first round and two or three in later ones, which start from the last. For n rows and p
    columns each takes :math:`n^2 p` operations; memory is 12 bytes a cell of the table, sparse
    tables included, and four n x n matrices. Hence more than 20,000 rows are refused;
    ``SVMRFE(kernel="clinical")`` takes them. A table on disk is read whole, and is refused where
    it does not fit in memory: every step asks for the products of all columns, each in the order of
    its values, so that by blocks the file would be read and sorted anew some twenty times a round.

    The similarity of a missing value with itself is 0 here. In the clinical kernel it is 1, and
    with that a machine can learn single rows by heart: of the 24,488 columns of van 't Veer's
    breast cancer data 293 have no value at all, and they would be among the best 354. For the same
    reason a column in which all rows differ, such as names, has importance 0.

    A larger prior never lowers a column: :math:`\beta_f^2 \mu_f` grows at least as fast as
    :math:`\beta_f^{2p / (p + 1)}`, for p the norm. :math:`\mu_f`, the weight of the multiplied
    kernel, may fall.

    References
    ----------
    Paul, J., D'Ambrosio, R. and Dupont, P. (2015), Kernel methods for heterogeneous feature
    selection, *Neurocomputing* 169, 187-195. Kloft, M., Brefeld, U., Sonnenburg, S. and Zien, A.
    (2011), l_p-norm multiple kernel learning, *JMLR* 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from featly import MKLRFE
    >>> rng = np.random.default_rng(0)
    >>> grade = rng.choice(["low", "middle", "high"], 60)
    >>> genes = {f"gene {j}": rng.normal(size=60) for j in range(20)}
    >>> ill = genes["gene 7"] + 2.0 * (grade == "high") > 1
    >>> frame = pl.DataFrame({**genes, "grade": grade})
    >>> rfe = MKLRFE(n_features_to_select=2).fit(frame, ill)
    >>> rfe.get_feature_names_out().tolist()
    ['gene 7', 'grade']
    >>> bool(rfe.duality_gap_.max() < 1e-8)
    True
    """

    C: Annotated[float, Number(above=0)] = 0.1
    norm: Annotated[float, Number(above=1)] = 2.0
    tolerance: Annotated[float, Number(above=0)] = 1e-9
    max_iter: Annotated[int, Whole(at_least=1)] = 100

    _kinds = ("continuous", "ordinal", "categorical")
    _most_prior = MOST_PRIOR
    _uses = ("keep", "prior")
    _missing = True
    _reads_missing = True
    _many_classes = False
    _rough: ClassVar[dict[str, float]] = {"tolerance": 1e-2}

    def _operations(self, n_rows: int, n_features: int) -> float:
        return n_rows * super()._operations(n_rows, n_features)

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, column_kernels)

    def _rank(self, problem: Problem) -> Ranking:
        if problem.source.n_rows > MOST_ROWS:
            raise DataError(
                f"X has {problem.source.n_rows} rows, and MKLRFE, which needs square matrices of "
                f"that size, takes {MOST_ROWS}: draw some of the rows, or use "
                "SVMRFE(kernel='clinical')"
            )
        problem.moments()  # raises an error on infinite values
        y, prior = problem.classes.signs, problem.preference.prior
        C = problem.row_prices(self.C, self.class_weight)
        kernels = problem.once("column kernels", lambda: column_kernels(problem.source))
        widths = None if prior is None else prior**2
        machine = _Machine(kernels, y, C, self.norm, self.tolerance, self.max_iter, widths)
        if problem.kept is not None:
            machine.start = problem.once(f"gram {self.norm}", machine.start_gram)
        with progress_bar(self.verbose, "MKL-RFE", unit="columns") as progress:
            elimination = eliminate(
                machine,
                kernels.n_features,
                step=self.step,
                fine_below=self.fine_below,
                keep=problem.preference.keep,
                progress=progress,
            )
        duality_gaps = np.array(machine.duality_gaps)
        warning = None
        if duality_gaps.max(initial=0.0) > max(1e-6, self.tolerance):
            remedy = "a smaller C," if prior is None else "a smaller C or prior,"
            warning = (
                f"the kernel weights of round {int(duality_gaps.argmax())} were learnt to a "
                f"relative duality gap of {duality_gaps.max():.1e} only: columns of similar weight "
                f"may be out of order; try {remedy} a larger norm or a larger max_iter"
            )
        ranking = Ranking(
            order=elimination.order,
            scores=elimination.round + elimination.share,
            evidence=elimination.evidence,
            extra={"round": elimination.round, "criterion": elimination.criterion},
            attributes={
                "duality_gap": duality_gaps,
                "n_iter": max(machine.svm_counts, default=0),
                "interrupted": elimination.interrupted,
            },
            warning=warning,
            tie_keys=elimination.tie_keys,
        )
        if elimination.interrupted:
            raise stop_with(ranking)
        return ranking


class _Machine:
    """Multiple kernel learning on a shrinking set of columns."""

    def __init__(
        self,
        kernels: ColumnKernels,
        y: np.ndarray,
        C: np.ndarray,
        norm: float,
        tolerance: float,
        max_iter: int,
        widths: np.ndarray | None = None,
    ) -> None:
        self.useful = ~kernels.lonely  # a mask over the remaining columns; only these are learnt
        self.kernels: Kernels = kernels.view(np.flatnonzero(self.useful))
        if widths is not None:
            self.kernels = ScaledKernels(self.kernels, widths[self.useful])
        self.y, self.C = y, C
        self.norm, self.tolerance, self.max_iter = norm, tolerance, max_iter
        self.dual = SVMDual(y, C, n_jobs=kernels.n_jobs)
        self.coef: np.ndarray | None = None
        self.start: np.ndarray | None = None  # what `start_gram` returns, if it is at hand
        self.duality_gaps: list[float] = []
        self.svm_counts: list[int] = []

    def start_gram(self) -> np.ndarray | None:
        """Return the sum of all kernels with equal weights, which no label enters."""
        return equal_gram(self.kernels, self.norm) if self.kernels.n_features else None

    def criterion(self) -> np.ndarray:
        importances = np.zeros(len(self.useful))
        if self.kernels.n_features == 0:
            self.duality_gaps.append(0.0)
            self.svm_counts.append(0)
            return importances
        solution = solve_mkl(
            self.kernels,
            self.y,
            self.C,
            norm=self.norm,
            tolerance=self.tolerance,
            max_iter=self.max_iter,
            coef=self.coef,
            dual=self.dual,
            start=self.start,
        )
        self.start = None
        self.coef = solution.coef
        self.duality_gaps.append(solution.duality_gap)
        self.svm_counts.append(solution.n_iter)
        importances[self.useful] = solution.importances
        if isinstance(self.kernels, ScaledKernels):
            importances[self.useful] *= self.kernels.factors
        return importances

    def drop(self, positions: np.ndarray) -> None:
        stays = np.ones(len(self.useful), bool)
        stays[positions] = False
        self.kernels = self.kernels.view(np.flatnonzero(stays[self.useful]))
        self.useful = self.useful[stays]
