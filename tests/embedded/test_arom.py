import dataclasses
import pickle
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly import AROM, ConvergenceWarning, DataError, ParameterError, SchemaWarning
from featly.core.sources import dense
from featly.core.svm import arom as core
from featly.embedded import arom as public


def expression(n=30, p=80, seed=0):
    """More columns than rows: separable, whatever the classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :4] += y[:, None]
    return X, y


def overlapping_classes(n=60, p=6, seed=0):
    """Fewer columns than rows, and no hyperplane."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :2] += y[:, None]
    return X, y


def outcome(fitted):
    return [
        fitted.scores_.tobytes(),
        fitted.order_.tobytes(),
        fitted.objective_.tobytes(),
        fitted.log_weight_.tobytes(),
    ]


# ---- the prior -----------------------------------------------------------------------------------
@pytest.mark.parametrize("parameters", [{}, {"norm": 1}, {"C": 5.0}, {"standardize": False}])
def test_equal_priors_change_no_bit(parameters):
    X, y = expression()
    plain = outcome(AROM(**parameters).fit(X, y))
    ones = AROM(**parameters, schema={"prior": dict.fromkeys(range(80), 1.0)}).fit(X, y)
    assert outcome(ones) == plain
    with pytest.warns(SchemaWarning, match="favours none"):
        same = AROM(**parameters, schema={"prior": dict.fromkeys(range(80), 7.0)}).fit(X, y)
    assert outcome(same) == plain


@pytest.mark.parametrize("norm", [1, 2])
def test_a_prior_times_a_constant_changes_no_bit(norm):
    X, y = expression(p=40)
    prior = np.where(np.arange(40) % 7, 1.0, 8.0)
    outcomes = [
        outcome(AROM(norm=norm, schema={"prior": dict(enumerate(c * prior))}).fit(X, y))
        for c in (1.0, 2.0, 64.0)
    ]
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("norm", [1, 2])
def test_a_prior_raises_a_column_only_if_it_separates(norm):
    X, y = expression(seed=3)
    X[:, 60] = X[::-1, 60] + X[:, 60]  # of no use: equal in the two classes, row by row
    plain = AROM(norm=norm).fit(X, y)
    worst = plain.order_[40]
    with_prior = AROM(norm=norm, schema={"prior": {int(worst): 100.0}}).fit(X, y)
    assert with_prior.ranking_[worst] < plain.ranking_[worst]
    assert with_prior.n_iter_ == len(with_prior.path_)


def test_a_constant_column_with_a_prior_stays_last():
    X, y = expression()
    X[:, 5] = 0.1
    for standardize in (True, False):
        ranker = AROM(standardize=standardize, schema={"prior": {5: 1e12}}).fit(X, y)
        assert ranker.order_[-1] == 5
        assert ranker.scores_[5] == 0
        assert ranker.log_weight_[5] == -np.inf


# ---- invariances ---------------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [1, 2])
def test_units_of_the_whole_table_do_not_matter_for_a_hard_margin(norm):
    X, y = expression(seed=2)
    plain = AROM(norm=norm, standardize=False).fit(X, y)
    for factor in (2.0**-20, 2.0**10, 3.0, 1e5):
        scaled = AROM(norm=norm, standardize=False).fit(factor * X, y)
        top = slice(None) if norm == 2 else slice(int(plain.path_[0]))
        assert scaled.order_[top].tolist() == plain.order_[top].tolist()
        weighed = plain.log_weight_ > -np.inf
        near = plain.log_weight_ > plain.log_weight_.max() - 10
        assert (scaled.log_weight_ + np.log(factor))[near] == pytest.approx(
            plain.log_weight_[near], abs=1e-6
        )
        assert ((scaled.log_weight_ > -np.inf) == weighed).all()


def test_units_of_columns_do_not_matter_when_standardised():
    X, y = expression(seed=2)
    plain = AROM().fit(X, y)
    units = 10.0 ** np.random.default_rng(0).integers(-6, 7, 80)
    changed = AROM().fit(X * units + units, y)
    assert changed.order_.tolist() == plain.order_.tolist()
    raw = AROM(standardize=False).fit(X * (1 + np.arange(80) % 3), y)
    assert raw.order_.tolist() != plain.order_.tolist()


