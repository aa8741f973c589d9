"""Loops compiled ahead of the first table, and the line where a command compiles some."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from featly.basics.errors import DataError
from featly.cli import warm as module
from featly.cli.load import Request, load
from featly.cli.method import fit
from featly.core.runtime import jit
from featly.registry import METHODS


def test_loops_that_are_compiled_are_counted():
    @numba.njit
    def add(a, b):
        return a + b

    @numba.njit
    def twice(a):
        return add(a, a)

    begun = []
    with jit.Compilation(lambda: begun.append(True)) as compilation:
        assert begun == []
        assert twice(1) == 2
    assert (compilation.n_loops, begun) == (2, [True])  # the outer one, and what it calls
    assert 0 < compilation.seconds < 60
    with jit.Compilation() as later:
        assert twice(2) == 4
    assert (later.n_loops, later.seconds) == (0, 0)
    twice(1.5)
    assert compilation.n_loops == 2  # it is closed


def test_the_lines_say_what_is_compiled_and_how_long_it_took(monkeypatch, capsys):
    @numba.njit
    def increment(a):
        return a + 1

    monkeypatch.setattr(module, "WORTH_A_LINE", 0)
    with module.announce_compilation("svm-rfe"):
        increment(1)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "compiling svm-rfe for this machine, which is done once ..."
    assert second.startswith("compiled in ")


def test_nothing_is_said_where_nothing_is_compiled(capsys):
    with module.announce_compilation("svm-rfe"):
        pass
    assert capsys.readouterr().err == ""


def test_a_method_is_warmed(featly, mistake, monkeypatch):
    fitted = []
    monkeypatch.setattr("featly.cli.method.fit", lambda data, name, *_, **__: fitted.append(name))
    code, out, err = featly("warm", "f-test", "mkl-rfe", "FTest")
    assert (code, out) == (0, "")
    assert err == "[1/2] f-test: ready\n[2/2] mkl-rfe: ready\n"
    assert fitted.count("f-test") == 12  # not those with categories
    assert fitted.count("mkl-rfe") == 8  # two classes
    assert featly("warm", "--quiet")[2] == ""
    assert "univariate-test" in fitted
    assert "did you mean 'svm-rfe'" in mistake("warm", "svm-rf")
    assert "--all and names" in mistake("warm", "f-test", "--all")


def test_no_folder_for_loops_is_an_error(mistake, monkeypatch):
    monkeypatch.setattr(jit, "cache_folder", lambda _: None)
    assert "FEATLY_CACHE_DIR" in mistake("warm", "f-test")


@pytest.fixture(scope="module")
def warm_cache(tmp_path_factory):
    """A cache that holds what all methods need for tables read from text."""
    folder = tmp_path_factory.mktemp("kernels")
    env = {**os.environ, "FEATLY_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "featly", "warm", "--all", "--quiet"]
    subprocess.run(command, env=env, check=True, timeout=1800)
    return env


RANK = f"""
import sys, warnings
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.cli.test_warm import loops_of_a_ranking
warnings.simplefilter("ignore")
print(loops_of_a_ranking(*sys.argv[1:]))
"""


def loops_of_a_ranking(name, path):
    """Return how many loops a ranking compiles, None if the method does not take the table."""
    with jit.Compilation() as compilation, load(Request(file=path, target="ill")) as data:
        try:
            fit(data, name, {}, n_jobs=2)
        except DataError:
            return None
    return compilation.n_loops


@pytest.mark.thorough
@pytest.mark.parametrize("name", METHODS)
def test_a_ranking_after_it_compiles_nothing(warm_cache, name, csv, numbers, tmp_path):
    rng = np.random.default_rng(1)
    wide = tmp_path / "wide.csv"
    rows = [",".join([*(f"{v:.4f}" for v in rng.normal(size=90)), str(r % 2)]) for r in range(40)]
    wide.write_text("\n".join([",".join([*(f"g{j}" for j in range(90)), "ill"]), *rows]))
    counts = [
        subprocess.run([sys.executable, "-c", RANK, name, path], env=warm_cache, check=True,
                       capture_output=True, text=True, timeout=300).stdout.strip()
        for path in (csv, numbers, wide)
    ]  # fmt: skip
    assert "0" in counts
    assert set(counts) <= {"0", "None"}


def test_a_method_that_refuses_every_table_is_an_error(mistake, featly, monkeypatch):
    seen = []

    def refuse(data, name, *_, **__):
        seen.append(name)
        if name == "f-test" or len(seen) % 2:
            raise DataError("not this one")

    monkeypatch.setattr("featly.cli.method.fit", refuse)
    assert featly("warm", "mkl-rfe") == (0, "", "[1/1] mkl-rfe: ready\n")
    assert mistake("warm", "f-test") == "not this one"
