"""The way of every method to a GPU, with the host's functions in place of those of the device.

What a device computes is tested in tests/gpu, where there is one. Here the functions of the
``*_cuda`` modules that reach it are replaced, so that all that leads to them and from them runs:
questions, forms of tables, codes, terms, searches.
"""

import numpy as np
import pytest

from featly import FTest, redundancy
from featly.core.counts import codes_cuda, contingency, entropy, entropy_cuda
from featly.core.greedy import search, search_cuda
from featly.core.kernels import clinical, clinical_cuda, kernel_sets
from featly.core.pairs import columns_cuda, correlation, uncertainty
from featly.core.pairs import search_cuda as pairs_cuda
from featly.core.runtime.question import GPU
from featly.core.sources import source_cuda
from featly.core.sources.lent_cuda import LentSource
from featly.registry import METHODS, method_class

ON_DEVICE = [name for name, method in METHODS.items() if method.on_device]


class Calls(list):
    """Names of the replaced functions that were called."""

    def note(self, name, function):
        def call_noted(*arguments, **options):
            self.append(name)
            return function(*arguments, **options)

        return call_noted


class HostTerms(search.PairInformation):
    """Terms of the host that say that they lie on a device."""

    lies = GPU

    def __init__(self, codes, *groups, memory=None, **options):
        super().__init__(codes.on_host(), *groups, **options)


@pytest.fixture
def calls(monkeypatch):
    """Replace what needs a device, and note what is called."""
    noted = Calls()
    assert pairs_cuda is not None  # imported before its columns are replaced

    def tables(codes, groups, n_groups):
        return codes.on_host().tables(groups, n_groups)

    def information(codes, groups, n_groups):
        return entropy.class_information(tables(codes, groups, n_groups), codes.n_rows)

    def chi_squared(codes, groups, n_groups):
        return contingency.chi_squared(tables(codes, groups, n_groups))

    def replace(module, name, function):
        monkeypatch.setattr(module, name, noted.note(name, function))

    monkeypatch.setattr("featly.problem.place.xp", lambda: None)
    monkeypatch.setattr("featly.problem.place.is_available", lambda: True)
    for name, function in (
        ("tables", tables),
        ("class_information", information),
        ("chi_squared", chi_squared),
    ):
        replace(entropy_cuda, name, function)
    codes = codes_cuda.CudaCodes
    monkeypatch.setattr(codes, "n_levels", property(lambda self: self.on_host().n_levels))
    monkeypatch.setattr(codes, "any_missing", lambda self: False)
    replace(search_cuda, "PairInformation", HostTerms)
    replace(source_cuda, "cuda_source", lambda source, memory, n_jobs: LentSource(source))
    for module, host, name in (
        (columns_cuda, correlation, "UnitColumns"),
        (clinical_cuda, clinical, "ClinicalColumns"),
        (clinical_cuda, kernel_sets, "ColumnKernels"),
    ):
        cls = getattr(host, name)
        make = cls if name == "UnitColumns" else cls.from_source
        monkeypatch.setattr(getattr(module, name), "from_source", noted.note(name, make))
    replace(columns_cuda, "CodedColumns", uncertainty.CodedColumns)
    return noted


def table(seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    X = rng.integers(0, 3, (60, 25)) + np.where(np.arange(25) % 5 == 0, y[:, None], 0)
    X[:, 7] = X[:, 3]
    return X, y


def make_method(name, device):
    method = method_class(name)()
    if name == "pairwise":
        return method.set_params(ranker__device=device) if method.ranker else method
    extra = {"C": 1000.0} if name == "arom" else {}
    return method.set_params(device=device, **extra)


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")
@pytest.mark.parametrize("discretizer", ["mdlp", None], ids=str)
@pytest.mark.parametrize("name", [name for name in ON_DEVICE if name != "pairwise"])
def test_every_method_gets_there_and_back(name, discretizer, calls):
    X, y = table()
    methods = [make_method(name, device) for device in ("cpu", "cuda")]
    for method in methods:
        if "discretizer" in method.get_params() and name != "redundancy-filter":
            method.set_params(discretizer=discretizer)
    expected = methods[0].fit(X, y)
    assert calls == []
    ours = methods[1].fit(X, y)
    assert calls, "nothing was sent to the device"
    np.testing.assert_array_equal(ours.order_, expected.order_)
    if hasattr(expected, "scores_"):
        np.testing.assert_allclose(ours.scores_, expected.scores_, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "parameters", "called"),
    [
        ("svm-rfe", {"kernel": "clinical"}, {"ClinicalColumns"}),
        ("mkl-rfe", {}, {"ColumnKernels"}),
        ("redundancy-filter", {}, {"UnitColumns"}),
        ("redundancy-filter", {"measure": "information"}, {"CodedColumns", "tables"}),
        ("f-test", {}, {"cuda_source"}),
        ("relieff", {}, {"cuda_source"}),
        ("chi-squared", {"discretizer": None}, {"chi_squared", "tables"}),
        ("information-gain", {"missing": "spread"}, {"class_information"}),
        ("gini-index", {}, {"tables"}),
        ("jmim", {}, {"PairInformation"}),
    ],
)
def test_who_is_asked(name, parameters, called, calls):
    X, y = table(1)
    expected = make_method(name, "cpu").set_params(**parameters).fit(X, y)
    ours = make_method(name, "cuda").set_params(**parameters).fit(X, y)
    assert set(calls) == called
    np.testing.assert_array_equal(ours.order_, expected.order_)


@pytest.mark.parametrize("measure", ["pearson", "spearman", "information"])
def test_redundancy(measure, calls):
    X = table(2)[0].astype(float)
    for options in ({"threshold": 0.5}, {"neighbours": 2}):
        expected = redundancy(X, measure=measure, device="cpu", **options)
        assert calls == []
        ours = redundancy(X, measure=measure, device="cuda", **options)
        assert set(calls) == {"CodedColumns" if measure == "information" else "UnitColumns"}
        if expected.pairs is not None:
            assert sorted(map(tuple, ours.pairs.tolist())) == sorted(
                map(tuple, expected.pairs.tolist())
            )
        else:
            np.testing.assert_array_equal(ours.neighbours, expected.neighbours)
        calls.clear()


def test_batches_of_counts_and_targets_of_numbers_stay_on_the_host(calls):
    X, y = table(3)
    ranker = make_method("information-gain", "auto")
    ranker._operations = lambda n_rows, n_features: 1e12
    ranker.partial_fit(X, y)
    test = FTest()
    test._operations = lambda n_rows, n_features: 1e12
    test.fit(X, y + 0.5 * X[:, 0] + 0.1)
    assert calls == []
    test.fit(X, y)
    assert calls == ["cuda_source"]
