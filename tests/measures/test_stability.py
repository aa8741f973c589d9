from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.measures import stability
from featly.measures.stability import (
    kuncheva_curve,
    kuncheva_index,
    nogueira_curve,
    nogueira_stability,
    selection_frequency,
)
from tests.reference import measures as naive


@st.composite
def runs(draw, same_size=False):
    """A few sets over a few features: empty ones, full ones, the same one again."""
    p = draw(st.integers(1, 9))
    sizes = st.integers(0, p)
    n_runs = draw(st.integers(2, 6))
    chosen = [draw(sizes)] * n_runs if same_size else [draw(sizes) for _ in range(n_runs)]
    return [draw(st.permutations(range(p)))[:size] for size in chosen], p


@st.composite
def rankings(draw):
    p = draw(st.integers(1, 9))
    depth = draw(st.integers(1, p))
    n_runs = draw(st.integers(2, 6))
    orders = [draw(st.permutations(range(p)))[:depth] for _ in range(n_runs)]
    sizes = draw(st.lists(st.integers(1, depth), min_size=1, max_size=5))
    return orders, sizes, p


def is_same(value, expected):
    if expected is None:
        return bool(np.isnan(value))
    return value == pytest.approx(float(expected), rel=1e-9, abs=1e-12)


@given(runs())
def test_sets_of_any_sizes_are_the_definitions(case):
    sets, p = case
    assert is_same(kuncheva_index(sets, p), naive.kuncheva(sets, p))
    estimate, expected = nogueira_stability(sets, p), naive.nogueira(sets, p)
    assert is_same(estimate.value, expected and expected[0])
    assert is_same(estimate.variance, expected and expected[1])
    assert selection_frequency(sets, p).tolist() == [
        sum(f in selected for selected in sets) / len(sets) for f in range(p)
    ]


@given(runs(same_size=True))
def test_sets_of_one_size_have_one_stability(case):
    """Nogueira's estimate is then exactly the mean over pairs of Kuncheva's index."""
    sets, p = case
    assert naive.nogueira(sets, p) is None or naive.nogueira(sets, p)[0] == naive.kuncheva(sets, p)
    assert nogueira_stability(sets, p).value == pytest.approx(
        kuncheva_index(sets, p), rel=1e-12, abs=1e-12, nan_ok=True
    )


@given(rankings())
def test_curves_are_the_indices_of_their_sizes(case):
    orders, sizes, p = case
    curve = nogueira_curve(orders, sizes, p, level=0.9)
    index = kuncheva_curve(orders, sizes, p)
    for at, size in enumerate(sizes):
        sets = [order[:size] for order in orders]
        assert index[at] == pytest.approx(kuncheva_index(sets, p), abs=1e-12, nan_ok=True)
        for values, expected in zip(curve, nogueira_stability(sets, p, level=0.9), strict=True):
            assert values[at] == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(runs(), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(case, random):
    sets, p = case
    names = random.sample(range(p), p)
    renamed = [random.sample([names[f] for f in selected], len(selected)) for selected in sets]
    random.shuffle(renamed)
    assert is_same(kuncheva_index(renamed, p), naive.kuncheva(sets, p))
    expected = np.array(nogueira_stability(sets, p))
    assert np.array(nogueira_stability(renamed, p)) == pytest.approx(expected, nan_ok=True)


@given(runs())
def test_bounds(case):
    sets, p = case
    value = nogueira_stability(sets, p).value
    assert np.isnan(value) or -1 / (len(sets) - 1) - 1e-12 <= value <= 1
    index = kuncheva_index(sets, p)
    lowest = -1 if len({len(selected) for selected in sets}) == 1 else 1 - p
    assert np.isnan(index) or lowest - 1e-9 <= index <= 1 + 1e-9
    assert np.isnan(value) or (value == 1) == (len({frozenset(s) for s in sets}) == 1)


def test_values_computed_by_hand():
    """Three pairs share 1 of 2, chance is 4 / 10: (1 - 0.4) / (2 - 0.4)."""
    assert kuncheva_index([[0, 1], [0, 2], [0, 3]], 10) == pytest.approx(0.6 / 1.6)
    assert kuncheva_index([[0, 1], [2, 3]], 10) == pytest.approx(-0.4 / 1.6)
    # sizes 1 and 3 share 1, chance 3 / 10: a set and a part of it agree perfectly
    assert kuncheva_index([[4], [3, 4, 5]], 10) == pytest.approx(1)
    # frequencies 1, 1/2, 1/2 of 4: 1 - 2 (1/4 + 1/4) / 4 / (1/2 x 1/2)
    estimate = nogueira_stability([[0, 1], [0, 2]], 4)
    assert estimate.value == pytest.approx(0)
    # three sets {0, 1}, {0, 1}, {0}: p = 1, 2/3 of 4; k = 5/3, spread 5/12 x 7/12 = 35/144;
    # 1 - (3/2 x 2/9 / 4) / (35/144) = 1 - 12/35
    assert nogueira_stability([[0, 1], [0, 1], [0]], 4).value == pytest.approx(23 / 35)


def test_worst_and_best():
    disjoint = [[0, 1], [2, 3], [4, 5]]
    assert nogueira_stability(disjoint, 6).value == pytest.approx(-1 / 2)
    assert kuncheva_index(disjoint, 6) == pytest.approx(-1 / 2)
    assert kuncheva_index([[0, 1], [2, 3]], 4) == -1
    assert kuncheva_index([[4], [0, 1, 2, 3]], 5) == pytest.approx(-4)  # sizes differ
    alike = [[7, 3, 5]] * 4
    assert kuncheva_index(alike, 10) == 1
    assert nogueira_stability(alike, 10) == (1, 1, 1, 0)
    orders = np.tile(np.random.default_rng(0).permutation(50), (20, 1))
    sizes = np.arange(1, 50)
    assert kuncheva_curve(orders, sizes, 50).tolist() == [1] * 49
    assert nogueira_curve(orders, sizes, 50).variance.tolist() == [0] * 49


def test_random_selections_are_about_zero():
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(np.arange(60), (400, 1)), axis=1)
    sizes = np.arange(1, 60)
    # of about 80,000 pairs, each with a standard deviation of at most 1
    assert np.abs(kuncheva_curve(orders, sizes, 60)).max() < 0.02
    mixed = [order[:size] for order, size in zip(orders, rng.integers(1, 60, 400), strict=True)]
    assert abs(nogueira_stability(mixed, 60).value) < 0.02
    assert abs(kuncheva_index(mixed, 60)) < 0.02


