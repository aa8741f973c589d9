"""Tables of whole numbers of every kind that counting must get right."""

import numpy as np

from featly.core.counts.codes import Codes
from featly.core.counts.whole_numbers import whole_codes
from featly.core.sources import DenseSource

LAYOUTS = ("rows", "columns")


def make_table(seed, n, p, levels=3, dtype=np.uint8, missing=0.0, n_classes=2):
    """Make columns of a few levels, some tied, duplicated or constant, and classes."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X = random.integers(0, levels, (n, p))
    is_informative = random.random((n, p)) < random.random(p) * 0.6
    X = np.where(is_informative, (y[:, None] + np.arange(p)) % levels, X)
    if p > 6:
        X[:, 3] = X[:, 0]  # a duplicate
        X[:, 4] = levels - 1 - X[:, 0]  # the same, by other names
        X[:, 5] = 1  # a constant
        X[:, 6] = X[:, 0] == 0  # fewer levels
    if np.dtype(dtype).kind in "if":
        X = X - 2
    X = X.astype(dtype)
    if missing:
        X[random.random((n, p)) < missing] = np.nan
        if p > 7:
            X[:, 7] = np.nan
    return X, y


def lay_out(X, layout):
    """Return the same table, row-major or feature-major."""
    return np.asfortranarray(X) if layout == "columns" else np.ascontiguousarray(X)


def codes_on_host(X) -> Codes:
    """Return the codes that the CPU counts."""
    values = X if X.dtype.kind in "iu" else X.astype(np.float64)
    return whole_codes(DenseSource(values))
