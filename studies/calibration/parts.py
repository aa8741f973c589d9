"""Measures of one table: featly is called as a user calls it, and compared with the truth.

Every part has a function that takes a law and the number of a table, and returns one row for the
journal; and one that says, of such a row, which sentences were right and how far figures were off.
No formula of featly is repeated here: answers are read from the report, intervals and p-values from
the results of a study, so that the same command measures whatever featly says today.
"""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import polars as pl

import featly
from featly.study import Advice, advise
from studies.calibration.engine import (
    half_figures,
    interval_row_figures,
    measure_halves,
    measure_interval,
    measure_null,
    measure_pairs,
    measure_predicts,
    measure_quick_interval,
    measure_quick_pairs,
    measure_quick_versus_all,
    measure_versus_all,
    null_figures,
    pair_figures,
    predicts_figures,
    versus_all_figures,
)
from studies.calibration.figures import ALPHA, STABLE_SIZES, Row, interval_figures
from studies.calibration.laws import ASIDE, LAWS, TOGETHER, Law, Made, Repeated, Twice
from studies.calibration.truth import Model, true_rates

__all__ = ["PARTS", "Part"]

METRIC = "bcr"
ALONE = tuple(law for law in LAWS if not isinstance(law, Repeated))  # every row by itself
# questions of the report, by what they ask; a question that is none of these is an error
QUESTIONS = {
    "predicts": r"predict",
    "all columns": r"all columns",
    "same columns": r"same columns",
    "few rows": r"few rows",
    "chance": r"chance",
}


@dataclass(frozen=True)
class Part:
    """A part of the study.

    Attributes
    ----------
    about : str
    laws, aside : tuple of Law
        `aside` are those that were kept for the end.
    measure : callable
        Takes a law and the number of a table, returns a row.
    figures : callable
        Takes a row, returns True, False or a number for everything that is counted or averaged;
        None where the table says nothing about it.
    """

    about: str
    laws: tuple[Law, ...]
    aside: tuple[Law, ...]
    measure: Callable[[Law, int], Row]
    figures: Callable[[Row], dict[str, bool | float | None]]


# ---- the page ------------------------------------------------------------------------------------
def measure_report(law: Law, number: int) -> Row:
    """Return the answers of a whole report by a quick method, and the truth."""
    X, _ = law.table(number)
    method = "univariate-test" if isinstance(X, pl.DataFrame) else "f-test"
    return _report_row(law, number, [method])


def measure_advised(law: Law, number: int) -> Row:
    """Return the answers of a report that takes the advised method, without its alternatives."""
    advice = advise(*law.table(number), n_jobs=1)
    return _report_row(law, number, replace(advice, alternatives=()))


def _report_row(law: Law, number: int, methods: list[str] | Advice) -> Row:
    X, y = law.table(number)
    page = featly.report(X, y, methods=methods, n_jobs=1)
    facts = page.facts
    headline, protocol, main = facts["headline"], facts["protocol"], facts["method"]["name"]
    names = X.columns if isinstance(X, pl.DataFrame) else [f"x{k}" for k in range(X.shape[1])]
    place = {name: k for k, name in enumerate(names)}
    chosen = tuple(place[name] for name in facts["signature"])
    models = {
        "signature": Model(chosen, protocol["learner"], protocol["fill"]),
        "all": Model(tuple(range(len(names))), protocol["learner"], protocol["fill"]),
    }
    true = true_rates(law, number, X, y, models)
    curves = page.results.curves(METRIC).filter(pl.col("method") == main)
    best = page.ranking().head(max(STABLE_SIZES))["feature"].to_list()
    q_values = [row["q_value"] for row in facts["features"] if row["q_value"] is not None]
    return {
        "method": main,
        "learner": protocol["learner"],
        "size": len(chosen),
        "told": headline["value"],
        "lower": headline["lower"],
        "upper": headline["upper"],
        "nested": headline.get("nested"),
        "true": true["signature"],
        "true_all": true["all"],
        "answers": read_answers(facts["answers"]),
        "stability": _stabilities(curves),
        "best": [place[name] for name in best],
        "columns": len(names),
        "least_q": min(q_values, default=None),
    }


def read_answers(answers: list[Mapping[str, str]]) -> dict[str, str]:
    """Return the answers of a page by what is asked."""
    by_key = {}
    for entry in answers:
        keys = [key for key, words in QUESTIONS.items() if re.search(words, entry["question"])]
        if len(keys) != 1:
            raise ValueError(f"the study does not know the question {entry['question']!r}")
        by_key[keys[0]] = entry["answer"]
    return by_key


def _stabilities(curves: pl.DataFrame) -> dict[str, list[float | None]]:
    """Return the stability and its interval at the sizes that are compared with fresh tables."""
    stabilities = {}
    for size in STABLE_SIZES:
        at = curves.filter(pl.col("size") == size)
        if at.height:
            row = at.row(0, named=True)
            stabilities[str(size)] = [row["nogueira"], row["nogueira_lower"], row["nogueira_upper"]]
    return stabilities


