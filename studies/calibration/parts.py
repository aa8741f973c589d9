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
from featly.study import Advice, Results, Study, Subsampling, advise
from studies.calibration.figures import ALPHA, LEARNER, STABLE_SIZES, Row, interval_figures
from studies.calibration.laws import ASIDE, LAWS, TOGETHER, Law, Made, Mixed, Twice
from studies.calibration.pipelines import AllOfHalf, HalfOfColumns
from studies.calibration.truth import Model, true_rates

__all__ = ["PARTS", "Part"]

METRIC = "bcr"
SPLITS = 50  # those of a report; 200, as in featly evaluate, were measured to be no better
FEW_SPLITS = 20  # where everything is done twenty times
SHUFFLES = 19
FIXED_SIZE = 8  # of intervals and tests without a choice of the size
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


# ---- featly evaluate -----------------------------------------------------------------------------
def measure_evaluate(law: Law, number: int) -> Row:
    """Return intervals and p-values of two pipelines that are equal by construction.

    The table has two halves of the same law, and every method sees one of them. So `a - b` is a
    test of equals on all laws; `a - all of b` is one on noise only, since selecting may be better.
    """
    X, y = law.table(number)
    width = X.shape[1] // 2
    methods = {"a": HalfOfColumns(0), "b": HalfOfColumns(1), "all of b": AllOfHalf(1)}
    sizes = [1 << k for k in range(10) if 1 << k <= width]
    study = Study(methods, (X, y), Subsampling(SPLITS), sizes=sizes, learner=LEARNER)
    results = study.run(n_jobs=1)
    chosen = {row["method"]: row for row in results.summary(METRIC).rows(named=True)}
    fixed = results.curves(METRIC).filter(pl.col("size") == FIXED_SIZE)
    at = {row["method"]: row for row in fixed.rows(named=True)}
    models = {}
    for name in ("a", "b"):
        order = methods[name].fit(X, y).order_
        models[name] = Model(tuple(order[: chosen[name]["size"]].tolist()), LEARNER)
        models[f"{name} fixed"] = Model(tuple(order[:FIXED_SIZE].tolist()), LEARNER)
    models["all of b"] = Model(tuple(methods["all of b"].fit(X, y).order_.tolist()), LEARNER)
    true = true_rates(law, number, X, y, models)
    return {
        "chosen": {
            name: [row[METRIC], row["lower"], row["upper"], true[name]]
            for name, row in chosen.items()
        },
        "fixed": {
            name: [at[name]["mean"], at[name]["lower"], at[name]["upper"], true[f"{name} fixed"]]
            for name in ("a", "b")
        },
        "p": _p_values(results, "chosen"),
        "p_fixed": _p_values(results, FIXED_SIZE, ("a", "b")),
    }


def _p_values(
    results: Results, size: int | str, names: tuple[str, ...] = ("a", "b", "all of b")
) -> dict[str, list[float]]:
    """Return p-value, adjusted p-value and difference of each pair."""
    rows = results.compare(METRIC, size=size).pairs.rows(named=True)
    return {
        f"{row['method_a']} - {row['method_b']}": [
            row["p_value"], row["p_adjusted"], row["difference"],
        ]
        for row in rows
        if row["method_a"] in names and row["method_b"] in names
    }  # fmt: skip


def evaluate_figures(row: Row) -> dict[str, bool | float | None]:
    """Return coverage and errors of the tests; of two equal pipelines the first counts."""
    p = row["p"]
    return {
        **interval_figures(", size chosen", *row["chosen"]["a"]),
        **interval_figures(", size 8", *row["fixed"]["a"]),
        **interval_figures(", all columns", *row["chosen"]["all of b"]),
        "equals differ, sizes chosen": p["a - b"][0] < ALPHA,
        "equals differ, size 8": row["p_fixed"]["a - b"][0] < ALPHA,
        "a selection differs from all columns": p["a - all of b"][0] < ALPHA,
        "some pair of three differs": min(adjusted for _, adjusted, _ in p.values()) < ALPHA,
    }


# ---- shuffled labels -----------------------------------------------------------------------------
def measure_shuffles(law: Law, number: int) -> Row:
    """Return the p-value of ``--null 19``."""
    study = Study("f-test", law.table(number), Subsampling(FEW_SPLITS), learner=LEARNER,
                  metrics=(METRIC,), null=SHUFFLES)  # fmt: skip
    (row,) = study.run(n_jobs=1).null_test(METRIC).rows(named=True)
    return {"p": row["p_value"], "observed": row["observed"]}


