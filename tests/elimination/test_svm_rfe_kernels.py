"""SVM-RFE with the clinical and the Gaussian kernel."""

import numpy as np
import polars as pl
import pytest
from sklearn.svm import SVC

from featly import SVMRFE
from featly.basics.errors import DataError, ParameterError
from featly.core.kernels.clinical import ClinicalColumns
from featly.datasets import make_problem
from featly.elimination import clinical_svm, svm_rfe
from featly.elimination.clinical_svm import ClinicalMachine
from featly.kernels import ClinicalKernel
from featly.testing.checks import method_checks
from tests.kernels.test_clinical_kernel import table
from tests.reference.gaussian import margin_change

VARIANTS = [
    SVMRFE(kernel="clinical"),
    SVMRFE(kernel="clinical", C=10.0, class_weight="balanced", step=0.1, fine_below=20),
    SVMRFE(kernel="clinical", criterion="renormalised"),
    SVMRFE(kernel="rbf"),
    SVMRFE(kernel="rbf", criterion="absolute"),
]
# a useless column may score high there: that is what is wrong with it
RENORMALISED_FAILS = {"constant_column", "evidence"}


@pytest.mark.parametrize(
    ("method", "name", "check"),
    [
        pytest.param(method, name, check, id=f"{number}-{name}")
        for number, method in enumerate(VARIANTS)
        for name, check in method_checks(method)
        if not (method.criterion == "renormalised" and name in RENORMALISED_FAILS)
    ],
)
def test_every_check(method, name, check):
    check(method)


def naive_clinical_rfe(frame, y, C, criterion, step=0.2):
    """Columns best first, by libsvm on Gram matrices made anew for every set of columns."""
    left, order, kernel = list(range(frame.width)), [], ClinicalKernel().fit(frame)
    grams = [kernel.column_gram(f) for f in left]
    while left:
        K = sum(grams[f] for f in left) / len(left)
        svc = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
        v = np.zeros(len(y))
        v[svc.support_] = svc.dual_coef_[0]
        norm = v @ K @ v
        importance = {}
        for f in left:
            if criterion == "margin":
                gone = frame[frame.columns[f]].is_null().to_numpy()
                importance[f] = v @ grams[f] @ v - (v[gone] ** 2).sum()
            else:
                others = [g for g in left if g != f]
                without = v @ (sum(grams[g] for g in others) / len(others)) @ v if others else 0.0
                importance[f] = abs(norm - without)
        if criterion == "renormalised" and len(left) == 2:
            importance = {f: v @ grams[f] @ v for f in left}
        count = max(1, int(np.floor(step * len(left) + 0.5)))
        rounded = {f: float(f"{value:.7g}") for f, value in importance.items()}
        worst = sorted(left, key=lambda f: (rounded[f], -f))[:count]
        order += worst
        left = [f for f in left if f not in worst]
    return order[::-1]


@pytest.mark.parametrize("criterion", ["margin", "renormalised"])
@pytest.mark.parametrize("seed", range(4))
def test_clinical_ranking_equals_definition(criterion, seed):
    rng = np.random.default_rng(seed)
    frame = pl.concat(
        [table(50, seed * 10 + k).rename(lambda name, k=k: f"{name}{k}") for k in range(3)],
        how="horizontal",
    )
    y = rng.integers(0, 2, 50)
    rfe = SVMRFE(kernel="clinical", criterion=criterion).fit(frame, y)
    assert rfe.order_.tolist() == naive_clinical_rfe(frame, y, 0.1, criterion)
    assert rfe.duality_gap_.max() < 1e-10


def test_printed_criterion_is_a_distance_from_the_mean():
    """J(f) of eq. 4-5 is |q_f - W^2| / (p - 1), so a column of no use may score high."""
    y = np.arange(40) % 2
    signs = np.where(y == 1, 1.0, -1.0)
    frame = table(40, 5, missing=0.0)
    columns = ClinicalColumns(ClinicalKernel().fit(frame).parts[1])
    plain = ClinicalMachine(columns, signs, np.full(40, 0.1)).criterion()
    printed = ClinicalMachine(columns, signs, np.full(40, 0.1), renormalised=True).criterion()
    assert printed == pytest.approx(np.abs(plain - plain.mean()) / 3, rel=1e-12)


def test_many_rows_make_no_square_matrix(monkeypatch):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"x{k}": rng.normal(size=400) for k in range(9)}).with_columns(
        site=pl.Series(rng.choice(list("abcd"), 400))
    )
    y = (frame["x2"] + frame["x5"] + rng.normal(size=400) > 0).to_numpy().astype(int)
    dense = SVMRFE(kernel="clinical").fit(frame, y)
    monkeypatch.setattr(clinical_svm, "MOST_DENSE_ROWS", 100)
    monkeypatch.setattr(ClinicalColumns, "gram", None)
    free = SVMRFE(kernel="clinical").fit(frame, y)
    assert free.order_.tolist() == dense.order_.tolist()
    assert free.duality_gap_[:-1].max() <= 1e-10
    assert free.duality_gap_[-1] <= 1e-4  # the last column is compared with none
    assert free.criterion_ == pytest.approx(dense.criterion_, rel=1e-2)