def report_figures(row: Row) -> dict[str, bool | float | None]:
    """Return which sentences of a page were right, and how far its figures were off."""
    answers = row["answers"]
    better = answers.get("all columns", "")
    return {
        **interval_figures("", row["told"], row["lower"], row["upper"], row["true"]),
        "nested less true": None if row["nested"] is None else row["nested"] - row["true"],
        "size": float(row["size"]),
        "says it predicts": answers["predicts"].startswith("Yes"),
        "says it predicts well": answers["predicts"] == "Yes, well",
        "says better than all columns": better.startswith("Yes"),
        "says worse than all columns": better.startswith("No, worse"),
        "says better, and it is not": (
            row["true"] <= row["true_all"] if better.startswith("Yes") else None
        ),
        "says the columns are the same, at least in part": answers["same columns"]
        in ("In part", "Mostly", "Yes"),
        "says the columns are mostly the same": answers["same columns"] in ("Mostly", "Yes"),
        "says q of a column is at most .05": (
            None if row["least_q"] is None else row["least_q"] <= ALPHA
        ),
        **{f"stability of {size} told": ends[0] for size, ends in row["stability"].items()},
    }


# ---- advice --------------------------------------------------------------------------------------
def measure_advice(law: Law, number: int) -> Row:
    """Return the advice and its warnings."""
    advice = advise(*law.table(number), training_rows_only=True, n_jobs=1)
    return {"rule": advice.rule, "method": advice.method, "warnings": list(advice.warnings)}


def advice_figures(row: Row) -> dict[str, bool | float | None]:
    """Return what the advice says of the table."""
    return {
        "says columns tell only together": row["rule"] == "columns that tell only together",
        "warns": bool(row["warnings"]),
    }


# ---- the parts -----------------------------------------------------------------------------------
def _quiet(measure: Callable[[Law, int], Row]) -> Callable[[Law, int], Row]:
    """Return the same without warnings, such as those of tables of noise."""

    def measure_quietly(law: Law, number: int) -> Row:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return measure(law, number)

    return measure_quietly


def _twice(laws: tuple[Law, ...]) -> tuple[Law, ...]:
    plain = (law for law in laws if isinstance(law, Made) and not isinstance(law, Repeated))
    return tuple(Twice.from_law(law) for law in plain)


def _laws_of(*signals: str) -> tuple[Law, ...]:
    return tuple(law for law in LAWS if law.signal in signals)


def _laws_named(*names: str) -> tuple[Law, ...]:
    return tuple(law for law in LAWS if law.name in names)


PARTS: dict[str, Part] = {
    "reports": Part(
        "the page of featly report, by a quick method: f-test, or univariate-test on mixed columns",
        ALONE, ASIDE, _quiet(measure_report), report_figures,
    ),
    "advised": Part(
        "the page of featly report, by the method that featly advises, without its alternatives",
        (*_laws_named("noise 60 x 50", "noise 120 x 30, mixed", "weak 60 x 50",
                      "mid 150 x 30, mixed"), TOGETHER),
        ASIDE, _quiet(measure_advised), report_figures,
    ),
    "advice": Part(
        "featly advise",
        (*ALONE, TOGETHER), ASIDE, _quiet(measure_advice), advice_figures,
    ),
    "interval": Part(
        "figures and intervals by nested cross-validation, five repeats (--thorough)",
        LAWS, ASIDE, _quiet(measure_interval), interval_row_figures,
    ),
    "interval-quick": Part(
        "the same in one repeat, as the page and evaluate do it unasked",
        LAWS, ASIDE, _quiet(measure_quick_interval), interval_row_figures,
    ),
    "predicts-noise": Part(
        "the yes or no by shuffled labels, where no column says anything",
        _laws_of("noise"), tuple(law for law in ASIDE if law.is_noise), _quiet(measure_predicts),
        predicts_figures,
    ),
    "predicts-signal": Part(
        "the yes or no by shuffled labels, where some columns do",
        _laws_of("weak", "mid", "strong"), tuple(law for law in ASIDE if not law.is_noise),
        _quiet(measure_predicts), predicts_figures,
    ),
    "null-19": Part(
        "featly evaluate --null 19",
        _laws_of("noise"), tuple(law for law in ASIDE if law.is_noise), _quiet(measure_null),
        null_figures,
    ),
    "versus-all": Part(
        "a selection against all columns, five repeats",
        LAWS, ASIDE, _quiet(measure_versus_all), versus_all_figures,
    ),
    "versus-all-quick": Part(
        "the same in one repeat",
        LAWS, ASIDE, _quiet(measure_quick_versus_all), versus_all_figures,
    ),
    "pairs": Part(
        "comparisons of equal recipes by nested cross-validation, five repeats",
        _twice(LAWS), _twice(ASIDE), _quiet(measure_pairs), pair_figures,
    ),
    "pairs-quick": Part(
        "the same in one repeat",
        _twice(LAWS), _twice(ASIDE), _quiet(measure_quick_pairs), pair_figures,
    ),
    "halves": Part(
        "agreement of complementary halves, and of shuffled labels",
        LAWS, ASIDE, _quiet(measure_halves), half_figures,
    ),
}  # fmt: skip
