"""Choice of the device, as far as it can be tested without a GPU; tests/gpu has the rest."""

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

import featly
from featly.basics.errors import DeviceError, ParameterError
from featly.core.runtime import device_cuda
from featly.core.runtime.device_cuda import NotOnDevice
from featly.core.runtime.question import DISK, GPU, MEMORY, find_unanswered, question
from featly.core.sources import source_cuda
from featly.core.sources.lent_cuda import LentSource
from featly.core.sources.questions import moments
from featly.problem.place import run_where_best, to_device
from featly.registry import METHODS, method_class
from tests.all_methods.small_blocks import on_disk, small_blocks

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


class DeviceTable(LentSource):
    """A table on the device, as far as a test without a device can tell."""


@question(gpu=True)
def asked_anywhere(source):
    """Return where the answer was computed."""
    return source.lies


@question
def asked_on_the_host(source):
    """Return where the answer was computed."""
    return source.lies


@question(disk=False, gpu=True)
def asked_in_memory(source):
    """Return where the answer was computed."""
    return source.lies


def run(device, fails=None, operations=1e12, asked=asked_anywhere, source=None):
    X, y = table()
    problem = featly.FTest(device=device)._read(X, y)
    problem = problem if source is None else replace(problem, source=source)

    def compute(problem):
        place = asked(problem.source)
        if place == GPU and fails is not None:
            raise fails
        return place

    return run_where_best(
        (asked,),
        problem,
        compute,
        name="Method",
        operations=lambda n_rows, n_features: operations,
        integers=False,
    )


@pytest.fixture
def _with_device(monkeypatch):
    monkeypatch.setattr("featly.problem.place.xp", lambda: None)
    monkeypatch.setattr("featly.problem.place.is_available", lambda: True)
    monkeypatch.setattr(
        "featly.problem.place.to_device",
        lambda problem, questions: replace(problem, source=DeviceTable(problem.source)),
    )


@pytest.mark.usefixtures("_with_device")
def test_computation_for_the_cpu_only():
    assert [run(device) for device in ("auto", "cpu", "cuda")] == [GPU, MEMORY, GPU]
    assert run("auto", NotOnDevice("texts are compared on the CPU")) == MEMORY
    message = r"^texts are .* CPU: give device='auto' or device='cpu'$"
    with pytest.raises(DeviceError, match=message):
        run("cuda", NotOnDevice("texts are compared on the CPU"))


@pytest.mark.usefixtures("_with_device")
def test_a_question_that_no_device_answers():
    assert run("auto", asked=asked_on_the_host) == MEMORY
    message = "^Method asks here for asked on the host, which only the CPU computes: give device="
    with pytest.raises(DeviceError, match=message):
        run("cuda", asked=asked_on_the_host)


@pytest.mark.usefixtures("_with_device")
def test_a_full_device_is_replaced_by_the_cpu_with_a_warning():
    full = DeviceError("the device has too little memory")
    with pytest.warns(featly.SlowWarning, match=r"too little memory\. It is done on the CPU"):
        assert run("auto", full) == MEMORY
    with pytest.raises(DeviceError, match="too little memory"):
        run("cuda", full)


@pytest.mark.usefixtures("_with_device")
def test_little_work_stays_on_the_cpu():
    assert run("auto", operations=1e6) == MEMORY


def test_a_table_on_disk_is_read_as_the_questions_allow(tmp_path):
    X, y = table()
    stored = on_disk(tmp_path, X.astype(np.float64))
    with small_blocks():  # nothing may be held in memory
        source = featly.FTest()._read(stored, y).source
        assert run("cpu", source=source) == DISK
        with pytest.raises(
            featly.DataError, match=r"Method asks for asked in memory and needs it whole.* FTest"
        ):
            run("cpu", asked=asked_in_memory, source=source)
    assert run("cpu", asked=asked_in_memory, source=source) == MEMORY


def test_weights_of_rows_are_for_the_cpu():
    X, y = table()
    problem = featly.FTest(device="cuda")._read(X, y, np.arange(len(y)) + 1.0)
    with pytest.raises(DeviceError, match=r"no CUDA device|CuPy|weighted moments"):
        run_where_best(
            (moments,),
            problem,
            lambda problem: problem.source.lies,
            name="FTest",
            operations=lambda n, p: 1.0,
            integers=False,
        )


@pytest.mark.parametrize(
    ("method", "target", "asked"),
    [
        (featly.SVMRFE(kernel="rbf"), "classes", "single_columns"),
        (featly.AROM(norm=1), "classes", "l1_margin"),
        (featly.MRMR(measure="f"), "classes", "correlations"),
        (featly.JMI(cache="packed"), "classes", "cached_pair_information"),
        (featly.RedundancyFilter(rule="groups"), "classes", "uncertainty"),
        (featly.FTest(), "numbers", "comoments"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_parameters_and_targets_for_the_cpu_only(method, target, asked):
    assert find_unanswered(method._asks(target), GPU) == asked


@pytest.mark.parametrize(
    ("method", "form"),
    [
        (featly.FTest(), None),
        (featly.ReliefF(), None),
        (featly.SVMRFE(), None),
        (featly.SVMRFE(kernel="clinical"), LentSource),
        (featly.MKLRFE(), LentSource),
        (featly.JMI(), LentSource),
        (featly.InformationGain(), LentSource),
        (featly.RedundancyFilter(), LentSource),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_form_in_which_a_table_goes_to_the_device(method, form, monkeypatch):
    """A table is lent where a question takes what it needs of it, and else copied."""
    X, y = table()
    problem = method._read(X, y)
    monkeypatch.setattr(source_cuda, "cuda_source", lambda source, memory, n_jobs: "copied")
    sent = to_device(problem, method._asks()).source
    assert sent == "copied" if form is None else type(sent) is form


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
