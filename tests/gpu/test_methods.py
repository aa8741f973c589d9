"""Every method that computes on a device: the ranking of the CPU, wherever the table lies."""

import numpy as np
import pytest

import featly
from featly.basics.errors import DataError, DeviceError, SlowWarning
from featly.core.runtime import device_cuda
from featly.core.runtime.device_cuda import as_device, is_device_array, to_host
from featly.registry import METHODS, method_class

from .tables import LAYOUTS, lay_out, make_table

cupy = pytest.importorskip("cupy")

ON_DEVICE = sorted(name for name, method in METHODS.items() if method.on_device)
COUNTING = [name for name in ON_DEVICE if "discretizer" in method_class(name)().get_params()]
COUNTING.remove("redundancy-filter")


def method_of(name, **parameters):
    method = method_class(name)()
    if name in COUNTING:
        method.set_params(discretizer=None)
    if name == "arom":
        method.set_params(C=1000.0)
    if name == "pairwise":
        parameters = {f"ranker__{key}": value for key, value in parameters.items()}
    return method.set_params(**parameters)


def table(name, seed=0, layout="rows", n=40, p=150, classes=2):
    """Make levels for counting methods, numbers for others; duplicates and a constant."""
    X, y = make_table(seed, n, p, 3, n_classes=classes)
    if name not in COUNTING:
        noise = np.random.default_rng(seed).normal(size=X.shape)
        X = (X + 0.5 * noise).astype(np.float32)
        X[:, 3], X[:, 5] = X[:, 0], 1
    return lay_out(X, layout), y


def assert_same(ours, expected):
    np.testing.assert_array_equal(ours.order_, expected.order_)
    if hasattr(expected, "ranking_"):
        np.testing.assert_array_equal(ours.ranking_, expected.ranking_)
        np.testing.assert_allclose(ours.scores_, expected.scores_, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(ours.get_support(), expected.get_support())
    assert ours.target_kind_ == expected.target_kind_
    if expected.target_kind_ == "classes":
        assert ours.classes_.tolist() == expected.classes_.tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ON_DEVICE)
def test_the_ranking_of_the_cpu(name, layout):
    X, y = table(name, layout=layout)
    wanted = method_of(name, device="cpu").fit(X, y)
    assert_same(method_of(name, device="cuda").fit(X, y), wanted)
    on_device = method_of(name).fit(as_device(X), y)
    assert_same(on_device, wanted)
    assert_same(method_of(name, device="cuda").fit(as_device(X), as_device(y)), wanted)
    chosen = on_device.transform(as_device(X))
    assert is_device_array(chosen)
    np.testing.assert_array_equal(to_host(chosen), wanted.transform(X))


@pytest.mark.parametrize("name", [n for n in ON_DEVICE if METHODS[n].many_classes])
def test_many_classes(name):
    X, y = table(name, seed=1, classes=4)
    labels = np.array(list("dbca"))[y]
    wanted = method_of(name, device="cpu").fit(X, labels)
    assert_same(method_of(name, device="cuda").fit(X, labels), wanted)


@pytest.mark.parametrize("name", ["svm-rfe", "arom", "mkl-rfe"])
def test_methods_of_two_classes_by_pairs(name):
    X, y = table(name, seed=1, classes=3)
    wanted = method_of(name, device="cpu", multiclass="ovo").fit(X, y)
    assert_same(method_of(name, device="cuda", multiclass="ovo").fit(as_device(X), y), wanted)


@pytest.mark.parametrize("name", [n for n in ON_DEVICE if METHODS[n].missing])
def test_missing_values(name):
    X, y = table(name, seed=2)
    X = X.astype(np.float32)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    X[:, 3] = X[:, 0]
    wanted = method_of(name, device="cpu").fit(X, y)
    assert_same(method_of(name, device="auto").fit(as_device(X), y), wanted)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_whole_numbers(name):
    X, y = make_table(3, 30, 60, 5, dtype=np.int32)
    wanted = method_of(name, device="cpu").fit(X, y)
    assert_same(method_of(name, device="auto").fit(as_device(X), y), wanted)
    if name in COUNTING:
        assert_same(method_of(name, device="cuda").fit(as_device(X), y), wanted)


