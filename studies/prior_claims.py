"""What Helleputte and Dupont (2009) claim of their experiments with clinical markers, as tests.

:mod:`studies.prior` says in words how each claim is tested.
"""

from collections.abc import Callable, Sequence

import numpy as np

from featly.measures.stability import nogueira_stability
from featly.measures.statistics import plain_interval
from featly.study import Claim, Finding, Results
from featly.study.prior_report import stability_without_each
from studies.prior_measures import (
    DRAWS,
    MARKERS,
    PLAIN,
    POWERS,
    PS,
    RANDOM,
    RFE,
    SMALL,
    SN,
    VERY_SMALL,
    WEIGHT,
    WEIGHTS,
    Gain,
    Runs,
    both_gain,
    by_size,
    jackknife,
    mean_rate_gain,
    random_names,
    rate_gain,
    runs,
    stability_drop,
    stability_gain,
    weight_name,
)

DRASTIC = 0.1  # of Kuncheva's index
MARGINAL = {"KI": 0.05, "BCR": 0.02}
BOTH = tuple(MARKERS)


def draws(results: Results, dataset: str) -> list[Runs]:
    """RANDOM, draw by draw."""
    return [runs(results, dataset, name) for name in random_names()]


def random_stability(results: Results, dataset: str, sizes: Sequence[int]) -> Gain:
    """Kuncheva's index of RANDOM less that of l2-AROM, with the interval over draws."""
    plain = runs(results, dataset, PLAIN)
    gains = [stability_gain(one, plain, sizes).mean for one in draws(results, dataset)]
    return Gain(float(np.mean(gains)), *plain_interval(gains))


def random_rate(results: Results, dataset: str, sizes: Sequence[int]) -> Gain:
    """BCR of RANDOM, averaged over draws, less that of l2-AROM."""
    return mean_rate_gain(draws(results, dataset), runs(results, dataset, PLAIN), sizes)


def between(
    measure: Callable[[Runs, Runs, Sequence[int]], Gain],
    results: Results,
    dataset: str,
    one: str,
    other: str,
    sizes: Sequence[int],
) -> Gain:
    """A difference of two methods on a table."""
    return measure(runs(results, dataset, one), runs(results, dataset, other), sizes)


def changes(results: Results, dataset: str, weight: float) -> dict[str, float]:
    """Mean absolute change of KI and BCR over sizes when beta is not 10."""
    one, ten = (runs(results, dataset, weight_name(beta)) for beta in (weight, WEIGHT))
    at = ten.at(POWERS)
    return {
        "KI": float(np.abs(one.stability - ten.stability)[at].mean()),
        "BCR": float(np.abs(one.rate - ten.rate)[at].mean()),
    }


def b5(results: Results) -> Finding:
    """Other weights change KI and BCR marginally."""
    words, holds, worst = [], True, 0.0
    for name in BOTH:
        told = []
        for weight in WEIGHTS:
            change = changes(results, name, weight)
            holds &= all(change[what] < most for what, most in MARGINAL.items())
            worst = max(worst, change["KI"])
            told.append(f"{weight}: {change['KI']:.3f}, {change['BCR']:.3f}")
        words.append(f"{name} " + "; ".join(told))
    limits = f"(KI, BCR; allowed {MARGINAL['KI']}, {MARGINAL['BCR']})"
    return Finding(holds, f"mean absolute change by beta {limits}: {'. '.join(words)}", worst)


def more_stable(dataset: str, least: float = 0.0) -> Callable[[Results], Finding]:
    """PS above l2-AROM at every small size, and by so much on average."""

    def check(results: Results) -> Finding:
        each = [between(stability_gain, results, dataset, PS, PLAIN, [size]) for size in SMALL]
        gain = between(stability_gain, results, dataset, PS, PLAIN, SMALL)
        short = [str(size) for size, one in zip(SMALL, each, strict=True) if not one.above]
        where = f"not above 0 at {', '.join(short)}" if short else "above 0 at every size"
        holds = not short and gain.mean >= least
        told = f"KI gained by size {by_size(SMALL, [one.mean for one in each])}; {where}"
        return gain.found(holds, told)

    return check


def better_rate(dataset: str) -> Callable[[Results], Finding]:
    """BCR of PS above l2-AROM, very small signatures."""

    def check(results: Results) -> Finding:
        each = [between(rate_gain, results, dataset, PS, PLAIN, [size]).mean for size in VERY_SMALL]
        gain = between(rate_gain, results, dataset, PS, PLAIN, VERY_SMALL)
        return gain.found(gain.above, f"BCR gained by size {by_size(VERY_SMALL, each)}")

    return check


