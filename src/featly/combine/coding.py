r"""Many classes as a matrix of problems of two classes, and five decodings of their answers.

.. math::

    \hat y(x) = \arg\min_y d(M_y, h(x)), \qquad
    d_H = \sum_s \frac{1 - \operatorname{sign}(M_{sy} h_s(x))}{2}, \qquad
    d_L = \sum_s L(M_{sy} h_s(x))

:math:`M_{sy}` is +1 or -1 where problem s counts class y as positive or negative, and 0 where it
ignores the class: Allwein, E. L., Schapire, R. E. and Singer, Y. (2000), Reducing multiclass to
binary: a unifying approach for margin classifiers, *JMLR* 1, 113-141.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from featly.basics.errors import DataError, ParameterError
from featly.basics.params import Function, Number, OneOf, Whole, check_value
from featly.basics.typing import FloatArray, IntArray

__all__ = ["DECODINGS", "LOSSES", "Loss", "check_rule", "code_matrix", "decode", "needs_margins"]

Loss = Callable[[FloatArray], FloatArray]

DECODINGS = ("hamming", "loss", "sum", "sum-threshold", "probability-sum")
LOSSES: dict[str, Loss] = {
    "hinge": lambda z: np.maximum(0.0, 1.0 - z),
    "exponential": lambda z: -z,  # the logarithm of the loss; totals are logarithms too
    "logistic": lambda z: np.logaddexp(0.0, -2.0 * z),
}
NEAR = 1e-10  # totals that differ by no more than this share are equal
LARGEST_MARGIN = 1e150  # so that sums do not overflow


def code_matrix(
    kind: str | npt.ArrayLike, n_classes: int, classes: npt.ArrayLike | None = None
) -> IntArray:
    """Return the code matrix of problems of two classes, one a row.

    Parameters
    ----------
    kind : {"ovo", "ova"} or array of shape (n_problems, n_classes)
        Every pair of classes; every class against the rest; or a matrix, which is checked. Two
        classes are one problem with both.
    n_classes : int
    classes : sequence or None, default=None
        Names of the classes in error messages; None numbers them from 0.

    Returns
    -------
    code : int64 array of shape (n_problems, n_classes)
        +1 for the classes of the positive side, -1 for those of the negative side, 0 for the
        others. In "ovo" and "ova" the first class of a problem is positive.

    Examples
    --------
    >>> from featly.combine.decoding import code_matrix
    >>> code_matrix("ovo", 3)
    array([[ 1, -1,  0],
           [ 1,  0, -1],
           [ 0,  1, -1]])
    >>> code_matrix([[1, 1, -1], [1, 1, 0]], 3)
    Traceback (most recent call last):
    ...
    featly.ParameterError: code: row 1 has no -1: every problem needs both sides
    """
    Whole(at_least=2).check("n_classes", n_classes)
    if isinstance(kind, str):
        if kind not in ("ovo", "ova"):
            raise ParameterError(
                f"code={kind!r}: give 'ovo' (every pair of classes), 'ova' (every class against "
                "the rest) or a matrix of +1, -1 and 0"
            )
        if kind == "ova" and n_classes > 2:
            return 2 * np.eye(n_classes, dtype=np.int64) - 1
        pairs = list(combinations(range(n_classes), 2))
        code = np.zeros((len(pairs), n_classes), np.int64)
        for row, (a, b) in zip(code, pairs, strict=True):
            row[a], row[b] = 1, -1
        return code
    names = list(range(n_classes)) if classes is None else np.asarray(classes).tolist()
    return _check_code(kind, n_classes, names)


def decode(
    outputs: npt.ArrayLike,
    code: npt.ArrayLike,
    *,
    decoding: str = "hamming",
    loss: str | Loss | None = None,
    threshold: float | None = None,
) -> FloatArray:
    r"""Return scores of all classes from the answers to all problems.

    With :math:`q_{sy}` the probability of the side of class y in problem s, that is
    :math:`p_s` for :math:`M_{sy} = 1` and :math:`1 - p_s` for -1, the scores are

    .. math::

        \text{hamming} &: -\sum_s \frac{1 - \operatorname{sign}(M_{sy} h_s)}{2} \\
        \text{loss} &: -\sum_s L(M_{sy} h_s) \\
        \text{sum} &: \sum_{s:\, M_{sy} \ne 0} q_{sy} \\
        \text{sum-threshold} &: \sum_{s:\, M_{sy} \ne 0} [q_{sy} > \sigma]\, q_{sy} \\
        \text{probability-sum} &:
            \sum_{s:\, y \text{ alone on its side}} [q_{sy} > \sigma]\, q_{sy}

    :math:`\operatorname{sign}(0) = 0`: a margin of 0 and an ignored class are half a disagreement
    each, and a loss of :math:`L(0)`. Hinge is :math:`\max(0, 1 - z)`, exponential
    :math:`e^{-z}`, logistic :math:`\log(1 + e^{-2z})`. The score of the exponential loss is minus
    the logarithm of its total, which puts classes in the same order and does not overflow. In a
    row where no probability is above the threshold, the threshold is 0.

    Parameters
    ----------
    outputs : float array of shape (n_rows, n_problems)
        Margins for "hamming" and "loss", positive for the positive side; otherwise, and for
        "hamming" with a threshold, probabilities of the positive side.
    code : int array of shape (n_problems, n_classes)
        From :func:`code_matrix`.
    decoding, loss, threshold
        As in :class:`DecodedClassifier`.

    Returns
    -------
    scores : float array of shape (n_rows, n_classes)
        Larger is better. Classes whose totals equal the best one up to rounding have its score, so
        ``argmax`` gives the first of them.

    Notes
    -----
    With one class against the rest, the loss of class y differs from that of the others only by
    :math:`L(h_y) - L(-h_y)`, which falls strictly with :math:`h_y` for all three losses. So "loss"
    chooses the largest margin for any of the losses. Likewise "sum" differs only by
    :math:`2 p_y` and chooses the largest probability.

    "probability-sum" is from the book by Bolón-Canedo et al., for one class against the rest. The
    book says that the same row can be claimed by several classifiers, "one for each", and that the
    cumulative sum of probabilities decides. This is implemented as follows: a classifier claims a
    row for a class if it tells that class alone from others and its probability is above the
    threshold; the rest is not a class and is never claimed. For one class against the rest the
    largest probability wins here as well, so there the three sums differ in their scores only. For
    other codes they may choose different classes.

    References
    ----------
    Allwein, E. L., Schapire, R. E. and Singer, Y. (2000), Reducing multiclass to binary: a unifying
    approach for margin classifiers, *JMLR* 1, 113-141.

    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 5.1.2.

    Examples
    --------
    Three pairs of three classes: by "hamming" two weak answers outvote a strong one, by "loss" not.

    >>> from featly.combine.decoding import code_matrix, decode
    >>> margins, ovo = [[0.2, 0.1, 3.0]], code_matrix("ovo", 3)
    >>> decode(margins, ovo).tolist()
    [[-0.5, -1.5, -2.5]]
    >>> decode(margins, ovo, decoding="loss", loss="hinge").round(2).tolist()
    [[-2.7, -2.2, -6.1]]
    """
    matrix = _check_code(code)
    check_rule(decoding, loss, threshold, matrix)
    h = _check_outputs(outputs, len(matrix), needs_margins(decoding, threshold))
    if decoding == "hamming":
        if threshold is not None:
            h = 1.0 * (h > threshold + NEAR) - 1.0 * (1 - h > threshold + NEAR)
        return (_sum_terms(np.sign(h), -np.sign(h), 0.0, matrix) - len(matrix)) / 2
    if decoding == "loss":
        return _loss_scores(h, matrix, "hinge" if loss is None else loss)
    if decoding == "probability-sum":
        matrix = _single_class_sides(matrix)
    least_probability = 0.0 if decoding == "sum" else 0.5 if threshold is None else threshold
    scores = _sum_terms(
        _apply_threshold(h, least_probability),
        _apply_threshold(1 - h, least_probability),
        0.0,
        matrix,
    )
    is_zero = ~scores.any(axis=1)
    scores[is_zero] = _sum_terms(h[is_zero], 1 - h[is_zero], 0.0, matrix)
    return _settle_ties(scores, scores.max(axis=1, keepdims=True))


# ---- decoding ------------------------------------------------------------------------------------
def _sum_terms(
    positive: FloatArray, negative: FloatArray, other: float, code: IntArray
) -> FloatArray:
    """Sum the terms of the side of every class over the problems."""
    total = np.zeros((len(positive), code.shape[1]))
    for s, row in enumerate(code):
        total[:, row == 1] += positive[:, [s]]
        total[:, row == -1] += negative[:, [s]]
        total[:, row == 0] += other
    return total


def _apply_threshold(probabilities: FloatArray, least: float) -> FloatArray:
    """Set probabilities to 0 where they are not above the threshold."""
    return np.where(probabilities > least + NEAR * (least > 0), probabilities, 0.0)


def _loss_scores(h: FloatArray, code: IntArray, loss: str | Loss) -> FloatArray:
    if loss == "exponential":
        terms = -code[None] * h[:, :, None]
        scores = -logsumexp(terms, axis=1)
        return _settle_ties(scores, np.maximum(1.0, np.abs(scores).max(axis=1, keepdims=True)))
    L = LOSSES[loss] if isinstance(loss, str) else loss
    parts = [np.asarray(L(z)) for z in (h, -h, np.zeros(1))]
    for part, z in zip(parts, (h, h, np.zeros(1)), strict=True):
        if part.shape != z.shape or part.dtype.kind not in "biuf" or not np.isfinite(part).all():
            raise ParameterError(
                f"loss={loss!r}: it must give an array of finite numbers, one for each margin"
            )
    positive, negative, ignored = (part.astype(np.float64) for part in parts)
    scores = -_sum_terms(positive, negative, float(ignored[0]), code)
    size = _sum_terms(np.abs(positive), np.abs(negative), abs(float(ignored[0])), code)
    return _settle_ties(scores, size.max(axis=1, keepdims=True))


def _settle_ties(scores: FloatArray, size: FloatArray) -> FloatArray:
    """Give the best score to all scores that equal it up to rounding."""
    best = scores.max(axis=1, keepdims=True)
    return np.where(scores >= best - NEAR * size, best, scores)


def _single_class_sides(code: IntArray) -> IntArray:
    """Return a code with 0 for the sides that hold several classes."""
    single_sides = np.zeros_like(code)
    for side in (1, -1):
        single = (code == side).sum(axis=1) == 1
        single_sides[single] += np.where(code[single] == side, side, 0)
    return single_sides


# ---- checks --------------------------------------------------------------------------------------
def needs_margins(decoding: str, threshold: float | None) -> bool:
    """Return whether a decoding needs margins, or else probabilities."""
    return decoding == "loss" or (decoding == "hamming" and threshold is None)


def check_rule(
    decoding: Any,
    loss: Any,
    threshold: Any,
    code: IntArray | None = None,
    classes: npt.ArrayLike | None = None,
) -> None:
    """Refuse an unknown decoding, options that it does not use, and a code that it cannot use."""
    OneOf(*DECODINGS).check("decoding", decoding)
    if loss is not None:
        if decoding != "loss":
            raise ParameterError(
                f"loss={loss!r} has no meaning with decoding={decoding!r}: leave it out, or use "
                "decoding='loss'"
            )
        check_value("loss", loss, OneOf(*LOSSES), Function("a function of an array"))
    if threshold is not None:
        if decoding in ("loss", "sum"):
            raise ParameterError(
                f"threshold={threshold!r} has no meaning with decoding={decoding!r}: leave it out, "
                "or use decoding='sum-threshold'"
            )
        lowest = 0.5 if decoding == "hamming" else 0.0
        Number(at_least=lowest, below=1).check("threshold", threshold)
    if code is not None and decoding == "probability-sum":
        unclaimed = np.flatnonzero(~_single_class_sides(code).any(axis=0))
        if len(unclaimed):
            first = int(unclaimed[0])
            label = first if classes is None else np.asarray(classes).tolist()[first]
            raise ParameterError(
                f"code: no problem tells class {label!r} alone from others, as "
                "decoding='probability-sum' needs: use decoding='sum' or 'sum-threshold'"
            )


def _check_code(
    code: npt.ArrayLike, n_classes: int | None = None, names: Sequence[Any] | None = None
) -> IntArray:
    try:
        matrix = np.asarray(code, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("code is no matrix of numbers: give +1, -1 and 0") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise ParameterError(
            f"code has shape {matrix.shape}: give a matrix, a row for each problem and a column "
            "for each class"
        )
    if n_classes is not None and matrix.shape[1] != n_classes:
        raise ParameterError(
            f"code has {matrix.shape[1]} columns, but there are {n_classes} classes: give a column "
            "for each class"
        )
    invalid = np.argwhere(~np.isin(matrix, (-1, 0, 1)))
    if len(invalid):
        s, k = invalid[0]
        raise ParameterError(
            f"code: row {s}, column {k} is {matrix[s, k]:g}: give +1, -1 or 0 (ignored)"
        )
    for side, sign in ((1, "+1"), (-1, "-1")):
        incomplete = np.flatnonzero(~(matrix == side).any(axis=1))
        if len(incomplete):
            raise ParameterError(
                f"code: row {incomplete[0]} has no {sign}: every problem needs both sides"
            )
    labels = list(range(matrix.shape[1])) if names is None else list(names)
    seen: dict[bytes, int] = {}
    for k, word in enumerate(matrix.T.astype(np.int64)):
        if not word.any():
            raise ParameterError(
                f"code: column {k} is all 0: class {labels[k]!r} is in no problem and can never "
                "be told from others"
            )
        first = seen.setdefault(word.tobytes(), k)
        if first != k:
            raise ParameterError(
                f"code: columns {first} and {k} are equal: classes {labels[first]!r} and "
                f"{labels[k]!r} can never be told apart"
            )
    return matrix.astype(np.int64)


def _check_outputs(outputs: npt.ArrayLike, n_problems: int, margins: bool) -> FloatArray:
    answers = np.asarray(outputs, dtype=np.float64)
    if answers.ndim != 2 or answers.shape[1] != n_problems:
        raise DataError(
            f"outputs have shape {answers.shape}: give a row for each row of the table and "
            f"{n_problems} columns, one for each problem of the code"
        )
    if margins:
        is_valid, rule = np.abs(answers) <= LARGEST_MARGIN, "a margin is a finite number"
    else:
        is_valid = (answers >= -NEAR) & (answers <= 1 + NEAR)
        rule = "a probability lies between 0 and 1"
    if not is_valid.all():
        row, s = np.argwhere(~is_valid)[0]
        raise DataError(f"outputs: row {row}, problem {s} is {answers[row, s]:g}: {rule}")
    return answers if margins else np.clip(answers, 0.0, 1.0)
