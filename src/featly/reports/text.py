"""Facts of a report as sentences."""

from collections.abc import Sequence
from typing import Any

from featly.diagnostics import SuspectColumns

__all__ = [
    "METRICS_IN_WORDS",
    "about_classes",
    "about_columns",
    "about_filler",
    "amount",
    "answers",
    "describe_protocol",
    "evidence_sentence",
    "rate",
    "summary",
]

METRICS_IN_WORDS = {
    "bcr": "balanced rate",
    "accuracy": "accuracy",
    "error": "error rate",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "positive predictive value",
    "npv": "negative predictive value",
    "f1": "F1",
    "auc": "area under the ROC curve",
    "pr_auc": "area under the precision-recall curve",
}
EXPLAINED = {
    "bcr": "the mean over the classes of the share of their rows that are predicted right",
    "accuracy": "the share of rows that are predicted right",
    "error": "the share of rows that are predicted wrong",
    "sensitivity": "the share of rows of the second class that are found",
    "specificity": "the share of rows of the first class that are found",
    "ppv": "the share of rows predicted as the second class that are of it",
    "npv": "the share of rows predicted as the first class that are of it",
    "f1": "the harmonic mean of sensitivity and positive predictive value",
    "auc": "how often a row of the second class has a larger decision value than one of the first",
    "pr_auc": "the mean share of rows of the second class among those of largest decision values",
}
RULES_IN_WORDS = {
    "within-interval": "the smallest number of columns whose mean lies in the confidence interval "
    "of the best",
    "within-corrected-interval": "the smallest number of columns whose mean lies in the corrected "
    "interval of the best",
    "one-standard-error": "the smallest number of columns within one standard error of the best",
    "best": "the number of columns of best mean performance",
    "knee": "the number of columns at the knee of the curve",
    "rule-of-thumb": "a fixed share of the columns, by how many there are",
}
# Nogueira, Sechidis and Brown (2018), after Fleiss: below 0.4 poor, above 0.75 excellent
POOR, EXCELLENT = 0.4, 0.75
ALWAYS = 0.99
FEW_IN_CLASS = 30


# ---- answers -------------------------------------------------------------------------------------
def answers(facts: dict[str, Any]) -> list[dict[str, str]]:
    """Answer a reader's questions: question, answer, text, and a level for a mark beside it.

    The level is "good", "fair" or "poor".
    """
    entries = [_prediction_answer(facts["headline"]), _stability_answer(facts["headline"])]
    comparison = _all_columns_answer(facts)
    if comparison is not None:
        entries.append(comparison)
    for row in facts.get("null", ()):
        if row["method"] == facts["method"]["name"]:
            entries.append(_chance_answer(row))
            break
    return entries


def _prediction_answer(headline: dict[str, Any]) -> dict[str, str]:
    question = "Does it predict rows that it has not seen?"
    value, lower, upper = headline["value"], headline["lower"], headline["upper"]
    name = METRICS_IN_WORDS[headline["metric"]]
    if lower is None:
        text = f"The {name} is {rate(value)} on a single test part, too little for an interval."
        return _answer(question, "Cannot be told", "fair", text)
    text = f"The {name} is {rate(value)}, with a 95% interval from {rate(lower)} to {rate(upper)}."
    chance = headline["chance"]
    if chance is None:
        return _answer(question, f"{name.capitalize()} {rate(value)}", "fair", text)
    text += f" Guessing would give {rate(chance)}."
    better = headline["greater_is_better"]
    beyond = lower > chance if better else upper < chance
    if not beyond:
        text += " The interval contains that: the columns may tell nothing."
        return _answer(question, "Not shown", "poor", text)
    ends = (1 - chance) if better else chance
    gain = abs(value - chance) / ends if ends else 0.0
    if gain >= 0.6:
        return _answer(question, "Yes, well", "good", text)
    return _answer(question, "Yes, with many errors" if gain < 0.3 else "Yes", "fair", text)


def _stability_answer(headline: dict[str, Any]) -> dict[str, str]:
    question = "Would other rows have given the same columns?"
    value, lower, upper = (headline[f"stability{end}"] for end in ("", "_lower", "_upper"))
    if value is None:
        text = "A single split, or a method that takes all columns, says nothing about stability."
        return _answer(question, "Cannot be told", "fair", text)
    text = f"The stability over {headline['n_splits']} splits is {value:.2f}"
    if lower is not None:
        text += f" (95% interval {lower:.2f} to {min(upper, 1.0):.2f})"
    text += "; 1 is the same choice every time, 0 what chance would give."
    if value >= EXCELLENT:
        return _answer(question, "Mostly" if value < ALWAYS else "Yes", "good", text)
    if value >= POOR:
        return _answer(question, "In part", "fair", text)
    text += " Other columns would have served as well: do not read much into single ones."
    return _answer(question, "Hardly", "poor", text)


