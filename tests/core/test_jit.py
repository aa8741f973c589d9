"""The cache of compiled code, in processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import featly
from featly.core import jit

CODE = "from featly.core.ordering import worst; import numpy as np; print(worst(np.ones(3), 1)[0])"


def run(code=CODE, source=None, **environment):
    merged = {**os.environ, **environment}
    if source is not None:
        merged["PYTHONPATH"] = str(source)
    return subprocess.run(
        [sys.executable, "-c", code], env=merged, capture_output=True, text=True, timeout=120
    )


def kernels(folder):
    return sorted(path.name for path in Path(folder).rglob("*.nbi"))


def test_kernels_are_cached_in_a_folder_named_after_the_code(tmp_path):
    assert run(FEATLY_CACHE_DIR=str(tmp_path)).stdout == "2\n"
    (folder,) = tmp_path.iterdir()
    assert folder.name == Path(jit.cache_folder()).name
    assert any("_last" in name for name in kernels(folder))


def test_an_edited_helper_starts_an_empty_cache(tmp_path):
    copy = tmp_path / "src"
    shutil.copytree(Path(featly.__file__).parent, copy / "featly")
    cache = tmp_path / "cache"
    code = CODE + "; import featly; print(featly.__file__)"
    first = run(code, source=copy, FEATLY_CACHE_DIR=str(cache))
    assert str(copy) in first.stdout
    with open(copy / "featly" / "core" / "moments.py", "a") as file:
        file.write("\n# an edit in another module\n")
    run(code, source=copy, FEATLY_CACHE_DIR=str(cache))
    assert len(list(cache.iterdir())) == 2


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
def test_places_of_the_cache(where, tmp_path, monkeypatch):
    monkeypatch.delenv("FEATLY_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv(where, str(tmp_path))
    assert str(jit._cache_root()).startswith(str(tmp_path))