def test_columns_in_very_different_units_are_not_called_inseparable():
    """Without standardisation: 1e10 cells per litre beside a ratio."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[:, 0] *= 1e10
    try:
        ranker = AROM(standardize=False).fit(X, y)
    except DataError as refused:
        assert "standardize=True" in str(refused)  # noqa: PT017  either will do
    else:
        assert set(ranker.order_[:2]) == {0, 1}


def test_rounding_noise_is_recognised_in_any_units():
    """A column whose weight is 0 but for rounding, without standardisation, in small units."""
    X = np.array([[1, 1, 1], [1, -1, 2], [-1, 1, 1], [-1, -1, 2]], dtype=float) * 1e-6
    y = np.array([1, 1, 0, 0])
    for scale in (1.0, 1e-3, 1e3):
        ranker = AROM(standardize=False, max_iter=100).fit(X * [1, scale, 1], y)
        assert ranker.log_weight_[0] > -np.inf
        assert (ranker.log_weight_[1:] == -np.inf).all()


@pytest.mark.parametrize("parameters", [{}, {"norm": 1}, {"C": 3.0}])
def test_swapping_the_classes_changes_nothing(parameters):
    X, y = expression(seed=4)
    first, swapped = AROM(**parameters).fit(X, y), AROM(**parameters).fit(X, 1 - y)
    named = AROM(**parameters).fit(X, np.array(["ill", "well"])[y])
    assert first.order_.tolist() == swapped.order_.tolist() == named.order_.tolist()
    assert first.objective_ == pytest.approx(swapped.objective_, rel=1e-9)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_equals_dense(norm, standardize):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((20, 60)) < 0.4, rng.normal(size=(20, 60)), 0.0)
    y = np.arange(20) % 2
    dense = AROM(norm=norm, standardize=standardize).fit(X, y)
    sparse = AROM(norm=norm, standardize=standardize).fit(scipy.sparse.csc_array(X), y)
    left = int(dense.path_[-1])
    assert np.array_equal(dense.order_[:left], sparse.order_[:left])
    assert sparse.path_.tolist() == dense.path_.tolist()


def test_layouts_and_precisions(monkeypatch):
    X, y = expression(n=24, p=300)
    X = X.astype(np.float32)
    expected = AROM().fit(X.astype(float), y)
    for size in (dense.COMPACT_BYTES, 0):  # with and without a copy of what is left
        monkeypatch.setattr(dense, "COMPACT_BYTES", size)
        monkeypatch.setattr(dense, "COMPACT_SHARE", 10**9 if size == 0 else 20)
        for layout in (X, np.asfortranarray(X), X.astype(float), np.asfortranarray(X, float)):
            ranker = AROM().fit(layout, y)
            assert ranker.order_.tolist() == expected.order_.tolist()
            assert ranker.path_.tolist() == expected.path_.tolist()


@pytest.mark.parametrize("parameters", [{}, {"norm": 1}, {"C": 1000.0}])
def test_threads_change_no_bit(parameters):
    X, y = expression(n=20, p=9000)
    outcomes = [outcome(AROM(**parameters, n_jobs=n).fit(X, y)) for n in (1, 2)]
    assert outcomes[0] == outcomes[1]


# ---- the outcome ---------------------------------------------------------------------------------
@pytest.mark.parametrize("parameters", [{}, {"norm": 1}, {"C": 4.0}, {"norm": 1, "C": 40.0}])
def test_scores_iterations_and_path_agree(parameters):
    X, y = expression(seed=7)
    X[:, 9] = 1.0
    ranker = AROM(**parameters).fit(X, y)
    p, n_iter = 80, ranker.n_iter_
    assert ranker.converged_
    assert not ranker.interrupted_
    assert n_iter == len(ranker.path_) == len(ranker.objective_) == len(ranker.duality_gap_)
    assert ranker.path_.tolist() == [int((ranker.iterations_ > k).sum()) for k in range(n_iter)]
    assert (np.floor(ranker.scores_) <= ranker.iterations_ + 1).all()
    share = ranker.scores_ - ranker.iterations_
    assert ((share >= 0) & (share <= 1)).all()
    assert (np.diff(ranker.scores_[ranker.order_]) <= 1e-9).all()
    # the first has the largest weight of the last machine, and the whole share
    first = ranker.order_[0]
    assert ranker.iterations_[first] == n_iter
    assert ranker.log_weight_[first] == ranker.log_weight_[ranker.iterations_ == n_iter].max()
    assert share[first] == 1
    left = ranker.order_[: int(ranker.path_[-1])]
    assert (ranker.iterations_[left] == n_iter).all()
    assert (np.diff(ranker.log_weight_[left]) <= 1e-9).all()
    assert ranker.scores_[9] == 0
    assert sorted(ranker.order_.tolist()) == list(range(p))
    table = ranker.table()
    assert table["log_weight"].to_list() == ranker.log_weight_[ranker.order_].tolist()
    assert table["iterations"].to_list() == ranker.iterations_[ranker.order_].tolist()


def test_score_is_the_formula():
    """The score is iterations + 1 / (1 + ln(largest weight / the column's weight))."""
    X, y = expression(n=16, p=30, seed=1)
    whole = AROM().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps = [AROM(max_iter=k).fit(X, y) for k in range(1, whole.n_iter_ + 1)]
    for f in range(30):
        then = steps[min(whole.iterations_[f], whole.n_iter_ - 1)]
        took_part = then.iterations_ >= then.n_iter_ - 1
        below = then.log_weight_[took_part].max() - then.log_weight_[f]
        assert whole.log_weight_[f] == then.log_weight_[f]
        assert whole.scores_[f] == pytest.approx(whole.iterations_[f] + 1 / (1 + below), rel=1e-12)


@pytest.mark.parametrize("weight", [1.0, 10.0, 1e2])
def test_vanished_columns_and_objective(weight):
    """Nothing vanishes that is near the largest, even times its prior; the objective counts all."""
    X, y = expression(n=16, p=40, seed=1)
    epsilon = -52 * np.log(2)
    beta = np.where(np.arange(40) % 2, weight, 1.0)
    for k in range(1, 9):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker = AROM(max_iter=k, schema={"prior": dict(enumerate(beta))}).fit(X, y)
        took_part = ranker.iterations_ >= k - 1
        log_w = np.where(took_part, ranker.log_weight_, -np.inf)
        gone = took_part & (ranker.iterations_ < k)
        assert (log_w[gone] + 2 * np.log(beta[gone]) - log_w.max() < np.log(1e-4)).all()
        left = ranker.iterations_ == k
        assert (log_w[left] + 2 * np.log(beta[left]) - log_w.max() > epsilon).all()
        h = np.logaddexp(log_w, epsilon) / beta
        assert ranker.objective_[k - 1] == pytest.approx(h.sum(), rel=1e-9)
    assert 0 < left.sum() < 30


def test_norm_1_ranks_columns_without_weight_by_how_near_they_were_to_have_one():
    X, y = expression(n=16, p=60, seed=2)
    ranker = AROM(norm=1).fit(X, y)
    first = int(ranker.path_[0])
    assert first <= 16
    gone = ranker.iterations_ == 0
    assert gone.sum() == 60 - first
    assert ((ranker.scores_[gone] > 0) & (ranker.scores_[gone] <= 0.5)).all()
    assert len(np.unique(ranker.scores_[gone])) == gone.sum()
    assert (ranker.log_weight_[gone] == -np.inf).all()


def test_categorical_column_is_one_feature():
    rng = np.random.default_rng(0)
    n = 60
    y = np.arange(n) % 2
    frame = pl.DataFrame({f"g{j}": rng.normal(size=n) for j in range(20)}).with_columns(
        many=pl.Series([f"site {k}" for k in rng.integers(0, 12, n)]),
        signal=pl.Series(np.where(rng.random(n) < 0.9, np.array(["no", "yes"])[y], "unknown")),
    )
    for parameters in ({"C": 10.0}, {"norm": 1, "C": 10.0}):
        ranker = AROM(**parameters).fit(frame, y)
        assert len(ranker.order_) == 22
        assert ranker.table()["feature"][0] == "signal"


def test_columns_to_keep_come_first():
    X, y = expression()
    free = AROM().fit(X, y)
    with_keep = AROM(schema={"keep": [70, 71]}, n_features_to_select=5).fit(X, y)
    assert set(with_keep.order_[:2]) == {70, 71}
    assert with_keep.order_[2:].tolist() == [f for f in free.order_ if f not in (70, 71)]
    assert with_keep.scores_.tolist() == free.scores_.tolist()
    assert with_keep.transform(X).shape == (30, 5)


def test_pickles():
    X, y = expression(p=40)
    ranker = AROM(schema={"prior": {3: 10}}).fit(X, y)
    again = pickle.loads(pickle.dumps(ranker))
    assert outcome(again) == outcome(ranker)
    assert again.table().equals(ranker.table())


# ---- the price of a violation --------------------------------------------------------------------
@pytest.mark.parametrize("norm", [1, 2])
def test_a_large_price_is_a_hard_margin(norm):
    X, y = expression(n=20, p=40, seed=6)
    hard, dear = AROM(norm=norm).fit(X, y), AROM(norm=norm, C=1e4).fit(X, y)
    n_shared = min(hard.n_iter_, dear.n_iter_)
    assert hard.path_[:n_shared].tolist() == dear.path_[:n_shared].tolist()
    near = hard.log_weight_ > hard.log_weight_.max() - 12
    assert dear.log_weight_[near] == pytest.approx(hard.log_weight_[near], abs=1e-6)
    assert dear.objective_[:n_shared] == pytest.approx(hard.objective_[:n_shared], rel=1e-6)


@pytest.mark.parametrize("norm", [1, 2])
def test_inseparable_classes_name_the_remedy(norm):
    X, y = overlapping_classes()
    with pytest.raises(DataError, match=r"no hyperplane separates .* 6 columns.*AROM\(C=1\)"):
        AROM(norm=norm).fit(X, y)
    ranker = AROM(norm=norm, C=10.0).fit(X, y)
    assert set(ranker.order_[:2]) == {0, 1}
    assert ranker.converged_


@pytest.mark.parametrize("norm", [1, 2])
def test_constant_columns_alone_separate_nothing(norm):
    with pytest.raises(DataError, match="no hyperplane"):
        AROM(norm=norm).fit(np.ones((6, 3)), np.arange(6) % 2)


@pytest.mark.parametrize("norm", [1, 2])
def test_a_small_price_warns_that_no_column_is_worth_it(norm):
    X, y = expression(n=20, p=200)
    C = {1: 0.01, 2: 1.0}[norm]
    with pytest.warns(ConvergenceWarning, match=f"C={C:g}.*larger C") as caught:
        ranker = AROM(norm=norm, C=C).fit(X, y)
    assert caught[0].filename == __file__  # it points at the caller
    assert sorted(ranker.order_.tolist()) == list(range(200))
    assert np.isfinite(ranker.scores_).all()
    if ranker.n_iter_:  # the last weights that there were are ranked
        left = ranker.iterations_ == ranker.n_iter_
        assert (ranker.log_weight_[left] > -np.inf).all()


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_weights_of_zero_from_the_start_warn(C):
    """Unequal classes of noise: the best machine is w = 0, and no price changes that."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 12)), (np.arange(60) < 12).astype(int)
    for norm in (1, 2):
        with pytest.warns(ConvergenceWarning, match="every column the weight 0"):
            ranker = AROM(norm=norm, C=C).fit(X, y)
        assert ranker.n_iter_ == 0
        assert np.isfinite(ranker.scores_).all()


@pytest.mark.parametrize("norm", [1, 2])
def test_too_few_iterations_warn(norm):
    X, y = expression()
    with pytest.warns(ConvergenceWarning, match=r"after 1 iterations.*max_iter \(it is 1\)"):
        ranker = AROM(norm=norm, max_iter=1).fit(X, y)
    assert not ranker.converged_
    assert ranker.n_iter_ == 1
    whole = AROM(norm=norm).fit(X, y)
    assert ranker.objective_[0] == whole.objective_[0]
    rough = AROM(norm=norm, tol=0.3).fit(X, y)
    assert rough.converged_
    assert rough.n_iter_ < whole.n_iter_ or norm == 1


def test_a_poor_machine_warns(monkeypatch):
    X, y = expression(n=12, p=20)
    solve = core._SquaredNorm._solve

    def solve_worse(self, *arguments):
        return dataclasses.replace(solve(self, *arguments), duality_gap=1e-3)

    monkeypatch.setattr(core._SquaredNorm, "_solve", solve_worse)
    with pytest.warns(ConvergenceWarning, match=r"iteration 1 was solved .* 1.0e-03"):
        AROM().fit(X, y)
    assert public.POOR_DUALITY_GAP < 1e-3


# ---- the interface -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"norm": 3}, "norm=3"),
        ({"norm": True}, "norm=True"),
        ({"norm": "2"}, "norm='2'"),
        ({"C": 0}, "C=0"),
        ({"C": -1.0}, "C=-1"),
        ({"C": np.nan}, "C=nan"),
        ({"C": "1"}, "C='1'"),
        ({"C": True}, "C=True"),
        ({"tol": 0}, "tol=0"),
        ({"tol": None}, "tol=None"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_iter": 2.5}, "max_iter=2.5"),
        ({"max_iter": True}, "max_iter=True"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    X, y = expression(p=40)
    with pytest.raises(ParameterError, match=word):
        AROM(**parameters).fit(X, y)


def test_three_classes_name_the_remedy():
    X, _ = expression()
    with pytest.raises(DataError, match=r"3 classes.*PairwiseRanker"):
        AROM().fit(X, np.arange(30) % 3)


def test_missing_values_are_refused_with_their_row_and_column():
    X, y = expression(p=40)
    X[4, 7] = np.nan
    with pytest.raises(DataError, match=r"'x7' has a missing value .* row 4.*AROM needs"):
        AROM().fit(X, y)


def test_progress():
    X, y = expression()
    for norm in (1, 2):
        seen = []
        ranker = AROM(norm=norm, verbose=lambda *at: seen.append(at)).fit(X, y)  # noqa: B023
        assert seen[:-1] == [(k + 1, 100) for k in range(ranker.n_iter_)]
        assert seen[-1] == (100, 100)


def test_progress_reports_no_step_twice():
    X, y = expression()
    seen = []
    with pytest.warns(ConvergenceWarning):
        AROM(max_iter=3, verbose=lambda *at: seen.append(at)).fit(X, y)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_verbose_draws_on_standard_error_only(capsys):
    X, y = expression(p=40)
    AROM(verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "iterations" in err
    AROM().fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_ctrl_c_keeps_finished_iterations(norm, moment):
    X, y = expression(seed=8)

    def press(done, total):
        if done == moment:
            raise KeyboardInterrupt

    ranker = AROM(norm=norm, verbose=press)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped = AROM(norm=norm, max_iter=moment).fit(X, y)
    assert ranker.interrupted_
    assert not ranker.converged_
    assert outcome(ranker) == outcome(stopped)
    assert ranker.n_iter_ == moment


def test_ctrl_c_in_the_last_moment_keeps_all():
    X, y = expression(seed=8)

    def press(done, total):
        if done == total:
            raise KeyboardInterrupt

    ranker = AROM(verbose=press)
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y)
    assert ranker.order_.tolist() == AROM().fit(X, y).order_.tolist()


def test_ctrl_c_before_the_first_machine_leaves_nothing(monkeypatch):
    X, y = expression()

    def press(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(core.SVMDual, "solve", press)
    ranker = AROM()
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y)
    assert not hasattr(ranker, "order_")


@given(st.integers(0, 10_000), st.sampled_from([1, 2]))
@settings(max_examples=25)
def test_any_order_of_rows_and_columns(seed, norm):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 12)), int(rng.integers(12, 30))
    X, y = rng.normal(size=(n, p)), rng.permutation(np.arange(n) % 2)
    ranker = AROM(norm=norm).fit(X, y)
    rows, columns = rng.permutation(n), rng.permutation(p)
    other = AROM(norm=norm).fit(X[rows][:, columns], y[rows])
    left = int(ranker.path_[-1])
    assert columns[other.order_[:left]].tolist() == ranker.order_[:left].tolist()
    n_shared = min(ranker.n_iter_, other.n_iter_)
    assert other.path_[:n_shared].tolist() == ranker.path_[:n_shared].tolist()


def test_norm_1_stops_if_only_rounding_changes_its_objective():
    """A step that lowers the objective by its last bit is none, whatever the order of the rows."""
    rng = np.random.default_rng(1161)
    n, p = int(rng.integers(4, 12)), int(rng.integers(12, 30))
    X, y = rng.normal(size=(n, p)), rng.permutation(np.arange(n) % 2)
    ranker = AROM(norm=1).fit(X, y)
    for seed in range(6):
        rows = np.random.default_rng(seed).permutation(n)
        other = AROM(norm=1).fit(X[rows], y[rows])
        assert other.n_iter_ == ranker.n_iter_
        assert other.scores_ == pytest.approx(ranker.scores_, rel=1e-9)


# ---- real data -----------------------------------------------------------------------------------
def test_two_markers_of_lymphoma(data_folder):
    """Helleputte and Dupont, section 4.3: TR and LDHA, favoured by 10."""
    frame = pl.read_parquet(data_folder / "dlbcl_shipp.parquet")
    X, y = frame.drop("class", "split", strict=False), frame["class"]
    markers = ["X01060_at", "X02152_at"]
    plain = AROM().fit(X, y)
    with_prior = AROM(schema={"prior": dict.fromkeys(markers, 10)}).fit(X, y)
    assert set(with_prior.table()["feature"][:2]) == set(markers)
    assert "X01060_at" not in plain.table()["feature"][:30].to_list()
    for beta in (1e3, 1e6, 1e12):
        wide = AROM(schema={"prior": dict.fromkeys(markers, beta)}).fit(X, y)
        assert set(wide.table()["feature"][:2]) == set(markers)
        assert np.isfinite(wide.scores_).all()
