"""Discretise, filter, learn: the three steps of section 5.1 of the book, and what learners see.

The book's order is: first a discretiser over the input data, "with the aim of solving problems of
unbalanced values", then a filter, then a classifier. So learners see cut columns here: as levels
where they take symbols (C4.5, naive Bayes), as numbers of intervals where they need numbers
(one-layer network, PSVM, MLP). Only the symbolic columns that were chosen are converted by SSV, as
in figure 5.1; everything is standardised then. Claims are judged by that. The other interpretation,
the chosen columns as they were before they were cut, is run as well.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from featly import CFS, Consistency, Interact
from featly.basics.typing import FloatArray, IntArray
from featly.combine.decoding import DecodedClassifier, decode
from featly.learners.c45 import C45
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from featly.learners.one_layer import OneLayerNetwork
from featly.learners.proximal_svc import ProximalSVC
from featly.preprocessing import MDLP, PKID, SSVEncoder
from studies.intrusion_data import CLASSES, Data, Outcome
from studies.intrusion_run import FitOutput, Task

DISCRETISERS: dict[str, Any] = {"EMD": MDLP, "PKID": PKID}
FILTERS: dict[str, Any] = {"CFS": CFS, "INT": Interact, "Cons": Consistency}
CUT, WHOLE = "cut", "original"  # what a learner sees
NOTHING = "none"
SEED = 0
SYMBOLS: dict[str, Callable[[], Any]] = {
    "C4.5(0.25)": lambda: C45(confidence=0.25),
    "C4.5(0.50)": lambda: C45(confidence=0.50),
    "NB": MixedNaiveBayes,
}
NUMBERS: dict[str, Callable[[], Any]] = {
    "One-layer": OneLayerNetwork,
    "PSVM": ProximalSVC,
    "MLP": lambda: MLPClassifier(
        hidden_layer_sizes=(10,),
        batch_size=1000,
        early_stopping=True,
        max_iter=100,
        random_state=SEED,
    ),
}
LEARNERS = (*SYMBOLS, *NUMBERS)
RULES = ("hamming", "loss", "sum", "sum-threshold", "probability-sum")
THRESHOLDS = (0.6, 0.7, 0.8, 0.9)
LOSSES = ("exponential", "logistic")
CODES = {"OvR": "ova", "OvO": "ovo"}
INSIDE, CUT_ONCE, ONCE = "inside", "cut once", "once"  # the steps that each problem does by itself


class IntervalNumbers(TransformerMixin, BaseEstimator):
    """Levels of cut columns (Enum) as their numbers; symbols (Categorical) stay."""

    def fit(self, X: pl.DataFrame, y: Any = None) -> "IntervalNumbers":
        """Nothing to learn."""
        self.n_features_in_ = X.width
        return self

    def transform(self, X: pl.DataFrame) -> pl.DataFrame:
        """The same columns."""
        cut = [name for name, dtype in X.schema.items() if dtype == pl.Enum]
        return X.with_columns(pl.col(cut).to_physical().cast(pl.Float64))


def learner(name: str, n_jobs: int | None = None) -> Any:
    """Return a learner by the name that the book gives it."""
    if name in SYMBOLS:
        return SYMBOLS[name]()
    return make_pipeline(
        IntervalNumbers(), SSVEncoder(n_jobs=n_jobs), StandardScaler(), NUMBERS[name]()
    )


def pipeline(
    discretiser_name: str,
    filter_name: str,
    learner_name: str,
    sees: str = CUT,
    n_jobs: int | None = None,
) -> Any:
    """Return all three steps as one classifier, as a user would write it."""
    discretiser, last = DISCRETISERS[discretiser_name](n_jobs=n_jobs), learner(learner_name, n_jobs)
    if sees == WHOLE:
        return make_pipeline(FILTERS[filter_name](discretizer=discretiser, n_jobs=n_jobs), last)
    return make_pipeline(discretiser, FILTERS[filter_name](discretizer=None, n_jobs=n_jobs), last)


@dataclass(frozen=True)
class Prepared:
    """Cut columns of both parts, and those that were chosen."""

    columns: list[str]
    train: pl.DataFrame
    test: pl.DataFrame

    def select(self, data: Data, sees: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the chosen columns of both parts as a learner sees them."""
        parts = (self.train, self.test) if sees == CUT else (data.train, data.test)
        return parts[0].select(self.columns), parts[1].select(self.columns)


