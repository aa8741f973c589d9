"""Every rule against its definition, and what voting theory promises of it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.combine.rankings import RULES, combine_rankings, positions_of
from featly.core.ranking.order_statistics import log_joint
from tests.reference import rankings as naive


@st.composite
def tables(draw, missing=True, ties=True, p=8, n_lists=6):
    """Positions with ties, partial lists, one list, one feature."""
    p, n_lists = draw(st.integers(1, p)), draw(st.integers(1, n_lists))
    columns = []
    for _ in range(n_lists):
        if ties:
            column = draw(st.lists(st.integers(0, p), min_size=p, max_size=p))
        else:
            column = draw(st.permutations(range(p)))
        column = np.array(column, float)
        if missing and p > 1 and draw(st.booleans()):
            column[draw(st.lists(st.integers(1, p - 1), unique=True))] = np.nan
        columns.append(stats.rankdata(column, nan_policy="omit"))
    return np.column_stack(columns)


def assert_as_defined(positions, method, **options):
    combined = combine_rankings(positions, method, **options)
    order, score, ties = naive.combine(positions.tolist(), method, **options)
    assert combined.scores == pytest.approx(score, rel=1e-9, abs=1e-9)
    assert combined.order.tolist() == order
    assert combined.ties == ties
    assert combined.order.dtype == combined.ranking.dtype == np.int64
    assert combined.scores.dtype == np.float64
    assert (combined.ranking[combined.order] == np.arange(1, len(order) + 1)).all()
    assert (np.diff(combined.scores[combined.order]) <= 0).all()
    return combined


@pytest.mark.parametrize("method", RULES)
@settings(max_examples=20)
@given(positions=tables())
def test_rules_equal_definition(method, positions):
    assert_as_defined(positions, method)
    listed = ~np.isnan(positions)
    counts = listed.sum(axis=1)
    if counts.min() == 0:
        return
    if method != "stuart" or len(set(counts)) == 1:
        assert_as_defined(positions, method, unlisted="unknown")
    else:
        with pytest.raises(ParameterError, match="equally many lists"):
            combine_rankings(positions, method, unlisted="unknown")


@given(positions=tables(), k=st.integers(1, 8), unlisted=st.sampled_from(["last", "unknown"]))
def test_options_equal_definition(positions, k, unlisted):
    if np.isnan(positions).all(axis=1).any():
        unlisted = "last"
    p = len(positions)
    assert_as_defined(positions, "k-first", k=min(k, p), unlisted=unlisted)
    assert_as_defined(positions, "k-first", k=Fraction(k, 8), unlisted=unlisted)
    assert_as_defined(positions, "average-sd", tie_sd="smaller", unlisted=unlisted)
    assert_as_defined(positions, "third-quartile-sd", tie_sd="smaller", unlisted=unlisted)
    assert_as_defined(positions, "reciprocal-rank", constant=k, unlisted=unlisted)


@pytest.mark.parametrize("method", RULES)
@settings(max_examples=20)
@given(positions=tables(), data=st.data())
def test_order_of_lists_and_features_does_not_matter(method, positions, data):
    combined = combine_rankings(positions, method)
    lists = data.draw(st.permutations(range(positions.shape[1])))
    permuted = combine_rankings(positions[:, lists], method)
    assert combined.order.tolist() == permuted.order.tolist()
    assert combined.scores.tobytes() == permuted.scores.tobytes()
    p = len(positions)
    features = np.array(data.draw(st.permutations(range(p))))
    permuted = combine_rankings(positions[features], method)
    assert combined.scores[features].tobytes() == permuted.scores.tobytes()
    backwards = combine_rankings(positions[::-1], method).ranking[::-1]
    ranking = np.empty(p, int)
    ranking[features] = permuted.ranking
    for a in range(p):
        for b in range(p):
            # decided by the rule, as the index says it once this way, once that way
            if combined.ranking[a] < combined.ranking[b] and backwards[a] < backwards[b]:
                assert ranking[a] < ranking[b]


@pytest.mark.parametrize("method", RULES)
@settings(max_examples=20)
@given(positions=tables())
def test_unanimous_lists_are_followed(method, positions):
    combined = combine_rankings(positions, method)
    lists = naive.complete_lists(naive.read(positions.tolist()), len(positions))
    for a in range(len(positions)):
        for b in range(len(positions)):
            if all(ranked_list[a] < ranked_list[b] for ranked_list in lists):
                assert combined.ranking[a] < combined.ranking[b]
                assert combined.scores[a] > combined.scores[b] or method == "k-first"


def test_the_statistic_of_k_first_may_tie_where_lists_are_unanimous():
    combined = combine_rankings([[1, 1], [3, 3], [2, 2]], "k-first", k=1)
    assert combined.scores.tolist() == [0.5, 0, 0]
    assert combined.order.tolist() == [0, 2, 1]


def test_unanimous_lists_need_not_be_followed_with_unknown_features():
    nan = np.nan
    positions = [[1, 1, 2], [2, 2, nan], [nan, nan, 1], [3, 3, nan]]
    assert combine_rankings(positions, "best", unlisted="unknown").order.tolist() == [0, 2, 1, 3]
    # the first is before the second wherever both are, but last of the third list
    combined = combine_rankings(
        [[1, 3], [2, nan], [3, 1], [4, 2]], "average-sd", unlisted="unknown"
    )
    assert combined.scores.tolist() == [0.375, 0.5, pytest.approx(11 / 24), pytest.approx(1 / 6)]


@pytest.mark.parametrize("method", ["condorcet", "schulze"])
@given(positions=tables(p=6))
def test_condorcet_winner_is_first_and_loser_last(method, positions):
    p = len(positions)
    lists = naive.complete_lists(naive.read(positions.tolist()), p)
    combined = combine_rankings(positions, method)
    for a in range(p):
        others = [b for b in range(p) if b != a]
        margin = [naive.before(lists, a, b) - naive.before(lists, b, a) for b in others]
        if all(m > 0 for m in margin):
            assert combined.order[0] == a
        if all(m < 0 for m in margin):
            assert combined.order[-1] == a


def test_other_rules_need_not_put_the_condorcet_winner_first():
    lists = [list(ballot) for ballot in ("ABC", "ABC", "ABC", "BCA", "BCA")]
    positions, _ = positions_of(lists, "ABC")
    assert combine_rankings(positions, "condorcet").order[0] == 0
    assert combine_rankings(positions, "borda").order[0] == 1


def test_schulzes_example():
    """Schulze (2011): 45 voters, E > A > C > B > D."""
    votes = {"ACBED": 5, "ADECB": 5, "BEDAC": 8, "CABED": 3, "CAEBD": 7, "CBADE": 2, "DCEBA": 7,
             "EBADC": 8}  # fmt: skip
    lists = [list(ballot) for ballot, count in votes.items() for _ in range(count)]
    positions, names = positions_of(lists, "ABCDE")
    combined = combine_rankings(positions, "schulze")
    assert "".join(names[i] for i in combined.order) == "EACBD"
    assert combined.scores.tolist() == [3, 1, 2, 0, 4]
    assert combined.ties == 0


@given(positions=tables(), tie_sd=st.sampled_from(["larger", "smaller"]))
def test_borda_and_k_of_all_are_the_average(positions, tie_sd):
    p = len(positions)
    average = combine_rankings(positions, "average-sd", tie_sd=tie_sd)
    borda = combine_rankings(positions, "borda")
    assert borda.scores == pytest.approx(p * average.scores, rel=1e-12, abs=1e-12)
    k_of_all = combine_rankings(positions, "k-first", k=p)
    for other in (borda, k_of_all, combine_rankings(positions, "k-first", k=1.0)):
        assert other.ties == average.ties
        assert (average.scores[other.order] == average.scores[average.order]).all()
    if p > 1:
        shorter = combine_rankings(positions, "k-first", k=p - 1)
        assert shorter.scores == pytest.approx(average.scores, abs=1e-12)


def test_k_is_a_tenth_by_default_and_at_least_one():
    rng = np.random.default_rng(0)
    for p, k in ((4, 1), (14, 1), (15, 2), (100, 10)):
        positions = np.column_stack([rng.permutation(p) + 1 for _ in range(5)])
        combined = combine_rankings(positions)
        assert combined.scores.tolist() == combine_rankings(positions, k=k).scores.tolist()
        assert combined.order.tolist() == combine_rankings(positions, k=k / p).order.tolist()


def test_percentiles_equal_numpy():
    rng = np.random.default_rng(0)
    for n_lists in range(1, 9):
        positions = np.column_stack([rng.permutation(30) + 1 for _ in range(n_lists)])
        combined = combine_rankings(positions, "third-quartile-sd")
        assert combined.scores == pytest.approx(np.percentile(1 - positions / 30, 75, axis=1))


def test_equal_means_are_equal_bits():
    """0.1 + 0.2 is not 0.3 in floats, but 3 + 6 + 21 is 10 + 10 + 10."""
    rng = np.random.default_rng(0)
    p = 30
    positions = np.column_stack([rng.permutation(p) + 1 for _ in range(3)])
    total = positions.sum(axis=1)
    combined = combine_rankings(positions, "average-sd")
    assert combined.ties == sum(np.count_nonzero(total == t) > 1 for t in total)
    spread = positions.var(axis=1)
    for a, b in zip(combined.order[:-1], combined.order[1:], strict=True):
        assert (total[a], -spread[a].round(9), a) < (total[b], -spread[b].round(9), b)


def test_long_lists_of_many_lengths_are_exact():
    """Denominators that 64 bits do not hold."""
    rng = np.random.default_rng(0)
    positions = np.full((60, 14), np.nan)
    for j, length in enumerate((60, 59, 53, 47, 43, 41, 37, 31, 29, 23, 60, 58, 51, 49)):
        positions[rng.permutation(60)[:length], j] = np.arange(1, length + 1)
    for method in ("average-sd", "best", "third-quartile-sd", "k-first", "borda"):
        assert_as_defined(positions, method, unlisted="unknown")


def test_spreads_over_differently_many_lists_are_exact():
    """Every list has its reverse, so that all features in the same lists have the same mean."""
    rng = np.random.default_rng(0)
    positions = np.full((60, 12), np.nan)
    for j, length in enumerate((60, 59, 53, 47, 43, 41)):
        listed = rng.permutation(np.concatenate([np.arange(40), 40 + rng.permutation(20)])[:length])
        positions[listed, 2 * j] = np.arange(1, length + 1)
        positions[listed, 2 * j + 1] = np.arange(length, 0, -1)
    for tie_sd in ("larger", "smaller"):
        combined = assert_as_defined(positions, "average-sd", unlisted="unknown", tie_sd=tie_sd)
        assert combined.ties >= 40
    # equal means of 4 and of 2 lists: positions 1, 5, 2, 4 spread less than 1, 5
    lists = ["Xabcd", "abcdX", "aXbcd", "abcXd", "Yabcd", "abcdY"]
    positions, names = positions_of(map(list, lists))
    combined = combine_rankings(positions, "average-sd", unlisted="unknown")
    x, y = names.index("X"), names.index("Y")
    assert combined.scores[x] == combined.scores[y] == 0.4
    assert combined.ranking[y] < combined.ranking[x]


@pytest.mark.parametrize("method", RULES)
def test_one_list_one_feature_and_equal_lists(method):
    alone = combine_rankings([[1]], method)
    assert alone.order.tolist() == [0]
    assert alone.ties == 0
    single_list = np.array([[3], [1], [2], [4]])
    assert combine_rankings(single_list, method).order.tolist() == [1, 2, 0, 3]
    assert combine_rankings(np.repeat(single_list, 7, axis=1), method).order.tolist() == [
        1,
        2,
        0,
        3,
    ]
    tied = combine_rankings(np.full((3, 4), 2.0), method)
    assert tied.order.tolist() == [0, 1, 2]
    assert tied.ties == 3
    assert np.isfinite(tied.scores).all()


@pytest.mark.parametrize("method", RULES)
def test_threads_and_bars_change_nothing(method):
    rng = np.random.default_rng(0)
    positions = np.column_stack([rng.permutation(300) + 1 for _ in range(9)])
    reports = []
    alone = combine_rankings(positions, method, n_jobs=1)
    threaded = combine_rankings(
        positions, method, n_jobs=2, verbose=lambda done, total: reports.append((done, total))
    )
    assert alone.order.tolist() == threaded.order.tolist()
    assert alone.scores.tobytes() == threaded.scores.tobytes()
    if method in ("condorcet", "schulze"):
        assert reports[-1][0] == reports[-1][1]


# ---- p-values ------------------------------------------------------------------------------------
def test_robust_ranks_are_the_beta_distributions():
    rng = np.random.default_rng(0)
    p, n_lists = 200, 12
    positions = np.column_stack([rng.permutation(p) + 1 for _ in range(n_lists)])
    positions[0] = 1
    positions[1:] = np.column_stack([stats.rankdata(c) + 1 for c in positions[1:].T])
    combined = combine_rankings(positions, "robust-rank")
    x = np.sort(positions / p, axis=1)
    k = np.arange(1, n_lists + 1)
    rho = stats.beta.cdf(x, k, n_lists - k + 1).min(axis=1)
    assert combined.p_values == pytest.approx(np.minimum(1, n_lists * rho), rel=1e-9)
    assert combined.scores == pytest.approx(-np.log10(n_lists * rho), rel=1e-8)


def test_stuarts_q_is_exact_where_the_recursion_of_aerts_is_not():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 30, 60, 110):
        rows = [sorted(rng.integers(1, 1001, n)), [1] * n, [1] * (n - 1) + [1000]]
        rows.append(sorted(np.minimum(1000, rng.geometric(0.1, n))))
        exact = [naive.joint([Fraction(int(x), 1000) for x in row]) for row in rows]
        logs = log_joint(np.array(rows) / 1000)
        assert logs == pytest.approx([naive.logarithm(q) for q in exact], rel=1e-12, abs=1e-12)


def test_stuarts_q_is_the_probability_of_random_lists():
    rng = np.random.default_rng(0)
    draws = np.sort(rng.random((200_000, 4)), axis=1)
    for x in ([0.2, 0.5, 0.6, 0.9], [0.4, 0.4, 0.9, 1.0], [0.7, 0.8, 0.8, 0.8]):
        share = np.mean((draws <= x).all(axis=1))
        q = float(np.exp(log_joint(np.array([x]))[0]))
        assert abs(share - q) < 4 * np.sqrt(q / 200_000)


def test_nothing_underflows():
    """Rank 1 of 10,000 in 150 lists: 1e-600."""
    p, n_lists = 10_000, 150
    positions = np.repeat(np.arange(1, p + 1)[:, None], n_lists, axis=1)
    combined = combine_rankings(positions, "robust-rank")
    assert combined.scores[0] == pytest.approx(600 - np.log10(n_lists), rel=1e-9)
    assert combined.order.tolist() == list(range(p))
    assert log_joint(np.full((1, n_lists), 1 / p))[0] == pytest.approx(-600 * np.log(10))


def test_p_values_by_chance_go_from_one_in_ten_thousand_to_one():
    first = combine_rankings(np.repeat(np.arange(1, 1001)[:, None], 9, axis=1), "stuart").p_values
    assert first[0] == 1 / 10_000
    assert first[-1] == 1


def test_random_lists_give_p_values_that_are_not_too_small():
    rng = np.random.default_rng(3)
    p = 2_000
    positions = np.column_stack([rng.permutation(p) + 1 for _ in range(6)])
    stuart = combine_rankings(positions, "stuart").p_values
    assert stats.kstest(stuart, "uniform").pvalue > 0.01
    robust = combine_rankings(positions, "robust-rank").p_values
    for level in (0.01, 0.05, 0.2):
        assert np.mean(robust <= level) <= level + 3 * np.sqrt(level / p)
        assert np.mean(robust <= level) >= 0.4 * level
    # a list of a few levels: ties must not make anything significant
    coarse = np.column_stack([stats.rankdata(rng.integers(0, 4, p)) for _ in range(6)])
    assert np.mean(combine_rankings(coarse, "robust-rank").p_values <= 0.05) <= 0.06
    assert np.mean(combine_rankings(coarse, "stuart").p_values <= 0.05) <= 0.06


def test_p_values_belong_to_two_rules_only():
    positions = [[1, 2], [2, 1]]
    for method in RULES:
        has_p_values = combine_rankings(positions, method).p_values is not None
        assert has_p_values == (method in ("robust-rank", "stuart"))


# ---- wrong input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ([[1, 1], [2, 2], [2, 3]], "list 1 has feature 1 at position 2, where 2.5 is due"),
        ([[1, 0], [2, 1]], "list 2 has feature 0 at position 0, where 1 is due"),
        ([[1, 1], [3, 2]], "list 1 has feature 1 at position 3, where 2 is due"),
        ([[1, 1.5], [2, 2]], "list 2 has feature 0 at position 1.5, where 1 is due"),
        ([[np.inf], [1]], "list 1 has feature 0 at position inf, where 2 is due"),
        ([[1, np.nan], [2, np.nan]], "list 2 holds no feature: leave it out"),
        ([1, 2, 3], "positions have 1 dimension"),
        ([["a"]], "positions are no table of numbers"),
        (np.empty((0, 2)), "0 features in 2 lists"),
        (np.empty((2, 0)), "2 features in 0 lists"),
    ],
)
def test_invalid_lists_are_named(positions, words):
    with pytest.raises(DataError, match=words) as caught:
        combine_rankings(positions)
    assert "\n" not in str(caught.value)


def test_a_feature_in_no_list_is_last_or_an_error():
    positions = [[1, 2], [2, 1], [np.nan, np.nan]]
    assert combine_rankings(positions).order.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="feature 2 is in no list"):
        combine_rankings(positions, unlisted="unknown")


@pytest.mark.parametrize("method", ["robust-rank", "stuart"])
def test_p_values_can_be_left_out(method):
    positions = np.column_stack([np.arange(1, 6), np.arange(5, 0, -1), np.arange(1, 6)])
    with_them, without = (combine_rankings(positions, method, p_values=p) for p in (True, False))
    assert without.p_values is None
    assert with_them.p_values.shape == (5,)
    np.testing.assert_array_equal(with_them.scores, without.scores)


@pytest.mark.parametrize(
    ("method", "options", "words"),
    [
        ("median", {}, "'median' is no rule: there are average-sd, best"),
        (3, {}, "3 is no rule"),
        ("k-first", {"k": 0}, "k=0: give a whole number from 1 to 3"),
        ("k-first", {"k": 4}, "k=4: give a whole number from 1 to 3"),
        ("k-first", {"k": 1.5}, "k=1.5"),
        ("k-first", {"k": 0.0}, "k=0.0"),
        ("k-first", {"k": True}, "k=True"),
        ("k-first", {"k": "10%"}, "k='10%'"),
        ("best", {"k": 2}, "k=2 is not used by 'best', but by k-first"),
        ("best", {"tie_sd": "smaller"}, "is not used by 'best', but by average-sd and third"),
        ("borda", {"constant": 1}, "constant=1 is not used by 'borda', but by reciprocal-rank"),
        ("average-sd", {"tie_sd": "none"}, "tie_sd='none': give 'larger' or 'smaller'"),
        ("best", {"unlisted": "first"}, "unlisted='first': give 'last' or 'unknown'"),
        ("reciprocal-rank", {"constant": -1}, "constant=-1: give a finite number from 0"),
        ("reciprocal-rank", {"constant": np.nan}, "constant=nan"),
        ("condorcet", {"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_wrong_options_are_named(method, options, words):
    with pytest.raises(ParameterError, match=words):
        combine_rankings([[1, 1], [2, 2], [3, 3]], method, **options)


def test_stuart_refuses_more_lists_than_it_can_count():
    with pytest.raises(ParameterError, match="at most 1000 lists, here are 1001"):
        combine_rankings(np.ones((1, 1001)), "stuart")
    assert np.isfinite(combine_rankings(np.ones((1, 1000)), "robust-rank").scores).all()


def test_schulze_is_refused_where_memory_is_short(monkeypatch):
    positions = np.arange(1, 9)[:, None]  # 8 x 8 pairs at a byte and two bits: 80 bytes
    monkeypatch.setattr("featly.combine.rankings.os.sysconf", lambda name: 8)
    with pytest.raises(ParameterError, match="use 'condorcet'"):
        combine_rankings(positions, "schulze")
    assert combine_rankings(positions, "condorcet").ties == 0
    monkeypatch.setattr("featly.combine.rankings.os.sysconf", lambda name: 9)
    assert combine_rankings(positions, "schulze").ties == 0


# ---- lists of names ------------------------------------------------------------------------------
def test_lists_of_names_become_positions():
    positions, names = positions_of([["b", "a"], ["c", "b"]])
    assert names == ["b", "a", "c"]
    np.testing.assert_equal(positions, [[1, 2], [2, np.nan], [np.nan, 1]])
    positions, names = positions_of([["b", "a"]], names=["a", "b", "z"])
    assert names == ["a", "b", "z"]
    np.testing.assert_equal(positions, [[2], [1], [np.nan]])


@pytest.mark.parametrize(
    ("lists", "names", "words"),
    [
        ([], None, "there is no list"),
        ([["a"], []], None, "list 2 is empty"),
        ([["a", "b", "a"]], None, "list 1 has 'a' twice, at positions 1 and 3"),
        ([["a"], ["b"]], ["a"], "list 2 has 'b' at position 1, which is not among names"),
        ([["a"]], ["a", "a"], "names has 'a' twice"),
        (["ab"], None, "list 1 is the text 'ab'"),
    ],
)
def test_invalid_lists_of_names_are_named(lists, names, words):
    with pytest.raises(DataError, match=words):
        positions_of(lists, names)
