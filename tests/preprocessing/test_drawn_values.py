"""Missing values filled with values of the same column: nothing is learnt from what is missing."""

import warnings

import numpy as np
import polars as pl
import pytest

from featly.base import Ranker
from featly.preprocessing import Filler, fill_missing
from featly.registry import METHODS, method_class


def table_with_gaps(seed=0, n=300, p=12):
    """Return a marker, x1, and noise in the last column, missing in one class more often."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, p))
    X[:, 1] += 2.0 * y
    X[rng.random(n) < np.where(y == 1, 0.6, 0.2), -1] = np.nan
    return X, y


def test_drawn_values_have_the_distribution_of_the_known_ones():
    X = table_with_gaps()[0]
    known = np.sort(X[~np.isnan(X[:, -1]), -1])
    is_missing = np.isnan(X[:, -1])
    filled, columns = fill_missing(X, "draw")
    assert columns == [11]
    drawn = filled[is_missing, -1]
    assert set(drawn) <= set(known)
    count = is_missing.sum()
    expected = known[((np.arange(count) + 0.5) / count * len(known)).astype(int)]
    assert np.array_equal(np.sort(drawn), expected)
    assert np.array_equal(filled[~is_missing], X[~is_missing])
    again = fill_missing(X, "draw")[0]
    assert np.array_equal(filled, again)
    other = Filler(rule="draw", random_state=1).fit_transform(X)
    assert not np.array_equal(filled, other)


def test_frames_keep_their_levels_and_dtypes():
    frame = pl.DataFrame(
        {"age": [50, None, 70, 60], "sex": ["f", "m", None, None], "empty": [None] * 4},
        schema={"age": pl.Int64, "sex": pl.Categorical, "empty": pl.Float64},
    )
    filled = Filler(rule="draw").fit_transform(frame)
    assert filled["sex"].dtype == pl.Categorical
    assert set(filled["sex"].cast(str)) == {"f", "m"}
    assert filled["age"].to_list() == [50, 60, 70, 60]
    assert filled["empty"].to_list() == [0.0] * 4
    rows = Filler(rule="draw").fit(frame).transform(frame[2:])
    assert rows["sex"].null_count() == 0


def ranks_of_gaps(name, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"n_trees": 100} if name == "forest" else {}
        method = method_class(name)(**settings).fit(X, y)
    order = np.asarray(method.order_).tolist()
    return method._reads_missing, order.index(11)


@pytest.mark.parametrize(
    "name",
    [n for n, m in METHODS.items() if m.missing and n != "hybrid-forward"
     and issubclass(method_class(n), Ranker) and method_class(n)()._missing],
)  # fmt: skip
def test_what_is_missing_chooses_a_column_in_methods_that_read_it_and_in_none_by_values(name):
    X, y = table_with_gaps()
    reads, rank = ranks_of_gaps(name, X, y)
    filled = fill_missing(X, "draw")[0]
    _, rank_by_values = ranks_of_gaps(name, filled, y)
    if reads:
        assert rank <= 1
    assert rank_by_values > 1 or not reads
