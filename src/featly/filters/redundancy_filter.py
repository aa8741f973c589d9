r"""A filter that leaves out columns redundant to more relevant ones.

.. math::

    S = \{ j : R(i, j) < t \text{ for all } i \in S \text{ before } j \}

with columns in falling order of relevance and R the redundancy of two of them; or, of groups of
columns that tell the same, the most relevant of each. The idea of maximum weight and minimum
redundancy: Wang, J., Wu, L., Kong, J., Li, Y. and Zhang, B. (2013), Maximum weight and minimum
redundancy: a novel framework for feature subset selection, *Pattern Recognition* 46, 1616-1627.
Groups: Song, Q., Ni, J. and Wang, G. (2013), A fast clustering-based feature subset selection
algorithm for high-dimensional data, *IEEE Transactions on Knowledge and Data Engineering* 25,
1-14.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from featly.base import Problem, Selection, SubsetSelector, keep_first, stop_with
from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import KINDS
from featly.basics.progress import progress_bar
from featly.basics.resources import format_bytes
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.entropy import class_information
from featly.core.counts.streamed_codes import StreamedCodes
from featly.core.counts.uncertainty import uncertainty
from featly.core.pairs import search
from featly.core.pairs.correlation import UnitColumns
from featly.core.pairs.order import CodesInOrder, columns_in_order, restore_order
from featly.core.pairs.tree import spanning_tree
from featly.core.pairs.uncertainty import CodedColumns
from featly.core.ranking.ordering import best_first
from featly.core.runtime.device_cuda import NotOnDevice
from featly.core.sources import StreamedSource
from featly.filters._counting import cut_rule_from
from featly.filters.f_test import f_statistic
from featly.table.schema import Schema

__all__ = ["RedundancyFilter"]


RULES = ("greedy", "groups")
MEASURES = ("pearson", "spearman", "information")
RELEVANCES = ("f", "information")
TREES = ("largest", "smallest")
MOST_RELEVANCE = 1e300  # an F that is infinite
OWN_SHARE = 2  # of the memory, what is held ready; the rest is for the source


class _KindsByMeasure:
    """Kinds of column: all of them for information, numbers for correlations and F."""

    def __get__(self, method: Any, owner: Any = None) -> tuple[str, ...]:
        if method is None:
            return KINDS[:2]
        informed = method._measure() == "information" and method._relevance() == "information"
        return KINDS if informed else KINDS[:2]


class RedundancyFilter(SubsetSelector):
    r"""Leave out columns that are redundant to more relevant ones.

    ``rule="greedy"``: columns go by their relevance, from the largest down, the first of equal
    ones first. Each stays unless its redundancy with one that stays before it is at least
    `threshold`. That is exact among all pairs of columns: those above the threshold are never in
    memory together, and no pair is missed (see :func:`featly.redundancy`). A constant column is
    redundant to none. So is, with "information", one that the discretiser leaves in one piece:
    "mdlp" does so with columns that tell nothing about the class, and then even copies of those
    stay. For copies of any column give ``discretizer="equal-frequency"``, or a correlation.

    ``rule="groups"`` is FAST, of Song, Ni and Wang: columns whose symmetric uncertainty with the
    class is above `least_relevance` are joined by a spanning tree whose edges are their symmetric
    uncertainties with each other. An edge is cut if its value is below the uncertainty with the
    class at both of its ends. Of each of the trees that remain, the most relevant column is
    chosen. The paper takes a tree of *least* sum. Two equal columns are then kept apart by any
    third one that has nothing to do with either, and both are chosen, against the paper's own
    purpose; so the default here is the tree of largest sum, which joins what is alike
    (``tree="smallest"`` is the paper to the letter). It was built from the paper; no other
    program is known to hold it against.

    Of a table on disk, "greedy" writes the columns to a temporary file in the order of their
    relevance, so that they are read one after the other: as many bytes as the table has, or one
    for each value with "information".

    Parameters
    ----------
    rule : {"greedy", "groups"}, default="greedy"
        "greedy": what is nearly a copy of a better column goes. "groups": one column of every
        group stays, of columns that tell something about the class.
    threshold : float, default=0.95
        Of "greedy", above 0 and at most 1: the redundancy from which on a column goes.
    measure : {"pearson", "spearman", "information"} or None, default=None
        Redundancy: the absolute correlation of two columns or of their ranks, or their symmetric
        uncertainty. None: "pearson" for "greedy", "information" for "groups", which takes no
        other.
    relevance : {"f", "information"} or None, default=None
        What columns go by in "greedy": F of analysis of variance, or information gain. None:
        information gain if that is the `measure`, else F. "groups" goes by symmetric uncertainty.
    least_relevance : float or None, default=None
        Of "groups", from 0 to below 1: what a column must tell about the class, and more. None:
        the uncertainty of the column that is number
        :math:`\lfloor\sqrt p \log_2 p\rfloor` by it, as in the paper.
    tree : {"largest", "smallest"}, default="largest"
        Of "groups": whether the spanning tree has the largest sum of uncertainties or the least.
    discretizer : str, discretiser or None, default="mdlp"
        How continuous and ordinal columns are cut into levels: "mdlp", "pkid", "equal-frequency",
        "equal-width" or an instance of a discretiser. None: whole numbers are levels as they are.
        Of use with information only.
    schema : Schema, dict or None, default=None
        What is known about the columns; those to `keep` go first and are never removed.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where "greedy" compares columns. "auto": on a GPU, where there is one and the table is
        large. The result is the same. "groups" are made on the CPU.
    memory_limit : int, str or None, default=None
        Bytes for columns that are held ready, such as "2GB"; None is a quarter of what is free.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (steps, steps in all).

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        F (1e300 where it is infinite), information gain in bits, or symmetric uncertainty.
    redundant_to_ : int array of shape (n_features,)
        The chosen column for which this one was left out; -1 where there is none.
    covered_by_ : object array of shape (n_features,)
        Its name, or None; as in ``table()``.
    redundancy_ : float array of shape (n_features,)
        Of the two; 0 where there is none. With "groups" it may be small: a column belongs to a
        group because of any other one in it.
    empty_ : bool
        Of "groups": whether no column is above `least_relevance`. The most relevant one was
        chosen then, because a selection has at least one.
    interrupted_ : bool
        Whether Ctrl-C ended the comparison. Then columns that it had not come to are left out.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`. Chosen columns go by their relevance.

    See Also
    --------
    featly.redundancy : All pairs of columns above a threshold, or the nearest of each.
    FCBF : The threshold of a pair is what the less relevant column tells about the class.
    MRMR : Weighs redundancy against relevance.

    References
    ----------
    Wang, J. et al. (2013), Maximum weight and minimum redundancy: a novel framework for feature
    subset selection, *Pattern Recognition* 46, 1616-1627. Song, Q., Ni, J. and Wang, G. (2013), A
    fast clustering-based feature subset selection algorithm for high-dimensional data, *IEEE
    Transactions on Knowledge and Data Engineering* 25, 1-14.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import RedundancyFilter
    >>> frame = pl.DataFrame({
    ...     "centimetres": [152.0, 178.0, 168.0, 160.0, 181.0, 175.0],
    ...     "inches": [59.8, 70.1, 66.1, 63.0, 71.3, 68.9],
    ...     "age": [30.0, 41.0, 77.0, 52.0, 45.0, 61.0],
    ... })
    >>> outcome = ["f", "m", "f", "f", "m", "m"]
    >>> chosen = RedundancyFilter(threshold=0.9).fit(frame, outcome)
    >>> chosen.get_feature_names_out().tolist(), chosen.redundant_to_.tolist()
    (['inches', 'age'], [1, -1, -1])
    """

    _missing = True
    _streams = True
    _on_device = True
    _kinds = _KindsByMeasure()  # type: ignore[assignment, misc]

    def __init__(
        self,
        *,
        rule: str = "greedy",
        threshold: float = 0.95,
        measure: str | None = None,
        relevance: str | None = None,
        least_relevance: float | None = None,
        tree: str = "largest",
        discretizer: Any = "mdlp",
        schema: Schema | dict[str, Any] | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        memory_limit: int | str | None = None,
        verbose: bool | Callable[[int, int], Any] = False,
    ) -> None:
        self.rule = rule
        self.threshold = threshold
        self.measure = measure
        self.relevance = relevance
        self.least_relevance = least_relevance
        self.tree = tree
        self.discretizer = discretizer
        self.schema = schema
        self.n_jobs = n_jobs
        self.device = device
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _measure(self) -> str:
        """Return the measure of redundancy, the default filled in."""
        return self.measure or ("information" if self.rule == "groups" else "pearson")

    def _relevance(self) -> str:
        """Return the measure of relevance, the default filled in."""
        return self.relevance or ("information" if self._measure() == "information" else "f")

    def _is_greedy(self) -> bool:
        return True

    def _operations(self, n_rows: int, n_features: int) -> float:
        return n_features * super()._operations(n_rows, n_features)

    def _device_form(self) -> str:
        if self.rule == "groups":
            raise NotOnDevice("rule='groups' is computed on the CPU")
        return "own"

    def _takes_integers(self) -> bool:
        return self._measure() == "information" and self._relevance() == "information"

    def _check_parameters(self) -> None:
        for name, known in (("rule", RULES), ("tree", TREES)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in known:
                raise ParameterError(f"{name}={value!r}: give {' or '.join(map(repr, known))}")
        for name, known in (("measure", MEASURES), ("relevance", RELEVANCES)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or value not in known):
                raise ParameterError(f"{name}={value!r}: give {', '.join(map(repr, known))}")
        _check_share("threshold", self.threshold, "a number above 0, and at most 1")
        if self.least_relevance is not None:
            _check_share("least_relevance", self.least_relevance, "a number from 0 to below 1")
        cut_rule_from(self.discretizer)
        if self.rule == "groups":
            if self._measure() != "information":
                raise ParameterError(
                    f"measure={self.measure!r}: groups compare what columns tell of each other and "
                    "of the class, so give measure='information', or rule='greedy'"
                )
            self._check_use({"threshold": 0.95, "relevance": None}, "rule='groups'")
        else:
            self._check_use({"least_relevance": None, "tree": "largest"}, "rule='greedy'")
        if "information" not in (self._measure(), self._relevance()):
            self._check_use({"discretizer": "mdlp"}, f"measure={self._measure()!r}")

    def _check_use(self, defaults: dict[str, Any], where: str) -> None:
        """Refuse a parameter that the rule does not use."""
        for name, default in defaults.items():
            value = getattr(self, name)
            if type(value) is not type(default) or value != default:
                raise ParameterError(f"{name}={value!r} is of no use with {where}: leave it out")

    def _table_columns(self) -> dict[str, Any]:
        columns = super()._table_columns()
        return columns | {"covered_by": columns["covered_by"].tolist()}  # text in any library

    # ---- the computation --------------------------------------------------------------------
    def _select(self, problem: Problem) -> Selection:
        codes = None
        if "information" in (self._measure(), self._relevance()):
            codes = problem.coded(cut_rule_from(self.discretizer), self.n_jobs)
        if self.rule == "groups":
            assert codes is not None
            return self._select_groups(problem, codes)
        if self._relevance() == "f" or self._measure() != "information":
            moments = problem.moments(by_class=True)  # refuses infinite values
        if self._relevance() == "information":
            assert codes is not None
            tables = codes.tables(problem.y, len(problem.classes))
            relevance = class_information(tables, codes.n_rows, self.n_jobs).gain()
        else:
            relevance = np.minimum(f_statistic(moments)[0], MOST_RELEVANCE)
        order = keep_first(best_first(relevance), problem.columns.keep)
        comparison = self._compare_pairs(problem, codes, order)
        return _build_selection(problem.columns.names, order, relevance, *comparison)

    def _compare_pairs(
        self, problem: Problem, codes: Codes | None, order: IntArray
    ) -> tuple[IntArray, FloatArray, int]:
        """Return each column's cover, its redundancy with that, and how many are decided."""
        source, resources = problem.source, problem.resources
        ranks = self._measure() == "spearman"
        informed = self._measure() == "information"
        n_fixed = len(problem.columns.keep)
        with progress_bar(self.verbose, type(self).__name__, "tiles") as progress:

            def search_on_device(backend: Any) -> Any:
                columns = (
                    backend.CodedColumns(codes)
                    if informed
                    else backend.UnitColumns.from_source(source, ranks=ranks)
                )
                return search_columns(backend, columns, order, resources.memory)

            def search_on_cpu() -> Any:
                memory_budget = resources.memory_budget // OWN_SHARE
                columns: Any
                if informed:
                    assert codes is not None
                    if not isinstance(codes, StreamedCodes):
                        return search_columns(search, CodedColumns(codes), order, memory_budget)
                    columns = CodedColumns(CodesInOrder(codes, order))
                else:
                    if not isinstance(source, StreamedSource):
                        return search_columns(
                            search, UnitColumns(source, ranks=ranks), order, memory_budget
                        )
                    columns = UnitColumns(columns_in_order(source, order), ranks=ranks)
                *sort_by_plan, decided = search_columns(
                    search, columns, np.arange(len(order)), memory_budget
                )
                return *restore_order(order, *sort_by_plan), decided

            def search_columns(
                backend: Any, columns: Any, positions: IntArray, memory: int | None
            ) -> Any:
                threshold = search.round_to_grid(float(self.threshold), columns.grid)
                return backend.drop_redundant(
                    columns, positions, threshold, n_fixed, memory, progress
                )

            if problem.on_device:
                from featly.core.pairs import search_cuda as backend

                return search_on_device(backend)
            return search_on_cpu()

    def _select_groups(self, problem: Problem, codes: Codes) -> Selection:
        with_class = uncertainty(codes, problem.y + 1, len(problem.classes))
        order = best_first(with_class)
        least, p = self.least_relevance, len(order)
        if least is None:
            place = max(1, int(np.sqrt(p) * np.log2(max(p, 2))))
            least = float(with_class[order[min(place, p) - 1]])
        above = with_class > least
        empty = not above.any()
        keep = problem.columns.keep
        above[keep] = True
        if not above.any():
            above[order[0]] = True
        features = order[above[order]]
        columns = CodedColumns(codes)
        needed, memory_budget = (
            len(features) * columns.bytes_per_column,
            problem.resources.memory_budget,
        )
        if needed > memory_budget:
            raise DataError(
                f"{len(features)} columns are above least_relevance={least:g} and take "
                f"{format_bytes(needed)}, with a memory limit of {format_bytes(memory_budget)}: "
                "give a larger "
                "least_relevance or memory_limit"
            )
        with progress_bar(self.verbose, type(self).__name__, "columns") as progress:
            first, second, value = spanning_tree(
                columns, features, progress, largest=self.tree == "largest"
            )
        relevant = with_class[features]
        stays = (value >= relevant[first]) | (value >= relevant[second])
        links = np.ones(int(stays.sum()), np.int8), (first[stays], second[stays])
        graph = scipy.sparse.coo_array(links, shape=(len(features), len(features))).tocsr()
        group = connected_components(graph, directed=False)[1]
        names = problem.columns.names
        return _representatives(columns, features, group, with_class, keep, names, empty=empty)


def _check_share(name: str, value: Any, rule: str) -> None:
    number = isinstance(value, int | float | np.integer | np.floating)
    inside = number and (0 < value <= 1 if name == "threshold" else 0 <= value < 1)
    if isinstance(value, bool) or not inside:
        raise ParameterError(f"{name}={value!r}: give {rule}")


def _build_selection(
    names: Any,
    order: IntArray,
    relevance: FloatArray,
    redundant_to: IntArray,
    value: FloatArray,
    decided: int,
) -> Selection:
    if decided == 0:
        raise KeyboardInterrupt
    stopped = decided < len(order)
    done = order[:decided]
    selection = Selection(
        done[redundant_to[done] < 0],
        extra={
            "relevance": relevance,
            "redundancy": value,
            "covered_by": _name_columns(redundant_to, names),
        },
        attributes={"redundant_to": redundant_to, "interrupted": stopped, "empty": False},
    )
    if stopped:
        raise stop_with(selection)
    return selection


def _representatives(
    columns: CodedColumns,
    features: IntArray,
    group: AnyArray,
    with_class: FloatArray,
    keep: IntArray,
    names: Any,
    *,
    empty: bool,
) -> Selection:
    """Select the first column of every group, or those of it that are to be kept."""
    ordered = keep_first(features, keep)
    place = np.empty(len(with_class), np.int64)
    place[features] = np.arange(len(features))
    _, first = np.unique(group[place[ordered]], return_index=True)
    chosen = np.zeros(len(with_class), np.bool_)
    chosen[ordered[first]] = True
    chosen[keep] = True
    redundant_to = np.full(len(with_class), -1)
    value = np.zeros(len(with_class))
    block = columns.load(features)  # once: a table on disk is read and cut for each call
    for column in ordered[first].tolist():
        is_covered = (group == group[place[column]]) & ~chosen[features]
        if is_covered.any():
            redundant_to[features[is_covered]] = column
            covered = columns.part(block, is_covered)
            representative = columns.part(block, features == column)
            value[features[is_covered]] = columns.screen(
                covered, representative, 0, int(is_covered.sum())
            )[:, 0]
    return Selection(
        ordered[chosen[ordered]],
        extra={
            "relevance": with_class,
            "redundancy": value,
            "covered_by": _name_columns(redundant_to, names),
        },
        attributes={"redundant_to": redundant_to, "interrupted": False, "empty": empty},
    )


def _name_columns(redundant_to: IntArray, names: Any) -> AnyArray:
    """Return names of columns, None for -1."""
    labels = np.full(len(redundant_to), None, object)
    for column in np.flatnonzero(redundant_to >= 0).tolist():
        labels[column] = names[int(redundant_to[column])]
    return labels
