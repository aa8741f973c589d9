"""ReliefF against Weka's printed weights, and what only the estimator knows."""

import gzip

import numpy as np
import polars as pl
import pytest

from featly.basics.errors import ParameterError
from featly.core.relief import relief
from featly.filters.relief import Relief
from featly.filters.relieff import ReliefF

GOLDEN = ["heart_cleveland", "hepatitis", "monk1", "monk2", "monk3", "leukemia_golub"]


def read_golden(folder, name):
    """A table, its classes, and Weka's weights (k = 10, all rows)."""
    file = folder.parent / "golden" / f"{name}.attr.csv"
    packed = file.with_name(f"{file.name}.gz")
    if not (file.exists() or packed.exists()):
        pytest.skip("no golden files of Weka")
    printed = file.read_bytes() if file.exists() else gzip.decompress(packed.read_bytes())
    frame = pl.read_parquet(folder / f"{name}.parquet").drop("split", strict=False)
    weights = pl.read_csv(printed)["relieff_k10_all"].to_numpy()
    return frame.drop("class"), frame["class"].cast(pl.String).to_numpy(), weights


@pytest.mark.parametrize("name", GOLDEN)
def test_equals_weka(data_folder, name):
    X, y, weights = read_golden(data_folder, name)
    scores = ReliefF(ties="weka", missing="weka").fit(X, y).scores_
    assert scores == pytest.approx(weights, abs=1e-12)


def test_equals_weka_without_ties(data_folder):
    X, y, weights = read_golden(data_folder, "hepatitis")
    assert ReliefF(missing="weka").fit(X, y).scores_ == pytest.approx(weights, abs=1e-12)


def test_shared_ties_do_not_depend_on_the_order_of_rows(data_folder):
    X, y, _ = read_golden(data_folder, "monk3")
    rows = np.random.default_rng(0).permutation(len(y))
    shared = [ReliefF().fit(X[r], y[r]).scores_ for r in (np.arange(len(y)), rows)]
    assert shared[0] == pytest.approx(shared[1], abs=2e-12)
    picked = [ReliefF(ties="weka").fit(X[r], y[r]).scores_ for r in (np.arange(len(y)), rows)]
    assert np.abs(picked[0] - picked[1]).max() > 0.02
    assert ReliefF(ties="weka").__sklearn_tags__().non_deterministic
    assert not ReliefF().__sklearn_tags__().non_deterministic


def test_columns_that_inform_only_together():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (100, 20))
    y = X[:, 3] ^ X[:, 11]
    for method in (ReliefF(), ReliefF(n_samples=60)):
        order = method.fit(X, y).order_
        assert set(order[:2].tolist()) == {3, 11}


def test_kinds_of_columns_in_a_frame():
    """An ordinal column counts steps, a categorical one only whether levels differ."""
    levels = ["low", "middle", "high"]
    frame = pl.DataFrame({"dose": [levels[i % 3] for i in range(12)]})
    y = [i % 3 // 2 for i in range(12)]
    by_name = ReliefF(n_neighbors=20).fit(frame, y).scores_[0]
    by_step = ReliefF(n_neighbors=20, schema={"ordinal": {"dose": levels}}).fit(frame, y).scores_[0]
    within = 4 / 7  # of the 8 rows of the first class 4 of 7 others have the other level
    assert by_name == pytest.approx(1 - within * 8 / 12, abs=1e-12)
    assert by_step == pytest.approx(0.75 - within / 2 * 8 / 12, abs=1e-12)


def test_rows_drawn():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 6)), np.arange(50) % 2
    whole = ReliefF(n_neighbors=4).fit(X, y)
    assert whole.n_rows_used_ == 50
    assert not whole.interrupted_
    for wanted in (50, 80):
        assert np.array_equal(
            ReliefF(n_neighbors=4, n_samples=wanted).fit(X, y).scores_, whole.scores_
        )
    drawn = ReliefF(n_neighbors=4, n_samples=20).fit(X, y)
    assert drawn.n_rows_used_ == 20
    again = ReliefF(n_neighbors=4, n_samples=20).fit(X, y)
    other = ReliefF(n_neighbors=4, n_samples=20, random_state=1).fit(X, y)
    assert np.array_equal(drawn.scores_, again.scores_)
    assert not np.array_equal(drawn.scores_, other.scores_)
    assert drawn.__sklearn_tags__().non_deterministic


def test_one_nearest_miss_of_three_classes():
    """Relief uses the nearest row of any other class, ReliefF one of each."""
    X = np.array([[0.0], [1.0], [4.0], [5.0], [9.0], [10.0]])
    y = [0, 0, 1, 1, 2, 2]
    misses = [4, 3, 3, 4, 4, 5]
    assert Relief().fit(X, y).scores_[0] == pytest.approx((sum(misses) / 6 - 1) / 10)
    each = [(4 + 9) / 2, (3 + 8) / 2, (3 + 5) / 2, (4 + 4) / 2, (4 + 8) / 2, (5 + 9) / 2]
    score = ReliefF(n_neighbors=1).fit(X, y).scores_[0]
    assert score == pytest.approx((sum(each) / 6 - 1) / 10)


def test_ctrl_c_keeps_finished_rows(monkeypatch):
    monkeypatch.setattr(relief, "SQUARE_ROWS", 0)
    monkeypatch.setattr(relief, "PANEL_BYTES", 8 * 40 * 10)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 5)) + np.arange(40)[:, None] % 2, np.arange(40) % 2

    def stop(done, total):
        if done == 20:
            raise KeyboardInterrupt

    method = ReliefF(n_neighbors=3, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        method.fit(X, y)
    assert method.interrupted_
    assert method.n_rows_used_ == 10
    assert sorted(method.order_.tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0: give a whole number from 1"),
        ({"n_neighbors": 2.0}, "n_neighbors=2.0"),
        ({"n_samples": True}, "n_samples=True: give a whole number from 1, or None"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"random_state": None}, "random_state=None"),
        ({"ties": "first"}, "ties='first': give 'share' or 'weka'"),
        ({"missing": "mean"}, "missing='mean': give 'conditional' or 'weka'"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ParameterError, match=message):
        ReliefF(**parameters).fit([[0.0], [1.0]], [0, 1])
