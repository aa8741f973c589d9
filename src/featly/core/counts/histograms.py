r"""Counts of columns against one column, row by row, where bit-planes cannot be used.

Columns of many levels would need too many planes. The sum of :math:`T(n_{ij})` over all cells is
built up while counting, by :math:`T(k + 1) - T(k)` for every row, so that no cell has to be visited
afterwards, however many there are.

Counts are not whole where missing values are spread over the levels. With level 0 for missing
values, :math:`F_i` the rows at level i of f, F the rows where f is known, :math:`S_j` and S the
same of s, :math:`N_{ij}` the rows at both levels and N the rows where both are known,

.. math::

    n_{ijc} = N_{ijc} + \frac{F_i}{F} N_{0jc} + \frac{S_j}{S} N_{i0c} + \frac{N_{ij}}{N} N_{00c}

as in Weka's CfsSubsetEval for a table of two columns, here by class. Where N is 0, the last
fraction is that of two independent columns.
"""

import numpy as np

from featly.basics.typing import AnyArray, IntArray
from featly.core.counts.bitplanes import NOISE, ConditioningColumn, round_information
from featly.core.counts.entropy import xlogx
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks, split

__all__ = ["SpreadColumns", "WideColumns"]

# mypy: disable-error-code="no-untyped-def"


BLOCK_VALUES = 1 << 18