@pytest.mark.parametrize("name", COUNTING)
def test_numbers_are_cut_on_the_cpu_and_counted_on_the_device(name):
    X, y = table("f-test", seed=4)
    wanted = method_of(name, device="cpu", discretizer="mdlp").fit(X, y)
    for given in (X, as_device(X)):
        assert_same(method_of(name, device="cuda", discretizer="mdlp").fit(given, y), wanted)


@pytest.mark.parametrize("name", ON_DEVICE)
def test_torch_tensors(name):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no device")
    X, y = table(name, seed=5, p=40)
    wanted = method_of(name, device="cpu").fit(X, y)
    tensor, labels = torch.as_tensor(X, device="cuda"), torch.as_tensor(y, device="cuda")
    fitted_method = method_of(name).fit(tensor, labels)
    assert_same(fitted_method, wanted)
    chosen = fitted_method.transform(tensor)
    assert isinstance(chosen, torch.Tensor)
    np.testing.assert_array_equal(chosen.cpu().numpy(), wanted.transform(X))


@pytest.mark.parametrize("name", [n for n in ON_DEVICE if METHODS[n].streams and n != "pairwise"])
def test_a_table_larger_than_what_the_device_may_take(name, tmp_path):
    X, y = table(name, seed=6, n=60, p=40_000)
    extra = {"max_steps": 5} if "max_steps" in method_class(name)().get_params() else {}
    wanted = method_of(name, device="cpu", **extra).fit(X, y)
    assert_same(method_of(name, device="cuda", memory_limit=10**6, **extra).fit(X, y), wanted)
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    stored = featly.scan(tmp_path / "X.npy")
    assert_same(method_of(name, device="cuda", memory_limit=10**6, **extra).fit(stored, y), wanted)


@pytest.mark.parametrize("name", ["mrmr", "jmi", "information-gain", "relieff", "signal-to-noise"])
def test_priors_and_columns_to_keep(name):
    X, y = table(name, seed=7)
    schema = {"prior": {9: 3.0, 20: 8.0}, "keep": [30, 12]}
    wanted = method_of(name, device="cpu", schema=schema).fit(X, y)
    assert_same(method_of(name, device="cuda", schema=schema).fit(as_device(X), y), wanted)


OF_NUMBERS = [name for name in ON_DEVICE if "numbers" in METHODS[name].targets]


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_and_survival_times_as_the_target(name):
    X, y = table(name, seed=11)
    values = y + np.random.default_rng(11).normal(size=len(y))
    times = np.array(
        list(zip(y > 0, np.exp(values), strict=True)), [("event", "?"), ("time", "f8")]
    )
    for target in (values, times):
        wanted = method_of(name, device="cpu").fit(X, target)
        assert_same(method_of(name).fit(as_device(X), target), wanted)
        if name in COUNTING:
            assert_same(method_of(name, device="cuda").fit(X, target), wanted)
    if name == "f-test":
        with pytest.raises(DeviceError, match=r"numbers and survival times .* on the CPU"):
            method_of(name, device="cuda").fit(X, values)


@pytest.mark.parametrize("name", ["mrmr", "information-gain", "relieff", "signal-to-noise"])
def test_costs(name):
    X, y = table(name, seed=12)
    schema = {"costs": {9: 3.0, 20: 0.5, 4: 1.0}, "trade_off": 0.2}
    wanted = method_of(name, device="cpu", schema=schema).fit(X, y)
    assert_same(method_of(name, schema=schema).fit(as_device(X), y), wanted)


def test_categories_of_an_array_on_the_device():
    X, y = make_table(8, 40, 30, 3)
    schema = {"categorical": list(range(15))}
    for name in ("mrmr", "univariate-test", "relieff"):
        wanted = method_of(name, device="cpu", schema=schema).fit(X, y)
        assert_same(method_of(name, schema=schema).fit(as_device(X), y), wanted)
    with pytest.raises(DeviceError, match=r"categorical columns .* CPU: give device='auto' or"):
        featly.ReliefF(device="cuda", schema=schema).fit(as_device(X), y)


