"""Claims F1 to F14 of section 5.1 of the book as data; how each is judged.

Written down before the first run.

- A printed percentage or cost holds if it lies in our 95% interval (Wilson's for percentages of
  test rows, the normal one for mean costs), or within the rounding of what was printed. The test
  rows are the same 311,029, so the interval is generous: it allows for other rows, which there are
  none. A number of columns must be equal; of several problems it is that of the union.
- Learners see cut columns (see ``intrusion_pipelines``). C4.5 of five classes has a confidence of
  0.25, since the book names none there. A threshold, not printed either, is 0.5.
- "Better than the winner" compares with the figures of the winner's confusion matrix.
- F11 and F3 are arithmetic on that matrix: they hold if it gives the printed digits.
- A row of table 5.9 holds if all five percentages lie in our intervals. PKID+Cons+C4.5 is judged by
  pairs of classes and the sum, EMD+INT+C4.5 by one class against the rest, which are their best of
  table 5.8. The rows (1) and (2) do not say how they were made: of all our forms with that
  discretiser, filter and learner, the one with the smallest largest difference is taken, which
  favours them.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from featly.study import Claim, Finding
from studies.intrusion_data import CLASSES, Figure, winner
from studies.intrusion_pipelines import RULES, fit_name
from studies.intrusion_run import TaskResults

SHARES = {
    "train": {"Normal": 19.69, "DoS": 79.24, "Probe": 0.83, "R2L": 0.23, "U2R": 0.01},
    "test": {"Normal": 19.48, "DoS": 73.90, "Probe": 1.34, "R2L": 5.21, "U2R": 0.07},
}
CONSTANT = ("is_host_login", "num_outbound_cmds")
BINARY: dict[tuple[str, str, str], tuple[str, dict[str, float], int]] = {
    ("EMD", "INT", "C4.5(0.50)"): ("F4", {"error": 6.69, "TP": 91.81, "FP": 0.49}, 7),
    ("EMD", "INT", "C4.5(0.25)"): ("F5", {"TP": 91.73, "FP": 0.44}, 7),
    ("PKID", "Cons", "C4.5(0.25)"): ("F6", {"TP": 94.07, "FP": 1.90}, 6),
    ("PKID", "Cons", "C4.5(0.50)"): ("F6", {"TP": 94.08, "FP": 1.92}, 6),
    ("PKID", "Cons", "NB"): ("F7", {"error": 7.99, "TP": 90.18, "FP": 0.42}, 6),
    ("EMD", "Cons", "One-layer"): ("F8", {"error": 7.78, "TP": 90.52, "FP": 0.77}, 6),
    ("EMD", "Cons", "PSVM"): ("F8", {"error": 7.78, "TP": 90.53, "FP": 0.78}, 6),
    ("EMD", "Cons", "MLP"): ("F8", {"error": 8.01, "TP": 90.18, "FP": 0.54}, 6),
}  # tables 5.5 and 5.6
WINNERS = {"error": 6.70, "TP": 91.80, "FP": 0.55}
SCORES = {
    ("EMD", "INT", "multi", ""): ("F9", 0.2344, 11),
    ("EMD", "INT", "OvR", "probability-sum"): ("F9", 0.2324, 15),
    ("PKID", "Cons", "OvO", "sum"): ("F10", 0.2132, 13),
    ("PKID", "Cons", "OvO", "sum-threshold"): ("F10", 0.2209, 13),
    ("PKID", "Cons", "OvO", "loss"): ("F10", 0.2167, 13),
    ("PKID", "Cons", "OvO", "hamming"): ("F10", 0.2242, 13),
}  # table 5.8, C4.5
WINNING_SCORE = 0.2331
ORDER = ("Normal", "U2R", "DoS", "R2L", "Probe")  # of table 5.9
DETECTED = {
    "winner": (99.45, 13.16, 97.12, 8.40, 83.32),
    "PKID+Cons+C4.5": (97.08, 25.00, 96.08, 8.12, 73.62),
    "EMD+INT+C4.5": (96.36, 19.30, 94.07, 32.87, 79.48),
    "EMD+CFS+C4.5 (1)": (96.76, 21.05, 92.54, 26.29, 86.08),
    "EMD+CFS+C4.5 (2)": (96.56, 32.89, 93.35, 5.32, 78.18),
    "PKID+Cons+NB (1)": (96.63, 24.12, 90.20, 29.98, 89.94),
    "PKID+Cons+NB (2)": (96.13, 11.40, 95.12, 13.85, 96.67),
}
RARE = ("U2R", "R2L", "Probe")
TREE = "C4.5(0.25)"
UNITS = {"error": "% error", "TP": "% true positives", "FP": "% false positives"}


# ---- figures -------------------------------------------------------------------------------------
def is_rounded_to(value: float, printed: float, digits: int = 2) -> bool:
    """Return whether a figure is printed so, also if it was rounded to one digit more before."""
    exact = Decimal(repr(value))
    steps = [Decimal(1).scaleb(-digits - 1), Decimal(1).scaleb(-digits)]
    twice = exact.quantize(steps[0], ROUND_HALF_UP).quantize(steps[1], ROUND_HALF_UP)
    once = exact.quantize(steps[1], ROUND_HALF_UP)
    return Decimal(repr(printed)).quantize(steps[1]) in (once, twice)


def judge_figure(figure: Figure | None, printed: float, digits: int) -> Finding:
    """Judge a printed figure beside ours."""
    if figure is None:
        return Finding(None, "the fit failed")
    rounding = 0.5 * 10.0**-digits
    inside = figure.lower - rounding <= printed <= figure.upper + rounding
    low, high = figure.alike
    side = "inside" if inside else "outside"
    why = f"ours is {figure.value:.{digits + 1}f}: {side} the 95% interval; with equal test "
    why += f"rows as one observation, it would be {low:.{digits}f} to {high:.{digits}f}"
    return Finding(inside, why, figure.value, figure.lower, figure.upper)


def claim_figure(
    name: str, text: str, printed: float, where: str, *of: str, digits: int = 2
) -> Claim:
    """Return a claim of one figure of one fit: of is the figure, the fit and its decoding."""
    figure, fit, *rule = of

    def check(results: Any) -> Finding:
        task_results: TaskResults = results
        return judge_figure(task_results.figure(figure, fit, *rule), printed, digits)

    return Claim(name, text, check, printed, where)


def columns_claim(name: str, text: str, printed: int, where: str, fit: str) -> Claim:
    """A claim of the number of columns of one fit."""

    def check(results: Any) -> Finding:
        task_results: TaskResults = results
        if task_results.records[fit]["failure"]:
            return Finding(None, "the fit failed")
        columns = task_results.columns(fit)
        return Finding(len(columns) == printed, ", ".join(columns), len(columns))

    return Claim(name, text, check, printed, where)


# ---- the table and the winner --------------------------------------------------------------------
def f1(part: str) -> Claim:
    """Shares of the classes."""

    def check(results: Any) -> Finding:
        ours = results.about["shares"][part]
        off = [
            name for name, printed in SHARES[part].items() if not is_rounded_to(ours[name], printed)
        ]
        listing = ", ".join(f"{name} {ours[name]:.4f}" for name in SHARES[part])
        return Finding(not off, f"{listing}; all round to what is printed" if not off else listing)

    printed = ", ".join(f"{name} {value:.2f}" for name, value in SHARES[part].items())
    return Claim(f"F1 {part}", f"percentages of the classes, {part} part", check, printed, "5.1")


def f2(results: Any) -> Finding:
    """Constant columns."""
    constant = sorted(results.about["constant"])
    return Finding(tuple(constant) == CONSTANT, ", ".join(constant), len(constant))


def of_winner(name: str, figure_text: str, figure: str, printed: float, where: str) -> Claim:
    """A figure of the winner from its confusion matrix."""

    def check(results: Any) -> Finding:
        ours = winner("two" if figure in WINNERS else "five").figure(figure).value
        digits = 4 if figure == "cost" else 2
        right = is_rounded_to(ours, printed, digits)
        why = f"{ours:.{digits + 1}f} from its confusion matrix (Elkan, 1999)"
        return Finding(right, why, ours)

    return Claim(name, f"winner of the contest: {figure_text}", check, printed, where)


# ---- two classes ---------------------------------------------------------------------------------
def f4_better(results: Any) -> Finding:
    """Better than the winner on all three."""
    task_results: TaskResults = results
    fit = fit_name("EMD", "INT", "C4.5(0.50)")
    ours = {name: task_results.figure(name, fit) for name in WINNERS}
    if any(figure is None for figure in ours.values()):
        return Finding(None, "the fit failed")
    theirs = {name: winner("two").figure(name).value for name in WINNERS}
    better = {
        name: figure.value > theirs[name] if name == "TP" else figure.value < theirs[name]
        for name, figure in ours.items()
        if figure is not None
    }
    listing = ", ".join(
        f"{name} {figure.value:.3f} against {theirs[name]:.3f}"
        for name, figure in ours.items()
        if figure is not None
    )
    listing += ". The printed 91.81 true positives are not above the winner's either"
    return Finding(all(better.values()), listing)


def f8_order(results: Any) -> Finding:
    """Learners that need numbers are no better than C4.5."""
    task_results: TaskResults = results
    tree = task_results.figure("error", fit_name("EMD", "INT", "C4.5(0.50)"))
    errors = {
        learner: task_results.figure("error", fit_name("EMD", "Cons", learner))
        for learner in NEED_NUMBERS
    }
    if tree is None or any(figure is None for figure in errors.values()):
        return Finding(None, "a fit failed")
    above = [figure is not None and figure.lower > tree.upper for figure in errors.values()]
    listing = ", ".join(f"{name} {figure.value:.2f}" for name, figure in errors.items() if figure)
    return Finding(all(above), f"error: {listing}; EMD+INT+C4.5(0.50) {tree.value:.2f}")


NEED_NUMBERS = ("One-layer", "PSVM", "MLP")


def binary_claims() -> list[Claim]:
    """F1 to F8."""
    all_claims = [f1("train"), f1("test")]
    all_claims.append(Claim("F2", "columns that are constant in the training part", f2,
                       ", ".join(CONSTANT), "5.1"))  # fmt: skip
    for figure, printed in WINNERS.items():
        all_claims.append(of_winner(f"F3 {figure}", UNITS[figure], figure, printed, "table 5.4"))
    for key, (claim, figures, n_columns) in BINARY.items():
        fit = fit_name(*key)
        where = "table 5.6" if claim in ("F7", "F8") else "table 5.5"
        for figure, printed in figures.items():
            name = f"{claim} {key[2]} {figure}"
            text = f"{fit}: {UNITS[figure]}"
            all_claims.append(claim_figure(name, text, printed, where, figure, fit))
        name = f"{claim} {key[2]} columns"
        all_claims.append(columns_claim(name, f"{fit}: columns kept", n_columns, where, fit))
    text = "EMD+INT+C4.5(0.50) better than the winner in error, true and false positives"
    all_claims.append(Claim("F4 better", text, f4_better, None, "5.1.1.1"))
    text = "one-layer, PSVM and MLP do not improve on C4.5: larger errors, intervals apart"
    all_claims.append(Claim("F8 order", text, f8_order, None, "5.1.1.2"))
    return all_claims


# ---- five classes --------------------------------------------------------------------------------
def below_winner(name: str, text: str, fits: Sequence[tuple[str, str]], below: bool) -> Claim:
    """Cost scores below the winner's, whole intervals; or not below."""

    def check(results: Any) -> Finding:
        task_results: TaskResults = results
        ours = {(fit, rule): task_results.figure("cost", fit, rule) for fit, rule in fits}
        if any(figure is None for figure in ours.values()):
            return Finding(None, "a fit failed")
        figures = [figure for figure in ours.values() if figure is not None]
        theirs = winner().figure("cost").value
        if below:
            holds = all(figure.upper < theirs for figure in figures)
        else:
            holds = all(figure.value >= theirs for figure in figures)
        listing = ", ".join(
            f"{rule or fit} {figure.value:.4f}" for (fit, rule), figure in ours.items() if figure
        )
        return Finding(holds, f"{listing}; the winner {WINNING_SCORE}")

    return Claim(name, text, check, None, "table 5.8")


