"""Ridge weights against least squares on an extended table, and against scikit-learn."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from featly import RidgeRanker
from featly.basics.errors import DataError
from featly.embedded import ridge_ranker


def weights_by_least_squares(columns, h, alpha):
    """Minimise |h - X w|^2 + alpha |w|^2 as plain least squares with a row more for each weight."""
    X = np.array(columns, float).T
    X = X - X.mean(axis=0)
    X = np.vstack([X, np.sqrt(alpha) * np.eye(X.shape[1])])
    H = np.vstack([h, np.zeros((X.shape[1], h.shape[1]))])
    return np.linalg.lstsq(X, H, rcond=None)[0]


def indicators(y):
    H = (y[:, None] == np.unique(y)).astype(float)
    return H - H.mean(axis=0)


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (15, 15)])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_equals_least_squares(shape, alpha, monkeypatch):
    rng = np.random.default_rng(shape[0])
    X, y = rng.normal(3, 2, shape), rng.integers(0, 3, shape[0])
    X[:, 4] = 7.0
    scaled = [x - x.mean() if x.std() == 0 else (x - x.mean()) / x.std() for x in X.T]
    W = weights_by_least_squares(scaled, indicators(y), alpha)
    expected = np.sqrt((W**2).sum(axis=1))
    for few_rows in (2048, 1):  # by rows, and where there are fewer columns by these
        monkeypatch.setattr(ridge_ranker, "FEW_ROWS", few_rows)
        fitted = RidgeRanker(alpha=alpha).fit(X, y)
        assert fitted.scores_ == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert fitted.scores_[4] == 0.0
    sparse = RidgeRanker(alpha=alpha).fit(scipy.sparse.csc_array(X), y)
    assert sparse.scores_ == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_categorical_column_is_a_block_of_indicators():
    rng = np.random.default_rng(1)
    level, x = rng.choice(["a", "b", "c"], 50), rng.normal(size=50)
    y = ((level == "b") + x + rng.normal(size=50) > 0).astype(int)
    block = (level[:, None] == np.array(["a", "b", "c"])).astype(float)
    block /= np.sqrt(block.var(axis=0).sum())
    W = weights_by_least_squares([*block.T, (x - x.mean()) / x.std()], indicators(y), 2.0)
    expected = [np.sqrt((W[:3] ** 2).sum()), np.sqrt((W[3] ** 2).sum())]
    fitted = RidgeRanker(alpha=2.0).fit(pl.DataFrame({"level": level, "x": x}), y)
    assert fitted.scores_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["colon_alon", "heart_cleveland"])
def test_equals_scikit_learn_on_real_tables(data_folder, name):
    table = pl.read_parquet(data_folder / f"{name}.parquet").drop("split", strict=False)
    numbers = table.drop("class").select(pl.selectors.numeric())
    numbers = numbers.select([column for column in numbers if column.null_count() == 0])
    X, labels = numbers.to_numpy().astype(float), table["class"].cast(pl.String).to_numpy()
    scaled = StandardScaler().fit_transform(X)
    H = indicators(labels)
    W = Ridge(alpha=3.0, solver="cholesky").fit(scaled, H).coef_
    fitted = RidgeRanker(alpha=3.0).fit(X, labels)
    assert fitted.scores_ == pytest.approx(np.sqrt((W**2).sum(axis=0)), rel=1e-6)
    target = X[:, 0] + 0.1 * np.arange(len(X))
    w = Ridge(alpha=3.0, solver="cholesky").fit(scaled, target).coef_
    assert RidgeRanker(alpha=3.0).fit(X, target).scores_ == pytest.approx(np.abs(w), rel=1e-6)


def test_large_penalties_give_the_order_of_correlations():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 30))
    y = X[:, 3] - 0.5 * X[:, 8] + rng.normal(size=80)
    correlations = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
    assert (
        RidgeRanker(alpha=1e7).fit(X, y).order_.tolist() == np.argsort(correlations)[::-1].tolist()
    )


def test_too_large_for_a_square_matrix(monkeypatch):
    monkeypatch.setattr(ridge_ranker, "MOST_SQUARE", 10)
    X = np.random.default_rng(3).normal(size=(12, 11))
    with pytest.raises(
        DataError, match=r"X has 12 rows and 11 columns, and RidgeRanker, .* draw some"
    ):
        RidgeRanker().fit(X, np.arange(12) % 2)
    assert len(RidgeRanker().fit(X[:, :9], np.arange(12) % 2).order_) == 9
