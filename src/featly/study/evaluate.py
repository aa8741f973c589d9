"""One method on one split: rank the training rows, train at every size, predict the test rows.

No test row is used before the columns are ranked, the missing values filled and the learner
trained. Test rows are only transformed and predicted.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from featly.basics.errors import DataError, NoEvidenceWarning, ParameterError
from featly.basics.params import Whole
from featly.basics.typing import AnyArray, IntArray
from featly.measures.classification import confusion_matrix
from featly.measures.recovery import cut_at_relevant
from featly.preprocessing import Filler
from featly.study.dataset import Dataset, take_rows
from featly.study.kept import KeptRows
from featly.study.predict import Predictions, columns_of, error_text, predict_sizes
from featly.study.splits import Split
from featly.study.store import Fit, Outcome
from featly.table.frames import is_frame

__all__ = [
    "Parts",
    "Protocol",
    "copy_for",
    "copy_unfitted",
    "evaluate",
    "fill_rule",
    "fit_to_all_rows",
    "rank_columns",
    "read_columns",
    "sizes_for",
    "warning_texts",
]

Sizes = str | int | Sequence[int] | Callable[[int], Sequence[int]]
LARGEST_POWER = 512


@dataclass(frozen=True)
class Protocol:
    """Settings of what is done at every split.

    Attributes
    ----------
    learners : mapping of name to classifier
    sizes : as for :func:`sizes_for`
    selection : {"inside", "outside"}
    fill : bool or "draw"
    resample : object with ``fit_resample``, or None
    random_state : int
        Seed of the random numbers.
        It is used for methods, learners and samplers whose own is None.
    one_thread : bool
        Whether methods use one thread, because other fits run at the same time.
    keep_predictions : bool
        Whether the predictions of every test row are kept beside the confusion matrix.
    cut_at_relevant : bool
        Whether rankings that all relevant columns lead are cut there.
    """

    learners: Mapping[str, Any]
    sizes: Sizes = "powers"
    selection: str = "inside"
    fill: bool | str = False
    resample: Any = None
    random_state: int = 0
    one_thread: bool = False
    keep_predictions: bool = False
    cut_at_relevant: bool = False


def sizes_for(sizes: Sizes, n_features: int) -> list[int]:
    """Return the numbers of columns at which a ranking of `n_features` columns is evaluated.

    Parameters
    ----------
    sizes : "powers", "all", "rule-of-thumb", int, sequence of int, or callable
        Powers of two up to 512, every number, the rule of thumb of
        :func:`featly.measures.sizes.choose_size`, given numbers (those above `n_features` are left
        out), or a function of the number of columns.
    n_features : int

    Returns
    -------
    list of int
        Ascending.

    Examples
    --------
    >>> from featly.study.evaluate import sizes_for
    >>> sizes_for("powers", 20), sizes_for([5, 10, 50], 20)
    ([1, 2, 4, 8, 16], [5, 10])
    """
    if callable(sizes):
        sizes = list(sizes(n_features))
    if isinstance(sizes, str):
        if sizes == "powers":
            top = min(n_features, LARGEST_POWER)
            return [1 << k for k in range(top.bit_length()) if 1 << k <= top]
        if sizes == "all":
            return list(range(1, n_features + 1))
        if sizes == "rule-of-thumb":
            from featly.measures.sizes import choose_size

            return [choose_size(None, "rule-of-thumb", n_features=n_features)]
        raise ParameterError(
            f"sizes={sizes!r}: give 'powers', 'all', 'rule-of-thumb' or a list of numbers"
        )
    wanted = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
    for size in wanted:
        if not Whole(at_least=1).accepts(size):
            raise ParameterError(f"sizes holds {size!r}: a size is a whole number from 1")
    return sorted({int(size) for size in wanted if size <= n_features})


def evaluate(
    dataset: Dataset,
    name: str,
    method: Any,
    split: Split,
    protocol: Protocol,
    *,
    null_draw: int = 0,
    order: AnyArray | None = None,
    subset: bool = False,
) -> Fit:
    """Rank on the training rows, train and predict at every size; an error becomes a result.

    If `order` is given, that ranking is evaluated and the method is not fitted. `subset` says
    whether it is a selection, which is evaluated at its own size alone.
    """
    key: dict[str, Any] = {
        "dataset": dataset.name,
        "method": name,
        "split": split.number,
        "null_draw": null_draw,
        "n_train": len(split.train),
        "n_test": len(split.test),
    }
    if protocol.keep_predictions:
        key |= {"test_rows": split.test, "test_codes": dataset.codes[split.test]}
    began = time.perf_counter()
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            parts = Parts.from_split(dataset, split, protocol)
            if order is None:
                order, subset = rank_columns(parts, method, dataset, protocol)
        except Exception as problem:  # of any kind: the rest of the study goes on
            error = error_text(problem)
    notes = warning_texts(caught)
    seconds = time.perf_counter() - began
    if error is not None or order is None:
        return Fit(**key, seconds=seconds, error=error, notes=tuple(notes))
    sizes = [len(order)] if subset else sizes_for(protocol.sizes, dataset.n_features)
    roles = dataset.roles if protocol.cut_at_relevant and not subset else None
    taken = [size if roles is None else cut_at_relevant(order, size, roles) for size in sizes]
    outcomes: list[Outcome] = []
    if sizes:
        for learner_name, learner in protocol.learners.items():
            learner_outcomes, learner_notes = _evaluate_learner(
                learner_name, learner, parts, order, sorted(set(taken)), protocol
            )
            at_size = {outcome.size: outcome for outcome in learner_outcomes}
            learner_outcomes = [
                replace(at_size[n], size=size) for n, size in zip(taken, sizes, strict=True)
            ]
            outcomes += learner_outcomes
            notes += [note for note in learner_notes if note not in notes]
    return Fit(
        **key, order=order, subset=subset, seconds=seconds, notes=tuple(notes), outcomes=outcomes
    )


@dataclass
class Parts:
    """Training and test rows, the training rows filled and resampled if the protocol says so.

    Attributes
    ----------
    X, y
        Training rows and their labels.
    X_test
        Test rows, filled by what the training rows say.
    codes_test : int64 array
        The classes of the test rows.
    classes : array
        The labels of all classes.
    """

    X: Any
    y: AnyArray
    X_test: Any
    codes_test: IntArray
    classes: AnyArray

    @classmethod
    def from_split(cls, dataset: Dataset, split: Split, protocol: Protocol) -> "Parts":
        """Take the rows of a split, and do to the training rows what the protocol says."""
        X, X_test = take_rows(dataset.X, split.train), take_rows(dataset.X, split.test)
        y = dataset.y[split.train]
        if protocol.fill and dataset.columns_with_missing and not hasattr(X, "indptr"):
            filler = Filler(
                columns=dataset.columns_with_missing,
                rule=fill_rule(protocol.fill),
                random_state=protocol.random_state,
            ).fit(X)
            X, X_test = filler.transform(X), filler.transform(X_test)
        if protocol.resample is not None:
            X, y = _resample(copy_unfitted(protocol.resample, protocol), X, y)
        return cls(X, y, X_test, dataset.codes[split.test], dataset.classes)


def fill_rule(fill: bool | str) -> str:
    """Return the rule of the filler for the `fill` of a study."""
    return fill if isinstance(fill, str) else "median"


def copy_unfitted(estimator: Any, protocol: Protocol) -> Any:
    """Return an unfitted copy; every random_state that is None becomes the study's seed."""
    copy = clone(estimator)
    unseeded = [
        name
        for name, value in copy.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    return copy.set_params(**dict.fromkeys(unseeded, protocol.random_state)) if unseeded else copy


def _resample(sampler: Any, X: Any, y: AnyArray) -> tuple[Any, AnyArray]:
    """Balance the training rows; samplers that only choose rows work on any table."""
    if not is_frame(X):
        X, y = sampler.fit_resample(X, y)
        return X, y
    # texts in place of rows: samplers that choose rows at random accept them, those that measure
    # distances or make new rows fail
    rows = np.array([f"row {k}" for k in range(len(y))], dtype=object)[:, None]
    try:
        sampler.fit_resample(rows, y)
        chosen = sampler.sample_indices_
    except (AttributeError, TypeError, ValueError) as problem:
        raise DataError(
            f"{type(sampler).__name__} cannot resample mixed columns: use one that chooses at "
            f"random among the rows there are, such as RandomOverSampler ({error_text(problem)})"
        ) from None
    return X[chosen], y[chosen]


def rank_columns(
    parts: Parts, method: Any, dataset: Dataset, protocol: Protocol
) -> tuple[AnyArray, bool]:
    """Return columns, best first, and whether the method chose their number itself."""
    if method is None:
        return np.arange(dataset.n_features), True
    return read_columns(_fit_method(method, parts.X, parts.y, dataset, protocol), dataset)


def read_columns(method: Any, dataset: Dataset) -> tuple[AnyArray, bool]:
    """Return the columns of a fitted method, best first, and whether it chose their number."""
    p = dataset.n_features
    if hasattr(method, "order_"):
        order = _check_columns(method.order_, p, method)
        return order, len(order) < p or not hasattr(method, "ranking_")
    if hasattr(method, "ranking_") and len(set(method.ranking_)) == p:
        return np.argsort(method.ranking_, kind="stable"), False
    if hasattr(method, "get_support"):
        return _check_columns(method.get_support(indices=True), p, method), True
    raise DataError(
        f"{type(method).__name__} has no order_, ranking_ or get_support(): it does not select "
        "columns"
    )


def _fit_method(method: Any, X: Any, y: AnyArray, dataset: Dataset, protocol: Protocol) -> Any:
    """Fit a fresh copy of a method with the schema of the dataset."""
    method = copy_for(dataset, method, protocol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # studies choose how many to select
        method.fit(X, y)
    return method


def copy_for(dataset: Dataset, method: Any, protocol: Protocol) -> Any:
    """Return an unfitted copy of a method, with the schema of the dataset."""
    method = copy_unfitted(method, protocol)
    parameters = method.get_params(deep=False)
    if "schema" in parameters:
        schema = dataset.schema if parameters["schema"] is None else parameters["schema"]
        method.set_params(schema=dataset.declare_classes(schema))
    if protocol.one_thread and "n_jobs" in parameters and parameters["n_jobs"] is None:
        method.set_params(n_jobs=1)
    return method


def fit_to_all_rows(dataset: Dataset, method: Any, protocol: Protocol) -> Any:
    """Fit the method to all rows, filled and resampled as at every split of a study.

    A study estimates how well such a fit predicts; this fit is the one to use.
    """
    rows = np.arange(dataset.n_rows)
    parts = Parts.from_split(dataset, Split(0, rows, rows[:0]), protocol)
    return _fit_method(method, parts.X, parts.y, dataset, protocol)


def _check_columns(order: Any, n_features: int, method: Any) -> AnyArray:
    """Return the columns of an order; DataError if there are none or one of them twice."""
    columns = np.asarray(order)
    if columns.ndim == 1 and not len(columns):
        raise DataError(f"{type(method).__name__} selected no column")
    is_whole = columns.ndim == 1 and columns.dtype.kind in "iu"
    if not is_whole or columns.min() < 0 or columns.max() >= n_features:
        raise DataError(f"{type(method).__name__} selected columns that the table does not have")
    if np.bincount(columns).max() > 1:
        raise DataError(f"{type(method).__name__} has an order_ with a column twice")
    return columns


def _evaluate_learner(
    name: str,
    learner: Any,
    parts: Parts,
    order: AnyArray,
    sizes: list[int],
    protocol: Protocol,
) -> tuple[list[Outcome], list[str]]:
    best = order[: sizes[-1]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        path = predict_sizes(
            copy_unfitted(learner, protocol),
            columns_of(parts.X, best),
            parts.y,
            columns_of(parts.X_test, best),
            sizes,
            parts.classes,
        )
    outcomes = [_judge(name, predictions, parts, protocol) for predictions in path]
    return outcomes, warning_texts(caught)


def _judge(
    learner_name: str, predictions: Predictions, parts: Parts, protocol: Protocol
) -> Outcome:
    """Return the confusion matrix of predictions, and what is kept of them."""
    size, seconds = predictions.size, predictions.seconds
    if predictions.codes is None:
        return Outcome(learner_name, size, None, seconds, predictions.error)
    confusion = confusion_matrix(parts.codes_test, predictions.codes, len(parts.classes))
    if not protocol.keep_predictions:
        return Outcome(learner_name, size, confusion, seconds)
    kept = KeptRows.from_predictions(predictions, len(parts.classes))
    return Outcome(learner_name, size, confusion, seconds, kept=kept)


def warning_texts(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the different warnings as text, in the order in which they were given."""
    return list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
