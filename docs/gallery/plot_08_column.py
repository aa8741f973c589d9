"""
One column against the class
============================

Numbers: the box holds the middle half of the values of a class, the thick line is the median, thin
lines reach to the 5% and 95% quantiles, and every point is a patient. The more the boxes lie
apart, the more the column predicts by itself.
"""

from featly.datasets import make_cohort
from featly.plots import plot_column

cohort = make_cohort(n_patients=200, n_genes=40)
ax = plot_column(cohort.X, cohort.y, "crp", schema=cohort.schema)

# %%
# Levels: a bar for each class, as thick as the class is large, cut into the shares of the levels.
# Numbers are patients.
ax = plot_column(cohort.X, cohort.y, "stage", schema=cohort.schema)

# %%
# For pages that others will see: no patient is drawn, figures are rounded, and groups of fewer
# than ten are left out.
ax = plot_column(cohort.X, cohort.y, "crp", schema=cohort.schema, individuals=False)