def _all_columns_answer(facts: dict[str, Any]) -> dict[str, str] | None:
    """Answer whether the selection does better than all columns together."""
    question = "Is it better than using all columns?"
    main, learner = facts["method"]["name"], facts["protocol"]["learner"]
    nothing = [name for name in facts["protocol"]["methods"] if name == "none"]
    pair = next(
        (
            row
            for row in facts["comparison"]["pairs"]
            if {row["method_a"], row["method_b"]} == {main, *nothing} and row["learner"] == learner
        ),
        None,
    )
    if pair is None or not nothing:
        return None
    sign = 1.0 if pair["method_a"] == main else -1.0
    difference = sign * pair["difference"]
    ends = sorted((sign * pair["lower"], sign * pair["upper"]))
    name = METRICS_IN_WORDS[facts["headline"]["metric"]]
    text = (
        f"The {name} differs by {difference:+.3f} from that of all {facts['data']['columns']:,} "
        f"columns (95% interval {ends[0]:+.3f} to {ends[1]:+.3f}, p = {pair['p_value']:.2g}"
    )
    n_pairs = len(facts["comparison"]["pairs"])
    # this comparison was planned before the results; the others on the page were not
    counted_in = f"; {pair['p_adjusted']:.2g} if all {n_pairs} comparisons below are counted"
    text += f"{counted_in if n_pairs > 1 else ''})."
    good = difference if facts["headline"]["greater_is_better"] else -difference
    if pair["p_value"] < 0.05:
        level = "good" if good > 0 else "poor"
        return _answer(question, "Yes" if good > 0 else "No, worse", level, text)
    text += f" {amount(facts['headline']['size'], 'column')} instead of all, at no loss that shows."
    return _answer(question, "No difference that is more than chance", "fair", text)


def _chance_answer(row: dict[str, Any]) -> dict[str, str]:
    question = "Could it be chance?"
    text = (
        f"The whole of it was done again with shuffled labels, {row['n_null']} times: on average "
        f"{rate(row['null_mean'])}, at best {rate(row['null_best'])}, against "
        f"{rate(row['observed'])} at the best size. p = {row['p_value']:.2g}."
    )
    if row["p_value"] <= 0.05:
        return _answer(question, "Unlikely", "good", text)
    least = 1 / (1 + row["n_null"])
    if least > 0.05 and row["p_value"] < 1.5 * least:
        text += (
            f" None did as well, but so few cannot give a p below {least:.2g}: ask for 19 or more."
        )
        return _answer(question, "Too few shuffles to tell", "fair", text)
    return _answer(question, "Yes", "poor", text)


def _answer(question: str, answer: str, level: str, text: str) -> dict[str, str]:
    return {"question": question, "answer": answer, "level": level, "text": text}


# ---- paragraphs ----------------------------------------------------------------------------------
def summary(facts: dict[str, Any]) -> str:
    """Return the first paragraph of the page."""
    headline, data = facts["headline"], facts["data"]
    size = len(facts["signature"])
    chosen = f"{amount(size, 'column')} of {data['columns']:,}"
    name = METRICS_IN_WORDS[headline["metric"]]
    interval = ""
    if headline["lower"] is not None:
        interval = f" (95% interval {rate(headline['lower'])} to {rate(headline['upper'])})"
    chance = "" if headline["chance"] is None else f"; guessing gives {rate(headline['chance'])}"
    reach = "it reaches" if size == 1 else "they reach"
    article = "an" if name[0] in "aeiou" else "a"
    return (
        f"From {data['rows']:,} rows, {facts['method']['name']} selects {chosen}. On rows that the "
        f"selection never saw, {reach} {article} {name} of {rate(headline['value'])}"
        f"{interval}{chance}."
    )


def describe_protocol(facts: dict[str, Any]) -> list[str]:
    """Describe in plain words what was done, a paragraph each."""
    protocol, method, data = facts["protocol"], facts["method"], facts["data"]
    why = (
        "It was advised by featly from what the table looks like, before any result was seen."
        if method["advised"]
        else "It was named by the user, before any result was seen."
    )
    about = f", {method['summary']}" if method["summary"] else ""
    paragraphs = [
        f"The method that makes the signature is {method['name']} ({method['class']}){about}. {why}"
    ]
    paragraphs.append(_describe_splits(protocol, data))
    other_methods = [name for name in protocol["methods"] if name != method["name"]]
    names = [name if name != "none" else "no selection at all" for name in other_methods]
    sizes = protocol["sizes"]
    steps = [
        f"At every split the columns are ranked on the training rows alone, {protocol['learner']} "
        f"is trained on the best {_join_values(sizes)} of them, and predicts the test rows."
    ]
    if protocol["fill"]:
        steps.append("Missing values are filled from the training rows (medians, or a level of "
                      "their own).")  # fmt: skip
    if protocol["resample"] != "none":
        steps.append(f"The training rows are balanced by {protocol['resample']}.")
    if names:
        steps.append(f"The same was done for {_join_values(names)}, to compare with.")
    paragraphs.append(" ".join(steps))
    rule = protocol["rule"]
    rule_text = RULES_IN_WORDS.get(str(rule), f"the size {rule}, which was asked for")
    nested = facts["headline"]["nested"]
    optimism = ""
    if nested is not None:
        optimism = (
            f" The size was chosen on the splits that judge it, which flatters it a little: with "
            f"the size for each split chosen on the others, the figure is {rate(nested)}."
        )
    paragraphs.append(
        f"How many columns: {rule_text}.{optimism} The signature is then made from all rows."
    )
    return paragraphs


