"""Every method of the registry passes every check."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import featly
from featly.base import Ranker, SubsetSelector
from featly.registry import METHODS, method_class
from featly.testing import CHECKS, method_checks

# a hard margin refuses tables whose classes cannot be separated, which many checks have
PARAMETERS = {"arom": {"C": 1000.0}}
ESTIMATORS = [method_class(name)(**PARAMETERS.get(name, {})) for name in METHODS]
VARIANTS = [
    featly.SVMRFE(step=1, class_weight="balanced", C=0.01),
    featly.SVMRFE(standardize=False, step=0.1, fine_below=20),
    featly.PairwiseRanker("mkl-rfe", combine="schulze", decomposition="ova"),
    featly.SVMRFE(multiclass="ovo"),
    featly.MulticlassSVMRFE(formulation="weston-watkins", importance="abs"),
    featly.MulticlassSVMRFE(formulation="ovo", step=1),
    featly.AROM(norm=1, C=1000.0),
]
# a linear program on tied columns has many solutions, of which other rows may give another
LEFT_OUT = {(repr(VARIANTS[-1]), "permuted_rows")}
CASES = [
    pytest.param(estimator, check, id=f"{estimator!r}-{name}")
    for estimator in ESTIMATORS + VARIANTS
    for name, check in method_checks(estimator)
    if (repr(estimator), name) not in LEFT_OUT
]


@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_check(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::featly.ConvergenceWarning")  # of tables of noise
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda estimator: getattr(estimator, "_expected_failed_checks", {}),
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", METHODS)
def test_registry_agrees_with_the_class(name):
    method, cls = METHODS[name], method_class(name)
    assert issubclass(cls, Ranker | SubsetSelector)
    assert method.facts == method.derive_facts()
    assert getattr(featly, method.class_name) is cls
    assert method.class_name in featly.__all__


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_documented(name):
    cls = method_class(name)
    documentation = inspect.getdoc(cls)
    for parameter in inspect.signature(cls).parameters.values():
        assert f"\n{parameter.name} : " in documentation
        first = parameter.name == "ranker"  # PairwiseRanker(SVMRFE()) reads well
        assert first or parameter.kind is inspect.Parameter.KEYWORD_ONLY
    for heading in ("Parameters", "Attributes", "References", "Examples"):
        assert f"\n{heading}\n---" in documentation


def test_every_check_is_documented():
    assert all(inspect.getdoc(check) for check in CHECKS.values())
