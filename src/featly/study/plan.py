"""A study: methods x datasets x splits x sizes, written down before it is run."""

import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError, StudyError
from featly.basics.params import FLAG, OneOf, Whole, check_value
from featly.basics.progress import TimedProgress
from featly.learners import LEARNERS, balance, make_learner
from featly.measures.scores import SCORE_METRICS
from featly.registry import METHODS, describe_unknown_method, find_method, method_class
from featly.study.dataset import Dataset
from featly.study.evaluate import Protocol, Sizes, sizes_for
from featly.study.results import GREATER, SELECTION_METRICS, Results
from featly.study.splits import Splitter, Subsampling, as_splitter
from featly.study.verdicts import Claim, Verdicts

__all__ = ["Study"]

# parameters of methods that do not change a result
NEUTRAL_PARAMETERS = ("n_jobs", "verbose", "device", "memory_limit", "cache")
# libraries whose versions are stored with the results
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "polars")
RESERVED_NAMES = ("dataset", "learner", "size")  # columns of tables that have one per method
MAX_NAMES = 100_000  # column names are stored with the results up to so many columns
# metrics of rows in their own frequencies: a rare class counts as little as it has rows
FREQUENCY_METRICS = ("accuracy", "error", "brier", "log_loss")


class Study:
    """Evaluate selection methods on rows that the selection never saw.

    At every split each method ranks the columns on the training part alone, a learner is trained
    on the best 1, 2, 4, ... of them, and predicts the test part. The results say how well each
    method predicts, how stable its selections are, how many columns to take and whether methods
    differ by more than chance.

    Parameters
    ----------
    methods : str, estimator, list or dict
        Names (``featly methods`` lists them), estimators that have ``order_``, ``ranking_`` or
        ``get_support()`` once fitted, or a dict of either under names of your own. ``"none"`` is
        no selection: all columns.
    datasets : (X, y), Dataset, path, object with X and y, list or dict of those
    splits : splitter, int or scikit-learn splitter, default=Subsampling(200, test_size=0.1)
        See :mod:`featly.study.splits`. A number is that many folds.
    sizes : "powers", "all", "rule-of-thumb", int, list of int or callable, default="powers"
        Numbers of columns at which rankings are evaluated; powers go from 1 to 512.
    learner : str, classifier, list or dict, default="linear-svm"
        The classifier trained on the selected columns: a name (see
        :data:`featly.learners.LEARNERS`) or any scikit-learn classifier. If it tunes itself, as
        ``GridSearchCV`` does, it does so on the training part alone.
    balanced : bool or "auto", default="auto"
        Whether learners given by name are trained with classes of equal weight, see
        :func:`featly.learners.balance`. "auto" does so unless `metric` is "accuracy", "error",
        "brier" or "log_loss", which judge rows in the frequencies of the table. A classifier of
        your own is trained as it is.
    metric : str or None, default=None
        The metric of :meth:`Results.summary` and the other tables, unless they are given another.
        None is "bcr".
    metrics : sequence of str, default=("bcr", "accuracy")
        Metrics stored with the results; others can be computed afterwards.
    keep_predictions : bool or "auto", default="auto"
        Whether the decision values or probabilities of all test rows are kept, from which AUC,
        Brier score, calibration and other thresholds are computed. "auto" keeps them if they take
        up to 128 MiB, or if `metric` or `metrics` need them.
    selection : {"inside", "outside"}, default="inside"
        "outside" selects once on all rows, as some papers did. Test rows then influence the
        selection, and every result is labelled as biased.
    cut_at_relevant : bool, default=False
        On made tables: where all relevant columns lead a ranking, larger sizes stop there, see
        :func:`featly.measures.recovery.cut_at_relevant`. `size` stays the number asked for.
    fill : bool or "draw", default=False
        Fill missing values with medians and a level "missing", learnt on the training part, for
        methods that need complete columns. "draw" takes values of the same column instead, so that
        nothing is learnt from what is missing; see :class:`featly.preprocessing.Filler`.
    resample : imbalanced-learn sampler or None, default=None
        Balances the training part, never the test part.
    null : int, default=0
        How often everything is repeated with shuffled labels, see :meth:`Results.null_test`.
    claims : sequence of Claim
        Published claims to compare with the results; see :meth:`verdicts`.
    title : str
    random_state : int, default=0
        Seed of the random numbers.
        It is used for the shuffled labels, and for methods, learners and samplers whose own is
        None, so that a study can be repeated. Splitters have their own.

    Attributes
    ----------
    results : Results or None
        Those of the last run.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study import Study, Subsampling
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 30)), np.repeat(["ill", "well"], 30)
    >>> X[:, 4] += 2 * (y == "ill")
    >>> study = Study(["f-test", "svm-rfe"], (X, y), splits=Subsampling(20))
    >>> summary = study.run().summary()
    >>> summary.select("method", "size").rows()
    [('f-test', 1), ('svm-rfe', 1)]
    """

    def __init__(
        self,
        methods: Any,
        datasets: Any,
        splits: Any = None,
        *,
        sizes: Sizes = "powers",
        learner: Any = "linear-svm",
        balanced: bool | str = "auto",
        metric: str | None = None,
        metrics: Sequence[str] = ("bcr", "accuracy"),
        keep_predictions: bool | str = "auto",
        selection: str = "inside",
        cut_at_relevant: bool = False,
        fill: bool | str = False,
        resample: Any = None,
        null: int = 0,
        claims: Sequence[Claim] = (),
        title: str = "",
        random_state: int = 0,
    ) -> None:
        self.methods: dict[str, Any] = _methods(methods)
        self.datasets: dict[str, Dataset] = _datasets(datasets)
        self.splits: Splitter = as_splitter(
            Subsampling(200, test_size=0.1) if splits is None else splits
        )
        self.sizes = sizes
        self.metric: str = "bcr" if metric is None else metric
        self.balanced: bool = settle_balanced(balanced, self.metric)
        self.learners: dict[str, Any] = _learners(learner, self.balanced)
        metrics = [metrics] if isinstance(metrics, str) else metrics
        first = [] if metric is None else [metric]
        self.metrics: tuple[str, ...] = tuple(dict.fromkeys([*first, *metrics]))
        self.keep_predictions = keep_predictions
        self.selection = selection
        self.cut_at_relevant = cut_at_relevant
        check_value("fill", fill, FLAG, OneOf("draw"))
        self.fill = fill
        self.resample = resample
        self.null = null
        self.claims: tuple[Claim, ...] = tuple(claims)
        self.title = title
        self.random_state = random_state
        self.results: Results | None = None
        self._check()

    def _check(self) -> None:
        if self.selection not in ("inside", "outside"):
            raise ParameterError(f"selection={self.selection!r}: give 'inside' or 'outside'")
        Whole(at_least=0).check("null", self.null)
        for metric in self.metrics:
            if metric not in GREATER:
                raise ParameterError(
                    f"there is no metric {metric!r}: there are {', '.join(GREATER)}"
                )
        self._check_scores()
        if self.resample is not None and not hasattr(self.resample, "fit_resample"):
            raise ParameterError(
                f"resample={self.resample!r}: give a sampler of imbalanced-learn's, an object "
                "with fit_resample"
            )
        Whole(at_least=0).check("random_state", self.random_state)
        truth = [m for m in self.metrics if m in SELECTION_METRICS and m != "categorical"]
        if truth and all(dataset.roles is None for dataset in self.datasets.values()):
            raise ParameterError(
                f"metric {truth[0]!r} needs a dataset of which the truth is known: none here says "
                "which columns are relevant"
            )
        FLAG.check("cut_at_relevant", self.cut_at_relevant)
        if self.cut_at_relevant and all(d.roles is None for d in self.datasets.values()):
            raise ParameterError(
                "cut_at_relevant=True needs a dataset of which the truth is known: none here says "
                "which columns are relevant"
            )
        for dataset in self.datasets.values():
            if self.fill and dataset.columns_with_missing and hasattr(dataset.X, "indptr"):
                raise DataError(
                    f"fill=True: dataset {dataset.name!r} is sparse, and missing values in it "
                    "cannot be filled: pass it dense"
                )
            if not sizes_for(self.sizes, dataset.n_features):
                raise ParameterError(
                    f"sizes={self.sizes!r}: dataset {dataset.name!r} has "
                    f"{dataset.n_features} columns only"
                )

    def _check_scores(self) -> None:
        """Settle whether predictions are kept; refuse metrics that the learners cannot give."""
        keep = self.keep_predictions
        check_value("keep_predictions", keep, FLAG, OneOf("auto"))
        wanted = [metric for metric in self.metrics if metric in SCORE_METRICS]
        if not wanted:
            return
        if keep is False:
            raise ParameterError(
                f"metric {wanted[0]!r} is computed from predictions: leave out "
                "keep_predictions=False"
            )
        self.keep_predictions = True
        for metric in wanted:
            for name, learner in self.learners.items():
                require_scores(metric, name, learner)

    def __repr__(self) -> str:
        return (
            f"Study({len(self.methods)} methods, {len(self.datasets)} datasets, {self.splits!r}, "
            f"{', '.join(self.learners)})"
        )

    # ---- running ----------------------------------------------------------------------------
    def run(
        self,
        directory: str | Path | None = None,
        *,
        n_jobs: int | None = None,
        verbose: bool | TimedProgress = False,
    ) -> Results:
        """Run all fits that are not done yet, and return the results.

        Parameters
        ----------
        directory : path or None
            Folder for the results. A study that was stopped or killed goes on from there; one that
            is finished is read. None stores nothing.
        n_jobs : int or None, default=None
            Threads; None means all cores. The result does not depend on it.
            A study uses processes in place of threads; -1 means all cores, too.
        verbose : bool or callable, default=False
            True shows a progress bar; a function is called with (done, total).
            A study counts fits. The function gets a third value: the seconds left, or None while
            they cannot be estimated.

        Returns
        -------
        Results
        """
        from featly.study.run import run

        if directory is None:
            with tempfile.TemporaryDirectory(prefix="featly-study-") as folder:
                self.results = run(self, Path(folder), n_jobs=n_jobs, verbose=verbose)
                if self.results.predictions is not None:  # the folder is about to go
                    self.results.predictions = self.results.predictions.into_memory()
        else:
            self.results = run(self, Path(directory), n_jobs=n_jobs, verbose=verbose)
        self.results.claims = self.claims
        return self.results

    def protocol(self, *, one_thread: bool = False) -> Protocol:
        """Return the steps of every split."""
        return Protocol(
            learners=self.learners,
            sizes=self.sizes,
            selection=self.selection,
            fill=self.fill,
            resample=self.resample,
            random_state=int(self.random_state),
            one_thread=one_thread,
            cut_at_relevant=self.cut_at_relevant,
        )

    def describe(self) -> dict[str, Any]:
        """Return the plan in words and numbers, as it is stored with the results."""
        return {
            "title": self.title,
            "methods": {name: describe_value(method) for name, method in self.methods.items()},
            "datasets": {
                name: self._describe_dataset(dataset) for name, dataset in self.datasets.items()
            },
            "splits": repr(self.splits),
            "splitter": type(self.splits).__name__,
            "estimator": getattr(self.splits, "estimator", None),
            "sizes": describe_value(self.sizes),
            "learners": {name: describe_value(learner) for name, learner in self.learners.items()},
            "balanced": self.balanced,
            "metric": self.metric,
            "metrics": list(self.metrics),
            "selection": self.selection,
            "cut_at_relevant": self.cut_at_relevant,
            "fill": self.fill,
            "resample": describe_value(self.resample),
            "null": int(self.null),
            "random_state": int(self.random_state),
            "versions": _versions(),
        }

    def _describe_dataset(self, dataset: Dataset) -> dict[str, Any]:
        about = _describe_dataset(dataset)
        if callable(self.sizes):  # the name of a function does not say what it returns
            about["sizes"] = [str(size) for size in sizes_for(self.sizes, dataset.n_features)]
        return about

    # ---- results ----------------------------------------------------------------------------
    def _require_results(self) -> Results:
        if self.results is None:
            raise StudyError("the study has not been run yet: call run() first")
        return self.results

    def summary(self, *args: Any, **options: Any) -> Any:
        """See :meth:`Results.summary`."""
        return self._require_results().summary(*args, **options)

    def curves(self, *args: Any, **options: Any) -> Any:
        """See :meth:`Results.curves`."""
        return self._require_results().curves(*args, **options)

    def compare(self, *args: Any, **options: Any) -> Any:
        """See :meth:`Results.compare`."""
        return self._require_results().compare(*args, **options)

    def verdicts(self) -> Verdicts:
        """See :meth:`Results.verdicts`."""
        return self._require_results().verdicts()