def _describe_splits(protocol: dict[str, Any], data: dict[str, Any]) -> str:
    n, train, test = protocol["n_splits"], protocol["n_train"], protocol["n_test"]
    sizes = f"{train:,.0f} rows to train and {test:,.0f} to test"
    kinds = {
        "Subsampling": f"{amount(n, 'random split')} of the rows, {sizes}, classes in proportion",
        "KFold": f"cross-validation, {amount(n, 'fold')}, {sizes}",
        "DistributionBalancedKFold": f"cross-validation with folds of alike rows, "
        f"{amount(n, 'fold')}, {sizes}",
        "LeaveOneOut": "every row (or group of rows) left out once, predicted from all others",
        "Holdout": f"one test part that is never trained on: {sizes}",
        "Bootstrap": f"{amount(n, 'bootstrap sample')}, tested on the rows that each leaves out",
    }
    text = kinds.get(protocol["splitter"], f"{amount(n, 'split')}, {sizes}")
    groups = ""
    if data["row_groups"]:
        groups = f" Rows of the same group ({data['row_groups']:,} groups) never straddle a split."
    return f"Judged by {text}.{groups} Seed {protocol['seed']}."


def evidence_sentence(facts: dict[str, Any]) -> str:
    """Return how many columns the method has no evidence for; empty if it has for all."""
    n_columns, n_filler = facts["data"]["columns"], facts["filler"]
    if n_filler == 0:
        return ""
    which = "any" if n_filler == n_columns else f"{n_filler:,}"
    ranks = "its rank says" if n_filler == 1 else "their ranks say"
    return (
        f"{facts['method']['name']} has no evidence for {which} of the {n_columns:,} columns: "
        f"{ranks} nothing."
    )


# ---- warnings ------------------------------------------------------------------------------------
def about_classes(classes: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Return warnings about classes with few rows, and about uneven classes."""
    warnings = []
    smallest = min(range(len(counts)), key=counts.__getitem__)
    if counts[smallest] < FEW_IN_CLASS:
        warnings.append(
            f"class {classes[smallest]!r} has {amount(counts[smallest], 'row')} only: intervals "
            "are wide, and small effects cannot be seen"
        )
    if max(counts) >= 10 * max(1, counts[smallest]):
        warnings.append(
            f"classes are uneven ({max(counts):,} to {counts[smallest]:,} rows): accuracy says "
            "little here, the balanced rate more"
        )
    return warnings


def about_filler(n_filler: int, n_selected: int) -> list[str]:
    """Return a warning about columns of the signature without evidence."""
    if n_filler == 0:
        return []
    verb, pronoun = ("is", "it tells") if n_filler == 1 else ("are", "they tell")
    return [
        f"{n_filler:,} of the {amount(n_selected, 'column')} of the signature {verb} filler: the "
        f"method has no evidence that {pronoun} anything about the classes"
    ]


def about_columns(suspect: SuspectColumns) -> list[str]:
    """Count columns that repeat others or hardly vary."""
    warnings = []
    copies = sum(len(group) - 1 for group in suspect.identical)
    if copies:
        first = suspect.identical[0]
        warnings.append(
            f"{amount(copies, 'column')} repeat{'s' * (copies == 1)} another cell by cell, such as "
            f"{first[1]} ({first[0]})"
        )
    for groups, word in ((suspect.rescaled, "in other units"), (suspect.relabelled, "renamed")):
        n_same = sum(len(group) - 1 for group in groups)
        if n_same:
            first = groups[0]
            warnings.append(
                f"{amount(n_same, 'column')} {'is' if n_same == 1 else 'are'} another {word}, such "
                f"as {first[1]} ({first[0]})"
            )
    if suspect.near_constant:
        name = next(iter(suspect.near_constant))
        n = len(suspect.near_constant)
        warnings.append(
            f"{amount(n, 'column')} hardly var{'ies' if n == 1 else 'y'}, such as {name}"
        )
    return warnings


# ---- figures -------------------------------------------------------------------------------------
def rate(value: float | None) -> str:
    """Return a rate with two digits."""
    return "–" if value is None else f"{min(max(value, 0.0), 1.0):.2f}"


def amount(count: int, word: str) -> str:
    """Return a count with its noun: "1 row", "2 rows"."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def _join_values(values: Sequence[Any]) -> str:
    texts = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
    if len(texts) > 12:
        texts = [*texts[:5], "...", texts[-1]]
        return ", ".join(texts)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
