r"""Many rankings of the same features into one.

With :math:`pos_{ij}` the position of feature i in list j, of p features and M lists,

.. math::

    r_{ij} = 1 - \frac{pos_{ij}}{p},

and a rule that makes one number of :math:`r_{i1}, \dots, r_{iM}`, or of the comparisons of every
pair of features.

Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
list combination, *Expert Systems with Applications* 88, 205-216.
"""

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import Feature, ParameterError, Setting
from featly.basics.params import Number, OneOf, Whole, check_value
from featly.basics.progress import progress_bar
from featly.basics.typing import FloatArray, IntArray
from featly.combine.lists import Lists, positions_of, read_lists
from featly.core.ranking.order_statistics import MOST_LISTS, log_joint, log_smallest
from featly.core.ranking.ordering import round_scores
from featly.core.ranking.voting import compact_positions, copeland, schulze

__all__ = ["RULES", "CombinedRanking", "check_rule", "combine_rankings", "positions_of"]


TIE_SD = OneOf("larger", "smaller")
RULES = (
    "average-sd",
    "best",
    "third-quartile-sd",
    "k-first",
    "condorcet",
    "schulze",
    "borda",
    "reciprocal-rank",
    "robust-rank",
    "stuart",
)
_OPTIONS = {  # options of some rules only: default and rules
    "k": (None, ("k-first",)),
    "tie_sd": ("larger", ("average-sd", "third-quartile-sd")),
    "constant": (60, ("reciprocal-rank",)),
}
_LARGEST_INT64 = 1 << 62  # larger numbers are Python's own
_N_DRAWS = 9_999  # random lists for the p-values of Stuart's Q


@dataclass(frozen=True)
class CombinedRanking:
    """A ranking combined from several.

    Attributes
    ----------
    order : int64 array of shape (n_features,)
        Features, best first.
    ranking : int64 array of shape (n_features,)
        Rank of every feature, 1 = best; a permutation.
    scores : float64 array of shape (n_features,)
        The rule's own statistic, larger is better.
    ties : int
        Number of features that share their score with another, before any tie rule.
    p_values : float64 array of shape (n_features,) or None
        Probability of ranks as good in random lists; None if the rule has none.
    tie_keys : tuple of int64 arrays of shape (n_features,)
        Features are tied in all that the rule and its tie rule see if every key is equal.
    """

    order: IntArray
    ranking: IntArray
    scores: FloatArray
    ties: int
    p_values: FloatArray | None = None
    tie_keys: tuple[IntArray, ...] = ()


