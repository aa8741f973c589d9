"""Elimination with a prior: by hand and libsvm, the same on every way, never against the prior."""

import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from featly import MKLRFE, SVMRFE, ConvergenceWarning, SchemaError, SchemaWarning
from featly.core.kernels.clinical import ClinicalColumns, number_positions, ranges
from featly.core.sources import DenseSource
from featly.elimination import clinical_svm, linear_svm
from featly.elimination.clinical_svm import ClinicalMachine
from featly.elimination.linear_svm import LinearMachine
from featly.elimination.rfe import schedule
from tests.elimination.test_svm_rfe import blocks_of, check_rounds, expression
from tests.reference import prior_elimination as naive
from tests.reference.clinical import column_kernel
from tests.reference.mkl import clinical_gram

METHODS = [SVMRFE(), SVMRFE(kernel="clinical"), MKLRFE()]
NAMES = ["linear", "clinical", "mkl"]


@st.composite
def mixed_tables(draw, with_missing=False):
    """Numbers and categories, ties, constant columns and copies, with a prior of many sizes."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(8, 22))
    y = rng.permutation(np.arange(n) % 2)
    columns = {}
    for j in range(draw(st.integers(1, 5))):
        x = rng.normal(size=n) + (j == 0) * y
        columns[f"n{j}"] = np.round(x) if draw(st.booleans()) else x
    for j in range(draw(st.integers(0, 3))):
        columns[f"c{j}"] = np.array(list("abcdef"))[rng.integers(0, 2 + j, n)]
    if draw(st.booleans()):
        columns["constant"] = np.ones(n)
    if draw(st.booleans()):
        columns["copy"] = columns["n0"].copy()
    cells = {}
    for name, values in columns.items():
        missing = rng.random(n) < (0.15 if with_missing and draw(st.booleans()) else 0.0)
        cells[name] = [
            None if gone else v for v, gone in zip(values.tolist(), missing, strict=True)
        ]
    prior = [draw(st.sampled_from([1.0, 1.0, 2.0, 3.5, 10.0])) for _ in columns]
    keep = [int(rng.integers(len(columns)))] if draw(st.booleans()) else []
    return columns, cells, prior, keep, y


def schema_of(columns, prior, keep=()):
    names = list(columns)
    return {
        "categorical": [name for name in names if name[0] == "c" and name[1:].isdigit()],
        "prior": dict(zip(names, prior, strict=True)),
        "keep": [names[f] for f in keep],
    }


def fit_quietly(method, frame, y):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "prior is .* for every column")
        return method.fit(frame, y)


@given(mixed_tables(), st.sampled_from([0.2, 1, 3]), st.sampled_from([1.0, 0.05]))
@settings(max_examples=30)
def test_linear_ranking_is_that_of_columns_multiplied_by_hand(table, step, C):
    columns, _, prior, keep, y = table
    blocks = blocks_of(columns)
    relative = np.array(prior) / min(prior)

    def importances(left):
        return naive.linear_importances([blocks[f] for f in left], relative[left], y, C)

    order, criterion, margins = naive.eliminate(
        importances, len(blocks), lambda left: schedule(left, step), keep
    )
    assume(min(margins) > 1e-5)  # else the reference itself is undecided
    method = SVMRFE(step=step, C=C, schema=schema_of(columns, prior, keep))
    rfe = fit_quietly(method, pl.DataFrame(columns), y)
    assert rfe.order_.tolist() == order
    # a duality gap of 1e-8 leaves a weight uncertain by 1e-4, and the criterion is its square
    assert rfe.criterion_ == pytest.approx(np.array(criterion), rel=1e-3, abs=1e-5)
    assert rfe.duality_gap_.max() < 1e-6


@given(mixed_tables(with_missing=True), st.sampled_from([0.2, 1]))
@settings(max_examples=25)
def test_clinical_ranking_is_that_of_kernels_multiplied_by_hand(table, step):
    columns, cells, prior, keep, y = table
    kinds = ["categorical" if columns[name].dtype.kind == "U" else "continuous" for name in columns]
    grams = [column_kernel(c, k) for c, k in zip(cells.values(), kinds, strict=True)]
    assume(all((K - np.diag(np.diag(K))).any() for K in grams))
    missing = [np.array([cell is None for cell in c]) for c in cells.values()]
    relative = np.array(prior) / min(prior)

    def importances(left):
        left_grams = [grams[f] for f in left]
        return naive.clinical_importances(
            left_grams, [missing[f] for f in left], relative[left], y, 0.1
        )

    order, criterion, margins = naive.eliminate(
        importances, len(grams), lambda left: schedule(left, step), keep
    )
    assume(min(margins) > 1e-5)
    schema = schema_of(columns, prior, keep)
    method = SVMRFE(kernel="clinical", step=step, schema=schema)
    rfe = fit_quietly(method, pl.DataFrame(cells, strict=False), y)
    assert rfe.order_.tolist() == order
    assert rfe.criterion_ == pytest.approx(np.array(criterion), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("norm", [1.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_mkl_ranking_is_that_of_kernels_multiplied_by_hand(seed, norm):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(16) % 2)
    cells = {f"n{j}": (rng.normal(size=16) + 0.5 * j * y).round(1).tolist() for j in range(4)}
    cells["n1"][3] = None
    cells["c0"] = [None, *rng.choice(list("abc"), 15).tolist()]
    prior, keep = [3.0, 1.0, 2.0, 1.0, 3.5], [1] if seed == 2 else []
    grams = [clinical_gram(c, "categorical" if n == "c0" else "") for n, c in cells.items()]
    signs = np.where(y == 1, 1.0, -1.0)

    def importances(left):
        some = [prior[f] for f in left]
        return naive.mkl_importances([grams[f] for f in left], some, signs, 0.1, norm)

    order, criterion, margins = naive.eliminate(
        importances, 5, lambda left: schedule(left, 2), keep
    )
    assert min(margins) > 1e-3  # else the reference itself is undecided
    method = MKLRFE(step=2, norm=norm, schema=schema_of(cells, prior, keep))
    rfe = method.fit(pl.DataFrame(cells), y)
    assert rfe.order_.tolist() == order
    assert rfe.criterion_ == pytest.approx(np.array(criterion), rel=1e-3)


# ---- no prior ------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_equal_priors_change_no_bit(method):
    X, y = expression(n=40, p=30)
    expected = method.set_params(schema=None).fit(X, y)
    snapshots = [getattr(expected, name) for name in ("order_", "scores_", "criterion_")]
    snapshots = [values.copy() for values in snapshots]
    for value in (1, 5):
        method.set_params(schema={"prior": dict.fromkeys(range(30), value)})
        if value > 1:
            with pytest.warns(SchemaWarning, match="5 for every column"):
                method.fit(X, y)
        else:
            method.fit(X, y)
        for values, before in zip(
            (method.order_, method.scores_, method.criterion_), snapshots, strict=True
        ):
            assert values.tobytes() == before.tobytes()
    method.set_params(schema=None)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_only_ratios_of_a_prior_count(method):
    X, y = expression(n=40, p=12)
    criterion = method.set_params(schema={"prior": {3: 4, 5: 2}}).fit(X, y).criterion_.copy()
    doubled = dict.fromkeys(range(12), 2) | {3: 8, 5: 4}
    assert (
        method.set_params(schema={"prior": doubled}).fit(X, y).criterion_.tobytes()
        == criterion.tobytes()
    )
    method.set_params(schema=None)


# ---- effect of the prior -------------------------------------------------------------------------
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_weight_of_a_column_never_falls_when_its_prior_grows(seed, C, standardize):
    """The optimum is concave in the price of a squared weight, which is its slope."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, (3, 60)[seed % 2])), np.arange(24) % 2
    X[:, 1] += 0.7 * X[:, 0]  # the column's competitor
    own, widened = [], []
    for beta in (1, 1.5, 2, 4, 10, 30, 100):
        schema = {"prior": {0: beta}}
        parameters = {"step": X.shape[1], "C": C, "standardize": standardize}
        rfe = SVMRFE(schema=schema, **parameters).fit(X, y)
        own.append(rfe.criterion_[0])
        widened.append(rfe.criterion_[0] / beta**2)
    assert (np.diff(own) >= -1e-9 * np.array(own[1:])).all()
    assert widened[-1] < max(widened)  # which is why the other does not decide


