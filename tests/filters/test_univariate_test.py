import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import ParameterError
from featly.core.counts import fisher_exact as exact_tables
from featly.core.sources import DenseSource
from featly.filters.f_test import FTest
from featly.filters.univariate_test import (
    ColumnTests,
    UnivariateTest,
    column_tests,
    welch_statistic,
)
from featly.testing.checks import method_checks
from tests.reference.columns import order


def groups_of(x, y):
    """The values of each class that has any."""
    groups = [x[(y == c) & ~np.isnan(x)] for c in np.unique(y)]
    return [group for group in groups if len(group)]


def scipy_t_test(first, second, equal_var=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class is constant
        return stats.ttest_ind(first, second, equal_var=equal_var)


def naive_welch(groups):
    """F and its degrees of freedom, by Welch's formulas, one class at a time."""
    k = len(groups)
    weights = [len(g) / np.var(g, ddof=1) for g in groups]
    total = sum(weights)
    center = sum(w * np.mean(g) for w, g in zip(weights, groups, strict=True)) / total
    between = sum(w * (np.mean(g) - center) ** 2 for w, g in zip(weights, groups, strict=True))
    doubt = sum((1 - w / total) ** 2 / (len(g) - 1) for w, g in zip(weights, groups, strict=True))
    statistic = between / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * doubt)
    return statistic, k - 1, (k**2 - 1) / (3 * doubt)


@st.composite
def tables(draw, n_classes=3):
    """Ties, missing values, constant columns, classes of one row."""
    n_rows, n_columns = draw(st.integers(4, 16)), draw(st.integers(1, 5))
    cell = st.sampled_from([0.0, 0.1, 1.0, 1.5, -4.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    label = st.integers(0, n_classes - 1)
    y = np.array(draw(st.lists(label, min_size=n_rows, max_size=n_rows)))
    y[:n_classes] = np.arange(n_classes)
    return X, y


# ---- numbers -------------------------------------------------------------------------------------
@given(tables(n_classes=2), st.booleans())
def test_two_classes_equal_scipys_t(table, welch):
    X, y = table
    test = UnivariateTest(continuous="welch" if welch else "student").fit(X, y)
    pooled = FTest().fit(X, y)
    for j, x in enumerate(X.T):
        groups = groups_of(x, y)
        sizes, constant = [len(g) for g in groups], sum(len(set(g)) == 1 for g in groups)
        few = min(sizes) < 2 or constant > 0 if welch else sum(sizes) < 3 or constant == 2
        if len(groups) < 2 or few:
            assert test.p_value_[j] == pooled.p_value_[j]
            assert test.test_[j] == "student t"
            continue
        expected = scipy_t_test(groups[1], groups[0], equal_var=not welch)
        assert test.statistic_[j] == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
        assert test.p_value_[j] == pytest.approx(expected.pvalue, rel=1e-9)
        assert test.test_[j] == ("welch t" if welch else "student t")


@given(tables())
def test_many_classes_equal_welchs_analysis_of_variance(table):
    X, y = table
    test, pooled = UnivariateTest(continuous="welch").fit(X, y), FTest().fit(X, y)
    for j, x in enumerate(X.T):
        groups = groups_of(x, y)
        if len(groups) < 2 or any(len(set(g)) == 1 for g in groups):  # a constant or single one
            assert test.test_[j] == "f"
            assert test.scores_[j] == pooled.scores_[j]
            assert test.statistic_[j] == pooled.statistic_[j]
            continue
        assert test.test_[j] == "welch f"
        statistic, d1, d2 = naive_welch(groups)
        assert test.statistic_[j] == pytest.approx(statistic, rel=1e-9, abs=1e-12)
        assert test.p_value_[j] == pytest.approx(stats.f.sf(statistic, d1, d2), rel=1e-9)


def test_welch_agrees_with_statsmodels():
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, size=120)
    X = rng.normal(size=(120, 30)) * (1 + y[:, None]) + rng.normal(size=(5, 30))[y] + 1e4
    statistic, d1, d2, defined = welch_statistic(DenseSource(X).moments(y, 5))
    assert defined.all()
    for j, x in enumerate(X.T):
        known = oneway.anova_oneway(groups_of(x, y), use_var="unequal", welch_correction=True)
        assert statistic[j] == pytest.approx(known.statistic, rel=1e-8)
        assert (d1[j], d2[j]) == pytest.approx(known.df, rel=1e-8)


@given(tables())
def test_kruskal_wallis_equals_scipy(table):
    X, y = table
    test = UnivariateTest(continuous="kruskal-wallis").fit(X, y)
    for j, x in enumerate(X.T):
        groups = groups_of(x, y)
        if len(groups) < 2 or len(set(np.concatenate(groups))) == 1:
            assert (test.statistic_[j], test.p_value_[j], test.scores_[j]) == (0, 1, 0)
            continue
        expected = stats.kruskal(*groups)
        assert test.statistic_[j] == pytest.approx(expected.statistic, rel=1e-9, abs=1e-12)
        if len(groups) == 2 and len(set(np.concatenate(groups))) == sum(map(len, groups)):
            exact = stats.mannwhitneyu(*groups, method="exact")
            assert test.p_value_[j] == pytest.approx(exact.pvalue, rel=1e-9)
            if test.statistic_[j] > 0:  # else p is 1, and nothing is summed
                assert test.test_[j] == "kruskal-wallis exact"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ranks_of_many_rows_have_the_tail_of_chi_squared(n_classes):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 9, size=(400, 5)).astype(float), np.arange(400) % n_classes
    X[rng.random(X.shape) < 0.1] = np.nan
    test = UnivariateTest(continuous="kruskal-wallis").fit(X, y)
    for j, x in enumerate(X.T):
        assert test.p_value_[j] == pytest.approx(stats.kruskal(*groups_of(x, y)).pvalue, rel=1e-9)
    assert set(test.test_) == {"kruskal-wallis"}
    assert set(test.note_) == {""}


