"""Metrics of decision values and probabilities: of every split, and of all splits together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import FloatArray, IntArray
from featly.measures.scores import SCORE_METRICS
from featly.study.kept import KeptFit, KeptPredictions
from featly.study.predict import PROBABILITY

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = [
    "GatheredPredictions",
    "gather",
    "pooled_score_values",
    "pooled_value",
    "refuse_without_scores",
    "score_values",
]

FIT_KEYS = ["dataset", "method", "split", "null_draw", "learner"]


@dataclass(frozen=True)
class GatheredPredictions:
    """Predictions of the test rows of all splits, one after the other.

    Attributes
    ----------
    split, row, truth, predicted : int arrays of shape (n,)
        Number of the split, position in the table, codes of the real and the predicted class.
    scores : float array of shape (n,) or (n, n_classes), or None
        As in :class:`featly.study.predict.Predictions`.
    kind : {"decision", "probability"} or None
    n_classes : int
    """

    split: IntArray
    row: IntArray
    truth: IntArray
    predicted: IntArray
    scores: FloatArray | None
    kind: str | None
    n_classes: int

    @property
    def probabilities(self) -> FloatArray | None:
        """Return the probabilities of the second class, or of all; None if there are none."""
        if self.scores is None or self.kind != PROBABILITY:
            return None
        return expit(self.scores) if self.n_classes == 2 else self.scores


def score_values(results: "Results", metric: str, *, draws: bool) -> "pl.Series":
    """Return a metric of :data:`SCORE_METRICS` for every row of the results; null without one.

    Without `draws` rows of shuffled labels have none.
    """
    import polars as pl

    refuse_without_scores(results, metric)
    function = _value_function(metric)
    keys: list[tuple[Any, ...]] = []
    values: list[FloatArray] = []
    sizes: list[IntArray] = []
    for fit in _predictions(results).fits(draws=draws):
        keys.append((fit.dataset, fit.method, fit.split, fit.null_draw, fit.learner))
        sizes.append(fit.sizes)
        values.append(function(fit))
    lengths = [len(part) for part in sizes]
    table = pl.DataFrame(keys, orient="row", schema=_KEY_TYPES)
    table = table[np.repeat(np.arange(len(keys)), lengths)].with_columns(
        pl.Series("size", np.concatenate(sizes).astype(np.int64)),
        pl.Series(metric, np.concatenate(values)),
    )
    rows = results.rows.select(*FIT_KEYS, "size")
    joined = rows.join(table, on=[*FIT_KEYS, "size"], how="left", maintain_order="left")
    return joined[metric].fill_nan(None)


def pooled_score_values(results: "Results", metric: str, *, draws: bool) -> "pl.DataFrame":
    """Return a metric of the predictions of all splits together.

    Where every split tests one row, rows can be compared over the splits only.

    Returns
    -------
    polars.DataFrame
        dataset, method, learner, null_draw, size, pooled. Of a method that chooses the number of
        columns itself all sizes are one, and `size` is null.
    """
    import polars as pl

    from featly.study.split_values import own_sizes

    refuse_without_scores(results, metric)
    own = set(own_sizes(results).select("dataset", "method").rows())
    lines: list[tuple[Any, ...]] = []
    wanted = results.rows.select("dataset", "method", "learner").unique(maintain_order=True)
    for dataset, method, learner in wanted.rows():
        groups: dict[tuple[int, int | None], list[tuple[KeptFit, int]]] = {}
        source = _predictions(results)
        for fit in source.fits(dataset=dataset, method=method, learner=learner, draws=draws):
            for at, size in enumerate(fit.sizes.tolist()):
                key = fit.null_draw, None if (dataset, method) in own else size
                groups.setdefault(key, []).append((fit, at))
        for (null_draw, known_size), parts in groups.items():
            value = pooled_value(_join(parts), metric)
            lines.append((dataset, method, learner, null_draw, known_size, value))
    return pl.DataFrame(
        lines,
        orient="row",
        schema={
            **dict.fromkeys(("dataset", "method", "learner"), pl.String),
            **{"null_draw": pl.Int64, "size": pl.Int64, "pooled": pl.Float64},
        },
    ).with_columns(pl.col("pooled").fill_nan(None))


def gather(
    results: "Results", dataset: str, method: str, learner: str, size: int | None
) -> GatheredPredictions:
    """Return the predictions of all splits with so many columns; None is the method's own number.

    Only those of the true labels.
    """
    parts = []
    for fit in _predictions(results).fits(
        dataset=dataset, method=method, learner=learner, draws=False
    ):
        where = np.arange(len(fit.sizes)) if size is None else np.flatnonzero(fit.sizes == size)
        parts += [(fit, int(at)) for at in where[:1]]
    if not parts:
        raise DataError(
            f"no predictions of {method!r} with {size} columns on {dataset!r} are kept: see "
            "results.curves() for the sizes, and results.failures"
        )
    return _join(parts)


def refuse_without_scores(results: "Results", metric: str) -> None:
    """Raise an error if a metric has no value in any row of the results."""
    if results.about.get("estimator") in (".632", ".632+"):
        raise ParameterError(
            f"metric {metric!r} is computed on rows left out, and estimator="
            f"{results.about['estimator']!r} corrects rates of a confusion matrix: take "
            "Bootstrap(estimator='out-of-bag') or another metric"
        )
    _predictions(results)
    kinds = _kinds(results)
    names = ", ".join(repr(name) for name in results.about["learners"])
    if not kinds:
        raise ParameterError(
            f"metric {metric!r} needs decision values or probabilities, and {names} gave neither"
        )
    if SCORE_METRICS[metric].needs_probabilities and PROBABILITY not in kinds:
        raise ParameterError(
            f"metric {metric!r} needs probabilities, and {names} gave decision values only: run "
            "the study with another learner, such as 'logistic', or take the metric 'auc'"
        )


def _predictions(results: "Results") -> KeptPredictions:
    if results.predictions is None:
        raise ParameterError(
            "this study kept no predictions of test rows: run it with keep_predictions=True in "
            "another folder"
        )
    return results.predictions


def _kinds(results: "Results") -> set[str]:
    if results.predictions is None:
        return set()
    return results.predictions.kinds(list(results.about["learners"]))


def _value_function(metric: str) -> Callable[[KeptFit], FloatArray]:
    """Return the function that computes a metric at all sizes of a fit, nan where it has none."""

    def evaluate(fit: KeptFit) -> FloatArray:
        scores = _usable_scores(fit.scores, fit.kind, fit.n_classes, metric)
        if scores is None:
            return np.full(len(fit.sizes), np.nan)
        return np.asarray(SCORE_METRICS[metric].function(fit.truth, scores, fit.n_classes))

    return evaluate


def pooled_value(part: GatheredPredictions, metric: str) -> float:
    """Return a metric of predictions, nan where it has none."""
    scores = _usable_scores(part.scores, part.kind, part.n_classes, metric)
    if scores is None:
        return float("nan")
    return float(SCORE_METRICS[metric].function(part.truth, scores, part.n_classes))


def _usable_scores(
    scores: FloatArray | None, kind: str | None, n_classes: int, metric: str
) -> FloatArray | None:
    """Return scores as a metric takes them; None if it cannot be computed from them."""
    if scores is None or not SCORE_METRICS[metric].needs_probabilities:
        return scores
    if kind != PROBABILITY:
        return None
    return expit(scores) if n_classes == 2 else scores


def _join(parts: list[tuple[KeptFit, int]]) -> GatheredPredictions:
    first = parts[0][0]
    kinds = {fit.kind for fit, _ in parts}
    scores = [fit.scores[at] for fit, at in parts if fit.scores is not None]
    is_complete = len(kinds) == 1 and len(scores) == len(parts)
    return GatheredPredictions(
        split=np.concatenate([np.full(len(fit.rows), fit.split) for fit, _ in parts]),
        row=np.concatenate([fit.rows for fit, _ in parts]),
        truth=np.concatenate([fit.truth for fit, _ in parts]),
        predicted=np.concatenate([fit.codes[at] for fit, at in parts]),
        scores=np.concatenate(scores) if is_complete else None,
        kind=first.kind if is_complete else None,
        n_classes=first.n_classes,
    )


_KEY_TYPES: dict[str, Any] = {
    "dataset": str,
    "method": str,
    "split": int,
    "null_draw": int,
    "learner": str,
}