@pytest.mark.parametrize("make", [lambda **k: SVMRFE(kernel="clinical", **k), MKLRFE])
@pytest.mark.parametrize("C", [0.05, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_part_of_a_kernel_never_falls_when_its_prior_grows(make, C, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 4)), np.arange(24) % 2
    X[:, 1] += 0.7 * X[:, 0]
    own = []
    for beta in (1, 1.5, 2, 4, 10, 30, 100):
        rfe = make(step=4, C=C, schema={"prior": {0: beta}}).fit(X, y)
        own.append(rfe.criterion_[0])
    assert (np.diff(own) >= -1e-7 * np.array(own[1:])).all()


def test_weights_of_kernels_grow_with_a_power_of_the_prior():
    """d mu grows at least as d^(p / (p + 1)); mu itself may fall."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    X[:, 0] += y
    falls = []
    for norm in (1.2, 2.0, 4.0):
        betas, own = np.array([1.0, 2, 5, 20, 100]), []
        for beta in betas:
            schema = {"prior": {0: beta}}
            rfe = MKLRFE(step=3, C=1.0, norm=norm, tolerance=1e-11, schema=schema).fit(X, y)
            own.append(rfe.criterion_[0])
        growth = np.diff(np.log(own)) / np.diff(np.log(betas**2))
        assert (growth >= norm / (norm + 1) - 1e-6).all()
        falls.append(np.diff(own / betas**2).min() < -1e-3)
    assert any(falls)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_column_with_a_prior_rises_but_not_above_columns_to_keep(method):
    X, y = expression(n=40, p=60)
    plain = method.set_params(schema=None).fit(X, y)
    weak = int(plain.order_[25])
    before = int(plain.ranking_[weak])
    keep_column = int(plain.order_[-1])
    rfe = method.set_params(schema={"prior": {weak: 10}, "keep": [keep_column]}).fit(X, y)
    assert rfe.order_[0] == keep_column
    assert rfe.ranking_[weak] < before / 2
    method.set_params(schema=None)


def test_a_category_is_widened_as_a_whole():
    """All levels of a column by the same: to relabel them changes nothing."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    level = np.array(list("abcd"))[rng.integers(0, 4, 60)]
    frame = pl.DataFrame({f"g{j}": rng.normal(size=60) for j in range(6)}).with_columns(
        level=pl.Series(level)
    )
    other = frame.with_columns(
        pl.col("level").replace_strict(dict(zip("abcd", "zkqa", strict=True)))
    )
    schema = {"prior": {"level": 7, "g2": 3}}
    first, second = (SVMRFE(step=1, schema=schema).fit(table, y) for table in (frame, other))
    assert first.order_.tolist() == second.order_.tolist()
    assert first.criterion_ == pytest.approx(second.criterion_, rel=1e-9)


def test_scores_are_rounds_and_shares():
    X, y = expression(n=40, p=12)
    rfe = SVMRFE(step=12, schema={"prior": {3: 10}}).fit(X, y)
    assert rfe.scores_ == pytest.approx(rfe.criterion_ / rfe.criterion_.sum(), rel=1e-12)
    Z = (X - X.mean(0)) / X.std(0)
    beta = np.where(np.arange(12) == 3, 10.0, 1.0)
    wide = SVMRFE(step=12, standardize=False).fit(Z * beta, y)
    assert rfe.criterion_ == pytest.approx(wide.criterion_ * beta**2, rel=1e-9)


def test_mkl_columns_without_a_kernel_do_not_shift_the_prior_of_others():
    X, y = expression(n=30, p=6)
    names = [f"patient {i}" for i in range(30)]
    frame = pl.DataFrame(X).with_columns(name=pl.Series(names))
    frame = frame.select("name", *frame.columns[:-1])
    schema = {"prior": {"column_1": 5, "column_4": 10}}
    expected = MKLRFE(step=2, schema=schema).fit(frame.drop("name"), y)
    rfe = MKLRFE(step=2, schema=schema).fit(frame, y)
    assert rfe.order_[-1] == 0
    # the name goes in the first round, with one of the others
    assert rfe.table()["feature"][:5].to_list() == expected.table()["feature"][:5].to_list()


# ---- all solvers give the same ranking -----------------------------------------------------------
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.2, 1, 3]),
    st.sampled_from([0.01, 1.0]),
    st.booleans(),
)
@settings(max_examples=40)
def test_every_round_drops_the_smallest_weights_of_a_machine_solved_anew(
    seed, step, C, standardize
):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 40)), int(rng.integers(2, 60))
    X = rng.normal(size=(n, p)) if seed % 2 else rng.integers(-2, 3, (n, p)) * 1.0
    if p > 3:
        X[:, 1], X[:, 2] = X[:, 0], 1.0
    y = rng.permutation(np.arange(n) % 2)
    prior = rng.choice([1.0, 2.0, 10.0, 30.0], p)
    schema = {"prior": dict(enumerate(prior.tolist()))}
    rfe = SVMRFE(step=step, C=C, standardize=standardize, schema=schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit_quietly(rfe, X, y)
    assume(rfe.duality_gap_.max() < 1e-9)
    check_rounds(rfe, X, y, C, [], prior / prior.min(), standardize)


@pytest.mark.parametrize(("n", "p"), [(80, 12), (300, 40)])
def test_factor_route_ranks_as_the_gram_route(monkeypatch, n, p):
    X, y = expression(n=n, p=p, seed=4)
    frame = pl.DataFrame(X).with_columns(kind=pl.Series(np.array(list("xyz"))[np.arange(n) % 3]))
    schema = {"prior": {"column_3": 10, "column_7": 2, "kind": 5}}
    gram = SVMRFE(step=1, C=0.1, schema=schema).fit(frame, y)
    monkeypatch.setattr(linear_svm, "MOST_DENSE_ROWS", 1)
    monkeypatch.setattr(linear_svm, "FACTOR_SHARE", 1)
    factor = SVMRFE(step=1, C=0.1, schema=schema).fit(frame, y)
    assert np.array_equal(gram.order_, factor.order_)
    assert factor.duality_gap_.max() < 1e-8
    assert factor.criterion_ == pytest.approx(gram.criterion_, rel=1e-6, abs=1e-12)


def test_clinical_kernel_without_its_matrix(monkeypatch):
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"x{k}": rng.normal(size=300) for k in range(7)}).with_columns(
        site=pl.Series(rng.choice(list("abcd"), 300))
    )
    y = (frame["x2"] + frame["x5"] + rng.normal(size=300) > 0).to_numpy().astype(int)
    method = SVMRFE(kernel="clinical", schema={"prior": {"x0": 10, "x2": 3, "site": 2}})
    order = method.fit(frame, y).order_.tolist()
    criterion = method.criterion_.copy()
    monkeypatch.setattr(clinical_svm, "MOST_DENSE_ROWS", 100)
    free = method.fit(frame, y)
    assert free.order_.tolist() == order
    assert free.duality_gap_[:-1].max() <= 1e-10
    assert free.criterion_[order[1:]] == pytest.approx(criterion[order[1:]], rel=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "clinical"])
