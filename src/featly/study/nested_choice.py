"""Choice of a method, a learner and a size within the training part of a fold."""

from collections.abc import Sequence

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.measures.nested_auc import placements
from featly.measures.row_rules import choose_by_rows
from featly.study.dataset import Dataset
from featly.study.nested_estimate import Candidate

__all__ = ["choose_candidate", "row_scores"]

# the areas of both classes are one area, so standard errors add up to twice those of two rates
AREA_ERROR_FACTOR = 2.0


def row_scores(codes: AnyArray, values: AnyArray, y: IntArray, by: str) -> FloatArray:
    """Return scores of rows whose class means are the metric that candidates are chosen by.

    Parameters
    ----------
    codes, values : arrays of shape (n_candidates, n_rows)
        Predicted classes, -1 where there is none, and decision values.
    y : int array of shape (n_rows,)
        Codes of the classes.
    by : {"bcr", "accuracy", "auc"}

    Returns
    -------
    float array of shape (n_candidates, n_rows)
        Hits, or placements for the AUC; NaN where there is no prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.study.nested_choice import row_scores
    >>> row_scores(np.array([[0, 1, -1]]), np.zeros((1, 3)), np.array([0, 0, 1]), "bcr")
    array([[ 1.,  0., nan]])
    """
    if by != "auc":
        return np.where(codes < 0, np.nan, codes == y)
    scores = np.full(values.shape, np.nan)
    for row, score in zip(values, scores, strict=True):
        known = ~np.isnan(row)
        if len(np.unique(y[known])) == 2:
            score[known] = placements(row[known], y[known])
    return scores


def choose_candidate(
    scores: FloatArray,
    dataset: Dataset,
    rows: BoolArray,
    candidates: Sequence[Candidate],
    *,
    mask: BoolArray,
    by: str,
    rule: str | int,
) -> int:
    """Return the position of the candidate that scores of some rows choose.

    Parameters
    ----------
    scores : float array of shape (n_candidates, n_chosen_rows)
        Those of :func:`row_scores`.
    dataset : Dataset
    rows : bool array of shape (n_rows,)
        The rows of the scores.
    candidates : sequence of Candidate
    mask : bool array of shape (n_candidates,)
        The candidates to choose from.
    by : {"bcr", "accuracy", "auc"}
    rule : str or int
        See :func:`featly.measures.row_rules.choose_by_rows`.

    Returns
    -------
    int
    """
    y = dataset.codes[rows]
    allowed = np.flatnonzero(mask)
    chosen = [candidates[k] for k in allowed.tolist()]
    pipelines = {(c.method, c.learner): k for k, c in enumerate(chosen)}
    weights = np.bincount(y, minlength=len(dataset.classes)) / len(y)
    position = choose_by_rows(
        scores[allowed],
        y,
        [c.size for c in chosen],
        rule,
        pipelines=[pipelines[c.method, c.learner] for c in chosen],
        weights=weights if by == "accuracy" else None,
        error_factor=AREA_ERROR_FACTOR if by == "auc" else 1.0,
        n_features=dataset.n_features,
    )
    return int(allowed[position])
