import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.diagnostics import shift
from tests.reference import complexity as naive


@st.composite
def two_tables(draw):
    """Draw numbers and levels with ties and missing values; some columns constant or empty."""
    sizes = draw(st.tuples(st.integers(2, 8), st.integers(2, 8)))
    number = st.sampled_from([0.0, 1.0, 1.5, -3.0, None])
    level = st.sampled_from(["a", "b", "c", None])
    tables = [[(draw(number), draw(level)) for _ in range(n)] for n in sizes]
    tables[0][0] = (0.0, "a")  # else the first table has nothing to tell kinds by
    return tables


def frame(rows):
    return pl.DataFrame(
        {
            "x": pl.Series([row[0] for row in rows], dtype=pl.Float64),
            "g": pl.Series([row[1] for row in rows], dtype=pl.String),
        }
    )


def missing(cells):
    return sum(cell is None for cell in cells) / len(cells)


@settings(max_examples=40)
@given(two_tables())
def test_distances_are_their_definitions(tables):
    result = shift(*map(frame, tables), n_permutations=9)
    (x1, g1), (x2, g2) = (list(zip(*table, strict=True)) for table in tables)
    expected = [naive.kolmogorov_smirnov(x1, x2), naive.total_variation(g1, g2)]
    assert result.distance == pytest.approx(expected)
    missing_differences = [missing(x2) - missing(x1), missing(g2) - missing(g1)]
    assert result.missing_difference == pytest.approx(missing_differences)
    D = naive.heom([list(row) for row in tables[0] + tables[1]], [True, False])
    assert result.energy == pytest.approx(naive.energy(D, len(tables[0])), abs=1e-9)
    fresh = sorted({g for g in g2 if g is not None} - set(g1))
    assert result.new_levels == ({"g": fresh} if fresh else {})
    assert (result.adjusted_p_values >= result.p_values - 1e-12).all()


def test_distances_agree_with_scipy():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(50, 4)).round(1), rng.normal(size=(70, 4)).round(1)
    result = shift(first, second, n_permutations=9)
    peer = [stats.ks_2samp(a, b).statistic for a, b in zip(first.T, second.T, strict=True)]
    assert result.distance == pytest.approx(peer)


def test_p_values_of_one_column_agree_with_the_exact_test():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(9, 1)), rng.normal(size=(8, 1)) + 0.9
    exact = stats.ks_2samp(first[:, 0], second[:, 0], method="exact").pvalue
    result = shift(first, second, n_permutations=4999)
    assert result.p_values[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 5000))
    assert result.adjusted_p_values[0] == result.p_values[0]


def test_p_values_are_uniform_without_a_shift():
    rng = np.random.default_rng(2)
    overall, least, single = [], [], []
    for _ in range(200):
        X = rng.standard_t(2, size=(40, 5))
        X[:, 1] = X[:, 0] + 0.1 * X[:, 1]  # columns that go together
        X[rng.random(X.shape) < 0.1] = np.nan
        result = shift(X[:25], X[25:], n_permutations=39, random_state=int(rng.integers(1 << 30)))
        overall.append(result.p_value)
        least.append(result.adjusted_p_values.min())
        single.append(result.p_values[2])
    for p in map(np.array, (overall, least, single)):
        for level in (0.05, 0.25, 0.5, 0.75):
            error = 4 * np.sqrt(level * (1 - level) / 200)
            assert (p <= level).mean() <= level + error
            assert (p <= level).mean() >= level - error - 0.05  # ties make them a little larger


def test_a_shift_is_found_in_its_column():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(60, 50)), rng.normal(size=(50, 50))
    second[:, 7] += 2
    second[rng.random(50) < 0.5, 20] = np.nan
    result = shift(first, second)
    assert set(result.shifted()) == {"x7", "x20"}
    assert result.p_values[7] == result.adjusted_p_values[7] == 0.001
    assert result.missing_difference[20] > 0.3
    assert "2 of 50 columns differ" in str(result)
    table = result.to_frame()
    assert table["column"].to_list() == [f"x{f}" for f in range(50)]


def test_many_small_shifts_and_changed_correlations_are_found_together():
    rng = np.random.default_rng(4)
    first, second = rng.normal(size=(60, 100)), rng.normal(size=(60, 100)) + 0.3
    assert shift(first, second).p_value <= 0.002
    first, second = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    second[:, 1] = np.where(
        rng.random(300) < 0.95, np.sign(second[:, 0]), -np.sign(second[:, 0])
    ) * np.abs(second[:, 1])
    result = shift(first, second)
    assert result.p_value <= 0.01
    assert not result.shifted()


def test_large_tables_are_sampled_for_the_test_only():
    rng = np.random.default_rng(5)
    first, second = rng.normal(size=(3000, 2)), rng.normal(size=(2000, 2))
    second[:, 1] += 0.3
    result = shift(first, second, max_rows=200)
    assert result.n_used == 400
    assert (result.n_first, result.n_second) == (3000, 2000)
    peer = [stats.ks_2samp(a, b).statistic for a, b in zip(first.T, second.T, strict=True)]
    assert result.distance == pytest.approx(peer)


def test_missing_values_alone_are_a_difference():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 2))
    X[40:60, 1] = np.nan
    result = shift(X[:40], X[40:], n_permutations=199)
    assert result.shifted() == ["x1"]
    assert result.p_values[1] == 1 / 200
    assert result.p_values[0] > 0.05
    assert "x1: missing +50% (p = 0.005)" in str(result)
    assert shift(X[40:], X[:40], n_permutations=199).missing_difference[1] == -0.5


def test_few_rows_with_ties_give_no_false_alarms():
    rng = np.random.default_rng(8)
    for sizes in ((5, 5), (3, 30)):
        least, overall = [], []
        for seed in range(120):
            X = rng.integers(0, 3, size=(sum(sizes), 6)).astype(float)
            result = shift(X[: sizes[0]], X[sizes[0] :], n_permutations=19, random_state=seed)
            assert result.p_values.min() >= 1 / 20
            least.append(result.adjusted_p_values.min())
            overall.append(result.p_value)
        for p in (least, overall):
            assert np.mean(np.array(p) <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 120)


def test_threads_do_not_matter():
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(30, 200)), rng.normal(size=(20, 200))
    a, b = shift(first, second, n_jobs=1), shift(first, second, n_jobs=2)
    assert (a.adjusted_p_values == b.adjusted_p_values).all()
    assert a.energy == b.energy


def test_wrong_tables():
    first, second = pl.DataFrame({"a": [1, 2], "b": [1, 2]}), pl.DataFrame({"a": [1, 2]})
    with pytest.raises(DataError, match="column 'b' is not in the second table"):
        shift(first, second)
    with pytest.raises(DataError, match="column 'b' is not in the first table"):
        shift(second, first)
    with pytest.raises(DataError, match="test has 1 row"):
        shift(first, first[:1])
    with pytest.raises(DataError, match="test has no rows"):
        shift(first, first[:0])
    with pytest.raises(ParameterError, match="random_state='a'"):
        shift(first, first, random_state="a")
    with pytest.raises(ParameterError, match="n_permutations=0"):
        shift(first, first, n_permutations=0)
