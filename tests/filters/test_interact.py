import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import ParameterError
from featly.filters.interact import Interact
from tests.filters.test_cfs import lists, tables
from tests.reference import subset_filters as naive


@given(tables(), st.booleans(), st.sampled_from([0.0001, 0.1, 0.3]), st.booleans())
def test_equals_definition(table, spread, threshold, has_keep):
    X, y = table
    keep = [X.shape[1] - 1] if has_keep else []
    selector = Interact(
        threshold=threshold,
        discretizer=None,
        missing="spread" if spread else "level",
        schema={"keep": keep},
    ).fit(X, y)
    columns, labels = lists(X, y)
    expected, contributed = naive.interact(columns, labels, threshold, keep, spread)
    assert selector.contribution_ == pytest.approx(contributed)
    assert selector.empty_ == (not expected)
    scores = [naive.uncertainty(column, labels, spread) for column in columns]
    expected = expected or naive.descending(scores)[:1]
    assert selector.order_.tolist() == expected
    rate = naive.count_inconsistent([columns[f] for f in expected], labels) / len(y)
    assert selector.rate_ == pytest.approx(rate)


def test_exclusive_or_is_found_where_columns_have_levels():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 6))
    X[:, 4:] = X[:, [0, 0]]
    selector = Interact(discretizer=None).fit(X, X[:, 1] ^ X[:, 3])
    assert set(selector.order_.tolist()) == {1, 3}
    assert selector.rate_ == 0
    assert selector.contribution_[[1, 3]].min() > 0.3


def test_monk_problems_stay_consistent(data_folder):
    for name in ("monk1", "monk2", "monk3"):
        frame = pl.read_parquet(data_folder / f"{name}.parquet")
        X, y = frame.drop("split", "class"), frame["class"]
        selector = Interact().fit(X, y)
        columns = [column.to_physical().to_list() for column in X]
        assert selector.rate_ == naive.count_inconsistent(columns, y.to_list()) / len(y)
        assert {"monk1": {0, 1, 4}, "monk2": set(range(6))}.get(name, {1, 3, 4}) <= set(
            selector.order_.tolist()
        )


@pytest.mark.parametrize("threshold", [0, -0.1, 1, True, "low", None, float("nan")])
def test_wrong_thresholds_are_named(threshold):
    with pytest.raises(ParameterError, match=re.escape(f"threshold={threshold!r}")):
        Interact(threshold=threshold).fit(np.eye(4), [0, 1, 0, 1])
