import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.core.ranking import ordering
from featly.core.ranking.ordering import best_first, descending, round_scores, worst
from tests.reference.columns import order

scores = st.lists(
    st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-14, 1.0 + 1e-12, -3.0, np.inf, 1e-300]),
        st.floats(-1e300, 1e300, allow_subnormal=False),
    ),
    min_size=1,
    max_size=40,
)


@given(scores)
def test_best_first_equals_reference(values):
    assert best_first(np.array(values)).tolist() == order(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering, "SMALL", 0)  # as many keys are sorted
        assert best_first(np.array(values)).tolist() == order(values)


@given(scores, st.integers(1, 40))
def test_worst_equals_the_end_of_best_first(values, count):
    count = min(count, len(values))
    positions = worst(np.array(values), count)
    assert positions.tolist() == order(values)[len(values) - count :]


def test_scores_closer_than_the_rounding_tie_by_position():
    base = 0.1 + 0.2
    assert best_first(np.array([0.3, base, 0.3])).tolist() == [0, 1, 2]
    assert best_first(np.array([0.3, 0.3 * (1 + 1e-8)])).tolist() == [1, 0]


def test_rounding_leaves_its_input_alone_and_is_idempotent():
    values = np.random.default_rng(0).normal(size=1000)
    before = values.copy()
    once = round_scores(values)
    assert np.array_equal(values, before)
    assert np.array_equal(round_scores(once), once)
    assert np.abs(once / values - 1).max() < 2**-33


def test_a_score_that_is_not_a_number_is_an_error():
    with pytest.raises(ValueError, match="score 1"):
        best_first(np.array([1.0, np.nan]))


@pytest.mark.parametrize(
    "keys",
    [
        [0.5, 0.0, 2.0, 0.0, 0.5],
        [1e-300, 0.0, 1e300, np.inf, 1e-300],
        [-1.0, 3.0, -1.0, 0.0],
        [-0.0, 0.0, 1.0],
        [0.0],
        [7.0, 7.0],
        [3, -4, 3, 0],
        [2**62, -(2**62), 0, 2**62],
        [True, False],
    ],
    ids=str,
)
@pytest.mark.parametrize("small", [0, 4096])
def test_many_keys_are_sorted_with_their_positions(keys, small, monkeypatch):
    monkeypatch.setattr(ordering, "SMALL", small)
    keys = np.resize(np.array(keys), 701)
    keys = round_scores(keys) if keys.dtype.kind == "f" else keys.astype(np.int64)
    naive = sorted(range(len(keys)), key=lambda k: (-keys[k], k))
    before = keys.copy()
    positions = descending(keys)
    assert positions.tolist() == naive
    assert positions.dtype == np.int64
    np.testing.assert_array_equal(keys, before)


def test_keys_that_have_too_many_digits_for_a_position_are_sorted_all_the_same(monkeypatch):
    monkeypatch.setattr(ordering, "SMALL", 0)
    keys = round_scores(np.random.default_rng(0).normal(size=300) ** 2)
    assert ordering._pack_keys(keys) is not None
    wide = np.concatenate([keys, [1e-300, 1e300] * 10_000])
    assert ordering._pack_keys(round_scores(wide)) is not None
    assert ordering._pack_keys(np.append(wide, 1 / 3)) is None
    assert ordering._pack_keys(-wide) is None
    assert descending(-wide).tolist() == np.lexsort((np.arange(len(wide)), wide)).tolist()
