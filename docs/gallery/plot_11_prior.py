"""
The effect of a prior
=====================

A line is a column, from its rank without the prior on the left to its rank with it on the right.
▲ came into the signature, ▼ went out, * is favoured. On the right, what that did to the predictions
and to the stability: an interval across 0 means that no difference can be shown.
"""

import numpy as np

from featly import SignalToNoise
from featly.plots import plot_prior
from featly.study import prior_report

rng = np.random.default_rng(0)
y = np.repeat(["ill", "well"], 30)
X = rng.normal(size=(60, 300))
X[:, :8] += 0.8 * (y == "ill")[:, None]
ranker = SignalToNoise(schema={"prior": {"x6": 10, "x7": 10, "x100": 4}})
report = prior_report(ranker, X, y, size=10, splits=15, n_jobs=1)
ax = plot_prior(report, n_features=16)
