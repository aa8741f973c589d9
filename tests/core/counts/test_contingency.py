import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from featly.core.counts import contingency, fisher_exact
from featly.core.counts.contingency import Tables, chi2_tail, chi_squared, count_tables, fisher
from tests.reference import contingency as naive


def join_tables(*tables):
    """Join tables, levels x classes, into one object."""
    arrays = [np.asarray(table, dtype=np.int64) for table in tables]
    start = np.concatenate([[0], np.cumsum([array.size for array in arrays])])
    return Tables(np.concatenate([a.ravel() for a in arrays]), start, arrays[0].shape[1])


def p_value(table, **parameters):
    return float(np.exp(fisher(join_tables(table), **parameters).log_p[0]))


@st.composite
def small_tables(draw):
    """Draw tables so small that all others with the same margins can be listed."""
    n_levels, n_classes = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    cells = n_levels * n_classes
    total = draw(st.integers(0, 14 if cells <= 8 else 8))
    occupied_cells = draw(st.lists(st.integers(0, cells - 1), min_size=total, max_size=total))
    return np.bincount(occupied_cells, minlength=cells).reshape(n_levels, n_classes)


@given(small_tables())
def test_fisher_is_the_sum_over_all_tables(table):
    result = fisher(join_tables(table))
    assert np.exp(result.log_p[0]) == pytest.approx(float(naive.fisher(table.tolist())), rel=1e-12)
    observed = naive.probability(table.tolist())
    assert np.exp(result.log_probability[0]) == pytest.approx(float(observed), rel=1e-12)
    assert not result.drawn[0]


@given(small_tables())
def test_chi_squared_equals_reference(table):
    statistic, freedom = chi_squared(join_tables(table))
    expected = naive.chi_squared(table.tolist())
    assert statistic[0] == pytest.approx(float(expected[0]), rel=1e-12, abs=0)
    assert freedom[0] == expected[1]


def test_chi_squared_agrees_with_scipy():
    table = np.random.default_rng(0).integers(1, 50, size=(7, 4))
    expected = stats.chi2_contingency(table, correction=False)
    statistic, freedom = chi_squared(join_tables(table))
    assert (statistic[0], freedom[0]) == pytest.approx((expected.statistic, expected.dof))


@pytest.mark.parametrize("n", [10, 100, 3000])
def test_two_by_two_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    tables = rng.multinomial(n, rng.dirichlet(np.ones(4), size=60)).reshape(-1, 2, 2)
    p_values = np.exp(fisher(join_tables(*tables)).log_p)
    expected = [stats.fisher_exact(table)[1] for table in tables]
    assert p_values == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[3, 1], [1, 3]], 0.4857),  # Fisher's lady and her tea
        ([[2, 15], [10, 3]], 0.0005367),  # Fisher's twins of criminals
    ],
)
def test_known_values(table, expected):
    assert p_value(table) == pytest.approx(expected, rel=1e-4)


def test_job_satisfaction():
    """Agresti (2002), p. 57: R's fisher.test, a network algorithm, gives 0.7827."""
    table = np.array([[1, 3, 10, 6], [2, 3, 10, 7], [1, 6, 14, 12], [0, 1, 9, 11]])
    result = fisher(join_tables(table), n_draws=40_000)
    assert np.exp(result.log_p[0]) == pytest.approx(0.7827, abs=0.008)  # four standard errors
    assert result.drawn[0]


def test_two_and_three_columns_agree_with_the_general_method():
    """Sums over tails and lists of partial tables share no code."""
    rng = np.random.default_rng(3)
    for n_levels in (2, 3):
        for n in (5, 30, 200, 900):
            table = rng.multinomial(n, rng.dirichlet(np.ones(2 * n_levels))).reshape(-1, 2)
            short = fisher(join_tables(table))
            levels, classes = (np.sort(table.sum(axis=a))[::-1] for a in (1, 0))
            if (levels == 0).any() or (classes == 0).any():
                continue
            log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
            general = contingency._log_tail(classes, levels, short.log_probability, log_factorial)
            assert general == pytest.approx(short.log_p, rel=1e-10, abs=1e-11)


