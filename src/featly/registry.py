"""All methods in one literal, for the command line, the checks and the docs.

Importing it imports neither numba nor scikit-learn. A new method is one file and one entry here.
What else is known of a method follows from its class; :mod:`featly.method_facts` has it written
down, so that nothing needs to be imported to list the methods.

Methods of other packages (:mod:`featly.entry_points`) are found by name as ours are, and `METHODS`
has their entries too. They are not among the names that it iterates over, since to list them is to
import them: :func:`all_methods` does.
"""

import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from featly.basics.errors import MethodWarning
from featly.entry_points import BrokenMethodError, load_offered, offered_methods
from featly.method_entry import Method
from featly.synonyms import NEAREST, SYNONYMS, squash

__all__ = [
    "METHODS",
    "Method",
    "all_methods",
    "describe_unknown_method",
    "find_method",
    "method_class",
    "methods_that",
    "suggest",
]

# methods that an error suggests first, from the quickest to the most thorough
FIRST = ("FTest", "UnivariateTest", "JMI", "ReliefF", "SVMRFE", "MKLRFE", "ForestRanker")


class _Methods(dict[str, Method]):
    """Own methods by name; one of another package is looked up when it is asked for."""

    def __missing__(self, name: str) -> Method:
        if name not in offered_methods():
            raise KeyError(name)
        cls = load_offered(name)
        summary = (cls.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return Method(
            path=offered_methods()[name].path,
            family="other",
            tier="third-party",
            summary=summary or f"of the package {offered_methods()[name].package}",
            cost="not stated",
        )


METHODS: dict[str, Method] = _Methods()
METHODS |= {
    "f-test": Method(
        path="featly.filters.f_test:FTest",
        family="filter",
        tier="stable",
        summary="analysis of variance of each column, or its regression on numbers",
        cost="n p, one pass",
    ),
    "univariate-test": Method(
        path="featly.filters.univariate_test:UnivariateTest",
        family="filter",
        tier="stable",
        summary="a test of each column by its kind: Welch's t, Kruskal-Wallis, Fisher's exact",
        cost="p n log n; tables by their margins, permutations for small classes and ties",
    ),
    "chi-squared": Method(
        path="featly.filters.chi_squared:ChiSquared",
        family="filter",
        tier="stable",
        summary="Pearson's statistic of levels against classes",
        cost="n p; n p log n to cut numbers",
    ),
    "information-gain": Method(
        path="featly.filters.information_gain:InformationGain",
        family="filter",
        tier="stable",
        summary="bits that a column tells about the class",
        cost="n p; n p log n to cut numbers",
    ),
    "gain-ratio": Method(
        path="featly.filters.gain_ratio:GainRatio",
        family="filter",
        tier="stable",
        summary="information about the class over the column's entropy",
        cost="n p; n p log n to cut numbers",
    ),
    "symmetric-uncertainty": Method(
        path="featly.filters.symmetric_uncertainty:SymmetricUncertainty",
        family="filter",
        tier="stable",
        summary="information about the class over the mean of both entropies",
        cost="n p; n p log n to cut numbers",
    ),
    "gini-index": Method(
        path="featly.filters.gini_index:GiniIndex",
        family="filter",
        tier="stable",
        summary="decrease of the Gini impurity of the class by each column",
        cost="n p, one pass",
    ),
    "signal-to-noise": Method(
        path="featly.filters.signal_to_noise:SignalToNoise",
        family="filter",
        tier="stable",
        summary="distance of class means over the spread within the classes",
        cost="n p, one pass",
    ),
    "mim": Method(
        path="featly.filters.mim:MIM",
        family="filter",
        tier="stable",
        summary="information about the class alone, the base line of its family",
        cost="n p",
    ),
    "mifs": Method(
        path="featly.filters.mifs:MIFS",
        family="filter",
        tier="stable",
        summary="information about the class less all redundancy",
        cost="n p levels / 64 a step",
    ),
    "mrmr": Method(
        path="featly.filters.mrmr:MRMR",
        family="filter",
        tier="stable",
        summary="relevance less mean redundancy with the chosen columns",
        cost="n p levels / 64 a step",
    ),
    "jmi": Method(
        path="featly.filters.jmi:JMI",
        family="filter",
        tier="stable",
        summary="information together with each of the chosen columns",
        cost="n p levels / 64 a step",
    ),
    "jmim": Method(
        path="featly.filters.jmim:JMIM",
        family="filter",
        tier="historical",
        summary="greedy: the least information about the class together with any chosen column",
        cost="n p a chosen column",
    ),
    "cmi": Method(
        path="featly.filters.cmi:CMI",
        family="filter",
        tier="stable",
        summary="relevance, redundancy and redundancy within classes",
        cost="n p levels / 64 a step",
    ),
    "cmim": Method(
        path="featly.filters.cmim:CMIM",
        family="filter",
        tier="stable",
        summary="information beyond the chosen column that covers it best",
        cost="n p levels / 64 a step",
    ),
    "icap": Method(
        path="featly.filters.icap:ICAP",
        family="filter",
        tier="stable",
        summary="relevance less redundancy that the classes do not explain",
        cost="n p levels / 64 a step",
    ),
    "disr": Method(
        path="featly.filters.disr:DISR",
        family="filter",
        tier="stable",
        summary="joint information with chosen columns over joint entropy",
        cost="n p levels / 64 a step",
    ),
    "information-criterion": Method(
        path="featly.filters.information_criterion:InformationCriterion",
        family="filter",
        tier="stable",
        summary="the general criterion with weights beta and gamma",
        cost="n p levels / 64 a step",
    ),
    "monotone-dependence": Method(
        path="featly.filters.monotone_dependence:MonotoneDependence",
        family="filter",
        tier="historical",
        summary="M_d: dependence by the copula, less that on chosen columns",
        cost="n p log n; n² p a step",
    ),
    "relief": Method(
        path="featly.filters.relief:Relief",
        family="filter",
        tier="stable",
        summary="differences to the nearest row of the same and of another class",
        cost="n² p",
    ),
    "relieff": Method(
        path="featly.filters.relieff:ReliefF",
        family="filter",
        tier="stable",
        summary="differences to the nearest rows of the same and of other classes",
        cost="n² p",
    ),
    "multisurf": Method(
        path="featly.filters.multisurf:MultiSURF",
        family="filter",
        tier="stable",
        summary="differences to all rows that are near, which are chosen by row",
        cost="n² p",
    ),
    "cfs": Method(
        path="featly.filters.cfs:CFS",
        family="filter",
        tier="stable",
        summary="a subset that goes with the class and not with itself",
        cost="n p a chosen column",
    ),
    "fcbf": Method(
        path="featly.filters.fcbf:FCBF",
        family="filter",
        tier="historical",
        summary="a subset without columns that others cover",
        cost="n p a chosen column",
    ),
    "redundancy-filter": Method(
        path="featly.filters.redundancy_filter:RedundancyFilter",
        family="filter",
        tier="stable",
        summary="all columns but those that better ones tell already",
        cost="n p a chosen column",
    ),
    "interact": Method(
        path="featly.filters.interact:Interact",
        family="filter",
        tier="historical",
        summary="a subset by consistency, columns tried from the weakest",
        cost="n p",
    ),
    "consistency": Method(
        path="featly.filters.consistency:Consistency",
        family="filter",
        tier="stable",
        summary="the smallest subset in which equal rows have equal classes",
        cost="n p a step",
    ),
    "svm-rfe": Method(
        path="featly.elimination.svm_rfe:SVMRFE",
        family="elimination",
        tier="stable",
        summary="backward elimination by a support vector machine: linear, clinical or Gaussian",
        cost="n² p, + n² a round; n p² a round where n is much larger",
    ),
    "mkl-rfe": Method(
        path="featly.elimination.mkl_rfe:MKLRFE",
        family="elimination",
        tier="stable",
        summary="backward elimination by the weights of a kernel a column, for mixed columns",
        cost="n² p, some ten times a round",
    ),
    "multiclass-svm-rfe": Method(
        path="featly.elimination.multiclass_svm_rfe:MulticlassSVMRFE",
        family="elimination",
        tier="stable",
        summary="one backward elimination for all classes, by a machine for many classes",
        cost="n² p, + d³ a round for d free dual variables",
    ),
    "arom": Method(
        path="featly.embedded.arom:AROM",
        family="embedded",
        tier="stable",
        summary="few weights by rescaling a linear machine, with a prior on columns",
        cost="n^2 p per iteration",
    ),
    "ridge": Method(
        path="featly.embedded.ridge_ranker:RidgeRanker",
        family="embedded",
        tier="stable",
        summary="weights of one ridge regression on all columns, for classes, numbers, survival",
        cost="n^2 p + n^3 for n rows",
    ),
    "pairwise": Method(
        path="featly.ensembles.pairwise:PairwiseRanker",
        family="ensemble",
        tier="stable",
        summary="a ranking for each pair of classes, combined into one",
        cost="that of the ranker, on 2 / c of the rows, c (c - 1) / 2 times",
    ),
    "forest": Method(
        path="featly.embedded.forest_ranker:ForestRanker",
        family="embedded",
        tier="stable",
        summary="random forest: accuracy lost out of bag when a column is permuted",
        cost="trees x n √p log n",
    ),
    "perceptron": Method(
        path="featly.embedded.perceptron_ranker:PerceptronRanker",
        family="embedded",
        tier="historical",
        summary="FS-P: weights of a perceptron",
        cost="min(n², n p) an epoch, n² p once where n < p",
    ),
    "hybrid-forward": Method(
        path="featly.wrappers.hybrid_forward:HybridForward",
        family="wrapper",
        tier="historical",
        summary="numbers and categories ranked apart, merged by what a learner makes of them",
        cost="n p, + n (5-nn: n²) for each step of the merge",
    ),
    "wrapper": Method(
        path="featly.wrappers.wrapper:Wrapper",
        family="wrapper",
        tier="stable",
        summary="a subset by what a learner makes of it, in inner folds",
        cost="p trainings a step and fold; n p a step for naive Bayes",
    ),
}


def all_methods() -> dict[str, Method]:
    """Return own methods and those of other packages, which are imported; one that fails warns."""
    methods = dict(METHODS)
    for name, offered in offered_methods().items():
        if name in METHODS:
            warnings.warn(
                MethodWarning(
                    f"the package {offered.package!r} offers a method {name!r}, which is a name of "
                    "featly's own: it is left out"
                ),
                stacklevel=2,
            )
            continue
        try:
            methods[name] = METHODS[name]
        except BrokenMethodError as problem:
            warnings.warn(MethodWarning(str(problem)), stacklevel=2)
    return methods


def find_method(text: str) -> str | None:
    """Return the name of a method in the registry, or None.

    Parameters
    ----------
    text : str
        The name, the name of the class, or what another tool calls the same method.

    Examples
    --------
    >>> from featly.registry import find_method
    >>> find_method("FTest"), find_method("InfoGainAttributeEval"), find_method("boruta")
    ('f-test', 'information-gain', None)
    """
    if text in METHODS:
        return text
    own = {squash(method.class_name): name for name, method in METHODS.items()}
    own |= {squash(name): name for name in METHODS}
    if squash(text) in own:
        return own[squash(text)]
    offered = _find_offered(text)
    if offered is not None:
        return offered if _is_usable(offered) else None
    return {squash(synonym): name for synonym, name in SYNONYMS.items()}.get(squash(text))


def _find_offered(text: str) -> str | None:
    """Return the method of another package that has a name or a class called so."""
    for name, offered in offered_methods().items():
        if squash(text) in (squash(name), squash(offered.path.partition(":")[2])):
            return name
    return None


def _is_usable(name: str) -> bool:
    try:
        load_offered(name)
    except BrokenMethodError:
        return False
    return True


def describe_unknown_method(text: str) -> str:
    """Return a line that says why there is no such method, and what to take instead.

    Examples
    --------
    >>> from featly.registry import describe_unknown_method
    >>> describe_unknown_method("svmrf")
    "there is no method 'svmrf': did you mean 'svm-rfe'? 'featly methods' lists them"
    """
    offered = _find_offered(text)
    if offered is not None:
        try:
            load_offered(offered)
        except BrokenMethodError as problem:
            return str(problem)
    nearest = {squash(name): advice for name, advice in NEAREST.items()}.get(squash(text))
    if nearest is not None:
        return f"there is no method {text!r}: {nearest}"
    written = {squash(method.class_name): method.class_name for method in METHODS.values()}
    written |= {squash(name): name for name in (*METHODS, *offered_methods())}
    import difflib  # only where something is wrong

    close = difflib.get_close_matches(squash(text), list(written), n=1)
    hint = f"did you mean {written[close[0]]!r}? " if close else ""
    return f"there is no method {text!r}: {hint}'featly methods' lists them"


def method_class(name: str) -> Any:
    """Return the class of a method, by any of its names; see :func:`find_method`.

    Examples
    --------
    >>> from featly.registry import method_class
    >>> method_class("f-test").__name__
    'FTest'
    """
    key = find_method(name)
    if key is None:
        raise KeyError(describe_unknown_method(name))
    if key not in METHODS:
        return load_offered(key)
    module, _, attribute = METHODS[key].path.partition(":")
    return getattr(import_module(module), attribute)


def methods_that(**wanted: Any) -> list[str]:
    """Return class names of the methods with these properties.

    ``kind=`` is one kind of column, ``target=`` one kind of target.

    Examples
    --------
    >>> from featly.registry import methods_that
    >>> "FTest" in methods_that(missing=True, many_classes=True)
    True
    """
    kind, target = wanted.pop("kind", None), wanted.pop("target", None)
    return [
        method.class_name
        for method in METHODS.values()
        if all(getattr(method, key) == value for key, value in wanted.items())
        and (kind is None or kind in method.kinds)
        and (target is None or target in method.targets)
    ]


def suggest(names: Iterable[str]) -> str:
    """Return methods for an error to suggest: some by name, and where to find the others.

    Examples
    --------
    >>> from featly.registry import suggest
    >>> suggest(["FTest", "GainRatio", "MKLRFE", "DISR"])
    'FTest, MKLRFE and others (`featly methods` lists them)'
    """
    methods = list(names)
    first = [name for name in FIRST if name in methods] or methods[:3]
    listed = ", ".join(first)
    if len(first) == len(methods):
        return listed
    return f"{listed} and others (`featly methods` lists them)"