def shuffle_figures(row: Row) -> dict[str, bool | float | None]:
    """Return whether the p-value calls it more than chance."""
    return {"says more than chance": row["p"] <= ALPHA}


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


# ---- nested cross-validation ---------------------------------------------------------------------
def engine_figures(row: Row) -> dict[str, bool | float | None]:
    """Return which sentences of the engine were right, and how far its figures were off."""
    is_told_apart = row["p_all"] is not None and row["p_all"] <= ALPHA
    is_better = is_told_apart and row["difference"] > 0
    return {
        **interval_figures("", row["told"], row["lower"], row["upper"], row["true"]),
        "size": float(row["size"]),
        "says it predicts": row["predicts"] == "yes",
        "says better than all columns": is_better,
        "says worse than all columns": is_told_apart and row["difference"] < 0,
        "says better, and it is not": row["true"] <= row["true_all"] if is_better else None,
        **{f"stability of {size} told": value for size, (value, _) in row["halves"].items()},
        **{f"stability of {size} on shuffled labels": null
           for size, (_, null) in row["halves"].items()},
    }  # fmt: skip


def pair_figures(row: Row) -> dict[str, bool | float | None]:
    """Return coverage and errors of the tests; equal predictions are not told apart."""
    p = {pair: 1.0 if value is None else value for pair, value in row["p"].items()}
    return {
        **interval_figures(", size chosen", *row["chosen"]["a"]),
        **interval_figures(", all columns", *row["chosen"]["all of b"]),
        "equals differ, sizes chosen": p["a - b"] <= ALPHA,
        "a selection differs from all columns": p["a - all of b"] <= ALPHA,
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
    return tuple(Twice.from_law(law) for law in laws if isinstance(law, Made))


def _laws_named(*names: str) -> tuple[Law, ...]:
    return tuple(law for law in LAWS if law.name in names)


def _by_engine(name: str) -> Callable[[Law, int], Row]:
    """Return a function of the engine, which is imported when it is called."""

    def measure_by_engine(law: Law, number: int) -> Row:
        from studies.calibration import engine

        measured: Row = getattr(engine, name)(law, number)
        return measured

    return _quiet(measure_by_engine)


PARTS: dict[str, Part] = {
    "reports": Part(
        "the page of featly report, by a quick method: f-test, or univariate-test on mixed columns",
        LAWS, ASIDE, _quiet(measure_report), report_figures,
    ),
    "advised": Part(
        "the page of featly report, by the method that featly advises, without its alternatives",
        (*_laws_named("noise 60 x 50", "noise 120 x 30, mixed", "weak 60 x 50",
                      "mid 150 x 30, mixed"), TOGETHER),
        ASIDE, _quiet(measure_advised), report_figures,
    ),
    "evaluate": Part(
        "intervals and p-values of featly evaluate",
        _twice(LAWS), _twice(ASIDE), _quiet(measure_evaluate), evaluate_figures,
    ),
    "shuffles": Part(
        "featly evaluate --null 19",
        tuple(law for law in LAWS if not isinstance(law, Mixed) and law.n_columns <= 500
              and sum(law.counts) <= 200 and law.signal in ("noise", "weak")),
        ASIDE, _quiet(measure_shuffles), shuffle_figures,
    ),
    "advice": Part(
        "featly advise",
        (*LAWS, TOGETHER), ASIDE, _quiet(measure_advice), advice_figures,
    ),
    "engine": Part(
        "nested cross-validation, five repeats, shuffled labels and halves, by a quick method",
        LAWS, ASIDE, _by_engine("measure_engine"), engine_figures,
    ),
    "engine-quick": Part(
        "the same in one repeat",
        LAWS, ASIDE, _by_engine("measure_quick_engine"), engine_figures,
    ),
    "engine-pairs": Part(
        "comparisons by nested cross-validation, five repeats",
        _twice(LAWS), _twice(ASIDE), _by_engine("measure_pairs"), pair_figures,
    ),
    "engine-quick-pairs": Part(
        "the same in one repeat",
        _twice(LAWS), _twice(ASIDE), _by_engine("measure_quick_pairs"), pair_figures,
    ),
}  # fmt: skip