# ---- reading the parameters ----------------------------------------------------------------------
def _methods(methods: Any) -> dict[str, Any]:
    """Return the estimators by name; None stands for no selection."""
    if isinstance(methods, Mapping):
        named = dict(methods)
    else:
        listed = [methods] if isinstance(methods, str) or not _is_list(methods) else list(methods)
        named = {}
        for method in listed:
            name = method if isinstance(method, str) else _short_name(method)
            if name in named:
                raise ParameterError(
                    f"two methods are called {name!r}: pass a dict with names of your own"
                )
            named[name] = method
    if not named:
        raise ParameterError("a study needs at least one method")
    for name in named:
        if name in RESERVED_NAMES:
            raise ParameterError(f"no method can be called {name!r}, it is a column of the tables")
    return {str(name): _method(method) for name, method in named.items()}


def _method(method: Any) -> Any:
    if method is None or method == "none":
        return None
    if isinstance(method, str):
        if find_method(method) is None:
            raise ParameterError(describe_unknown_method(method))
        return method_class(method)()
    if isinstance(method, type):
        raise ParameterError(f"method {method.__name__} is a class: write {method.__name__}()")
    if not hasattr(method, "fit") or not hasattr(method, "get_params"):
        raise ParameterError(f"{method!r} is no method: give a name or a scikit-learn selector")
    return method


