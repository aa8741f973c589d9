"""
Agreement of methods
====================

Each column of dots is a group of features that exactly the methods with a filled dot chose; the
bar above counts them. What all chose, in orange, does not depend on the method. Bars on the left
count what each chose.
"""

from featly import CFS, FCBF, JMI, MIM, MRMR
from featly.datasets import make_cohort
from featly.plots import plot_overlap

cohort = make_cohort(n_patients=150, n_genes=200)
size = {"n_features_to_select": 12}
chosen = {}
for method in (MIM(**size), MRMR(**size), JMI(**size), CFS(), FCBF()):
    fitted = method.fit(cohort.X, cohort.y)
    chosen[type(method).__name__] = fitted.get_feature_names_out()
ax = plot_overlap(chosen)
