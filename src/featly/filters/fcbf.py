r"""Columns that tell more about the class than any better column tells about them.

.. math::

    S = \{ j : SU(j, y) > \delta,\; SU(i, j) < SU(j, y)
           \text{ for all } i \in S \text{ with } SU(i, y) \ge SU(j, y) \}

With ``ties="keep"``, :math:`\le` in place of :math:`<` between the two uncertainties.

Yu, L. and Liu, H. (2003), Feature selection for high-dimensional data: a fast correlation-based
filter solution, *ICML 2003*, 856-863.
"""

from typing import Annotated

import numpy as np

from featly.base import Problem, Selection
from featly.basics.params import Number, OneOf
from featly.basics.typing import FloatArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.uncertainty import Pairs, uncertainty
from featly.core.ranking.ordering import best_first
from featly.filters._counting import CountingSelector, Discretizing, SpreadsMissing
from featly.problem.parameters import Streaming

__all__ = ["FCBF"]


class FCBF(Streaming, SpreadsMissing, Discretizing, CountingSelector):
    r"""Choose columns that no better column makes redundant (fast correlation-based filter).

    Numbers are cut into levels first. Columns are taken in falling order of their symmetric
    uncertainty with the class, equal ones in the order of the table. Each column that has not been
    removed is chosen. It removes every later column whose symmetric uncertainty with it is at
    least that with the class, or above it with ``ties="keep"``.

    Parameters
    ----------
    threshold : float, default=0.0
        From 0 to below 1. Columns whose uncertainty with the class is not above it are left out.
    ties : {"drop", "keep"}, default="drop"
        What happens to a column whose uncertainty with a better one equals that with the class.
        "drop" is Yu and Liu's rule. "keep" leaves several columns that tell the classes without an
        error, where "drop" leaves the first one.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser. None: whole numbers are levels as they are.
    missing : {"level", "spread"}, default="level"
        "level": a missing value is a level of its own. "spread": it is spread over the levels
        in proportion, as Weka does.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Columns to keep go first and are never removed. `prior` is not used: columns are removed for
        what they share with better ones.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Levels of the columns that are compared beyond it go to a temporary file.

    Attributes
    ----------
    uncertainty_ : float array of shape (n_features,)
        Symmetric uncertainty of every column with the class.
    redundant_to_ : int array of shape (n_features,)
        The chosen column that removed this one; -1 if none did.
    empty_ : bool
        Whether no column is above the threshold. The column of largest uncertainty was chosen
        then, because a selection has at least one.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`.

    See Also
    --------
    CFS : Weighs relevance against redundancy in a subset as a whole.
    SymmetricUncertainty : The order in which columns are taken.

    References
    ----------
    Yu, L. and Liu, H. (2003), Feature selection for high-dimensional data: a fast
    correlation-based filter solution, *ICML 2003*, 856-863. Yu, L. and Liu, H. (2004), Efficient
    feature selection via analysis of relevance and redundancy, *J. Machine Learning Research* 5,
    1205-1224.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import FCBF
    >>> frame = pl.DataFrame({
    ...     "dose": ["low", "low", "low", "high", "low", "high", "high", "high"],
    ...     "twice": ["2", "2", "2", "4", "2", "4", "4", "4"],
    ...     "site": ["a", "b", "a", "b", "a", "b", "b", "a"],
    ...     "sex": ["f", "m", "m", "m", "f", "f", "m", "f"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> chosen = FCBF().fit(frame, outcome)
    >>> chosen.get_feature_names_out().tolist(), chosen.redundant_to_.tolist()
    (['dose', 'sex'], [-1, 0, -1, -1])
    """

    threshold: Annotated[float, Number(at_least=0, below=1)] = 0.0
    ties: Annotated[str, OneOf("drop", "keep")] = "drop"

    def _select(self, problem: Problem) -> Selection:
        codes, keep = self._codes(problem), problem.preference.keep
        spread = self.missing == "spread"
        groups = problem.target.groups()
        with_class = uncertainty(codes, groups.codes + 1, groups.n_groups, spread=spread)
        order = best_first(with_class)
        above = with_class > self.threshold
        empty = not above.any()
        above[keep] = True
        if not above.any():
            above[order[0]] = True
        order = problem.preference.put_keep_first(order[above[order]])
        chosen, redundant_to = select_predominant(
            codes, with_class, order, len(keep), keep_ties=self.ties == "keep", spread=spread
        )
        return Selection(
            chosen,
            evidence=with_class > 0,
            extra={"uncertainty": with_class},
            attributes={"redundant_to": redundant_to, "empty": empty},
        )


def select_predominant(
    codes: Codes,
    with_class: FloatArray,
    order: IntArray,
    n_fixed: int,
    *,
    keep_ties: bool = False,
    spread: bool = False,
) -> tuple[IntArray, IntArray]:
    """Return predominant columns in an order, and for every other the column that removed it.

    Parameters
    ----------
    codes : Codes
    with_class : float array
        Symmetric uncertainty of every column with the class.
    order : int64 array
        Columns.
    n_fixed : int
        The first `n_fixed` columns of the order are not removed.
    keep_ties : bool, default=False
        Whether a column stays whose uncertainty with a chosen one equals that with the class.
        Both are rounded to the same grid, so that equal ones are equal.
    spread : bool, default=False
        See :func:`featly.core.counts.uncertainty.uncertainty`.
    """
    redundant_to = np.full(codes.n_features, -1)
    chosen: list[int] = []
    waiting, pairs = order, Pairs(codes, order, spread=spread)
    pair_index = np.arange(len(order))  # positions of the waiting columns in `pairs`
    while len(waiting):
        first = int(waiting[0])
        chosen.append(first)
        redundancy = pairs.row(int(pair_index[0]))[pair_index]
        own = with_class[waiting]
        stays = redundancy <= own if keep_ties else redundancy < own
        stays[: max(0, n_fixed - len(chosen) + 1)] = True  # columns to keep are not removed
        redundant_to[waiting[1:][~stays[1:]]] = first
        stays[0] = False  # it is chosen
        waiting, pair_index = waiting[stays], pair_index[stays]
        if 0 < 2 * len(waiting) < len(pairs):  # forget removed columns
            pairs, pair_index = Pairs(codes, waiting, spread=spread), np.arange(len(waiting))
    return np.array(chosen), redundant_to
