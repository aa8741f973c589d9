"""The package: its layers in order, imports light, names complete."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import featly
from featly.registry import METHODS, method_class, methods_that

ROOT = Path(__file__).parents[1]
# what users may add, by the names of their packages
EXTRAS = (
    "anndata", "bed_reader", "cupy", "h5py", "imblearn", "jinja2", "matplotlib", "pandas",
    "pyarrow", "pyspark", "starlette", "uvicorn", "zarr",
)  # fmt: skip


def python(code, *options):
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_packages_are_in_order():
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout


def test_importing_featly_loads_nothing_heavy():
    heavy = ["numpy", "numba", "sklearn", "scipy", "polars", "pandas", "pyarrow", "matplotlib"]
    loaded = python(f"import sys, featly; print([m for m in {heavy} if m in sys.modules])")
    assert loaded == "[]\n"


def test_every_module_imports_without_extras():
    modules = [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in (ROOT / "src" / "featly").rglob("*.py")
    ]
    code = f"""
import sys, importlib
for name in {EXTRAS}:
    sys.modules[name] = None
for name in {modules}:
    importlib.import_module(name.removesuffix(".__init__"))
import numpy as np, featly
X, y = np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 2
print(featly.SVMRFE().fit(X, y).table().height, featly.FTest().fit(X, y).table().height)
"""
    assert python(code, "-W", "error") == "5 5\n"


def test_arrays_need_no_frame_library():
    code = """
import sys
for name in ("pandas", "pyarrow", "polars", "narwhals"):
    sys.modules[name] = None
import numpy as np, featly
X, y = np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 2
print(featly.FTest().fit(X, y).order_.size, featly.SVMRFE().fit(X, y).transform(X).shape[1])
"""
    if "narwhals" in _needs_of_scikit_learn():
        code = code.replace(', "narwhals"', "")
    assert python(code) == "5 2\n"


def _needs_of_scikit_learn():
    from importlib.metadata import requires

    return " ".join(line for line in requires("scikit-learn") if "extra" not in line)


def test_public_names():
    assert set(dir(featly)) >= {"SVMRFE", "FTest", "Schema", "DataError", "__version__"}
    for name in featly.__all__:
        assert inspect.getdoc(getattr(featly, name))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = featly.nonsense


def test_methods_are_found_by_either_name():
    assert method_class("svm-rfe") is method_class("SVMRFE") is featly.SVMRFE
    with pytest.raises(KeyError, match="svm-rfe"):
        method_class("svm")
    assert "FTest" not in methods_that(kind="categorical")
    assert "MKLRFE" in methods_that(kind="categorical", missing=True)
    assert "SVMRFE" not in methods_that(many_classes=True)


def test_registry_is_complete():
    """Every class that ranks or selects is in the registry, so that it is checked."""
    from importlib import import_module

    from featly.base import Ranker, SubsetSelector

    known = {method.path for method in METHODS.values()}
    for path in (ROOT / "src" / "featly").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        module = import_module(name.removesuffix(".__init__"))
        for attribute, cls in vars(module).items():
            is_defined_here = inspect.isclass(cls) and cls.__module__ == module.__name__
            if (
                is_defined_here
                and not inspect.isabstract(cls)
                and issubclass(cls, Ranker | SubsetSelector)
                and module.__name__ != "featly.base"
            ):
                assert f"{module.__name__}:{attribute}" in known


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_no_file_names_the_machine_it_was_written_on():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    for name in files.split():
        text = (ROOT / name).read_text(encoding="utf8", errors="ignore")
        assert str(Path.home()) + "/" not in text, name
