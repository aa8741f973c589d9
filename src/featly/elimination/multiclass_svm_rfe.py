r"""Backward elimination by the weights of a support vector machine for many classes.

.. math::

    \min_W \tfrac12 \sum_m \|w_m\|^2 + C \sum_i \max_m (1[m \ne y_i] + w_m x_i - w_{y_i} x_i);
    \qquad \text{drop the } j \text{ with the smallest } \sum_m w_{mj}^2

Zhou, X. and Tuck, D. P. (2007), MSVM-RFE: extensions of SVM-RFE for multiclass gene selection on
DNA microarray data, *Bioinformatics* 23, 1106-1114.
"""

from typing import Annotated

import numpy as np

from featly.base import Problem, Questions, Ranker, Ranking, Weighted
from featly.basics.params import Number, OneOf
from featly.basics.progress import progress_bar
from featly.core.sources import unit_scale
from featly.core.sources.questions import forms, gram, moments
from featly.elimination.multiclass_svm import BinaryMachines, JointMachine, MulticlassMachine
from featly.elimination.rfe import Scheduled, build_elimination_ranking, eliminate
from featly.problem.parameters import ClassWeighted, Streaming, Verbose

__all__ = ["MulticlassSVMRFE"]

# formulations and their default importance
FORMULATIONS = {
    "crammer-singer": "squared", "weston-watkins": "squared", "ovo": "abs", "ova": "abs",
}  # fmt: skip
IMPORTANCES = ("squared", "abs")
MOST_PRIOR = 100.0  # squared, it is in the Gram matrix; above, the solver loses the other columns


