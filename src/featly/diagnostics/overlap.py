r"""Separation of two classes by single columns, and along one direction: F1, F1v, F2, F3.

.. math::

    r_f = \frac{(\mu_{f1} - \mu_{f2})^2}{s_{f1}^2 + s_{f2}^2} \quad\text{or}\quad
    r_f = \frac{\sum_c n_c (\mu_{fc} - \mu_f)^2}{\sum_c \sum_{i \in c} (x_{if} - \mu_{fc})^2}

Ho, T. K. and Basu, M. (2002), Complexity measures of supervised classification problems, *IEEE
Transactions on Pattern Analysis and Machine Intelligence* 24, 289-300.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from featly.basics.typing import BoolArray, FloatArray, IntArray
from featly.core.runtime.parallel import single_threaded_blas
from featly.diagnostics.reading import Rows

__all__ = ["Overlap", "direction_ratio", "fisher_ratios", "overlaps"]


ROUNDING = 1e-9  # a share of the whole below this is 0


def fisher_ratios(rows: Rows, y: IntArray, n_classes: int, *, pairwise: bool) -> FloatArray:
    """Compute Fisher's ratio of every column; 0 if it is constant, infinite if it is in each class.

    A categorical column is the vector of the indicators of its levels: squared distances between
    the classes' mean vectors over summed variances. Missing cells are left out, column by column.

    With `pairwise`, squared differences over summed sample variances (divisor n - 1), of two
    classes; else between over within all classes. One row a class has variance 0.
    """
    ratios = np.zeros(rows.n_columns)
    ratios[rows.numeric] = _ratio(*_moments(rows.numbers[:, :, None], y, n_classes), pairwise)
    for column, codes, levels in zip(rows.categorical, rows.codes, rows.levels, strict=True):
        indicators = (codes[:, None] == np.arange(1, len(levels) + 1)).astype(np.float64)
        indicators[codes == 0] = np.nan
        ratios[column] = _ratio(*_moments(indicators[:, None, :], y, n_classes), pairwise)[0]
    return ratios


def _moments(values: FloatArray, y: IntArray, k: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return counts and summed squares (classes, columns) and means (classes, columns, parts).

    A value of each column is subtracted first, so that a constant column is exactly 0.
    """
    n, p, width = values.shape
    missing = np.isnan(values[:, :, 0]) if width else np.ones((n, p), np.bool_)
    first = values[missing.argmin(axis=0), np.arange(p)] if n else np.zeros((p, width))
    values = np.where(missing[:, :, None], 0.0, values - first)
    count, mean = np.zeros((k, p)), np.zeros((k, p, width))
    squares = np.zeros((k, p))
    for c in range(k):
        own, present = values[y == c], ~missing[y == c]
        count[c] = present.sum(axis=0)
        mean[c] = own.sum(axis=0) / np.maximum(count[c], 1)[:, None]
        off = np.where(present[:, :, None], own - mean[c], 0.0)
        squares[c] = np.einsum("ijl,ijl->j", off, off)
        same = np.where(present[:, :, None], own, np.nan)
        if len(own):
            flat = np.fmax.reduce(same, axis=0) == np.fmin.reduce(same, axis=0)
            squares[c, flat.all(axis=1)] = 0.0  # whatever the mean was rounded to
            mean[c] = np.where(flat, np.fmax.reduce(same, axis=0), mean[c])
    return count, mean, squares


def _ratio(count: FloatArray, mean: FloatArray, squares: FloatArray, pairwise: bool) -> FloatArray:
    present = count > 0
    if pairwise:
        between = ((mean[0] - mean[1]) ** 2).sum(axis=1)
        between = np.where(present.all(axis=0), between, 0.0)
        within = (squares / np.maximum(count - 1, 1)).sum(axis=0)
    else:
        total = np.maximum(count.sum(axis=0), 1)
        center = (count[:, :, None] * mean).sum(axis=0) / total[:, None]
        between = (count * ((mean - center) ** 2).sum(axis=2)).sum(axis=0)
        within = squares.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / within, 0.0)