def test_all_features_or_none_have_no_stability():
    assert np.isnan(kuncheva_index([[0, 1, 2], [2, 1, 0]], 3))
    assert np.isnan(kuncheva_index([[0, 1, 2], [2, 1]], 3))
    assert np.isnan(kuncheva_index([[], [1]], 3))
    assert np.isnan(nogueira_stability([[0, 1], [1, 0]], 2)).all()
    assert np.isnan(nogueira_stability([[], []], 2)).all()
    assert nogueira_stability([[], [0, 1]], 2).value == -1
    curve = nogueira_curve([[0, 1], [0, 1]], [2, 1], 2)
    assert np.isnan(np.array(curve)).tolist() == [[True, False]] * 4
    assert kuncheva_curve([[0, 1], [0, 1]], [1, 2], 2)[0] == 1


def test_pairs_are_counted_by_features():
    """Counts of features give the intersections of all pairs."""
    rng = np.random.default_rng(1)
    sets = [set(rng.permutation(12)[: rng.integers(0, 12)].tolist()) for _ in range(9)]
    shared = sum(len(a & b) for i, a in enumerate(sets) for b in sets[:i])
    assert shared == sum(comb(sum(f in a for a in sets), 2) for f in range(12))


def test_interval_is_normal():
    estimate = nogueira_stability([[0, 1], [0, 2], [0, 1, 3]], 9, level=0.8)
    lower, upper = stats.norm.interval(0.8, loc=estimate.value, scale=np.sqrt(estimate.variance))
    assert (estimate.lower, estimate.upper) == pytest.approx((lower, upper))
    assert estimate.lower < estimate.value < estimate.upper
    narrow = nogueira_stability([[0, 1], [0, 2], [0, 1, 3]], 9, level=0.5)
    assert narrow.upper < estimate.upper


def plug_in(Z, weight):
    """Stability of weighted selections, without the correction for a small number of them."""
    frequency = weight @ Z / weight.sum()
    mean = frequency.mean()
    return 1 - (frequency * (1 - frequency)).mean() / (mean * (1 - mean))


def test_variance_is_that_of_the_infinitesimal_jackknife():
    """The derivative by each selection's weight, squared and summed. A wrong sign would show."""
    rng = np.random.default_rng(2)
    n_runs, p = 1500, 12
    eager = rng.uniform(0.3, 2, size=(n_runs, 1))  # sizes differ much
    Z = (rng.random((n_runs, p)) < np.minimum(0.9, eager * np.linspace(0.05, 0.6, p))).astype(float)
    step = 1e-4
    derivative = []
    for i in range(n_runs):
        weight = np.ones(n_runs)
        weight[i] += step
        up = plug_in(Z, weight)
        weight[i] -= 2 * step
        derivative.append((up - plug_in(Z, weight)) / (2 * step))
    estimate = nogueira_stability([np.flatnonzero(row) for row in Z], p)
    assert estimate.variance == pytest.approx(np.square(derivative).sum(), rel=5e-3)