def combine_rankings(
    positions: npt.ArrayLike,
    method: str = "k-first",
    *,
    k: int | float | None = None,
    tie_sd: str = "larger",
    unlisted: str = "last",
    constant: float = 60,
    p_values: bool = True,
    n_jobs: int | None = None,
    verbose: bool | Callable[[int, int], Any] = False,
) -> CombinedRanking:
    r"""Combine rankings of the same features into one.

    Parameters
    ----------
    positions : array of shape (n_features, n_lists)
        The position of every feature in every list: 1 = best, the mean of their positions if some
        tie (as in ``scipy.stats.rankdata``), NaN if the list does not hold the feature.
    method : str, default="k-first"
        The rule; see the notes.
    k : int, float or None, default=None
        For "k-first": number of positions of a list that count. A count, a fraction in (0, 1] of
        the features, or None for a tenth; at least 1.
    tie_sd : {"larger", "smaller"}, default="larger"
        For "average-sd" and "third-quartile-sd": which standard deviation is first among equals.
    unlisted : {"last", "unknown"}, default="last"
        The meaning of a feature that a list leaves out; see the notes.
    constant : float, default=60
        For "reciprocal-rank": the number added to a position; at least 0.
    p_values : bool, default=True
        Whether "robust-rank" and "stuart" compute p-values. For "stuart" that takes most of the
        time, and minutes for hundreds of lists.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : bool or callable, default=False
        True shows a progress bar; a function is called with (done, total).
        Only the rules that compare pairs report progress.

    Returns
    -------
    CombinedRanking
        `order`, `ranking`, `scores`, `ties`, `p_values`, `tie_keys`.

    Notes
    -----
    Features with equal scores are ordered by the tie rule, then by their index.

    ====================  ==============================================  =====================
    rule                  score                                           tie rule
    ====================  ==============================================  =====================
    "average-sd"          mean of r                                       larger SD of r
    "best"                largest r                                       mean of r
    "third-quartile-sd"   75th percentile of r, linearly interpolated     larger SD of r
    "k-first"             mean of :math:`\max(0, 1 - pos / (k + 1))`      mean of r
    "condorcet"           features defeated minus those defeated by       mean of r
    "schulze"             features won against by strongest paths         mean of r
    "borda"               mean of p - pos                                 none
    "reciprocal-rank"     sum of 1 / (`constant` + pos)                   mean of r
    "robust-rank"         :math:`-\log_{10} (M \rho)`                     mean of r
    "stuart"              :math:`-\log_{10} Q`                            mean of r
    ====================  ==============================================  =====================

    *K-first*: with k = p - 1 the score is the mean of r, and k = p gives the same order. A small k
    is close to "best".

    *Condorcet* is Copeland's rule: a feature defeats another where more lists put it before. The
    paper's words, "a feature wins over another if it is ranked higher in the considered list",
    would compare within each list; the sum over the lists is then Borda's count, which is the
    average again. Its many ties show that majorities are meant.

    *Schulze* counts winning votes. The paper's paths of "strictly decreasing weights" are a
    mistake: the strength of a path is that of its weakest link, in any order. The paper has no rule
    for ties; the mean of r is featly's.

    *Robust rank aggregation* takes the order statistic of the relative ranks that is the least
    likely in M random lists, :math:`\rho`; its p-value is :math:`\min(1, M \rho)`. *Stuart's* Q is
    the probability of all order statistics at once. It is no p-value: a small Q is more frequent
    than Q. `p_values` are computed from 9,999 draws of M random ranks with a fixed seed, so they
    are never below 0.0001. In both rules, features that tie in a list have the last of the
    positions they share, so that no p-value is too small. P-values are valid for lists that are
    independent of each other; for lists made from the same rows they are too small.

    If every list puts a before b, so does every rule. In "k-first" the statistic may tie if both
    are behind position k in every list: then the tie rule decides. "condorcet" and "schulze" put a
    feature first that defeats all others, and one last that all others defeat; the other rules need
    not.

    A list may leave features out. With ``unlisted="last"`` they come after those it holds, and
    share the mean of the remaining positions; a feature may be in no list at all. With
    ``unlisted="unknown"`` they are unknown to the list: r is relative to the length L of the
    list, 1 - pos / L; means, SDs, percentiles are over the lists that hold the feature; a k above
    the length of a list is that length, a fraction is of each list's length; "reciprocal-rank" is
    M times the mean, "borda" p times the mean of r; "robust-rank" uses the number of the feature's
    own lists instead of M; two features are compared by the lists that hold both. Then a
    rule need not agree with unanimous lists, because a feature may be missing from lists that would
    have raised it. "stuart" then needs every feature in equally many lists, because values of Q are
    comparable for the same M only.

    Rules that are sums of positions compare exact whole numbers, so the order of the lists never
    matters. Time is linear in the number of features, except for "condorcet" and "schulze", which
    compare every pair; "schulze" needs 1.25 bytes a pair.

    References
    ----------
    Izetta, J., Verdes, P. F. and Granitto, P. M. (2017), Improved multiclass feature selection via
    list combination, *Expert Systems with Applications* 88, 205-216. Schulze, M. (2011), A new
    monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner
    election method, *Social Choice and Welfare* 36, 267-303. Cormack, G. V., Clarke, C. L. A. and
    Buettcher, S. (2009), Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods, *SIGIR* 758-759. Kolde, R. et al. (2012), Robust rank aggregation for gene list
    integration and meta-analysis, *Bioinformatics* 28, 573-580. Stuart, J. M. et al. (2003), A
    gene-coexpression network for global discovery of conserved genetic modules, *Science* 302,
    249-255.

    Examples
    --------
    >>> from featly.combine.rankings import combine_rankings, positions_of
    >>> lists = [["a", "b", "c", "d"], ["a", "c", "d", "b"], ["b", "a", "c", "d"]]
    >>> positions, names = positions_of(lists)
    >>> combined = combine_rankings(positions, "condorcet")
    >>> [names[i] for i in combined.order], combined.scores.tolist()
    (['a', 'b', 'c', 'd'], [3.0, 1.0, -1.0, -3.0])
    >>> combine_rankings(positions, "average-sd").scores.round(3).tolist()
    [0.667, 0.417, 0.333, 0.083]
    """
    _check_options(method, k=k, tie_sd=tie_sd, constant=constant)
    if unlisted not in ("last", "unknown"):
        raise ParameterError(f"unlisted={unlisted!r}: give 'last' or 'unknown'")
    lists = read_lists(positions, unlisted)
    probabilities = None
    if method == "k-first":
        score, scale = _k_first_scores(lists, _count_first(k, lists.lengths, len(lists.doubled)))
    elif method in ("condorcet", "schulze"):
        score, scale = _count_votes(lists, method, n_jobs, verbose), 1
    elif method == "reciprocal-rank":
        score, scale = round_scores(_reciprocal_sums(lists, _check_constant(constant))), 1
    elif method in ("robust-rank", "stuart"):
        score, scale, probabilities = _order_statistic_evidence(
            lists, method, n_jobs, p_values=p_values
        )
    else:
        score, scale = _statistic(lists, method)
    keys = [score]
    if method in ("average-sd", "third-quartile-sd"):
        spread = _spread(lists)
        keys.append(spread if tie_sd == "larger" else -spread)
    elif method != "borda":
        keys.append(_mean(*_relative_scores(lists), lists.counts)[0])
    dense = [np.unique(key, return_inverse=True)[1] for key in keys]
    order = np.lexsort([-key for key in reversed(dense)])
    ranking = np.empty(len(order), np.int64)
    ranking[order] = np.arange(1, len(order) + 1)
    shared = np.bincount(dense[0])
    return CombinedRanking(
        order=order,
        ranking=ranking,
        scores=_divide_scores(score, scale),
        ties=int(shared[shared > 1].sum()),
        p_values=probabilities,
        tie_keys=tuple(dense),
    )


