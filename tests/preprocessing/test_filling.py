"""Missing values are filled plainly, and complete columns are shared."""

import numpy as np
import polars as pl

from featly.preprocessing import fill_missing


def test_numbers_get_the_median_and_text_a_level():
    frame = pl.DataFrame(
        {
            "number": [1.0, None, 10.0, 3.0],
            "nan": [float("nan"), 7.0, 9.0, 100.0],
            "whole": [1, None, 2, 9],
            "text": ["a", None, "b", "a"],
            "category": pl.Series(["x", None, "y", "x"], dtype=pl.Categorical),
            "nothing": pl.Series([None] * 4, dtype=pl.Float64),
            "full": [1.0, 2.0, 3.0, 4.0],
        }
    )
    filled, columns = fill_missing(frame)
    assert columns == [0, 1, 2, 3, 4, 5]
    assert filled["number"].to_list() == [1.0, 3.0, 10.0, 3.0]
    assert filled["nan"].to_list() == [9.0, 7.0, 9.0, 100.0]
    assert filled["whole"].to_list() == [1.0, 2.0, 2.0, 9.0]
    assert filled["text"].to_list() == ["a", "missing", "b", "a"]
    assert filled["category"].to_list() == ["x", "missing", "y", "x"]
    assert filled["nothing"].to_list() == [0.0] * 4
    assert np.shares_memory(filled["full"].to_numpy(), frame["full"].to_numpy())


def test_an_array_is_filled_in_a_copy():
    X = np.array(
        [[1.0, np.nan, np.nan], [5.0, 2.0, np.nan], [np.nan, 4.0, np.nan], [30.0, 9, np.nan]]
    )
    before = X.copy()
    filled, columns = fill_missing(X)
    assert columns == [0, 1, 2]
    np.testing.assert_array_equal(filled, [[1, 4, 0], [5, 2, 0], [5, 4, 0], [30, 9, 0]])
    np.testing.assert_array_equal(X, before)


def test_complete_tables_are_returned_unchanged():
    frame, X = pl.DataFrame({"a": [1, 2]}), np.eye(2)
    assert fill_missing(frame)[0] is frame
    assert fill_missing(X)[0] is X
