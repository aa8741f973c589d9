"""MultiSURF by hand and as an estimator; its reference test is that of core's relief."""

import numpy as np
import polars as pl
import pytest

from featly.basics.errors import ParameterError
from featly.filters.multisurf import MultiSURF
from featly.filters.relief import Relief

# skrebate 0.8.4 on the first 200 genes of colon: MultiSURF(), and ReliefF(n_neighbors=1), which is
# Relief; the weights of some genes, the ten best, and the sum of the absolute weights of all
SOME = [0, 1, 2, 50, 100, 199]
SKREBATE = {
    MultiSURF: (
        [-0.003571149, -0.005339677, 0.003831016, 0.012668811, -0.004859117, 0.005088942],
        [65, 110, 46, 137, 13, 25, 61, 66, 126, 42],
        2.742146129,
    ),
    Relief: (
        [0.025862676, 0.011162605, 0.008881951, 0.019932396, 0.004678822, 0.01405483],
        [65, 110, 137, 69, 46, 61, 84, 31, 13, 10],
        5.522154817,
    ),
}


@pytest.mark.parametrize("method", SKREBATE)
def test_equals_skrebate(data_folder, method):
    frame = pl.read_parquet(data_folder / "colon_alon.parquet")
    X, y = frame.drop("class")[:, :200], frame["class"].cast(pl.String)
    fitted = method().fit(X, y)
    weights, best, total = SKREBATE[method]
    assert fitted.relevance_[SOME] == pytest.approx(weights, abs=1e-9)
    assert fitted.order_[:10].tolist() == best
    assert np.abs(fitted.relevance_).sum() == pytest.approx(total, abs=1e-8)


def test_by_hand():
    """Near rows are nearer than the mean minus half a standard deviation."""
    X = np.array([0.0, 1.0, 2.0, 6.0, 7.0, 10.0])
    y = np.array([0, 0, 1, 1, 0, 1])
    apart = np.abs(X[:, None] - X) / 10
    total = 0.0
    for i in range(6):
        is_other = np.arange(6) != i
        limit = apart[i, is_other].mean() - apart[i, is_other].std() / 2
        near = is_other & (apart[i] < limit)
        hits, misses = near & (y == y[i]), near & (y != y[i])
        total += apart[i, misses].mean() if misses.any() else 0.0
        total -= apart[i, hits].mean() if hits.any() else 0.0
    assert MultiSURF().fit(X[:, None], y).scores_[0] == pytest.approx(total / 6, abs=1e-12)


def test_classes_without_a_near_row_do_not_count():
    """From the first rows only class 1 is near, so it has the whole weight of the misses."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [100.0], [100.0]])
    y = [0, 0, 1, 1, 2, 2]
    # near: of 0 and 1 all of the first four, likewise of 2 and 3; of 100 the other at 100
    between = (2.5 + 1.5 + 1.5 + 2.5) / 100
    within = (1 + 1 + 1 + 1 + 0 + 0) / 100
    assert MultiSURF().fit(X, y).scores_[0] == pytest.approx((between - within) / 6, abs=1e-12)


def test_equal_rows_are_not_near():
    """Nothing is nearer than the mean where all distances are the same."""
    X = np.eye(6)
    assert MultiSURF().fit(X, np.arange(6) % 2).scores_.tolist() == [0.0] * 6


def test_columns_that_inform_only_together():
    X = np.random.default_rng(0).integers(0, 2, (200, 12))
    method = MultiSURF().fit(X, X[:, 3] ^ X[:, 7])
    assert set(method.order_[:2].tolist()) == {3, 7}
    assert method.n_rows_used_ == 200


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="missing=None: give 'conditional' or 'weka'"):
        MultiSURF(missing=None).fit([[0.0], [1.0]], [0, 1])