def test_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(3)
    chance = np.array([0.95, 0.9, 0.6, 0.3, 0.1, 0.1, 0.05, 0.05])
    mean = chance.mean()
    truth = 1 - (chance * (1 - chance)).mean() / (mean * (1 - mean))
    covered = []
    for _ in range(600):
        Z = rng.random((60, chance.size)) < chance
        estimate = nogueira_stability([np.flatnonzero(row) for row in Z], chance.size)
        covered.append(estimate.lower <= truth <= estimate.upper)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_blocks_do_not_change_the_curve(monkeypatch):
    rng = np.random.default_rng(4)
    orders = rng.permuted(np.tile(np.arange(30), (7, 1)), axis=1).astype(np.uint16)
    sizes = [3, 30, 11, 3, 29]
    whole = nogueira_curve(orders, sizes, 30)
    monkeypatch.setattr(stability, "BLOCK_CELLS", 20)
    assert np.array_equal(whole, nogueira_curve(orders, sizes, 30), equal_nan=True)


def test_rankings_are_read_only_as_deep_as_needed():
    orders = [[0, 1, 1], [1, 0, 99]]
    assert kuncheva_curve(orders, [2], 5).tolist() == [1]


@pytest.mark.parametrize(
    ("selections", "message"),
    [
        ([[0, 1], [1, 5]], r"selections\[1\] has column 5: columns go from 0 to 4"),
        ([[0, -1], [1]], r"selections\[0\] has column -1"),
        ([[0, 1], [3, 1, 3]], r"selections\[1\] has column 3 twice"),
        ([[True, False], [True, True]], r"selections\[0\] is a mask: .* np.flatnonzero"),
        ([[0.5], [1]], r"selections\[0\] is not a vector of whole numbers"),
        ([[[0]], [1]], r"selections\[0\] is not a vector of whole numbers"),
        ([[0, 1]], "selections has 1 run to compare: give at least 2"),
        ([], "selections has 0"),
    ],
)
def test_wrong_selections_are_named(selections, message):
    for function in (kuncheva_index, nogueira_stability):
        with pytest.raises(DataError, match=message):
            function(selections, 5)


@pytest.mark.parametrize(
    ("orders", "sizes", "wrong", "message"),
    [
        ([[0, 1], [1, 5]], [2], DataError, "orders has column 5: columns go from 0 to 4"),
        ([[0, 1], [1, -2]], [2], DataError, "orders has column -2"),
        ([[0, 1], [2, 2]], [2], DataError, r"orders\[1\] has column 2 twice"),
        ([[0, 1]], [2], DataError, "orders has 1 run"),
        ([0, 1], [2], DataError, "orders is not a matrix of whole numbers"),
        ([[0.0, 1.0], [0.0, 1.0]], [2], DataError, "orders is not a matrix of whole numbers"),
        ([[0, 1], [2, 3]], [3], ParameterError, "sizes has 3, and orders 2 features a ranking"),
        ([[0, 1], [2, 3]], [1, 0], ParameterError, "sizes has 0"),
        ([[0, 1], [2, 3]], [], ParameterError, "sizes is not a list"),
        ([[0, 1], [2, 3]], 2, ParameterError, "sizes is not a list"),
        ([[0, 1], [2, 3]], [1.5], ParameterError, "sizes is not a list"),
    ],
)
def test_wrong_rankings_are_named(orders, sizes, wrong, message):
    for function in (kuncheva_curve, nogueira_curve):
        with pytest.raises(wrong, match=message):
            function(orders, sizes, 5)


def test_wrong_parameters_are_named():
    for n_features in (0, 2.0):
        with pytest.raises(ParameterError, match=f"n_features={n_features}"):
            kuncheva_index([[0], [0]], n_features)
        with pytest.raises(ParameterError, match=f"n_features={n_features}"):
            kuncheva_curve([[0], [0]], [1], n_features)
    for level in (0, 1, 95):
        with pytest.raises(ParameterError, match=f"level={level}: give a number between 0 and 1"):
            nogueira_stability([[0], [1]], 3, level=level)
        with pytest.raises(ParameterError, match=f"level={level}"):
            nogueira_curve([[0], [1]], [1], 3, level=level)
    with pytest.raises(DataError, match="give at least 1"):
        selection_frequency([], 3)
    assert selection_frequency([[1]], 3).tolist() == [0, 1, 0]
