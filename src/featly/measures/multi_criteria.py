r"""Choices among methods or models by several criteria.

.. math::

    C_i = \frac{D_i^-}{D_i^+ + D_i^-}, \qquad
    D_i^\pm = \sqrt{\textstyle\sum_j (v_{ij} - v_j^\pm)^2}, \qquad
    v_{ij} = w_j x_{ij} / \|x_{\cdot j}\|

Hwang, C.-L. and Yoon, K. (1981), *Multiple Attribute Decision Making*, Springer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.measures.corrected_t import as_numbers
from featly.measures.friedman import read_scores
from featly.measures.kruskal_tukey import KruskalTukey, as_samples, kruskal_tukey
from featly.measures.win_counts import methods_beaten, win_proportions

__all__ = [
    "Simplest",
    "Topsis",
    "Wins",
    "merge_selections",
    "pareto_front",
    "simplest_not_worse",
    "stability_performance",
    "topsis",
    "wins",
]


DISTANCES = ("euclidean", "squared")
NORMALISATIONS = ("vector", "standard")
MERGING_RULES = ("union", "intersection", "best")
DECIMALS = 12  # closeness is compared at so many decimals: a change of units moves it by less


@dataclass(frozen=True, eq=False, repr=False)
class Wins:
    """Result of :func:`wins`.

    Attributes
    ----------
    proportion : float array of shape (n_methods, n_methods)
        Share of the runs in which the method of the row is strictly better than that of the
        column.
    score : int array of shape (n_methods,)
        How many others each method beats.
    names : tuple of str
    n_runs, n_dropped : int
        Runs used, and runs left out because a value was NaN.
    """

    proportion: FloatArray
    score: IntArray
    names: tuple[str, ...]
    n_runs: int
    n_dropped: int

    def __repr__(self) -> str:
        return f"Wins({len(self.names)} methods, {self.n_runs} runs, score={self.score.tolist()})"

    def summary(self) -> str:
        """Return as text the number of methods each one beats, best first."""
        dropped = f" ({self.n_dropped} dropped)" if self.n_dropped else ""
        order = np.argsort(-self.score, kind="stable")
        lines = [f"Methods beaten, of {len(self.names) - 1}, over {self.n_runs} runs{dropped}"]
        return "\n".join(lines + [f"{self.score[i]:4d}  {self.names[i]}" for i in order])


def wins(
    scores: npt.ArrayLike, names: Sequence[str] | None = None, greater_is_better: bool = True
) -> Wins:
    r"""Count for every method how many others it beats more often than it loses to them.

    .. math::

        P_{ab} = \frac{1}{R} \sum_r [s_{ra} > s_{rb}], \qquad
        \text{score}_a = \sum_b [P_{ab} > P_{ba}]

    Runs in which two methods are equal count for neither; two methods with as many wins each do
    not beat one another.

    Parameters
    ----------
    scores : array of shape (n_runs, n_methods)
        A run with NaN is left out.
    names : sequence of str, default=None
        One name a method; None numbers the methods.
    greater_is_better : bool, default=True
        False for errors.

    Returns
    -------
    Wins

    See Also
    --------
    featly.measures.win_counts.win_proportions : For runs that some methods lack, and for equal
        weights of datasets.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications*, doi:10.1016/j.eswa.2017.06.043.

    Examples
    --------
    >>> from featly.measures.multi_criteria import wins
    >>> error = [[0.1, 0.2, 0.2], [0.2, 0.3, 0.1], [0.1, 0.3, 0.2]]
    >>> result = wins(error, names=["K-First", "Best", "Schulze"], greater_is_better=False)
    >>> result.score.tolist(), result.proportion[0].round(2).tolist()
    ([2, 0, 1], [0.0, 1.0, 0.67])
    """
    table, labels, n_dropped = read_scores(scores, names, least=1)
    errors = -table.T if greater_is_better else table.T
    return Wins(
        proportion=win_proportions(errors),
        score=methods_beaten(errors),
        names=labels,
        n_runs=len(table),
        n_dropped=n_dropped,
    )


def stability_performance(stability: npt.ArrayLike, bcr: npt.ArrayLike) -> float | FloatArray:
    r"""Combine stability and performance into one number, their geometric mean.

    .. math::

        \sqrt{\max(0, \text{stability}) \cdot \text{BCR}}

    A stability below 0 is worse than chance, and counts as 0.

    Parameters
    ----------
    stability : float or array
        From -1 to 1, as Kuncheva's index.
    bcr : float or array
        Balanced classification rate, from 0 to 1. NaN in either gives NaN.

    Returns
    -------
    float, or float array if an argument is an array

    References
    ----------
    Helleputte, T. and Dupont, P. (2009), Partially supervised feature selection with regularized
    linear models, *ICML*, section 4.4.

    Examples
    --------
    >>> from featly.measures.multi_criteria import stability_performance
    >>> round(stability_performance(0.64, 0.81), 4)
    0.72
    >>> stability_performance([-0.1, 0.25], [0.9, 1.0]).tolist()
    [0.0, 0.5]
    """
    first, second = as_numbers("stability", stability), as_numbers("bcr", bcr)
    if (np.abs(first) > 1).any():
        raise DataError("stability is outside -1 to 1: give an index such as Kuncheva's")
    if ((second < 0) | (second > 1)).any():
        raise DataError("bcr is outside 0 to 1: give a rate, not a percentage")
    performance = np.sqrt(np.maximum(first, 0.0) * second)
    return performance if performance.ndim else float(performance)


@dataclass(frozen=True, eq=False, repr=False)
class Topsis:
    """Result of :func:`topsis`.

    Attributes
    ----------
    closeness : float array of shape (n_alternatives,)
        From 0, the anti-ideal, to 1, the ideal.
    order : int array of shape (n_alternatives,)
        Positions, best first; ties by position.
    """

    closeness: FloatArray
    order: IntArray

    def __repr__(self) -> str:
        best = int(self.order[0])
        return (
            f"Topsis({len(self.order)} alternatives, best {best} with closeness "
            f"{self.closeness[best]:.4f})"
        )

    def summary(self) -> str:
        """Return as text the closeness of every alternative, best first."""
        return "\n".join(f"{self.closeness[i]:.4f}  alternative {i}" for i in self.order)


def topsis(
    matrix: npt.ArrayLike,
    weights: npt.ArrayLike,
    benefit: bool | Sequence[bool] | BoolArray,
    distance: str = "euclidean",
    normalise: str = "vector",
) -> Topsis:
    r"""Order alternatives by how near they are to the ideal and how far from the anti-ideal.

    .. math::

        C_i = \frac{D_i^-}{D_i^+ + D_i^-}, \qquad
        D_i^\pm = \sqrt{\textstyle\sum_j (v_{ij} - v_j^\pm)^2}

    The ideal :math:`v^+` has the best value of every criterion, the anti-ideal :math:`v^-` the
    worst. A criterion in which all alternatives are equal is left out. If no criterion is left,
    closeness is 1/2.

    Parameters
    ----------
    matrix : array of shape (n_alternatives, n_criteria)
    weights : array of shape (n_criteria,)
        Not negative; only their proportions count.
    benefit : bool, or sequence of bool, one a criterion
        True where larger is better, False where smaller is.
    distance : {"euclidean", "squared"}, default="euclidean"
        "squared" leaves out the root, which may change the order.
    normalise : {"vector", "standard"}, default="vector"
        Divide every criterion by its Euclidean norm, or by its standard deviation.

    Returns
    -------
    Topsis

    Notes
    -----
    The vector norm depends on the zero of a scale: accuracies near 90% hardly differ after it, the
    corresponding errors do. Tables 5.15 and 5.16 of Bolón-Canedo, V., Sánchez-Maroño, N. and
    Alonso-Betanzos, A. (2015), *Feature Selection for High-Dimensional Data*, are reproduced to all
    four digits with errors in place of rates, ``distance="squared"`` and ``normalise="vector"``.

    References
    ----------
    Hwang, C.-L. and Yoon, K. (1981), *Multiple Attribute Decision Making*, Springer. Olson, D. L.
    (2004), Comparison of weights in TOPSIS models, *Mathematical and Computer Modelling* 40,
    721-727.

    Examples
    --------
    >>> from featly.measures.multi_criteria import topsis
    >>> accuracy_and_seconds = [[0.95, 120.0], [0.93, 2.0], [0.70, 1.0]]
    >>> result = topsis(accuracy_and_seconds, weights=[1, 1], benefit=[True, False])
    >>> result.order.tolist(), result.closeness.round(3).tolist()
    ([1, 2, 0], [0.144, 0.984, 0.856])
    """
    x, larger = _read_criteria(matrix, benefit)
    w = as_numbers("weights", weights)
    if w.shape != (x.shape[1],) or not (w >= 0).all() or not 0 < w.sum() < np.inf:
        raise ParameterError(
            f"weights={w.tolist()}: give {x.shape[1]} numbers of at least 0, not all 0, one a "
            "criterion"
        )
    _check_one_of("distance", distance, DISTANCES)
    _check_one_of("normalise", normalise, NORMALISATIONS)
    if np.isinf(x).any():
        raise DataError("matrix holds infinite values, which have no distance: replace them")
    varied = (x != x[0]).any(axis=0) & (w > 0)
    if not varied.any():
        half = np.full(len(x), 0.5)
        return Topsis(closeness=half, order=np.arange(len(x)))
    x, w, larger = x[:, varied], w[varied] / w[varied].sum(), larger[varied]
    x = x / np.abs(x).max(axis=0)  # so that no square overflows
    scale = np.linalg.norm(x, axis=0) if normalise == "vector" else x.std(axis=0)
    v = np.where(larger, 1, -1) * w * x / scale
    to_ideal = ((v - v.max(axis=0)) ** 2).sum(axis=1)
    to_worst = ((v - v.min(axis=0)) ** 2).sum(axis=1)
    if distance == "euclidean":
        to_ideal, to_worst = np.sqrt(to_ideal), np.sqrt(to_worst)
    closeness = to_worst / (to_ideal + to_worst)
    return Topsis(closeness, np.argsort(-closeness.round(DECIMALS), kind="stable"))


def pareto_front(matrix: npt.ArrayLike, benefit: bool | Sequence[bool] | BoolArray) -> BoolArray:
    """Find the alternatives that no other beats.

    An alternative is beaten where another is at least as good in every criterion and better in
    one. Equal alternatives do not beat one another: all stay, or none.

    Parameters
    ----------
    matrix : array of shape (n_alternatives, n_criteria)
    benefit : bool, or sequence of bool, one a criterion
        True where larger is better, False where smaller is.

    Returns
    -------
    bool array of shape (n_alternatives,)
        True on the front.

    References
    ----------
    Kung, H. T., Luccio, F. and Preparata, F. P. (1975), On finding the maxima of a set of vectors,
    *Journal of the ACM* 22, 469-476.

    Examples
    --------
    >>> from featly.measures.multi_criteria import pareto_front
    >>> pareto_front([[0.95, 120.0], [0.93, 2.0], [0.92, 3.0]], benefit=[True, False]).tolist()
    [True, True, False]
    """
    x, larger = _read_criteria(matrix, benefit)
    costs = np.where(larger, -x, x)
    # unique rows come sorted, so that a row that beats another stands before it, and is at most as
    # large in the first column: only the other columns are compared, and only with the front
    rows, inverse = np.unique(costs, axis=0, return_inverse=True)
    front = np.empty((len(rows), rows.shape[1] - 1))
    is_front = np.zeros(len(rows), dtype=bool)
    size = 0
    for i, row in enumerate(rows[:, 1:]):
        if not (front[:size] <= row).all(axis=1).any():
            front[size] = row
            size += 1
            is_front[i] = True
    return is_front[inverse.reshape(-1)]


@dataclass(frozen=True, eq=False, repr=False)
class Simplest:
    """Result of :func:`simplest_not_worse`.

    Attributes
    ----------
    chosen : int
        Position of the model.
    candidates : tuple of int
        The models not significantly worse than the best.
    test : KruskalTukey
        The comparison of the models.
    """

    chosen: int
    candidates: tuple[int, ...]
    test: KruskalTukey

    def __repr__(self) -> str:
        return f"Simplest(chosen={self.chosen}, candidates={self.candidates})"

    def summary(self) -> str:
        """Return the comparison and the choice as text."""
        return f"{self.test.summary()}\nsimplest of these: {self.test.names[self.chosen]}"


def simplest_not_worse(
    values: npt.ArrayLike | Sequence[npt.ArrayLike],
    complexity: npt.ArrayLike,
    alpha: float = 0.05,
    greater_is_better: bool = True,
    names: Sequence[str] | None = None,
) -> Simplest:
    """Choose the simplest of the models that are not significantly worse than the best.

    Kruskal and Wallis' test first. Where it is not significant, all models are candidates;
    otherwise those that Tukey's procedure does not find worse than the one of best mean rank. Of
    the candidates the least complex is chosen; of equally complex ones that with the better mean,
    then the first.

    Parameters
    ----------
    values : list of arrays, or array of shape (n_runs, n_models)
        Performance of every model, as in :func:`featly.measures.statistics.kruskal_tukey`.
    complexity : array of shape (n_models,)
        Smaller is simpler: a number of features, say.
    alpha : float, default=0.05
    greater_is_better : bool, default=True
    names : sequence of str, default=None

    Returns
    -------
    Simplest

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, appendix A.4.

    Examples
    --------
    >>> from featly.measures.multi_criteria import simplest_not_worse
    >>> accuracy = [[0.91, 0.93, 0.92, 0.95], [0.90, 0.94, 0.89, 0.96], [0.70, 0.72, 0.69, 0.71]]
    >>> simplest_not_worse(accuracy, complexity=[50, 10, 5])
    Simplest(chosen=1, candidates=(0, 1))
    """
    samples = as_samples(values)
    test = kruskal_tukey(samples, names, alpha, greater_is_better)
    cost = as_numbers("complexity", complexity)
    if cost.shape != (len(samples),) or np.isnan(cost).any():
        raise DataError(f"complexity: give {len(samples)} numbers, one a model")
    significant = test.p_value <= alpha
    candidates = test.not_worse() if significant else tuple(range(len(samples)))
    sign = -1 if greater_is_better else 1
    chosen = min(candidates, key=lambda i: (cost[i], sign * np.nanmean(samples[i])))
    return Simplest(chosen=chosen, candidates=candidates, test=test)


def merge_selections(
    selections: Sequence[npt.ArrayLike],
    rule: str = "union",
    scores: npt.ArrayLike | None = None,
    greater_is_better: bool = True,
) -> IntArray:
    """Merge the selections of several folds into one.

    Parameters
    ----------
    selections : sequence of arrays
        One a fold: positions of the selected columns, or a mask over all columns.
    rule : {"union", "intersection", "best"}, default="union"
        Columns selected in any fold; in all folds, which may be none; or in the fold of best
        score, the first of several.
    scores : array of shape (n_folds,), default=None
        Scores of the folds, for rule "best" only. A fold with NaN is never the best.
    greater_is_better : bool, default=True
        Of the scores.

    Returns
    -------
    int array
        Positions, ascending.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, appendix A.3.1.

    Examples
    --------
    >>> from featly.measures.multi_criteria import merge_selections
    >>> folds = [[4, 1], [1, 2], [1, 4, 7]]
    >>> merge_selections(folds).tolist(), merge_selections(folds, "intersection").tolist()
    ([1, 2, 4, 7], [1])
    >>> merge_selections(folds, "best", scores=[0.8, 0.9, 0.7]).tolist()
    [1, 2]
    """
    _check_one_of("rule", rule, MERGING_RULES)
    folds = [_read_positions(selection, fold) for fold, selection in enumerate(selections)]
    if not folds:
        raise DataError("selections are empty: give one selection a fold")
    if (rule == "best") != (scores is not None):
        need = (
            "give scores, one a fold"
            if scores is None
            else "leave out scores, which only 'best' uses"
        )
        raise ParameterError(f"rule={rule!r}: {need}")
    if scores is not None:
        values = as_numbers("scores", scores)
        if values.shape != (len(folds),) or np.isnan(values).all():
            raise DataError(f"scores: give {len(folds)} numbers, one a fold, not all NaN")
        return folds[int(np.nanargmax(values) if greater_is_better else np.nanargmin(values))]
    columns, counts = np.unique(np.concatenate(folds), return_counts=True)
    return columns if rule == "union" else columns[counts == len(folds)]


def _read_criteria(
    matrix: npt.ArrayLike, benefit: bool | Sequence[bool] | BoolArray
) -> tuple[FloatArray, BoolArray]:
    x = as_numbers("matrix", matrix)
    if x.ndim != 2 or not x.size:
        raise DataError(
            f"matrix has shape {x.shape}: give one row an alternative, one column a criterion"
        )
    if np.isnan(x).any():
        row, column = np.argwhere(np.isnan(x))[0]
        raise DataError(f"matrix is NaN in row {row}, column {column}: leave one of them out")
    larger = np.asarray(benefit)
    if larger.dtype != bool or larger.shape not in ((), (x.shape[1],)):
        raise ParameterError(
            f"benefit={benefit!r}: give True or False for each of {x.shape[1]} criteria"
        )
    return x, np.broadcast_to(larger, x.shape[1:])


def _read_positions(selection: npt.ArrayLike, fold: int) -> IntArray:
    columns = np.asarray(selection)
    if columns.ndim == 1 and columns.dtype == bool:
        return np.flatnonzero(columns)
    if columns.ndim == 1 and columns.size == 0:
        return np.empty(0, dtype=np.int64)
    if columns.ndim != 1 or not np.issubdtype(columns.dtype, np.integer) or columns.min() < 0:
        raise DataError(f"selection {fold}: give positions of columns, whole numbers from 0")
    return np.unique(columns).astype(np.int64)


def _check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ParameterError(f"{name}={value!r}: give one of {', '.join(map(repr, known))}")
