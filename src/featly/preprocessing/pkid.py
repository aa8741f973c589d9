r"""As many intervals as values in each: :math:`\lfloor\sqrt n\rfloor`.

Yang, Y. and Webb, G. I. (2001), Proportional k-interval discretization for naive-Bayes classifiers,
*ECML 2001*, 564-575.
"""

from featly.core.counts.discretise import CutRule
from featly.preprocessing.discretising import Discretiser

__all__ = ["PKID"]


class PKID(Discretiser):
    r"""Cut numbers into :math:`\lfloor\sqrt n\rfloor` intervals of :math:`\sqrt n` values each.

    More rows then mean both more intervals and more values in each: less bias and less variance
    of the probabilities that are estimated from them. n is the number of values that are not
    missing.

    Equal values are never divided: from below, each interval aims at (values left) / (intervals
    left) and ends at the place between two different values that is nearest, the upper one of two
    as near. There may be fewer intervals than :math:`\sqrt n` then.

    Parameters
    ----------
    missing : {"level", "spread"}, default="level"
        What becomes of a gap. "level": every column has a last level "missing". "spread": a gap
        stays a gap. See :class:`featly.preprocessing.MDLP`.
    ordered : bool, default=True
        Whether the levels of a frame's columns have an order for what comes after. See
        :class:`featly.preprocessing.MDLP`.
    schema : Schema, dict or None, default=None
        The kinds of the columns, where dtypes do not tell.
    n_jobs : int or None, default=None
        Number of threads; None is all cores.

    Attributes
    ----------
    cuts_ : list of arrays
        The cut points of every column, rising; empty for categorical ones.
    n_levels_ : int array of shape (n_features,)
        Number of intervals of every column, or of levels of a categorical one; gaps not counted.
    n_features_in_ : int
    feature_names_in_ : array
        Where X has names.

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
