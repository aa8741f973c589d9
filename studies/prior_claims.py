"""Claims of Helleputte and Dupont (2009) about clinical markers, as tests.

:mod:`studies.prior` describes how each claim is tested.
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
    gains = [stability_gain(draw_runs, plain, sizes).mean for draw_runs in draws(results, dataset)]
    return Gain(float(np.mean(gains)), *plain_interval(gains))


def random_rate(results: Results, dataset: str, sizes: Sequence[int]) -> Gain:
    """BCR of RANDOM, averaged over draws, less that of l2-AROM."""
    return mean_rate_gain(draws(results, dataset), runs(results, dataset, PLAIN), sizes)


def compare_methods(
    measure: Callable[[Runs, Runs, Sequence[int]], Gain],
    results: Results,
    dataset: str,
    first: str,
    second: str,
    sizes: Sequence[int],
) -> Gain:
    """A difference of two methods on a table."""
    return measure(runs(results, dataset, first), runs(results, dataset, second), sizes)


def changes(results: Results, dataset: str, weight: float) -> dict[str, float]:
    """Mean absolute change of KI and BCR over sizes when beta is not 10."""
    weighted, ten = (runs(results, dataset, weight_name(beta)) for beta in (weight, WEIGHT))
    at = ten.index_sizes(POWERS)
    return {
        "KI": float(np.abs(weighted.stability - ten.stability)[at].mean()),
        "BCR": float(np.abs(weighted.rate - ten.rate)[at].mean()),
    }


def b5(results: Results) -> Finding:
    """Other weights change KI and BCR marginally."""
    words, holds, worst = [], True, 0.0
    for name in BOTH:
        change_texts = []
        for weight in WEIGHTS:
            change = changes(results, name, weight)
            holds &= all(change[figure] < most for figure, most in MARGINAL.items())
            worst = max(worst, change["KI"])
            change_texts.append(f"{weight}: {change['KI']:.3f}, {change['BCR']:.3f}")
        words.append(f"{name} " + "; ".join(change_texts))
    limits = f"(KI, BCR; allowed {MARGINAL['KI']}, {MARGINAL['BCR']})"
    return Finding(holds, f"mean absolute change by beta {limits}: {'. '.join(words)}", worst)


def more_stable(dataset: str, least: float = 0.0) -> Callable[[Results], Finding]:
    """PS above l2-AROM at every small size, and by so much on average."""

    def check(results: Results) -> Finding:
        each = [
            compare_methods(stability_gain, results, dataset, PS, PLAIN, [size]) for size in SMALL
        ]
        gain = compare_methods(stability_gain, results, dataset, PS, PLAIN, SMALL)
        short = [
            str(size)
            for size, size_gain in zip(SMALL, each, strict=True)
            if not size_gain.is_positive
        ]
        where = f"not above 0 at {', '.join(short)}" if short else "above 0 at every size"
        holds = not short and gain.mean >= least
        description = (
            f"KI gained by size {by_size(SMALL, [size_gain.mean for size_gain in each])}; {where}"
        )
        return gain.as_finding(holds, description)

    return check


def better_rate(dataset: str) -> Callable[[Results], Finding]:
    """BCR of PS above l2-AROM, very small signatures."""

    def check(results: Results) -> Finding:
        each = [
            compare_methods(rate_gain, results, dataset, PS, PLAIN, [size]).mean
            for size in VERY_SMALL
        ]
        gain = compare_methods(rate_gain, results, dataset, PS, PLAIN, VERY_SMALL)
        return gain.as_finding(gain.is_positive, f"BCR gained by size {by_size(VERY_SMALL, each)}")

    return check


def random_more_stable(dataset: str, claimed: bool) -> Callable[[Results], Finding]:
    """Return a check whether RANDOM is above l2-AROM in KI, and whether that was claimed."""

    def check(results: Results) -> Finding:
        gain = random_stability(results, dataset, SMALL)
        plain = runs(results, dataset, PLAIN)
        each = np.mean(
            [draw_runs.stability - plain.stability for draw_runs in draws(results, dataset)], axis=0
        )
        gains = by_size(SMALL, each[plain.index_sizes(SMALL)])
        description = f"KI gained by size {gains}, mean of {DRAWS} draws"
        return gain.as_finding(gain.is_positive == claimed, description)

    return check


def random_no_better(dataset: str) -> Callable[[Results], Finding]:
    """BCR of RANDOM not above l2-AROM."""

    def check(results: Results) -> Finding:
        gain = random_rate(results, dataset, SMALL)
        few = random_rate(results, dataset, VERY_SMALL)
        description = f"BCR gained, small signatures; very small ones {few}"
        return gain.as_finding(not gain.is_positive, description)

    return check


def b9a(results: Results) -> Finding:
    """RFE neither best nor worst."""
    rate = {
        name: float(
            np.mean(
                [
                    method_runs.rate[method_runs.index_sizes(SMALL)].mean()
                    for method_runs in all_runs
                ]
            )
        )
        for name, all_runs in five(results, "DLBCL").items()
    }
    order = sorted(rate, key=lambda name: -rate[name])
    listing = ", ".join(f"{name} {rate[name]:.3f}" for name in order)
    return Finding(RFE not in (order[0], order[-1]), f"mean BCR, small: {listing}", rate[RFE])


def less_stable(dataset: str, method: str) -> Callable[[Results], Finding]:
    """A method below PS in KI, small signatures."""

    def check(results: Results) -> Finding:
        gain = compare_methods(stability_gain, results, dataset, method, PS, SMALL)
        plain = compare_methods(stability_gain, results, dataset, method, PLAIN, SMALL)
        description = f"KI of {method} less that of PS, small; less that of l2-AROM {plain}"
        return gain.as_finding(gain.is_negative, description)

    return check


def b9c(results: Results) -> Finding:
    """S/N predicts no worse than PS."""
    gain = compare_methods(rate_gain, results, "DLBCL", SN, PS, POWERS)
    return gain.as_finding(not gain.is_negative, "BCR of S/N less that of PS, all sizes")


def b9d(results: Results) -> Finding:
    """S/N less stable below 64 genes than from there on."""
    ranker_runs = runs(results, "DLBCL", SN)
    gain = stability_drop(ranker_runs, [64, 128, 256, 512], [1, 2, 4, 8, 16, 32])
    listing = ", ".join(
        f"{s}: {ranker_runs.stability[ranker_runs.sizes.index(s)]:.3f}" for s in POWERS
    )
    return gain.as_finding(
        gain.is_positive, f"KI from 64 genes on less KI below; by size {listing}"
    )


def stronger(
    measure: Callable[[Runs, Runs, Sequence[int]], Gain], sizes: Sequence[int], label: str
) -> Callable[[Results], Finding]:
    """The gain of PS over l2-AROM larger on leukemia than on DLBCL."""

    def check(results: Results) -> Finding:
        gains = {name: compare_methods(measure, results, name, PS, PLAIN, sizes) for name in BOTH}
        more = gains["leukemia"].less(gains["DLBCL"])
        listing = "; ".join(f"{name} {gain}" for name, gain in gains.items())
        return more.as_finding(more.is_positive, f"{label} gained: {listing}")

    return check


def b12b(results: Results) -> Finding:
    """RFE predicts worse than PS."""
    gain = compare_methods(rate_gain, results, "leukemia", RFE, PS, SMALL)
    plain = compare_methods(rate_gain, results, "leukemia", RFE, PLAIN, SMALL)
    return gain.as_finding(
        gain.is_negative, f"BCR of RFE less that of PS, small; less that of l2-AROM {plain}"
    )


def b12c(results: Results) -> Finding:
    """S/N predicts as PS does."""
    gain = compare_methods(rate_gain, results, "leukemia", SN, PS, POWERS)
    few = compare_methods(rate_gain, results, "leukemia", SN, PS, VERY_SMALL)
    return gain.as_finding(gain.is_null, f"BCR of S/N less that of PS, all sizes; very small {few}")


def b15a(results: Results) -> Finding:
    """Geometric mean of PS above l2-AROM on both tables."""
    gains = {name: compare_methods(both_gain, results, name, PS, PLAIN, POWERS) for name in BOTH}
    words = []
    for name, gain in gains.items():
        level = {
            method: float(
                np.mean(
                    [
                        method_runs.both[method_runs.index_sizes(POWERS)].mean()
                        for method_runs in all_runs
                    ]
                )
            )
            for method, all_runs in five(results, name).items()
        }
        order = sorted(level, key=lambda method: -level[method])
        listing = ", ".join(f"{method} {level[method]:.3f}" for method in order)
        words.append(f"{name} {gain}: {listing}")
    least = min(gains.values(), key=lambda gain: gain.lower)
    return least.as_finding(all(g.is_positive for g in gains.values()), "; ".join(words))


def compare_others(
    results: Results, dataset: str, size: int, favoured: Sequence[int]
) -> tuple[float, float, Gain]:
    """KI of PS and of l2-AROM without the favoured columns, and their difference."""
    other_columns = np.delete(np.arange(runs(results, dataset, PS).n_features), favoured)
    values, without_each = [], []
    for method in (PS, PLAIN):
        method_runs = runs(results, dataset, method)
        sets = [
            np.searchsorted(other_columns, order[~np.isin(order, favoured)])
            for order in method_runs.orders[:, :size]
        ]
        values.append(float(nogueira_stability(sets, len(other_columns)).value))
        without_each.append(stability_without_each(sets, len(other_columns)))
    return values[0], values[1], jackknife(values[0] - values[1], without_each[0] - without_each[1])


def others_more_stable(dataset: str, size: int = 30) -> Callable[[Results], Finding]:
    """The columns that are not favoured become more stable, too."""

    def check(results: Results) -> Finding:
        with_, without, gain = compare_others(results, dataset, size, positions(results)[dataset])
        description = (
            f"{size} genes: KI of those not favoured {with_:.3f} with the prior, {without:.3f}"
        )
        return gain.as_finding(gain.is_positive, f"{description} without")

    return check


def positions(results: Results) -> dict[str, list[int]]:
    """Return the positions of the markers."""
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
    all_claims = [
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
    all_claims += [
        Claim(f"P-{name}", f"{text}, {name}", others_more_stable(name), None, "not in the paper")
        for name in BOTH
    ]
    return all_claims
