"""The clinical kernel on the device: forms, products, matrices, and the methods that use them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.kernels import clinical as host
from featly.core.kernels import kernel_sets
from featly.core.kernels.mkl import solve_mkl
from featly.core.sources import DenseSource
from featly.elimination.clinical_svm import ClinicalMachine
from featly.elimination.rfe import eliminate

from .tables import LAYOUTS, lay_out

cupy = pytest.importorskip("cupy")

from featly.core.kernels import clinical_cuda  # noqa: E402
from featly.core.runtime import device_cuda  # noqa: E402
from featly.core.runtime.device_cuda import NotOnDevice, as_device, to_host  # noqa: E402
from featly.core.sources.source_cuda import cuda_source  # noqa: E402

few = settings(max_examples=12, deadline=None)


def numbers(seed, n, p, layout="rows", missing_share=0.0):
    """Make float32 numbers: constants, ties, duplicates, columns without a value among them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p)).astype(np.float32)
    if missing_share:
        X[random.random(X.shape) < missing_share] = np.nan
    if p > 6:
        X[:, 2], X[:, 4], X[:, 6] = 7, X[:, 5], np.round(X[:, 6])
        if missing_share:
            X[:, 3] = np.nan
    return lay_out(X, layout)


def mixed_source(seed, n, p=9, q=4):
    """Make numbers and categories, missing values in both; one category names the rows."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 4, (q, n)).astype(np.uint8)
    codes[0] = np.arange(1, n + 1)
    kinds = np.zeros(p + q, np.uint8)
    kinds[random.permutation(p + q)[:q]] = 2
    values = numbers(seed, n, p, missing_share=0.1).astype(np.float64)
    return DenseSource(values, codes, kinds, np.array([n, *[3] * (q - 1)]))


def assert_same(ours, theirs, seed):
    """Assert equal answers of columns under the clinical kernel."""
    random = np.random.default_rng(seed)
    n, p = theirs.n_rows, theirs.n_features
    v, weight = random.normal(size=n), random.random(p)
    weight[0] = 0.0
    close = {"rtol": 1e-10, "atol": 1e-10}
    assert (ours.n_features, ours.rank) == (p, theirs.rank)
    np.testing.assert_array_equal(ours.lonely, theirs.lonely)
    for include_missing in (True, False):
        np.testing.assert_allclose(
            ours.forms(v, include_missing), theirs.forms(v, include_missing), **close
        )
    np.testing.assert_allclose(ours.product(v), theirs.product(v), **close)
    np.testing.assert_allclose(ours.product(v, weight), theirs.product(v, weight), **close)
    np.testing.assert_allclose(ours.gram(), theirs.gram(), **close)
    K = theirs.gram(weight)
    np.testing.assert_allclose(ours.gram(weight), K, **close)
    some = random.permutation(p)[: p // 2 + 1]
    mine = K.copy()
    assert ours.gram(-weight[some], some, out=mine) is mine
    np.testing.assert_allclose(mine, theirs.gram(-weight[some], some, out=K), **close)
    if isinstance(ours, clinical_cuda.ColumnKernels):
        products = theirs.products(v, 0, p)
        np.testing.assert_allclose(ours.products(v, 1, p), products[1:], **close)
        assert ours.products(v, 1, 1).shape == (0, n)
        products *= weight[:, None]
        squares = ours.squared_products(v, weight)
        np.testing.assert_allclose(squares, products.T @ products, **close)
    else:
        rows = random.permutation(n)[: n // 2 + 1]
        np.testing.assert_allclose(ours.block(rows, weight), theirs.block(rows, weight), **close)


@pytest.fixture(params=[4096, 1], ids=["in shared memory", "by CuPy"])
def _sorting(request, monkeypatch):
    monkeypatch.setattr(clinical_cuda, "MOST_SORTED", request.param)


@pytest.mark.usefixtures("_sorting")
@pytest.mark.parametrize("n", [2, 3, 70, 140])
@pytest.mark.parametrize("kernels", [False, True], ids=["columns", "kernels"])
def test_mixed_columns(n, kernels):
    source = mixed_source(n, n)
    if kernels:
        ours, theirs = (
            clinical_cuda.ColumnKernels.from_source(source),
            kernel_sets.ColumnKernels.from_source(source),
        )
    else:
        ours, theirs = (
            clinical_cuda.ClinicalColumns.from_source(source),
            host.ClinicalColumns.from_source(source),
        )
    assert_same(ours, theirs, n)
    for some in (np.arange(11, 0, -1), np.array([3, 8, 1]), np.array([2])):
        ours, theirs = ours.view(some), theirs.view(some)
        assert_same(ours, theirs, n)


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 80),
    p=st.sampled_from((1, 7, 60)),
    layout=st.sampled_from(LAYOUTS),
    missing_share=st.sampled_from((0.0, 0.2)),
    streamed=st.booleans(),
)
def test_numbers_on_the_device(seed, n, p, layout, missing_share, streamed):
    X = numbers(seed, n, p, layout, missing_share)
    source = cuda_source(X, capacity=8 * 4 * n if streamed else None)
    ours = clinical_cuda.ClinicalColumns.from_source(source)
    theirs = host.ClinicalColumns.from_source(DenseSource(X))
    assert_same(ours, theirs, seed)
    if p > 6:
        v = np.random.default_rng(seed).normal(size=n)
        forms = ours.forms(v)
        assert forms[4] == forms[5]


def test_positions_by_every_way():
    X = numbers(0, 40, 9, missing_share=0.2).T.astype(np.float64)
    z = host.number_positions(X, *host.ranges(X), first_row=3)
    on_device = as_device(np.ascontiguousarray(X))
    on_device_positions = clinical_cuda.number_positions(
        on_device, *clinical_cuda.ranges(on_device), first_row=3
    )
    np.testing.assert_array_equal(to_host(on_device_positions), z)
    codes = np.random.default_rng(0).integers(0, 4, (3, 40)).astype(np.uint8)
    placed = clinical_cuda.code_positions(as_device(codes), first_row=2)
    np.testing.assert_array_equal(to_host(placed), host.code_positions(codes, first_row=2))
    stacked = [z, host.code_positions(codes, first_row=3)]
    assert_same(clinical_cuda.ClinicalColumns(stacked), host.ClinicalColumns(stacked), 0)
    assert_same(clinical_cuda.ClinicalColumns(on_device_positions), host.ClinicalColumns(z), 0)


@pytest.mark.parametrize("other", [False, True])
def test_similarities(other):
    X = numbers(1, 30, 9, missing_share=0.2).T.astype(np.float64)
    bounds = host.ranges(X)
    z = host.number_positions(X, *bounds)
    zb = host.number_positions(X[:, :13], *bounds, first_row=30) if other else None
    weight = np.linspace(-1, 1, 9)
    ours, theirs = np.ones((30, 13 if other else 30)), np.ones((30, 13 if other else 30))
    clinical_cuda.add_similarities(z, zb, weight, ours)
    host.add_similarities(z, zb, weight, theirs)
    np.testing.assert_allclose(ours, theirs, atol=1e-13)


def test_too_many_columns_are_for_the_cpu(monkeypatch):
    monkeypatch.setattr(device_cuda, "free_bytes", lambda: 1 << 20)
    with pytest.raises(NotOnDevice, match="9 sorted columns of 30 rows"):
        clinical_cuda.ClinicalColumns(numbers(1, 30, 9).T.astype(np.float64))


# ---- the methods ----------------------------------------------------------------------------
def classes(n, seed):
    y = np.where(np.random.default_rng(seed).random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return y


@pytest.mark.parametrize("most_dense_rows", [None, 10], ids=["matrix", "products"])
def test_svm_rfe_eliminates_as_on_the_cpu(most_dense_rows):
    source, y = mixed_source(4, 60, 40, 6), classes(60, 4)

    def order(columns):
        machine = ClinicalMachine(columns, y, np.full(60, 0.1), most_dense_rows=most_dense_rows)
        return eliminate(machine, columns.n_features, step=0.2).order

    wanted = order(host.ClinicalColumns.from_source(source))
    np.testing.assert_array_equal(order(clinical_cuda.ClinicalColumns.from_source(source)), wanted)


def test_mkl_learns_the_weights_of_the_cpu():
    source, y, C = mixed_source(6, 60), classes(60, 6), np.full(60, 0.1)
    ours, theirs = (
        solve_mkl(kernels.view(np.flatnonzero(~kernels.lonely)), y, C)
        for kernels in (
            clinical_cuda.ColumnKernels.from_source(source),
            kernel_sets.ColumnKernels.from_source(source),
        )
    )
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6, atol=1e-9)
    assert ours.duality_gap < 1e-8
