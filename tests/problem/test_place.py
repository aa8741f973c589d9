"""Choice of the device, as far as it can be tested without a GPU; tests/gpu has the rest."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import featly
from featly.basics.errors import DeviceError, ParameterError
from featly.core.runtime import device_cuda
from featly.core.runtime.device_cuda import NotOnDevice
from featly.core.sources import DenseSource
from featly.problem.place import run_where_best, to_device
from featly.problem.problem import Problem
from featly.problem.target import Numbers
from featly.registry import METHODS, method_class
from featly.table.schema import Schema

ON_DEVICE = sorted(name for name, method in METHODS.items() if method.on_device)
ON_DISK = sorted(name for name, method in METHODS.items() if method.streams)


def table(n=20, p=12):
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    return random.integers(0, 3, (n, p)).astype(np.uint8) + (np.arange(p) == 0) * y[:, None], y


@pytest.fixture
def _without_device(monkeypatch):
    monkeypatch.setattr(
        device_cuda, "_unavailable_reason", lambda: ("no CUDA device is there: give device='cpu'",)
    )


@pytest.mark.parametrize("name", sorted(METHODS))
def test_registry_agrees_with_the_class_on_devices(name):
    method = method_class(name)()
    assert (method._streams, method._on_device) == (METHODS[name].streams, METHODS[name].on_device)
    if name == "pairwise":  # which has those of its ranker
        return
    assert ("device" in method.get_params()) == method._on_device
    assert ("memory_limit" in method.get_params()) == method._streams


@pytest.mark.usefixtures("_without_device")
@pytest.mark.parametrize("name", ON_DEVICE)
def test_without_a_device_cuda_is_an_error_and_auto_is_the_cpu(name):
    X, y = table()
    method = method_class(name)()
    inside = "ranker__" * (name == "pairwise")
    with pytest.raises(DeviceError, match=r"no CUDA device is there: give device='cpu'"):
        method.set_params(**{f"{inside}device": "cuda"}).fit(X, y)
    automatic = method.set_params(**{f"{inside}device": "auto"}).fit(X, y).order_.tolist()
    assert automatic == method.set_params(**{f"{inside}device": "cpu"}).fit(X, y).order_.tolist()


def test_wrong_devices():
    X, y = table()
    for value in ("gpu", None, 0, "cuda:0"):
        with pytest.raises(ParameterError, match=r"device=.*: give 'auto', 'cpu' or 'cuda'"):
            featly.FTest(device=value).fit(X, y)


class Method:
    """A method that returns where it was computed."""

    _on_device, _streams = True, True

    def _device_form(self):
        return "own"

    def _operations(self, n_rows, n_features):
        return 1e12 * n_rows

    def run(self, device, fails=None):
        X, y = table()
        problem = featly.FTest(device=device)._read(X, y)

        def compute(problem):
            if problem.on_device and fails is not None:
                raise fails
            return "GPU" if problem.on_device else "CPU"

        return run_where_best(self, problem, compute, integers=False)


@pytest.fixture
def _with_device(monkeypatch):
    monkeypatch.setattr("featly.problem.place.xp", lambda: None)
    monkeypatch.setattr("featly.problem.place.is_available", lambda: True)


@pytest.mark.usefixtures("_with_device")
def test_computation_for_the_cpu_only():
    method = Method()
    assert [method.run(device) for device in ("auto", "cpu", "cuda")] == ["GPU", "CPU", "GPU"]
    assert method.run("auto", NotOnDevice("texts are compared on the CPU")) == "CPU"
    message = r"^texts are .* CPU: give device='auto' or device='cpu'$"
    with pytest.raises(DeviceError, match=message):
        method.run("cuda", NotOnDevice("texts are compared on the CPU"))


@pytest.mark.usefixtures("_with_device")
def test_a_full_device_is_replaced_by_the_cpu_with_a_warning():
    method, full = Method(), DeviceError("the device has too little memory")
    with pytest.warns(featly.SlowWarning, match=r"too little memory\. It is done on the CPU"):
        assert method.run("auto", full) == "CPU"
    with pytest.raises(DeviceError, match="too little memory"):
        method.run("cuda", full)


@pytest.mark.usefixtures("_with_device")
def test_little_work_stays_on_the_cpu(monkeypatch):
    method = Method()
    monkeypatch.setattr(method, "_operations", lambda n, p: 1e6, raising=False)
    assert method.run("auto") == "CPU"


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
def test_parameters_for_the_cpu_only(method, reason):
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
def test_memory_limit_is_documented(name):
    if name == "pairwise":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "memory_limit : int, str or None" in method_class(name).__doc__


def test_a_target_that_the_device_does_not_take_is_told_before_the_table_is_copied():
    X = np.random.default_rng(0).normal(size=(20, 3))
    source = DenseSource(X)
    columns = Schema().resolve(["a", "b", "c"], source.kinds)
    problem = Problem(source, columns, Numbers(X[:, 0]))
    with pytest.raises(NotOnDevice, match="numbers and survival times"):
        to_device(problem, "numbers")
    assert to_device(problem, "own").on_device
