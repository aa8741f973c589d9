"""Bolón-Canedo, Sánchez-Maroño and Alonso-Betanzos (2015), section 5.1.2: KDD Cup 99 as normal
traffic and four kinds of attack.

EMD and PKID, CFS, INTERACT and consistency, C4.5 (confidence 0.25 and 0.50) and naive Bayes:

- "multi": one learner of five classes;
- "OvR", "OvO": a problem for each class against the rest, or for each pair; in every problem the
  rows are cut, filtered and learnt from anew. The problems are learnt once and decoded by five
  rules; the threshold is 0.5, and four others are shown.
- "once": the same with one discretisation and one selection, those of the five classes.

Scored by the contest's costs (table 5.7) on its 311,029 test rows, and by the percentage of each
class that is found. Claims F9 to F14; how they are judged is in ``intrusion_claims``, and was
written down before the first run, as was what learners see (``intrusion_pipelines``). Nothing is
drawn. The combinations of table 5.9 are also run with learners that see columns before they were
cut.

After the first run: "cut once" has one discretisation for all problems and a selection in each.
The number of columns of PKID+Cons+C4.5 OvO is then the printed one. It is shown for the printed
combinations, with the number of test rows that have several best classes and the effect of the
order of the classes on the score; no claim is judged by it.
"""

from typing import Any

from studies.intrusion_claims import (
    DETECTED,
    ORDER,
    ROWS,
    SCORES,
    TREE,
    WINNING_SCORE,
    detection_rates,
    five_claims,
)
from studies.intrusion_data import winner
from studies.intrusion_pipelines import (
    CODES,
    CUT,
    CUT_ONCE,
    DISCRETISERS,
    FILTERS,
    INSIDE,
    LOSSES,
    NOTHING,
    ONCE,
    RULES,
    SYMBOLS,
    THRESHOLDS,
    WHOLE,
    decoding_task,
    direct_task,
    fit_name,
)
from studies.intrusion_run import Plan, Task, TaskResults

PRINTED = (
    ("EMD", "CFS", TREE),
    ("EMD", "INT", TREE),
    ("PKID", "Cons", TREE),
    ("PKID", "Cons", "NB"),
)  # combinations of tables 5.8 and 5.9

LATER = ((("PKID", "Cons", TREE), "OvO"), (("EMD", "INT", TREE), "OvR"))


def tasks() -> list[Task]:
    """Return the tasks, a fit each; those of one preparation in a row."""
    all_tasks = []
    for discretiser_name in DISCRETISERS:
        for filter_name in (*FILTERS, NOTHING):
            all_tasks += [
                direct_task(discretiser_name, filter_name, learner, CUT, "five")
                for learner in SYMBOLS
            ]
            if filter_name != NOTHING:
                all_tasks += [
                    decoding_task(discretiser_name, filter_name, learner, CUT, code, ONCE)
                    for learner in SYMBOLS
                    for code in CODES
                ]
    all_tasks += [direct_task(NOTHING, NOTHING, learner, WHOLE, "five") for learner in SYMBOLS]
    all_tasks += [direct_task(*key, WHOLE, "five") for key in PRINTED]
    keys = [(c, f, learner) for c in DISCRETISERS for f in FILTERS for learner in SYMBOLS]
    keys.sort(key=lambda key: key not in PRINTED)
    all_tasks += [decoding_task(*key, CUT, code, INSIDE) for key in keys for code in CODES]
    all_tasks += [decoding_task(*key, WHOLE, code, INSIDE) for key in PRINTED for code in CODES]
    return all_tasks + [decoding_task(*key, CUT, code, CUT_ONCE) for key, code in LATER]


def study() -> Plan:
    """The plan."""
    return Plan(
        "book, chapter 5: five classes of traffic",
        tasks(),
        five_claims(),
        {"none": "nothing is drawn"},
        "five",
    )


# ---- the page ------------------------------------------------------------------------------------
def format_scores(results: TaskResults, fit: str, rules: tuple[str, ...]) -> list[str]:
    """Return cost scores by decoding, as text."""
    figures = [results.figure("cost", fit, rule) for rule in rules]
    return ["failed" if figure is None else f"{figure.value:.4f}" for figure in figures]


def score_rows(results: TaskResults) -> list[list[str]]:
    """All fits: columns, scores by decoding, interval of the best, score of distinct rows."""
    rows = []
    for name, record in results.records.items():
        rules = ("",) if "" in record["outcomes"] else RULES
        figures = [f for rule in rules if (f := results.figure("cost", name, rule)) is not None]
        if not figures:
            rows.append([name, *["failed"] * 8])
            continue
        best = min(figures, key=lambda figure: figure.value)
        cells = format_scores(results, name, rules)
        cells = [*cells, *[""] * len(RULES)] if rules == ("",) else ["", *cells]
        rows.append(
            [
                name,
                str(len(results.columns(name))),
                *cells,
                f"{best.lower:.4f} to {best.upper:.4f}",
                f"{best.alike[0]:.4f} to {best.alike[1]:.4f}",
                f"{best.distinct:.4f}",
            ]
        )
    return rows