def test_f_equals_the_f_test():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 200)), rng.integers(0, 3, size=40)
    test, other = UnivariateTest(continuous="f").fit(X, y), FTest().fit(X, y)
    assert test.scores_.tobytes() == other.scores_.tobytes()
    assert test.statistic_.tobytes() == other.statistic_.tobytes()
    assert test.order_.tolist() == other.order_.tolist()
    assert set(test.test_) == {"f"}


@pytest.mark.parametrize("continuous", ["auto", "welch", "student", "f", "kruskal-wallis"])
def test_columns_without_information(continuous):
    y = np.arange(12) % 2
    noise = np.random.default_rng(2).normal(size=12)
    one_class = np.where(y == 0, noise, np.nan)
    X = np.column_stack([np.full(12, 0.1), np.full(12, np.nan), one_class, noise])
    test = UnivariateTest(continuous=continuous).fit(X, y)
    assert test.p_value_[:3].tolist() == [1, 1, 1]
    assert test.scores_[:3].tolist() == [0, 0, 0]
    assert test.statistic_[:3].tolist() == [0, 0, 0]
    assert test.note_[:3].tolist() == ["", "", ""]
    assert test.order_.tolist() == [3, 0, 1, 2]


def test_perfect_columns_equal_those_of_the_f_test():
    y = np.arange(12) % 3
    X = np.column_stack([np.random.default_rng(0).normal(size=12), 0.1 * y, -y * 7.3])
    test = UnivariateTest(continuous="welch").fit(X, y)
    assert test.scores_[1:].tolist() == [np.inf, np.inf]
    assert test.order_.tolist() == FTest().fit(X, y).order_.tolist() == [1, 2, 0]
    two = UnivariateTest(continuous="welch").fit(X[y < 2], y[y < 2])
    assert two.statistic_[1:].tolist() == [np.inf, -np.inf]
    assert two.p_value_[1:].tolist() == [0, 0]
    p = UnivariateTest().fit(X[y < 2], y[y < 2]).p_value_[1:]  # two of 70 divisions
    assert p.tolist() == pytest.approx([2 / 70, 2 / 70])


