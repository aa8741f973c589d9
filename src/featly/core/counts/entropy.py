r"""Entropies as whole numbers, which do not depend on the order of summation.

.. math::

    n H(X) = T(n) - \sum_i T(n_i), \qquad
    n I(X; Y) = T(n) + \sum_{ij} T(n_{ij}) - \sum_i T(n_i) - \sum_j T(n_j), \qquad
    T(k) = k \log_2 k

T is rounded once to a multiple of 2^-shift and stored as a 64-bit integer. Sums of integers are the
same in any order: rows, levels, classes, columns and threads may be permuted, and two columns with
the same counts get the same bits, so that ties are exact. Shannon, C. E. (1948), A mathematical
theory of communication, *Bell System Technical Journal* 27, 379-423.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.contingency import Tables
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split
from featly.core.runtime.question import question

__all__ = ["ClassInformation", "FixedPoint", "class_information", "drop_rounding_noise", "xlogx"]

# mypy: disable-error-code="no-untyped-def"


HEADROOM = 12  # bits: as many as 4,096 terms n log2 n may be added up
BLOCK = 8192


@dataclass(frozen=True)
class FixedPoint:
    """The function k log2 k for whole k from 0 to n, as integers in units of ``2^-shift``.

    Attributes
    ----------
    n : int
    shift : int
        The largest with which the sum of 4,096 terms n log2 n fits into 63 bits.
    scale : float
        ``n 2^shift``, the divisor that turns an integer into an entropy in bits.
    table : int64 array of shape (n + 1,)

    Examples
    --------
    >>> from featly.core.counts.entropy import FixedPoint
    >>> fixed = FixedPoint.for_rows(8)
    >>> float((fixed.table[8] - 2 * fixed.table[4]) / fixed.scale)
    1.0
    """

    n: int

    @staticmethod
    @lru_cache(maxsize=8)
    def for_rows(n: int) -> "FixedPoint":
        """Return the table for n rows, made once."""
        return FixedPoint(n)

    @cached_property
    def shift(self) -> int:
        """Number of bits behind the point."""
        largest = max(2.0, self.n * np.log2(max(self.n, 2)))
        return int(62 - HEADROOM - np.ceil(np.log2(largest)))

    @property
    def scale(self) -> float:
        """Divisor that turns an integer into bits."""
        return float(self.n) * 2.0**self.shift

    @cached_property
    def table(self) -> IntArray:
        """T(k) for k from 0 to n."""
        k = np.arange(self.n + 1, dtype=np.float64)
        return np.rint(k * np.log2(np.maximum(k, 1)) * 2.0**self.shift).astype(np.int64)


@kernel
def drop_rounding_noise(value, n_terms):
    """Return an information of `n_terms` rounded terms, or 0 where rounding alone explains it.

    Otherwise independent columns would be ordered by their rounding errors.
    """
    return 0 if value <= n_terms else value


@dataclass(frozen=True)
class ClassInformation:
    """Information of each column about the class: integers in units of ``1 / scale`` bits.

    Attributes
    ----------
    mutual : int64 or float64 array
        n I(X; Y).
    entropy : int64 or float64 array
        n H(X).
    class_entropy : int64 or float64 array
        n H(Y), an entry a column: with spread counts they may differ by rounding.
    scale : float
    """

    mutual: AnyArray
    entropy: AnyArray
    class_entropy: AnyArray
    scale: float

    @staticmethod
    def concatenate(parts: "Sequence[ClassInformation]") -> "ClassInformation":
        """Concatenate the information of ranges of columns."""
        if len(parts) == 1:
            return parts[0]
        return ClassInformation(
            np.concatenate([part.mutual for part in parts]),
            np.concatenate([part.entropy for part in parts]),
            np.concatenate([part.class_entropy for part in parts]),
            parts[0].scale,
        )

    def gain(self) -> FloatArray:
        """Return I(X; Y) in bits."""
        return self.mutual / self.scale

    def ratio(self) -> FloatArray:
        """Return I(X; Y) / H(X); 0 for a constant column."""
        return _quotient(self.mutual, self.entropy)

    def uncertainty(self) -> FloatArray:
        """Return the symmetric uncertainty 2 I(X; Y) / (H(X) + H(Y)); 0 for a constant column."""
        return _quotient(2 * self.mutual, self.entropy + self.class_entropy)


def _quotient(above: AnyArray, below: AnyArray) -> FloatArray:
    out = np.zeros(len(above))
    np.divide(above, below, out=out, where=(above > 0) & (below > 0))
    return out


@question(gpu="featly.core.counts.entropy_cuda")
def class_information(tables: Tables, n_rows: float, n_jobs: int | None = None) -> ClassInformation:
    """Compute mutual information and entropies of every table.

    Counts that are whole numbers are treated exactly, in fixed point; others, such as those spread
    over levels, in float64. `n_rows` is the number of rows, or their total weight.

    Examples
    --------
    >>> import numpy as np
    >>> tables = Tables(np.array([0, 0, 4, 0, 0, 4]), np.array([0, 6]), 2)
    >>> result = class_information(tables, 8)
    >>> result.gain().tolist(), result.ratio().tolist(), result.uncertainty().tolist()
    ([1.0], [1.0], [1.0])
    """
    whole = tables.counts.dtype.kind == "i"
    fixed = FixedPoint.for_rows(int(n_rows) if whole else 1)
    out = np.zeros((3, len(tables)), np.int64 if whole else np.float64)

    def measure_block(block: tuple[int, int]) -> None:
        arguments = (tables.counts, tables.start, tables.n_classes)
        if whole:
            _measure_counts(*arguments, fixed.table, *block, out)
        else:
            _measure_shares(*arguments, *block, out)

    run_blocks(measure_block, split(len(tables), BLOCK), n_jobs)
    return ClassInformation(out[0], out[1], out[2], fixed.scale if whole else float(n_rows))


@kernel
def _measure_counts(counts, start, n_classes, table, lo, hi, out):
    classes = np.empty(n_classes, np.int64)
    for f in range(lo, hi):
        classes[:] = 0
        base = start[f]
        n_levels = (start[f + 1] - base) // n_classes
        n = 0
        cells = 0
        levels = 0
        terms = 2
        for i in range(n_levels):
            size = 0
            for c in range(n_classes):
                k = counts[base + i * n_classes + c]
                size += k
                classes[c] += k
                cells += table[k]
                terms += k > 1
            n += size
            levels += table[size]
            terms += size > 1
        by_class = 0
        for c in range(n_classes):
            by_class += table[classes[c]]
            terms += 1
        out[0, f] = drop_rounding_noise(table[n] + cells - levels - by_class, terms)
        out[1, f] = table[n] - levels
        out[2, f] = table[n] - by_class


@kernel
def xlogx(x):
    """Return x log2 x of a count that need not be whole."""
    return x * np.log2(x) if x > 0 else 0.0


@kernel
def _measure_shares(counts, start, n_classes, lo, hi, out):
    classes = np.empty(n_classes)
    for f in range(lo, hi):
        classes[:] = 0.0
        base = start[f]
        n_levels = (start[f + 1] - base) // n_classes
        n = 0.0
        cells = 0.0
        levels = 0.0
        for i in range(n_levels):
            size = 0.0
            for c in range(n_classes):
                k = counts[base + i * n_classes + c]
                size += k
                classes[c] += k
                cells += xlogx(k)
            n += size
            levels += xlogx(size)
        by_class = 0.0
        for c in range(n_classes):
            by_class += xlogx(classes[c])
        whole = xlogx(n)
        mutual = whole + cells - levels - by_class
        out[0, f] = mutual if mutual > 1e-11 * whole else 0.0
        out[1, f] = max(0.0, whole - levels)
        out[2, f] = whole - by_class
