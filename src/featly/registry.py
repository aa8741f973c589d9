"""Every method in one literal: the command line, the checks and the docs read it.

Reading it imports neither numba nor scikit-learn. A new method is one file and one entry here;
the tests hold each entry against what its class declares.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

__all__ = ["METHODS", "Method", "method_class", "methods_that"]


@dataclass(frozen=True)
class Method:
    """What is known about a method without importing it.

    Parameters
    ----------
    path : str
        ``"module:Class"``.
    family : {"filter", "elimination", "embedded", "wrapper"}
        A filter scores every column once; an elimination drops the worst ones round by round; an
        embedded method reads the columns' worth off one model; a wrapper tries sets of columns
        with a learner.
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
    cost : str
        Operations, for n rows and p columns.
    """

    path: str
    family: Literal["filter", "elimination", "embedded", "wrapper"]
    tier: Literal["stable", "historical"]
    summary: str
    kinds: tuple[str, ...]
    missing: bool
    sparse: bool
    many_classes: bool
    uses: tuple[str, ...]
    cost: str

    @property
    def class_name(self) -> str:
        """The name under which ``featly`` offers it."""
        return self.path.partition(":")[2]


METHODS: dict[str, Method] = {
    "f-test": Method(
        path="featly.filters.f_test:FTest",
        family="filter",
        tier="stable",
        summary="analysis of variance of each column over the classes",
        kinds=("continuous", "ordinal"),
        missing=True,
        sparse=True,
        many_classes=True,
        uses=("keep",),
        cost="n p, one pass",
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
        uses=("keep",),
        cost="n p, n log n for ranks; tables by their margins",
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
        uses=("keep",),
        cost="n p; n p log n to cut numbers",
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
        uses=("keep",),
        cost="n p; n p log n to cut numbers",
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
        uses=("keep",),
        cost="n p; n p log n to cut numbers",
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
        uses=("keep",),
        cost="n p; n p log n to cut numbers",
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
        uses=("keep",),
        cost="n² p, + n² a round; n p² a round where n is much larger",
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
        uses=("keep",),
        cost="n² p, some ten times a round",
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
        uses=("keep",),
        cost="trees x n √p log n",
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
}


def method_class(name: str) -> Any:
    """The class of a method, by its name in the registry or its class name.

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
    """Class names of the methods with these properties; ``kind=`` asks for one kind of column.

    Examples
    --------
    >>> from featly.registry import methods_that
    >>> "FTest" in methods_that(missing=True, many_classes=True)
    True
    """
    kind = wanted.pop("kind", None)
    return [
        method.class_name
        for method in METHODS.values()
        if all(getattr(method, key) == value for key, value in wanted.items())
        and (kind is None or kind in method.kinds)
    ]