def test_a_class_of_few_equal_values_has_no_infinite_weight():
    """A class of two equal values would have an infinite weight in Welch's F of many classes."""
    rng = np.random.default_rng(3)
    y = np.array([0, 0, 1, 1] + [2] * 40)
    x = np.concatenate([[0.0, 0.0, 0.3, 0.3], rng.normal(size=40)])
    test = UnivariateTest(continuous="welch").fit(x[:, None], y)
    assert test.test_[0] == "f"
    assert test.p_value_[0] == pytest.approx(stats.f_oneway(*groups_of(x, y)).pvalue)


def test_a_small_class_of_zeros_is_no_certainty():
    """A constant class has a standard error of 0; the spec's worst case had p = 4e-15 for it."""
    y = np.repeat([0, 1], [475, 25])
    x = np.where(np.arange(500) < 95, 1.0 + np.arange(500) % 7, 0.0)  # 20% differ from zero
    welch, default = (
        UnivariateTest(continuous=name).fit(x[:, None], y) for name in ("welch", "auto")
    )
    assert scipy_t_test(x[y == 0], x[y == 1]).pvalue < 1e-13
    assert (welch.test_[0], default.test_[0]) == ("student t", "kruskal-wallis permutation")
    # that no row of 25 is among the 95
    assert default.p_value_[0] == pytest.approx(2 * stats.hypergeom(500, 95, 25).pmf(0), rel=0.6)


def shapes(n_rows=200, small=20, seed=0):
    """Columns of one shape each, and the test that suits it."""
    rng = np.random.default_rng(seed)
    columns = {
        "normal": rng.normal(size=n_rows),
        "lognormal": np.exp(2 * rng.normal(size=n_rows)),
        "zeros": np.where(rng.random(n_rows) < 0.8, 0, rng.normal(size=n_rows)),
        "few values": rng.integers(0, 5, n_rows).astype(float),
        "two values": (rng.random(n_rows) < 0.1) * 7.5,
        "constant": np.ones(n_rows),
    }
    return np.column_stack(list(columns.values())), np.repeat([0, 1], [n_rows - small, small])


@pytest.mark.parametrize(
    ("small", "tests"),
    [
        (20, ["welch t and ranks", "kruskal-wallis exact", "kruskal-wallis permutation",
              "kruskal-wallis permutation", "fisher exact", "fisher exact"]),
        (100, ["welch t", "kruskal-wallis", "kruskal-wallis permutation",
               "kruskal-wallis", "fisher exact", "fisher exact"]),
        (1, ["kruskal-wallis exact", "kruskal-wallis exact", "kruskal-wallis permutation",
             "kruskal-wallis exact", "fisher exact", "fisher exact"]),
    ],
)  # fmt: skip
def test_the_shape_of_a_column_chooses_its_test(small, tests):
    X, y = shapes(small=small)
    test = UnivariateTest().fit(X, y)
    assert test.test_.tolist() == tests
    drawn = np.array([name.endswith("permutation") for name in tests])
    assert (test.note_ != "").tolist() == drawn.tolist()
    for note in test.note_[drawn]:
        number, words = note.split(" ", 1)
        assert int(number.replace(",", "")) >= 200
        assert words == "random permutations"


def test_the_larger_of_two_p_values_counts():
    X, y = np.random.default_rng(2).normal(size=(60, 200)), np.repeat([0, 1], [48, 12])
    test = UnivariateTest().fit(X, y)
    both = test.test_ == "welch t and ranks"
    assert both.sum() > 190
    welch, ranks = (
        UnivariateTest(continuous=name).fit(X, y) for name in ("welch", "kruskal-wallis")
    )
    larger = np.maximum(welch.p_value_, ranks.p_value_)
    assert test.p_value_[both] == pytest.approx(larger[both], rel=1e-12)
    assert test.statistic_[both].tolist() == welch.statistic_[both].tolist()
    assert (test.p_value_[both] == welch.p_value_[both]).any()
    assert (test.p_value_[both] == ranks.p_value_[both]).any()


