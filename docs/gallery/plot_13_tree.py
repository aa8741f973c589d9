"""
A decision tree
===============

The root is on the left, and every leaf has a row. A line carries the value or the levels that lead
along it; a leaf shows its class, the weight of its training rows and, after a stroke, of those with
another class. The purer the leaf, the stronger its colour.
"""

from featly.datasets import make_cohort
from featly.learners import C45
from featly.plots.tree_plots import plot_tree

cohort = make_cohort(n_patients=200, n_genes=30)
tree = C45(schema=cohort.schema).fit(cohort.X, cohort.y)
ax = plot_tree(tree, max_depth=4)
