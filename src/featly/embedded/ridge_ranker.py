r"""The weights of ridge regression.

.. math::

    J(f) = \sqrt{\sum_q v_q' K_f v_q}, \qquad v_q = \Bigl( \sum_f K_f + \alpha I \Bigr)^{-1} h_q

The weights of column f in :math:`\min_w \lVert h_q - X w \rVert^2 + \alpha \lVert w \rVert^2` are
:math:`X_f' v_q`, so that J is their norm over the outputs q, and over the levels of a categorical
column. Hoerl, A. E. and Kennard, R. W. (1970), Ridge regression: biased estimation for
nonorthogonal problems, *Technometrics* 12, 55-67.
"""

from typing import Annotated

import numpy as np

from featly.base import Problem, Questions, Ranker, Ranking, rank_by_merit
from featly.basics.errors import DataError
from featly.basics.params import Number
from featly.basics.typing import FloatArray
from featly.core.sources import Source, unit_scale
from featly.core.sources.questions import forms, gram, moments
from featly.problem.parameters import Streaming

__all__ = ["RidgeRanker", "dual_coefficients"]

MOST_SQUARE = 20_000  # rows, or atoms, of a square matrix
FEW_ROWS = 2048  # up to which a matrix of rows by rows is quick
ROUNDING = 1e-11  # cosines between a column and the coefficients of the rows below this are zero


class RidgeRanker(Streaming, Ranker):
    r"""Rank columns by the size of their weights in one ridge regression on all of them.

    Unlike a test of single columns, a weight takes account of all other columns: two that repeat
    each other share it. Every column has mean 0 and variance 1, a categorical one as a block of
    indicators with total variance 1. Classes are regressed by an indicator of each, numbers as
    they are, survival times by martingale residuals.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    alpha : float, default=1.0
        Penalty of the squared weights, as in scikit-learn's Ridge.
        The larger, the more a weight is that of its column alone: in the limit columns are in the
        order of their correlations with the target.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used: the score of a column is multiplied by its prior.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        J; 0 for a constant column. With a prior, also a column of ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_` times the prior, if there is one.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    SVMRFE : Weights of a margin machine, which drops the worst columns round by round.
    PerceptronRanker : Weights of a perceptron.

    Notes
    -----
    One system of equations of the size of the rows, or of the columns if these are fewer, solved
    once: :math:`n^2 p + n^3` operations for n rows and p columns. The weights are those of
    scikit-learn's Ridge.

    References
    ----------
    Hoerl, A. E. and Kennard, R. W. (1970), Ridge regression: biased estimation for nonorthogonal
    problems, *Technometrics* 12, 55-67.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import RidgeRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 30))
    >>> y = np.where(X[:, 7] + X[:, 11] + 0.3 * rng.normal(size=60) > 0, "ill", "well")
    >>> sorted(RidgeRanker(n_features_to_select=2).fit(X, y).order_[:2].tolist())
    [7, 11]
    """

    alpha: Annotated[float, Number(above=0)] = 1.0

    _kinds = ("continuous", "ordinal", "categorical")
    _targets = ("classes", "numbers", "survival")
    _uses = ("keep", "prior", "costs")

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, gram, forms)

    def _rank(self, problem: Problem) -> Ranking:
        name = type(self).__name__
        column_moments = problem.moments(complete_for=name)
        center, variance = problem.centers_and_variances(column_moments)
        source = problem.source.scaled(center, unit_scale(variance))
        if min(source.n_rows, source.n_atoms) > MOST_SQUARE:
            raise DataError(
                f"X has {source.n_rows} rows and {source.n_atoms} columns, and {name}, which "
                f"solves a system of the smaller size, takes {MOST_SQUARE}: draw some of the rows"
            )
        squares = np.zeros(source.n_features)
        for v in dual_coefficients(source, problem.target.influence(), float(self.alpha)).T:
            of_output = forms(source, np.ascontiguousarray(v))
            of_output[of_output <= ROUNDING**2 * float(v @ v) * source.n_rows] = 0.0
            squares += of_output
        return rank_by_merit(problem.preference, np.sqrt(squares), shown=True)


def dual_coefficients(source: Source, h: FloatArray, alpha: float) -> FloatArray:
    """Return ``(K + alpha I)^-1 h``, where K is the sum of the linear kernels of all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.sources import DenseSource
    >>> dual_coefficients(DenseSource(np.array([[1.0], [0.0]])), np.array([[2.0], [3.0]]), 1.0)
    array([[1.],
           [3.]])
    """
    n, n_atoms = source.n_rows, source.n_atoms
    if n <= max(FEW_ROWS, n_atoms):
        K: FloatArray = gram(source)
        K[np.diag_indices(n)] += alpha
        return np.asarray(np.linalg.solve(K, h), np.float64)
    columns, atoms = np.empty((n_atoms, n)), source.atoms
    for low, high in source.blocks():
        columns[atoms[low] : atoms[high]] = source.load(np.arange(low, high))
    system = columns @ columns.T
    system[np.diag_indices(n_atoms)] += alpha
    return np.asarray((h - columns.T @ np.linalg.solve(system, columns @ h)) / alpha)
