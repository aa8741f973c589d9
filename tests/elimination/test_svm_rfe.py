import signal
import threading
import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from featly import SVMRFE, ConvergenceWarning, DataError
from featly.core.sources import DenseSource
from featly.elimination import linear_svm
from featly.elimination.rfe import eliminate, schedule
from tests.reference.columns import atoms, standardise
from tests.reference.svm import svm_rfe as naive_rfe


@st.composite
def mixed_tables(draw):
    """Numbers and categories, ties and constant columns."""
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n_rows = draw(st.integers(6, 24))
    n_numbers, n_codes = draw(st.integers(1, 8)), draw(st.integers(0, 4))
    columns = {}
    for j in range(n_numbers):
        x = rng.normal(size=n_rows)
        columns[f"n{j}"] = np.round(x) if draw(st.booleans()) else x
    for j in range(n_codes):
        columns[f"c{j}"] = np.array(list("abcdef"))[rng.integers(0, 2 + j, n_rows)]
    y = rng.permutation(np.arange(n_rows) % 2)
    return columns, y


def blocks_of(columns):
    out = []
    for values in columns.values():
        if values.dtype.kind == "U":
            levels = sorted(set(values))
            codes = [levels.index(v) + 1 for v in values]
            rows = atoms(codes, "code", len(levels))
        else:
            rows = atoms(values, "number")
        out.append(np.array(standardise(rows)).T)
    return out


@given(
    mixed_tables(), st.sampled_from([(0.2, None), (1, None), (0.5, 4)]), st.sampled_from([1, 0.05])
)
@settings(max_examples=60)
def test_ranking_is_that_of_the_loop_around_libsvm(table, how, C):
    columns, y = table
    step, fine_below = how
    expected, margins = naive_rfe(
        blocks_of(columns), y, C, drop=lambda left: schedule(left, step, fine_below)
    )
    assume(min(margins) > 1e-5)  # else the reference itself is undecided
    rfe = SVMRFE(step=step, fine_below=fine_below, C=C).fit(pl.DataFrame(columns), y)
    assert rfe.order_.tolist() == expected
    assert rfe.duality_gap_.max() < 1e-8


def expression(n=50, p=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, p))
    X[:, :5] += y[:, None]
    return X, y


def test_wide_table_against_libsvm_on_every_position():
    X, y = expression()
    Z = (X - X.mean(0)) / X.std(0)
    expected, margins = naive_rfe(
        list(Z.T[:, :, None]), y, 1.0, drop=lambda left: schedule(left, 0.2)
    )
    rfe = SVMRFE().fit(X, y)
    agree = np.mean(rfe.order_ == expected)
    assert agree == 1.0 or min(margins) < 1e-9


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no extended precision here")
def test_weights_in_extended_precision():
    """libsvm at tol=1e-13 still errs by 2e-7 here; featly agrees to the last digits."""
    X, y = expression(n=60, p=3000)
    X = (X - X.mean(0)) / X.std(0)
    rfe = SVMRFE(standardize=False, step=2900).fit(X, y)
    exact = X.astype(np.longdouble)
    support = np.arange(60)  # columns outnumber rows by far: all rows are support vectors
    system = np.zeros((61, 61), np.longdouble)
    system[:60, :60] = exact @ exact.T
    system[:60, 60] = system[60, :60] = 1
    rhs = np.append(np.where(y == 1, 1.0, -1.0), 0.0).astype(np.longdouble)
    solution = np.zeros(61, np.longdouble)
    for _ in range(10):
        left = (rhs - system @ solution).astype(float)
        solution += np.linalg.solve(system.astype(float), left)
    coefficients = solution[support]
    assert (coefficients * rhs[:60] > 0).all()
    weights = (exact.T @ coefficients) ** 2
    dropped = rfe.round_ == 0
    # a weight is a sum of 60 terms that cancel: its error is absolute
    size = float(np.abs(exact.T * coefficients).sum(axis=1).max())
    error = np.abs(np.sqrt(rfe.criterion_[dropped]) - np.sqrt(weights[dropped].astype(float)))
    assert error.max() < 1e-13 * size


