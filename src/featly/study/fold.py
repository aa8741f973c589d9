"""One method on one split: rank the training rows, train at every size, predict the test rows.

Nothing here sees a test row before the columns are ranked, the gaps filled and the learner
trained; test rows are only ever transformed and predicted.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from featly.errors import DataError, ParameterError
from featly.frames import is_frame, take_columns
from featly.measures.classification import confusion_matrix
from featly.preprocessing import Filler
from featly.study.dataset import Dataset, take_rows
from featly.study.splits import Split
from featly.study.store import Fit, Outcome

__all__ = ["Protocol", "evaluate", "sizes_for"]

Sizes = str | int | Sequence[int] | Callable[[int], Sequence[int]]
LARGEST_POWER = 512


@dataclass(frozen=True)
class Protocol:
    """What is done at every split.

    Attributes
    ----------
    learners : mapping of name to classifier
    sizes : what :func:`sizes_for` takes
    selection : {"inside", "outside"}
    fill : bool
    resample : object with ``fit_resample``, or None
    one_thread : bool
        Whether methods are held to one thread, because others run beside them.
    """

    learners: Mapping[str, Any]
    sizes: Sizes = "powers"
    selection: str = "inside"
    fill: bool = False
    resample: Any = None
    one_thread: bool = False


def sizes_for(sizes: Sizes, n_features: int) -> list[int]:
    """The numbers of columns at which a ranking of `n_features` columns is evaluated.

    Parameters
    ----------
    sizes : "powers", "all", "rule-of-thumb", int, sequence of int, or callable
        Powers of two up to 512, every number, the book's rule of thumb, some numbers (those above
        `n_features` are left out), or a function of the number of columns.
    n_features : int

    Returns
    -------
    list of int
        Ascending.

    Examples
    --------
    >>> from featly.study.fold import sizes_for
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
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or size < 1:
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
    order: npt.NDArray[Any] | None = None,
    subset: bool = False,
) -> Fit:
    """Rank on the training rows, train and predict at every size; an error becomes a result.

    With `order`, the ranking of another fit is evaluated instead of a new one.
    """
    key: dict[str, Any] = {
        "dataset": dataset.name,
        "method": name,
        "split": split.number,
        "null_draw": null_draw,
        "n_train": len(split.train),
        "n_test": len(split.test),
    }
    began = time.perf_counter()
    notes: list[str] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            parts = _Parts.of(dataset, split, protocol)
            if order is None:
                order, subset = _ranked(parts, method, dataset, protocol)
        notes = _told(caught)
    except Exception as problem:  # whatever a method does, the rest of the study goes on
        seconds = time.perf_counter() - began
        return Fit(**key, seconds=seconds, error=_said(problem), notes=tuple(notes))
    seconds = time.perf_counter() - began
    sizes = [len(order)] if subset else sizes_for(protocol.sizes, dataset.n_features)
    outcomes: list[Outcome] = []
    if sizes:
        for learner_name, learner in protocol.learners.items():
            found, told = _outcomes(learner_name, learner, parts, order, sizes, dataset)
            outcomes += found
            notes += [note for note in told if note not in notes]
    return Fit(
        **key, order=order, subset=subset, seconds=seconds, notes=tuple(notes), outcomes=outcomes
    )


@dataclass
class _Parts:
    """Training and test rows, the training rows filled and resampled if asked for."""

    X: Any
    y: npt.NDArray[Any]
    X_test: Any
    codes_test: npt.NDArray[np.int64]

    @classmethod
    def of(cls, dataset: Dataset, split: Split, protocol: Protocol) -> "_Parts":
        X, X_test = take_rows(dataset.X, split.train), take_rows(dataset.X, split.test)
        y = dataset.y[split.train]
        if protocol.fill and dataset.gappy and not hasattr(X, "indptr"):
            filler = Filler(columns=dataset.gappy).fit(X)
            X, X_test = filler.transform(X), filler.transform(X_test)
        if protocol.resample is not None:
            X, y = _resampled(protocol.resample, X, y)
        return cls(X, y, X_test, dataset.codes[split.test])


