"""Priors and costs, applied to merits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.core.ranking.ordering import best_first
from featly.core.ranking.preference import Preference
from tests.reference.preference import order_by_value

merits = st.lists(st.sampled_from([-3.0, -0.5, 0.0, 0.25, 1.0, 8.0]), min_size=2, max_size=9)


def test_without_a_wish_merits_are_returned_as_they_are():
    merit = np.array([0.1, -3.0, np.inf])
    for preference in (
        Preference(),
        Preference(cost=np.array([5.0, 1.0, 2.0])),  # the trade-off is 0
        Preference(keep=np.array([1])),
    ):
        assert preference.apply(merit) is merit
        assert not preference.changes_merit


@given(merits, st.data())
def test_order_equals_the_reference(merit, data):
    n = len(merit)
    cost = data.draw(st.lists(st.sampled_from([0.0, 0.5, 2.0, 40.0]), min_size=n, max_size=n))
    prior = data.draw(st.lists(st.sampled_from([1.0, 2.0, 16.0]), min_size=n, max_size=n))
    trade_off = data.draw(st.sampled_from([0.0, 0.25, 1.0, 64.0]))
    keep = data.draw(st.lists(st.integers(0, n - 1), max_size=2, unique=True))
    preference = Preference(np.array(keep, np.int64), np.array(prior), np.array(cost), trade_off)
    order = preference.put_keep_first(best_first(preference.apply(np.array(merit))))
    assert order.tolist() == order_by_value(merit, cost, trade_off, prior, keep)


def test_equal_merits_at_equal_cost_stay_equal():
    """Sums in another order differ in their last bits, and a cost must not bring that forward."""
    merit = np.array([0.1 + 0.2, 0.3, 0.1 + 0.2])
    preference = Preference(cost=np.full(3, 0.3), trade_off=1.0)
    assert best_first(preference.apply(merit)).tolist() == [0, 1, 2]
    assert len(set(preference.apply(merit).tolist())) == 1


def test_scale_is_the_unit_of_the_merit():
    preference = Preference(cost=np.array([0.0, 2.0]), trade_off=0.5)
    assert preference.apply(np.array([512.0, 512.0]), 256.0).tolist() == [512.0, 256.0]


@pytest.mark.parametrize("chosen", [[], [0], [2, 0]])
def test_a_subset_pays_its_mean_cost(chosen):
    cost = np.array([4.0, 1.0, 2.0])
    preference = Preference(cost=cost, trade_off=0.5)
    candidates = np.array([1])
    subset = [*chosen, 1]
    value = preference.apply_to_subset(np.array([3.0]), np.array(chosen, np.int64), candidates)
    assert value.tolist() == pytest.approx([3.0 - 0.5 * cost[subset].mean()])


def test_without_prior():
    preference = Preference(prior=np.array([1.0, 3.0, 2.0]), cost=np.ones(3), trade_off=1.0)
    changed = preference.without_prior(np.array([False, True, False]))
    assert changed.prior.tolist() == [1.0, 1.0, 2.0]
    assert changed.has_cost
    assert Preference().without_prior(np.array([True])).prior is None
