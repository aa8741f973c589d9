"""Facts of a report as sentences."""

from collections.abc import Sequence
from typing import Any

from featly.basics.errors import Setting, Text, Words
from featly.diagnostics import Finding, SuspectColumns
from featly.diagnostics.alarms.finding import DATES, IDENTIFIER, REPEATED, TEXT, join_names

__all__ = [
    "EXPLAINED",
    "METRICS_IN_WORDS",
    "PAGE_WORDS",
    "about_classes",
    "about_columns",
    "about_filler",
    "amount",
    "describe_protocol",
    "describe_test",
    "evidence_sentence",
    "finding_text",
    "not_compared",
    "percent",
    "rate",
    "spoken_findings",
    "summary",
]

METRICS_IN_WORDS = {
    "bcr": "balanced rate",
    "accuracy": "accuracy",
    "error": "error rate",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "auc": "area under the ROC curve",
}
EXPLAINED = {
    "bcr": "the mean over the classes of the share of their rows that are predicted right",
    "accuracy": "the share of rows that are predicted right",
    "error": "the share of rows that are predicted wrong",
    "sensitivity": "the share of rows of the second class that are found",
    "specificity": "the share of rows of the first class that are found",
    "auc": "how often a row of the second class has a larger decision value than one of the first",
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
FEW_IN_CLASS = 30


# ---- alarms and questions ---------------------------------------------------------------------
class _PageWords(Words):
    """Words of a page: rows counted from 1, parameters as options of a shell."""

    def __init__(self, *, names_individuals: bool = True) -> None:
        self.names_individuals: bool = names_individuals

    def row(self, position: int) -> str:
        return f"row {position + 1}"

    def parameter(self, name: str, owner: str) -> str:
        return f"--{name.replace('_', '-')}"

    def setting(self, setting: Setting) -> str:
        return f"{self.parameter(setting.name, '')} {setting.typed}"


PAGE_WORDS = _PageWords()


def finding_text(finding: Finding, *, individuals: bool) -> str:
    """Return the sentences of a finding; without `individuals`, none that counts or names rows."""
    message = finding.message if individuals else _without_counts(finding)
    said = Text(message).say(_PageWords(names_individuals=individuals))
    return f"{said} {finding.mended or finding.remedy}".strip()


# kinds of findings whose words have no number of rows, no share of them and no level
COUNT_FREE = (IDENTIFIER, REPEATED, TEXT, DATES, "many levels", "time to the event", "not checked")
WITHOUT_COUNTS = {
    "twins": "Some rows are equal to other rows, or alike in nearly everything.",
    "equal rows": "Some rows are equal to other rows.",
    "groups in an identifier": "The parts of {names} make groups of rows, and rows of one group "
    "are more alike than others.",
    "missing values": "In some classes more values of {names} are missing than in others. A method "
    "that uses missing values may choose columns for these alone.",
    "small classes": "Some classes have fewer than five rows.",
    "copy of the class": "{names} is the class in other words: each of its values has rows of one "
    "class only.",
    "separates": "{names} alone nearly tells the classes apart.",
    "batch": "Many columns differ between the values of {names}, which goes with the class.",
    "order": "Rows that follow each other are alike.",
}


def _without_counts(finding: Finding) -> Any:
    """Return a message without numbers of rows; of a kind not known here, only its name."""
    if finding.kind in COUNT_FREE:
        return finding.message
    unknown = f"There is a finding of the kind {finding.kind!r}: a page with individuals tells it."
    names = join_names(finding.columns) if finding.columns else "some columns"
    return WITHOUT_COUNTS.get(finding.kind, unknown).replace("{names}", names)


def spoken_findings(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings that stand above all answers."""
    return [f for f in facts["findings"] if f["level"] != "note" or f["mended"]]


# ---- paragraphs ----------------------------------------------------------------------------------
def summary(facts: dict[str, Any]) -> str:
    """Return the first paragraph of the page."""
    headline, data = facts["headline"], facts["data"]
    chosen = f"{amount(len(facts['signature']), 'column')} of {data['columns']:,}"
    begin = f"From {data['rows']:,} rows, {facts['method']['name']} selects {chosen}."
    if headline["value"] is None:
        return (
            f"{begin} How well such columns predict new rows cannot be told: {_refusal(headline)}."
        )
    chance = headline["chance"]
    guess = ""
    if chance is not None:
        guess = f" Guessing gets {percent(chance)}."
        if headline["metric"] == "auc":
            guess = f" Guessing has {chance:.2f}."
        elif headline["metric"] == "error":
            guess = f" Guessing gets {percent(chance)} wrong."
    return f"{begin} {headline['sentence']}{guess}{_withheld(facts)}"


def _withheld(facts: dict[str, Any]) -> str:
    """Return a warning of figures that should not be believed yet."""
    causes = [finding for finding in facts["findings"] if finding["withholds"]]
    if not causes:
        return ""
    what = "an alarm" if any(f["level"] == "alarm" for f in causes) else "a question"
    return f" This may be too good: {what} about the table is open."


def _refusal(headline: dict[str, Any]) -> str:
    return headline["refusal"].rstrip(".") or "no fit of a nested fold has a prediction"


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
    other_methods = [name for name in protocol["methods"] if name != method["name"]]
    names = [name if name != "none" else "no selection at all" for name in other_methods]
    sizes = protocol["sizes"]
    steps = [
        f"In every fold and split the columns are ranked on the training rows alone, "
        f"{protocol['learner']} is trained on the best {_join_values(sizes)} of them, and predicts "
        "the other rows."
    ]
    if protocol["fill"] == "draw":
        steps.append("Missing values are filled with values of the same column, drawn from the "
                     "training rows, so that nothing is learnt from what is missing.")  # fmt: skip
    elif protocol["fill"]:
        steps.append("Missing values are filled from the training rows (medians, or a level of "
                      "their own).")  # fmt: skip
    if protocol["resample"] != "none":
        steps.append(f"The training rows are balanced by {protocol['resample']}.")
    if names:
        steps.append(f"The same was done for {_join_values(names)}, to compare with.")
    paragraphs.append(" ".join(steps))
    paragraphs += _describe_inference(facts)
    paragraphs.append(_describe_splits(protocol, data))
    rule = protocol["rule"]
    rule_text = RULES_IN_WORDS.get(str(rule), f"the size {rule}, which was asked for")
    paragraphs.append(
        f"How many columns: {rule_text}, by the predictions of all rows in the nested folds. The "
        "signature is then made from all rows."
        if protocol["repeats"]
        else f"How many columns: {rule_text}, by the random splits. The signature is then made "
        "from all rows."
    )
    return paragraphs


def _describe_inference(facts: dict[str, Any]) -> list[str]:
    """Describe the nested folds, the shuffles and the halves."""
    protocol, headline = facts["protocol"], facts["headline"]
    paragraphs = []
    if protocol["repeats"]:
        part = ""
        if protocol["judged_rows"] < facts["data"]["rows"]:
            part = f" of the {protocol['judged_rows']:,} training rows"
        mode = (
            f"five times (thorough mode; {protocol['folds']} x {protocol['repeats']} folds)"
            if protocol["thorough"]
            else "once (quick mode; --thorough, in Python thorough=True, draws them five times, "
            "which makes the interval narrower and less dependent on the seed)"
        )
        paragraphs.append(
            f"The estimate, its interval and the comparisons come from nested cross-validation: "
            f"{protocol['folds']} folds{part}, drawn {mode}. For each fold, the ranking, the "
            f"number of columns and the learner come from the other rows alone, the number by "
            f"{protocol['inner']} inner folds. The interval has been measured on made tables: it "
            "contains the rate of the final model on new rows in about 19 of 20."
        )
    if headline["test"] is not None and headline["test"]["drawn"]:
        paragraphs.append(
            f"Shuffled outcomes: the same recipe was run on five folds, with the real labels and "
            f"with {amount(headline['test']['drawn'], 'shuffle')} of them; what counts is the mean "
            "over all numbers of columns. It stops early once five shuffles do as well."
        )
    if headline["halves"] is not None:
        paragraphs.append(
            f"Halves: {headline['n_halves']} times the rows were cut into two halves that share "
            "none, and the columns chosen on one half compared with those of the other; the same "
            "with shuffled labels."
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
    seen = "How often a column is chosen comes" if protocol["repeats"] else (
        "Curves, and how often a column is chosen, come"
    )  # fmt: skip
    return (
        f"{seen} from {text}.{groups} Such splits share rows: they are no evidence about new ones. "
        f"Seed {protocol['seed']}."
    )


def not_compared(facts: dict[str, Any]) -> list[str]:
    """Return the advised alternatives that the quick mode did not judge."""
    judged = facts["protocol"]["methods"]
    return [r["method"] for r in facts["comparison"]["rows"] if r["method"] not in judged]


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


def describe_test(row: dict[str, Any]) -> str:
    """Return the test that the p-value of a column comes from, and how exact that is.

    Examples
    --------
    >>> from featly.reports.text import describe_test
    >>> describe_test({"test": "welch t and ranks", "test_note": "p approximate: 25 rows"})
    'welch t and ranks; p approximate: 25 rows'
    """
    if row["test"] is None:
        return "not tested"
    return f"{row['test']}; {row['test_note']}" if row["test_note"] else str(row["test"])


# ---- figures -------------------------------------------------------------------------------------
def rate(value: float | None) -> str:
    """Return a rate with two digits."""
    return "–" if value is None else f"{min(max(value, 0.0), 1.0):.2f}"


def percent(value: float) -> str:
    """Return a share in whole percent."""
    return f"{100 * value:.0f}%"


def amount(count: int, word: str) -> str:
    """Return a count with its noun: "1 row", "2 rows"."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def _join_values(values: Sequence[Any]) -> str:
    texts = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
    if len(texts) > 12:
        texts = [*texts[:5], "...", texts[-1]]
        return ", ".join(texts)
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