def _resampled(sampler: Any, X: Any, y: npt.NDArray[Any]) -> tuple[Any, npt.NDArray[Any]]:
    """Balance the training rows; samplers that only choose rows work on any table."""
    sampler = clone(sampler)
    if not is_frame(X):
        return sampler.fit_resample(X, y)
    sampler.fit_resample(np.arange(len(y))[:, None], y)
    chosen = getattr(sampler, "sample_indices_", None)
    if chosen is None:
        raise DataError(
            f"{type(sampler).__name__} makes new rows, which it can do of numbers only: use one "
            "that chooses among the rows there are, such as RandomOverSampler"
        )
    return X[chosen], y[chosen]


def _ranked(
    parts: _Parts, method: Any, dataset: Dataset, protocol: Protocol
) -> tuple[npt.NDArray[Any], bool]:
    """Columns best first, and whether the method itself said how many."""
    if method is None:
        return np.arange(dataset.n_features), True
    method = clone(method)
    parameters = method.get_params(deep=False)
    if dataset.schema is not None and "schema" in parameters and parameters["schema"] is None:
        method.set_params(schema=dataset.schema)
    if protocol.one_thread and "n_jobs" in parameters and parameters["n_jobs"] is None:
        method.set_params(n_jobs=1)
    method.fit(parts.X, parts.y)
    if hasattr(method, "order_"):
        order = np.asarray(method.order_)
        return order, len(order) < dataset.n_features or not hasattr(method, "ranking_")
    if hasattr(method, "ranking_") and len(set(method.ranking_)) == dataset.n_features:
        return np.argsort(method.ranking_, kind="stable"), False
    if hasattr(method, "get_support"):
        return np.asarray(method.get_support(indices=True)), True
    raise DataError(
        f"{type(method).__name__} leaves neither order_ nor ranking_ nor get_support(): it does "
        "not select columns"
    )


def _outcomes(
    name: str,
    learner: Any,
    parts: _Parts,
    order: npt.NDArray[Any],
    sizes: list[int],
    dataset: Dataset,
) -> tuple[list[Outcome], list[str]]:
    best = order[: sizes[-1]]
    X, X_test = _columns(parts.X, best), _columns(parts.X_test, best)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if hasattr(learner, "predict_path"):
            try:
                predicted = clone(learner).predict_path(X, parts.y, X_test, sizes)
            except Exception as problem:
                said, seconds = _said(problem), time.perf_counter() - began
                return [Outcome(name, size, None, seconds, said) for size in sizes], []
            seconds = (time.perf_counter() - began) / len(sizes)
            found = [
                Outcome(name, size, _confusion(labels, parts, dataset), seconds)
                for size, labels in zip(sizes, predicted, strict=True)
            ]
        else:
            found = [_one_size(name, learner, parts, (X, X_test), size, dataset) for size in sizes]
    return found, _told(caught)


def _one_size(
    name: str, learner: Any, parts: _Parts, tables: tuple[Any, Any], size: int, dataset: Dataset
) -> Outcome:
    began = time.perf_counter()
    try:
        first = np.arange(size)
        trained = clone(learner).fit(_columns(tables[0], first), parts.y)
        matrix = _confusion(trained.predict(_columns(tables[1], first)), parts, dataset)
    except Exception as problem:
        return Outcome(name, size, None, time.perf_counter() - began, _said(problem))
    return Outcome(name, size, matrix, time.perf_counter() - began)


def _confusion(
    predicted: npt.NDArray[Any], parts: _Parts, dataset: Dataset
) -> npt.NDArray[np.int64]:
    codes = np.searchsorted(dataset.classes, np.asarray(predicted))
    return confusion_matrix(parts.codes_test, codes, len(dataset.classes))


def _columns(X: Any, columns: npt.NDArray[Any]) -> Any:
    return take_columns(X, columns.tolist()) if is_frame(X) else X[:, columns]


def _said(problem: Exception) -> str:
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _told(caught: list[warnings.WarningMessage]) -> list[str]:
    """Different warnings, in the order in which they came."""
    return list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught))
