"""ReliefF, Relief and MultiSURF on the device against the CPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.ranking.ordering import best_first
from featly.core.relief import relief as host
from featly.core.relief.relief import GRID, Near, Nearest, NearestOfAll
from featly.core.sources import DenseSource

from .tables import LAYOUTS, lay_out

cupy = pytest.importorskip("cupy")

from featly.core.relief import relief_cuda  # noqa: E402
from featly.core.relief.relief_cuda import relief_weights  # noqa: E402
from featly.core.runtime.device_cuda import NotOnDevice, as_device, to_host  # noqa: E402
from featly.core.sources.source_cuda import cuda_source  # noqa: E402
from featly.core.stats import pair_sums_cuda  # noqa: E402
from featly.core.stats.pair_sums_cuda import PairSums, padded_width  # noqa: E402

RULES = (
    Nearest(1),
    Nearest(5),
    Nearest(10_000),
    Nearest(4, first_come=True),
    NearestOfAll(),
    Near(),
)
few = settings(max_examples=15, deadline=None)


def table(seed, n, p, dtype="float64", layout="rows", coarse=False, n_classes=2):
    """Make numbers with a duplicate and a constant; if coarse, most distances are ties."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    if coarse:
        X = np.round(X)
    y = random.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    X[:, 0] += y
    if p > 3:
        X[:, 2], X[:, 3] = X[:, 0], 2.5
    return lay_out(X.astype(dtype), layout), y


def assert_same(X, y, rule, sample=None, source=None, **options):
    """Assert the weights of the CPU to the grid and the same ranking, and return the weights."""
    n_classes = int(y.max()) + 1
    expected = host.relief_weights(DenseSource(X), y, n_classes, rule, sample=sample)
    source = cuda_source(X) if source is None else source
    result = relief_weights(source, y, n_classes, rule, sample=sample, **options)
    assert np.abs(result.weights - expected.weights).max() <= 1 / GRID
    np.testing.assert_array_equal(best_first(result.weights), best_first(expected.weights))
    assert (result.n_rows, result.interrupted) == (expected.n_rows, False)
    return result.weights


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 60),
    p=st.sampled_from((1, 5, 30)),
    dtype=st.sampled_from(("float32", "float64")),
    layout=st.sampled_from(LAYOUTS),
    coarse=st.booleans(),
    n_classes=st.integers(2, 4),
    rule=st.sampled_from(RULES),
)
def test_the_weights_of_the_cpu(seed, n, p, dtype, layout, coarse, n_classes, rule):
    X, y = table(seed, n, p, dtype, layout, coarse, n_classes)
    weights = assert_same(X, y, rule)
    if p > 3:
        assert weights[2] == weights[0]
        assert weights[3] == 0


@few
@given(seed=st.integers(0, 2**32 - 1), rule=st.sampled_from(RULES), coarse=st.booleans())
def test_samples_panels_and_streams(seed, rule, coarse):
    X, y = table(seed, 30, 9, "float32", coarse=coarse, n_classes=3)
    sample = np.random.default_rng(seed).permutation(30)[:11]
    assert_same(X, y, rule, sample=sample)
    assert_same(X, y, rule, panel_bytes=8 * 30 * 7)
    assert_same(X, y, rule, sample=sample, panel_bytes=1)
    assert_same(X, y, rule, source=cuda_source(X, capacity=30 * 4 * 6))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_class_of_one_row_and_rows_that_are_the_same(rule):
    X, y = table(0, 12, 5, coarse=True)
    y[:] = 1
    y[4] = 0
    X[7:] = X[7]
    assert_same(X, y, rule)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64"])
def test_whole_numbers(dtype, layout):
    X, y = table(3, 25, 6, coarse=True)
    assert_same(lay_out((X + 5).astype(dtype), layout), y, Nearest(3))


def test_more_rows_than_a_block_and_several_tiles(monkeypatch):
    X, y = table(5, 300, 40, "float32", n_classes=3)
    wanted = assert_same(X, y, Nearest(7))
    monkeypatch.setattr(relief_cuda, "TILE_COLUMNS", 16)
    monkeypatch.setattr(relief_cuda, "HELD_SHARE", 1 << 62)  # nothing is kept
    monkeypatch.setattr(relief_cuda, "PART_PAIRS", 100)
    monkeypatch.setattr(pair_sums_cuda, "LEAST_COLUMNS", 8)
    np.testing.assert_allclose(assert_same(X, y, Nearest(7)), wanted, atol=1 / GRID)


def test_no_column_varies():
    weights = relief_weights(cuda_source(np.ones((6, 3))), np.array([0, 1] * 3), 2, Nearest(2))
    np.testing.assert_array_equal(weights.weights, 0)
    assert weights.n_rows == 6


def test_missing_values_are_left_to_the_cpu():
    X, y = table(0, 12, 5)
    X[3, 4] = np.nan
    with pytest.raises(NotOnDevice, match="column 4 has a missing value"):
        relief_weights(cuda_source(X), y, 2, Nearest(2))


def test_progress_and_ctrl_c():
    X, y = table(0, 20, 5)
    half, seen = 8 * 20 * 10, []

    def weigh(progress, panel_bytes):
        return relief_weights(
            cuda_source(X), y, 2, Nearest(2), progress=progress, panel_bytes=panel_bytes
        )

    assert not weigh(lambda *at: seen.append(at), half).interrupted
    assert seen[-1] == (20, 20)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # nothing is done yet
        weigh(stop, half)

    def stop_later(done, total):
        if done > total // 2:
            raise KeyboardInterrupt

    result = weigh(stop_later, half)
    assert result.interrupted
    assert result.n_rows == 10
    wanted = host.relief_weights(DenseSource(X), y, 2, Nearest(2), sample=np.arange(0, 20, 2))
    np.testing.assert_allclose(result.weights, wanted.weights, atol=1 / GRID)


# ---- sums over all pairs of rows ------------------------------------------------------------
def tiles(z):
    """Return rows by columns on the device, filled up with zeros."""
    out = np.zeros((len(z), padded_width(z.shape[1])))
    out[:, : z.shape[1]] = z
    return as_device(out)


@pytest.mark.parametrize(("m", "n", "p"), [(None, 5, 3), (None, 260, 70), (140, 131, 9), (3, 1, 1)])
def test_sums_of_all_pairs(m, n, p):
    random = np.random.default_rng(n)
    z = random.random((n, p))
    these = z if m is None else random.random((m, p))
    reach = random.random(p)
    apart = np.abs(these[:, None] - z[None])
    for reaches, expected in (
        (None, apart.sum(axis=2)),
        (reach, np.maximum(0, reach - apart).sum(axis=2)),
    ):
        sums = PairSums(n, p, m)
        filled = None if reaches is None else np.append(reaches, np.zeros(padded_width(p) - p))
        for _ in range(2):
            sums.add(
                tiles(z),
                None if m is None else tiles(these),
                None if filled is None else as_device(filled),
            )
        host_sums = to_host(sums.total())
        np.testing.assert_allclose(host_sums, 2 * expected, rtol=1e-13, atol=1e-13)
        if m is None:
            np.testing.assert_array_equal(host_sums, host_sums.T)
