import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics.errors import DeviceError
from featly.core.counts import contingency
from featly.core.counts import entropy as information
from featly.core.counts.codes import DenseCodes
from featly.core.counts.whole_numbers import NotWholeError

from .tables import LAYOUTS, codes_on_host, lay_out, make_table

cupy = pytest.importorskip("cupy")

from featly.core.counts.codes_cuda import CudaCodes  # noqa: E402
from featly.core.counts.entropy_cuda import chi_squared, class_information  # noqa: E402
from featly.core.runtime import device_cuda  # noqa: E402
from featly.core.runtime.device_cuda import NotOnDevice, as_device, to_host  # noqa: E402

KINDS = ("uint8", "int8", "int16", "int64", "float32", "float64")
few = settings(max_examples=12, deadline=None)


def same_counts(device_tables, host_tables):
    """Assert equal tables; levels that no row has may be left out."""
    assert len(device_tables) == len(host_tables)
    for i in range(len(device_tables)):
        ours, theirs = device_tables.table(i), host_tables.table(i)
        np.testing.assert_array_equal(ours[0], theirs[0])
        ours, theirs = (table[1:][table[1:].any(axis=1)] for table in (ours, theirs))
        np.testing.assert_array_equal(ours, theirs)


def same_answers(codes, host_codes, y, n_classes):
    """Assert that counts, information and statistics are those of the CPU, to the bit."""
    tables = host_codes.tables(y, n_classes)
    same_counts(codes.tables(y, n_classes), tables)
    ours = class_information(codes, y, n_classes)
    theirs = information.class_information(tables, len(y))
    np.testing.assert_array_equal(ours.mutual, theirs.mutual)
    np.testing.assert_array_equal(ours.entropy, theirs.entropy)
    np.testing.assert_array_equal(ours.class_entropy, theirs.class_entropy)
    np.testing.assert_array_equal(ours.uncertainty(), theirs.uncertainty())
    np.testing.assert_array_equal(ours.ratio(), theirs.ratio())
    for a, b in zip(chi_squared(codes, y, n_classes), contingency.chi_squared(tables), strict=True):
        np.testing.assert_array_equal(a, b)


@few
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 150),
    p=st.sampled_from((1, 3, 130)),
    levels=st.sampled_from((2, 3, 5, 9, 12, 200)),
    dtype=st.sampled_from(KINDS),
    layout=st.sampled_from(LAYOUTS),
    n_classes=st.integers(2, 3),
)
def test_the_same_counts_as_on_the_cpu(seed, n, p, levels, dtype, layout, n_classes):
    n_classes = min(n_classes, n)
    levels = min(levels, 126) if dtype == "int8" else levels
    missing = 0.1 if dtype.startswith("float") else 0.0
    X, y = make_table(seed, n, p, levels, dtype, missing, n_classes)
    codes = CudaCodes.from_array(as_device(lay_out(X, layout)))
    same_answers(codes, codes_on_host(X), y, n_classes)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_row_a_class_of_its_own(layout):
    X, _ = make_table(1, 70, 140, 4)
    y = np.random.default_rng(1).permutation(70)
    same_answers(CudaCodes.from_array(as_device(lay_out(X, layout))), codes_on_host(X), y, 70)