def f10_order(results: Any) -> Finding:
    """The sum is the best decoding."""
    task_results: TaskResults = results
    fit = fit_name("PKID", "Cons", TREE, "OvO")
    ours = {}
    for rule in ("sum", "sum-threshold", "loss", "hamming"):
        figure = task_results.figure("cost", fit, rule)
        if figure is None:
            return Finding(None, "the fit failed")
        ours[rule] = figure.value
    listing = ", ".join(f"{rule} {value:.4f}" for rule, value in ours.items())
    other_costs = [value for rule, value in ours.items() if rule != "sum"]
    return Finding(ours["sum"] < min(other_costs), listing)


def forms(discretiser_name: str, filter_name: str, learner_name: str) -> list[tuple[str, str]]:
    """Return the fits and decodings that a row of table 5.9 may refer to."""
    learners = ("C4.5(0.25)", "C4.5(0.50)") if learner_name == "C4.5" else (learner_name,)
    candidates = []
    for learner in learners:
        candidates.append((fit_name(discretiser_name, filter_name, learner, "multi"), ""))
        for code in ("OvR", "OvO", "OvR once", "OvO once"):
            candidates += [
                (fit_name(discretiser_name, filter_name, learner, code), rule) for rule in RULES
            ]
    return candidates


def detection_rates(task_results: TaskResults, fit: str, rule: str) -> dict[str, Figure] | None:
    """Return percentages of the classes that are found."""
    outcome = task_results.outcome(fit, rule)
    return None if outcome is None else {name: outcome.figure(name) for name in CLASSES}


