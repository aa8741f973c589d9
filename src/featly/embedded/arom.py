r"""Zero-norm minimisation with linear machines and a prior on the columns.

.. math::

    \min_{w, b} \sum_f \frac{1}{\beta_f} \ln(|w_f| + \epsilon)
    \quad\text{s.t.}\quad y_i (w \cdot x_i + b) \ge 1

Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with regularized linear
models, *ICML*, 409-416.
"""

from typing import Annotated

import numpy as np

from featly.base import Multiclass, Problem, Questions, Ranker, Ranking, stop_with
from featly.basics.errors import DataError
from featly.basics.params import Number, OneOf, Whole
from featly.basics.progress import progress_bar
from featly.core.ranking.ordering import round_scores
from featly.core.sources import centers_and_variances, unit_scale
from featly.core.sources.questions import forms, gram, moments
from featly.core.svm.arom import Arom, NotSeparableError, arom
from featly.core.svm.l1_margin import l1_margin
from featly.problem.parameters import OnDevice, Streaming, Verbose

__all__ = ["AROM"]

POOR_DUALITY_GAP = 1e-6


class AROM(Verbose, Streaming, OnDevice, Multiclass, Ranker):
    r"""Rank columns by a linear machine whose weights rescale its inputs until few are left.

    The number of columns that a separating hyperplane needs, :math:`\|w\|_0`, cannot be minimised
    directly. The sum of the logarithms of the weights can, step by step: a margin machine is
    trained, every column is multiplied by its weight, and the machine is trained again. Weights of
    useful columns converge; the others are squared in every iteration. A weight below 1e-5 of the
    largest has vanished, because the machine cannot resolve its square. Columns that remain at the
    end come first, by their weights. Those that vanished follow, the last one first.

    The schema's `prior`, :math:`\beta_f \ge 1`, makes the weights of columns cheaper in every
    iteration:

    .. math::

        w_{k+1} = w' * w_k * \beta, \qquad w' = \arg\min \|w'\|
        \quad\text{s.t.}\quad y_i (w' \cdot (x_i * w_k * \beta) + b) \ge 1, \qquad w_0 = 1

    It is no more than a bias: a column with a prior that does not help to separate the classes
    vanishes. A prior that is the same for all columns changes nothing.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    norm : {1, 2}, default=2
        The norm of the machine. 2 is a support vector machine and ranks all columns. 1 is a linear
        program, which follows the objective exactly. After its first step about as many columns as
        there are rows have a weight at most, and beyond that number its ranking says little.
    C : float, default=inf
        Price of a margin violation. Infinity is a hard margin: the classes must be separable, as
        they are with more columns than rows. A finite C weighs all violations against all
        logarithms of weights: with p columns, it should be well above p / n, or the machine soon
        prefers no columns at all, and gives a warning.
    standardize : bool, default=True
        Whether every column gets mean 0 and total variance 1 first. Without it, the ranking
        depends on the units of the columns.
    max_iter : int, default=100
        The largest number of machines to train.
    tol : float, default=1e-8
        Stop when no weight changes by more than this share of the largest.
    multiclass : {"ovo", "ova"} or None, default=None
        The treatment of more than two classes. None raises an error. "ovo" ranks for every pair of
        classes, "ova" for every class against the rest, and k-first combines the lists into one:
        the same as ``PairwiseRanker(AROM(...), decomposition="ovo")``, which offers other
        rules. The attributes are then those of :class:`featly.PairwiseRanker`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `prior` are used.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts iterations; the total is `max_iter`.

    Attributes
    ----------
    iterations_ : int array of shape (n_features,)
        How many iterations a column survived; `n_iter_` for those that remain.
    log_weight_ : float array of shape (n_features,)
        :math:`\ln |w_f|` in the last iteration of the column, for a categorical column of the norm
        of the weights of its levels; -inf if the weight was exactly 0.
    scores_ : float array of shape (n_features,)
        `iterations_` plus :math:`1 / (1 + \ln(\max_g |w_g| / |w_f|))` in its last iteration. For
        norm 1, if the weight is exactly 0, plus half of :math:`|z_f x_f \cdot v| \le 1`, with v the
        solution of the dual, which is how near the column was to a weight. If no column has a
        weight at all, half of the difference of the class means, as a share of the largest.
    n_iter_ : int
        Number of machines that were trained, not counting a last one that was no better.
    path_ : int array of shape (n_iter,)
        Number of remaining columns after every iteration.
    objective_ : float array of shape (n_iter,)
        :math:`\sum_f \ln(|w_f| + \epsilon) / \beta_f` after every iteration,
        :math:`\epsilon = 2^{-52}`; with a finite C, plus C times the violations of the margin.
        For norm 1 it never rises.
    duality_gap_ : float array of shape (n_iter,)
        (primal - dual) / primal objective of the machine of every iteration.
    converged_ : bool
        Whether the weights converged before `max_iter`.
    interrupted_ : bool
        Whether Ctrl-C ended the iterations early.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    SVMRFE : Drops columns instead of shrinking them.
    Schema.prior_from : A prior from the ranking of another table.
    featly.study.prior_report : The effect of a prior.

    Notes
    -----
    An iteration costs :math:`n^2 p` operations for the p remaining columns, and a support vector
    machine on n rows. On 77 rows and 7,129 columns some 13 iterations take 0.04 seconds on two
    cores. With many more rows than columns no :math:`n \times n` matrix is made.

    All levels of a categorical column have the same width: it is one feature, whose weight is the
    norm of those of its levels (the sum of their absolute values for norm 1).

    The prior may be of any size. From 1e8 times that of others on, a column has no price, and keeps
    its weight as long as the machine gives it one. If a prior makes a column so wide that the
    others cannot be computed beside it, the prior is lowered until they can; the price of the
    column is negligible either way.

    References
    ----------
    Weston, J., Elisseeff, A., Schölkopf, B. and Tipping, M. (2003), Use of the zero-norm with
    linear models and kernel methods, *JMLR* 3, 1439-1461. Helleputte, T. and Dupont, P. (2009),
    Partially supervised feature selection with regularized linear models, *ICML*, 409-416.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import AROM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 500))
    >>> y = np.where(X[:, 7] + X[:, 11] > 0, "ill", "well")
    >>> plain = AROM(n_features_to_select=5).fit(X, y)
    >>> plain.order_[:2].tolist(), plain.path_[-1].item()
    ([7, 11], 4)

    A prior on a third column raises it:

    >>> with_prior = AROM(schema={"prior": {"x3": 10}}).fit(X, y)
    >>> plain.ranking_[3].item(), with_prior.ranking_[3].item()
    (83, 4)
    """

    norm: Annotated[int, OneOf(1, 2)] = 2
    C: Annotated[float, Number(above=0, finite=False)] = np.inf
    standardize: bool = True
    max_iter: Annotated[int, Whole(at_least=1)] = 100
    tol: Annotated[float, Number(above=0, finite=False)] = 1e-8

    _kinds = ("continuous", "ordinal", "categorical")
    _many_classes = False
    _uses = ("keep", "prior")
    _most_prior = np.inf

    def _is_scale_dependent(self) -> bool:
        return not self.standardize

    def _operations(self, n_rows: int, n_features: int) -> float:
        return n_rows * super()._operations(n_rows, n_features)

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, forms, l1_margin if self.norm == 1 else gram)

    def _rank(self, problem: Problem) -> Ranking:
        name = type(self).__name__
        prior = problem.preference.prior
        moments = problem.moments(complete_for=name)
        center, variance = centers_and_variances(problem.source, moments)
        scale = unit_scale(variance) if self.standardize else np.ones(len(variance))
        try:
            with progress_bar(self.verbose, name, unit="iterations") as progress:
                solution = arom(
                    problem.source.scaled(center, scale),
                    problem.classes.signs,
                    float(self.C),
                    None if prior is None else np.log(prior),
                    variance=1.0 if self.standardize else variance,
                    norm=int(self.norm),
                    max_iter=int(self.max_iter),
                    tol=float(self.tol),
                    progress=progress,
                )
        except NotSeparableError:
            raise DataError(
                f"no hyperplane separates the classes by these {problem.source.n_features} "
                f"columns, and C=inf allows no row on the wrong side: give a finite C, such as "
                f"{name}(C=1){'' if self.standardize else ', or standardize=True'}"
            ) from None
        order, scores = _order_columns(solution)
        ranking = Ranking(
            order=problem.preference.put_keep_first(order),
            scores=scores,
            evidence=scores > 0,
            extra={"iterations": solution.survived, "log_weight": solution.log_weights},
            attributes={
                "n_iter": len(solution.path),
                "path": np.array(solution.path, np.int64),
                "objective": np.array(solution.objective),
                "duality_gap": np.array(solution.duality_gaps),
                "converged": solution.converged,
                "interrupted": solution.interrupted,
            },
            warning=self._convergence_warning(solution),
        )
        if solution.interrupted:
            raise stop_with(ranking)
        return ranking

    def _convergence_warning(self, solution: Arom) -> str | None:
        """Return a warning if the iterations did not converge, else None."""
        worst = max(solution.duality_gaps, default=0.0)
        if solution.collapsed and not solution.path:
            return (
                f"at C={self.C:g} the machine gives every column the weight 0: columns are ranked "
                "by the differences of the class means; a larger C may help"
            )
        if solution.collapsed:
            return (
                f"at C={self.C:g} no column is worth its price after {len(solution.path)} "
                "iterations, whose weights are ranked: give a larger C"
            )
        if worst > POOR_DUALITY_GAP:
            return (
                f"the machine of iteration {int(np.argmax(solution.duality_gaps)) + 1} was solved "
                f"to a relative duality gap of {worst:.1e} only: columns of similar weight may be "
                "out of order"
            )
        if solution.stuck:
            return (
                f"rounding ended the iterations after {len(solution.path)}, whose weights are "
                "ranked; a finite C may help"
            )
        if not solution.converged and not solution.interrupted and solution.path:
            return (
                f"weights still change after {len(solution.path)} iterations: give a larger "
                f"max_iter (it is {self.max_iter}) or tol"
            )
        return None


def _order_columns(solution: Arom) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns, best first, and their scores."""
    if not solution.path:
        scores = solution.tightness / 2
        return np.lexsort((-round_scores(scores),)), scores
    tops = np.array(solution.log_tops)[np.minimum(solution.survived, len(solution.path) - 1)]
    has_weight = solution.log_weights > -np.inf
    below = np.where(has_weight, tops - np.where(has_weight, solution.log_weights, 0.0), 0.0)
    share = np.where(has_weight, 1 / (1 + below), solution.tightness / 2)
    return np.lexsort((-round_scores(share), -solution.survived)), solution.survived + share
