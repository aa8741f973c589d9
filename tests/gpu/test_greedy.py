import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.greedy import search as cpu
from featly.filters.cmi import CMI
from featly.filters.cmim import CMIM
from featly.filters.disr import DISR
from featly.filters.icap import ICAP
from featly.filters.information_criterion import InformationCriterion
from featly.filters.jmi import JMI
from featly.filters.mifs import MIFS
from featly.filters.mrmr import MRMR

from .tables import LAYOUTS, laid, made, on_host

cupy = pytest.importorskip("cupy")

from featly.core.counts.codes_cuda import CudaCodes  # noqa: E402
from featly.core.greedy import search_cuda  # noqa: E402
from featly.core.runtime.device_cuda import NotOnDevice, as_device, to_host  # noqa: E402

METHODS = {
    "mrmr": MRMR(),
    "quotient": MRMR(form="quotient"),
    "mifs": MIFS(beta=0.7),
    "mifs-far": MIFS(beta=40.5),
    "jmi": JMI(),
    "cmim": CMIM(),
    "disr": DISR(),
    "icap": ICAP(),
    "cmi": CMI(),
    "weighted": InformationCriterion(beta=0.3, gamma=2.0),
}


def searched(method, X, y, n_classes, codes, n_steps=12, start=(), prior=None, **options):
    """The search on the CPU and on the device, and their terms."""
    wants = {"by_class": method._by_class, "redundancy": method._redundancy}
    start = np.array(start, np.int64)
    terms = cpu.PairInformation(on_host(X), y, n_classes, **wants)
    wanted = cpu.forward(method._criterion(terms), n_steps, start, None, prior)
    ours = search_cuda.PairInformation(codes, y, n_classes, **wants, **options)
    found = search_cuda.forward(method._criterion(ours), n_steps, start, None, prior)
    return terms, wanted, ours, found


def same(terms, wanted, ours, found, n_start=0, prior=None):
    assert (ours.scale, ours.digits) == (terms.scale, terms.digits)
    assert ours.class_entropy == terms.class_entropy
    np.testing.assert_array_equal(ours.bits, terms.bits)
    for name in ("relevance", "entropy", "varies"):
        np.testing.assert_array_equal(to_host(getattr(ours, name)), getattr(terms, name))
    for name in ("order", "step", "criterion", "interrupted"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    np.testing.assert_array_equal(found.order[found.ranking - 1], np.arange(len(found.order)))
    weighted = cpu.favoured(wanted.criterion, prior)
    free = wanted.order[n_start:]
    scores = weighted.copy()
    scores[free] = np.minimum.accumulate(weighted[free])
    np.testing.assert_array_equal(found.scores, scores)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 140),
    p=st.sampled_from((2, 131, 300)),
    levels=st.sampled_from((2, 3, 4, 12)),
    dtype=st.sampled_from(("uint8", "int8", "float32")),
    layout=st.sampled_from(LAYOUTS),
    name=st.sampled_from(("mrmr", "jmi")),
)
def test_the_search_of_the_cpu(seed, n, p, levels, dtype, layout, name):
    missing = 0.05 if dtype == "float32" else 0.0
    X, y = made(seed, n, p, levels, dtype, missing)
    codes = CudaCodes.of(as_device(laid(X, layout)))
    same(*searched(METHODS[name], X, y, 2, codes))


@pytest.mark.parametrize("name", METHODS)
def test_every_criterion(name):
    X, y = made(1, 120, 400, 3, n_classes=3)
    codes = CudaCodes.of(as_device(X))
    same(*searched(METHODS[name], X, y, 3, codes))


@pytest.mark.parametrize("name", ["mrmr", "jmi", "disr", "mifs-far"])
def test_columns_to_start_with_and_a_prior(name):
    X, y = made(2, 90, 200, 3)
    prior = np.ones(200)
    prior[[11, 12, 60]] = 3.0, 1.5, 1e6
    codes = CudaCodes.of(as_device(X))
    start = (7, 5)  # one of them is constant
    same(*searched(METHODS[name], X, y, 2, codes, start=start, prior=prior), 2, prior)