def _short_name(method: Any) -> str:
    if method is None:
        return "none"
    kind = type(method).__name__
    return next((name for name, m in METHODS.items() if m.class_name == kind), kind)


def _datasets(datasets: Any) -> dict[str, Dataset]:
    if isinstance(datasets, Mapping):
        named = {str(name): _dataset(data, str(name)) for name, data in datasets.items()}
    else:
        listed = list(datasets) if isinstance(datasets, list) else [datasets]
        named = {}
        for data in listed:
            own_name = None if isinstance(data, Path) else getattr(data, "name", None)
            dataset = _dataset(data, own_name or "data")
            if dataset.name in named:
                raise ParameterError(
                    f"two datasets are called {dataset.name!r}: pass a dict with names of your own"
                )
            named[dataset.name] = dataset
    if not named:
        raise ParameterError("a study needs at least one dataset")
    return named


def _dataset(data: Any, name: str) -> Dataset:
    if isinstance(data, str | Path):
        from featly.study.plan_files import read_dataset

        return read_dataset(data, name=name if name != "data" else Path(data).name.split(".")[0])
    if isinstance(data, tuple):
        if len(data) != 2:
            raise DataError(f"dataset {name!r}: give (X, y), a Dataset, or an object with X and y")
        return Dataset.of(*data, name=name)
    return Dataset.of(data, name=name)


