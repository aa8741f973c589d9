"""Kernels of the pairwise rules against matrices of all pairs."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from featly.basics.errors import SlowWarning
from featly.combine.rankings import combine_rankings
from featly.core.ranking import voting
from featly.core.ranking.graphs import (
    closure,
    components,
    contract,
    count_wins_within,
    distinct_strengths,
    pack_edges,
)
from featly.core.ranking.voting import compact_positions, copeland, schulze


def make_positions(p, n_lists, noise, seed=0, ties=False, missing=False):
    """Return twice the positions in lists that agree except for noise."""
    rng = np.random.default_rng(seed)
    worth = rng.permutation(p) / p
    columns = []
    for _ in range(n_lists):
        seen = worth + noise * rng.normal(size=p)
        columns.append(2 * rankdata(seen.round(1) if ties else seen))
    positions = np.column_stack(columns).astype(np.int64)
    if missing:
        positions[rng.random(positions.shape) < 0.3] = 0
    return positions


def count_wins(positions):
    """Count the lists that put a before b, for all pairs."""
    is_listed = positions.T > 0
    return sum(
        (c[:, None] < c) & t[:, None] & t for c, t in zip(positions.T, is_listed, strict=True)
    ).astype(int)


def strongest_paths(votes_for):
    """Return the strongest paths by Floyd and Warshall, on winning votes."""
    path = np.where(votes_for > votes_for.T, votes_for, 0)
    for middle in range(len(path)):
        path = np.maximum(path, np.minimum(path[:, [middle]], path[[middle]]))
    np.fill_diagonal(path, 0)
    return path


CASES = [
    (1, 3, 1.0, {}),
    (64, 4, 0.05, {}),
    (65, 9, 0.3, {"ties": True}),
    (130, 28, 0.3, {"missing": True}),
    (200, 6, 10.0, {"ties": True, "missing": True}),
    (150, 300, 0.5, {}),
    (2, 256, 0.0, {}),
    (90, 7, 0.0, {}),
]


@pytest.mark.parametrize(("p", "n_lists", "noise", "kinds"), CASES)
def test_all_pairs_are_counted(p, n_lists, noise, kinds):
    positions = make_positions(p, n_lists, noise, **kinds)
    votes_for = count_wins(positions)
    sign = np.sign(votes_for - votes_for.T)
    assert (copeland(*compact_positions(positions)) == sign.sum(axis=1)).all()
    path = strongest_paths(votes_for)
    assert (schulze(*compact_positions(positions)) == (path > path.T).sum(axis=1)).all()


def test_blocks_of_any_size_give_the_same(monkeypatch):
    positions = make_positions(150, 12, 0.3, missing=True)
    expected = copeland(*compact_positions(positions)), schulze(*compact_positions(positions))
    monkeypatch.setattr(voting, "_WIDTH", 16)
    monkeypatch.setattr(voting, "_COMPARISONS", 5000)
    reports = []
    actual = (
        copeland(*compact_positions(positions), n_jobs=2),
        schulze(*compact_positions(positions), n_jobs=2, progress=lambda *at: reports.append(at)),
    )
    assert (actual[0] == expected[0]).all()
    assert (actual[1] == expected[1]).all()
    done = [at for at, _ in reports]
    assert done == sorted(done)
    assert reports[-1][0] == reports[-1][1]


def test_positions_in_long_lists_take_more_bytes():
    low, high = compact_positions(np.array([[2, 4], [4, 2]]))
    assert low.dtype == np.uint16
    assert high is low
    low, high = compact_positions(np.array([[2, 0], [200_000, 2]]))
    assert low.dtype == high.dtype == np.uint32
    assert copeland(low, high).tolist() == [1, -1]
    assert schulze(low, high).tolist() == [1, 0]
    assert low[1, 0] == 0
    assert high[1, 0] == np.iinfo(np.uint32).max


def test_graphs_equal_those_of_scipy():
    rng = np.random.default_rng(0)
    for p, density in ((1, 0.5), (63, 0.03), (64, 0.02), (200, 0.008), (200, 0.5)):
        weight = (rng.integers(1, 5, (p, p)) * (rng.random((p, p)) < density)).astype(np.uint8)
        np.fill_diagonal(weight, 0)
        assert distinct_strengths(weight, 4, None) == sorted(
            set(weight.ravel().tolist()) - {0}, reverse=True
        )
        bits = pack_edges(weight, 2, None)
        spread = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :p]
        assert (spread == (weight >= 2)).all()
        merged, count = components(bits)
        expected, labels = connected_components(weight >= 2, connection="strong")
        assert count == expected
        pairs = set(zip(merged.tolist(), labels.tolist(), strict=True))
        assert len(pairs) == count
        # numbered by their first nodes
        assert np.unique(merged, return_index=True)[1].tolist() == sorted(
            np.unique(merged, return_index=True)[1].tolist()
        )
        small = np.zeros((count, count), int)
        np.maximum.at(small, (merged[:, None], merged), weight)
        np.fill_diagonal(small, 0)
        contracted = contract(weight.copy(), merged, count)
        assert (contracted == small).all()
        reach = closure(pack_edges(contracted, 2, None))
        spread = np.unpackbits(reach.view(np.uint8), axis=1, bitorder="little")[:, :count]
        path = np.eye(count, dtype=bool) | (small >= 2)
        for middle in range(count):
            path |= path[:, [middle]] & path[[middle]]
        assert (spread == path).all()
        size = np.bincount(merged)
        together = count_wins_within(contracted, 2, np.zeros(count, np.int64), 1, size)
        assert (together == path @ size - size).all()


def test_long_runs_give_a_warning(monkeypatch):
    positions = make_positions(100, 3, 0.3) // 2
    monkeypatch.setattr(voting, "_LONG", 0.0)
    monkeypatch.setattr(voting, "_COMPARISONS", 300)
    for rule in ("condorcet", "schulze"):
        with pytest.warns(
            SlowWarning, match=f"{rule}: comparing every pair .* hours here: stop"
        ) as caught:
            combine_rankings(positions, rule, n_jobs=1)
        assert caught[0].filename == __file__


@pytest.mark.parametrize("rule", ["condorcet", "schulze"])
def test_work_can_be_stopped(monkeypatch, rule):
    positions = make_positions(100, 3, 0.3) // 2
    monkeypatch.setattr(voting, "_COMPARISONS", 300)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        combine_rankings(positions, rule, verbose=stop)
    assert combine_rankings(positions, rule).order.shape == (100,)