def row_claim(name: str, row: str, candidates: Sequence[tuple[str, str]]) -> Claim:
    """A row of table 5.9: by the only candidate, or by the nearest."""
    printed = dict(zip(ORDER, DETECTED[row], strict=True))

    def check(results: Any) -> Finding:
        rows = {key: figures for key in candidates if (figures := detection_rates(results, *key))}
        if not rows:
            return Finding(None, "the fits failed")
        fit, rule = min(
            rows, key=lambda key: max(abs(rows[key][c].value - printed[c]) for c in ORDER)
        )
        ours = rows[fit, rule]
        inside = [c for c in ORDER if ours[c].lower - 0.005 <= printed[c] <= ours[c].upper + 0.005]
        listing = ", ".join(
            f"{c} {ours[c].value:.2f} ({ours[c].lower:.2f} to {ours[c].upper:.2f})" for c in ORDER
        )
        nearest = f"the nearest of {len(rows)} forms is " if len(rows) > 1 else ""
        why = f"{nearest}{fit}{f', {rule}' if rule else ''}: {listing}; {len(inside)} of 5 inside"
        return Finding(len(inside) == len(ORDER), why, len(inside))

    published = ", ".join(f"{c} {value:.2f}" for c, value in printed.items())
    return Claim(name, f"detection in %, {row}", check, published, "table 5.9")


