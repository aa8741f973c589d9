import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import ParameterError
from featly.filters.fcbf import FCBF
from featly.preprocessing import MDLP
from tests.filters.test_cfs import lists, tables
from tests.reference import subset_filters as naive


@given(
    tables(), st.booleans(), st.sampled_from([0.0, 0.1]), st.booleans(),
    st.sampled_from(["drop", "keep"]),
)  # fmt: skip
def test_equals_definition(table, spread, threshold, has_keep, ties):
    X, y = table
    keep = list(range(X.shape[1] - 1, max(X.shape[1] - 3, -1), -1)) if has_keep else []
    selector = FCBF(
        threshold=threshold,
        ties=ties,
        discretizer=None,
        missing="spread" if spread else "level",
        schema={"keep": keep},
    ).fit(X, y)
    columns, labels = lists(X, y)
    scores = [naive.uncertainty(column, labels, spread) for column in columns]
    assert selector.uncertainty_ == pytest.approx(scores, abs=1e-9)
    expected = naive.fcbf(columns, labels, threshold, keep, spread, keep_ties=ties == "keep")
    assert selector.empty_ == (max(scores) <= threshold)
    assert selector.order_.tolist() == (expected or naive.descending(scores)[:1])
    for f, other in enumerate(selector.redundant_to_.tolist()):
        if other < 0:
            assert f in selector.order_ or scores[f] <= threshold
        else:
            uncertainty = naive.uncertainty(columns[f], columns[other], spread)
            assert f not in selector.order_
            assert other in selector.order_
            assert uncertainty >= scores[f] - 1e-9


def test_ties_are_dropped_or_kept():
    """Two columns that tell the classes without an error: their uncertainties are all 1."""
    X, y = np.array([[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]]), [0, 0, 1, 1]
    assert FCBF(discretizer=None).fit(X, y).order_.tolist() == [0]
    assert FCBF(discretizer=None, ties="keep").fit(X, y).order_.tolist() == [0, 1]
    with pytest.raises(ParameterError, match="ties='both': give 'drop' or 'keep'"):
        FCBF(ties="both").fit(X, y)


def test_every_chosen_column_is_predominant():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = np.where(rng.random((100, 200)) < rng.random(200) * 0.4, y[:, None], 0)
    X += rng.integers(0, 2, X.shape)
    selector = FCBF(discretizer=None).fit(X, y)
    chosen = selector.order_.tolist()
    assert len(chosen) > 3
    assert (np.diff(selector.uncertainty_[chosen]) <= 0).all()
    for i, f in enumerate(chosen):
        for g in chosen[:i]:
            assert naive.uncertainty(X[:, f].tolist(), X[:, g].tolist()) < selector.uncertainty_[f]
    assert selector.order_.tolist() == naive.fcbf((X + 1).T.tolist(), (y + 1).tolist())


def test_table_has_the_uncertainty():
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2]})
    table = FCBF(discretizer=None).fit(frame, [0, 0, 1, 1]).table()
    assert table.columns == ["feature", "kind", "selected", "evidence", "uncertainty"]
    assert table["uncertainty"].to_list() == [1.0, 0.0]


def test_leukemia_has_51_predominant_columns(data_folder):
    frame = pl.read_parquet(data_folder / "leukemia_golub.parquet")
    selector = FCBF(discretizer=MDLP()).fit(frame.drop("split", "class"), frame["class"])
    assert len(selector.order_) == 51
    assert not selector.empty_
    assert ((selector.redundant_to_ >= 0) | selector.support_).sum() == 1012


@pytest.mark.parametrize("threshold", [-0.1, 1, 2.0, True, "low", None, float("nan")])
def test_wrong_thresholds_are_named(threshold):
    with pytest.raises(ParameterError, match=re.escape(f"threshold={threshold!r}")):
        FCBF(threshold=threshold).fit(np.eye(4), [0, 1, 0, 1])