@pytest.mark.parametrize("columns", [slice(0, 256), slice(1, 203), slice(0, 200, 3)])
def test_views_of_a_table(columns):
    X, y = make_table(2, 90, 256, 3)
    same_answers(
        CudaCodes.from_array(as_device(X)[:, columns]), codes_on_host(X[:, columns].copy()), y, 2
    )
    turned = as_device(np.asfortranarray(X))[:, columns]
    same_answers(CudaCodes.from_array(turned), codes_on_host(X[:, columns].copy()), y, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_table_on_the_host_comes_in_blocks(layout):
    X, y = make_table(3, 80, 700, 4)
    codes = CudaCodes.from_array(lay_out(X, layout), block_bytes=80 * 128)
    assert len([block.first for block in codes.blocks()]) == 6
    same_answers(codes, codes_on_host(X), y, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_codes_of_the_host(layout):
    X, y = make_table(4, 80, 300, 5)
    codes = codes_on_host(lay_out(X, layout))
    same_answers(CudaCodes.from_codes(codes, block_bytes=80 * 128), codes, y, 2)
    cut = np.random.default_rng(0).integers(0, 4, (300, 80)).astype(np.uint8)
    cut = DenseCodes(cut, np.full(300, 6))
    same_answers(CudaCodes.from_codes(cut, block_bytes=80 * 128), cut, y, 2)
    many = DenseCodes(np.ones((1, 80), np.uint16), np.array([300]))
    with pytest.raises(NotOnDevice, match="254 levels"):
        list(CudaCodes.from_codes(many).blocks())


def test_truth_values_are_levels():
    X, y = make_table(5, 60, 40, 2)
    same_answers(CudaCodes.from_array(as_device(X.astype(bool))), codes_on_host(X), y, 2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("value", [0.5, np.inf])
def test_a_number_that_is_not_whole_is_named(layout, value):
    X = np.zeros((40, 300), np.float32)
    X[7, 250], X[3, 260], X[9, 250] = value, 0.25, value
    with pytest.raises(NotWholeError) as expected:
        codes_on_host(X)
    with pytest.raises(NotWholeError) as caught:
        CudaCodes.from_array(as_device(lay_out(X, layout))).n_levels  # noqa: B018
    for name in ("feature", "row", "value"):
        assert getattr(caught.value, name) == getattr(expected.value, name)
    assert (caught.value.feature, caught.value.row) == (250, 7)


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float64"])
def test_a_column_that_spans_too_much_is_left_to_the_cpu(dtype):
    X = np.zeros((9, 3), dtype)
    X[4, 1] = 254
    with pytest.raises(NotOnDevice, match="column 1 spans"):
        CudaCodes.from_array(as_device(X)).n_levels  # noqa: B018
    X[4, 1] = 253
    assert CudaCodes.from_array(as_device(X)).n_levels.tolist() == [1, 254, 1]


def test_text_and_complex_numbers_stay_on_the_cpu():
    with pytest.raises(NotOnDevice, match="complex128"):
        CudaCodes.from_array(np.zeros((2, 2), complex))
    with pytest.raises(DeviceError, match="give numbers"):
        as_device(np.array(["a"]))


@pytest.mark.parametrize("shape", [(3_000_001,), (700, 3011), (2, 3, 5), ()])
def test_arrays_go_there_and_come_back(shape, monkeypatch):
    monkeypatch.setattr(device_cuda, "STAGE", 1 << 20)
    array = np.random.default_rng(0).random(shape, np.float32)
    for given_array in (array, array.T, array[::2] if array.ndim else array):
        on_device = as_device(given_array)
        assert on_device.dtype == given_array.dtype
        np.testing.assert_array_equal(to_host(on_device), given_array)
        np.testing.assert_array_equal(to_host(on_device.T), given_array.T)


def test_a_tensor_of_torch_is_not_copied():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no device")
    for dtype in (torch.uint8, torch.bool, torch.float32):
        tensor = torch.ones((4, 6), dtype=dtype, device="cuda")
        array = as_device(tensor)
        assert device_cuda.is_device_array(tensor)
        assert array.data.ptr == tensor.data_ptr()
        assert to_host(array).tolist() == tensor.cpu().numpy().tolist()
    assert not device_cuda.is_device_array(torch.ones(3))


def test_too_little_memory_says_how_much_there_is():
    pool = cupy.get_default_memory_pool()
    before = pool.get_limit()
    pool.free_all_blocks()
    try:
        pool.set_limit(size=pool.used_bytes() + (1 << 20))
        assert device_cuda.free_bytes() <= 1 << 20
        with pytest.raises(DeviceError, match=r"0\.0168 GB are needed.*free: give memory_limit"):
            as_device(np.zeros(1 << 24, np.uint8))
    finally:
        pool.set_limit(size=before)


def test_no_cupy_and_no_device_say_what_to_do(monkeypatch):
    for reason in ("device='cuda' needs CuPy: pip install 'featly[gpu]'", "no CUDA device"):
        monkeypatch.setattr(device_cuda, "_unavailable_reason", lambda reason=reason: (reason,))
        assert not device_cuda.is_available()
        with pytest.raises(DeviceError, match=reason.split(":")[0]):
            device_cuda.xp()
