r"""As many intervals as values in each: :math:`\lfloor\sqrt n\rfloor`.

Yang, Y. and Webb, G. I. (2001), Proportional k-interval discretization for naive-Bayes classifiers,
*ECML 2001*, 564-575.
"""

from featly.core.counts.discretise import CutRule
from featly.preprocessing.discretising import Discretiser

__all__ = ["PKID"]


class PKID(Discretiser):
    r"""Cut numbers into :math:`\lfloor\sqrt n\rfloor` intervals of :math:`\sqrt n` values each.

    With more rows there are both more intervals and more values in each, so the probabilities that
    are estimated from them have less bias and less variance. n is the number of values that are not
    missing.

    Equal values are never divided. From below, each interval aims at (remaining values) /
    (remaining intervals), and ends at the nearest boundary between two different values, the upper
    one of two that are equally near. There may be fewer intervals than :math:`\sqrt n`.

    Parameters
    ----------
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
    Yang, Y. and Webb, G. I. (2001), Proportional k-interval discretization for naive-Bayes
    classifiers, *ECML 2001*, 564-575.

    Examples
    --------
    >>> from featly.preprocessing import PKID
    >>> x = [[1], [2], [3], [4], [5], [6], [7], [8], [9]]
    >>> PKID().fit_transform(x).ravel()
    array([0., 0., 0., 1., 1., 1., 2., 2., 2.])
    """

    def cut_rule(self) -> CutRule:
        """Return the rule of the cuts; the counting filters use it.

        Returns
        -------
        CutRule
        """
        return CutRule("pkid")
