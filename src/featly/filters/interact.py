r"""Columns without which rows of different classes would look alike.

.. math::

    C(j, S) = R(S \setminus \{j\}) - R(S)

is the contribution of column j to the consistency of a subset S, with the rate of inconsistency R:
the share of rows outside the largest class among those that are equal in S. Zhao, Z. and Liu, H.
(2007), Searching for interacting features, *IJCAI 2007*, 1156-1161.
"""

from typing import Annotated

import numpy as np

from featly.base import Problem, Selection
from featly.basics.params import Number
from featly.core.counts.codes import select_columns
from featly.core.counts.consistency import contributions
from featly.core.counts.uncertainty import uncertainty
from featly.core.ranking.ordering import best_first
from featly.filters._counting import CountingSelector, Discretizing, SpreadsMissing
from featly.problem.parameters import Streaming

__all__ = ["Interact"]


class Interact(Streaming, SpreadsMissing, Discretizing, CountingSelector):
    r"""Choose columns by what consistency loses without them, so that interactions count.

    Numbers are cut into levels first. Columns are put in order of their symmetric uncertainty
    with the class. From the last to the first, a column is removed if its contribution to the
    consistency of all that have not been removed is below the threshold. A column that informs only
    together with others, as in exclusive or, may stay.

    Parameters
    ----------
    threshold : float, default=0.0001
        Above 0 and below 1; a column that contributes nothing is always removed. The default is
        that of the authors. Contributions are multiples of 1 / n_rows.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser. None: whole numbers are levels as they are.
    missing : {"level", "spread"}, default="level"
        For the order of the columns. "level": a missing value is a level of its own. "spread": it
        is shared out to the levels in proportion, as Weka does. Where rows are compared, a missing
        value is a value of its own in any case.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Columns to keep go first and are never removed. `prior` is not used: columns are removed by
        what the subset loses with them.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Levels beyond it go to a temporary file, one byte for each value.

    Attributes
    ----------
    rate_ : float
        Rate of inconsistency of the chosen columns.
    uncertainty_ : float array of shape (n_features,)
        Symmetric uncertainty of every column with the class.
    contribution_ : float array of shape (n_features,)
        The rise of the rate of inconsistency without the column, when it was tested; 0 for columns
        to keep.
    empty_ : bool
        Whether all columns were removed. The column of largest uncertainty was chosen then,
        because a selection has at least one.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`.

    See Also
    --------
    Consistency : Searches forward for a consistent subset.
    FCBF : The same order, with redundancy between pairs of columns.

    Notes
    -----
    All counts are exact; rows are not hashed. MDLP cuts each column by itself, and may leave
    columns uncut that only matter together: "equal-frequency" cuts them.

    References
    ----------
    Zhao, Z. and Liu, H. (2007), Searching for interacting features, *IJCAI 2007*, 1156-1161.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import Interact
    >>> frame = pl.DataFrame({
    ...     "left": ["a", "a", "b", "b"] * 2,
    ...     "right": ["a", "b", "a", "b"] * 2,
    ...     "copy of right": ["a", "b", "a", "b"] * 2,
    ... })
    >>> odd = ["yes", "no", "no", "yes"] * 2
    >>> chosen = Interact().fit(frame, odd)
    >>> chosen.get_feature_names_out().tolist(), chosen.rate_
    (['left', 'right'], 0.0)
    """

    threshold: Annotated[float, Number(above=0, below=1)] = 1e-4

    def _select(self, problem: Problem) -> Selection:
        codes, (y, n_groups) = self._codes(problem), problem.target.groups()
        with_class = uncertainty(codes, y + 1, n_groups, spread=self.missing == "spread")
        order = problem.preference.put_keep_first(best_first(with_class))
        n_kept = len(problem.preference.keep)
        stays, lost, inconsistent = contributions(
            select_columns(codes, order),
            y,
            n_groups,
            np.arange(len(order)),
            n_kept,
            self.threshold * len(y),
        )
        empty = not stays.any()
        if empty:
            stays[0] = True
            inconsistent -= lost[0]
        contribution = np.empty(len(order))
        contribution[order] = lost / len(y)
        return Selection(
            order[stays],
            evidence=(with_class > 0) | (contribution > 0),
            extra={"uncertainty": with_class, "contribution": contribution},
            attributes={"rate": inconsistent / len(y), "empty": empty},
        )
