r"""Differences of columns between near rows, within and between classes.

.. math::

    N_i = \{ j : d(i, j) < \mu_i - \sigma_i / 2 \}, \qquad
    W_f = \frac{1}{n} \sum_i \Big[ \frac{1}{|M_i|} \sum_{j \in M_i} \mathrm{diff}_f(i, j)
        - \frac{1}{|H_i|} \sum_{j \in H_i} \mathrm{diff}_f(i, j) \Big]

where :math:`\mu_i` and :math:`\sigma_i` are the mean and the standard deviation of the distances
of row i to all others, and :math:`H_i`, :math:`M_i` the rows of :math:`N_i` that are of its class
and those that are not. Urbanowicz, R. J. et al. (2018), Benchmarking relief-based feature selection
methods for bioinformatics data mining, *J. Biomed. Inform.* 85, 168-188.
"""

from featly.core.relief.relief import Near, Rule
from featly.filters.relieff import NeighbourRanker

__all__ = ["MultiSURF"]


class MultiSURF(NeighbourRanker):
    r"""Rank columns as ReliefF does, with all near rows as neighbours; nothing to tune.

    A row is a neighbour of another if its distance is less than the mean of the distances from the
    other row minus half their standard deviation. If distances are about normal, these are a third
    of all rows.

    With more than two classes, misses are averaged by class and the classes by their share of the
    rows, as in :class:`ReliefF`, over the classes that have a near row.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    missing : {"conditional", "weka"}, default="conditional"
        The difference of a missing value, see :class:`ReliefF`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep`, `prior` and `costs` are used: the score of a column is multiplied by its prior, or
        divided by it where the score is negative.
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
        It counts rows.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        The weights, from -1 to 1. A row without near hits has misses only, and the reverse; columns
        that are constant or have no value at all have weight 0. With a prior, also a column of
        ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_`, weighted by the prior if there is one.
    n_rows_used_ : int
        The rows whose neighbours were used: all, unless Ctrl-C ended the fit.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    References
    ----------
    Urbanowicz, R. J., Olson, R. S., Schmitt, P., Meeker, M. and Moore, J. H. (2018), Benchmarking
    relief-based feature selection methods for bioinformatics data mining, *J. Biomed. Inform.* 85,
    168-188.

    Examples
    --------
    A row is ill if it has exactly one of two traits.

    >>> from featly import MultiSURF
    >>> X = [[0, 0, 5], [0, 1, 3], [1, 0, 8], [1, 1, 4], [0, 0, 9], [0, 1, 1], [1, 0, 2], [1, 1, 7]]
    >>> MultiSURF().fit(X, ["well", "ill", "ill", "well"] * 2).scores_.round(2).tolist()
    [0.44, 0.31, -0.36]
    """

    def _rule(self) -> Rule:
        return Near()