class WideColumns:
    """Some columns as codes, one after the other.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (len(features), n_rows)
    features : int64 array
        Their numbers.
    classes : int64 array of shape (n_rows,)
    n_classes : int
        1 where classes do not matter.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    """

    n_classes: int
    classes: IntArray
    features: IntArray
    codes: AnyArray

    def __init__(
        self,
        codes: AnyArray,
        features: IntArray,
        classes: IntArray,
        n_classes: int,
        n_jobs: int | None = None,
    ) -> None:
        self.codes, self.features = codes, features
        self.classes, self.n_classes = classes, n_classes
        self.n_jobs = n_jobs
        self.most: int = int(codes.max(initial=0))
        self.blocks: list[tuple[int, int]] = split(
            len(codes), max(1, BLOCK_VALUES // max(1, codes.shape[1]))
        )

    def arrays(self) -> dict[str, AnyArray]:
        """Return the arrays from which these columns can be made again."""
        return {"codes": self.codes, "features": self.features}

    def levels(self, feature: int) -> IntArray | None:
        """Return the codes of one column; None if it is not among these."""
        positions = np.flatnonzero(self.features == feature)
        return self.codes[positions[0]].astype(np.int64) if len(positions) else None

    def fill_information(
        self,
        other: ConditioningColumn,
        table: IntArray,
        own: IntArray,
        added: tuple[int, int],
        dropped_bits: int,
        redundancy: IntArray,
        conditional: IntArray,
    ) -> None:
        """Fill in the information that every column here shares with the other one.

        The same as :meth:`featly.core.counts.bitplanes.BitPlanes.fill_information`.
        """
        order = np.argsort(other.levels * self.n_classes + self.classes, kind="stable")
        ends = np.concatenate([[0], np.cumsum(other.counts.reshape(-1))])
        steps = np.diff(table)

        def count_block(block: tuple[int, int]) -> None:
            _count_columns(
                self.codes, self.features, order, ends, self.n_classes, self.most, steps, own,
                *added, dropped_bits, *block, redundancy, conditional,
            )  # fmt: skip

        run_blocks(count_block, self.blocks, self.n_jobs)


class SpreadColumns:
    """All columns as codes, in which missing values are spread over the levels.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (n_features, n_rows)
    n_levels : int64 array of shape (n_features,)
        The largest code of each.
    classes : int64 array of shape (n_rows,)
    n_classes : int
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.
    """

    n_classes: int
    classes: IntArray
    n_levels: IntArray
    codes: AnyArray

    def __init__(
        self,
        codes: AnyArray,
        n_levels: IntArray,
        classes: IntArray,
        n_classes: int,
        n_jobs: int | None = None,
    ) -> None:
        self.codes, self.n_levels = codes, n_levels
        self.classes, self.n_classes = classes, n_classes
        self.n_jobs = n_jobs
        self.blocks: list[tuple[int, int]] = split(
            len(codes), max(1, BLOCK_VALUES // max(1, codes.shape[1]))
        )

    def fill_information(
        self, other: int, factor: float, redundancy: IntArray, conditional: IntArray
    ) -> None:
        """Fill in n I(f; s) and n I(f; y | s) of every column f and column s = `other`.

        The unit is ``1 / factor`` bits.
        """

        def count_block(block: tuple[int, int]) -> None:
            _count_spread(
                self.codes, self.n_levels, self.classes, self.n_classes, other, factor, *block,
                redundancy, conditional,
            )  # fmt: skip

        run_blocks(count_block, self.blocks, self.n_jobs)


# ---- compiled loops -------------------------------------------------------------------------
@kernel
def _count_columns(
    codes, features, order, ends, n_classes, most, steps, own, offset, conditional_offset, bits, lo,
    hi, redundancy, conditional,
):  # fmt: skip
    """Count columns against another; `order` has the rows sorted by it and by class."""
    joint_counts = np.zeros(most + 1, np.int64)
    class_counts = np.zeros(most + 1, np.int64)
    for k in range(lo, hi):
        column = codes[k]
        f = features[k]
        joint_sum = 0
        conditional_sum = 0
        for first in range(0, len(ends) - 1, n_classes):
            for part in range(first, first + n_classes):
                for i in range(ends[part], ends[part + 1]):
                    level = column[order[i]]
                    joint_sum += steps[joint_counts[level]]
                    joint_counts[level] += 1
                    conditional_sum += steps[class_counts[level]]
                    class_counts[level] += 1
                for i in range(ends[part], ends[part + 1]):
                    class_counts[column[order[i]]] = 0
            for i in range(ends[first], ends[first + n_classes]):
                joint_counts[column[order[i]]] = 0
        redundancy[f] = round_information(joint_sum + offset - own[f], bits)
        if n_classes > 1:
            conditional[f] = round_information(
                conditional_sum - joint_sum + conditional_offset, bits
            )


@kernel
def _count_spread(
    codes, n_levels, classes, n_classes, other, factor, lo, hi, redundancy, conditional
):
    n = len(classes)
    other_column = codes[other]
    n_others = n_levels[other] + 1
    most = 0
    for f in range(lo, hi):
        most = max(most, n_levels[f])
    counts = np.empty((most + 1, n_others, n_classes))
    own_sizes = np.empty(most + 1)
    other_sizes = np.empty(n_others)
    for f in range(lo, hi):
        n_own = n_levels[f] + 1
        counts[:n_own] = 0.0
        own_sizes[:] = 0.0
        other_sizes[:] = 0.0
        column = codes[f]
        n_complete = 0.0
        for i in range(n):
            counts[column[i], other_column[i], classes[i]] += 1.0
            own_sizes[column[i]] += 1.0
            other_sizes[other_column[i]] += 1.0
            n_complete += 1.0 if column[i] > 0 and other_column[i] > 0 else 0.0
        if own_sizes[0] == n or other_sizes[0] == n:  # a column without any value
            redundancy[f] = 0
            conditional[f] = _class_information(own_sizes, counts, n_own, n_others, factor)
            continue
        for i in range(1, n_own):
            share = own_sizes[i] / (n - own_sizes[0])
            for j in range(1, n_others):
                other_share = other_sizes[j] / (n - other_sizes[0])
                joint_share = share * other_share
                if n_complete > 0.0:
                    joint_share = 0.0
                    for c in range(n_classes):
                        joint_share += counts[i, j, c]
                    joint_share /= n_complete
                for c in range(n_classes):
                    counts[i, j, c] += (
                        share * counts[0, j, c]
                        + other_share * counts[i, 0, c]
                        + joint_share * counts[0, 0, c]
                    )
        redundancy[f], conditional[f] = _informations(counts, n_own, n_others, n_classes, factor)


@kernel
def _informations(counts, n_own, n_others, n_classes, factor):
    """Return n I(f; s) and n I(f; y | s) of a table whose first row and column are left out."""
    whole = 0.0
    own_levels = 0.0
    cells = 0.0
    by_class = 0.0
    other_levels = 0.0
    other_levels_by_class = 0.0
    for i in range(1, n_own):
        size = 0.0
        for j in range(1, n_others):
            cell = 0.0
            for c in range(n_classes):
                cell += counts[i, j, c]
                by_class += xlogx(counts[i, j, c])
            cells += xlogx(cell)
            size += cell
        own_levels += xlogx(size)
        whole += size
    for j in range(1, n_others):
        size = 0.0
        for c in range(n_classes):
            cell = 0.0
            for i in range(1, n_own):
                cell += counts[i, j, c]
            other_levels_by_class += xlogx(cell)
            size += cell
        other_levels += xlogx(size)
    redundancy = cells + xlogx(whole) - own_levels - other_levels
    conditional = by_class + other_levels - cells - other_levels_by_class
    return _units(redundancy, factor), _units(conditional, factor)


@kernel
def _units(value, factor):
    units = np.int64(np.rint(value * factor))
    return units if units > NOISE else 0


@kernel
def _class_information(own_sizes, counts, n_own, n_others, factor):
    """Return n I(f; y) of a column beside one without any value; 0 where it has none itself."""
    n_classes = counts.shape[2]
    n = own_sizes.sum()
    if own_sizes[0] == n:
        return 0
    levels = 0.0
    cells = 0.0
    classes = np.zeros(n_classes)
    for i in range(1, n_own):
        share = own_sizes[i] / (n - own_sizes[0])
        size = 0.0
        for c in range(n_classes):
            cell = counts[i, 0, c] + share * counts[0, 0, c]
            for j in range(1, n_others):
                cell += counts[i, j, c] + share * counts[0, j, c]
            cells += xlogx(cell)
            classes[c] += cell
            size += cell
        levels += xlogx(size)
    total = cells + xlogx(n) - levels
    for c in range(n_classes):
        total -= xlogx(classes[c])
    return _units(total, factor)
