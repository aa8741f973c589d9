"""Claims of Izetta, Verdes and Granitto (2017) about their artificial problems, as tests.

:mod:`studies.multiclass` describes how each claim is tested.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from featly.study import Claim, Finding, Results
from studies.multiclass_lists import (
    ALL_SHARES,
    RULES,
    WITH_SD,
    against_all,
    smaller_first,
    with_share,
)
from studies.multiclass_measures import (
    MADE,
    ONE,
    THREE,
    TIERS,
    TWO,
    Runs,
    average_gains,
    error_gain,
    first_noise_gain,
    noise_of,
    position_gain,
    relevant_of,
    runs,
    tables_of,
)
from studies.prior_measures import Gain

OTHERS = ("3Q-SD", "Av-SD", "Condorcet")  # "the other 3 methods"
LEADERS = ("K-First", "Best", "Schulze")
WITHIN = 3.0  # positions: the printed means of five rules in table 6 are 26 to 29
CLOSE = 0.02  # of the error: "closely", "similar"
ALMOST = 0.01  # of the error: "almost independent", "consistently good"
MANY = 0.25  # of the columns tie: "a lot of ties"

Check = Callable[[Results], Finding]


def runs_by_method(
    results: Results, table: str, names: Sequence[str] = tuple(RULES)
) -> dict[str, Runs]:
    """Return the runs of methods on a table, by name."""
    return {name: runs(results, table, name) for name in names}


def specific(results: Results) -> list[str]:
    """Tables with columns for some classes."""
    return [name for name in tables_of(results) if MADE[name][0] != 3]


def errors(by_method: dict[str, Runs]) -> dict[str, float]:
    """Mean errors by method."""
    return {name: float(method_runs.error().mean()) for name, method_runs in by_method.items()}


def list_smallest_first(values: dict[str, float], digits: int = 3) -> str:
    """Return ``K-First 0.100, Best 0.105``, smallest first."""
    order = sorted(values, key=lambda name: values[name])
    return ", ".join(f"{name} {values[name]:.{digits}f}" for name in order)


# ---- positions: tables 4 to 6 --------------------------------------------------------------------
def ahead(table: str, pairs: Sequence[tuple[str, str]]) -> Check:
    """In every pair, the first ranks relevant columns before the second: mean and quartile."""

    def check(results: Results) -> Finding:
        columns = range(relevant_of(table))
        gains = {}
        holds = True
        for first, second in pairs:
            pair_runs = runs(results, table, first), runs(results, table, second)
            mean, quartile = (position_gain(*pair_runs, columns, part) for part in (False, True))
            gains[first, second] = mean, quartile
            holds &= mean.is_negative and quartile.is_negative
        means = {
            name: float(runs(results, table, name).positions(columns).mean()) for name in RULES
        }
        least = max((mean for mean, _ in gains.values()), key=lambda gain: gain.upper)
        listing = "; ".join(
            f"{first} less {second} {mean}, third quartiles {quartile}"
            for (first, second), (mean, quartile) in gains.items()
        )
        return least.as_finding(holds, f"mean position {list_smallest_first(means, 1)}; {listing}")

    return check


def c2a(results: Results) -> Finding:
    """K-First best in every tier."""
    words, holds, margin = [], True, None
    for tier, columns in TIERS.items():
        by_method = runs_by_method(results, TWO)
        means = {
            name: float(method_runs.positions(columns).mean())
            for name, method_runs in by_method.items()
        }
        gains = [
            position_gain(by_method["K-First"], method_runs, columns)
            for name, method_runs in by_method.items()
            if name != "K-First"
        ]
        holds &= not any(gain.is_positive for gain in gains)
        holds &= means["K-First"] <= min(means.values()) + 0.5
        nearest = max(gains, key=lambda gain: gain.mean)
        margin = nearest if margin is None or nearest.mean > margin.mean else margin
        words.append(f"{tier}: {list_smallest_first(means, 1)}")
    assert margin is not None
    return margin.as_finding(holds, f"mean position, columns {'; '.join(words)}")


def c2b(results: Results) -> Finding:
    """The second: Schulze, Schulze, Best."""
    words, holds = [], True
    for (tier, columns), second in zip(TIERS.items(), ("Schulze", "Schulze", "Best"), strict=True):
        means = {
            name: float(method_runs.positions(columns).mean())
            for name, method_runs in runs_by_method(results, TWO).items()
        }
        rounded = {name: round(value) for name, value in means.items() if name != "K-First"}
        first = [name for name in rounded if rounded[name] == min(rounded.values())]
        holds &= second in first
        words.append(f"{tier}: {' and '.join(first)}")
    return Finding(holds, f"next to K-First, means as whole numbers, columns {'; '.join(words)}")


def c2c(results: Results) -> Finding:
    """Av-SD ahead of Best in the first tier."""
    gain = position_gain(runs(results, TWO, "Av-SD"), runs(results, TWO, "Best"), TIERS["1 to 5"])
    return gain.as_finding(gain.is_negative, "mean position of columns 1 to 5, Av-SD less Best")


def later_noise(table: str) -> Check:
    """The first noise column comes later in K-First than in Best."""

    def check(results: Results) -> Finding:
        by_method = runs_by_method(results, table)
        gain = first_noise_gain(by_method["K-First"], by_method["Best"], noise_of(table))
        first = {
            name: int(method_runs.positions(noise_of(table)).min())
            for name, method_runs in by_method.items()
        }
        listing = ", ".join(f"{name} {position}" for name, position in first.items())
        words = f"first noise column, K-First less Best; the first of all runs: {listing}"
        return gain.as_finding(gain.is_positive, words)

    return check


def c3a(results: Results) -> Finding:
    """Five rules within three positions on Artificial-3."""
    columns = range(relevant_of(THREE))
    means = {
        name: float(method_runs.positions(columns).mean())
        for name, method_runs in runs_by_method(results, THREE).items()
    }
    five = [value for name, value in means.items() if name != "Best"]
    apart = max(five) - min(five)
    return Finding(apart <= WITHIN, f"mean position {list_smallest_first(means, 1)}", apart)


def c3b(results: Results) -> Finding:
    """Best behind the other five on Artificial-3."""
    by_method, columns = runs_by_method(results, THREE), range(relevant_of(THREE))
    gains = [
        position_gain(by_method["Best"], method_runs, columns)
        for name, method_runs in by_method.items()
        if name != "Best"
    ]
    least = min(gains, key=lambda gain: gain.lower)
    return least.as_finding(
        all(gain.is_positive for gain in gains),
        "mean position, Best less the nearest of the others",
    )


# ---- errors: figures 1 to 4 ----------------------------------------------------------------------
def average_error_gain(results: Results, first: str, second: str, tables: Sequence[str]) -> Gain:
    """Return the error of one less that of the other, averaged over tables."""
    return average_gains(
        [error_gain(runs(results, t, first), runs(results, t, second)) for t in tables]
    )


def mean_errors(results: Results, tables: Sequence[str]) -> dict[str, float]:
    """Error of the six, averaged over tables."""
    errors_by_table = [errors(runs_by_method(results, table)) for table in tables]
    return {
        name: float(np.mean([table_errors[name] for table_errors in errors_by_table]))
        for name in RULES
    }


def c4a(results: Results) -> Finding:
    """K-First has the lowest error where columns are for some classes."""
    tables = specific(results)
    beaten = [
        f"{name} on {table}"
        for table in tables
        for name in RULES
        if error_gain(runs(results, table, "K-First"), runs(results, table, name)).is_positive
    ]
    means = mean_errors(results, tables)
    gains = [
        average_error_gain(results, "K-First", name, tables) for name in RULES if name != "K-First"
    ]
    nearest = max(gains, key=lambda gain: gain.mean)
    holds = not beaten and means["K-First"] == min(means.values())
    listing = (
        f"mean error {list_smallest_first(means)}; below K-First: {', '.join(beaten) or 'none'}"
    )
    return nearest.as_finding(holds, listing)


def c4b(results: Results) -> Finding:
    """Best follows closely."""
    tables = specific(results)
    means = mean_errors(results, tables)
    gain = average_error_gain(results, "Best", "K-First", tables)
    second = sorted(means, key=lambda name: means[name])[:2]
    holds = "Best" in second and gain.mean < CLOSE
    return gain.as_finding(holds, f"error of Best less K-First; {list_smallest_first(means)}")


def c4c(results: Results) -> Finding:
    """Schulze good on several tables."""
    good = [
        table
        for table in specific(results)
        if all(
            error_gain(runs(results, table, "Schulze"), runs(results, table, name)).is_negative
            for name in OTHERS
        )
    ]
    listing = f"below 3Q-SD, Av-SD and Condorcet on {', '.join(good) or 'none'}"
    return Finding(len(good) >= 2, listing, float(len(good)))


def c4d(results: Results) -> Finding:
    """The other three are alike."""
    means = mean_errors(results, specific(results))
    three = {name: means[name] for name in OTHERS}
    apart = max(three.values()) - min(three.values())
    return Finding(apart <= CLOSE, f"mean error {list_smallest_first(three)}", apart)


def c4e(results: Results) -> Finding:
    """The other three are behind."""
    tables = specific(results)
    gains = {
        (leader, rival): average_error_gain(results, leader, rival, tables)
        for leader in LEADERS
        for rival in OTHERS
    }
    behind = [
        f"{leader} less {rival} {g}" for (leader, rival), g in gains.items() if not g.is_negative
    ]
    least = max(gains.values(), key=lambda gain: gain.upper)
    return least.as_finding(not behind, f"not below: {'; '.join(behind) or 'none'}")


def spread_of(results: Results, table: str) -> Gain:
    """Error of the rule with the largest mean less that of the one with the smallest."""
    by_method = runs_by_method(results, table)
    means = errors(by_method)
    order = sorted(means, key=lambda name: means[name])
    return error_gain(by_method[order[-1]], by_method[order[0]])


def c4f(results: Results) -> Finding:
    """Differences are smaller on Artificial-3."""
    words, holds = [], True
    for name in tables_of(results):
        problem, n_classes = MADE[name]
        if problem != 3:
            continue
        for other in specific(results):
            if MADE[other][1] == n_classes:
                spread, other_spread = spread_of(results, name), spread_of(results, other)
                more = other_spread.less(spread)
                holds &= more.is_positive
                words.append(f"{name} {spread.mean:.3f}, {other} {other_spread.mean:.3f}")
    return Finding(holds, f"largest less smallest mean error of the six: {'; '.join(words)}")


def c4g(results: Results) -> Finding:
    """Differences grow with the number of classes on Artificial-1."""
    tables = [name for name in tables_of(results) if MADE[name][0] == 1]
    spreads = [spread_of(results, name) for name in tables]
    more = spreads[-1].less(spreads[0])
    rising = all(a.mean <= b.mean for a, b in pairwise(spreads))
    listing = ", ".join(f"{n} {s.mean:.3f}" for n, s in zip(tables, spreads, strict=True))
    return more.as_finding(
        rising and more.is_positive, f"largest less smallest mean error: {listing}"
    )


def by_share(results: Results, table: str) -> dict[float, Runs]:
    """K-First with every k."""
    return {share: runs(results, table, with_share(share)) for share in ALL_SHARES}


def c5a(results: Results) -> Finding:
    """Artificial-3 does not depend on k."""
    words, worst = [], 0.0
    for table in (name for name in tables_of(results) if MADE[name][0] == 3):
        by_k = by_share(results, table)
        change = max(abs(error_gain(share_runs, by_k[0.1]).mean) for share_runs in by_k.values())
        worst = max(worst, change)
        words.append(f"{table} {change:.3f}")
    return Finding(worst < ALMOST, f"largest change of the error from k = 10%: {', '.join(words)}",
                   worst)  # fmt: skip


def c5b(results: Results) -> Finding:
    """Artificial-1 and -2 depend on k."""
    words, holds, least = [], True, None
    for table in specific(results):
        by_k = by_share(results, table)
        order = sorted(by_k, key=lambda share: float(by_k[share].error().mean()))
        gain = error_gain(by_k[order[-1]], by_k[order[0]])
        holds &= gain.is_positive and gain.mean >= CLOSE
        least = gain if least is None or gain.mean < least.mean else least
        words.append(f"{table} {gain.mean:.3f} (best {order[0]:.0%}, worst {order[-1]:.0%})")
    assert least is not None
    return least.as_finding(holds, f"error with the worst k less the best: {'; '.join(words)}")


def c5c(results: Results) -> Finding:
    """A tenth is good throughout."""
    words, worst = [], 0.0
    for table in tables_of(results):
        means = {
            share: float(share_runs.error().mean())
            for share, share_runs in by_share(results, table).items()
        }
        lost = means[0.1] - min(means.values())
        worst = max(worst, lost)
        words.append(f"{table} {lost:.3f}")
    return Finding(worst <= ALMOST, f"error at 10% less the best k: {', '.join(words)}", worst)


def c5d(results: Results) -> Finding:
    """k = p is Average-SD."""
    worst, n_same, n_runs = 0.0, 0, 0
    for table in tables_of(results):
        all_columns, average = runs(results, table, with_share(1.0)), runs(results, table, "Av-SD")
        worst = max(worst, float(np.abs(all_columns.errors - average.errors).mean()))
        n_same += int((all_columns.orders == average.orders).all(axis=1).sum())
        n_runs += len(all_columns.orders)
    description = f"the same ranking in {n_same} of {n_runs} runs; ties are broken by another rule"
    return Finding(worst < 0.005, description, worst)


def c6(results: Results) -> Finding:
    """The larger deviation first is never worse."""
    worse, better, gains = [], 0, []
    for table in tables_of(results):
        for name in WITH_SD:
            gain = error_gain(runs(results, table, name), runs(results, table, smaller_first(name)))
            gains.append(gain)
            better += gain.is_negative
            if gain.is_positive:
                worse.append(f"{name} on {table} {gain}")
    description = f"worse: {'; '.join(worse) or 'never'}; better {better} times of {len(gains)}"
    return average_gains(gains).as_finding(
        not worse, f"error, larger less smaller first; {description}"
    )


def c7a(results: Results) -> Finding:
    """One-vs-one is never worse."""
    worse, better, gains = [], 0, []
    for table in tables_of(results):
        for name in RULES:
            gain = error_gain(runs(results, table, name), runs(results, table, against_all(name)))
            gains.append(gain)
            better += gain.is_negative
            if gain.is_positive:
                worse.append(f"{name} on {table} {gain}")
    description = f"worse: {'; '.join(worse) or 'never'}; better {better} times of {len(gains)}"
    return average_gains(gains).as_finding(not worse, f"error, OvO less OvA; {description}")


def c7b(results: Results) -> Finding:
    """K-First and Best gain most."""
    gains = {
        name: -average_error_gain(results, name, against_all(name), tables_of(results)).mean
        for name in RULES
    }
    top = sorted(gains, key=lambda name: -gains[name])[:2]
    listing = ", ".join(f"{n} {gains[n]:+.3f}" for n in sorted(gains, key=lambda n: -gains[n]))
    return Finding(set(top) == {"K-First", "Best"}, f"error gained by OvO: {listing}")


def c8(results: Results) -> Finding:
    """Condorcet ties."""
    eight = [table for table in (ONE, TWO, THREE) if table in tables_of(results)]
    shares = {
        name: float(
            np.mean(
                [
                    runs(results, table, name).figure("ties").mean()
                    / runs(results, table, name).orders.shape[1]
                    for table in eight
                ]
            )
        )
        for name in RULES
    }
    least = min(
        runs(results, table, "Condorcet").figure("ties").mean()
        / runs(results, table, "Condorcet").orders.shape[1]
        for table in eight
    )
    listing = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    holds = bool(least >= MANY)
    return Finding(holds, f"columns that share their score, eight classes: {listing}", float(least))


# ---- lists of claims -----------------------------------------------------------------------------
def artificial_claims(suffix: str = "", note: str = "") -> list[Claim]:
    """C1 to C6 and C8."""
    pairs = [(leader, rival) for leader in ("K-First", "Best") for rival in OTHERS]
    claim_parts = [
        ("C1a", "Artificial-1-8C: K-First ahead of Best", ahead(ONE, [("K-First", "Best")]), "T4"),
        ("C1b", "Artificial-1-8C: Best ahead of Schulze", ahead(ONE, [("Best", "Schulze")]), "T4"),
        ("C1c", "Artificial-1-8C: Schulze ahead of 3Q-SD, Av-SD and Condorcet",
         ahead(ONE, [("Schulze", rival) for rival in OTHERS]), "T4"),
        ("C1d", "Artificial-1-8C: K-First and Best ahead of 3Q-SD, Av-SD and Condorcet",
         ahead(ONE, pairs), "T4"),
        ("C1e", "Artificial-1-8C: Best ranks noise high more easily than K-First",
         later_noise(ONE), "T4, 3.4"),
        ("C2a", "Artificial-2-8C: K-First best in every tier", c2a, "T5"),
        ("C2b", "Artificial-2-8C: second is Schulze in tiers 1 and 2, Best in tier 3", c2b, "T5"),
        ("C2c", "Artificial-2-8C: Av-SD ahead of Best in tier 1", c2c, "T5"),
        ("C2d", "Artificial-2-8C: Best ranks noise high more easily than K-First",
         later_noise(TWO), "T5, 3.4"),
        ("C3a", "Artificial-3-8C: all but Best almost equivalent", c3a, "T6"),
        ("C3b", "Artificial-3-8C: Best behind the others", c3b, "T6"),
        ("C4a", "K-First has the lowest errors", c4a, "fig. 3, 4"),
        ("C4b", "Best follows closely", c4b, "fig. 3, 4"),
        ("C4c", "Schulze good on several tables", c4c, "fig. 3, 4"),
        ("C4d", "3Q-SD, Av-SD and Condorcet alike", c4d, "fig. 3, 4"),
        ("C4e", "they are behind K-First, Best and Schulze", c4e, "fig. 3, 4"),
        ("C4f", "differences are smaller on Artificial-3", c4f, "3.4"),
        ("C4g", "differences grow with the number of classes on Artificial-1", c4g, "3.4"),
        ("C5a", "Artificial-3: almost independent of k", c5a, "fig. 1"),
        ("C5b", "Artificial-1 and -2: depends on k", c5b, "fig. 1"),
        ("C5c", "k = 10% of p is good throughout", c5c, "fig. 1"),
        ("C5d", "k = p gives Average-SD", c5d, "3.3.1"),
        ("C6", "the larger SD first is never worse than the smaller", c6, "fig. 2"),
        ("C8", "Condorcet produces many ties", c8, "3.4"),
    ]  # fmt: skip
    return [
        Claim(f"{name}{suffix}", f"{text}{note}", check, None, where)
        for name, text, check, where in claim_parts
    ]


def decomposition_claims(suffix: str = "", note: str = "") -> list[Claim]:
    """C7."""
    return [
        Claim(f"C7a{suffix}", f"OvO equal or better than OvA on every artificial set{note}", c7a,
              None, "fig. 3"),
        Claim(f"C7b{suffix}", f"the gain is largest for K-First and Best{note}", c7b, None,
              "fig. 3"),
    ]  # fmt: skip