def test_numbers_of_two_values_have_fishers_test():
    rng = np.random.default_rng(3)
    X, y = np.where(rng.random((90, 30)) < 0.1, 2.5, -1.0), np.arange(90) % 2
    X[rng.random(X.shape) < 0.2] = np.nan
    test = UnivariateTest().fit(X, y)
    for j, x in enumerate(X.T):
        known = ~np.isnan(x)
        table = stats.contingency.crosstab(x[known], y[known]).count
        assert test.p_value_[j] == pytest.approx(stats.fisher_exact(table).pvalue, rel=1e-9)


@pytest.mark.parametrize("small", [12, 60])
def test_p_values_of_null_columns_hold(small):
    """The kinds of the study, a few columns of each: 4.5 standard errors above the level fail."""
    rng, n, width = np.random.default_rng(4), 200, 400
    y = np.repeat([0, 1], [n - small, small])
    normal = rng.normal(size=(n, width))
    kinds = [
        normal,
        np.exp(1.5 * normal),
        np.where(rng.random((n, width)) < 0.8, 0.0, normal),
        rng.poisson(0.3, size=(n, width)).astype(float),
        (rng.random((n, width)) < 0.03).astype(float),
        rng.normal(size=(n, width)) * np.where(y, 3, 1)[:, None],
    ]
    for X in kinds:
        p = UnivariateTest().fit(X, y).p_value_
        for level in (0.05, 0.01):
            assert (p <= level).mean() < level + 4.5 * (level / width) ** 0.5


def test_permutations_do_not_depend_on_the_order_of_rows_columns_or_classes():
    rng = np.random.default_rng(5)
    X, y = rng.poisson(2.0, size=(80, 12)).astype(float), rng.choice(3, p=[0.6, 0.3, 0.1], size=80)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = X[:, 2]
    expected = UnivariateTest().fit(X, y)
    assert set(expected.test_) == {"kruskal-wallis permutation"}
    assert expected.p_value_[3] == expected.p_value_[2]
    rows, columns = rng.permutation(80), rng.permutation(12)
    labels = np.array(["q", "z", "a"])[y]
    other = UnivariateTest(n_jobs=1).fit(3 - X[rows][:, columns], labels[rows])
    assert other.p_value_.tolist() == expected.p_value_[columns].tolist()
    again = UnivariateTest(random_state=1).fit(X, y)
    assert again.p_value_.tolist() != expected.p_value_.tolist()


def test_one_true_column_among_many_is_refined_until_it_is_found():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], [60, 12])
    X = rng.poisson(1.0, size=(72, 5000)).astype(float)
    X[y == 1, 17] += 5
    test = UnivariateTest().fit(X, y)
    assert test.order_[0] == 17
    assert test.q_value_[17] <= 0.05
    assert int(test.note_[17].split()[0].replace(",", "")) >= 100_000


def test_evidence_is_finite_if_p_underflows():
    y = np.arange(3000) % 2
    noise = np.random.default_rng(0).normal(size=3000)
    X = np.column_stack([y * size + noise for size in (4, 5, 6)])
    test = UnivariateTest(continuous="welch").fit(X, y)
    assert (test.p_value_ == 0).all()
    assert np.isfinite(test.scores_).all()
    assert test.order_.tolist() == [2, 1, 0]
    many = np.repeat([[0.0], [1.0]], 2000, axis=0)  # half of the rows off the most frequent value
    ranks = UnivariateTest(continuous="kruskal-wallis").fit(many, np.repeat([0, 1], 2000))
    two_sided = stats.norm.logsf(np.sqrt(ranks.statistic_)) + np.log(2)
    assert ranks.p_value_[0] == 0
    assert ranks.scores_ == pytest.approx(-two_sided / np.log(10), rel=1e-12)