class PreparationCache:
    """A cache of the last preparation: all learners of a combination use the same."""

    def __init__(self) -> None:
        self._key: Any = None
        self._last: Prepared | None = None

    def __call__(
        self, data: Data, discretiser_name: str, filter_name: str, kind: str, n_jobs: int | None
    ) -> Prepared:
        """Return data discretised and filtered for classes of a `kind`."""
        key = (data.digest, discretiser_name, filter_name, kind)
        if self._last is None or self._key != key:
            y, _ = data.labels(kind)
            parts = data.train, data.test
            if discretiser_name != NOTHING:
                discretiser = DISCRETISERS[discretiser_name](n_jobs=n_jobs).fit(data.train, y)
                parts = discretiser.transform(data.train), discretiser.transform(data.test)
            columns = list(data.train.columns)
            if filter_name != NOTHING:
                selector = FILTERS[filter_name](discretizer=None, n_jobs=n_jobs).fit(parts[0], y)
                columns = selector.get_feature_names_out().tolist()
            self._key, self._last = key, Prepared(columns, *parts)
        return self._last


_prepare = PreparationCache()


# ---- one selection for all classes ---------------------------------------------------------------
def fit_directly(
    discretiser_name: str,
    filter_name: str,
    learner_name: str,
    sees: str,
    kind: str,
    data: Data,
    n_jobs: int | None,
) -> FitOutput:
    """Learn all classes at once."""
    ready = _prepare(data, discretiser_name, filter_name, kind, n_jobs)
    train, test = ready.select(data, sees)
    y, counts = data.labels(kind)
    model = learner(learner_name, n_jobs).fit(train, y)
    outcome = Outcome.from_predictions(model.predict(test), counts)
    return FitOutput({"all": ready.columns}, {"": outcome}, _size(model))


def fit_decoded(
    discretiser_name: str,
    filter_name: str,
    learner_name: str,
    sees: str,
    code: str,
    scope: str,
    data: Data,
    n_jobs: int | None,
) -> FitOutput:
    """Learn problems of two classes once, and decode their answers by every rule.

    By `scope` each problem has cuts and columns of its own ("inside"), or columns only ("cut once",
    by the five classes), or neither ("once").
    """
    y, counts = data.labels("five")
    train, test, ready = data.train, data.test, None
    if scope == INSIDE:
        steps = pipeline(discretiser_name, filter_name, learner_name, sees, n_jobs)
    elif scope == CUT_ONCE:
        train, test = _prepare(data, discretiser_name, NOTHING, "five", n_jobs).select(data, CUT)
        selector = FILTERS[filter_name](discretizer=None, n_jobs=n_jobs)
        steps = make_pipeline(selector, learner(learner_name, n_jobs))
    else:
        ready = _prepare(data, discretiser_name, filter_name, "five", n_jobs)
        train, test = ready.select(data, sees)
        steps = learner(learner_name, n_jobs)
    model = DecodedClassifier(steps, code=CODES[code], n_jobs=n_jobs)
    model.fit(train, np.array(CLASSES)[y])
    p = np.column_stack([estimator.predict_proba(test)[:, 1] for estimator in model.estimators_])
    class_positions = np.array([CLASSES.index(name) for name in model.classes_])

    def scores(rule: str, **parameters: Any) -> FloatArray:
        answers = 2 * p - 1 if rule in ("hamming", "loss") else p
        return decode(answers, model.code_, decoding=rule, **parameters)

    def outcome(rule: str, **parameters: Any) -> Outcome:
        return Outcome.from_predictions(
            class_positions[scores(rule, **parameters).argmax(axis=1)], counts
        )

    outcomes = {rule: outcome(rule) for rule in RULES}
    outcomes |= {f"sum-threshold {t}": outcome("sum-threshold", threshold=t) for t in THRESHOLDS}
    notes: dict[str, Any] = {}
    if scope == CUT_ONCE:
        outcomes |= {f"loss {loss}": outcome("loss", loss=loss) for loss in LOSSES}
        notes = {"ties": {rule: ties(scores(rule), class_positions, counts) for rule in RULES}}
    if ready is not None:
        return FitOutput({"all": ready.columns}, outcomes)
    names = [estimator[:-1].get_feature_names_out().tolist() for estimator in model.estimators_]
    return FitOutput(dict(zip(model.problems_, names, strict=True)), outcomes, notes)