ROWS = {
    "PKID+Cons+C4.5": ("F12a", [(fit_name("PKID", "Cons", TREE, "OvO"), "sum")]),
    "EMD+INT+C4.5": ("F12b", [(fit_name("EMD", "INT", TREE, "OvR"), "probability-sum")]),
    "EMD+CFS+C4.5 (1)": ("F13a", forms("EMD", "CFS", "C4.5")),
    "EMD+CFS+C4.5 (2)": ("F13b", forms("EMD", "CFS", "C4.5")),
    "PKID+Cons+NB (1)": ("F14a", forms("PKID", "Cons", "NB")),
    "PKID+Cons+NB (2)": ("F14b", forms("PKID", "Cons", "NB")),
}


def f12_rare(results: Any) -> Finding:
    """Rare classes are detected better than by the winner, by one combination or another."""
    task_results: TaskResults = results
    theirs = {name: winner().figure(name) for name in RARE}
    best: dict[str, tuple[float, float, str]] = {}
    for fit, rule in {key for _, keys in ROWS.values() for key in keys}:
        figures = detection_rates(task_results, fit, rule)
        for name in RARE if figures else ():
            figure = figures[name]  # type: ignore[index]
            text = f"{fit}{f', {rule}' if rule else ''}"
            best[name] = max(best.get(name, (-1.0, -1.0, "")), (figure.value, figure.lower, text))
    if not best:
        return Finding(None, "the fits failed")
    text = "; ".join(
        f"{name} {best[name][0]:.2f} by {best[name][2]}, the winner {theirs[name].value:.2f}"
        for name in RARE
    )
    return Finding(all(best[name][1] > theirs[name].value for name in RARE), text)