def test_sparse_equals_dense(kernel):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((40, 60)) < 0.2, rng.normal(size=(40, 60)), 0.0)
    y, schema = np.arange(40) % 2, {"prior": {4: 10, 9: 3}}
    dense = SVMRFE(kernel=kernel, schema=schema).fit(X, y)
    sparse = SVMRFE(kernel=kernel, schema=schema).fit(scipy.sparse.csc_array(X), y)
    assert np.array_equal(dense.order_, sparse.order_)
    assert sparse.criterion_ == pytest.approx(dense.criterion_, rel=1e-7)


def test_columns_beside_a_wide_one_are_as_exact_as_alone():
    """The rounding errors of taking columns out of a matrix that a wide one fills add up."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 1500)), np.arange(12) % 2
    schema = {"prior": {0: 100}, "keep": [0]}
    rfe = SVMRFE(step=1, schema=schema).fit(X, y)
    last = np.sort(rfe.order_[:8])
    alone = SVMRFE(step=1, schema=schema).fit(X[:, last], y)
    assert last[alone.order_].tolist() == rfe.order_[:8].tolist()
    # without a fresh matrix now and then it is 1.4e-10
    assert alone.criterion_ == pytest.approx(rfe.criterion_[last], rel=6e-11)


def test_gram_matrices_are_rebuilt_beside_a_wide_column():
    X, y = expression(n=30, p=64, seed=8)
    widths = np.where(np.arange(64) == 0, 1e4, 1.0)
    source = DenseSource(X * np.sqrt(widths))
    machine = LinearMachine(source, y * 2.0 - 1, np.ones(30), 1.0, widths)
    machine.criterion()
    machine.drop(np.arange(8, 64))
    assert machine._built == 64  # an eighth is left, not less
    machine.drop(np.array([7]))
    assert machine._built == 7
    exact = (X[:, :7] * widths[:7]) @ X[:, :7].T
    assert np.abs(machine._gram - exact).max() < 1e-14 * np.abs(exact).max()
    machine = LinearMachine(DenseSource(X), y * 2.0 - 1, np.ones(30), 1.0)
    machine.criterion()
    machine.drop(np.arange(8, 64))
    assert machine._built == 64


def test_clinical_matrix_is_rebuilt_once_the_wide_columns_are_gone():
    x = np.random.default_rng(0).normal(size=(40, 30))
    columns = ClinicalColumns(number_positions(x, *ranges(x)))
    widths = np.where(np.arange(40) < 2, 1e4, 1.0)
    signs, C = np.where(np.arange(30) % 2 == 1, 1.0, -1.0), np.full(30, 0.1)
    machine = ClinicalMachine(columns, signs, C, widths=widths)
    machine.criterion()
    machine.drop(np.array([0]))
    assert machine._gram is not None
    machine.drop(np.array([0]))
    assert machine._gram is None
    fresh = ClinicalMachine(columns.view(np.arange(2, 40)), signs, C)
    assert machine.criterion() == pytest.approx(fresh.criterion(), rel=1e-12)


# ---- rounding ------------------------------------------------------------------------------------
@pytest.mark.parametrize("C", [1e-3, 1.0])
@pytest.mark.parametrize("kernel", ["linear", "clinical", "mkl"])
def test_rows_in_any_order_without_a_useful_column(kernel, C):
    """w = 0 is optimal: weights are rounding errors, which a prior must not amplify."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 12)), (np.arange(60) < 12).astype(int)
    parameters = {"step": 1, "C": C}
    if kernel in ("clinical", "mkl"):
        X, y = rng.integers(0, 2, size=(60, 6)), (np.arange(60) < 6).astype(int)
    kinds = {"mkl": MKLRFE(**parameters), "clinical": SVMRFE(kernel="clinical", **parameters)}
    method = kinds.get(kernel, SVMRFE(**parameters))
    for beta in (2, 10) if kernel in kinds else (2, 10, 100):
        method.set_params(schema={"prior": {0: beta, 3: beta, 5: 1 + beta / 2}})
        expected = method.fit(X, y).order_.tolist()
        assert (method.criterion_ == 0).all()
        for seed in range(3):
            rows = np.random.default_rng(seed).permutation(60)
            assert method.fit(X[rows], y[rows]).order_.tolist() == expected


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_the_largest_prior_is_solved_as_well_as_none(method):
    X, y = expression(n=60, p=200)
    for favoured_columns in ([150, 151], list(range(0, 200, 2))):
        method.set_params(schema={"prior": dict.fromkeys(favoured_columns, 100)}).fit(X, y)
        assert method.duality_gap_.max() < 1e-6
        assert (method.criterion_ > 0).all()
    method.set_params(schema=None)