# ---- categories ----------------------------------------------------------------------------------
def clinic(n_rows=80, seed=0):
    """Columns of every kind, with missing values."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_rows) % 2, "ill", "well")
    sick = y == "ill"

    def add_missing(values):
        return [
            None if gone else v for v, gone in zip(values, rng.random(n_rows) < 0.1, strict=True)
        ]

    frame = pl.DataFrame(
        {
            "age": add_missing((rng.normal(50, 9, n_rows) + 4 * sick).tolist()),
            "sex": add_missing(rng.choice(["f", "m"], n_rows).tolist()),
            "grade": add_missing((rng.integers(0, 3, n_rows) + sick).tolist()),
            "smoker": add_missing((rng.random(n_rows) < 0.3 + 0.3 * sick).tolist()),
            "ward": add_missing([f"w{k}" for k in rng.integers(0, 4, n_rows)]),
            "town": add_missing([f"t{k}" for k in rng.integers(0, 30, n_rows)]),
            "nothing": pl.Series([None] * n_rows, dtype=pl.String),
            "same": ["x"] * n_rows,
        }
    )
    return frame, y


def cross_tabulate(frame, name, y):
    """The table of counts of a column, by name, missing values left out."""
    is_known = np.array([v is not None for v in frame[name]])
    values = np.array([str(v) for v in frame[name]])[is_known]
    return stats.contingency.crosstab(values, y[is_known]).count


def test_every_kind_has_its_test():
    frame, y = clinic()
    test = UnivariateTest(schema={"ordinal": ["grade"]}).fit(frame, y)
    rows = {row["feature"]: row for row in test.table().iter_rows(named=True)}
    names = {name: row["test"] for name, row in rows.items()}
    assert names == {
        "age": "welch t",
        "sex": "fisher exact",
        "grade": "kruskal-wallis exact",
        "smoker": "fisher exact",
        "ward": "fisher exact",
        "town": "fisher exact",  # most levels have two or three rows
        "nothing": "fisher exact",
        "same": "fisher exact",
    }
    for name in ("sex", "smoker"):
        expected = stats.fisher_exact(cross_tabulate(frame, name, y))[1]
        assert rows[name]["p_value"] == pytest.approx(expected, rel=1e-9)
    age = frame["age"].to_numpy()
    t = scipy_t_test(*groups_of(age, y)[::-1])
    assert rows["age"]["p_value"] == pytest.approx(t.pvalue)
    assert rows["age"]["statistic"] == pytest.approx(t.statistic)
    for name in ("nothing", "same"):
        row = rows[name]
        assert (row["p_value"], row["score"], row["statistic"]) == (1, 0, 0)
    assert test.q_value_ == pytest.approx(stats.false_discovery_control(test.p_value_))
    assert test.scores_ == pytest.approx(-np.log10(test.p_value_), abs=1e-12)
    assert test.interrupted_ is False


def test_chi2_equals_scipy():
    frame, y = clinic()
    test = UnivariateTest(categorical="chi2").fit(frame, y)
    for row in test.table().iter_rows(named=True):
        if row["kind"] != "categorical" or row["feature"] in ("nothing", "same"):
            continue
        known = stats.chi2_contingency(cross_tabulate(frame, row["feature"], y), correction=False)
        counts = stats.contingency.expected_freq(cross_tabulate(frame, row["feature"], y))
        small = (counts < 1).any() or (counts < 5).mean() > 0.2
        assert row["test"] == ("chi2 monte carlo" if small else "chi2")
        assert row["statistic"] == pytest.approx(known.statistic)
        tolerance = {"abs": 0.15} if small else {"rel": 1e-6}  # 200 tables at least
        assert row["p_value"] == pytest.approx(known.pvalue, **tolerance)


def test_the_statistic_of_fishers_test_is_the_evidence_of_the_table_itself():
    frame, y = clinic()
    test = UnivariateTest().fit(frame.select("smoker"), y)
    (a, b), (c, d) = cross_tabulate(frame, "smoker", y)
    expected = stats.hypergeom(a + b + c + d, a + b, a + c).pmf(a)
    assert test.statistic_[0] == pytest.approx(-np.log10(expected))


def many_levels(n_columns=6, n_rows=400, seed=0):
    """Columns of 25 levels that follow one of three classes more and more often."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n_rows)
    columns = {}
    for j in range(n_columns):
        follows = rng.random(n_rows) < 0.35 + 0.1 * j
        level = np.where(follows, 8 * y + rng.integers(0, 8, n_rows), rng.integers(0, 25, n_rows))
        columns[f"c{j}"] = [f"level {k}" for k in level]
    return pl.DataFrame(columns), y