def check_rule(
    method: str,
    n_features: int,
    n_lists: int,
    *,
    k: int | float | None = None,
    tie_sd: str = "larger",
) -> int:
    """Refuse options that the rule cannot use, before lists are made; return k of "k-first".

    Examples
    --------
    >>> check_rule("k-first", 25, 6), check_rule("k-first", 25, 6, k=0.2), check_rule("best", 4, 6)
    (3, 5, 1)
    """
    _check_options(method, k=k, tie_sd=tie_sd, constant=60)
    if method == "schulze":
        _check_memory(n_features, n_lists)
    elif method == "stuart":
        _check_count(n_lists)
    return int(_count_first(k, np.array([n_features]), n_features)[0])


def _check_options(method: str, **options: Any) -> None:
    """Refuse an unknown rule, an unknown value, and an option that the rule does not use."""
    if not isinstance(method, str) or method not in RULES:
        raise ParameterError(f"{method!r} is no rule: there are {', '.join(RULES)}")
    for name, value in options.items():
        default, rules = _OPTIONS[name]
        if method not in rules and value != default:
            raise ParameterError(
                Setting(name, value),
                f" is not used by {method!r}, but by {' and '.join(rules)}: leave it out",
            )
    TIE_SD.check("tie_sd", options["tie_sd"])