def random_more_stable(dataset: str, claimed: bool) -> Callable[[Results], Finding]:
    """Whether RANDOM is above l2-AROM in KI, and whether that was claimed."""

    def check(results: Results) -> Finding:
        gain = random_stability(results, dataset, SMALL)
        plain = runs(results, dataset, PLAIN)
        each = np.mean([one.stability - plain.stability for one in draws(results, dataset)], axis=0)
        told = f"KI gained by size {by_size(SMALL, each[plain.at(SMALL)])}, mean of {DRAWS} draws"
        return gain.found(gain.above == claimed, told)

    return check


def random_no_better(dataset: str) -> Callable[[Results], Finding]:
    """BCR of RANDOM not above l2-AROM."""

    def check(results: Results) -> Finding:
        gain = random_rate(results, dataset, SMALL)
        few = random_rate(results, dataset, VERY_SMALL)
        told = f"BCR gained, small signatures; very small ones {few}"
        return gain.found(not gain.above, told)

    return check


def b9a(results: Results) -> Finding:
    """RFE neither best nor worst."""
    rate = {
        name: float(np.mean([one.rate[one.at(SMALL)].mean() for one in some]))
        for name, some in five(results, "DLBCL").items()
    }
    order = sorted(rate, key=lambda name: -rate[name])
    told = ", ".join(f"{name} {rate[name]:.3f}" for name in order)
    return Finding(RFE not in (order[0], order[-1]), f"mean BCR, small: {told}", rate[RFE])


def less_stable(dataset: str, method: str) -> Callable[[Results], Finding]:
    """A method below PS in KI, small signatures."""

    def check(results: Results) -> Finding:
        gain = between(stability_gain, results, dataset, method, PS, SMALL)
        plain = between(stability_gain, results, dataset, method, PLAIN, SMALL)
        told = f"KI of {method} less that of PS, small; less that of l2-AROM {plain}"
        return gain.found(gain.below, told)

    return check


def b9c(results: Results) -> Finding:
    """S/N predicts no worse than PS."""
    gain = between(rate_gain, results, "DLBCL", SN, PS, POWERS)
    return gain.found(not gain.below, "BCR of S/N less that of PS, all sizes")


def b9d(results: Results) -> Finding:
    """S/N less stable below 64 genes than from there on."""
    one = runs(results, "DLBCL", SN)
    gain = stability_drop(one, [64, 128, 256, 512], [1, 2, 4, 8, 16, 32])
    told = ", ".join(f"{s}: {one.stability[one.sizes.index(s)]:.3f}" for s in POWERS)
    return gain.found(gain.above, f"KI from 64 genes on less KI below; by size {told}")


def stronger(
    measure: Callable[[Runs, Runs, Sequence[int]], Gain], sizes: Sequence[int], what: str
) -> Callable[[Results], Finding]:
    """The gain of PS over l2-AROM larger on leukemia than on DLBCL."""

    def check(results: Results) -> Finding:
        gains = {name: between(measure, results, name, PS, PLAIN, sizes) for name in BOTH}
        more = gains["leukemia"].less(gains["DLBCL"])
        told = "; ".join(f"{name} {gain}" for name, gain in gains.items())
        return more.found(more.above, f"{what} gained: {told}")

    return check


def b12b(results: Results) -> Finding:
    """RFE predicts worse than PS."""
    gain = between(rate_gain, results, "leukemia", RFE, PS, SMALL)
    plain = between(rate_gain, results, "leukemia", RFE, PLAIN, SMALL)
    return gain.found(
        gain.below, f"BCR of RFE less that of PS, small; less that of l2-AROM {plain}"
    )


def b12c(results: Results) -> Finding:
    """S/N predicts as PS does."""
    gain = between(rate_gain, results, "leukemia", SN, PS, POWERS)
    few = between(rate_gain, results, "leukemia", SN, PS, VERY_SMALL)
    return gain.found(gain.nothing, f"BCR of S/N less that of PS, all sizes; very small {few}")


def b15a(results: Results) -> Finding:
    """Geometric mean of PS above l2-AROM on both tables."""
    gains = {name: between(both_gain, results, name, PS, PLAIN, POWERS) for name in BOTH}
    words = []
    for name, gain in gains.items():
        level = {
            method: float(np.mean([one.both[one.at(POWERS)].mean() for one in some]))
            for method, some in five(results, name).items()
        }
        order = sorted(level, key=lambda method: -level[method])
        told = ", ".join(f"{method} {level[method]:.3f}" for method in order)
        words.append(f"{name} {gain}: {told}")
    least = min(gains.values(), key=lambda gain: gain.lower)
    return least.found(all(g.above for g in gains.values()), "; ".join(words))


