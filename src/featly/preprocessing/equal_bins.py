r"""A given number of intervals, of equal width or with equal numbers of values.

.. math::

    t_j = \min x + j (\max x - \min x) / n, \qquad j = 1, \dots, n - 1

or the cuts between two values nearest to the j/n quantiles. Dougherty, J., Kohavi, R. and Sahami,
M. (1995), Supervised and unsupervised discretization of continuous features, *ICML-95*, 194-202.
"""

from typing import Annotated

from featly.core.counts.discretise import N_BINS, CutRule
from featly.preprocessing.discretising import Discretiser

__all__ = ["EqualFrequency", "EqualWidth"]


class _EqualBins(Discretiser):
    """Discretisers into a number of bins."""

    n_bins: Annotated[int, N_BINS] = 10


class EqualWidth(_EqualBins):
    r"""Cut numbers into intervals of the same width between the smallest and the largest.

    .. math::

        t_j = \min x + j (\max x - \min x) / n, \qquad j = 1, \dots, n - 1

    An interval may be empty. A constant column is not cut.

    Parameters
    ----------
    n_bins : int, default=10
        Number n of intervals.
    missing : {"level", "spread"}, default="level"
        How missing values are coded. "level": every column has a last level "missing". "spread":
        they stay missing. See :class:`featly.preprocessing.MDLP`.
    ordered : bool, default=True
        Whether the levels of a frame's columns have an order. See
        :class:`featly.preprocessing.MDLP`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cuts_ : list of arrays
        The cut points of every column, rising; empty for categorical ones.
    n_levels_ : int array of shape (n_features,)
        Number of intervals of every column, or of levels of a categorical one, without that of
        missing values.
    n_features_in_ : int
    feature_names_in_ : array
        Only if X has names.

    References
    ----------
    Dougherty, J., Kohavi, R. and Sahami, M. (1995), Supervised and unsupervised discretization of
    continuous features, *ICML-95*, 194-202.

    Examples
    --------
    >>> from featly.preprocessing import EqualWidth
    >>> EqualWidth(n_bins=4).fit([[0.0], [1.0], [8.0]]).cuts_
    [array([2., 4., 6.])]
    """

    def cut_rule(self) -> CutRule:
        """Return the rule of the cuts; the counting filters use it.

        Returns
        -------
        CutRule
        """
        return CutRule("equal-width", self.n_bins)


class EqualFrequency(_EqualBins):
    """Cut numbers into intervals with equal numbers of values.

    Equal values are never divided. From below, each interval aims at (remaining values) /
    (remaining intervals), and ends at the nearest boundary between two different values, the upper
    one of two that are equally near. There may be fewer intervals than `n_bins`. A cut is in the
    middle between two values.

    Parameters
    ----------
    n_bins : int, default=10
        Number of intervals.
    missing : {"level", "spread"}, default="level"
        How missing values are coded. "level": every column has a last level "missing". "spread":
        they stay missing. See :class:`featly.preprocessing.MDLP`.
    ordered : bool, default=True
        Whether the levels of a frame's columns have an order. See
        :class:`featly.preprocessing.MDLP`.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    cuts_ : list of arrays
        The cut points of every column, rising; empty for categorical ones.
    n_levels_ : int array of shape (n_features,)
        Number of intervals of every column, or of levels of a categorical one, without that of
        missing values.
    n_features_in_ : int
    feature_names_in_ : array
        Only if X has names.

    References
    ----------
    Dougherty, J., Kohavi, R. and Sahami, M. (1995), Supervised and unsupervised discretization of
    continuous features, *ICML-95*, 194-202.

    Examples
    --------
    >>> from featly.preprocessing import EqualFrequency
    >>> EqualFrequency(n_bins=2).fit([[1.0], [1.0], [1.0], [5.0], [9.0]]).cuts_
    [array([3.])]
    """

    def cut_rule(self) -> CutRule:
        """Return the rule of the cuts; the counting filters use it.

        Returns
        -------
        CutRule
        """
        return CutRule("equal-frequency", self.n_bins)
