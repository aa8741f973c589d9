r"""Symbols as numbers, by the separability of a split value.

.. math::

    \mathrm{SSV}(s) = 2 \sum_c |L_c| (|R| - |R_c|) - \sum_c \min(|L_c|, |R_c|)

Grąbczewski, K. and Duch, W. (1999), A general purpose separability criterion for classification
systems, *4th Conference on Neural Networks and Their Applications*, 203-208.
"""

from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from featly.basics.estimators import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from featly.basics.params import Whole, check_parameters
from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.trees.ssv import order_levels
from featly.problem.ingest_rows import MixedColumns, MixedReader
from featly.problem.parameters import InSchema, Threaded
from featly.problem.target import read_classes

__all__ = ["SSVEncoder"]


class SSVEncoder(
    Threaded, InSchema, MixedColumns, OneToOneFeatureMixin, TransformerMixin, BaseEstimator
):
    r"""Turn the levels of symbolic columns into numbers that separate the classes.

    The levels of a column are split into the two parts with the largest separability

    .. math::

        \mathrm{SSV}(s) = 2 \sum_c |L_c| (|R| - |R_c|) - \sum_c \min(|L_c|, |R_c|),

    with L and R the rows of the two parts and c the classes: separated pairs of rows of different
    classes count twice, and rows of a class that is divided are subtracted. Each part is split
    again, until it has one level or one class. The leaves of this tree, numbered from 0, are the
    numbers of the levels. The part with the lower mean of the class numbers comes first, so with
    two classes the numbers rise with the share of the second one along every split.

    All splits are tried for up to 16 levels. The number of splits doubles with every level, so with
    more levels the best split along the share of a class is improved level by level. Of equally
    good splits the first is taken, with the levels in the order of their counts: names of levels
    matter only between levels with the same counts in every class.

    Columns of numbers are not changed, and keep their missing values. In a symbolic column a
    missing value is a level like others if the training rows have missing values there. A level
    that they do not have, or a missing value if they have none, becomes the mean of the column's
    numbers over the training rows, which favours no class.

    Parameters
    ----------
    max_depth : int or None, default=None
        Depth of the tree. 1 is a single split: a column becomes 0 and 1. None has no limit.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    numbers_ : dict of int to dict
        Number of every level, by position of the column; the level None is a missing value.
    separability_ : float array of shape (n_features,)
        SSV of the first split of each symbolic column, 0 if there is none; NaN for numbers.
    n_features_in_ : int
    feature_names_in_ : array
        Only if X has names.

    See Also
    --------
    featly.learners.Encoder : Indicators, one for each level.

    References
    ----------
    Grąbczewski, K. and Duch, W. (1999), A general purpose separability criterion for
    classification systems, *4th Conference on Neural Networks and Their Applications*, 203-208.

    Grąbczewski, K. and Jankowski, N. (2003), Transformations of symbolic data for continuous data
    oriented models, *ICANN/ICONIP 2003*, 359-366.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.preprocessing import SSVEncoder
    >>> frame = pl.DataFrame({"service": ["http", "http", "ftp", "ftp", "smtp", "smtp"]})
    >>> encoder = SSVEncoder().fit(frame, [1, 1, 0, 0, 1, 0])
    >>> encoder.numbers_
    {0: {'ftp': 0, 'http': 2, 'smtp': 1}}
    >>> encoder.transform(pl.DataFrame({"service": ["http", "ftp", "dns", None]})).ravel()
    array([2., 0., 1., 1.])
    """

    max_depth: Annotated[int | None, Whole(at_least=1)] = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn a number for every level.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : sequence of shape (n_rows,)
            The class of every row.

        Returns
        -------
        self
        """
        check_parameters(self)
        depth = self._depth()
        self._reader = MixedReader(self.schema)
        rows = self._reader.fit(X, self)
        labels, classes = read_classes(y, rows.n_rows, type(self).__name__)
        # code 0, a missing value, is a level only in columns that have it
        has_missing = (rows.codes == 0).any(axis=1)
        codes = rows.codes - ~has_missing[:, None]
        ordering = order_levels(
            codes, labels, len(classes), rows.n_levels + has_missing, depth, self.n_jobs
        )
        self._set_numbers(codes, has_missing, *ordering)
        return self

    def _set_numbers(
        self,
        codes: IntArray,
        has_missing: BoolArray,
        numbers: IntArray,
        start: IntArray,
        separability: IntArray,
    ) -> None:
        self.numbers_: dict[Any, Any] = {}
        self._lookup = []
        for k, column in enumerate(self._reader.categorical.tolist()):
            own = numbers[start[k] : start[k + 1]]
            names: list[str | None] = [None] * bool(has_missing[k]) + [*self._reader.levels[k]]
            self.numbers_[column] = dict(zip(names, own.tolist(), strict=True))
            mean = float(own[codes[k]].mean())
            # by code: a missing value, the levels of the training rows, any other level
            first = own[:1] if has_missing[k] else [mean]
            self._lookup.append(np.array([*first, *own[int(has_missing[k]) :], mean], np.float64))
        self.separability_: AnyArray = np.full(self.n_features_in_, np.nan)
        self.separability_[self._reader.categorical] = separability

    def transform(self, X: Any) -> FloatArray:
        """Return the table as numbers.

        Parameters
        ----------
        X : data frame, array or sparse matrix with the columns seen in ``fit``

        Returns
        -------
        Z : float64 array of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        rows = self._reader.read(X, self)
        out = np.empty((rows.n_rows, self.n_features_in_))
        out[:, self._reader.numeric] = rows.numbers
        pairs = zip(self._reader.categorical, self._lookup, rows.codes, strict=True)
        for column, lookup, codes in pairs:
            out[:, column] = lookup[np.minimum(codes, len(lookup) - 1)]
        return out

    def _depth(self) -> int:
        return np.iinfo(np.int64).max if self.max_depth is None else int(self.max_depth)
