"""
The path of an elimination
==========================

From all columns on the left to the last on the right. A point is a column, at the number of
columns that were left when it was dropped, as high as its weight was then. Where the line of the
largest dropped weights rises, the columns that are left begin to matter.
"""

import numpy as np

from featly import AROM, SVMRFE
from featly.plots import plot_path

rng = np.random.default_rng(0)
y = np.repeat(["ill", "well"], 40)
X = rng.normal(size=(80, 300))
X[:, :6] += 1.2 * (y == "ill")[:, None]
ax = plot_path(SVMRFE().fit(X, y), n_features=10)

# %%
# AROM shrinks weights until few are left. Under each iteration stands how many columns were left
# after it.
ax = plot_path(AROM().fit(X, y), n_features=10)
