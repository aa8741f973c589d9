"""Draws in stages: p-values that hold, and enough of them for one column among many."""

import numpy as np
import pytest

from featly.core.runtime.monte_carlo import draw_in_stages


def staged_p(share, n_columns=1, seed=0, n_draws=10_000, **options):
    """p-values of columns of which a random draw is as extreme with a known probability."""
    rng = np.random.default_rng(seed)

    def count(active, low, high):
        return rng.binomial(high - low, share[active])

    reached, drawn = np.zeros((2, len(share)), np.int64)
    draw_in_stages(count, reached, drawn, n_draws=n_draws, n_columns=n_columns, **options)
    return (1 + reached) / (1 + drawn), drawn


@pytest.mark.parametrize("all_at_once", [False, True])
def test_p_values_hold_at_every_level(all_at_once):
    """A null column's exact p is uniform; so must be that of the draws, or larger."""
    m = 400_000
    share = np.random.default_rng(1).random(m)
    p, _ = staged_p(share, n_columns=m, all_at_once=all_at_once)
    for level in (0.2, 0.1, 0.09, 0.021, 0.02, 0.01, 0.002, 0.0011, 0.001, 1e-4, 9e-5, 2e-5):
        assert (p <= level).mean() < level + 3.5 * (level / m) ** 0.5


def test_one_column_among_5000_is_found_and_work_is_bounded():
    share = np.append(np.random.default_rng(2).uniform(0.001, 1, 4999), 0.0)
    p, drawn = staged_p(share, n_columns=5000)
    assert p[-1] * 5000 <= 0.05
    assert drawn[-1] == drawn.max() <= 4 * 40 * 5000
    # with many such columns, fewer draws do
    p, drawn = staged_p(np.zeros(5000), n_columns=5000)
    assert (drawn == 10_000).all()


def test_stages_and_reports():
    calls = []
    reached, drawn = np.zeros((2, 3), np.int64)

    def count(active, low, high):
        calls.append((active.tolist(), low, high))
        return np.where(active == 0, high - low, 0)

    draw_in_stages(count, reached, drawn, n_draws=1000, n_columns=60, batch=2, report=list)
    assert calls == [
        ([0, 1], 0, 20), ([2], 0, 20), ([1, 2], 20, 100), ([1, 2], 100, 1000), ([1, 2], 1000, 4000)
    ]  # fmt: skip
    assert reached.tolist() == [20, 0, 0]
    assert drawn.tolist() == [20, 4000, 4000]
