import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.diagnostics import concept_shift, shift


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_distances_are_those_of_the_rows_of_each_class(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 15, 2)
    tables = [np.round(rng.normal(size=(n, 2)), 1) for n in sizes]
    labels = [np.array(list("bbaa") + rng.choice(["a", "b"], n - 4).tolist()) for n in sizes]
    result = concept_shift(tables[0], labels[0], tables[1], labels[1], n_permutations=9)
    assert result.classes.tolist() == ["a", "b"]
    for k, label in enumerate("ab"):
        parts = [X[y == label] for X, y in zip(tables, labels, strict=True)]
        for f in range(2):
            expected = stats.ks_2samp(parts[0][:, f], parts[1][:, f], method="asymp").statistic
            assert result.distance[k, f] == pytest.approx(expected)
        assert result.shares[:, k] == pytest.approx([(y == label).mean() for y in labels])
    assert result.adjusted_p_values.min() >= 0.1
    assert 0.1 <= result.p_value <= 1


def test_prior_shift_alone_is_no_concept_shift():
    """The class decides the columns; only its share changes, from 80% to 20%."""
    rng = np.random.default_rng(3)
    y, later = (rng.random(300) < share for share in (0.8, 0.2))
    X, X_later = (rng.normal(size=(300, 4)) + 2 * part[:, None] for part in (y, later))
    result = concept_shift(X, y, X_later, later, n_permutations=199)
    assert result.prior_p_value == 0.005
    assert not result.shifted()
    assert result.p_value > 0.05
    assert len(shift(X, X_later, n_permutations=199).shifted()) == 4  # which sees both mixed
    assert "shares of the classes (False 19% and 76%" in str(result)


def test_the_classes_of_one_column_change_places():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    frame = pl.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120) + y})
    frame = frame.with_columns(kind=pl.Series(np.array(list("xyz"))[y]))
    swapped = frame.with_columns(kind=pl.Series(np.array(list("zyx"))[y]))
    result = concept_shift(frame, y, swapped, y, n_permutations=199)
    assert result.shifted() == ["kind"]
    assert result.p_value == 0.005
    table = pl.DataFrame(result.to_frame())
    assert table.filter(pl.col("column") == "kind")["distance"].to_list() == [1.0]
    assert "kind: 1.00 in 0 (p = 0.005)" in str(result)


@pytest.mark.thorough
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.8, 0.3)])
def test_error_rates(shares):
    """False alarms at 5%, in 400 pairs of tables of which at most the shares differ."""
    rng = np.random.default_rng(11)
    alarms = np.zeros(2)
    for seed in range(400):
        labels = [rng.random(40) < share for share in shares]
        labels = [np.r_[part, [True, True, False, False]] for part in labels]
        tables = [rng.normal(size=(44, 5)) + part[:, None] for part in labels]
        result = concept_shift(
            tables[0], labels[0], tables[1], labels[1], n_permutations=99, random_state=seed
        )
        alarms += [len(result.shifted()) > 0, result.p_value <= 0.05]
    assert (stats.binom.sf(alarms - 1, 400, 0.05) > 1e-3).all(), alarms


def test_classes_without_two_rows_in_both_tables_are_left_out():
    X = np.random.default_rng(0).normal(size=(6, 2))
    result = concept_shift(X, list("aabbcc"), X, list("aabbbd"), n_permutations=9)
    assert result.classes.tolist() == ["a", "b"]
    assert result.left_out == ["c", "d"]
    assert "classes left out: c, d" in str(result)
    with pytest.raises(DataError, match="no class has two rows in both tables"):
        concept_shift(X, list("aaabbb"), X, list("cccddd"))
    with pytest.raises(DataError, match="y_test has 3 entries and its table 6 rows"):
        concept_shift(X, list("aaabbb"), X, list("aab"))
    with pytest.raises(ParameterError, match="n_permutations=0"):
        concept_shift(X, list("aaabbb"), X, list("aaabbb"), n_permutations=0)
