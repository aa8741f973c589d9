r"""Greedy forward search by the information of columns about the class and about each other.

.. math::

    S \leftarrow S \cup \{ \arg\max_{f \notin S} J(f; S) \}

Every criterion is a function of I(f; y), and of I(f; s) and I(f; y | s) for each s in S. They are
whole numbers, multiples of a tiny fraction of a bit, so that sums do not depend on any order. The
last digits of the value of a criterion are rounded off before columns are compared: columns that
are equally good by definition, though by different counts, are equally good in the search, and the
first of them is chosen.

Columns are compared by what :class:`~featly.core.ranking.preference.Preference` makes of J. A prior
can only help f. As long as f is not chosen, its prior does not change the comparison of the others,
so the same ones are chosen and J(f; S) is the same, while the compared value of f is at least as
large. So f is chosen no later than without its prior, and does not come later among the columns
that remain at the last step.
"""

import bisect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from featly.basics.typing import AnyArray, BoolArray, FloatArray, IntArray
from featly.core.counts.bitplanes import ConditioningColumn
from featly.core.counts.codes import Codes, spread_missing
from featly.core.counts.contingency import Tables
from featly.core.counts.entropy import ClassInformation, FixedPoint, class_information
from featly.core.counts.histograms import SpreadColumns
from featly.core.greedy.cache import PackCache, SavedSearch
from featly.core.greedy.packing import Packing, pack_columns
from featly.core.ranking.ordering import apply_prior, descending, round_scores
from featly.core.ranking.preference import Preference
from featly.core.runtime.jit import kernel
from featly.core.runtime.parallel import run_blocks
from featly.core.runtime.question import question

# mypy: disable-error-code="no-untyped-def"

__all__ = ["Criterion", "PairInformation", "SearchResult", "cached_pair_information",
           "forward_search", "pair_information"]  # fmt: skip


SPARE_BITS = 4  # of fixed point that are rounded off, so that more terms can be added up
COMPARED_BITS = 24  # after the point, of a criterion times the number of rows
MOST_PAIRS = 1 << 18  # entries of a table for the counts of two classes


