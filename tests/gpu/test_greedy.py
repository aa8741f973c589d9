import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.greedy import search as cpu
from featly.core.ranking.preference import Preference
from featly.filters.cmi import CMI
from featly.filters.cmim import CMIM
from featly.filters.disr import DISR
from featly.filters.icap import ICAP
from featly.filters.information_criterion import InformationCriterion
from featly.filters.jmi import JMI
from featly.filters.mifs import MIFS
from featly.filters.mrmr import MRMR

from .tables import LAYOUTS, codes_on_host, lay_out, make_table

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
    "informative fragments": CMIM(include_relevance=False),
    "disr": DISR(),
    "icap": ICAP(),
    "cmi": CMI(),
    "weighted": InformationCriterion(beta=0.3, gamma=2.0),
}


def search_both(method, X, y, n_classes, codes, n_steps=12, start=(), prior=None, **options):
    """Search on the CPU and on the device, and return both results and their terms."""
    wants = {"by_class": method._by_class, "redundancy": method._redundancy}
    preference = Preference(np.array(start, np.int64), prior)
    terms = cpu.PairInformation(codes_on_host(X), y, n_classes, **wants)
    expected = cpu.forward_search(method._criterion(terms), n_steps, preference)
    ours = search_cuda.PairInformation(codes, y, n_classes, **wants, **options)
    result = search_cuda.forward_search(method._criterion(ours), n_steps, preference)
    return terms, expected, ours, result


def assert_same(terms, expected, ours, result, n_start=0, prior=None):
    assert (ours.scale, ours.digits) == (terms.scale, terms.digits)
    assert ours.class_entropy == terms.class_entropy
    np.testing.assert_array_equal(ours.bits, terms.bits)
    for name in ("relevance", "entropy", "varies"):
        np.testing.assert_array_equal(to_host(getattr(ours, name)), getattr(terms, name))
    for name in ("order", "step", "criterion", "interrupted"):
        np.testing.assert_array_equal(getattr(result, name), getattr(expected, name))
    np.testing.assert_array_equal(result.order[result.ranking - 1], np.arange(len(result.order)))
    weighted = cpu.apply_prior(expected.criterion, prior)
    free = expected.order[n_start:]
    scores = weighted.copy()
    scores[free] = np.minimum.accumulate(weighted[free])
    np.testing.assert_array_equal(result.scores, scores)


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
    X, y = make_table(seed, n, p, levels, dtype, missing)
    codes = CudaCodes.from_array(as_device(lay_out(X, layout)))
    assert_same(*search_both(METHODS[name], X, y, 2, codes))


@pytest.mark.parametrize("name", METHODS)
def test_every_criterion(name):
    X, y = make_table(1, 120, 400, 3, n_classes=3)
    codes = CudaCodes.from_array(as_device(X))
    assert_same(*search_both(METHODS[name], X, y, 3, codes))


@pytest.mark.parametrize("name", ["mrmr", "jmi", "disr", "mifs-far"])
def test_columns_to_start_with_and_a_prior(name):
    X, y = make_table(2, 90, 200, 3)
    prior = np.ones(200)
    prior[[11, 12, 60]] = 3.0, 1.5, 1e6
    codes = CudaCodes.from_array(as_device(X))
    start = (7, 5)  # one of them is constant
    assert_same(*search_both(METHODS[name], X, y, 2, codes, start=start, prior=prior), 2, prior)


@pytest.mark.parametrize("name", ["mrmr", "cmim"])
def test_columns_of_few_and_of_many_levels_side_by_side(name):
    X, y = make_table(3, 150, 260, 3)
    random = np.random.default_rng(3)
    for first, levels in ((0, 2), (1, 4), (2, 6), (3, 8), (4, 9), (5, 10), (6, 60), (7, 250)):
        # determined by the class, so that some of them are chosen
        X[:, first::9] = (random.integers(0, levels, X[:, first::9].shape) + y[:, None]) % levels
    for layout in LAYOUTS:
        codes = CudaCodes.from_array(as_device(lay_out(X, layout)))
        assert_same(*search_both(METHODS[name], X, y, 2, codes, n_steps=20))


@pytest.mark.parametrize("name", ["mrmr", "jmi"])
def test_more_than_the_device_holds(name):
    X, y = make_table(4, 100, 700, 3)
    X[:, 100:140] = np.random.default_rng(4).integers(0, 60, (100, 40))
    for codes in (
        CudaCodes.from_array(as_device(X), block_bytes=100 * 128),
        CudaCodes.from_array(X, block_bytes=100 * 256),
        CudaCodes.from_codes(codes_on_host(X), block_bytes=100 * 128),
    ):
        for memory in (0, 10_000):
            outcome = search_both(METHODS[name], X, y, 2, codes, memory=memory)
            assert_same(*outcome)
            store = outcome[2]._store
            assert sum(map(store.is_on_host, range(len(store.parts)))) >= 2


@pytest.mark.parametrize("name", ["mrmr", "jmi"])
@pytest.mark.parametrize("n_classes", [7, 40])
def test_many_small_classes(name, n_classes):
    X, y = make_table(5, 80, 150, 3, n_classes=n_classes)
    assert_same(*search_both(METHODS[name], X, y, n_classes, CudaCodes.from_array(as_device(X))))


@pytest.mark.parametrize("n", [2500, 40_000])
def test_more_rows_than_shared_memory_holds(n):
    X, y = make_table(6, n, 40, 3)
    for name in ("mrmr", "jmi"):
        assert_same(
            *search_both(METHODS[name], X, y, 2, CudaCodes.from_array(as_device(X)), n_steps=3)
        )


def test_a_table_of_nothing_but_constants():
    X, y = np.ones((10, 5), np.uint8), np.arange(10) % 2
    assert_same(*search_both(METHODS["mrmr"], X, y, 2, CudaCodes.from_array(as_device(X))))


def test_ctrl_c_keeps_what_was_chosen():
    X, y = make_table(7, 60, 50, 3)

    def stop(step, _):
        if step == 3:
            raise KeyboardInterrupt

    terms = search_cuda.PairInformation(CudaCodes.from_array(as_device(X)), y, 2, by_class=False)
    start = Preference(np.array([4, 2, 9, 8]))
    result = search_cuda.forward_search(METHODS["mrmr"]._criterion(terms), 5, start, stop)
    theirs = cpu.PairInformation(codes_on_host(X), y, 2, by_class=False)
    expected = cpu.forward_search(METHODS["mrmr"]._criterion(theirs), 5, start, stop)
    assert result.interrupted
    np.testing.assert_array_equal(result.order, expected.order)
    np.testing.assert_array_equal(result.step, expected.step)


def test_spread_missing_values_are_left_to_the_cpu():
    X, y = make_table(8, 60, 50, 3, "float64", 0.1)
    wants = {"by_class": False, "spread": True}
    with pytest.raises(NotOnDevice, match="missing='spread'"):
        search_cuda.PairInformation(CudaCodes.from_array(as_device(X)), y, 2, **wants)
    X, y = make_table(8, 60, 50, 3)
    terms = search_cuda.PairInformation(CudaCodes.from_array(as_device(X)), y, 2, **wants)
    expected = cpu.PairInformation(codes_on_host(X), y, 2, **wants)
    np.testing.assert_array_equal(to_host(terms.relevance), expected.relevance)