class MulticlassSVMRFE(Verbose, Streaming, ClassWeighted, Scheduled, Weighted, Ranker):
    r"""Rank columns for many classes by recursive elimination with a multiclass SVM.

    Each round fits weights :math:`w_m` of all classes to the remaining columns and drops columns of
    the smallest importance, which is the sum of their weights over the classes. There are four
    machines. Crammer and Singer's has, for every row, a loss for the class that comes closest to
    beating its own:

    .. math:: \min_W \tfrac12 \sum_m \|w_m\|^2
              + C \sum_i \max_m (1[m \ne y_i] + w_m x_i - w_{y_i} x_i),

    Weston and Watkins' has one for every class that comes too close:

    .. math:: \min_W \tfrac12 \sum_m \|w_m\|^2
              + C \sum_i \sum_{m \ne y_i} \max(0, 1 - (w_{y_i} - w_m) x_i),

    and ``"ovo"`` (one versus one) fits the binary machine of :class:`SVMRFE` to every pair of
    classes, ``"ova"`` (one versus all) to every class against all others. All pairs or classes have
    the same columns, standardised over all rows, and drop the same ones.
    A categorical column stays one feature; its weight is the norm of those of its levels. The
    machines are solved to machine precision; `duality_gap_` shows it.

    Pairs are averaged *inside* the elimination: no pair has a ranking of its own. A column that
    only tells one class from the rest is dropped early, because its average is low. Pairs of
    classes that are hard to tell apart have the largest weights and outvote the others (Izetta et
    al. 2017). :class:`PairwiseRanker` eliminates for every pair by itself and combines the lists.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
        The ranking does not depend on it: elimination always goes to the end.
    formulation : {"crammer-singer", "weston-watkins", "ovo", "ova"}, default="crammer-singer"
        The machine. For two classes the first two are the same: the binary machine with 2C and a
        penalised bias, :math:`w_1 = -w_2`.
    importance : {"squared", "abs"} or None, default=None
        "squared" sums :math:`w_{mj}^2` over the classes or pairs, as Zhou and Tuck do; "abs" is
        the mean of :math:`|w_{mj}|`, which lets one large weight count for less. None is "squared"
        for the joint machines, and "abs" for "ovo" and "ova", the "Average" of Izetta et al.
    step : float, int, list of int or callable, default=0.2
        How many columns a round drops: a fraction of those that *remain* (rounded, at least one),
        a count, a falling list of sizes to pass through, or a function from the number that remain
        to the number to drop.
    fine_below : int or None, default=None
        With fewer remaining columns than this, drop one a round. ``step=0.1, fine_below=20`` is the
        schedule of Izetta, Verdes and Granitto (2017).
    C : float, default=1.0
        Price of a margin violation.
    class_weight : dict, "balanced" or None, default=None
        Factors on C by class; "balanced" is :math:`n / (k n_c)` for k classes.
    standardize : bool, default=True
        Whether every column gets mean 0 and total variance 1 first. Without it, columns are only
        centred, and the ranking depends on their units.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `prior` are used. Columns to keep are never eliminated before others. A prior may
        be up to 100 times that of other columns: the machine sees the column that many times as
        wide, and it is dropped by its weight in the table's own units.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts ranked columns.

    Attributes
    ----------
    round_ : int array of shape (n_features,)
        The round in which a column was dropped, from 0.
    criterion_ : float array of shape (n_features,)
        Its importance in that round.
    scores_ : float array of shape (n_features,)
        `round_` plus the column's share of the importance in that round.
    duality_gap_ : float array
        (primal - dual) / primal objective of the SVM of every round; of several pairs the largest.
    interrupted_ : bool
        Whether Ctrl-C ended the elimination early. Columns not yet eliminated are then ordered by
        their last importance.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    PairwiseRanker : One elimination for every pair of classes, then one list from all.
    SVMRFE : The same for two classes, also with clinical and Gaussian kernels.

    Notes
    -----
    The bias of the joint machines is the weight of a column of ones, penalised like any other, as
    in liblinear; it is no feature. On centred columns this changes little, and the dual variables
    of different rows are then connected by the weights alone, so a step can solve for all variables
    of a row at once. The pairs have the unpenalised bias of :class:`SVMRFE`, and with two classes
    the ranking is that of :class:`SVMRFE`.

    With three or more classes that overlap, Crammer and Singer's optimum may be W = 0: any other
    weights help some rows and hurt more. The remaining columns then tie at 0 and are ordered by
    position. Weston and Watkins' machine and the pairs have weights there.

    For n rows, p columns and k classes, the Gram matrix costs :math:`n^2 p` operations and taking
    columns out of it as much again; a round costs :math:`k n p` for the weights and some 20 to
    100 Newton steps of :math:`d^3 / 3`, where d counts the dual variables between their bounds:
    about one or two for each row near a margin, and no more than there are weights,
    :math:`(k - 1)(p + 1)`. With more rows than weights no :math:`n \times n` matrix is made. Pairs
    cost as much as :class:`SVMRFE` on their rows. The order is that of a loop around liblinear's
    Crammer-Singer machine at a tolerance of 1e-8; at the usual 1e-4 one position in fourteen
    differs (200 rows, 5,000 columns, six classes).

    References
    ----------
    Zhou, X. and Tuck, D. P. (2007), MSVM-RFE: extensions of SVM-RFE for multiclass gene selection
    on DNA microarray data, *Bioinformatics* 23, 1106-1114. Crammer, K. and Singer, Y. (2001), On
    the algorithmic implementation of multiclass kernel-based vector machines, *Journal of Machine
    Learning Research* 2, 265-292. Weston, J. and Watkins, C. (1999), Support vector machines for
    multi-class pattern recognition, *ESANN*, 219-224. Keerthi, S. S., Sundararajan, S., Chang,
    K.-W., Hsieh, C.-J. and Lin, C.-J. (2008), A sequential dual method for large scale multi-class
    linear SVMs, *KDD*, 408-416. Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved
    multiclass feature selection via list combination, *Expert Systems with Applications* 88,
    205-216.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import MulticlassSVMRFE
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b", "c"], 20)
    >>> X = rng.normal(size=(60, 100))
    >>> X[y == "b", 4] += 3
    >>> X[y == "c", 9] += 3
    >>> rfe = MulticlassSVMRFE(n_features_to_select=2).fit(X, y)
    >>> sorted(rfe.order_[:2].tolist())
    [4, 9]
    >>> bool(rfe.duality_gap_.max() < 1e-8)
    True

    With the average weight over all pairs of classes:

    >>> rfe = MulticlassSVMRFE(formulation="ovo", step=0.1, fine_below=20).fit(X, y)
    >>> sorted(rfe.order_[:2].tolist())
    [4, 9]
    """

    formulation: Annotated[str, OneOf(*FORMULATIONS)] = "crammer-singer"
    importance: Annotated[str | None, OneOf(*IMPORTANCES)] = None
    C: Annotated[float, Number(above=0)] = 1.0
    standardize: bool = True

    _kinds = ("continuous", "ordinal", "categorical")
    _most_prior = MOST_PRIOR
    _uses = ("keep", "prior")

    def _is_scale_dependent(self) -> bool:
        return not self.standardize

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, gram, forms)

    def _rank(self, problem: Problem) -> Ranking:
        machine, has_prior = self._machine(problem)
        with progress_bar(self.verbose, "multiclass SVM-RFE", unit="columns") as progress:
            elimination = eliminate(
                machine,
                problem.source.n_features,
                step=self.step,
                fine_below=self.fine_below,
                keep=problem.preference.keep,
                progress=progress,
            )
        remedy = "try a smaller C" if self.standardize else "try standardize=True"
        remedy += " or a smaller prior" if has_prior else ""
        return build_elimination_ranking(elimination, np.array(machine.duality_gaps), remedy)

    def _machine(self, problem: Problem) -> tuple[MulticlassMachine, bool]:
        """Return the machine on all columns, and whether there is a prior."""
        classes, prior = problem.classes, problem.preference.prior
        C = problem.row_prices(self.C, self.class_weight)
        moments = problem.moments(complete_for=type(self).__name__)
        center, variance = problem.centers_and_variances(moments)
        scale = unit_scale(variance) if self.standardize else np.ones(len(variance))
        widths = None
        if prior is not None:
            scale, widths = scale * prior, prior**2
        source = problem.source.scaled(center, scale)
        spread: np.ndarray | float = 1.0 if self.standardize else variance
        importance = self.importance or FORMULATIONS[self.formulation]
        task = (source, classes.codes, classes.count, C)
        criterion_options = (spread, widths, importance == "squared")
        if self.formulation in ("ovo", "ova"):
            against_rest = self.formulation == "ova"
            return BinaryMachines(*task, against_rest, *criterion_options), prior is not None
        box = self.formulation == "weston-watkins"
        return JointMachine(*task, box, *criterion_options), prior is not None