class PairInformation:
    """Information that every column shares with a chosen one, as whole numbers.

    Parameters
    ----------
    codes : Codes
    classes : int64 array
    n_classes : int
    by_class : bool
        Whether I(f; y | s) is wanted; without it, the others take half the time.
    redundancy : bool, default=True
        Whether I(f; s) is wanted; without it, the attribute `redundancy` is undefined.
    spread : bool, default=False
        Whether missing values are spread over the levels; otherwise they are a level.
    pack_cache : PackCache, optional
        Storage of packed columns; memory by default.
    progress : callable, optional
        Called with (columns packed, columns in all) if they are packed by ranges.
    n_jobs : int, optional
        Threads; None means all cores. The result does not depend on it.

    Attributes
    ----------
    relevance : int64 array of shape (n_features,)
        I(f; y).
    entropy : int64 array of shape (n_features,)
        H(f).
    class_entropy : int
        H(y).
    redundancy : int64 array of shape (n_features,)
        I(f; s) for the column s of the last call of :meth:`condition_on`.
    conditional : int64 array of shape (n_features,)
        I(f; y | s).
    scale : float
        Divisor that turns these into bits.
    digits : int
        Last bits that are rounded off before values are compared.
    bits : float array of shape (n_features,)
        I(f; y) in bits, without rounding.
    varies : bool array of shape (n_features,)
        Whether a column has more than one level.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.core.counts.codes import DenseCodes
    >>> columns = DenseCodes(np.array([[1, 1, 2, 2], [1, 2, 1, 2]], np.uint8), np.array([2, 2]))
    >>> pairs = PairInformation(columns, np.array([0, 1, 1, 0]), 2, by_class=True)
    >>> pairs.condition_on(0)
    >>> (pairs.relevance / pairs.scale).tolist(), (pairs.conditional / pairs.scale).tolist()
    ([0.0, 0.0], [0.0, 1.0])
    """

    bits: FloatArray
    varies: BoolArray
    relevance: IntArray
    entropy: IntArray
    class_entropy: int

    conditional: IntArray
    redundancy: IntArray

    def __init__(
        self,
        codes: Codes,
        classes: IntArray,
        n_classes: int,
        *,
        by_class: bool,
        redundancy: bool = True,
        spread: bool = False,
        pack_cache: PackCache | None = None,
        progress: Callable[[int, int], Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        n, p = codes.n_rows, codes.n_features
        self._fixed = FixedPoint.for_rows(n)
        point_bits = self._fixed.shift - SPARE_BITS
        self._factor = 2.0**point_bits
        self.digits: int = max(0, point_bits - COMPARED_BITS)
        self.scale: float = n * self._factor
        self.redundancy, self.conditional = np.zeros(p, np.int64), np.zeros(p, np.int64)
        self._n_jobs = n_jobs
        self._spread: SpreadColumns | None = None
        if spread:
            tables = codes.tables(classes, n_classes)
            if _has_missing(tables):
                self._use_spread(class_information(spread_missing(tables), n, n_jobs))
                matrix = codes.block(0, p)
                self._spread = SpreadColumns(matrix, codes.n_levels, classes, n_classes, n_jobs)
                return
        pairs = None
        if by_class and not redundancy:
            pairs = _pair_table(classes, n_classes, self._fixed.table)
        self._packing = Packing(classes, n_classes, by_class, pairs)
        pack_store = None if pack_cache is None else pack_cache.open_store(self._packing, p, n_jobs)
        self._packed = pack_columns(codes, self._packing, pack_store, n_jobs, progress)
        self._read_packed()

    def _read_packed(self) -> None:
        """Read the information of the columns about the class, computed when they were packed."""
        p = len(self.redundancy)
        mutual, entropy = np.empty(p, np.int64), np.empty(p, np.int64)
        self.varies = np.empty(p, bool)
        for part in self._packed:
            part_slice = slice(part.low, part.high)
            mutual[part_slice], entropy[part_slice] = part.mutual, part.entropy
            self.varies[part_slice] = part.varies
        class_entropy = np.array([part.class_entropy for part in self._packed[:1]], np.int64)
        self.bits = mutual / self._fixed.scale
        self._own = self._fixed.table[-1] - entropy
        self.relevance = _round_off_bits(mutual, SPARE_BITS)
        self.entropy = _round_off_bits(entropy, SPARE_BITS)
        self.class_entropy = int(_round_off_bits(class_entropy, SPARE_BITS)[0])

    def _use_spread(self, information: ClassInformation) -> None:
        self.bits = information.gain()
        self.varies = information.entropy > 1e-9
        self.relevance = np.rint(information.mutual * self._factor).astype(np.int64)
        self.entropy = np.rint(information.entropy * self._factor).astype(np.int64)
        self.class_entropy = round(float(information.class_entropy.max()) * self._factor)

    def condition_on(self, chosen: int) -> None:
        """Fill `redundancy` and `conditional` for a chosen column s."""
        if self._spread is not None:
            self._spread.fill_information(chosen, self._factor, self.redundancy, self.conditional)
            return
        table, layout = self._fixed.table, self._packing.layout
        levels = self._levels(chosen)
        other = ConditioningColumn.from_codes(levels, layout.classes, layout.n_classes)
        by_level = int(table[other.counts.sum(axis=1)].sum())
        cells = int(table[other.counts].sum())
        added = (int(table[-1]) - by_level, by_level - cells)

        def fill_part(task: tuple[int, int, Any]) -> None:
            low, high, part = task
            part.fill_information(
                other, table, self._own[low:high], added, SPARE_BITS, self.redundancy[low:high],
                self.conditional[low:high],
            )  # fmt: skip

        tasks = [
            (packed.low, packed.high, part) for packed in self._packed for part in packed.parts
        ]
        if len(self._packed) == 1:  # its parts are divided among the threads themselves
            for task in tasks:
                fill_part(task)
        else:
            run_blocks(fill_part, tasks, self._n_jobs)

    def _levels(self, column: int) -> IntArray:
        """Return the level of every row in a column."""
        number = bisect.bisect_right(self._packed, column, key=lambda part: part.low) - 1
        levels = self._packed[number].levels(column)
        return np.zeros(len(self._packing.classes), np.int64) if levels is None else levels


@question(gpu="featly.core.greedy.search_cuda")
def pair_information(
    codes: Codes, classes: IntArray, n_classes: int, *, memory: int | None = None, **options: Any
) -> Any:
    """Return the information that every column shares with a chosen one.

    The options are those of :class:`PairInformation`; `memory` are the bytes of a GPU that packed
    columns may take, None for what is free.
    """
    return PairInformation(codes, classes, n_classes, **options)


@question
def cached_pair_information(codes: Codes, classes: IntArray, n_classes: int, **options: Any) -> Any:
    """Return the same of columns whose packing is kept in a folder."""
    return pair_information(codes, classes, n_classes, **options)


def _pair_table(classes: IntArray, n_classes: int, table: IntArray) -> IntArray | None:
    """Return T(i) + T(j) - T(i + j) for counts of two classes; None if not two, or too large."""
    first, *other_sizes = np.bincount(classes) + 1
    if n_classes != 2 or first * other_sizes[0] > MOST_PAIRS:
        return None
    i, j = np.arange(first)[:, None], np.arange(other_sizes[0])
    terms: IntArray = table[i] + table[j] - table[i + j]
    return terms.reshape(-1)


def _round_off_bits(value: IntArray, bits: int) -> IntArray:
    """Round off the last bits of whole numbers."""
    return (value + ((1 << bits) >> 1)) >> bits


def _is_positive(value: AnyArray, digits: int) -> AnyArray:
    """Return whether values are above 0 after their last digits are rounded off."""
    is_positive: AnyArray = value > max(0, ((1 << digits) >> 1) - 1)
    return is_positive


def _has_missing(tables: Tables) -> bool:
    start, n_classes = tables.start[:-1], tables.n_classes
    return bool((tables.counts[start[:, None] + np.arange(n_classes)] > 0).any())


class Criterion(ABC):
    """J(f; S) of every column f, kept up to date while S grows.

    A subclass adds up terms beside each chosen column, and returns its value. The terms are a
    :class:`PairInformation`, or another object with its `relevance`, `redundancy`, `conditional`,
    `scale`, `digits`, `varies` and ``condition_on``.

    Attributes
    ----------
    evidence : bool array of shape (n_features,)
        Whether a column varies and tells something about the class, alone or, where the terms have
        I(f; y | s), together with a chosen column.
    """

    adding: bool
    n_chosen: int
    evidence: AnyArray

    def __init__(self, terms: Any) -> None:
        self.terms = terms
        self.relevance: AnyArray = terms.relevance
        self.n_chosen = 0
        self.adding = False  # True if an error came while a column was put into S
        self.evidence = terms.varies & _is_positive(self.relevance, terms.digits)

    def choose(self, column: int) -> None:
        """Add a column to the chosen ones."""
        self.terms.condition_on(column)
        self.adding = True
        self.add(column)
        self._find_evidence(column)
        self.n_chosen += 1
        self.adding = False

    def _find_evidence(self, column: int) -> None:
        """Find evidence for columns that tell nothing alone, but something beside a chosen one."""
        terms, digits = self.terms, self.terms.digits
        mute = (terms.varies & ~self.evidence).nonzero()[0]
        if len(mute) == 0 or len(terms.conditional) == 0:
            return
        self.evidence[mute] = _is_positive(terms.conditional[mute], digits)
        if (mute == column).any():
            # I(s; y | f) = I(f; y | s) - I(f; y) for a chosen s that tells nothing alone
            gain = terms.conditional - self.relevance
            self.evidence[column] = (terms.varies & _is_positive(gain, digits)).any()

    @abstractmethod
    def add(self, column: int) -> None:
        """Take account of the terms beside a column that goes into S."""

    @abstractmethod
    def value(self) -> AnyArray:
        """Return J times the scale of the terms, as a new array of int64 or float64."""

    def to_fixed_point(self, value: FloatArray) -> IntArray:
        """Convert J to whole numbers: J times the scale of the terms."""
        scale: float = self.terms.scale
        return np.rint(value * scale).astype(np.int64)


@dataclass(frozen=True)
class SearchResult:
    """Result of a greedy search.

    Attributes
    ----------
    order : int64 array of shape (n_features,)
        Columns in the order of their choice, then the others by their compared values at the last
        step, then those that do not vary.
    step : int64 array of shape (n_features,)
        The step at which each column was chosen, from 1; 0 for none.
    criterion : float array of shape (n_features,)
        J at that step, or at the last.
    interrupted : bool
        Whether Ctrl-C ended the search.
    evidence : bool array of shape (n_features,)
        Whether a column tells something about the class; see :class:`Criterion`.
    """

    order: IntArray
    step: IntArray
    criterion: FloatArray
    interrupted: bool
    evidence: BoolArray

    def ranks(self) -> IntArray | None:
        """Return the ranks of the columns, from 1, if they are known already."""
        return None

    def falling_scores(self, preference: Preference) -> FloatArray:
        """Return what was compared when a column was chosen, or the lowest of it until then."""
        weighted: FloatArray = preference.apply(self.criterion)
        scores = weighted.copy()
        free = self.order[len(preference.keep) :]
        scores[free] = np.minimum.accumulate(weighted[free])
        return scores


@question(gpu="featly.core.greedy.search_cuda", subject=lambda criterion: criterion.terms)
def forward_search(
    criterion: Criterion,
    n_steps: int,
    preference: Preference | None = None,
    progress: Callable[[int, int], Any] | None = None,
    saved: SavedSearch | None = None,
) -> SearchResult:
    """Choose the columns to keep, then the best one `n_steps` times.

    Of equally good columns the first is chosen. A column that does not vary is never chosen. After
    Ctrl-C, the choices so far are returned; `progress` is called with (steps, steps in all).
    Criteria are compared after the `preference` was applied. A search in `saved` goes on.
    """
    terms = criterion.terms
    varies = terms.varies
    preference = preference or Preference()
    start_columns = preference.keep.tolist()
    free = varies.copy()
    free[start_columns] = False
    n_all = len(start_columns) + min(n_steps, int(free.sum()))
    choices = [] if saved is None else saved.load(criterion, n_all)
    free[[column for column, _ in choices]] = False
    is_interrupted = False
    try:
        if len(choices) > criterion.n_chosen and len(choices) < n_all:
            criterion.choose(choices[-1][0])  # the last step of the run that was saved
        value = criterion.value()
        for number in range(len(choices), n_all):
            best = (
                start_columns[number]
                if number < len(start_columns)
                else _best(value, terms, preference, free)
            )
            free[best] = False
            choices.append((best, float(value[best]) / terms.scale))
            if progress is not None:
                progress(number + 1, n_all)
            if number + 1 < n_all:
                criterion.choose(best)
                value = criterion.value()
                if saved is not None:
                    saved.save(criterion, choices)
    except KeyboardInterrupt:
        is_interrupted = True
        value = criterion.value()
    if saved is not None and not criterion.adding:  # a half-added column cannot be saved
        saved.save(criterion, choices, now=True)
    chosen = np.array([column for column, _ in choices], np.int64)
    step = np.zeros(len(value), np.int64)
    step[chosen] = np.arange(1, len(chosen) + 1)
    unreached = start_columns[len(chosen) :]  # of an interrupted search
    step[unreached] = -1
    remaining, constant = (np.flatnonzero(kind & (step == 0)) for kind in (varies, ~varies))
    step[unreached] = 0
    worth = value / terms.scale
    worth[chosen] = [criterion_value for _, criterion_value in choices]
    remaining = remaining[descending(_keys(value, terms, preference)[remaining])]
    order = np.concatenate([chosen, np.array(unreached, np.int64), remaining, constant])
    return SearchResult(order, step, worth, is_interrupted, criterion.evidence)


def _keys(value: AnyArray, terms: Any, preference: Preference) -> AnyArray:
    """Return the keys by which columns are compared."""
    keys: AnyArray
    if value.dtype.kind == "f":
        keys = round_scores(apply_prior(value, preference.prior))
        return keys - preference.price(terms.scale) if preference.has_cost else keys
    if preference.prior is None:
        keys = _round_off_bits(value, terms.digits)
    else:
        # rounded after weighting, so that columns of different priors can be equally good; a prior
        # of 1 gives the whole number that is compared without a prior
        keys = np.floor(apply_prior(value, preference.prior) * 2.0**-terms.digits + 0.5)
    if preference.has_cost:  # rounded by itself, so that equal costs part no equal columns
        keys = keys - np.rint(preference.price(terms.scale) * 2.0**-terms.digits)
    return keys


def _best(value: AnyArray, terms: Any, preference: Preference, free: BoolArray) -> int:
    """Return the best column that is free, the first of equal ones."""
    if value.dtype.kind == "f" or preference.changes_merit:
        return int(np.where(free, _keys(value, terms, preference), -np.inf).argmax())
    return int(_largest(value, free, terms.digits))


@kernel
def _largest(value, free, digits):
    half = (1 << digits) >> 1
    best = -1
    most = 0
    for f in range(len(value)):
        key = (value[f] + half) >> digits
        if free[f] and (best < 0 or key > most):
            best = f
            most = key
    return best
