"""What Izetta, Verdes and Granitto (2017) claim of their artificial problems, as tests.

:mod:`studies.multiclass` says in words how each claim is tested.
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
    error_gain,
    first_noise_gain,
    noise_of,
    position_gain,
    relevant_of,
    runs,
    tables_of,
    together,
)
from studies.prior_measures import Gain

OTHERS = ("3Q-SD", "Av-SD", "Condorcet")  # "the other 3 methods"
LEADERS = ("K-First", "Best", "Schulze")
WITHIN = 3.0  # positions: the printed means of five rules in table 6 are 26 to 29
CLOSE = 0.02  # of the error: "closely", "similar"
ALMOST = 0.01  # of the error: "almost independent", "consistently good"
MANY = 0.25  # of the columns tie: "a lot of ties"

Check = Callable[[Results], Finding]


def of(results: Results, table: str, names: Sequence[str] = tuple(RULES)) -> dict[str, Runs]:
    """Methods by name on a table."""
    return {name: runs(results, table, name) for name in names}


def specific(results: Results) -> list[str]:
    """Tables with columns for some classes."""
    return [name for name in tables_of(results) if MADE[name][0] != 3]


def errors(some: dict[str, Runs]) -> dict[str, float]:
    """Mean errors by method."""
    return {name: float(one.error().mean()) for name, one in some.items()}


def in_words(values: dict[str, float], digits: int = 3) -> str:
    """``K-First 0.100, Best 0.105``, smallest first."""
    order = sorted(values, key=lambda name: values[name])
    return ", ".join(f"{name} {values[name]:.{digits}f}" for name in order)


# ---- positions: tables 4 to 6 --------------------------------------------------------------------
def ahead(table: str, pairs: Sequence[tuple[str, str]]) -> Check:
    """In every pair, the first ranks relevant columns before the second: mean and quartile."""

    def check(results: Results) -> Finding:
        columns = range(relevant_of(table))
        gains = {}
        holds = True
        for one, other in pairs:
            both = runs(results, table, one), runs(results, table, other)
            mean, quartile = (position_gain(*both, columns, part) for part in (False, True))
            gains[one, other] = mean, quartile
            holds &= mean.below and quartile.below
        means = {
            name: float(runs(results, table, name).positions(columns).mean()) for name in RULES
        }
        least = max((mean for mean, _ in gains.values()), key=lambda gain: gain.upper)
        told = "; ".join(
            f"{one} less {other} {mean}, third quartiles {quartile}"
            for (one, other), (mean, quartile) in gains.items()
        )
        return least.found(holds, f"mean position {in_words(means, 1)}; {told}")

    return check


def c2a(results: Results) -> Finding:
    """K-First best in every tier."""
    words, holds, margin = [], True, None
    for tier, columns in TIERS.items():
        some = of(results, TWO)
        means = {name: float(one.positions(columns).mean()) for name, one in some.items()}
        gains = [
            position_gain(some["K-First"], one, columns)
            for name, one in some.items()
            if name != "K-First"
        ]
        holds &= not any(gain.above for gain in gains)
        holds &= means["K-First"] <= min(means.values()) + 0.5
        nearest = max(gains, key=lambda gain: gain.mean)
        margin = nearest if margin is None or nearest.mean > margin.mean else margin
        words.append(f"{tier}: {in_words(means, 1)}")
    assert margin is not None
    return margin.found(holds, f"mean position, columns {'; '.join(words)}")


def c2b(results: Results) -> Finding:
    """The second: Schulze, Schulze, Best."""
    words, holds = [], True
    for (tier, columns), second in zip(TIERS.items(), ("Schulze", "Schulze", "Best"), strict=True):
        means = {
            name: float(one.positions(columns).mean()) for name, one in of(results, TWO).items()
        }
        rounded = {name: round(value) for name, value in means.items() if name != "K-First"}
        first = [name for name in rounded if rounded[name] == min(rounded.values())]
        holds &= second in first
        words.append(f"{tier}: {' and '.join(first)}")
    return Finding(holds, f"next to K-First, means as whole numbers, columns {'; '.join(words)}")


def c2c(results: Results) -> Finding:
    """Av-SD ahead of Best in the first tier."""
    gain = position_gain(runs(results, TWO, "Av-SD"), runs(results, TWO, "Best"), TIERS["1 to 5"])
    return gain.found(gain.below, "mean position of columns 1 to 5, Av-SD less Best")


def later_noise(table: str) -> Check:
    """The first noise column comes later in K-First than in Best."""

    def check(results: Results) -> Finding:
        some = of(results, table)
        gain = first_noise_gain(some["K-First"], some["Best"], noise_of(table))
        first = {name: int(one.positions(noise_of(table)).min()) for name, one in some.items()}
        told = ", ".join(f"{name} {place}" for name, place in first.items())
        words = f"first noise column, K-First less Best; the first of all runs: {told}"
        return gain.found(gain.above, words)

    return check


def c3a(results: Results) -> Finding:
    """Five rules within three positions on Artificial-3."""
    columns = range(relevant_of(THREE))
    means = {name: float(one.positions(columns).mean()) for name, one in of(results, THREE).items()}
    five = [value for name, value in means.items() if name != "Best"]
    apart = max(five) - min(five)
    return Finding(apart <= WITHIN, f"mean position {in_words(means, 1)}", apart)


def c3b(results: Results) -> Finding:
    """Best behind the other five on Artificial-3."""
    some, columns = of(results, THREE), range(relevant_of(THREE))
    gains = [
        position_gain(some["Best"], one, columns) for name, one in some.items() if name != "Best"
    ]
    least = min(gains, key=lambda gain: gain.lower)
    return least.found(
        all(gain.above for gain in gains), "mean position, Best less the nearest of the others"
    )


# ---- errors: figures 1 to 4 ----------------------------------------------------------------------
def averaged(results: Results, one: str, other: str, tables: Sequence[str]) -> Gain:
    """Error of one less that of the other, averaged over tables."""
    return together([error_gain(runs(results, t, one), runs(results, t, other)) for t in tables])


def mean_errors(results: Results, tables: Sequence[str]) -> dict[str, float]:
    """Error of the six, averaged over tables."""
    each = [errors(of(results, table)) for table in tables]
    return {name: float(np.mean([one[name] for one in each])) for name in RULES}


def c4a(results: Results) -> Finding:
    """K-First has the lowest error where columns are for some classes."""
    tables = specific(results)
    beaten = [
        f"{name} on {table}"
        for table in tables
        for name in RULES
        if error_gain(runs(results, table, "K-First"), runs(results, table, name)).above
    ]
    means = mean_errors(results, tables)
    gains = [averaged(results, "K-First", name, tables) for name in RULES if name != "K-First"]
    nearest = max(gains, key=lambda gain: gain.mean)
    holds = not beaten and means["K-First"] == min(means.values())
    told = f"mean error {in_words(means)}; below K-First: {', '.join(beaten) or 'none'}"
    return nearest.found(holds, told)


def c4b(results: Results) -> Finding:
    """Best follows closely."""
    tables = specific(results)
    means = mean_errors(results, tables)
    gain = averaged(results, "Best", "K-First", tables)
    second = sorted(means, key=lambda name: means[name])[:2]
    holds = "Best" in second and gain.mean < CLOSE
    return gain.found(holds, f"error of Best less K-First; {in_words(means)}")


def c4c(results: Results) -> Finding:
    """Schulze good on several tables."""
    good = [
        table
        for table in specific(results)
        if all(
            error_gain(runs(results, table, "Schulze"), runs(results, table, name)).below
            for name in OTHERS
        )
    ]
    told = f"below 3Q-SD, Av-SD and Condorcet on {', '.join(good) or 'none'}"
    return Finding(len(good) >= 2, told, float(len(good)))


def c4d(results: Results) -> Finding:
    """The other three are alike."""
    means = mean_errors(results, specific(results))
    three = {name: means[name] for name in OTHERS}
    apart = max(three.values()) - min(three.values())
    return Finding(apart <= CLOSE, f"mean error {in_words(three)}", apart)


def c4e(results: Results) -> Finding:
    """The other three are behind."""
    tables = specific(results)
    gains = {
        (one, other): averaged(results, one, other, tables) for one in LEADERS for other in OTHERS
    }
    behind = [f"{one} less {other} {g}" for (one, other), g in gains.items() if not g.below]
    least = max(gains.values(), key=lambda gain: gain.upper)
    return least.found(not behind, f"not below: {'; '.join(behind) or 'none'}")


def spread_of(results: Results, table: str) -> Gain:
    """Error of the rule with the largest mean less that of the one with the smallest."""
    some = of(results, table)
    means = errors(some)
    order = sorted(means, key=lambda name: means[name])
    return error_gain(some[order[-1]], some[order[0]])


def c4f(results: Results) -> Finding:
    """Differences are smaller on Artificial-3."""
    words, holds = [], True
    for name in tables_of(results):
        problem, n_classes = MADE[name]
        if problem != 3:
            continue
        for other in specific(results):
            if MADE[other][1] == n_classes:
                here, there = spread_of(results, name), spread_of(results, other)
                more = there.less(here)
                holds &= more.above
                words.append(f"{name} {here.mean:.3f}, {other} {there.mean:.3f}")
    return Finding(holds, f"largest less smallest mean error of the six: {'; '.join(words)}")


def c4g(results: Results) -> Finding:
    """Differences grow with the number of classes on Artificial-1."""
    tables = [name for name in tables_of(results) if MADE[name][0] == 1]
    spreads = [spread_of(results, name) for name in tables]
    more = spreads[-1].less(spreads[0])
    rising = all(a.mean <= b.mean for a, b in pairwise(spreads))
    told = ", ".join(f"{n} {s.mean:.3f}" for n, s in zip(tables, spreads, strict=True))
    return more.found(rising and more.above, f"largest less smallest mean error: {told}")


def by_share(results: Results, table: str) -> dict[float, Runs]:
    """K-First with every k."""
    return {share: runs(results, table, with_share(share)) for share in ALL_SHARES}


def c5a(results: Results) -> Finding:
    """Artificial-3 does not depend on k."""
    words, worst = [], 0.0
    for table in (name for name in tables_of(results) if MADE[name][0] == 3):
        some = by_share(results, table)
        change = max(abs(error_gain(one, some[0.1]).mean) for one in some.values())
        worst = max(worst, change)
        words.append(f"{table} {change:.3f}")
    return Finding(worst < ALMOST, f"largest change of the error from k = 10%: {', '.join(words)}",
                   worst)  # fmt: skip


def c5b(results: Results) -> Finding:
    """Artificial-1 and -2 depend on k."""
    words, holds, least = [], True, None
    for table in specific(results):
        some = by_share(results, table)
        order = sorted(some, key=lambda share: float(some[share].error().mean()))
        gain = error_gain(some[order[-1]], some[order[0]])
        holds &= gain.above and gain.mean >= CLOSE
        least = gain if least is None or gain.mean < least.mean else least
        words.append(f"{table} {gain.mean:.3f} (best {order[0]:.0%}, worst {order[-1]:.0%})")
    assert least is not None
    return least.found(holds, f"error with the worst k less the best: {'; '.join(words)}")


def c5c(results: Results) -> Finding:
    """A tenth is good throughout."""
    words, worst = [], 0.0
    for table in tables_of(results):
        means = {
            share: float(one.error().mean()) for share, one in by_share(results, table).items()
        }
        lost = means[0.1] - min(means.values())
        worst = max(worst, lost)
        words.append(f"{table} {lost:.3f}")
    return Finding(worst <= ALMOST, f"error at 10% less the best k: {', '.join(words)}", worst)


def c5d(results: Results) -> Finding:
    """k = p is Average-SD."""
    worst, same, every = 0.0, 0, 0
    for table in tables_of(results):
        whole, average = runs(results, table, with_share(1.0)), runs(results, table, "Av-SD")
        worst = max(worst, float(np.abs(whole.errors - average.errors).mean()))
        same += int((whole.orders == average.orders).all(axis=1).sum())
        every += len(whole.orders)
    told = f"the same ranking in {same} of {every} runs; ties are broken by another rule"
    return Finding(worst < 0.005, told, worst)


def c6(results: Results) -> Finding:
    """The larger deviation first is never worse."""
    worse, better, every = [], 0, []
    for table in tables_of(results):
        for name in WITH_SD:
            gain = error_gain(runs(results, table, name), runs(results, table, smaller_first(name)))
            every.append(gain)
            better += gain.below
            if gain.above:
                worse.append(f"{name} on {table} {gain}")
    told = f"worse: {'; '.join(worse) or 'never'}; better {better} times of {len(every)}"
    return together(every).found(not worse, f"error, larger less smaller first; {told}")


def c7a(results: Results) -> Finding:
    """One-vs-one is never worse."""
    worse, better, every = [], 0, []
    for table in tables_of(results):
        for name in RULES:
            gain = error_gain(runs(results, table, name), runs(results, table, against_all(name)))
            every.append(gain)
            better += gain.below
            if gain.above:
                worse.append(f"{name} on {table} {gain}")
    told = f"worse: {'; '.join(worse) or 'never'}; better {better} times of {len(every)}"
    return together(every).found(not worse, f"error, OvO less OvA; {told}")


def c7b(results: Results) -> Finding:
    """K-First and Best gain most."""
    gains = {
        name: -averaged(results, name, against_all(name), tables_of(results)).mean for name in RULES
    }
    top = sorted(gains, key=lambda name: -gains[name])[:2]
    told = ", ".join(f"{n} {gains[n]:+.3f}" for n in sorted(gains, key=lambda n: -gains[n]))
    return Finding(set(top) == {"K-First", "Best"}, f"error gained by OvO: {told}")


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
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    holds = bool(least >= MANY)
    return Finding(holds, f"columns that share their score, eight classes: {told}", float(least))


# ---- all of them ---------------------------------------------------------------------------------
def artificial_claims(suffix: str = "", note: str = "") -> list[Claim]:
    """C1 to C6 and C8."""
    rest = [(one, other) for one in ("K-First", "Best") for other in OTHERS]
    found = [
        ("C1a", "Artificial-1-8C: K-First ahead of Best", ahead(ONE, [("K-First", "Best")]), "T4"),
        ("C1b", "Artificial-1-8C: Best ahead of Schulze", ahead(ONE, [("Best", "Schulze")]), "T4"),
        ("C1c", "Artificial-1-8C: Schulze ahead of 3Q-SD, Av-SD and Condorcet",
         ahead(ONE, [("Schulze", other) for other in OTHERS]), "T4"),
        ("C1d", "Artificial-1-8C: K-First and Best ahead of 3Q-SD, Av-SD and Condorcet",
         ahead(ONE, rest), "T4"),
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
        for name, text, check, where in found
    ]


def decomposition_claims(suffix: str = "", note: str = "") -> list[Claim]:
    """C7."""
    return [
        Claim(f"C7a{suffix}", f"OvO equal or better than OvA on every artificial set{note}", c7a,
              None, "fig. 3"),
        Claim(f"C7b{suffix}", f"the gain is largest for K-First and Best{note}", c7b, None,
              "fig. 3"),
    ]  # fmt: skip