def _count_first(k: Any, lengths: IntArray, p: int) -> IntArray:
    """Return the number of positions that count in each list."""
    check_value("k", k, Whole(at_least=1, at_most=p), Number(above=0, at_most=1), optional=True)
    if Whole().accepts(k):
        return np.asarray(np.minimum(lengths, int(k)))
    fraction = 0.1 if k is None else float(k)
    return np.asarray(np.maximum(1, np.floor(lengths * fraction + 0.5).astype(np.int64)))


def _check_constant(constant: Any) -> float:
    Number(at_least=0).check("constant", constant)
    return float(constant)


def _statistic(lists: Lists, method: str) -> tuple[np.ndarray, int]:
    """Return the scores of a rule on r, as whole numbers over a common denominator."""
    values, common = _relative_scores(lists)
    if method == "best":
        return values.max(axis=1), common
    if method == "third-quartile-sd":
        return _third_quartile(np.where(lists.doubled > 0, values, -1), lists.counts), 4 * common
    score, scale = _mean(values, common, lists.counts)
    return (score * len(values), scale) if method == "borda" else (score, scale)


def _k_first_scores(lists: Lists, first: IntArray) -> tuple[np.ndarray, int]:
    """Return means of max(0, 1 - pos / (k + 1)), as whole numbers over a common denominator."""
    return _mean(*_linear_scores(lists, first + 1), lists.counts)


def _relative_scores(lists: Lists) -> tuple[np.ndarray, int]:
    """Return r = 1 - pos / L, as whole numbers over a common denominator."""
    return _linear_scores(lists, lists.lengths)