@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=4),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_partial_tables_add_up_to_multinomial_coefficients(rows, columns):
    """Summed over all ways to fill columns, c! / prod x! is (sum c)! / prod (row totals)!."""
    rows, filled = np.sort(rows)[::-1], sum(columns)
    rows[0] += filled
    stride = np.concatenate([[0, 1], np.cumprod(rows[1:] + 1)[:-1]])
    n_nodes = int(np.prod(rows[1:] + 1))
    log_factorial = special.gammaln(np.arange(rows.sum() + 1) + 1.0)
    first, value, ways = fisher_exact._partial_tables(
        np.array(columns), rows, stride, n_nodes, log_factorial, 1 << 18
    )
    for node in range(n_nodes):
        part = slice(first[node], first[node + 1])
        used = [node // s % (r + 1) for s, r in zip(stride[1:], rows[1:], strict=True)]
        assert (np.diff(value[part]) > 0).all(), "neither sorted nor merged"
        if sum(used) > filled:
            assert first[node] == first[node + 1]
            continue
        whole = math.factorial(filled) // math.factorial(filled - sum(used))
        expected = whole / math.prod(math.factorial(x) for x in used)
        assert (ways[part] * np.exp(value[part])).sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("table", "ways"),
    [
        ([[2000, 0], [0, 2000]], 2),
        ([[900, 0], [300, 0], [0, 1000]], 1),
        ([[300, 0], [300, 0], [0, 300], [0, 300]], 6),
    ],
)
def test_evidence_where_p_underflows(table, ways):
    """Levels determine the class: only tables in which they do so, too, are as improbable."""
    n, first = int(np.sum(table)), int(np.sum(table, axis=0)[0])
    log_p = fisher(join_tables(table)).log_p[0]
    assert log_p == pytest.approx(math.log(ways) - math.log(math.comb(n, first)), rel=1e-11)
    assert math.exp(log_p) < 1e-300


def test_the_most_probable_table_has_p_exactly_one():
    for size in (1, 5, 40):
        alike = [[[size, size]] * n_levels for n_levels in (2, 3, 4)]
        assert fisher(join_tables(*alike, [[9, 0], [0, 0]] * 2)).log_p.tolist() == [0.0] * 4


def test_transposed_and_permuted_tables_have_the_same_p():
    rng = np.random.default_rng(5)
    table = rng.multinomial(60, rng.dirichlet(np.ones(12))).reshape(4, 3)
    expected = p_value(table)
    assert p_value(table.T) == pytest.approx(expected, rel=1e-12)
    for _ in range(5):
        assert p_value(table[rng.permutation(4)][:, rng.permutation(3)]) == expected


# ---- random tables --------------------------------------------------------------------------
def test_random_tables_agree_with_the_exact_sum(monkeypatch):
    rng = np.random.default_rng(6)
    tables = rng.multinomial(50, rng.dirichlet(np.full(8, 5.0), size=12)).reshape(-1, 4, 2)
    exact = fisher(join_tables(*tables))
    monkeypatch.setattr(fisher_exact, "MOST_PARTIAL_TABLES", 1)
    sampled = fisher(join_tables(*tables), n_draws=4000)
    assert sampled.drawn.all()
    assert not exact.drawn.any()
    p, p_drawn = np.exp(exact.log_p), np.exp(sampled.log_p)
    assert (np.abs(p_drawn - p) < 4 * np.sqrt(p * (1 - p) / 4000) + 1 / 4000).all()


def test_random_tables_depend_on_the_counts_and_the_seed_alone():
    rng = np.random.default_rng(7)
    table = rng.multinomial(300, np.full(60, 1 / 60)).reshape(20, 3)
    expected = p_value(table, n_draws=500)
    assert 0.01 < expected < 1
    assert p_value(table[rng.permutation(20)][:, [2, 0, 1]], n_draws=500) == expected
    among_others = fisher(join_tables(table + 1, table, table), n_draws=500, n_jobs=2).log_p
    assert np.exp(among_others[1:]).tolist() == [expected, expected]
    other = table.copy()
    other[:2, :2] += [[1, -1], [-1, 1]]  # the same margins
    assert other.min() >= 0
    alone = p_value(other, n_draws=500)
    assert np.exp(fisher(join_tables(table, other), n_draws=500).log_p).tolist() == [
        expected,
        alone,
    ]
    less = naive.probability(other.tolist()) < naive.probability(table.tolist())
    many = [p_value(t, n_draws=20_000) for t in (other, table)]
    assert (many[0] < many[1]) == less
    assert len({p_value(table, n_draws=500, random_state=seed) for seed in range(5)}) > 1


