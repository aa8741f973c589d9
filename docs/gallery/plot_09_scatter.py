"""
Two columns together
====================

Classes have a colour and a marker each. Columns that predict little alone may separate the classes
together. Patients without a value stand in the margin.
"""

from featly.datasets import make_cohort
from featly.plots import plot_scatter

cohort = make_cohort(n_patients=200, n_genes=40)
ax = plot_scatter(cohort.X, cohort.y, ["age", "crp"], schema=cohort.schema)

# %%
# Levels on one axis: rows are moved apart, each class in its lane.
ax = plot_scatter(cohort.X, cohort.y, ["stage", "crp"], schema=cohort.schema)

# %%
# Without individuals, a cross marks the median and the quartiles of each class, and an ellipse its
# middle half.
ax = plot_scatter(cohort.X, cohort.y, ["age", "crp"], schema=cohort.schema, individuals=False)