def _linear_scores(lists: Lists, spans: IntArray) -> tuple[np.ndarray, int]:
    """Return max(0, 1 - pos / span) as whole numbers over a denominator; 0 if not listed.

    They are Python's own integers if sums or squares of them would overflow int64.
    """
    common = 2 * math.lcm(*np.unique(spans).tolist())
    p, n_lists = lists.doubled.shape
    largest = common * n_lists * int(_weights(lists.counts).max())
    kind = np.int64 if largest * max(largest, p) < _LARGEST_INT64 else object
    values = np.maximum(0, 2 * spans - lists.doubled).astype(kind)
    values *= np.array([common // (2 * int(span)) for span in spans], kind)
    values[lists.doubled == 0] = 0
    return values, common


def _weights(counts: IntArray) -> np.ndarray:
    """Return weights that make sums over different numbers of lists comparable."""
    if (counts == counts[0]).all():
        return np.ones(1, np.int64)
    return math.lcm(*np.unique(counts).tolist()) // counts.astype(object)


def _mean(values: np.ndarray, common: int, counts: IntArray) -> tuple[np.ndarray, int]:
    """Return means over the lists of a feature, as whole numbers over a common denominator."""
    weights = _weights(counts)
    scale = common * int(weights[0]) * int(counts[0])
    return values.sum(axis=1) * weights.astype(values.dtype), scale


def _third_quartile(values: np.ndarray, counts: IntArray) -> np.ndarray:
    """Return four times the 75th percentile; entries without the feature are the smallest."""
    ranked = np.sort(values, axis=1)
    rank, quarters = np.divmod(3 * (counts - 1), 4)
    rank += values.shape[1] - counts
    rows = np.arange(len(values))
    above = np.minimum(rank + 1, values.shape[1] - 1)
    return np.asarray((4 - quarters) * ranked[rows, rank] + quarters * ranked[rows, above])


def _spread(lists: Lists) -> np.ndarray:
    """Return the variances of r over the lists of a feature, up to a common factor."""
    values, _ = _relative_scores(lists)
    counts = lists.counts.astype(values.dtype)
    centred = counts * (values * values).sum(axis=1) - values.sum(axis=1) ** 2
    return np.asarray(centred * _weights(lists.counts).astype(values.dtype) ** 2)


def _divide_scores(whole: np.ndarray, scale: int) -> FloatArray:
    return (whole / scale).astype(np.float64)


def _count_votes(
    lists: Lists, method: str, n_jobs: int | None, verbose: bool | Callable[[int, int], Any]
) -> IntArray:
    rule = copeland if method == "condorcet" else schulze
    if method == "schulze":
        _check_memory(*lists.doubled.shape)
    with progress_bar(verbose, method.capitalize(), unit="blocks") as progress:
        return rule(*compact_positions(lists.doubled), n_jobs, progress)


def _check_memory(p: int, n_lists: int) -> None:
    """Refuse a number of features whose pairs do not fit in memory."""
    needed = p * p * (math.ceil(n_lists.bit_length() / 8) + 0.25)
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not known on every system
        return
    if needed > installed:
        raise ParameterError(
            f"'schulze' compares every pair of {p} features, which needs "
            f"{needed / 2**30:.0f} GB, and this machine has {installed / 2**30:.0f}: use "
            "'condorcet', or combine only the features that 'k-first' puts first"
        )


def _reciprocal_sums(lists: Lists, constant: float) -> FloatArray:
    """Return sums of 1 / (constant + pos), small terms first: list order does not matter."""
    with np.errstate(divide="ignore"):
        terms = np.where(lists.doubled > 0, 1 / (constant + lists.doubled / 2), 0.0)
    terms.sort(axis=1)
    n_lists = terms.shape[1]
    return np.asarray(np.cumsum(terms, axis=1)[:, -1] * (n_lists / lists.counts))


def _order_statistic_evidence(
    lists: Lists, method: str, n_jobs: int | None, *, p_values: bool
) -> tuple[FloatArray, int, FloatArray | None]:
    """Return evidence and p-values of the rules on order statistics."""
    last = lists.last_ranks()
    ranks = np.where(last > 0, last / lists.lengths, np.inf)
    ranks.sort(axis=1)
    if method == "robust-rank":
        logs = log_smallest(ranks, lists.counts) + np.log(lists.counts)
        evidence = round_scores(0.0 - logs / math.log(10))
        return evidence, 1, np.minimum(1.0, np.exp(logs)) if p_values else None
    n_lists = int(lists.counts[0])
    if (lists.counts != n_lists).any():
        other = int(np.flatnonzero(lists.counts != n_lists)[0])
        raise ParameterError(
            "'stuart' with ",
            Setting("unlisted", "unknown"),
            " needs every feature in equally many lists, but ",
            Feature(0),
            f" is in {n_lists} and ",
            Feature(other),
            f" in {lists.counts[other]}: use ",
            Setting("unlisted", "last"),
            " or the rule 'robust-rank'",
        )
    _check_count(n_lists)
    evidence = round_scores(0.0 - log_joint(ranks[:, :n_lists], n_jobs) / math.log(10))
    if not p_values:
        return evidence, 1, None
    as_large = _N_DRAWS - np.searchsorted(_random_evidence(n_lists, n_jobs), evidence, side="left")
    return evidence, 1, (1 + as_large) / (1 + _N_DRAWS)


def _check_count(n_lists: int) -> None:
    """Refuse more lists than Stuart's recursion can compute."""
    if n_lists > MOST_LISTS:
        raise ParameterError(
            f"'stuart' takes at most {MOST_LISTS} lists, here are {n_lists}: use 'robust-rank'"
        )


@functools.lru_cache(maxsize=4)
def _random_evidence(n_lists: int, n_jobs: int | None) -> FloatArray:
    """Return the evidence of Stuart's Q in random lists, sorted."""
    draws = np.sort(np.random.default_rng(0).random((_N_DRAWS, n_lists)), axis=1)
    return np.sort(round_scores(0.0 - log_joint(draws, n_jobs) / math.log(10)))
