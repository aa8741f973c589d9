import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from featly import SVMRFE, ConvergenceWarning, DataError
from featly.core.sources import DenseSource
from featly.core.svm.multiclass_svm import MulticlassDual
from featly.elimination import multiclass_svm as multiclass_machines
from featly.elimination.multiclass_svm import JointMachine
from featly.elimination.multiclass_svm_rfe import MulticlassSVMRFE
from featly.elimination.rfe import schedule
from featly.testing.checks import CHECKS
from tests.reference.columns import atoms, standardise
from tests.reference.multiclass_svm import eliminate as naive

FORMULATIONS = ["crammer-singer", "weston-watkins", "ovo", "ova"]


def blocks_of(columns):
    out = []
    for values in columns.values():
        if values.dtype.kind == "U":
            levels = sorted(set(values))
            rows = atoms([levels.index(v) + 1 for v in values], "code", len(levels))
        else:
            rows = atoms(values, "number")
        out.append(np.array(standardise(rows)).T)
    return out


@given(
    st.integers(0, 10_000),
    st.sampled_from(FORMULATIONS),
    st.sampled_from([None, "squared", "abs"]),
    st.sampled_from([(0.2, None), (1, None), (0.5, 4)]),
    st.sampled_from([1.0, 0.05]),
)
@settings(max_examples=25)
def test_equals_loop_around_a_generic_solver(seed, formulation, importance, how, C):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(6, 13)), int(rng.integers(2, 4))
    y = rng.permutation(np.arange(n) % k)
    columns = {f"n{j}": rng.normal(size=n) + 0.5 * (y == j % k) for j in range(rng.integers(1, 6))}
    if seed % 2:
        columns["c"] = np.array(list("abc"))[rng.permutation(np.arange(n) % 3)]
    step, fine_below = how
    used = importance or ("abs" if formulation in ("ovo", "ova") else "squared")
    order, margins = naive(
        blocks_of(columns), y, C, formulation, used, lambda left: schedule(left, step, fine_below)
    )
    assume(min(margins) > 1e-5)  # else the reference itself is undecided
    rfe = MulticlassSVMRFE(
        formulation=formulation, importance=importance, step=step, fine_below=fine_below, C=C
    ).fit(pl.DataFrame(columns), y)
    assert rfe.order_.tolist() == order
    assert rfe.duality_gap_.max() < 1e-8


def expression(n=60, p=80, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, p))
    X[:, :k] += 2 * np.eye(k)[y]
    return X, y


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_columns_that_matter_come_first(formulation):
    X, y = expression(p=200)
    rfe = MulticlassSVMRFE(formulation=formulation).fit(X, y)
    assert set(rfe.order_[:4]) == {0, 1, 2, 3}
    assert rfe.duality_gap_.max() < 1e-8
    assert not rfe.interrupted_
    table = rfe.table()
    assert table["round"].is_sorted(descending=True)
    for group in table.partition_by("round"):
        assert group["criterion"].is_sorted(descending=True)


@pytest.mark.parametrize("formulation", FORMULATIONS[1:])
@pytest.mark.parametrize(
    "check", ["permuted_rows", "permuted_columns", "duplicated_columns_tie", "many_classes"]
)
def test_invariances(formulation, check):
    """All checks run on the default; these are on the other machines."""
    CHECKS[check](MulticlassSVMRFE(formulation=formulation))


