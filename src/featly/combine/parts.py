r"""Parts of a problem that are ranked each by itself: samples, blocks, sites, several rankers.

A part is a recipe: its rows are drawn and copied when it is ranked, and not before. So forty bags
take the memory of those that are ranked at the same time. Random parts depend on the seed and on
their own number alone: the first ten of forty bags are the ten of ten, whatever the threads.

:mod:`featly.combine.class_pairs` has the parts of many classes, :mod:`featly.combine.engine` ranks
parts and combines the rankings.

Abeel, T., Helleputte, T., Van de Peer, Y., Dupont, P. and Saeys, Y. (2010), Robust biomarker
identification for cancer diagnosis with ensemble feature selection methods, *Bioinformatics* 26,
392-398. Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
High-Dimensional Data*, Springer, sections 4.3 and 6.3.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.kinds import KINDS
from featly.basics.params import Number, Whole, check_value
from featly.basics.typing import IntArray
from featly.problem.problem import Problem
from featly.problem.target import Classes, Target

__all__ = [
    "Part",
    "bootstrap",
    "column_blocks",
    "draw_bag",
    "rankers",
    "row_blocks",
    "sites",
]

MOST_DRAWS = 1000  # of a bag, until every class has a row in it


@dataclass(frozen=True)
class Part:
    """One part of a problem, to be ranked by itself.

    Attributes
    ----------
    key : hashable
        A name for programs: the key of its list in ``rankings_``.
    label : str
        A name for people, in errors, warnings and tables.
    problem : callable
        Called with a number of threads, it returns the problem of the part.
    ranker : Ranker or None
        The ranker of this part; None is the one that all parts share.
    columns : int64 array or None
        Positions of the columns that the part ranks, rising; None is all of them.
    nbytes : int
        Bytes that are copied when the part is ranked. Parts whose copies do not fit into the
        memory budget side by side are ranked one after the other.
    """

    key: Any
    label: str
    problem: Callable[[int | None], Problem]
    ranker: Any = None
    columns: IntArray | None = None
    nbytes: int = 0


# ---- rows ----------------------------------------------------------------------------------------
def bootstrap(
    problem: Problem, n_bags: int, seed: int, *, share: float | None = None
) -> list[Part]:
    """Return bags of rows, drawn at random.

    A bag is drawn again until it has a row of every class, or two different numbers, or a row with
    the event.

    Parameters
    ----------
    problem : Problem
    n_bags : int
        At least 1.
    seed : int
        From 0.
    share : float or None, default=None
        None draws as many rows as there are, with replacement. A share in (0, 1] draws that share
        of the rows without replacement, at least 1; 1.0 is all rows in their order.

    Returns
    -------
    parts : list of Part
        The key is the number of the bag, from 1. Rows are in the order of the table.

    References
    ----------
    Abeel, T., Helleputte, T., Van de Peer, Y., Dupont, P. and Saeys, Y. (2010), Robust biomarker
    identification for cancer diagnosis with ensemble feature selection methods, *Bioinformatics*
    26, 392-398. Meinshausen, N. and Bühlmann, P. (2010), Stability selection, *J. R. Statist. Soc.
    B* 72, 417-473.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.combine.parts import bootstrap
    >>> problem = FTest()._read([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"])
    >>> for part in bootstrap(problem, 2, seed=0):
    ...     print(part.label, part.problem(1).rows)
    bag 1 [2 2 3 3]
    bag 2 [0 1 1 3]
    """
    Whole(at_least=1).check("n_bags", n_bags)
    Whole(at_least=0).check("seed", seed)
    check_value("share", share, Number(above=0, at_most=1), optional=True)
    nbytes = int(problem.source.nbytes * (1.0 if share is None else share))
    return [
        Part(bag, f"bag {bag}", partial(_take_bag, problem, seed, bag, share), nbytes=nbytes)
        for bag in range(1, n_bags + 1)
    ]


def draw_bag(target: Target, seed: int, bag: int, share: float | None = None) -> IntArray:
    """Return the rows of a bag of :func:`bootstrap`, by its number from 1, in rising order.

    The rows that are not among them are out of the bag.

    Parameters
    ----------
    target : Target
    seed, bag : int
    share : float or None, default=None
        See :func:`bootstrap`.

    Returns
    -------
    rows : int64 array

    Examples
    --------
    >>> import numpy as np
    >>> from featly.combine.parts import draw_bag
    >>> from featly.problem.target import Classes
    >>> draw_bag(Classes(np.array([0, 1, 1, 0]), np.array(["a", "b"])), seed=0, bag=1)
    array([2, 2, 3, 3])
    """
    rng, n_rows = np.random.default_rng([seed, bag]), target.n_rows
    size = n_rows if share is None else max(1, int(np.floor(share * n_rows + 0.5)))
    for _ in range(MOST_DRAWS):
        if share is None:
            rows = rng.integers(n_rows, size=size)
        else:
            rows = rng.choice(n_rows, size=size, replace=False, shuffle=False)
        rows.sort()
        lack = target.take(rows).find_lack()
        if lack is None:
            return rows
    raise DataError(
        f"{MOST_DRAWS} samples of {size} rows were drawn, and each was useless, the last without "
        f"any {lack}: take a larger share of the rows, or leave out what is so rare"
    )


def _take_bag(
    problem: Problem, seed: int, bag: int, share: float | None, n_jobs: int | None
) -> Problem:
    return problem.take(draw_bag(problem.target, seed, bag, share), n_jobs)


def row_blocks(problem: Problem, n_blocks: int, seed: int) -> list[Part]:
    """Return blocks of rows: every row is in one of them, drawn at random.

    The horizontal partition of the book. Blocks differ by one row at most, in all and in every
    stratum of the target: each has its share of every class.

    Parameters
    ----------
    problem : Problem
    n_blocks : int
        At least 1; one block is all rows in their order.
    seed : int
        From 0.

    Returns
    -------
    parts : list of Part
        The key is the number of the block, from 1. Rows are in the order of the table.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 6.3.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.combine.parts import row_blocks
    >>> problem = FTest()._read([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"])
    >>> for part in row_blocks(problem, 2, seed=0):
    ...     print(part.label, part.problem(1).rows)
    row block 1 of 2 [0 2]
    row block 2 of 2 [1 3]
    """
    Whole(at_least=1).check("n_blocks", n_blocks)
    Whole(at_least=0).check("seed", seed)
    n_rows = problem.target.n_rows
    shuffled = np.random.default_rng(seed).permutation(n_rows)
    # the rows of a stratum side by side, dealt out in turn
    dealt = shuffled[np.argsort(problem.target.strata()[shuffled], kind="stable")]
    blocks = [np.sort(dealt[block::n_blocks]) for block in range(n_blocks)]
    for block, rows in enumerate(blocks, 1):
        lack = problem.target.take(rows).find_lack()
        if lack is not None:
            raise DataError(
                f"n_blocks={n_blocks}: row block {block} of {n_blocks} has no {lack}: take fewer "
                "blocks, or leave out what is so rare"
            )
    nbytes = -(-problem.source.nbytes // n_blocks)
    return [
        Part(block, f"row block {block} of {n_blocks}", partial(problem.take, rows), nbytes=nbytes)
        for block, rows in enumerate(blocks, 1)
    ]


def sites(problems: Mapping[str, Problem]) -> list[Part]:
    """Return a part for every site: the same columns, other rows.

    Parameters
    ----------
    problems : mapping of str to Problem
        The problem of every site, by its name. Names and kinds of the columns, the columns to keep
        and the kind of the target must be equal; so must the classes.

    Returns
    -------
    parts : list of Part
        The key and the label are the name of the site.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 6.3.

    Examples
    --------
    >>> from featly import FTest
    >>> from featly.combine.parts import sites
    >>> graz = FTest()._read([[0.0, 1.0], [1.0, 3.0]], ["a", "b"])
    >>> linz = FTest()._read([[0.5], [1.5]], ["a", "b"])
    >>> sites({"Graz": graz, "Linz": linz})
    Traceback (most recent call last):
    ...
    featly.DataError: Linz: it has 1 column, and Graz has 2: give every site the same columns
    """
    if not problems:
        raise ParameterError("problems names no site: give at least one")
    first = next(iter(problems))
    for name, problem in problems.items():
        difference = _find_difference(problem, problems[first], first)
        if difference is not None:
            raise DataError(f"{name}: {difference}")
    return [Part(name, name, problem.with_jobs) for name, problem in problems.items()]


def _find_difference(problem: Problem, other: Problem, other_name: str) -> str | None:
    """Return in words why two sites cannot be ranked together; None if they can."""
    own, others = problem.columns, other.columns
    p, p_other = len(own.kinds), len(others.kinds)
    if p != p_other:
        return (
            f"it has {p} column{'s' * (p != 1)}, and {other_name} has {p_other}: give every site "
            "the same columns"
        )
    for j, (column, other_column) in enumerate(zip(own.names, others.names, strict=True)):
        if column != other_column:
            return (
                f"column {j} is {column!r}, and at {other_name} it is {other_column!r}: give every "
                "site the same columns in the same order"
            )
    differs = np.flatnonzero(own.kinds != others.kinds)
    if len(differs):
        j = int(differs[0])
        return (
            f"column {own.names[j]!r} is {KINDS[own.kinds[j]]}, and at {other_name} it is "
            f"{KINDS[others.kinds[j]]}: declare its kind in the schema of both"
        )
    if not np.array_equal(problem.preference.keep, other.preference.keep):
        return f"it keeps other columns than {other_name}: give every site the same schema"
    if problem.target.kind != other.target.kind:
        return (
            f"its target is {problem.target.kind}, and that of {other_name} is "
            f"{other.target.kind}: give every site the same kind of target"
        )
    if isinstance(problem.target, Classes) and isinstance(other.target, Classes):
        labels, other_labels = problem.target.labels.tolist(), other.target.labels.tolist()
        if labels != other_labels:
            return (
                f"its classes are {labels}, and those of {other_name} are {other_labels}: leave "
                "out the rows of classes that not every site has"
            )
    return None


# ---- columns -------------------------------------------------------------------------------------
def column_blocks(problem: Problem, n_blocks: int, seed: int | None = None) -> list[Part]:
    """Return blocks of columns: every column is in one of them.

    The vertical partition of the book; :func:`featly.combine.engine.rank_column_blocks` makes one
    ranking of the blocks. No value is copied.

    Parameters
    ----------
    problem : Problem
    n_blocks : int
        From 1 to the number of columns; one block is all columns. Blocks differ by one column at
        most.
    seed : int or None, default=None
        None makes blocks of neighbours; otherwise columns are drawn at random.

    Returns
    -------
    parts : list of Part
        The key is the number of the block, from 1. Columns are in the order of the table.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from featly import FTest
    >>> from featly.combine.parts import column_blocks
    >>> problem = FTest()._read(np.eye(4, 5), ["a", "b", "b", "a"])
    >>> [part.columns.tolist() for part in column_blocks(problem, 2)]
    [[0, 1, 2], [3, 4]]
    >>> column_blocks(problem, 2)[1].problem(1).columns.names[0]
    'x3'
    """
    Whole(at_least=1).check("n_blocks", n_blocks)
    p = problem.source.n_features
    if n_blocks > p:
        raise ParameterError(f"n_blocks={n_blocks}: give 1 to {p}, the number of columns")
    columns = np.arange(p)
    if seed is not None:
        Whole(at_least=0).check("seed", seed)
        columns = np.random.default_rng(seed).permutation(p)
    blocks = [np.sort(block) for block in np.array_split(columns, n_blocks)]
    return [
        Part(
            number,
            f"column block {number} of {n_blocks}",
            partial(_take_columns, problem, block),
            columns=block,
        )
        for number, block in enumerate(blocks, 1)
    ]


def _take_columns(problem: Problem, columns: IntArray, n_jobs: int | None) -> Problem:
    return problem.take_columns(columns).with_jobs(n_jobs)


# ---- rankers -------------------------------------------------------------------------------------
def rankers(problem: Problem, methods: Sequence[Any]) -> list[Part]:
    """Return a part for every ranker, on all rows and columns.

    A heterogeneous ensemble. Each ranker gets the preferences of the schema that it uses: one that
    has no prior ranks without it.

    Parameters
    ----------
    problem : Problem
        Read as every ranker takes it: its kinds of columns, missing values and target.
    methods : sequence of Ranker
        At least one.

    Returns
    -------
    parts : list of Part
        The key and the label are the name of the class; of several of one class, what they are
        made by, such as "SVMRFE(C=0.1)", with a number if that is equal, too.

    References
    ----------
    Bolón-Canedo, V., Sánchez-Maroño, N. and Alonso-Betanzos, A. (2015), *Feature Selection for
    High-Dimensional Data*, Springer, section 4.3.

    Examples
    --------
    >>> from featly import FTest, ReliefF
    >>> from featly.combine.parts import rankers
    >>> problem = FTest()._read([[0.0], [1.0], [2.0], [4.0]], ["a", "b", "b", "a"])
    >>> [part.label for part in rankers(problem, [FTest(), ReliefF(), ReliefF(n_neighbors=2)])]
    ['FTest', 'ReliefF()', 'ReliefF(n_neighbors=2)']
    """
    if not methods:
        raise ParameterError("methods holds no ranker: give at least one")
    labels = [type(method).__name__ for method in methods]
    counts = Counter(labels)
    labels = [
        label if counts[label] == 1 else " ".join(repr(method).split())
        for label, method in zip(labels, methods, strict=True)
    ]
    counts = Counter(labels)
    labels = [
        label if counts[label] == 1 else f"{label} {number}"
        for label, number in zip(labels, _numbers_of_repeats(labels), strict=True)
    ]
    return [
        Part(
            label,
            label,
            replace(problem, preference=method._preference(problem.columns)).with_jobs,
            ranker=method,
        )
        for label, method in zip(labels, methods, strict=True)
    ]


def _numbers_of_repeats(labels: Sequence[str]) -> list[int]:
    """Return how often every label was there up to its place."""
    return [list(labels[: place + 1]).count(label) for place, label in enumerate(labels)]
