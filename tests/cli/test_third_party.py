"""Methods of other packages, by entry points, and names that other tools give to methods."""

import json

import numpy as np
import pytest

from featly import MethodWarning, PairwiseRanker, Study, entry_points
from featly.basics.errors import ParameterError
from featly.cli.options import complete_method
from featly.registry import METHODS, all_methods, find_method, method_class
from featly.synonyms import NEAREST, SYNONYMS, squash

CODE = '''
"""A method of somebody else."""
from typing import Annotated
from featly.base import Ranker, rank_by_merit
from featly.basics.params import Number

class Spread(Ranker):
    """Rank columns by the square of their deviation.

    Parameters
    ----------
    power : float, default=1.0
        The power of the deviation squared.
    """

    power: Annotated[float, Number(above=0)] = 1.0

    def _rank(self, problem):
        moments = problem.moments()
        variance = moments.m2[0] / moments.count[0]
        return rank_by_merit(problem.preference, variance**self.power)

class NoMethod:
    """Something else."""
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package that offers methods, in a folder of its own."""

    def make(package, **points):
        module = package.replace("-", "_")
        folder = tmp_path / "site"
        (folder / module).mkdir(parents=True)
        (folder / module / "__init__.py").write_text(CODE)
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name.replace('_', '-')} = {path}" for name, path in points.items()]
        (info / "entry_points.txt").write_text("\n".join(["[featly.methods]", *lines, ""]))
        monkeypatch.syspath_prepend(folder)
        clear()

    def clear():
        entry_points.offered_methods.cache_clear()
        entry_points.load_offered.cache_clear()

    yield make
    monkeypatch.undo()
    clear()


def test_a_method_of_another_package_in_python(install):
    install("toy-ranges", widest_spread="toy_ranges:Spread")
    assert "widest-spread" not in METHODS  # to list them is to import them
    method = METHODS["widest-spread"]
    assert (method.tier, method.public_path) == ("third-party", "toy_ranges.Spread")
    assert method.summary == "Rank columns by the square of their deviation"
    assert all_methods()["widest-spread"] == method
    assert find_method("Spread") == "widest-spread"
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)) * [1, 5, 2], np.arange(30) % 3
    assert method_class("widest-spread")().fit(X, y).order_.tolist() == [1, 2, 0]
    assert PairwiseRanker(ranker="widest-spread").fit(X, y).order_[0] == 1
    assert list(Study(["widest-spread"], (X, y)).methods) == ["widest-spread"]


def test_a_method_of_another_package_on_the_command_line(install, featly, numbers, mistake):
    install("toy-ranges", widest_spread="toy_ranges:Spread")
    call = ("rank", numbers, "-t", "ill", "-m", "widest-spread", "--json")
    code, out, _ = featly(*call, "--set", "power=2")
    ranking = json.loads(out)
    assert (code, ranking["method"], ranking["ranking"][0]["feature"]) == (
        0,
        "widest-spread",
        "age",
    )
    assert "power" in mistake(*call, "--set", "power=-2")
    assert "did you mean 'power'" in mistake(*call, "--set", "powre=2")
    code, out, err = featly("methods")
    assert (code, err) == (0, "")
    assert "widest-spread\tthird-party" in out
    assert "f-test\tstable" in out
    code, out, _ = featly("methods", "widest-spread")
    assert "toy_ranges.Spread" in out
    assert "The power of the deviation squared." in out
    assert complete_method("widest") == [("widest-spread", "of the package toy-ranges")]
    assert "'widest-spread'" in featly("methods", "widest-spraed")[2]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_module:Toy", "No module named 'no_such_module'"),
        ("toy_ranges:Nothing", "has no attribute 'Nothing'"),
        ("toy_ranges:NoMethod", "derives from neither featly.base.Ranker nor SubsetSelector"),
    ],
)
def test_a_broken_method_gives_one_warning_that_names_the_package(
    install, featly, mistake, numbers, path, reason
):
    install("toy-ranges", broken=path, widest_spread="toy_ranges:Spread")
    code, out, err = featly("methods")
    assert code == 0
    assert "widest-spread" in out
    assert err.count("\n") == 1
    assert "'broken' of the package 'toy-ranges'" in err
    assert reason in err
    assert reason in mistake("rank", numbers, "-t", "ill", "-m", "broken")
    with pytest.raises(ParameterError, match="of the package 'toy-ranges' cannot be used"):
        Study(["broken"], (np.eye(4), [0, 1, 0, 1]))
    code, _, err = featly("rank", numbers, "-t", "ill", "-m", "f-test", "--quiet")
    assert (code, err) == (0, "")  # who asks for another one is not bothered


def test_a_name_of_ours_cannot_be_taken(install):
    install("toy-ranges", f_test="toy_ranges:Spread")
    assert method_class("f-test").__name__ == "FTest"
    with pytest.warns(MethodWarning, match="'toy-ranges' offers a method 'f-test'"):
        assert all_methods()["f-test"].tier == "stable"


def test_names_of_other_tools_lead_to_methods_that_there_are():
    own = {squash(name) for name in METHODS} | {squash(m.class_name) for m in METHODS.values()}
    names = [squash(name) for name in (*SYNONYMS, *NEAREST)]
    assert not own & set(names), "a method here has that name: leave it out of the synonyms"
    assert len(names) == len(set(names))
    assert set(SYNONYMS.values()) <= METHODS.keys()
    for name, advice in NEAREST.items():
        is_of_use = any(method in advice for method in METHODS) or "featly " in advice
        assert is_of_use or "make" in advice, name


@pytest.mark.parametrize(
    ("name", "method"),
    [("InfoGainAttributeEval", "information-gain"), ("f_classif", "f-test"),
     ("information.gain", "information-gain"), ("symmetrical_uncertainty", "symmetric-uncertainty"),
     ("MRMR", "mrmr"), ("svm_rfe", "svm-rfe")],
)  # fmt: skip
def test_a_synonym_gives_the_method(featly, name, method):
    assert method_class(name) is method_class(method)
    assert featly("methods", name) == featly("methods", method)


def test_a_ranking_by_a_synonym_says_so(featly, numbers):
    for name, is_said in (("f_classif", True), ("FTest", False), ("F-test", False)):
        code, out, err = featly("rank", numbers, "-t", "ill", "-m", name, "--json")
        assert (code, json.loads(out)["method"]) == (0, "f-test")
        assert ("method: f-test, which is what f_classif is called here" in err) == is_said


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("SelectKBest", "--count K"), ("boruta", "forest"), ("lasso", "arom"), ("glmnet", "ridge"),
     ("mutual_info_classif", "information-gain"), ("chi2", "chi-squared"), ("RFE", "svm-rfe"),
     ("Random Forest", "forest")],
)  # fmt: skip
def test_a_name_of_something_else_says_what_comes_nearest(featly, mistake, numbers, name, nearest):
    message = mistake("rank", numbers, "-t", "ill", "-m", name)
    assert message.startswith(f"there is no method {name!r}: ")
    assert nearest in message
    assert featly("methods", name) == (2, "", f"featly: {message}\n")
    with pytest.raises(KeyError, match=nearest):
        method_class(name)
