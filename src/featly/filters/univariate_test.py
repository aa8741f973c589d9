r"""One p-value for each column, by a test for its kind and for the shape of its values.

.. math::

    F_j = \frac{\sum_c w_c (\bar x_c - \tilde x)^2 / (k - 1)}
               {1 + \frac{2 (k - 2)}{k^2 - 1} \sum_c \frac{(1 - w_c / w)^2}{n_c - 1}}, \qquad
    w_c = \frac{n_c}{s_c^2}, \quad w = \sum_c w_c, \quad \tilde x = \sum_c \frac{w_c}{w} \bar x_c

for numbers, with two classes the square of Welch's t. Welch, B. L. (1951), On the comparison of
several mean values: an alternative approach, *Biometrika* 38, 330-336. For categories Fisher's
exact test, whose formula is in :mod:`featly.core.counts.contingency`; ranks are compared in
:mod:`featly.core.stats.rank_tests`.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from featly.base import Problem, Questions, Ranker, Ranking, rank_by_merit, stop_with
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.params import OneOf, Whole
from featly.basics.progress import progress_bar
from featly.core.counts.contingency import (
    Tables,
    chi2_tail,
    chi_squared,
    chi_squared_p,
    count_tables,
    fisher,
    has_small_expected_counts,
)
from featly.core.ranking.ordering import best_first, round_scores
from featly.core.runtime.parallel import run_blocks, split
from featly.core.sources import Moments, Source
from featly.core.sources.questions import moments
from featly.core.stats.rank_tests import Ranks, kruskal_wallis, permutation_p
from featly.core.stats.tails import f_tail, false_discovery_rates
from featly.filters.f_test import f_statistic
from featly.problem.parameters import OnDevice, Seeded, Streaming, Verbose

__all__ = ["ColumnTests", "UnivariateTest", "column_tests"]

TESTS_OF_NUMBERS = ("auto", "welch", "student", "f", "kruskal-wallis")
TESTS_OF_CATEGORIES = ("fisher", "chi2")

# measured by studies/p_values.py: where the p-values of Welch's test and of ranks hold
FEW_ROWS = 30  # of the smallest class
FEW_VARYING = 50  # rows expected in the smallest class that do not have the most frequent value
FEW_VALUES = 10  # different values
MOST_DRAWN_ROWS = 2000  # of one random division; 10,000 of them take a tenth of a second
HARDLY_SKEWED, SKEWED = 0.5, 3.0  # skewness, either sign


class UnivariateTest(Verbose, Streaming, OnDevice, Seeded, Ranker):
    r"""Rank columns of any kind by the p-value of a test of each by itself.

    The score is the evidence :math:`-\log_{10} p`, which is comparable across kinds and across
    columns with different numbers of missing values. A missing value is left out of its own column
    only. The score stays finite where p is too small for a floating-point number.

    Parameters
    ----------
    n_features_to_select : int, float, str or None, default=None
        How many columns ``transform`` keeps: a count, a fraction or a rule.
        None is half, never filler; rules: "rule-of-thumb", "largest-gap", "two-variances", "fdr".
        How many of that half are noise is not known; "fdr" tells it where there are q-values.
    continuous : {"auto", "welch", "student", "f", "kruskal-wallis"}, default="auto"
        The test of continuous columns. "auto": the one whose p-value holds, see Notes. "welch":
        Welch's t, with more than two classes Welch's analysis of variance; classes may differ in
        their variance. Where it is not defined (a class has one value or is constant) the pooled
        test is used. "student": t with a pooled variance, with more classes F. "f": F, that is,
        :class:`FTest`. "kruskal-wallis": compares ranks, corrected for ties; with two classes it
        is the Mann-Whitney test. Its p-value is exact or from random permutations where a class
        has fewer than 30 rows or values are tied, else by the tail of chi-squared.
    ordinal : {"auto", "welch", "student", "f", "kruskal-wallis"}, default="kruskal-wallis"
        The test of ordinal columns.
    categorical : {"fisher", "chi2"}, default="fisher"
        The test of categorical columns. "fisher": Fisher's exact test, two-sided; for tables
        larger than 2 x 2 that of Freeman and Halton. "chi2": Pearson's, without correction; by
        random tables where an expected count is below 1 or a fifth of them below 5.
    n_draws : int, default=10000
        Random tables or permutations for a small p-value that has no exact sum. p is then
        :math:`(1 + \text{number as extreme}) / (1 + \text{number drawn})`. Permutations stop
        early where p is large. Where p is so small that more draws decide about its q-value,
        more are drawn.
    random_state : int, default=0
        Seed of the random numbers.
        Used for random tables and permutations. They depend on it and on the column and the
        classes as they were counted, so neither the order of the rows nor that of the columns
        changes a p-value.
    schema : Schema, dict or None, default=None
        What is known about the columns, see :class:`featly.Schema`.
        `keep` and `costs` are used. `prior` is not: it does not enter a p-value.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to compute; "auto" takes a GPU if there is one and the table is large.
        "auto" also takes it for a table in GPU memory; "cuda" insists on it. A GPU needs CuPy. The
        ranking is the same.
    memory_limit : int, str or None, default=None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        A table in memory is used as it is; see :func:`featly.scan`.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        It counts tested columns.

    Attributes
    ----------
    test_ : array of str of shape (n_features,)
        The test of each column: "welch t", "welch f", "welch t and ranks", "welch f and ranks",
        "student t", "f", "kruskal-wallis", "kruskal-wallis exact", "kruskal-wallis permutation",
        "fisher exact", "fisher monte carlo", "chi2" or "chi2 monte carlo".
    note_ : array of str of shape (n_features,)
        The number of random tables or permutations that a p-value rests on; where it is
        approximate, and by which class: "p approximate: 25 rows". Otherwise empty.
    statistic_ : float array of shape (n_features,)
        t, positive where the mean is larger in the second of two classes; F; H of Kruskal and
        Wallis; :math:`\chi^2`; for Fisher's test :math:`-\log_{10}` of the probability of the
        observed table, the smaller of which count as more extreme.
    p_value_ : float array of shape (n_features,)
        1 for a column that is constant or has too few values for a test. With "welch", "student"
        and "f" it is 0 for numbers that are constant within each class but not overall.
    q_value_ : float array of shape (n_features,)
        Benjamini-Hochberg over all columns, whatever their test.
    tie_break_ : float array of shape (n_features,)
        The order of columns of equal score: the evidence of the F-test or of the chi-squared test;
        0 if no other column has the same score.
    interrupted_ : bool
        Whether Ctrl-C ended the tests early. Columns not tested by then have "chi2".
    order_, ranking_, scores_, support_, kinds_, classes_
        See :class:`featly.base.Ranker`.

    See Also
    --------
    FTest : The F-test, for numbers only.

    Notes
    -----
    "auto" looks at the values of a column, the classes aside, and at the rows of its smallest
    class. Two different values: Fisher's exact test. More than half of the rows equal, or ties
    and fewer than 10 different values, or a skewness beyond 3: ranks (Kruskal-Wallis). The
    others: Welch's test if every class has 30 rows and the skewness is at most 0.5, else Welch's
    test and ranks, of which the larger p-value counts: ranks hold whatever the distribution is
    if the classes have the same, Welch's if they differ in their variance. The guide has the
    measurements.

    Fisher's test is exact for all tables of 2 x 2 and 2 x 3 and for larger ones as long as half of
    their columns can be filled in at most 262,144 ways: with two classes about 5 levels at 300
    rows or 10 at 100, with three 3 levels at 100 rows. Others are tested by random tables and have
    "fisher monte carlo" in `test_`.

    References
    ----------
    Welch, B. L. (1951), On the comparison of several mean values, *Biometrika* 38, 330-336.
    Kruskal, W. H. and Wallis, W. A. (1952), Use of ranks in one-criterion variance analysis,
    *J. Amer. Statist. Assoc.* 47, 583-621. Freeman, G. H. and Halton, J. H. (1951), Note on an
    exact treatment of contingency, *Biometrika* 38, 141-149. Patefield, W. M. (1981), Algorithm
    AS 159, *Applied Statistics* 30, 91-97. Benjamini, Y. and Hochberg, Y. (1995), Controlling the
    false discovery rate, *J. R. Statist. Soc. B* 57, 289-300.

    Examples
    --------
    >>> import polars as pl
    >>> from featly import UnivariateTest
    >>> frame = pl.DataFrame({
    ...     "age": [41, 52, 38, 60, 47, 55, 49, 58],
    ...     "sex": ["f", "m", "f", "m", "m", "f", "f", "m"],
    ...     "grade": [1, 1, 2, 1, 3, 2, 3, None],
    ...     "smoker": ["no", "no", "no", "no", "yes", "yes", "yes", "yes"],
    ... })
    >>> outcome = ["well"] * 4 + ["ill"] * 4
    >>> test = UnivariateTest(schema={"ordinal": ["grade"]}).fit(frame, outcome)
    >>> test.table().select("feature", "test", pl.col("p_value").round(4))
    shape: (4, 3)
    ┌─────────┬──────────────────────┬─────────┐
    │ feature ┆ test                 ┆ p_value │
    │ ---     ┆ ---                  ┆ ---     │
    │ str     ┆ str                  ┆ f64     │
    ╞═════════╪══════════════════════╪═════════╡
    │ smoker  ┆ fisher exact         ┆ 0.0286  │
    │ grade   ┆ kruskal-wallis exact ┆ 0.0857  │
    │ age     ┆ welch t and ranks    ┆ 0.6857  │
    │ sex     ┆ fisher exact         ┆ 1.0     │
    └─────────┴──────────────────────┴─────────┘
    """

    continuous: Annotated[str, OneOf(*TESTS_OF_NUMBERS)] = "auto"
    ordinal: Annotated[str, OneOf(*TESTS_OF_NUMBERS)] = "kruskal-wallis"
    categorical: Annotated[str, OneOf(*TESTS_OF_CATEGORIES)] = "fisher"
    n_draws: Annotated[int, Whole(at_least=1)] = 10000

    _takes_bytes = True
    _kinds = ("continuous", "ordinal", "categorical")
    _missing = True
    _uses = ("keep", "costs")
    _has_q_values = True

    def _choices(self) -> dict[str, Any]:
        names = ("continuous", "ordinal", "categorical", "n_draws", "random_state")
        return {name: getattr(self, name) for name in names}

    def _asks(self, target: str = "classes") -> Questions:
        return (moments, kruskal_wallis)

    def _rank(self, problem: Problem) -> Ranking:
        with progress_bar(self.verbose, "Tests", unit="columns") as progress:
            tests = column_tests(problem, **self._choices(), n_jobs=self.n_jobs, progress=progress)
        ranking = rank_by_merit(
            problem.preference,
            tests.score,
            extra={
                "statistic": tests.statistic,
                "p_value": tests.p_value,
                "q_value": false_discovery_rates(tests.p_value, tests.order()),
                "test": tests.test,
                "note": tests.note,
            },
            attributes={"tie_break": tests.tie_break, "interrupted": tests.interrupted},
            tie_break=tests.tie_break,
        )
        if tests.interrupted:
            raise stop_with(ranking)
        return ranking


# ---- for methods that build on the tests ----------------------------------------------------
@dataclass
class ColumnTests:
    """Tests of all columns of a problem; see :class:`UnivariateTest` for the entries."""

    test: np.ndarray
    statistic: np.ndarray
    p_value: np.ndarray
    score: np.ndarray
    tie_break: np.ndarray
    note: np.ndarray
    interrupted: bool = False

    @classmethod
    def empty(cls, n_columns: int) -> "ColumnTests":
        """Return tests to be filled in."""
        test, note = (np.full(n_columns, "", object) for _ in range(2))
        statistic, p, score, tie_break = np.zeros((4, n_columns))
        return cls(test, statistic, p, score, tie_break, note)

    def put(self, columns: np.ndarray, tests: "ColumnTests") -> None:
        """Fill in the tests of some columns."""
        for name in ("test", "statistic", "p_value", "score", "tie_break", "note"):
            getattr(self, name)[columns] = getattr(tests, name)
        self.interrupted |= tests.interrupted

    def order(self) -> np.ndarray:
        """Return columns by score, then by `tie_break`, then by position."""
        first = best_first(self.tie_break)
        return first[best_first(self.score[first])]


def column_tests(
    problem: Problem,
    *,
    continuous: str = "auto",
    ordinal: str = "kruskal-wallis",
    categorical: str = "fisher",
    n_draws: int = 10_000,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
) -> ColumnTests:
    """Test every column of a problem by itself.

    The parameters are those of :class:`UnivariateTest`, unchecked.
    After Ctrl-C the tests done by then are returned, and `interrupted` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from featly.base import Problem
    >>> from featly.problem.ingest import read
    >>> from featly.problem.target import Classes
    >>> from featly.table.schema import Schema
    >>> X = np.array([[0.0, 3.1], [1.1, 2.0], [4.0, 2.9], [5.2, 1.8]])
    >>> reading = read(X, Schema())
    >>> y = np.array([0, 0, 1, 1])
    >>> problem = Problem(reading.source, reading.columns, Classes(y, np.unique(y)))
    >>> tests = column_tests(problem, continuous="welch")
    >>> tests.order().tolist(), tests.test.tolist()
    ([0, 1], ['welch t', 'welch t'])
    """
    kinds = problem.columns.kinds
    moments = problem.moments(by_class=True)  # raises an error on infinite values
    out = ColumnTests.empty(len(kinds))
    draws = _Draws(n_draws, random_state, len(kinds), n_jobs)
    for kind, name in ((CONTINUOUS, continuous), (ORDINAL, ordinal), (CATEGORICAL, categorical)):
        columns = np.flatnonzero(kinds == kind)
        if len(columns) == 0:
            continue
        if kind == CATEGORICAL:
            report = _shift_progress(progress, len(kinds) - len(columns))
            tables = _level_tables(problem, columns, n_jobs)
            out.put(columns, _compare_tables(tables, name, draws, report))
        elif name == "auto":
            out.put(columns, _compare_by_shape(problem, moments, columns, draws))
        elif name == "kruskal-wallis":
            source = problem.source.view(columns)
            ranks = kruskal_wallis(source, *problem.classes.groups(), n_jobs)
            out.put(columns, _compare_ranks(problem, source, ranks, draws))
        else:
            out.put(columns, _compare_means(moments, columns, name, n_jobs))
    tied = _find_tied(out.score)
    out.tie_break[~tied] = 0.0
    numbers = np.flatnonzero(tied & (kinds != CATEGORICAL))
    out.tie_break[numbers] = f_tail(*f_statistic(_take_columns(moments, numbers)))[1]
    if progress is not None and not out.interrupted:
        progress(len(kinds), len(kinds))
    return out


@dataclass(frozen=True)
class _Draws:
    """Options of the tests that draw at random."""

    n_draws: int
    random_state: int
    n_columns: int
    n_jobs: int | None

    def options(self) -> dict[str, Any]:
        """Return them by name."""
        return vars(self)


def _shift_progress(
    progress: Callable[[int, int], Any] | None, done: int
) -> Callable[[int, int], Any] | None:
    """Return a function that reports the progress of a part, with `done` added to both numbers."""
    if progress is None:
        return None
    return lambda part, total: progress(done + part, done + total)


def _find_tied(score: np.ndarray) -> np.ndarray:
    """Return a mask of the scores that tie with another one after rounding."""
    _, score_index, count = np.unique(round_scores(score), return_inverse=True, return_counts=True)
    return count[score_index] > 1


def _take_columns(moments: Moments, columns: np.ndarray) -> Moments:
    return Moments(*(part[:, columns] for part in (moments.count, moments.mean, moments.m2)))


# ---- numbers --------------------------------------------------------------------------------
def _compare_by_shape(
    problem: Problem, moments: Moments, columns: np.ndarray, draws: _Draws
) -> ColumnTests:
    """Test numbers by what their values, the classes aside, are like.

    The choice does not look at which row is in which class, so it does not spoil the test.
    """
    out = ColumnTests.empty(len(columns))
    source, groups = problem.source.view(columns), problem.classes.groups()
    ranks = kruskal_wallis(source, *groups, draws.n_jobs)
    two_values = ranks.n_values <= 2
    if two_values.any():
        part = ranks.take(two_values)
        counts = np.stack([part.lowest, part.sizes - part.lowest], axis=1)
        start = np.arange(len(counts) + 1) * counts[0].size
        tables = Tables(counts.ravel(), start, groups.n_groups)
        out.put(np.flatnonzero(two_values), _compare_tables(tables, "fisher", draws, None))
    welch = _compare_means(moments, columns, "welch", draws.n_jobs)
    has_welch = np.char.startswith(welch.test.astype(str), "welch")
    is_tied = (2 * ranks.mode > ranks.n_known) | (
        (ranks.n_values < FEW_VALUES) & (ranks.n_values < ranks.n_known)
    )
    skewness = np.abs(ranks.skewness)
    has_welch &= ~two_values & ~is_tied & (skewness <= SKEWED)
    alone = has_welch & (ranks.smallest >= FEW_ROWS) & (skewness <= HARDLY_SKEWED)
    by_ranks = np.flatnonzero(~two_values & ~alone)
    out.put(
        by_ranks,
        _compare_ranks(problem, source.view(by_ranks), ranks.take(by_ranks), draws),
    )
    both = has_welch & ~alone
    smaller = alone | (both & (welch.score <= out.score))
    for name in ("p_value", "score"):
        getattr(out, name)[smaller] = getattr(welch, name)[smaller]
    out.note[smaller] = ""
    out.statistic[has_welch] = welch.statistic[has_welch]
    out.test[alone] = welch.test[alone]
    out.test[both] = welch.test[both] + " and ranks"
    return out


def _compare_ranks(problem: Problem, source: Source, ranks: Ranks, draws: _Draws) -> ColumnTests:
    """Compare ranks: by the tail of chi-squared where it holds, else by divisions of the rows."""
    out = ColumnTests.empty(source.n_features)
    p, evidence = chi2_tail(ranks.statistic, ranks.freedom)
    # rows of the smallest class that can be expected to have another value than most rows
    varying = ranks.smallest * (1 - ranks.mode / np.maximum(ranks.n_known, 1))
    distrusted = (ranks.smallest < FEW_ROWS) | (varying < FEW_VARYING)
    distrusted &= ranks.statistic > 0
    # rows that one division draws: those outside the largest class, or off the most frequent value
    dear = ranks.n_known - np.maximum(ranks.sizes.max(axis=1), ranks.mode) > MOST_DRAWN_ROWS
    few = np.flatnonzero(distrusted & ~dear)
    out.test[:] = "kruskal-wallis"
    rows = ranks.smallest[distrusted & dear].tolist()
    out.note[distrusted & dear] = [f"p approximate: {count} rows" for count in rows]
    if len(few):
        p[few], drawn = permutation_p(
            source.view(few),
            problem.classes.codes,
            ranks.take(few),
            **draws.options(),
        )
        evidence[few] = -np.log10(p[few])
        test = np.where(drawn > 0, "kruskal-wallis permutation", "kruskal-wallis exact")
        out.test[few] = test.astype(object)
        out.note[few] = _number_of(drawn, "permutations")
    out.statistic, out.p_value, out.score = ranks.statistic.copy(), p, evidence + 0.0
    return out


def _number_of(drawn: np.ndarray, things: str) -> np.ndarray:
    """Return notes on how many random things p-values rest on; empty where none was drawn."""
    values, position = np.unique(drawn, return_inverse=True)
    texts = [f"{value:,} random {things}" if value > 0 else "" for value in values.tolist()]
    return np.array(texts, object)[position]


def _compare_means(
    moments: Moments, columns: np.ndarray, name: str, n_jobs: int | None
) -> ColumnTests:
    """Compare the class means of some columns, by Welch, Student or F."""
    has_two_classes = len(moments.count) == 2 and name != "f"

    def test_block(block: tuple[int, int]) -> tuple[np.ndarray, ...]:
        part = _take_columns(moments, columns[slice(*block)])
        statistic, d1, d2 = f_statistic(part)
        test = np.full(len(statistic), "student t" if has_two_classes else "f", object)
        if name == "welch":
            welch, e1, e2, defined = welch_statistic(part)
            test[defined] = "welch t" if has_two_classes else "welch f"
            statistic, d1, d2 = (
                np.where(defined, separate, pooled)
                for separate, pooled in ((welch, statistic), (e1, d1), (e2, d2))
            )
        p, evidence = f_tail(statistic, d1, d2)
        if has_two_classes:
            # adding 0.0 makes 0.0 of -0.0
            statistic = np.sqrt(statistic) * np.sign(part.mean[1] - part.mean[0]) + 0.0
        return test, statistic, p, evidence

    parts = run_blocks(test_block, split(len(columns), 4096), n_jobs)
    test, statistic, p, evidence = (np.concatenate(values) for values in zip(*parts, strict=True))
    count = moments.count[:, columns]
    smallest = np.where(count > 0, count, np.inf).min(axis=0)
    few = smallest < FEW_ROWS
    note = np.full(len(columns), "", object)
    note[few] = [f"p approximate: {rows:.0f} rows" for rows in smallest[few].tolist()]
    note[(statistic == 0) | np.isinf(statistic)] = ""
    return ColumnTests(test, statistic, p, evidence, np.zeros(len(columns)), note)


def welch_statistic(
    moments: Moments,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Welch's F of every column, its degrees of freedom, and whether it is defined.

    Classes without a value in a column do not count for it. It is defined where all others have
    two values or more, and none is constant: a constant class has a standard error of 0, and a
    small class of zeros is no certainty. Elsewhere it is 0 with one degree of freedom each.
    """
    present = moments.count > 0
    n_classes = present.sum(axis=0)
    freedom = np.where(present, np.maximum(moments.count - 1, 1), np.inf)
    # squared standard errors of the class means
    error = np.where(present, moments.m2 / freedom / np.maximum(moments.count, 1), np.inf)
    smallest = error.min(axis=0)
    constant = (error == 0).sum(axis=0)
    defined = (n_classes > 1) & (constant == 0)
    defined &= ~(moments.count == 1).any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # relative to the largest weight, which may be infinite
        weight = np.where(error == smallest, 1.0, smallest / error)
        share = weight / weight.sum(axis=0)
        # relative to the mean of smallest error, so that equal means give exactly zero
        reference = error.argmin(axis=0)
        offset = moments.mean - moments.mean[reference, np.arange(len(reference))]
        offset = np.where(present, offset, 0.0)
        deviation = offset - (share * offset).sum(axis=0)
        between = np.where(deviation == 0, 0.0, deviation**2 / error).sum(axis=0)
        correction = ((1 - share) ** 2 / freedom).sum(axis=0)
        square = n_classes**2 - 1.0
        statistic = between / (n_classes - 1) / (1 + 2 * (n_classes - 2) / square * correction)
        d2 = square / (3 * correction)
    d1 = np.where(defined, n_classes - 1.0, 1.0)
    return np.where(defined, statistic, 0.0), d1, np.where(defined, d2, 1.0), defined


