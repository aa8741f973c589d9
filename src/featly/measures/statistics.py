r"""Tests of differences between methods over many runs, and intervals of their means.

.. math::

    CD = q_\alpha \sqrt{\frac{k (k + 1)}{6 N}}, \qquad
    \operatorname{var}(\bar d) = \Bigl(\frac{1}{J} + \frac{n_{test}}{n_{train}}\Bigr) s^2

Demšar, J. (2006), Statistical comparisons of classifiers over multiple data sets, *Journal of
Machine Learning Research* 7, 1-30.

Questions and the tests that answer them:

============================================== ==================================================
Do methods differ over several datasets?       :func:`friedman`
Which of them do, all with all?                :func:`nemenyi`, or :func:`wilcoxon_holm`
Is one better than each of the others?         :func:`wilcoxon_holm` with a control
Do unpaired runs differ, and which? (the book) :func:`kruskal_tukey`
Do two methods differ on one dataset?          :func:`corrected_resampled_t` over its splits
How sure is a mean over the splits?            :func:`corrected_interval`
============================================== ==================================================

The splits of one dataset share rows. Used as blocks or as a sample, they make any small
difference significant once there are enough of them; the last two functions allow for that.
"""

from featly.measures.corrected_t import (
    TTest,
    corrected_interval,
    corrected_resampled_t,
    plain_interval,
)
from featly.measures.friedman import Friedman, Nemenyi, friedman, nemenyi
from featly.measures.kruskal_tukey import KruskalTukey, kruskal_tukey
from featly.measures.wilcoxon import WilcoxonHolm, holm, holm_levels, wilcoxon_holm

__all__ = [
    "Friedman",
    "KruskalTukey",
    "Nemenyi",
    "TTest",
    "WilcoxonHolm",
    "corrected_interval",
    "corrected_resampled_t",
    "friedman",
    "holm",
    "holm_levels",
    "kruskal_tukey",
    "nemenyi",
    "plain_interval",
    "wilcoxon_holm",
]
