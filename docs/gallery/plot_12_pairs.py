"""
Columns and pairs of classes
============================

A row is a column of the table, a column of the map a pair of classes; the darker, the nearer to
the top of that pair's own list. A few dark cells in a pale row are a column that separates one
class from the others; a row of medium shade helps everywhere.
"""

from featly import FTest, PairwiseRanker
from featly.datasets import make_artificial
from featly.plots import plot_pairs

problem = make_artificial(1)
ranker = PairwiseRanker(FTest()).fit(problem.X, problem.y)
ax = plot_pairs(ranker, n_features=20)
