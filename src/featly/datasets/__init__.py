"""Synthetic tables, of which it is known which columns matter.

Examples
--------
>>> from featly.datasets import make_cohort, make_problem
>>> cohort = make_cohort(n_patients=50, n_genes=100)
>>> cohort.X.shape, len(cohort.y)
((50, 111), 50)
>>> make_problem("xor-100")
Synthetic(xor-100: 50 rows, 2 classes, 99 columns: 2 relevant, 0 redundant, 97 irrelevant)
"""

from featly.datasets.artificial import artificial_means, make_artificial
from featly.datasets.cohort import Cohort, make_cohort
from featly.datasets.genes import make_sd, sd_means
from featly.datasets.logical import (
    make_corral,
    make_corral_100,
    make_led,
    make_monk,
    make_parity,
    make_xor_100,
)
from featly.datasets.madelon import make_madelon
from featly.datasets.problems import PROBLEMS, make_problem
from featly.datasets.synthetic import Synthetic

__all__ = [
    "PROBLEMS",
    "Cohort",
    "Synthetic",
    "artificial_means",
    "make_artificial",
    "make_cohort",
    "make_corral",
    "make_corral_100",
    "make_led",
    "make_madelon",
    "make_monk",
    "make_parity",
    "make_problem",
    "make_sd",
    "make_xor_100",
    "sd_means",
]