def detection_rows(results: TaskResults) -> list[list[str]]:
    """Table 5.9: printed and ours."""
    theirs = [winner().figure(name).value for name in ORDER]
    rows = [["winner of the contest", *map("{:.2f}".format, DETECTED["winner"])]]
    rows.append(["the same, from its confusion matrix", *map("{:.2f}".format, theirs)])
    for row, (_, candidates) in ROWS.items():
        rows.append([f"{row}, printed", *map("{:.2f}".format, DETECTED[row])])
        fit, rule = nearest(results, row, candidates)
        ours = detection_rates(results, fit, rule)
        if ours is not None:
            label = f"ours: {fit}{f', {rule}' if rule else ''}"
            rows.append([label, *(f"{ours[name].value:.2f}" for name in ORDER)])
    return rows


def nearest(results: TaskResults, row: str, candidates: list[tuple[str, str]]) -> tuple[str, str]:
    """The form that comes nearest to a printed row, by its largest difference."""

    def far(key: tuple[str, str]) -> float:
        ours = detection_rates(results, *key)
        if ours is None:
            return float("inf")
        pairs = zip(ORDER, DETECTED[row], strict=True)
        return max(abs(ours[name].value - printed) for name, printed in pairs)

    return min(candidates, key=far)


def later_rows(results: TaskResults) -> list[list[str]]:
    """One discretisation and a selection in each problem: scores, ties and other losses."""
    rows = []
    for key, code in LATER:
        name = fit_name(*key, f"{code} {CUT_ONCE}")
        for rule, tie in results.records[name]["notes"].get("ties", {}).items():
            cells = [f"{tie['tied']:.2f}", f"{tie['lowest']:.4f} to {tie['highest']:.4f}"]
            columns = str(len(results.columns(name)))
            rows.append([name, columns, rule, *format_scores(results, name, (rule,)), *cells])
        for loss in LOSSES:
            rule = f"loss {loss}"
            rows.append([name, "", rule, *format_scores(results, name, (rule,)), "", ""])
    return rows


def extras(results: TaskResults) -> dict[str, Any]:
    """Tables 5.8 and 5.9 of all fits, thresholds, and the data of the figures."""
    head = ["fit", "columns", "directly", *RULES, "95% interval of the best"]
    head += ["the same, equal rows as one", "score of distinct rows"]
    thresholds = [f"sum-threshold {t}" for t in THRESHOLDS]
    some = [fit_name(*key, code) for key in PRINTED for code in CODES]
    pairs = fit_name("PKID", "Cons", TREE, "OvO")
    problems = results.records[pairs]["columns"]
    detections = {}
    for row, (_, candidates) in ROWS.items():
        fit, rule = nearest(results, row, candidates)
        ours = detection_rates(results, fit, rule)
        if ours is not None:
            detections[row] = {
                "printed": dict(zip(ORDER, DETECTED[row], strict=True)),
                "ours": {name: round(ours[name].value, 3) for name in ORDER},
                "interval": {name: [round(ours[name].lower, 3), round(ours[name].upper, 3)]
                             for name in ORDER},
                "fit": fit,
                "decoding": rule,
            }  # fmt: skip
    return {
        "scores": {
            name: {
                rule: [round(figure.value, 5), round(figure.lower, 5), round(figure.upper, 5)]
                for rule in record["outcomes"]
                if (figure := results.figure("cost", name, rule)) is not None
            }
            for name, record in results.records.items()
        },
        "printed_scores": {
            f"{fit_name(discretiser_name, filter_name, TREE, form)}|{rule}": printed
            for (discretiser_name, filter_name, form, rule), (_, printed, _) in SCORES.items()
        },
        "winning_score": WINNING_SCORE,
        "detections": detections,
        "winner": {name: winner().figure(name).value for name in ORDER},
        "confusions": {
            f"{fit}|{rule}": outcome.rows.tolist()
            for fit, rule in [
                (fit_name("PKID", "Cons", TREE, "OvO"), "sum"),
                (fit_name("EMD", "INT", TREE, "OvR"), "probability-sum"),
                (fit_name("EMD", "INT", TREE, "multi"), ""),
            ]
            if (outcome := results.outcome(fit, rule)) is not None
        },
        "seconds": {name: record["seconds"] for name, record in results.records.items()},
        "tables": [
            {"title": "After the first run: numbers cut once, columns chosen in each problem",
             "head": ["fit", "columns", "decoding", "cost score", "tied test rows, %",
                      "score by the order of tied classes"], "rows": later_rows(results)},
            {"title": "Table 5.8: cost scores of all fits", "head": head,
             "rows": score_rows(results)},
            {"title": "Other thresholds of sum-threshold",
             "head": ["fit", "0.5", *map(str, THRESHOLDS)],
             "rows": [[fit, *format_scores(results, fit, ("sum-threshold", *thresholds))]
                      for fit in some]},
            {"title": "Table 5.9: percentage of each class that is found",
             "head": ["", *ORDER], "rows": detection_rows(results)},
            {"title": f"Columns of each problem of {pairs}", "head": ["problem", "columns"],
             "rows": [[problem, ", ".join(columns)] for problem, columns in problems.items()]},
        ],
    }  # fmt: skip
