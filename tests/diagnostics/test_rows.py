import numpy as np
import polars as pl
import pytest

from featly.basics.errors import ParameterError
from featly.diagnostics import suspect_rows
from featly.diagnostics.linear import left_out_margins
from featly.diagnostics.reading import read_rows
from featly.diagnostics.rows import _neighbour_shares


def blobs(seed=0, n=60, p=5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), np.repeat(["a", "b"], n // 2)
    X[n // 2 :, 0] += 7
    return X, y


def naive_scores(X, k):
    """z of complete numbers, literally."""
    low, middle, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
    Z = (X - middle) / ((high - low) / 1.349)
    mean = [
        np.mean(sorted(np.linalg.norm(Z[i] - Z[j]) for j in range(len(Z)) if j != i)[:k])
        for i in range(len(Z))
    ]
    size = np.log(mean)
    q25, q50, q75, q90 = np.quantile(size, [0.25, 0.5, 0.75, 0.9])
    return (size - q50) / max((q90 - q50) / 1.2816, (q75 - q25) / 1.349)


@pytest.mark.parametrize("k", [1, 4, 10])
def test_scores_are_their_definition(k):
    X = np.random.default_rng(k).normal(size=(40, 3))
    suspects = suspect_rows(X, n_neighbors=k)
    np.testing.assert_allclose(suspects.outlier_scores, naive_scores(X, k), rtol=1e-7)


def test_planted_outliers_are_found_with_their_column():
    X, y = blobs()
    X[11, 3], X[40, 2] = 25.0, -30.0
    suspects = suspect_rows(X, y)
    assert set(suspects.outliers.tolist()) == {11, 40}
    named = dict(zip(suspects.outliers.tolist(), suspects.outlier_columns, strict=True))
    assert named == {11: "x3", 40: "x2"}
    assert (np.diff(suspects.outlier_scores[suspects.outliers]) <= 0).all()


def test_false_alarms_are_rare():
    rng = np.random.default_rng(1)
    gaussian, heavy = [], []
    for _ in range(20):
        gaussian.append(len(suspect_rows(rng.normal(size=(200, 10))).outliers))
        heavy.append(len(suspect_rows(rng.standard_t(3, size=(200, 10))).outliers))
    assert sum(gaussian) / 4000 <= 0.001
    assert sum(heavy) / 4000 <= 0.01


def test_flipped_labels_are_found():
    X, y = blobs(n=100)
    flipped = [3, 30, 77]
    for row in flipped:
        y[row] = "b" if y[row] == "a" else "a"
    suspects = suspect_rows(X, y)
    assert sorted(suspects.mislabelled.tolist()) == flipped
    assert suspects.suggested == ["a" if row < 50 else "b" for row in suspects.mislabelled]
    assert suspects.label_scores.argsort()[-3:].tolist() == suspects.mislabelled[::-1].tolist()
    assert ((suspects.label_scores >= 0) & (suspects.label_scores <= 1)).all()


def test_classes_count_alike_however_many_rows_they_have():
    rows = read_rows(np.arange(30.0)[:, None], None)
    y = (np.arange(30) < 3).astype(np.int64)
    shares, weighted = _neighbour_shares(rows, y, 2, 29, None)  # all are neighbours
    assert weighted == pytest.approx(0.5)
    assert shares[0] == pytest.approx([27 / 29, 2 / 29])


def test_a_class_of_one_row_claims_none_of_its_neighbours():
    X = np.random.default_rng(0).normal(size=(120, 2))
    y = np.array(["rare"] + ["a"] * 60 + ["b"] * 59)
    X[61:, 0] += 9
    X[0] = X[1:61].mean(axis=0)
    y[61:64] = "a"  # beside b, and one of them beside the only row of its kind
    X[64], y[64] = X[61] + 0.01, "other"
    suspects = suspect_rows(X, y)
    named = dict(zip(suspects.mislabelled.tolist(), suspects.suggested, strict=True))
    assert {61, 62, 63} <= set(named) <= {0, 61, 62, 63, 64}
    assert {named[row] for row in (61, 62, 63)} == {"b"}


def test_neighbours_of_a_tiny_class_are_judged_by_all_their_neighbours():
    rng = np.random.default_rng(1)
    X, y = rng.uniform(size=(120, 2)), np.array(["rare", *rng.choice(["a", "b"], 119)])
    X[0] = 0.5
    suspects = suspect_rows(X, y)
    for row in suspects.mislabelled.tolist():
        near = np.argsort(np.abs((X - X[row]) / np.ptp(X, axis=0)) ** 2 @ np.ones(2))[1:11]
        assert (y[near] == y[row]).sum() <= 1


def test_columns_without_any_value():
    X, y = blobs()
    X[:, 3] = np.nan
    X[11, 2] = 25.0
    suspects = suspect_rows(X, y)
    assert suspects.outliers.tolist() == [11]
    assert not len(suspect_rows(np.full((20, 2), np.nan), np.arange(20) % 2).outliers)


def test_no_column_is_named_for_missing_values():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[5] = 0.1, -0.2
    words = {f"g{f}": ["a"] * 5 + [None if f % 2 else "z"] + ["a"] * 54 for f in range(12)}
    suspects = suspect_rows(pl.DataFrame(X).with_columns(pl.DataFrame(words)))
    assert suspects.outliers.tolist() == [5]
    assert suspects.outlier_columns == [""]


def test_machines_are_not_trained_on_the_rows_that_they_predict():
    Z = np.random.default_rng(0).normal(size=(40, 300))  # any labels can be learnt by heart
    y, fold = np.arange(40) % 2, np.arange(40) // 4
    margins = left_out_margins(Z, y, 2, fold, np.ones(40, bool), None)
    assert 0.25 < (margins < 0).mean() < 0.75


def test_a_rare_class_is_not_called_mislabelled():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(200, 4)), np.zeros(200, int)
    y[:8] = 1
    X[:8, 0] += 6
    assert not len(suspect_rows(X, y).mislabelled)


def test_rows_are_found_at_any_position():
    X, y = blobs(n=80)
    y[5] = "b"
    X[50, 4] = 40
    order = np.random.default_rng(0).permutation(80)
    suspects = suspect_rows(X[order], y[order])
    assert order[suspects.mislabelled].tolist() == [5]
    assert order[suspects.outliers].tolist() == [50]


def test_mixed_columns_with_missing_values():
    X, y = blobs(n=120)
    table = pl.DataFrame(X).with_columns(
        pl.Series("sex", ["f", "m", None] * 40), pl.Series("empty", [None] * 120, dtype=pl.Float64)
    )
    table[3, 1] = None
    y[12] = "b"
    suspects = suspect_rows(table, y, n_jobs=1)
    assert suspects.mislabelled.tolist() == [12]
    again = suspect_rows(table, y, n_jobs=2)
    assert (again.label_scores == suspects.label_scores).all()


def test_without_classes_and_with_many():
    X, _ = blobs()
    suspects = suspect_rows(X)
    assert len(suspects.label_scores) == 0
    assert "mislabelled" not in str(suspects)
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2, 3], 15)
    X = rng.normal(size=(60, 2)) + 9 * np.array([(0, 0), (0, 1), (1, 0), (1, 1)])[y]
    y[20] = 3
    suspects = suspect_rows(X, y)
    assert suspects.mislabelled.tolist() == [20]
    assert suspects.suggested == ["1"]
    assert suspects.to_frame()["suspicion"].to_list() == ["mislabelled"]
    assert "1 suspected mislabelled" in str(suspects)


def test_constant_and_tiny_tables():
    assert not len(suspect_rows(np.zeros((30, 2)), np.arange(30) % 2).outliers)
    assert not len(suspect_rows([[0.0], [9.0], [1.0]], [0, 1, 0]).outliers)
    text = pl.DataFrame({"g": ["a", "b"] * 10})
    assert not len(suspect_rows(text).outliers)


def test_large_tables_are_sampled():
    rng = np.random.default_rng(0)
    suspects = suspect_rows(rng.normal(size=(400, 2)), np.arange(400) % 2, max_rows=100)
    assert len(suspects.rows) == len(suspects.outlier_scores) == 100
    assert suspects.n_rows == 400


def test_wrong_parameters():
    with pytest.raises(ParameterError, match="n_neighbors=0"):
        suspect_rows([[0.0]], n_neighbors=0)
    with pytest.raises(ParameterError, match="random_state=-1"):
        suspect_rows([[0.0]], random_state=-1)
    with pytest.raises(ParameterError, match="max_rows=5"):
        suspect_rows([[0.0]], max_rows=5)