def direction_ratio(Z: FloatArray, first: BoolArray) -> float:
    r"""Compute Fisher's ratio along the best direction, :math:`\Delta' W^+ \Delta`.

    :math:`\Delta` is the difference of the class means of the rows Z and :math:`W = p_1 \Sigma_1 +
    p_2 \Sigma_2`. The smaller of the two Gram matrices is decomposed, so thousands of columns are
    no more than hundreds of rows. Where rows outnumber columns and the classes differ in a
    direction in which neither varies, it is infinite.
    """
    means = np.stack([Z[first].mean(axis=0), Z[~first].mean(axis=0)])
    delta = means[0] - means[1]
    A = (Z - means[np.where(first, 0, 1)]) / np.sqrt(len(Z))
    # the variance of a constant class is not 0, but rounding error
    scale = float(np.einsum("ij,ij->", A, A) + delta @ delta)
    with single_threaded_blas():
        tall = A.shape[0] >= A.shape[1]
        values, vectors = np.linalg.eigh(A.T @ A if tall else A @ A.T)
        largest = max(values.max(initial=0.0), 0.0)
        if largest <= ROUNDING**2 * scale:
            largest = np.inf
        is_significant = values > max(A.shape) * np.finfo(float).eps * largest
        values, vectors = values[is_significant], vectors[:, is_significant]
        along = vectors.T @ (delta if tall else A @ delta)
        if A.shape[0] - 2 >= A.shape[1]:  # with fewer rows, any labels have such directions
            unexplained = float(delta @ delta - along @ along)
            if unexplained > ROUNDING * scale:
                return np.inf
        return float(np.sum(along**2 / (values if tall else values**2)))


# ---- overlap of ranges ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Overlap:
    """Overlap of one pair of classes.

    Attributes
    ----------
    log_volume : float
        Natural logarithm of the overlap volume.
    separated : float array
        Share of the rows of the two classes that each column alone separates.
    """

    log_volume: float
    separated: FloatArray


def overlaps(rows: Rows, y: IntArray, n_classes: int) -> list[Overlap]:
    """Compute the overlap of every pair of classes.

    A column of numbers overlaps between the larger of the smallest and the smaller of the largest
    values, ends included, as a share of the range of both. A categorical column overlaps in the
    levels that both classes have, as a share of those that either has. A missing cell is in the
    overlap. Columns that are constant, or empty in a class, overlap whole.
    """
    q = rows.numbers.shape[1]
    low, high = np.full((n_classes, q), np.nan), np.full((n_classes, q), np.nan)
    for c in range(n_classes):
        low[c] = np.fmin.reduce(rows.numbers[y == c], axis=0)
        high[c] = np.fmax.reduce(rows.numbers[y == c], axis=0)
    members = [np.flatnonzero(y == c) for c in range(n_classes)]
    has = [
        np.stack([np.bincount(codes[m], minlength=len(levels) + 1)[1:] > 0 for m in members])
        for codes, levels in zip(rows.codes, rows.levels, strict=True)
    ]
    return [
        _overlap_of_pair(rows, has, low[[a, b]], high[[a, b]], (a, b), (members[a], members[b]))
        for a, b in combinations(range(n_classes), 2)
    ]


def _overlap_of_pair(
    rows: Rows,
    has: list[BoolArray],
    low: FloatArray,
    high: FloatArray,
    pair: tuple[int, int],
    members: tuple[IntArray, IntArray],
) -> Overlap:
    n = len(members[0]) + len(members[1])
    separated, share = np.zeros(rows.n_columns), np.ones(rows.n_columns)
    begin, end = low.max(axis=0), high.min(axis=0)  # NaN where a class has no value
    outside = np.zeros(len(begin), np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        for own in members:
            values = rows.numbers[own]
            outside += ((values < begin) | (values > end)).sum(axis=0)
        whole = high.max(axis=0) - low.min(axis=0)
        part = np.maximum(end - begin, 0.0) / whole
    separated[rows.numeric] = outside / n
    share[rows.numeric] = np.where(whole > 0, part, 1.0)
    for column, codes, levels in zip(rows.categorical, rows.codes, has, strict=True):
        first_levels, second_levels = levels[list(pair)]
        if not (first_levels.any() and second_levels.any()):
            continue
        share[column] = (first_levels & second_levels).sum() / (first_levels | second_levels).sum()
        in_both = np.concatenate([[True], first_levels & second_levels])
        separated[column] = sum(int((~in_both[codes[own]]).sum()) for own in members) / n
    with np.errstate(divide="ignore"):
        return Overlap(float(np.log(share).sum()), separated)
