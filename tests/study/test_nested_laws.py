"""Truth of nested cross-validation on made tables: minutes, so run by make test-all."""

import pytest

from tests.study.nested_laws import LAWS, compare_equals, share_of_yes, summarise


@pytest.mark.thorough
@pytest.mark.parametrize("name", LAWS)
def test_the_rate_is_true_and_its_interval_covers_it(name):
    figures = summarise(LAWS[name], 200, seed=1)
    assert abs(figures["told - true"]) <= 0.02
    assert figures["covers"] >= 0.90


@pytest.mark.thorough
def test_equal_pipelines_differ_in_few_tables():
    assert (compare_equals(200, seed=1) <= 0.05).mean() <= 0.08


@pytest.mark.thorough
def test_noise_is_called_predictive_in_few_tables_by_the_whole_protocol():
    assert share_of_yes(LAWS["noise 60 x 50"], 200, seed=1) <= 0.08


def test_a_few_tables_of_a_strong_law():
    """The machinery of the tests above, and a signal that nobody could miss."""
    law = LAWS["three classes"]
    figures = summarise(type(law)(60, 12, law.shares, 3, 4.0), 3, repeats=1)
    assert figures["told"] > 0.9
    assert figures["covers"] == 1.0
