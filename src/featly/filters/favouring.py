r"""Rankings by relevance, weighted by the schema's prior.

.. math::

    s_f \mapsto \beta_f s_f \quad (s_f \ge 0), \qquad s_f \mapsto s_f / \beta_f \quad (s_f < 0)

:math:`\beta_f \ge 1` is the prior of the schema: Helleputte, T. and Dupont, P. (2009), Partially
supervised feature selection with regularized linear models, *ICML 2009*, 409-416. They scale the
columns of a linear model by it; here it scales the relevance that a filter measures. A relevance of
0 stays 0.
"""

from typing import Any

import numpy as np

from featly.base import Problem, Ranking, keep_first
from featly.core.ranking.ordering import apply_prior, best_first

__all__ = ["rank_with_prior", "relative_prior"]

MOST_PRIOR = 1e12  # beyond it the prior alone decides, and the schema's `keep` says that better


def relative_prior(method: Any, problem: Problem) -> np.ndarray | None:
    """Return the prior of every column over the smallest; None if no column has one."""
    return problem.prior(type(method).__name__, most=MOST_PRIOR)


def rank_with_prior(
    problem: Problem,
    relevance: np.ndarray,
    prior: np.ndarray | None,
    attributes: dict[str, Any] | None = None,
) -> Ranking:
    """Rank columns by their relevance, weighted by the prior.

    The relevance becomes the attribute `relevance_`. With a prior it is a column of ``table()`` as
    well; without one it equals the score, which ``table()`` has.
    """
    scores = apply_prior(relevance, prior)
    extra, own_attributes = {"relevance": relevance}, attributes or {}
    return Ranking(
        order=keep_first(best_first(scores), problem.columns.keep),
        scores=scores,
        extra={} if prior is None else extra,
        attributes=own_attributes | extra if prior is None else own_attributes,
    )
