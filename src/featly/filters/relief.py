r"""Differences of columns between a row and the nearest of its own class and of another.

.. math::

    W_f = \frac{1}{m} \sum_i \big[ \mathrm{diff}_f(i, M_i) - \mathrm{diff}_f(i, H_i) \big]

with the nearest hit :math:`H_i`, a row of the same class, and the nearest miss :math:`M_i`. Kira,
K. and Rendell, L. A. (1992), A practical approach to feature selection, *ICML-92*, 249-256.
"""

from collections.abc import Callable
from typing import Any

from featly.core.relief.relief import NearestOfAll, Rule
from featly.filters.relieff import NeighbourRanker
from featly.table.schema import Schema

__all__ = ["Relief"]


class Relief(NeighbourRanker):
    r"""Rank columns by what they differ from the nearest row of the class and of another.

    The forerunner of :class:`ReliefF`, which averages over several neighbours and is less easily
    misled by noise. Kira and Rendell have two classes; of more, the nearest row of any other class
    is the miss, whereas :class:`ReliefF` looks at each class. They square the differences and
    measure the Euclidean distance; here as in later accounts neither is squared, and with two
    classes Relief is ReliefF with one neighbour. Rows that are equally near share.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction, None for half, or a rule:
        "rule-of-thumb", "largest-gap", "two-variances".
    n_samples : int or None, default=None
        m: how many rows are drawn, without replacement, to look at their neighbours, which may be
        any row; None is all rows, and so is a number as large as theirs.
    missing : {"conditional", "weka"}, default="conditional"
        What a missing value differs: see :class:`ReliefF`.
    random_state : int, default=0
        Seed of the rows drawn.
    schema : Schema, dict or None, default=None
        What is known about the columns; `keep` and `prior` are used: the score of a favoured column
        is multiplied by its prior, or divided by it where it is negative.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute. "auto" takes a GPU for a table that lies on it, or that is large, where
        CuPy and a GPU are there; "cuda" insists on it. The ranking is the same.
    memory_limit : int, str or None, default=None
        How much of a table on disk may be in memory, such as "2GB"; None is a quarter of what is
        free. See :func:`featly.scan`. A table in memory is used where it lies.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (rows done, rows in all).

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        The weights, from -1 to 1. A row that is alone in its class has a miss only; columns that
        are constant or have no value at all have weight 0. With a prior, also a column of
        ``table()``.
    scores_ : float array of shape (n_features,)
        `relevance_`, weighted by the prior if there is one.
    n_rows_used_ : int
        The rows whose neighbours were looked at.
    interrupted_ : bool
        Whether Ctrl-C came before all of them.
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

    def __init__(
        self,
        *,
        n_features_to_select: int | float | str | None = None,
        n_samples: int | None = None,
        missing: str = "conditional",
        random_state: int = 0,
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        memory_limit: int | str | None = None,
        verbose: bool | Callable[[int, int], Any] = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_samples = n_samples
        self.missing = missing
        self.random_state = random_state
        self.schema = schema
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _rule(self) -> Rule:
        return NearestOfAll()