def test_two_classes():
    X, y = expression(k=2, n=40)
    parameters = {"step": 1, "C": 0.1}
    pairs = MulticlassSVMRFE(formulation="ovo", **parameters).fit(X, y)
    binary = SVMRFE(**parameters).fit(X, y)
    assert np.array_equal(pairs.order_, binary.order_)
    assert pairs.criterion_**2 == pytest.approx(binary.criterion_, rel=1e-6)
    mirrored = MulticlassSVMRFE(formulation="ova", **parameters).fit(X, y)
    assert np.array_equal(mirrored.order_, binary.order_)
    assert mirrored.criterion_ == pytest.approx(pairs.criterion_, rel=1e-6)
    singer, watkins = (
        MulticlassSVMRFE(formulation=name, **parameters).fit(X, y) for name in FORMULATIONS[:2]
    )
    assert np.array_equal(singer.order_, watkins.order_)
    absolute = MulticlassSVMRFE(importance="abs", **parameters).fit(X, y)
    assert np.array_equal(absolute.order_, singer.order_)
    assert 2 * absolute.criterion_**2 == pytest.approx(singer.criterion_, rel=1e-6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_without_the_square_matrix(formulation, monkeypatch):
    X, y = expression(n=120, p=12, seed=3)
    frame = pl.DataFrame(X).with_columns(kind=pl.Series(np.array(list("xyz"))[np.arange(120) % 3]))
    orders, criteria = [], []
    for most, share, small in ((10**9, 4, 1024), (1, 1, 1024), (1, 1, 1)):
        monkeypatch.setattr(multiclass_machines, "MOST_GRAM_ROWS", most)
        monkeypatch.setattr(multiclass_machines, "FACTOR_SHARE", share)
        monkeypatch.setattr(multiclass_machines, "SMALL_PAIR", small)
        rfe = MulticlassSVMRFE(formulation=formulation, C=0.1, step=1).fit(frame, y)
        assert rfe.duality_gap_.max() < 1e-8
        orders.append(rfe.order_.tolist())
        criteria.append(rfe.criterion_)
    assert orders[0] == orders[1] == orders[2]
    assert criteria[1] == pytest.approx(criteria[0], rel=1e-6, abs=1e-12)
    assert criteria[2] == pytest.approx(criteria[0], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_prior_widens_a_column_that_is_dropped_by_its_own_weight(formulation):
    X, y = expression(n=40, p=10)
    X = (X - X.mean(0)) / X.std(0)
    wide = X.copy()
    wide[:, 7] *= 3
    parameters = {"formulation": formulation, "importance": "squared", "step": 10, "C": 0.1}
    rfe = MulticlassSVMRFE(schema={"prior": {7: 3}}, **parameters).fit(X, y)
    by_hand = MulticlassSVMRFE(standardize=False, **parameters).fit(wide, y)
    expected = by_hand.criterion_ * np.where(np.arange(10) == 7, 9.0, 1.0)
    assert rfe.criterion_ == pytest.approx(expected, rel=1e-7)
    plain = MulticlassSVMRFE(**parameters).fit(X, y)
    assert rfe.criterion_[7] > plain.criterion_[7]
    with pytest.raises(DataError, match="takes up to 100"):
        MulticlassSVMRFE(schema={"prior": {7: 101}}).fit(X, y)


def test_keep():
    X, y = expression(p=20)
    rfe = MulticlassSVMRFE(step=1, schema={"keep": [15, 17]}).fit(X, y)
    assert set(rfe.order_[:2]) == {15, 17}
    assert set(rfe.order_[2:6]) == {0, 1, 2, 3}


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_sparse_equals_dense(formulation):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((40, 60)) < 0.2, rng.normal(size=(40, 60)), 0.0)
    y = np.arange(40) % 3
    dense = MulticlassSVMRFE(formulation=formulation).fit(X, y)
    sparse = MulticlassSVMRFE(formulation=formulation).fit(scipy.sparse.csc_array(X), y)
    assert np.array_equal(dense.order_, sparse.order_)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_rows_in_any_order_where_weights_are_zero(formulation):
    """Few noise columns and unequal classes: only rounding is left of many weights."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 8)), np.repeat([0, 1, 2], [44, 10, 6])
    for C in (1e-3, 1.0):
        rfe = MulticlassSVMRFE(formulation=formulation, step=1, C=C)
        expected = rfe.fit(X, y).order_.tolist()
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(60)
            assert rfe.fit(X[rows], y[rows]).order_.tolist() == expected


def test_gram_matrix_is_rebuilt_when_little_of_it_is_left():
    X, y = expression(n=40, p=60, seed=8)
    X[:, 56:] *= 1e6
    machine = JointMachine(DenseSource(X), y, 4, np.ones(40), False, 1.0, None, True)
    machine.criterion()
    machine.drop(np.array([56]))
    machine.drop(np.array([56, 57, 58]))
    exact = X[:, :56] @ X[:, :56].T
    assert np.abs(machine._gram - exact).max() < 1e-12 * np.trace(exact)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_class_of_one_row(formulation):
    X, y = expression(n=21, p=30)
    y = np.where(np.arange(21) == 20, 9, y)
    rfe = MulticlassSVMRFE(formulation=formulation).fit(X, y)
    assert rfe.duality_gap_.max() < 1e-8


def test_class_weights():
    X, y = expression(n=60, p=20)
    y = np.repeat(["common", "rare", "rarer"], [40, 12, 8])
    X[y != "common", :3] += 1
    balanced = MulticlassSVMRFE(C=1e-2, step=1, class_weight="balanced").fit(X, y)
    by_hand = {"common": 0.5, "rare": 60 / 36, "rarer": 2.5}
    assert np.array_equal(
        balanced.order_,
        MulticlassSVMRFE(C=1e-2, step=1, class_weight=by_hand).fit(X, y).order_,
    )
    with pytest.raises(ValueError, match="class_weight"):
        MulticlassSVMRFE(class_weight={"other": 1.0}).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"formulation": "average"}, "formulation"),
        ({"formulation": None}, "formulation"),
        ({"importance": "square"}, "importance"),
        ({"step": 0}, "step"),
        ({"fine_below": 0}, "fine_below"),
        ({"C": 0}, "C="),
        ({"C": True}, "C="),
        ({"C": np.inf}, "C="),
        ({"class_weight": "equal"}, "class_weight"),
    ],
)
def test_wrong_parameters_are_named(parameters, word):
    X, y = expression(p=6)
    with pytest.raises(ValueError, match=word):
        MulticlassSVMRFE(**parameters).fit(X, y)


def test_missing_values_are_refused():
    X, y = expression(p=6)
    X[3, 2] = np.nan
    with pytest.raises(DataError, match=r"'x2' has a missing value \(NaN\) in row 3"):
        MulticlassSVMRFE().fit(X, y)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_ctrl_c_keeps_ranked_columns(formulation):
    X, y = expression(p=30)
    whole = MulticlassSVMRFE(formulation=formulation, step=1).fit(X, y)

    def press(done, total):
        assert total == 30
        if done == 20:
            raise KeyboardInterrupt

    rfe = MulticlassSVMRFE(formulation=formulation, step=1, verbose=press)
    with pytest.raises(KeyboardInterrupt):
        rfe.fit(X, y)
    assert rfe.interrupted_
    assert sorted(rfe.order_.tolist()) == list(range(30))
    assert np.array_equal(rfe.order_[10:], whole.order_[10:])


def test_a_poor_solution_warns(monkeypatch):
    X, y = expression(p=20)
    solve = MulticlassDual.solve

    def solve_worse(self, K, rank):
        solve(self, K, rank)
        self.duality_gap = 1e-3 * rank

    monkeypatch.setattr(MulticlassDual, "solve", solve_worse)
    with pytest.warns(ConvergenceWarning, match="round 0.*smaller C") as caught:
        MulticlassSVMRFE(step=10).fit(X, y)
    assert caught[0].filename == __file__  # it points at the caller


@pytest.mark.parametrize("name", ["robot_lp5", "khan_srbct", "cns_pomeroy5"])
def test_real_tables(data_folder, name):
    frame = pl.read_parquet(data_folder / f"{name}.parquet")
    X, y = frame.drop("class", "split", strict=False), frame["class"]
    rows = np.random.default_rng(0).permutation(len(y))
    for formulation in FORMULATIONS:
        rfe = MulticlassSVMRFE(formulation=formulation).fit(X, y)
        assert rfe.duality_gap_.max() < 1e-8
        again = MulticlassSVMRFE(formulation=formulation).fit(X[rows], y.to_numpy()[rows])
        assert np.array_equal(rfe.order_, again.order_)