def five_claims() -> list[Claim]:
    """F9 to F14."""
    all_claims = [of_winner("F9 winner", "cost score", "cost", WINNING_SCORE, "table 5.8")]
    for (discretiser_name, filter_name, form, rule), (claim, printed, n_columns) in SCORES.items():
        fit = fit_name(discretiser_name, filter_name, TREE, form)
        name = f"{claim} {rule if claim == 'F10' else form}"
        text = (
            f"{discretiser_name}+{filter_name}+C4.5 {form}{f', {rule}' if rule else ''}: cost score"
        )
        where = "table 5.8"
        all_claims.append(claim_figure(name, text, printed, where, "cost", fit, rule, digits=4))
        if rule in ("", "probability-sum", "sum"):
            text = f"{discretiser_name}+{filter_name}+C4.5 {form}: columns of all problems"
            all_claims.append(columns_claim(f"{name} columns", text, n_columns, where, fit))
    multi, against_rest = fit_name("EMD", "INT", TREE, "multi"), fit_name("EMD", "INT", TREE, "OvR")
    pairs = fit_name("PKID", "Cons", TREE, "OvO")
    four = [(pairs, rule) for rule in ("sum", "sum-threshold", "loss", "hamming")]
    all_claims += [
        below_winner("F9 multi order", "EMD+INT+C4.5 multi does not beat the winner",
                     [(multi, "")], False),
        below_winner("F9 OvR order", "EMD+INT+C4.5 OvR beats the winner",
                     [(against_rest, "probability-sum")], True),
        below_winner("F10 beats", "PKID+Cons+C4.5 OvO beats the winner by all four decodings",
                     four, True),
        Claim("F10 order", "the sum is the best of the four decodings", f10_order, None,
              "table 5.8"),
    ]  # fmt: skip
    for name, printed in zip(ORDER, DETECTED["winner"], strict=True):
        all_claims.append(of_winner(f"F11 {name}", f"detection of {name} in %", name, printed,
                               "table 5.9"))  # fmt: skip
    all_claims += [row_claim(claim, row, candidates) for row, (claim, candidates) in ROWS.items()]
    text = "U2R, R2L and Probe are detected better than by the winner (each by some combination)"
    all_claims.append(Claim("F12 rare", text, f12_rare, None, "5.1.2.1"))
    return all_claims
