"""All methods and their properties in one literal, for the command line, the checks and the docs.

Importing it imports neither numba nor scikit-learn. A new method is one file and one entry here;
a test compares each entry with the attributes of its class.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

__all__ = ["METHODS", "Method", "method_class", "methods_that", "suggested"]

# methods that an error suggests first, from the quickest to the most thorough
FIRST = ("FTest", "UnivariateTest", "JMI", "ReliefF", "SVMRFE", "MKLRFE", "ForestRanker")


@dataclass(frozen=True)
class Method:
    """Facts about a method, known without importing it.

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
    kinds : tuple of str
        The kinds of column it takes.
    missing, sparse, many_classes : bool
        Whether it takes missing values, sparse tables, more than two classes.
    uses : tuple of str
        The parts of a schema it uses besides the kinds.
    targets : tuple of str
        The kinds of target it takes.
    cost : str
        Number of operations, for n rows and p columns.
    streams, on_device, weights, adds : bool
        Whether it reads a table on disk by blocks of columns; whether it computes on a GPU; whether
        it takes `sample_weight`; whether it learns batch by batch, by ``partial_fit``.
    """

    path: str
    family: Literal["filter", "elimination", "embedded", "ensemble", "wrapper"]
    tier: Literal["stable", "historical"]
    summary: str
    kinds: tuple[str, ...]
    missing: bool
    sparse: bool
    many_classes: bool
    uses: tuple[str, ...]
    cost: str
    streams: bool = False
    on_device: bool = False
    weights: bool = False
    adds: bool = False
    targets: tuple[str, ...] = ("classes",)

    @property
    def class_name(self) -> str:
        """Name of the class in ``featly``."""
        return self.path.partition(":")[2]


ANY_TARGET = ("classes", "numbers", "survival")

METHODS: dict[str, Method] = {
    "f-test": Method(
        path="featly.filters.f_test:FTest",
        family="filter",
        tier="stable",
        summary="analysis of variance of each column, or its regression on numbers",
        kinds=("continuous", "ordinal"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="n p, one pass",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "univariate-test": Method(
        path="featly.filters.univariate_test:UnivariateTest",
        family="filter",
        tier="stable",
        summary="a test of each column by its kind: Welch's t, Kruskal-Wallis, Fisher's exact",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="p n log n; tables by their margins, permutations for small classes and ties",
        streams=True,
        on_device=True,
    ),
    "chi-squared": Method(
        path="featly.filters.chi_squared:ChiSquared",
        family="filter",
        tier="stable",
        summary="Pearson's statistic of levels against classes",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="n p; n p log n to cut numbers",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "information-gain": Method(
        path="featly.filters.information_gain:InformationGain",
        family="filter",
        tier="stable",
        summary="bits that a column tells about the class",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p; n p log n to cut numbers",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "gain-ratio": Method(
        path="featly.filters.gain_ratio:GainRatio",
        family="filter",
        tier="stable",
        summary="information about the class over the column's entropy",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p; n p log n to cut numbers",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "symmetric-uncertainty": Method(
        path="featly.filters.symmetric_uncertainty:SymmetricUncertainty",
        family="filter",
        tier="stable",
        summary="information about the class over the mean of both entropies",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p; n p log n to cut numbers",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "signal-to-noise": Method(
        path="featly.filters.signal_to_noise:SignalToNoise",
        family="filter",
        tier="stable",
        summary="distance of class means over the spread within the classes",
        kinds=("continuous", "ordinal"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p, one pass",
        streams=True,
        on_device=True,
        weights=True,
        adds=True,
    ),
    "mim": Method(
        path="featly.filters.mim:MIM",
        family="filter",
        tier="stable",
        summary="information about the class alone, the base line of its family",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
        weights=True,
        adds=True,
    ),
    "mifs": Method(
        path="featly.filters.mifs:MIFS",
        family="filter",
        tier="stable",
        summary="information about the class less all redundancy",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "mrmr": Method(
        path="featly.filters.mrmr:MRMR",
        family="filter",
        tier="stable",
        summary="relevance less mean redundancy with the chosen columns",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "jmi": Method(
        path="featly.filters.jmi:JMI",
        family="filter",
        tier="stable",
        summary="information together with each of the chosen columns",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "cmi": Method(
        path="featly.filters.cmi:CMI",
        family="filter",
        tier="stable",
        summary="relevance, redundancy and redundancy within classes",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "cmim": Method(
        path="featly.filters.cmim:CMIM",
        family="filter",
        tier="stable",
        summary="information beyond the chosen column that covers it best",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "icap": Method(
        path="featly.filters.icap:ICAP",
        family="filter",
        tier="stable",
        summary="relevance less redundancy that the classes do not explain",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "disr": Method(
        path="featly.filters.disr:DISR",
        family="filter",
        tier="stable",
        summary="joint information with chosen columns over joint entropy",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "information-criterion": Method(
        path="featly.filters.information_criterion:InformationCriterion",
        family="filter",
        tier="stable",
        summary="the general criterion with weights beta and gamma",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p levels / 64 a step",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "monotone-dependence": Method(
        path="featly.filters.monotone_dependence:MonotoneDependence",
        family="filter",
        tier="historical",
        summary="M_d: dependence by the copula, less that on chosen columns",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n p log n; n² p a step",
        streams=True,
    ),
    "relief": Method(
        path="featly.filters.relief:Relief",
        family="filter",
        tier="historical",
        summary="differences to the nearest row of the same and of another class",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n² p",
        streams=True,
        on_device=True,
    ),
    "relieff": Method(
        path="featly.filters.relieff:ReliefF",
        family="filter",
        tier="stable",
        summary="differences to the nearest rows of the same and of other classes",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n² p",
        streams=True,
        on_device=True,
    ),
    "multisurf": Method(
        path="featly.filters.multisurf:MultiSURF",
        family="filter",
        tier="historical",
        summary="differences to all rows that are near, which are chosen by row",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior", "costs"),
        cost="n² p",
        streams=True,
        on_device=True,
    ),
    "cfs": Method(
        path="featly.filters.cfs:CFS",
        family="filter",
        tier="stable",
        summary="a subset that goes with the class and not with itself",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="n p a chosen column",
        targets=ANY_TARGET,
    ),
    "fcbf": Method(
        path="featly.filters.fcbf:FCBF",
        family="filter",
        tier="historical",
        summary="a subset without columns that others cover",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p a chosen column",
        targets=ANY_TARGET,
    ),
    "redundancy-filter": Method(
        path="featly.filters.redundancy_filter:RedundancyFilter",
        family="filter",
        tier="stable",
        summary="all columns but those that better ones tell already",
        kinds=("continuous", "ordinal"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p a chosen column",
        streams=True,
        on_device=True,
        targets=ANY_TARGET,
    ),
    "interact": Method(
        path="featly.filters.interact:Interact",
        family="filter",
        tier="historical",
        summary="a subset by consistency, columns tried from the weakest",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p",
        targets=ANY_TARGET,
    ),
    "consistency": Method(
        path="featly.filters.consistency:Consistency",
        family="filter",
        tier="stable",
        summary="the smallest subset in which equal rows have equal classes",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p a step",
        targets=ANY_TARGET,
    ),
    "svm-rfe": Method(
        path="featly.elimination.svm_rfe:SVMRFE",
        family="elimination",
        tier="stable",
        summary="backward elimination by a support vector machine: linear, clinical or Gaussian",
        kinds=("continuous", "ordinal", "categorical"),
        missing=False,
        sparse=True,
        many_classes=False,
        uses=("keep", "prior"),
        cost="n² p, + n² a round; n p² a round where n is much larger",
        streams=True,
        on_device=True,
        weights=True,
    ),
    "mkl-rfe": Method(
        path="featly.elimination.mkl_rfe:MKLRFE",
        family="elimination",
        tier="stable",
        summary="backward elimination by the weights of a kernel a column, for mixed columns",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=False,
        uses=("keep", "prior"),
        cost="n² p, some ten times a round",
        on_device=True,
        weights=True,
    ),
    "multiclass-svm-rfe": Method(
        path="featly.elimination.multiclass_svm_rfe:MulticlassSVMRFE",
        family="elimination",
        tier="stable",
        summary="one backward elimination for all classes, by a machine for many classes",
        kinds=("continuous", "ordinal", "categorical"),
        missing=False,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior"),
        cost="n² p, + d³ a round for d free dual variables",
        weights=True,
    ),
    "arom": Method(
        path="featly.embedded.arom:AROM",
        family="embedded",
        tier="stable",
        summary="few weights by rescaling a linear machine, with a prior on columns",
        kinds=("continuous", "ordinal", "categorical"),
        missing=False,
        sparse=True,
        many_classes=False,
        uses=("keep", "prior"),
        cost="n^2 p per iteration",
        streams=True,
        on_device=True,
    ),
    "pairwise": Method(
        path="featly.ensembles.pairwise:PairwiseRanker",
        family="ensemble",
        tier="stable",
        summary="a ranking for each pair of classes, combined into one",
        kinds=("continuous", "ordinal", "categorical"),
        missing=False,
        sparse=True,
        many_classes=True,
        uses=("keep", "prior"),
        cost="that of the ranker, on 2 / c of the rows, c (c - 1) / 2 times",
        streams=True,
        on_device=True,
        weights=True,
    ),
    "forest": Method(
        path="featly.embedded.forest_ranker:ForestRanker",
        family="embedded",
        tier="stable",
        summary="random forest: accuracy lost out of bag when a column is permuted",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="trees x n √p log n",
        weights=True,
    ),
    "perceptron": Method(
        path="featly.embedded.perceptron_ranker:PerceptronRanker",
        family="embedded",
        tier="historical",
        summary="FS-P: weights of a perceptron",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "costs"),
        cost="min(n², n p) an epoch, n² p once where n < p",
    ),
    "hybrid-forward": Method(
        path="featly.wrappers.hybrid_forward:HybridForward",
        family="wrapper",
        tier="historical",
        summary="numbers and categories ranked apart, merged by what a learner makes of them",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p, + n (5-nn: n²) for each step of the merge",
    ),
    "wrapper": Method(
        path="featly.wrappers.wrapper:Wrapper",
        family="wrapper",
        tier="stable",
        summary="a subset by what a learner makes of it, in inner folds",
        kinds=("continuous", "ordinal", "categorical"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep", "column_groups"),
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


def suggested(names: Iterable[str]) -> str:
    """Return methods for an error to suggest: some by name, and where to find the others.

    Examples
    --------
    >>> from featly.registry import suggested
    >>> suggested(["FTest", "GainRatio", "MKLRFE", "DISR"])
    'FTest, MKLRFE and others (`featly methods` lists them)'
    """
    methods = list(names)
    first = [name for name in FIRST if name in methods] or methods[:3]
    listed = ", ".join(first)
    if len(first) == len(methods):
        return listed
    return f"{listed} and others (`featly methods` lists them)"