def settle_balanced(balanced: bool | str, metric: str) -> bool:
    """Return whether learners are trained with classes of equal weight; "auto" by the metric."""
    if balanced == "auto":
        return metric not in FREQUENCY_METRICS
    check_value("balanced", balanced, FLAG, OneOf("auto"))
    return bool(balanced)


def default_learner(methods: Iterable[Any]) -> str:
    """Return the name of the learner that judges methods where the user names none.

    Parameters
    ----------
    methods : iterable of str, method or None
        What ranks by neighbours is also judged by neighbours, and what it is compared with, too.
    """
    classes = [
        method_class(method) if isinstance(method, str) else method
        for method in methods
        if method not in (None, "none")
    ]
    by_neighbours = any(getattr(method, "_by_neighbours", False) for method in classes)
    return "linear-or-neighbours" if by_neighbours else "linear-svm"


def require_scores(metric: str, name: str, learner: Any) -> None:
    """Raise ParameterError if a learner gives no scores for a metric."""
    has_probabilities = hasattr(learner, "predict_proba")
    if has_probabilities or (
        hasattr(learner, "decision_function") and not SCORE_METRICS[metric].needs_probabilities
    ):
        return
    if SCORE_METRICS[metric].needs_probabilities:
        able = [n for n in LEARNERS if hasattr(make_learner(n), "predict_proba")]
        raise ParameterError(
            f"metric {metric!r} needs probabilities, which learner {name!r} does not give: take "
            f"another metric, or one of {', '.join(able)}"
        )
    raise ParameterError(
        f"metric {metric!r} needs decision values or probabilities, and learner {name!r} gives "
        "neither: take another metric or another learner"
    )