# ---- categories -----------------------------------------------------------------------------
def _level_tables(problem: Problem, columns: np.ndarray, n_jobs: int | None) -> Tables:
    """Count the levels of some columns, which are categorical, in every class."""

    def count_part(part: Any, positions: Any) -> tuple[np.ndarray, Tables]:
        rows = np.arange(part.n_features)
        codes, sizes = part.level_codes(rows), np.diff(part.atoms)
        tables = count_tables(codes, rows, sizes, *problem.classes.groups(), n_jobs)
        return np.arange(len(columns))[positions], tables

    counted_parts = problem.source.view(columns).each(count_part)
    if len(counted_parts) == 1:
        return counted_parts[0][1]  # type: ignore[no-any-return]
    order = np.argsort(np.concatenate([positions for positions, _ in counted_parts]))
    parts = [tables.counts[a:b] for _, tables in counted_parts
             for a, b in itertools.pairwise(tables.start)]  # fmt: skip
    parts = [parts[k] for k in order]
    start = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Tables(np.concatenate(parts), start, problem.classes.count)


def _compare_tables(
    tables: Tables, name: str, draws: _Draws, progress: Callable[[int, int], Any] | None
) -> ColumnTests:
    """Test tables of counts; `tie_break` is the evidence of chi-squared."""
    statistic, freedom = chi_squared(tables, draws.n_jobs)
    p, evidence = chi2_tail(statistic, freedom)
    note = np.full(len(tables), "", object)
    out = ColumnTests(np.full(len(tables), "chi2", object), statistic, p, evidence, evidence, note)
    if name == "chi2":
        few = np.flatnonzero(has_small_expected_counts(tables, draws.n_jobs))
        p[few], drawn = chi_squared_p(tables, few, statistic[few], **draws.options())
        out.test[few] = "chi2 monte carlo"
        out.score, out.note[few] = evidence.copy(), _number_of(drawn, "tables")
        out.score[few] = 0.0 - np.log10(p[few])
        return out
    exact = fisher(
        tables,
        **draws.options(),
        progress=progress,
    )
    tested = ~np.isnan(exact.log_p)
    note = _number_of(exact.drawn, "tables")
    note[~tested] = "p approximate: not tested"
    out.test[tested] = np.where(exact.drawn > 0, "fisher monte carlo", "fisher exact")[tested]
    return ColumnTests(
        out.test,
        np.where(tested, 0.0 - exact.log_probability / np.log(10), statistic),
        np.where(tested, np.exp(exact.log_p), p),
        np.where(tested, 0.0 - exact.log_p / np.log(10), evidence),
        evidence,
        note,
        not tested.all(),
    )