def test_rows_in_any_order_give_the_same_ranking_even_where_the_weights_are_zero():
    """Few noise columns and unequal classes: w = 0 is optimal, only rounding is left."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 12)), (np.arange(60) < 12).astype(int)
    for C in (1e-3, 1.0):
        expected = SVMRFE(step=1, C=C).fit(X, y).order_.tolist()
        for seed in range(6):
            rows = np.random.default_rng(seed).permutation(60)
            assert SVMRFE(step=1, C=C).fit(X[rows], y[rows]).order_.tolist() == expected


def test_table_has_rounds_and_weights():
    X, y = expression(p=30)
    table = SVMRFE(step=7).fit(X, y).table()
    assert table["round"].to_list() == sorted(table["round"].to_list(), reverse=True)
    assert table["round"].value_counts().sort("round")["count"].to_list() == [7, 7, 7, 7, 2]
    for group in table.partition_by("round"):
        assert group["criterion"].is_sorted(descending=True)


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_is_dense(standardize):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((40, 60)) < 0.2, rng.normal(size=(40, 60)), 0.0)
    y = np.arange(40) % 2
    dense = SVMRFE(standardize=standardize).fit(X, y)
    sparse = SVMRFE(standardize=standardize).fit(scipy.sparse.csc_array(X), y)
    assert np.array_equal(dense.order_, sparse.order_)


def test_gram_matrix_is_rebuilt_when_little_of_it_is_left():
    """Large columns that are taken out again leave their rounding errors behind."""
    X, y = expression(n=40, p=60, seed=8)
    X[:, 56:] *= 1e6
    source = DenseSource(X)
    machine = linear_svm.LinearMachine(source, y * 2.0 - 1, np.ones(40), variance=1.0)
    machine.criterion()
    machine.drop(np.array([56]))
    machine.drop(np.array([56, 57, 58]))
    exact = X[:, :56] @ X[:, :56].T
    assert np.abs(machine._gram - exact).max() < 1e-12 * np.trace(exact)


def test_wild_units_warn_and_name_the_remedy():
    X, y = expression(n=40, p=60, seed=8)
    X[:, 56:] *= 1e7
    with pytest.warns(ConvergenceWarning, match="standardize=True"):
        SVMRFE(standardize=False, step=1, C=1e-2).fit(X, y)
    assert SVMRFE(step=1, C=1e-2).fit(X, y).duality_gap_.max() < 1e-8


@pytest.mark.parametrize(("n", "p"), [(80, 12), (300, 40)])
def test_factor_route_ranks_as_the_gram_route(monkeypatch, n, p):
    X, y = expression(n=n, p=p, seed=4)
    frame = pl.DataFrame(X).with_columns(kind=pl.Series(np.array(list("xyz"))[np.arange(n) % 3]))
    gram = SVMRFE(step=1, C=0.1).fit(frame, y)
    monkeypatch.setattr(linear_svm, "MOST_DENSE_ROWS", 1)
    monkeypatch.setattr(linear_svm, "FACTOR_SHARE", 1)
    factor = SVMRFE(step=1, C=0.1).fit(frame, y)
    assert np.array_equal(gram.order_, factor.order_)
    assert factor.duality_gap_.max() < 1e-8
    assert factor.criterion_ == pytest.approx(gram.criterion_, rel=1e-6, abs=1e-12)


def test_many_rows_make_no_square_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 6)), np.arange(20_000) % 2
    X[:, 2] += 0.5 * y
    rfe = SVMRFE(step=1, C=0.01).fit(X, y)  # a 20,000 x 20,000 matrix would take 3.2 GB
    assert rfe.order_[0] == 2
    assert rfe.duality_gap_.max() < 1e-8


def test_categorical_column_is_one_feature_whatever_its_levels():
    rng = np.random.default_rng(0)
    n = 90
    y = np.arange(n) % 2
    informative = np.where(rng.random(n) < 0.9, np.array(["no", "yes"])[y], "unknown")
    frame = pl.DataFrame({f"g{j}": rng.normal(size=n) for j in range(20)}).with_columns(
        many=pl.Series([f"site {k}" for k in rng.integers(0, 30, n)]), signal=pl.Series(informative)
    )
    rfe = SVMRFE().fit(frame, y)
    assert len(rfe.order_) == 22
    assert rfe.table()["feature"][0] == "signal"


def test_class_weights():
    X, y = expression(n=60, p=40)
    y = np.where(np.arange(60) < 15, "rare", "common")
    X[y == "rare", :3] += 1
    plain = SVMRFE(C=1e-3, step=1).fit(X, y)
    balanced = SVMRFE(C=1e-3, step=1, class_weight="balanced").fit(X, y)
    by_hand = SVMRFE(C=1e-3, step=1, class_weight={"rare": 2.0, "common": 60 / 90}).fit(X, y)
    assert np.array_equal(balanced.order_, by_hand.order_)
    assert not np.array_equal(plain.order_, balanced.order_)
    with pytest.raises(ValueError, match="class_weight"):
        SVMRFE(class_weight={"rare": -1.0, "common": 1.0}).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"step": 0}, "step"),
        ({"step": 1.5}, "step"),
        ({"step": -0.1}, "step"),
        ({"step": True}, "step"),
        ({"step": [5, 5]}, "step"),
        ({"step": "fast"}, "step"),
        ({"C": 0}, "C="),
        ({"C": np.inf}, "C="),
        ({"C": "1"}, "C="),
        ({"fine_below": 0}, "fine_below"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    X, y = expression(p=10)
    with pytest.raises(ValueError, match=word):
        SVMRFE(**parameters).fit(X, y)


def test_three_classes_name_the_way_out():
    X, _ = expression(p=10)
    with pytest.raises(DataError, match=r"3 classes.*PairwiseRanker\(SVMRFE\(\)\).*FTest"):
        SVMRFE().fit(X, np.arange(50) % 3)


def test_ctrl_c_keeps_what_was_ranked():
    X, y = expression(n=60, p=600)
    whole = SVMRFE(step=1).fit(X, y)

    def press(done, total):
        if done == 450:
            raise KeyboardInterrupt

    rfe = SVMRFE(step=1, verbose=press)
    with pytest.raises(KeyboardInterrupt):
        rfe.fit(X, y)
    assert rfe.interrupted_
    assert not whole.interrupted_
    assert sorted(rfe.order_.tolist()) == list(range(600))
    assert np.array_equal(rfe.order_[150:], whole.order_[150:])
    assert set(rfe.order_[:150]) == set(whole.order_[:150])
    assert rfe.table().height == 600


@pytest.mark.parametrize("keep", [[], [3, 7]])
def test_ctrl_c_at_any_round_leaves_a_ranking(keep):
    X, y = expression(n=30, p=12)
    whole = SVMRFE(step=1, schema={"keep": keep}).fit(X, y)
    for moment in range(1, 13):

        def press(done, total, moment=moment):
            if done == moment:
                raise KeyboardInterrupt

        rfe = SVMRFE(step=1, schema={"keep": keep}, verbose=press)
        with pytest.raises(KeyboardInterrupt):
            rfe.fit(X, y)
        assert sorted(rfe.order_.tolist()) == list(range(12))
        assert np.array_equal(rfe.order_[12 - moment :], whole.order_[12 - moment :])
        assert set(rfe.order_[: len(keep)]) == set(keep)
        assert len(rfe.scores_) == 12


def test_a_real_signal_stops_a_long_fit():
    X, y = expression(n=200, p=20_000)
    rfe = SVMRFE(step=1, C=1e-3)  # about half a minute
    # compiled before, so that the interrupt meets a fit that has something to show
    rfe.fit(X[:, :300].copy(), y)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        rfe.fit(X, y)
    timer.join()
    assert rfe.interrupted_
    assert sorted(rfe.order_.tolist()) == list(range(20_000))


def test_progress_reaches_the_end():
    X, y = expression(p=40)
    seen = []
    SVMRFE(verbose=lambda done, total: seen.append((done, total))).fit(X, y)
    assert seen[-1] == (40, 40)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_verbose_draws_on_standard_error_only(capsys):
    X, y = expression(p=40)
    SVMRFE(verbose=True).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "40/40 columns" in err
    SVMRFE().fit(X, y)
    assert capsys.readouterr() == ("", "")


@st.composite
def small_tables(draw):
    """Ties, copies, constant columns, unequal classes, fewer and more columns than rows."""
    n, p = draw(st.integers(4, 40)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, p)) if draw(st.booleans()) else rng.integers(-2, 3, (n, p)) * 1.0
    if p > 3:
        X[:, 1], X[:, 2] = X[:, 0], 1.0
    y = (rng.random(n) < draw(st.sampled_from([0.2, 0.5]))).astype(int)
    y[:2] = 0, 1
    return X, y


@given(
    small_tables(),
    st.sampled_from([0.2, 0.5, 1, 3, [20, 5, 1]]),
    st.sampled_from([0.01, 1.0, 100.0]),
    st.booleans(),
    st.booleans(),
)
def test_every_round_drops_the_smallest_weights_of_a_machine_solved_anew(
    table, step, C, standardize, keep
):
    X, y = table
    kept = [X.shape[1] - 1] if keep else []
    rfe = SVMRFE(step=step, C=C, standardize=standardize, schema={"keep": kept})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rfe.fit(X, y)
    assume(rfe.duality_gap_.max() < 1e-9)
    check_rounds(rfe, X, y, C, kept, np.ones(X.shape[1]), standardize)


def check_rounds(rfe, X, y, C, kept, prior, standardize):
    """Compare every round with a machine that starts from nothing, on the columns then left."""
    deviation = X.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(X).max(axis=0)] = np.inf
    Z = (X - X.mean(axis=0)) / (deviation if standardize else 1.0)
    signs, prices = np.where(y == 1, 1.0, -1.0), np.full(len(y), C)
    for number in range(rfe.round_.max() + 1):
        left = np.flatnonzero(rfe.round_ >= number)
        machine = linear_svm.LinearMachine(
            DenseSource(Z[:, left] * prior[left]), signs, prices, Z[:, left].var(axis=0),
            prior[left] ** 2,
        )  # fmt: skip
        weights = machine.criterion()
        rounding = 1e-9 * weights.max(initial=0.0) + 1e-12
        dropped = rfe.round_[left] == number
        assert rfe.criterion_[left[dropped]] == pytest.approx(
            weights[dropped], rel=1e-6, abs=rounding
        )
        is_free = ~np.isin(left, kept)
        if is_free.any():
            assert is_free[dropped].all()
        others = weights[~dropped & is_free]
        assert weights[dropped].max() <= others.min(initial=np.inf) * (1 + 1e-6) + rounding


def test_a_poor_solution_warns(monkeypatch):
    X, y = expression(p=20)
    monkeypatch.setattr(linear_svm.SVMDual, "solve", _spoil_solver(linear_svm.SVMDual.solve))
    with pytest.warns(ConvergenceWarning, match="round 0") as caught:
        SVMRFE(step=10).fit(X, y)
    assert caught[0].filename == __file__  # it points at the caller


def _spoil_solver(solve):
    def solve_worse(self, K, rank, trace):
        solve(self, K, rank, trace)
        self.duality_gap = 1e-3 * rank

    return solve_worse


class FixedMachine:
    """A machine whose importances never change."""

    def __init__(self, scores):
        self.scores = np.array(scores, dtype=float)

    def criterion(self):
        return self.scores

    def drop(self, positions):
        assert (np.diff(positions) > 0).all()
        self.scores = np.delete(self.scores, positions)


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.sampled_from([0.2, 0.5, 1, 3, [10, 4, 2], lambda left: left // 3]),
    st.sampled_from([None, 5]),
    st.sets(st.integers(0, 29), max_size=5),
)
def test_elimination_of_fixed_scores_is_their_order(scores, step, fine_below, keep):
    keep = np.array(sorted(k for k in keep if k < len(scores)), dtype=np.int64)
    elimination = eliminate(
        FixedMachine(scores), len(scores), step=step, fine_below=fine_below, keep=keep
    )
    expected = sorted(range(len(scores)), key=lambda f: (f not in keep, -scores[f], f))
    assert elimination.order.tolist() == expected
    assert (np.diff(elimination.round[elimination.order]) <= 0).all()
    assert (elimination.share <= 1).all()


@pytest.mark.parametrize(
    ("step", "fine_below", "sizes"),
    [
        (0.2, None, [10, 8, 6, 5, 4, 3, 2, 1]),
        (4, None, [10, 6, 2]),
        ([8, 3], None, [10, 8, 3]),
        (0.1, 20, [30, 27, 24, 22, 20, *range(18, 0, -1)]),
        (lambda left: 100, None, [10]),
    ],
)
def test_schedules(step, fine_below, sizes):
    left, visited = sizes[0], []
    while left:
        visited.append(left)
        left -= schedule(left, step, fine_below)
    assert visited == sizes