def _learners(learner: Any, balanced: bool) -> dict[str, Any]:
    if isinstance(learner, Mapping):
        named = dict(learner)
    else:
        listed = [learner] if isinstance(learner, str) or not _is_list(learner) else list(learner)
        named = {
            classifier if isinstance(classifier, str) else type(classifier).__name__: classifier
            for classifier in listed
        }
        if len(named) != len(listed):
            raise ParameterError("two learners have the same name: pass a dict")
    learners = {
        str(name): _named_learner(classifier, balanced)
        if isinstance(classifier, str)
        else classifier
        for name, classifier in named.items()
    }
    for name, classifier in learners.items():
        if isinstance(classifier, type):
            raise ParameterError(
                f"learner {classifier.__name__} is a class: write {classifier.__name__}()"
            )
        if not hasattr(classifier, "fit") or not hasattr(classifier, "predict"):
            raise ParameterError(f"learner {name!r} has no fit and predict: give a classifier")
        if getattr(classifier, "schema", None) is not None:
            raise ParameterError(
                f"learner {name!r} has a schema of its own, but sees the selected columns only, in "
                "the order of their rank: give the dataset the schema"
            )
    return learners


def _named_learner(name: str, balanced: bool) -> Any:
    learner = make_learner(name)
    return balance(learner) if balanced else learner


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


# ---- the plan as text ----------------------------------------------------------------------------
def describe_value(value: Any) -> str:
    """Return a text that is the same for the same thing in every run."""
    if value is None:
        return "none"
    if hasattr(value, "get_params") and hasattr(value, "fit"):
        parameters = {
            k: v for k, v in value.get_params(deep=False).items() if k not in NEUTRAL_PARAMETERS
        }
        inside = ", ".join(
            f"{name}={describe_value(entry)}" for name, entry in sorted(parameters.items())
        )
        return f"{type(value).__name__}({inside})"
    if hasattr(value, "fit_resample"):
        return repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {describe_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(describe_value(entry) for entry in value) + "]"
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    if isinstance(value, np.ndarray | np.generic):
        return describe_value(value.tolist())
    return repr(value)


def _describe_dataset(dataset: Dataset) -> dict[str, Any]:
    from featly.basics.kinds import KINDS

    labels, counts = np.unique(dataset.codes, return_counts=True)
    about: dict[str, Any] = {
        "hash": dataset.fingerprint,
        "rows": dataset.n_rows,
        "columns": dataset.n_features,
        "classes": {
            str(dataset.classes[label]): int(n) for label, n in zip(labels, counts, strict=True)
        },
        "kinds": {
            kind: np.flatnonzero(dataset.kinds == code).tolist()
            for code, kind in enumerate(KINDS)
            if kind != "continuous" and (dataset.kinds == code).any()
        },
        "columns_with_gaps": len(dataset.columns_with_missing),
        "row_groups": None if dataset.row_groups is None else int(dataset.row_groups.max()) + 1,
    }
    if dataset.n_features <= MAX_NAMES:
        about["names"] = [str(name) for name in dataset.names[:]]
    if dataset.roles is not None:
        about["roles"] = {
            "relevant": [list(group) for group in dataset.roles.relevant],
            "redundant": {name: list(c) for name, c in dataset.roles.redundant.items()},
        }
    return about


def _versions() -> dict[str, str]:
    from featly import __version__

    versions = {"featly": __version__, "python": platform.python_version()}
    for library in LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            continue
    return versions
