"""All pairs of columns on the device: the same columns and bits as on the CPU."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError, DeviceError, ParameterError
from featly.core.counts.codes import DenseCodes
from featly.core.pairs import correlation, uncertainty
from featly.core.pairs import search as cpu
from featly.core.sources import DenseSource
from featly.diagnostics.redundancy import redundancy

cupy = pytest.importorskip("cupy")

from featly.core.pairs import columns_cuda, search_cuda  # noqa: E402
from featly.core.runtime import device_cuda  # noqa: E402

MEMORY = 1 << 30


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles of 64 columns, so that a small table has many rounds."""
    monkeypatch.setattr(search_cuda, "TILE", 64)


def table(seed, n, p, dtype=np.float32, missing_share=0.05):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    X[:, p // 2] = X[:, 0]
    X[:, p // 3] = -3 * X[:, 0] + 1
    X[:, p // 4] = 0.7
    if np.dtype(dtype).kind != "f":
        return np.clip(np.rint(X), 0 if np.dtype(dtype).kind == "u" else -3, 3).astype(dtype)
    X[random.random((n, p)) < missing_share] = np.nan
    X[:, p - 2] = np.nan
    return X.astype(dtype)


def same_pairs(ours, theirs):
    orders = [np.lexsort((pairs[1], pairs[0])) for pairs in (ours, theirs)]
    return all(
        np.array_equal(a[orders[0]], b[orders[1]]) for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, bool])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_neighbours(small_tiles, dtype, layout):
    for p in (1, 7, 64, 130, 321):  # one block, two, odd and even numbers of them
        X = table(p, 45, p, dtype)
        device_array = cupy.asarray(X, order="F" if layout == "F" else "C")
        if layout == "strided":
            wide = cupy.zeros((2 * 45, 2 * p), X.dtype)
            wide[::2, ::2] = device_array
            device_array = wide[::2, ::2]
        columns = search_cuda.UnitColumns(device_array)
        cpu_columns = correlation.UnitColumns(DenseSource(X.astype(np.float64)))
        for count in (1, 10):
            index, value = search_cuda.neighbours(columns, count)
            expected_index, expected = cpu.neighbours(cpu_columns, count, MEMORY)
            assert np.array_equal(index, expected_index)
            assert value.tobytes() == expected.tobytes()


@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("threshold", [0.05, 0.4, 1.0])
def test_pairs_above(small_tiles, ranks, threshold):
    X = table(3, 50, 300, missing_share=0.0 if threshold == 1 else 0.05)
    columns = search_cuda.UnitColumns(cupy.asarray(X), ranks=ranks)
    cpu_columns = correlation.UnitColumns(DenseSource(X), ranks=ranks)
    pairs = search_cuda.pairs_above(columns, threshold, 100_000)
    expected = cpu.pairs_above(cpu_columns, threshold, 100_000, MEMORY)
    assert same_pairs(pairs, expected)
    assert len(expected[0]) > (0 if threshold == 1 else 50)


def test_spearman(small_tiles):
    X = np.round(table(4, 60, 150), 1)  # with ties among the values
    columns = search_cuda.UnitColumns(cupy.asarray(X), ranks=True)
    cpu_columns = correlation.UnitColumns(DenseSource(X), ranks=True)
    for ours, theirs in zip(
        search_cuda.neighbours(columns, 7), cpu.neighbours(cpu_columns, 7, MEMORY), strict=True
    ):
        assert np.array_equal(ours, theirs)


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(2, 12), st.integers(2, 200), st.integers(1, 12), st.integers(0, 2**32))
def test_ties(small_tiles, n, p, count, seed):
    """Ties are broken as on the CPU where few rows of few values share most values."""
    X = np.random.default_rng(seed).integers(0, 3, (n, p)).astype(np.float32)
    index, value = search_cuda.neighbours(search_cuda.UnitColumns(cupy.asarray(X)), count)
    cpu_columns = correlation.UnitColumns(DenseSource(X))
    expected_index, expected = cpu.neighbours(cpu_columns, count, MEMORY)
    assert np.array_equal(index, expected_index)
    assert np.array_equal(value, expected)


def test_a_list_that_ties_fill(small_tiles, monkeypatch):
    lengths = []
    original = search_cuda._Sweep._retain_best_pairs

    def note_length(sweep):
        lengths.append(sweep._length())
        original(sweep)

    monkeypatch.setattr(search_cuda._Sweep, "_retain_best_pairs", note_length)
    slack = (search_cuda.AHEAD + 1) * 2 * 64**2
    monkeypatch.setattr(search_cuda, "_sizes", lambda *sizes: (64, slack + 3000))
    X = np.random.default_rng(0).integers(0, 2, (5, 600)).astype(np.float32)
    index, value = search_cuda.neighbours(search_cuda.UnitColumns(cupy.asarray(X)), 4)
    expected_index, expected = cpu.neighbours(correlation.UnitColumns(DenseSource(X)), 4, MEMORY)
    assert lengths
    assert np.array_equal(index, expected_index)
    assert np.array_equal(value, expected)


def test_many_rows(small_tiles):
    """More rows than are added up at a time give the neighbours of the CPU."""
    X = table(5, 9001, 130)
    columns = search_cuda.UnitColumns(cupy.asarray(X))
    cpu_columns = correlation.UnitColumns(DenseSource(X))
    for ours, theirs in zip(
        search_cuda.neighbours(columns, 5), cpu.neighbours(cpu_columns, 5, MEMORY), strict=True
    ):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("n", [8, 1000, 8000, 20_000])
@pytest.mark.parametrize("kind", ["normal", "heavy", "skewed", "alike"])
def test_margin(n, kind):
    """The screened value is within the stated margin of the exact one."""
    random = np.random.default_rng(n)
    X = random.normal(size=(n, 256))
    if kind == "heavy":
        X = random.standard_cauchy(size=X.shape)
    elif kind == "skewed":
        X = np.exp(2 * X)
    elif kind == "alike":  # nothing cancels
        X = X[:, :1] + 1e-3 * X
    columns = search_cuda.UnitColumns(cupy.asarray(X))
    tile = cupy.zeros((256, 256), np.uint16)
    columns.tile(tile, (0, 256), (0, 256))
    screened = cupy.abs(tile.view(np.float16).astype(np.float64)) / columns_cuda.UNIT**2
    f, g = (side.reshape(-1).astype(np.uint64) for side in cupy.indices((256, 256)))
    value = columns.exact_values(f << np.uint64(40) | g).reshape(256, 256)
    off = float(cupy.maximum(cupy.abs(screened - value) - columns.relative * screened, 0).max())
    assert off <= columns.margin
    assert columns.margin < 0.01


@pytest.mark.parametrize("n", [2, 60, 3000])  # in half precision, and in float32
@pytest.mark.parametrize("levels", [2, 3, 16])
def test_information(small_tiles, n, levels):
    random = np.random.default_rng(levels)
    for p in (1, 30, 200):
        matrix = random.integers(1, levels + 1, (p, n)).astype(np.uint8)
        if levels < 16:
            matrix[random.random((p, n)) < 0.1] = 0
        matrix[p // 2] = matrix[0]
        matrix[p // 3] = 1
        codes = DenseCodes(matrix, np.full(p, levels))
        columns, cpu_columns = search_cuda.CodedColumns(codes), uncertainty.CodedColumns(codes)
        index, value = search_cuda.neighbours(columns, 6)
        expected_index, expected = cpu.neighbours(cpu_columns, 6, MEMORY)
        assert np.array_equal(index, expected_index)
        assert value.tobytes() == expected.tobytes()
        pairs = search_cuda.pairs_above(columns, 0.01, 100_000)
        assert same_pairs(pairs, cpu.pairs_above(cpu_columns, 0.01, 100_000, MEMORY))


@pytest.mark.parametrize("threshold", [0.2, 0.5, 1.0])
def test_without_redundant(small_tiles, threshold):
    X = table(6, 30, 300)
    order = np.random.default_rng(1).permutation(300)
    columns = search_cuda.UnitColumns(cupy.asarray(X))
    cpu_columns = correlation.UnitColumns(DenseSource(X))
    result = search_cuda.drop_redundant(columns, order, threshold, 5)
    expected = cpu.drop_redundant(cpu_columns, order, threshold, 5, MEMORY)
    for ours, theirs in zip(result, expected, strict=True):
        assert np.array_equal(ours, theirs)


# ---- as it is called ------------------------------------------------------------------------
@pytest.mark.parametrize("measure", ["pearson", "spearman", "information"])
@pytest.mark.parametrize("selection", [{"threshold": 0.3}, {"neighbours": 4}])
def test_redundancy(measure, selection):
    torch = pytest.importorskip("torch")
    X = table(8, 40, 90)
    expected = redundancy(X, measure=measure, device="cpu", **selection)
    for form in (X, np.asfortranarray(X), cupy.asarray(X), torch.asarray(X, device="cuda")):
        result = redundancy(form, measure=measure, device="cuda", **selection)
        assert np.array_equal(result.pairs, expected.pairs)
        if "neighbours" in selection:
            assert np.array_equal(result.neighbours, expected.neighbours)
            assert np.array_equal(result.values, expected.values)
        else:
            assert np.array_equal(result.groups, expected.groups)


def test_bad_input():
    X = cupy.asarray(table(9, 40, 30))
    with pytest.raises(ParameterError, match=r"max_pairs=3 pairs reach threshold=0\.1"):
        redundancy(X, threshold=0.1, max_pairs=3)
    with pytest.raises(DeviceError, match="256 neighbours are found on the CPU"):
        redundancy(cupy.ones((3, 400)), neighbours=300)
    neighbours = redundancy(cupy.asnumpy(X), neighbours=3, device="cpu").neighbours
    assert np.array_equal(redundancy(X, neighbours=3, device="cpu").neighbours, neighbours)
    partial = redundancy(X, threshold=0.1, columns=[2])
    assert (
        partial.pairs.tolist()
        == redundancy(cupy.asnumpy(X), threshold=0.1, columns=[2]).pairs.tolist()
    )
    with pytest.raises(DataError, match="2: reshape"):
        redundancy(X[0], neighbours=3)
    with pytest.raises(DataError, match="no rows"):
        redundancy(X[:0], neighbours=3)
    with pytest.raises(DataError, match="'x1' is categorical"):
        redundancy(X, neighbours=3, schema={"categorical": [1]})
    X[3, 2] = cupy.inf
    for measure in ("pearson", "spearman"):
        with pytest.raises(DataError, match=r"'x2' has an infinite value .* row 3"):
            redundancy(X, neighbours=3, measure=measure)
    many = np.random.default_rng(0).integers(0, 20, (100, 5))
    with pytest.raises(DeviceError, match="more than 16 levels"):
        redundancy(many, neighbours=2, measure="information", discretizer=None, device="cuda")


def test_a_device_that_is_full(monkeypatch):
    monkeypatch.setattr(columns_cuda, "free_bytes", lambda: 1000)
    X = table(1, 40, 60)
    with pytest.raises(DeviceError, match=r"GB on the device, .* or device='cpu'"):
        redundancy(X, neighbours=3, device="cuda")
    monkeypatch.setattr("featly.problem.place.WORTH_A_DEVICE", 0)
    result = redundancy(X, neighbours=3)  # the CPU does it
    assert np.array_equal(result.neighbours, redundancy(X, neighbours=3, device="cpu").neighbours)


def test_stopped_half_way():
    X = cupy.asarray(table(2, 40, 900))
    free = device_cuda.free_bytes()

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        redundancy(X, neighbours=3, verbose=stop)
    assert device_cuda.free_bytes() >= free - (1 << 26)  # what was held is given back
    assert redundancy(X, neighbours=3).neighbours.shape == (900, 3)
