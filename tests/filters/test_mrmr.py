"""mRMR by F and correlations against NumPy and SciPy; its forms, and parameters it refuses."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.core.sources import CSCSource, DenseSource
from featly.core.stats.correlations import Correlations, mid_ranks
from featly.filters.mrmr import MRMR


def make_table(n=60, p=15, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, p))
    X[:, ::3] += y[:, None] * rng.uniform(0.2, 1.5, X[:, ::3].shape[1])
    X[:, 4] = X[:, 3] + 0.1 * rng.normal(size=n)
    X[:, 7] = np.round(X[:, 7])
    return X, y


def naive(X, y, steps, quotient, ranks=False):
    """F of SciPy and correlations of NumPy, step by step."""
    if ranks:
        X = stats.rankdata(X, axis=0)
    F = np.array(
        [stats.f_oneway(*(column[y == c] for c in np.unique(y))).statistic for column in X.T]
    )
    R = np.abs(np.corrcoef(X.T))
    chosen, J = [], F
    for step in range(steps):
        if step:
            mean = R[:, chosen].mean(axis=1)
            J = F / np.maximum(mean, 0.001) if quotient else F - mean
        left = [f for f in range(X.shape[1]) if f not in chosen]
        chosen.append(max(left, key=lambda f: J[f]))
    remaining = sorted((f for f in left if f != chosen[-1]), key=lambda f: -J[f])
    return chosen + remaining, J


@pytest.mark.parametrize("measure", ["f", "rank"])
@pytest.mark.parametrize("form", ["quotient", "difference", None])
@pytest.mark.parametrize("layout", ["row-major", "feature-major", "sparse"])
def test_correlations_equal_to_the_reference(measure, form, layout):
    X, y = make_table()
    order, J = naive(X, y, 9, form != "difference", measure == "rank")
    table = {
        "row-major": X,
        "feature-major": np.asfortranarray(X),
        "sparse": scipy.sparse.csr_array(X),
    }[layout]
    fitted = MRMR(measure=measure, form=form, max_steps=9).fit(table, y)
    assert fitted.order_.tolist() == order
    last = fitted.order_[8:]
    assert fitted.criterion_[last] == pytest.approx(J[last], rel=1e-9)
    assert fitted.criterion_[fitted.order_[0]] == pytest.approx(fitted.relevance_.max())


def test_redundant_copy_falls_back():
    X, y = make_table()
    alone = MRMR(measure="f", max_steps=1).fit(X, y)
    fitted = MRMR(measure="f").fit(X, y)
    assert alone.ranking_[[3, 4]].max() <= 6
    assert fitted.ranking_[[3, 4]].max() > alone.ranking_[[3, 4]].max()


def test_missing_counts_as_the_mean():
    rng = np.random.default_rng(1)
    X, y = make_table()
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = 1.0  # one complete column, constant
    X[:, 5] = rng.normal(size=60)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    source = DenseSource(X)
    correlations = Correlations(source, source.moments(), np.zeros(15))
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = np.nan_to_num(np.abs(np.corrcoef(filled.T)))
    for s in (0, 2, 5):
        correlations.condition_on(s)
        assert correlations.redundancy == pytest.approx(expected[s], abs=1e-12)
    sparse = CSCSource(scipy.sparse.csc_array(X))
    other = Correlations(sparse, sparse.moments(), np.zeros(15))
    other.condition_on(5)
    assert other.redundancy == pytest.approx(expected[5], abs=1e-12)
    for measure in ("f", "rank"):
        assert MRMR(measure=measure).fit(X, y).order_[-1] == 2


def test_mid_ranks():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 9, (40, 6)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3] = np.nan
    ranks = mid_ranks(DenseSource(X)).values
    expected = stats.rankdata(X, axis=0, nan_policy="omit")
    assert np.array_equal(ranks, expected, equal_nan=True)


def test_rank_ignores_monotone_changes():
    X, y = make_table()
    first = MRMR(measure="rank").fit(X, y)
    second = MRMR(measure="rank").fit(np.exp(X), y)
    assert np.array_equal(first.order_, second.order_)
    assert first.criterion_.tobytes() == second.criterion_.tobytes()


def test_infinite_f_stays_finite():
    X, y = make_table()
    X[:, 9] = y
    for form in ("difference", "quotient"):
        fitted = MRMR(measure="f", form=form).fit(X, y)
        assert fitted.order_[0] == 9
        assert np.isfinite(fitted.scores_).all()
        assert fitted.relevance_[9] == 1e300


def test_equal_columns_tie():
    X, y = make_table(n=61)
    for measure in ("f", "rank"):
        fitted = MRMR(measure=measure).fit(np.hstack([X, X]), y)
        assert (fitted.ranking_[:15] < fitted.ranking_[15:]).all()


def test_wrong_parameters():
    X, y = make_table()
    for parameters, word in (
        ({"measure": "mutual"}, "measure"),
        ({"measure": None}, "measure"),
        ({"form": "ratio"}, "form"),
        ({"measure": "f", "discretizer": None}, "discretizer"),
        ({"measure": "f", "discretizer": "pkid"}, "of no use"),
        ({"measure": "rank", "missing": "spread"}, "missing"),
    ):
        with pytest.raises(ParameterError, match=word):
            MRMR(**parameters).fit(X, y)
    frame = pl.DataFrame({"age": X[:, 0], "stage": [f"s{k % 4}" for k in range(60)]})
    with pytest.raises(DataError, match=r"'stage' is categorical.*measure='information'"):
        MRMR(measure="f").fit(frame, y)
    ordered = {"ordinal": {"stage": ["s0", "s1", "s2", "s3"]}}
    assert len(MRMR(measure="rank", schema=ordered).fit(frame, y).order_) == 2
    assert MRMR._kinds == ("continuous", "ordinal", "categorical")
    assert MRMR(measure="f")._kinds == ("continuous", "ordinal")
    X[3, 1] = np.inf
    with pytest.raises(DataError, match="'x1' has an infinite value"):
        MRMR(measure="rank").fit(X, y)


def test_quotient_without_redundancy():
    # two columns that are independent of each other: the mean redundancy counts as 0.001
    X = np.array([[0, 0], [0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [1, 1], [1, 1]])
    y = [0, 0, 0, 1, 0, 1, 1, 1]
    fitted = MRMR(form="quotient", discretizer=None).fit(X, y)
    assert fitted.criterion_[1] == pytest.approx(fitted.relevance_[1] / 0.001)


def test_quotient_of_informations():
    rng = np.random.default_rng(4)
    y = np.arange(80) % 2
    X = np.column_stack([y ^ (rng.random(80) < q) for q in (0.1, 0.2, 0.3, 0.4, 0.45)]).astype(int)
    X[:, 2] = X[:, 1]
    difference, quotient = (
        MRMR(form=form, discretizer=None, max_steps=3).fit(X, y)
        for form in ("difference", "quotient")
    )
    assert difference.order_[0] == quotient.order_[0] == 0
    assert np.array_equal(difference.order_, MRMR(discretizer=None, max_steps=3).fit(X, y).order_)
    assert (quotient.criterion_ >= 0).all()