def test_random_tables_have_a_smallest_p():
    table = np.repeat(np.eye(2, dtype=np.int64) * 20, 15, axis=0)
    assert p_value(table, n_draws=99) == pytest.approx(0.01)


def test_drawing_in_parts_changes_nothing(monkeypatch):
    table = np.random.default_rng(8).integers(0, 9, size=(30, 4))
    whole = p_value(table, n_draws=300)
    monkeypatch.setattr(contingency, "DRAWN_CELLS", 1000)
    assert p_value(table, n_draws=300) == whole


def test_progress_and_interruption():
    rng = np.random.default_rng(9)
    tables = join_tables(*rng.integers(1, 4, size=(80, 4, 2)))
    reports = []
    done = fisher(tables, progress=lambda k, n: reports.append((k, n)))
    assert reports[-1] == (80, 80)
    assert [k for k, _ in reports] == sorted(k for k, _ in reports)

    def stop(k, n):
        raise KeyboardInterrupt

    part = fisher(tables, progress=stop)
    is_known = ~np.isnan(part.log_p)
    assert 0 < is_known.sum() < 80
    assert np.array_equal(part.log_p[is_known], done.log_p[is_known])


# ---- counts, tails of chi-squared -----------------------------------------------------------
@given(st.data(), st.sampled_from([np.uint8, np.uint16]))
def test_count_tables_equals_reference(data, dtype):
    n_rows = data.draw(st.integers(1, 12))
    level, label = st.integers(0, 3), st.integers(0, 2)
    rows = st.lists(level, min_size=n_rows, max_size=n_rows)
    codes = np.array(data.draw(st.lists(rows, min_size=1, max_size=3)), dtype)
    y = np.array(data.draw(st.lists(label, min_size=n_rows, max_size=n_rows)))
    positions = np.arange(len(codes))[::-1].copy()
    tables = count_tables(codes, positions, np.full(len(codes), 3), y, 3)
    for i, position in enumerate(positions):
        assert tables.table(i).tolist() == naive.count_levels(
            codes[position].tolist(), y.tolist(), 3, 3
        )


@given(st.floats(1e-6, 1e4), st.integers(1, 400))
def test_chi2_tail_agrees_with_scipy(statistic, freedom):
    p, evidence = chi2_tail(np.array([statistic]), np.array([float(freedom)]))
    assert p[0] == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9, abs=1e-300)
    if 1e-270 < p[0] < 0.99:
        assert evidence[0] == pytest.approx(-np.log10(p[0]), rel=1e-9)


@pytest.mark.parametrize("freedom", [2, 4, 10, 60])
@pytest.mark.parametrize("statistic", [100.0, 1500.0, 1e5])
def test_chi2_tail_in_closed_form(freedom, statistic):
    """With 2 m degrees of freedom, p = exp(-x/2) sum_{k < m} (x/2)^k / k!."""
    _, evidence = chi2_tail(np.array([statistic]), np.array([float(freedom)]))
    x, m = statistic / 2, freedom // 2
    terms = [k * math.log(x) - math.lgamma(k + 1) for k in range(m)]
    expected = (x - special.logsumexp(terms)) / math.log(10)
    assert evidence[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("freedom", [1, 2, 4])
def test_chi2_tail_close_to_one(freedom):
    """1 - p begins as x^a / gamma(a + 1), for x half the statistic and a half the freedom."""
    _, evidence = chi2_tail(np.array([2e-10]), np.array([float(freedom)]))
    a = freedom / 2
    expected = 1e-10**a / math.gamma(a + 1) / math.log(10)
    assert evidence[0] == pytest.approx(expected, rel=1e-4)


def test_chi2_tail_limits():
    p, evidence = chi2_tail(np.array([0.0, 0.0]), np.array([1.0, 7.0]))
    assert p.tolist() == [1, 1]
    assert evidence.tolist() == [0, 0]