def ties(scores: FloatArray, class_positions: IntArray, counts: IntArray) -> dict[str, float]:
    """Return percentage of test rows with several best classes; costs by best and worst order.

    `class_positions` is the class of each column of the scores.
    """
    best = scores == scores.max(axis=1, keepdims=True)
    n = counts.sum(axis=1)
    tied = 100 * float(n[best.sum(axis=1) > 1].sum() / n.sum())
    costs = []
    for order in permutations(range(len(class_positions))):
        rank = np.argsort(order)
        first = np.where(best, rank, len(class_positions)).argmin(axis=1)
        costs.append(Outcome.from_predictions(class_positions[first], counts).figure("cost").value)
        if not tied:
            break
    return {"tied": tied, "lowest": min(costs), "highest": max(costs)}


def fit_without(
    discretiser_name: str,
    filter_name: str,
    learner_name: str,
    left_out: str,
    data: Data,
    n_jobs: int | None,
) -> FitOutput:
    """Learn two classes from the chosen columns, less one."""
    ready = _prepare(data, discretiser_name, filter_name, "two", n_jobs)
    y, counts = data.labels("two")
    columns = [name for name in ready.columns if name != left_out]
    model = learner(learner_name, n_jobs).fit(ready.train.select(columns), y)
    outcome = Outcome.from_predictions(model.predict(ready.test.select(columns)), counts)
    return FitOutput({"all": columns}, {"": outcome}, _size(model))


def _size(model: Any) -> dict[str, Any]:
    return {"leaves": int(model.n_leaves_)} if hasattr(model, "n_leaves_") else {}


# ---- names of fits -------------------------------------------------------------------------------
def fit_name(
    discretiser_name: str, filter_name: str, learner_name: str, form: str = "", sees: str = CUT
) -> str:
    """Return a name such as "EMD+INT+C4.5(0.25) OvO, original columns"."""
    name = "+".join([discretiser_name, filter_name, learner_name]) + (f" {form}" if form else "")
    return name if sees == CUT else f"{name}, original columns"


def direct_task(
    discretiser_name: str, filter_name: str, learner_name: str, sees: str, kind: str
) -> Task:
    """Return a task that fits all classes at once."""
    form = "multi" if kind == "five" else ""
    work: Callable[[Data, int | None], FitOutput] = partial(
        fit_directly, discretiser_name, filter_name, learner_name, sees, kind
    )
    return Task(
        fit_name(discretiser_name, filter_name, learner_name, form, sees),
        f"{discretiser_name}+{filter_name}",
        learner_name,
        work,
    )


def decoding_task(
    discretiser_name: str, filter_name: str, learner_name: str, sees: str, code: str, scope: str
) -> Task:
    """Return a task that fits problems of two classes."""
    form = code if scope == INSIDE else f"{code} {scope}"
    work: Callable[[Data, int | None], FitOutput] = partial(
        fit_decoded, discretiser_name, filter_name, learner_name, sees, code, scope
    )
    return Task(
        fit_name(discretiser_name, filter_name, learner_name, form, sees),
        f"{discretiser_name}+{filter_name}",
        learner_name,
        work,
    )


def left_out_task(
    discretiser_name: str, filter_name: str, learner_name: str, left_out: str
) -> Task:
    """Return a task that fits two classes with a column left out."""
    work: Callable[[Data, int | None], FitOutput] = partial(
        fit_without, discretiser_name, filter_name, learner_name, left_out
    )
    name = fit_name(discretiser_name, filter_name, learner_name, f"without {left_out}")
    return Task(name, f"{discretiser_name}+{filter_name}", learner_name, work)