@pytest.mark.parametrize("name", ["mrmr", "cmim"])
def test_columns_of_few_and_of_many_levels_side_by_side(name):
    X, y = made(3, 150, 260, 3)
    random = np.random.default_rng(3)
    for first, levels in ((0, 2), (1, 4), (2, 6), (3, 8), (4, 9), (5, 10), (6, 60), (7, 250)):
        # told by the class, so that some of them are chosen
        X[:, first::9] = (random.integers(0, levels, X[:, first::9].shape) + y[:, None]) % levels
    for layout in LAYOUTS:
        codes = CudaCodes.of(as_device(laid(X, layout)))
        same(*searched(METHODS[name], X, y, 2, codes, n_steps=20))


@pytest.mark.parametrize("name", ["mrmr", "jmi"])
def test_more_than_the_device_holds(name):
    X, y = made(4, 100, 700, 3)
    X[:, 100:140] = np.random.default_rng(4).integers(0, 60, (100, 40))
    for codes in (
        CudaCodes.of(as_device(X), block_bytes=100 * 128),
        CudaCodes.of(X, block_bytes=100 * 256),
        CudaCodes.of_codes(on_host(X), block_bytes=100 * 128),
    ):
        for memory in (0, 10_000):
            outcome = searched(METHODS[name], X, y, 2, codes, memory=memory)
            same(*outcome)
            store = outcome[2]._store
            assert sum(map(store.is_away, range(len(store.parts)))) >= 2


@pytest.mark.parametrize("name", ["mrmr", "jmi"])
@pytest.mark.parametrize("n_classes", [7, 40])
def test_many_small_classes(name, n_classes):
    X, y = made(5, 80, 150, 3, n_classes=n_classes)
    same(*searched(METHODS[name], X, y, n_classes, CudaCodes.of(as_device(X))))


@pytest.mark.parametrize("n", [2500, 40_000])
def test_more_rows_than_shared_memory_holds(n):
    X, y = made(6, n, 40, 3)
    for name in ("mrmr", "jmi"):
        same(*searched(METHODS[name], X, y, 2, CudaCodes.of(as_device(X)), n_steps=3))


def test_a_table_of_nothing_but_constants():
    X, y = np.ones((10, 5), np.uint8), np.arange(10) % 2
    same(*searched(METHODS["mrmr"], X, y, 2, CudaCodes.of(as_device(X))))


def test_ctrl_c_keeps_what_was_chosen():
    X, y = made(7, 60, 50, 3)

    def stop(step, _):
        if step == 3:
            raise KeyboardInterrupt

    terms = search_cuda.PairInformation(CudaCodes.of(as_device(X)), y, 2, by_class=False)
    start = np.array([4, 2, 9, 8])
    found = search_cuda.forward(METHODS["mrmr"]._criterion(terms), 5, start, stop)
    theirs = cpu.PairInformation(on_host(X), y, 2, by_class=False)
    wanted = cpu.forward(METHODS["mrmr"]._criterion(theirs), 5, start, stop)
    assert found.interrupted
    np.testing.assert_array_equal(found.order, wanted.order)
    np.testing.assert_array_equal(found.step, wanted.step)


def test_spread_missing_values_are_left_to_the_cpu():
    X, y = made(8, 60, 50, 3, "float64", 0.1)
    wants = {"by_class": False, "spread": True}
    with pytest.raises(NotOnDevice, match="missing='spread'"):
        search_cuda.PairInformation(CudaCodes.of(as_device(X)), y, 2, **wants)
    X, y = made(8, 60, 50, 3)
    found = search_cuda.PairInformation(CudaCodes.of(as_device(X)), y, 2, **wants)
    wanted = cpu.PairInformation(on_host(X), y, 2, **wants)
    np.testing.assert_array_equal(to_host(found.relevance), wanted.relevance)
