"""Weights of rows: a row of weight 2 counts as two equal rows.

Statistics of weighted rows are in :mod:`featly.core.sources.weighted` and
:meth:`featly.core.counts.codes.Codes.weighted_tables`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from featly.basics.errors import DataError, Row, TargetName
from featly.basics.typing import FloatArray
from featly.problem.problem import Problem
from featly.problem.target import Classes
from featly.table.frames import values_of

__all__ = ["read_weights", "weigh_rows"]


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return the weight of every row, or None if all are 1.

    Raise DataError for weights that are missing, negative, infinite, all zero, or too few or many.

    Examples
    --------
    >>> read_weights([1, 0, 2.5], 3).tolist()
    [1.0, 0.0, 2.5]
    >>> read_weights([1, 1], 2) is None
    True
    """
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(values_of(sample_weight)).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "sample_weight holds something that is no number: give a number for every row"
        ) from None
    if weights.ndim != 1:
        raise DataError(
            f"sample_weight has the shape {weights.shape}: Sample weights must be 1D array, a "
            "number for every row"
        )
    if len(weights) != n_rows:
        raise DataError(
            f"sample_weight has {len(weights)} entries and X has {n_rows} rows: give a number for "
            "every row"
        )
    for wrong, problem in (
        (np.isnan(weights), "missing (NaN)"),
        (weights < 0, "negative"),
        (np.isinf(weights), "infinite"),
    ):
        if wrong.any():
            raise DataError(
                f"sample_weight is {problem} in ",
                Row(np.flatnonzero(wrong)[0]),
                ": a weight is a finite number from 0, which leaves the row out",
            )
    if not weights.any():
        raise DataError("sample_weight is zero in every row: no row is left")
    return None if (weights == 1).all() else weights


def weigh_rows(
    problem: Problem, weights: FloatArray | None, n_jobs: int | None, *, batch: bool = False
) -> Problem:
    """Return the problem with weights of its rows; rows of weight 0 are left out.

    Raise DataError if fewer than two classes are left. In a batch they are not left out: they add
    nothing to its sums.
    """
    if weights is None:
        return problem
    are_counts = bool((weights == np.rint(weights)).all())
    problem = replace(problem, weights_are_counts=are_counts)
    if batch:
        return replace(problem, weights=weights)
    rows = np.flatnonzero(weights)
    if len(rows) < len(weights):
        problem, weights = problem.take(rows, n_jobs), weights[rows]
        target = problem.target
        if isinstance(target, Classes):
            present, codes = np.unique(target.codes, return_inverse=True)
            if len(present) < 2 <= target.count:
                raise DataError(
                    TargetName(),
                    f" has one class only ({target.labels.tolist()[present[0]]!r}) in rows of a "
                    "sample_weight above 0: at least two classes are needed",
                )
            problem = replace(problem, target=Classes(codes, target.labels[present]))
    return replace(problem, weights=None if (weights == 1).all() else weights)