def of_others(
    results: Results, dataset: str, size: int, favoured: Sequence[int]
) -> tuple[float, float, Gain]:
    """KI of PS and of l2-AROM without the favoured columns, and their difference."""
    place = np.delete(np.arange(runs(results, dataset, PS).n_features), favoured)
    values, left = [], []
    for method in (PS, PLAIN):
        one = runs(results, dataset, method)
        sets = [
            np.searchsorted(place, order[~np.isin(order, favoured)])
            for order in one.orders[:, :size]
        ]
        values.append(float(nogueira_stability(sets, len(place)).value))
        left.append(stability_without_each(sets, len(place)))
    return values[0], values[1], jackknife(values[0] - values[1], left[0] - left[1])


def others_more_stable(dataset: str, size: int = 30) -> Callable[[Results], Finding]:
    """The columns that are not favoured become more stable, too."""

    def check(results: Results) -> Finding:
        with_, without, gain = of_others(results, dataset, size, positions(results)[dataset])
        told = f"{size} genes: KI of those not favoured {with_:.3f} with the prior, {without:.3f}"
        return gain.found(gain.above, f"{told} without")

    return check


def positions(results: Results) -> dict[str, list[int]]:
    """Where the markers are."""
    return {
        name: [results.about["datasets"][name]["names"].index(g) for g in MARKERS[name].values()]
        for name in BOTH
    }


def five(results: Results, dataset: str) -> dict[str, list[Runs]]:
    """The paper's five methods; RANDOM is ten."""
    return {
        PS: [runs(results, dataset, PS)],
        RANDOM: draws(results, dataset),
        **{name: [runs(results, dataset, name)] for name in (PLAIN, RFE, SN)},
    }


def claims() -> list[Claim]:
    """B5 to B12, B15 for protocol (a), and one of ours."""
    where = "sec. 4.3"
    found = [
        Claim("B5", "results depend only marginally on beta = 10", b5, None, where),
        Claim("B6", "DLBCL: KI of PS-l2-AROM drastically above l2-AROM at 64 or fewer genes",
              more_stable("DLBCL", DRASTIC), None, "fig. 1"),
        Claim("B7", "DLBCL: BCR gained at 8 or fewer genes", better_rate("DLBCL"), None, "fig. 1"),
        Claim("B8a", "DLBCL: two random genes raise KI over l2-AROM",
              random_more_stable("DLBCL", True), None, "fig. 1"),
        Claim("B8b", "DLBCL: two random genes do not raise BCR", random_no_better("DLBCL"), None,
              "fig. 1"),
        Claim("B9a", "DLBCL: BCR of RFE is intermediate", b9a, None, "fig. 1"),
        Claim("B9b", "DLBCL: RFE less stable for small signatures", less_stable("DLBCL", RFE), None,
              "fig. 1"),
        Claim("B9c", "DLBCL: S/N has good BCR", b9c, None, "fig. 1"),
        Claim("B9d", "DLBCL: KI of S/N drops when fewer than 64 genes are selected", b9d, None,
              "fig. 1"),
        Claim("B10a", "leukemia: KI of PS-l2-AROM above l2-AROM for small signatures",
              more_stable("leukemia"), None, "fig. 2"),
        Claim("B10b", "leukemia: BCR gained for small signatures", better_rate("leukemia"), None,
              "fig. 2"),
        Claim("B10c", "the gain in KI is larger on leukemia than on DLBCL",
              stronger(stability_gain, SMALL, "KI"), None, "fig. 2"),
        Claim("B10d", "the gain in BCR is larger on leukemia than on DLBCL",
              stronger(rate_gain, VERY_SMALL, "BCR"), None, "fig. 2"),
        Claim("B11a", "leukemia: three random genes do not raise KI",
              random_more_stable("leukemia", False), None, where),
        Claim("B11b", "leukemia: three random genes do not raise BCR",
              random_no_better("leukemia"), None, where),
        Claim("B12a", "leukemia: RFE less stable", less_stable("leukemia", RFE), None, "fig. 2"),
        Claim("B12b", "leukemia: RFE predicts worse", b12b, None, "fig. 2"),
        Claim("B12c", "leukemia: BCR of S/N equal to PS-l2-AROM", b12c, None, "fig. 2"),
        Claim("B12d", "leukemia: S/N less stable for small signatures",
              less_stable("leukemia", SN), None, "fig. 2"),
        Claim("B15a", "geometric mean of KI and BCR: PS-l2-AROM above l2-AROM, with markers", b15a,
              None, "sec. 4.4"),
    ]  # fmt: skip
    text = "ours: genes that are not favoured become more stable, too"
    found += [
        Claim(f"P-{name}", f"{text}, {name}", others_more_stable(name), None, "not in the paper")
        for name in BOTH
    ]
    return found
