"""Associations of columns against scipy, pair by pair."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly import DataError, Schema
from featly.diagnostics import association, associations
from tests.reference import association as reference

TEXTS = st.sampled_from(["a", "b", "c", None])
NUMBERS = st.one_of(st.none(), st.integers(-3, 3).map(float))


@st.composite
def tables(draw):
    n_rows = draw(st.integers(2, 12))
    kinds = draw(st.lists(st.booleans(), min_size=2, max_size=6))
    columns = [
        draw(st.lists(NUMBERS if kind else TEXTS, min_size=n_rows, max_size=n_rows))
        for kind in kinds
    ]
    return kinds, columns


def frame_of(kinds, columns):
    return pl.DataFrame(
        [
            pl.Series(f"c{k}", column, dtype=pl.Float64 if kind else pl.String)
            for k, (kind, column) in enumerate(zip(kinds, columns, strict=True))
        ]
    )


@settings(deadline=None, max_examples=150)
@given(tables(), st.booleans())
def test_agrees_with_reference(table, few):
    kinds, columns = table
    with pytest.MonkeyPatch.context() as patch:
        if few:  # every way to count, and blocks of a single column
            patch.setattr(association, "FEW_LEVELS", 1)
            patch.setattr(association, "BLOCK_CELLS", 1)
        strengths = associations(frame_of(kinds, columns))
    p = len(columns)
    for i in range(p):
        for j in range(p):
            expected = reference.association(columns[i], columns[j], numbers=(kinds[i], kinds[j]))
            assert strengths[i, j] == pytest.approx(expected, abs=1e-7), (i, j)


def test_identities():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    X[:, 1] = np.exp(-3 * X[:, 0])  # the order is all that counts
    X[:, 5] = 4.0
    strengths = associations(X)
    assert np.allclose(strengths, strengths.T)
    assert strengths[0, 1] == pytest.approx(1.0)
    assert np.allclose(np.diag(strengths), [1, 1, 1, 1, 1, 0])
    assert not strengths[5].any()
    subset = associations(X, [3, 0])
    assert np.array_equal(subset, strengths[[3, 0]])
    assert np.allclose(associations(scipy.sparse.csr_array(X)), strengths)


def test_names_and_schema():
    frame = pl.DataFrame({"ward": [1, 2, 1, 2], "x": [1.0, 1.0, 9.0, 9.0]})
    assert associations(frame, ["ward"])[0].tolist() == [1.0, 0.0]
    labels = associations(frame, ["ward"], schema=Schema(categorical=["ward", "x"]))
    assert labels[0].tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="'age' is no column of the table"):
        associations(frame, ["age"])
    with pytest.raises(DataError, match="positions run from 0 to 1"):
        associations(frame, [2])


def test_an_identifier_goes_with_nothing_and_a_copy_with_its_column():
    rng = np.random.default_rng(0)
    n = 120
    many = rng.integers(0, 40, n).astype(str)
    frame = pl.DataFrame(
        {
            "name": [f"P{k}" for k in range(n)],
            "many": many,
            "copy": np.char.add("level ", many),
            "site": rng.choice(["n", "s"], n),
            "x": rng.normal(size=n),
        }
    )
    strengths = associations(frame)
    assert not strengths[0].any()
    assert strengths[1, 2] == pytest.approx(1.0)
    assert strengths[1, 3] < 0.3  # 0.55 without the correction
    assert strengths[1, 4] < 0.3
    assert strengths[3, 3] == pytest.approx(1.0)
