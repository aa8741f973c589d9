"""Tables made of the predictions of all test rows: thresholds, calibration, pooled metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit

from featly.basics.errors import DataError, ParameterError
from featly.basics.typing import FloatArray
from featly.measures.classification import METRICS, confusion_matrix
from featly.measures.scores import (
    SCORE_METRICS,
    calibration_curve,
    calibration_line,
    confusion_at,
)
from featly.study.predict import PROBABILITY
from featly.study.score_values import GatheredPredictions, pooled_value, refuse_without_scores
from featly.study.split_values import single_classes

if TYPE_CHECKING:
    import polars as pl

    from featly.study.results import Results

__all__ = [
    "Calibration",
    "calibrate",
    "one_class_remarks",
    "pool_metric",
    "predicted_frame",
    "threshold_frame",
    "weight_remarks",
]

RATES = ("bcr", "sensitivity", "specificity", "ppv", "npv", "f1", "accuracy")


@dataclass(frozen=True)
class Calibration:
    """Probabilities beside what happened.

    Attributes
    ----------
    curve : polars.DataFrame
        predicted (mean probability in a bin), observed (share of the class), lower, upper (Wilson's
        interval, as if test rows of different splits were different rows), n.
    slope, intercept : float
        Of the logistic regression of the outcome on the predicted log-odds: 1 and 0 are perfect,
        a slope below 1 says that the probabilities are too extreme. nan where there is none.
    """

    curve: "pl.DataFrame"
    slope: float
    intercept: float

    def __repr__(self) -> str:
        return f"Calibration(slope {self.slope:.3f}, intercept {self.intercept:+.3f})"


def predicted_frame(results: "Results", part: GatheredPredictions, dataset: str) -> "pl.DataFrame":
    """See :meth:`Results.predicted_rows`."""
    import polars as pl

    names = np.array(list(results.about["datasets"][dataset]["classes"]), dtype=object)
    columns: dict[str, object] = {
        "split": part.split,
        "row": part.row,
        "truth": names[part.truth].tolist(),
        "predicted": names[part.predicted].tolist(),
    }
    values = part.scores if part.probabilities is None else part.probabilities
    if values is not None and part.kind is not None:
        if part.n_classes == 2:
            columns[part.kind] = values
        else:
            columns |= {f"{part.kind}_{name}": values[:, c] for c, name in enumerate(names)}
    return pl.DataFrame(columns)


def pool_metric(results: "Results", metric: str, part: GatheredPredictions) -> float:
    """See :meth:`Results.pooled_metric`."""
    if metric in METRICS:
        confusion = confusion_matrix(part.truth, part.predicted, part.n_classes)
        return float(METRICS[metric].function(confusion))
    if metric not in SCORE_METRICS:
        known = ", ".join([*METRICS, *SCORE_METRICS])
        raise ParameterError(f"metric={metric!r} is not one of predictions: there are {known}")
    refuse_without_scores(results, metric)
    return pooled_value(part, metric)


def threshold_frame(
    part: GatheredPredictions, thresholds: Sequence[float] | None
) -> "pl.DataFrame":
    """See :meth:`Results.at_thresholds`."""
    import polars as pl

    scores = _two_class_scores(part, "another threshold")
    is_probability = part.kind == PROBABILITY
    if thresholds is None:
        shares = np.arange(1, 10) / 10
        limits = shares if is_probability else np.unique(np.quantile(scores, shares))
    else:
        limits = np.asarray(thresholds, dtype=np.float64)
        if limits.ndim != 1 or not np.isfinite(limits).all():
            raise ParameterError(f"thresholds={thresholds!r}: give a list of numbers")
        if is_probability and ((limits < 0) | (limits > 1)).any():
            raise ParameterError(f"thresholds={thresholds!r}: give probabilities, from 0 to 1")
    with np.errstate(divide="ignore"):
        matrices = confusion_at(part.truth, scores, logit(limits) if is_probability else limits)
    rates = {name: np.asarray(METRICS[name].function(matrices)) for name in RATES}
    return pl.DataFrame({"threshold": limits, **rates}).with_columns(
        pl.col(list(RATES)).fill_nan(None)
    )


def calibrate(part: GatheredPredictions, bins: int, learner: str) -> Calibration:
    """See :meth:`Results.calibration`."""
    import polars as pl

    scores = _two_class_scores(part, "a calibration curve")
    probabilities = part.probabilities
    if probabilities is None:
        raise ParameterError(
            f"a calibration curve needs probabilities, and {learner!r} gave decision values only: "
            "run the study with another learner, such as 'logistic'"
        )
    curve = calibration_curve(part.truth, probabilities, bins=bins)
    slope, intercept = calibration_line(part.truth, scores)
    return Calibration(pl.DataFrame(curve._asdict()), slope, intercept)


def _two_class_scores(part: GatheredPredictions, purpose: str) -> FloatArray:
    if part.n_classes != 2:
        raise DataError(f"{purpose} is of two classes, and there are {part.n_classes}")
    if part.scores is None:
        raise ParameterError(
            f"{purpose} needs decision values or probabilities, and the learner gave neither"
        )
    return part.scores


def one_class_remarks(results: "Results") -> list[str]:
    """See :meth:`Results.remarks`."""
    sizes: dict[tuple[str, str, str, int], list[int]] = {}
    for dataset, method, learner, size, code in single_classes(results):
        sizes.setdefault((dataset, method, learner, code), []).append(size)
    remarks = []
    for (dataset, method, learner, code), counts in sizes.items():
        name = list(results.about["datasets"][dataset]["classes"])[code]
        place = "" if len(results.about["datasets"]) == 1 else f"on {dataset}, "
        columns = ", ".join(str(size) for size in counts)
        remarks.append(
            f"{place}{learner} with {columns} of the columns of {method} predicts {name!r} for "
            "every test row: its rates say nothing about the columns"
        )
    return remarks


def weight_remarks(results: "Results", metric: str) -> list[str]:
    """Return a sentence if a metric of probabilities judges those of classes of equal weight."""
    is_judged = metric in SCORE_METRICS and SCORE_METRICS[metric].needs_probabilities
    if not is_judged or not results.about.get("balanced", False):
        return []
    return [
        f"learners given by name were trained with classes of equal weight, so {metric} judges "
        "probabilities of a population of such classes: Study(balanced=False) has those of the "
        "table"
    ]
