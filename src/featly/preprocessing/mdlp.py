r"""Intervals by the principle of the shortest description.

.. math::

    \text{cut } S \text{ into } S_1, S_2 \text{ where } \sum_i |S_i| H(S_i) \text{ is least, as
    long as } |S| H(S) - \sum_i |S_i| H(S_i) > \log_2(|S| - 1) + \log_2(3^k - 2) -
    k H(S) + k_1 H(S_1) + k_2 H(S_2).

Fayyad, U. M. and Irani, K. B. (1993), Multi-interval discretization of continuous-valued attributes
for classification learning, *IJCAI-93*, 1022-1027.
"""

from typing import Annotated, Any, Self

from featly.core.counts.discretise import ENCODING, CutRule
from featly.preprocessing.discretising import Discretiser

__all__ = ["MDLP"]


class MDLP(Discretiser):
    r"""Cut numbers where the entropy of the classes falls most, as long as it pays.

    A column is cut between the two values where the least entropy H of the classes remains; then
    both parts are cut in the same way. A cut is made only if

    .. math::

        |S| H(S) - |S_1| H(S_1) - |S_2| H(S_2) > \log_2(|S| - 1) + \log_2(3^k - 2) -
        k H(S) + k_1 H(S_1) + k_2 H(S_2)

    bits, where k, k_1 and k_2 are the numbers of classes in the set S and in its parts: a
    description with the cut must be shorter than one without. A column that tells nothing about the
    classes has no cut and one level. A cut is in the middle between two values; the lowest of
    equally good ones is taken. Cut points are those of Weka's supervised Discretize, with
    ``encoding="distinct"`` those of its option ``-E``.

    ``MDLP()`` and ``discretizer="mdlp"`` of a filter cut differently where values repeat: the name
    stands for ``MDLP(encoding="distinct")``. To tell them apart, an instance shows its encoding.

    Entropies are compared as whole numbers, so neither the order of the rows nor the names of the
    classes matter.

    Parameters
    ----------
    encoding : {"rows", "distinct"}, default="rows"
        How a cut is coded in the description. "rows": as one of :math:`|S| - 1` positions, as in
        Fayyad and Irani and in Weka's Discretize. "distinct": as one of the positions between the
        different values of S, which are fewer if values repeat, so more cuts are made. Weka's
        evaluators of attributes and subsets use it (``-E``), and so does ``discretizer="mdlp"``.
    missing : {"level", "spread"}, default="level"
        How missing values are coded. "level": every column has a last level "missing", even if the
        training rows have no missing values, so that those of new rows have a level. "spread": they
        stay missing, and filters with ``missing="spread"`` spread them over the levels in
        proportion. Missing values have no influence on the cut points.
    ordered : bool, default=True
        Whether the intervals are ordered categories. False makes plain categories of them, for
        learners that should count levels instead of comparing numbers, such as naive Bayes and
        trees with one branch a level. For frames only: an array has no kinds. (featly reads the
        Enum of polars, which has an order, as categories either way.)
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        It says the kinds of the columns where dtypes do not. Continuous and ordinal columns are cut
        (levels of ordinal text count from 0), categorical ones stay as they are.
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

    See Also
    --------
    featly.preprocessing.PKID : Many small intervals, without looking at the classes.

    References
    ----------
    Fayyad, U. M. and Irani, K. B. (1993), Multi-interval discretization of continuous-valued
    attributes for classification learning, *IJCAI-93*, 1022-1027.

    Examples
    --------
    >>> import polars as pl
    >>> from featly.preprocessing import MDLP
    >>> frame = pl.DataFrame({"age": [41, 45, 48, 61, 66, 70], "sex": list("fmmfmf")})
    >>> mdlp = MDLP().fit(frame, [0, 0, 0, 1, 1, 1])
    >>> mdlp.transform(pl.DataFrame({"age": [50, 60, None], "sex": ["m", "f", "f"]})).rows()
    [('(-inf, 54.5]', 'm'), ('(54.5, inf)', 'f'), ('missing', 'f')]
    >>> mdlp.cuts_[0]
    array([54.5])

    The name "mdlp" given to a filter is the other encoding:

    >>> MDLP(), MDLP(encoding="distinct")
    (MDLP(encoding='rows'), MDLP(encoding='distinct'))

    An array becomes numbers of intervals:

    >>> MDLP().fit_transform([[1.0], [2.0], [8.0], [9.0], [None]], [0, 0, 1, 1, 1]).ravel()
    array([0., 0., 1., 1., 2.])
    """

    encoding: Annotated[str, ENCODING] = "rows"

    def cut_rule(self) -> CutRule:
        """Return the rule of the cuts; the counting filters use it.

        Returns
        -------
        CutRule
        """
        return CutRule("mdlp", encoding=self.encoding)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        if "encoding=" in text:
            return text
        name, _, others = text.partition("(")  # scikit-learn leaves out what is the default
        separator = "" if others == ")" else ", "
        return f"{name}(encoding={self.encoding!r}{separator}{others}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the cut points.

        Parameters
        ----------
        X : data frame, array or sparse matrix
        y : sequence of shape (n_rows,)
            The class of every row; required.

        Returns
        -------
        self
        """
        return self._fit(X, y)
