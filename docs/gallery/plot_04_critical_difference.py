"""
Critical difference of methods
==============================

Mean ranks of methods over several problems, the best on the left. A thick bar joins methods that
do not differ significantly on these problems: their ranks differ by less than the critical
difference on top. That does not make them equal; more problems make the ruler shorter.
"""

import numpy as np

from featly.measures.statistics import nemenyi
from featly.plots import plot_critical_difference

rng = np.random.default_rng(0)
methods = ["mRMR", "JMI", "ReliefF", "SVM-RFE", "CFS", "F test", "gain ratio"]
better = np.array([0.02, 0.02, 0.0, 0.03, -0.01, -0.02, -0.03])
accuracy = 0.8 + better + 0.02 * rng.normal(size=(24, len(methods)))
ax = plot_critical_difference(nemenyi(accuracy, methods))
