"""A table that is read once serves any labels of its rows: the outcome is that of ``fit``."""

import warnings

import numpy as np
import pytest

from featly.registry import METHODS, method_class

# one that reads a table in each way: moments, ranks, codes, packed columns, near rows, kernels
READERS = (
    "f-test", "univariate-test", "chi-squared", "information-gain", "signal-to-noise", "mrmr",
    "jmi", "cmim", "monotone-dependence", "relieff", "multisurf", "cfs", "fcbf", "svm-rfe",
    "mkl-rfe",
)  # fmt: skip


@pytest.mark.parametrize("name", [n for n in METHODS if n in READERS])
def test_a_table_is_read_once_for_all_labels(name):
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 4, (24, 4)).astype(float), np.tile([0, 1], 12)
    X[:, 0] += y
    method = method_class(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = method(n_jobs=1)._prepare(X, y)
        for labels in (y, rng.permutation(y), rng.permutation(y)):
            once = method(n_jobs=1)._fit_prepared(prepared, labels)
            anew = method(n_jobs=1).fit(X, labels)
            assert once.order_.tolist() == anew.order_.tolist()
            assert once.get_feature_names_out().tolist() == anew.get_feature_names_out().tolist()
            if hasattr(anew, "scores_"):
                assert once.scores_.tolist() == anew.scores_.tolist()
