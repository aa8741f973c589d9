r"""Distance of the class means in units of the spread within the classes.

.. math::

    s_j = \frac{|\bar x_{1j} - \bar x_{0j}|}{\sigma_{1j} + \sigma_{0j}}

Golub, T. R. et al. (1999), Molecular classification of cancer: class discovery and class
prediction by gene expression monitoring, *Science* 286, 531-537.
"""

import numpy as np

from featly.additive import Additive
from featly.base import Problem, Questions, Ranking, rank_by_merit
from featly.core.ranking.ordering import round_scores
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import Moments
from featly.core.sources.questions import moments
from featly.problem.parameters import OnDevice, Streaming

__all__ = ["SignalToNoise"]


class SignalToNoise(OnDevice, Streaming, Additive):
    r"""Rank columns by the distance of class means over the spread within the classes.

    With more than two classes, each class is compared with all other rows together, and the
    largest ratio counts (Ramaswamy et al. 2001). Standard deviations have the divisor n - 1. One
    pass over the table, whatever the number of classes: the moments of the other rows are computed
    from those of the other classes. A missing value is left out of its column's means and
    deviations.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used: the score of a column is multiplied by its prior.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.

    Attributes
    ----------
    scores_ : float array of shape (n_features,)
        :math:`s_j`, times the prior if there is one. Infinite if a column differs between the
        classes and is constant within both; such columns come first, in the order of the table. 0
        if the means are equal, or a side has fewer than two values.
    statistic_ : float array of shape (n_features,)
        :math:`s_j` with its sign: positive where the mean is larger in `marked_class_`.
    marked_class_ : array of shape (n_features,)
        The class that is compared with the others: with two classes always the second, with more
        that of the largest ratio, the first of equal ones.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    FTest : All classes at once, with a p-value.

    Notes
    -----
    The ratio is no test: it does not grow with the number of rows, and a column with few values
    can have a large one by chance. If columns differ in their missing values, :class:`FTest`
    compares them by evidence.

    References
    ----------
    Golub, T. R. et al. (1999), Molecular classification of cancer: class discovery and class
    prediction by gene expression monitoring, *Science* 286, 531-537. Ramaswamy, S. et al. (2001),
    Multiclass cancer diagnosis using tumor gene expression signatures, *PNAS* 98, 15149-15154.
    Chan, T. F., Golub, G. H. and LeVeque, R. J. (1983), Algorithms for computing the sample
    variance, *American Statistician* 37, 242-247.

    Examples
    --------
    >>> from featly import SignalToNoise
    >>> X = [[0.1, 5.0], [0.3, 4.0], [0.9, 4.5], [1.1, 5.5]]
    >>> ratio = SignalToNoise().fit(X, ["ill", "ill", "well", "well"])
    >>> ratio.scores_.round(2).tolist(), ratio.marked_class_.tolist()
    ([2.83, 0.35], ['well', 'well'])

    A prior for the second column:

    >>> ratio = SignalToNoise(schema={"prior": {1: 10}}).fit(X, ["ill", "ill", "well", "well"])
    >>> ratio.scores_.round(2).tolist(), ratio.statistic_.round(2).tolist()
    ([2.83, 3.54], [2.83, 0.35])

    Each of three classes against the others:

    >>> X = [[0.1, 5.0], [0.3, 5.2], [0.2, 4.0], [0.4, 4.1], [0.9, 4.2], [1.1, 3.9]]
    >>> ratio = SignalToNoise().fit(X, ["a", "a", "b", "b", "c", "c"])
    >>> ratio.statistic_.round(2).tolist(), ratio.marked_class_.tolist()
    ([2.77, 3.88], ['c', 'a'])
    """

    _scores_one_by_one = True
    _takes_bytes = True
    _uses = ("keep", "prior", "costs")
    _missing = True

    def _asks(self, target: str = "classes") -> Questions:
        return (moments,)

    def _statistic(self, problem: Problem, settled: None) -> Moments:
        return problem.moments(by_class=True)

    def _judge(self, problem: Problem, statistic: Moments, settled: None) -> Ranking:
        labels = problem.classes.labels

        def compute_ratios(block: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            return signal_to_noise(statistic.columns(*block))

        parts = run_blocks(compute_ratios, split(problem.source.n_features, 4096), self.n_jobs)
        ratio, marked = (np.concatenate(values) for values in zip(*parts, strict=True))
        return rank_by_merit(
            problem.preference,
            np.abs(ratio),
            extra={"statistic": ratio, "marked_class": labels[marked]},
        )


def signal_to_noise(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Return the signed ratio of every column and its marked class, from moments by class."""
    n_classes, n_columns = moments.count.shape
    if n_classes == 1:  # in the first rows of a stream
        return np.zeros(n_columns), np.zeros(n_columns, np.int64)
    if n_classes == 2:
        return _ratio(moments.group(1), moments.group(0)), np.ones(n_columns, np.int64)
    ratios = np.array(
        [
            _ratio(moments.group(c), other_classes)
            for c, other_classes in enumerate(_moments_without_class(moments))
        ]
    )
    marked = round_scores(np.abs(ratios)).argmax(axis=0)
    return ratios[marked, np.arange(n_columns)], marked


def _ratio(first: Moments, second: Moments) -> np.ndarray:
    """Return the difference of means over the sum of standard deviations."""
    signal = first.mean - second.mean
    noise = sum(np.sqrt(side.m2 / np.maximum(side.count - 1, 1)) for side in (first, second))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = signal / noise
    ratio[(signal == 0) | (first.count < 2) | (second.count < 2)] = 0.0
    return ratio


def _moments_without_class(moments: Moments) -> list[Moments]:
    """Return the moments of all rows outside a class, for every class.

    They are sums over the classes before and after it. Subtracting the class from the total would
    leave rounding errors where the other classes do not vary.
    """
    n_classes = len(moments.count)
    before, after = [moments.group(0)], [moments.group(n_classes - 1)]
    for c in range(1, n_classes - 1):
        before.append(before[-1] + moments.group(c))
        after.append(moments.group(n_classes - 1 - c) + after[-1])
    after.reverse()  # after[c] begins at class c + 1
    inner = [before[c - 1] + after[c] for c in range(1, n_classes - 1)]
    return [after[0], *inner, before[-1]]