# ---- warnings and errors -------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_prior_too_large_is_refused(method):
    X, y = expression(n=20, p=6)
    with pytest.raises(SchemaError, match="up to 100"):
        method.set_params(schema={"prior": {2: 101}}).fit(X, y)
    method.set_params(schema={"prior": {f: 1000 if f == 2 else 10 for f in range(6)}}).fit(X, y)
    method.set_params(schema=None)


@pytest.mark.parametrize(
    "method", [SVMRFE(kernel="rbf"), SVMRFE(kernel="clinical", criterion="renormalised")]
)
def test_methods_that_ignore_a_prior_warn(method):
    X, y = expression(n=30, p=8)
    expected = method.set_params(schema=None).fit(X, y).scores_.copy()
    method.set_params(schema={"prior": {2: 1000}})
    with pytest.warns(SchemaWarning, match="does not use prior"):
        method.fit(X, y)
    assert method.scores_.tobytes() == expected.tobytes()
    assert method._uses == ("keep",)


def test_methods_declare_what_they_use():
    for method in METHODS:
        assert method._uses == ("keep", "prior")


def test_a_poor_solution_names_the_prior_among_the_remedies(monkeypatch):
    X, y = expression(p=20)
    solve = linear_svm.SVMDual.solve

    def solve_worse(self, K, rank, trace=None):
        solve(self, K, rank, trace)
        self.duality_gap = 1e-3

    monkeypatch.setattr(linear_svm.SVMDual, "solve", solve_worse)
    with pytest.warns(ConvergenceWarning, match="smaller C or a smaller prior"):
        SVMRFE(step=10, schema={"prior": {0: 2}}).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="a smaller C or prior, a larger norm"):
        MKLRFE(C=10, max_iter=1, step=20, schema={"prior": {0: 2}}).fit(X, y)


# ---- the paper's data ----------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS[:2], ids=NAMES[:2])
def test_marker_genes_of_lymphoma_rise(data_folder, method):
    """Transferrin receptor and lactate dehydrogenase A, as in Helleputte and Dupont (2009)."""
    data = pl.read_parquet(data_folder / "dlbcl_shipp.parquet")
    frame, y = data.drop("class"), data["class"].to_numpy()
    genes = ["X01060_at", "X02152_at"]
    positions = [frame.columns.index(gene) for gene in genes]
    plain = method.set_params(schema=None).fit(frame, y).ranking_[positions].max()
    assert plain > 100
    for beta in (2, 10, 100):
        rfe = method.set_params(schema={"prior": dict.fromkeys(genes, beta)}).fit(frame, y)
        assert rfe.ranking_[positions].max() <= 10
        assert rfe.duality_gap_.max() < 1e-6
    method.set_params(schema=None)
