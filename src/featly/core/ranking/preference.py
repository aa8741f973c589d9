r"""Wishes of the user about columns, whatever the data say, and the one place that applies them.

.. math::

    J_f \mapsto \beta_f J_f - \lambda C_f \quad (J_f \ge 0), \qquad
    J_f \mapsto J_f / \beta_f - \lambda C_f \quad (J_f < 0)

for a merit J that a method computes, with the prior :math:`\beta_f \ge 1` of Helleputte, T. and
Dupont, P. (2009), Partially supervised feature selection with regularized linear models, *ICML
2009*, 409-416, who scale the columns of a linear model by it, and the cost C and its weight
:math:`\lambda` of Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature
Selection for High-Dimensional Data*, Springer, section 5.3. They subtract the mean cost of a set
from its merit, too: :math:`M_S - \lambda \sum_{f \in S} C_f / |S|`.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.ranking.ordering import apply_prior, keep_first, round_scores

__all__ = ["Preference"]


@dataclass(frozen=True, eq=False)
class Preference:
    """Wishes of the user about columns.

    Attributes
    ----------
    keep : int64 array
        Columns that come first: in this order where a search begins with them, by score in a list.
    prior : float64 array of shape (n_features,), or None
        From 1; the smallest is 1. None if no column is favoured over another, so that such a prior
        changes no bit.
    cost : float64 array of shape (n_features,), or None
        From 0.
    trade_off : float
        The merit that one unit of cost is worth.

    Examples
    --------
    >>> import numpy as np
    >>> preference = Preference(prior=np.array([1.0, 10.0, 10.0]))
    >>> preference.apply(np.array([3.0, 3.0, -3.0])).tolist()
    [3.0, 30.0, -0.3]
    >>> Preference(cost=np.array([0.0, 2.0]), trade_off=0.5).apply(np.array([3.0, 3.0])).tolist()
    [3.0, 2.0]
    """

    keep: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    prior: FloatArray | None = None
    cost: FloatArray | None = None
    trade_off: float = 0.0

    @property
    def has_cost(self) -> bool:
        """Return whether costs change what is compared."""
        return self.cost is not None and self.trade_off != 0

    @property
    def changes_merit(self) -> bool:
        """Return whether a prior or a cost changes what is compared."""
        return self.prior is not None or self.has_cost

    def apply(self, merit: AnyArray, scale: float = 1.0) -> AnyArray:
        """Return what is compared in place of merits; `scale` is the merit of 1 in their unit."""
        value = apply_prior(merit, self.prior)
        # rounded before, so that equal merits at equal cost stay equal
        return round_scores(value) - self.price(scale) if self.has_cost else value

    def price(self, scale: float = 1.0) -> FloatArray:
        """Return the merit that the cost of every column is worth."""
        assert self.cost is not None
        price: FloatArray = np.multiply(self.cost, self.trade_off * scale)
        return price

    def apply_to_subset(self, merit: AnyArray, columns: IntArray, candidates: IntArray) -> AnyArray:
        r"""Return :math:`M_S - \lambda \sum_{f \in S} C_f / |S|` of columns with each candidate."""
        if not self.has_cost:
            return merit
        price = self.price()
        return np.asarray(merit - (price[columns].sum() + price[candidates]) / (len(columns) + 1))

    def put_keep_first(self, order: IntArray) -> IntArray:
        """Return an order of columns with those to keep in front."""
        return keep_first(order, self.keep)

    def take(self, features: IntArray) -> "Preference":
        """Return what the user wants of some columns, in the order given.

        A prior is not made relative to the smallest of them, so scores stay comparable with those
        of other columns.
        """
        position = {f: k for k, f in enumerate(features.tolist())}
        kept = [position[f] for f in self.keep.tolist() if f in position]
        return replace(
            self,
            keep=np.array(kept, dtype=np.int64),
            prior=None if self.prior is None else self.prior[features],
            cost=None if self.cost is None else self.cost[features],
        )

    def without_prior(self, columns: BoolArray) -> "Preference":
        """Return the preference without the prior of some columns."""
        if self.prior is None:
            return self
        return replace(self, prior=np.where(columns, 1.0, self.prior))