def test_a_method_of_the_cpu_takes_an_array_from_the_device():
    X, y = make_table(9, 40, 30, 3)
    for method in (featly.CFS(), featly.FCBF(), featly.FTest(device="cpu")):
        wanted = method.fit(X, y).order_.tolist()
        assert method.fit(as_device(X), y).order_.tolist() == wanted


@pytest.mark.parametrize(
    "method",
    [
        featly.SVMRFE(kernel="rbf"),
        featly.AROM(norm=1, C=1),
        featly.MRMR(measure="f"),
        featly.MRMR(measure="rank"),
        featly.UnivariateTest(continuous="kruskal-wallis"),
        featly.InformationGain(missing="spread"),
    ],
    ids=str,
)
def test_what_the_device_does_not_do_is_done_by_the_cpu(method):
    X, y = table("f-test", seed=10, p=40)
    if method._missing:
        X[4, 3] = np.nan
    wanted = method.set_params(device="cpu").fit(X, y)
    order, scores = wanted.order_.copy(), wanted.scores_.copy()
    refitted = method.set_params(device="auto").fit(as_device(X), y)
    np.testing.assert_array_equal(refitted.order_, order)
    np.testing.assert_allclose(refitted.scores_, scores, rtol=1e-9)


def test_bad_columns_are_named():
    X, y = table("f-test", seed=11, p=20)
    X[7, 4] = np.inf
    for method in (featly.FTest(), featly.ReliefF(), featly.SVMRFE(), featly.AROM()):
        with pytest.raises(DataError, match=r"column 'x4' has an infinite value \(inf\) in row 7"):
            method.fit(as_device(X), y)
    X[7, 4] = 0.25
    with pytest.raises(DataError, match=r"column 'x0' is continuous \(row 0"):
        featly.MRMR(discretizer=None).fit(as_device(X), y)
    X[5, 2] = np.nan
    with pytest.raises(DataError, match=r"column 'x2' has a missing value \(NaN\) in row 5"):
        featly.SVMRFE().fit(as_device(X), y)
    with pytest.raises(DataError, match="float16"):
        featly.FTest().fit(as_device(X).astype(np.float16), y)


def test_a_full_device_gives_way(monkeypatch):
    X, y = table("mrmr", seed=12)

    def full(*_, **__):
        raise DeviceError("the device has too little memory")

    monkeypatch.setattr("featly.core.greedy.search_cuda.PairInformation", full)
    wanted = featly.MRMR(discretizer=None, device="cpu").fit(X, y).order_
    with pytest.warns(SlowWarning, match="too little memory"):
        order = featly.MRMR(discretizer=None).fit(as_device(X), y).order_
    np.testing.assert_array_equal(order, wanted)
    with pytest.raises(DeviceError, match="too little memory"):
        featly.MRMR(discretizer=None, device="cuda").fit(as_device(X), y)


def test_ctrl_c_on_the_device_keeps_what_was_done():
    X, y = table("mrmr", seed=13)
    wanted = featly.MRMR(discretizer=None, device="cpu", max_steps=50).fit(X, y).order_[:7]

    def stop(done, total):
        if done == 7:
            raise KeyboardInterrupt

    method = featly.MRMR(discretizer=None, device="cuda", max_steps=50, verbose=stop)
    with pytest.raises(KeyboardInterrupt):
        method.fit(as_device(X), y)
    np.testing.assert_array_equal(method.order_[:7], wanted)
    assert method.interrupted_


def test_redundancy_from_the_device():
    X, _ = table("f-test", seed=14)
    wanted = featly.redundancy(X, threshold=0.3, device="cpu").pairs
    for given in (X, as_device(X)):
        pairs = featly.redundancy(given, threshold=0.3, device="cuda").pairs
        np.testing.assert_array_equal(pairs, wanted)


def test_device_memory_is_given_back():
    X, y = table("f-test", seed=15, p=5000)
    pool = cupy.get_default_memory_pool()
    featly.ReliefF(device="cuda").fit(X, y)
    before = pool.used_bytes()
    for _ in range(3):
        featly.ReliefF(device="cuda").fit(X, y)
    assert pool.used_bytes() <= before
    assert device_cuda.free_bytes() > 0
