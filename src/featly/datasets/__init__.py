"""Tables to try methods on: made ones, of which the truth is known.

Examples
--------
>>> from featly.datasets import make_cohort
>>> cohort = make_cohort(n_patients=50, n_genes=100)
>>> cohort.X.shape, len(cohort.y)
((50, 111), 50)
"""

from featly.datasets.cohort import Cohort, make_cohort

__all__ = ["Cohort", "make_cohort"]
