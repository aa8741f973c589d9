"""
Frequency of columns over splits
================================

A bar shows in which share of the splits a column is among the best ten. Far right of the dotted
line, which is chance, a column does not hang on a few patients. In the middle stand columns that
come and go with their rivals, often copies of each other.
"""

from featly import Study
from featly.datasets import make_cohort
from featly.plots import plot_frequencies

cohort = make_cohort(n_patients=100, n_genes=60)
results = Study("mim", (cohort.X, cohort.y), 20, sizes=[10]).run(n_jobs=1)
ax = plot_frequencies(results, size=10, n_features=25)