def test_random_tables_tie_at_the_smallest_p_and_chi_squared_orders_them():
    frame, y = many_levels()
    test = UnivariateTest(n_draws=200).fit(frame, y)
    assert set(test.test_) == {"fisher monte carlo"}
    assert test.p_value_ == pytest.approx(np.full(6, 1 / 201))
    assert len(set(test.scores_)) == 1
    chi2 = UnivariateTest(categorical="chi2").fit(frame, y)
    assert test.order_.tolist() == chi2.order_.tolist() == [5, 4, 3, 2, 1, 0]
    tails = [stats.chi2_contingency(cross_tabulate(frame, c, y), correction=False).pvalue
             for c in frame.columns]  # fmt: skip
    assert test.tie_break_ == pytest.approx(-np.log10(tails))


def test_random_tables_do_not_depend_on_the_order_of_rows_columns_levels_or_classes():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 300)
    levels = rng.integers(0, 20, size=(300, 5))
    frame = pl.DataFrame({f"c{j}": [f"{k:02d}" for k in levels[:, j]] for j in range(5)})
    expected = UnivariateTest(n_draws=300).fit(frame, y).p_value_
    assert ((expected > 0.01) & (expected < 1)).all()
    rows, columns = rng.permutation(300), rng.permutation(5)
    new = [f"{k:02d}" for k in rng.permutation(20)]
    moved = pl.DataFrame({f"c{j}": [new[k] for k in levels[rows, j]] for j in columns})
    other = UnivariateTest(n_draws=300, n_jobs=1).fit(moved, np.array(["q", "z", "a"])[y[rows]])
    assert other.p_value_.tolist() == expected[columns].tolist()
    again = UnivariateTest(n_draws=300, random_state=1).fit(frame, y).p_value_
    assert again.tolist() != expected.tolist()


def test_equal_scores_of_ranks_are_ordered_by_f():
    y = np.repeat([0, 1], 4)
    X = np.column_stack([[1.0, 2, 3, 4, 4.5, 5, 6, 7], [1, 1.1, 1.2, 1.3, 9, 9.1, 9.2, 9.3]])
    test = UnivariateTest(continuous="kruskal-wallis").fit(X, y)
    assert test.scores_[0] == test.scores_[1]
    assert test.order_.tolist() == [1, 0]
    assert test.tie_break_.tolist() == FTest().fit(X, y).scores_.tolist()


# ---- the rest ------------------------------------------------------------------------------------
def test_other_methods_can_use_the_tests():
    frame, y = clinic()
    test = UnivariateTest(schema={"keep": ["same"]})
    problem = test._read(frame, y)
    tests = column_tests(problem)
    test.fit(frame, y)
    assert tests.score.tobytes() == test.scores_.tobytes()
    assert tests.tie_break.tobytes() == test.tie_break_.tobytes()
    free = [name for name in test.order_ if frame.columns[name] != "same"]
    assert [name for name in tests.order() if frame.columns[name] != "same"] == free
    assert frame.columns[test.order_[0]] == "same"


