r"""Differences of columns between a row and its nearest hit and miss.

.. math::

    W_f = \frac{1}{m} \sum_i \big[ \mathrm{diff}_f(i, M_i) - \mathrm{diff}_f(i, H_i) \big]

with the nearest hit :math:`H_i`, a row of the same class, and the nearest miss :math:`M_i`. Kira,
K. and Rendell, L. A. (1992), A practical approach to feature selection, *ICML-92*, 249-256.
"""

from featly.core.relief.relief import NearestOfAll, Rule
from featly.filters.relieff import NeighbourRanker, SampledRows

__all__ = ["Relief"]


class Relief(SampledRows, NeighbourRanker):
    r"""Rank columns by their differences from the nearest miss and the nearest hit.

    The predecessor of :class:`ReliefF`, which averages over several neighbours and is less
    sensitive to noise. Kira and Rendell have two classes. With more, the nearest row of any other
    class is the miss, whereas :class:`ReliefF` takes misses of each class. They square the
    differences and use the Euclidean distance. Here, as in later papers, neither is squared, and
    with two classes Relief is ReliefF with one neighbour. Rows that are equally near share the
    weight of one.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    n_samples : int or None, default=None
        m, the number of rows whose neighbours are used, drawn without replacement; the neighbours
        may be any rows. None, or a number as large as that of the rows, takes all rows.
    missing : {"conditional", "weka"}, default="conditional"
        The difference of a missing value, see :class:`ReliefF`.
    random_state : int, default=0
        Seed of the random numbers.
        Used to draw rows.
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
        The weights, from -1 to 1. A row that is alone in its class has a miss only; columns that
        are constant or have no value at all have weight 0. With a prior, also a column of
        ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_`, weighted by the prior if there is one.
    n_rows_used_ : int
        The rows whose neighbours were used.
    interrupted_ : bool
        Whether Ctrl-C ended the fit early.
    order_, ranking_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    References
    ----------
    Kira, K. and Rendell, L. A. (1992), A practical approach to feature selection, *ICML-92*,
    249-256. Robnik-Sikonja, M. and Kononenko, I. (2003), Theoretical and empirical analysis of
    ReliefF and RReliefF, *Machine Learning* 53, 23-69.

    Examples
    --------
    >>> from featly import Relief
    >>> X = [[0.0, 3.0], [0.1, 1.0], [0.9, 2.0], [1.0, 0.0]]
    >>> Relief().fit(X, ["well", "well", "ill", "ill"]).scores_.round(3).tolist()
    [0.75, -0.333]
    """

    def _rule(self) -> Rule:
        return NearestOfAll()
