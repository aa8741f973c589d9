r"""Areas and rates that are counted fold by fold, with what they can reach at most.

.. math::

    A = \frac{\sum_f \sum_{i \in f, 1} \sum_{j \in f, 0}
        \bigl([v_i > v_j] + \tfrac12 [v_i = v_j]\bigr)}{\sum_f n_{f1} n_{f0}}

Decision values are compared within folds only: each fold has a model of its own, with a scale of
its own. While folds are missing, A is at most what it is if all of their pairs are in order.

Parker, B. J., Günter, S. and Bedo, J. (2007), Stratification bias in low signal microarray studies,
*BMC Bioinformatics* 8, 326: areas of values that are pooled over folds.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from featly.basics.typing import AnyArray, FloatArray
from featly.measures.scores import roc_auc

__all__ = ["AreaTally", "RateTally"]


class AreaTally:
    """Area under the ROC curve of pairs of rows within folds, for many lists of values at once.

    Parameters
    ----------
    y : int array of shape (n_rows,)
        Codes of the classes, 0 and 1.
    folds : int array of shape (n_rows,)
        The fold of every row.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.measures.fold_tally import AreaTally
    >>> tally = AreaTally([0, 1, 0, 1], [0, 0, 1, 1])
    >>> tally.add([0, 1], [[0.1, 0.9]])
    >>> tally.value(), tally.most()
    (1.0, 1.0)
    >>> tally.add([2, 3], [[0.8, 0.2]])
    >>> tally.value(), tally.most()
    (0.5, 0.5)
    """

    def __init__(self, y: ArrayLike, folds: ArrayLike) -> None:
        self._y = np.asarray(y)
        fold_of = np.asarray(folds)
        self._left = sum(
            _count_pairs(self._y[fold_of == fold]) for fold in np.unique(fold_of).tolist()
        )
        self._pairs = 0
        self._in_order: FloatArray | None = None

    def add(self, rows: ArrayLike, values: ArrayLike) -> None:
        """Count a fold.

        Parameters
        ----------
        rows : int array
            The rows of the fold.
        values : float array of shape (..., n_lists, number of rows)
            Larger where class 1 is likelier. A list with a NaN counts as chance. Where folds have
            different numbers of lists, the first ones count.
        """
        codes, scores = self._y[np.asarray(rows)], np.asarray(values, dtype=np.float64)
        pairs = _count_pairs(codes)
        area: Any = roc_auc(codes, scores) if pairs else np.full(scores.shape[:-1], 0.5)
        in_order = pairs * np.where(np.isnan(area), 0.5, area)
        self._in_order = _add_lists(self._in_order, in_order[..., None])
        self._pairs += pairs
        self._left -= pairs

    def value(self) -> float:
        """Return the mean over lists of the area in the folds so far; 0.5 without a pair."""
        if self._in_order is None or not self._pairs:
            return 0.5
        return float((self._in_order / self._pairs).mean())

    def most(self) -> float:
        """Return the largest value that the folds still missing allow."""
        if self._in_order is None:
            return 1.0
        if not self._pairs + self._left:
            return 0.5
        return float(((self._in_order + self._left) / (self._pairs + self._left)).mean())


class RateTally:
    """Balanced rate of predictions, for many lists at once.

    Parameters
    ----------
    y : int array of shape (n_rows,)
        Codes of the classes, from 0.

    Examples
    --------
    >>> from featly.measures.fold_tally import RateTally
    >>> tally = RateTally([0, 1, 2, 2])
    >>> tally.add([0, 1], [[0, 0]])
    >>> round(tally.most(), 3)
    0.667
    """

    def __init__(self, y: ArrayLike) -> None:
        self._y = np.asarray(y)
        self._n_classes = int(self._y.max()) + 1
        self._left = np.bincount(self._y, minlength=self._n_classes)
        self._hits: FloatArray | None = None
        self._known: FloatArray | None = None

    def add(self, rows: ArrayLike, predicted: ArrayLike) -> None:
        """Count a fold.

        Parameters
        ----------
        rows : int array
            The rows of the fold.
        predicted : int array of shape (..., n_lists, number of rows)
            Codes of the classes; -1 where a fit failed, which leaves the row out.
        """
        own, codes = self._y[np.asarray(rows)], np.asarray(predicted)
        classes = own[:, None] == np.arange(self._n_classes)
        self._hits = _add_lists(self._hits, (codes == own) @ classes.astype(np.float64))
        self._known = _add_lists(self._known, (codes >= 0) @ classes.astype(np.float64))
        self._left = self._left - classes.sum(axis=0)

    def value(self) -> float:
        """Return the mean over lists; a class without a prediction counts as chance."""
        return self._mean(np.zeros(self._n_classes))

    def most(self) -> float:
        """Return the largest value that the folds still missing allow."""
        return self._mean(self._left)

    def _mean(self, further_hits: AnyArray) -> float:
        if self._hits is None or self._known is None:
            return 1.0
        hits, known = self._hits + further_hits, self._known + further_hits
        rates = np.divide(
            hits, known, out=np.full(hits.shape, 1 / self._n_classes), where=known > 0
        )
        return float(rates.mean())


def _count_pairs(codes: AnyArray) -> int:
    n_positive = int((codes == 1).sum())
    return n_positive * (len(codes) - n_positive)


def _add_lists(total: FloatArray | None, more: FloatArray) -> FloatArray:
    """Add counts of shape (..., n_lists, n_counts)."""
    if total is None:
        return more
    count = min(total.shape[-2], more.shape[-2])
    added: FloatArray = total[..., :count, :] + more[..., :count, :]
    return added
