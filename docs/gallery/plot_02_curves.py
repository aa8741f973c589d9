"""
Rate and stability by number of columns
=======================================

A line is a method: its balanced rate on rows that the selection never saw, with the band of its
95% interval. The ring is the smallest size whose rate lies within the interval of the best one.
The dashed line takes all columns, the dotted one guesses.
"""

from featly import Study
from featly.datasets import make_cohort
from featly.plots import plot_curves

cohort = make_cohort(n_patients=160, n_genes=60, effect_size=2.5)
study = Study(["none", "mim", "mrmr", "cfs"], (cohort.X, cohort.y), 10, fill=True)
results = study.run(n_jobs=1)
ax = plot_curves(results)

# %%
# The stability of the same selections: 1 where every split chose the same columns, 0 where they
# agree no more than columns drawn at random would. A size that predicts well and is not stable
# names columns that other patients would not have named.
ax = plot_curves(results, metric="stability")
