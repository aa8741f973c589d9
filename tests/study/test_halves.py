"""Stability of halves that share no rows, beside shuffled labels."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest

from featly.basics.errors import DataError
from featly.measures.stability import half_index, nogueira_stability
from featly.study import Dataset, half_stability
from tests.study.nested_laws import LAWS
from tests.study.quick_pipeline import QuickF


def table(n=80, p=40, signal=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :4] += signal * y[:, None]
    return X, y


def test_index_is_that_of_the_two_selections():
    rng = np.random.default_rng(0)
    a, b = [rng.permutation(12) for _ in range(6)], [rng.permutation(12) for _ in range(6)]
    index = half_index(a, b, [1, 3, 8], 12)
    for split in range(6):
        for k, size in enumerate([1, 3, 8]):
            expected = nogueira_stability([a[split][:size], b[split][:size]], 12).value
            assert index[split, k] == pytest.approx(expected)
    assert half_index(a, b, [0], 12).shape == (6, 1)


def test_noise_is_as_stable_as_shuffled_labels():
    stability = half_stability({"f": QuickF()}, table(), sizes=[4, 16], n_jobs=1)
    for size in (4, 16):
        value, null = stability.at("f", size)
        assert abs(value) < 0.15
        assert abs(null) < 0.15


def test_a_signal_is_stable_and_its_shuffled_labels_are_not():
    stability = half_stability({"f": QuickF()}, table(signal=3.0), sizes=[4], n_jobs=1)
    value, null = stability.at("f", 4)
    assert value > 0.9
    assert abs(null) < 0.15
    assert stability.table().columns == ["method", "size", "stability", "null", "n"]


def test_halves_say_what_fresh_tables_of_half_the_size_give():
    law = LAWS["3 columns of .7 in 60 x 50"]
    rng = np.random.default_rng(0)
    said, fresh = [], []
    for table_number in range(25):
        X, y = law.draw(60, rng)
        stability = half_stability(
            {"f": QuickF()}, (X, y), sizes=[4], n_jobs=1, random_state=table_number
        )
        said.append(stability.at("f", 4)[0])
    for _ in range(200):
        a, b = (QuickF().fit(*law.draw(30, rng)).order_ for _ in range(2))
        fresh.append(half_index([a], [b], [4], 50).item())
    assert np.mean(said) == pytest.approx(np.mean(fresh), abs=0.06)


class Recorder(QuickF):
    """Record the rows of every fit: the first column is their number."""

    seen = []  # noqa: RUF012

    def fit(self, X, y):
        Recorder.seen.append(X[:, 0].astype(int).tolist())
        return super().fit(X, y)


def test_halves_share_no_row_and_miss_none():
    X, y = table(30)
    X[:, 0] = np.arange(30) + 0.5  # half a number names no row
    Recorder.seen.clear()
    half_stability({"r": Recorder()}, (X, y), splits=3, n_jobs=1)
    assert len(Recorder.seen) == 12
    for a, b in zip(Recorder.seen[::2], Recorder.seen[1::2], strict=True):
        assert sorted(a + b) == list(range(30))


def test_a_selector_is_compared_at_its_own_size():
    methods = {"k": SelectKBest(k=4), "none": None}
    stability = half_stability(methods, table(signal=3.0), n_jobs=1)
    assert list(stability.sizes) == ["k"]
    assert stability.sizes["k"].tolist() == [4]
    assert stability.at("k")[0] > 0.9


def test_failures_are_left_out():
    class Fails(QuickF):
        def fit(self, X, y):
            if X[:, 0].sum() > 0:
                raise ValueError("no such luck")
            return super().fit(X, y)

    stability = half_stability({"f": Fails()}, table(), sizes=[4], n_jobs=1)
    n = stability.table()["n"][0]
    assert n < 20
    assert len(stability.errors) > 0


def test_groups_that_leave_a_class_out_of_a_half_are_refused():
    X, y = table(20)
    groups = np.arange(20)
    groups[y == 1] = 99
    with pytest.raises(DataError, match="class 1 is absent from one half"):
        half_stability({"f": QuickF()}, Dataset.of(X, y, row_groups=groups), n_jobs=1)


def test_wrong_sizes_are_refused():
    stability = half_stability({"f": QuickF()}, table(30, 8), sizes=[2, 4], splits=2, n_jobs=1)
    with pytest.raises(DataError, match="size 3 of f was not tried"):
        stability.at("f", 3)
    with pytest.raises(DataError, match="give one of the sizes"):
        stability.at("f")
