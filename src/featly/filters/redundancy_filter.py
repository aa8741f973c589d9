r"""A filter that leaves out columns redundant to more relevant ones.

.. math::

    S = \{ j : R(i, j) < t \text{ for all } i \in S \text{ before } j \}

with columns in falling order of relevance and R the redundancy of two columns; or the most relevant
column of each group of redundant columns. Maximum weight and minimum redundancy: Wang, J., Wu, L.,
Kong, J., Li, Y. and Zhang, B. (2013), Maximum weight and minimum redundancy: a novel framework for
feature subset selection, *Pattern Recognition* 46, 1616-1627. Groups: Song, Q., Ni, J. and Wang, G.
(2013), A fast clustering-based feature subset selection algorithm for high-dimensional data, *IEEE
Transactions on Knowledge and Data Engineering* 25, 1-14.
"""

from typing import Annotated, Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from featly.base import Problem, Questions, Selection, SubsetSelector, keep_first, stop_with
from featly.basics.errors import DataError, Parameter, ParameterError, Setting
from featly.basics.kinds import KINDS
from featly.basics.params import Number, OneOf
from featly.basics.progress import progress_bar
from featly.basics.resources import format_bytes
from featly.basics.typing import AnyArray, FloatArray, IntArray
from featly.core.counts.codes import Codes
from featly.core.counts.coding import code_columns
from featly.core.counts.entropy import class_information
from featly.core.counts.uncertainty import uncertainty
from featly.core.pairs.columns import arrange, coded_columns, unit_columns
from featly.core.pairs.order import restore_order
from featly.core.pairs.search import drop_redundant, round_to_grid, search_memory
from featly.core.pairs.tree import spanning_tree
from featly.core.pairs.uncertainty import CodedColumns
from featly.core.ranking.ordering import best_first
from featly.filters._counting import Discretizing, cut_rule_from, read_cuts
from featly.filters.f_test import asks_of_target, f_of_target
from featly.problem.parameters import OnDevice, Streaming, Verbose

__all__ = ["RedundancyFilter"]

Comparison = tuple[IntArray, FloatArray, int]

RULES = ("greedy", "groups")
MEASURES = ("pearson", "spearman", "information")
RELEVANCES = ("f", "information")
TREES = ("largest", "smallest")
MOST_RELEVANCE = 1e300  # stands for an infinite F


class _KindsByMeasure:
    """Kinds of column: all of them for information, numbers for correlations and F."""

    def __get__(self, method: Any, owner: Any = None) -> tuple[str, ...]:
        if method is None:
            return KINDS[:2]
        counts_levels = method._measure() == method._relevance() == "information"
        return KINDS if counts_levels else KINDS[:2]


