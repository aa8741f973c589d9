"""Moments, forms and Gram matrices on the device, and the machines that are built on them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError
from featly.core.ranking.ordering import best_first
from featly.core.sources import (
    CSCSource,
    DenseSource,
    StreamedSource,
    centers_and_variances,
    unit_scale,
)
from featly.core.svm.arom import arom
from featly.elimination.linear_svm import LinearMachine
from featly.elimination.rfe import eliminate

from .tables import LAYOUTS, lay_out

cupy = pytest.importorskip("cupy")

from featly.core.runtime.device_cuda import NotOnDevice, as_device  # noqa: E402
from featly.core.sources import linear_cuda, moments_cuda  # noqa: E402
from featly.core.sources.source_cuda import CudaSource, StreamedCudaSource, cuda_source  # noqa: E402

FLOATS = ("float32", "float64")
KINDS = (*FLOATS, "int8", "uint8", "int16", "uint16", "int32", "int64")
few = settings(max_examples=15, deadline=None)


def numbers(seed, n, p, dtype="float64", layout="rows", missing_share=0.0):
    """Make a table with a duplicate, a constant and, on request, missing and infinite values."""
    random = np.random.default_rng(seed)
    X = 10 * random.normal(size=(n, p)) + 30
    if p > 5:
        X[:, 3], X[:, 4] = X[:, 0], 7
    X = X.astype(dtype)
    if missing_share:
        X[random.random(X.shape) < missing_share] = np.nan
        if p > 5:
            X[:, 3], X[:, 5] = X[:, 0], np.nan
            X[n // 2, 1] = np.inf
    return lay_out(X, layout)


def sources(X):
    """Yield the table on the device, and passing through it."""
    yield cuda_source(X)
    yield cuda_source(X, capacity=6 * X.itemsize * len(X))


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 90),
    p=st.sampled_from((1, 6, 140)),
    dtype=st.sampled_from(KINDS),
    layout=st.sampled_from(LAYOUTS),
    n_groups=st.integers(1, 5),
)
def test_moments(seed, n, p, dtype, layout, n_groups):
    missing_share = 0.2 if dtype in FLOATS else 0.0
    X = numbers(seed, n, p, dtype, layout, missing_share)
    groups = np.random.default_rng(seed).integers(0, n_groups, n)
    expected = DenseSource(X).moments(groups, n_groups)
    for source in sources(X):
        result = source.moments(groups, n_groups)
        np.testing.assert_array_equal(result.count, expected.count)
        np.testing.assert_array_equal(np.isfinite(result.m2), np.isfinite(expected.m2))
        np.testing.assert_allclose(result.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(result.m2, expected.m2, rtol=1e-9, atol=1e-9)
        if p > 5:
            assert (result.m2[:, 4] == 0).all()
            np.testing.assert_array_equal(result.m2[:, 3], result.m2[:, 0])
            np.testing.assert_array_equal(result.mean[:, 3], result.mean[:, 0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_many_rows_are_divided_in_a_fixed_way(layout, monkeypatch):
    X = numbers(0, 500, 7, "float32", layout)
    groups, v = np.arange(500) % 3, np.sin(np.arange(500.0))
    plain, whole = DenseSource(X), cuda_source(X)
    monkeypatch.setattr(moments_cuda, "TASK_ROWS", 32)
    assert len(moments_cuda.Tasks.from_groups(groups, 3, 500).table) > 12
    result = whole.moments(groups, 3)
    np.testing.assert_allclose(result.m2, plain.moments(groups, 3).m2, rtol=1e-11, atol=1e-9)
    np.testing.assert_array_equal(result.m2[:, 3], result.m2[:, 0])
    forms = whole.forms(v)
    np.testing.assert_allclose(forms, plain.forms(v), rtol=1e-10)
    assert forms[3] == forms[0]


def test_a_group_without_rows_and_a_column_without_values():
    X = numbers(1, 10, 8, "float32", missing_share=0.3)
    expected = DenseSource(X).moments(np.zeros(10, np.int64), 2)
    result = cuda_source(X).moments(np.zeros(10, np.int64), 2)
    np.testing.assert_array_equal(result.count, expected.count)
    np.testing.assert_array_equal(result.mean[1], 0)
    np.testing.assert_array_equal(result.m2[:, 5], 0)


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 60),
    p=st.sampled_from((1, 6, 300)),
    dtype=st.sampled_from(KINDS),
    layout=st.sampled_from(LAYOUTS),
)
def test_forms_tiles_and_gram_matrices(seed, n, p, dtype, layout):
    random = np.random.default_rng(seed)
    X, v = numbers(seed, n, p, dtype, layout), random.normal(size=n)
    v[random.random(n) < 0.3] = 0.0
    center, scale = random.normal(size=p), random.random(p) + 0.1
    if p > 5:
        center[3], scale[3] = center[0], scale[0]
    some, factor = random.permutation(p)[: max(1, p // 3)], random.random(p)
    every = np.arange(len(some))
    wanted = DenseSource(X).scaled(center, scale)
    for given_source in sources(X):
        scaled_source = given_source.scaled(center, scale)
        forms = scaled_source.forms(v)
        np.testing.assert_allclose(forms, wanted.forms(v), rtol=1e-9, atol=1e-9)
        assert p < 6 or forms[3] == forms[0]
        np.testing.assert_allclose(scaled_source.gram(), wanted.gram(), rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(
            scaled_source.gram(some), wanted.gram(some), rtol=1e-11, atol=1e-9
        )
        np.testing.assert_array_equal(scaled_source.load(some), wanted.load(some))
        ours, theirs = scaled_source.weighted(factor).view(some), wanted.weighted(factor).view(some)
        for part in (ours, ours.in_memory(), ours.compact()):
            np.testing.assert_allclose(part.forms(v), theirs.forms(v), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(part.load(every), theirs.load(every))
            np.testing.assert_allclose(part.gram(), theirs.gram(), rtol=1e-11, atol=1e-9)
            np.testing.assert_array_equal(part.on_host().load(every), theirs.load(every))
        rows = random.permutation(n)[: n // 2 + 1]
        ours, theirs = ours.take_rows(rows), theirs.take_rows(rows)
        np.testing.assert_array_equal(ours.load(every), theirs.load(every))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_gram_matrix_of_several_tiles_and_parts(layout, monkeypatch):
    X = numbers(3, 20, 1000, "float32", layout)
    wanted = DenseSource(X).gram()
    np.testing.assert_allclose(cuda_source(X).gram(), wanted, rtol=1e-12)
    monkeypatch.setattr(linear_cuda, "PART_COLUMNS", 64)
    monkeypatch.setattr(linear_cuda, "TILE_BYTES", 8 * 20 * 300)
    np.testing.assert_allclose(cuda_source(X).gram(), wanted, rtol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_array_on_the_device_is_not_copied(layout):
    X = as_device(numbers(0, 6, 9, "float32", layout))
    source = cuda_source(X)
    assert source.values is X
    assert source.feature_major is (layout == "columns")
    assert source.view(np.arange(5)).values is X
    assert source.view(np.arange(5)).in_memory().values is X
    few_left = source.view(np.array([7, 2])).in_memory()
    assert few_left.values.shape == (6, 2)
    assert few_left.nbytes == 6 * 2 * 4
    turned = cuda_source(X[::2])
    np.testing.assert_array_equal(turned.load(np.arange(9)), numbers(0, 6, 9, "float32")[::2].T)


def test_a_tensor_on_the_device_is_not_copied():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no torch with CUDA")
    X = torch.arange(12.0, device="cuda").reshape(3, 4)
    source = cuda_source(X)
    assert source.values.data.ptr == X.data_ptr()
    np.testing.assert_array_equal(source.moments().mean, [[4, 5, 6, 7]])


class Store:
    """Columns that are read by blocks, as from a file."""

    def __init__(self, X, feature_major):
        self.X, self.feature_major, self.dtype = X, feature_major, X.dtype
        self.n_rows, self.kinds = len(X), np.zeros(X.shape[1], np.uint8)

    def read(self, low, high):
        return self.take(np.arange(low, high))

    def take(self, features):
        return DenseSource(lay_out(self.X[:, features], LAYOUTS[self.feature_major]))

    def check(self):
        pass


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("capacity", [None, 20 * 4 * 60])
def test_a_table_on_disk_passes_through_or_is_taken(layout, capacity):
    X = numbers(5, 20, 500, "float32", layout)
    streamed = StreamedSource(Store(X, layout == "columns"), 60_000)
    center, scale = np.linspace(0, 1, 500), np.linspace(1, 2, 500)
    v, some = np.cos(np.arange(20.0)), np.arange(499, 0, -5)
    wanted = DenseSource(X).scaled(center, scale)
    for source in (
        cuda_source(streamed, capacity).scaled(center, scale),
        cuda_source(streamed.scaled(center, scale), capacity),
    ):
        assert isinstance(source, CudaSource if capacity is None else StreamedCudaSource)
        np.testing.assert_allclose(source.moments().m2, wanted.moments().m2, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(source.gram(), wanted.gram(), rtol=1e-11)
        for view in (source, source.view(some), source.view(some).in_memory()):
            theirs = wanted if view is source else wanted.view(some)
            np.testing.assert_allclose(view.forms(v), theirs.forms(v), rtol=1e-9, atol=1e-9)
            np.testing.assert_array_equal(view.load(np.arange(7)), theirs.load(np.arange(7)))
            assert len(view.each(lambda part, places: places)) >= 1


def test_a_view_of_a_streamed_table_moves_to_the_device_once_it_fits():
    X = numbers(0, 10, 100)
    source = cuda_source(X, capacity=10 * 8 * 30)
    assert isinstance(source, StreamedCudaSource)
    assert source.view(np.arange(31)).in_memory().view(np.arange(31)).n_features == 31
    assert isinstance(source.view(np.arange(31)).in_memory(), StreamedCudaSource)
    assert isinstance(source.view(np.arange(0, 100, 4)).in_memory(), CudaSource)
    assert isinstance(source.take_rows(np.arange(3)), CudaSource)


def test_what_is_not_for_the_device():
    import scipy.sparse

    codes = np.ones((1, 3), np.uint8)
    kinds = np.array([0, 2], np.uint8)
    mixed = DenseSource(np.zeros((3, 1)), codes, kinds, np.array([1]))
    with pytest.raises(NotOnDevice, match="categorical"):
        cuda_source(mixed)
    with pytest.raises(NotOnDevice, match="sparse"):
        cuda_source(CSCSource(scipy.sparse.csc_array(np.eye(3))))
    streamed = StreamedSource(Store(np.zeros((3, 2)), False), 1 << 20)
    with pytest.raises(NotOnDevice, match="filled"):
        cuda_source(streamed.fill_with_center())
    with pytest.raises(DataError, match=r"float16.*give float32"):
        CudaSource(cupy.zeros((3, 2), np.float16))


# ---- the machines ---------------------------------------------------------------------------
def standardise(source):
    center, variance = centers_and_variances(source, source.moments())
    return source.scaled(center, unit_scale(variance))


def classes(X, seed=0):
    random = np.random.default_rng(seed)
    signal = X[:, :4].astype(np.float64).sum(axis=1)
    return np.where(signal + random.normal(size=len(X)) > np.median(signal), 1.0, -1.0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("step", [0.3, 1])
def test_svm_rfe_eliminates_as_on_the_cpu(layout, step):
    X = numbers(7, 30, 80 if step == 1 else 700, "float32", layout)
    y, p = classes(X), X.shape[1]

    def order(source):
        machine = LinearMachine(standardise(source), y, np.ones(30), 1.0)
        return eliminate(machine, p, step=step, fine_below=None, keep=np.empty(0, int)).order

    wanted = order(DenseSource(X))
    for source in sources(X):
        np.testing.assert_array_equal(order(source), wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arom_as_on_the_cpu(layout):
    X = numbers(9, 30, 400, "float32", layout)
    y = classes(X)
    expected = arom(standardise(DenseSource(X)), y, np.inf)
    for source in sources(X):
        result = arom(standardise(source), y, np.inf)
        assert result.path == expected.path
        np.testing.assert_array_equal(result.survived, expected.survived)
        left = np.flatnonzero(expected.survived == expected.survived.max())
        np.testing.assert_array_equal(
            best_first(result.log_weights[left]), best_first(expected.log_weights[left])
        )