def test_informative_mixed_columns_with_missing_values_come_first():
    rng = np.random.default_rng(0)
    n = 120
    y = rng.integers(0, 2, n)
    frame = pl.DataFrame({f"gene{k}": rng.normal(size=n) for k in range(200)}).with_columns(
        age=pl.Series(rng.normal(50, 10, n) + 12 * y),
        stage=pl.Series(np.where(rng.random(n) < 0.75, np.array(["I", "III"])[y], "II")),
    )
    frame = frame.with_columns(
        pl.when(pl.Series(rng.random(n) < 0.9)).then(pl.col(name)).otherwise(None).alias(name)
        for name in ("age", "stage", "gene3")
    )
    rfe = SVMRFE(kernel="clinical", n_features_to_select=2).fit(frame, y)
    assert set(rfe.get_feature_names_out()) == {"age", "stage"}


@pytest.mark.parametrize("name", ["xor-100", "parity3+3", "monk1"])
def test_gaussian_kernel_finds_columns_that_inform_only_together(name):
    data = make_problem(name, random_state=0)
    relevant = {column for group in data.roles.relevant for column in group}
    order = SVMRFE(kernel="rbf").fit(data.X, data.y).order_.tolist()
    assert set(order[: len(relevant)]) == relevant


@pytest.mark.parametrize("standardize", [True, False])
def test_gaussian_first_round_equals_definition(standardize):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 5)) * [1, 2, 1, 1, 3], np.arange(30) % 2
    Z = (X - X.mean(0)) / X.std(0) if standardize else X - X.mean(0)
    gamma = 1 / Z.var(0).sum()
    svc = SVC(kernel="rbf", gamma=gamma, C=1.0, tol=1e-10).fit(Z, y)
    v = np.zeros(30)
    v[svc.support_] = svc.dual_coef_[0]
    blocks = [Z[:, [f]] for f in range(5)]
    expected = [margin_change(blocks, v, gamma, f) for f in range(5)]
    rfe = SVMRFE(kernel="rbf", step=4, standardize=standardize).fit(X, y)
    first = rfe.round_ == 0
    assert rfe.criterion_[first] == pytest.approx(np.array(expected)[first], abs=1e-6)
    assert rfe.order_[0] == int(np.argmax(expected))
    absolute = SVMRFE(kernel="rbf", criterion="absolute", step=4, standardize=standardize).fit(X, y)
    assert min(expected) < 0  # so that the sign tells them apart
    assert absolute.order_[0] == int(np.argmax(np.abs(expected)))
    dropped = absolute.round_ == 0
    assert absolute.criterion_[dropped] == pytest.approx(np.abs(expected)[dropped], abs=1e-6)
    fixed = SVMRFE(kernel="rbf", step=4, standardize=standardize, gamma=gamma).fit(X, y)
    assert fixed.criterion_[first] == pytest.approx(rfe.criterion_[first], rel=1e-12)


def test_gaussian_distances_are_downdated_and_rebuilt():
    """One column at a time, half at a time: the kernel is always that of what is left."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(25, 20)), np.arange(25) % 2
    fine = SVMRFE(kernel="rbf", step=1).fit(X, y)
    last = fine.order_[:3]
    alone = SVMRFE(kernel="rbf", step=1).fit(X[:, np.sort(last)], y)
    assert np.sort(last)[alone.order_].tolist() == last.tolist()
    assert alone.criterion_ == pytest.approx(fine.criterion_[np.sort(last)], rel=1e-7)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "poly"}, ["kernel='poly'", "clinical"]),
        ({"criterion": "best"}, ["criterion='best'"]),
        ({"criterion": "renormalised"}, ["kernel='clinical'"]),
        ({"criterion": "absolute"}, ["criterion='absolute'", "kernel='rbf'"]),
        ({"gamma": 0.1}, ["gamma", "kernel='rbf'"]),
        ({"kernel": "rbf", "gamma": -1}, ["gamma=-1"]),
        ({"kernel": "rbf", "gamma": "auto"}, ["gamma='auto'"]),
        ({"kernel": "clinical", "standardize": False}, ["standardize=False", "ranges"]),
        ({"kernel": "clinical", "C": 0.0}, ["C=0.0"]),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ParameterError) as caught:
        SVMRFE(**parameters).fit([[0.0], [1.0]], [0, 1])
    for word in words:
        assert word in str(caught.value)


def test_gaussian_kernel_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr(svm_rfe, "MOST_GAUSSIAN_ROWS", 10)
    with pytest.raises(DataError, match="at most 10"):
        SVMRFE(kernel="rbf").fit(np.random.default_rng(0).normal(size=(12, 2)), [0, 1] * 6)


def test_missing_values_are_refused_by_kernels_that_do_not_take_them():
    X = np.array([[0.0, np.nan], [1.0, 2.0]])
    for kernel in ("linear", "rbf"):
        with pytest.raises(DataError, match="kernel='clinical'"):
            SVMRFE(kernel=kernel).fit(X, [0, 1])


def test_two_rows_and_one_column():
    for kernel in ("clinical", "rbf"):
        assert SVMRFE(kernel=kernel).fit([[0.0], [1.0]], ["a", "b"]).order_.tolist() == [0]
    frame = pl.DataFrame({"a": [None, None]}, schema={"a": pl.String})
    assert SVMRFE(kernel="clinical").fit(frame, [0, 1]).order_.tolist() == [0]


def test_names_of_the_rows_have_criterion_0():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "name": [f"patient {k}" for k in range(30)],
            "x": rng.normal(size=30),
            "z": [1.0, 2.0] * 15,
        }
    )
    rfe = SVMRFE(kernel="clinical").fit(frame, rng.integers(0, 2, 30))
    assert rfe.order_[-1] == 0
    assert rfe.criterion_[0] == 0