class RedundancyFilter(Verbose, Streaming, OnDevice, Discretizing, SubsetSelector):
    r"""Leave out columns that are redundant to more relevant ones.

    ``rule="greedy"``: columns are taken in falling order of their relevance, equal ones in the
    order of the table. Each is chosen unless its redundancy with a column chosen before is at least
    `threshold`. This is exact, no pair is missed, and the pairs above the threshold are not held in
    memory (see :func:`featly.redundancy`). A constant column is redundant to none. With
    "information" that includes a column that the discretiser does not cut: "mdlp" does not cut
    columns that tell nothing about the class, so even copies of these are chosen. To remove copies
    of any column give ``discretizer="equal-frequency"``, or a correlation.

    ``rule="groups"`` is FAST, of Song, Ni and Wang: columns whose symmetric uncertainty with the
    class is above `least_relevance` are joined by a spanning tree whose edges are their symmetric
    uncertainties with each other. An edge is cut if its value is below the uncertainty with the
    class at both of its ends. The most relevant column of each remaining tree is chosen. The paper
    takes the tree of *least* sum. Any third column that is unrelated to two equal ones then
    separates them, and both are chosen, against the purpose of the paper. So the default here is
    the tree of largest sum, which joins similar columns; ``tree="smallest"`` follows the paper. The
    implementation follows the paper alone; no other program is known to compare it with.

    For a table on disk, "greedy" writes the columns to a temporary file in the order of their
    relevance, so that they are read one after the other. It has as many bytes as the table, or one
    byte for each value with "information".

    Parameters
    ----------
    rule : {"greedy", "groups"}, default="greedy"
        "greedy" leaves out columns that are nearly copies of better ones. "groups" chooses one
        column of every group, among columns that tell something about the class.
    threshold : float, default=0.95
        For "greedy", above 0 and at most 1: the redundancy from which on a column is left out.
    measure : {"pearson", "spearman", "information"} or None, default=None
        Redundancy: the absolute correlation of two columns or of their ranks, or their symmetric
        uncertainty. None: "pearson" for "greedy", "information" for "groups", which takes no
        other.
    relevance : {"f", "information"} or None, default=None
        For "greedy": F of analysis of variance, or information gain. None: information gain if
        `measure` is "information", else F. "groups" uses the symmetric uncertainty.
    least_relevance : float or None, default=None
        For "groups", from 0 to below 1: columns must have a symmetric uncertainty with the class
        above it. None: that of the column of rank :math:`\lfloor\sqrt p \log_2 p\rfloor`, as in the
        paper.
    tree : {"largest", "smallest"}, default="largest"
        For "groups": whether the spanning tree has the largest sum of uncertainties or the least.
    discretizer : str, discretiser or None, default="mdlp"
        How numbers become levels: a name, an instance, None; "mdlp" is MDLP(encoding="distinct").
        Continuous and ordinal columns are cut: "mdlp", "pkid", "equal-frequency", "equal-width" or
        an instance of a discretiser. None: whole numbers are levels as they are. Used with
        information only.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        Columns to keep go first and are never removed.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        Only "greedy" uses it, to compare columns; "groups" are made on the CPU. The result is the
        same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        It is also the limit for the columns that are held in memory to be compared.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts steps.

    Attributes
    ----------
    relevance_ : float array of shape (n_features,)
        F (1e300 where it is infinite), information gain in bits, or symmetric uncertainty.
    redundant_to_ : int array of shape (n_features,)
        The chosen column to which this one is redundant; -1 if there is none.
    covered_by_ : object array of shape (n_features,)
        The name of that column, or None; as in ``table()``.
    redundancy_ : float array of shape (n_features,)
        The redundancy of the two; 0 if there is none. With "groups" it may be small: a column
        belongs to a group because of any other one in it.
    empty_ : bool
        For "groups": whether no column is above `least_relevance`. The most relevant one was
        chosen then, because a selection has at least one.
    interrupted_ : bool
        Whether Ctrl-C ended the comparison. Columns not compared by then are left out.
    order_, support_, kinds_, classes_
        See :class:`featly.base.SubsetSelector`. Chosen columns are in order of their relevance.

    See Also
    --------
    featly.redundancy : All pairs of columns above a threshold, or the nearest of each.
    FCBF : The threshold of a pair is the relevance of the less relevant column.
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

    rule: Annotated[str, OneOf(*RULES)] = "greedy"
    threshold: Annotated[float, Number(above=0, at_most=1)] = 0.95
    measure: Annotated[str | None, OneOf(*MEASURES)] = None
    relevance: Annotated[str | None, OneOf(*RELEVANCES)] = None
    least_relevance: Annotated[float | None, Number(at_least=0, below=1)] = None
    tree: Annotated[str, OneOf(*TREES)] = "largest"

    _missing = True
    _targets = ("classes", "numbers", "survival")
    _kinds = _KindsByMeasure()

    def _measure(self) -> str:
        """Return the measure of redundancy; None is replaced by its default."""
        return self.measure or ("information" if self.rule == "groups" else "pearson")

    def _relevance(self) -> str:
        """Return the measure of relevance; None is replaced by its default."""
        return self.relevance or ("information" if self._measure() == "information" else "f")

    def _is_greedy(self) -> bool:
        return True

    def _operations(self, n_rows: int, n_features: int) -> float:
        return n_features * super()._operations(n_rows, n_features)

    def _asks(self, target: str = "classes") -> Questions:
        if self.rule == "groups":
            return (code_columns, uncertainty, spanning_tree)
        uses_codes = "information" in (self._measure(), self._relevance())
        uses_moments = self._relevance() == "f" or self._measure() != "information"
        return (
            *((code_columns,) if uses_codes else ()),
            *(asks_of_target(target) if uses_moments else ()),
            coded_columns if self._measure() == "information" else unit_columns,
            arrange,
            drop_redundant,
        )

    def _takes_integers(self) -> bool:
        return self._measure() == "information" and self._relevance() == "information"

    def _check_parameters(self) -> None:
        cut_rule_from(self.discretizer)
        if self.rule == "groups":
            if self._measure() != "information":
                raise ParameterError(
                    f"measure={self.measure!r}: rule='groups' compares columns with each other and "
                    "with the class: give measure='information', or rule='greedy'"
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

    def _claims_evidence(self) -> bool:
        return self.rule == "groups"  # "greedy" leaves out what is redundant, nothing else

    # ---- the computation --------------------------------------------------------------------
    def _select(self, problem: Problem) -> Selection:
        codes = None
        if "information" in (self._measure(), self._relevance()):
            codes = problem.coded(read_cuts(self.discretizer, problem), self.n_jobs)
        if self.rule == "groups":
            assert codes is not None
            return self._select_groups(problem, codes)
        if self._relevance() == "f" or self._measure() != "information":
            f_of_columns = f_of_target(problem)[0]  # raises an error on infinite values
        if self._relevance() == "information":
            assert codes is not None
            tables = codes.tables(*problem.target.groups())
            relevance = class_information(tables, codes.n_rows, self.n_jobs).gain()
        else:
            relevance = np.minimum(f_of_columns, MOST_RELEVANCE)
        order = problem.preference.put_keep_first(best_first(relevance))
        comparison = self._compare_pairs(problem, codes, order)
        return _build_selection(problem.columns.names, order, relevance, *comparison)

    def _compare_pairs(self, problem: Problem, codes: Codes | None, order: IntArray) -> Comparison:
        """Compare the columns in an order until all, or as many as Ctrl-C leaves, are decided.

        Return for every column the chosen one to which it is redundant, or -1, their redundancy,
        and the number of columns that are decided.
        """
        ranks, n_fixed = self._measure() == "spearman", len(problem.preference.keep)
        with (
            progress_bar(self.verbose, type(self).__name__, "tiles") as progress,
            problem.naming_columns(),
        ):
            columns: Any
            if self._measure() == "information":
                table, positions = arrange(codes, order)
                columns = coded_columns(table)
            else:
                table, positions = arrange(problem.source, order)
                columns = unit_columns(table, ranks=ranks)
            redundant_to, redundancy, decided = drop_redundant(
                columns,
                positions,
                round_to_grid(float(self.threshold), columns.grid),
                n_fixed,
                search_memory(columns, problem.resources),
                progress,
            )
        if positions is not order:  # the columns were copied in this order
            redundant_to, redundancy = restore_order(order, redundant_to, redundancy)
        return redundant_to, redundancy, decided

    def _select_groups(self, problem: Problem, codes: Codes) -> Selection:
        groups = problem.target.groups()
        with_class = uncertainty(codes, groups.codes + 1, groups.n_groups)
        order = best_first(with_class)
        least, p = self.least_relevance, len(order)
        if least is None:
            rank = max(1, int(np.sqrt(p) * np.log2(max(p, 2))))
            least = float(with_class[order[min(rank, p) - 1]])
        above = with_class > least
        empty = not above.any()
        keep = problem.preference.keep
        above[keep] = True
        if not above.any():
            above[order[0]] = True
        features = order[above[order]]
        columns = CodedColumns(codes)
        needed = len(features) * columns.bytes_per_column
        memory_budget = problem.resources.memory_budget
        if needed > memory_budget:
            raise DataError(
                f"{len(features)} columns are above ",
                Setting("least_relevance", float(f"{least:g}")),
                f" and take {format_bytes(needed)}, with a memory limit of "
                f"{format_bytes(memory_budget)}: give a larger ",
                Parameter("least_relevance"),
                " or ",
                Parameter("memory_limit"),
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
        evidence=relevance > 0,
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
    """Select the first column of every group, and all columns that the user wants kept."""
    ordered = keep_first(features, keep)
    position = np.empty(len(with_class), np.int64)
    position[features] = np.arange(len(features))
    _, first = np.unique(group[position[ordered]], return_index=True)
    chosen = np.zeros(len(with_class), np.bool_)
    chosen[ordered[first]] = True
    chosen[keep] = True
    redundant_to = np.full(len(with_class), -1)
    value = np.zeros(len(with_class))
    block = columns.load(features)  # each call reads and cuts a table on disk
    for column in ordered[first].tolist():
        is_covered = (group == group[position[column]]) & ~chosen[features]
        if is_covered.any():
            redundant_to[features[is_covered]] = column
            covered = columns.part(block, is_covered)
            representative = columns.part(block, features == column)
            value[features[is_covered]] = columns.screen(
                covered, representative, 0, int(is_covered.sum())
            )[:, 0]
    return Selection(
        ordered[chosen[ordered]],
        evidence=with_class > 0,
        extra={
            "relevance": with_class,
            "redundancy": value,
            "covered_by": _name_columns(redundant_to, names),
        },
        attributes={"redundant_to": redundant_to, "interrupted": False, "empty": empty},
    )


def _name_columns(redundant_to: IntArray, names: Any) -> AnyArray:
    """Return the names of columns, None for -1."""
    labels = np.full(len(redundant_to), None, object)
    for column in np.flatnonzero(redundant_to >= 0).tolist():
        labels[column] = names[int(redundant_to[column])]
    return labels
