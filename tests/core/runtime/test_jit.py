"""The cache of compiled code, in processes of their own."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import featly
from featly.core.ranking import ordering
from featly.core.runtime import jit

CORE = Path(featly.__file__).parent / "core"
CODE = (
    "from featly.core.ranking.ordering import worst; import numpy as np; "
    "print(worst(np.ones(3), 1)[0])"
)


def run(code=CODE, source=None, **environment):
    merged = {**os.environ, **environment}
    if source is not None:
        merged["PYTHONPATH"] = str(source)
    return subprocess.run(
        [sys.executable, "-c", code], env=merged, capture_output=True, text=True, timeout=120
    )


def kernels(folder):
    return sorted(path.name for path in Path(folder).rglob("*.nbi"))


def compiled_by_module(cache):
    """Return the names of the cached kernels of each folder of a cache."""
    return {folder.name: kernels(folder) for folder in cache.iterdir()}


def test_kernels_are_cached_in_a_folder_named_after_their_module(tmp_path):
    assert run(FEATLY_CACHE_DIR=str(tmp_path)).stdout == "2\n"
    folders = compiled_by_module(tmp_path)
    name = Path(jit.cache_folder(Path(ordering.__file__))).name
    assert name.startswith("ordering-")
    assert any("_last" in kernel for kernel in folders[name])


def test_an_edit_recompiles_what_imports_the_file_and_nothing_else(tmp_path):
    copy = tmp_path / "src"
    shutil.copytree(Path(featly.__file__).parent, copy / "featly")
    core = copy / "featly" / "core"
    helper = core / "helper_of_a_test.py"
    helper.write_text(
        "from featly.core.runtime.jit import kernel\n\n@kernel\ndef step(x):\n    return x + 1\n"
    )
    (core / "user_of_a_test.py").write_text(
        "from featly.core.helper_of_a_test import (\n    step,\n)\n"
        "from featly.core.runtime.jit import kernel\n\n"
        "@kernel\ndef twice(x):\n    return step(step(x))\n"
    )
    (core / "stranger_of_a_test.py").write_text(
        "from featly.core.runtime.jit import kernel\n\n@kernel\ndef negate(x):\n    return -x\n"
    )
    code = (
        "from featly.core.user_of_a_test import twice\n"
        "from featly.core.stranger_of_a_test import negate\n"
        "print(twice(1), negate(1))\n"
        "print(sum(twice.stats.cache_hits.values()), sum(negate.stats.cache_hits.values()))"
    )
    cache = tmp_path / "cache"

    def run_copy():
        return run(code, source=copy, FEATLY_CACHE_DIR=str(cache)).stdout.splitlines()

    assert run_copy() == ["3 -1", "0 0"]
    assert run_copy() == ["3 -1", "1 1"]
    helper.write_text(helper.read_text().replace("x + 1", "x + 2"))
    assert run_copy() == ["5 -1", "0 1"]


def test_the_closure_follows_every_form_of_import():
    """The names in the regular expression's closure are those that Python's own parser sees."""
    for module in sorted(CORE.rglob("*.py")):
        reached = {module}
        pending = [module]
        while pending:
            for file in parsed_imports(pending.pop()) - reached:
                reached.add(file)
                pending.append(file)
        assert reached <= set(jit.import_closure(module)), module


def parsed_imports(module):
    """Return the files of core that a file imports, by ast."""
    dotted = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not followed"
            dotted |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    places = [
        CORE.joinpath(*name.removeprefix("featly.core").split("."))
        for name in dotted
        if name.startswith("featly.core")
    ]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return {file for file in files if file.is_file()}


def test_no_cache_where_nothing_can_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    result = run(FEATLY_CACHE_DIR=str(blocked))
    assert result.stdout == "2\n"
    assert result.stderr == ""


def test_numbas_own_setting_is_left_alone():
    before = numba.config.CACHE_DIR

    @jit.kernel
    def double(x):
        return 2 * x

    assert double(4) == 8
    assert before == numba.config.CACHE_DIR


@pytest.mark.parametrize("where", ["XDG_CACHE_HOME", "FEATLY_CACHE_DIR"])
def test_folders_of_the_cache(where, tmp_path, monkeypatch):
    monkeypatch.delenv("FEATLY_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv(where, str(tmp_path))
    assert str(jit._cache_root()).startswith(str(tmp_path))
