"""All methods in one literal, for the command line, the checks and the docs.

Importing it imports neither numba nor scikit-learn. A new method is one file and one entry here.
What else is known of a method follows from its class; :mod:`featly.method_facts` has it written
down, so that nothing needs to be imported to list the methods.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, ClassVar, Generic, Literal, TypeVar

from featly.method_facts import FACTS

__all__ = ["METHODS", "Method", "method_class", "methods_that", "suggest"]

# methods that an error suggests first, from the quickest to the most thorough
FIRST = ("FTest", "UnivariateTest", "JMI", "ReliefF", "SVMRFE", "MKLRFE", "ForestRanker")


T = TypeVar("T")


class _Fact(Generic[T]):
    """A fact about the class of a method."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, method: "Method", owner: type | None = None) -> T:
        fact: T = method.facts[self.name]
        return fact


@dataclass(frozen=True)
class Method:
    """A method, known without importing it.

    Parameters
    ----------
    path : str
        ``"module:Class"``.
    family : {"filter", "elimination", "embedded", "ensemble", "wrapper"}
        A filter scores every column once; an elimination drops the worst ones round by round; an
        embedded method takes the scores from one trained model; an ensemble makes one ranking of
        several; a wrapper tries sets of columns with a learner.
    tier : {"stable", "historical"}
        Stable: agrees with an independent program or a proof, on real data. Historical: built
        from its description, no independent check exists.
    summary : str
        One line.
    cost : str
        Number of operations, for n rows and p columns.

    Attributes
    ----------
    kinds : tuple of str
        The kinds of column it takes.
    missing, sparse, many_classes : bool
        Whether it takes missing values, sparse tables, more than two classes.
    uses : tuple of str
        The parts of a schema it uses besides the kinds.
    targets : tuple of str
        The kinds of target it takes.
    weights, adds : bool
        Whether it takes `sample_weight`; whether it learns batch by batch, by ``partial_fit``.
    streams, on_device : bool
        Whether it reads a table on disk by blocks of columns; whether it computes on a GPU. They
        follow from the questions that it asks of a table.
    """

    path: str
    family: Literal["filter", "elimination", "embedded", "ensemble", "wrapper"]
    tier: Literal["stable", "historical"]
    summary: str
    cost: str

    kinds: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    missing: ClassVar[_Fact[bool]] = _Fact()
    sparse: ClassVar[_Fact[bool]] = _Fact()
    many_classes: ClassVar[_Fact[bool]] = _Fact()
    uses: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    targets: ClassVar[_Fact[tuple[str, ...]]] = _Fact()
    weights: ClassVar[_Fact[bool]] = _Fact()
    adds: ClassVar[_Fact[bool]] = _Fact()
    streams: ClassVar[_Fact[bool]] = _Fact()
    on_device: ClassVar[_Fact[bool]] = _Fact()

    @property
    def class_name(self) -> str:
        """Name of the class in ``featly``."""
        return self.path.partition(":")[2]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the class with its default parameters: written down, or derived from it."""
        if self.class_name in FACTS:
            return FACTS[self.class_name]
        return self.derive_facts()

    def derive_facts(self) -> dict[str, Any]:
        """Derive the facts from the class, which is imported for that."""
        module, _, name = self.path.partition(":")
        facts: dict[str, Any] = getattr(import_module(module), name)()._facts()
        return facts

    def as_dict(self) -> dict[str, Any]:
        """Return what is written in the registry, and the facts."""
        return asdict(self) | self.facts


METHODS: dict[str, Method] = {
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


def method_class(name: str) -> Any:
    """Return the class of a method, by its name in the registry or its class name.

    Examples
    --------
    >>> from featly.registry import method_class
    >>> method_class("f-test").__name__
    'FTest'
    """
    for key, method in METHODS.items():
        if name in (key, method.class_name):
            module, _, attribute = method.path.partition(":")
            return getattr(import_module(module), attribute)
    raise KeyError(f"no method is called {name!r}: there are {', '.join(METHODS)}")


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
