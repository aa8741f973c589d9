"""
Groups of redundant columns
===========================

Dark squares on the diagonal are groups of columns that could stand for one another; outlined are
those whose mean association is 0.6 or more. A method that chooses one of a group need not choose
the rest, so a column that is not selected may still matter.
"""

import numpy as np

from featly.datasets import make_cohort
from featly.plots import plot_redundancy

cohort = make_cohort(n_patients=150, n_genes=40, n_redundant=4, missing_rate=0.0)
genes = [name for name in cohort.X.columns if name.startswith("G")]
correlations = np.abs(np.corrcoef(cohort.X.select(genes).to_numpy().T))
ax = plot_redundancy(correlations, genes, threshold=0.6)

# %%
# Five hundred columns: the groups have names, and no longer every column.
cohort = make_cohort(n_patients=150, n_genes=500, missing_rate=0.0)
genes = [name for name in cohort.X.columns if name.startswith("G")]
correlations = np.abs(np.corrcoef(cohort.X.select(genes).to_numpy().T))
ax = plot_redundancy(correlations, genes, threshold=0.6)
