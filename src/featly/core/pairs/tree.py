"""A spanning tree of columns whose edges are the values of pairs, by Prim's algorithm.

The values of a column with all others are computed when the column joins the tree, and then
dropped: p rows of p values, one at a time. Prim, R. C. (1957), Shortest connection networks and
some generalizations, *Bell System Technical Journal* 36, 1389-1401.
"""

import numpy as np

from featly.basics.typing import FloatArray, IntArray
from featly.core.pairs.search import PairedColumns, Progress
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question

__all__ = ["spanning_tree"]


STRIPE = 512  # columns that one task compares with the column that joined


@question
def spanning_tree(
    columns: PairedColumns,
    features: IntArray,
    progress: Progress = None,
    *,
    largest: bool = True,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the edges of the spanning tree of largest sum, or of smallest sum.

    Parameters
    ----------
    columns : PairedColumns
        Their screened values are exact (`margin` is 0), and all columns fit in memory.
    features : int64 array
        The columns of the tree. Among equal values, the earlier column joins first.
    progress : callable, optional
        Called with (columns in the tree, columns in all).
    largest : bool, default=True
        Whether the sum of the values is maximised; else it is minimised.

    Returns
    -------
    first, second : int64 arrays of length ``len(features) - 1``
        The two columns of an edge, as positions in `features`.
    value : float64 array
        The value of each edge.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.pairs.uncertainty import CodedColumns
    >>> from featly.core.counts.codes import DenseCodes
    >>> matrix = np.array([[1, 1, 2, 2], [1, 2, 1, 2], [2, 2, 1, 1]], np.uint8)
    >>> columns = CodedColumns(DenseCodes(matrix, np.array([2, 2, 2])))
    >>> [part.tolist() for part in spanning_tree(columns, np.arange(3))]
    [[0, 0], [2, 1], [1.0, 0.0]]
    """
    assert columns.margin == 0
    p = len(features)
    block = columns.load(features)
    stripes = split(p, STRIPE)
    best, joined_by = np.full(p, -np.inf), np.zeros(p, np.int64)
    outside = np.ones(p, np.bool_)
    order, current = np.zeros(p, np.int64), 0
    for step in range(p - 1):
        outside[current] = False
        order[step] = current
        current_column = columns.part(block, np.arange(p) == current)

        def screen_with_current(
            stripe: tuple[int, int], current_column: object = current_column
        ) -> FloatArray:
            return columns.screen(block, current_column, *stripe)[:, 0]

        pair_values = np.concatenate(run_blocks(screen_with_current, stripes, columns.n_jobs))
        if not largest:
            pair_values = -pair_values
        nearer = outside & (pair_values > best)
        best[nearer], joined_by[nearer] = pair_values[nearer], current
        current = int(np.where(outside, best, -np.inf).argmax())
        if progress is not None:
            progress(step + 2, p)
    order[p - 1 :] = current
    last = order[1:]
    return joined_by[last], last, np.abs(best[last])
