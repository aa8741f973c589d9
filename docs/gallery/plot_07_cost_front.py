"""
Cost and error of signatures
============================

A point is a method at a size: what its columns cost to measure, and its error on rows that it
never saw. Filled points are on the front: nothing is both cheaper and better. Go down the steps
until the next one costs more than it is worth to you.
"""

from featly import Study
from featly.datasets import make_cohort
from featly.plots import plot_cost_front

cohort = make_cohort(n_patients=160, n_genes=60, effect_size=2.5)
results = Study(["mim", "mrmr", "jmi"], (cohort.X, cohort.y), 10, fill=True).run(n_jobs=1)
costs = {name: 20.0 if name.startswith("G") else 1.0 for name in cohort.X.columns}
ax = plot_cost_front(results, costs)
