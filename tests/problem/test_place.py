"""The device of methods, as far as that can be told without a GPU; tests/gpu has the rest."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import featly
from featly.basics.errors import DeviceError, ParameterError
from featly.core.runtime import device_cuda
from featly.core.runtime.device_cuda import NotOnDevice
from featly.problem.place import run_where_best
from featly.registry import METHODS, method_class

THERE = sorted(name for name, method in METHODS.items() if method.on_device)
ON_DISK = sorted(name for name, method in METHODS.items() if method.streams)


def table(n=20, p=12):
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    return random.integers(0, 3, (n, p)).astype(np.uint8) + (np.arange(p) == 0) * y[:, None], y


@pytest.fixture
def _without_device(monkeypatch):
    monkeypatch.setattr(
        device_cuda, "_unavailable_reason", lambda: "no CUDA device is there: give device='cpu'"
    )


@pytest.mark.parametrize("name", sorted(METHODS))
def test_the_registry_tells_where_a_method_computes(name):
    method = method_class(name)()
    assert (method._streams, method._on_device) == (METHODS[name].streams, METHODS[name].on_device)
    if name == "pairwise":  # which has those of its ranker
        return
    assert ("device" in method.get_params()) == method._on_device
    assert ("memory_limit" in method.get_params()) == method._streams


@pytest.mark.usefixtures("_without_device")
@pytest.mark.parametrize("name", THERE)
def test_without_a_device_cuda_is_an_error_and_auto_is_the_cpu(name):
    X, y = table()
    method = method_class(name)()
    inside = "ranker__" * (name == "pairwise")
    with pytest.raises(DeviceError, match=r"no CUDA device is there: give device='cpu'"):
        method.set_params(**{f"{inside}device": "cuda"}).fit(X, y)
    automatic = method.set_params(**{f"{inside}device": "auto"}).fit(X, y).order_.tolist()
    assert automatic == method.set_params(**{f"{inside}device": "cpu"}).fit(X, y).order_.tolist()


def test_a_device_that_is_none():
    X, y = table()
    for value in ("gpu", None, 0, "cuda:0"):
        with pytest.raises(ParameterError, match=r"device=.*: give 'auto', 'cpu' or 'cuda'"):
            featly.FTest(device=value).fit(X, y)


class Method:
    """A method that notes where it was asked to compute."""

    _on_device, _streams = True, True

    def _device_form(self):
        return "own"

    def _operations(self, n_rows, n_features):
        return 1e12 * n_rows

    def _read(self, asked, fails=None):
        X, y = table()
        problem = featly.FTest(device=asked)._read(X, y)

        def compute(problem):
            if problem.on_device and fails is not None:
                raise fails
            return "there" if problem.on_device else "here"

        return run_where_best(self, problem, compute, integers=False)


@pytest.fixture
def _with_device(monkeypatch):
    monkeypatch.setattr("featly.problem.place.xp", lambda: None)
    monkeypatch.setattr("featly.problem.place.is_available", lambda: True)


@pytest.mark.usefixtures("_with_device")
def test_what_only_the_cpu_does_is_done_there_unless_a_device_is_demanded():
    method = Method()
    assert [method._read(asked) for asked in ("auto", "cpu", "cuda")] == ["there", "here", "there"]
    assert method._read("auto", NotOnDevice("gaps are compared on the CPU")) == "here"
    with pytest.raises(DeviceError, match=r"^gaps are .* CPU: give device='auto' or device='cpu'$"):
        method._read("cuda", NotOnDevice("gaps are compared on the CPU"))


@pytest.mark.usefixtures("_with_device")
def test_a_full_device_gives_way_to_the_cpu_with_a_word():
    method, full = Method(), DeviceError("the device has too little memory")
    with pytest.warns(featly.SlowWarning, match=r"too little memory\. It is done on the CPU"):
        assert method._read("auto", full) == "here"
    with pytest.raises(DeviceError, match="too little memory"):
        method._read("cuda", full)


@pytest.mark.usefixtures("_with_device")
def test_little_work_stays_where_it_is(monkeypatch):
    method = Method()
    monkeypatch.setattr(method, "_operations", lambda n, p: 1e6, raising=False)
    assert method._read("auto") == "here"


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (featly.SVMRFE(kernel="rbf"), "kernel='rbf'"),
        (featly.AROM(norm=1), "norm=1"),
        (featly.MRMR(measure="f"), "measure='f'"),
        (featly.JMI(cache="packed"), "cache='packed'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_parameters_that_are_for_the_cpu_say_so(method, reason):
    with pytest.raises(NotOnDevice, match=reason):
        method._device_form()


def test_arrays_need_no_library_of_frames():
    """Arrays are ranked without polars, pandas or pyarrow."""
    code = """
import sys
for name in ("polars", "pandas", "pyarrow", "typer", "rich", "matplotlib"):
    sys.modules[name] = None
import numpy as np, featly
X = np.random.default_rng(0).integers(0, 3, (40, 30)).astype(np.uint8)
y = (X[:, 3] > 0).astype(int)
for name in ("FTest", "InformationGain", "MRMR", "ReliefF", "SVMRFE", "RedundancyFilter"):
    assert 3 in getattr(featly, name)().fit(X, y).order_[:3], name
print(featly.redundancy(X.astype(float), threshold=0.99).pairs)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ON_DISK)
def test_the_parameters_are_told(name):
    if name == "pairwise":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "memory_limit : int, str or None" in method_class(name).__doc__