@given(st.lists(st.tuples(st.sampled_from([0.0, 1, 2]), st.sampled_from([0.0, 1, 2])), min_size=1))
def test_order_is_by_score_then_by_tie_break(pairs):
    score, second = (np.array(values) for values in zip(*pairs, strict=True))
    tests = ColumnTests(*np.zeros((3, len(score))), score, second, np.zeros(len(score), object))
    assert tests.order().tolist() == order([3 * a + b for a, b in pairs])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (
            {"continuous": "t"},
            r"continuous='t': give 'auto', 'welch', 'student', 'f' or 'kruskal-w",
        ),
        ({"ordinal": None}, r"ordinal=None: give 'auto', 'welch'"),
        ({"categorical": "exact"}, r"categorical='exact': give 'fisher' or 'chi2'"),
        ({"n_draws": 0}, r"n_draws=0: give a whole number from 1"),
        ({"n_draws": 1e4}, r"n_draws=10000.0: give a whole number from 1"),
        ({"n_draws": True}, r"n_draws=True"),
        ({"random_state": -1}, r"random_state=-1: give a whole number from 0"),
        ({"random_state": None}, r"random_state=None: give a whole number from 0"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ParameterError, match=words):
        UnivariateTest(**parameters).fit([[1.0], [2.0]], [0, 1])


def test_progress_and_interruption():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 40)
    frame = pl.DataFrame({f"c{j}": rng.choice(list("abcde"), 40) for j in range(50)})
    frame = frame.with_columns(number=pl.Series(rng.normal(size=40)))
    calls = []
    whole = UnivariateTest(verbose=lambda k, n: calls.append((k, n))).fit(frame, y)
    assert calls[-1] == (51, 51)
    assert calls == sorted(calls)

    def stop(k, n):
        raise KeyboardInterrupt

    stopped = UnivariateTest(verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(frame, y)
    assert stopped.interrupted_
    chi2 = stopped.test_ == "chi2"
    assert 0 < chi2.sum() < 50
    assert stopped.scores_[~chi2].tolist() == whole.scores_[~chi2].tolist()
    assert set(stopped.note_[chi2]) == {"p approximate: not tested"}
    for j in np.flatnonzero(chi2).tolist():
        counts = cross_tabulate(frame, frame.columns[j], y)
        expected = stats.chi2_contingency(counts, correction=False)
        assert stopped.p_value_[j] == pytest.approx(expected.pvalue)
        assert stopped.scores_[j] == pytest.approx(-np.log10(expected.pvalue))
        assert stopped.statistic_[j] == pytest.approx(expected.statistic)


def test_exact_and_random_agree_on_a_mixed_frame(monkeypatch):
    frame, y = clinic()
    exact = UnivariateTest().fit(frame.select("ward"), y)
    monkeypatch.setattr(exact_tables, "MOST_PARTIAL_TABLES", 1)
    drawn = UnivariateTest().fit(frame.select("ward"), y)
    assert (exact.test_[0], drawn.test_[0]) == ("fisher exact", "fisher monte carlo")
    assert drawn.p_value_[0] == pytest.approx(exact.p_value_[0], abs=0.02)


@pytest.mark.parametrize(
    "estimator",
    [
        UnivariateTest(continuous="kruskal-wallis", ordinal="welch", categorical="chi2"),
        UnivariateTest(continuous="student", ordinal="f", n_draws=100),
        UnivariateTest(ordinal="auto", n_draws=100),
    ],
    ids=["ranks", "pooled", "shape"],
)
def test_checks_of_every_option(estimator):
    for name, check in method_checks(estimator):
        try:
            check(estimator)
        except Exception as error:
            raise AssertionError(name) from error


def test_real_table(data_folder):
    """Boston's housing against scipy, column by column."""
    frame = pl.read_parquet(data_folder / "boston_housing2.parquet")
    y = frame["class"].to_numpy()
    test = UnivariateTest(continuous="welch").fit(frame.drop("class"), y)
    low, high = np.unique(y)
    for row in test.table().iter_rows(named=True):
        if row["kind"] == "continuous":
            x = frame[row["feature"]].to_numpy()
            assert row["p_value"] == pytest.approx(
                scipy_t_test(x[y == high], x[y == low]).pvalue, rel=1e-8
            )
    p_values = dict(zip(test.table()["feature"], test.table()["p_value"], strict=True))
    assert p_values["chas"] == pytest.approx(
        stats.fisher_exact(cross_tabulate(frame, "chas", y))[1]
    )
    assert p_values["town"] == pytest.approx(1 / 10_001)
